//! Changes whose numbers come from other runs of the same model: rows of another input, the mean over many inputs.

use std::{path::Path, sync::Arc};

use super::{
    Failure, Generation, Input, JobControl, Stop,
    corpus::{check_kind, input_of, packs, read, run_pack},
};
use crate::{
    capture::{Capture, Edit, Matrix, Site},
    corpus::list::{InputList, ListOptions},
    ids::{HeadId, ModelId, StackKind},
    model::{Encoded, Logits, Model, ModelError, RunPlan, Sites},
    text::sentence,
};

/// Inputs that a mean is taken over at most: more would change it by less than the model's own noise, and take long.
pub const MAX_MEANT: usize = 256;
/// Tokens that go through the model at once.
const PACK_TOKENS: usize = 768;
/// Means that are kept, so that another change beside them takes no longer.
const MAX_KEPT: usize = 32;

/// Rows of a site.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows {
    /// Where.
    pub site: Site,
    /// Of which stack.
    pub stack: StackKind,
    /// Layer, from 0.
    pub layer: usize,
    /// Which head of a site that has heads.
    pub head: Option<usize>,
    /// Which rows.
    pub positions: Vec<usize>,
}

/// Another run of the same model, from which rows are taken.
#[derive(Clone, Debug, PartialEq)]
pub struct Donor {
    /// What people call it.
    pub name: String,
    /// What it reads.
    pub input: Input,
    /// How it writes, where it does.
    pub generation: Option<Generation>,
    /// What it is changed by itself.
    pub edits: Vec<Edit>,
    /// Which of its rows are taken, one for each that is replaced; those at the same positions where none are named.
    pub positions: Option<Vec<usize>>,
}

/// Many inputs.
#[derive(Clone, Debug)]
pub enum Many {
    /// Those of a corpus inside the program.
    Bundled(&'static str),
    /// Those of a list, by their places.
    Listed {
        /// What people call the list.
        name: String,
        /// The list.
        list: Arc<InputList>,
        /// Their places.
        sources: Vec<usize>,
    },
}

impl PartialEq for Many {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Bundled(name), Self::Bundled(other)) => name == other,
            (Self::Listed { list, sources, .. }, Self::Listed { list: other, sources: others, .. }) => {
                Arc::ptr_eq(list, other) && sources == others
            }
            _ => false,
        }
    }
}

impl Many {
    /// What people call them.
    pub fn name(&self) -> &str {
        match self {
            Self::Bundled(name) => name,
            Self::Listed { name, .. } => name,
        }
    }
}

/// Means that were taken.
#[derive(Debug, Default)]
pub(super) struct Means(Vec<(ModelId, HeadId, Many, Vec<f32>)>);

impl Means {
    /// Forgets those of a model.
    pub fn forget(&mut self, model: ModelId) {
        self.0.retain(|(of, ..)| *of != model);
    }

    /// What a head adds on average, over all tokens of all inputs.
    pub fn of(
        &mut self,
        (id, model): (ModelId, &Model),
        head: HeadId,
        over: &Many,
        control: &JobControl,
    ) -> Result<Vec<f32>, Stop> {
        let known = self.0.iter().find(|(of, which, many, _)| *of == id && *which == head && many == over);
        if let Some((.., mean)) = known {
            return Ok(mean.clone());
        }
        let mean = mean(model, head, over, control)?;
        if self.0.len() >= MAX_KEPT {
            self.0.remove(0);
        }
        self.0.push((id, head, over.clone(), mean.clone()));
        Ok(mean)
    }
}

fn mean(model: &Model, head: HeadId, over: &Many, control: &JobControl) -> Result<Vec<f32>, Stop> {
    let list = match over {
        Many::Bundled(name) => {
            let summary = |error| Failure { summary: sentence(&format!("{error}")), details: String::new() };
            Arc::new(read(Path::new(name), &ListOptions::default()).map_err(|error| Stop::Failed(summary(error)))?)
        }
        Many::Listed { list, .. } => Arc::clone(list),
    };
    check_kind(model.spec(), &list)?;
    let sources: Vec<usize> = match over {
        Many::Bundled(_) => (0..list.items.len()).collect(),
        Many::Listed { sources, .. } => sources.clone(),
    };
    let items = sources.iter().filter_map(|source| list.items.get(*source)).take(MAX_MEANT);
    // One that cannot be read is left out, as it is of the corpus.
    let encoded: Vec<Encoded> = items.filter_map(|item| model.encode(&input_of(&item.content)).ok()).collect();
    let lengths: Vec<usize> = encoded.iter().map(|input| input.tokens.values().map(Vec::len).sum()).collect();
    let mut waiting: Vec<Option<Encoded>> = encoded.into_iter().map(Some).collect();
    let plan = plan(Site::Z, head.layer);
    let (mut sums, mut n): (Vec<f64>, usize) = (Vec::new(), 0);
    for pack in packs(&lengths, PACK_TOKENS) {
        let inputs: Vec<Encoded> = pack.into_iter().filter_map(|at| waiting[at].take()).collect();
        let go_on = |progress| control.report(progress);
        for capture in run_pack(model, &inputs, &plan, &go_on).map_err(|_| Stop::Cancelled)?.into_iter().flatten() {
            let rows = Rows {
                site: Site::Z,
                stack: head.stack,
                layer: head.layer,
                head: Some(head.head),
                positions: Vec::new(),
            };
            let Some(z) = matrix(&capture, &rows) else { continue };
            sums.resize(z.n_cols(), 0.0);
            for row in z.rows() {
                sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += f64::from(*value));
            }
            n += z.n_rows();
        }
    }
    if n == 0 {
        let why = format!("head {head} has no mean over {}: none of its inputs can be read by this model", over.name());
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
pub(super) fn taken(model: &Model, rows: Rows, donor: &Donor, control: &JobControl) -> Result<Edit, Stop> {
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
