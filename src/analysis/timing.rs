//! Measured times of a model by the length of its input, and the curve `c₀ + c₁n + c₂n²` that is fitted to them.

use serde::{Deserialize, Serialize};

use crate::{
    analysis::explain::report::{LabQuestion, MethodSpec},
    spec::{Longer, Modality, ModelSpec, TextSpec},
    text::{counted, secs_text},
};

pub const METHOD: MethodSpec = MethodSpec {
    name: "cost",
    title: "Time by length",
    question: LabQuestion::Believe,
    about: "Measured time of a pass by the length of the input, with a fitted curve, and memory as formulas",
    example: "--model demo:gpt --lengths 16,64,128,256 --out cost.svg",
    caveat: "Times are of this machine, its threads and its load; beyond the measured lengths the curve is a guess.",
    formula: "c₀ + c₁n + c₂n², cᵢ ≥ 0, least squares of (curve − time) / time",
    source: "Vaswani et al. 2017, Table 1; Lawson and Hanson 1974",
    values: &[],
    ..MethodSpec::EMPTY
};

/// Lengths that are measured as far as a model takes them.
const LENGTHS: [usize; 8] = [16, 32, 64, 128, 256, 512, 1024, 2048];
/// Lengths that a curve needs.
pub const LEAST_LENGTHS: usize = 4;
/// What a model computes with.
pub const PRECISION: &str = "f32";
/// Seconds that one length may take, all of its passes together.
pub const BUDGET_SECS: f64 = 3.0;
/// Passes whose median is taken, behind one that warms up.
const N_PASSES: usize = 3;

/// Times of one model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// What the model is called, and how many weights it has.
    pub model: String,
    pub n_params: u64,
    /// Threads that computed.
    pub threads: usize,
    /// By length, from the shortest on.
    pub measured: Vec<Measured>,
}

/// The time of a pass over an input of so many tokens: the median of several.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    pub n: usize,
    pub secs: f64,
}

/// A curve through measured times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    /// Seconds, seconds a token, seconds a pair of tokens; none is below 0.
    pub coefficients: [f64; 3],
    /// How far it is from what was measured at most, as a part of that.
    pub furthest: f64,
}

impl Timing {
    /// Whether it is of this model.
    pub fn is_of(&self, model: &ModelSpec) -> bool {
        self.model == model.name && self.n_params == model.n_params
    }

    /// Whether its numbers can be times by length.
    pub fn is_sound(&self) -> bool {
        let rises = self.measured.windows(2).all(|pair| pair[0].n < pair[1].n);
        rises && self.measured.iter().all(|it| it.n > 0 && it.secs.is_finite() && it.secs > 0.0)
    }

    /// The curve; `None` of fewer lengths than it needs.
    pub fn fit(&self) -> Option<Fit> {
        (self.measured.len() >= LEAST_LENGTHS).then(|| fit(&self.measured))
    }

    /// What computed, in words.
    pub fn machine_text(&self) -> String {
        format!("{}, {PRECISION}", counted(self.threads, "thread"))
    }
}

impl Fit {
    /// The seconds of a pass over so many tokens.
    pub fn secs(&self, n: f64) -> f64 {
        let [base, linear, square] = self.coefficients;
        base + n * (linear + n * square)
    }

    /// The curve as a formula.
    pub fn text(&self) -> String {
        let names = ["", " n", " n²"];
        let terms = self.coefficients.iter().zip(names).filter(|(coefficient, _)| **coefficient > 0.0);
        let terms: Vec<String> =
            terms.map(|(coefficient, name)| format!("{}{name}", secs_text(*coefficient))).collect();
        terms.join(" + ")
    }
}

/// The coefficients of which none is below 0 with the least sum of squared relative differences.
fn fit(measured: &[Measured]) -> Fit {
    let rows: Vec<[f64; 3]> =
        measured.iter().map(|it| [1.0, it.n as f64, (it.n as f64).powi(2)].map(|x| x / it.secs)).collect();
    // Of three coefficients every choice of those above 0 can be tried.
    let candidates = (1..8u8).filter_map(|chosen| {
        let columns: Vec<usize> = (0..3).filter(|column| chosen & (1 << column) != 0).collect();
        let found = solved(&rows, &columns)?;
        let loss: f64 = rows.iter().map(|row| (dot(row, &found) - 1.0).powi(2)).sum();
        found.iter().all(|coefficient| *coefficient >= 0.0).then_some((loss, found))
    });
    let best = candidates.min_by(|a, b| a.0.total_cmp(&b.0));
    let coefficients = best.map_or([0.0; 3], |(_, found)| found);
    let furthest = rows.iter().map(|row| (dot(row, &coefficients) - 1.0).abs()).fold(0.0, f64::max);
    Fit { coefficients, furthest }
}

