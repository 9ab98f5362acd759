//! The search for a token of the text, and stepping through what it found.

use std::sync::Arc;

use eframe::egui::{Button, EventFilter, Key, Modifiers, RichText, TextEdit, Ui};

use crate::{
    capture::Token,
    ids::{CaptureId, Side},
    session::{Command, Focus, PaneCommand, SelectionCommand},
    ui::{ViewCtx, commands::UiCommand, memo::Memo, theme::GRID},
};

/// From so many tokens on, the search is always there; before, the key opens it.
const SEARCHABLE_TOKENS: usize = 24;
/// The field, and a button each way beside it.
const FIELD_PT: f32 = 26.0 * GRID;
const STEP_WIDTH: f32 = 5.0 * GRID;

/// What is looked for, and what was found.
#[derive(Default)]
pub struct TokenSearch {
    text: String,
    is_open: bool,
    wants_focus: bool,
    hits: Memo<(CaptureId, Side, String), Arc<[usize]>>,
}

impl TokenSearch {
    /// Puts the cursor into the field in the next frame.
    pub const fn focus(&mut self) {
        self.is_open = true;
        self.wants_focus = true;
    }

    /// Whether it was opened by the key.
    pub const fn is_open(&self) -> bool {
        self.is_open
    }

    /// A field that previews a hit while typing; Enter pins the next, Shift+Enter the one before, as the buttons do.
    /// The token that it has just come to.
    pub fn ui(
        &mut self,
        ui: &mut Ui,
        cx: &ViewCtx<'_>,
        (capture, side): (CaptureId, Side),
        tokens: &[Token],
    ) -> Option<usize> {
        // The field would only take room from a short sentence that is in view as a whole.
        if tokens.len() < SEARCHABLE_TOKENS && !self.is_open {
            return None;
        }
        let needle = self.text.trim().to_lowercase();
        let hits = self.hits.get_or_update((capture, side, needle.clone()), || hits(tokens, &needle).into());
        let pinned = cx.pane.selection.pinned.query;
        let mut step = None;
        let response = ui
            .horizontal(|ui| {
                ui.spacing_mut().item_spacing.x = GRID;
                let field = TextEdit::singleline(&mut self.text).hint_text("Find token").desired_width(FIELD_PT);
                let response = ui.add(field).on_hover_text(UiCommand::FindToken.tooltip_with_key(ui.ctx()));
                for (symbol, name, back) in [("↑", "Previous hit", true), ("↓", "Next hit", false)] {
                    let button = Button::new(symbol).min_size([STEP_WIDTH, 0.0].into());
                    let button = ui.add_enabled(!hits.is_empty(), button).on_hover_text(name).accessible_name(name);
                    if button.clicked() {
                        step = next_hit(&hits, pinned, back);
                    }
                }
                ui.label(RichText::new(hits_text(&needle, &hits, pinned)).small().color(cx.theme.text_weak));
                response
            })
            .inner
            .accessible_name("Find token");
        if std::mem::take(&mut self.wants_focus) {
            response.request_focus();
        } else if response.lost_focus() && self.text.is_empty() {
            self.is_open = false;
        }
        if response.has_focus() {
            // Otherwise it would let go of the pinned token, too.
            let filter = EventFilter { horizontal_arrows: true, vertical_arrows: true, escape: true, tab: false };
            ui.memory_mut(|memory| memory.set_focus_lock_filter(response.id, filter));
            if ui.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Escape)) {
                self.text.clear();
                self.is_open = false;
                response.surrender_focus();
                return None;
            }
        }
        let (enter, back) = ui.input(|input| (input.key_pressed(Key::Enter), input.modifiers.shift));
        let next = next_hit(&hits, pinned, back)?;
        if response.lost_focus() && enter {
            step = Some(next);
            response.request_focus();
        } else if response.has_focus() && step.is_none() {
            // What is pinned stays in sight; without it the first hit is shown.
            let shown = pinned.filter(|pinned| hits.contains(pinned)).unwrap_or(next);
            cx.send(Command::InPane(PaneCommand::Hover(Focus::query(shown))));
            return response.changed().then_some(shown);
        }
        if let Some(hit) = step {
            cx.send(Command::Select(SelectionCommand::Pin(Focus::query(hit))));
        }
        step
    }
}

/// The tokens that have `needle` in them, which is in small letters; none for an empty one.
pub fn hits(tokens: &[Token], needle: &str) -> Vec<usize> {
    let contains = |token: &Token| !needle.is_empty() && token.text.to_lowercase().contains(needle);
    (0..tokens.len()).filter(|&position| contains(&tokens[position])).collect()
}

/// The hit after `pinned`, or before it, around the ends.
pub fn next_hit(hits: &[usize], pinned: Option<usize>, back: bool) -> Option<usize> {
    let (first, last) = (*hits.first()?, *hits.last()?);
    Some(match (pinned, back) {
        (None, false) => first,
        (None, true) => last,
        (Some(pinned), false) => hits.iter().copied().find(|&hit| hit > pinned).unwrap_or(first),
        (Some(pinned), true) => hits.iter().rev().copied().find(|&hit| hit < pinned).unwrap_or(last),
    })
}

/// Which of the hits is pinned, or how many there are.
pub fn hits_text(needle: &str, hits: &[usize], pinned: Option<usize>) -> String {
    let at = pinned.and_then(|pinned| hits.iter().position(|&hit| hit == pinned));
    match (needle.is_empty(), hits.len(), at) {
        (true, ..) => String::new(),
        (false, 0, _) => "none".to_owned(),
        (false, n, None) => format!("{n} found"),
        (false, n, Some(at)) => format!("{} of {n}", at + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_steps_through_its_hits_both_ways_and_around() {
        let hits = [2, 5, 9];
        let step = |pinned, back| next_hit(&hits, pinned, back);
        assert_eq!([step(None, false), step(Some(2), false), step(Some(9), false)], [Some(2), Some(5), Some(2)]);
        assert_eq!([step(None, true), step(Some(5), true), step(Some(2), true)], [Some(9), Some(2), Some(9)]);
        assert_eq!(step(Some(7), false), Some(9), "from between two hits");
        assert_eq!(next_hit(&[], Some(1), false), None);
        assert_eq!(hits_text("a", &hits, Some(5)), "2 of 3");
        assert_eq!(hits_text("a", &hits, Some(6)), "3 found");
    }
}
