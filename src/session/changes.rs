//! What-if: changes of a run, and the same run unchanged beside it.

use std::{ops::Range, sync::Arc};

use super::{
    Cause, Document, Documents, Drag, Experiment, Limited, Notices, Panes, Split, experiment::Undo,
    explanations::ShownRun,
};
use crate::{
    capture::Capture,
    ids::{DocumentId, Side},
    model::Preparation,
    protocol::{CorpusSource, EditRequest, MeanInputs, PatchSource},
    text::counted,
};

/// One change of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    pub edit: EditRequest,
    pub on: bool,
}

/// Something to do with the changes of a document.
#[derive(Clone, Debug, PartialEq)]
pub enum ChangeCommand {
    /// Make these as well; one that is there is switched on.
    Add(Vec<EditRequest>),
    /// Another one in the place of one, while something is dragged.
    Replace(usize, EditRequest, Drag),
    /// Make one, or do not.
    Switch(usize, bool),
    /// Take these away, by their places.
    Remove(Vec<usize>),
    /// Take all away. The pane that the first one opened goes with the last, however that is taken away.
    Clear,
    /// Take tokens out of the text. This is a change of the input and none of the run: positions after them move, so
    /// that every number that names a token would mean two things at once if they were counted both ways. As a step
    /// of undo it is the text that was read before.
    Delete(Side, Range<usize>),
    /// Make tokens one group by brackets in the text, or take their groups apart: a change of how they are read together,
    /// and none of the run.
    Group(Side, Range<usize>, Grouping),
}

/// What becomes of tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grouping {
    /// One group.
    Together,
    /// Tokens of no group.
    Apart,
}

impl Experiment {
    /// The changes that are made, in order.
    pub fn edits(&self) -> Vec<EditRequest> {
        self.changes.iter().filter(|change| change.on).map(|change| change.edit.clone()).collect()
    }

    /// The same without any change.
    #[must_use]
    pub fn unchanged(&self) -> Self {
        Self { changes: Vec::new(), ..self.clone() }
    }

    /// Whether it differs from `other` by a slider that was dragged, or by cells of one head that were drawn on.
    pub(super) fn only_turned(&self, other: &Self) -> bool {
        let pairs = || self.changes.iter().zip(&other.changes);
        self.changes.len() == other.changes.len()
            && pairs().filter(|(a, b)| a != b).count() == 1
            && pairs().all(|(a, b)| a == b || a.on == b.on && a.edit.is_turned(&b.edit))
            && self.unchanged() == other.unchanged()
    }

    /// Does what was asked for; `false` when that changes nothing.
    fn change(&mut self, command: ChangeCommand) -> bool {
        let before = self.changes.clone();
        match command {
            ChangeCommand::Add(edits) => {
                for edit in edits {
                    let takes_place = |change: &&mut Change| change.edit == edit || change.edit.is_same_choice(&edit);
                    match self.changes.iter_mut().find(takes_place) {
                        Some(change) => *change = Change { edit, on: true },
                        None => self.changes.push(Change { edit, on: true }),
                    }
                }
            }
            ChangeCommand::Replace(idx, edit, _) => {
                if let Some(change) = self.changes.get_mut(idx) {
                    change.edit = edit;
                }
            }
            ChangeCommand::Switch(idx, on) => {
                if let Some(change) = self.changes.get_mut(idx) {
                    change.on = on;
                }
            }
            ChangeCommand::Remove(places) => {
                let mut idx = 0..;
                self.changes.retain(|_| idx.next().is_none_or(|idx| !places.contains(&idx)));
            }
            ChangeCommand::Clear => self.changes.clear(),
            // It is no change of the run.
            ChangeCommand::Delete(..) | ChangeCommand::Group(..) => {}
        }
        self.changes != before
    }

    /// Whether this takes away all changes that there are.
    pub(super) fn is_cleared_by(&self, command: &ChangeCommand) -> bool {
        let mut after = self.clone();
        after.change(command.clone()) && after.changes.is_empty()
    }

