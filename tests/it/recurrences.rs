//! States of recurrent models step by step: recorded, kept in files, changed, followed back, and shown.

use std::{fs, io::Cursor};

use attnscope::{
    analysis::states::Steps,
    capture::{
        Capture, Edit, Matrix, Patch, Way,
        file::{self, Contents, Format},
    },
    figure::{
        ViewKind,
        views::{
            parts::OfParts as _,
            states::{StatesFacts, StatesOf, StatesOptions, StatesPart, StatesScene},
        },
    },
    ids::{CaptureId, Side, StackKind},
    model::{Encoded, Logits, Model, Objective, RunPlan, Site, Sites, Taps, uninterrupted},
    session::{Command, Focus, SelectionCommand},
};
use eframe::egui::{Event, Modifiers, PointerButton, vec2};
use egui_kittest::kittest::Queryable as _;
use safetensors::SafeTensors;
use serde_json::Value;

use crate::{
    families::{families, folder},
    lab::fixture,
    order::is_recurrent,
    render::attnscope,
    views::{Stage, sentence},
};

const STATES: [Site; 6] = [Site::State, Site::Cell, Site::Gates, Site::StateBack, Site::CellBack, Site::GatesBack];

fn run(model: &Model, input: &Encoded, sites: Sites, edits: Vec<Edit>) -> Capture {
    let plan = RunPlan { sites, logits: Logits::Keep, edits, ..RunPlan::default() };
    model.forward(input, &plan, &uninterrupted).unwrap()
}

fn read(name: &str) -> Capture {
    let (model, input) = fixture(name);
    run(&model, &input, Sites::of(&STATES).union(Sites::standard()), Vec::new())
}

#[test]
fn recording_states_changes_no_output_and_every_recurrence_has_some() {
    for name in families().into_iter().filter(|name| is_recurrent(name)) {
        let (model, input) = fixture(&format!("families/{name}"));
        let quiet = run(&model, &input, Sites::NONE, Vec::new());
        let seen = run(&model, &input, Sites::of(&STATES), Vec::new());
        assert_eq!(quiet.logits(), seen.logits(), "{name}");
        let has_states = ViewKind::States.unavailable(&seen, model.spec().stacks[0].kind).is_none();
        assert_eq!(has_states, !name.starts_with("memn2n"), "{name}");
    }
}

#[test]
fn a_capture_file_keeps_states_and_opens_without_them() {
    let capture = read("families/bilstm");
    let opened = |contents: Contents| {
        let mut bytes = Vec::new();
        file::write(&[&capture], contents, &mut bytes).unwrap();
        file::read(&mut Cursor::new(bytes), Format::Safetensors, "", &mut || CaptureId(1)).unwrap().remove(0)
    };
    let whole = opened(Contents::ALL);
    for site in STATES {
        assert_eq!(whole.of_sequence(Side::Encoder, site), capture.of_sequence(Side::Encoder, site), "{}", site.name());
    }
    let without = opened(Contents::DEFAULT);
    assert_eq!(without.of_sequence(Side::Encoder, Site::State), None);
    assert!(ViewKind::States.unavailable(&without, StackKind::Cross).is_some());
    assert_eq!(Contents::named("states").map(|contents| contents.sites), Some(Sites::of(&STATES)));
}

#[test]
fn a_state_is_patched_and_what_follows_from_it() {
    let (model, input) = fixture("families/bilstm");
    let plain = run(&model, &input, Sites::of(&STATES), Vec::new());
    let states = plain.of_sequence(Side::Encoder, Site::State).unwrap();
    let patched = |row: &[f32]| {
        let value = Matrix::new(row.to_vec(), [1, row.len()]).unwrap();
        let (site, stack) = (Site::State, StackKind::Encoder);
        let edit = Edit::Patch(Patch { site, stack, layer: 0, head: None, positions: vec![4], value });
        run(&model, &input, Sites::of(&STATES), vec![edit])
    };
    let own = patched(states.row(4).unwrap());
    assert_eq!(own.logits(), plain.logits());
    let zeros = patched(&vec![0.0; states.n_cols()]);
    let after = zeros.of_sequence(Side::Encoder, Site::State).unwrap();
    assert_eq!(after.row(3), states.row(3));
    assert_eq!(after.row(4).unwrap(), vec![0.0; states.n_cols()]);
    assert_ne!(after.row(5), states.row(5));
    let back = [&zeros, &plain].map(|capture| capture.of_sequence(Side::Encoder, Site::StateBack).cloned());
    assert_eq!(back[0], back[1], "the other direction does not know of it");
}

#[test]
fn gradients_through_time_are_those_of_pytorch() {
    for name in ["bilstm", "rnnsearch-additive"] {
        let capture = read(&format!("families/{name}"));
        let found = capture.state_gradients().unwrap();
        let bytes = fs::read(folder().join(name).join("through_time.safetensors")).unwrap();
        let expected = SafeTensors::deserialize(&bytes).unwrap();
        let names = found.norms.keys().map(|(side, way)| format!("{}.{}", side.name(), way.name()));
        assert!(names.clone().all(|name| expected.tensor(&name).is_ok()) && names.count() == expected.len(), "{name}");
        for ((side, way), norms) in &found.norms {
            let stored = expected.tensor(&format!("{}.{}", side.name(), way.name())).unwrap();
            let stored = stored.data().chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap()));
            for (norm, stored) in norms.iter().zip(stored) {
                let stored = f64::from(stored);
                assert!((norm - stored).abs() <= 1e-4 * stored.max(1.0), "{name}, {}: {norm} {stored}", way.name());
            }
        }
    }
}

