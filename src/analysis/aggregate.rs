//! Attention of one head over many inputs: by position, by distance, by annotation, and what each key receives.
//!
//! A corpus keeps no patterns. They are made of queries and keys again, one input after the other, with the scale,
//! the cap and the mask of the layer; where those do not decide the pattern, there is a sentence instead.

use std::collections::BTreeMap;

use super::{PointCloud, attention};
use crate::{
    capture::{Computation, Matrix, Normalizer},
    ids::HeadId,
    projection::correlation::InputSegment,
    spec::Visibility,
};

/// Positions beyond this are left out of a mean by position: its matrix would be larger than what it is made of.
pub const MOST_POSITIONS: usize = 2048;

/// Why there is no attention to add up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AggregateError {
    /// The head has neither a pattern nor queries and keys.
    #[error("queries and keys of {0} were not recorded")]
    NotRecorded(HeadId),
    /// Scores have a bias that nothing remembers.
    #[error(
        "the scores of {0} have a position bias that queries and keys do not contain: open one input to see its \
        attention"
    )]
    Biased(HeadId),
    /// Some tokens see all, through keys that are not there.
    #[error("some tokens of L{} have global attention, whose keys are not kept with a corpus: open one input", .0.layer)]
    Global(HeadId),
    /// A learned sink took part in the softmax.
    #[error("the heads of L{} have learned sinks, whose shares are not kept with a corpus: open one input", .0.layer)]
    Sink(HeadId),
    /// The run was changed.
    #[error(
        "the inputs were run with changes that queries and keys do not contain: open one input to see its \
        attention"
    )]
    Changed,
    /// The caller said stop.
    #[error("stopped")]
    Stopped,
}

/// Why the patterns of a head are not decided by what is there; `None` when they are. Nothing is computed for that.
pub fn refusal(cloud: &PointCloud, head: HeadId) -> Option<AggregateError> {
    let missing = Some(AggregateError::NotRecorded(head));
    let Some(layer) = cloud.model().and_then(|model| model.layer_of(head)) else { return missing };
    match cloud {
        PointCloud::Input(capture) if attention::has_pattern(capture, head) => None,
        PointCloud::Input(capture) if layer.biased && capture.q(head).is_some() => Some(AggregateError::Biased(head)),
        PointCloud::Input(_) | PointCloud::Positions(_) => missing,
        PointCloud::Inputs(view) => {
            let corpus = view.corpus();
            let Computation { edits, normalizer, .. } = corpus.computation();
            if corpus.query_norms(head).is_none() {
                missing
            } else if layer.biased {
                Some(AggregateError::Biased(head))
            } else if layer.global {
                Some(AggregateError::Global(head))
            } else if layer.sink {
                Some(AggregateError::Sink(head))
            } else {
                (!edits.is_empty() || *normalizer != Normalizer::Softmax).then_some(AggregateError::Changed)
            }
        }
    }
}

/// Calls `each` with the place of every input in the cloud, its points, and its pattern `[query, key]`; that answers
/// whether to go on.
///
/// # Errors
/// When patterns are not decided by what is there, or `each` said no.
pub fn patterns(
    cloud: &PointCloud,
    head: HeadId,
    each: &mut dyn FnMut(usize, &InputSegment, &Matrix) -> bool,
) -> Result<(), AggregateError> {
    let all: Vec<usize> = (0..cloud.n_inputs()).collect();
    patterns_of(cloud, head, &all, each)
}

/// [`patterns`] of some inputs, by their place in the cloud; `each` is told the place in `inputs`.
///
/// # Errors
/// As [`patterns`].
pub fn patterns_of(
    cloud: &PointCloud,
    head: HeadId,
    inputs: &[usize],
    each: &mut dyn FnMut(usize, &InputSegment, &Matrix) -> bool,
) -> Result<(), AggregateError> {
    if let Some(refusal) = refusal(cloud, head) {
        return Err(refusal);
    }
    let segments = cloud.segments(head.stack);
    let missing = AggregateError::NotRecorded(head);
    let params = cloud.model().and_then(|model| model.attention_params_of(head)).ok_or(missing.clone())?;
    let wanted = || inputs.iter().enumerate().filter_map(|(nth, input)| Some((nth, segments.get(*input)?)));
    if let PointCloud::Input(capture) = cloud {
        let pattern = attention::pattern(capture, head).ok_or(missing)?;
        let told = wanted().all(|(nth, segment)| each(nth, segment, &pattern));
        return if told { Ok(()) } else { Err(AggregateError::Stopped) };
    }
    let [q, k] = cloud.queries_and_keys(head).ok_or(missing.clone())?;
    for (nth, segment) in wanted() {
        let rows = q.window(segment.queries.clone()).zip(k.window(segment.keys.clone()));
        let pattern = rows.and_then(|(q, k)| attention::pattern_of(q, k, params.clone())).ok_or(missing.clone())?;
        if !each(nth, segment, &pattern) {
            return Err(AggregateError::Stopped);
        }
    }
    Ok(())
}

