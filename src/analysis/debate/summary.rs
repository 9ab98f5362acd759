//! What the inputs come to: histograms, means with intervals, quartiles.

use super::{DebateTest, Erased, Instance, Labelled, RankAgreement};
use crate::{
    analysis::bootstrap::{Estimate, quantile},
    random::SplitMix,
};

/// Bins of τ, over −1 to 1.
pub const AGREEMENT_BINS: usize = 30;
/// Bins of distances, over 0 to ln 2.
pub const FAR_BINS: usize = 40;
/// Bins of the largest weight, over 0 to 1.
const LARGEST_BINS: usize = 4;
/// Below this a correlation is significant, as published.
const SIGNIFICANT: f64 = 0.05;
/// Histograms are of each predicted class where there are fewer classes, as published.
const MANY_CLASSES: usize = 4;

/// How inputs are summed up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SummaryOptions {
    /// How much the output may change under other weights.
    pub epsilon: f64,
    /// How often the inputs are drawn anew for intervals.
    pub samples: usize,
    pub seed: u64,
}

impl Default for SummaryOptions {
    fn default() -> Self {
        Self { epsilon: 0.01, samples: 1000, seed: 0 }
    }
}

/// All tests over a data set; `None` for those that were not made.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DebateSummary {
    pub n_inputs: usize,
    /// Classes with the number of their inputs, by name.
    pub classes: Vec<(String, usize)>,
    /// Whose classes these are; `None` of predicted ones.
    pub labelled: Option<Labelled>,
    pub epsilon: f64,
    pub gradient: Option<AgreementSummary>,
    pub leave_one_out: Option<AgreementSummary>,
    pub both: Option<AgreementSummary>,
    pub permutation: Option<ByLargest>,
    pub adversary: Option<AdversarySummary>,
    pub erasure: Option<Vec<ErasureSummary>>,
}

/// One input in a chart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InputPoint {
    /// Its place in the corpus, from 0.
    pub input: usize,
    pub at: [f64; 2],
}

/// Shares of inputs by bin, of one class or of all.
#[derive(Clone, Debug, PartialEq)]
pub struct Histogram {
    /// Name of the class; empty of all together.
    pub class: String,
    pub n: usize,
    /// They sum to 1.
    pub shares: Vec<f64>,
    pub mean: f64,
    /// Standard deviation over inputs.
    pub std: f64,
    /// Share of significant values; `None` of what has no p-value.
    pub significant: Option<f64>,
}

/// τ of two measures over all inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct AgreementSummary {
    pub mean: Estimate,
    pub std: f64,
    pub significant: f64,
    pub n: usize,
    /// Inputs of which a measure is the same for all tokens, so that there is no τ.
    pub n_constant: usize,
    pub by_class: Vec<Histogram>,
    /// Mean τ of random weights; `None` where neither side is attention.
    pub by_chance: Option<f64>,
}

/// Five numbers of a box, with the mean.
#[derive(Clone, Debug, PartialEq)]
pub struct BoxOf {
    /// Least, lower quartile, median, upper quartile, largest.
    pub five: [f64; 5],
    pub n: usize,
    pub mean: Estimate,
}

/// Values by the largest weight: a box for each quarter of 0 to 1, `None` of an empty one.
#[derive(Clone, Debug, PartialEq)]
pub struct ByLargest {
    pub boxes: [Option<BoxOf>; LARGEST_BINS],
    /// Of all inputs.
    pub all: BoxOf,
    /// Largest weight and value of each input.
    pub points: Vec<InputPoint>,
}

/// Distances of other weights with the same output.
#[derive(Clone, Debug, PartialEq)]
pub struct AdversarySummary {
    pub by_class: Vec<Histogram>,
    pub by_largest: ByLargest,
    /// Mean of the largest distance that the rows allow, whatever the output does.
    pub reachable: f64,
    /// Mean distance of two random rows.
    pub by_chance: f64,
    /// Share of the candidates that leave the output.
    pub kept: f64,
    pub n_steps: usize,
    /// Tokens and distance of each input.
    pub by_length: Vec<InputPoint>,
    /// Mean distance by thirds of the inputs in order of length, at the mean number of tokens.
    pub of_lengths: Vec<(f64, Estimate)>,
}

/// One order of erasing.
#[derive(Clone, Debug, PartialEq)]
pub struct ErasureSummary {
    pub name: &'static str,
    pub title: &'static str,
    /// Of the inputs whose decision flips; `None` where none does.
    pub flips: Option<BoxOf>,
    pub n: usize,
    pub n_never: usize,
}