fn dot(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Coefficients of some columns whose sum is nearest to 1 in every row, by Gram and Schmidt; the others are 0.
fn solved(rows: &[[f64; 3]], columns: &[usize]) -> Option<[f64; 3]> {
    // Columns at right angles to those before, what each takes of those, and what 1 has of each.
    let mut basis: Vec<Vec<f64>> = Vec::new();
    let mut parts: Vec<Vec<f64>> = Vec::new();
    let mut of_one = Vec::new();
    let inner = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    for &column in columns {
        let mut left: Vec<f64> = rows.iter().map(|row| row[column]).collect();
        let size = inner(&left, &left);
        let mut part = Vec::new();
        for before in &basis {
            let share = inner(&left, before) / inner(before, before);
            left.iter_mut().zip(before).for_each(|(x, b)| *x -= share * b);
            part.push(share);
        }
        if inner(&left, &left) <= 1e-20 * size {
            return None;
        }
        of_one.push(left.iter().sum::<f64>() / inner(&left, &left));
        basis.push(left);
        parts.push(part);
    }
    let mut found = of_one;
    for nth in (0..found.len()).rev() {
        found[nth] -= (nth + 1..found.len()).map(|later| parts[later][nth] * found[later]).sum::<f64>();
    }
    let mut coefficients = [0.0; 3];
    columns.iter().zip(found).for_each(|(column, value)| coefficients[*column] = value);
    Some(coefficients)
}

/// The lengths that are measured of a model: those that it takes, of a short one parts of its longest.
///
/// # Errors
/// Says in words why none is.
pub fn lengths(model: &ModelSpec) -> Result<Vec<usize>, &'static str> {
    let longest = longest(model)?;
    let mut lengths: Vec<usize> = LENGTHS.into_iter().filter(|n| *n <= longest).collect();
    if lengths.len() < LEAST_LENGTHS {
        lengths = [8, 4, 2, 1].map(|part| (longest / part).max(1)).to_vec();
        lengths.dedup();
    }
    Ok(lengths)
}

/// The longest input that a model takes.
///
/// # Errors
/// Says in words why its length is always the same.
pub fn longest(model: &ModelSpec) -> Result<usize, &'static str> {
    match &model.modality {
        Modality::Text(text) => Ok(longest_text(text)),
        Modality::TextToText { source, target } => Ok(longest_text(source).min(longest_text(target))),
        Modality::Image(_) | Modality::ImageToText { .. } | Modality::ImageAndText { .. } => {
            Err("A picture always has as many patches, so that there is no length to vary")
        }
    }
}

/// Whether a model reads texts that it was not made for.
pub fn reads_longer(model: &ModelSpec) -> bool {
    match &model.modality {
        Modality::Text(text) => text.longer == Longer::Read,
        Modality::TextToText { source, target } => [source, target].iter().all(|text| text.longer == Longer::Read),
        Modality::Image(_) | Modality::ImageToText { .. } | Modality::ImageAndText { .. } => false,
    }
}

/// A text that a model was not made for is measured where it can be read.
fn longest_text(text: &TextSpec) -> usize {
    match text.longer {
        Longer::Refused => text.n_ctx,
        Longer::Read => text.n_ctx.max(LENGTHS[LENGTHS.len() - 1]),
    }
}

