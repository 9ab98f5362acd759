//! Synthetic models and captures, and a worker that answers from a script.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use super::{corpora, excerpts, sessions, stacks};
use attnscope::{
    analysis::{
        cloud_query::{CloudQuery, CloudResult, StoredHead},
        explain::report::{Report, Value},
        projection::{HeadProjection, Projection},
    },
    capture::{
        AppliedEdit, Architecture, BlockFacts, BranchNorms, Capture, CaptureParts, Computation, CropRect, ImageInfo,
        InputInfo, LayerCapture, PerHead, PositionEncoding, Prediction, PredictionItem, PredictionRow, Reads,
        RgbaBuffer, Rotation, Site, StackCapture, TextPart, Token, TowerFacts, groups::mark,
    },
    export::{ExportRequest, thumbnail},
    ids::{CaptureId, HeadId, JobId, ModelId, Side, StackKind},
    lab::MethodCall,
    model::Input,
    outputs::OutputKind,
    protocol::{
        Catalog, EditRequest, Event, EventKind, ExplanationAnswer, Failure, Lane, LoadAnswer, LoadedModel, ModelSource,
        ProjectionAnswer, ReadAnswer, Request, RunAnswer, SessionRequest, SurveyAnswer,
    },
    spec::{HeadKind, ImageSpec, LayerSpec, MixerKind, Modality, ModelSpec, StackSpec, TextSpec},
    ui::app::Jobs,
    worker::{draw, head_folder},
};

/// Layers and heads of every synthetic model.
pub const N_LAYERS: usize = 3;
/// Heads of every layer.
pub const N_HEADS: usize = 4;
const D_HEAD: usize = 8;
/// Longer texts come without patterns, as those over a byte budget do.
const MOST_WITH_PATTERNS: usize = 1000;
/// Rows and columns of patches of the synthetic vision model.
const GRID: usize = 4;

/// The made-up capture of a model with several stacks, by its name.
fn several_stacks(name: &str) -> Option<Capture> {
    match name {
        "demo:t5" | "demo:translate" => Some(stacks::translation_capture()),
        "demo:captions" => Some(stacks::caption_capture((GRID, GRID))),
        "demo:clip" => Some(stacks::two_tower_capture((GRID, GRID))),
        _ => None,
    }
}

/// The number of the next synthetic model.
static NEXT_MODEL: AtomicU64 = AtomicU64::new(1);

/// A model as the worker describes it: a name with `vit` in it sees pictures, one with `windows` sees within them and
/// knows tokens that see all, one with `score` gives a text one number, one with `bilstm` a class, `demo:t5`, `demo:captions` and
/// `demo:clip` have several stacks, every other reads text.
pub fn model(source: &ModelSource) -> Arc<LoadedModel> {
    let name = match source {
        ModelSource::Bundled(name) | ModelSource::Hub(name) => name.clone(),
        ModelSource::Path(path) => path.file_name().unwrap().to_string_lossy().into_owned(),
    };
    let sees = name.contains("vit");
    let of_text = name.contains("score") || name.contains("bilstm");
    let in_windows = name.contains("windows");
    let window = in_windows.then_some(3);
    let layer = LayerSpec { window, global: in_windows, ..LayerSpec::new(N_HEADS, D_HEAD) };
    let spec = ModelSpec {
        name,
        family: if sees { "vit" } else { "gpt2" }.to_owned(),
        modality: if sees {
            Modality::Image(ImageSpec { size_px: (32, 32), patch_px: (8, 8), n_prefix: 1 })
        } else {
            Modality::Text(TextSpec::new(512, 1000))
        },
        stacks: vec![StackSpec {
            kind: StackKind::SelfAttention,
            layers: vec![layer; N_LAYERS],
            causal: !sees && !in_windows,
        }],
        d_model: N_HEADS * D_HEAD,
        n_params: 1_234_567,
        head: Some(match (sees, of_text) {
            (true, _) => HeadKind::ImageClass,
            (_, true) => HeadKind::TextClass,
            _ => HeadKind::NextToken,
        }),
        checkpoint: None,
    };
    let spec = match several_stacks(&spec.name) {
        Some(capture) => ModelSpec { name: spec.name, ..ModelSpec::clone(capture.model()) },
        None => spec,
    };
    let audit = attnscope::model::audit::Audit {
        n_loaded: 53,
        n_params: 1_234_567,
        dtypes: vec![("F16".to_owned(), 53)],
        unexpected: vec!["h.0.attn.bias".to_owned()],
        input_source: "tokenizer.json".to_owned(),
        ..attnscope::model::audit::Audit::default()
    };
    let tags: &[&str] = if spec.name == "demo:translate" { &[">>deu<<", ">>fra<<"] } else { &[] };
    let positions = Err("it has no position embeddings".to_owned());
    let (id, source) = (ModelId(NEXT_MODEL.fetch_add(1, Ordering::Relaxed)), source.clone());
    let config = Some(format!("configuration of {}", spec.name));
    Arc::new(LoadedModel {
        id,
        source,
        config,
        spec: Arc::new(spec),
        audit,
        positions,
        has_mask: true,
        language_tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        has_chat: false,
        asks_thinking: false,
        load_secs: 0.02,
    })
}

