//! The choice of an outcome: one of the most probable, or any other by its name.

use eframe::egui::{ComboBox, Id, Key, PopupCloseBehavior, RichText, TextEdit, Ui};

use crate::{
    capture::PredictionRow,
    outputs::OutputKind,
    session::Command,
    text::grouped,
    ui::{ViewCtx, theme::GRID, widgets::focus_when_opened},
};

/// Names that are offered.
const MAX_OFFERED: usize = 10;
/// The most probable outcomes, the field, and the names that are offered.
const LIST_HEIGHT: f32 = 100.0 * GRID;
/// Tokens that a word of several could begin with.
const MAX_BEGINNINGS: usize = 3;

/// What is chosen, and from what.
pub struct OutcomeChoice<'a> {
    /// What the choice is called.
    pub name: &'static str,
    pub meaning: &'static str,
    pub outputs: OutputKind,
    /// The most probable outcomes, or the scores.
    pub row: &'a PredictionRow,
    /// What is chosen; `None` where nothing is.
    pub chosen: Option<u32>,
    /// What choosing nothing is called, where that can be chosen.
    pub nothing: Option<&'static str>,
    pub except: Option<u32>,
}

/// What an outcome is called: as it is predicted, or else as the model has it; its id until that is known.
pub fn outcome_label(cx: &ViewCtx<'_>, row: &PredictionRow, id: u32) -> String {
    let predicted = row.top.iter().find(|item| item.id == id).map(|item| item.label.as_str());
    let listed = || cx.document.outcomes().and_then(|outcomes| outcomes.label(id));
    predicted.or_else(listed).map_or_else(
        || {
            list(cx);
            format!("#{id}")
        },
        str::to_owned,
    )
}

/// Has the outcomes listed, once.
fn list(cx: &ViewCtx<'_>) {
    if cx.document.lacks_outcomes() {
        cx.send(Command::ListOutcomes);
    }
}

impl OutcomeChoice<'_> {
    /// Draws the choice; what was chosen in this frame.
    pub fn ui(&self, ui: &mut Ui, cx: &ViewCtx<'_>) -> Option<Option<u32>> {
        let nothing = self.nothing.unwrap_or_default();
        let text = self.chosen.map_or_else(|| nothing.to_owned(), |id| outcome_label(cx, self.row, id));
        let mut choice = None;
        // Only what is chosen closes it, so that something can be typed in it.
        let combo = ComboBox::from_id_salt(self.name).close_behavior(PopupCloseBehavior::CloseOnClickOutside);
        let combo = combo.height(LIST_HEIGHT).selected_text(text).show_ui(ui, |ui| {
            ui.set_min_width(60.0 * GRID);
            if self.nothing.is_some() && ui.selectable_label(self.chosen.is_none(), nothing).clicked() {
                choice = Some(None);
            }
            for item in self.row.top.iter().filter(|item| Some(item.id) != self.except) {
                let text = format!("{}  {}", item.label, self.outputs.text(item.value));
                if ui.selectable_label(self.chosen == Some(item.id), text).clicked() {
                    choice = Some(Some(item.id));
                }
            }
            ui.separator();
            choice = self.search_ui(ui, cx).map(Some).or(choice);
            if choice.is_some() {
                ui.close();
            }
        });
        combo.response.accessible_name(self.name).on_hover_text(self.meaning);
        choice
    }

    /// A field for a name, and those that it may become; the one that was chosen.
    fn search_ui(&self, ui: &mut Ui, cx: &ViewCtx<'_>) -> Option<u32> {
        let weak = |text: String| RichText::new(text).small().color(cx.theme.text_weak);
        let id = Id::unique((self.name, cx.pane.id.0));
        let mut typed: String = ui.data(|data| data.get_temp(id)).unwrap_or_default();
        let noun = self.outputs.noun();
        let (hint, name) = (format!("Any {noun}, or # and its id"), format!("Any {noun}"));
        let field = TextEdit::singleline(&mut typed).hint_text(hint).desired_width(f32::INFINITY);
        let field = ui.add(field).accessible_name(name);
        focus_when_opened(ui, &field);
        let entered = field.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
        ui.data_mut(|data| data.insert_temp(id, typed.clone()));
        let Some(outcomes) = cx.document.outcomes() else {
            list(cx);
            ui.label(weak("Its names are not listed yet".to_owned()));
            return None;
        };
        let word = typed.trim();
        if word.is_empty() {
            ui.label(weak(format!("{} to choose from", grouped(outcomes.len()))));
            return None;
        }
        let mut offered = outcomes.find(word, MAX_OFFERED);
        if offered.is_empty() && word.starts_with('#') {
            ui.label(weak(format!("There are ids from 0 to {}", grouped(outcomes.len().saturating_sub(1)))));
        } else if !outcomes.has(word) && !word.starts_with('#') {
            let is_token = self.outputs == OutputKind::Tokens;
            let is_none = offered.is_empty();
            let beginnings = if is_token && is_none { outcomes.beginnings(word, MAX_BEGINNINGS) } else { Vec::new() };
            let is_id = offered.first().is_some_and(|id| word.parse() == Ok(*id));
            let says = match (is_token, is_none) {
                _ if is_id => format!("Nothing is called “{word}”; this is the {noun} with that id"),
                (false, _) => format!("No {noun} is called “{word}”"),
                (true, false) => format!("“{word}” is no single token of this model; these begin with it"),
                (true, true) => format!("“{word}” is several tokens of this model; it may begin with one of these"),
            };
            ui.label(weak(says));
            offered.extend(beginnings);
        }
        offered.retain(|id| Some(*id) != self.except);
        let is_whole = outcomes.has(word) || word.starts_with('#');
        let mut chosen = offered.first().copied().filter(|_| entered && is_whole);
        for outcome in offered {
            let text = format!("{}  #{outcome}", outcomes.label(outcome).unwrap_or_default());
            if ui.selectable_label(self.chosen == Some(outcome), text).clicked() {
                chosen = Some(outcome);
            }
        }
        if chosen.is_some() {
            ui.data_mut(|data| data.remove_temp::<String>(id));
        }
        chosen
    }
}
