//! The strongest weights of each row of a pattern: the stored part of a row, which sums to less than one.

use super::rounded;
use crate::capture::Matrix;

/// The most tokens of a sequence that is read; a file of that length has 8 weights for each of them.
const MOST_TOKENS: usize = 16_384;
/// The largest weight that is one, rounded by whoever wrote it.
const MOST_WEIGHT: f64 = 1.001;
/// Half of the last decimal that is written.
const HALF_DECIMAL: f64 = 5e-5;

/// Which weights of a row are kept.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeptWeights {
    /// So many of the strongest …
    pub most: usize,
    /// … as far as they are not weaker than this.
    pub least: f32,
}

impl Default for KeptWeights {
    fn default() -> Self {
        Self { most: 8, least: 0.005 }
    }
}

/// Some weights of a square pattern, those of a row one after the other. Rows are never made to sum to one: what is
/// missing lies on keys that nobody knows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SparseRows {
    n: usize,
    /// `query · n + key`, rising.
    indices: Vec<u32>,
    /// With four decimals.
    values: Vec<f32>,
}

/// Why the weights of a sequence are none. Displays as a clause.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RowsError {
    #[error("it has {0} tokens, and at most {MOST_TOKENS} are read")]
    TooLong(usize),
    #[error("it has {0} indices and {1} values")]
    Lengths(usize, usize),
    #[error("the index {0} lies outside its {1} × {1} pairs")]
    Outside(u64, usize),
    #[error("the index {0} is there twice")]
    Twice(u64),
    #[error("token {query} attends to token {key} behind it, in a model that looks back alone")]
    Ahead { query: usize, key: usize },
    #[error("{0} is no weight from 0 to 1")]
    Value(f64),
}

impl SparseRows {
    /// The strongest weights of a pattern `[query, key]` whose sides are the same sequence; of equal ones the earlier key.
    pub fn of(pattern: &Matrix, kept: KeptWeights) -> Self {
        let n = pattern.n_cols();
        let (mut indices, mut values) = (Vec::new(), Vec::new());
        for (query, row) in pattern.rows().enumerate() {
            for key in strongest(row, kept) {
                indices.push((query * n + key) as u32);
                values.push(rounded(f64::from(row[key])) as f32);
            }
        }
        Self { n, indices, values }
    }

    /// Of the lists of a file, for a sequence of `n` tokens.
    ///
    /// # Errors
    /// When they are no weights of such a sequence.
    pub fn from_lists(n: usize, indices: &[u64], values: &[f64], causal: bool) -> Result<Self, RowsError> {
        if n > MOST_TOKENS {
            return Err(RowsError::TooLong(n));
        }
        if indices.len() != values.len() {
            return Err(RowsError::Lengths(indices.len(), values.len()));
        }
        let mut pairs = Vec::with_capacity(indices.len());
        for (index, value) in indices.iter().zip(values) {
            if *index >= (n * n) as u64 {
                return Err(RowsError::Outside(*index, n));
            }
            let (query, key) = (*index as usize / n, *index as usize % n);
            if causal && key > query {
                return Err(RowsError::Ahead { query, key });
            }
            if !(0.0..=MOST_WEIGHT).contains(value) {
                return Err(RowsError::Value(*value));
            }
            pairs.push((*index as u32, rounded(*value) as f32));
        }
        pairs.sort_unstable_by_key(|(index, _)| *index);
        if let Some(twice) = pairs.windows(2).find(|two| two[0].0 == two[1].0) {
            return Err(RowsError::Twice(twice[0].0.into()));
        }
        let (indices, values) = pairs.into_iter().unzip();
        Ok(Self { n, indices, values })
    }

    /// Tokens of the sequence.
    pub const fn n(&self) -> usize {
        self.n
    }

    /// `query · n + key` of every weight that is there.
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// The weights, with four decimals.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// Keys and weights that are there of a query.
    pub fn row(&self, query: usize) -> impl Iterator<Item = (usize, f32)> {
        let at = |query: usize| self.indices.partition_point(|index| (*index as usize) < query * self.n);
        let range = at(query)..at(query + 1);
        let n = self.n.max(1);
        self.indices[range.clone()]
            .iter()
            .zip(&self.values[range])
            .map(move |(index, value)| (*index as usize % n, *value))
    }

