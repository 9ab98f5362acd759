//! Whether the weights of one input follow from what its heads give on, and how its tokens mix.

use super::{LabError, LabRun, Method as _, Norms, Target, methods::without_bias, patterns::patterns};
use crate::{
    analysis::{
        debate::identifiability::{Identified, LayerIdentity, effective_share},
        explain::{effective::effective, report::Value},
    },
    capture::Matrix,
    random::SplitMix,
};

/// Measures the first stack of attention in input number `input` of its corpus.
///
/// # Errors
/// When values cannot be recorded, a layer has a sliding window, or a run fails.
pub fn identifiability(lab: &LabRun<'_>, input: usize, seed: u64) -> Result<Identified, LabError> {
    let plain = lab.plain()?;
    let stack = plain.model().stacks.first().ok_or_else(|| LabError::unsuited("the model has no attention"))?;
    let recorded = plain.stack(stack.kind).ok_or_else(|| LabError::unsuited("its attention was not recorded"))?;
    if stack.layers.iter().any(|layer| layer.window.is_some()) {
        let what = "some layers have a sliding window, for which effective attention is not implemented";
        return Err(LabError::unsuited(what));
    }
    let mixing = mixing(lab, stack.kind.name())?;
    let mut random = SplitMix::new(SplitMix::of_words([seed, input as u64]));
    let mut layers = Vec::with_capacity(stack.layers.len());
    let all = patterns(plain, stack)?;
    for (layer, pattern) in all.iter().enumerate() {
        lab.step(layer, all.len())?;
        let values = recorded.layers[layer].v().ok_or_else(|| LabError::unsuited("values were not recorded"))?;
        let bare = without_bias(values, lab.model.value_bias(stack.kind, layer)?.as_deref())?;
        let [n_heads, n_query, n_key] = pattern.shape();
        let group = (n_heads / bare.shape()[0].max(1)).max(1);
        let mut sums = [0.0f64; 4];
        let mut n = 0.0f64;
        for head in 0..n_heads {
            let (Some(weights), Some(values)) = (pattern.head(head), bare.head(head / group)) else { continue };
            let found = effective(&weights, &values, stack.causal)?;
            let chance = random_rows([n_query, n_key], stack.causal, &mut random)?;
            let of_chance = effective(&chance, &values, stack.causal)?;
            let told = found.identifiable.iter().filter(|told| **told).count();
            let one = [
                found.rank as f64,
                effective_share(found.pattern.as_slice(), weights.as_slice()),
                effective_share(of_chance.pattern.as_slice(), chance.as_slice()),
                told as f64 / n_query.max(1) as f64,
            ];
            sums.iter_mut().zip(one).for_each(|(sum, one)| *sum += one);
            n += 1.0;
        }
        let [rank, effective, by_chance, identifiable] = sums.map(|sum| (sum / n.max(1.0)) as f32);
        let [mixing, mixing_attention] = mixing.each_ref().map(|of| of.get(layer).copied().flatten());
        let width = bare.shape()[2];
        layers.push(LayerIdentity { rank, width, effective, by_chance, identifiable, mixing, mixing_attention });
    }
    Ok(Identified { input, n_tokens: plain.key_tokens(stack.kind).len(), layers })
}

/// Mean mixing ratio of each layer, with the residual stream and without; none where it is not defined.
fn mixing(lab: &LabRun<'_>, stack: &str) -> Result<[Vec<Option<f32>>; 2], LabError> {
    let report = match Norms.run(lab, Target::default()) {
        Ok(answer) => answer,
        Err(error) if error.is_cancelled() => return Err(error),
        // Such models have no map behind their heads.
        Err(LabError::Unsuited(_)) => return Ok([Vec::new(), Vec::new()]),
        Err(error) => return Err(error),
    };
    let of = |name: &str| {
        let value = match report.value(name) {
            Some(Value::Group(stacks)) => stacks.iter().find(|(name, _)| name == stack).map(|(_, value)| value),
            value => value,
        };
        let Some(Value::Layers(layers)) = value else { return Vec::new() };
        let mean = |layer: &Value| match layer {
            Value::Tokens { values, .. } if !values.is_empty() => {
                Some(values.iter().sum::<f32>() / values.len() as f32)
            }
            _ => None,
        };
        layers.iter().map(mean).collect()
    };
    Ok([of("mixing_ratio"), of("mixing_ratio_attention")])
}

/// Rows of weights of which all are equally probable, over what each query can see.
fn random_rows([n_query, n_key]: [usize; 2], causal: bool, random: &mut SplitMix) -> Result<Matrix, LabError> {
    let mut all = Vec::with_capacity(n_query * n_key);
    for query in 0..n_query {
        let n_visible = if causal { n_key.min(query + 1) } else { n_key };
        let sizes: Vec<f64> = (0..n_visible).map(|_| -(1.0 - random.unit()).ln()).collect();
        let sum: f64 = sizes.iter().sum();
        all.extend(sizes.iter().map(|size| (size / sum) as f32).chain(std::iter::repeat_n(0.0, n_key - n_visible)));
    }
    Matrix::new(all, [n_query, n_key]).map_err(|_| LabError::unsuited("there are no tokens"))
}
