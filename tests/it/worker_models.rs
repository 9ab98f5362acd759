//! The worker with the real engine: which model it holds, what it answers, and what goes on meanwhile.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use attnscope::{
    analysis::{PointCloud, projection::ProjectionOptions},
    capture::{
        Ablate, Ablation, Capture, Edit, MaskToken, RgbaBuffer,
        file::{self, Contents},
    },
    export::ExportRequest,
    ids::{CloudId, DocumentId, HeadId, JobId, ModelId, PaneId, Side, StackKind},
    lab::{LeaveOneOutOptions, LeaveOut, MethodCall, Target, TimeLimit},
    model::{self, Input, Stage, TextInput},
    protocol::{
        EditRequest, EventKind, Explanation, ExplanationAnswer, Failure, Lane, LoadAnswer, ModelSource,
        ProjectionAnswer, Request, RunAnswer,
    },
    session as state,
    worker::{Engine, JobControl, ModelEngine, SessionEngine, Stop, Wake, Worker, Workers},
};

use crate::{
    families::is_sequential,
    support::{scripted, synthetic},
    worker::{load, load_from, run, run_on},
};

/// The real engine, on tiny checkpoints.
pub struct Session {
    worker: Worker,
    n_jobs: u64,
}

impl Session {
    pub fn new() -> Self {
        Self::with(ModelEngine::new(model::ComputeDevice::Cpu).unwrap())
    }

    pub fn with(engine: ModelEngine) -> Self {
        Self { worker: Worker::spawn(engine, Arc::new(|| ())).unwrap(), n_jobs: 0 }
    }

    /// The answer to one request, and the stages it went through.
    pub fn ask(&mut self, request: Request) -> (EventKind, Vec<Stage>) {
        self.n_jobs += 1;
        self.worker.submit(JobId(self.n_jobs), request);
        let mut stages = Vec::new();
        loop {
            let event = self.worker.wait().unwrap();
            assert_eq!(event.job, JobId(self.n_jobs));
            match event.kind {
                EventKind::Progress(progress) => stages.push(progress.stage),
                EventKind::Project(ProjectionAnswer::Refined(_)) => {}
                answer => {
                    stages.dedup();
                    return (answer, stages);
                }
            }
        }
    }

    fn load(&mut self, name: &str) -> EventKind {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
        self.ask(load_from(ModelSource::Path(path))).0
    }

    pub fn capture(&mut self, text: &str) -> Arc<Capture> {
        let text = TextInput { text: text.to_owned(), ..TextInput::default() };
        match self.ask(run_on(ModelId(1), Input::Text(text))).0 {
            EventKind::Run(RunAnswer::Captured(capture)) => capture,
            other => panic!("{other:?}"),
        }
    }
}

