//! Weight by how far keys are from queries, beside that of uniform attention.

use crate::analysis::head_statistics::N_BINS;

/// Sums over rows by distance: 0, 1, 2–3, 4–7 and so on, back and ahead.
#[derive(Clone, Debug, Default)]
pub struct DistanceSums {
    back: [[f64; 2]; N_BINS],
    ahead: [[f64; 2]; N_BINS],
    n_rows: u64,
}

/// Mean weight of a row by distance.
#[derive(Clone, Debug, PartialEq)]
pub struct DistanceMass {
    /// By bin, 0, 1, 2–3, 4–7 and so on tokens back: the head's weight and that of uniform attention over the visible keys.
    pub back: Vec<[f64; 2]>,
    /// The same for keys after the query; its first bin is empty.
    pub ahead: Vec<[f64; 2]>,
    pub n_rows: u64,
}

impl DistanceSums {
    /// One more row and the keys that its query sees.
    pub fn add(&mut self, query: usize, row: &[f32], seen: &[usize]) {
        let even = 1.0 / seen.len().max(1) as f64;
        for key in seen {
            let distance = key.abs_diff(query);
            let bin = (usize::BITS - distance.leading_zeros()).min(N_BINS as u32 - 1) as usize;
            let side = if *key > query { &mut self.ahead } else { &mut self.back };
            side[bin][0] += f64::from(row[*key]);
            side[bin][1] += even;
        }
        self.n_rows += 1;
    }

    /// Per row, without the empty bins at the end; none of no row.
    pub fn mass(&self) -> Option<DistanceMass> {
        let n = self.n_rows as f64;
        let mean = |of: &[[f64; 2]; N_BINS]| {
            let n_used = of.iter().rposition(|[_, even]| *even > 0.0).map_or(0, |last| last + 1);
            of[..n_used].iter().map(|sums| sums.map(|sum| sum / n)).collect()
        };
        (self.n_rows > 0).then(|| DistanceMass {
            back: mean(&self.back),
            ahead: mean(&self.ahead),
            n_rows: self.n_rows,
        })
    }
}

impl DistanceMass {
    /// The distances of a bin: `0`, `1`, `2–3`.
    pub fn bin_text(bin: usize) -> String {
        match bin {
            0 | 1 => bin.to_string(),
            _ => format!("{}–{}", 1usize << (bin - 1), (1usize << bin) - 1),
        }
    }
}
