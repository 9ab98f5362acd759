//! Corpora in the window: opening, the list, what is dropped, what is asked.

use std::{fs, path::PathBuf, sync::Arc, time::Instant};

use attnscope::{
    analysis::Space,
    cli::open::OpenOptions,
    protocol::{CorpusAnswer, CorpusPlan, CorpusProgress, CorpusSource, Event, EventKind, Lane, Request},
    session::{Command, CorpusCommand, FilePurpose, OpenCorpus, SelectionCommand, ViewKind},
};
use eframe::egui::{self, Key, Modifiers, accesskit::Role};
use egui_kittest::kittest::{NodeT as _, Queryable as _};

use crate::{
    support::window::{Window, with_text},
    views::wheel,
};

const ROWS: &str = "text,kind\nthe cat sat on the mat,animal\na dog ran,animal\nrain fell all day,weather\n\
                    unreadable,none\nsnow lay on the hill,weather\n";

fn file(folder: &tempfile::TempDir, name: &str, text: &str) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    path
}

fn with_corpus(path: PathBuf) -> OpenOptions {
    OpenOptions { model: Some("demo:gpt".to_owned()), corpus: Some(path), ..OpenOptions::default() }
}

fn corpus(window: &Window) -> &OpenCorpus {
    window.app().session().document().corpus.as_deref().unwrap()
}

fn n_points_of(window: &Window) -> usize {
    let session = window.app().session();
    session.pane().cloud(session.document()).unwrap().n_inputs()
}

#[test]
fn a_corpus_is_listed_and_a_row_opens_its_input_beside_the_joint_space() {
    let folder = tempfile::tempdir().unwrap();
    let mut window = Window::open(with_corpus(file(&folder, "rows.csv", ROWS)));
    assert_eq!((window.app().session().pane().view, n_points_of(&window)), (ViewKind::Scatter, 4));
    assert!(window.shows("4 of 5 inputs · 18 tokens"), "what is there, and what it takes");
    assert!(!window.shows("Token 0"), "the input that was run is not among the points");
    window.click("Input rain fell all day");
    assert!(window.shows("Token 0 rain"), "its input is");
    let session = window.app().session();
    assert_eq!(session.document().experiment.text, "rain fell all day");
    let views: Vec<ViewKind> = session.panes.iter().map(|pane| pane.view).collect();
    assert_eq!(views, [ViewKind::Scatter, ViewKind::Heads]);
    // The inspector says whether the pane shows it, and can show the input alone.
    window.click("This input");
    assert_eq!(n_points_of(&window), 1);
    window.click("⚠ 1 left out");
    assert!(window.shows("4  unreadable") && window.shows("The text is empty"));
}

/// The details of a mean say what is known of the input under the pointer, else of the one that is shown.
#[test]
fn an_average_tells_of_the_input_that_is_pointed_at() {
    let folder = tempfile::tempdir().unwrap();
    let mut window = Window::open(with_corpus(file(&folder, "rows.csv", ROWS)));
    window.click("Input a dog ran");
    window.show(ViewKind::Average);
    assert!(window.shows("Answer: word20 50 %"));
    let told = |window: &Window, text: &str| {
        let view = window.app().view_rect();
        window.harness.query_all_by_label(text).any(|node| node.rect().left() > view.right())
    };
    assert!(told(&window, "kind: animal") && !told(&window, "kind: weather"));
    window.harness.get_by_label("Input rain fell all day").hover();
    window.settle();
    assert!(told(&window, "kind: weather") && told(&window, "rain fell all day"));
    assert!(!window.shows("Answer: "), "it was not run");
}

/// The list lies below the view: closed it is one line that says which input is shown, and the run keeps its panel.
#[test]
fn the_list_is_a_drawer_below_the_view() {
    let folder = tempfile::tempdir().unwrap();
    let mut window = Window::open(with_corpus(file(&folder, "rows.csv", ROWS)));
    let answer = window.harness.get_by_label_contains("Next token after").rect();
    let view = window.app().view_rect();
    let row = window.harness.get_by_label("Input a dog ran").rect();
    assert!(row.top() > view.bottom() && row.left() >= view.left() && row.right() <= view.right());
    window.click("Input a dog ran");
    window.click("Hide the list");
    assert!(window.harness.query_by_label("Input a dog ran").is_none());
    assert!(window.shows("shown: a dog ran") && window.shows("4 of 5 inputs"));
    assert!(window.app().view_rect().bottom() > view.bottom() + 100.0);
    window.click("Show the list");
    assert_eq!(window.harness.get_by_label("Input a dog ran").rect(), row);
    assert_eq!(window.harness.get_by_label_contains("Next token after").rect().top(), answer.top());
}

