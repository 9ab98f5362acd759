//! Tokens that are taken out of the text.

use std::ops::Range;

use super::Document;
use crate::{
    capture::{Capture, groups::GroupedText},
    ids::Side,
};

impl Document {
    /// The text that tokens are of, which of the three it is, and their bytes in it as it is read; or why they have no
    /// place there that could be changed, in words.
    pub(super) fn bytes_of_tokens(
        &self,
        side: Side,
        positions: &Range<usize>,
    ) -> Result<(WhichText, GroupedText, Range<usize>), &'static str> {
        let Some(capture) = self.latest_capture().filter(|_| self.opened.is_none()) else {
            return Err("This capture comes from a file: run its input on a model to change it");
        };
        let tokens = capture.tokens(side).get(positions.clone()).unwrap_or_default();
        let (Some(first), Some(last)) = (tokens.first(), tokens.last()) else { return Err("There is no such token") };
        if tokens.iter().any(|token| token.span.is_empty() || token.segment != first.segment) {
            return Err("It is not in the text: the tokenizer or the model added it");
        }
        let part = match (side, first.segment) {
            (Side::Decoder, _) if self.experiment.target.trim().is_empty() => {
                return Err("The model wrote it: type the target text to change words of it");
            }
            (Side::Decoder, _) => WhichText::Target,
            (_, 0) => WhichText::Text,
            (_, _) => WhichText::TextB,
        };
        let grouped = self.experiment.grouped(part);
        let bytes = first.span.start..last.span.end;
        if let (WhichText::Text, Some(said)) = (part, &capture.input().content) {
            return Self::bytes_in_template(capture, said, grouped, bytes);
        }
        let read = [&capture.input().text, &capture.input().text_b, &capture.input().target][part as usize].as_deref();
        if read.is_some_and(|read| read != grouped.text) {
            return Err("The text was changed meanwhile: wait until it has been run");
        }
        if grouped.text.get(bytes.clone()).is_none() {
            return Err("It is part of a character, or the model wrote it");
        }
        Ok((part, grouped, bytes))
    }

    /// The same of tokens of a text in a chat template: `said` is where in it stands what was said, last the text.
    fn bytes_in_template(
        capture: &Capture,
        said: &[Range<usize>],
        grouped: GroupedText,
        bytes: Range<usize>,
    ) -> Result<(WhichText, GroupedText, Range<usize>), &'static str> {
        let (own, read) = (said.last().cloned().unwrap_or_default(), capture.input().text.as_deref());
        if !(own.start <= bytes.start && bytes.end <= own.end) {
            return Err("It is not in the text: the chat template wrote it, or the system says it");
        }
        if read.and_then(|read| read.get(own.clone())) != Some(grouped.text.trim()) {
            return Err("The text was changed meanwhile: wait until it has been run");
        }
        let trimmed = grouped.text.len() - grouped.text.trim_start().len();
        let bytes = bytes.start - own.start + trimmed..bytes.end - own.start + trimmed;
        if grouped.text.get(bytes.clone()).is_none() {
            return Err("It is part of a character, or the model wrote it");
        }
        Ok((WhichText::Text, grouped, bytes))
    }

    /// The text without some of its tokens, and which of the three it is; or why they cannot be taken out, in words.
    pub(super) fn without_tokens(
        &self,
        side: Side,
        positions: &Range<usize>,
    ) -> Result<(WhichText, GroupedText), &'static str> {
        let (part, mut left, mut bytes) = self.bytes_of_tokens(side, positions)?;
        let (before, after) = (&left.text[..bytes.start], &left.text[bytes.end..]);
        // Of two spaces around a word one goes with it.
        if after.is_empty() || after.starts_with(' ') {
            bytes.start = before.trim_end_matches(' ').len();
        }
        if bytes.start == 0 {
            bytes.end += after.len() - after.trim_start().len();
        }
        left.remove(&bytes);
        if left.text.trim().is_empty() { Err("No text would be left") } else { Ok((part, left)) }
    }

    /// Why tokens cannot be taken out of the text, in words; `None` when they can.
    pub fn undeletable(&self, side: Side, positions: &Range<usize>) -> Option<&'static str> {
        self.without_tokens(side, positions).err()
    }
}

/// Which text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WhichText {
    Text,
    TextB,
    Target,
}

impl WhichText {
    pub const ALL: [Self; 3] = [Self::Text, Self::TextB, Self::Target];
}
