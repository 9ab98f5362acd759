//! From a scene to a figure of a given size: scale, ground, caption, margins.

use emath::{Pos2, Rect, Vec2, pos2, vec2};
use serde::{Deserialize, Serialize};

use super::{
    font::Typesetter,
    legend::Legend,
    list::{Cells, Figure, Item, Line, Text},
    measure::text_size::{BODY, LARGE, SMALL},
    palette::Palette,
    paper::POINTS_PER_CM,
    path::{Path, PathStep},
    pen::Pen,
    small::SmallMap,
    views::joined,
};

/// Text of figures: with it, 96 points of the window are as large as 72 of the figure.
pub const TEXT_PT: f32 = 0.75 * BODY;
/// Smallest and largest side of a figure, in points: half an inch, and what PDF viewers still show.
pub const SIDE_PT: (f32, f32) = (36.0, 14_400.0);
/// Wider figures are larger in everything.
const POSTER_PT: f32 = 29.7 * POINTS_PER_CM;
/// Around everything, in points of the window.
const MARGIN: f32 = 8.0;
/// Between a scene and what stands above or below it.
const CAPTION_GAP: f32 = 10.0;

/// What all figures share.
#[derive(Clone, Debug)]
pub struct Page {
    pub palette: Palette,
    /// In points; what suits the scene when not given.
    pub width: Option<f32>,
    /// In points; what suits the scene when not given.
    pub height: Option<f32>,
    /// How much is said above and below the scene.
    pub caption: CaptionKind,
    /// What is said of any scene of this view and run.
    pub about: About,
    pub title: String,
    /// Where the figure came from, as JSON.
    pub provenance: String,
}

/// The question that a figure answers, and what is said of its numbers and their source.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct About {
    pub question: String,
    pub caveat: String,
    /// The model, and the input where there is more room, in words.
    pub origin: Captions,
}

/// How much is said above and below a figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CaptionKind {
    None,
    /// The question; which heads, what is not shown, the caveat and the model.
    #[default]
    Short,
    /// The input and how to read it as well.
    Full,
}

vocabulary! {
    CaptionKind: name;
    None("none"),
    Short("short"),
    Full("full"),
}

/// The words below a scene.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Captions {
    /// One or two lines.
    pub short: String,
    /// A paragraph that can stand below a figure in print.
    pub full: String,
}

impl Captions {
    /// The same words at any length.
    pub fn both(text: String) -> Self {
        Self { full: text.clone(), short: text }
    }

    /// The words of a length; nothing where none are wanted.
    fn of(&self, kind: CaptionKind) -> &str {
        match kind {
            CaptionKind::None => "",
            CaptionKind::Short => &self.short,
            CaptionKind::Full => &self.full,
        }
    }
}

