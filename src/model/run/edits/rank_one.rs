//! Changes of rank one of the second matrix of an MLP.

use candle_core::Tensor;

use super::super::{At, Edit};
use crate::model::ModelError;

/// What an edit adds to the answers of a layer's MLP; `None` where it is another edit, or of another layer.
///
/// # Shapes
/// - `hidden`: `[n, d_mlp]`
/// - result: `[n, d_model]`
pub(crate) fn rank_one(edit: &Edit, at: At, hidden: &Tensor, d_model: usize) -> Result<Option<Tensor>, ModelError> {
    let Edit::RankOne { stack, layer, left, right } = edit else { return Ok(None) };
    if (*stack, *layer) != (at.stack, at.layer) {
        return Ok(None);
    }
    let d_mlp = hidden.dim(1)?;
    if (left.len(), right.len()) != (d_model, d_mlp) {
        let (left, right) = (left.len(), right.len());
        return Err(ModelError::Edit(format!(
            "“{edit}” has {left} and {right} numbers, but this MLP gives {d_model} and has {d_mlp} inside"
        )));
    }
    let right = Tensor::from_slice(right, (d_mlp, 1), hidden.device())?;
    let left = Tensor::from_slice(left, (1, d_model), hidden.device())?;
    Ok(Some(hidden.matmul(&right)?.matmul(&left)?))
}
