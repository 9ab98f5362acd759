//! Lenient reading of stored values: an unknown one, such as a choice of a later version, falls back to its default,
//! and other fields are unaffected.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// Elements of a list that are looked at one by one.
const MAX_ELEMENTS: usize = 256;

/// The value with all of `stored` that this version understands; the rest keeps its default.
pub(super) fn read<T: Default + Serialize + DeserializeOwned>(stored: &Value) -> T {
    let Ok(mut value) = serde_json::to_value(T::default()) else { return T::default() };
    take::<T>(&mut value, &mut Vec::new(), stored);
    serde_json::from_value(value).unwrap_or_default()
}

/// Puts `stored` into its place in `whole` as far as it is understood: as a whole if it can be, else field by field
/// and element by element.
fn take<'a, T: DeserializeOwned>(whole: &mut Value, place: &mut Vec<&'a str>, stored: &'a Value) {
    let Some(old) = put(whole, place, stored.clone()) else { return };
    if T::deserialize(&*whole).is_ok() {
        return;
    }
    match stored {
        Value::Object(fields) if old.is_object() => {
            put(whole, place, old);
            for (name, field) in fields {
                place.push(name);
                take::<T>(whole, place, field);
                place.pop();
            }
        }
        Value::Array(elements) if old.is_array() && elements.len() <= MAX_ELEMENTS => {
            put(whole, place, Value::Array(Vec::new()));
            let mut kept = Vec::new();
            for element in elements {
                kept.push(element.clone());
                put(whole, place, Value::Array(kept.clone()));
                if T::deserialize(&*whole).is_err() {
                    kept.pop();
                }
            }
            put(whole, place, Value::Array(kept));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            put(whole, place, old);
        }
    }
}

/// Replaces what is at a place; `None` when there is no such place.
fn put(whole: &mut Value, place: &[&str], new: Value) -> Option<Value> {
    let mut at = whole;
    for name in place {
        at = at.get_mut(*name)?;
    }
    Some(std::mem::replace(at, new))
}