/// One view with its data, ready to be drawn at any size. Lengths are points of the window.
pub trait Scene {
    /// The width that suits it.
    fn width(&self, pen: &mut Pen<'_>) -> f32;
    /// The least width at which nothing overlaps.
    fn least_width(&self, pen: &mut Pen<'_>) -> f32;
    /// The height that suits it at this width.
    fn height(&self, width: f32, pen: &mut Pen<'_>) -> f32;
    /// The least height at which nothing overlaps.
    fn least_height(&self, width: f32, pen: &mut Pen<'_>) -> f32;
    /// Draws it into `area`.
    fn draw(&self, area: Rect, pen: &mut Pen<'_>);
    /// What is said about it.
    fn captions(&self) -> Captions;
    /// What its marks mean, where several scenes of a sheet can have that in one place.
    fn legend(&self) -> Option<Legend> {
        None
    }
    /// Draws no legend from now on: that of the sheet says it.
    fn leave_out_legend(&mut self) {}
    /// The map that stands for it among small multiples, where it is one.
    fn small(&self) -> Option<&dyn SmallMap> {
        None
    }
}

/// The figure of a scene. Where the page is too small for text of [`TEXT_PT`], everything is smaller; on a poster it is
/// larger.
pub fn figure(page: &Page, scene: &dyn Scene, type_: &mut Typesetter) -> Figure {
    let mut pen = Pen::new(type_, page.palette);
    let About { question, caveat, origin } = &page.about;
    let (question, caption) = match page.caption {
        CaptionKind::None => ("", String::new()),
        kind => (question.as_str(), joined([scene.captions().of(kind), caveat, origin.of(kind)])),
    };
    let inner = |width: f32| width - 2.0 * MARGIN;
    let natural = scene.width(&mut pen).max(scene.least_width(&mut pen)) + 2.0 * MARGIN;
    // What is wider than any sheet of paper is a poster: everything grows with it.
    let mut scale = TEXT_PT / BODY * page.width.map_or(1.0, |width| (width / POSTER_PT).max(1.0));
    scale = scale.min(page.width.unwrap_or(SIDE_PT.1) / (scene.least_width(&mut pen) + 2.0 * MARGIN));
    let (mut caption_height, mut question_height) = (0.0, 0.0);
    // A smaller scale makes the page wider in the scene's points, which changes the height: a few rounds settle it.
    for _ in 0..8 {
        let width = page.width.map_or(natural, |width| width / scale);
        let mut height = |text: &str, size: f32| match text {
            "" => 0.0,
            text => CAPTION_GAP + pen.paragraph_height(text, size, inner(width)),
        };
        caption_height = height(&caption, SMALL);
        question_height = height(question, LARGE);
        let least = scene.least_height(inner(width), &mut pen) + question_height + caption_height + 2.0 * MARGIN;
        let room = page.height.unwrap_or(SIDE_PT.1) / scale;
        if least <= room * 1.0001 {
            break;
        }
        scale *= room / least;
    }
    let width = page.width.map_or(natural, |width| width / scale);
    let around = question_height + caption_height + 2.0 * MARGIN;
    let drawn = match page.height {
        Some(height) => height / scale - around,
        None => scene.height(inner(width), &mut pen).min(SIDE_PT.1 / scale - around),
    };
    let area = Rect::from_min_size(pos2(MARGIN, MARGIN + question_height), vec2(inner(width), drawn.max(1.0)));
    let size = vec2(width, area.bottom() + caption_height + MARGIN);
    pen.rect(Rect::from_min_size(Pos2::ZERO, size), page.palette.canvas);
    let ground = pen.items.len();
    scene.draw(area, &mut pen);
    let is_empty = pen.items.len() == ground;
    pen.paragraph(question, LARGE, page.palette.text, pos2(MARGIN, MARGIN), area.width());
    let at = area.left_bottom() + vec2(0.0, CAPTION_GAP);
    pen.paragraph(&caption, SMALL, page.palette.text_weak, at, area.width());
    let items = scaled(pen.items, scale);
    let round = |value: f32| (value * 100.0).round() / 100.0;
    Figure {
        size: vec2(round(size.x * scale), round(size.y * scale)),
        cuts: Vec::new(),
        items,
        is_empty,
        faces: type_.faces().to_vec(),
        title: page.title.clone(),
        provenance: page.provenance.clone(),
    }
}

/// Everything larger or smaller, about the left top corner.
fn scaled(items: Vec<Item>, scale: f32) -> Vec<Item> {
    let point = |at: Pos2| (at.to_vec2() * scale).to_pos2();
    let rect = |rect: Rect| Rect::from_min_max(point(rect.min), point(rect.max));
    let one = |item| match item {
        Item::Fill(path, color) => {
            let segment = |segment: &PathStep| match *segment {
                PathStep::Move(to) => PathStep::Move(point(to)),
                PathStep::Line(to) => PathStep::Line(point(to)),
                PathStep::Cubic(a, b, to) => PathStep::Cubic(point(a), point(b), point(to)),
                PathStep::Close => PathStep::Close,
            };
            Item::Fill(path.segments().iter().map(segment).collect::<Path>(), color)
        }
        Item::Lines(lines) => {
            let line = |line: &Line| Line {
                from: point(line.from),
                to: point(line.to),
                width: line.width * scale,
                color: line.color,
            };
            Item::Lines(lines.iter().map(line).collect())
        }
        Item::Text(mut text) => {
            let at = point(text.at);
            scale_text(&mut text, at, scale);
            Item::Text(text)
        }
        Item::Cells(cells) => Item::Cells(Cells { rect: rect(cells.rect), ..cells }),
        Item::Clip(clip, inner) => Item::Clip(rect(clip), scaled(inner, scale)),
    };
    items.into_iter().map(one).collect()
}

fn scale_text(text: &mut Text, at: Pos2, scale: f32) {
    text.at = at;
    text.size *= scale;
    text.width *= scale;
    for glyph in text.runs.iter_mut().flat_map(|run| &mut run.glyphs) {
        glyph.x *= scale;
        glyph.y *= scale;
        glyph.advance *= scale;
    }
}

/// Several scenes on one page, row by row, each under its title.
pub struct Sheet {
    scenes: Vec<(String, Box<dyn Scene>)>,
    n_cols: usize,
    captions: Captions,
    /// What the marks of all scenes mean, where one legend can say it.
    legend: Option<Legend>,
}

/// Between two scenes.
const SHEET_GAP: f32 = 16.0;
/// Room for a scene's title.
const TITLE_PT: f32 = 20.0;

impl Sheet {
    /// Scenes with their titles, `n_cols` side by side, and what is said below all of them.
    pub fn new(mut scenes: Vec<(String, Box<dyn Scene>)>, n_cols: usize, captions: Captions) -> Self {
        let mut legends = scenes.iter().map(|(_, scene)| scene.legend());
        let first = legends.next().flatten().filter(|_| scenes.len() > 1);
        let legend = first.and_then(|first| legends.try_fold(first, |all, next| all.joined(next?)));
        if legend.is_some() {
            for (_, scene) in &mut scenes {
                scene.leave_out_legend();
            }
        }
        Self { scenes, n_cols, captions, legend }
    }

    fn legend_height(&self, width: f32, pen: &mut Pen<'_>) -> f32 {
        self.legend.as_ref().map_or(0.0, |legend| legend.height(width, pen))
    }

    fn cell_width(&self, width: f32) -> f32 {
        ((width + SHEET_GAP) / self.n_cols.max(1) as f32 - SHEET_GAP).max(1.0)
    }

    /// Height of all rows when every row is as high as its highest scene.
    fn rows(&self, width: f32, pen: &mut Pen<'_>, of: impl Fn(&dyn Scene, f32, &mut Pen<'_>) -> f32) -> Vec<f32> {
        let cell = self.cell_width(width);
        let row = |scenes: &[(String, Box<dyn Scene>)]| {
            scenes.iter().map(|(_, scene)| of(&**scene, cell, &mut *pen)).fold(0.0, f32::max)
        };
        self.scenes.chunks(self.n_cols.max(1)).map(row).collect()
    }

    fn total(rows: &[f32]) -> f32 {
        rows.iter().map(|row| row + TITLE_PT + SHEET_GAP).sum::<f32>() - SHEET_GAP
    }
}

impl Scene for Sheet {
    fn width(&self, pen: &mut Pen<'_>) -> f32 {
        let widest = self.scenes.iter().map(|(_, scene)| scene.width(pen)).fold(0.0, f32::max);
        // A page is no wider than a sheet of paper laid across, and scenes shrink to fit.
        (widest * self.n_cols as f32 + SHEET_GAP * (self.n_cols.max(1) - 1) as f32).min(1040.0)
    }

    fn least_width(&self, pen: &mut Pen<'_>) -> f32 {
        let widest = self.scenes.iter().map(|(_, scene)| scene.least_width(pen)).fold(0.0, f32::max);
        widest * self.n_cols as f32 + SHEET_GAP * (self.n_cols.max(1) - 1) as f32
    }

    fn height(&self, width: f32, pen: &mut Pen<'_>) -> f32 {
        let rows = self.rows(width, pen, |scene, width, pen| scene.height(width, pen));
        Self::total(&rows) + self.legend_height(width, pen)
    }

    fn least_height(&self, width: f32, pen: &mut Pen<'_>) -> f32 {
        let rows = self.rows(width, pen, |scene, width, pen| scene.least_height(width, pen));
        Self::total(&rows) + self.legend_height(width, pen)
    }

    fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
        let natural = self.rows(area.width(), pen, |scene, width, pen| scene.height(width, pen));
        let legend = self.legend_height(area.width(), pen);
        let spare = (area.height() - legend - Self::total(&natural)) / natural.len().max(1) as f32;
        let cell = self.cell_width(area.width());
        let mut top = area.top();
        for (row, height) in self.scenes.chunks(self.n_cols.max(1)).zip(natural) {
            let height = (height + spare).max(1.0);
            for (col, (title, scene)) in row.iter().enumerate() {
                let left = area.left() + col as f32 * (cell + SHEET_GAP);
                let middle = pos2(left + cell / 2.0, top + TITLE_PT / 2.0);
                pen.text(title, BODY, pen.palette.text, middle, super::Align::Center);
                scene.draw(Rect::from_min_size(pos2(left, top + TITLE_PT), Vec2::new(cell, height)), pen);
            }
            top += TITLE_PT + height + SHEET_GAP;
        }
        if let Some(all) = &self.legend {
            all.draw(Rect::from_x_y_ranges(area.x_range(), area.bottom() - legend..=area.bottom()), pen);
        }
    }

    fn captions(&self) -> Captions {
        self.captions.clone()
    }
}
