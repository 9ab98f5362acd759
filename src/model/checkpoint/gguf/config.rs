//! The `config.json` that a GGUF file stands for, from its metadata.

use std::{cell::RefCell, collections::BTreeMap, rc::Rc};

use serde_json::{Map, Value, json};

use super::{facts::Facts, meta::MetaValue};

/// A configuration that is being put together.
pub(super) struct ConfigMap {
    pub values: Map<String, Value>,
    /// What of the file each value is from, where one key or tensor says it.
    pub sources: BTreeMap<String, String>,
    /// What of the file was asked for last.
    last: Rc<RefCell<Option<String>>>,
}

impl ConfigMap {
    /// What every file says.
    pub fn new(facts: &Facts<'_>, model_type: &str, class: &str) -> Self {
        facts.last().take();
        let mut config = Self { values: Map::new(), sources: BTreeMap::new(), last: facts.last() };
        config.set("model_type", model_type);
        config.set("architectures", vec![class]);
        for (key, name) in [("bos_token_id", "bos"), ("eos_token_id", "eos"), ("pad_token_id", "padding")] {
            config.set_if(key, facts.token_id(name));
        }
        config
    }

    pub fn set(&mut self, key: &str, value: impl Into<Value>) {
        // A value is put here as soon as it was read.
        match self.last.take() {
            Some(source) => self.sources.insert(key.to_owned(), source),
            None => self.sources.remove(key),
        };
        self.values.insert(key.to_owned(), value.into());
    }

    pub fn set_if(&mut self, key: &str, value: Option<impl Into<Value>>) {
        if let Some(value) = value {
            self.set(key, value);
        }
    }
}

/// How much of a head an architecture may rotate.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rotated {
    All,
    /// The fraction that this key of the configuration says.
    Fraction(&'static str),
}

/// What decoders with rotary embeddings say, from LLaMA on.
pub(super) fn decoder(facts: &Facts<'_>, model_type: &str, class: &str) -> Result<ConfigMap, String> {
    let mut config = ConfigMap::new(facts, model_type, class);
    sizes(facts, &mut config)?;
    config.set("rms_norm_eps", facts.needed_number("attention.layer_norm_rms_epsilon")?);
    config.set("tie_word_embeddings", !facts.has("output.weight"));
    Ok(config)
}

/// Sizes of a decoder.
pub(super) fn sizes(facts: &Facts<'_>, config: &mut ConfigMap) -> Result<(), String> {
    config.set("hidden_size", facts.size("embedding_length")?);
    config.set("num_hidden_layers", facts.n_layers()?);
    let n_heads = facts.size("attention.head_count")?;
    config.set("num_attention_heads", n_heads);
    config.set("num_key_value_heads", facts.optional_size("attention.head_count_kv")?.unwrap_or(n_heads));
    config.set_if("intermediate_size", facts.optional_size("feed_forward_length")?);
    config.set("head_dim", head_width(facts)?);
    config.set("max_position_embeddings", facts.size("context_length")?);
    config.set("vocab_size", facts.dim("token_embd.weight", 0)?);
    facts.leave(&["vocab_size"]);
    Ok(())
}

/// Width of a head: as the file says, else what follows from the other sizes.
pub(super) fn head_width(facts: &Facts<'_>) -> Result<u64, String> {
    let (d_model, n_heads) = (facts.size("embedding_length")?, facts.size("attention.head_count")?);
    let width = facts.optional_size("attention.key_length")?;
    let values = facts.optional_size("attention.value_length")?;
    if width.is_some() && values.is_some() && width != values {
        return Err("its values have another width than its keys, which is not supported".to_owned());
    }
    width.or_else(|| d_model.checked_div(n_heads)).ok_or_else(|| "it has no heads".to_owned())
}

/// Experts, whose weights sum to 1 or not; `n` is the key of their number.
pub(super) fn experts(facts: &Facts<'_>, config: &mut ConfigMap, n: &str, sum_to_one: bool) -> Result<(), String> {
    config.set(n, facts.size("expert_count")?);
    config.set("num_experts_per_tok", facts.size("expert_used_count")?);
    facts.only("expert_weights_scale", 1.0)?;
    // A softmax over all experts.
    facts.only("expert_gating_func", 1.0)?;
    match facts.flag("expert_weights_norm")? {
        Some(other) if other != sum_to_one => {
            Err("the weights of its experts sum otherwise than in this architecture".to_owned())
        }
        _ => Ok(()),
    }
}

