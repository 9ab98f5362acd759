//! A window that works at every size: what stands in the bars, what folds into menus, panels and panes.

use std::collections::BTreeMap;

use attnscope::{
    session::{Command, SelectionCommand, Split, ViewGroup, ViewKind},
    ui::zoom,
};
use eframe::egui::{
    self, Key, Modifiers, Rect, Vec2,
    accesskit::{Role, Toggled},
    vec2,
};
use egui_kittest::kittest::{NodeT as _, Queryable as _};

use crate::{
    support::window::{Window, with_text},
    views::wheel,
};

/// Windows in pixels of a screen without a scale of its own, and zooms.
const SIZES: [Vec2; 5] =
    [vec2(720.0, 480.0), vec2(1024.0, 700.0), vec2(1280.0, 800.0), vec2(2560.0, 1440.0), vec2(3840.0, 2160.0)];
const ZOOMS: [f32; 6] = [0.5, 0.75, 1.0, 1.5, 2.0, 3.0];
/// Heights of the bars above and below, in points.
const BARS: [f32; 2] = [40.0, 28.0];
/// The active pane keeps at least this much, in points, where the window has no more than its bars take.
const LEAST_PANE: Vec2 = vec2(230.0, 60.0);

/// Makes the window as large as `size` pixels hold at a zoom; its layout depends on points alone.
fn resize(window: &mut Window, size: Vec2, zoom: f32) {
    window.harness.set_size(size / zoom);
    window.harness.run_steps(3);
}

/// What can be clicked within a rectangle, by its name.
fn controls(window: &Window, within: Rect) -> Vec<(String, Rect)> {
    let is_control = |role| matches!(role, Role::Button | Role::Tab | Role::ComboBox | Role::CheckBox);
    let root = window.harness.root();
    let nodes = root.children_recursive().filter(|node| is_control(node.accesskit_node().role()));
    let found = nodes.map(|node| (node.accesskit_node().label().unwrap_or_default(), node.rect()));
    found.filter(|(_, rect)| within.contains(rect.center())).collect()
}

fn bars(window: &Window) -> [Rect; 2] {
    let screen = window.harness.ctx.content_rect();
    [
        Rect::from_min_max(screen.min, egui::pos2(screen.right(), screen.top() + BARS[0])),
        Rect::from_min_max(egui::pos2(screen.left(), screen.bottom() - BARS[1]), screen.max),
    ]
}

/// Nothing lies over anything else, nothing is cut, and the pane has room.
fn check(window: &Window, widths: &mut BTreeMap<String, f32>, what: &str) {
    let screen = window.harness.ctx.content_rect();
    for (nth, bar) in bars(window).into_iter().enumerate() {
        let mut found = controls(window, bar);
        // What has scrolled out of a panel lies under the lower bar.
        found.retain(|(name, _)| nth == 0 || ["Messages", "Normal size", "Cancel"].contains(&name.as_str()));
        assert!(!found.is_empty(), "{what}");
        for (at, (name, rect)) in found.iter().enumerate() {
            assert!(screen.expand(0.5).contains_rect(*rect), "{what}: {name} at {rect:?} in {screen:?}");
            for (other, taken) in &found[..at] {
                assert!(!rect.shrink(0.5).intersects(*taken), "{what}: {name} over {other}, {rect:?} {taken:?}");
            }
            // A name that is cut makes a narrower button; the search becomes a symbol, and the menu of views is cut where
            // the window is narrower than two panels.
            let is_cut = name == "Search…" || name.starts_with("View: ") && screen.width() < 300.0;
            if nth == 0 && !is_cut {
                let known = *widths.entry(name.clone()).or_insert(rect.width());
                assert!((known - rect.width()).abs() < 0.6, "{what}: {name} has {} of {known}", rect.width());
            }
        }
    }
    let pane = window.app().view_rect();
    // Panes begin and end at whole points.
    assert!(screen.expand(0.5).contains_rect(pane), "{what}: {pane:?} in {screen:?}");
    assert!(pane.width() >= LEAST_PANE.x && pane.height() >= LEAST_PANE.y, "{what}: {pane:?}");
}

