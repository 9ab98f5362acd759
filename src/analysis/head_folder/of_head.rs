//! The file of a head: sequences with the stored part of their rows, histograms and tables.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use super::{Attribution, HeadCloud, OwnPart, OwnParts, SparseRows, WEIGHTS_KEY, rounded};
use crate::{
    analysis::head_page::{marks_spaces, piece_text},
    json_file::{self, JsonLimits},
    text::told,
};

/// Sequences, bins and rows of tables that are read of a file.
const MOST_SEQUENCES: usize = 4096;
const MOST_BINS: usize = 4096;
const MOST_ROWS: usize = 1000;
/// Bytes and parts of a file: usual ones have a quarter.
const LIMITS: JsonLimits = JsonLimits { bytes: 64 << 20, parts: 8 << 20 };

/// What a file says of a head.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeadFile {
    pub sequences: Vec<StoredSequence>,
    /// Sequences that are none, each with the reason.
    pub refused: Vec<RefusedSequence>,
    /// Weight by distance in tokens.
    pub distances: Option<Histogram>,
    pub top_queries: Vec<TokenWeight>,
    pub top_keys: Vec<TokenWeight>,
    /// Inputs by activation.
    pub activations: Option<Histogram>,
    /// Other numbers, by name.
    pub statistics: Vec<(String, f64)>,
    /// Plots and tables of the folder's own.
    pub plots: Vec<ShownPart<Histogram>>,
    pub tables: Vec<ShownPart<Vec<TokenWeight>>>,
    /// From files beside it: the cloud, or why it cannot be shown, as a clause; pairs that are attributed to features.
    pub cloud: Option<Result<HeadCloud, String>>,
    pub attributions: Vec<Attribution>,
    /// What was found wrong in those files and left out, a clause each.
    pub notes: Vec<String>,
}

/// A part with a name of its own, or why it cannot be shown, as a clause.
#[derive(Clone, Debug, PartialEq)]
pub struct ShownPart<T> {
    pub label: String,
    pub description: String,
    pub part: Result<T, String>,
}

impl<T> ShownPart<T> {
    /// A part of a file.
    fn of(own: &OwnPart, read: &Value, part: impl Fn(&Value) -> Result<T, String>) -> Self {
        let value = &read[own.key.as_str()];
        let part = if value.is_null() { Err("the file has none".to_owned()) } else { part(value) };
        Self { label: own.label.clone(), description: own.description.clone(), part }
    }
}

/// An input with the strongest weights of its rows.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredSequence {
    pub id: SequenceId,
    /// 1 is the weakest; none where a file does not say.
    pub interval: Option<u64>,
    pub tokens: Vec<String>,
    pub rows: SparseRows,
    /// How active the head is in it, as whoever wrote the file defines that.
    pub max_activation: Option<f64>,
}

/// What a sequence is called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum SequenceId {
    Number(u64),
    Name(String),
}

/// A sequence that cannot be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedSequence {
    pub name: String,
    /// A clause.
    pub reason: String,
}

/// Numbers between edges, of which there is one more.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Histogram {
    pub bin_edges: Vec<f64>,
    pub bin_values: Vec<f64>,
}

/// A token with its weight in a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TokenWeight {
    pub token: String,
    pub weight: f64,
}

impl fmt::Display for SequenceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Name(name) => f.write_str(&told(name)),
        }
    }
}

/// A sequence as it is written.
#[derive(Serialize)]
struct WrittenSequence<'a> {
    sequence_id: &'a SequenceId,
    #[serde(skip_serializing_if = "Option::is_none")]
    interval: Option<u64>,
    tokens: &'a [String],
    attention_indices: &'a [u32],
    attention_values: Vec<f64>,
    seq_len: usize,
    max_activation: Option<f64>,
}

/// A file as it is written.
#[derive(Serialize)]
struct WrittenHead<'a> {
    sequences: Vec<WrittenSequence<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    qk_distance_histogram: Option<&'a Histogram>,
    top_query_tokens: &'a [TokenWeight],
    top_key_tokens: &'a [TokenWeight],
    #[serde(skip_serializing_if = "Option::is_none")]
    histogram: Option<&'a Histogram>,
    #[serde(skip_serializing_if = "serde_json::Map::is_empty")]
    statistics: serde_json::Map<String, Value>,
    #[serde(flatten)]
    plots: serde_json::Map<String, Value>,
}

