//! Arrows from patch to patch on a picture, and colours that are not weights.

use std::{collections::BTreeMap, fs, sync::Arc};

use attnscope::{
    analysis::reading::{Captures, LeaveOut, Reading, read},
    capture::{Capture, CaptureParts, Matrix, PerHead, Site, StackCapture},
    figure::{
        pen::Medium,
        views::image::{
            PatchColors,
            arrows::{Mark, Shape, high, marks},
            flows::{FlowFilter, FlowKind, Flows, MAX_ARROWS, Target},
            layout::ImageLayout,
            weights::{OverlayToken, PatchRole},
        },
    },
    ids::{HeadId, Side, StackKind},
    session::{Command, SelectionCommand, ViewKind},
    text::weight_text,
};
use eframe::egui::{Event, Key, Rect, pos2, vec2};
use egui_kittest::kittest::Queryable as _;

use crate::{
    render::{attnscope, sample, texts},
    support::{stacks, synthetic},
    views::Stage,
};

/// Two by two patches after CLS; rows are queries. The first patch looks at its neighbour, the second at CLS, the
/// third at itself, the last at everything alike.
const WEIGHTS: [[f32; 5]; 5] = [
    [0.2, 0.2, 0.2, 0.2, 0.2],
    [0.1, 0.2, 0.6, 0.1, 0.0],
    [0.7, 0.1, 0.1, 0.05, 0.05],
    [0.1, 0.1, 0.1, 0.6, 0.1],
    [0.2, 0.2, 0.2, 0.2, 0.2],
];

fn known() -> Capture {
    let made = synthetic::image_capture((2, 2));
    let mut stacks = made.stacks().to_vec();
    for layer in stacks.iter_mut().flat_map(|stack| &mut stack.layers) {
        layer.sites.set(Site::Pattern, PerHead::new([WEIGHTS.as_flattened(); 5].concat(), [5, 5, 5]).unwrap());
    }
    with_stacks(&made, stacks)
}

/// The same with other recordings.
pub fn with_stacks(made: &Capture, stacks: Vec<StackCapture>) -> Capture {
    Capture::new(CaptureParts {
        id: made.id(),
        model: Arc::clone(made.model()),
        input: made.input().clone(),
        tokens: BTreeMap::from([(Side::Only, made.tokens(Side::Only).to_vec())]),
        stacks,
        image: made.image().cloned(),
        logits: None,
        prediction: None,
        generated: None,
        sequences: std::collections::BTreeMap::new(),
        computation: made.computation().clone(),
        notes: Vec::new(),
    })
    .unwrap()
}

fn filter(kind: FlowKind, least: f32) -> FlowFilter {
    FlowFilter { kind, least }
}

/// Queries and keys of what is drawn, from the strongest on.
fn drawn(flows: &Flows) -> Vec<(usize, usize)> {
    flows.drawn.iter().rev().map(|flow| (flow.query, flow.key)).collect()
}

#[test]
fn a_known_pattern_gives_exactly_its_arrows() {
    let capture = known();
    let image = capture.image().unwrap();
    let reading = Reading::of(HeadId::single(0, 0));
    let pattern = read(Captures::one(&capture), &reading).unwrap();
    let of = |kind, least| Flows::of(&pattern, image, filter(kind, least));

    let strongest = of(FlowKind::Strongest, 0.05);
    assert_eq!(drawn(&strongest), [(2, 0), (1, 2), (3, 3), (4, 0)], "of equal weights the first key");
    let targets: Vec<Target> = strongest.drawn.iter().rev().map(|flow| flow.target).collect();
    assert_eq!(targets, [Target::Prefix, Target::Patch, Target::Itself, Target::Prefix]);
    assert_eq!((strongest.n_found, strongest.n_candidates), (4, 4));
    let fewer = of(FlowKind::Strongest, 0.5);
    assert_eq!((drawn(&fewer), fewer.n_candidates), (vec![(2, 0), (1, 2), (3, 3)], 4));
    assert_eq!(
        fewer.in_words(&pattern, filter(FlowKind::Strongest, 0.5), &["[CLS]".to_owned()]),
        "3 arrows, 1 patch left out (below 0.5); each leads from a patch to what it attends to most (ring: itself, \
         square: [CLS])"
    );
    let all = of(FlowKind::All, 0.2);
    assert_eq!(drawn(&all), [(2, 0), (1, 2), (3, 3), (1, 1), (4, 0), (4, 1), (4, 2), (4, 3), (4, 4)]);
    assert_eq!((all.n_found, all.n_candidates), (9, 20), "CLS asks nothing here");
    assert_eq!(of(FlowKind::All, 0.0).n_found, 19, "a weight of 0 has no arrow");

    // As it is read: without CLS, each row shared out over the rest.
    let without = Reading { leave_out: LeaveOut { special: true, ..LeaveOut::default() }, ..reading };
    let without = read(Captures::one(&capture), &without).unwrap();
    let flows = Flows::of(&without, image, FlowFilter::usual(FlowKind::Strongest));
    assert_eq!(drawn(&flows), [(1, 2), (3, 3), (2, 1), (4, 1)]);
    assert!((flows.drawn[3].weight - 0.6 / 0.9).abs() < 1e-6);
    assert_eq!(Flows::of(&without, image, filter(FlowKind::All, 0.0)).n_candidates, 16);
}

