//! The engine behind the window: the models in memory, and what is asked of them.

use std::{collections::HashMap, io, sync::Arc, time::Instant};

use super::{
    AnalysisEngine, FileEngine, HubEngine, JobControl, SessionEngine, Stop, capture_file,
    changes::{Aids, resolve},
    cloud_thread, corpus, debate,
    debate_kept::KeptDebate,
    disk_cache::{DiskCache, Fingerprint},
    explain, head_folder,
    idle::give_back,
    patch_sources::Means,
    projector,
    queue::Urgency,
    studies,
    study_kept::KeptStudy,
    thread::Engine,
    timing,
};
use crate::{
    analysis::{
        Space,
        debate::CorpusDebate,
        projection::{Aside, NoShelf},
        reading::{Reading, Source},
        timing::lengths,
    },
    capture::Width,
    digest::sha256,
    figure::ViewKind,
    ids::{DocumentId, ModelId, Side},
    lab::LabError,
    model::{
        self, Cancelled, ComputeDevice, Encoded, EngineOptions, Generation, Input, LoadError, Logits, Model,
        ModelError, ModelFiles, Progress, RunPlan, Sites, Stage, input::open_picture, is_lens, is_sae, locate,
    },
    protocol::{
        CorpusOrder, DebateAnswer, DebateOrder, EditRequest, EventKind, Failure, LoadAnswer, LoadedModel,
        MeasureAnswer, ModelSource, Outcomes, Request, RunAnswer, TooLong,
    },
    spec::Modality,
    text::sentence,
};

/// Bytes of the residual stream up to which it is recorded of every input.
const STREAM_BYTES: u64 = 256 << 20;

/// Holds the models that documents need. A failed or cancelled request leaves them as they were.
#[derive(Debug)]
pub struct ModelEngine {
    engine: model::Engine,
    models: HashMap<ModelId, Held>,
    scratch: Option<DiskCache>,
    means: Means,
}

/// A model with where it came from.
#[derive(Debug)]
struct Held {
    source: ModelSource,
    model: Model,
    identity: Fingerprint,
}

/// A load as it was asked for.
struct LoadRequest {
    id: ModelId,
    source: ModelSource,
    replaces: Option<ModelId>,
}

impl ModelEngine {
    /// No model yet; models will run on `device`. One core is left to the window.
    ///
    /// # Errors
    /// When the system refuses to start the compute threads, or there is no such device.
    pub fn new(device: ComputeDevice) -> io::Result<Self> {
        let options = EngineOptions { low_priority: true, device, ..EngineOptions::default() };
        Ok(Self::with_engine(model::Engine::open(&options).map_err(io::Error::other)?))
    }

    /// No model yet; it will be computed by `engine`.
    pub fn with_engine(engine: model::Engine) -> Self {
        Self { engine, models: HashMap::new(), scratch: None, means: Means::default() }
    }

    /// Keeps in `scratch` what can be computed again.
    #[must_use]
    pub fn with_scratch(self, scratch: Option<DiskCache>) -> Self {
        Self { scratch, ..self }
    }

