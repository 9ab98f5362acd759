//! Dialogs and sheets: what lies over everything until it is closed.

use eframe::egui::{
    Align2, Button, Context, Frame, Id, Key, Modal, ModalResponse, Modifiers, Order, Popup, Pos2, Response, RichText,
    ScrollArea, Ui, Vec2, vec2,
};

use super::follow_focus;
use crate::ui::theme::GRID;

/// A window smaller than this has no room to spare around a dialog.
const SMALL: Vec2 = vec2(150.0 * GRID, 100.0 * GRID);
/// Around the contents: where there is room, and in a small window.
const MARGINS: [f32; 2] = [5.0 * GRID, 2.0 * GRID];
/// Contents are never given less.
const LEAST: Vec2 = vec2(20.0 * GRID, 10.0 * GRID);

/// A dialog that is about to be shown.
pub struct Dialog {
    name: &'static str,
    width: f32,
    top: Option<f32>,
}

impl Dialog {
    /// Of this name, so many points wide where the window has room for it.
    pub const fn new(name: &'static str, width: f32) -> Self {
        Self { name, width, top: None }
    }

    /// So far below the upper edge of the window instead of in its middle.
    #[must_use]
    pub const fn at_top(self, top: f32) -> Self {
        Self { top: Some(top), ..self }
    }

    /// The most that the contents of a dialog in the middle can take.
    pub fn room(ctx: &Context) -> Vec2 {
        (ctx.content_rect().size() - Vec2::splat(2.0 * margin(ctx))).max(LEAST)
    }

    /// Whether a place was below the dialog of this name when that was drawn last.
    pub fn covers(ctx: &Context, name: &'static str, at: Pos2) -> bool {
        ctx.memory(|memory| memory.area_rect(Id::unique(name))).is_some_and(|rect| rect.contains(at))
    }

    /// Draws it; what has no room in the window scrolls.
    ///
    /// It lies in a layer below that of menus: within one layer egui puts on top what was touched last, and keeps that
    /// order even from one run of the program to the next, so that the menus of a dialog could open under it.
    pub fn show<R>(self, ctx: &Context, contents: impl FnOnce(&mut Ui) -> R) -> ModalResponse<R> {
        let top = self.top.filter(|_| !is_small(ctx));
        let room = Self::room(ctx) - vec2(0.0, top.unwrap_or(0.0));
        let id = Id::unique(self.name);
        let area = Modal::default_area(id).order(Order::Middle);
        let area = match top {
            Some(top) => area.anchor(Align2::CENTER_TOP, [0.0, top]),
            None => area,
        };
        let frame = Frame::popup(&ctx.global_style()).inner_margin(margin(ctx));
        Modal::new(id).area(area).frame(frame).show(ctx, |ui| {
            // Else it would get no more room than it took in the frame before.
            ui.set_max_size(room);
            let shown = ScrollArea::both().id_salt("dialog").show(ui, |ui| {
                ui.set_width(self.width.min(ui.available_width()));
                let inner = contents(ui);
                follow_focus(ui);
                inner
            });
            shown.inner
        })
    }
}

/// The main button of a dialog, and whether Enter presses it: it has the focus when the dialog opens, and answers to
/// Enter where nothing else has it.
pub fn main_button_ui(ui: &mut Ui, text: &str, enabled: bool, just_opened: bool) -> (Response, bool) {
    let button = ui.add_enabled(enabled, Button::new(RichText::new(text).strong()));
    if just_opened {
        button.request_focus();
    }
    let is_free = enabled && ui.memory(|memory| memory.focused().is_none()) && !Popup::is_any_open(ui.ctx());
    let entered = is_free && ui.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Enter));
    (button, entered)
}

fn is_small(ctx: &Context) -> bool {
    let size = ctx.content_rect().size();
    size.x < SMALL.x || size.y < SMALL.y
}

fn margin(ctx: &Context) -> f32 {
    MARGINS[usize::from(is_small(ctx))]
}
