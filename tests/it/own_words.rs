//! Groups of tokens that a person makes: in brackets, by positions, by a column, and by dragging.

use std::{fs, path::Path};

use attnscope::{
    analysis::reading::{Captures, Reading, read},
    capture::{Capture, Merging, groups},
    cli::open::OpenOptions,
    ids::{HeadId, Side},
    model::{Engine, Input, Model, Preparation, RunPlan, TextInput, locate, uninterrupted},
    session::{ChangeCommand, Command, Grouping, ViewKind},
};
use eframe::egui::{Event, Modifiers, PointerButton, accesskit::Role};
use egui_kittest::kittest::{NodeT as _, Queryable as _};

use crate::{
    render::attnscope,
    support::{
        play::Play,
        window::{Window, with_text},
    },
};

fn demo(name: &str) -> Model {
    let (files, name) = locate::model(name).unwrap();
    Model::load(&files, &name, &Engine::cpu(Some(2)).unwrap(), &uninterrupted).unwrap()
}

fn run(model: &Model, text: &str, brackets: bool) -> Result<Capture, String> {
    let how = Preparation { brackets, ..Preparation::default() };
    let input = Input::Text(TextInput { text: text.to_owned(), how, ..TextInput::default() });
    let encoded = model.encode(&input).map_err(|error| error.to_string())?;
    Ok(model.forward(&encoded, &RunPlan::default(), &uninterrupted).unwrap())
}

#[test]
fn a_group_sums_its_keys_and_averages_its_queries() {
    let model = demo("demo:gpt");
    let (plain, grouped) = ("Once upon a time there was", "[Once upon] a [time there was]");
    let grouped = run(&model, grouped, true).unwrap();
    assert_eq!(grouped.input().text.as_deref(), Some(plain));
    assert_eq!(groups::positions(grouped.tokens(Side::Only)), [0..2, 3..6]);
    for head in [HeadId::single(0, 1), HeadId::single(3, 2)] {
        let tokens = run(&model, plain, false).unwrap().stored_pattern(head).unwrap();
        assert_eq!(grouped.stored_pattern(head).unwrap(), tokens, "the model reads the same");
        let words = read(Captures::one(&grouped), &Reading { merging: Merging::WORDS, ..Reading::of(head) }).unwrap();
        let names: Vec<&str> = words.cols.groups.iter().map(|group| group.text.as_str()).collect();
        assert_eq!(names, ["Once upon", "a", "time there was"]);
        let parts = [0..2, 2..3, 3..6];
        for (row, queries) in parts.iter().enumerate() {
            for (col, keys) in parts.iter().enumerate() {
                let sum = |query| keys.clone().map(|key| f64::from(tokens.get(query, key).unwrap())).sum::<f64>();
                let mean = queries.clone().map(sum).sum::<f64>() / queries.len() as f64;
                assert!((f64::from(words.matrix.get(row, col).unwrap()) - mean).abs() < 1e-6, "{head} {row} {col}");
            }
        }
    }
    let letters = run(&model, "a [b] c", false).unwrap();
    assert_eq!(letters.input().text.as_deref(), Some("a [b] c"), "brackets are letters unless it is said");
}

#[test]
fn both_sides_of_a_translator_are_grouped_and_misfits_are_told() {
    let model = demo("demo:translate");
    let how = Preparation { brackets: true, ..Preparation::default() };
    let text = |text: &str| Input::Text(TextInput { text: text.to_owned(), how, ..TextInput::default() });
    let encoded = model.encode(&text("[Good morning]").with_target(text("[Guten Morgen]"))).unwrap();
    let words = |side| groups::positions(&encoded.tokens[&side]).len();
    assert_eq!((words(Side::Encoder), words(Side::Decoder)), (1, 1));
    assert_eq!(encoded.input.target.as_deref(), Some("Guten Morgen"));

    let model = demo("demo:bert");
    let said = |text: &str| run(&model, text, true).unwrap_err();
    assert!(said("the [dog barks").contains("never closed"), "{}", said("the [dog barks"));
    assert!(said("the d[o]g").contains("the group “o” ends inside the token “dog”"), "{}", said("the d[o]g"));
    let special = run(&model, r"the \[MASK\] [barked loudly]", true).unwrap();
    assert!(special.tokens(Side::Only).iter().any(|token| token.text == "[MASK]"));
}

