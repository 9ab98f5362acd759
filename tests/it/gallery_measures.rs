//! Measures of captures that claims of examples are about.

use std::{ops::Range, sync::Arc};

use attnscope::{
    analysis::{
        PointCloud, attention, distance_fidelity,
        patch_stream::{PatchComponents, PatchNorms, rows},
        paths::{LayerGraph, PathHeads},
        projection::ProjectionOptions,
        simplex::Spread,
    },
    capture::Capture,
    figure::views::paths::PathsOptions,
    ids::{HeadId, StackKind},
};

use crate::gallery::{all_heads, largest};

/// How far the variances within rows before and after scaling are from those told, as parts of them, and the scale from
/// that of heads of 28 dimensions.
pub fn off_variances(capture: &Capture, head: HeadId, told: [f64; 2]) -> f32 {
    let (spreads, scale) = Spread::around_scale(capture, head).unwrap();
    let off = spreads.iter().zip(told).map(|(spread, told)| (spread.within / told - 1.0).abs());
    off.fold(0.0, f64::max) as f32 + (scale - 28_f32.powf(-0.5)).abs()
}

/// Whether every stack has so many layers of so many heads.
pub fn is_made(capture: &Capture, layers: &[usize], n_heads: usize) -> bool {
    let stacks = &capture.model().stacks;
    let n_layers = stacks.iter().map(|stack| stack.layers.len());
    n_layers.eq(layers.iter().copied())
        && stacks.iter().flat_map(|stack| &stack.layers).all(|layer| layer.n_heads == n_heads)
}

/// The largest weight of a later token in any head.
pub fn largest_ahead(capture: &Capture, stack: StackKind) -> f32 {
    let later = |head| {
        let pattern = attention::pattern(capture, head).unwrap();
        let rows = pattern.rows().enumerate();
        rows.flat_map(|(query, row)| row[query + 1..].to_vec()).fold(0.0, f32::max)
    };
    all_heads(capture, stack).map(later).fold(0.0, f32::max)
}

/// How many heads give a key the largest weight of a query.
pub fn n_heads_that_look(capture: &Capture, stack: StackKind, [query, key]: [usize; 2]) -> usize {
    let looks = |head: &HeadId| largest(attention::pattern(capture, *head).unwrap().row(query).unwrap()) == key;
    all_heads(capture, stack).filter(looks).count()
}

/// How far the correlations of distance and product are from those told.
pub fn off_correlations(capture: &Arc<Capture>, stack: StackKind, heads: &[((usize, usize), f64)]) -> f32 {
    let cloud = PointCloud::Input(Arc::clone(capture));
    let off = heads.iter().map(|((layer, head), told)| {
        let head = HeadId { stack, layer: *layer, head: *head };
        let found = distance_fidelity::proxy(&cloud, head, ProjectionOptions::default(), false).unwrap();
        (found.correlations.after.pooled.pearson.unwrap() - told).abs() as f32
    });
    off.fold(0.0, f32::max)
}

/// How much more the drawn paths of all layers lead from an output to a token of the source than to any other.
pub fn led(capture: &Capture, head: HeadId, query: usize, meant: usize) -> f32 {
    let graph = LayerGraph::of(capture, head, PathHeads::Mean).unwrap();
    let stack = head.stack;
    let (written, read) = (stack.query_side(), capture.model().stacks[0].kind.key_side());
    let output = graph.node(written, 1, query).unwrap();
    let options = PathsOptions::default();
    let numbers = graph.measured(options.measure, 0.5, options.n_edges, [Some(output), None]).unwrap();
    let reached = numbers.reached(&graph, output, true);
    let of = |key: usize| reached.get(&graph.node(read, 0, key).unwrap()).copied().unwrap_or(0.0) as f32;
    let others = (0..capture.tokens(read).len()).filter(|key| *key != meant).map(of).fold(0.0, f32::max);
    of(meant) / others
}

/// Whether the first principal component of the patches in some rows is above that of all others, with this part of the
/// variance.
pub fn is_parted(capture: &Capture, head: HeadId, rows: Range<usize>, share: f64) -> bool {
    let found = PatchComponents::of_layer(capture, head.stack, head.layer).unwrap();
    let n_cols = capture.image().unwrap().grid.1;
    let (inside, outside): (Vec<_>, Vec<_>) =
        found.places.iter().enumerate().partition(|(patch, _)| rows.contains(&(patch / n_cols)));
    let least = inside.iter().map(|(_, place)| place[0]).fold(f32::INFINITY, f32::min);
    let most = outside.iter().map(|(_, place)| place[0]).fold(f32::NEG_INFINITY, f32::max);
    least > most && (found.shares[0] - share).abs() < 0.005
}

/// The length of the longest vector of a patch over the median.
pub fn longest_of_median(capture: &Capture, head: HeadId) -> f32 {
    let image = capture.image().unwrap();
    let found = PatchNorms::of(rows(capture, head.stack, head.layer).unwrap().0, image);
    found.norms[image.n_prefix..].iter().copied().fold(0.0, f32::max) / found.median
}
