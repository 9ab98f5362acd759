//! What a recurrence carries from token to token: its states, their size, its gates, the gradient through time, and how
//! many steps lie between two tokens.

use std::sync::Arc;

use emath::Rect;

use super::{joined, parts::OfParts};
use crate::{
    analysis::states::{Route, Steps},
    capture::{Capture, Way, words},
    figure::{page::Captions, pen::Pen},
    ids::{Side, StackKind},
    text::counted,
};

mod draw;
mod options;
mod spec;

pub use draw::cells;
pub use options::{StatesOf, StatesOptions};
pub use spec::SPEC;

/// A part of the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatesPart {
    /// Unit × step.
    Units,
    /// Lengths of the states.
    Norm,
    /// Cosines with the state of the step before.
    Likeness,
    /// Mean of each gate.
    Gates,
    /// Units whose gates are shut or open.
    Ends,
    /// Lengths of gradients by the states.
    Gradient,
    /// Steps between two tokens by their distance.
    Path,
}

/// The recurrences over one sequence.
#[derive(Clone, Debug)]
pub struct StatesFacts {
    pub side: Side,
    /// What the tokens are called.
    pub names: Vec<String>,
    /// In each direction that there is.
    pub steps: Vec<Steps>,
    /// Whether the model attends to what it read, or from what it writes.
    pub attends: bool,
    /// What the gradients are of.
    pub outcome: Option<String>,
}

impl StatesFacts {
    /// What was recorded of the sequence that was chosen, or else of the first that there is.
    pub fn of(capture: &Capture, of: StatesOf) -> Option<Self> {
        let steps = |side: Side| Way::ALL.into_iter().filter_map(|way| Steps::of(capture, side, way)).collect();
        let sides = [of].into_iter().chain(StatesOf::ALL).flat_map(StatesOf::sides).copied();
        let (side, steps) = sides.map(|side| (side, steps(side))).find(|(_, steps): &(_, Vec<_>)| !steps.is_empty())?;
        let tokens = capture.tokens(side);
        let layers = capture.model().stacks.iter().flat_map(|stack| &stack.layers);
        Some(Self {
            side,
            names: (0..tokens.len()).map(|at| words::bare(&words::token_text(tokens, at)).to_owned()).collect(),
            steps,
            attends: layers.into_iter().any(|layer| !layer.fixed),
            outcome: capture.state_gradients().map(|found| found.outcome.clone()),
        })
    }
}

/// Whose states are shown: those of the sequence that was chosen, or else of the first that has some.
fn side(capture: &Capture, of: StatesOf) -> Option<Side> {
    let has_state = |side: Side| Way::ALL.into_iter().any(|way| capture.of_sequence(side, way.state()).is_some());
    [of].into_iter().chain(StatesOf::ALL).flat_map(StatesOf::sides).copied().find(|side| has_state(*side))
}

/// Why the view has nothing to show; `None` where it has.
fn unavailable(capture: &Capture, _: StackKind) -> Option<&'static str> {
    side(capture, StatesOf::default())
        .is_none()
        .then_some("There are no states: no network here reads step by step, or they were not recorded")
}

/// The view of one sequence.
#[derive(Clone, Debug)]
pub struct StatesScene {
    pub facts: Arc<StatesFacts>,
    pub options: StatesOptions,
    /// The token that is selected.
    pub held: Option<usize>,
}

impl StatesScene {
    /// With the query and the key that are held, of this stack.
    pub fn new(
        facts: Arc<StatesFacts>,
        stack: StackKind,
        [query, key]: [Option<usize>; 2],
        options: StatesOptions,
    ) -> Self {
        let held =
            if stack.key_side() == facts.side { key } else { query.filter(|_| stack.query_side() == facts.side) };
        Self { held: held.filter(|at| *at < facts.names.len()), facts, options }
    }

    /// The direction whose units and gates are drawn.
    pub fn steps(&self) -> &Steps {
        let steps = &self.facts.steps;
        steps.iter().find(|steps| steps.way == self.options.way).unwrap_or(&steps[0])
    }

    /// The token whose path is measured, the one at which the reading ends, and the steps between them.
    fn pair(&self) -> [usize; 3] {
        let order = self.steps().order();
        let [first, last] = [order.first(), order.last()].map(|at| at.copied().unwrap_or(0));
        let from = self.held.unwrap_or(first);
        [from, last, from.abs_diff(last)]
    }

    /// How tokens `d` apart reach each other, in this model and in others: name, formula, and what it computes.
    fn routes(&self) -> [(String, String, Route); 4] {
        let (kernel, reach) = (self.options.kernel, self.options.reach);
        let attention = if self.facts.attends { "attention" } else { "attention (not here)" };
        [
            ("recurrence".to_owned(), "d = ".to_owned(), Route::Recurrence),
            (format!("convolutions over {kernel}"), format!("⌈d/{}⌉ = ", kernel - 1), Route::Convolutions(kernel)),
            (format!("windows of ±{reach}"), format!("⌈d/{reach}⌉ = "), Route::Windows(reach)),
            (attention.to_owned(), String::new(), Route::Attention),
        ]
    }

    /// The sequence in words.
    fn reader_text(&self) -> String {
        let kind = self.steps().kind().unwrap_or("Recurrence");
        let ways = if self.facts.steps.len() > 1 { ", forward and backward" } else { "" };
        format!("{kind} over {}{ways}", counted(self.facts.names.len(), "token"))
    }
}

impl OfParts for StatesScene {
    type Part = StatesPart;

    fn parts(&self) -> Vec<StatesPart> {
        let steps = self.steps();
        let parts = [
            (StatesPart::Units, true),
            (StatesPart::Norm, true),
            (StatesPart::Likeness, steps.likeness.len() > 1),
            (StatesPart::Gates, !steps.gates.is_empty()),
            (StatesPart::Ends, !steps.gates.is_empty()),
            (StatesPart::Gradient, !steps.gradients.is_empty()),
            (StatesPart::Path, self.facts.names.len() > 1),
        ];
        parts.into_iter().filter(|(_, is_there)| *is_there).map(|(part, _)| part).collect()
    }

    fn draw_part(&self, part: StatesPart, rect: Rect, pen: &mut Pen<'_>) {
        self.draw_one(part, rect, pen);
    }

    fn said(&self) -> Captions {
        let what = self.reader_text();
        let how = "The gradient is that of one output by each state, with all that follows from the state; a path counts \
                   the steps between two tokens";
        Captions { short: what.clone(), full: joined([what.as_str(), how]) }
    }
}
