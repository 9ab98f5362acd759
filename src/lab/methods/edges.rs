//! Score decomposition: why a query attends to a key, one score taken apart (Elhage et al. 2021).

use std::borrow::Cow;

use serde_json::json;

use crate::{
    analysis::explain::{
        dense::{Dense, wide},
        edges::{VectorParts, edge},
        report::{ColumnValues, Form, LabQuestion, MethodSpec, Report, TableColumn, Value, ValueSpec},
    },
    capture::{Capture, Matrix, head_name},
    ids::{HeadId, StackKind},
    lab::{
        LabError, LabRun, Method, MethodPreset, MethodRefusal, Target,
        method::Parameters,
        options::{FieldValue, OptionField, Scope, Visit, choose, read_stack, whole},
        stream::{NO_STREAM, StreamPoint, Walk, frozen},
    },
    model::{FinalNorm, Projection},
    text::norm_text,
};

/// How far the parts may miss the score, as a part of it or of 1.
const SAME: f64 = 1e-4;

/// The method.
const SPEC: MethodSpec = MethodSpec {
    name: "edges",
    title: "Score decomposition",
    question: LabQuestion::Moves,
    about: "Why a query attends to a key: one score as a sum over pairs of parts of the two residual streams",
    example: "--model demo:gpt --text \"Once upon a time\" --layer 1 --head 0 --query 3 --key 1",
    caveat: "The parts describe this run with its norms held fixed, and large parts of opposite signs cancel: \
        only ablation shows what happens without a part.",
    formula: "score = scale · q · k^T + bias + mask, with q and k as sums of their parts",
    source: "Elhage et al. 2021",
    values: &[
        ValueSpec::new("score", "Score", ""),
        ValueSpec::new("sum", "Sum", "").form(Form::Decimal),
        ValueSpec::new("weight", "Weight", ""),
        ValueSpec::new("position_bias", "Position bias", ""),
        ValueSpec::new("soft_cap", "Soft cap", ""),
        ValueSpec::new("changes_of_the_run", "Changes of the run", ""),
        ValueSpec::new("by_query", "By query", ""),
        ValueSpec::new("by_key", "By key", ""),
        ValueSpec::new("pairs", "Pairs", ""),
        ValueSpec::new("dimensions", "Dimensions", ""),
    ],
    ..MethodSpec::EMPTY
};

/// Which score is taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EdgeOptions {
    pub head: HeadId,
    pub query: usize,
    pub key: usize,
    /// What the score is compared with.
    pub than: Than,
    /// How many pairs of parts are told, the largest first.
    pub n_top: usize,
}

impl EdgeOptions {
    /// Compared with the mean of all keys.
    pub const fn of(head: HeadId, query: usize, key: usize) -> Self {
        Self { head, query, key, than: Than::Mean, n_top: 12 }
    }
}

/// What a score is compared with: what is equal for all keys drops out of softmax.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Than {
    /// The mean of the scores of all keys that the query sees.
    #[default]
    Mean,
    /// Nothing: the score as it is.
    Nothing,
    /// The score of another key: the difference is the logarithm of the quotient of the two weights.
    Key(usize),
}

impl Than {
    /// The choice that the command line calls so.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "mean" => Some(Self::Mean),
            "none" => Some(Self::Nothing),
            key => key.parse().ok().map(Self::Key),
        }
    }

    /// The name on the command line.
    pub fn name(self) -> Cow<'static, str> {
        match self {
            Self::Mean => Cow::Borrowed("mean"),
            Self::Nothing => Cow::Borrowed("none"),
            Self::Key(key) => Cow::Owned(key.to_string()),
        }
    }
}

