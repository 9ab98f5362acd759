//! Options of `project`, and their checks.

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use crate::{
    analysis::{Space, projection::ColorBy, rank_heads::Shared, search::SearchKind},
    cli::{
        CliError,
        compute::ComputeOptions,
        inputs::InputOptions,
        layout::{LayoutFlags, Method},
        render::{Numbers, parse_numbers},
        spaces,
    },
    ids::StackKind,
    projection::space::Scale,
};

/// Options of `attnscope project`.
#[derive(Debug, clap::Args)]
pub struct ProjectOptions {
    /// A model folder, a bundled model such as demo:gpt, or a hub id that is in the local cache
    #[arg(long, required_unless_present = "capture", conflicts_with = "capture")]
    pub model: Option<String>,
    /// A capture file instead of a model and its input
    #[arg(long, value_name = "FILE")]
    pub capture: Option<PathBuf>,
    #[command(flatten)]
    pub input: InputOptions,
    /// Points: qk (queries with keys, of each head), values (of each key/value head), residual (tokens before each
    /// layer; the layer after the last one is the final stream), positions (of the model, without an input)
    #[arg(long, default_value = "qk", value_name = "WHAT")]
    pub space: Space,
    /// Where to write the coordinates, ending in .json, .npz or .csv
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// Dimensions of the layout: 2 or 3
    #[arg(long, default_value_t = 2, value_name = "2|3", value_parser = clap::value_parser!(u8).range(2..=3))]
    pub dims: u8,
    /// Scale c, by which queries are divided and keys multiplied: auto (equal norms), none, search (best correlation
    /// of distance and q·k) or a number above 0
    #[arg(long, default_value = "auto", value_name = "auto|none|search|C", value_parser = parse_scale)]
    pub scale: Scale,
    /// Which points are moved so that queries and keys share their mean; weights do not change
    #[arg(long, value_enum, default_value_t = Translation::Keys)]
    pub translate: Translation,
    #[command(flatten)]
    pub layout: LayoutFlags,
    #[arg(long, help = format!("Attention stack: {}", StackKind::ALL.map(StackKind::name).join(", ")))]
    pub stack: Option<StackKind>,
    /// Heads such as L3H5,L0H2, counted from 0, or all
    #[arg(long, default_value = "all", value_parser = parse_heads)]
    pub heads: Heads,
    /// Only these layers, from 0, such as 3 or 0-3,6
    #[arg(long, value_parser = parse_numbers, value_name = "LIST")]
    pub layers: Vec<Numbers>,
    /// Search for tokens, mark them, and rank the heads where they cluster
    #[arg(long, value_name = "TEXT")]
    pub search: Option<String>,
    /// Kind of search: text (part of a token), word (whole words, several separated by commas), regex (in words) or
    /// id (numbers in the vocabulary)
    #[arg(long, requires = "search", default_value = "text", value_name = "KIND")]
    pub search_as: SearchKind,
    /// Case-sensitive search
    #[arg(long, requires = "search")]
    pub match_case: bool,
    /// Rank heads by what neighbours share: text, position, or what colours can show (kind, input, hue, brightness,
    /// annotation:NAME, …), separated by commas
    #[arg(long, value_delimiter = ',', value_name = "WHAT", value_parser = parse_shared)]
    pub shared: Vec<(String, Shared)>,
    /// Write how long each head took
    #[arg(long, value_name = "FILE.json")]
    pub timings: Option<PathBuf>,
    #[command(flatten)]
    pub compute: ComputeOptions,
}

/// What is moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Translation {
    /// The mean key onto the mean query
    Keys,
    /// Nothing
    None,
}

/// Which heads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heads {
    /// All that have queries and keys.
    All,
    /// Layers and heads.
    These(Vec<(usize, usize)>),
}

/// A kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Json,
    Npz,
    Csv,
}

impl ProjectOptions {
    /// The kind of file that is asked for.
    pub fn format(&self) -> Result<Format, CliError> {
        let extension = self.out.extension().map(|extension| extension.to_string_lossy().to_lowercase());
        match extension.as_deref() {
            Some("json") => Ok(Format::Json),
            Some("npz") => Ok(Format::Npz),
            Some("csv") => Ok(Format::Csv),
            _ => Err(CliError::Usage(format!("coordinates end in .json, .npz or .csv: {}", self.out.display()))),
        }
    }

