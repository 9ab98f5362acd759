//! How the points of scatter and matrix come into the plane.

use crate::{
    analysis::projection::{LayoutMethod, LayoutOptions},
    cli::project::options::{MethodName, MetricName},
};

/// Options of layouts, named as in `attnscope project`.
#[derive(Clone, Debug, clap::Args)]
pub struct LayoutFlags {
    /// How points of scatter and matrix are laid out
    #[arg(long, value_enum, default_value_t = MethodName::Pca)]
    pub method: MethodName,
    /// How t-SNE and UMAP measure distances
    #[arg(long, value_enum, default_value_t = MetricName::Euclidean)]
    pub metric: MetricName,
    /// t-SNE: about how many neighbours each point keeps close [default: 30]
    #[arg(long, value_name = "P")]
    pub perplexity: Option<f32>,
    /// t-SNE: iterations [default: 750]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub iterations: Option<u32>,
    /// UMAP: neighbours that a point is compared with, itself counted [default: 15]
    #[arg(long, value_name = "K")]
    pub neighbors: Option<usize>,
    /// UMAP: how near to each other points may come [default: 0.1]
    #[arg(long, value_name = "D")]
    pub min_dist: Option<f32>,
    /// The same seed gives the same layout
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub seed: u64,
}

impl LayoutFlags {
    /// As the analysis takes them.
    pub fn options(&self) -> LayoutOptions {
        let usual = LayoutOptions::default();
        LayoutOptions {
            method: match self.method {
                MethodName::Pca => LayoutMethod::Pca,
                MethodName::Tsne => LayoutMethod::Tsne,
                MethodName::Umap => LayoutMethod::Umap,
            },
            metric: self.metric.metric(),
            perplexity: self.perplexity.unwrap_or(usual.perplexity),
            iterations: self.iterations.map_or(usual.iterations, |n| n as usize),
            neighbors: self.neighbors.unwrap_or(usual.neighbors),
            min_dist: self.min_dist.unwrap_or(usual.min_dist),
            seed: self.seed,
        }
    }
}
