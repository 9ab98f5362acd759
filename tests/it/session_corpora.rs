//! Corpora in a session: opening, what is listed and taken out, and from a point to its input and back.

use std::{path::Path, sync::Arc};

use attnscope::{
    analysis::PointCloud,
    corpus::{
        Corpus, Label, SortBy,
        list::{InputList, Item, ListOptions},
    },
    ids::{Side, StackKind},
    model::{Input, TextInput},
    protocol::{
        CaptureFile, CorpusAnswer, CorpusLook, CorpusOptions, CorpusOrder, CorpusPlan, CorpusProgress, CorpusSoFar,
        CorpusSource, EventKind, Lane, LoadAnswer, LoadedModel, Request,
    },
    session::{
        Command, CorpusCommand, CorpusDialog, Focus, ListCommand, OpenCorpus, SelectionCommand, Session, ViewKind,
    },
};

use crate::support::{
    play::{Play, bundled, state},
    scripted::{capture, failure},
};

const TEXTS: [(&str, &str); 4] = [
    ("the cat sat on the mat", "animal"),
    ("a dog ran", "animal"),
    ("rain fell all day", "weather"),
    ("snow lay on the hill", "weather"),
];

/// What the worker answers of the first `n` texts.
fn so_far(model: &LoadedModel, n: usize) -> EventKind {
    let item = |(text, kind): &(&str, &str)| Item { values: vec![Some((*kind).to_owned())], ..Item::text(*text) };
    let list =
        InputList { items: TEXTS.iter().map(item).collect(), columns: vec!["kind".to_owned()], ..Default::default() };
    let mut corpus = Corpus::new(1 << 30);
    for (source, (text, kind)) in TEXTS.iter().take(n).enumerate() {
        let annotations = vec![("kind".to_owned(), (*kind).to_owned())];
        let input = Input::Text(TextInput { text: (*text).to_owned(), ..TextInput::default() });
        corpus.append(&capture(model, &input), &Label { source, name: None, annotations }).unwrap();
    }
    EventKind::Corpus(CorpusAnswer::SoFar(Box::new(CorpusSoFar {
        list: Arc::new(list),
        corpus: Arc::new(corpus),
        left_out: Vec::new(),
        full: None,
        file: None,
        is_whole: n == TEXTS.len(),
    })))
}

fn with_model() -> Play {
    let mut play = Play::new();
    play.does(Command::OpenModel(bundled("demo:gpt")));
    play.answers();
    play
}

/// Opened, and run as a whole.
fn with_corpus() -> Play {
    let mut play = with_model();
    play.does(open());
    let model = loaded(&play);
    play.hears(play.last_corpus().0, so_far(&model, TEXTS.len()));
    play.answers();
    play
}

fn open() -> Command {
    Command::Corpus(CorpusCommand::Open(CorpusSource::path("texts.csv")))
}

fn loaded(play: &Play) -> Arc<LoadedModel> {
    Arc::clone(play.session.document().model.latest().unwrap())
}

fn corpus(session: &Session) -> &OpenCorpus {
    session.document().corpus.as_deref().unwrap()
}

fn cloud(session: &Session) -> PointCloud {
    session.pane().cloud(session.document()).unwrap()
}

fn order(play: &Play) -> CorpusOrder {
    play.last_corpus().1
}

#[test]
fn a_corpus_that_is_closed_is_held_by_nobody() {
    let mut play = with_corpus();
    assert!(play.session.pane().shown_projection(play.session.document()).is_some());
    play.does(Command::Select(SelectionCommand::ShowView(ViewKind::Heads)));
    play.asked.clear();
    let held = Arc::downgrade(corpus(&play.session).corpus().unwrap());
    assert!(held.strong_count() > 0);
    play.does(Command::Corpus(CorpusCommand::Close));
    assert_eq!(held.strong_count(), 0);
}

