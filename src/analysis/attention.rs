//! Scores and patterns of one head: the stored ones, or recomputed from q and k.
//!
//! Recomputing knows scale, cap, bias and mask, and follows the changes that the run was made with. A bias
//! is part of the capture; a file that lacks the bias of a biased layer must store its scores or patterns. So are
//! the shares of learned sinks; a file that lacks them must store its patterns.

use std::ops::Range;

use rayon::prelude::*;

use crate::{
    analysis::explain::normalizers,
    capture::{AppliedEdit, Capture, Computation, LayerCapture, Matrix, Normalizer, Scorer, Site},
    ids::HeadId,
    spec::{AttentionParams, Visibility},
};

/// Keys per packed panel, and queries per block, of [`dots`]: 4 × 8 sums fit the sixteen 128-bit
/// registers that every x86-64 has.
const PANEL: usize = 8;
const BLOCK: usize = 4;
/// Queries whose scores one task makes: enough to share each panel of keys among.
const TASK: usize = 16;

/// One head's scores `[query, key]`, scaled and masked (`-inf` where masked), before softmax.
///
/// `None` when the capture has neither scores nor q and k, or was made with a change that this version
/// does not know.
pub fn scores(capture: &Capture, head: HeadId) -> Option<Matrix> {
    if let Some(stored) = capture.layer(head)?.scores() {
        return stored.head(head.head);
    }
    scores_from(capture, head)
}

/// [`scores`] computed from q and k even where they are stored.
pub(crate) fn scores_from(capture: &Capture, head: HeadId) -> Option<Matrix> {
    Scoring::of(capture, head)?.scores()
}

/// One row of [`scores`], without computing the others.
pub(crate) fn row_of_scores(capture: &Capture, head: HeadId, query: usize) -> Option<Vec<f32>> {
    if let Some(stored) = capture.layer(head)?.scores() {
        return stored.head(head.head)?.row(query).map(<[f32]>::to_vec);
    }
    let scoring = Scoring::of(capture, head)?;
    let mut row = scoring.products(query)?;
    scoring.finish(query, &mut row)?;
    Some(row)
}

/// One cell of [`scores`].
pub fn score(capture: &Capture, head: HeadId, query: usize, key: usize) -> Option<f32> {
    row_of_scores(capture, head, query)?.get(key).copied()
}

/// What is done to the products of a query and its keys, one after the other, until they are scores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ScoreStep {
    /// Times this factor.
    Scale(f32),
    /// `cap · tanh(s / cap)` of the scaled products `s`.
    Cap(f32),
    /// Plus what depends on positions.
    Bias,
    /// Minus infinity where the query cannot see the key.
    Mask,
    /// Changes of the run.
    Change,
}

/// One row of scores, `[key]`, from products on.
#[derive(Clone, Debug, PartialEq)]
pub struct RowBySteps {
    pub products: Vec<f32>,
    /// Every step that changes something, with its result: the last is the row of [`scores`].
    pub steps: Vec<(ScoreStep, Vec<f32>)>,
}

impl RowBySteps {
    /// The row of [`scores`].
    pub fn scores(&self) -> &[f32] {
        self.steps.last().map_or(&self.products, |(_, row)| row)
    }
}

/// One row of [`scores`] step by step, computed even where it is stored.
pub fn row_by_steps(capture: &Capture, head: HeadId, query: usize) -> Option<RowBySteps> {
    let layer = capture.layer(head)?;
    if let Some(scorer) = &layer.scorer {
        return scored_by_steps(capture, layer, scorer, (head, query));
    }
    let scoring = Scoring::of(capture, head)?;
    let products = scoring.products(query)?;
    let mut row = products.clone();
    let mut steps = Vec::new();
    for step in scoring.steps() {
        let before = row.clone();
        scoring.apply(step, query, &mut row)?;
        if row != before {
            steps.push((step, row.clone()));
        }
    }
    Some(RowBySteps { products, steps })
}

