//! Word alignment: which words of a source and a target cross-attention links (Kobayashi et al. 2020).

use std::{ops::Range, sync::Arc};

use serde_json::json;

use crate::{
    analysis::explain::{
        alignment::{
            Aer, Gold, LinkKind, Links, Setting, Symmetrize, agreement, between_words, coverage, fertility, kinds,
            links, monotonicity, symmetrized,
        },
        report::{
            Axis, ColumnValues, LabQuestion, MethodPicture, MethodSpec, Report, Sorted, TableColumn, Value, ValueSpec,
        },
    },
    capture::{
        Capture, Matrix, PerHead, Token,
        words::{word_text, words},
    },
    ids::{Side, StackKind},
    lab::{
        LabError, LabRun, Method, MethodPreset, MethodRefusal, Target,
        method::Parameters,
        options::{FieldValue, OptionField, Scope, Visit, choose},
        patterns::patterns,
    },
};

/// How two directions of an alignment become one.
const BOTH_DIRECTIONS: [(Option<Symmetrize>, &str, &str); 5] = [
    (None, "off", "Apart"),
    (Some(Symmetrize::Intersection), "intersection", "Intersection"),
    (Some(Symmetrize::Union), "union", "Union"),
    (Some(Symmetrize::GrowDiag), "grow-diag", "Grow-diag"),
    (Some(Symmetrize::GrowDiagFinalAnd), "grow-diag-final-and", "Grow-diag-final-and"),
];

/// The method.
const SPEC: MethodSpec = MethodSpec {
    name: "alignment",
    title: "Word alignment",
    question: LabQuestion::Aligns,
    about: "Which words cross-attention links, and how well against a gold alignment (Kobayashi et al. 2020)",
    example: "--model demo:translate --text \"the cat sleeps\"",
    caveat: "Cross-attention is not trained to align: it may attend to a word one step earlier, to punctuation, \
        or to the end of the sentence.",
    formula: "X = attention with source pieces summed and target pieces averaged\n\
        link of target word t = argmax over s of X[t, s]\nfertility of source word s = number of its links\nAER = 1 - (|A∩S| + |A∩P|) / (|A| + |S|)",
    source: "Brown et al. 1993; Och and Ney 2003; Kobayashi et al. 2020",
    values: &[
        ValueSpec::new(
            "alignments",
            "All heads",
            "Monotonicity: share of neighbouring links that do not step back. AER: alignment error rate, 1 − (|A∩S| \
             + |A∩P|) / (|A| + |S|) with links A, sure S and possible P: 0 is best",
        )
        .sorted(BEST_FIRST),
        ValueSpec::new(
            "symmetrized",
            "Both directions combined",
            "Every layer of this model with every layer of the other; agreement is the share of links that both have",
        )
        .sorted(BEST_FIRST),
        ValueSpec::new(
            "kinds",
            "Kinds of links",
            "Groups of words that links join, by how many source and target words they have",
        ),
        ValueSpec::of_files("fertility"),
        ValueSpec::new("coverage", "Attention that each source token gets", "Around 1 where each is translated once"),
        ValueSpec::of_files("weights"),
    ],
    picture: MethodPicture::WordLinks,
    ..MethodSpec::EMPTY
};

const BEST_FIRST: &[(&str, Sorted)] = &[("aer", Sorted::Ascending), ("agreement", Sorted::Descending)];

/// How links are read, and what they are held against.
#[derive(Clone, Debug, PartialEq)]
pub struct AlignmentOptions {
    /// Which row a target piece is read from.
    pub setting: Setting,
    /// One sentence's gold links.
    pub gold: Option<String>,
    /// What a model of the other direction links.
    pub reverse: Option<Reverse>,
}

