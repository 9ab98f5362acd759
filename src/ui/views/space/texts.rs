//! Texts on the canvas: beside points, and the names of dense clusters.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use eframe::egui::{FontId, Painter, Pos2, Rect, Stroke, Vec2};

use super::{
    Place, SpaceView,
    draw::spots_of,
    labels::{AWAY_PT, Taken, spread},
    readout,
    state::Same,
    turned,
};
use crate::{
    analysis::{
        PointCloud, density_clusters,
        point_set::Spot,
        projection::{HeadProjection, Projection},
    },
    figure::views::points::{MarkSize, Turn},
    ids::{CloudId, Side, StackKind},
    ui::{
        ViewCtx,
        memo::Memo,
        theme::{radius, text_size},
    },
};

/// Cells from this side on have texts beside their points.
pub const TEXT_FROM_PT: f32 = 230.0;
/// Points that are tried for a text, and one text in so many square points of a cell at most.
const TEXTS: (usize, f32) = (900, 6_000.0);
/// Of more points than this half as many have texts.
const CROWD: usize = 600;
/// Equal texts are at least this far apart.
const SAME_PT: f32 = 70.0;
/// Up to so many points, texts keep clear of all of them.
const CLEAR: usize = 160;
/// Up to so many points, texts that have no room beside theirs stand further off.
const FEW: usize = 80;
/// A text as far from its point as this has a line to it.
const LEAST_LINE_PT: f32 = 12.0;
/// Clusters of more points are not looked for while the window waits.
const MAX_CLUSTERED: usize = 400_000;
/// The largest so many clusters have names.
const N_NAMED: usize = 24;

/// Which points of a cloud share their text with others, by side.
pub type Repeated = Memo<(CloudId, StackKind), Arc<[Vec<bool>; 2]>>;

/// Names of the clusters of one head, where they are in its plane.
pub type Clusters = Memo<(Same<HeadProjection>, Option<Turn>), Arc<Vec<([f32; 2], String)>>>;

impl SpaceView {
    /// Texts beside points, as many as there is room for: partners and picked points first, then a fair choice.
    pub(super) fn texts(
        &mut self,
        painter: &Painter,
        cx: &ViewCtx<'_>,
        projection: &Projection,
        place: &Place,
        (first, taken): (&[Spot], &mut Taken),
    ) {
        let (n_query, n_key) = (place.plane.queries.len(), place.plane.keys.len());
        let inside = place.cell.intersect(painter.clip_rect()).shrink(2.0);
        let size = MarkSize::of(n_query + n_key, place.cell.size());
        if n_query + n_key <= CLEAR {
            for spot in (0..n_query).map(Spot::Query).chain((0..n_key).map(Spot::Key)) {
                if let Some(at) = place.at(spot) {
                    taken.take(Rect::from_center_size(at, Vec2::splat(1.6 * size.radius)));
                }
            }
        }
        let repeated = self.repeated(projection);
        let marked = self.marked.as_ref();
        let all = spread(n_query.max(n_key)).flat_map(|idx| {
            let query = (idx < n_query).then_some(Spot::Query(idx));
            [query, (idx < n_key).then_some(Spot::Key(idx))].into_iter().flatten()
        });
        let lit = |spot: &Spot| marked.is_none_or(|marked| marked.contains(*spot));
        // Of many points those come into question that are in sight.
        let in_sight = |spot: &Spot| place.at(*spot).is_some_and(|at| inside.contains(at));
        let chosen = first.iter().copied().chain(all.filter(|spot| lit(spot) && !first.contains(spot)));
        let crowd = if n_query + n_key > CROWD { 2.0 } else { 1.0 };
        let is_few = n_query + n_key <= FEW;
        let mut room = if is_few { FEW } else { (inside.area() / TEXTS.1 / crowd) as usize };
        let mut said: HashMap<(bool, String), Vec<Pos2>> = HashMap::new();
        // Among few points a text may stand further off, with a line to its point.
        let away: &[f32] = if is_few { &AWAY_PT } else { &[] };
        let rings = [cx.pane.selection.pinned, cx.pane.selection.hover];
        let rings: Vec<Spot> = rings.into_iter().flat_map(|focus| spots_of(cx, projection, focus)).flatten().collect();
        let font = FontId::proportional(text_size::SMALL);
        for spot in chosen.filter(in_sight).take(TEXTS.0) {
            if room == 0 {
                return;
            }
            let Some(at) = place.at(spot).filter(|_| !rings.contains(&spot) && cx.pane.selection.spot != Some(spot))
            else {
                continue;
            };
            let Some(text) = name_of(&projection.cloud, projection.stack, spot, &repeated) else { continue };
            // The same token at the same place, in many inputs, has one text.
            let is_query = matches!(spot, Spot::Query(_));
            let same = said.entry((is_query, text.clone())).or_default();
            if same.iter().any(|known: &Pos2| known.distance(at) < SAME_PT) {
                continue;
            }
            let color = if is_query { cx.theme.query } else { cx.theme.key };
            let color = color.lerp_to_gamma(cx.theme.text, 0.45);
            let galley = painter.layout_no_wrap(text, font.clone(), color);
            if let Some(rect) = taken.beside(at, galley.size(), size.radius, (inside, away)) {
                let end = rect.clamp(at);
                if end.distance(at) > LEAST_LINE_PT {
                    painter.line_segment([at, end], Stroke::new(1.0, color.gamma_multiply(0.5)));
                }
                painter.rect_filled(
                    rect.expand2(Vec2::new(1.0, -1.0)),
                    radius::MARK,
                    cx.theme.canvas.gamma_multiply(0.7),
                );
                painter.galley(rect.min, galley, color);
                same.push(at);
                room -= 1;
            }
        }
    }

