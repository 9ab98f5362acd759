//! Attention itself, of one layer: the weights that people take for an explanation.

use std::borrow::Cow;

use serde_json::json;

use super::{MAP, SCORES};
use crate::{
    analysis::explain::report::{LabQuestion, MethodSpec, Report, Scores, Value},
    lab::{
        Aim, LabError, LabRun, Method, MethodPreset, Target,
        method::Parameters,
        options::{Scope, Visit, choose, layer_or_last, read_position},
        patterns::{by_stack, patterns},
    },
    spec::HeadKind,
};

/// The method.
const SPEC: MethodSpec = MethodSpec {
    name: "attention",
    title: "Attention",
    question: LabQuestion::Depends,
    about: "The row of attention that is read for the output, of one layer",
    example: "--model demo:sentiment --text \"a fine film\" --layer 2",
    caveat: "Weights show where one layer attends, not what it takes from there or whether the output uses it.",
    formula: "mean over heads of A_l[i, ·], with i the position that is read for the output",
    source: "Bahdanau et al. 2015; Vaswani et al. 2017",
    values: &[MAP, SCORES],
    scores: |_| Scores::unsigned("weight"),
    ..MethodSpec::EMPTY
};

/// The row that is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AttentionOptions {
    /// Its layer; the last where there is none.
    pub layer: Option<usize>,
    /// Its head; the mean of all where there is none.
    pub head: Option<usize>,
}

impl Method for AttentionOptions {
    const SPEC: &'static MethodSpec = &SPEC;
    const COLUMNS: &'static [MethodPreset] = &[MethodPreset {
        name: "attention",
        title: "Attention",
        method: &SPEC,
        starts: true,
        ask: |_| Ok(Self { layer: None, head: None }.into()),
    }];

    fn begin() -> Self {
        Self::default()
    }

    fn options(&mut self, scope: &Scope<'_>, visit: &mut Visit<'_>) {
        visit(layer_or_last(&mut self.layer, "Layer whose attention is shown", scope));
        if scope.command_line {
            return read_position(visit, ("head", "Head", "One head [default: the mean of all]"), &mut self.head);
        }
        let about = ("heads", "Heads", "The mean of all heads of the layer, or the selected head");
        let all = [(None, "mean", "Mean of all"), (Some(scope.head), "one", "Selected head")];
        choose(visit, about, &mut self.head, &all);
    }

    fn parameters(&self) -> Parameters {
        vec![("head", json!(self.head))]
    }

    fn run(&self, lab: &LabRun<'_>, target: Target) -> Result<Report, LabError> {
        attention(lab, *self, target)
    }
}

/// The row of attention that is read for the output, of one layer: the mean of its heads, or one of them.
///
/// Of an encoder–decoder it is two rows, one over what was written and one over the source.
fn attention(
    lab: &LabRun<'_>,
    AttentionOptions { layer, head }: AttentionOptions,
    target: Target,
) -> Result<Report, LabError> {
    let capture = lab.plain()?;
    // Of a model without a prediction there are the maps alone.
    let aim = target.aim(lab).ok();
    let compares = capture.model().head == Some(HeadKind::Similarity);
    let has_two_streams = capture.model().has_two_streams();
    let (mut scores, mut maps, mut used, mut shallow) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for stack in &capture.model().stacks {
        let (query, key) = (stack.kind.query_side(), stack.kind.key_side());
        // Of two streams the tower's own attention is not what the head reads.
        let is_read = |aim: &Aim| query == aim.side && (!has_two_streams || stack.kind.host() == aim.stack);
        if aim.as_ref().is_some_and(|aim| !is_read(aim)) && !compares {
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
            let reads = if query == aim.side { aim.reads } else { lab.model.tower_reads() };
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
    let mut report = Report::new(&SPEC).with_parameter("layer", layers);
    report.notes = shallow;
    if !scores.is_empty() {
        report.values = by_stack("scores", scores);
    }
    report.values.extend(by_stack("matrix", maps));
    Ok(report)
}
