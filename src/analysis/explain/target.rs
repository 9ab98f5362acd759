//! The output that is explained.

/// The output that is to be explained, as far as somebody has said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Target {
    /// Which position's; without it the last of a decoder, the first mask or else the first word, or the whole text or
    /// picture.
    pub position: Option<usize>,
    /// Which token or class; without it the most probable one.
    pub class: Option<u32>,
    /// The token or class that it is told apart from; without it the logit alone counts.
    pub against: Option<u32>,
}
