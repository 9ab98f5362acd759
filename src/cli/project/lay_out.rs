//! One head, or another cell of a space: joint space, correlations, coordinates.

use std::{borrow::Cow, time::Instant};

use super::{
    clouds::Clouds,
    milliseconds,
    options::{ProjectOptions, Translation},
};
use crate::{
    capture::Matrix,
    cli::layout::Method,
    ids::HeadId,
    projection::{
        Neighbors, Pca, Points, ProjectionError,
        correlation::Correlations,
        space::{Norms, Transform},
        to_the_end,
        tsne::Tsne,
        umap::Umap,
    },
};

/// One head's coordinates and what is to be said about them.
pub struct HeadLayout {
    pub head: HeadId,
    /// `[queries + keys, dims]`.
    pub layout: Vec<f32>,
    pub n_queries: usize,
    pub n_points: usize,
    /// Of queries and keys.
    pub joint: Option<JointFacts>,
    /// Mean length of the points, where they are of one kind.
    pub norm: Option<f64>,
    /// Fractions of variance, of PCA.
    pub explained: Option<Vec<f64>>,
    /// Kullback–Leibler divergence, of t-SNE.
    pub kl: Option<f64>,
    /// What was done otherwise than asked.
    pub note: Option<String>,
    pub neighbors_ms: f64,
    pub embed_ms: f64,
}

/// What is known of queries and keys together.
pub struct JointFacts {
    pub transform: Transform,
    pub correlations: Correlations,
    pub norms: Norms,
}

pub fn lay_out(
    clouds: &Clouds,
    head: HeadId,
    options: &ProjectOptions,
    method: &Method,
) -> Result<HeadLayout, ProjectionError> {
    let kinds = clouds.points_of(head);
    let (values, n, width, n_queries, joint) = match &kinds {
        [Some(q), Some(k)] => {
            let (queries, keys) = (points_of(q)?, points_of(k)?);
            let segments = clouds.segments();
            let translate = options.translate == Translation::Keys;
            let transform = Transform::choose(queries, keys, segments, options.scale, translate)?;
            let correlations = Correlations::of(queries, keys, segments, &transform, true, &to_the_end)?;
            let values = Cow::Owned(transform.apply(queries, keys)?);
            let joint = JointFacts { transform, correlations, norms: Norms::of(queries, keys) };
            (values, queries.n() + keys.n(), queries.width(), queries.n(), Some(joint))
        }
        [Some(only), None] => (Cow::Borrowed(only.as_slice()), only.n_rows(), only.n_cols(), only.n_rows(), None),
        [None, Some(only)] => (Cow::Borrowed(only.as_slice()), only.n_rows(), only.n_cols(), 0, None),
        [None, None] => return Err(ProjectionError::NoPoints),
    };
    let points = Points::new(&values, n, width)?;
    let start = Instant::now();
    let pca = Pca::fit(points, usize::from(options.dims))?;
    let mut found = HeadLayout {
        head,
        layout: pca.layout(points),
        n_queries,
        n_points: points.n(),
        norm: joint.is_none().then(|| mean_norm(points)),
        joint,
        explained: None,
        kl: None,
        note: None,
        neighbors_ms: 0.0,
        embed_ms: 0.0,
    };
    let neighbors = |k: usize, metric| {
        let start = Instant::now();
        Neighbors::find(points, k, metric, &to_the_end).map(|neighbors| (neighbors, milliseconds(start)))
    };
    match method {
        Method::Pca => found.explained = Some(pca.explained().to_vec()),
        Method::Tsne(tsne) => {
            let (neighbors, neighbors_ms) = neighbors(tsne.neighbors_of(points.n()), tsne.metric)?;
            let mut run = Tsne::from_neighbors(&neighbors, &found.layout, tsne.clone())?;
            while !run.finished() {
                run.step();
            }
            found.neighbors_ms = neighbors_ms;
            found.layout = run.layout().to_vec();
            if run.perplexity() < tsne.perplexity {
                let (n, used, asked) = (points.n(), run.perplexity(), tsne.perplexity);
                found.note = Some(format!("{n} points allow a perplexity of {used} instead of {asked}"));
            }
            found.embed_ms = milliseconds(start) - neighbors_ms;
            found.kl = Some(run.divergence());
        }
        Method::Umap(umap) => {
            let (neighbors, neighbors_ms) = neighbors(umap.neighbors_of(points.n()), umap.metric)?;
            let mut run = Umap::from_neighbors(&neighbors, &found.layout, umap)?;
            while !run.finished() {
                run.step();
            }
            found.neighbors_ms = neighbors_ms;
            found.layout = run.layout().to_vec();
            if points.n() < umap.neighbors {
                let (n, asked) = (points.n(), umap.neighbors);
                found.note = Some(format!("there are {n} points, so each is compared with all instead of {asked}"));
            }
        }
    }
    if found.embed_ms == 0.0 {
        found.embed_ms = milliseconds(start) - found.neighbors_ms;
    }
    Ok(found)
}

fn points_of(matrix: &Matrix) -> Result<Points<'_>, ProjectionError> {
    Points::new(matrix.as_slice(), matrix.n_rows(), matrix.n_cols())
}

fn mean_norm(points: Points<'_>) -> f64 {
    let norm = |row: &[f32]| row.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt();
    points.rows().map(norm).sum::<f64>() / points.n() as f64
}
