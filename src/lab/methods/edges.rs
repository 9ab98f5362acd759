//! Score decomposition: why a query attends to a key, one score taken apart (Elhage et al. 2021).

use std::borrow::Cow;

use serde_json::json;

use crate::{
    analysis::chain::Chain,
    analysis::explain::{
        dense::{Dense, wide},
        directions::{Directions, Factor},
        edges::{Edge, PartsBy, VectorParts},
        report::{ColumnValues, Form, LabQuestion, MethodSpec, Report, TableColumn, Value, ValueSpec},
    },
    capture::{Capture, Site, head_name},
    ids::{HeadId, StackKind},
    lab::{
        LabError, LabRun, Method, MethodPreset, MethodRefusal, Target,
        method::Parameters,
        options::{FieldValue, OptionField, Scope, Visit, choose, read_head, read_number, whole},
        stream::{BRIDGED, LastHeads, NO_STREAM, StreamPoint, Walk, frozen},
    },
    model::{FinalNorm, Projection},
    text::{counted, norm_text},
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
        ValueSpec::new("parts", "Parts of the score", "They add up to the score"),
        ValueSpec::new("matrix", "Query part × key part", "What each part of the query says to each part of the key"),
        ValueSpec::new("by_query", "By part of the query", "What each says to the whole key"),
        ValueSpec::new("by_key", "By part of the key", "What the whole query says to each"),
        ValueSpec::of_files("pairs"),
        ValueSpec::new("dimensions", "Dimensions", "Another basis of the same model would have others"),
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
    pub by: PartsBy,
    /// How many pairs of parts are told, the largest first.
    pub n_top: usize,
}

impl EdgeOptions {
    /// Compared with the mean of all keys, by source.
    pub const fn of(head: HeadId, query: usize, key: usize) -> Self {
        Self { head, query, key, than: Than::Mean, by: PartsBy::Source, n_top: 12 }
    }

    /// The score that steps lead to, taken apart as they do not; `None` by dimension, which is one of them.
    pub fn beside(chain: &Chain, by: PartsBy) -> Option<Self> {
        let than = Than::from_name(&chain.than())?;
        let options = Self { than, by, ..Self::of(chain.head, chain.query, chain.key) };
        (by != PartsBy::Dimension).then_some(options)
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
            read_head(visit, &mut self.head);
            read_number(visit, "query", "The position of the query", &mut self.query);
            read_number(visit, "key", "The position of the key", &mut self.key);
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
        let meaning = "How the score is taken apart: dimension, direction (singular directions of the head), source (pairs \
            of what was added to the two streams), position (apart from content) or back (what the heads of the layer \
            before brought from each token)";
        choose(visit, ("by", "Parts by", meaning), &mut self.by, &PartsBy::CHOICES);
        visit(whole("top", "Listed", "Pairs of parts", &mut self.n_top, 1..=100_000));
    }

