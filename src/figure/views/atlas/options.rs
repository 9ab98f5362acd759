//! Options of the atlas.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::{FolderAxes, PointNames};
use crate::{
    analysis::{
        detect::Detector,
        head_statistics::{FORMER_NAMES, Metric, N_METRICS, Quantity, Thresholds},
        welch::Correction,
    },
    options::{FieldValue, OptionField, Visit, choose_with, one_of, put},
};

/// Which numbers are shown.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AtlasOptions {
    /// Of the points, along.
    pub across: Metric,
    /// Of the points, up.
    pub up: Metric,
    /// Of the colours of the cells.
    pub color: Metric,
    /// Of the colours of the points.
    pub point_color: PointColors,
    /// Of the sizes of the points; none where all have the same.
    pub point_size: Option<Metric>,
    /// Which heads have their names beside their points.
    pub point_names: PointNames,
    /// By what the table is ordered.
    pub order: TableOrder,
    /// Whether the table begins with the lowest number, instead of the highest.
    pub lowest_first: bool,
    /// How p-values are corrected for the number of heads, where two corpora or models are held against each other.
    pub correction: Correction,
    /// How many families of heads are told apart.
    pub families: usize,
    /// From which numbers on heads are called something.
    pub thresholds: Thresholds,
    /// Which numbers of a folder of heads are shown, which has names of its own.
    pub of_folder: FolderAxes,
}

/// Families of heads that are told apart at first, and how many can be.
pub const FAMILIES: usize = 6;
const FAMILIES_RANGE: RangeInclusive<usize> = 2..=12;

/// What colours the points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Option<String>", try_from = "Option<String>")]
pub enum PointColors {
    /// What heads are called; in files it is left out.
    #[default]
    Kind,
    /// The family that a head belongs to.
    Family,
    By(Metric),
}

/// What [`PointColors::Family`] and [`TableOrder::Family`] are called in files.
const FAMILY: &str = "family";

impl PointColors {
    /// The number, where it is one.
    pub const fn metric(self) -> Option<Metric> {
        match self {
            Self::By(metric) => Some(metric),
            Self::Kind | Self::Family => None,
        }
    }
}

impl From<PointColors> for Option<String> {
    fn from(colors: PointColors) -> Self {
        match colors {
            PointColors::Kind => None,
            PointColors::Family => Some(FAMILY.to_owned()),
            PointColors::By(metric) => Some(metric.name().to_owned()),
        }
    }
}

impl TryFrom<Option<String>> for PointColors {
    type Error = String;

    fn try_from(name: Option<String>) -> Result<Self, String> {
        match name {
            None => Ok(Self::Kind),
            Some(name) if name == FAMILY => Ok(Self::Family),
            Some(name) => Metric::try_from(name).map(Self::By),
        }
    }
}

/// By what the rows of the table are ordered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum TableOrder {
    /// By the number that colours the cells.
    #[default]
    Cells,
    Layer,
    /// What heads are called.
    Kind,
    /// The family that a head belongs to.
    Family,
    By(Metric),
    /// Of two corpora or models, by what is told of the number of the cells.
    Contrast(ContrastOrder),
}

/// What is told of a number of a head over two corpora, or in two models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContrastOrder {
    First,
    Second,
    Difference,
    Effect,
    Corrected,
}

vocabulary! {
    ContrastOrder: name, title;
    First("first-side", "First side"),
    Second("second-side", "Second side"),
    Difference("difference", "Difference"),
    Effect("effect", "Effect size"),
    Corrected("p-value", "Corrected p"),
}

impl TableOrder {
    /// The name in files and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Cells => "cells",
            Self::Layer => "layer",
            Self::Kind => "kind",
            Self::Family => FAMILY,
            Self::By(metric) => metric.name(),
            Self::Contrast(of) => of.name(),
        }
    }

    /// On screen.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Cells => "Number of the cells",
            Self::Layer => "Layer and head",
            Self::Kind => "Kind of head",
            Self::Family => "Family of heads",
            Self::By(metric) => metric.title(),
            Self::Contrast(of) => of.title(),
        }
    }

    /// Every one.
    pub fn all() -> impl Iterator<Item = Self> {
        let alone = [Self::Cells, Self::Layer, Self::Kind, Self::Family].into_iter().chain(Metric::ALL.map(Self::By));
        alone.chain(ContrastOrder::ALL.map(Self::Contrast))
    }
}

impl From<TableOrder> for String {
    fn from(order: TableOrder) -> Self {
        order.name().to_owned()
    }
}

