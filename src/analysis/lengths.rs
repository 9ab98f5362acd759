//! Quality by the length of the source: the share of a target's tokens that a translator gets right, or BLEU of what it
//! writes, in bins of lengths, with intervals by bootstrap of whole sentences.

use std::{collections::HashMap, mem};

pub use super::bootstrap::Estimate;
use crate::{
    analysis::explain::report::{LabQuestion, MethodSpec},
    random::SplitMix,
};

pub const METHOD: MethodSpec = MethodSpec {
    name: "lengths",
    title: "Quality by length",
    question: LabQuestion::Believe,
    about: "Right tokens or BLEU by the length of the source, of one or two translators over a list of pairs",
    example: "--model demo:classic --model demo:translate --corpus demo:pairs --out lengths.svg",
    caveat: "One translation is given for each sentence, so a translator that words it otherwise loses; lengths that it was \
             not trained on are another matter.",
    formula: "right / tokens, or BLEU-4, of each bin; 95 % of resampled sentences",
    source: "Bahdanau et al. 2015; Papineni et al. 2002; Efron 1979; Wilson 1927",
    values: &[],
    ..MethodSpec::EMPTY
};

/// First lengths of all bins but the first, in words.
pub const EDGES: [usize; 5] = [5, 8, 11, 15, 20];
/// Bins of fewer sentences are joined with the next one.
pub const LEAST_SENTENCES: usize = 30;
/// The number of standard errors of a 95 % interval.
const Z: f64 = 1.959_963_984_540_054;

/// Longest n-grams of BLEU.
const ORDERS: usize = 4;

/// How sentences are judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Measure {
    /// The share of the target's tokens that are the first guess, given those before.
    #[default]
    Accuracy,
    /// BLEU of a bin as a whole (Papineni et al. 2002), not smoothed.
    Bleu,
}

vocabulary! {
    Measure: name,
    /// A title for charts.
    title,
    /// How it is counted, in a sentence.
    meaning;
    Accuracy("accuracy", "Tokens that are right, %", "Tokens of the given translation that are the first guess, given those \
        before (teacher forcing)"),
    Bleu("bleu", "BLEU", "BLEU-4 of each bin as a whole, of words and marks that the model writes by itself, the most \
        probable token each time"),
}

/// Counts of one sentence; those of several add up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Right n-grams by their length, and all of them; single tokens alone where those are counted.
    right: [usize; ORDERS],
    n: [usize; ORDERS],
    /// Words of the given translation.
    n_given: usize,
}

impl Tally {
    /// So many right tokens of `n`.
    pub const fn tokens(right: usize, n: usize) -> Self {
        Self { right: [right, 0, 0, 0], n: [n, 0, 0, 0], n_given: n }
    }

    /// The n-grams of a written text that are in the given one, each at most as often as there.
    pub fn of_texts(written: &str, given: &str) -> Self {
        let (written, given) = (words(written), words(given));
        let mut tally = Self { n_given: given.len(), ..Self::default() };
        for order in 1..=ORDERS {
            let mut left: HashMap<&[&str], usize> = HashMap::new();
            given.windows(order).for_each(|gram| *left.entry(gram).or_default() += 1);
            tally.n[order - 1] = written.windows(order).len();
            for gram in written.windows(order) {
                if let Some(left) = left.get_mut(gram).filter(|left| **left > 0) {
                    *left -= 1;
                    tally.right[order - 1] += 1;
                }
            }
        }
        tally
    }

    fn plus(self, other: Self) -> Self {
        let sum = |a: [usize; ORDERS], b: [usize; ORDERS]| std::array::from_fn(|order| a[order] + b[order]);
        Self { right: sum(self.right, other.right), n: sum(self.n, other.n), n_given: self.n_given + other.n_given }
    }
}

impl Measure {
    /// The number of a set of sentences, `0..=1`.
    fn of(self, Tally { right, n, n_given }: Tally) -> f64 {
        let precision = |order: usize| right[order] as f64 / n[order].max(1) as f64;
        match self {
            Self::Accuracy => precision(0),
            Self::Bleu if right.contains(&0) => 0.0,
            Self::Bleu => {
                let brevity = (1.0 - n_given as f64 / n[0] as f64).min(0.0).exp();
                brevity * ((0..ORDERS).map(|order| precision(order).ln()).sum::<f64>() / ORDERS as f64).exp()
            }
        }
    }
}

