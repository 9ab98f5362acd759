//! A table as CSV, JSON, NPZ or safetensors.

use std::{
    borrow::Cow,
    collections::HashMap,
    io::{self, Write},
};

use safetensors::{Dtype, tensor::TensorView};
use zip::{CompressionMethod, DateTime, ZipWriter, write::SimpleFileOptions};

use super::{DataColumn, DataValues, Table};

/// A kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataFormat {
    /// One line per row, after one with the names.
    Csv,
    /// An object with the provenance and a list of rows.
    Json,
    /// One `NumPy` array per column; texts are fixed-width unicode, so nothing is unpickled.
    Npz,
    /// One tensor per column of numbers; texts are JSON lists in the metadata.
    Safetensors,
}

impl DataFormat {
    /// Every kind and its file name's ending.
    pub const ALL: [(Self, &str); 4] =
        [(Self::Csv, "csv"), (Self::Json, "json"), (Self::Npz, "npz"), (Self::Safetensors, "safetensors")];

    /// The kind with this ending, whatever its case.
    pub fn from_extension(extension: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(_, known)| known.eq_ignore_ascii_case(extension)).map(|(format, _)| format)
    }

    /// Whether the file is text, so that it may go to the terminal.
    pub const fn is_text(self) -> bool {
        matches!(self, Self::Csv | Self::Json)
    }
}

/// Writes the table. The same table gives the same bytes.
///
/// # Errors
/// What `out` reports.
pub fn write(table: &Table, format: DataFormat, out: &mut dyn Write) -> io::Result<()> {
    match format {
        DataFormat::Csv => separated(table, ',', out),
        DataFormat::Json => json(table, out),
        DataFormat::Npz => npz(table, out),
        DataFormat::Safetensors => tensors(table, out),
    }
}

/// The table as spreadsheets take it from the clipboard.
pub fn tab_separated(table: &Table) -> String {
    let mut text = Vec::new();
    // Memory takes everything.
    drop(separated(table, '\t', &mut text));
    String::from_utf8_lossy(&text).into_owned()
}

fn separated(table: &Table, separator: char, out: &mut dyn Write) -> io::Result<()> {
    let names: Vec<&str> = table.columns.iter().map(|column| &*column.name).collect();
    writeln!(out, "{}", names.join(&separator.to_string()))?;
    for row in 0..table.len() {
        for (nth, column) in table.columns.iter().enumerate() {
            if nth > 0 {
                write!(out, "{separator}")?;
            }
            write!(out, "{}", quoted(&column.values.text(row)))?;
        }
        out.write_all(b"\n")?;
    }
    Ok(())
}

/// As few digits as give the same `f32` back; spelled as Python reads it.
pub(super) struct Shortest(pub f32);

impl std::fmt::Display for Shortest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            value if value.is_nan() => f.write_str("nan"),
            value if value.is_infinite() => f.write_str(if value > 0.0 { "inf" } else { "-inf" }),
            value if value != 0.0 && value.abs() < 1e-4 => write!(f, "{value:e}"),
            value => write!(f, "{value}"),
        }
    }
}

/// A field in quotes where its characters need them.
fn quoted(text: &str) -> Cow<'_, str> {
    if text.contains([',', '\t', '"', '\n', '\r']) || text.starts_with(' ') || text.ends_with(' ') {
        format!("\"{}\"", text.replace('"', "\"\"")).into()
    } else {
        text.into()
    }
}

fn json(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    let provenance = if table.provenance.is_empty() { "{}" } else { &table.provenance };
    write!(out, "{{\"figure\":{provenance},\n\"rows\":[")?;
    for row in 0..table.len() {
        out.write_all(if row == 0 { b"\n{" } else { b",\n{" })?;
        for (nth, column) in table.columns.iter().enumerate() {
            let comma = if nth > 0 { "," } else { "" };
            write!(out, "{comma}\"{}\":", column.name)?;
            match &column.values {
                DataValues::Index(values) => write!(out, "{}", values[row])?,
                // JSON knows no infinity.
                DataValues::Number(values) if !values[row].is_finite() => out.write_all(b"null")?,
                DataValues::Number(values) => write!(out, "{}", Shortest(values[row]))?,
                DataValues::Text(values) => serde_json::to_writer(&mut *out, &values[row])?,
            }
        }
        out.write_all(b"}")?;
    }
    out.write_all(b"\n]}\n")
}

