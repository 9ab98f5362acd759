//! The ids that frame a text. What else rules a written text is `Decoding`'s.

use serde_json::Value;

use super::{convention::Convention, settings::SmallFiles};

/// Special ids of a checkpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpecialIds {
    pub bos: Option<u32>,
    /// Any of these ends a generated text.
    pub eos: Vec<u32>,
    pub pad: Option<u32>,
    /// What the decoder of an encoder–decoder model reads first.
    pub decoder_start: Option<u32>,
    /// What it must write first, such as a language code.
    pub forced_bos: Option<u32>,
}

impl SpecialIds {
    /// From `generation_config.json`, else `config.json`, else the tokens that the tokenizer names.
    pub(super) fn new(settings: &SmallFiles, id_of: impl Fn(&str) -> Option<u32>) -> Self {
        let named = |role: &str| settings.token(role).and_then(|token| id_of(&token.content));
        let first = |key: &str| ids(settings, key).first().copied();
        let bos = first("bos_token_id").or_else(|| named("bos_token"));
        let mut eos = ids(settings, "eos_token_id");
        if eos.is_empty() {
            eos.extend(named("eos_token"));
        }
        let pad = first("pad_token_id").or_else(|| named("pad_token"));
        let flag = settings.model.get("is_encoder_decoder").and_then(Value::as_bool);
        let from_family = match settings.convention {
            Convention::T5 | Convention::Marian => pad,
            Convention::MBart => settings.text("tgt_lang").and_then(&id_of),
            _ if flag == Some(true) => bos,
            _ => None,
        };
        Self {
            bos,
            eos,
            pad,
            decoder_start: first("decoder_start_token_id").or(from_family),
            forced_bos: first("forced_bos_token_id"),
        }
    }
}

/// The value of `key`, in the order in which the transformers library looks.
fn nested<'a>(settings: &'a SmallFiles, key: &str) -> Option<&'a Value> {
    let decoder = || ["decoder", "text_config"].into_iter().find_map(|part| settings.model.get(part)?.get(key));
    let known = |value: &&Value| !value.is_null();
    let from_generation = settings.generation.get(key).filter(known);
    from_generation.or_else(|| settings.model.get(key).filter(known)).or_else(|| decoder().filter(known))
}

fn ids(settings: &SmallFiles, key: &str) -> Vec<u32> {
    nested(settings, key).map(id_list).unwrap_or_default()
}

/// One id or a list of them; anything else is none.
fn id_list(value: &Value) -> Vec<u32> {
    let id = |value: &Value| value.as_u64().and_then(|id| u32::try_from(id).ok());
    match value {
        Value::Array(values) => values.iter().filter_map(id).collect(),
        value => id(value).into_iter().collect(),
    }
}
