//! What a folder is of: its heads, their numbers with names of its own, and how it was made.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::{KeptWeights, name};
use crate::{
    analysis::head_statistics::{MetricColumn, StackTable},
    ids::{HeadId, StackKind},
    json_file::{self, JsonError},
    text::{counted, decimal_text, ordinal_text, told},
};

/// Layers, heads of a layer, heads in all and metrics that are read.
const MOST_LAYERS: u64 = 1024;
const MOST_HEADS: u64 = 1024;
const MOST_IN_ALL: usize = 65_536;
const MOST_METRICS: usize = 256;
/// Plots and tables of a folder's own that are read.
const MOST_OWN: usize = 16;
/// Letters of a name, and of what is said about it.
const MOST_LETTERS: usize = 2000;
/// Names that numbers had in folders of before, with those that they have.
const FORMER: [(&str, &str); 1] = [("prev_token_score", "previous_token_score")];

/// What stands in a folder beside the files of heads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FolderIndex {
    pub model: String,
    pub dataset: Option<String>,
    /// Layers, and the largest number of heads of a layer.
    pub grid: (usize, usize),
    /// By layer, then head. Layers may lack some, or all.
    pub heads: Vec<HeadId>,
    pub metrics: Vec<FolderMetric>,
    /// The metrics that a first look is at, along and up, where the folder says so.
    pub dimensions: [Option<String>; 2],
    pub n_intervals: usize,
    /// Whether queries see themselves and what is before them alone.
    pub causal: bool,
    pub kept: KeptWeights,
    pub own: OwnParts,
    /// What numbers of the files of heads are called, by their names there.
    labels: BTreeMap<String, String>,
    /// How it was made, as it says: names and values.
    pub how: Vec<(String, String)>,
    /// How the file of a head is called, with `{layer}` and `{head}` in it.
    head_pattern: String,
    /// What was found wrong and left out, a sentence each.
    pub notes: Vec<String>,
}

/// Plots and tables that the files of heads have beside those of every folder.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OwnParts {
    pub plots: Vec<OwnPart>,
    pub tables: Vec<OwnPart>,
}

/// A part of the files of heads with a name of its own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OwnPart {
    /// Its name in these files.
    pub key: String,
    pub label: String,
    /// What it is, as the folder says; empty where it does not.
    pub description: String,
}

/// A number of every head.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FolderMetric {
    pub name: String,
    /// What it is, as the folder says; empty where it does not.
    pub description: String,
    /// By head, in the order of [`FolderIndex::heads`]; none where it is not defined.
    pub values: Vec<Option<f64>>,
}

/// How a folder is made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FolderScale {
    pub n_intervals: usize,
    /// Sequences of each interval.
    pub n_samples: usize,
    pub kept: KeptWeights,
}

impl Default for FolderScale {
    fn default() -> Self {
        Self { n_intervals: 10, n_samples: 20, kept: KeptWeights::default() }
    }
}

/// What a folder that is written says of itself.
#[derive(Clone, Copy, Debug)]
pub struct FolderHow<'a> {
    pub model: &'a str,
    pub dataset: &'a str,
    pub table: &'a StackTable,
    pub n_layers: usize,
    pub n_heads: usize,
    pub causal: bool,
    pub scale: FolderScale,
    /// Heads with a cloud.
    pub clouds: &'a [HeadId],
    /// Inputs of the list, and tokens of the longest one that was added.
    pub n_listed: usize,
    pub longest: usize,
    pub version: &'a str,
}

/// Why a folder is not read. Displays as a clause.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IndexError {
    #[error("{0} cannot be read: {1}")]
    Json(&'static str, JsonError),
    #[error("{0} is no {1}")]
    Shape(&'static str, &'static str),
    #[error("it names no head")]
    NoHeads,
    #[error("it names layer {0} and head {1}, and at most {MOST_LAYERS} layers of {MOST_HEADS} heads are read")]
    Far(u64, u64),
    #[error("it names more than {MOST_IN_ALL} heads")]
    TooMany,
    #[error(
        "its head_data_pattern is {0:?}: the files of heads lie in the folder heads, so that it is a name with {{layer}} and \
         {{head}} in it and no other folder"
    )]
    Pattern(String),
}

