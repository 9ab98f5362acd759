//! What the debate over a data set measures of one input, with the computation of the method for single predictions.

use super::{
    Aim, LabError, LabRun, Target,
    aim::{one_number, probabilities},
    methods::{absence, importance},
    read_row::{ReadRow, RowPlace},
};
use crate::{
    analysis::{
        debate::{
            Candidates, Correlations, DebateOptions, DebateTest, Erased, Instance, LEAST_TOKENS, RankAgreement,
            twins::Reading,
        },
        explain::{
            adversary::AdversaryOptions,
            divergence::{jsd, reachable_jsd, tvd},
            erasure::{Order, random_orders},
            permutation::median,
            rank::{descending, kendall},
        },
    },
    model::Objective,
    outputs::OutputKind,
    random::SplitMix,
};

/// Random orders of erasure.
const N_RANDOM: usize = 5;
/// Outcomes whose gradients are summed up: the most probable.
const MOST_OUTCOMES: usize = 8;
/// Steps of the search as published, where no step needs a run.
const STEPS: usize = 500;
/// Steps where each takes runs and backward passes.
const FEW_STEPS: usize = 100;

/// The tests of one input, which is number `input` of its corpus.
///
/// # Errors
/// When the model is no classifier whose output reads one row of attention, the input is too short, or a run fails.
pub fn debate(lab: &LabRun<'_>, input: usize, options: &DebateOptions) -> Result<Instance, LabError> {
    let (aim, row) = classifier_row(lab, options)?;
    let plain = lab.plain()?;
    let n_tokens = row.real.len();
    if n_tokens < LEAST_TOKENS {
        return Err(LabError::unsuited(format!("it has fewer than {LEAST_TOKENS} tokens to compare")));
    }
    let row = if options.tests == [DebateTest::Correlation] { row } else { row.mapped()? };
    let weights = row.weights();
    let mean = row.mean(&weights);
    let by_position = |values: &[f64]| {
        let mut all = vec![0.0; plain.key_tokens(row.heads[0].stack).len()];
        row.keys.iter().zip(values).for_each(|(key, value)| all[*key] = *value);
        all
    };
    let of_words = |all: &[f64]| row.real.iter().map(|key| all[*key]).collect::<Vec<f64>>();
    let attention = of_words(&by_position(&mean));
    let outputs = row.probabilities(std::slice::from_ref(&weights))?;
    let p = &outputs[0];
    let decision = descending(p)[0];
    let drawn = |what: u64| SplitMix::of_words([options.seed, input as u64, what]);
    let has = |test: DebateTest| options.tests.contains(&test);
    let mut found = Instance {
        input,
        class: lab.model.outcome_label(aim.id),
        probability: p
            .get(if aim.outputs == OutputKind::Labels { 0 } else { decision })
            .map_or(f32::NAN, |p| *p as f32),
        n_tokens,
        largest: attention.iter().copied().fold(0.0, f64::max) as f32,
        correlation: None,
        permutation: None,
        adversary: None,
        erasure: None,
    };
    if has(DebateTest::Correlation) {
        let side = row.heads[0].stack.key_side();
        let slopes = importance(lab, side, objectives(aim, p))?;
        let slopes =
            slopes.ok_or_else(|| LabError::unsuited("the input embeddings of this model cannot be recorded"))?;
        let (_, absent) = absence(lab, plain, side, Target::default())?;
        let chance = random_row(n_tokens, &mut SplitMix::new(drawn(0)));
        found.correlation = Some(correlations(&attention, &of_words(&slopes), &of_words(&absent), &chance));
    }
    if has(DebateTest::Permutation) {
        let changed = row.probabilities(&row.permutations(options.n_permutations, drawn(1))?)?;
        let changes: Vec<f64> = changed.iter().map(|changed| tvd(p, changed)).collect();
        found.permutation = median(&changes).map(|median| median as f32);
    }
    if has(DebateTest::Adversary) {
        let n_steps = options.n_steps.unwrap_or(if row.is_mapped() { STEPS } else { FEW_STEPS });
        let search = AdversaryOptions { n_steps, seed: drawn(2), ..AdversaryOptions::default() };
        let adversary = row.adversary(p, search)?.map_err(LabError::unsuited)?;
        let far = adversary.candidates.iter().map(|of| [of.jsd as f32, tvd(&of.p, p) as f32]);
        let mut random = SplitMix::new(drawn(3));
        let [one, other] = [0, 1].map(|_| random_row(mean.len(), &mut random));
        found.adversary = Some(Candidates {
            found: far.collect(),
            reachable: reachable_jsd(&mean) as f32,
            by_chance: jsd(&one, &other) as f32,
            n_steps,
        });
    }
    if has(DebateTest::Erasure) {
        let gradient = row.decision_gradient(decision)?;
        let until = |order: &[usize]| Ok::<_, LabError>(row.flips_at(order, decision)?.map(|share| share as f32));
        let by = |order: Order| until(&order.of(&mean, &gradient));
        let orders = random_orders(row.keys.len(), N_RANDOM, drawn(4));
        found.erasure = Some(Erased {
            attention: by(Order::Attention)?,
            gradient: by(Order::Gradient)?,
            product: by(Order::Product)?,
            random: orders.iter().map(|order| until(order)).collect::<Result<_, LabError>>()?,
        });
    }
    Ok(found)
}

