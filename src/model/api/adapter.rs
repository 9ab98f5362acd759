//! The same model without its adapter.

use std::sync::{Mutex, OnceLock, PoisonError};

use serde_json::Value;

use super::Model;
use crate::model::{
    LoadError, ModelError,
    checkpoint::{ModelFiles, Share, Shelf},
    run::{Control, Edit, edits},
};

/// An adapter of a checkpoint, and whether a model has it.
#[derive(Debug, Default)]
pub(super) enum AdapterState {
    /// The checkpoint has none.
    #[default]
    None,
    /// It is merged into the weights.
    Merged(Box<WithoutAdapter>),
    /// This is the model without it.
    LeftOut,
}

/// The model without its adapter: it is read when a run first asks for it, and shares all that the adapter does not change.
#[derive(Debug)]
pub(super) struct WithoutAdapter {
    files: ModelFiles,
    shelf: Shelf,
    model: OnceLock<Model>,
    /// Held while it is read.
    reading: Mutex<()>,
}

impl WithoutAdapter {
    pub const fn new(files: ModelFiles, shelf: Shelf) -> Self {
        Self { files, shelf, model: OnceLock::new(), reading: Mutex::new(()) }
    }

    /// The model, which is called as `merged` is.
    fn model(&self, merged: &Model, control: &Control<'_>) -> Result<&Model, ModelError> {
        let _alone = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = self.model.get() {
            return Ok(model);
        }
        let share = Share { shelf: &self.shelf, leaves_out: true };
        let (name, engine) = (&merged.spec.name, &merged.engine);
        let model = Model::load_with(&self.files, name, engine, (&Value::Null, Some(share)), control);
        let model = model.map_err(|error| match error {
            LoadError::Cancelled(stop) => ModelError::Cancelled(stop),
            error => ModelError::Edit(format!("the model cannot be read without its adapter: {error}")),
        })?;
        // Runs of both are runs of one model.
        let spec = merged.spec.clone();
        Ok(self.model.get_or_init(|| Model { spec, adapter: AdapterState::LeftOut, ..model }))
    }
}

impl Model {
    /// The model that runs with these changes: itself, or the same without its adapter, which is read from its files the
    /// first time.
    ///
    /// # Errors
    /// When a change names an adapter that this model does not have, its files can no longer be read, or `control` says
    /// stop.
    pub fn changed_by(&self, edits: &[Edit], control: &Control<'_>) -> Result<&Self, ModelError> {
        let Some((edit, named)) = edits.iter().find_map(|edit| Some((edit, edits::left_out_adapter(edit)?))) else {
            return Ok(self);
        };
        match (&self.adapter, &self.audit.adapter) {
            (AdapterState::LeftOut, _) => Ok(self),
            (AdapterState::Merged(without), Some(own)) if own == named => without.model(self, control),
            (AdapterState::Merged(_), Some(own)) => {
                Err(ModelError::Edit(format!("“{edit}” names another adapter than that of this model, {own}")))
            }
            (AdapterState::None | AdapterState::Merged(_), _) => {
                Err(ModelError::Edit(format!("“{edit}” makes no sense: this model has no adapter")))
            }
        }
    }
}
