//! A report as JSON: the form of `attnscope analyze`.

use serde::{
    Serialize, Serializer,
    ser::{SerializeMap, SerializeSeq},
};
use serde_json::json;

use super::{ColumnValues, LabQuestion, Report, TableColumn, Value};
use crate::{
    analysis::explain::compare,
    capture::{Capture, Matrix, Token},
    ids::Side,
    spec::ModelSpec,
};

/// A report with the model and the tokens that it is about.
///
/// Serialises as `{"method", "parameters", "model", "tokens", "caveat", "notes", "ranking", "result"}`; numbers that
/// are not finite are `null`, matrices lists of rows.
#[derive(Clone, Copy, Debug)]
pub struct Document<'a> {
    pub report: &'a Report,
    /// What it was computed from; the first says which model it was.
    pub captures: &'a [Capture],
    /// Whether special tokens are ranked among the words.
    pub with_special: bool,
}

impl Document<'_> {
    /// Of what is said about words: the positions of each side, the largest first, and what is left out of them.
    fn ranking(&self) -> serde_json::Map<String, serde_json::Value> {
        let Some(capture) = self.captures.first() else { return serde_json::Map::new() };
        let of_side = |side: Side| {
            let (tokens, values) = (capture.tokens(side), compare::scores(self.report, side)?);
            let mut order = compare::ranked_positions(tokens, self.with_special);
            let share = compare::share_left_out(&values, &order);
            let left_out: Vec<usize> = (0..tokens.len()).filter(|at| !order.contains(at)).collect();
            let size = |at: usize| values.get(at).filter(|it| it.is_finite()).map_or(-1.0, |it| it.abs());
            order.sort_by(|a, b| size(*b).total_cmp(&size(*a)));
            let left_out = json!({ "positions": left_out, "share": share });
            Some((side.name().to_owned(), json!({ "positions": order, "left_out": left_out })))
        };
        // Patches are no words, and special tokens stand apart from them.
        let sides = Side::ALL.into_iter().filter(|side| capture.picture_side() != Some(*side));
        let is_about_words = self.report.method.question == LabQuestion::Depends;
        sides.filter(|_| is_about_words).filter_map(of_side).collect()
    }
}

impl Serialize for Document<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Report { method, parameters, notes, .. } = self.report;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("method", method.name)?;
        map.serialize_entry("parameters", &Named(parameters))?;
        map.serialize_entry("model", &self.captures.first().map(model_json))?;
        map.serialize_entry("tokens", &self.captures.iter().map(tokens_json).collect::<Vec<_>>())?;
        map.serialize_entry("caveat", method.caveat)?;
        if !notes.is_empty() {
            map.serialize_entry("notes", notes)?;
        }
        let ranking = self.ranking();
        if !ranking.is_empty() {
            map.serialize_entry("ranking", &ranking)?;
        }
        map.serialize_entry("result", self.report)?;
        map.end()
    }
}

/// What a result says about the model: its name and family.
pub fn model_json(capture: &Capture) -> serde_json::Value {
    spec_json(capture.model())
}

/// The same of a model that was not captured.
pub fn spec_json(spec: &ModelSpec) -> serde_json::Value {
    json!({ "name": spec.name, "family": spec.family })
}

/// What one input's tokens are, by side.
pub fn tokens_json(capture: &Capture) -> serde_json::Value {
    let texts = |tokens: &[Token]| tokens.iter().map(|token| token.text.as_str()).collect::<serde_json::Value>();
    let sides = Side::ALL.iter().map(|side| (side, capture.tokens(*side))).filter(|(_, tokens)| !tokens.is_empty());
    serde_json::Value::Object(sides.map(|(side, tokens)| (side.name().to_owned(), texts(tokens))).collect())
}

/// The values by name.
impl Serialize for Report {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Named(&self.values).serialize(serializer)
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Matrix { values, .. } | Self::Grid { values, .. } => MatrixRows(values).serialize(serializer),
            Self::Heads { values, .. } => {
                let heads = (0..values.shape()[0]).filter_map(|head| values.head(head));
                let mut list = serializer.serialize_seq(None)?;
                heads.into_iter().try_for_each(|head| list.serialize_element(&MatrixRows(&head)))?;
                list.end()
            }
            Self::Tokens { values, .. } => values.serialize(serializer),
            Self::Table(columns) => table(columns, serializer),
            Self::List(values) => values.serialize(serializer),
            Self::Number(value) => value.serialize(serializer),
            Self::Count(value) => value.serialize(serializer),
            Self::Flag(value) => value.serialize(serializer),
            Self::Text(value) => value.serialize(serializer),
            Self::Layers(layers) => layers.serialize(serializer),
            Self::Group(values) => Named(values).serialize(serializer),
            Self::Missing(_) => serializer.serialize_none(),
        }
    }
}