impl FolderHow<'_> {
    /// The file that says what the folder is of.
    pub fn config(&self) -> Value {
        let heads: Vec<[usize; 2]> = self.table.heads.iter().map(|head| [head.layer, head.head]).collect();
        let metrics: Vec<String> = self.table.columns.iter().map(|column| plain_name(column.metric.name())).collect();
        let descriptions: Map<String, Value> = self
            .table
            .columns
            .iter()
            .map(|column| (plain_name(column.metric.name()), column.metric.meaning().into()))
            .collect();
        let has = |name: &str| metrics.iter().any(|metric| metric == name);
        let dimension = |name: &str, other: &str| if has(name) { name.to_owned() } else { other.to_owned() };
        let FolderScale { n_intervals, n_samples, kept } = self.scale;
        let layers: Vec<usize> = (0..self.n_layers).collect();
        json!({
            "model_name": self.model,
            "dataset_name": self.dataset,
            "heads": heads,
            "n_layers": self.n_layers,
            "n_heads": self.n_heads,
            "n_intervals": n_intervals,
            "metrics": metrics,
            "metric_descriptions": descriptions,
            "head_data_pattern": name::HEAD_PATTERN,
            "has_umap": !self.clouds.is_empty(),
            "umap_heads": self.clouds.iter().map(|head| [head.layer, head.head]).collect::<Vec<_>>(),
            "custom_plots": [{
                "key": super::WEIGHTS_KEY,
                "label": "Pairs by weight",
                "description": "Pairs of a query and a key of all inputs whose weight is above 0, by that weight",
            }],
            "custom_tables": [],
            "statistics_display": {
                "n_samples": { "label": "Inputs with an activation", "format": "integer" },
                "mean_max_activation": { "label": "Mean activation", "format": "default" },
            },
            "dimensions": {
                "primary": dimension("entropy_fraction", "layer"),
                "secondary": dimension("activation", "head"),
            },
            "pipeline_config": {
                "program": format!("attnscope {}", self.version),
                "model": self.model,
                "dataset": self.dataset,
                "n_sequences": self.n_listed,
                "seq_len": self.longest,
                "dtype": "float32",
                "accumulators": "float64",
                "causal": self.causal,
                "stack": self.table.stack,
                "n_intervals": n_intervals,
                "samples_per_interval": n_samples,
                "sampling": "the most active inputs of the strongest interval, inputs at even steps of their ranks of the others",
                "activation": "largest weight off the first query, the first key, the diagonal and special keys",
                "sparse_top_k": kept.most,
                "sparse_min_weight": (f64::from(kept.least) * 1e6).round() / 1e6,
                "token_tables": "sums of the stored weights of all inputs",
                "actual_sequences_processed": self.table.n_inputs,
                "num_hidden_layers": self.n_layers,
                "num_attention_heads": self.n_heads,
                "attention_layer_indices": layers,
            },
        })
    }

    /// The file with the numbers of every head.
    pub fn scatter(&self) -> Value {
        let head = |(at, id): (usize, &HeadId)| {
            let number = |column: &MetricColumn| {
                let value = column.cells[at].map(|cell| cell.statistic.value).filter(|value| value.is_finite());
                (plain_name(column.metric.name()), value.into())
            };
            let mut row: Map<String, Value> = self.table.columns.iter().map(number).collect();
            row.insert("layer".to_owned(), id.layer.into());
            row.insert("head".to_owned(), id.head.into());
            Value::Object(row)
        };
        self.table.heads.iter().enumerate().map(head).collect()
    }
}

/// A name as these files have them.
fn plain_name(name: &str) -> String {
    name.replace('-', "_")
}

