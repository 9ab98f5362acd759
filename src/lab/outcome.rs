//! Outcomes by their names: a class, a token by its text, or either by its id.

use super::LabError;
use crate::{
    model::{Input, Model},
    outputs::{OutputKind, id_of},
};

/// The outcome that a text names: `#123` is an id, anything else the name of a class or the text of a token, and a
/// number that nothing is called an id, too.
///
/// # Errors
/// When there is none, or when the text is several tokens, which are named.
pub fn outcome_id(model: &Model, text: &str) -> Result<u32, LabError> {
    let n_outcomes = model.n_outcomes();
    let name = text.trim();
    if let Some(id) = id_of(name) {
        return Ok(id);
    }
    let number: Option<u32> = name.parse().ok();
    if model.outputs() != Some(OutputKind::Tokens) {
        let find = |is_it: &dyn Fn(&str) -> bool| (0..n_outcomes as u32).find(|id| is_it(&model.outcome_label(*id)));
        let found = find(&|label| label == name).or_else(|| find(&|label| label.eq_ignore_ascii_case(name)));
        let noun = model.outputs().map_or("class", OutputKind::noun);
        let missing = || LabError::unsuited(format!("there is no {noun} “{name}” among {n_outcomes}"));
        return found.or(number).ok_or_else(missing);
    }
    if let Some(id) = (0..n_outcomes as u32).find(|id| model.outcome_label(*id) == text) {
        return Ok(id);
    }
    match readings(model, name).into_iter().next().as_deref() {
        Some([id]) => Ok(*id),
        _ if number.is_some_and(|id| (id as usize) < n_outcomes) => Ok(number.unwrap_or_default()),
        Some(several) => {
            let pieces: Vec<String> = several.iter().map(|id| format!("“{}”", model.outcome_label(*id))).collect();
            Err(LabError::unsuited(format!(
                "“{name}” is {} tokens of this model, {}: name one of them",
                several.len(),
                pieces.join(", ")
            )))
        }
        None => Err(LabError::unsuited(format!("“{name}” is not a token of this model"))),
    }
}

/// The tokens of a text as a word within another text and at the beginning of one, the fewest first. Words within a
/// text have their space with them, where a vocabulary knows spaces.
pub(super) fn readings(model: &Model, text: &str) -> Vec<Vec<u32>> {
    let ways = [format!(" {text}"), text.to_owned()].map(|text| {
        let read = model.encode(&Input::text(text)).ok()?;
        let tokens = read.tokens.into_values().flatten().filter(|token| !token.special);
        let ids: Vec<u32> = tokens.filter_map(|token| token.id).collect();
        (!ids.is_empty()).then_some(ids)
    });
    let mut known: Vec<Vec<u32>> = ways.into_iter().flatten().collect();
    known.sort_by_key(Vec::len);
    known
}
