//! Legend of colours, strength and width of lines: below a scene, or once below a sheet of several.

use emath::{Rect, Vec2, pos2, vec2};

use super::{
    font::Align,
    list::{Rgba, Sampling},
    measure::{radius, text_size::SMALL},
    palette::{Dash, Ink, Palette},
    path::Path,
    pen::Pen,
    views::heads::look::LineWeight,
};
use crate::capture::RgbaBuffer;

/// One row.
const ROW_PT: f32 = 18.0;
/// Above the first.
const GAP_PT: f32 = 12.0;
/// The square of a colour, and what stays free behind it and behind its name.
const SWATCH_PT: f32 = 11.0;
const SWATCH_GAP_PT: f32 = 4.0;
const NAME_GAP_PT: f32 = 12.0;
/// The wedge from the faintest line to the strongest, and what stays free around it.
const WEDGE_PT: Vec2 = vec2(96.0, 8.0);
const WEDGE_GAP_PT: f32 = 4.0;
/// Pixels of a bar that widens.
const TAPERED_PX: [usize; 2] = [384, 32];

/// Colours by name, and a scale.
#[derive(Clone, Debug, PartialEq)]
pub struct Legend {
    /// What each colour stands for.
    pub marks: Vec<(Ink, String)>,
    /// What the faintest line is called, and the strongest.
    pub ends: [String; 2],
    /// The colour of the scale; grey where lines have several.
    pub scale: Option<Ink>,
    /// What of a line grows along the scale.
    pub weight: LineWeight,
}

/// Where its parts stand, from its left top corner.
struct LegendLayout {
    /// Left top corners of the marks.
    marks: Vec<Vec2>,
    scale: f32,
    height: f32,
}

/// A bar that widens and darkens from left to right: at a share of its length, which share of its height it has there,
/// and which colour.
pub fn tapered(look: impl Fn(f32) -> (f32, Rgba)) -> RgbaBuffer {
    let [width, height] = TAPERED_PX;
    let pixel = |at: usize| {
        let (part, [red, green, blue, alpha]) = look((at % width) as f32 / (width - 1) as f32);
        // How much of the pixel lies inside.
        let from_middle = ((at / width) as f32 + 0.5 - height as f32 / 2.0).abs();
        let covered = (part * height as f32 / 2.0 - from_middle + 0.5).clamp(0.0, 1.0);
        [red, green, blue, (f32::from(alpha) * covered) as u8]
    };
    RgbaBuffer { width, height, pixels: (0..width * height).flat_map(pixel).collect() }
}

impl Legend {
    /// One for both; none where they do not agree about the scale or about a colour.
    pub fn joined(mut self, other: Self) -> Option<Self> {
        if self.ends != other.ends {
            return None;
        }
        for (ink, name) in other.marks {
            match self.marks.iter().find(|(known, _)| *known == ink) {
                Some((_, known)) if *known != name => return None,
                Some(_) => {}
                None => self.marks.push((ink, name)),
            }
        }
        self.scale = self.scale.filter(|scale| other.scale == Some(*scale));
        Some(self)
    }

    /// The scale alone.
    #[must_use]
    pub fn without_marks(self) -> Self {
        Self { marks: Vec::new(), ..self }
    }

    /// Its height at a width.
    pub fn height(&self, width: f32, pen: &mut Pen<'_>) -> f32 {
        self.places(width, pen).height
    }

    /// What the scale takes with its numbers.
    fn scale_width(&self, pen: &mut Pen<'_>) -> f32 {
        let ends: f32 = self.ends.iter().map(|end| pen.type_.width(end, SMALL)).sum();
        WEDGE_PT.x + 2.0 * WEDGE_GAP_PT + ends
    }

    /// Marks from the left, row by row, and the scale at the right: in their row, or where that is full below them.
    fn places(&self, width: f32, pen: &mut Pen<'_>) -> LegendLayout {
        let scale = self.scale_width(pen);
        let widths: Vec<f32> = self
            .marks
            .iter()
            .map(|(_, name)| SWATCH_PT + SWATCH_GAP_PT + pen.type_.width(name, SMALL) + NAME_GAP_PT)
            .collect();
        let is_beside = widths.iter().sum::<f32>() + scale <= width;
        let mut at = Vec2::ZERO;
        let place = |needed: f32| {
            if at.x > 0.0 && at.x + needed - NAME_GAP_PT > width {
                at = vec2(0.0, at.y + ROW_PT);
            }
            at.x += needed;
            at - vec2(needed, 0.0)
        };
        let marks: Vec<Vec2> = widths.into_iter().map(place).collect();
        let below = marks.last().map_or(0.0, |last| last.y + ROW_PT);
        let scale = if is_beside { 0.0 } else { below };
        LegendLayout { marks, scale, height: GAP_PT + scale.max(below - ROW_PT) + ROW_PT }
    }

    /// Draws it into `area`, which is as high as it says.
    pub fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
        let places = self.places(area.width(), pen);
        let middle = area.top() + GAP_PT + ROW_PT / 2.0;
        let weak = pen.palette.text_weak;
        for ((ink, name), place) in self.marks.iter().zip(places.marks) {
            let at = pos2(area.left() + place.x, middle + place.y);
            let room = area.width() - place.x - SWATCH_PT - SWATCH_GAP_PT;
            let name = pen.type_.fit(name, SMALL, room).into_owned();
            let swatch = Rect::from_center_size(at + vec2(SWATCH_PT / 2.0, 0.0), Vec2::splat(SWATCH_PT));
            let color = pen.palette.ink(*ink);
            match ink.dash() {
                Dash::Solid => pen.fill(Path::rounded(swatch, f32::from(radius::MARK)), color),
                // As many dashes as there is room for.
                dash => pen.lines(dash.lines([swatch.left_center(), swatch.right_center()], 3.0, color).collect()),
            }
            pen.text(&name, SMALL, weak, at + vec2(SWATCH_PT + SWATCH_GAP_PT, 0.0), Align::Left);
        }
        let y = middle + places.scale;
        // A scale that is wider than the area loses some of its wedge.
        let lost = (self.scale_width(pen) - area.width()).max(0.0);
        let wedge = vec2((WEDGE_PT.x - lost).max(1.0), WEDGE_PT.y);
        let [low, high] = &self.ends;
        let mut x = area.right() - pen.text(high, SMALL, weak, pos2(area.right(), y), Align::Right) - WEDGE_GAP_PT;
        let color = self.scale.map_or(weak, |ink| pen.palette.ink(ink));
        let palette = pen.palette;
        let look = |share| {
            let (width, shade) = self.weight.look([share; 2]);
            (width / Palette::line_width(1.0), palette.line(color, shade))
        };
        pen.picture(Rect::from_center_size(pos2(x - wedge.x / 2.0, y), wedge), &tapered(look), Sampling::Smooth);
        x -= wedge.x + WEDGE_GAP_PT;
        pen.text(low, SMALL, weak, pos2(x, y), Align::Right);
    }
}
