//! Parts of BERT and its descendants: sizes, embeddings, post-norm blocks, and the choice of a head.

use candle_core::Tensor;

use super::{
    Activation, Block, ClassHead, Config, Head, HeadKind, LayerSpec, Linear, LoadError, MultiHead, Norms, Outcomes,
    OutputKind, Positions, Reads, RowTable, TextEmbedding, Transform, Weights, classifier, cross, layer_norm, linear,
    mlp, n_classes, qkv, table_name, vocabulary_map,
};

/// Sizes of an encoder, and what its configuration says about all layers.
pub(super) struct Sizes {
    pub d_model: usize,
    /// Width of the embeddings; `d_model` unless the family has another.
    pub d_embedding: usize,
    pub d_mlp: usize,
    pub n_vocab: usize,
    /// Rows of the position table.
    pub n_positions: usize,
    pub n_layers: usize,
    pub eps: f32,
    pub activation: Activation,
    pub spec: LayerSpec,
    /// Whether the encoder was made a decoder.
    pub causal: bool,
    /// Whether it attends to an encoder.
    pub cross: bool,
}

impl Sizes {
    pub fn read(config: &Config, activation: Activation) -> Result<Self, LoadError> {
        if let Some(kind) = config.text(&["position_embedding_type"]).filter(|kind| *kind != "absolute") {
            return Err(
                config.unsupported(format!("position_embedding_type “{kind}” is not supported, only “absolute”"))
            );
        }
        Ok(Self {
            causal: config.flag("is_decoder", false) && config.is_causal(),
            cross: config.flag("add_cross_attention", false),
            ..Self::both_ways(config, activation)?
        })
    }

    /// The same of a family that cannot be made a decoder, whatever the file says.
    pub fn both_ways(config: &Config, activation: Activation) -> Result<Self, LoadError> {
        let eps = config.norm_eps("layer_norm_eps", 1e-12)?;
        Self::of(config, eps, config.activation("hidden_act", activation)?)
    }

    /// The same of a family that says in its own way what is added to the variance and what the activation is.
    pub fn of(config: &Config, eps: f32, activation: Activation) -> Result<Self, LoadError> {
        let d_model = config.d_model()?;
        let n_heads = config.n_heads(d_model)?;
        Ok(Self {
            d_model,
            d_embedding: d_model,
            d_mlp: config.d_mlp()?.unwrap_or(4 * d_model),
            n_vocab: config.n_vocab()?,
            n_positions: config.n_ctx()?,
            n_layers: config.n_layers()?,
            eps,
            activation,
            spec: LayerSpec::new(n_heads, d_model / n_heads),
            causal: false,
            cross: false,
        })
    }
}

/// The embeddings under `name`: tokens, which may be stored as the `output` map that they are tied to, positions and,
/// where the family has them, segments.
pub(super) fn embedding(
    config: &Config,
    weights: &mut Weights<'_>,
    sizes: &Sizes,
    name: &str,
    output: Option<&str>,
    has_segments: bool,
) -> Result<TextEmbedding, LoadError> {
    let Sizes { d_embedding, n_vocab, n_positions, eps, .. } = *sizes;
    let name = |part: &str| format!("{name}.{part}");
    let word = word_table(config, weights, &name("word_embeddings.weight"), output);
    let word = weights.table(&word, &[n_vocab, d_embedding])?;
    let position = weights.tensor(&name("position_embeddings.weight"), &[n_positions, d_embedding])?;
    let norm = layer_norm(weights, &name("LayerNorm"), d_embedding, eps)?;
    // Buffers of older versions of the library.
    weights.skip(&name("position_ids"));
    weights.skip(&name("token_type_ids"));
    Ok(TextEmbedding {
        position: Some(Positions::from_zero(position)),
        segment: if has_segments { segments(weights, sizes, &name("token_type_embeddings.weight"))? } else { None },
        norm: Some(norm),
        ..TextEmbedding::tokens(word, n_positions)
    })
}

/// The name of the token embeddings, which may be that of the `output` map.
pub(super) fn word_table(config: &Config, weights: &mut Weights<'_>, own: &str, output: Option<&str>) -> String {
    match output {
        Some(output) => table_name(config, weights, [own, &format!("{output}.weight")], true),
        None => own.to_owned(),
    }
}

/// The table of segments, as long as the file has it.
pub(super) fn segments(weights: &mut Weights<'_>, sizes: &Sizes, name: &str) -> Result<Option<Tensor>, LoadError> {
    let n_segments = n_classes(weights, name);
    weights.optional(name, &[n_segments, sizes.d_embedding])
}

