//! Scores that are no product of a query and a key: both meet in a hidden layer, and an energy weighs it.
//!
//! ```text
//! score_ij = v · bend(W q_i + U k_j + b)
//! ```

use super::{Matrix, ShapeError};

/// The activation of the hidden layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bend {
    /// Bahdanau et al. 2015.
    Tanh,
    Relu,
}

vocabulary! {
    Bend: name,
    /// In formulas.
    formula;
    Tanh("scorer_tanh", "tanh"),
    Relu("scorer_relu", "relu"),
}

impl Bend {
    /// What it makes of a number.
    pub fn of(self, x: f64) -> f64 {
        match self {
            Self::Tanh => x.tanh(),
            Self::Relu => x.max(0.0),
        }
    }
}

/// The scorer of a layer with one head, with what its queries and keys bring to the hidden layer.
#[derive(Clone, Debug, PartialEq)]
pub struct Scorer {
    pub bend: Bend,
    /// Rows of queries, none where a learned query stands in the energy alone; of keys, with the bias; the energy last.
    rows: Matrix,
    n_key: usize,
}

impl Scorer {
    /// Of all rows `[queries + keys + 1, width]`.
    ///
    /// # Errors
    /// When there are fewer rows than keys.
    pub fn new(bend: Bend, rows: Matrix, n_key: usize) -> Result<Self, ShapeError> {
        if rows.n_rows() > n_key {
            return Ok(Self { bend, rows, n_key });
        }
        let what = format!("{} has the shape {:?}", bend.name(), rows.shape());
        Err(ShapeError { what, expected: vec![n_key + 1], actual: rows.n_rows() })
    }

    /// All rows, as files hold them.
    pub const fn rows(&self) -> &Matrix {
        &self.rows
    }

    /// How many queries have rows.
    pub const fn n_query(&self) -> usize {
        self.rows.n_rows() - self.n_key - 1
    }

    /// Whether it is of so many queries and keys.
    pub const fn fits(&self, [n_query, n_key]: [usize; 2]) -> bool {
        self.n_key == n_key && (self.n_query() == 0 || self.n_query() == n_query)
    }

    /// What a query brings, where queries are not all one.
    pub fn query(&self, query: usize) -> Option<&[f32]> {
        self.rows.row(query).filter(|_| query < self.n_query())
    }

    /// What a key brings.
    pub fn key(&self, key: usize) -> Option<&[f32]> {
        self.rows.row(self.n_query() + key).filter(|_| key < self.n_key)
    }

    /// What weighs the hidden layer.
    pub fn energy(&self) -> &[f32] {
        self.rows.row(self.n_query() + self.n_key).unwrap_or_default()
    }

    /// The sum of what a query and a key bring.
    pub fn sum(&self, query: usize, key: usize) -> Option<Vec<f64>> {
        let key = self.key(key)?.iter().map(|key| f64::from(*key));
        match self.query(query) {
            Some(row) => Some(key.zip(row).map(|(key, query)| key + f64::from(*query)).collect()),
            None => (self.n_query() == 0).then(|| key.collect()),
        }
    }

    /// Each dimension of the hidden layer times its energy: they add up to the score.
    pub fn parts(&self, query: usize, key: usize) -> Option<Vec<f64>> {
        let weigh = |(sum, energy): (f64, &f32)| self.bend.of(sum) * f64::from(*energy);
        Some(self.sum(query, key)?.into_iter().zip(self.energy()).map(weigh).collect())
    }

    /// The score of a query and a key, before scale and mask.
    pub fn score(&self, query: usize, key: usize) -> Option<f64> {
        Some(self.parts(query, key)?.iter().sum())
    }

    /// The scores of a query with every key.
    pub fn scores(&self, query: usize) -> Option<Vec<f32>> {
        (0..self.n_key).map(|key| Some(self.score(query, key)? as f32)).collect()
    }
}
