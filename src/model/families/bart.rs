//! BART, LED, mBART, Marian, M2M-100 (also NLLB) and PEGASUS: one body, whose dialects differ in where norms are, how
//! positions are known, and how far the encoder sees.

use serde_json::json;

use super::{
    Activation, BOS, Block, Config, Convention, EOS, Embedding, Family, FirstRead, Head, HeadKind, LayerSpec,
    LoadError, Longer, Modality, MultiHead, Network, Norms, OpinionPlan, PAD, Positions, Reads, RowTable, START, Stack,
    StackKind, TextEmbedding, TokenizerClass, Tower, Transform, Weights, cross, layer_norm, linear, longformer, mlp,
    n_classes, opinion, outcomes, parts::encoder_decoder, qkv, vocabulary_map,
};
use crate::model::checkpoint::ids::LAST;

pub(super) const FAMILIES: &[Family] = &[
    Family {
        aliases: ALIASES,
        ids: &[(BOS, 0), (EOS, 2), (PAD, 1), (START, 2), (LAST, 2)],
        tokenizer: TokenizerClass::class(Convention::Roberta),
        n_classes: 3,
        ..Family::encoder_decoder("bart", |config, weights| build(config, weights, &BART))
    },
    Family {
        // How a graph of it is traced for other programs.
        harmless: &[&["onnx_export"]],
        aliases: ALIASES,
        ids: &[(BOS, 0), (EOS, 2), (PAD, 1), (START, 2)],
        tokenizer: TokenizerClass::class(Convention::Roberta),
        ..Family::encoder_decoder("led", |config, weights| build(config, weights, &LED))
    },
    Family {
        aliases: ALIASES,
        ids: &[(BOS, 0), (EOS, 2), (PAD, 1), (START, 2)],
        tokenizer: TokenizerClass::class(Convention::M2m100),
        ..Family::encoder_decoder("m2m_100", build_m2m)
    },
    Family {
        aliases: ALIASES,
        ids: &[(EOS, 0), (PAD, 58_100), (START, 58_100), (LAST, 0)],
        tokenizer: TokenizerClass::class(Convention::Marian),
        opinion: Some(OpinionPlan::Any(|settings, _| opinion::marian(settings))),
        ..Family::encoder_decoder("marian", |config, weights| build(config, weights, &MARIAN))
    },
    Family {
        aliases: ALIASES,
        ids: &[(BOS, 0), (EOS, 2), (PAD, 1), (LAST, 2)],
        tokenizer: TokenizerClass::class(Convention::MBart),
        first_read: FirstRead::Last,
        ..Family::encoder_decoder("mbart", |config, weights| build(config, weights, &MBART))
    },
    Family {
        aliases: ALIASES,
        ids: &[(EOS, 1), (PAD, 0), (START, 0), (LAST, 1)],
        tokenizer: TokenizerClass::class(Convention::Pegasus),
        ..Family::encoder_decoder("pegasus", |config, weights| build(config, weights, &PEGASUS))
    },
];

const OUTPUT: &str = "lm_head.weight";
/// Rows of a learned position table before that of the first token.
const OFFSET: usize = 2;
/// Most positions that are computed where there is no table.
const MAX_COMPUTED: usize = 8192;
const MAX: usize = 1 << 20;

/// What differs between the families.
pub(super) struct Dialect {
    pub family: &'static str,
    /// What the names of all tensors begin with.
    pub prefix: &'static str,
    pub norm_before: bool,
    /// A norm of the embeddings.
    pub embedding_norm: bool,
    pub final_norm: bool,
    pub positions: PositionKind,
    /// How far the encoder sees.
    pub reach: Reach,
}

/// How far a side sees.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    All,
    /// Within windows, layer by layer.
    Windows,
}

/// How positions are known.
#[derive(Clone, Copy)]
pub(super) enum PositionKind {
    Learned,
    /// Learned, from the first row on; how many there are is said under this name.
    FromZero,
    /// Computed as in the first transformer.
    Sinusoidal,
    /// Computed with fairseq's frequencies; rows begin after that of the padding token.
    Fairseq {
        padding: u32,
    },
}

const BART: Dialect = Dialect {
    family: "bart",
    prefix: "model.",
    norm_before: false,
    embedding_norm: true,
    final_norm: false,
    positions: PositionKind::Learned,
    reach: Reach::All,
};
const LED: Dialect =
    Dialect { family: "led", prefix: "led.", positions: PositionKind::FromZero, reach: Reach::Windows, ..BART };
