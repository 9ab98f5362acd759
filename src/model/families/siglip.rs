//! SigLIP: a vision transformer without CLS token and a text transformer, compared by the angle between
//! what a learned query finds in the patches and the text's last position. Also its vision half alone.

use serde_json::Value;
use serde_json::json;

use super::{
    Activation, BOS, Body, ClassHead, Config, Convention, EOS, Embedding, Family, FamilyGroup, HeadKind, ImageSpec,
    LayerSpec, Linear, LoadError, Modality, MultiHead, Network, OpinionPlan, OutputKind, PAD, Pictures, Pool,
    ProcessorClass, Reads, Similarity, StackKind, TextPosition, TokenizerClass, Tower, Transform, Weights, classifier,
    clip::HalfStack, clip::TEXT, clip::VISION, clip::layers, clip::number, clip::text_tower, clip::vision_network,
    config_keys, layer_norm, linear, mlp, opinion, vision::PatchEmbedding,
};
use crate::model::{network::similarity::Probe, run::At};

pub(super) const FAMILIES: &[Family] = &[
    Family {
        harmless: &[config_keys::CAUSALITY, config_keys::TWO_TOWERS],
        tokenizer: TokenizerClass::class(Convention::Siglip),
        image_processor: Some(&ProcessorClass::SIGLIP),
        opinion: Some(OpinionPlan::Any(opinion::siglip)),
        ..Family::new("siglip", FamilyGroup::TwoTowers, |config, weights| build(config, weights, &FIXED))
    },
    Family {
        harmless: &[config_keys::CAUSALITY, config_keys::TWO_TOWERS],
        image_processor: Some(&ProcessorClass::SIGLIP),
        opinion: Some(OpinionPlan::Any(|settings, _| opinion::siglip_vision(settings))),
        ..Family::new("siglip_vision_model", FamilyGroup::TwoTowers, |config, weights| {
            build_vision(config, weights, &FIXED)
        })
    },
    Family {
        model_type: "siglip_text_model",
        harmless: &[config_keys::CAUSALITY, config_keys::TWO_TOWERS],
        ids: &[(BOS, 49_406), (EOS, 49_407), (PAD, 1)],
        ..Family::BASE
    },
];

