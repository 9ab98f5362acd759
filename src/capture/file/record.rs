//! Values into the places they belong to, each checked for what its name says it is.

use std::{
    collections::BTreeMap,
    io::{Read, Seek},
};

use super::{
    FileError,
    entry::CheckedTensor,
    place::{TensorSlot, What},
    values::{self, RowNotes, RowRules},
};
use crate::{
    capture::{
        AppliedEdit, Computation, LayerCapture, Matrix, PerHead, RgbaBuffer, Scorer, Site, SiteValue, SiteValues,
        StackCapture, Token,
    },
    ids::{HeadId, Side, StackKind},
    spec::StackSpec,
};

/// What the tensors of one input held.
pub(super) struct Recorded {
    pub(super) stacks: Vec<StackCapture>,
    pub(super) sequences: BTreeMap<Side, SiteValues>,
    pub(super) logits: Option<Matrix>,
    pub(super) picture: Option<RgbaBuffer>,
    n_keys: BTreeMap<StackKind, usize>,
    /// The tensors in whose rows the most deviates or is missing, if it is worth a note.
    deviating: Option<(f64, String)>,
    missing: Option<(f64, String)>,
}

/// Reads the values of `tensors`, whose shapes were checked against `specs`.
pub(super) fn read(
    mut tensors: Vec<(TensorSlot, CheckedTensor)>,
    source: &mut (impl Read + Seek),
    (specs, tokens): (&[StackSpec], &BTreeMap<Side, Vec<Token>>),
    computation: &Computation,
    notes: &mut Vec<String>,
) -> Result<Recorded, FileError> {
    let stacks = specs.iter().map(|spec| StackCapture::empty(spec.kind, spec.layers.len())).collect();
    let n_keys = |spec: &StackSpec| (spec.kind, tokens.get(&spec.kind.key_side()).map_or(0, Vec::len));
    let mut recorded = Recorded {
        stacks,
        sequences: BTreeMap::new(),
        logits: None,
        picture: None,
        n_keys: specs.iter().map(n_keys).collect(),
        deviating: None,
        missing: None,
    };
    // Rows are only whole with their sinks.
    tensors.sort_by_key(|(place, _)| !matches!(place, TensorSlot::Layer { what: What::Sink, .. }));
    for (place, entry) in tensors {
        recorded.take(place, &entry, computation, source)?;
    }
    if let Some((deviation, name)) = &recorded.deviating {
        notes.push(format!("Rows of {name} miss a sum of 1 by up to {deviation:.4}"));
    }
    if let Some((missing, name)) = &recorded.missing {
        notes.push(format!("Rows are incomplete, as the file says: those of {name} lack up to {missing:.2} of 1"));
    }
    let sinks = || recorded.stacks.iter().flat_map(|stack| &stack.layers).filter_map(|layer| layer.sink.as_ref());
    if let Some(most) = sinks().flat_map(Matrix::as_slice).copied().reduce(f32::max) {
        notes.push(format!("Up to {most:.2} of a row went to a learned sink, which is not a token"));
    }
    Ok(recorded)
}

impl Recorded {
    fn take(
        &mut self,
        place: TensorSlot,
        entry: &CheckedTensor,
        computation: &Computation,
        source: &mut (impl Read + Seek),
    ) -> Result<(), FileError> {
        match place {
            TensorSlot::Picture => self.picture = Some(picture(entry, source)?),
            TensorSlot::Logits => {
                let shape = if let [n_classes] = entry.shape[..] { [1, n_classes] } else { entry.shape_of()? };
                self.logits = Some(matrix(entry, shape, source)?);
            }
            TensorSlot::Global(stack) => {
                let flags = entry.read(source)?;
                values::check_finite(entry, &flags)?;
                if let Some(stack) = self.stack(stack) {
                    stack.global = (0..flags.len()).filter(|position| flags[*position] != 0.0).collect();
                }
            }
            TensorSlot::Stack { stack, site } => self.take_site((stack, 0, site), entry, computation, source)?,
            TensorSlot::Sequence { side, site } => {
                let value = matrix(entry, entry.shape_of()?, source)?;
                self.sequences.entry(side).or_default().set(site, value);
            }
            TensorSlot::Layer { stack, layer, what: What::Sink } => {
                let data = matrix(entry, entry.shape_of()?, source)?;
                values::check_sink(entry, data.as_slice())?;
                if let Some(layer) = self.layer(stack, layer) {
                    layer.sink = Some(data);
                }
            }
            TensorSlot::Layer { stack, layer, what: What::Bias } => {
                let data = entry.read(source)?;
                values::check_finite(entry, &data)?;
                // Layers that share a bias have it once in memory, as in a run.
                let shape: [usize; 3] = entry.shape_of()?;
                let known =
                    self.stack(stack).into_iter().flat_map(|stack| &stack.layers).filter_map(|it| it.bias.clone());
                let known = known.filter(|bias| bias.shape() == shape).find(|bias| bias.as_slice() == &*data);
                let built = || PerHead::new(data, shape);
                let bias = known.map_or_else(built, Ok).map_err(|e| FileError::tensor(&entry.name, e.to_string()))?;
                if let Some(layer) = self.layer(stack, layer) {
                    layer.bias = Some(bias);
                }
            }
            TensorSlot::Layer { stack, layer, what: what @ (What::GlobalKeys | What::GlobalValues) } => {
                let data = entry.read(source)?;
                values::check_finite(entry, &data)?;
                let data = PerHead::new(data, entry.shape_of()?);
                let data = data.map_err(|error| FileError::tensor(&entry.name, error.to_string()))?;
                if let Some(layer) = self.layer(stack, layer) {
                    let slot = if what == What::GlobalKeys { &mut layer.k_global } else { &mut layer.v_global };
                    *slot = Some(data);
                }
            }
            TensorSlot::Layer { stack, layer, what: What::Scorer(bend) } => {
                let rows = matrix(entry, entry.shape_of()?, source)?;
                values::check_finite(entry, rows.as_slice())?;
                let scorer = Scorer::new(bend, rows, self.n_keys.get(&stack).copied().unwrap_or(0));
                let scorer = scorer.map_err(|error| FileError::tensor(&entry.name, error.to_string()))?;
                if let Some(layer) = self.layer(stack, layer) {
                    layer.scorer = Some(scorer);
                }
            }
            TensorSlot::Layer { stack, layer, what: What::Site(site) } => {
                self.take_site((stack, layer, site), entry, computation, source)?;
            }
        }
        Ok(())
    }