fn data(arguments: &[&str], out: &Path) -> String {
    let shown = out.to_str().unwrap();
    let output = attnscope(&[&["render", "heatmap"], arguments, &["--data", shown]].concat());
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    fs::read_to_string(out).unwrap()
}

#[test]
fn brackets_positions_and_a_capture_s_own_groups_give_the_same_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let name = |name: &str| path(name).display().to_string();
    fs::write(path("groups.json"), "[[0, 1], [3]]").unwrap();
    fs::write(path("misfit.json"), "[[0, 9]]").unwrap();
    let model = ["--model", "demo:gpt", "--layer", "2"];
    let with = |more: &[&str]| data(&[&model, more].concat(), &path("data.csv"));
    let bracketed = with(&["--text", "[Once upon] a [time]", "--brackets"]);
    assert!(bracketed.contains("Once upon"), "{bracketed}");
    assert_eq!(with(&["--text", "Once upon a time", "--groups", &name("groups.json")]), bracketed);
    assert_ne!(with(&["--text", "Once upon a time", "--words"]), bracketed);

    let capture = |more: &[&str]| {
        let output = attnscope(&[&["capture", "--model", "demo:gpt"], more].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    capture(&["--text", "[Once upon] a [time]", "--brackets", "--out", &name("a.safetensors")]);
    let file = name("a.safetensors");
    let shown = data(&["--capture", &file, "--layer", "2", "--words"], &path("data.csv"));
    let numbers = |text: &str| text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(numbers(&shown), numbers(&bracketed), "a file keeps its groups");

    let misfit = name("misfit.json");
    let output = attnscope(&["render", "heatmap", "--capture", &file, "--groups", &misfit, "--data", &name("b.csv")]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1));
    assert!(said.contains("the group with token 0 has a gap") && said.contains("misfit.json"), "{said}");
}

#[test]
fn a_column_of_a_table_has_the_words_of_its_texts() {
    let folder = tempfile::tempdir().unwrap();
    let name = |name: &str| folder.path().join(name).display().to_string();
    let table = "text,words,label\nthe dog barks,the dog|barks,x\nthe cat sleeps,the|cat|sleeps,y\n";
    fs::write(name("a.csv"), table).unwrap();
    fs::write(name("b.csv"), table.replace("the dog|barks", "the dog|barked")).unwrap();
    let captured = |table: &str, column: &str| {
        let (table, out) = (name(table), name("a.safetensors"));
        let of = ["--corpus", &table, "--groups-column", column, "--out", &out];
        attnscope(&[&["capture", "--model", "demo:bert"][..], &of].concat())
    };
    let output = captured("a.csv", "words");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let bytes = fs::read(name("a.safetensors")).unwrap();
    let (_, header) = safetensors::SafeTensors::read_metadata(&bytes).unwrap();
    let metadata = header.metadata().clone().unwrap();
    let groups = |entry: &str| -> Vec<Option<u64>> {
        let tokens: serde_json::Value = serde_json::from_str(&metadata[entry]).unwrap();
        let mut groups: Vec<_> =
            tokens["self"].as_array().unwrap().iter().map(|token| token["group"].as_u64()).collect();
        groups.dedup();
        groups
    };
    assert_eq!(groups("input0/tokens"), [None, Some(0), Some(1), None]);
    assert_eq!(groups("input1/tokens"), [None, Some(0), Some(1), Some(2), None]);
    for (table, column, expected) in [
        ("b.csv", "words", "the groups of input 1 do not fit: the words do not make up the text: “barked”"),
        ("a.csv", "segments", "no column “segments”; there are text, words, label"),
    ] {
        let output = captured(table, column);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(1) && said.contains(expected), "{said}");
    }
}

