//! Options of what a recurrence carries.

use serde::{Deserialize, Serialize};

use crate::{
    capture::Way,
    ids::Side,
    options::{Visit, choose, whole},
};

/// The widest window or convolution that is compared.
const MOST: usize = 64;

/// The sequence whose steps are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StatesOf {
    /// What is read.
    #[default]
    Source,
    /// What is written.
    Target,
    /// Sentences, of a model that reads words first.
    Sentences,
}

vocabulary! {
    StatesOf: name, title;
    Source("source", "Source"),
    Target("target", "Target"),
    Sentences("sentences", "Sentences"),
}

impl StatesOf {
    /// The sides whose tokens may be read or written step by step; a model has one of them.
    pub const fn sides(self) -> &'static [Side] {
        match self {
            Self::Source => &[Side::Encoder, Side::Only],
            Self::Target => &[Side::Decoder],
            Self::Sentences => &[Side::Sentences],
        }
    }
}

/// Options of the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StatesOptions {
    pub of: StatesOf,
    /// The direction whose units and gates are drawn.
    pub way: Way,
    /// Places to each side in a window whose path is compared.
    pub reach: usize,
    /// Places under a convolution whose path is compared.
    pub kernel: usize,
}

impl Default for StatesOptions {
    fn default() -> Self {
        Self { of: StatesOf::default(), way: Way::default(), reach: 4, kernel: 3 }
    }
}

impl StatesOptions {
    /// Shows the options.
    pub fn visit(&mut self, visit: &mut Visit<'_>) {
        let meaning = "Of states: the sequence whose steps are drawn: source, target or sentences";
        choose(visit, ("states-of", "Steps of", meaning), &mut self.of, &StatesOf::CHOICES);
        let meaning = "Of states: the direction whose units and gates are drawn: forward or backward";
        choose(visit, ("read-direction", "Direction", meaning), &mut self.way, &Way::CHOICES);
        let meaning = "Of states: how many places to each side a window sees whose path is compared";
        visit(whole("path-window", "Window", meaning, &mut self.reach, 1..=MOST));
        let meaning = "Of states: over how many places a convolution goes whose path is compared";
        visit(whole("path-convolution", "Convolution", meaning, &mut self.kernel, 2..=MOST));
    }
}
