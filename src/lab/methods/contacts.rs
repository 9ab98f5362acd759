//! Contacts between residues that a protein model predicts (Rao et al. 2021).

use super::MAP;
use crate::{
    analysis::explain::report::{LabQuestion, MethodSpec, Report, Value, ValueSpec},
    lab::{
        LabError, LabRun, Method, MethodPreset, Target,
        method::Parameters,
        options::{Scope, Visit},
        patterns::{patterns, square_stacks},
    },
};

/// The method.
const SPEC: MethodSpec = MethodSpec {
    name: "contacts",
    title: "Contacts",
    question: LabQuestion::Depends,
    about: "Which residues of a protein touch, of all attention maps of ESM together (Rao et al. 2021)",
    example: "--model facebook/esm2_t6_8M_UR50D --text MKTVRQERLKSIVRILERSKEPVSGAQLAEELSVSRQVIVQDIAYLRSLGYNIVATPRGYVLAGG",
    caveat: "A regression that was fitted on known structures decides which heads count: the map is a prediction, not \
        attention.",
    formula: "S = A + Aᵀ without the first and the last token\nF = S − (row sums · column sums) / sum\n\
        p = σ(b + Σ over heads of w · F)",
    source: "Rao et al. 2021; EsmContactPredictionHead of transformers",
    values: &[ValueSpec { title: "Probability that two residues touch", ..MAP }],
    ..MethodSpec::EMPTY
};

/// There is nothing to choose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Contacts;

impl Method for Contacts {
    const SPEC: &'static MethodSpec = &SPEC;
    const COLUMNS: &'static [MethodPreset] =
        &[MethodPreset { name: "contacts", title: "Contacts", method: &SPEC, starts: false, ask: |_| Ok(Self.into()) }];

    fn begin() -> Self {
        Self
    }

    fn options(&mut self, _: &Scope<'_>, _: &mut Visit<'_>) {}

    fn parameters(&self) -> Parameters {
        Vec::new()
    }

    fn run(&self, lab: &LabRun<'_>, _: Target) -> Result<Report, LabError> {
        let contacts = lab
            .model
            .contacts()
            .ok_or_else(|| LabError::unsuited("only ESM predicts contacts, and this checkpoint has no contact_head"))?;
        let capture = lab.plain()?;
        let stack = square_stacks(capture).next().ok_or_else(|| LabError::unsuited("there is no attention"))?;
        let side = stack.kind.query_side();
        let ids: Vec<Option<u32>> = capture.tokens(side).iter().map(|token| token.id).collect();
        let map = contacts.probabilities(&patterns(capture, stack)?, &ids)?;
        let mut report = Report::new(&SPEC);
        report.values = vec![("matrix".into(), Value::matrix(side, side, map))];
        Ok(report)
    }
}
