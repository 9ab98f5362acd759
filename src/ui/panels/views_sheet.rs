//! All views, or those of a group, as cards: a picture of what each would show now, its name and what it shows.

use std::{collections::HashMap, sync::Arc};

use eframe::egui::{
    self, ColorImage, FontId, Key, Rect, RichText, ScrollArea, TextEdit, TextureHandle, TextureOptions, Ui, Vec2, pos2,
    text::LayoutJob, vec2,
};

use super::WindowRequests;
use crate::{
    capture::RgbaBuffer,
    session::{CardKey, Command, Loadable, Pages, SelectionCommand, ViewGroup, card_keys},
    ui::{
        PanelCtx,
        commands::UiCommand,
        keys::keys_text,
        theme::{GRID, text_size},
        widgets::{CARD_PT, Card, Dialog, focus_when_opened, follow_focus, n_columns},
    },
};

/// Name of the dialog.
pub const VIEWS_SHEET: &str = "views";
/// Of the window's height for the list.
const MOST_HEIGHT: f32 = 0.7;

/// A view, or a page of one.
#[derive(Clone, Copy, Debug)]
struct ViewCard(CardKey);

impl ViewCard {
    fn label(self) -> &'static str {
        self.of_page(|pages, page| (pages.label)(page)).unwrap_or_else(|| self.0.0.label())
    }

    fn help(self) -> &'static str {
        self.of_page(|pages, page| (pages.help)(page)).unwrap_or_else(|| self.0.0.spec().help)
    }

    fn of_page<T>(self, of: impl FnOnce(Pages, usize) -> T) -> Option<T> {
        let (view, page) = self.0;
        view.spec().pages.zip(page).map(|(pages, page)| of(pages, page))
    }

    fn is_shown(self, cx: &PanelCtx<'_>) -> bool {
        let shown = self.of_page(|pages, page| (pages.shown)(&cx.pane.options) == page);
        cx.pane.view == self.0.0 && shown.unwrap_or(true)
    }

    fn command(self) -> SelectionCommand {
        let (view, page) = self.0;
        page.map_or(SelectionCommand::ShowView(view), |page| SelectionCommand::ShowPage(view, page))
    }

    /// Whether it is about all words that were typed.
    fn mentions(self, typed: &str) -> bool {
        let synonyms = self.0.0.spec().synonyms.join(" ");
        let about = format!("{} {} {synonyms}", self.label(), self.help()).to_lowercase();
        typed.to_lowercase().split_whitespace().all(|word| about.contains(word))
    }
}

/// The sheet's own state.
#[derive(Default)]
pub struct ViewsSheet {
    /// What narrows the list.
    typed: String,
    textures: HashMap<CardKey, (Arc<RgbaBuffer>, TextureHandle)>,
}

