//! Changes of what is read, before anything is run.

use super::{Encoded, Payload};
use crate::{
    capture::{Edit, Positions, Token, changes::Intervention},
    ids::Side,
    model::ModelError,
};

/// The input with other tokens in it, where edits ask for them. `mask` is the id of the mask token, `label`
/// names an id.
pub(crate) fn replaced(
    mut input: Encoded,
    edits: &[Edit],
    mask: Option<u32>,
    label: &dyn Fn(u32) -> String,
) -> Result<Encoded, ModelError> {
    for edit in edits {
        let (side, position, id) = match edit.kind().intervention() {
            Intervention::Read { side, position, id } => (side, position, id),
            Intervention::Reorder { side, order, positions } => {
                let places = order.places(input.tokens.get(&side).map_or(&[], Vec::as_slice));
                reorder(&mut input, side, &places, positions);
                continue;
            }
            Intervention::SeeAll(_)
            | Intervention::LeaveOutPositions
            | Intervention::LeaveOutAdapter(_)
            | Intervention::Normalize(..)
            | Intervention::AddToMlp { .. }
            | Intervention::Rows { .. } => continue,
        };
        let Some(id) = id.or(mask) else {
            let what = "the model has no mask token; hide the token, or replace it by another one";
            return Err(ModelError::Edit(what.to_owned()));
        };
        let payload = match side {
            Side::Only | Side::Encoder => Some(&mut input.source),
            Side::Decoder | Side::Text => input.target.as_mut(),
            Side::Vision | Side::Sentences | Side::Chosen => None,
        };
        if let Some(Payload::Text { ids, .. }) = payload
            && let (Some(old), Some(token)) =
                (ids.get_mut(position), input.tokens.get_mut(&side).and_then(|tokens| tokens.get_mut(position)))
        {
            *old = id;
            (token.id, token.text) = (Some(id), label(id));
        } else {
            return Err(ModelError::Edit(format!("“{edit}” has no token to change")));
        }
    }
    Ok(input.with_sentences(None))
}

/// Puts the tokens of a text into another order, and says where those that moved were.
fn reorder(input: &mut Encoded, side: Side, places: &[usize], moved: Positions) {
    fn put<T: Clone>(values: &mut Vec<T>, places: &[usize]) {
        if values.len() == places.len() {
            *values = places.iter().filter_map(|place| values.get(*place).cloned()).collect();
        }
    }
    let payload = match side {
        Side::Only | Side::Encoder => Some(&mut input.source),
        Side::Decoder | Side::Text => input.target.as_mut(),
        Side::Vision | Side::Sentences | Side::Chosen => None,
    };
    if let Some(Payload::Text { ids, segments, positions }) = payload {
        put(ids, places);
        put(segments, places);
        *positions = (moved == Positions::Moved).then(|| places.into());
    }
    if let Some(tokens) = input.tokens.get_mut(&side) {
        put(tokens, places);
    }
    let n = places.iter().enumerate().filter(|(place, from)| place != *from).count();
    let old = places.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
    let whose = match moved {
        Positions::Kept => "",
        Positions::Moved => ", which are their positions",
    };
    input.notes.push(format!("{n} tokens stand elsewhere than in the text; their old places are {old}{whose}"));
}

impl Encoded {
    /// The input without one token; `None` where there is no such token, it is no text, or it is the last one.
    pub fn without(&self, side: Side, position: usize) -> Option<Self> {
        let mut input = self.clone();
        let payload = match side {
            Side::Only | Side::Encoder => Some(&mut input.source),
            Side::Decoder | Side::Text => input.target.as_mut(),
            Side::Vision | Side::Sentences | Side::Chosen => None,
        };
        let Some(Payload::Text { ids, segments, .. }) = payload else { return None };
        let tokens = input.tokens.get_mut(&side)?;
        if position >= ids.len() || ids.len() < 2 || tokens.len() != ids.len() {
            return None;
        }
        if segments.len() == ids.len() {
            segments.remove(position);
        }
        ids.remove(position);
        tokens.remove(position);
        Some(input.with_sentences(None))
    }

    /// The input with `ids` read behind the token at `last`, in place of what follows it; `None` where there is no such
    /// token, or it is no text. `label` names an id.
    pub fn continued(&self, side: Side, last: usize, ids: &[u32], label: &dyn Fn(u32) -> String) -> Option<Self> {
        let mut input = self.clone();
        let payload = match side {
            Side::Only => Some(&mut input.source),
            Side::Decoder => input.target.as_mut(),
            Side::Encoder | Side::Text | Side::Vision | Side::Sentences | Side::Chosen => None,
        };
        let Some(Payload::Text { ids: read, segments, .. }) = payload else { return None };
        let tokens = input.tokens.get_mut(&side)?;
        if last >= read.len() || tokens.len() != read.len() {
            return None;
        }
        if segments.len() == read.len() {
            segments.truncate(last + 1);
            let segment = segments[last];
            segments.extend(ids.iter().map(|_| segment));
        }
        read.truncate(last + 1);
        read.extend(ids);
        tokens.truncate(last + 1);
        tokens.extend(ids.iter().map(|id| Token { text: label(*id), id: Some(*id), ..Token::default() }));
        Some(input)
    }
}
