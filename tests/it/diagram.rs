//! The model as boxes: what is in them, and a click that opens a layer or selects a head.

use std::{fs, process::Command};

use attnscope::{
    analysis::stream_norms::StreamNorms,
    capture::Capture,
    figure::{
        ViewKind,
        views::diagram::{
            DiagramScene,
            layout::{Kind, Target, height, width},
        },
    },
    ids::{HeadId, StackKind},
    model::{RunPlan, Site, Sites, uninterrupted},
};
use eframe::egui::{Pos2, Rect, vec2};
use egui_kittest::kittest::Queryable as _;
use serde_json::Value;

use crate::{lab::fixture, views::Stage};

fn capture(folder: &str) -> Capture {
    let (model, encoded) = fixture(folder);
    let plan = RunPlan { sites: Sites::of(&[Site::Pattern]), ..RunPlan::default() };
    model.forward(&encoded, &plan, &uninterrupted).unwrap()
}

fn area(scene: &DiagramScene) -> Rect {
    Rect::from_min_size(Pos2::ZERO, vec2(width(scene.architecture.towers.len()), height(scene)))
}

/// The kinds of the boxes from the bottom up, without heads.
fn kinds(folder: &str, head: HeadId) -> Vec<Kind> {
    let capture = capture(folder);
    let scene = DiagramScene::new(&capture, head).unwrap();
    let boxes = scene.boxes(area(&scene)).into_iter().map(|it| it.kind);
    boxes.filter(|kind| !matches!(kind, Kind::Head { .. })).collect()
}

#[test]
fn norms_stand_before_branches_behind_them_or_on_the_stream() {
    use Kind::{Attention, Closed, End, Mlp, Norm, Sum};
    let first = HeadId::single(0, 0);
    let gpt2 = [End, End, Norm, Attention, Sum, Norm, Mlp, Sum, Closed, Norm, End];
    assert_eq!(kinds("gpt2", first), gpt2, "before");
    let bert = [End, End, Attention, Sum, Norm, Mlp, Sum, Norm, Closed, End];
    assert_eq!(kinds("bert", first), bert, "behind the addition");
    let gemma2 = kinds("families/gemma2", first);
    assert_eq!(gemma2[2..7], [Norm, Attention, Norm, Sum, Norm], "before and behind");
}

#[test]
fn an_encoder_stands_beside_its_decoder_with_the_heads_of_this_checkpoint() {
    let capture = capture("families/t5");
    let head = HeadId { stack: StackKind::Cross, layer: 1, head: 1 };
    let scene = DiagramScene::new(&capture, head).unwrap();
    let boxes = scene.boxes(area(&scene));
    let spec = capture.model().stack(StackKind::Cross).unwrap();
    let of_cross =
        boxes.iter().filter(|it| matches!(it.target, Some(Target::Head(head)) if head.stack == StackKind::Cross));
    assert_eq!(of_cross.clone().count(), spec.layers[1].n_heads);
    assert_eq!(of_cross.filter(|it| it.kind == Kind::Head { is_selected: true }).count(), 1);
    let [left, right] = [StackKind::Encoder, StackKind::Decoder].map(|stack| {
        let own = boxes.iter().filter(|it| matches!(it.target, Some(Target::Head(head)) if head.stack == stack));
        own.map(|it| it.rect.left()).fold(f32::INFINITY, f32::min)
    });
    assert!(left < right);
    for (nth, one) in boxes.iter().enumerate() {
        let inside = |other: &Rect| other.contains_rect(one.rect) || one.rect.contains_rect(*other);
        let apart = boxes[..nth].iter().all(|other| {
            let overlap = one.rect.intersect(other.rect);
            !overlap.is_positive() || inside(&other.rect) || one.kind == Kind::Sum || other.kind == Kind::Sum
        });
        assert!(apart, "{one:?}");
    }
}

#[test]
fn a_network_that_is_no_transformer_has_no_diagram_and_says_so() {
    let capture = capture("families/bilstm");
    let why = ViewKind::Diagram.unavailable(&capture, capture.model().stacks[0].kind).unwrap();
    assert!(why.contains("this model is none"), "{why}");
}

#[test]
fn a_click_opens_a_layer_and_selects_a_head() {
    let capture = capture("gpt2");
    let scene = DiagramScene::new(&capture, HeadId::single(0, 0)).unwrap();
    let mut stage = Stage::new(capture, ViewKind::Diagram).show(vec2(700.0, 700.0));
    stage.run();
    let canvas = stage.get_by_label("Diagram of gpt2").rect();
    let boxes = scene.boxes(canvas);
    let at = |target: Target| boxes.iter().find(|it| it.target == Some(target)).unwrap().rect.center();
    let layer = Target::Layer(StackKind::SelfAttention, 1);
    for (target, head) in [(layer, HeadId::single(1, 0)), (Target::Head(HeadId::single(0, 1)), HeadId::single(0, 1))] {
        stage.state_mut().session.panes.active_mut().selection.head = HeadId::single(0, 0);
        stage.run();
        stage.hover_at(at(target));
        stage.run();
        stage.drag_at(at(target));
        stage.drop_at(at(target));
        stage.run();
        assert_eq!(stage.state().session.pane().selection.head, head);
    }
}

