//! Check of a tensor's values against what its name stands for.

use super::{FileError, entry::CheckedTensor};

/// A row of a pattern may miss 1 by this much (half-precision software does) …
const ROW_TOLERANCE: f64 = 1e-2;
/// … but above this the user is told.
const ROW_NOTE: f64 = 1e-3;

/// Every value a number, none infinite.
pub(super) fn check_finite(entry: &CheckedTensor, values: &[f32]) -> Result<(), FileError> {
    match values.iter().position(|value| !value.is_finite()) {
        Some(idx) => Err(not_a_weight(entry, idx, values[idx])),
        None => Ok(()),
    }
}

/// Scores may be `-inf` where masked, and nothing else that is not finite.
pub(super) fn check_scores(entry: &CheckedTensor, values: &[f32]) -> Result<(), FileError> {
    match values.iter().position(|&value| value.is_nan() || value == f32::INFINITY) {
        Some(idx) => Err(not_a_weight(entry, idx, values[idx])),
        None => Ok(()),
    }
}

/// What the rows of a pattern must hold, and what is known of each.
pub(super) struct RowRules<'a> {
    /// Whether the file declares that rows may be incomplete.
    pub(super) partial: bool,
    /// `[heads, n_query]`: what went to a learned sink.
    pub(super) sink: Option<&'a [f32]>,
    /// Heads whose rows somebody wrote: they may hold anything.
    pub(super) free: &'a [usize],
    /// Heads whose weights stand by themselves: rows sum to whatever they do.
    pub(super) unsummed: &'a [usize],
    /// Whether a change of the run may have left a query without any key.
    pub(super) may_be_empty: bool,
}

/// What is worth a note about the rows of a pattern.
#[derive(Clone, Copy, Default)]
pub(super) struct RowNotes {
    /// The largest distance from what rows should hold.
    pub(super) deviation: f64,
    /// The largest mass that a row declared incomplete lacks.
    pub(super) missing: f64,
}

/// No NaN, nothing negative, every row as `rows` says.
pub(super) fn check_pattern(entry: &CheckedTensor, values: &[f32], rows: &RowRules<'_>) -> Result<RowNotes, FileError> {
    let [_, n_rows, n_cols] = entry.shape[..] else { return Err(FileError::tensor(&entry.name, "is not a pattern")) };
    let n_rows = n_rows.max(1);
    let is_free = |idx: usize| rows.free.contains(&(idx / n_rows / n_cols.max(1)));
    let bad = |(idx, value): (usize, &f32)| value.is_nan() || (*value < 0.0 && !is_free(idx));
    if let Some((idx, _)) = values.iter().enumerate().find(|cell| bad(*cell)) {
        return Err(not_a_weight(entry, idx, values[idx]));
    }
    let mut notes = RowNotes::default();
    for (idx, row) in values.chunks_exact(n_cols.max(1)).enumerate() {
        let head = idx / n_rows;
        if rows.free.contains(&head) || rows.unsummed.contains(&head) {
            continue;
        }
        let own = sum_of(row);
        let sum = own + rows.sink.map_or(0.0, |sink| f64::from(sink[idx]));
        let deviation = (sum - 1.0).abs();
        let refuse = |what: &str| {
            let at = format!("head {}, query {} sums to {sum:.4}", idx / n_rows, idx % n_rows);
            let what = if sums_are(values.chunks_exact(n_cols.max(1)).map(sum_of), 100.0) {
                PER_CENT
            } else if sums_are(columns(values, n_rows, n_cols), 1.0) {
                TURNED
            } else if dropped_at_random(values, n_cols) {
                DROPOUT
            } else {
                what
            };
            Err(FileError::tensor(&entry.name, format!("has rows that do not sum to 1: {at}{what}")))
        };
        if sum.is_nan() || sum > 1.0 + ROW_TOLERANCE {
            return refuse("");
        }
        if deviation <= ROW_TOLERANCE {
            notes.deviation = notes.deviation.max(deviation);
        } else if rows.partial && rows.sink.is_none() {
            notes.missing = notes.missing.max(deviation);
        } else if rows.sink.is_some() {
            return refuse(" with its sink");
        } else if !(rows.may_be_empty && own == 0.0) {
            return refuse(
                "; where the rest is not known, write \"rows\": \"partial\" into the metadata, and where it went to a \
                 learned sink, add that as a tensor whose name ends in .sink",
            );
        }
    }
    if notes.deviation <= ROW_NOTE {
        notes.deviation = 0.0;
    }
    Ok(notes)
}

/// What is said of a pattern that a model in training mode left behind.
const DROPOUT: &str =
    "; some rows are above 1 and some below, as dropout leaves them: call model.eval() before the run";

/// What is said of weights of another scale, and of a matrix whose rows are the keys.
const PER_CENT: &str = "; these are per cent: divide them by 100";
const TURNED: &str = "; its columns do, so it is the other way round: exchange the last two axes, queries first";

/// Whether all sums are near `whole`.
fn sums_are(mut sums: impl Iterator<Item = f64>, whole: f64) -> bool {
    sums.all(|sum| (sum / whole - 1.0).abs() <= ROW_TOLERANCE)
}

/// What the columns of all heads sum to.
fn columns(values: &[f32], n_rows: usize, n_cols: usize) -> impl Iterator<Item = f64> {
    let heads = values.chunks_exact((n_rows * n_cols).max(1));
    heads.flat_map(move |head| {
        (0..n_cols).map(move |column| head[column..].iter().step_by(n_cols).copied().map(f64::from).sum())
    })
}

fn sum_of(row: &[f32]) -> f64 {
    row.iter().map(|&weight| f64::from(weight)).sum()
}

/// Whether rows miss 1 in both directions: dropout takes weights away and scales the others up.
fn dropped_at_random(values: &[f32], n_cols: usize) -> bool {
    let sums = || values.chunks_exact(n_cols.max(1)).map(sum_of);
    sums().any(|sum| sum > 1.0 + ROW_TOLERANCE) && sums().any(|sum| sum < 1.0 - ROW_TOLERANCE)
}

/// Every value between 0 and 1, up to rounding.
pub(super) fn check_sink(entry: &CheckedTensor, values: &[f32]) -> Result<(), FileError> {
    match values.iter().position(|value| !(0.0..=1.0 + ROW_TOLERANCE as f32).contains(value)) {
        Some(idx) if (1.0..).contains(&values[idx]) => {
            Err(FileError::tensor(&entry.name, format!("has a value above 1 ({})", values[idx])))
        }
        Some(idx) => Err(not_a_weight(entry, idx, values[idx])),
        None => Ok(()),
    }
}

fn not_a_weight(entry: &CheckedTensor, idx: usize, value: f32) -> FileError {
    let mut place = Vec::new();
    let mut rest = idx;
    for &n in entry.shape.iter().rev() {
        place.push(rest % n.max(1));
        rest /= n.max(1);
    }
    place.reverse();
    let kind = if value < 0.0 && value.is_finite() { "a negative value" } else { "a value that is not a number" };
    FileError::tensor(&entry.name, format!("has {kind} ({value}) at {place:?}"))
}
