//! Numbers that are typed: a field for each matrix, the scorer, the mask and the normaliser. What they come to is computed
//! at every change; what cannot be computed is said below, and what was shown stays.

use std::sync::Arc;

use eframe::egui::{self, Checkbox, ComboBox, FontId, RichText, TextEdit, TextStyle, Ui};

use crate::{
    analysis::by_hand::{Numbers, NumbersError, ScorerKind},
    ids::CaptureId,
    session::{Command, NumbersCommand},
    ui::{ViewCtx, theme::GRID},
};

/// Normalisers that are offered by name; others are typed.
const NORMALIZERS: [&str; 5] = ["softmax", "sparsemax", "entmax:1.5", "fusedmax:0.5", "argmax"];
/// Rows of a field before it scrolls.
const MOST_ROWS: usize = 8;

/// The fields with what is typed in them.
#[derive(Default)]
pub struct NumbersPanel {
    /// The numbers that the fields were filled with, or that came of them.
    shown: Option<Arc<Numbers>>,
    /// Everything but what is typed as text.
    draft: Option<Numbers>,
    tokens: String,
    /// By name.
    texts: Vec<(&'static str, String)>,
    scale: String,
    window: String,
    error: Option<String>,
}

impl NumbersPanel {
    /// Draws the fields of the numbers that are shown.
    pub fn ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>, numbers: &Arc<Numbers>) {
        if !self.shown.as_ref().is_some_and(|shown| Arc::ptr_eq(shown, numbers)) {
            let is_own = self.read().is_ok_and(|own| own == **numbers);
            if !is_own {
                self.fill(numbers);
            }
            self.shown = Some(Arc::clone(numbers));
        }
        ui.horizontal_wrapped(|ui| {
            ui.menu_button("Examples", |ui| {
                for (idx, name) in Numbers::examples().enumerate() {
                    if ui.button(name).clicked() {
                        cx.send(Command::Numbers(NumbersCommand::Example(idx)));
                    }
                }
            });
            let has_inputs = numbers.x.is_some();
            let button = egui::Button::new("As q, k, v");
            let tooltip = "Puts queries, keys and values in place of inputs and maps, to change them one by one";
            if ui.add_enabled(has_inputs, button).on_hover_text(tooltip).clicked()
                && let Ok(vectors) = numbers.without_inputs()
            {
                cx.send(Command::Numbers(NumbersCommand::Change(Box::new(vectors))));
            }
        });
        let Some(mut draft) = self.draft.take() else { return };
        let mut changed = self.fields_ui(ui);
        changed |= self.choices_ui(ui, &mut draft);
        self.draft = Some(draft);
        if changed {
            let now = self.read().and_then(|now| now.capture("", CaptureId(0)).map(|_| now));
            match now {
                Ok(now) => {
                    self.error = None;
                    cx.send(Command::Numbers(NumbersCommand::Change(Box::new(now))));
                }
                Err(error) => self.error = Some(error.to_string()),
            }
        }
        if let Some(error) = &self.error {
            ui.label(RichText::new(error).small().color(cx.theme.warning));
        }
    }

    /// Fills the fields anew.
    fn fill(&mut self, numbers: &Numbers) {
        let mut draft = numbers.clone();
        self.texts = draft.cells().into_iter().map(|(name, cells)| (name, cells.text())).collect();
        self.tokens = draft.tokens.join(" ");
        self.scale = draft.scale.map(|scale| scale.to_string()).unwrap_or_default();
        self.window = draft.window.map(|window| window.to_string()).unwrap_or_default();
        (self.draft, self.error) = (Some(draft), None);
    }