    // The edge is told with the answer.
    fn parameters(&self) -> Parameters {
        vec![("by", json!(self.by.name())), ("top", json!(self.n_top))]
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
    /// Queries or keys.
    site: Site,
    stack: StackKind,
    place: StreamPoint,
    norm: Option<FinalNorm>,
    map: &'a Projection,
    vector_norm: Option<&'a FinalNorm>,
}

/// Names of a part of the stream that says where a token stands.
const POSITION: &str = "position embedding";
/// Parts of queries and of keys that a matrix has rows and columns for, beside one for all others.
const IN_MATRIX: usize = 11;
const NOT_APART: &str =
    "where its tokens stand is part of what they are made of, so content and position cannot be told apart";
const NONE_BEFORE: &str = "no head comes before this one, so there is no step back";

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
            let mut parts = parts.mapped(&weight, bias.as_deref(), "bias")?;
            if let Some(norm) = reader.vector_norm {
                parts.norm(frozen(norm), "bias");
            }
            all.push(parts.joined());
        }
        Ok(all)
    }

    /// The same turns as of queries and keys at some positions, `[d_head, d_head]` each; `None` where there are none.
    fn turns(&self, reader: &Reader<'_>, positions: &[usize]) -> Result<Option<Vec<Dense>>, LabError> {
        let HeadId { stack, layer, .. } = self.head;
        let unturned = Dense::identity(reader.map.weight.n_cols()).to_matrix();
        let n = self.walk.capture().tokens(reader.stack.query_side()).len();
        let rows = vec![unturned; positions.len()];
        let turned = self.lab.model.turned((stack, layer), reader.site, (positions, n), &rows)?;
        Ok(turned.map(|turned| turned.iter().map(Dense::from).collect()))
    }

    /// The map of a reader at a position, its biases among its rows, turned as what stands there.
    fn factor(&mut self, reader: &Reader<'_>, position: usize) -> Result<Factor, LabError> {
        let mut rows = VectorParts::default();
        reader.map.weight.rows().for_each(|row| rows.add("", wide(row)));
        reader.map.bias.iter().for_each(|bias| rows.add("", wide(bias)));
        if let Some(norm) = reader.vector_norm.map(frozen) {
            let before = self.read(&Reader { vector_norm: None, norm: reader.norm.clone(), ..*reader }, &[position])?;
            let deviation = before.first().map_or(1.0, |parts| norm.deviation(&parts.sum()));
            rows.norm_by(norm, deviation, "");
        }
        let Factor(factor) = Factor::of(&rows.matrix())?;
        match self.turns(reader, &[position])?.as_deref() {
            Some([turn]) => Ok(Factor(factor.product(turn)?)),
            _ => Ok(Factor(factor)),
        }
    }

    /// A query and a key, less their share of other keys; unturned, and turned where they are.
    fn edges(
        &mut self,
        [queries, keys]: [&Reader<'_>; 2],
        key: usize,
        others: &[usize],
    ) -> Result<(Edge, Option<Edge>), LabError> {
        let missing = || LabError::unsuited(NO_STREAM);
        let query_parts = self.read(queries, &[self.query])?.pop().ok_or_else(missing)?;
        let key_parts = self.read(keys, &[key])?.pop().ok_or_else(missing)?;
        // Of what is compared with nobody asks how it came about.
        self.walk.heads = LastHeads::Whole;
        let other_parts = self.read(keys, others)?;
        let less = |parts: VectorParts, others: &[VectorParts]| {
            others.iter().fold(parts, |parts, other| parts.less(other, 1.0 / others.len() as f64))
        };
        let positions: Vec<usize> = [key].iter().chain(others).copied().collect();
        let turned = match (self.turns(queries, &[self.query])?, self.turns(keys, &positions)?) {
            (Some(of_query), Some(of_keys)) => {
                let turn = |parts: &VectorParts, turn: &Dense| parts.mapped(turn, None, "");
                let others = other_parts.iter().zip(&of_keys[1..]).map(|(parts, by)| turn(parts, by));
                let others = others.collect::<Result<Vec<_>, _>>()?;
                let turned_key = less(turn(&key_parts, &of_keys[0])?, &others);
                Some(Edge::of(turn(&query_parts, &of_query[0])?, turned_key, self.scale)?)
            }
            _ => None,
        };
        Ok((Edge::of(query_parts, less(key_parts, &other_parts), self.scale)?, turned))
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

    /// The same of each key that has a score: what a mask or a change of the run hides has none.
    fn seen(&self, n_key: usize) -> Result<Vec<(usize, [f64; 2])>, LabError> {
        let mut seen = Vec::new();
        for key in 0..n_key {
            let recorded = self.recorded(key)?;
            if recorded[0].is_finite() {
                seen.push((key, recorded));
            }
        }
        Ok(seen)
    }
}

fn spot(capture: &Capture, options: &EdgeOptions) -> Result<(), LabError> {
    let HeadId { stack, layer, head } = options.head;
    if stack.is_cross_modal() {
        return Err(LabError::unsuited(BRIDGED));
    }
    let spec = capture.model().stack(stack);
    let spec = spec.ok_or_else(|| LabError::unsuited(format!("the model has no attention called {stack}")))?;
    let n_heads = spec.layers.get(layer).map_or(0, |layer| layer.n_heads);
    if head >= n_heads {
        return Err(LabError::unsuited(format!("there is no head {}", head_name(options.head))));
    }
    if capture.model().is_effective(options.head) {
        let what = format!("{} compares no query with a key, so it has no scores", head_name(options.head));
        return Err(LabError::unsuited(what));
    }
    if options.by == PartsBy::Back && !stack.is_cross() && layer == 0 {
        return Err(LabError::unsuited(NONE_BEFORE));
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

/// The pairs of parts that say most, `n_top` of them.
fn pairs(edge: &Edge, pairs: &Dense, n_top: usize) -> Value {
    let n = edge.key.names.len();
    let mut order: Vec<usize> = (0..pairs.as_slice().len()).collect();
    let size = |at: &usize| pairs.as_slice()[*at].abs();
    order.sort_by(|a, b| size(b).total_cmp(&size(a)));
    order.truncate(n_top);
    let names = |of: &dyn Fn(usize) -> String| ColumnValues::Text(order.iter().map(|at| of(*at)).collect());
    Value::Table(vec![
        TableColumn::new("query_part", names(&|at| edge.query.names[at / n].clone())),
        TableColumn::new("key_part", names(&|at| edge.key.names[at % n].clone())),
        TableColumn::new("contribution", ColumnValues::Number(order.iter().map(|at| pairs.as_slice()[*at]).collect())),
    ])
}

/// What the largest parts of the query, as rows, say to the largest of the key, as columns; the others are taken together.
fn matrix(edge: &Edge, pairs: &Dense) -> Value {
    // The name of each row or column with the parts in it.
    let grouped = |names: &[String], size: &dyn Fn(usize) -> f64| {
        let mut order: Vec<usize> = (0..names.len()).collect();
        order.sort_by(|a, b| size(*b).total_cmp(&size(*a)));
        let (shown, others) = order.split_at(names.len().min(IN_MATRIX));
        let mut groups: Vec<(String, Vec<usize>)> = shown.iter().map(|at| (names[*at].clone(), vec![*at])).collect();
        if !others.is_empty() {
            groups.push((format!("{} others", others.len()), others.to_vec()));
        }
        groups
    };
    let (by_query, by_key) = (edge.by_query(), edge.by_key());
    let rows = grouped(&edge.query.names, &|row| by_query[row].abs());
    let cols = grouped(&edge.key.names, &|col| by_key[col].abs());
    let cell = |rows: &[usize], cols: &[usize]| -> f64 {
        rows.iter().flat_map(|row| cols.iter().map(move |col| pairs.at(*row, *col))).sum()
    };
    let names = ColumnValues::Text(rows.iter().map(|(name, _)| name.clone()).collect());
    let column = |(name, cols): (String, Vec<usize>)| {
        TableColumn::new(name, ColumnValues::Number(rows.iter().map(|(_, rows)| cell(rows, &cols)).collect()))
    };
    Value::Table([TableColumn::new("query_part", names)].into_iter().chain(cols.into_iter().map(column)).collect())
}

/// What tokens are apart from where they stand: by position embeddings, and by what turning them apart changes.
fn by_position(plain: &Edge, turned: Option<&Edge>, distance: usize) -> Vec<(String, f64)> {
    let told = |parts: &VectorParts| {
        [("content", parts.sum_of(|name| name != POSITION)), ("position", parts.sum_of(|name| name == POSITION))]
    };
    let mut parts = Vec::new();
    if [&plain.query, &plain.key].iter().any(|side| side.names.iter().any(|name| name == POSITION)) {
        for (of_query, q) in told(&plain.query) {
            for (of_key, k) in told(&plain.key) {
                parts.push((format!("{of_query} × {of_key}"), plain.product(&q, &k)));
            }
        }
    } else {
        parts.push(("content, as if at one place".to_owned(), plain.sum()));
    }
    parts.extend(
        turned.map(|turned| (format!("turned {} apart", counted(distance, "position")), turned.sum() - plain.sum())),
    );
    parts
}

/// A report of what was asked.
fn report_of(options: &EdgeOptions) -> Report {
    Report::new(&SPEC)
        .with_parameter("head", head_name(options.head))
        .with_parameter("query", options.query)
        .with_parameter("key", options.key)
        .with_parameter("than", json!(options.than.name()))
        .with_parameter("by", json!(options.by.name()))
}

/// One score as the sum of what the parts of two streams say to each other.
fn edges(lab: &LabRun<'_>, options: EdgeOptions) -> Result<Report, LabError> {
    let EdgeOptions { head, query, key, than, by, n_top } = options;
    let HeadId { stack, layer, .. } = head;
    let plain = lab.plain()?;
    spot(plain, &options)?;
    let missing = || LabError::unsuited(NO_STREAM);
    let is_cross = stack.is_cross();
    let own = stack.host();
    let maps = lab.model.head_maps(stack, layer, head.head)?.ok_or_else(missing)?;
    let shape = lab.model.block_shape(own, layer)?.ok_or_else(missing)?;
    let norms = if is_cross { shape.cross } else { Some(shape.attention) };
    let spec = plain.model().stack(stack).and_then(|spec| spec.layers.get(layer)).ok_or_else(missing)?;
    let mut score = Score {
        lab,
        walk: Walk::new(lab, if by == PartsBy::Back { LastHeads::ByToken } else { LastHeads::Whole })?,
        head,
        query,
        scale: f64::from(spec.scale),
        norm: norms.and_then(|norms| norms.before),
    };
    let [own_score, own_rest] = score.recorded(key)?;
    let seen = score.seen(plain.key_tokens(stack).len())?;
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
        site: Site::Q,
        stack: own,
        place: if is_cross { StreamPoint::BeforeCross(layer) } else { StreamPoint::Entering(layer) },
        norm: score.norm.clone(),
        map: &maps.query,
        vector_norm: maps.query_norm.as_ref(),
    };
    let of_keys = if is_cross { StackKind::Encoder } else { own };
    let keys = Reader {
        site: Site::K,
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
    let places: Vec<usize> = others.iter().map(|(key, _)| *key).collect();
    let (plain_edge, turned) = score.edges([&queries, &keys], key, &places)?;
    let found = turned.as_ref().unwrap_or(&plain_edge);
    let mean = |nth: usize| others.iter().map(|(_, recorded)| recorded[nth]).sum::<f64>() / others.len().max(1) as f64;
    let (compared, rest) = (own_score - mean(0), own_rest - mean(1));
    let sum = found.sum() + rest;
    let weight = plain.stored_pattern(head).and_then(|pattern| pattern.get(query, key)).map_or(f64::NAN, f64::from);
    let beside = match (spec.biased, spec.softcap) {
        (true, _) => "position bias",
        (false, Some(_)) => "soft cap",
        (false, None) => "changes of the run",
    };
    let mut report = report_of(&options);
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
    let has_rest = spec.biased || spec.softcap.is_some() || rest.abs() > SAME * own_score.abs().max(1.0);
    if has_rest {
        report = report.with_value(beside.replace(' ', "_"), rest);
    }
    let of_rest = has_rest.then(|| (beside.to_owned(), rest));
    let parts = |parts: Vec<(String, f64)>| {
        let (names, values): (Vec<_>, Vec<_>) = parts.into_iter().chain(of_rest).unzip();
        table(&names, &values)
    };
    let by_side = |report: Report| {
        let report = report.with_value("by_query", table(&found.query.names, &found.by_query()));
        report.with_value("by_key", table(&found.key.names, &found.by_key()))
    };
    Ok(match by {
        PartsBy::Dimension => report.with_value("dimensions", found.dimensions()),
        PartsBy::Direction => {
            let factors = [score.factor(&queries, query)?, score.factor(&keys, key)?];
            let Directions { strengths, parts: values } = found.directions(&factors[0], &factors[1])?;
            let left = found.sum() - values.iter().sum::<f64>();
            let name = |(nth, strength): (usize, &f64)| format!("direction {}, σ {}", nth + 1, norm_text(*strength));
            let mut all: Vec<_> = strengths.iter().enumerate().map(name).zip(values).collect();
            if left.abs() > SAME * own_score.abs().max(1.0) {
                all.push(("outside of its directions".to_owned(), left));
            }
            report.with_value("parts", parts(all))
        }
        PartsBy::Source => {
            let all = found.pairs();
            by_side(report.with_value("matrix", matrix(found, &all)).with_value("pairs", pairs(found, &all, n_top)))
                .with_value("dimensions", found.dimensions())
        }
        PartsBy::Position => {
            let all = by_position(&plain_edge, turned.as_ref(), query.abs_diff(key));
            if all.len() == 1 && !spec.biased {
                return Err(LabError::unsuited(NOT_APART));
            }
            report.with_value("parts", parts(all))
        }
        PartsBy::Back => by_side(report),
    })
}
