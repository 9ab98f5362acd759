//! The points of one head as pixels: for the window, which draws them beside its thread, and for figures with so
//! many that a file of shapes would be too large.

use emath::{Pos2, Rect, Vec2};

pub use super::seen::{Seen, Turn};
use super::{
    matrix::layout::{self, CellTransform},
    scatter::legend,
};
use crate::{
    analysis::{
        point_set::{PointSet, Spot},
        projection::{HeadProjection, Tints},
    },
    capture::RgbaBuffer,
    figure::{
        list::{Rgba, Sampling},
        palette::Palette,
        pen::Pen,
    },
    raster::{
        Colors,
        points::{Canvas, Mark, Stamp, counts, opacity},
    },
};

/// Opacity of points outside a set, as a part of their own.
pub const DIMMED: f32 = 0.22;
/// Of such points at least, as a part of that.
const LEAST_DIMMED: f32 = 0.06;
/// Opacity of points that stand out at least.
const LIT: f32 = 0.7;
/// Sizes of points by their distance from the eye.
const N_DEPTHS: usize = 8;
/// Figures of more points draw them as a picture: a file of so many shapes would be slow wherever it is opened.
pub const MAX_SHAPES: usize = 20_000;
/// Pixels of such a picture per point: 288 dots per inch.
const FIGURE_SCALE: f32 = 4.0;
/// Points in a square in which they are counted, where they are spread evenly over a cell.
const PER_BIN: f32 = 2.0;
/// The side of such a square at least and at most, in points of the screen.
const BIN_PT: (f32, f32) = (2.0, 20.0);

/// How the points of a cell look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    pub palette: Palette,
    /// Pixels per point of the screen.
    pub scale: f32,
    /// Counts in these colours instead of marks.
    pub density: Option<Colors>,
}

/// The size and the opacity of marks in a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MarkSize {
    /// Radius of the disc of a query, in points.
    pub radius: f32,
    opacity: f32,
    /// Of each mark outside the set of those that stand out.
    dimmed: f32,
}

impl MarkSize {
    /// The corners of the diamond of a key lie this much further out than the disc of a query reaches.
    pub const DIAMOND: f32 = 1.15;

    /// For `n` points in a cell of a size in points.
    pub fn of(n: usize, cell: Vec2) -> Self {
        let (side, area) = (cell.min_elem(), cell.x * cell.y);
        let full = layout::point_radius(side);
        let crowd = n as f32 * Mark::Disc.area(full) / (area / 3.0).max(1.0);
        // Many points are smaller, too, so that what they form stays sharp.
        let radius = full * crowd.max(1.0).powf(-0.2).max(0.55);
        let layers = n as f32 * Mark::Disc.area(radius) / (area / 3.0).max(1.0);
        let opacity = opacity(n, Mark::Disc.area(radius), area);
        // However many lie on top of each other, they stay a pale ground.
        let dimmed = DIMMED * opacity.min(1.0 / layers.max(1.0)).max(LEAST_DIMMED);
        Self { radius: radius.max(0.7), opacity, dimmed }
    }

    /// How opaque a mark is, and whether it is one of those that stand out, where some do.
    pub fn opacity_of(self, is_marked: Option<bool>) -> f32 {
        match is_marked {
            Some(true) => self.opacity.max(LIT),
            Some(false) => self.dimmed,
            None => self.opacity,
        }
    }
}

/// How much larger and more opaque than others a point of this depth is.
pub fn nearness(depth: f32) -> (f32, f32) {
    let depth = depth.clamp(-1.0, 1.0);
    (0.35f32.mul_add(depth, 1.0), 0.35f32.mul_add(depth, 0.65))
}

/// The points of a head that are drawn into a cell.
#[derive(Clone, Copy, Debug)]
pub struct CellPoints<'a> {
    pub plane: &'a HeadProjection,
    pub seen: &'a Seen,
    pub tints: &'a Tints,
    /// All others are dimmed.
    pub marked: Option<&'a PointSet>,
    /// The cell in pixels of the canvas, of which it may be a part.
    pub cell: Rect,
}

/// One mark on its way.
#[derive(Clone, Copy)]
struct Placed {
    at: [f32; 2],
    layer: u8,
    spot: Spot,
}

