//! JSON: a list of texts or of objects, or one of them a line.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{Content, InputList, Item, ListError, MAX_INPUTS, empty_note, first, found_note, text_column};

/// Objects that tell which key has the longest texts.
const N_TRIED: usize = 100;

pub(super) fn parse(text: &str, wanted: Option<&str>) -> Result<InputList, ListError> {
    let value: Value =
        serde_json::from_str(text).map_err(|error| ListError::Json(format!("it is not JSON: {error}")))?;
    let Value::Array(values) = value else {
        return Err(ListError::Json(
            "a corpus in JSON is a list of texts or of objects with a text in each".to_owned(),
        ));
    };
    list(values, "entry", wanted)
}

pub(super) fn parse_lines(text: &str, wanted: Option<&str>) -> Result<InputList, ListError> {
    let mut values = Vec::new();
    for (idx, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let wrong = |error| ListError::Row { what: "line", number: idx + 1, problem: format!("is not JSON: {error}") };
        values.push(serde_json::from_str(line).map_err(wrong)?);
        if values.len() > MAX_INPUTS {
            return Err(ListError::TooMany);
        }
    }
    list(values, "line", wanted)
}

/// Texts as they are; of objects the text, and every other key as an annotation.
fn list(values: Vec<Value>, what: &'static str, wanted: Option<&str>) -> Result<InputList, ListError> {
    if values.len() > MAX_INPUTS {
        return Err(ListError::TooMany);
    }
    let wrong = |idx: usize, problem: &str| ListError::Row { what, number: idx + 1, problem: problem.to_owned() };
    let n = values.len();
    let mut list = InputList::default();
    if values.iter().all(Value::is_string) {
        let texts =
            values.into_iter().filter_map(|value| if let Value::String(text) = value { Some(text) } else { None });
        list.items = texts.filter(|text| !text.trim().is_empty()).map(Item::text).collect();
        list.notes.extend(empty_note(n - list.items.len()));
        return Ok(list);
    }
    let mut objects: Vec<Map<String, Value>> = Vec::with_capacity(n);
    for (idx, value) in values.into_iter().enumerate() {
        match value {
            Value::Object(object) => objects.push(object),
            Value::String(_) => return Err(wrong(idx, "is a text among objects: all must be of one kind")),
            _ => return Err(wrong(idx, "is neither a text nor an object with a text")),
        }
    }
    // Every key that some object has, in the order in which they come.
    let mut names: Vec<String> = Vec::new();
    let mut numbers: HashMap<String, usize> = HashMap::new();
    for name in objects.iter().flat_map(Map::keys) {
        if !numbers.contains_key(name) {
            numbers.insert(name.clone(), names.len());
            names.push(name.clone());
        }
    }
    let texts: Vec<String> = names
        .iter()
        .filter(|name| objects.iter().any(|object| object.get(*name).is_some_and(Value::is_string)))
        .cloned()
        .collect();
    let length = |column: usize| {
        let of = |object: &Map<String, Value>| object.get(&texts[column]).and_then(Value::as_str).map_or(0, str::len);
        objects.iter().take(N_TRIED).map(of).sum()
    };
    if texts.is_empty() {
        return Err(ListError::Json(format!("none of its keys has texts: {}", names.join(", "))));
    }
    let (column, is_guess) = text_column(&texts, wanted, length)?;
    let key = texts[column].clone();
    list.text_columns = first(&texts, column);
    list.notes.extend((is_guess && names.len() > 1).then(|| found_note(&key)));
    list.columns = names.iter().filter(|name| **name != key).cloned().collect();
    for (idx, mut object) in objects.into_iter().enumerate() {
        let text = match object.remove(&key) {
            Some(Value::String(text)) => text,
            None | Some(Value::Null) => continue,
            Some(_) => return Err(wrong(idx, &format!("has something else than a text under “{key}”"))),
        };
        if text.trim().is_empty() {
            continue;
        }
        let values = list.columns.iter().map(|name| object.remove(name).and_then(shown)).collect();
        list.items.push(Item { content: Content::Text(text), name: None, values });
    }
    list.notes.extend(empty_note(n - list.items.len()));
    Ok(list)
}

/// An annotation's value as text; `None` for nothing.
fn shown(value: Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text).filter(|text| !text.is_empty()),
        other => Some(other.to_string()),
    }
}