const MARIAN: Dialect =
    Dialect { family: "marian", embedding_norm: false, positions: PositionKind::Sinusoidal, ..BART };
const PEGASUS: Dialect = Dialect {
    family: "pegasus",
    norm_before: true,
    embedding_norm: false,
    final_norm: true,
    positions: PositionKind::Sinusoidal,
    ..BART
};
const M2M: Dialect = Dialect { family: "m2m_100", positions: PositionKind::Fairseq { padding: 1 }, ..PEGASUS };
const MBART: Dialect = Dialect { family: "mbart", norm_before: true, final_norm: true, ..BART };

/// Other names that the classes take for their keys.
const ALIASES: &[(&str, &str)] = &[
    ("num_attention_heads", "encoder_attention_heads"),
    ("hidden_size", "d_model"),
    ("num_hidden_layers", "encoder_layers"),
];

/// With the class's own activation and scale, and positions from after the padding's.
fn build_m2m(config: &Config, weights: &mut Weights<'_>) -> Result<Network, LoadError> {
    let config = config.or(&json!({ "activation_function": "relu", "scale_embedding": true }));
    let padding = config.token("pad_token_id").unwrap_or(1);
    build(&config, weights, &Dialect { positions: PositionKind::Fairseq { padding }, ..M2M })
}

fn build(config: &Config, weights: &mut Weights<'_>, dialect: &Dialect) -> Result<Network, LoadError> {
    if let Some(class) = config.architecture().filter(|class| class.ends_with("ForCausalLM")) {
        return Err(config.unsupported(format!("a decoder without its encoder ({class}) is not supported")));
    }
    weights.set_prefix(dialect.prefix, &["encoder.layers.0.fc1.weight"]);
    let [source_word, target_word, head_word] = words(config, weights, dialect.prefix)?;
    let encoder = tower(config, weights, dialect, StackKind::Encoder, source_word)?;
    let decoder = tower(config, weights, dialect, StackKind::Decoder, target_word)?;
    let head = head(config, weights, &head_word)?;
    if dialect.reach == Reach::Windows {
        weights.warn(longformer::NOBODY);
    }
    let spec = |tower: &Tower| match &tower.embedding {
        Embedding::Text(text) => Ok(text.spec(text.word.n_vocab()?)),
        Embedding::Patches(_) => Err(config.error("it reads pictures")),
    };
    let modality = Modality::TextToText { source: spec(&encoder)?, target: spec(&decoder)? };
    Ok(encoder_decoder(dialect.family, modality, config.d_model()?, encoder, None, decoder, head))
}

/// The token embeddings of both sides, one table under any of its names, or two; and what the output is tied to.
fn words(config: &Config, weights: &mut Weights<'_>, prefix: &str) -> Result<[RowTable; 3], LoadError> {
    let d_model = config.d_model()?;
    let n_source = config.n_vocab()?;
    let n_target = config.optional_size(&["decoder_vocab_size"], 1 << 24)?.unwrap_or(n_source);
    let [shared, source, target] =
        ["shared", "encoder.embed_tokens", "decoder.embed_tokens"].map(|part| format!("{prefix}{part}.weight"));
    let is_shared = config.flag("share_encoder_decoder_embeddings", true) && config.flag("tie_word_embeddings", true);
    let words = if is_shared && n_source == n_target {
        let name = weights.first_of(&[&shared, &source, &target, OUTPUT]);
        let word = weights.table(&name, &[n_source, d_model])?;
        let own = [weights.untied(&source, &word)?, weights.untied(&target, &word)?];
        let [source, target] = own.map(|own| own.unwrap_or_else(|| word.clone()));
        [source, target, word]
    } else {
        let is_tied = config.flag("tie_word_embeddings", true);
        let source = weights.first_of(&[&source, &shared]);
        let target = weights.first_of(&[&target, &shared, OUTPUT][..if is_tied { 3 } else { 2 }]);
        if !is_tied && (source == shared || target == shared) && weights.has(&shared) {
            weights.warn(&format!(
                "tie_word_embeddings is false, but {shared} stands for the embeddings of both sides, as in version 4 of \
                 transformers; version 5 fills missing ones with random numbers"
            ));
        }
        let word = weights.table(&source, &[n_source, d_model])?;
        let same = source == target && n_source == n_target;
        let other = if same { word.clone() } else { weights.table(&target, &[n_target, d_model])? };
        [word, other.clone(), other]
    };
    weights.skip(&shared);
    Ok(words)
}

