//! The fit of a Jacobian lens, text by text.

use super::corpus::input_of;
use crate::{
    analysis::explain::jacobian::LensFit,
    corpus::list::Content,
    model::{Control, Model, ModelError, Preparation, Progress, Stage},
};

/// Why a text is left out that has too few tokens, as a clause.
pub fn too_short(skip_first: usize) -> String {
    format!("a text needs {} tokens, of which the first {skip_first} and the last are left out", skip_first + 2)
}

/// What a file with a lens says of its fit: positions that were left out, and tokens that were read at most.
pub fn notes(model: &Model, corpus: &str, (skip_first, most): (usize, Option<usize>)) -> [(&'static str, String); 5] {
    [
        ("model", model.spec().name.clone()),
        ("corpus", corpus.to_owned()),
        ("skip_first", skip_first.to_string()),
        ("max_tokens", most.map_or_else(|| "all".to_owned(), |n| n.to_string())),
        ("program", format!("attnscope {}", env!("CARGO_PKG_VERSION"))),
    ]
}

/// Adds a text, the `nth` of `n`, or the reason why it is left out.
///
/// # Errors
/// When `control` says stop; then nothing of the text is added.
pub fn add_text(
    fit: &mut LensFit,
    model: &Model,
    (nth, n): (usize, usize),
    (content, how, skip_first): (&Content, Preparation, usize),
    control: &Control<'_>,
) -> Result<(), ModelError> {
    let go_on = |progress: Progress| {
        let steps = progress.total.max(1);
        let done = if progress.stage == Stage::Differentiate { progress.done } else { 0 };
        control(Progress { stage: Stage::Inputs, done: nth * steps + done, total: n * steps })
    };
    let found = model.encode(&input_of(content, how)).and_then(|input| {
        let n_tokens = input.tokens.values().map(Vec::len).max().unwrap_or(0);
        if n_tokens < skip_first + 2 {
            return Err(ModelError::Input { summary: too_short(skip_first), details: String::new() });
        }
        model.mean_jacobians(&input, skip_first..n_tokens - 1, &go_on)
    });
    if let Err(ModelError::Cancelled(stop)) = found {
        return Err(stop.into());
    }
    fit.n_done = nth + 1;
    match found {
        Ok(found) => fit.sums.add(&found.streams, &found.attention),
        Err(error) => fit.left_out.push((nth, error.to_string())),
    }
    Ok(())
}
