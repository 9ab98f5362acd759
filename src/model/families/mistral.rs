//! Mistral: windows in all layers.

use super::{BOS, Convention, EOS, Family, OpinionPlan, TokenizerClass, Variant, Windows, opinion};

pub(super) const FAMILIES: &[Family] = &[Family {
    ids: &[(BOS, 1), (EOS, 2)],
    tokenizer: TokenizerClass::OF_FILE.alone(Convention::Llama).with_wrong_words(),
    opinion: Some(OpinionPlan::Decoder(opinion::mistral)),
    ..Family::gated(&VARIANT)
}];

const VARIANT: Variant =
    Variant { family: "mistral", windows: Windows::All(Some(4096.0)), n_kv_heads: Some(8), ..Variant::BASE };
