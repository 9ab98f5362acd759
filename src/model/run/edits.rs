//! Changes of the forward pass: whether they fit a model and an input, and what they do to a value.

use std::collections::BTreeMap;

use candle_core::Tensor;

use super::{At, Edit, Row, Site};
use crate::{
    capture::{Matrix, Token, stack_prefix},
    ids::{Side, StackKind},
    model::ModelError,
    spec::{ModelSpec, StackSpec},
};

/// Refuses edits of stacks, layers, heads, tokens and rows that are not there, before anything is computed.
/// `spec.stacks` are those of the model, `tokens` those of the input.
pub(crate) fn check(edits: &[Edit], spec: &ModelSpec, tokens: &BTreeMap<Side, Vec<Token>>) -> Result<(), ModelError> {
    let refuse = |what: String| Err(ModelError::Edit(what));
    let stack = |kind: StackKind| {
        spec.stack(kind).ok_or_else(|| {
            let names: Vec<_> = spec.stacks.iter().map(|stack| stack.kind.name()).collect();
            ModelError::Edit(format!("there is no stack {kind}, only {}", names.join(", ")))
        })
    };
    let layer = |kind: StackKind, layer: usize| -> Result<_, ModelError> {
        let StackSpec { layers, .. } = stack(kind)?;
        layers.get(layer).ok_or_else(|| {
            ModelError::Edit(format!(
                "there is no layer {}L{layer}: the stack has {}",
                stack_prefix(kind),
                layers.len()
            ))
        })
    };
    let head = |kind: StackKind, idx: usize, head: usize, n_heads: usize| {
        if head < n_heads {
            return Ok(());
        }
        refuse(format!("there is no head {}L{idx}H{head}: the layer has {n_heads}", stack_prefix(kind)))
    };
    for edit in edits {
        match edit {
            Edit::AblateHead { stack, layer: idx, head: of } | Edit::SetPattern { stack, layer: idx, head: of, .. } => {
                head(*stack, *idx, *of, layer(*stack, *idx)?.n_heads)?;
            }
            Edit::HideToken { side, position } => {
                let n = tokens.get(side).map_or(0, Vec::len);
                if n == 0 || !spec.stacks.iter().any(|stack| stack.kind.key_side() == *side) {
                    return refuse(format!(
                        "no attention reads the side {}, whose token {position} is to be hidden",
                        side.name()
                    ));
                }
                if *position >= n {
                    return refuse(format!("there is no token {position} among {n} of the side {}", side.name()));
                }
            }
            Edit::Patch { site, stack: kind, layer: idx, head: of, positions, .. } => {
                if positions.is_empty() {
                    return refuse(format!("“{edit}” changes no row"));
                }
                if *site == Site::Embed {
                    if tokens.get(&kind.query_side()).is_none_or(Vec::is_empty) || *kind == StackKind::Cross {
                        return refuse(format!("no sequence enters at {kind}"));
                    }
                } else if *site == Site::ResidFinal {
                    stack(*kind)?;
                } else {
                    let layer = layer(*kind, *idx)?;
                    let n_heads = if matches!(site, Site::K | Site::V) { layer.n_kv_heads } else { layer.n_heads };
                    if let Some(of) = of {
                        head(*kind, *idx, *of, n_heads)?;
                    }
                }
            }
        }
    }
    Ok(())
}

/// Whether an edit replaces scores or patterns of a stack, in some layer.
pub(crate) fn changes_scores(edit: &Edit, of: StackKind) -> bool {
    match edit {
        Edit::SetPattern { stack, .. } | Edit::Patch { site: Site::Scores | Site::Pattern, stack, .. } => *stack == of,
        Edit::HideToken { side, .. } => of.key_side() == *side,
        Edit::AblateHead { .. } | Edit::Patch { .. } => false,
    }
}

/// Whether an edit is of this site.
pub(crate) fn touches(edit: &Edit, at_site: Site, at: At) -> bool {
    let here = |stack: StackKind, layer: usize| stack == at.stack && layer == at.layer;
    match *edit {
        Edit::AblateHead { stack, layer, .. } => at_site == Site::Z && here(stack, layer),
        Edit::SetPattern { stack, layer, .. } => at_site == Site::Pattern && here(stack, layer),
        Edit::HideToken { side, .. } => at_site == Site::Scores && at.stack.key_side() == side,
        Edit::Patch { site, stack, layer, .. } => {
            site == at_site && stack == at.stack && (layer == at.layer || !at_site.is_of_layer())
        }
    }
}