#[test]
fn gradients_through_time_are_those_of_a_pass_that_is_asked_for_them() {
    let (model, input) = fixture("families/han");
    let sites = Sites::of(&STATES);
    let capture = run(&model, &input, sites, Vec::new());
    let top = capture.prediction().unwrap().rows[0].top[0].clone();
    let objective = Objective::Logit { row: 0, id: top.id };
    let taps = Taps::of(&[Site::State, Site::StateBack]);
    let (_, gradients) = model.gradients(&input, &RunPlan::default(), objective, taps, &uninterrupted).unwrap();
    let found = capture.state_gradients().unwrap();
    assert_eq!(found.outcome, top.label);
    assert_eq!(found.norms.len(), 4, "words and sentences, both ways");
    for ((side, way), norms) in &found.norms {
        let rows = gradients.sequences[side].rows(way.state()).unwrap();
        let lengths = rows.rows().map(attnscope::analysis::states::length);
        assert!(norms.iter().zip(lengths).all(|(norm, length)| (norm - length).abs() < 1e-9), "{side:?}");
    }
}

#[test]
fn a_reader_of_both_ways_has_every_part_and_a_writer_one_direction() {
    let capture = read("families/rnnsearch-additive");
    let facts = StatesFacts::of(&capture, StatesOf::Source).unwrap();
    assert_eq!((facts.side, facts.steps.len()), (Side::Encoder, 2));
    let scene = StatesScene::new(facts.into(), StackKind::Cross, [None, Some(3)], StatesOptions::default());
    let all = [
        StatesPart::Units,
        StatesPart::Norm,
        StatesPart::Likeness,
        StatesPart::Gates,
        StatesPart::Ends,
        StatesPart::Gradient,
        StatesPart::Path,
    ];
    assert_eq!(scene.parts(), all);
    assert_eq!(scene.held, Some(3));
    assert_eq!(scene.lines(StatesPart::Gates).len(), 3, "r, z and n of a GRU");
    let written = StatesFacts::of(&capture, StatesOf::Target).unwrap();
    assert_eq!((written.side, written.steps.len()), (Side::Decoder, 1));
    // What is not there is what there is.
    assert_eq!(StatesFacts::of(&capture, StatesOf::Sentences).unwrap().side, Side::Encoder);
    let lstm = Steps::of(&read("families/bilstm"), Side::Encoder, Way::Backward).unwrap();
    assert_eq!(lstm.kind(), Some("LSTM"));
    assert!(StatesFacts::of(&sentence(), StatesOf::Source).is_none());
}

#[test]
fn a_click_on_a_step_selects_its_token() {
    let mut stage = Stage::new(read("families/bilstm"), ViewKind::States);
    stage.session.panes.active_mut().selection.head.stack = StackKind::Cross;
    let mut stage = stage.show(vec2(1000.0, 900.0));
    stage.run();
    let area = stage.get_by_label("States of the encoder").rect();
    let at = area.min + vec2(200.0, 120.0);
    stage.hover_at(at);
    stage.run();
    for pressed in [true, false] {
        let (button, modifiers) = (PointerButton::Primary, Modifiers::NONE);
        stage.event(Event::PointerButton { pos: at, button, pressed, modifiers });
        stage.run();
    }
    let is_pin =
        |command: &Command| matches!(command, Command::Select(SelectionCommand::Pin(Focus { key: Some(_), .. })));
    assert!(stage.state().asked.iter().any(is_pin), "{:?}", stage.state().asked);
}

#[test]
fn a_figure_says_what_is_drawn_and_has_every_number() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let [figure, data] = ["figure.svg", "data.json"].map(at);
    let arguments = ["render", "states", "--model", "demo:bilstm", "--text", "Life is really tough."];
    let more = ["--read-direction", "backward", "--path-window", "2", "--out", &figure, "--data", &data];
    let output = attnscope(&[&arguments[..], &more].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let figure = fs::read_to_string(&figure).unwrap();
    for said in ["read backward", "Length of the state", "forget f", "Gradient through time", "windows of ±2: ⌈d/2⌉ = "]
    {
        assert!(figure.contains(said), "{said}");
    }
    let data: Value = serde_json::from_str(&fs::read_to_string(&data).unwrap()).unwrap();
    let rows = data["rows"].as_array().unwrap();
    for part in ["state", "gate", "shut", "open", "norm", "likeness", "gradient", "path"] {
        assert!(rows.iter().any(|row| row["part"] == part), "{part}");
    }
    let output = attnscope(&["render", "states", "--model", "demo:gpt", "--text", "Once", "--out", &at("no.svg")]);
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("no network here reads step by step"));
}
