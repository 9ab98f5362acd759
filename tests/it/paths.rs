//! Paths through all layers: their numbers, the window and figures.

use std::fs;

use attnscope::{
    analysis::{
        explain::{
            flow::pair_flow,
            rollout::{RolloutOptions, rollout},
        },
        paths::{LayerGraph, Node, PathEdge, PathHeads, PathMeasure, PathNumbers},
    },
    capture::{Capture, PerHead},
    figure::{
        ViewKind,
        views::paths::layout::{Extent, PathsLayout},
    },
    ids::{HeadId, Side, StackKind},
    model::{RunPlan, Site, Sites, uninterrupted},
    session::{Command, Focus, SelectionCommand},
};
use eframe::egui::{Key, vec2};
use egui_kittest::kittest::Queryable as _;
use serde_json::Value;

use crate::{
    lab::fixture,
    render::{attnscope, texts},
    support::{stacks, synthetic},
    views::Stage,
};

fn capture(folder: &str) -> Capture {
    let (model, encoded) = fixture(folder);
    let plan = RunPlan { sites: Sites::of(&[Site::Pattern]), ..RunPlan::default() };
    model.forward(&encoded, &plan, &uninterrupted).unwrap()
}

fn patterns(capture: &Capture, kind: StackKind) -> Vec<PerHead> {
    capture.stack(kind).unwrap().layers.iter().map(|layer| layer.pattern().unwrap().clone()).collect()
}

fn graph(capture: &Capture, head: HeadId) -> LayerGraph {
    LayerGraph::of(capture, head, PathHeads::Mean).unwrap()
}

fn measured(graph: &LayerGraph, measure: PathMeasure, ends: [Option<Node>; 2]) -> PathNumbers {
    graph.measured(measure, 0.5, 200, ends).unwrap()
}

fn near(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-6, "{a} {b}");
}

#[test]
fn nodes_of_a_rollout_have_the_published_shares_of_an_output() {
    for folder in ["bert", "gpt2"] {
        let capture = capture(folder);
        let graph = graph(&capture, HeadId::default());
        let last = rollout(&patterns(&capture, StackKind::SelfAttention), RolloutOptions::default()).unwrap();
        let last = last.last().unwrap();
        for query in 0..last.n_rows() {
            let ends = [graph.node(Side::Only, 1, query), None];
            let numbers = measured(&graph, PathMeasure::Rollout, ends);
            for (share, expected) in numbers.nodes[0].iter().zip(last.row(query).unwrap()) {
                near(*share, f64::from(*expected));
            }
            let both = measured(&graph, PathMeasure::Rollout, [ends[0], graph.node(Side::Only, 0, 0)]);
            for level in &both.nodes {
                near(level.iter().sum(), f64::from(last.get(query, 0).unwrap()));
            }
        }
    }
}

#[test]
fn edges_of_a_flow_carry_the_maximum_flow_of_their_pair() {
    let capture = capture("bert");
    let graph = graph(&capture, HeadId::default());
    let ends = [graph.node(Side::Only, 1, 2), graph.node(Side::Only, 0, 4)];
    let numbers = measured(&graph, PathMeasure::Flow, ends);
    let patterns = patterns(&capture, StackKind::SelfAttention);
    let pair = pair_flow(&patterns, 2, 4, RolloutOptions::default()).unwrap();
    for level in &numbers.nodes {
        near(level.iter().sum(), pair.value);
    }
    let unasked = measured(&graph, PathMeasure::Flow, [None, None]);
    assert!(unasked.ends.iter().all(Option::is_some), "a pair is chosen where none is held");
}