pub fn failure(kind: EventKind) -> Failure {
    match kind {
        EventKind::Failed(failure) => failure,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_run_without_room_fails_in_words_and_the_next_one_works() {
    let engine = model::Engine::cpu(Some(1)).unwrap().with_run_memory(60_000);
    let mut session = Session::with(ModelEngine::with_engine(engine));
    assert!(matches!(session.load("bert"), EventKind::Load(LoadAnswer::Loaded(_))));
    let refused = failure(session.ask(run_on(ModelId(1), Input::Ids(vec![7; 48]))).0);
    for words in ["of memory besides the model", "0.1 MB are free"] {
        assert!(refused.summary.contains(words), "{refused:?}");
    }
    assert!(refused.details.contains("of the 48 tokens"), "{refused:?}");
    assert_eq!(session.capture("Time flies").model().family, "bert");
}

#[test]
fn a_model_that_fits_only_alone_takes_the_place_of_the_current_one() {
    // Too little for gpt2-bare beside anything, enough for bert.
    let engine = model::Engine::cpu(Some(1)).unwrap().with_memory_limit(165_000);
    let mut session = Session::with(ModelEngine::with_engine(engine));
    let refusal = "of memory, but only";
    let refused = failure(session.load("gpt2-bare"));
    assert!(refused.summary.contains(refusal), "{refused:?}");

    assert!(matches!(session.load("bert"), EventKind::Load(LoadAnswer::Loaded(_))));
    // It would fit alone, but its last layers are missing: the current model comes back.
    let broken = tempfile::tempdir().unwrap();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/gpt2-bare");
    std::fs::copy(fixture.join("model.safetensors"), broken.path().join("model.safetensors")).unwrap();
    let config = std::fs::read_to_string(fixture.join("config.json")).unwrap();
    let mut config: serde_json::Value = serde_json::from_str(&config).unwrap();
    config["n_layer"] = 9.into();
    std::fs::write(broken.path().join("config.json"), config.to_string()).unwrap();
    let answer = session.ask(load_from(ModelSource::Path(broken.path().to_owned()))).0;
    assert!(!failure(answer).summary.contains(refusal));
    assert_eq!(session.capture("Time flies").model().family, "bert");

    let EventKind::Load(LoadAnswer::Loaded(model)) = session.load("gpt2-bare") else { panic!("not loaded") };
    assert_eq!(model.spec.family, "gpt2");
}

#[test]
fn a_run_is_changed_as_asked_and_what_cannot_be_is_a_sentence() {
    let mut session = Session::new();
    let (answer, _) = session.ask(load("demo:gpt"));
    assert!(matches!(answer, EventKind::Load(LoadAnswer::Loaded(model)) if !model.has_mask));
    let plain = session.capture("Once upon a time");
    let tokens = plain.tokens(Side::Only);
    let mut ask = |changes: Vec<EditRequest>| {
        let text = TextInput { text: "Once upon a time".to_owned(), ..TextInput::default() };
        let (document, input) = (DocumentId(1), Input::Text(text));
        session.ask(Request::Run { document, model: ModelId(1), input, generation: None, changes }).0
    };
    let word = |text: &str| EditRequest::Word { side: Side::Only, position: 3, text: text.to_owned() };
    let ablate = |with| EditRequest::Edit(Edit::Ablate(Ablate { head: HeadId::single(0, 0), with }));

    let EventKind::Run(RunAnswer::Captured(changed)) = ask(vec![word("upon"), ablate(Ablation::Zero)]) else {
        panic!("not run")
    };
    assert_eq!(changed.tokens(Side::Only)[3].id, tokens[1].id, "a word after a space is the one with its space");
    assert_eq!(changed.computation().edits.len(), 2);
    let best = |capture: &Capture| capture.prediction().unwrap().rows.last().unwrap().top[0].clone();
    assert_ne!(best(&plain).value, best(&changed).value);

    let many = failure(ask(vec![word("upon a time")]));
    assert!(many.summary.contains("“upon a time” is not one token of this model"), "{many:?}");
    let both = failure(ask(vec![ablate(Ablation::Zero), ablate(Ablation::Mean)]));
    assert!(both.summary.contains("contradict each other"), "{both:?}");
}

#[test]
fn a_model_is_loaded_run_and_projected() {
    let mut session = Session::new();
    let (answer, stages) = session.ask(load("demo:gpt"));
    let EventKind::Load(LoadAnswer::Loaded(model)) = answer else { panic!("{answer:?}") };
    assert_eq!((model.spec.name.as_str(), model.spec.family.as_str()), ("demo:gpt", "gpt2"));
    assert!(model.load_secs > 0.0 && model.audit.n_loaded > 0);
    assert_eq!(stages, [Stage::Load]);

    let text = TextInput { text: "Once upon a time".to_owned(), ..TextInput::default() };
    let (answer, stages) = session.ask(run_on(ModelId(1), Input::Text(text)));
    let EventKind::Run(RunAnswer::Captured(capture)) = answer else { panic!("{answer:?}") };
    assert_eq!(stages, [Stage::Encode, Stage::Forward]);
    assert!(capture.stored_pattern(HeadId::single(0, 0)).is_some());

    let request = Request::Project {
        pane: PaneId(1),
        cloud: PointCloud::Input(Arc::clone(&capture)),
        stack: StackKind::SelfAttention,
        options: ProjectionOptions::default(),
        known: None,
        first: HeadId::single(0, 0),
    };
    let (answer, stages) = session.ask(request);
    let EventKind::Project(ProjectionAnswer::Projected(projection)) = answer else { panic!("{answer:?}") };
    assert_eq!(projection.cloud.id(), CloudId::Input(capture.id()));
    assert_eq!(stages, [Stage::Project]);
}

#[test]
fn what_fails_leaves_the_model_as_it_was() {
    let mut session = Session::new();
    assert_eq!(failure(session.ask(run(1)).0).summary, "There is no model");
    assert!(matches!(session.load("bert"), EventKind::Load(LoadAnswer::Loaded(_))));
    let missing = failure(session.load("no-such-model"));
    assert!(missing.summary.starts_with(char::is_uppercase), "{missing:?}");
    assert!(missing.details.ends_with("no-such-model"), "the path comes last: {missing:?}");
    failure(session.ask(load("demo:none")).0);
    failure(session.load("tokenizers"));
    // Pictures and no checkpoint are something else that can be opened.
    let pictures = session.load("preprocessing");
    assert!(matches!(pictures, EventKind::Load(LoadAnswer::IsCorpus { has_pictures: true, .. })), "{pictures:?}");
    assert_eq!(session.capture("the street").model().name, "bert");
    let empty = failure(session.ask(run_on(ModelId(1), Input::Text(TextInput::default()))).0);
    assert_eq!(empty.summary, "The text is empty");
    let outside = failure(session.ask(run(1_000_000)).0);
    assert!(outside.summary.contains("outside the vocabulary"), "{outside:?}");
    assert_eq!(session.capture("the street").model().name, "bert");
}

#[test]
fn pictures_are_written_by_the_worker() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("picture.png");
    let pixels = Arc::new(RgbaBuffer { width: 1, height: 1, pixels: vec![9, 8, 7, 255] });
    let request =
        |path: PathBuf| Request::Export(ExportRequest::Png { pixels: Arc::clone(&pixels), metadata: Vec::new(), path });
    let mut session = Session::new();
    let (answer, _) = session.ask(request(path.clone()));
    assert!(matches!(answer, EventKind::Export(written) if written == path));
    assert!(path.is_file());
    let nowhere = failure(session.ask(request(folder.path().join("missing").join("picture.png"))).0);
    assert!(nowhere.summary.contains("does not exist"), "{nowhere:?}");
}

/// Captures and weights have the same container; what is opened is told by what is inside.
#[test]
fn a_capture_opened_as_a_model_is_shown_and_the_model_stays() {
    let mut session = Session::new();
    assert!(matches!(session.load("bert"), EventKind::Load(LoadAnswer::Loaded(_))));
    let written = session.capture("the street");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("street.safetensors");
    let mut bytes = Vec::new();
    file::write(&[written.as_ref()], Contents::DEFAULT, &mut bytes).unwrap();
    std::fs::write(&path, &bytes).unwrap();

    let open = |path: &Path| load_from(ModelSource::Path(path.to_owned()));
    let EventKind::Load(LoadAnswer::Opened(file)) = session.ask(open(&path)).0 else { panic!("not a capture") };
    let head = HeadId::single(1, 0);
    assert_eq!((file.name().as_ref(), file.captures.len()), ("street.safetensors", 1));
    assert_eq!(file.captures[0].stored_pattern(head), written.stored_pattern(head));
    assert_ne!(file.captures[0].id(), written.id());
    assert_eq!(session.capture("the street").model().name, "bert");

    // Keys that did not make the patterns beside them are pointed out.
    assert_eq!(file.captures[0].notes(), written.notes());
    let k = safetensors::SafeTensors::deserialize(&bytes).unwrap().tensor("self.1.k").unwrap().data().to_vec();
    let at = bytes.windows(k.len()).position(|window| window == k).unwrap();
    for value in bytes[at..at + k.len()].chunks_exact_mut(4) {
        let tripled = 3.0 * f32::from_le_bytes(value.try_into().unwrap());
        value.copy_from_slice(&tripled.to_le_bytes());
    }
    std::fs::write(&path, &bytes).unwrap();
    let EventKind::Load(LoadAnswer::Opened(file)) = session.ask(open(&path)).0 else { panic!("not a capture") };
    let note = file.captures[0].notes().last().unwrap();
    assert!(note.starts_with("q and k of self L1H") && note.contains("do not give its pattern"), "{note}");

    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let cut = failure(session.ask(open(&path)).0);
    assert!(cut.details.ends_with("street.safetensors"), "{cut:?}");
    failure(session.ask(open(&folder.path().join("missing.safetensors"))).0);

    let lists = folder.path().join("lists.json");
    std::fs::write(&lists, "[[[[1.0, 0.0], [0.5, 0.5]]]]").unwrap();
    let EventKind::Load(LoadAnswer::Opened(file)) = session.ask(open(&lists)).0 else { panic!("not a capture") };
    assert_eq!(file.captures[0].stored_pattern(HeadId::single(0, 0)).unwrap().get(1, 0), Some(0.5));
    std::fs::write(&lists, "[[[[1.0, 0.0], [0.5, NaN]]]]").unwrap();
    let broken = failure(session.ask(open(&lists)).0);
    assert!(broken.summary.contains("attentions[0]") && broken.details.ends_with("lists.json"), "{broken:?}");
    // What belongs to a checkpoint is none of this reader's business.
    let config = folder.path().join("config.json");
    std::fs::write(&config, "[[[[1.0]]]]").unwrap();
    failure(session.ask(open(&config)).0);
    assert_eq!(session.capture("the street").model().name, "bert");
}

/// Holds a model by name, as the real engine does, and tells the test which.
struct Holder(Arc<Mutex<Option<String>>>);

impl Engine for Holder {
    fn answer(&mut self, request: Request, control: &JobControl) -> Result<EventKind, Stop> {
        let Request::Load { source, .. } = request else { return Err(Stop::Cancelled) };
        control.check()?;
        let loaded = scripted::model(&source);
        *self.0.lock().unwrap() = Some(loaded.spec.name.clone());
        Ok(EventKind::Load(LoadAnswer::Loaded(loaded)))
    }
}

/// The cancel arrives after the engine has taken the model and before the window has heard of it.
#[test]
fn the_window_shows_the_model_that_the_worker_holds_even_after_a_late_cancel() {
    let held = Arc::new(Mutex::new(None));
    let n_wakes = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&n_wakes);
    let wake: Wake = Arc::new(move || {
        counter.fetch_add(1, Ordering::SeqCst);
    });
    let mut worker = Worker::spawn(Holder(Arc::clone(&held)), wake).unwrap();
    let mut session = state::Session::new(state::Settings::default());
    let load = |session: &mut state::Session, worker: &mut Worker, name: &str| {
        let before = n_wakes.load(Ordering::SeqCst);
        for effect in session.apply(state::Command::OpenModel(ModelSource::Bundled(name.to_owned()))) {
            let state::Effect::Submit(job, request) = effect else { panic!("{effect:?}") };
            worker.submit(job, request);
        }
        while n_wakes.load(Ordering::SeqCst) == before {
            std::thread::yield_now();
        }
    };
    load(&mut session, &mut worker, "demo:gpt");
    worker.drain().into_iter().for_each(|event| drop(session.on_event(event)));
    load(&mut session, &mut worker, "demo:other");
    drop(session.apply(state::Command::Cancel(Lane::Load(DocumentId(1)))));
    worker.cancel(Lane::Load(DocumentId(1)));
    worker.drain().into_iter().for_each(|event| drop(session.on_event(event)));
    let shown = session.document().model.latest().map(|model| model.spec.name.clone());
    assert_eq!(shown.as_deref(), Some("demo:other"));
    assert_eq!(shown, *held.lock().unwrap());
}

