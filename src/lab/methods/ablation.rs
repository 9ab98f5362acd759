//! Head ablation (Michel et al. 2019): what the output loses when heads are switched off, one at a time.

use std::borrow::Cow;

use serde_json::json;

use crate::{
    analysis::explain::{
        divergence::tvd,
        rank::descending,
        report::{ColumnValues, LabQuestion, MethodPicture, MethodSpec, Report, TableColumn, Value, ValueSpec},
    },
    capture::{Ablate, Ablation, head_name},
    glossary,
    ids::{HeadId, StackKind},
    lab::{
        Aim, LabError, LabRun, Method, MethodPreset, Target,
        aim::one_number,
        method::Parameters,
        options::{Scope, Visit, choose},
        patterns::by_stack,
    },
    model::{Edit, Logits, Site, Sites, Start, Variant},
};

/// Runs that are made ready at once: each may carry what entered its layer.
const AT_ONCE: usize = 32;

/// The method.
const SPEC: MethodSpec = MethodSpec {
    name: "ablation",
    title: "Head ablation",
    question: LabQuestion::Believe,
    about: "Change of the output when each head is switched off in turn",
    example: "--model demo:sentiment --text \"a fine film\" --with mean",
    caveat: "The model was never trained to run without a head, and heads that can replace each other all look \
        unimportant.",
    formula: "z_h = 0, its mean over positions, or A_h = 1 / n of visible keys, or A_h with its weights shuffled\n\
        change = ½ Σ_o |p_o(without h) - p_o|, of a label |p(without h) - p|\nlogit = y - y(without h)",
    source: "Michel et al. 2019; Voita et al. 2019",
    values: &[
        ValueSpec::new(
            "logit",
            "Score lost without each head",
            "The logit that is explained, or the difference of two, minus the same without the head: positive if the \
             head raises it",
        ),
        ValueSpec::new("change", "Change of the output without each head", glossary::TOTAL_VARIATION.meaning),
        ValueSpec::new("flips", "Heads whose removal changes the answer", ""),
    ],
    picture: MethodPicture::SelectedHead,
    ..MethodSpec::EMPTY
};

const WAYS: [(Ablation, &str, &str); 4] = [
    (Ablation::Zero, "zero", "Nothing"),
    (Ablation::Mean, "mean", "Its mean over tokens"),
    (Ablation::Uniform, "uniform", "Equal weights"),
    (Ablation::Shuffle { seed: 0 }, "shuffle", "Shuffled weights"),
];

impl Method for Ablation {
    const SPEC: &'static MethodSpec = &SPEC;
    const COLUMNS: &'static [MethodPreset] = &[MethodPreset {
        name: "ablation",
        title: "Head ablation",
        method: &SPEC,
        starts: true,
        ask: |_| Ok(Self::Zero.into()),
    }];

    fn begin() -> Self {
        Self::Zero
    }

    fn options(&mut self, _scope: &Scope<'_>, visit: &mut Visit<'_>) {
        choose(visit, ("with", "In its place", "Replacement of the head's output"), self, &WAYS);
    }

    fn parameters(&self) -> Parameters {
        let name = match self {
            Self::Zero => "zero",
            Self::Mean => "mean",
            Self::Uniform => "uniform",
            Self::Shuffle { .. } => "shuffle",
        };
        vec![("with", json!(name))]
    }

    fn run(&self, lab: &LabRun<'_>, target: Target) -> Result<Report, LabError> {
        ablation(lab, *self, target)
    }
}

/// What changes when each head of the model is switched off in turn (Michel et al. 2019).
fn ablation(lab: &LabRun<'_>, with: Ablation, target: Target) -> Result<Report, LabError> {
    let aim = target.aim(lab)?;
    let plain = lab.plain()?;
    one_number(plain)?;
    let stacks = plain.model().stacks.clone();
    let all: Vec<HeadId> = stacks
        .iter()
        .flat_map(|stack| stack.layers.iter().enumerate().map(move |(layer, spec)| (stack.kind, layer, spec.n_heads)))
        .flat_map(|(stack, layer, n)| (0..n).map(move |head| HeadId { stack, layer, head }))
        .collect();
    let heads: Vec<HeadId> = all.iter().copied().filter(|head| !lab.is_off(*head)).collect();
    let shown = |found: &[[f64; 3]]| (lab.partial)(&told(lab, &aim, (&all, &heads), found));
    let found = measured(lab, with, &aim, &heads, &shown)?;
    Ok(told(lab, &aim, (&all, &heads), &found))
}