#[test]
fn a_corpus_is_shown_as_it_grows_and_stopped_ones_go_on() {
    let mut play = with_model();
    play.does(open());
    assert_eq!(play.session.pane().view, ViewKind::Scatter, "whoever opens one wants to see it");
    let job = play.last_corpus().0;
    let plan = CorpusPlan { n_inputs: 4, n_tokens: 20, n_bytes: 1000, n_fit: None, notes: Vec::new() };
    assert!(play.session.settings.recent_corpora.is_empty(), "it may not be there");
    play.hears(job, EventKind::Corpus(CorpusAnswer::Planned(Arc::new(plan))));
    assert_eq!(play.session.settings.recent_corpora, [Path::new("texts.csv")]);
    play.hears(
        job,
        EventKind::Corpus(CorpusAnswer::Progress(CorpusProgress {
            n_done: 1,
            n_inputs: 4,
            n_recalled: 0,
            secs_left: Some(1.0),
        })),
    );
    assert!(play.session.is_busy() && !play.session.document().is_busy(), "its input is not dimmed");
    assert!(matches!(cloud(&play.session), PointCloud::Input(_)), "nothing of it yet");
    let model = loaded(&play);
    play.hears(job, so_far(&model, 1));
    let first = cloud(&play.session);
    assert_eq!((first.n_inputs(), first.n(Side::Only)), (1, 6));
    // Stopped: what it has comes before it ends.
    play.does(Command::Cancel(Lane::Corpus(play.session.document().id)));
    play.hears(job, so_far(&model, 2));
    play.hears(job, EventKind::Cancelled);
    let open = corpus(&play.session);
    assert_eq!((state(&open.data), open.can_go_on(), open.rows().len()), ("ready", true, 2));
    play.does(Command::Corpus(CorpusCommand::GoOn));
    assert_eq!(order(&play).known.unwrap().corpus.inputs().len(), 2);
    play.hears(play.last_corpus().0, so_far(&model, 4));
    assert!(!corpus(&play.session).can_go_on());
    assert_ne!(cloud(&play.session).id(), first.id());
    // One that fails leaves what is there.
    play.does(Command::Corpus(CorpusCommand::GoOn));
    play.hears(play.last_corpus().0, EventKind::Failed(failure("No room")));
    assert_eq!((state(&corpus(&play.session).data), play.last_notice()), ("failed over previous", "No room"));
    assert_eq!(cloud(&play.session).n_inputs(), 4);
}