/// What a classifier says of one input and how the row that it reads attends to words; the same with even weights over
/// words in place of the row, and with random ones. The input is number `input` of its corpus.
///
/// # Errors
/// As [`debate`], and when the model has labels that hold side by side.
pub fn debate_readings(lab: &LabRun<'_>, input: usize, options: &DebateOptions) -> Result<[Reading; 3], LabError> {
    let (aim, row) = classifier_row(lab, options)?;
    if aim.outputs == OutputKind::Labels {
        return Err(LabError::unsuited("labels that hold side by side are no classes of which each text has one"));
    }
    let own = row.weights();
    let n_columns = own.first().map_or(0, Vec::len);
    let n_real = row.real.len();
    let rows_of = |weights: &[f64]| {
        let mut all = vec![0.0; n_columns];
        row.real.iter().zip(weights).for_each(|(key, weight)| all[*key] = *weight);
        vec![all; own.len()]
    };
    let even = vec![1.0 / n_real as f64; n_real];
    let random = random_row(n_real, &mut SplitMix::new(SplitMix::of_words([options.seed, input as u64, 5])));
    let outputs = row.probabilities(&[own.clone(), rows_of(&even), rows_of(&random)])?;
    let mean: Vec<f64> = {
        let by_key = row.mean(&own);
        let of = |key: &usize| row.keys.iter().position(|other| other == key).map_or(0.0, |nth| by_key[nth]);
        row.real.iter().map(of).collect()
    };
    let singles = |values: &[f64]| values.iter().map(|value| *value as f32).collect::<Vec<f32>>();
    let mut outputs = outputs.into_iter();
    Ok([mean, even, random]
        .map(|attention| Reading { p: singles(&outputs.next().unwrap_or_default()), attention: singles(&attention) }))
}

/// The row that the output of a classifier reads.
fn classifier_row<'a>(lab: &'a LabRun<'a>, options: &DebateOptions) -> Result<(Aim, ReadRow<'a>), LabError> {
    if !lab.model.reads_whole() {
        let what = "the model predicts tokens, one at each position: the debate is about classifiers, which say one thing \
            about a text";
        return Err(LabError::unsuited(what));
    }
    let aim = Target::default().aim(lab)?;
    let plain = lab.plain()?;
    one_number(plain)?;
    probabilities(plain, "outputs are compared by their probabilities")?;
    let place = RowPlace { stack: None, layer: options.layer, head: options.head };
    Ok((aim, ReadRow::of(lab, aim, place)?))
}

/// What is differentiated for the importance of words: every probability. Of two outcomes one is enough, as both change
/// alike; of many, the most probable ones.
fn objectives(aim: Aim, p: &[f64]) -> Vec<(Objective, f64)> {
    let row = aim.row;
    if aim.outputs == OutputKind::Labels {
        return vec![(Objective::Logit { row, id: aim.id }, 1.0)];
    }
    if p.len() == 2 {
        return vec![(Objective::LogitDifference { row, id: 0, against: 1 }, 1.0)];
    }
    let most = descending(p).into_iter().take(MOST_OUTCOMES);
    most.map(|id| (Objective::LogProbability { of: vec![(row, id as u32)] }, p[id])).collect()
}

fn correlations(attention: &[f64], slopes: &[f64], absent: &[f64], chance: &[f64]) -> Correlations {
    let of = |a: &[f64], b: &[f64]| kendall(a, b).map(|it| RankAgreement { tau: it.tau as f32, p: it.p as f32 });
    Correlations {
        gradient: of(attention, slopes),
        leave_one_out: of(attention, absent),
        both: of(slopes, absent),
        by_chance: [slopes, absent].map(|of_words| of(chance, of_words).map(|it| it.tau)),
    }
}

/// Weights of which all are equally probable: Dirichlet with parameters of 1.
fn random_row(n: usize, random: &mut SplitMix) -> Vec<f64> {
    let sizes: Vec<f64> = (0..n).map(|_| -(1.0 - random.unit()).ln()).collect();
    let sum: f64 = sizes.iter().sum();
    sizes.iter().map(|size| size / sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worked_example_of_jain_and_wallace() {
        let alpha = [0.192_978, 0.429_481, 0.117_047, 0.260_493];
        let slopes = [0.039_516, 0.134_503, 0.026_505, 0.137_431];
        let absent = [0.032_850, 0.233_876, 0.021_040, 0.165_996];
        let found = correlations(&alpha, &slopes, &absent, &[0.25; 4]);
        let near = |found: Option<RankAgreement>, tau: f32, p: f32| {
            let found = found.unwrap();
            assert!((found.tau - tau).abs() < 1e-6 && (found.p - p).abs() < 1e-6, "{found:?}");
        };
        near(found.gradient, 0.666_667, 0.333_333);
        near(found.leave_one_out, 1.0, 0.083_333);
        near(found.both, 0.666_667, 0.333_333);
        assert_eq!(found.by_chance, [None, None], "a constant side has no order");
    }

    #[test]
    fn random_weights_have_no_order_in_common_with_anything() {
        let mut random = SplitMix::new(2);
        let fixed: Vec<f64> = (0..12).map(f64::from).collect();
        let taus = (0..2000).map(|_| kendall(&random_row(12, &mut random), &fixed).unwrap().tau);
        assert!((taus.sum::<f64>() / 2000.0).abs() < 0.02);
        assert!((random_row(5, &mut random).iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }
}
