//! Options of the picture with attention on it.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{
    flows::{FlowFilter, FlowKind},
    weights::Role,
};
use crate::{
    figure::{spec::plain, views::heatmap::visit_color_map},
    options::{FieldValue, OptionField, Visit, fraction, one_of, put},
    raster::ColorMap,
};

/// Options of the view.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ImageOptions {
    pub color_map: ColorMap,
    /// Opacity of the overlay, `0..=1`.
    pub opacity: f32,
    /// How patch weights become pixels.
    pub smoothing: Smoothing,
    /// Outline of the patches that hold this fraction of the mass; `None` for no outline.
    pub contour: Option<f32>,
    /// Whether the picked patch asks (query) or answers (key).
    pub role: Role,
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
            color_map: ColorMap::Magma,
            opacity: 0.65,
            smoothing: Smoothing::Auto,
            contour: None,
            role: Role::Query,
            flows: None,
            strongest_from: FlowKind::Strongest.usual_least(),
            all_from: FlowKind::All.usual_least(),
        }
    }
}

impl ImageOptions {
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

    /// Shows the options of the command line.
    pub fn visit(&mut self, visit: &mut Visit<'_>) {
        visit_color_map(&mut self.color_map, visit);
        let was_smooth = self.smoothing == Smoothing::Smooth;
        let mut smooth = was_smooth;
        let meaning = "Smooth the colours of an overlay between patches";
        visit(OptionField::new("smooth", "Smooth", meaning, FieldValue::Flag(&mut smooth)));
        if smooth != was_smooth {
            self.smoothing = if smooth { Smoothing::Smooth } else { Smoothing::Auto };
        }
        let (text, opacity) = (self.opacity.to_string(), &mut self.opacity);
        let mut read = |text: &str| put(opacity, fraction(text));
        let meaning = "Opacity of an overlay, from 0 to 1";
        let field = OptionField::new("opacity", "Opacity", meaning, FieldValue::Text(&text, &mut read));
        visit(field.placeholder("A"));
        let contour = &mut self.contour;
        let mut read = |text: &str| put(contour, fraction(text).map(Some));
        let meaning = "Outline the patches that hold this share of the attention";
        visit(OptionField::new("contour", "Outline", meaning, FieldValue::Read(&mut read, "P")));
        let flows = &mut self.flows;
        let mut read = |text: &str| {
            let kind = FlowKind::from_name(text).ok_or_else(|| one_of(FlowKind::ALL.map(FlowKind::name)));
            put(flows, kind.map(Some))
        };
        let meaning = "Arrows from each patch instead of an overlay: strongest (to what it attends to most), all (every \
                       weight)";
        let field = OptionField::new("flows", "Arrows", meaning, FieldValue::Read(&mut read, "WHICH"));
        let field = OptionField { bare: Some(FlowKind::Strongest.name()), ..field };
        visit(field.conflicts(&["contour", "smooth"]).strict());
        let least = (&mut self.strongest_from, &mut self.all_from);
        let mut read = |text: &str| {
            put(least.0, fraction(text))?;
            put(least.1, fraction(text))
        };
        let meaning = "Flows: smallest weight";
        visit(OptionField::new("threshold", "Smallest weight", meaning, FieldValue::Read(&mut read, "W")));
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
