//! What SigLIP does to a text before its `SentencePiece` model sees it. After `SiglipTokenizer.canonicalize_text`.

use std::ops::Range;

/// A text in lower case, without punctuation and spaces in a row.
#[derive(Debug, Default)]
pub(super) struct Canonical {
    pub text: String,
    /// Where each byte of it comes from.
    spans: Vec<Range<usize>>,
}

impl Canonical {
    /// `after` is what stands in front of it, which keeps one of the spaces at the beginning.
    pub fn of(source: &str, lower: bool, after: &str) -> Self {
        let mut canonical = Self::default();
        // Whether a letter is in lower case depends on its neighbours (a sigma at the end of a word).
        let lowered = if lower { lowered(source) } else { source.chars().map(String::from).collect() };
        for ((at, c), changed) in source.char_indices().zip(lowered) {
            let span = at..at + c.len_utf8();
            if is_space(c) || c == '▁' {
                let begins = canonical.text.is_empty() && after.is_empty();
                if !begins && !canonical.text.ends_with(' ') {
                    canonical.push(" ", &span);
                }
            } else if !c.is_ascii_punctuation() {
                canonical.push(&changed, &span);
            }
        }
        // Punctuation between two spaces leaves one.
        let end = canonical.text.trim_end_matches(' ').len();
        canonical.text.truncate(end);
        canonical.spans.truncate(end);
        canonical
    }

    /// The part of the source that bytes of the text come from.
    pub fn source(&self, part: Range<usize>) -> Range<usize> {
        let end = self.spans.last().map_or(0, |span| span.end);
        let spans =
            self.spans.get(part.start.min(self.spans.len())..part.end.min(self.spans.len())).unwrap_or_default();
        match (spans.first(), spans.last()) {
            (Some(first), Some(last)) => first.start..last.end,
            _ => end..end,
        }
    }

    fn push(&mut self, text: &str, span: &Range<usize>) {
        self.text.push_str(text);
        self.spans.resize(self.text.len(), span.clone());
    }
}

/// Each character in lower case as it is in its text.
fn lowered(source: &str) -> Vec<String> {
    let whole = source.to_lowercase();
    let mut rest = whole.chars();
    source.chars().map(|c| rest.by_ref().take(c.to_lowercase().count()).collect()).collect()
}

/// As Python has it.
fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1C}'..='\u{1F}').contains(&c)
}
