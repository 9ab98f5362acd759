//! Changes whose numbers come from other runs of the same model: rows of another input, the mean over many inputs.

use std::{path::Path, sync::Arc};

use super::{
    Stop,
    corpus::{check_kind, chunk_size, input_of, packs, read, run_pack},
};
use crate::{
    capture::{Capture, Direction, Edit, Matrix, MeanOf, Patch, Site, TextPart, Token},
    corpus::list::{InputList, ListOptions},
    ids::{HeadId, ModelId},
    model::{Control, Encoded, Logits, Model, ModelError, Preparation, Progress, RunPlan, Sites, Stage},
    protocol::{Between, Failure, LeftOut, MeanInputs, PatchSource, PatchedRows},
    spec::ModelSpec,
    text::{counted, grouped, sentence},
};

/// Tokens that go through the model at once.
const PACK_TOKENS: usize = 768;
/// Means that are kept, so that another change beside them takes no longer.
const MAX_KEPT: usize = 32;
/// Inputs that a sentence names; more are counted.
const NAMED: usize = 3;
/// The largest number of a direction, of the largest of both means, that is rounding and no difference.
const ROUNDING: f32 = 1e-6;

/// Takes note of the progress and says whether to go on; beside it, what a person should know about the inputs.
type Watched<'a> = (&'a Control<'a>, &'a mut Vec<String>);

/// A mean, and what a person should know about its inputs.
#[derive(Clone, Debug)]
struct Mean {
    values: Vec<f32>,
    notes: Vec<String>,
}

/// A mean that was taken.
#[derive(Debug)]
struct CachedMean {
    model: ModelId,
    rows: PatchedRows,
    over: (MeanInputs, MeanOf),
    mean: Mean,
}

/// Means that were taken, the newest last.
#[derive(Debug, Default)]
pub struct Means(Vec<CachedMean>);

impl Means {
    /// Forgets those of a model.
    pub(super) fn forget(&mut self, model: ModelId) {
        self.0.retain(|taken| taken.model != model);
    }

    /// The mean of a site over tokens of all inputs; positions of `rows` are not looked at.
    pub(super) fn of(
        &mut self,
        (id, model): (ModelId, &Model),
        rows: &PatchedRows,
        (over, of): (&MeanInputs, MeanOf),
        (control, said): Watched<'_>,
    ) -> Result<Vec<f32>, Stop> {
        let rows = PatchedRows { positions: Vec::new(), ..rows.clone() };
        let is_it = |taken: &&CachedMean| {
            taken.model == id && taken.rows == rows && taken.over.0 == *over && taken.over.1 == of
        };
        let mean = if let Some(known) = self.0.iter().find(is_it) {
            known.mean.clone()
        } else {
            let mean = mean(model, &rows, (over, of), control)?;
            if self.0.len() >= MAX_KEPT {
                self.0.remove(0);
            }
            self.0.push(CachedMean { model: id, rows, over: (over.clone(), of), mean: mean.clone() });
            mean
        };
        said.extend(mean.notes);
        Ok(mean.values)
    }

