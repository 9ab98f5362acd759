//! Architectures of llama.cpp whose models open: what their tensors are called in Hugging Face's layout, and what
//! configuration their metadata stand for.

use super::{
    config::{ConfigMap, Rotated, decoder, experts, head_width, rotary, sizes, sliding},
    facts::Facts,
    names::NamePair,
    tables::{
        ATTENTION, ATTENTION_PAIRED, BERT, BLOOM, EMBEDDING, EXPERTS, GEMMA_2_NORMS, GEMMA_EMBEDDING, GEMMA_NORMS,
        GEMMA_QK_NORMS, GLM_4, GPT_2, GPT_NEOX, GPT_OSS, MIXTRAL, MIXTRAL_APART, MLP, NOMIC_BERT, NORMS, OLMO_2, PHI_2,
        PHI_3, QK_NORMS, SHARED_EXPERT, STABLELM, STARCODER_2, T5, T5_GATED, T5_PLAIN,
    },
};

/// One architecture.
pub(super) struct Architecture {
    /// llama.cpp's name.
    pub name: &'static str,
    pub tables: fn(&Facts<'_>) -> Vec<&'static [NamePair]>,
    pub config: fn(&Facts<'_>) -> Result<ConfigMap, String>,
}

/// The architecture of this name, if its models open.
pub(super) fn of_name(name: &str) -> Option<&'static Architecture> {
    ARCHITECTURES.iter().find(|known| known.name == name)
}

/// All names, in order.
pub(super) fn known() -> String {
    let mut names: Vec<_> = ARCHITECTURES.iter().map(|known| known.name).collect();
    names.sort_unstable();
    names.join(", ")
}

const ARCHITECTURES: &[Architecture] = &[
    Architecture {
        name: "llama",
        tables: |facts| vec![EMBEDDING, ATTENTION_PAIRED, NORMS, mixed_mlp(facts)],
        config: llama,
    },
    Architecture { name: "qwen2", tables: |_| vec![EMBEDDING, ATTENTION, NORMS, MLP], config: qwen2 },
    Architecture { name: "qwen3", tables: |_| vec![EMBEDDING, ATTENTION, QK_NORMS, NORMS, MLP], config: qwen3 },
    Architecture {
        name: "qwen2moe",
        tables: |_| vec![EMBEDDING, ATTENTION, NORMS, MLP, EXPERTS, SHARED_EXPERT],
        config: qwen2_moe,
    },
    Architecture {
        name: "qwen3moe",
        tables: |_| vec![EMBEDDING, ATTENTION, QK_NORMS, NORMS, MLP, EXPERTS],
        config: qwen3_moe,
    },
    Architecture { name: "olmoe", tables: |_| vec![EMBEDDING, ATTENTION, QK_NORMS, NORMS, EXPERTS], config: olmoe },
    Architecture { name: "gemma", tables: |_| vec![GEMMA_EMBEDDING, ATTENTION, GEMMA_NORMS, MLP], config: gemma },
    Architecture { name: "gemma2", tables: |_| vec![GEMMA_EMBEDDING, ATTENTION, GEMMA_2_NORMS, MLP], config: gemma2 },
    Architecture {
        name: "gemma3",
        tables: |_| vec![GEMMA_EMBEDDING, ATTENTION, GEMMA_2_NORMS, GEMMA_QK_NORMS, MLP],
        config: gemma3,
    },
    Architecture { name: "phi2", tables: |_| vec![PHI_2], config: phi2 },
    Architecture { name: "phi3", tables: |_| vec![EMBEDDING, NORMS, PHI_3], config: phi3 },
    Architecture { name: "gpt2", tables: |_| vec![GPT_2], config: gpt2 },
    Architecture { name: "gptneox", tables: |_| vec![GPT_NEOX], config: gpt_neox },
    Architecture { name: "bloom", tables: |_| vec![BLOOM], config: bloom },
    Architecture { name: "olmo2", tables: |_| vec![EMBEDDING, ATTENTION, QK_NORMS, OLMO_2, MLP], config: olmo2 },
    Architecture { name: "granite", tables: |_| vec![EMBEDDING, ATTENTION_PAIRED, NORMS, MLP], config: granite },
    Architecture { name: "smollm3", tables: |_| vec![EMBEDDING, ATTENTION_PAIRED, NORMS, MLP], config: smollm3 },
    Architecture { name: "stablelm", tables: |_| vec![EMBEDDING, ATTENTION, STABLELM, NORMS, MLP], config: stablelm },
    Architecture { name: "command-r", tables: |_| vec![EMBEDDING, ATTENTION, QK_NORMS, NORMS, MLP], config: cohere },
    Architecture { name: "cohere2", tables: |_| vec![EMBEDDING, ATTENTION, NORMS, MLP], config: cohere2 },
    Architecture { name: "glm4", tables: |_| vec![EMBEDDING, ATTENTION, GLM_4], config: glm4 },
    Architecture { name: "mistral3", tables: |_| vec![EMBEDDING, ATTENTION_PAIRED, NORMS, MLP], config: mistral3 },
    Architecture { name: "starcoder2", tables: |_| vec![EMBEDDING, ATTENTION, NORMS, STARCODER_2], config: starcoder2 },
    Architecture { name: "gpt-oss", tables: |_| vec![EMBEDDING, ATTENTION, GPT_OSS], config: gpt_oss },
    Architecture { name: "bert", tables: |_| vec![BERT], config: bert },
    Architecture { name: "nomic-bert", tables: |_| vec![NOMIC_BERT], config: nomic_bert },
    Architecture {
        name: "t5",
        tables: |facts| vec![T5, if is_gated(facts) { T5_GATED } else { T5_PLAIN }],
        config: t5,
    },
    Architecture {
        name: "t5encoder",
        tables: |facts| vec![T5, if is_gated(facts) { T5_GATED } else { T5_PLAIN }],
        config: t5,
    },
];

/// Whether some layer has experts.
fn has_experts(facts: &Facts<'_>) -> bool {
    facts.layers_with("ffn_gate_inp.weight").is_ok_and(|layers| !layers.is_empty())
}

/// The names of what follows attention in LLaMA and Mixtral.
fn mixed_mlp(facts: &Facts<'_>) -> &'static [NamePair] {
    match (has_experts(facts), facts.has("blk.0.ffn_gate.0.weight")) {
        (false, _) => MLP,
        (true, false) => MIXTRAL,
        (true, true) => MIXTRAL_APART,
    }
}

fn is_gated(facts: &Facts<'_>) -> bool {
    facts.has("enc.blk.0.ffn_gate.weight")
}

fn llama(facts: &Facts<'_>) -> Result<ConfigMap, String> {
    let mut config = if has_experts(facts) {
        let mut config = decoder(facts, "mixtral", "MixtralForCausalLM")?;
        experts(facts, &mut config, "num_local_experts", true)?;
        config
    } else {
        facts.leave(&["expert_count", "expert_used_count"]);
        let mut config = decoder(facts, "llama", "LlamaForCausalLM")?;
        biases(facts, &mut config);
        config
    };
    rotary(facts, &mut config, Rotated::All, "rope_theta")?;
    Ok(config)
}

/// Biases of LLaMA's relatives that may have them.
fn biases(facts: &Facts<'_>, config: &mut ConfigMap) {
    config.set("attention_bias", facts.has("blk.0.attn_q.bias"));
    config.set("mlp_bias", facts.has("blk.0.ffn_up.bias"));
}

fn qwen2(facts: &Facts<'_>) -> Result<ConfigMap, String> {
    let mut config = decoder(facts, "qwen2", "Qwen2ForCausalLM")?;
    facts.leave(&["pooling_type"]);
    rotary(facts, &mut config, Rotated::All, "rope_theta")?;
    Ok(config)
}

fn qwen3(facts: &Facts<'_>) -> Result<ConfigMap, String> {
    let mut config = decoder(facts, "qwen3", "Qwen3ForCausalLM")?;
    facts.leave(&["pooling_type"]);
    config.set("attention_bias", facts.has("blk.0.attn_q.bias"));
    rotary(facts, &mut config, Rotated::All, "rope_theta")?;
    Ok(config)
}

fn qwen2_moe(facts: &Facts<'_>) -> Result<ConfigMap, String> {
    let mut config = decoder(facts, "qwen2_moe", "Qwen2MoeForCausalLM")?;
    // Nobody stores whether the weights of experts sum to 1; llama.cpp decides by the architecture.
    mixed(facts, &mut config, false)?;
    let layers = facts.layers_with("ffn_gate_shexp.weight")?;
    let first = layers.first().ok_or("it has no shared experts")?;
    config.set("shared_expert_intermediate_size", facts.dim(&format!("blk.{first}.ffn_gate_shexp.weight"), 0)?);
    facts.leave(&["expert_shared_feed_forward_length"]);
    config.set("qkv_bias", facts.has("blk.0.attn_q.bias"));
    rotary(facts, &mut config, Rotated::All, "rope_theta")?;
    Ok(config)
}

fn qwen3_moe(facts: &Facts<'_>) -> Result<ConfigMap, String> {
    let mut config = decoder(facts, "qwen3_moe", "Qwen3MoeForCausalLM")?;
    mixed(facts, &mut config, true)?;
    config.set("attention_bias", facts.has("blk.0.attn_q.bias"));
    rotary(facts, &mut config, Rotated::All, "rope_theta")?;
    Ok(config)
}

/// Qwen's experts, which some layers may do without.
fn mixed(facts: &Facts<'_>, config: &mut ConfigMap, sum_to_one: bool) -> Result<(), String> {
    experts(facts, config, "num_experts", sum_to_one)?;
    config.set("norm_topk_prob", sum_to_one);
    let layers = facts.layers_with("ffn_gate_exps.weight")?;
    let first = layers.first().ok_or("it has no experts")?;
    config.set("moe_intermediate_size", facts.dim(&format!("blk.{first}.ffn_gate_exps.weight"), 1)?);
    facts.leave(&["expert_feed_forward_length"]);
    config.set("decoder_sparse_step", 1);
    config.set("mlp_only_layers", facts.layers_with("ffn_gate.weight")?);
    Ok(())
}

fn olmoe(facts: &Facts<'_>) -> Result<ConfigMap, String> {
    let mut config = decoder(facts, "olmoe", "OlmoeForCausalLM")?;
    experts(facts, &mut config, "num_experts", false)?;
    config.set("norm_topk_prob", false);
    config.set("intermediate_size", facts.dim("blk.0.ffn_gate_exps.weight", 1)?);
    facts.leave(&["expert_feed_forward_length"]);
    rotary(facts, &mut config, Rotated::All, "rope_theta")?;
    Ok(config)
}

fn gemma(facts: &Facts<'_>) -> Result<ConfigMap, String> {
    let mut config = decoder(facts, "gemma", "GemmaForCausalLM")?;
    rotary(facts, &mut config, Rotated::All, "rope_theta")?;
    Ok(config)
}

/// The width by whose root Gemma's scores are divided, which no key says: that of a head, but in the largest model of
/// either generation, which is known by its number of layers, what the heads share.
fn scores_of_gemma(facts: &Facts<'_>, config: &mut ConfigMap, largest: u64) -> Result<(), String> {
    let shared = || Ok::<_, String>(facts.size("embedding_length")? / facts.size("attention.head_count")?.max(1));
    let width = if facts.n_layers()? == largest { shared()? } else { head_width(facts)? };
    config.set("query_pre_attn_scalar", width);
    Ok(())
}

fn gemma2(facts: &Facts<'_>) -> Result<ConfigMap, String> {
    let mut config = decoder(facts, "gemma2", "Gemma2ForCausalLM")?;
    scores_of_gemma(facts, &mut config, 46)?;
    for key in ["attn_logit_softcapping", "final_logit_softcapping"] {
        config.set_if(key, facts.number(key)?);
    }
    config.set_if("sliding_window", facts.optional_size("attention.sliding_window")?);
    rotary(facts, &mut config, Rotated::All, "rope_theta")?;
    Ok(config)
}

fn gemma3(facts: &Facts<'_>) -> Result<ConfigMap, String> {
    let mut config = decoder(facts, "gemma3_text", "Gemma3ForCausalLM")?;
    scores_of_gemma(facts, &mut config, 62)?;
    config.set_if("final_logit_softcapping", facts.number("final_logit_softcapping")?);
    sliding(facts, &mut config, 6)?;
    config.set("rope_local_base_freq", facts.number("rope.freq_base_swa")?.unwrap_or(10_000.0));
    rotary(facts, &mut config, Rotated::All, "rope_theta")?;
    Ok(config)
}

fn phi2(facts: &Facts<'_>) -> Result<ConfigMap, String> {
    let mut config = ConfigMap::new(facts, "phi", "PhiForCausalLM");
    sizes(facts, &mut config)?;
    config.set("layer_norm_eps", facts.needed_number("attention.layer_norm_epsilon")?);
    config.set("tie_word_embeddings", !facts.has("output.weight"));
    rotary(facts, &mut config, Rotated::Fraction("partial_rotary_factor"), "rope_theta")?;
    Ok(config)
}

fn phi3(facts: &Facts<'_>) -> Result<ConfigMap, String> {
    let mut config = decoder(facts, "phi3", "Phi3ForCausalLM")?;
    let trained = facts.optional_size("rope.scaling.original_context_length")?;
    config.set("original_max_position_embeddings", trained.map_or_else(|| facts.size("context_length"), Ok)?);
    let window = facts.optional_size("attention.sliding_window")?;
    config.set_if("sliding_window", window.filter(|window| *window > 0));
    rotary(facts, &mut config, Rotated::Fraction("partial_rotary_factor"), "rope_theta")?;
    Ok(config)
}

fn gpt2(facts: &Facts<'_>) -> Result<ConfigMap, String> {
    let mut config = ConfigMap::new(facts, "gpt2", "GPT2LMHeadModel");
    config.set("n_embd", facts.size("embedding_length")?);
    config.set("n_layer", facts.n_layers()?);
    config.set("n_head", facts.size("attention.head_count")?);
    config.set_if("n_inner", facts.optional_size("feed_forward_length")?);
    config.set("n_positions", facts.dim("position_embd.weight", 0)?);
    config.set("vocab_size", facts.dim("token_embd.weight", 0)?);
    config.set("layer_norm_epsilon", facts.needed_number("attention.layer_norm_epsilon")?);
    config.set("tie_word_embeddings", !facts.has("output.weight"));
    facts.leave(&["context_length", "vocab_size"]);
    Ok(config)
}

fn gpt_neox(facts: &Facts<'_>) -> Result<ConfigMap, String> {
    let mut config = ConfigMap::new(facts, "gpt_neox", "GPTNeoXForCausalLM");
    sizes(facts, &mut config)?;
    // Its class knows no other heads than those that share the width.
    config.values.remove("head_dim");
    config.values.remove("num_key_value_heads");
    config.set("layer_norm_eps", facts.needed_number("attention.layer_norm_epsilon")?);
    config.set("use_parallel_residual", facts.flag("use_parallel_residual")?.unwrap_or(true));
    config.set("attention_bias", facts.has("blk.0.attn_qkv.bias"));
    config.set("tie_word_embeddings", !facts.has("output.weight"));
    rotary(facts, &mut config, Rotated::Fraction("rotary_pct"), "rotary_emb_base")?;
    Ok(config)
}

fn bloom(facts: &Facts<'_>) -> Result<ConfigMap, String> {
    let mut config = ConfigMap::new(facts, "bloom", "BloomForCausalLM");
    config.set("hidden_size", facts.size("embedding_length")?);
    config.set("n_layer", facts.n_layers()?);
    config.set("n_head", facts.size("attention.head_count")?);
    config.set("seq_length", facts.size("context_length")?);
    config.set("vocab_size", facts.dim("token_embd.weight", 0)?);
    config.set("layer_norm_epsilon", facts.needed_number("attention.layer_norm_epsilon")?);
    config.set("tie_word_embeddings", !facts.has("output.weight"));
    facts.leave(&["vocab_size", "feed_forward_length", "attention.head_count_kv"]);
    Ok(config)
}

/// The third generation has windows in some layers, which turn by a rotary embedding that is not stretched.
fn olmo2(facts: &Facts<'_>) -> Result<ConfigMap, String> {
    if facts.optional_size("attention.sliding_window")?.is_none() {
        let mut config = decoder(facts, "olmo2", "Olmo2ForCausalLM")?;
        rotary(facts, &mut config, Rotated::All, "rope_theta")?;
        return Ok(config);
    }
    let mut config = decoder(facts, "olmo3", "Olmo3ForCausalLM")?;
    sliding(facts, &mut config, 4)?;
    rotary(facts, &mut config, Rotated::All, "rope_theta")?;
    let theta = config.values.get("rope_theta").cloned();
    let plain = serde_json::json!({ "rope_type": "default", "rope_theta": theta });
    config.set("rope_parameters", serde_json::json!({ "full_attention": plain, "sliding_attention": plain }));
    Ok(config)
}

fn granite(facts: &Facts<'_>) -> Result<ConfigMap, String> {
    let mut config = decoder(facts, "granite", "GraniteForCausalLM")?;
    for (key, own) in [
        ("attention_multiplier", "attention.scale"),
        ("embedding_multiplier", "embedding_scale"),
        ("residual_multiplier", "residual_scale"),
        ("logits_scaling", "logit_scale"),
    ] {
        config.set_if(key, facts.number(own)?);
    }
    biases(facts, &mut config);
    rotary(facts, &mut config, Rotated::All, "rope_theta")?;
    Ok(config)
}

fn smollm3(facts: &Facts<'_>) -> Result<ConfigMap, String> {
    let mut config = decoder(facts, "smollm3", "SmolLM3ForCausalLM")?;
    biases(facts, &mut config);
    rotary(facts, &mut config, Rotated::All, "rope_theta")?;
    Ok(config)
}

fn stablelm(facts: &Facts<'_>) -> Result<ConfigMap, String> {
    let mut config = ConfigMap::new(facts, "stablelm", "StableLmForCausalLM");
    sizes(facts, &mut config)?;
    config.set("layer_norm_eps", facts.needed_number("attention.layer_norm_epsilon")?);
    config.set("use_parallel_residual", facts.flag("use_parallel_residual")?.unwrap_or(false));
    config.set("use_qkv_bias", facts.has("blk.0.attn_q.bias"));
    config.set("qk_layernorm", facts.has("blk.0.attn_q_norm.weight"));
    config.set("tie_word_embeddings", !facts.has("output.weight"));
    rotary(facts, &mut config, Rotated::Fraction("partial_rotary_factor"), "rope_theta")?;
    Ok(config)
}

fn cohere(facts: &Facts<'_>) -> Result<ConfigMap, String> {
    let mut config = ConfigMap::new(facts, "cohere", "CohereForCausalLM");
    sizes(facts, &mut config)?;
    config.set("use_qk_norm", facts.has("blk.0.attn_q_norm.weight"));
    cohere_rest(facts, &mut config)?;
    Ok(config)
}

fn cohere2(facts: &Facts<'_>) -> Result<ConfigMap, String> {
    let mut config = ConfigMap::new(facts, "cohere2", "Cohere2ForCausalLM");
    sizes(facts, &mut config)?;
    sliding(facts, &mut config, 4)?;
    cohere_rest(facts, &mut config)?;
    Ok(config)
}

/// What both generations of Cohere's decoders say.
fn cohere_rest(facts: &Facts<'_>, config: &mut ConfigMap) -> Result<(), String> {
    config.set("layer_norm_eps", facts.needed_number("attention.layer_norm_epsilon")?);
    config.set("logit_scale", facts.needed_number("logit_scale")?);
    config.set("attention_bias", facts.has("blk.0.attn_q.bias"));
    config.set("tie_word_embeddings", !facts.has("output.weight"));
    rotary(facts, config, Rotated::All, "rope_theta")
}

/// Mistral, or Ministral 3 where queries grow along the text.
fn mistral3(facts: &Facts<'_>) -> Result<ConfigMap, String> {
    let growth = facts.number("attention.temperature_scale")?;
    let multiplier = facts.number("rope.scaling.yarn_log_multiplier")?;
    let Some(growth) = growth.filter(|growth| *growth != 0.0) else {
        facts.only("rope.scaling.yarn_log_multiplier", 0.0)?;
        let mut config = decoder(facts, "mistral", "MistralForCausalLM")?;
        config.set("sliding_window", serde_json::Value::Null);
        rotary(facts, &mut config, Rotated::All, "rope_theta")?;
        return Ok(config);
    };
    let mut config = decoder(facts, "ministral3", "Ministral3ForCausalLM")?;
    rotary(facts, &mut config, Rotated::All, "rope_theta")?;
    let theta = config.values.remove("rope_theta");
    let mut section = config.values.remove("rope_scaling").unwrap_or_else(|| serde_json::json!({}));
    let trained = facts.optional_size("rope.scaling.original_context_length")?;
    // What angles are multiplied by is the same over the same.
    let own = serde_json::json!({
        "rope_type": section.get("rope_type").cloned().unwrap_or_else(|| "default".into()),
        "rope_theta": theta,
        "original_max_position_embeddings": trained.map_or_else(|| facts.size("context_length"), Ok)?,
        "mscale": multiplier.unwrap_or(1.0),
        "mscale_all_dim": multiplier.unwrap_or(1.0),
        "llama_4_scaling_beta": growth,
    });
    if let (Some(section), Some(own)) = (section.as_object_mut(), own.as_object()) {
        section.extend(own.clone());
    }
    let length = facts.optional_size("attention.temperature_length")?;
    if length.is_some_and(|length| trained.is_some_and(|trained| trained != length)) {
        return Err("its mistral3.attention.temperature_length is not that of its training".to_owned());
    }
    config.set("rope_parameters", section);
    Ok(config)
}

fn starcoder2(facts: &Facts<'_>) -> Result<ConfigMap, String> {
    let mut config = ConfigMap::new(facts, "starcoder2", "Starcoder2ForCausalLM");
    sizes(facts, &mut config)?;
    config.set("norm_epsilon", facts.needed_number("attention.layer_norm_epsilon")?);
    config.set("use_bias", facts.has("blk.0.attn_q.bias"));
    config.set_if("sliding_window", facts.optional_size("attention.sliding_window")?.filter(|width| *width > 0));
    config.set("tie_word_embeddings", !facts.has("output.weight"));
    rotary(facts, &mut config, Rotated::All, "rope_theta")?;
    Ok(config)
}

fn gpt_oss(facts: &Facts<'_>) -> Result<ConfigMap, String> {
    let mut config = decoder(facts, "gpt_oss", "GptOssForCausalLM")?;
    experts(facts, &mut config, "num_local_experts", true)?;
    facts.leave(&["expert_feed_forward_length"]);
    config.set("intermediate_size", facts.dim("blk.0.ffn_gate_exps.weight", 1)?);
    config.set("attention_bias", facts.has("blk.0.attn_q.bias"));
    sliding(facts, &mut config, 2)?;
    rotary(facts, &mut config, Rotated::All, "rope_theta")?;
    let theta = config.values.remove("rope_theta");
    let mut section =
        config.values.remove("rope_scaling").unwrap_or_else(|| serde_json::json!({"rope_type": "default"}));
    section["rope_theta"] = serde_json::json!(theta);
    // As the class has it where nobody says.
    if section["rope_type"] == "yarn" {
        section["truncate"] = false.into();
    }
    config.set("rope_parameters", section);
    Ok(config)
}

fn glm4(facts: &Facts<'_>) -> Result<ConfigMap, String> {
    let mut config = decoder(facts, "glm4", "Glm4ForCausalLM")?;
    config.set("attention_bias", facts.has("blk.0.attn_q.bias"));
    rotary(facts, &mut config, Rotated::Fraction("partial_rotary_factor"), "rope_theta")?;
    Ok(config)
}

fn bert(facts: &Facts<'_>) -> Result<ConfigMap, String> {
    let mut config = ConfigMap::new(facts, "bert", "BertModel");
    config.set("hidden_size", facts.size("embedding_length")?);
    config.set("num_hidden_layers", facts.n_layers()?);
    config.set("num_attention_heads", facts.size("attention.head_count")?);
    config.set_if("intermediate_size", facts.optional_size("feed_forward_length")?);
    config.set("max_position_embeddings", facts.dim("position_embd.weight", 0)?);
    config.set("vocab_size", facts.dim("token_embd.weight", 0)?);
    config.set("layer_norm_eps", facts.needed_number("attention.layer_norm_epsilon")?);
    if facts.flag("attention.causal")? == Some(true) {
        return Err("it is an encoder whose tokens see only those before them, which is not supported".to_owned());
    }
    facts.leave(&["context_length", "vocab_size", "pooling_type"]);
    Ok(config)
}

fn nomic_bert(facts: &Facts<'_>) -> Result<ConfigMap, String> {
    let mut config = ConfigMap::new(facts, "nomic_bert", "NomicBertModel");
    sizes(facts, &mut config)?;
    config.values.remove("num_key_value_heads");
    config.set("layer_norm_eps", facts.needed_number("attention.layer_norm_epsilon")?);
    let n_segments = facts.dim("token_types.weight", 0)?;
    // Of one kind the table is a row.
    let is_row = facts.dim("token_types.weight", 1).is_err();
    config.set("type_vocab_size", if is_row { 1 } else { n_segments });
    if facts.flag("attention.causal")? == Some(true) {
        return Err("it is an encoder whose tokens see only those before them, which is not supported".to_owned());
    }
    facts.leave(&["pooling_type"]);
    rotary(facts, &mut config, Rotated::All, "rope_theta")?;
    Ok(config)
}

fn t5(facts: &Facts<'_>) -> Result<ConfigMap, String> {
    let has_decoder = facts.has("dec.output_norm.weight");
    let class = if has_decoder { "T5ForConditionalGeneration" } else { "T5EncoderModel" };
    let mut config = ConfigMap::new(facts, "t5", class);
    config.set("d_model", facts.size("embedding_length")?);
    config.set("d_kv", head_width(facts)?);
    config.set("d_ff", facts.size("feed_forward_length")?);
    config.set("num_heads", facts.size("attention.head_count")?);
    let n_layers = facts.n_layers()?;
    config.set("num_layers", n_layers);
    config.set("num_decoder_layers", facts.optional_size("decoder_block_count")?.unwrap_or(n_layers));
    config.set("n_positions", facts.size("context_length")?);
    config.set("vocab_size", facts.dim("token_embd.weight", 0)?);
    config.set_if("relative_attention_num_buckets", facts.optional_size("attention.relative_buckets_count")?);
    config.set("layer_norm_epsilon", facts.needed_number("attention.layer_norm_rms_epsilon")?);
    config.set("feed_forward_proj", if is_gated(facts) { "gated-gelu" } else { "relu" });
    config.set("tie_word_embeddings", !facts.has("output.weight"));
    config.set_if("decoder_start_token_id", facts.optional_size("decoder_start_token_id")?);
    facts.leave(&["attention.layer_norm_epsilon", "vocab_size"]);
    Ok(config)
}