#[test]
fn bars_hold_at_every_size_zoom_and_number_of_panes() {
    let mut window = Window::with_size(with_text("one two three"), [7680.0, 4320.0]);
    let mut widths = BTreeMap::new();
    for n_panes in 1..=4 {
        if n_panes > 1 {
            let split = if n_panes % 2 == 0 { Split::Right } else { Split::Below };
            window.app().request(Command::SplitPane(split));
            window.settle();
        }
        // The widest first: there nothing has to be cut.
        for size in SIZES.into_iter().rev() {
            for zoom in ZOOMS {
                resize(&mut window, size, zoom);
                check(&window, &mut widths, &format!("{n_panes} panes in {size:?} at {zoom}"));
            }
        }
    }
}

#[test]
fn every_view_fits_its_pane_at_every_size() {
    let mut window = Window::with_size(with_text("one two three"), [1280.0, 800.0]);
    let mut widths = BTreeMap::new();
    let views = [ViewKind::Heatmap, ViewKind::Scatter, ViewKind::Matrix, ViewKind::Distance, ViewKind::Average];
    for view in views.into_iter().chain([ViewKind::Atlas, ViewKind::HeadPage, ViewKind::Lab]) {
        window.app().request(Command::Select(SelectionCommand::ShowView(view)));
        window.settle();
        for (size, zoom) in [(SIZES[4], 0.5), (SIZES[0], 3.0), (SIZES[0], 1.0), (SIZES[1], 1.0), (SIZES[2], 1.0)] {
            resize(&mut window, size, zoom);
            assert_eq!(window.app().session().pane().view, view);
            // Each view has its own name in the menu of views, so widths are those of this view.
            let what = format!("{view:?} in {size:?} at {zoom}");
            check(&window, &mut widths, &what);
            // Nor do the choices above a view lie over each other.
            let mut found = controls(&window, window.app().view_rect());
            // What has scrolled out of a view lies under the row below it.
            let canvas = Rect::everything_above(window.app().view_rect().bottom() - BARS[1]);
            found
                .iter_mut()
                .filter(|(name, _)| !name.starts_with('⚠'))
                .for_each(|(_, rect)| *rect = rect.intersect(canvas));
            for (at, (name, rect)) in found.iter().enumerate() {
                for (other, taken) in &found[..at] {
                    assert!(!rect.shrink(1.0).intersects(*taken), "{what}: {name} over {other}, {rect:?} {taken:?}");
                }
            }
        }
    }
}

/// Whatever a wide window has in its bar is in the bar or a menu of a narrow one.
#[test]
fn what_a_wide_bar_has_is_reached_in_a_narrow_window() {
    let mut window = Window::with_size(with_text("one two three"), [3840.0, 2160.0]);
    let all: Vec<String> = controls(&window, bars(&window)[0]).into_iter().map(|(name, _)| name).collect();
    assert!(all.len() >= 12 && all.iter().any(|name| name == "Export…"), "{all:?}");
    for size in [[1024.0, 700.0], [720.0, 480.0], [480.0, 320.0], [240.0, 160.0]] {
        window.harness.set_size(size.into());
        window.settle();
        let mut seen: Vec<String> = controls(&window, bars(&window)[0]).into_iter().map(|(name, _)| name).collect();
        let menus: Vec<String> = seen.iter().filter(|it| *it == "More" || it.starts_with("View: ")).cloned().collect();
        for menu in menus {
            window.click(&menu);
            let screen = window.harness.ctx.content_rect();
            let inside = controls(&window, screen);
            // What lies beyond the edge of a menu is scrolled to.
            seen.extend(inside.into_iter().map(|(name, _)| name));
            let root = window.harness.root();
            let names = root.children_recursive().filter_map(|node| node.accesskit_node().label());
            seen.extend(names);
            window.press(Modifiers::NONE, Key::Escape);
        }
        // A group is reached by each of its views.
        let is_reached = |group: &ViewGroup| group.views().all(|view| seen.iter().any(|name| name == view.label()));
        let groups = ViewGroup::ALL.into_iter().filter(is_reached).map(|group| group.label().to_owned());
        let groups: Vec<String> = groups.collect();
        seen.extend(groups);
        let missing: Vec<&String> = all.iter().filter(|name| !seen.contains(name)).collect();
        assert!(missing.is_empty(), "{size:?}: {missing:?}");
    }
    // And it does what it says.
    window.harness.set_size(vec2(720.0, 480.0));
    window.settle();
    window.click("More");
    window.harness.get_by_label("Help").click();
    window.settle();
    assert!(window.shows("Save a picture of the whole window as PNG"));
}

