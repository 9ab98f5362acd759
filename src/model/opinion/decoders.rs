//! Decoders. The library gives the logits of the last token alone, so it is asked about several beginnings of the
//! text. Tables that it makes for the longest text of a model are made for the longest of these instead.

use candle_core::{DType, Device, Tensor};
use candle_nn::VarBuilder;
use candle_transformers::models::{gemma, gemma2, gemma3, llama, mistral, phi3, qwen2, qwen3};
use serde_json::{Value, json};

use super::{
    Deviation, Limit, Plan,
    settings::{ConfigMap, Rope},
};
use crate::spec::HeadKind;

/// The logits of a text's last token, from ids `[1, n]`.
type Last = Box<dyn FnMut(&Tensor) -> candle_core::Result<Tensor>>;

/// A model that reads each text from its beginning.
macro_rules! cached {
    ($model:expr) => {{
        let mut model = $model;
        Ok(Box::new(move |ids: &Tensor| {
            model.clear_kv_cache();
            model.forward(ids, 0)
        }))
    }};
}

/// The plan of a decoder that the library can follow.
pub(super) fn plan(plan: Plan, settings: &ConfigMap, head: Option<HeadKind>) -> Result<Plan, String> {
    if settings.is_off("is_causal") {
        return Err("its decoders see only what was read before, and this one sees all".to_owned());
    }
    if head != Some(HeadKind::NextToken) {
        return Err(
            "of decoders it gives the logits of the next token alone, which this checkpoint has no head for".into()
        );
    }
    Ok(plan)
}

