//! Named words: what a person, or a model that was asked, names as reasons, as a column beside the methods.

use std::borrow::Cow;

use serde_json::json;

use super::SCORES;
use crate::{
    analysis::{
        explain::report::{LabQuestion, MethodSpec, Report, Value},
        rationale::NamedTokens,
    },
    lab::{
        LabError, LabRun, Method, MethodPreset, Target,
        method::Parameters,
        options::{FieldValue, OptionField, Scope, Visit},
        patterns::by_stack,
    },
};

/// The method.
const SPEC: MethodSpec = MethodSpec {
    name: "named",
    title: "Named words",
    question: LabQuestion::Depends,
    about: "The words that a person, or a model that was asked, names as reasons, as a column beside what methods say",
    example: "--model demo:sentiment --text \"a fine film\" --word fine",
    caveat: "What somebody names as reasons, a model that is asked included, need not be what the output depends on.",
    formula: "1 for the tokens of the named words, 0 for the others",
    source: "DeYoung et al. 2020",
    values: &[SCORES],
    ..MethodSpec::EMPTY
};

/// Which words are named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedOptions {
    /// Words, or several words that stand together.
    pub words: Vec<String>,
}

impl Method for NamedOptions {
    const SPEC: &'static MethodSpec = &SPEC;
    const COLUMNS: &'static [MethodPreset] = &[MethodPreset {
        name: "named",
        title: "Named words",
        method: &SPEC,
        starts: false,
        ask: |_| Ok(Self::default().into()),
    }];

    fn begin() -> Self {
        Self::default()
    }

    fn options(&mut self, _: &Scope<'_>, visit: &mut Visit<'_>) {
        let meaning =
            "Words of the input that somebody names as reasons, such as those that a model gives when it is asked";
        visit(
            OptionField::new("words", "Words", meaning, FieldValue::Texts(&mut self.words, "fine | well acted"))
                .in_front(),
        );
    }

    fn parameters(&self) -> Parameters {
        vec![("words", json!(self.words))]
    }

    fn run(&self, lab: &LabRun<'_>, _: Target) -> Result<Report, LabError> {
        if self.words.is_empty() {
            return Err(LabError::unsuited("no words are named: type them as Words, several with | between them"));
        }
        let capture = lab.plain()?;
        let mut missing = self.words.clone();
        let mut values = Vec::new();
        for (side, tokens) in lab.input.tokens.iter().filter(|(_, tokens)| !tokens.is_empty()) {
            if capture.picture_side() == Some(*side) {
                continue;
            }
            let found = NamedTokens::find(tokens, &self.words);
            missing.retain(|phrase| found.missing.contains(phrase));
            let scores = found.is_named.iter().map(|named| if *named { 1.0 } else { 0.0 }).collect();
            values.push((Cow::Borrowed(side.name()), Value::tokens(*side, scores)));
        }
        if missing.len() == self.words.len() {
            return Err(LabError::unsuited(format!("the input has none of the words: {}", missing.join(", "))));
        }
        let mut report = Report::new(&SPEC);
        report.values = by_stack(SCORES.name, values);
        if !missing.is_empty() {
            report.notes.push(format!("the input does not have: {}", missing.join(", ")));
        }
        Ok(report)
    }
}
