//! Drawing one frame: bars, panels and the view. Nothing here changes the session.

use std::collections::HashMap;

use eframe::egui::{self, CentralPanel, Frame, Margin, Panel, Ui, Vec2, vec2};

use super::{
    App, Sheet,
    panes::panes_ui,
    sides::{PanelPlace, Room, Side, panel_over_ui, side_panel_ui},
};
use crate::{
    figure::FigureExtent,
    ids::PaneId,
    session::Command,
    ui::{
        PanelCtx,
        panels::{
            FIRST_STEPS_PT, Gallery, HEADER_PT, StatusFacts, ViewsSheet, WindowRequests, against_ui, cloud_choice_ui,
            drop_overlay_ui, first_steps_ui, kinds_ui, lecture_height, lecture_ui, left_behind_ui, lost_model_ui,
            new_session_ui, run_line_ui, scrolled_ui, search_ui, status_bar_ui, subtract_ui, top_bar_ui,
        },
        stale::veiled_ui,
        theme::{GRID, Theme},
        views::{Views, shown_pattern},
    },
};

/// The largest part of the window that a panel beside the view takes.
const WIDEST: f32 = 0.4;
/// A window smaller than this has no room for the first steps above the view.
const LEAST_WITH_STEPS: Vec2 = vec2(160.0 * GRID, 100.0 * GRID);
/// Height of the line that stands for the left panel in a narrow window.
const RUN_LINE_PT: f32 = 7.0 * GRID;
/// A window whose view is lower than this has no room for the line.
const LEAST_WITH_LINE_PT: f32 = 50.0 * GRID;

