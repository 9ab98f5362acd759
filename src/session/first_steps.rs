//! The first steps in the program: which were taken, and until when they are offered.

use serde::{Deserialize, Serialize};

use super::{Pane, ViewKind};
use crate::ids::HeadId;

/// A first step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FirstStep {
    /// Point at a word.
    Hover,
    /// Look at another head.
    NextHead,
    /// Look at all heads at once.
    AllHeads,
    /// Run another text.
    OwnText,
    /// Open a model that is not bundled.
    OwnModel,
}

vocabulary! {
    FirstStep: name;
    Hover("hover"),
    NextHead("next-head"),
    AllHeads("all-heads"),
    OwnText("own-text"),
    OwnModel("own-model"),
}

/// What is remembered of them.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FirstSteps {
    taken: Vec<FirstStep>,
    /// They are offered no more.
    closed: bool,
    /// A text was typed that has not run yet.
    #[serde(skip)]
    typed: bool,
}

impl FirstSteps {
    /// Whether a step was taken.
    pub fn has(&self, step: FirstStep) -> bool {
        self.taken.contains(&step)
    }

    /// Whether they are offered.
    pub const fn are_offered(&self) -> bool {
        !self.closed
    }

    pub(super) const fn close(&mut self) {
        self.closed = true;
    }

    /// A text was typed.
    pub(super) const fn type_text(&mut self) {
        self.typed = true;
    }

    /// A run has arrived, which a pane shows.
    pub(super) fn run(&mut self, pane: &Pane) {
        if pane.view == ViewKind::OF_HEADS {
            self.take(FirstStep::AllHeads);
        }
        if std::mem::take(&mut self.typed) {
            self.take(FirstStep::OwnText);
        }
    }

    /// Something was chosen in a pane that showed this view and head before.
    pub(super) fn choose(&mut self, before: (ViewKind, HeadId), pane: &Pane) {
        if pane.selection.head != before.1 {
            self.take(FirstStep::NextHead);
        }
        if pane.view != before.0 && pane.view == ViewKind::OF_HEADS {
            self.take(FirstStep::AllHeads);
        }
    }

    /// Takes a step.
    pub(super) fn take(&mut self, step: FirstStep) {
        if self.closed {
            return;
        }
        if !self.has(step) {
            self.taken.push(step);
        }
        // What stands above the text and the picture does not go while somebody types or points.
        let moves_nothing = matches!(step, FirstStep::Hover | FirstStep::OwnText);
        self.closed = !moves_nothing && self.taken.len() == FirstStep::ALL.len();
    }
}
