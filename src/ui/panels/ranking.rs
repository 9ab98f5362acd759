//! The strongest entries of a row or a column of a pattern, as bars.

use eframe::egui::{Label, RichText, Ui, vec2};

use crate::{
    analysis::{
        explain::compare,
        reading::{Axis, ReadPattern},
    },
    capture::Token,
    figure::{
        data::{Table, tab_separated},
        views::lab::left_out,
    },
    session::{Command, Focus, PaneCommand, SelectionCommand},
    ui::{
        ViewCtx,
        theme::GRID,
        views::copy_menu_ui,
        widgets::{BAR_ROW_PT, BarRow, section_ui},
    },
};

/// Keys that are ranked for the focused query.
pub const N_TOP_KEYS: usize = 5;

/// The strongest entries of a row or column as bars; click pins.
pub struct Ranking<'a> {
    pub title: &'a str,
    /// Rows or columns with their weights, strongest first.
    pub ranked: Vec<(usize, f32)>,
    /// The tokens of the axis where they are ranked as the words that explain an output: special ones are left out.
    pub words: Option<&'a [Token]>,
    /// Where the weights come from.
    pub of: &'a ReadPattern,
    pub axis: &'a Axis,
    pub chosen: Option<usize>,
    /// Whether hovering a bar previews the pair.
    pub preview: bool,
    /// The whole list, in numbers.
    pub table: &'a dyn Fn() -> Table,
}

impl Ranking<'_> {
    /// Draws the list; `meant` is what a click on a position pins.
    pub fn ui(mut self, ui: &mut Ui, cx: &ViewCtx<'_>, meant: impl Fn(Option<usize>) -> Focus) {
        section_ui(ui, cx.theme, self.title);
        ui.spacing_mut().item_spacing.y = GRID / 2.0;
        let left_out = self.leave_out(cx.pane.options.lab.ranks_special());
        let n_empty = N_TOP_KEYS.saturating_sub(self.ranked.len());
        for &(idx, weight) in self.ranked.iter().take(N_TOP_KEYS) {
            let position = self.axis.position(idx);
            let row = BarRow {
                label: &self.axis.numbered(idx),
                fraction: self.of.strength(weight),
                value: &self.of.value_text(weight),
                selected: self.chosen == Some(idx),
            };
            let response = row.ui(ui, cx.theme);
            copy_menu_ui(&response, cx, "this whole list", || tab_separated(&(self.table)()));
            if self.preview && response.hovered() {
                cx.send(Command::InPane(PaneCommand::Hover(meant(position))));
            }
            if response.clicked() {
                cx.send(Command::Select(SelectionCommand::Pin(meant(position))));
            }
        }
        for _ in 0..n_empty {
            ui.allocate_space(vec2(ui.available_width(), BAR_ROW_PT));
        }
        if let Some(left_out) = left_out {
            ui.add(Label::new(RichText::new(left_out).small().color(cx.theme.text_weak)).wrap());
        }
    }

    /// Leaves special tokens out of words, and says so.
    fn leave_out(&mut self, with_special: bool) -> Option<String> {
        let tokens = self.words?;
        let words = compare::ranked_positions(tokens, with_special);
        let mut values = vec![0.0; tokens.len()];
        for (idx, weight) in &self.ranked {
            if let Some(value) = self.axis.position(*idx).and_then(|at| values.get_mut(at)) {
                *value = *weight;
            }
        }
        let is_word = |idx: usize| self.axis.position(idx).is_none_or(|at| words.binary_search(&at).is_ok());
        self.ranked.retain(|(idx, _)| is_word(*idx));
        left_out(tokens, &words, &[(self.title, &values)])
    }
}
