//! Decomposition of an edge: one attention score as the sum of what the parts of two streams say to each other (Elhage
//! et al. 2021).
//!
//! ```text
//! x_i = Σ_a c_a,  x_j = Σ_b e_b        parts of the stream where the query and the key stand
//! score = scale · Σ_a Σ_b q(c_a) · k(e_b)
//! ```
//!
//! Norms on the way are held fixed at the deviation that the whole stream has: then they are linear, each part gets
//! its share, and what a norm adds is a part of its own.

use serde::{Deserialize, Serialize};

use super::{
    ExplainError,
    dense::{Dense, dot},
    directions::{Directions, Factor},
};

/// By what a score is taken apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartsBy {
    #[default]
    Dimension,
    /// Singular directions of the head's bilinear form.
    Direction,
    /// Everything that was added to the two streams before, as pairs.
    Source,
    /// What tokens are, and where they stand.
    Position,
    /// What the heads of the layer before brought, by the token that they brought it from.
    Back,
}

vocabulary! {
    PartsBy: name, title;
    Dimension("dimension", "Dimension"),
    Direction("direction", "Singular direction"),
    Source("source", "Source"),
    Position("position", "Content and position"),
    Back("back", "One step back"),
}

/// A norm with the statistics of one position.
#[derive(Clone, Copy, Debug)]
pub struct FrozenNorm<'a> {
    /// `[width]`.
    pub weight: &'a [f32],
    /// `[width]`.
    pub bias: Option<&'a [f32]>,
    pub epsilon: f64,
    /// Whether the mean is taken away: layer norm, and not RMS norm.
    pub centred: bool,
}

impl FrozenNorm<'_> {
    fn mean(&self, vector: &[f64]) -> f64 {
        if self.centred { vector.iter().sum::<f64>() / vector.len().max(1) as f64 } else { 0.0 }
    }

    /// The deviation by which it divides a vector.
    pub fn deviation(&self, vector: &[f64]) -> f64 {
        let middle = self.mean(vector);
        let variance = vector.iter().map(|x| (x - middle).powi(2)).sum::<f64>() / vector.len().max(1) as f64;
        (variance + self.epsilon).sqrt()
    }
}

/// A vector as a sum of named ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VectorParts {
    /// What each part is called.
    pub names: Vec<String>,
    pub vectors: Vec<Vec<f64>>,
}

impl VectorParts {
    /// One more part.
    pub fn add(&mut self, name: impl Into<String>, vector: Vec<f64>) {
        self.names.push(name.into());
        self.vectors.push(vector);
    }

    /// What they add up to.
    pub fn sum(&self) -> Vec<f64> {
        self.sum_of(|_| true)
    }

    /// Puts a norm on all of them, with the deviation of their sum; its bias becomes the part `name`.
    pub fn norm(&mut self, norm: FrozenNorm<'_>, name: &str) {
        self.norm_by(norm, norm.deviation(&self.sum()), name);
    }

    /// The same with the deviation of another vector.
    pub fn norm_by(&mut self, norm: FrozenNorm<'_>, deviation: f64, name: &str) {
        for part in &mut self.vectors {
            let middle = norm.mean(part);
            let scale = |(x, weight): (&mut f64, &f32)| *x = (*x - middle) / deviation * f64::from(*weight);
            part.iter_mut().zip(norm.weight).for_each(scale);
        }
        if let Some(bias) = norm.bias {
            self.add(name, bias.iter().map(|x| f64::from(*x)).collect());
        }
    }

    /// Every part by a linear map `[in, out]`, of which the bias becomes the part `name`.
    pub fn mapped(&self, weight: &Dense, bias: Option<&[f64]>, name: &str) -> Result<Self, ExplainError> {
        let vectors = self.matrix().product(weight)?.rows().map(<[f64]>::to_vec).collect();
        let mut mapped = Self { names: self.names.clone(), vectors };
        if let Some(bias) = bias {
            mapped.add(name, bias.to_vec());
        }
        Ok(mapped)
    }

    /// One row per part.
    pub fn matrix(&self) -> Dense {
        let width = self.vectors.first().map_or(0, Vec::len);
        Dense::from_fn(self.vectors.len(), width, |row, col| self.vectors[row][col])
    }

    /// What those parts add up to whose name is such.
    pub fn sum_of(&self, is_meant: impl Fn(&str) -> bool) -> Vec<f64> {
        let mut sum = vec![0.0; self.vectors.first().map_or(0, Vec::len)];
        for (_, part) in self.names.iter().zip(&self.vectors).filter(|(name, _)| is_meant(name)) {
            sum.iter_mut().zip(part).for_each(|(sum, value)| *sum += value);
        }
        sum
    }

    /// Parts of one name as one, where the first of them stands.
    #[must_use]
    pub fn joined(self) -> Self {
        let mut joined = Self::default();
        for (name, vector) in self.names.into_iter().zip(self.vectors) {
            match joined.names.iter().position(|known| *known == name) {
                Some(at) => joined.vectors[at].iter_mut().zip(vector).for_each(|(sum, value)| *sum += value),
                None => joined.add(name, vector),
            }
        }
        joined
    }

