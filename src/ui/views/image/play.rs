//! Layers one after the other, for the head of the selected number or for heads that are taken together.

use eframe::egui::Ui;

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
    /// The button that begins, anew at the last of `n_layers`, or ends it.
    pub fn button_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>, n_layers: usize) {
        let (name, meaning) = match self.next_at {
            None => ("Play", "Shows one layer after the other"),
            Some(_) => ("Stop", "Stays at this layer"),
        };
        if !ui.button(name).on_hover_text(meaning).clicked() {
            return;
        }
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
