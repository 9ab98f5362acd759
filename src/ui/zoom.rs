//! Zoom of the window, on top of the system's scale.

use eframe::egui::Context;

use crate::text::whole_text;

/// From half as large, where the smallest letters have five pixels, to three times.
const STEPS: [f32; 13] = [0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0];

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

/// `150 %`; none where everything is as large as the system says.
pub fn text(ctx: &Context) -> Option<String> {
    let percent = (ctx.zoom_factor() * 100.0).round();
    (percent != 100.0).then(|| format!("{} %", whole_text(percent)))
}