#[test]
fn arrows_rings_and_squares_stand_where_their_patches_are() {
    let capture = known();
    let image = capture.image().unwrap();
    let pattern = read(Captures::one(&capture), &Reading::of(HeadId::single(0, 0))).unwrap();
    let flows = Flows::of(&pattern, image, FlowFilter::usual(FlowKind::Strongest));
    let layout = ImageLayout::compute(Rect::from_min_size(pos2(0.0, 0.0), vec2(500.0, 400.0)), image, Medium::Paper);
    let all = marks(&flows, &layout, image, high(&pattern), None);
    let mark = |query: usize| all.iter().find(|mark| mark.flow.query == query).unwrap();
    let cell = |position: usize| layout.token_rect(position);
    let Shape::Arrow { from, control, neck, tip, .. } = mark(1).shape else { panic!("{:?}", mark(1)) };
    assert!(cell(1).contains(from) && cell(2).contains(tip) && from.x < neck.x && neck.x < tip.x);
    assert!(control.y < cell(1).center().y, "it is bent to its left");
    let Shape::Square(square) = mark(2).shape else { panic!("{:?}", mark(2)) };
    assert!(cell(2).contains_rect(square) && square.center().distance(cell(2).center()) < 1e-3);
    let Shape::Ring { center, radius } = mark(3).shape else { panic!("{:?}", mark(3)) };
    assert!(center == cell(3).center() && radius < cell(3).height() / 2.0);
    assert!(mark(2).width > mark(1).width && mark(1).width > mark(4).width, "width grows with the weight");
    assert!(mark(2).opacity > mark(1).opacity && mark(1).opacity > mark(4).opacity);

    let outstanding = |held: (usize, PatchRole)| -> Vec<usize> {
        let marks = marks(&flows, &layout, image, high(&pattern), Some(held));
        let own = |mark: &&Mark| !mark.is_faint;
        let n = marks.iter().filter(own).count();
        assert_eq!(marks.iter().rev().take(n).filter(own).count(), n, "they are painted over the others");
        marks.iter().rev().filter(own).map(|mark| mark.flow.query).collect()
    };
    assert_eq!(outstanding((1, PatchRole::Query)), [1]);
    assert_eq!(outstanding((2, PatchRole::Key)), [1]);
    assert_eq!(outstanding((0, PatchRole::Query)), [2, 4], "nothing leaves CLS: what ends there stands out");
}

#[test]
fn of_too_many_arrows_the_strongest_are_kept_and_counted() {
    let capture = synthetic::image_capture((6, 6));
    let pattern = read(Captures::one(&capture), &Reading::of(HeadId::single(0, 4))).unwrap();
    let all = filter(FlowKind::All, 0.0);
    let flows = Flows::of(&pattern, capture.image().unwrap(), all);
    assert_eq!((flows.drawn.len(), flows.n_candidates), (MAX_ARROWS, 36 * 37));
    assert!(flows.n_found > MAX_ARROWS);
    let weakest = flows.drawn[0].weight;
    let stronger = pattern.matrix.rows().skip(1).flatten().filter(|&&weight| weight > weakest).count();
    assert!(stronger <= MAX_ARROWS, "{stronger} are stronger than the weakest that is drawn");
    let words = flows.in_words(&pattern, all, &["[CLS]".to_owned()]);
    assert_eq!(flows.n_found, flows.n_candidates, "softmax gives something to everything");
    let said = "the 1,000 strongest of 1,332 arrows; each leads from a patch to what it attends to";
    assert!(words.starts_with(said), "{words}");
}