impl Method for AlignmentOptions {
    const SPEC: &'static MethodSpec = &SPEC;
    const COLUMNS: &'static [MethodPreset] = &[MethodPreset {
        name: "alignment",
        title: "Word alignment",
        method: &SPEC,
        starts: true,
        ask: |focus| {
            let crosses = focus.capture.stack(StackKind::Cross).is_some_and(|stack| !stack.layers.is_empty());
            if crosses {
                return Ok(Self::begin().into());
            }
            Err(MethodRefusal::unsuited("word alignment needs attention from one text to another"))
        },
    }];

    fn begin() -> Self {
        Self { setting: Setting::Output, gold: None, reverse: None }
    }

    // The command line runs the other direction itself.
    fn options(&mut self, scope: &Scope<'_>, visit: &mut Visit<'_>) {
        if let Some(run) = scope.reverse {
            let meaning = "How the links of both directions are combined: the intersection is most precise, the \
                union most complete";
            let mut way = self.reverse.as_ref().map(|reverse| reverse.way);
            choose(visit, ("symmetrize", "Both directions", meaning), &mut way, &BOTH_DIRECTIONS);
            self.reverse = way.map(|way| Reverse { run: Arc::clone(run), way });
        }
        choose(
            visit,
            ("setting", "Row of a word", "Row that a target word is read from"),
            &mut self.setting,
            &Setting::CHOICES,
        );
        let meaning = "Hand-made links: 3-5 is a sure link of source word 3 and target word 5, 3p5 a possible one; \
            words are counted from 0";
        visit(OptionField::new("gold", "Gold", meaning, FieldValue::FileWords(&mut self.gold, "0-0 1-1 2p1")));
    }

    fn parameters(&self) -> Parameters {
        vec![
            ("setting", json!(self.setting.name())),
            ("gold", json!(self.gold)),
            ("symmetrize", json!(self.reverse.as_ref().map(|reverse| reverse.way.name()))),
        ]
    }

    fn run(&self, lab: &LabRun<'_>, _target: Target) -> Result<Report, LabError> {
        alignment(lab, self.setting, self.gold.as_deref(), self.reverse.as_ref())
    }
}

/// Words of a text without those that only special tokens are, or the tag that tells a translator the language
/// (`>>deu<<`): nobody who counts the words of a sentence counts them.
fn own_words(tokens: &[Token]) -> Vec<Range<usize>> {
    let is_tag = |token: &Token| token.text.starts_with(">>") && token.text.ends_with("<<");
    let is_own = |token: &Token| !token.special && !is_tag(token);
    words(tokens).into_iter().filter(|word| tokens[word.clone()].iter().any(is_own)).collect()
}

/// The other direction: who reads the target and writes the source, and what becomes of both.
#[derive(Clone, Debug)]
pub struct Reverse {
    /// The run of the other model, whose sources are our targets.
    pub run: Arc<Capture>,
    pub way: Symmetrize,
}

/// Runs are never changed, so that one is the same as itself alone.
impl PartialEq for Reverse {
    fn eq(&self, other: &Self) -> bool {
        self.way == other.way && Arc::ptr_eq(&self.run, &other.run)
    }
}

/// Words of the two texts of a run: those that are read, and those that are written; none where it has no two texts.
pub fn two_texts(run: &Capture) -> Option<[Vec<String>; 2]> {
    let outputs = run.tokens(Side::Decoder).get(1..)?;
    let texts = [run.tokens(Side::Encoder), outputs].map(|tokens| names(tokens, &own_words(tokens)));
    (run.model().stack(StackKind::Cross).is_some() && texts.iter().all(|text| !text.is_empty())).then_some(texts)
}

/// What each word is called.
fn names(tokens: &[Token], words: &[Range<usize>]) -> Vec<String> {
    words.iter().map(|word| word_text(tokens, word.clone())).collect()
}

fn are_same(here: &[String], there: &[String]) -> bool {
    here.len() == there.len() && here.iter().zip(there).all(|(a, b)| a.to_lowercase() == b.to_lowercase())
}

/// Whether one run reads what the other writes, and writes what the other reads.
pub fn are_two_directions(run: &Capture, other: &Capture) -> bool {
    match (two_texts(run), two_texts(other)) {
        (Some([source, target]), Some([read, written])) => are_same(&source, &written) && are_same(&target, &read),
        _ => false,
    }
}

/// Which words cross-attention links.
struct WordLinks {
    source: Vec<String>,
    target: Vec<String>,
    /// By layer, of the mean of its heads.
    layers: Vec<Links>,
    heads: Vec<Vec<Links>>,
    /// How much attention each source token gets, by layer.
    sums: Vec<Vec<f64>>,
    /// Weights between words, by layer.
    weights: Vec<Value>,
}

