//! One small file per architecture: each maps a configuration and tensor names to the generic
//! embedding, block and head. No arithmetic here.

mod albert;
mod bart;
mod beit;
mod bert;
mod bilstm;
mod bloom;
mod clip;
mod deberta;
mod decoder;
mod dinov2;
mod distilbert;
mod electra;
mod encoder;
mod gpt2;
mod gpt_neo;
mod gpt_neox;
mod keys;
mod llama;
mod longformer;
mod modernbert;
mod mpnet;
mod opt;
mod paired;
mod phi;
mod promise;
mod refused;
mod rnnsearch;
mod roberta;
mod siglip;
mod t5;
mod trocr;
mod variant;
mod vision;
mod vit;

use candle_core::Tensor;

pub(crate) use self::keys::keys_of;

use crate::{
    model::{
        LoadError,
        checkpoint::{Config, Part, Stored, Weights},
        kernels::{Activation, Linear, Norm, NormKind},
        network::{
            Body, Network, Tower,
            attention::Attention,
            block::Mlp,
            head::{Head, Reads, Transform},
        },
    },
    spec::{HeadKind, LayerSpec, Modality},
};

/// The `model_type`s that [`build`] knows, by what they are.
const SUPPORTED: [(&str, &[&str]); 7] = [
    (
        "encoders",
        &[
            "albert",
            "bert",
            "camembert",
            "deberta-v2",
            "distilbert",
            "electra",
            "longformer",
            "modernbert",
            "mpnet",
            "roberta",
            "xlm-roberta",
        ],
    ),
    (
        "decoders",
        &[
            "bloom",
            "gemma",
            "gemma2",
            "gemma3_text",
            "gpt2",
            "gpt_neo",
            "gpt_neox",
            "llama",
            "mistral",
            "opt",
            "phi",
            "phi3",
            "qwen2",
            "qwen3",
            "stablelm",
        ],
    ),
    ("encoder–decoders", &["bart", "encoder-decoder", "led", "marian", "mbart", "mt5", "rnnsearch", "t5"]),
    ("recurrent classifiers", &["bilstm"]),
    ("vision transformers", &["beit", "deit", dinov2::PLAIN, dinov2::WITH_REGISTERS, "vit"]),
    ("pictures to text", &["vision-encoder-decoder"]),
    ("pictures with texts", &["clip", "clip_vision_model", "siglip", "siglip_vision_model"]),
];

/// As many names are told of those that are like an unknown one.
const MAX_NEAR: usize = 4;

/// How many `model_type`s [`build`] knows, which of them are called much like this one, and where all are listed.
fn supported(model_type: &str) -> String {
    let all: Vec<&str> = SUPPORTED.iter().flat_map(|(_, types)| *types).copied().collect();
    let plain = |name: &str| name.to_lowercase().replace(['-', '_'], "");
    let wanted = plain(model_type);
    let in_common = |name: &str| wanted.chars().zip(plain(name).chars()).take_while(|(a, b)| a == b).count();
    // What begins with all of a name, or with most of its letters.
    let is_near = |name: &&&str| in_common(name) >= wanted.len().min(plain(name).len()).min(4);
    let mut near: Vec<&str> = all.iter().filter(is_near).copied().collect();
    near.sort_by_key(|name| std::cmp::Reverse(in_common(name)));
    near.truncate(MAX_NEAR);
    let near = if near.is_empty() { String::new() } else { format!(", among them {}", near.join(", ")) };
    format!("{} types are supported{near}; `attnscope models` and docs/families.md list them", all.len())
}

/// The `model_type` of one of the library's classes, such as `llama` of `LlamaForCausalLM`.
fn type_of_class(class: &str) -> Option<&'static str> {
    let ends = ["For", "Model", "LMHead", "DoubleHeads", "MTModel"];
    let stem = ends.iter().filter_map(|end| class.find(end)).min().map(|end| class[..end].to_lowercase())?;
    let mut types = SUPPORTED.iter().flat_map(|(_, types)| *types).copied();
    types.find(|name| name.replace(['-', '_'], "").trim_end_matches("text") == stem)
}

/// All supported `model_type`s by what they are, to read.
pub(crate) fn listed() -> impl Iterator<Item = (&'static str, String)> {
    SUPPORTED.iter().map(|(group, types)| (*group, types.join(", ")))
}

/// Whether [`build`] knows this `model_type`.
pub(crate) fn is_supported(model_type: &str) -> bool {
    SUPPORTED.iter().any(|(_, types)| types.contains(&model_type))
}