/// A run that was stopped or failed leaves an older one on screen, whose explanation nobody has asked the model for.
#[test]
fn the_laboratory_explains_the_run_that_is_shown_or_says_that_it_cannot() {
    let mut session = Session::new();
    session.load("bert");
    let text = "Time flies";
    let shown = session.capture(text);
    let asked = |shown: &Arc<Capture>, edits: Vec<Edit>| {
        Request::Explain(Box::new(Explanation {
            pane: PaneId(1),
            column: "hidden",
            shown: Arc::clone(shown),
            model: ModelId(1),
            input: Input::Text(TextInput { text: text.to_owned(), ..TextInput::default() }),
            generation: None,
            edits,
            ask: MethodCall::LeaveOneOut(LeaveOneOutOptions { by: LeaveOut::Hide }),
            target: Target::default(),
            time_limit: TimeLimit::DEFAULT,
        }))
    };
    assert!(matches!(session.ask(asked(&shown, Vec::new())).0, EventKind::Explain(ExplanationAnswer::Explained(_))));
    let longer = session.capture("Time flies like an arrow");
    let masked = vec![Edit::MaskToken(MaskToken { side: Side::Only, position: 1 })];
    for (shown, edits) in [(&longer, Vec::new()), (&shown, masked)] {
        let refused = failure(session.ask(asked(shown, edits)).0);
        assert_eq!(refused.summary, "The input has changed since this run");
        assert!(refused.details.contains("Run the input again"), "{refused:?}");
    }
}

