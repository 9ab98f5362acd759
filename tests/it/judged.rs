//! What a model says of every input of a corpus: by the worker, in the list of the window, and in sessions.

use std::{fs, path::Path, sync::Arc};

use attnscope::{
    analysis::{
        accuracy::{Judgements, Said, Verdict},
        head_statistics::Tally,
        reading::store::PatternStore,
    },
    corpus::{
        Corpus, Label,
        list::{InputList, Item, ListOptions},
    },
    ids::{DocumentId, JobId, ModelId},
    model::{self, Input, TextInput},
    protocol::{
        CorpusAnswer, CorpusSoFar, CorpusSource, Event, EventKind, JudgeAnswer, JudgeRequest, Lane, LoadAnswer,
        ModelSource, Request,
    },
    session::{Command, CorpusCommand, ListCommand, Only, SaidOrder, saved::Saved},
    ui::{CommandQueue, PanelCtx, QueuedCommand, panels::CorpusDrawer, theme::Theme},
    worker::{ModelEngine, Worker, corpus},
};
use eframe::egui::vec2;
use egui_kittest::{Harness, kittest::Queryable as _};

use crate::{
    render::attnscope,
    support::{
        play::{Play, bundled},
        scripted::capture,
    },
    worker::load_from,
};

const JUDGE: JobId = JobId(9);
const REVIEWS: [(&str, &str); 4] = [
    ("a wonderful film", "positive"),
    ("a dull and boring mess", "negative"),
    ("a wonderful film of great charm", "negative"),
    ("dull", "positive"),
];

fn list() -> InputList {
    let item = |(text, label): &(&str, &str)| Item { values: vec![Some((*label).to_owned())], ..Item::text(*text) };
    InputList { items: REVIEWS.iter().map(item).collect(), columns: vec!["label".to_owned()], ..Default::default() }
}

fn request(list: InputList, label_column: Option<&str>, known: Judgements) -> Request {
    Request::Judge(Box::new(JudgeRequest {
        document: DocumentId(1),
        model: ModelId(1),
        list: Arc::new(list),
        label_column: label_column.map(ToOwned::to_owned),
        known: Arc::new(known),
    }))
}

fn worker(model: &str) -> Worker {
    let engine = model::Engine::cpu(Some(2)).unwrap();
    let mut worker = Worker::spawn(ModelEngine::with_engine(engine), Arc::new(|| ())).unwrap();
    worker.submit(JobId(1), load_from(ModelSource::Bundled(model.to_owned())));
    answer(&mut worker, |kind| matches!(kind, EventKind::Load(LoadAnswer::Loaded(_))));
    worker
}

fn answer(worker: &mut Worker, wanted: impl Fn(&EventKind) -> bool) -> Event {
    std::iter::from_fn(|| worker.wait()).find(|event| wanted(&event.kind)).unwrap()
}

fn judged(worker: &mut Worker) -> Arc<Judgements> {
    let is_end = |kind: &EventKind| !matches!(kind, EventKind::Progress(_) | EventKind::Judge(JudgeAnswer::SoFar(_)));
    match answer(worker, is_end).kind {
        EventKind::Judge(JudgeAnswer::Judged(said)) => said,
        other => panic!("{other:?}"),
    }
}

/// What the window hears is what the command writes, and a run that was stopped ends with the same.
#[test]
fn the_worker_says_what_the_command_says_and_goes_on_where_it_was_stopped() {
    let mut worker = worker("demo:bilstm");
    worker.submit(JUDGE, request(list(), Some("label"), Judgements::default()));
    let said = judged(&mut worker);
    let folder = tempfile::tempdir().unwrap();
    let [corpus, out] = ["reviews.csv", "said.json"].map(|name| folder.path().join(name).display().to_string());
    let rows: Vec<String> = REVIEWS.iter().map(|(text, label)| format!("{text},{label}")).collect();
    fs::write(&corpus, format!("text,label\n{}\n", rows.join("\n"))).unwrap();
    let told = attnscope(&["analyze", "accuracy", "--model", "demo:bilstm", "--corpus", &corpus, "--out", &out]);
    assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
    let told: serde_json::Value = serde_json::from_slice(&fs::read(&out).unwrap()).unwrap();
    for (source, of) in said.all() {
        let (written, verdict) = (&told["result"]["inputs"][source], of.verdict().unwrap());
        assert_eq!(written["class"], said.name(verdict.class));
        assert_eq!(written["right"].as_bool(), verdict.is_right());
        assert!((written["loss"].as_f64().unwrap() - verdict.loss.unwrap()).abs() < 1e-12);
    }
    assert_eq!((said.n_done(), said.agreement().n()), (4, 4));
    // Without labels there are classes, and nothing is right or wrong.
    worker.submit(JUDGE, request(list(), None, Judgements::default()));
    assert!(judged(&mut worker).all().all(|(_, said)| said.verdict().unwrap().is_right().is_none()));
    // Stopped on the way, and gone on from there.
    let mut reviews = corpus::read(Path::new("demo:reviews"), &ListOptions::default()).unwrap();
    reviews.items.truncate(60);
    worker.submit(JUDGE, request(reviews.clone(), Some("label"), Judgements::default()));
    let first = answer(&mut worker, |kind| matches!(kind, EventKind::Judge(JudgeAnswer::SoFar(_))));
    worker.cancel(Lane::Judge(DocumentId(1)));
    answer(&mut worker, |kind| matches!(kind, EventKind::Cancelled));
    let EventKind::Judge(JudgeAnswer::SoFar(first)) = first.kind else { panic!("nothing") };
    assert!(first.n_done() >= 8 && first.n_done() < reviews.items.len());
    worker.submit(JUDGE, request(reviews.clone(), Some("label"), Judgements::clone(&first)));
    let gone_on = judged(&mut worker);
    worker.submit(JUDGE, request(reviews, Some("label"), Judgements::default()));
    assert_eq!(gone_on, judged(&mut worker));
    assert!(gone_on.agreement().accuracy().unwrap().value > 0.6);
}

