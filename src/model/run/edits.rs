//! Changes of the forward pass: where they belong, and what they do to a value.

use std::{collections::BTreeMap, sync::Arc};

use candle_core::Tensor;

use super::{At, Edit, Run, Site, Span};
use crate::{
    capture::{
        Along, Normalizer, Token,
        changes::{EditContext, Extent, Intervention, Rest, RowChange},
        even_out, shuffled,
    },
    ids::{HeadId, Side, StackKind},
    model::ModelError,
    spec::ModelSpec,
};

/// Refuses edits that do not fit a model and an input, and edits that contradict each other. `spec.stacks` are those of
/// the model, `tokens` those of the input.
pub(crate) fn check(edits: &[Edit], spec: &ModelSpec, tokens: &BTreeMap<Side, Vec<Token>>) -> Result<(), ModelError> {
    EditContext { spec, tokens }.check(edits).map_err(ModelError::Edit)
}

/// Refuses edits that no gradient runs through.
pub(crate) fn check_gradients(edits: &[Edit]) -> Result<(), ModelError> {
    let is_a_choice = |edit: &&Edit| match edit.kind().intervention() {
        Intervention::Normalize(_, with) => with.is_a_choice(),
        Intervention::Rows { .. }
        | Intervention::SeeAll(_)
        | Intervention::Reorder { .. }
        | Intervention::LeaveOutPositions
        | Intervention::LeaveOutAdapter(_)
        | Intervention::Read { .. }
        | Intervention::AddToMlp { .. } => false,
    };
    edits.iter().find(is_a_choice).map_or(Ok(()), |edit| {
        Err(ModelError::Edit(format!(
            "“{edit}” puts all weight on one key, which small changes of the scores do not move, so no gradient runs \
            through it: remove it, or choose a method without gradients"
        )))
    })
}

/// Whether an edit replaces scores or patterns of a stack, in some layer.
pub(crate) fn changes_scores(edit: &Edit, of: StackKind) -> bool {
    match edit.kind().intervention() {
        Intervention::Rows { site, extent, .. } => site.is_of_pairs() && extent.has_stack(of),
        Intervention::Normalize(..) => true,
        Intervention::Read { .. }
        | Intervention::SeeAll(_)
        | Intervention::Reorder { .. }
        | Intervention::LeaveOutPositions
        | Intervention::LeaveOutAdapter(_)
        | Intervention::AddToMlp { .. } => false,
    }
}

/// Whether an edit is of the input, before anything is run.
pub(crate) fn is_of_input(edit: &Edit) -> bool {
    matches!(edit.kind().intervention(), Intervention::Read { .. } | Intervention::Reorder { .. })
}

/// The adapter that an edit leaves out, which another model does than that which has it.
pub(crate) fn left_out_adapter(edit: &Edit) -> Option<&str> {
    match edit.kind().intervention() {
        Intervention::LeaveOutAdapter(name) => Some(name),
        Intervention::Rows { .. }
        | Intervention::Normalize(..)
        | Intervention::SeeAll(_)
        | Intervention::Reorder { .. }
        | Intervention::LeaveOutPositions
        | Intervention::Read { .. }
        | Intervention::AddToMlp { .. } => None,
    }
}

/// Whether an edit is followed before a pass begins.
pub(crate) fn is_before_run(edit: &Edit) -> bool {
    is_of_input(edit) || left_out_adapter(edit).is_some()
}

impl Run<'_> {
    /// The positions of the tokens that see all, where a change of the run says which.
    pub fn see_all(&mut self) -> Option<Arc<[usize]>> {
        let (idx, positions) = see_all(&self.plan.edits)?;
        self.edited[idx] = true;
        Some(positions.into())
    }

    /// Whether a change leaves out what tells where tokens stand; asked where there is such a thing.
    pub fn leaves_out_positions(&mut self) -> bool {
        let place = |edits: &[Edit]| {
            edits.iter().position(|edit| matches!(edit.kind().intervention(), Intervention::LeaveOutPositions))
        };
        if let Some(idx) = place(&self.plan.edits) {
            if !std::mem::replace(&mut self.edited[idx], true) {
                self.note("Without positions the run is off distribution: the model never saw this".to_owned());
            }
            return true;
        }
        self.input.and_then(|input| self.own.get(input)).is_some_and(|edits| place(edits).is_some())
    }
}

