//! The panels at both sides: beside the view where both have room, over it where somebody asks for one all the same.

use eframe::egui::{Area, Context, Frame, Id, Order, Panel, PanelState, Rect, Stroke, Ui, UiBuilder, pos2, vec2};

use super::panes::LEAST_PANE;
use crate::{
    session::Session,
    ui::theme::{GRID, Theme},
};

/// A view keeps at least this width beside the left panel.
const LEAST_VIEW_PT: f32 = 159.0 * GRID;
/// A view keeps at least this width between both panels.
const LEAST_BETWEEN_PT: f32 = 128.0 * GRID;
/// Of a window this wide or wider, panels take more.
const WIDE_PT: f32 = 600.0 * GRID;
/// Of a window narrower than this, panels take the least.
const NARROW_PT: f32 = 295.0 * GRID;
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
    /// A panel beside the view has at least this width.
    pub const fn least_pt(self) -> f32 {
        match self {
            Self::Left => 56.0 * GRID,
            Self::Right => 66.0 * GRID,
        }
    }

    /// The width of a panel until its edge is dragged, in a window of this width.
    pub const fn default_pt(self, window: f32) -> f32 {
        match self {
            Self::Left if window >= WIDE_PT => 72.0 * GRID,
            Self::Right if window >= WIDE_PT => 80.0 * GRID,
            Self::Left if window >= NARROW_PT => 62.0 * GRID,
            Self::Left | Self::Right => self.least_pt(),
        }
    }

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

    /// What panels can have, both together, beside panes of which one alone keeps `least`.
    fn beside(self, least: f32) -> f32 {
        // With what lies between them.
        let needed = (LEAST_PANE.x + GRID) * self.n_columns as f32;
        // Panes that do not fit beside each other are shown one at a time.
        self.width - if needed > self.width { least } else { needed.max(least) }
    }

    /// What both panels can have together.
    pub fn of_panels(self) -> f32 {
        self.beside(LEAST_BETWEEN_PT)
    }

    /// Whether the left panel stands beside the view; else a line above the view says what it would.
    pub fn has_left(self) -> bool {
        self.beside(LEAST_VIEW_PT) >= Side::Left.least_pt()
    }

    /// Whether a panel has room, the right one beside the left one where `with_left`.
    fn has(self, side: Side, with_left: bool) -> bool {
        match side {
            Side::Left => self.has_left(),
            Side::Right if with_left => self.of_panels() >= Side::Left.least_pt() + Side::Right.least_pt(),
            Side::Right => self.beside(LEAST_VIEW_PT) >= Side::Right.least_pt(),
        }
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
        let with_left = side == Side::Right && self.place(Side::Left, room) == PanelPlace::Beside;
        match wanted {
            Some(false) => PanelPlace::Closed,
            _ if room.has(side, with_left) => PanelPlace::Beside,
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
pub fn side_panel_ui(ui: &mut Ui, side: Side, (max, frame): (f32, Frame), contents: impl FnOnce(&mut Ui)) {
    let (name, panel) = match side {
        Side::Left => ("left panel", Panel::left("left panel")),
        Side::Right => ("inspector", Panel::right("inspector")),
    };
    let panel = panel.default_size(side.default_pt(ui.ctx().content_rect().width())).frame(frame);
    let id = ui.scope_id().with(name);
    let wanted = PanelState::load(ui.ctx(), id);
    panel.size_range(side.least_pt().min(max)..=max).show(ui, |ui| {
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
            ui.shrink_clip_rect(rect);
            contents(&mut ui.new_child(UiBuilder::new().max_rect(inner)));
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
            (859.0, [Closed, Closed]),
            (860.0, [Beside, Closed]),
            (999.0, [Beside, Closed]),
            (1000.0, [Beside, Beside]),
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