/// The same of a scorer with a hidden layer, whose `products` are its scores before anything is done to them. Which keys a
/// query cannot see is read from the stored scores: no mask says it of words of other sentences.
fn scored_by_steps(
    capture: &Capture,
    layer: &LayerCapture,
    scorer: &Scorer,
    (head, query): (HeadId, usize),
) -> Option<RowBySteps> {
    let edits = &capture.computation().edits;
    let stored = layer.scores()?.head(head.head)?;
    let (products, scale) = (scorer.scores(query)?, capture.model().layer_of(head)?.scale);
    let scaled: Vec<f32> = products.iter().map(|product| product * scale).collect();
    let hide = |(score, stored): (&f32, &f32)| if *stored == f32::NEG_INFINITY { *stored } else { *score };
    let masked: Vec<f32> = scaled.iter().zip(stored.row(query)?).map(hide).collect();
    let mut changed = masked.clone();
    apply_edits(edits_are_known(edits).then_some(edits)?, Site::Scores, head, query, &mut changed);
    let mut before = products.clone();
    let steps = [(ScoreStep::Scale(scale), scaled), (ScoreStep::Mask, masked), (ScoreStep::Change, changed)];
    let is_step = |(_, row): &(ScoreStep, Vec<f32>)| std::mem::replace(&mut before, row.clone()) != *row;
    Some(RowBySteps { products, steps: steps.into_iter().filter(is_step).collect() })
}

/// What makes scores of the products of one head's queries and keys.
struct Scoring<'a> {
    q: Matrix,
    k: Matrix,
    /// The keys that the queries of global tokens meet.
    k_global: Option<Matrix>,
    /// The keys of global tokens that all other queries meet, one after the other.
    k_everywhere: Option<Matrix>,
    params: AttentionParams,
    /// Positions, in order, of tokens that see all and that all see.
    global: &'a [usize],
    /// Whose bias is added to the scores, where there is one.
    biased: Option<&'a LayerCapture>,
    head: HeadId,
    edits: &'a [AppliedEdit],
}

impl<'a> Scoring<'a> {
    fn of(capture: &'a Capture, head: HeadId) -> Option<Self> {
        let recorded = capture.layer(head)?;
        if capture.model().layer_of(head)?.biased && recorded.bias.is_none() {
            return None;
        }
        let biased = recorded.bias.is_some().then_some(recorded);
        let edits = &capture.computation().edits;
        let params = capture.model().attention_params_of(head)?;
        let (q, k, global) = (capture.q(head)?, capture.k(head)?, capture.global_tokens(head));
        let k_global = capture.k_global(head);
        if k_global.is_none() && !global.is_empty() {
            return None;
        }
        let k_everywhere = gathered(&k, global);
        edits_are_known(edits).then_some(Self { q, k, k_global, k_everywhere, params, global, biased, head, edits })
    }

