//! Opening an example: one click changes model, input and view.

use super::{
    Change, Effect, Experiment, Focus, HeadSet, Pane, PendingSelection, Session,
    gallery::{EXAMPLES, Example, ExampleInput, by_topic},
};
use crate::{
    ids::DocumentId,
    model::ImageSource,
    protocol::{LoadedModel, ModelSource},
};

impl Session {
    /// Opens the neighbour of the open example, in the order of the gallery and around its ends.
    pub(super) fn step_example(&mut self, forward: bool) -> Vec<Effect> {
        let order: Vec<usize> = by_topic().map(|(idx, _)| idx).collect();
        let open = order.iter().position(|idx| self.document().example == Some(*idx));
        let next = match (open, forward) {
            (Some(place), true) => (place + 1) % order.len(),
            (None, true) => 0,
            (Some(place), false) => (place + order.len() - 1) % order.len(),
            (None, false) => order.len() - 1,
        };
        self.open_example(order[next])
    }

    pub(super) fn open_example(&mut self, idx: usize) -> Vec<Effect> {
        let Some(example) = EXAMPLES.get(idx) else { return Vec::new() };
        // A changed run and the plain one beside it are one example.
        let changing = self.changing().id;
        let shows_it = self.panes.iter().find(|pane| pane.document == changing).map(|pane| pane.id);
        self.panes.activate(shows_it.unwrap_or(self.panes.active_id()));
        let id = self.document().id;
        let is_beside = self.document().plain.is_some_and(|plain| self.panes.iter().any(|it| it.document == plain));
        let keeps_plain = is_beside && !example.changes.is_empty();
        let mut effects = if keeps_plain { Vec::new() } else { self.close_plain(id) };
        let (without_corpus, plain) = (self.document().corpus.is_none(), self.document().plain);
        let active = self.panes.active_id();
        for pane in self.panes.iter_mut().filter(|pane| pane.id == active || Some(pane.document) == plain) {
            pane.show_example(example, without_corpus);
        }
        let document = self.document_mut();
        document.example = Some(idx);
        document.corpus_input = None;
        let experiment = &mut document.experiment;
        experiment.continued = false;
        experiment.changes.clear();
        example.fill(experiment);
        let source = ModelSource::Bundled(example.model.to_owned());
        let is_there =
            !document.model.is_pending() && document.model.latest().is_some_and(|model| model.source == source);
        if !example.changes.is_empty() {
            self.put_plain_beside(id);
            let changes = example.edits().into_iter().map(|edit| Change { edit: edit.into(), on: true });
            self.document_mut().experiment.changes = changes.collect();
        }
        effects.extend(if is_there { self.run() } else { self.load(source) });
        effects
    }
}

impl Session {
    /// A bundled model that has nothing to read yet reads its first example, in the head that shows something of it,
    /// unless the user asked for another one.
    pub(super) fn show_first_example(&mut self, id: DocumentId, model: &LoadedModel) {
        let ModelSource::Bundled(name) = &model.source else { return };
        let plain = |example: &Example| example.model == name && example.changes.is_empty() && example.asks.is_none();
        let Some((idx, example)) = by_topic().find(|(_, example)| plain(example)) else { return };
        let is_asked = |pane: &Pane| pane.pending.is_some_and(|pending| pending != PendingSelection::default());
        let is_free = !self.panes.iter().any(|pane| pane.document == id && is_asked(pane));
        let Some(document) = self.find_document_mut(id) else { return };
        let experiment = &mut document.experiment;
        if !experiment.text.trim().is_empty() || experiment.image.is_some() {
            return;
        }
        example.fill(experiment);
        if is_free && document.corpus.is_none() {
            document.example = Some(idx);
            for pane in self.panes.iter_mut().filter(|pane| pane.document == id) {
                pane.show_example(example, true);
            }
        }
    }
}

impl Example {
    /// Makes its input what is to be read.
    fn fill(&self, experiment: &mut Experiment) {
        self.target.unwrap_or_default().clone_into(&mut experiment.target);
        match self.input {
            ExampleInput::Text(text) => {
                text.clone_into(&mut experiment.text);
                (experiment.text_b, experiment.excerpt) = (None, None);
            }
            ExampleInput::Sample(name) => experiment.image = Some(ImageSource::Bundled(name.to_owned())),
        }
    }
}

impl Pane {
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
        // It is about its own input.
        self.options.scatter.corpus = without_corpus;
        self.pending = Some(PendingSelection {
            view: Some(example.view),
            stack: example.stack,
            layer: example.head.map(|(layer, _)| layer),
            head: example.head.map(|(_, head)| head),
            query: example.query,
            key: None,
            space: None,
            asked: example.asks,
        });
    }
}
