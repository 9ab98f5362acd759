//! BridgeTower: a vision transformer and RoBERTa, of which every cross-modal layer takes in one more layer each, and in
//! which text and picture attend to themselves and to each other.

use candle_core::{DType, Tensor};
use serde_json::json;

use super::{
    Activation, BERT_BLOCK, BOS, Block, Body, Config, Convention, EOS, Embedding, Family, FamilyGroup, Head, HeadKind,
    ImageSpec, LayerSpec, Linear, LoadError, Modality, MultiHead, Network, Norm, Norms, Outcomes, OutputKind, PAD,
    Pictures, ProcessorClass, Reads, RowTable, Sizes, Stack, StackKind, TextSpec, TokenizerClass, Tower, Transform,
    Weights, blocks, clip::number, config_keys, count_from, embedding, encoder::block, layer_norm, linear, mlp,
    open_clip::joint, vocabulary_map,
};
use crate::{
    model::network::two_streams::{Bridge, Cosines, CrossModalStream, TwoStreams, Whole},
    text::counted,
};

pub(super) const FAMILIES: &[Family] = &[
    Family {
        harmless: &[config_keys::CAUSALITY, UNREAD],
        ids: &[(BOS, 0), (EOS, 2), (PAD, 1)],
        tokenizer: TokenizerClass::class(Convention::Roberta),
        classes: &["BridgeTower"],
        image_processor: Some(&ProcessorClass::BRIDGETOWER),
        ..Family::new(FAMILY, FamilyGroup::TwoTowers, build)
    },
    Family {
        model_type: "bridgetower_text_model",
        harmless: &[config_keys::CAUSALITY, config_keys::TABLES],
        limits: &[config_keys::NO_CROSS],
        ids: &[(BOS, 0), (EOS, 2), (PAD, 1)],
        ..Family::BASE
    },
    Family {
        model_type: "bridgetower_vision_model",
        harmless: &[config_keys::CAUSALITY, &["stop_gradient"]],
        ..Family::BASE
    },
];

const FAMILY: &str = "bridgetower";
const PREFIX: &str = "bridgetower.";

/// Heads of cross-modal layers are those of the text tower; sections that the class drops; a start value that the
/// weights hold, and a width that they tell.
const UNREAD: &[&str] = &[
    "contrastive_hidden_size",
    "logit_scale_init_value",
    "num_attention_heads",
    "text_config_dict",
    "vision_config_dict",
];

/// Width of a head of the vision tower, whatever the file says.
const VISION_HEAD: usize = 64;
/// What the class that tells whether a picture and a text belong together says of them.
const MATCHES: [&str; 2] = ["no match", "match"];
/// What the cosines of the contrastive class are between.
const COSINES: [&str; 3] = ["text and picture", "text and both", "picture and both"];

/// What the checkpoint's class makes of the two streams.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HeadOf {
    Nothing,
    Words,
    Match,
    Cosines,
}

impl HeadOf {
    /// Of the class in `architectures`; where there is none, the first head that the weights have.
    fn read(config: &Config, weights: &Weights<'_>) -> Result<Self, LoadError> {
        let all = [
            ("BridgeTowerForMaskedLM", "mlm_score.transform.dense.weight", Self::Words),
            ("BridgeTowerForImageAndTextRetrieval", "itm_score.fc.weight", Self::Match),
            ("BridgeTowerForContrastiveLearning", "itc_text_head.fc.weight", Self::Cosines),
        ];
        match config.architecture() {
            Some("BridgeTowerModel") => Ok(Self::Nothing),
            Some(class) => all.into_iter().find(|(name, ..)| *name == class).map(|(.., head)| head).ok_or_else(|| {
                let names = all.map(|(name, ..)| name).join(", ");
                config.unsupported(format!("its class {class} is none of BridgeTowerModel, {names}"))
            }),
            None => Ok(all.into_iter().find(|(_, name, _)| weights.has(name)).map_or(Self::Nothing, |(.., head)| head)),
        }
    }
}

