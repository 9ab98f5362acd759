//! Cohere's Command R: attention and MLP beside each other behind one norm, neighbouring dimensions turned together, and
//! scaled logits. In its second version layers with a window alone turn queries and keys.

use serde_json::json;

use super::{
    BOS, Biases, Config, EOS, Family, LoadError, Multipliers, NormPlaces, NormWeights, PAD, QkNorms, TokenizerClass,
    Variant, Windows,
    decoder::layer_types,
    variant::{of_neighbours, one_rotary},
};

pub(super) const FAMILIES: &[Family] = &[family(&COHERE), family(&COHERE_2)];

const fn family(variant: &'static Variant) -> Family {
    let ids = &[(BOS, 5), (EOS, 255_001), (PAD, 0)];
    Family { ids, tokenizer: TokenizerClass::OF_FILE, ..Family::gated(variant) }
}

const COHERE: Variant = Variant {
    family: "cohere",
    biases: Biases::IfConfigured,
    tied: true,
    norm: NormWeights::LayerWithoutBias,
    norms: |_| NormPlaces::Shared,
    qk_norm: QkNorms::TableIfConfigured,
    eps: ("layer_norm_eps", 1e-5),
    rotary: |config, d_head| of_neighbours(one_rotary(&config.or(&json!({ "rope_theta": 500_000.0 })), d_head, None)),
    multipliers,
    ..Variant::BASE
};

const COHERE_2: Variant = Variant {
    family: "cohere2",
    qk_norm: QkNorms::None,
    rotary: |config, d_head| of_neighbours(one_rotary(config, d_head, None)),
    windows: Windows::AllBut { every: EVERY, chosen: true, width: 4096.0 },
    uses_rope,
    ..COHERE
};

/// Every so many layers one sees all tokens, when the configuration does not say.
const EVERY: usize = 4;

/// Layers with a window.
fn uses_rope(config: &Config, n_layers: usize) -> Result<Vec<bool>, LoadError> {
    if let Some(kinds) = layer_types(config, n_layers)? {
        return Ok(kinds.iter().map(|kind| kind == "sliding_attention").collect());
    }
    let every = config.optional_size(&["sliding_window_pattern"], 1 << 12)?.unwrap_or(EVERY);
    Ok((1..=n_layers).map(|layer| !layer.is_multiple_of(every)).collect())
}

fn multipliers(config: &Config) -> Result<Multipliers, LoadError> {
    Ok(Multipliers { logits: config.number(&["logit_scale"])?.unwrap_or(0.0625) as f32, ..Multipliers::NONE })
}
