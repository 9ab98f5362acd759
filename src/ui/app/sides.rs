//! The panels at both sides: beside the view where both have room, over it where somebody asks for one all the same.

use eframe::egui::{Area, Context, Frame, Id, Order, Panel, PanelState, Rect, Stroke, Ui, UiBuilder, pos2, vec2};

use super::panes::LEAST_PANE;
use crate::{
    session::Session,
    ui::theme::{GRID, Theme},
};

/// A view that stands alone keeps at least this width beside panels.
const LEAST_VIEW_PT: f32 = 130.0 * GRID;
/// A panel beside the view has at least this width.
pub const LEAST_PANEL_PT: f32 = 60.0 * GRID;
/// A panel over the view is as wide as this, and leaves a part of the view in sight.
const OVER_PT: f32 = 75.0 * GRID;
const SEEN_BESIDE_PT: f32 = 6.0 * GRID;

/// One of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Left,
    Right,
}

impl Side {
    const fn other(self) -> Self {
        match self {
            Self::Left => Self::Right,
            Self::Right => Self::Left,
        }
    }
}

/// Where a panel is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PanelPlace {
    /// Not shown.
    Closed,
    Beside,
    Over,
}

/// The room that panels and views share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Room {
    /// Of the window, in points.
    pub width: f32,
    /// The most panes that stand side by side.
    pub n_columns: usize,
}

impl Room {
    /// Of this window.
    pub fn of(ctx: &Context, session: &Session) -> Self {
        let n_columns = session.panes.rows().map(<[_]>::len).max().unwrap_or(1);
        Self { width: ctx.content_rect().width(), n_columns }
    }

    /// What panes keep for themselves.
    fn of_panes(self) -> f32 {
        // With what lies between them.
        let needed = (LEAST_PANE.x + GRID) * self.n_columns as f32;
        // Panes that do not fit beside each other are shown one at a time.
        if needed > self.width { LEAST_VIEW_PT } else { needed.max(LEAST_VIEW_PT) }
    }

    /// What panels can have, both together.
    pub fn of_panels(self) -> f32 {
        self.width - self.of_panes()
    }
}

/// What the user decided; what was not decided is open where there is room.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sides {
    decided: [Option<bool>; 2],
}

impl Sides {
    /// Where a panel is. The left one goes last: without an input there is nothing to see.
    pub fn place(self, side: Side, room: Room) -> PanelPlace {
        let wanted = self.decided[side as usize];
        let before = match side {
            Side::Right if self.place(Side::Left, room) == PanelPlace::Beside => LEAST_PANEL_PT,
            Side::Left | Side::Right => 0.0,
        };
        match wanted {
            Some(false) => PanelPlace::Closed,
            _ if room.of_panels() >= before + LEAST_PANEL_PT => PanelPlace::Beside,
            Some(true) => PanelPlace::Over,
            None => PanelPlace::Closed,
        }
    }

    /// Opens a closed panel and closes an open one.
    pub fn toggle(&mut self, side: Side, room: Room) {
        if self.place(side, room) == PanelPlace::Closed {
            self.open(side, room);
        } else {
            self.decided[side as usize] = Some(false);
        }
    }

    /// Opens a panel. Of two that would lie over the view the other one waits until there is room for it.
    pub fn open(&mut self, side: Side, room: Room) {
        self.decided[side as usize] = Some(true);
        let over = |side| self.place(side, room) == PanelPlace::Over;
        if over(side) && over(side.other()) {
            self.decided[side.other() as usize] = None;
        }
    }
}

/// Shows a panel at most `max` points wide that keeps the width its user gave it: contents that are too wide
/// are cut off instead of widening it for good, and a width for which the window has no room comes back with
/// the room, as after zooming in and out again.
pub fn side_panel_ui(ui: &mut Ui, name: &'static str, max: f32, panel: Panel, contents: impl FnOnce(&mut Ui)) {
    let id = ui.scope_id().with(name);
    let wanted = PanelState::load(ui.ctx(), id);
    panel.size_range(LEAST_PANEL_PT.min(max)..=max).show(ui, |ui| {
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

/// Shows a panel over the view, which has `view` for itself.
pub fn panel_over_ui(ui: &Ui, theme: &Theme, side: Side, (frame, view): (Frame, Rect), contents: impl FnOnce(&mut Ui)) {
    let width = OVER_PT.min(view.width() - SEEN_BESIDE_PT);
    let left = match side {
        Side::Left => view.left(),
        Side::Right => view.right() - width,
    };
    let rect = Rect::from_min_size(pos2(left, view.top()), vec2(width, view.height()));
    let frame = frame.stroke(Stroke::new(1.0, theme.rule));
    let inner = rect - frame.total_margin();
    // In the layer of dialogs, so that menus open above it.
    let area = Area::new(Id::unique(("panel over the view", side as u8))).order(Order::Middle).constrain(false);
    area.fixed_pos(rect.min).default_size(rect.size()).show(ui.ctx(), |ui| {
        frame.show(ui, |ui| {
            ui.set_min_size(inner.size());
            ui.set_max_size(inner.size());
            ui.shrink_clip_rect(inner);
            contents(ui);
        });
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn room(width: f32) -> Room {
        Room { width, n_columns: 1 }
    }

    fn places(sides: Sides, room: Room) -> [PanelPlace; 2] {
        [Side::Left, Side::Right].map(|side| sides.place(side, room))
    }

    #[test]
    fn panels_make_room_the_one_with_the_input_last() {
        use PanelPlace::{Beside, Closed};
        let sides = Sides::default();
        for (width, expected) in [
            (720.0, [Closed, Closed]),
            (800.0, [Beside, Closed]),
            (1024.0, [Beside, Beside]),
            (3840.0, [Beside, Beside]),
        ] {
            assert_eq!(places(sides, room(width)), expected, "{width}");
        }
        // Two panes beside each other need more than one.
        assert_eq!(places(sides, Room { width: 1024.0, n_columns: 2 }), [Beside, Closed]);
        assert_eq!(places(sides, Room { width: 1280.0, n_columns: 2 }), [Beside, Beside]);
    }

    #[test]
    fn what_is_opened_stays_open_and_what_is_closed_stays_closed() {
        let mut sides = Sides::default();
        sides.toggle(Side::Left, room(720.0));
        assert_eq!(places(sides, room(720.0)), [PanelPlace::Over, PanelPlace::Closed]);
        assert_eq!(places(sides, room(1280.0)), [PanelPlace::Beside, PanelPlace::Beside]);
        assert_eq!(places(sides, room(240.0)), [PanelPlace::Over, PanelPlace::Closed]);
        sides.toggle(Side::Right, room(720.0));
        assert_eq!(places(sides, room(720.0)), [PanelPlace::Closed, PanelPlace::Over], "one over the view at a time");
        sides.toggle(Side::Right, room(720.0));
        assert_eq!(places(sides, room(720.0)), [PanelPlace::Closed, PanelPlace::Closed]);
        assert_eq!(
            places(sides, room(2560.0)),
            [PanelPlace::Beside, PanelPlace::Closed],
            "what was closed stays closed"
        );
    }
}
