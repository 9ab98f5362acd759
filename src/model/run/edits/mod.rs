//! Changes of the forward pass: where they belong, and what they do to a value.

mod check;
mod rank_one;

use std::sync::Arc;

use candle_core::Tensor;

use super::{At, Edit, Run, Site, Span};
use crate::{
    capture::{Ablation, Along, Cut, Normalizer, even_out, shuffled},
    ids::{HeadId, StackKind},
    model::ModelError,
};

pub(crate) use check::check;
pub(crate) use rank_one::rank_one;

/// Whether an edit replaces scores or patterns of a stack, in some layer.
pub(crate) fn changes_scores(edit: &Edit, of: StackKind) -> bool {
    match edit {
        Edit::Ablate { head, .. } | Edit::SetPattern { head, .. } | Edit::Sharpen { head, .. } => head.stack == of,
        Edit::Patch { site, stack, .. } => site.is_of_pairs() && *stack == of,
        Edit::Knockout { stack, .. } | Edit::Restrict { stack, .. } => *stack == of,
        Edit::HideToken { side, .. } => of.key_side() == *side,
        Edit::Normalize { .. } => true,
        Edit::SeeAll { .. }
        | Edit::ReplaceToken { .. }
        | Edit::MaskToken { .. }
        | Edit::RankOne { .. }
        | Edit::Direction { .. } => false,
    }
}

/// Whether an edit is of the input, before anything is run.
pub(crate) const fn is_of_input(edit: &Edit) -> bool {
    matches!(edit, Edit::ReplaceToken { .. } | Edit::MaskToken { .. })
}

/// Whether an edit is of this site. What a normaliser is, is asked for by [`normalizers`], what is added to the
/// matrix of an MLP by [`rank_one`].
pub(crate) fn touches(edit: &Edit, at_site: Site, at: At) -> bool {
    let of_head = |head: &HeadId, site: Site| site == at_site && head.stack == at.stack && head.layer == at.layer;
    match edit {
        Edit::Ablate { head, with: Ablation::Zero | Ablation::Mean } => of_head(head, Site::Z),
        Edit::Ablate { head, .. } | Edit::Sharpen { head, .. } => of_head(head, Site::Scores),
        Edit::SetPattern { head, .. } => of_head(head, Site::Pattern),
        Edit::HideToken { side, .. } => at_site == Site::Scores && at.stack.key_side() == *side,
        Edit::Knockout { stack, scope, cut, .. } => {
            let site = if *cut == Cut::Scores { Site::Scores } else { Site::Pattern };
            site == at_site && *stack == at.stack && scope.touches(at.stack, at.layer)
        }
        Edit::Restrict { stack, scope, .. } => {
            at_site == Site::Scores && *stack == at.stack && scope.touches(at.stack, at.layer)
        }
        Edit::Patch { site, stack, layer, .. } | Edit::Direction { site, stack, layer, .. } => {
            *site == at_site && *stack == at.stack && (*layer == at.layer || !at_site.is_of_layer())
        }
        Edit::Normalize { .. }
        | Edit::SeeAll { .. }
        | Edit::ReplaceToken { .. }
        | Edit::MaskToken { .. }
        | Edit::RankOne { .. } => false,
    }
}

impl Run<'_> {
    /// The positions of the tokens that see all, where a change of the run says which.
    pub fn see_all(&mut self) -> Option<Arc<[usize]>> {
        let (idx, positions) = see_all(&self.plan.edits)?;
        self.edited[idx] = true;
        Some(positions.into())
    }
}

/// The tokens that see all, where an edit says which, with the place of that edit.
pub(crate) fn see_all(edits: &[Edit]) -> Option<(usize, Vec<usize>)> {
    edits.iter().enumerate().find_map(|(idx, edit)| match edit {
        Edit::SeeAll { positions } => {
            let mut positions = positions.clone();
            positions.sort_unstable();
            positions.dedup();
            Some((idx, positions))
        }
        _ => None,
    })
}

/// What makes the patterns of each head of a layer; `None` where it is softmax in all. The second list says
/// which of the edits were followed.
fn normalizers(edits: &[Edit], at: At, n_heads: usize) -> Option<(Vec<Normalizer>, Vec<usize>)> {
    let mut all = vec![Normalizer::Softmax; n_heads];
    let mut followed = Vec::new();
    for (idx, edit) in edits.iter().enumerate() {
        let Edit::Normalize { scope, with } = edit else { continue };
        for (head, normalizer) in all.iter_mut().enumerate() {
            if scope.contains(HeadId { stack: at.stack, layer: at.layer, head }) {
                *normalizer = *with;
                followed.push(idx);
            }
        }
    }
    (!followed.is_empty()).then_some((all, followed))
}