/// In a low window the view has the room, and the list is one click away.
#[test]
fn the_list_of_a_low_window_is_folded_until_it_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let mut window = Window::with_size(with_corpus(file(&folder, "rows.csv", ROWS)), [720.0, 480.0]);
    assert!(!window.shows("Input a dog ran"));
    window.click("Show the list");
    assert!(window.shows("Input a dog ran"));
}

/// What is kept of a corpus is decided before it is run, by the space that will be shown.
#[test]
fn a_corpus_opened_for_the_residual_stream_keeps_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "rows.csv", ROWS);
    for (space, residual) in [(Some(Space::Residual), true), (None, false)] {
        let window = Window::open(OpenOptions { space, ..with_corpus(path.clone()) });
        assert_eq!(corpus(&window).options.kept.residual, residual);
    }
}

/// The list of a corpus takes most of the panel, and what went wrong with an input is seen all the same.
#[test]
fn what_is_wrong_with_an_input_is_seen_beside_a_corpus() {
    let folder = tempfile::tempdir().unwrap();
    let mut window = Window::open(with_corpus(file(&folder, "rows.csv", ROWS)));
    window.jobs.0.borrow_mut().most_words = Some(4);
    window.app().request(Command::OpenText("one two three four five six".to_owned()));
    window.settle();
    let in_sight = |label: &str| {
        let found = window.harness.query_all_by_label_contains(label);
        found.filter(|node| window.harness.ctx.content_rect().contains_rect(node.rect())).count()
    };
    assert_eq!(in_sight("The text has 6 tokens, but the model reads at most 4"), 1, "where something can be done");
    assert_eq!((in_sight("Use the last 4 tokens"), in_sight("⚠ The text is too long")), (1, 1));
    assert!(in_sight("the run after it failed") >= 1, "the view says that it is of another text");
    window.click("Use the last 4 tokens");
    let read = window.app().session().document().latest_capture().unwrap().input().text.clone();
    assert_eq!(read.as_deref(), Some("three four five six"));
}

#[test]
fn inputs_are_selected_narrowed_taken_out_and_put_back() {
    let folder = tempfile::tempdir().unwrap();
    let mut window = Window::open(with_corpus(file(&folder, "rows.csv", ROWS)));
    let click = |window: &mut Window, modifiers, label: &str| {
        window.harness.get_by_label(label).click_modifiers(modifiers);
        window.settle();
    };
    click(&mut window, Modifiers::COMMAND, "Input a dog ran");
    click(&mut window, Modifiers::SHIFT, "Input snow lay on the hill");
    assert_eq!(corpus(&window).selected.iter().copied().collect::<Vec<_>>(), [1, 2, 4]);
    click(&mut window, Modifiers::COMMAND, "Input rain fell all day");
    window.click("Remove 2");
    assert_eq!(n_points_of(&window), 2);
    assert!(window.shows("2 of 5 inputs"));
    window.click("Put back");
    assert_eq!(n_points_of(&window), 4);

    window.harness.get_by_role_and_label(Role::TextInput, "Filter inputs").focus();
    window.harness.step();
    window.harness.get_by_role_and_label(Role::TextInput, "Filter inputs").type_text("kind=weather");
    window.settle();
    assert_eq!(corpus(&window).rows().len(), 2);
    assert!(window.harness.query_by_label("Input a dog ran").is_none());
    window.click("Keep only 2");
    assert_eq!(n_points_of(&window), 2);
    window.harness.get_by_role_and_label(Role::TextInput, "Filter inputs").focus();
    window.harness.step();
    window.harness.get_by_role_and_label(Role::TextInput, "Filter inputs").type_text("?");
    window.settle();
    assert!(window.shows("No input has"));
    window.click("Close corpus");
    assert!(window.app().session().document().corpus.is_none() && !window.shows("Filter inputs"));
}

