//! Numbers on a grid: tokens by tokens, tokens by layers, layers by heads.

use std::f32::consts::FRAC_PI_2;

use emath::{Pos2, Rect, pos2, vec2};

use super::{Hit, Piece, ROW_PT, room};
use crate::{
    capture::{Matrix, RgbaBuffer, words},
    figure::{
        font::Align,
        list::Sampling,
        measure::{BAR_AND_TICKS_PT, GRID, text_size::SMALL},
        palette::Palette,
        pen::Pen,
        views::{
            cells::{self, RuledOut, ruled_out},
            heatmap::ruled_out::draw_cells,
            labels::{self, Label, Labels, ON_SCREEN},
        },
    },
    ids::{HeadId, Side, StackKind},
    raster::{ColorMap, Colors},
    spec::Mask,
    text::{norm_text, tick_text},
};

/// Room for the names of rows and of columns.
const MOST_ROW_NAME_PT: f32 = 120.0;
const MOST_COL_NAME_PT: f32 = 84.0;
/// Widest cells: of tokens by tokens, of few columns, and of those with words.
const SQUARE_PT: f32 = 22.0;
const WIDE_PT: f32 = 40.0;
const WORD_PT: f32 = 92.0;
/// Lowest colour bar.
const BAR_HEIGHT_PT: f32 = 64.0;

/// What rows or columns are.
#[derive(Clone, Debug)]
pub struct MapAxis {
    pub names: Vec<String>,
    /// Whose tokens, with their positions, where they are tokens.
    pub tokens: Option<(Side, Vec<usize>)>,
}

impl MapAxis {
    /// What one is called in a sentence: tokens are told apart.
    fn named(&self, nth: usize) -> String {
        match &self.tokens {
            Some((_, positions)) => words::named(&self.names, nth, positions[nth]),
            None => self.names[nth].clone(),
        }
    }

    /// What stands beside one in so many: tokens with their position where others have no name.
    fn label(&self, nth: usize, stride: usize, (size, room): (f32, f32), pen: &mut Pen<'_>) -> String {
        let position = self.tokens.as_ref().filter(|_| stride > 1).map(|(_, positions)| format!(" {}", positions[nth]));
        let position = position.unwrap_or_default();
        let room = room - pen.type_.width(&position, size);
        pen.type_.fit(&self.names[nth], size, room).into_owned() + &position
    }
}

/// Numbers on a grid.
#[derive(Clone, Debug)]
pub struct Map {
    pub rows: MapAxis,
    pub cols: MapAxis,
    pub values: Matrix,
    /// Words in the cells, row by row.
    pub words: Option<Vec<String>>,
    /// What the numbers are, with their unit.
    pub unit: String,
    /// The stack whose heads are across and layers down, where they are.
    pub heads: Option<StackKind>,
    /// A cell that is looked at, row and column.
    pub marked: Option<(usize, usize)>,
    /// Where rows are queries and columns keys: what the model rules out, of how many of each.
    pub mask: Option<(Mask, [usize; 2])>,
    /// Colours of numbers without a sign.
    pub unsigned: ColorMap,
    pub place: Place,
}

/// What a map has of its own in a row of maps.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// The largest size and whether there are numbers below 0, of all maps, where they share a scale.
    pub range: Option<(f32, bool)>,
    /// Whether rows are named at its left.
    pub names: bool,
    /// Whether the scale stands at its right.
    pub bar: bool,
}

impl Place {
    pub const ALONE: Self = Self { range: None, names: true, bar: true };
}

struct MapLayout {
    cells: Rect,
    bar: Rect,
}

impl Map {
    const fn shape(&self) -> (usize, usize) {
        let [rows, cols] = self.values.shape();
        (rows, cols)
    }

    fn is_square(&self) -> bool {
        self.rows.tokens.is_some() && self.cols.tokens.is_some()
    }

    fn row_name_width(&self) -> f32 {
        if !self.place.names {
            return 0.0;
        }
        room(self.rows.names.iter().map(String::as_str), MOST_ROW_NAME_PT).max(24.0) + 2.0 * GRID
    }

    fn widest_cell(&self) -> f32 {
        if self.words.is_some() {
            WORD_PT
        } else if self.is_square() {
            SQUARE_PT
        } else {
            WIDE_PT
        }
    }

    fn bar_width(&self) -> f32 {
        if self.place.bar { BAR_AND_TICKS_PT + 3.0 * GRID } else { 0.0 }
    }

    /// What stands beside its cells.
    pub(super) fn sides(&self) -> f32 {
        self.row_name_width() + self.bar_width()
    }

    /// Where its cells begin.
    pub(super) fn cells_left(&self) -> f32 {
        self.row_name_width()
    }

    /// The most that its cells take.
    pub(super) fn widest(&self) -> f32 {
        self.n_cols() as f32 * self.widest_cell()
    }

