//! The logit lens (nostalgebraist 2020): what the head reads from the stream that leaves each layer, as it is and carried
//! to the last layer by a Jacobian lens (Gurnee et al. 2026).

use std::{borrow::Cow, path::Path};

use serde_json::json;

use crate::{
    analysis::explain::{
        attribution::{LensReading, read_lens},
        dense::{Dense, wide},
        jacobian::{JacobianLens, carried},
        rank::descending,
        report::{Axis, ColumnValues, LabQuestion, MethodSpec, Report, Sorted, TableColumn, Value, ValueSpec},
    },
    capture::Matrix,
    lab::{
        Aim, LabError, LabRun, Method, MethodPreset, TOP, Target,
        aim::{one_number, one_stream},
        lens_heads::lens_heads,
        method::Parameters,
        options::{FieldValue, OptionField, Scope, Visit, whole},
        stream::NO_STREAM,
    },
    model::{HeadReads, Logits, Site, Sites, open_lens},
    outputs::OutputKind,
    text::counted,
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
    formula: "logits_l = LN_f(x_l) · W_U + b_U, with the statistics of x_l\n\
        Jacobian lens: logits_l = LN_f(J_l x_l) · W_U + b_U, J_l = mean over inputs of ∂h_last/∂x_l",
    source: "nostalgebraist 2020; Gurnee et al. 2026",
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
        ValueSpec::of_files("jacobian_layers"),
        ValueSpec {
            words: Some("jacobian_layers"),
            ..ValueSpec::new(
                "jacobian_probability",
                "Probability of the final prediction, through the Jacobian lens",
                "The stream of each layer carried to the last one by the mean Jacobian of a corpus",
            )
        },
        ValueSpec {
            drawn: false,
            ..ValueSpec::new("jacobian_rank", "Rank through the Jacobian lens", "0 is the most probable")
        },
        ValueSpec::new(
            "jacobian_divergence",
            "Distance through the Jacobian lens (nats)",
            "Kullback–Leibler divergence of what is read from each layer from the final prediction",
        ),
        ValueSpec::new("jacobian_score", "Score through the Jacobian lens", ""),
        ValueSpec {
            sorted: &[("length", Sorted::BySize)],
            ..ValueSpec::new(
                "jacobian_heads",
                "Words that each head writes, through the Jacobian lens",
                "Output of the head at this position, carried to the last layer; length is that of the vector, and the \
                    contributions of the parts of a layer to the logit add up to that of its attention",
            )
        },
    ],
    ..MethodSpec::EMPTY
};

