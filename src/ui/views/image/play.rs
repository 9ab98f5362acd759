//! Layers one after the other, for the head of the selected number or for heads that are taken together.

use eframe::egui::{Key, Modifiers, Popup, Ui};

use crate::{
    session::{Command, SelectionCommand},
    ui::ViewCtx,
};

/// Seconds for which a layer is shown.
const LAYER_SECS: f64 = 0.6;

/// Whether layers are played, and when the next one is due.
#[derive(Debug, Default)]
pub struct Play {
    next_at: Option<f64>,
}

impl Play {
    /// The button that begins and ends it; at the last of `n_layers` it begins anew.
    pub fn button_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>, n_layers: usize) {
        let (name, meaning) = match self.next_at {
            None => ("Play", "Shows one layer after the other (Space, with the pointer over the picture)"),
            Some(_) => ("Stop", "Stays at this layer (Space)"),
        };
        if ui.button(name).on_hover_text(meaning).clicked() {
            self.toggle(ui, cx, n_layers);
        }
    }

    /// Space begins and ends it while nothing has the keys and the pointer is over the view.
    pub fn key(&mut self, ui: &Ui, cx: &ViewCtx<'_>, n_layers: usize) {
        let ctx = ui.ctx();
        let is_free = !ctx.egui_wants_keyboard_input() && !Popup::is_any_open(ctx);
        let is_here = is_free && n_layers > 1 && ui.rect_contains_pointer(ui.max_rect());
        if is_here && ui.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Space)) {
            self.toggle(ui, cx, n_layers);
        }
    }

    fn toggle(&mut self, ui: &Ui, cx: &ViewCtx<'_>, n_layers: usize) {
        self.next_at = match self.next_at {
            Some(_) => None,
            None => Some(ui.input(|input| input.time) + LAYER_SECS),
        };
        if self.next_at.is_some() && cx.pane.selection.head.layer + 1 >= n_layers {
            show(cx, 0);
        }
    }

    /// Shows the next layer when it is time for it; it ends at the last.
    pub fn go_on(&mut self, ui: &Ui, cx: &ViewCtx<'_>, n_layers: usize) {
        let Some(next_at) = self.next_at else { return };
        let (next, now) = (cx.pane.selection.head.layer + 1, ui.input(|input| input.time));
        if now >= next_at {
            self.next_at = (next < n_layers).then_some(now + LAYER_SECS);
            if next < n_layers {
                show(cx, next);
            }
        }
        if let Some(next_at) = self.next_at {
            ui.ctx().request_repaint_after_secs((next_at - now) as f32);
        }
    }
}

fn show(cx: &ViewCtx<'_>, layer: usize) {
    cx.send(Command::Select(SelectionCommand::Layer(layer)));
}