/// One side: `model.encoder`, or `model.decoder` with attention to the encoder.
pub(super) fn tower(
    config: &Config,
    weights: &mut Weights<'_>,
    dialect: &Dialect,
    kind: StackKind,
    word: RowTable,
) -> Result<Tower, LoadError> {
    let d_model = config.d_model()?;
    let is_decoder = kind == StackKind::Decoder;
    let (n_layers, n_heads, d_mlp) = if is_decoder {
        (["decoder_layers"], ["decoder_attention_heads"], ["decoder_ffn_dim"])
    } else {
        (["encoder_layers"], ["encoder_attention_heads"], ["encoder_ffn_dim"])
    };
    let (n_layers, n_heads) = (config.size(&n_layers, 4096)?, config.size(&n_heads, MAX)?);
    let d_mlp = config.size(&d_mlp, MAX)?;
    if !d_model.is_multiple_of(n_heads) {
        return Err(config.error(format!("{n_heads} heads do not divide a width of {d_model}")));
    }
    let spec = LayerSpec::new(n_heads, d_model / n_heads);
    let d_encoder = config.optional_size(&["cross_attention_hidden_size"], MAX)?.unwrap_or(d_model);
    let activation = config.activation("activation_function", Activation::Gelu)?;
    let stack = format!("{}{}", dialect.prefix, if is_decoder { "decoder" } else { "encoder" });
    let stack = stack.as_str();
    let windows = if dialect.reach == Reach::Windows && !is_decoder {
        Some(longformer::windows(config, n_layers)?)
    } else {
        None
    };
    let embedding = embedding(config, weights, dialect, stack, word)?;
    let place = if dialect.norm_before { Norms::pre } else { Norms::post };
    let mut blocks = Vec::new();
    for layer in 0..n_layers {
        let name = |part: &str| format!("{stack}.layers.{layer}.{part}");
        let norm =
            |weights: &mut Weights<'_>, part: &str| Ok::<_, LoadError>(place(norm(weights, &name(part), d_model)?));
        let parts = match windows {
            Some(_) => ["query", "key", "value"].map(|part| format!("longformer_self_attn.{part}")),
            None => ["q_proj", "k_proj", "v_proj"].map(str::to_owned),
        };
        let [q, k, v] = parts.map(|part| name(&format!("self_attn.{part}")));
        let out = name(if windows.is_some() { "self_attn.output" } else { "self_attn.out_proj" });
        let qkv = qkv(weights, [&q, &k, &v], d_model, spec, [true; 3])?;
        let out = linear(weights, &out, d_model, d_model)?;
        let cross = if is_decoder {
            let names = ["q_proj", "k_proj", "v_proj", "out_proj"].map(|part| name(&format!("encoder_attn.{part}")));
            let names = names.each_ref().map(String::as_str);
            let attention = cross(weights, names, (d_model, d_encoder), spec, true)?;
            Some((attention, norm(weights, "encoder_attn_layer_norm")?))
        } else {
            None
        };
        let mut block = Block::new(
            MultiHead::plain(qkv, out, spec, is_decoder && config.is_causal()),
            norm(weights, "self_attn_layer_norm")?,
            mlp(weights, [&name("fc1"), &name("fc2")], (d_model, d_mlp), activation)?,
            norm(weights, "final_layer_norm")?,
        );
        if let Some(windows) = &windows {
            // Its classes leave it to whoever calls them which tokens see all.
            let name = name("self_attn.longformer_self_attn");
            block = longformer::see_within(weights, block, &name, windows[layer])?;
        }
        blocks.push(Block { cross, ..block });
    }
    let final_norm = dialect.final_norm.then(|| norm(weights, &format!("{stack}.layer_norm"), d_model)).transpose()?;
    Ok(Tower { embedding: Embedding::Text(embedding), stack: Stack::new(kind, blocks, final_norm) })
}

fn norm(weights: &mut Weights<'_>, name: &str, d_model: usize) -> Result<crate::model::kernels::Norm, LoadError> {
    layer_norm(weights, name, d_model, 1e-5)
}