    fn load(&mut self, wanted: LoadRequest, control: &JobControl) -> Result<EventKind, Stop> {
        let LoadRequest { id, source, replaces } = wanted;
        if let ModelSource::Path(path) = &source {
            if head_folder::is_head_folder(path) {
                let opened = head_folder::opened(path).map_err(Stop::Failed)?;
                control.check()?;
                return Ok(EventKind::Load(LoadAnswer::Opened(opened)));
            }
            let opened = capture_file::format(path).map(|format| capture_file::open(path, format, control));
            if opened.as_ref().is_none_or(|opened| matches!(opened, Err(Stop::Failed(_))))
                && let Some((path, has_pictures)) = corpus::listed_in(path)
            {
                return Ok(EventKind::Load(LoadAnswer::IsCorpus { path, has_pictures }));
            }
            if is_lens(path) {
                return Ok(EventKind::Load(LoadAnswer::IsLens(path.clone())));
            }
            if is_sae(path) {
                return Ok(EventKind::Load(LoadAnswer::IsSae(path.clone())));
            }
            if let Some(opened) = opened {
                return opened.map(|file| EventKind::Load(LoadAnswer::Opened(file)));
            }
        }
        let started = Instant::now();
        let (model, identity) = match read(&source, &self.engine, &|progress| control.report(progress)) {
            Err(LoadError::TooLarge { needed, available, .. }) if needed <= available + self.held_bytes(replaces) => {
                self.read_instead(&source, replaces, needed, control)
            }
            answer => answer,
        }?;
        let loaded = LoadedModel {
            id,
            source: source.clone(),
            config: config_checksum(&source),
            spec: Arc::clone(model.spec()),
            audit: model.audit().clone(),
            has_mask: model.mask_id().is_some(),
            language_tags: model.language_tags(),
            has_chat: model.chat().is_some(),
            asks_thinking: model.chat().unwrap_or(false),
            positions: model.position_embeddings(),
            load_secs: started.elapsed().as_secs_f64(),
        };
        // The last moment at which the old model can stay, if it is still there.
        if replaces.is_none_or(|replaces| self.models.contains_key(&replaces)) {
            control.check()?;
        }
        replaces.map(|replaces| self.models.remove(&replaces));
        self.models.insert(id, Held { source, model, identity });
        Ok(EventKind::Load(LoadAnswer::Loaded(Arc::new(loaded))))
    }

    /// Bytes that a model's weights take.
    fn held_bytes(&self, id: Option<ModelId>) -> u64 {
        id.and_then(|id| self.models.get(&id)).map_or(0, |held| 4 * held.model.audit().n_params)
    }

    /// Reads a model for which there is room only without the one it replaces, and gets that one back
    /// when it cannot be read.
    fn read_instead(
        &mut self,
        source: &ModelSource,
        replaces: Option<ModelId>,
        needed: u64,
        control: &JobControl,
    ) -> Result<(Model, Fingerprint), LoadError> {
        let previous = replaces.and_then(|id| Some((id, self.models.remove(&id)?.source)));
        let engine = self.engine.clone().with_memory_limit(needed);
        let answer = read(source, &engine, &|progress| control.report(progress));
        if answer.is_err()
            && let Some((id, source)) = previous
            && let Ok((model, identity)) = read(&source, &self.engine, &model::uninterrupted)
        {
            self.models.insert(id, Held { source, model, identity });
        }
        answer
    }

    fn corpus(&self, order: CorpusOrder, control: &JobControl) -> Result<EventKind, Stop> {
        let Some(held) = self.models.get(&order.model) else { return corpus::run(None, order, control) };
        let shelf = self.scratch.as_ref().map(|scratch| (scratch, &held.identity));
        corpus::run(Some((&held.model, shelf)), order, control)
    }

    fn look(&self, order: CorpusOrder, control: &JobControl) -> Result<EventKind, Stop> {
        let held = self.models.get(&order.model).map(|held| (&held.model, None));
        corpus::look(held, order, control)
    }

    fn debate(&self, order: DebateOrder, control: &JobControl) -> Result<EventKind, Stop> {
        let Some(Held { model, identity, .. }) = self.models.get(&order.model) else { return Err(no_model()) };
        let DebateOrder { list, corpus, question, inputs, known, .. } = &order;
        let names = (model.spec().name.as_str(), corpus.as_str());
        let keeper = |scratch| KeptDebate::new(scratch, (model, identity), list, &question.options);
        let keeper = self.scratch.as_ref().map(keeper);
        let begin = |known: Option<&CorpusDebate>| CorpusDebate::begin(names, question.clone(), inputs.clone(), known);
        let mut found = begin(known.as_deref());
        // What an earlier run of the program has found, where that is more.
        let recalled = keeper.as_ref().and_then(|keeper| keeper.recall(model, &order));
        if let Some(recalled) = recalled.map(|known| begin(Some(&known))).filter(|it| it.n_done() > found.n_done()) {
            found = recalled;
        }
        let gives_way = || control.check().is_ok() && control.is_awaited(Urgency::Corpus);
        let go_on = |progress| if gives_way() { Err(Cancelled) } else { control.report(progress) };
        let tell = |found: &CorpusDebate| {
            control.tell(EventKind::Debate(DebateAnswer::SoFar(Arc::new(CorpusDebate::clone(found)))));
        };
        if order.recalls {
            let is_there = found.n_done() > 0 && found.sum_up(list, debate::SAMPLES).is_ok();
            let answer = is_there.then(|| EventKind::Debate(DebateAnswer::Found(Arc::new(found))));
            return answer.ok_or(Stop::Cancelled);
        }
        let answered = debate::go_on(&mut found, (model, list), &go_on, &mut |found| tell(found));
        if let Some(keeper) = keeper.filter(|_| found.n_done() > 0) {
            keeper.keep(&found);
        }
        match answered {
            Ok(()) => Ok(EventKind::Debate(DebateAnswer::Found(Arc::new(found)))),
            Err(error) if error.is_cancelled() && control.check().is_ok() => {
                let known = Some(Arc::new(found));
                Err(Stop::Later(Box::new(Request::Debate(Box::new(DebateOrder { known, ..order })))))
            }
            Err(error) if error.is_cancelled() => {
                tell(&found);
                Err(Stop::Cancelled)
            }
            Err(LabError::Model(error)) => Err(error.into()),
            Err(error) => Err(Stop::Failed(Failure { summary: sentence(&error.to_string()), details: String::new() })),
        }
    }