impl WordLinks {
    /// Those of a run (Ghader and Monz 2017; Kobayashi et al. 2020); refused when the model has no cross-attention, or
    /// one of the texts has no words.
    fn of(plain: &Capture, lab: &LabRun<'_>, setting: Setting) -> Result<Self, LabError> {
        let stack = plain.model().stack(StackKind::Cross).ok_or_else(|| {
            LabError::unsuited(
                "word alignment needs attention from one text to another, which this model does not have",
            )
        })?;
        let (source_tokens, target_tokens) = (plain.tokens(Side::Encoder), plain.tokens(Side::Decoder));
        // The decoder reads a start token first, so step i outputs the token behind it.
        let outputs = target_tokens.get(1..).unwrap_or(&[]);
        let (source, target) = (own_words(source_tokens), own_words(outputs));
        if source.is_empty() || target.is_empty() {
            let what = "one of the texts has no words: give the source as --text and its translation as --target, \
                or let the model write it";
            return Err(LabError::unsuited(what));
        }
        // What was written ends with the end token or before it; the step that outputs the end is the last.
        let ends = outputs.last().is_some_and(|token| token.special);
        let n_steps = if ends { outputs.len() } else { target_tokens.len() };
        let source_end = source_tokens.len().checked_sub(1).filter(|last| source_tokens[*last].special);
        let (mut layers, mut heads, mut sums, mut weights) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (layer, pattern) in patterns(plain, stack)?.iter().enumerate() {
            lab.step(layer, stack.layers.len())?;
            let linked = |matrix: &Matrix| -> Result<Links, LabError> {
                let steps = matrix.window(0..n_steps).ok_or_else(|| LabError::unsuited("a step is missing"))?;
                Ok(links(&steps, &source, &target, source_end, setting)?)
            };
            let mean = mean(pattern)?;
            sums.push(coverage(&mean));
            layers.push(linked(&mean)?);
            let (mut of_words, mut of_heads): (Vec<f32>, Vec<Links>) = (Vec::new(), Vec::new());
            for head in 0..pattern.shape()[0] {
                let Some(own) = pattern.head(head) else { continue };
                of_heads.push(linked(&own)?);
                let steps = own.window(0..n_steps).ok_or_else(|| LabError::unsuited("a step is missing"))?;
                of_words.extend_from_slice(between_words(&steps, &target, &source, setting)?.to_matrix().as_slice());
            }
            heads.push(of_heads);
            let shape = [pattern.shape()[0], target.len(), source.len()];
            let of_words = PerHead::new(of_words, shape).map_err(|_| LabError::unsuited("there is no attention"))?;
            // A word stands where its first piece does; step 0 outputs the token behind the start.
            let rows = Axis::only(Side::Decoder, target.iter().map(|word| word.start + 1).collect());
            let cols = Axis::only(Side::Encoder, source.iter().map(|word| word.start).collect());
            weights.push(Value::heads(rows, cols, of_words));
        }
        Ok(Self {
            source: names(source_tokens, &source),
            target: names(outputs, &target),
            layers,
            heads,
            sums,
            weights,
        })
    }

    /// The other direction's links as ours, source first; refused when it is about other words.
    fn turned(&self, own: &Self) -> Result<Vec<Links>, LabError> {
        for (what, here, there) in [("source", &own.source, &self.target), ("target", &own.target, &self.source)] {
            if !are_same(here, there) {
                return Err(LabError::unsuited(format!(
                    "the two directions are about different {what} words: “{}” here and “{}” there; give both models the \
                     same two texts",
                    here.join(" "),
                    there.join(" ")
                )));
            }
        }
        let turn = |links: &Links| links.iter().map(|(source, target)| (*target, *source)).collect();
        Ok(self.layers.iter().map(turn).collect())
    }
}

