//! Results of methods for the patches of a picture: one small picture each.

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
        views::image::{self, layout::ImageLayout},
    },
    ids::Side,
    raster::reduce,
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
    /// The whole picture, pale.
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
        let size = image::layout::proportions(&self.image);
        size * (PICTURE_PT / size.max_elem())
    }

    fn across(&self, width: f32) -> usize {
        (((width + 4.0 * GRID) / (self.picture_size().x + 4.0 * GRID)) as usize).clamp(1, self.columns.len().max(1))
    }

    fn picture(&self, area: Rect, nth: usize) -> ImageLayout {
        let (size, across) = (self.picture_size(), self.across(area.width()));
        let step = vec2(size.x + 4.0 * GRID, size.y + NAMES_PT + GRID);
        let at = vec2((nth % across) as f32 * step.x, (nth / across) as f32 * step.y);
        ImageLayout::bare(Rect::from_min_size(area.min + vec2(0.0, NAMES_PT) + at, size), &self.image)
    }

    fn patches<'a>(&self, values: &'a [f32]) -> &'a [f32] {
        values.get(self.image.n_prefix..).unwrap_or(&[])
    }
}

/// The picture in pale greys, as small as it is shown.
fn ground(image: &ImageInfo) -> Option<Arc<RgbaBuffer>> {
    let RgbaBuffer { width, height, pixels } = reduce::at_most(image.source.as_ref()?, MAX_PICTURE_PX).into_owned();
    let pale = |pixel: &[u8]| {
        let [red, green, blue] = [0, 1, 2].map(|channel| f32::from(pixel[channel]));
        let grey = (0.299 * red + 0.587 * green + 0.114 * blue) as u8;
        [grey, grey, grey, (255.0 * FAINT) as u8]
    };
    let pixels = pixels.chunks_exact(4).flat_map(pale).collect();
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
            let layout = self.picture(area, nth);
            let rect = layout.picture;
            let (text, weak) = (pen.palette.text, pen.palette.text_weak);
            let name = pen.type_.fit(title, SMALL, rect.width() - 3.0 * GRID).into_owned();
            pen.text(&name, SMALL, text, rect.left_top() - vec2(0.0, 26.0), Align::Left);
            pen.rect(rect, pen.palette.raised);
            if let Some(ground) = &self.ground {
                pen.picture(rect, ground, Sampling::Smooth);
            }
            let Some(values) = values else { continue };
            let patches = self.patches(values);
            let finite = || patches.iter().filter(|value| value.is_finite());
            let most = finite().fold(0.0f32, |most, value| most.max(value.abs()));
            let scale = scale_text(most, unit);
            pen.text(&scale, SMALL, weak, rect.left_top() - vec2(0.0, 12.0), Align::Left);
            let (above, below) = (pen.palette.plus, pen.palette.minus);
            let of = |value: &f32| {
                let [red, green, blue, _] = if *value < 0.0 { below } else { above };
                let share = if most > 0.0 && value.is_finite() { value.abs() / most } else { 0.0 };
                [red, green, blue, (230.0 * share) as u8]
            };
            let pixels: Vec<u8> = patches.iter().take(n_rows * n_cols).flat_map(of).collect();
            if pixels.len() == 4 * n_rows * n_cols {
                let overlay = RgbaBuffer { width: n_cols, height: n_rows, pixels };
                pen.picture(layout.crop, &overlay, Sampling::Crisp);
            }
            image::draw_crop(&layout, pen);
        }
    }

    fn at(&self, area: Rect, at: Pos2) -> Option<Hit> {
        let nth = (0..self.columns.len()).find(|nth| self.picture(area, *nth).picture.contains(at))?;
        let layout = self.picture(area, nth);
        let position = layout.patch_at(at)?;
        let patch = position - self.image.n_prefix;
        let (row, col) = (patch / self.grid().1, patch % self.grid().1);
        let BarColumn { title, unit, values, .. } = &self.columns[nth];
        let value = self.patches(values.as_ref()?).get(patch).copied()?;
        let text = format!("row {row}, column {col}\n{title}: {} {unit}", norm_text(value));
        Some(Hit { rect: layout.token_rect(position), text, token: Some((self.side, position)), head: None })
    }

    fn columns(&self, area: Rect) -> Vec<Rect> {
        let head =
            |rect: Rect| Rect::from_min_max(rect.min - vec2(0.0, NAMES_PT), pos2(rect.right(), rect.top() - 18.0));
        (0..self.columns.len()).map(|nth| head(self.picture(area, nth).picture)).collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::CropRect;

    #[test]
    fn a_picture_keeps_its_proportions_and_the_patches_lie_on_its_crop() {
        let source = RgbaBuffer { width: 451, height: 300, pixels: vec![9; 4 * 451 * 300] };
        let crop = CropRect { x: 75.0, y: 0.0, width: 300.0, height: 300.0 };
        let image = ImageInfo {
            grid: (2, 2),
            regions: None,
            n_prefix: 1,
            patch_px: (8, 8),
            crop,
            source: Some(Arc::new(source)),
        };
        let column = BarColumn {
            title: "Rollout".to_owned(),
            unit: "share",
            signed: false,
            values: Some(vec![0.0, 1.0, 2.0, 3.0, 4.0]),
        };
        let patches = Patches::new(Side::Only, &image, vec![column]);
        let area = Rect::from_min_size(pos2(0.0, 0.0), vec2(400.0, 400.0));
        let layout = patches.picture(area, 0);
        assert!((layout.picture.aspect_ratio() - 451.0 / 300.0).abs() < 1e-3, "{:?}", layout.picture);
        let hit = patches.at(area, layout.crop.right_bottom() - vec2(2.0, 2.0)).unwrap();
        assert_eq!(hit.token, Some((Side::Only, 4)));
        assert!(layout.crop.expand(0.01).contains_rect(hit.rect));
        assert!(patches.at(area, layout.picture.left_center() + vec2(2.0, 0.0)).is_none(), "outside of the crop");
        assert_eq!(patches.ground.as_ref().map(|ground| (ground.width, ground.height)), Some((225, 150)));
    }
}