    /// The change of a run along the difference of the means of two sets of inputs (Turner et al. 2023; Marks and
    /// Tegmark 2023). Sentences about what was cut or left out of them are added to `said`.
    ///
    /// # Errors
    /// When a site has heads or is not there, no input of a set can be read, both means are the same, or somebody says
    /// stop.
    pub fn direction(
        &mut self,
        of: (ModelId, &Model),
        wanted: &Between,
        (control, said): (&Control<'_>, &mut Vec<String>),
    ) -> Result<Edit, Stop> {
        let Between { rows, plus, minus, mean, along } = wanted;
        let refused = |why: String| Stop::from(ModelError::Edit(why));
        if rows.site.is_per_head() {
            let site = rows.site.name();
            return Err(refused(format!(
                "{site} is a site of heads: a direction belongs to the residual stream or an MLP"
            )));
        }
        let a = self.of(of, rows, (plus, *mean), (control, &mut *said))?;
        let b = self.of(of, rows, (minus, *mean), (control, said))?;
        let vector: Vec<f32> = a.iter().zip(&b).map(|(a, b)| a - b).collect();
        let largest = |values: &[f32]| values.iter().fold(0.0_f32, |most, value| most.max(value.abs()));
        if largest(&vector) <= ROUNDING * largest(&a).max(largest(&b)) {
            let (plus, minus) = (plus.name(), minus.name());
            return Err(refused(format!(
                "{plus} and {minus} have the same mean there, so the direction between them is 0: give lists that \
                 differ, or take another mean"
            )));
        }
        let PatchedRows { site, stack, layer, ref positions, .. } = *rows;
        Ok(Edit::Direction(Direction {
            site,
            stack,
            layer,
            positions: positions.clone(),
            vector,
            along: *along,
            of: Some(wanted.of()),
        }))
    }
}

/// Inputs of a list: all of them, which of them are meant, how they are prepared.
fn listed(over: &MeanInputs) -> Result<(Arc<InputList>, Vec<usize>, Preparation), Stop> {
    Ok(match over {
        MeanInputs::Bundled(name) => {
            let failure = |error| Failure { summary: sentence(&format!("{error}")), details: String::new() };
            let list = read(Path::new(name), &ListOptions::default()).map_err(|error| Stop::Failed(failure(error)))?;
            let sources = (0..list.items.len()).collect();
            (Arc::new(list), sources, Preparation::default())
        }
        MeanInputs::Listed { list, sources, how, .. } => (Arc::clone(list), sources.clone(), *how),
    })
}

/// Why a model has no such rows of any input, in words.
fn missing(spec: &ModelSpec, rows: &PatchedRows) -> Option<String> {
    let Some(stack) = spec.stack(rows.stack) else {
        let names: Vec<&str> = spec.stacks.iter().map(|stack| stack.kind.name()).collect();
        return Some(format!("there is no stack {}, only {}", rows.stack.name(), names.join(", ")));
    };
    let n = stack.layers.len();
    (rows.site.is_of_layer() && rows.layer >= n)
        .then(|| format!("there is no layer {} of the stack {}, which has {n}", rows.layer, rows.stack.name()))
}

/// Why a run has no such rows, in words.
fn unrecorded(rows: &PatchedRows) -> Stop {
    let site = rows.site.name();
    let why = if rows.stack.is_cross() {
        let host = rows.stack.host();
        format!("cross-attention has no {site} of its own: its queries are tokens of the {host}, so take that stack")
    } else {
        format!("this model has no {site} in the stack {}", rows.stack.name())
    };
    ModelError::Edit(why).into()
}

/// Rows that were added up.
#[derive(Default)]
struct Sum {
    values: Vec<f64>,
    weight: f64,
}

impl Sum {
    fn add(&mut self, of: MeanOf, values: &Matrix, tokens: &[Token]) {
        let positions = counted_among(of, tokens);
        let share = if of == MeanOf::Texts { 1.0 / positions.len() as f64 } else { 1.0 };
        self.values.resize(values.n_cols(), 0.0);
        for row in positions.into_iter().filter_map(|at| values.row(at)) {
            self.values.iter_mut().zip(row).for_each(|(sum, value)| *sum += share * f64::from(*value));
            self.weight += share;
        }
    }
}

/// The mean of a site over tokens of all inputs. One that cannot be read is left out, as it is of a corpus.
fn mean(
    model: &Model,
    rows: &PatchedRows,
    (over, of): (&MeanInputs, MeanOf),
    control: &Control<'_>,
) -> Result<Mean, Stop> {
    if let Some(why) = missing(model.spec(), rows) {
        return Err(ModelError::Edit(why).into());
    }
    let (list, sources, how) = listed(over)?;
    check_kind(model.spec(), &list)?;
    let sources: Vec<usize> = sources.into_iter().filter(|source| *source < list.items.len()).collect();
    let are_pictures = list.items.first().is_some_and(|item| item.content.text().is_none());
    let total = sources.len();
    let plan = plan(rows.site, rows.layer);
    let (mut sum, mut cut, mut left_out) = (Sum::default(), Vec::new(), Vec::new());
    for (nth, chunk) in sources.chunks(chunk_size(are_pictures)).enumerate() {
        let done = nth * chunk_size(are_pictures);
        let mut ready: Vec<Option<(usize, Encoded)>> = Vec::new();
        for (n, source) in chunk.iter().enumerate() {
            control(Progress { stage: Stage::Encode, done: done + n, total })?;
            match model.encode(&input_of(&list.items[*source].content, how)) {
                Ok(encoded) => {
                    cut.extend(encoded.input.part.map(|part| (*source, part)));
                    ready.push(Some((*source, encoded)));
                }
                Err(error) => left_out.push(LeftOut::of(&list, *source, error.to_string())),
            }
        }
        let n_tokens = |input: &Encoded| input.tokens.values().map(Vec::len).sum::<usize>();
        let lengths: Vec<usize> = ready.iter().flatten().map(|(_, input)| n_tokens(input)).collect();
        for pack in packs(&lengths, PACK_TOKENS) {
            let (sources, inputs): (Vec<usize>, Vec<Encoded>) =
                pack.into_iter().filter_map(|at| ready[at].take()).unzip();
            for (source, run) in sources.into_iter().zip(run_pack(model, &inputs, &plan, control)?) {
                match run {
                    Ok(capture) => {
                        let values = matrix(&capture, rows).ok_or_else(|| unrecorded(rows))?;
                        sum.add(of, &values, capture.tokens(rows.stack.query_side()));
                    }
                    Err(error) => left_out.push(LeftOut::of(&list, source, error.to_string())),
                }
            }
        }
    }
    if sum.weight <= 0.0 {
        let (what, name) = (rows.what(), over.name());
        let why = match left_out.first() {
            Some(LeftOut { name: first, reason, .. }) if left_out.len() == total => {
                format!("none of its inputs can be read by this model, the first of them “{first}” because {reason}")
            }
            _ if total == 0 => "it has no inputs".to_owned(),
            _ => "its inputs have no tokens but special ones".to_owned(),
        };
        return Err(ModelError::Edit(format!("{what} has no mean over {name}: {why}")).into());
    }
    let values = sum.values.into_iter().map(|value| (value / sum.weight) as f32).collect();
    Ok(Mean { values, notes: told(&list, over.name(), total, (&cut, &left_out)) })
}

/// Sentences about inputs that were read in part, and about those that were not read.
fn told(
    list: &InputList,
    name: &str,
    total: usize,
    (cut, left_out): (&[(usize, TextPart)], &[LeftOut]),
) -> Vec<String> {
    let named = |items: Vec<String>, n: usize| {
        let more = if n > NAMED { format!(" and {} more", grouped(n - NAMED)) } else { String::new() };
        format!("{}{more}", items.join(", "))
    };
    let mut notes = Vec::new();
    if !left_out.is_empty() {
        let first = left_out.iter().take(NAMED).map(|LeftOut { name, reason, .. }| format!("“{name}” ({reason})"));
        let (n, which) = (grouped(left_out.len()), named(first.collect(), left_out.len()));
        notes.push(format!("Left out, as they cannot be read: {n} of {} of {name}: {which}", counted(total, "input")));
    }
    if !cut.is_empty() {
        let first = cut.iter().take(NAMED).map(|(source, TextPart { keep, n_read, of, .. })| {
            let text = LeftOut::of(list, *source, String::new()).name;
            format!("“{text}” ({of} tokens, of which the {} {} are read)", keep.name(), grouped(*n_read))
        });
        let (n, which) = (grouped(cut.len()), named(first.collect(), cut.len()));
        notes.push(format!("Read in part: {n} of {} of {name}: {which}", counted(total, "input")));
    }
    notes
}

fn plan(site: Site, layer: usize) -> RunPlan {
    let layers = site.is_of_layer().then(|| vec![layer]);
    RunPlan { sites: Sites::of(&[site]), layers, logits: Logits::Skip, ..RunPlan::default() }
}

/// The recorded values of a site, one row per token.
fn matrix(capture: &Capture, rows: &PatchedRows) -> Option<Matrix> {
    let PatchedRows { site, stack, layer, head, .. } = *rows;
    if site.is_of_sequence() {
        return capture.of_sequence(stack.sequence()?, site).cloned();
    }
    let recorded = capture.stack(stack)?;
    match head {
        Some(head) => recorded.layers.get(layer)?.per_head(site)?.head(head),
        None => recorded.rows(site, layer).cloned(),
    }
}

/// The patch that puts rows of another run in their place here.
pub(super) fn taken(
    model: &Model,
    rows: PatchedRows,
    donor: &PatchSource,
    (control, said): Watched<'_>,
) -> Result<Edit, Stop> {
    let encoded = model.encode(&donor.input)?;
    said.extend(encoded.notes.iter().map(|note| format!("“{}”: {note}", donor.name)));
    let (edits, generate) = (donor.edits.clone(), donor.generation.clone());
    let plan = RunPlan { edits, generate, ..plan(rows.site, rows.layer) };
    let capture = model.forward(&encoded, &plan, control)?;
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
    let PatchedRows { site, stack, layer, head, positions } = rows;
    let shape = [positions.len(), there.n_cols()];
    let value = Matrix::new(values, shape).map_err(|error| refused(error.to_string()))?;
    Ok(Edit::Patch(Patch { site, stack, layer, head, positions, value }))
}

/// The patch that puts a mean in the place of what a head adds, at all of `n` tokens.
pub(super) fn everywhere(head: HeadId, mean: &[f32], n: usize) -> Result<Edit, Stop> {
    let value = Matrix::new(mean.repeat(n), [n, mean.len()]).map_err(|error| ModelError::Edit(error.to_string()))?;
    let HeadId { stack, layer, head } = head;
    Ok(Edit::Patch(Patch { site: Site::Z, stack, layer, head: Some(head), positions: (0..n).collect(), value }))
}

/// The positions of a sequence that count.
fn counted_among(of: MeanOf, tokens: &[Token]) -> Vec<usize> {
    match of {
        MeanOf::All => (0..tokens.len()).collect(),
        MeanOf::Words | MeanOf::Texts => (0..tokens.len()).filter(|at| !tokens[*at].special).collect(),
        MeanOf::Last => tokens.len().checked_sub(1).into_iter().collect(),
    }
}
