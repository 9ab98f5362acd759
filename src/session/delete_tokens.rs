//! Tokens that are taken out of the text.

use std::ops::Range;

use super::{Document, Experiment};
use crate::ids::Side;

impl Document {
    /// The text without some of its tokens, and which of the three it is; or why they cannot be taken out, in words.
    pub(super) fn without_tokens(
        &self,
        side: Side,
        positions: &Range<usize>,
    ) -> Result<(WhichText, String), &'static str> {
        let Some(capture) = self.latest_capture().filter(|_| self.opened.is_none()) else {
            return Err("This capture comes from a file: run its input on a model to change it");
        };
        let tokens = capture.tokens(side).get(positions.clone()).unwrap_or_default();
        let (Some(first), Some(last)) = (tokens.first(), tokens.last()) else { return Err("There is no such token") };
        if tokens.iter().any(|token| token.span.is_empty() || token.segment != first.segment) {
            return Err("It is not in the text: the tokenizer or the model added it");
        }
        let experiment = &self.experiment;
        let (part, text) = match (side, first.segment) {
            (Side::Decoder, _) if experiment.target.trim().is_empty() => {
                return Err("The model wrote it: type the target text to delete words from it");
            }
            (Side::Decoder, _) => (WhichText::Target, experiment.target.trim()),
            (_, 0) => (WhichText::Text, experiment.text.as_str()),
            (_, _) => (WhichText::TextB, experiment.text_b.as_deref().unwrap_or_default()),
        };
        let read = [&capture.input().text, &capture.input().text_b, &capture.input().target][part as usize].as_deref();
        if read.is_some_and(|read| read != text) {
            return Err("The text was changed meanwhile: wait until it has been run");
        }
        let (Some(before), Some(after)) = (text.get(..first.span.start), text.get(last.span.end..)) else {
            return Err("It is part of a character, or the model wrote it");
        };
        // Of two spaces around a word one goes with it.
        let before = if after.is_empty() || after.starts_with(' ') { before.trim_end_matches(' ') } else { before };
        let left = format!("{before}{after}");
        let left = if before.is_empty() { left.trim_start().to_owned() } else { left };
        if left.trim().is_empty() { Err("No text would be left") } else { Ok((part, left)) }
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

impl Experiment {
    /// Makes what is left of one of its texts that text.
    pub(super) fn shorten(&mut self, part: WhichText, left: String) {
        match part {
            WhichText::Text => self.text = left,
            WhichText::TextB => self.text_b = Some(left),
            WhichText::Target => self.target = left,
        }
    }
}