impl TryFrom<String> for TableOrder {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let known = Self::all().find(|order| order.name() == name);
        let known = known.or_else(|| Metric::from_name(&name).map(Self::By));
        known.ok_or_else(|| one_of(Self::all().map(Self::name)))
    }
}

impl Default for AtlasOptions {
    fn default() -> Self {
        Self {
            across: Metric::Of(Quantity::EntropyFraction),
            up: Metric::Of(Quantity::Activation),
            color: Metric::Kind(Detector::Confidence),
            point_color: PointColors::Kind,
            point_size: None,
            point_names: PointNames::default(),
            order: TableOrder::Cells,
            lowest_first: false,
            correction: Correction::default(),
            families: FAMILIES,
            thresholds: Thresholds::default(),
            of_folder: FolderAxes::default(),
        }
    }
}

/// All metrics with their names.
const CHOICES: [(Metric, &str, &str); N_METRICS] = {
    let mut choices = [(Metric::ALL[0], "", ""); N_METRICS];
    let mut at = 0;
    while at < N_METRICS {
        let metric = Metric::ALL[at];
        choices[at] = (metric, metric.name(), metric.title());
        at += 1;
    }
    choices
};

impl AtlasOptions {
    /// The number that orders the table of one corpus; none where it stands by layer or kind.
    pub const fn ordered_by(&self) -> Option<Metric> {
        match self.order {
            // What is told of two corpora orders nothing of one.
            TableOrder::Cells | TableOrder::Contrast(_) => Some(self.color),
            TableOrder::By(metric) => Some(metric),
            TableOrder::Layer | TableOrder::Kind | TableOrder::Family => None,
        }
    }

    /// Whether families of heads are shown.
    pub fn shows_families(&self) -> bool {
        self.point_color == PointColors::Family || self.order == TableOrder::Family
    }

    /// What orders the table of two corpora or models: at first the size of the effect, whichever way it goes.
    pub const fn contrast_order(&self) -> ContrastOrder {
        match self.order {
            TableOrder::Contrast(of) => of,
            _ => ContrastOrder::Effect,
        }
    }

    /// Whether the table is in this order, whichever end comes first.
    pub fn is_ordered_by(&self, order: TableOrder) -> bool {
        match order {
            TableOrder::Layer | TableOrder::Kind | TableOrder::Family => self.order == order,
            TableOrder::Cells => self.ordered_by() == Some(self.color),
            TableOrder::By(metric) => self.ordered_by() == Some(metric),
            TableOrder::Contrast(of) => {
                let by_number = !matches!(self.order, TableOrder::Layer | TableOrder::Kind | TableOrder::Family);
                by_number && self.contrast_order() == of
            }
        }
    }

    /// Orders the table; the other way round where it is in this order.
    pub fn order_by(&mut self, order: TableOrder) {
        if self.is_ordered_by(order) {
            self.lowest_first = !self.lowest_first;
        } else {
            (self.order, self.lowest_first) = (order, false);
        }
    }

    /// The numbers of the table, each once.
    pub fn columns(&self) -> Vec<Metric> {
        let more = [self.point_color.metric(), self.point_size, self.ordered_by()];
        let mut columns = vec![self.color];
        for metric in [self.across, self.up].into_iter().chain(more.into_iter().flatten()) {
            if !columns.contains(&metric) {
                columns.push(metric);
            }
        }
        columns
    }

