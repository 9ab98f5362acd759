//! Recurrent translators with attention and without, as `examples/train_classic.py` writes them.

use super::{
    Body, Config, Family, FamilyGroup, Head, LayerSpec, Linear, LoadError, Modality, Network, Stored, TextEmbedding,
    TextSpec, Weights, linear,
};
use crate::model::network::{
    cell::Gru,
    recurrent::{Additive, Recurrent, Score},
};

pub(super) const FAMILIES: &[Family] = &[Family::new("rnnsearch", FamilyGroup::EncoderDecoder, build)];

pub(super) const MAX: usize = 1 << 16;

pub(super) fn build(config: &Config, weights: &mut Weights<'_>) -> Result<Network, LoadError> {
    let (n_vocab, n_ctx) = (config.n_vocab()?, config.n_ctx()?);
    let d_word = config.size(&["embedding_size"], MAX)?;
    let d_half = config.size(&["encoder_hidden_size"], MAX)?;
    let d_state = config.size(&["hidden_size"], MAX)?;
    let d_key = 2 * d_half;
    let word = weights.table("embed.weight", &[n_vocab, d_word])?;
    let head = Head::next_token(Linear::tied(&word, Some(weights.tensor("output.bias", &[n_vocab])?))?);
    let score = match config.text(&["attention_score"]) {
        Some("additive") => {
            let d_hidden = config.size(&["attention_size"], MAX)?;
            Score::Additive(additive(weights, (d_state, d_key, d_hidden))?)
        }
        Some("mlp") => {
            let d_hidden = config.size(&["attention_size"], MAX)?;
            let hidden = Some(linear(weights, "attention.hidden", d_hidden, d_hidden)?);
            Score::Additive(Additive { hidden, ..additive(weights, (d_state, d_key, d_hidden))? })
        }
        Some("bilinear") => {
            Score::Bilinear { query: weights.linear(&["attention.query"], (d_state, d_key), Stored::OutIn, false)? }
        }
        Some("dot") if d_state == d_key => Score::Dot,
        Some("dot") => {
            let widths = format!("states of width {d_state} and {d_key} have no dot product");
            return Err(config.error(widths));
        }
        Some("none") => Score::Fixed,
        other => {
            let score = other.unwrap_or("missing");
            return Err(
                config.error(format!("its attention_score is {score}, not additive, mlp, dot, bilinear or none"))
            );
        }
    };
    let fixed = matches!(score, Score::Fixed);
    let shape = if fixed { LayerSpec::new(2, d_half) } else { LayerSpec::new(1, d_key) };
    let recurrent = Recurrent {
        words: TextEmbedding::tokens(word, n_ctx),
        forward: gru(weights, "encoder.forward", (d_word, d_half))?,
        backward: gru(weights, "encoder.backward", (d_word, d_half))?,
        bridge: linear(weights, "bridge", d_half, d_state)?,
        score,
        writer: gru(weights, "decoder", (d_word + d_key, d_state))?,
        readout: linear(weights, "readout", d_state + d_key + d_word, d_word)?,
        spec: LayerSpec { scale: 1.0, fixed, ..shape },
    };
    let text = TextSpec::new(n_ctx, n_vocab);
    let modality = Modality::TextToText { source: text, target: text };
    let body = Body::Recurrent(Box::new(recurrent));
    Ok(Network { family: "rnnsearch", modality, d_model: d_state, body, head: Some(head) })
}

/// Additive attention of a state to keys, through a hidden layer.
pub(super) fn additive(
    weights: &mut Weights<'_>,
    (d_state, d_key, d_hidden): (usize, usize, usize),
) -> Result<Additive, LoadError> {
    Ok(Additive {
        query: weights.linear(&["attention.query"], (d_state, d_hidden), Stored::OutIn, false)?,
        key: linear(weights, "attention.key", d_key, d_hidden)?,
        hidden: None,
        energy: weights.linear(&["attention.energy"], (d_hidden, 1), Stored::OutIn, false)?,
    })
}

pub(super) fn gru(weights: &mut Weights<'_>, name: &str, (d_in, d_state): (usize, usize)) -> Result<Gru, LoadError> {
    Ok(Gru {
        input: linear(weights, &format!("{name}.input"), d_in, 3 * d_state)?,
        state: linear(weights, &format!("{name}.state"), d_state, 3 * d_state)?,
    })
}
