//! Joint space, neighbours and measures of a layout: against numpy, and against their definitions.

use std::{fs, path::Path};

use attnscope::projection::{
    Affinities, Metric, Neighbors, Pca,
    clustering::{Clustering, Marked},
    correlation::{self, Correlation, Correlations, InputSegment, ScaleProbe},
    quality::{self, Gathering},
    space::{Norms, Scale, Transform},
    to_the_end,
};
use serde_json::Value;

use crate::support::clouds::{Random, blobs, near, points};

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

#[test]
fn joint_space_and_its_correlations_are_numpys() {
    let reference = &reference()["head"];
    let width = reference["width"].as_u64().unwrap() as usize;
    let (queries, keys) = (singles(&reference["queries"]), singles(&reference["keys"]));
    let (queries, keys) = (points(&queries, width), points(&keys, width));
    let range = |ends: &Value| ends[0].as_u64().unwrap() as usize..ends[1].as_u64().unwrap() as usize;
    let segments: Vec<InputSegment> = reference["segments"]
        .as_array()
        .unwrap()
        .iter()
        .map(|segment| InputSegment { queries: range(&segment[0]), keys: range(&segment[1]) })
        .collect();
    let transform = Transform::choose(queries, keys, &segments, Scale::Auto, true).unwrap();
    near(transform.c, reference["c"].as_f64().unwrap(), 1e-6);
    for (actual, expected) in transform.translation.iter().zip(numbers(&reference["translation"])) {
        near(*actual, expected, 1e-6);
    }
    let found = Correlations::of(queries, keys, &segments, &transform, true, &to_the_end).unwrap();
    assert_eq!((found.n_pairs, found.n_measured, found.n_ranked), (4 * 6 + 5 * 7, 4 * 6 + 5 * 7, 4 * 6 + 5 * 7));
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
        let transform = Transform::choose(queries, keys, &InputSegment::whole(11, 14), scale, true).unwrap();
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
    let segments = InputSegment::whole(40, 50);
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

/// A probe at any scale, with and without translation, is what all pairs give after that transform.
#[test]
fn correlations_at_a_scale_are_those_of_the_transform() {
    let mut random = Random(3);
    let (q, k) = (random.cloud(30, 8), random.cloud(24, 8));
    let q: Vec<f32> = q.into_iter().map(|x| x * 3.0 + 1.0).collect();
    let (queries, keys) = (points(&q, 8), points(&k, 8));
    let segments = [InputSegment { queries: 0..12, keys: 0..10 }, InputSegment { queries: 12..30, keys: 10..24 }];
    for translate in [false, true] {
        let probe = ScaleProbe::new(queries, keys, &segments, translate).unwrap();
        assert_eq!(probe.n_pairs(), 12 * 10 + 18 * 14);
        for c in [0.2, 1.0, 1.7, 5.0] {
            let transform = Transform::choose(queries, keys, &segments, Scale::Fixed(c), translate).unwrap();
            let all = Correlations::of(queries, keys, &segments, &transform, false, &to_the_end).unwrap().after;
            let step = probe.at(c);
            near(step.pooled.unwrap(), all.pooled.pearson.unwrap(), 1e-6);
            near(step.per_query.unwrap(), all.per_query.pearson.unwrap(), 1e-6);
        }
    }
    // The naive measure always wants the smallest scale.
    let probe = ScaleProbe::new(queries, keys, &segments, false).unwrap();
    let naive: Vec<f64> = [0.05, 0.2, 1.0, 5.0].map(|c| probe.at(c).per_query.unwrap()).to_vec();
    assert!(naive.is_sorted() && naive[0] < -0.999, "{naive:?}");
    let best = probe.best(1.0);
    assert!(probe.at(best).pooled < probe.at(0.2).pooled && probe.at(best).pooled < probe.at(5.0).pooled);
    // The toy of the definition: mean Pearson per query for scales, numpy's numbers.
    let (q, k) = ([2.0, 1.0, 1.5, -0.5, 3.0, 0.5], [-0.5, 0.2, 0.1, -0.3, 0.4, 0.6, -0.2, -0.4]);
    let toy = ScaleProbe::new(points(&q, 2), points(&k, 2), &InputSegment::whole(3, 4), false).unwrap();
    let expected = [(0.2, -0.999_993), (0.8, -0.997_723), (1.0, -0.993_821), (2.5, -0.804_219), (5.0, 0.001_710)];
    for (c, expected) in expected {
        near(toy.at(c).per_query.unwrap(), expected, 1e-6);
    }
}

#[test]
fn sampled_pairs_are_pairs_and_spread_over_all_inputs() {
    let mut random = Random(11);
    let (q, k) = (random.cloud(50, 4), random.cloud(60, 4));
    let (queries, keys) = (points(&q, 4), points(&k, 4));
    let segments = [InputSegment { queries: 0..20, keys: 0..30 }, InputSegment { queries: 20..50, keys: 30..60 }];
    let transform = Transform::choose(queries, keys, &segments, Scale::Auto, true).unwrap();
    let joint = transform.apply(queries, keys).unwrap();
    let all = correlation::sample(queries, keys, &segments, &transform, usize::MAX).unwrap();
    assert_eq!(all.len(), 20 * 30 + 30 * 30);
    let some = correlation::sample(queries, keys, &segments, &transform, 100).unwrap();
    assert_eq!(some.len(), 100);
    assert_eq!(some.iter().filter(|pair| pair.query < 20).count(), 40, "as many as the input has pairs");
    assert!(some.windows(2).all(|two| (two[0].query, two[0].key) < (two[1].query, two[1].key)), "no pair twice");
    let columns: std::collections::BTreeSet<u32> = some.iter().map(|pair| pair.key).collect();
    assert!(columns.len() > 40, "not the same keys in every row: {}", columns.len());
    for pair in some.iter().chain(&all) {
        let segment = &segments[usize::from(pair.query >= 20)];
        assert!(segment.queries.contains(&(pair.query as usize)) && segment.keys.contains(&(pair.key as usize)));
        let (x, y) = (queries.row(pair.query as usize), keys.row(pair.key as usize));
        let (i, j) = (pair.query as usize, queries.n() + pair.key as usize);
        let distance = |x: &[f32], y: &[f32]| x.iter().zip(y).map(|(x, y)| (x - y).powi(2)).sum::<f32>().sqrt();
        near(f64::from(pair.dot), x.iter().zip(y).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum(), 1e-5);
        near(f64::from(pair.before), f64::from(distance(x, y)), 1e-5);
        let after = distance(&joint[4 * i..4 * (i + 1)], &joint[4 * j..4 * (j + 1)]);
        near(f64::from(pair.after), f64::from(after), 1e-5);
    }
    let norms = Norms::of(points(&[3.0, 4.0, 0.0, 1.0], 2), points(&[0.0, 2.0], 2));
    assert_eq!((norms.queries, norms.keys, norms.disparity()), (3.0, 2.0, Some(1.5)));
}

/// Marked points of a planted cluster against shuffled marks, whatever the number of points.
#[test]
fn a_planted_cluster_stands_out_and_shuffled_marks_do_not() {
    for n in [400, 40_000] {
        let (values, labels) = blobs(n, 8, 8);
        let cloud = points(&values, 8);
        let owners: Vec<u32> = (0..n as u32).collect();
        let kinds: Vec<u32> = (0..n as u32).map(|i| i / 8 % 5).collect();
        let score = |marked: &[bool]| {
            Clustering::of(Marked { points: cloud, owners: &owners, kinds: &kinds, marked }, 10, &to_the_end).unwrap()
        };
        let planted = score(&labels.iter().map(|&label| label == 3).collect::<Vec<_>>());
        let (any, across) = (planted.any.unwrap(), planted.across.unwrap());
        assert!(any.score() > 0.98 && across.score() > 0.98, "{planted:?}");
        assert_eq!((planted.n_looked, planted.n_among), ((n / 8).min(256), n.min(1 << 15)));
        let mut random = Random(5);
        let shuffled = score(&(0..n).map(|_| random.symmetric() > 0.75).collect::<Vec<_>>());
        assert!(shuffled.score().unwrap().abs() < 0.05, "{shuffled:?}");
        near(shuffled.any.unwrap().chance, 0.125, 0.03);
    }
}

/// Against every distance sorted: owners and kinds are left out, and few marked points can still reach 1.
#[test]
fn clustering_counts_what_is_nearest() {
    // Two words, three tokens of the first and one of the second; a token has a query and a key at the same place.
    let line = [0.0, 1.0, 2.0, 3.0, 9.0, 10.0];
    let values: Vec<f32> = line.iter().chain(&line).copied().collect();
    let owners: Vec<u32> = (0..6).chain(0..6).collect();
    let kinds: Vec<u32> = [0, 0, 0, 1, 2, 3].repeat(2);
    let marked: Vec<bool> = [true, true, true, true, false, false].repeat(2);
    let cloud = Marked { points: points(&values, 1), owners: &owners, kinds: &kinds, marked: &marked };
    let found = Clustering::of(cloud, 10, &to_the_end).unwrap();
    // Six marked points can be found by each, and are the nearest.
    assert_eq!((found.any.unwrap().hit, found.n_looked, found.n_among), (1.0, 8, 12));
    near(found.any.unwrap().chance, 0.6, 1e-12);
    // Of the first word's tokens the two points of the other are the nearest of other kinds; the other way round six.
    near(found.across.unwrap().hit, 1.0, 1e-12);
    near(found.across.unwrap().chance, (6.0 * 2.0 / 6.0 + 2.0 * 6.0 / 10.0) / 8.0, 1e-12);
    let far: Vec<bool> = [true, false, false, false, false, true].repeat(2);
    let found = Clustering::of(Marked { marked: &far, ..cloud }, 10, &to_the_end).unwrap();
    assert_eq!(found.any.unwrap().hit, 0.0);
    let none = Clustering::of(Marked { marked: &[false; 12], ..cloud }, 10, &to_the_end).unwrap();
    assert_eq!((none.any, none.across, none.score()), (None, None, None));
    assert!(Clustering::of(Marked { marked: &[true], ..cloud }, 10, &to_the_end).is_err());
    assert!(Clustering::of(cloud, 10, &|_, _| false).is_err());
}