/// The scores `[query, key]` behind the pattern of one input of a corpus in a head whose patterns are decided by what is
/// there.
pub fn scores(cloud: &PointCloud, head: HeadId, segment: &InputSegment) -> Option<Matrix> {
    let params = cloud.model()?.attention_params_of(head)?;
    let [q, k] = cloud.queries_and_keys(head)?;
    attention::scores_of(q.window(segment.queries.clone())?, k.window(segment.keys.clone())?, params)
}

/// What each key receives: the sum of its column, by point.
///
/// Keys that few queries see, as the last ones of a causal model, receive less for that reason alone.
///
/// # Errors
/// As [`patterns`].
pub fn received(cloud: &PointCloud, head: HeadId) -> Result<Vec<f32>, AggregateError> {
    let mut sums = vec![0.0f64; cloud.n(head.stack.key_side())];
    patterns(cloud, head, &mut |_, segment, pattern| {
        for row in pattern.rows() {
            sums[segment.keys.clone()].iter_mut().zip(row).for_each(|(sum, weight)| *sum += f64::from(*weight));
        }
        true
    })?;
    Ok(sums.into_iter().map(|sum| sum as f32).collect())
}

/// Attention between positions: its mean over inputs, and how much it changes from one to the next.
#[derive(Clone, Debug, PartialEq)]
pub struct PositionMean {
    /// `[query, key]`: the mean over the inputs that have both, rows brought back to a sum of one where they have
    /// any weight (after `AttentionViz`).
    pub pattern: Matrix,
    /// `[query, key]`: the standard deviation (over n − 1) of the weight over the inputs that have both; 0 where there
    /// are fewer than two.
    pub deviation: Matrix,
    /// Inputs that have a query at each position.
    pub n_inputs: Vec<u32>,
    /// The share of the attention that positions alone fix, at most 1: `1 − Σ n·variance / Σ (weight − uniform)²` over the
    /// pairs that two inputs or more have; `None` where no two inputs have a query that sees several keys.
    pub fixed_share: Option<f64>,
}

/// Sums of one pair of positions, or of many.
#[derive(Clone, Copy, Default)]
struct PairSums {
    n: u32,
    weight: f64,
    square: f64,
    /// Of squares of the weight less that of uniform attention over the keys that the query sees.
    from_uniform: f64,
}

impl PairSums {
    fn add(&mut self, weight: f64, uniform: f64) {
        self.n += 1;
        self.weight += weight;
        self.square += weight * weight;
        self.from_uniform += (weight - uniform).powi(2);
    }

    fn mean(self) -> f64 {
        self.weight / f64::from(self.n.max(1))
    }

    /// Over n − 1.
    fn variance(self) -> Option<f64> {
        let n = f64::from(self.n);
        (self.n > 1).then(|| ((self.square - self.weight * self.weight / n) / (n - 1.0)).max(0.0))
    }
}

/// The share of what tells attention from uniform attention that the means of positions account for:
/// `1 − Σ n·variance / Σ (weight − uniform)²`, over the pairs of positions that two inputs or more have. 1 where every
/// input has the same pattern, about 0 where the patterns of inputs have nothing in common but chance. The variance is
/// over n − 1, so that few inputs do not look more fixed than they are.
fn fixed_share(sums: &[PairSums]) -> Option<f64> {
    let several = || sums.iter().filter_map(|pair| Some((pair, pair.variance()?)));
    let changing: f64 = several().map(|(pair, variance)| f64::from(pair.n) * variance).sum();
    let all: f64 = several().map(|(pair, _)| pair.from_uniform).sum();
    // Below this, attention is uniform up to rounding.
    (all > 1e-9).then(|| 1.0 - changing / all)
}

