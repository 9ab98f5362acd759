//! Contributions of components to logits, and the logits of each layer.
//!
//! Two readings of the residual stream that look alike and are opposite in one thing: *direct logit
//! attribution* (Elhage et al. 2021) holds the scale of the final norm fixed at its value for the whole
//! stream, so that parts add up; the *logit lens* (nostalgebraist 2020) computes it anew for each layer.

use super::{
    ExplainError,
    dense::{Dense, wide},
    divergence,
};
use crate::outputs::OutputKind;

/// The final norm.
#[derive(Clone, Copy, Debug)]
pub struct FinalNorm<'a> {
    /// `γ`, `[d]`.
    pub weight: &'a [f32],
    /// `β`, `[d]`; none in RMS norms.
    pub bias: Option<&'a [f32]>,
    /// `ε`.
    pub epsilon: f64,
    /// Whether the mean is taken away; RMS norms leave it.
    pub centred: bool,
}

impl FinalNorm<'_> {
    fn check(&self, width: usize) -> Result<(), ExplainError> {
        ExplainError::check_shape("the norm's weight", &[width], &[self.weight.len()])?;
        ExplainError::check_shape("the norm's bias", &[width], &[self.bias.map_or(width, <[f32]>::len)])
    }

    fn mean(&self, x: &[f64]) -> f64 {
        if self.centred { x.iter().sum::<f64>() / x.len().max(1) as f64 } else { 0.0 }
    }

    /// What the norm divides `x` by.
    fn scale(&self, x: &[f64]) -> f64 {
        let mean = self.mean(x);
        (x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / x.len().max(1) as f64 + self.epsilon).sqrt()
    }

    /// A part of the stream behind the norm whose scale is `scale`; without the bias.
    fn part(&self, part: &[f64], scale: f64) -> Vec<f64> {
        let mean = self.mean(part);
        part.iter().zip(self.weight).map(|(x, weight)| (x - mean) / scale * f64::from(*weight)).collect()
    }

    /// The norm of `x`.
    pub fn apply(&self, x: &[f64]) -> Vec<f64> {
        let mut out = self.part(x, self.scale(x));
        for (out, bias) in out.iter_mut().zip(self.bias.unwrap_or(&[])) {
            *out += f64::from(*bias);
        }
        out
    }
}

/// A logit, or the difference of two, by where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct LogitParts {
    /// What each component adds.
    pub parts: Vec<f64>,
    /// What the biases of norm and unembedding add.
    pub constant: f64,
    /// All of it: the logit that the model computes.
    pub sum: f64,
}

/// Takes a logit apart.
///
/// `components` are all that the residual stream is the sum of at one position, `[components, d]`;
/// `direction` is the column of the unembedding of the target, or the difference to another's, `[d]`, and
/// `bias` the same of the unembedding's bias.
pub fn direct_logits(
    components: &Dense,
    norm: FinalNorm<'_>,
    direction: &[f32],
    bias: f64,
) -> Result<LogitParts, ExplainError> {
    let width = components.n_cols();
    norm.check(width)?;
    ExplainError::check_shape("the direction of the target", &[width], &[direction.len()])?;
    let mut stream = vec![0.0; width];
    for component in components.rows() {
        stream.iter_mut().zip(component).for_each(|(sum, value)| *sum += value);
    }
    let (scale, direction) = (norm.scale(&stream), wide(direction));
    let along = |vector: &[f64]| vector.iter().zip(&direction).map(|(a, b)| a * b).sum::<f64>();
    let parts: Vec<f64> = components.rows().map(|part| along(&norm.part(part, scale))).collect();
    let constant = along(&norm.bias.map(wide).unwrap_or_default()) + bias;
    Ok(LogitParts { sum: parts.iter().sum::<f64>() + constant, parts, constant })
}

/// The logits that a residual stream would give if it were the last: `norm(x) · W_U + b_U`.
///
/// `unembedding` is `[vocabulary, d]`, one row for each token, and `bias` empty or one for each.
pub fn lens(stream: &[f64], norm: FinalNorm<'_>, unembedding: &Dense, bias: &[f32]) -> Result<Vec<f64>, ExplainError> {
    norm.check(stream.len())?;
    ExplainError::check_shape("the unembedding", &[unembedding.n_rows(), stream.len()], &unembedding.shape())?;
    let normed = norm.apply(stream);
    let logit = |(token, row): (usize, &[f64])| {
        let dot: f64 = row.iter().zip(&normed).map(|(a, b)| a * b).sum();
        dot + bias.get(token).map_or(0.0, |bias| f64::from(*bias))
    };
    Ok(unembedding.rows().enumerate().map(logit).collect())
}

/// What a layer says, measured on its logits.
#[derive(Clone, Debug, PartialEq)]
pub struct LensReading {
    /// The most probable tokens with their probabilities, the first first.
    pub top: Vec<(usize, f64)>,
    /// The probability of the token that is asked for, or its score.
    pub p: f64,
    /// Its rank, 0 where it is the most probable.
    pub rank: usize,
    /// Divergence of the final layer's prediction from this one in nats; probabilities below a tenth of
    /// the uniform one count as that. NaN between scores.
    pub kl: f64,
}

/// Reads one layer's logits against the final layer's; `target` is the token whose probability is told.
pub fn read_lens(
    logits: &[f32],
    final_logits: &[f32],
    target: usize,
    n_top: usize,
    outputs: OutputKind,
) -> Result<LensReading, ExplainError> {
    ExplainError::check_shape("the final logits", &[logits.len()], &[final_logits.len()])?;
    if target >= logits.len() {
        return Err(ExplainError::option("the target", target, "a token of the vocabulary"));
    }
    let p = outputs.values(logits);
    let compared = |logits: &[f32]| {
        let p = outputs.distribution(logits, target as u32)?;
        let least = 0.1 / p.len() as f64;
        Some(p.into_iter().map(|p| p.max(least)).collect::<Vec<f64>>())
    };
    Ok(LensReading {
        top: largest(&p, n_top).into_iter().map(|token| (token, p[token])).collect(),
        rank: p.iter().filter(|other| **other > p[target]).count(),
        kl: compared(final_logits).zip(compared(logits)).map_or(f64::NAN, |(last, p)| divergence::kl(&last, &p)),
        p: p[target],
    })
}

