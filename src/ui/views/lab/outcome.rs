//! The choice of an outcome: one of the most probable, or any other by its name.

use eframe::egui::{ComboBox, Id, Key, PopupCloseBehavior, RichText, TextEdit, Ui};

use crate::{
    analysis::effect,
    capture::{Capture, PredictionRow},
    outputs::OutputKind,
    session::{Command, PaneCommand},
    text::grouped,
    ui::{ViewCtx, theme::GRID, widgets::focus_when_opened},
};

/// Names that are offered.
const MAX_OFFERED: usize = 10;
/// The field, and the most probable outcomes or the names that are offered.
const LIST_HEIGHT: f32 = 100.0 * GRID;
/// Tokens that a word of several could begin with.
const MAX_BEGINNINGS: usize = 3;

/// What is chosen, and from what.
pub struct OutcomeChoice<'a> {
    /// What the choice is called.
    pub name: &'static str,
    pub meaning: &'static str,
    pub outputs: OutputKind,
    /// Whose outcomes they are.
    pub capture: &'a Capture,
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
        cx.send(Command::InPane(PaneCommand::ListOutcomes));
    }
}

impl OutcomeChoice<'_> {
    /// Draws the choice; what was chosen in this frame.
    pub fn ui(&self, ui: &mut Ui, cx: &ViewCtx<'_>) -> Option<Option<u32>> {
        let nothing = self.nothing.unwrap_or_default();
        let text = self.chosen.map_or_else(|| nothing.to_owned(), |id| self.text(ui, cx, id));
        let mut choice = None;
        // Only what is chosen closes it, so that something can be typed in it.
        let combo = ComboBox::from_id_salt(self.name).close_behavior(PopupCloseBehavior::CloseOnClickOutside);
        let combo = combo.height(LIST_HEIGHT).selected_text(text).show_ui(ui, |ui| {
            ui.set_min_width(60.0 * GRID);
            let typed = self.field_ui(ui, cx);
            if typed.word.is_empty() {
                self.likely_ui(ui, cx, &mut |likely| choice = Some(likely));
            } else {
                choice = self.found_ui(ui, cx, &typed).map(Some);
            }
            if choice.is_some() {
                ui.data_mut(|data| data.remove_temp::<String>(self.id(cx)));
                ui.close();
            }
        });
        combo.response.accessible_name(self.name).on_hover_text(self.meaning);
        choice
    }

    fn id(&self, cx: &ViewCtx<'_>) -> Id {
        Id::unique((self.name, cx.pane.id.0))
    }

    /// An outcome with its probability, or its score.
    fn text(&self, ui: &Ui, cx: &ViewCtx<'_>, id: u32) -> String {
        let label = outcome_label(cx, self.row, id);
        let listed = self.row.top.iter().find(|item| item.id == id).map(|item| f64::from(item.value));
        // All logits are added up for one that is not among the first.
        let added = || {
            let place = Id::unique(("probability", self.capture.id(), self.row.position, id));
            let known: Option<Option<f64>> = ui.data(|data| data.get_temp(place));
            known.unwrap_or_else(|| {
                let found = effect::value(self.capture, self.row.position, id);
                ui.data_mut(|data| data.insert_temp(place, found));
                found
            })
        };
        listed.or_else(added).map_or_else(|| label.clone(), |it| format!("{label}  {}", self.outputs.text(it)))
    }

    /// The most probable outcomes.
    fn likely_ui(&self, ui: &mut Ui, cx: &ViewCtx<'_>, choose: &mut dyn FnMut(Option<u32>)) {
        if let Some(nothing) = self.nothing
            && ui.selectable_label(self.chosen.is_none(), nothing).clicked()
        {
            choose(None);
        }
        for item in self.row.top.iter().filter(|item| Some(item.id) != self.except) {
            let text = format!("{}  {}", item.label, self.outputs.text(item.value));
            if ui.selectable_label(self.chosen == Some(item.id), text).clicked() {
                choose(Some(item.id));
            }
        }
        let weak = |text: String| RichText::new(text).small().color(cx.theme.text_weak);
        match cx.document.outcomes() {
            Some(outcomes) => ui.label(weak(format!("{} to choose from", grouped(outcomes.len())))),
            None => ui.label(weak("Its names are not listed yet".to_owned())),
        };
    }

    /// A field for a name, above what it finds, so that this is in focus.
    fn field_ui(&self, ui: &mut Ui, cx: &ViewCtx<'_>) -> Typed {
        let mut text: String = ui.data(|data| data.get_temp(self.id(cx))).unwrap_or_default();
        let noun = self.outputs.noun();
        let (hint, name) = (format!("Any {noun}, or # and its id"), format!("Any {noun}"));
        let field = TextEdit::singleline(&mut text).hint_text(hint).desired_width(f32::INFINITY);
        let field = ui.add(field).accessible_name(name);
        focus_when_opened(ui, &field);
        let is_entered = field.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
        ui.data_mut(|data| data.insert_temp(self.id(cx), text.clone()));
        if cx.document.outcomes().is_none() {
            list(cx);
        }
        Typed { word: text.trim().to_owned(), is_entered }
    }

    /// The outcomes that a name may become, in the order of their probability; the one that was chosen.
    fn found_ui(&self, ui: &mut Ui, cx: &ViewCtx<'_>, typed: &Typed) -> Option<u32> {
        let weak = |text: String| RichText::new(text).small().color(cx.theme.text_weak);
        let word = typed.word.as_str();
        let Some(outcomes) = cx.document.outcomes() else {
            ui.label(weak("Its names are not listed yet".to_owned()));
            return None;
        };
        let noun = self.outputs.noun();
        let kept = effect::values(self.capture, self.row.position);
        let listed = |id: u32| self.row.top.iter().find(|item| item.id == id).map(|item| f64::from(item.value));
        let probability = |id: u32| kept.as_ref().map_or_else(|| listed(id), |kept| kept.get(id as usize).copied());
        let mut offered = outcomes.find(word, MAX_OFFERED, |id| probability(id).unwrap_or_default());
        let n_found = offered.len();
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
        // What a word of several tokens begins with is no match of it.
        let matches = || offered[..n_found].iter().copied().find(|id| Some(*id) != self.except);
        let mut chosen = if typed.is_entered { matches() } else { None };
        for outcome in offered.iter().copied().filter(|id| Some(*id) != self.except) {
            let share = probability(outcome).map_or_else(String::new, |it| format!("  {}", self.outputs.text(it)));
            let text = format!("{}{share}  #{outcome}", outcomes.label(outcome).unwrap_or_default());
            if ui.selectable_label(self.chosen == Some(outcome), text).clicked() {
                chosen = Some(outcome);
            }
        }
        chosen
    }
}

/// What was typed to find an outcome.
struct Typed {
    word: String,
    /// Whether Enter was pressed behind it.
    is_entered: bool,
}
