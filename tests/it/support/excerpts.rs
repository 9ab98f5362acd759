//! What a made-up model reads of a text that is too long for it, and which of its tokens see all.

use attnscope::{
    capture::{Edit, Excerpt, Keep, TextPart, TokenCount},
    worker::{Input, TextInput, TooLong, WantedEdit},
};

use super::scripted::failure;

/// What is read of a text of more words than that, or that it is too long.
pub fn excerpt(input: &Input, most_words: Option<usize>) -> Result<(Input, Option<TextPart>), TooLong> {
    let (Input::Text(text), Some(most)) = (input, most_words) else { return Ok((input.clone(), None)) };
    let words: Vec<&str> = text.text.split(' ').collect();
    let Some(Excerpt { keep, n_tokens }) = text.excerpt.filter(|excerpt| excerpt.n_tokens.is_none_or(|n| n <= most))
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
pub fn global(changes: &[WantedEdit]) -> Vec<usize> {
    let chosen = changes.iter().find_map(|change| match change {
        WantedEdit::Edit(Edit::SeeAll { positions }) => Some(positions.clone()),
        _ => None,
    });
    chosen.unwrap_or_default()
}