/// The embeddings of RoBERTa and MPNet: positions are counted from the row after the padding token's,
/// and that token takes none.
pub(super) fn count_from(config: &Config, padding: u32, embedding: TextEmbedding) -> Result<TextEmbedding, LoadError> {
    let offset = padding as usize + 1;
    let n_ctx = embedding.n_ctx.saturating_sub(offset);
    if n_ctx == 0 {
        return Err(config.error(format!("{} positions leave none after the padding's", embedding.n_ctx)));
    }
    let position = embedding.position.map(|position| Positions { offset, padding: Some(padding), ..position });
    Ok(TextEmbedding { position, n_ctx, ..embedding })
}

/// What a family calls the parts of a block.
pub(super) struct BlockNames {
    pub qkv: [&'static str; 3],
    pub out: &'static str,
    pub attention_norm: &'static str,
    pub mlp: [&'static str; 2],
    pub mlp_norm: &'static str,
}

/// BERT's own names, which most of its descendants keep.
pub(super) const BERT_BLOCK: BlockNames = BlockNames {
    qkv: ["attention.self.query", "attention.self.key", "attention.self.value"],
    out: "attention.output.dense",
    attention_norm: "attention.output.LayerNorm",
    mlp: ["intermediate.dense", "output.dense"],
    mlp_norm: "output.LayerNorm",
};

/// The post-norm blocks `{name}.0` and so on, one per layer.
pub(super) fn blocks(
    weights: &mut Weights<'_>,
    sizes: &Sizes,
    name: &str,
    names: &BlockNames,
) -> Result<Vec<Block>, LoadError> {
    (0..sizes.n_layers).map(|layer| block(weights, sizes, &format!("{name}.{layer}"), names)).collect()
}

/// The post-norm block under `name`.
pub(super) fn block(
    weights: &mut Weights<'_>,
    sizes: &Sizes,
    name: &str,
    names: &BlockNames,
) -> Result<Block, LoadError> {
    let Sizes { d_model, d_mlp, eps, activation, spec, causal, .. } = *sizes;
    let name = |part: &str| format!("{name}.{part}");
    let cross = if sizes.cross { Some(cross_attention(weights, sizes, &name)?) } else { None };
    let [q, k, v] = names.qkv.map(name);
    let qkv = qkv(weights, [&q, &k, &v], d_model, spec, [true; 3])?;
    let out = linear(weights, &name(names.out), d_model, d_model)?;
    let [up, down] = names.mlp.map(name);
    let block = Block::new(
        MultiHead::plain(qkv, out, spec, causal),
        Norms::post(layer_norm(weights, &name(names.attention_norm), d_model, eps)?),
        mlp(weights, [&up, &down], (d_model, d_mlp), activation)?,
        Norms::post(layer_norm(weights, &name(names.mlp_norm), d_model, eps)?),
    );
    Ok(Block { cross, ..block })
}

/// How a block attends to an encoder; all families that were made decoders have BERT's names for it.
fn cross_attention(
    weights: &mut Weights<'_>,
    sizes: &Sizes,
    name: &impl Fn(&str) -> String,
) -> Result<(MultiHead, Norms), LoadError> {
    let Sizes { d_model, eps, spec, .. } = *sizes;
    let names = ["self.query", "self.key", "self.value", "output.dense"];
    let names = names.map(|part| name(&format!("crossattention.{part}")));
    let attention = cross(weights, names.each_ref().map(String::as_str), (d_model, d_model), spec, true)?;
    Ok((attention, Norms::post(layer_norm(weights, &name("crossattention.output.LayerNorm"), d_model, eps)?)))
}

/// What a family calls the parts of its heads.
pub(super) struct HeadNames {
    /// Between the stream and the vocabulary: a linear map, `activation`, a norm.
    pub dense: &'static str,
    pub activation: Activation,
    pub norm: &'static str,
    /// The map to the vocabulary; `None` where it is the token embeddings, whatever the configuration says.
    pub decoder: Option<&'static str>,
    /// The decoder's bias where it is not stored with the decoder.
    pub bias: &'static str,
    /// Between the first token's stream and the classes of a text: a linear map, `pooled`.
    pub pooler: &'static str,
    pub pooled: Activation,
    pub classifier: &'static str,
}

/// Whether a second text follows the first (Devlin et al. 2019): the map of the class that says so, and its outcomes.
const NEXT_SENTENCE: &str = "cls.seq_relationship";
const NEXT_OR_NOT: [&str; 2] = ["next sentence", "random sentence"];

/// Classifiers of single tokens have this name in every family.
const TOKEN_CLASSIFIER: &str = "classifier";

/// The head that the checkpoint has, if it is one that says something about the text or its tokens.
pub(super) fn head(
    config: &Config,
    weights: &mut Weights<'_>,
    sizes: &Sizes,
    names: &HeadNames,
    word: &RowTable,
) -> Result<Option<Head>, LoadError> {
    let d_model = sizes.d_model;
    if classifies_tokens(config, weights) {
        return token_classifier(config, weights, d_model, Transform::default()).map(Some);
    }
    if classifies_texts(config, weights, names.classifier) && weights.has(&format!("{}.weight", names.pooler)) {
        let dense = Some(linear(weights, names.pooler, d_model, d_model)?);
        let transform = Transform { dense, activation: Some(names.pooled), ..Transform::default() };
        let parts = ClassHead { kind: HeadKind::TextClass, reads: Reads::First, transform };
        return classifier(config, weights, names.classifier, d_model, parts).map(Some);
    }
    if says_whether_next(config, weights) {
        let dense = Some(linear(weights, names.pooler, d_model, d_model)?);
        let transform = Transform { dense, activation: Some(names.pooled), ..Transform::default() };
        let outcomes = Outcomes { kind: OutputKind::Classes, names: NEXT_OR_NOT.map(str::to_owned).into() };
        let output = linear(weights, NEXT_SENTENCE, d_model, NEXT_OR_NOT.len())?;
        return Ok(Some(Head::class(HeadKind::TextClass, Reads::First, transform, output, outcomes)));
    }
    let dense = format!("{}.weight", names.dense);
    if !weights.has(&dense) {
        weights.note_absent(&dense);
        return Ok(None);
    }
    let dense = linear(weights, names.dense, d_model, sizes.d_embedding)?;
    let norm = layer_norm(weights, names.norm, sizes.d_embedding, sizes.eps)?;
    let own_bias = names.decoder.map(|name| format!("{name}.bias"));
    // The same numbers where both are there, unless the file unties them; then the decoder's own count.
    let bias = own_bias.as_deref().into_iter().chain([names.bias]).find(|name| weights.has(name)).map(str::to_owned);
    let bias = bias.map(|name| weights.tensor(&name, &[sizes.n_vocab])).transpose()?;
    weights.skip(names.bias);
    let output = match names.decoder {
        Some(name) => vocabulary_map(config, weights, &format!("{name}.weight"), word, bias)?,
        None => Some(Linear::tied(word, bias)?),
    };
    let Some(output) = output else { return Ok(None) };
    let head = Head::masked_lm(dense, names.activation, norm, output);
    Ok(Some(if sizes.causal { Head { kind: HeadKind::NextToken, ..head } } else { head }))
}

/// Whether the checkpoint says if the second text follows the first.
fn says_whether_next(config: &Config, weights: &Weights<'_>) -> bool {
    config.architecture().is_some_and(|class| class.ends_with("ForNextSentencePrediction"))
        && weights.has(&format!("{NEXT_SENTENCE}.weight"))
}

/// Whether the checkpoint says what each token is.
pub(super) fn classifies_tokens(config: &Config, weights: &Weights<'_>) -> bool {
    config.architecture().is_some_and(|class| class.ends_with("ForTokenClassification"))
        && weights.has(&format!("{TOKEN_CLASSIFIER}.weight"))
}

/// Whether the checkpoint says what the whole text is. Question answering and multiple choice also have
/// a classifier, which says nothing of the kind.
pub(super) fn classifies_texts(config: &Config, weights: &Weights<'_>, classifier: &str) -> bool {
    let name = format!("{classifier}.weight");
    config.architecture().is_none_or(|class| class.ends_with("ForSequenceClassification")) && weights.has(&name)
}

/// The head that names each token's class.
pub(super) fn token_classifier(
    config: &Config,
    weights: &mut Weights<'_>,
    d_model: usize,
    transform: Transform,
) -> Result<Head, LoadError> {
    classifier(
        config,
        weights,
        TOKEN_CLASSIFIER,
        d_model,
        ClassHead { kind: HeadKind::TokenClass, reads: Reads::Each, transform },
    )
}
