//! Speed of what every new selection costs: edges, pixels, recomputed patterns, the joint projection.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot set itself up should stop")]

#[path = "../tests/it/support/synthetic.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod synthetic;

use std::sync::Arc;

use attnscope::{
    analysis::{
        PointCloud, attention,
        edges::{self, EdgeFilter},
        explain::{
            flow::flow,
            rollout::{RolloutOptions, rollout},
        },
        projection::{self, ProjectionOptions},
        stats::{self, Choices},
    },
    capture::{Capture, Matrix, PerHead},
    ids::{HeadId, StackKind},
    projection::to_the_end,
    raster::{ColorMap, ColorRange, heatmap, overlay},
    spec::Mask,
    style::Ground,
};
use divan::Bencher;

fn main() {
    divan::main();
}

/// One layer of 512 tokens; five heads with five habits.
fn capture() -> Capture {
    synthetic::text_capture(512, 1, 5)
}

fn pattern(capture: &Capture, head: usize) -> Matrix {
    attention::pattern(capture, HeadId::single(0, head)).unwrap()
}

/// A sharp, a middling and a diffuse head: the last keeps almost every entry.
#[divan::bench(args = [0, 2, 4])]
fn edges_512(bencher: Bencher<'_, '_>, head: usize) {
    let pattern = pattern(&capture(), head);
    bencher.bench(|| edges::select(&pattern, EdgeFilter::default()));
}

#[divan::bench(args = [false, true])]
fn heatmap_512(bencher: Bencher<'_, '_>, log: bool) {
    let pattern = pattern(&capture(), 4);
    bencher.bench(|| {
        let range = ColorRange::of(pattern.as_slice(), log);
        heatmap::heatmap(&pattern, ColorMap::Viridis.on(Ground::Light), range, &Mask { causal: true, window: None })
    });
}

#[divan::bench]
fn thumbnails_12_of_512(bencher: Bencher<'_, '_>) {
    let capture = capture();
    let patterns: Vec<Matrix> = (0..12).map(|head| pattern(&capture, head % 5)).collect();
    bencher.bench(|| heatmap::atlas(&patterns, 96, 4, (ColorMap::Viridis.on(Ground::Light), false, None), &Mask::NONE));
}

#[divan::bench]
fn scores_512(bencher: Bencher<'_, '_>) {
    let capture = capture();
    bencher.bench(|| attention::scores(&capture, HeadId::single(0, 0)));
}

#[divan::bench]
fn stats_512(bencher: Bencher<'_, '_>) {
    let pattern = pattern(&capture(), 4);
    bencher.bench(|| stats::head_stats(&pattern, None, &[], Choices::behind(Mask::NONE, pattern.n_rows()), true));
}

#[divan::bench]
fn overlay_14x14_on_896(bencher: Bencher<'_, '_>) {
    let weights: Vec<f32> = (0..196).map(|i| i as f32 / 196.0).collect();
    let range = ColorRange::of(&weights, false);
    bencher.bench(|| {
        overlay::overlay(&weights, (14, 14), (896, 896), ColorMap::Magma.on(Ground::Light), range, true, 0.6)
    });
}

/// Every head of a 12 × 12 model at 512 tokens, width 32 here against 64 in bert-base.
#[divan::bench(sample_count = 5, sample_size = 1)]
fn projection_144_heads_512(bencher: Bencher<'_, '_>) {
    let cloud = PointCloud::Input(Arc::new(synthetic::text_capture(512, 12, 12)));
    let options = ProjectionOptions::default();
    bencher.bench(|| projection::project(&cloud, StackKind::SelfAttention, options, &mut |_, _| true));
}

/// The patterns of all layers of a text.
fn layers(n: usize, n_layers: usize, n_heads: usize) -> Vec<PerHead> {
    let capture = synthetic::text_capture(n, n_layers, n_heads);
    let layer = |layer: usize| {
        let heads = (0..n_heads).map(|head| attention::pattern(&capture, HeadId::single(layer, head)).unwrap());
        let values: Vec<f32> = heads.flat_map(|head| head.as_slice().to_vec()).collect();
        PerHead::new(values, [n_heads, n, n]).unwrap()
    };
    (0..n_layers).map(layer).collect()
}

/// One row of attention flow, 64 tokens through six layers: what the published code takes 41 s a sentence for.
#[divan::bench(sample_count = 10)]
fn flow_64_row(bencher: Bencher<'_, '_>) {
    let layers = layers(64, 6, 12);
    bencher.bench(|| flow(&layers, &[63], RolloutOptions::default(), &to_the_end).unwrap());
}

#[divan::bench(sample_count = 10)]
fn rollout_512(bencher: Bencher<'_, '_>) {
    let layers = layers(512, 6, 4);
    bencher.bench(|| rollout(&layers, RolloutOptions::default()).unwrap());
}
