//! Lists of numbers and of texts, as they are parsed: straight into flat values, with the shape told
//! afterwards and the place at any time.

use serde::de::{DeserializeSeed, Deserializer, Error, SeqAccess, Visitor};

use super::foreign;
use crate::{capture::Site, ids::StackKind};

/// Batch, heads, queries, keys.
const MAX_DEPTH: usize = 4;

/// The numbers of one site of a layer.
pub(super) struct Layer {
    pub(super) stack: StackKind,
    pub(super) site: Site,
    pub(super) idx: usize,
    pub(super) name: String,
    pub(super) shape: Vec<usize>,
    pub(super) values: Vec<f32>,
}

/// The numbers of one layer, and the shape that its lists have had so far.
#[derive(Default)]
pub(super) struct LayerNumbers {
    pub(super) flat: Vec<f32>,
    /// The length of the lists at each depth, once one has ended.
    pub(super) shape: Vec<Option<usize>>,
    /// The depth at which numbers stand.
    rank: Option<usize>,
    /// Where the parser is, by depth.
    pub(super) at: Vec<usize>,
}

/// A list inside a layer, or a number of one.
pub(super) struct List<'a> {
    pub(super) values: &'a mut LayerNumbers,
    pub(super) depth: usize,
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
        values.at.push(0);
        while list.next_element_seed(List { values: &mut *values, depth: depth + 1 })?.is_some() {
            n += 1;
            values.at[depth] = n;
        }
        values.at.pop();
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
pub(super) struct Tokens<'a>(pub(super) &'a mut Vec<String>);

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
