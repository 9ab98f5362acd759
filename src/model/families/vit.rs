//! Vision transformer: pre-norm encoder on image patches, with a CLS token and learned positions.

use super::{classifier, layer_norm, linear, mlp, qkv};
use crate::{
    ids::StackKind,
    model::{
        LoadError,
        attention::Attention,
        bicubic::Bicubic,
        block::{Block, Norms, Stack},
        config::Config,
        embedding::{Embedding, PatchEmbedding},
        head::{Reads, Transform},
        kernels::{Activation, Linear},
        network::{Body, Network, Tower},
        weights::Weights,
    },
    spec::{HeadKind, ImageSpec, LayerSpec, Modality},
};

pub(super) fn build(config: &Config, weights: &mut Weights<'_>) -> Result<Network, LoadError> {
    let d_model = config.d_model()?;
    let n_heads = config.n_heads(d_model)?;
    let spec = LayerSpec::new(n_heads, d_model / n_heads);
    let d_mlp = config.d_mlp()?.unwrap_or(4 * d_model);
    let eps = config.norm_eps(1e-12)?;
    let activation = config.activation(Activation::Gelu)?;
    let size_px = config.pixels("image_size", Some(224))?;
    let patch_px = config.pixels("patch_size", Some(16))?;
    let n_channels = config.optional_size(&["num_channels"], 64)?.unwrap_or(3);
    if n_channels != 3 {
        return Err(
            config.error(format!("it reads pictures of {n_channels} channels; only colour pictures are supported"))
        );
    }
    let grid = (size_px.0 / patch_px.0, size_px.1 / patch_px.1);
    if grid.0 == 0 || grid.1 == 0 {
        return Err(config.error("its patches are larger than its pictures"));
    }
    let qkv_bias = config.flag("qkv_bias", true);

    weights.set_prefix("vit.", "embeddings.cls_token");
    let embedding = patches(weights, d_model, patch_px, grid)?;
    let mut blocks = Vec::new();
    for layer in 0..config.n_layers()? {
        let name = |part: &str| format!("vit.encoder.layer.{layer}.{part}");
        let [q, k, v] = ["query", "key", "value"].map(|part| name(&format!("attention.attention.{part}")));
        let qkv = qkv(weights, [&q, &k, &v], d_model, spec, [qkv_bias; 3])?;
        let out = linear(weights, &name("attention.output.dense"), d_model, d_model)?;
        blocks.push(Block::new(
            Attention::plain(qkv, out, spec, false),
            Norms::pre(layer_norm(weights, &name("layernorm_before"), d_model, eps)?),
            mlp(weights, [&name("intermediate.dense"), &name("output.dense")], (d_model, d_mlp), activation)?,
            Norms::pre(layer_norm(weights, &name("layernorm_after"), d_model, eps)?),
        ));
    }
    let final_norm = Some(layer_norm(weights, "vit.layernorm", d_model, eps)?);
    let head = if weights.has("classifier.weight") {
        let parts = (HeadKind::ImageClass, Reads::First, Transform::default());
        Some(classifier(config, weights, "classifier", d_model, parts)?)
    } else {
        weights.note_absent("classifier.weight");
        None
    };
    let stack = Stack::new(StackKind::SelfAttention, blocks, final_norm);
    Ok(Network {
        family: "vit",
        modality: Modality::Image(ImageSpec { size_px, patch_px, n_prefix: 1 }),
        d_model,
        body: Body::Single(Tower { embedding: Embedding::Patches(embedding), stack }),
        head,
    })
}

fn patches(
    weights: &mut Weights<'_>,
    d_model: usize,
    patch_px: (usize, usize),
    grid: (usize, usize),
) -> Result<PatchEmbedding, LoadError> {
    let cls = weights.tensor("vit.embeddings.cls_token", &[1, 1, d_model])?.reshape((1, d_model))?;
    let n = 1 + grid.0 * grid.1;
    let position = weights.tensor("vit.embeddings.position_embeddings", &[1, n, d_model])?.reshape((n, d_model))?;
    let name = "vit.embeddings.patch_embeddings.projection";
    let kernel = weights.tensor(&format!("{name}.weight"), &[d_model, 3, patch_px.0, patch_px.1])?;
    let weight = kernel.reshape((d_model, 3 * patch_px.0 * patch_px.1))?.t()?;
    let bias = Some(weights.tensor(&format!("{name}.bias"), &[d_model])?);
    Ok(PatchEmbedding {
        projection: Linear::new(weight, bias)?,
        prefix: Some(cls),
        position: Some(position),
        registers: None,
        norm: None,
        grid,
        patch_px,
        filter: Bicubic::Plain,
    })
}