/// Measures lengths in turn; `secs` takes a length, has one pass over so many tokens, and answers how long it took. A
/// length that takes all that it may is the last one. `tell` hears what is there after each.
///
/// # Errors
/// That of a pass.
pub fn measure<E>(
    lengths: &[usize],
    secs: &mut dyn FnMut(usize) -> Result<f64, E>,
    tell: &mut dyn FnMut(&[Measured]),
) -> Result<Vec<Measured>, E> {
    let mut measured = Vec::new();
    for &n in lengths {
        let warm = secs(n)?;
        let n_passes = (((BUDGET_SECS - warm) / warm) as usize).clamp(1, N_PASSES);
        let mut passes = (0..n_passes).map(|_| secs(n)).collect::<Result<Vec<f64>, E>>()?;
        passes.sort_by(f64::total_cmp);
        measured.push(Measured { n, secs: passes[passes.len() / 2] });
        tell(&measured);
        if warm > BUDGET_SECS {
            break;
        }
    }
    Ok(measured)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix;

    const AT: [usize; 6] = [16, 64, 128, 256, 512, 1024];

    fn measured(coefficients: [f64; 3], noise: impl Fn(usize) -> f64) -> Vec<Measured> {
        let curve = Fit { coefficients, furthest: 0.0 };
        AT.iter()
            .enumerate()
            .map(|(nth, n)| Measured { n: *n, secs: curve.secs(*n as f64) * (1.0 + noise(nth)) })
            .collect()
    }

    #[test]
    fn exact_curves_are_found_and_none_of_their_coefficients_is_below_0() {
        for expected in [[1e-3, 2e-5, 3e-8], [0.0, 2e-5, 3e-8], [1e-3, 0.0, 3e-8], [1e-3, 2e-5, 0.0], [0.0, 0.0, 1e-8]]
        {
            let found = fit(&measured(expected, |_| 0.0));
            let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-9 * b.max(1e-9);
            assert!(found.coefficients.iter().zip(&expected).all(near), "{found:?} is not {expected:?}");
            assert!(found.furthest < 1e-9, "{found:?}");
        }
        // Times that fall with the length have no such curve: the best is a constant.
        let falling: Vec<Measured> = AT.iter().map(|n| Measured { n: *n, secs: 1.0 / *n as f64 }).collect();
        let [base, linear, square] = fit(&falling).coefficients;
        assert!(base > 0.0 && linear == 0.0 && square == 0.0, "{base} {linear} {square}");
        assert!((Fit { coefficients: [1.0, 2.0, 3.0], furthest: 0.0 }.secs(2.0) - 17.0).abs() < 1e-12);
    }

    #[test]
    fn noise_moves_a_curve_by_about_as_much() {
        let mut random = SplitMix::new(3);
        let noise: Vec<f64> =
            AT.iter().map(|_| 0.1 * ((random.next() >> 11) as f64 / (1u64 << 53) as f64 - 0.5)).collect();
        let expected = [1e-3, 2e-5, 3e-8];
        let found = fit(&measured(expected, |nth| noise[nth]));
        assert!(found.furthest <= 0.05, "{found:?}");
        let truth = Fit { coefficients: expected, furthest: 0.0 };
        for n in [16.0, 300.0, 1024.0, 4096.0] {
            let off = found.secs(n) / truth.secs(n) - 1.0;
            assert!(off.abs() < 0.15, "{n}: off by {off}");
        }
    }

    #[test]
    fn the_median_of_three_is_taken_and_a_slow_length_is_the_last() {
        let script = |n: usize, nth: usize| match n {
            16 => [9.0, 0.3, 0.1, 0.2][nth] * if nth == 0 { 0.05 } else { 1.0 },
            64 => 1.0,
            _ => 4.0,
        };
        let (mut asked, mut told): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
        let mut secs = |n: usize| -> Result<f64, ()> {
            let nth = asked.iter().filter(|other| **other == n).count();
            asked.push(n);
            Ok(script(n, nth))
        };
        let found = measure(&[16, 64, 128, 256], &mut secs, &mut |so_far| told.push(so_far.len())).unwrap();
        assert_eq!(found.iter().map(|it| (it.n, it.secs)).collect::<Vec<_>>(), [(16, 0.2), (64, 1.0), (128, 4.0)]);
        assert_eq!((asked.len(), told), (4 + 3 + 2, vec![1, 2, 3]), "what takes long is passed over fewer times");
        let stopped = measure(&[16, 64], &mut |n| if n == 16 { Ok(0.1) } else { Err("cancelled") }, &mut |_| {});
        assert_eq!(stopped, Err("cancelled"));
    }
}