/// Reads the sizes of pictures, and the map of their patches with positions.
type ReadEmbedding = fn(&Config, &mut Weights<'_>) -> Result<(Pictures, PatchEmbedding), LoadError>;

/// How pictures are read, which differs between the two versions.
pub(super) struct Pictured {
    pub family: &'static str,
    /// Of the vision half alone.
    pub vision_family: &'static str,
    pub defaults: fn() -> Value,
    pub embedding: ReadEmbedding,
}

const FIXED: Pictured = Pictured {
    family: "siglip",
    vision_family: "siglip_vision_model",
    defaults: vision_defaults,
    embedding: fixed_embedding,
};

pub(super) fn build(config: &Config, weights: &mut Weights<'_>, of: &Pictured) -> Result<Network, LoadError> {
    weights.set_prefix("", &["vision_model.embeddings.patch_embedding.weight"]);
    let vision_config = config.tower("vision_config", &(of.defaults)());
    let d_model = vision_config.d_model()?;
    if !weights.has("text_model.embeddings.token_embedding.weight") {
        let (image, tower) = vision_tower(&vision_config, weights, StackKind::SelfAttention, of)?;
        let parts = ClassHead {
            kind: HeadKind::ImageClass,
            reads: Reads::Mean { n_prefix: 0 },
            transform: Transform::default(),
        };
        let head = classifier(config, weights, "classifier", d_model, parts)?;
        return Ok(vision_network(of.family, d_model, image, tower, Some(head)));
    }
    let (image, vision) = vision_tower(&vision_config, weights, StackKind::Vision, of)?;
    let defaults = json!({
        "vocab_size": 32000, "hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12,
        "num_attention_heads": 12, "max_position_embeddings": 64, "hidden_act": "gelu_pytorch_tanh",
        "layer_norm_eps": 1e-6, "pad_token_id": 1,
    });
    let text_config = config.tower("text_config", &defaults);
    let (text, tower) = text_tower(&text_config, weights, false)?;
    let probe = probe(&vision_config, weights, vision.stack.blocks.len())?;
    let d_shared = weights.shape("text_model.head.weight").and_then(<[usize]>::first).copied().unwrap_or(0);
    let head = linear(weights, &format!("{TEXT}head"), text_config.d_model()?, d_shared)?;
    let similarity = Similarity {
        vision: Pool::Probe(Box::new(probe)),
        text: Pool::Position { norm: None, projection: head },
        reads: TextPosition::Last { padding: text_config.token("pad_token_id").unwrap_or(1) },
        scale: number(weights, "logit_scale")?.exp(),
        bias: number(weights, "logit_bias")?,
        outputs: OutputKind::Labels,
    };
    Ok(Network {
        family: of.family,
        modality: Modality::ImageAndText { image, text },
        d_model,
        body: Body::TwoTowers { vision, text: tower, similarity },
        head: None,
    })
}

fn vision_defaults() -> Value {
    json!({
        "hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12, "num_attention_heads": 12,
        "image_size": 224, "patch_size": 16, "hidden_act": "gelu_pytorch_tanh", "layer_norm_eps": 1e-6,
    })
}

/// The vision half alone, whose summary of the picture as a whole is not needed.
pub(super) fn build_vision(config: &Config, weights: &mut Weights<'_>, of: &Pictured) -> Result<Network, LoadError> {
    let config = &config.or(&(of.defaults)());
    weights.set_prefix(VISION, &["embeddings.patch_embedding.weight"]);
    let (image, tower) = vision_tower(config, weights, StackKind::SelfAttention, of)?;
    for part in ["attention.out_proj", "layernorm", "mlp.fc1", "mlp.fc2"] {
        for kind in ["weight", "bias"] {
            weights.skip(&format!("{VISION}head.{part}.{kind}"));
        }
    }
    for part in ["probe", "attention.in_proj_weight", "attention.in_proj_bias"] {
        weights.skip(&format!("{VISION}head.{part}"));
    }
    Ok(vision_network(of.vision_family, config.d_model()?, image, tower, None))
}

fn vision_tower(
    config: &Config,
    weights: &mut Weights<'_>,
    kind: StackKind,
    of: &Pictured,
) -> Result<(ImageSpec, Tower), LoadError> {
    let d_model = config.d_model()?;
    let (pictures, embedding) = (of.embedding)(config, weights)?;
    weights.skip("vision_model.embeddings.position_ids");
    let mut stack = layers(config, weights, VISION, HalfStack { kind, causal: false })?;
    let eps = config.norm_eps("layer_norm_eps", 1e-6)?;
    stack.final_norm = Some(layer_norm(weights, "vision_model.post_layernorm", d_model, eps)?);
    Ok((pictures.spec(0), Tower { embedding: Embedding::Patches(embedding), stack }))
}

/// Pictures of one size, whose patches a convolution maps.
fn fixed_embedding(config: &Config, weights: &mut Weights<'_>) -> Result<(Pictures, PatchEmbedding), LoadError> {
    let (d_model, pictures) = (config.d_model()?, Pictures::of(config)?);
    let mut embedding = pictures.embedding(weights, "vision_model.embeddings.patch_embedding", d_model, true)?;
    embedding.position = Some(weights.tensor(POSITIONS, &[pictures.n_patches(), d_model])?);
    Ok((pictures, embedding))
}

/// The table of places of patches.
pub(super) const POSITIONS: &str = "vision_model.embeddings.position_embedding.weight";

/// The query that sums up a picture, which acts like one more layer after `n_layers`.
fn probe(config: &Config, weights: &mut Weights<'_>, n_layers: usize) -> Result<Probe, LoadError> {
    let d_model = config.d_model()?;
    let (n_heads, d_head) = config.heads(d_model)?;
    let name = |part: &str| format!("{VISION}head.{part}");
    // Queries, keys and values in one tensor, whose names have no dot.
    let weight = weights.tensor(&name("attention.in_proj_weight"), &[3 * d_model, d_model])?.t()?;
    let bias = weights.tensor(&name("attention.in_proj_bias"), &[3 * d_model])?;
    let part = |start: usize, n: usize| -> candle_core::Result<_> {
        Linear::new(weight.narrow(1, start, n)?, Some(bias.narrow(0, start, n)?))
    };
    let (q, kv) = (part(0, d_model)?, part(d_model, 2 * d_model)?);
    let out = linear(weights, &name("attention.out_proj"), d_model, d_model)?;
    let d_mlp = config.d_mlp()?.unwrap_or(4 * d_model);
    let activation = config.activation("hidden_act", Activation::GeluTanh)?;
    Ok(Probe {
        query: weights.tensor(&name("probe"), &[1, 1, d_model])?.reshape((1, d_model))?,
        attention: MultiHead::cross(q, kv, out, LayerSpec::new(n_heads, d_head)),
        norm: layer_norm(weights, &name("layernorm"), d_model, config.norm_eps("layer_norm_eps", 1e-6)?)?,
        mlp: mlp(weights, [&name("mlp.fc1"), &name("mlp.fc2")], (d_model, d_mlp), activation)?,
        at: At { stack: StackKind::Vision, layer: n_layers },
    })
}
