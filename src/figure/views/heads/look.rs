//! The look of lines: their course, how they say their weight, and their colours.

use serde::{Deserialize, Serialize};

use super::layout::HeadsLayout;
use crate::{
    figure::{
        list::Line,
        palette::{Dash, Ink, Palette},
    },
    options::{Visit, choose},
    style::mixed,
};

/// Straight pieces of a line that bends or changes its colour.
const N_PIECES: usize = 24;

/// What is thinner than this is not seen at all, in points.
const LEAST_LINE_PT: f32 = 0.4;

/// The width of a line that is so wide where rows are higher: among small multiples they may be lower than that.
pub fn fitting(width: f32, row_height: f32) -> f32 {
    width.min((0.6 * row_height).max(LEAST_LINE_PT))
}

/// The way of a line from its query to its key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum LineCourse {
    #[default]
    Straight,
    Curved,
}

vocabulary! {
    LineCourse: name, title;
    Straight("straight", "Straight"),
    Curved("curved", "Curved"),
}

/// What of a line grows with its weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum LineWeight {
    #[default]
    Both,
    Width,
    Opacity,
}

vocabulary! {
    LineWeight: name, title;
    Both("both", "Width and opacity"),
    Width("width", "Width"),
    Opacity("opacity", "Opacity"),
}

impl LineWeight {
    /// Width of a line of a weight, and how far it stands out from the ground, where that is the `shade` as far as it grows.
    pub fn look(self, [weight, shade]: [f32; 2]) -> (f32, f32) {
        match self {
            Self::Both => (Palette::line_width(weight), shade),
            Self::Width => (Palette::line_width(weight), 1.0),
            Self::Opacity => (Palette::line_width(0.5), shade),
        }
    }
}

/// The colours of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum LineColor {
    #[default]
    Head,
    /// From the colour of queries to that of keys; what has a sign keeps the colour of its sign.
    Gradient,
}

vocabulary! {
    LineColor: name, title;
    Head("head", "By head"),
    Gradient("gradient", "From query to key"),
}

/// All of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct LineLook {
    pub course: LineCourse,
    pub weight: LineWeight,
    pub color: LineColor,
}

impl LineLook {
    /// Shows the options.
    pub fn visit(&mut self, visit: &mut Visit<'_>) {
        let meaning = "Lines: straight or curved";
        choose(visit, ("line-course", "Course", meaning), &mut self.course, &LineCourse::CHOICES);
        let meaning = "Lines: what grows with the weight: both, width or opacity";
        choose(visit, ("line-weight", "Weight is", meaning), &mut self.weight, &LineWeight::CHOICES);
        let meaning = "Lines: head (a colour per head) or gradient (from the colour of queries to that of keys)";
        choose(visit, ("line-color", "Colour", meaning), &mut self.color, &LineColor::CHOICES);
    }

    /// The straight pieces of a line of a weight; the `shade` is how far it stands out from the ground.
    pub fn pieces(
        self,
        (layout, [query, key]): (&HeadsLayout, [usize; 2]),
        ink: Ink,
        weight_and_shade: [f32; 2],
        palette: &Palette,
    ) -> Vec<Line> {
        let (width, shade) = self.weight.look(weight_and_shade);
        let color = |part: f32| match (self.color, ink) {
            (LineColor::Gradient, Ink::Head(_)) => palette.line(mixed(palette.query, palette.key, part), shade),
            (LineColor::Gradient | LineColor::Head, ink) => palette.line(palette.ink(ink), shade),
        };
        let is_plain = self == Self { weight: self.weight, ..Self::default() };
        let n = if is_plain { 1 } else { N_PIECES };
        let at = |nth: usize| layout.along_line(query, key, nth as f32 / n as f32);
        let mut length = 0.0;
        let pieces: Vec<(f32, Line)> = (0..n)
            .map(|nth| {
                let (from, to) = (at(nth), at(nth + 1));
                let start = length;
                length += from.distance(to);
                (start, Line { from, to, width, color: color((nth as f32 + 0.5) / n as f32) })
            })
            .collect();
        if ink.dash() == Dash::Solid {
            return pieces.into_iter().map(|(_, line)| line).collect();
        }
        let dashes: Vec<[f32; 2]> = ink.dash().pieces(length).collect();
        let cut = |(start, line): &(f32, Line)| {
            let (start, line) = (*start, *line);
            let own = line.from.distance(line.to).max(f32::MIN_POSITIVE);
            let clip = move |ends: &[f32; 2]| ends.map(|end| ((end - start) / own).clamp(0.0, 1.0));
            let parts = dashes.iter().map(clip).filter(|[from, to]| from < to);
            parts
                .map(move |[from, to]| Line {
                    from: line.from.lerp(line.to, from),
                    to: line.from.lerp(line.to, to),
                    ..line
                })
                .collect::<Vec<_>>()
        };
        pieces.iter().flat_map(cut).collect()
    }
}

