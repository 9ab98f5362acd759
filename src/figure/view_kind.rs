//! The views: their ids, and the one list of what each of them is.

use serde::{Deserialize, Serialize};

use super::{
    ViewOptions,
    views::{
        Facts, ViewSpec, atlas, average, cost, debate, diagram, dictionary, distance, experts, grid, headpage, heads,
        heatmap, image, lab, matrix, paths, positions, probe, scatter, simplex, states, text, why, writing,
    },
};
use crate::{capture::Capture, ids::StackKind, options::one_of};

/// The id of a view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ViewKind {
    /// Bipartite attention lines.
    #[default]
    Heads,
    /// One head as a matrix of colours.
    Heatmap,
    /// The text itself, tinted.
    Text,
    /// Every head as a small matrix of colours.
    Grid,
    Image,
    /// A text step by step as it was written.
    Writing,
    /// Attention of all layers as a graph.
    Paths,
    /// One head's joint query–key plane.
    Scatter,
    /// Every head's joint query–key plane.
    Matrix,
    /// How well distance there stands for the dot product.
    Distance,
    /// Every head between numbers over many inputs.
    Atlas,
    /// One head over many inputs.
    HeadPage,
    /// Mean attention over many inputs.
    Average,
    /// Tests of attention as explanation over many inputs.
    Debate,
    /// Linear probes over many inputs.
    Probe,
    /// Features of a dictionary over many inputs.
    Dictionary,
    /// What explains a prediction.
    Lab,
    /// One weight step by step.
    Why,
    /// What makes scores weights.
    Simplex,
    /// How positions enter attention.
    Positions,
    /// The model as boxes.
    Diagram,
    /// What attention costs by length.
    Cost,
    /// What a recurrence carries from token to token.
    States,
    /// Experts that tokens go to.
    Experts,
}

/// Every view, in tab order, which is the order of their ids.
const VIEWS: &[&ViewSpec] = &[
    &heads::SPEC,
    &heatmap::SPEC,
    &text::SPEC,
    &grid::SPEC,
    &image::SPEC,
    &writing::SPEC,
    &paths::SPEC,
    &scatter::SPEC,
    &matrix::SPEC,
    &distance::SPEC,
    &atlas::SPEC,
    &headpage::SPEC,
    &average::SPEC,
    &debate::SPEC,
    &probe::SPEC,
    &dictionary::SPEC,
    &lab::SPEC,
    &why::SPEC,
    &simplex::SPEC,
    &positions::SPEC,
    &diagram::SPEC,
    &cost::SPEC,
    &states::SPEC,
    &experts::SPEC,
];

const _: () = {
    let mut at = 0;
    while at < VIEWS.len() {
        assert!(VIEWS[at].kind as usize == at, "a view is not at the place of its id");
        at += 1;
    }
};

impl ViewKind {
    /// Every view, in tab order.
    pub const ALL: [Self; VIEWS.len()] = {
        let mut all = [Self::Heads; VIEWS.len()];
        let mut at = 0;
        while at < all.len() {
            all[at] = VIEWS[at].kind;
            at += 1;
        }
        all
    };

    /// The view of points that a corpus opens with.
    pub const OF_CORPUS: Self = Self::Scatter;

    /// The view that a corpus opens with where it has no points.
    pub const OF_TESTS: Self = Self::Debate;

    /// The view of all heads at once.
    pub const OF_HEADS: Self = Self::Grid;

    /// The view of answers of methods.
    pub const OF_ANSWERS: Self = Self::Lab;
    /// The view of one head over many inputs.
    pub const OF_ONE_HEAD: Self = Self::HeadPage;
    /// The view of how one weight comes about.
    pub const OF_STEPS: Self = Self::Why;
    /// The view of what length costs.
    pub const OF_TIMES: Self = Self::Cost;

    /// What is known of it.
    pub const fn spec(self) -> &'static ViewSpec {
        VIEWS[self as usize]
    }

    /// The view that an input opens with.
    pub const fn of_input(has_picture: bool) -> Self {
        if has_picture { Self::Image } else { Self::Heads }
    }

    /// Tab label.
    pub const fn label(self) -> &'static str {
        self.spec().label
    }

    /// Name on the command line, in sessions and addresses, and in file names.
    pub const fn name(self) -> &'static str {
        self.spec().name
    }

    /// The view with this [`name`](Self::name), or which had it in an earlier version.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|view| view.name() == name || view.spec().former_names.contains(&name))
    }

    /// The view with this name.
    ///
    /// # Errors
    /// Says which names there are when it is none of them.
    pub fn parse(name: &str) -> Result<Self, String> {
        Self::from_name(name).ok_or_else(|| one_of(Self::ALL.map(Self::name)))
    }

    /// The names of some views, as a list for help texts.
    pub fn names(is_meant: impl Fn(Self) -> bool) -> String {
        let meant = Self::ALL.into_iter().filter(|view| is_meant(*view));
        meant.map(Self::name).collect::<Vec<_>>().join(", ")
    }

    /// What a pane with these options is called: its page, where it has several.
    pub fn shown_label(self, options: &ViewOptions) -> &'static str {
        self.spec().pages.map_or(self.label(), |pages| (pages.label)((pages.shown)(options)))
    }

    /// What other parts of the program ask about it.
    pub const fn facts(self) -> Facts {
        self.spec().facts
    }

    /// Why the view cannot show `stack` of `capture`, in words; `None` when it can.
    pub fn unavailable(self, capture: &Capture, stack: StackKind) -> Option<&'static str> {
        capture.stack(stack)?;
        if stack == StackKind::Chosen && !self.facts().draws_weights {
            return Some("It is not defined for some queries, and this capture has the rows of some alone");
        }
        (self.spec().unavailable)(capture, stack)
    }
}