    /// Switches off what means nothing after `before`: of another model everything, of another input what speaks of
    /// its tokens. Gives how many that were.
    fn put_aside(&mut self, before: &Self) -> usize {
        let other_model = self.model != before.model;
        let read = |it: &Self| (it.plain_texts(), it.excerpt, it.image.clone(), it.chat, it.system.clone());
        let other_input = read(self) != read(before);
        let meaningless =
            |change: &&mut Change| change.on && (other_model || other_input && change.edit.is_of_tokens());
        self.changes.iter_mut().filter(meaningless).map(|change| change.on = false).count()
    }
}

impl Document {
    /// Why its run cannot be changed, in words; `None` when it can.
    pub fn unchangeable(&self) -> Option<&'static str> {
        if self.opened.is_some() {
            Some("This capture comes from a file: run its input on a model to change something")
        } else if self.model.latest().is_none() && !self.model.is_pending() {
            Some("There is no run to change: open a model")
        } else {
            None
        }
    }

    /// The run that it shows, to take rows from for a run of `other`; or why none can be taken, in words.
    pub fn donor(&self, other: &Self) -> Result<PatchSource, String> {
        let ShownRun { model, input, generation, edits, .. } = self.shown_run()?;
        if other.model.latest().map(|here| here.id) != Some(model) {
            return Err("It is a run of another model: its activations do not fit here".to_owned());
        }
        Ok(PatchSource { name: self.title(), input, generation, edits, positions: None })
    }

    /// Inputs of its own corpus that a mean can be taken over; `None` where it has none that are texts or pictures.
    pub fn meant_inputs(&self) -> Option<MeanInputs> {
        let corpus = self.corpus.as_deref()?;
        if matches!(corpus.source, CorpusSource::Captures(_)) {
            return None;
        }
        let (so_far, view) = (corpus.data.latest()?, corpus.view()?);
        let inputs = so_far.corpus.inputs();
        let sources = view.selection().inputs().iter().filter_map(|input| Some(inputs.get(*input)?.source));
        let sources: Vec<usize> = sources.collect();
        let n = counted(sources.len(), "input");
        let name = format!("{n} of {}", corpus.source.name());
        let (list, how) = (Arc::clone(&so_far.list), Preparation::default());
        (!sources.is_empty()).then_some(MeanInputs::Listed { name, list, sources, how })
    }

    /// What is said where a corpus is run: its inputs know nothing of the changes of this one.
    pub fn unchanged_corpus(&self) -> Option<&'static str> {
        let sentence = "What-if changes apply to this input only; the corpus is run without them";
        self.experiment.changes.iter().any(|change| change.on).then_some(sentence)
    }

    /// How many changes what is shown was made with.
    pub(super) fn n_changes(&self) -> usize {
        self.latest_capture().map_or(0, |capture| capture.computation().edits.len())
    }

    /// Changes its changes; whether they are to be run now.
    pub(super) fn change(&mut self, command: ChangeCommand) -> bool {
        let drag = if let ChangeCommand::Replace(_, _, drag) = command { Some(drag) } else { None };
        if drag.is_some() && self.drag != drag {
            // What the drag before led to may not have been run yet.
            self.undo.ran(&self.experiment, self.drag);
        }
        self.drag = drag;
        if !self.experiment.change(command) {
            return false;
        }
        // A slider is faster than a run: what is on its way arrives, and the newest follows.
        let waits = drag.is_some() && self.capture.is_pending();
        self.run_again |= waits;
        !waits
    }

    /// Switches off changes that mean nothing for what is run now, and says so.
    pub(super) fn put_changes_aside(&mut self, notices: &mut Notices) {
        // The changes of an example are about its own input, and so are those that came with it otherwise.
        if self.example.is_some() || self.changes_belong {
            return;
        }
        let Some(before) = self.undo.current() else { return };
        let n = self.experiment.put_aside(before);
        if n > 0 {
            let were = if n == 1 { "change was" } else { "changes were" };
            let details = "They refer to tokens, heads or layers of the previous run";
            notices.inform(Cause::run(self), format!("{n} {were} switched off"), details);
        }
    }

    /// Whether it is to be run again, because something was changed while a run was on its way.
    pub(super) fn takes_next_turn(&mut self) -> bool {
        std::mem::take(&mut self.run_again) && !self.capture.is_pending()
    }
}

