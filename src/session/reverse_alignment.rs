//! Two models that translate the same two texts, each from one to the other.

use std::sync::Arc;

use super::{Cause, Document, Documents, LabOptions, Notices, Pane, Panes, Split};
use crate::{
    analysis::explain::report::LabQuestion,
    capture::Capture,
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
        self.view.facts().shows_answers && self.options.question() == LabQuestion::Aligns
    }
}

impl Document {
    /// Its two texts with their places exchanged, without the tag that tells a translator the language.
    fn exchanged(&self) -> Option<(String, String)> {
        let [_, written] = two_texts(self.latest_capture()?)?;
        let (text, target) = (self.experiment.text.trim(), self.experiment.target.trim());
        let without_tag = text.strip_prefix(">>").and_then(|rest| Some(rest.split_once("<<")?.1.trim()));
        let target = match target {
            "" => self.experiment.spelled(written.join(" ")),
            target => target.to_owned(),
        };
        Some((target, without_tag.unwrap_or(text).to_owned()))
    }
}

impl Panes {
    /// Lets panes that ask how words align know the run of the other direction.
    pub(super) fn pair_directions(&mut self, documents: &Documents) {
        for pane in self.iter_mut().filter(|pane| pane.aligns()) {
            pane.explanations.reverse = other_direction(documents, documents.of(pane));
        }
    }

    /// Opens a pane with the two texts exchanged, for a model that translates the other way; whether there is now
    /// something to run.
    pub(super) fn open_other_direction(&mut self, documents: &mut Documents, notices: &mut Notices) -> bool {
        let Some((text, target)) = documents.of(self.active()).exchanged() else { return false };
        // Both say why they refuse.
        if !documents.has_room() {
            self.detach(documents, notices);
            return false;
        }
        if self.open_twin(Split::Right, notices).is_none() {
            return false;
        }
        self.detach(documents, notices);
        // An example's options go with it, but for what is being asked.
        let question = self.active().options.question();
        self.leave_example(documents);
        *self.active_mut().options.question_mut() = question;
        let experiment = &mut documents.of_mut(self.active()).experiment;
        (experiment.text, experiment.target) = (text, target);
        experiment.begun.clear();
        let cause = Cause::run(documents.of(self.active()));
        let details = "Choose a model here that translates the other way; the alignment beside then combines both";
        notices.inform(cause, "The two texts were exchanged", details);
        true
    }
}

/// The run of the other direction that another document shows.
fn other_direction(documents: &Documents, here: &Document) -> Option<Arc<Capture>> {
    let run = here.latest_capture()?;
    // The unchanged run beside a changed one reads the same text.
    let others = documents.iter().filter(|other| other.id != here.id);
    let mut shown = others.filter_map(Document::latest_capture);
    shown.find(|other| are_two_directions(run, other)).cloned()
}