impl App {
    /// Draws everything and gives what was asked of the window.
    pub(super) fn draw(&mut self, ui: &mut Ui) -> WindowRequests {
        let theme = if ui.ctx().theme() == egui::Theme::Dark { Theme::dark() } else { Theme::light() };
        let Self {
            session, views, left, drawer, inspector, notices, patterns, commands, view_commands, pictures, ..
        } = self;
        let cx = PanelCtx::new(session, &theme, commands, patterns);
        let view_cx = PanelCtx::new(session, &theme, view_commands, patterns);
        let mut requests = WindowRequests::new();
        let shown = shown_pattern(&cx);
        let bar = |margin: Margin| Frame::new().fill(theme.panel).inner_margin(margin);
        let sides = Margin::symmetric(3 * GRID as i8, 2 * GRID as i8);
        let window_width = ui.ctx().content_rect().width();

        let top = Panel::top("top bar").exact_size(HEADER_PT).frame(bar(Margin::symmetric(2 * GRID as i8, 0)));
        top.show(ui, |ui| top_bar_ui(ui, &cx, &mut requests));
        if !cx.session.keeping.left.is_empty() {
            let strip = Panel::top("left behind").frame(bar(Margin::symmetric(3 * GRID as i8, GRID as i8)));
            strip.show(ui, |ui| left_behind_ui(ui, &cx));
        }
        let steps = &cx.session.settings.first_steps;
        let is_lecture = cx.session.keeping.lecture.place().is_some();
        let has_room = ui.ctx().content_rect().size().min(LEAST_WITH_STEPS) == LEAST_WITH_STEPS;
        if self.offers_steps && steps.are_offered() && has_room && !is_lecture {
            let frame = Frame::new().fill(theme.raised).inner_margin(Margin::symmetric(3 * GRID as i8, 0));
            let strip = Panel::top("first steps").exact_size(FIRST_STEPS_PT).frame(frame);
            strip.show(ui, |ui| first_steps_ui(ui, &cx, &mut requests));
        }
        let facts = StatusFacts { run_secs: self.run_secs };
        Panel::bottom("status bar")
            .exact_size(7.0 * GRID)
            .frame(bar(Margin::symmetric(3 * GRID as i8, 0)))
            .show(ui, |ui| status_bar_ui(ui, &cx, (facts, notices), &mut requests));
        let room = Room::of(ui.ctx(), cx.session);
        let places = [Side::Left, Side::Right].map(|side| self.sides.place(side, room));
        let panels = ui.available_rect_before_wrap();
        let mut left_ui = |ui: &mut Ui| left.ui(ui, &cx);
        let mut right_ui = |ui: &mut Ui, views: &mut HashMap<PaneId, Views>| {
            scrolled_ui(ui, "inspector", |ui| {
                veiled_ui(ui, &cx, |ui| inspector.ui(ui, &cx, &shown));
                ui.add_space(2.0 * GRID);
                subtract_ui(ui, &cx);
                against_ui(ui, &cx);
                search_ui(ui, &cx);
                ui.separator();
                if cx.pane.view.facts().lays_out_points {
                    cloud_choice_ui(ui, &view_cx);
                }
                // Of the heads of a folder the numbers are chosen above the view, by their names there.
                if cx.document.folder().is_none() || cx.pane.view.spec().extent == FigureExtent::Head {
                    let unfolded = cx.session.settings.options_unfolded;
                    views.entry(cx.pane.id).or_default().options_ui(cx.pane.view, ui, &view_cx, unfolded);
                }
                veiled_ui(ui, &cx, |ui| kinds_ui(ui, &cx));
                ui.add_space(2.0 * GRID);
            });
        };
        if places[0] == PanelPlace::Beside {
            let other = if places[1] == PanelPlace::Beside { Side::Right.least_pt() } else { 0.0 };
            let widest = (room.of_panels() - other).min(window_width * WIDEST);
            side_panel_ui(ui, Side::Left, (widest, bar(sides)), &mut left_ui);
        }
        if places[1] == PanelPlace::Beside {
            let taken = window_width - ui.available_width();
            let widest = (room.of_panels() - taken).min(window_width * WIDEST);
            side_panel_ui(ui, Side::Right, (widest, bar(sides)), |ui| right_ui(ui, views));
        }
        if !room.has_left() && ui.available_height() >= LEAST_WITH_LINE_PT {
            let line = Panel::top("run").exact_size(RUN_LINE_PT).frame(bar(Margin::symmetric(2 * GRID as i8, 0)));
            line.show(ui, |ui| run_line_ui(ui, &cx, &mut requests));
        }
        drawer.ui(ui, &cx);
        if is_lecture {
            let margin = Margin::symmetric(3 * GRID as i8, GRID as i8);
            let height = lecture_height(ui, cx.session, ui.available_width() - margin.sum().x) + margin.sum().y;
            let band =
                Panel::top("lecture").exact_size(height).frame(Frame::new().fill(theme.raised).inner_margin(margin));
            band.show(ui, |ui| lecture_ui(ui, &cx, &mut requests));
        }
        let ground = Frame::new().fill(theme.canvas);
        let center = CentralPanel::default().frame(ground).show(ui, |ui| panes_ui(ui, &view_cx, views));
        if places[0] == PanelPlace::Over {
            panel_over_ui(ui, &theme, Side::Left, (bar(sides), panels), &mut left_ui);
        }
        if places[1] == PanelPlace::Over {
            panel_over_ui(ui, &theme, Side::Right, (bar(sides), panels), |ui| right_ui(ui, views));
        }

        if !pictures.is_taking() {
            drop_overlay_ui(ui.ctx(), &cx);
        }
        self.open.ui(ui.ctx(), &cx, &mut self.paths.looker, &mut requests);
        self.figures.ui(ui.ctx(), &cx);
        self.corpus.ui(ui.ctx(), &cx);
        lost_model_ui(ui.ctx(), &cx);
        new_session_ui(ui.ctx(), &cx);
        let stays = match self.sheet {
            None => true,
            Some(Sheet::Gallery) => self.gallery.ui(ui.ctx(), &cx),
            Some(Sheet::Views(group)) => self.views_sheet.ui(ui.ctx(), &cx, group, &mut requests),
            Some(Sheet::Help) => self.help.ui(ui.ctx(), &theme),
            Some(Sheet::Palette) => self.palette.ui(ui.ctx(), &cx, &mut self.paths.looker, &mut requests),
            Some(Sheet::Bookmarks) => self.bookmarks.ui(ui.ctx(), &cx),
        };
        if let Some(sheet) = &mut self.paths.sheet {
            sheet.ui(ui.ctx(), &cx, &mut self.paths.looker);
        }
        if !stays {
            self.sheet = None;
        }
        let cards = matches!(self.sheet, Some(Sheet::Views(_))).then_some(theme.dark);
        if cards != cx.session.cards.dark() {
            cx.send(Command::ShowCards(cards));
        }
        if cards.is_none() {
            self.views_sheet = ViewsSheet::default();
        }
        if self.sheet != Some(Sheet::Gallery) {
            self.gallery = Gallery::default();
        }
        self.view_rect = center.inner;
        requests
    }
}
