//! Parts of decoder-only families: heads over the vocabulary, RMS norms, interleaved projections.

use super::{
    Body, Config, Embedding, Head, HeadClass, HeadKind, LayerSpec, Linear, LinearPart, LoadError, Modality, Network,
    Norm, NormKind, PAD, Reads, RowTable, Stack, StackKind, Stored, TextEmbedding, Tower, Transform, Weights,
    lookup::class_ids, outcomes, table_name,
};

/// A decoder-only network of its parts.
pub(super) fn network(
    family: &'static str,
    (d_model, n_vocab): (usize, usize),
    embedding: TextEmbedding,
    stack: Stack,
    head: Option<Head>,
) -> Network {
    debug_assert_eq!(stack.kind, StackKind::SelfAttention);
    Network {
        family,
        modality: Modality::Text(embedding.spec(n_vocab)),
        d_model,
        body: Body::Single(Tower { embedding: Embedding::Text(embedding), stack }),
        head,
    }
}

/// A head that says something of the text or of each of its tokens, where the checkpoint has one under a decoder's
/// names for it.
pub(super) fn class_head(
    config: &Config,
    weights: &mut Weights<'_>,
    d_model: usize,
) -> Result<Option<Head>, LoadError> {
    let of_tokens = config.architecture().is_some_and(|class| class.ends_with("ForTokenClassification"));
    let (name, kind, reads) = if of_tokens {
        let name = ["score", "classifier"].into_iter().find(|name| weights.has(&format!("{name}.weight")));
        (name.unwrap_or("score"), HeadKind::TokenClass, Reads::Each)
    } else if weights.has("score.weight") && names_no_other(config) {
        // What fills up a text is not what is classified.
        let padding = config.token_ids_or_class(PAD, class_ids).first().copied();
        ("score", HeadKind::TextClass, Reads::Last { padding })
    } else {
        return Ok(None);
    };
    let weight = format!("{name}.weight");
    let outcomes = outcomes(config, weights, kind, &weight)?;
    let n = outcomes.names.len();
    let bias = weights.optional(&format!("{name}.bias"), &[n])?;
    let output = Linear::new(weights.tensor(&weight, &[n, d_model])?.t()?, bias)?;
    Ok(Some(Head::class(kind, reads, Transform::default(), output, outcomes)))
}

/// Whether the checkpoint's class leaves it to the weights whether they classify texts.
fn names_no_other(config: &Config) -> bool {
    let promise = HeadClass::of(config);
    promise.is_none_or(|promise| promise == HeadClass::TextClass)
}

/// The output map of a decoder.
#[derive(Clone, Copy)]
pub(super) struct Output {
    pub name: &'static str,
    /// Whether its weights are the token embedding's when the configuration does not say.
    pub tied: bool,
    pub bias: bool,
}

impl Output {
    /// As most decoders have it: without a bias.
    pub const fn new(name: &'static str, tied: bool) -> Self {
        Self { name, tied, bias: false }
    }

    /// The name under which the file has the token embeddings, `own` or this map's.
    pub fn table_name(self, config: &Config, weights: &mut Weights<'_>, own: &str) -> String {
        table_name(config, weights, [own, &format!("{}.weight", self.name)], self.tied)
    }

    /// The token embeddings.
    pub fn table(
        self,
        config: &Config,
        weights: &mut Weights<'_>,
        own: &str,
        shape: &[usize],
    ) -> Result<RowTable, LoadError> {
        let name = self.table_name(config, weights, own);
        weights.table(&name, shape)
    }
}

/// The language model's or the classifier's head; `None` for a checkpoint of the body alone.
pub(super) fn head(
    config: &Config,
    weights: &mut Weights<'_>,
    output: Output,
    embedding: &RowTable,
) -> Result<Option<Head>, LoadError> {
    let Output { name, tied, bias } = output;
    let (n_vocab, d_model) = embedding.dims()?;
    if let Some(head) = class_head(config, weights, d_model)? {
        return Ok(Some(head));
    }
    let weight = format!("{name}.weight");
    if config.flag("tie_word_embeddings", tied) {
        // Phi ties the weights alone.
        let own = format!("{name}.bias");
        let bias = if bias { Some(weights.tensor(&own, &[n_vocab])?) } else { None };
        return Ok(Some(Head::next_token(weights.tied_output(&weight, embedding, bias)?)));
    }
    if !weights.has(&weight) {
        weights.note_absent(&weight);
        return Ok(None);
    }
    let part = LinearPart { name, d_out: n_vocab, bias };
    Ok(Some(Head::next_token(weights.linear_of(&[part], d_model, Stored::OutIn, None)?)))
}

