//! The plane of one head, or of another cell of a space: one unit is equally long along both axes.

use std::sync::Arc;

use emath::{Pos2, Rect, pos2, vec2};

use super::{
    Pinned, joined,
    matrix::layout::CellTransform,
    points::{self, Seen},
};
use crate::{
    analysis::{
        Space,
        projection::{HeadProjection, Meaning, Tints},
        reading::{BY_VALUE_NORM, ReadPattern, Source},
    },
    figure::{
        font::Align,
        list::faded,
        measure::text_size::{BODY, SMALL},
        page::{Captions, Scene},
        path::Path,
        pen::Pen,
        small::{Names, Scale, SmallMap},
    },
    ids::StackKind,
    text::{capitalised, decimal_text, norm_text, share_text},
};

mod fields;
pub mod legend;
pub mod marks;
mod options;
mod spec;

pub use fields::visit_scaling;
pub use options::{HeadOrder, ScatterOptions};
pub use spec::SPEC;

/// Radius of a point.
const POINT_PT: f32 = 3.5;
/// Among small multiples, the width of a map from which points are as large, and the least part of that.
const FULL_POINT_PT: f32 = 160.0;
const LEAST_POINT: f32 = 0.15;
/// Lines from the held token to its strongest partners.
pub const N_LINES: usize = 12;
/// So many tokens of each kind are named beside their points.
const MAX_NAMED: usize = 24;
/// Side that suits a plane.
const PLANE_PT: f32 = 380.0;
/// Room for the name of an axis.
const AXIS_PT: f32 = 20.0;
/// Room for the legend.
const LEGEND_PT: f32 = 26.0;

/// The Scatter view of one head.
#[derive(Clone, Debug)]
pub struct ScatterScene {
    /// The points.
    pub plane: HeadProjection,
    /// The head's weights, for lines from the held token; also names the tokens.
    pub read: Option<Arc<ReadPattern>>,
    /// Names of the queries and of the keys, by position.
    pub names: [Vec<String>; 2],
    /// Which vectors are points.
    pub space: Space,
    pub stack: StackKind,
    /// What colours mean, and which each point has.
    pub tints: Tints,
    pub pinned: Pinned,
    pub subject: String,
}

impl ScatterScene {
    /// What the axes are.
    fn axes(&self) -> [String; 2] {
        if let Some(refined) = self.plane.refined {
            return [format!("{}: only neighbourhood has a meaning", refined.name()), String::new()];
        }
        let [x, y, _] = self.plane.explained.map(share_text);
        [format!("First component ({x} of the variance)"), format!("Second component ({y})")]
    }

    fn points(&self, place: &Placing, size: f32, plot: Rect, pen: &mut Pen<'_>) {
        let (queries, keys) = (&self.plane.queries, &self.plane.keys);
        if queries.len() + keys.len() > points::MAX_SHAPES {
            points::picture(plot, &[(&self.plane, &self.tints, place.seen, plot)], pen);
            return;
        }
        // Taking turns, so that neither kind always covers the other.
        for idx in 0..queries.len().max(keys.len()) {
            if let Some(&point) = queries.get(idx) {
                let ink = legend::ink(&self.tints.queries, idx, pen.palette.query, &pen.palette);
                pen.fill(Path::circle(place.at(point), size * self.radius(0, idx)), faded(ink, 0.85));
            }
            if let Some(&point) = keys.get(idx) {
                let ink = legend::ink(&self.tints.keys, idx, pen.palette.key, &pen.palette);
                pen.fill(Path::diamond(place.at(point), 1.2 * size * self.radius(1, idx)), faded(ink, 0.85));
            }
        }
    }

    fn radius(&self, which: usize, point: usize) -> f32 {
        POINT_PT * self.tints.factor(which, point)
    }

    /// Texts beside the points, where few tokens leave room for them and no other text is in the way.
    fn name_points(&self, place: &Placing, inside: Rect, pen: &mut Pen<'_>) {
        let mut taken: Vec<Rect> = self.held_names(place, pen).into_iter().map(|(.., ground)| ground).collect();
        let Pinned { query, key } = self.pinned;
        let all = [(&self.plane.queries, &self.names[0], query), (&self.plane.keys, &self.names[1], key)];
        let size = SMALL * 0.85;
        for (points, ..) in all {
            taken.extend(points.iter().map(|&point| Rect::from_center_size(place.at(point), vec2(6.0, 6.0))));
        }
        for (points, names, held) in all {
            if points.len() > MAX_NAMED {
                continue;
            }
            let named = points.iter().zip(names).enumerate().filter(|(idx, _)| held != Some(*idx));
            for (_, (&point, name)) in named {
                let at = place.at(point);
                let (width, height) = (pen.type_.width(name, size), pen.type_.height(size));
                let beside = [
                    (pos2(at.x + POINT_PT + 2.5, at.y), Align::Left, 0.0),
                    (pos2(at.x - POINT_PT - 2.5, at.y), Align::Right, -width),
                    (pos2(at.x, at.y - POINT_PT - height / 2.0), Align::Center, -width / 2.0),
                    (pos2(at.x, at.y + POINT_PT + height / 2.0), Align::Center, -width / 2.0),
                ];
                let free = beside.into_iter().find_map(|(at, align, left)| {
                    let rect = Rect::from_min_size(pos2(at.x + left, at.y - height / 2.0), vec2(width, height));
                    let fits = inside.contains_rect(rect) && taken.iter().all(|other| !other.intersects(rect));
                    fits.then_some((at, align, rect))
                });
                if let Some((at, align, rect)) = free {
                    taken.push(rect);
                    pen.text(name, size, pen.palette.text_weak, at, align);
                }
            }
        }
    }

