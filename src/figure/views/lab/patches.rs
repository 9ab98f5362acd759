//! What methods say about the patches of a picture: one small picture each.

use std::sync::Arc;

use emath::{Pos2, Rect, Vec2, pos2, vec2};

use super::{Hit, Piece, bars::BarColumn, scale_text};
use crate::{
    capture::{ImageInfo, RgbaBuffer},
    figure::{
        font::Align,
        list::Sampling,
        measure::{GRID, text_size::SMALL},
        pen::Pen,
        views::cells,
    },
    ids::Side,
    text::norm_text,
};

/// Longest side of a picture where there is room, and where there is little.
const PICTURE_PT: f32 = 176.0;
/// Room for the names below each.
const NAMES_PT: f32 = 34.0;
/// How much of the picture is seen through.
const FAINT: f32 = 0.35;
/// Largest side of the picture as it is kept.
const MAX_PICTURE_PX: usize = 360;

/// The maps of several methods.
#[derive(Clone, Debug)]
pub struct Patches {
    side: Side,
    image: ImageInfo,
    columns: Vec<BarColumn>,
    /// The part of the picture that the model sees, pale.
    ground: Option<Arc<RgbaBuffer>>,
}

impl Patches {
    /// Maps of a picture's patches.
    pub fn new(side: Side, image: &ImageInfo, columns: Vec<BarColumn>) -> Self {
        Self { side, ground: ground(image), image: image.clone(), columns }
    }

    const fn grid(&self) -> (usize, usize) {
        self.image.grid
    }

    fn picture_size(&self) -> Vec2 {
        let (rows, cols) = self.grid();
        vec2(cols as f32, rows as f32) * (PICTURE_PT / rows.max(cols).max(1) as f32)
    }

    fn across(&self, width: f32) -> usize {
        (((width + 4.0 * GRID) / (self.picture_size().x + 4.0 * GRID)) as usize).clamp(1, self.columns.len().max(1))
    }

    fn picture(&self, area: Rect, nth: usize) -> Rect {
        let (size, across) = (self.picture_size(), self.across(area.width()));
        let step = vec2(size.x + 4.0 * GRID, size.y + NAMES_PT + GRID);
        let at = vec2((nth % across) as f32 * step.x, (nth / across) as f32 * step.y);
        Rect::from_min_size(area.min + vec2(0.0, NAMES_PT) + at, size)
    }

    fn patches<'a>(&self, values: &'a [f32]) -> &'a [f32] {
        values.get(self.image.n_prefix..).unwrap_or(&[])
    }
}

/// The seen part of the picture in greys, as small as it is shown.
fn ground(image: &ImageInfo) -> Option<Arc<RgbaBuffer>> {
    let source = image.source.as_ref()?;
    let (rows, cols) = image.grid;
    let scale = MAX_PICTURE_PX as f32 / rows.max(cols).max(1) as f32;
    let (width, height) = ((cols as f32 * scale) as usize, (rows as f32 * scale) as usize);
    let mut pixels = Vec::with_capacity(4 * width * height);
    for y in 0..height {
        for x in 0..width {
            let from_x = (image.crop.x + (x as f32 + 0.5) / width as f32 * image.crop.width) as usize;
            let from_y = (image.crop.y + (y as f32 + 0.5) / height as f32 * image.crop.height) as usize;
            let at = 4 * (from_y.min(source.height.saturating_sub(1)) * source.width + from_x.min(source.width - 1));
            let [red, green, blue] = [0, 1, 2].map(|channel| f32::from(source.pixels[at + channel]));
            let grey = (0.299 * red + 0.587 * green + 0.114 * blue) as u8;
            pixels.extend([grey, grey, grey, (255.0 * FAINT) as u8]);
        }
    }
    Some(Arc::new(RgbaBuffer { width, height, pixels }))
}

impl Piece for Patches {
    fn width(&self) -> f32 {
        let across = self.columns.len().clamp(1, 4) as f32;
        across * (self.picture_size().x + 4.0 * GRID) - 4.0 * GRID
    }

    fn least_width(&self) -> f32 {
        self.picture_size().x
    }

    fn height(&self, width: f32) -> f32 {
        let rows = self.columns.len().div_ceil(self.across(width)) as f32;
        rows * (self.picture_size().y + NAMES_PT + GRID)
    }

    fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
        let (n_rows, n_cols) = self.grid();
        for (nth, BarColumn { title, unit, values, .. }) in self.columns.iter().enumerate() {
            let rect = self.picture(area, nth);
            let (text, weak) = (pen.palette.text, pen.palette.text_weak);
            let name = pen.type_.fit(title, SMALL, rect.width() - 3.0 * GRID).into_owned();
            pen.text(&name, SMALL, text, rect.left_top() - vec2(0.0, 26.0), Align::Left);
            pen.rect(rect, pen.palette.masked);
            if let Some(ground) = &self.ground {
                pen.picture(rect, ground, Sampling::Smooth);
            }
            let Some(values) = values else { continue };
            let patches = self.patches(values);
            let finite = || patches.iter().filter(|value| value.is_finite());
            let most = finite().fold(0.0f32, |most, value| most.max(value.abs()));
            let scale = scale_text(most, unit);
            pen.text(&scale, SMALL, weak, rect.left_top() - vec2(0.0, 12.0), Align::Left);
            let (above, below) = (pen.palette.accent, pen.palette.key);
            let of = |value: &f32| {
                let [red, green, blue, _] = if *value < 0.0 { below } else { above };
                let share = if most > 0.0 && value.is_finite() { value.abs() / most } else { 0.0 };
                [red, green, blue, (230.0 * share) as u8]
            };
            let pixels: Vec<u8> = patches.iter().take(n_rows * n_cols).flat_map(of).collect();
            if pixels.len() == 4 * n_rows * n_cols {
                let overlay = RgbaBuffer { width: n_cols, height: n_rows, pixels };
                pen.picture(rect, &overlay, Sampling::Crisp);
            }
            pen.frame(rect, 0.75, pen.palette.rule);
        }
    }

    fn at(&self, area: Rect, at: Pos2) -> Option<Hit> {
        let nth = (0..self.columns.len()).find(|nth| self.picture(area, *nth).contains(at))?;
        let rect = self.picture(area, nth);
        let (row, col) = cells::cell_at(rect, self.grid(), at)?;
        let BarColumn { title, unit, values, .. } = &self.columns[nth];
        let patch = row * self.grid().1 + col;
        let value = self.patches(values.as_ref()?).get(patch).copied()?;
        let text = format!("row {row}, column {col}\n{title}: {} {unit}", norm_text(value));
        let token = Some((self.side, patch + self.image.n_prefix));
        Some(Hit { rect: cells::cell_rect(rect, self.grid(), row, col), text, token, head: None })
    }

    fn columns(&self, area: Rect) -> Vec<Rect> {
        let head =
            |rect: Rect| Rect::from_min_max(rect.min - vec2(0.0, NAMES_PT), pos2(rect.right(), rect.top() - 18.0));
        (0..self.columns.len()).map(|nth| head(self.picture(area, nth))).collect()
    }

    fn spoken(&self) -> Vec<String> {
        let strongest = |column: &BarColumn| {
            let patches = self.patches(column.values.as_ref()?);
            let best = (0..patches.len()).filter(|nth| patches[*nth].is_finite());
            let best = best.max_by(|a, b| patches[*a].abs().total_cmp(&patches[*b].abs()))?;
            let cols = self.grid().1.max(1);
            Some(format!("{}: most on row {}, column {}", column.title, best / cols, best % cols))
        };
        self.columns.iter().filter_map(strongest).collect()
    }
}