/// How both streams begin their layers.
struct Bridges {
    d_model: usize,
    eps: f32,
    n_layers: usize,
    /// Whether all layers share the map of a tower.
    shared: bool,
    link: Link,
}

/// What a layer makes of a tower's stream and of what the layer before has left.
#[derive(Clone, Copy)]
enum Link {
    Add,
    ScaledAdd,
    Interpolate,
}

pub(super) fn build(config: &Config, weights: &mut Weights<'_>) -> Result<Network, LoadError> {
    let config = &config.or(&json!({
        "hidden_act": "gelu", "hidden_size": 768, "layer_norm_eps": 1e-5, "link_tower_type": "add",
        "num_hidden_layers": 6, "tie_word_embeddings": false,
    }));
    weights.set_prefix(PREFIX, &["text_model.embeddings.word_embeddings.weight"]);
    let head_of = HeadOf::read(config, weights)?;
    let text_config = section(
        config,
        "text_config",
        &json!({
            "vocab_size": 50_265, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
            "intermediate_size": 3072, "hidden_act": "gelu", "max_position_embeddings": 514, "layer_norm_eps": 1e-5,
            "pad_token_id": 1,
        }),
    );
    let vision_config = section(
        config,
        "vision_config",
        &json!({
            "hidden_size": 768, "num_hidden_layers": 12, "num_channels": 3, "patch_size": 16, "image_size": 288,
            "layer_norm_eps": 1e-5,
        }),
    );
    let sizes = Sizes::both_ways(&text_config, Activation::Gelu)?;
    let d_vision = vision_config.d_model()?;
    let bridges = Bridges::read(config, &sizes, (head_of, d_vision))?;
    let (text_spec, text) = text_tower(&text_config, weights, &sizes)?;
    let (image, vision) = vision_tower(config, &vision_config, weights, sizes.n_layers)?;
    let types = weights.tensor(&name("token_type_embeddings.weight"), &[2, bridges.d_model])?;
    let streams = [
        bridges.stream(weights, ("text", StackKind::CrossModalText), (&sizes, sizes.d_model), &types.get(0)?)?,
        bridges.stream(weights, ("image", StackKind::CrossModalVision), (&sizes, d_vision), &types.get(1)?)?,
    ];
    let Embedding::Text(words) = &text.embedding else { return Err(config.error("its text tower reads pictures")) };
    let [_, of_vision] = &streams;
    let first = of_vision.bridges.first().ok_or_else(|| config.error("it has no cross-modal layers"))?;
    let (head, whole) = head(config, weights, head_of, (words.word.rows()?, &first.map, &bridges))?;
    let body = TwoStreams { vision, text, streams, whole };
    Ok(Network {
        family: FAMILY,
        modality: Modality::ImageAndText { image, text: text_spec },
        d_model: bridges.d_model,
        body: Body::TwoStreams(Box::new(body)),
        head,
    })
}

fn name(part: &str) -> String {
    format!("{PREFIX}{part}")
}

/// Notes that tensors of the body, which may be the whole file, are not needed.
fn skip(weights: &mut Weights<'_>, beginning: &str) {
    weights.skip_all(beginning);
    weights.skip_all(&name(beginning));
}

/// One of the two configurations inside, as the class reads it: an older name of it is dropped.
fn section(config: &Config, name: &str, defaults: &serde_json::Value) -> Config {
    config.section(name).map_or_else(|| config.tower(name, defaults), |section| section.with_defaults(defaults))
}

fn text_tower(config: &Config, weights: &mut Weights<'_>, sizes: &Sizes) -> Result<(TextSpec, Tower), LoadError> {
    let words = embedding(config, weights, sizes, &name("text_model.embeddings"), None, true)?;
    let words = count_from(config, config.token("pad_token_id").unwrap_or(1), words)?;
    let blocks = blocks(weights, sizes, &name("text_model.encoder.layer"), &BERT_BLOCK)?;
    skip(weights, "text_model.pooler.");
    let spec = words.spec(sizes.n_vocab);
    Ok((spec, Tower { embedding: Embedding::Text(words), stack: Stack::new(StackKind::Text, blocks, None) }))
}

