//! DINOv2, with and without registers: a vision transformer with a learned factor on what each branch
//! adds, and a gated MLP in its largest size.

use serde_json::json;

use super::{
    Activation, Body, ClassHead, Config, Dense, Embedding, Family, HeadKind, Interpolation, Layers, LinearPart,
    LoadError, Modality, Names, Network, OpinionPlan, Pictures, ProcessorClass, Reads, Stack, StackKind, Stored, Tower,
    Transform, Weights, classifier, layer_norm, linear, n_classes, opinion, tokens, vision::Branch,
};

pub(super) const FAMILIES: &[Family] = &[
    Family {
        opinion: Some(OpinionPlan::Any(|settings, _| opinion::dinov2(settings))),
        ..Family::vision(PLAIN, &ProcessorClass::BIT, |config, weights| build(config, weights, PLAIN))
    },
    Family::vision(WITH_REGISTERS, &ProcessorClass::BIT, |config, weights| build(config, weights, WITH_REGISTERS)),
];

/// The `model_type`s, each of which is also the name of the body.
pub(super) const PLAIN: &str = "dinov2";
pub(super) const WITH_REGISTERS: &str = "dinov2_with_registers";

pub(super) fn build(config: &Config, weights: &mut Weights<'_>, family: &'static str) -> Result<Network, LoadError> {
    let config = &config.or(&json!({ "patch_size": if family == PLAIN { 14 } else { 16 } }));
    let d_model = config.d_model()?;
    let pictures = Pictures::of(config)?;
    let body = if family == PLAIN { "dinov2." } else { "dinov2_with_registers." };
    weights.set_prefix(body, &["embeddings.cls_token"]);
    let name = |part: &str| format!("{body}{part}");
    let mut embedding = pictures.embedding(weights, &name("embeddings.patch_embeddings.projection"), d_model, true)?;
    embedding.prefix = Some(tokens(weights, &name("embeddings.cls_token"), 1, d_model)?);
    let n = 1 + pictures.n_patches();
    embedding.position = Some(tokens(weights, &name("embeddings.position_embeddings"), n, d_model)?);
    let mut n_prefix = 1;
    if family == WITH_REGISTERS {
        embedding.filter = Interpolation::BicubicAntialiased;
        let registers = name("embeddings.register_tokens");
        let n_registers = weights.shape(&registers).and_then(|shape| shape.get(1)).copied().unwrap_or(0);
        if n_registers > 0 {
            embedding.registers = Some(tokens(weights, &registers, n_registers, d_model)?);
            n_prefix += n_registers;
        }
    }
    weights.skip(&name("embeddings.mask_token"));

    let mut layers = Layers::of(config, Names::dino(weights, body), body, d_model)?;
    layers.eps = config.norm_eps("layer_norm_eps", 1e-6)?;
    layers.scales = Some(["layer_scale1.lambda1", "layer_scale2.lambda1"]);
    let gated = config.flag("use_swiglu_ffn", false);
    let mut blocks = Vec::new();
    for layer in 0..config.n_layers()? {
        blocks.push(if gated {
            let mlp = gated_mlp(weights, &layers, layer)?;
            layers.block_of(weights, layer, mlp)?
        } else {
            let d_mlp = n_classes(weights, &layers.name(layer, "mlp.fc1.weight"));
            layers.block(weights, layer, d_mlp)?
        });
    }
    let final_norm = layer_norm(weights, &name("layernorm"), d_model, layers.eps)?;
    let head = if weights.has("classifier.weight") {
        let parts = ClassHead {
            kind: HeadKind::ImageClass,
            reads: Reads::FirstAndMean { n_prefix },
            transform: Transform::default(),
        };
        Some(classifier(config, weights, "classifier", 2 * d_model, parts)?)
    } else {
        weights.note_absent("classifier.weight");
        None
    };
    let stack = Stack::new(StackKind::SelfAttention, blocks, Some(final_norm));
    Ok(Network {
        family,
        modality: Modality::Image(pictures.spec(n_prefix)),
        d_model,
        body: Body::Single(Tower { embedding: Embedding::Patches(embedding), stack }),
        head,
    })
}

/// `SwiGLU`: one tensor with the gate first, or one for each half.
fn gated_mlp(weights: &mut Weights<'_>, layers: &Layers<'_>, layer: usize) -> Result<Dense, LoadError> {
    let name = |part: &str| layers.name(layer, part);
    let (up, down, d_mlp) = if weights.has(&name("mlp.gate_proj.weight")) {
        let (gate, up) = (name("mlp.gate_proj"), name("mlp.up_proj"));
        let d_mlp = n_classes(weights, &format!("{gate}.weight"));
        let parts = [&gate, &up].map(|name| LinearPart { name, d_out: d_mlp, bias: true });
        (weights.linear_of(&parts, layers.d_model, Stored::OutIn, None)?, name("mlp.down_proj"), d_mlp)
    } else {
        let joined = name("mlp.weights_in");
        let n = n_classes(weights, &format!("{joined}.weight"));
        (linear(weights, &joined, layers.d_model, n)?, name("mlp.weights_out"), n / 2)
    };
    let down = layers.scaled(weights, layer, Branch::Mlp, &down, (d_mlp, true))?;
    Ok(Dense { up, activation: Activation::Silu, gated: true, down })
}
