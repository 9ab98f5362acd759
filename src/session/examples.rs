//! Opening an example: one click changes model, input and view.

use super::{
    Change, Document, Documents, Effect, Experiment, Focus, HeadSet, Notices, Pane, Panes, PendingSelection, Split,
    ViewKind,
    gallery::{EXAMPLES, Example, ExampleInput, by_topic},
};
use crate::{
    analysis::detect::Detector,
    capture::Merging,
    ids::DocumentId,
    model::ImageSource,
    protocol::{LoadedModel, ModelSource},
};

/// The neighbour of an example, in the order of the gallery and around its ends.
pub(super) fn neighbour(of: Option<usize>, forward: bool) -> usize {
    let order: Vec<usize> = by_topic().map(|(idx, _)| idx).collect();
    let open = order.iter().position(|idx| of == Some(*idx));
    let next = match (open, forward) {
        (Some(place), true) => (place + 1) % order.len(),
        (None, true) => 0,
        (Some(place), false) => (place + order.len() - 1) % order.len(),
        (None, false) => order.len() - 1,
    };
    order[next]
}

impl Document {
    /// The example whose run is shown, by its index, whatever is looked at of it.
    pub fn example_run(&self) -> Option<usize> {
        self.latest_capture()?;
        let experiment = &self.experiment;
        let is_its_own = |example: &Example| {
            experiment.model.as_ref() == Some(&example.source()) && experiment.changes == example.interventions()
        };
        let is_run = self.shown_experiment() == experiment;
        self.example.filter(|idx| is_run && EXAMPLES.get(*idx).is_some_and(is_its_own))
    }

    /// Gets ready to read an example, but for its changes; whether its model is there.
    pub(super) fn take_example(&mut self, idx: usize, example: &Example) -> bool {
        self.example = Some(idx);
        self.corpus_input = None;
        self.experiment.write_anew(false);
        self.experiment.changes.clear();
        example.fill(&mut self.experiment);
        let source = example.source();
        !self.model.is_pending() && self.model.latest().is_some_and(|model| model.source == source)
    }
}

impl Panes {
    /// Gets ready to show an example in the active pane, and in those of the unchanged run beside it.
    pub(super) fn show_example(&mut self, example: &Example, documents: &mut Documents) -> Vec<Effect> {
        let document = documents.of(self.active());
        let is_beside = document.plain.is_some_and(|plain| self.shows(plain));
        let keeps_plain = is_beside && !example.changes.is_empty();
        let id = document.id;
        let mut effects = if keeps_plain { Vec::new() } else { self.close_plain(id, documents) };
        effects.extend(self.close_others(id, documents));
        let document = documents.of(self.active());
        let (without_corpus, plain) = (document.corpus.is_none(), document.plain);
        let active = self.active_id();
        for pane in self.iter_mut().filter(|pane| pane.id == active || Some(pane.document) == plain) {
            pane.show_example(example, without_corpus);
        }
        effects
    }

    /// Closes what was opened beside the example of a document, with its panes.
    fn close_others(&mut self, id: DocumentId, documents: &mut Documents) -> Vec<Effect> {
        let shown = documents.find(id).and_then(|document| document.example);
        let Some(example) = shown.filter(|idx| !EXAMPLES[*idx].beside.is_empty()) else { return Vec::new() };
        let others = documents.iter().filter(|other| other.id != id && other.example == Some(example));
        let others: Vec<DocumentId> = others.map(|other| other.id).collect();
        others.into_iter().flat_map(|other| self.close_with_panes(other, id, documents)).collect()
    }

    /// Opens a pane for each other model that reads the example of the active document; their documents with what they
    /// are to load. The active pane stays the active one.
    pub(super) fn put_others_beside(
        &mut self,
        example: &Example,
        documents: &mut Documents,
        notices: &mut Notices,
    ) -> Vec<(DocumentId, ModelSource)> {
        let (first, pending) = (self.active_id(), self.active().pending);
        let mut others = Vec::new();
        for (split, name) in [Split::Right, Split::Below, Split::Right].into_iter().zip(example.beside) {
            self.active_mut().linked = true;
            if !documents.has_room() || self.open_twin(split, notices).is_none() {
                break;
            }
            self.detach(documents, notices);
            self.active_mut().pending = pending;
            others.push((self.active().document, ModelSource::Bundled((*name).to_owned())));
        }
        self.activate(first);
        others
    }