impl Method for EdgeOptions {
    const SPEC: &'static MethodSpec = &SPEC;
    const COLUMNS: &'static [MethodPreset] = &[MethodPreset {
        name: "edges",
        title: "Why this edge",
        method: &SPEC,
        starts: true,
        ask: |focus| {
            let (Some(query), Some(key)) = (focus.query, focus.key) else {
                return Err(MethodRefusal::without(
                    "pin a query and a key in another view: the score between them is decomposed",
                    "name a query and a key with --query and --key: the score between them is decomposed",
                ));
            };
            Ok(Self::of(focus.head, query, key).into())
        },
    }];

    fn begin() -> Self {
        Self::of(HeadId::default(), 0, 0)
    }

    // In the window head, query and key are those that are selected.
    fn options(&mut self, scope: &Scope<'_>, visit: &mut Visit<'_>) {
        if scope.command_line {
            let mut stack = None;
            read_stack(visit, "Attention stack, where there are several", &mut stack);
            self.head.stack = stack.unwrap_or(self.head.stack);
            for (name, meaning, slot) in [
                ("layer", "The layer", &mut self.head.layer),
                ("head", "The head of the layer", &mut self.head.head),
                ("query", "The position of the query", &mut self.query),
                ("key", "The position of the key", &mut self.key),
            ] {
                let mut read = |text: &str| {
                    *slot = text.parse().map_err(|_| format!("{name} is a whole number: {text} was given"))?;
                    Ok(())
                };
                visit(OptionField::new(name, name, meaning, FieldValue::Read(&mut read, "N")).required());
            }
            let mut read = |text: &str| {
                let than = Than::from_name(text);
                self.than =
                    than.ok_or_else(|| format!("than is mean, none or the position of a key: {text} was given"))?;
                Ok(())
            };
            let meaning = "Key to compare the score with: mean (of all visible keys), none, or the position of \
                another key [default: mean]";
            visit(OptionField::new("than", "Compared with", meaning, FieldValue::Read(&mut read, "WHAT")));
        } else {
            let all = [(Than::Mean, "mean", "The mean of all keys"), (Than::Nothing, "none", "Nothing")];
            let meaning = "Parts that are equal for all keys cancel in the softmax";
            choose(visit, ("than", "Compared with", meaning), &mut self.than, &all);
        }
        visit(whole("top", "Listed", "Pairs of parts", &mut self.n_top, 1..=100_000));
    }

    // The edge is told with the answer.
    fn parameters(&self) -> Parameters {
        vec![("top", json!(self.n_top))]
    }

    fn run(&self, lab: &LabRun<'_>, _target: Target) -> Result<Report, LabError> {
        edges(lab, *self)
    }
}

/// A head with what its score is made of.
struct Score<'a> {
    lab: &'a LabRun<'a>,
    walk: Walk<'a>,
    head: HeadId,
    query: usize,
    scale: f64,
    /// Of what queries are read from, and keys where that is the same stream.
    norm: Option<FinalNorm>,
}

/// Queries or keys of the head.
struct Reader<'a> {
    stack: StackKind,
    place: StreamPoint,
    norm: Option<FinalNorm>,
    map: &'a Projection,
    vector_norm: Option<&'a FinalNorm>,
}

impl Score<'_> {
    /// The parts of queries or keys at some positions, before they are turned.
    fn read(&mut self, reader: &Reader<'_>, positions: &[usize]) -> Result<Vec<VectorParts>, LabError> {
        let (weight, bias) = (Dense::from(&reader.map.weight), reader.map.bias.as_deref().map(wide));
        let mut all = Vec::with_capacity(positions.len());
        for (nth, position) in positions.iter().enumerate() {
            self.lab.step(nth, positions.len())?;
            let mut parts = self.walk.parts(reader.stack, *position, reader.place)?;
            if let Some(norm) = &reader.norm {
                parts.norm(frozen(norm), "bias");
            }
            let mut parts = parts.mapped(&weight, bias.as_deref(), "bias");
            if let Some(norm) = reader.vector_norm {
                parts.norm(frozen(norm), "bias");
            }
            all.push(parts.joined());
        }
        Ok(all)
    }

    /// The same, turned by their positions.
    fn turned(&mut self, reader: &Reader<'_>, positions: &[usize]) -> Result<Vec<VectorParts>, LabError> {
        let mut all = self.read(reader, positions)?;
        let n = self.walk.capture().tokens(reader.stack.query_side()).len();
        let width = reader.map.weight.n_cols();
        let most = all.iter().map(|parts| parts.vectors.len()).max().unwrap_or(0);
        let mut rows = vec![vec![0.0f32; most * width]; n];
        for (position, parts) in positions.iter().zip(&all) {
            let values = parts.vectors.iter().flatten().map(|value| *value as f32);
            rows[*position].iter_mut().zip(values).for_each(|(row, value)| *row = value);
        }
        let rows = rows.into_iter().map(|rows| Matrix::new(rows, [most, width]));
        let rows = rows.collect::<Result<Vec<_>, _>>().map_err(|_| LabError::unsuited(NO_STREAM))?;
        let HeadId { stack, layer, .. } = self.head;
        let turned = self.lab.model.turned(stack, layer, rows.clone())?;
        if turned != rows {
            for (position, parts) in positions.iter().zip(&mut all) {
                for (vector, row) in parts.vectors.iter_mut().zip(turned[*position].rows()) {
                    *vector = wide(row);
                }
            }
        }
        Ok(all)
    }

    /// What is recorded: a score, and what of it is no product of query and key.
    fn recorded(&self, key: usize) -> Result<[f64; 2], LabError> {
        let missing = || LabError::unsuited("its scores are not products of queries and keys, so they have no parts");
        let capture = self.walk.capture();
        let layer = capture.layer(self.head).and_then(|layer| layer.scores());
        let scores = layer.and_then(|scores| scores.head(self.head.head)).ok_or_else(missing)?;
        let score = scores.row(self.query).and_then(|row| row.get(key)).copied().ok_or_else(missing)?;
        let (q, k) = (capture.q(self.head), capture.k(self.head));
        let (q, k) = (q.as_ref().and_then(|q| q.row(self.query)), k.as_ref().and_then(|k| k.row(key)));
        let (Some(q), Some(k)) = (q, k) else { return Err(missing()) };
        let product: f64 = q.iter().zip(k).map(|(q, k)| f64::from(*q) * f64::from(*k)).sum();
        Ok([f64::from(score), f64::from(score) - self.scale * product])
    }
}

