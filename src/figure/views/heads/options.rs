//! Options of the lines.

use std::num::ParseIntError;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{layout::Placing, look::LineLook};
use crate::{
    analysis::edges::EdgeFilter,
    figure::{spec::plain, views::ViewScope},
    options::{FieldValue, OptionField, Visit, choose, choose_with, fraction, put},
};

/// Options of the view.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HeadsOptions {
    pub filter: EdgeFilter,
    pub look: LineLook,
    pub placing: Placing,
}

/// Ways of choosing lines: name, label, meaning.
const WAYS: [(&str, &str, &str); 3] = [
    ("top_p", "Share of each row", "Lines: the strongest of each row that together cover this share of it"),
    ("top_k", "Strongest of each row", "Lines: number of the strongest of each row"),
    ("threshold", "Weights from", "Lines and flows: smallest weight"),
];

/// The filter that each way begins with.
const USUAL: [EdgeFilter; 3] = [EdgeFilter::TopP(0.9), EdgeFilter::TopK(3), EdgeFilter::Threshold(0.05)];

/// Most lines of a row.
const MOST_OF_ROW: usize = 32;

impl HeadsOptions {
    /// Which lines are drawn.
    pub const fn filter(&self) -> EdgeFilter {
        self.filter
    }

    /// What they look like.
    pub const fn look(&self) -> LineLook {
        self.look
    }

    /// The same options of lines in a cell, which has room for columns alone.
    #[must_use]
    pub fn of_grid(&self) -> Self {
        Self { placing: Placing::Columns, ..self.clone() }
    }

    /// Shows the options: each way has a flag, and the window has a choice of the way with its number.
    pub fn visit(&mut self, scope: &ViewScope<'_>, visit: &mut Visit<'_>) {
        let filter = &mut self.filter;
        let [share, number, least] = WAYS;
        let mut read = |text: &str| put(filter, fraction(text).map(EdgeFilter::TopP));
        visit(flag(share, &mut read, "P").conflicts(&["top_k", "threshold"]));
        let mut read = |text: &str| {
            let number = text.parse().map_err(|error: ParseIntError| error.to_string());
            put(filter, number.map(EdgeFilter::TopK))
        };
        visit(flag(number, &mut read, "K").conflicts(&["threshold"]));
        let mut read = |text: &str| put(filter, fraction(text).map(EdgeFilter::Threshold));
        visit(flag(least, &mut read, "W"));

        let mut ways = [0, 1, 2].map(|way| (way, WAYS[way].0, WAYS[way].1));
        if scope.is_explained {
            ways[2].2 = "From this part of the largest";
        }
        let before = way_of(*filter);
        let mut way = before;
        let meaning = "Pairs that get a line: the strongest of each row up to a share of it, a number of the strongest \
                       of each row, or all from some weight on";
        let words = ("lines", "Show lines", meaning);
        choose_with(visit, words, &mut way, &ways, |field| field.in_window().heading("Lines"));
        if way != before {
            *filter = USUAL[way];
        }
        let (name, _, meaning) = WAYS[way];
        let value = match filter {
            EdgeFilter::TopP(share) => FieldValue::Share(share, 0.1..=1.0),
            EdgeFilter::TopK(number) => FieldValue::Whole(number, 1..=MOST_OF_ROW),
            EdgeFilter::Threshold(least) => FieldValue::Small(least, 0.001..=1.0),
        };
        visit(OptionField::new(name, ways[way].2, meaning, value).in_window());
        self.look.visit(visit);
        let meaning = "Lines: columns (queries at the left, keys at the right) or rows (queries above, keys below)";
        choose(visit, ("line-layout", "Tokens in", meaning), &mut self.placing, &Placing::CHOICES);
    }

    /// Names in metadata before they were those of settings.
    pub fn said(&self) -> Vec<(&'static str, Value)> {
        let lines = match self.filter {
            EdgeFilter::TopP(p) => json!({ "top_p": plain(&p) }),
            EdgeFilter::TopK(k) => json!({ "top_k": k }),
            EdgeFilter::Threshold(least) => json!({ "threshold": plain(&least) }),
        };
        vec![("lines", lines)]
    }
}

/// The flag of a way.
fn flag<'a>(
    (name, label, meaning): (&'static str, &'static str, &'static str),
    read: &'a mut dyn FnMut(&str) -> Result<(), String>,
    placeholder: &'static str,
) -> OptionField<'a> {
    OptionField::new(name, label, meaning, FieldValue::Read(read, placeholder)).on_command_line()
}

/// The index of a filter's way.
const fn way_of(filter: EdgeFilter) -> usize {
    match filter {
        EdgeFilter::TopP(_) => 0,
        EdgeFilter::TopK(_) => 1,
        EdgeFilter::Threshold(_) => 2,
    }
}
