//! ESM-2, and ESM-1b with absolute positions: BERT of amino acids with norms before attention and MLP.

use super::{
    Activation, BERT_BLOCK, Block, Config, Convention, EOS, Family, HeadNames, LoadError, Longer, MultiHead, Network,
    Norms, Positions, Rotary, Sizes, Stack, StackKind, TextEmbedding, TokenizerClass, Weights, config_keys, count_from,
    encoder::head, encoder::word_table, layer_norm, linear, mlp, network, qkv,
};
use crate::analysis::explain::contacts::ContactMap;

/// The token that ends a sequence.
const END: u32 = 2;

pub(super) const FAMILIES: &[Family] = &[Family {
    classes: &["Esm"],
    // Of models that fold, which are refused.
    harmless: &[config_keys::CAUSALITY, &["esmfold_config", "rope_theta", "vocab_list"]],
    limits: &[config_keys::NO_CROSS, config_keys::HEAD_WIDTH, &[("is_folding_model", &["false"])]],
    ids: &[(EOS, END)],
    tokenizer: TokenizerClass::class(Convention::Esm),
    ..Family::encoder("esm", build)
}];

const NAMES: HeadNames = HeadNames {
    dense: "lm_head.dense",
    activation: Activation::Gelu,
    norm: "lm_head.layer_norm",
    decoder: Some("lm_head.decoder"),
    bias: "lm_head.bias",
    pooler: "classifier.dense",
    pooled: Activation::Tanh,
    classifier: "classifier.out_proj",
};

fn build(config: &Config, weights: &mut Weights<'_>) -> Result<Network, LoadError> {
    let eps = config.norm_eps("layer_norm_eps", 1e-12)?;
    let sizes = Sizes {
        causal: config.flag("is_decoder", false) && config.is_causal(),
        ..Sizes::of(config, eps, Activation::Gelu)?
    };
    weights.set_prefix("esm.", &["embeddings.word_embeddings.weight"]);
    let rotary = match config.text(&["position_embedding_type"]).unwrap_or("absolute") {
        "absolute" => None,
        "rotary" => Some(rotary(config, weights, &sizes)?),
        other => {
            let what = format!("position_embedding_type “{other}” is not supported, only “absolute” and “rotary”");
            return Err(config.unsupported(what));
        }
    };
    let embedding = embedding(config, weights, &sizes, rotary.is_some())?;
    let turned = rotary.is_some().then_some(0);
    let blocks = (0..sizes.n_layers).map(|layer| block(weights, &sizes, layer, turned)).collect::<Result<_, _>>()?;
    let final_norm = layer_norm(weights, "esm.encoder.emb_layer_norm_after", sizes.d_model, eps)?;
    let head = head(config, weights, &sizes, &NAMES, embedding.word.rows()?)?;
    let rotary = rotary.into_iter().collect();
    let contacts = contacts(weights, &sizes)?;
    let stack = Stack { rotary, contacts, ..Stack::new(StackKind::SelfAttention, blocks, Some(final_norm)) };
    Ok(network("esm", (sizes.d_model, sizes.n_vocab), embedding, stack, head))
}

/// The regression over the maps of all heads, where the file has one.
fn contacts(weights: &mut Weights<'_>, sizes: &Sizes) -> Result<Option<ContactMap>, LoadError> {
    let name = |part: &str| format!("esm.contact_head.regression.{part}");
    if !weights.has(&name("weight")) {
        return Ok(None);
    }
    let n_maps = sizes.n_layers * sizes.spec.n_heads;
    let factors = weights.tensor(&name("weight"), &[1, n_maps])?.flatten_all()?.to_vec1()?;
    let bias = weights.tensor(&name("bias"), &[1])?.flatten_all()?.to_vec1()?;
    // The class takes its own end, whatever the file says.
    Ok(Some(ContactMap { weights: factors, bias: bias.first().copied().unwrap_or(0.0), end: END }))
}

