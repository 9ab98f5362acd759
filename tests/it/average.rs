//! The Average view: a head's mean attention over a corpus, in the window and as a figure.

use std::{fs, path::Path, process::Command};

use attnscope::{
    figure::{pen::Medium, views::average::layout::AverageLayout},
    session::ViewKind,
};
use eframe::egui::vec2;
use egui_kittest::kittest::Queryable as _;
use serde_json::Value;

use crate::views::{Stage, sentence};

#[test]
fn a_cell_of_the_mean_says_its_weight_and_an_offset_its_pairs() {
    let mut stage = Stage::new(sentence(), ViewKind::Average).show(vec2(900.0, 600.0));
    stage.run();
    stage.run();
    let canvas = stage.get_by_label("Mean attention of L0H0 over all inputs").rect();
    // One input of nine tokens.
    let layout = AverageLayout::of(canvas, (9, 9), Medium::Screen);
    let cell = layout.cells.min + layout.cells.size() * vec2(3.5, 5.5) / 9.0;
    stage.hover_at(cell);
    stage.run();
    assert!(stage.query_by_label("query 5").is_some() && stage.query_by_label("key 3").is_some());
    assert!(stage.query_by_label_contains("Mean of 1 input with a query").is_some());
    stage.hover_at(layout.plot.center());
    stage.run();
    assert!(stage.query_by_label_contains("all inputs: ").is_some(), "the middle is the token itself");
}

#[test]
fn values_of_an_annotation_are_compared_and_written() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let [list, figure, data] = ["list.csv", "figure.svg", "data.json"].map(at);
    fs::write(&list, "text,mood\nOnce upon a time,calm\nThe dog ran home.,wild\nThe cat sat.,calm\n").unwrap();
    let arguments = ["render", "average", "--model", "demo:gpt", "--layer", "1", "--head", "2", "--caption", "full"];
    let files = ["--corpus", &list, "--annotation", "mood", "--out", &figure, "--data", &data];
    let attnscope =
        |files: &[&str]| Command::new(env!("CARGO_BIN_EXE_attnscope")).args(arguments).args(files).output().unwrap();
    let unknown = attnscope(&["--corpus", &list, "--annotation", "colour", "--out", &figure]);
    let said = String::from_utf8_lossy(&unknown.stderr).into_owned();
    assert!(unknown.status.code() == Some(1) && said.contains("no annotation `colour`: choose one of mood"), "{said}");
    let output = attnscope(&files);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let figure = fs::read_to_string(&figure).unwrap();
    assert!(figure.contains("over 3 inputs") && figure.contains("wild"));
    let data: Value = serde_json::from_str(&fs::read_to_string(Path::new(&data)).unwrap()).unwrap();
    let rows = data["rows"].as_array().unwrap();
    let first: f64 = rows
        .iter()
        .filter(|row| row["part"] == "positions" && row["query"] == 2.0)
        .map(|row| row["weight"].as_f64().unwrap())
        .sum();
    assert!((first - 1.0).abs() < 1e-5, "rows sum to one: {first}");
    // The same cells, coloured by how much they change.
    let changing = folder.path().join("changing.svg").to_str().unwrap().to_owned();
    let output = attnscope(&["--corpus", &list, "--pairs-show", "deviation", "--out", &changing]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let changing = fs::read_to_string(&changing).unwrap();
    assert!(changing.contains("Standard deviation by position") && changing.contains("fixed by position"));
    // Three inputs begin alike: with the first token, which sees itself alone.
    let deviation = |row: &&Value| row["part"] == "positions" && row["query"] == 0.0 && row["key"] == 0.0;
    assert_eq!(rows.iter().find(deviation).unwrap()["deviation"], 0.0);
    assert!(rows.iter().any(|row| row["deviation"].as_f64().is_some_and(|deviation| deviation > 0.05)));
    // Every pair of a value is one of all pairs.
    let pairs = |value: &str| -> f64 {
        let of = rows.iter().filter(|row| row["part"] == "offsets" && row["value"] == value);
        of.map(|row| row["n"].as_f64().unwrap()).sum()
    };
    assert!(pairs("calm") > 0.0 && pairs("calm") + pairs("wild") == pairs(""));
}
