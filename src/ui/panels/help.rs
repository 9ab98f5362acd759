//! The help sheet: keys from the command table, how-to from the documentation, the glossary, the methods of Explain.

use eframe::egui::{self, RichText, ScrollArea, TextEdit, Ui};

use crate::{
    analysis::{accuracy, detect, explain::report::MethodSpec, lengths},
    glossary::TERMS,
    lab,
    ui::{
        commands::UiCommand,
        keys::keys_text,
        theme::{GRID, Theme, text_size},
        widgets::{Dialog, focus_when_opened, follow_focus, section_ui},
    },
};

/// Keys that egui itself handles or that depend on the view.
const MORE: [(&str, &str); 3] = [
    ("Ctrl + wheel", "Zoom the view under the pointer"),
    ("Tab, Shift Tab", "To the next control or list of tokens; arrows move within a list"),
    ("Shift + click", "Pin a token as key instead of query"),
];
/// What the documentation says to do for what: a table in Markdown.
const HOW_TO: &str = include_str!("../../../docs/how-to.md");

/// Width of the sheet, and of the terms in it.
const WIDTH_PT: f32 = 180.0 * GRID;
const TERM_PT: f32 = 44.0 * GRID;
/// Of the window's height for the list.
const MAX_HEIGHT: f32 = 0.64;

/// What the sheet has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum HelpTab {
    #[default]
    Keys,
    HowTo,
    Glossary,
    Methods,
}

vocabulary! {
    HelpTab:
    /// On screen.
    title;
    Keys("Keys"),
    HowTo("How do I …"),
    Glossary("Glossary"),
    Methods("Methods and formulas"),
}

impl HelpTab {
    fn rows(self, ctx: &egui::Context) -> Vec<HelpRow> {
        match self {
            Self::Keys => {
                let keys = UiCommand::all();
                let keys = keys.filter_map(|it| {
                    // A view is known by its name.
                    let name = matches!(it, UiCommand::Show(_)).then(|| format!("{}: ", it.text()));
                    Some((keys_text(ctx, &it.shortcut()?), name.unwrap_or_default() + it.tooltip()))
                });
                let more = MORE.into_iter().map(|(keys, what)| (keys.to_owned(), what.to_owned()));
                keys.chain(more).map(|(keys, what)| HelpRow::new(keys, what, "")).collect()
            }
            Self::HowTo => how_to(),
            Self::Glossary => TERMS.iter().map(|term| HelpRow::new(term.name, term.meaning, term.formula)).collect(),
            Self::Methods => {
                let of = |method: &MethodSpec| {
                    let about = match method.source {
                        "" => method.caveat.to_owned(),
                        source => format!("{} ({source})", method.caveat),
                    };
                    HelpRow::new(method.title, about, method.formula)
                };
                let others = [&detect::METHOD, &accuracy::METHOD, &lengths::METHOD];
                lab::ALL.iter().map(|method| method.spec).chain(others).map(of).collect()
            }
        }
    }
}

/// A line of the sheet.
struct HelpRow {
    name: String,
    meaning: String,
    formula: String,
}

impl HelpRow {
    fn new(name: impl Into<String>, meaning: impl Into<String>, formula: impl Into<String>) -> Self {
        Self { name: name.into(), meaning: meaning.into(), formula: formula.into() }
    }

    /// Whether all words that were typed are in it.
    fn fits(&self, words: &[String]) -> bool {
        let all = format!("{} {}", self.name, self.meaning).to_lowercase();
        words.iter().all(|word| all.contains(word.as_str()))
    }
}

/// The rows of the table: what one wants, and the steps.
fn how_to() -> Vec<HelpRow> {
    let rows = HOW_TO.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| I want to"));
    let plain = |cell: &str| cell.replace("**", "").replace('`', "").trim().to_owned();
    let row = |line: &str| {
        let cells: Vec<String> = line.split('|').map(plain).filter(|it| !it.is_empty()).collect();
        let (what, steps) = cells.split_first()?;
        Some(HelpRow::new(what, steps.join("  ›  "), ""))
    };
    rows.filter_map(row).collect()
}

/// The sheet's own state.
#[derive(Default)]
pub struct HelpSheet {
    part: HelpTab,
    typed: String,
}

impl HelpSheet {
    /// A sheet in which this is looked for.
    pub fn on(term: &str) -> Self {
        Self { part: HelpTab::Glossary, typed: term.to_owned() }
    }

