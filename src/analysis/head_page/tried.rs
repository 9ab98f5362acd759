//! An input that is held against the page of a head: how active the head is in it, among the inputs of the page.

use super::{Chosen, HeadPage, PageInput, PageSequence, strongest};
use crate::capture::{Capture, Matrix};

/// Where an activation stands among those of the page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    pub activation: f32,
    /// 1 where no input of the page is more active.
    pub rank: usize,
    /// Inputs with an activation.
    pub n_ranked: usize,
    /// The number of the interval whose inputs are as active.
    pub interval: usize,
}

/// An input that need not be one of the page's.
#[derive(Clone, Debug, PartialEq)]
pub struct TriedInput {
    /// Its place in the list is behind the last one.
    pub sequence: PageSequence,
    /// `None` where it has no pair that counts.
    pub place: Option<Standing>,
}

impl HeadPage {
    /// Where an activation stands.
    pub fn place_of(&self, activation: f32) -> Standing {
        let ranked = self.activations.iter().filter(|known| !known.is_nan());
        let rank = 1 + ranked.clone().filter(|known| **known > activation).count();
        // The strongest come first, and what is below all is as the weakest.
        let reached = self.intervals.of.iter().find(|interval| activation >= interval.range[0]);
        let interval = reached.or(self.intervals.of.last()).map_or(0, |interval| interval.number);
        Standing { activation, rank, n_ranked: ranked.count(), interval }
    }
}

impl TriedInput {
    /// A run with its pattern of the head, `[query, key]`; none where it has no rows.
    pub fn of(page: &HeadPage, capture: &Capture, pattern: &Matrix) -> Option<Self> {
        let input = PageInput::of_capture(capture, page.head);
        let place = strongest(pattern, &input).map(|pair| page.place_of(pair.weight));
        let chosen = Chosen { input: page.activations.len(), interval: place.map_or(0, |place| place.interval) };
        Some(Self { sequence: PageSequence::keep(chosen, &input, pattern)?, place })
    }
}
