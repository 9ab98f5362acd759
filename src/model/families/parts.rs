//! Parts of networks of every family: maps of one or more tensors, norms, classifiers.

use candle_core::Tensor;

use super::{
    Activation, Body, Config, Dense, Head, HeadClass, HeadKind, LayerSpec, Linear, LinearPart, LoadError, Modality,
    MultiHead, Network, Norm, NormKind, Outcomes, OutputKind, Reads, RowTable, Stored, Tower, Transform, Weights,
    lookup,
};
use crate::{model::checkpoint::ids::ClassNames, outputs::SCORE, text::counted};

/// Queries, keys and values of three tensors as one map; `bias` of each of them.
pub(super) fn qkv(
    weights: &mut Weights<'_>,
    [q, k, v]: [&str; 3],
    d_model: usize,
    spec: LayerSpec,
    bias: [bool; 3],
) -> Result<Linear, LoadError> {
    let (wide, narrow) = (spec.n_heads * spec.d_head, spec.n_kv_heads * spec.d_head);
    let parts = [(q, wide), (k, narrow), (v, narrow)];
    let parts: Vec<_> =
        parts.into_iter().zip(bias).map(|((name, d_out), bias)| LinearPart { name, d_out, bias }).collect();
    weights.linear_of(&parts, d_model, Stored::OutIn, None)
}

/// Attention of a decoder to its encoder's stream, of four tensors: queries, keys, values, output.
pub(super) fn cross(
    weights: &mut Weights<'_>,
    [q, k, v, out]: [&str; 4],
    (d_model, d_encoder): (usize, usize),
    spec: LayerSpec,
    bias: bool,
) -> Result<MultiHead, LoadError> {
    let (wide, narrow) = (spec.n_heads * spec.d_head, spec.n_kv_heads * spec.d_head);
    let q = weights.linear(&[q], (d_model, wide), Stored::OutIn, bias)?;
    let kv = weights.linear(&[k, v], (d_encoder, narrow), Stored::OutIn, bias)?;
    let out = weights.linear(&[out], (wide, d_model), Stored::OutIn, bias)?;
    Ok(MultiHead::cross(q, kv, out, spec))
}