#[test]
fn grouping_writes_brackets_is_undone_and_is_kept() {
    let mut play = Play::showing("one two [three] four");
    let text = |play: &Play| play.session.document().experiment.text.clone();
    let of = |play: &mut Play, group: bool, at: std::ops::Range<usize>| {
        let grouping = if group { Grouping::Together } else { Grouping::Apart };
        play.does(Command::Change(ChangeCommand::Group(Side::Only, at, grouping)));
        play.answers();
    };
    let words = |play: &Play| {
        groups::positions(play.session.document().latest_capture().unwrap().tokens(Side::Only))
            .into_iter()
            .map(|group| (group.start, group.end))
            .collect::<Vec<_>>()
    };
    of(&mut play, true, 0..2);
    assert_eq!(text(&play), r"[one two] \[three\] four", "brackets of the text stay letters");
    assert_eq!(words(&play), [(0, 2)]);
    assert!(play.session.pane().options.reading.merging.is_merged(), "and what was grouped is shown as one word");
    let plain = play.session.document().latest_capture().unwrap().input().text.clone();
    assert_eq!(plain.as_deref(), Some("one two [three] four"));

    let saved = play.session.saved();
    assert!(saved.to_json().to_string().contains(r#""brackets":true"#));
    let address = play.session.address(play.session.pane()).unwrap().0;
    let again: attnscope::session::Address = address.to_string().parse().unwrap();
    assert_eq!(again.experiment, address.experiment);
    assert!(again.experiment.brackets);

    of(&mut play, true, 1..4);
    assert_eq!(text(&play), r"[one] [two \[three\] four]", "a group gives way to a new one");
    play.does(Command::Change(ChangeCommand::Delete(Side::Only, 2..3)));
    play.answers();
    assert_eq!(text(&play), "[one] [two four]");
    for expected in [r"[one] [two \[three\] four]", r"[one two] \[three\] four"] {
        play.does(Command::Undo);
        play.answers();
        assert_eq!(text(&play), expected);
    }
    of(&mut play, false, 1..2);
    assert_eq!((text(&play).as_str(), words(&play).len()), (r"one two \[three\] four", 0));
    of(&mut play, false, 1..2);
    assert_eq!(play.last_notice(), "These tokens are in no group");
    play.does(Command::SetText("one [two four]".to_owned()));
    play.does(Command::Run);
    play.answers();
    assert_eq!(words(&play), [(1, 3)], "typed brackets group as well");
    play.does(Command::SetBrackets(false));
    play.answers();
    assert!(words(&play).is_empty(), "and are letters when they are told to be");
}

#[test]
fn a_window_that_begins_with_brackets_shows_groups() {
    let window = Window::open(OpenOptions { brackets: true, ..with_text("[one two] three") });
    let session = window.app().session();
    assert_eq!(session.document().latest_capture().unwrap().input().text.as_deref(), Some("one two three"));
    assert!(session.pane().options.reading.merging.is_merged());
}

#[test]
fn tokens_that_are_dragged_over_are_grouped() {
    let mut window = Window::open(OpenOptions { view: Some(ViewKind::Grid), ..with_text("one two three") });
    let at = |window: &Window, name: &str| window.harness.get_by_role_and_label(Role::Button, name).rect().center();
    let button = |window: &mut Window, pos, pressed| {
        let (button, modifiers) = (PointerButton::Primary, Modifiers::NONE);
        window.harness.event(Event::PointerButton { pos, button, pressed, modifiers });
        window.harness.step();
    };
    let (from, to) = (at(&window, "Token 1 two"), at(&window, "Token 2 three"));
    window.harness.event(Event::PointerMoved(from));
    window.harness.step();
    button(&mut window, from, true);
    for part in [0.3, 0.7, 1.0] {
        window.harness.event(Event::PointerMoved(from.lerp(to, part)));
        window.harness.step();
    }
    button(&mut window, to, false);
    window.settle();
    window.click("Group these tokens");
    let document = window.app().session().document();
    assert_eq!(document.experiment.text, "one [two three]");
    assert!(window.app().session().pane().options.reading.merging.is_merged());
    let group = window.harness.get_by_role_and_label(Role::CheckBox, "[ ] group");
    assert_eq!(group.accesskit_node().toggled(), Some(eframe::egui::accesskit::Toggled::True));
}
