//! T5, FLAN-T5, mT5: positions only as a bias on the scores, RMS norms, no biases, no scaling.

use super::{
    Activation, Block, Body, Config, Convention, Dense, EOS, Embedding, Family, Head, LayerSpec, LoadError, Longer,
    Modality, MultiHead, Network, Norm, Norms, OpinionPlan, PAD, RelativeBias, RowTable, START, Stack, StackKind,
    Stored, TextEmbedding, TextSpec, TokenizerClass, Tower, Transform, Weights, bart::text_classifier, config_keys,
    cross, decoder::rms_norm, encoder::classifies_tokens, encoder::token_classifier, map, n_classes, opinion,
    parts::encoder_decoder, qkv,
};

pub(super) const FAMILIES: &[Family] = &[
    Family {
        harmless: HARMLESS,
        aliases: ALIASES,
        ids: &[(EOS, 1), (PAD, 0), (START, 0)],
        tokenizer: TokenizerClass::class(Convention::T5),
        opinion: Some(OpinionPlan::Any(opinion::mt5)),
        ..Family::encoder_decoder("mt5", build)
    },
    Family {
        harmless: HARMLESS,
        aliases: ALIASES,
        ids: &[(EOS, 1), (PAD, 0)],
        tokenizer: TokenizerClass::class(Convention::T5),
        opinion: Some(OpinionPlan::Any(opinion::t5)),
        ..Family::encoder_decoder("t5", build)
    },
];

/// They say again what `feed_forward_proj` says.
const HARMLESS: &[&[&str]] = &[config_keys::TABLES, &["dense_act_fn", "is_gated_act"]];
/// Other names that the classes take for their keys.
const ALIASES: &[(&str, &str)] = &[
    ("head_dim", "d_kv"),
    ("hidden_size", "d_model"),
    ("num_attention_heads", "num_heads"),
    ("num_hidden_layers", "num_layers"),
];

/// As long as texts of its training at least: the classes do not look at `n_positions`.
const N_CTX: usize = 2048;
const MAX: usize = 1 << 20;

/// What encoder and decoder have in common.
struct T5Shape {
    d_model: usize,
    d_mlp: usize,
    /// Of self-attention; attention to the encoder has no bias.
    spec: LayerSpec,
    eps: f32,
    activation: Activation,
    gated: bool,
    max_distance: usize,
}

const OUTPUT: &str = "lm_head.weight";

pub(super) fn build(config: &Config, weights: &mut Weights<'_>) -> Result<Network, LoadError> {
    let shape = T5Shape::read(config)?;
    let d_model = shape.d_model;
    let n_vocab = config.n_vocab()?;
    let n_layers = config.size(&["num_layers", "num_hidden_layers"], 4096)?;
    weights.set_prefix("", &["encoder.block.0.layer.0.SelfAttention.q.weight"]);
    let copies = ["encoder.embed_tokens.weight", "decoder.embed_tokens.weight"];
    // Whatever the configuration says, the reference ties them.
    let name = weights.first_of(&["shared.weight", copies[0], copies[1], OUTPUT]);
    let word = weights.table(&name, &[n_vocab, d_model])?;
    let own = [weights.untied(copies[0], &word)?, weights.untied(copies[1], &word)?];
    let [source, target] = own.map(|own| own.unwrap_or_else(|| word.clone()));
    let n_ctx = config.optional_size(&["n_positions"], 1 << 24)?.unwrap_or(N_CTX).max(N_CTX);
    let text = TextSpec { longer: Longer::Read, ..TextSpec::new(n_ctx, n_vocab) };
    let tower = |word, stack| Tower { embedding: Embedding::Text(TextEmbedding::unending(word, n_ctx)), stack };
    let family = if config.model_type()? == "mt5" { "mt5" } else { "t5" };
    let encoder = shape.stack(config, weights, StackKind::Encoder, n_layers)?;
    // Text encoders of other models come without the decoder.
    if !weights.has("decoder.final_layer_norm.weight") {
        weights.note_absent("decoder");
        let stack = Stack { kind: StackKind::SelfAttention, ..encoder };
        let body = Body::Single(tower(source, stack));
        let head = if classifies_tokens(config, weights) {
            Some(token_classifier(config, weights, d_model, Transform::default())?)
        } else {
            None
        };
        return Ok(Network { family, modality: Modality::Text(text), d_model, body, head });
    }
    let n_layers = config.optional_size(&["num_decoder_layers"], 4096)?.unwrap_or(n_layers);
    let decoder = shape.stack(config, weights, StackKind::Decoder, n_layers)?;
    // Old checkpoints stored a bias that attention to the encoder never used.
    weights.skip("decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight");
    let head = head(config, weights, family, &word)?;
    let modality = Modality::TextToText { source: text, target: text };
    Ok(encoder_decoder(family, modality, d_model, tower(source, encoder), None, tower(target, decoder), head))
}

