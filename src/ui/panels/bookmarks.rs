//! Bookmarks and notes of the session, over everything.

use std::collections::HashMap;

use eframe::egui::{
    self, Button, ColorImage, Image, RichText, Role, ScrollArea, TextEdit, TextureHandle, TextureOptions, Ui,
    WidgetInfo, vec2,
};

use crate::{
    export::thumbnail,
    session::{Bookmark, BookmarkCommand, Command, SessionCommand},
    ui::{
        PanelCtx,
        commands::UiCommand,
        theme::GRID,
        widgets::{Dialog, command_button_ui, section_ui},
    },
};

const WIDTH: f32 = 140.0 * GRID;
/// A thumbnail, in points.
const THUMBNAIL: egui::Vec2 = vec2(20.0 * GRID, 15.0 * GRID);
const LIST_HEIGHT: f32 = 80.0 * GRID;
const NOTES_ROWS: usize = 6;

/// What the sheet remembers of its own: thumbnails as they are painted, by their texts.
#[derive(Default)]
pub struct BookmarkSheet {
    pictures: HashMap<String, Option<TextureHandle>>,
}

impl BookmarkSheet {
    /// Draws the sheet; whether it stays open.
    pub fn ui(&mut self, ctx: &egui::Context, cx: &PanelCtx<'_>) -> bool {
        let keeping = &cx.session.keeping;
        self.pictures.retain(|text, _| keeping.bookmarks.iter().any(|bookmark| bookmark.thumbnail == *text));
        let modal = Dialog::new("bookmarks", WIDTH).show(ctx, |ui| {
            ui.heading("Bookmarks and notes");
            let mut stays = true;
            section_ui(ui, cx.theme, "Bookmarks");
            if keeping.bookmarks.is_empty() {
                ui.label(
                    RichText::new("No bookmarks yet. A bookmark keeps model, input, view and head.")
                        .color(cx.theme.text_weak),
                );
            }
            ScrollArea::vertical().id_salt("bookmarks").max_height(LIST_HEIGHT).show(ui, |ui| {
                for (idx, bookmark) in keeping.bookmarks.iter().enumerate() {
                    stays &= !self.bookmark_ui(ui, cx, idx, bookmark);
                }
            });
            if command_button_ui(ui, UiCommand::AddBookmark, cx.document.latest_capture().is_some()).clicked() {
                send(cx, BookmarkCommand::Add);
            }
            let title = section_title_ui(ui, cx);
            let mut notes = keeping.notes.clone();
            let edit = TextEdit::multiline(&mut notes)
                .desired_rows(NOTES_ROWS)
                .desired_width(f32::INFINITY)
                .hint_text("Notes on this session");
            if ui.add(edit).labelled_by(title.id).changed() {
                cx.send(Command::Session(SessionCommand::SetNotes(notes)));
            }
            ui.add_space(2.0 * GRID);
            stays && !ui.button("Close").clicked()
        });
        modal.inner && !modal.should_close()
    }

    /// Lets go of thumbnails, while it is closed.
    pub fn rest(&mut self) {
        self.pictures.clear();
    }

    /// One bookmark; whether it was gone to.
    fn bookmark_ui(&mut self, ui: &mut Ui, cx: &PanelCtx<'_>, idx: usize, bookmark: &Bookmark) -> bool {
        let mut goes = false;
        ui.push_id(idx, |ui| {
            ui.horizontal(|ui| {
                let label = format!("Go to {}", bookmark.name);
                let picture = self.picture(ui.ctx(), &bookmark.thumbnail);
                let button = match &picture {
                    Some(picture) => {
                        let image = Image::from_texture(picture).fit_to_exact_size(THUMBNAIL);
                        Button::image(image.maintain_aspect_ratio(true)).min_size(THUMBNAIL)
                    }
                    None => Button::new("Go to").min_size(THUMBNAIL),
                };
                let button = ui.add(button);
                button.widget_info(|| WidgetInfo::labeled(Role::Button, true, &label));
                goes = button.on_hover_text(&bookmark.address).clicked();
                ui.vertical(|ui| {
                    let mut name = bookmark.name.clone();
                    let edit = TextEdit::singleline(&mut name).desired_width(ui.available_width() - 2.0 * GRID);
                    let response = ui.add(edit);
                    response.widget_info(|| {
                        WidgetInfo::text_edit(true, &bookmark.name, &name, format!("Name of bookmark {}", idx + 1))
                    });
                    if response.changed() {
                        send(cx, BookmarkCommand::Rename(idx, name));
                    }
                    let remove = ui.add(Button::new("Remove").small().frame_when_inactive(false));
                    remove.widget_info(|| WidgetInfo::labeled(Role::Button, true, format!("Remove {}", bookmark.name)));
                    if remove.clicked() {
                        send(cx, BookmarkCommand::Remove(idx));
                    }
                });
            });
        });
        if goes {
            send(cx, BookmarkCommand::GoTo(idx));
        }
        goes
    }

    fn picture(&mut self, ctx: &egui::Context, text: &str) -> Option<TextureHandle> {
        if text.is_empty() {
            return None;
        }
        let load = || {
            let picture = thumbnail::decode(text)?;
            let image = ColorImage::from_rgba_unmultiplied([picture.width, picture.height], &picture.pixels);
            Some(ctx.load_texture("bookmark", image, TextureOptions::LINEAR))
        };
        self.pictures.entry(text.to_owned()).or_insert_with(load).clone()
    }
}

fn section_title_ui(ui: &mut Ui, cx: &PanelCtx<'_>) -> egui::Response {
    ui.add_space(3.0 * GRID);
    ui.label(RichText::new("Notes").color(cx.theme.text_weak).strong())
}

fn send(cx: &PanelCtx<'_>, command: BookmarkCommand) {
    cx.send(Command::Session(SessionCommand::Bookmark(command)));
}