#[test]
fn inputs_are_narrowed_sorted_taken_out_and_put_back() {
    let mut play = with_corpus();
    let listed = |play: &Play| corpus(&play.session).rows().to_vec();
    let does = |play: &mut Play, command| play.does(Command::Corpus(command));
    does(&mut play, CorpusCommand::List(ListCommand::Filter("ON THE".to_owned())));
    assert_eq!(listed(&play), [0, 3]);
    does(&mut play, CorpusCommand::List(ListCommand::Filter("Kind=weather".to_owned())));
    assert_eq!(listed(&play), [2, 3]);
    does(&mut play, CorpusCommand::List(ListCommand::Sort(SortBy::Tokens, true)));
    assert_eq!(listed(&play), [3, 2]);
    let whole = cloud(&play.session);
    assert_eq!(whole.n_inputs(), 4, "the list is narrowed, the joint space is not");
    // Without a selection it is about what is listed.
    does(&mut play, CorpusCommand::List(ListCommand::Remove));
    let fewer = cloud(&play.session);
    assert_eq!((fewer.n_inputs(), fewer.input_name(1), listed(&play).len()), (2, TEXTS[1].0, 0));
    assert_ne!(fewer.id(), whole.id());
    does(&mut play, CorpusCommand::List(ListCommand::Filter(String::new())));
    does(&mut play, CorpusCommand::List(ListCommand::Select([1].into())));
    does(&mut play, CorpusCommand::List(ListCommand::Keep));
    assert_eq!((cloud(&play.session).n_inputs(), corpus(&play.session).n_removed()), (1, (3, 2)));
    does(&mut play, CorpusCommand::List(ListCommand::Select([1].into())));
    does(&mut play, CorpusCommand::List(ListCommand::Remove));
    assert_eq!(cloud(&play.session).n_inputs(), 1, "the last one stays");
    does(&mut play, CorpusCommand::List(ListCommand::Restore));
    assert_eq!(cloud(&play.session).n_inputs(), 2);
    does(&mut play, CorpusCommand::List(ListCommand::RestoreAll));
    assert_eq!((cloud(&play.session).n_inputs(), corpus(&play.session).n_removed()), (4, (0, 0)));
    // Undo and redo go through runs and removals in the order in which they came.
    let steps = |play: &mut Play, command| {
        play.does(command);
        play.answers();
        (cloud(&play.session).n_inputs(), play.session.document().experiment.text.clone())
    };
    let text = play.session.document().experiment.text.clone();
    does(&mut play, CorpusCommand::List(ListCommand::Select([0].into())));
    does(&mut play, CorpusCommand::List(ListCommand::Remove));
    play.does(Command::SetText("another".to_owned()));
    assert_eq!(steps(&mut play, Command::Run), (3, "another".to_owned()));
    assert_eq!(steps(&mut play, Command::Undo), (3, text.clone()));
    assert_eq!(steps(&mut play, Command::Undo), (4, text.clone()));
    assert!(play.session.document().can_redo());
    assert_eq!(steps(&mut play, Command::Redo), (3, text));
    assert_eq!(steps(&mut play, Command::Redo), (3, "another".to_owned()));
    does(&mut play, CorpusCommand::Close);
    assert!(matches!(cloud(&play.session), PointCloud::Input(_)));
}

#[test]
fn a_full_disk_is_told_once_and_stops_nothing() {
    let mut play = with_model();
    play.does(open());
    let job = play.last_corpus().0;
    play.hears(job, EventKind::NotKept("no space left".to_owned()));
    assert!(play.last_notice().contains("cannot be kept") && corpus(&play.session).data.is_pending());
}

#[test]
fn a_point_opens_its_input_beside_the_joint_space() {
    let mut play = with_corpus();
    let scatter = play.session.panes.active_id();
    let PointCloud::Inputs(view) = cloud(&play.session) else { panic!("the corpus is shown") };
    let point = view.points(Side::Only, 2).start + 1;
    play.does(Command::OpenPoint { is_key: true, point });
    play.answers();
    let session = &play.session;
    assert_eq!(session.document().experiment.text, TEXTS[2].0);
    assert_eq!((session.document().corpus_input, session.panes.len()), (Some(2), 2));
    assert_eq!((session.panes.active_id(), session.pane().view), (scatter, ViewKind::Scatter));
    assert_eq!(cloud(session).id(), view.id(), "the joint space stays as it is");
    let beside = session.panes.iter().find(|pane| pane.id != scatter).unwrap();
    assert_eq!((beside.view, beside.selection.pinned), (ViewKind::Heads, Focus::key(1)));
    // Another token of the same input needs no run.
    let n_asked = play.asked.len();
    play.does(Command::OpenPoint { is_key: false, point: point + 1 });
    let beside = play.session.panes.iter().find(|pane| pane.id != scatter).unwrap();
    assert_eq!((play.asked.len(), beside.selection.pinned), (n_asked, Focus::query(2)));
    // A row of the list goes there as well, and editing the text leaves the corpus's input.
    play.does(Command::Corpus(CorpusCommand::Show(0)));
    play.answers();
    assert_eq!((play.session.document().corpus_input, play.session.panes.len()), (Some(0), 2));
    play.does(Command::SetText("something else".to_owned()));
    assert_eq!(play.session.document().corpus_input, None);
    assert_eq!(cloud(&play.session).id(), view.id());
    // A pane may show the input alone.
    let mut options = play.session.pane().options.clone();
    options.scatter.corpus = false;
    play.does(Command::SetViewOptions(options));
    assert!(matches!(cloud(&play.session), PointCloud::Input(_)));
    play.does(Command::OpenPoint { is_key: false, point: 0 });
    assert_eq!(play.session.pane().selection.pinned, Focus::query(0));
}