impl Run<'_> {
    /// What makes the patterns of a layer's heads, where it is not softmax in all of them.
    pub fn normalizers(&mut self, at: At, n_heads: usize) -> Option<Vec<Normalizer>> {
        let own = self.input.and_then(|input| self.own.get(input)).copied().unwrap_or(&[]);
        if let Some((by_head, _)) = normalizers(own, at, n_heads) {
            return Some(by_head);
        }
        let (by_head, followed) = normalizers(&self.plan.edits, at, n_heads)?;
        for idx in followed {
            self.edited[idx] = true;
        }
        Some(by_head)
    }

    /// Whether a head of a layer makes its patterns by anything but softmax, in any of the inputs.
    pub fn normalizes(&self, at: At, n_heads: usize) -> bool {
        let mut all = self.own.iter().copied().chain([self.plan.edits.as_slice()]);
        all.any(|edits| normalizers(edits, at, n_heads).is_some())
    }
}

/// Sites of a layer before its queries and keys are compared.
const BEFORE: [Site; 5] = [Site::Embed, Site::ResidPre, Site::Q, Site::K, Site::V];

/// Whether an edit is of something that comes before queries, keys and values of layer `first` are compared.
pub(crate) fn is_before_attending(edit: &Edit, stack: StackKind, first: usize) -> bool {
    match edit {
        Edit::SeeAll { .. } | Edit::ReplaceToken { .. } | Edit::MaskToken { .. } => true,
        Edit::Patch { site, .. } | Edit::Direction { site, .. } => {
            BEFORE.contains(site) && touches(edit, *site, At { stack, layer: first })
        }
        Edit::Ablate { .. }
        | Edit::SetPattern { .. }
        | Edit::Sharpen { .. }
        | Edit::HideToken { .. }
        | Edit::Knockout { .. }
        | Edit::Restrict { .. }
        | Edit::Normalize { .. }
        | Edit::RankOne { .. } => false,
    }
}

/// Whether an edit is of something that comes behind `z` in the last of `n_layers`.
pub(crate) fn is_behind_attending(edit: &Edit, stack: StackKind, n_layers: usize) -> bool {
    match edit {
        Edit::Patch { site, .. } | Edit::Direction { site, .. } => {
            let attends = BEFORE.contains(site) || matches!(site, Site::Scores | Site::Pattern | Site::Z);
            !attends && touches(edit, *site, At { stack, layer: n_layers.saturating_sub(1) })
        }
        Edit::RankOne { stack: of, layer, .. } => *of == stack && layer + 1 == n_layers,
        Edit::Ablate { .. }
        | Edit::SetPattern { .. }
        | Edit::Sharpen { .. }
        | Edit::HideToken { .. }
        | Edit::Knockout { .. }
        | Edit::Restrict { .. }
        | Edit::Normalize { .. }
        | Edit::SeeAll { .. }
        | Edit::ReplaceToken { .. }
        | Edit::MaskToken { .. } => false,
    }
}

