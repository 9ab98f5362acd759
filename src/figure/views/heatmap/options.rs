//! Options of the matrix of colours.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    analysis::reading::long::Pool,
    options::{FieldValue, OptionField, Visit, one_of, put},
    raster::ColorMap,
};

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
    /// Shows the options of the command line.
    pub fn visit(&mut self, visit: &mut Visit<'_>) {
        visit_color_map(&mut self.color_map, visit);
        let mut log = self.scale == ColorScale::Log;
        let meaning = "Logarithmic colours, which show small weights";
        visit(OptionField::new("log", "Logarithmic", meaning, FieldValue::Flag(&mut log)));
        self.scale = if log { ColorScale::Log } else { ColorScale::Linear };
        let meaning = "Write values into the cells of a heatmap that have room for them";
        visit(OptionField::new("values", "Values", meaning, FieldValue::Flag(&mut self.values)));
    }

    /// Names in metadata before they were those of settings.
    pub fn said(&self) -> Vec<(&'static str, Value)> {
        vec![("log", json!(self.scale == ColorScale::Log)), ("values", json!(self.values))]
    }
}

/// Shows the choice of a colour map, which other views have too.
pub fn visit_color_map(map: &mut ColorMap, visit: &mut Visit<'_>) {
    let name = map.name();
    let mut read = |text: &str| {
        let found = ColorMap::ALL.into_iter().find(|map| map.name() == text);
        put(map, found.ok_or_else(|| one_of(ColorMap::ALL.map(ColorMap::name))))
    };
    let meaning = "Colours: viridis, magma, cividis, greys";
    let field = OptionField::new("colormap", "Colours", meaning, FieldValue::Text(name, &mut read));
    visit(field.placeholder("NAME"));
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
