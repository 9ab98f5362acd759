//! Features of a sparse autoencoder (Bricken et al. 2023; Cunningham et al. 2023): which fire at a token, and which words
//! they promote.

use std::{borrow::Cow, path::Path};

use serde_json::json;

use crate::{
    analysis::{
        explain::{
            dense::wide,
            rank::descending,
            report::{
                Axis, ColumnValues, Form, LabQuestion, MethodSpec, Report, Sorted, TableColumn, Value, ValueSpec,
            },
        },
        sae::{Sae, unexplained},
    },
    capture::{LayerCapture, Matrix, Patch},
    ids::StackKind,
    lab::{
        LabError, LabRun, Method, MethodPreset, Target,
        aim::{one_number, one_stream},
        method::Parameters,
        options::{FieldValue, OptionField, Scope, Visit, whole},
        stream::NO_STREAM,
    },
    model::{Edit, HeadReads, Logits, Model, Site, Sites, Variant, open_sae},
    outputs::OutputKind,
};

/// Words of each feature.
const N_WORDS: usize = 5;
/// Features that are listed by default.
const N_FEATURES: usize = 10;

/// The method.
const SPEC: MethodSpec = MethodSpec {
    name: "sae",
    title: "Features of a dictionary",
    question: LabQuestion::Fact,
    about: "Features of a sparse autoencoder (SAELens) that fire at a token, with the words that they promote",
    example: "--model path/to/gpt2 --text \"Once upon a\" --sae path/to/sae",
    caveat: "A feature is a direction that was learnt, named by nobody; the words that it promotes are read without the \
        layers behind it, and what the dictionary misses is in no feature.",
    formula: "f = act((x - b_dec) W_enc + b_enc), x ≈ f W_dec + b_dec; promoted: largest of γ ⊙ W_dec[i] · W_U",
    source: "Bricken et al. 2023; Cunningham et al. 2023",
    values: &[
        ValueSpec {
            sorted: &[("activation", Sorted::Descending)],
            ..ValueSpec::new(
                "features",
                "Features that fire most at this token",
                "Promoted and suppressed are the words whose logits the feature raises and lowers most",
            )
        },
        ValueSpec::new("strongest", "Activation of the strongest feature at every token", ""),
        ValueSpec::new("n_active", "Features that fire", "At this token"),
        ValueSpec::new("n_features", "Features of the dictionary", ""),
        ValueSpec::new(
            "unexplained",
            "Variance that it misses",
            "Share of the variance of the vectors over the tokens that their reconstructions lack",
        )
        .form(Form::Share),
        ValueSpec::new("value", "Explained output", "Logit, or score, of the run").form(Form::Decimal),
        ValueSpec::new("spliced", "… with the reconstruction in place of the vectors", "At every token")
            .form(Form::Decimal),
    ],
    ..MethodSpec::EMPTY
};

/// The dictionary, and how much is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaeOptions {
    /// Folder of the dictionary.
    pub sae: Option<String>,
    /// How many features.
    pub n_top: usize,
}

impl Method for SaeOptions {
    const SPEC: &'static MethodSpec = &SPEC;
    const COLUMNS: &'static [MethodPreset] = &[MethodPreset {
        name: "sae",
        title: "Features of a dictionary",
        method: &SPEC,
        starts: false,
        ask: |_| Ok(Self::begin().into()),
    }];

    fn begin() -> Self {
        Self { sae: None, n_top: N_FEATURES }
    }

    fn options(&mut self, _scope: &Scope<'_>, visit: &mut Visit<'_>) {
        let meaning = "Folder of the dictionary, with cfg.json and sae_weights.safetensors";
        let value = FieldValue::Words(&mut self.sae, "path/to/sae");
        visit(OptionField::new("sae", "Dictionary", meaning, value).placeholder("FOLDER").required());
        let meaning = "Number of features that fire most";
        visit(whole("top", "Listed", meaning, &mut self.n_top, 1..=1000));
    }

    fn parameters(&self) -> Parameters {
        vec![("sae", json!(self.sae)), ("top", json!(self.n_top))]
    }

    fn run(&self, lab: &LabRun<'_>, target: Target) -> Result<Report, LabError> {
        let path = self.sae.as_deref();
        let path = path.ok_or_else(|| LabError::unsuited("give the folder of a dictionary that SAELens saved"))?;
        let sae = open_sae(Path::new(path));
        let sae = sae.map_err(|error| LabError::unsuited(format!("{error}. {}", error.details())))?;
        features(lab, &sae, self.n_top, target)
    }
}

