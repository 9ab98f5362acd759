//! Whether recordings fit the model and the tokens.

use std::collections::BTreeMap;

use super::{CaptureParts, ShapeError, Site, StackCapture, bias::expected_shape};
use crate::ids::{Side, StackKind};

fn lengths(parts: &CaptureParts, kind: StackKind) -> (usize, usize) {
    let len = |side| parts.tokens.get(&side).map_or(0, Vec::len);
    (len(kind.query_side()), len(kind.key_side()))
}

pub(super) fn misfit(name: &str, shape: &[usize], expected: &[usize], actual: usize) -> ShapeError {
    ShapeError { what: format!("{name} has the shape {shape:?}"), expected: expected.to_vec(), actual }
}

/// Every recording of a stack has the shape that the model and the tokens imply.
pub(super) fn stack(parts: &CaptureParts, stack: &StackCapture) -> Result<(), ShapeError> {
    let (n_query, n_key) = lengths(parts, stack.kind);
    let spec = parts.model.stack(stack.kind);
    let in_order = stack.global.windows(2).all(|pair| pair[0] < pair[1]);
    if !in_order || stack.global.last().is_some_and(|last| *last >= n_query || n_query != n_key) {
        return Err(misfit(&format!("{}.global", stack.kind), &stack.global, &[n_query], stack.global.len()));
    }
    // Towers may have widths of their own; within one, each kind of stream has one.
    let mut widths = BTreeMap::new();
    let mut check_rows = |site: Site, layer: usize, stream: Site| {
        let Some(data) = stack.rows(site, layer) else { return Ok(()) };
        let expected = [n_query, *widths.entry(stream).or_insert(data.n_cols())];
        if data.shape() == expected {
            return Ok(());
        }
        let layer = if site.is_of_layer() { format!(".{layer}") } else { String::new() };
        let name = format!("{}{layer}.{}", stack.kind, site.name());
        Err(misfit(&name, &data.shape(), &expected, data.as_slice().len()))
    };
    for (layer_idx, layer) in stack.layers.iter().enumerate() {
        let Some(spec) = spec.and_then(|spec| spec.layers.get(layer_idx)) else {
            return Err(ShapeError {
                what: format!("{}.{layer_idx}", stack.kind),
                expected: vec![spec.map_or(0, |spec| spec.layers.len())],
                actual: stack.layers.len(),
            });
        };
        let (h, kv, d) = (spec.n_heads, spec.n_kv_heads, spec.d_head);
        let bias = layer.bias.as_ref().map_or([0; 3], |bias| expected_shape(bias, h, [n_query, n_key]));
        for (site, data, expected) in [
            ("bias", &layer.bias, bias),
            ("q", &layer.q, [h, n_query, d]),
            ("k", &layer.k, [kv, n_key, d]),
            ("v", &layer.v, [kv, n_key, d]),
            ("k_global", &layer.k_global, [h, n_key, d]),
            ("v_global", &layer.v_global, [h, n_key, d]),
            ("scores", &layer.scores, [h, n_query, n_key]),
            ("pattern", &layer.pattern, [h, n_query, n_key]),
            ("z", &layer.z, [h, n_query, d]),
        ] {
            if let Some(data) = data.as_ref().filter(|data| data.shape() != expected) {
                let name = format!("{}.{layer_idx}.{site}", stack.kind);
                return Err(misfit(&name, &data.shape(), &expected, data.as_slice().len()));
            }
        }
        if let Some(sink) = layer.sink.as_ref().filter(|sink| sink.shape() != [h, n_query]) {
            let name = format!("{}.{layer_idx}.sink", stack.kind);
            return Err(misfit(&name, &sink.shape(), &[h, n_query], sink.as_slice().len()));
        }
        check_rows(Site::MlpHidden, layer_idx, Site::MlpHidden)?;
        for site in [Site::ResidPre, Site::AttnOut, Site::ResidMid, Site::MlpOut, Site::ResidPost] {
            check_rows(site, layer_idx, Site::ResidPre)?;
        }
    }
    check_rows(Site::ResidFinal, 0, Site::ResidPre)
}

/// Logits are of every position of the sequence that is predicted, or of the input as a whole.
pub(super) fn logits(parts: &CaptureParts) -> Result<(), ShapeError> {
    let Some(logits) = &parts.logits else { return Ok(()) };
    let of = |side| parts.tokens.get(&side).map(Vec::len).filter(|n| *n > 0);
    let n = [Side::Decoder, Side::Text, Side::Only].into_iter().find_map(of).unwrap_or(1);
    if logits.n_cols() > 0 && (logits.n_rows() == n || logits.n_rows() == 1) {
        return Ok(());
    }
    Err(misfit("logits", &logits.shape(), &[n, logits.n_cols()], logits.as_slice().len()))
}
