//! Layouts of points: against numpy, against laws, the same on any number of threads, and for odd input.

use std::{
    fs,
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
};

use attnscope::projection::{
    Affinities, Metric, Neighbors, Pca, Points, ProjectionError,
    correlation::{Correlation, Correlations, Segment},
    quality::{self, Gathering},
    space::{Scale, Transform},
    to_the_end,
    tsne::{Tsne, TsneOptions},
    umap::{Umap, UmapOptions},
};
use serde_json::Value;

/// Numbers that look random and are the same everywhere.
struct Random(u64);

impl Random {
    fn symmetric(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }

    fn cloud(&mut self, n: usize, width: usize) -> Vec<f32> {
        (0..n * width).map(|_| self.symmetric() + self.symmetric()).collect()
    }
}

/// `n` points around as many centres as `labels` has kinds.
fn blobs(n: usize, width: usize, kinds: usize) -> (Vec<f32>, Vec<u32>) {
    let mut random = Random(7);
    let centres = random.cloud(kinds, width);
    let labels: Vec<u32> = (0..n).map(|i| (i % kinds) as u32).collect();
    let values = labels.iter().flat_map(|&kind| {
        let centre = &centres[kind as usize * width..(kind as usize + 1) * width];
        centre.iter().map(|x| x * 4.0 + random.symmetric()).collect::<Vec<f32>>()
    });
    (values.collect(), labels)
}

fn reference() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/projection/reference.json");
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

fn singles(value: &Value) -> Vec<f32> {
    numbers(value).into_iter().map(|x| x as f32).collect()
}

#[track_caller]
fn near(actual: f64, expected: f64, tolerance: f64) {
    assert!((actual - expected).abs() <= tolerance, "{actual} is not {expected}");
}

fn points(values: &[f32], width: usize) -> Points<'_> {
    Points::new(values, values.len() / width, width).unwrap()
}

