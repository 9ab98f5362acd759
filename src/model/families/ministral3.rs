//! Ministral 3: Mistral with `YaRN`, whose queries grow along the text.

use serde_json::json;

use super::{
    BOS, Config, Convention, EOS, Family, LoadError, PAD, QueryGrowth, Rotary, RotaryDialect, TokenizerClass, Variant,
    Windows,
};

pub(super) const FAMILIES: &[Family] = &[Family {
    ids: &[(BOS, 1), (EOS, 2), (PAD, 11)],
    tokenizer: TokenizerClass::OF_FILE.alone(Convention::Llama).with_wrong_words(),
    ..Family::gated(&VARIANT)
}];

const VARIANT: Variant = Variant {
    family: "ministral3",
    eps: ("rms_norm_eps", 1e-5),
    rotary: |config, d_head| vec![rotary(config, d_head)],
    windows: Windows::All(None),
    d_head: Some(128),
    n_kv_heads: Some(8),
    ..Variant::BASE
};

/// Kinds of which the length of training is that of all texts when the configuration does not say.
const OF_LENGTH: [&str; 3] = ["llama3", "longrope", "yarn"];

fn rotary(config: &Config, d_head: usize) -> Result<Rotary, LoadError> {
    let of_class = json!({
        "rope_type": "yarn",
        "rope_theta": 1_000_000.0,
        "factor": 16.0,
        "original_max_position_embeddings": 16_384,
        "beta_fast": 32.0,
        "beta_slow": 1.0,
        "mscale": 1.0,
        "mscale_all_dim": 1.0,
        "llama_4_scaling_beta": 0.1,
    });
    let config = &config.or(&json!({ "rope_parameters": of_class }));
    let rotary = Rotary::from_config(config, d_head, None, RotaryDialect::COMMON)?;
    let of_name = |name| config.section(name).filter(|section| !section.entries().is_empty());
    let section = ["rope_scaling", "rope_parameters"].into_iter().find_map(of_name);
    let number = |name| section.as_ref().map_or(Ok(None), |section| section.number(&[name]));
    let kind = section.as_ref().and_then(|section| section.text(&["rope_type", "type"])).unwrap_or_default();
    let n_trained = if OF_LENGTH.contains(&kind) {
        let beside = config.number(&["original_max_position_embeddings"])?;
        let inside = number("original_max_position_embeddings")?;
        beside.or(inside).map_or_else(|| config.number(&["max_position_embeddings"]), |n| Ok(Some(n)))?
    } else {
        number("original_max_position_embeddings")?
    };
    match (number("llama_4_scaling_beta")?, n_trained.filter(|n| *n >= 1.0)) {
        (Some(beta), Some(n_trained)) => {
            let query_growth = Some(QueryGrowth { beta: beta as f32, n_trained: n_trained as f32 });
            Ok(Rotary { query_growth, ..rotary })
        }
        (None, _) => Err(config.error("its rope_parameters have no llama_4_scaling_beta")),
        (_, None) => Err(config.error("its rope_parameters have no original_max_position_embeddings")),
    }
}
