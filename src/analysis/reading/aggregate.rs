//! The first two steps: one head's pattern, weighed if that is asked for, or several made into one.

use std::ops::Range;

use super::{Aggregate, Aggregation, Heads, Reading, Refusal, Source, Which, weigh};
use crate::{
    analysis::attention,
    capture::{Capture, Matrix},
    ids::HeadId,
    spec::PatternKind,
};

/// The pattern of the heads of `reading`, `[query, key]`, and which heads went into it; of some queries, only their
/// rows.
///
/// Of one head it is the stored pattern itself, sharing its storage, unless it is weighed. Sums and means are taken in `f64`.
///
/// # Errors
/// When a head, or its values where they are needed, does not exist or was not recorded, or when there is none.
pub(super) fn gather(
    capture: &Capture,
    reading: &Reading,
    queries: Option<&Range<usize>>,
) -> Result<(Matrix, Vec<HeadId>), Refusal> {
    let pattern = |head| pattern(capture, head, queries);
    let one: &dyn Fn(HeadId) -> Result<Matrix, Refusal> = match &reading.source {
        Source::Weights => &pattern,
        Source::ByValueNorm => &|head| {
            if capture.model().is_effective(head) {
                return Err(Refusal::SignedByValue(head));
            }
            weigh::by_value_norm(capture, head, &pattern(head)?)
        },
        Source::Explained(explained) => return explained.gather(capture, &reading.heads),
    };
    match &reading.heads {
        Heads::One(head) => Ok((one(*head)?, vec![*head])),
        Heads::Many(many) => {
            let ids = members(capture, many)?;
            match ids.as_slice() {
                [] => Err(Refusal::NoHeads(many.stack)),
                [only] => Ok((one(*only)?, ids)),
                _ => Ok((together(&ids, many.how, one)?, ids)),
            }
        }
    }
}

/// The heads that an aggregation means, by layer, then head.
///
/// # Errors
/// When one that was named does not exist or was not recorded.
pub fn members(capture: &Capture, many: &Aggregation) -> Result<Vec<HeadId>, Refusal> {
    let stack = many.stack;
    let Some(spec) = capture.model().stack(stack) else {
        return Err(no_such_head(capture, HeadId { stack, layer: 0, head: 0 }));
    };
    let mut ids = Vec::new();
    for layer in indices(&many.layers, spec.layers.len()) {
        let Some(shape) = spec.layers.get(layer) else {
            return Err(no_such_head(capture, HeadId { stack, layer, head: 0 }));
        };
        for head in indices(&many.heads, shape.n_heads) {
            let id = HeadId { stack, layer, head };
            // Of all layers some may have fewer heads, or none that were recorded: those have nothing to give. Nor have
            // those whose pattern is no distribution.
            let is_there =
                attention::has_pattern(capture, id) || (many.layers != Which::All && attention::is_shown(capture, id));
            match (is_there && head < shape.n_heads, &many.layers) {
                (true, _) => ids.push(id),
                (false, Which::All) => {}
                (false, Which::These(_)) if head >= shape.n_heads => return Err(no_such_head(capture, id)),
                (false, Which::These(_)) => return Err(Refusal::NotRecorded(id)),
            }
        }
    }
    let effective = ids.iter().filter(|id| capture.model().is_effective(**id)).count();
    if effective == 0 || effective == ids.len() { Ok(ids) } else { Err(Refusal::TwoKinds) }
}

fn indices(which: &Which, n: usize) -> Vec<usize> {
    match which {
        Which::All => (0..n).collect(),
        Which::These(these) => these.iter().copied().collect(),
    }
}

/// One head's pattern, or the rows of some queries of it, or why there is none.
fn pattern(capture: &Capture, head: HeadId, queries: Option<&Range<usize>>) -> Result<Matrix, Refusal> {
    let layer = capture.model().layer_of(head);
    if layer.is_none_or(|layer| head.head >= layer.n_heads) {
        return Err(no_such_head(capture, head));
    }
    if layer.is_some_and(|layer| layer.mixer.pattern() == PatternKind::None) {
        return Err(Refusal::NoPattern(head));
    }
    if capture.model().is_effective(head) {
        return attention::effective(capture, head, queries).ok_or(Refusal::NotKept(head));
    }
    let found = match queries {
        None => attention::pattern(capture, head),
        Some(queries) => attention::pattern_rows(capture, head, queries.clone()),
    };
    found.ok_or(Refusal::NotRecorded(head))
}

fn no_such_head(capture: &Capture, head: HeadId) -> Refusal {
    let model = capture.model();
    let there_is = match model.stack(head.stack) {
        None => {
            let kinds: Vec<&str> = model.stacks.iter().map(|stack| stack.kind.name()).collect();
            format!("{} has {}", model.name, kinds.join(", "))
        }
        Some(stack) => match stack.layers.get(head.layer) {
            None => format!("the stack has {} layers, counted from 0", stack.layers.len()),
            Some(layer) => format!("the layer has {} heads, counted from 0", layer.n_heads),
        },
    };
    Refusal::NoSuchHead { head, there_is }
}

/// Several patterns made into one, entry by entry.
pub(super) fn together(
    ids: &[HeadId],
    how: Aggregate,
    one: impl Fn(HeadId) -> Result<Matrix, Refusal>,
) -> Result<Matrix, Refusal> {
    let mut sums: Vec<f64> = Vec::new();
    let mut shape = [0, 0];
    for &id in ids {
        let next = one(id)?;
        let values = next.as_slice().iter().map(|&weight| f64::from(weight));
        if sums.is_empty() {
            shape = next.shape();
            sums = values.collect();
            continue;
        }
        let combine: fn(f64, f64) -> f64 = match how {
            Aggregate::Mean | Aggregate::Sum => |sum, weight| sum + weight,
            Aggregate::Max => f64::max,
            Aggregate::Min => f64::min,
        };
        for (sum, weight) in sums.iter_mut().zip(values) {
            *sum = combine(*sum, weight);
        }
    }
    let n = if how == Aggregate::Mean { ids.len() as f64 } else { 1.0 };
    let values: Vec<f32> = sums.into_iter().map(|sum| (sum / n) as f32).collect();
    // All patterns of a stack have one shape: a capture is checked when it is built.
    Matrix::new(values, shape).map_err(|_| Refusal::NotRecorded(ids[0]))
}