/// What a run of `model` on `input` records: q and k from a fixed sequence, patterns as they follow.
pub fn capture(model: &LoadedModel, input: &Input) -> Arc<Capture> {
    changed_capture(model, input, &[])
}

/// The same of a run that was changed: it says so, and every outcome loses a fifth of its probability.
pub fn changed_capture(model: &LoadedModel, input: &Input, changes: &[EditRequest]) -> Arc<Capture> {
    part_capture(model, (input, None), changes)
}

/// The same of a part of a text.
fn part_capture(
    model: &LoadedModel,
    (input, part): (&Input, Option<TextPart>),
    changes: &[EditRequest],
) -> Arc<Capture> {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    if let Some(capture) = several_stacks(&model.spec.name) {
        return Arc::new(with_blocks(capture));
    }
    let (tokens, info, image) = if let Input::Text(text) = input {
        let (text, groups) = text.ungrouped().unwrap();
        let tokens = text.text.split_inclusive(' ').enumerate();
        let mut start = 0;
        let read = |(i, word): (usize, &str)| {
            let span = start..start + word.trim_end().len();
            start += word.len();
            Token { span, ..token(word.trim(), i) }
        };
        let mut tokens: Vec<Token> = tokens.map(read).collect();
        if let Some([grouped, _]) = groups {
            mark(&mut tokens, 0, &grouped, false).unwrap();
        }
        (tokens, InputInfo { text: Some(text.text.clone()), part, ..InputInfo::default() }, None)
    } else {
        let mut tokens = vec![Token { special: true, ..token("[CLS]", 0) }];
        tokens.extend((0..GRID * GRID).map(|i| token(&format!("r{} c{}", i / GRID, i % GRID), i + 1)));
        let info = InputInfo { image: Some("chelsea".to_owned()), ..InputInfo::default() };
        (tokens, info, Some(picture()))
    };
    let n = tokens.len();
    let causal = model.spec.stacks[0].causal;
    let layers = (0..N_LAYERS).map(|layer| layer_capture(layer, n, causal)).collect();
    let kind = model.spec.head.unwrap();
    let global = excerpts::global(changes);
    let parts = CaptureParts {
        id: CaptureId(NEXT.fetch_add(1, Ordering::Relaxed)),
        model: Arc::clone(&model.spec),
        input: info,
        prediction: Some(prediction((kind, &model.spec.name), n, if changes.is_empty() { 1.0 } else { 0.8 })),
        tokens: BTreeMap::from([(Side::Only, tokens)]),
        stacks: vec![StackCapture { kind: StackKind::SelfAttention, layers, global, ..StackCapture::default() }],
        image,
        logits: excerpts::logits(kind, n, changes.is_empty()).filter(|_| !model.spec.name.contains("bilstm")),
        generated: None,
        sequences: std::collections::BTreeMap::new(),
        computation: Computation { edits: changes.iter().filter_map(applied).collect(), ..Computation::default() },
        notes: Vec::new(),
    };
    let rotation = Arc::new(Rotation { frequencies: vec![1.0, 0.1], neighbours: false });
    let n_layers = parts.stacks[0].layers.len();
    let rotary = BTreeMap::from([(StackKind::SelfAttention, vec![Some(rotation); n_layers])]);
    let positions = PositionEncoding { tables: model.positions.clone(), rotary };
    Arc::new(with_blocks(Capture::new(parts).unwrap().with_positions(positions.into())))
}

