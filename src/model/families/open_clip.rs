//! CLIP as OpenCLIP saves it (version 3.3): the same two towers under the names of OpenAI's program, with queries, keys and
//! values in one tensor. Its configuration, `open_clip_config.json`, names the parts that make another model of it.

use serde_json::Value;

use super::{
    Activation, Block, Body, Config, Convention, Dense, Embedding, Family, FamilyGroup, LayerSpec, Limit, Linear,
    LoadError, Modality, MultiHead, Network, Norms, OutputKind, Pictures, Pool, Positions, ProcessorClass, Similarity,
    Stack, StackKind, TextEmbedding, TextPosition, TextSpec, TokenizerClass, Tower, Weights, clip::number, config_keys,
    layer_norm, map, n_classes,
};
use crate::model::checkpoint::OPEN_CLIP;

pub(super) const FAMILIES: &[Family] = &[Family {
    harmless: &[
        config_keys::CAUSALITY,
        // Sizes that the weights tell, what they began with, what only training looks at, and the names of tokenizers,
        // whose files lie beside the weights.
        &[
            "attn_pooler_heads",
            "attn_pooler_queries",
            "context_length",
            "custom_text",
            "embed_dim",
            "eos_id",
            "final_ln_after_pool",
            "hf_model_pretrained",
            "hf_pooler_type",
            "hf_proj_type",
            "hf_tokenizer_name",
            "init_logit_bias",
            "init_logit_scale",
            "ls_init_value",
            "mlp_ratio",
            "no_ln_pre",
            "nonscalar_logit_scale",
            "output_tokens",
            "pad_id",
            "pool_type",
            "patch_dropout",
            "pos_embed_type",
            "preprocess_cfg",
            "timm_drop",
            "timm_drop_path",
            "timm_model_pretrained",
            "timm_pool",
            "timm_proj",
            "timm_proj_bias",
            "tokenizer_kwargs",
            "tokenizer_mode",
            "vocab_size",
        ],
    ],
    limits: &[OTHERS],
    tokenizer: TokenizerClass::class(Convention::Clip),
    image_processor: Some(&ProcessorClass::OPEN_CLIP),
    ..Family::new(OPEN_CLIP, FamilyGroup::TwoTowers, build)
}];

/// What changes a tower, with the values that do not.
const OTHERS: &[Limit] = &[
    ("attentional_pool", &["false"]),
    ("block_type", &["\"default\""]),
    ("embed_cls", &["false"]),
    ("no_causal_mask", &["false"]),
    ("proj_bias", &["false"]),
    ("proj_type", &["\"linear\""]),
    ("qk_norm", &["false"]),
    ("scale_attn", &["false"]),
    ("scale_attn_inner", &["false"]),
    ("scale_fc", &["false"]),
    ("scale_heads", &["false"]),
    ("scaled_cosine_attn", &["false"]),
];

fn build(config: &Config, weights: &mut Weights<'_>) -> Result<Network, LoadError> {
    let model = config.section("model_cfg").ok_or_else(|| config.error("it has no model_cfg"))?;
    let section = |name: &str| model.section(name).ok_or_else(|| config.error(format!("its model_cfg has no {name}")));
    let (vision, text) = (section("vision_cfg")?, section("text_cfg")?);
    refuse_others(&model, &vision, &text)?;
    weights.set_prefix("", &["visual.class_embedding"]);
    let has_quick = model.flag("quick_gelu", false);
    let (vision_tower, pictures, vision_pool) = vision_tower(&vision, weights, has_quick)?;
    let (text_tower, spec, text_pool) = text_tower(&text, weights, has_quick)?;
    let has_bias = weights.has("logit_bias");
    let similarity = Similarity {
        vision: vision_pool,
        text: text_pool,
        reads: TextPosition::HighestId,
        scale: number(weights, "logit_scale")?.exp(),
        bias: if has_bias { number(weights, "logit_bias")? } else { 0.0 },
        // A bias is trained with sigmoids.
        outputs: if has_bias { OutputKind::Labels } else { OutputKind::Classes },
    };
    let image = pictures.spec(1);
    Ok(Network {
        family: OPEN_CLIP,
        modality: Modality::ImageAndText { image, text: spec },
        d_model: vision.optional_size(&["width"], MAX_WIDTH)?.unwrap_or(768),
        body: Body::TwoTowers { vision: vision_tower, text: text_tower, similarity },
        head: None,
    })
}

const MAX_WIDTH: usize = 1 << 20;
const MAX_LAYERS: usize = 4096;
const MAX_ROWS: usize = 1 << 24;

