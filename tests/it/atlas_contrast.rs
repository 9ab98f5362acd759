//! Two corpora, or two models, in the Atlas: the numbers of the command line, the table with its order, and sessions.

use std::{fs, path::Path, sync::Arc};

use attnscope::{
    analysis::{
        PointCloud,
        detect::TokenCounts,
        head_statistics::{HeadStatistics, contrast, contrast_of_clouds},
        reading::store::PatternStore,
        welch::Correction,
    },
    capture::{Capture, Site},
    corpus::{
        Corpus, CorpusView, Kept, Label,
        list::{InputList, Item},
    },
    figure::{
        pen::Medium,
        views::atlas::{ContrastOrder, TableOrder, layout::AtlasLayout},
    },
    ids::{DocumentId, StackKind},
    model::{self, Input, Logits, Model, RunPlan, Sites, TextInput, locate, uninterrupted},
    protocol::{CorpusAnswer, CorpusSoFar, CorpusSource, EventKind},
    session::{Command, CorpusCommand, SelectionCommand, Split, ViewKind, saved::Saved},
    ui::views::Views,
};
use eframe::egui::vec2;
use egui_kittest::kittest::Queryable as _;
use serde_json::Value;

use crate::{
    render::attnscope,
    support::{
        play::{DOCUMENT, Play},
        scripted::capture,
    },
    views::Stage,
};

const FIRST: [&str; 4] = [
    "The cat sat on the mat, and the dog sat.",
    "Tom had a dog. Tom was happy.",
    "She ran, and ran.",
    "The sun is up.",
];
const SECOND: [&str; 5] = [
    "One two one two one two one two.",
    "Red blue red blue red blue.",
    "Up down up down up down up.",
    "A b a b a b a b a b.",
    "He said so, he said so, he said so.",
];

fn model(name: &str) -> Model {
    let (files, name) = locate::model(name).unwrap();
    Model::load(&files, &name, &model::Engine::cpu(Some(2)).unwrap(), &uninterrupted).unwrap()
}

fn runs(model: &Model, texts: &[&str]) -> Vec<Arc<Capture>> {
    let sites = Sites::of(&[Site::Pattern, Site::Q, Site::K]);
    let plan = RunPlan { sites, logits: Logits::Skip, ..RunPlan::default() };
    let run = |text: &&str| model.forward(&model.encode(&Input::text(*text)).unwrap(), &plan, &uninterrupted).unwrap();
    texts.iter().map(|text| Arc::new(run(text))).collect()
}

fn cloud(captures: &[Arc<Capture>]) -> PointCloud {
    let corpus = Corpus::from_captures(captures, Kept::default(), u64::MAX).unwrap();
    PointCloud::Inputs(Arc::new(CorpusView::all(Arc::new(corpus))))
}

/// What the queries and keys of two corpora give is what the runs give that the command adds up.
#[test]
fn the_contrast_of_two_clouds_is_that_of_their_runs_and_others_are_refused() {
    let model = model("demo:gpt");
    let sides = [runs(&model, &FIRST), runs(&model, &SECOND)];
    let sums = [0, 1].map(|side: usize| {
        let mut statistics = HeadStatistics::new(model.spec());
        let counts = TokenCounts::of_captures(sides[side].iter().map(Arc::as_ref));
        let all = sides[side].iter().enumerate();
        all.for_each(|(source, capture)| statistics.add(source, capture, Some(&counts)));
        statistics
    });
    let expected = contrast(&sums[0], &sums[1], Correction::Holm).remove(0);
    let [a, b] = [cloud(&sides[0]), cloud(&sides[1])];
    let of = |a: &PointCloud, b: &PointCloud| {
        contrast_of_clouds([a, b], StackKind::SelfAttention, Correction::Holm, &mut |_, _| true).unwrap()
    };
    let found = of(&a, &b).unwrap();
    assert_eq!((found.sides[0].n_inputs, found.sides[1].n_inputs, found.contrast.n_inputs), (4, 5, [4, 5]));
    let mut n = 0;
    for column in &expected.columns {
        for head in &expected.heads {
            let (was, is) = (expected.cell(column.metric, *head), found.contrast.cell(column.metric, *head));
            let (Some(was), Some(is)) = (was, is) else {
                assert_eq!(was.is_some(), is.is_some(), "{head} {:?}", column.metric);
                continue;
            };
            let near = |a: f64, b: f64| (a - b).abs() <= 1e-4 * b.abs().max(1.0);
            assert!(near(is.a.mean, was.a.mean) && near(is.b.mean, was.b.mean), "{head} {:?}", column.metric);
            if let (Some(is), Some(was)) = (is.contrast, was.contrast) {
                // Where hardly anything varies, d is a quotient of rounding errors.
                if was.d.abs() < 5.0 {
                    assert!((is.d - was.d).abs() < 0.02 * was.d.abs().max(1.0), "{head} {:?}", column.metric);
                    n += 1;
                }
            }
        }
    }
    assert!(n > 100, "{n}");
    assert!(
        contrast_of_clouds([&a, &b], StackKind::SelfAttention, Correction::Holm, &mut |done, _| done < 9).is_none()
    );
    // Too few inputs, another layout, and both sides of a difference at once.
    let refusal = |a: &PointCloud, b: &PointCloud| of(a, b).unwrap_err();
    assert!(refusal(&a, &cloud(&sides[1][..1])).contains("single input"));
    assert!(refusal(&PointCloud::Input(Arc::clone(&sides[0][0])), &b).contains("open a corpus"));
    let bert = self::model("demo:bert");
    assert!(refusal(&a, &cloud(&runs(&bert, &FIRST))).contains("same layout"));
}

