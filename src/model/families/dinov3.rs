//! `DINOv3`: a vision transformer in which queries and keys of patches are turned by their places in the picture; CLS
//! and registers have none.

use super::{
    Body, Config, Dense, Embedding, Family, Layers, LinearPart, LoadError, Modality, Names, Network, PatchAxis,
    PatchPlaces, Pictures, ProcessorClass, Rotary, RotaryPatches, Stack, StackKind, Stored, Tower, Weights,
    config_keys, layer_norm, map, tokens, vision::Branch,
};

pub(super) const FAMILIES: &[Family] = &[Family {
    harmless: &[
        config_keys::CAUSALITY,
        config_keys::BACKBONE,
        // Where patches stand changes while a model is trained; what a backbone returns.
        &["pos_embed_jitter", "pos_embed_rescale", "pos_embed_shift", "return_class_token"],
    ],
    ..Family::vision(FAMILY, &ProcessorClass::DINOV3, build)
}];

const FAMILY: &str = "dinov3_vit";

/// What a layer's maps are called.
const NAMES: Names = Names {
    layers: "layer",
    qkv: ["attention.q_proj", "attention.k_proj", "attention.v_proj"],
    out: "attention.o_proj",
    mlp: ["mlp.up_proj", "mlp.down_proj"],
    norms: ["norm1", "norm2"],
};

fn build(config: &Config, weights: &mut Weights<'_>) -> Result<Network, LoadError> {
    let d_model = config.d_model()?;
    let pictures = Pictures::of(config)?;
    weights.set_prefix("", &["embeddings.cls_token"]);
    let mut embedding = pictures.embedding(weights, "embeddings.patch_embeddings", d_model, true)?;
    embedding.prefix = Some(tokens(weights, "embeddings.cls_token", 1, d_model)?);
    let registers = "embeddings.register_tokens";
    let n_registers = weights.shape(registers).and_then(|shape| shape.get(1)).copied().unwrap_or(0);
    if n_registers > 0 {
        embedding.registers = Some(tokens(weights, registers, n_registers, d_model)?);
    } else {
        weights.skip(registers);
    }
    let n_prefix = 1 + n_registers;
    weights.skip("embeddings.mask_token");

    // Version 5 of the library gives layers a name in front.
    let body = if weights.has("model.layer.0.norm1.weight") { "model." } else { "" };
    let mut layers = Layers::of(config, NAMES, body, d_model)?;
    layers.eps = config.norm_eps("layer_norm_eps", 1e-5)?;
    layers.scales = Some(["layer_scale1.lambda1", "layer_scale2.lambda1"]);
    layers.bias = [("query_bias", true), ("key_bias", false), ("value_bias", true)]
        .map(|(key, default)| config.flag(key, default));
    layers.out_bias = config.flag("proj_bias", true);
    layers.rotary = Some(0);
    let d_head = layers.spec.d_head;
    if !d_head.is_multiple_of(4) {
        return Err(config.unsupported(format!("its heads are {d_head} wide, which two axes of pairs do not divide")));
    }
    let theta = config.number(&["rope_theta"])?.unwrap_or(100.0);
    if theta <= 0.0 {
        return Err(config.error(format!("its rope_theta is {theta}")));
    }
    let mut blocks = Vec::new();
    for layer in 0..config.n_layers()? {
        let mlp = mlp(config, weights, &layers, layer)?;
        blocks.push(layers.block_of(weights, layer, mlp)?);
    }
    let final_norm = layer_norm(weights, "norm", d_model, layers.eps)?;
    let patches = RotaryPatches { n_prefix, places: PatchPlaces::Middles, first: PatchAxis::Row };
    let rotary = vec![Rotary::of_patches(theta, d_head, patches)];
    let stack = Stack { rotary, ..Stack::new(StackKind::SelfAttention, blocks, Some(final_norm)) };
    Ok(Network {
        family: FAMILY,
        modality: Modality::Image(pictures.spec(n_prefix)),
        d_model,
        body: Body::Single(Tower { embedding: Embedding::Patches(embedding), stack }),
        head: None,
    })
}

/// Two maps, or three with a gate; its layer's factor is folded into the last.
fn mlp(config: &Config, weights: &mut Weights<'_>, layers: &Layers<'_>, layer: usize) -> Result<Dense, LoadError> {
    let d_mlp = config.d_mlp()?.unwrap_or(1536);
    let bias = config.flag("mlp_bias", true);
    let [gate, up, down] = ["gate_proj", "up_proj", "down_proj"].map(|part| layers.name(layer, &format!("mlp.{part}")));
    let gated = config.flag("use_gated_mlp", false);
    let up = if gated {
        let part = |name| LinearPart { name, d_out: d_mlp, bias };
        weights.linear_of(&[part(&gate), part(&up)], layers.d_model, Stored::OutIn, None)?
    } else {
        map(weights, &up, (layers.d_model, d_mlp), bias)?
    };
    let down = layers.scaled(weights, layer, Branch::Mlp, &down, (d_mlp, bias))?;
    Ok(Dense { up, activation: layers.activation, gated, down })
}
