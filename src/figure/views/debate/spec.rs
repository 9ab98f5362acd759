//! The tests of attention as explanation: what the view is, and its figure.

use std::sync::Arc;

use super::DebateScene;
use crate::{
    analysis::debate::{CorpusDebate, Correlations, Instance, METHOD, RankAgreement},
    capture::{Capture, Site},
    figure::{
        ViewKind,
        data::{DataValues, Table},
        spec::{FigureError, NamedScene, ResolvedSpec},
        views::{Facts, FigureExtent, ViewGroup, ViewSpec, spec},
    },
    ids::StackKind,
    outputs::OutputKind,
    spec::HeadKind,
    text::counted,
};

/// The view.
pub const SPEC: ViewSpec = ViewSpec {
    kind: ViewKind::Debate,
    label: "Debate",
    name: "debate",
    former_names: &[],
    synonyms: &[
        "attention is not explanation",
        "attention is not not explanation",
        "Jain and Wallace",
        "Kendall tau",
        "adversarial attention",
        "permutation test",
        "erasure",
    ],
    help: "Published tests of attention as explanation over all inputs: correlation, shuffled and other weights, erasure",
    group: ViewGroup::Corpus,
    pages: None,
    facts: Facts::TESTS,
    extent: FigureExtent::Stack,
    options: &["debate"],
    fields: |options, scope, visit| options.debate.visit(scope, visit),
    said: None,
    color_map: spec::color_map,
    needs: |_, _| vec![Site::Pattern],
    wants: &[],
    unavailable,
    question: |topic| match topic.n_inputs {
        0 | 1 => "Does attention explain what this model says?".to_owned(),
        n => format!("Does attention explain what this model says of {}?", counted(n, "input")),
    },
    caveat: |_| METHOD.caveat.trim_end_matches('.').to_owned(),
    sheet_text: |_| "Tests of attention as explanation",
    figures,
};

/// What has no probabilities of classes cannot be tested.
fn unavailable(capture: &Capture, _: StackKind) -> Option<&'static str> {
    let is_classifier = matches!(capture.model().head, Some(HeadKind::TextClass | HeadKind::ImageClass));
    let has_scores = capture.prediction().is_some_and(|prediction| prediction.outputs == OutputKind::Scores);
    match (is_classifier, has_scores) {
        (false, _) => {
            Some("The tests compare probabilities of one answer about each text, and this model is no classifier")
        }
        (true, true) => Some("The tests compare probabilities of classes, and this model gives scores"),
        (true, false) => None,
    }
}

impl DebateScene {
    /// What was measured of a corpus.
    pub fn of(debate: &CorpusDebate) -> Self {
        Self { model: debate.model.clone(), corpus: debate.corpus.clone(), summary: debate.summary.clone() }
    }
}

/// One figure of all tests.
fn figures(resolved: &ResolvedSpec<'_>) -> Result<Vec<NamedScene>, FigureError> {
    resolved.not_of_planes()?;
    let Some(debate) = resolved.measured.debate.as_ref().filter(|debate| !debate.instances.is_empty()) else {
        let what = "the tests were not made: begin them in the view, or name a --model and a --corpus";
        return Err(FigureError::Failed(what.to_owned()));
    };
    let (scene, debate) = (DebateScene::of(debate), Arc::clone(debate));
    let table = Box::new(move || rows(&debate.instances, debate.question.epsilon));
    let name = counted(scene.summary.n_inputs, "input");
    Ok(vec![resolved.named(Box::new(scene), table, name, None)])
}

/// One of the agreements of an input.
type Pick = fn(&Correlations) -> Option<RankAgreement>;

/// A row for each input; what was not measured, or is not there, is no number.
pub fn rows(instances: &[Instance], epsilon: f64) -> Table {
    let index = |of: &dyn Fn(&Instance) -> usize| DataValues::Index(instances.iter().map(|it| of(it) as u32).collect());
    let number = |of: &dyn Fn(&Instance) -> Option<f32>| {
        DataValues::Number(instances.iter().map(|it| of(it).unwrap_or(f32::NAN)).collect())
    };
    let class = DataValues::Text(instances.iter().map(|it| it.class.clone()).collect());
    let mut columns: Vec<(&'static str, DataValues)> = vec![
        ("input", index(&|it| it.input)),
        ("class", class),
        ("probability", number(&|it| Some(it.probability))),
        ("tokens", index(&|it| it.n_tokens)),
        ("largest_weight", number(&|it| Some(it.largest))),
    ];
    let agreements: [(&'static str, &'static str, Pick); 3] = [
        ("tau_gradient", "p_gradient", |all| all.gradient),
        ("tau_leave_one_out", "p_leave_one_out", |all| all.leave_one_out),
        ("tau_gradient_leave_one_out", "p_gradient_leave_one_out", |all| all.both),
    ];
    for (tau, p, of) in agreements {
        let found = |it: &Instance| it.correlation.as_ref().and_then(of);
        columns.extend([(tau, number(&|it| Some(found(it)?.tau))), (p, number(&|it| Some(found(it)?.p)))]);
    }
    let far = |it: &Instance| Some(it.adversary.as_ref()?.farthest(epsilon) as f32);
    columns.extend([
        ("permutation", number(&|it| it.permutation)),
        ("jsd", number(&far)),
        ("jsd_reachable", number(&|it| Some(it.adversary.as_ref()?.reachable))),
        ("erased_attention", number(&|it| it.erasure.as_ref()?.attention)),
        ("erased_gradient", number(&|it| it.erasure.as_ref()?.gradient)),
        ("erased_attention_gradient", number(&|it| it.erasure.as_ref()?.product)),
        ("erased_random", number(&|it| Some(it.erasure.as_ref()?.random_mean()? as f32))),
    ]);
    Table::of(columns)
}