/// A decoder that `open` makes for texts of at most so many tokens.
fn decoder(
    module: &'static str,
    open: impl Fn(VarBuilder<'static>, usize) -> candle_core::Result<Last> + Send + Sync + 'static,
) -> Plan {
    Plan::new(module, move |tensors, reading| {
        let ids = reading.ids()?.0;
        let word = "model.embed_tokens.weight";
        let tensors = tensors.rooted(word).tied("lm_head.weight", word);
        Ok(vec![reading.prefixes(ids, open(tensors.builder(), ids.len())?)?])
    })
}

/// What causal models have when their file is silent.
fn common() -> Value {
    json!({
        "rms_norm_eps": 1e-6, "hidden_act": "silu", "tie_word_embeddings": false, "attention_bias": false,
        "max_window_layers": 28, "max_position_embeddings": 2048,
    })
}

/// The base of a rotary embedding of the original form.
fn plain_rope(rope: &Rope) -> Result<f64, String> {
    match rope.kind.as_str() {
        "default" => Ok(rope.theta),
        other => Err(format!("it knows no rotary embedding of the kind “{other}” for this architecture")),
    }
}

/// Up to the width of its windows every token sees all before it, which is where windows need no comparing.
fn within(window: Option<usize>) -> Option<Limit> {
    let why = "its sliding windows are one token wider, or missing";
    window.map(|n_tokens| Limit { n_tokens, why })
}

/// Refuses heads of another width than the library computes.
fn shared_width(settings: &ConfigMap) -> Result<(), String> {
    let shared = settings.needed("hidden_size")? / settings.needed("num_attention_heads")?.max(1);
    match settings.size("head_dim") {
        Some(width) if width != shared => Err(format!("its heads share the width, and these are {width} wide")),
        _ => Ok(()),
    }
}

pub(crate) fn llama(settings: &ConfigMap) -> Result<Plan, String> {
    shared_width(settings)?;
    if settings.flag("attention_bias") || settings.flag("mlp_bias") {
        return Err("its Llama has no biases, and this checkpoint does".to_owned());
    }
    let rope = settings.rope();
    let mut settings = settings.clone().or(&common()).with("rope_theta", rope.theta).with("rope_scaling", Value::Null);
    if rope.kind == "llama3" {
        let defaults = json!({ "low_freq_factor": 1.0, "high_freq_factor": 4.0, "rope_type": "llama3" });
        settings = settings.with("rope_scaling", rope.section.or(&defaults).parse::<Value>()?);
    } else {
        plain_rope(&rope)?;
    }
    let config = settings.parse::<llama::LlamaConfig>()?.into_config(false);
    Ok(decoder("llama", move |vb, n| {
        let config = llama::Config { max_position_embeddings: n, ..config.clone() };
        let model = llama::Llama::load(vb, &config)?;
        Ok(Box::new(move |ids| {
            model.forward(ids, 0, &mut llama::Cache::new(false, DType::F32, &config, &Device::Cpu)?)
        }))
    }))
}

pub(crate) fn mistral(settings: &ConfigMap) -> Result<Plan, String> {
    let window = settings.clone().or_unless_null("sliding_window", 4096).size("sliding_window");
    let theta = plain_rope(&settings.rope())?;
    let settings = settings.clone().or(&common()).with("rope_theta", theta).with("sliding_window", Value::Null);
    let config: mistral::Config = settings.parse()?;
    let plan = decoder("mistral", move |vb, n| {
        let config = mistral::Config { max_position_embeddings: n, ..config.clone() };
        cached!(mistral::Model::new(&config, vb)?)
    });
    Ok(Plan { limit: within(window), ..plan })
}

pub(crate) fn qwen2(settings: &ConfigMap) -> Result<Plan, String> {
    shared_width(settings)?;
    let window = settings.size("sliding_window").filter(|_| settings.flag("use_sliding_window"));
    let theta = plain_rope(&settings.rope())?;
    // It has windows in all layers or none, whatever the configuration says.
    let overlaid = settings.clone().or(&common()).with("rope_theta", theta);
    let config: qwen2::Config = overlaid.with("use_sliding_window", false).with("sliding_window", u32::MAX).parse()?;
    let plan = decoder("qwen2", move |vb, n| {
        let config = qwen2::Config { max_position_embeddings: n, ..config.clone() };
        cached!(qwen2::ModelForCausalLM::new(&config, vb)?)
    });
    Ok(Plan { limit: within(window), ..plan })
}

pub(crate) fn qwen3(settings: &ConfigMap) -> Result<Plan, String> {
    let window = settings.size("sliding_window").filter(|_| settings.flag("use_sliding_window"));
    let theta = plain_rope(&settings.rope())?;
    let overlaid = settings.clone().or(&json!({ "head_dim": 128 })).or(&common()).with("rope_theta", theta);
    let config: qwen3::Config =
        overlaid.with("use_sliding_window", false).with("sliding_window", Value::Null).parse()?;
    let plan = decoder("qwen3", move |vb, n| {
        let config = qwen3::Config { max_position_embeddings: n, ..config.clone() };
        cached!(qwen3::ModelForCausalLM::new(&config, vb)?)
    });
    Ok(Plan { limit: within(window), ..plan })
}

/// Gemma's heads, and what is not the same in the library.
fn of_gemma(settings: &ConfigMap) -> Result<(ConfigMap, Vec<Deviation>), String> {
    if settings.flag("use_bidirectional_attention") {
        return Err("its Gemma sees only what was read before, and this one sees all".to_owned());
    }
    let settings =
        settings.clone().or(&json!({ "head_dim": 256, "hidden_activation": "gelu_pytorch_tanh" })).or(&common());
    let head_dim = settings.needed("head_dim")?;
    let scalar = settings.number("query_pre_attn_scalar");
    let why =
        format!("its Gemma divides scores by the root of a head's width ({head_dim}), not of query_pre_attn_scalar");
    let other = scalar.is_some_and(|scalar| scalar != head_dim as f64);
    let deviations = other.then(|| Deviation::new(why, json!({ "query_pre_attn_scalar": head_dim })));
    Ok((settings, deviations.into_iter().collect()))
}

pub(crate) fn gemma(settings: &ConfigMap) -> Result<Plan, String> {
    let theta = plain_rope(&settings.rope())?;
    let (settings, deviations) = of_gemma(settings)?;
    // It takes one of two names for the activation, and the class means the tanh formula under both.
    let settings = settings.with("hidden_act", Value::Null).with("hidden_activation", "gelu_pytorch_tanh");
    let config: gemma::Config = settings.with("rope_theta", theta).parse()?;
    let plan = decoder("gemma", move |vb, n| {
        let config = gemma::Config { max_position_embeddings: n, ..config.clone() };
        cached!(gemma::Model::new(false, &config, vb)?)
    });
    Ok(Plan { deviations, ..plan })
}

pub(crate) fn gemma2(settings: &ConfigMap) -> Result<Plan, String> {
    let theta = plain_rope(&settings.rope())?;
    let (settings, deviations) = of_gemma(settings)?;
    let window = settings.size("sliding_window").or(Some(4096));
    let settings = settings
        .or(&json!({ "query_pre_attn_scalar": 256 }))
        .or_unless_null("attn_logit_softcapping", 50.0)
        .or_unless_null("final_logit_softcapping", 30.0)
        .with("sliding_window", Value::Null);
    let config: gemma2::Config = settings.with("rope_theta", theta).parse()?;
    let plan = decoder("gemma2", move |vb, n| {
        let config = gemma2::Config { max_position_embeddings: n, ..config.clone() };
        cached!(gemma2::Model::new(false, &config, vb)?)
    });
    Ok(Plan { limit: within(window), deviations, ..plan })
}

pub(crate) fn gemma3(settings: &ConfigMap) -> Result<Plan, String> {
    let (settings, mut deviations) = of_gemma(settings)?;
    let nested = settings.section("rope_parameters");
    let of_kind = |kind: &str| nested.as_ref().and_then(|nested| nested.section(kind));
    let number = |kind: &str, older: &str, default: f64| {
        let theta = of_kind(kind).and_then(|section| section.number("rope_theta"));
        theta.or_else(|| settings.number(older)).unwrap_or(default)
    };
    let theta = number("full_attention", "rope_theta", 1e6);
    let local = number("sliding_attention", "rope_local_base_freq", 1e4);
    let is_stretched = |section: Option<ConfigMap>| {
        let kind = section.and_then(|section| section.text("rope_type").or(section.text("type")).map(str::to_owned));
        kind.is_some_and(|kind| kind != "default")
    };
    if is_stretched(settings.section("rope_scaling").or_else(|| of_kind("full_attention"))) {
        let plain = json!({ "rope_type": "default", "rope_theta": theta });
        let why = "its Gemma 3 does not stretch the rotary embedding of layers that see all";
        let as_library = json!({ "rope_scaling": null, "rope_parameters": { "full_attention": plain } });
        deviations.push(Deviation::new(why, as_library));
    }
    let window = settings.size("sliding_window").or(Some(4096));
    let settings = settings
        .clone()
        .or(&json!({ "query_pre_attn_scalar": 256, "sliding_window": 4096 }))
        // The class reads it and never uses it.
        .with("attn_logit_softcapping", Value::Null)
        .with("sliding_window_pattern", pattern(&settings)?)
        .with("rope_theta", theta)
        .with("rope_local_base_freq", local);
    let config: gemma3::Config = settings.parse()?;
    let plan = decoder("gemma3", move |vb, n| {
        let config = gemma3::Config { max_position_embeddings: n, ..config.clone() };
        let mut model = gemma3::Model::new(false, &config, vb)?;
        // Its windows refuse several tokens at once: their values are not contiguous.
        Ok(Box::new(move |ids| {
            model.clear_kv_cache();
            let n = ids.dim(1)?;
            let mut each = (0..n).map(|nth| model.forward(&ids.narrow(1, nth, 1)?, nth));
            each.by_ref().take(n.saturating_sub(1)).try_for_each(|logits| logits.map(drop))?;
            each.next().unwrap_or_else(|| Err(candle_core::Error::Msg("there are no tokens".to_owned())))
        }))
    });
    Ok(Plan { limit: within(window), deviations, ..plan })
}

/// Every how many layers one sees all.
fn pattern(settings: &ConfigMap) -> Result<usize, String> {
    let Some(kinds) = settings.list("layer_types") else {
        let named =
            ["sliding_window_pattern", "_sliding_window_pattern"].into_iter().find_map(|key| settings.size(key));
        return Ok(named.unwrap_or(6).max(1));
    };
    let sees_all = |kind: &Value| kind.as_str() == Some("full_attention");
    let every = kinds.iter().position(sees_all).map_or(kinds.len() + 1, |first| first + 1);
    let is_regular = kinds.iter().enumerate().all(|(layer, kind)| sees_all(kind) == (layer + 1).is_multiple_of(every));
    if is_regular { Ok(every) } else { Err("its Gemma 3 has windows in regular turns alone".to_owned()) }
}

pub(crate) fn phi3(settings: &ConfigMap) -> Result<Plan, String> {
    shared_width(settings)?;
    let rope = settings.rope();
    let window = settings.size("sliding_window");
    let fraction = rope.section.number("partial_rotary_factor").or_else(|| settings.number("partial_rotary_factor"));
    let mut overlaid = settings
        .clone()
        .or(&json!({ "original_max_position_embeddings": 4096 }))
        .or(&common())
        .with("rope_theta", rope.theta)
        .with("rope_scaling", Value::Null)
        .with("partial_rotary_factor", fraction.filter(|fraction| *fraction != 1.0).map_or(Value::Null, Value::from));
    let trained = overlaid.size("original_max_position_embeddings");
    let (mut limit, mut deviations) = (within(window), Vec::new());
    if ["longrope", "su", "yarn"].contains(&rope.kind.as_str()) {
        let factors =
            |key: &str| rope.section.list(key).cloned().ok_or_else(|| format!("config.json does not say {key}"));
        let (short, long) = (factors("short_factor")?, factors("long_factor")?);
        let inverted =
            |factors: &[Value]| -> Vec<f64> { factors.iter().filter_map(Value::as_f64).map(f64::recip).collect() };
        let as_library = json!({
            "short_factor": inverted(&short), "long_factor": inverted(&long), "attention_factor": 1.0,
        });
        let why =
            "its Phi-3 multiplies rotary frequencies by LongRoPE's factors instead of dividing, and scales nothing";
        let section = if settings.section("rope_scaling").is_some() { "rope_scaling" } else { "rope_parameters" };
        deviations.push(Deviation::new(why, json!({ section: as_library })));
        overlaid =
            overlaid.with("rope_scaling", json!({ "type": "longrope", "short_factor": short, "long_factor": long }));
        let why = "its Phi-3 turns the first tokens of a long text as those of a short one";
        let n_tokens = trained.unwrap_or(usize::MAX);
        if limit.as_ref().is_none_or(|limit| n_tokens < limit.n_tokens) {
            limit = Some(Limit { n_tokens, why });
        }
    } else {
        plain_rope(&rope)?;
    }
    // Several end tokens are for those who write.
    let config: phi3::Config =
        overlaid.with("original_max_position_embeddings", Value::Null).with("eos_token_id", Value::Null).parse()?;
    let plan = decoder("phi3", move |vb, n| {
        let config = phi3::Config { max_position_embeddings: n, ..config.clone() };
        cached!(phi3::Model::new(&config, vb)?)
    });
    Ok(Plan { limit, deviations, ..plan })
}