    /// The same parts, less others of the same names; one that is missing there is a part of its own.
    #[must_use]
    pub fn less(mut self, other: &Self, share: f64) -> Self {
        for (name, vector) in other.names.iter().zip(&other.vectors) {
            let beside = format!("other keys’ {name}");
            match self.names.iter().position(|known| known == name || *known == beside) {
                Some(at) => self.vectors[at].iter_mut().zip(vector).for_each(|(sum, value)| *sum -= share * value),
                None => self.add(beside, vector.iter().map(|value| -share * value).collect()),
            }
        }
        self
    }
}

/// A score `scale · q · k`, whose query and key are sums of parts, `[d_head]` each.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    pub query: VectorParts,
    pub key: VectorParts,
    scale: f64,
    /// The sums of both.
    pub q: Vec<f64>,
    pub k: Vec<f64>,
}

impl Edge {
    /// Of a query and a key.
    pub fn of(query: VectorParts, key: VectorParts, scale: f64) -> Result<Self, ExplainError> {
        let (q, k) = (query.sum(), key.sum());
        if q.is_empty() || k.is_empty() {
            return Err(ExplainError::Nothing("parts of a stream"));
        }
        for part in query.vectors.iter().chain(&key.vectors) {
            ExplainError::check_shape("a part of the stream", &[q.len()], &[part.len()])?;
        }
        Ok(Self { query, key, scale, q, k })
    }

    /// What two vectors say to each other.
    pub fn product(&self, q: &[f64], k: &[f64]) -> f64 {
        self.scale * dot(q, k)
    }

    /// The score.
    pub fn sum(&self) -> f64 {
        self.product(&self.q, &self.k)
    }

    /// What each part of the query says to each part of the key, `[query parts, key parts]`.
    pub fn pairs(&self) -> Dense {
        let (query, key) = (&self.query.vectors, &self.key.vectors);
        Dense::from_fn(query.len(), key.len(), |row, col| self.product(&query[row], &key[col]))
    }

    /// By dimension of the head; another basis of the same model would have others.
    pub fn dimensions(&self) -> Vec<f64> {
        self.q.iter().zip(&self.k).map(|(q, k)| self.scale * q * k).collect()
    }

    /// What each part of the query adds.
    pub fn by_query(&self) -> Vec<f64> {
        self.query.vectors.iter().map(|part| self.product(part, &self.k)).collect()
    }

    /// What each part of the key adds.
    pub fn by_key(&self) -> Vec<f64> {
        self.key.vectors.iter().map(|part| self.product(&self.q, part)).collect()
    }

    /// By singular direction of the map of queries and that of keys: the strength and what is added of each.
    pub fn directions(&self, query: &Factor, key: &Factor) -> Result<Directions, ExplainError> {
        let mut found = Directions::of(query, key, &self.q, &self.k)?;
        found.parts.iter_mut().for_each(|part| *part *= self.scale);
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::toy, *};

    fn parts(vectors: &[[f64; 4]]) -> VectorParts {
        let names = (0..vectors.len()).map(|nth| nth.to_string()).collect();
        VectorParts { names, vectors: vectors.iter().map(|vector| vector.to_vec()).collect() }
    }

    #[test]
    fn the_worked_example() {
        let norm = FrozenNorm {
            weight: &[1.0, 1.1, 0.9, 1.0],
            bias: Some(&[0.1, 0.0, -0.1, 0.0]),
            epsilon: 1e-5,
            centred: true,
        };
        let mut query = parts(&[[0.5, -0.2, 0.1, 0.0], [0.3, 0.4, -0.6, 0.1], [-0.1, 0.2, 0.2, 0.9]]);
        let mut key = parts(&[[0.2, 0.1, -0.3, 0.4], [-0.5, 0.3, 0.2, 0.0], [0.1, -0.1, 0.6, 0.2]]);
        query.norm(norm, "bias");
        key.norm(norm, "bias");
        let w_q = toy::dense(&[[1.0, 0.0], [0.5, -1.0], [0.0, 1.0], [-0.5, 0.5]]);
        let w_k = toy::dense(&[[0.0, 1.0], [1.0, 0.5], [-1.0, 0.0], [0.5, 0.5]]);
        let query = query.mapped(&w_q, Some(&[0.1, -0.2]), "bias").unwrap().joined();
        let key = key.mapped(&w_k, Some(&[0.05, 0.3]), "bias").unwrap().joined();
        let found = Edge::of(query, key, 0.5f64.sqrt()).unwrap();
        let expected = [
            1.024_529, -0.242_871, -1.288_571, 0.226_932, -0.110_969, 1.804_047, -0.179_12, -0.462_478, -1.451_278,
            -1.048_793, 2.074_987, 0.021_63, 0.061_939, 0.299_372, -0.134_201, -0.063_64,
        ];
        toy::assert_near(found.pairs().as_slice(), &expected);
        toy::assert_near(&found.dimensions(), &[0.003_394, 0.528_121]);
        toy::assert_near(&[found.sum(), found.by_query().iter().sum(), found.by_key().iter().sum()], &[0.531_515; 3]);
    }

    #[test]
    fn what_is_compared_with_is_taken_away_part_by_part() {
        let mut a = parts(&[[1.0, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0]]);
        let mut b = parts(&[[4.0, 0.0, 0.0, 0.0]]);
        b.add("other", vec![0.0, 0.0, 1.0, 0.0]);
        a = a.less(&b, 0.5);
        assert_eq!(a.names, ["0", "1", "other keys’ other"]);
        assert_eq!(a.sum(), [-1.0, 2.0, -0.5, 0.0]);
        assert!(Edge::of(VectorParts::default(), a, 1.0).is_err());
    }
}