    fn second_opinion(&self, id: ModelId, input: &Input, control: &JobControl) -> Result<EventKind, Stop> {
        let Some(Held { model, source, .. }) = self.models.get(&id) else { return Err(no_model()) };
        control.report(Progress { stage: Stage::Encode, done: 0, total: 1 })?;
        let (files, _) = files(source)?;
        let compared = model.against_library(&files, &model.encode(input)?, &|progress| control.report(progress));
        Ok(EventKind::SecondOpinion(Arc::new(compared?)))
    }

    fn measure(
        &self,
        (document, id, input): (DocumentId, ModelId, Option<Input>),
        control: &JobControl,
    ) -> Result<EventKind, Stop> {
        let Some(Held { model, .. }) = self.models.get(&id) else { return Err(no_model()) };
        let lengths = lengths(model.spec())
            .map_err(|why| Stop::Failed(Failure { summary: why.to_owned(), details: String::new() }))?;
        let is_awaited = || control.is_awaited(Urgency::Explaining);
        let go_on = |progress| if is_awaited() { Err(Cancelled) } else { control.report(progress) };
        let tell = |timing| EventKind::Measure(MeasureAnswer::SoFar(Arc::new(timing)));
        let mut tell = |timing| control.send_sign_of_life(tell(timing));
        let threads = self.engine.n_threads();
        match timing::measure((model, threads), input.as_ref(), &lengths, &go_on, &mut tell) {
            Ok(timing) => Ok(EventKind::Measure(MeasureAnswer::Measured(Arc::new(timing)))),
            Err(ModelError::Cancelled(_)) if control.check().is_ok() => {
                Err(Stop::Later(Box::new(Request::Measure(document, id, input))))
            }
            Err(error) => Err(error.into()),
        }
    }

    fn outcomes(&self, id: ModelId) -> Result<EventKind, Stop> {
        let Some(Held { model, .. }) = self.models.get(&id) else { return Err(no_model()) };
        let labels = (0..model.n_outcomes() as u32).map(|outcome| model.outcome_label(outcome).into()).collect();
        Ok(EventKind::Outcomes(Arc::new(Outcomes::new(id, labels))))
    }

    fn run(
        &mut self,
        id: ModelId,
        input: &Input,
        (generate, changes): (Option<Generation>, Vec<EditRequest>),
        control: &JobControl,
    ) -> Result<EventKind, Stop> {
        let Some(Held { model, .. }) = self.models.get(&id) else {
            return Err(no_model());
        };
        control.report(Progress { stage: Stage::Encode, done: 0, total: 1 })?;
        let mut encoded = match model.encode(input) {
            Err(error) => return too_long(error, text_side(model, input).is_some()),
            Ok(encoded) => encoded,
        };
        let [needs, wants] = recorded(model, &encoded, generate.as_ref());
        let mut aids =
            Aids { id, model, writes: generate.is_some(), means: &mut self.means, control, said: Vec::new() };
        let changes = changes.into_iter().map(|change| resolve(change, &encoded, &mut aids));
        let edits = changes.collect::<Result<_, _>>()?;
        encoded.notes.append(&mut aids.said);
        let mut plan = RunPlan { sites: wants, edits, generate, logits: Logits::KeepFew, ..RunPlan::default() };
        let run = |plan: &RunPlan| model.forward(&encoded, plan, &|progress| control.report(progress));
        let captured = match run(&plan) {
            Err(ModelError::TooLarge { .. }) => {
                plan.sites = needs;
                run(&plan)
            }
            captured => captured,
        };
        match captured {
            Ok(capture) => Ok(EventKind::Run(RunAnswer::Captured(Arc::new(capture)))),
            Err(error) => {
                // What is longest may also be what the decoder reads, or a picture.
                let longest = encoded.tokens.iter().max_by_key(|(_, tokens)| tokens.len()).map(|(side, _)| *side);
                too_long(error, longest.is_some() && longest == text_side(model, input))
            }
        }
    }
}