    const fn visibility(&self) -> Visibility<'a> {
        Visibility { mask: self.params.mask, global: self.global }
    }

    fn scores(&self) -> Option<Matrix> {
        let n_key = self.k.n_rows();
        let mut scores = dots(&self.q, &self.k)?;
        for query in self.global {
            scores.get_mut(query * n_key..(query + 1) * n_key)?.copy_from_slice(&self.products(*query)?);
        }
        for (query, row) in scores.chunks_exact_mut(n_key.max(1)).enumerate() {
            self.finish(query, row)?;
        }
        Matrix::new(scores, [self.q.n_rows(), n_key]).ok()
    }

    /// The products of one query with every key that it meets.
    fn products(&self, query: usize) -> Option<Vec<f32>> {
        let is_global = self.global.binary_search(&query).is_ok();
        let k = if is_global { self.k_global.as_ref()? } else { &self.k };
        let q = self.q.row(query)?;
        Some(k.rows().map(|k| q.iter().zip(k).map(|(q, k)| q * k).sum()).collect())
    }

    /// The rows of some queries: the same bits as those of [`Self::scores`], without products that the mask
    /// throws away, and on all threads.
    fn rows(&self, queries: Range<usize>) -> Option<Matrix> {
        let n_key = self.k.n_rows();
        let mut scores = vec![0.0f32; queries.len() * n_key];
        let tasks = scores.par_chunks_mut((TASK * n_key).max(1)).enumerate();
        let done = tasks.map(|(task, rows)| {
            let first = queries.start + task * TASK;
            let these = first..(first + TASK).min(queries.end);
            let seen = self.seen(these.clone());
            let q = self.q.window(these.clone())?;
            let products = dots(&q, &self.k.window(seen.clone())?)?;
            let everywhere = match &self.k_everywhere {
                Some(k) => dots(&q, k)?,
                None => Vec::new(),
            };
            for (nth, (query, row)) in these.zip(rows.chunks_exact_mut(n_key.max(1))).enumerate() {
                if self.global.binary_search(&query).is_ok() {
                    row.copy_from_slice(&self.products(query)?);
                } else {
                    let n_global = self.global.len();
                    for (key, product) in self.global.iter().zip(&everywhere[nth * n_global..]) {
                        row[*key] = *product;
                    }
                    row[seen.clone()].copy_from_slice(&products[nth * seen.len()..(nth + 1) * seen.len()]);
                }
                self.finish(query, row)?;
            }
            Some(())
        });
        done.collect::<Option<()>>()?;
        Matrix::new(scores, [queries.len(), n_key]).ok()
    }

    /// The keys next to each other that some of these queries can see, without those that see and are seen by all:
    /// what the mask hides, changes of the run find hidden too.
    fn seen(&self, queries: Range<usize>) -> Range<usize> {
        let n_key = self.k.n_rows();
        let mask = self.params.mask;
        let seen = queries.map(|query| mask.visible(query, self.q.n_rows(), n_key)).filter(|keys| !keys.is_empty());
        seen.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end)).unwrap_or(0..n_key.min(1))
    }

    /// Products of one query with every key into scores.
    fn finish(&self, query: usize, row: &mut [f32]) -> Option<()> {
        self.steps().try_for_each(|step| self.apply(step, query, row))
    }

    /// The steps from products to scores.
    fn steps(&self) -> impl Iterator<Item = ScoreStep> + use<> {
        let cap = self.params.softcap.map(ScoreStep::Cap);
        let bias = self.biased.map(|_| ScoreStep::Bias);
        let change = (!self.edits.is_empty()).then_some(ScoreStep::Change);
        [Some(ScoreStep::Scale(self.params.scale)), cap, bias, Some(ScoreStep::Mask), change].into_iter().flatten()
    }

    fn apply(&self, step: ScoreStep, query: usize, row: &mut [f32]) -> Option<()> {
        match step {
            ScoreStep::Scale(scale) => row.iter_mut().for_each(|score| *score *= scale),
            ScoreStep::Cap(cap) => row.iter_mut().for_each(|score| *score = cap * (*score / cap).tanh()),
            ScoreStep::Bias => {
                let bias = self.biased?.bias_row(self.head.head, query, [self.q.n_rows(), row.len()])?;
                row.iter_mut().zip(bias).for_each(|(score, bias)| *score += bias);
            }
            ScoreStep::Mask => {
                let near = self.visibility().near(query, self.q.n_rows(), row.len());
                for (key, score) in row.iter_mut().enumerate() {
                    if !near.contains(&key) && self.global.binary_search(&key).is_err() {
                        *score = f32::NEG_INFINITY;
                    }
                }
            }
            ScoreStep::Change => apply_edits(self.edits, Site::Scores, self.head, query, row),
        }
        Some(())
    }
}

/// Some rows of a matrix; `None` where there are none.
fn gathered(matrix: &Matrix, rows: &[usize]) -> Option<Matrix> {
    let values: Option<Vec<&[f32]>> = rows.iter().map(|row| matrix.row(*row)).collect();
    Matrix::new(values?.concat(), [rows.len(), matrix.n_cols()]).ok().filter(|_| !rows.is_empty())
}

fn edits_are_known(edits: &[AppliedEdit]) -> bool {
    edits.iter().all(|edit| matches!(edit, AppliedEdit::Known(_)))
}

/// What the run's changes made of one row of a head's scores or pattern.
fn apply_edits(edits: &[AppliedEdit], site: Site, head: HeadId, query: usize, row: &mut [f32]) {
    for edit in edits {
        if let AppliedEdit::Known(edit) = edit {
            edit.apply_to_row(site, head, query, row);
        }
    }
}

