//! Vision transformers of timm (`VisionTransformer` of `timm.models.vision_transformer`, `deit3_*`, `flexivit_*` and the
//! towers of DINOv2, CLIP and SigLIP under timm's names), and EVA (`super::timm_eva`), also as transformers saves them
//! (`TimmWrapper`): blocks whose file tells all sizes but the number of heads, and whose configuration names a function of
//! timm that says the rest.

use candle_core::Tensor;
use serde_json::{Value, json};

use super::{
    Activation, Block, Body, ClassHead, Config, Dense, Embedding, Family, HeadKind, Interpolation, LayerSpec, Layers,
    LoadError, Modality, MultiHead, Names, Network, Norms, Pictures, ProcessorClass, Reads, Stack, StackKind, Stored,
    Tower, Transform, Weights, classifier, config_keys, layer_norm, map, n_classes,
    timm_architectures::{Pooling, Traits, facts},
    timm_eva::{self, EvaTraits},
    tokens,
    vision::Branch,
};

pub(super) const FAMILIES: &[Family] = &[Family {
    classes: &["vit_", "deit3_", "deit_", "flexivit_", "eva_", "eva02_"],
    harmless: &[
        config_keys::CAUSALITY,
        // Of the pooled output of transformers' own wrapper; sizes that the weights tell; what the tensors do not depend on.
        &["do_pooling", "num_classes", "num_features", "label_names", "label_descriptions", "pretrained_cfg"],
        // What stood at the top before there was a section of it.
        &["crop_mode", "crop_pct", "interpolation", "mean", "std", "input_size", "global_pool"],
    ],
    ..Family::vision(FAMILY, &ProcessorClass::TIMM, build)
}];

const FAMILY: &str = "timm_wrapper";

/// Tensors of a layer; queries, keys and values are one map.
const NAMES: Names = Names {
    layers: "blocks",
    qkv: ["attn.qkv"; 3],
    out: "attn.proj",
    mlp: ["mlp.fc1", "mlp.fc2"],
    norms: ["norm1", "norm2"],
};

/// Arguments of the function that are read, or that the weights tell.
const ARGUMENTS: [&str; 16] = [
    "class_token",
    "depth",
    "dynamic_img_size",
    "embed_dim",
    "fc_norm",
    "global_pool",
    "img_size",
    "in_chans",
    "init_values",
    "mlp_ratio",
    "no_embed_class",
    "num_classes",
    "num_heads",
    "patch_size",
    "qkv_bias",
    "reg_tokens",
];

fn build(config: &Config, weights: &mut Weights<'_>) -> Result<Network, LoadError> {
    weights.set_prefix("", &["patch_embed.proj.weight"]);
    let (facts, eva) = said(config)?;
    let shape = weights.shape("patch_embed.proj.weight").map(<[usize]>::to_vec).unwrap_or_default();
    let [d_model, _, patch_height, patch_width] = shape[..] else {
        let name = config.text(&["architecture"]).unwrap_or_default();
        return Err(weights.not_of(&format!("a model of timm ({name})"), "patch_embed.proj.weight of four axes"));
    };
    let pictures = pictures(config, [patch_height, patch_width])?;
    let has_bias = weights.has("patch_embed.proj.bias");
    let mut embedding = pictures.embedding(weights, "patch_embed.proj", d_model, has_bias)?;
    embedding.filter = Interpolation::BicubicAntialiased;
    let before = Before::of(weights, d_model)?;
    let n_prefix = before.n();
    before.embed(config, weights, &mut embedding, &facts)?;
    let layers = layers(config, weights, &facts, eva, d_model)?;
    if weights.has("norm_pre.weight") {
        embedding.norm = Some(layer_norm(weights, "norm_pre", d_model, facts.eps)?);
    }
    let mut n_layers = 0;
    while weights.has(&layers.name(n_layers, "norm1.weight")) {
        n_layers += 1;
    }
    let of_layer = |layer| match &eva {
        None => block(config, weights, &layers, layer),
        Some(eva) => eva.block(weights, &layers, layer),
    };
    let blocks = (0..n_layers).map(of_layer).collect::<Result<_, _>>()?;
    // A model that norms what it has pooled norms nothing else.
    let norm = weights.has("norm.weight").then(|| layer_norm(weights, "norm", d_model, facts.eps)).transpose()?;
    let head = head(config, weights, &facts, (d_model, n_prefix))?;
    let rotary = eva.map(|eva| eva.rotary(config, layers.spec.d_head, n_prefix)).transpose()?.unwrap_or_default();
    let stack = Stack { rotary, ..Stack::new(StackKind::SelfAttention, blocks, norm) };
    Ok(Network {
        family: FAMILY,
        modality: Modality::Image(pictures.spec(n_prefix)),
        d_model,
        body: Body::Single(Tower { embedding: Embedding::Patches(embedding), stack }),
        head,
    })
}