/// A capture whose model is made of plain blocks.
fn with_blocks(capture: Capture) -> Capture {
    let norms = BranchNorms { before: true, ..BranchNorms::default() };
    let stacks = &capture.model().stacks;
    let has_cross = stacks.iter().any(|stack| stack.kind == StackKind::Cross);
    let tower = |stack: &StackSpec| {
        let cross = (has_cross && stack.kind == StackKind::Decoder).then_some(norms);
        let block = BlockFacts {
            mixer: MixerKind::Attention,
            attention: norms,
            beside: None,
            cross,
            mlp: norms,
            is_parallel: false,
            is_rotary: false,
        };
        TowerFacts {
            stack: stack.kind,
            reads: Reads::Tokens { n_vocab: 100 },
            adds_positions: false,
            blocks: vec![block; stack.layers.len()],
            has_final_norm: true,
        }
    };
    let towers = stacks.iter().filter(|stack| stack.kind != StackKind::Cross).map(tower).collect();
    capture.with_architecture(Architecture { towers }.into())
}

fn applied(change: &EditRequest) -> Option<AppliedEdit> {
    match change {
        EditRequest::Edit(edit) => Some(AppliedEdit::Known(edit.clone())),
        EditRequest::Word { .. }
        | EditRequest::Taken { .. }
        | EditRequest::MeanOver { .. }
        | EditRequest::Between(_) => None,
    }
}

fn token(text: &str, position: usize) -> Token {
    Token { text: text.to_owned(), id: Some(100 + position as u32), ..Token::default() }
}

fn picture() -> ImageInfo {
    let pixels = (0..32 * 32).flat_map(|i| [(i % 32 * 8) as u8, (i / 32 * 8) as u8, 128, 255]).collect();
    ImageInfo {
        grid: (GRID, GRID),
        regions: None,
        n_prefix: 1,
        patch_px: (8, 8),
        crop: CropRect { x: 0.0, y: 0.0, width: 32.0, height: 32.0 },
        source: Some(Arc::new(RgbaBuffer { width: 32, height: 32, pixels })),
    }
}

fn prediction((kind, name): (HeadKind, &str), n: usize, part: f32) -> Prediction {
    let items = |seed: usize| {
        let item = |i: usize, probability: f32| PredictionItem {
            id: (seed + i) as u32,
            label: format!("word{}", seed + i),
            value: part * probability,
        };
        vec![item(0, 0.5), item(1, 0.25), item(2, 0.01)]
    };
    if kind == HeadKind::TextClass && name.contains("score") {
        let top = vec![PredictionItem { id: 0, label: "score".to_owned(), value: -1.25 * part }];
        let rows = vec![PredictionRow { position: None, top }];
        return Prediction { kind, outputs: OutputKind::Scores, rows };
    }
    let rows = match kind {
        HeadKind::ImageClass | HeadKind::TextClass => vec![PredictionRow { position: None, top: items(0) }],
        _ => (0..n).map(|at| PredictionRow { position: Some(at), top: items(at * 10) }).collect(),
    };
    Prediction { kind, outputs: OutputKind::of(kind), rows }
}

fn layer_capture(layer: usize, n: usize, causal: bool) -> LayerCapture {
    let mut seed = layer as u64 * 7919 + 17;
    let mut values = |count: usize| -> Vec<f32> {
        let mut next = || {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((seed >> 40) as f32 / (1u64 << 24) as f32 - 0.5) * 6.0
        };
        (0..count).map(|_| next()).collect()
    };
    let (q, k) = (values(N_HEADS * n * D_HEAD), values(N_HEADS * n * D_HEAD));
    let keeps_pattern = n <= MOST_WITH_PATTERNS;
    let mut pattern = Vec::new();
    for head in 0..N_HEADS {
        for query in 0..if keeps_pattern { n } else { 0 } {
            let row = |at: usize, of: &[f32]| of[(head * n + at) * D_HEAD..][..D_HEAD].to_vec();
            let score = |key: usize| {
                if causal && key > query {
                    return f32::NEG_INFINITY;
                }
                let dot: f32 = row(query, &q).iter().zip(row(key, &k)).map(|(q, k)| q * k).sum();
                dot * (D_HEAD as f32).powf(-0.5)
            };
            let scores: Vec<f32> = (0..n).map(score).collect();
            let max = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let exps: Vec<f32> = scores.iter().map(|score| (score - max).exp()).collect();
            let sum: f32 = exps.iter().sum();
            pattern.extend(exps.iter().map(|exp| exp / sum));
        }
    }
    let per_head = |data: Vec<f32>, cols| PerHead::new(data, [N_HEADS, n, cols]).unwrap();
    // As good as any.
    let v = per_head(k.clone(), D_HEAD);
    let mut layer = LayerCapture::of([(Site::V, v), (Site::Q, per_head(q, D_HEAD)), (Site::K, per_head(k, D_HEAD))]);
    if keeps_pattern {
        layer.sites.set(Site::Pattern, per_head(pattern, n));
    }
    layer
}

