//! Failure of a request.

/// What the user reads when something went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// One sentence: what is wrong.
    pub summary: String,
    /// What to do about it, and the path last; may be empty.
    pub details: String,
}

/// Why a text was not run, and how much of it could be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooLong {
    /// What is wrong, with both numbers.
    pub failure: Failure,
    pub n_fit: usize,
}
