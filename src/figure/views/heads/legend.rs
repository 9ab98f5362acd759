//! Legend of the colours and strength of lines.

use super::{HeadsScene, look::LineColor};
use crate::{
    analysis::reading::ReadPattern,
    figure::{legend::Legend, palette::Ink, pen::Pen},
    text::tick_text,
};

impl HeadsScene {
    /// Names and colours of heads, or of signs, and what strength means.
    pub(super) fn all_marks(&self) -> Legend {
        let marks: Vec<(Ink, String)> = match (self.signed(), self.is_explained()) {
            (true, true) => vec![(Ink::More, "raises it".to_owned()), (Ink::Less, "lowers it".to_owned())],
            (true, false) if self.read().is_some_and(|read| !read.is_difference()) => {
                vec![(Ink::More, "above 0".to_owned()), (Ink::Less, "below 0".to_owned())]
            }
            (true, false) => vec![(Ink::More, "more".to_owned()), (Ink::Less, "less".to_owned())],
            (false, false) if self.options.look.color == LineColor::Gradient => Vec::new(),
            (false, _) => self.heads.iter().map(|head| (self.ink(head.head, 1.0), head.name.clone())).collect(),
        };
        let most = if self.signed() || self.is_explained() { tick_text(self.high()) } else { "1".to_owned() };
        let name = self.read().map_or("Weight", ReadPattern::value_label).to_lowercase();
        let scale = match self.heads.as_slice() {
            [only] if !self.signed() && !marks.is_empty() => Some(self.ink(only.head, 1.0)),
            _ => None,
        };
        Legend { marks, ends: [format!("{name} 0"), most], scale, weight: self.options.look.weight }
    }

    pub(super) fn legend_height(&self, width: f32, pen: &mut Pen<'_>) -> f32 {
        if self.has_legend { self.all_marks().height(width, pen) } else { 0.0 }
    }
}
