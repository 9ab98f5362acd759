//! What the overlay shows: one number per token.

use crate::{analysis::reading::ReadPattern, capture::ImageInfo};

/// What a token is that the overlay is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// It asks: the overlay shows what it attends to.
    #[default]
    Query,
    /// It answers: the overlay shows what attends to it.
    Key,
}

/// What the overlay is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// One token (a position), in the chosen role.
    Token(usize),
    /// The mean over all tokens in the chosen role.
    Mean,
}

impl Subject {
    /// One weight per token of the picture: a row or a column of the pattern, or their mean.
    pub fn weights(self, read: &ReadPattern, role: Role) -> Vec<f32> {
        let [n_rows, n_cols] = read.matrix.shape();
        match (self, role) {
            (Self::Token(query), Role::Query) => {
                let row = read.rows.group_of(query).and_then(|row| read.matrix.row(row));
                row.unwrap_or_default().to_vec()
            }
            (Self::Token(key), Role::Key) => {
                let col = read.cols.group_of(key).unwrap_or(usize::MAX);
                read.matrix.rows().map(|row| row.get(col).copied().unwrap_or(0.0)).collect()
            }
            (Self::Mean, Role::Query) => {
                let mut sums = vec![0.0f64; n_cols];
                for row in read.matrix.rows() {
                    sums.iter_mut().zip(row).for_each(|(sum, &weight)| *sum += f64::from(weight));
                }
                sums.into_iter().map(|sum| (sum / n_rows.max(1) as f64) as f32).collect()
            }
            (Self::Mean, Role::Key) => {
                let mean = |row: &[f32]| row.iter().map(|&w| f64::from(w)).sum::<f64>() / n_cols.max(1) as f64;
                read.matrix.rows().map(|row| mean(row) as f32).collect()
            }
        }
    }
}

/// The weights of the patches, without the tokens before them.
pub fn of_patches(weights: &[f32], image: &ImageInfo) -> Vec<f32> {
    weights.iter().skip(image.n_prefix).take(image.grid.0 * image.grid.1).copied().collect()
}
