//! Attention flow (Abnar and Zuidema 2020).

use super::{MAP, SCORES, rollout::needs_layers};
use crate::{
    analysis::explain::{
        flow as flows,
        report::{Axis, LabQuestion, MethodSpec, Report, Scores, Value, ValueSpec},
        rollout::RolloutOptions,
    },
    lab::{
        LabError, LabRun, Method, MethodPreset, Target,
        aim::predicted_side,
        method::Parameters,
        options::{Scope, Visit, read_position},
        patterns::{NOTHING_TO_MULTIPLY, check_chain, shares, square_stacks},
    },
    model::HeadReads,
};

/// The method.
const SPEC: MethodSpec = MethodSpec {
    name: "flow",
    title: "Attention flow",
    question: LabQuestion::Depends,
    about: "Maximum flow from each input to an output through all layers (Abnar and Zuidema 2020)",
    example: "--model demo:bert --text \"the cat sat\" --query 0",
    caveat: "Flow bounds what attention weights could carry, not what was carried; under a causal mask more \
        paths lead to early tokens.",
    formula: "capacity of (l, i) → (l-1, j) = Â_l[i, j]\nf(q, k) = maximum flow from (L, q) to (0, k)\n\
        F[q, k] = f(q, k) / Σ_k f(q, k)",
    source: "Abnar and Zuidema 2020",
    values: &[ValueSpec { row_is_scores: true, ..MAP }, SCORES, ValueSpec::new("raw", "Raw", "")],
    scores: |_| Scores::unsigned("share"),
    ..MethodSpec::EMPTY
};

/// What flows, and where to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FlowOptions {
    /// The output; all where there is none.
    pub query: Option<usize>,
    /// Whether it is the one that the explained output is read from, where no other is named and it is read from one.
    pub of_output: bool,
    pub options: RolloutOptions,
}

impl Method for FlowOptions {
    const SPEC: &'static MethodSpec = &SPEC;
    const COLUMNS: &'static [MethodPreset] = &[MethodPreset {
        name: "flow",
        title: "Flow",
        method: &SPEC,
        starts: true,
        ask: |focus| needs_layers(focus).map(|()| Self { of_output: true, ..Self::default() }.into()),
    }];

    fn begin() -> Self {
        Self::default()
    }

    fn options(&mut self, scope: &Scope<'_>, visit: &mut Visit<'_>) {
        self.options.options(scope, visit);
        if scope.command_line {
            read_position(visit, ("query", "Query", "Row to write [default: all]"), &mut self.query);
        }
    }

    fn parameters(&self) -> Parameters {
        let mut all = self.options.parameters();
        all.push(("query", self.query.into()));
        all
    }

    fn run(&self, lab: &LabRun<'_>, target: Target) -> Result<Report, LabError> {
        flow(lab, *self, target)
    }
}

fn flow(lab: &LabRun<'_>, asked: FlowOptions, target: Target) -> Result<Report, LabError> {
    let FlowOptions { query, of_output, options } = asked;
    let capture = lab.plain()?;
    check_chain(capture)?;
    let side = predicted_side(capture);
    let stack = square_stacks(capture).find(|stack| stack.kind.query_side() == side);
    let stack = stack.ok_or_else(|| LabError::unsuited(NOTHING_TO_MULTIPLY))?;
    let n = capture.tokens(side).len();
    // Of a model without a prediction there is the map alone.
    let aim = target.aim(lab).ok();
    let read = aim.as_ref().filter(|_| of_output).and_then(|aim| match aim.reads {
        HeadReads::At(position) => Some(position),
        HeadReads::MeanFrom(_) => None,
    });
    let query = query.or(target.position).or(read);
    let queries: Vec<usize> = query.map_or_else(|| (0..n).collect(), |query| vec![query]);
    let go_on = |done: usize, total: usize| lab.step(done, total).is_ok();
    let patterns = shares(capture, stack)?;
    let n_flows = queries.len() * n;
    let first = queries.first().copied().unwrap_or(0);
    lab.ask_first_of((n_flows, "maximum flow"), n, || Ok(flows::pair_flow(&patterns, first, 0, options).map(drop)?))?;
    let found = flows::flow(&patterns, &queries, options, &go_on)?;
    let rows = if query.is_some() { Axis::only(side, queries) } else { Axis::all(side) };
    let mut report = Report::new(&SPEC).with_value("raw", Value::matrix(rows.clone(), side, found.raw));
    if let (None, Some(aim)) = (query, aim) {
        report = report.with_value("scores", Value::tokens(side, aim.reads.row_of(&found.normalised)));
    }
    Ok(report.with_value("matrix", Value::matrix(rows, side, found.normalised)))
}
