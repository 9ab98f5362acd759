//! Laws between the recordings of every forward pass. A capture that breaks one of these laws
//! was computed wrongly, whatever the checkpoint.

use super::attention::{dots, effective, pattern_from, row_of_scores, scores_from, softmax};
use crate::{
    capture::{AppliedEdit, Capture, Computation, Matrix, RowMass, Site},
    ids::HeadId,
    spec::Visibility,
};

/// One law and how far a capture is from it.
#[derive(Clone, Debug, PartialEq)]
pub struct Law {
    /// What must hold, in words.
    pub text: &'static str,
    /// Why it could not be tested, where no head has what it is about.
    pub lacks: &'static str,
    /// The largest deviation of any head.
    pub worst: f32,
    /// Where that was; `None` when no head has what the law is about.
    pub at: Option<HeadId>,
    /// The largest deviation that rounding explains.
    pub limit: f32,
}

/// What came of a law.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LawOutcome {
    Holds,
    DoesNotHold,
    NotTested,
}

impl LawOutcome {
    /// The words for it.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::DoesNotHold => "does not hold",
            Self::NotTested => "not tested",
        }
    }
}

impl Law {
    /// Whether the capture obeys it, as far as that was tested.
    pub fn outcome(&self) -> LawOutcome {
        match self.at {
            None => LawOutcome::NotTested,
            Some(_) if self.worst <= self.limit => LawOutcome::Holds,
            Some(_) => LawOutcome::DoesNotHold,
        }
    }

    /// Whether the capture breaks it.
    pub fn is_broken(&self) -> bool {
        self.outcome() == LawOutcome::DoesNotHold
    }

    fn new(text: &'static str, limit: f32, lacks: &'static str) -> Self {
        Self { text, lacks, worst: 0.0, at: None, limit }
    }

    fn take(&mut self, head: HeadId, deviation: f32) {
        // A deviation that is no number breaks every law.
        let deviation = if deviation.is_nan() { f32::INFINITY } else { deviation };
        if self.at.is_none() || deviation > self.worst {
            (self.worst, self.at) = (deviation, Some(head));
        }
    }
}

/// The deviations of a capture that holds patterns; scores, q, k, v and z are used where they are there.
pub fn check(capture: &Capture) -> Vec<Law> {
    let has_sinks = capture.stacks().iter().flat_map(|stack| &stack.layers).any(|layer| layer.sink.is_some());
    let whole = if has_sinks {
        "every row of attention sums to 1 with what goes to its head's learned sink, or is hidden altogether"
    } else {
        "every row of attention sums to 1, or is hidden altogether"
    };
    let mut sums = Law::new(whole, 1e-5, "no whole rows were recorded");
    let mut masked =
        Law::new("keys behind a causal mask or outside a window get exactly 0", 0.0, "every query sees every key");
    let mut softmaxed = Law::new("attention is the softmax of the scores", 1e-6, "no scores were recorded");
    let mut products = Law::new(
        "scores are scaled products of q and k, with bias, cap and mask",
        1e-5,
        "no scores, q and k were recorded",
    );
    let mut mixed =
        Law::new("z is the pattern times v, query heads sharing grouped values", 1e-5, "no z and v were recorded");
    for (head, visibility, pattern) in stored_patterns(capture) {
        let [n_query, n_key] = pattern.shape();
        let mass = capture.row_mass(head);
        let partial = mass == RowMass::Partial;
        // What somebody wrote there need not be a distribution.
        let free = replaced(capture, head, &[Site::Scores, Site::Pattern]);
        for (query, row) in pattern.rows().enumerate() {
            let sum: f64 = row.iter().map(|&weight| f64::from(weight)).sum();
            let whole = 1.0 - f64::from(capture.sink(head).map_or(0.0, |sink| sink[query]));
            if matches!(mass, RowMass::Full | RowMass::Sink) && !free {
                sums.take(head, if sum == 0.0 { 0.0 } else { (sum - whole).abs() as f32 });
            }
            let near = visibility.near(query, n_query, n_key);
            if near.len() < n_key && !free {
                let hidden = row
                    .iter()
                    .enumerate()
                    .filter(|(key, _)| !near.contains(key) && visibility.global.binary_search(key).is_err());
                masked.take(head, hidden.fold(0.0, |worst, (_, weight)| weight.abs().max(worst)));
            }
        }
        if let Some(scores) = capture.layer(head).and_then(|layer| layer.scores()?.head(head.head)) {
            if let Some(expected) = pattern_from(capture, head, &scores).filter(|_| !partial) {
                softmaxed.take(head, difference(&pattern, &expected, 1.0));
            }
            if let Some(expected) = scores_from(capture, head) {
                products.take(head, difference(&scores, &expected, largest(&scores)));
            }
        }
        let z = capture.layer(head).and_then(|layer| layer.z()?.head(head.head));
        if let (Some(z), Some(v)) = (z, capture.v(head))
            && !replaced(capture, head, &[Site::Z])
            && let Some(mut expected) = transposed(&v).and_then(|v| dots(&pattern, &v))
        {
            if let Some(v) = capture.v_global(head).and_then(|v| transposed(&v)) {
                for query in visibility.global {
                    let row = pattern.window(*query..query + 1).and_then(|row| dots(&row, &v)).unwrap_or_default();
                    expected[query * row.len()..(query + 1) * row.len()].copy_from_slice(&row);
                }
            }
            let worst = z.as_slice().iter().zip(&expected).map(|(a, b)| (a - b).abs());
            mixed.take(head, worst.fold(0.0, f32::max) / largest(&z));
        }
    }
    for (head, pattern) in effective_patterns(capture) {
        let z = capture.layer(head).and_then(|layer| layer.z()?.head(head.head));
        if let (Some(z), Some(v)) = (z, capture.v(head))
            && !replaced(capture, head, &[Site::Z])
            && let Some(expected) = transposed(&v).and_then(|v| dots(&pattern, &v))
        {
            let worst = z.as_slice().iter().zip(&expected).map(|(a, b)| (a - b).abs());
            mixed.take(head, worst.fold(0.0, f32::max) / largest(&z));
        }
    }
    vec![sums, masked, softmaxed, products, mixed]
}

