//! Options of all heads.

use serde::{Deserialize, Serialize};

use crate::{
    analysis::{
        detect::Detector,
        head_statistics::{FORMER_NAMES, Metric},
    },
    figure::{ViewKind, views::ViewScope},
    options::{FieldValue, OptionField, Visit, choose_with},
};

/// Options of the view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GridOptions {
    /// What each cell shows of its head.
    pub cells: CellsAs,
    /// By what number heads are sorted; none for rows of layers.
    pub sort_by: Option<Metric>,
    /// Whether the lowest number comes first, instead of the highest.
    pub lowest_first: bool,
    /// What heads stand together by.
    pub group_by: GroupBy,
    /// Whether heads below the threshold of the kind that they are sorted by are left out.
    pub of_kind: bool,
    /// Whether the colours of each head end at its own largest value, not all at one.
    pub own_scale: bool,
}

/// What a cell shows of its head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CellsAs {
    /// Its pattern as colours.
    #[default]
    Heatmap,
    /// Its strongest weights as lines, queries at the left.
    Lines,
    /// What one patch or word attends to, on the picture.
    Overlay,
}

vocabulary! {
    CellsAs: name, title;
    Heatmap("heatmap", "Heatmap"),
    Lines("lines", "Lines"),
    Overlay("overlay", "Picture"),
}

/// What heads stand together by, below a heading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum GroupBy {
    #[default]
    Nothing,
    Layer,
    /// What a head is called.
    Kind,
    /// Whether a head is of the kind that they are sorted by, else the quarter that its number is in.
    Number,
}

vocabulary! {
    GroupBy: name, title;
    Nothing("nothing", "Nothing"),
    Layer("layer", "Layer"),
    Kind("kind", "Kind of head"),
    Number("number", "The number they are sorted by"),
}

impl CellsAs {
    /// The view that shows one head as its cell does.
    pub const fn view(self) -> ViewKind {
        match self {
            Self::Heatmap => ViewKind::Heatmap,
            Self::Lines => ViewKind::Heads,
            Self::Overlay => ViewKind::Image,
        }
    }
}

impl GridOptions {
    /// Sorts heads by a score.
    pub const fn sort(&mut self, by: Detector) {
        self.sort_by = Some(Metric::Kind(by));
    }

    /// What cells show of their heads.
    pub const fn cells(&self) -> CellsAs {
        self.cells
    }

    /// By what heads are sorted and grouped, in words; empty where they stand by layer.
    pub fn words(&self) -> String {
        let sorted = self.sort_by.map(|score| {
            let lowest = if self.lowest_first { ", lowest first" } else { "" };
            format!("by {}{lowest}", score.title().to_lowercase())
        });
        let grouped = match self.group_by {
            GroupBy::Nothing => None,
            GroupBy::Layer => self.sort_by.map(|_| "in groups of a layer"),
            GroupBy::Kind => Some("in groups of a kind"),
            GroupBy::Number => self.sort_by.map(|_| "in groups of that number"),
        };
        [sorted, grouped.map(str::to_owned)].into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    /// Whether kinds of heads have to be known.
    pub const fn needs_kinds(&self) -> bool {
        matches!(self.group_by, GroupBy::Kind)
    }

    /// Shows the options.
    pub fn visit(&mut self, scope: &ViewScope<'_>, visit: &mut Visit<'_>) {
        let meaning = "What a cell shows of its head: its pattern as colours, its strongest weights as lines, or what \
                       the held patch or word attends to on the picture";
        let no_picture = (!scope.all && !scope.has_picture).then(|| "The keys are no patches of a picture".to_owned());
        choose_with(visit, ("cells", "Cells", meaning), &mut self.cells, &CellsAs::CHOICES, |field| {
            field.strict().heading("Grid").unless_each(vec![None, None, no_picture])
        });
        let of_score = |score: Metric| (Some(score), score.name(), score.title());
        let orders: Vec<_> =
            [(None, "layer", "Layer and head")].into_iter().chain(Metric::ALL.into_iter().map(of_score)).collect();
        let words = ("sort_by", "Sort by", "Order of the heads: layer, or a number of heads, highest first");
        choose_with(visit, words, &mut self.sort_by, &orders, |field| {
            field.placeholder("NUMBER").strict().formerly(&FORMER_NAMES)
        });
        if scope.all || self.sort_by.is_some() {
            let meaning = "Heads with the lowest number come first";
            let value = FieldValue::Flag(&mut self.lowest_first);
            visit(OptionField::new("lowest_first", "Lowest first", meaning, value).strict());
        }
        let meaning = "Heads that stand together below a heading: those of a layer, those of a kind, or those that are \
                       of the kind they are sorted by (else quarters of their number)";
        choose_with(visit, ("group_by", "Group by", meaning), &mut self.group_by, &GroupBy::CHOICES, |field| {
            field.strict()
        });
        if scope.all || self.sort_by.is_some_and(|by| by.kind().is_some()) {
            let meaning = "Leave out heads whose score is below the threshold of the kind that they are sorted by";
            let value = FieldValue::Flag(&mut self.of_kind);
            visit(OptionField::new("of_kind", "Only heads of this kind", meaning, value).strict());
        }
        if scope.all || self.cells != CellsAs::Lines {
            let meaning =
                "Colours of each head end at its own largest value: faint patterns show, heads cannot be compared";
            let value = FieldValue::Flag(&mut self.own_scale);
            visit(OptionField::new("own_scale", "Each head on its own scale", meaning, value).strict());
        }
    }
}