    /// Draws the sheet over everything; false when it was closed.
    pub fn ui(&mut self, ctx: &egui::Context, theme: &Theme) -> bool {
        let room = ctx.content_rect().size();
        let modal = Dialog::new("help", WIDTH_PT).show(ctx, |ui| {
            ui.heading("Help");
            ui.add_space(GRID);
            self.choice_ui(ui);
            ui.add_space(GRID);
            ScrollArea::vertical().max_height(room.y * MAX_HEIGHT).auto_shrink([false, false]).show(ui, |ui| {
                self.rows_ui(ui, theme);
                follow_focus(ui);
            });
            ui.add_space(2.0 * GRID);
            about_ui(ui, theme);
            ui.button("Close").clicked()
        });
        !(modal.inner || modal.should_close())
    }

    fn choice_ui(&mut self, ui: &mut Ui) {
        ui.horizontal_wrapped(|ui| {
            for part in HelpTab::ALL {
                ui.selectable_value(&mut self.part, part, part.title());
            }
            let field =
                TextEdit::singleline(&mut self.typed).hint_text("Search all of them").desired_width(50.0 * GRID);
            let field = ui.add(field).accessible_name("Search help");
            focus_when_opened(ui, &field);
        });
    }

    /// The part that was chosen, or what fits in all of them.
    fn rows_ui(&self, ui: &mut Ui, theme: &Theme) {
        let words: Vec<String> = self.typed.split_whitespace().map(str::to_lowercase).collect();
        let is_called_so = |row: &HelpRow| row.name.to_lowercase() == self.typed.trim().to_lowercase();
        let parts = HelpTab::ALL.into_iter().filter(|part| !words.is_empty() || *part == self.part);
        let fitting = |part: HelpTab| part.rows(ui.ctx()).into_iter().filter(|row| row.fits(&words));
        let parts = parts.map(|part| (part, fitting(part).collect::<Vec<_>>()));
        let mut parts: Vec<_> = parts.filter(|(_, rows)| !rows.is_empty()).collect();
        // What has the very name that was typed is meant before what only says it.
        for (_, rows) in &mut parts {
            rows.sort_by_key(|row| !is_called_so(row));
        }
        parts.sort_by_key(|(_, rows)| !rows.first().is_some_and(is_called_so));
        let found = !parts.is_empty();
        for (part, rows) in parts {
            if !words.is_empty() {
                section_ui(ui, theme, part.title());
            }
            for row in rows {
                row_ui(ui, theme, &row);
            }
        }
        if !found {
            ui.label(RichText::new("Nothing found").color(theme.text_weak));
        }
    }
}

fn row_ui(ui: &mut Ui, theme: &Theme, row: &HelpRow) {
    ui.horizontal_top(|ui| {
        let width = TERM_PT.min(0.4 * ui.available_width());
        let size = egui::vec2(width, 0.0);
        ui.allocate_ui_with_layout(size, egui::Layout::top_down(egui::Align::Min), |ui| {
            ui.set_width(width);
            ui.add(egui::Label::new(RichText::new(&row.name).color(theme.accent)).wrap());
        });
        ui.vertical(|ui| {
            ui.add(egui::Label::new(&row.meaning).wrap());
            if !row.formula.is_empty() {
                let formula = RichText::new(&row.formula).size(text_size::SMALL).monospace().color(theme.text_weak);
                ui.add(egui::Label::new(formula).wrap());
            }
        });
    });
    ui.add_space(GRID);
}

/// What this program is.
fn about_ui(ui: &mut Ui, theme: &Theme) {
    let about = concat!(
        "AttnScope ",
        env!("CARGO_PKG_VERSION"),
        " · licence ",
        env!("CARGO_PKG_LICENSE"),
        " · on the command line: attnscope --help"
    );
    ui.label(RichText::new(about).small().color(theme.text_weak));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_is_read_as_rows() {
        let rows = how_to();
        assert!(rows.len() > 40, "{}", rows.len());
        assert!(rows.iter().all(|row| !row.name.is_empty() && !row.meaning.is_empty()));
        assert!(rows.iter().all(|row| !row.meaning.contains(['*', '`', '|'])));
    }

    #[test]
    fn all_words_that_were_typed_must_be_there() {
        let row = HelpRow::new("Rollout", "Attention of all layers multiplied together.", "");
        assert!(
            row.fits(&["layers".to_owned(), "roll".to_owned()]) && !row.fits(&["layers".to_owned(), "τ".to_owned()])
        );
    }
}