#[test]
fn another_model_runs_the_corpus_again_and_an_example_does_not() {
    let mut play = with_corpus();
    play.does(Command::OpenModel(bundled("demo:bert")));
    play.answers();
    let open = corpus(&play.session);
    assert!(open.data.is_pending() && open.view().is_none(), "what another model made does not compare");
    assert_eq!(order(&play).model, loaded(&play).id);
    assert!(order(&play).known.is_none());
    let model = loaded(&play);
    play.hears(play.last_corpus().0, so_far(&model, 4));
    play.does(Command::OpenExample(0));
    play.answers();
    assert!(!corpus(&play.session).data.is_pending());
    assert!(matches!(cloud(&play.session), PointCloud::Input(_)), "an example is about its own input");
}

#[test]
fn a_corpus_waits_for_its_model_and_a_text_of_many_lines_is_asked_about() {
    let mut play = Play::new();
    play.does(Command::OpenModel(bundled("demo:gpt")));
    play.does(open());
    assert!(corpus(&play.session).is_waiting());
    play.answers();
    assert!(corpus(&play.session).data.is_pending() && !corpus(&play.session).is_waiting());
    assert_eq!(order(&play).model, loaded(&play).id);

    // Without any model a bundled one reads it.
    let mut alone = Play::new();
    alone.does(Command::OpenPaths(vec!["rows.csv".into()]));
    alone.answers();
    assert_eq!(loaded(&alone).spec.name, "demo:bert");
    let mut looks = alone.asked.iter().filter_map(|(job, request)| match request {
        Request::LookAtCorpus(order) => Some((*job, order.model)),
        _ => None,
    });
    let (job, model) = looks.next_back().unwrap();
    assert_eq!(model, loaded(&alone).id, "it is looked at again with the model");
    alone.hears(job, EventKind::Look(Arc::default()));
    assert!(corpus(&alone.session).data.is_pending());

    let path = std::path::PathBuf::from("a.txt");
    play.does(Command::OpenTextFile { path: path.clone(), text: "one\ntwo".to_owned() });
    assert_eq!(play.session.document().experiment.text, "one\ntwo");
    let text = "a line\n\n".repeat(30);
    play.does(Command::OpenTextFile { path: path.clone(), text: text.clone() });
    assert_eq!(play.session.document().experiment.text, "one\ntwo", "nothing before it is decided");
    assert_eq!(play.session.corpus_dialog, Some(CorpusDialog::Lines { path, text, n_lines: 30 }));
    play.does(Command::OpenPaths(vec!["rows.csv".into()]));
    assert_eq!(play.session.corpus_dialog, None);
    play.hears(play.last_job(), EventKind::Look(Arc::default()));
    assert_eq!(order(&play).source, CorpusSource::path("rows.csv"));
}

#[test]
fn what_was_taken_for_a_model_may_be_a_corpus() {
    let mut play = with_model();
    let before = loaded(&play).id;
    play.does(Command::OpenPaths(vec!["pets".into()]));
    let kind = EventKind::Load(LoadAnswer::IsCorpus { path: "pets".into(), has_pictures: true });
    play.hears(play.last_job(), kind);
    assert_eq!((loaded(&play).id, corpus(&play.session).source.name()), (before, "pets".to_owned()));
    assert!(corpus(&play.session).data.is_pending());
    assert_eq!(play.session.pane().selection.stack(), StackKind::SelfAttention);
}

