//! Does it align? Which words of a source and a target cross-attention links.

use std::ops::Range;

use serde_json::json;

use super::{Bench, LabError, depends::patterns};
use crate::{
    analysis::explain::{
        alignment::{Aer, Gold, Links, Setting, coverage, links, monotonicity},
        report::{Axis, Cells, Column, Method, Report, Value},
    },
    capture::{
        Matrix, PerHead, Token,
        words::{word_text, words},
    },
    ids::{Side, StackKind},
};

/// Words of a text without those that only special tokens are.
fn own_words(tokens: &[Token]) -> Vec<Range<usize>> {
    words(tokens).into_iter().filter(|word| tokens[word.clone()].iter().any(|token| !token.special)).collect()
}

/// Word alignment from cross-attention (Ghader and Monz 2017; Kobayashi et al. 2020), of each head and of the mean of
/// each layer; `gold` is one sentence's links in the usual form, words counted from 0.
pub fn alignment(bench: &Bench<'_>, setting: Setting, gold: Option<&str>) -> Result<Report, LabError> {
    let plain = bench.plain()?;
    let stack = plain.model().stack(StackKind::Cross).ok_or_else(|| {
        LabError::unsuited("words are aligned by attention from one text to another, which this model does not have")
    })?;
    let gold = gold.map(|text| Gold::parse(text.trim_end(), 0)).transpose()?;
    let gold = match gold.as_deref() {
        None => None,
        Some([gold]) => Some(gold),
        Some(lines) => {
            let n = lines.len();
            return Err(LabError::unsuited(format!(
                "the gold file has {n} lines, but one sentence is aligned: leave its line"
            )));
        }
    };
    let (source_tokens, target_tokens) = (plain.tokens(Side::Encoder), plain.tokens(Side::Decoder));
    // The decoder reads a start token first, so step i outputs the token behind it.
    let outputs = target_tokens.get(1..).unwrap_or(&[]);
    let (source, target) = (own_words(source_tokens), own_words(outputs));
    if source.is_empty() || target.is_empty() {
        let what = "one of the texts has no words: give the source as --text and its translation as --target, or let the \
                    model write it";
        return Err(LabError::unsuited(what));
    }
    // What was written ends with the end token or before it; the step that outputs the end is the last.
    let ends = outputs.last().is_some_and(|token| token.special);
    let n_steps = if ends { outputs.len() } else { target_tokens.len() };
    let source_end = source_tokens.len().checked_sub(1).filter(|last| source_tokens[*last].special);
    let mut lines = Lines { gold, ..Lines::default() };
    let mut sums: Vec<Vec<f64>> = Vec::new();
    for (layer, pattern) in patterns(plain, stack)?.iter().enumerate() {
        bench.step(layer, stack.layers.len())?;
        let steps = |matrix: &Matrix| matrix.window(0..n_steps).ok_or_else(|| LabError::unsuited("a step is missing"));
        let mean = mean(pattern)?;
        sums.push(coverage(&mean));
        lines.add(layer, None, &links(&steps(&mean)?, &source, &target, source_end, setting)?);
        for head in 0..pattern.shape()[0] {
            let Some(own) = pattern.head(head) else { continue };
            lines.add(layer, Some(head), &links(&steps(&own)?, &source, &target, source_end, setting)?);
        }
    }
    let names = |tokens: &[Token], words: &[Range<usize>]| {
        json!(words.iter().map(|word| word_text(tokens, word.clone())).collect::<Vec<_>>())
    };
    let mut report = Report::new(Method::Alignment)
        .with_parameter("source", names(source_tokens, &source))
        .with_parameter("target", names(outputs, &target))
        .with_value("alignments", lines.table());
    let axis = Axis::all(Side::Encoder);
    let sums = sums.into_iter().map(|sums| Value::tokens(axis.clone(), sums.iter().map(|sum| *sum as f32).collect()));
    report = report.with_value("coverage", Value::Layers(sums.collect()));
    report.notes.push("a line without a head is the mean of its layer's heads".to_owned());
    Ok(report)
}

/// One alignment for each head and layer.
#[derive(Default)]
struct Lines<'a> {
    gold: Option<&'a Gold>,
    heads: Vec<String>,
    links: Vec<Vec<String>>,
    orders: Vec<f64>,
    /// Error rate, precision, recall.
    worth: [Vec<f64>; 3],
}

impl Lines<'_> {
    fn add(&mut self, layer: usize, head: Option<usize>, links: &Links) {
        self.heads.push(head.map_or_else(|| format!("L{layer}"), |head| format!("L{layer}H{head}")));
        self.links.push(links.iter().map(|(source, target)| format!("{source}-{target}")).collect());
        self.orders.push(monotonicity(links).unwrap_or(f64::NAN));
        if let Some(gold) = self.gold {
            let mut found = Aer::default();
            found.add(links, gold);
            let worth = [found.error_rate(), found.precision(), found.recall()];
            for (all, value) in self.worth.iter_mut().zip(worth) {
                all.push(value.unwrap_or(f64::NAN));
            }
        }
    }

    fn table(self) -> Value {
        let mut columns = vec![
            Column::new("head", Cells::Text(self.heads)),
            Column::new("links", Cells::Texts(self.links)),
            Column::new("monotonicity", Cells::Number(self.orders)),
        ];
        if self.gold.is_some() {
            let named = ["aer", "precision", "recall"].into_iter().zip(self.worth);
            columns.extend(named.map(|(name, values)| Column::new(name, Cells::Number(values))));
        }
        Value::Table(columns)
    }
}

/// The mean of a layer's heads.
fn mean(pattern: &PerHead) -> Result<Matrix, LabError> {
    let [n_heads, n_query, n_key] = pattern.shape();
    let size = n_query * n_key;
    let of_cell = |at: usize| {
        let sum: f64 = (0..n_heads).map(|head| f64::from(pattern.as_slice()[head * size + at])).sum();
        (sum / n_heads.max(1) as f64) as f32
    };
    let values: Vec<f32> = (0..size).map(of_cell).collect();
    Matrix::new(values, [n_query, n_key]).map_err(|_| LabError::unsuited("there is no attention"))
}