#[test]
fn a_decoder_passes_on_what_it_gets_of_its_encoder_and_of_itself() {
    let capture = capture("families/t5");
    let graph = graph(&capture, HeadId { stack: StackKind::Cross, ..HeadId::default() });
    assert_eq!(graph.streams.iter().map(|it| it.side).collect::<Vec<_>>(), [Side::Encoder, Side::Decoder]);
    let n_layers = |kind| capture.model().stack(kind).unwrap().layers.len();
    assert_eq!(graph.n_layers(), n_layers(StackKind::Encoder) + n_layers(StackKind::Decoder));
    let query = graph.node(Side::Decoder, 1, 1).unwrap();
    let numbers = graph.measured(PathMeasure::Rollout, 0.5, usize::MAX, [Some(query), None]).unwrap();
    near(numbers.nodes[0].iter().sum(), 1.0);
    let of = |kind: StackKind| {
        numbers.edges.iter().filter(move |edge| edge.stack == kind).map(|edge| f64::from(edge.value)).sum::<f64>()
    };
    let encoder = &graph.streams[0];
    let reaches: f64 = numbers.nodes[encoder.ends[1]][..encoder.n].iter().sum();
    near(of(StackKind::Cross), reaches);
    // Half of what comes into each layer goes to the encoder, whose attention sums to 1.
    near(reaches, 1.0 - 0.5f64.powi(n_layers(StackKind::Decoder) as i32));
    let of_other = LayerGraph::of(&capture, HeadId { stack: StackKind::Encoder, ..HeadId::default() }, PathHeads::Mean);
    assert_eq!(of_other.unwrap(), graph, "the picture is the same from every stack");
}

#[test]
fn the_strongest_path_is_the_largest_product_of_all() {
    let capture = synthetic::text_capture(4, 3, 2);
    let graph = graph(&capture, HeadId::default());
    let raw = graph.measured(PathMeasure::Raw, 0.5, usize::MAX, [None, None]).unwrap();
    let weight = |from: usize, to: usize, layer: usize| {
        let is_meant = |edge: &&PathEdge| edge.layer == layer && edge.from.token == from && edge.to.token == to;
        raw.edges.iter().find(is_meant).map_or(0.0, |edge| edge.factor)
    };
    let mut best: f64 = 0.0;
    for a in 0..4 {
        for b in 0..4 {
            best = best.max(weight(3, a, 2) * weight(a, b, 1) * weight(b, 1, 0));
        }
    }
    let ends = [graph.node(Side::Only, 1, 3).unwrap(), graph.node(Side::Only, 0, 1).unwrap()];
    let path = graph.strongest(PathMeasure::Raw, 0.5, ends).unwrap();
    near(path.product, best);
    assert_eq!(path.nodes.len(), 4);
    assert_eq!([path.nodes[0], path.nodes[3]], ends);
}

#[test]
fn the_strongest_edges_are_drawn_with_their_part_of_all() {
    let capture = synthetic::text_capture(6, 2, 2);
    let graph = graph(&capture, HeadId::default());
    let all = graph.measured(PathMeasure::Raw, 0.5, usize::MAX, [None, None]).unwrap();
    near(all.part, 1.0);
    assert_eq!(all.edges.len(), all.n_edges);
    let some = graph.measured(PathMeasure::Raw, 0.5, 5, [None, None]).unwrap();
    assert_eq!(some.edges, all.edges[..5]);
    let sum = |edges: &[PathEdge]| edges.iter().map(|edge| f64::from(edge.value)).sum::<f64>();
    near(some.part, sum(&some.edges) / sum(&all.edges));
    let head = HeadId::single(1, 1);
    let selected = LayerGraph::of(&capture, head, PathHeads::Selected).unwrap();
    let selected = selected.measured(PathMeasure::Raw, 0.5, usize::MAX, [None, None]).unwrap();
    for edge in &selected.edges {
        let pattern = capture.stacks()[0].layers[edge.layer].pattern().unwrap();
        let [own, mean] = [
            pattern.head(1).unwrap().get(edge.from.token, edge.to.token).unwrap(),
            pattern.mean().unwrap().get(edge.from.token, edge.to.token).unwrap(),
        ];
        near(f64::from(edge.weight), f64::from(if edge.layer == 1 { own } else { mean }));
    }
}

