//! What one head does to an output: what it adds to the logit directly, from each token that it reads, and what is lost
//! without it.

use crate::{
    analysis::explain::report::{Form, LabQuestion, MethodSpec, Report, Scores, Value, ValueSpec},
    capture::{Ablation, head_name},
    ids::HeadId,
    lab::{
        LabError, LabRun, Method, MethodPreset, Target,
        aim::one_number,
        method::Parameters,
        options::{Scope, Visit, read_head},
    },
};

use super::{ablation::measured, direct_logits::direct};

/// The method.
const SPEC: MethodSpec = MethodSpec {
    name: "head-effect",
    title: "Effect of one head",
    question: LabQuestion::Believe,
    about: "What one head adds to a logit from each token it reads, and what is lost without it",
    example: "--model demo:gpt --text \"Once upon a\" --layer 1 --head 0",
    caveat: "The direct part holds the final norm fixed and leaves out what later layers make of it, and the model was \
             never trained to run without the head.",
    formula: "direct(j) = α_qj · (f(x_j) - mean) / s ⊙ γ · (W_U[t] - W_U[t']), s held fixed\nΣ_j direct(j) = the head's \
              part of the logit\nlost = y - y(z_h = 0), or with the mean of z_h over positions",
    source: "Elhage et al. 2021; Michel et al. 2019",
    values: &[
        ValueSpec::new("direct", "Added to the logit directly", "Not through later layers").form(Form::Decimal),
        ValueSpec::new(
            "sources",
            "Added to the logit, by token that is read",
            "They sum to what the head adds directly",
        ),
        ValueSpec::new("lost", "Score lost without the head", "").form(Form::Decimal),
        ValueSpec::new("lost_mean", "Score lost with its mean instead", "").form(Form::Decimal),
        ValueSpec::new("change", "Change of the output without the head", crate::glossary::TOTAL_VARIATION.meaning),
        ValueSpec::new("flips", "Whether the answer is another one without it", ""),
    ],
    scores: |report| Scores::signed(report.raw()),
    ..MethodSpec::EMPTY
};

/// Which head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeadEffect {
    pub head: HeadId,
}

impl Method for HeadEffect {
    const SPEC: &'static MethodSpec = &SPEC;
    const COLUMNS: &'static [MethodPreset] = &[MethodPreset {
        name: "head-effect",
        title: "Effect of the head",
        method: &SPEC,
        starts: false,
        ask: |focus| Ok(Self { head: focus.head }.into()),
    }];

    fn begin() -> Self {
        Self::default()
    }

    // In the window the head is the one that is selected.
    fn options(&mut self, scope: &Scope<'_>, visit: &mut Visit<'_>) {
        if scope.command_line {
            read_head(visit, &mut self.head);
        }
    }

    // The head is told with the answer.
    fn parameters(&self) -> Parameters {
        Vec::new()
    }

    fn run(&self, lab: &LabRun<'_>, target: Target) -> Result<Report, LabError> {
        effect(lab, self.head, target)
    }
}

fn effect(lab: &LabRun<'_>, head: HeadId, target: Target) -> Result<Report, LabError> {
    let aim = target.aim(lab)?;
    let plain = lab.plain()?;
    one_number(plain)?;
    let spec = plain.model().layer_of(head);
    if spec.is_none_or(|layer| head.head >= layer.n_heads) {
        return Err(LabError::unsuited(format!("there is no head {}", head_name(head))));
    }
    if lab.is_off(head) {
        let what = format!("{} is switched off already: take the change back first", head_name(head));
        return Err(LabError::unsuited(what));
    }
    let mut report = Report::new(&SPEC).with_parameter("head", head_name(head));
    report.parameters.extend(aim.parameters(lab));
    report = match direct(lab, target, Some(head)) {
        Ok((_, Some(share))) => {
            let sources = share.by_token.iter().map(|part| *part as f32).collect();
            report
                .with_value("direct", share.whole)
                .with_value("sources", Value::tokens(head.stack.key_side(), sources))
        }
        Ok((_, None)) => report,
        Err(LabError::Unsuited(why)) => report.with_value("direct", Value::Missing(format!("not defined: {why}"))),
        Err(LabError::Model(crate::model::ModelError::Edit(why))) => {
            report.with_value("direct", Value::Missing(format!("not defined: {why}")))
        }
        Err(error) => return Err(error),
    };
    (lab.partial)(&report);
    let without = |with: Ablation| {
        let found = measured(lab, with, &aim, &[head], &|_| {})?;
        found.into_iter().next().ok_or_else(|| LabError::unsuited("the head cannot be switched off"))
    };
    let [change, lost, flips] = without(Ablation::Zero)?;
    let [_, lost_mean, _] = without(Ablation::Mean)?;
    report = report.with_value("lost", lost).with_value("lost_mean", lost_mean);
    if aim.outputs.has_probabilities() {
        report = report.with_value("change", change).with_value("flips", flips > 0.0);
    }
    Ok(report)
}
