//! GPT-Neo: GPT-2 with unscaled scores and a sliding window in every other layer.

use super::{
    BOS, Choices, Config, Convention, EOS, Family, LayerSpec, LoadError, Output, Plain, QkvNames, TokenizerClass,
    config_keys, plain_decoder::heads,
};

pub(super) const FAMILIES: &[Family] = &[Family {
    harmless: &[&["attention_types"]],
    limits: &[config_keys::CAUSAL, config_keys::NO_CROSS],
    aliases: &[("num_attention_heads", "num_heads"), ("num_hidden_layers", "num_layers")],
    ids: &[(BOS, 50_256), (EOS, 50_256)],
    tokenizer: TokenizerClass::class(Convention::Gpt2),
    ..Family::plain(&PLAIN)
}];

const PLAIN: Plain = Plain {
    family: "gpt_neo",
    position: Some("wpe.weight"),
    qkv: QkvNames::Apart(["attn.attention.q_proj", "attn.attention.k_proj", "attn.attention.v_proj"]),
    out: "attn.attention.out_proj",
    mlp_norm: Some("ln_2"),
    mlp: ["mlp.c_fc", "mlp.c_proj"],
    outputs: &[Output::new("lm_head", true)],
    buffers: &["attn.attention.bias", "attn.attention.masked_bias"],
    is_causal: |_| true,
    heads: |config, d_model| Ok(LayerSpec { scale: 1.0, ..heads(config, d_model)? }),
    choices: |config, _| Ok(Choices { biases: [false, true, true], windows: windows(config)?, ..Choices::default() }),
    ..Plain::BASE
};

fn windows(config: &Config) -> Result<Vec<Option<usize>>, LoadError> {
    let n_layers = config.n_layers()?;
    let reach = config.optional_size(&["window_size"], 1 << 24)?.unwrap_or(256);
    let kinds = config.names("attention_layers").or_else(|| config.repeated("attention_types"));
    let alternate = || ["global", "local"].map(str::to_owned).into_iter().cycle().take(n_layers).collect();
    let kinds: Vec<String> = kinds.unwrap_or_else(alternate);
    if let Some(kind) = kinds.iter().find(|kind| !["global", "local"].contains(&kind.as_str())) {
        return Err(config.unsupported(format!("its attention “{kind}” is not supported")));
    }
    if kinds.len() != n_layers {
        return Err(config.error(format!("it describes {} of {n_layers} layers", kinds.len())));
    }
    Ok(kinds.iter().map(|kind| (kind == "local").then_some(reach)).collect())
}