/// The bin of a largest weight, as published: edges at quarters of 0 to 1 + 1e-4, the upper one in the bin.
pub fn largest_bin(largest: f64) -> usize {
    let width = (1.0 + 1e-4) / LARGEST_BINS as f64;
    ((largest / width).ceil() as usize).clamp(1, LARGEST_BINS) - 1
}

/// Sums up.
pub fn summary(instances: &[Instance], options: &SummaryOptions) -> DebateSummary {
    let classes = classes(instances);
    let of = |test: DebateTest| TestedInputs { instances, classes: &classes, how: Draws::of(options, test) };
    let correlation = of(DebateTest::Correlation);
    let gradient = correlation.agreement(|c| c.gradient, |c| Some(c.by_chance[0]));
    let leave_one_out = correlation.agreement(|c| c.leave_one_out, |c| Some(c.by_chance[1]));
    let both = correlation.agreement(|c| c.both, |_| None);
    let permutation = of(DebateTest::Permutation).by_largest(|instance| instance.permutation.map(f64::from));
    DebateSummary {
        n_inputs: instances.len(),
        epsilon: options.epsilon,
        gradient,
        leave_one_out,
        both,
        permutation,
        adversary: of(DebateTest::Adversary).adversary(options.epsilon),
        erasure: of(DebateTest::Erasure).erasure(),
        labelled: None,
        classes,
    }
}

fn classes(instances: &[Instance]) -> Vec<(String, usize)> {
    let mut counts = std::collections::BTreeMap::<&str, usize>::new();
    for instance in instances {
        *counts.entry(&instance.class).or_default() += 1;
    }
    counts.into_iter().map(|(class, n)| (class.to_owned(), n)).collect()
}

/// How inputs are drawn anew for one test.
#[derive(Clone, Copy)]
struct Draws {
    samples: usize,
    seed: u64,
}

impl Draws {
    fn of(options: &SummaryOptions, test: DebateTest) -> Self {
        Self { samples: options.samples, seed: SplitMix::of_words([options.seed, test as u64]) }
    }

    fn mean(self, values: &[f64]) -> Option<Estimate> {
        Estimate::of_mean(values, self.samples, self.seed)
    }

    fn boxed(self, mut values: Vec<f64>) -> Option<BoxOf> {
        let mean = self.mean(&values)?;
        values.sort_by(f64::total_cmp);
        Some(BoxOf { five: [0.0, 0.25, 0.5, 0.75, 1.0].map(|part| quantile(&values, part)), n: values.len(), mean })
    }
}

/// The inputs as one test sees them.
struct TestedInputs<'a> {
    instances: &'a [Instance],
    classes: &'a [(String, usize)],
    how: Draws,
}