impl FolderIndex {
    /// Of the bytes of both files.
    ///
    /// # Errors
    /// When they say nothing that can be shown.
    pub fn from_json(config: &[u8], scatter: &[u8]) -> Result<Self, IndexError> {
        let read = |bytes: &[u8], file: &'static str| {
            json_file::of_python_within(bytes, json_file::JsonLimits { bytes: 32 << 20, parts: 4 << 20 })
                .map_err(|error| IndexError::Json(file, error))
        };
        let config = read(config, name::CONFIG)?;
        let scatter = read(scatter, name::SCATTER)?;
        let config = config.as_object().ok_or(IndexError::Shape(name::CONFIG, "object"))?;
        let rows = scatter.as_array().ok_or(IndexError::Shape(name::SCATTER, "list"))?;
        let text = |value: Option<&Value>| {
            let text = value.and_then(Value::as_str).filter(|text| !text.is_empty());
            text.map(|text| text.chars().take(MOST_LETTERS).collect::<String>())
        };
        let head_pattern = text(config.get("head_data_pattern")).unwrap_or_else(|| name::HEAD_PATTERN.to_owned());
        check_pattern(&head_pattern)?;
        let pipeline = config.get("pipeline_config").and_then(Value::as_object);
        let said = |name: &str| pipeline.and_then(|pipeline| pipeline.get(name));
        let mut index = Self {
            model: text(config.get("model_name"))
                .or_else(|| text(said("model")))
                .unwrap_or_else(|| "a model without a name".to_owned()),
            dataset: text(config.get("dataset_name")).or_else(|| text(said("dataset"))),
            n_intervals: config.get("n_intervals").and_then(Value::as_u64).unwrap_or(0).min(1000) as usize,
            // Folders of others are of language models that look back alone.
            causal: said("causal").and_then(Value::as_bool).unwrap_or(true),
            kept: KeptWeights {
                most: said("sparse_top_k").and_then(Value::as_u64).map_or(8, |most| most.min(1 << 20) as usize),
                least: said("sparse_min_weight").and_then(Value::as_f64).map_or(0.005, |least| least as f32),
            },
            how: pipeline.map(|pipeline| pipeline.iter().take(100).map(said_text).collect()).unwrap_or_default(),
            head_pattern,
            ..Self::default()
        };
        index.read_heads(config, rows)?;
        index.read_metrics(config, rows);
        let mut own = |name: &str, what: &str| -> Vec<OwnPart> {
            let listed = config.get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            let part = |of: &Value| {
                let key = text(of.get("key"))?;
                let label = text(of.get("label")).unwrap_or_else(|| key.clone());
                Some(OwnPart { key, label, description: text(of.get("description")).unwrap_or_default() })
            };
            let mut parts: Vec<OwnPart> = listed.iter().filter_map(part).collect();
            let n = listed.len() - parts.len() + parts.len().saturating_sub(MOST_OWN);
            if n > 0 {
                let words = counted(n, what);
                index
                    .notes
                    .push(format!("{words} of the folder’s own left out: without a key, or more than {MOST_OWN}"));
            }
            parts.truncate(MOST_OWN);
            parts
        };
        let (plots, tables) = (own("custom_plots", "plot"), own("custom_tables", "table"));
        index.own = OwnParts { plots, tables };
        let labels = config.get("statistics_display").and_then(Value::as_object);
        let label = |(name, of): (&String, &Value)| Some((name.clone(), text(of.get("label"))?));
        index.labels = labels.map(|labels| labels.iter().take(100).filter_map(label).collect()).unwrap_or_default();
        let dimension = |which: &str| text(config.get("dimensions").and_then(|of| of.get(which)));
        index.dimensions = ["primary", "secondary"].map(|which| dimension(which).map(current_name));
        Ok(index)
    }

    /// Heads that either file names.
    fn read_heads(&mut self, config: &Map<String, Value>, rows: &[Value]) -> Result<(), IndexError> {
        let listed = config.get("heads").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let pair = |value: &Value| Some((value.get(0)?.as_u64()?, value.get(1)?.as_u64()?));
        let of_row = |row: &Value| Some((row.get("layer")?.as_u64()?, row.get("head")?.as_u64()?));
        let all = listed.iter().filter_map(pair).chain(rows.iter().filter_map(of_row));
        for (layer, head) in all {
            if layer >= MOST_LAYERS || head >= MOST_HEADS {
                return Err(IndexError::Far(layer, head));
            }
            self.heads.push(HeadId::single(layer as usize, head as usize));
        }
        self.heads.sort_unstable();
        self.heads.dedup();
        if self.heads.len() > MOST_IN_ALL {
            return Err(IndexError::TooMany);
        }
        let last = self.heads.last().ok_or(IndexError::NoHeads)?;
        let widest = self.heads.iter().map(|head| head.head + 1).max().unwrap_or(1);
        let said = |name: &str, most: u64| config.get(name).and_then(Value::as_u64).unwrap_or(0).min(most) as usize;
        self.grid = (said("n_layers", MOST_LAYERS).max(last.layer + 1), said("n_heads", MOST_HEADS).max(widest));
        Ok(())
    }

    /// Numbers of the rows: those that the folder lists, in its order, then others.
    fn read_metrics(&mut self, config: &Map<String, Value>, rows: &[Value]) {
        let listed = config.get("metrics").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let mut names: Vec<&str> = listed.iter().filter_map(Value::as_str).collect();
        for row in rows.iter().filter_map(Value::as_object).take(1) {
            names.extend(row.keys().map(String::as_str));
        }
        names.truncate(4 * MOST_METRICS);
        let descriptions = config.get("metric_descriptions").and_then(Value::as_object);
        let by_head: BTreeMap<HeadId, &Map<String, Value>> = rows
            .iter()
            .filter_map(|row| {
                let id = |name: &str| row.get(name)?.as_u64();
                Some((HeadId::single(id("layer")? as usize, id("head")? as usize), row.as_object()?))
            })
            .collect();
        for name in names {
            let known = current_name(name.to_owned());
            let is_place = ["layer", "head"].contains(&name);
            if is_place || name.len() > MOST_LETTERS || self.metrics.iter().any(|metric| metric.name == known) {
                continue;
            }
            let number = |head: &HeadId| {
                let value = by_head.get(head)?.get(name)?.as_f64()?;
                value.is_finite().then_some(value)
            };
            let values: Vec<Option<f64>> = self.heads.iter().map(number).collect();
            if values.iter().all(Option::is_none) {
                self.notes.push(format!("no head has a number {}", told(name)));
                continue;
            }
            let description = descriptions.and_then(|of| of.get(name)).and_then(Value::as_str).unwrap_or_default();
            let description = description.chars().take(MOST_LETTERS).collect();
            self.metrics.push(FolderMetric { name: known, description, values });
            if self.metrics.len() >= MOST_METRICS {
                self.notes.push(format!("of its numbers the first {MOST_METRICS} are read"));
                break;
            }
        }
    }

    /// A number of the head at a place with its rank, such as `0.41, 3rd of 144`.
    pub fn ranked_text(&self, metric: &FolderMetric, at: usize) -> String {
        let Some(value) = metric.values.get(at).copied().flatten() else { return "not defined".to_owned() };
        let all = || metric.values.iter().flatten();
        let rank = all().filter(|other| **other > value).count() + 1;
        format!("{}, {} of {}", decimal_text(value), ordinal_text(rank), all().count())
    }

    /// What a number of a file is called, as the folder says.
    pub fn label<'a>(&'a self, name: &'a str) -> &'a str {
        self.labels.get(name).map_or(name, String::as_str)
    }

    /// The name of the file of a head in the folder of heads.
    pub fn file_name(&self, head: HeadId) -> String {
        self.head_pattern.replace("{layer}", &head.layer.to_string()).replace("{head}", &head.head.to_string())
    }

    /// The stack that its heads are shown as.
    pub const STACK: StackKind = StackKind::SelfAttention;
}

/// Whether the file of a head stays within its folder.
fn check_pattern(pattern: &str) -> Result<(), IndexError> {
    let leads_out = pattern.contains(['/', '\\', '\0', ':']) || pattern.contains("..");
    let is_filled = pattern.contains("{layer}") && pattern.contains("{head}");
    if leads_out || !is_filled || pattern.len() > 200 {
        return Err(IndexError::Pattern(told(pattern).into_owned()));
    }
    Ok(())
}

fn current_name(name: String) -> String {
    let known = FORMER.iter().find(|(former, _)| *former == name);
    known.map_or(name, |(_, current)| (*current).to_owned())
}

fn said_text((name, value): (&String, &Value)) -> (String, String) {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    (told(name).into_owned(), told(&text).into_owned())
}
