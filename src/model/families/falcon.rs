//! Falcon: attention and MLP beside each other, and heads that share keys and values, all of them in its first form.

use serde_json::json;

use super::{
    Activation, AlibiForm, BOS, Choices, Config, EOS, Family, LayerSpec, LoadError, Output, Plain, QkvNames,
    RelativeBias, Rotary, RotaryDialect, TextEmbedding, TokenizerClass, config_keys, plain_decoder::heads,
};

pub(super) const FAMILIES: &[Family] = &[Family {
    harmless: &[config_keys::BESIDE_ROTARY],
    limits: &[config_keys::CAUSAL, config_keys::HEAD_WIDTH],
    aliases: &[("n_embed", "hidden_size")],
    ids: &[(BOS, 11), (EOS, 11)],
    tokenizer: TokenizerClass::NONE,
    ..Family::plain(&PLAIN)
}];

/// What the model was trained on when the configuration does not say.
const N_CTX: usize = 2048;

const PLAIN: Plain = Plain {
    family: "falcon",
    word: "word_embeddings",
    attention_norm: "input_layernorm",
    qkv: QkvNames::Interleaved("self_attention.query_key_value"),
    out: "self_attention.dense",
    mlp: ["mlp.dense_h_to_4h", "mlp.dense_4h_to_h"],
    outputs: &[Output::new("lm_head", true)],
    activation: (Some("activation"), Activation::Gelu),
    d_mlp: |config| config.optional_size(&["ffn_hidden_size"], 1 << 24),
    embedding: TextEmbedding::unending,
    n_ctx: |config| Ok(config.optional_size(&["max_position_embeddings"], 1 << 24)?.unwrap_or(N_CTX)),
    heads: |config, d_model| {
        let spec = heads(config, d_model)?;
        let of_file = config.optional_size(&["num_kv_heads"], 1 << 20)?.unwrap_or(spec.n_heads);
        let n_kv_heads = match (is_new(config), config.flag("multi_query", true)) {
            (false, true) => 1,
            (false, false) if of_file != spec.n_heads => {
                return Err(config.error(format!("its num_kv_heads is {of_file}, but it shares no keys and values")));
            }
            _ => of_file,
        };
        if !spec.n_heads.is_multiple_of(n_kv_heads) {
            return Err(config.error(format!("{n_kv_heads} key/value heads do not divide {} heads", spec.n_heads)));
        }
        Ok(LayerSpec { n_kv_heads, biased: has_slopes(config), ..spec })
    },
    choices,
    ..Plain::BASE
};

/// Whether it is built as Falcon 40B is.
fn is_new(config: &Config) -> bool {
    config.flag("new_decoder_architecture", false)
}

fn has_slopes(config: &Config) -> bool {
    config.flag("alibi", false)
}

fn choices(config: &Config, spec: LayerSpec) -> Result<Choices, LoadError> {
    let (is_new, parallel) = (is_new(config), config.flag("parallel_attn", true));
    let n_norms = config.optional_size(&["num_ln_in_parallel_attn"], 1 << 8)?.unwrap_or(if is_new { 2 } else { 1 });
    let norms = match (is_new, parallel, n_norms) {
        (true, true, 2) => ("ln_attn", Some("ln_mlp")),
        (_, true, 1) => ("input_layernorm", None),
        (false, false, _) => ("input_layernorm", Some("post_attention_layernorm")),
        _ => {
            return Err(config.error(format!(
                "{n_norms} norms (num_ln_in_parallel_attn) with parallel_attn = {parallel} and \
                 new_decoder_architecture = {is_new} make no layer"
            )));
        }
    };
    let (mut rotary, mut bias) = (None, None);
    if has_slopes(config) {
        // Added once, as the reference does where nobody asks for patterns; where somebody does it adds them twice.
        bias = Some(RelativeBias::alibi(spec.n_heads, AlibiForm::Rounded { factor: spec.scale }));
    } else {
        let of_class = config.or(&json!({ "max_position_embeddings": N_CTX }));
        rotary = Some(Rotary::from_config(&of_class, spec.d_head, None, RotaryDialect::COMMON)?);
    }
    let biases = [config.flag("bias", false); 3];
    Ok(Choices { biases, norms: Some(norms), parallel, rotary, bias, ..Choices::default() })
}
