//! The details beside a view: what they say of a head, a method, an input.

use crate::support::window::{Window, with_text};

/// Kinds that this input does not define take no line.
#[test]
fn undefined_kinds_of_heads_are_not_drawn() {
    let window = Window::open(with_text("one two three"));
    assert!(window.shows("Heads by kind, in this input") && !window.shows("Not defined here"));
}
