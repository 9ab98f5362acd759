//! Older decoders: layer norms, an MLP without a gate, and positions of several kinds. They differ in names and in a
//! few choices, which [`Plain`] lists.

use super::{
    Activation, Block, Config, Dense, HeadNorm, LayerSpec, LoadError, MultiHead, Network, Norm, NormKind, Norms,
    Output, Positions, QkNorm, RelativeBias, Rotary, RowTable, Stack, StackKind, TextEmbedding, Weights, decoder::head,
    decoder::interleaved_qkv, decoder::sharded_qkv, layer_norm, map, network, qkv,
};

/// Names and choices of one of these families. Names of tensors of the body are without `prefix`, those of a layer also
/// without its number.
pub(super) struct Plain {
    pub family: &'static str,
    pub prefix: &'static str,
    /// The list of layers.
    pub layers: &'static str,
    pub word: &'static str,
    /// The table of learned positions.
    pub position: Option<&'static str>,
    /// A norm of the embeddings.
    pub embedding_norm: Option<&'static str>,
    pub attention_norm: &'static str,
    pub qkv: QkvNames,
    pub out: &'static str,
    /// `None` where the MLP reads what attention reads.
    pub mlp_norm: Option<&'static str>,
    pub mlp: [&'static str; 2],
    pub final_norm: &'static str,
    /// The output map under the names that it may have, the usual one first.
    pub outputs: &'static [Output],
    /// Causal masks and the like that old checkpoints stored beside a layer's weights.
    pub buffers: &'static [&'static str],
    /// The key of what is added to the variance.
    pub eps: &'static str,
    /// The key of the activation, if there is one, and what it is when the file does not say.
    pub activation: (Option<&'static str>, Activation),
    /// Width of the MLP; `None` for four times that of the stream.
    pub d_mlp: fn(&Config) -> Result<Option<usize>, LoadError>,
    /// Whether norms have biases.
    pub norm_biases: bool,
    /// Token embeddings of texts of this length.
    pub embedding: fn(RowTable, usize) -> TextEmbedding,
    pub n_ctx: fn(&Config) -> Result<usize, LoadError>,
    pub is_causal: fn(&Config) -> bool,
    /// The heads of a stream of this width.
    pub heads: fn(&Config, usize) -> Result<LayerSpec, LoadError>,
    pub choices: fn(&Config, LayerSpec) -> Result<Choices, LoadError>,
}

/// Queries, keys and values.
#[derive(Clone, Copy)]
pub(super) enum QkvNames {
    Apart([&'static str; 3]),
    /// One tensor: queries, keys, values.
    Joined(&'static str),
    /// One tensor: the heads of each key and value, and those two after them.
    Interleaved(&'static str),
    /// One tensor in so many parts of equal widths, each with its queries, values and keys (`CodeGen`).
    Shards(&'static str, usize),
}

/// What a configuration chooses.
#[derive(Default)]
pub(super) struct Choices {
    /// Whether queries, keys and values have biases, the output map of attention, and the maps of the MLP.
    pub biases: [bool; 3],
    /// Limit of queries, keys and values on both sides of zero.
    pub clip: Option<f64>,
    /// Names of the norms of attention and MLP, where the configuration chooses them; as [`Plain::attention_norm`] and
    /// [`Plain::mlp_norm`].
    pub norms: Option<(&'static str, Option<&'static str>)>,
    /// Names of norms of queries and keys.
    pub qk_norms: Option<[&'static str; 2]>,
    /// Of each layer; empty for none.
    pub windows: Vec<Option<usize>>,
    pub rotary: Option<Rotary>,
    pub bias: Option<RelativeBias>,
    /// Whether attention and MLP read the same stream.
    pub parallel: bool,
    /// As [`Norms::carries`].
    pub carries: bool,
}

impl Plain {
    /// As GPT-2's successors are.
    pub const BASE: Self = Self {
        family: "",
        prefix: "transformer.",
        layers: "h",
        word: "wte",
        position: None,
        embedding_norm: None,
        attention_norm: "ln_1",
        qkv: QkvNames::Interleaved(""),
        out: "",
        mlp_norm: None,
        mlp: ["", ""],
        final_norm: "ln_f",
        outputs: &[Output::new("lm_head", false)],
        buffers: &[],
        eps: "layer_norm_epsilon",
        activation: (Some("activation_function"), Activation::GeluTanh),
        d_mlp: Config::d_mlp,
        norm_biases: true,
        embedding: TextEmbedding::tokens,
        n_ctx: Config::n_ctx,
        is_causal: Config::is_causal,
        heads,
        choices: |_, _| Ok(Choices { biases: [false, false, true], ..Choices::default() }),
    };
}

/// Heads that share the width.
pub(super) fn heads(config: &Config, d_model: usize) -> Result<LayerSpec, LoadError> {
    let n_heads = config.n_heads(d_model)?;
    Ok(LayerSpec::new(n_heads, d_model / n_heads))
}

pub(super) fn build(config: &Config, weights: &mut Weights<'_>, plain: &Plain) -> Result<Network, LoadError> {
    let d_model = config.d_model()?;
    let spec = (plain.heads)(config, d_model)?;
    let (n_vocab, n_ctx, eps) = (config.n_vocab()?, (plain.n_ctx)(config)?, config.norm_eps(plain.eps, 1e-5)?);
    let (key, default) = plain.activation;
    let activation = key.map_or(Ok(default), |key| config.activation(key, default))?;
    let d_mlp = (plain.d_mlp)(config)?.unwrap_or(4 * d_model);
    let choices = (plain.choices)(config, spec)?;
    let (causal, [qkv_bias, out_bias, mlp_bias]) = ((plain.is_causal)(config), choices.biases);
    let (attention_norm, mlp_norm) = choices.norms.unwrap_or((plain.attention_norm, plain.mlp_norm));

    let body = |part: &str| format!("{}{part}", plain.prefix);
    let anchors = [plain.word, plain.final_norm].map(|name| format!("{name}.weight"));
    weights.set_prefix(plain.prefix, &anchors.each_ref().map(String::as_str));
    let output = plain.outputs.iter().find(|output| weights.has(&format!("{}.weight", output.name)));
    let output = *output.unwrap_or(&plain.outputs[0]);
    let word = output.table(config, weights, &body(&format!("{}.weight", plain.word)), &[n_vocab, d_model])?;
    let position = plain.position.map(|name| weights.tensor(&body(name), &[n_ctx, d_model])).transpose()?;
    let norm = plain.embedding_norm.map(|name| layer_norm(weights, &body(name), d_model, eps)).transpose()?;
    let mut blocks = Vec::new();
    for layer in 0..config.n_layers()? {
        let name = |part: &str| body(&format!("{}.{layer}.{part}", plain.layers));
        let qkv = match plain.qkv {
            QkvNames::Apart(names) => {
                let [q, k, v] = names.map(name);
                qkv(weights, [&q, &k, &v], d_model, spec, [qkv_bias; 3])?
            }
            QkvNames::Joined(all) => {
                let d_out = (spec.n_heads + 2 * spec.n_kv_heads) * spec.d_head;
                map(weights, &name(all), (d_model, d_out), qkv_bias)?
            }
            QkvNames::Interleaved(all) => interleaved_qkv(weights, &name(all), d_model, spec, qkv_bias)?,
            QkvNames::Shards(all, n) => sharded_qkv(config, weights, (&name(all), n), d_model, spec)?,
        };
        let out = map(weights, &name(plain.out), (spec.n_heads * spec.d_head, d_model), out_bias)?;
        let mut head_norm = |part: &str| -> Result<HeadNorm, LoadError> {
            Ok(HeadNorm { norm: layer_norm(weights, &name(part), spec.d_head, eps)?, by_head: None })
        };
        let qk_norm = match choices.qk_norms {
            Some([q, k]) => Some(QkNorm::new(head_norm(q)?, head_norm(k)?)),
            None => None,
        };
        let window = choices.windows.get(layer).copied().flatten();
        let attention = MultiHead {
            qk_norm,
            clip: choices.clip,
            rotary: choices.rotary.is_some().then_some(0),
            ..MultiHead::plain(qkv, out, LayerSpec { window, ..spec }, causal)
        };
        let mut norm = |part: &str| -> Result<Norms, LoadError> {
            let before = Norms::pre(norm_of(weights, plain, &name(part), d_model, eps)?);
            Ok(Norms { carries: choices.carries, ..before })
        };
        let norms = norm(attention_norm)?;
        let mlp_norms = mlp_norm.map_or_else(|| Ok(norms.clone()), norm)?;
        let [up, down] = plain.mlp.map(name);
        let up = map(weights, &up, (d_model, d_mlp), mlp_bias)?;
        let mlp = Dense::plain(up, activation, map(weights, &down, (d_mlp, d_model), mlp_bias)?);
        let parallel = choices.parallel || mlp_norm.is_none();
        blocks.push(Block { parallel, ..Block::new(attention, norms, mlp, mlp_norms) });
        for buffer in plain.buffers {
            weights.skip(&name(buffer));
        }
    }
    let final_norm = Some(norm_of(weights, plain, &body(plain.final_norm), d_model, eps)?);
    let head = head(config, weights, output, &word)?;
    let position = position.map(Positions::from_zero);
    let embedding = TextEmbedding { position, norm, ..(plain.embedding)(word, n_ctx) };
    let (rotary, bias) = (choices.rotary.into_iter().collect(), choices.bias);
    let stack = Stack { rotary, bias, ..Stack::new(StackKind::SelfAttention, blocks, final_norm) };
    Ok(network(plain.family, (d_model, n_vocab), embedding, stack, head))
}

fn norm_of(weights: &mut Weights<'_>, plain: &Plain, name: &str, d: usize, eps: f32) -> Result<Norm, LoadError> {
    if plain.norm_biases {
        return layer_norm(weights, name, d, eps);
    }
    Ok(Norm { kind: NormKind::Layer, weight: weights.tensor(&format!("{name}.weight"), &[d])?, bias: None, eps })
}
