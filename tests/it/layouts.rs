//! Layouts of points: against laws, the same on any number of threads, and for odd input.

use std::sync::atomic::{AtomicUsize, Ordering};

use attnscope::projection::{
    Affinities, Metric, Neighbors, Pca, Points, ProjectionError,
    correlation::{Correlations, InputSegment},
    quality::{self, Gathering},
    space::{Scale, Transform},
    to_the_end,
    tsne::{Tsne, TsneOptions},
    umap::{Umap, UmapOptions},
};

use crate::support::clouds::{Random, blobs, near, points};

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
            if tsne.iteration() >= 150 && tsne.iteration().is_multiple_of(50) {
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
    let beyond = [InputSegment { queries: 0..11, keys: 0..3 }];
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
    let whole = InputSegment::whole(2000, 2000);
    assert_eq!(Correlations::of(cloud, cloud, &whole, &Transform::identity(3), true, &stop).map(|_| ()), stopped);
}
