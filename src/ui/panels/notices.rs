//! Messages: the newest in the status bar, where it covers no picture, and all of them in a list behind it.

use std::collections::HashMap;

use eframe::egui::{self, Align, Label, Layout, RichText, Role, TextStyle, Ui, WidgetInfo, text::LayoutJob};

use crate::{
    session::{Command, Notice, NoticeKind, SessionCommand},
    ui::{PanelCtx, theme::GRID},
};

/// How long a message stays in the status bar, in seconds.
const INFO_SECS: f64 = 8.0;
const ERROR_SECS: f64 = 12.0;
/// How much of its colour lies behind a message that is new.
const NEW_FILL: f32 = 0.14;
/// Width of the list.
const WIDTH: f32 = 72.0 * GRID;

/// When each message was first on screen.
#[derive(Debug, Default)]
pub struct Notices {
    first_shown_secs: HashMap<u64, f64>,
}

impl Notices {
    /// The message of this frame, and whether it is new: an error before what is good to know, the newest of its kind.
    /// One that is not new stays while what it is about has failed.
    pub fn current<'a>(&mut self, ctx: &egui::Context, cx: &PanelCtx<'a>) -> Option<(&'a Notice, bool)> {
        let now_secs = ctx.input(|input| input.time);
        let notices = &cx.session.notices;
        self.first_shown_secs.retain(|id, _| notices.iter().any(|notice| notice.id == *id));
        let mut shown: Option<(&Notice, bool)> = None;
        for notice in notices.iter() {
            let age_secs = now_secs - *self.first_shown_secs.entry(notice.id).or_insert(now_secs);
            let is_error = notice.kind == NoticeKind::Error;
            let left_secs = if is_error { ERROR_SECS } else { INFO_SECS } - age_secs;
            let is_new = left_secs > 0.0;
            if is_new {
                ctx.request_repaint_after_secs(left_secs as f32);
            }
            // What stands where it belongs is not said a second time.
            let is_told = is_new || is_error && !notice.cause.is_over();
            let rank = |(notice, is_new): (&Notice, bool)| (is_new, notice.kind == NoticeKind::Error);
            if is_told
                && !stands_in_place(cx, notice)
                && shown.is_none_or(|shown| rank((notice, is_new)) >= rank(shown))
            {
                shown = Some((notice, is_new));
            }
        }
        shown
    }
}

/// Draws a message in the status bar, cut where there is no room.
pub fn current_ui(ui: &mut Ui, cx: &PanelCtx<'_>, (notice, is_new): (&Notice, bool)) {
    let color = color(cx, notice);
    let fill = if is_new { color.gamma_multiply(NEW_FILL) } else { egui::Color32::TRANSPARENT };
    egui::Frame::new().fill(fill).corner_radius(GRID / 2.0).inner_margin(egui::Margin::symmetric(GRID as i8, 0)).show(
        ui,
        |ui| {
            ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
                dismiss_ui(ui, cx, notice);
                undo_ui(ui, cx, notice);
                let text = &notice.text;
                let mut job = LayoutJob::default();
                let style = ui.style().override_text_style.clone().unwrap_or(TextStyle::Body);
                let mut add = |text: &str, color| {
                    RichText::new(text).color(color).text_style(style.clone()).append_to(
                        &mut job,
                        ui.style(),
                        egui::FontSelection::Default,
                        Align::Center,
                    );
                };
                add(&text.summary, color);
                if !text.details.is_empty() {
                    add(&format!("  {}", text.details.replace('\n', " ")), cx.theme.text_weak);
                }
                let whole = format!("{}\n{}", text.summary, text.details);
                ui.add(Label::new(job).truncate()).on_hover_text(whole.trim_end());
            });
        },
    );
}

/// Whether a message tells of what the pane or the panel beside it says already.
fn stands_in_place(cx: &PanelCtx<'_>, notice: &Notice) -> bool {
    [cx.document.model.failure(), cx.document.capture.failure()].contains(&Some(&notice.text))
}

/// Every message that was not dismissed, newest first.
pub fn history_ui(ui: &mut Ui, cx: &PanelCtx<'_>) {
    ui.set_width(WIDTH.min(ui.ctx().content_rect().width() - 8.0 * GRID));
    if cx.session.notices.is_empty() {
        ui.weak("No messages");
    }
    egui::ScrollArea::vertical().max_height((80.0 * GRID).min(ui.ctx().content_rect().height() - 8.0 * GRID)).show(
        ui,
        |ui| {
            for notice in cx.session.notices.iter().rev() {
                notice_ui(ui, cx, notice);
                ui.add_space(GRID);
            }
        },
    );
}

fn notice_ui(ui: &mut Ui, cx: &PanelCtx<'_>, notice: &Notice) {
    ui.horizontal_top(|ui| {
        ui.with_layout(Layout::right_to_left(Align::TOP), |ui| {
            dismiss_ui(ui, cx, notice);
            ui.with_layout(Layout::top_down(Align::LEFT), |ui| {
                ui.spacing_mut().item_spacing.y = GRID / 2.0;
                ui.label(RichText::new(&notice.text.summary).color(color(cx, notice)));
                if !notice.text.details.is_empty() {
                    ui.label(RichText::new(&notice.text.details).small().color(cx.theme.text_weak));
                }
                undo_ui(ui, cx, notice);
            });
        });
    });
}

fn dismiss_ui(ui: &mut Ui, cx: &PanelCtx<'_>, notice: &Notice) {
    let close = ui.add(egui::Button::new("✖").small().frame_when_inactive(false));
    close.widget_info(|| WidgetInfo::labeled(Role::Button, true, format!("Dismiss: {}", notice.text.summary)));
    if close.on_hover_text("Dismiss").clicked() {
        cx.send(Command::DismissNotice(notice.id));
    }
}

fn undo_ui(ui: &mut Ui, cx: &PanelCtx<'_>, notice: &Notice) {
    let Some(undo) = notice.undo() else { return };
    let button = ui.small_button("Undo").on_hover_text("Remove this bookmark");
    button.widget_info(|| WidgetInfo::labeled(Role::Button, true, format!("Undo: {}", notice.text.summary)));
    if button.clicked() {
        cx.send(Command::Session(SessionCommand::Bookmark(undo)));
    }
}

fn color(cx: &PanelCtx<'_>, notice: &Notice) -> egui::Color32 {
    match notice.kind {
        NoticeKind::Info => cx.theme.text,
        NoticeKind::Error => cx.theme.error,
    }
}