/// An encoder, its bridge if it has one, and the decoder that attends to it.
pub(super) fn encoder_decoder(
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
pub(super) fn mlp(
    weights: &mut Weights<'_>,
    [up, down]: [&str; 2],
    (d_model, d_mlp): (usize, usize),
    activation: Activation,
) -> Result<Dense, LoadError> {
    Ok(Dense::plain(linear(weights, up, d_model, d_mlp)?, activation, linear(weights, down, d_mlp, d_model)?))
}

/// A layer norm under `name`, with its bias.
pub(super) fn layer_norm(weights: &mut Weights<'_>, name: &str, d: usize, eps: f32) -> Result<Norm, LoadError> {
    Ok(Norm {
        kind: NormKind::Layer,
        weight: weights.tensor(&format!("{name}.weight"), &[d])?,
        bias: Some(weights.tensor(&format!("{name}.bias"), &[d])?),
        eps,
    })
}

/// One linear map with a bias, stored as `(out, in)`.
pub(super) fn linear(weights: &mut Weights<'_>, name: &str, d_in: usize, d_out: usize) -> Result<Linear, LoadError> {
    weights.linear(&[name], (d_in, d_out), Stored::OutIn, true)
}

/// The name under which the file has the token embeddings: `own`, or that of the `output` map where the configuration
/// ties the two. Of a tied table programs keep one name, whichever comes first.
pub(super) fn table_name(config: &Config, weights: &mut Weights<'_>, [own, output]: [&str; 2], tied: bool) -> String {
    let n_names = if config.flag("tie_word_embeddings", tied) { 2 } else { 1 };
    weights.first_of(&[own, output][..n_names])
}

/// The output map to the vocabulary: the token embeddings `[n_vocab, d_model]` where the configuration ties it to them
/// and the file has no others, else its own weights; `None` where those are missing.
pub(super) fn vocabulary_map(
    config: &Config,
    weights: &mut Weights<'_>,
    name: &str,
    embedding: &RowTable,
    bias: Option<Tensor>,
) -> Result<Option<Linear>, LoadError> {
    let (n_vocab, d_model) = embedding.dims()?;
    if config.flag("tie_word_embeddings", true) {
        return weights.tied_output(name, embedding, bias).map(Some);
    }
    if !weights.has(name) {
        weights.note_absent(name);
        return Ok(None);
    }
    let part = LinearPart { name: name.trim_end_matches(".weight"), d_out: n_vocab, bias: false };
    Ok(Some(Linear { bias, ..weights.linear_of(&[part], d_model, Stored::OutIn, None)? }))
}

/// What a classifier says, where it reads, and what comes before its output.
pub(super) struct ClassHead {
    pub kind: HeadKind,
    pub reads: Reads,
    pub transform: Transform,
}

/// A classifier of the whole text or picture under `name`.
pub(super) fn classifier(
    config: &Config,
    weights: &mut Weights<'_>,
    name: &str,
    d_in: usize,
    parts: ClassHead,
) -> Result<Head, LoadError> {
    let ClassHead { kind, reads, transform } = parts;
    let outcomes = outcomes(config, weights, kind, &format!("{name}.weight"))?;
    let output = linear(weights, name, d_in, outcomes.names.len())?;
    Ok(Head::class(kind, reads, transform, output, outcomes))
}

/// Number of classes of a classifier stored as `(classes, in)`: what the file's tensor says.
pub(super) fn n_classes(weights: &Weights<'_>, name: &str) -> usize {
    weights.shape(name).and_then(<[usize]>::first).copied().unwrap_or(0)
}

/// What a classifier says with the weights `[classes, in]` under `name`, as transformers has it of this configuration.
pub(super) fn outcomes(
    config: &Config,
    weights: &mut Weights<'_>,
    kind: HeadKind,
    name: &str,
) -> Result<Outcomes, LoadError> {
    let n = n_classes(weights, name);
    let problem = config.text(&["problem_type"]);
    if n == 1 && problem == Some("single_label_classification") {
        return Err(config.error(
            "problem_type is single_label_classification, but there is one class: it must be regression, or there must \
             be two classes",
        ));
    }
    let outputs = match (problem, n) {
        // Tokens are classified without a look at this key.
        _ if kind == HeadKind::TokenClass && n > 1 => OutputKind::Classes,
        (Some("multi_label_classification"), _) if kind != HeadKind::TokenClass => OutputKind::Labels,
        (Some("regression"), _) | (_, 1) => OutputKind::Scores,
        _ => OutputKind::Classes,
    };
    let ClassNames { n: n_named, mut names } = config.class_names(lookup::of_config(config).n_classes)?;
    if n_named != n && shows_head(config) {
        let (rows, named) = (counted(n, "row"), if n_named == 1 { "1 class" } else { &format!("{n_named} classes") });
        return Err(config.error(format!(
            "{name} has {rows}, but id2label and num_labels say {named}: set id2label to the name of each row"
        )));
    }
    let mut unnamed = Vec::new();
    let own = (0..n).map(|id| {
        let name = names.remove(&(id as i64));
        // What the library calls an only output when nobody named it says less than what it is.
        let name = name.filter(|name| n > 1 || outputs != OutputKind::Scores || name != "LABEL_0");
        name.unwrap_or_else(|| match outputs {
            OutputKind::Scores if n == 1 => SCORE.to_owned(),
            _ => {
                unnamed.push(id.to_string());
                format!("{} {id}", outputs.noun())
            }
        })
    });
    let own: Vec<String> = own.collect();
    if !unnamed.is_empty() && !names.is_empty() {
        let others: Vec<String> = names.keys().map(ToString::to_string).collect();
        weights.warn(&format!(
            "id2label has no name for {}, called by number here, and names {}, which the head does not have",
            unnamed.join(", "),
            others.join(", ")
        ));
    }
    Ok(Outcomes { kind: outputs, names: own })
}

/// Whether the checkpoint's class has a head of classes, as far as its name tells.
fn shows_head(config: &Config) -> bool {
    HeadClass::of(config).is_none_or(|promise| promise != HeadClass::Body)
}
