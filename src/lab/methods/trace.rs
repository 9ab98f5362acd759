//! Causal tracing (Meng et al. 2022).

use std::{borrow::Cow, ops::Range};

use serde_json::json;

use crate::{
    analysis::explain::{
        dense::Dense,
        report::{Form, LabQuestion, MethodPicture, MethodSpec, Report, Value, ValueSpec},
        trace::{noise, standard_deviation, window},
    },
    capture::{Capture, Matrix, Patch},
    ids::{Side, StackKind},
    lab::{
        Aim, LabError, LabRun, Method, MethodPreset, MethodRefusal, Target,
        aim::one_number,
        cost_estimate::Work,
        method::Parameters,
        options::{FieldValue, OptionField, Scope, Visit, choose, every, layers_together, real, seed, whole},
    },
    model::{Edit, Logits, Progress, Site, Sites, Stage, Start, Variant},
    text::norm_text,
};

/// Bytes of streams that wait for their runs.
const STREAM_BYTES: usize = 64 << 20;

const NO_STREAM: &str = "its layers have no residual stream to restore: recurrent networks carry a state instead";

/// The method.
const SPEC: MethodSpec = MethodSpec {
    name: "trace",
    title: "Causal tracing",
    question: LabQuestion::Fact,
    about: "Where a fact corrupted by noise can be restored: causal tracing (Meng et al. 2022)",
    example: "--model demo:gpt --text \"Once upon a time\" --subject 1..3",
    caveat: "Restoring shows where the information is sufficient to recover the answer, under this noise; it \
        does not show that the fact is stored there.",
    formula: "P = p(answer), or the score; P* = the same with noise on the subject\ntotal effect = P - P*\n\
        indirect effect of (token, layer) = P*(restored there) - P*",
    source: "Meng et al. 2022",
    values: &[
        ValueSpec::new(
            "effect",
            "Recovered probability",
            "Probability of the answer with this state restored, minus that under noise",
        ),
        ValueSpec::new(
            "effect_resid",
            "Residual stream restored",
            "Probability with it restored, minus that under noise",
        ),
        ValueSpec::new("effect_mlp", "MLPs restored", "The same with what MLPs of a few layers add"),
        ValueSpec::new("effect_attention", "Attention restored", "The same with what attention of a few layers adds"),
        ValueSpec::new("clean", "Probability of the answer", "Without noise").form(Form::Share),
        ValueSpec::new("corrupted", "… with noise on the token", "Nothing restored").form(Form::Share),
        ValueSpec::new("score_effect", "Recovered score", "The score with this state restored, minus that under noise"),
        ValueSpec::new("score_resid", "Residual stream restored", "Score with it restored, minus that under noise"),
        ValueSpec::new("score_mlp", "MLPs restored", "The same with what MLPs of a few layers add"),
        ValueSpec::new("score_attention", "Attention restored", "The same with what attention of a few layers adds"),
        ValueSpec::new("score_clean", "Score", "Without noise").form(Form::Decimal),
        ValueSpec::new("score_corrupted", "… with noise on the token", "Nothing restored").form(Form::Decimal),
        ValueSpec::new("sigma", "Standard deviation of the embeddings", "The unit of the noise"),
    ],
    picture: MethodPicture::Panels,
    is_long: true,
    ..MethodSpec::EMPTY
};

/// What is traced.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceOptions {
    /// The tokens that are made unrecognisable.
    pub subject: SubjectSpan,
    /// How much noise, in standard deviations of the input's embeddings.
    pub noise: f64,
    /// How many different noises.
    pub n_samples: usize,
    pub restore: Restore,
    /// In how many layers, where it is not the stream.
    pub window: usize,
    pub seed: u64,
    /// Every how manieth position is restored; the subject's and the one that is read are in any case.
    pub every: usize,
}

impl TraceOptions {
    /// The published settings (Meng et al. 2022), of no subject.
    pub const DEFAULT: Self = Self {
        subject: SubjectSpan::Positions(0..0),
        noise: 3.0,
        n_samples: 10,
        restore: Restore::Stream,
        window: 10,
        seed: 0,
        every: 1,
    };

    /// The same of a subject.
    pub fn of(subject: SubjectSpan) -> Self {
        Self { subject, ..Self::DEFAULT }
    }
}

