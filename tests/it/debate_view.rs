//! The debate over the corpus that is open: what is measured anew and what is kept, the view in the window with its
//! points, options in sessions, and figures.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use attnscope::{
    analysis::debate::{
        Candidates, CorpusDebate, CorpusQuestion, Correlations, DebateOptions, DebateTest, Erased, Instance,
        RankAgreement,
    },
    cli::open::OpenOptions,
    corpus::list::{InputList, ListOptions},
    figure::views::debate::{DebateChoices, DebateScene},
    model::{Cancelled, Engine, Model, Progress, Stage, locate, uninterrupted},
    protocol::{CorpusSource, DebateAnswer, DebateOrder, EventKind, Failure, Lane, Request},
    session::{Command, CorpusCommand, DebateProgress, PaneCommand, SelectionCommand, ViewKind, saved::Saved},
    worker::{self, debate::go_on},
};
use eframe::egui::{Pos2, accesskit::Role, pos2};
use egui_kittest::kittest::Queryable as _;
use serde_json::Value;

use crate::{
    render::attnscope,
    support::{
        play::{Play, bundled, state},
        window::Window,
    },
};

fn question(tests: &[DebateTest]) -> CorpusQuestion {
    let options = DebateOptions { tests: tests.to_vec(), n_permutations: 10, ..DebateOptions::default() };
    CorpusQuestion { options, epsilon: 0.01, label_column: None }
}

fn reviews() -> InputList {
    worker::corpus::read(Path::new("demo:reviews"), &ListOptions::default()).unwrap()
}

/// A change of the options.
type Edit = fn(&mut DebateChoices);

#[test]
fn inputs_are_measured_once_and_what_was_stopped_goes_on_to_the_same() {
    let (files, name) = locate::model("demo:bilstm").unwrap();
    let model = Model::load(&files, &name, &Engine::cpu(Some(1)).unwrap(), &uninterrupted).unwrap();
    let list = reviews();
    let asked = CorpusQuestion { label_column: Some("label".to_owned()), ..question(&[DebateTest::Permutation]) };
    let begin = |question: &CorpusQuestion, known: Option<&CorpusDebate>| {
        CorpusDebate::begin((&name, "demo:reviews"), question.clone(), (0..32).collect(), known)
    };
    let (mut whole, mut told) = (begin(&asked, None), Vec::new());
    go_on(&mut whole, (&model, &list), &uninterrupted, &mut |found| told.push(found.n_done())).unwrap();
    assert_eq!((told, whole.n_done(), whole.is_whole()), (vec![20, 30], 32, true), "a first result after 20 inputs");
    let labelled = whole.summary.labelled.as_ref().unwrap();
    let right = whole.instances.iter().filter(|of| {
        let label = list.items[of.input].values[0].as_deref().unwrap();
        label.eq_ignore_ascii_case(&of.class)
    });
    assert_eq!((labelled.n, labelled.n_right), (32, right.count()));
    assert!(labelled.n_right > 24, "{labelled:?}");
    // Somebody says stop within the eleventh input, and goes on later.
    let steps = AtomicUsize::new(0);
    let stop = |progress: Progress| {
        assert_eq!((progress.stage, progress.total), (Stage::Inputs, 32));
        steps.fetch_max(progress.done, Ordering::Relaxed);
        if progress.done == 10 { Err(Cancelled) } else { Ok(()) }
    };
    let mut part = begin(&asked, None);
    let stopped = go_on(&mut part, (&model, &list), &stop, &mut |_| {}).unwrap_err();
    assert!(stopped.is_cancelled() && part.n_done() == 10 && part.summary.n_inputs == 10, "what is there is summed up");
    let mut rest = begin(&asked, Some(&part));
    let runs = Mutex::new(std::collections::BTreeSet::new());
    let count = |progress: Progress| {
        runs.lock().unwrap().insert(progress.done);
        Ok(())
    };
    go_on(&mut rest, (&model, &list), &count, &mut |_| {}).unwrap();
    assert_eq!(rest, whole, "the same numbers with the same intervals");
    assert!(*runs.lock().unwrap().first().unwrap() >= 10, "nothing is measured twice");
    // Another tolerance needs no run.
    let other = CorpusQuestion { epsilon: 0.05, label_column: None, ..asked.clone() };
    let mut known = begin(&other, Some(&whole));
    go_on(&mut known, (&model, &list), &|_| Err(Cancelled), &mut |_| {}).unwrap();
    assert!(known.is_whole() && known.summary.labelled.is_none());
    let wrong = CorpusQuestion { label_column: Some("stars".to_owned()), ..asked };
    let said = go_on(&mut begin(&wrong, None), (&model, &list), &|_| Err(Cancelled), &mut |_| {}).unwrap_err();
    assert!(said.to_string().contains("no column stars"), "{said}");
    // A corpus of single words says so after the first of them.
    let mut vain = InputList { items: list.items[..25].to_vec(), ..InputList::default() };
    vain.items.iter_mut().for_each(|item| item.content = attnscope::corpus::list::Content::Text("dull".to_owned()));
    let mut found =
        CorpusDebate::begin((&name, "words"), question(&[DebateTest::Permutation]), (0..25).collect(), None);
    let said = go_on(&mut found, (&model, &vain), &uninterrupted, &mut |_| {}).unwrap_err().to_string();
    assert!(said.contains("none of the inputs can be measured") && found.n_done() == 20, "{said}");
}

