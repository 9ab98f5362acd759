//! A text field of several lines that takes texts of any length: long ones are not laid out.

use eframe::egui::{self, Event, Id, Key, Modifiers, RichText, TextEdit, Ui, text_edit::TextEditState};

use crate::{
    text::bytes_text,
    ui::{ViewCtx, theme::GRID},
};

/// A longer text is shown in part only: laying it out would cost a frame more than the model costs.
const MAX_BYTES: usize = 20_000;
/// Characters that are shown of a longer one.
const SHOWN: usize = 400;
const MAX_HEIGHT: f32 = 40.0 * GRID;

/// A field with its own copy of the text that it edits.
#[derive(Default)]
pub struct Editor {
    buffer: String,
    wants_focus: bool,
}

impl Editor {
    /// Puts the cursor into the field when it is drawn next.
    pub const fn focus(&mut self) {
        self.wants_focus = true;
    }

    /// Draws the field with `text` and gives what was made of it.
    pub fn ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>, text: &str, look: &Look) -> Option<String> {
        if text.len() > MAX_BYTES {
            return long_text_ui(ui, cx, text, look.name);
        }
        text.clone_into(&mut self.buffer);
        egui::ScrollArea::vertical()
            .id_salt(look.name)
            .max_height(MAX_HEIGHT)
            .auto_shrink([false, true])
            .show(ui, |ui| {
                let id = ui.make_persistent_id(look.name);
                if let Some(pasted) = long_paste(ui, id, text) {
                    return Some(pasted);
                }
                let editor = TextEdit::multiline(&mut self.buffer)
                    .id(id)
                    .hint_text(look.hint)
                    .desired_rows(look.n_rows)
                    .desired_width(f32::INFINITY)
                    // Ctrl+Enter runs; it must not also add a line.
                    .return_key(egui::KeyboardShortcut::new(Modifiers::NONE, Key::Enter));
                let response = ui.add(editor).accessible_name(look.name);
                if std::mem::take(&mut self.wants_focus) {
                    response.request_focus();
                }
                response.changed().then(|| self.buffer.clone())
            })
            .inner
    }
}

/// How a field looks.
pub struct Look {
    pub name: &'static str,
    /// What stands in it while it is empty.
    pub hint: &'static str,
    /// Lines that it is high at least.
    pub n_rows: usize,
}

/// The text with what is being pasted, where that is so long that the field is not to see it: it would lay it out
/// within this frame.
fn long_paste(ui: &Ui, id: Id, text: &str) -> Option<String> {
    if !ui.memory(|memory| memory.has_focus(id)) {
        return None;
    }
    let is_long = |event: &Event| matches!(event, Event::Paste(pasted) if pasted.len() > MAX_BYTES);
    let event = ui.input_mut(|input| {
        let at = input.events.iter().position(is_long)?;
        Some(input.events.remove(at))
    });
    let Some(Event::Paste(pasted)) = event else { return None };
    let range = TextEditState::load(ui.ctx(), id)
        .and_then(|state| state.cursor.char_range())
        .map(|range| range.as_sorted_char_range());
    let byte = |at: usize| text.char_indices().nth(at).map_or(text.len(), |(byte, _)| byte);
    let (start, end) = range.map_or((text.len(), text.len()), |range| (byte(range.start.0), byte(range.end.0)));
    Some([&text[..start], &pasted, &text[end..]].concat())
}

fn long_text_ui(ui: &mut Ui, cx: &ViewCtx<'_>, text: &str, name: &str) -> Option<String> {
    let start: String = text.chars().take(SHOWN).collect();
    ui.label(format!("{start}…"));
    let what = format!("{name}: {}, too long to edit here", bytes_text(text.len() as u64));
    ui.label(RichText::new(what).small().color(cx.theme.text_weak));
    ui.button("Clear").on_hover_text("Empty this text").clicked().then(String::new)
}
