//! Drawing one frame: bars, panels and the view. Nothing here changes the session.

use eframe::egui::{self, Align2, CentralPanel, FontId, Frame, Id, Margin, Panel, Rect, RichText, Ui, vec2};

use super::{App, Sheet};
use crate::{
    session::{Loadable, Session},
    ui::{
        ViewCtx,
        panels::{
            StatusFacts, WindowRequests, drop_overlay_ui, examples_ui, failure_ui, gallery_ui, shortcuts_ui,
            status_bar_ui, top_bar_ui,
        },
        theme::{GRID, Theme, text_size},
    },
    worker::Progress,
};

/// How visible an old result is while the new one is computed.
const STALE_OPACITY: f32 = 0.45;
/// A result that arrives sooner than this does not dim the old one: typing must not flicker.
const WAIT_SECS: f32 = 0.15;
/// How long the dimming takes.
const DIM_SECS: f32 = 0.2;

impl App {
    /// Draws everything and gives what was asked of the window.
    pub(super) fn draw(&mut self, ui: &mut Ui) -> WindowRequests {
        let theme = if ui.ctx().theme() == egui::Theme::Dark { Theme::dark() } else { Theme::light() };
        let Self { session, views, left, inspector, notices, pattern, commands, view_commands, pictures, .. } = self;
        let cx = ViewCtx { session, theme: &theme, commands };
        let view_cx = ViewCtx { session, theme: &theme, commands: view_commands };
        let mut requests = WindowRequests::new();
        let pattern = pattern.get(&cx);
        let bar = |margin: Margin| Frame::new().fill(theme.panel).inner_margin(margin);
        let sides = Margin::symmetric(3 * GRID as i8, 2 * GRID as i8);
        let window_width = ui.ctx().content_rect().width();
        let side_width = (window_width * 0.2).clamp(60.0 * GRID, 90.0 * GRID);

        let top = Panel::top("top bar").exact_size(10.0 * GRID).frame(bar(Margin::symmetric(2 * GRID as i8, 0)));
        let mut top_height = top.show(ui, |ui| top_bar_ui(ui, &cx, &mut requests)).response.rect.bottom();
        if self.examples_open {
            let strip = Panel::top("examples").frame(bar(Margin::symmetric(2 * GRID as i8, GRID as i8)));
            top_height = strip.show(ui, |ui| examples_ui(ui, &cx, &mut requests)).response.rect.bottom();
        }
        let facts = StatusFacts { run_secs: self.run_secs };
        Panel::bottom("status bar")
            .exact_size(7.0 * GRID)
            .frame(bar(Margin::symmetric(3 * GRID as i8, 0)))
            .show(ui, |ui| status_bar_ui(ui, &cx, facts));
        Panel::left("left panel")
            .default_size(side_width)
            .size_range(50.0 * GRID..=window_width * 0.4)
            .frame(bar(sides))
            .show(ui, |ui| left.ui(ui, &cx, pattern.as_ref()));
        Panel::right("inspector")
            .default_size(side_width)
            .size_range(50.0 * GRID..=window_width * 0.4)
            .frame(bar(sides))
            .show(ui, |ui| {
                egui::ScrollArea::vertical().id_salt("inspector").auto_shrink([false, false]).show(ui, |ui| {
                    inspector.ui(ui, &cx, pattern.as_ref());
                    ui.add_space(2.0 * GRID);
                    ui.separator();
                    views.options_ui(session.view, ui, &view_cx);
                    ui.add_space(2.0 * GRID);
                });
            });
        let ground = Frame::new().fill(theme.canvas);
        let center = CentralPanel::default().frame(ground).show(ui, |ui| {
            if session.latest_capture().is_some() {
                ui.multiply_opacity(opacity(ui, session));
                views.ui(session.view, ui, &view_cx);
            } else {
                empty_ui(ui, &cx);
            }
        });
        let view_rect = center.response.rect;
        progress_line(ui, &theme, session, view_rect);

        if !pictures.is_taking() {
            notices.toasts_ui(ui.ctx(), &cx, top_height);
            drop_overlay_ui(ui.ctx(), &cx);
        }
        self.download.ui(ui.ctx(), &cx);
        let stays = match self.sheet {
            None => true,
            Some(Sheet::Gallery) => gallery_ui(ui.ctx(), &cx),
            Some(Sheet::Shortcuts) => shortcuts_ui(ui.ctx(), &theme),
        };
        if !stays {
            self.sheet = None;
        }
        self.view_rect = view_rect;
        self.top_height = top_height;
        requests
    }
}

/// Dims a result that is being replaced, unless the new one is quick.
fn opacity(ui: &Ui, session: &Session) -> f32 {
    let stale = session.capture.is_pending() || session.model.is_pending();
    let secs = if stale { WAIT_SECS + DIM_SECS } else { 0.0 };
    let t = ui.ctx().animate_bool_with_time(Id::unique("stale result"), stale, secs);
    let dimmed = ((t * (WAIT_SECS + DIM_SECS) - WAIT_SECS) / DIM_SECS).clamp(0.0, 1.0);
    egui::lerp(1.0..=STALE_OPACITY, dimmed)
}

/// A thin line along the top of the view: how far the current job is.
fn progress_line(ui: &Ui, theme: &Theme, session: &Session, view: Rect) {
    let progress = if session.model.is_pending() {
        session.model.progress()
    } else if session.capture.is_pending() {
        session.capture.progress()
    } else if session.projection.is_pending() {
        session.projection.progress()
    } else {
        return;
    };
    // A sliver shows that something runs before the first step is done.
    let fraction = progress.map_or(0.0, |Progress { done, total, .. }| done as f32 / total.max(1) as f32).max(0.02);
    let line = Rect::from_min_size(view.min, vec2(view.width() * fraction, GRID / 2.0));
    ui.painter().rect_filled(line, 0, theme.accent);
}

/// What stands in the centre before there is anything to see.
fn empty_ui(ui: &mut Ui, cx: &ViewCtx<'_>) {
    let failure = cx.session.model.failure().or_else(|| cx.session.capture.failure());
    if let Some(failure) = failure {
        ui.vertical_centered(|ui| {
            ui.add_space(ui.available_height() * 0.35);
            failure_ui(ui, cx, failure);
            ui.add_space(2.0 * GRID);
            ui.label(RichText::new("Choose an example above, or drop a model folder here").color(cx.theme.text_weak));
        });
        return;
    }
    let text = match (&cx.session.model, &cx.session.capture) {
        (Loadable::Pending { .. }, _) => "Reading the model",
        (_, Loadable::Pending { .. }) => "Running the model",
        _ => "Choose an example above, or drop a model folder here",
    };
    let rect = ui.available_rect_before_wrap();
    let font = FontId::proportional(text_size::LARGE);
    ui.painter().text(rect.center(), Align2::CENTER_CENTER, text, font, cx.theme.text_weak);
}
