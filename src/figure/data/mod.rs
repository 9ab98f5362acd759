//! The numbers behind a figure: one row per drawn thing, and the four kinds of file they are written to.
//!
//! Numbers are those of the capture to the last digit of `f32`.

mod files;
mod rows;

use std::borrow::Cow;

pub use files::{Array, DataFormat, tab_separated, write, write_arrays};
pub use rows::{PartRow, heads, heatmap, image, links, of_key, of_query, pair, parts, points};

/// A table: columns of one length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// What the rows are about, as JSON: model, input, options.
    pub provenance: String,
    pub columns: Vec<DataColumn>,
}

/// One column.
#[derive(Clone, Debug, PartialEq)]
pub struct DataColumn {
    pub name: Cow<'static, str>,
    pub values: DataValues,
}

impl DataColumn {
    /// A column of this name.
    pub fn new(name: impl Into<Cow<'static, str>>, values: DataValues) -> Self {
        Self { name: name.into(), values }
    }
}

impl From<(&'static str, DataValues)> for DataColumn {
    fn from((name, values): (&'static str, DataValues)) -> Self {
        Self::new(name, values)
    }
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum DataValues {
    /// Positions, layers, heads.
    Index(Vec<u32>),
    Number(Vec<f32>),
    Text(Vec<String>),
}

impl DataValues {
    /// Number of rows.
    pub const fn len(&self) -> usize {
        match self {
            Self::Index(values) => values.len(),
            Self::Number(values) => values.len(),
            Self::Text(values) => values.len(),
        }
    }

    /// Whether there is no row.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of a row as text files have it.
    pub fn text(&self, row: usize) -> Cow<'_, str> {
        match self {
            Self::Index(values) => values[row].to_string().into(),
            Self::Number(values) => files::Shortest(values[row]).to_string().into(),
            Self::Text(values) => values[row].as_str().into(),
        }
    }
}

impl Table {
    /// These columns, of one length, of which nothing is told yet.
    pub fn of(columns: impl IntoIterator<Item = impl Into<DataColumn>>) -> Self {
        Self { provenance: String::new(), columns: columns.into_iter().map(Into::into).collect() }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.columns.first().map_or(0, |column| column.values.len())
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The column of this name.
    pub fn column(&self, name: &str) -> Option<&DataValues> {
        self.columns.iter().find(|column| column.name == name).map(|column| &column.values)
    }

    /// Appends the rows of another table with the same columns.
    pub fn append(&mut self, other: Self) {
        if self.columns.is_empty() {
            *self = other;
            return;
        }
        for (mine, theirs) in self.columns.iter_mut().zip(other.columns) {
            match (&mut mine.values, theirs.values) {
                (DataValues::Index(mine), DataValues::Index(theirs)) => mine.extend(theirs),
                (DataValues::Number(mine), DataValues::Number(theirs)) => mine.extend(theirs),
                (DataValues::Text(mine), DataValues::Text(theirs)) => mine.extend(theirs),
                _ => {}
            }
        }
    }
}
