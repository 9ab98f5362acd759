//! Result of a method of the lab, shown in place of attention.

use std::sync::Arc;

use super::{
    Document, Documents, Effect, Pane, Panes, ViewKind,
    explanations::{Explanations, OVERLAY},
    jobs::Jobs,
};
use crate::{
    analysis::{
        explain::report::Report,
        reading::{Explained, Extent, Reading, family},
    },
    capture::{Capture, Merging},
    ids::HeadId,
    lab::{MethodCall, Target, TimeLimit},
};

/// A value of an answer of the laboratory.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueRef {
    pub ask: MethodCall,
    /// The output that it is about.
    pub target: Target,
    /// What people know the method as, with the options that tell it apart.
    pub title: String,
    pub name: String,
}

impl ValueRef {
    /// Whether both are the same value, of whatever stack or side.
    pub fn is_same(&self, other: &Self) -> bool {
        self.ask == other.ask && self.target == other.target && family(&self.name) == family(&other.name)
    }
}

/// What a pane shows in place of attention. It follows the run that is shown: after another one the question is asked
/// again, and until it is answered nothing is shown in its place.
#[derive(Clone, Debug)]
pub struct Substitute {
    pub value: ValueRef,
    /// The answer that it was taken from, and what is shown of it.
    shown: Option<(Arc<Report>, Explained)>,
    missing: Option<String>,
}

impl Substitute {
    fn new(value: ValueRef) -> Self {
        Self { value, shown: None, missing: None }
    }

    /// What is shown; `None` while the run that is shown is not explained yet.
    pub fn explained(&self) -> Option<&Explained> {
        self.shown.as_ref().map(|(_, explained)| explained)
    }

    /// What the method's value is called, and of which output where that is known.
    pub fn what(&self) -> String {
        self.explained().map_or_else(|| self.value.title.clone(), Explained::what)
    }

    /// Why nothing is shown, in words.
    pub fn missing(&self) -> String {
        self.missing.clone().unwrap_or_else(|| format!("{} of this run is being computed", self.value.title))
    }

    /// Takes what is known about the capture that is shown; `false` when it has to be asked for.
    fn follow(&mut self, known: &Explanations, capture: Option<&Arc<Capture>>) -> bool {
        let Some(capture) = capture else {
            (self.shown, self.missing) = (None, None);
            return true;
        };
        let Some(answer) = known.answer_to(capture.id(), &self.value.ask, self.value.target) else {
            (self.shown, self.missing) = (None, None);
            return false;
        };
        self.missing = answer.failure().map(|failure| format!("{}: {}", self.value.title, failure.summary));
        let Some(report) = answer.latest() else {
            self.shown = None;
            return true;
        };
        if self.shown.as_ref().is_none_or(|(of, _)| !Arc::ptr_eq(of, report)) {
            let explained = Explained::new(Arc::clone(report), &self.value.title, &self.value.name);
            if explained.is_none() {
                self.missing = Some(format!("{} has no such result for this input", self.value.title));
            }
            self.shown = explained.map(|explained| (Arc::clone(report), explained));
        }
        true
    }
}

impl Pane {
    /// What is shown in place of attention, once that is known for the run that is shown. Spaces are of attention
    /// alone.
    pub fn explained(&self) -> Option<&Explained> {
        self.overlay.as_ref().filter(|_| !self.view.facts().reads_corpus)?.explained()
    }

    /// What its numbers are of in the selected stack.
    pub fn explained_extent(&self) -> Option<Extent> {
        self.explained()?.extent(self.selection.stack())
    }

    /// A reading with attention, or with what is shown in its place.
    #[must_use]
    pub fn overlaid(&self, reading: Reading) -> Reading {
        match self.explained() {
            Some(explained) => explained.in_place_of(reading),
            None => reading,
        }
    }

    /// The reading of a figure of its view. Words are for patterns of tokens; while a view shows something else the
    /// choice waits, unseen.
    pub(super) fn drawn_reading(&self, capture: &Capture) -> Reading {
        let reading = self.overlaid(self.options.reading.of_head(capture, self.selection.head));
        let of_patches = capture.picture_side() == Some(self.selection.stack().query_side());
        let shows_none = self.view.facts().reads_corpus || self.view.facts().lies_on_picture && of_patches;
        Reading { merging: if shows_none { Merging::NONE } else { reading.merging }, ..reading }
    }

    /// What a file of its view is called: one of what is no attention says so by its name.
    pub(super) fn figure_name(&self) -> String {
        let view = self.view.name();
        self.explained().map_or_else(|| view.to_owned(), |it| format!("{} {view}", it.method().name))
    }

    /// Selects a stack that the overlay says something about.
    fn select_explained(&mut self, document: &Document) {
        let explained = self.overlay.as_ref().and_then(Substitute::explained);
        let (Some(explained), Some(capture)) = (explained, document.latest_capture()) else { return };
        if explained.extent(self.selection.stack()).is_some() {
            return;
        }
        let mut stacks = capture.model().stacks.iter().map(|stack| stack.kind);
        let found = stacks.find(|stack| explained.extent(*stack).is_some());
        if let Some(stack) = found {
            self.select(document, HeadId { stack, ..self.selection.head });
        }
    }
}

impl Panes {
    /// Shows a value in place of attention in the active pane, or attention again; in a view of its own where one is
    /// given.
    pub(super) fn show_overlay(&mut self, documents: &Documents, value: Option<ValueRef>, view: Option<ViewKind>) {
        self.change_active(documents, |pane, document| {
            pane.overlay = value.map(Substitute::new);
            if let Some(mut overlay) = pane.overlay.take() {
                overlay.follow(&pane.explanations, document.latest_capture());
                pane.overlay = Some(overlay);
                pane.select_explained(document);
            }
            if let Some(view) = view {
                pane.show_view(document, view);
            }
        });
    }

    /// Lets what panes show in place of attention follow the runs that they show.
    pub(super) fn explain_if_needed(&mut self, documents: &Documents, jobs: &mut Jobs) -> Vec<Effect> {
        let mut effects = Vec::new();
        for pane in self.iter_mut() {
            let Some(mut overlay) = pane.overlay.take() else { continue };
            let document = documents.of(pane);
            if !overlay.follow(&pane.explanations, document.latest_capture()) {
                let ValueRef { ask, target, .. } = overlay.value.clone();
                effects.extend(pane.explain(document, (OVERLAY, TimeLimit::DEFAULT), ask, target, jobs.next()));
            }
            pane.overlay = Some(overlay);
        }
        effects
    }
}