/// Made-up results of inputs, each test with numbers of its own.
fn found(order: &DebateOrder, n: usize) -> Arc<CorpusDebate> {
    let agreement = |tau: f32| Some(RankAgreement { tau, p: 0.2 });
    let instance = |input: usize| {
        let part = input as f32 / 10.0;
        Instance {
            input,
            class: ["bad", "good"][input % 2].to_owned(),
            probability: 0.75,
            n_tokens: 4 + 5 * input,
            largest: 0.2 + part,
            correlation: Some(Correlations {
                gradient: agreement(part),
                leave_one_out: agreement(-part),
                both: agreement(0.5),
                by_chance: [Some(0.0), Some(0.1)],
            }),
            permutation: Some(0.1 * part),
            adversary: Some(Candidates { found: vec![[part, 0.0]], reachable: 0.6, by_chance: 0.2, n_steps: 500 }),
            erasure: Some(Erased {
                attention: Some(part),
                gradient: Some(0.1),
                product: None,
                random: vec![Some(1.0)],
            }),
        }
    };
    let names = ("demo:bilstm", order.corpus.as_str());
    let mut found = CorpusDebate::begin(names, order.question.clone(), order.inputs.clone(), order.known.as_deref());
    let missing = found.missing();
    found.instances.extend(missing.into_iter().take(n).map(instance));
    found.sum_up(&order.list, 100).unwrap();
    Arc::new(found)
}

const ROWS: &str = "text,label\na dull film,bad\na fine film,good\nslow and long,bad\nwarm and short,good\n";

fn rows(folder: &tempfile::TempDir) -> PathBuf {
    let path = folder.path().join("rows.csv");
    fs::write(&path, ROWS).unwrap();
    path
}

/// The newest tests that were asked for.
fn asked(window: &Window) -> Option<DebateOrder> {
    let script = window.jobs.0.borrow();
    script.submitted.iter().rev().find_map(|(_, request)| match request {
        Request::Debate(order) => Some(DebateOrder::clone(order)),
        _ => None,
    })
}

