//! One run's bookkeeping: at every site it applies edits (see `edits`), taps it for its gradient,
//! records, and between steps asks whether to go on.
//!
//! With an empty plan every call hands its tensor back untouched, so recording cannot change numbers.

pub(crate) mod edits;
mod plan;
mod progress;
mod recording;
pub(crate) mod uniformity;

use std::{collections::BTreeMap, ops::Range};

use candle_core::{DType, Tensor, Var};
use rayon::prelude::*;

pub(crate) use self::recording::{Recorded, RecordedSites};
use self::{
    edits::{added_to_mlp, apply},
    recording::Recording,
};
pub use self::{
    plan::{Generation, Logits, RunPlan, Taps, TokenChoice},
    progress::{Control, Progress, Stage, uninterrupted},
};
pub use crate::capture::{Edit, Site, Sites};
use crate::{
    capture::changes::Intervention,
    ids::{HeadId, Side, StackKind},
    model::ModelError,
    spec::StackSpec,
};

/// Where in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct At {
    pub stack: StackKind,
    pub layer: usize,
}

impl At {
    /// Where a sequence enters a stack.
    pub const fn entry(stack: StackKind) -> Self {
        Self { stack, layer: 0 }
    }

    /// The first head there.
    pub const fn first_head(self) -> HeadId {
        HeadId { stack: self.stack, layer: self.layer, head: 0 }
    }
}

pub(crate) struct Run<'a> {
    plan: &'a RunPlan,
    control: &'a Control<'a>,
    /// Layers of all stacks together; guests belong to the layers that they stand in.
    n_layers: usize,
    n_done: usize,
    /// What is recorded of each input of the pass; one, unless several are packed into it.
    inputs: Vec<Recording>,
    /// Rows of each input where several are packed: their sequences lie one after the other.
    rows: Rows,
    /// The input that values are of; `None` where they are of all packed inputs.
    input: Option<usize>,
    /// The layer whose queries and keys are the last things that anybody wants.
    last: Option<usize>,
    taps: Taps,
    /// Zeros that were added to sites: their gradients are those of the sites.
    tapped: Vec<Tapped>,
    /// Which of the plan's edits have changed something.
    edited: Vec<bool>,
    /// Changes of each packed input alone; empty where there are none.
    own: Vec<&'a [Edit]>,
    /// What the network has to say about this input.
    notes: Vec<String>,
}

/// Zeros that were added to a site.
pub(crate) struct Tapped {
    pub site: Site,
    pub at: At,
    pub zeros: Var,
    /// The site with them; `None` where its rows come one after the other.
    pub value: Option<Tensor>,
}

/// Which rows of a site are there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub first: usize,
    pub n: usize,
    /// How many there are in all.
    pub of: usize,
}

impl Span {
    /// All rows of a site's value.
    fn of(x: &Tensor) -> Self {
        let n = x.dims().iter().rev().nth(1).copied().unwrap_or(0);
        Self { first: 0, n, of: n }
    }

    /// Whether no row is missing.
    pub const fn are_all(self) -> bool {
        self.n == self.of
    }
}

/// By side, the rows of each packed input in the joined sequence; empty in a pass with one input.
pub(crate) type Rows = BTreeMap<Side, Vec<Range<usize>>>;

/// One row of a site whose rows come one after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SiteRow {
    pub idx: usize,
    /// How many rows there will be.
    pub of: usize,
}

impl<'a> Run<'a> {
    pub fn new(plan: &'a RunPlan, stacks: &[StackSpec], taps: Taps, control: &'a Control<'a>) -> Self {
        Self { taps, ..Self::packed(plan, stacks, (1, Rows::new()), control) }
    }

