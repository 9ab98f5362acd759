//! CLIP: a vision transformer and a causal text transformer, compared by the angle between the picture's
//! CLS token and the text's end token. Also its vision half alone.

use serde_json::Value;
use serde_json::json;

use super::{
    BOS, Body, ClassHead, Config, Convention, EOS, Embedding, Family, FamilyGroup, Head, HeadKind, ImageSpec, Layers,
    Linear, LoadError, Modality, Names, Network, OpinionPlan, OutputKind, PAD, Pictures, Pool, Positions,
    ProcessorClass, Reads, Similarity, Stack, StackKind, Stored, TextEmbedding, TextPosition, TextSpec, TokenizerClass,
    Tower, Transform, Weights, classifier, config_keys, layer_norm, opinion,
};

pub(super) const FAMILIES: &[Family] = &[
    Family {
        harmless: &[config_keys::CAUSALITY, config_keys::TWO_TOWERS],
        tokenizer: TokenizerClass::class(Convention::Clip),
        classes: &["CLIPModel"],
        image_processor: Some(&ProcessorClass::CLIP),
        opinion: Some(OpinionPlan::Any(opinion::clip)),
        ..Family::new("clip", FamilyGroup::TwoTowers, build)
    },
    Family {
        harmless: &[config_keys::CAUSALITY, config_keys::TWO_TOWERS],
        image_processor: Some(&ProcessorClass::CLIP),
        ..Family::new("clip_vision_model", FamilyGroup::TwoTowers, build_vision)
    },
    Family {
        model_type: "clip_text_model",
        harmless: &[config_keys::TWO_TOWERS],
        limits: &[config_keys::CAUSAL],
        ids: &[(BOS, 49_406), (EOS, 49_407), (PAD, 1)],
        tokenizer: TokenizerClass::NONE.alone(Convention::Clip),
        ..Family::BASE
    },
];

/// What stands before the names of each half.
pub(super) const VISION: &str = "vision_model.";
pub(super) const TEXT: &str = "text_model.";

pub(super) fn build(config: &Config, weights: &mut Weights<'_>) -> Result<Network, LoadError> {
    weights.set_prefix("", &["vision_model.embeddings.class_embedding"]);
    let vision_config = vision_config(config);
    if !weights.has("text_model.embeddings.token_embedding.weight") {
        return classifier_of_patches(config, &vision_config, weights);
    }
    let (image, vision) = vision_tower(&vision_config, weights, StackKind::Vision)?;
    let defaults = json!({
        "vocab_size": 49408, "hidden_size": 512, "intermediate_size": 2048, "num_hidden_layers": 12,
        "num_attention_heads": 8, "max_position_embeddings": 77, "hidden_act": "quick_gelu",
        "layer_norm_eps": 1e-5, "eos_token_id": 49407,
    });
    let text_config = config.tower("text_config", &defaults);
    let (text, tower) = text_tower(&text_config, weights, true)?;
    let d_model = vision_config.d_model()?;
    let eps = vision_config.norm_eps("layer_norm_eps", 1e-5)?;
    let d_shared = weights.shape("visual_projection.weight").and_then(<[usize]>::first).copied().unwrap_or(0);
    let projection = |weights: &mut Weights<'_>, name: &str, d_model| -> Result<Linear, LoadError> {
        weights.linear(&[name], (d_model, d_shared), Stored::OutIn, false)
    };
    let similarity = Similarity {
        vision: Pool::Position {
            norm: Some(layer_norm(weights, "vision_model.post_layernorm", d_model, eps)?),
            projection: projection(weights, "visual_projection", d_model)?,
        },
        text: Pool::Position {
            norm: None,
            projection: projection(weights, "text_projection", text_config.d_model()?)?,
        },
        // Configurations from before the end token was configurable say 2, and mean the highest id.
        reads: match text_config.token_ids("eos_token_id").first() {
            Some(2) | None => TextPosition::HighestId,
            Some(&end) => TextPosition::First(end),
        },
        scale: number(weights, "logit_scale")?.exp(),
        bias: 0.0,
        outputs: OutputKind::Classes,
    };
    Ok(Network {
        family: "clip",
        modality: Modality::ImageAndText { image, text },
        d_model,
        body: Body::TwoTowers { vision, text: tower, similarity },
        head: None,
    })
}

/// The vision half alone, whose norm and projection of the picture as a whole are not needed.
pub(super) fn build_vision(config: &Config, weights: &mut Weights<'_>) -> Result<Network, LoadError> {
    let config = &config.or(&vision_defaults());
    weights.set_prefix(VISION, &["embeddings.class_embedding"]);
    let (image, tower) = vision_tower(config, weights, StackKind::SelfAttention)?;
    for leftover in ["vision_model.post_layernorm.weight", "vision_model.post_layernorm.bias"] {
        weights.skip(leftover);
    }
    weights.skip("visual_projection.weight");
    Ok(vision_network("clip_vision_model", config.d_model()?, image, tower, None))
}