/// The rows of a dictionary's site `[n, d_in]`, of a run that recorded it; of `z` all heads side by side.
///
/// # Errors
/// When the model has no such layer or the rows another width; a sentence says so.
pub fn rows_of(sae: &Sae, layers: &[LayerCapture]) -> Result<Vec<Vec<f32>>, LabError> {
    let layer = layers.get(sae.layer).ok_or_else(|| {
        LabError::unsuited(format!(
            "the dictionary is of layer {}, but this model has {} layers: choose one of this model",
            sae.layer,
            layers.len()
        ))
    })?;
    let rows: Option<Vec<Vec<f32>>> = if sae.site == Site::Z {
        layer.z().map(|z| {
            let [n_heads, n, _] = z.shape();
            let heads: Vec<Matrix> = (0..n_heads).filter_map(|head| z.head(head)).collect();
            (0..n).map(|at| heads.iter().flat_map(|head| head.row(at).unwrap_or(&[])).copied().collect()).collect()
        })
    } else {
        layer.rows(sae.site).map(|rows| rows.rows().map(<[f32]>::to_vec).collect())
    };
    let rows = rows.ok_or_else(|| LabError::unsuited(NO_STREAM))?;
    if let Some(row) = rows.first().filter(|row| row.len() != sae.d_in) {
        return Err(LabError::unsuited(format!(
            "the dictionary is of vectors of width {}, but {} has {} here: choose one of this model",
            sae.d_in,
            sae.site.name(),
            row.len()
        )));
    }
    Ok(rows)
}

/// Words whose logits features raise and lower most.
pub struct FeatureWords {
    pub promoted: Vec<Vec<String>>,
    pub suppressed: Vec<Vec<String>>,
}

/// The words of some features; `None` where more than one linear map lies between the stream and the outcomes.
///
/// # Errors
/// When the weights cannot be read.
pub fn words_of(
    model: &Model,
    (sae, kind): (&Sae, StackKind),
    features: &[usize],
    n_words: usize,
) -> Result<Option<FeatureWords>, LabError> {
    let says_one_of = matches!(model.outputs(), Some(OutputKind::Tokens | OutputKind::Classes));
    if model.unembedding(0).is_err() || model.reads_whole() || !says_one_of {
        return Ok(None);
    }
    let output = if sae.site == Site::Z { model.attention_output(kind, sae.layer)? } else { None };
    let width = output.as_ref().map_or(sae.d_in, |output| output.weight.n_cols());
    // The norm's weight is folded into what is read; its bias and the head's say nothing about a feature.
    let gain = model.final_norm(kind)?.map_or_else(|| vec![1.0; width], |norm| norm.weight);
    let (mut promoted, mut suppressed) = (Vec::new(), Vec::new());
    let zeros = Matrix::new(vec![0.0; width], [1, width]).map_err(|_| LabError::unsuited(NO_STREAM))?;
    let nothing = model.unembed(kind, &zeros, true, 0)?;
    let nothing = nothing.row(0).map(wide).unwrap_or_default();
    for feature in features {
        let direction = sae.direction(*feature);
        let written: Vec<f32> = match &output {
            Some(output) => {
                let mut sum = vec![0.0f32; width];
                for (value, row) in direction.iter().zip(output.weight.rows()) {
                    sum.iter_mut().zip(row).for_each(|(sum, weight)| *sum += value * weight);
                }
                sum
            }
            None => direction.to_vec(),
        };
        let row: Vec<f32> = written.iter().zip(&gain).map(|(value, gain)| value * gain).collect();
        let row = Matrix::new(row, [1, width]).map_err(|_| LabError::unsuited(NO_STREAM))?;
        let logits = model.unembed(kind, &row, true, 0)?;
        let row = logits.row(0).unwrap_or(&[]);
        let raised: Vec<f64> = row.iter().zip(&nothing).map(|(a, b)| f64::from(*a) - b).collect();
        let order = descending(&raised);
        let label = |id: &usize| model.outcome_label(*id as u32);
        promoted.push(order.iter().take(n_words).map(label).collect());
        suppressed.push(order.iter().rev().take(n_words).map(label).collect());
    }
    Ok(Some(FeatureWords { promoted, suppressed }))
}