impl Engine for ModelEngine {
    fn rest(&mut self) {
        self.engine.on_each_thread(give_back);
    }

    fn answer(&mut self, request: Request, control: &JobControl) -> Result<EventKind, Stop> {
        match request {
            Request::Load { id, source, replaces, sees, .. } => {
                sees.map(|picture| open_picture(&picture)).transpose().map_err(ModelError::from)?;
                self.load(LoadRequest { id, source, replaces }, control)
            }
            Request::Forget(id) => {
                self.models.remove(&id);
                self.means.forget(id);
                Ok(EventKind::Forget(id))
            }
            Request::Run { model, input, generation, changes, .. } => {
                self.run(model, &input, (generation, changes), control)
            }
            Request::Explain(wanted) => match self.models.get(&wanted.model) {
                Some(held) => explain::answer(&held.model, *wanted, control),
                None => Err(no_model()),
            },
            Request::SecondOpinion(_, model, input) => self.second_opinion(model, &input, control),
            Request::Measure(document, id, input) => self.measure((document, id, input), control),
            Request::Outcomes(_, id) => self.outcomes(id),
            Request::Corpus(order) => self.corpus(*order, control),
            Request::Debate(order) => self.debate(*order, control),
            Request::Study(order) => match self.models.get(&order.model) {
                Some(Held { model, identity, .. }) => {
                    let kept = self.scratch.as_ref().and_then(|of| KeptStudy::new(of, (model, identity), &order));
                    studies::answer(model, *order, kept.as_ref(), control)
                }
                None => Err(no_model()),
            },
            Request::Judge(request) => match self.models.get(&request.model) {
                Some(held) => corpus::judge_for_window(&held.model, *request, control),
                None => Err(no_model()),
            },
            Request::LookAtCorpus(order) => self.look(*order, control),
            // Whoever has only this thread gets the same answers.
            Request::Project { cloud, stack, options, known, first, .. } => {
                let wanted = projector::ProjectionRequest { cloud, stack, options, known, first };
                self.engine.install(|| projector::project(&wanted, (&NoShelf, &Aside::default()), control))
            }
            Request::Survey { survey, .. } => self.engine.install(|| cloud_thread::answer(&survey, control)),
            Request::Read(_) => AnalysisEngine::default().answer(request, control),
            Request::PlanDownload(_) | Request::Download(_) => HubEngine::default().answer(request, control),
            Request::Export(_)
            | Request::Draw { .. }
            | Request::Thumbnail(..)
            | Request::Card(..)
            | Request::ListModels(_) => FileEngine.answer(request, control),
            Request::Session(_) => SessionEngine::default().answer(request, control),
        }
    }
}

fn no_model() -> Stop {
    Stop::Failed(Failure { summary: "There is no model".to_owned(), details: "Open a model first".to_owned() })
}

/// Says how much of a text could be read that is too long; any other error is one.
fn too_long(error: model::ModelError, is_text: bool) -> Result<EventKind, Stop> {
    let n_fit = error.fitting().filter(|_| is_text);
    match (Stop::from(error), n_fit) {
        (Stop::Failed(failure), Some(n_fit)) => Ok(EventKind::Run(RunAnswer::TooLong(TooLong { failure, n_fit }))),
        (stop, _) => Err(stop),
    }
}

