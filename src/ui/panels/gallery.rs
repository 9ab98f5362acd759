//! All examples as cards, by topic or as stops of the lecture, found by their whole text.

use eframe::egui::{self, FocusDirection, Id, Key, Modifiers, RichText, ScrollArea, TextEdit, Ui, Vec2};

use crate::{
    session::{
        Command, LectureCommand,
        gallery::{EXAMPLES, Example, LECTURE, Topic, stops},
    },
    ui::{
        PanelCtx,
        theme::GRID,
        widgets::{CARD_PT, Card, Dialog, focus_when_opened, follow_focus, n_columns},
    },
};

/// Cards that stand side by side at most.
const MOST_COLUMNS: usize = 5;
/// Of the window's height for the list.
const MOST_HEIGHT: f32 = 0.7;

/// In which order the examples stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shelf {
    Topics,
    Lecture,
}

vocabulary! {
    Shelf: title;
    Topics("By topic"),
    Lecture("Lecture"),
}

/// What a card stands for.
struct Entry {
    heading: &'static str,
    kind: &'static str,
    name: String,
    about: String,
    example: &'static Example,
    opens: Command,
    is_shown: bool,
}

impl Entry {
    /// Whether each word that was typed is in it.
    fn mentions(&self, typed: &str) -> bool {
        let own = format!("{} {} {}", self.heading, self.name, self.about).to_lowercase();
        typed.split_whitespace().all(|word| own.contains(&word.to_lowercase()) || self.example.mentions(word))
    }
}

impl Shelf {
    /// What stands in it that mentions what was typed.
    fn found(self, cx: &PanelCtx<'_>, typed: &str) -> Vec<Entry> {
        let mut entries: Vec<Entry> = match self {
            Self::Topics => Topic::ALL.into_iter().flat_map(|topic| topic_entries(cx, topic)).collect(),
            Self::Lecture => lecture_entries(cx).collect(),
        };
        entries.retain(|entry| entry.mentions(typed));
        entries
    }

    fn count(self) -> String {
        match self {
            Self::Topics => format!("{} examples", EXAMPLES.len()),
            Self::Lecture => format!("{} stops in {} parts", stops().count(), LECTURE.len()),
        }
    }
}

fn topic_entries<'a>(cx: &'a PanelCtx<'_>, topic: Topic) -> impl Iterator<Item = Entry> + 'a {
    topic.examples().map(move |(idx, example)| Entry {
        heading: topic.title(),
        kind: "Example",
        name: example.title.to_owned(),
        about: example.hint.to_owned(),
        example,
        opens: Command::OpenExample(idx),
        is_shown: cx.document.example == Some(idx),
    })
}

fn lecture_entries<'a>(cx: &'a PanelCtx<'_>) -> impl Iterator<Item = Entry> + 'a {
    stops().enumerate().map(move |(place, (part, stop))| Entry {
        heading: part.title,
        kind: "Stop",
        name: format!("{} {}", place + 1, stop.example().title),
        about: stop.text(),
        example: stop.example(),
        opens: Command::Lecture(LectureCommand::Show(place)),
        is_shown: cx.session.keeping.lecture.place() == Some(place),
    })
}

/// The gallery's own state.
#[derive(Debug, Default)]
pub struct Gallery {
    /// What narrows the list.
    typed: String,
    /// What was chosen; until then the lecture where that goes on.
    shelf: Option<Shelf>,
    /// Whether the field gets the cursor back after a shelf was chosen.
    takes_cursor: bool,
}

