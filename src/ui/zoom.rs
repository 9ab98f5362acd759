//! Zoom of the window, on top of the system's scale.

use eframe::egui::{Context, Id};

use crate::{text::whole_text, ui::theme::GRID};

/// From half as large, where the smallest letters have five pixels, to three times.
const STEPS: [f32; 13] = [0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0];

/// The zoom that is proposed, and the width of the window from which on it is.
const PROPOSED: f32 = 1.25;
const PROPOSED_FROM_PT: f32 = 600.0 * GRID;

/// Takes the zoom over from egui, which goes down to letters of three pixels, and brings what was kept from the last
/// time within the limits; `fixed` forgets it.
pub fn install(ctx: &Context, fixed: bool) {
    ctx.options_mut(|options| options.zoom_with_keyboard = false);
    let kept = if fixed { 1.0 } else { ctx.zoom_factor() };
    ctx.set_zoom_factor(kept.clamp(STEPS[0], STEPS[STEPS.len() - 1]));
}

/// One step larger, or smaller.
pub fn step(ctx: &Context, larger: bool) {
    let now = ctx.zoom_factor();
    let next = if larger {
        STEPS.into_iter().find(|step| *step > now + 0.01)
    } else {
        STEPS.into_iter().rev().find(|step| *step < now - 0.01)
    };
    if let Some(next) = next {
        ctx.set_zoom_factor(next);
    }
}

/// As large as the system says.
pub fn reset(ctx: &Context) {
    ctx.set_zoom_factor(1.0);
}

/// The zoom to propose for a very large window, until somebody answered or chose one.
pub fn proposal(ctx: &Context) -> Option<f32> {
    let answered = ctx.data_mut(|data| data.get_persisted(answered_id())).unwrap_or(false);
    let is_large = ctx.content_rect().width() >= PROPOSED_FROM_PT && ctx.zoom_factor() == 1.0;
    (is_large && !answered).then_some(PROPOSED)
}

/// Answers the proposal, for ever: with a zoom, or by leaving all as it is.
pub fn answer(ctx: &Context, zoom: Option<f32>) {
    ctx.data_mut(|data| data.insert_persisted(answered_id(), true));
    if let Some(zoom) = zoom {
        ctx.set_zoom_factor(zoom);
    }
}

fn answered_id() -> Id {
    Id::unique("zoom that was proposed")
}

/// `150 %`; none where everything is as large as the system says.
pub fn text(ctx: &Context) -> Option<String> {
    let percent = (ctx.zoom_factor() * 100.0).round();
    (percent != 100.0).then(|| format!("{} %", whole_text(percent)))
}
