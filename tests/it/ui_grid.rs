//! The Grid view: every head as a small map.

use attnscope::{
    analysis::detect::{self, Detector},
    figure::views::grid::GridOptions,
    session::{Command, SelectionCommand, ViewKind},
};
use egui_kittest::kittest::Queryable as _;

use crate::{
    render,
    support::window::{Window, with_text},
};

const TEXT: &str = "one two three one two three";

fn set(window: &mut Window, edit: impl FnOnce(&mut GridOptions)) {
    let mut options = window.app().session().pane().options.clone();
    edit(&mut options.grid);
    window.app().request(Command::SetViewOptions(options));
    window.settle();
}

fn open() -> Window {
    let mut window = Window::open(with_text(TEXT));
    window.app().request(Command::Select(SelectionCommand::ShowView(ViewKind::Grid)));
    window.settle();
    window
}

#[test]
fn a_double_click_opens_a_head_and_its_cell_stands_at_layer_and_head() {
    let mut window = open();
    let stack = window.app().session().document().latest_capture().unwrap().model().stacks[0].clone();
    let n_heads: usize = (0..stack.layers.len()).map(|layer| stack.n_heads(layer)).sum();
    let maps = window.harness.get_by_label(&format!("Attention patterns of {n_heads} heads")).rect();
    let (layer, head) = (stack.layers.len() - 1, stack.n_heads(0) - 1);
    let cell = maps.size() / eframe::egui::vec2(stack.max_heads() as f32, stack.layers.len() as f32);
    let at = maps.max - cell / 2.0;
    window.harness.hover_at(at);
    window.harness.drag_at(at);
    window.harness.drop_at(at);
    window.settle();
    let shown = |window: &Window| {
        let pane = window.app().session().pane();
        (pane.view, pane.selection.head.layer, pane.selection.head.head)
    };
    assert_eq!(shown(&window), (ViewKind::Grid, layer, head), "one click selects");
    window.harness.ctx.options_mut(|options| options.input_options.max_double_click_delay = 5.0);
    for _ in 0..2 {
        window.harness.drag_at(at);
        window.harness.drop_at(at);
    }
    window.settle();
    assert_eq!(shown(&window), (ViewKind::Heads, layer, head));
    let heads = window.app().session().pane().selection.heads_on();
    assert!(heads.is_only(head, stack.n_heads(layer)), "alone");
}

#[test]
fn heads_are_sorted_by_a_kind_and_those_below_its_threshold_left_out() {
    let mut window = open();
    set(&mut window, |options| options.sort_by = Some(Detector::Previous.into()));
    window.until("the ranking", |window| window.shows("By previous token, highest first"));
    let capture = window.app().session().document().latest_capture().unwrap().clone();
    let kinds = detect::kinds(&capture, capture.model().stacks[0].kind, &mut || true).unwrap();
    let n = kinds.of(Detector::Previous).unwrap().n_of_kind();
    set(&mut window, |options| options.of_kind = true);
    let expected = match n {
        0 => "No head is of the kind previous token; the highest score is".to_owned(),
        1 => "Attention patterns of 1 head".to_owned(),
        n => format!("Attention patterns of {n} heads"),
    };
    window.until("heads of the kind, or that there are none", |window| window.shows(&expected));
    // Special tokens have no score where there are none: the reason and the way on.
    set(&mut window, |options| options.sort_by = Some(Detector::Punctuation.into()));
    window.until("the reason", |window| {
        window.shows("Heads have no number for delimiter: there is no full stop or comma. Sort by another one")
    });
}

/// The question and the order of a model that was never open before.
#[test]
fn heads_are_sorted_by_their_largest_weight_off_the_first_token() {
    let mut window = open();
    set(&mut window, |options| options.sort_by = Some(Detector::Content.into()));
    window.until("the ranking", |window| window.shows("By content token, highest first: 12 heads"));
    assert_eq!(window.questions(), ["Which of its 12 heads is worth a look?"]);
    set(&mut window, |options| options.of_kind = true);
    window.until("all heads", |window| window.shows("Attention patterns of 12 heads"));
    assert!(!window.shows("Only heads of this kind"), "no head is called so");
}

#[test]
fn tokens_under_the_pointer_are_those_of_the_map() {
    let mut window = open();
    window.until("maps", |window| window.shows("click one to open it"));
    let maps = window.harness.query_all_by_label_contains("Attention patterns of").next().unwrap().rect();
    let stack = window.app().session().document().latest_capture().unwrap().model().stacks[0].clone();
    let cell = maps.size() / eframe::egui::vec2(stack.max_heads() as f32, stack.layers.len() as f32);
    window.harness.hover_at(maps.min + cell * eframe::egui::vec2(0.12, 0.9));
    window.harness.run_steps(2);
    let hover = window.app().session().pane().selection.hover;
    assert!(hover.query.is_some() && hover.key == Some(0), "{hover:?}");
}

#[test]
fn the_figure_has_the_numbers_of_every_head_and_refuses_other_views_options() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("grid.csv");
    let base = ["--model", "demo:gpt", "--text", "Once upon a time"];
    let draw = |more: &[&str]| {
        let out = folder.path().join("grid.svg");
        render::attnscope(
            &[&["render"], more, &base[..], &["--out", out.to_str().unwrap(), "--data", data.to_str().unwrap()]]
                .concat(),
        )
    };
    assert!(draw(&["grid"]).status.success());
    let of_head = || {
        let text = std::fs::read_to_string(&data).unwrap();
        text.lines().filter(|line| line.starts_with("self,3,5,")).map(str::to_owned).collect::<Vec<_>>()
    };
    let all = of_head();
    assert!(draw(&["heatmap", "--layer", "3", "--head", "5"]).status.success());
    assert!(!all.is_empty() && all == of_head(), "{all:?}");
    assert!(draw(&["grid", "--own-scale"]).status.success());
    let svg = std::fs::read_to_string(folder.path().join("grid.svg")).unwrap();
    assert!(svg.contains("largest of each head"), "the scale of the sheet says so");
    assert!(draw(&["grid", "--sort-by", "content"]).status.success());
    let texts = render::texts(&std::fs::read(folder.path().join("grid.svg")).unwrap());
    let score = |text: &String| text.strip_prefix('L')?.split_once(' ')?.1.trim_start_matches('<').parse().ok();
    let scores: Vec<f32> = texts.iter().filter_map(score).collect();
    assert!(scores.len() == 48 && scores.is_sorted_by(|a, b| a >= b), "{texts:?}");
    let refused = draw(&["grid", "--minus", "L0H0"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("every head for itself"));
    let refused = draw(&["heatmap", "--sort-by", "previous"]);
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--sort-by is an option of grid"));
}