/// Words of a text and its marks, as the evaluations of translations have them (mteval-v13a, sacrebleu's default): marks of
/// ASCII are words but apostrophes, hyphens that follow no digit, and points and commas between digits.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for word in text.split_whitespace() {
        let mut start = 0;
        let mut before = ' ';
        for (at, c) in word.char_indices() {
            let end = at + c.len_utf8();
            let after = word[end..].chars().next().unwrap_or(' ');
            let is_mark = match c {
                '.' | ',' => !(before.is_ascii_digit() && after.is_ascii_digit()),
                '-' => before.is_ascii_digit(),
                _ => c.is_ascii_punctuation() && c != '\'',
            };
            if is_mark {
                words.extend([&word[start..at], &word[at..end]].into_iter().filter(|word| !word.is_empty()));
                start = end;
            }
            before = c;
        }
        words.extend(Some(&word[start..]).filter(|rest| !rest.is_empty()));
    }
    words
}

/// One sentence: its length, and what was counted of each model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graded {
    pub length: usize,
    pub tallies: Vec<Tally>,
}

/// What can be chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LengthOptions {
    pub measure: Measure,
    /// First lengths of all bins but the first, rising.
    pub edges: Vec<usize>,
    /// How often the sentences are drawn anew.
    pub samples: usize,
    pub seed: u64,
}

impl Default for LengthOptions {
    fn default() -> Self {
        Self { measure: Measure::default(), edges: EDGES.to_vec(), samples: 1000, seed: 0 }
    }
}

/// Sentences of similar length.
#[derive(Clone, Debug, PartialEq)]
pub struct LengthBin {
    /// Least, mean and largest length of its sentences.
    pub least: usize,
    pub mean: f64,
    pub most: usize,
    pub n_sentences: usize,
    /// Tokens that are judged, or words that are given.
    pub n_tokens: usize,
    /// The measure of each model.
    pub quality: Vec<Estimate>,
    /// The first model's less the second's; none of one model.
    pub difference: Option<Estimate>,
}

/// Quality by length.
#[derive(Clone, Debug, PartialEq)]
pub struct LengthCurve {
    pub measure: Measure,
    pub bins: Vec<LengthBin>,
    /// How much the difference of two models grows with each unit of length: least squares over the bins.
    pub slope: Option<Estimate>,
}

/// The curve of one or two models. Sentences are drawn anew within each bin, the same ones for both models.
pub fn curve(graded: &[Graded], n_models: usize, options: &LengthOptions) -> LengthCurve {
    let lengths: Vec<usize> = graded.iter().map(|sentence| sentence.length).collect();
    let members = bins(&lengths, &options.edges);
    let means: Vec<f64> =
        members.iter().map(|bin| bin.iter().map(|idx| lengths[*idx] as f64).sum::<f64>() / bin.len() as f64).collect();
    let has_difference = n_models == 2;
    let mut random = SplitMix::new(options.seed);
    // Of every drawing: by bin, the measure of each model.
    let measured = |chosen: &[usize]| measured(graded, chosen, n_models, options.measure);
    let drawings: Vec<Vec<Vec<f64>>> = (0..options.samples)
        .map(|_| {
            let drawn = |bin: &Vec<usize>| {
                let chosen: Vec<usize> = bin.iter().map(|_| bin[random.below(bin.len())]).collect();
                measured(&chosen)
            };
            members.iter().map(drawn).collect()
        })
        .collect();
    let gap = |of_models: &[f64]| of_models[0] - of_models[1];
    let slope_of = |by_bin: &[Vec<f64>]| slope(&means, &by_bin.iter().map(|found| gap(found)).collect::<Vec<_>>());
    let found: Vec<Vec<f64>> = members.iter().map(|bin| measured(bin)).collect();
    let bin = |nth: usize| {
        let of = &members[nth];
        let n_tokens = of.iter().filter_map(|idx| graded[*idx].tallies.first()).map(|tally| tally.n_given).sum();
        let is_single = options.measure == Measure::Accuracy && n_tokens == of.len();
        let quality = |model: usize| {
            if is_single {
                return wilson(of.iter().map(|idx| graded[*idx].tallies[model].right[0]).sum(), of.len());
            }
            Estimate::of(found[nth][model], drawings.iter().map(|drawing| drawing[nth][model]))
        };
        let difference =
            has_difference.then(|| Estimate::of(gap(&found[nth]), drawings.iter().map(|drawing| gap(&drawing[nth]))));
        let of_lengths = || of.iter().map(|idx| lengths[*idx]);
        LengthBin {
            least: of_lengths().min().unwrap_or(0),
            mean: means[nth],
            most: of_lengths().max().unwrap_or(0),
            n_sentences: of.len(),
            n_tokens,
            quality: (0..n_models).map(quality).collect(),
            difference,
        }
    };
    let slope = (has_difference && members.len() > 1)
        .then(|| Estimate::of(slope_of(&found), drawings.iter().map(|drawing| slope_of(drawing))));
    LengthCurve { measure: options.measure, bins: (0..members.len()).map(bin).collect(), slope }
}