impl T5Shape {
    fn read(config: &Config) -> Result<Self, LoadError> {
        let d_model = config.d_model()?;
        let n_heads = config.size(&["num_heads", "num_attention_heads"], MAX)?;
        let d_head = config.size(&["d_kv"], MAX)?;
        let spec = LayerSpec { scale: 1.0, biased: true, ..LayerSpec::new(n_heads, d_head) };
        let default = if config.model_type()? == "mt5" { "gated-gelu" } else { "relu" };
        let kind = config.text(&["feed_forward_proj"]).unwrap_or(default);
        let (gated, name) = kind.strip_prefix("gated-").map_or((false, kind), |name| (true, name));
        // The gated kind was named before its approximation had a name.
        let name = if gated && name == "gelu" { "gelu_new" } else { name };
        // What the library makes of that stands in its files too, and goes first.
        let (gated, name) = (config.flag("is_gated_act", gated), config.text(&["dense_act_fn"]).unwrap_or(name));
        let activation = Activation::from_name(name)
            .ok_or_else(|| config.unsupported(format!("its activation “{name}” is not supported")))?;
        let max_distance = config.optional_size(&["relative_attention_max_distance"], MAX)?.unwrap_or(128);
        let d_mlp = config.d_mlp()?.ok_or_else(|| config.error("it does not say d_ff"))?;
        Ok(Self {
            d_model,
            d_mlp,
            spec,
            eps: config.norm_eps("layer_norm_epsilon", 1e-6)?,
            activation,
            gated,
            max_distance,
        })
    }

    fn stack(
        &self,
        config: &Config,
        weights: &mut Weights<'_>,
        kind: StackKind,
        n_layers: usize,
    ) -> Result<Stack, LoadError> {
        let Self { d_model, d_mlp, spec, .. } = *self;
        let d_inner = spec.n_heads * spec.d_head;
        let is_decoder = kind == StackKind::Decoder;
        let stack = kind.name();
        let mut blocks = Vec::new();
        for layer in 0..n_layers {
            let name = |part: &str| format!("{stack}.block.{layer}.layer.{part}");
            let [q, k, v] = ["q", "k", "v"].map(|part| name(&format!("0.SelfAttention.{part}")));
            let qkv = qkv(weights, [&q, &k, &v], d_model, spec, [false; 3])?;
            let out = map(weights, &name("0.SelfAttention.o"), (d_inner, d_model), false)?;
            let attention = MultiHead::plain(qkv, out, spec, is_decoder && config.is_causal());
            let attention_norms = Norms::pre(self.norm(weights, &name("0.layer_norm"))?);
            let cross = if is_decoder {
                let names = ["q", "k", "v", "o"].map(|part| name(&format!("1.EncDecAttention.{part}")));
                let spec = LayerSpec { biased: false, ..spec };
                let attention = cross(weights, names.each_ref().map(String::as_str), (d_model, d_model), spec, false)?;
                Some((attention, Norms::pre(self.norm(weights, &name("1.layer_norm"))?)))
            } else {
                None
            };
            let last = 1 + usize::from(is_decoder);
            let mlp_name = |part: &str| name(&format!("{last}.DenseReluDense.{part}"));
            let names = if self.gated { vec![mlp_name("wi_0"), mlp_name("wi_1")] } else { vec![mlp_name("wi")] };
            let names: Vec<_> = names.iter().map(String::as_str).collect();
            let mlp = Dense {
                up: weights.linear(&names, (d_model, d_mlp), Stored::OutIn, false)?,
                activation: self.activation,
                gated: self.gated,
                down: map(weights, &mlp_name("wo"), (d_mlp, d_model), false)?,
            };
            let mlp_norms = Norms::pre(self.norm(weights, &name(&format!("{last}.layer_norm")))?);
            blocks.push(Block { cross, ..Block::new(attention, attention_norms, mlp, mlp_norms) });
        }
        let table = format!("{stack}.block.0.layer.0.SelfAttention.relative_attention_bias.weight");
        let n_buckets = n_classes(weights, &table);
        let table = weights.tensor(&table, &[n_buckets, spec.n_heads])?;
        let bias = RelativeBias::buckets(&table, !is_decoder, self.max_distance)?.ok_or_else(|| {
            config.error(format!("{n_buckets} buckets for distances up to {} are not possible", self.max_distance))
        })?;
        let final_norm = Some(self.norm(weights, &format!("{stack}.final_layer_norm"))?);
        Ok(Stack { bias: Some(bias), ..Stack::new(kind, blocks, final_norm) })
    }

    fn norm(&self, weights: &mut Weights<'_>, name: &str) -> Result<Norm, LoadError> {
        rms_norm(weights, name, self.d_model, self.eps, 0.0)
    }
}

/// The first T5 ties its output to the embedding and scales it down; later ones do neither. Since
/// version 5 of the library the configuration says so in another word, and only a file with an output
/// of its own tells that it is not tied.
fn head(config: &Config, weights: &mut Weights<'_>, family: &str, word: &RowTable) -> Result<Option<Head>, LoadError> {
    let (n_vocab, d_model) = word.dims()?;
    if config.architecture().is_some_and(|class| class.ends_with("ForSequenceClassification")) {
        return text_classifier(config, weights, d_model, 1).map(Some);
    }
    if !config.architecture().is_none_or(|class| class.ends_with("ForConditionalGeneration")) {
        weights.note_absent(OUTPUT);
        return Ok(None);
    }
    let tied = config.flag("tie_word_embeddings", true);
    let scaled = family == "t5" && config.flag("scale_decoder_outputs", tied);
    let output = if weights.has(OUTPUT) && !(tied && scaled) {
        map(weights, "lm_head", (d_model, n_vocab), false)?
    } else {
        weights.tied_output(OUTPUT, word, None)?
    };
    let scale = scaled.then(|| 1.0 / (d_model as f32).sqrt());
    Ok(Some(Head { transform: Transform { scale, ..Transform::default() }, ..Head::next_token(output) }))
}
