//! Explanations: what an output depends on, and what a head is worth, as pure functions of plain matrices.
//!
//! Nothing here knows a model. What has to run one again (`lab/`) hands in what it recorded, or a closure
//! that answers for a changed input, and puts what comes out into a [`report::Report`].
//!
//! ```text
//! what does it depend on?   rollout  flow  relevance  gradients  masks       rank and divergence compare them
//! can I believe it?         erasure  permutation  adversary  normalizers
//! what does it move?        norms  effective  edges  directions  copying  head_profile  head_map  detection  syntax  patches
//!                           importance
//! where is the fact?        trace  attribution  jacobian  memories  rank_one
//! does it align?            alignment  contacts
//! what do its words mean?   embeddings
//! underneath                dense  svd  eigenvalues  gates  adam
//! ```
//!
//! Rows are queries and columns are keys throughout. Inputs and large results are `f32`; sums and products
//! are taken in `f64`. Logarithms are natural.

pub mod adam;
pub mod adversary;
pub mod alignment;
pub mod attribution;
pub mod compare;
pub mod contacts;
pub mod copying;
pub mod dense;
pub mod detection;
pub mod directions;
pub mod divergence;
pub mod edges;
pub mod effective;
pub mod eigenvalues;
pub mod embeddings;
pub mod erasure;
mod error;
pub mod flow;
pub mod gates;
pub mod gradients;
pub mod head_map;
pub mod head_profile;
pub mod importance;
pub mod jacobian;
pub mod linear_chain;
pub mod masks;
pub mod memories;
pub mod normalizers;
pub mod norms;
pub mod patches;
pub mod permutation;
pub mod rank;
pub mod rank_one;
pub mod relevance;
pub mod report;
pub mod rollout;
pub mod svd;
pub mod syntax;
mod target;
#[cfg(test)]
pub(super) mod toy;
pub mod trace;

pub use error::ExplainError;
pub use target::Target;
