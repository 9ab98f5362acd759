//! One run's bookkeeping: at every site it applies edits, taps the pattern for gradients, records,
//! and between steps asks whether to go on.
//!
//! With an empty plan every call hands its tensor back untouched, so recording cannot change numbers.

use candle_core::{DType, Tensor, Var};

use super::{Control, Edit, ModelError, Progress, RunPlan, Site, Stage, kernels::share};
use crate::capture::{LayerCapture, Matrix, PerHead};

pub(crate) struct Run<'a> {
    plan: &'a RunPlan,
    control: &'a Control<'a>,
    /// Layer and position of the progress.
    n_layers: usize,
    /// Bytes that patterns and scores may still take.
    budget: u64,
    n_omitted: usize,
    layers: Vec<LayerCapture>,
    resid_final: Option<Matrix>,
    /// One zero per pattern value, added to the pattern: their gradients are the pattern's.
    taps: Option<Vec<Var>>,
}

/// What a run recorded.
pub(crate) struct Recorded {
    pub layers: Vec<LayerCapture>,
    pub resid_final: Option<Matrix>,
    /// Layers whose patterns or scores were over the budget.
    pub n_omitted: usize,
    pub taps: Vec<Var>,
}

impl<'a> Run<'a> {
    pub fn new(plan: &'a RunPlan, n_layers: usize, with_taps: bool, control: &'a Control<'a>) -> Self {
        Self {
            plan,
            control,
            n_layers,
            budget: plan.pattern_budget_bytes,
            n_omitted: 0,
            layers: vec![LayerCapture::default(); n_layers],
            resid_final: None,
            taps: with_taps.then(Vec::new),
        }
    }

    /// Between steps: reports progress and stops if asked to.
    pub fn checkpoint(&self, layers_done: usize) -> Result<(), ModelError> {
        Ok((self.control)(Progress { stage: Stage::Forward, done: layers_done, total: self.n_layers })?)
    }

    /// Whether this run does anything at a site. Callers skip building a view that nobody looks at.
    pub fn needs(&self, site: Site, layer: usize) -> bool {
        self.records(site, layer) || self.edits(site, layer)
    }

    /// Whether gradients will be asked for, so that every value must stay as it is.
    pub const fn is_differentiated(&self) -> bool {
        self.taps.is_some()
    }

    /// Whether this run changes anything at a site.
    pub fn edits(&self, site: Site, layer: usize) -> bool {
        self.plan.edits.iter().any(|edit| touches(edit, site, layer))
    }

    /// Passes a site's value on, after edits, tap and recording.
    pub fn at(&mut self, site: Site, layer: usize, mut x: Tensor) -> Result<Tensor, ModelError> {
        let plan = self.plan;
        for edit in plan.edits.iter().filter(|edit| touches(edit, site, layer)) {
            x = apply(edit, &x)?;
        }
        if site == Site::Pattern
            && let Some(taps) = &mut self.taps
        {
            let tap = Var::zeros(x.shape(), DType::F32, x.device())?;
            x = (x + tap.as_tensor())?;
            taps.push(tap);
        }
        if self.records(site, layer) {
            self.record(site, layer, &x)?;
        }
        Ok(x)
    }

    pub fn finish(self) -> Recorded {
        Recorded {
            layers: self.layers,
            resid_final: self.resid_final,
            n_omitted: self.n_omitted,
            taps: self.taps.unwrap_or_default(),
        }
    }

    fn records(&self, site: Site, layer: usize) -> bool {
        let in_layer = || self.plan.layers.as_ref().is_none_or(|layers| layers.contains(&layer));
        self.plan.sites.contains(site) && (site == Site::ResidFinal || in_layer())
    }

    fn record(&mut self, site: Site, layer: usize, x: &Tensor) -> Result<(), ModelError> {
        if matches!(site, Site::Scores | Site::Pattern) {
            let bytes = 4 * x.elem_count() as u64;
            if bytes > self.budget {
                self.n_omitted += 1;
                return Ok(());
            }
            self.budget -= bytes;
        }
        let per_head = |x: &Tensor| -> Result<_, ModelError> { Ok(Some(PerHead::new(share(x)?, x.dims3()?.into())?)) };
        let matrix = |x: &Tensor| -> Result<_, ModelError> { Ok(Some(Matrix::new(share(x)?, x.dims2()?.into())?)) };
        if site == Site::ResidFinal {
            self.resid_final = matrix(x)?;
            return Ok(());
        }
        let Some(slot) = self.layers.get_mut(layer) else { return Ok(()) };
        match site {
            Site::Q => slot.q = per_head(x)?,
            Site::K => slot.k = per_head(x)?,
            Site::V => slot.v = per_head(x)?,
            Site::Scores => slot.scores = per_head(x)?,
            Site::Pattern => slot.pattern = per_head(x)?,
            Site::Z => slot.z = per_head(x)?,
            Site::ResidPre => slot.resid_pre = matrix(x)?,
            // A capture has no place for these; they exist for edits.
            Site::AttnOut | Site::ResidMid | Site::MlpOut | Site::ResidFinal => {}
        }
        Ok(())
    }
}

fn touches(edit: &Edit, at_site: Site, at_layer: usize) -> bool {
    match edit {
        Edit::AblateHead { layer, .. } => at_site == Site::Z && *layer == at_layer,
        Edit::SetPattern { layer, .. } => at_site == Site::Pattern && *layer == at_layer,
        Edit::HideToken { .. } => at_site == Site::Scores,
        Edit::Patch { site, layer, .. } => *site == at_site && (*layer == at_layer || at_site == Site::ResidFinal),
    }
}

fn apply(edit: &Edit, x: &Tensor) -> Result<Tensor, ModelError> {
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
        Edit::HideToken { position } => {
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
