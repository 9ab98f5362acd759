//! Singular directions of a bilinear form `x W_Q W_Kᵀ y`: the basis of a head's queries and keys that does not depend on how
//! the model writes its maps.
//!
//! ```text
//! W_Q W_Kᵀ = U Σ Vᵀ,   q · k = Σ_r σ_r (x · u_r) (y · v_r)
//! ```
//!
//! Both maps are as wide as a head, so all is found in its space: from the Cholesky factors of `W_Qᵀ W_Q` and
//! `W_Kᵀ W_K`, whose product has the same singular values, and from `q` and `k`.

use super::{
    ExplainError,
    dense::{Dense, dot},
    svd::Svd,
};

/// A pivot this small, as a part of the largest, is rounding.
const NOTHING: f64 = 1e-12;
/// A direction this weak, as a part of the strongest, is none.
const WEAK: f64 = 1e-6;

/// What the directions of a form are found from: `L` with `L Lᵀ = Wᵀ W`, as rows of its transpose `[d_head, d_head]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Factor(pub Dense);

impl Factor {
    /// Of a map `[d_in, d_head]`; a bias is one more row.
    pub fn of(map: &Dense) -> Result<Self, ExplainError> {
        let mut gram = map.transposed().product(map)?;
        let n = gram.n_rows();
        let least = NOTHING * (0..n).map(|at| gram.at(at, at)).fold(0.0, f64::max);
        let mut factor = Dense::zeros(n, n);
        for at in 0..n {
            let pivot = gram.at(at, at);
            if pivot <= least {
                continue;
            }
            let column: Vec<f64> =
                (0..n).map(|row| if row < at { 0.0 } else { gram.at(row, at) / pivot.sqrt() }).collect();
            for row in at..n {
                let own = column[row];
                gram.row_mut(row).iter_mut().zip(&column).for_each(|(value, other)| *value -= own * other);
            }
            factor.row_mut(at).copy_from_slice(&column);
        }
        Ok(Self(factor))
    }
}

/// The directions of a form, the strongest first.
#[derive(Clone, Debug, PartialEq)]
pub struct Directions {
    /// Their singular values.
    pub strengths: Vec<f64>,
    /// What each adds to `q · k`.
    pub parts: Vec<f64>,
}

impl Directions {
    /// Of `q` and `k`, `[d_head]` each, and the factors of their maps.
    pub fn of(query: &Factor, key: &Factor, q: &[f64], k: &[f64]) -> Result<Self, ExplainError> {
        let (Factor(of_query), Factor(of_key)) = (query, key);
        let form = of_query.product(&of_key.transposed())?;
        let svd = Svd::of(&form)?;
        let rank = svd.rank(WEAK);
        let by = |factor: &Dense, vector: &[f64]| factor.rows().map(|row| dot(row, vector)).collect::<Vec<f64>>();
        // Each is told by the other's map: what a map cannot say has no part.
        let (on_query, on_key) = (by(&form, &by(of_key, q)), by(of_query, k));
        let part = |(u, strength): (&[f64], &f64)| dot(u, &on_query) * dot(u, &on_key) / (strength * strength);
        let parts = svd.left.rows().zip(&svd.values).take(rank).map(part).collect();
        Ok(Self { strengths: svd.values[..rank].to_vec(), parts })
    }
}

#[cfg(test)]
mod tests {
    use super::{super::toy, *};
    use crate::random::SplitMix;

    fn random(n: usize, d: usize, seed: u64) -> Dense {
        let mut random = SplitMix::new(seed);
        let mut values = Dense::zeros(n, d);
        values.as_mut_slice().fill_with(|| random.normal());
        values
    }

    fn times(x: &[f64], map: &Dense) -> Vec<f64> {
        map.transposed().rows().map(|column| dot(x, column)).collect()
    }

    /// The decomposition of the whole form, `[d_in, d_in]`.
    #[test]
    fn they_are_those_of_the_whole_form() {
        for (d_in, d_head, rank) in [(12, 4, 4), (5, 8, 5), (9, 6, 3)] {
            let low = |seed: u64| random(d_in, rank, seed).product(&random(rank, d_head, seed + 1)).unwrap();
            let (w_q, w_k) = (low(1), low(3));
            let (x, y) = (random(1, d_in, 5), random(1, d_in, 6));
            let (q, k) = (times(x.row(0), &w_q), times(y.row(0), &w_k));
            let factors = [&w_q, &w_k].map(|map| Factor::of(map).unwrap());
            let found = Directions::of(&factors[0], &factors[1], &q, &k).unwrap();
            let form = w_q.product(&w_k.transposed()).unwrap();
            let whole = Svd::of(&form).unwrap();
            let n = whole.rank(1e-9);
            toy::assert_near(&found.strengths, &whole.values[..n]);
            let through = times(x.row(0), &whole.left.transposed());
            // σ_r v_r = Wᵀ u_r.
            let expected: Vec<f64> =
                (0..n).map(|r| through[r] * dot(&times(whole.left.row(r), &form), y.row(0))).collect();
            toy::assert_near(&found.parts, &expected);
            assert!((found.parts.iter().sum::<f64>() - dot(&q, &k)).abs() < 1e-9);
        }
    }

    #[test]
    fn the_same_model_written_otherwise_has_the_same_directions() {
        let (w_q, w_k) = (random(10, 3, 1), random(10, 3, 2));
        let turn = toy::dense(&[[2.0, 1.0, 0.0], [0.0, 1.0, 3.0], [0.0, 0.0, 0.5]]);
        // The transpose of its inverse.
        let back = toy::dense(&[[0.5, 0.0, 0.0], [-0.5, 1.0, 0.0], [3.0, -6.0, 2.0]]);
        let of = |w_q: &Dense, w_k: &Dense| {
            let (q, k) = (times(&[1.0; 10], w_q), times(&[0.5; 10], w_k));
            Directions::of(&Factor::of(w_q).unwrap(), &Factor::of(w_k).unwrap(), &q, &k).unwrap()
        };
        let (plain, turned) = (of(&w_q, &w_k), of(&w_q.product(&turn).unwrap(), &w_k.product(&back).unwrap()));
        toy::assert_near(&plain.parts, &turned.parts);
        toy::assert_near(&plain.strengths, &turned.strengths);
    }
}