#[test]
fn a_panel_without_room_beside_the_view_lies_over_it() {
    let mut window = Window::with_size(with_text("one two three"), [720.0, 480.0]);
    let (left, right) = ("Add second sentence", "This head, over all queries");
    assert!(!window.shows(left) && !window.shows(right));
    assert_eq!(window.app().view_rect().width(), 720.0, "the view has all of it");
    window.click("Model and input");
    assert!(window.shows(left));
    assert_eq!(window.app().view_rect().width(), 720.0, "and keeps it");
    let editor = window.harness.get_by_role_and_label(Role::MultilineTextInput, "Text").rect();
    assert!(window.harness.ctx.content_rect().contains_rect(editor), "{editor:?}");
    // One over the view at a time; what was opened is there again where there is room for it.
    window.press(Modifiers::NONE, Key::CloseBracket);
    assert!(window.shows(right) && !window.shows(left));
    window.harness.set_size(vec2(1280.0, 800.0));
    window.settle();
    assert!(window.shows(right) && window.shows(left) && window.app().view_rect().width() >= 500.0);
    // The panel over the view takes what lies under the pointer.
    window.harness.set_size(vec2(720.0, 480.0));
    window.settle();
    let pinned = |window: &Window| window.app().session().pane().selection.pinned;
    window.harness.hover_at(egui::pos2(600.0, 300.0));
    window.harness.query_all_by_label_contains("This head, over all queries").next().unwrap().click();
    window.settle();
    assert!(pinned(&window).is_empty());
}

#[test]
fn panes_without_room_beside_each_other_are_shown_one_at_a_time() {
    let mut window = Window::with_size(with_text("one two three"), [1280.0, 800.0]);
    window.app().request(Command::SplitPane(Split::Right));
    window.settle();
    window.app().request(Command::Select(SelectionCommand::ShowView(ViewKind::Heatmap)));
    window.settle();
    let n_shown = |window: &Window| window.harness.query_all_by_label("Close pane").count();
    assert_eq!(n_shown(&window), 2);
    window.harness.set_size(vec2(480.0, 320.0));
    window.settle();
    assert_eq!(n_shown(&window), 1);
    let tab = |window: &Window, name: &str| {
        window.harness.get_by_role_and_label(Role::Tab, name).accesskit_node().toggled() == Some(Toggled::True)
            || window.harness.get_by_role_and_label(Role::Tab, name).accesskit_node().is_selected() == Some(true)
    };
    let [first, second] = ["1 Lines: L0H0", "2 Heatmap: L0H0"];
    assert!(!tab(&window, first) && tab(&window, second));
    window.click(first);
    assert_eq!(window.app().session().pane().view, ViewKind::Heads);
    assert!(tab(&window, first));
    window.harness.set_size(vec2(1280.0, 800.0));
    window.settle();
    assert_eq!(n_shown(&window), 2);
}

#[test]
fn zoom_stays_within_its_limits_and_has_a_way_back() {
    let ctx = egui::Context::default();
    let kept = |zoom: f32, fixed: bool| {
        let frame = |ctx: &egui::Context| {
            ctx.run_ui(egui::RawInput::default(), |_| {}).drop_without_applying_deltas();
        };
        ctx.set_zoom_factor(zoom);
        frame(&ctx);
        zoom::install(&ctx, fixed);
        frame(&ctx);
        ctx.zoom_factor()
    };
    assert_eq!([kept(0.2, false), kept(5.0, false), kept(1.7, false), kept(1.7, true)], [0.5, 3.0, 1.7, 1.0]);

    let mut window = Window::open(with_text("one two three"));
    let zoom = |window: &Window| window.harness.ctx.zoom_factor();
    for (key, expected) in [(Key::Plus, 3.0), (Key::Minus, 0.5), (Key::Equals, 3.0)] {
        for _ in 0..14 {
            window.harness.key_press_modifiers(Modifiers::COMMAND, key);
            window.harness.run_steps(2);
        }
        assert_eq!(zoom(&window), expected, "{key:?}");
    }
    window.click("Normal size");
    assert_eq!(zoom(&window), 1.0);
    assert!(window.harness.query_by_role_and_label(Role::Button, "Normal size").is_none(), "nothing to put right");
    window.press(Modifiers::COMMAND, Key::Minus);
    assert!(zoom(&window) < 1.0);
    window.press(Modifiers::COMMAND, Key::Num0);
    assert_eq!(zoom(&window), 1.0);
    window.click("More");
    window.click("Larger");
    assert_eq!(zoom(&window), 1.1);
}

