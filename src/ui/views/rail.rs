//! The tokens of the input in a row above views that do not name them, with the search for one of them.

use std::sync::Arc;

use eframe::egui::{Align, Color32, Layout, RichText, Ui, vec2};

use super::source;
use crate::{
    analysis::{reading::ReadPattern, routing::LayerRouting},
    figure::palette::Ink,
    ids::{CaptureId, Side, StackKind},
    ui::{
        ViewCtx,
        memo::Memo,
        theme::{GRID, opaque},
        widgets::{ChipTint, NumberTint, TokenChips, TokenSearch},
    },
};

/// Height of a row of tokens.
const ROW_PT: f32 = 7.0 * GRID;
/// A lower pane has none.
const LEAST_PT: f32 = 70.0 * GRID;

/// A row of tokens for each side of the stack.
#[derive(Default)]
pub struct TokenRail {
    search: TokenSearch,
    /// The token that the search has just come to.
    reveal: Option<usize>,
    /// Of the layer that is shown, in views of experts.
    experts: Memo<(CaptureId, StackKind, usize), Option<Arc<LayerRouting>>>,
    queries: TokenChips,
    keys: TokenChips,
}

impl TokenRail {
    /// Puts the cursor into the search in the next frame; until it is left the row stands above every view.
    pub const fn focus_search(&mut self) {
        self.search.focus();
    }

    /// Draws the rows, also above views that name the tokens where they `have_values` that stand on them alone.
    pub fn ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>, have_values: bool) {
        let Some(capture) = cx.document.latest_capture() else { return };
        let facts = cx.pane.view.facts();
        // Of many inputs this one need not be among those that the view shows.
        let is_shown = !facts.reads_corpus || cx.pane.shown_input(cx.document).is_some();
        let is_wanted = is_shown && !facts.names_tokens && ui.available_height() >= LEAST_PT;
        if !is_wanted && !have_values && !self.search.is_open() {
            return;
        }
        let stack = cx.pane.selection.stack();
        let (query_side, key_side) = (stack.query_side(), stack.key_side());
        let pattern = source::shown_pattern(cx).and_then(Result::ok);
        let pattern = pattern.as_deref();
        let focus = cx.pane.selection.focus();
        // One row is that of all tokens, whether one is held or not.
        let one_row = pattern.filter(|pattern| pattern.has_one_row()).map(|pattern| pattern.by_key(None));
        let query_row: Option<Vec<f32>> =
            one_row.or_else(|| focus.query.and_then(|query| Some(pattern?.by_key(Some(query)))));
        let has_one_row = pattern.is_some_and(ReadPattern::has_one_row);
        let key_column: Option<Vec<f32>> = match (focus.query, focus.key) {
            (None, Some(key)) if !has_one_row => pattern.map(|it| it.by_query(Some(key))),
            _ => None,
        };
        let look = TintLook::of(cx, pattern);
        let key_tint = query_row.as_deref().map(|weights| look.tint(weights, cx.theme.key));
        let query_tint = key_column.as_deref().map(|weights| look.tint(weights, cx.theme.query));
        let head = cx.pane.selection.head;
        let key = (capture.id(), head.stack, head.layer);
        let of_layer = || LayerRouting::shown(capture, key.1, key.2).map(Arc::new);
        let experts = if facts.shows_experts { self.experts.get_or_update(key, of_layer) } else { None };
        let experts = experts.as_deref().map(ChipTint::Experts);
        let side_ui = |ui: &mut Ui, side: Side| {
            if query_side != key_side {
                ui.label(RichText::new(side.name()).small().color(cx.theme.text_weak));
            }
        };
        let row = |ui: &mut Ui, add: &mut dyn FnMut(&mut Ui)| {
            let size = vec2(ui.available_width(), ROW_PT);
            ui.allocate_ui_with_layout(size, Layout::left_to_right(Align::Center), add);
        };
        // Patches stand on the picture instead.
        let on_picture = capture.picture_side();
        if on_picture != Some(query_side) {
            row(ui, &mut |ui| {
                let found = self.search.ui(ui, cx, (capture.id(), query_side), capture.tokens(query_side));
                self.reveal = found.or(self.reveal);
                side_ui(ui, query_side);
                let tint = experts.or(if query_side == key_side { key_tint.or(query_tint) } else { query_tint });
                self.queries.ui(ui, cx, query_side, tint, self.reveal.take());
            });
        }
        if query_side != key_side && on_picture != Some(key_side) {
            row(ui, &mut |ui| {
                side_ui(ui, key_side);
                self.keys.ui(ui, cx, key_side, key_tint, None);
            });
        }
    }
}

/// How numbers colour tokens: weights of attention in the colour of their side, other numbers in their own.
struct TintLook<'a> {
    full: f32,
    own: Option<[Color32; 2]>,
    name: &'a str,
}

impl<'a> TintLook<'a> {
    fn of(cx: &ViewCtx<'_>, pattern: Option<&'a ReadPattern>) -> Self {
        let Some(pattern) = pattern.filter(|it| it.has_own_scale()) else {
            return Self { full: 1.0, own: None, name: "weight" };
        };
        let ink = |ink: Ink| opaque(cx.theme.palette.ink(ink));
        let own = if pattern.signed { [ink(Ink::More), ink(Ink::Less)] } else { [ink(Ink::Explained); 2] };
        Self { full: pattern.high(), own: Some(own), name: pattern.value_label() }
    }

    fn tint<'b>(&self, weights: &'b [f32], color: Color32) -> ChipTint<'b>
    where
        'a: 'b,
    {
        let colors = self.own.unwrap_or([color; 2]);
        ChipTint::Numbers(NumberTint { weights, full: self.full, colors, name: self.name })
    }
}