/// `CLIPForImageClassification`: a classifier of the mean patch on the vision half.
fn classifier_of_patches(
    config: &Config,
    vision_config: &Config,
    weights: &mut Weights<'_>,
) -> Result<Network, LoadError> {
    let d_model = vision_config.d_model()?;
    let (image, tower) = vision_tower(vision_config, weights, StackKind::SelfAttention)?;
    for leftover in ["vision_model.post_layernorm.weight", "vision_model.post_layernorm.bias"] {
        weights.skip(leftover);
    }
    let parts =
        ClassHead { kind: HeadKind::ImageClass, reads: Reads::Mean { n_prefix: 1 }, transform: Transform::default() };
    let head = classifier(config, weights, "classifier", d_model, parts)?;
    Ok(vision_network("clip", d_model, image, tower, Some(head)))
}

/// A network of a vision half alone.
pub(super) const fn vision_network(
    family: &'static str,
    d_model: usize,
    image: ImageSpec,
    tower: Tower,
    head: Option<Head>,
) -> Network {
    Network { family, modality: Modality::Image(image), d_model, body: Body::Single(tower), head }
}

fn vision_config(config: &Config) -> Config {
    config.tower("vision_config", &vision_defaults())
}

fn vision_defaults() -> Value {
    json!({
        "hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12, "num_attention_heads": 12,
        "image_size": 224, "patch_size": 32, "hidden_act": "quick_gelu", "layer_norm_eps": 1e-5,
    })
}

fn vision_tower(config: &Config, weights: &mut Weights<'_>, kind: StackKind) -> Result<(ImageSpec, Tower), LoadError> {
    let d_model = config.d_model()?;
    let pictures = Pictures::of(config)?;
    let mut embedding = pictures.embedding(weights, "vision_model.embeddings.patch_embedding", d_model, false)?;
    let cls = weights.tensor("vision_model.embeddings.class_embedding", &[d_model])?;
    embedding.prefix = Some(cls.reshape((1, d_model))?);
    let n = 1 + pictures.n_patches();
    embedding.position = Some(weights.tensor("vision_model.embeddings.position_embedding.weight", &[n, d_model])?);
    weights.skip("vision_model.embeddings.position_ids");
    let eps = config.norm_eps("layer_norm_eps", 1e-5)?;
    // Spelled like this in every checkpoint.
    embedding.norm = Some(layer_norm(weights, "vision_model.pre_layrnorm", d_model, eps)?);
    let stack = layers(config, weights, VISION, HalfStack { kind, causal: false })?;
    Ok((pictures.spec(1), Tower { embedding: Embedding::Patches(embedding), stack }))
}

/// The text half of CLIP and of SigLIP.
pub(super) fn text_tower(
    config: &Config,
    weights: &mut Weights<'_>,
    causal: bool,
) -> Result<(TextSpec, Tower), LoadError> {
    let d_model = config.d_model()?;
    let (n_vocab, n_ctx) = (config.n_vocab()?, config.n_ctx()?);
    let word = weights.table("text_model.embeddings.token_embedding.weight", &[n_vocab, d_model])?;
    let position = weights.tensor("text_model.embeddings.position_embedding.weight", &[n_ctx, d_model])?;
    weights.skip("text_model.embeddings.position_ids");
    let position = Some(Positions::from_zero(position));
    let embedding = TextEmbedding { position, ..TextEmbedding::tokens(word, n_ctx) };
    let mut stack =
        layers(config, weights, TEXT, HalfStack { kind: StackKind::Text, causal: causal && config.is_causal() })?;
    let eps = config.norm_eps("layer_norm_eps", 1e-5)?;
    stack.final_norm = Some(layer_norm(weights, "text_model.final_layer_norm", d_model, eps)?);
    Ok((TextSpec::new(n_ctx, n_vocab), Tower { embedding: Embedding::Text(embedding), stack }))
}

/// What a half's layers are, and what their tokens see.
#[derive(Clone, Copy)]
pub(super) struct HalfStack {
    pub kind: StackKind,
    /// Whether tokens see only those before them.
    pub causal: bool,
}

/// The layers of one half, without a final norm.
pub(super) fn layers(
    config: &Config,
    weights: &mut Weights<'_>,
    body: &str,
    of: HalfStack,
) -> Result<Stack, LoadError> {
    let d_model = config.d_model()?;
    let mut layers = Layers::of(config, Names::clip(), body, d_model)?;
    layers.causal = of.causal;
    let d_mlp = config.d_mlp()?.unwrap_or(4 * d_model);
    let blocks = (0..config.n_layers()?).map(|layer| layers.block(weights, layer, d_mlp)).collect::<Result<_, _>>()?;
    Ok(Stack::new(of.kind, blocks, None))
}

/// A tensor of a single number, of whatever rank.
pub(super) fn number(weights: &mut Weights<'_>, name: &str) -> Result<f32, LoadError> {
    let scalar = weights.shape(name).is_some_and(<[usize]>::is_empty);
    let tensor = weights.tensor(name, if scalar { &[] } else { &[1] })?;
    Ok(tensor.reshape(1)?.get(0)?.to_scalar()?)
}