#[test]
fn a_figure_names_the_shapes_of_the_input() {
    let folder = tempfile::tempdir().unwrap();
    let figure = folder.path().join("figure.svg").to_str().unwrap().to_owned();
    let arguments =
        ["render", "diagram", "--model", "demo:translate", "--text", ">>deu<< A small dog", "--out", &figure];
    let output = Command::new(env!("CARGO_BIN_EXE_attnscope")).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let figure = fs::read_to_string(&figure).unwrap();
    for said in ["cross-attention", "Token embeddings of", "Which token comes next", "wide"] {
        assert!(figure.contains(said), "{said}");
    }
}

/// Norms as the recorded rows have them, at every place of the stream in order.
#[test]
fn norms_of_the_stream_are_those_of_the_recorded_rows() {
    let sites = [Site::Pattern, Site::ResidPre, Site::AttnOut, Site::ResidMid, Site::MlpOut, Site::ResidPost];
    let sites = Sites::of(&[&sites[..], &[Site::ResidFinal]].concat());
    for (folder, stack, n_layers) in [
        ("gpt2", StackKind::SelfAttention, 2),
        ("bert", StackKind::SelfAttention, 2),
        ("families/t5", StackKind::Decoder, 2),
    ] {
        let (model, encoded) = fixture(folder);
        let plan = RunPlan { sites, ..RunPlan::default() };
        let capture = model.forward(&encoded, &plan, &uninterrupted).unwrap();
        let norms = StreamNorms::of(&capture, stack).unwrap();
        let depths: Vec<f64> = norms.stream.iter().map(|at| at.depth).collect();
        let is_normed = folder != "bert";
        assert_eq!(norms.ends_normed(), is_normed, "{folder}");
        assert_eq!(depths.len(), 2 * n_layers + 1 + usize::from(is_normed), "{folder}: {depths:?}");
        assert!(depths.windows(2).all(|pair| pair[0] < pair[1]), "{folder}: {depths:?}");
        let n_between = if stack == StackKind::Decoder { n_layers } else { 0 };
        assert_eq!(norms.added.each_ref().map(Vec::len), [n_layers, n_between, n_layers], "{folder}");
        for at in norms.all().filter(|at| at.site != Site::ResidFinal) {
            let layer = capture.layer(HeadId { stack: at.stack, layer: at.layer, head: 0 }).unwrap();
            for (row, norm) in layer.rows(at.site).unwrap().rows().zip(&at.norms) {
                let expected = row.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
                assert!((norm - expected).abs() < 1e-9, "{folder} {:?}", at.site);
            }
            assert!(at.least() <= at.mean() && at.mean() <= at.most());
        }
    }
    let without = capture("gpt2");
    assert!(DiagramScene::new(&without, HeadId::single(0, 0)).unwrap().norms.is_none(), "no stream was recorded");
}

#[test]
fn norms_stand_beside_the_towers_where_there_is_room_and_else_below() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let [figure, data] = ["figure.svg", "data.json"].map(at);
    let arguments = ["render", "diagram", "--model", "demo:gpt", "--text", "Once upon a time", "--out", &figure];
    let output =
        Command::new(env!("CARGO_BIN_EXE_attnscope")).args(arguments).args(["--data", &data]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let figure = fs::read_to_string(&figure).unwrap();
    for said in ["Norm of the stream by layer", "stream, mean", "added by attention", "after the final norm"] {
        assert!(figure.contains(said), "{said}");
    }
    let data: Value = serde_json::from_str(&fs::read_to_string(&data).unwrap()).unwrap();
    let rows = data["rows"].as_array().unwrap();
    let norm = |name: &str| rows.iter().find(|row| row["box"] == name).unwrap()["norm_mean"].as_f64().unwrap();
    assert!(norm("resid_pre.L0") > 0.0 && norm("attn_out.L5") > 0.0 && norm("resid_final") > 0.0);
    let (model, encoded) = fixture("gpt2");
    let plan = RunPlan { sites: Sites::all(), ..RunPlan::default() };
    let capture = model.forward(&encoded, &plan, &uninterrupted).unwrap();
    let scene = DiagramScene::new(&capture, HeadId::single(0, 0)).unwrap().with_token(&capture, Some(1));
    assert!(scene.token.is_some());
    let [wide, narrow] = [900.0, 400.0].map(|width| scene.least_height_in(width));
    assert!(narrow > wide + 200.0, "below each other they are higher: {narrow}, {wide}");
    let boxes = scene.boxes(Rect::from_min_size(Pos2::ZERO, vec2(400.0, narrow)));
    let foot = boxes.iter().map(|it| it.rect.bottom()).fold(0.0, f32::max);
    assert!(foot < narrow - 280.0, "towers end above the norms: {foot} of {narrow}");
}
