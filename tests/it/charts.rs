//! Charts with axes in the window: zoom, reset, the plain wheel, a legend that hides, and the numbers at the pointer.

use attnscope::session::ViewKind;
use eframe::egui::{
    Event as Input, Modifiers, PointerButton, Pos2,
    accesskit::{Role, Toggled},
    vec2,
};
use egui_kittest::{
    Harness,
    kittest::{NodeT as _, Queryable as _},
};

use crate::views::{Stage, sentence, wheel};

const OFFSETS: &str = "Mean weight by offset (key − query)";
const CURVE: &str = "Correlation by scale c";

fn stage(view: ViewKind) -> Harness<'static, Stage> {
    let mut stage = Stage::new(sentence(), view).show(vec2(900.0, 600.0));
    stage.run();
    stage.run();
    stage
}

/// A place in a chart, by parts of its width and its height.
fn place(stage: &Harness<'static, Stage>, chart: &str, (across, down): (f32, f32)) -> Pos2 {
    let rect = stage.get_by_role_and_label(Role::Image, chart).rect();
    rect.min + rect.size() * vec2(across, down)
}

/// What the chart says at a place.
fn said(stage: &mut Harness<'static, Stage>, at: Pos2, contains: &str) -> String {
    stage.hover_at(at);
    stage.run();
    stage.get_by_label_contains(contains).accesskit_node().value().unwrap()
}

fn double_click(stage: &mut Harness<'static, Stage>, pos: Pos2) {
    // Every event has a frame of its own, and a frame takes a quarter of a second here.
    stage.ctx.options_mut(|options| options.input_options.max_double_click_delay = 5.0);
    for pressed in [true, false, true, false] {
        let modifiers = Modifiers::NONE;
        stage.event(Input::PointerButton { pos, button: PointerButton::Primary, pressed, modifiers });
        stage.step();
    }
    stage.run();
}

#[test]
fn a_chart_is_zoomed_around_the_pointer_and_whole_again_after_a_double_click() {
    let mut stage = stage(ViewKind::Average);
    let [left, right] = [0.2, 0.6].map(|across| place(&stage, OFFSETS, (across, 0.7)));
    let (there, before) = (said(&mut stage, left, " pairs"), said(&mut stage, right, " pairs"));
    assert_ne!(there, before, "offsets have as many pairs as there are tokens that far apart");
    stage.hover_at(left);
    stage.event(wheel(-80.0));
    stage.run();
    assert_eq!(said(&mut stage, right, " pairs"), before, "the plain wheel belongs to the page");
    stage.hover_at(left);
    stage.step();
    stage.event(Input::Zoom(8.0));
    stage.run();
    assert_eq!(said(&mut stage, left, " pairs"), there, "what is under the pointer stays there");
    let near = place(&stage, OFFSETS, (0.22, 0.7));
    assert_eq!(said(&mut stage, near, " pairs"), there, "eight times as large, what is near is of one offset");
    double_click(&mut stage, right);
    assert_eq!(said(&mut stage, right, " pairs"), before);
    assert!(stage.query_by_label("Fit").is_none(), "all of it is seen");
    stage.hover_at(left);
    stage.step();
    stage.event(Input::Zoom(8.0));
    stage.run();
    stage.get_by_label("Fit").click();
    stage.run();
    stage.run();
    assert_eq!(said(&mut stage, right, " pairs"), before, "as after a double click");
    assert!(stage.query_by_label("Fit").is_none());
}

#[test]
fn the_legend_hides_a_line_and_its_number() {
    let mut stage = stage(ViewKind::Distance);
    let at = place(&stage, CURVE, (0.2, 0.6));
    let scale = said(&mut stage, at, "c = ");
    assert!(scale.strip_prefix("c = ").unwrap().parse::<f64>().unwrap() > 0.0, "{scale}");
    assert!(said(&mut stage, at, "per query: ").len() > "per query: ".len());
    let entry = stage.get_by_role_and_label(Role::CheckBox, "per query");
    assert_eq!(entry.accesskit_node().toggled(), Some(Toggled::True));
    entry.click();
    stage.run();
    stage.hover_at(at);
    stage.run();
    assert!(stage.query_by_label_contains("per query: ").is_none(), "it is not seen");
    assert!(stage.query_by_label_contains("all pairs: ").is_some());
}

#[test]
fn a_chart_stays_in_its_part_of_the_view() {
    let stage = stage(ViewKind::Average);
    let area = stage.get_by_label("Mean attention of L0H0 over all inputs").rect();
    let plot = stage.get_by_role_and_label(Role::Image, OFFSETS).rect();
    assert!(area.contains_rect(plot) && plot.width() > 200.0 && plot.height() > 100.0, "{area:?} {plot:?}");
}
