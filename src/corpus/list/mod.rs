//! What a corpus is made of, before anything was run: texts or pictures with annotations, read from the bytes
//! of a file.

mod conllu;
mod json;
mod table;
mod text;

use std::{ops::Range, path::PathBuf};

use crate::{
    capture::groups::{GroupError, GroupedText},
    text::told,
};

/// More inputs than these are refused: a list that long is no corpus to look at.
pub const MAX_INPUTS: usize = 2_000_000;

/// Names of columns that hold the text, the likeliest first.
const TEXT_COLUMNS: [&str; 10] =
    ["text", "sentence", "content", "review", "body", "document", "prompt", "input", "question", "title"];

/// Name of the column with the words of each text.
const WORDS: &str = "words";

/// Inputs in their order, with what is known about each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InputList {
    pub items: Vec<Item>,
    /// Names of the annotations.
    pub columns: Vec<String>,
    /// Sentences the user must see: which column was taken for the text, what was left out.
    pub notes: Vec<String>,
    /// Names of the columns that can hold the text, the one that does first; empty where there are no columns.
    pub text_columns: Vec<String>,
}

/// One input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    pub content: Content,
    /// A name, for inputs that have one besides their text.
    pub name: Option<String>,
    /// Values of the annotations, in the order of their names; those that are missing at the end are none.
    pub values: Vec<Option<String>>,
}

/// What a model reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    Text(String),
    /// A text with groups of its own.
    Grouped(GroupedText),
    Picture(PathBuf),
    /// A sample picture inside the program, by name.
    BundledPicture(String),
}

impl Content {
    /// The text, without brackets; `None` of a picture.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Grouped(GroupedText { text, .. }) => Some(text),
            Self::Picture(_) | Self::BundledPicture(_) => None,
        }
    }
}

/// How the bytes of a file are to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListKind {
    Text,
    /// Columns with a header, separated by commas, semicolons or tabs (RFC 4180).
    Table,
    /// One list of texts, or of objects with a text in each.
    Json,
    /// One text or object a line.
    JsonLines,
    /// A treebank: a word a line, with its class, syntactic head and relation.
    Conllu,
}

/// What can be chosen about reading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListOptions {
    /// The column with the text; `None` looks for it.
    pub text_column: Option<String>,
    /// What one input of a plain text is, and whether texts of a table are taken apart.
    pub split: Split,
    /// The column with the words of each text, separated by `|` or spaces, which become groups; it may be that of the
    /// text itself.
    pub groups_column: Option<String>,
}

/// What one input is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Split {
    /// A line of a plain text, the whole text of a row.
    #[default]
    Lines,
    /// A sentence, by the rules of Unicode (UAX 29). In a plain text an empty line ends a paragraph; sentences of a row
    /// have its annotations.
    Sentences,
}

/// Why a list could not be read. Displays as one sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ListError {
    /// Nothing in it.
    #[error("it has no inputs: {0}")]
    Empty(&'static str),
    /// Not a text file.
    #[error("it is not a text in UTF-8: byte {0} cannot be read")]
    NotText(usize),
    /// A text in another encoding.
    #[error("it is a text in UTF-16: save it as UTF-8")]
    Utf16,
    /// Too many inputs.
    #[error("it has more than {MAX_INPUTS} inputs: split it up")]
    TooMany,
    /// No column of this name.
    #[error("it has no column “{wanted}”; there are {}", told(&.columns.join(", ")))]
    NoColumn {
        /// The name that was asked for.
        wanted: String,
        columns: Vec<String>,
    },
    /// A column was asked for, and the file is no table.
    #[error("it is a plain text without columns, so none is called “{0}”")]
    NoColumns(String),
    /// Words of a column are those of whole rows.
    #[error("words of a column are those of whole rows, which are not taken apart into sentences")]
    GroupsOfSentences,
    /// Words of a column that are not those of the text.
    #[error("the groups of input {number} do not fit: {problem}. {}", problem.details())]
    Groups {
        /// Which input, from 1.
        number: usize,
        problem: GroupError,
    },
    /// One row cannot be read.
    #[error("{what} {number} {}", told(problem))]
    Row {
        /// What is counted: rows or lines.
        what: &'static str,
        /// Which one, from 1.
        number: usize,
        problem: String,
    },
    /// Not the JSON that was expected.
    #[error("{}", told(.0))]
    Json(String),
}

impl ListKind {
    /// Judges by a file's name; what is not known is plain text.
    pub fn of_name(name: &str) -> Self {
        match name.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase()).as_deref() {
            Some("csv" | "tsv") => Self::Table,
            Some("json") => Self::Json,
            Some("jsonl" | "ndjson") => Self::JsonLines,
            Some("conllu") => Self::Conllu,
            _ => Self::Text,
        }
    }
}

impl Item {
    /// A text without annotations.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: Content::Text(text.into()), name: None, values: Vec::new() }
    }
}