/// Every head of the only stack with its points on a circle.
pub fn projection(request: &Request) -> Arc<Projection> {
    let Request::Project { cloud, stack, options, .. } = request else { panic!("not a projection") };
    let n = cloud.n(stack.query_side());
    let circle = |radius: f32| -> Vec<[f32; 3]> {
        let angle = |i: usize| i as f32 / n as f32 * std::f32::consts::TAU;
        (0..n).map(|i| [radius * angle(i).cos(), radius * angle(i).sin(), 0.0]).collect()
    };
    let head = |at: usize| HeadProjection {
        head: HeadId { stack: *stack, layer: at / N_HEADS, head: at % N_HEADS },
        queries: circle(1.0),
        keys: circle(1.5),
        c: 1.0,
        explained: [0.4, 0.2, 0.0],
        refined: None,
        correlation_before: -0.3,
        correlation_after: -0.8,
    };
    let heads = (0..N_LAYERS * N_HEADS).map(head).map(Arc::new).collect();
    Arc::new(Projection { cloud: cloud.clone(), stack: *stack, options: *options, heads })
}

/// A failure with this sentence.
pub fn failure(summary: &str) -> Failure {
    Failure { summary: summary.to_owned(), details: "Try something else".to_owned() }
}

/// What the scripted worker was asked and what it will say.
#[derive(Default)]
pub struct Script {
    /// Everything that was submitted, oldest first.
    pub submitted: Vec<(JobId, Request)>,
    /// Lanes that were cancelled.
    pub cancelled: Vec<Lane>,
    /// What it says at the next frame.
    pub events: Vec<Event>,
    /// Whether it answers by itself as a working model would.
    pub answers: bool,
    /// What was asked about session files, oldest first.
    pub sessions: Vec<SessionRequest>,
    /// What is in the cache of downloaded models.
    pub known: Catalog,
    /// Words of a text that it reads at most.
    pub most_words: Option<usize>,
    loaded: Option<Arc<LoadedModel>>,
}

/// A worker that answers within the frame, or only when the test says so.
#[derive(Clone, Default)]
pub struct ScriptedJobs(pub Rc<RefCell<Script>>);

impl ScriptedJobs {
    /// Answers every request as a working model would.
    pub fn answering() -> Self {
        let jobs = Self::default();
        jobs.0.borrow_mut().answers = true;
        jobs
    }

    /// Says this about the newest job at the next frame.
    pub fn say(&self, kind: EventKind) {
        let mut script = self.0.borrow_mut();
        let (job, request) = script.submitted.last().unwrap();
        let event = Event { job: *job, lane: request.lane(), kind };
        script.events.push(event);
    }

    /// Stops or starts answering by itself.
    pub fn answer(&self, answers: bool) {
        self.0.borrow_mut().answers = answers;
    }

    /// How many runs were asked for.
    pub fn n_runs(&self) -> usize {
        self.0.borrow().submitted.iter().filter(|(_, request)| matches!(request, Request::Run { .. })).count()
    }
}

/// What the laboratory says: growing numbers, those of leave-one-out in the opposite order.
fn explained(ask: &MethodCall) -> Report {
    let values: Vec<f32> = (1..=8).map(|nth| nth as f32 / 8.0).collect();
    let turned = matches!(ask, MethodCall::LeaveOneOut(_));
    let values = if turned { values.into_iter().rev().map(|value| -value).collect() } else { values };
    Report::new(ask.spec()).with_value("scores", Value::tokens(Side::Only, values))
}