/// The frequencies that the file has, which may be those of half precision in which the model was trained; older files
/// have them in each layer.
fn rotary(config: &Config, weights: &mut Weights<'_>, sizes: &Sizes) -> Result<Rotary, LoadError> {
    let d_head = sizes.spec.d_head;
    if !d_head.is_multiple_of(2) {
        return Err(config.unsupported(format!("an odd number of rotated dimensions ({d_head}) is not supported")));
    }
    let of_layer = |layer: &str| format!("esm.encoder.layer.{layer}.attention.self.rotary_embeddings.inv_freq");
    // Version 5 of the library saves the pattern of the older names for a name.
    let names = ["esm.rotary_embeddings.inv_freq".to_owned(), of_layer("*"), of_layer("0")];
    let stored = names.into_iter().find(|name| weights.has(name));
    let theta = config.number(&["rope_theta"])?.unwrap_or(10_000.0);
    if theta <= 0.0 {
        return Err(config.error(format!("its rope_theta is {theta}")));
    }
    let computed = Rotary::new(theta, d_head);
    let Some(stored) = stored else { return Ok(computed) };
    let frequencies = weights.tensor(&stored, &[d_head / 2])?.flatten_all()?.to_vec1()?;
    (0..sizes.n_layers).for_each(|layer| weights.skip(&of_layer(&layer.to_string())));
    Ok(Rotary { frequencies, ..computed })
}

fn embedding(
    config: &Config,
    weights: &mut Weights<'_>,
    sizes: &Sizes,
    is_rotary: bool,
) -> Result<TextEmbedding, LoadError> {
    let &Sizes { d_model, n_vocab, n_positions, eps, .. } = sizes;
    let name = |part: &str| format!("esm.embeddings.{part}");
    let word = word_table(config, weights, &name("word_embeddings.weight"), NAMES.decoder);
    let word = weights.table(&word, &[n_vocab, d_model])?;
    weights.skip(&name("position_ids"));
    let position = name("position_embeddings.weight");
    let norm = config.flag("emb_layer_norm_before", false);
    let norm = norm.then(|| layer_norm(weights, &name("layer_norm"), d_model, eps)).transpose()?;
    let mut embedding = TextEmbedding { norm, ..TextEmbedding::tokens(word, n_positions) };
    if config.flag("token_dropout", false) {
        let masked = config.token("mask_token_id");
        let missing = || config.error("token_dropout is true, but no mask_token_id says which token is dropped");
        embedding.dropped = Some(masked.ok_or_else(missing)?);
    }
    if is_rotary {
        // Transformers leaves a table unread that old files have.
        weights.skip(&position);
        return Ok(TextEmbedding { longer: Longer::Read, ..embedding });
    }
    let padding = config.token("pad_token_id");
    let padding =
        padding.ok_or_else(|| config.error("positions are counted past the padding, but it has no pad_token_id"))?;
    embedding.position = Some(Positions::from_zero(weights.tensor(&position, &[n_positions, d_model])?));
    count_from(config, padding, embedding)
}

fn block(weights: &mut Weights<'_>, sizes: &Sizes, layer: usize, rotary: Option<usize>) -> Result<Block, LoadError> {
    let &Sizes { d_model, d_mlp, eps, activation, spec, causal, .. } = sizes;
    let name = |part: &str| format!("esm.encoder.layer.{layer}.{part}");
    let [q, k, v] = BERT_BLOCK.qkv.map(name);
    let qkv = qkv(weights, [&q, &k, &v], d_model, spec, [true; 3])?;
    let out = linear(weights, &name(BERT_BLOCK.out), d_model, d_model)?;
    let [up, down] = BERT_BLOCK.mlp.map(name);
    Ok(Block::new(
        MultiHead { rotary, ..MultiHead::plain(qkv, out, spec, causal) },
        Norms::pre(layer_norm(weights, &name("attention.LayerNorm"), d_model, eps)?),
        mlp(weights, [&up, &down], (d_model, d_mlp), activation)?,
        Norms::pre(layer_norm(weights, &name("LayerNorm"), d_model, eps)?),
    ))
}
