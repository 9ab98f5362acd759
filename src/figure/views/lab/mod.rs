//! Answers of the laboratory: bars of several methods with how far they agree, maps, links, numbers.
//!
//! What is shown is made of pieces, each of which knows its size, draws itself and says what is under a pointer, so
//! that window and files show the same.

mod agreement;
mod bars;
mod compose;
mod curves;
mod facts;
mod grid;
mod links;
mod map;
mod masks;
mod nearest;
mod options;
mod panels;
mod patches;
mod plane;
mod sentences;
mod shares;
mod spec;

pub use options::LabOptions;
pub use spec::SPEC;
pub(in crate::figure) use spec::target_text;

use std::sync::Arc;

use emath::{Pos2, Rangef, Rect, pos2, vec2};

pub use compose::{Answered, compose};
pub use sentences::{left_out, logit_name, silent};

use crate::{
    figure::{
        chart::Chart,
        font::Align,
        list::Rgba,
        measure::{GRID, text_size},
        page::{Captions, Scene},
        palette::Palette,
        pen::Pen,
    },
    ids::{HeadId, Side},
    text::norm_text,
};

/// Height of a row of tokens.
pub const ROW_PT: f32 = 15.0;
/// Room for a title in one line; a longer one is broken there.
const MOST_TITLE_PT: f32 = 280.0;
/// Between parts.
const GAP_PT: f32 = 3.0 * GRID;

/// Something that is drawn of an answer.
pub trait Piece: Send + Sync {
    /// The width that suits it.
    fn width(&self) -> f32;
    /// The least width at which it can be read.
    fn least_width(&self) -> f32;
    /// Its height at a width.
    fn height(&self, width: f32) -> f32;
    /// Draws it into `area`, which is as high as it says.
    fn draw(&self, area: Rect, pen: &mut Pen<'_>);
    /// The same as a chart with axes, where it is one: the window plots it.
    fn chart(&self, _palette: &Palette) -> Option<Chart> {
        None
    }
    /// What a point of the chart says.
    fn readout(&self, _series: usize, _point: [f64; 2]) -> String {
        String::new()
    }
    /// What is at a place.
    fn at(&self, area: Rect, at: Pos2) -> Option<Hit>;
    /// The rows of a token, where it has some.
    fn rows_of(&self, _area: Rect, _token: (Side, usize)) -> Vec<Rect> {
        Vec::new()
    }
    /// Where the middles of columns with a heading are, and how wide each is: the window puts its own headings there.
    fn columns(&self, _area: Rect) -> Vec<Rect> {
        Vec::new()
    }
    /// What it says to somebody who does not see it.
    fn spoken(&self) -> Vec<String> {
        Vec::new()
    }
}

/// What is under the pointer.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    pub rect: Rect,
    pub text: String,
    /// The token that it is about.
    pub token: Option<(Side, usize)>,
    /// The head that it is about.
    pub head: Option<HeadId>,
}

impl Hit {
    /// Words alone.
    const fn saying(rect: Rect, text: String) -> Self {
        Self { rect, text, token: None, head: None }
    }
}

/// A piece with what stands above it.
#[derive(Clone)]
pub struct TitledPiece {
    /// Its title; empty where the heading says it all.
    pub title: String,
    /// What that means, in a sentence.
    pub meaning: String,
    pub piece: Arc<dyn Piece>,
}

impl TitledPiece {
    /// The width that suits it: a title over a narrow piece is not broken into single words.
    pub fn width(&self) -> f32 {
        self.piece.width().max(room([self.title.as_str()], MOST_TITLE_PT))
    }
}

/// What one method says, or several about the same tokens.
#[derive(Clone)]
pub struct Section {
    /// The column of the method; none where several stand side by side.
    pub column: Option<&'static str>,
    pub title: String,
    /// What a person should know about this very run.
    pub notes: Vec<String>,
    /// What is drawn, one below the other.
    pub parts: Vec<TitledPiece>,
}

/// Everything that is shown of a question, as a figure.
pub struct LabScene {
    /// What is shown, one below the other.
    pub sections: Vec<Section>,
    pub captions: Captions,
}

impl LabScene {
    fn parts(&self) -> impl Iterator<Item = &TitledPiece> {
        self.sections.iter().flat_map(|section| &section.parts)
    }
}

