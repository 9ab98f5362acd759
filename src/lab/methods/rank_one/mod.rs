//! Rank-one edit: an association is overwritten by a change of rank one of one MLP (Meng et al. 2022).
//!
//! The key is what the last token of the subject has inside the MLP; the value is what would have to come out there
//! for the model to say something else. Where the published method averages keys over random beginnings of the
//! prompt, the prompt itself is taken.

mod target;

use std::borrow::Cow;

use serde_json::json;

use self::target::{Object, Said, prompts, said};
use super::SubjectSpan;
use crate::{
    analysis::explain::{
        adam::Adam,
        dense::wide,
        rank::descending,
        rank_one::rank_one,
        report::{ColumnValues, LabQuestion, MethodSpec, Report, TableColumn, Value, ValueSpec},
    },
    capture::{Matrix, Patch, RankOne},
    corpus::list::{InputList, ListKind, ListOptions},
    ids::{HeadId, Side, StackKind},
    lab::{
        Aim, LabError, LabRun, Method, MethodPreset, MethodRefusal, Target,
        aim::{one_number, probabilities},
        head_outputs::add_up,
        method::Parameters,
        options::{FieldValue, OptionField, Scope, Visit, read_position, real, whole},
    },
    model::{Cancelled, Edit, ImageSource, Input, Logits, Objective, RunPlan, Site, Sites, Taps, TextInput, bundled},
    spec::Modality,
    text::{counted, grouped},
};

/// Keys of a corpus that are kept: enough for what a network of the sizes that run here has inside.
const MOST_KEYS: usize = 4096;
/// How far the value may move, in lengths of what comes out without the change.
const FARTHEST: f64 = 4.0;
/// What a squared length of the change costs, in squared lengths of what comes out without it.
const LENGTH_COST: f64 = 0.1;
/// A step of the value, as a part of the mean size of what comes out without the change.
const STEP: f64 = 0.5;
/// The probability that is enough.
const ENOUGH: f64 = 0.95;

/// The method.
const SPEC: MethodSpec = MethodSpec {
    name: "rank-one",
    title: "Rank-one edit",
    question: LabQuestion::Fact,
    about: "Overwrite an association by a rank-one change of an MLP (Meng et al. 2022)",
    example: "--model demo:gpt --text \"The cat sat on the\" --subject cat --object bed --layer 1 --neighbour \"The dog sat on the\" --edit-out edit.json",
    caveat: "A change of one layer that rewrites the answer does not show that the fact was stored there, and \
        prompts about other things may change with it.",
    formula: "k = act(x K^T + b) at the subject's last token; v = what must come out there for the new object:\n\
        argmin -Σ log p(token of the object | prompt, tokens before it) + λ ‖v - W k‖²\n\
        W' = W + (v - W k) (C⁻¹ k)^T / (k^T C⁻¹ k), C = Σ k k^T / n of a corpus + ridge",
    source: "Meng et al. 2022",
    values: &[
        ValueSpec::new("prompts", "Prompts", ""),
        ValueSpec::new("probability", "Probability", ""),
        ValueSpec::new(
            "moved",
            "Change of the value",
            "Length of the change of what the MLP adds at the subject, as a share of the length before it",
        ),
        ValueSpec::new(
            "n_keys",
            "Keys that are kept",
            "MLP inputs of the corpus that the edit changes as little as it can",
        ),
        // The change itself is two long lists of numbers.
        ValueSpec::of_files("left"),
        ValueSpec::of_files("right"),
    ],
    ..MethodSpec::EMPTY
};

/// What is to be written, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct RewriteOptions {
    /// Whose last token is the key.
    pub subject: SubjectSpan,
    /// What the model is to say instead: the text of a token, or the name of a class.
    pub object: Option<String>,
    /// The layer; one in the middle where there is none.
    pub layer: Option<usize>,
    /// Texts that are asked the same in other words.
    pub paraphrases: Vec<String>,
    /// Texts whose answers should stay.
    pub neighbours: Vec<String>,
    /// Texts whose keys should keep their values; those of the program where there are none.
    pub corpus: Vec<String>,
    /// Steps in which the value is looked for.
    pub n_steps: usize,
    /// A part of the keys' mean square that is added to every direction.
    pub ridge: f64,
}