#[test]
fn the_view_is_made_input_by_input_and_a_point_opens_its_input() {
    let folder = tempfile::tempdir().unwrap();
    let options = OpenOptions { model: Some("demo:bilstm".to_owned()), ..OpenOptions::default() };
    let mut window = Window::with_size(options, [1280.0, 1400.0]);
    window.show(ViewKind::Debate);
    assert!(window.shows("open a corpus, such as demo:reviews"), "an empty view says what is missing");
    window.app().request(Command::Corpus(CorpusCommand::Open(CorpusSource::path(rows(&folder)))));
    window.settle();
    assert_eq!(window.app().session().pane().view, ViewKind::Debate, "it stays where the corpus is needed");
    window.click("Run the tests");
    let order = asked(&window).unwrap();
    assert_eq!((order.inputs.as_slice(), order.question.options.tests.len()), (&[0, 1, 2, 3][..], 4));
    assert!(window.shows("first results come after 20 inputs"));
    window.jobs.say(EventKind::Progress(Progress { stage: Stage::Inputs, done: 1, total: 4 }));
    window.jobs.say(EventKind::Debate(DebateAnswer::SoFar(found(&order, 2))));
    window.settle();
    assert!(window.shows("2 inputs (bad 1, good 1) of 4"), "first charts while the others are on their way");
    let part = found(&order, 2);
    let lane = Lane::Debate(window.app().session().document().id);
    window.app().request(Command::Cancel(lane));
    window.settle();
    assert_eq!(window.jobs.0.borrow().cancelled.last(), Some(&lane));
    window.jobs.say(EventKind::Cancelled);
    window.settle();
    window.click("Go on");
    let again = asked(&window).unwrap();
    assert_eq!(again.known.as_deref(), Some(&*part), "what was measured is handed on");
    let whole = found(&again, 9);
    window.jobs.say(EventKind::Debate(DebateAnswer::Found(Arc::clone(&whole))));
    window.settle();
    assert!(window.shows("4 inputs (bad 2, good 2)") && !window.shows("Go on"));
    // The place of an input among the points, and what stands beside them.
    let image = window.harness.get_by_role_and_label(Role::Image, "Tests of attention as explanation, 4 inputs");
    let (area, scene) = (image.rect(), DebateScene::of(&whole));
    let places = || {
        let [w, h] = [area.width() as usize / 2, area.height() as usize / 2];
        (0..w * h).map(move |at| pos2(area.left() + (at % w) as f32 * 2.0, area.top() + (at / w) as f32 * 2.0))
    };
    let at = |is_it: &dyn Fn(Option<usize>, &str) -> bool| -> Pos2 {
        let found = places().find(|at| {
            let reading = scene.reading(area, *at);
            reading.is_some_and(|reading| is_it(reading.input, &reading.lines.join("; ")))
        });
        found.unwrap_or_else(|| panic!("nowhere in {area:?}"))
    };
    window.harness.hover_at(at(&|_, lines| lines.starts_with("τ ")));
    window.settle();
    assert!(window.shows("of 2 bad"), "shares of a histogram");
    let point = at(&|input, lines| input == Some(2) && lines.contains("JSD 0.2"));
    window.harness.hover_at(point);
    window.settle();
    assert!(window.shows("“slow and long”") && window.shows("bad 75"), "the input that a point is");
    window.harness.hover_at(point);
    for pressed in [true, false] {
        let button = eframe::egui::PointerButton::Primary;
        let modifiers = eframe::egui::Modifiers::NONE;
        window.harness.event(eframe::egui::Event::PointerButton { pos: point, button, pressed, modifiers });
    }
    window.settle();
    let session = window.app().session();
    assert_eq!(session.document().experiment.text, "slow and long");
    let views: Vec<ViewKind> = session.panes.iter().map(|pane| pane.view).collect();
    assert_eq!(views, [ViewKind::Debate, ViewKind::Heads], "it is shown beside the charts");
}

#[test]
fn models_that_cannot_be_tested_are_refused_with_the_reason() {
    for (model, why) in [("demo:gpt", "this model is no classifier"), ("demo:score", "this model gives scores")] {
        let options = OpenOptions { model: Some(model.to_owned()), ..OpenOptions::default() };
        let window = Window::open(options);
        let document = window.app().session().document();
        let stack = window.app().session().pane().selection.stack();
        let said = document.view_unavailable(ViewKind::Debate, stack).unwrap();
        assert!(said.contains(why), "{model}: {said}");
    }
}