#[test]
fn the_window_shows_arrows_in_place_of_the_overlay_and_says_so() {
    let mut stage = Stage::new(known(), ViewKind::Image);
    let mut options = stage.session.pane().options.clone();
    options.image.flows = Some(FlowKind::Strongest);
    options.image.strongest_from = 0.5;
    let _ = stage.session.apply(Command::SetViewOptions(options));
    let mut stage = stage.show(vec2(900.0, 700.0));
    stage.run();
    assert!(stage.query_by_label_contains("L0H0: 3 arrows, 1 patch left out (below 0.5)").is_some());
    stage.get_by_label("Prefix token [CLS]").hover();
    stage.run();
    assert!(stage.query_by_label("r0 c1").is_some(), "the readout names the patch that attends to CLS");
    assert!(stage.query_by_label("0.700").is_some());
}

#[test]
fn words_that_attend_to_patches_have_no_arrows() {
    let mut stage = Stage::new(stacks::caption_capture((4, 5)), ViewKind::Heads);
    let mut options = stage.session.pane().options.clone();
    options.image.flows = Some(FlowKind::All);
    let _ = stage.session.apply(Command::SetViewOptions(options));
    let _ = stage.session.apply(Command::Select(SelectionCommand::Stack(StackKind::Cross)));
    let _ = stage.session.apply(Command::Select(SelectionCommand::ShowView(ViewKind::Image)));
    assert_eq!(stage.session.figure().unwrap().spec.options.image.flows, None, "a figure is what is on screen");
    let mut stage = stage.show(vec2(1000.0, 700.0));
    stage.run();
    assert!(stage.query_by_label_contains("mean over all queries").is_some(), "the overlay stays");
    assert!(stage.query_by_label_contains("arrow").is_none());
}

#[test]
fn flows_are_rendered_with_their_numbers_and_their_meaning() {
    let folder = tempfile::tempdir().unwrap();
    let of = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let coffee = sample("coffee.jpg");
    let vit = ["--model", "demo:vit", "--image", &coffee, "--layer", "1", "--head", "2"];
    let (svg, csv) = (of("flows.svg"), of("flows.csv"));
    let flags = ["render", "image", "--flows", "all", "--threshold", "0.15", "--out", &svg, "--data", &csv];
    assert!(attnscope(&[&flags[..], &vit].concat()).status.success());
    let numbers = fs::read_to_string(&csv).unwrap();
    let weights: Vec<f32> =
        numbers.lines().skip(1).map(|row| row.rsplit(',').next().unwrap().parse().unwrap()).collect();
    assert!(!weights.is_empty() && weights.iter().all(|weight| *weight >= 0.15), "{numbers}");
    let below = texts(&fs::read(&svg).unwrap()).join(" ");
    let n = if weights.len() == 1 { "1 arrow,".to_owned() } else { format!("{} arrows,", weights.len()) };
    assert!(below.contains(&n) && below.contains("left out (below 0.15)"), "{below}");
    let (json, captions) = (of("flows.json"), ["--model", "demo:captions", "--image", &coffee]);
    let strongest = ["render", "image", "--flows", "--data", &json];
    assert!(attnscope(&[&strongest[..], &vit].concat()).status.success());
    let json: serde_json::Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    assert_eq!(json["figure"]["options"]["flows"], serde_json::json!({ "show": "strongest", "threshold": 0.05 }));
    for (arguments, said) in [
        ([&["render", "image", "--flows", "--out", &svg], &captions[..]].concat(), "the cross stack is also of words"),
        (
            [&["render", "heatmap", "--flows", "--out", &svg], &vit[..]].concat(),
            "--flows is an option of picture, not of heatmap",
        ),
        ([&["render", "image", "--flows", "some", "--out", &svg], &vit[..]].concat(), "strongest, all"),
    ] {
        let output = attnscope(&arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && stderr.contains(said), "{arguments:?}: {stderr}");
    }
}

/// The mean row of the five queries is 0.26, 0.16, 0.24, 0.23, 0.11.
#[test]
fn a_patch_less_the_mean_is_its_row_less_that_of_all_queries() {
    let read =
        read(Captures::one(&known()), &Reading::of(HeadId { stack: StackKind::SelfAttention, layer: 0, head: 0 }));
    let (read, token) = (read.unwrap(), OverlayToken::Token(1).colored_by(PatchColors::LessMean));
    let near = |found: Vec<f32>, expected: [f32; 5]| {
        let is_near = found.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 1e-6);
        assert!(found.len() == 5 && is_near, "{found:?}");
    };
    near(token.weights(&read, PatchRole::Query), [-0.16, 0.04, 0.36, -0.13, -0.11]);
    // As a key, each query's weight on it less the mean weight of that query, 0.2.
    near(token.weights(&read, PatchRole::Key), [0.0, 0.0, -0.1, -0.1, 0.0]);
    assert!(token.is_signed(&read) && !OverlayToken::Token(1).is_signed(&read));
    assert_eq!(
        OverlayToken::Mean.colored_by(PatchColors::LessMean),
        OverlayToken::Mean,
        "nothing is left of the mean itself"
    );
}

