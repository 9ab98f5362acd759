//! What makes scores weights: the normalisers of one query, in the window and as a figure.

use std::{fs, process::Command};

use attnscope::{
    analysis::{
        attention,
        chain::Chain,
        simplex::{Rule, ScoreRow, Spread},
    },
    figure::{
        ViewKind,
        views::simplex::{SimplexOptions, SimplexScene},
    },
    ids::HeadId,
};
use eframe::egui::{Key, vec2};
use egui_kittest::kittest::Queryable as _;
use serde_json::Value;

use crate::views::{Stage, sentence};

fn scene(held: Option<usize>) -> SimplexScene {
    let (capture, head) = (sentence(), HeadId::single(0, 0));
    let (query, _) = Chain::pair(&capture, head, [None, None]).unwrap();
    let row = ScoreRow::of(&capture, head, query, held).unwrap();
    SimplexScene::new(&capture, row.into(), None, SimplexOptions::default(), None)
}

#[test]
fn softmax_of_the_three_strongest_keys_is_their_share_of_the_row() {
    let row = scene(None).row;
    let three = Rule::Softmax.weights(&row.three().unwrap(), 1.5);
    for (key, weight) in row.keys.iter().zip(three) {
        assert!((row.weights[*key] / row.mass() - weight).abs() < 1e-5);
    }
    let least = row.keys.iter().map(|key| row.weights[*key]).fold(1.0, f64::min);
    assert!((0..row.weights.len()).all(|key| row.keys.contains(&key) || row.weights[key] <= least));
    let weakest = row.strongest(row.scores.len()).pop().unwrap();
    assert_eq!(scene(Some(weakest)).row.keys[0], weakest, "a key that is held is one of the three");
}

#[test]
fn scaling_multiplies_the_mean_by_the_scale_and_variances_by_its_square() {
    let (capture, head) = (sentence(), HeadId::single(0, 0));
    let ([before, after], scale) = Spread::around_scale(&capture, head).unwrap();
    let scale = f64::from(scale);
    let near = |a: f64, b: f64| (a - b).abs() < 1e-4 * a.abs().max(1.0);
    assert!(near(before.mean * scale, after.mean));
    assert!(near(before.pooled * scale * scale, after.pooled) && near(before.within * scale * scale, after.within));
    let scores = attention::scores(&capture, head).unwrap();
    let n_visible = scores.as_slice().iter().filter(|score| score.is_finite()).count();
    assert_eq!((before.values.len(), after.values.len()), (n_visible, n_visible));
    assert!(before.largest >= after.largest && before.entropy <= after.entropy, "the scale evens weights out");
}

#[test]
fn the_point_of_softmax_is_dragged_and_put_back() {
    let mut stage = Stage::new(sentence(), ViewKind::Simplex).show(vec2(900.0, 1100.0));
    stage.run();
    let canvas = stage.get_by_label("Normalisers of L0H0").rect();
    let scene = scene(None);
    let from = scene.mark(canvas, Rule::Softmax).unwrap();
    let place = |stage: &egui_kittest::Harness<'_, Stage>| stage.get_by_label("Point of softmax").rect().center();
    assert!(place(&stage).distance(from) < 1.0);
    let target = from + vec2(12.0, 8.0);
    stage.drag_at(from);
    stage.run();
    stage.hover_at(target);
    stage.run();
    stage.drop_at(target);
    stage.run();
    assert!(place(&stage).distance(target) < 2.0, "the point is where it was dropped: {} {target}", place(&stage));
    stage.get_by_label("Point of softmax").focus();
    stage.run();
    let before = place(&stage);
    stage.key_press(Key::ArrowRight);
    stage.run();
    assert!((place(&stage) - before).x > 2.0, "arrow keys move it as well");
    stage.get_by_label("Reset").click();
    stage.run();
    assert!(place(&stage).distance(from) < 1.0);
}

#[test]
fn a_figure_has_every_part_and_its_table_every_number() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let [figure, data] = ["figure.svg", "data.json"].map(at);
    let text = "The animal didn't cross the street because it was too tired";
    let arguments = ["render", "simplex", "--model", "demo:gpt", "--text", text, "--layer", "3", "--head", "2"];
    let more = ["--query", "11", "--alpha", "1.25", "--jacobian", "sparsemax", "--out", &figure, "--data", &data];
    let output = Command::new(env!("CARGO_BIN_EXE_attnscope")).args(arguments).args(more).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let figure = fs::read_to_string(&figure).unwrap();
    for said in ["1.25-entmax", "Jacobian of Sparsemax", "After scaling", "Two keys", "normalised among themselves"] {
        assert!(figure.contains(said), "{said}");
    }
    let data: Value = serde_json::from_str(&fs::read_to_string(&data).unwrap()).unwrap();
    let rows = data["rows"].as_array().unwrap();
    let of = |part: &str, name: &str| -> Vec<f64> {
        let rows = rows.iter().filter(|row| row["part"] == part && row["name"] == name);
        rows.map(|row| row["value"].as_f64().unwrap()).collect()
    };
    for rule in ["Softmax", "Sparsemax", "1.25-entmax", "Argmax", "Top-2"] {
        let three = of("simplex", rule);
        assert!(three.len() == 3 && (three.iter().sum::<f64>() - 1.0).abs() < 1e-6, "{rule}: {three:?}");
        assert_eq!(of("curves", rule).len(), 121);
    }
    assert_eq!(of("after", "mean entropy").len(), 1);
}
