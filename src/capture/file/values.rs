//! Whether the values of a tensor can be what its name says.

use super::{FileError, entry::Entry};

/// A row of a pattern may miss 1 by this much (half-precision software does) …
const ROW_TOLERANCE: f64 = 1e-2;
/// … but above this the user is told.
const ROW_NOTE: f64 = 1e-3;

/// Every value a number, none infinite.
pub(super) fn check_finite(entry: &Entry, values: &[f32]) -> Result<(), FileError> {
    match values.iter().position(|value| !value.is_finite()) {
        Some(idx) => Err(not_a_weight(entry, idx, values[idx])),
        None => Ok(()),
    }
}

/// Scores may be `-inf` where masked, and nothing else that is not finite.
pub(super) fn check_scores(entry: &Entry, values: &[f32]) -> Result<(), FileError> {
    match values.iter().position(|&value| value.is_nan() || value == f32::INFINITY) {
        Some(idx) => Err(not_a_weight(entry, idx, values[idx])),
        None => Ok(()),
    }
}

/// No NaN, nothing negative, every row a distribution. The largest deviation when it is worth a note.
pub(super) fn check_pattern(entry: &Entry, values: &[f32]) -> Result<Option<f64>, FileError> {
    if let Some(idx) = values.iter().position(|&value| value.is_nan() || value < 0.0) {
        return Err(not_a_weight(entry, idx, values[idx]));
    }
    let n_cols = entry.shape.last().copied().unwrap_or(0).max(1);
    let mut worst = 0.0f64;
    for (idx, row) in values.chunks_exact(n_cols).enumerate() {
        let sum: f64 = row.iter().map(|&weight| f64::from(weight)).sum();
        let deviation = (sum - 1.0).abs();
        if deviation.is_nan() || deviation > ROW_TOLERANCE {
            let [_, n_rows, _] = entry.shape[..] else {
                return Err(FileError::tensor(&entry.name, "is no pattern"));
            };
            let problem = format!(
                "has rows that do not sum to 1: head {}, query {} sums to {sum:.4}",
                idx / n_rows.max(1),
                idx % n_rows.max(1)
            );
            return Err(FileError::tensor(&entry.name, problem));
        }
        worst = worst.max(deviation);
    }
    Ok((worst > ROW_NOTE).then_some(worst))
}

fn not_a_weight(entry: &Entry, idx: usize, value: f32) -> FileError {
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