impl InputList {
    /// Reads the bytes of a file.
    ///
    /// # Errors
    /// See [`ListError`].
    pub fn parse(bytes: &[u8], kind: ListKind, options: &ListOptions) -> Result<Self, ListError> {
        let text = decoded(bytes)?;
        let mut list = match kind {
            ListKind::Text => match &options.text_column {
                None => text::parse(text, options.split),
                Some(wanted) => Err(ListError::NoColumns(wanted.clone())),
            },
            ListKind::Table => table::parse(text, options.text_column.as_deref()),
            ListKind::Json => json::parse(text, options.text_column.as_deref()),
            ListKind::JsonLines => json::parse_lines(text, options.text_column.as_deref()),
            ListKind::Conllu => conllu::parse(text, options.text_column.as_deref()),
        }?;
        if let Some(wanted) = &options.groups_column {
            if options.split == Split::Sentences {
                return Err(ListError::GroupsOfSentences);
            }
            list.group(wanted)?;
        }
        if kind != ListKind::Text && options.split == Split::Sentences {
            list.items = text::split(list.items)?;
        }
        if list.items.is_empty() { Err(ListError::Empty("all of its texts are empty")) } else { Ok(list) }
    }

    /// Makes groups of the words of a column, or of the text itself.
    fn group(&mut self, wanted: &str) -> Result<(), ListError> {
        if self.text_columns.is_empty() {
            return Err(ListError::NoColumns(wanted.to_owned()));
        }
        let is_text = self.text_columns.first().is_some_and(|name| name.eq_ignore_ascii_case(wanted));
        let column = self.columns.iter().position(|name| name.eq_ignore_ascii_case(wanted));
        if !is_text && column.is_none() {
            let columns = self.text_columns.iter().take(1).chain(&self.columns).cloned().collect();
            return Err(ListError::NoColumn { wanted: wanted.to_owned(), columns });
        }
        for (number, item) in (1..).zip(&mut self.items) {
            let Some(text) = item.content.text() else { continue };
            let words = column.filter(|_| !is_text).map(|column| item.values.get(column).and_then(Option::as_deref));
            let grouped = match words {
                Some(Some(words)) => GroupedText::segmented(text, words),
                Some(None) => continue,
                // Bars are not of the text, spaces are.
                None => GroupedText::segmented(&text.replace('|', ""), text),
            };
            item.content = Content::Grouped(grouped.map_err(|problem| ListError::Groups { number, problem })?);
        }
        Ok(())
    }

    /// Where the words of an input's text are: those of its column `words` where it has one that fits, else as spaces part
    /// them; `None` of a picture.
    pub fn words_of(&self, item: &Item) -> Option<Vec<Range<usize>>> {
        let text = item.content.text()?;
        let column = self.columns.iter().position(|name| name == WORDS);
        let words = column.and_then(|column| item.values.get(column)?.as_deref());
        if let Some(Ok(GroupedText { groups, .. })) = words.map(|words| GroupedText::segmented(text, words)) {
            return Some(groups);
        }
        let start = |word: &str| word.as_ptr() as usize - text.as_ptr() as usize;
        Some(text.split_whitespace().map(|word| start(word)..start(word) + word.len()).collect())
    }

    /// An input's annotations that have a value, with their names.
    pub fn annotations(&self, item: &Item) -> Vec<(String, String)> {
        let pairs = self.columns.iter().zip(&item.values);
        pairs.filter_map(|(name, value)| Some((name.clone(), value.clone()?))).collect()
    }
}

/// The text of a file, without a byte order mark.
fn decoded(bytes: &[u8]) -> Result<&str, ListError> {
    if bytes.starts_with(&[0xFF, 0xFE]) || bytes.starts_with(&[0xFE, 0xFF]) {
        return Err(ListError::Utf16);
    }
    let text = std::str::from_utf8(bytes).map_err(|error| ListError::NotText(error.valid_up_to()))?;
    if let Some(at) = text.find('\0') {
        return Err(ListError::NotText(at));
    }
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    if text.trim().is_empty() { Err(ListError::Empty("the file is empty")) } else { Ok(text) }
}

/// Which of the columns is the text, and whether that was a guess. `length(column)` is how long its texts are.
fn text_column(
    columns: &[String],
    wanted: Option<&str>,
    length: impl Fn(usize) -> usize,
) -> Result<(usize, bool), ListError> {
    if let Some(wanted) = wanted {
        let found = columns.iter().position(|name| name == wanted);
        let found = found.or_else(|| columns.iter().position(|name| name.eq_ignore_ascii_case(wanted)));
        let missing = || ListError::NoColumn { wanted: wanted.to_owned(), columns: columns.to_vec() };
        return Ok((found.ok_or_else(missing)?, false));
    }
    let named = |wanted: &&str| columns.iter().position(|name| name.eq_ignore_ascii_case(wanted));
    if let Some(found) = TEXT_COLUMNS.iter().find_map(named) {
        // What is called so needs no mention.
        return Ok((found, columns.len() > 1 && !columns[found].eq_ignore_ascii_case(TEXT_COLUMNS[0])));
    }
    // The first of the longest.
    let longest = (0..columns.len()).rev().max_by_key(|column| length(*column)).unwrap_or(0);
    Ok((longest, columns.len() > 1))
}

/// The same names with one of them first.
fn first(names: &[String], column: usize) -> Vec<String> {
    let others = names.iter().enumerate().filter(|(at, _)| *at != column).map(|(_, name)| name);
    names.get(column).into_iter().chain(others).cloned().collect()
}

/// What is said about a column that was found.
fn found_note(name: &str) -> String {
    format!("The column “{name}” was taken for the text")
}

/// What is said about inputs without a text.
fn empty_note(n_empty: usize) -> Option<String> {
    (n_empty > 0).then(|| format!("{} without a text left out", crate::text::counted(n_empty, "input")))
}
