//! What figures and window draw in: the colours of [`crate::style`] by what they stand for, and dashes.

use emath::Pos2;

use super::list::{Line, Rgba};
use crate::{analysis::projection::Tint, style::N_HUES};

pub use crate::style::Palette;

/// How the lines of a head are broken, so that heads of one colour differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dash {
    /// Not broken.
    Solid,
    Long,
    Short,
    Dotted,
}

impl Dash {
    /// Lengths of a dash and of the gap after it, in points; `None` for a solid line.
    pub const fn lengths(self) -> Option<[f32; 2]> {
        match self {
            Self::Solid => None,
            Self::Long => Some([14.0, 5.0]),
            Self::Short => Some([6.0, 4.0]),
            Self::Dotted => Some([2.0, 3.0]),
        }
    }

    /// The lines that one is broken into.
    pub fn lines(self, [from, to]: [Pos2; 2], width: f32, color: Rgba) -> impl Iterator<Item = Line> {
        let length = from.distance(to);
        self.pieces(length).map(move |ends| {
            let [from, to] = ends.map(|at| from.lerp(to, at / length));
            Line { from, to, width, color }
        })
    }

    /// The pieces that a line of `length` is broken into: start and end of each, in points along it.
    pub fn pieces(self, length: f32) -> impl Iterator<Item = [f32; 2]> {
        let [dash, gap] = self.lengths().unwrap_or([length, 0.0]);
        let n_pieces = if length > 0.0 { (length / (dash + gap)).ceil() as usize } else { 0 };
        let start = move |piece: usize| piece as f32 * (dash + gap);
        (0..n_pieces).map(move |piece| [start(piece), (start(piece) + dash).min(length)])
    }
}

/// What a line is drawn in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ink {
    /// The colour and the dashes of a head.
    Head(usize),
    /// More than 0, of what may be less.
    More,
    /// Less than 0.
    Less,
    /// What is no attention.
    Explained,
}

impl Ink {
    /// How lines are broken.
    pub const fn dash(self) -> Dash {
        match self {
            Self::Head(head) => Palette::dash(head),
            Self::More | Self::Less | Self::Explained => Dash::Solid,
        }
    }
}

impl Palette {
    /// The colour of an ink.
    pub const fn ink(&self, ink: Ink) -> Rgba {
        match ink {
            Ink::Head(head) => self.head(head),
            Ink::More => self.plus,
            Ink::Less => self.minus,
            Ink::Explained => self.not_attention,
        }
    }

    /// How the lines of head `head` are broken.
    pub const fn dash(head: usize) -> Dash {
        match head / N_HUES % 4 {
            0 => Dash::Solid,
            1 => Dash::Long,
            2 => Dash::Short,
            _ => Dash::Dotted,
        }
    }

    /// Whether a head before `head` has its colour and its dashes: only the number then tells it apart, and a
    /// legend says so.
    pub const fn repeats(head: usize) -> bool {
        head >= 4 * N_HUES
    }

    /// The colour of a point; `own` is that of queries, or that of keys.
    pub fn tint(&self, tint: Tint, own: Rgba) -> Rgba {
        match tint {
            Tint::Type => own,
            Tint::Step(step) => self.position(Tint::fraction(step)),
            Tint::Group(group) => self.head(usize::from(group)),
            Tint::Hue(step) => self.hue(Tint::fraction(step)),
            Tint::Rest => self.text_weak,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_head_looks_like_another_without_saying_so() {
        for palette in [Palette::LIGHT, Palette::DARK] {
            let looks: Vec<_> = (0..32).map(|head| (palette.head(head), Palette::dash(head))).collect();
            for (head, look) in looks.iter().enumerate() {
                assert!(!Palette::repeats(head) && !looks[..head].contains(look), "head {head}");
            }
        }
        assert!(Palette::repeats(32));
    }

    #[test]
    fn dashes_cover_a_line_to_its_end() {
        assert_eq!(Dash::Solid.pieces(25.0).collect::<Vec<_>>(), [[0.0, 25.0]]);
        assert_eq!(Dash::Short.pieces(25.0).collect::<Vec<_>>(), [[0.0, 6.0], [10.0, 16.0], [20.0, 25.0]]);
        assert_eq!(Dash::Solid.pieces(0.0).count(), 0);
    }
}
