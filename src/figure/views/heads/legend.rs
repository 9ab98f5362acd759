//! What colours, their strength and width mean, below the columns.

use emath::{Rect, Vec2, pos2, vec2};

use super::HeadsScene;
use crate::{
    analysis::reading::ReadPattern,
    capture::RgbaBuffer,
    figure::{
        font::Align,
        list::{Rgba, Sampling},
        measure::text_size::SMALL,
        palette::Ink,
        path::Path,
        pen::{Pen, tick_text},
    },
};

/// One row of the legend.
const LEGEND_ROW_PT: f32 = 18.0;
/// Above the legend.
const LEGEND_GAP_PT: f32 = 12.0;
/// A head's mark in the legend.
const SWATCH_PT: f32 = 11.0;
/// The wedge from weight 0 to weight 1.
const WEDGE_PT: Vec2 = vec2(96.0, 8.0);

impl HeadsScene {
    /// Marks of the legend: colour and text.
    fn entries(&self, pen: &Pen<'_>) -> Vec<(Rgba, String)> {
        let names: Vec<(Ink, String)> = match (self.signed(), self.is_explained()) {
            (true, true) => vec![(Ink::More, "for it".to_owned()), (Ink::Less, "against it".to_owned())],
            (true, false) => vec![(Ink::More, "more".to_owned()), (Ink::Less, "less".to_owned())],
            (false, _) => self.heads.iter().map(|head| (self.ink(head.head, 1.0), head.name.clone())).collect(),
        };
        names.into_iter().map(|(ink, name)| (pen.palette.ink(ink), name)).collect()
    }

    /// Places the marks row by row left of the wedge; returns their left top corners.
    fn places(&self, width: f32, pen: &mut Pen<'_>) -> Vec<Vec2> {
        let room = (width - WEDGE_PT.x - 60.0).max(60.0);
        let mut at = Vec2::ZERO;
        let mut places = Vec::new();
        for (_, text) in self.entries(pen) {
            let needed = SWATCH_PT + 4.0 + pen.type_.width(&text, SMALL) + 12.0;
            if at.x > 0.0 && at.x + needed > room {
                at = vec2(0.0, at.y + LEGEND_ROW_PT);
            }
            places.push(at);
            at.x += needed;
        }
        places
    }

    pub(super) fn legend_height(&self, width: f32, pen: &mut Pen<'_>) -> f32 {
        let rows = self.places(width, pen).last().map_or(0.0, |last| last.y);
        LEGEND_GAP_PT + rows + LEGEND_ROW_PT
    }

    pub(super) fn legend(&self, area: Rect, pen: &mut Pen<'_>) {
        let middle = area.top() + LEGEND_GAP_PT + LEGEND_ROW_PT / 2.0;
        let weak = pen.palette.text_weak;
        let places = self.places(area.width(), pen);
        for ((color, text), place) in self.entries(pen).into_iter().zip(places) {
            let at = pos2(area.left() + place.x, middle + place.y);
            let room = area.width() - place.x - SWATCH_PT - 4.0 - if place.y == 0.0 { WEDGE_PT.x + 84.0 } else { 0.0 };
            let text = pen.type_.fit(&text, SMALL, room).into_owned();
            let swatch = Rect::from_center_size(at + vec2(SWATCH_PT / 2.0, 0.0), Vec2::splat(SWATCH_PT));
            pen.fill(Path::rounded(swatch, 2.5), color);
            pen.text(&text, SMALL, weak, at + vec2(SWATCH_PT + 4.0, 0.0), Align::Left);
        }
        let largest = self.heads.iter().map(|head| head.read.high()).fold(0.0, f32::max);
        let most = if self.signed() || self.is_explained() { tick_text(largest) } else { "1".to_owned() };
        let name = self.read().map_or("Weight", ReadPattern::value_label).to_lowercase();
        let mut x = area.right() - pen.text(&most, SMALL, weak, pos2(area.right(), middle), Align::Right) - 4.0;
        let color = match self.heads.as_slice() {
            [only] if !self.signed() => pen.palette.ink(self.ink(only.head, 1.0)),
            _ => pen.palette.text_weak,
        };
        let pixels = (0..64).flat_map(|step| pen.palette.line(color, step as f32 / 63.0)).collect();
        let picture = RgbaBuffer { width: 64, height: 1, pixels };
        let wedge = Rect::from_center_size(pos2(x - WEDGE_PT.x / 2.0, middle), WEDGE_PT);
        pen.picture(wedge, &picture, Sampling::Crisp);
        x -= WEDGE_PT.x + 4.0;
        pen.text(&format!("{name} 0"), SMALL, weak, pos2(x, middle), Align::Right);
    }
}
