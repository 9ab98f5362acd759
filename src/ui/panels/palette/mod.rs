//! One box over everything that has a name: type, choose with the arrows, Enter.

use std::sync::Arc;

use eframe::egui::{
    self, Color32, Context, FontId, Key, Modifiers, Rect, Role, ScrollArea, Sense, TextEdit, Ui, WidgetInfo,
    epaint::text::{LayoutJob, TextFormat, TextWrapping},
    pos2,
    text::{CCursor, CCursorRange},
    vec2,
};

mod fuzzy;
pub mod paths;
mod rows;

pub use rows::{Chosen, PaletteRow};

use super::WindowRequests;
use crate::{
    ids::{CaptureId, Side},
    ui::{
        PanelCtx,
        keys::keys_text,
        look::{Entered, Looker},
        memo::Memo,
        theme::{GRID, Theme, radius, text_size},
        widgets::{Dialog, Steps, hits},
    },
};

/// Width of the box.
const WIDTH_PT: f32 = 160.0 * GRID;
/// From the top of the window.
const TOP_PT: f32 = 14.0 * GRID;
/// Height of a row.
const ROW_PT: f32 = 7.0 * GRID;
/// Rows that are seen at once.
const SHOWN_ROWS: usize = 12;
/// Of a row's width for its name, before what it does.
const NAME: f32 = 0.36;
/// Opacity of what cannot be chosen.
const ABSENT_OPACITY: f32 = 0.55;

/// What was typed, and the row that Enter takes.
#[derive(Default)]
pub struct Palette {
    typed: String,
    at: usize,
    /// Whether what is in the field came from elsewhere, so that the cursor has to go behind it.
    moves_cursor: bool,
    entered: Entered,
    hits: Memo<(Option<CaptureId>, Side, String), Arc<[usize]>>,
}

impl Palette {
    /// Draws the box over everything; false when it was closed, or something was chosen.
    pub fn ui(&mut self, ctx: &Context, cx: &PanelCtx<'_>, looker: &mut Looker, requests: &mut WindowRequests) -> bool {
        let steps = Steps::take(ctx, SHOWN_ROWS);
        let tab = ctx.input_mut(|input| input.consume_key(Modifiers::NONE, Key::Tab));
        let hits = self.token_hits(cx);
        let is_looking = paths::is_looking(&self.typed, looker);
        let mut rows = paths::rows(cx, &self.typed, looker);
        rows.extend(rows::rows(cx, &self.typed, &hits));
        if rows.is_empty() {
            rows.extend(paths::hub_row(&self.typed));
        }
        self.at = steps.from(self.at, rows.len());
        if steps.any() || tab {
            self.entered.forget();
        }
        // What is looked up stands first.
        let entered = self.entered.counts(&self.typed, steps.enter, is_looking && self.at == 0);
        let modal = Dialog::new("palette", WIDTH_PT).at_top(TOP_PT).show(ctx, |ui| {
            self.field_ui(ui);
            ui.add_space(GRID);
            if rows.is_empty() {
                nothing_ui(ui, cx.theme, &self.typed);
                return None;
            }
            let clicked = self.rows_ui(ui, cx.theme, &rows, steps.any());
            if let Some(more) = rows::more_tokens(hits.len()) {
                ui.label(egui::RichText::new(more).small().color(cx.theme.text_weak));
            }
            clicked
        });
        let completion = || {
            let is_completion =
                |at: usize| matches!(rows.get(at).and_then(|row| row.chosen.as_ref()), Some(Chosen::Type(_)));
            let first = || (0..rows.len()).find(|at| is_completion(*at));
            tab.then(|| Some(self.at).filter(|at| is_completion(*at)).or_else(first)).flatten()
        };
        let chosen = modal.inner.or_else(|| entered.then_some(self.at)).or_else(completion);
        let Some(row) = chosen.and_then(|at| rows.get(at)).filter(|row| row.reason.is_none()) else {
            return !modal.should_close();
        };
        match row.chosen.clone() {
            Some(Chosen::Window(command)) => requests.push(command),
            Some(Chosen::Session(command)) => cx.send(*command),
            Some(Chosen::Type(typed)) => {
                self.typed = typed;
                self.at = 0;
                self.moves_cursor = true;
                return true;
            }
            None => {}
        }
        false
    }

    fn token_hits(&mut self, cx: &PanelCtx<'_>) -> Arc<[usize]> {
        let needle = self.typed.trim().to_lowercase();
        let side = cx.pane.selection.stack().query_side();
        let capture = cx.document.latest_capture();
        let key = (capture.map(|capture| capture.id()), side, needle.clone());
        self.hits.get_or_update(key, || {
            // Patches have places and no words.
            let words = capture.filter(|capture| capture.picture_side() != Some(side));
            words.map_or_else(|| Arc::from([]), |capture| hits(capture.tokens(side), &needle).into())
        })
    }