/// Every head whose effective pattern is stored.
fn effective_patterns(capture: &Capture) -> impl Iterator<Item = (HeadId, Matrix)> {
    capture.model().stacks.iter().flat_map(move |stack| {
        stack.layers.iter().enumerate().flat_map(move |(layer, spec)| {
            (0..spec.n_heads).filter_map(move |head| {
                let head = HeadId { stack: stack.kind, layer, head };
                Some((head, effective(capture, head, None)?))
            })
        })
    })
}

/// The head whose stored pattern is furthest from what its q and k give, when that is further than 0.01
/// for some entry: in a file of another program, a scale, bias or rotation that it did not write down.
///
/// Two rows of every head are looked at.
pub fn unexplained_pattern(capture: &Capture) -> Option<(HeadId, f32)> {
    let mut law = Law::new("", 1e-2, "");
    let computation = capture.computation();
    // A changed run, or rows that are not whole, need not follow from q and k.
    if *computation != Computation::default() {
        return None;
    }
    for (head, _, pattern) in stored_patterns(capture) {
        let [n_query, n_key] = pattern.shape();
        for query in [n_query / 2, n_query.saturating_sub(1)] {
            let row =
                row_of_scores(capture, head, query).and_then(|scores| softmax(&Matrix::new(scores, [1, n_key]).ok()?));
            if let (Some(row), Some(stored)) = (row, pattern.row(query)) {
                let left = 1.0 - capture.sink(head).map_or(0.0, |sink| sink[query]);
                let worst = row.as_slice().iter().zip(stored).map(|(a, b)| (a * left - b).abs());
                law.take(head, worst.fold(0.0, f32::max));
            }
        }
    }
    law.at.filter(|_| law.is_broken()).map(|head| (head, law.worst))
}

/// Every head whose pattern is stored, with what its queries may see.
fn stored_patterns(capture: &Capture) -> impl Iterator<Item = (HeadId, Visibility<'_>, Matrix)> {
    capture.model().stacks.iter().flat_map(move |stack| {
        stack.layers.iter().enumerate().flat_map(move |(layer, spec)| {
            (0..spec.n_heads).filter_map(move |head| {
                let head = HeadId { stack: stack.kind, layer, head };
                Some((head, capture.visibility_of(head)?, capture.stored_pattern(head)?))
            })
        })
    })
}

/// Whether the run's changes replaced something of one head's values at one of `sites`.
fn replaced(capture: &Capture, at: HeadId, sites: &[Site]) -> bool {
    capture.computation().edits.iter().any(|edit| match edit {
        AppliedEdit::Known(edit) => sites.iter().any(|site| edit.replaces(*site, at)),
        AppliedEdit::Foreign(_) => true,
    })
}

/// The largest finite value, at least 1.
fn largest(matrix: &Matrix) -> f32 {
    let finite = matrix.as_slice().iter().filter(|value| value.is_finite());
    finite.fold(1.0, |largest, value| largest.max(value.abs()))
}

/// The largest difference in units of `scale`; equal infinities do not differ.
fn difference(a: &Matrix, b: &Matrix, scale: f32) -> f32 {
    if a.shape() != b.shape() {
        return f32::INFINITY;
    }
    let pairs = a.as_slice().iter().zip(b.as_slice()).filter(|(a, b)| a != b);
    pairs
        .map(|(a, b)| (a - b).abs() / scale)
        .fold(0.0, |worst, next| if next > worst || next.is_nan() { next } else { worst })
}

fn transposed(matrix: &Matrix) -> Option<Matrix> {
    let [n_rows, n_cols] = matrix.shape();
    let values: Vec<f32> =
        (0..n_cols).flat_map(|col| matrix.rows().map(move |row| row[col]).collect::<Vec<_>>()).collect();
    Matrix::new(values, [n_cols, n_rows]).ok()
}