/// What changes without each of some heads: of the distribution, of the logit, and whether the answer does.
///
/// # Errors
/// When a run fails, or somebody says stop.
pub fn measured(
    lab: &LabRun<'_>,
    with: Ablation,
    aim: &Aim,
    heads: &[HeadId],
    shown: &dyn Fn(&[[f64; 3]]),
) -> Result<Vec<[f64; 3]>, LabError> {
    let recorded = if lab.model.goes_on() { Some(lab.run(Sites::of(&[Site::ResidPre]), Logits::Skip)?) } else { None };
    let start = |head: HeadId| {
        let stream = recorded.as_ref()?.layer(head)?.resid_pre().cloned()?;
        Some(Start { layer: head.layer, stream })
    };
    let (mut before, mut logit_before) = (None, 0.0);
    let unchanged = Variant::of(lab.input, lab.edits, aim.row);
    lab.model.logits_of(&[unchanged], lab.control, &mut |_, logits| {
        (before, logit_before) = (aim.distribution(logits), aim.value(logits));
    })?;
    let decided = |p: &Vec<f64>| descending(p).first().copied();
    let decision = before.as_ref().and_then(decided);
    let mut found: Vec<[f64; 3]> = Vec::with_capacity(heads.len());
    for some in heads.chunks(AT_ONCE) {
        lab.step(found.len(), heads.len())?;
        let without = |head: &HeadId| {
            let edits = lab.with(Edit::Ablate(Ablate { head: *head, with }));
            Variant { input: Cow::Borrowed(lab.input), edits: Cow::Owned(edits), start: start(*head), row: aim.row }
        };
        let variants: Vec<Variant<'_>> = some.iter().map(without).collect();
        lab.model.logits_of(&variants, lab.control, &mut |_, logits| {
            let p = aim.distribution(logits);
            let flips = p.as_ref().and_then(decided) != decision;
            let moved = before.as_ref().zip(p.as_ref()).map_or(f64::NAN, |(before, p)| tvd(before, p));
            found.push([moved, logit_before - aim.value(logits), f64::from(u8::from(flips))]);
        })?;
        shown(&found);
    }
    Ok(found)
}

/// What was `found` of the first of `heads`, among `all`.
fn told(lab: &LabRun<'_>, aim: &Aim, (all, heads): (&[HeadId], &[HeadId]), found: &[[f64; 3]]) -> Report {
    let mut report = Report::new(&SPEC);
    report.parameters = aim.parameters(lab);
    let by_layer = |which: usize| {
        let mut stacks: Vec<(StackKind, Vec<Value>)> = Vec::new();
        for group in all.chunk_by(|a, b| (a.stack, a.layer) == (b.stack, b.layer)) {
            let value = |head: &HeadId| {
                let place = heads.iter().position(|known| known == head);
                place.and_then(|place| found.get(place)).map_or(f64::NAN, |found| found[which])
            };
            let layer = Value::List(group.iter().map(value).collect());
            match stacks.last_mut().filter(|(kind, _)| *kind == group[0].stack) {
                Some((_, layers)) => layers.push(layer),
                None => stacks.push((group[0].stack, vec![layer])),
            }
        }
        let named = stacks.into_iter().map(|(kind, layers)| (Cow::Borrowed(kind.name()), Value::Layers(layers)));
        named.collect::<Vec<_>>()
    };
    report.values = by_stack("logit", by_layer(1));
    if aim.outputs.has_probabilities() {
        report.values.extend(by_stack("change", by_layer(0)));
    }
    let flips = heads.iter().zip(found).filter(|(_, found)| found[2] > 0.0);
    let names = flips.map(|(head, _)| head_name(*head)).collect::<Vec<String>>();
    let off: Vec<String> = all.iter().filter(|head| !heads.contains(head)).map(|head| head_name(*head)).collect();
    match &off[..] {
        [] => {}
        [one] => report.notes.push(format!("{one} is switched off already, so it was skipped")),
        several => {
            report.notes.push(format!("{} are switched off already, so they were skipped", several.join(", ")));
        }
    }
    if !names.is_empty() {
        report
            .values
            .push((Cow::Borrowed("flips"), Value::Table(vec![TableColumn::new("head", ColumnValues::Text(names))])));
    }
    report
}
