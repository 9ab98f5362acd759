//! Changes whose numbers come from other runs of the same model: rows of another input, the mean over many inputs.

use std::{path::Path, sync::Arc};

use super::{
    JobControl, Stop,
    corpus::{check_kind, input_of, packs, read, run_pack},
};
use crate::{
    capture::{Capture, Edit, Matrix, Site, Token},
    corpus::list::ListOptions,
    ids::{HeadId, ModelId},
    model::{Control, Encoded, Logits, Model, ModelError, Preparation, RunPlan, Sites},
    protocol::{Between, Failure, MAX_MEANT, MeanInputs, PatchSource, Rows, TokensMeant},
    text::sentence,
};

/// Tokens that go through the model at once.
const PACK_TOKENS: usize = 768;
/// Means that are kept, so that another change beside them takes no longer.
const MAX_KEPT: usize = 32;

/// A mean that was taken.
#[derive(Debug)]
struct Mean {
    model: ModelId,
    rows: Rows,
    over: (MeanInputs, TokensMeant),
    values: Vec<f32>,
}

/// Means that were taken, the newest last.
#[derive(Debug, Default)]
pub(super) struct Means(Vec<Mean>);

impl Means {
    /// Forgets those of a model.
    pub fn forget(&mut self, model: ModelId) {
        self.0.retain(|mean| mean.model != model);
    }

    /// The mean of a site over tokens of all inputs; positions of `rows` are not looked at.
    pub fn of(
        &mut self,
        (id, model): (ModelId, &Model),
        rows: &Rows,
        (over, tokens): (&MeanInputs, TokensMeant),
        control: &JobControl,
    ) -> Result<Vec<f32>, Stop> {
        let rows = Rows { positions: Vec::new(), ..rows.clone() };
        let is_it =
            |mean: &&Mean| mean.model == id && mean.rows == rows && mean.over.0 == *over && mean.over.1 == tokens;
        if let Some(known) = self.0.iter().find(is_it) {
            return Ok(known.values.clone());
        }
        let values = mean(model, &rows, (over, tokens), &|progress| control.report(progress))?;
        if self.0.len() >= MAX_KEPT {
            self.0.remove(0);
        }
        self.0.push(Mean { model: id, rows, over: (over.clone(), tokens), values: values.clone() });
        Ok(values)
    }

    /// The change of a run along the difference of the means of two sets of inputs.
    pub fn direction(&mut self, of: (ModelId, &Model), wanted: &Between, control: &JobControl) -> Result<Edit, Stop> {
        let Between { rows, plus, minus, tokens, .. } = wanted;
        let plus = self.of(of, rows, (plus, *tokens), control)?;
        let minus = self.of(of, rows, (minus, *tokens), control)?;
        Ok(edit_along(wanted, &plus, &minus))
    }
}

/// The change, from the two means (Turner et al. 2023; Marks and Tegmark 2023).
fn edit_along(wanted: &Between, plus: &[f32], minus: &[f32]) -> Edit {
    let Rows { site, stack, layer, ref positions, .. } = wanted.rows;
    let vector = plus.iter().zip(minus).map(|(plus, minus)| plus - minus).collect();
    Edit::Direction { site, stack, layer, positions: positions.clone(), vector, along: wanted.along }
}

/// The change of a run along the difference of the means of two sets of inputs.
///
/// # Errors
/// When a site has heads or is not there, no input of a set can be read, or somebody says stop.
pub fn direction(model: &Model, wanted: &Between, control: &Control<'_>) -> Result<Edit, Stop> {
    let Between { rows, plus, minus, tokens, .. } = wanted;
    let (plus, minus) = (mean(model, rows, (plus, *tokens), control)?, mean(model, rows, (minus, *tokens), control)?);
    Ok(edit_along(wanted, &plus, &minus))
}

