//! Heads as points between two numbers, told apart by kind or a number, and by size.

use super::{AtlasScene, PointColors};
use crate::{
    analysis::head_statistics::{Metric, StackTable},
    figure::{
        chart::{Chart, ChartAxis, Scale, Series, SeriesShape},
        list::Rgba,
        palette::Palette,
    },
    ids::HeadId,
    text::{counted, tick_text},
};

/// Side of the square of a head, where all have the same.
const POINT_PT: f32 = 5.0;
/// Sides of the squares with the lowest and the highest number.
const SIZES_PT: [f32; 2] = [3.0, 11.0];
/// Steps of sizes, and of colours that are numbers.
const N_SIZES: usize = 6;
const N_COLORS: usize = 24;

/// What colours the points of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PointColor {
    /// A kind of heads, and its place among those that there are; none of heads without a kind.
    Kind(Option<(Metric, usize)>),
    /// A family, by its place.
    Family(Option<usize>),
    /// A step of `N_COLORS` of a number; none where a head has none.
    Step(Option<usize>),
}

/// Heads that look alike, as a series of points.
#[derive(Clone, Debug, PartialEq)]
pub struct PointSeries {
    pub color: PointColor,
    /// A step of `N_SIZES`; none where all points have the same size.
    pub size: Option<usize>,
    pub heads: Vec<HeadId>,
    pub points: Vec<[f64; 2]>,
}

impl AtlasScene {
    /// The first kind of each head of the table.
    pub(super) fn first_kinds(&self, table: &StackTable) -> Vec<Option<Metric>> {
        let of = |head: &HeadId| table.kinds_of(*head, &self.options.thresholds).first().map(|(kind, _)| *kind);
        table.heads.iter().map(of).collect()
    }

    /// Heads that have both numbers, those that look alike together: those without a kind come first.
    pub fn series(&self) -> Vec<PointSeries> {
        let Some(table) = self.table() else { return Vec::new() };
        let firsts = self.first_kinds(table);
        let kinds: Vec<Metric> = Metric::kinds().filter(|kind| firsts.contains(&Some(*kind))).collect();
        let step = |metric: Metric, at: usize, n: usize| {
            let [low, high] = self.range_of(metric);
            let share = ((self.value(metric, at)? - low) / (high - low)).clamp(0.0, 1.0);
            Some(((share * (n - 1) as f64).round()) as usize)
        };
        let mut series: Vec<PointSeries> = Vec::new();
        for (at, head) in table.heads.iter().enumerate() {
            let (Some(x), Some(y)) = (self.value(self.options.across, at), self.value(self.options.up, at)) else {
                continue;
            };
            let color = match self.options.point_color {
                PointColors::By(metric) => PointColor::Step(step(metric, at, N_COLORS)),
                PointColors::Family => PointColor::Family(self.family(*head)),
                PointColors::Kind => PointColor::Kind(
                    firsts[at].and_then(|kind| Some((kind, kinds.iter().position(|known| *known == kind)?))),
                ),
            };
            // A head without the number has the least size.
            let size = self.options.point_size.map(|metric| step(metric, at, N_SIZES).unwrap_or(0));
            let point = [x, y];
            if let Some(alike) = series.iter_mut().find(|series| (series.color, series.size) == (color, size)) {
                alike.heads.push(*head);
                alike.points.push(point);
            } else {
                series.push(PointSeries { color, size, heads: vec![*head], points: vec![point] });
            }
        }
        let rank = |color: PointColor| match color {
            PointColor::Kind(kind) => kind.map_or(0, |(_, nth)| nth + 1),
            PointColor::Family(step) | PointColor::Step(step) => step.map_or(0, |step| step + 1),
        };
        // Small points lie over large ones.
        series.sort_by_key(|series| (std::cmp::Reverse(series.size), rank(series.color)));
        series
    }

    /// The colour of a series.
    pub(super) fn color_of(&self, color: PointColor, palette: &Palette) -> Rgba {
        match color {
            PointColor::Kind(Some((_, nth))) | PointColor::Family(Some(nth)) => palette.head(nth),
            PointColor::Step(Some(step)) => self.color(step as f32 / (N_COLORS - 1) as f32, palette),
            PointColor::Kind(None) | PointColor::Family(None) | PointColor::Step(None) => palette.text_weak,
        }
    }

    /// The heads as points, behind them where they come from where there are two sides.
    pub fn chart(&self, palette: &Palette) -> Chart {
        let series = self.series();
        let arrows = self.arrows();
        let along = |axis: usize| {
            let ends = arrows.iter().flat_map(|arrows| arrows.ends.iter().flatten());
            series.iter().flat_map(|series| &series.points).chain(ends).map(move |point| point[axis])
        };
        let (x, y) = (along(0).collect::<Vec<_>>(), along(1).collect::<Vec<_>>());
        let n: usize = series.iter().map(|series| series.points.len()).sum();
        // Those that differ stand out.
        let moves =
            arrows.iter().zip([(0.75, palette.text_weak), (1.5, palette.text)]).map(|(arrows, (width, color))| {
                let runs = arrows.ends.iter().map(|ends| ends.to_vec()).collect();
                Series { name: String::new(), shape: SeriesShape::Arrows, color, width, runs }
            });
        let moves: Vec<Series> = moves.filter(|_| self.contrast().is_some()).collect();
        let title = |metric: Metric| metric.title().to_owned();
        let points = series.iter().map(|series| Series {
            name: match series.color {
                PointColor::Kind(Some((kind, _))) => kind.kind_title().to_owned(),
                PointColor::Kind(None) => "no known kind".to_owned(),
                PointColor::Family(Some(nth)) => format!("family {}", nth + 1),
                PointColor::Family(None) | PointColor::Step(_) => String::new(),
            },
            shape: SeriesShape::Points,
            color: self.color_of(series.color, palette),
            width: series.size.map_or(POINT_PT, |step| {
                SIZES_PT[0] + (SIZES_PT[1] - SIZES_PT[0]) * step as f32 / (N_SIZES - 1) as f32
            }),
            runs: vec![series.points.clone()],
        });
        let missing = self.table().map_or(0, |table| table.heads.len()) - n;
        Chart {
            title: "Heads between two numbers".to_owned(),
            note: if missing > 0 {
                format!("{} without both numbers", counted(missing, "head"))
            } else {
                String::new()
            },
            x: ChartAxis::over(title(self.options.across), Scale::Linear, x.into_iter()),
            y: ChartAxis::over(title(self.options.up), Scale::Linear, y.into_iter()),
            series: moves.into_iter().chain(points).collect(),
            marks: Vec::new(),
        }
    }

    /// What arrows, colours and sizes of the points stand for, the last two where these are numbers.
    pub fn channels_text(&self) -> String {
        let of = |name: &str, metric: Option<Metric>| {
            let metric = metric?;
            let [low, high] = self.range_of(metric).map(|end| tick_text(end as f32));
            Some(format!("{name}: {} from {low} to {high}", metric.title()))
        };
        let moves = self.contrast().map(|_| format!("arrows: {} → {}", self.side_name(0), self.side_name(1)));
        let parts = [moves, of("colour", self.options.point_color.metric()), of("size", self.options.point_size)];
        parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }
}