/// The vision tower, as far as its layers have `n_layers` of the text tower beside them.
fn vision_tower(
    whole: &Config,
    config: &Config,
    weights: &mut Weights<'_>,
    n_layers: usize,
) -> Result<(ImageSpec, Tower), LoadError> {
    let visual = |part: &str| name(&format!("vision_model.visual.{part}"));
    let d_model = config.d_model()?;
    let n_heads = d_model / VISION_HEAD;
    if n_heads == 0 || !d_model.is_multiple_of(n_heads) {
        let what = "its vision tower has one head for each 64 of its width";
        return Err(config.error(format!("{what}, and {n_heads} heads do not divide a width of {d_model}")));
    }
    let n_removed = usize::from(config.flag("remove_last_layer", false));
    let n_stored = config.n_layers()? - n_removed;
    if n_stored < n_layers {
        return Err(config.error(format!(
            "its vision tower has {}, fewer than the {n_layers} of its text tower, and each cross-modal layer takes in one \
             of both",
            counted(n_stored, "layer")
        )));
    }
    let begins_from_norms = whole.flag("init_layernorm_from_vision_encoder", false);
    if !config.flag("share_layernorm", true) && begins_from_norms {
        return Err(whole.error(
            "init_layernorm_from_vision_encoder is true and share_layernorm is false: the class fails on the two together",
        ));
    }
    skip(weights, "vision_model.visual.ln_separate.");
    let pictures = Pictures::of(config)?;
    let mut patches = pictures.embedding(weights, &visual("embeddings.patch_embedding"), d_model, false)?;
    let cls = weights.tensor(&visual("embeddings.class_embedding"), &[d_model])?;
    patches.prefix = Some(cls.reshape((1, d_model))?);
    let n = 1 + pictures.n_patches();
    patches.position = Some(weights.tensor(&visual("embeddings.position_embedding.weight"), &[n, d_model])?);
    weights.skip(&visual("embeddings.position_ids"));
    let eps = config.norm_eps("layer_norm_eps", 1e-5)?;
    patches.norm = Some(layer_norm(weights, &visual("ln_pre"), d_model, eps)?);
    let spec = LayerSpec::new(n_heads, d_model / n_heads);
    let layer = |layer: usize| visual(&format!("transformer.resblocks.{layer}."));
    let blocks = (0..n_layers).map(|nth| vision_block(weights, &layer(nth), (d_model, spec), eps));
    let blocks = blocks.collect::<Result<Vec<_>, _>>()?;
    // They never run.
    (n_layers..n_stored).for_each(|nth| skip(weights, &format!("vision_model.visual.transformer.resblocks.{nth}.")));
    let norm = layer_norm(weights, &visual("ln_post"), d_model, eps)?;
    let stack = Stack::new(StackKind::Vision, blocks, Some(norm));
    Ok((pictures.spec(1), Tower { embedding: Embedding::Patches(patches), stack }))
}

/// A layer whose queries, keys and values are of one tensor.
fn vision_block(
    weights: &mut Weights<'_>,
    layer: &str,
    (d_model, spec): (usize, LayerSpec),
    eps: f32,
) -> Result<Block, LoadError> {
    let part = |part: &str| format!("{layer}{part}");
    let qkv = joint(weights, &part("attn.in_proj"), d_model)?;
    let out = linear(weights, &part("attn.out_proj"), d_model, d_model)?;
    Ok(Block::new(
        MultiHead::plain(qkv, out, spec, false),
        Norms::pre(layer_norm(weights, &part("ln_1"), d_model, eps)?),
        mlp(weights, [&part("mlp.c_fc"), &part("mlp.c_proj")], (d_model, 4 * d_model), Activation::QuickGelu)?,
        Norms::pre(layer_norm(weights, &part("ln_2"), d_model, eps)?),
    ))
}

