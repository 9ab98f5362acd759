//! Biases on attention scores that depend on positions.

use std::ops::Range;

use candle_core::{Device, Result, Tensor, bail};
use half::bf16;
use rayon::prelude::*;

use super::{
    disentangled::Disentangled,
    interpolate::{Interpolation, resize_rows},
};
use crate::model::kernels::Bias;

/// A bias on attention scores.
#[derive(Debug)]
pub(crate) enum RelativeBias {
    /// A learned number per head and logarithmic bucket of the distance (T5, MPNet).
    Buckets {
        /// `[n_buckets, heads]`.
        table: Vec<f32>,
        n_heads: usize,
        /// Whether keys after the query have buckets of their own.
        bidirectional: bool,
        /// Distance from which all share the last bucket.
        max_distance: usize,
    },
    /// A slope per head times a number for each key (ALiBi, Press et al. 2022).
    Alibi { slopes: Vec<f32>, form: AlibiForm },
    /// Contents compared with positions (DeBERTa): it takes the layer's queries and keys.
    Disentangled(Disentangled),
    /// A learned number per head and offset between two patches, and for each kind of pair with a CLS
    /// token before the patches (BEiT).
    Grid {
        /// `[(2 · rows − 1) · (2 · columns − 1) + 3, heads]`; the last three are from CLS, to CLS, and of
        /// CLS with itself.
        table: Vec<f32>,
        n_heads: usize,
        /// Rows and columns the table was trained for.
        grid: (usize, usize),
    },
}

/// The number of a key by which a slope is multiplied.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum AlibiForm {
    /// Its position.
    Position,
    /// How far it stands before the last key, less than zero (MPT).
    BeforeLast,
    /// Its position; slope, position and product are rounded to bfloat16, and the product is multiplied by a factor
    /// (Falcon).
    Rounded { factor: f32 },
}

impl AlibiForm {
    fn bias(self, slope: f32, key: usize, n_key: usize) -> f32 {
        match self {
            Self::Position => slope * key as f32,
            Self::BeforeLast => slope * (key as f32 - (n_key - 1) as f32),
            Self::Rounded { factor } => {
                let [slope, key] = [slope, key as f32].map(|x| bf16::from_f32(x).to_f32());
                bf16::from_f32(slope * key).to_f32() * factor
            }
        }
    }
}

impl RelativeBias {
    /// Buckets from a table `[n_buckets, heads]`; `None` when there are too few for such distances.
    pub fn buckets(table: &Tensor, bidirectional: bool, max_distance: usize) -> Result<Option<Self>> {
        let (n_buckets, n_heads) = table.dims2()?;
        let n_exact = if bidirectional { n_buckets / 4 } else { n_buckets / 2 };
        if n_exact == 0 || max_distance <= n_exact {
            return Ok(None);
        }
        let table = table.flatten_all()?.to_vec1()?;
        Ok(Some(Self::Buckets { table, n_heads, bidirectional, max_distance }))
    }

    /// ALiBi's slopes: a geometric series, with every other one of the next series for head counts that
    /// are no power of two.
    pub fn alibi(n_heads: usize, form: AlibiForm) -> Self {
        let power = 1usize << n_heads.max(1).ilog2();
        let slope = |n: usize, i: usize| (-8.0 * (i + 1) as f64 / n as f64).exp2() as f32;
        let mut slopes: Vec<f32> = (0..power).map(|i| slope(power, i)).collect();
        slopes.extend((0..n_heads - power).map(|i| slope(2 * power, 2 * i)));
        Self::Alibi { slopes, form }
    }

    /// The slopes of MPT: a geometric series down to `2^−most`; for head counts that are no power of two every other one
    /// of the next longer series first.
    pub fn alibi_of_mpt(n_heads: usize, most: f64) -> Self {
        let power = n_heads.next_power_of_two();
        let slope = |i: usize| (-((i + 1) as f64 * (most / power as f64))).exp2() as f32;
        let slopes: Vec<f32> = if power == n_heads {
            (0..power).map(slope).collect()
        } else {
            (1..power).step_by(2).chain((0..power).step_by(2)).take(n_heads).map(slope).collect()
        };
        Self::Alibi { slopes, form: AlibiForm::BeforeLast }
    }