/// Windows in all but every so many layers, unless the file lists them.
pub(super) fn sliding(facts: &Facts<'_>, config: &mut ConfigMap, every: u64) -> Result<(), String> {
    const PATTERN: &str = "attention.sliding_window_pattern";
    let n_layers = facts.n_layers()?;
    let width = facts.optional_size("attention.sliding_window")?.filter(|width| *width > 0);
    let slides: Vec<bool> = match facts.value(PATTERN) {
        Some(MetaValue::Numbers(listed)) => {
            let listed = listed.integers().filter(|listed| listed.len() as u64 == n_layers);
            listed.ok_or_else(|| facts.wrong(PATTERN, "a list of the layers"))?.iter().map(|one| *one != 0).collect()
        }
        Some(value) => {
            let every = value.as_u64().filter(|every| *every > 0);
            let every = every.ok_or_else(|| facts.wrong(PATTERN, "a number of layers"))?;
            (1..=n_layers).map(|layer| !layer.is_multiple_of(every)).collect()
        }
        None => (1..=n_layers).map(|layer| !layer.is_multiple_of(every)).collect(),
    };
    let kind = |slides: &bool| if *slides && width.is_some() { "sliding_attention" } else { "full_attention" };
    config.set("layer_types", slides.iter().map(kind).collect::<Vec<_>>());
    config.set_if("sliding_window", width);
    Ok(())
}

/// Rotary embeddings: base, rotated share, and how they are stretched.
pub(super) fn rotary(facts: &Facts<'_>, config: &mut ConfigMap, rotated: Rotated, theta: &str) -> Result<(), String> {
    let d_head = head_width(facts)?;
    config.set(theta, facts.number("rope.freq_base")?.unwrap_or(10_000.0));
    let n_rotated = facts.optional_size("rope.dimension_count")?.unwrap_or(d_head);
    match rotated {
        Rotated::All if n_rotated != d_head => {
            return Err(format!("it rotates {n_rotated} of {d_head} dimensions, which is not supported here"));
        }
        Rotated::All => {}
        Rotated::Fraction(key) => {
            let fraction = n_rotated as f64 / d_head as f64;
            // The product with the width is cut to a whole number.
            let is_short = ((d_head as f64 * fraction) as u64) < n_rotated;
            config.set(key, if is_short { fraction.next_up() } else { fraction });
        }
    }
    config.set_if("rope_scaling", stretched(facts)?);
    Ok(())
}

/// How rotary embeddings are stretched; `None` where they are not.
pub(super) fn stretched(facts: &Facts<'_>) -> Result<Option<Value>, String> {
    let kind = facts.text("rope.scaling.type")?;
    // The second is what the first was called before.
    let factors = [facts.number("rope.scaling.factor")?, facts.number("rope.scale_linear")?];
    let factor = factors.into_iter().flatten().find(|factor| *factor != 0.0).unwrap_or(1.0);
    let trained = facts.optional_size("rope.scaling.original_context_length")?;
    let n_ctx = facts.size("context_length")?;
    let attention = facts.number("rope.scaling.attn_factor")?;
    facts.leave(&["rope.scaling.finetuned"]);
    let own = [facts.factors("rope_freqs.weight"), facts.factors("rope_factors_short.weight")];
    let long = facts.factors("rope_factors_long.weight");
    let short = own.into_iter().flatten().next();
    if let Some(short) = short {
        if factor != 1.0 || kind.is_some_and(|kind| !["none", "longrope"].contains(&kind)) {
            return Err("its rotary embedding is stretched in two ways, which is not supported".to_owned());
        }
        // Factors of their own for each dimension: Llama 3's are the same for texts of any length.
        return Ok(Some(json!({
            "rope_type": "longrope",
            "short_factor": short,
            "long_factor": long.unwrap_or(short),
            "original_max_position_embeddings": trained.unwrap_or(n_ctx),
            "attention_factor": attention.unwrap_or(1.0),
        })));
    }
    if attention.is_some_and(|attention| attention != 1.0) {
        return Err("its rotary embedding scales scores (rope.scaling.attn_factor), which is not supported".to_owned());
    }
    match kind.unwrap_or("linear") {
        "none" | "longrope" => Ok(None),
        "linear" if factor == 1.0 => Ok(None),
        "linear" => Ok(Some(json!({ "rope_type": "linear", "factor": factor }))),
        "yarn" => {
            facts.only("rope.scaling.yarn_ext_factor", 1.0)?;
            let mut section = json!({
                "rope_type": "yarn",
                "factor": factor,
                "original_max_position_embeddings": trained.unwrap_or(n_ctx),
            });
            for (key, own) in
                [("beta_fast", "rope.scaling.yarn_beta_fast"), ("beta_slow", "rope.scaling.yarn_beta_slow")]
            {
                if let Some(number) = facts.number(own)? {
                    section[key] = json!(number);
                }
            }
            Ok(Some(section))
        }
        other => Err(format!("its rotary embedding is of the kind “{other}”, which is not supported")),
    }
}
