//! BERT with rotary positions in place of a table: Nomic BERT, GTE and Jina embeddings 3.

use serde_json::json;

use super::{
    Activation, BOS, Block, Config, Convention, Dense, EOS, Family, HeadNames, LayerSpec, LinearPart, LoadError,
    MultiHead, Network, Norms, PAD, Sizes, Stack, StackKind, Stored, TextEmbedding, TokenizerClass, Weights,
    config_keys, encoder::head, encoder::word_table, layer_norm, linear, map, network, qkv, variant::one_rotary,
};

pub(super) const FAMILIES: &[Family] = &[
    Family {
        harmless: HARMLESS,
        ids: &[(PAD, 0)],
        tokenizer: TokenizerClass::class(Convention::Bert),
        ..Family::encoder("nomic_bert", |config, weights| build(config, weights, &NOMIC))
    },
    Family {
        harmless: HARMLESS,
        ids: &[(PAD, 1)],
        tokenizer: TokenizerClass::class(Convention::XlmRoberta),
        ..Family::encoder("gte", |config, weights| build(config, weights, &GTE))
    },
    Family {
        harmless: HARMLESS,
        ids: &[(BOS, 0), (EOS, 2), (PAD, 1)],
        tokenizer: TokenizerClass::class(Convention::XlmRoberta),
        ..Family::encoder("jina_embeddings_v3", |config, weights| build(config, weights, &JINA))
    },
];

const HARMLESS: &[&[&str]] = &[config_keys::CAUSALITY, config_keys::BESIDE_ROTARY];

/// What sets one of the families apart.
struct RotaryBert {
    family: &'static str,
    /// Whether attention and the last map of the MLP have biases.
    biased: bool,
    gated: bool,
    activation: Activation,
    /// What is added to a variance when the file does not say.
    eps: f32,
    /// Whether the head's activation is that of the MLP.
    same_activation: bool,
    names: TensorNames,
}

/// What tensors are called, and in files from before transformers had the class.
struct TensorNames {
    prefix: &'static str,
    head: HeadNames,
    old_layers: &'static str,
    old: LayerNames,
}

