//! Attributions of a folder: which pairs of features of a dictionary make a weight (QK) or what it moves (OV), as its files
//! have them.

use serde_json::Value;

use crate::{
    ids::HeadId,
    json_file::{self, JsonLimits},
    text::told,
};

/// Attributed pairs of a head, and features of a pair that are read.
const MOST_ATTRIBUTED: usize = 200;
const MOST_FEATURES: usize = 50;
const LIMITS: JsonLimits = JsonLimits { bytes: 32 << 20, parts: 2 << 20 };
/// Letters of a description.
const MOST_LETTERS: usize = 300;

/// Of which circuit an attribution is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Circuit {
    Qk,
    Ov,
}

vocabulary! {
    Circuit: name, title;
    Qk("qk", "why it attends (QK)"),
    Ov("ov", "what it moves (OV)"),
}

/// A pair of tokens whose weight is attributed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct AttributedPlace {
    pub circuit: Circuit,
    /// What its sequence is called.
    pub sequence: String,
    pub query: usize,
    pub key: usize,
}

/// What a pair of tokens is attributed to.
#[derive(Clone, Debug, PartialEq)]
pub struct Attribution {
    pub place: AttributedPlace,
    /// The largest first; or why there are none, as a clause.
    pub features: Result<Vec<FeaturePair>, String>,
}

/// A feature of the query's token and one of the key's.
#[derive(Clone, Debug, PartialEq)]
pub struct FeaturePair {
    pub features: [String; 2],
    /// What they are, as whoever wrote the file says; empty where it does not.
    pub descriptions: [String; 2],
    pub attribution: f64,
}

impl AttributedPlace {
    /// The name of its file, below the folder of its circuit.
    pub fn file_name(&self, head: HeadId) -> String {
        let Self { sequence, query, key, .. } = self;
        format!("L{}H{}S{sequence}Q{query}K{key}.json", head.layer, head.head)
    }

    /// Such as `sequence 7, query 3, key 1`.
    pub fn text(&self) -> String {
        format!("sequence {}, query {}, key {}", told(&self.sequence), self.query, self.key)
    }
}

/// The pairs of a head that a manifest names, and what of it is left out, a clause each.
///
/// # Errors
/// A clause, when it is no manifest.
pub fn attributed(bytes: &[u8], head: HeadId) -> Result<(Vec<AttributedPlace>, Vec<String>), String> {
    let read = json_file::of_python_within(bytes, LIMITS).map_err(|error| error.to_string())?;
    let read = read.as_object().ok_or("it is no object")?;
    let own = format!("L{}H{}S", head.layer, head.head);
    let (mut found, mut notes) = (Vec::new(), Vec::new());
    for (name, of) in read {
        let Some(sequence) = name.strip_prefix(&own) else { continue };
        // It becomes part of the name of a file.
        if sequence.is_empty() || !sequence.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_') {
            notes.push(format!("{} is no name of a sequence", told(name)));
            continue;
        }
        for circuit in Circuit::ALL {
            let listed = of.get(circuit.name()).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            for pair in listed {
                let at = |nth: usize| pair.get(nth).and_then(Value::as_u64).and_then(|at| usize::try_from(at).ok());
                match (at(0), at(1)) {
                    (Some(query), Some(key)) => {
                        found.push(AttributedPlace { circuit, sequence: sequence.to_owned(), query, key });
                    }
                    _ => notes.push(format!("a pair of {} is none", told(name))),
                }
            }
        }
    }
    found.sort();
    found.dedup();
    if found.len() > MOST_ATTRIBUTED {
        notes.push(format!("of {} attributed pairs the first {MOST_ATTRIBUTED} are read", found.len()));
        found.truncate(MOST_ATTRIBUTED);
    }
    Ok((found, notes))
}

/// The features of a file of one pair, the largest first.
///
/// # Errors
/// A clause, when it is none.
pub fn features_from_json(bytes: &[u8]) -> Result<Vec<FeaturePair>, String> {
    let read = json_file::of_python_within(bytes, LIMITS).map_err(|error| error.to_string())?;
    let listed = read.get("pairs").and_then(Value::as_array).ok_or("it has no pairs")?;
    let text = |value: Option<&Value>| match value {
        Some(Value::String(text)) => told(text).chars().take(MOST_LETTERS).collect(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    };
    let pair = |of: &Value| {
        let attribution = of.get("attribution")?.as_f64().filter(|value| value.is_finite())?;
        let both = |names: [&str; 2]| names.map(|name| text(of.get(name)));
        Some(FeaturePair {
            features: both(["query_feature", "key_feature"]),
            descriptions: both(["query_description", "key_description"]),
            attribution,
        })
    };
    let mut all = listed
        .iter()
        .map(pair)
        .collect::<Option<Vec<_>>>()
        .ok_or("one of its pairs has no attribution that is a finite number")?;
    all.sort_by(|a, b| b.attribution.abs().total_cmp(&a.attribution.abs()));
    all.truncate(MOST_FEATURES);
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_names_pairs_and_leads_nowhere_else() {
        let head = HeadId::single(1, 2);
        let manifest = r#"{"L1H2S7":{"qk":[[3,1],[3,1],["x",0]],"ov":[[4,0]]},"L1H20S1":{"qk":[[9,9]]},"L1H2S../x":{"qk":[[1,1]]}}"#;
        let (found, notes) = attributed(manifest.as_bytes(), head).unwrap();
        let names: Vec<String> = found.iter().map(|place| place.file_name(head)).collect();
        assert_eq!(names, ["L1H2S7Q3K1.json", "L1H2S7Q4K0.json"]);
        assert_eq!(found.iter().map(|place| place.circuit).collect::<Vec<_>>(), [Circuit::Qk, Circuit::Ov]);
        assert_eq!(notes, ["a pair of L1H2S7 is none", "L1H2S../x is no name of a sequence"]);
        assert_eq!(attributed(b"[]", head).unwrap_err(), "it is no object");
    }

    #[test]
    fn features_come_with_the_largest_first() {
        let file = r#"{"pairs":[{"query_feature":5,"key_feature":"f8","attribution":0.1,"query_description":"names"},
            {"query_feature":6,"key_feature":9,"attribution":-0.4}]}"#;
        let found = features_from_json(file.as_bytes()).unwrap();
        assert_eq!(found[0].features, ["6", "9"]);
        assert_eq!((&*found[1].features[1], &*found[1].descriptions[0]), ("f8", "names"));
        assert!(features_from_json(br#"{"pairs":[{"query_feature":1}]}"#).unwrap_err().contains("no attribution"));
        assert_eq!(features_from_json(b"{}").unwrap_err(), "it has no pairs");
    }
}