    /// Shows the options.
    pub fn visit(&mut self, visit: &mut Visit<'_>) {
        let meaning = "Number of a head along the points";
        choose_with(visit, ("across", "Across", meaning), &mut self.across, &CHOICES, |field| {
            of_view(field).heading("Atlas")
        });
        let meaning = "Number of a head up the points";
        choose_with(visit, ("up", "Up", meaning), &mut self.up, &CHOICES, of_view);
        let colors: Vec<_> =
            [(PointColors::Kind, "kind", "Kind of head"), (PointColors::Family, FAMILY, "Family of heads")]
                .into_iter()
                .chain(CHOICES.map(|(metric, name, title)| (PointColors::By(metric), name, title)))
                .collect();
        let meaning = "Colour of the points: the kind of a head, the family that it belongs to, or a number of it";
        let words = ("point_color", "Colour of the points", meaning);
        choose_with(visit, words, &mut self.point_color, &colors, of_view);
        let sizes: Vec<_> = [(None, "same", "The same")]
            .into_iter()
            .chain(CHOICES.map(|(metric, name, title)| (Some(metric), name, title)))
            .collect();
        let meaning = "Size of the points: the same for all, or a number of a head";
        let words = ("point_size", "Size of the points", meaning);
        choose_with(visit, words, &mut self.point_size, &sizes, of_view);
        let meaning = "Names beside points: of the selected head and of heads of known kinds, as far as there is room";
        choose_with(visit, ("point_names", "Names", meaning), &mut self.point_names, &PointNames::CHOICES, |field| {
            field.strict()
        });
        let meaning = "How many families heads are put into by the likeness of their numbers";
        let value = FieldValue::Whole(&mut self.families, FAMILIES_RANGE);
        visit(OptionField::new("families", "Families", meaning, value).strict());
        let meaning = "Number of a head that colours the cells";
        choose_with(visit, ("color_by_number", "Cells", meaning), &mut self.color, &CHOICES, of_view);
        let orders: Vec<_> = TableOrder::all().map(|order| (order, order.name(), order.title())).collect();
        let meaning = "Order of the table, the highest first; a click on a heading does the same";
        choose_with(visit, ("table_order", "Rows by", meaning), &mut self.order, &orders, of_view);
        let meaning = "The table begins with the lowest number; a second click on a heading does the same";
        let value = FieldValue::Flag(&mut self.lowest_first);
        visit(OptionField::new("order_lowest_first", "Lowest number first", meaning, value).strict());
        let corrections = Correction::ALL.map(|known| (known, known.name(), known.title()));
        let meaning = "How p-values are corrected for the number of heads, where two corpora or models are held against \
                       each other";
        let words = ("correction", "Corrected by", meaning);
        choose_with(visit, words, &mut self.correction, &corrections, |field| {
            field.placeholder("METHOD").strict().heading("Two corpora or models")
        });
        self.visit_thresholds(visit);
    }

    fn visit_thresholds(&mut self, visit: &mut Visit<'_>) {
        let text = self.thresholds.text();
        let thresholds = &mut self.thresholds;
        let mut read = |text: &str| put(thresholds, Thresholds::from_text(text));
        let meaning = "Numbers from which heads are called something, where another one than the usual is wanted: kinds \
                       and numbers, such as induction=0.4,previous=0.6";
        let field = OptionField::new("kind_threshold", "Thresholds", meaning, FieldValue::Text(&text, &mut read));
        visit(field.placeholder("KIND=NUMBER,…").strict().on_command_line());
        let meaning = "Number from which a head is called so; a higher one names fewer heads";
        for (nth, metric) in Metric::kinds().enumerate() {
            let Some(from) = self.thresholds.of(metric) else { continue };
            let mut moved = f64::from(from);
            let value = FieldValue::Real(&mut moved, 0.0..=1.0);
            let field = OptionField::new(metric.name(), metric.kind_title(), meaning, value).in_window();
            visit(if nth == 0 { field.heading("Thresholds of kinds") } else { field });
            self.thresholds.set(metric, moved as f32);
        }
    }
}

fn of_view(field: OptionField<'_>) -> OptionField<'_> {
    field.placeholder("NUMBER").strict().formerly(&FORMER_NAMES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_click_on_a_heading_turns_the_table_round_and_old_files_are_read() {
        let entropy = Metric::Of(Quantity::Entropy);
        let mut options = AtlasOptions::default();
        options.order_by(TableOrder::By(options.color));
        assert!(options.lowest_first && options.order == TableOrder::Cells, "the table is in that order");
        options.order_by(TableOrder::By(entropy));
        assert_eq!((options.ordered_by(), options.lowest_first), (Some(entropy), false));
        assert!(options.columns().contains(&entropy));
        options.order_by(TableOrder::By(entropy));
        assert!(options.lowest_first);
        let json = serde_json::to_string(&options).unwrap();
        assert_eq!(serde_json::from_str::<AtlasOptions>(&json).unwrap(), options);
        let before = r#"{"across":"first","up":"previous","color":"entropy-fraction"}"#;
        let read: AtlasOptions = serde_json::from_str(before).unwrap();
        assert_eq!(read.across, Metric::Kind(Detector::First));
        assert_eq!((read.order, read.point_color), (TableOrder::Cells, PointColors::Kind));
        assert_eq!((read.families, read.thresholds), (FAMILIES, Thresholds::default()));
        let colors = |json: &str| serde_json::from_str::<AtlasOptions>(json).unwrap().point_color;
        assert_eq!(colors(r#"{"point_color":null}"#), PointColors::Kind);
        assert_eq!(colors(r#"{"point_color":"entropy"}"#), PointColors::By(entropy));
        assert_eq!(colors(r#"{"point_color":"family"}"#), PointColors::Family);
        for order in TableOrder::all() {
            assert_eq!(TableOrder::try_from(String::from(order)), Ok(order));
        }
    }
}
