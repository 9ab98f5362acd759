//! Pointer networks, as `examples/train_pointer.py` writes them.

use candle_core::{DType, Tensor};

use super::{
    Body, Config, Family, FamilyGroup, Head, LayerSpec, Linear, LoadError, Modality, Network, TextEmbedding, TextSpec,
    Weights, linear,
    rnnsearch::{MAX, additive, gru},
};
use crate::model::network::pointer::Pointer;

pub(super) const FAMILIES: &[Family] = &[Family::new("pointer", FamilyGroup::EncoderDecoder, build)];

/// A value has a component for each token.
const MAX_VOCABULARY: usize = 1 << 12;

pub(super) fn build(config: &Config, weights: &mut Weights<'_>) -> Result<Network, LoadError> {
    let (n_vocab, n_ctx) = (config.n_vocab()?, config.n_ctx()?);
    if n_vocab > MAX_VOCABULARY {
        return Err(config.unsupported(format!("a vocabulary of more than {MAX_VOCABULARY} is not supported")));
    }
    let d_word = config.size(&["embedding_size"], MAX)?;
    let d_half = config.size(&["encoder_hidden_size"], MAX)?;
    let d_state = config.size(&["hidden_size"], MAX)?;
    let d_hidden = config.size(&["attention_size"], MAX)?;
    let word = weights.table("embed.weight", &[n_vocab, d_word])?;
    // What the attention says is passed on as it is.
    let head = Head::next_token(Linear::new(Tensor::eye(n_vocab, DType::F32, word.device())?, None)?);
    let pointer = Pointer {
        words: TextEmbedding::tokens(word, n_ctx),
        forward: gru(weights, "encoder.forward", (d_word, d_half))?,
        backward: gru(weights, "encoder.backward", (d_word, d_half))?,
        bridge: linear(weights, "bridge", d_half, d_state)?,
        writer: gru(weights, "decoder", (d_word, d_state))?,
        score: additive(weights, (d_state, 2 * d_half, d_hidden))?,
        spec: LayerSpec { scale: 1.0, ..LayerSpec::new(1, n_vocab) },
    };
    let text = TextSpec::new(n_ctx, n_vocab);
    let modality = Modality::TextToText { source: text, target: text };
    let body = Body::Recurrent(Box::new(pointer));
    Ok(Network { family: "pointer", modality, d_model: n_vocab, body, head: Some(head) })
}