impl Bridges {
    fn read(config: &Config, sizes: &Sizes, (head_of, d_vision): (HeadOf, usize)) -> Result<Self, LoadError> {
        let d_model = config.d_model()?;
        if d_model != sizes.d_model {
            return Err(config.error(format!(
                "its cross-modal layers are as wide as the text tower, {}, but hidden_size says {d_model}",
                sizes.d_model
            )));
        }
        let n_layers = config.n_layers()?;
        if n_layers > sizes.n_layers + 1 {
            return Err(config.unsupported(format!(
                "it has {n_layers} cross-modal layers, and its text tower has no more than {} streams to take in",
                sizes.n_layers + 1
            )));
        }
        if config.flag("share_link_tower_layers", false) {
            return Err(config.error("share_link_tower_layers is true, which the class itself cannot run"));
        }
        let link = match config.text(&["link_tower_type"]) {
            Some("add") | None => Link::Add,
            Some("scaled_add") => Link::ScaledAdd,
            Some("interpolate") => Link::Interpolate,
            Some(other) => {
                let known = "only add, scaled_add and interpolate";
                return Err(config.unsupported(format!("link_tower_type “{other}” is not supported, {known}")));
            }
        };
        let shared = config.flag("share_cross_modal_transformer_layers", true);
        if !shared && head_of == HeadOf::Cosines {
            return Err(config.error(
                "share_cross_modal_transformer_layers is false, which BridgeTowerForContrastiveLearning cannot run",
            ));
        }
        if d_vision != d_model && head_of == HeadOf::Cosines {
            return Err(config.error(format!(
                "its vision tower is {d_vision} wide and its cross-modal layers {d_model}, which \
                 BridgeTowerForContrastiveLearning cannot run"
            )));
        }
        let eps = config.norm_eps("layer_norm_eps", 1e-5)?;
        Ok(Self { d_model, eps, n_layers, shared, link })
    }

    /// The maps of a tower to the width of each layer's stream, which also say that it is of text or of a picture.
    fn maps(
        &self,
        weights: &mut Weights<'_>,
        side: &str,
        d_tower: usize,
        kind: &Tensor,
    ) -> Result<Vec<Linear>, LoadError> {
        let whole = name(&format!("cross_modal_{side}_transform"));
        let mut map = |name: &str| -> Result<Linear, LoadError> {
            let map = linear(weights, name, d_tower, self.d_model)?;
            let bias = map.bias.as_ref().map_or_else(|| Ok(kind.clone()), |bias| bias + kind)?;
            Ok(Linear { bias: Some(bias), ..map })
        };
        if self.shared {
            return Ok(vec![map(&whole)?; self.n_layers]);
        }
        (0..self.n_layers).map(|layer| map(&format!("{whole}.{layer}"))).collect()
    }

    /// The cross-modal layers of the text or of the picture.
    fn stream(
        &self,
        weights: &mut Weights<'_>,
        (side, stack): (&str, StackKind),
        (sizes, d_tower): (&Sizes, usize),
        kind: &Tensor,
    ) -> Result<CrossModalStream, LoadError> {
        let sizes = &Sizes { cross: true, ..*sizes };
        let maps = self.maps(weights, side, d_tower, kind)?;
        let bridges = maps.into_iter().enumerate().map(|(layer, map)| -> Result<Bridge, LoadError> {
            let Some(before) = layer.checked_sub(1) else {
                let norm =
                    layer_norm(weights, &name(&format!("cross_modal_{side}_layernorm")), self.d_model, self.eps)?;
                return Ok(Bridge { map, of_tower: 1.0, of_stream: 1.0, norm });
            };
            let link = name(&format!("cross_modal_{side}_link_tower.{before}."));
            let [of_tower, of_stream] = self.link.factors(weights, &link)?;
            let norm: Norm = layer_norm(weights, &format!("{link}LayerNorm"), self.d_model, self.eps)?;
            Ok(Bridge { map, of_tower, of_stream, norm })
        });
        let bridges = bridges.collect::<Result<Vec<_>, _>>()?;
        let layer = |layer: usize| name(&format!("cross_modal_{side}_layers.{layer}"));
        let blocks = (0..self.n_layers).map(|nth| block(weights, sizes, &layer(nth), &BERT_BLOCK));
        Ok(CrossModalStream { bridges, stack: Stack::new(stack, blocks.collect::<Result<_, _>>()?, None) })
    }
}