/// Indices of sentences by the bin of their length; a bin of too few is joined with the next, the last with the one
/// before.
fn bins(lengths: &[usize], edges: &[usize]) -> Vec<Vec<usize>> {
    let mut parts = vec![Vec::new(); edges.len() + 1];
    for (idx, length) in lengths.iter().enumerate() {
        parts[edges.partition_point(|edge| edge <= length)].push(idx);
    }
    let (mut bins, mut open): (Vec<Vec<usize>>, Vec<usize>) = (Vec::new(), Vec::new());
    for part in parts {
        open.extend(part);
        if open.len() >= LEAST_SENTENCES {
            bins.push(mem::take(&mut open));
        }
    }
    match bins.last_mut() {
        Some(last) => last.extend(open),
        None if open.is_empty() => {}
        None => bins.push(open),
    }
    bins
}

/// The measure of some sentences, of each model.
fn measured(graded: &[Graded], chosen: &[usize], n_models: usize, measure: Measure) -> Vec<f64> {
    let sum = |model: usize| chosen.iter().map(|idx| graded[*idx].tallies[model]).fold(Tally::default(), Tally::plus);
    (0..n_models).map(|model| measure.of(sum(model))).collect()
}

/// Slope of the line through points that is nearest to them along y.
fn slope(x: &[f64], y: &[f64]) -> f64 {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (x_mean, y_mean) = (mean(x), mean(y));
    let covariance: f64 = x.iter().zip(y).map(|(x, y)| (x - x_mean) * (y - y_mean)).sum();
    covariance / x.iter().map(|x| (x - x_mean).powi(2)).sum::<f64>()
}

