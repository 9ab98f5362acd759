//! Heads over two corpora, or in two models: the numbers of both sides, how they differ, and which heads do.

use super::{AtlasScene, ContrastOrder};
use crate::{
    analysis::{
        cloud_query::CloudResult,
        head_statistics::{ContrastCell, ContrastTable, LEVEL, Metric, StackTable},
    },
    ids::HeadId,
    text::{counted, decimal_text, norm_text, signed, weight_text},
};

/// Heads that are named in one line.
const MOST_NAMED: usize = 5;

/// Heads whose points move, as arrows from the first side to the second.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arrows {
    pub heads: Vec<HeadId>,
    /// From where to where, `[across, up]` each.
    pub ends: Vec<[[f64; 2]; 2]>,
}

impl AtlasScene {
    /// How the two sides differ, where there are two.
    pub fn contrast(&self) -> Option<&ContrastTable> {
        match &*self.found {
            CloudResult::Contrast(found) => Some(&found.contrast),
            _ => None,
        }
    }

    /// The numbers of the second side.
    pub fn other_table(&self) -> Option<&StackTable> {
        match &*self.found {
            CloudResult::Contrast(found) => Some(&found.sides[1]),
            _ => None,
        }
    }

    /// What the sides are called.
    pub fn side_name(&self, side: usize) -> &str {
        self.sides.as_ref().map_or(["first side", "second side"][side], |names| &names[side])
    }

    /// The number of a head by its place in the table: of two sides that of the second, a mean over inputs.
    pub fn value(&self, metric: Metric, at: usize) -> Option<f64> {
        match self.contrast() {
            Some(contrast) => Some(contrast.column(metric)?.cells.get(at)?.as_ref()?.b.mean),
            None => Some(self.table()?.column(metric)?.cells.get(at)?.as_ref()?.statistic.value),
        }
    }

    /// The same of the first of two sides.
    pub fn value_before(&self, metric: Metric, at: usize) -> Option<f64> {
        Some(self.contrast()?.column(metric)?.cells.get(at)?.as_ref()?.a.mean)
    }

    /// Numbers of a head on both sides.
    pub fn contrast_cell(&self, metric: Metric, head: HeadId) -> Option<ContrastCell> {
        self.contrast()?.cell(metric, head)
    }

    /// Heads whose points move: those that differ in neither of the two numbers, and those that do.
    pub fn arrows(&self) -> [Arrows; 2] {
        let mut arrows = <[Arrows; 2]>::default();
        let Some(contrast) = self.contrast() else { return arrows };
        let (across, up) = (self.options.across, self.options.up);
        for (at, head) in contrast.heads.iter().enumerate() {
            let point = |of: &dyn Fn(Metric) -> Option<f64>| Some([of(across)?, of(up)?]);
            let from = point(&|metric| self.value_before(metric, at));
            let Some((from, to)) = from.zip(point(&|metric| self.value(metric, at))) else { continue };
            let differs = [across, up]
                .into_iter()
                .any(|metric| self.contrast_cell(metric, *head).is_some_and(|cell| cell.differs()));
            let of = &mut arrows[usize::from(differs)];
            of.heads.push(*head);
            of.ends.push([from, to]);
        }
        arrows
    }

    /// Heads in the order of what is told of the number of the cells, the highest first unless the table is turned round;
    /// those of which it is not known at the end, and those without both means left out.
    pub(super) fn contrast_rows(&self, contrast: &ContrastTable) -> Vec<HeadId> {
        let of = self.options.contrast_order();
        let cells = contrast.heads.iter().filter_map(|head| Some((contrast.cell(self.options.color, *head)?, *head)));
        let (mut rows, mut unknown) = (Vec::new(), Vec::new());
        for (cell, head) in cells {
            match sort_key(cell, of) {
                Some(key) => rows.push((key, head)),
                None => unknown.push(head),
            }
        }
        rows.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        if self.options.lowest_first {
            rows.reverse();
        }
        rows.into_iter().map(|(_, head)| head).chain(unknown).collect()
    }

    /// Which heads differ in the number of the cells: `3 of 8 heads differ: L1H0, L0H2, L1H3`.
    pub fn differing_text(&self) -> String {
        let Some(contrast) = self.contrast() else { return String::new() };
        let differing = contrast.differing(self.options.color);
        let Some(column) = contrast.column(self.options.color) else {
            return format!("{} has no mean over inputs on both sides", self.options.color.title());
        };
        let tested = column.cells.iter().flatten().filter(|cell| cell.corrected.is_some()).count();
        let mut text = format!(
            "{} of {} differ in {} (p < {LEVEL}, {})",
            differing.len(),
            counted(tested, "head"),
            self.options.color.title().to_lowercase(),
            self.options.correction.title()
        );
        for (nth, head) in differing.iter().take(MOST_NAMED).enumerate() {
            text.push_str(if nth == 0 { ": " } else { ", " });
            text.push_str(&head.to_string());
        }
        if differing.len() > MOST_NAMED {
            text.push_str(", …");
        }
        text
    }
}

/// What rows stand in the order of; an effect counts whichever way it goes.
fn sort_key(cell: ContrastCell, of: ContrastOrder) -> Option<f64> {
    match of {
        ContrastOrder::First => Some(cell.a.mean),
        ContrastOrder::Second => Some(cell.b.mean),
        ContrastOrder::Difference => Some(cell.difference()),
        ContrastOrder::Effect => cell.contrast.map(|contrast| contrast.d.abs()),
        ContrastOrder::Corrected => cell.corrected,
    }
}

/// A column of the table as a person reads it.
pub fn column_text(cell: Option<ContrastCell>, of: ContrastOrder) -> String {
    let Some(cell) = cell else { return "–".to_owned() };
    match of {
        ContrastOrder::First => norm_text(cell.a.mean),
        ContrastOrder::Second => norm_text(cell.b.mean),
        ContrastOrder::Difference => difference_text(&cell),
        ContrastOrder::Effect => cell.contrast.map_or_else(|| "–".to_owned(), |contrast| decimal_text(contrast.d)),
        ContrastOrder::Corrected => cell.corrected.map_or_else(|| "–".to_owned(), p_text),
    }
}

/// Both means, and how they differ: `0.412 → 0.553, +0.141; d 1.20, p 0.003`.
pub fn contrast_text(cell: Option<ContrastCell>) -> String {
    let Some(cell) = cell else { return "not on both sides".to_owned() };
    let means = format!("{} → {}", norm_text(cell.a.mean), norm_text(cell.b.mean));
    let Some((contrast, p)) = cell.contrast.zip(cell.corrected) else {
        return format!("{means}, {}; nothing varies", difference_text(&cell));
    };
    format!("{means}, {}; d {}, p {}", difference_text(&cell), decimal_text(contrast.d), p_text(p))
}

fn difference_text(cell: &ContrastCell) -> String {
    let difference = cell.difference();
    let text = signed(difference, &norm_text(difference.abs()));
    if difference > 0.0 { format!("+{text}") } else { text }
}

fn p_text(p: f64) -> String {
    weight_text(p)
}