    fn repeated(&mut self, projection: &Projection) -> Arc<[Vec<bool>; 2]> {
        let (cloud, stack) = (&projection.cloud, projection.stack);
        self.repeated.get_or_update((cloud.id(), stack), || {
            let of = |side: Side| {
                let mut counts: HashMap<&str, u32> = HashMap::new();
                for token in cloud.tokens(side) {
                    *counts.entry(token.text).or_default() += 1;
                }
                cloud.tokens(side).map(|token| counts[token.text] > 1).collect()
            };
            Arc::new([of(stack.query_side()), of(stack.key_side())])
        })
    }

    /// The names of crowds in the middle of them.
    pub(super) fn crowd_names(
        &mut self,
        painter: &Painter,
        cx: &ViewCtx<'_>,
        projection: &Projection,
        place: &Place,
        taken: &mut Taken,
    ) {
        if place.cell.size().min_elem() < TEXT_FROM_PT
            || place.plane.queries.len() + place.plane.keys.len() > MAX_CLUSTERED
        {
            return;
        }
        let key = (Same(Arc::clone(&place.plane)), turned(projection, self.turn));
        let named = self.clusters.get_or_update(key, || Arc::new(named_crowds(projection, place)));
        let inside = place.cell.intersect(painter.clip_rect()).shrink(2.0);
        for (center, name) in named.iter() {
            let at = place.transform().apply([center[0], center[1], 0.0]);
            let galley = painter.layout_no_wrap(name.clone(), FontId::proportional(text_size::LARGE), cx.theme.text);
            if let Some(rect) = taken.around(at, galley.size(), inside) {
                painter.rect_filled(
                    rect.expand2(Vec2::new(4.0, 1.0)),
                    radius::CONTROL,
                    cx.theme.canvas.gamma_multiply(0.8),
                );
                painter.galley(rect.min, galley, cx.theme.text);
            }
        }
    }
}

/// Where the crowds of a head are as they are seen, and what is typical of each.
fn named_crowds(projection: &Projection, place: &Place) -> Vec<([f32; 2], String)> {
    let (cloud, stack) = (&projection.cloud, projection.stack);
    let n_queries = place.plane.queries.len();
    let points: Vec<[f32; 2]> = place
        .plane
        .queries
        .iter()
        .chain(&place.plane.keys)
        .map(|point| {
            let [x, y, _] = place.seen.place(*point);
            [x, y]
        })
        .collect();
    let spot = |idx: usize| if idx < n_queries { Spot::Query(idx) } else { Spot::Key(idx - n_queries) };
    let mut numbers: HashMap<&str, u32> = HashMap::new();
    let mut texts: Vec<&str> = Vec::new();
    let of_points: Vec<Option<u32>> = (0..points.len())
        .map(|idx| {
            let token = readout::token_of(cloud, stack, spot(idx))?;
            let text = token.text.trim();
            Some(*numbers.entry(text).or_insert_with(|| {
                texts.push(text);
                texts.len() as u32 - 1
            }))
        })
        .collect();
    let mut whole: BTreeMap<u32, usize> = BTreeMap::new();
    for number in of_points.iter().flatten() {
        *whole.entry(*number).or_default() += 1;
    }
    let name = |found: &density_clusters::Crowd| {
        let inside = found.members.iter().filter_map(|idx| of_points[*idx]);
        let typical = density_clusters::most_typical(inside, &whole)?;
        let text = *texts.get(typical as usize).filter(|text| !text.is_empty())?;
        Some((found.center, text.to_owned()))
    };
    density_clusters::crowds(&points).iter().filter_map(name).take(N_NAMED).collect()
}

/// What stands beside a point: its text, with its position where others have the same.
fn name_of(cloud: &PointCloud, stack: StackKind, spot: Spot, repeated: &[Vec<bool>; 2]) -> Option<String> {
    let token = readout::token_of(cloud, stack, spot)?;
    let several = match spot {
        Spot::Query(query) => repeated[0].get(query),
        Spot::Key(key) => repeated[1].get(key),
    };
    let text = readout::text_of(&token);
    Some(if several == Some(&true) && text != token.position.to_string() {
        format!("{}:{text}", token.position)
    } else {
        text
    })
}