impl Method for TraceOptions {
    const SPEC: &'static MethodSpec = &SPEC;
    const COLUMNS: &'static [MethodPreset] = &[MethodPreset {
        name: "trace",
        title: "Causal tracing",
        method: &SPEC,
        starts: true,
        ask: |focus| {
            let held = focus.held(focus.read_side()).ok_or(MethodRefusal::without(
                "pin a token: it is corrupted by noise, then restored layer by layer",
                "name a token with --query: it is corrupted by noise, then restored layer by layer",
            ))?;
            Ok(Self::of(SubjectSpan::Positions(held..held + 1)).into())
        },
    }];

    fn begin() -> Self {
        Self::DEFAULT
    }

    // In the window the subject is the pinned token.
    fn options(&mut self, scope: &Scope<'_>, visit: &mut Visit<'_>) {
        if scope.command_line {
            let meaning = "Tokens to corrupt by noise: positions such as 2..5, the last not included, or words of \
                the text";
            self.subject.option(visit, meaning);
        }
        let about = ("restore", "Restore", "Activation that is restored to its value in the run without noise");
        choose(visit, about, &mut self.restore, &Restore::CHOICES);
        if scope.command_line || self.restore != Restore::Stream {
            visit(layers_together("Number of layers restored together", &mut self.window, scope));
        }
        let meaning = "In standard deviations of the input embeddings; 3 as published";
        visit(real("noise", "Noise", meaning, &mut self.noise, 0.0..=100.0));
        let meaning = "Number of noise samples that are averaged";
        visit(whole("samples", "Samples", meaning, &mut self.n_samples, 1..=1000));
        visit(every(&mut self.every));
        visit(seed(&mut self.seed));
    }

    fn parameters(&self) -> Parameters {
        vec![
            ("noise", json!(self.noise)),
            ("samples", json!(self.n_samples)),
            ("restore", json!(self.restore.name())),
            ("window", json!(self.window)),
            ("seed", json!(self.seed)),
            ("every", json!(self.every)),
        ]
    }

    fn run(&self, lab: &LabRun<'_>, target: Target) -> Result<Report, LabError> {
        trace(lab, self, target)
    }
}

/// The tokens that a question is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SubjectSpan {
    Positions(Range<usize>),
    /// All tokens with a character of these words, where they first stand in the text.
    Words(String),
}

/// What is put back to its value in the clean run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Restore {
    /// The stream that leaves one layer.
    #[default]
    Stream,
    /// What the MLPs of a window of layers add.
    Mlp,
    /// What attention of a window of layers adds.
    Attention,
    /// Each of the three by itself, side by side.
    All,
}

vocabulary! {
    Restore: name, title;
    Stream("resid", "Residual stream"),
    Mlp("mlp", "MLP"),
    Attention("attention", "Attention"),
    All("all", "All three, side by side"),
}

/// Something that is put back, and what its effect is called beside those of others.
struct Panel {
    site: Site,
    effect: &'static str,
    score_effect: &'static str,
}

impl Restore {
    const PANELS: [Panel; 3] = [
        Panel { site: Site::ResidPost, effect: "effect_resid", score_effect: "score_resid" },
        Panel { site: Site::MlpOut, effect: "effect_mlp", score_effect: "score_mlp" },
        Panel { site: Site::AttnOut, effect: "effect_attention", score_effect: "score_attention" },
    ];

    /// What is put back.
    fn panels(self) -> &'static [Panel] {
        match self {
            Self::Stream => &Self::PANELS[..1],
            Self::Mlp => &Self::PANELS[1..2],
            Self::Attention => &Self::PANELS[2..],
            Self::All => &Self::PANELS,
        }
    }
}

impl SubjectSpan {
    /// Shows it as an option of the command line.
    pub(super) fn option(&mut self, visit: &mut Visit<'_>, meaning: &'static str) {
        let mut read = |text: &str| {
            *self = Self::parse(text);
            Ok(())
        };
        let value = FieldValue::Read(&mut read, "A..B|WORDS");
        visit(OptionField::new("subject", "Subject", meaning, value).required());
    }

