//! `OLMo` 2: norms of what attention and MLP add, and of all heads' queries and keys side by side.

use super::{Biases, ClassIds, EOS, Family, NormPlaces, PAD, QkNorms, TokenizerClass, Variant};

pub(super) const FAMILIES: &[Family] =
    &[Family { ids: IDS, tokenizer: TokenizerClass::OF_FILE, ..Family::gated(&VARIANT) }];

pub(super) const IDS: ClassIds = &[(EOS, 50_279), (PAD, 1)];

pub(super) const VARIANT: Variant = Variant {
    family: "olmo2",
    biases: Biases::IfConfigured,
    norms: |_| NormPlaces::After,
    qk_norm: QkNorms::Whole,
    eps: ("rms_norm_eps", 1e-5),
    ..Variant::BASE
};