/// Towers of other kinds, by what makes them so.
fn refuse_others(model: &Config, vision: &Config, text: &Config) -> Result<(), LoadError> {
    let says = |config: &Config, key: &str| config.entries().get(key).is_some_and(|value| !value.is_null());
    let name = |config: &Config, key: &str| config.entries().get(key).and_then(Value::as_str).unwrap_or("?").to_owned();
    let is_not = |config: &Config, key: &str, usual: &str| says(config, key) && name(config, key) != usual;
    let what = match () {
        () if says(model, "multimodal_cfg") => "it is CoCa (multimodal_cfg), which also writes texts".to_owned(),
        () if says(text, "hf_model_name") => {
            format!("its text tower is “{}” of transformers (hf_model_name)", name(text, "hf_model_name"))
        }
        () if says(vision, "timm_model_name") => {
            format!("its vision tower is “{}” of timm (timm_model_name)", name(vision, "timm_model_name"))
        }
        () if vision.entries().get("layers").is_some_and(Value::is_array) => {
            "its vision tower is a ModifiedResNet (four numbers of layers), which has convolutions in place of attention"
                .to_owned()
        }
        () if is_not(vision, "pool_type", "tok") => format!("its pool_type is “{}”", name(vision, "pool_type")),
        () if is_not(text, "pool_type", "argmax") => format!("the pool_type of its texts is “{}”", name(text, "pool_type")),
        () => match OTHERS.iter().find(|(key, usual)| [vision, text].iter().any(|of| is_other(of, key, usual))) {
            Some((key, _)) => format!("its towers say {key}"),
            None => return Ok(()),
        },
    };
    Err(model.unsupported(format!(
        "{what}; of OpenCLIP, two transformers of the plain kind are supported, which compare CLS with the end of a text"
    )))
}

fn is_other(config: &Config, key: &str, usual: &[&str]) -> bool {
    let value = config.entries().get(key).filter(|value| !value.is_null());
    value.is_some_and(|value| !usual.contains(&value.to_string().as_str()))
}

/// What the layers of a tower are.
struct Shape {
    d_model: usize,
    spec: LayerSpec,
    n_layers: usize,
    activation: Activation,
    eps: f32,
    causal: bool,
}

impl Shape {
    fn of(config: &Config, n_heads: usize, has_quick: bool, default_width: usize) -> Result<Self, LoadError> {
        let d_model = config.optional_size(&["width"], MAX_WIDTH)?.unwrap_or(default_width);
        if n_heads == 0 || !d_model.is_multiple_of(n_heads) {
            return Err(config.error(format!("{n_heads} heads do not divide a width of {d_model}")));
        }
        let n_layers = config.optional_size(&["layers"], MAX_LAYERS)?.unwrap_or(12);
        let (activation, eps) = (activation(config, has_quick)?, eps(config)?);
        let spec = LayerSpec::new(n_heads, d_model / n_heads);
        Ok(Self { d_model, spec, n_layers, activation, eps, causal: false })
    }

    fn stack(&self, weights: &mut Weights<'_>, kind: StackKind, prefix: &str) -> Result<Stack, LoadError> {
        let block = |layer| self.block(weights, &format!("{prefix}transformer.resblocks.{layer}."));
        let blocks = (0..self.n_layers).map(block).collect::<Result<_, _>>()?;
        Ok(Stack::new(kind, blocks, None))
    }

    fn block(&self, weights: &mut Weights<'_>, layer: &str) -> Result<Block, LoadError> {
        let Self { d_model, spec, activation, eps, causal, .. } = *self;
        let part = |part: &str| format!("{layer}{part}");
        let qkv = joint(weights, &part("attn.in_proj"), d_model)?;
        let out = scaled(weights, &part("attn.out_proj"), &part("ls_1.gamma"), (d_model, d_model))?;
        let [up, down] = [part("mlp.c_fc"), part("mlp.c_proj")];
        let d_mlp = n_classes(weights, &format!("{up}.weight"));
        let up = map(weights, &up, (d_model, d_mlp), true)?;
        let down = scaled(weights, &down, &part("ls_2.gamma"), (d_mlp, d_model))?;
        Ok(Block::new(
            MultiHead::plain(qkv, out, spec, causal),
            Norms::pre(layer_norm(weights, &part("ln_1"), d_model, eps)?),
            Dense::plain(up, activation, down),
            Norms::pre(layer_norm(weights, &part("ln_2"), d_model, eps)?),
        ))
    }
}

/// Queries, keys and values of PyTorch's own attention, in one tensor whose names have no dot.
pub(super) fn joint(weights: &mut Weights<'_>, name: &str, d_model: usize) -> Result<Linear, LoadError> {
    let weight = weights.tensor(&format!("{name}_weight"), &[3 * d_model, d_model])?.t()?;
    Ok(Linear::new(weight, Some(weights.tensor(&format!("{name}_bias"), &[3 * d_model])?))?)
}

