//! Coordinates with the tokens they belong to, as JSON, NPZ or CSV.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{
    clouds::Clouds,
    lay_out::{HeadLayout, JointFacts},
    measured::Measured,
    options::{Format, ProjectOptions},
};
use crate::{
    analysis::{CloudToken, Space},
    cli::layout::Method,
    figure::data::{self, Array, DataColumn, DataFormat, DataValues, Table},
    projection::{correlation::Correlation, space::Norms},
};

/// What goes to a file.
pub struct Results<'a> {
    pub options: &'a ProjectOptions,
    pub method: &'a Method,
    pub clouds: &'a Clouds,
    pub heads: &'a [HeadLayout],
    pub measured: &'a Measured,
}

/// The whole file, coordinates in single precision and as short as they can be written.
#[derive(Serialize)]
struct Document<'a> {
    method: &'static str,
    parameters: Map<String, Value>,
    model: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    caveat: Option<&'static str>,
    /// What was searched for, and what neighbours share.
    #[serde(flatten)]
    measured: Map<String, Value>,
    tokens: Vec<Value>,
    /// Where keys are of another sequence than queries.
    #[serde(skip_serializing_if = "Option::is_none")]
    key_tokens: Option<Vec<Value>>,
    #[serde(flatten)]
    cells: CellsByKind<'a>,
}