impl RewriteOptions {
    /// The usual settings, without prompts to check.
    pub const fn of(subject: SubjectSpan, object: Option<String>) -> Self {
        Self {
            subject,
            object,
            layer: None,
            paraphrases: Vec::new(),
            neighbours: Vec::new(),
            corpus: Vec::new(),
            n_steps: 25,
            ridge: 0.01,
        }
    }
}

impl Method for RewriteOptions {
    const SPEC: &'static MethodSpec = &SPEC;
    const COLUMNS: &'static [MethodPreset] = &[MethodPreset {
        name: "rank-one",
        title: "Rank-one edit",
        method: &SPEC,
        starts: false,
        ask: |focus| {
            let held = focus.held(focus.read_side()).ok_or(MethodRefusal::without(
                "pin the last token of a subject: the edit changes what is written about it",
                "name the last token of a subject with --query: the edit changes what is written about it",
            ))?;
            let options = Self::of(SubjectSpan::Positions(held..held + 1), None);
            Ok(Self { layer: Some(focus.head.layer), ..options }.into())
        },
    }];

    fn begin() -> Self {
        Self::of(SubjectSpan::Positions(0..0), None)
    }

    // In the window subject and layer are those that are selected.
    fn options(&mut self, scope: &Scope<'_>, visit: &mut Visit<'_>) {
        if scope.command_line {
            let meaning = "Subject, whose last token is the key: positions such as 2..5, the last not included, or \
                words of the text";
            self.subject.option(visit, meaning);
            let meaning = "Layer whose MLP is changed [default: one in the middle]";
            read_position(visit, ("layer", "Layer", meaning), &mut self.layer);
        }
        let meaning = "New answer: words, or the name of a class. Several tokens are written one after the other; \
            at a mask only the first";
        let object = FieldValue::Words(&mut self.object, "new object");
        visit(OptionField::new("object", "Say", meaning, object).required());
        let meaning = "Prompts that ask the same, separated by |";
        let texts = FieldValue::Texts(&mut self.paraphrases, "one prompt | another");
        visit(OptionField::new("paraphrases", "In other words", meaning, texts));
        let meaning = "Prompts whose answers should stay, separated by |";
        let texts = FieldValue::Texts(&mut self.neighbours, "one prompt | another");
        visit(OptionField::new("neighbours", "Should stay", meaning, texts));
        visit(whole("steps", "Search steps", "Steps of the search for the value", &mut self.n_steps, 1..=1000));
        if scope.command_line {
            let meaning = "Texts whose keys should keep their values: a text, table or JSON file [default: the \
                bundled sentences]";
            visit(OptionField::new("keys", "Keys", meaning, FieldValue::FileTexts(&mut self.corpus)));
            let meaning = "Ridge: share of the keys' mean square added to every direction";
            visit(real("ridge", "Ridge", meaning, &mut self.ridge, 0.0..=1e6));
        }
    }

    // The place of the change is told with the answer.
    fn parameters(&self) -> Parameters {
        let corpus = if self.corpus.is_empty() { json!("demo:sentences") } else { json!(self.corpus.len()) };
        vec![
            ("object", json!(self.object)),
            ("corpus", corpus),
            ("steps", json!(self.n_steps)),
            ("ridge", json!(self.ridge)),
        ]
    }

    fn run(&self, lab: &LabRun<'_>, target: Target) -> Result<Report, LabError> {
        rewrite(lab, self, target)
    }
}

/// Where the change is made.
struct Spot {
    side: Side,
    stack: StackKind,
    layer: usize,
    position: usize,
    /// Inside the MLP, `[d_mlp]`.
    key: Vec<f64>,
    /// What comes out, `[d_model]`.
    now: Vec<f64>,
}