/// Zoomed into the part that the mask rules out, the heatmap says so and shows the way back.
#[test]
fn a_heatmap_without_a_weight_in_sight_offers_to_show_all() {
    let mut window = Window::with_size(with_text(&["word"; 60].join(" ")), [1280.0, 800.0]);
    window.app().request(Command::Select(SelectionCommand::ShowView(ViewKind::Heatmap)));
    window.settle();
    let fit = |window: &Window| window.harness.query_by_label("Fit").is_some();
    assert!(!fit(&window), "all of it is in sight");
    let plot = window.harness.get_by_label("Attention pattern of L0H0").rect();
    let masked = plot.left_top() + plot.size() * vec2(0.97, 0.03);
    window.harness.hover_at(masked);
    window.settle();
    for _ in 0..40 {
        window.harness.event(wheel(240.0));
        window.harness.step();
    }
    window.settle();
    assert!(fit(&window) && window.shows("No visible weight here"));
    window.click("Fit");
    assert!(!fit(&window));
}

/// A very large window proposes a larger zoom once; the answer is kept.
#[test]
fn a_very_large_window_proposes_a_zoom_once() {
    let proposed = |window: &Window| window.shows("too small to read");
    let mut window = Window::with_size(with_text("one two three"), [1280.0, 800.0]);
    assert!(!proposed(&window));
    window.harness.set_size(vec2(2560.0, 1440.0));
    window.settle();
    assert!(proposed(&window));
    window.click("Zoom to 125 %");
    assert!(!proposed(&window) && window.harness.ctx.zoom_factor() == 1.25);
    window.press(Modifiers::COMMAND, Key::Num0);
    assert!(!proposed(&window) && window.harness.ctx.zoom_factor() == 1.0, "it was answered");
}

/// Rows and lines stop growing with the window, and what they leave shows the other heads of the layer.
#[test]
fn a_large_window_shows_the_heads_of_the_layer_beside_one() {
    let mut window = Window::with_size(with_text(&["word"; 30].join(" ")), [1280.0, 800.0]);
    let maps = |window: &Window| window.harness.query_by_label_contains("Attention patterns of ").map(|it| it.rect());
    for view in [ViewKind::Heads, ViewKind::Heatmap] {
        window.show(view);
        window.harness.set_size(vec2(900.0, 600.0));
        window.settle();
        assert!(maps(&window).is_none(), "{view:?}");
        window.harness.set_size(vec2(2560.0, 1440.0));
        window.settle();
        let beside = maps(&window).unwrap();
        assert!(beside.width() > 60.0 && window.app().view_rect().contains_rect(beside), "{view:?}: {beside:?}");
        let name = if view == ViewKind::Heads { "Attention lines" } else { "Attention pattern of L0H0" };
        let canvas = window.harness.get_by_label(name).rect();
        assert!(canvas.right() < beside.left(), "{view:?}: {canvas:?} {beside:?}");
        assert!(view != ViewKind::Heads || canvas.width() <= 720.5, "{canvas:?}");
        // A click in the second map of the first row.
        let before = window.head();
        let at = beside.left_top() + vec2(0.75, 0.25) * beside.size();
        window.harness.hover_at(at);
        window.settle();
        window.harness.drag_at(at);
        window.harness.step();
        window.harness.drop_at(at);
        window.settle();
        assert!(window.head() != before && window.app().session().pane().view == view, "{view:?}");
        window.app().request(Command::Select(SelectionCommand::Head(before)));
        window.settle();
    }
}
