//! Tensors, numbers and texts of dictionaries within dictionaries, by the keys that lead to them: files that are no
//! checkpoint.

use candle_core::pickle::Object;
use serde_json::{Map, Value};

use super::{
    Unreadable,
    tensors::{Described, Malformed, tensor},
};
use crate::model::checkpoint::weights::entry::is_presentable;

/// Dictionaries inside dictionaries that are looked into.
const MAX_DEPTH: usize = 4;

/// What was found, each under its keys, joined by dots.
#[derive(Default)]
pub(super) struct NestedValues {
    pub tensors: Vec<(String, Described)>,
    /// Numbers, texts and lists of them.
    pub notes: Map<String, Value>,
}

/// Everything in a dictionary; what is neither a tensor nor a plain value is left out.
pub(super) fn find(object: Object) -> Result<NestedValues, Unreadable> {
    let Object::Dict(items) = object else {
        return Err(Unreadable::Damaged("it holds no dictionary".to_owned()));
    };
    let mut found = NestedValues::default();
    add(items, "", MAX_DEPTH, &mut found)?;
    Ok(found)
}

fn add(items: Vec<(Object, Object)>, before: &str, depth: usize, found: &mut NestedValues) -> Result<(), Unreadable> {
    for (key, value) in items {
        let key = match key {
            Object::Unicode(key) if is_presentable(&key) => key,
            Object::Int(key) => key.to_string(),
            Object::Long(key) => key.to_string(),
            _ => continue,
        };
        let name = if before.is_empty() { key } else { format!("{before}.{key}") };
        if let Object::Dict(items) = value {
            if depth > 0 {
                add(items, &name, depth - 1, found)?;
            }
            continue;
        }
        match tensor(&value) {
            Ok(Some(tensor)) => found.tensors.push((name, tensor)),
            Ok(None) => {
                if let Some(value) = plain(&value) {
                    found.notes.insert(name, value);
                }
            }
            Err(Malformed) => return Err(Unreadable::Damaged(format!("tensor {name} is not described well"))),
        }
    }
    Ok(())
}

/// A number, a text, or a list of them.
fn plain(object: &Object) -> Option<Value> {
    Some(match object {
        Object::Int(number) => Value::from(*number),
        Object::Long(number) => Value::from(*number),
        Object::Float(number) => Value::from(*number),
        Object::Bool(flag) => Value::from(*flag),
        Object::Unicode(text) if is_presentable(text) => Value::from(text.as_str()),
        Object::List(items) | Object::Tuple(items) => Value::Array(items.iter().filter_map(plain_number).collect()),
        _ => return None,
    })
}

fn plain_number(object: &Object) -> Option<Value> {
    match object {
        Object::Int(number) => Some(Value::from(*number)),
        Object::Long(number) => Some(Value::from(*number)),
        _ => None,
    }
}
