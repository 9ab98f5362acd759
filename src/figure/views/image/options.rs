//! Options of the picture with attention on it.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    flows::{FlowFilter, FlowKind},
    weights::PatchRole,
};
use crate::{
    figure::{
        spec::plain,
        views::{ViewScope, heatmap::visit_color_map},
    },
    options::{FieldValue, OptionField, Visit, choose_with, fraction, put},
    raster::ColorMap,
};

/// Opacity of the largest value over the picture.
pub const USUAL_OPACITY: f32 = 0.85;
/// What opacity is.
const OPACITY: &str = "Opacity of an overlay, from 0 to 1";
/// Share of the attention that an outline holds when it is turned on.
const USUAL_CONTOUR: f32 = 0.6;

/// Options of the view.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ImageOptions {
    pub color_map: ColorMap,
    /// What colours stand for.
    pub patch_colors: PatchColors,
    /// Opacity of the overlay, `0..=1`.
    pub opacity: f32,
    /// How patch weights become pixels.
    pub smoothing: Smoothing,
    /// Outline of the patches that hold this fraction of the mass; `None` for no outline.
    pub contour: Option<f32>,
    /// Whether the picked patch asks (query) or answers (key).
    pub role: PatchRole,
    /// Arrows from patch to patch instead of the overlay.
    pub flows: Option<FlowKind>,
    /// The smallest weight that gets an arrow when the strongest of each patch is drawn.
    pub strongest_from: f32,
    /// The smallest weight that gets an arrow when all are.
    pub all_from: f32,
}

impl Default for ImageOptions {
    fn default() -> Self {
        Self {
            color_map: ColorMap::default(),
            patch_colors: PatchColors::Weights,
            opacity: USUAL_OPACITY,
            smoothing: Smoothing::Auto,
            contour: None,
            role: PatchRole::Query,
            flows: None,
            strongest_from: FlowKind::Strongest.usual_least(),
            all_from: FlowKind::All.usual_least(),
        }
    }
}

impl ImageOptions {
    /// Colours patches by something else.
    pub const fn color_by(&mut self, patch_colors: PatchColors) {
        self.patch_colors = patch_colors;
    }

    /// Draws the overlay, not arrows.
    pub const fn leave_flows(&mut self) {
        self.flows = None;
    }

    /// The arrows that are drawn instead of the overlay.
    pub fn flow_filter(&self) -> Option<FlowFilter> {
        let filter = |kind| FlowFilter {
            kind,
            least: match kind {
                FlowKind::Strongest => self.strongest_from,
                FlowKind::All => self.all_from,
            },
        };
        self.flows.map(filter)
    }

    /// Shows the options: of the overlay, or of the arrows that are drawn instead.
    pub fn visit(&mut self, scope: &ViewScope<'_>, visit: &mut Visit<'_>) {
        let has_arrows = self.has_arrows(scope);
        if scope.all || !has_arrows {
            self.visit_overlay(scope, visit);
        }
        let flows = &mut self.flows;
        let mut read = |text: &str| {
            let kind = text.parse();
            put(flows, kind.map(Some))
        };
        let meaning = "Arrows from each patch instead of an overlay: strongest (to what it attends to most), all (every \
                       weight)";
        let field = OptionField::new("flows", "Arrows", meaning, FieldValue::Read(&mut read, "WHICH"));
        let field = OptionField { bare: Some(FlowKind::Strongest.name()), ..field };
        visit(field.conflicts(&["contour", "smooth", "patch_colors"]).strict().on_command_line());
        let least = (&mut self.strongest_from, &mut self.all_from);
        let mut read = |text: &str| {
            put(least.0, fraction(text))?;
            put(least.1, fraction(text))
        };
        let meaning = "Flows: smallest weight";
        let value = FieldValue::Read(&mut read, "W");
        visit(OptionField::new("threshold", "Smallest weight", meaning, value).on_command_line());
        let least = match self.flows.filter(|_| has_arrows) {
            Some(FlowKind::Strongest) => &mut self.strongest_from,
            Some(FlowKind::All) => &mut self.all_from,
            None => return,
        };
        let meaning = "Smaller weights get no arrow; 1 is all the attention of a patch";
        let field = OptionField::new("threshold", "Weights from", meaning, FieldValue::Share(least, 0.0..=1.0));
        visit(field.in_window().heading("Arrows"));
    }

    /// What colours stand for: what a method explained has its own, and arrows have none.
    pub const fn colors_of(&self, is_explained: bool) -> PatchColors {
        if is_explained || self.flows.is_some() { PatchColors::Weights } else { self.patch_colors }
    }

    /// Whether arrows are drawn, in place of the overlay.
    pub const fn has_arrows(&self, scope: &ViewScope<'_>) -> bool {
        self.flows.is_some() && scope.patches_ask && !scope.is_explained
    }