fn features(lab: &LabRun<'_>, sae: &Sae, n_top: usize, target: Target) -> Result<Report, LabError> {
    let aim = target.aim(lab)?;
    one_number(lab.plain()?)?;
    one_stream(lab)?;
    let kind = aim.stack;
    let capture = lab.run(Sites::of(&[sae.site]), Logits::Skip)?;
    let layers = capture.stack(kind).map_or(&[][..], |stack| &stack.layers);
    let rows = rows_of(sae, layers)?;
    let position = match (target.position, aim.reads) {
        (Some(position), _) if !lab.model.reads_whole() => position,
        (_, HeadReads::At(position) | HeadReads::MeanFrom(position)) => position,
    };
    let mut found = Vec::with_capacity(rows.len());
    for (nth, row) in rows.iter().enumerate() {
        lab.step(nth, rows.len())?;
        found.push(sae.features(row));
    }
    let here = found.get(position).ok_or_else(|| LabError::unsuited(NO_STREAM))?;
    let values: Vec<f64> = here.iter().map(|(_, value)| f64::from(*value)).collect();
    let shown: Vec<(usize, f32)> = descending(&values).into_iter().take(n_top).map(|nth| here[nth]).collect();
    let ids: Vec<usize> = shown.iter().map(|(feature, _)| *feature).collect();
    let mut columns = vec![
        TableColumn::new("feature", ColumnValues::Index(ids.clone())),
        TableColumn::new(
            "activation",
            ColumnValues::Number(shown.iter().map(|(_, value)| f64::from(*value)).collect()),
        ),
    ];
    let mut report = Report::new(&SPEC).with_parameter("position", position).with_parameter("layer", sae.layer);
    report.parameters.push((Cow::Borrowed("site"), json!(sae.site.name())));
    if let Some(words) = words_of(lab.model, (sae, kind), &ids, N_WORDS)? {
        columns.push(TableColumn::new("promoted", ColumnValues::Texts(words.promoted)));
        columns.push(TableColumn::new("suppressed", ColumnValues::Texts(words.suppressed)));
        report
            .notes
            .push("the weight of the final norm is included in the words, its mean and scale are not".to_owned());
    } else {
        let note =
            "more than one linear map lies between the stream and the outcomes, so no feature promotes words by itself";
        report.notes.push(note.to_owned());
    }
    report.notes.extend(sae.notes.iter().map(|note| format!("the dictionary: {note}")));
    let report = report.with_value("features", Value::Table(columns));
    let report = match shown.first() {
        Some((strongest, _)) => {
            let at =
                |of: &Vec<(usize, f32)>| of.iter().find(|(feature, _)| feature == strongest).map_or(0.0, |it| it.1);
            report.with_value("strongest", Value::tokens(Axis::all(aim.side), found.iter().map(at).collect()))
        }
        None => report.with_note("no feature fires at this token"),
    };
    let report = report.with_value("n_active", here.len()).with_value("n_features", sae.d_sae);
    let rebuilt: Vec<Vec<f32>> = rows.iter().zip(&found).map(|(row, of)| sae.reconstruction(row, of)).collect();
    let borrowed: Vec<&[f32]> = rows.iter().map(Vec::as_slice).collect();
    let report = match unexplained(&borrowed, &rebuilt) {
        Some(share) => report.with_value("unexplained", share),
        None => report,
    };
    let value = aim.value(&lab.logits(aim.row)?);
    let report = report.with_value("value", value);
    if sae.site == Site::Z {
        return Ok(report);
    }
    let value = Matrix::new(rebuilt.concat(), [rows.len(), sae.d_in]).map_err(|_| LabError::unsuited(NO_STREAM))?;
    let positions = (0..rows.len()).collect();
    let patch = Patch { site: sae.site, stack: kind, layer: sae.layer, head: None, positions, value };
    let edits = lab.with(Edit::Patch(patch));
    let mut spliced = f64::NAN;
    let variant = Variant::of(lab.input, &edits, aim.row);
    lab.model.logits_of(&[variant], lab.control, &mut |_, logits| spliced = aim.value(logits))?;
    Ok(report.with_value("spliced", spliced))
}
