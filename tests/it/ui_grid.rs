//! The Grid view: every head as a small map.

use attnscope::{
    analysis::{
        detect::{self, Detector},
        head_statistics,
    },
    figure::views::grid::{CellsAs, GridOptions, GroupBy},
    ids::HeadId,
    session::{Command, Focus, SelectionCommand, ViewKind},
};
use eframe::egui::{Event, Key, Modifiers, PointerButton, Pos2, pos2, vec2};
use egui_kittest::kittest::Queryable as _;

use crate::{
    render,
    support::{
        synthetic,
        window::{Window, with_text},
    },
    views::Stage,
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

/// Where the map of a head is, by layer and head.
fn place_of(window: &Window, (layer, head): (usize, usize)) -> Pos2 {
    let maps = window.harness.query_all_by_label_contains("Attention patterns of").next().unwrap().rect();
    let stack = window.app().session().document().latest_capture().unwrap().model().stacks[0].clone();
    let cell = maps.size() / vec2(stack.max_heads() as f32, stack.layers.len() as f32);
    maps.min + cell * vec2(head as f32 + 0.5, layer as f32 + 0.5)
}

fn click(window: &mut Window, at: Pos2, times: usize, modifiers: Modifiers) {
    window.harness.hover_at(at);
    window.settle();
    // The clock of the harness runs fast.
    window.harness.ctx.options_mut(|options| options.input_options.max_double_click_delay = 5.0);
    for _ in 0..times {
        for pressed in [true, false] {
            let button = PointerButton::Primary;
            window.harness.event_modifiers(Event::PointerButton { pos: at, button, pressed, modifiers }, modifiers);
        }
    }
    window.settle();
    // The next click is no second one.
    window.harness.run_steps(30);
}

fn shown(window: &Window) -> (ViewKind, usize, usize) {
    let pane = window.app().session().pane();
    (pane.view, pane.selection.head.layer, pane.selection.head.head)
}

#[test]
fn a_double_click_opens_a_head_as_its_cell_shows_it_and_leads_back() {
    let mut window = open();
    window.until("maps", |window| window.shows("double-click one to open it"));
    let at = place_of(&window, (2, 3));
    click(&mut window, at, 1, Modifiers::NONE);
    assert_eq!(shown(&window), (ViewKind::Grid, 2, 3), "one click selects");
    click(&mut window, at, 2, Modifiers::NONE);
    assert_eq!(shown(&window), (ViewKind::Heatmap, 2, 3));
    click(&mut window, pos2(640.0, 500.0), 2, Modifiers::NONE);
    assert_eq!(shown(&window), (ViewKind::Grid, 2, 3), "the same gesture leads back");
    set(&mut window, |options| options.cells = CellsAs::Lines);
    click(&mut window, at, 2, Modifiers::NONE);
    assert_eq!(shown(&window), (ViewKind::Heads, 2, 3), "lines open as lines");
    let heads = window.app().session().pane().selection.heads_on();
    assert!(heads.is_only(3, 4), "alone");
    // What is held is let go of first.
    window.app().request(Command::Select(SelectionCommand::Pin(Focus::query(1))));
    window.settle();
    window.press(Modifiers::NONE, Key::Escape);
    assert_eq!(shown(&window).0, ViewKind::Heads);
    assert!(window.app().session().pane().selection.pinned.is_empty());
    window.press(Modifiers::NONE, Key::Escape);
    assert_eq!(shown(&window), (ViewKind::Grid, 2, 3));
    window.press(Modifiers::NONE, Key::Escape);
    assert_eq!(shown(&window).0, ViewKind::Grid, "there is nothing further back");
}

#[test]
fn a_click_with_shift_puts_a_head_beside_the_others() {
    let mut window = open();
    window.until("maps", |window| window.shows("double-click one to open it"));
    let at = place_of(&window, (1, 2));
    click(&mut window, at, 1, Modifiers::SHIFT);
    let panes = |window: &Window| -> Vec<(ViewKind, HeadId)> {
        window.app().session().panes.iter().map(|pane| (pane.view, pane.selection.head)).collect()
    };
    let head = HeadId { stack: window.head().stack, layer: 1, head: 2 };
    assert_eq!(panes(&window)[1], (ViewKind::Heatmap, head));
    assert_eq!((panes(&window).len(), shown(&window).0), (2, ViewKind::Grid), "all heads stay where they are");
    // By the keyboard the selected one.
    window.press(Modifiers::NONE, Key::ArrowDown);
    let selected = window.head();
    window.press(Modifiers::SHIFT, Key::Enter);
    assert_eq!(panes(&window).len(), 3);
    assert!(panes(&window).contains(&(ViewKind::Heatmap, selected)), "{:?}", panes(&window));
    assert_eq!(panes(&window).iter().filter(|(view, _)| *view == ViewKind::Grid).count(), 1);
    window.press(Modifiers::NONE, Key::Enter);
    assert_eq!(panes(&window).iter().filter(|(view, _)| *view == ViewKind::Grid).count(), 0, "opened in its place");
}

#[test]
fn arrows_go_from_head_to_head_as_they_stand() {
    let mut window = open();
    set(&mut window, |options| options.sort_by = Some(Detector::Content.into()));
    window.until("the order", |window| window.shows("By content token, highest first"));
    let capture = window.app().session().document().latest_capture().unwrap().clone();
    let stack = capture.model().stacks[0].kind;
    let order = head_statistics::order(&capture, stack, Detector::Content.into(), &mut || true).unwrap();
    let heads: Vec<HeadId> = order.ranked().iter().map(|(head, _)| *head).collect();
    window.app().request(Command::Select(SelectionCommand::Head(heads[0])));
    window.settle();
    for next in &heads[1..4] {
        window.press(Modifiers::NONE, Key::ArrowRight);
        assert_eq!(window.head(), *next);
    }
    window.press(Modifiers::NONE, Key::ArrowLeft);
    assert_eq!(window.head(), heads[2]);
}

#[test]
fn heads_of_a_kind_stand_together_below_their_heading() {
    let mut window = open();
    set(&mut window, |options| {
        options.group_by = GroupBy::Number;
        options.sort_by = Some(Detector::Previous.into());
    });
    window.until("the order", |window| window.shows("By previous token, highest first"));
    let capture = window.app().session().document().latest_capture().unwrap().clone();
    let stack = capture.model().stacks[0].kind;
    let order = head_statistics::order(&capture, stack, Detector::Previous.into(), &mut || true).unwrap();
    let n = order.ranked().iter().filter(|(_, score)| Detector::Previous.holds(*score)).count();
    // The first head below the threshold begins a row.
    let maps = window.harness.query_all_by_label_contains("Attention patterns of").next().unwrap().rect();
    let below = order.ranked()[n].0;
    window.app().request(Command::Select(SelectionCommand::Head(below)));
    window.settle();
    if n > 0 {
        window.press(Modifiers::NONE, Key::ArrowLeft);
        assert_eq!(window.head(), order.ranked()[n - 1].0);
    }
    assert!(maps.height() > 0.0);
}

#[test]
fn cells_are_drawn_as_lines_or_on_the_picture_and_say_so() {
    let mut window = open();
    set(&mut window, |options| options.cells = CellsAs::Lines);
    window.until("lines", |window| window.shows("the strongest weights that cover 90 % of each row, at most"));
    set(&mut window, |options| options.cells = CellsAs::Overlay);
    window.until("the reason", |window| window.shows("heatmaps, as the keys are no patches of a picture"));

    let mut stage = Stage::new(synthetic::image_capture((4, 4)), ViewKind::Grid);
    stage.session.panes.active_mut().options.grid.cells = CellsAs::Overlay;
    let mut stage = stage.show(vec2(900.0, 600.0));
    stage.run_steps(6);
    assert!(stage.query_by_label_contains("what “[CLS]” attends to").is_some(), "CLS where nothing is held");
    stage.state_mut().session.panes.active_mut().selection.pinned = Focus::query(6);
    stage.run_steps(6);
    assert!(stage.query_by_label_contains("attends to").is_some());
    // A patch under the pointer is the key of the held one.
    let maps = stage.query_all_by_label_contains("Attention patterns of").next().unwrap().rect();
    stage.hover_at(maps.min + maps.size() / vec2(5.0, 2.0) * vec2(0.5, 0.5));
    stage.run_steps(3);
    let hover = stage.state().session.pane().selection.hover;
    assert_eq!(hover.query, Some(6));
    assert!(hover.key.is_some_and(|key| key > 0), "{hover:?}");
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

/// Cells of each kind, with groups, in all three formats: what is drawn is said, and what is not drawn.
#[test]
fn figures_have_lines_and_pictures_in_their_cells_and_headings_above_groups() {
    let folder = tempfile::tempdir().unwrap();
    let coffee = render::sample("coffee.jpg");
    let draw = |more: &[&str], name: &str| {
        let out = folder.path().join(name);
        let output = render::attnscope(&[&["render", "grid"], more, &["--out", out.to_str().unwrap()]].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        std::fs::read(out).unwrap()
    };
    let text = ["--model", "demo:gpt", "--text", "Once upon a time", "--caption", "full"];
    let svg =
        draw(&[&text[..], &["--cells", "lines", "--sort-by", "previous", "--group-by", "kind"]].concat(), "a.svg");
    let said = render::texts(&svg).join(" ");
    assert!(said.contains("previous token · ") && said.contains(" head"), "{said}");
    assert!(said.contains("at most") && said.contains("of the attention"), "{said}");
    let string = String::from_utf8(svg).unwrap();
    assert!(string.contains("--cells") || string.contains("Lines"), "it says where it comes from");
    for (ending, magic) in [("pdf", &b"%PDF"[..]), ("png", &b"\x89PNG"[..])] {
        let bytes = draw(&[&text[..], &["--cells", "lines"]].concat(), &format!("a.{ending}"));
        assert!(bytes.starts_with(magic));
    }
    let page = [&text[..], &["--cells", "lines", "--sort-by", "previous", "--group-by", "number"]].concat();
    let page = String::from_utf8(draw(&page, "a.html")).unwrap();
    assert!(
        page.contains("\"cells\":\"lines\"") && page.contains("\"by\":\"by previous token, in groups of"),
        "the order"
    );
    assert!(page.contains(",\"previous token · "), "a heading above its row");
    let picture = ["--model", "demo:vit", "--image", &coffee, "--cells", "overlay", "--caption", "full"];
    let data = folder.path().join("weights.csv");
    let on_picture = [&picture[..], &["--query", "5", "--data", data.to_str().unwrap()]].concat();
    let said = render::texts(&draw(&on_picture, "b.svg")).join(" ");
    assert!(said.contains("on the picture"), "{said}");
    let rows = std::fs::read_to_string(&data).unwrap();
    assert!(rows.lines().any(|line| line.contains(",3,2,") || line.contains("3,2")), "every head has its numbers");
    let refused =
        render::attnscope(&[&["render", "grid"], &text[..], &["--cells", "overlay", "--out", "x.svg"]].concat());
    assert!(!refused.status.success());
}
