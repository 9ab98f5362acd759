//! Opening an example: one click changes model, input and view.

use super::{
    Effect, Focus, HeadSet, PendingSelection, Session,
    gallery::{EXAMPLES, ExampleInput, by_topic},
};
use crate::worker::{ImageSource, ModelSource};

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
        let without_corpus = self.document().corpus.is_none();
        let pane = self.panes.active_mut();
        // What was held in another input means nothing in this one.
        pane.selection.pinned = Focus::NONE;
        pane.selection.heads_on = HeadSet::ALL;
        pane.minus = None;
        // An example is seen as it was meant; the user's own options come back after it.
        let options = std::mem::take(&mut pane.options);
        pane.own_options.get_or_insert(options);
        pane.pending = Some(PendingSelection {
            view: Some(example.view),
            stack: example.stack,
            layer: example.head.map(|(layer, _)| layer),
            head: example.head.map(|(_, head)| head),
            query: example.query,
            key: None,
            space: None,
        });

        // It is about its own input.
        pane.options.scatter.corpus = without_corpus;
        let document = self.document_mut();
        document.example = Some(idx);
        document.corpus_input = None;
        let experiment = &mut document.experiment;
        experiment.continued = false;
        experiment.changes.clear();
        example.target.unwrap_or_default().clone_into(&mut experiment.target);
        match example.input {
            ExampleInput::Text(text) => {
                text.clone_into(&mut experiment.text);
                experiment.text_b = None;
            }
            ExampleInput::Sample(name) => experiment.image = Some(ImageSource::Bundled(name.to_owned())),
        }
        let source = ModelSource::Bundled(example.model.to_owned());
        if !document.model.is_pending() && document.model.latest().is_some_and(|model| model.source == source) {
            self.run()
        } else {
            self.load(source)
        }
    }
}