    /// Colours of weights.
    pub const fn colors(&self) -> ColorMap {
        self.color_map
    }

    /// Opacity of the largest value.
    pub const fn alpha(&self) -> f32 {
        self.opacity
    }

    /// Whether a grid of (rows, columns) patches is interpolated on screen.
    pub const fn is_smooth(&self, grid: (usize, usize)) -> bool {
        self.smoothing.is_smooth(grid)
    }

    /// Shows the options of weights on small pictures, below a heading.
    pub fn visit_cells(&mut self, heading: &'static str, visit: &mut Visit<'_>) {
        visit_color_map(&mut self.color_map, heading, visit);
        let value = FieldValue::Share(&mut self.opacity, 0.0..=1.0);
        visit(OptionField::new("opacity", "Opacity", OPACITY, value).placeholder("A"));
    }

    fn visit_overlay(&mut self, scope: &ViewScope<'_>, visit: &mut Visit<'_>) {
        if !scope.is_explained {
            let meaning = "Colours of a picture: weights, those of a word or patch less the mean of all, norms of the patches in \
                           the residual stream, or their principal components as red, green and blue";
            let all = PatchColors::ALL.map(|patch_colors| (patch_colors, patch_colors.name(), patch_colors.label()));
            let words = ("patch_colors", "On the picture", meaning);
            choose_with(visit, words, &mut self.patch_colors, &all, |field| field.strict().heading("Overlay"));
            visit_color_map(&mut self.color_map, "Overlay", visit);
        }
        let was_smooth = self.smoothing == Smoothing::Smooth;
        let mut smooth = was_smooth;
        let meaning = "Smooth the colours of an overlay between patches";
        visit(OptionField::new("smooth", "Smooth", meaning, FieldValue::Flag(&mut smooth)).on_command_line());
        if smooth != was_smooth {
            self.smoothing = if smooth { Smoothing::Smooth } else { Smoothing::Auto };
        }
        let kinds = [
            (Smoothing::Auto, "auto", "Automatic"),
            (Smoothing::Nearest, "nearest", "One colour each"),
            (Smoothing::Smooth, "smooth", "Smooth"),
        ];
        let words = ("patches", "Patches", meaning);
        choose_with(visit, words, &mut self.smoothing, &kinds, |field| field.in_window().heading("Overlay"));
        let value = FieldValue::Share(&mut self.opacity, 0.0..=1.0);
        visit(OptionField::new("opacity", "Opacity", OPACITY, value).placeholder("A"));
        let meaning = "Outline the patches that hold this share of the attention";
        let value = FieldValue::ShareOrNone(&mut self.contour, 0.0..=1.0, USUAL_CONTOUR);
        visit(OptionField::new("contour", "Outline the strongest patches", meaning, value).placeholder("P"));
    }

    /// Names in metadata before they were those of settings.
    pub fn said(&self) -> Vec<(&'static str, Value)> {
        let flows = |FlowFilter { kind, least }| json!({ "show": kind.name(), "threshold": plain(&least) });
        vec![
            ("smooth", json!(self.smoothing == Smoothing::Smooth)),
            ("opacity", plain(&self.opacity)),
            ("contour", plain(&self.contour)),
            ("flows", json!(self.flow_filter().map(flows))),
        ]
    }
}

/// What the colours of patches stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum PatchColors {
    #[default]
    Weights,
    /// Those of one token less the mean of all.
    LessMean,
    /// Lengths of the patches in the residual stream.
    Norms,
    /// The first three principal components of the patches in the residual stream.
    Components,
}

vocabulary! {
    PatchColors: name,
    /// On screen.
    label,
    /// In a sentence without its full stop.
    meaning;
    Weights("weights", "Weights", "Colours show what one patch or word attends to"),
    LessMean("less-mean", "Less the mean", "What one patch or word attends to more, or less, than all of them on average"),
    Norms("norms", "Norms", "How long the vector of each patch is in the residual stream; outliers have a ring"),
    Components(
        "components",
        "Principal components",
        "Like colours for patches that are alike in the residual stream"
    ),
}

/// How patch weights become pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum Smoothing {
    /// Interpolated where there are so many patches that one is hardly seen, one colour per patch elsewhere.
    #[default]
    Auto,
    Nearest,
    /// Interpolated between patch centres.
    Smooth,
}

impl Smoothing {
    /// From this many patches along the shorter side [`Self::Auto`] interpolates.
    const MANY_PATCHES: usize = 24;

    /// Whether a `grid` of (rows, columns) patches is interpolated.
    pub const fn is_smooth(self, grid: (usize, usize)) -> bool {
        match self {
            Self::Auto => grid.0 >= Self::MANY_PATCHES && grid.1 >= Self::MANY_PATCHES,
            Self::Nearest => false,
            Self::Smooth => true,
        }
    }
}