#[test]
fn joint_space_and_its_correlations_are_numpys() {
    let reference = &reference()["head"];
    let width = reference["width"].as_u64().unwrap() as usize;
    let (queries, keys) = (singles(&reference["queries"]), singles(&reference["keys"]));
    let (queries, keys) = (points(&queries, width), points(&keys, width));
    let range = |ends: &Value| ends[0].as_u64().unwrap() as usize..ends[1].as_u64().unwrap() as usize;
    let segments: Vec<Segment> = reference["segments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|segment| Segment { queries: range(&segment[0]), keys: range(&segment[1]) })
        .collect();
    let transform = Transform::choose(queries, keys, &segments, Scale::Auto, true).unwrap();
    near(transform.c, reference["c"].as_f64().unwrap(), 1e-6);
    for (actual, expected) in transform.translation.iter().zip(numbers(&reference["translation"])) {
        near(*actual, expected, 1e-6);
    }
    let found = Correlations::of(queries, keys, &segments, &transform, true, &to_the_end).unwrap();
    assert_eq!((found.n_pairs, found.n_ranked), (4 * 6 + 5 * 7, 4 * 6 + 5 * 7));
    let compare = |actual: Correlation, expected: &Value| {
        for (actual, expected) in [(actual.pooled, &expected["pooled"]), (actual.per_query, &expected["per_query"])] {
            near(actual.pearson.unwrap(), expected["pearson"].as_f64().unwrap(), 1e-6);
            near(actual.spearman.unwrap(), expected["spearman"].as_f64().unwrap(), 1e-6);
        }
    };
    compare(found.before, &reference["before"]);
    compare(found.after, &reference["after"]);
    let quick = Correlations::of(queries, keys, &segments, &transform, false, &to_the_end).unwrap();
    assert_eq!(quick.after.pooled.spearman.or(quick.before.per_query.spearman), None);
    assert_eq!(quick.after.per_query.pearson, found.after.per_query.pearson);
    let joint = transform.apply(queries, keys).unwrap();
    let pca = Pca::fit(points(&joint, width), 3).unwrap();
    for (actual, expected) in pca.explained().iter().zip(numbers(&reference["explained"])) {
        near(*actual, expected, 1e-6);
    }
    for (actual, expected) in pca.layout(points(&joint, width)).iter().zip(numbers(&reference["pca"])) {
        near(f64::from(*actual), expected, 1e-4);
    }
}

#[test]
fn affinities_and_measures_are_numpys() {
    let reference = &reference()["points"];
    let width = reference["width"].as_u64().unwrap() as usize;
    let (values, layout) = (singles(&reference["values"]), singles(&reference["layout"]));
    let (high, low) = (points(&values, width), points(&layout, 2));
    let perplexity = reference["perplexity"].as_f64().unwrap() as f32;
    let neighbors = Neighbors::find(high, 21, Metric::Euclidean, &to_the_end).unwrap();
    let affinities = Affinities::of(&neighbors, perplexity);
    let expected = numbers(&reference["affinities"]);
    let mut dense = vec![0.0f64; expected.len()];
    for i in 0..high.n() {
        let (columns, weights) = affinities.row(i);
        for (&j, &weight) in columns.iter().zip(weights) {
            dense[i * high.n() + j as usize] += f64::from(weight);
        }
    }
    near(dense.iter().sum(), 1.0, 1e-6);
    for (actual, expected) in dense.iter().zip(&expected) {
        // The entropy is found to 1e-5, which is about as much of each probability.
        near(*actual, *expected, 1e-8 + 3e-5 * expected);
    }
    near(quality::divergence(&affinities, low).unwrap(), reference["divergence"].as_f64().unwrap(), 1e-4);
    let trust = &reference["trustworthiness"];
    let k = trust["k"].as_u64().unwrap() as usize;
    near(quality::trustworthiness(high, low, k, &to_the_end).unwrap(), trust["value"].as_f64().unwrap(), 1e-9);
    assert_eq!(quality::trustworthiness(high, high, k, &to_the_end).unwrap(), 1.0);
    assert_eq!(quality::recall(high, high, k, &to_the_end).unwrap(), 1.0);
    assert!(quality::recall(high, low, k, &to_the_end).unwrap() < 1.0);
}

/// Every neighbour and its distance, against all distances sorted.
#[test]
fn neighbors_are_the_nearest() {
    let mut random = Random(1);
    for (n, width, k) in [(2, 3, 1), (7, 1, 3), (130, 33, 20), (300, 16, 299), (61, 40, 90)] {
        let mut values = random.cloud(n, width);
        // A few points are the same.
        let copy = values[..width].to_vec();
        values[(n - 1) * width..].copy_from_slice(&copy);
        for metric in [Metric::Euclidean, Metric::Cosine] {
            let found = Neighbors::find(points(&values, width), k, metric, &to_the_end).unwrap();
            assert_eq!(found.k(), k.min(n - 1));
            for i in 0..n {
                let row = |i: usize| values[i * width..(i + 1) * width].iter().map(|&x| f64::from(x));
                let dot = |i: usize, j: usize| row(i).zip(row(j)).map(|(x, y)| x * y).sum::<f64>();
                let distance = |j: usize| match metric {
                    Metric::Euclidean => row(i).zip(row(j)).map(|(x, y)| (x - y).powi(2)).sum::<f64>().sqrt(),
                    Metric::Cosine => 1.0 - dot(i, j) / (dot(i, i) * dot(j, j)).sqrt(),
                };
                let mut all: Vec<f64> = (0..n).filter(|&j| j != i).map(distance).collect();
                all.sort_by(f64::total_cmp);
                let (indices, distances) = found.of(i);
                for ((&j, &actual), expected) in indices.iter().zip(distances).zip(&all) {
                    assert_ne!(j as usize, i);
                    near(f64::from(actual), *expected, 2e-5);
                    near(f64::from(actual), distance(j as usize), 2e-5);
                }
                let mut seen = indices.to_vec();
                seen.sort_unstable();
                seen.dedup();
                assert_eq!(seen.len(), found.k(), "no neighbour twice");
            }
        }
    }
}

#[test]
fn a_point_at_the_origin_has_a_cosine_distance() {
    let values = [0.0, 0.0, 1.0, 0.0, 0.0, 2.0, 0.0, 0.0];
    let found = Neighbors::find(points(&values, 2), 3, Metric::Cosine, &to_the_end).unwrap();
    assert_eq!(found.of(0), (&[3, 1, 2][..], &[0.0, 1.0, 1.0][..]));
}

/// `softmax(q' · k'')` is `softmax(q · k)`, whatever the scale and the translation of the keys.
#[test]
fn scale_and_translation_leave_softmax_alone() {
    let mut random = Random(5);
    let (q, k) = (random.cloud(11, 6), random.cloud(14, 6));
    let (queries, keys) = (points(&q, 6), points(&k, 6));
    let softmax = |q: &[f32], k: &[f32]| {
        let scores: Vec<f64> =
            k.chunks(6).map(|k| q.iter().zip(k).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum::<f64>()).collect();
        let sum: f64 = scores.iter().map(|score| score.exp()).sum();
        scores.into_iter().map(move |score| score.exp() / sum).collect::<Vec<f64>>()
    };
    for scale in [Scale::Auto, Scale::None, Scale::Fixed(0.3), Scale::Search] {
        let transform = Transform::choose(queries, keys, &Segment::whole(11, 14), scale, true).unwrap();
        let joint = transform.apply(queries, keys).unwrap();
        let (moved_q, moved_k) = joint.split_at(q.len());
        for (raw, moved) in q.chunks(6).zip(moved_q.chunks(6)) {
            for (x, y) in softmax(raw, &k).into_iter().zip(softmax(moved, moved_k)) {
                near(y, x, 1e-6);
            }
        }
        let mean =
            |values: &[f32], axis: usize| values.iter().skip(axis).step_by(6).sum::<f32>() / (values.len() / 6) as f32;
        for axis in 0..6 {
            assert!((mean(moved_q, axis) - mean(moved_k, axis)).abs() < 1e-5, "the clouds share their mean");
        }
    }
}

#[test]
fn a_searched_scale_is_no_worse_than_any_other() {
    let mut random = Random(9);
    let (q, k) = (random.cloud(40, 8), random.cloud(50, 8));
    let q: Vec<f32> = q.into_iter().map(|x| x * 5.0).collect();
    let (queries, keys) = (points(&q, 8), points(&k, 8));
    let segments = Segment::whole(40, 50);
    let pooled = |c: f64| {
        let transform = Transform { c, translation: vec![0.0; 8] };
        let found = Correlations::of(queries, keys, &segments, &transform, true, &to_the_end).unwrap();
        found.after.pooled.pearson.unwrap()
    };
    let best = Transform::choose(queries, keys, &segments, Scale::Search, false).unwrap().c;
    for step in -20..=20 {
        assert!(pooled(best) <= pooled(best * (0.1 * f64::from(step)).exp()) + 1e-9, "{best} at {step}");
    }
    // Random clouds are best where the norms are equal.
    assert!((1.5..3.5).contains(&best), "{best}");
}

/// 1 and 2 threads, and the pool that is there: the same bytes.
#[test]
fn layouts_do_not_depend_on_the_number_of_threads() {
    let (values, _) = blobs(1500, 7, 6);
    let layouts = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let cloud = points(&values, 7);
            let mut bytes = Vec::new();
            for dims in [2, 3] {
                let metric = if dims == 2 { Metric::Euclidean } else { Metric::Cosine };
                let options =
                    TsneOptions { dims, metric, iterations: 25, exaggerated_iterations: 12, ..Default::default() };
                let mut tsne = Tsne::new(cloud, options).unwrap();
                while !tsne.finished() {
                    tsne.step();
                }
                let mut umap =
                    Umap::new(cloud, &UmapOptions { dims, metric, epochs: Some(12), ..Default::default() }).unwrap();
                while !umap.finished() {
                    umap.step();
                }
                bytes.extend(tsne.layout().iter().chain(umap.layout()).flat_map(|x| x.to_bits().to_le_bytes()));
                bytes.extend(tsne.divergence().to_bits().to_le_bytes());
                bytes.extend(
                    Pca::fit(cloud, dims).unwrap().layout(cloud).iter().flat_map(|x| x.to_bits().to_le_bytes()),
                );
            }
            bytes
        })
    };
    let one = layouts(1);
    assert!(one == layouts(2) && one == layouts(3));
}