impl Spot {
    fn find(lab: &LabRun<'_>, aim: &Aim, options: &RewriteOptions) -> Result<Self, LabError> {
        let plain = lab.plain()?;
        let side = if plain.tokens(Side::Encoder).is_empty() { aim.side } else { Side::Encoder };
        let stack = side.stack();
        let n_layers = plain.model().stack(stack).map_or(0, |stack| stack.layers.len());
        let layer = options.layer.unwrap_or_else(|| n_layers.saturating_sub(1) / 2);
        if n_layers > 0 && layer >= n_layers {
            return Err(LabError::unsuited(format!("there is no layer {layer} among {n_layers}")));
        }
        let Some(map) = lab.model.mlp_output(stack, layer)? else {
            return Err(LabError::unsuited("it has no feed-forward layers, so there is no memory to write to"));
        };
        let position = options.subject.positions(plain, side)?.end - 1;
        let mut plan = lab.plan(Sites::of(&[Site::MlpHidden, Site::MlpOut]), Logits::Skip);
        plan.layers = Some(vec![layer]);
        let capture = lab.model.forward(lab.input, &plan, lab.control)?;
        let recorded = capture.layer(HeadId { stack, layer, head: 0 });
        let row = |site: Site| recorded?.rows(site)?.row(position).map(wide);
        let (Some(key), Some(now)) = (row(Site::MlpHidden), row(Site::MlpOut)) else {
            return Err(LabError::unsuited("the inside of its feed-forward layers cannot be recorded"));
        };
        let bias = map.bias.as_deref().map(wide).unwrap_or_default();
        let mut product = vec![0.0; now.len()];
        for (value, row) in key.iter().zip(map.weight.rows()) {
            product.iter_mut().zip(row).for_each(|(sum, weight)| *sum += value * f64::from(*weight));
        }
        let narrow: Vec<f32> = now.iter().map(|value| *value as f32).collect();
        let bias = if bias.is_empty() { vec![0.0; now.len()] } else { bias };
        if !add_up([&product[..], &bias[..]].into_iter(), &narrow) {
            let what = "a norm or another change lies between this MLP's second matrix and the stream, so no value \
                of the matrix can be chosen";
            return Err(LabError::unsuited(what));
        }
        Ok(Self { side, stack, layer, position, key, now })
    }

    /// Looks for what would have to come out for the model to say `object`; its probability at every step.
    fn value(
        &self,
        lab: &LabRun<'_>,
        aim: &Aim,
        object: &Object,
        n_steps: usize,
    ) -> Result<(Vec<f64>, Vec<f64>), LabError> {
        let length = self.now.iter().map(|x| x * x).sum::<f64>().sqrt();
        if length == 0.0 {
            return Err(LabError::unsuited("the output of this MLP is 0 at the subject: choose another layer"));
        }
        // All of it is read behind the prompt, so that every token of it is asked for at once.
        let n_read = object.ids.len() - 1;
        let read = object.read_before(lab.model, lab.input, (aim.side, aim.row), n_read)?;
        let of = object.ids.iter().enumerate().map(|(nth, id)| (aim.row + nth, *id)).collect();
        let objective = Objective::LogProbability { of };
        let mut moved = vec![0.0; self.now.len()];
        let mut adam = Adam::new(moved.len(), STEP * length / (moved.len() as f64).sqrt());
        let mut curve = Vec::with_capacity(n_steps + 1);
        for step in 0..=n_steps {
            lab.step(step, n_steps)?;
            let value: Vec<f32> = self.now.iter().zip(&moved).map(|(now, moved)| (now + moved) as f32).collect();
            let value = Matrix::new(value, [1, self.now.len()]);
            let value = value.map_err(|_| LabError::unsuited("the output of this MLP is 0"))?;
            let Self { stack, layer, position, .. } = *self;
            let mut plan = lab.plan(Sites::NONE, Logits::Skip);
            plan.layers = Some(vec![layer]);
            plan.edits.push(Edit::Patch(Patch {
                site: Site::MlpOut,
                stack,
                layer,
                head: None,
                positions: vec![position],
                value,
            }));
            let quiet = |_| lab.step(step, n_steps).map_err(|_| Cancelled);
            let taps = Taps::of(&[Site::MlpOut]);
            let (_, found) = lab.model.gradients(&read, &plan, objective.clone(), taps, &quiet)?;
            let p = f64::from(found.value).exp();
            curve.push(p);
            (lab.partial)(&Report::new(&SPEC).with_value("probability", curve.clone()));
            if p >= ENOUGH || step == n_steps {
                break;
            }
            let gradient = found.layer(HeadId { stack, layer, head: 0 }).and_then(|layer| layer.rows(Site::MlpOut));
            let gradient = gradient.and_then(|rows| rows.row(position));
            let gradient = gradient.ok_or_else(|| LabError::unsuited("the MLP has no gradient"))?;
            let slope =
                |(gradient, moved): (&f32, &f64)| 2.0 * LENGTH_COST * moved / (length * length) - f64::from(*gradient);
            let gradient: Vec<f64> = gradient.iter().zip(&moved).map(slope).collect();
            adam.step(&mut moved, &gradient);
            let far = moved.iter().map(|x| x * x).sum::<f64>().sqrt() / (FARTHEST * length);
            if far > 1.0 {
                for x in &mut moved {
                    *x /= far;
                }
            }
        }
        Ok((self.now.iter().zip(&moved).map(|(now, moved)| now + moved).collect(), curve))
    }

