//! The panels at both sides: open where there is room for them, and wherever the user says so.

use eframe::egui::{Panel, PanelState, Ui, UiBuilder};

/// Windows narrower than this keep their width for the view.
const NARROW_PT: f32 = 1100.0;

/// One of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Model, input and tokens.
    Left,
    /// Numbers and options.
    Right,
}

/// What the user decided, and what the width decides otherwise.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sides {
    decided: [Option<bool>; 2],
}

impl Sides {
    /// Whether a panel is shown in a window of `width` points.
    pub fn is_open(self, side: Side, width: f32) -> bool {
        self.decided[side as usize].unwrap_or(width >= NARROW_PT)
    }

    /// Opens a closed panel and closes an open one.
    pub fn toggle(&mut self, side: Side, width: f32) {
        self.decided[side as usize] = Some(!self.is_open(side, width));
    }

    /// Opens a panel.
    pub const fn open(&mut self, side: Side) {
        self.decided[side as usize] = Some(true);
    }
}

/// Shows a panel at most `max` points wide that keeps the width its user gave it: contents that are too wide
/// are cut off instead of widening it for good, and a width for which the window has no room comes back with
/// the room, as after zooming in and out again.
pub fn side_panel_ui(ui: &mut Ui, name: &'static str, max: f32, panel: Panel, contents: impl FnOnce(&mut Ui)) {
    let id = ui.scope_id().with(name);
    let wanted = PanelState::load(ui.ctx(), id);
    panel.show(ui, |ui| {
        let rect = ui.available_rect_before_wrap();
        contents(&mut ui.new_child(UiBuilder::new().max_rect(rect)));
        ui.advance_cursor_after_rect(rect);
    });
    let width = |state: PanelState| state.size().x;
    let is_squeezed = PanelState::load(ui.ctx(), id).is_some_and(|now| (width(now) - max).abs() < 1.0);
    if let Some(wanted) = wanted.filter(|wanted| width(*wanted) > max && is_squeezed) {
        ui.ctx().data_mut(|data| data.insert_persisted(id, wanted));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panels_make_room_in_a_narrow_window_until_they_are_asked_for() {
        let mut sides = Sides::default();
        assert!(sides.is_open(Side::Left, 1280.0) && !sides.is_open(Side::Left, 1024.0));
        sides.toggle(Side::Left, 1024.0);
        assert!(sides.is_open(Side::Left, 1024.0) && !sides.is_open(Side::Right, 1024.0));
        sides.toggle(Side::Right, 1280.0);
        assert!(!sides.is_open(Side::Right, 2560.0), "what was closed stays closed");
    }
}
