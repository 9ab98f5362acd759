//! Reasons why points cannot be laid out, as sentences.

/// What is wrong with points or options, or that the caller said stop.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProjectionError {
    /// There is not a single point.
    #[error("there are no points to lay out: select at least one token")]
    NoPoints,
    /// The values do not fill the shape.
    #[error("{values} values are not {points} points of {width} coordinates")]
    Shape {
        values: usize,
        /// Points that were announced.
        points: usize,
        width: usize,
    },
    /// A coordinate is NaN or infinite.
    #[error("point {point} is not finite in coordinate {coordinate}: leave it out, or check the model")]
    NotFinite {
        /// The first such point.
        point: usize,
        /// Its first such coordinate.
        coordinate: usize,
    },
    /// More points than an index can name.
    #[error("{0} points are too many: at most {max} can be laid out, select fewer tokens", max = super::MAX_POINTS)]
    TooManyPoints(usize),
    /// A plane or a space.
    #[error("a layout has 2 or 3 dimensions, not {0}")]
    Dims(usize),
    /// An option outside its range.
    #[error("{name} is {value}, but must be {must_be}")]
    Option { name: &'static str, value: String, must_be: &'static str },
    /// Queries and keys that cannot lie in one space.
    #[error("queries have {queries} coordinates and keys {keys}: they share no space")]
    Widths { queries: usize, keys: usize },
    /// The caller said stop.
    #[error("stopped")]
    Stopped,
}

impl ProjectionError {
    /// An option that is not what it must be.
    pub(super) fn option(name: &'static str, value: impl std::fmt::Display, must_be: &'static str) -> Self {
        Self::Option { name, value: format!("{value}"), must_be }
    }
}
