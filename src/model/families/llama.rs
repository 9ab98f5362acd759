//! LLaMA, and models of its configuration, such as SmolLM and TinyLlama.

use super::{BOS, Biases, Convention, EOS, Family, OpinionPlan, TokenizerClass, Variant, opinion};

pub(super) const FAMILIES: &[Family] = &[Family {
    ids: &[(BOS, 1), (EOS, 2)],
    tokenizer: TokenizerClass::NONE.alone(Convention::Llama),
    opinion: Some(OpinionPlan::Decoder(opinion::llama)),
    ..Family::gated(&VARIANT)
}];

const VARIANT: Variant = Variant { family: "llama", biases: Biases::IfConfiguredOrMlp, ..Variant::BASE };
