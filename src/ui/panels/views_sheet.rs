//! All views, or those of a group, as cards: a picture of what each would show now, its name and what it shows.

use eframe::egui::{
    self, Align2, FontId, Rect, RichText, Role, ScrollArea, Sense, Stroke, StrokeKind, TextEdit, Ui, Vec2, WidgetInfo,
    pos2,
    text::{LayoutJob, TextWrapping},
    vec2,
};

use super::WindowRequests;
use crate::{
    session::{Command, SelectionCommand, ViewGroup, ViewKind},
    ui::{
        PanelCtx,
        commands::UiCommand,
        keys::keys_text,
        theme::{GRID, text_size},
        widgets::Dialog,
    },
};

const CARD: Vec2 = vec2(42.0 * GRID, 37.0 * GRID);
const PICTURE: Vec2 = vec2(36.0 * GRID, 20.0 * GRID);
const MARGIN_PT: f32 = 3.0 * GRID;
/// Of the window's height for the list.
const MOST_HEIGHT: f32 = 0.7;

/// A view, or a page of one.
#[derive(Clone, Copy, Debug)]
struct Card {
    view: ViewKind,
    page: Option<usize>,
}

impl Card {
    fn of_group(group: ViewGroup) -> impl Iterator<Item = Self> {
        group.views().flat_map(|view| {
            let pages = view.spec().pages.map_or(0, |pages| pages.n);
            let whole = (pages == 0).then_some(Self { view, page: None });
            whole.into_iter().chain((0..pages).map(move |page| Self { view, page: Some(page) }))
        })
    }

    fn label(self) -> &'static str {
        self.of_page(|pages, page| (pages.label)(page)).unwrap_or_else(|| self.view.label())
    }

    fn help(self) -> &'static str {
        self.of_page(|pages, page| (pages.help)(page)).unwrap_or_else(|| self.view.spec().help)
    }

    fn of_page<T>(self, of: impl FnOnce(crate::session::Pages, usize) -> T) -> Option<T> {
        self.view.spec().pages.zip(self.page).map(|(pages, page)| of(pages, page))
    }

    fn is_shown(self, cx: &PanelCtx<'_>) -> bool {
        let shown = self.of_page(|pages, page| (pages.shown)(&cx.pane.options) == page);
        cx.pane.view == self.view && shown.unwrap_or(true)
    }

    fn command(self) -> SelectionCommand {
        self.page.map_or(SelectionCommand::ShowView(self.view), |page| SelectionCommand::ShowPage(self.view, page))
    }

    /// Whether it is about all words that were typed.
    fn mentions(self, typed: &str) -> bool {
        let synonyms = self.view.spec().synonyms.join(" ");
        let about = format!("{} {} {synonyms}", self.label(), self.help()).to_lowercase();
        typed.to_lowercase().split_whitespace().all(|word| about.contains(word))
    }
}

/// Draws the sheet over everything; false when it was closed.
pub fn views_sheet_ui(
    ctx: &egui::Context,
    cx: &PanelCtx<'_>,
    group: Option<ViewGroup>,
    requests: &mut WindowRequests,
) -> bool {
    let room = Dialog::room(ctx).x;
    let n_columns = (room / (CARD.x + GRID)).floor().clamp(1.0, 5.0) as usize;
    let width = n_columns as f32 * (CARD.x + GRID);
    let modal = Dialog::new("views", width).show(ctx, |ui| {
        ui.heading(group.map_or("Views", ViewGroup::question));
        ui.add_space(GRID);
        let typed = if group.is_none() { filter_ui(ui) } else { String::new() };
        let mut chosen = false;
        let groups = ViewGroup::ALL.into_iter().filter(|it| group.is_none_or(|group| group == *it));
        let most = ctx.content_rect().height() * MOST_HEIGHT;
        ScrollArea::vertical().max_height(most).auto_shrink([false, true]).show(ui, |ui| {
            ui.spacing_mut().item_spacing = Vec2::splat(GRID);
            for it in groups {
                let cards: Vec<Card> = Card::of_group(it).filter(|card| card.mentions(&typed)).collect();
                if cards.is_empty() {
                    continue;
                }
                if group.is_none() {
                    ui.add_space(2.0 * GRID);
                    ui.label(RichText::new(it.question()).strong());
                }
                for row in cards.chunks(n_columns) {
                    ui.horizontal(|ui| row.iter().for_each(|card| chosen |= card_ui(ui, cx, *card)));
                }
            }
        });
        ui.add_space(2.0 * GRID);
        ui.horizontal(|ui| {
            if group.is_some() && ui.button(UiCommand::Views.text()).clicked() {
                requests.push(UiCommand::Views);
            }
            ui.button("Close").clicked() || chosen
        })
        .inner
    });
    !(modal.inner || modal.should_close())
}

