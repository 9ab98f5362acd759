//! What a capture says about how its patterns came about.

use std::fmt;

use super::Edit;
use crate::ids::HeadId;

/// A change that a capture was made with.
#[derive(Clone, Debug, PartialEq)]
pub enum AppliedEdit {
    /// One that this version can make, so recomputing can follow it.
    Known(Edit),
    /// One that a file has, and only another version knows: its JSON.
    Foreign(String),
}

impl fmt::Display for AppliedEdit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Enough of an unknown change to recognise it.
        const SHOWN: usize = 60;
        match self {
            Self::Known(edit) => edit.fmt(f),
            Self::Foreign(json) if json.chars().count() > SHOWN => {
                write!(f, "{}…", json.chars().take(SHOWN).collect::<String>())
            }
            Self::Foreign(json) => f.write_str(json),
        }
    }
}

/// What turns a row of scores into a row of a pattern.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Normalizer {
    /// `exp(s) / Σ exp(s)`.
    #[default]
    Softmax,
    /// The projection onto the simplex (Martins and Astudillo 2016).
    Sparsemax,
    /// Between the two (Peters et al. 2019); the number is its α.
    Entmax(f32),
    /// Sparsemax with neighbours drawn to each other (Niculae and Blondel 2017); the number is its λ.
    Fusedmax(f32),
}

/// The name in files and options; [`Normalizer::title`] is for sentences.
impl fmt::Display for Normalizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Softmax => f.write_str("softmax"),
            Self::Sparsemax => f.write_str("sparsemax"),
            Self::Entmax(alpha) => write!(f, "entmax:{alpha}"),
            Self::Fusedmax(lambda) => write!(f, "fusedmax:{lambda}"),
        }
    }
}

impl Normalizer {
    /// As people write it: `1.5-entmax`.
    pub fn title(self) -> String {
        // A number that was dragged has no end.
        let short = |number: f32| (100.0 * f64::from(number)).round() / 100.0;
        match self {
            Self::Entmax(alpha) => format!("{}-entmax", short(alpha)),
            Self::Fusedmax(lambda) => format!("fusedmax with λ = {}", short(lambda)),
            Self::Softmax | Self::Sparsemax => self.to_string(),
        }
    }

    /// The one that displays as `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "softmax" => Some(Self::Softmax),
            "sparsemax" => Some(Self::Sparsemax),
            _ => {
                let (kind, number) = name.split_once(':')?;
                let number: f32 = number.parse().ok().filter(|number: &f32| number.is_finite())?;
                match kind {
                    "entmax" => (number >= 1.0).then_some(Self::Entmax(number)),
                    "fusedmax" => (number >= 0.0).then_some(Self::Fusedmax(number)),
                    _ => None,
                }
            }
        }
    }
}

/// How much of the attention the rows of a pattern hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowMass {
    /// All: rows sum to 1.
    #[default]
    Full,
    /// The rest went to a learned sink: pattern and sink sum to 1.
    Sink,
    /// Sparse or truncated: what is missing is not known.
    Partial,
}

/// How the patterns of a capture came about, for whoever recomputes what is not stored.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Computation {
    /// Changes of the forward pass, in order.
    pub edits: Vec<AppliedEdit>,
    /// What made patterns of the scores.
    pub normalizer: Normalizer,
    /// Whether rows were declared to be incomplete, so that they may sum to less than 1.
    pub partial_rows: bool,
}

impl Computation {
    /// What makes the pattern of one head: the last change of it, or what all heads have.
    pub fn normalizer_of(&self, head: HeadId) -> Normalizer {
        let of_edit = |edit: &AppliedEdit| match edit {
            AppliedEdit::Known(Edit::Normalize { scope, with }) if scope.contains(head) => Some(*with),
            _ => None,
        };
        self.edits.iter().rev().find_map(of_edit).unwrap_or(self.normalizer)
    }

    /// The sentences about a run that was changed, and about weights that are not the softmax of the scores;
    /// `None` for an ordinary one.
    pub fn note(&self) -> Option<String> {
        /// More changes than these are counted, not listed.
        const LISTED: usize = 4;
        let mut changes: Vec<String> = self.edits.iter().take(LISTED).map(AppliedEdit::to_string).collect();
        let n_more = self.edits.len() - changes.len();
        if n_more > 0 {
            changes.push(format!("and {n_more} more"));
        }
        let mut sentences = Vec::new();
        if !changes.is_empty() {
            sentences.push(format!("This run was changed: {}", changes.join("; ")));
        }
        if self.normalizer != Normalizer::Softmax {
            let normalizer = self.normalizer.title();
            sentences.push(format!("Weights are the {normalizer} of the scores, not the softmax"));
        }
        (!sentences.is_empty()).then(|| sentences.join(". "))
    }
}
