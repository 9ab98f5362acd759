//! All examples as cards, found by their whole text.

use eframe::egui::{self, FocusDirection, Id, Key, Modifiers, RichText, ScrollArea, TextEdit, Ui, Vec2};

use crate::{
    session::{
        Command,
        gallery::{EXAMPLES, Example, Topic},
    },
    ui::{
        ViewCtx,
        theme::GRID,
        widgets::{CARD_PT, Card, Dialog, focus_when_opened, follow_focus, n_columns},
    },
};

/// Cards that stand side by side at most.
const MOST_COLUMNS: usize = 5;
/// Of the window's height for the list.
const MOST_HEIGHT: f32 = 0.7;

/// The gallery's own state.
#[derive(Debug, Default)]
pub struct Gallery {
    /// What narrows the list.
    typed: String,
}

impl Gallery {
    /// Draws the gallery over everything; false when it was closed.
    pub fn ui(&mut self, ctx: &egui::Context, cx: &ViewCtx<'_>) -> bool {
        let n_columns = n_columns(Dialog::room(ctx).x).min(MOST_COLUMNS);
        let modal = Dialog::new("gallery", n_columns as f32 * (CARD_PT.x + GRID)).show(ctx, |ui| {
            ui.heading("Examples");
            ui.add_space(GRID);
            let mut chosen = self.field_ui(ui, cx);
            // As high as all of them, so that typing does not move the field.
            let height = ctx.content_rect().height() * MOST_HEIGHT;
            ScrollArea::vertical().max_height(height).min_scrolled_height(height).auto_shrink(false).show(ui, |ui| {
                chosen |= topics_ui(ui, cx, n_columns, &self.typed);
                follow_focus(ui);
            });
            ui.add_space(2.0 * GRID);
            ui.button("Close").clicked() || chosen
        });
        !(modal.inner || modal.should_close())
    }

    /// The field, and how many examples are left; true when Enter opened the first of them.
    fn field_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) -> bool {
        ui.horizontal(|ui| {
            let hint = "Search titles, texts and explanations";
            let id = Id::unique("search examples");
            let has_cursor = ui.memory(|memory| memory.has_focus(id));
            // To the first card.
            if has_cursor && ui.input_mut(|input| input.consume_key(Modifiers::NONE, Key::ArrowDown)) {
                ui.memory_mut(|memory| memory.move_focus(FocusDirection::Next));
            }
            let field = TextEdit::singleline(&mut self.typed).id(id).hint_text(hint).desired_width(2.0 * CARD_PT.x);
            let field = ui.add(field).accessible_name("Search examples");
            focus_when_opened(ui, &field);
            let typed = self.typed.trim();
            let found = Topic::ALL.into_iter().flat_map(|topic| found(topic, typed)).collect::<Vec<_>>();
            let said = match found.len() {
                _ if typed.is_empty() => format!("{} examples", EXAMPLES.len()),
                0 => format!("No example mentions “{typed}”"),
                n => format!("{n} of {}", EXAMPLES.len()),
            };
            ui.label(RichText::new(said).color(cx.theme.text_weak));
            let entered = field.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
            let first = found.first().filter(|_| entered && !typed.is_empty());
            first.inspect(|(idx, _)| cx.send(Command::OpenExample(*idx))).is_some()
        })
        .inner
    }
}

fn found(topic: Topic, typed: &str) -> impl Iterator<Item = (usize, &'static Example)> {
    topic.examples().filter(move |(_, example)| example.mentions(typed))
}

/// The examples that mention what was typed, by topic; true when one was clicked, and asked for.
pub fn topics_ui(ui: &mut Ui, cx: &ViewCtx<'_>, n_columns: usize, typed: &str) -> bool {
    ui.spacing_mut().item_spacing = Vec2::splat(GRID);
    let mut chosen = false;
    for topic in Topic::ALL {
        let examples: Vec<_> = found(topic, typed).collect();
        if examples.is_empty() {
            continue;
        }
        ui.add_space(2.0 * GRID);
        ui.label(RichText::new(topic.title()).strong());
        for row in examples.chunks(n_columns) {
            ui.horizontal(|ui| {
                for &(idx, example) in row {
                    let note = format!("{} · {}", example.model, example.view.label());
                    let card = Card {
                        kind: "Example",
                        name: example.title,
                        about: example.hint,
                        note: &note,
                        reason: None,
                        is_shown: cx.document.example == Some(idx),
                    };
                    if card.text_ui(ui, cx.theme) {
                        cx.send(Command::OpenExample(idx));
                        chosen = true;
                    }
                }
            });
        }
    }
    chosen
}
