//! Cards to choose from: a picture, a name and a sentence, or the text alone.

use eframe::egui::{
    Align2, Color32, FontId, Rect, Role, Sense, Stroke, StrokeKind, Ui, Vec2, WidgetInfo, pos2,
    text::{LayoutJob, TextWrapping},
    vec2,
};

use crate::ui::theme::{FOCUS_PT, GRID, Theme, radius, text_size};

/// Size of every card.
pub const CARD_PT: Vec2 = vec2(42.0 * GRID, 37.0 * GRID);
/// Size of the picture on one.
const PICTURE_PT: Vec2 = vec2(36.0 * GRID, 20.0 * GRID);
const MARGIN_PT: f32 = 3.0 * GRID;
/// Lines of the sentence below a picture, and where there is none.
const ROWS: [usize; 2] = [2, 5];

/// How many cards stand side by side in a width, at least one.
pub fn n_columns(room: f32) -> usize {
    ((room / (CARD_PT.x + GRID)) as usize).max(1)
}

/// One of several things to choose from.
pub struct Card<'a> {
    /// What it is a card of, before its name for screen readers: “View”.
    pub kind: &'a str,
    pub name: &'a str,
    pub about: &'a str,
    /// At the lower edge of a card without a picture.
    pub note: &'a str,
    /// Why it cannot be chosen, if so.
    pub reason: Option<&'a str>,
    pub is_shown: bool,
}

impl Card<'_> {
    /// Draws the card without a picture; true when it was chosen.
    pub fn text_ui(&self, ui: &mut Ui, theme: &Theme) -> bool {
        self.ui(ui, theme, None::<fn(&Ui, Rect)>)
    }

    /// Draws the card, with a picture in the place that is given; true when it was chosen.
    pub fn ui(&self, ui: &mut Ui, theme: &Theme, picture_ui: Option<impl FnOnce(&Ui, Rect)>) -> bool {
        let Self { kind, name, about, note, reason, is_shown } = *self;
        let (rect, response) = ui.allocate_exact_size(CARD_PT, Sense::click());
        let is_free = reason.is_none();
        let mut is_cut = false;
        response.widget_info(|| WidgetInfo::selected(Role::Button, is_free, is_shown, format!("{kind}: {name}")));
        if ui.is_rect_visible(rect) {
            if response.hovered() && is_free {
                ui.painter().rect_filled(rect, radius::POPOVER, theme.hover);
            }
            let edge = match (response.has_focus(), is_shown) {
                (true, _) => Some(Stroke::new(FOCUS_PT, theme.accent)),
                (false, true) => Some(Stroke::new(FOCUS_PT, theme.text)),
                (false, false) => picture_ui.is_none().then(|| Stroke::new(1.0, theme.rule)),
            };
            if let Some(edge) = edge {
                ui.painter().rect_stroke(rect, radius::POPOVER, edge, StrokeKind::Inside);
            }
            let mut inner = Rect::from_min_size(rect.min + Vec2::splat(MARGIN_PT), PICTURE_PT);
            inner.max.y = rect.bottom() - MARGIN_PT;
            let n_rows = ROWS[usize::from(picture_ui.is_none())];
            if let Some(picture_ui) = picture_ui {
                let place = Rect::from_min_size(inner.min, PICTURE_PT);
                ui.painter().rect(place, 0, theme.canvas, Stroke::new(1.0, theme.rule), StrokeKind::Outside);
                picture_ui(ui, place);
                inner.min.y = place.bottom() + 1.5 * GRID;
            }
            let ink = |color: Color32| if is_free { color } else { theme.disabled };
            let small = FontId::proportional(text_size::SMALL);
            let lines = |text: &str, font: FontId, color: Color32, max_rows: usize| {
                let mut job = LayoutJob::simple(text.to_owned(), font, color, 0.0);
                let wrap = TextWrapping::truncate_at_width(inner.width());
                job.wrap = TextWrapping { max_rows, break_anywhere: false, ..wrap };
                ui.painter().layout_job(job)
            };
            let title = lines(name, FontId::proportional(text_size::BODY), ink(theme.text), 1);
            is_cut = title.elided;
            ui.painter().galley(inner.min, title, theme.text);
            let below = pos2(inner.left(), inner.top() + 5.0 * GRID);
            let sentence = lines(reason.unwrap_or(about), small.clone(), ink(theme.text_weak), n_rows);
            is_cut |= sentence.elided;
            ui.painter().galley(below, sentence, theme.text_weak);
            ui.painter().text(inner.left_bottom(), Align2::LEFT_BOTTOM, note, small, ink(theme.text_weak));
        }
        let clicked = response.clicked() && is_free;
        if is_cut || !is_free {
            response.on_hover_text(format!("{name}: {}", reason.unwrap_or(about)));
        }
        clicked
    }
}
