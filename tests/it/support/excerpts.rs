//! What a made-up model reads of a text that is too long for it, which of its tokens see all, and what it can say.

use std::sync::Arc;

use attnscope::{
    capture::{Edit, Excerpt, Keep, Matrix, SeeAll, TextPart, TokenCount},
    ids::ModelId,
    model::{Input, TextInput},
    protocol::{EditRequest, EventKind, Outcomes, TooLong},
    spec::HeadKind,
};

use super::scripted::failure;

/// What is read of a text of more words than that, or that it is too long.
pub fn excerpt(input: &Input, most_words: Option<usize>) -> Result<(Input, Option<TextPart>), TooLong> {
    let (Input::Text(text), Some(most)) = (input, most_words) else { return Ok((input.clone(), None)) };
    let words: Vec<&str> = text.text.split(' ').collect();
    let Some(Excerpt { keep, n_tokens }) =
        text.how.excerpt.filter(|excerpt| excerpt.n_tokens.is_none_or(|n| n <= most))
    else {
        let summary = format!("The text has {} tokens, but the model reads at most {most}", words.len());
        let too_long = TooLong { failure: failure(&summary), n_fit: most };
        return if words.len() > most { Err(too_long) } else { Ok((input.clone(), None)) };
    };
    let n_read = n_tokens.unwrap_or(most).min(words.len());
    let read = match keep {
        Keep::First => &words[..n_read],
        Keep::Last => &words[words.len() - n_read..],
    };
    let of = TokenCount { n: words.len(), is_exact: true };
    let part = (n_read < words.len()).then_some(TextPart { keep, n_read, of, is_pair: false });
    Ok((Input::Text(TextInput { text: read.join(" "), ..text.clone() }), part))
}

/// The tokens that see all, as changes choose them.
pub fn global(changes: &[EditRequest]) -> Vec<usize> {
    let chosen = changes.iter().find_map(|change| match change {
        EditRequest::Edit(Edit::SeeAll(SeeAll { positions })) => Some(positions.clone()),
        _ => None,
    });
    chosen.unwrap_or_default()
}

/// Words that a made-up model can say.
const N_OUTCOMES: usize = 1000;

/// Logits with the probabilities that it predicts, of a short text: a changed run gives each a fifth less.
pub fn logits(kind: HeadKind, n: usize, is_plain: bool) -> Option<Matrix> {
    let n_rows = if kind == HeadKind::ImageClass { 1 } else { n };
    let part = if is_plain { 1.0f32 } else { 0.8 };
    if kind == HeadKind::TextClass {
        return Some(Matrix::new(vec![-1.25 * part], [1, 1]).unwrap());
    }
    let of = |row: usize, id: usize| {
        let known = [0.5, 0.25, 0.01].map(|probability| part * probability);
        let rest = (1.0 - known.iter().sum::<f32>()) / (N_OUTCOMES - 3) as f32;
        id.checked_sub(10 * row).and_then(|nth| known.get(nth).copied()).unwrap_or(rest).ln()
    };
    let values = || (0..n_rows * N_OUTCOMES).map(|at| of(at / N_OUTCOMES, at % N_OUTCOMES)).collect::<Vec<f32>>();
    (1..=64).contains(&n_rows).then(|| Matrix::new(values(), [n_rows, N_OUTCOMES]).unwrap())
}

/// Everything that it can say.
pub fn outcomes(model: ModelId) -> EventKind {
    let labels = (0..N_OUTCOMES).map(|id| format!("word{id}").into()).collect();
    EventKind::Outcomes(Arc::new(Outcomes::new(model, labels)))
}