#[test]
fn failures_are_said_in_the_view_and_options_alone_measure_nothing_anew() {
    let folder = tempfile::tempdir().unwrap();
    let mut play = Play::new();
    play.does(Command::SetText("a film".to_owned()));
    play.does(Command::OpenModel(bundled("demo:bilstm")));
    play.answers();
    play.does(Command::Corpus(CorpusCommand::Open(CorpusSource::path(rows(&folder)))));
    let (job, order) = play.last_corpus();
    let model = play.session.document().model.latest().unwrap().clone();
    play.hears(job, crate::support::corpora::answer(&order, &model));
    play.asked.clear();
    play.does(Command::Select(SelectionCommand::ShowView(ViewKind::Debate)));
    let choices = |edit: &dyn Fn(&mut DebateChoices), play: &Play| {
        let mut options = play.session.pane().options.clone();
        edit(&mut options.debate);
        Command::SetViewOptions(options)
    };
    play.does(choices(&|debate| debate.first = 3, &play));
    let ask = |play: &mut Play| {
        play.does(Command::InPane(PaneCommand::Debate));
        assert_eq!(play.asked_names(), ["debate"]);
        let Some((job, Request::Debate(order))) = play.asked.pop() else { panic!("no tests") };
        (job, *order)
    };
    let (job, order) = ask(&mut play);
    assert_eq!(order.inputs, [0, 1, 2]);
    let why = Failure { summary: "None of them".to_owned(), details: String::new() };
    play.hears(job, EventKind::Failed(why));
    let debate = |play: &Play| play.session.document().corpus.as_deref().unwrap().debate.clone();
    assert_eq!(state(&debate(&play)), "failed");
    let (job, order) = ask(&mut play);
    play.hears(job, EventKind::Debate(DebateAnswer::Found(found(&order, 9))));
    let progress = |play: &Play| play.session.document().debate_progress(&play.session.pane().options.debate);
    assert_eq!((state(&debate(&play)), progress(&play)), ("ready", DebateProgress::Answered));
    let figure = play.session.figure().unwrap();
    assert_eq!(figure.measured.debate, debate(&play).latest().cloned(), "figures have it");
    // Fewer inputs, another tolerance and labels are known; another seed and more inputs are not.
    let edits: [(Edit, bool); 6] = [
        (|debate| debate.first = 2, true),
        (|debate| debate.epsilon = 0.2, true),
        (|debate| debate.label_column = Some("label".to_owned()), true),
        (|debate| debate.test = Some(DebateTest::Erasure), true),
        (|debate| debate.seed = 1, false),
        (|debate| debate.first = 0, false),
    ];
    for (edit, is_known) in edits {
        let usual = DebateChoices { first: 3, ..DebateChoices::default() };
        play.does(choices(&|debate| *debate = usual.clone(), &play));
        play.does(choices(&edit, &play));
        assert_eq!(progress(&play), DebateProgress::OfOthers { is_known });
    }
    // Options are in sessions; another model forgets what was found of the one before.
    play.does(choices(&|debate| (debate.label_column, debate.seed) = (Some("label".to_owned()), 7), &play));
    let json = play.session.saved().to_json();
    let read = Saved::from_json(json, Path::new("/")).unwrap();
    let mut again = Play::new();
    let effects = again.session.reopen(read);
    again.sort(effects);
    assert_eq!(again.session.pane().options.debate, play.session.pane().options.debate);
    assert_eq!(again.session.pane().options.debate.seed, 7);
    play.does(Command::OpenModel(bundled("demo:bilstm-base")));
    play.answers();
    assert_eq!(state(&debate(&play)), "empty");
}

#[test]
fn a_figure_is_drawn_without_a_window_with_its_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let rows = path("rows.csv");
    fs::write(&rows, "text,label\na dull and slow film,negative\na fine and warm film,positive\n").unwrap();
    let [svg, csv, json] = ["debate.svg", "debate.csv", "debate.json"].map(path);
    let asked = ["render", "debate", "--model", "demo:bilstm", "--corpus", &rows, "--out", &svg];
    let more = ["--debate-test", "permutation", "--label-column", "label"];
    for data in [&csv, &json] {
        let output = attnscope(&[&asked[..], &more, &["--data", data]].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let drawn = fs::read_to_string(svg).unwrap();
    for words in ["Change under shuffled weights", "column label", "not shown to"] {
        assert!(drawn.contains(words), "{words}");
    }
    assert!(!drawn.contains("Other weights"), "one test alone");
    let table = fs::read_to_string(csv).unwrap();
    assert!(table.lines().count() == 3 && table.starts_with("input,class,probability"), "{table}");
    let said: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    assert!(said.to_string().contains("label_column"), "options are in the metadata");
    let refused = |arguments: &[&str], words: &str| {
        let output = attnscope(&[&["render", "debate", "--out", &path("no.svg")][..], arguments].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(words), "{arguments:?}: {said}");
    };
    refused(&["--model", "demo:bilstm", "--text", "a film"], "name a --corpus");
    refused(&["--model", "demo:bilstm", "--corpus", &rows, "--label-column", "stars"], "no column stars");
    refused(&["--model", "demo:gpt", "--corpus", &rows], "one thing");
}