    /// Queries and weights that are there of a key.
    pub fn column(&self, key: usize) -> impl Iterator<Item = (usize, f32)> {
        let n = self.n.max(1);
        let all = self.indices.iter().zip(&self.values);
        all.filter(move |(index, _)| **index as usize % n == key)
            .map(move |(index, value)| (*index as usize / n, *value))
    }

    /// Every query, key and weight that is there.
    pub fn pairs(&self) -> impl Iterator<Item = (usize, usize, f32)> {
        let n = self.n.max(1);
        self.indices
            .iter()
            .zip(&self.values)
            .map(move |(index, value)| (*index as usize / n, *index as usize % n, *value))
    }

    /// How much of the row of a query is not there.
    pub fn missing(&self, query: usize) -> f64 {
        (1.0 - self.row(query).map(|(_, weight)| f64::from(weight)).sum::<f64>()).max(0.0)
    }

    /// No weight of a query that is not there is above this.
    pub fn most_omitted(&self, query: usize, kept: KeptWeights) -> f64 {
        let (mut n, mut smallest) = (0, f64::INFINITY);
        for (_, weight) in self.row(query) {
            n += 1;
            smallest = smallest.min(f64::from(weight));
        }
        // A row that is not full has all of its weights from the least one on.
        (if n >= kept.most { smallest } else { f64::from(kept.least) }) + HALF_DECIMAL
    }
}

/// The keys of the strongest weights of a row, in their order.
fn strongest(row: &[f32], kept: KeptWeights) -> Vec<usize> {
    let mut keys: Vec<usize> = (0..row.len()).filter(|key| row[*key] >= kept.least).collect();
    keys.sort_by(|a, b| row[*b].total_cmp(&row[*a]).then(a.cmp(b)));
    keys.truncate(kept.most);
    keys.sort_unstable();
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_of_a_row_is_bounded_by_what_is_there() {
        let row = [0.4f32, 0.25, 0.15, 0.1, 0.06, 0.04];
        let pattern = Matrix::new([row, row].concat(), [2, 6]).unwrap();
        let kept = KeptWeights { most: 3, least: 0.05 };
        let rows = SparseRows::of(&pattern, kept);
        assert_eq!(rows.row(1).collect::<Vec<_>>(), [(0, 0.4), (1, 0.25), (2, 0.15)]);
        assert!((rows.missing(1) - 0.2).abs() < 1e-6);
        let bound = rows.most_omitted(1, kept);
        assert!(row[3..].iter().all(|weight| f64::from(*weight) <= bound) && bound < 0.151, "{bound}");
        let all = KeptWeights { most: 8, least: 0.05 };
        let rows = SparseRows::of(&pattern, all);
        assert!((rows.missing(0) - 0.04).abs() < 1e-6 && (rows.most_omitted(0, all) - 0.050_05).abs() < 1e-6);
    }

    #[test]
    fn lists_of_a_file_are_checked_and_ordered() {
        let read = |indices: &[u64], values: &[f64]| SparseRows::from_lists(3, indices, values, true);
        let rows = read(&[4, 0, 3], &[0.600_000_023_8, 1.0, 0.4]).unwrap();
        assert_eq!((rows.indices(), rows.values()), (&[0, 3, 4][..], &[1.0, 0.4, 0.6][..]));
        assert_eq!(rows.column(0).collect::<Vec<_>>(), [(0, 1.0), (1, 0.4)]);
        assert_eq!(read(&[9], &[0.5]), Err(RowsError::Outside(9, 3)));
        assert_eq!(read(&[1_000_000_000_000], &[0.5]), Err(RowsError::Outside(1_000_000_000_000, 3)));
        assert_eq!(read(&[5], &[0.5]), Err(RowsError::Ahead { query: 1, key: 2 }));
        assert!(SparseRows::from_lists(3, &[5], &[0.5], false).is_ok(), "an encoder looks ahead");
        assert_eq!(read(&[4], &[1.5]), Err(RowsError::Value(1.5)));
        assert!(matches!(read(&[4], &[f64::NAN]), Err(RowsError::Value(_))));
        assert_eq!(read(&[4], &[]), Err(RowsError::Lengths(1, 0)));
        assert_eq!(read(&[4, 4], &[0.5, 0.5]), Err(RowsError::Twice(4)));
        assert_eq!(SparseRows::from_lists(20_000, &[], &[], true), Err(RowsError::TooLong(20_000)));
        assert_eq!(SparseRows::from_lists(0, &[0], &[0.5], true), Err(RowsError::Outside(0, 0)));
    }
}
