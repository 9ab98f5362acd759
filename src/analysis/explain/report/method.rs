//! What a method of the laboratory says of itself: one constant a method, beside its code, from which window, figures,
//! command line, files and documentation read.

use std::fmt;

use super::{LabQuestion, Report};

/// A method of the laboratory. Two are the same when they have the same name.
#[derive(Clone, Copy)]
pub struct MethodSpec {
    /// Name on the command line and in files.
    pub name: &'static str,
    pub title: &'static str,
    /// Question that it answers.
    pub question: LabQuestion,
    /// One line for the list of methods on the command line.
    pub about: &'static str,
    /// Arguments of an example, behind `attnscope analyze NAME`.
    pub example: &'static str,
    /// Warning that a reader must know before believing the numbers, in one sentence.
    pub caveat: &'static str,
    pub formula: &'static str,
    pub source: &'static str,
    /// Its values: every leaf of its report is of one of them.
    pub values: &'static [ValueSpec],
    /// Unit and sign of what it gives each token.
    pub scores: fn(&Report) -> Scores,
    /// What a figure shows beside its values.
    pub picture: MethodPicture,
    /// Whether it can take minutes, so that it is estimated first and begun on demand.
    pub is_long: bool,
}

impl MethodSpec {
    /// A method whose scores of tokens have neither unit nor sign; a base for `..`.
    pub const EMPTY: Self = Self {
        name: "",
        title: "",
        question: LabQuestion::Depends,
        about: "",
        example: "",
        caveat: "",
        formula: "",
        source: "",
        values: &[],
        scores: |_| Scores { unit: "", signed: false },
        picture: MethodPicture::Values,
        is_long: false,
    };

    /// The value that a leaf of a report is of: the one of its name, or else of its group (`erasure` of
    /// `erasure.random`), as the last part may be a stack or a side.
    pub fn value(&self, leaf: &str) -> Option<&'static ValueSpec> {
        let named = |name: &str| self.values.iter().find(|value| value.name == name);
        let mut name = leaf;
        loop {
            if let Some(value) = named(name) {
                return Some(value);
            }
            name = name.rsplit_once('.')?.0;
        }
    }
}

impl PartialEq for MethodSpec {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for MethodSpec {}

impl fmt::Debug for MethodSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// What the numbers that a method gives tokens are counted in, and whether they can speak against the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scores {
    /// Unit, empty where there is none.
    pub unit: &'static str,
    /// Whether a negative number speaks against the output.
    pub signed: bool,
}

impl Scores {
    /// Numbers that only add weights up.
    pub const fn unsigned(unit: &'static str) -> Self {
        Self { unit, signed: false }
    }

    /// Numbers that speak for the output or against it.
    pub const fn signed(unit: &'static str) -> Self {
        Self { unit, signed: true }
    }
}

/// What a figure shows of an answer beside its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MethodPicture {
    Values,
    /// Sentences about the selected head (`change` and `logit`, by layer and head).
    SelectedHead,
    /// A grid of the words that are linked (`alignments`, `weights`).
    WordLinks,
    /// The course of a search (`search`, `gates`, `masks`).
    Search,
    /// Its grids side by side, on one scale.
    Panels,
    /// Lists of nearest tokens, and words in the plane (`answers`, `neighbours`, `points`, `differences`).
    Words,
}

/// A value of a method: its words, and the form of its numbers.
#[derive(Clone, Copy, Debug)]
pub struct ValueSpec {
    pub name: &'static str,
    /// Title, with its unit.
    pub title: &'static str,
    /// Meaning in a sentence; empty where the title says all.
    pub meaning: &'static str,
    pub form: Form,
    /// Words in place of a list without any number.
    pub absent: &'static str,
    /// Whether it is drawn; all values are in files.
    pub drawn: bool,
    /// Value with a table for each layer, whose first words stand in the cells of this one's map.
    pub words: Option<&'static str>,
    /// Columns that a table is sorted by: the first that it has.
    pub sorted: &'static [(&'static str, Sorted)],
    /// Whether a matrix of one row is what the method gives each token.
    pub row_is_scores: bool,
}

/// Form of a single number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Three significant digits.
    Measure,
    Decimal,
    /// A weight or a probability, three decimals.
    Weight,
    Share,
}

/// Order of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sorted {
    /// Smallest first.
    Ascending,
    /// Largest first.
    Descending,
    /// Largest first, signs left aside.
    BySize,
}

impl ValueSpec {
    /// A value that is drawn.
    pub const fn new(name: &'static str, title: &'static str, meaning: &'static str) -> Self {
        let (form, absent, words) = (Form::Measure, "–", None);
        Self { name, title, meaning, form, absent, drawn: true, words, sorted: &[], row_is_scores: false }
    }

    /// A value that files alone have.
    pub const fn of_files(name: &'static str) -> Self {
        Self { drawn: false, ..Self::new(name, "", "") }
    }

    /// The same with another form of its numbers.
    #[must_use]
    pub const fn form(self, form: Form) -> Self {
        Self { form, ..self }
    }

    /// The same with a table in another order.
    #[must_use]
    pub const fn sorted(self, sorted: &'static [(&'static str, Sorted)]) -> Self {
        Self { sorted, ..self }
    }
}
