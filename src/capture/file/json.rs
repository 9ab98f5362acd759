//! Attention as nested lists in JSON: `[a.tolist() for a in outputs.attentions]`, alone or in an object
//! with tokens, as BertViz takes it; and the data that BertViz writes into its pages, see `bertviz`.
//!
//! The text is parsed as it is read, straight into flat `f32` values, so memory stays near the file's size.

use std::io::Read;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::error::Category;

use super::{
    FileError,
    bertviz::{self, Record},
    foreign::{self, Found},
    lists::{Layer, LayerNumbers, List, Tokens},
    metadata::MAX_LAYERS,
    place::{TensorSlot, What},
};
use crate::{
    capture::{Capture, Site},
    ids::{CaptureId, Side, StackKind},
    tensor_file,
};

/// Reads the one capture of a JSON file; see [`super::read`].
pub(super) fn read(
    source: &mut impl Read,
    fallback_name: &str,
    new_id: &mut dyn FnMut() -> CaptureId,
) -> Result<Vec<Capture>, FileError> {
    let mut reading = JsonParser::default();
    let mut json = serde_json::Deserializer::from_reader(source);
    let parsed = File(&mut reading).deserialize(&mut json).and_then(|()| json.end());
    if let Err(error) = parsed {
        return Err(reading.problem(&error));
    }
    let mut found = Found::default();
    let (records, tokens) = bertviz::choose(reading.records, reading.layer_numbers.as_deref());
    reading.n_ignored += records.n_ignored;
    reading.layers.extend(records.layers);
    reading.tokens.extend(tokens);
    for Layer { stack, site, idx, name, shape, values } in single_layers_joined(reading.layers)? {
        let shape = foreign::layer_shape(&name, &shape)?.to_vec();
        found.add(TensorSlot::Layer { stack, layer: idx, what: What::Site(site) }, name, shape, values)?;
    }
    for (side, tokens) in reading.tokens {
        found.set_tokens(side, tokens)?;
    }
    if let Some(rows) = reading.rows {
        found.set_rows(&rows)?;
    }
    if let Some(style) = reading.token_style {
        found.set_token_style(style);
    }
    if let Some(start) = reading.second.or(records.second) {
        found.set_second_sentence(start);
    }
    if let Some(heads) = reading.head_numbers.filter(|heads| heads.iter().enumerate().any(|(at, head)| at != *head)) {
        let heads: Vec<String> = heads.iter().map(usize::to_string).collect();
        found.note(format!("The page has heads {} of the model, which are numbered from 0 here", heads.join(", ")));
    }
    found.ignore(reading.n_ignored);
    found.capture(fallback_name, new_id())
}

/// What was parsed so far, and where the parser is.
#[derive(Default)]
struct JsonParser {
    layers: Vec<Layer>,
    tokens: Vec<(Side, Vec<String>)>,
    /// What the file says about its rows.
    rows: Option<String>,
    /// What the file says about the spelling of its tokens.
    token_style: Option<String>,
    /// What BertViz wrote, and which layers and heads of the model it is of.
    records: Vec<Record>,
    layer_numbers: Option<Vec<usize>>,
    head_numbers: Option<Vec<usize>>,
    /// Where the second sentence begins.
    second: Option<usize>,
    n_ignored: usize,
    /// What is being parsed, as `attentions[3]`; empty between the entries.
    at: String,
    /// Where in its lists the parser was when it gave up.
    place: Vec<usize>,
}

/// Where the lists of a stack have two axes each, they are the heads of its only layer.
fn single_layers_joined(layers: Vec<Layer>) -> Result<Vec<Layer>, FileError> {
    let mut joined: Vec<Layer> = Vec::with_capacity(layers.len());
    for layer in layers {
        match joined.last_mut().filter(|last| last.stack == layer.stack && last.shape.len() == 3) {
            Some(last) if layer.shape.len() == 2 && last.name.ends_with(ALONE) => {
                if last.shape[1..] != layer.shape {
                    let problem = format!("has the shape {:?} beside heads of {:?}", layer.shape, &last.shape[1..]);
                    return Err(FileError::tensor(&layer.name, problem));
                }
                last.shape[0] += 1;
                last.values.extend(layer.values);
            }
            _ if layer.shape.len() == 2 && layer.idx == 0 => {
                let shape = [&[1], &layer.shape[..]].concat();
                let name = layer.name.trim_end_matches("[0]").to_owned() + ALONE;
                joined.push(Layer { name, shape, ..layer });
            }
            _ => joined.push(layer),
        }
    }
    Ok(joined)
}

