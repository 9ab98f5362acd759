//! Leave-one-out: the change when each token is left out in turn.

use std::borrow::Cow;

use serde_json::json;

use crate::{
    analysis::explain::{
        divergence::tvd,
        report::{LabQuestion, MethodSpec, Report, Scores, Value, ValueSpec},
    },
    capture::{Capture, HideToken, MaskToken},
    ids::Side,
    lab::{
        Aim, LabError, LabFocus, LabRun, Method, MethodCall, MethodPreset, MethodRefusal, Target,
        method::Parameters,
        options::{Scope, Visit, choose},
        patterns::by_stack,
    },
    model::{Edit, Encoded, Variant},
    spec::HeadKind,
};

/// The method.
const SPEC: MethodSpec = MethodSpec {
    name: "loo",
    title: "Leave-one-out",
    question: LabQuestion::Depends,
    about: "Change of the output when each token is hidden, masked or deleted",
    example: "--model demo:sentiment --text \"a fine film\" --by hide",
    caveat: "The model may never have seen an input with a missing token, and two tokens that can replace each \
        other both look unimportant.",
    formula: "effect of token t = ½ Σ_o |p_o(without t) - p_o|, of a label |p(without t) - p|\nlogit effect = y(without t) - y",
    source: "Li et al. 2016; Jain and Wallace 2019",
    values: &[ValueSpec::new("effect", "Effect", ""), ValueSpec::new("logit", "Logit", "")],
    scores: |report| Scores::signed(if report.is_of_score() { "score lost" } else { "logits lost" }),
    ..MethodSpec::EMPTY
};

/// How tokens are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeaveOneOutOptions {
    pub by: LeaveOut,
}

/// How a token is left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LeaveOut {
    /// No query can attend to it: positions stay.
    #[default]
    Hide,
    /// The mask token stands in its place.
    Mask,
    /// It is taken out of the text: positions after it move.
    Delete,
}

vocabulary! {
    LeaveOut: name;
    Hide("hide"),
    Mask("mask"),
    Delete("delete"),
}

/// A way that takes words, for patches of a picture can only be hidden.
fn of_text(focus: &LabFocus<'_>, by: LeaveOut) -> Result<MethodCall, MethodRefusal> {
    if focus.capture.image().is_some() {
        return Err(MethodRefusal::unsuited("patches of a picture can only be hidden"));
    }
    Ok(LeaveOneOutOptions { by }.into())
}

impl Method for LeaveOneOutOptions {
    const SPEC: &'static MethodSpec = &SPEC;
    const COLUMNS: &'static [MethodPreset] = &[
        MethodPreset {
            name: "hidden",
            title: "If hidden",
            method: &SPEC,
            starts: true,
            ask: |_| Ok(Self { by: LeaveOut::Hide }.into()),
        },
        MethodPreset {
            name: "masked",
            title: "If masked",
            method: &SPEC,
            starts: false,
            ask: |focus| of_text(focus, LeaveOut::Mask),
        },
        MethodPreset {
            name: "deleted",
            title: "If deleted",
            method: &SPEC,
            starts: true,
            ask: |focus| of_text(focus, LeaveOut::Delete),
        },
    ];

    fn begin() -> Self {
        Self::default()
    }

    // In the window each way is a column of its own.
    fn options(&mut self, scope: &Scope<'_>, visit: &mut Visit<'_>) {
        if scope.command_line {
            let all = LeaveOut::ALL.map(|by| (by, by.name(), by.name()));
            choose(visit, ("by", "How", "How tokens are left out"), &mut self.by, &all);
        }
    }

    fn parameters(&self) -> Parameters {
        vec![("by", json!(self.by.name()))]
    }

    fn run(&self, lab: &LabRun<'_>, target: Target) -> Result<Report, LabError> {
        leave_one_out(lab, self.by, target)
    }
}

