//! The classes that inputs are said to have, by which histograms can be told apart instead of by predicted classes.

use super::{DebateSummary, Instance, SummaryOptions, summary};
use crate::{corpus::list::InputList, text::share_text};

/// The class of inputs of which nothing is said.
const UNSAID: &str = "no label";

/// A column with the classes of a list's inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputLabels {
    pub column: String,
    /// By the place of the input in the list.
    of: Vec<Option<String>>,
}

/// How often the model says what the labels say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labelled {
    /// The column with the labels.
    pub column: String,
    pub n_right: usize,
    /// Inputs that have a label.
    pub n: usize,
}

impl InputLabels {
    /// A column of a list.
    ///
    /// # Errors
    /// Says which columns there are where this is none of them.
    pub fn of(list: &InputList, column: &str) -> Result<Self, String> {
        let place = list.columns.iter().position(|known| known == column).ok_or_else(|| {
            let there = if list.columns.is_empty() { "it has none".to_owned() } else { list.columns.join(", ") };
            format!("the inputs have no column {column}: {there}")
        })?;
        let value = |values: &Vec<Option<String>>| Some(values.get(place)?.as_deref()?.trim().to_owned());
        let of = list.items.iter().map(|item| value(&item.values).filter(|label| !label.is_empty())).collect();
        Ok(Self { column: column.to_owned(), of })
    }

    fn label(&self, input: usize) -> Option<&str> {
        self.of.get(input)?.as_deref()
    }
}

impl Labelled {
    /// In words.
    pub fn text(&self) -> String {
        let Self { column, n_right, n } = self;
        let share = share_text(*n_right as f64 / (*n).max(1) as f64);
        format!("classes are those of the column {column}, which the model says in {share}")
    }
}

/// Sums up with the classes of labels, where there are any, in place of the predicted ones.
pub fn labelled_summary(
    instances: &[Instance],
    labels: Option<&InputLabels>,
    options: &SummaryOptions,
) -> DebateSummary {
    let Some(labels) = labels else { return summary(instances, options) };
    let (mut n_right, mut n) = (0, 0);
    let relabelled = instances.iter().map(|instance| {
        let label = labels.label(instance.input);
        n += usize::from(label.is_some());
        n_right += usize::from(label.is_some_and(|label| label.eq_ignore_ascii_case(&instance.class)));
        Instance { class: label.unwrap_or(UNSAID).to_owned(), ..instance.clone() }
    });
    let relabelled: Vec<Instance> = relabelled.collect();
    let labelled = Labelled { column: labels.column.clone(), n_right, n };
    DebateSummary { labelled: Some(labelled), ..summary(&relabelled, options) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::list::{InputList, ListKind, ListOptions};

    #[test]
    fn classes_are_those_of_a_column_and_agreement_with_them_is_counted() {
        let table = b"text,label\none film,Negative\nanother film,positive\na third,positive\na fourth,\n";
        let list = InputList::parse(table, ListKind::Table, &ListOptions::default()).unwrap();
        let labels = InputLabels::of(&list, "label").unwrap();
        let instance = |input: usize| Instance {
            input,
            class: "negative".to_owned(),
            probability: 0.9,
            n_tokens: 5,
            largest: 0.4,
            correlation: None,
            permutation: Some(0.1),
            adversary: None,
            erasure: None,
        };
        let found = labelled_summary(&[0, 1, 2, 3].map(instance), Some(&labels), &SummaryOptions::default());
        let classes: Vec<(&str, usize)> = found.classes.iter().map(|(name, n)| (name.as_str(), *n)).collect();
        assert_eq!(classes, [("Negative", 1), ("no label", 1), ("positive", 2)]);
        let labelled = found.labelled.unwrap();
        assert_eq!((labelled.n_right, labelled.n), (1, 3));
        assert!(labelled.text().contains("33"), "{}", labelled.text());
        assert!(labelled_summary(&[instance(0)], None, &SummaryOptions::default()).labelled.is_none());
        let said = InputLabels::of(&list, "class").unwrap_err();
        assert!(said.contains("no column class") && said.contains("label"), "{said}");
    }
}
