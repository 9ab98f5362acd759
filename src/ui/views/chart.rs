//! A chart of a figure as a plot of the window: zoomed with Ctrl and the wheel or a drag of the secondary button, moved
//! by dragging, whole again after a double click. The plain wheel stays with the page.

use eframe::egui::{
    Align2, Button, Color32, FontId, Id, Pos2, Rangef, Rect, Response, Role, Sense, Stroke, TextStyle, Ui, UiBuilder,
    WidgetInfo, pos2, vec2,
};
use egui_plot::{
    Arrows, AxisHints, Corner, GridInput, GridMark, HLine, ItemId, Legend, Line, Plot, PlotBounds, PlotMemory,
    PlotPoint, PlotPoints, PlotTransform, PlotUi, Points, VLine,
};

use super::display_list::color32;
use crate::{
    figure::{
        chart::{Chart, ChartAxis, MarkOf, Series, SeriesShape, TIP_PT},
        views::axes::{Axes, Axis},
    },
    ui::{
        theme::{GRID, Theme, radius, text_size},
        widgets::text_button_width,
    },
};

/// Height of the title, and of the note below it.
const LINE_PT: f32 = 4.0 * GRID;
/// Numbers of an axis are about this far apart.
const TICK_PT: [f32; 2] = [56.0, 36.0];
/// How near the pointer must be to a point.
const REACH_PT: f32 = 8.0;
/// What the pointer does to a chart, said beside its title; the short form where there is less room.
const GESTURES: [&str; 2] = ["Ctrl+wheel zooms, double-click fits", "Ctrl+wheel zooms"];
/// Bounds that differ by less of their span are the same.
const SAME_BOUNDS: f64 = 1e-6;
/// Around a point that is spoken of.
const MARK_RADIUS_PT: f32 = 3.5;

/// How a chart is shown.
pub struct ChartUi<'a> {
    pub chart: &'a Chart,
    /// Tells charts of one view apart.
    pub salt: usize,
    /// What it is of: the chart of something else is seen whole.
    pub subject: Id,
    pub legend: Corner,
    /// Whether dragging moves it, or is left to the view.
    pub moves: bool,
}

/// A chart that was shown, and what is under the pointer.
pub struct Plotted<'a> {
    pub response: Response,
    chart: &'a Chart,
    transform: PlotTransform,
    hidden: Vec<bool>,
}

impl<'a> ChartUi<'a> {
    /// Shows it in an area of `ui`, with its title above.
    pub fn show(&self, ui: &mut Ui, theme: &Theme, area: Rect) -> Plotted<'a> {
        let (top, gestures) = titles(ui, theme, self.chart, area);
        let id = ui.scope_id().with(("chart", self.salt));
        let mut ui = ui.new_child(UiBuilder::new().id_salt(("chart", self.salt)).max_rect(area.with_min_y(top)));
        let visuals = ui.visuals_mut();
        visuals.extreme_bg_color = theme.canvas;
        visuals.widgets.noninteractive.bg_stroke = Stroke::new(1.0, theme.rule);
        let is_new = ui.data_mut(|data| data.get_temp_mut_or_default::<Option<Id>>(id).replace(self.subject))
            != Some(self.subject);
        let shown = self.plot(theme, area).id(id).show(&mut ui, |plot| {
            if is_new {
                plot.set_auto_bounds(true);
            }
            self.chart.series.iter().enumerate().for_each(|(nth, series)| add_series(plot, nth, series));
            add_marks(plot, self.chart);
        });
        let title = &self.chart.title;
        shown.response.widget_info(|| WidgetInfo::labeled(Role::Image, true, title));
        name_marks(&ui, theme, self.chart, &shown.transform);
        let memory = PlotMemory::load(ui.ctx(), id);
        let is_whole = memory.as_ref().is_none_or(|memory| is_whole(self.chart, memory.bounds()));
        if !is_whole && fit_ui(&mut ui, gestures).clicked() {
            // As a chart that is new: it is seen whole in the next frame.
            ui.data_mut(|data| data.insert_temp::<Option<Id>>(id, None));
            ui.ctx().request_repaint();
        } else if is_whole {
            say_gestures(&ui, theme, gestures);
        }
        let is_hidden = |nth| memory.as_ref().is_some_and(|memory| memory.hidden_items.contains(&ItemId::new(nth)));
        let hidden = (0..self.chart.series.len()).map(is_hidden).collect();
        Plotted { response: shown.response, chart: self.chart, transform: shown.transform, hidden }
    }

    fn plot(&self, theme: &Theme, area: Rect) -> Plot<'a> {
        let Chart { x, y, series, .. } = self.chart;
        let n = [area.width() / TICK_PT[0], area.height() / TICK_PT[1]].map(|n| (n as usize).max(2));
        let mut plot = Plot::new("chart")
            .default_x_bounds(x.from, x.to)
            .default_y_bounds(y.from, y.to)
            .custom_x_axes(vec![hints(AxisHints::new_x(), theme, x).label_spacing(24.0..=25.0)])
            .custom_y_axes(vec![hints(AxisHints::new_y(), theme, y).label_spacing(12.0..=13.0)])
            .x_grid_spacer(spacer(x, n[0]))
            .y_grid_spacer(spacer(y, n[1]))
            .grid_spacing(8.0..=9.0)
            .grid_color(theme.rule.gamma_multiply(0.5))
            .allow_scroll(false)
            .allow_drag(self.moves)
            .allow_axis_zoom_drag(false)
            // What it says of a place is the view's.
            .show_x(false)
            .show_y(false)
            .sense(Sense::CLICK | Sense::DRAG);
        if series.iter().filter(|series| !series.name.is_empty()).count() > 1 {
            let legend = Legend::default().text_style(TextStyle::Small).follow_insertion_order(true);
            plot = plot.legend(legend.position(self.legend));
        }
        plot
    }
}

