//! Options of the tests of attention as explanation.

use serde::{Deserialize, Serialize};

use crate::{
    analysis::debate::{CorpusQuestion, DebateOptions, DebateTest},
    options::{FieldValue, OptionField, Visit, choose_with, real, whole},
};

/// Largest number of inputs that can be asked for.
const MOST_INPUTS: usize = 1_000_000;

/// Which inputs are tested, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DebateChoices {
    /// One of the tests alone; all where none is named.
    pub test: Option<DebateTest>,
    /// So many of the first inputs; all where it is 0.
    pub first: usize,
    /// Column with the classes by which histograms are told apart; predicted classes where there is none.
    pub label_column: Option<String>,
    /// How much the output may change under other weights.
    pub epsilon: f64,
    pub n_permutations: usize,
    pub seed: u64,
}

impl Default for DebateChoices {
    fn default() -> Self {
        let DebateOptions { n_permutations, seed, .. } = DebateOptions::default();
        Self { test: None, first: 0, label_column: None, epsilon: 0.01, n_permutations, seed }
    }
}

impl DebateChoices {
    /// What is asked of a corpus.
    pub fn question(&self) -> CorpusQuestion {
        let tests = self.test.map_or_else(|| DebateTest::ALL.to_vec(), |test| vec![test]);
        let Self { n_permutations, seed, .. } = *self;
        CorpusQuestion {
            options: DebateOptions { tests, n_permutations, seed, ..DebateOptions::default() },
            epsilon: self.epsilon,
            label_column: self.label_column.clone(),
        }
    }

    /// The inputs that are tested, of those that there are.
    pub fn inputs(&self, there: impl Iterator<Item = usize>) -> Vec<usize> {
        there.take(if self.first == 0 { usize::MAX } else { self.first }).collect()
    }

    /// Shows the options.
    pub fn visit(&mut self, visit: &mut Visit<'_>) {
        let of_test = |test: DebateTest| (Some(test), test.name(), test.title());
        let all: Vec<_> = std::iter::once((None, "all", "All of them")).chain(DebateTest::ALL.map(of_test)).collect();
        let meaning = "Which of the published tests are made";
        choose_with(visit, ("debate_test", "Tests", meaning), &mut self.test, &all, |field| {
            field.heading("Tests over a corpus").strict()
        });
        let meaning = "So many of the first inputs are tested; 0 is all of them";
        visit(whole("debate_inputs", "Inputs", meaning, &mut self.first, 0..=MOST_INPUTS).strict().settles());
        let meaning =
            "Column of the corpus with classes: histograms are told apart by them instead of by what the model says";
        let value = FieldValue::Words(&mut self.label_column, "label");
        visit(OptionField::new("label_column", "Classes from", meaning, value).placeholder("NAME").strict());
        let meaning = "How much the probabilities may change under other weights";
        visit(real("debate_epsilon", "May change by", meaning, &mut self.epsilon, 0.0..=1.0).strict().settles());
        let meaning = "Random orders of the weights of each input";
        let n = &mut self.n_permutations;
        visit(whole("debate_permutations", "Shuffles", meaning, n, 1..=10_000).strict().settles());
        let meaning = "The same seed gives the same numbers";
        let value = FieldValue::Seed(&mut self.seed);
        visit(OptionField::new("debate_seed", "Seed", meaning, value).strict());
    }
}
