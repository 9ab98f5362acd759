//! How alike the states of a text are from layer to layer, and which input token each of them still is.

use super::{
    bootstrap::Estimate,
    explain::report::{LabQuestion, MethodSpec},
};
use crate::{capture::Matrix, random::SplitMix};

/// What the command line says of it.
pub const LIKENESS: MethodSpec = MethodSpec {
    name: "likeness",
    title: "Likeness of states by layer",
    question: LabQuestion::Fact,
    about: "By layer, how many states are nearest to the embedding of their own token, and how alike the states of a text are",
    example: "--model demo:bert --corpus demo:sentences --out likeness.svg",
    caveat: "A state that is nearest to another token may still hold its own: a linear map would find it more often, and \
             states that all point one way make every cosine large.",
    formula: "own: argmax_s cos(x_l[t], x_0[s]) = t; cosine: mean over t ≠ s of cos(x_l[t], x_l[s]); conicity: mean over t of \
              cos(x_l[t], mean of x_l)",
    source: "Brunner et al. 2020; Ethayarajh 2019; Sharma et al. 2018",
    values: &[],
    ..MethodSpec::EMPTY
};

/// The states of a text at one place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StateLikeness {
    /// Share of states whose nearest input token is their own.
    pub own: f64,
    /// Mean cosine of two states.
    pub cosine: f64,
    /// Mean cosine of a state and the mean of all.
    pub conicity: f64,
}

/// One place over many texts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LikenessRow {
    pub own: Estimate,
    pub cosine: Estimate,
    pub conicity: Estimate,
}

/// Rows of length 1; rows of zeros stay.
fn unit(rows: &Matrix, only: &[usize]) -> Vec<Vec<f64>> {
    let of = |position: &usize| {
        let row: Vec<f64> = rows.row(*position).unwrap_or(&[]).iter().map(|value| f64::from(*value)).collect();
        let length = dot(&row, &row).sqrt();
        if length > 0.0 { row.into_iter().map(|value| value / length).collect() } else { row }
    };
    only.iter().map(of).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

impl StateLikeness {
    /// Of the tokens at some positions: their states and the embeddings that entered the first layer, `[n, d_model]` both.
    /// `None` of fewer than two.
    pub fn of(states: &Matrix, embeddings: &Matrix, only: &[usize]) -> Option<Self> {
        let n = only.len();
        if n < 2 {
            return None;
        }
        let (now, then) = (unit(states, only), unit(embeddings, only));
        let nearest = |row: &Vec<f64>| {
            let near = then.iter().map(|other| dot(row, other)).enumerate();
            near.fold((0, f64::MIN), |best, at| if at.1 > best.1 { at } else { best }).0
        };
        let own = now.iter().enumerate().filter(|(nth, row)| nearest(row) == *nth).count();
        let mut sum = vec![0.0; now.first().map_or(0, Vec::len)];
        for row in &now {
            sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += value);
        }
        let squares: f64 = now.iter().map(|row| dot(row, row)).sum();
        // All pairs at once: |Σ u|² = Σ |u|² + Σ_{t ≠ s} u_t · u_s.
        let cosine = (dot(&sum, &sum) - squares) / (n * (n - 1)) as f64;
        let mut mean = vec![0.0; sum.len()];
        for position in only {
            mean.iter_mut().zip(states.row(*position)?).for_each(|(mean, value)| *mean += f64::from(*value));
        }
        let length = dot(&mean, &mean).sqrt();
        let conicity = if length > 0.0 { dot(&sum, &mean) / length / n as f64 } else { 0.0 };
        Some(Self { own: own as f64 / n as f64, cosine, conicity })
    }
}

/// Means of each place over texts, whose places are in the same order; texts are drawn anew for the intervals.
pub fn likeness_rows(texts: &[Vec<StateLikeness>], samples: usize, seed: u64) -> Vec<LikenessRow> {
    let n = texts.iter().map(Vec::len).min().unwrap_or(0);
    let row = |place: usize| {
        let mean = |what: u64, of: fn(&StateLikeness) -> f64| {
            let values: Vec<f64> = texts.iter().map(|text| of(&text[place])).collect();
            Estimate::of_mean(&values, samples, SplitMix::of_words([seed, what]))
        };
        Some(LikenessRow {
            own: mean(0, |of| of.own)?,
            cosine: mean(1, |of| of.cosine)?,
            conicity: mean(2, |of| of.conicity)?,
        })
    };
    (0..n).filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_told_from_each_other_and_from_their_mean() {
        let embeddings = Matrix::new(vec![1.0, 0.0, 0.0, 1.0, -1.0, 0.0, 5.0, 5.0], [4, 2]).unwrap();
        let states = Matrix::new(vec![2.0, 0.2, 0.5, 0.1, -3.0, 1.0, 0.0, 0.0], [4, 2]).unwrap();
        // The fourth is special and left aside; the second has become like the first.
        let only = [0, 1, 2];
        let found = StateLikeness::of(&states, &embeddings, &only).unwrap();
        assert!((found.own - 2.0 / 3.0).abs() < 1e-12, "{found:?}");
        let cos = |a: [f64; 2], b: [f64; 2]| dot(&a, &b) / (dot(&a, &a) * dot(&b, &b)).sqrt();
        let rows = [[2.0, 0.2], [0.5, 0.1], [-3.0, 1.0]];
        let pairs = cos(rows[0], rows[1]) + cos(rows[0], rows[2]) + cos(rows[1], rows[2]);
        assert!((found.cosine - pairs / 3.0).abs() < 1e-7, "{found:?}");
        let mean = [-0.5, 1.3];
        let conicity = rows.iter().map(|row| cos(*row, mean)).sum::<f64>() / 3.0;
        assert!((found.conicity - conicity).abs() < 1e-7, "{found:?}");
        assert_eq!(StateLikeness::of(&embeddings, &embeddings, &only).unwrap().own, 1.0);
        assert_eq!(StateLikeness::of(&states, &embeddings, &[1]), None);
        let rows = likeness_rows(&[vec![found], vec![StateLikeness { own: 1.0, ..found }]], 100, 0);
        assert!((rows[0].own.value - 5.0 / 6.0).abs() < 1e-12 && rows[0].own.low < rows[0].own.high);
    }
}
