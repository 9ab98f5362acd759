//! The text that the model wrote, each token tinted by the probability the model gave it.

use eframe::egui::{self, FontId, Rect, Role, ScrollArea, Sense, Stroke, Ui, WidgetInfo, vec2};

use crate::{
    capture::{Capture, Token},
    ids::Side,
    session::{Command, Focus, PaneCommand, SelectionCommand},
    text::share_text,
    ui::{
        ViewCtx,
        theme::{GRID, radius, text_size},
        widgets::section_ui,
    },
};

const MAX_HEIGHT: f32 = 40.0 * GRID;

/// Draws the text, if the model wrote any.
pub fn written_ui(ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture) {
    let Some(written) = capture.generated() else { return };
    let tokens = capture.tokens(written.side).get(written.first..).unwrap_or_default();
    let n = tokens.len().min(written.probabilities.len());
    let title = match written.side {
        _ if n == 0 => "The model wrote nothing: its first token was the end".to_owned(),
        Side::Only => format!("Continued by {n} tokens"),
        Side::Encoder | Side::Decoder | Side::Vision | Side::Text | Side::Sentences | Side::Chosen => {
            format!("Written by the model, {n} tokens")
        }
    };
    section_ui(ui, cx.theme, &title);
    if n == 0 {
        return;
    }
    ScrollArea::vertical().id_salt("written").max_height(MAX_HEIGHT).auto_shrink([false, true]).show(ui, |ui| {
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().item_spacing = vec2(0.0, 1.0);
            for (idx, (token, &probability)) in tokens.iter().zip(&written.probabilities).enumerate() {
                token_ui(ui, cx, token, written.side, written.first + idx, probability);
            }
        });
    });
    let legend = "The stronger the tint, the more probable";
    ui.label(egui::RichText::new(legend).small().color(cx.theme.text_weak));
}

fn token_ui(ui: &mut Ui, cx: &ViewCtx<'_>, token: &Token, side: Side, position: usize, probability: f32) {
    let theme = cx.theme;
    let text = if token.text.is_empty() { "·".to_owned() } else { token.text.replace('␣', " ") };
    let galley = ui.painter().layout_no_wrap(text, FontId::proportional(text_size::BODY), theme.text);
    let (rect, response) = ui.allocate_exact_size(galley.size() + vec2(1.0, 3.0), Sense::click());
    let stack = cx.pane.selection.stack();
    let here = stack.query_side() == side;
    let pinned = here && cx.pane.selection.pinned.query == Some(position);
    let focused = here && cx.pane.selection.focus().query == Some(position);
    let name = format!("Written {position} {}, probability {}", token.text, share_text(probability));
    response.widget_info(|| WidgetInfo::selected(Role::Button, true, pinned, &name));
    if ui.is_rect_visible(rect) {
        let ground = theme.bar.gamma_multiply(probability.clamp(0.0, 1.0));
        ui.painter().rect_filled(rect, 0, ground);
        // The line grows with the probability, for eyes that cannot tell the grounds apart.
        let line = Rect::from_min_max(rect.left_bottom() - vec2(0.0, 2.0), rect.right_bottom());
        let line = line.with_max_x(rect.left() + rect.width() * probability.clamp(0.0, 1.0));
        ui.painter().rect_filled(line, 0, theme.text_weak);
        ui.painter().galley(rect.min, galley, theme.text);
        if pinned || focused || response.has_focus() {
            let color = if pinned { theme.text } else { theme.query };
            ui.painter().rect_stroke(rect, radius::MARK, Stroke::new(1.5, color), egui::StrokeKind::Outside);
        }
    }
    if here && response.hovered() {
        cx.send(Command::InPane(PaneCommand::Hover(Focus::query(position))));
    }
    if response.clicked() {
        if !here {
            cx.send(Command::Select(SelectionCommand::Stack(side.writing_stack())));
        }
        cx.send(Command::Select(SelectionCommand::Pin(Focus::query(position))));
    }
    response.on_hover_ui(|ui| {
        ui.label(format!("{}  #{position}", token.text));
        ui.weak(format!("probability {}", share_text(probability)));
        ui.weak("Click pins it as query");
    });
}