/// The largest `n` in order, of equal ones the first: a vocabulary need not be sorted for its first five.
fn largest(values: &[f64], n: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    let by_value = |a: &usize, b: &usize| values[*b].total_cmp(&values[*a]).then(a.cmp(b));
    if n < order.len() {
        order.select_nth_unstable_by(n, by_value);
        order.truncate(n);
    }
    order.sort_unstable_by(by_value);
    order
}

#[cfg(test)]
mod tests {
    use super::{super::toy, *};

    const WEIGHT: [f32; 4] = [1.0, 1.1, 0.9, 1.0];
    const BIAS: [f32; 4] = [0.1, 0.0, -0.1, 0.0];
    const NORM: FinalNorm<'_> = FinalNorm { weight: &WEIGHT, bias: Some(&BIAS), epsilon: 1e-5, centred: true };
    const LOGIT_BIAS: [f32; 3] = [0.1, 0.0, -0.1];

    fn components() -> Dense {
        toy::dense(&[[0.5, -0.2, 0.1, 0.0], [0.3, 0.4, -0.6, 0.1], [-0.1, 0.2, 0.2, 0.9]])
    }

    /// `[vocabulary, d]`.
    fn unembedding() -> Dense {
        toy::dense(&[[1.0, -1.0, 0.5], [0.0, 2.0, 1.0], [0.5, 0.5, -1.0], [-1.0, 0.0, 1.0]]).transposed()
    }

    fn direction(target: usize, foil: Option<usize>) -> Vec<f32> {
        let (table, foil) = (unembedding(), foil);
        (0..4).map(|i| (table.at(target, i) - foil.map_or(0.0, |foil| table.at(foil, i))) as f32).collect()
    }

    #[test]
    fn parts_of_a_logit_of_the_worked_example() {
        let found = direct_logits(&components(), NORM, &direction(2, None), -0.1).unwrap();
        toy::assert_near(&found.parts, &[-0.476_988, 2.374_568, 0.788_066]);
        toy::assert_near(&[found.constant, found.sum], &[0.05, 2.735_647]);
        let found = direct_logits(&components(), NORM, &direction(2, Some(0)), -0.2).unwrap();
        toy::assert_near(&found.parts, &[-1.513_917, 2.566_400, 2.955_249]);
        toy::assert_near(&[found.constant], &[-0.1]);
    }

    #[test]
    fn what_each_layer_says_in_the_worked_example() {
        let mut stream = vec![0.0; 4];
        let expected = [
            [2.111_011, -4.307_342, -0.852_065],
            [1.033_971, -1.955_904, 2.034_867],
            [-1.172_085, -1.596_517, 2.735_647],
        ];
        for (component, expected) in components().rows().zip(expected) {
            stream.iter_mut().zip(component).for_each(|(sum, value)| *sum += value);
            toy::assert_near(&lens(&stream, NORM, &unembedding(), &LOGIT_BIAS).unwrap(), &expected);
        }
    }

    #[test]
    fn a_root_mean_square_norm_keeps_the_mean_and_parts_add_up() {
        let norm = FinalNorm { bias: None, centred: false, ..NORM };
        let found = direct_logits(&components(), norm, &direction(1, None), 0.0).unwrap();
        let stream: Vec<f64> = (0..4).map(|i| (0..3).map(|c| components().at(c, i)).sum()).collect();
        let logits = lens(&stream, norm, &unembedding(), &[]).unwrap();
        assert!((found.sum - logits[1]).abs() < 1e-12 && found.constant == 0.0);
        let root = (stream.iter().map(|x| x * x).sum::<f64>() / 4.0 + 1e-5).sqrt();
        assert!((norm.apply(&stream)[1] - stream[1] / root * f64::from(WEIGHT[1])).abs() < 1e-12);
    }

    #[test]
    fn a_layer_is_read_against_the_last() {
        let (layer, last) = ([2.0, 0.0, 1.0, -1.0], [0.0, 3.0, 1.0, -1.0]);
        let read = |layer: &[f32], target, n_top, kind| read_lens(layer, &last, target, n_top, kind);
        let tokens = OutputKind::Tokens;
        let first = read(&layer, 2, 2, tokens).unwrap();
        assert_eq!((first.rank, first.top[0].0, first.top[1].0, first.top.len()), (1, 0, 2, 2));
        assert!((first.p - tokens.values(&layer)[2]).abs() < 1e-15 && first.kl > 0.5);
        assert_eq!(read(&last, 1, 1, tokens).unwrap().kl, 0.0);
        assert!(read(&layer, 4, 1, tokens).is_err());
        // A label is compared with its absence, a score with nothing.
        let label = read(&layer, 1, 2, OutputKind::Labels).unwrap();
        let (p, last_p) = (0.5f64, 1.0 / (1.0 + (-3f64).exp()));
        let kl = last_p * (last_p / p).ln() + (1.0 - last_p).max(0.05) * ((1.0 - last_p).max(0.05) / p).ln();
        assert!((label.p - p).abs() < 1e-12 && (label.kl - kl).abs() < 1e-12, "{label:?} {kl}");
        let score = read(&layer, 2, 2, OutputKind::Scores).unwrap();
        assert!(score.p == 1.0 && score.kl.is_nan());
    }
}