/// Its effects as a report.
pub(super) fn leave_one_out(lab: &LabRun<'_>, by: LeaveOut, target: Target) -> Result<Report, LabError> {
    let aim = target.aim(lab)?;
    let capture = lab.plain()?;
    let mut report = Report::new(&SPEC);
    report.parameters = aim.parameters(lab);
    let sides: Vec<Side> =
        lab.input.tokens.iter().filter(|(_, tokens)| !tokens.is_empty()).map(|(side, _)| *side).collect();
    let read: Vec<Side> = sides.into_iter().filter(|side| by != LeaveOut::Hide || is_read(capture, *side)).collect();
    let mut places = Vec::new();
    let mut changed = Vec::new();
    for side in read {
        for position in 0..capture.tokens(side).len() {
            if let Some(change) = without(lab, &aim, by, side, position) {
                places.push((side, position));
                changed.push(change);
            }
        }
    }
    if places.is_empty() {
        return Err(LabError::unsuited(match by {
            LeaveOut::Mask => "the model has no mask token, or no text: hide tokens instead",
            LeaveOut::Delete if !lab.edits.is_empty() => {
                "the changes of this run name positions, which move when a token is deleted: hide tokens instead"
            }
            LeaveOut::Delete => "no token can be deleted: hide tokens instead",
            LeaveOut::Hide => "no attention reads the input, so nothing can be hidden from it",
        }));
    }
    let variants: Vec<Variant<'_>> =
        changed.iter().map(|(input, edits, row)| Variant::of(input, edits, *row)).collect();
    let plain = lab.logits(aim.row)?;
    let (before, logit_before) = (aim.distribution(&plain), aim.value(&plain));
    let mut found: Vec<(f32, f32)> = Vec::with_capacity(places.len());
    lab.model.logits_of(&variants, lab.control, &mut |_, logits| {
        let moved =
            before.as_ref().zip(aim.distribution(logits)).map_or(f64::NAN, |(before, after)| tvd(before, &after));
        found.push((moved as f32, (logit_before - aim.value(logits)) as f32));
        if found.len().is_multiple_of(16) {
            (lab.partial)(&told(report.clone(), capture, &places, &found));
        }
    })?;
    if by == LeaveOut::Delete {
        report.notes.push("tokens after a deleted one move up by one position".to_owned());
    }
    Ok(told(report, capture, &places, &found))
}

/// Effects by side, on all tokens; those that could not be left out are NaN.
fn told(report: Report, capture: &Capture, places: &[(Side, usize)], found: &[(f32, f32)]) -> Report {
    let mut sides: Vec<Side> = places.iter().map(|(side, _)| *side).collect();
    sides.dedup();
    let of = |pick: &dyn Fn(&(f32, f32)) -> f32| {
        let side = |side: &Side| {
            let mut values = vec![f32::NAN; capture.tokens(*side).len()];
            for ((_, position), found) in places.iter().zip(found).filter(|((of, _), _)| of == side) {
                values[*position] = pick(found);
            }
            (Cow::Borrowed(side.name()), Value::tokens(*side, values))
        };
        sides.iter().map(side).collect::<Vec<_>>()
    };
    let mut report = report;
    report.values = by_stack("effect", of(&|found| found.0));
    report.values.extend(by_stack("logit", of(&|found| found.1)));
    // A single outcome has all the probability whatever happens, and scores have none.
    let has_probabilities = capture.prediction().is_some_and(|found| found.outputs.has_probabilities());
    if capture.model().head == Some(HeadKind::Similarity) || !has_probabilities {
        report.values.remove(0);
    }
    report
}

/// Whether some attention has these tokens as keys.
fn is_read(capture: &Capture, side: Side) -> bool {
    capture.model().stacks.iter().any(|stack| stack.kind.key_side() == side)
}

type Change<'a> = (Cow<'a, Encoded>, Vec<Edit>, usize);

/// The input without one token; `None` where it cannot be left out in this way.
fn without<'a>(lab: &LabRun<'a>, aim: &Aim, by: LeaveOut, side: Side, position: usize) -> Option<Change<'a>> {
    let edits = match by {
        LeaveOut::Hide => lab.with(Edit::HideToken(HideToken { position, side })),
        LeaveOut::Mask => {
            lab.model.mask_id()?;
            lab.input.tokens.get(&side)?.get(position)?.id?;
            lab.with(Edit::MaskToken(MaskToken { position, side }))
        }
        LeaveOut::Delete => {
            // What is read there cannot be asked about once it is gone.
            let is_read = side == aim.side && aim.row == position && !lab.model.reads_whole();
            let input = lab.input.without(side, position).filter(|_| !is_read && lab.edits.is_empty())?;
            let row = if side == aim.side && position < aim.row { aim.row - 1 } else { aim.row };
            return Some((Cow::Owned(input), lab.edits.to_vec(), row));
        }
    };
    Some((Cow::Borrowed(lab.input), edits, aim.row))
}
