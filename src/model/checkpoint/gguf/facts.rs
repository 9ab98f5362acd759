//! What a GGUF file says of its architecture, key by key. Keys that nobody asked for are refused in the end, so that none
//! changes the model unnoticed.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use super::{container::StoredTensor, meta::MetaValue};

/// More layers than any model has.
const MAX_LAYERS: u64 = 4096;

/// Metadata, tensors and the small tensors that belong to the metadata.
pub(super) struct Facts<'a> {
    metadata: &'a BTreeMap<String, MetaValue>,
    /// llama.cpp's name of it, with which its keys begin.
    pub architecture: &'a str,
    shapes: BTreeMap<&'a str, &'a [usize]>,
    /// Numbers of tensors that are read with the metadata.
    factors: BTreeMap<String, Vec<f32>>,
    asked: RefCell<BTreeSet<String>>,
    /// The key or the tensor that was asked for last.
    last: Rc<RefCell<Option<String>>>,
}

impl<'a> Facts<'a> {
    pub fn new(
        metadata: &'a BTreeMap<String, MetaValue>,
        architecture: &'a str,
        tensors: &'a [StoredTensor],
        factors: BTreeMap<String, Vec<f32>>,
    ) -> Self {
        let shapes = tensors.iter().map(|tensor| (tensor.name.as_str(), tensor.shape.as_slice())).collect();
        Self { metadata, architecture, shapes, factors, asked: RefCell::default(), last: Rc::default() }
    }

    /// The value of a key of the architecture.
    pub fn value(&self, key: &str) -> Option<&'a MetaValue> {
        let key = format!("{}.{key}", self.architecture);
        let value = self.metadata.get(&key);
        self.asked.borrow_mut().insert(key.clone());
        *self.last.borrow_mut() = Some(key);
        value
    }

    /// Where the source that was asked for last is told, key or tensor.
    pub fn last(&self) -> Rc<RefCell<Option<String>>> {
        Rc::clone(&self.last)
    }

    /// A size that must be there.
    pub fn size(&self, key: &str) -> Result<u64, String> {
        self.optional_size(key)?.ok_or_else(|| format!("its metadata have no {}.{key}", self.architecture))
    }

    /// A size, which may be given for each layer, if it is the same in all.
    pub fn optional_size(&self, key: &str) -> Result<Option<u64>, String> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let sizes = match value {
            MetaValue::Numbers(numbers) => numbers.integers().unwrap_or_default(),
            single => single.as_u64().and_then(|size| i64::try_from(size).ok()).into_iter().collect(),
        };
        match sizes.split_first() {
            Some((first, others)) if others.iter().any(|other| other != first) => {
                Err(format!("{}.{key} differs from layer to layer, which is not supported", self.architecture))
            }
            Some((first, _)) if *first >= 0 => Ok(Some(first.cast_unsigned())),
            _ => Err(self.wrong(key, "a size")),
        }
    }

    /// A number, with the fewest digits that give it back.
    pub fn number(&self, key: &str) -> Result<Option<f64>, String> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let number = value.as_f64().filter(|number| number.is_finite()).ok_or_else(|| self.wrong(key, "a number"))?;
        // Files have it in single precision; its shortest form is what the model's own configuration says.
        let single = number as f32;
        let shortest = if f64::from(single) == number { single.to_string().parse().unwrap_or(number) } else { number };
        Ok(Some(shortest))
    }

    /// A number that must be there.
    pub fn needed_number(&self, key: &str) -> Result<f64, String> {
        self.number(key)?.ok_or_else(|| format!("its metadata have no {}.{key}", self.architecture))
    }

    pub fn flag(&self, key: &str) -> Result<Option<bool>, String> {
        let Some(value) = self.value(key) else { return Ok(None) };
        value.as_bool().map(Some).ok_or_else(|| self.wrong(key, "true or false"))
    }

    pub fn text(&self, key: &str) -> Result<Option<&'a str>, String> {
        let Some(value) = self.value(key) else { return Ok(None) };
        value.as_str().map(Some).ok_or_else(|| self.wrong(key, "a text"))
    }

    pub fn wrong(&self, key: &str, what: &str) -> String {
        format!("{}.{key} is not {what}", self.architecture)
    }

    /// Refuses a key with another value than this one.
    pub fn only(&self, key: &str, value: f64) -> Result<(), String> {
        match self.number(key)? {
            Some(other) if other != value => {
                Err(format!("its {}.{key} of {other} is not supported", self.architecture))
            }
            _ => Ok(()),
        }
    }

    /// Notes keys that change nothing here.
    pub fn leave(&self, keys: &[&str]) {
        for key in keys {
            self.value(key);
        }
    }

    pub fn n_layers(&self) -> Result<u64, String> {
        let n = self.size("block_count")?;
        if n > MAX_LAYERS { Err(format!("it claims {n} layers")) } else { Ok(n) }
    }

    /// The id of a token that the tokenizer names.
    pub fn token_id(&self, name: &str) -> Option<u64> {
        self.metadata.get(&format!("tokenizer.ggml.{name}_token_id"))?.as_u64()
    }

    pub fn has(&self, tensor: &str) -> bool {
        self.shapes.contains_key(tensor)
    }

    /// Layers that have a tensor.
    pub fn layers_with(&self, part: &str) -> Result<Vec<u64>, String> {
        Ok((0..self.n_layers()?).filter(|layer| self.has(&format!("blk.{layer}.{part}"))).collect())
    }

    /// One dimension of a tensor.
    pub fn dim(&self, tensor: &str, idx: usize) -> Result<u64, String> {
        let dim = self.shapes.get(tensor).and_then(|shape| shape.get(idx));
        *self.last.borrow_mut() = Some(format!("the tensor {tensor}"));
        dim.map(|dim| *dim as u64).ok_or_else(|| format!("it lacks the tensor {tensor}"))
    }

    /// Numbers of a tensor that belongs to the metadata.
    pub fn factors(&self, tensor: &str) -> Option<&[f32]> {
        self.factors.get(tensor).map(Vec::as_slice)
    }

    /// Refuses keys of the architecture that nobody asked for.
    pub fn check_all_asked(&self) -> Result<(), String> {
        let asked = self.asked.borrow();
        let prefix = format!("{}.", self.architecture);
        match self.metadata.keys().find(|key| key.starts_with(&prefix) && !asked.contains(*key)) {
            Some(key) => Err(format!("its key {key} is not known in this architecture")),
            None => Ok(()),
        }
    }
}