#[cfg(test)]
mod tests {
    use emath::vec2;

    use super::*;

    fn pieces(look: LineLook, ink: Ink, weight: f32) -> Vec<Line> {
        let layout = HeadsLayout::bare(vec2(200.0, 100.0), 5, 5).with_course(look.course);
        look.pieces((&layout, [0, 4]), ink, [weight; 2], &Palette::LIGHT)
    }

    #[test]
    fn curved_lines_have_the_ends_of_straight_ones_and_leave_level() {
        let straight = pieces(LineLook::default(), Ink::Head(0), 0.5);
        let curved = pieces(LineLook { course: LineCourse::Curved, ..LineLook::default() }, Ink::Head(0), 0.5);
        let [(first, last), (one, _)] = [&curved, &straight].map(|lines| (lines[0], lines[lines.len() - 1]));
        assert_eq!(straight.len(), 1);
        assert_eq!((first.from, last.to), (one.from, one.to));
        let slope = |line: Line| (line.to.y - line.from.y) / (line.to.x - line.from.x);
        assert!(slope(first) < 0.5 * slope(one) && slope(curved[curved.len() / 2]) > slope(one));
        assert!(curved.windows(2).all(|pair| pair[0].to == pair[1].from));
    }

    #[test]
    fn dashes_of_a_curved_line_are_as_long_as_those_of_a_straight_one() {
        let look = LineLook { course: LineCourse::Curved, ..LineLook::default() };
        let ink = Ink::Head(8);
        let of = |lines: &[Line]| lines.iter().map(|line| line.from.distance(line.to)).sum::<f32>();
        let [drawn, whole] = [pieces(look, ink, 0.5), pieces(look, Ink::Head(0), 0.5)];
        let expected: f32 = ink.dash().pieces(of(&whole)).map(|[from, to]| to - from).sum();
        assert!((of(&drawn) - expected).abs() < 0.01, "{} {expected}", of(&drawn));
    }

    #[test]
    fn a_weight_is_said_by_width_by_opacity_or_by_both() {
        let of = |weight: LineWeight, at: f32| {
            let line = pieces(LineLook { weight, ..LineLook::default() }, Ink::Head(0), at)[0];
            (line.width, line.color)
        };
        for (weight, width_grows, colour_grows) in
            [(LineWeight::Both, true, true), (LineWeight::Width, true, false), (LineWeight::Opacity, false, true)]
        {
            let [weak, strong] = [0.1, 0.9].map(|at| of(weight, at));
            assert_eq!((weak.0 < strong.0, weak.1 != strong.1), (width_grows, colour_grows), "{weight:?}");
        }
    }

    #[test]
    fn colours_run_from_the_query_to_the_key_but_keep_a_sign() {
        let look = LineLook { color: LineColor::Gradient, ..LineLook::default() };
        let lines = pieces(look, Ink::Head(3), 1.0);
        let near =
            |color: crate::style::Rgba, to: crate::style::Rgba| color.iter().zip(to).all(|(a, b)| a.abs_diff(b) < 16);
        assert!(near(lines[0].color, Palette::LIGHT.query) && near(lines[lines.len() - 1].color, Palette::LIGHT.key));
        assert!(pieces(look, Ink::Less, 1.0).iter().all(|line| line.color == Palette::LIGHT.minus));
    }
}
