//! Twins of a recurrent classifier whose states are kept apart while they are trained, one after the other.

use super::debate_twins::{
    Trainings, TwinOptions, TwinOrder, TwinState, check_batches, class_names, encoded, labels, measure, split,
};
use crate::{
    analysis::{
        debate::{
            diversity::{DiverseRow, DiverseText, DiverseTwin},
            twins::{COOLING, decision},
        },
        explain::{divergence::tvd, rank::kendall},
    },
    lab::LabError,
    model::{Control, Schedule, TwinMeasures, TwinPlan},
    random::SplitMix,
};

/// What was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct DiverseStudy {
    /// Places in the list of the texts that were measured.
    pub texts: Vec<usize>,
    /// Texts that cannot be measured, and why.
    pub left_out: Vec<(usize, String)>,
    pub n_trained: usize,
    /// The model, twins of other seeds, and those whose states are kept apart.
    pub rows: Vec<DiverseRow>,
}

/// Trains the twins that are asked for, where λ is the weight of conicity, and measures them on held-out texts, which are
/// drawn anew `samples` times for the intervals.
///
/// # Errors
/// When the model or the texts do not suit, a training fails, or somebody says stop.
pub fn run(order: TwinOrder<'_>, samples: usize, control: &Control<'_>) -> Result<DiverseStudy, LabError> {
    let TwinOrder { model, list, options, .. } = order;
    model.check_twins().map_err(LabError::unsuited)?;
    let mut state = TwinState::default();
    measure(order, &mut state, control)?;
    let twins = model.twins(&encoded(order, &state.texts)?)?;
    check_batches(&twins, &state.base)?;
    let labels = labels(list, &class_names(model, &state), options.label_column.as_deref())?;
    let (train, test) = split(state.base.len(), options);
    let wanted = wanted(options);
    let mut trainings = Trainings { control, done: 0, total: wanted.len() };
    let mut rows = Vec::with_capacity(wanted.len());
    for (twin, plan) in wanted {
        let (found, losses) = trainings.one(|control| twins.measured(plan, (&train, &test), control))?;
        let of = |found: &TwinMeasures| {
            let base = &state.base[found.text];
            let class = decision(&found.p);
            let doubles = |of: &[f32]| of.iter().map(|value| f64::from(*value)).collect::<Vec<f64>>();
            DiverseText {
                text: found.text,
                conicity: found.conicity.into(),
                tau: kendall(&doubles(&found.attention), &doubles(&found.importance)).map(|of| of.tau),
                permuted: found.permuted.into(),
                tvd: tvd(&doubles(&found.p), &doubles(&base.p)),
                agrees: class == decision(&base.p),
                right: labels[state.texts[found.text]].map(|label| label == class),
            }
        };
        rows.extend(DiverseRow::of(twin, losses, found.iter().map(of).collect(), (samples, options.seed)));
    }
    Ok(DiverseStudy { texts: state.texts, left_out: state.left_out, n_trained: train.len(), rows })
}

fn wanted(options: &TwinOptions) -> Vec<(DiverseTwin, Option<TwinPlan>)> {
    let TwinOptions { n_epochs, batch, learning_rate, .. } = *options;
    let plan = |conicity: f64, seed: u64| {
        let seed = SplitMix::of_words([options.seed, seed]);
        let schedule = Schedule { n_epochs, batch, learning_rate, cooling: COOLING, seed };
        Some(TwinPlan { is_uniform: false, lambda: 0.0, conicity, schedule })
    };
    let seeds = (0..options.n_seeds as u64).map(|seed| (DiverseTwin::Seed(seed), plan(0.0, seed)));
    let diverse = options.lambdas.iter().map(|lambda| (DiverseTwin::Diverse(*lambda), plan(*lambda, 0)));
    std::iter::once((DiverseTwin::Model, None)).chain(seeds).chain(diverse).collect()
}
