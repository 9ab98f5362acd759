//! ViT and DINOv2.

use candle_core::{DType, Device, IndexOp as _, Tensor};
use candle_nn::{Module as _, layer_norm, linear};
use candle_transformers::models::{dinov2, vit};
use serde_json::json;

use super::{Compared, Deviation, Output, Plan, Tensors, settings::ConfigMap};
use crate::{ids::StackKind, model::ModelError, spec::HeadKind};

const STREAM: Compared = Compared::Final(StackKind::SelfAttention);

/// What newer files call the parts of a ViT's layer, and what the library does.
const VIT_NAMES: [(&str, &str); 7] = [
    ("layers.", "encoder.layer."),
    ("attention.q_proj.", "attention.attention.query."),
    ("attention.k_proj.", "attention.attention.key."),
    ("attention.v_proj.", "attention.attention.value."),
    ("attention.o_proj.", "attention.output.dense."),
    ("mlp.fc1.", "intermediate.dense."),
    ("mlp.fc2.", "output.dense."),
];

pub(crate) fn vit(settings: &ConfigMap, head: Option<HeadKind>) -> Result<Plan, String> {
    let settings = settings.clone().or(&json!({
        "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072,
        "hidden_act": "gelu", "layer_norm_eps": 1e-12, "image_size": 224, "patch_size": 16, "num_channels": 3,
        "qkv_bias": true,
    }));
    if settings.list("image_size").is_some() || settings.list("patch_size").is_some() {
        return Err("its ViT has one number for both sides of pictures and patches".to_owned());
    }
    let config: vit::Config = settings.parse()?;
    let picture_px = Some(config.image_size);
    let plan = Plan::new("vit", move |tensors, reading| {
        let tensors = tensors.rooted("embeddings.cls_token");
        let newer = tensors.has("layers.0.layernorm_before.weight");
        let tensors = if newer { tensors.renamed(&VIT_NAMES) } else { tensors };
        let vb = tensors.builder();
        let embedded =
            vit::Embeddings::new(&config, false, vb.pp("embeddings"))?.forward(&reading.pixels()?, None, false)?;
        let norm = layer_norm(config.hidden_size, config.layer_norm_eps, vb.pp("layernorm"))?;
        let stream = vit::Encoder::new(&config, vb.pp("encoder"))?.forward(&embedded)?.apply(&norm)?;
        let mut outputs = vec![Output::all(STREAM, &stream)?];
        if head == Some(HeadKind::ImageClass) {
            let n_classes = tensors.get("classifier.weight")?.dim(0)?;
            let logits =
                stream.i((.., 0..1, ..))?.apply(&linear(config.hidden_size, n_classes, vb.pp("classifier"))?)?;
            outputs.push(Output::all(Compared::Logits, &logits)?);
        }
        Ok(outputs)
    });
    Ok(Plan { picture_px, ..plan })
}

/// What the library's DINOv2 is made for.
const DINO_PICTURE: usize = 518;
const DINO_PATCH: usize = 14;
const DINO_CLASSES: usize = 1000;

/// What Hugging Face files call the parts of DINOv2, and what the library, which reads the original files, does.
const DINO_NAMES: [(&str, &str); 7] = [
    ("embeddings.patch_embeddings.projection.", "patch_embed.proj."),
    ("embeddings.cls_token", "cls_token"),
    ("embeddings.position_embeddings", "pos_embed"),
    ("encoder.layer.", "blocks."),
    ("attention.output.dense.", "attn.proj."),
    ("layer_scale1.lambda1", "ls1.gamma"),
    ("layer_scale2.lambda1", "ls2.gamma"),
];

pub(crate) fn dinov2(settings: &ConfigMap) -> Result<Plan, String> {
    let settings = settings.clone().or(&json!({
        "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "mlp_ratio": 4, "image_size": 224,
        "patch_size": 14, "qkv_bias": true, "hidden_act": "gelu", "layer_norm_eps": 1e-6,
    }));
    let [width, n_layers, n_heads] =
        ["hidden_size", "num_hidden_layers", "num_attention_heads"].map(|key| settings.size(key).unwrap_or(0));
    let same = settings.size("image_size") == Some(DINO_PICTURE)
        && settings.size("patch_size") == Some(DINO_PATCH)
        && settings.number("mlp_ratio") == Some(4.0)
        && settings.flag("qkv_bias")
        && !settings.flag("use_swiglu_ffn");
    if !same {
        return Err(format!(
            "its DINOv2 is made for pictures of {DINO_PICTURE} × {DINO_PICTURE} in patches of {DINO_PATCH} × {DINO_PATCH}, \
             biases of queries, keys and values, and MLPs of four times the width without a gate"
        ));
    }
    let mut deviations = Vec::new();
    if settings.text("hidden_act") == Some("gelu") {
        let why = "its DINOv2 computes GELU by the tanh formula where the configuration means the exact one";
        deviations.push(Deviation::new(why, json!({ "hidden_act": "gelu_new" })));
    }
    if let Some(eps) = settings.number("layer_norm_eps").filter(|eps| *eps != 1e-5) {
        let why = format!("its DINOv2 adds 1e-5 to variances, and the configuration says {eps:e}");
        deviations.push(Deviation::new(why, json!({ "layer_norm_eps": 1e-5 })));
    }
    let plan = Plan::new("dinov2", move |tensors, reading| {
        let mut tensors = tensors.rooted("embeddings.cls_token").renamed(&DINO_NAMES);
        for layer in 0..n_layers {
            fuse(&mut tensors, layer)?;
        }
        let head = |shape: &[usize]| Tensor::zeros(shape, DType::F32, &Device::Cpu);
        tensors.put("norm.weight", tensors.get("layernorm.weight")?.clone());
        tensors.put("norm.bias", tensors.get("layernorm.bias")?.clone());
        // A classifier that nobody asks.
        tensors.put("head.weight", head(&[DINO_CLASSES, 2 * width])?);
        tensors.put("head.bias", head(&[DINO_CLASSES])?);
        let model = dinov2::DinoVisionTransformer::new(tensors.builder(), n_layers, width, n_heads)?;
        // The patches; the token of the whole, to which they attend in each layer, is not given.
        let last = n_layers.saturating_sub(1);
        let values = model.get_intermediate_layers(&reading.pixels()?, &[last], false, false, true)?.i((0, 0))?;
        Ok(vec![Output { of: STREAM, rows: (1..=values.dim(0)?).collect(), values }])
    });
    Ok(Plan { deviations, picture_px: Some(DINO_PICTURE), ..plan })
}

/// Queries, keys and values of one layer in one map.
fn fuse(tensors: &mut Tensors, layer: usize) -> Result<(), ModelError> {
    for kind in ["weight", "bias"] {
        let part = |part: &str| tensors.get(&format!("blocks.{layer}.attention.attention.{part}.{kind}"));
        let fused = Tensor::cat(&[part("query")?, part("key")?, part("value")?], 0)?;
        tensors.put(format!("blocks.{layer}.attn.qkv.{kind}"), fused);
    }
    Ok(())
}
