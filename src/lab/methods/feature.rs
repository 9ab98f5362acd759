//! One feature of a sparse autoencoder: what it reads and writes, where it fires in a text, and from which tokens it comes.

use std::path::Path;

use serde_json::json;

use super::sae::{rows_of, words_of};
use crate::{
    analysis::{
        explain::report::{
            Axis, ColumnValues, Form, LabQuestion, MethodSpec, Report, Scores, Sorted, TableColumn, Value, ValueSpec,
        },
        sae::{Sae, basis_shares, cosines},
    },
    ids::StackKind,
    lab::{
        LabError, LabRun, Method, MethodPreset, Target,
        feature_sources::feature_sources,
        method::Parameters,
        options::{FieldValue, OptionField, Scope, Visit, whole},
    },
    model::{Logits, Model, ModelError, Projection, Site, Sites, open_sae},
};

/// Words, directions, neurons and features of each table by default.
const N_LISTED: usize = 10;
/// The most features of a dictionary that can be named.
const MOST: usize = 1 << 24;

/// The method.
const SPEC: MethodSpec = MethodSpec {
    name: "feature",
    title: "One feature of a dictionary",
    question: LabQuestion::Fact,
    about: "One feature of a sparse autoencoder: words, neurons and features near to it, and the tokens that it comes from",
    example: "--model path/to/gpt2 --text \"Once upon a\" --sae path/to/sae --feature 12",
    caveat: "Parts by token follow attention alone, with the weights and the scale of this run: what MLPs make of other \
        tokens on the way is in the rest.",
    formula: "f before act = Σ_j Σ_heads A[t,j] (v_j W_O) · d + rest, d = W_enc[:, i] / scale; cosine with rows of W_out; \
        share of |W_dec[i]|",
    source: "Bricken et al. 2023; Kissane et al. 2024",
    values: &[
        ValueSpec::new("activation", "Activation of the feature at every token", ""),
        ValueSpec::new(
            "sources",
            "Tokens that it comes from",
            "What heads bring from each token to the one at which it is told, along the direction that the feature reads",
        ),
        ValueSpec::new("rest", "… and all else", "The token’s own embedding, MLPs and biases").form(Form::Decimal),
        ValueSpec::new("before", "Before its activation", "The parts by token and all else add up to it")
            .form(Form::Decimal),
        ValueSpec::new("words", "Words whose logits it raises and lowers most", "Read without the layers behind it"),
        ValueSpec {
            sorted: &[("cosine", Sorted::BySize)],
            ..ValueSpec::new("neurons", "Neurons that write in its direction", "Cosine with their output weights")
        },
        ValueSpec {
            sorted: &[("share", Sorted::Descending)],
            ..ValueSpec::new("basis", "Directions of the basis", "Share of the sizes of all numbers of its direction")
        },
        ValueSpec {
            sorted: &[("cosine", Sorted::BySize)],
            ..ValueSpec::new("similar", "Features with a similar direction", "Cosine of what they write")
        },
    ],
    scores: |_| Scores { unit: "", signed: true },
    ..MethodSpec::EMPTY
};

/// Which feature of which dictionary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeatureOptions {
    /// Folder of the dictionary.
    pub sae: Option<String>,
    pub feature: usize,
    /// How many are listed in each table.
    pub n_top: usize,
}

impl FeatureOptions {
    /// A feature of the dictionary in a folder.
    pub const fn of(sae: String, feature: usize) -> Self {
        Self { sae: Some(sae), feature, n_top: N_LISTED }
    }
}

impl Method for FeatureOptions {
    const SPEC: &'static MethodSpec = &SPEC;
    const COLUMNS: &'static [MethodPreset] = &[MethodPreset {
        name: "feature",
        title: "One feature of a dictionary",
        method: &SPEC,
        starts: false,
        ask: |_| Ok(Self::begin().into()),
    }];

    fn begin() -> Self {
        Self { sae: None, feature: 0, n_top: N_LISTED }
    }

    fn options(&mut self, _scope: &Scope<'_>, visit: &mut Visit<'_>) {
        let meaning = "Folder of the dictionary, with cfg.json and sae_weights.safetensors";
        let value = FieldValue::Words(&mut self.sae, "path/to/sae");
        visit(OptionField::new("sae", "Dictionary", meaning, value).placeholder("FOLDER").required());
        let meaning = "Number of the feature";
        visit(whole("feature", "Feature", meaning, &mut self.feature, 0..=MOST).in_front().settles());
        let meaning = "Words, neurons and features that are listed";
        visit(whole("top", "Listed", meaning, &mut self.n_top, 1..=1000));
    }

    fn parameters(&self) -> Parameters {
        vec![("sae", json!(self.sae)), ("feature", json!(self.feature)), ("top", json!(self.n_top))]
    }

    fn run(&self, lab: &LabRun<'_>, target: Target) -> Result<Report, LabError> {
        let path = self.sae.as_deref();
        let path = path.ok_or_else(|| LabError::unsuited("give the folder of a dictionary that SAELens saved"))?;
        let sae = open_sae(Path::new(path));
        let sae = sae.map_err(|error| LabError::unsuited(format!("{error}. {}", error.details())))?;
        if self.feature >= sae.d_sae {
            let what = format!("there is no feature {} among {}", self.feature, sae.d_sae);
            return Err(LabError::unsuited(what));
        }
        one_feature(lab, &sae, (self.feature, self.n_top), target)
    }
}