    /// `2..5`, or words.
    pub fn parse(text: &str) -> Self {
        let numbers =
            text.split_once("..").and_then(|(from, to)| Some((from.trim().parse().ok()?, to.trim().parse().ok()?)));
        numbers.map_or_else(|| Self::Words(text.to_owned()), |(from, to): (usize, usize)| Self::Positions(from..to))
    }

    pub(super) fn positions(&self, capture: &Capture, side: Side) -> Result<Range<usize>, LabError> {
        let tokens = capture.tokens(side);
        match self {
            Self::Positions(range) if range.is_empty() || range.end > tokens.len() => Err(LabError::unsuited(format!(
                "the subject {}..{} holds no token among {}: positions count from 0, and the last one is not in it",
                range.start,
                range.end,
                tokens.len()
            ))),
            Self::Positions(range) => Ok(range.clone()),
            Self::Words(words) => {
                let text = capture.input().text.as_deref().unwrap_or("");
                let absent =
                    || LabError::unsuited(format!("“{words}” is not in the text, so it cannot be the subject"));
                let start = text.find(words.trim()).filter(|_| !words.trim().is_empty()).ok_or_else(absent)?;
                let end = start + words.trim().len();
                let touches = |position: &usize| {
                    let span = &tokens[*position].span;
                    span.start < end && span.end > start
                };
                let first = (0..tokens.len()).find(touches).ok_or_else(absent)?;
                let last = (0..tokens.len()).rfind(touches).ok_or_else(absent)?;
                Ok(first..last + 1)
            }
        }
    }
}

/// Runs variants and tells each one's probability of the outcome, or its score; `done` of `total` runs were made before.
pub(super) fn told_of(
    lab: &LabRun<'_>,
    aim: &Aim,
    variants: &[Variant<'_>],
    (done, total): (usize, usize),
    each: &mut dyn FnMut(usize, f64),
) -> Result<(), LabError> {
    let control =
        |progress: Progress| (lab.control)(Progress { stage: Stage::Variants, done: done + progress.done, total });
    Ok(lab.model.logits_of(variants, &control, &mut |idx, logits| each(idx, aim.told(logits)))?)
}

/// Runs with noise on the subject.
struct Corrupted<'a> {
    lab: &'a LabRun<'a>,
    aim: Aim,
    stack: StackKind,
    /// Changes of each sample's run, those of every run included.
    edits: Vec<Vec<Edit>>,
    /// What enters each layer in each sample, where runs can go on from there.
    entering: Option<Vec<Vec<Matrix>>>,
    options: &'a TraceOptions,
}

/// What is put back: values of a site, by layer.
struct Clean {
    site: Site,
    rows: Vec<Matrix>,
}

impl Clean {
    /// The stream of a layer is what enters the next.
    fn is_stream(&self) -> bool {
        self.site == Site::ResidPost
    }

    /// The layers that are restored around one.
    fn layers(&self, layer: usize, together: usize) -> Range<usize> {
        if self.is_stream() { layer..layer + 1 } else { window(layer, self.rows.len(), together) }
    }

    /// The layers that a run goes through, on average over those that are restored, of all.
    fn share(&self, options: &TraceOptions, goes_on: bool) -> f64 {
        let n_layers = self.rows.len();
        let first = |layer: usize| {
            if self.is_stream() { (layer + 1).min(n_layers - 1) } else { self.layers(layer, options.window).start }
        };
        let of_layer = |layer: usize| if goes_on { n_layers - first(layer) } else { n_layers };
        (0..n_layers).map(of_layer).sum::<usize>() as f64 / (n_layers * n_layers) as f64
    }
}