    /// A bundled model that has nothing to read yet reads its first example, in the head that shows something of it,
    /// unless the user asked for another one.
    pub(super) fn show_first_example(&mut self, id: DocumentId, model: &LoadedModel, documents: &mut Documents) {
        let ModelSource::Bundled(name) = &model.source else { return };
        let plain = |example: &Example| example.model == name && example.changes.is_empty() && example.asks.is_none();
        let Some((idx, example)) = EXAMPLES.iter().enumerate().find(|(_, example)| plain(example)) else { return };
        let is_asked = |pane: &Pane| pane.pending.is_some_and(|pending| pending != PendingSelection::default());
        let is_free = !self.iter().any(|pane| pane.document == id && is_asked(pane));
        let Some(document) = documents.find_mut(id) else { return };
        let experiment = &mut document.experiment;
        if !experiment.text.trim().is_empty() || experiment.image.is_some() {
            return;
        }
        example.fill(experiment);
        if is_free && document.corpus.is_none() {
            document.example = Some(idx);
            for pane in self.iter_mut().filter(|pane| pane.document == id) {
                pane.show_example(example, true);
            }
        }
    }

    /// A model that is opened for the first time shows all heads, those first that look at more than the first token,
    /// unless something else was asked for.
    pub(super) fn look_over(&mut self, id: DocumentId) {
        let pane =
            if self.active().document == id { Some(self.active_id()) } else { self.showing(id).first().copied() };
        let first_look = PendingSelection {
            view: Some(ViewKind::OF_HEADS),
            sort_by: Some(Detector::Content),
            ..PendingSelection::default()
        };
        if let Some(pane) = pane.and_then(|pane| self.get_mut(pane)) {
            pane.pending.get_or_insert(first_look);
        }
    }

    /// What is shown in the active document is no longer the example, nor an input of the corpus.
    pub(super) fn leave_example(&mut self, documents: &mut Documents) {
        let document = documents.of_mut(self.active());
        document.corpus_input = None;
        let Some(example) = document.example.take().and_then(|idx| EXAMPLES.get(idx)) else { return };
        // What the example made the model write would be forced on another text as well.
        let target = &mut document.experiment.target;
        if example.target.is_some_and(|forced| forced == target.as_str()) {
            target.clear();
        }
        let (id, plain) = (document.id, document.plain);
        for pane in self.iter_mut().filter(|pane| pane.document == id || Some(pane.document) == plain) {
            pane.leave_example();
        }
    }
}

impl Example {
    /// Where its model comes from.
    pub(super) fn source(&self) -> ModelSource {
        ModelSource::Bundled(self.model.to_owned())
    }

    /// Whether it looks the same as when it opened, in this pane.
    fn stands(&self, pane: &Pane) -> bool {
        let selection = &pane.selection;
        let is_head = |(layer, head)| {
            (selection.head.layer, selection.head.head) == (layer, head)
                && selection.heads_on() == HeadSet::only(selection.head.head)
        };
        pane.view == self.view
            && pane.own_options.is_some()
            && self.stack.is_none_or(|stack| selection.stack() == stack)
            && self.head.is_none_or(is_head)
            && selection.pinned == (Focus { query: self.query, key: None })
    }

    /// Its changes, all of them made.
    pub(super) fn interventions(&self) -> Vec<Change> {
        self.edits().into_iter().map(|edit| Change { edit: edit.into(), on: true }).collect()
    }

    /// Makes its input what is to be read.
    fn fill(&self, experiment: &mut Experiment) {
        self.target.unwrap_or_default().clone_into(&mut experiment.target);
        match self.input {
            ExampleInput::Text(text) => {
                text.clone_into(&mut experiment.text);
                (experiment.text_b, experiment.excerpt, experiment.brackets) = (None, None, false);
            }
            ExampleInput::Sample(name) => experiment.image = Some(ImageSource::Bundled(name.to_owned())),
        }
    }
}

impl Pane {
    /// The example that is shown as it opened, by its index; none in the panes beside.
    pub fn standing_example(&self, document: &Document) -> Option<usize> {
        document.example_run().filter(|idx| EXAMPLES[*idx].stands(self))
    }

    /// Gets ready to show an example.
    fn show_example(&mut self, example: &Example, without_corpus: bool) {
        // What was held in another input means nothing in this one.
        self.selection.pinned = Focus::NONE;
        self.selection.draw(HeadSet::ALL);
        self.minus = None;
        self.overlay = None;
        // An example is seen as it was meant; the user's own options come back after it.
        let options = std::mem::take(&mut self.options);
        self.own_options.get_or_insert(options);
        self.options.reading.merging = Merging::words_if(example.words);
        *self.options.placing_mut() = example.placing;
        self.options.image.color_by(example.patch_colors);
        // It is about its own input.
        *self.options.corpus_mut() = without_corpus;
        self.pending = Some(PendingSelection {
            view: Some(example.view),
            stack: example.stack,
            layer: example.head.map(|(layer, _)| layer),
            head: example.head.map(|(_, head)| head),
            query: example.query,
            asked: example.asks,
            ..PendingSelection::default()
        });
    }
}
