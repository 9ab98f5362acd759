//! Patterns of a run and their gradients, stack by stack.

use std::borrow::Cow;

use super::{Aim, LabError, LabRun};
use crate::{
    analysis::{attention, explain::report::Value},
    capture::{Capture, PerHead, RowMass},
    ids::{HeadId, StackKind},
    model::{Gradients, Logits, Site, Sites, Taps},
    spec::{LayerSpec, PatternKind, StackSpec},
};

/// Why layers of attention between two sequences have no product.
pub(super) const NOTHING_TO_MULTIPLY: &str =
    "its only attention goes from one sequence to another, so layers cannot be multiplied";

/// Why layers of two streams have no product.
pub(super) const NO_CHAIN: &str = "each of its cross-modal layers takes in one more layer of both towers, so layers \
    cannot be multiplied";

/// Refuses models whose layers do not follow each other.
pub(super) fn check_chain(capture: &Capture) -> Result<(), LabError> {
    if capture.model().has_two_streams() {
        return Err(LabError::unsuited(NO_CHAIN));
    }
    // What stands beside attention moves values as well, whichever stack is looked at.
    let mut beside = capture.model().stacks.iter().filter(|stack| stack.kind == StackKind::Beside);
    beside.try_for_each(check_attention)
}

/// Every pattern of a stack, layer by layer.
pub(super) fn patterns(capture: &Capture, stack: &StackSpec) -> Result<Vec<PerHead>, LabError> {
    check_attention(stack)?;
    let missing = || LabError::unsuited("a pattern is missing: the input is too long to keep all of them");
    let layer = |(layer, spec): (usize, &crate::spec::LayerSpec)| -> Result<PerHead, LabError> {
        if let Some(kept) = capture.layer(HeadId { stack: stack.kind, layer, head: 0 }).and_then(|it| it.pattern()) {
            return Ok(kept.clone());
        }
        let mut values = Vec::new();
        let mut shape = [spec.n_heads, 0, 0];
        for head in 0..spec.n_heads {
            let head = attention::pattern(capture, HeadId { stack: stack.kind, layer, head }).ok_or_else(missing)?;
            (shape[1], shape[2]) = (head.n_rows(), head.n_cols());
            values.extend_from_slice(head.as_slice());
        }
        PerHead::new(values, shape).map_err(|_| missing())
    };
    stack.layers.iter().enumerate().map(layer).collect()
}

/// Refuses stacks some of whose layers have no distributions.
pub(super) fn check_attention(stack: &StackSpec) -> Result<(), LabError> {
    let mut layers = stack.layers.iter().enumerate();
    let why = |spec: &LayerSpec| match spec.mixer.pattern() {
        PatternKind::Distribution => None,
        PatternKind::Effective => Some("its effective pattern is signed and no distribution"),
        PatternKind::None => Some("each of its channels has factors of its own, and so no pattern holds for all"),
    };
    layers.find_map(|(layer, spec)| Some((layer, spec, why(spec)?))).map_or(Ok(()), |(layer, spec, why)| {
        let mixer = spec.mixer.title();
        let what = format!("it needs attention in every layer, and L{layer} has none ({mixer}): {why}");
        Err(LabError::unsuited(what))
    })
}

/// [`patterns`] of a method that follows shares of 1.
pub(super) fn shares(capture: &Capture, stack: &StackSpec) -> Result<Vec<PerHead>, LabError> {
    for (layer, spec) in stack.layers.iter().enumerate() {
        check_shares(capture, (0..spec.n_heads).map(|head| HeadId { stack: stack.kind, layer, head }))?;
    }
    patterns(capture, stack)
}

/// Refuses heads whose weights are no distribution.
pub(super) fn check_shares(capture: &Capture, heads: impl IntoIterator<Item = HeadId>) -> Result<(), LabError> {
    let is_free = |head: &HeadId| capture.row_mass(*head) == RowMass::Free;
    heads.into_iter().find(is_free).map_or(Ok(()), |head| {
        let normalizer = capture.computation().normalizer_of(head).title();
        Err(LabError::unsuited(format!(
            "it is not defined for weights that need not sum to 1, as those of {head} by {normalizer}"
        )))
    })
}

/// Stacks whose queries and keys are the same tokens, so that layers can be multiplied.
pub(super) fn square_stacks(capture: &Capture) -> impl Iterator<Item = &StackSpec> {
    capture.model().stacks.iter().filter(|stack| stack.kind.query_side() == stack.kind.key_side())
}

/// One value of a stack alone goes by its usual name, those of several by the names of their stacks.
pub(super) fn by_stack(
    name: &'static str,
    mut values: Vec<(Cow<'static, str>, Value)>,
) -> Vec<(Cow<'static, str>, Value)> {
    if values.len() == 1 {
        return values.pop().map(|(_, value)| (Cow::Borrowed(name), value)).into_iter().collect();
    }
    vec![(Cow::Borrowed(name), Value::Group(values))]
}

/// Gradients of every pattern, in the run that is explained.
pub(super) fn pattern_gradients(lab: &LabRun<'_>, aim: &Aim) -> Result<Gradients, LabError> {
    let plan = lab.plan(Sites::NONE, Logits::Skip);
    let taps = Taps::of(&[Site::Pattern]);
    Ok(lab.model.gradients(lab.input, &plan, aim.objective(), taps, lab.control)?.1)
}

pub(super) fn of_stack(gradients: &Gradients, kind: StackKind) -> Vec<PerHead> {
    let stack = gradients.stacks.iter().find(|stack| stack.kind == kind);
    stack.map_or_else(Vec::new, |stack| stack.layers.iter().filter_map(|layer| layer.pattern().cloned()).collect())
}
