//! Tables: a header, then one input a row (RFC 4180, with any of three separators).

use csv_core::{ReadRecordResult, ReaderBuilder};

use super::{Content, InputList, Item, ListError, MAX_INPUTS, empty_note, first, found_note, text_column};

/// Rows that tell which column has the longest texts.
const N_TRIED: usize = 100;
/// Sentinel record appended to the table: if a quoted field is left open, it does not parse back unchanged.
const END: &str = "\u{1F}end of table";
/// The same on a line of its own.
const AFTER: &str = "\n\u{1F}end of table";

pub(super) fn parse(text: &str, wanted: Option<&str>) -> Result<InputList, ListError> {
    let mut rows = Records::new(text);
    let Some(header) = rows.next_row() else { return Err(ListError::Empty("the file is empty")) };
    let names = unique(header);
    let mut records = Vec::new();
    while let Some(mut fields) = rows.next_row() {
        let number = records.len() + 1;
        if fields.len() > names.len() && fields[names.len()..].iter().all(|field| field.trim().is_empty()) {
            fields.truncate(names.len());
        }
        if fields.len() > names.len() {
            let problem = format!(
                "has {} fields, but the header has {}: is a quotation mark missing?",
                fields.len(),
                names.len()
            );
            return Err(ListError::Row { what: "row", number, problem });
        }
        records.push(fields);
        if records.len() > MAX_INPUTS {
            return Err(ListError::TooMany);
        }
    }
    if rows.is_open {
        let problem = "begins a quotation that never ends".to_owned();
        return Err(ListError::Row { what: "row", number: records.len(), problem });
    }
    let length =
        |column: usize| records.iter().take(N_TRIED).filter_map(|fields| fields.get(column)).map(String::len).sum();
    let (column, is_guess) = text_column(&names, wanted, length)?;
    if records.is_empty() {
        return Err(ListError::Empty("the table has a header and no rows"));
    }
    let mut list = InputList::default();
    list.notes.extend(is_guess.then(|| found_note(&names[column])));
    list.text_columns = first(&names, column);
    list.columns = names.into_iter().enumerate().filter(|(idx, _)| *idx != column).map(|(_, name)| name).collect();
    let n_rows = records.len();
    for mut fields in records {
        let text = if column < fields.len() { fields.remove(column) } else { String::new() };
        if text.trim().is_empty() {
            continue;
        }
        let values = fields.into_iter().map(|field| Some(field).filter(|field| !field.is_empty())).collect();
        list.items.push(Item { content: Content::Text(text), name: None, values });
    }
    list.notes.extend(empty_note(n_rows - list.items.len()));
    Ok(list)
}

/// The records of a table.
struct Records<'a> {
    reader: csv_core::Reader,
    rest: &'a [u8],
    /// What comes after `rest`.
    tail: &'static [u8],
    output: Vec<u8>,
    ends: Vec<usize>,
    /// Whether the table ended inside a quotation.
    is_open: bool,
    is_over: bool,
}

impl<'a> Records<'a> {
    fn new(text: &'a str) -> Self {
        let reader = ReaderBuilder::new().delimiter(separator(text)).build();
        let (output, ends) = (vec![0; 1 << 12], vec![0; 64]);
        let tail = AFTER.as_bytes();
        Self { reader, rest: text.as_bytes(), tail, output, ends, is_open: false, is_over: false }
    }

    /// The fields of the next record; empty lines are skipped.
    fn next_row(&mut self) -> Option<Vec<String>> {
        if self.is_over {
            return None;
        }
        let (mut n_out, mut n_ends) = (0, 0);
        loop {
            if self.rest.is_empty() {
                self.rest = std::mem::take(&mut self.tail);
            }
            let (result, n_in, wrote, ended) =
                self.reader.read_record(self.rest, &mut self.output[n_out..], &mut self.ends[n_ends..]);
            self.rest = &self.rest[n_in..];
            n_out += wrote;
            n_ends += ended;
            match result {
                // Given nothing at last, the reader ends the record that is open.
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull => self.output.resize(2 * self.output.len(), 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(2 * self.ends.len(), 0),
                ReadRecordResult::Record => break,
                ReadRecordResult::End => {
                    (self.is_over, self.is_open) = (true, true);
                    return None;
                }
            }
        }
        if n_ends == 1 && self.output[..n_out] == *END.as_bytes() {
            self.is_over = true;
            return None;
        }
        let mut start = 0;
        let fields = self.ends[..n_ends].iter().map(|end| {
            let field = String::from_utf8_lossy(&self.output[start..*end]).into_owned();
            start = *end;
            field
        });
        Some(fields.collect())
    }
}

/// Whichever of comma, semicolon and tab is most often in the header, outside quotations.
fn separator(text: &str) -> u8 {
    let mut is_quoted = false;
    let mut counts = [(b',', 0), (b';', 0), (b'\t', 0)];
    for byte in text.bytes() {
        match byte {
            b'"' => is_quoted = !is_quoted,
            b'\n' | b'\r' if !is_quoted => break,
            _ if !is_quoted => counts.iter_mut().filter(|(other, _)| *other == byte).for_each(|(_, n)| *n += 1),
            _ => {}
        }
    }
    // The first of the most frequent.
    counts.into_iter().rev().max_by_key(|(_, n)| *n).map_or(b',', |(separator, _)| separator)
}

/// Names of columns: trimmed, none empty, none twice.
fn unique(header: Vec<String>) -> Vec<String> {
    let mut names: Vec<String> = Vec::with_capacity(header.len());
    for (idx, name) in header.into_iter().enumerate() {
        let name = if name.trim().is_empty() { format!("column {}", idx + 1) } else { name.trim().to_owned() };
        let mut free = name.clone();
        let mut n = 2;
        while names.contains(&free) {
            free = format!("{name} ({n})");
            n += 1;
        }
        names.push(free);
    }
    names
}