/// Mean attention by position, counted from the first token of an input; positions from [`MOST_POSITIONS`] on are left
/// out.
///
/// # Errors
/// As [`patterns`].
pub fn by_position(
    cloud: &PointCloud,
    head: HeadId,
    go_on: &mut dyn FnMut(usize) -> bool,
) -> Result<PositionMean, AggregateError> {
    let longest = |of: &dyn Fn(&InputSegment) -> usize| {
        cloud.segments(head.stack).iter().map(of).max().unwrap_or(0).min(MOST_POSITIONS)
    };
    let (n_query, n_key) = (longest(&|segment| segment.queries.len()), longest(&|segment| segment.keys.len()));
    let visibility = visibility(cloud, head);
    let mut sums = vec![PairSums::default(); n_query * n_key];
    let mut n_inputs = vec![0u32; n_query];
    let mut uniform: Vec<f64> = Vec::new();
    patterns(cloud, head, &mut |nth, _, pattern| {
        let [rows, cols] = pattern.shape();
        for (query, row) in pattern.rows().enumerate().take(n_query) {
            n_inputs[query] += 1;
            let n_seen = visibility.keys(query, rows, cols).count();
            uniform.clear();
            uniform.resize(cols, 0.0);
            visibility.keys(query, rows, cols).for_each(|key| uniform[key] = 1.0 / n_seen as f64);
            let pairs = sums[query * n_key..(query + 1) * n_key].iter_mut();
            pairs.zip(row.iter().zip(&uniform)).for_each(|(pair, (weight, even))| pair.add(f64::from(*weight), *even));
        }
        go_on(nth)
    })?;
    let mut values: Vec<f32> = Vec::with_capacity(sums.len());
    for row in sums.chunks(n_key.max(1)) {
        let mass: f64 = row.iter().map(|pair| pair.mean()).sum();
        values.extend(row.iter().map(|pair| if mass > 0.0 { (pair.mean() / mass) as f32 } else { 0.0 }));
    }
    let deviations = sums.iter().map(|pair| pair.variance().map_or(0.0, |variance| variance.sqrt() as f32)).collect();
    let grid = |values| Matrix::new(values, [n_query, n_key]).map_err(|_| AggregateError::NotRecorded(head));
    Ok(PositionMean { pattern: grid(values)?, deviation: grid(deviations)?, n_inputs, fixed_share: fixed_share(&sums) })
}

/// The keys that queries of a head see.
fn visibility(cloud: &PointCloud, head: HeadId) -> Visibility<'_> {
    match cloud {
        PointCloud::Input(capture) => capture.visibility_of(head).unwrap_or_default(),
        // Of several inputs a head with tokens that see all is refused.
        PointCloud::Inputs(_) | PointCloud::Positions(_) => {
            Visibility { mask: cloud.model().and_then(|model| model.mask_of(head)).unwrap_or_default(), global: &[] }
        }
    }
}

/// Mean attention by how far keys are from queries.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OffsetMean {
    /// Key minus query position, upwards; −1 is the token before.
    pub offsets: Vec<i32>,
    /// Mean weight over the pairs with each offset.
    pub weights: Vec<f32>,
    /// Pairs with each offset; those behind a causal mask are no pairs.
    pub n_pairs: Vec<u64>,
    /// Mean weight that queries give to special tokens.
    pub special: f32,
    pub n_queries: u64,
    pub n_inputs: usize,
}

/// Sums on the way to an [`OffsetMean`].
#[derive(Default)]
struct OffsetSums {
    by_offset: BTreeMap<i32, (f64, u64)>,
    special: f64,
    n_queries: u64,
    n_inputs: usize,
}

impl OffsetSums {
    fn mean(self) -> OffsetMean {
        let Self { by_offset, special, n_queries, n_inputs } = self;
        OffsetMean {
            offsets: by_offset.keys().copied().collect(),
            weights: by_offset.values().map(|(sum, n)| (sum / (*n).max(1) as f64) as f32).collect(),
            n_pairs: by_offset.values().map(|(_, n)| *n).collect(),
            special: (special / n_queries.max(1) as f64) as f32,
            n_queries,
            n_inputs,
        }
    }
}

/// Mean attention by offset for all inputs, and for those of each value of an annotation where one is named; inputs
/// without a value have none. Values are in the order of the alphabet.
///
/// # Errors
/// As [`patterns`].
pub fn by_offset(
    cloud: &PointCloud,
    head: HeadId,
    annotation: Option<&str>,
    go_on: &mut dyn FnMut(usize) -> bool,
) -> Result<(OffsetMean, Vec<(String, OffsetMean)>), AggregateError> {
    let side = head.stack.key_side();
    let visibility = visibility(cloud, head);
    let mut all = OffsetSums::default();
    let mut groups: BTreeMap<String, OffsetSums> = BTreeMap::new();
    patterns(cloud, head, &mut |nth, segment, pattern| {
        let special: Vec<bool> =
            segment.keys.clone().map(|point| cloud.token(side, point).is_some_and(|token| token.special)).collect();
        let value = annotation.and_then(|name| cloud.annotation(nth, name));
        let group = value.map(|value| groups.entry(value.to_owned()).or_default());
        for sums in [Some(&mut all), group].into_iter().flatten() {
            sums.n_inputs += 1;
            for (query, row) in pattern.rows().enumerate() {
                sums.n_queries += 1;
                for key in visibility.keys(query, pattern.n_rows(), pattern.n_cols()) {
                    let weight = f64::from(row[key]);
                    let at = sums.by_offset.entry(key as i32 - query as i32).or_default();
                    *at = (at.0 + weight, at.1 + 1);
                    sums.special += if special[key] { weight } else { 0.0 };
                }
            }
        }
        go_on(nth)
    })?;
    Ok((all.mean(), groups.into_iter().map(|(value, sums)| (value, sums.mean())).collect()))
}