/// A model that runs for as long as the test wants.
struct Endless;

impl Engine for Endless {
    fn answer(&mut self, _: Request, control: &JobControl) -> Result<EventKind, Stop> {
        loop {
            control.check()?;
            std::thread::yield_now();
        }
    }
}

#[test]
fn a_projection_does_not_wait_for_a_run() {
    let mut workers = Workers::spawn(Endless, None, SessionEngine::default(), Arc::new(|| ())).unwrap();
    workers.submit(JobId(1), run(1));
    let request = Request::Project {
        pane: PaneId(1),
        cloud: PointCloud::Input(Arc::new(synthetic::text_capture(5, 2, 2))),
        stack: StackKind::SelfAttention,
        options: ProjectionOptions::default(),
        known: None,
        first: HeadId::single(0, 0),
    };
    workers.submit(JobId(2), request);
    let started = Instant::now();
    let projected = loop {
        let on_the_way = |kind: &EventKind| {
            matches!(kind, EventKind::Progress(_) | EventKind::Project(ProjectionAnswer::Refined(_)))
        };
        let found = workers.drain().into_iter().find(|event| !on_the_way(&event.kind));
        if let Some(event) = found {
            break event;
        }
        assert!(started.elapsed().as_secs() < 20, "the projection waits for the run");
        std::thread::yield_now();
    };
    assert_eq!(projected.job, JobId(2));
    assert!(matches!(projected.kind, EventKind::Project(ProjectionAnswer::Projected(_))));
}