#[test]
fn a_model_that_says_nothing_of_the_kind_is_refused() {
    let mut worker = worker("demo:bert");
    worker.submit(JUDGE, request(list(), None, Judgements::default()));
    let failed = answer(&mut worker, |kind| !matches!(kind, EventKind::Progress(_)));
    assert!(matches!(failed.kind, EventKind::Failed(failure) if failure.summary.contains("name a classifier")));
}

/// A classifier with a corpus of four reviews that was run.
fn with_corpus(model: &str) -> Play {
    let mut play = Play::new();
    play.does(Command::OpenModel(bundled(model)));
    play.answers();
    play.does(Command::Corpus(CorpusCommand::Open(CorpusSource::path("/reviews.csv"))));
    let model = Arc::clone(play.session.document().model.latest().unwrap());
    let list = list();
    let mut corpus = Corpus::new(1 << 30);
    for (source, item) in list.items.iter().enumerate() {
        let text = item.content.text().unwrap().to_owned();
        let input = Input::Text(TextInput { text, ..TextInput::default() });
        corpus.append(&capture(&model, &input), &Label { source, ..Label::default() }).unwrap();
    }
    let (job, _) = play.last_corpus();
    let list = Arc::new(list);
    play.hears(
        job,
        EventKind::Corpus(CorpusAnswer::SoFar(Box::new(CorpusSoFar {
            list,
            corpus: Arc::new(corpus),
            left_out: Vec::new(),
            full: None,
            file: None,
            is_whole: true,
        }))),
    );
    play.answers();
    play
}

/// Two classes; the third and the fourth review are wrong.
fn verdicts() -> Judgements {
    let mut said = Judgements::default();
    for (source, (class, label, gap)) in [(1, 1, 3.0), (0, 0, 2.0), (1, 0, 1.0), (0, 1, 4.0)].into_iter().enumerate() {
        let mut logits = [0.0f32; 2];
        logits[class] = gap;
        let verdict = Verdict::of(&logits, Some(label)).unwrap();
        said.add(source, Said::Class(verdict), |class| ["negative", "positive"][class].to_owned());
    }
    said
}

fn rows(play: &Play) -> Vec<usize> {
    let open = play.session.document().corpus.as_deref().unwrap();
    open.rows().iter().map(|input| open.corpus().unwrap().inputs()[*input].source).collect()
}

fn listed(play: &mut Play, command: ListCommand) -> Vec<usize> {
    play.does(Command::Corpus(CorpusCommand::List(command)));
    rows(play)
}