/// One head's pattern `[query, key]`: the stored one, or what [`scores`], the sink and the run's changes
/// make of it.
///
/// `None` when the capture has neither, or the pattern cannot be told from them.
pub fn pattern(capture: &Capture, head: HeadId) -> Option<Matrix> {
    capture.stored_pattern(head).or_else(|| pattern_from(capture, head, &scores(capture, head)?))
}

/// The rows of some queries of [`pattern`], without the others: the same bits, in memory that grows with the
/// number of rows alone. `[rows, key]`.
///
/// `None` where [`pattern`] is, or where there are no such queries.
pub fn pattern_rows(capture: &Capture, head: HeadId, queries: Range<usize>) -> Option<Matrix> {
    if let Some(stored) = capture.stored_pattern(head) {
        return stored.window(queries);
    }
    let scores = if let Some(stored) = capture.layer(head)?.scores() {
        stored.head(head.head)?.window(queries.clone())?
    } else {
        let scoring = Scoring::of(capture, head)?;
        (queries.end <= scoring.q.n_rows()).then(|| scoring.rows(queries.clone()))??
    };
    pattern_rows_from(capture, head, &scores, queries.start)
}

/// The effective pattern `[query, key]` of a head without a softmax: signed factors by which values add up to its output.
/// Of some queries, only their rows.
///
/// `None` where the head has a distribution instead, see [`pattern`], and where it was not recorded.
pub fn effective(capture: &Capture, head: HeadId, queries: Option<&Range<usize>>) -> Option<Matrix> {
    let whole = capture.layer(head)?.effective()?.head(head.head)?;
    match queries {
        Some(queries) => whole.window(queries.clone()),
        None => Some(whole),
    }
}

/// Whether a head's pattern, of whatever kind, is in the capture as it is.
pub fn is_stored(capture: &Capture, head: HeadId) -> bool {
    capture.stored_pattern(head).is_some() || effective(capture, head, None).is_some()
}

/// Whether there is something to be shown as a head's pattern, of whatever kind.
pub fn is_shown(capture: &Capture, head: HeadId) -> bool {
    has_pattern(capture, head) || effective(capture, head, None).is_some()
}

/// The pattern that queries and keys of one input have in a layer without a bias or sinks.
pub(crate) fn pattern_of(q: Matrix, k: Matrix, params: AttentionParams) -> Option<Matrix> {
    softmax(&scores_of(q, k, params)?)
}

/// The scores behind [`pattern_of`].
pub(crate) fn scores_of(q: Matrix, k: Matrix, params: AttentionParams) -> Option<Matrix> {
    let (global, edits, head) = (&[], &[], HeadId::default());
    Scoring { q, k, k_global: None, k_everywhere: None, params, global, biased: None, head, edits }.scores()
}

/// The pattern that one head has with these scores.
pub(crate) fn pattern_from(capture: &Capture, head: HeadId, scores: &Matrix) -> Option<Matrix> {
    pattern_rows_from(capture, head, scores, 0)
}

/// The same of the rows from query `first` on.
pub(crate) fn pattern_rows_from(capture: &Capture, head: HeadId, scores: &Matrix, first: usize) -> Option<Matrix> {
    let Computation { edits, .. } = capture.computation();
    if !edits_are_known(edits) {
        return None;
    }
    let pattern = normalized(scores, capture.computation().normalizer_of(head), (head, first))?;
    let sink = capture.sink(head);
    if sink.is_none() && capture.model().layer_of(head).is_some_and(|layer| layer.sink) {
        return None;
    }
    if edits.is_empty() && sink.is_none() {
        return Some(pattern);
    }
    let mut values = pattern.as_slice().to_vec();
    for (row_idx, row) in values.chunks_exact_mut(pattern.n_cols().max(1)).enumerate() {
        let query = first + row_idx;
        if let Some(sink) = sink {
            // The sink took part in the softmax; what is left is shared as without it.
            for weight in row.iter_mut() {
                *weight *= 1.0 - sink[query];
            }
        }
        apply_edits(edits, Site::Pattern, head, query, row);
    }
    Matrix::new(values, pattern.shape()).ok()
}