impl CellPoints<'_> {
    /// Draws them; with counts instead of marks, answers with the count of the last colour.
    pub fn draw(&self, canvas: &mut Canvas, look: &Look) -> u32 {
        if let Some(map) = look.density {
            return self.draw_counts(canvas, map, look.scale);
        }
        let size = MarkSize::of(self.plane.queries.len() + self.plane.keys.len(), self.cell.size() / look.scale);
        let radii: Vec<(f32, f32)> = if self.seen.is_space() {
            (0..N_DEPTHS).map(|depth| nearness(2.0 * (depth as f32 + 0.5) / N_DEPTHS as f32 - 1.0)).collect()
        } else {
            vec![(1.0, 1.0)]
        };
        let factors = self.tints.size_factors();
        let stamp = |(larger, factor): (f32, f32)| {
            let radius = size.radius * look.scale * larger * factor;
            [Stamp::new(Mark::Disc, radius), Stamp::new(Mark::Diamond, radius * MarkSize::DIAMOND)]
        };
        let stamps: Vec<[Stamp; 2]> =
            radii.iter().flat_map(|(larger, _)| factors.iter().map(|factor| stamp((*larger, *factor)))).collect();
        let inks = Inks::new(self.tints, look.palette);
        let mut placed = self.placed(canvas.size_px(), stamps.last().map_or(1.0, |[disc, _]| disc.side() as f32));
        if self.marked.is_some() || self.seen.is_space() {
            placed.sort_by_key(|mark| mark.layer);
        }
        for Placed { at, layer, spot } in placed {
            let depth = usize::from(layer) % N_DEPTHS;
            let is_marked = self.marked.map(|_| usize::from(layer) >= N_DEPTHS);
            let (color, kind, point) = match spot {
                Spot::Query(query) => (inks.query(query), 0, query),
                Spot::Key(key) => (inks.key(key), 1, key),
            };
            let step = usize::from(self.tints.size(kind, point)).min(factors.len() - 1);
            let stamp = &stamps[depth.min(radii.len() - 1) * factors.len() + step][kind];
            let opacity = size.opacity_of(is_marked) * radii[depth.min(radii.len() - 1)].1;
            canvas.stamp(at, stamp, color.map(|channel| channel * opacity));
        }
        0
    }

    /// The marks that touch a canvas, queries and keys taking turns so that neither always covers the other.
    fn placed(&self, size_px: [usize; 2], reach: f32) -> Vec<Placed> {
        let transform = CellTransform::new(self.seen.bounds, self.cell);
        let inside = |at: Pos2| {
            at.x > -reach && at.y > -reach && at.x < size_px[0] as f32 + reach && at.y < size_px[1] as f32 + reach
        };
        let (queries, keys) = (&self.plane.queries, &self.plane.keys);
        let mut placed = Vec::with_capacity(queries.len() + keys.len());
        let mut add = |point: &[f32; 3], spot: Spot| {
            let at = self.seen.place(*point);
            let depth = at[2];
            let at = transform.apply(at);
            if inside(at) {
                let step = (f32::midpoint(depth, 1.0) * N_DEPTHS as f32).max(0.0) as usize;
                let depth = if self.seen.is_space() { step.min(N_DEPTHS - 1) } else { 0 };
                let marked = self.marked.is_some_and(|marked| marked.contains(spot));
                placed.push(Placed { at: at.into(), layer: (depth + if marked { N_DEPTHS } else { 0 }) as u8, spot });
            }
        };
        for idx in 0..queries.len().max(keys.len()) {
            if let Some(point) = queries.get(idx) {
                add(point, Spot::Query(idx));
            }
            if let Some(point) = keys.get(idx) {
                add(point, Spot::Key(idx));
            }
        }
        placed
    }

    fn draw_counts(&self, canvas: &mut Canvas, map: Colors, scale: f32) -> u32 {
        let shown = |spot: Spot| self.marked.is_none_or(|marked| marked.contains(spot));
        let queries = self.plane.queries.iter().enumerate().filter(|(idx, _)| shown(Spot::Query(*idx)));
        let keys = self.plane.keys.iter().enumerate().filter(|(idx, _)| shown(Spot::Key(*idx)));
        // Squares so large that one holds a few points where they are spread evenly.
        let n = self.plane.queries.len() + self.plane.keys.len();
        let even = (self.cell.area() * PER_BIN / n.max(1) as f32).sqrt();
        let bin = even.clamp(BIN_PT.0 * scale, BIN_PT.1 * scale).round().max(1.0);
        let n_bins = [self.cell.width(), self.cell.height()].map(|side| (side / bin).ceil().max(1.0) as usize);
        let transform = CellTransform::new(self.seen.bounds, self.cell);
        let points = queries.chain(keys).map(|(_, point)| {
            let at = transform.apply(self.seen.place(*point)) - self.cell.min;
            [at.x, at.y]
        });
        let counts = counts(points, n_bins.map(|n| n as f32 * bin), n_bins);
        let most = nearly_most(&counts);
        let size_px = canvas.size_px().map(|side| side as f32);
        for (idx, count) in counts.into_iter().enumerate().filter(|(_, count)| *count > 0) {
            let at = self.cell.min + Vec2::new((idx % n_bins[0]) as f32, (idx / n_bins[0]) as f32) * bin;
            let (low, high) = ([at.x, at.y].map(|x| x.round().max(0.0)), [at.x + bin, at.y + bin].map(f32::round));
            if low[0] < size_px[0] && low[1] < size_px[1] && high[0] > 0.0 && high[1] > 0.0 {
                let color = premultiplied(map.color(count_fraction(count, most)));
                canvas.fill(low.map(|x| x as usize), high.map(|x| x as usize), color);
            }
        }
        most
    }
}