/// Why a model of this `model_type` cannot be opened; `path` is where it is.
pub(crate) fn unsupported(model_type: &str, path: String) -> LoadError {
    let model_type = model_type.to_owned();
    if let Some(known) = type_of_class(&model_type) {
        return LoadError::OtherKind {
            what: format!("config.json names no model_type; by its class {model_type} this is “{known}”"),
            advice: format!("Add \"model_type\": \"{known}\" to config.json"),
            path,
        };
    }
    match refused::reason(&model_type) {
        Some(reason) => LoadError::Refused { model_type, reason, path },
        None => LoadError::UnknownFamily { supported: supported(&model_type), model_type, path },
    }
}

/// Refuses an unknown architecture before any weight is looked for.
pub(crate) fn check(config: &Config) -> Result<(), LoadError> {
    let family = config.model_type()?;
    if !is_supported(&family) {
        return Err(unsupported(&family, config.location()));
    }
    Ok(())
}

/// The network that a whole checkpoint describes, with the head that its class has.
pub(crate) fn build(config: &Config, weights: &mut Weights<'_>) -> Result<Network, LoadError> {
    let mut network = part(config, weights)?;
    if let Body::Single(tower) = &mut network.body
        && tower.stack.detach()
    {
        weights.warn("It could attend to an encoder, but comes without one, so that attention is left out");
    }
    promise::keep(config, weights, &mut network);
    Ok(network)
}

/// The network of a configuration, which may be a part of a larger one.
fn part(config: &Config, weights: &mut Weights<'_>) -> Result<Network, LoadError> {
    match config.model_type()?.as_str() {
        "albert" => albert::build(config, weights),
        "beit" => beit::build(config, weights),
        "bart" | "led" | "marian" | "mbart" => bart::build(config, weights),
        "bert" => bert::build(config, weights),
        "bilstm" => bilstm::build(config, weights),
        "bloom" => bloom::build(config, weights),
        "camembert" => roberta::build(config, "camembert", weights),
        "clip" => clip::build(config, weights),
        "clip_vision_model" => clip::build_vision(config, weights),
        "deberta-v2" => deberta::build(config, weights),
        "deit" => vit::build_deit(config, weights),
        dinov2::PLAIN => dinov2::build(config, weights, dinov2::PLAIN),
        dinov2::WITH_REGISTERS => dinov2::build(config, weights, dinov2::WITH_REGISTERS),
        "distilbert" => distilbert::build(config, weights),
        "electra" => electra::build(config, weights),
        "encoder-decoder" | "vision-encoder-decoder" => paired::build(config, weights),
        "gpt2" => gpt2::build(config, weights),
        "gpt_neo" => gpt_neo::build(config, weights),
        "gpt_neox" => gpt_neox::build(config, weights),
        "longformer" => longformer::build(config, weights),
        "modernbert" => modernbert::build(config, weights),
        "mpnet" => mpnet::build(config, weights),
        "opt" => opt::build(config, weights),
        "phi" => phi::build(config, weights),
        "rnnsearch" => rnnsearch::build(config, weights),
        "roberta" => roberta::build(config, "roberta", weights),
        "siglip" => siglip::build(config, weights),
        "siglip_vision_model" => siglip::build_vision(config, weights),
        "mt5" | "t5" => t5::build(config, weights),
        "trocr" => trocr::build(config, weights),
        "vit" => vit::build(config, weights),
        "xlm-roberta" => roberta::build(config, "xlm-roberta", weights),
        other => llama::build(config, other, weights),
    }
}

/// Queries, keys and values of three tensors as one map; `bias` of each of them.
fn qkv(
    weights: &mut Weights<'_>,
    [q, k, v]: [&str; 3],
    d_model: usize,
    spec: LayerSpec,
    bias: [bool; 3],
) -> Result<Linear, LoadError> {
    let (wide, narrow) = (spec.n_heads * spec.d_head, spec.n_kv_heads * spec.d_head);
    let parts = [(q, wide), (k, narrow), (v, narrow)];
    let parts: Vec<_> = parts.into_iter().zip(bias).map(|((name, d_out), bias)| Part { name, d_out, bias }).collect();
    weights.linear_of(&parts, d_model, Stored::OutIn, None)
}

