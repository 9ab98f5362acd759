//! The points of the cells in sight, and what is written on them.

use std::sync::Arc;

use eframe::egui::{Id, Mesh, Painter, Rect, Vec2};

use super::{
    Place, SpaceView,
    drawing::Style,
    grid,
    labels::Taken,
    marks::{self, CellMarks},
    paint, partners,
    patches::{self, PatchPictures},
    picking,
    pictures::Cell,
    readout,
    state::Same,
    texts::TEXT_FROM_PT,
    turned,
};
use crate::{
    analysis::{
        Space,
        point_set::Spot,
        projection::{Projection, Tints},
        reading::ReadPattern,
    },
    figure::views::{
        matrix::layout,
        points::Look,
        scatter::{N_LINES, marks::line},
    },
    ids::Side,
    raster::{ColorMap, Colors},
    session::{Focus, HeadOrder, ViewKind},
    ui::{ViewCtx, painting::Painting, theme::Theme, views::display_list::line_shape},
};

/// Up to so many points in sight are drawn one by one in every frame: without a graphics card, and with one.
const FEW: (usize, usize) = (3_000, 16_000);
/// Up to so many points in sight are drawn as patches, where they are patches of pictures.
const MOST_PATCHES: usize = 8_000;
/// Patches are marks in so many cells at most.
const PATCH_CELLS: usize = 6;
/// Keys of each query where all queries have lines, and the least weight of these (after `AttentionViz`).
const N_STRONGEST: usize = 2;
const LEAST_STRONG: f32 = 0.05;
/// Everything that a mesh of few points depends on.
pub type FewKey = (Same<Projection>, layout::MatrixLayout, HeadOrder, Style, Vec<Option<Same<Tints>>>);

/// What a point means in the other views: nothing, when it is of another input than the one that they show.
pub fn focus_of(cx: &ViewCtx<'_>, projection: &Projection, spot: Spot) -> Focus {
    let shown = cx.pane.shown_input(cx.document);
    let Some(token) = readout::token_of(&projection.cloud, projection.stack, spot) else { return Focus::NONE };
    match spot {
        _ if Some(token.input) != shown => Focus::NONE,
        // The input may be shorter than the table of positions.
        Spot::Query(at) if at >= n_tokens(cx, projection) => Focus::NONE,
        Spot::Query(_) => Focus::query(token.position),
        Spot::Key(_) => Focus::key(token.position),
    }
}

/// How many positions a token of the shown input can have among the points; all where they are tokens.
fn n_tokens(cx: &ViewCtx<'_>, projection: &Projection) -> usize {
    let capture = cx.document.latest_capture().filter(|_| projection.options.space == Space::Positions);
    capture.map_or(usize::MAX, |capture| capture.query_tokens(projection.stack).len())
}

/// The points that a focus means.
pub fn spots_of(cx: &ViewCtx<'_>, projection: &Projection, focus: Focus) -> [Option<Spot>; 2] {
    let Some(input) = cx.pane.shown_input(cx.document) else { return [None; 2] };
    let (cloud, stack) = (&projection.cloud, projection.stack);
    let [queries, keys] = projection.options.space.sides(stack);
    // Where a token is one point, that stands for its query and for its key.
    let (at_query, at_key) = match (queries, keys) {
        (Some(side), None) if side == stack.key_side() => (focus.query.or(focus.key), None),
        (None, Some(side)) if side == stack.query_side() => (None, focus.key.or(focus.query)),
        _ => (focus.query, focus.key),
    };
    let point = |side: Option<Side>, at: Option<usize>| cloud.point(side?, input, at?);
    [point(queries, at_query).map(Spot::Query), point(keys, at_key).map(Spot::Key)]
}