/// Where the text stands that a model reads; `None` where it reads none, or ids.
fn text_side(model: &Model, input: &Input) -> Option<Side> {
    let (text, side) = match (model.spec().modality, input) {
        (Modality::Text(_), text) => {
            // One query reads a text by itself.
            (text, if model.spec().reads_by_queries() { Side::Encoder } else { Side::Only })
        }
        (Modality::TextToText { .. }, Input::Pair { source: text, .. }) => (&**text, Side::Encoder),
        (Modality::TextToText { .. }, text) => (text, Side::Encoder),
        (Modality::ImageAndText { .. }, Input::Pair { target: text, .. }) => (&**text, Side::Text),
        (Modality::Image(_) | Modality::ImageToText { .. } | Modality::ImageAndText { .. }, _) => return None,
    };
    matches!(text, Input::Text(_)).then_some(side)
}

/// What is recorded of an input that somebody looks at: what every view of every space needs, without the residual
/// stream where that takes much; and the same with what views want beside it.
fn recorded(model: &Model, input: &Encoded, generate: Option<&Generation>) -> [Sites; 2] {
    let read: usize = input.tokens.values().map(Vec::len).sum();
    let n_tokens = read + generate.map_or(0, |generate| generate.max_new_tokens);
    let n_layers = model.spec().stacks.iter().map(|stack| stack.layers.len() + 1).max().unwrap_or(0);
    let takes_much = (n_tokens * n_layers * model.spec().d_model * size_of::<f32>()) as u64 > STREAM_BYTES;
    let spaces = Space::ALL.into_iter().filter(|space| !(takes_much && *space == Space::Residual));
    let reading = &Reading { source: Source::ByValueNorm, ..Reading::default() };
    let needs = |space: Space| ViewKind::ALL.into_iter().flat_map(move |view| (view.spec().needs)(reading, space));
    // Scores of a transformer follow from its queries and keys, and to hold them on the way takes longer.
    let is_recurrent = model.spec().stacks.iter().all(|stack| stack.kind.is_between());
    let wants = ViewKind::ALL.into_iter().flat_map(|view| view.spec().wants).copied();
    let wants = wants.filter(|site| match site.spec().width {
        Width::Keys => is_recurrent,
        // A few numbers a token, next to the stream.
        Width::Experts => true,
        Width::Embedding | Width::Model | Width::Mlp | Width::Head | Width::Value | Width::State | Width::Gates => {
            !takes_much
        }
    });
    let needs = spaces.flat_map(needs).fold(Sites::NONE, Sites::with);
    [needs, wants.fold(needs, Sites::with)]
}

/// The model, and what it is known by.
fn read(
    source: &ModelSource,
    engine: &model::Engine,
    control: &model::Control<'_>,
) -> Result<(Model, Fingerprint), LoadError> {
    let (files, name) = files(source)?;
    // Before it is read: a file that changes meanwhile is another one the next time.
    let identity = Fingerprint::of_model(&files);
    let model = Model::load(&files, &name, engine, control)?;
    Ok((model, identity))
}

/// By what a session knows whether a model is the same one. A small file, read once more.
fn config_checksum(source: &ModelSource) -> Option<String> {
    let (files, _) = files(source).ok().filter(|_| !matches!(source, ModelSource::Bundled(_)))?;
    files.read("config.json")?.ok().map(|bytes| sha256(&bytes))
}

/// The files of a model, and what to call it.
fn files(source: &ModelSource) -> Result<(ModelFiles, String), LoadError> {
    match source {
        ModelSource::Bundled(name) => locate::model(name),
        ModelSource::Hub(name) => locate::in_cache(name),
        // A name that is no path may be the id of a model in the local cache.
        ModelSource::Path(path) => match path.to_str() {
            Some(name) if !path.exists() => locate::model(name),
            _ => locate::open(path),
        },
    }
}

impl From<model::LoadError> for Stop {
    fn from(error: model::LoadError) -> Self {
        match error {
            LoadError::Cancelled(_) => Self::Cancelled,
            error => Self::Failed(Failure { summary: sentence(&error.to_string()), details: error.details() }),
        }
    }
}

impl From<model::ModelError> for Stop {
    fn from(error: model::ModelError) -> Self {
        match error {
            model::ModelError::Cancelled(_) => Self::Cancelled,
            error => Self::Failed(Failure { summary: sentence(&error.to_string()), details: error.details() }),
        }
    }
}
