//! Vision transformer: pre-norm encoder on image patches, with a CLS token and learned positions.

use candle_core::Tensor;

use super::{Network, class_names, layer_norm, linear, n_classes};
use crate::{
    model::{
        LoadError,
        block::{Attention, Block, Mlp, NormPlace, Stack},
        config::Config,
        embedding::{Embedding, PatchEmbedding},
        head::Head,
        kernels::{Activation, Linear},
        weights::Weights,
    },
    spec::{LayerSpec, Modality},
};

pub(super) fn build(config: &Config, weights: &mut Weights<'_>) -> Result<Network, LoadError> {
    let d_model = config.d_model()?;
    let spec = LayerSpec::multi_head(d_model, config.n_heads(d_model)?);
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
        let qkv = ["query", "key", "value"].map(|part| name(&format!("attention.attention.{part}")));
        blocks.push(Block {
            attention: Attention {
                qkv: weights.linear(&qkv.each_ref().map(String::as_str), (d_model, d_model), true, qkv_bias)?,
                out: linear(weights, &name("attention.output.dense"), d_model, d_model)?,
                spec,
                causal: false,
            },
            attention_norm: layer_norm(weights, &name("layernorm_before"), d_model, eps)?,
            mlp: Mlp {
                up: linear(weights, &name("intermediate.dense"), d_model, d_mlp)?,
                activation,
                down: linear(weights, &name("output.dense"), d_mlp, d_model)?,
            },
            mlp_norm: layer_norm(weights, &name("layernorm_after"), d_model, eps)?,
            norms: NormPlace::Before,
        });
    }
    let final_norm = Some(layer_norm(weights, "vit.layernorm", d_model, eps)?);
    let head = if weights.has("classifier.weight") {
        let n = n_classes(weights, "classifier.weight");
        Some(Head::ImageClass {
            classifier: linear(weights, "classifier", d_model, n)?,
            labels: class_names(config, n),
        })
    } else {
        weights.note_absent("classifier.weight");
        None
    };
    Ok(Network {
        family: "vit",
        modality: Modality::Image { size_px, patch_px, n_prefix: 1 },
        d_model,
        causal: false,
        embedding: Embedding::Patches(embedding),
        stack: Stack { blocks, final_norm },
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
    let position: Tensor =
        weights.tensor("vit.embeddings.position_embeddings", &[1, n, d_model])?.reshape((n, d_model))?;
    let name = "vit.embeddings.patch_embeddings.projection";
    let kernel = weights.tensor(&format!("{name}.weight"), &[d_model, 3, patch_px.0, patch_px.1])?;
    let weight = kernel.reshape((d_model, 3 * patch_px.0 * patch_px.1))?.t()?;
    let bias = Some(weights.tensor(&format!("{name}.bias"), &[d_model])?);
    Ok(PatchEmbedding { projection: Linear::new(weight, bias)?, cls, position, grid, patch_px })
}
