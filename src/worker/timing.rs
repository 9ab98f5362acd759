//! Times of passes over inputs of several lengths.

use std::{iter, time::Instant};

use crate::{
    analysis::timing::{self, Measured, Timing},
    ids::Side,
    model::{Control, Encoded, Input, Model, ModelError, Progress, RunPlan, Stage},
    spec::Modality,
};

/// Tokens that are repeated where no text is read.
const N_FIXED: u32 = 64;

/// Measures a model at these lengths, with inputs that repeat the tokens of what it reads; `tell` hears what is there
/// after each length.
///
/// # Errors
/// When an input of this model cannot be made of tokens alone, a pass fails, or it was told to stop.
pub fn measure(
    (model, threads): (&Model, usize),
    input: Option<&Input>,
    lengths: &[usize],
    control: &Control<'_>,
    tell: &mut dyn FnMut(Timing),
) -> Result<Timing, ModelError> {
    let ids = ids(model, input);
    let timing = |measured: &[Measured]| {
        let spec = model.spec();
        Timing { model: spec.name.clone(), n_params: spec.n_params, threads, measured: measured.to_vec() }
    };
    let mut secs = |n: usize| -> Result<f64, ModelError> {
        let done = lengths.iter().position(|length| *length == n).unwrap_or(0);
        let go_on = |_: Progress| control(Progress { stage: Stage::Time, done, total: lengths.len() });
        let encoded = encoded(model, &ids, n)?;
        let started = Instant::now();
        model.forward(&encoded, &RunPlan::silent(), &go_on)?;
        Ok(started.elapsed().as_secs_f64())
    };
    let measured = timing::measure(lengths, &mut secs, &mut |so_far| tell(timing(so_far)))?;
    Ok(timing(&measured))
}

/// The tokens of a text without special ones; fixed tokens where there are none.
fn ids(model: &Model, input: Option<&Input>) -> Vec<u32> {
    let encoded: Option<Encoded> = input.and_then(|input| model.encode(input).ok());
    let text = encoded.iter().flat_map(|encoded| [Side::Only, Side::Encoder].map(|side| encoded.tokens.get(&side)));
    let ids: Vec<u32> = text.flatten().flatten().filter(|token| !token.special).filter_map(|token| token.id).collect();
    if !ids.is_empty() {
        return ids;
    }
    let n_vocab = match &model.spec().modality {
        Modality::Text(text) => text.n_vocab,
        Modality::TextToText { source, target } => source.n_vocab.min(target.n_vocab),
        Modality::Image(_) | Modality::ImageToText { .. } | Modality::ImageAndText { .. } => 1,
    };
    (0..N_FIXED).map(|nth| (5 + 7 * nth) % (n_vocab as u32).max(1)).collect()
}

/// An input of `n` tokens; a decoder is made to write as many.
fn encoded(model: &Model, ids: &[u32], n: usize) -> Result<Encoded, ModelError> {
    let repeated: Vec<u32> = iter::repeat(ids).flatten().copied().take(n).collect();
    let input = match &model.spec().modality {
        Modality::TextToText { .. } => Input::Ids(repeated.clone()).with_target(Input::Ids(repeated)),
        Modality::Text(_) | Modality::Image(_) | Modality::ImageToText { .. } | Modality::ImageAndText { .. } => {
            Input::Ids(repeated)
        }
    };
    model.encode(&input)
}
