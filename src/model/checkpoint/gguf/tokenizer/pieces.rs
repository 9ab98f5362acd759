//! The pieces of a vocabulary with their kinds and scores, as they lie in a GGUF file.

use std::collections::HashMap;

use super::{MetaFacts, MetaValue};

/// What a piece is for, by the numbers of `llama_token_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PieceUse {
    Normal,
    Unknown,
    Control,
    /// Found in a text before it is cut.
    UserDefined,
    Unused,
    Byte,
    /// Fills the list up to the rows of the embedding; no tokenizer has it.
    Filler,
}

/// All pieces; the place is the id.
pub(super) struct PieceTable {
    /// `tokenizer.ggml.model`.
    pub model: String,
    pieces: Vec<(String, PieceUse)>,
    /// As many as there are pieces, or none.
    pub scores: Vec<f64>,
    ids: HashMap<String, u32>,
}

impl PieceTable {
    /// # Errors
    /// When there is no list of pieces, another list is shorter, or a piece is there twice.
    pub fn of(facts: MetaFacts<'_>, model: &str) -> Result<Self, String> {
        let key = |name: &str| format!("tokenizer.ggml.{name}");
        let tokens = facts.get(&key("tokens")).and_then(MetaValue::as_texts);
        let tokens = tokens.ok_or("it has no list of pieces (tokenizer.ggml.tokens)")?;
        let numbers = |name: &str| facts.get(&key(name)).and_then(MetaValue::as_numbers);
        let kinds = match numbers("token_type") {
            None => Vec::new(),
            Some(kinds) => kinds.integers().ok_or("its kinds of pieces are no whole numbers")?,
        };
        let scores = match numbers("scores") {
            None => Vec::new(),
            Some(scores) => scores.floats().ok_or("its scores are no numbers")?,
        };
        for (what, n) in [("kinds of pieces", kinds.len()), ("scores", scores.len())] {
            if n > 0 && n < tokens.len() {
                return Err(format!("it has {} pieces and {n} {what}", tokens.len()));
            }
        }
        let mut table = Self { model: model.to_owned(), pieces: Vec::new(), scores, ids: HashMap::new() };
        let restored = restored(facts, model, tokens.iter());
        for (id, token) in (0u32..).zip(tokens.iter()) {
            let kind = kinds.get(id as usize).copied();
            let (text, kind) = match restored.get(&id) {
                Some(text) => (text.clone(), PieceUse::Control),
                None => (table.spelled(token, kind), piece_use(id, token, kind)),
            };
            if kind != PieceUse::Filler && table.ids.insert(text.clone(), id).is_some() {
                return Err(format!("the piece “{text}” is there twice"));
            }
            table.pieces.push((text, kind));
        }
        Ok(table)
    }

    /// A piece as its own library spells it.
    fn spelled(&self, token: &str, kind: Option<i64>) -> String {
        match self.model.as_str() {
            // Spaces in tokens of a user were written as the text has them.
            "llama" | "gemma4" if kind == Some(4) && token.trim_matches(' ').is_empty() => token.replace(' ', "▁"),
            "bert" if kind != Some(3) => of_word(token),
            _ => token.to_owned(),
        }
    }

    pub const fn len(&self) -> usize {
        self.pieces.len()
    }

    pub fn text(&self, id: u32) -> Option<&str> {
        self.pieces.get(id as usize).map(|(text, _)| text.as_str())
    }

    pub fn id(&self, text: &str) -> Option<u32> {
        self.ids.get(text).copied()
    }

    /// Ids, texts and uses without those that only fill the list.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &str, PieceUse)> {
        let all = (0..).zip(&self.pieces).map(|(id, (text, kind))| (id, text.as_str(), *kind));
        all.filter(|(_, _, kind)| *kind != PieceUse::Filler)
    }

    /// Whether there is a piece for each byte.
    pub fn has_bytes(&self) -> bool {
        (0..=u8::MAX).all(|byte| self.ids.contains_key(&format!("<0x{byte:02X}>")))
    }
}

/// Pieces that the converter writes as filling: the mask of XLM-R, and T5's `<extra_id_…>`, which count down.
fn restored<'a>(facts: MetaFacts<'_>, model: &str, tokens: impl Iterator<Item = &'a str>) -> HashMap<u32, String> {
    const N_EXTRA: usize = 100;
    let has_extra = matches!(facts.architecture(), "t5" | "t5encoder");
    let mask = facts.id("mask_token_id");
    let mut extra = (0..N_EXTRA).rev().filter(|_| has_extra);
    let fillers = (0u32..).zip(tokens).filter(|(id, token)| model == "t5" && is_filler(*id, token));
    let text = |(id, _): (u32, &str)| match extra.next() {
        _ if Some(id) == mask => Some((id, "<mask>".to_owned())),
        Some(n) => Some((id, format!("<extra_id_{n}>"))),
        None => None,
    };
    fillers.filter_map(text).collect()
}

fn is_filler(id: u32, token: &str) -> bool {
    token.strip_prefix("[PAD").and_then(|rest| rest.strip_suffix(']')).is_some_and(|n| n.parse() == Ok(id))
}

fn piece_use(id: u32, token: &str, kind: Option<i64>) -> PieceUse {
    match kind {
        _ if token.is_empty() => PieceUse::Filler,
        Some(4 | 5) if is_filler(id, token) => PieceUse::Filler,
        Some(2) => PieceUse::Unknown,
        Some(3) => PieceUse::Control,
        Some(4) => PieceUse::UserDefined,
        Some(5) => PieceUse::Unused,
        Some(6) => PieceUse::Byte,
        _ => PieceUse::Normal,
    }
}

/// A piece of `WordPiece`: in the file the beginning of a word is marked, in a vocabulary what goes on.
fn of_word(token: &str) -> String {
    match token.strip_prefix('▁') {
        Some(first) => first.to_owned(),
        // Early versions of the converter left these as they were.
        None if token.starts_with('[') && token.ends_with(']') && token.len() > 2 => token.to_owned(),
        None => format!("##{token}"),
    }
}