fn finished(values: &[f32], width: usize, options: TsneOptions) -> Tsne {
    let mut tsne = Tsne::new(points(values, width), options).unwrap();
    while !tsne.finished() {
        tsne.step();
    }
    tsne
}

#[test]
fn tsne_gets_better_all_the_time_and_than_pca() {
    let (values, labels) = blobs(300, 8, 5);
    for dims in [2, 3] {
        let options =
            TsneOptions { dims, perplexity: 15.0, iterations: 400, exaggerated_iterations: 100, ..Default::default() };
        let mut tsne = Tsne::new(points(&values, 8), options.clone()).unwrap();
        let start = tsne.divergence();
        let mut seen = Vec::new();
        while !tsne.finished() {
            tsne.step();
            if tsne.iteration() >= 150 && tsne.iteration() % 50 == 0 {
                seen.push(tsne.divergence());
            }
        }
        assert!(seen.is_sorted_by(|a, b| b <= a), "{seen:?}");
        assert!(seen[0] < start && seen[seen.len() - 1] < 0.6, "{start} {seen:?}");
        let cloud = points(&values, 8);
        let affinities = Affinities::of(&Neighbors::find(cloud, 45, Metric::Euclidean, &to_the_end).unwrap(), 15.0);
        let pca = Pca::fit(cloud, dims).unwrap().layout(cloud);
        assert!(tsne.divergence() < quality::divergence(&affinities, points(&pca, dims)).unwrap());
        near(tsne.divergence(), quality::divergence(&affinities, points(tsne.layout(), dims)).unwrap(), 1e-9);
        let together = Gathering::of_labels(points(tsne.layout(), dims), &labels, 10, &to_the_end).unwrap();
        assert!(together.score() > 0.98, "{together:?}");
        // Groups that act as one cost next to nothing against all pairs.
        let exact = finished(&values, 8, TsneOptions { theta: 0.0, ..options });
        assert!((tsne.divergence() - exact.divergence()).abs() < 0.03, "{} {}", tsne.divergence(), exact.divergence());
    }
}