fn embedding(
    config: &Config,
    weights: &mut Weights<'_>,
    dialect: &Dialect,
    stack: &str,
    word: RowTable,
) -> Result<TextEmbedding, LoadError> {
    let d_model = config.d_model()?;
    let name = format!("{stack}.embed_positions.weight");
    let n_ctx = match dialect.positions {
        PositionKind::FromZero if stack.ends_with("decoder") => {
            config.size(&["max_decoder_position_embeddings"], MAX)?
        }
        PositionKind::FromZero => config.size(&["max_encoder_position_embeddings"], MAX)?,
        _ => config.n_ctx()?,
    };
    let longer = if matches!(dialect.positions, PositionKind::Fairseq { .. }) { Longer::Read } else { Longer::Refused };
    let (positions, n_ctx) = match dialect.positions {
        PositionKind::FromZero => (Positions::from_zero(weights.tensor(&name, &[n_ctx, d_model])?), n_ctx),
        PositionKind::Learned => {
            let n_rows = n_classes(weights, &name).max(OFFSET + 1);
            let table = weights.tensor(&name, &[n_rows, d_model])?;
            (Positions { table, offset: OFFSET, padding: None, grows: false }, n_rows - OFFSET)
        }
        PositionKind::Sinusoidal => {
            // Some checkpoints store what is computed, some of them in fewer bits.
            if weights.has(&name) {
                (Positions::from_zero(weights.tensor(&name, &[n_ctx, d_model])?), n_ctx)
            } else {
                let n_ctx = n_ctx.min(MAX_COMPUTED);
                (Positions::sinusoidal(n_ctx, d_model, word.device())?, n_ctx)
            }
        }
        PositionKind::Fairseq { padding } => {
            for computed in ["_float_tensor", "weights"] {
                weights.skip(&format!("{stack}.embed_positions.{computed}"));
            }
            let n_ctx = n_ctx.min(MAX_COMPUTED);
            (Positions::fairseq(n_ctx, d_model, padding, word.device())?, n_ctx)
        }
    };
    let norm = dialect.embedding_norm.then(|| norm(weights, &format!("{stack}.layernorm_embedding"), d_model));
    // LED has the key from BART, and does not look at it.
    let scaled = dialect.reach != Reach::Windows && config.flag("scale_embedding", false);
    let scale = if scaled { (d_model as f32).sqrt() } else { 1.0 };
    let (norm, position) = (norm.transpose()?, Some(positions));
    Ok(TextEmbedding { scale, position, norm, longer, ..TextEmbedding::tokens(word, n_ctx) })
}

/// The classifier of a text that both sides read, where the text ends: at `end` when the configuration does
/// not say which token ends it (BART, T5).
pub(super) fn text_classifier(
    config: &Config,
    weights: &mut Weights<'_>,
    d_model: usize,
    end: u32,
) -> Result<Head, LoadError> {
    let outcomes = outcomes(config, weights, HeadKind::TextClass, "classification_head.out_proj.weight")?;
    let dense = linear(weights, "classification_head.dense", d_model, d_model)?;
    let output = linear(weights, "classification_head.out_proj", d_model, outcomes.names.len())?;
    let transform = Transform { dense: Some(dense), activation: Some(Activation::Tanh), ..Transform::default() };
    let reads = Reads::End { token: config.token_ids("eos_token_id").first().copied().unwrap_or(end) };
    Ok(Head::class(HeadKind::TextClass, reads, transform, output, outcomes))
}

fn head(config: &Config, weights: &mut Weights<'_>, word: &RowTable) -> Result<Option<Head>, LoadError> {
    let (n_vocab, d_model) = word.dims()?;
    let class = config.architecture().unwrap_or("ForConditionalGeneration");
    if class.ends_with("ForSequenceClassification") {
        return text_classifier(config, weights, d_model, 2).map(Some);
    }
    if !(class.ends_with("ForConditionalGeneration") || class.ends_with("MTModel")) {
        weights.note_absent(OUTPUT);
        return Ok(None);
    }
    let bias = "final_logits_bias";
    let bias = weights.has(bias).then(|| weights.tensor(bias, &[1, n_vocab])).transpose()?;
    let bias = bias.map(|bias| bias.reshape(n_vocab)).transpose()?;
    Ok(vocabulary_map(config, weights, OUTPUT, word, bias)?.map(Head::next_token))
}