/// One object per row.
fn table<S: Serializer>(columns: &[TableColumn], serializer: S) -> Result<S::Ok, S::Error> {
    struct At<'a>(&'a [TableColumn], usize);
    impl Serialize for At<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let Self(columns, row) = *self;
            let mut map = serializer.serialize_map(Some(columns.len()))?;
            for TableColumn { name, cells } in columns {
                match cells {
                    ColumnValues::Index(cells) => map.serialize_entry(name, &cells.get(row))?,
                    ColumnValues::Number(cells) => map.serialize_entry(name, &cells.get(row))?,
                    ColumnValues::Text(cells) => map.serialize_entry(name, &cells.get(row))?,
                    ColumnValues::Texts(cells) => map.serialize_entry(name, &cells.get(row))?,
                    ColumnValues::Numbers(cells) => map.serialize_entry(name, &cells.get(row))?,
                }
            }
            map.end()
        }
    }
    let n_rows = columns.iter().map(|column| column.cells.len()).max().unwrap_or(0);
    serializer.collect_seq((0..n_rows).map(|row| At(columns, row)))
}

/// A matrix as a list of rows.
struct MatrixRows<'a>(&'a Matrix);

impl Serialize for MatrixRows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((0..self.0.n_rows()).filter_map(|row| self.0.row(row)))
    }
}

/// Pairs as an object in their order.
struct Named<'a, K, V>(&'a [(K, V)]);

impl<K: AsRef<str>, V: Serialize> Serialize for Named<'_, K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name.as_ref(), value)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{Axis, ColumnValues, MethodSpec, Report, TableColumn, Value};
    use crate::{
        capture::{Matrix, PerHead},
        ids::Side,
    };

    const FLOW: MethodSpec = MethodSpec { name: "flow", caveat: "Bounds only.", ..MethodSpec::EMPTY };

    fn report() -> Report {
        let matrix = Matrix::new(vec![0.1, 0.9, f32::NAN, 1.0], [2, 2]).unwrap();
        let heads = PerHead::new(vec![0.5, 0.25], [2, 1, 1]).unwrap();
        let table = vec![
            TableColumn::new("index", ColumnValues::Index(vec![7, 3])),
            TableColumn::new("tokens", ColumnValues::Texts(vec![vec!["a".to_owned(), "b".to_owned()], Vec::new()])),
        ];
        Report::new(&FLOW)
            .with_parameter("query", 1)
            .with_value("matrix", Value::matrix(Axis::only(Side::Decoder, vec![4, 5]), Side::Encoder, matrix.clone()))
            .with_value("layers", Value::Layers(vec![Value::heads(Side::Only, Side::Only, heads)]))
            .with_value("effect", Value::grid(Side::Only, matrix.window(0..1).unwrap()))
            .with_value("memories", Value::Table(table))
            .with_value("erasure", Value::Group(vec![("random".into(), 0.5.into())]))
            .with_value("adversarial", Value::Missing("one key alone".to_owned()))
            .with_value("identifiable", false)
    }

    #[test]
    fn a_report_becomes_the_result_of_the_contract() {
        let expected = json!({
            "matrix": [[0.1, 0.9], [null, 1.0]],
            "layers": [[[[0.5]], [[0.25]]]],
            "effect": [[0.1, 0.9]],
            "memories": [{"index": 7, "tokens": ["a", "b"]}, {"index": 3, "tokens": []}],
            "erasure": {"random": 0.5},
            "adversarial": null,
            "identifiable": false,
        });
        let document = super::Document { report: &report(), captures: &[], with_special: false };
        let written = serde_json::to_string(&document).unwrap();
        assert!(written.contains("0.1,0.9"), "digits that nobody computed: {written}");
        let read: serde_json::Value = serde_json::from_str(&written).unwrap();
        assert_eq!(read["result"], expected);
        assert_eq!((&read["method"], &read["parameters"]), (&json!("flow"), &json!({"query": 1})));
        assert_eq!(read["caveat"], FLOW.caveat);
    }

    #[test]
    fn every_number_of_a_report_is_a_row_that_says_what_it_is_about() {
        let rows = report().rows();
        let text = |side: Side, at: usize| format!("{}{at}", side.name());
        let lines: Vec<String> = rows.iter().map(|row| row.cells(text).join(",")).collect();
        let expected = [
            "matrix,,,4,decoder,decoder4,0,encoder,encoder0,0.1",
            "matrix,,,5,decoder,decoder5,0,encoder,encoder0,nan",
            "layers,0,1,0,self,self0,0,self,self0,0.25",
            "effect,1,,0,self,self0,,,,0.9",
            "memories.tokens,,,0,,,,,,a b",
            "memories.index,,,1,,,,,,3",
            "erasure.random,,,,,,,,,0.5",
            "adversarial,,,,,,,,,one key alone",
            "identifiable,,,,,,,,,false",
        ];
        for line in expected {
            assert!(lines.iter().any(|known| known == line), "{line} is not among {lines:#?}");
        }
    }
}
