//! LLaMA, and models of its configuration, such as SmolLM and TinyLlama.

use super::{
    family::Family,
    variant::{Biases, Variant},
};
use crate::model::{
    checkpoint::ids::{BOS, EOS},
    input::{Convention, TokenizerClass},
    opinion::{self, Ask},
};

pub(super) const FAMILIES: &[Family] = &[Family {
    ids: &[(BOS, 1), (EOS, 2)],
    tokenizer: TokenizerClass::NONE.alone(Convention::Llama),
    opinion: Some(Ask::Decoder(opinion::llama)),
    ..Family::gated(&VARIANT)
}];

const VARIANT: Variant = Variant { family: "llama", biases: Biases::IfConfiguredOrMlp, ..Variant::BASE };
