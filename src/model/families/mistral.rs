//! Mistral: windows in all layers.

use super::{
    family::Family,
    variant::{Variant, Windows},
};
use crate::model::{
    checkpoint::ids::{BOS, EOS},
    input::{Convention, TokenizerClass},
    opinion::{self, Ask},
};

pub(super) const FAMILIES: &[Family] = &[Family {
    ids: &[(BOS, 1), (EOS, 2)],
    tokenizer: TokenizerClass::OF_FILE.alone(Convention::Llama).with_wrong_words(),
    opinion: Some(Ask::Decoder(opinion::mistral)),
    ..Family::gated(&VARIANT)
}];

const VARIANT: Variant =
    Variant { family: "mistral", windows: Windows::All(Some(4096.0)), n_kv_heads: Some(8), ..Variant::BASE };
