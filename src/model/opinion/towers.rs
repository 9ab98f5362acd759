//! CLIP and SigLIP.

use candle_core::{DType, Device, Tensor};
use candle_nn::Module as _;
use candle_transformers::models::{
    clip::{
        ClipConfig, ClipModel,
        text_model::{Activation, ClipTextConfig, ClipTextTransformer},
        vision_model::{ClipVisionConfig, ClipVisionTransformer},
    },
    siglip,
};
use serde_json::{Value, json};

use super::{Compared, Deviation, Output, Plan, row, settings::ConfigMap};
use crate::{ids::StackKind, spec::HeadKind};

const VISION: Compared = Compared::Final(StackKind::Vision);
const TEXT: Compared = Compared::Final(StackKind::Text);

/// Refuses a half alone, or one under another head.
fn compares(head: Option<HeadKind>) -> Result<(), String> {
    match head {
        Some(HeadKind::Similarity) => Ok(()),
        _ => Err("it compares pictures with texts, and this checkpoint does not".to_owned()),
    }
}

/// One half's configuration.
fn half(settings: &ConfigMap, name: &str, defaults: &Value) -> ConfigMap {
    settings.section(name).unwrap_or_else(|| ConfigMap::new(&serde_json::Map::new())).or(defaults)
}

pub(crate) fn clip(settings: &ConfigMap, head: Option<HeadKind>) -> Result<Plan, String> {
    compares(head)?;
    let text = half(
        settings,
        "text_config",
        &json!({
            "vocab_size": 49408, "hidden_size": 512, "intermediate_size": 2048, "max_position_embeddings": 77,
            "num_hidden_layers": 12, "num_attention_heads": 8, "hidden_act": "quick_gelu", "layer_norm_eps": 1e-5,
            "eos_token_id": 49407,
        }),
    );
    let vision = half(
        settings,
        "vision_config",
        &json!({
            "hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12, "num_attention_heads": 12,
            "image_size": 224, "patch_size": 32, "num_channels": 3, "hidden_act": "quick_gelu", "layer_norm_eps": 1e-5,
        }),
    );
    let projection_dim = settings.size("projection_dim").unwrap_or(512);
    let config = ClipConfig {
        text_config: ClipTextConfig {
            vocab_size: text.needed("vocab_size")?,
            embed_dim: text.needed("hidden_size")?,
            activation: Activation::QuickGelu,
            intermediate_size: text.needed("intermediate_size")?,
            max_position_embeddings: text.needed("max_position_embeddings")?,
            pad_with: None,
            num_hidden_layers: text.needed("num_hidden_layers")?,
            num_attention_heads: text.needed("num_attention_heads")?,
            projection_dim,
        },
        vision_config: ClipVisionConfig {
            embed_dim: vision.needed("hidden_size")?,
            activation: Activation::QuickGelu,
            intermediate_size: vision.needed("intermediate_size")?,
            num_hidden_layers: vision.needed("num_hidden_layers")?,
            num_attention_heads: vision.needed("num_attention_heads")?,
            projection_dim,
            num_channels: vision.needed("num_channels")?,
            image_size: vision.needed("image_size")?,
            patch_size: vision.needed("patch_size")?,
        },
        logit_scale_init_value: 2.6592,
        image_size: vision.needed("image_size")?,
    };
    let mut deviations = Vec::new();
    for (name, half) in [("text_config", &text), ("vision_config", &vision)] {
        if let Some(activation) = half.text("hidden_act").filter(|activation| *activation != "quick_gelu") {
            let why = format!("its CLIP computes every activation as quick_gelu, and {name} says {activation}");
            deviations.push(Deviation::new(why, json!({ name: { "hidden_act": "quick_gelu" } })));
        }
        if let Some(eps) = half.number("layer_norm_eps").filter(|eps| *eps != 1e-5) {
            let why = format!("its CLIP adds 1e-5 to variances, and {name} says {eps:e}");
            deviations.push(Deviation::new(why, json!({ name: { "layer_norm_eps": 1e-5 } })));
        }
    }
    if let Some(end) = text.size("eos_token_id").filter(|end| *end != 2) {
        let why = format!("its CLIP sums a text up at its highest id, and not at the end token {end}");
        deviations.push(Deviation::new(why, json!({ "text_config": { "eos_token_id": 2 } })));
    }
    let picture_px = Some(config.image_size);
    let plan = Plan::new("clip", move |tensors, reading| {
        let vb = tensors.builder();
        let (ids, pixels) = (row(reading.target_ids()?)?, reading.pixels()?);
        let vision = ClipVisionTransformer::new(vb.pp("vision_model"), &config.vision_config)?;
        let layers = vision.output_hidden_states(&pixels)?;
        // The last is the picture as a whole.
        let last = layers.len().checked_sub(2).map(|last| &layers[last]);
        let last = last.ok_or_else(|| candle_core::Error::Msg("there are no layers".to_owned()))?;
        let text = ClipTextTransformer::new(vb.pp("text_model"), &config.text_config)?;
        let stream = text.forward_with_mask(&ids, usize::MAX)?;
        let (logits, _) = ClipModel::new(vb, &config)?.forward(&pixels, &ids)?;
        Ok(vec![
            Output::all(VISION, last)?,
            Output::all(TEXT, &stream)?,
            Output::all(Compared::Logits, &logits.unsqueeze(0)?)?,
        ])
    });
    Ok(Plan { deviations, picture_px, ..plan })
}