impl SpaceView {
    /// Draws the points of all cells in sight.
    pub(super) fn points(
        &mut self,
        painter: &Painter,
        cx: &ViewCtx<'_>,
        projection: &Arc<Projection>,
        places: &[Place],
        (viewport, small): (Rect, Vec2),
    ) {
        let options = cx.pane.options.scatter;
        let n: usize = places.iter().map(|place| place.plane.queries.len() + place.plane.keys.len()).sum();
        let few = if Painting::of(painter.ctx()) == Painting::Software { FEW.0 } else { FEW.1 };
        let (picked, hits) = (cx.pane.picked(cx.document), cx.pane.hits(cx.document));
        let marked = picking::marked(&mut self.both, picked, hits);
        self.marked.clone_from(&marked);
        self.are_patches = false;
        let style = Style {
            cloud: projection.cloud.clone(),
            space: projection.options.space,
            color: options.color,
            size: options.size,
            look: Look {
                palette: cx.theme.palette,
                scale: painter.pixels_per_point(),
                density: options.density.then_some(density_map(cx.theme)),
            },
            turn: turned(projection, self.turn),
            marked,
        };
        let stack = projection.stack;
        let sides = projection.options.space.sides(stack);
        let is_patch = |side: Option<Side>| side.is_some_and(|side| projection.cloud.has_patches(side));
        // Cells at the edge have few of their points in sight.
        let most = places.iter().map(|place| place.plane.queries.len() + place.plane.keys.len()).max().unwrap_or(0);
        let shows_patches = most <= MOST_PATCHES && sides.into_iter().any(is_patch);
        let as_picture = n > few || options.density;
        if as_picture && (options.density || !shows_patches || !Self::has_room(places)) {
            let cells: Vec<Cell> =
                places.iter().map(|place| Cell { plane: Arc::clone(&place.plane), rect: place.cell }).collect();
            self.pictures.paint(painter, viewport, style, &cells, &projection.heads, small);
            return;
        }
        let (looks, by, own) = (self.pictures.looks(), style.by(), Arc::default());
        // Until they are known points have the colours of queries and keys.
        let tints: Vec<Option<Same<Tints>>> = places
            .iter()
            .map(|place| looks.get(painter.ctx(), &projection.cloud, place.plane.head, by).map(Same))
            .collect();
        let cells: Vec<CellMarks<'_>> = places
            .iter()
            .zip(&tints)
            .map(|(place, tints)| CellMarks {
                plane: &place.plane,
                seen: &place.seen,
                tints: tints.as_ref().map_or(&own, |Same(tints)| tints),
                marked: style.marked.as_deref(),
                cell: place.cell,
            })
            .collect();
        self.are_patches = self.patch_points(painter, cx, projection, &cells);
        if self.are_patches {
            return;
        }
        let Some(first) = places.first() else { return };
        let content = Rect::from_min_size(first.cell.min, first.cell.size());
        let layout = layout::MatrixLayout { viewport, content, grid: (places.len(), 1) };
        let (marks, ctx) = (&mut self.marks, painter.ctx());
        let key = (Same(Arc::clone(projection)), layout, options.order, style.clone(), tints.clone());
        let mesh: Arc<Mesh> = self.few.get_or_update(key, || marks.mesh(ctx, &cells, first.cell.size(), cx.theme));
        marks::paint(painter, mesh);
    }

    /// Whether the patches of these cells would be large enough to be seen.
    fn has_room(places: &[Place]) -> bool {
        let Some(first) = places.first().filter(|_| places.len() <= PATCH_CELLS) else { return false };
        patches::side(first.plane.queries.len() + first.plane.keys.len(), first.cell.size()).is_some()
    }