impl Gallery {
    /// Draws the gallery over everything; false when it was closed.
    pub fn ui(&mut self, ctx: &egui::Context, cx: &PanelCtx<'_>) -> bool {
        let n_columns = n_columns(Dialog::room(ctx).x).min(MOST_COLUMNS);
        let modal = Dialog::new("gallery", n_columns as f32 * (CARD_PT.x + GRID)).show(ctx, |ui| {
            ui.heading("Examples");
            ui.add_space(GRID);
            let is_lecture = cx.session.keeping.lecture.place().is_some();
            let mut shelf = self.shelf.unwrap_or(if is_lecture { Shelf::Lecture } else { Shelf::Topics });
            let mut chosen = self.field_ui(ui, cx, &mut shelf);
            // As high as all of them, so that typing does not move the field.
            let height = ctx.content_rect().height() * MOST_HEIGHT;
            let list = ScrollArea::vertical().id_salt(shelf.title()).max_height(height).min_scrolled_height(height);
            list.auto_shrink(false).show(ui, |ui| {
                chosen |= cards_ui(ui, cx, n_columns, (shelf, &self.typed));
                follow_focus(ui);
            });
            ui.add_space(2.0 * GRID);
            ui.button("Close").clicked() || chosen
        });
        !(modal.inner || modal.should_close())
    }

    /// The field, and how many examples are left; true when Enter opened the first of them.
    fn field_ui(&mut self, ui: &mut Ui, cx: &PanelCtx<'_>, shelf: &mut Shelf) -> bool {
        ui.horizontal(|ui| {
            let hint = "Search titles, texts and explanations";
            let id = Id::unique("search examples");
            let has_cursor = ui.memory(|memory| memory.has_focus(id));
            // To the first card.
            if has_cursor && ui.input_mut(|input| input.consume_key(Modifiers::NONE, Key::ArrowDown)) {
                ui.memory_mut(|memory| memory.move_focus(FocusDirection::Next));
            }
            for choice in Shelf::ALL {
                if ui.selectable_value(shelf, choice, choice.title()).clicked() {
                    self.shelf = Some(choice);
                    self.takes_cursor = true;
                }
            }
            ui.add_space(GRID);
            let field = TextEdit::singleline(&mut self.typed).id(id).hint_text(hint).desired_width(2.0 * CARD_PT.x);
            let field = ui.add(field).accessible_name("Search examples");
            focus_when_opened(ui, &field);
            // The field lets go of the cursor in the frame of a click elsewhere.
            if self.takes_cursor && !ui.input(|input| input.pointer.any_click()) {
                self.takes_cursor = false;
                field.request_focus();
            }
            let typed = self.typed.trim();
            let found = shelf.found(cx, typed);
            let said = match found.len() {
                _ if typed.is_empty() => shelf.count(),
                0 => format!("No example mentions “{typed}”"),
                n => format!("{n} of {}", shelf.count()),
            };
            ui.label(RichText::new(said).color(cx.theme.text_weak));
            let entered = field.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
            let first = found.into_iter().next().filter(|_| entered && !typed.is_empty());
            first.map(|entry| cx.send(entry.opens)).is_some()
        })
        .inner
    }
}

/// The cards that mention what was typed, under their headings; true when one was clicked, and asked for.
pub fn cards_ui(ui: &mut Ui, cx: &PanelCtx<'_>, n_columns: usize, (shelf, typed): (Shelf, &str)) -> bool {
    ui.spacing_mut().item_spacing = Vec2::splat(GRID);
    let mut chosen = false;
    for part in shelf.found(cx, typed).chunk_by(|one, next| one.heading == next.heading) {
        ui.add_space(2.0 * GRID);
        ui.label(RichText::new(part[0].heading).strong());
        for row in part.chunks(n_columns) {
            ui.horizontal(|ui| {
                for entry in row {
                    let note = format!("{} · {}", entry.example.model, entry.example.view.label());
                    let card = Card {
                        kind: entry.kind,
                        name: &entry.name,
                        about: &entry.about,
                        note: &note,
                        reason: None,
                        is_shown: entry.is_shown,
                    };
                    if card.text_ui(ui, cx.theme) {
                        cx.send(entry.opens.clone());
                        chosen = true;
                    }
                }
            });
        }
    }
    chosen
}