#[test]
fn the_list_is_sorted_and_narrowed_by_what_the_model_says() {
    let mut play = with_corpus("demo:scores");
    assert_eq!(play.session.document().corpus.as_deref().unwrap().likely_labels(), Some("label"));
    play.does(Command::Corpus(CorpusCommand::Judge(Some("label".to_owned()))));
    let job = play.last_job();
    play.hears(job, EventKind::Judge(JudgeAnswer::Judged(Arc::new(verdicts()))));
    // Losses ln(1 + e⁻³), ln(1 + e⁻²), 1 + ln(1 + e⁻¹), 4 + ln(1 + e⁻⁴).
    assert_eq!(listed(&mut play, ListCommand::SortSaid(SaidOrder::Loss, true)), [3, 2, 1, 0]);
    assert_eq!(listed(&mut play, ListCommand::SortSaid(SaidOrder::Probability, false)), [2, 1, 0, 3]);
    assert_eq!(listed(&mut play, ListCommand::SortSaid(SaidOrder::Right, false)), [2, 3, 0, 1]);
    assert_eq!(listed(&mut play, ListCommand::SortSaid(SaidOrder::Class, false)), [1, 3, 0, 2]);
    assert_eq!(listed(&mut play, ListCommand::Only(Only::Wrong)), [3, 2]);
    assert_eq!(listed(&mut play, ListCommand::Only(Only::Of { label: 0, class: 1 })), [2]);
    // A session asks again: what is said is not in it.
    listed(&mut play, ListCommand::Only(Only::Wrong));
    let saved = play.session.saved();
    let corpus = &saved.corpora[0];
    assert_eq!((corpus.asked, corpus.label_column.as_deref(), corpus.wrong_only), (true, Some("label"), true));
    let read = Saved::from_json(saved.to_json(), Path::new("/")).unwrap();
    assert_eq!(read.corpora, saved.corpora);
    let mut older = saved.to_json();
    for name in ["asked", "label_column", "wrong_only"] {
        older["corpora"][0].as_object_mut().unwrap().remove(name);
    }
    assert!(!Saved::from_json(older, Path::new("/")).unwrap().corpora[0].asked);
    // Other labels are another question, and stopping it before anything is said takes it back.
    play.does(Command::Corpus(CorpusCommand::Judge(None)));
    assert!(play.session.document().corpus.as_deref().unwrap().said.latest().is_none());
    play.does(Command::Cancel(play.session.document().judge_lane()));
    assert!(!play.session.document().owes_question());
    assert_eq!(rows(&play).len(), 4, "nothing is narrowed by what is not said");
}

/// The drawer below the view.
fn drawer(play: Play) -> Harness<'static, (Play, CorpusDrawer)> {
    Harness::builder().with_size(vec2(1000.0, 700.0)).with_context_setup(attnscope::ui::glyphs::install).build_ui_state(
        |ui, (play, drawer)| {
            let theme = Theme::light();
            ui.ctx().set_global_style(theme.style());
            let commands = CommandQueue::default();
            let patterns = PatternStore::default();
            drawer.ui(ui, &PanelCtx::new(&play.session, &theme, &commands, &patterns));
            for QueuedCommand { command, .. } in commands.take() {
                play.does(command);
            }
        },
        (play, CorpusDrawer::default()),
    )
}

#[test]
fn the_drawer_asks_says_what_is_right_and_lists_a_cell_of_the_table() {
    let mut window = drawer(with_corpus("demo:scores"));
    window.run();
    window.get_by_label("Ask the model").click();
    window.run();
    let job = window.state().0.last_job();
    assert!(window.query_by_label("Progress of the model’s answers").is_some());
    window.state_mut().0.hears(job, EventKind::Judge(JudgeAnswer::Judged(Arc::new(verdicts()))));
    window.run();
    assert!(window.query_by_label_contains("50 % right (").is_some());
    window.get_by_label("Wrong only").click();
    window.run();
    let shown = |window: &Harness<'_, (Play, CorpusDrawer)>, nth: usize| {
        window.query_by_label(&format!("Input {}", REVIEWS[nth].0)).is_some()
    };
    assert_eq!([0, 1, 2, 3].map(|nth| shown(&window, nth)), [false, false, true, true]);
    window.get_by_label_contains("Labels × classes").click();
    window.run();
    window.get_by_label("positive, said negative: 1").click();
    window.run();
    assert_eq!([0, 1, 2, 3].map(|nth| shown(&window, nth)), [false, false, false, true]);
}

#[test]
fn of_a_language_model_it_is_the_loss_of_a_token() {
    let mut play = with_corpus("demo:gpt");
    play.does(Command::Corpus(CorpusCommand::Judge(None)));
    let job = play.last_job();
    let mut said = Judgements::default();
    for (source, loss) in [2.0, 5.0, 1.0, 3.0].into_iter().enumerate() {
        said.add(source, Said::Tokens(Tally { sum: 2.0 * loss, weight: 2.0, n_rows: 2 }), |_| String::new());
    }
    play.hears(job, EventKind::Judge(JudgeAnswer::Judged(Arc::new(said))));
    assert_eq!(listed(&mut play, ListCommand::SortSaid(SaidOrder::Loss, true)), [1, 3, 0, 2]);
    let mut window = drawer(play);
    window.run();
    assert!(window.query_by_label_contains("2.75 nats per token").is_some());
    assert!(window.query_by_label("Wrong only").is_none(), "nothing is right or wrong");
}