impl Jobs for ScriptedJobs {
    fn submit(&mut self, job: JobId, request: Request) {
        let mut script = self.0.borrow_mut();
        if let Request::Session(request) = &request {
            // What is kept on the way is beside what a test asks for.
            script.sessions.push(request.clone());
            script.events.push(Event { job, lane: Lane::Session, kind: sessions::answer(request) });
            return;
        }
        if script.answers {
            let kind = match &request {
                Request::Load { source: ModelSource::Path(path), .. } if head_folder::is_head_folder(path) => {
                    match head_folder::opened(path) {
                        Ok(file) => EventKind::Load(LoadAnswer::Opened(file)),
                        Err(failure) => EventKind::Failed(failure),
                    }
                }
                Request::Load { source, .. } => {
                    let loaded = model(source);
                    script.loaded = Some(Arc::clone(&loaded));
                    EventKind::Load(LoadAnswer::Loaded(loaded))
                }
                Request::Run { input, changes, .. } => match excerpts::excerpt(input, script.most_words) {
                    Ok((input, part)) => {
                        let model = script.loaded.as_ref().unwrap();
                        EventKind::Run(RunAnswer::Captured(part_capture(model, (&input, part), changes)))
                    }
                    Err(too_long) => EventKind::Run(RunAnswer::TooLong(too_long)),
                },
                Request::Project { .. } => EventKind::Project(ProjectionAnswer::Projected(projection(&request))),
                Request::Survey { survey, .. } if matches!(survey.question, CloudQuery::Stored(_)) => {
                    let CloudQuery::Stored(StoredHead { folder, head }) = &survey.question else { unreachable!() };
                    match head_folder::read_head(folder, *head) {
                        Ok(file) => {
                            let found = CloudResult::Stored(Arc::new(file));
                            EventKind::Survey(SurveyAnswer::Found(Arc::new(found)))
                        }
                        Err(summary) => EventKind::Failed(failure(&summary)),
                    }
                }
                Request::Survey { survey, .. } => {
                    let found = survey.answer(&mut |_, _| true).unwrap().unwrap();
                    EventKind::Survey(SurveyAnswer::Found(Arc::new(found)))
                }
                Request::Draw { figure, purpose } => EventKind::Draw(draw(figure, *purpose).unwrap()),
                Request::Thumbnail(figure, max_px) => {
                    EventKind::Thumbnail(thumbnail::encode(&figure.preview(*max_px).unwrap().pixels))
                }
                Request::Card(figure, max_px) => match figure.preview(*max_px) {
                    Ok(preview) => EventKind::Card(preview.pixels),
                    Err(error) => EventKind::Failed(failure(&error.to_string())),
                },
                Request::Export(ExportRequest::Figures { path, .. } | ExportRequest::Png { path, .. }) => {
                    EventKind::Export(path.clone())
                }
                Request::Forget(id) => EventKind::Forget(*id),
                Request::Read(_) => EventKind::Analysis(ReadAnswer::FoundAll),
                Request::Explain(wanted) => {
                    EventKind::Explain(ExplanationAnswer::Explained(Arc::new(explained(&wanted.ask))))
                }
                Request::Outcomes(_, model) => excerpts::outcomes(*model),
                Request::ListModels(_) => EventKind::Catalog(script.known.clone()),
                Request::Corpus(order) => corpora::answer(order, script.loaded.as_ref().unwrap()),
                Request::LookAtCorpus(order) => corpora::look(order),
                // Nothing is kept of an earlier run.
                Request::Debate(order) if order.recalls => EventKind::Cancelled,
                Request::Study(order) if order.recalls => EventKind::Cancelled,
                Request::Session(_)
                | Request::PlanDownload(_)
                | Request::Download(_)
                | Request::SecondOpinion(..)
                | Request::Debate(_)
                | Request::Study(_)
                | Request::Judge(_)
                | Request::Measure(..) => {
                    // The test says what the hub answers.
                    script.submitted.push((job, request));
                    return;
                }
            };
            script.events.push(Event { job, lane: request.lane(), kind });
        }
        script.submitted.push((job, request));
    }

    fn cancel(&mut self, lane: Lane) {
        self.0.borrow_mut().cancelled.push(lane);
    }

    fn drain(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.0.borrow_mut().events)
    }

    fn rest(&self) {}
}
