use attnscope::{
    analysis::reading::{Captures, Reading, axes, long::read_part},
    session::{ColorScale, Command, Focus, SelectionCommand, ViewKind},
    text::weight_text,
};
use eframe::egui::{Key, Modifiers, accesskit::Role, pos2};
use egui_kittest::kittest::{NodeT as _, Queryable as _};

use crate::support::window::{Window, with_text};

const N_TOKENS: usize = 2_100;

fn open(view: ViewKind) -> Window {
    let words: Vec<String> =
        (0..N_TOKENS).map(|at| if at % 300 == 7 { "needle".to_owned() } else { format!("w{at}") }).collect();
    let mut window = Window::open(with_text(&words.join(" ")));
    window.app().request(Command::Select(SelectionCommand::ShowView(view)));
    window.settle();
    window
}

/// The first and the last query whose token is laid out.
fn in_sight(window: &Window) -> (usize, usize) {
    let labels = window.harness.query_all_by_role(Role::Button).filter_map(|node| node.accesskit_node().label());
    let number = |label: String| label.strip_prefix("Query ")?.split(' ').next()?.parse().ok();
    let rows: Vec<usize> = labels.filter_map(number).collect();
    (*rows.iter().min().unwrap(), *rows.iter().max().unwrap())
}

#[test]
fn heads_lays_out_a_window_of_tokens_that_the_search_and_the_map_move() {
    let mut window = open(ViewKind::Heads);
    window.until("the lines of the first rows", |window| window.shows("queries 0 to 63 of 2,100"));
    let (first, last) = in_sight(&window);
    assert!(first == 0 && last < 60, "queries {first} to {last} are laid out");

    window.press(Modifiers::NONE, Key::Slash);
    window.harness.get_by_label("Find token").type_text("needle");
    window.settle();
    for (hit, at) in [("1 of 7", 7), ("2 of 7", 307), ("3 of 7", 607)] {
        window.click("Next hit");
        assert!(window.shows(hit), "{hit}");
        window.until("the hit in sight", |window| (in_sight(window).0..=in_sight(window).1).contains(&at));
    }
    window.click("Previous hit");
    assert!(window.shows("2 of 7"));
    window.until("lines that leave", |window| window.shows("queries 256 to"));

    let map = window.harness.get_by_label_contains("Attention of L0H0, mean weights").rect();
    let end = pos2(map.center().x, map.bottom() - 6.0);
    window.harness.drag_at(end);
    window.harness.drop_at(end);
    window.until("the end of the text", |window| in_sight(window).1 == N_TOKENS - 1);
    window.until("the whole map", |window| !window.shows("% read"));
}

#[test]
fn the_heatmap_of_a_long_text_says_what_a_pixel_is_and_gives_exact_weights() {
    let mut window = open(ViewKind::Heatmap);
    window.until("the overview", |window| {
        window.shows(
            "2,100 queries × 2,100 keys, causal; each row sums to 1; each pixel shows the largest of 4 × 4 weights",
        )
    });
    let cells = window.harness.get_by_label("Attention pattern of L0H0").rect();
    let cell = cells.width() / N_TOKENS as f32;
    let (row, col) = (1_500, 400);
    let at = cells.min + cell * eframe::egui::vec2(col as f32 + 0.5, row as f32 + 0.5);
    window.harness.hover_at(at);
    window.harness.run_steps(2);
    let hover = window.app().session().pane().selection.hover;
    assert_eq!(hover, Focus::cell(row, col));
    let capture = window.app().session().document().latest_capture().unwrap().clone();
    let reading = Reading::of(window.head());
    let exact = read_part(Captures::one(&capture), &reading, &axes(&capture, &reading), row..row + 1).unwrap();
    let weight = exact.value(row, col).unwrap();
    window.until("the weight of the cell", |window| window.shows(&weight_text(weight)));

    // Nearer, every weight is a cell of its own.
    for _ in 0..40 {
        window.harness.event(eframe::egui::Event::Zoom(1.2));
        window.harness.step();
    }
    window.until("single weights", |window| window.shows("; every weight") && !window.shows("on the way"));
    window.press(Modifiers::NONE, Key::ArrowRight);
    window.until("the next head", |window| window.shows("Attention pattern of L0H1"));

    // Most weights of so many are dark; the proposal is gone once it was followed.
    window.click("Show small weights");
    window.settle();
    assert_eq!(window.app().session().pane().options.heatmap.scale, ColorScale::Log);
    assert!(!window.shows("Show small weights"));
}

#[test]
fn what_needs_a_whole_pattern_that_is_too_long_says_so() {
    use attnscope::analysis::reading::{Refusal, read};

    let words = "w ".repeat(8_300);
    let window = Window::open(with_text(words.trim()));
    let capture = window.app().session().document().latest_capture().unwrap().clone();
    let refusal = read(Captures::one(&capture), &Reading::of(window.head())).unwrap_err();
    assert!(matches!(refusal, Refusal::TooLong { .. }));
    assert!(refusal.to_string().starts_with("8,300 × 8,300 weights are too many"), "{refusal}");
    assert!(window.shows("8,300 tokens"), "the window itself is not troubled");
}
