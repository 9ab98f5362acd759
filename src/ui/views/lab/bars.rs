//! Signed bars, one per token and method.

use eframe::egui::{Align2, FontId, Rect, Sense, Ui, Vec2, pos2, vec2};

use crate::ui::{
    ViewCtx,
    theme::{GRID, text_size},
};

/// Height of a row.
pub const ROW_PT: f32 = 3.0 * GRID;

/// What the bars of a column are drawn by.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// The longest bar.
    most: f32,
    /// Whether some of them speak against the output.
    signed: bool,
}

impl Scale {
    /// That of these values.
    pub fn of(values: &[f32]) -> Self {
        let finite = || values.iter().filter(|value| value.is_finite());
        Self { most: finite().fold(0.0, |most, x| most.max(x.abs())), signed: finite().any(|value| *value < 0.0) }
    }
}

/// Draws one bar in a cell: to the right what speaks for the output, to the left what speaks against it.
pub fn bar_ui(ui: &mut Ui, cx: &ViewCtx<'_>, width: f32, value: f32, scale: Scale, what: &str) {
    let (rect, response) = ui.allocate_exact_size(Vec2::new(width, ROW_PT), Sense::hover());
    let inner = rect.shrink2(vec2(GRID, 2.0));
    let painter = ui.painter_at(rect);
    let middle = if scale.signed { inner.center().x } else { inner.left() };
    let room = inner.right() - middle;
    painter.vline(middle, inner.y_range(), (1.0, cx.theme.rule));
    if value.is_nan() {
        painter.text(
            inner.center(),
            Align2::CENTER_CENTER,
            "–",
            FontId::proportional(text_size::SMALL),
            cx.theme.text_weak,
        );
    } else if scale.most > 0.0 {
        let length = (value / scale.most).clamp(-1.0, 1.0) * room;
        let (from, to) = if length < 0.0 { (middle + length, middle) } else { (middle, middle + length) };
        let color = if value < 0.0 { cx.theme.key } else { cx.theme.accent };
        painter.rect_filled(Rect::from_min_max(pos2(from, inner.top()), pos2(to, inner.bottom())), 1.0, color);
    }
    response.on_hover_text(format!("{what}: {value:.6}"));
}