/// The mean of a site over tokens of all inputs.
fn mean(
    model: &Model,
    rows: &Rows,
    (over, tokens): (&MeanInputs, TokensMeant),
    control: &Control<'_>,
) -> Result<Vec<f32>, Stop> {
    let list = match over {
        MeanInputs::Bundled(name) => {
            let summary = |error| Failure { summary: sentence(&format!("{error}")), details: String::new() };
            Arc::new(read(Path::new(name), &ListOptions::default()).map_err(|error| Stop::Failed(summary(error)))?)
        }
        MeanInputs::Listed { list, .. } => Arc::clone(list),
    };
    check_kind(model.spec(), &list)?;
    let sources: Vec<usize> = match over {
        MeanInputs::Bundled(_) => (0..list.items.len()).collect(),
        MeanInputs::Listed { sources, .. } => sources.clone(),
    };
    let items = sources.iter().filter_map(|source| list.items.get(*source)).take(MAX_MEANT);
    // One that cannot be read is left out, as it is of the corpus.
    let encoded: Vec<Encoded> =
        items.filter_map(|item| model.encode(&input_of(&item.content, Preparation::default())).ok()).collect();
    let lengths: Vec<usize> = encoded.iter().map(|input| input.tokens.values().map(Vec::len).sum()).collect();
    let mut waiting: Vec<Option<Encoded>> = encoded.into_iter().map(Some).collect();
    let plan = plan(rows.site, rows.layer);
    let (mut sums, mut n): (Vec<f64>, usize) = (Vec::new(), 0);
    for pack in packs(&lengths, PACK_TOKENS) {
        let inputs: Vec<Encoded> = pack.into_iter().filter_map(|at| waiting[at].take()).collect();
        for capture in run_pack(model, &inputs, &plan, control).map_err(|_| Stop::Cancelled)?.into_iter().flatten() {
            let Some(values) = matrix(&capture, rows) else { continue };
            sums.resize(values.n_cols(), 0.0);
            for row in
                counted(tokens, capture.tokens(rows.stack.query_side())).into_iter().filter_map(|at| values.row(at))
            {
                sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += f64::from(*value));
                n += 1;
            }
        }
    }
    if n == 0 {
        let what = rows.what();
        let why = format!("{what} has no mean over {}: none of its inputs can be read by this model", over.name());
        return Err(ModelError::Edit(why).into());
    }
    Ok(sums.into_iter().map(|sum| (sum / n as f64) as f32).collect())
}

fn plan(site: Site, layer: usize) -> RunPlan {
    let layers = site.is_of_layer().then(|| vec![layer]);
    RunPlan { sites: Sites::of(&[site]), layers, logits: Logits::Skip, ..RunPlan::default() }
}

/// The recorded values of a site, one row per token.
fn matrix(capture: &Capture, rows: &Rows) -> Option<Matrix> {
    let Rows { site, stack, layer, head, .. } = *rows;
    let recorded = capture.stack(stack)?;
    match head {
        Some(head) => recorded.layers.get(layer)?.per_head(site)?.head(head),
        None => recorded.rows(site, layer).cloned(),
    }
}

/// The patch that puts rows of another run in their place here.
pub(super) fn taken(model: &Model, rows: Rows, donor: &PatchSource, control: &JobControl) -> Result<Edit, Stop> {
    let encoded = model.encode(&donor.input)?;
    let plan = RunPlan { edits: donor.edits.clone(), generate: donor.generation, ..plan(rows.site, rows.layer) };
    let capture = model.forward(&encoded, &plan, &|progress| control.report(progress))?;
    let refused = |why: String| Stop::from(ModelError::Edit(why));
    let there = matrix(&capture, &rows)
        .ok_or_else(|| refused(format!("“{}” has no {} there to patch from", donor.name, rows.site.name())))?;
    let mut values = Vec::with_capacity(rows.positions.len() * there.n_cols());
    let from = donor.positions.as_ref().unwrap_or(&rows.positions);
    if from.len() != rows.positions.len() {
        let (n, m) = (rows.positions.len(), from.len());
        return Err(refused(format!("{n} rows are replaced, but {m} rows of “{}” are given", donor.name)));
    }
    for &position in from {
        let n = there.n_rows();
        let row = there.row(position).ok_or_else(|| {
            refused(format!("“{}” has {n} tokens, so it has no token {position} to patch from", donor.name))
        })?;
        values.extend_from_slice(row);
    }
    let Rows { site, stack, layer, head, positions } = rows;
    let shape = [positions.len(), there.n_cols()];
    let value = Matrix::new(values, shape).map_err(|error| refused(error.to_string()))?;
    Ok(Edit::Patch { site, stack, layer, head, positions, value })
}

/// The patch that puts a mean in the place of what a head adds, at all of `n` tokens.
pub(super) fn everywhere(head: HeadId, mean: &[f32], n: usize) -> Result<Edit, Stop> {
    let value = Matrix::new(mean.repeat(n), [n, mean.len()]).map_err(|error| ModelError::Edit(error.to_string()))?;
    let HeadId { stack, layer, head } = head;
    Ok(Edit::Patch { site: Site::Z, stack, layer, head: Some(head), positions: (0..n).collect(), value })
}

/// The positions of a sequence that count.
fn counted(meant: TokensMeant, tokens: &[Token]) -> Vec<usize> {
    match meant {
        TokensMeant::All => (0..tokens.len()).collect(),
        TokensMeant::Words => (0..tokens.len()).filter(|at| !tokens[*at].special).collect(),
        TokensMeant::Last => tokens.len().checked_sub(1).into_iter().collect(),
    }
}
