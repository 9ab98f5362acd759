//! What the views show of a capture: patterns after leaving tokens out, and names of tokens.

use crate::{
    analysis::attention,
    capture::{Capture, Matrix, Token},
    ids::{HeadId, StackKind},
    session::{HiddenTokens, Pane},
    spec::LayerSpec,
};

/// Shape of the layer of `head`.
pub fn layer_spec(capture: &Capture, head: HeadId) -> Option<&LayerSpec> {
    capture.model().stack(head.stack)?.layers.get(head.layer)
}

/// Number of heads in the layer of `head`.
pub fn n_heads(capture: &Capture, head: HeadId) -> usize {
    layer_spec(capture, head).map_or(0, |layer| layer.n_heads)
}

/// Which key positions the options leave out.
pub fn hidden_keys(capture: &Capture, stack: StackKind, hidden: HiddenTokens) -> Vec<bool> {
    let keys = capture.key_tokens(stack);
    match hidden {
        HiddenTokens::None => vec![false; keys.len()],
        HiddenTokens::First => (0..keys.len()).map(|key| key == 0).collect(),
        HiddenTokens::Special => keys.iter().map(|token| token.special).collect(),
    }
}

/// One head's pattern as shown: without the tokens that are left out, rows renormalised.
pub fn shown_pattern(capture: &Capture, head: HeadId, hidden: HiddenTokens) -> Option<Matrix> {
    let pattern = attention::pattern(capture, head)?;
    Some(attention::hide(&pattern, &hidden_keys(capture, head.stack, hidden)))
}

/// What a person reads for a token; its position where it has no text.
pub fn token_text(tokens: &[Token], position: usize) -> String {
    match tokens.get(position) {
        Some(token) if !token.text.is_empty() => token.text.clone(),
        _ => format!("#{position}"),
    }
}

/// Whether every token of the input is left out, so that no view can show anything.
pub fn nothing_left(pane: &Pane, capture: &Capture) -> bool {
    let hidden = hidden_keys(capture, pane.selection.stack(), pane.options.hidden);
    !hidden.is_empty() && hidden.iter().all(|hidden| *hidden)
}
