//! Parts of a view, each with a title, a note and a picture: side by side where there is room, else below each other.

use emath::{Pos2, Rect, Vec2, pos2, vec2};

use super::axes::Axis;
use crate::figure::{
    chart::{Chart, MarkOf, Scale, Series, SeriesShape},
    font::Align,
    list::Line,
    measure::{
        GRID,
        text_size::{BODY, SMALL},
    },
    page::{Captions, Scene},
    path::Path,
    pen::Pen,
};

/// Least size of a part, with its title and its note.
const PART_PT: Vec2 = vec2(82.0 * GRID, 70.0 * GRID);
/// A part grows with its room, to at most so many times its least size.
const MOST_TIMES: f32 = 2.0;
/// Free below a part's data, for the numbers of an axis.
pub const FOOT_PT: f32 = 8.0 * GRID;
/// Between two parts.
const GAP_PT: f32 = 6.0 * GRID;
/// Height of the title and the note of a part.
const TITLE_PT: f32 = 11.0 * GRID;
/// Free left and right of a part's data, for the numbers of axes.
const LEFT_PT: f32 = 10.0 * GRID;
const RIGHT_PT: f32 = 4.0 * GRID;
/// Height of the name of a series.
const NAME_PT: f32 = 4.0 * GRID;
/// Places of a piece of a line that are held against where names may stand.
const SAMPLES: usize = 8;
/// Parts side by side at most.
const MOST_COLS: usize = 3;

/// Columns of a figure that is as wide as suits it.
const N_COLS: usize = 2;

/// A scene that is made of parts.
pub trait OfParts {
    type Part: Copy;

    /// The parts that there are, in the order in which they are drawn.
    fn parts(&self) -> Vec<Self::Part>;

    /// Draws one part.
    fn draw_part(&self, part: Self::Part, rect: Rect, pen: &mut Pen<'_>);

    /// What stands below a figure of it.
    fn said(&self) -> Captions;

    /// The parts with their places in an area.
    fn placed(&self, area: Rect) -> Vec<(Self::Part, Rect)> {
        let there = self.parts();
        let places = places(area, there.len());
        there.into_iter().zip(places).collect()
    }
}

impl<T: OfParts> Scene for T {
    fn width(&self, _: &mut Pen<'_>) -> f32 {
        width(N_COLS.min(self.parts().len()))
    }

    fn least_width(&self, _: &mut Pen<'_>) -> f32 {
        width(1)
    }

    fn height(&self, width: f32, _: &mut Pen<'_>) -> f32 {
        height(width, self.parts().len())
    }

    fn least_height(&self, width: f32, _: &mut Pen<'_>) -> f32 {
        least_height(width, self.parts().len())
    }

    fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
        for (part, rect) in self.placed(area) {
            if pen.sees(rect) {
                self.draw_part(part, rect, pen);
            }
        }
    }

    fn captions(&self) -> Captions {
        self.said()
    }
}

/// How many of `n` parts stand side by side in a room, and the size of each.
fn arranged(room: Vec2, n: usize) -> (usize, Vec2) {
    let fitting = (((room.x + GAP_PT) / (PART_PT.x + GAP_PT)) as usize).clamp(1, MOST_COLS);
    // No more columns than fill the rows evenly.
    let n_rows = n.div_ceil(fitting).max(1);
    let n_cols = n.div_ceil(n_rows).max(1);
    let part = (room + Vec2::splat(GAP_PT)) / vec2(n_cols as f32, n_rows as f32) - Vec2::splat(GAP_PT);
    let x = part.x.clamp(PART_PT.x, MOST_TIMES * PART_PT.x);
    // Never higher than a part of this width should be.
    (n_cols, vec2(x, part.y.clamp(PART_PT.y, PART_PT.y * x / PART_PT.x)))
}

/// The places of `n` parts in an area, from its left upper corner on.
pub fn places(area: Rect, n: usize) -> impl Iterator<Item = Rect> {
    let (n_cols, part) = arranged(area.size(), n);
    (0..n).map(move |nth| {
        let at = vec2((nth % n_cols) as f32, (nth / n_cols) as f32) * (part + Vec2::splat(GAP_PT));
        Rect::from_min_size(area.min + at, part)
    })
}

/// How much larger than its least size a part is.
pub fn growth(rect: Rect) -> f32 {
    (rect.width() / PART_PT.x).min(rect.height() / PART_PT.y).max(1.0)
}

/// The width of so many parts side by side, of the least size.
pub fn width(n_cols: usize) -> f32 {
    n_cols as f32 * (PART_PT.x + GAP_PT) - GAP_PT
}

/// The height of `n` parts as wide as a width has them.
fn height(width: f32, n: usize) -> f32 {
    height_in(vec2(width, f32::INFINITY), n)
}

/// The least height of `n` parts in a width.
pub fn least_height(width: f32, n: usize) -> f32 {
    height_in(vec2(width, 0.0), n)
}

fn height_in(room: Vec2, n: usize) -> f32 {
    let (n_cols, part) = arranged(room, n);
    n.div_ceil(n_cols) as f32 * (part.y + GAP_PT) - GAP_PT
}

/// Where the data of a part are.
pub fn data(rect: Rect) -> Rect {
    Rect::from_min_max(rect.min + vec2(LEFT_PT, TITLE_PT), rect.max - vec2(RIGHT_PT, FOOT_PT))
}

/// The title of a part, and what it comes to.
pub fn titled(title: &str, note: &str, rect: Rect, pen: &mut Pen<'_>) {
    let title = pen.type_.fit(title, BODY, rect.width()).into_owned();
    pen.text(&title, BODY, pen.palette.text, rect.left_top() + vec2(0.0, 2.0 * GRID), Align::Left);
    let note = pen.type_.fit(note, SMALL, rect.width()).into_owned();
    pen.text(&note, SMALL, pen.palette.text_weak, rect.left_top() + vec2(0.0, 6.5 * GRID), Align::Left);
}