/// The count that all but one in a hundred of the squares with points stay below: one crowded square must not make
/// all others look empty.
fn nearly_most(counts: &[u32]) -> u32 {
    let mut some: Vec<u32> = counts.iter().copied().filter(|count| *count > 0).collect();
    some.sort_unstable();
    some.len().checked_sub(1).map_or(0, |last| some[last * 99 / 100])
}

/// Where a count lies on the scale of colours that ends with `most`: by its logarithm, since crowds are very dense.
/// What is more has the last colour.
pub fn count_fraction(count: u32, most: u32) -> f32 {
    ((count as f32).ln_1p() / (most.max(1) as f32).ln_1p()).min(1.0)
}

/// Premultiplied colours of points.
struct Inks<'a> {
    tints: &'a Tints,
    palette: Palette,
}

impl<'a> Inks<'a> {
    const fn new(tints: &'a Tints, palette: Palette) -> Self {
        Self { tints, palette }
    }

    fn query(&self, query: usize) -> [f32; 4] {
        premultiplied(legend::ink(&self.tints.queries, query, self.palette.query, &self.palette))
    }

    fn key(&self, key: usize) -> [f32; 4] {
        premultiplied(legend::ink(&self.tints.keys, key, self.palette.key, &self.palette))
    }
}

fn premultiplied([red, green, blue, alpha]: Rgba) -> [f32; 4] {
    let alpha = f32::from(alpha) / 255.0;
    let [red, green, blue] = [red, green, blue].map(|channel| f32::from(channel) / 255.0 * alpha);
    [red, green, blue, alpha]
}

/// Draws the points of cells as one picture over `rect`, under whatever comes after.
pub fn picture(rect: Rect, cells: &[(&HeadProjection, &Tints, Seen, Rect)], pen: &mut Pen<'_>) {
    let size_px = [rect.width(), rect.height()].map(|side| (side * FIGURE_SCALE).ceil().max(1.0) as usize);
    let mut canvas = Canvas::new(size_px);
    let look = Look { palette: pen.palette, scale: FIGURE_SCALE, density: None };
    for (plane, tints, seen, cell) in cells {
        let cell = cell.translate(-rect.min.to_vec2()) * FIGURE_SCALE;
        CellPoints { plane, seen, tints, marked: None, cell }.draw(&mut canvas, &look);
    }
    let size = Vec2::new(size_px[0] as f32, size_px[1] as f32) / FIGURE_SCALE;
    pen.picture(Rect::from_min_size(rect.min, size), &straight(&canvas), Sampling::Smooth);
}

/// A canvas as a picture whose colours are not premultiplied.
fn straight(canvas: &Canvas) -> RgbaBuffer {
    let [width, height] = canvas.size_px();
    let straight = |[red, green, blue, alpha]: [u8; 4]| {
        let of =
            |channel: u8| ((u32::from(channel) * 255 + u32::from(alpha) / 2) / u32::from(alpha.max(1))).min(255) as u8;
        [of(red), of(green), of(blue), alpha]
    };
    RgbaBuffer { width, height, pixels: canvas.bytes().flat_map(straight).collect() }
}

#[cfg(test)]
mod tests {
    use emath::pos2;

    use super::*;
    use crate::{analysis::projection::Sizing, ids::HeadId};
    use crate::{raster::ColorMap, style::Ground};