    /// Draws patches of pictures instead of marks, where tokens are patches and there is room for them.
    fn patch_points(
        &mut self,
        painter: &Painter,
        cx: &ViewCtx<'_>,
        projection: &Projection,
        cells: &[CellMarks<'_>],
    ) -> bool {
        let (cloud, stack) = (&projection.cloud, projection.stack);
        if !projection.options.space.sides(stack).into_iter().flatten().any(|side| cloud.has_patches(side)) {
            return false;
        }
        let Some(first) = cells.first().filter(|_| cells.len() <= PATCH_CELLS) else { return false };
        let n = first.plane.queries.len() + first.plane.keys.len();
        let Some(side) = patches::side(n, first.cell.size()) else { return false };
        let load = || PatchPictures::load(painter.ctx(), cloud);
        let Some(pictures) = self.patches.get_or_update(cloud.id(), load) else { return false };
        for cell in cells {
            patches::draw(painter, cell, (cloud, stack), &pictures, side, cx.theme);
        }
        true
    }

    /// Rings, lines and texts, on top of the points.
    pub(super) fn on_points(
        &mut self,
        painter: &Painter,
        cx: &ViewCtx<'_>,
        projection: &Arc<Projection>,
        places: &[Place],
        pattern: Option<&ReadPattern>,
    ) {
        let single = cx.pane.view == ViewKind::Scatter;
        let selection = &cx.pane.selection;
        let cell = cx.pane.cell(cx.document);
        let here = places.iter().find(|place| place.plane.head == cell);
        if !single {
            let rings = [selection.focus()].into_iter().flat_map(|focus| spots_of(cx, projection, focus));
            let spots: Vec<Spot> = rings.chain([selection.spot]).flatten().collect();
            for (place, spot) in places.iter().flat_map(|place| spots.iter().map(move |spot| (place, *spot))) {
                let Some(at) = place.at(spot) else { continue };
                let radius = layout::point_radius(place.cell.size().min_elem());
                let color = if matches!(spot, Spot::Query(_)) { cx.theme.query } else { cx.theme.key };
                grid::ring(painter, at, radius, color, cx.theme);
            }
        }
        let mut taken = Taken::default();
        let mut named: Vec<Spot> = Vec::new();
        if let (true, Some(place), Some(pattern)) = (single && cx.pane.options.scatter.lines, here, pattern) {
            all_lines(painter, cx, projection, place, pattern);
        }
        if let (true, Some(place)) = (single, here) {
            named = focused(painter, cx, projection, place, (pattern, &mut taken));
        }
        let options = cx.pane.options.scatter;
        if options.clusters
            && let Some(place) = here
        {
            self.crowd_names(painter, cx, projection, place, &mut taken);
        }
        // Patches speak for themselves.
        if options.labels && !options.density && !options.clusters && !self.are_patches {
            for place in places.iter().filter(|place| place.cell.size().min_elem() >= TEXT_FROM_PT) {
                self.texts(painter, cx, projection, place, (&named, &mut taken));
            }
        }
    }
}

/// The strongest keys of every query of the input that is shown.
fn all_lines(painter: &Painter, cx: &ViewCtx<'_>, projection: &Projection, place: &Place, pattern: &ReadPattern) {
    let at = |focus| spots_of(cx, projection, focus).into_iter().flatten().next().and_then(|spot| place.at(spot));
    for (query, key, weight) in partners::strongest(pattern, N_STRONGEST, LEAST_STRONG) {
        if let (Some(from), Some(to)) = (at(query), at(key)) {
            painter.add(line_shape(&line([from, to], weight, &cx.theme.palette)));
        }
    }
}

/// The tokens that are held and under the pointer, with lines to their partners. Answers which points these are.
fn focused(
    painter: &Painter,
    cx: &ViewCtx<'_>,
    projection: &Projection,
    place: &Place,
    (pattern, taken): (Option<&ReadPattern>, &mut Taken),
) -> Vec<Spot> {
    let selection = &cx.pane.selection;
    let mut partners_first = Vec::new();
    let mut rings: Vec<Spot> = Vec::new();
    for focus in [selection.pinned, selection.hover] {
        // Of a cell of a pattern the query speaks.
        let Some(spot) = spots_of(cx, projection, focus).into_iter().flatten().next() else { continue };
        let Some(from) = place.at(spot) else { continue };
        let lines = pattern.map(|pattern| partners::partners(pattern, focus, N_LINES)).unwrap_or_default();
        for (partner, weight) in lines {
            let partner = spots_of(cx, projection, partner).into_iter().flatten().next();
            let Some((partner, to)) = partner.and_then(|spot| Some((spot, place.at(spot)?))) else { continue };
            painter.add(line_shape(&line([from, to], weight, &cx.theme.palette)));
            partners_first.push(partner);
        }
        if !rings.contains(&spot) {
            rings.push(spot);
        }
    }
    rings.extend(selection.spot.filter(|spot| !rings.contains(spot)));
    for (nth, spot) in rings.iter().enumerate() {
        let (Some(at), Some(token)) = (place.at(*spot), readout::token_of(&projection.cloud, projection.stack, *spot))
        else {
            continue;
        };
        let is_query = matches!(spot, Spot::Query(_));
        let id = Id::unique(("focused token", cx.pane.id.0, nth));
        taken.take(paint::focus(painter, id, at, (&readout::text_of(&token), is_query), cx.theme));
    }
    // What is held is often under the pointer, too.
    let mut named: Vec<Spot> = Vec::new();
    for spot in rings.into_iter().chain(partners_first) {
        if !named.contains(&spot) {
            named.push(spot);
        }
    }
    named
}

/// The colours of counts.
pub fn density_map(theme: &Theme) -> Colors {
    ColorMap::Heat.on(theme.palette.ground)
}
