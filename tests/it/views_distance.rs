//! The Distance view: all heads as mosaics, the pairs of one, and the scale by hand.

use attnscope::{
    analysis::projection::ScaleChoice,
    figure::{pen::Medium, views::distance::layout::DistanceLayout},
    ids::HeadId,
    session::{Command, PaneCommand, ViewKind},
};
use eframe::egui::{PointerButton, accesskit::Role, vec2};
use egui_kittest::{Harness, kittest::Queryable as _};

use crate::views::{Stage, sentence};

fn stage() -> Harness<'static, Stage> {
    let mut stage = Stage::new(sentence(), ViewKind::Distance).show(vec2(900.0, 600.0));
    stage.run();
    stage
}

fn layout(stage: &Harness<'static, Stage>) -> DistanceLayout {
    let canvas = stage.get_by_label_contains("Distance and dot product of all heads").rect();
    // As the scene lays it out: 3 layers of 4 heads.
    DistanceLayout::of_scene(canvas, (3, 4), Medium::Screen)
}

#[test]
fn a_cell_of_a_mosaic_names_and_selects_its_head() {
    let mut stage = stage();
    let layout = layout(&stage);
    stage.hover_at(layout.cell(1, 2, 3).center());
    stage.run();
    assert!(stage.query_by_label("L2H3").is_some() && stage.query_by_label_contains("; c = ").is_some());
    stage.drag_at(layout.cell(0, 2, 3).center());
    stage.drop_at(layout.cell(0, 2, 3).center());
    stage.run();
    assert_eq!(stage.state().session.pane().selection.head, HeadId::single(2, 3));
    assert!(stage.query_by_label_contains("of L2H3").is_some(), "its pairs are shown");
    let asked =
        stage.state().asked.iter().filter(|command| matches!(command, Command::InPane(PaneCommand::Survey(_)))).count();
    assert_eq!(asked, 3, "all heads once, and each head's pairs once");
}

#[test]
fn dragging_over_the_curve_chooses_the_scale() {
    let mut stage = stage();
    let curve = layout(&stage).curve;
    let scale = |stage: &Harness<'static, Stage>| stage.state().session.pane().options.scatter.projection.scale;
    assert_eq!(scale(&stage), ScaleChoice::Auto);
    let drag = |stage: &mut Harness<'static, Stage>, part: f32| {
        let at = curve.left_center() + vec2(part * curve.width(), 0.0);
        stage.event(eframe::egui::Event::PointerMoved(at));
        let pressed = |pressed| eframe::egui::Event::PointerButton {
            pos: at,
            button: PointerButton::Primary,
            pressed,
            modifiers: eframe::egui::Modifiers::NONE,
        };
        stage.event(pressed(true));
        stage.run();
        stage.event(pressed(false));
        stage.run();
        match scale(stage) {
            ScaleChoice::Fixed(c) => c,
            other => panic!("{other:?}"),
        }
    };
    let low = drag(&mut stage, 0.2);
    let high = drag(&mut stage, 0.8);
    // 33 steps of a quarter of a power of two, six tenths of them.
    assert!((high / low).log2() > 3.0, "{low} {high}");
    assert!(stage.query_by_role_and_label(Role::Image, "Distance and dot product of all heads and of L0H0").is_some());
}