    fn field_ui(&mut self, ui: &mut Ui) {
        let hint = "A command, model, example, head such as L3H5 or induction, word of the text, path or link";
        // Tab completes.
        let field = TextEdit::singleline(&mut self.typed).hint_text(hint).desired_width(f32::INFINITY).lock_focus(true);
        let mut output = field.margin(vec2(2.0 * GRID, 1.5 * GRID)).show(ui);
        if std::mem::take(&mut self.moves_cursor) {
            let end = CCursorRange::one(CCursor::new(self.typed.chars().count()));
            output.state.cursor.set_char_range(Some(end));
            output.state.store(ui.ctx(), output.response.id);
        }
        let field = output.response.response.accessible_name("Go to anything");
        if field.changed() {
            self.at = 0;
        }
        // Whatever is clicked, the keys stay here.
        field.request_focus();
    }

    /// Draws the rows; the one that was clicked.
    fn rows_ui(&self, ui: &mut Ui, theme: &Theme, rows: &[PaletteRow], moved: bool) -> Option<usize> {
        let mut clicked = None;
        ui.spacing_mut().item_spacing.y = 0.0;
        let height = ROW_PT * rows.len().min(SHOWN_ROWS) as f32;
        let scroll = ScrollArea::vertical().max_height(height).auto_shrink([false, true]).id_salt("rows");
        scroll.show_viewport(ui, |ui, seen| {
            let (all, _) =
                ui.allocate_exact_size(vec2(ui.available_width(), ROW_PT * rows.len() as f32), Sense::hover());
            let rect = |idx: usize| {
                let top = all.top() + ROW_PT * idx as f32;
                Rect::from_x_y_ranges(all.x_range(), top..=top + ROW_PT)
            };
            if moved {
                ui.scroll_to_rect(rect(self.at), None);
            }
            let (first, last) = ((seen.top() / ROW_PT) as usize, (seen.bottom() / ROW_PT).ceil() as usize);
            for (idx, row) in rows.iter().enumerate().take(last).skip(first) {
                let response = ui.interact(rect(idx), ui.scope_id().with(idx), Sense::CLICK);
                let name = format!("{}: {}", row.text, row.about());
                response.widget_info(|| {
                    WidgetInfo::selected(Role::ListBoxOption, row.reason.is_none(), idx == self.at, &name)
                });
                if idx == self.at {
                    ui.painter().rect_filled(rect(idx), radius::CONTROL, theme.accent_ground);
                } else if response.hovered() {
                    ui.painter().rect_filled(rect(idx), radius::CONTROL, theme.hover);
                }
                row_ui(ui, theme, rect(idx), row);
                if response.clicked() {
                    clicked = Some(idx);
                }
            }
        });
        clicked
    }
}

/// Name with the letters that were meant, what it does, and its key or kind.
fn row_ui(ui: &Ui, theme: &Theme, rect: Rect, row: &PaletteRow) {
    let faded = |color: Color32| if row.reason.is_some() { color.gamma_multiply(ABSENT_OPACITY) } else { color };
    let inner = rect.shrink2(vec2(2.0 * GRID, 0.0));
    let small = FontId::proportional(text_size::SMALL);
    let key = match row.chosen {
        Some(Chosen::Window(command)) => command.shortcut().map(|shortcut| keys_text(ui.ctx(), &shortcut)),
        Some(Chosen::Session(_) | Chosen::Type(_)) | None => None,
    };
    let (right, color) = key.map_or((row.kind.to_owned(), theme.text_weak), |key| (key, theme.accent));
    let right = ui.painter().layout_no_wrap(right, small.clone(), faded(color));
    let right_x = inner.right() - right.size().x;
    let middle = |height: f32| inner.center().y - height / 2.0;
    ui.painter().galley(pos2(right_x, middle(right.size().y)), Arc::clone(&right), color);

    let mut name = LayoutJob::default();
    for (idx, letter) in row.text.chars().enumerate() {
        let meant = row.fit.at.binary_search(&idx).is_ok();
        let color = if meant { theme.accent } else { theme.text };
        name.append(&letter.to_string(), 0.0, TextFormat::simple(FontId::proportional(text_size::BODY), faded(color)));
    }
    name.wrap = TextWrapping::truncate_at_width(inner.width() * NAME);
    let name = ui.painter().layout_job(name);
    ui.painter().galley(pos2(inner.left(), middle(name.size().y)), name, theme.text);

    let left = inner.left() + inner.width() * NAME + 2.0 * GRID;
    let mut detail = LayoutJob::simple_singleline(row.about().to_owned(), small, faded(theme.text_weak));
    detail.wrap = TextWrapping::truncate_at_width((right_x - left - 2.0 * GRID).max(0.0));
    let detail = ui.painter().layout_job(detail);
    ui.painter().galley(pos2(left, middle(detail.size().y)), detail, theme.text_weak);
}

/// What stands where nothing fits.
fn nothing_ui(ui: &mut Ui, theme: &Theme, typed: &str) {
    ui.add_space(2.0 * GRID);
    ui.label(format!("Nothing is called “{}”", typed.trim()));
    let what = "Type letters of a command, view, model or example, a head as L3H5 or cross L2H1, a kind of head, part of a \
                token, or the path of a file or folder";
    ui.label(egui::RichText::new(what).small().color(theme.text_weak));
    ui.add_space(2.0 * GRID);
}
