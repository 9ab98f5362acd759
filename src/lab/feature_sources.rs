//! The tokens that a feature of a sparse autoencoder is made of: what attention brings to its token from each other one,
//! along the direction that the feature reads (direct attribution by source position; Kissane et al. 2024).

use super::{
    LabError, LabRun,
    head_outputs::{add_up, by_head, head_parts},
    stream::NO_STREAM,
};
use crate::{
    analysis::{explain::dense::wide, sae::Sae},
    capture::{Capture, Matrix},
    ids::{HeadId, StackKind},
    model::{Logits, Site, Sites},
};

/// What a feature is before its activation, at one token, by the tokens that it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct FeatureSources {
    /// What heads bring from each key to the token, along the direction that the feature reads.
    pub by_token: Vec<f64>,
    /// All else: the token's own embedding, MLPs, biases.
    pub rest: f64,
}

/// The parts of a feature before its activation at a position; they add up to it.
///
/// # Errors
/// When the site is no sum of what attention brings, heads cannot be told apart, or the model cannot be run.
pub fn feature_sources(
    lab: &LabRun<'_>,
    (sae, kind): (&Sae, StackKind),
    (feature, position): (usize, usize),
    row: &[f32],
) -> Result<FeatureSources, LabError> {
    let (layers, of_stream) = match sae.site {
        Site::Z | Site::AttnOut => (sae.layer..sae.layer + 1, false),
        Site::ResidPre => (0..sae.layer, true),
        Site::ResidMid | Site::ResidPost => (0..sae.layer + 1, true),
        _ => {
            let what = "an MLP changes what attention brings in a way that is not linear, so its features have no parts by \
                token";
            return Err(LabError::unsuited(what));
        }
    };
    if of_stream && !lab.model.is_additive(kind) {
        let what = "its layers norm the stream that they add to, so that what they add is not kept as it is";
        return Err(LabError::unsuited(what));
    }
    let capture = lab.run(Sites::of(&[Site::Pattern, Site::V, Site::Z, Site::AttnOut]), Logits::Skip)?;
    let reading = sae.reading(feature, row);
    let n_keys = capture.key_tokens(kind).len();
    let mut by_token = vec![0.0f64; n_keys];
    for layer in layers {
        let read = head_readings(lab, &capture, (kind, layer), (&reading.direction, sae.site, position))?;
        for (head, direction) in read.iter().enumerate() {
            let id = HeadId { stack: kind, layer, head };
            add_head(&capture, (id, position), direction, &mut by_token)?;
        }
    }
    let brought: f64 = by_token.iter().sum();
    Ok(FeatureSources { by_token, rest: reading.value - brought })
}

/// What each head's `z` is read by, `[heads][d_head]`: through the output map, but for a dictionary of `z` itself.
fn head_readings(
    lab: &LabRun<'_>,
    capture: &Capture,
    (kind, layer): (StackKind, usize),
    (direction, site, position): (&[f64], Site, usize),
) -> Result<Vec<Vec<f64>>, LabError> {
    let missing = || LabError::unsuited(NO_STREAM);
    let recorded = capture.stack(kind).and_then(|stack| stack.layers.get(layer)).ok_or_else(missing)?;
    let z = recorded.z().ok_or_else(missing)?;
    let [n_heads, _, d_head] = z.shape();
    if site == Site::Z {
        return Ok(direction.chunks(d_head.max(1)).map(<[f64]>::to_vec).collect());
    }
    let undivided = || {
        LabError::unsuited(format!(
            "attention of layer {layer} is normalised or gated before it is added, or was changed, so its heads cannot be \
             told apart"
        ))
    };
    let map = lab.model.attention_output(kind, layer)?.ok_or_else(undivided)?;
    let bias = map.bias.as_deref().map(wide).unwrap_or_default();
    let heads = by_head(&map, n_heads)?;
    let out = recorded.rows(Site::AttnOut).and_then(|rows| rows.row(position)).ok_or_else(missing)?;
    let parts = head_parts(z, &heads, position);
    if !add_up(parts.iter().map(Vec::as_slice).chain([&bias[..]]), out) {
        return Err(undivided());
    }
    let product = |row: &[f32]| -> f64 { row.iter().zip(direction).map(|(weight, d)| f64::from(*weight) * d).sum() };
    let of_head = |head: usize| heads.head(head).iter().flat_map(Matrix::rows).map(product).collect();
    Ok((0..n_heads).map(of_head).collect())
}

/// Adds what a head brings from each key.
fn add_head(
    capture: &Capture,
    (head, position): (HeadId, usize),
    direction: &[f64],
    by_token: &mut [f64],
) -> Result<(), LabError> {
    let missing = || LabError::unsuited(NO_STREAM);
    let pattern = capture.stored_pattern(head).ok_or_else(missing)?;
    let values = capture.v(head).ok_or_else(missing)?;
    let z = capture.layer(head).and_then(|layer| layer.z()).and_then(|z| z.head(head.head)).ok_or_else(missing)?;
    let weights = pattern.row(position).ok_or_else(missing)?;
    let mut mixed = vec![0.0f64; values.n_cols()];
    for ((weight, value), brought) in weights.iter().zip(values.rows()).zip(by_token) {
        let read: f64 = value.iter().zip(direction).map(|(value, d)| f64::from(*value) * d).sum();
        *brought += f64::from(*weight) * read;
        mixed.iter_mut().zip(value).for_each(|(sum, value)| *sum += f64::from(*weight) * f64::from(*value));
    }
    let own = z.row(position).ok_or_else(missing)?;
    if add_up([&mixed[..]].into_iter(), own) {
        Ok(())
    } else {
        Err(LabError::unsuited(format!(
            "what {head} gives on is not the mean of values by its weights, as it was changed"
        )))
    }
}
