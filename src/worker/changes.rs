//! Edits of a model made of requests to change a run.

use super::{
    JobControl, Stop,
    patch_sources::{self, Means},
};
use crate::{
    capture::{Edit, MeanOf, ReplaceToken, Site},
    ids::{HeadId, ModelId},
    model::{Encoded, Input, Model, ModelError},
    protocol::{EditRequest, PatchedRows},
};

/// What it takes to find out what a change means.
pub(super) struct Aids<'a> {
    pub id: ModelId,
    pub model: &'a Model,
    /// Whether tokens follow that are not known yet.
    pub writes: bool,
    pub means: &'a mut Means,
    pub control: &'a JobControl,
    /// Sentences about inputs of other runs: what was cut, and what was left out.
    pub said: Vec<String>,
}

/// What a request means to a model that reads this input.
///
/// # Errors
/// When a text is not one token, or another run cannot be made or does not fit.
pub(super) fn resolve(request: EditRequest, input: &Encoded, aids: &mut Aids<'_>) -> Result<Edit, Stop> {
    let (model, job) = (aids.model, aids.control);
    let control = |progress| job.report(progress);
    match request {
        EditRequest::Edit(edit) => Ok(edit),
        EditRequest::Taken { rows, from } => patch_sources::taken(model, rows, &from, (&control, &mut aids.said)),
        EditRequest::MeanOver { head, over } => {
            let n = input.tokens.get(&head.stack.query_side()).map_or(0, Vec::len);
            if aids.writes || n == 0 {
                let why = "the mean of a head needs all tokens in advance: let the model read a text instead of \
                    writing one";
                return Err(ModelError::Edit(why.to_owned()).into());
            }
            let HeadId { stack, layer, head: of } = head;
            let rows = PatchedRows { site: Site::Z, stack, layer, head: Some(of), positions: Vec::new() };
            let mean = aids.means.of((aids.id, model), &rows, (&over, MeanOf::All), (&control, &mut aids.said))?;
            patch_sources::everywhere(head, &mean, n)
        }
        EditRequest::Between(between) => aids.means.direction((aids.id, model), &between, (&control, &mut aids.said)),
        EditRequest::Word { side, position, text } => {
            let replaced = input.tokens.get(&side).and_then(|tokens| tokens.get(position));
            // Words of a byte-level vocabulary have their space with them.
            let follows_space = replaced.is_some_and(|token| token.text.starts_with('␣'));
            let spaced = format!(" {text}");
            let ways = if follows_space { [spaced.as_str(), &text] } else { [text.as_str(); 2] };
            let found = ways.into_iter().find_map(|text| only_token(model, text));
            let id = found.ok_or_else(|| {
                ModelError::Edit(format!("“{text}” is not one token of this model; try another word, or an id"))
            })?;
            Ok(Edit::ReplaceToken(ReplaceToken { position, id, side }))
        }
    }
}

/// The token that a text is, if it is one.
fn only_token(model: &Model, text: &str) -> Option<u32> {
    let read = model.encode(&Input::text(text)).ok()?;
    let mut tokens = read.tokens.into_values().flatten().filter(|token| !token.special);
    let only = tokens.next()?.id?;
    tokens.next().is_none().then_some(only)
}
