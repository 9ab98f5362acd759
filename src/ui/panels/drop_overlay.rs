//! What will happen to the files that hover over the window, said before they are dropped.

use std::path::Path;

use eframe::egui::{self, Align2, FontId, Id, LayerId, Order, vec2};

use crate::{
    session::PathKind,
    ui::{
        ViewCtx,
        theme::{GRID, radius, text_size},
    },
};

/// Files that are listed before "and … more".
const MAX_LISTED: usize = 6;

/// Draws the overlay while files hover over the window.
pub fn drop_overlay_ui(ctx: &egui::Context, cx: &ViewCtx<'_>) {
    let lines: Vec<String> = ctx.input(|input| {
        let files = &input.raw.hovered_files;
        let listed = files
            .iter()
            .take(MAX_LISTED)
            .map(|file| file.path.as_deref().map_or_else(|| "Drop to open".to_owned(), |path| consequence(cx, path)));
        let more = files.len().saturating_sub(MAX_LISTED);
        listed.chain((more > 0).then(|| format!("and {more} more"))).collect()
    });
    if lines.is_empty() {
        return;
    }
    let layer = LayerId::new(Order::Debug, Id::unique("drop overlay"));
    let painter = ctx.layer_painter(layer);
    let rect = ctx.content_rect();
    painter.rect_filled(rect, 0, cx.theme.canvas.gamma_multiply(0.92));
    let edge = egui::Stroke::new(2.0, cx.theme.accent);
    painter.rect_stroke(rect.shrink(3.0 * GRID), radius::DIALOG, edge, egui::StrokeKind::Inside);
    let line_height = 6.0 * GRID;
    let top = rect.center().y - line_height * lines.len() as f32 / 2.0;
    for (idx, line) in lines.iter().enumerate() {
        painter.text(
            rect.center_top() + vec2(0.0, top - rect.top() + line_height * idx as f32),
            Align2::CENTER_TOP,
            line,
            FontId::proportional(text_size::LARGE),
            cx.theme.text,
        );
    }
}

/// One line about one file.
pub fn consequence(cx: &ViewCtx<'_>, path: &Path) -> String {
    let name = path.file_name().map_or_else(|| path.display().to_string(), |it| it.to_string_lossy().into_owned());
    let model = cx.document.model.latest();
    let sees = model.is_some_and(|model| model.spec.modality.image().is_some());
    let current = model.map_or("the model", |model| model.spec.name.as_str());
    match PathKind::of(path) {
        PathKind::Session => format!("Open the session {name} in place of this one"),
        PathKind::Corpus => format!("Run {current} on every row of {name}"),
        PathKind::Model => format!("Open {name} as a model, a capture or a corpus"),
        PathKind::Image if sees => format!("Show {name} to {current}"),
        PathKind::Image => format!("Show {name} to demo:vit, because {current} reads text"),
        PathKind::Text if sees => format!("Let demo:gpt read {name}, because {current} sees pictures"),
        PathKind::Text => format!("Let {current} read {name}"),
    }
}
