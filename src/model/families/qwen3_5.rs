//! Qwen 3.5: Qwen 3 Next with projections apart and one MLP, or with experts. Of models that see pictures the text decoder:
//! its rotary embeddings have three positions for each token, which are the same in a text.

use super::{
    Biases, Config, DeltaNames, ExpertLayers, ExpertPlan, Family, FamilyGroup, LinearPlan, LoadError, Network,
    NormWeights, QkNorms, RouterPlan, SharedExpert, TokenizerClass, Variant, WeightSum, Weights, config_keys, experts,
    gated_decoder, variant::one_rotary,
};

pub(super) const FAMILIES: &[Family] = &[
    Family { harmless: KEYS, tokenizer: TokenizerClass::OF_FILE, ..Family::gated(&TEXT) },
    Family { harmless: KEYS, tokenizer: TokenizerClass::OF_FILE, ..Family::gated(&TEXT_OF_EXPERTS) },
    Family {
        harmless: &[PICTURES],
        limits: &[config_keys::CAUSAL],
        tokenizer: TokenizerClass::OF_FILE,
        ..Family::new("qwen3_5", FamilyGroup::Decoder, |config, weights| text_decoder(config, weights, &TEXT))
    },
    Family {
        harmless: &[PICTURES],
        limits: &[config_keys::CAUSAL],
        tokenizer: TokenizerClass::OF_FILE,
        ..Family::new("qwen3_5_moe", FamilyGroup::Decoder, |config, weights| {
            text_decoder(config, weights, &TEXT_OF_EXPERTS)
        })
    },
];

const KEYS: &[&[&str]] =
    &[config_keys::BESIDE_ROTARY, experts::TRAINING, &["full_attention_interval", "mlp_only_layers"]];
/// What stands for pictures, which are not read.
const PICTURES: &[&str] = &[
    "full_attention_interval",
    "image_token_id",
    "video_token_id",
    "vision_config",
    "vision_end_token_id",
    "vision_start_token_id",
];

const TEXT: Variant = Variant {
    family: "qwen3_5_text",
    biases: Biases::IfConfigured,
    norm: NormWeights::RmsLessOne,
    qk_norm: QkNorms::EachHead,
    rotary: |config, d_head| one_rotary(config, d_head, Some(0.25)),
    d_head: Some(256),
    n_kv_heads: Some(4),
    linear: Some(LinearPlan::Delta(DeltaNames::Apart)),
    has_gate: true,
    ..Variant::BASE
};

const TEXT_OF_EXPERTS: Variant = Variant {
    family: "qwen3_5_moe_text",
    n_kv_heads: Some(2),
    experts: Some(ExpertPlan {
        n: (&["num_experts"], 256),
        n_chosen: Some(8),
        router: RouterPlan::Plain,
        width: ("moe_intermediate_size", 512),
        sum: WeightSum::One,
        layers: ExpertLayers::All,
        shared: SharedExpert::Gated(512),
        part: "mlp",
        tensors: experts::QWEN_TENSORS,
    }),
    ..TEXT
};

/// The decoder of a model that sees pictures, for texts alone.
fn text_decoder(config: &Config, weights: &mut Weights<'_>, variant: &Variant) -> Result<Network, LoadError> {
    let text = config.section_of("text_config", &["architectures", "tie_word_embeddings"]);
    let text = text.ok_or_else(|| config.error("it does not describe its text decoder (text_config)"))?;
    weights.warn("It sees pictures in transformers; here it reads texts alone, and its vision tower is left out");
    weights.skip_all("model.visual.");
    gated_decoder::build(&text, weights, variant)
}