fn npz(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    let mut arrays: Vec<Array> = table
        .columns
        .iter()
        .map(|DataColumn { name, values }| match values {
            DataValues::Index(values) => Array::indices(name.to_string(), values),
            DataValues::Number(values) => Array::numbers(name.to_string(), &[values.len()], values),
            DataValues::Text(values) => Array::texts(name.to_string(), values),
        })
        .collect();
    arrays.push(Array::text("provenance".to_owned(), &table.provenance));
    write_arrays(&arrays, out)
}

/// An array of an `.npz` file.
#[derive(Clone, Debug)]
pub struct Array {
    name: String,
    /// As NumPy writes types: `<f4`.
    kind: String,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl Array {
    /// `f32` of any shape.
    pub fn numbers(name: String, shape: &[usize], values: &[f32]) -> Self {
        Self { name, kind: "<f4".to_owned(), shape: shape.to_vec(), bytes: bytemuck::cast_slice(values).to_vec() }
    }

    /// One `u32` after the other.
    pub fn indices(name: String, values: &[u32]) -> Self {
        Self { name, kind: "<u4".to_owned(), shape: vec![values.len()], bytes: bytemuck::cast_slice(values).to_vec() }
    }

    /// Texts of one width, so that nothing is unpickled.
    pub fn texts(name: String, values: &[String]) -> Self {
        let width = values.iter().map(|text| text.chars().count()).max().unwrap_or(0).max(1);
        let padded =
            values.iter().flat_map(|text| text.chars().map(u32::from).chain([0].into_iter().cycle()).take(width));
        let bytes = padded.flat_map(u32::to_le_bytes).collect();
        Self { name, kind: format!("<U{width}"), shape: vec![values.len()], bytes }
    }

    /// One text.
    pub fn text(name: String, value: &str) -> Self {
        Self { shape: Vec::new(), ..Self::texts(name, &[value.to_owned()]) }
    }
}

/// Writes arrays as `.npz`. The same arrays give the same bytes.
///
/// # Errors
/// What `out` reports.
pub fn write_arrays(arrays: &[Array], out: &mut dyn Write) -> io::Result<()> {
    // A ZIP file is finished by going back, which a stream cannot.
    let mut zip = ZipWriter::new(io::Cursor::new(Vec::new()));
    // Without a date, so that the same table gives the same bytes.
    let options = SimpleFileOptions::default()
        .compression_method(CompressionMethod::Stored)
        .last_modified_time(DateTime::default());
    let fail = |error: zip::result::ZipError| io::Error::other(error.to_string());
    for Array { name, kind, shape, bytes } in arrays {
        zip.start_file(format!("{name}.npy"), options).map_err(fail)?;
        // Python's tuples: `()`, `(3,)`, `(3, 2,)`.
        let shape: Vec<String> = shape.iter().map(|n| format!("{n},")).collect();
        let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({}), }}", shape.join(" "));
        // The values begin at a multiple of 64 bytes; the header's last byte ends its line.
        let length = (10 + header.len() + 1).next_multiple_of(64) - 10;
        zip.write_all(b"\x93NUMPY\x01\x00")?;
        zip.write_all(&(length as u16).to_le_bytes())?;
        zip.write_all(format!("{header:<width$}\n", width = length - 1).as_bytes())?;
        zip.write_all(bytes)?;
    }
    out.write_all(zip.finish().map_err(fail)?.get_ref())
}

fn tensors(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    let mut views = Vec::new();
    for column in &table.columns {
        let (kind, bytes): (Dtype, &[u8]) = match &column.values {
            DataValues::Index(values) => (Dtype::U32, bytemuck::cast_slice(values)),
            DataValues::Number(values) => (Dtype::F32, bytemuck::cast_slice(values)),
            DataValues::Text(_) => continue,
        };
        let view = TensorView::new(kind, vec![column.values.len()], bytes);
        views.push((&*column.name, view.map_err(|error| io::Error::other(error.to_string()))?));
    }
    // One entry in the metadata, because a map of several would be written in any order.
    let texts: serde_json::Map<String, serde_json::Value> = table
        .columns
        .iter()
        .filter_map(|column| match &column.values {
            DataValues::Text(values) => Some((column.name.to_string(), values.clone().into())),
            _ => None,
        })
        .collect();
    let order: Vec<&str> = table.columns.iter().map(|column| &*column.name).collect();
    let provenance: serde_json::Value = serde_json::from_str(&table.provenance).unwrap_or_default();
    let described =
        serde_json::json!({ "format": "attnscope-table", "columns": order, "texts": texts, "figure": provenance });
    let metadata = HashMap::from([("attnscope".to_owned(), described.to_string())]);
    let bytes = safetensors::serialize(views, Some(metadata)).map_err(|error| io::Error::other(error.to_string()))?;
    out.write_all(&bytes)
}
