//! The logit lens (nostalgebraist 2020): what the head reads from the stream that leaves each layer.

use std::borrow::Cow;

use serde_json::json;

use crate::{
    analysis::explain::{
        attribution::{LensReading, read_lens},
        dense::{Dense, wide},
        rank::descending,
        report::{Axis, ColumnValues, LabQuestion, MethodSpec, Report, TableColumn, Value, ValueSpec},
    },
    capture::Matrix,
    lab::{
        Aim, LabError, LabRun, Method, MethodPreset, TOP, Target,
        aim::one_number,
        method::Parameters,
        options::{Scope, Visit, whole},
        stream::NO_STREAM,
    },
    model::{HeadReads, Logits, Site, Sites},
    outputs::OutputKind,
};

/// About how many logits are held at once.
const LOGITS_AT_ONCE: usize = 4_000_000;

/// The method.
const SPEC: MethodSpec = MethodSpec {
    name: "lens",
    title: "Logit lens",
    question: LabQuestion::Fact,
    about: "Prediction read from the residual stream after each layer (logit lens)",
    example: "--model demo:gpt --text \"Once upon a\" --top 5",
    caveat: "Every layer is read as if it were the last: a model need not keep its coming prediction in that \
        form.",
    formula: "logits_l = LN_f(x_l) · W_U + b_U, with the statistics of x_l",
    source: "nostalgebraist 2020",
    values: &[
        ValueSpec::of_files("layers"),
        ValueSpec::of_files("target"),
        ValueSpec {
            words: Some("layers"),
            ..ValueSpec::new(
                "probability",
                "Probability of the final prediction, with the prediction of each layer",
                "Words are the most probable token of each layer and position",
            )
        },
        ValueSpec { drawn: false, ..ValueSpec::new("rank", "Rank of the final prediction", "0 is the most probable") },
        ValueSpec::new(
            "divergence",
            "Distance to the final output (nats)",
            "Kullback–Leibler divergence of the layer’s prediction from the final one",
        ),
        ValueSpec::new("score", "Score read from each layer", "As if it were the last"),
    ],
    ..MethodSpec::EMPTY
};

/// How much is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LensOptions {
    /// Tokens or classes of each layer.
    pub n_top: usize,
}

impl Method for LensOptions {
    const SPEC: &'static MethodSpec = &SPEC;
    const COLUMNS: &'static [MethodPreset] = &[MethodPreset {
        name: "lens",
        title: "Logit lens",
        method: &SPEC,
        starts: true,
        ask: |_| Ok(Self::begin().into()),
    }];

    fn begin() -> Self {
        Self { n_top: TOP }
    }

    fn options(&mut self, _scope: &Scope<'_>, visit: &mut Visit<'_>) {
        let meaning = "Number of most probable tokens or classes listed per layer";
        visit(whole("top", "Listed", meaning, &mut self.n_top, 1..=1000));
    }

    fn parameters(&self) -> Parameters {
        vec![("top", json!(self.n_top))]
    }

    fn run(&self, lab: &LabRun<'_>, target: Target) -> Result<Report, LabError> {
        lens(lab, self.n_top, target)
    }
}

/// The rows of a stream that the head needs for what it says, and in which of them a head of the whole looks.
fn read_rows(lab: &LabRun<'_>, aim: &Aim, stream: &Matrix) -> Option<(Matrix, usize)> {
    match aim.reads {
        HeadReads::At(position) if lab.model.reads_whole() => Some((stream.clone(), position)),
        HeadReads::At(position) => Some((stream.window(position..position + 1)?, 0)),
        HeadReads::MeanFrom(_) => Some((stream.clone(), 0)),
    }
}

