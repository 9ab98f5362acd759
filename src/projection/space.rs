//! The joint space of queries and keys: one scale, one translation, and the softmax is what it was.
//!
//! After `AttentionViz` (Yeh et al., 2023): queries are divided by `c` and keys multiplied with it, then the keys'
//! mean is moved onto the queries'. Moving keys adds the same to all scores of a query, which softmax takes away
//! again; moving queries would not.

use super::{
    Points, ProjectionError,
    correlation::{InputSegment, ScaleProbe},
};

/// How the query–key scale `c` is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Scale {
    /// `√(median‖q‖ / median‖k‖)`: equal norms.
    #[default]
    Auto,
    /// 1.
    None,
    /// A given value above 0.
    Fixed(f64),
    /// Where the correlation of dot product and distance over all pairs is lowest. (The mean over queries would not
    /// do: it falls to −1 for c → 0, whatever the data.)
    Search,
}

/// What is done to queries and keys: `q / c` and `c k + t`.
#[derive(Clone, Debug, PartialEq)]
pub struct Transform {
    pub c: f64,
    /// The translation of the keys, after scaling; all 0 where there is none.
    pub translation: Vec<f64>,
}

impl Transform {
    /// Leaves `width` coordinates as they are.
    pub fn identity(width: usize) -> Self {
        Self { c: 1.0, translation: vec![0.0; width] }
    }

    /// Chooses scale and translation for one head's queries and keys.
    ///
    /// Where several query heads share their keys each has a transform of its own. `segments` says which queries
    /// may meet which keys; only [`Scale::Search`] asks. A norm ratio that is 0, infinite or not a number is
    /// replaced by 1.
    ///
    /// # Errors
    /// [`ProjectionError::Widths`], or a fixed scale that is not above 0.
    pub fn choose(
        queries: Points<'_>,
        keys: Points<'_>,
        segments: &[InputSegment],
        scale: Scale,
        translate_keys: bool,
    ) -> Result<Self, ProjectionError> {
        check_widths(queries, keys)?;
        let c = match scale {
            Scale::None => 1.0,
            Scale::Auto => norm_ratio(queries, keys),
            Scale::Fixed(c) if c.is_finite() && c > 0.0 => c,
            Scale::Fixed(c) => {
                return Err(ProjectionError::option("scale", c, "auto, none, search or a number above 0"));
            }
            Scale::Search => ScaleProbe::new(queries, keys, segments, false)?.best(norm_ratio(queries, keys)),
        };
        let mut translation = vec![0.0; queries.width()];
        if translate_keys {
            let means = queries.mean().into_iter().zip(keys.mean());
            translation = means.map(|(q, k)| q / c - k * c).collect();
        }
        Ok(Self { c, translation })
    }

    /// Queries, then keys, as they lie in the joint space: `[queries + keys, width]`.
    ///
    /// # Errors
    /// [`ProjectionError::Widths`].
    pub fn apply(&self, queries: Points<'_>, keys: Points<'_>) -> Result<Vec<f32>, ProjectionError> {
        check_widths(queries, keys)?;
        let mut joint = Vec::with_capacity(queries.values().len() + keys.values().len());
        joint.extend(queries.values().iter().map(|&x| (f64::from(x) / self.c) as f32));
        for key in keys.rows() {
            let moved = key.iter().zip(&self.translation).map(|(&x, t)| (f64::from(x) * self.c + t) as f32);
            joint.extend(moved);
        }
        Ok(joint)
    }
}

pub(super) fn check_widths(queries: Points<'_>, keys: Points<'_>) -> Result<(), ProjectionError> {
    let (queries, keys) = (queries.width(), keys.width());
    if queries == keys { Ok(()) } else { Err(ProjectionError::Widths { queries, keys }) }
}

/// `√(median‖q‖ / median‖k‖)`, or 1.
pub fn norm_ratio(queries: Points<'_>, keys: Points<'_>) -> f64 {
    let ratio = (median_norm(queries) / median_norm(keys)).sqrt();
    if ratio.is_finite() && ratio > 0.0 { ratio } else { 1.0 }
}

/// Mean lengths of one head's queries and keys as they are: unequal ones make distance a poor proxy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Norms {
    /// `mean ‖q‖`.
    pub queries: f64,
    /// `mean ‖k‖`.
    pub keys: f64,
}

impl Norms {
    /// Of queries and keys.
    pub fn of(queries: Points<'_>, keys: Points<'_>) -> Self {
        let mean = |points: Points<'_>| points.rows().map(norm).sum::<f64>() / points.n() as f64;
        Self { queries: mean(queries), keys: mean(keys) }
    }

    /// `mean ‖q‖ / mean ‖k‖`, the norm disparity of `AttentionViz`; none where there is nothing to divide by.
    pub fn disparity(self) -> Option<f64> {
        Some(self.queries / self.keys).filter(|ratio| ratio.is_finite())
    }
}

fn norm(row: &[f32]) -> f64 {
    row.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt()
}

/// The median length; between the two in the middle where the number is even.
pub fn median_norm(points: Points<'_>) -> f64 {
    let mut norms: Vec<f64> = points.rows().map(norm).collect();
    norms.sort_unstable_by(f64::total_cmp);
    let n = norms.len();
    if n % 2 == 1 { norms[n / 2] } else { f64::midpoint(norms[n / 2 - 1], norms[n / 2]) }
}
