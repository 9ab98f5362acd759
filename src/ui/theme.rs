//! Colours and sizes of the window as egui has them: those of [`crate::style`], for one appearance.

use eframe::egui::{
    Color32, CornerRadius, FontFamily, FontId, Stroke, Style, TextStyle, Visuals,
    style::{self, WidgetVisuals},
    vec2,
};

pub use crate::style::size::{FOCUS_PT, GRID, SCROLLBAR_PT, radius, text_size};
use crate::{
    analysis::projection::Tint,
    figure::list::Rgba,
    style::{Ground, Palette, size::CONTROL_PT},
};

/// Opacity of a control that cannot be used now: its text has the contrast of [`Palette::disabled`].
const DISABLED_OPACITY: f32 = 0.55;

/// Opacity of the handle of a scrollbar, in the colour of text: 3 to 1 and more.
const HANDLE_OPACITY: f32 = 0.5;

/// Colours that mean something, for one appearance; [`Palette`] says what.
#[derive(Clone, Debug, PartialEq)]
pub struct Theme {
    /// The colours that figures share.
    pub palette: Palette,
    /// Whether this is the dark appearance.
    pub dark: bool,
    pub canvas: Color32,
    pub panel: Color32,
    pub raised: Color32,
    pub hover: Color32,
    pub rule: Color32,
    pub edge: Color32,
    pub text: Color32,
    pub text_weak: Color32,
    pub disabled: Color32,
    pub bar: Color32,
    pub accent: Color32,
    pub accent_ground: Color32,
    pub query: Color32,
    pub key: Color32,
    pub error: Color32,
    pub warning: Color32,
}

impl Theme {
    /// The light appearance.
    pub const fn light() -> Self {
        Self::of(Palette::LIGHT)
    }

    /// The dark appearance.
    pub const fn dark() -> Self {
        Self::of(Palette::DARK)
    }

    const fn of(palette: Palette) -> Self {
        Self {
            palette,
            dark: matches!(palette.ground, Ground::Dark),
            canvas: opaque(palette.canvas),
            panel: opaque(palette.panel),
            raised: opaque(palette.raised),
            hover: opaque(palette.hover),
            rule: opaque(palette.rule),
            edge: opaque(palette.edge),
            text: opaque(palette.text),
            text_weak: opaque(palette.text_weak),
            disabled: opaque(palette.disabled),
            bar: opaque(palette.bar),
            accent: opaque(palette.accent),
            accent_ground: opaque(palette.accent_ground),
            query: opaque(palette.query),
            key: opaque(palette.key),
            error: opaque(palette.error),
            warning: opaque(palette.warning),
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
        let widget = |fill: Color32, bg_stroke: Stroke| WidgetVisuals {
            bg_fill: fill,
            weak_bg_fill: fill,
            bg_stroke,
            corner_radius: CornerRadius::same(radius::CONTROL),
            fg_stroke: Stroke::new(1.5, self.text),
            expansion: 0.0,
        };
        let edge = Stroke::new(1.0, self.edge);
        let focus = Stroke::new(FOCUS_PT, self.accent);
        let visuals = if self.dark { Visuals::dark() } else { Visuals::light() };
        let visuals = Visuals {
            override_text_color: Some(self.text),
            weak_text_color: Some(self.text_weak),
            hyperlink_color: self.accent,
            panel_fill: self.panel,
            window_fill: self.panel,
            window_stroke: Stroke::new(1.0, self.rule),
            window_corner_radius: CornerRadius::same(radius::DIALOG),
            menu_corner_radius: CornerRadius::same(radius::POPOVER),
            extreme_bg_color: self.canvas,
            faint_bg_color: self.raised,
            code_bg_color: self.raised,
            error_fg_color: self.error,
            warn_fg_color: self.warning,
            disabled_alpha: DISABLED_OPACITY,
            selection: style::Selection { bg_fill: self.accent_ground, stroke: focus },
            widgets: style::Widgets {
                noninteractive: WidgetVisuals {
                    fg_stroke: Stroke::new(1.0, self.text),
                    ..widget(self.panel, Stroke::new(1.0, self.rule))
                },
                inactive: widget(self.raised, edge),
                hovered: widget(self.hover, edge),
                active: widget(self.hover, focus),
                open: widget(self.hover, edge),
            },
            ..visuals
        };
        let mut style = Style { visuals, ..Style::default() };
        style.spacing.item_spacing = vec2(2.0 * GRID, GRID);
        style.spacing.button_padding = vec2(2.0 * GRID, 0.75 * GRID);
        style.spacing.interact_size.y = CONTROL_PT;
        style.spacing.scroll = style::ScrollStyle {
            bar_width: SCROLLBAR_PT,
            floating_width: SCROLLBAR_PT / 2.0,
            floating_allocated_width: SCROLLBAR_PT,
            dormant_background_opacity: 0.0,
            active_background_opacity: 0.0,
            interact_background_opacity: 0.2,
            dormant_handle_opacity: HANDLE_OPACITY,
            active_handle_opacity: HANDLE_OPACITY,
            interact_handle_opacity: 0.8,
            ..style::ScrollStyle::floating()
        };
        style.text_styles = [
            (TextStyle::Small, FontId::new(text_size::SMALL, FontFamily::Proportional)),
            (TextStyle::Body, FontId::new(text_size::BODY, FontFamily::Proportional)),
            (TextStyle::Button, FontId::new(text_size::BODY, FontFamily::Proportional)),
            (TextStyle::Heading, medium(text_size::LARGE)),
            (TextStyle::Monospace, FontId::new(text_size::BODY, FontFamily::Monospace)),
        ]
        .into();
        style
    }
}

/// The family of what stands out: questions, titles, the tab that is chosen.
pub fn medium_family() -> FontFamily {
    FontFamily::Name("medium".into())
}

/// What stands out, in a size.
pub fn medium(size: f32) -> FontId {
    FontId::new(size, medium_family())
}

/// A colour of a figure on screen.
pub const fn opaque([red, green, blue, _]: Rgba) -> Color32 {
    Color32::from_rgb(red, green, blue)
}