impl HeadFile {
    /// The bytes of the file.
    ///
    /// # Errors
    /// When JSON cannot be written.
    pub fn to_json(&self) -> serde_json::Result<Vec<u8>> {
        let sequences = self.sequences.iter().map(|of| WrittenSequence {
            sequence_id: &of.id,
            interval: of.interval,
            tokens: &of.tokens,
            attention_indices: of.rows.indices(),
            // Widened before they are rounded, so that 0.6 is not 0.6000000238.
            attention_values: of.rows.values().iter().map(|value| rounded(f64::from(*value))).collect(),
            seq_len: of.tokens.len(),
            max_activation: of.max_activation,
        });
        serde_json::to_vec(&WrittenHead {
            sequences: sequences.collect(),
            qk_distance_histogram: self.distances.as_ref(),
            top_query_tokens: &self.top_queries,
            top_key_tokens: &self.top_keys,
            histogram: self.activations.as_ref(),
            statistics: self.statistics.iter().map(|(name, value)| (name.clone(), (*value).into())).collect(),
            plots: match self.plots.first().and_then(|plot| plot.part.as_ref().ok()) {
                Some(plot) => [(WEIGHTS_KEY.to_owned(), serde_json::to_value(plot)?)].into_iter().collect(),
                None => serde_json::Map::new(),
            },
        })
    }

    /// The file that these bytes are, of a head that looks back alone or not; an older form is a list of sequences.
    ///
    /// # Errors
    /// A clause, when they are none.
    pub fn from_json(bytes: &[u8], causal: bool) -> Result<Self, String> {
        Self::from_json_with(bytes, causal, &OwnParts::default())
    }

    /// [`Self::from_json`] with parts of the folder's own, of which one that cannot be shown has the reason.
    ///
    /// # Errors
    /// As [`Self::from_json`].
    pub fn from_json_with(bytes: &[u8], causal: bool, own: &OwnParts) -> Result<Self, String> {
        let read = json_file::of_python_within(bytes, LIMITS).map_err(|error| error.to_string())?;
        let sequences: &[Value] = match &read {
            // The form of before.
            Value::Array(sequences) => sequences,
            Value::Object(_) => match &read["sequences"] {
                Value::Array(sequences) => sequences,
                Value::Null => &[],
                _ => return Err("its sequences are no list".to_owned()),
            },
            _ => return Err("it is neither an object nor a list of sequences".to_owned()),
        };
        if sequences.len() > MOST_SEQUENCES {
            return Err(format!("it has {} sequences, and at most {MOST_SEQUENCES} are read", sequences.len()));
        }
        let mut file = Self {
            distances: histogram(&read["qk_distance_histogram"])?,
            activations: histogram(&read["histogram"])?,
            top_queries: table(&read["top_query_tokens"])?,
            top_keys: table(&read["top_key_tokens"])?,
            plots: own.plots.iter().map(|own| ShownPart::of(own, &read, plot)).collect(),
            tables: own.tables.iter().map(|own| ShownPart::of(own, &read, own_table)).collect(),
            ..Self::default()
        };
        if let Some(statistics) = read["statistics"].as_object() {
            let number = |(name, value): (&String, &Value)| Some((name.clone(), value.as_f64()?));
            file.statistics = statistics.iter().take(MOST_ROWS).filter_map(number).collect();
        }
        for (nth, sequence) in sequences.iter().enumerate() {
            match StoredSequence::of(sequence, nth, causal) {
                Ok(sequence) => file.sequences.push(sequence),
                Err(refused) => file.refused.push(refused),
            }
        }
        Ok(file)
    }

    /// Intervals that have sequences, the strongest first.
    pub fn intervals(&self) -> Vec<u64> {
        let mut intervals: Vec<u64> = self.sequences.iter().filter_map(|sequence| sequence.interval).collect();
        intervals.sort_unstable_by(|a, b| b.cmp(a));
        intervals.dedup();
        intervals
    }
}

impl StoredSequence {
    /// Its tokens as pieces of running text.
    pub fn pieces(&self) -> Vec<String> {
        let marks = marks_spaces(self.tokens.iter().map(String::as_str));
        self.tokens.iter().map(|text| piece_text(text, marks)).collect()
    }

