//! Lines that bend, run in colour or stand between two rows of tokens, and lines between two sentences alone.

use std::fs;

use attnscope::{
    figure::{
        ViewKind, ViewOptions,
        views::heads::{
            layout::Placing,
            look::{LineColor, LineCourse, LineLook, LineWeight},
        },
    },
    session::{Command, Focus},
};
use eframe::egui::vec2;
use egui_kittest::kittest::Queryable as _;
use serde_json::Value;

use crate::{
    render::{attnscope, texts},
    support::synthetic,
    views::{Stage, sentence},
};

#[test]
fn in_two_rows_each_query_stands_above_its_key_and_can_be_pointed_at() {
    let mut stage = Stage::new(sentence(), ViewKind::Heads).show(vec2(900.0, 600.0));
    let mut options = ViewOptions::default();
    options.heads.placing = Placing::Rows;
    let _ = stage.state_mut().session.apply(Command::SetViewOptions(options));
    stage.run();
    let rect = |name: &str| stage.get_by_label(name).rect();
    let [query, key, next] = ["Query 2 sat", "Key 2 sat", "Query 3 on"].map(rect);
    assert!(query.bottom() < key.top() && next.left() >= query.right() - 1.0, "{query:?} {key:?} {next:?}");
    assert!((query.center().x - key.center().x).abs() < 1.0);
    let lines = rect("Attention lines");
    assert!(lines.top() >= query.bottom() - 1.0 && lines.bottom() <= key.top() + 1.0);
    stage.get_by_label("Query 2 sat").click();
    stage.run();
    assert_eq!(stage.state().session.pane().selection.pinned, Focus::query(2));
    stage.get_by_label("Key 3 on").hover();
    stage.run();
    assert_eq!(stage.state().session.pane().selection.hover, Focus::cell(2, 3));
}

#[test]
fn looks_of_lines_are_options_of_the_view_and_kept_with_it() {
    let looks = LineLook { course: LineCourse::Curved, weight: LineWeight::Width, color: LineColor::Gradient };
    let mut options = ViewOptions::default();
    options.heads.look = looks;
    options.heads.placing = Placing::Rows;
    let kept = serde_json::to_value(&options).unwrap();
    assert_eq!(serde_json::from_value::<ViewOptions>(kept).unwrap(), options);
    assert_eq!(serde_json::from_str::<ViewOptions>("{}").unwrap(), ViewOptions::default());
    let stage = Stage::new(synthetic::text_capture(5, 2, 2), ViewKind::Heads).show_options();
    for name in ["Course", "Weight is", "Colour", "Tokens in"] {
        assert!(stage.query_all_by_label(name).next().is_some(), "{name}");
    }
}

#[test]
fn figures_have_every_look_and_two_rows_with_turned_names_where_they_have_no_room() {
    let folder = tempfile::tempdir().unwrap();
    let svg = folder.path().join("lines.svg").to_str().unwrap().to_owned();
    let draw = |more: &[&str]| {
        let text = "The animal didn't cross the street because it was too tired";
        let arguments = ["render", "lines", "--model", "demo:gpt", "--text", text, "--caption", "full", "--out", &svg];
        let output = attnscope(&[&arguments, more].concat());
        assert!(output.status.success(), "{more:?}: {}", String::from_utf8_lossy(&output.stderr));
        let file = fs::read(&svg).unwrap();
        (texts(&file).join(" "), String::from_utf8(file).unwrap())
    };
    let (_, plain) = draw(&[]);
    let (_, curved) = draw(&["--line-course", "curved"]);
    assert!(curved.len() > 2 * plain.len(), "a curve has many pieces");
    let (said, _) = draw(&["--line-color", "gradient", "--line-weight", "opacity"]);
    assert!(said.contains("Colour runs from query to key, opacity shows the size"), "{said}");
    let (said, level) = draw(&["--line-layout", "rows", "--width", "30cm"]);
    assert!(said.contains("each query (above) to its keys (below)"), "{said}");
    let (_, narrow) = draw(&["--line-layout", "rows", "--width", "9cm"]);
    assert!(narrow.matches("matrix(").count() > level.matches("matrix(").count(), "turned where there is no room");
}

#[test]
fn a_figure_shows_the_lines_from_one_sentence_to_the_other_alone() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("lines.json").to_str().unwrap().to_owned();
    let draw = |sentences: &str, pair: &[&str]| {
        let arguments = ["render", "lines", "--model", "demo:bert", "--text", "The cat sat", "--sentences", sentences];
        attnscope(&[&arguments, pair, &["--data", &data]].concat())
    };
    let ends = |sentences: &str| {
        let output = draw(sentences, &["--text-b", "The dog ran"]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let read: Value = serde_json::from_str(&fs::read_to_string(&data).unwrap()).unwrap();
        let side = |row: &Value, of: &str| row[of].as_u64().unwrap() >= 5;
        let mut found: Vec<(bool, bool)> =
            read["rows"].as_array().unwrap().iter().map(|row| (side(row, "query"), side(row, "key"))).collect();
        found.sort_unstable();
        found.dedup();
        found
    };
    assert_eq!(ends("all").len(), 4);
    for (name, pair) in [("a-a", (false, false)), ("a-b", (false, true)), ("b-a", (true, false)), ("b-b", (true, true))]
    {
        assert_eq!(ends(name), [pair], "{name}");
    }
    let refused = draw("a-b", &[]);
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--text-b"));
}
