//! What is not of the model, input and changes that are asked for is veiled, and says of which run it is.

use eframe::egui::{self, Id, Ui};

use super::ViewCtx;
use crate::session::AnswerTo;

/// How visible it is.
const OPACITY: f32 = 0.45;
/// A result that arrives sooner than this does not veil the one before: typing must not flicker.
const WAIT_SECS: f32 = 0.15;
/// How long veiling takes.
const VEIL_SECS: f32 = 0.2;

/// How what a pane shows is veiled.
pub struct Veil {
    pub opacity: f32,
    pub said: String,
}

/// How what a pane shows is veiled in this frame; `None` where it is not.
pub fn veil(ui: &Ui, cx: &ViewCtx<'_>) -> Option<Veil> {
    let stale = cx.document.stale();
    let secs = if stale.is_some() { WAIT_SECS + VEIL_SECS } else { 0.0 };
    let id = Id::unique(("stale result", cx.pane.id.0));
    let t = ui.ctx().animate_bool_with_time(id, stale.is_some(), secs);
    let veiled = ((t * (WAIT_SECS + VEIL_SECS) - WAIT_SECS) / VEIL_SECS).clamp(0.0, 1.0);
    let stale = stale.filter(|_| veiled > 0.0)?;
    Some(Veil { opacity: egui::lerp(1.0..=OPACITY, veiled), said: stale.text(&cx.document.title()) })
}

/// Draws answers of the laboratory, veiled where one is to another question than the one that is asked: under the name
/// of another head at once, with other options when they take a while.
pub fn veiled_answers_ui<R>(ui: &mut Ui, salt: Option<&str>, to: AnswerTo, draw: impl FnOnce(&mut Ui) -> R) -> R {
    let secs = if to == AnswerTo::OtherOptions { WAIT_SECS + VEIL_SECS } else { 0.0 };
    let id = ui.scope_id().with(("old answer", salt));
    let t = ui.ctx().animate_bool_with_time(id, to != AnswerTo::This, secs);
    let veiled = if to == AnswerTo::OtherSubject { 1.0 } else { (t * (WAIT_SECS + VEIL_SECS) - WAIT_SECS) / VEIL_SECS };
    ui.scope(|ui| {
        if to != AnswerTo::This && veiled > 0.0 {
            ui.multiply_opacity(egui::lerp(1.0..=OPACITY, veiled.clamp(0.0, 1.0)));
        }
        draw(ui)
    })
    .inner
}

/// Draws something of what a pane shows, veiled where that is not of what is asked for.
pub fn veiled_ui<R>(ui: &mut Ui, cx: &ViewCtx<'_>, draw: impl FnOnce(&mut Ui) -> R) -> R {
    ui.scope(|ui| {
        if let Some(veil) = veil(ui, cx) {
            ui.multiply_opacity(veil.opacity);
        }
        draw(ui)
    })
    .inner
}