impl Link {
    /// Factors on a tower's stream and on what the layer before has left.
    fn factors(self, weights: &mut Weights<'_>, link: &str) -> Result<[f32; 2], LoadError> {
        match self {
            Self::Add => Ok([1.0, 1.0]),
            Self::ScaledAdd => Ok([number(weights, &format!("{link}scaled_factor"))?, 1.0]),
            Self::Interpolate => {
                let beta = number(weights, &format!("{link}beta"))?;
                Ok([1.0 - beta, beta])
            }
        }
    }
}

/// The head of the class, and what it reads where that is not the text's stream.
fn head(
    config: &Config,
    weights: &mut Weights<'_>,
    head_of: HeadOf,
    (words, vision, bridges): (&RowTable, &Linear, &Bridges),
) -> Result<(Option<Head>, Option<Whole>), LoadError> {
    let d_model = bridges.d_model;
    let poolers = |weights: &mut Weights<'_>| -> Result<[Linear; 2], LoadError> {
        let mut pooler =
            |side: &str| linear(weights, &name(&format!("cross_modal_{side}_pooler.dense")), d_model, d_model);
        Ok([pooler("text")?, pooler("image")?])
    };
    let of_whole = |outputs: OutputKind, names: &[&str], output: Linear| {
        let outcomes = Outcomes { kind: outputs, names: names.iter().map(|name| (*name).to_owned()).collect() };
        Some(Head::class(HeadKind::PairClass, Reads::First, Transform::default(), output, outcomes))
    };
    let found = match head_of {
        HeadOf::Nothing => (None, None),
        HeadOf::Words => (masked_lm(config, weights, words, bridges)?, None),
        HeadOf::Match => {
            let output = linear(weights, "itm_score.fc", 2 * d_model, MATCHES.len())?;
            (of_whole(OutputKind::Classes, &MATCHES, output), Some(Whole::Pooled(poolers(weights)?)))
        }
        HeadOf::Cosines => {
            let d_shared = weights.shape("itc_text_head.fc.weight").and_then(<[usize]>::first).copied().unwrap_or(0);
            let cosines = Cosines {
                poolers: poolers(weights)?,
                heads: [
                    linear(weights, "itc_text_head.fc", d_model, d_shared)?,
                    linear(weights, "itc_image_head.fc", d_model, d_shared)?,
                    linear(weights, "itc_cross_modal_head.fc", 2 * d_model, d_shared)?,
                ],
                vision: vision.clone(),
                scale: number(weights, "logit_scale")?.exp(),
            };
            // They are the numbers of the outcomes already.
            let same = Linear::new(Tensor::eye(COSINES.len(), DType::F32, words.device())?, None)?;
            (of_whole(OutputKind::Scores, &COSINES, same), Some(Whole::Cosines(Box::new(cosines))))
        }
    };
    let others = ["mlm_score.", "itm_score.", "itc_", "logit_scale"];
    for beginning in others {
        weights.skip_all(beginning);
    }
    skip(weights, "cross_modal_text_pooler.");
    skip(weights, "cross_modal_image_pooler.");
    Ok(found)
}

fn masked_lm(
    config: &Config,
    weights: &mut Weights<'_>,
    words: &RowTable,
    bridges: &Bridges,
) -> Result<Option<Head>, LoadError> {
    let d_model = bridges.d_model;
    let activation = config.activation("hidden_act", Activation::Gelu)?;
    let dense = linear(weights, "mlm_score.transform.dense", d_model, d_model)?;
    let norm = layer_norm(weights, "mlm_score.transform.LayerNorm", d_model, bridges.eps)?;
    let bias = weights.tensor("mlm_score.bias", &[words.n_rows()?])?;
    let output = vocabulary_map(config, weights, "mlm_score.decoder.weight", words, Some(bias))?;
    Ok(output.map(|output| Head::masked_lm(dense, activation, norm, output)))
}
