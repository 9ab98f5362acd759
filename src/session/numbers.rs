//! Numbers that are typed: a document whose capture is computed of them at once, at every change.

use std::{path::PathBuf, sync::Arc};

use super::{Cause, Document, Documents, Effect, Notices, Panes};
use crate::{
    analysis::by_hand::{Numbers, NumbersError},
    ids::{CaptureId, DocumentId},
    protocol::{CaptureFile, Failure},
};

/// What a document is called that no file stands for.
const NAME: &str = "Numbers";
/// Steps that can be taken back.
const MOST_STEPS: usize = 200;

/// Something to do with numbers that are typed.
#[derive(Clone, Debug, PartialEq)]
pub enum NumbersCommand {
    /// Show an example, by its place.
    Example(usize),
    /// These are typed now.
    Change(Box<Numbers>),
    /// Take queries, keys and values of the selected head.
    OfHead,
}

/// Numbers that were typed before, and after a step back.
#[derive(Clone, Debug, Default)]
pub(super) struct NumbersPast {
    past: Vec<Arc<Numbers>>,
    future: Vec<Arc<Numbers>>,
}

impl Document {
    /// The numbers that are shown and can be changed.
    pub fn numbers(&self) -> Option<&Arc<Numbers>> {
        self.opened.as_ref()?.numbers.as_ref()
    }

    /// Whether a step in the numbers can be taken back, or done again.
    pub(super) fn can_step_numbers(&self, backwards: bool) -> bool {
        let NumbersPast { past, future } = &self.numbers_past;
        self.numbers().is_some() && !if backwards { past } else { future }.is_empty()
    }
}

impl Panes {
    /// Does something with numbers in the document of the active pane.
    pub(super) fn change_numbers(
        &mut self,
        command: NumbersCommand,
        documents: &mut Documents,
        notices: &mut Notices,
    ) -> Vec<Effect> {
        let id = documents.of(self.active()).id;
        let document = documents.of(self.active());
        let numbers = match command {
            NumbersCommand::Change(numbers) => Ok(*numbers),
            NumbersCommand::Example(idx) => Numbers::example(idx),
            NumbersCommand::OfHead => document
                .latest_capture()
                .map_or_else(|| Numbers::example(0), |capture| Numbers::of_head(capture, self.active().selection.head)),
        };
        let before = document.numbers().cloned();
        let shown = numbers.and_then(|numbers| self.show_numbers(id, Arc::new(numbers), documents, notices));
        match shown {
            Ok(effects) => {
                if let Some(document) = documents.find_mut(id) {
                    let NumbersPast { past, future } = &mut document.numbers_past;
                    future.clear();
                    match before {
                        Some(before) => past.push(before),
                        None => past.clear(),
                    }
                    if past.len() > MOST_STEPS {
                        past.remove(0);
                    }
                }
                effects
            }
            Err(error) => {
                notices.fail(Cause::Command, Failure { summary: error.to_string(), details: String::new() });
                Vec::new()
            }
        }
    }

    /// Takes a step in the numbers back, or does it again.
    pub(super) fn step_numbers(
        &mut self,
        id: DocumentId,
        backwards: bool,
        documents: &mut Documents,
        notices: &mut Notices,
    ) -> Vec<Effect> {
        let Some(document) = documents.find_mut(id) else { return Vec::new() };
        let Some(now) = document.numbers().cloned() else { return Vec::new() };
        let NumbersPast { past, future } = &mut document.numbers_past;
        let (from, to) = if backwards { (past, future) } else { (future, past) };
        let Some(next) = from.pop() else { return Vec::new() };
        to.push(now);
        self.show_numbers(id, next, documents, notices).unwrap_or_default()
    }

    /// Shows what numbers come to.
    pub(super) fn show_numbers(
        &mut self,
        id: DocumentId,
        numbers: Arc<Numbers>,
        documents: &mut Documents,
        notices: &mut Notices,
    ) -> Result<Vec<Effect>, NumbersError> {
        let Some(document) = documents.find(id) else { return Ok(Vec::new()) };
        let file = document.opened.as_ref().filter(|file| file.numbers.is_some());
        let is_open = file.is_some();
        let path = file.map_or_else(|| PathBuf::from(NAME), |file| file.path.clone());
        let name = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy();
        let capture = Arc::new(numbers.capture(&name, CaptureId::next())?);
        let file = CaptureFile { path, captures: vec![Arc::clone(&capture)], numbers: Some(numbers), folder: None };
        if !is_open {
            return Ok(self.open_file(id, file, documents, notices));
        }
        if let Some(document) = documents.find_mut(id) {
            (document.opened, document.made) = (Some(file), None);
        }
        self.show(documents, id, capture);
        Ok(Vec::new())
    }
}