/// What the architecture stands for, with what the file says otherwise.
fn said(config: &Config) -> Result<(Traits, Option<EvaTraits>), LoadError> {
    let name = config.text(&["architecture"]).unwrap_or_default();
    let plain = facts(name).map(|facts| (facts, None));
    let known = plain.or_else(|| timm_eva::facts(name).map(|(facts, eva)| (facts, Some(eva))));
    let (mut facts, eva) = known.ok_or_else(|| {
        config.unsupported(format!(
            "its architecture is “{name}”; of timm's, vit_*, deit3_*, deit_* without distillation, flexivit_*, eva_* and eva02_* \
             are supported, without convolutions before them, relative positions, rotary frequencies that are learned, \
             grouped keys and parallel branches"
        ))
    })?;
    let Some(arguments) = config.section("model_args") else { return Ok((facts, eva)) };
    let is_known = |name: &str| ARGUMENTS.contains(&name) || eva.is_some() && timm_eva::knows(name);
    let names = arguments.entries().keys();
    if let Some(other) = names.into_iter().find(|name| !is_known(name)) {
        return Err(config.unsupported(format!("its model_args say {other}, which is not supported")));
    }
    if let Some(n) = arguments.optional_size(&["in_chans"], 64)?.filter(|n| *n != 3) {
        return Err(
            config.unsupported(format!("it reads pictures of {n} channels; only colour pictures are supported"))
        );
    }
    facts.n_heads = arguments.optional_size(&["num_heads"], 1 << 10)?.unwrap_or(facts.n_heads);
    facts.all_positions = !arguments.flag("no_embed_class", !facts.all_positions);
    facts.pooling = match arguments.text(&["global_pool"]) {
        None => facts.pooling,
        Some("token") => Pooling::Token,
        Some("avg") => Pooling::Mean,
        Some("map") => Pooling::Attention,
        Some(other) => return Err(config.unsupported(format!("its global_pool is “{other}”"))),
    };
    Ok((facts, eva.map(|eva| eva.said(&arguments)).transpose()?))
}

/// Sizes of pictures: what an argument says, else what the weights were trained on, else 224.
fn pictures(config: &Config, patch_px: [usize; 2]) -> Result<Pictures, LoadError> {
    let trained = config.section("pretrained_cfg").unwrap_or_else(|| config.clone());
    let input = trained.value("input_size").and_then(Value::as_array).cloned();
    let size = match config.section("model_args").and_then(|arguments| arguments.value("img_size").cloned()) {
        Some(size) => size,
        None => match input.as_deref() {
            Some([channels, height, width]) if channels.as_u64() == Some(3) => json!([height, width]),
            None => json!(224),
            Some(other) => {
                return Err(config.unsupported(format!("its input_size is {}", Value::from(other.to_vec()))));
            }
        },
    };
    Pictures::of(&config.clone().with_changes(&json!({ "image_size": size, "patch_size": patch_px })))
}

/// Tokens before the patches.
struct Before {
    class: Option<Tensor>,
    registers: Option<Tensor>,
}