/// What an edit of a whole site does to one of its rows, if anything.
pub(crate) fn of_row(edit: &Edit, row: Row) -> Result<Option<Edit>, ModelError> {
    let one = |value: &Matrix, idx: usize| {
        let values = value
            .row(idx)
            .ok_or_else(|| ModelError::Edit(format!("{} rows are needed, not {}", row.of, value.n_rows())))?;
        Ok::<_, ModelError>(Matrix::new(values.to_vec(), [1, values.len()])?)
    };
    Ok(match edit {
        Edit::AblateHead { .. } | Edit::HideToken { .. } => Some(edit.clone()),
        Edit::SetPattern { stack, layer, head, pattern } => {
            if pattern.n_rows() != row.of {
                return Err(ModelError::Edit(format!("{} rows are needed, not {}", row.of, pattern.n_rows())));
            }
            let pattern = one(pattern, row.idx)?;
            Some(Edit::SetPattern { stack: *stack, layer: *layer, head: *head, pattern })
        }
        Edit::Patch { site, stack, layer, head, positions, value } => {
            if let Some(position) = positions.iter().find(|position| **position >= row.of) {
                return Err(ModelError::Edit(format!("there is no position {position} among {}", row.of)));
            }
            let idx = positions.iter().position(|position| *position == row.idx);
            let value = idx.map(|idx| one(value, idx)).transpose()?;
            value.map(|value| Edit::Patch {
                site: *site,
                stack: *stack,
                layer: *layer,
                head: *head,
                positions: vec![0],
                value,
            })
        }
    })
}

/// The value of a site after an edit of it.
pub(crate) fn apply(edit: &Edit, x: &Tensor) -> Result<Tensor, ModelError> {
    match edit {
        Edit::AblateHead { head, .. } => {
            let (_, n, d) = x.dims3()?;
            replace(x, Some(*head), &(0..n).collect::<Vec<_>>(), &vec![0.0; n * d], d)
        }
        Edit::SetPattern { head, pattern, .. } => {
            let (_, n_query, _) = x.dims3()?;
            let rows: Vec<_> = (0..n_query).collect();
            replace(x, Some(*head), &rows, pattern.as_slice(), pattern.n_cols())
        }
        Edit::HideToken { position, .. } => {
            let n_key = x.dims3()?.2;
            let mut mask = vec![0.0f32; n_key];
            let Some(hidden) = mask.get_mut(*position) else {
                return Err(ModelError::Edit(format!("there is no token {position} among {n_key}")));
            };
            *hidden = f32::NEG_INFINITY;
            Ok(x.broadcast_add(&Tensor::from_vec(mask, (1, 1, n_key), x.device())?)?)
        }
        Edit::Patch { head, positions, value, .. } => replace(x, *head, positions, value.as_slice(), value.n_cols()),
    }
}

/// `x` with some rows (of one head) replaced; the gradient of what was replaced is zero.
fn replace(
    x: &Tensor,
    head: Option<usize>,
    positions: &[usize],
    values: &[f32],
    n_cols: usize,
) -> Result<Tensor, ModelError> {
    let dims = x.dims();
    let (n_heads, n_rows, width) = match (dims, head) {
        (&[n_rows, width], None) => (1, n_rows, width),
        (&[n_heads, n_rows, width], Some(_)) => (n_heads, n_rows, width),
        (_, None) => return Err(ModelError::Edit("this site needs a head".to_owned())),
        (_, Some(_)) => return Err(ModelError::Edit("this site has no heads".to_owned())),
    };
    let head = head.unwrap_or(0);
    if head >= n_heads {
        return Err(ModelError::Edit(format!("there is no head {head} among {n_heads}")));
    }
    if n_cols != width || values.len() != positions.len() * width {
        return Err(ModelError::Edit(format!(
            "{} rows of {width} values are needed, not {} values in rows of {n_cols}",
            positions.len(),
            values.len()
        )));
    }
    let mut mask = vec![0u8; n_heads * n_rows * width];
    let mut full = vec![0.0f32; n_heads * n_rows * width];
    for (idx, &position) in positions.iter().enumerate() {
        if position >= n_rows {
            return Err(ModelError::Edit(format!("there is no position {position} among {n_rows}")));
        }
        let start = (head * n_rows + position) * width;
        mask[start..start + width].fill(1);
        full[start..start + width].copy_from_slice(&values[idx * width..(idx + 1) * width]);
    }
    let mask = Tensor::from_vec(mask, dims, x.device())?;
    let full = Tensor::from_vec(full, dims, x.device())?;
    Ok(mask.where_cond(&full, &x.contiguous()?)?)
}
