//! TrOCR's decoder: BART's, in a file of its own. It only comes inside a vision–encoder–decoder.

use super::{
    BOS, Body, Config, Convention, EOS, Embedding, Family, Head, LoadError, Modality, Network, PAD, START, StackKind,
    TokenizerClass, Weights, bart::Dialect, bart::PositionKind, bart::Reach, bart::tower, config_keys, family::Build,
    table_name, vocabulary_map,
};

pub(super) const FAMILIES: &[Family] = &[Family {
    model_type: "trocr",
    build: Some(Build::Own(build)),
    limits: &[config_keys::CAUSAL],
    aliases: &[
        ("hidden_size", "d_model"),
        ("num_attention_heads", "decoder_attention_heads"),
        ("num_hidden_layers", "decoder_layers"),
    ],
    ids: &[(BOS, 0), (EOS, 2), (PAD, 1), (START, 2)],
    tokenizer: TokenizerClass::class(Convention::XlmRoberta).alone(Convention::Roberta),
    ..Family::BASE
}];

const OUTPUT: &str = "output_projection.weight";

pub(super) fn build(config: &Config, weights: &mut Weights<'_>) -> Result<Network, LoadError> {
    let (d_model, n_vocab) = (config.d_model()?, config.n_vocab()?);
    let padding = config.token_ids("pad_token_id").first().copied().unwrap_or(1);
    // Positions are counted from it, and a table of them is computed.
    if padding as usize >= n_vocab {
        return Err(config.error(format!("its pad_token_id is {padding}, and its vocabulary has {n_vocab} entries")));
    }
    let learned = config.flag("use_learned_position_embeddings", true);
    let dialect = Dialect {
        family: "trocr",
        prefix: "model.",
        norm_before: false,
        embedding_norm: config.flag("layernorm_embedding", true),
        final_norm: false,
        positions: if learned { PositionKind::Learned } else { PositionKind::Fairseq { padding } },
        reach: Reach::All,
    };
    weights.set_prefix("model.", &["decoder.layers.0.fc1.weight"]);
    let word = table_name(config, weights, ["model.decoder.embed_tokens.weight", OUTPUT], true);
    let word = weights.table(&word, &[n_vocab, d_model])?;
    let tower = tower(config, weights, &dialect, StackKind::Decoder, word.clone())?;
    let head = vocabulary_map(config, weights, OUTPUT, &word, None)?.map(Head::next_token);
    let Embedding::Text(embedding) = &tower.embedding else { return Err(config.error("it reads pictures")) };
    let modality = Modality::Text(embedding.spec(n_vocab));
    Ok(Network { family: dialect.family, modality, d_model, body: Body::Single(tower), head })
}