/// Attention of a decoder to its encoder's stream, of four tensors: queries, keys, values, output.
fn cross(
    weights: &mut Weights<'_>,
    [q, k, v, out]: [&str; 4],
    (d_model, d_encoder): (usize, usize),
    spec: LayerSpec,
    bias: bool,
) -> Result<Attention, LoadError> {
    let (wide, narrow) = (spec.n_heads * spec.d_head, spec.n_kv_heads * spec.d_head);
    let q = weights.linear(&[q], (d_model, wide), Stored::OutIn, bias)?;
    let kv = weights.linear(&[k, v], (d_encoder, narrow), Stored::OutIn, bias)?;
    let out = weights.linear(&[out], (wide, d_model), Stored::OutIn, bias)?;
    Ok(Attention::cross(q, kv, out, spec))
}

/// An encoder, its bridge if it has one, and the decoder that attends to it.
fn encoder_decoder(
    family: &'static str,
    modality: Modality,
    d_model: usize,
    encoder: Tower,
    bridge: Option<Linear>,
    decoder: Tower,
    head: Option<Head>,
) -> Network {
    Network { family, modality, d_model, body: Body::EncoderDecoder { encoder, bridge, decoder }, head }
}

/// An MLP of two linear maps with biases.
fn mlp(
    weights: &mut Weights<'_>,
    [up, down]: [&str; 2],
    (d_model, d_mlp): (usize, usize),
    activation: Activation,
) -> Result<Mlp, LoadError> {
    Ok(Mlp::plain(linear(weights, up, d_model, d_mlp)?, activation, linear(weights, down, d_mlp, d_model)?))
}

/// A layer norm under `name`, with its bias.
fn layer_norm(weights: &mut Weights<'_>, name: &str, d: usize, eps: f32) -> Result<Norm, LoadError> {
    Ok(Norm {
        kind: NormKind::Layer,
        weight: weights.tensor(&format!("{name}.weight"), &[d])?,
        bias: Some(weights.tensor(&format!("{name}.bias"), &[d])?),
        eps,
    })
}

/// One linear map with a bias, stored as `(out, in)`.
fn linear(weights: &mut Weights<'_>, name: &str, d_in: usize, d_out: usize) -> Result<Linear, LoadError> {
    weights.linear(&[name], (d_in, d_out), Stored::OutIn, true)
}

/// The name under which the file has the token embeddings: `own`, or that of the `output` map where the configuration
/// ties the two. Of a tied table programs keep one name, whichever comes first.
fn table_name(config: &Config, weights: &mut Weights<'_>, [own, output]: [&str; 2], tied: bool) -> String {
    let n_names = if config.flag("tie_word_embeddings", tied) { 2 } else { 1 };
    weights.first_of(&[own, output][..n_names])
}

/// The output map to the vocabulary: the token embeddings `[n_vocab, d_model]` where the configuration ties it to them
/// and the file has no others, else its own weights; `None` where those are missing.
fn decoder(
    config: &Config,
    weights: &mut Weights<'_>,
    name: &str,
    embedding: &Tensor,
    bias: Option<Tensor>,
) -> Result<Option<Linear>, LoadError> {
    let (n_vocab, d_model) = embedding.dims2()?;
    if config.flag("tie_word_embeddings", true) {
        return weights.tied_output(name, embedding, bias).map(Some);
    }
    if !weights.has(name) {
        weights.note_absent(name);
        return Ok(None);
    }
    let part = Part { name: name.trim_end_matches(".weight"), d_out: n_vocab, bias: false };
    Ok(Some(Linear { bias, ..weights.linear_of(&[part], d_model, Stored::OutIn, None)? }))
}

/// What a classifier says, where it reads, and what comes before its output.
struct ClassHead {
    kind: HeadKind,
    reads: Reads,
    transform: Transform,
}

/// A classifier of the whole text or picture under `name`.
fn classifier(
    config: &Config,
    weights: &mut Weights<'_>,
    name: &str,
    d_in: usize,
    parts: ClassHead,
) -> Result<Head, LoadError> {
    let ClassHead { kind, reads, transform } = parts;
    let n = n_classes(weights, &format!("{name}.weight"));
    let output = linear(weights, name, d_in, n)?;
    Ok(Head::class(kind, reads, transform, output, class_names(config, n)))
}

/// Number of classes of a classifier stored as `(classes, in)`: what the file's tensor says.
fn n_classes(weights: &Weights<'_>, name: &str) -> usize {
    weights.shape(name).and_then(<[usize]>::first).copied().unwrap_or(0)
}

/// One name per class; numbers where the configuration gives none.
fn class_names(config: &Config, n: usize) -> Vec<String> {
    let mut labels = config.labels().unwrap_or_default();
    labels.truncate(n);
    labels.extend((labels.len()..n).map(|id| format!("class {id}")));
    labels
}