impl Before {
    fn of(weights: &mut Weights<'_>, d_model: usize) -> Result<Self, LoadError> {
        let mut read = |name: &str| -> Result<Option<Tensor>, LoadError> {
            let n = weights.shape(name).and_then(|shape| shape.get(1)).copied().unwrap_or(0);
            (n > 0).then(|| tokens(weights, name, n, d_model)).transpose()
        };
        Ok(Self { class: read("cls_token")?, registers: read("reg_token")? })
    }

    fn n(&self) -> usize {
        [&self.class, &self.registers].into_iter().flatten().filter_map(|tokens| tokens.dim(0).ok()).sum()
    }

    /// Puts them before the patches, with their positions or with none.
    fn embed(
        self,
        config: &Config,
        weights: &mut Weights<'_>,
        embedding: &mut super::vision::PatchEmbedding,
        facts: &Traits,
    ) -> Result<(), LoadError> {
        let n_before = self.n();
        let n_patches = embedding.grid.0 * embedding.grid.1;
        let n_positioned = if facts.all_positions { n_before } else { 0 };
        let Self { class, registers } = self;
        if let Some(shape) = weights.shape("pos_embed") {
            let (there, d_model) = (shape.get(1).copied().unwrap_or(0), shape.get(2).copied().unwrap_or(0));
            if there != n_positioned + n_patches {
                return Err(config.unsupported(format!(
                    "its pos_embed has {there} positions, and pictures of its size have {} with those of the tokens before \
                     them: timm resamples them when it opens such a file",
                    n_positioned + n_patches
                )));
            }
            let positions = tokens(weights, "pos_embed", there, d_model)?;
            // A token without a position has one of zeros.
            let n_class = if facts.all_positions { 0 } else { class.as_ref().map_or(0, |_| 1) };
            let none = Tensor::zeros((n_class, d_model), positions.dtype(), positions.device())?;
            embedding.position = Some(if n_class == 0 { positions } else { Tensor::cat(&[none, positions], 0)? });
        }
        embedding.n_class_tokens = usize::from(class.is_some());
        if facts.all_positions {
            let both: Vec<Tensor> = class.into_iter().chain(registers).collect();
            embedding.prefix = if both.is_empty() { None } else { Some(Tensor::cat(&both, 0)?) };
        } else {
            (embedding.prefix, embedding.registers) = (class, registers);
        }
        Ok(())
    }
}

fn layers(
    config: &Config,
    weights: &Weights<'_>,
    facts: &Traits,
    eva: Option<EvaTraits>,
    d_model: usize,
) -> Result<Layers<'static>, LoadError> {
    let n_heads = facts.n_heads;
    if n_heads == 0 || !d_model.is_multiple_of(n_heads) {
        return Err(config.error(format!("{n_heads} heads do not divide a stream of width {d_model}")));
    }
    let has = |name: &str| weights.has(&format!("blocks.0.{name}"));
    let others = [
        ("attn.q_norm.weight", "norms of queries and keys"),
        ("attn.norm.weight", "a norm in attention"),
        ("attn.gate.weight", "a gate on attention"),
        ("mlp.norm.weight", "a norm in the MLP"),
    ];
    if eva.is_some() {
        EvaTraits::check(config, weights)?;
    } else if let Some((_, what)) = others.iter().find(|(tensor, _)| has(tensor)) {
        return Err(config.unsupported(format!("its layers have {what}, which its architecture has not")));
    }
    let scale = |name: &str, scales| has(name).then_some(scales);
    let gated = eva.is_some() && has("attn.norm.weight");
    Ok(Layers {
        names: NAMES,
        body: "",
        d_model,
        spec: LayerSpec { gated, ..LayerSpec::new(n_heads, d_model / n_heads) },
        causal: false,
        bias: [has("attn.qkv.bias"); 3],
        out_bias: has("attn.proj.bias"),
        rotary: None,
        activation: facts.activation,
        eps: facts.eps,
        scales: scale("ls1.gamma", ["ls1.gamma", "ls2.gamma"]).or(scale("gamma_1", ["gamma_1", "gamma_2"])),
    })
}