    fn held(&self, place: &Placing, pen: &mut Pen<'_>) {
        let point_of = |query: bool, at: usize| {
            let points = if query { &self.plane.queries } else { &self.plane.keys };
            points.get(at).map(|&point| place.at(point))
        };
        for (is_query, held) in [(true, self.pinned.query), (false, self.pinned.key)] {
            let Some((held, from)) = held.and_then(|held| Some((held, point_of(is_query, held)?))) else { continue };
            let partners = partners(self.read.as_deref(), is_query, held).into_iter();
            let palette = pen.palette;
            let line = |(partner, weight)| Some(marks::line([from, point_of(!is_query, partner)?], weight, &palette));
            pen.lines(partners.filter_map(line).collect());
        }
        for (at, is_query, name, ground) in self.held_names(place, pen) {
            marks::held(at, is_query, (&name, ground), pen);
        }
    }

    /// What is held: its point, whether it is a query, its name and where that stands.
    fn held_names(&self, place: &Placing, pen: &mut Pen<'_>) -> Vec<(Pos2, bool, String, Rect)> {
        let ends = [(self.pinned.query, &self.plane.queries, 0), (self.pinned.key, &self.plane.keys, 1)];
        let mut held = |(held, points, which): (Option<usize>, &Vec<[f32; 3]>, usize)| {
            let at = place.at(*points.get(held?)?);
            let name = self.names[which].get(held?)?.clone();
            let size = vec2(pen.type_.width(&name, BODY), pen.type_.height(BODY));
            Some((at, which == 0, name, marks::name_rect(at, size)))
        };
        ends.into_iter().filter_map(&mut held).collect()
    }

    const fn kinds(&self) -> [Option<&'static str>; 2] {
        self.space.kinds(self.stack)
    }

    /// What is said where points are of one kind.
    fn captions_of_one(&self) -> Captions {
        let n = match self.plane.queries.len() + self.plane.keys.len() {
            1 => "1 point".to_owned(),
            n => format!("{n} points"),
        };
        let subject = format!("{}: {n}", capitalised(&self.subject));
        let how = capitalised(&laid_out(&self.plane));
        let full = joined([subject.as_str(), self.space.meaning(), &how]);
        Captions { short: joined([subject.as_str()]), full }
    }
}

/// From the layout of a head to the paper.
struct Placing {
    seen: Seen,
    transform: CellTransform,
}

impl Placing {
    fn at(&self, point: [f32; 3]) -> Pos2 {
        self.transform.apply(self.seen.place(point))
    }
}

/// The strongest partners of a token and their weights: keys of a query, queries of a key.
fn partners(read: Option<&ReadPattern>, is_query: bool, held: usize) -> Vec<(usize, f32)> {
    let Some(read) = read else { return Vec::new() };
    let ranked = if is_query {
        read.rows.group_of(held).map(|row| (read.ranked_cols(row), &read.cols))
    } else {
        read.cols.group_of(held).map(|col| (read.ranked_rows(col), &read.rows))
    };
    let Some((ranked, axis)) = ranked else { return Vec::new() };
    let by_position = |(idx, weight): (usize, f32)| Some((axis.position(idx)?, weight));
    // What went to no key has no point.
    ranked.into_iter().filter(|(idx, _)| axis.rest_at(*idx).is_none()).take(N_LINES).filter_map(by_position).collect()
}

impl Scene for ScatterScene {
    fn width(&self, _: &mut Pen<'_>) -> f32 {
        PLANE_PT + AXIS_PT
    }

    fn least_width(&self, pen: &mut Pen<'_>) -> f32 {
        legend::width(self.kinds(), &self.tints.meaning, AXIS_PT, pen)
    }

    fn height(&self, width: f32, _: &mut Pen<'_>) -> f32 {
        // As high as the points ask for, within reason.
        let bounds = Seen::of_figure(&self.plane).bounds;
        let aspect = (bounds.height() / bounds.width().max(f32::MIN_POSITIVE)).clamp(0.6, 1.2);
        (width - AXIS_PT) * aspect + AXIS_PT + LEGEND_PT
    }

    fn least_height(&self, _: f32, _: &mut Pen<'_>) -> f32 {
        120.0 + AXIS_PT + LEGEND_PT
    }

    fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
        let plot = Rect::from_min_max(
            pos2(area.left() + AXIS_PT, area.top() + 1.0),
            pos2(area.right() - 1.0, area.bottom() - AXIS_PT - LEGEND_PT),
        );
        pen.frame(plot, 0.75, pen.palette.rule);
        let seen = Seen::of_figure(&self.plane);
        let place = Placing { seen, transform: CellTransform::new(seen.bounds, plot) };
        self.points(&place, 1.0, plot, pen);
        self.held(&place, pen);
        self.name_points(&place, plot.shrink(2.0), pen);
        let [first, second] = self.axes();
        let weak = pen.palette.text_weak;
        let below = pos2(plot.center().x, plot.bottom() + AXIS_PT / 2.0 + 1.0);
        pen.text(&first, SMALL, weak, below, Align::Center);
        let beside = pos2(plot.left() - AXIS_PT / 2.0, plot.center().y);
        pen.turned(&second, SMALL, weak, beside, Align::Center, -std::f32::consts::FRAC_PI_2);
        let legend = pos2(plot.left(), area.bottom() - LEGEND_PT / 2.0 + 2.0);
        legend::legend(self.kinds(), &self.tints.meaning, legend, plot.right(), pen);
    }

    fn small(&self) -> Option<&dyn SmallMap> {
        Some(self)
    }

    fn captions(&self) -> Captions {
        if !self.space.is_joint() {
            return self.captions_of_one();
        }
        let number = |value: f32| if value.is_finite() { decimal_text(value) } else { "none".to_owned() };
        let (before, after) = (number(self.plane.correlation_before), number(self.plane.correlation_after));
        let numbers = format!("correlation of q·k and distance: {before} as given, {after} after scaling");
        // Lines are all that weights are drawn as here.
        let norm = self.read.as_ref().is_some_and(|read| read.source == Source::ByValueNorm) && !self.pinned.is_empty();
        let norm = if norm { capitalised(BY_VALUE_NORM) } else { String::new() };
        let sizes = self.tints.sizes.caption();
        let short = joined([format!("{}: {numbers}", capitalised(&self.subject)).as_str(), &norm, &sizes]);
        let how = format!(
            "Queries (divided by c = {}) and keys (multiplied by it) of one head, {}",
            norm_text(self.plane.c),
            laid_out(&self.plane)
        );
        let near = if self.plane.correlation_after < -0.5 {
            "Near means a high score"
        } else {
            "Distance says little about attention here"
        };
        let held = if self.pinned.is_empty() { "" } else { "Lines lead to the strongest partners of the pinned token" };
        let subject = format!("Query–key map of {}: {numbers}", self.subject);
        Captions { short, full: joined([subject.as_str(), &how, near, held, &norm, &sizes]) }
    }
}

impl SmallMap for ScatterScene {
    fn proportion(&self) -> f32 {
        1.0
    }

    fn names(&self) -> Names {
        Names::default()
    }

    fn draw_alone(&self, rect: Rect, pen: &mut Pen<'_>) {
        pen.frame(rect, 0.5, pen.palette.rule);
        let seen = Seen::of_figure(&self.plane);
        let place = Placing { seen, transform: CellTransform::new(seen.bounds, rect.shrink(1.0)) };
        self.points(&place, (rect.width() / FULL_POINT_PT).clamp(LEAST_POINT, 1.0), rect, pen);
    }

    fn scale(&self) -> Option<Scale> {
        None
    }

    fn note(&self) -> &'static str {
        ""
    }

    fn foot_height(&self) -> f32 {
        LEGEND_PT
    }

    fn draw_foot(&self, area: Rect, pen: &mut Pen<'_>) {
        // Each head has a scale of its own.
        let meaning = match &self.tints.meaning {
            Meaning::Scale(_) => Meaning::Scale(["least of each head", "most of each head"].map(str::to_owned)),
            meaning => meaning.clone(),
        };
        let at = pos2(area.left(), area.center().y + 2.0);
        legend::legend(self.kinds(), &meaning, at, area.right(), pen);
    }
}

/// How the points came into the plane, in words.
pub fn laid_out(plane: &HeadProjection) -> String {
    match plane.refined {
        Some(refined) => format!("laid out by {}", refined.text()),
        None => "projected on their principal components".to_owned(),
    }
}

/// The smallest rectangle around all points of a head; never empty.
pub fn bounds(plane: &HeadProjection) -> Rect {
    let points = plane.queries.iter().chain(&plane.keys).filter(|[x, y, _]| x.is_finite() && y.is_finite());
    let bounds = points.fold(Rect::NOTHING, |mut bounds, &[x, y, _]| {
        bounds.extend_with(pos2(x, y));
        bounds
    });
    if bounds.is_finite() && bounds.size().max_elem() > 0.0 {
        bounds
    } else {
        Rect::from_center_size(if bounds.is_finite() { bounds.center() } else { pos2(0.0, 0.0) }, [1.0, 1.0].into())
    }
}