    /// A run of `n` inputs at once, whose sequences lie one after the other as `rows` says. Without edits:
    /// their positions are those of one input.
    pub fn packed(plan: &'a RunPlan, stacks: &[StackSpec], (n, rows): (usize, Rows), control: &'a Control<'a>) -> Self {
        let own_layers = stacks.iter().filter(|spec| !spec.kind.is_guest() || stacks.len() == 1);
        Self {
            plan,
            control,
            n_layers: own_layers.map(|spec| spec.layers.len()).sum(),
            n_done: 0,
            inputs: (0..n).map(|_| Recording::new(stacks, plan.pattern_budget_bytes)).collect(),
            rows,
            input: None,
            last: None,
            taps: Taps::NONE,
            tapped: Vec::new(),
            edited: plan.edits.iter().map(edits::is_before_run).collect(),
            own: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// The same with changes of each packed input, whose positions are its own.
    #[must_use]
    pub fn with_own_edits(mut self, own: Vec<&'a [Edit]>) -> Self {
        if own.iter().any(|edits| !edits.is_empty()) {
            self.own = own;
        }
        self
    }

    /// Lets the run of a model with one stack end with the queries and keys of the last layer that is wanted,
    /// where nothing that comes later is recorded, edited or predicted.
    pub fn end_early(&mut self) {
        let Self { plan, .. } = self;
        let wanted = |site: &Site| plan.sites.contains(*site);
        let later = Site::ALL.iter().any(|site| wanted(site) && *site > Site::V);
        let is_silent = plan.logits == Logits::Skip && plan.edits.is_empty() && self.own.is_empty() && !self.taps.any();
        if is_silent && !later && Site::ALL.iter().any(wanted) {
            let last = self.n_layers.saturating_sub(1);
            let wanted = plan.layers.as_ref().map_or(last, |layers| layers.iter().copied().max().unwrap_or(0));
            self.last = Some(wanted.min(last));
        }
    }

    /// Whether the run ends with the queries and keys of this layer.
    pub fn ends_at(&self, at: At) -> bool {
        self.last == Some(at.layer)
    }

    /// Which packed input the next values are of; `None` for all of them, one after the other.
    pub const fn enter(&mut self, input: Option<usize>) {
        self.input = input;
    }

    /// Between steps: reports progress and stops if asked to.
    pub fn checkpoint(&self) -> Result<(), ModelError> {
        Ok((self.control)(Progress { stage: Stage::Forward, done: self.n_done, total: self.n_layers })?)
    }

    /// A sentence about this input that the user must see.
    pub fn note(&mut self, sentence: String) {
        self.notes.push(sentence);
    }

    /// One more layer has run.
    pub const fn layer_done(&mut self) {
        self.n_done += 1;
    }

    /// Whether this run does anything at a site. Callers skip building a view that nobody looks at.
    pub fn needs(&self, site: Site, at: At) -> bool {
        self.records(site, at) || self.changes(site, at)
    }

    /// Whether gradients will be asked for, so that every value must stay as it is.
    pub const fn is_differentiated(&self) -> bool {
        self.taps.any()
    }

    /// Whether patterns count as given on the way back.
    pub const fn fixes_patterns(&self) -> bool {
        self.taps.fixed_patterns
    }

    /// Whether this run edits or taps a site, so that what follows must be computed from it.
    pub fn changes(&self, site: Site, at: At) -> bool {
        self.edits(site, at) || self.is_tapped(site, at)
    }

    /// Whether this run changes anything at a site.
    pub fn edits(&self, site: Site, at: At) -> bool {
        let touched = |edits: &[Edit]| edits.iter().any(|edit| edit.touches(site, at.stack, at.layer));
        match self.input {
            _ if touched(&self.plan.edits) => true,
            Some(input) => self.own.get(input).is_some_and(|edits| touched(edits)),
            None => self.own.iter().any(|edits| touched(edits)),
        }
    }

    /// What the changes of single packed inputs make of a value.
    fn own_edits(&self, site: Site, at: At, x: Tensor) -> Result<Tensor, ModelError> {
        let changed = |edits: &[Edit], x: Tensor| {
            let mut touching = edits.iter().filter(|edit| edit.touches(site, at.stack, at.layer));
            touching.try_fold(x, |x, edit| apply(edit, at, Span::of(&x), &x))
        };
        if let Some(input) = self.input {
            return changed(self.own.get(input).copied().unwrap_or(&[]), x);
        }
        let Some(rows) = self.rows.get(&side_of(site, at)) else { return Ok(x) };
        let tokens = x.rank() - 2;
        let mut parts = Vec::with_capacity(rows.len());
        for (rows, edits) in rows.iter().zip(&self.own) {
            parts.push(changed(edits, x.narrow(tokens, rows.start, rows.len())?)?);
        }
        Ok(Tensor::cat(&parts, tokens)?)
    }

    fn is_tapped(&self, site: Site, at: At) -> bool {
        self.taps.sites.contains(site) && self.is_wanted(site, at)
    }

    /// Whether the plan is about this layer.
    fn is_wanted(&self, site: Site, at: At) -> bool {
        !site.is_of_layer() || self.plan.layers.as_ref().is_none_or(|layers| layers.contains(&at.layer))
    }

    /// Passes a site's value on, after edits, tap and recording.
    pub fn at(&mut self, site: Site, at: At, mut x: Tensor) -> Result<Tensor, ModelError> {
        let plan = self.plan;
        for (edit, edited) in plan.edits.iter().zip(&mut self.edited) {
            if edit.touches(site, at.stack, at.layer) {
                x = apply(edit, at, Span::of(&x), &x)?;
                *edited = true;
            }
        }
        if !self.own.is_empty() && self.edits(site, at) {
            x = self.own_edits(site, at, x)?;
        }
        if self.is_tapped(site, at) {
            let zeros = Var::zeros(x.shape(), DType::F32, x.device())?;
            x = (x + zeros.as_tensor())?;
            self.tapped.push(Tapped { site, at, zeros, value: Some(x.clone()) });
        }
        if self.records(site, at) {
            self.record(site, at, &x)?;
        }
        Ok(x)
    }

    /// Passes one row `[heads, 1, width]` on, or `[1, width]` of a site without heads, after edits and tap. It is not recorded: that is done for all
    /// rows together, by [`Self::record`].
    pub fn row(&mut self, site: Site, at: At, row: SiteRow, mut x: Tensor) -> Result<Tensor, ModelError> {
        let plan = self.plan;
        for (edit, edited) in plan.edits.iter().zip(&mut self.edited) {
            if edit.touches(site, at.stack, at.layer) {
                x = apply(edit, at, Span { first: row.idx, n: 1, of: row.of }, &x)?;
                *edited = true;
            }
        }
        if self.is_tapped(site, at) {
            let axis = x.rank() - 2;
            let known = self.tapped.iter().find(|tapped| tapped.site == site && tapped.at == at);
            let zeros = if let Some(tapped) = known {
                tapped.zeros.clone()
            } else {
                let mut shape = x.dims().to_vec();
                shape[axis] = row.of;
                let zeros = Var::zeros(shape, DType::F32, x.device())?;
                self.tapped.push(Tapped { site, at, zeros: zeros.clone(), value: None });
                zeros
            };
            x = (x + zeros.narrow(axis, row.idx, 1)?)?;
        }
        Ok(x)
    }

    /// Whether this run looks at the inside of a layer's MLP, which has such sites, or changes what it adds.
    pub fn sees_mlp(&self, at: At, has: impl Fn(Site) -> bool) -> bool {
        let is_of_mlp = |edit: &Edit| matches!(edit.kind().intervention(), Intervention::AddToMlp { .. });
        let own = self.own.iter().flat_map(|edits| edits.iter());
        self.is_differentiated()
            || Site::ALL.into_iter().any(|site| site.spec().is_of_mlp && has(site) && self.needs(site, at))
            || self.plan.edits.iter().chain(own).any(is_of_mlp)
    }

    /// What changes add to a layer's MLP, whose hidden layer is `[n, d_mlp]`; `None` without any.
    pub fn added_to_mlp(&mut self, at: At, hidden: &Tensor, d_model: usize) -> Result<Option<Tensor>, ModelError> {
        let plan = self.plan;
        let mut sum: Option<Tensor> = None;
        for (edit, edited) in plan.edits.iter().zip(&mut self.edited) {
            if let Some(added) = added_to_mlp(edit, at, hidden, d_model)? {
                *edited = true;
                sum = Some(sum.map_or_else(|| Ok(added.clone()), |sum| sum + &added)?);
            }
        }
        // Elsewhere the hidden layer may have only the rows that are read.
        let is_here = |edit: &Edit| matches!(edit.kind().intervention(), Intervention::AddToMlp { stack, layer, .. } if (stack, layer) == (at.stack, at.layer));
        let Some(rows) = self.rows.get(&at.stack.query_side()) else { return Ok(sum) };
        if !self.own.iter().any(|edits| edits.iter().any(is_here)) {
            return Ok(sum);
        }
        let mut parts = Vec::with_capacity(rows.len());
        for (rows, edits) in rows.iter().zip(&self.own) {
            let hidden = hidden.narrow(0, rows.start, rows.len())?.contiguous()?;
            let mut part = Tensor::zeros((rows.len(), d_model), DType::F32, hidden.device())?;
            for edit in *edits {
                if let Some(added) = added_to_mlp(edit, at, &hidden, d_model)? {
                    part = (part + added)?;
                }
            }
            parts.push(part);
        }
        let own = Tensor::cat(&parts, 0)?;
        Ok(Some(sum.map_or_else(|| Ok(own.clone()), |sum| sum + &own)?))
    }

    /// What was recorded.
    ///
    /// # Errors
    /// When an edit was of a site that this model never computes.
    pub fn finish(self) -> Result<Recorded, ModelError> {
        if let Some((edit, _)) = self.plan.edits.iter().zip(&self.edited).find(|(_, edited)| !**edited) {
            return Err(ModelError::Edit(format!("“{edit}” touches nothing that this model computes")));
        }
        let recording = self.inputs.into_iter().next().map(Recording::finish).unwrap_or_default();
        Ok(Recorded { tapped: self.tapped, notes: self.notes, ..recording })
    }

    /// What was recorded of each of the packed inputs.
    pub fn finish_packed(self) -> Vec<Recorded> {
        self.inputs.into_iter().map(Recording::finish).collect()
    }

    /// Whether this run keeps a site.
    pub fn records(&self, site: Site, at: At) -> bool {
        let sites = self.plan.sites;
        // Who wants patterns wants what a layer has in their place.
        let is_chosen = sites.contains(site) || (site == Site::Effective && sites.contains(Site::Pattern));
        is_chosen && self.is_wanted(site, at)
    }

    /// Whether so many values of a site of scores would be kept; one that is wanted and too large counts as left
    /// out.
    pub fn has_room(&mut self, site: Site, at: At, n_values: usize) -> bool {
        let wanted = self.records(site, at);
        let recording = self.inputs.get_mut(self.input.unwrap_or(0)).filter(|_| wanted);
        recording.is_some_and(|recording| recording.has_room(n_values))
    }

    /// Keeps a site, as long as patterns and scores are within the budget; of packed inputs each its part.
    pub fn record(&mut self, site: Site, at: At, x: &Tensor) -> Result<(), ModelError> {
        match (self.input, self.rows.get(&side_of(site, at))) {
            (None, Some(rows)) => {
                // Tokens are rows: of the stream, or of each head.
                let tokens = x.rank() - 2;
                // Each copy is small, all together are not: most of the time goes into memory that is new.
                self.inputs.par_iter_mut().zip(rows).try_for_each(|(recording, rows)| {
                    recording.record(site, at, &x.narrow(tokens, rows.start, rows.len())?)
                })
            }
            (input, _) => match self.inputs.get_mut(input.unwrap_or(0)) {
                Some(recording) => recording.record(site, at, x),
                None => Ok(()),
            },
        }
    }
}

/// Whose tokens the rows of a site are.
const fn side_of(site: Site, at: At) -> Side {
    if site.is_of_keys() { at.stack.key_side() } else { at.stack.query_side() }
}