fn spot(capture: &Capture, options: &EdgeOptions) -> Result<(), LabError> {
    let HeadId { stack, layer, head } = options.head;
    let spec = capture.model().stack(stack);
    let spec = spec.ok_or_else(|| LabError::unsuited(format!("the model has no attention called {stack}")))?;
    let n_heads = spec.layers.get(layer).map_or(0, |layer| layer.n_heads);
    if head >= n_heads {
        return Err(LabError::unsuited(format!("there is no head {}", head_name(options.head))));
    }
    let (n_query, n_key) = (capture.query_tokens(stack).len(), capture.key_tokens(stack).len());
    let beside = if let Than::Key(key) = options.than { key } else { options.key };
    if options.query >= n_query || options.key.max(beside) >= n_key {
        let (query, key) = (options.query, options.key.max(beside));
        return Err(LabError::unsuited(format!(
            "there is no edge from query {query} to key {key} among {n_query} × {n_key}"
        )));
    }
    if capture.global_tokens(options.head).binary_search(&options.query).is_ok() {
        let what = "this token has global attention with separate maps, which are not decomposed: choose another query";
        return Err(LabError::unsuited(what));
    }
    Ok(())
}

/// Parts with their contributions, the largest first.
fn table(names: &[String], values: &[f64]) -> Value {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*b].abs().total_cmp(&values[*a].abs()));
    Value::Table(vec![
        TableColumn::new("part", ColumnValues::Text(order.iter().map(|nth| names[*nth].clone()).collect())),
        TableColumn::new("contribution", ColumnValues::Number(order.iter().map(|nth| values[*nth]).collect())),
    ])
}