impl ViewsSheet {
    /// Draws the sheet over everything; false when it was closed.
    pub fn ui(
        &mut self,
        ctx: &egui::Context,
        cx: &PanelCtx<'_>,
        group: Option<ViewGroup>,
        requests: &mut WindowRequests,
    ) -> bool {
        let room = Dialog::room(ctx).x;
        let groups = ViewGroup::ALL.into_iter().filter(|it| group.is_none_or(|group| group == *it));
        let most_cards = groups.clone().map(|it| cards_of(it).count()).max().unwrap_or(1);
        let n_columns = n_columns(room).min(most_cards);
        let width = n_columns as f32 * (CARD_PT.x + GRID);
        let modal = Dialog::new(VIEWS_SHEET, width).show(ctx, |ui| {
            ui.horizontal(|ui| {
                ui.heading(group.map_or("Views", ViewGroup::question));
                key_ui(ui, cx, group.map_or(UiCommand::Views, UiCommand::ShowGroup));
            });
            ui.add_space(GRID);
            let mut entered = false;
            if group.is_none() {
                let field = TextEdit::singleline(&mut self.typed).hint_text("Search views").desired_width(CARD_PT.x);
                let field = ui.add(field).accessible_name("Search views");
                focus_when_opened(ui, &field);
                entered = field.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
            }
            let mut n_found = 0;
            let mut chosen = false;
            let most = ctx.content_rect().height() * MOST_HEIGHT;
            ScrollArea::vertical().max_height(most).auto_shrink([false, true]).show(ui, |ui| {
                ui.spacing_mut().item_spacing = Vec2::splat(GRID);
                for it in groups {
                    let cards: Vec<ViewCard> =
                        cards_of(it).filter(|card| group.is_some() || card.mentions(&self.typed)).collect();
                    n_found += cards.len();
                    if let Some(first) = cards.iter().find(|card| entered && cx.view_unavailable(card.0.0).is_none()) {
                        cx.send(Command::Select(first.command()));
                        (chosen, entered) = (true, false);
                    }
                    if cards.is_empty() {
                        continue;
                    }
                    if group.is_none() {
                        ui.add_space(2.0 * GRID);
                        ui.horizontal(|ui| {
                            ui.label(RichText::new(it.question()).strong());
                            key_ui(ui, cx, UiCommand::ShowGroup(it));
                        });
                    }
                    for row in cards.chunks(n_columns) {
                        ui.horizontal(|ui| row.iter().for_each(|card| chosen |= self.card_ui(ui, cx, *card)));
                    }
                }
                follow_focus(ui);
            });
            if n_found == 0 {
                ui.label(RichText::new(format!("No view mentions “{}”", self.typed.trim())).color(cx.theme.text_weak));
            }
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

    /// True when it was clicked, and its view asked for.
    fn card_ui(&mut self, ui: &mut Ui, cx: &PanelCtx<'_>, view: ViewCard) -> bool {
        let reason = cx.view_unavailable(view.0.0);
        let card = Card {
            kind: "View",
            name: view.label(),
            about: view.help(),
            note: "",
            reason,
            is_shown: view.is_shown(cx),
        };
        let picture_ui = |ui: &Ui, place| {
            if reason.is_none() {
                self.picture_ui(ui, cx, view, place);
            }
        };
        let clicked = card.ui(ui, cx.theme, Some(picture_ui));
        if clicked {
            cx.send(Command::Select(view.command()));
        }
        clicked
    }

    /// The picture of a card, or why there is none.
    fn picture_ui(&mut self, ui: &Ui, cx: &PanelCtx<'_>, card: ViewCard, place: Rect) {
        let drawn = cx.session.cards.picture(card.0);
        if let Some(failure) = drawn.and_then(Loadable::failure) {
            let small = FontId::proportional(text_size::SMALL);
            let mut said =
                LayoutJob::simple(failure.summary.clone(), small, cx.theme.text_weak, place.width() - 2.0 * GRID);
            said.halign = egui::Align::Center;
            let said = ui.painter().layout_job(said);
            ui.painter().galley(place.center() - vec2(0.0, said.size().y / 2.0), said, cx.theme.text_weak);
        }
        let Some(pixels) = drawn.and_then(Loadable::latest) else { return };
        let known = self.textures.get(&card.0).filter(|(known, _)| Arc::ptr_eq(known, pixels));
        let texture = known.map_or_else(
            || {
                let size = [pixels.width, pixels.height];
                let image = ColorImage::from_rgba_unmultiplied(size, &pixels.pixels);
                ui.ctx().load_texture("card", image, TextureOptions::LINEAR)
            },
            |(_, texture)| texture.clone(),
        );
        let size =
            texture.size_vec2() * (place.width() / texture.size_vec2().x).min(place.height() / texture.size_vec2().y);
        let uv = Rect::from_min_max(pos2(0.0, 0.0), pos2(1.0, 1.0));
        ui.painter().image(texture.id(), Rect::from_center_size(place.center(), size), uv, egui::Color32::WHITE);
        self.textures.insert(card.0, (Arc::clone(pixels), texture));
    }
}

fn cards_of(group: ViewGroup) -> impl Iterator<Item = ViewCard> {
    group.views().flat_map(card_keys).map(ViewCard)
}

/// The key of a command.
fn key_ui(ui: &mut Ui, cx: &PanelCtx<'_>, command: UiCommand) {
    if let Some(shortcut) = command.shortcut() {
        ui.label(RichText::new(keys_text(ui.ctx(), &shortcut)).color(cx.theme.text_weak));
    }
}
