//! The tests over the inputs of a corpus, as far as they were made.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{DebateOptions, DebateSummary, DebateTest, InputLabels, Instance, SummaryOptions, labelled_summary};
use crate::corpus::list::InputList;

/// What is asked about a corpus.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CorpusQuestion {
    pub options: DebateOptions,
    /// How much the output may change under other weights.
    pub epsilon: f64,
    /// Column with the classes by which histograms are told apart; predicted classes where there is none.
    pub label_column: Option<String>,
}

impl CorpusQuestion {
    /// Whether inputs that were measured for another question are measured for this one as well.
    fn takes(&self, other: &Self) -> bool {
        let tests = |options: &DebateOptions| DebateOptions { tests: Vec::new(), ..options.clone() };
        let has = |test: &DebateTest| other.options.tests.contains(test);
        tests(&self.options) == tests(&other.options) && self.options.tests.iter().all(has)
    }
}

/// What was measured of the inputs of a corpus, and what it comes to.
#[derive(Clone, Debug, PartialEq)]
pub struct CorpusDebate {
    /// What the model and the corpus are called.
    pub model: String,
    pub corpus: String,
    pub question: CorpusQuestion,
    /// The inputs that are to be measured, by their places in the list.
    pub inputs: Vec<usize>,
    /// Those that were measured.
    pub instances: Vec<Instance>,
    /// Those that cannot be measured, and why.
    pub left_out: Vec<(usize, String)>,
    pub summary: DebateSummary,
}

impl CorpusDebate {
    /// Nothing measured yet but what another one has of the same inputs.
    pub fn begin(
        (model, corpus): (&str, &str),
        question: CorpusQuestion,
        inputs: Vec<usize>,
        known: Option<&Self>,
    ) -> Self {
        let known = known.filter(|known| known.model == model && question.takes(&known.question));
        let asked: BTreeSet<usize> = inputs.iter().copied().collect();
        let instances = known.map_or(&[][..], |known| &known.instances).iter();
        let instances = instances.filter(|of| asked.contains(&of.input)).map(|of| of.only(&question.options.tests));
        let left_out = known.map_or(&[][..], |known| &known.left_out).iter();
        let left_out = left_out.filter(|(input, _)| asked.contains(input)).cloned();
        let (instances, left_out) = (instances.collect(), left_out.collect());
        let summary = DebateSummary::default();
        Self { model: model.to_owned(), corpus: corpus.to_owned(), question, inputs, instances, left_out, summary }
    }

    /// The inputs that are neither measured nor left out.
    pub fn missing(&self) -> Vec<usize> {
        let done = self.done();
        self.inputs.iter().copied().filter(|input| !done.contains(input)).collect()
    }

    fn done(&self) -> BTreeSet<usize> {
        let left_out = self.left_out.iter().map(|(input, _)| *input);
        self.instances.iter().map(|of| of.input).chain(left_out).collect()
    }

    /// How many inputs are measured or left out.
    pub fn n_done(&self) -> usize {
        self.instances.len() + self.left_out.len()
    }

    /// Whether nothing is left to be measured.
    pub fn is_whole(&self) -> bool {
        self.n_done() == self.inputs.len()
    }

    /// Whether it is the answer to a question about some inputs, as far as it goes.
    pub fn answers(&self, question: &CorpusQuestion, inputs: &[usize]) -> bool {
        self.question == *question && self.inputs == inputs
    }

    /// Whether all that a question about some inputs needs is measured.
    pub fn knows(&self, question: &CorpusQuestion, inputs: &[usize]) -> bool {
        let done = self.done();
        question.takes(&self.question) && inputs.iter().all(|input| done.contains(input))
    }

    /// Sums up what is there; intervals are of inputs drawn anew `samples` times.
    ///
    /// # Errors
    /// Says so where there is no such column with labels.
    pub fn sum_up(&mut self, list: &InputList, samples: usize) -> Result<(), String> {
        let CorpusQuestion { options, epsilon, label_column } = &self.question;
        let labels = label_column.as_deref().map(|column| InputLabels::of(list, column)).transpose()?;
        // In the order of the list, whenever they were measured: intervals depend on it.
        self.instances.sort_by_key(|of| of.input);
        let how = SummaryOptions { epsilon: *epsilon, samples, seed: options.seed };
        self.summary = labelled_summary(&self.instances, labels.as_ref(), &how);
        Ok(())
    }
}

impl Instance {
    /// What some of the tests found.
    fn only(&self, tests: &[DebateTest]) -> Self {
        let has = |test: DebateTest| tests.contains(&test);
        Self {
            correlation: self.correlation.filter(|_| has(DebateTest::Correlation)),
            permutation: self.permutation.filter(|_| has(DebateTest::Permutation)),
            adversary: self.adversary.clone().filter(|_| has(DebateTest::Adversary)),
            erasure: self.erasure.clone().filter(|_| has(DebateTest::Erasure)),
            ..self.clone()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(tests: &[DebateTest]) -> CorpusQuestion {
        let options = DebateOptions { tests: tests.to_vec(), ..DebateOptions::default() };
        CorpusQuestion { options, epsilon: 0.01, label_column: None }
    }

    fn instance(input: usize) -> Instance {
        Instance {
            input,
            class: "positive".to_owned(),
            probability: 0.9,
            n_tokens: 5,
            largest: 0.4,
            correlation: None,
            permutation: Some(0.1),
            adversary: None,
            erasure: None,
        }
    }

    #[test]
    fn what_was_measured_is_taken_over_where_it_would_be_the_same() {
        let both = question(&[DebateTest::Permutation, DebateTest::Correlation]);
        let begin = |question: &CorpusQuestion, inputs: &[usize], known: Option<&CorpusDebate>| {
            CorpusDebate::begin(("model", "corpus"), question.clone(), inputs.to_vec(), known)
        };
        let mut found = begin(&both, &[0, 2, 3], None);
        assert_eq!((found.missing(), found.is_whole()), (vec![0, 2, 3], false));
        found.instances = [0, 3].map(instance).to_vec();
        found.left_out = vec![(2, "it is too short".to_owned())];
        assert!(found.is_whole() && found.answers(&both, &[0, 2, 3]));
        // Another tolerance and fewer tests need no run, more inputs those alone.
        let one = CorpusQuestion { epsilon: 0.05, ..question(&[DebateTest::Permutation]) };
        assert!(found.knows(&one, &[0, 2]) && !found.knows(&one, &[0, 4]) && !found.answers(&one, &[0, 2, 3]));
        assert_eq!(begin(&one, &[0, 2, 4], Some(&found)).missing(), [4]);
        let fewer = begin(&question(&[DebateTest::Correlation]), &[0], Some(&found));
        assert_eq!(
            (fewer.n_done(), fewer.instances[0].permutation),
            (1, None),
            "of the tests that are asked for alone"
        );
        // Other random numbers and tests that were not made are measured.
        let seed = CorpusQuestion { options: DebateOptions { seed: 1, ..both.options.clone() }, ..both.clone() };
        for other in [seed, question(&[DebateTest::Erasure])] {
            assert_eq!(begin(&other, &[0, 3], Some(&found)).missing(), [0, 3]);
        }
        assert!(CorpusDebate::begin(("other", "corpus"), both, vec![0], Some(&found)).missing() == [0]);
    }
}