#[test]
fn the_window_shows_a_patch_less_the_mean_and_says_so() {
    let mut stage = Stage::new(known(), ViewKind::Image);
    let mut options = stage.session.pane().options.clone();
    options.image.patch_colors = PatchColors::LessMean;
    let _ = stage.session.apply(Command::SetViewOptions(options));
    let mut stage = stage.show(vec2(900.0, 700.0));
    stage.run();
    assert!(stage.query_by_label_contains("attends to, less the mean over all queries").is_some());
}

#[test]
fn colours_less_the_mean_are_rendered_with_their_numbers_and_their_meaning() {
    let folder = tempfile::tempdir().unwrap();
    let of = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (scene, svg, csv) = (sample("scene-1.png"), of("less.svg"), of("less.csv"));
    let picture = ["render", "picture", "--model", "demo:captions", "--image", &scene, "--generate", "16"];
    let less = ["--head", "2", "--query", "2", "--patch-colors", "less-mean", "--out", &svg, "--data", &csv];
    let output = attnscope(&[&picture[..], &less].concat());
    assert!(output.status.success(), "{output:?}");
    let numbers = fs::read_to_string(&csv).unwrap();
    assert!(numbers.lines().next().unwrap().ends_with(",weight_less_mean"), "{numbers}");
    let sum: f32 = numbers.lines().skip(1).map(|row| row.rsplit(',').next().unwrap().parse::<f32>().unwrap()).sum();
    assert!(sum.abs() < 1e-5, "rows and their mean sum to 1: {sum}");
    let told = texts(&fs::read(&svg).unwrap()).join(" ");
    assert!(told.contains("less the mean over all queries"), "{told}");
    let both = ["--patch-colors", "less-mean", "--flows", "--out", &svg];
    assert_eq!(attnscope(&[&picture[..], &both].concat()).status.code(), Some(2));
}

#[test]
fn norms_and_components_of_patches_are_rendered_with_their_numbers_and_their_meaning() {
    let folder = tempfile::tempdir().unwrap();
    let of = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (coffee, svg, csv) = (sample("coffee.jpg"), of("stream.svg"), of("stream.csv"));
    let picture = ["render", "picture", "--model", "demo:vit", "--image", &coffee, "--layer", "3", "--out", &svg];
    let drawn = |patch_colors: &str| {
        let output = attnscope(&[&picture[..], &["--patch-colors", patch_colors, "--data", &csv]].concat());
        assert!(output.status.success(), "{output:?}");
        (texts(&fs::read(&svg).unwrap()).join(" "), fs::read_to_string(&csv).unwrap())
    };
    let (told, norms) = drawn("norms");
    assert!(norms.lines().next().unwrap().ends_with(",norm") && norms.lines().count() == 1 + 65, "{norms}");
    let question = "Which patches have long vectors in layer 3?";
    assert!(told.contains(question) && told.contains("the residual stream before layer 3: median"), "{told}");
    assert!(told.contains("Not attention"), "{told}");
    let (told, places) = drawn("components");
    let columns = ",component_1,component_2,component_3";
    assert!(places.lines().next().unwrap().ends_with(columns) && places.lines().count() == 1 + 65, "{places}");
    assert!(told.contains("of the variance") && told.contains("Which patches are alike in layer 3?"), "{told}");
}

