//! The one place that decides which numbers are shown: what is left out, renormalised, merged, aggregated
//! and subtracted. Views, tooltips, the inspector, figures and data files all take their weights from a
//! [`ReadPattern`], so they cannot disagree.
//!
//! A [`Reading`] says what is wanted; [`read`] does it, always in this order:
//!
//! 1. **Take** each head's weights from their source: as they are, or by the lengths of its values,
//!    `a_ij · ‖v_j‖`, rows scaled back to the sum that they had; or take what a method of the laboratory
//!    answered ([`Explained`]) in their place.
//! 2. **Aggregate** the heads into one pattern `[query, key]`, entry by entry.
//! 3. **Leave out** keys, and scale what remains of each row up to the sum that the row had, if asked for (rows
//!    of an explanation are no distributions, and never scaled).
//!    Then the sentences that are not looked at become blank, without renormalising.
//! 4. **Merge** tokens into words, sentences or paragraphs: the sum over the keys of each, the mean over its queries.
//! 5. **Subtract** another pattern that went through the same four steps.
//!
//! Summing over keys and averaging over queries is how Clark et al. (2019) turn attention between tokens
//! into attention between words: rows keep their sum.
//!
//! What of a row went to no key (a learned sink, or what an incomplete file lacks) has columns of its own behind the
//! keys. They count in the sum of a row, and nothing ever scales them.
//!
//! A reading that changes nothing gives the capture's own pattern, bit for bit and without a copy. All
//! sums are taken in `f64` and rounded once.

mod aggregate;
pub mod align;
mod axis;
mod choice;
mod explained;
pub mod long;
mod marks;
mod mass;
mod options;
pub mod pairs;
mod pattern;
mod refusal;
mod rest;
mod rows;
mod sentences;
pub mod store;
mod strongest;
mod subtract;
mod weigh;

pub use aggregate::members;
pub use axis::{Axes, Axis, AxisGroup, LeftOut, Rest};
pub use choice::{Over, ReadingOptions, Together};
pub use explained::{Explained, Extent, can_be_shown, family};
pub use marks::{Marks, ablated};
pub use mass::RowMass;
pub use options::{
    Aggregate, Aggregation, Heads, LeaveOut, Minus, Policy, Reading, RowLabels, SentenceFilter, Source, Which, Whose,
};
pub use pattern::{BY_VALUE_NORM, Blank, EFFECTIVE, ReadPattern};
pub use refusal::Refusal;
pub use rest::rest_of;
pub use rows::{axes, writes};
pub use sentences::{is_pair, sentences};
pub use strongest::strongest;

use crate::capture::{Capture, words};

/// The captures that a reading is about.
#[derive(Clone, Copy, Debug)]
pub struct Captures<'a> {
    pub this: &'a Capture,
    /// The one that may be subtracted from it.
    pub other: Option<&'a Capture>,
}

impl<'a> Captures<'a> {
    /// One capture alone.
    pub const fn one(this: &'a Capture) -> Self {
        Self { this, other: None }
    }
}

/// The pattern that `reading` means.
///
/// # Errors
/// When a head or the values it is weighed by do not exist or were not recorded, when two things cannot be
/// subtracted, or when the pattern is too long to be held whole; then its parts can be read ([`long`]).
pub fn read(captures: Captures<'_>, reading: &Reading) -> Result<ReadPattern, Refusal> {
    long::check_whole(captures.this, reading)?;
    let Some(minus) = &reading.minus else { return rows::read(captures.this, reading) };
    let other = match minus.of {
        Whose::This => captures.this,
        Whose::Other => captures.other.ok_or(Refusal::NoOther)?,
    };
    let maps = subtract::maps((captures.this, reading.heads.stack()), (other, minus.heads.stack()), minus.of)?;
    let this = rows::read(captures.this, reading)?;
    let leave_out = LeaveOut { positions: maps.keys.carry(&reading.leave_out.positions), ..reading.leave_out.clone() };
    let theirs = Reading { heads: minus.heads.clone(), leave_out, minus: None, ..reading.clone() };
    subtract::subtract(this, &rows::read(other, &theirs)?, &maps)
}

/// Which keys a choice leaves out, by position.
pub fn left_out_keys(capture: &Capture, stack: crate::ids::StackKind, choice: &LeaveOut) -> Vec<bool> {
    let tokens = capture.key_tokens(stack);
    let out = |(position, token): (usize, &crate::capture::Token)| {
        (choice.special && token.special)
            || (choice.first && position == 0)
            || (choice.punctuation && words::is_punctuation(token))
            || choice.positions.contains(&position)
    };
    match choice.policy {
        Policy::Keep => vec![false; tokens.len()],
        Policy::Renormalize | Policy::Hide => tokens.iter().enumerate().map(out).collect(),
    }
}