impl Documents {
    /// What a document showed without its changes, where that is known.
    pub(super) fn unchanged(&self, document: &Document) -> Option<&Arc<Capture>> {
        let (plain, changed) = (self.find(document.plain?)?, document.latest_capture()?);
        if document.n_changes() == 0 {
            return None;
        }
        let capture = plain.latest_capture().filter(|_| plain.opened.is_none() && plain.n_changes() == 0)?;
        (capture.input() == changed.input() && capture.model() == changed.model()).then_some(capture)
    }

    /// Opens an unchanged copy of a document, unless there is one.
    fn add_plain(&mut self, id: DocumentId, notices: &mut Notices) -> Option<DocumentId> {
        let document = self.find(id)?;
        if document.plain.is_some_and(|plain| self.find(plain).is_some()) {
            return None;
        }
        if !self.has_room() {
            let summary = format!("{} runs are open, which is the most", Self::MAX);
            let details = "Close a run that you no longer need, to see the changed one beside the unchanged one";
            notices.inform(Cause::Full(Limited::Runs), summary, details);
            return None;
        }
        let is_of_it = document.undo.current() == Some(&document.experiment) && document.experiment.changes.is_empty();
        let is_run = is_of_it && !document.capture.is_pending();
        let plain = self.add_copy(id);
        if let Some(copy) = self.find_mut(plain).filter(|_| !is_run) {
            // What it shows is of something else, so it has to be run itself.
            copy.undo = Undo::default();
        }
        self.find_mut(id)?.plain = Some(plain);
        Some(plain)
    }

    /// Makes the unchanged run beside a changed one ask for the same but for the changes; one that was given another input
    /// is let go. Gives that run and whether its model is another now, where it has to be run.
    pub(super) fn follow_changed(&mut self, id: DocumentId) -> Option<(DocumentId, bool)> {
        let wanted = self.find(id)?.experiment.unchanged();
        for other in self.iter_mut().filter(|other| other.plain == Some(id)) {
            if other.experiment.unchanged() != wanted {
                other.plain = None;
            }
        }
        let document = self.find(id)?;
        let (model, place) = (document.model.clone(), (document.example, document.corpus_input));
        let plain = document.plain.filter(|_| !model.is_pending())?;
        let beside = self.find_mut(plain)?;
        let other_model = beside.model.latest().map(|it| it.id) != model.latest().map(|it| it.id);
        if !other_model && beside.undo.current() == Some(&wanted) {
            return None;
        }
        (beside.experiment, beside.model) = (wanted, model);
        (beside.example, beside.corpus_input) = place;
        Some((plain, other_model))
    }
}

impl Panes {
    /// Gets ready to change the run of a document, which is shown unchanged beside; `false` where it cannot be changed,
    /// which is said.
    pub(super) fn prepare_change(&mut self, id: DocumentId, documents: &mut Documents, notices: &mut Notices) -> bool {
        let Some(document) = documents.find(id) else { return false };
        if let Some(reason) = document.unchangeable() {
            notices.inform(Cause::run(document), reason, "");
            return false;
        }
        if document.experiment.changes.is_empty() {
            self.put_plain_beside(id, documents, notices);
        }
        // What follows, such as undo, speaks of what was changed.
        let shows_it = self.showing(id).first().copied();
        if let Some(pane) = shows_it.filter(|_| documents.of(self.active()).id != id) {
            self.activate(pane);
        }
        true
    }

    /// Opens a pane with an unchanged copy at the left of what is changed, unless there is one.
    pub(super) fn put_plain_beside(&mut self, id: DocumentId, documents: &mut Documents, notices: &mut Notices) {
        let Some(plain) = documents.add_plain(id, notices) else { return };
        let left = self.active_id();
        self.active_mut().linked = true;
        if let Some(right) = self.open_twin(Split::Right, notices) {
            let mut pending = None;
            if let Some(left) = self.get_mut(left) {
                left.document = plain;
                pending = left.pending;
            }
            // What is to be selected is selected in both.
            if let Some(right) = self.get_mut(right) {
                right.pending = pending;
            }
        }
    }
}
