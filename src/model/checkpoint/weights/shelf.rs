//! Adapters of a checkpoint while its weights are read: which tensors they change, and what the model with its adapter
//! and the same model without it share.

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::{Mutex, PoisonError},
};

use candle_core::Tensor;

use super::{LinearPart, Stored, Weights, lora::Lora};
use crate::model::{
    LoadError,
    kernels::{Linear, RowTable, StoredMatrix},
};

/// Maps and tables that an adapter does not change, by what was asked for.
#[derive(Debug, Default)]
pub(crate) struct Shelf {
    maps: Mutex<HashMap<String, Linear>>,
    tables: Mutex<HashMap<String, RowTable>>,
}

/// How a checkpoint with an adapter is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share<'a> {
    pub shelf: &'a Shelf,
    /// Whether the adapter is left out, and what it does not change is taken from the shelf.
    pub leaves_out: bool,
}

impl Shelf {
    pub fn map(&self, key: &str) -> Option<Linear> {
        self.maps.lock().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    pub fn keep_map(&self, key: String, map: &Linear) {
        self.maps.lock().unwrap_or_else(PoisonError::into_inner).insert(key, map.clone());
    }

    pub fn table(&self, name: &str) -> Option<RowTable> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    pub fn keep_table(&self, name: &str, table: &RowTable) {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), table.clone());
    }

    /// Whether a tensor of the file is kept, as a table or in a map.
    pub fn holds(&self, name: &str) -> bool {
        let in_quotes = format!("{name:?}");
        self.tables.lock().unwrap_or_else(PoisonError::into_inner).contains_key(name)
            || self.maps.lock().unwrap_or_else(PoisonError::into_inner).keys().any(|key| key.contains(&in_quotes))
    }

    /// Forgets tables that are none of `tables`: an output map may have taken their memory over.
    pub fn keep_tables_of(&self, tables: &[&RowTable]) {
        let is_there = |kept: &RowTable| tables.iter().any(|table| table.shares(kept));
        self.tables.lock().unwrap_or_else(PoisonError::into_inner).retain(|_, kept| is_there(kept));
    }
}

/// What tells a map from others: the names in the file, its shape and the order of its outputs.
pub(super) fn map_key(
    names: &[String],
    parts: &[LinearPart<'_>],
    d_in: usize,
    how: (Stored, Option<&[usize]>),
) -> String {
    let mut hasher = DefaultHasher::new();
    how.1.hash(&mut hasher);
    format!("{names:?} {parts:?} {d_in} {:?} {:x}", how.0, hasher.finish())
}

impl<'a> Weights<'a> {
    /// Whether the model's adapter changes a tensor of the file.
    pub(super) fn is_changed(&self, found: &str) -> bool {
        self.adapter.as_ref().is_some_and(|adapter| adapter.changes(found))
    }

    /// The adapter, where it is merged into what is read.
    pub(super) fn merged(&self) -> Option<&Lora<'a>> {
        self.adapter.as_ref().filter(|_| !self.share.is_some_and(|share| share.leaves_out))
    }

    /// Where weights are kept for the same model with or without its adapter; `None` in a rehearsal.
    pub(super) fn shelf(&self) -> Option<&'a Shelf> {
        self.share.map(|share| share.shelf).filter(|_| !self.rehearsing)
    }

    /// By what a map is kept that an adapter does not change.
    pub(super) fn shelf_key(
        &self,
        parts: &[LinearPart<'_>],
        d_in: usize,
        how: (Stored, Option<&[usize]>),
    ) -> Option<String> {
        self.shelf()?;
        let names = parts.iter().map(|part| self.find(&format!("{}.weight", part.name)));
        let names: Vec<String> = names.collect::<Option<_>>()?;
        let biases = parts.iter().filter(|part| part.bias).filter_map(|part| self.find(&format!("{}.bias", part.name)));
        let is_changed = names.iter().cloned().chain(biases).any(|name| self.is_changed(&name));
        (!is_changed).then(|| map_key(&names, parts, d_in, how))
    }

    /// Lets the adapter know that the model has a tensor.
    pub(super) fn meets(&mut self, found: &str, shape: &[usize]) -> Result<(), LoadError> {
        match &mut self.adapter {
            Some(adapter) if !self.share.is_some_and(|share| share.leaves_out) => adapter.meets(found, shape),
            Some(_) | None => Ok(()),
        }
    }

    /// The numbers that a table had before the adapter changed it; `None` for one that it does not change. An output map
    /// that is tied to the table keeps them in PEFT.
    pub fn before_adapter(&self, table: &RowTable) -> Result<Option<RowTable>, LoadError> {
        let is_meant = |(changed, _): &&(RowTable, String)| changed.shares(table);
        let Some((_, name)) = self.changed_tables.iter().find(is_meant) else { return Ok(None) };
        let (rows, width) = table.dims()?;
        // With room for a last whole panel.
        let mut values = vec![0.0; StoredMatrix::room_of(rows, width)];
        values.truncate(rows * width);
        self.fill_from(name, 0, &mut values)?;
        Ok(Some(RowTable::Numbers(Tensor::from_vec(values, (rows, width), &self.device)?)))
    }
}
