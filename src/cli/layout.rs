//! Options of layouts, of `project` and `render`.

use crate::{
    analysis::projection::{LayoutMethod, LayoutOptions},
    cli::CliError,
    figure::ViewKind,
    projection::{Metric, ProjectionError, tsne::TsneOptions, umap::UmapOptions},
};

/// Options of layouts.
#[derive(Clone, Debug, clap::Args)]
pub struct LayoutFlags {
    /// How points are laid out
    #[arg(long, value_enum, default_value_t = MethodName::Pca)]
    pub method: MethodName,
    /// How t-SNE and UMAP measure distances
    #[arg(long, value_enum, default_value_t = MetricName::Euclidean)]
    pub metric: MetricName,
    /// The same seed gives the same bytes, whatever the number of threads
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub seed: u64,
    /// t-SNE: perplexity, roughly the neighbours that each point keeps close [default: 30]
    #[arg(long, value_name = "P")]
    pub perplexity: Option<f32>,
    /// UMAP: neighbours that a point is compared with, itself counted [default: 15]
    #[arg(long, value_name = "K")]
    pub neighbors: Option<usize>,
    /// UMAP: smallest distance between points [default: 0.1]
    #[arg(long, value_name = "D")]
    pub min_dist: Option<f32>,
    /// Iterations of t-SNE [default: 750] or epochs of UMAP [default: 500 up to 10,000 points, 200 above]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub iterations: Option<u32>,
}

/// Names of methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum MethodName {
    /// Principal components: exact
    Pca,
    /// t-SNE by Barnes–Hut
    Tsne,
    /// UMAP from the principal components
    Umap,
}

/// Names of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum MetricName {
    /// ‖x − y‖
    Euclidean,
    /// 1 − cos(x, y)
    Cosine,
}

/// A method with all its settings.
#[derive(Clone, Debug, PartialEq)]
pub enum Method {
    Pca,
    Tsne(TsneOptions),
    Umap(UmapOptions),
}

impl LayoutFlags {
    /// The method with its settings, in so many dimensions; a setting of another method is refused.
    pub fn method(&self, dims: usize) -> Result<Method, CliError> {
        let given = [
            ("--perplexity", self.perplexity.is_some()),
            ("--neighbors", self.neighbors.is_some()),
            ("--min-dist", self.min_dist.is_some()),
            ("--iterations", self.iterations.is_some()),
            ("--metric", self.metric != MetricName::Euclidean),
        ];
        let reads: &[&str] = match self.method {
            MethodName::Pca => &[],
            MethodName::Tsne => &["--perplexity", "--iterations", "--metric"],
            MethodName::Umap => &["--neighbors", "--min-dist", "--iterations", "--metric"],
        };
        if let Some((name, _)) = given.into_iter().find(|(name, given)| *given && !reads.contains(name)) {
            let method = self.method.name();
            return Err(CliError::Usage(format!("{name} changes nothing with --method {method}: leave it out")));
        }
        let iterations = self.iterations.map(|n| n as usize);
        let method = match self.method {
            MethodName::Pca => Ok(Method::Pca),
            MethodName::Tsne => {
                let defaults = TsneOptions::default();
                let options = TsneOptions {
                    dims,
                    metric: self.metric.metric(),
                    perplexity: self.perplexity.unwrap_or(defaults.perplexity),
                    iterations: iterations.unwrap_or(defaults.iterations),
                    seed: self.seed,
                    ..defaults
                };
                options.check().map(|()| Method::Tsne(options))
            }
            MethodName::Umap => {
                let defaults = UmapOptions::default();
                let options = UmapOptions {
                    dims,
                    metric: self.metric.metric(),
                    neighbors: self.neighbors.unwrap_or(defaults.neighbors),
                    min_dist: self.min_dist.unwrap_or(defaults.min_dist),
                    epochs: iterations,
                    seed: self.seed,
                    ..defaults
                };
                options.check().map(|()| Method::Umap(options))
            }
        };
        method.map_err(|error: ProjectionError| CliError::Usage(error.to_string()))
    }

    /// The same for a view; one without points refuses all of it, but for the seed of a text that is sampled.
    pub fn of_view(&self, view: ViewKind, is_sampled: bool) -> Result<LayoutOptions, CliError> {
        let usual = LayoutOptions { seed: self.seed, metric: self.metric.metric(), ..LayoutOptions::default() };
        let method = self.method(2)?;
        if !view.facts().lays_out_points && (method != Method::Pca || self.seed != 0 && !is_sampled) {
            return Err(CliError::Usage(format!(
                "{} has no points to lay out: leave out --method and --seed",
                view.name()
            )));
        }
        Ok(match method {
            Method::Pca => usual,
            Method::Tsne(TsneOptions { perplexity, iterations, .. }) => {
                LayoutOptions { method: LayoutMethod::Tsne, perplexity, iterations, ..usual }
            }
            Method::Umap(UmapOptions { neighbors, min_dist, epochs, .. }) => {
                LayoutOptions { method: LayoutMethod::Umap, neighbors, min_dist, epochs, ..usual }
            }
        })
    }
}

impl MethodName {
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pca => "pca",
            Self::Tsne => "tsne",
            Self::Umap => "umap",
        }
    }
}

impl MetricName {
    /// What it is called on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Euclidean => "euclidean",
            Self::Cosine => "cosine",
        }
    }

    /// What it names.
    pub const fn metric(self) -> Metric {
        match self {
            Self::Euclidean => Metric::Euclidean,
            Self::Cosine => Metric::Cosine,
        }
    }
}