impl Plotted<'_> {
    /// The values at the pointer, while it is over the chart.
    pub fn pointer(&self) -> Option<[f64; 2]> {
        let PlotPoint { x, y } = self.transform.value_from_position(self.response.hover_pos()?);
        Some([x, y])
    }

    /// The value along the first axis at a place.
    pub fn x_at(&self, at: Pos2) -> f64 {
        self.transform.value_from_position(at).x
    }

    /// Whether the legend hides a series.
    pub fn hides(&self, nth: usize) -> bool {
        self.hidden[nth]
    }

    /// The frame of its points, and its axes as they are seen now.
    pub fn frame(&self) -> (Rect, Axes) {
        let (frame, bounds) = (*self.transform.frame(), *self.transform.bounds());
        let ([left, low], [right, high]) = (bounds.min(), bounds.max());
        let x = Axis { from: left, to: right, points: frame.x_range() };
        let y = Axis { from: low, to: high, points: Rangef::new(frame.bottom(), frame.top()) };
        (frame, Axes { x, y })
    }

    fn place(&self, [x, y]: [f64; 2]) -> Pos2 {
        self.transform.position_from_point(&PlotPoint::new(x, y))
    }

    /// The series that are seen.
    fn seen(&self) -> impl Iterator<Item = (usize, &Series)> {
        self.chart.series.iter().enumerate().filter(|(nth, _)| !self.hidden[*nth])
    }

    /// The point of a series under the pointer: the series, which of its points, and its values.
    pub fn nearest(&self) -> Option<(usize, usize, [f64; 2])> {
        let at = self.response.hover_pos()?;
        let of = |(nth, series): (usize, &Series)| {
            series.points().enumerate().map(move |(point, values)| (nth, point, values)).collect::<Vec<_>>()
        };
        let distance = |values| self.place(values).distance_sq(at);
        let found = self.seen().flat_map(of).min_by(|a, b| distance(a.2).total_cmp(&distance(b.2)))?;
        (distance(found.2) <= REACH_PT * REACH_PT).then_some(found)
    }

    /// Of each series that is seen, the point nearest to the pointer along the first axis.
    pub fn beside_pointer(&self) -> Vec<(usize, [f64; 2])> {
        let Some([x, _]) = self.pointer() else { return Vec::new() };
        let of = |(nth, series): (usize, &Series)| {
            let near = series.points().min_by(|a, b| (a[0] - x).abs().total_cmp(&(b[0] - x).abs()))?;
            Some((nth, near))
        };
        self.seen().filter_map(of).collect()
    }

    /// How far a point is above or below the pointer, in points of the screen.
    pub fn drop(&self, values: [f64; 2]) -> f32 {
        self.response.hover_pos().map_or(f32::INFINITY, |at| (self.place(values).y - at.y).abs())
    }

    /// Rings points that are spoken of.
    pub fn ring(&self, ui: &Ui, theme: &Theme, points: impl IntoIterator<Item = [f64; 2]>) {
        let painter = ui.painter().with_clip_rect(self.transform.frame().intersect(ui.clip_rect()));
        for values in points {
            painter.circle_stroke(self.place(values), MARK_RADIUS_PT, Stroke::new(1.5, theme.text));
        }
    }
}