/// The corpus of some texts, as the worker tells it.
fn so_far(play: &Play, texts: &[&str]) -> EventKind {
    let model = Arc::clone(play.session.document().model.latest().unwrap());
    let list = InputList { items: texts.iter().map(|text| Item::text(*text)).collect(), ..Default::default() };
    let mut corpus = Corpus::new(1 << 30);
    for (source, text) in texts.iter().enumerate() {
        let input = Input::Text(TextInput { text: (*text).to_owned(), ..TextInput::default() });
        corpus.append(&capture(&model, &input), &Label { source, ..Label::default() }).unwrap();
    }
    EventKind::Corpus(CorpusAnswer::SoFar(Box::new(CorpusSoFar {
        list: Arc::new(list),
        corpus: Arc::new(corpus),
        left_out: Vec::new(),
        full: None,
        file: None,
        is_whole: true,
    })))
}

/// Two documents of one model, each with a corpus of its own; the first is looked at.
fn two_corpora() -> (Play, DocumentId) {
    let mut play = Play::showing("one two three four");
    let open = |play: &mut Play, name: &str, texts: &[&str]| {
        play.does(Command::Corpus(CorpusCommand::Open(CorpusSource::path(name))));
        let answer = so_far(play, texts);
        let (job, _) = play.last_corpus();
        play.hears(job, answer);
        play.answers();
    };
    open(&mut play, "letters.txt", &FIRST);
    play.does(Command::SplitPane(Split::Right));
    play.does(Command::Detach);
    open(&mut play, "songs.txt", &SECOND);
    let other = play.session.document().id;
    play.does(Command::NextPane);
    play.does(Command::Select(SelectionCommand::ShowView(ViewKind::Atlas)));
    assert_eq!(play.session.document().id, DOCUMENT);
    (play, other)
}

#[test]
fn the_window_has_both_numbers_their_difference_and_the_order_by_each() {
    let (mut play, other) = two_corpora();
    play.does(Command::Select(SelectionCommand::HoldAgainst(Some(other))));
    let stage = Stage {
        session: play.session,
        views: Views::default(),
        patterns: PatternStore::default(),
        asked: Vec::new(),
        dark: false,
    };
    let mut stage = stage.show(vec2(900.0, 600.0));
    stage.run();
    assert!(stage.query_by_label_contains("letters.txt (4 inputs) → songs.txt (5 inputs): ").is_some());
    assert!(stage.query_by_label_contains("differ in confidence (p < 0.05, Holm)").is_some());
    let layout = AtlasLayout::of_scene(stage.get_by_label("Numbers of all heads").rect(), (3, 4), Medium::Screen);
    stage.hover_at(layout.row(1).center());
    stage.run();
    let told = |stage: &egui_kittest::Harness<'_, Stage>, text: &str| {
        stage.query_all_by_label_contains(text).find_map(|node| node.value())
    };
    let first = told(&stage, "Confidence: ").expect("the readout has both numbers");
    assert!(first.contains(" → ") && first.contains("; d ") && first.contains(", p "), "{first}");
    // The last heading is the corrected p: the highest comes first, and the lowest after a second click.
    let heading = layout.row(0).right_center() - vec2(30.0, 0.0);
    let click = |stage: &mut egui_kittest::Harness<'_, Stage>| {
        stage.hover_at(heading);
        stage.run();
        stage.drag_at(heading);
        stage.drop_at(heading);
        stage.run();
    };
    click(&mut stage);
    let options = stage.state().session.pane().options.atlas;
    assert_eq!(options.order, TableOrder::Contrast(ContrastOrder::Corrected));
    assert!(!options.lowest_first);
    click(&mut stage);
    assert!(stage.state().session.pane().options.atlas.lowest_first);
    // Nothing is held against a document that is closed.
    let session = &mut stage.state_mut().session;
    let _ = session.apply(Command::CloseDocument(other));
    assert_eq!(session.pane().against, None);
    stage.run();
    assert!(stage.query_by_label_contains("of a known kind").is_some());
}

