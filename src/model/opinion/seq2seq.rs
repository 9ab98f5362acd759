//! T5 and Marian.

use candle_core::DType;
use candle_transformers::models::{marian, t5};
use serde_json::json;

use super::{Compared, Deviation, Limit, Output, Plan, row, settings::ConfigMap};
use crate::{ids::StackKind, spec::HeadKind};

const ENCODER: Compared = Compared::Final(StackKind::Encoder);

pub(crate) fn t5(settings: &ConfigMap, head: Option<HeadKind>) -> Result<Plan, String> {
    let settings = settings.clone().or(&json!({
        "vocab_size": 32128, "d_model": 512, "d_kv": 64, "d_ff": 2048, "num_layers": 6, "num_heads": 8,
        "relative_attention_num_buckets": 32, "dropout_rate": 0.1, "layer_norm_epsilon": 1e-6,
        "initializer_factor": 1.0, "feed_forward_proj": "relu", "is_encoder_decoder": true, "pad_token_id": 0,
        "eos_token_id": 1,
    }));
    if !["relu", "gated-gelu", "gated-silu"].contains(&settings.text("feed_forward_proj").unwrap_or_default()) {
        return Err("its T5 knows no other MLP than relu, gated-gelu and gated-silu".to_owned());
    }
    let tied = !settings.is_off("tie_word_embeddings");
    let config: t5::Config = settings.clone().with("use_cache", false).with("tie_word_embeddings", false).parse()?;
    if !settings.flag("is_encoder_decoder") {
        return Ok(Plan::new("t5", move |tensors, reading| {
            let tensors = tensors.tied("shared.weight", "encoder.embed_tokens.weight");
            let mut model = t5::T5EncoderModel::load(tensors.builder(), &config)?;
            let stream = model.forward(&row(reading.ids()?.0)?)?;
            Ok(vec![Output::all(Compared::Final(StackKind::SelfAttention), &stream)?])
        }));
    }
    if head != Some(HeadKind::NextToken) {
        return Err("its T5 writes, and this checkpoint has no head for that".to_owned());
    }
    // Its decoder sorts distances into as many classes as an encoder has in one direction.
    let n_exact = config.relative_attention_num_buckets / 4;
    let why = "its T5 puts larger distances of the decoder into the classes of an encoder";
    let key = "scale_decoder_outputs";
    let scaled = if settings.has(key) { settings.flag(key) } else { tied };
    let remark = scaled.then_some(
        "its T5 multiplies by the root of the width before a tied output map, and transformers divides by it: that was \
         done in its place",
    );
    let plan = Plan::new("t5", move |tensors, reading| {
        let word = "shared.weight";
        let mut tensors = tensors.tied(word, "encoder.embed_tokens.weight").tied(word, "decoder.embed_tokens.weight");
        if scaled || !tensors.has("lm_head.weight") {
            tensors.put("lm_head.weight", tensors.get(word)?.clone());
        }
        let scale = if scaled { (config.d_model as f64).sqrt().recip() } else { 1.0 };
        let mut model = t5::T5ForConditionalGeneration::load(tensors.builder(), &config)?;
        let stream = model.encode(&row(reading.ids()?.0)?)?;
        let logits = reading.prefixes(reading.target_ids()?, |ids| model.decode(ids, &stream)? * scale)?;
        Ok(vec![Output::all(ENCODER, &stream)?, logits])
    });
    Ok(Plan { limit: Some(Limit { n_tokens: n_exact + 1, why }), remark, ..plan })
}

/// mT5, whose class never scales what its output map reads.
pub(crate) fn mt5(settings: &ConfigMap, head: Option<HeadKind>) -> Result<Plan, String> {
    t5(&settings.clone().with("scale_decoder_outputs", false), head)
}

pub(crate) fn marian(settings: &ConfigMap) -> Result<Plan, String> {
    let settings = settings.clone().or(&json!({
        "vocab_size": 58101, "max_position_embeddings": 1024, "encoder_layers": 12, "encoder_ffn_dim": 4096,
        "encoder_attention_heads": 16, "decoder_layers": 12, "decoder_ffn_dim": 4096, "decoder_attention_heads": 16,
        "use_cache": false, "is_encoder_decoder": true, "activation_function": "gelu", "d_model": 1024,
        "decoder_start_token_id": 58100, "scale_embedding": false, "pad_token_id": 58100, "eos_token_id": 0,
        "forced_eos_token_id": 0, "share_encoder_decoder_embeddings": true,
    }));
    if !settings.flag("share_encoder_decoder_embeddings") {
        return Err("its Marian has one token embedding for both sides, and this checkpoint has two".to_owned());
    }
    let config: marian::Config = settings.parse()?;
    let heads = (config.encoder_attention_heads, config.decoder_attention_heads);
    let why = format!("its Marian gives the encoder as many heads as the decoder ({} instead of {})", heads.1, heads.0);
    let other = (heads.0 != heads.1).then(|| Deviation::new(why, json!({ "encoder_attention_heads": heads.1 })));
    let plan = Plan::new("marian", move |tensors, reading| {
        let tensors = tensors
            .tied("model.shared.weight", "model.encoder.embed_tokens.weight")
            .tied("model.shared.weight", "lm_head.weight");
        let mut tensors = tensors;
        if !tensors.has("final_logits_bias") {
            let bias = tensors.get("model.shared.weight")?.narrow(1, 0, 1)?.t()?.zeros_like()?;
            tensors.put("final_logits_bias", bias.to_dtype(DType::F32)?);
        }
        let mut model = marian::MTModel::new(&config, tensors.builder())?;
        let stream = model.encoder().forward(&row(reading.ids()?.0)?, 0)?;
        let logits = model.decode(&row(reading.target_ids()?)?, &stream, 0)?;
        Ok(vec![Output::all(ENCODER, &stream)?, Output::all(Compared::Logits, &logits)?])
    });
    Ok(Plan { deviations: other.into_iter().collect(), ..plan })
}
