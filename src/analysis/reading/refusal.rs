//! Reasons why a pattern cannot be read as asked, as sentences.

use crate::{
    ids::{HeadId, StackKind},
    text::grouped,
};

/// Why a pattern cannot be read as asked: what is wrong, and what to do about it where that helps.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no such head.
    #[error("There is no {stack} L{layer}H{head}: {there_is}", stack = .head.stack, layer = .head.layer, head = .head.head)]
    NoSuchHead { head: HeadId, there_is: String },
    /// The capture has neither the pattern nor what it could be computed from.
    #[error("The attention of {stack} {head} was not recorded", stack = .0.stack, head = .0)]
    NotRecorded(HeadId),
    /// The layer moves values without one.
    #[error(
        "{0} has no pattern: each channel of its short convolution has factors of its own, and no one pattern of all of \
         them would be exact"
    )]
    NoPattern(HeadId),
    /// An effective pattern was not asked for, or over the budget.
    #[error(
        "The effective pattern of {0} was not kept, and nothing that was recorded gives it again: patterns of a shorter \
         text take less"
    )]
    NotKept(HeadId),
    /// Numbers of distributions are not defined.
    #[error("The pattern of {0} is effective, signed and not a distribution, so that this is not defined for it")]
    NoDistribution(HeadId),
    /// Effective patterns are no shares that could be weighed.
    #[error("The pattern of {0} is effective, signed and not a distribution: choose “Weight: raw”")]
    SignedByValue(HeadId),
    /// Distributions and effective patterns are to be made into one.
    #[error(
        "Attention and effective patterns, which are signed and not distributions, cannot be combined: choose heads of one \
         kind"
    )]
    TwoKinds,
    /// Weights are to count by the lengths of values that the capture does not have.
    #[error(
        "The values of {stack} {head} were not recorded: choose “Weight: raw”",
        stack = .0.stack,
        head = .0
    )]
    NoValues(HeadId),
    /// An explanation of other tokens is to be shown.
    #[error("{what} says nothing about the {stack} stack: choose another stack, or go back to attention")]
    SaysNothing { what: String, stack: StackKind },
    /// An explanation of another run is to be shown.
    #[error("{0} belongs to another run: run it again, or go back to attention")]
    OfAnotherRun(String),
    /// An aggregate of nothing.
    #[error("No head of the {0} stack was recorded, so there is nothing to combine")]
    NoHeads(StackKind),
    /// Something is to be subtracted from a capture that is not there.
    #[error("There is nothing to subtract: the other run has no result")]
    NoOther,
    /// Rows or columns of the two stacks are different things.
    #[error("{this} minus {other} is not defined: the {axis} of the two stacks are tokens of different sequences")]
    DifferentSides {
        this: StackKind,
        /// The stack that was to be subtracted.
        other: StackKind,
        /// Queries or keys.
        axis: &'static str,
    },
    /// The pattern of a long text would have to be held whole.
    #[error(
        "{} × {} weights are too many to combine (at most 8,192 × 8,192): Lines and Heatmap show single heads of \
        long texts; use a shorter text", grouped(*.n_query), grouped(*.n_key)
    )]
    TooLong { n_query: usize, n_key: usize },
    /// Ranking all heads of a long text would take minutes.
    #[error(
        "Heads are not ranked by kind in a text of {} tokens: a shorter one takes less, or use \
         `attnscope analyze heads`", grouped(*.0)
    )]
    KindsOfLong(usize),
    /// The layers make no graph, or cannot be multiplied.
    #[error("{0}")]
    NoPaths(&'static str),
    /// The program failed at it.
    #[error("{summary}: {details}")]
    Failed { summary: String, details: String },
    /// Words on one side, patches on the other.
    #[error("A text and a picture cannot be subtracted: the {axis} are words in one and patches in the other")]
    TextAgainstPicture {
        /// Queries or keys.
        axis: &'static str,
    },
    /// Patches lie differently.
    #[error(
        "The pictures have {} × {} and {} × {} patches; only equal grids can be subtracted",
        .this.0, .this.1, .other.0, .other.1
    )]
    DifferentGrids {
        /// Rows and columns of patches of the capture that is read.
        this: (usize, usize),
        other: (usize, usize),
    },
    /// Regions of pictures are other ones.
    #[error("The regions of the two pictures are not the same; only those of the same boxes can be subtracted")]
    DifferentRegions,
    /// The texts share no token.
    #[error("The two texts have no {axis} in common, so there is nothing to subtract")]
    NothingInCommon {
        /// Queries or keys.
        axis: &'static str,
    },
}