#[test]
fn the_inputs_of_a_capture_file_are_a_corpus_that_needs_no_run() {
    let mut play = with_model();
    let model = loaded(&play);
    let of = |text: &str| capture(&model, &Input::Text(TextInput { text: text.to_owned(), ..TextInput::default() }));
    let captures: Vec<_> = TEXTS.iter().map(|(text, _)| of(text)).collect();
    let file = CaptureFile { path: "four.safetensors".into(), captures, numbers: None, folder: None };
    play.does(Command::Corpus(CorpusCommand::Open(CorpusSource::Captures(file.clone()))));
    let EventKind::Corpus(CorpusAnswer::SoFar(so_far)) = so_far(&model, TEXTS.len()) else { unreachable!() };
    let so_far = CorpusSoFar { file: Some(file.clone()), ..*so_far };
    play.hears(play.last_corpus().0, EventKind::Corpus(CorpusAnswer::SoFar(Box::new(so_far))));
    play.does(Command::Select(SelectionCommand::ShowView(ViewKind::Heads)));
    play.does(Command::Corpus(CorpusCommand::Show(2)));
    let shown = |play: &Play| play.session.document().latest_capture().unwrap().id();
    assert_eq!((shown(&play), play.session.document().corpus_input), (file.captures[2].id(), Some(2)));
    play.does(Command::NextInput);
    assert_eq!((shown(&play), play.session.document().corpus_input), (file.captures[3].id(), Some(3)));
    assert!(!play.asked_names().contains(&"run"));
}

#[test]
fn a_table_is_asked_about_and_run_as_it_was_chosen() {
    let mut play = with_model();
    let choose = |path: &str| Command::Corpus(CorpusCommand::Choose(path.into()));
    let look = |has_choice, secs| {
        let plan = CorpusPlan { n_inputs: 4, n_tokens: 20, n_bytes: 1000, n_fit: None, notes: Vec::new() };
        let text_columns = vec!["text".to_owned(), "kind".to_owned()];
        EventKind::Look(Arc::new(CorpusLook {
            text_columns,
            has_choice,
            plan: Some(plan),
            secs,
            ..CorpusLook::default()
        }))
    };
    // Where there is nothing to choose it is run at once, and the look ends.
    play.does(choose("one.csv"));
    assert_eq!(play.asked_names(), ["look"]);
    let effects = play.hears(play.last_job(), look(false, None));
    assert_eq!((effects, &play.asked_names()[..2]), (vec!["Cancel(Look)".to_owned()], &["look", "corpus"][..]));
    play.asked.clear();

    play.does(choose("two.csv"));
    let first = play.last_job();
    play.hears(first, look(true, None));
    let sheet = |play: &Play| play.session.corpus_sheet.clone().unwrap();
    assert!(sheet(&play).shown().is_some() && play.session.is_busy(), "it is measured while one chooses");
    let list = ListOptions { text_column: Some("kind".to_owned()), ..ListOptions::default() };
    let options = CorpusOptions { layers: Some(vec![1]), ..CorpusOptions::default() };
    play.does(Command::Corpus(CorpusCommand::SetSheet(list.clone(), options.clone())));
    play.hears(first, look(true, Some(3.0)));
    assert!(sheet(&play).look.is_pending(), "that was about another choice");
    play.hears(play.last_job(), look(true, Some(5.0)));
    let known = sheet(&play).look;
    assert_eq!((known.latest().unwrap().secs, known.is_pending()), (Some(5.0), false));
    play.does(Command::Corpus(CorpusCommand::RunSheet));
    let order = order(&play);
    assert!(matches!(&order.source, CorpusSource::Path { list: chosen, .. } if *chosen == list));
    assert!(order.options == options && play.session.corpus_sheet.is_none());

    // Closed, it changes nothing; what cannot be read is said where the corpus stands.
    play.asked.clear();
    play.does(choose("three.csv"));
    assert_eq!(play.does(Command::Corpus(CorpusCommand::CloseSheet)), ["Cancel(Look)"]);
    assert_eq!((corpus(&play.session).source.name(), play.asked_names()), ("two.csv".to_owned(), vec!["look"]));
    play.does(choose("four.csv"));
    play.hears(play.last_job(), EventKind::Failed(failure("Not a table")));
    assert_eq!(corpus(&play.session).source.name(), "four.csv");
}