#[test]
fn layers_that_cannot_be_multiplied_are_refused_with_the_reason() {
    let classic = capture("families/rnnsearch-dot");
    let head = HeadId { stack: classic.model().stacks[0].kind, ..HeadId::default() };
    let graph = graph(&classic, head);
    assert!(graph.measured(PathMeasure::Raw, 0.5, 9, [None, None]).is_ok());
    let refused = graph.measured(PathMeasure::Rollout, 0.5, 9, [None, None]).unwrap_err();
    assert_eq!(refused, "Layers cannot be multiplied: they do not attend to their own sequence");
    let long = stacks::summary_capture(300, 100);
    let why = ViewKind::Paths.unavailable(&long, StackKind::Cross).unwrap();
    assert!(why.contains("up to 384 tokens"), "{why}");
}

#[test]
fn a_click_holds_an_output_and_an_input_and_arrows_go_from_node_to_node() {
    let capture = capture("families/t5");
    let graph = graph(&capture, HeadId { stack: StackKind::Cross, ..HeadId::default() });
    let mut stage = Stage::new(capture, ViewKind::Paths).show(vec2(900.0, 700.0));
    stage.state_mut().session.panes.active_mut().selection.head.stack = StackKind::Decoder;
    stage.run();
    let canvas = stage.get_by_label("Paths through all layers").rect();
    let layout = PathsLayout::of(Extent::of(&graph, 40.0), canvas);
    let [output, input] = [graph.node(Side::Decoder, 1, 2).unwrap(), graph.node(Side::Encoder, 0, 1).unwrap()];
    for (node, stack, pinned) in
        [(output, StackKind::Decoder, Focus::query(2)), (input, StackKind::Cross, Focus::cell(2, 1))]
    {
        let at = layout.at(&graph, node);
        assert_eq!(layout.node_at(&graph, at), Some(node));
        stage.hover_at(at);
        stage.run();
        stage.drag_at(at);
        stage.drop_at(at);
        stage.run();
        let selection = &stage.state().session.pane().selection;
        assert_eq!((selection.stack(), selection.pinned), (stack, pinned));
    }
    stage.remove_cursor();
    stage.get_by_label_contains("Paths through all layers").focus();
    stage.run();
    stage.get_by_label_contains("output of the decoder");
    stage.key_press(Key::ArrowDown);
    stage.run();
    stage.get_by_label_contains("behind layer 0 of the decoder");
    let asked = &stage.state().asked;
    assert!(asked.contains(&Command::Select(SelectionCommand::Stack(StackKind::Cross))));
}

#[test]
fn figures_say_how_much_they_draw_and_have_a_row_per_edge() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let [svg, pdf, png, data] = ["paths.svg", "paths.pdf", "paths.png", "paths.json"].map(at);
    let text = "The animal didn't cross the street because it was too tired";
    for figure in [&svg, &pdf, &png] {
        let output = attnscope(&[
            "render",
            "paths",
            "--model",
            "demo:gpt",
            "--text",
            text,
            "--path-edges",
            "40",
            "--query",
            "11",
            "--key",
            "1",
            "--out",
            figure,
            "--data",
            &data,
        ]);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let said = texts(&fs::read(&svg).unwrap()).join(" ");
    for part in ["Which way leads from", "Top 40 of", "of the attention", "strongest path", "Input", "L3"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let read: Value = serde_json::from_str(&fs::read_to_string(&data).unwrap()).unwrap();
    let rows = read["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 40);
    assert!(rows.windows(2).all(|pair| pair[0]["weight"].as_f64() >= pair[1]["weight"].as_f64()));
    let output = attnscope(&[
        "render",
        "paths",
        "--model",
        "demo:translate",
        "--text",
        ">>deu<< A small dog",
        "--path-measure",
        "flow",
        "--out",
        &svg,
        "--data",
        &data,
    ]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = texts(&fs::read(&svg).unwrap()).join(" ");
    for part in ["Flow: which way", "Not attention", "Encoder", "Decoder"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let read: Value = serde_json::from_str(&fs::read_to_string(&data).unwrap()).unwrap();
    let stacks: Vec<&str> = read["rows"].as_array().unwrap().iter().map(|row| row["stack"].as_str().unwrap()).collect();
    assert!(["encoder", "decoder", "cross"].iter().all(|stack| stacks.contains(stack)), "{stacks:?}");
    assert!(read["rows"][0]["flow"].as_f64().unwrap() > 0.0);
}