    /// Keys of a corpus, `[keys, d_mlp]`.
    fn corpus(&self, lab: &LabRun<'_>, texts: &[String], notes: &mut Vec<String>) -> Result<Matrix, LabError> {
        let inputs = corpus(lab, texts);
        let (mut keys, mut unread) = (Vec::new(), Vec::new());
        for (nth, input) in inputs.iter().enumerate() {
            lab.step(nth, inputs.len())?;
            if keys.len() >= MOST_KEYS * self.key.len() {
                let (n, all) = (keys.len() / self.key.len(), grouped(inputs.len()));
                notes.push(format!(
                    "the first {} of {all} inputs of the corpus gave {} keys",
                    grouped(nth),
                    grouped(n)
                ));
                break;
            }
            // A decoder is given the same to read, so that it need not write.
            let input =
                if self.side == Side::Encoder { input.clone().with_target(input.clone()) } else { input.clone() };
            // What this model cannot read is no reason to stop.
            let encoded = match lab.model.encode(&input) {
                Ok(encoded) => encoded,
                Err(error) => {
                    unread.push(format!("input {nth}: {error}"));
                    continue;
                }
            };
            let plan = RunPlan {
                sites: Sites::of(&[Site::MlpHidden]),
                logits: Logits::Skip,
                layers: Some(vec![self.layer]),
                ..RunPlan::silent()
            };
            let quiet = |_| lab.step(nth, inputs.len()).map_err(|_| Cancelled);
            let capture = lab.model.forward(&encoded, &plan, &quiet)?;
            let layer = capture.layer(HeadId { stack: self.stack, layer: self.layer, head: 0 });
            if let Some(rows) = layer.and_then(|layer| layer.rows(Site::MlpHidden)) {
                keys.extend_from_slice(rows.as_slice());
            }
        }
        if let Some(first) = unread.first() {
            let n = counted(unread.len(), "input");
            notes.push(format!("{n} of the corpus cannot be read and are left out, the first of them {first}"));
        }
        let n = keys.len() / self.key.len().max(1);
        if n == 0 {
            return Err(LabError::unsuited("the corpus has no text that this model can read: choose another corpus"));
        }
        Matrix::new(keys, [n, self.key.len()]).map_err(|_| LabError::unsuited("the corpus is empty"))
    }
}

/// What keys are taken from: texts, or for a model of pictures those inside the program.
fn corpus(lab: &LabRun<'_>, texts: &[String]) -> Vec<Input> {
    if matches!(lab.model.spec().modality, Modality::Image(_)) {
        return bundled::samples().map(|name| Input::Image(ImageSource::Bundled(name.to_owned()))).collect();
    }
    let (how, system) = (lab.input.given.preparation().of_many(), lab.input.given.system().map(str::to_owned));
    let prepared = |text| Input::Text(TextInput { text, how, system: system.clone(), ..TextInput::default() });
    if !texts.is_empty() {
        return texts.iter().map(|text| prepared(text.clone())).collect();
    }
    let Some(bundled::BundledCorpus::Table(bytes)) = bundled::corpus("demo:sentences") else { return Vec::new() };
    let list = InputList::parse(bytes, ListKind::Table, &ListOptions::default()).unwrap_or_default();
    list.items.iter().filter_map(|item| item.content.text()).map(|text| prepared(text.to_owned())).collect()
}