/// How the only layer of a stack is told from one among several.
const ALONE: &str = " (one layer)";

impl JsonParser {
    /// The list of this name.
    fn numbers(&mut self, name: &str) -> Option<&mut Option<Vec<usize>>> {
        let numbers = match name {
            "include_layers" => &mut self.layer_numbers,
            "include_heads" => &mut self.head_numbers,
            _ => return None,
        };
        name.clone_into(&mut self.at);
        Some(numbers)
    }

    /// What the parser complained about, in words and with a name.
    fn problem(&self, error: &serde_json::Error) -> FileError {
        let place = if self.place.is_empty() { String::new() } else { format!(" at {:?}", self.place) };
        let what = match error.classify() {
            Category::Io => return FileError::Io(std::io::Error::other(error.to_string())),
            Category::Eof => "is cut short".to_owned(),
            Category::Syntax => format!("holds something that is not a number{place} ({error})"),
            Category::Data => format!("cannot be used{place}: {error}"),
        };
        match self.at.as_str() {
            "" => FileError::NotACapture(format!("its JSON is broken ({error})")),
            at => FileError::tensor(at, what),
        }
    }
}

/// The whole file: lists, or an object with lists.
struct File<'a>(&'a mut JsonParser);

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
            } else if name == foreign::ROWS {
                self.0.at.clone_from(&name);
                self.0.rows = Some(map.next_value()?);
            } else if name == foreign::TOKEN_STYLE {
                self.0.at.clone_from(&name);
                self.0.token_style = Some(map.next_value()?);
            } else if let Some(numbers) = self.0.numbers(&name) {
                *numbers = map.next_value()?;
            } else if name == "sentence_b_start" {
                self.0.at.clone_from(&name);
                self.0.second = map.next_value()?;
            } else {
                map.next_value::<IgnoredAny>()?;
                self.0.n_ignored += usize::from(!bertviz::is_setting(&name));
            }
            self.0.at.clear();
        }
        Ok(())
    }
}

/// The layers of one stack, or `null` where a model has none.
struct Stack<'a> {
    reading: &'a mut JsonParser,
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
            let mut element = Element { values: LayerNumbers::default(), record: None };
            match list.next_element_seed(&mut element) {
                Ok(None) => break,
                Ok(Some(())) => {}
                Err(error) => {
                    self.reading.place = element.values.at;
                    return Err(error);
                }
            }
            if idx >= MAX_LAYERS {
                return Err(A::Error::custom("there are more layers than any model has"));
            }
            if let Some(mut record) = element.record {
                record.name = name;
                self.reading.records.push(record);
                continue;
            }
            let LayerNumbers { flat, .. } = element.values;
            let shape = element.values.shape.into_iter().map(|n| n.unwrap_or(0)).collect();
            self.reading.layers.push(Layer { stack: self.kind, site: Site::Pattern, idx, name, shape, values: flat });
        }
        self.reading.at.clear();
        Ok(())
    }

    /// The neuron view of BertViz: the whole first, then its parts by sentences.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(part) = map.next_key::<String>()? {
            let name = format!("{}.{}", self.name, tensor_file::shown(&part));
            self.reading.at.clone_from(&name);
            let mut element = Element { values: LayerNumbers::default(), record: None };
            if let Err(error) = map.next_value_seed(&mut element) {
                self.reading.place = element.values.at;
                return Err(error);
            }
            let Some(mut record) = element.record else {
                return Err(A::Error::custom("lists stand where BertViz has an object with attn"));
            };
            record.name = name;
            record.set_part(&part);
            self.reading.records.push(record);
        }
        self.reading.at.clear();
        Ok(())
    }
}

/// What stands in the list of a stack: a layer, or an object of BertViz with several.
struct Element {
    values: LayerNumbers,
    record: Option<Record>,
}

impl<'de> DeserializeSeed<'de> for &mut Element {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut Element {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("numbers in lists")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<(), A::Error> {
        List { values: &mut self.values, depth: 0 }.visit_seq(list)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        self.record = Some(bertviz::read(map, &mut self.values)?);
        Ok(())
    }
}