/// Cells by what they are.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum CellsByKind<'a> {
    Heads(Vec<Cell<'a>>),
    Layers(Vec<Cell<'a>>),
    Tables(Vec<Cell<'a>>),
}

#[derive(Serialize)]
struct Cell<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    layer: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    head: Option<usize>,
    #[serde(flatten)]
    points: PointsOf<'a>,
    #[serde(flatten)]
    facts: Map<String, Value>,
}

/// Coordinates by what they are of.
#[derive(Serialize)]
#[serde(untagged)]
enum PointsOf<'a> {
    Joint { queries: Vec<&'a [f32]>, keys: Vec<&'a [f32]> },
    One { points: Vec<&'a [f32]> },
}

impl Results<'_> {
    pub fn write(&self, format: Format, out: &mut dyn Write) -> io::Result<()> {
        match format {
            Format::Json => {
                serde_json::to_writer(&mut *out, &self.document())?;
                out.write_all(b"\n")
            }
            Format::Npz => data::write_arrays(&self.arrays(), out),
            Format::Csv => data::write(&self.table(), DataFormat::Csv, out),
        }
    }

    const fn dims(&self) -> usize {
        self.options.dims as usize
    }

    fn document(&self) -> Document<'_> {
        let table = |rows: &[CloudToken<'_>]| rows.iter().map(|row| self.token(row)).collect::<Vec<Value>>();
        let [queries, keys] = self.clouds.rows();
        let space = self.clouds.space();
        let cells = self.heads.iter().map(|head| self.cell(head)).collect();
        Document {
            method: self.options.layout.method.name(),
            parameters: self.parameters(),
            model: self.model(),
            caveat: self.caveat(),
            measured: self.measured.summary(self.clouds),
            tokens: table(if queries.is_empty() { &keys } else { &queries }),
            key_tokens: self.clouds.two_sides().then(|| table(&keys)),
            cells: match space {
                Space::QueriesKeys | Space::Values => CellsByKind::Heads(cells),
                Space::Residual => CellsByKind::Layers(cells),
                Space::Positions => CellsByKind::Tables(cells),
            },
        }
    }

    fn cell<'a>(&self, head: &'a HeadLayout) -> Cell<'a> {
        let (space, dims) = (self.clouds.space(), self.dims());
        let (queries, keys) = head.layout.split_at(head.n_queries * dims);
        Cell {
            layer: (space != Space::Positions).then_some(head.head.layer),
            head: space.is_per_head().then_some(head.head.head),
            points: if space.is_joint() {
                PointsOf::Joint { queries: queries.chunks(dims).collect(), keys: keys.chunks(dims).collect() }
            } else {
                PointsOf::One { points: head.layout.chunks(dims).collect() }
            },
            facts: self.facts(head),
        }
    }

    fn parameters(&self) -> Map<String, Value> {
        let n = self.heads.first().map_or(0, |head| head.n_points);
        let mut parameters = self.options.parameters(self.method, n);
        if let Some(head) = self.heads.first() {
            parameters.insert("stack".to_owned(), json!(head.head.stack.name()));
        }
        parameters
    }

    fn model(&self) -> Value {
        let spec = self.clouds.model();
        json!({ "name": spec.name, "family": spec.family })
    }

    /// What dot products alone do not tell.
    fn caveat(&self) -> Option<&'static str> {
        let text = "The scores of this model also have a position bias that q and k do not contain, so distance \
            predicts less of the attention.";
        self.clouds.has_bias().then_some(text)
    }

    fn token(&self, row: &CloudToken<'_>) -> Value {
        let mut token = json!({
            "input": row.input,
            "position": row.position,
            "text": text(row),
            "id": row.id,
            "special": row.special,
        });
        let cloud = self.clouds.cloud();
        let known = cloud.annotations().iter().map(|name| (name.clone(), json!(cloud.annotation(row.input, name))));
        if let (Some(token), false) = (token.as_object_mut(), cloud.annotations().is_empty()) {
            token.insert("annotations".to_owned(), Value::Object(known.collect()));
        }
        token
    }

    /// Numbers about one head.
    fn facts(&self, head: &HeadLayout) -> Map<String, Value> {
        let mut facts = facts(head);
        let sharing = self.clouds.sharing(head.head);
        facts.extend(sharing.map(|heads| ("shared_by".to_owned(), json!(heads.collect::<Vec<usize>>()))));
        facts.extend(self.measured.of_head(head.head));
        facts
    }

    /// Coordinates per head; everything else as JSON.
    fn arrays(&self) -> Vec<Array> {
        let mut arrays = Vec::new();
        for head in self.heads {
            let (queries, keys) = head.layout.split_at(head.n_queries * self.dims());
            let key = self.clouds.key(head.head);
            let named = match self.clouds.space() {
                Space::QueriesKeys => vec![(format!("{key}.queries"), queries), (format!("{key}.keys"), keys)],
                Space::Values => vec![(format!("{key}.values"), keys)],
                Space::Residual => vec![(format!("{key}.tokens"), queries)],
                Space::Positions => vec![(key, queries)],
            };
            for (name, values) in named {
                arrays.push(Array::numbers(name, &[values.len() / self.dims(), self.dims()], values));
            }
        }
        let mut parameters = Map::from_iter([
            ("method".to_owned(), json!(self.options.layout.method.name())),
            ("model".to_owned(), self.model()),
        ]);
        parameters.extend(self.parameters());
        parameters.extend(self.caveat().map(|caveat| ("caveat".to_owned(), json!(caveat))));
        parameters.extend(self.measured.summary(self.clouds));
        let heads = self.heads.iter().map(|head| (self.clouds.key(head.head), Value::Object(self.facts(head))));
        parameters.insert("heads".to_owned(), Value::Object(heads.collect()));
        arrays.push(Array::text("parameters".to_owned(), &Value::Object(parameters).to_string()));
        let [queries, keys] = self.clouds.rows();
        let tables = match (queries.is_empty(), self.clouds.two_sides()) {
            (true, _) => vec![("", keys)],
            (false, true) => vec![("", queries), ("key_", keys)],
            (false, false) => vec![("", queries)],
        };
        for (prefix, rows) in tables {
            let index =
                |of: &dyn Fn(&CloudToken<'_>) -> usize| rows.iter().map(|row| of(row) as u32).collect::<Vec<u32>>();
            arrays.push(Array::indices(format!("{prefix}input"), &index(&|row| row.input)));
            arrays.push(Array::indices(format!("{prefix}position"), &index(&|row| row.position)));
            arrays.push(Array::texts(format!("{prefix}text"), &rows.iter().map(text).collect::<Vec<_>>()));
        }
        arrays
    }

    /// One line per point.
    fn table(&self) -> Table {
        let ([queries, keys], space) = (self.clouds.rows(), self.clouds.space());
        let sides = || [("query", &queries), ("key", &keys)];
        let each = |of: &dyn Fn(&HeadLayout, &'static str, &CloudToken<'_>) -> String| {
            let of_head =
                |head| sides().into_iter().flat_map(move |(side, rows)| rows.iter().map(move |row| (head, side, row)));
            DataValues::Text(self.heads.iter().flat_map(of_head).map(|(head, side, row)| of(head, side, row)).collect())
        };
        let mut columns = Vec::new();
        if space != Space::Positions {
            columns.push(DataColumn::new("layer", each(&|head, _, _| head.head.layer.to_string())));
        }
        if space.is_per_head() {
            columns.push(DataColumn::new("head", each(&|head, _, _| head.head.head.to_string())));
        }
        if space.is_joint() {
            columns.push(DataColumn::new("side", each(&|_, side, _| side.to_owned())));
        }
        columns.extend([
            DataColumn::new("input", each(&|_, _, row| row.input.to_string())),
            DataColumn::new("position", each(&|_, _, row| row.position.to_string())),
            DataColumn::new("id", each(&|_, _, row| row.id.map_or_else(String::new, |id| id.to_string()))),
            DataColumn::new("text", each(&|_, _, row| text(row))),
            DataColumn::new("special", each(&|_, _, row| u8::from(row.special).to_string())),
        ]);
        let cloud = self.clouds.cloud();
        for name in cloud.annotations() {
            let values = each(&|_, _, row| cloud.annotation(row.input, name).unwrap_or_default().to_owned());
            columns.push(DataColumn::new(name.clone(), values));
        }
        for (axis, name) in ["x", "y", "z"].into_iter().take(self.dims()).enumerate() {
            let values = self.heads.iter().flat_map(|head| head.layout.iter().skip(axis).step_by(self.dims()).copied());
            columns.push(DataColumn::new(name, DataValues::Number(values.collect())));
        }
        Table::of(columns)
    }
}

