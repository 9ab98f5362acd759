//! The joint query–key space: worked numbers, invariances, cancellation.

use std::sync::Arc;

use attnscope::{
    analysis::{
        PointCloud,
        projection::{self, HeadProjection, ProjectionOptions, ScaleChoice},
    },
    capture::Matrix,
    ids::{HeadId, StackKind},
    projection::correlation::InputSegment,
};

use crate::support::synthetic::{self, Random};

fn matrix(rows: &[[f32; 2]]) -> Matrix {
    Matrix::new(rows.concat(), [rows.len(), 2]).unwrap()
}

fn project_one([q, k]: [&Matrix; 2], options: ProjectionOptions) -> Option<HeadProjection> {
    projection::project_points([q, k], &InputSegment::whole(q.n_rows(), k.n_rows()), HeadId::single(0, 0), options)
}

fn untranslated() -> ProjectionOptions {
    ProjectionOptions { translate_keys: false, ..ProjectionOptions::default() }
}

fn worked_example(options: ProjectionOptions) -> HeadProjection {
    let q = matrix(&[[2.0, 1.0], [1.5, -0.5], [3.0, 0.5]]);
    let k = matrix(&[[-0.5, 0.2], [0.1, -0.3], [0.4, 0.6], [-0.2, -0.4]]);
    project_one([&q, &k], options).unwrap()
}

fn near(actual: f32, expected: f32) {
    assert!((actual - expected).abs() < 2e-6, "{actual} is not {expected}");
}

#[test]
fn worked_numbers_of_scale_and_correlation() {
    let unscaled = worked_example(ProjectionOptions { scale: ScaleChoice::None, ..ProjectionOptions::default() });
    near(unscaled.correlation_before, -0.993_821);
    near(unscaled.correlation_after, -0.336_905);
    near(worked_example(ProjectionOptions::default()).c, 2.129_995);
    for (c, expected) in [
        (0.2, -0.999_993),
        (0.4, -0.999_882),
        (0.8, -0.997_723),
        (1.0, -0.993_821),
        (1.25, -0.983_443),
        (2.5, -0.804_219),
        (5.0, 0.001_710),
    ] {
        let options = ProjectionOptions { scale: ScaleChoice::Fixed(c), ..untranslated() };
        near(worked_example(options).correlation_after, expected);
    }
}

#[test]
fn translated_keys_share_the_mean_of_the_queries() {
    let cloud = PointCloud::Input(Arc::new(synthetic::text_capture(20, 2, 5)));
    let projection =
        projection::project(&cloud, StackKind::SelfAttention, ProjectionOptions::default(), &mut |_, _| true).unwrap();
    let mean = |points: &[[f32; 3]], axis: usize| points.iter().map(|p| p[axis]).sum::<f32>() / points.len() as f32;
    assert_eq!(projection.heads.len(), 10);
    for head in &projection.heads {
        assert_eq!((head.queries.len(), head.keys.len()), (20, 20));
        for axis in [0, 1] {
            assert!((mean(&head.queries, axis) - mean(&head.keys, axis)).abs() < 1e-4, "{}", head.head);
        }
        assert!(head.explained[0] >= head.explained[1] && head.explained[0] + head.explained[1] <= 1.0 + 1e-6);
    }
}

#[test]
fn two_dimensions_lose_nothing_and_distances_stay() {
    let head = worked_example(ProjectionOptions { scale: ScaleChoice::None, ..untranslated() });
    near(head.explained.iter().sum(), 1.0);
    let distance = |a: [f32; 3], b: [f32; 3]| (a[0] - b[0]).hypot(a[1] - b[1]);
    near(distance(head.queries[0], head.keys[0]), 2.5f32.hypot(0.8));
    near(distance(head.queries[1], head.queries[2]), 1.5f32.hypot(1.0));
}

/// Turning all of q and k together turns the cloud, not the picture of it (up to mirroring).
#[test]
fn rotating_the_space_leaves_the_plane_alone() {
    let (n, d) = (17, 6);
    let mut random = Random(3);
    let mut cloud =
        || -> Vec<f32> { (0..n * d).map(|at| random.symmetric() * [4.0, 2.0, 1.0, 0.5, 0.3, 0.2][at % d]).collect() };
    let (q, k) = (cloud(), cloud());
    let turn = |points: &[f32]| -> Matrix {
        let mut points = points.to_vec();
        for (axis, angle) in [(0usize, 0.7f32), (2, 1.9), (1, -0.4), (4, 2.5), (3, 0.3)] {
            let (sin, cos) = angle.sin_cos();
            for point in points.chunks_exact_mut(d) {
                let (a, b) = (point[axis], point[axis + 1]);
                point[axis] = cos * a - sin * b;
                point[axis + 1] = sin * a + cos * b;
            }
        }
        Matrix::new(points, [n, d]).unwrap()
    };
    let project = |q: &Matrix, k: &Matrix| project_one([q, k], ProjectionOptions::default()).unwrap();
    let as_is = project(&Matrix::new(q.clone(), [n, d]).unwrap(), &Matrix::new(k.clone(), [n, d]).unwrap());
    let turned = project(&turn(&q), &turn(&k));
    assert!((as_is.c - turned.c).abs() < 1e-4);
    assert!((as_is.correlation_after - turned.correlation_after).abs() < 1e-4);
    for axis in [0, 1] {
        let sign = (as_is.queries[0][axis] * turned.queries[0][axis]).signum();
        for (a, b) in as_is.queries.iter().chain(&as_is.keys).zip(turned.queries.iter().chain(&turned.keys)) {
            assert!((a[axis] - sign * b[axis]).abs() < 1e-3, "{a:?} {b:?}");
        }
    }
}

#[test]
fn a_refused_step_cancels_the_projection() {
    let cloud = PointCloud::Input(Arc::new(synthetic::text_capture(8, 3, 5)));
    let mut calls = Vec::new();
    let cancelled =
        projection::project(&cloud, StackKind::SelfAttention, ProjectionOptions::default(), &mut |done, total| {
            calls.push((done, total));
            done == 0
        });
    assert!(cancelled.is_none());
    assert!(calls[0] == (0, 15) && calls[1].0 > 0 && calls.len() == 2, "{calls:?}");
    assert!(projection::project(&cloud, StackKind::Cross, ProjectionOptions::default(), &mut |_, _| true).is_none());
}

#[test]
fn odd_clouds_do_not_break_the_projection() {
    let project = |q: &Matrix, k: &Matrix, options| project_one([q, k], options);
    let point = matrix(&[[0.0, 0.0]]);
    let head = project(&point, &point, ProjectionOptions::default()).unwrap();
    assert_eq!((head.c, head.explained, head.queries[0]), (1.0, [0.0; 3], [0.0; 3]));
    assert!(head.correlation_after.is_nan(), "one key has no correlation");
    let line = Matrix::new(vec![1.0, 2.0, 3.0], [3, 1]).unwrap();
    assert_eq!(project(&line, &line, ProjectionOptions::default()).unwrap().queries[0][1], 0.0);
    let broken = matrix(&[[f32::NAN, 1.0], [0.0, 1.0]]);
    assert!(project(&broken, &broken, ProjectionOptions::default()).is_none());
}