#[test]
fn a_running_corpus_says_how_far_it_is_and_stops() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "rows.csv", ROWS);
    let mut window = Window::open(with_text("one two three"));
    window.jobs.answer(false);
    let say = |window: &mut Window, kind: EventKind| {
        let mut script = window.jobs.0.borrow_mut();
        let mut corpora = script.submitted.iter().filter(|(_, request)| matches!(request, Request::Corpus(_)));
        let (job, lane) = corpora.next_back().map(|(job, request)| (*job, request.lane())).unwrap();
        script.events.push(Event { job, lane, kind });
        drop(script);
        window.settle();
    };
    window.app().request(Command::Corpus(CorpusCommand::Open(CorpusSource::path(path))));
    window.settle();
    assert!(window.shows("Reading the inputs"));
    let plan = CorpusPlan { n_inputs: 2000, n_tokens: 40_000, n_bytes: 12_000_000, n_fit: None, notes: Vec::new() };
    say(&mut window, EventKind::Corpus(CorpusAnswer::Planned(Arc::new(plan))));
    assert!(window.shows("2,000 inputs · about 40,000 tokens · 12.0 MB"));
    let progress = CorpusProgress { n_done: 500, n_inputs: 2000, n_recalled: 0, secs_left: Some(9.0) };
    say(&mut window, EventKind::Corpus(CorpusAnswer::Progress(progress)));
    assert!(window.shows("500 of 2,000 inputs · 9 s left") && window.shows("Running input 500 of 2000"));
    window.click("Stop");
    assert!(window.jobs.0.borrow().cancelled.iter().any(|lane| matches!(lane, Lane::Corpus(_))));
    say(&mut window, EventKind::Cancelled);
    window.click("Run");
    let asked = |window: &Window| {
        let script = window.jobs.0.borrow();
        script.submitted.iter().filter(|(_, request)| matches!(request, Request::Corpus(_))).count()
    };
    assert_eq!(asked(&window), 2);
    // Too large: the sentence, and the part that fits.
    let plan = CorpusPlan { n_inputs: 2000, n_tokens: 40_000, n_bytes: 1 << 40, n_fit: Some(7), notes: Vec::new() };
    say(&mut window, EventKind::Corpus(CorpusAnswer::Planned(Arc::new(plan))));
    say(&mut window, EventKind::Failed(crate::support::scripted::failure("This corpus would take about 1.10 TB")));
    assert!(window.shows("This corpus would take about 1.10 TB"));
    window.click("Take the first 7");
    let script = window.jobs.0.borrow();
    let asked = script.submitted.iter().rev().find_map(|(_, request)| match request {
        Request::Corpus(order) => Some(order),
        _ => None,
    });
    let order = asked.unwrap();
    assert_eq!(order.options.first, Some(7));
}

#[derive(Debug)]
struct Dropped(PathBuf);

impl egui::DroppedFile for Dropped {
    fn path(&self) -> &std::path::Path {
        &self.0
    }

    fn bytes(&self) -> Result<Vec<u8>, String> {
        Err("not read by the window".to_owned())
    }
}

#[test]
fn tables_open_as_corpora_and_a_text_of_many_lines_is_asked_about() {
    let folder = tempfile::tempdir().unwrap();
    let drop = |window: &mut Window, path: PathBuf| {
        window.harness.input_mut().dropped_files.push(Arc::new(Dropped(path)));
        window.settle();
    };
    let mut window = Window::open(with_text("one two three"));
    drop(&mut window, file(&folder, "rows.csv", ROWS));
    window.click("Run");
    assert_eq!((corpus(&window).source.name(), n_points_of(&window)), ("rows.csv".to_owned(), 4));
    let many = file(&folder, "many.txt", &"the cat sat\n".repeat(20));
    drop(&mut window, many.clone());
    window.until("the question", |window| window.shows("many.txt has 20 lines"));
    window.settle();
    window.click("A corpus of 20 inputs");
    assert_eq!((corpus(&window).source.clone(), n_points_of(&window)), (CorpusSource::path(&many), 20));
    drop(&mut window, many);
    window.until("the question", |window| window.shows("many.txt has 20 lines"));
    window.press(Modifiers::NONE, Key::Escape);
    assert!(!window.shows("many.txt has 20 lines") && corpus(&window).rows().len() == 20, "nothing happened");
}

#[test]
fn the_menu_opens_bundled_ones_files_and_pasted_lines() {
    let folder = tempfile::tempdir().unwrap();
    let mut window = Window::open(with_text("one two three"));
    let open = |window: &mut Window, entry: &str| {
        window.click("Open…");
        window.click("Browse… ⏷");
        let is_entry =
            |it: &egui_kittest::Node<'_>| it.accesskit_node().label().is_some_and(|label| label.starts_with("Corpus"));
        window.harness.query_all_by_role(Role::Button).find(is_entry).unwrap().click();
        window.settle();
        window.click(entry);
    };
    open(&mut window, "200 English sentences");
    assert_eq!(n_points_of(&window), 200);
    window.desktop.0.borrow_mut().pick = vec![file(&folder, "rows.csv", ROWS)];
    window.click("Open another corpus");
    window.click("Text, table or capture…");
    window.until("the file", |window| window.shows("Open rows.csv"));
    window.click("Run");
    assert_eq!(n_points_of(&window), 4);
    assert_eq!(window.desktop.0.borrow().purposes, [FilePurpose::CorpusFile]);
    window.settle();
    window.click("Open another corpus");
    window.click("Pasted lines…");
    window.harness.get_by_role_and_label(Role::MultilineTextInput, "Lines").type_text("one cat\n\ntwo dogs\nthree");
    window.settle();
    window.click("Open 3 lines");
    assert_eq!(n_points_of(&window), 3);
}