fn block(config: &Config, weights: &mut Weights<'_>, layers: &Layers<'_>, layer: usize) -> Result<Block, LoadError> {
    let name = |part: &str| layers.name(layer, part);
    let Layers { d_model, spec, eps, .. } = *layers;
    let qkv = weights.linear(&[&name(NAMES.qkv[0])], (d_model, 3 * d_model), Stored::OutIn, layers.bias[0])?;
    let out = layers.scaled(weights, layer, Branch::MultiHead, &name(NAMES.out), (d_model, layers.out_bias))?;
    let [up, down] = NAMES.mlp.map(name);
    let n_up = n_classes(weights, &format!("{up}.weight"));
    let d_mlp = weights.shape(&format!("{down}.weight")).and_then(|shape| shape.get(1)).copied().unwrap_or(0);
    // The gate comes first, in one tensor with what it scales (the largest DINOv2).
    let gated = n_up == 2 * d_mlp;
    if gated && layers.activation != Activation::Silu {
        return Err(config.unsupported("its layers have gated MLPs, which its architecture has not"));
    }
    let up = map(weights, &up, (d_model, n_up), true)?;
    let down = layers.scaled(weights, layer, Branch::Mlp, &down, (d_mlp, true))?;
    let [before, after] = NAMES.norms.map(|part| layer_norm(weights, &name(part), d_model, eps));
    Ok(Block::new(
        MultiHead::plain(qkv, out, spec, false),
        Norms::pre(before?),
        Dense { up, activation: layers.activation, gated, down },
        Norms::pre(after?),
    ))
}

/// The classifier of what is pooled; without one, and behind an attention pool, there is none.
fn head(
    config: &Config,
    weights: &mut Weights<'_>,
    facts: &Traits,
    (d_model, n_prefix): (usize, usize),
) -> Result<Option<super::Head>, LoadError> {
    if facts.pooling == Pooling::Attention || weights.has("attn_pool.latent") {
        weights.skip_all("attn_pool.");
        weights.skip_all("fc_norm.");
        weights.skip_all("head.");
        weights.warn(
            "A learned query sums up its pictures (attn_pool), which is not computed: the layers are shown without it",
        );
        return Ok(None);
    }
    if !weights.has("head.weight") {
        weights.note_absent("head.weight");
        weights.skip_all("fc_norm.");
        return Ok(None);
    }
    let norm = weights.has("fc_norm.weight").then(|| layer_norm(weights, "fc_norm", d_model, facts.eps)).transpose()?;
    let reads = match facts.pooling {
        Pooling::Token => Reads::First,
        Pooling::Mean | Pooling::Attention => Reads::Mean { n_prefix },
    };
    let parts = ClassHead { kind: HeadKind::ImageClass, reads, transform: Transform { norm, ..Transform::default() } };
    classifier(&named(config), weights, "head", d_model, parts).map(Some)
}

/// The configuration with names of classes as transformers has them; descriptions go first, as they are words.
fn named(config: &Config) -> Config {
    let trained = config.section("pretrained_cfg").unwrap_or_else(|| config.clone());
    let found = |key: &str| config.value(key).or_else(|| trained.value(key)).cloned();
    let descriptions = found("label_descriptions");
    let names = found("label_names").or_else(|| found("labels"));
    let names = names.as_ref().and_then(Value::as_array).map(|names| {
        let named = |name: &Value| {
            let described = name.as_str().and_then(|name| descriptions.as_ref()?.get(name)?.as_str());
            described.map_or_else(|| name.clone(), Value::from)
        };
        names.iter().map(named).enumerate().map(|(id, name)| (id.to_string(), name)).collect()
    });
    let n = found("num_classes").unwrap_or(json!(1000));
    let id2label = names.map_or(Value::Null, Value::Object);
    config.clone().with_changes(&json!({ "id2label": id2label, "num_labels": n }))
}