    /// The bias of queries at `queries` on keys from 0, where it depends on positions alone; the last query
    /// stands at the last key.
    pub fn rows(
        &self,
        queries: Range<usize>,
        n_key: usize,
        grid: Option<(usize, usize)>,
        device: &Device,
    ) -> Result<Bias> {
        let bias = match self {
            Self::Buckets { table, n_heads, bidirectional, max_distance } => {
                let n_buckets = table.len() / n_heads.max(&1);
                // From the last query's distance to the first key, to the first query's to the last key.
                let distances = (0..(queries.end + queries.len()).saturating_sub(1))
                    .map(|idx| idx as i64 - (queries.end as i64 - 1));
                let buckets: Vec<usize> =
                    distances.map(|distance| bucket(distance, *bidirectional, n_buckets, *max_distance)).collect();
                let of_head = |head: usize| buckets.iter().map(move |bucket| table[bucket * n_heads + head]);
                let values: Vec<f32> = (0..*n_heads).flat_map(of_head).collect();
                Tensor::from_vec(values, (*n_heads, 1, buckets.len()), device)
            }
            Self::Alibi { slopes, form } => {
                let of_head = |slope: &f32| {
                    let slope = *slope;
                    (0..n_key).map(move |key| form.bias(slope, key, n_key))
                };
                let values: Vec<f32> = slopes.iter().flat_map(of_head).collect();
                Tensor::from_vec(values, (slopes.len(), 1, n_key), device)
            }
            Self::Disentangled(_) => bail!("this bias is not one of positions alone"),
            Self::Grid { table, n_heads, grid: trained } => {
                let Some(grid) = grid.filter(|grid| 1 + grid.0 * grid.1 == n_key) else {
                    bail!("a bias between patches needs a grid of {n_key} tokens with a CLS token, not {grid:?}")
                };
                let values = between_patches(table, *n_heads, *trained, grid);
                Tensor::from_vec(values, (*n_heads, n_key, n_key), device)
            }
        };
        bias.map(Bias)
    }

    /// How many values it has for each head, of `n_query` queries on `n_key` keys.
    pub const fn n_values(&self, n_query: u64, n_key: u64) -> u64 {
        match self {
            Self::Buckets { .. } => n_query + n_key,
            Self::Alibi { .. } => n_key,
            Self::Disentangled(_) | Self::Grid { .. } => n_query.saturating_mul(n_key),
        }
    }
}

/// BEiT's bias `[heads, 1 + rows · columns, 1 + rows · columns]`, interpolated where the grid is not the
/// trained one.
fn between_patches(
    table: &[f32],
    n_heads: usize,
    trained: (usize, usize),
    (n_rows, n_cols): (usize, usize),
) -> Vec<f32> {
    let offsets = |grid: (usize, usize)| (2 * grid.0 - 1, 2 * grid.1 - 1);
    let (patches, cls) = table.split_at(table.len() - 3 * n_heads);
    // The reference takes rows for columns here, which shows when a trained grid is not square.
    let from = offsets((trained.1, trained.0));
    let to = offsets((n_rows, n_cols));
    let patches = resize_rows(patches, from, to, n_heads, Interpolation::Bilinear);
    let (n_patches, n) = (n_rows * n_cols, n_rows * n_cols + 1);
    let mut values = vec![0.0; n_heads * n * n];
    values.par_chunks_exact_mut(n * n).enumerate().for_each(|(head, values)| {
        let (first_row, rows) = values.split_at_mut(n);
        first_row[0] = cls[2 * n_heads + head];
        first_row[1..].fill(cls[head]);
        for (query, row) in (0..n_patches).zip(rows.chunks_exact_mut(n)) {
            row[0] = cls[n_heads + head];
            for (key, value) in row[1..].iter_mut().enumerate() {
                let down = query / n_cols + n_rows - 1 - key / n_cols;
                let right = query % n_cols + n_cols - 1 - key % n_cols;
                *value = patches[(down * to.1 + right) * n_heads + head];
            }
        }
    });
    values
}

/// The bucket of a distance (key minus query): exact up to half of the buckets, logarithmic beyond
/// (Raffel et al. 2020).
fn bucket(distance: i64, bidirectional: bool, n_buckets: usize, max_distance: usize) -> usize {
    let (n, base, distance) = if bidirectional {
        let n = n_buckets / 2;
        (n, if distance > 0 { n } else { 0 }, distance.unsigned_abs() as usize)
    } else {
        (n_buckets, 0, (-distance).max(0) as usize)
    };
    let exact = n / 2;
    if distance < exact {
        return base + distance;
    }
    // In single precision, as the reference rounds.
    let ratio = (distance as f32 / exact as f32).ln() / f64::from(max_distance as f32 / exact as f32).ln() as f32;
    base + (exact + (ratio * (n - exact) as f32) as usize).min(n - 1)
}
