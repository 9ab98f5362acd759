//! Fields that this version does not know: kept beside what it does, so that a file that is written again has lost
//! nothing of a later version's.

use serde_json::{Map, Value};

/// The fields of `written` that are not in `known`, with those of objects within.
pub(super) fn beyond(written: &Value, known: &Value) -> Map<String, Value> {
    let (Some(written), Some(known)) = (written.as_object(), known.as_object()) else { return Map::new() };
    let mut beyond = Map::new();
    for (name, value) in written {
        match known.get(name) {
            None => drop(beyond.insert(name.clone(), value.clone())),
            Some(known) if value.is_object() => {
                let within = self::beyond(value, known);
                if !within.is_empty() {
                    beyond.insert(name.clone(), Value::Object(within));
                }
            }
            Some(_) => {}
        }
    }
    beyond
}

/// Puts fields back where there are none of the same name.
pub(super) fn put_back(known: &mut Value, kept: &Map<String, Value>) {
    let Some(known) = known.as_object_mut() else { return };
    for (name, value) in kept {
        match (known.get_mut(name), value) {
            (None, value) => drop(known.insert(name.clone(), value.clone())),
            (Some(within @ Value::Object(_)), Value::Object(kept)) => put_back(within, kept),
            // What is there now is no object any more, so there is no place for them.
            (Some(_), _) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_not_known_comes_back_in_its_place() {
        let written = json!({ "a": 1, "b": { "c": 2, "later": [3] }, "new": { "d": 4 } });
        let known = json!({ "a": 1, "b": { "c": 2 } });
        let kept = beyond(&written, &known);
        let mut now = json!({ "a": 5, "b": { "c": 6 } });
        put_back(&mut now, &kept);
        assert_eq!(now, json!({ "a": 5, "b": { "c": 6, "later": [3] }, "new": { "d": 4 } }));
        // What is something else now has no room for it.
        let mut other = json!({ "a": 5, "b": null });
        put_back(&mut other, &kept);
        assert_eq!(other, json!({ "a": 5, "b": null, "new": { "d": 4 } }));
    }
}