impl Corrupted<'_> {
    /// The run of a sample in which one position is restored at a layer.
    fn restored(
        &self,
        clean: &Clean,
        sample: usize,
        (layer, position): (usize, usize),
    ) -> Result<Variant<'_>, LabError> {
        let missing = || LabError::unsuited(NO_STREAM);
        let (n_layers, site) = (clean.rows.len(), clean.site);
        let layers = clean.layers(layer, self.options.window);
        let mut edits = if self.entering.is_some() { self.lab.edits.to_vec() } else { self.edits[sample].clone() };
        let mut start = None;
        if let Some(entering) = self.entering.as_ref().map(|samples| &samples[sample]) {
            if clean.is_stream() && layer + 1 < n_layers {
                // The layer itself has been run: its stream goes into the next one.
                let stream = &entering[layer + 1];
                let mut values = stream.as_slice().to_vec();
                let width = stream.n_cols();
                let clean = clean.rows[layer].row(position).ok_or_else(missing)?;
                values[position * width..(position + 1) * width].copy_from_slice(clean);
                let stream = Matrix::new(values, stream.shape()).map_err(|_| missing())?;
                start = Some(Start { layer: layer + 1, stream });
            } else {
                start = Some(Start { layer: layers.start, stream: entering[layers.start].clone() });
            }
        }
        if start.as_ref().is_none_or(|start| start.layer <= layer) {
            for layer in layers {
                let value = clean.rows[layer].window(position..position + 1).ok_or_else(missing)?;
                edits.push(Edit::Patch(Patch {
                    site,
                    stack: self.stack,
                    layer,
                    head: None,
                    positions: vec![position],
                    value,
                }));
            }
        }
        let input = Cow::Borrowed(self.lab.input);
        Ok(Variant { input, edits: Cow::Owned(edits), start, row: self.aim.row })
    }

    /// The mean probability or score over samples, for each of some positions.
    fn layer(
        &self,
        clean: &Clean,
        (layer, positions): (usize, &[usize]),
        progress: (usize, usize),
    ) -> Result<Vec<f64>, LabError> {
        let n_samples = self.edits.len();
        let mut means = vec![0.0; positions.len()];
        let pairs = positions.iter().flat_map(|position| (0..n_samples).map(move |sample| (sample, *position)));
        let variants = pairs.map(|(sample, position)| self.restored(clean, sample, (layer, position)));
        let variants = variants.collect::<Result<Vec<_>, _>>()?;
        told_of(self.lab, &self.aim, &variants, progress, &mut |idx, p| {
            means[idx / n_samples] += p / n_samples as f64;
        })?;
        Ok(means)
    }
}

