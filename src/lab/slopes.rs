//! Gradients of an output, by its input or by patterns.

use std::borrow::Cow;

use super::{
    Bench, LabError, Of, Target,
    depends::{by_stack, of_stack, pattern_gradients, patterns},
};
use crate::{
    analysis::explain::{
        gradients as sums,
        report::{Method, Report, Value},
    },
    capture::{Matrix, PerHead},
    ids::Side,
    model::{Edit, Logits, Site, Sites, Taps},
};

/// Gradients of the target by input embeddings or by patterns.
pub fn gradients(
    bench: &Bench<'_>,
    of: Of,
    times_input: bool,
    steps: Option<usize>,
    target: Target,
) -> Result<Report, LabError> {
    let aim = target.aim(bench)?;
    let mut report = Report::new(Method::Gradients);
    report.parameters = aim.parameters(bench);
    if of == Of::Pattern {
        if steps.is_some() {
            return Err(LabError::unsuited("integrated gradients need input embeddings"));
        }
        let capture = bench.plain()?;
        let gradients = pattern_gradients(bench, &aim)?;
        let mut stacks = Vec::new();
        for stack in &capture.model().stacks {
            let side = (stack.kind.query_side(), stack.kind.key_side());
            let patterns = patterns(capture, stack)?;
            let layer = |(pattern, gradient): (&PerHead, PerHead)| {
                let product =
                    || pattern.as_slice().iter().zip(gradient.as_slice()).map(|(a, g)| a * g).collect::<Vec<_>>();
                let values = if times_input { PerHead::new(product(), gradient.shape()).ok() } else { Some(gradient) };
                values.map(|values| Value::heads(side.0, side.1, values))
            };
            let layers = patterns.iter().zip(of_stack(&gradients, stack.kind)).filter_map(layer).collect();
            stacks.push((Cow::Borrowed(stack.kind.name()), Value::Layers(layers)));
        }
        // What stands beside other methods is the row that is read, of the last layer.
        let mut scores = Vec::new();
        for (stack, (_, layers)) in capture.model().stacks.iter().zip(&stacks) {
            let last = match layers {
                Value::Layers(layers) if stack.kind.query_side() == aim.side => layers.last(),
                _ => None,
            };
            if let Some(mean) =
                last.and_then(|layer| if let Value::Heads { values, .. } = layer { values.mean() } else { None })
            {
                let key = stack.kind.key_side();
                scores.push((Cow::Borrowed(key.name()), Value::tokens(key, aim.reads.row_of(&mean))));
            }
        }
        report.values = by_stack("pattern", stacks);
        if !scores.is_empty() {
            report.values.extend(by_stack("scores", scores));
            report.notes.push("per token: the row that is read, mean over the heads of the last layer".to_owned());
        }
        return Ok(report.with_value("value", f64::from(gradients.value)));
    }
    let taps = Taps::of(&[Site::Embed]);
    let at = |edits: Vec<Edit>| {
        let mut plan = bench.plan(Sites::of(&[Site::Embed]), Logits::Skip);
        plan.edits.extend(edits);
        bench.model.gradients(bench.input, &plan, aim.objective(), taps, bench.control)
    };
    let (capture, gradients) = at(Vec::new())?;
    let value = f64::from(gradients.value);
    let sides: Vec<Side> = gradients.embeds.keys().copied().collect();
    let inputs: Vec<Matrix> = sides.iter().filter_map(|side| capture.embed(*side).cloned()).collect();
    let grads: Vec<Matrix> = sides.iter().filter_map(|side| gradients.embeds.get(side).cloned()).collect();
    if inputs.is_empty() || grads.len() != inputs.len() {
        return Err(LabError::unsuited("the input embeddings of this model cannot be recorded"));
    }
    let named = |values: Vec<(Side, Vec<f32>)>, name: &'static str| {
        let values = values.into_iter().map(|(side, values)| (Cow::Borrowed(side.name()), Value::tokens(side, values)));
        by_stack(name, values.collect())
    };
    let lengths = sides.iter().zip(&grads).map(|(side, grad)| (*side, sums::lengths(grad))).collect();
    let Some(n_steps) = steps else {
        let of_side = |((side, grad), input): ((&Side, &Matrix), &Matrix)| -> Result<_, LabError> {
            Ok((*side, sums::times_input(grad, input)?))
        };
        let products = sides.iter().zip(&grads).zip(&inputs).map(of_side).collect::<Result<Vec<_>, _>>()?;
        report.values = if times_input { named(products, "scores") } else { named(lengths, "scores") };
        return Ok(report.with_value("value", value));
    };
    // Nothing is the embedding of zeros: all sequences go there at once.
    let zeros = inputs.iter().map(|input| Matrix::new(vec![0.0; input.as_slice().len()], input.shape()));
    let zeros = zeros.collect::<Result<Vec<_>, _>>().map_err(|_| LabError::unsuited("an embedding is empty"))?;
    let on_path = |share: f64| -> Result<Vec<Edit>, LabError> {
        let of_side = |((side, input), zero): ((&Side, &Matrix), &Matrix)| -> Result<Edit, LabError> {
            let value = sums::on_path(input, zero, share)?;
            let positions = (0..value.n_rows()).collect();
            Ok(Edit::Patch { site: Site::Embed, stack: side.stack(), layer: 0, head: None, positions, value })
        };
        sides.iter().zip(&inputs).zip(&zeros).map(of_side).collect()
    };
    let mut along: Vec<Vec<Matrix>> = vec![Vec::new(); sides.len()];
    for (step, share) in sums::path(n_steps).enumerate() {
        bench.step(step, n_steps)?;
        let (_, found) = at(on_path(share)?)?;
        for (along, side) in along.iter_mut().zip(&sides) {
            along.extend(found.embeds.get(side).cloned());
        }
    }
    let nothing = f64::from(at(on_path(0.0)?)?.1.value);
    let (mut found, mut gained) = (Vec::new(), 0.0);
    for ((side, along), (input, zero)) in sides.iter().zip(&along).zip(inputs.iter().zip(&zeros)) {
        let tokens = sums::integrated(along, input, zero, [nothing, value])?.tokens;
        gained += tokens.iter().map(|value| f64::from(*value)).sum::<f64>();
        found.push((*side, tokens));
    }
    report.values = named(found, "scores");
    Ok(report.with_value("value", value).with_value("baseline", nothing).with_value("gap", gained - (value - nothing)))
}
