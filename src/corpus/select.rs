//! Selection and order of inputs.

use std::cmp::Ordering;

use super::Corpus;
use crate::ids::Side;

/// Inputs of a corpus, in an order. Plain numbers: removing inputs from the corpus makes it stale.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection(Vec<usize>);

/// What selected inputs have in common.
#[derive(Clone, Debug, PartialEq)]
pub enum Filter {
    /// The name or the text has this part, upper and lower case alike.
    Text(String),
    /// An annotation has this value.
    Equal { annotation: String, value: String },
    /// An annotation is a number from here to there, both included.
    Between { annotation: String, from: f64, to: f64 },
    /// So many tokens, all sides together, both ends included.
    Tokens { from: usize, to: usize },
}

/// What inputs are sorted by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SortBy {
    /// Their place in the list that they came from.
    Source,
    /// Their name or text.
    Name,
    Tokens,
    /// An annotation: numbers by size, before texts; inputs without it last.
    Annotation(String),
}

impl Selection {
    /// These inputs.
    pub fn of(inputs: impl IntoIterator<Item = usize>) -> Self {
        Self(inputs.into_iter().collect())
    }

    pub(super) fn retain(&mut self, keep: impl Fn(usize) -> bool) {
        self.0.retain(|input| keep(*input));
    }

    /// The inputs.
    pub fn inputs(&self) -> &[usize] {
        &self.0
    }
}

impl Corpus {
    /// Every input.
    pub fn all(&self) -> Selection {
        Selection((0..self.inputs().len()).collect())
    }

    /// Those of a selection that a filter lets through, in their order.
    pub fn filtered(&self, selection: &Selection, filter: &Filter) -> Selection {
        let part = match filter {
            Filter::Text(part) => part.to_lowercase(),
            _ => String::new(),
        };
        let passes = |input: &usize| match filter {
            Filter::Text(_) => self.inputs().get(*input).is_some_and(|row| {
                let texts = [Some(&row.name), row.info.text.as_ref(), row.info.text_b.as_ref()];
                texts.into_iter().flatten().any(|text| text.to_lowercase().contains(&part))
            }),
            Filter::Equal { annotation, value } => self.annotation(*input, annotation) == Some(value),
            Filter::Between { annotation, from, to } => {
                self.number(*input, annotation).is_some_and(|number| (*from..=*to).contains(&number))
            }
            Filter::Tokens { from, to } => (*from..=*to).contains(&self.n_tokens_of(*input)),
        };
        Selection(selection.0.iter().copied().filter(passes).collect())
    }

    /// A selection in another order; inputs that compare equal stay as they are.
    pub fn sorted(&self, selection: &Selection, by: &SortBy, descending: bool) -> Selection {
        let rows = self.inputs();
        let compare = |a: &usize, b: &usize| match by {
            SortBy::Source => rows[*a].source.cmp(&rows[*b].source),
            SortBy::Name => rows[*a].name.cmp(&rows[*b].name),
            SortBy::Tokens => self.n_tokens_of(*a).cmp(&self.n_tokens_of(*b)),
            SortBy::Annotation(name) => match (self.number(*a, name), self.number(*b, name)) {
                (Some(a), Some(b)) => a.total_cmp(&b),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => self.annotation(*a, name).cmp(&self.annotation(*b, name)),
            },
        };
        let has = |input: &usize| match by {
            SortBy::Annotation(name) => self.annotation(*input, name).is_some(),
            _ => true,
        };
        let there = selection.0.iter().copied().filter(|input| *input < rows.len());
        let (mut sorted, without): (Vec<usize>, Vec<usize>) = there.partition(has);
        sorted.sort_by(|a, b| if descending { compare(b, a) } else { compare(a, b) });
        sorted.extend(without);
        Selection(sorted)
    }

    /// An input's value of an annotation, where it is a number.
    pub fn number(&self, input: usize, annotation: &str) -> Option<f64> {
        self.annotation(input, annotation)?.trim().parse().ok().filter(|number: &f64| number.is_finite())
    }

    fn n_tokens_of(&self, input: usize) -> usize {
        let Some(row) = self.inputs().get(input) else { return 0 };
        Side::ALL.iter().map(|side| row.tokens(*side).len()).sum()
    }
}
