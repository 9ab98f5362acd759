//! Attention as nested lists in JSON: `[a.tolist() for a in outputs.attentions]`, alone or in an object
//! with tokens, as BertViz takes it.
//!
//! The text is parsed as it is read, straight into flat `f32` values, so memory stays near the file's size.

use std::io::{BufRead, Seek};

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::error::Category;

use super::{
    FileError,
    foreign::{self, Found},
    metadata::MAX_LAYERS,
};
use crate::{
    capture::Capture,
    ids::{CaptureId, Side, StackKind},
};

/// Batch, heads, queries, keys.
const MAX_DEPTH: usize = 4;

/// Reads the one capture of a JSON file; see [`super::read`].
pub(super) fn read(
    source: &mut (impl BufRead + Seek),
    fallback_name: &str,
    new_id: &mut dyn FnMut() -> CaptureId,
) -> Result<Vec<Capture>, FileError> {
    let mut reading = Reading::default();
    let mut json = serde_json::Deserializer::from_reader(source);
    let parsed = File(&mut reading).deserialize(&mut json).and_then(|()| json.end());
    if let Err(error) = parsed {
        return Err(reading.problem(&error));
    }
    let mut found = Found::default();
    for Layer { stack, idx, name, shape, values } in reading.layers {
        found.add_layer(stack, idx, name, &shape, values)?;
    }
    for (side, tokens) in reading.tokens {
        found.set_tokens(side, tokens)?;
    }
    found.ignore(reading.n_ignored);
    found.capture(fallback_name, new_id())
}

/// What was parsed so far, and where the parser is.
#[derive(Default)]
struct Reading {
    layers: Vec<Layer>,
    tokens: Vec<(Side, Vec<String>)>,
    n_ignored: usize,
    /// What is being parsed, as `attentions[3]`; empty between the entries.
    at: String,
}

struct Layer {
    stack: StackKind,
    idx: usize,
    name: String,
    shape: Vec<usize>,
    values: Vec<f32>,
}

impl Reading {
    /// What the parser complained about, in words and with a name.
    fn problem(&self, error: &serde_json::Error) -> FileError {
        let what = match error.classify() {
            Category::Io => return FileError::Io(std::io::Error::other(error.to_string())),
            Category::Eof => "is cut short".to_owned(),
            Category::Syntax => format!("holds something that is not a number ({error})"),
            Category::Data => format!("cannot be used: {error}"),
        };
        match self.at.as_str() {
            "" => FileError::NotACapture(format!("its JSON is broken ({error})")),
            at => FileError::tensor(at, what),
        }
    }
}

/// The whole file: lists, or an object with lists.
struct File<'a>(&'a mut Reading);

impl<'de> DeserializeSeed<'de> for File<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for File<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("attention as nested lists, or an object that has some")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<(), A::Error> {
        Stack { reading: self.0, name: "attentions", kind: StackKind::SelfAttention }.visit_seq(list)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            if let Some(kind) = foreign::attention_stack(&name) {
                map.next_value_seed(Stack { reading: self.0, name: &name, kind })?;
            } else if let Some(side) = foreign::token_side(&name) {
                self.0.at.clone_from(&name);
                let mut tokens = Vec::new();
                map.next_value_seed(Tokens(&mut tokens))?;
                if !tokens.is_empty() {
                    self.0.tokens.push((side, tokens));
                }
            } else {
                map.next_value::<IgnoredAny>()?;
                self.0.n_ignored += 1;
            }
            self.0.at.clear();
        }
        Ok(())
    }
}

/// The layers of one stack, or `null` where a model has none.
struct Stack<'a> {
    reading: &'a mut Reading,
    name: &'a str,
    kind: StackKind,
}

impl<'de> DeserializeSeed<'de> for Stack<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.name.clone_into(&mut self.reading.at);
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Stack<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a list of layers")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        for idx in 0.. {
            let name = format!("{}[{idx}]", self.name);
            self.reading.at.clone_from(&name);
            let mut values = Values::default();
            if list.next_element_seed(List { values: &mut values, depth: 0 })?.is_none() {
                break;
            }
            if idx >= MAX_LAYERS {
                return Err(A::Error::custom("there are more layers than any model has"));
            }
            let shape = values.shape.into_iter().map(|n| n.unwrap_or(0)).collect();
            self.reading.layers.push(Layer { stack: self.kind, idx, name, shape, values: values.flat });
        }
        self.reading.at.clear();
        Ok(())
    }
}

/// The numbers of one layer, and the shape that its lists have had so far.
#[derive(Default)]
struct Values {
    flat: Vec<f32>,
    /// The length of the lists at each depth, once one has ended.
    shape: Vec<Option<usize>>,
    /// The depth at which numbers stand.
    rank: Option<usize>,
}

/// A list inside a layer, or a number of one.
struct List<'a> {
    values: &'a mut Values,
    depth: usize,
}

impl List<'_> {
    fn push<E: Error>(self, value: f64) -> Result<(), E> {
        if *self.values.rank.get_or_insert(self.depth) != self.depth {
            return Err(E::custom("numbers and lists are mixed"));
        }
        self.values.flat.push(value as f32);
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for List<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for List<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("numbers in lists")
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<(), E> {
        self.push(value)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.push(value as f64)
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.push(value as f64)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        let Self { values, depth } = self;
        if depth >= MAX_DEPTH {
            return Err(A::Error::custom("there are more levels than batch, heads, queries and keys"));
        }
        if values.rank.is_some_and(|rank| depth >= rank) {
            return Err(A::Error::custom("numbers and lists are mixed"));
        }
        let mut n = 0;
        while list.next_element_seed(List { values: &mut *values, depth: depth + 1 })?.is_some() {
            n += 1;
        }
        if values.shape.len() <= depth {
            values.shape.resize(depth + 1, None);
        }
        match values.shape[depth].replace(n) {
            Some(known) if known != n => Err(A::Error::custom(format!("a list of {n} stands beside lists of {known}"))),
            _ => Ok(()),
        }
    }
}

/// A list of strings, maybe inside a batch of one.
struct Tokens<'a>(&'a mut Vec<String>);

impl<'de> DeserializeSeed<'de> for Tokens<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Tokens<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a list of strings")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        self.0.push(text.to_owned());
        if self.0.len() > foreign::MAX_TOKENS {
            return Err(E::custom("they are more than any pattern has"));
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(Tokens(&mut *self.0))?.is_some() {}
        Ok(())
    }
}