/// The tokens that see all, where an edit says which, with the place of that edit.
pub(crate) fn see_all(edits: &[Edit]) -> Option<(usize, Vec<usize>)> {
    edits.iter().enumerate().find_map(|(idx, edit)| {
        let Intervention::SeeAll(positions) = edit.kind().intervention() else { return None };
        let mut positions = positions.to_vec();
        positions.sort_unstable();
        positions.dedup();
        Some((idx, positions))
    })
}

/// What makes the patterns of each head of a layer; `None` where it is softmax in all. The second list says
/// which of the edits were followed.
fn normalizers(edits: &[Edit], at: At, n_heads: usize) -> Option<(Vec<Normalizer>, Vec<usize>)> {
    let mut all = vec![Normalizer::Softmax; n_heads];
    let mut followed = Vec::new();
    for (idx, edit) in edits.iter().enumerate() {
        for (head, normalizer) in all.iter_mut().enumerate() {
            if let Some(with) = edit.normalizer_of(HeadId { stack: at.stack, layer: at.layer, head }) {
                *normalizer = with;
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
    match edit.kind().intervention() {
        Intervention::SeeAll(_)
        | Intervention::LeaveOutPositions
        | Intervention::LeaveOutAdapter(_)
        | Intervention::Reorder { .. }
        | Intervention::Read { .. } => true,
        Intervention::Rows { site, .. } => BEFORE.contains(&site) && edit.touches(site, stack, first),
        Intervention::Normalize(..) | Intervention::AddToMlp { .. } => false,
    }
}

/// Whether an edit is of something that comes behind `z` in the last of `n_layers`.
pub(crate) fn is_behind_attending(edit: &Edit, stack: StackKind, n_layers: usize) -> bool {
    match edit.kind().intervention() {
        Intervention::Rows { site, .. } => {
            let attends =
                BEFORE.contains(&site) || matches!(site, Site::Scores | Site::Pattern | Site::Effective | Site::Z);
            !attends && edit.touches(site, stack, n_layers.saturating_sub(1))
        }
        Intervention::AddToMlp { stack: of, layer, .. } => of == stack && layer + 1 == n_layers,
        Intervention::Normalize(..)
        | Intervention::SeeAll(_)
        | Intervention::Reorder { .. }
        | Intervention::LeaveOutPositions
        | Intervention::LeaveOutAdapter(_)
        | Intervention::Read { .. } => false,
    }
}

/// What an edit adds to the answers of a layer's MLP; `None` where it is another edit, or of another layer.
///
/// # Shapes
/// - `hidden`: `[n, d_mlp]`
/// - result: `[n, d_model]`
pub(crate) fn added_to_mlp(edit: &Edit, at: At, hidden: &Tensor, d_model: usize) -> Result<Option<Tensor>, ModelError> {
    let Intervention::AddToMlp { stack, layer, left, right } = edit.kind().intervention() else { return Ok(None) };
    if (stack, layer) != (at.stack, at.layer) {
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

/// The value of a site after an edit of it. `rows` says which of its rows are there.
///
/// # Shapes
/// - `x`, result: `[heads, rows, width]`, or `[rows, width]` of a site without heads
pub(crate) fn apply(edit: &Edit, at: At, rows: Span, x: &Tensor) -> Result<Tensor, ModelError> {
    let Intervention::Rows { site, extent, change } = edit.kind().intervention() else { return Ok(x.clone()) };
    let head_at = |head: usize| HeadId { stack: at.stack, layer: at.layer, head };
    let each_head = |changed: &dyn Fn(&Tensor, HeadId) -> Result<Tensor, ModelError>| {
        let mut heads = (0..x.dim(0)?).map(head_at).filter(|head| extent.contains(*head));
        heads.try_fold(x.clone(), |x, head| changed(&x, head))
    };
    // Numbers of queries and keys, in heads that are not meant the one that does nothing.
    let by_pair = |number: &dyn Fn(usize, usize) -> f32, nothing: f32| -> Result<Tensor, ModelError> {
        let (n_heads, n, n_key) = x.dims3()?;
        let of_head = |head: usize| {
            let is_here = extent.contains(head_at(head));
            let at = move |row: usize, key: usize| if is_here { number(rows.first + row, key) } else { nothing };
            (0..n).flat_map(move |row| (0..n_key).map(move |key| at(row, key)))
        };
        // What does not differ between heads is told once.
        let n_told = if matches!(extent, Extent::KeysOf(_)) { 1 } else { n_heads };
        Ok(Tensor::from_iter((0..n_told).flat_map(of_head), x.device())?.reshape((n_told, n, n_key))?)
    };
    match &change {
        RowChange::Hide(hides) if site == Site::Scores => {
            let adds = |query: usize, key: usize| if hides(query, key) { f32::NEG_INFINITY } else { 0.0 };
            Ok(x.broadcast_add(&by_pair(&adds, 0.0)?)?)
        }
        RowChange::Hide(hides) => {
            let kept = |query: usize, key: usize| if hides(query, key) { 0.0 } else { 1.0 };
            Ok(x.broadcast_mul(&by_pair(&kept, 1.0)?)?)
        }
        RowChange::Add(adds) => Ok(x.broadcast_add(&by_pair(&**adds, 0.0)?)?),
        RowChange::Keep(keeps, rest) => {
            let factors = |head: usize, _: usize, row: &[f32]| {
                let kept = extent.contains(head_at(head)).then(|| keeps(row));
                kept.map(|kept| kept.into_iter().map(f32::from).collect())
            };
            faded(x, &factors, *rest)
        }
        RowChange::Fade(fades) => {
            let factors = |head: usize, row: usize, weights: &[f32]| {
                extent.contains(head_at(head)).then(|| fades(rows.first + row, weights))
            };
            faded(x, &factors, Rest::Shared)
        }
        RowChange::Move(positions, vector, along) => {
            among(positions, rows)?;
            let here = |row: usize| positions.is_empty() || positions.contains(&(rows.first + row));
            moved(x, vector, *along, &here)
        }
        RowChange::SetAll(values) => {
            if values.n_rows() != rows.of {
                return Err(ModelError::Edit(format!("{} rows are needed, not {}", rows.of, values.n_rows())));
            }
            let wanted = rows.first * values.n_cols()..(rows.first + rows.n) * values.n_cols();
            replace(x, extent.head(), &(0..rows.n).collect::<Vec<_>>(), &values.as_slice()[wanted])
        }
        RowChange::Set(positions, value) => {
            among(positions, rows)?;
            let here = |position: usize| position.checked_sub(rows.first).filter(|row| *row < rows.n);
            let found = positions.iter().enumerate().filter_map(|(idx, position)| Some((here(*position)?, idx)));
            let (at, idxs): (Vec<_>, Vec<_>) = found.unzip();
            let values: Vec<f32> = idxs.iter().filter_map(|idx| value.row(*idx)).flatten().copied().collect();
            if at.is_empty() { Ok(x.clone()) } else { replace(x, extent.head(), &at, &values) }
        }
        RowChange::Scale(by) => {
            each_head(&|x, of| with_head(x, of.head, &(x.narrow(0, of.head, 1)? * f64::from(*by))?))
        }
        RowChange::Zero => each_head(&|x, of| {
            let (_, n, width) = x.dims3()?;
            replace(x, Some(of.head), &(0..n).collect::<Vec<_>>(), &vec![0.0; n * width])
        }),
        RowChange::Column(column, value) => with_column(x, *column, *value),
        RowChange::Mean => each_head(&|x, of| averaged(x, of.head, rows)),
        RowChange::Even => each_head(&|x, of| evened(x, of.head)),
        RowChange::Shuffle(seed) => each_head(&|x, of| with_shuffled(x, of, rows, *seed)),
    }
}

/// `x` with one number in a column; the gradient of what was there is zero.
///
/// # Shapes
/// - `x`, result: `[rows, width]`
fn with_column(x: &Tensor, column: usize, value: f32) -> Result<Tensor, ModelError> {
    let (n, width) = x.dims2()?;
    if column >= width {
        return Err(ModelError::Edit(format!("there is no column {column} among {width}")));
    }
    let is_there = Tensor::from_iter((0..width).map(|at| u8::from(at == column)), x.device())?;
    let is_there = is_there.reshape((1, width))?.broadcast_as((n, width))?;
    let values = Tensor::full(value, (n, width), x.device())?;
    Ok(is_there.contiguous()?.where_cond(&values, &x.contiguous()?)?)
}

/// Every row of a head is the mean of all of them.
fn averaged(x: &Tensor, head: usize, rows: Span) -> Result<Tensor, ModelError> {
    if !rows.are_all() {
        let what = "its rows follow from each other, so their mean is not known when it is needed";
        return Err(ModelError::Edit(what.to_owned()));
    }
    let (_, n, width) = x.dims3()?;
    with_head(x, head, &x.narrow(0, head, 1)?.mean_keepdim(1)?.broadcast_as((1, n, width))?)
}

/// The keys of a head that are not hidden have the same score.
fn evened(x: &Tensor, head: usize) -> Result<Tensor, ModelError> {
    let mut values = rows_of(x, head)?;
    for row in &mut values {
        even_out(row);
    }
    replace(x, Some(head), &(0..values.len()).collect::<Vec<_>>(), &values.concat())
}

/// Values of the keys of a head that are not hidden change places.
fn with_shuffled(x: &Tensor, of: HeadId, rows: Span, seed: u64) -> Result<Tensor, ModelError> {
    let (_, n, width) = x.dims3()?;
    let values = rows_of(x, of.head)?;
    let from = values
        .iter()
        .enumerate()
        .flat_map(|(row, values)| shuffled(seed, of, rows.first + row, values).into_iter().map(|from| from as u32));
    let from = Tensor::from_iter(from, x.device())?.reshape((1, n, width))?;
    with_head(x, of.head, &x.narrow(0, of.head, 1)?.contiguous()?.gather(&from, 2)?)
}

/// Refuses positions that are not there.
fn among(positions: &[usize], rows: Span) -> Result<(), ModelError> {
    match positions.iter().find(|position| **position >= rows.of) {
        Some(position) => Err(ModelError::Edit(format!("there is no position {position} among {}", rows.of))),
        None => Ok(()),
    }
}

/// The factors of a head's row of weights; `None` where the row stays.
type RowFactors<'a> = dyn Fn(usize, usize, &[f32]) -> Option<Vec<f32>> + 'a;

/// `x` with weights times factors; weights with a factor above 0 may be scaled up before to what the row was.
///
/// # Shapes
/// - `x`, result: `[heads, rows, keys]`
fn faded(x: &Tensor, factors: &RowFactors<'_>, rest: Rest) -> Result<Tensor, ModelError> {
    let mut all = Vec::with_capacity(x.elem_count());
    for (head, rows) in x.to_vec3::<f32>()?.iter().enumerate() {
        for (row, weights) in rows.iter().enumerate() {
            all.extend(factors(head, row, weights).unwrap_or_else(|| vec![1.0; weights.len()]));
        }
    }
    let factors = Tensor::from_vec(all, x.dims(), x.device())?;
    let left = (x * &factors)?;
    if rest == Rest::Lost {
        return Ok(left);
    }
    let (before, after) = (x.sum_keepdim(2)?, (x * factors.gt(0.0_f32)?.to_dtype(x.dtype())?)?.sum_keepdim(2)?);
    // A row of which nothing stays is divided by 1.
    let after = (&after + after.eq(0.0_f32)?.to_dtype(x.dtype())?)?;
    Ok(left.broadcast_mul(&(before / after)?)?)
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