impl TestedInputs<'_> {
    fn agreement(
        &self,
        pick: impl Fn(&super::Correlations) -> Option<RankAgreement>,
        by_chance: impl Fn(&super::Correlations) -> Option<Option<f32>>,
    ) -> Option<AgreementSummary> {
        let measured = self.instances.iter().filter_map(|instance| Some((instance, instance.correlation.as_ref()?)));
        let measured: Vec<_> = measured.collect();
        let found = measured.iter().filter_map(|(instance, all)| Some((*instance, pick(all)?)));
        let found: Vec<(&Instance, RankAgreement)> = found.collect();
        let taus: Vec<f64> = found.iter().map(|(_, agreement)| f64::from(agreement.tau)).collect();
        let chance: Vec<f64> = measured.iter().filter_map(|(_, all)| by_chance(all)?).map(f64::from).collect();
        let values = found.iter().map(|(of, agreement)| (*of, f64::from(agreement.tau), Some(f64::from(agreement.p))));
        Some(AgreementSummary {
            mean: self.how.mean(&taus)?,
            std: spread(&taus).1,
            significant: significant(found.iter().map(|(_, agreement)| f64::from(agreement.p))),
            n: found.len(),
            n_constant: measured.len() - found.len(),
            by_class: self.histograms(&values.collect::<Vec<_>>(), (-1.0, 1.0), AGREEMENT_BINS),
            by_chance: (!chance.is_empty()).then(|| spread(&chance).0),
        })
    }

    /// A histogram of each class that has inputs; one of all where there are many classes.
    fn histograms(&self, values: &[(&Instance, f64, Option<f64>)], range: (f64, f64), n_bins: usize) -> Vec<Histogram> {
        let names: Vec<&str> = match self.classes {
            few if few.len() < MANY_CLASSES => few.iter().map(|(name, _)| name.as_str()).collect(),
            _ => vec![""],
        };
        let of_class = |class: &str| {
            let is_in = |of: &Instance| class.is_empty() || of.class == class;
            let own: Vec<&(&Instance, f64, Option<f64>)> = values.iter().filter(|(of, ..)| is_in(of)).collect();
            let numbers: Vec<f64> = own.iter().map(|(_, value, _)| *value).collect();
            let (mean, std) = spread(&numbers);
            let p: Option<Vec<f64>> = own.iter().map(|(.., p)| *p).collect();
            (!own.is_empty()).then(|| Histogram {
                class: class.to_owned(),
                n: own.len(),
                shares: shares(&numbers, range, n_bins),
                mean,
                std,
                significant: p.map(|p| significant(p.into_iter())),
            })
        };
        names.into_iter().filter_map(of_class).collect()
    }

    fn by_largest(&self, value: impl Fn(&Instance) -> Option<f64>) -> Option<ByLargest> {
        let point = |of: &Instance| Some(InputPoint { input: of.input, at: [f64::from(of.largest), value(of)?] });
        let points: Vec<InputPoint> = self.instances.iter().filter_map(point).collect();
        let boxes = std::array::from_fn(|bin| {
            let own = points.iter().filter(|point| largest_bin(point.at[0]) == bin).map(|point| point.at[1]);
            self.how.boxed(own.collect())
        });
        let all = self.how.boxed(points.iter().map(|point| point.at[1]).collect())?;
        Some(ByLargest { boxes, all, points })
    }

    fn adversary(&self, epsilon: f64) -> Option<AdversarySummary> {
        let measured = self.instances.iter().filter_map(|of| Some((of, of.adversary.as_ref()?)));
        let measured: Vec<_> = measured.collect();
        let values: Vec<_> = measured.iter().map(|(of, all)| (*of, all.farthest(epsilon), None)).collect();
        let by_largest = self.by_largest(|of| of.adversary.as_ref().map(|all| all.farthest(epsilon)))?;
        let point = |(of, far, _): &(&Instance, f64, Option<f64>)| InputPoint {
            input: of.input,
            at: [of.n_tokens as f64, *far],
        };
        let mut by_length: Vec<InputPoint> = values.iter().map(point).collect();
        by_length.sort_by(|a, b| a.at[0].total_cmp(&b.at[0]));
        let of_part = |part: &[InputPoint]| {
            let [lengths, far] = [0, 1].map(|axis| part.iter().map(|point| point.at[axis]).collect::<Vec<f64>>());
            Some((spread(&lengths).0, self.how.mean(&far)?))
        };
        let of_lengths = by_length.chunks(by_length.len().div_ceil(3).max(1)).filter_map(of_part).collect();
        let mean = |of: &dyn Fn(&super::Candidates) -> f32| {
            spread(&measured.iter().map(|(_, all)| f64::from(of(all))).collect::<Vec<f64>>()).0
        };
        let candidates = || measured.iter().flat_map(|(_, all)| &all.found);
        let n_kept = candidates().filter(|[_, change]| f64::from(*change) <= epsilon).count();
        Some(AdversarySummary {
            by_class: self.histograms(&values, (0.0, std::f64::consts::LN_2), FAR_BINS),
            by_largest,
            reachable: mean(&|all| all.reachable),
            by_chance: mean(&|all| all.by_chance),
            kept: n_kept as f64 / candidates().count().max(1) as f64,
            n_steps: measured.iter().map(|(_, all)| all.n_steps).max().unwrap_or(0),
            by_length,
            of_lengths,
        })
    }

    fn erasure(&self) -> Option<Vec<ErasureSummary>> {
        let measured: Vec<&Erased> = self.instances.iter().filter_map(|of| of.erasure.as_ref()).collect();
        let single = |share: Option<f32>| share.map(f64::from);
        let order = |name, title, of: &dyn Fn(&Erased) -> Option<f64>| {
            let flips: Vec<f64> = measured.iter().filter_map(|all| of(all)).collect();
            let n_never = measured.len() - flips.len();
            ErasureSummary { name, title, flips: self.how.boxed(flips), n: measured.len(), n_never }
        };
        (!measured.is_empty()).then(|| {
            vec![
                order("attention", "the largest weight", &|all| single(all.attention)),
                order("gradient", "the gradient", &|all| single(all.gradient)),
                order("attention_gradient", "weight × gradient", &|all| single(all.product)),
                order("random", "chance", &|all| all.random_mean()),
            ]
        })
    }
}

/// Mean and standard deviation; NaN of nothing.
fn spread(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n).sqrt())
}

fn significant(p: impl Iterator<Item = f64>) -> f64 {
    let (mut n, mut below) = (0usize, 0usize);
    for p in p {
        (n, below) = (n + 1, below + usize::from(p <= SIGNIFICANT));
    }
    below as f64 / n as f64
}