pub(crate) fn siglip(settings: &ConfigMap, head: Option<HeadKind>) -> Result<Plan, String> {
    compares(head)?;
    let text: siglip::TextConfig = half(settings, "text_config", &json!({})).parse()?;
    let vision: siglip::VisionConfig = half(settings, "vision_config", &json!({})).parse()?;
    let picture_px = Some(vision.image_size);
    let plan = Plan::new("siglip", move |mut tensors, reading| {
        let (ids, pixels) = (row(reading.target_ids()?)?, reading.pixels()?);
        let vb = tensors.builder();
        let stream = siglip::VisionModel::new(&vision, false, vb.pp("vision_model"))?.forward(&pixels)?;
        let mut outputs = vec![Output::all(VISION, &stream)?];
        let d_shared = tensors.get("text_model.head.weight")?.dim(0)?;
        if d_shared == text.hidden_size {
            let config = siglip::Config { text_config: text.clone(), vision_config: vision.clone() };
            let (logits, _) = siglip::Model::new(&config, vb)?.forward(&pixels, &ids)?;
            outputs.push(Output::all(Compared::Logits, &logits.unsqueeze(0)?)?);
        }
        // With nothing for a head it gives the stream of the last token.
        let width = text.hidden_size;
        tensors.put("text_model.head.weight", Tensor::eye(width, DType::F32, &Device::Cpu)?);
        tensors.put("text_model.head.bias", Tensor::zeros(width, DType::F32, &Device::Cpu)?);
        let values = siglip::TextModel::new(&text, tensors.builder().pp("text_model"))?.forward(&ids)?;
        outputs.insert(1, Output { of: TEXT, rows: vec![ids.dim(1)? - 1], values });
        Ok(outputs)
    });
    Ok(Plan { picture_px, ..plan })
}

pub(crate) fn siglip_vision(settings: &ConfigMap) -> Result<Plan, String> {
    let config: siglip::VisionConfig = settings.parse()?;
    let picture_px = Some(config.image_size);
    let plan = Plan::new("siglip", move |tensors, reading| {
        let tensors = tensors.rooted("embeddings.patch_embedding.weight");
        let stream = siglip::VisionModel::new(&config, false, tensors.builder())?.forward(&reading.pixels()?)?;
        Ok(vec![Output::all(Compared::Final(StackKind::SelfAttention), &stream)?])
    });
    Ok(Plan { picture_px, ..plan })
}