    fn plane(n: usize) -> HeadProjection {
        let at = |idx: usize| {
            let (turn, out) = (idx as f32 * 2.399_963, (idx as f32 / n as f32).sqrt());
            [out * turn.cos(), out * turn.sin(), 0.3 * (turn * 0.1).sin()]
        };
        HeadProjection {
            head: HeadId::single(0, 0),
            queries: (0..n / 2).map(at).collect(),
            keys: (n / 2..n).map(at).collect(),
            c: 1.0,
            explained: [0.0; 3],
            refined: None,
            correlation_before: 0.0,
            correlation_after: 0.0,
        }
    }

    fn drawn(plane: &HeadProjection, marked: Option<&PointSet>, turned: Option<Turn>, density: bool) -> (Canvas, u32) {
        let (seen, tints) = (Seen::new(plane, turned), Tints::default());
        let mut canvas = Canvas::new([120, 100]);
        let cell = Rect::from_min_size(pos2(0.0, 0.0), Vec2::new(120.0, 100.0));
        let density = density.then_some(ColorMap::Viridis.on(Ground::Light));
        let look = Look { palette: Palette::LIGHT, scale: 1.0, density };
        let most = CellPoints { plane, seen: &seen, tints: &tints, marked, cell }.draw(&mut canvas, &look);
        (canvas, most)
    }

    fn ink(canvas: &Canvas) -> f32 {
        canvas.bytes().map(|[.., alpha]| f32::from(alpha) / 255.0).sum()
    }

    #[test]
    fn points_outside_a_set_are_dimmed_and_those_inside_stand_out() {
        let plane = plane(40);
        let (all, _) = drawn(&plane, None, None, false);
        let one: PointSet = [Spot::Query(3)].into_iter().collect();
        let (lit, _) = drawn(&plane, Some(&one), None, false);
        assert!(ink(&lit) < 0.4 * ink(&all) && ink(&lit) > 0.1 * ink(&all), "{} {}", ink(&lit), ink(&all));
        let (none, _) = drawn(&plane, Some(&PointSet::default()), None, false);
        assert!(ink(&none) < ink(&lit), "an empty set dims all");
    }

    #[test]
    fn points_have_the_size_that_their_number_asks_for() {
        let plane = plane(40);
        let (seen, cell) = (Seen::new(&plane, None), Rect::from_min_size(pos2(0.0, 0.0), Vec2::new(120.0, 100.0)));
        let look = Look { palette: Palette::LIGHT, scale: 1.0, density: None };
        let drawn = |sizes| {
            let (tints, mut canvas) = (Tints { sizes, ..Tints::default() }, Canvas::new([120, 100]));
            CellPoints { plane: &plane, seen: &seen, tints: &tints, marked: None, cell }.draw(&mut canvas, &look);
            ink(&canvas)
        };
        let all_of_step =
            |step| Sizing::Steps { of: [vec![step; 20], vec![step; 20]], ends: Default::default(), name: "" };
        let (small, alike, large) = (drawn(all_of_step(0)), drawn(Sizing::Same), drawn(all_of_step(5)));
        assert!(small < 0.4 * alike && large > 2.0 * alike, "{small} {alike} {large}");
    }

    #[test]
    fn a_turned_cloud_stays_in_its_cell_and_has_a_depth() {
        let plane = plane(500);
        for turn in [Turn::default(), Turn { yaw: 2.0, pitch: -1.0 }] {
            let seen = Seen::new(&plane, Some(turn));
            let depths: Vec<f32> = plane.queries.iter().map(|point| seen.place(*point)[2]).collect();
            let (low, high) = (depths.iter().copied().fold(1.0, f32::min), depths.iter().copied().fold(-1.0, f32::max));
            assert!(low < -0.3 && high > 0.3, "{low} {high}");
            let inside = plane
                .queries
                .iter()
                .filter(|point| seen.bounds.contains(Pos2::new(seen.place(**point)[0], seen.place(**point)[1])));
            assert!(inside.count() >= plane.queries.len() * 98 / 100);
            assert!(ink(&drawn(&plane, None, Some(turn), false).0) > 0.0);
        }
        assert_eq!(Turn { yaw: 0.0, pitch: 0.0 }.apply([1.0, 2.0, 3.0]), [1.0, 2.0, 3.0]);
    }

    #[test]
    fn counts_take_the_place_of_marks() {
        let (canvas, most) = drawn(&plane(4000), None, None, true);
        assert!(most > 2);
        assert!(canvas.bytes().all(|[.., alpha]| alpha == 0 || alpha == 255), "a square has a count, or it is empty");
        assert_eq!((count_fraction(0, 9), count_fraction(9, 9)), (0.0, 1.0));
    }
}
