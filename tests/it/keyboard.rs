//! Whoever has no mouse reaches everything: whatever can be clicked is a Tab stop, or stands in a list that arrow keys
//! walk from one, and what has the focus is in sight.

use std::collections::{BTreeMap, BTreeSet};

use attnscope::session::{Command, Focus, ViewKind};
use eframe::egui::{
    Key, Modifiers, Pos2, Rect,
    accesskit::{Action, NodeId, Role},
};
use egui_kittest::{
    Node,
    kittest::{NodeT as _, Queryable as _},
};

use crate::support::window::{Window, with_text};

/// More Tab stops than a window has.
const MOST_STOPS: usize = 400;
/// More things than a list in these windows has.
const MOST_IN_LIST: usize = 60;

type Found = BTreeMap<NodeId, (Role, String, Rect)>;

/// What answers an action, by its node.
fn answering(window: &Window, action: Action) -> Found {
    let nodes = window.harness.root().children_recursive();
    let found = nodes.filter_map(|node| {
        let of = node.accesskit_node();
        let name = of.label().or_else(|| of.value()).unwrap_or_default();
        // Text that can be selected answers a click, too, and so does a chart, which the pointer moves and zooms.
        let is_passive = matches!(of.role(), Role::Label | Role::Heading | Role::ScrollBar | Role::Image);
        let is_control = !is_passive || of.data().supports_action(Action::Focus);
        let answers = is_control && of.data().supports_action(action) && !of.is_disabled();
        answers.then(|| (id(&node), (of.role(), name, node.rect())))
    });
    found.collect()
}

fn id(node: &Node<'_>) -> NodeId {
    node.accesskit_node().locate().0
}

fn focus(window: &Window) -> Option<NodeId> {
    window.harness.root().children_recursive().find(Node::is_focused).map(|node| id(&node))
}

fn press(window: &mut Window, key: Key) {
    window.harness.key_press_modifiers(Modifiers::NONE, key);
    window.harness.run_steps(3);
}

/// Everything that Tab reaches, and arrow keys from there in things that no arrow changes.
fn walked(window: &mut Window) -> BTreeSet<NodeId> {
    let (mut seen, mut stops) = (BTreeSet::new(), BTreeSet::new());
    for _ in 0..MOST_STOPS {
        press(window, Key::Tab);
        let Some(stop) = focus(window) else { continue };
        if !stops.insert(stop) {
            break;
        }
        seen.insert(stop);
        let all = answering(window, Action::Focus);
        let (role, name, rect) = &all[&stop];
        assert_ne!(*role, Role::Label, "“{name}” has the focus: what is it?");
        let screen = Rect::from_min_size(Pos2::ZERO, window.harness.ctx.content_rect().size());
        assert!(screen.intersects(*rect), "{role:?} “{name}” has the focus out of sight, at {rect}");
        if !matches!(role, Role::Button | Role::RadioButton | Role::ListItem) {
            continue;
        }
        // Down leads on in lists of both kinds.
        let mut at = stop;
        for _ in 0..MOST_IN_LIST {
            press(window, Key::ArrowDown);
            match focus(window) {
                Some(next) if seen.insert(next) => at = next,
                _ => break,
            }
        }
        if at != stop || focus(window) != Some(stop) {
            window.harness.root().children_recursive().find(|it| id(it) == stop).unwrap().focus();
            window.harness.run_steps(2);
        }
    }
    seen
}

fn check(window: &mut Window, what: &str) {
    let seen = walked(window);
    let all = answering(window, Action::Click);
    let missed: Vec<_> = all.iter().filter(|(id, _)| !seen.contains(id)).map(|(_, it)| it).collect();
    assert!(missed.is_empty(), "{what}: {} of {} are out of reach: {missed:#?}", missed.len(), all.len());
}

#[test]
fn everything_that_can_be_clicked_is_reached_without_a_mouse() {
    for view in ViewKind::ALL {
        let mut window = Window::open(with_text("one two three"));
        window.show(view);
        check(&mut window, view.label());
    }
}

#[test]
fn tokens_of_a_heatmap_are_walked_and_pinned_by_keys() {
    let mut window = Window::open(with_text("one two three"));
    window.show(ViewKind::Heatmap);
    let pinned = |window: &Window| window.app().session().pane().selection.pinned;
    for (labels, key) in [("Query labels", Key::ArrowDown), ("Key labels", Key::ArrowRight)] {
        window.harness.get_by_label(labels).focus();
        window.settle();
        press(&mut window, key);
        assert_eq!(window.harness.get_by_label(labels).value().as_deref(), Some("two  #1"));
        press(&mut window, Key::Enter);
    }
    assert_eq!(pinned(&window), Focus::cell(1, 1));
}

#[test]
fn keys_move_in_an_open_menu_alone() {
    let mut window = Window::open(with_text("one two three"));
    window.show(ViewKind::Heatmap);
    let head = window.head();
    window.harness.get_by_role_and_label(Role::ComboBox, "Colours").click();
    window.settle();
    press(&mut window, Key::ArrowDown);
    press(&mut window, Key::ArrowRight);
    assert_eq!(window.head(), head);
    press(&mut window, Key::Escape);
    press(&mut window, Key::ArrowDown);
    assert_ne!(window.head(), head, "the menu is closed");
}

#[test]
fn every_card_of_the_views_is_reached_without_a_mouse() {
    let mut window = Window::open(with_text("one two three"));
    window.app().request(Command::ShowCards(Some(true)));
    window.settle();
    check(&mut window, "the sheet of views");
}