#[test]
fn a_picture_that_cannot_be_read_stops_the_model_that_would_see_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("broken.png");
    let mut bytes = Vec::new();
    image::RgbImage::new(4, 4).write_to(&mut std::io::Cursor::new(&mut bytes), image::ImageFormat::Png).unwrap();
    // The head of the second chunk of a PNG, behind the signature and the size.
    bytes[33..41].fill(0);
    std::fs::write(&path, &bytes).unwrap();
    let mut session = Session::new();
    let Request::Load { id, document, source, .. } = load("demo:vit") else { unreachable!() };
    let sees = Some(model::ImageSource::Path(path));
    let (answer, stages) = session.ask(Request::Load { id, document, source, replaces: None, sees });
    let EventKind::Failed(Failure { summary, .. }) = answer else { panic!("{answer:?}") };
    assert!(stages.is_empty(), "nothing of the model was read");
    assert_eq!(summary, "The picture is damaged or cut short: it cannot be decoded as PNG");
}

/// What can be opened is told from its files, before anything of them is computed.
#[test]
fn models_are_listed_with_their_shapes_and_what_they_need() {
    let folder = tempfile::tempdir().unwrap();
    let recent = ["nothing", "empty"].map(|name| ModelSource::Path(folder.path().join(name)));
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    let EventKind::Catalog(listed) = Session::new().ask(Request::ListModels(recent.to_vec())).0 else { panic!() };
    let problems: Vec<_> = listed[..2].iter().map(|(_, known)| known.problem.as_deref().unwrap_or_default()).collect();
    assert!(
        listed[..2].iter().map(|(source, _)| source).eq(&recent)
            && problems == ["there is nothing at this path", "this folder is empty"],
        "{problems:?}"
    );
    let bundled: Vec<_> = listed.iter().filter(|(source, _)| matches!(source, ModelSource::Bundled(_))).collect();
    assert_eq!(bundled.len(), 23);
    for (source, known) in bundled {
        assert!(
            known.problem.is_none() && known.needs.is_some_and(|needs| needs.bytes > 10_000),
            "{source:?} {known:?}"
        );
        let is_recurrent = is_sequential(&known.family);
        assert_eq!(known.shape.is_none(), is_recurrent, "{source:?} {known:?}");
    }
}
