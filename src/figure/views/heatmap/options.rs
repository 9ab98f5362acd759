//! Options of the matrix of colours.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    analysis::reading::long::Pool,
    figure::views::ViewScope,
    options::{FieldValue, OptionField, Visit, choose_with, in_window},
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
    /// Whether a line is drawn around each cell that is large enough.
    pub cell_border: bool,
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
            cell_border: false,
            pool: Pool::default(),
            draw: DrawOptions::default(),
        }
    }
}

impl HeatmapOptions {
    /// Whether colours are logarithmic.
    pub const fn is_log(&self) -> bool {
        matches!(self.scale, ColorScale::Log)
    }

    /// The same of a map of the grid, whose cells carry nothing.
    #[must_use]
    pub const fn of_grid(self) -> Self {
        Self { values: false, cell_border: false, ..self }
    }

    /// Shows the options.
    pub fn visit(&mut self, scope: &ViewScope<'_>, visit: &mut Visit<'_>) {
        self.visit_colors(scope, "Heatmap", visit);
        let meaning = "Write values into the cells of a heatmap that have room for them";
        let value = FieldValue::Flag(&mut self.values);
        visit(OptionField::new("values", "Numbers where there is room", meaning, value));
        let meaning = "Draw a thin line around each cell of a heatmap, where cells are at least 6 points wide and high";
        let value = FieldValue::Flag(&mut self.cell_border);
        visit(OptionField::new("cell_border", "Cell border", meaning, value).strict());
    }

    /// Shows the options of colours, below a heading.
    pub fn visit_colors(&mut self, scope: &ViewScope<'_>, heading: &'static str, visit: &mut Visit<'_>) {
        // What is no attention has colours of its own.
        if !scope.is_explained {
            visit_color_map(&mut self.color_map, heading, visit);
        }
        let mut log = self.scale == ColorScale::Log;
        let meaning = "Logarithmic colours, which show small weights";
        visit(OptionField::new("log", "Logarithmic", meaning, FieldValue::Flag(&mut log)).on_command_line());
        self.scale = if log { ColorScale::Log } else { ColorScale::Linear };
        let scales = [(ColorScale::Linear, "linear", "Linear"), (ColorScale::Log, "log", "Logarithmic")];
        let words = ("scale", "Scale", meaning);
        choose_with(visit, words, &mut self.scale, &scales, |field| field.in_window().heading(heading));
        if scope.is_long {
            let meaning = "A text this long has more weights than the screen has pixels. A pixel shows the largest \
                           weight of its block (thin lines stay visible) or the mean of its unmasked weights (areas \
                           stay comparable)";
            let pools = [(Pool::Max, "max", "Largest weight"), (Pool::Mean, "mean", "Mean weight")];
            choose_with(visit, ("pool", "A pixel shows", meaning), &mut self.pool, &pools, in_window);
        }
    }

    /// Names in metadata before they were those of settings.
    pub fn said(&self) -> Vec<(&'static str, Value)> {
        vec![("log", json!(self.is_log())), ("values", json!(self.values))]
    }
}

/// Shows the choice of a colour map below the view's heading; several views have it.
pub fn visit_color_map(map: &mut ColorMap, heading: &'static str, visit: &mut Visit<'_>) {
    let maps = ColorMap::ALL.map(|map| (map, map.name(), map.label()));
    let words = ("colormap", "Colours", "Colours: heat, viridis, magma, cividis, greys");
    choose_with(visit, words, map, &maps, |field| field.placeholder("NAME").heading(heading));
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