    fn of(value: &Value, nth: usize, causal: bool) -> Result<Self, RefusedSequence> {
        let id = match &value["sequence_id"] {
            Value::Number(number) => number.as_u64().map(SequenceId::Number),
            Value::String(name) => Some(SequenceId::Name(name.clone())),
            _ => None,
        };
        let name = id.as_ref().map_or_else(|| format!("number {nth} of the file"), SequenceId::to_string);
        let refused = |reason: String| RefusedSequence { name: name.clone(), reason };
        let tokens = value["tokens"].as_array().ok_or_else(|| refused("it has no tokens".to_owned()))?;
        let tokens = tokens.iter().map(|token| token.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>();
        let tokens = tokens.ok_or_else(|| refused("one of its tokens is no text".to_owned()))?;
        if let Some(length) = value.get("seq_len").filter(|length| !length.is_null())
            && whole(length) != Some(tokens.len() as u64)
        {
            let reason = format!("its length is said to be {length}, and it has {} tokens", tokens.len());
            return Err(refused(told(&reason).into_owned()));
        }
        let list = |name: &str| value[name].as_array().ok_or_else(|| refused(format!("it has no {name}")));
        let indices = list("attention_indices")?.iter().map(whole).collect::<Option<Vec<u64>>>();
        let indices = indices.ok_or_else(|| refused("one of its indices is no whole number".to_owned()))?;
        let values = list("attention_values")?.iter().map(Value::as_f64).collect::<Option<Vec<f64>>>();
        let values = values.ok_or_else(|| refused("one of its weights is no number".to_owned()))?;
        let rows = SparseRows::from_lists(tokens.len(), &indices, &values, causal);
        let rows = rows.map_err(|error| refused(error.to_string()))?;
        let max_activation = value["max_activation"].as_f64().map(rounded);
        let id = id.unwrap_or(SequenceId::Number(nth as u64));
        Ok(Self { id, interval: whole(&value["interval"]), tokens, rows, max_activation })
    }
}

/// A whole number, also where Python wrote it as 5.0.
fn whole(value: &Value) -> Option<u64> {
    let float = || value.as_f64().filter(|number| number.fract() == 0.0 && (0.0..1e15).contains(number));
    value.as_u64().or_else(|| float().map(|number| number as u64))
}

/// The histogram of a file; none where there is none.
fn histogram(value: &Value) -> Result<Option<Histogram>, String> {
    if value.is_null() {
        return Ok(None);
    }
    let numbers = |name: &str| value[name].as_array().map_or(&[][..], Vec::as_slice);
    let (edges, values) = (numbers("bin_edges"), numbers("bin_values"));
    if values.is_empty() && edges.len() <= 1 {
        return Ok(Some(Histogram::default()));
    }
    if edges.len() != values.len() + 1 || values.len() > MOST_BINS {
        return Err(format!("a histogram with {} edges has {} numbers", edges.len(), values.len()));
    }
    let all = |list: &[Value]| list.iter().map(Value::as_f64).collect::<Option<Vec<f64>>>();
    let (bin_edges, bin_values) = all(edges).zip(all(values)).ok_or("a number of a histogram is none")?;
    if !bin_edges.is_sorted() || bin_values.iter().any(|value| *value < 0.0) {
        return Err("the edges of a histogram do not rise, or a number of it lies below 0".to_owned());
    }
    Ok(Some(Histogram { bin_edges, bin_values }))
}

/// A plot of the folder's own, which is a histogram.
fn plot(value: &Value) -> Result<Histogram, String> {
    let plot = histogram(value)?.filter(|of| !of.bin_values.is_empty());
    plot.ok_or_else(|| "it is no histogram with bin_edges and bin_values".to_owned())
}

/// A table of the folder's own.
fn own_table(value: &Value) -> Result<Vec<TokenWeight>, String> {
    if value.is_array() { table(value) } else { Err("it is no list of rows".to_owned()) }
}

/// The rows of a table of tokens.
fn table(value: &Value) -> Result<Vec<TokenWeight>, String> {
    let rows = value.as_array().map_or(&[][..], Vec::as_slice);
    let row =
        |row: &Value| Some(TokenWeight { token: row["token"].as_str()?.to_owned(), weight: row["weight"].as_f64()? });
    let rows: Option<Vec<_>> = rows.iter().take(MOST_ROWS).map(row).collect();
    rows.ok_or_else(|| "a row of a table of tokens has no token or no weight".to_owned())
}