    fn take_site(
        &mut self,
        (stack, layer, site): (StackKind, usize, Site),
        entry: &CheckedTensor,
        computation: &Computation,
        source: &mut (impl Read + Seek),
    ) -> Result<(), FileError> {
        let data = entry.read(source)?;
        match site {
            Site::Pattern => {
                let sink = self.layer(stack, layer).and_then(|layer| layer.sink.clone());
                let rows = RowRules {
                    partial: computation.partial_rows,
                    sink: sink.as_ref().map(Matrix::as_slice),
                    free: &heads_that((stack, layer, entry.shape[0]), |head| is_written(computation, head)),
                    unsummed: &heads_that((stack, layer, entry.shape[0]), |head| {
                        !computation.normalizer_of(head).sums_to_one()
                    }),
                    may_be_empty: !computation.edits.is_empty(),
                };
                let RowNotes { deviation, missing } = values::check_pattern(entry, &data, &rows)?;
                for (worst, found) in [(&mut self.deviating, deviation), (&mut self.missing, missing)] {
                    if found > worst.as_ref().map_or(0.0, |(known, _)| *known) {
                        *worst = Some((found, entry.name.clone()));
                    }
                }
            }
            Site::Scores => values::check_scores(entry, &data)?,
            _ => values::check_finite(entry, &data)?,
        }
        let value = SiteValue::new(site, data, &entry.shape);
        let value = value.map_err(|error| FileError::tensor(&entry.name, error.to_string()))?;
        if let Some(sites) = self.stack(stack).and_then(|stack| stack.sites_mut(site, layer)) {
            sites.set(site, value);
        }
        Ok(())
    }

    fn stack(&mut self, kind: StackKind) -> Option<&mut StackCapture> {
        self.stacks.iter_mut().find(|stack| stack.kind == kind)
    }

    fn layer(&mut self, kind: StackKind, layer: usize) -> Option<&mut LayerCapture> {
        self.stack(kind)?.layers.get_mut(layer)
    }

    /// The largest weight above the diagonal of a stack's square patterns, if there is any.
    pub(super) fn beyond(&self, kind: StackKind) -> Option<f32> {
        let layers = self.stacks.iter().filter(|stack| stack.kind == kind).flat_map(|stack| &stack.layers);
        let above = layers.filter_map(|layer| layer.pattern()).filter_map(above_diagonal);
        above.reduce(f32::max).filter(|weight| *weight > 0.0)
    }

    /// Whether every pattern of a stack is square and zero above the diagonal.
    pub(super) fn looks_causal(&self, kind: StackKind) -> bool {
        let layers = self.stacks.iter().filter(|stack| stack.kind == kind).flat_map(|stack| &stack.layers);
        let mut patterns = layers.filter_map(|layer| layer.pattern()).peekable();
        patterns.peek().is_some() && patterns.all(is_causal)
    }
}

fn is_causal(pattern: &PerHead) -> bool {
    above_diagonal(pattern) == Some(0.0)
}

/// The largest weight above the diagonal; `None` where a pattern is not square or has none.
fn above_diagonal(pattern: &PerHead) -> Option<f32> {
    let [_, n_query, n_key] = pattern.shape();
    if n_query != n_key || n_key < 2 {
        return None;
    }
    let rows = pattern.as_slice().chunks_exact(n_key).enumerate();
    rows.flat_map(|(idx, row)| &row[idx % n_query + 1..]).copied().reduce(f32::max)
}

/// Some heads of a layer.
fn heads_that((stack, layer, n_heads): (StackKind, usize, usize), are: impl Fn(HeadId) -> bool) -> Vec<usize> {
    (0..n_heads).filter(|head| are(HeadId { stack, layer, head: *head })).collect()
}

/// Whether the run was given the rows of a head.
fn is_written(computation: &Computation, head: HeadId) -> bool {
    computation.edits.iter().filter_map(AppliedEdit::known).any(|edit| edit.replaces(Site::Pattern, head))
}

/// `[height, width, 3 or 4]` bytes.
fn picture(entry: &CheckedTensor, source: &mut (impl Read + Seek)) -> Result<RgbaBuffer, FileError> {
    let [height, width, n_channels @ (3 | 4)] = entry.shape[..] else {
        return Err(FileError::tensor(&entry.name, "has no height, width and three or four channels"));
    };
    let bytes = entry.read_bytes(source)?;
    let pixels = if n_channels == 4 {
        bytes
    } else {
        bytes.chunks_exact(3).flat_map(|pixel| [pixel[0], pixel[1], pixel[2], u8::MAX]).collect()
    };
    Ok(RgbaBuffer { width, height, pixels })
}

fn matrix(entry: &CheckedTensor, shape: [usize; 2], source: &mut (impl Read + Seek)) -> Result<Matrix, FileError> {
    let data = entry.read(source)?;
    values::check_finite(entry, &data)?;
    Matrix::new(data, shape).map_err(|error| FileError::tensor(&entry.name, error.to_string()))
}
