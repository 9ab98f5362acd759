//! Outcomes by their names: a class, a token by its text, or either by its id.

use super::LabError;
use crate::model::{Input, Model};

/// The outcome that a text names: `#123` or `123` is an id, anything else the name of a class or the text of a token.
///
/// # Errors
/// When there is none, or when the text is several tokens, which are named.
pub fn outcome_id(model: &Model, text: &str) -> Result<u32, LabError> {
    let n_outcomes = model.n_outcomes();
    let name = text.trim();
    if let Ok(id) = name.strip_prefix('#').unwrap_or(name).parse() {
        return Ok(id);
    }
    if model.reads_whole() {
        let find = |is_it: &dyn Fn(&str) -> bool| (0..n_outcomes as u32).find(|id| is_it(&model.outcome_label(*id)));
        let found = find(&|label| label == name).or_else(|| find(&|label| label.eq_ignore_ascii_case(name)));
        return found.ok_or_else(|| LabError::unsuited(format!("there is no class “{name}” among {n_outcomes}")));
    }
    if let Some(id) = (0..n_outcomes as u32).find(|id| model.outcome_label(*id) == text) {
        return Ok(id);
    }
    match readings(model, name).into_iter().next().as_deref() {
        Some([id]) => Ok(*id),
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