/// Title and note above a chart; where the plot begins, and what is free beside the first line.
fn titles(ui: &Ui, theme: &Theme, chart: &Chart, area: Rect) -> (f32, Rect) {
    let painter = ui.painter().with_clip_rect(area.intersect(ui.clip_rect()));
    let (mut top, mut free) = (area.top(), area.with_max_y(area.top() + LINE_PT));
    for (text, color) in [(&chart.title, theme.text), (&chart.note, theme.text_weak)] {
        if !text.is_empty() {
            let at = pos2(area.left(), top + LINE_PT / 2.0);
            let drawn = painter.text(at, Align2::LEFT_CENTER, text, FontId::proportional(text_size::SMALL), color);
            if top == area.top() {
                free.min.x = drawn.right() + 2.0 * GRID;
            }
            top += LINE_PT;
        }
    }
    (top.max(free.bottom()) + GRID / 2.0, free)
}

/// Whether the bounds are those that a chart begins with.
fn is_whole(chart: &Chart, bounds: &PlotBounds) -> bool {
    let (min, max) = (bounds.min(), bounds.max());
    [&chart.x, &chart.y].into_iter().enumerate().all(|(nth, axis)| {
        let least = SAME_BOUNDS * (axis.to - axis.from).abs();
        (min[nth] - axis.from).abs() <= least && (max[nth] - axis.to).abs() <= least
    })
}

/// Says what the pointer does, where there is room.
fn say_gestures(ui: &Ui, theme: &Theme, free: Rect) {
    let painter = ui.painter().with_clip_rect(free.intersect(ui.clip_rect()));
    let font = FontId::proportional(text_size::SMALL);
    let said = GESTURES.map(|text| painter.layout_no_wrap(text.to_owned(), font.clone(), theme.text_weak));
    if let Some(galley) = said.into_iter().find(|galley| galley.size().x <= free.width()) {
        let at = Align2::RIGHT_CENTER.align_size_within_rect(galley.size(), free).min;
        painter.galley(at, galley, theme.text_weak);
    }
}

/// Button that shows the whole chart again.
fn fit_ui(ui: &mut Ui, free: Rect) -> Response {
    let width = text_button_width(ui, "Fit");
    let place = Rect::from_min_max(pos2(free.right() - width, free.top()), free.max);
    let fit = ui.put(place, Button::new("Fit").small());
    fit.on_hover_text("Show all of the chart again, as a double-click on it does")
}

fn hints<'a>(hints: AxisHints<'a>, theme: &Theme, axis: &ChartAxis) -> AxisHints<'a> {
    let (scale, font) = (axis.scale, FontId::proportional(text_size::SMALL));
    let label = eframe::egui::RichText::new(&axis.title).size(text_size::SMALL).color(theme.text_weak);
    hints
        .label(label)
        .tick_label_font(font)
        .tick_label_color(theme.text_weak)
        .formatter(move |mark, _| scale.text(mark.value, mark.step_size))
}

/// Round numbers along an axis, as in figures.
fn spacer(axis: &ChartAxis, n: usize) -> impl Fn(GridInput) -> Vec<GridMark> + use<> {
    let scale = axis.scale;
    move |input| {
        let ticks = scale.ticks(input.bounds, n);
        let step_size = match ticks[..] {
            [first, second, ..] => second - first,
            _ => input.bounds.1 - input.bounds.0,
        };
        ticks.into_iter().map(|value| GridMark { value, step_size }).collect()
    }
}