#[test]
fn a_session_keeps_what_heads_are_held_against_and_older_ones_open() {
    let (mut play, other) = two_corpora();
    play.does(Command::Select(SelectionCommand::HoldAgainst(Some(DOCUMENT))));
    assert_eq!(play.session.pane().against, None, "nothing is held against itself");
    play.does(Command::Select(SelectionCommand::HoldAgainst(Some(other))));
    let saved = play.session.saved();
    let pane = saved.panes.iter().find(|pane| pane.active).unwrap();
    assert_eq!(pane.against, Some(1));
    let written = saved.to_json();
    let read = |json: &Value| Saved::from_json(json.clone(), Path::new("/"));
    assert_eq!(read(&written).unwrap().panes, saved.panes);
    let nth = saved.panes.iter().position(|pane| pane.active).unwrap();
    let mut before = written.clone();
    before["panes"][nth].as_object_mut().unwrap().remove("against");
    assert!(read(&before).unwrap().panes.iter().all(|pane| pane.against.is_none()));
    let mut wrong = written;
    wrong["panes"][nth]["against"] = 7.into();
    assert!(read(&wrong).is_err());
}

#[test]
fn a_figure_has_the_numbers_of_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let [first, second] = [("first.txt", FIRST.join("\n")), ("second.txt", SECOND.join("\n"))].map(|(name, text)| {
        fs::write(path(name), text).unwrap();
        path(name)
    });
    let asked = ["--model", "demo:gpt", "--corpus", &first, "--against-corpus", &second];
    let ok = |args: &[&str]| {
        let output = attnscope(args);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let [figure, data, told] = ["atlas.svg", "atlas.csv", "heads.csv"].map(path);
    let shown = ["--color-by-number", "induction", "--out", &figure, "--data", &data];
    ok(&[&["render", "atlas"][..], &asked, &shown].concat());
    let of_heads = ["--model", "demo:gpt", "--corpus", &first, "--against", &second];
    ok(&[&["analyze", "heads"][..], &of_heads, &["--metrics", "induction", "--out", &told]].concat());
    let table = |name: &str| -> Vec<Vec<String>> {
        let text = fs::read_to_string(name).unwrap();
        text.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect()
    };
    let (ours, theirs) = (table(&data), table(&told));
    let at = |name: &str| ours[0].iter().position(|known| known == name).unwrap_or_else(|| panic!("{name}"));
    let names = [("induction_a", 4), ("induction_b", 5), ("induction_difference", 6), ("induction_p_corrected", 11)];
    assert_eq!(ours.len(), theirs.len());
    for (own, row) in ours.iter().zip(&theirs).skip(1) {
        for (name, column) in names {
            let [a, b] = [&own[at(name)], &row[column]].map(|text| text.parse::<f64>().unwrap());
            assert!((a - b).abs() < 1e-3, "{name}: {a} {b}");
        }
    }
    let svg = fs::read_to_string(&figure).unwrap();
    assert!(svg.contains("first.txt") && svg.contains("differ in induction"), "sides and heads are named");
    let refused = |more: &[&str], words: &str| {
        let output = attnscope(more);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(words), "{said}");
    };
    refused(&[&["render", "average"][..], &asked, &["--out", &figure]].concat(), "belong to atlas");
    let other = ["--model", "demo:gpt", "--corpus", &first, "--against-model", "demo:bert", "--out", &figure];
    refused(&[&["render", "atlas"][..], &other].concat(), "same layout");
}