/// A linear map, with the layer's scale folded in where there is one.
fn scaled(
    weights: &mut Weights<'_>,
    name: &str,
    scale: &str,
    (d_in, d_out): (usize, usize),
) -> Result<Linear, LoadError> {
    if weights.has(scale) {
        return weights.linear_scaled(name, scale, (d_in, d_out), true);
    }
    map(weights, name, (d_in, d_out), true)
}

fn activation(config: &Config, has_quick: bool) -> Result<Activation, LoadError> {
    let arguments = config.section("act_kwargs").filter(|arguments| !arguments.is_empty());
    match (has_quick, arguments) {
        (true, None) => Ok(Activation::QuickGelu),
        (false, None) => Ok(Activation::Gelu),
        (false, Some(arguments)) if arguments.entries().len() == 1 && arguments.text(&["approximate"]).is_some() => {
            match arguments.text(&["approximate"]) {
                Some("tanh") => Ok(Activation::GeluTanh),
                Some("none") => Ok(Activation::Gelu),
                _ => Err(config.unsupported("its act_kwargs are not those of a GELU")),
            }
        }
        _ => Err(config.unsupported("its act_kwargs are not those of a GELU")),
    }
}

fn eps(config: &Config) -> Result<f32, LoadError> {
    let Some(arguments) = config.section("norm_kwargs") else { return Ok(1e-5) };
    if let Some(other) = arguments.entries().keys().find(|key| *key != "eps") {
        return Err(config.unsupported(format!("its norm_kwargs say {other}")));
    }
    arguments.norm_eps("eps", 1e-5)
}

fn vision_tower(
    config: &Config,
    weights: &mut Weights<'_>,
    has_quick: bool,
) -> Result<(Tower, Pictures, Pool), LoadError> {
    let head_width = config.optional_size(&["head_width"], MAX_WIDTH)?.unwrap_or(64);
    let d_model = config.optional_size(&["width"], MAX_WIDTH)?.unwrap_or(768);
    let shape = Shape::of(config, d_model / head_width, has_quick, 768)?;
    let pictures = Pictures::of(config)?;
    let mut embedding = pictures.embedding(weights, "visual.conv1", d_model, false)?;
    embedding.prefix = Some(weights.tensor("visual.class_embedding", &[d_model])?.reshape((1, d_model))?);
    embedding.position = Some(weights.tensor("visual.positional_embedding", &[1 + pictures.n_patches(), d_model])?);
    if weights.has("visual.ln_pre.weight") {
        embedding.norm = Some(layer_norm(weights, "visual.ln_pre", d_model, shape.eps)?);
    }
    let stack = shape.stack(weights, StackKind::Vision, "visual.")?;
    let pool = Pool::Position {
        norm: Some(layer_norm(weights, "visual.ln_post", d_model, shape.eps)?),
        projection: projection(weights, "visual.proj", d_model)?,
    };
    Ok((Tower { embedding: Embedding::Patches(embedding), stack }, pictures, pool))
}

fn text_tower(
    config: &Config,
    weights: &mut Weights<'_>,
    has_quick: bool,
) -> Result<(Tower, TextSpec, Pool), LoadError> {
    // A class of its own keeps its names together.
    let prefix = if weights.has("text.token_embedding.weight") { "text." } else { "" };
    let name = |part: &str| format!("{prefix}{part}");
    let n_heads = config.optional_size(&["heads"], MAX_WIDTH)?.unwrap_or(8);
    let shape = Shape { causal: true, ..Shape::of(config, n_heads, has_quick, 512)? };
    let d_model = shape.d_model;
    let n_vocab = config.optional_size(&["vocab_size"], MAX_ROWS)?.unwrap_or(49_408);
    let n_ctx = config.optional_size(&["context_length"], MAX_ROWS)?.unwrap_or(77);
    let word = weights.table(&name("token_embedding.weight"), &[n_vocab, d_model])?;
    let position = weights.tensor(&name("positional_embedding"), &[n_ctx, d_model])?;
    let position = Some(Positions::from_zero(position));
    let embedding = TextEmbedding { position, ..TextEmbedding::tokens(word, n_ctx) };
    let mut stack = shape.stack(weights, StackKind::Text, prefix)?;
    stack.final_norm = Some(layer_norm(weights, &name("ln_final"), d_model, shape.eps)?);
    weights.skip(&name("attn_mask"));
    let pool = Pool::Position { norm: None, projection: projection(weights, &name("text_projection"), d_model)? };
    Ok((Tower { embedding: Embedding::Text(embedding), stack }, TextSpec::new(n_ctx, n_vocab), pool))
}

/// A matrix `[d_model, d_shared]` without a bias.
fn projection(weights: &mut Weights<'_>, name: &str, d_model: usize) -> Result<Linear, LoadError> {
    let d_shared = weights.shape(name).and_then(|shape| shape.get(1)).copied().unwrap_or(0);
    Ok(Linear::new(weights.tensor(name, &[d_model, d_shared])?, None)?)
}