/// The kind of each layer, where the file lists them.
pub(super) fn layer_types(config: &Config, n_layers: usize) -> Result<Option<Vec<String>>, LoadError> {
    let Some(kinds) = config.names("layer_types") else { return Ok(None) };
    if kinds.len() != n_layers {
        return Err(config.error(format!("layer_types lists {} of {n_layers} layers", kinds.len())));
    }
    match kinds.iter().find(|kind| !["full_attention", "sliding_attention"].contains(&kind.as_str())) {
        Some(kind) => Err(config.unsupported(format!("layer_types names “{kind}”, which is not supported"))),
        None => Ok(Some(kinds)),
    }
}

/// An RMS norm under `name`. `offset` is added to its weights: Gemma stores them less one.
pub(super) fn rms_norm(
    weights: &mut Weights<'_>,
    name: &str,
    d: usize,
    eps: f32,
    offset: f32,
) -> Result<Norm, LoadError> {
    let mut weight = weights.tensor(&format!("{name}.weight"), &[d])?;
    if offset != 0.0 {
        weight = (weight + f64::from(offset))?;
    }
    Ok(Norm { kind: NormKind::Rms, weight, bias: None, eps })
}

/// A fused projection whose outputs are stored key by key: the queries of the heads that share it, the key and the value
/// (GPT-NeoX, BLOOM, Falcon).
pub(super) fn interleaved_qkv(
    weights: &mut Weights<'_>,
    name: &str,
    d_model: usize,
    spec: LayerSpec,
    bias: bool,
) -> Result<Linear, LoadError> {
    let LayerSpec { n_heads, n_kv_heads, d_head, .. } = spec;
    let sharing = n_heads / n_kv_heads;
    let place = |head: usize| head / sharing * (sharing + 2) + head % sharing;
    let of_kind = |kind: usize| (0..n_kv_heads).map(move |shared| shared * (sharing + 2) + sharing + kind);
    let rows = (0..n_heads).map(place).chain(of_kind(0)).chain(of_kind(1));
    let order: Vec<usize> = rows.flat_map(|row| row * d_head..(row + 1) * d_head).collect();
    weights.linear_of(&[LinearPart { name, d_out: order.len(), bias }], d_model, Stored::OutIn, Some(&order))
}

/// A fused projection in `n` parts of one width, each with its queries, its values and its keys (`CodeGen`).
pub(super) fn sharded_qkv(
    config: &Config,
    weights: &mut Weights<'_>,
    (name, n): (&str, usize),
    d_model: usize,
    spec: LayerSpec,
) -> Result<Linear, LoadError> {
    let width = spec.n_heads * spec.d_head;
    if !width.is_multiple_of(n) {
        return Err(config.error(format!("a width of {width} cannot be cut into {n} parts")));
    }
    let part = width / n;
    // Queries, keys and values among queries, values and keys.
    let order: Vec<usize> = [0, 2, 1]
        .into_iter()
        .flat_map(|kind| (0..width).map(move |idx| (idx / part * 3 + kind) * part + idx % part))
        .collect();
    weights.linear_of(&[LinearPart { name, d_out: 3 * width, bias: false }], d_model, Stored::OutIn, Some(&order))
}

/// One linear map with or without a bias, stored as `(out, in)`.
pub(super) fn map(
    weights: &mut Weights<'_>,
    name: &str,
    (d_in, d_out): (usize, usize),
    bias: bool,
) -> Result<Linear, LoadError> {
    weights.linear(&[name], (d_in, d_out), Stored::OutIn, bias)
}