fn text(row: &CloudToken<'_>) -> String {
    if row.text.is_empty() { row.position.to_string() } else { row.text.to_owned() }
}

/// Numbers about one head.
fn facts(head: &HeadLayout) -> Map<String, Value> {
    let correlation = |correlation: Correlation| {
        let pair =
            |c: crate::projection::correlation::Coefficients| json!({ "pearson": c.pearson, "spearman": c.spearman });
        json!({ "pooled": pair(correlation.pooled), "per_query": pair(correlation.per_query) })
    };
    let mut facts = Map::new();
    if let Some(JointFacts { transform, correlations: found, norms }) = &head.joint {
        facts.insert("c".to_owned(), json!(transform.c));
        facts.insert("translation".to_owned(), json!(transform.translation));
        let correlation = json!({
            "before": correlation(found.before),
            "after": correlation(found.after),
            "pairs": found.n_pairs,
            "pairs_measured": found.n_measured,
            "pairs_ranked": found.n_ranked,
        });
        facts.insert("correlation".to_owned(), correlation);
        let Norms { queries, keys } = norms;
        let norms = json!({ "queries": queries, "keys": keys, "disparity": norms.disparity() });
        facts.insert("norms".to_owned(), norms);
    }
    facts.extend(head.norm.map(|norm| ("norm".to_owned(), json!(norm))));
    facts.extend(head.explained.as_ref().map(|explained| ("explained".to_owned(), json!(explained))));
    facts.extend(head.kl.map(|kl| ("kl".to_owned(), json!(kl))));
    facts
}