impl Scene for LabScene {
    fn width(&self, _: &mut Pen<'_>) -> f32 {
        self.parts().map(TitledPiece::width).fold(240.0, f32::max)
    }

    fn least_width(&self, _: &mut Pen<'_>) -> f32 {
        self.parts().map(|part| part.piece.least_width()).fold(160.0, f32::max)
    }

    fn height(&self, width: f32, pen: &mut Pen<'_>) -> f32 {
        let mut height = 0.0;
        for section in &self.sections {
            height += Heading::SECTION.height(&section.title, width, pen);
            for part in &section.parts {
                height += Heading::PART.height(&part.title, width, pen) + part.piece.height(width) + GAP_PT;
            }
        }
        (height - GAP_PT).max(1.0)
    }

    fn least_height(&self, width: f32, pen: &mut Pen<'_>) -> f32 {
        self.height(width, pen)
    }

    fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
        let mut top = area.top();
        for section in &self.sections {
            let color = pen.palette.text;
            top += Heading::SECTION.draw(&section.title, color, (pos2(area.left(), top), area.width()), pen);
            for part in &section.parts {
                let color = pen.palette.text_weak;
                top += Heading::PART.draw(&part.title, color, (pos2(area.left(), top), area.width()), pen);
                let height = part.piece.height(area.width());
                part.piece.draw(Rect::from_min_size(pos2(area.left(), top), vec2(area.width(), height)), pen);
                top += height + GAP_PT;
            }
        }
    }

    fn captions(&self) -> Captions {
        self.captions.clone()
    }
}

/// A title that takes as many lines as it needs.
struct Heading {
    size: f32,
    /// Height of a line, and what stays free below the last.
    line: f32,
    below: f32,
}

impl Heading {
    /// Of what one method says.
    const SECTION: Self = Self { size: text_size::BODY, line: 17.0, below: 5.0 };
    /// Of a part of that.
    const PART: Self = Self { size: text_size::SMALL, line: 15.0, below: 3.0 };

    fn height(&self, title: &str, width: f32, pen: &mut Pen<'_>) -> f32 {
        match pen.broken(title, self.size, width).len() {
            0 => 0.0,
            n => n as f32 * self.line + self.below,
        }
    }

    /// Draws it from `at` (left, top) on; returns its height.
    fn draw(&self, title: &str, color: Rgba, (at, width): (Pos2, f32), pen: &mut Pen<'_>) -> f32 {
        for (nth, words) in pen.broken(title, self.size, width).iter().enumerate() {
            let middle = at + vec2(0.0, (nth as f32 + 0.5) * self.line);
            pen.text(words, self.size, color, middle, Align::Left);
        }
        self.height(title, width, pen)
    }
}

/// About the room that the widest of some texts takes in small type, at most `most`.
fn room<'a>(texts: impl IntoIterator<Item = &'a str>, most: f32) -> f32 {
    let of = |text: &str| text.chars().map(|c| if c >= '\u{1100}' { 11.0 } else { 6.1 }).sum::<f32>();
    texts.into_iter().map(of).fold(0.0, f32::max).min(most)
}

/// About how many lines a text takes in small type where a line is as wide as `inner`: never fewer than it does.
pub(in crate::figure) fn n_lines(text: &str, inner: f32) -> usize {
    let mut lines = usize::from(!text.trim().is_empty());
    let mut used = 0.0;
    for word in text.split_whitespace() {
        let width = room([word], f32::INFINITY);
        let space = if used > 0.0 { room([" "], f32::INFINITY) } else { 0.0 };
        if used > 0.0 && used + space + width > inner {
            lines += 1;
            used = width;
        } else {
            used += space + width;
        }
    }
    lines
}

/// Where things of these heights stand below each other, from the top of each to its bottom.
fn stacked(heights: impl IntoIterator<Item = f32>) -> Vec<Rangef> {
    let mut bottom = 0.0;
    let span = |height: f32| {
        let top = bottom;
        bottom += height;
        Rangef::new(top, bottom)
    };
    heights.into_iter().map(span).collect()
}

/// How far the longest bar of a column goes.
fn scale_text(most: f32, unit: &str) -> String {
    if most == 0.0 { "all 0".to_owned() } else { format!("max {} {unit}", norm_text(most)).trim_end().to_owned() }
}
