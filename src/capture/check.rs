//! Check of recordings against the model and the tokens.

use std::collections::BTreeMap;

use super::{CaptureParts, Matrix, RowKind, ShapeError, SiteValues, StackCapture, Way, Width, bias::expected_shape};
use crate::{
    ids::{Side, StackKind},
    spec::LayerSpec,
};

fn lengths(parts: &CaptureParts, kind: StackKind) -> (usize, usize) {
    let len = |side| parts.tokens.get(&side).map_or(0, Vec::len);
    (len(kind.query_side()), len(kind.key_side()))
}

fn misfit(name: &str, shape: &[usize], expected: &[usize], actual: usize) -> ShapeError {
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
    // Towers may have widths of their own; within one, each kind of stream has one, and MLPs one in each layer.
    let mut widths = BTreeMap::new();
    let mut check_sites = |sites: &SiteValues, layer: Option<(usize, &LayerSpec)>| {
        for (site, value) in sites.iter() {
            let of = site.spec();
            let n_cols = value.shape().last().copied().unwrap_or(0);
            let of_heads = |width: fn(&LayerSpec) -> usize| layer.map_or(0, |(_, spec)| width(spec));
            let width = match of.width {
                Width::Head => of_heads(|spec| spec.d_head),
                Width::Value => of_heads(|spec| spec.d_value),
                Width::Keys => n_key,
                Width::Mlp => *widths.entry((of.width, layer.map(|(layer, _)| layer))).or_insert(n_cols),
                Width::Embedding | Width::Model | Width::Experts | Width::State | Width::Gates => {
                    *widths.entry((of.width, None)).or_insert(n_cols)
                }
            };
            let expected = match (of.rows, layer) {
                (RowKind::Queries, Some((_, spec))) => vec![spec.n_heads, n_query, width],
                (RowKind::Keys, Some((_, spec))) => vec![spec.n_kv_heads, n_key, width],
                _ => vec![n_query, width],
            };
            if value.shape() != expected {
                let layer = layer.map_or_else(String::new, |(layer, _)| format!(".{layer}"));
                let name = format!("{}{layer}.{}", stack.kind, site.name());
                return Err(misfit(&name, &value.shape(), &expected, value.as_slice().len()));
            }
        }
        Ok(())
    };
    for (layer_idx, layer) in stack.layers.iter().enumerate() {
        let Some(spec) = spec.and_then(|spec| spec.layers.get(layer_idx)) else {
            return Err(ShapeError {
                what: format!("{}.{layer_idx}", stack.kind),
                expected: vec![spec.map_or(0, |spec| spec.layers.len())],
                actual: stack.layers.len(),
            });
        };
        let h = spec.n_heads;
        let bias = layer.bias.as_ref().map_or([0; 3], |bias| expected_shape(bias, h, [n_query, n_key]));
        for (name, data, expected) in [
            ("bias", &layer.bias, bias),
            ("k_global", &layer.k_global, [h, n_key, spec.d_head]),
            ("v_global", &layer.v_global, [h, n_key, spec.d_value]),
        ] {
            if let Some(data) = data.as_ref().filter(|data| data.shape() != expected) {
                let name = format!("{}.{layer_idx}.{name}", stack.kind);
                return Err(misfit(&name, &data.shape(), &expected, data.as_slice().len()));
            }
        }
        if let Some(sink) = layer.sink.as_ref().filter(|sink| sink.shape() != [h, n_query]) {
            let name = format!("{}.{layer_idx}.sink", stack.kind);
            return Err(misfit(&name, &sink.shape(), &[h, n_query], sink.as_slice().len()));
        }
        if let Some(scorer) = layer.scorer.as_ref().filter(|scorer| !scorer.fits([n_query, n_key])) {
            let name = format!("{}.{layer_idx}.{}", stack.kind, scorer.bend.name());
            let (rows, expected) = (scorer.rows(), n_query + n_key + 1);
            return Err(misfit(&name, &rows.shape(), &[expected, rows.n_cols()], rows.as_slice().len()));
        }
        check_sites(&layer.sites, Some((layer_idx, spec)))?;
    }
    check_sites(&stack.sites, None)
}

/// What a sequence has is of all its tokens; a recurrence has cells as wide as its states, and whole gates.
pub(super) fn sequences(parts: &CaptureParts) -> Result<(), ShapeError> {
    for (side, values) in &parts.sequences {
        let n = parts.tokens.get(side).map_or(0, Vec::len);
        for (site, value) in values.iter() {
            let n_cols = value.shape().last().copied().unwrap_or(0);
            let of_state = Way::of(site).and_then(|way| values.rows(way.state())).map_or(n_cols, Matrix::n_cols);
            let width = match site.spec().width {
                Width::State => of_state,
                Width::Gates => n_cols.next_multiple_of(of_state.max(1)),
                Width::Embedding
                | Width::Model
                | Width::Mlp
                | Width::Experts
                | Width::Head
                | Width::Value
                | Width::Keys => n_cols,
            };
            if value.shape() != [n, width] {
                let name = format!("{}.{}", side.name(), site.name());
                return Err(misfit(&name, &value.shape(), &[n, width], value.as_slice().len()));
            }
        }
    }
    Ok(())
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
