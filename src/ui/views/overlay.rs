//! Strip above a view whose attention is replaced by a result of the lab, with a button to go back.

use eframe::egui::{Button, Frame, Label, Margin, RichText, Sense, Ui, vec2};

use super::{display_list::paint_part, source, states};
use crate::{
    analysis::reading::Explained,
    figure::list::Rgba,
    ids::HeadId,
    raster::ColorMap,
    session::{Command, Substitute},
    ui::{
        ViewCtx,
        theme::{GRID, opaque, radius},
    },
};

/// Colours of the ramp.
const STEPS: usize = 24;
/// The ramp beside the name.
const RAMP_PT: [f32; 2] = [9.0 * GRID, 2.5 * GRID];

/// Draws the strip above a view; `false` when there is nothing to be shown in place of attention yet, and a sentence
/// stands there instead.
pub fn above_ui(ui: &mut Ui, cx: &ViewCtx<'_>, overlay: &Substitute) -> bool {
    strip_ui(ui, cx, overlay);
    let is_there = overlay.explained().is_some();
    if !is_there {
        states::sentence_ui(ui, cx.theme, &overlay.missing());
    }
    is_there
}

/// What is shown, in its colours, that it is no attention, and the way back.
pub fn strip_ui(ui: &mut Ui, cx: &ViewCtx<'_>, overlay: &Substitute) {
    let frame =
        Frame::new().fill(opaque(cx.theme.palette.not_attention).gamma_multiply(0.09)).corner_radius(radius::CONTROL);
    frame.inner_margin(Margin::symmetric(2 * GRID as i8, GRID as i8)).show(ui, |ui| {
        ui.horizontal(|ui| {
            ui.set_width(ui.available_width());
            if !source::tells_heads_apart(cx) {
                ramp_ui(ui, cx, overlay.explained());
            }
            let room = ui.available_width() - 34.0 * GRID;
            ui.scope(|ui| {
                ui.set_max_width(room.max(20.0 * GRID));
                ui.add(name(overlay, cx, &source::drawn_heads(cx)).truncate()).on_hover_text(caveat(overlay));
            });
            back_ui(ui, cx);
        });
    });
}

fn name(overlay: &Substitute, cx: &ViewCtx<'_>, heads: &[HeadId]) -> Label {
    let stack = cx.pane.selection.stack();
    let what = overlay.explained().map_or_else(|| overlay.what(), |explained| explained.what_of(stack, heads));
    Label::new(RichText::new(format!("{what} – not attention")).strong()).sense(Sense::hover())
}

/// What must be known before the numbers are believed.
fn caveat(overlay: &Substitute) -> String {
    let method = overlay.value.ask.spec();
    format!("{}: {}\n{}", overlay.what(), method.caveat, method.source)
}

fn back_ui(ui: &mut Ui, cx: &ViewCtx<'_>) {
    let back = ui.add(Button::new("Back to attention").small());
    if back.on_hover_text("Show the model’s attention weights again").clicked() {
        cx.send(Command::Overlay(None, None));
    }
}

/// Its colours, from the least to the most.
fn ramp_ui(ui: &mut Ui, cx: &ViewCtx<'_>, explained: Option<&Explained>) {
    let (rect, response) = ui.allocate_exact_size(vec2(RAMP_PT[0], RAMP_PT[1]), Sense::hover());
    let map = if explained.is_some_and(Explained::is_signed) { ColorMap::Signed } else { ColorMap::Explained };
    let map = map.on(cx.theme.palette.ground);
    let colors: Vec<Rgba> = (0..STEPS).map(|step| map.color(step as f32 / (STEPS - 1) as f32)).collect();
    paint_part(ui.painter(), response.id, cx.theme, map, rect.expand(1.0), &|pen| {
        pen.colors(rect, &colors);
        pen.frame(rect, pen.hairline(), pen.palette.rule);
    });
    let meaning = match explained {
        Some(explained) if explained.is_signed() => "Blue: lowers the score · orange: raises it",
        _ => "Farther from the ground means more",
    };
    response.on_hover_text(meaning);
}