    /// The numbers of the fields.
    fn read(&self) -> Result<Numbers, NumbersError> {
        let mut numbers = self.draft.clone().ok_or_else(|| NumbersError::new("There are no numbers"))?;
        numbers.tokens = self.tokens.split_whitespace().map(ToOwned::to_owned).collect();
        let optional = |text: &str, name: &str| match text.trim() {
            "" => Ok(None),
            text => text.parse().map(Some).map_err(|_| NumbersError::new(format!("{name} “{text}” is no number"))),
        };
        numbers.scale = optional(&self.scale, "The scale")?;
        numbers.window = match self.window.trim() {
            "" => None,
            text => {
                Some(text.parse().map_err(|_| NumbersError::new(format!("The window “{text}” is no whole number")))?)
            }
        };
        for (name, mut cells) in numbers.cells() {
            if let Some((_, text)) = self.texts.iter().find(|(known, _)| *known == name) {
                cells.take(text).map_err(|error| NumbersError::new(format!("{name}: {error}")))?;
            }
        }
        Ok(numbers)
    }

    /// The fields of tokens and matrices; whether one was changed.
    fn fields_ui(&mut self, ui: &mut Ui) -> bool {
        let mut changed = false;
        ui.label("Tokens");
        let tokens = TextEdit::singleline(&mut self.tokens).desired_width(f32::INFINITY);
        changed |= ui.add(tokens).accessible_name("Tokens").changed();
        let font = FontId::monospace(TextStyle::Small.resolve(ui.style()).size);
        for (name, text) in &mut self.texts {
            let (n_rows, n_cols) =
                (text.lines().count(), text.lines().next().map_or(0, |line| line.split_whitespace().count()));
            ui.label(format!("{name}  {n_rows} × {n_cols}"));
            let height = n_rows.clamp(1, MOST_ROWS);
            let scroll = egui::ScrollArea::both().id_salt(*name).max_height(height as f32 * 4.5 * GRID + 2.0 * GRID);
            scroll.show(ui, |ui| {
                let field = TextEdit::multiline(text).font(font.clone()).desired_rows(height);
                changed |= ui.add(field.desired_width(f32::INFINITY)).accessible_name(*name).changed();
            });
        }
        changed
    }

    /// Scorer, scale, mask and normaliser; whether one was changed.
    fn choices_ui(&mut self, ui: &mut Ui, draft: &mut Numbers) -> bool {
        let mut changed = false;
        let kind = draft.scorer.kind();
        let mut chosen = kind;
        ComboBox::new("scorer", "Scorer").selected_text(kind.title()).show_ui(ui, |ui| {
            for kind in ScorerKind::ALL {
                ui.selectable_value(&mut chosen, kind, kind.title());
            }
        });
        if chosen != kind {
            draft.scorer = chosen.scorer(draft.width());
            let known = std::mem::take(&mut self.texts);
            let text = |(name, cells): (&'static str, crate::analysis::by_hand::Cells<'_>)| {
                let own = !name.contains("scorer") && name != "Energy";
                let kept = known.iter().find(|(known, _)| own && *known == name).map(|(_, text)| text.clone());
                (name, kept.unwrap_or_else(|| cells.text()))
            };
            self.texts = draft.cells().into_iter().map(text).collect();
            changed = true;
        }
        let mut line = |ui: &mut Ui, label: &str, hint: &str, text: &mut String| {
            ui.horizontal(|ui| {
                let field = TextEdit::singleline(text).hint_text(hint).desired_width(18.0 * GRID);
                changed |= ui.add(field).accessible_name(label).changed();
                ui.label(label);
            });
        };
        line(ui, "Scale", "own", &mut self.scale);
        line(ui, "Window", "none", &mut self.window);
        line(ui, "Normaliser", "softmax", &mut draft.normalizer);
        ui.menu_button("Normalisers", |ui| {
            for name in NORMALIZERS {
                if ui.button(name).clicked() {
                    name.clone_into(&mut draft.normalizer);
                    changed = true;
                }
            }
        });
        changed |= ui.add(Checkbox::new(&mut draft.causal, "Causal mask")).changed();
        changed
    }
}
