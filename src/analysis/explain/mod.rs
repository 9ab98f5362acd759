//! Explanations: what an output depends on, and what a head is worth, as pure functions of plain matrices.
//!
//! Nothing here knows a model. What has to run one again (`lab/`) hands in what it recorded, or a closure
//! that answers for a changed input, and puts what comes out into a [`Report`].
//!
//! Rows are queries and columns are keys throughout. Inputs and large results are `f32`; sums and products
//! are taken in `f64`. Logarithms are natural.

pub mod adversary;
pub mod dense;
pub mod divergence;
pub mod erasure;
mod error;
pub mod flow;
pub mod normalizers;
pub mod permutation;
pub mod rank;
pub mod relevance;
pub mod report;
pub mod rollout;
#[cfg(test)]
mod toy;

pub use error::ExplainError;