fn lens(lab: &LabRun<'_>, n_top: usize, target: Target) -> Result<Report, LabError> {
    let aim = target.aim(lab)?;
    one_number(lab.plain()?)?;
    let stack = aim.side.stack();
    let capture = lab.run(Sites::of(&[Site::ResidPost]), Logits::Skip)?;
    let layers = capture.stack(stack).map_or(&[][..], |stack| &stack.layers);
    let streams: Vec<&Matrix> = layers.iter().filter_map(|layer| layer.rows(Site::ResidPost)).collect();
    let n_layers = streams.len();
    let Some(last) = streams.last().filter(|_| n_layers == layers.len()) else {
        return Err(LabError::unsuited(NO_STREAM));
    };
    let n_outcomes = lab.model.n_outcomes();
    // One statement, one position, or all.
    let only = lab.model.reads_whole() || target.position.is_some();
    let (positions, axis) = match (only, aim.reads) {
        (true, HeadReads::At(position)) => (vec![position], Axis::only(aim.side, vec![position])),
        (true, HeadReads::MeanFrom(first)) => (vec![first], Axis::only(aim.side, vec![first])),
        (false, _) => ((0..last.n_rows()).collect(), Axis::all(aim.side)),
    };
    let at_once = (LOGITS_AT_ONCE / n_outcomes.max(1)).max(1);
    let n = positions.len();
    let mut readings = vec![Vec::with_capacity(n); n_layers];
    let mut asked = Vec::with_capacity(n);
    for (part, rows) in positions.chunks(at_once).enumerate() {
        let logits_of = |stream: &Matrix| -> Result<Matrix, LabError> {
            let each = || Some((stream.window(rows[0]..rows[0] + rows.len())?, 0));
            let read = if only { read_rows(lab, &aim, stream) } else { each() };
            let (rows, place) = read.ok_or_else(|| LabError::unsuited(NO_STREAM))?;
            Ok(lab.model.unembed(stack, &rows, false, place)?)
        };
        let final_logits: Vec<Vec<f32>> = logits_of(last)?.rows().map(<[f32]>::to_vec).collect();
        let most = |logits: &Vec<f32>| match (target.class, aim.outputs) {
            (Some(id), _) => id as usize,
            (None, OutputKind::Scores) => aim.id as usize,
            (None, _) => descending(&wide(logits))[0],
        };
        let targets: Vec<usize> = final_logits.iter().map(most).collect();
        for (layer, stream) in streams.iter().enumerate() {
            lab.step(part * n_layers + layer, n.div_ceil(at_once) * n_layers)?;
            for ((logits, last), target) in logits_of(stream)?.rows().zip(&final_logits).zip(&targets) {
                readings[layer].push(read_lens(logits, last, *target, n_top, aim.outputs)?);
            }
        }
        asked.extend(targets);
    }
    let has_probabilities = aim.outputs.has_probabilities();
    let label = |id: usize| lab.model.outcome_label(id as u32);
    let table = |layer: &Vec<LensReading>| {
        let tops = || layer.iter().map(|reading| &reading.top);
        Value::Table(vec![
            TableColumn::new("position", ColumnValues::Index(positions.clone())),
            TableColumn::new(
                "tokens",
                ColumnValues::Texts(tops().map(|top| top.iter().map(|(id, _)| label(*id)).collect()).collect()),
            ),
            TableColumn::new(
                if has_probabilities { "probabilities" } else { "scores" },
                ColumnValues::Numbers(tops().map(|top| top.iter().map(|(_, p)| *p).collect()).collect()),
            ),
        ])
    };
    let grid = |of: &dyn Fn(&LensReading) -> f64| -> Result<Value, LabError> {
        let values = Dense::from_fn(n, n_layers, |row, layer| of(&readings[layer][row])).to_matrix();
        Ok(Value::grid(axis.clone(), values))
    };
    let mut report = Report::new(&SPEC);
    report.parameters = vec![
        (Cow::Borrowed("position"), target.position.map_or(serde_json::Value::Null, Into::into)),
        (Cow::Borrowed("class"), target.class.map_or(serde_json::Value::Null, Into::into)),
    ];
    report.values = vec![(Cow::Borrowed("layers"), Value::Layers(readings.iter().map(table).collect()))];
    if let HeadReads::MeanFrom(first) = aim.reads {
        report.notes.push(format!("the head reads the mean of all tokens from position {first} on"));
    }
    let report = report.with_value(
        "target",
        Value::Table(vec![
            TableColumn::new("position", ColumnValues::Index(positions.clone())),
            TableColumn::new("id", ColumnValues::Index(asked.clone())),
            TableColumn::new("token", ColumnValues::Text(asked.into_iter().map(label).collect())),
        ]),
    );
    if !has_probabilities {
        return Ok(report.with_value("score", grid(&|reading| reading.p)?));
    }
    Ok(report
        .with_value("probability", grid(&|reading| reading.p)?)
        .with_value("rank", grid(&|reading| reading.rank as f64)?)
        .with_value("divergence", grid(&|reading| reading.kl)?))
}