#[test]
fn umap_keeps_clusters_apart() {
    let (values, labels) = blobs(400, 8, 5);
    let cloud = points(&values, 8);
    for dims in [2, 3] {
        let mut umap = Umap::new(cloud, &UmapOptions { dims, epochs: Some(200), ..Default::default() }).unwrap();
        while !umap.finished() {
            umap.step();
        }
        let layout = points(umap.layout(), dims);
        let trust = quality::trustworthiness(cloud, layout, 12, &to_the_end).unwrap();
        let together = Gathering::of_labels(layout, &labels, 10, &to_the_end).unwrap();
        assert!(trust > 0.95 && together.score() > 0.98, "{trust} {together:?}");
        near(together.chance, 79.0 / 399.0, 1e-12);
    }
}

#[test]
fn gathering_is_measured_against_chance() {
    let line: Vec<f32> = (0..40).flat_map(|i| [i as f32, 0.0]).collect();
    let layout = points(&line, 2);
    let marked: Vec<bool> = (0..40).map(|i| i < 10).collect();
    let together = Gathering::of_marked(layout, &marked, 2, &to_the_end).unwrap();
    near(together.chance, 9.0 / 39.0, 1e-12);
    // Only the last marked point has a neighbour that is not.
    near(together.hit, 19.0 / 20.0, 1e-12);
    let spread: Vec<bool> = (0..40).map(|i| i % 4 == 0).collect();
    assert!(Gathering::of_marked(layout, &spread, 2, &to_the_end).unwrap().score() < 0.0);
}