/// The share of `right` among `n` that are independent of each other (Wilson 1927).
pub(super) fn wilson(right: usize, n: usize) -> Estimate {
    let (n, value) = (n as f64, right as f64 / n as f64);
    let middle = (value + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
    let half = Z * (value * (1.0 - value) / n + Z * Z / (4.0 * n * n)).sqrt() / (1.0 + Z * Z / n);
    Estimate { value, low: (middle - half).max(0.0), high: (middle + half).min(1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentence(length: usize, n_tokens: usize, right: &[usize]) -> Graded {
        Graded { length, tallies: right.iter().map(|right| Tally::tokens(*right, n_tokens)).collect() }
    }

    #[test]
    fn one_token_a_sentence_has_the_interval_of_wilson() {
        let graded: Vec<Graded> = (0..50).map(|nth| sentence(3, 1, &[usize::from(nth < 42)])).collect();
        let bin = &curve(&graded, 1, &LengthOptions::default()).bins[0];
        let Estimate { value, low, high } = bin.quality[0];
        assert!((value - 0.84).abs() < 1e-12 && (low - 0.714_858).abs() < 1e-6 && (high - 0.916_626).abs() < 1e-6);
        let none = wilson(0, 10);
        assert!(none.low == 0.0 && (none.high - 0.277_533).abs() < 1e-6, "{none:?}");
    }

    #[test]
    fn bleu_is_of_a_set_and_not_smoothed() {
        let tally = Tally::of_texts("the cat sat on a mat", "the cat sat on the mat today");
        assert_eq!((tally.right, tally.n, tally.n_given), ([5, 3, 2, 1], [6, 5, 4, 3], 7));
        assert!((Measure::Bleu.of(tally) - 0.454_801_9).abs() < 1e-6);
        // Of a set the counts are added, which is not the mean of both.
        let same = Tally::of_texts("He reads.", "He reads.");
        assert_eq!((same.n, Measure::Bleu.of(same)), ([3, 2, 1, 0], 0.0), "no four words in a row");
        let both = Measure::Bleu.of(tally.plus(same));
        let expected = (1.0f64 - 10.0 / 9.0).exp() * (8.0 / 9.0 * 5.0 / 7.0 * 3.0 / 5.0 * 1.0 / 3.0f64).powf(0.25);
        assert!((both - expected).abs() < 1e-12);
        assert_eq!(Measure::Bleu.of(Tally::of_texts("", "He reads.")), 0.0);
        // A word counts at most as often as it is given.
        assert_eq!(Tally::of_texts("the the the", "the cat").right[0], 1);
        // As sacrebleu 2.6 has them.
        assert_eq!(words("J'ai «peut-être» lu, hein ?"), ["J'ai", "«peut-être»", "lu", ",", "hein", "?"]);
        let numbers = ["Er", "zahlt", "10,5", "%", "(", "um", "3", "-", "4", "Uhr", ")", ",", "z", ".", "B", "."];
        assert_eq!(words("Er zahlt 10,5 % (um 3-4 Uhr), z.B."), numbers);
    }

    #[test]
    fn bins_of_too_few_sentences_are_joined() {
        let lengths: Vec<usize> =
            [(3, 40), (6, 10), (9, 25), (30, 29)].into_iter().flat_map(|(l, n)| vec![l; n]).collect();
        let sizes = |edges: &[usize]| bins(&lengths, edges).iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(sizes(&EDGES), [40, 64]);
        assert_eq!(sizes(&[5, 8]), [40, 64]);
        assert_eq!(sizes(&[6, 9]), [40, 64]);
        assert_eq!(sizes(&[9]), [50, 54]);
        assert_eq!(sizes(&[]), [104]);
        assert!(bins(&[], &EDGES).is_empty());
        // An edge is the first length of its bin.
        assert_eq!(bins(&[4, 5].repeat(30), &[5])[1].len(), 30);
    }

    #[test]
    fn whole_sentences_are_drawn_so_tokens_of_one_are_not_independent() {
        // Half of the sentences are right in all tokens, half in none: as uncertain as coins, not as tokens.
        let graded: Vec<Graded> = (0..100).map(|nth| sentence(4, 25, &[25 * (nth % 2)])).collect();
        let found = curve(&graded, 1, &LengthOptions::default());
        let Estimate { value, low, high } = found.bins[0].quality[0];
        assert!((value - 0.5).abs() < 1e-12);
        // ±1.96 √(0.25 / 100) = ±0.098; of 2,500 independent tokens it would be ±0.0196.
        assert!((0.085..0.115).contains(&(high - value)) && (0.085..0.115).contains(&(value - low)), "{low} {high}");
        assert_eq!(found, curve(&graded, 1, &LengthOptions::default()), "equal seeds give equal intervals");
        assert_eq!(found.slope, None);
    }

    #[test]
    fn a_gap_that_grows_with_length_has_a_slope() {
        // The second model loses a token more for every word; both lose in the same hard sentences.
        let graded: Vec<Graded> = (0..400)
            .map(|nth| {
                let (length, hard) = (4 + 4 * (nth % 5), nth % 3);
                sentence(length, 40, &[36 - hard, 36 - hard - length])
            })
            .collect();
        let found = curve(&graded, 2, &LengthOptions::default());
        assert_eq!(
            found.bins.iter().map(|bin| (bin.least, bin.most)).collect::<Vec<_>>(),
            [(4, 4), (8, 8), (12, 12), (16, 16), (20, 20)]
        );
        let slope = found.slope.unwrap();
        assert!((slope.value - 1.0 / 40.0).abs() < 1e-12 && slope.differs(), "{slope:?}");
        // Paired: what both lose is no uncertainty of their difference.
        assert!((slope.high - slope.low).abs() < 1e-12);
        let gaps: Vec<f64> = found.bins.iter().map(|bin| bin.difference.unwrap().value).collect();
        assert!(gaps.iter().zip([4.0, 8.0, 12.0, 16.0, 20.0]).all(|(gap, length)| (gap - length / 40.0).abs() < 1e-12));
    }
}