fn add_series(plot: &mut PlotUi<'_>, nth: usize, series: &Series) {
    let color = color32(series.color);
    if series.shape == SeriesShape::Arrows {
        let ends = |end: fn(&Vec<[f64; 2]>) -> Option<&[f64; 2]>| {
            series.runs.iter().filter_map(end).copied().collect::<Vec<_>>()
        };
        let arrows = Arrows::new(&series.name, ends(|run| run.first()), ends(|run| run.last()));
        plot.arrows(arrows.id(nth).color(color).tip_length(TIP_PT).highlight(series.width > 1.0));
        return;
    }
    for run in &series.runs {
        let points: PlotPoints<'_> = run.clone().into();
        match series.shape {
            SeriesShape::Line => plot.line(Line::new(&series.name, points).id(nth).color(color).width(series.width)),
            SeriesShape::Points => {
                plot.points(Points::new(&series.name, points).id(nth).color(color).radius(series.width / 2.0));
            }
            SeriesShape::Arrows => {}
        }
    }
}

fn add_marks(plot: &mut PlotUi<'_>, chart: &Chart) {
    for (nth, mark) in chart.marks.iter().enumerate() {
        let (id, color) = (("mark", nth), color32(mark.color));
        match mark.of {
            MarkOf::X => plot.vline(VLine::new("", mark.value).id(id).color(color).width(mark.width)),
            MarkOf::Y => plot.hline(HLine::new("", mark.value).id(id).color(color).width(mark.width)),
        }
    }
}

/// Writes what marks are beside them, those along the first axis one below the other and away from each other, and the
/// values of points beyond the edge; on a ground of their own, so that no line runs through a letter.
fn name_marks(ui: &Ui, theme: &Theme, chart: &Chart, transform: &PlotTransform) {
    let frame = *transform.frame();
    let painter = ui.painter().with_clip_rect(frame.intersect(ui.clip_rect()));
    let write = |at: Pos2, align: Align2, text: &str, color: Color32| {
        let galley = painter.layout_no_wrap(text.to_owned(), FontId::proportional(text_size::SMALL), color);
        let place = align.anchor_size(at, galley.size());
        // Beside the edge of the plot it stays within.
        let inner = frame.shrink(1.0);
        let place = place.translate(vec2(
            (inner.left() - place.left()).max(0.0) + (inner.right() - place.right()).min(0.0),
            (inner.top() - place.top()).max(0.0) + (inner.bottom() - place.bottom()).min(0.0),
        ));
        painter.rect_filled(place.expand2(vec2(GRID / 2.0, 0.0)), radius::MARK, theme.canvas.gamma_multiply(0.9));
        painter.galley(place.min, galley, color);
    };
    let x_of = |value: f64| transform.position_from_point_x(value);
    let along: Vec<f64> = chart
        .marks
        .iter()
        .filter(|mark| mark.of == MarkOf::X && !mark.name.is_empty())
        .map(|mark| mark.value)
        .collect();
    let mut row = 0.0;
    for mark in chart.marks.iter().filter(|mark| !mark.name.is_empty()) {
        let color = color32(mark.color);
        match mark.of {
            MarkOf::X => {
                row += 1.0;
                let x = x_of(mark.value);
                let beyond = along.iter().any(|other| *other > mark.value);
                let is_left = if along.len() > 1 { beyond } else { x > frame.center().x };
                let (nudge, align) = if is_left { (-GRID, Align2::RIGHT_CENTER) } else { (GRID, Align2::LEFT_CENTER) };
                write(pos2(x + nudge, frame.top() + (row - 0.5) * LINE_PT), align, &mark.name, color);
            }
            MarkOf::Y => {
                let y = transform.position_from_point_y(mark.value);
                write(pos2(frame.right() - GRID, y), Align2::RIGHT_BOTTOM, &mark.name, color);
            }
        }
    }
    // While the axis ends where it began to, what is cut off is named.
    let top = transform.bounds().max()[1];
    for (x, name) in chart.beyond(top) {
        write(pos2(x_of(x) + GRID, frame.top() + LINE_PT / 2.0), Align2::LEFT_CENTER, &name, theme.text);
    }
}