/// The value of a site after an edit of it. `rows` says which of its rows are there.
///
/// # Shapes
/// - `x`, result: `[heads, rows, width]`, or `[rows, width]` of a site without heads
pub(crate) fn apply(edit: &Edit, site: Site, at: At, rows: Span, x: &Tensor) -> Result<Tensor, ModelError> {
    let head_at = |head: usize| HeadId { stack: at.stack, layer: at.layer, head };
    match edit {
        Edit::Ablate { head, with: Ablation::Zero } => {
            let (_, n, d) = x.dims3()?;
            replace(x, Some(head.head), &(0..n).collect::<Vec<_>>(), &vec![0.0; n * d])
        }
        Edit::Ablate { head, with: Ablation::Mean } => {
            if !rows.are_all() {
                let what = "its rows follow from each other, so their mean is not known when it is needed";
                return Err(ModelError::Edit(what.to_owned()));
            }
            let (_, n, d) = x.dims3()?;
            let mean = x.narrow(0, head.head, 1)?.mean_keepdim(1)?.broadcast_as((1, n, d))?;
            with_head(x, head.head, &mean)
        }
        Edit::Ablate { head, with: Ablation::Uniform } => {
            let mut values = rows_of(x, head.head)?;
            for row in &mut values {
                even_out(row);
            }
            replace(x, Some(head.head), &(0..values.len()).collect::<Vec<_>>(), &values.concat())
        }
        Edit::Ablate { head, with: Ablation::Shuffle { seed } } => {
            let values = rows_of(x, head.head)?;
            let from = values.iter().enumerate().flat_map(|(row, values)| {
                shuffled(*seed, *head, rows.first + row, values).into_iter().map(|from| from as u32)
            });
            let (_, n, n_key) = x.dims3()?;
            let from = Tensor::from_iter(from, x.device())?.reshape((1, n, n_key))?;
            with_head(x, head.head, &x.narrow(0, head.head, 1)?.contiguous()?.gather(&from, 2)?)
        }
        Edit::Sharpen { head, by } => with_head(x, head.head, &(x.narrow(0, head.head, 1)? * f64::from(*by))?),
        Edit::SetPattern { head, pattern } => {
            if pattern.n_rows() != rows.of {
                return Err(ModelError::Edit(format!("{} rows are needed, not {}", rows.of, pattern.n_rows())));
            }
            let wanted = rows.first * pattern.n_cols()..(rows.first + rows.n) * pattern.n_cols();
            replace(x, Some(head.head), &(0..rows.n).collect::<Vec<_>>(), &pattern.as_slice()[wanted])
        }
        Edit::HideToken { .. } | Edit::Knockout { .. } | Edit::Restrict { .. } => {
            let (n_heads, n, n_key) = x.dims3()?;
            let (hidden, kept) = if site == Site::Scores { (f32::NEG_INFINITY, 0.0) } else { (0.0, 1.0) };
            let of_head =
                |head: usize| {
                    (0..n).flat_map(move |row| {
                        (0..n_key).map(move |key| {
                            if edit.hides(site, head_at(head), rows.first + row, key) { hidden } else { kept }
                        })
                    })
                };
            // What does not differ between heads is told once.
            let n_told = if matches!(edit, Edit::HideToken { .. }) { 1 } else { n_heads };
            let mask = Tensor::from_iter((0..n_told).flat_map(of_head), x.device())?.reshape((n_told, n, n_key))?;
            Ok(if site == Site::Scores { x.broadcast_add(&mask)? } else { x.broadcast_mul(&mask)? })
        }
        Edit::Direction { positions, vector, along, .. } => {
            let beyond = positions.iter().find(|position| **position >= rows.of);
            if let Some(position) = beyond {
                return Err(ModelError::Edit(format!("there is no position {position} among {}", rows.of)));
            }
            let here = |row: usize| positions.is_empty() || positions.contains(&(rows.first + row));
            moved(x, vector, *along, &here)
        }
        Edit::Patch { head, positions, value, .. } => {
            if let Some(position) = positions.iter().find(|position| **position >= rows.of) {
                return Err(ModelError::Edit(format!("there is no position {position} among {}", rows.of)));
            }
            let here = |position: usize| position.checked_sub(rows.first).filter(|row| *row < rows.n);
            let found = positions.iter().enumerate().filter_map(|(idx, position)| Some((here(*position)?, idx)));
            let (at, idxs): (Vec<_>, Vec<_>) = found.unzip();
            let values: Vec<f32> = idxs.iter().filter_map(|idx| value.row(*idx)).flatten().copied().collect();
            if at.is_empty() { Ok(x.clone()) } else { replace(x, *head, &at, &values) }
        }
        Edit::Normalize { .. }
        | Edit::SeeAll { .. }
        | Edit::ReplaceToken { .. }
        | Edit::MaskToken { .. }
        | Edit::RankOne { .. } => Ok(x.clone()),
    }
}

/// `x` with some of its rows moved along a direction.
///
/// # Shapes
/// - `x`, result: `[rows, width]`
/// - `vector`: `[width]`
fn moved(x: &Tensor, vector: &[f32], along: Along, here: &dyn Fn(usize) -> bool) -> Result<Tensor, ModelError> {
    let &[n, width] = x.dims() else {
        return Err(ModelError::Edit("a direction needs a site without heads".to_owned()));
    };
    if vector.len() != width {
        let n = vector.len();
        return Err(ModelError::Edit(format!("the direction has {n} numbers, but the site is {width} wide")));
    }
    let direction = Tensor::from_slice(vector, (1, width), x.device())?;
    let is_here = Tensor::from_iter((0..n).map(|row| if here(row) { 1.0_f32 } else { 0.0 }), x.device())?;
    let factors = match along {
        Along::Add(factor) => (is_here.reshape((n, 1))? * f64::from(factor))?,
        Along::Remove => {
            let square: f64 = vector.iter().map(|value| f64::from(*value).powi(2)).sum();
            let coefficients = x.broadcast_mul(&direction)?.sum_keepdim(1)?;
            (coefficients.mul(&is_here.reshape((n, 1))?)? * (-1.0 / square))?
        }
    };
    Ok((x + factors.broadcast_mul(&direction)?)?)
}

/// One head's values, row by row.
fn rows_of(x: &Tensor, head: usize) -> Result<Vec<Vec<f32>>, ModelError> {
    Ok(x.narrow(0, head, 1)?.squeeze(0)?.to_vec2::<f32>()?)
}

/// `x` with another matrix for one head.
///
/// # Shapes
/// - `value`: `[1, rows, width]`
fn with_head(x: &Tensor, head: usize, value: &Tensor) -> Result<Tensor, ModelError> {
    let n_heads = x.dim(0)?;
    let (before, after) = (x.narrow(0, 0, head)?, x.narrow(0, head + 1, n_heads - head - 1)?);
    let parts = [&before, value, &after].into_iter().filter(|part| part.elem_count() > 0);
    Ok(Tensor::cat(&parts.collect::<Vec<_>>(), 0)?)
}

/// `x` with some rows (of one head) replaced; the gradient of what was replaced is zero.
fn replace(x: &Tensor, head: Option<usize>, positions: &[usize], values: &[f32]) -> Result<Tensor, ModelError> {
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
    if values.len() != positions.len() * width {
        return Err(ModelError::Edit(format!(
            "{} rows of {width} values are needed, not {} values in all",
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