    /// Refuses what means nothing in the space that was chosen.
    pub fn check_space(&self) -> Result<(), CliError> {
        let space = self.space;
        let given = [
            ("--scale", self.scale != Scale::Auto && !space.is_joint()),
            ("--translate", self.translate != Translation::Keys && !space.is_joint()),
            ("--heads", self.heads != Heads::All && !space.is_per_head()),
            ("--layers", !self.layers.is_empty() && space == Space::Positions),
        ];
        if let Some((name, _)) = given.into_iter().find(|(_, given)| *given) {
            let space = space.name();
            return Err(CliError::Usage(format!("{name} means nothing with --space {space}: leave it out")));
        }
        if space == Space::Positions {
            spaces::check_positions(!self.input.is_empty(), self.capture.is_some())?;
        }
        Ok(())
    }

    /// Everything that decides about the coordinates, defaults included; `n` is the number of points.
    pub fn parameters(&self, method: &Method, n: usize) -> Map<String, Value> {
        let scale = match self.scale {
            Scale::Auto => json!("auto"),
            Scale::None => json!("none"),
            Scale::Search => json!("search"),
            Scale::Fixed(c) => json!(c),
        };
        let mut all =
            Map::from_iter([("space".to_owned(), json!(self.space.name())), ("dims".to_owned(), json!(self.dims))]);
        if self.space.is_joint() {
            all.insert("scale".to_owned(), scale);
            let translate = if self.translate == Translation::Keys { "keys" } else { "none" };
            all.insert("translate".to_owned(), json!(translate));
        }
        let of_method = match method {
            Method::Pca => json!({}),
            Method::Tsne(tsne) => json!({
                "metric": self.layout.metric.name(),
                "seed": tsne.seed,
                "perplexity": single(tsne.perplexity),
                "perplexity_used": single(tsne.perplexity_for(n)),
                "iterations": tsne.iterations,
                "exaggeration": single(tsne.exaggeration),
                "exaggerated_iterations": tsne.exaggerated_iterations,
                "learning_rate": single(tsne.learning_rate_for(n)),
                "momentum": tsne.momentum.map(single),
                "theta": single(tsne.theta),
            }),
            Method::Umap(umap) => json!({
                "metric": self.layout.metric.name(),
                "seed": umap.seed,
                "neighbors": umap.neighbors,
                "neighbors_used": umap.neighbors_of(n) + 1,
                "min_dist": single(umap.min_dist),
                "spread": single(umap.spread),
                "negative_rate": umap.negative_rate,
                "iterations": umap.epochs_for(n),
                "learning_rate": single(umap.learning_rate),
            }),
        };
        if let Value::Object(of_method) = of_method {
            all.extend(of_method);
        }
        all
    }
}

/// The shortest decimal number that is this one in single precision.
fn single(x: f32) -> Value {
    x.to_string().parse::<f64>().map_or(Value::Null, Value::from)
}

fn parse_scale(text: &str) -> Result<Scale, String> {
    match text {
        "auto" => Ok(Scale::Auto),
        "none" => Ok(Scale::None),
        "search" => Ok(Scale::Search),
        number => match number.parse::<f64>() {
            Ok(c) if c.is_finite() && c > 0.0 => Ok(Scale::Fixed(c)),
            _ => Err("give auto, none, search or a number above 0".to_owned()),
        },
    }
}

fn parse_shared(name: &str) -> Result<(String, Shared), String> {
    let shared = Shared::from_name(name).ok_or_else(|| {
        let told = ColorBy::ALL.map(|(_, name, ..)| name);
        format!("choose from text, {}, annotation:NAME", told[1..].join(", "))
    })?;
    Ok((name.to_owned(), shared))
}

fn parse_heads(text: &str) -> Result<Heads, String> {
    let one = |name: &str| {
        let (layer, head) = name.trim().strip_prefix(['L', 'l'])?.split_once(['H', 'h'])?;
        Some((layer.parse().ok()?, head.parse().ok()?))
    };
    if text.eq_ignore_ascii_case("all") {
        return Ok(Heads::All);
    }
    let heads: Option<Vec<_>> = text.split(',').map(one).collect();
    heads.map(Heads::These).ok_or_else(|| "give all, or heads such as L3H5,L0H2".to_owned())
}
