//! Two models that translate the same two texts, each from one to the other.

use std::sync::Arc;

use super::{Document, Effect, LabOptions, Pane, Session, Split};
use crate::{
    analysis::explain::report::Question,
    capture::Capture,
    ids::PaneId,
    lab::{are_two_directions, two_texts},
};

/// The column that aligns words.
const ALIGNMENT: &str = "alignment";

impl LabOptions {
    /// Links that were made by hand, to hold alignments against; none where there is no word of them.
    pub(super) fn set_gold(&mut self, links: String) {
        let links = (!links.trim().is_empty()).then_some(links);
        self.turned.entry(ALIGNMENT.to_owned()).or_default().insert("gold".to_owned(), links.into());
    }
}

impl Pane {
    fn aligns(&self) -> bool {
        self.view.explains() && self.options.lab.question == Question::Aligns
    }
}

impl Document {
    /// Its two texts with their places exchanged, without the tag that tells a translator the language.
    fn exchanged(&self) -> Option<(String, String)> {
        let [_, written] = two_texts(self.latest_capture()?)?;
        let (text, target) = (self.experiment.text.trim(), self.experiment.target.trim());
        let without_tag = text.strip_prefix(">>").and_then(|rest| Some(rest.split_once("<<")?.1.trim()));
        let target = if target.is_empty() { written.join(" ") } else { target.to_owned() };
        Some((target, without_tag.unwrap_or(text).to_owned()))
    }
}

impl Session {
    /// Lets panes that ask how words align know the run of the other direction.
    pub(super) fn pair_directions(&mut self) {
        let found: Vec<(PaneId, Option<Arc<Capture>>)> =
            self.panes.iter().filter(|pane| pane.aligns()).map(|pane| (pane.id, self.other_direction(pane))).collect();
        for (id, run) in found {
            if let Some(pane) = self.panes.get_mut(id) {
                pane.explanations.reverse = run;
            }
        }
    }

    fn other_direction(&self, pane: &Pane) -> Option<Arc<Capture>> {
        let here = self.document_of(pane);
        let run = here.latest_capture()?;
        // The unchanged run beside a changed one reads the same text.
        let others = self.documents.iter().filter(|other| other.id != here.id);
        let mut shown = others.filter_map(Document::latest_capture);
        shown.find(|other| are_two_directions(run, other)).cloned()
    }

    /// Opens a pane with the two texts exchanged, for a model that translates the other way.
    pub(super) fn open_other_direction(&mut self) -> Vec<Effect> {
        let Some((text, target)) = self.document().exchanged() else { return Vec::new() };
        // Both say why they refuse.
        if self.documents.len() >= Self::MAX_DOCUMENTS {
            self.detach();
            return Vec::new();
        }
        if self.split(Split::Right).is_none() {
            return Vec::new();
        }
        self.detach();
        // An example's options go with it, but for what is being asked.
        let question = self.panes.active().options.lab.question;
        self.leave_example();
        self.panes.active_mut().options.lab.question = question;
        let experiment = &mut self.document_mut().experiment;
        (experiment.text, experiment.target) = (text, target);
        let details =
            "Choose a model here that translates the other way; the alignment beside then combines both".to_owned();
        self.inform("The two texts were exchanged".to_owned(), details);
        self.run()
    }
}
