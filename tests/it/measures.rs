//! Joint space, neighbours and measures of a layout: against numpy, and against their definitions.

use std::{fs, path::Path};

use attnscope::projection::{
    Affinities, Metric, Neighbors, Pca,
    correlation::{Correlation, Correlations, Segment},
    quality::{self, Gathering},
    space::{Scale, Transform},
    to_the_end,
};
use serde_json::Value;

use crate::support::clouds::{Random, near, points};

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
