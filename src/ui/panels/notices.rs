//! Messages: small toasts in a corner of the view that go away by themselves, and their history.

use std::collections::HashMap;

use eframe::egui::{self, Align, Align2, Id, Layout, RichText, Role, Ui, WidgetInfo, vec2};

use crate::{
    session::{Command, Notice, NoticeKind, SessionCommand},
    ui::{PanelCtx, theme::GRID},
};

/// How long a message stays, in seconds.
const INFO_SECS: f64 = 6.0;
/// Errors also stand where they belong, so their toast may go, too, but not before it was read.
const ERROR_SECS: f64 = 12.0;
/// Toasts shown at a time.
const MAX_TOASTS: usize = 3;
const WIDTH: f32 = 72.0 * GRID;

/// When each message was first on screen.
#[derive(Debug, Default)]
pub struct Notices {
    first_shown_secs: HashMap<u64, f64>,
}

impl Notices {
    /// Draws the toasts that are still young, in the lower right corner of `view`: beside it
    /// stand the numbers that are being read.
    pub fn toasts_ui(&mut self, ctx: &egui::Context, cx: &PanelCtx<'_>, view: egui::Rect) {
        let now_secs = ctx.input(|input| input.time);
        let notices = &cx.session.notices;
        self.first_shown_secs.retain(|id, _| notices.iter().any(|notice| notice.id == *id));
        let mut young: Vec<(&Notice, f64)> = Vec::new();
        // A failure that stands where it belongs needs no toast over something else.
        for notice in notices.iter().rev().filter(|notice| !stands_in_place(cx, notice)) {
            let age_secs = now_secs - *self.first_shown_secs.entry(notice.id).or_insert(now_secs);
            let left_secs = lifetime_secs(notice.kind) - age_secs;
            if left_secs > 0.0 && young.len() < MAX_TOASTS {
                young.push((notice, left_secs));
            }
        }
        let Some(next_secs) = young.iter().map(|(_, left)| *left).reduce(f64::min) else { return };
        ctx.request_repaint_after_secs(next_secs as f32);
        egui::Area::new(Id::unique("toasts"))
            .pivot(Align2::RIGHT_BOTTOM)
            .fixed_pos(view.right_bottom() - vec2(3.0 * GRID, 3.0 * GRID))
            .order(egui::Order::Foreground)
            .accessible_name("Messages")
            .show(ctx, |ui| {
                for (notice, _) in young {
                    let frame = egui::Frame::popup(ui.style()).inner_margin(2.0 * GRID);
                    frame.show(ui, |ui| {
                        ui.set_width(WIDTH.min(view.width() - 12.0 * GRID));
                        notice_ui(ui, cx, notice);
                    });
                }
            });
    }
}

/// Whether a message tells of what the pane or the panel beside it says already.
pub fn stands_in_place(cx: &PanelCtx<'_>, notice: &Notice) -> bool {
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
    let color = match notice.kind {
        NoticeKind::Info => cx.theme.text,
        NoticeKind::Error => cx.theme.error,
    };
    ui.horizontal_top(|ui| {
        ui.with_layout(Layout::right_to_left(Align::TOP), |ui| {
            let close = ui.add(egui::Button::new("✖").small().frame_when_inactive(false));
            close.widget_info(|| WidgetInfo::labeled(Role::Button, true, format!("Dismiss: {}", notice.text.summary)));
            if close.on_hover_text("Dismiss").clicked() {
                cx.send(Command::DismissNotice(notice.id));
            }
            ui.with_layout(Layout::top_down(Align::LEFT), |ui| {
                ui.spacing_mut().item_spacing.y = GRID / 2.0;
                ui.label(RichText::new(&notice.text.summary).color(color));
                if !notice.text.details.is_empty() {
                    ui.label(RichText::new(&notice.text.details).small().color(cx.theme.text_weak));
                }
                if let Some(undo) = &notice.undo {
                    let button = ui.small_button("Undo").on_hover_text("Remove this bookmark");
                    let name = format!("Undo: {}", notice.text.summary);
                    button.widget_info(|| WidgetInfo::labeled(Role::Button, true, &name));
                    if button.clicked() {
                        cx.send(Command::Session(SessionCommand::Bookmark(undo.clone())));
                    }
                }
            });
        });
    });
}

const fn lifetime_secs(kind: NoticeKind) -> f64 {
    match kind {
        NoticeKind::Info => INFO_SECS,
        NoticeKind::Error => ERROR_SECS,
    }
}