/// A field that narrows the list; what was typed is forgotten once the sheet was closed.
fn filter_ui(ui: &mut Ui) -> String {
    let (id, now) = (egui::Id::unique("views filter"), ui.ctx().cumulative_frame_nr());
    let known = ui.data(|data| data.get_temp::<(String, u64)>(id)).filter(|(_, drawn)| drawn + 1 >= now);
    let just_opened = known.is_none();
    let mut typed = known.map(|(typed, _)| typed).unwrap_or_default();
    let field = TextEdit::singleline(&mut typed).hint_text("Search views").desired_width(CARD.x);
    let field = ui.add(field).accessible_name("Search views");
    if just_opened {
        field.request_focus();
    }
    ui.data_mut(|data| data.insert_temp(id, (typed.clone(), now)));
    typed
}

/// True when it was clicked, and its view asked for.
fn card_ui(ui: &mut Ui, cx: &PanelCtx<'_>, card: Card) -> bool {
    let reason = cx.view_unavailable(card.view);
    let shown = card.is_shown(cx);
    let (rect, response) = ui.allocate_exact_size(CARD, Sense::click());
    response
        .widget_info(|| WidgetInfo::selected(Role::Button, reason.is_none(), shown, format!("View: {}", card.label())));
    if ui.is_rect_visible(rect) {
        let theme = cx.theme;
        if response.hovered() && reason.is_none() {
            ui.painter().rect_filled(rect, crate::ui::theme::radius::POPOVER, theme.hover);
        }
        if response.has_focus() || shown {
            let stroke = Stroke::new(2.0, if response.has_focus() { theme.accent } else { theme.text });
            ui.painter().rect_stroke(rect, 6, stroke, StrokeKind::Inside);
        }
        let picture = Rect::from_min_size(rect.min + Vec2::splat(MARGIN_PT), PICTURE);
        ui.painter().rect(picture, 0, theme.canvas, Stroke::new(1.0, theme.rule), StrokeKind::Outside);
        let ink = |color: egui::Color32| if reason.is_some() { color.gamma_multiply(0.6) } else { color };
        let title_at = pos2(picture.left(), picture.bottom() + 4.0 * GRID);
        let body = FontId::proportional(text_size::BODY);
        ui.painter().text(title_at, Align2::LEFT_CENTER, card.label(), body.clone(), ink(theme.text));
        if let Some(shortcut) = UiCommand::ShowGroup(card.view.spec().group).shortcut().filter(|_| shown) {
            let at = pos2(picture.right(), title_at.y);
            ui.painter().text(at, Align2::RIGHT_CENTER, keys_text(ui.ctx(), &shortcut), body, ink(theme.text_weak));
        }
        let small = FontId::proportional(text_size::SMALL);
        let mut about = LayoutJob::simple(reason.unwrap_or(card.help()).to_owned(), small, ink(theme.text_weak), 0.0);
        about.wrap = TextWrapping { max_rows: 2, break_anywhere: false, ..TextWrapping::truncate_at_width(PICTURE.x) };
        let about = ui.painter().layout_job(about);
        ui.painter().galley(pos2(picture.left(), title_at.y + 2.5 * GRID), about, theme.text_weak);
    }
    let clicked = response.clicked() && reason.is_none();
    response.on_hover_text(reason.unwrap_or(card.help()));
    if clicked {
        cx.send(Command::Select(card.command()));
    }
    clicked
}