#[test]
fn a_list_of_100_000_inputs_scrolls() {
    let folder = tempfile::tempdir().unwrap();
    let lines: Vec<String> = (0..100_000).map(|n| format!("w{n}")).collect();
    let mut window = Window::open(OpenOptions {
        view: Some(ViewKind::Heads),
        ..with_corpus(file(&folder, "many.txt", &lines.join("\n")))
    });
    assert_eq!(corpus(&window).rows().len(), 100_000);
    let at = window.harness.get_by_label("Input w3").rect().center();
    window.harness.event(egui::Event::PointerMoved(at));
    let started = Instant::now();
    for _ in 0..30 {
        window.harness.event(wheel(-40_000.0));
        window.harness.step();
    }
    // Far more than a frame of an optimised program takes, far less than drawing all rows.
    assert!(started.elapsed().as_secs_f64() < 6.0, "{:?}", started.elapsed());
    window.settle();
    assert!(window.harness.query_by_label("Input w3").is_none(), "it has moved");
}

#[test]
fn column_sentences_and_layers_are_chosen_before_a_table_is_run() {
    let folder = tempfile::tempdir().unwrap();
    let rows = "id,note,title\n1,the cat sat. It slept.,a cat\n2,a dog ran.,a dog\n";
    let path = file(&folder, "notes.csv", rows);
    let mut window =
        Window::open(OpenOptions { paths: vec![path], model: Some("demo:gpt".to_owned()), ..OpenOptions::default() });
    window.until("the table", |window| window.shows("Open notes.csv"));
    assert!(window.shows("2 inputs, about 10 tokens"));
    assert!(window.app().session().document().corpus.is_none(), "nothing is run before one said so");
    // It is called as texts often are, and is not what is meant.
    window.click("Column");
    window.click("note");
    window.click("Each sentence is one input");
    assert!(window.shows("3 inputs") && window.shows("About 30 s"));
    window.click("Run");
    assert_eq!(n_points_of(&window), 3);
    let session = window.app().session();
    assert!(session.corpus_sheet.is_none() && !window.shows("Open notes.csv"));
    assert_eq!(corpus(&window).corpus().unwrap().annotations(), ["id", "title"]);
}

#[test]
fn enter_runs_a_table_and_a_text_of_many_lines() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(&folder, "rows.csv", ROWS);
    let mut window = Window::open(OpenOptions { paths: vec![path], ..with_text("one two three") });
    window.until("the table", |window| window.shows("Open rows.csv"));
    assert!(window.app().session().document().corpus.is_none());
    window.press(Modifiers::NONE, Key::Enter);
    assert_eq!(n_points_of(&window), 4);
    // Also after something else was chosen in it.
    let path = file(&folder, "notes.csv", "id,note\n1,the cat sat. It slept.\n2,a dog ran.\n");
    window.app().request(Command::OpenPaths(vec![path]));
    window.click("Each sentence is one input");
    window.press(Modifiers::NONE, Key::Enter);
    assert_eq!(n_points_of(&window), 3);
}

/// Numbers of the one input that was run stand beside pictures of all inputs, and say which they are of.
#[test]
fn the_numbers_of_the_one_input_say_so_beside_a_picture_of_all() {
    let folder = tempfile::tempdir().unwrap();
    let mut window = Window::open(with_corpus(file(&folder, "rows.csv", ROWS)));
    let name = window.app().session().document().input_name();
    let said = format!("In this input only: “{name}”");
    for view in [ViewKind::Scatter, ViewKind::Matrix, ViewKind::Distance] {
        window.app().request(Command::Select(SelectionCommand::ShowView(view)));
        window.settle();
        assert!(window.shows(&said) && window.shows("This input: "), "{view:?}");
    }
    window.app().request(Command::Select(SelectionCommand::ShowView(ViewKind::Heads)));
    window.settle();
    assert!(!window.shows(&said) && !window.shows("This input: "), "lines are of this input");
}
