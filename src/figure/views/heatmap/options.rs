//! Options of the matrix of colours.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{analysis::reading::long::Pool, raster::ColorMap};

/// Options of the view.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HeatmapOptions {
    pub color_map: ColorMap,
    /// Linear or logarithmic.
    pub scale: ColorScale,
    /// Whether cells that have room for it show their weight as a number.
    pub values: bool,
    /// What a pixel of a long text's picture stands for.
    pub pool: Pool,
    /// How weights are drawn by hand.
    #[serde(skip)]
    pub draw: DrawOptions,
}

/// Weights of a head that are drawn by hand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DrawOptions {
    pub on: bool,
    /// The weight that is drawn.
    pub weight: f32,
    /// Whether the rest of a row makes room, so that it sums to 1.
    pub whole: bool,
}

impl Default for DrawOptions {
    fn default() -> Self {
        Self { on: false, weight: 1.0, whole: true }
    }
}

impl Default for HeatmapOptions {
    fn default() -> Self {
        Self {
            color_map: ColorMap::default(),
            scale: ColorScale::default(),
            values: true,
            pool: Pool::default(),
            draw: DrawOptions::default(),
        }
    }
}

impl HeatmapOptions {
    /// Names in metadata before they were those of settings.
    pub fn said(&self) -> Vec<(&'static str, Value)> {
        vec![("log", json!(self.scale == ColorScale::Log)), ("values", json!(self.values))]
    }
}

/// How weights map to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum ColorScale {
    /// Proportional.
    #[default]
    Linear,
    /// Logarithmic, which shows small weights.
    Log,
}