    pub(super) const fn n_cols(&self) -> usize {
        self.shape().1
    }

    fn cell_width(&self, width: f32) -> f32 {
        let free = width - self.sides();
        (free / self.shape().1.max(1) as f32).clamp(0.5, self.widest_cell())
    }

    fn cell_height(&self, width: f32) -> f32 {
        if self.is_square() { self.cell_width(width) } else { ROW_PT }
    }

    /// Room for the names of columns; whether they stand upright.
    fn col_names(&self, width: f32) -> (f32, bool) {
        let longest = room(self.cols.names.iter().map(String::as_str), MOST_COL_NAME_PT);
        let turned = longest + 2.0 > self.cell_width(width);
        (if turned { longest + 2.0 * GRID } else { 4.0 * GRID }, turned)
    }

    fn layout(&self, area: Rect) -> MapLayout {
        let (n_rows, n_cols) = self.shape();
        let cell = vec2(self.cell_width(area.width()), self.cell_height(area.width()));
        let top = area.top() + self.col_names(area.width()).0;
        let corner = pos2(area.left() + self.row_name_width(), top);
        let cells = Rect::from_min_size(corner, vec2(n_cols as f32 * cell.x, n_rows as f32 * cell.y));
        let height = cells.height().clamp(BAR_HEIGHT_PT, 160.0);
        let bar = Rect::from_min_size(cells.right_top() + vec2(3.0 * GRID, 0.0), vec2(BAR_AND_TICKS_PT, height));
        MapLayout { cells, bar }
    }

    /// The largest size, and whether there are numbers below 0.
    pub(super) fn range(&self) -> (f32, bool) {
        if let Some(range) = self.place.range {
            return range;
        }
        let finite = || self.values.as_slice().iter().filter(|value| value.is_finite());
        let most = finite().fold(0.0f32, |most, value| most.max(value.abs()));
        (most.max(f32::MIN_POSITIVE), finite().any(|value| *value < 0.0))
    }

    fn colors(&self, signed: bool, palette: &Palette) -> Colors {
        if signed { ColorMap::Signed } else { self.unsigned }.on(palette.ground)
    }

    /// Whether the model rules a cell out.
    fn ruled_out(&self, (row, col): (usize, usize)) -> Option<RuledOut> {
        let (mask, shape) = self.mask?;
        let position = |axis: &MapAxis, nth: usize| axis.tokens.as_ref()?.1.get(nth).copied();
        let pair = (position(&self.rows, row)?, position(&self.cols, col)?);
        ruled_out(mask, pair, shape, self.values.get(row, col)?)
    }

    fn draw_names(&self, layout: &MapLayout, area: Rect, pen: &mut Pen<'_>) {
        let (n_rows, n_cols) = self.shape();
        let cells = layout.cells;
        let cell = vec2(cells.width() / n_cols.max(1) as f32, cells.height() / n_rows.max(1) as f32);
        let weak = pen.palette.text_weak;
        let [strong_rows, strong_cols] = labels::strong(&self.values);
        let Labels { size, stride, labels } = Labels::of(0..n_rows, cell.y, &strong_rows, ON_SCREEN);
        let room = self.row_name_width() - 2.0 * GRID;
        for Label { cell: row, at, .. } in labels.into_iter().filter(|_| self.place.names) {
            let y = cells.top() + at;
            if pen.sees(Rect::from_center_size(pos2(area.left(), y), vec2(1.0, ROW_PT))) {
                let name = self.rows.label(row, stride, (size, room), pen);
                pen.text(&name, size, weak, pos2(cells.left() - 1.5 * GRID, y), Align::Right);
            }
        }
        if !self.col_names(area.width()).1 {
            for (col, name) in self.cols.names.iter().enumerate() {
                let x = cells.left() + (col as f32 + 0.5) * cell.x;
                pen.text(name, SMALL, weak, pos2(x, cells.top() - 2.0 * GRID), Align::Center);
            }
            return;
        }
        let Labels { size, stride, labels } = Labels::of(0..n_cols, cell.x, &strong_cols, ON_SCREEN);
        for Label { cell: col, at, .. } in labels {
            let name = self.cols.label(col, stride, (size, MOST_COL_NAME_PT), pen);
            let at = pos2(cells.left() + at, cells.top() - GRID);
            pen.turned(&name, size, weak, at, Align::Left, -FRAC_PI_2);
        }
    }
}

impl Piece for Map {
    fn width(&self) -> f32 {
        (self.sides() + self.widest()).min(720.0)
    }

    fn least_width(&self) -> f32 {
        let least = if self.words.is_some() { 34.0 } else { 2.0 };
        (self.sides() + self.n_cols() as f32 * least).min(720.0)
    }

    fn height(&self, width: f32) -> f32 {
        let cells = self.shape().0 as f32 * self.cell_height(width);
        self.col_names(width).0 + cells.max(BAR_HEIGHT_PT) + GRID
    }

    fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
        let (n_rows, n_cols) = self.shape();
        if n_rows == 0 || n_cols == 0 {
            return;
        }
        let (layout, range) = (self.layout(area), self.range());
        let (most, signed) = range;
        let (colors, none) = (self.colors(signed, &pen.palette), pen.palette.raised);
        let low = if signed { -most } else { 0.0 };
        let of = |value: &f32| if value.is_finite() { colors.color((value - low) / (most - low)) } else { none };
        let at = |(nth, value): (usize, &f32)| match self.ruled_out((nth / n_cols, nth % n_cols)) {
            Some(_) => [0; 4],
            None => of(value),
        };
        let pixels = self.values.as_slice().iter().enumerate().flat_map(at).collect();
        pen.picture(layout.cells, &RgbaBuffer { width: n_cols, height: n_rows, pixels }, Sampling::Crisp);
        if self.mask.is_some() {
            draw_cells(layout.cells, (n_rows, n_cols), |cell| self.ruled_out(cell), pen);
        }
        pen.frame(layout.cells, 0.75, pen.palette.rule);
        if let Some(words) = &self.words {
            for (nth, (word, value)) in words.iter().zip(self.values.as_slice()).enumerate() {
                let cell = cells::cell_rect(layout.cells, (n_rows, n_cols), nth / n_cols, nth % n_cols);
                if pen.sees(cell) {
                    let word = pen.type_.fit(word, SMALL, cell.width() - 4.0).into_owned();
                    let ink = pen.palette.legible(pen.palette.text, of(value));
                    pen.text(&word, SMALL, ink, cell.center(), Align::Center);
                }
            }
        }
        if let Some((row, col)) = self.marked.filter(|(row, col)| *row < n_rows && *col < n_cols) {
            let cell = cells::cell_rect(layout.cells, (n_rows, n_cols), row, col);
            // Seen on light cells and on dark ones.
            pen.frame(cell.shrink(1.5), 1.5, pen.palette.text);
            pen.frame(cell.shrink(3.0), 1.5, pen.palette.canvas);
        }
        self.draw_names(&layout, area, pen);
        if !self.place.bar {
            return;
        }
        let value = |fraction: f32| low + fraction * (most - low);
        pen.color_bar(layout.bar, |fraction| colors.color(fraction), |fraction| tick_text(value(fraction)));
    }

    fn at(&self, area: Rect, at: Pos2) -> Option<Hit> {
        let cells = self.layout(area).cells;
        let (row, col) = cells::cell_at(cells, self.shape(), at)?;
        let value = self.values.get(row, col)?;
        let name = |axis: &MapAxis, nth: usize| match &axis.tokens {
            Some((_, positions)) => format!("{}  #{}", axis.names[nth], positions[nth]),
            None => axis.names[nth].clone(),
        };
        let number = match self.ruled_out((row, col)) {
            Some(RuledOut::Later) => "masked".to_owned(),
            Some(RuledOut::OutOfWindow) => "outside the window".to_owned(),
            None if value.is_nan() => "no such head".to_owned(),
            None => norm_text(value),
        };
        let mut text = format!("{} · {}\n{}: {number}", name(&self.rows, row), name(&self.cols, col), self.unit);
        if let Some(word) = self.words.as_ref().and_then(|words| words.get(row * self.shape().1 + col)) {
            text = format!("{text}\nmost probable: “{word}”");
        }
        let token = self.rows.tokens.as_ref().map(|(side, positions)| (*side, positions[row]));
        let rect = cells::cell_rect(cells, self.shape(), row, col);
        let head = self.heads.map(|stack| HeadId { stack, layer: row, head: col });
        Some(Hit { rect, text, token, head })
    }

    fn rows_of(&self, area: Rect, (side, position): (Side, usize)) -> Vec<Rect> {
        let own = self.rows.tokens.as_ref().filter(|(own, _)| side == *own);
        let row = own.and_then(|(_, positions)| positions.iter().position(|known| *known == position));
        let grid = self.layout(area).cells;
        let rect = |row| {
            let cell = cells::cell_rect(grid, (self.shape().0, 1), row, 0);
            Rect::from_min_max(pos2(area.left(), cell.top()), cell.max)
        };
        row.map(rect).into_iter().collect()
    }

    fn spoken(&self) -> Vec<String> {
        let values = self.values.as_slice();
        let best = (0..values.len()).filter(|nth| values[*nth].is_finite());
        let best = best.max_by(|a, b| values[*a].abs().total_cmp(&values[*b].abs()));
        let n_cols = self.shape().1.max(1);
        let of = |nth: usize| {
            let (row, col) = (self.rows.named(nth / n_cols), self.cols.named(nth % n_cols));
            format!("{}: most at {row}, {col}: {}", self.unit, norm_text(values[nth]))
        };
        best.map(of).into_iter().collect()
    }
}
