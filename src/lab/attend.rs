//! What does this output depend on? Attention itself, of one layer: what people take for the answer.

use std::borrow::Cow;

use serde_json::json;

use super::{
    Bench, LabError, Target,
    depends::{by_stack, patterns},
};
use crate::{
    analysis::explain::report::{Method, Report, Value},
    spec::HeadKind,
};

/// The row of attention that is read for the output, of one layer: the mean of its heads, or one of them.
///
/// Of an encoder–decoder it is two rows, one over what was written and one over the source.
pub fn attention(
    bench: &Bench<'_>,
    layer: Option<usize>,
    head: Option<usize>,
    target: Target,
) -> Result<Report, LabError> {
    let capture = bench.plain()?;
    // Of a model without a prediction there are the maps alone.
    let aim = target.aim(bench).ok();
    let compares = capture.model().head == Some(HeadKind::Similarity);
    let (mut scores, mut maps, mut used, mut shallow) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for stack in &capture.model().stacks {
        let (query, key) = (stack.kind.query_side(), stack.kind.key_side());
        if aim.as_ref().is_some_and(|aim| query != aim.side) && !compares {
            continue;
        }
        let n_layers = stack.layers.len();
        // Stacks may be of different depths: each has a last layer of its own.
        let own = layer.unwrap_or_else(|| n_layers.saturating_sub(1));
        let Some(spec) = stack.layers.get(own) else {
            shallow.push(format!("there is no layer {own} among {n_layers} of the stack {}", stack.kind));
            continue;
        };
        if let Some(head) = head.filter(|head| *head >= spec.n_heads) {
            return Err(LabError::unsuited(format!("there is no head {head}: layer {own} has {}", spec.n_heads)));
        }
        used.push((stack.kind, own));
        let all = patterns(capture, stack)?;
        let map = all.get(own).and_then(|layer| head.map_or_else(|| layer.mean(), |head| layer.head(head)));
        let map = map.ok_or_else(|| LabError::unsuited("the layer has no heads"))?;
        if let Some(aim) = &aim {
            let reads = if query == aim.side { aim.reads } else { bench.model.tower_reads() };
            scores.push((Cow::Borrowed(key.name()), Value::tokens(key, reads.row_of(&map))));
        }
        maps.push((Cow::Borrowed(stack.kind.name()), Value::matrix(query, key, map)));
    }
    if maps.is_empty() {
        let nothing = || "this output reads no attention row".to_owned();
        return Err(LabError::unsuited(shallow.pop().unwrap_or_else(nothing)));
    }
    let layers = match used.as_slice() {
        [(_, first), rest @ ..] if rest.iter().all(|(_, other)| other == first) => json!(first),
        several => several.iter().map(|(stack, layer)| (stack.name().to_owned(), json!(layer))).collect(),
    };
    let mut report = Report::new(Method::Attention).with_parameter("layer", layers);
    report.notes = shallow;
    if !scores.is_empty() {
        report.values = by_stack("scores", scores);
    }
    report.values.extend(by_stack("matrix", maps));
    Ok(report)
}