/// Writes an association over another, and tells what else it changes.
fn rewrite(lab: &LabRun<'_>, options: &RewriteOptions, target: Target) -> Result<Report, LabError> {
    let aim = target.aim(lab)?;
    let plain = lab.plain()?;
    one_number(plain)?;
    probabilities(plain, "an edit makes another answer probable")?;
    let mut report = Report::new(&SPEC);
    let object = options.object.as_deref().filter(|object| !object.trim().is_empty());
    let object =
        object.ok_or_else(|| LabError::unsuited("give the new object: the answer that the model should give"))?;
    let object = Object::find(lab, &aim, object, &mut report.notes)?;
    if object.ids == [aim.id] {
        let label = object.label(lab.model);
        return Err(LabError::unsuited(format!("the model already answers “{label}”: name another object")));
    }
    let spot = Spot::find(lab, &aim, options)?;
    if object.ids.len() > 1 && spot.side == aim.side && spot.position > aim.row {
        let what = "the subject comes after the position of the answer: explain a later position";
        return Err(LabError::unsuited(what));
    }
    let prompts = prompts(lab, &aim, options)?;
    let samples = spot.corpus(lab, &options.corpus, &mut report.notes)?;
    let (value, curve) = spot.value(lab, &aim, &object, options.n_steps)?;
    let change = rank_one(&spot.key, &value, &spot.now, &samples, options.ridge)?;
    let narrow = |values: &[f64]| values.iter().map(|value| *value as f32).collect::<Vec<f32>>();
    let (left, right) = (narrow(&change.left), narrow(&change.right));
    let Spot { stack, layer, position, .. } = spot;
    let edit = Edit::RankOne(RankOne { stack, layer, left, right });
    let side = aim.side;
    let (before, after) =
        (said(lab, &prompts, (side, &object), None)?, said(lab, &prompts, (side, &object), Some(&edit))?);
    let new = |all: &[Said]| ColumnValues::Number(all.iter().map(|said| said.object).collect());
    let old = |all: &[Said]| {
        ColumnValues::Number(all.iter().map(|said| said.p.get(aim.id as usize).copied().unwrap_or(f64::NAN)).collect())
    };
    let best = |all: &[Said]| {
        ColumnValues::Text(all.iter().map(|said| lab.model.outcome_label(descending(&said.p)[0] as u32)).collect())
    };
    let table = Value::Table(vec![
        TableColumn::new("kind", ColumnValues::Text(prompts.iter().map(|prompt| prompt.kind.to_owned()).collect())),
        TableColumn::new("text", ColumnValues::Text(prompts.iter().map(|prompt| prompt.text.clone()).collect())),
        TableColumn::new("new_before", new(&before)),
        TableColumn::new("new_after", new(&after)),
        TableColumn::new("old_before", old(&before)),
        TableColumn::new("old_after", old(&after)),
        TableColumn::new("says_before", best(&before)),
        TableColumn::new("says_after", best(&after)),
    ]);
    let moved = change.left.iter().map(|x| x * x).sum::<f64>().sqrt();
    let length = spot.now.iter().map(|x| x * x).sum::<f64>().sqrt();
    report.parameters = aim.parameters(lab);
    let new = json!({ "id": object.ids[0], "ids": object.ids, "label": object.label(lab.model) });
    report.parameters.push((Cow::Borrowed("new"), new));
    report.parameters.push((Cow::Borrowed("stack"), stack.name().into()));
    report.parameters.push((Cow::Borrowed("layer"), layer.into()));
    report.parameters.push((Cow::Borrowed("token"), position.into()));
    if samples.n_rows() < spot.key.len() {
        report.notes.push(format!(
            "the corpus has {} keys for {} directions: only the ridge protects the others, so a larger corpus is \
            safer",
            samples.n_rows(),
            spot.key.len()
        ));
    }
    Ok(report
        .with_value("prompts", table)
        .with_value("probability", curve)
        .with_value("moved", moved / length)
        .with_value("n_keys", samples.n_rows())
        .with_value("left", change.left)
        .with_value("right", change.right))
}

/// The change that a report of this method describes.
pub fn edit_of(report: &Report) -> Option<Edit> {
    let parameter = |name: &str| report.parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value);
    let list = |name: &str| match report.value(name)? {
        Value::List(values) => Some(values.iter().map(|value| *value as f32).collect::<Vec<f32>>()),
        _ => None,
    };
    let stack = StackKind::from_name(parameter("stack")?.as_str()?)?;
    let layer = usize::try_from(parameter("layer")?.as_u64()?).ok()?;
    Some(Edit::RankOne(RankOne { stack, layer, left: list("left")?, right: list("right")? }))
}
