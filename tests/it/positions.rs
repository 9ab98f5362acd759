//! How positions enter attention: the view in the window and as a figure.

use std::{fs, process::Command};

use attnscope::{
    analysis::positions,
    capture::{NoPositions, Order, Permute, Positions},
    figure::{
        ViewKind,
        views::positions::{Part, PositionFacts, PositionsOptions},
    },
    ids::{HeadId, Side, StackKind},
    model::{Edit, Encoded, Model, RunPlan, Site, Sites, uninterrupted},
};
use eframe::egui::vec2;
use egui_kittest::kittest::Queryable as _;
use serde_json::Value;

use crate::{lab::fixture, views::Stage};

fn run(model: &Model, encoded: &Encoded, edits: Vec<Edit>) -> attnscope::capture::Capture {
    let sites = Sites::of(&[Site::Q, Site::K, Site::Pattern]);
    model.forward(encoded, &RunPlan { sites, edits, ..RunPlan::default() }, &uninterrupted).unwrap()
}

fn facts(folder: &str, head: HeadId) -> PositionFacts {
    let (model, encoded) = fixture(folder);
    PositionFacts::of(&run(&model, &encoded, Vec::new()), None, head, PositionsOptions::default())
}

#[test]
fn each_kind_of_positions_has_its_parts() {
    let bert = facts("bert", HeadId::single(0, 0));
    assert_eq!(bert.parts(), [Part::Table, Part::Cosines, Part::Sinusoids, Part::Distance]);
    let llama = facts("families/llama", HeadId::single(0, 0));
    assert_eq!(llama.parts(), [Part::Distance, Part::Turns]);
    let vit = facts("vit", HeadId::single(0, 0));
    assert_eq!(vit.parts(), [Part::Table, Part::Cosines], "places of patches have no distance along a line");
    let t5 = facts("families/t5", HeadId { stack: StackKind::Encoder, ..HeadId::default() });
    assert_eq!(t5.parts(), [Part::Biases]);
}

#[test]
fn alibi_falls_with_the_distance_by_the_slope_of_the_head() {
    let bloom = facts("families/bloom", HeadId::single(0, 1));
    // Six heads: the slopes of four, then every other one of those of eight.
    let slopes = [0.25, 0.0625, 0.015_625, 0.003_906_25, 0.5, 0.125];
    assert_eq!(bloom.biases.len(), slopes.len());
    for (biases, slope) in bloom.biases.iter().zip(slopes) {
        assert!(biases.iter().all(|bias| bias.offset <= 0), "a causal mask hides what comes behind");
        for bias in biases {
            assert!((bias.mean - slope * bias.offset as f32).abs() < 1e-5 && bias.most - bias.least < 1e-5, "{bias:?}");
        }
    }
}

#[test]
fn a_relative_bias_is_that_of_the_distance_and_deberta_s_depends_on_the_tokens() {
    let t5 = facts("families/t5", HeadId { stack: StackKind::Encoder, ..HeadId::default() });
    assert!(t5.biases.iter().flatten().all(|bias| bias.most - bias.least < 1e-5), "{:?}", t5.biases);
    assert!(t5.biases.iter().flatten().any(|bias| bias.mean.abs() > 1e-3));
    let deberta = facts("families/deberta-v3", HeadId::single(0, 0));
    assert!(deberta.biases.iter().flatten().any(|bias| bias.most - bias.least > 1e-3));
}

#[test]
fn order_means_nothing_where_positions_move_along_and_much_where_they_stay() {
    let (model, encoded) = fixture("bert");
    let plain = run(&model, &encoded, Vec::new());
    let of = |positions: Positions, more: &[Edit]| {
        let permute = Permute { order: Order::Seed(3), side: Side::Only, positions };
        let permuted = run(&model, &encoded, [more, &[permute.into()]].concat());
        let beside = if more.is_empty() { plain.clone() } else { run(&model, &encoded, more.to_vec()) };
        positions::effect_of_order(&beside, &permuted, StackKind::SelfAttention)
    };
    let moved = of(Positions::Moved, &[]).unwrap();
    assert!(moved.iter().all(|layer| layer.largest < 1e-6), "{moved:?}");
    let kept = of(Positions::Kept, &[]).unwrap();
    assert!(kept.iter().all(|layer| layer.variation > 0.01 && layer.variation <= 1.0), "{kept:?}");
    let without: Edit = NoPositions { all: () }.into();
    let law = of(Positions::Kept, std::slice::from_ref(&without)).unwrap();
    assert!(law.iter().all(|layer| layer.largest < 1e-6), "{law:?}");
    // Beside a run that differs in more than the order nothing is said.
    let permute = Permute { order: Order::Seed(3), side: Side::Only, positions: Positions::Kept };
    let both = run(&model, &encoded, vec![without, permute.into()]);
    assert_eq!(positions::effect_of_order(&plain, &both, StackKind::SelfAttention), None);
    assert_eq!(positions::effect_of_order(&plain, &plain, StackKind::SelfAttention), None);
}

#[test]
fn the_window_shows_positions_and_a_capture_of_a_file_says_that_it_has_none() {
    let (model, encoded) = fixture("gpt2");
    let capture = run(&model, &encoded, Vec::new());
    let mut stage = Stage::new(capture, ViewKind::Positions).show(vec2(900.0, 1100.0));
    stage.run();
    stage.get_by_label("Positions in L0H0");
    let (stack, sentence) = (StackKind::SelfAttention, crate::views::sentence());
    let why = ViewKind::Positions.unavailable(&sentence, stack).unwrap();
    assert!(why.contains("open it and run it"), "{why}");
}

#[test]
fn a_figure_of_a_run_in_another_order_has_the_effect_of_every_layer() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let [figure, data] = ["figure.svg", "data.json"].map(at);
    let text = "The animal didn't cross the street because it was too tired";
    let arguments = ["render", "positions", "--model", "demo:bert", "--text", text, "--first-positions", "40"];
    let more = ["--edit", r#"{"permute":3,"positions":"moved"}"#, "--out", &figure, "--data", &data];
    let output = Command::new(env!("CARGO_BIN_EXE_attnscope")).args(arguments).args(more).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let figure = fs::read_to_string(&figure).unwrap();
    for said in ["10000^(2i/d)", "Alike by distance", "The permuted patterns of the other run", "40 of 128 positions"] {
        assert!(figure.contains(said), "{said}");
    }
    let data: Value = serde_json::from_str(&fs::read_to_string(&data).unwrap()).unwrap();
    let rows = data["rows"].as_array().unwrap();
    let of = |part: &str| rows.iter().filter(|row| row["part"] == part).count();
    assert_eq!((of("embedding"), of("cosine"), of("order")), (40 * 192, 40 * 40, 2 * 6));
}