/// A chart with its title and note.
pub fn chart(chart: &Chart, rect: Rect, pen: &mut Pen<'_>) {
    plot(chart, rect, pen);
    let data = data(rect);
    along(&chart.axes(data).x, chart.x.scale, data, pen);
}

/// A chart without the numbers of its level axis.
pub fn plot(chart: &Chart, rect: Rect, pen: &mut Pen<'_>) {
    titled(&chart.title, &chart.note, rect, pen);
    let data = data(rect);
    let axes = chart.axes(data);
    ticks(&axes.y, chart.y.scale, data, pen);
    let names = names(chart, data, pen);
    for mark in &chart.marks {
        let (axis, ends) = match mark.of {
            MarkOf::X => (&chart.x, [[mark.value, chart.y.from], [mark.value, chart.y.to]]),
            MarkOf::Y => (&chart.y, [[chart.x.from, mark.value], [chart.x.to, mark.value]]),
        };
        if (axis.from..=axis.to).contains(&mark.value) {
            let [mut from, mut to] = ends.map(|[x, y]| axes.at(x, y));
            // An upright mark ends where the names are.
            if mark.of == MarkOf::X && names.area.x_range().contains(from.x) {
                if names.area.top() < data.center().y {
                    to.y = names.area.bottom();
                } else {
                    from.y = names.area.top();
                }
            }
            pen.line(from, to, mark.width, mark.color);
            let (aside, align) = if from.x > data.center().x { (-GRID, Align::Right) } else { (GRID, Align::Left) };
            pen.text(&mark.name, SMALL, pen.palette.text_weak, from + vec2(aside, -2.0 * GRID), align);
        }
    }
    for series in &chart.series {
        let line = |[from, to]: [[f64; 2]; 2]| {
            let [from, to] = [from, to].map(|[x, y]| axes.at(x, y));
            Line { from, to, width: series.width, color: series.color }
        };
        match series.shape {
            SeriesShape::Line => pen.lines(series.segments().map(line).collect()),
            SeriesShape::Points => {
                for [x, y] in series.points() {
                    pen.fill(Path::circle(axes.at(x, y), series.width), series.color);
                }
            }
            SeriesShape::Arrows => pen.lines(series.arrows(&axes)),
        }
    }
    let edge = match names.align {
        Align::Right => names.area.right_top() - vec2(GRID, 0.0),
        Align::Left | Align::Center => names.area.left_top() + vec2(GRID, 0.0),
    };
    for (nth, series) in named(chart).enumerate() {
        pen.text(&series.name, SMALL, series.color, edge + vec2(0.0, (nth as f32 + 0.5) * NAME_PT), names.align);
    }
}

/// The series of a chart that have names, the first at the top.
fn named(chart: &Chart) -> impl Iterator<Item = &Series> {
    chart.series.iter().rev().filter(|series| !series.name.is_empty())
}

/// Where the names of the series stand.
struct NamePlace {
    area: Rect,
    align: Align,
}

/// The corner of the data with the fewest points, the upper ones before the lower ones, where names of marks may stand.
fn names(chart: &Chart, data: Rect, pen: &mut Pen<'_>) -> NamePlace {
    let width = pen.widest(named(chart).map(|series| series.name.as_str()), SMALL) + 2.0 * GRID;
    let size = vec2(width, named(chart).count() as f32 * NAME_PT);
    let (corner, axes) = (data.shrink(GRID), chart.axes(data));
    let at = |x: f32, y: f32, align: Align| NamePlace { area: Rect::from_min_size(pos2(x, y), size), align };
    let rows = if chart.marks.iter().all(|mark| mark.name.is_empty()) { 2 } else { 1 };
    let rows = [corner.top(), corner.bottom() - size.y].into_iter().take(rows);
    let corners = rows.flat_map(|y| [at(corner.left(), y, Align::Left), at(corner.right() - width, y, Align::Right)]);
    let points: Vec<Pos2> = chart
        .series
        .iter()
        .flat_map(Series::segments)
        .flat_map(|[from, to]| {
            let [from, to] = [from, to].map(|[x, y]| axes.at(x, y));
            (0..=SAMPLES).map(move |nth| from.lerp(to, nth as f32 / SAMPLES as f32))
        })
        .collect();
    let first = at(corner.left(), corner.top(), Align::Left);
    corners.min_by_key(|names| points.iter().filter(|at| names.area.contains(**at)).count()).unwrap_or(first)
}

/// Numbers of the upright axis, and the frame.
pub fn ticks(axis: &Axis, scale: Scale, data: Rect, pen: &mut Pen<'_>) {
    pen.frame(data, pen.hairline(), pen.palette.rule);
    let ticks = scale.ticks((axis.from, axis.to), 5);
    let step = ticks.windows(2).map(|pair| pair[1] - pair[0]).next().unwrap_or(1.0);
    for value in ticks {
        let at = pos2(data.left() - 1.5 * GRID, axis.at(value));
        pen.text(&scale.text(value, step), SMALL, pen.palette.text_weak, at, Align::Right);
    }
}

/// Numbers of the level axis.
pub fn along(axis: &Axis, scale: Scale, data: Rect, pen: &mut Pen<'_>) {
    let ticks = scale.ticks((axis.from, axis.to), 6);
    let step = ticks.windows(2).map(|pair| pair[1] - pair[0]).next().unwrap_or(1.0);
    for value in ticks {
        let at = pos2(axis.at(value), data.bottom() + 2.5 * GRID);
        pen.text(&scale.text(value, step), SMALL, pen.palette.text_weak, at, Align::Center);
    }
}
