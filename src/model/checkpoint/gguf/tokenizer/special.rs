//! Pieces with a role: what begins and ends a text, and what ends a written one.

use serde_json::{Value, json};

use super::{
    MetaFacts,
    pieces::{PieceTable, PieceUse},
    words,
};

/// Texts of pieces that end a turn, where a file names none; those of llama.cpp's own list.
const ENDS_OF_TURNS: [&str; 14] = [
    "<|eot_id|>",
    "<|im_end|>",
    "<|end|>",
    "<|return|>",
    "<|call|>",
    "<|flush|>",
    "<|calls|>",
    "<end_of_turn>",
    "<|endoftext|>",
    "<|eom_id|>",
    "<EOT>",
    "<|end_of_text|>",
    "<end_of_utterance>",
    "<turn|>",
];

/// Ids by role, and which of them stand around a text.
#[derive(Debug)]
pub(super) struct SpecialPieces {
    pub bos: Option<u32>,
    pub eos: Option<u32>,
    pub unknown: Option<u32>,
    pub sep: Option<u32>,
    pub cls: Option<u32>,
    pad: Option<u32>,
    pub mask: Option<u32>,
    /// Whether a text begins with `bos`, ends with `eos`, and two are held apart by one more `eos`.
    pub begins: bool,
    pub ends: bool,
    pub separates: bool,
    /// All that end a written text.
    stops: Vec<u32>,
}

impl SpecialPieces {
    /// What keys say, else what llama.cpp takes for granted.
    pub fn of(facts: MetaFacts<'_>, table: &PieceTable) -> Self {
        let is_pieces = table.model == "llama";
        let known = |id: u32| table.text(id).filter(|text| !text.is_empty()).map(|_| id);
        let role = |name: &str| facts.id(name).and_then(known);
        let or_usual = |name: &str, usual: u32| role(name).or_else(|| is_pieces.then_some(usual).and_then(known));
        let by_text = |text: &str| (table.model == "bert").then(|| table.id(text)).flatten();
        let (bos, eos) = (or_usual("bos_token_id", 1), or_usual("eos_token_id", 2));
        let unknown = role("unknown_token_id").or_else(|| by_text("[UNK]"));
        let of_kind = || table.iter().find(|(_, _, kind)| *kind == PieceUse::Unknown).map(|(id, ..)| id);
        let pre = facts.text(words::PRE).unwrap_or_default();
        let flag = |name: &str, usual: bool| facts.flag(&format!("tokenizer.ggml.{name}")).unwrap_or(usual);
        // For Gemma 4 llama.cpp begins with it even where the file says no; the original tokenizer does not.
        let begins = flag("add_bos_token", is_pieces || words::begins(pre)) && bos.is_some() && table.model != "gemma4";
        let ends = flag("add_eos_token", table.model == "t5") && eos.is_some();
        Self {
            bos,
            eos,
            unknown: unknown.or_else(of_kind),
            sep: role("seperator_token_id").or_else(|| by_text("[SEP]")).or(eos),
            cls: role("cls_token_id").or_else(|| by_text("[CLS]")).or(bos),
            pad: role("padding_token_id").or_else(|| by_text("[PAD]")),
            mask: role("mask_token_id").or_else(|| by_text("[MASK]")),
            begins,
            ends,
            separates: flag("add_sep_token", words::separates(pre)) && begins && ends,
            stops: stops(facts, table, eos),
        }
    }

    /// Roles of transformers with their ids.
    pub fn roles(&self) -> Vec<(&'static str, u32)> {
        let roles = [
            ("bos_token", self.bos),
            ("eos_token", self.eos),
            ("unk_token", self.unknown),
            ("sep_token", self.sep),
            ("pad_token", self.pad),
            ("cls_token", self.cls),
            ("mask_token", self.mask),
        ];
        roles.into_iter().filter_map(|(role, id)| Some((role, id?))).collect()
    }

    /// `generation_config.json`.
    pub fn generation(&self) -> Value {
        let mut generation = json!({});
        let ids = [("bos_token_id", self.bos), ("pad_token_id", self.pad)];
        for (key, id) in ids {
            if let Some(id) = id {
                generation[key] = json!(id);
            }
        }
        match self.stops.as_slice() {
            [] => {}
            [only] => generation["eos_token_id"] = json!(only),
            stops => generation["eos_token_id"] = json!(stops),
        }
        generation
    }
}

/// The end of a text, of a turn and of a message; of a model for conversations also what its template ends turns with.
fn stops(facts: MetaFacts<'_>, table: &PieceTable, eos: Option<u32>) -> Vec<u32> {
    let named = ["eot_token_id", "eom_token_id"].into_iter().filter_map(|role| facts.id(role));
    let mut stops: Vec<u32> = Vec::new();
    let template = facts.text("tokenizer.chat_template").unwrap_or_default();
    // A message of gpt-oss ends in one of these; “<|end|>” is between its parts.
    let has_parts = table.id("<|call|>").is_some() || table.id("<|calls|>").is_some();
    let of_template =
        ENDS_OF_TURNS.iter().filter(|text| template.contains(**text) && !(has_parts && **text == "<|end|>"));
    let of_template = of_template.filter_map(|text| table.id(text));
    for id in eos.into_iter().chain(named).chain(of_template) {
        if (id as usize) < table.len() && !stops.contains(&id) {
            stops.push(id);
        }
    }
    stops
}
