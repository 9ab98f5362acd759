//! Every colour, stroke and size of the window, in light and dark. Colours that figures share are in
//! `figure/palette.rs`.

use eframe::egui::{Color32, CornerRadius, FontFamily, FontId, Stroke, Style, TextStyle, Visuals, style};

pub use crate::figure::measure::{GRID, text_size};
use crate::{
    analysis::projection::Tint,
    figure::{list::Rgba, palette::Palette},
};

/// Colours that mean something, for one appearance.
#[derive(Clone, Debug, PartialEq)]
pub struct Theme {
    /// The colours that figures share.
    pub palette: Palette,
    /// Whether this is the dark appearance.
    pub dark: bool,
    pub canvas: Color32,
    pub panel: Color32,
    /// Text that is read first.
    pub text: Color32,
    /// Text that is read second.
    pub text_weak: Color32,
    /// Thin rules between areas.
    pub rule: Color32,
    /// The one accent: selection, focus, primary action.
    pub accent: Color32,
    /// Queries (`AttentionViz`'s green).
    pub query: Color32,
    /// Keys (`AttentionViz`'s pink).
    pub key: Color32,
    pub error: Color32,
    pub warning: Color32,
    /// Cells that a causal mask hides.
    pub masked: Color32,
}

impl Theme {
    /// The light appearance.
    pub const fn light() -> Self {
        Self::of(Palette::LIGHT, Color32::from_rgb(246, 247, 249), [[190, 38, 38], [161, 98, 7]])
    }

    /// The dark appearance.
    pub const fn dark() -> Self {
        Self::of(Palette::DARK, Color32::from_rgb(27, 30, 36), [[248, 113, 113], [234, 179, 8]])
    }

    const fn of(palette: Palette, panel: Color32, [error, warning]: [[u8; 3]; 2]) -> Self {
        Self {
            palette,
            dark: palette.dark,
            canvas: opaque(palette.canvas),
            panel,
            text: opaque(palette.text),
            text_weak: opaque(palette.text_weak),
            rule: opaque(palette.rule),
            accent: opaque(palette.accent),
            query: opaque(palette.query),
            key: opaque(palette.key),
            error: Color32::from_rgb(error[0], error[1], error[2]),
            warning: Color32::from_rgb(warning[0], warning[1], warning[2]),
            masked: opaque(palette.masked),
        }
    }

    /// The colour of head `head`; see [`Palette::head`].
    pub const fn head_color(&self, head: usize) -> Color32 {
        opaque(self.palette.head(head))
    }

    /// The colour of a point; `own` is that of queries, or that of keys.
    pub fn tint(&self, tint: Tint, own: Color32) -> Color32 {
        if tint == Tint::Type { own } else { opaque(self.palette.tint(tint, self.palette.text_weak)) }
    }

    /// The egui style of this appearance.
    pub fn style(&self) -> Style {
        let mut visuals = if self.dark { Visuals::dark() } else { Visuals::light() };
        visuals.panel_fill = self.panel;
        visuals.window_fill = self.panel;
        visuals.extreme_bg_color = self.canvas;
        visuals.faint_bg_color = self.masked;
        visuals.override_text_color = Some(self.text);
        visuals.weak_text_color = Some(self.text_weak);
        visuals.hyperlink_color = self.accent;
        visuals.selection.bg_fill = self.accent.gamma_multiply(if self.dark { 0.35 } else { 0.22 });
        visuals.selection.stroke = Stroke::new(1.0, self.text);
        visuals.error_fg_color = self.error;
        visuals.warn_fg_color = self.warning;
        visuals.window_stroke = Stroke::new(1.0, self.rule);
        visuals.widgets.noninteractive.bg_stroke = Stroke::new(1.0, self.rule);
        for widget in [
            &mut visuals.widgets.noninteractive,
            &mut visuals.widgets.inactive,
            &mut visuals.widgets.hovered,
            &mut visuals.widgets.active,
            &mut visuals.widgets.open,
        ] {
            widget.corner_radius = CornerRadius::same(4);
        }
        let mut style = Style { visuals, ..Style::default() };
        style.spacing.item_spacing = eframe::egui::vec2(2.0 * GRID, 1.5 * GRID);
        style.spacing.button_padding = eframe::egui::vec2(2.0 * GRID, GRID);
        style.spacing.scroll = style::ScrollStyle::solid();
        style.text_styles = [
            (TextStyle::Small, FontId::new(text_size::SMALL, FontFamily::Proportional)),
            (TextStyle::Body, FontId::new(text_size::BODY, FontFamily::Proportional)),
            (TextStyle::Button, FontId::new(text_size::BODY, FontFamily::Proportional)),
            (TextStyle::Heading, FontId::new(text_size::LARGE, FontFamily::Proportional)),
            (TextStyle::Monospace, FontId::new(text_size::BODY - 0.5, FontFamily::Monospace)),
        ]
        .into();
        style
    }
}

/// A colour of a figure on screen.
pub const fn opaque([red, green, blue, _]: Rgba) -> Color32 {
    Color32::from_rgb(red, green, blue)
}
