//! Features of a dictionary over a corpus, input after input.

use super::corpus::input_of;
use crate::{
    analysis::sae::{CorpusFeatures, MOST_BYTES, Sae},
    corpus::list::InputList,
    lab::rows_of,
    model::{Control, Logits, Model, ModelError, Preparation, Progress, RunPlan, Sites, Stage},
    text::{bytes_text, counted},
};

/// Runs the inputs that are missing and adds the features of their tokens; special tokens are left aside.
///
/// # Errors
/// When the model has no such site or layer, none of the inputs can be run, activations take too much memory, or `control`
/// says stop, after which it can be gone on.
pub fn go_on(
    found: &mut CorpusFeatures,
    (model, sae): (&Model, &Sae),
    (list, how): (&InputList, Preparation),
    control: &Control<'_>,
) -> Result<(), ModelError> {
    let failed = |summary: String| ModelError::Input { summary, details: String::new() };
    let kind = model.spec().stacks.first().map(|stack| stack.kind).unwrap_or_default();
    let plan = RunPlan { sites: Sites::of(&[sae.site]), logits: Logits::Skip, ..RunPlan::default() };
    let n = found.inputs.len();
    for nth in found.n_done..n {
        let go_on = |_: Progress| control(Progress { stage: Stage::Inputs, done: nth, total: n });
        let input = found.inputs[nth];
        let Some(item) = list.items.get(input) else { continue };
        let run = model.encode(&input_of(&item.content, how)).and_then(|input| model.forward(&input, &plan, &go_on));
        let capture = match run {
            Err(ModelError::Cancelled(stop)) => return Err(stop.into()),
            run => run,
        };
        found.n_done = nth + 1;
        let capture = match capture {
            Ok(capture) => capture,
            Err(error) => {
                found.left_out.push((input, error.to_string()));
                continue;
            }
        };
        let layers = capture.stack(kind).map_or(&[][..], |stack| &stack.layers);
        let rows = rows_of(sae, layers).map_err(|error| failed(error.to_string()))?;
        let tokens = capture.query_tokens(kind);
        let real = rows.iter().enumerate().filter(|(at, _)| tokens.get(*at).is_some_and(|token| !token.special));
        let features: Vec<_> = model.engine().install(|| real.map(|(at, row)| (at, sae.features(row))).collect());
        found.add(input, tokens, &features);
        if found.activations.n_bytes() > MOST_BYTES {
            return Err(failed(format!(
                "activations of the first {} take {} already, which is the most: read fewer inputs",
                counted(nth + 1, "input"),
                bytes_text(MOST_BYTES as u64)
            )));
        }
    }
    control(Progress { stage: Stage::Inputs, done: n, total: n })?;
    if found.counts.n_tokens == 0 {
        let why = found.left_out.first().map_or_else(|| "there are none".to_owned(), |(_, why)| why.clone());
        return Err(failed(format!("none of the texts can be run: {why}")));
    }
    Ok(())
}