/// One, two and a few points, equal points, constant columns, huge and tiny ones: a finite layout.
#[test]
fn odd_points_have_finite_layouts() {
    let mut random = Random(2);
    let constant: Vec<f32> = (0..50).flat_map(|i| [1.0, i as f32, -3.0]).collect();
    let half_equal: Vec<f32> = (0..80).flat_map(|i| [if i < 40 { 0.5 } else { i as f32 }, 1.0]).collect();
    let clouds: Vec<(Vec<f32>, usize)> = vec![
        (vec![3.0, 1.0], 2),
        (vec![3.0, 1.0, 2.0, -1.0], 2),
        (vec![1.0; 4], 2),
        (random.cloud(3, 4), 4),
        (random.cloud(5, 1), 1),
        (random.cloud(17, 3), 3),
        (vec![7.0; 60], 3),
        (vec![0.0; 90], 3),
        (constant, 3),
        (half_equal, 2),
        (random.cloud(40, 3).iter().map(|x| x * 1e38).collect(), 3),
        (random.cloud(40, 3).iter().map(|x| x * 1e-40).collect(), 3),
    ];
    for (at, (values, width)) in clouds.iter().enumerate() {
        let cloud = points(values, *width);
        for (dims, metric) in [(2, Metric::Euclidean), (3, Metric::Euclidean), (2, Metric::Cosine)] {
            let options =
                TsneOptions { dims, metric, iterations: 60, exaggerated_iterations: 30, ..Default::default() };
            let mut tsne = Tsne::new(cloud, options).unwrap();
            let mut umap =
                Umap::new(cloud, &UmapOptions { dims, metric, epochs: Some(30), ..Default::default() }).unwrap();
            for _ in 0..70 {
                tsne.step();
                umap.step();
            }
            let pca = Pca::fit(cloud, dims).unwrap();
            for layout in [tsne.layout(), umap.layout(), &pca.layout(cloud)] {
                assert_eq!(layout.len(), cloud.n() * dims);
                assert!(layout.iter().all(|x| x.is_finite()), "cloud {at}: {layout:?}");
            }
            assert!(tsne.divergence().is_finite() && tsne.perplexity() <= (cloud.n() as f32 / 3.0).max(1.0));
            assert!(pca.explained().iter().sum::<f64>() <= 1.0 + 1e-9);
            if cloud.n() > 1 {
                let apart = |layout: &[f32]| layout.iter().any(|x| *x != layout[0]);
                assert!(apart(tsne.layout()) && apart(umap.layout()), "cloud {at}: equal points get a little room");
            }
        }
    }
}

/// The size of the points does not matter, to the last bit.
#[test]
fn layouts_do_not_depend_on_units() {
    let values = Random(3).cloud(90, 5);
    let scaled: Vec<f32> = values.iter().map(|x| x * 2.0f32.powi(80)).collect();
    let options = TsneOptions { iterations: 30, exaggerated_iterations: 10, ..Default::default() };
    assert_eq!(finished(&values, 5, options.clone()).layout(), finished(&scaled, 5, options).layout());
}

