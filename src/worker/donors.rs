//! Changes whose numbers come from other runs of the same model: rows of another input, the mean over many inputs.

use std::{path::Path, sync::Arc};

use super::{
    Failure, Generation, Input, JobControl, Stop,
    corpus::{check_kind, input_of, packs, read, run_pack},
};
use crate::{
    capture::{Along, Capture, Edit, Matrix, Site, Token},
    corpus::list::{InputList, ListOptions},
    ids::{HeadId, ModelId, StackKind},
    model::{Control, Encoded, Logits, Model, ModelError, RunPlan, Sites},
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
    pub site: Site,
    pub stack: StackKind,
    /// Layer, from 0.
    pub layer: usize,
    /// Which head of a site that has heads.
    pub head: Option<usize>,
    pub positions: Vec<usize>,
}

/// Another run of the same model, from which rows are taken.
#[derive(Clone, Debug, PartialEq)]
pub struct Donor {
    pub name: String,
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
        list: Arc<InputList>,
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

/// Which tokens of an input count towards a mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TokensMeant {
    /// All of them.
    #[default]
    All,
    /// All but special ones.
    Words,
    /// The last one, special or not: where a decoder says how it goes on.
    Last,
}

impl TokensMeant {
    /// Every choice.
    pub const ALL: [Self; 3] = [Self::All, Self::Words, Self::Last];

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Words => "words",
            Self::Last => "last",
        }
    }

    /// The positions of a sequence that count.
    fn of(self, tokens: &[Token]) -> Vec<usize> {
        match self {
            Self::All => (0..tokens.len()).collect(),
            Self::Words => (0..tokens.len()).filter(|at| !tokens[*at].special).collect(),
            Self::Last => tokens.len().checked_sub(1).into_iter().collect(),
        }
    }
}

/// A mean that was taken.
#[derive(Debug)]
struct Mean {
    model: ModelId,
    rows: Rows,
    over: (Many, TokensMeant),
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
        (over, tokens): (&Many, TokensMeant),
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
        Ok(wanted.edit(&plus, &minus))
    }
}

/// A direction between two sets of inputs, and what is done with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Between {
    /// Where: a site without heads, and the rows that are changed, all where none are named.
    pub rows: Rows,
    pub plus: Many,
    /// Inputs that it leads away from.
    pub minus: Many,
    pub tokens: TokensMeant,
    pub along: Along,
}

impl Between {
    /// The change, from the two means (Turner et al. 2023; Marks and Tegmark 2023).
    fn edit(&self, plus: &[f32], minus: &[f32]) -> Edit {
        let Rows { site, stack, layer, ref positions, .. } = self.rows;
        let vector = plus.iter().zip(minus).map(|(plus, minus)| plus - minus).collect();
        Edit::Direction { site, stack, layer, positions: positions.clone(), vector, along: self.along }
    }
}

/// The change of a run along the difference of the means of two sets of inputs.
///
/// # Errors
/// When a site has heads or is not there, no input of a set can be read, or somebody says stop.
pub fn direction(model: &Model, wanted: &Between, control: &Control<'_>) -> Result<Edit, Stop> {
    let Between { rows, plus, minus, tokens, .. } = wanted;
    let (plus, minus) = (mean(model, rows, (plus, *tokens), control)?, mean(model, rows, (minus, *tokens), control)?);
    Ok(wanted.edit(&plus, &minus))
}

/// The mean of a site over tokens of all inputs.
fn mean(
    model: &Model,
    rows: &Rows,
    (over, tokens): (&Many, TokensMeant),
    control: &Control<'_>,
) -> Result<Vec<f32>, Stop> {
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
    let plan = plan(rows.site, rows.layer);
    let (mut sums, mut n): (Vec<f64>, usize) = (Vec::new(), 0);
    for pack in packs(&lengths, PACK_TOKENS) {
        let inputs: Vec<Encoded> = pack.into_iter().filter_map(|at| waiting[at].take()).collect();
        for capture in run_pack(model, &inputs, &plan, control).map_err(|_| Stop::Cancelled)?.into_iter().flatten() {
            let Some(values) = matrix(&capture, rows) else { continue };
            sums.resize(values.n_cols(), 0.0);
            for row in tokens.of(capture.tokens(rows.stack.query_side())).into_iter().filter_map(|at| values.row(at)) {
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