/// Five vectors: CLS, three of length 5 and one of 20.
#[test]
fn the_window_says_which_patches_have_long_vectors_and_what_attention_they_get() {
    let made = known();
    let mut stacks = made.stacks().to_vec();
    let stream = [[9.0, 12.0], [3.0, 4.0], [12.0, 16.0], [0.0, 5.0], [5.0, 0.0]];
    let width = made.model().d_model / 2;
    let stream: Vec<f32> =
        stream.into_iter().flat_map(|pair| pair.into_iter().chain(vec![0.0; 2 * width - 2])).collect();
    for layer in stacks.iter_mut().flat_map(|stack| &mut stack.layers) {
        layer.sites.set(Site::ResidPre, Matrix::new(stream.clone(), [5, 2 * width]).unwrap());
    }
    let stage = |capture: Capture, patch_colors: PatchColors| {
        let mut stage = Stage::new(capture, ViewKind::Image);
        let mut options = stage.session.pane().options.clone();
        options.image.patch_colors = patch_colors;
        let _ = stage.session.apply(Command::SetViewOptions(options));
        let mut stage = stage.show(vec2(900.0, 700.0));
        stage.run();
        stage
    };
    let capture = with_stacks(&made, stacks);
    let norms = stage(capture.clone(), PatchColors::Norms);
    // The mean weight on the second patch is 0.24 of 1.
    let said = "median 5.00, largest 20.0; 1 patch from 4 × the median on, ringed: 24 % of the attention of L0H0";
    assert!(norms.query_by_label_contains(said).is_some());
    assert!(norms.query_by_label("Picture with values that are not attention").is_some());
    assert!(stage(capture, PatchColors::Components).query_by_label_contains("of the variance").is_some());
    assert!(stage(made, PatchColors::Norms).query_by_label_contains("of layer 0 was not recorded").is_some());
}

#[test]
fn layers_are_played_up_to_the_last() {
    let mut stage = Stage::new(synthetic::image_capture((2, 2)), ViewKind::Image).show(vec2(900.0, 700.0));
    stage.run_steps(4);
    let layer = |stage: &egui_kittest::Harness<'_, Stage>| stage.state().session.pane().selection.head.layer;
    stage.get_by_label("Play").click();
    // A quarter of a second each.
    stage.run_steps(2);
    assert_eq!(layer(&stage), 0, "a layer is shown for six tenths of a second");
    stage.run_steps(6);
    assert_eq!(layer(&stage), 1);
    stage.run_steps(8);
    assert!(layer(&stage) == 1 && stage.query_by_label("Play").is_some(), "it ends with the last layer");
    stage.get_by_label("Play").click();
    stage.run_steps(2);
    assert_eq!(layer(&stage), 0, "it begins anew from there");
    stage.get_by_label("Stop").click();
    // Until the click is through the next layer may come.
    stage.run_steps(2);
    let stopped = layer(&stage);
    stage.get_by_label("Play");
    stage.run_steps(8);
    assert_eq!(layer(&stage), stopped);
}

#[test]
fn space_plays_layers_while_the_pointer_is_over_the_picture() {
    let mut stage = Stage::new(synthetic::image_capture((2, 2)), ViewKind::Image).show(vec2(900.0, 700.0));
    stage.run_steps(4);
    stage.event(Event::PointerMoved(pos2(450.0, 400.0)));
    stage.run_steps(2);
    stage.key_press(Key::Space);
    stage.run_steps(2);
    assert!(stage.query_by_label("Stop").is_some());
    stage.run_steps(8);
    let layer = |stage: &egui_kittest::Harness<'_, Stage>| stage.state().session.pane().selection.head.layer;
    assert_eq!(layer(&stage), 1);
    stage.event(Event::PointerGone);
    stage.run_steps(8);
    stage.key_press(Key::Space);
    stage.run_steps(2);
    assert!(stage.query_by_label("Play").is_some(), "elsewhere the key is not that of the picture");
    assert!(stage.state().session.pane().selection.pinned.is_empty(), "Space is no click");
}

#[test]
fn tokens_before_the_patches_have_their_weight_beside_their_colour() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let (svg, csv) = (at("picture.svg"), at("picture.csv"));
    let photo = sample("rocket.jpg");
    let picture = ["render", "picture", "--model", "demo:vit", "--image", &photo, "--layer", "3", "--head", "2"];
    let output =
        attnscope(&[&picture[..], &["--query", "20", "--caption", "none", "--out", &svg, "--data", &csv]].concat());
    assert!(output.status.success(), "{output:?}");
    let table = fs::read_to_string(&csv).unwrap();
    let weight: f32 = table.lines().nth(1).unwrap().rsplit_once(',').unwrap().1.parse().unwrap();
    let told = texts(&fs::read(&svg).unwrap());
    let at = told.iter().position(|text| text == "[CLS]").unwrap();
    assert_eq!(told[at + 1], weight_text(weight), "{told:?}");
}

#[test]
fn how_far_patches_attend_is_said() {
    let mut stage = Stage::new(known(), ViewKind::Image).show(vec2(900.0, 700.0));
    stage.run();
    // Weights on patches: 0.2, 0.6, 0.1, 0 at 0, 1, 1, √2; 0.1, 0.1, 0.05, 0.05; 0.1, 0.1, 0.6, 0.1; 0.2 each.
    assert!(stage.query_by_label_contains("mean distance 0.687 patches").is_some());
}