/// Causal tracing: noise on the subject, and what of the answer comes back when one state is restored.
fn trace(lab: &LabRun<'_>, options: &TraceOptions, target: Target) -> Result<Report, LabError> {
    let aim = target.aim(lab)?;
    let plain = lab.plain()?;
    one_number(plain)?;
    let side = if plain.tokens(Side::Encoder).is_empty() { aim.side } else { Side::Encoder };
    let (stack, n) = (side.stack(), plain.tokens(side).len());
    let n_layers = plain.model().stack(stack).map_or(0, |stack| stack.layers.len());
    if n_layers == 0 {
        return Err(LabError::unsuited(NO_STREAM));
    }
    if !options.noise.is_finite() || options.noise < 0.0 || options.n_samples == 0 {
        return Err(LabError::unsuited("noise is 0 or more standard deviations, in at least one sample"));
    }
    let subject = options.subject.positions(plain, side)?;
    let goes_on = lab.model.goes_on();
    let is_read = |at: usize| side == aim.side && at == aim.row;
    let is_traced = |at: &usize| at.is_multiple_of(options.every.max(1)) || subject.contains(at) || is_read(*at);
    let traced: Vec<usize> = (0..n).filter(is_traced).collect();
    let panels = options.restore.panels();
    let sites: Vec<Site> = panels.iter().map(|panel| panel.site).chain([Site::Embed]).collect();
    let clean = lab.run(Sites::of(&sites), Logits::Skip)?;
    let recorded = clean.stack(stack).map_or(&[][..], |stack| &stack.layers);
    let of_site = |panel: &Panel| {
        let rows = recorded.iter().filter_map(|layer| layer.rows(panel.site).cloned()).collect();
        Clean { site: panel.site, rows }
    };
    let restored: Vec<Clean> = panels.iter().map(of_site).collect();
    let (Some(embeds), true) = (clean.embed(side), restored.iter().all(|clean| clean.rows.len() == n_layers)) else {
        return Err(LabError::unsuited(NO_STREAM));
    };
    let (runs_each, n_always) = (n_layers * options.n_samples * panels.len(), subject.len() + 1);
    let share = restored.iter().map(|clean| clean.share(options, goes_on)).sum::<f64>() / panels.len() as f64;
    lab.ask_first(aim.row, &Work { n_positions: traced.len(), runs_each, share, n_tokens: n, n_always })?;
    let wide = embeds.as_slice().iter().map(|value| f64::from(*value));
    let sigma = standard_deviation(wide).unwrap_or(0.0);
    let (width, scale) = (embeds.n_cols(), options.noise * sigma);
    let n_noises = subject.len() * width;
    let noises = noise(n_noises * options.n_samples, options.seed);
    let hidden = embeds.window(subject.clone()).ok_or_else(|| LabError::unsuited("the subject is not there"))?;
    let mut corrupted = Corrupted { lab, aim, stack, edits: Vec::new(), entering: None, options };
    for noises in noises.chunks_exact(n_noises) {
        let values =
            hidden.as_slice().iter().zip(noises).map(|(value, noise)| (f64::from(*value) + scale * noise) as f32);
        let value = Matrix::new(values.collect::<Vec<f32>>(), [subject.len(), width]);
        let value = value.map_err(|_| LabError::unsuited("the subject is empty"))?;
        let positions = subject.clone().collect();
        let mut edits = lab.edits.to_vec();
        edits.push(Edit::Patch(Patch { site: Site::Embed, stack, layer: 0, head: None, positions, value }));
        if goes_on {
            let plan =
                crate::model::RunPlan { edits: edits.clone(), ..lab.plan(Sites::of(&[Site::ResidPre]), Logits::Skip) };
            let run = lab.model.forward(lab.input, &plan, lab.control)?;
            let layers = run.stack(stack).map_or(&[][..], |stack| &stack.layers);
            let entering = layers.iter().filter_map(|layer| layer.resid_pre().cloned()).collect();
            corrupted.entering.get_or_insert_default().push(entering);
        }
        corrupted.edits.push(edits);
    }
    let mut before = [0.0; 2];
    let n_samples = options.n_samples;
    let plain_edits = std::iter::once(lab.edits).chain(corrupted.edits.iter().map(Vec::as_slice));
    let variants: Vec<_> = plain_edits.map(|edits| Variant::of(lab.input, edits, aim.row)).collect();
    let total = traced.len() * n_layers * n_samples * panels.len();
    told_of(lab, &aim, &variants, (0, total), &mut |idx, p| {
        before[usize::from(idx > 0)] += if idx > 0 { p / n_samples as f64 } else { p };
    })?;
    let mut report = Report::new(&SPEC);
    report.parameters = aim.parameters(lab);
    report.parameters.push((Cow::Borrowed("tokens"), serde_json::json!([subject.start, subject.end])));
    report.notes.push(format!(
        "the noise has {} times the standard deviation of this input's embeddings, {}",
        options.noise,
        norm_text(sigma)
    ));
    let told = |effects: &[Dense]| {
        let [effect, clean, corrupted] = if aim.outputs.has_probabilities() {
            ["effect", "clean", "corrupted"]
        } else {
            ["score_effect", "score_clean", "score_corrupted"]
        };
        let name = |panel: &Panel| match (effects.len(), aim.outputs.has_probabilities()) {
            (1, _) => effect,
            (_, true) => panel.effect,
            (_, false) => panel.score_effect,
        };
        let report = panels.iter().zip(effects).fold(report.clone(), |report, (panel, effects)| {
            report.with_value(name(panel), Value::grid(side, effects.to_matrix()))
        });
        report.with_value(clean, before[0]).with_value(corrupted, before[1]).with_value("sigma", sigma)
    };
    let mut effects: Vec<Dense> = panels.iter().map(|_| Dense::from_fn(n, n_layers, |_, _| f64::NAN)).collect();
    let at_once = if goes_on { STREAM_BYTES / (4 * n * lab.model.spec().d_model * n_samples).max(1) } else { 16 };
    let mut done = 0;
    // The last layers take the least, so that something is there at once.
    for layer in (0..n_layers).rev() {
        for (nth, clean) in restored.iter().enumerate() {
            for positions in traced.chunks(at_once.max(1)) {
                let found = corrupted.layer(clean, (layer, positions), (done, total))?;
                for (position, p) in positions.iter().zip(found) {
                    effects[nth].row_mut(*position)[layer] = p - before[1];
                }
                done += positions.len() * n_samples;
                (lab.partial)(&told(&effects));
            }
        }
    }
    Ok(told(&effects))
}