/// What the parts of a layer are called where `q_proj`, `k_proj` and `v_proj` are one tensor.
struct LayerNames {
    qkv: &'static str,
    out: &'static str,
    /// What the MLP's tensors begin with, the map with the gate second; `None` where they have their newer names.
    up: Option<[&'static str; 2]>,
    down: &'static str,
    norms: [&'static str; 2],
}

const NOMIC: RotaryBert = RotaryBert {
    family: "nomic_bert",
    biased: false,
    gated: true,
    activation: Activation::Silu,
    eps: 1e-12,
    same_activation: true,
    names: TensorNames {
        prefix: "nomic_bert.",
        head: HeadNames {
            dense: "cls.predictions.transform.dense",
            activation: Activation::Silu,
            norm: "cls.predictions.transform.layer_norm",
            decoder: Some("cls.predictions.decoder"),
            bias: "cls.predictions.bias",
            pooler: "nomic_bert.pooler.dense",
            pooled: Activation::Tanh,
            classifier: "classifier",
        },
        old_layers: "encoder.layers",
        old: LayerNames {
            qkv: "attn.Wqkv",
            out: "attn.out_proj",
            up: Some(["mlp.fc11", "mlp.fc12"]),
            down: "mlp.fc2",
            norms: ["norm1", "norm2"],
        },
    },
};
const GTE: RotaryBert = RotaryBert {
    family: "gte",
    biased: true,
    activation: Activation::Gelu,
    same_activation: false,
    names: TensorNames {
        prefix: "gte.",
        head: HeadNames {
            dense: "lm_head.dense",
            activation: Activation::Gelu,
            norm: "lm_head.layer_norm",
            decoder: Some("lm_head.decoder"),
            bias: "lm_head.bias",
            pooler: "gte.pooler.dense",
            ..NOMIC.names.head
        },
        old_layers: "encoder.layer",
        old: LayerNames {
            qkv: "attention.qkv_proj",
            out: "attention.o_proj",
            up: Some(["mlp.up_gate_proj"; 2]),
            down: "mlp.down_proj",
            norms: ["attn_ln", "mlp_ln"],
        },
    },
    ..NOMIC
};
const JINA: RotaryBert = RotaryBert {
    family: "jina_embeddings_v3",
    gated: false,
    eps: 1e-5,
    names: TensorNames {
        prefix: "roberta.",
        head: HeadNames { pooler: "classifier.dense", classifier: "classifier.out_proj", ..GTE.names.head },
        old_layers: "encoder.layers",
        old: LayerNames { qkv: "mixer.Wqkv", out: "mixer.out_proj", up: None, ..NOMIC.names.old },
    },
    ..GTE
};

/// The class's own sizes, which published files leave to it or say under other names, and its base of angles.
fn with_defaults(config: &Config, family: &RotaryBert) -> Config {
    config.or(&match family.family {
        "nomic_bert" => json!({
            "vocab_size": 30_528, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
            "intermediate_size": 3072, "max_position_embeddings": 2048, "type_vocab_size": 2, "rope_theta": 1000.0,
        }),
        "gte" => json!({
            "vocab_size": 250_048, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
            "intermediate_size": 3072, "max_position_embeddings": 8192, "type_vocab_size": 1, "rope_theta": 160_000.0,
        }),
        _ => json!({
            "vocab_size": 250_002, "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16,
            "intermediate_size": 4096, "max_position_embeddings": 8194, "type_vocab_size": 1, "rope_theta": 20_000.0,
        }),
    })
}

fn build(config: &Config, weights: &mut Weights<'_>, family: &RotaryBert) -> Result<Network, LoadError> {
    let config = &with_defaults(config, family);
    let eps = config.norm_eps("layer_norm_eps", family.eps)?;
    let activation = config.activation("hidden_act", family.activation)?;
    let mut sizes = Sizes::of(config, eps, activation)?;
    let (n_heads, d_head) = config.heads(sizes.d_model)?;
    sizes.spec = LayerSpec::new(n_heads, d_head);
    let names = &family.names;
    weights.set_prefix(names.prefix, &["embeddings.word_embeddings.weight"]);
    let is_old = weights.has(&format!("{}{}.0.{}.weight", names.prefix, names.old_layers, names.old.norms[0]));
    let embedding = embedding(config, weights, &sizes, family)?;
    let layers = format!("{}{}", names.prefix, if is_old { names.old_layers } else { "layers" });
    let block = |layer: usize| block(weights, &sizes, family, &format!("{layers}.{layer}"), is_old);
    let blocks = (0..sizes.n_layers).map(block).collect::<Result<Vec<_>, _>>()?;
    let activation = if family.same_activation { activation } else { names.head.activation };
    // GTE's older files call the norm of the head otherwise.
    let norm = ["lm_head.norm", names.head.norm].into_iter().find(|name| weights.has(&format!("{name}.weight")));
    let head_names = HeadNames { activation, norm: norm.unwrap_or(names.head.norm), ..names.head };
    let head = head(config, weights, &sizes, &head_names, embedding.word.rows()?)?;
    let rotary = one_rotary(config, d_head, None).into_iter().collect::<Result<_, _>>()?;
    let stack = Stack { rotary, ..Stack::new(StackKind::SelfAttention, blocks, None) };
    Ok(network(family.family, (sizes.d_model, sizes.n_vocab), embedding, stack, head))
}

fn embedding(
    config: &Config,
    weights: &mut Weights<'_>,
    sizes: &Sizes,
    family: &RotaryBert,
) -> Result<TextEmbedding, LoadError> {
    let &Sizes { d_model, n_vocab, n_positions, eps, .. } = sizes;
    let name = |part: &str| format!("{}{part}", family.names.prefix);
    let word = word_table(config, weights, &name("embeddings.word_embeddings.weight"), family.names.head.decoder);
    let word = weights.table(&word, &[n_vocab, d_model])?;
    let n_segments = config.number(&["type_vocab_size"])?.unwrap_or(0.0).clamp(0.0, 1e6) as usize;
    let table = name("embeddings.token_type_embeddings.weight");
    // A class without segments has none, and leaves it to the file to say so.
    let segment = (n_segments > 0).then(|| weights.tensor(&table, &[n_segments, d_model])).transpose()?;
    for part in ["embeddings.position_ids", "embeddings.token_type_ids"] {
        weights.skip(&name(part));
    }
    let norm = [name("emb_ln"), name("embeddings.LayerNorm")];
    let norm = &norm[usize::from(!weights.has(&format!("{}.weight", norm[0])))];
    let norm = Some(layer_norm(weights, norm, d_model, eps)?);
    Ok(TextEmbedding { segment, norm, ..TextEmbedding::unending(word, n_positions) })
}

/// The post-norm block under `name`, whose tensors have older names or not.
fn block(
    weights: &mut Weights<'_>,
    sizes: &Sizes,
    family: &RotaryBert,
    name: &str,
    is_old: bool,
) -> Result<Block, LoadError> {
    let &Sizes { d_model, d_mlp, eps, activation, spec, .. } = sizes;
    let RotaryBert { biased, gated, names: TensorNames { old, .. }, .. } = family;
    let (biased, wide) = (*biased, spec.n_heads * spec.d_head);
    let name = |part: &str| format!("{name}.{part}");
    let (qkv, out) = if is_old {
        let qkv = map(weights, &name(old.qkv), (d_model, 3 * wide), biased)?;
        (qkv, map(weights, &name(old.out), (wide, d_model), biased)?)
    } else {
        let [q, k, v] = ["q_proj", "k_proj", "v_proj"].map(|part| name(&format!("self_attn.{part}")));
        let qkv = qkv(weights, [&q, &k, &v], d_model, spec, [biased; 3])?;
        (qkv, map(weights, &name("self_attn.o_proj"), (wide, d_model), biased)?)
    };
    let mlp = if *gated {
        let up = match old.up.filter(|_| is_old) {
            Some([up, gate]) if up == gate => {
                // One tensor, with the gate behind.
                let order: Vec<usize> = (d_mlp..2 * d_mlp).chain(0..d_mlp).collect();
                let part = LinearPart { name: &name(up), d_out: 2 * d_mlp, bias: false };
                weights.linear_of(&[part], d_model, Stored::OutIn, Some(&order))?
            }
            parts => {
                let [up, gate] = parts.unwrap_or(["mlp.up_proj", "mlp.gate_proj"]).map(name);
                let part = |name| LinearPart { name, d_out: d_mlp, bias: false };
                weights.linear_of(&[part(&gate), part(&up)], d_model, Stored::OutIn, None)?
            }
        };
        let down = map(weights, &name(if is_old { old.down } else { "mlp.down_proj" }), (d_mlp, d_model), biased)?;
        Dense { up, activation, gated: true, down }
    } else {
        let up = linear(weights, &name("mlp.fc1"), d_model, d_mlp)?;
        Dense::plain(up, activation, linear(weights, &name("mlp.fc2"), d_mlp, d_model)?)
    };
    let norms = if is_old { old.norms } else { ["post_attention_layernorm", "post_mlp_layernorm"] };
    let mut norm = |part: &str| Ok::<_, LoadError>(Norms::post(layer_norm(weights, &name(part), d_model, eps)?));
    let (after, after_mlp) = (norm(norms[0])?, norm(norms[1])?);
    Ok(Block::new(MultiHead { rotary: Some(0), ..MultiHead::plain(qkv, out, spec, false) }, after, mlp, after_mlp))
}