#[test]
fn what_cannot_be_laid_out_is_said() {
    let error = |values: &[f32], n: usize, width: usize| Points::new(values, n, width).unwrap_err();
    assert_eq!(error(&[], 0, 3), ProjectionError::NoPoints);
    assert!(error(&[1.0, 2.0, 3.0], 2, 2).to_string().starts_with("3 values are not 2 points of 2"));
    assert_eq!(error(&[1.0, 2.0, f32::NAN, 4.0], 2, 2), ProjectionError::NotFinite { point: 1, coordinate: 0 });
    assert_eq!(error(&[1.0, f32::INFINITY], 1, 2), ProjectionError::NotFinite { point: 0, coordinate: 1 });
    let values = Random(4).cloud(10, 3);
    let cloud = points(&values, 3);
    let tsne = |options: TsneOptions| Tsne::new(cloud, options).unwrap_err().to_string();
    let defaults = TsneOptions::default;
    assert_eq!(tsne(TsneOptions { dims: 4, ..defaults() }), "a layout has 2 or 3 dimensions, not 4");
    assert!(tsne(TsneOptions { perplexity: 0.5, ..defaults() }).starts_with("perplexity is 0.5, but must be"));
    assert!(tsne(TsneOptions { perplexity: f32::NAN, ..defaults() }).contains("perplexity"));
    assert!(tsne(TsneOptions { momentum: [0.5, 1.0], ..defaults() }).contains("momentum"));
    assert!(tsne(TsneOptions { learning_rate: Some(-1.0), ..defaults() }).contains("learning rate"));
    let umap = |options: UmapOptions| Umap::new(cloud, &options).unwrap_err().to_string();
    let defaults = UmapOptions::default;
    assert!(umap(UmapOptions { neighbors: 1, ..defaults() }).contains("neighbors is 1"));
    assert!(umap(UmapOptions { min_dist: 2.0, ..defaults() }).contains("min-dist is 2"));
    assert!(umap(UmapOptions { spread: 0.0, ..defaults() }).contains("spread"));
    let short = points(&values[..9], 1);
    let choose = |scale| Transform::choose(cloud, cloud, &[], scale, true).unwrap_err().to_string();
    assert!(choose(Scale::Fixed(0.0)).contains("scale is 0") && choose(Scale::Fixed(f64::NAN)).contains("scale"));
    let widths = Transform::choose(cloud, short, &[], Scale::Auto, true).unwrap_err();
    assert_eq!(widths, ProjectionError::Widths { queries: 3, keys: 1 });
    let beyond = [Segment { queries: 0..11, keys: 0..3 }];
    let transform = Transform::identity(3);
    assert!(
        Correlations::of(cloud, cloud, &beyond, &transform, true, &to_the_end)
            .unwrap_err()
            .to_string()
            .contains("0..11")
    );
}

/// Fewer points than a perplexity needs lower it.
#[test]
fn perplexity_gives_way_to_few_points() {
    let values = Random(6).cloud(31, 3);
    let tsne = Tsne::new(points(&values, 3), TsneOptions::default()).unwrap();
    assert_eq!(tsne.perplexity(), 10.0);
    assert_eq!(tsne.options().perplexity, 30.0);
}

#[test]
fn long_searches_stop_when_told() {
    let values = Random(8).cloud(2000, 3);
    let cloud = points(&values, 3);
    let calls = AtomicUsize::new(0);
    let stop = |_: usize, _: usize| calls.fetch_add(1, Ordering::Relaxed) < 2;
    let stopped = Err(ProjectionError::Stopped);
    assert_eq!(Neighbors::find(cloud, 5, Metric::Euclidean, &stop).map(|_| ()), stopped);
    // Whoever had begun a block ends it; nobody begins another.
    assert!(calls.load(Ordering::Relaxed) <= 2 + rayon::current_num_threads().max(2));
    assert_eq!(Tsne::prepare(cloud, TsneOptions::default(), &stop).map(|_| ()), stopped);
    assert_eq!(Umap::prepare(cloud, &UmapOptions::default(), &stop).map(|_| ()), stopped);
    assert_eq!(quality::trustworthiness(cloud, cloud, 5, &stop).map(|_| ()), stopped);
    let whole = Segment::whole(2000, 2000);
    assert_eq!(Correlations::of(cloud, cloud, &whole, &Transform::identity(3), true, &stop).map(|_| ()), stopped);
}