/// Whether [`pattern`] can answer, without computing it.
pub fn has_pattern(capture: &Capture, head: HeadId) -> bool {
    let spec = capture.model().layer_of(head);
    let Computation { edits, .. } = capture.computation();
    capture.layer(head).is_some_and(|layer| {
        let all_keys = layer.k_global.is_some() || capture.global_tokens(head).is_empty();
        let has_bias = layer.bias.is_some() || spec.is_some_and(|spec| !spec.biased);
        let has_sink = layer.sink.is_some() || spec.is_some_and(|spec| !spec.sink);
        let has_scores =
            layer.scores().is_some() || (layer.q().is_some() && layer.k().is_some() && all_keys && has_bias);
        layer.pattern().is_some() || (has_scores && has_sink && edits_are_known(edits))
    })
}

/// What a normaliser makes of rows of a head from query `first` on; a row that is masked everywhere becomes zeros.
pub(crate) fn normalized(scores: &Matrix, normalizer: Normalizer, (head, first): (HeadId, usize)) -> Option<Matrix> {
    if normalizer == Normalizer::Softmax {
        return softmax(scores);
    }
    let of_row = |(query, row): (usize, &[f32])| {
        let row: Vec<f64> = row.iter().map(|score| f64::from(*score)).collect();
        normalizers::weights(normalizer, (head, query), &row)
    };
    let values = (first..).zip(scores.rows()).flat_map(of_row).map(|weight| weight as f32).collect::<Vec<_>>();
    Matrix::new(values, scores.shape()).ok()
}

/// Softmax of every row; a row that is masked everywhere becomes zeros.
///
/// `None` only for a matrix whose shape does not fit its data, which cannot be built.
pub fn softmax(scores: &Matrix) -> Option<Matrix> {
    let mut values = scores.as_slice().to_vec();
    for row in values.chunks_exact_mut(scores.n_cols().max(1)) {
        let max = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        if max == f32::NEG_INFINITY {
            row.fill(0.0);
            continue;
        }
        let mut sum = 0.0f64;
        for value in row.iter_mut() {
            *value = (*value - max).exp();
            sum += f64::from(*value);
        }
        let factor = (1.0 / sum) as f32;
        for value in row {
            *value *= factor;
        }
    }
    Matrix::new(values, scores.shape()).ok()
}

/// `q·kᵀ` as `[query, key]` values, unscaled. `None` when the widths differ.
pub(crate) fn dots(q: &Matrix, k: &Matrix) -> Option<Vec<f32>> {
    let d = q.n_cols();
    if d != k.n_cols() {
        return None;
    }
    let (n_query, n_key) = (q.n_rows(), k.n_rows());
    let mut out = vec![0.0f32; n_query * n_key];
    let mut panel = vec![[0.0f32; PANEL]; d];
    let (q, k) = (q.as_slice(), k.as_slice());
    for start in (0..n_key).step_by(PANEL) {
        let width = PANEL.min(n_key - start);
        // Keys interleaved, so that the inner loop reads eight keys' same dimension side by side.
        for (dim, lane) in panel.iter_mut().enumerate() {
            for (j, value) in lane.iter_mut().enumerate() {
                *value = if j < width { k[(start + j) * d + dim] } else { 0.0 };
            }
        }
        let mut query = 0;
        while query + BLOCK <= n_query {
            let rows: [&[f32]; BLOCK] = std::array::from_fn(|r| &q[(query + r) * d..(query + r + 1) * d]);
            let sums = block_dots(rows, &panel);
            for (r, sum) in sums.iter().enumerate() {
                let at = (query + r) * n_key + start;
                out[at..at + width].copy_from_slice(&sum[..width]);
            }
            query += BLOCK;
        }
        for query in query..n_query {
            let sums = block_dots([&q[query * d..(query + 1) * d]], &panel);
            let at = query * n_key + start;
            out[at..at + width].copy_from_slice(&sums[0][..width]);
        }
    }
    Some(out)
}

#[inline]
fn block_dots<const R: usize>(rows: [&[f32]; R], panel: &[[f32; PANEL]]) -> [[f32; PANEL]; R] {
    let mut sums = [[0.0f32; PANEL]; R];
    for (dim, lane) in panel.iter().enumerate() {
        for r in 0..R {
            let x = rows[r][dim];
            for j in 0..PANEL {
                sums[r][j] += x * lane[j];
            }
        }
    }
    sums
}
