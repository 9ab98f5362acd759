//! MPNet: BERT with RoBERTa's positions and a bias for the distance that all layers share.

use super::{
    Activation, BOS, BlockNames, Config, Convention, EOS, Family, HeadNames, LoadError, Network, PAD, RelativeBias,
    Sizes, Stack, StackKind, TokenizerClass, Weights, blocks, count_from, embedding, encoder::head, network,
};

pub(super) const FAMILIES: &[Family] = &[Family {
    ids: &[(BOS, 0), (EOS, 2), (PAD, 1)],
    tokenizer: TokenizerClass::class(Convention::MpNet),
    ..Family::encoder("mpnet", build)
}];

const BLOCK: BlockNames = BlockNames {
    qkv: ["attention.attn.q", "attention.attn.k", "attention.attn.v"],
    out: "attention.attn.o",
    attention_norm: "attention.LayerNorm",
    mlp: ["intermediate.dense", "output.dense"],
    mlp_norm: "output.LayerNorm",
};

/// Fixed in the original, whatever the configuration says.
const PADDING: u32 = 1;
const N_BUCKETS: usize = 32;
const MAX_DISTANCE: usize = 128;

pub(super) fn build(config: &Config, weights: &mut Weights<'_>) -> Result<Network, LoadError> {
    let mut sizes = Sizes::both_ways(config, Activation::Gelu)?;
    sizes.spec.biased = true;
    weights.set_prefix("mpnet.", &["embeddings.word_embeddings.weight", "embeddings.position_embeddings.weight"]);
    let names = HeadNames {
        dense: "lm_head.dense",
        activation: Activation::Gelu,
        norm: "lm_head.layer_norm",
        decoder: Some("lm_head.decoder"),
        bias: "lm_head.bias",
        pooler: "classifier.dense",
        pooled: Activation::Tanh,
        classifier: "classifier.out_proj",
    };
    let embedding = embedding(config, weights, &sizes, "mpnet.embeddings", names.decoder, false)?;
    let embedding = count_from(config, PADDING, embedding)?;
    let n_heads = sizes.spec.n_heads;
    let n_rows = config.optional_size(&["relative_attention_num_buckets"], 1 << 16)?.unwrap_or(N_BUCKETS);
    if n_rows < N_BUCKETS {
        return Err(config.error(format!("{n_rows} relative_attention_num_buckets are fewer than {N_BUCKETS}")));
    }
    let table = weights.tensor("mpnet.encoder.relative_attention_bias.weight", &[n_rows, n_heads])?;
    // Distances share this many rows, however many there are.
    let table = table.narrow(0, 0, N_BUCKETS)?;
    let bias = RelativeBias::Buckets {
        table: table.flatten_all()?.to_vec1()?,
        n_heads,
        bidirectional: true,
        max_distance: MAX_DISTANCE,
    };
    let blocks = blocks(weights, &sizes, "mpnet.encoder.layer", &BLOCK)?;
    let head = head(config, weights, &sizes, &names, embedding.word.rows()?)?;
    let stack = Stack { bias: Some(bias), ..Stack::new(StackKind::SelfAttention, blocks, None) };
    Ok(network("mpnet", (sizes.d_model, sizes.n_vocab), embedding, stack, head))
}
