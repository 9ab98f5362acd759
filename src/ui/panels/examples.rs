//! The gallery of examples, which change model, input and view with one click.

use eframe::egui::{
    self, Align2, FontId, Rect, RichText, Role, ScrollArea, Sense, Ui, WidgetInfo,
    text::{LayoutJob, TextWrapping},
    vec2,
};

use crate::{
    session::{
        Command,
        gallery::{EXAMPLES, Example, Topic},
    },
    ui::{
        ViewCtx,
        theme::{GRID, radius, text_size},
        widgets::Dialog,
    },
};

const GALLERY_CARD: egui::Vec2 = vec2(62.0 * GRID, 19.0 * GRID);
/// Lines of a hint in the gallery; the longest takes as many.
const GALLERY_ROWS: usize = 3;

/// Draws the gallery over everything; false when it was closed.
pub fn gallery_ui(ctx: &egui::Context, cx: &ViewCtx<'_>) -> bool {
    let room = ctx.content_rect().size();
    let (n_columns, width) = n_columns(room.x * 0.9);
    let modal = Dialog::new("gallery", width + 2.0 * GRID).show(ctx, |ui| {
        ui.heading("Examples");
        ui.add_space(GRID);
        let typed = search_ui(ui, cx);
        let mut chosen = false;
        // As high as all of them, so that typing does not move the field.
        let height = room.y * 0.75;
        ScrollArea::vertical().max_height(height).min_scrolled_height(height).auto_shrink(false).show(ui, |ui| {
            ui.spacing_mut().item_spacing = egui::Vec2::splat(GRID);
            for topic in Topic::ALL {
                let of_topic: Vec<_> = topic.examples().filter(|(_, example)| example.mentions(&typed)).collect();
                if of_topic.is_empty() {
                    continue;
                }
                ui.add_space(2.0 * GRID);
                ui.label(RichText::new(topic.title()).strong());
                chosen |= cards_ui(ui, cx, &of_topic, n_columns);
            }
        });
        ui.add_space(2.0 * GRID);
        ui.button("Close").clicked() || chosen
    });
    !(modal.inner || modal.should_close())
}

/// How many large cards stand side by side in a width, three at most, and how wide they are together.
pub(super) fn n_columns(room: f32) -> (usize, f32) {
    let n = (room / (GALLERY_CARD.x + GRID)).floor().clamp(1.0, 3.0);
    (n as usize, n * (GALLERY_CARD.x + GRID))
}

/// Large cards in rows; true when one was clicked.
pub(super) fn cards_ui(ui: &mut Ui, cx: &ViewCtx<'_>, examples: &[(usize, &Example)], n_columns: usize) -> bool {
    let mut chosen = false;
    for row in examples.chunks(n_columns) {
        ui.horizontal(|ui| {
            for &(idx, example) in row {
                chosen |= card_ui(ui, cx, idx, example, GALLERY_CARD, GALLERY_ROWS);
            }
        });
    }
    chosen
}

/// A field that narrows the gallery, and how many examples are left; gives what was typed.
fn search_ui(ui: &mut Ui, cx: &ViewCtx<'_>) -> String {
    let (id, now) = (egui::Id::unique("gallery search"), ui.ctx().cumulative_frame_nr());
    // What was typed is forgotten once the gallery was not drawn for a frame, however it was closed.
    let known = ui.data(|data| data.get_temp::<(String, u64)>(id)).filter(|(_, drawn)| drawn + 1 >= now);
    let just_opened = known.is_none();
    let mut typed = known.map(|(typed, _)| typed).unwrap_or_default();
    ui.horizontal(|ui| {
        let hint = "Search titles, texts and explanations";
        let field = egui::TextEdit::singleline(&mut typed).hint_text(hint).desired_width(GALLERY_CARD.x);
        let field = ui.add(field).accessible_name("Search examples");
        if just_opened {
            field.request_focus();
        }
        let n = EXAMPLES.iter().filter(|example| example.mentions(&typed)).count();
        let found = match n {
            _ if typed.trim().is_empty() => String::new(),
            0 => format!("No example mentions “{}”", typed.trim()),
            n => format!("{n} of {}", EXAMPLES.len()),
        };
        ui.label(RichText::new(found).color(cx.theme.text_weak));
    });
    ui.data_mut(|data| data.insert_temp(id, (typed.clone(), now)));
    typed
}

/// A card of `size` with so many lines for its hint, or none; true when it was clicked, and its example asked for.
fn card_ui(ui: &mut Ui, cx: &ViewCtx<'_>, idx: usize, example: &Example, size: egui::Vec2, n_rows: usize) -> bool {
    let (rect, response) = ui.allocate_exact_size(size, Sense::click());
    let shown = cx.document.example == Some(idx);
    response.widget_info(|| WidgetInfo::selected(Role::Button, true, shown, format!("Example: {}", example.title)));
    if ui.is_rect_visible(rect) {
        let theme = cx.theme;
        if response.hovered() || response.has_focus() {
            ui.painter().rect_filled(rect, radius::CONTROL, theme.hover);
        }
        if shown {
            let edge = Rect::from_min_size(rect.min + vec2(0.0, GRID), vec2(2.0, rect.height() - 2.0 * GRID));
            ui.painter().rect_filled(edge, radius::MARK, theme.accent);
        }
        let painter = ui.painter().with_clip_rect(rect.shrink2(vec2(2.0 * GRID, 0.0)).intersect(ui.clip_rect()));
        let left = rect.left() + 2.0 * GRID;
        painter.text(
            egui::pos2(left, rect.top() + if n_rows == 0 { rect.height() / 2.0 } else { 3.75 * GRID }),
            Align2::LEFT_CENTER,
            example.title,
            FontId::proportional(text_size::BODY),
            theme.text,
        );
        if n_rows > 1 {
            painter.text(
                egui::pos2(rect.right() - 2.0 * GRID, rect.top() + 3.75 * GRID),
                Align2::RIGHT_CENTER,
                example.model,
                FontId::proportional(text_size::SMALL),
                theme.text_weak,
            );
        }
        if n_rows > 0 {
            let mut hint = LayoutJob::single_section(
                example.hint.to_owned(),
                egui::TextFormat::simple(FontId::proportional(text_size::SMALL), theme.text_weak),
            );
            let width = size.x - 4.0 * GRID;
            hint.wrap =
                TextWrapping { max_rows: n_rows, break_anywhere: false, ..TextWrapping::truncate_at_width(width) };
            let hint = painter.layout_job(hint);
            painter.galley(egui::pos2(left, rect.top() + 6.25 * GRID), hint, theme.text_weak);
        }
    }
    let response = response.on_hover_ui(|ui| {
        ui.label(example.hint);
        ui.weak(format!("{} · {}", example.model, example.view.label()));
    });
    if response.clicked() {
        cx.send(Command::OpenExample(idx));
    }
    response.clicked()
}