/// Shares of values by bins of equal width; the last has its upper edge, and values beyond an edge are in the bin there.
fn shares(values: &[f64], (from, to): (f64, f64), n_bins: usize) -> Vec<f64> {
    let mut counts = vec![0.0; n_bins];
    for value in values {
        let part = (value - from) / (to - from) * n_bins as f64;
        counts[(part.max(0.0) as usize).min(n_bins - 1)] += 1.0 / values.len() as f64;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::debate::{Candidates, Correlations};

    fn instance(nth: usize, largest: f32) -> Instance {
        Instance {
            input: nth,
            class: ["negative", "positive"][nth % 2].to_owned(),
            probability: 0.9,
            n_tokens: 5 + nth,
            largest,
            correlation: None,
            permutation: None,
            adversary: None,
            erasure: None,
        }
    }

    fn near(found: f64, expected: f64) {
        assert!((found - expected).abs() < 1e-6, "{found} against {expected}");
    }

    #[test]
    fn medians_of_permutations_are_binned_by_the_largest_weight() {
        let largest = [0.1, 0.24, 0.26, 0.6, 0.99, 0.3];
        let medians = [0.01, 0.02, 0.05, 0.2, 0.4, 0.07];
        let measured = largest.iter().zip(medians).enumerate();
        let instances: Vec<Instance> = measured
            .map(|(nth, (largest, median))| Instance { permutation: Some(median), ..instance(nth, *largest) })
            .collect();
        let found = summary(&instances, &SummaryOptions::default()).permutation.unwrap();
        let expected = [0.015, 0.06, 0.2, 0.4];
        found.boxes.iter().zip(expected).for_each(|(found, expected)| near(found.as_ref().unwrap().five[2], expected));
        assert_eq!([0.0, 0.25, 0.250_1, 1.0].map(largest_bin), [0, 0, 1, 3]);
    }

    #[test]
    fn the_farthest_weights_leave_the_output() {
        let candidates = Candidates {
            found: vec![[0.0, 0.0], [0.21, 0.004], [0.44, 0.03], [0.66, 0.08]],
            reachable: 0.69,
            by_chance: 0.2,
            n_steps: 500,
        };
        near(candidates.farthest(0.01), f64::from(0.21f32));
        near(candidates.farthest(0.05), f64::from(0.44f32));
        let one = Instance { adversary: Some(candidates), ..instance(0, 0.4) };
        let found = summary(&[one], &SummaryOptions::default()).adversary.unwrap();
        near(found.kept, 0.5);
        near(found.by_class[0].shares.iter().sum(), 1.0);
        // 0.21 of ln 2, in 40 bins.
        near(found.by_class[0].shares[12], 1.0);
    }

    #[test]
    fn decisions_that_never_flip_are_counted_beside_the_box() {
        let shares = [Some(0.1), Some(0.3), Some(0.3), Some(1.0), None, Some(0.2)];
        let erased = |attention| Erased { attention, gradient: None, product: None, random: vec![None, Some(0.5)] };
        let instances = shares.map(|share| Instance { erasure: Some(erased(share)), ..instance(0, 0.5) });
        let found = summary(&instances, &SummaryOptions::default()).erasure.unwrap();
        near(found[0].flips.as_ref().unwrap().five[2], f64::from(0.3f32));
        assert_eq!((found[0].n_never, found[1].n_never, &found[1].flips), (1, 6, &None));
        near(found[3].flips.as_ref().unwrap().mean.value, 0.5);
    }

    #[test]
    fn constant_sides_are_counted_and_classes_have_histograms_of_their_own() {
        let agreement = |tau: f32| Some(RankAgreement { tau, p: if tau > 0.5 { 0.01 } else { 0.3 } });
        let correlations = |gradient| Correlations {
            gradient,
            leave_one_out: None,
            both: agreement(1.0),
            by_chance: [Some(0.1), None],
        };
        let taus = [agreement(0.8), agreement(-1.0), None, agreement(1.0)];
        let measured = taus.into_iter().enumerate();
        let instances: Vec<Instance> = measured
            .map(|(nth, tau)| Instance { correlation: Some(correlations(tau)), ..instance(nth, 0.5) })
            .collect();
        let found = summary(&instances, &SummaryOptions::default());
        assert_eq!(found.leave_one_out, None);
        let gradient = found.gradient.unwrap();
        assert_eq!((gradient.n, gradient.n_constant), (3, 1));
        near(gradient.mean.value, f64::from(0.8f32) / 3.0);
        near(gradient.significant, 2.0 / 3.0);
        assert_eq!(gradient.by_chance.map(|tau| tau as f32), Some(0.1));
        let [negative, positive] = &gradient.by_class[..] else { panic!("{gradient:?}") };
        assert_eq!((negative.n, positive.n, positive.shares[0], positive.shares[29]), (1, 2, 0.5, 0.5));
        assert_eq!(negative.shares[27], 1.0);
    }
}