/// One score as the sum of what the parts of two streams say to each other.
fn edges(lab: &LabRun<'_>, options: EdgeOptions) -> Result<Report, LabError> {
    let EdgeOptions { head, query, key, than, n_top } = options;
    let HeadId { stack, layer, .. } = head;
    let plain = lab.plain()?;
    spot(plain, &options)?;
    let missing = || LabError::unsuited(NO_STREAM);
    let is_cross = stack == StackKind::Cross;
    let own = if is_cross { StackKind::Decoder } else { stack };
    let maps = lab.model.head_maps(stack, layer, head.head)?.ok_or_else(missing)?;
    let shape = lab.model.block_shape(own, layer)?.ok_or_else(missing)?;
    let norms = if is_cross { shape.cross } else { Some(shape.attention) };
    let spec = plain.model().stack(stack).and_then(|spec| spec.layers.get(layer)).ok_or_else(missing)?;
    let mut score = Score {
        lab,
        walk: Walk::new(lab)?,
        head,
        query,
        scale: f64::from(spec.scale),
        norm: norms.and_then(|norms| norms.before),
    };
    let [own_score, own_rest] = score.recorded(key)?;
    let n_key = plain.key_tokens(stack).len();
    // What a mask or a change of the run hides has no score.
    let mut seen = Vec::new();
    for key in 0..n_key {
        let recorded = score.recorded(key)?;
        if recorded[0].is_finite() {
            seen.push((key, recorded));
        }
    }
    if !own_score.is_finite() {
        return Err(LabError::unsuited(format!("query {query} cannot see key {key}, so there is no score")));
    }
    let others: Vec<(usize, [f64; 2])> = match than {
        Than::Nothing => Vec::new(),
        Than::Mean => seen,
        Than::Key(other) => seen.into_iter().filter(|(key, _)| *key == other).collect(),
    };
    if let (Than::Key(other), true) = (than, others.is_empty()) {
        return Err(LabError::unsuited(format!(
            "query {query} cannot see key {other}, so there is nothing to compare"
        )));
    }
    let queries = Reader {
        stack: own,
        place: if is_cross { StreamPoint::BeforeCross(layer) } else { StreamPoint::Entering(layer) },
        norm: score.norm.clone(),
        map: &maps.query,
        vector_norm: maps.query_norm.as_ref(),
    };
    let of_keys = if is_cross { StackKind::Encoder } else { own };
    let keys = Reader {
        stack: of_keys,
        place: if is_cross { StreamPoint::Leaving } else { StreamPoint::Entering(layer) },
        norm: if is_cross { lab.model.final_norm(StackKind::Encoder)? } else { score.norm.clone() },
        map: &maps.key,
        vector_norm: maps.key_norm.as_ref(),
    };
    if keys.map.weight.n_rows() != score.walk.capture().stack(of_keys).map_or(0, |_| lab.model.spec().d_model) {
        let what = "a map to another width lies between its encoder and its decoder, and parts cannot be followed through \
            it";
        return Err(LabError::unsuited(what));
    }
    let query_parts = score.turned(&queries, &[query])?.pop().ok_or_else(missing)?;
    let positions: Vec<usize> = others.iter().map(|(key, _)| *key).chain([key]).collect();
    let mut all = score.turned(&keys, &positions)?;
    let mut key_parts = all.pop().ok_or_else(missing)?;
    let share = 1.0 / others.len().max(1) as f64;
    for other in &all {
        key_parts = key_parts.less(other, share);
    }
    let mean = |nth: usize| others.iter().map(|(_, recorded)| recorded[nth]).sum::<f64>() * share;
    let (compared, rest) = (own_score - mean(0), own_rest - mean(1));
    let found = edge(&query_parts, &key_parts, score.scale)?;
    let sum = found.sum + rest;
    let weight = plain.stored_pattern(head).and_then(|pattern| pattern.get(query, key)).map_or(f64::NAN, f64::from);
    let beside = match (spec.biased, spec.softcap) {
        (true, _) => "position bias",
        (false, Some(_)) => "soft cap",
        (false, None) => "changes of the run",
    };
    let mut report = Report::new(&SPEC)
        .with_parameter("head", head_name(head))
        .with_parameter("query", query)
        .with_parameter("key", key)
        .with_parameter("than", json!(than.name()));
    report.notes.extend(score.walk.notes());
    if (sum - compared).abs() > SAME * compared.abs().max(own_score.abs()).max(1.0) {
        report.notes.push(format!(
            "the parts add up to {}, but the score is {}: do not trust them",
            norm_text(sum),
            norm_text(compared)
        ));
    }
    report = report.with_value("score", compared).with_value("sum", sum).with_value("weight", weight);
    // What is no product: a bias of the position, a cap, a change.
    if spec.biased || spec.softcap.is_some() || rest.abs() > SAME * own_score.abs().max(1.0) {
        report = report.with_value(beside.replace(' ', "_"), rest);
    }
    let n = key_parts.names.len();
    let mut order: Vec<usize> = (0..found.pairs.as_slice().len()).collect();
    let size = |at: &usize| found.pairs.as_slice()[*at].abs();
    order.sort_by(|a, b| size(b).total_cmp(&size(a)));
    order.truncate(n_top);
    let pairs = Value::Table(vec![
        TableColumn::new(
            "query_part",
            ColumnValues::Text(order.iter().map(|at| query_parts.names[at / n].clone()).collect()),
        ),
        TableColumn::new(
            "key_part",
            ColumnValues::Text(order.iter().map(|at| key_parts.names[at % n].clone()).collect()),
        ),
        TableColumn::new(
            "contribution",
            ColumnValues::Number(order.iter().map(|at| found.pairs.as_slice()[*at]).collect()),
        ),
    ]);
    Ok(report
        .with_value("by_query", table(&query_parts.names, &found.by_query()))
        .with_value("by_key", table(&key_parts.names, &found.by_key()))
        .with_value("pairs", pairs)
        .with_value("dimensions", found.dimensions))
}
