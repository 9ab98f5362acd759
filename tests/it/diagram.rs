//! The model as boxes: what is in them, and a click that opens a layer or selects a head.

use std::{fs, process::Command};

use attnscope::{
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
