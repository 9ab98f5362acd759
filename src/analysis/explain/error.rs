//! Reasons why an explanation is refused, as sentences.

/// What is wrong with the numbers or options, or that the caller said stop.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ExplainError {
    /// There is nothing to work on.
    #[error("there is nothing to explain: no {0} were given")]
    Nothing(&'static str),
    /// Shapes that do not belong together.
    #[error("{what} should be {expected:?}, but {actual:?} was given")]
    Shape {
        /// What has the wrong shape.
        what: &'static str,
        expected: Vec<usize>,
        actual: Vec<usize>,
    },
    /// A value that is NaN or infinite.
    #[error("{0} have values that are not finite: the run has overflowed, so they mean nothing")]
    NotFinite(&'static str),
    /// An option outside its range.
    #[error("{name} is {value}, but must be {must_be}")]
    Option { name: &'static str, value: String, must_be: &'static str },
    /// A file in a format of other programs that cannot be understood.
    #[error("line {line}: {problem}")]
    Line {
        /// From 1.
        line: usize,
        problem: String,
    },
    /// The caller said stop.
    #[error("stopped")]
    Cancelled,
}

impl ExplainError {
    pub(super) fn option(name: &'static str, value: impl std::fmt::Display, must_be: &'static str) -> Self {
        Self::Option { name, value: value.to_string(), must_be }
    }

    pub(super) fn shape(what: &'static str, expected: &[usize], actual: &[usize]) -> Self {
        Self::Shape { what, expected: expected.to_vec(), actual: actual.to_vec() }
    }

    /// Fails with [`Self::Shape`] unless both are equal.
    pub(super) fn check_shape(what: &'static str, expected: &[usize], actual: &[usize]) -> Result<(), Self> {
        if expected == actual { Ok(()) } else { Err(Self::shape(what, expected, actual)) }
    }

    /// Fails unless `value` lies in `0..=1`.
    pub(super) fn check_fraction(name: &'static str, value: f64) -> Result<(), Self> {
        if (0.0..=1.0).contains(&value) { Ok(()) } else { Err(Self::option(name, value, "between 0 and 1")) }
    }
}
