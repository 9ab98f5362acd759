//! Vision transformer (also DINO) and DeiT: pre-norm encoders on image patches with learned positions,
//! after a CLS token and, in DeiT, a distillation token.

use candle_core::Tensor;

use super::{
    Body, ClassHead, Config, Embedding, Family, Head, HeadKind, ImageSpec, Layers, Linear, LoadError, Modality, Names,
    Network, OpinionPlan, Pictures, ProcessorClass, Reads, Stack, StackKind, Tower, Transform, Weights, classifier,
    layer_norm, opinion, outcomes, tokens,
};

pub(super) const FAMILIES: &[Family] = &[
    Family { classes: &["DeiT"], ..Family::vision("deit", &ProcessorClass::DEIT, build_deit) },
    Family {
        classes: &["ViT"],
        opinion: Some(OpinionPlan::Any(opinion::vit)),
        ..Family::vision("vit", &ProcessorClass::VIT, build)
    },
];

pub(super) fn build(config: &Config, weights: &mut Weights<'_>) -> Result<Network, LoadError> {
    weights.set_prefix("vit.", &["embeddings.cls_token"]);
    let (spec, tower) = tower(config, weights, "vit.", StackKind::SelfAttention)?;
    let head = class_head(config, weights, config.d_model()?)?;
    network("vit", config, spec, tower, head)
}

pub(super) fn build_deit(config: &Config, weights: &mut Weights<'_>) -> Result<Network, LoadError> {
    let d_model = config.d_model()?;
    weights.set_prefix("deit.", &["embeddings.cls_token"]);
    let (spec, tower) = tower(config, weights, "deit.", StackKind::SelfAttention)?;
    let head = if weights.has("cls_classifier.weight") {
        Some(averaged_heads(config, weights, d_model)?)
    } else {
        class_head(config, weights, d_model)?
    };
    network("deit", config, spec, tower, head)
}

/// Embedding and layers whose names start with `body`; a distillation token is there when the file has
/// one.
pub(super) fn tower(
    config: &Config,
    weights: &mut Weights<'_>,
    body: &str,
    kind: StackKind,
) -> Result<(ImageSpec, Tower), LoadError> {
    let d_model = config.d_model()?;
    let pictures = Pictures::of(config)?;
    let name = |part: &str| format!("{body}{part}");
    let mut embedding = pictures.embedding(weights, &name("embeddings.patch_embeddings.projection"), d_model, true)?;
    let mut prefix = vec![tokens(weights, &name("embeddings.cls_token"), 1, d_model)?];
    if weights.has(&name("embeddings.distillation_token")) {
        prefix.push(tokens(weights, &name("embeddings.distillation_token"), 1, d_model)?);
    }
    let n_prefix = prefix.len();
    embedding.prefix = Some(Tensor::cat(&prefix, 0)?);
    let n = n_prefix + pictures.n_patches();
    embedding.position = Some(tokens(weights, &name("embeddings.position_embeddings"), n, d_model)?);
    for leftover in ["embeddings.mask_token", "pooler.dense.weight", "pooler.dense.bias"] {
        weights.skip(&name(leftover));
    }

    let layers = Layers::of(config, Names::vit(weights, body), body, d_model)?;
    let d_mlp = config.d_mlp()?.unwrap_or(4 * d_model);
    let blocks = (0..config.n_layers()?).map(|layer| layers.block(weights, layer, d_mlp)).collect::<Result<_, _>>()?;
    let final_norm = layer_norm(weights, &name("layernorm"), d_model, layers.eps)?;
    let stack = Stack::new(kind, blocks, Some(final_norm));
    Ok((pictures.spec(n_prefix), Tower { embedding: Embedding::Patches(embedding), stack }))
}

/// A classifier of CLS, if the checkpoint has one.
fn class_head(config: &Config, weights: &mut Weights<'_>, d_model: usize) -> Result<Option<Head>, LoadError> {
    if !weights.has("classifier.weight") {
        weights.note_absent("classifier.weight");
        return Ok(None);
    }
    let parts = ClassHead { kind: HeadKind::ImageClass, reads: Reads::First, transform: Transform::default() };
    classifier(config, weights, "classifier", d_model, parts).map(Some)
}

/// The mean of two classifiers, one of CLS and one of the distillation token, as one map of both.
fn averaged_heads(config: &Config, weights: &mut Weights<'_>, d_model: usize) -> Result<Head, LoadError> {
    let outcomes = outcomes(config, weights, HeadKind::ImageClass, "cls_classifier.weight")?;
    let n = outcomes.names.len();
    let mut both = |part: &str, shape: &[usize]| -> Result<[Tensor; 2], LoadError> {
        let names = ["cls_classifier", "distillation_classifier"].map(|name| format!("{name}.{part}"));
        Ok([weights.tensor(&names[0], shape)?, weights.tensor(&names[1], shape)?])
    };
    let weight = (Tensor::cat(&both("weight", &[n, d_model])?, 1)? * 0.5)?;
    let [cls, distilled] = both("bias", &[n])?;
    let output = Linear::new(weight.t()?, Some(((cls + distilled)? * 0.5)?))?;
    Ok(Head::class(HeadKind::ImageClass, Reads::FirstTwo, Transform::default(), output, outcomes))
}

fn network(
    family: &'static str,
    config: &Config,
    spec: ImageSpec,
    tower: Tower,
    head: Option<Head>,
) -> Result<Network, LoadError> {
    Ok(Network { family, modality: Modality::Image(spec), d_model: config.d_model()?, body: Body::Single(tower), head })
}