fn one_feature(
    lab: &LabRun<'_>,
    sae: &Sae,
    (feature, n_top): (usize, usize),
    target: Target,
) -> Result<Report, LabError> {
    let kind = lab.model.spec().stacks.first().map(|stack| stack.kind).unwrap_or_default();
    // The answer carries the run that it is of.
    lab.plain()?;
    let capture = lab.run(Sites::of(&[sae.site]), Logits::Skip)?;
    let rows = rows_of(sae, capture.stack(kind).map_or(&[][..], |stack| &stack.layers))?;
    let value = |row: &Vec<f32>| {
        let found = sae.features(row).into_iter().find(|(at, _)| *at == feature);
        found.map_or(0.0, |(_, value)| value)
    };
    let values: Vec<f32> = lab.model.engine().install(|| rows.iter().map(value).collect());
    let tokens = capture.query_tokens(kind);
    let is_real = |at: &usize| tokens.get(*at).is_some_and(|token| !token.special);
    let strongest = (0..values.len()).filter(is_real).max_by(|a, b| values[*a].total_cmp(&values[*b]).then(b.cmp(a)));
    let position = target.position.filter(|position| *position < values.len()).or(strongest).unwrap_or(0);
    let row = rows.get(position).map_or(&[][..], Vec::as_slice);
    let side = kind.query_side();
    let mut report = Report::new(&SPEC)
        .with_parameter("position", position)
        .with_parameter("site", sae.site.name())
        .with_parameter("layer", sae.layer)
        .with_value("activation", Value::tokens(Axis::all(side), values));
    for note in &sae.notes {
        report = report.with_note(note.clone());
    }
    report = match feature_sources(lab, (sae, kind), (feature, position), row) {
        Ok(found) => {
            let by_token = found.by_token.iter().map(|value| *value as f32).collect();
            report
                .with_value("sources", Value::tokens(Axis::all(kind.key_side()), by_token))
                .with_value("rest", found.rest)
        }
        Err(LabError::Unsuited(why)) => report.with_value("sources", Value::Missing(why)),
        Err(error) => return Err(error),
    };
    report = report.with_value("before", sae.reading(feature, row).value);
    aligned(lab.model, (sae, kind), (feature, n_top), report)
}

/// The output weights of the neurons of a dictionary's layer, or of the one before where it is of what enters a layer;
/// `None` where there are none, and of heads, whose vectors come before their output map.
///
/// # Errors
/// When the weights cannot be read.
pub fn neurons_of(model: &Model, (sae, kind): (&Sae, StackKind)) -> Result<Option<Projection>, ModelError> {
    let layer = if sae.site == Site::ResidPre { sae.layer.checked_sub(1) } else { Some(sae.layer) };
    let output = layer.filter(|_| sae.site != Site::Z).map(|layer| model.mlp_output(kind, layer));
    Ok(output.transpose()?.flatten().filter(|map| map.weight.n_cols() == sae.d_in))
}

/// What is near to what it writes.
fn aligned(
    model: &Model,
    (sae, kind): (&Sae, StackKind),
    (feature, n_top): (usize, usize),
    mut report: Report,
) -> Result<Report, LabError> {
    if let Some(words) = words_of(model, (sae, kind), &[feature], n_top)? {
        let first = |mut all: Vec<Vec<String>>| ColumnValues::Text(all.pop().unwrap_or_default());
        report = report.with_value(
            "words",
            Value::Table(vec![
                TableColumn::new("promoted", first(words.promoted)),
                TableColumn::new("suppressed", first(words.suppressed)),
            ]),
        );
    }
    let direction = sae.direction(feature);
    let table = |name: &'static str, of: Vec<(usize, f64)>| {
        let (ids, cosines) = of.into_iter().unzip();
        Value::Table(vec![
            TableColumn::new(name, ColumnValues::Index(ids)),
            TableColumn::new("cosine", ColumnValues::Number(cosines)),
        ])
    };
    if let Some(map) = neurons_of(model, (sae, kind))? {
        report = report.with_value("neurons", table("neuron", cosines(direction, map.weight.rows(), n_top)));
    }
    let basis = basis_shares(direction, n_top);
    report = report.with_value(
        "basis",
        Value::Table(vec![
            TableColumn::new("index", ColumnValues::Index(basis.iter().map(|of| of.index).collect())),
            TableColumn::new("weight", ColumnValues::Number(basis.iter().map(|of| of.value).collect())),
            TableColumn::new("share", ColumnValues::Number(basis.iter().map(|of| of.share).collect())),
        ]),
    );
    let others = sae.decoder.chunks_exact(sae.d_in.max(1));
    let mut similar = cosines(direction, others, n_top + 1);
    similar.retain(|(other, _)| *other != feature);
    similar.truncate(n_top);
    Ok(report.with_value("similar", table("feature", similar)))
}