/// Word alignment of each head and of the mean of each layer, and of every pair of layers of two directions; `gold` is
/// one sentence's links in the usual form, words counted from 0.
fn alignment(
    lab: &LabRun<'_>,
    setting: Setting,
    gold: Option<&str>,
    reverse: Option<&Reverse>,
) -> Result<Report, LabError> {
    let own = WordLinks::of(lab.plain()?, lab, setting)?;
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
    let n_words = [own.source.len(), own.target.len()];
    let mut lines = Lines::new(gold, n_words);
    for (layer, (mean, heads)) in own.layers.iter().zip(&own.heads).enumerate() {
        lines.add(format!("L{layer}"), mean);
        for (head, links) in heads.iter().enumerate() {
            lines.add(format!("L{layer}H{head}"), links);
        }
    }
    let mut report = Report::new(&SPEC)
        .with_parameter("source", json!(own.source))
        .with_parameter("target", json!(own.target))
        .with_value("alignments", Value::Table(lines.columns()))
        .with_value("kinds", lines.kinds())
        .with_value("fertility", lines.fertility());
    if let Some(Reverse { run, way }) = reverse {
        let words = WordLinks::of(run, lab, setting)?;
        let mut lines = Lines::new(gold, n_words);
        let mut agreements = Vec::new();
        for (layer, forward) in own.layers.iter().enumerate() {
            for (other, backward) in words.turned(&own)?.iter().enumerate() {
                lines.add(format!("L{layer} + L{other}"), &symmetrized(forward, backward, *way));
                agreements.push(agreement(forward, backward).unwrap_or(f64::NAN));
            }
        }
        let mut table = lines.columns();
        table.push(TableColumn::new("agreement", ColumnValues::Number(agreements)));
        report = report.with_value("symmetrized", Value::Table(table));
        report = report.with_value("kinds.symmetrized", lines.kinds());
        report = report.with_value("fertility.symmetrized", lines.fertility());
        report.notes.push(format!(
            "L1 + L0 combines layer 1 of this model with layer 0 of the other direction, which is {}",
            run.model().name
        ));
    }
    let axis = Axis::all(Side::Encoder);
    let sums =
        own.sums.into_iter().map(|sums| Value::tokens(axis.clone(), sums.iter().map(|sum| *sum as f32).collect()));
    report = report.with_value("coverage", Value::Layers(sums.collect()));
    report = report.with_value("weights", Value::Layers(own.weights));
    report.notes.push("a line without a head is the mean of its layer's heads".to_owned());
    Ok(report)
}

/// One alignment for each head and layer.
struct Lines<'a> {
    gold: Option<&'a Gold>,
    /// Of source and target.
    n_words: [usize; 2],
    heads: Vec<String>,
    links: Vec<Vec<String>>,
    orders: Vec<f64>,
    /// Number of groups of words by kind.
    kinds: [Vec<usize>; LinkKind::ALL.len()],
    /// Links of each source word and of each target word.
    fertility: [Vec<Vec<f64>>; 2],
    /// Error rate, precision, recall.
    worth: [Vec<f64>; 3],
}

impl<'a> Lines<'a> {
    fn new(gold: Option<&'a Gold>, n_words: [usize; 2]) -> Self {
        let (heads, links, orders) = (Vec::new(), Vec::new(), Vec::new());
        let (kinds, fertility, worth) = Default::default();
        Self { gold, n_words, heads, links, orders, kinds, fertility, worth }
    }

    fn add(&mut self, name: String, links: &Links) {
        self.heads.push(name);
        self.links.push(links.iter().map(|(source, target)| format!("{source}-{target}")).collect());
        self.orders.push(monotonicity(links).unwrap_or(f64::NAN));
        for (all, n) in self.kinds.iter_mut().zip(kinds(links, self.n_words)) {
            all.push(n);
        }
        for (all, counts) in self.fertility.iter_mut().zip(fertility(links, self.n_words)) {
            all.push(counts.into_iter().map(|n| n as f64).collect());
        }
        if let Some(gold) = self.gold {
            let mut found = Aer::default();
            found.add(links, gold);
            let worth = [found.error_rate(), found.precision(), found.recall()];
            for (all, value) in self.worth.iter_mut().zip(worth) {
                all.push(value.unwrap_or(f64::NAN));
            }
        }
    }

    fn kinds(&self) -> Value {
        let mut columns = vec![TableColumn::new("head", ColumnValues::Text(self.heads.clone()))];
        let named = LinkKind::ALL.into_iter().zip(&self.kinds);
        columns.extend(named.map(|(kind, all)| TableColumn::new(kind.name(), ColumnValues::Index(all.clone()))));
        Value::Table(columns)
    }

    fn fertility(&self) -> Value {
        let [sources, targets] = self.fertility.clone().map(ColumnValues::Numbers);
        Value::Table(vec![
            TableColumn::new("head", ColumnValues::Text(self.heads.clone())),
            TableColumn::new("source", sources),
            TableColumn::new("target", targets),
        ])
    }

    fn columns(&self) -> Vec<TableColumn> {
        let mut columns = vec![
            TableColumn::new("head", ColumnValues::Text(self.heads.clone())),
            TableColumn::new("links", ColumnValues::Texts(self.links.clone())),
            TableColumn::new("monotonicity", ColumnValues::Number(self.orders.clone())),
        ];
        if self.gold.is_some() {
            let named = ["aer", "precision", "recall"].into_iter().zip(self.worth.clone());
            columns.extend(named.map(|(name, values)| TableColumn::new(name, ColumnValues::Number(values))));
        }
        columns
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
