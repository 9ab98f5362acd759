//! Every colour, stroke and size of the window, in light and dark.

use eframe::egui::{Color32, CornerRadius, FontFamily, FontId, Stroke, Style, TextStyle, Visuals, style};

/// The grid everything sits on, in points.
pub const GRID: f32 = 4.0;

/// Colours that mean something, for one appearance.
#[derive(Clone, Debug, PartialEq)]
pub struct Theme {
    /// Whether this is the dark appearance.
    pub dark: bool,
    /// Ground of the centre.
    pub canvas: Color32,
    /// Ground of the panels.
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
    /// Something failed.
    pub error: Color32,
    /// Something to know.
    pub warning: Color32,
    /// Cells that a causal mask hides.
    pub masked: Color32,
}

/// Sizes of text, in points.
pub mod text_size {
    /// Captions and axis labels.
    pub const SMALL: f32 = 11.0;
    /// Everything else.
    pub const BODY: f32 = 13.0;
    /// Titles.
    pub const LARGE: f32 = 16.0;
}

impl Theme {
    /// The light appearance.
    pub const fn light() -> Self {
        Self {
            dark: false,
            canvas: Color32::from_rgb(255, 255, 255),
            panel: Color32::from_rgb(246, 247, 249),
            text: Color32::from_rgb(28, 31, 36),
            text_weak: Color32::from_rgb(98, 105, 117),
            rule: Color32::from_rgb(222, 225, 230),
            accent: Color32::from_rgb(37, 99, 205),
            query: Color32::from_rgb(22, 140, 84),
            key: Color32::from_rgb(208, 56, 132),
            error: Color32::from_rgb(190, 38, 38),
            warning: Color32::from_rgb(161, 98, 7),
            masked: Color32::from_rgb(236, 238, 241),
        }
    }

    /// The dark appearance.
    pub const fn dark() -> Self {
        Self {
            dark: true,
            canvas: Color32::from_rgb(19, 21, 25),
            panel: Color32::from_rgb(27, 30, 36),
            text: Color32::from_rgb(226, 229, 234),
            text_weak: Color32::from_rgb(146, 154, 167),
            rule: Color32::from_rgb(48, 53, 62),
            accent: Color32::from_rgb(110, 160, 255),
            query: Color32::from_rgb(74, 201, 134),
            key: Color32::from_rgb(244, 114, 182),
            error: Color32::from_rgb(248, 113, 113),
            warning: Color32::from_rgb(234, 179, 8),
            masked: Color32::from_rgb(33, 37, 44),
        }
    }

    /// The colour of head `head`: eight distinguishable hues (Okabe–Ito, adjusted per appearance).
    /// Heads beyond eight repeat hues, so callers add a pattern or a label (see [`Self::head_repeat`]).
    pub const fn head_color(&self, head: usize) -> Color32 {
        const LIGHT: [Color32; 8] = [
            Color32::from_rgb(0, 114, 178),
            Color32::from_rgb(213, 94, 0),
            Color32::from_rgb(0, 138, 100),
            Color32::from_rgb(186, 84, 147),
            Color32::from_rgb(170, 124, 0),
            Color32::from_rgb(48, 150, 205),
            Color32::from_rgb(112, 72, 188),
            Color32::from_rgb(110, 110, 110),
        ];
        const DARK: [Color32; 8] = [
            Color32::from_rgb(86, 160, 235),
            Color32::from_rgb(255, 140, 66),
            Color32::from_rgb(52, 199, 150),
            Color32::from_rgb(228, 136, 190),
            Color32::from_rgb(240, 214, 66),
            Color32::from_rgb(120, 210, 250),
            Color32::from_rgb(176, 148, 255),
            Color32::from_rgb(180, 184, 190),
        ];
        if self.dark { DARK[head % 8] } else { LIGHT[head % 8] }
    }

    /// How often the hue of head `head` was used before: 0 for the first eight heads.
    pub const fn head_repeat(head: usize) -> usize {
        head / 8
    }

    /// The colour of position `t` of a sequence, `0..=1` from first to last.
    pub fn position_color(&self, t: f32) -> Color32 {
        let (from, to) = if self.dark {
            ([255.0, 205.0, 86.0], [120.0, 110.0, 255.0])
        } else {
            ([224.0, 150.0, 0.0], [70.0, 50.0, 190.0])
        };
        let t = t.clamp(0.0, 1.0);
        let mix = |a: f32, b: f32| (b - a).mul_add(t, a).round() as u8;
        Color32::from_rgb(mix(from[0], to[0]), mix(from[1], to[1]), mix(from[2], to[2]))
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