/// How much is told.
#[derive(Clone, Debug, PartialEq)]
pub struct LensOptions {
    /// Tokens or classes of each layer.
    pub n_top: usize,
    /// File of a Jacobian lens that was fitted for the model, to read layers and heads through as well.
    pub jacobian_lens: Option<String>,
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
        Self { n_top: TOP, jacobian_lens: None }
    }

    fn options(&mut self, _scope: &Scope<'_>, visit: &mut Visit<'_>) {
        let meaning = "Number of most probable tokens or classes listed per layer";
        visit(whole("top", "Listed", meaning, &mut self.n_top, 1..=1000));
        let meaning = "File of a fitted Jacobian lens of this model (.pt or .safetensors), through which layers and heads are \
            read as well";
        let value = FieldValue::Words(&mut self.jacobian_lens, "lens.safetensors");
        visit(
            OptionField::new("jacobian_lens", "Jacobian lens", meaning, value).placeholder("FILE").made_over_corpus(),
        );
    }

    fn parameters(&self) -> Parameters {
        vec![("top", json!(self.n_top)), ("jacobian_lens", json!(self.jacobian_lens))]
    }

    fn run(&self, lab: &LabRun<'_>, target: Target) -> Result<Report, LabError> {
        lens(lab, self, target)
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

/// What was read of the positions of each layer; none where there is no matrix for it.
type Readings = Vec<Vec<Option<LensReading>>>;

fn lens(lab: &LabRun<'_>, options: &LensOptions, target: Target) -> Result<Report, LabError> {
    let n_top = options.n_top;
    let aim = target.aim(lab)?;
    one_number(lab.plain()?)?;
    one_stream(lab)?;
    let stack = aim.stack;
    let jacobian = options.jacobian_lens.as_deref().map(|path| lens_of(lab, path)).transpose()?;
    let own: &[Site] = if jacobian.is_some() { &[Site::Z, Site::AttnOut] } else { &[] };
    let capture = lab.run(Sites::of(&[&[Site::ResidPost], own].concat()), Logits::Skip)?;
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
    let mut readings: Readings = vec![Vec::with_capacity(n); n_layers];
    let mut through: Readings = vec![Vec::with_capacity(n); n_layers];
    let mut asked = Vec::with_capacity(n);
    for (part, rows) in positions.chunks(at_once).enumerate() {
        let read_of = |stream: &Matrix| {
            let each = || Some((stream.window(rows[0]..rows[0] + rows.len())?, 0));
            let read = if only { read_rows(lab, &aim, stream) } else { each() };
            read.ok_or_else(|| LabError::unsuited(NO_STREAM))
        };
        let logits_of = |stream: &Matrix| -> Result<Matrix, LabError> {
            let (rows, place) = read_of(stream)?;
            Ok(lab.model.unembed(stack, &rows, false, place)?)
        };
        let final_logits: Vec<Vec<f32>> = logits_of(last)?.rows().map(<[f32]>::to_vec).collect();
        let most = |logits: &Vec<f32>| match (target.class, aim.outputs) {
            (Some(id), _) => id as usize,
            (None, OutputKind::Scores) => aim.id as usize,
            (None, _) => descending(&wide(logits))[0],
        };
        let targets: Vec<usize> = final_logits.iter().map(most).collect();
        let told = |logits: &Matrix, out: &mut Vec<Option<LensReading>>| -> Result<(), LabError> {
            for ((logits, last), target) in logits.rows().zip(&final_logits).zip(&targets) {
                out.push(Some(read_lens(logits, last, *target, n_top, aim.outputs)?));
            }
            Ok(())
        };
        for (layer, stream) in streams.iter().enumerate() {
            lab.step(part * n_layers + layer, n.div_ceil(at_once) * n_layers)?;
            told(&logits_of(stream)?, &mut readings[layer])?;
            let Some(jacobian) = &jacobian else { continue };
            let (rows, place) = read_of(stream)?;
            // The last layer is where all others lead to.
            let rows = match jacobian.stream(layer) {
                Some(matrix) => carried(matrix, &rows)?,
                None if layer + 1 == n_layers => rows,
                None => {
                    through[layer].extend(targets.iter().map(|_| None));
                    continue;
                }
            };
            told(&lab.model.unembed(stack, &rows, false, place)?, &mut through[layer])?;
        }
        asked.extend(targets);
    }
    let has_probabilities = aim.outputs.has_probabilities();
    let label = |id: usize| lab.model.outcome_label(id as u32);
    let table = |layer: &Vec<Option<LensReading>>| {
        let tops = || layer.iter().map(|reading| reading.as_ref().map_or(&[][..], |reading| &reading.top));
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
    let grid = |readings: &Readings, of: &dyn Fn(&LensReading) -> f64| -> Value {
        let value = |row: usize, layer: usize| readings[layer][row].as_ref().map_or(f64::NAN, of);
        Value::grid(axis.clone(), Dense::from_fn(n, n_layers, value).to_matrix())
    };
    let told = |mut report: Report, readings: &Readings, names: [&'static str; 5]| {
        let [layers, probability, rank, divergence, score] = names;
        report.values.push((Cow::Borrowed(layers), Value::Layers(readings.iter().map(table).collect())));
        if !has_probabilities {
            return report.with_value(score, grid(readings, &|reading| reading.p));
        }
        report
            .with_value(probability, grid(readings, &|reading| reading.p))
            .with_value(rank, grid(readings, &|reading| reading.rank as f64))
            .with_value(divergence, grid(readings, &|reading| reading.kl))
    };
    let asked = Value::Table(vec![
        TableColumn::new("position", ColumnValues::Index(positions.clone())),
        TableColumn::new("id", ColumnValues::Index(asked.clone())),
        TableColumn::new("token", ColumnValues::Text(asked.into_iter().map(label).collect())),
    ]);
    let mut report = begun(&target, aim.reads).with_value("target", asked);
    report = told(report, &readings, ["layers", "probability", "rank", "divergence", "score"]);
    let Some(jacobian) = jacobian else { return Ok(report) };
    let names = ["jacobian_layers", "jacobian_probability", "jacobian_rank", "jacobian_divergence", "jacobian_score"];
    report = told(report, &through, names);
    if let Some(n) = jacobian.skip_first.filter(|n| *n > 0) {
        report.notes.push(format!("the Jacobian lens was not fitted at the first {}", counted(n, "position")));
    }
    report.parameters.push((
        Cow::Borrowed("lens"),
        json!({ "sha256": jacobian.digest(), "n_prompts": jacobian.n_prompts, "skip_first": jacobian.skip_first }),
    ));
    lens_heads(lab, &jacobian, (&aim, &capture), n_top, report)
}

/// A report of nothing yet.
fn begun(target: &Target, reads: HeadReads) -> Report {
    let mut report = Report::new(&SPEC);
    report.parameters = vec![
        (Cow::Borrowed("position"), target.position.map_or(serde_json::Value::Null, Into::into)),
        (Cow::Borrowed("class"), target.class.map_or(serde_json::Value::Null, Into::into)),
    ];
    if let HeadReads::MeanFrom(first) = reads {
        report.notes.push(format!("the head reads the mean of all tokens from position {first} on"));
    }
    report
}

/// The lens of a file, where it is one of this model.
fn lens_of(lab: &LabRun<'_>, path: &str) -> Result<JacobianLens, LabError> {
    let n_layers = lab.model.n_stream_layers()?;
    let lens =
        open_lens(Path::new(path)).map_err(|error| LabError::unsuited(format!("{error}. {}", error.details())))?;
    lens.suited(lab.model.spec().d_model, n_layers).map_err(LabError::Unsuited)
}
