//! Some inputs of a corpus, in an order, as they are looked at.

use std::{
    collections::BTreeMap,
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use super::{Corpus, HeadSpace, InputRow, Selection, TokenRow};
use crate::{
    capture::Matrix,
    ids::{CloudId, HeadId, Side, StackKind},
};

/// Selected inputs of a corpus with their tokens as points `0..n`, one input after the other. Never changes.
#[derive(Debug)]
pub struct CorpusView {
    id: u64,
    corpus: Arc<Corpus>,
    selection: Selection,
    /// Where each selected input's points begin, by side, and where the last one ends.
    starts: BTreeMap<Side, Vec<usize>>,
}

impl CorpusView {
    /// Inputs that the corpus does not have are left out.
    pub fn new(corpus: Arc<Corpus>, mut selection: Selection) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let n_inputs = corpus.inputs().len();
        selection.retain(|input| input < n_inputs);
        let starts_of = |side: Side| {
            let lengths = selection.inputs().iter().map(|input| corpus.inputs()[*input].tokens(side).len());
            let ends = lengths.scan(0, |end, n| {
                *end += n;
                Some(*end)
            });
            [0].into_iter().chain(ends).collect()
        };
        let starts = Side::ALL.into_iter().map(|side| (side, starts_of(side))).collect();
        Self { id: NEXT.fetch_add(1, Ordering::Relaxed), corpus, selection, starts }
    }

    /// Every input.
    pub fn all(corpus: Arc<Corpus>) -> Self {
        let all = corpus.all();
        Self::new(corpus, all)
    }

    /// No two are alike.
    pub const fn id(&self) -> CloudId {
        CloudId::Inputs(self.id)
    }

    /// What it is a part of.
    pub const fn corpus(&self) -> &Arc<Corpus> {
        &self.corpus
    }

    /// Which inputs.
    pub const fn selection(&self) -> &Selection {
        &self.selection
    }

    /// One of the selected inputs, by its place among them.
    pub fn input(&self, nth: usize) -> Option<&InputRow> {
        self.corpus.inputs().get(*self.selection.inputs().get(nth)?)
    }

    /// Points of a side.
    pub fn n(&self, side: Side) -> usize {
        self.starts.get(&side).and_then(|starts| starts.last()).copied().unwrap_or(0)
    }

    /// The points of the nth selected input.
    pub fn points(&self, side: Side, nth: usize) -> Range<usize> {
        let starts = self.starts.get(&side).map_or(&[][..], Vec::as_slice);
        match (starts.get(nth), starts.get(nth + 1)) {
            (Some(&start), Some(&end)) => start..end,
            _ => 0..0,
        }
    }

    /// The place, among the selected inputs, of the one that a point belongs to.
    pub fn input_of(&self, side: Side, point: usize) -> Option<usize> {
        let starts = self.starts.get(&side).filter(|_| point < self.n(side))?;
        // Inputs without tokens of this side start where the next one does.
        Some(starts.partition_point(|start| *start <= point) - 1)
    }

    /// The token that a point stands for. [`TokenRow::input`] is its number in the corpus.
    pub fn token(&self, side: Side, point: usize) -> Option<TokenRow<'_>> {
        let nth = self.input_of(side, point)?;
        let row = self.input(nth)?.tokens(side).start + point - self.points(side, nth).start;
        self.corpus.token(side, row)
    }

    /// How long one head's queries and keys are, by point; `None` when it was not recorded.
    pub fn norms(&self, head: HeadId) -> Option<[Vec<f32>; 2]> {
        let of = |side: Side, norms: &[f32]| {
            let inputs = (0..self.selection.inputs().len()).filter_map(|nth| self.input(nth));
            inputs.flat_map(|input| norms.get(input.tokens(side)).unwrap_or_default()).copied().collect()
        };
        let (queries, keys) = (self.corpus.query_norms(head)?, self.corpus.key_norms(head)?);
        Some([of(head.stack.query_side(), queries), of(head.stack.key_side(), keys)])
    }

    /// The values that a head reads; `None` when they are not kept.
    pub fn values(&self, head: HeadId) -> Option<Matrix> {
        self.corpus.values(head, &self.selection)
    }

    /// The residual stream before a layer, or behind the last one; `None` when it is not kept.
    pub fn stream(&self, stack: StackKind, layer: usize) -> Option<Matrix> {
        self.corpus.stream(stack, layer, &self.selection)
    }

    /// One head's queries and keys; `None` when it was not recorded.
    pub fn space(&self, head: HeadId) -> Option<HeadSpace> {
        self.corpus.space(head, &self.selection)
    }
}
