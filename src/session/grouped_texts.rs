//! Texts of an experiment as a model reads them, and groups of their tokens as brackets.

use std::ops::Range;

use super::{Cause, Document, Documents, Experiment, Grouping, Notices, Panes, delete_tokens::WhichText};
use crate::{
    capture::{Merging, groups::GroupedText},
    ids::{DocumentId, Side},
};

impl Experiment {
    /// One of its texts with its groups; brackets that do not pair are letters, as is everything where brackets do not
    /// group.
    pub(super) fn grouped(&self, part: WhichText) -> GroupedText {
        let written = match part {
            WhichText::Text => self.text.as_str(),
            WhichText::TextB => self.text_b.as_deref().unwrap_or_default(),
            WhichText::Target => self.target.trim(),
        };
        let grouped = if self.brackets { GroupedText::parse(written).ok() } else { None };
        grouped.unwrap_or_else(|| GroupedText { text: written.to_owned(), groups: Vec::new() })
    }

    /// Its three texts as a model reads them.
    pub(super) fn plain_texts(&self) -> [String; 3] {
        WhichText::ALL.map(|part| self.grouped(part).text)
    }

    /// A text without groups as it has to be written to be read as it is.
    pub(super) fn spelled(&self, text: String) -> String {
        if self.brackets { GroupedText { text, groups: Vec::new() }.to_string() } else { text }
    }

    /// Lets brackets group from now on; those that are there stay letters.
    pub(super) fn bracket(&mut self) {
        if self.brackets {
            return;
        }
        self.brackets = true;
        self.text = self.spelled(self.text.clone());
        self.text_b = self.text_b.clone().map(|text| self.spelled(text));
        self.target = self.spelled(self.target.clone());
    }

    /// Writes another one in the place of one of its texts.
    pub(super) fn rewrite(&mut self, part: WhichText, grouped: GroupedText) {
        let text = if self.brackets { grouped.to_string() } else { grouped.text };
        match part {
            WhichText::Text => self.text = text,
            WhichText::TextB => self.text_b = Some(text),
            WhichText::Target => self.target = text,
        }
    }
}

impl Document {
    /// The text with some of its tokens as one group, or with their groups taken apart, and which of the three it is; or
    /// why that cannot be, in words.
    pub(super) fn with_groups(
        &self,
        side: Side,
        positions: &Range<usize>,
        grouping: Grouping,
    ) -> Result<(WhichText, GroupedText), &'static str> {
        let (part, mut grouped, bytes) = self.bytes_of_tokens(side, positions)?;
        match grouping {
            Grouping::Together => grouped.group(bytes),
            Grouping::Apart if grouped.ungroup(&bytes) => {}
            Grouping::Apart => return Err("These tokens are in no group"),
        }
        Ok((part, grouped))
    }

    /// Whether what it reads, or shows, may have groups.
    pub(super) fn shows_groups(&self) -> bool {
        self.experiment.brackets || self.latest_capture().is_some_and(|capture| capture.has_groups())
    }

    /// Why tokens cannot be made one group, in words; `None` when they can.
    pub fn ungroupable(&self, side: Side, positions: &Range<usize>) -> Option<&'static str> {
        self.with_groups(side, positions, Grouping::Together).err()
    }

    /// Whether some of the tokens are in a group that can be taken apart.
    pub fn has_groups(&self, side: Side, positions: &Range<usize>) -> bool {
        self.with_groups(side, positions, Grouping::Apart).is_ok()
    }
}

impl Panes {
    /// Writes the brackets of a group into the text of a document, or takes them away; whether it is to be run.
    pub(super) fn group_tokens(
        &mut self,
        id: DocumentId,
        (side, positions): (Side, &Range<usize>),
        grouping: Grouping,
        documents: &mut Documents,
        notices: &mut Notices,
    ) -> bool {
        let Some(document) = documents.find(id) else { return false };
        let (part, text) = match document.with_groups(side, positions, grouping) {
            Ok(found) => found,
            Err(reason) => {
                notices.inform(Cause::Command, reason, "");
                return false;
            }
        };
        if documents.of(self.active()).id == id {
            self.leave_example(documents);
        }
        let Some(document) = documents.find_mut(id) else { return false };
        document.experiment.bracket();
        document.experiment.rewrite(part, text);
        self.merge_groups(id);
        true
    }

    /// Lets brackets in the texts of the active document group tokens, or be letters.
    pub(super) fn set_brackets(&mut self, brackets: bool, documents: &mut Documents) {
        self.leave_example(documents);
        let document = documents.of_mut(self.active());
        document.experiment.brackets = brackets;
        let id = document.id;
        if brackets {
            self.merge_groups(id);
        }
    }

    /// Shows the groups of a document as they were made.
    pub(super) fn merge_groups(&mut self, id: DocumentId) {
        for pane in self.iter_mut().filter(|pane| pane.document == id) {
            pane.options.reading.merging = Merging::WORDS;
        }
    }
}
