//! Options of the tests of attention as explanation.

use serde::{Deserialize, Serialize};

use crate::{
    analysis::debate::{CorpusQuestion, DebateOptions, DebateTest},
    figure::views::ViewScope,
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
    /// Layer of the row that is read; the last where there is none.
    pub layer: Option<usize>,
    /// Head; all of the layer together where there is none.
    pub head: Option<usize>,
    /// Steps of the search for other weights; what suits the model where it is 0.
    pub steps: usize,
    pub seed: u64,
}

impl Default for DebateChoices {
    fn default() -> Self {
        let DebateOptions { n_permutations, seed, .. } = DebateOptions::default();
        Self {
            test: None,
            first: 0,
            label_column: None,
            epsilon: 0.01,
            n_permutations,
            layer: None,
            head: None,
            steps: 0,
            seed,
        }
    }
}

impl DebateChoices {
    /// What is asked of a corpus.
    pub fn question(&self) -> CorpusQuestion {
        let tests = self.test.map_or_else(|| DebateTest::ALL.to_vec(), |test| vec![test]);
        let Self { n_permutations, layer, head, steps, seed, .. } = *self;
        let n_steps = Some(steps).filter(|steps| *steps > 0);
        CorpusQuestion {
            options: DebateOptions { tests, layer, head, n_permutations, n_steps, seed },
            epsilon: self.epsilon,
            label_column: self.label_column.clone(),
        }
    }

    /// The inputs that are tested, of those that there are.
    pub fn inputs(&self, there: impl Iterator<Item = usize>) -> impl Iterator<Item = usize> {
        there.take(if self.first == 0 { usize::MAX } else { self.first })
    }

    /// Shows the options.
    pub fn visit(&mut self, scope: &ViewScope<'_>, visit: &mut Visit<'_>) {
        let of_test = |test: DebateTest| (Some(test), test.name(), test.title());
        let all: Vec<_> = std::iter::once((None, "all", "All of them")).chain(DebateTest::ALL.map(of_test)).collect();
        let meaning = "Which of the published tests are made";
        choose_with(visit, ("debate_test", "Tests", meaning), &mut self.test, &all, |field| {
            field.heading("Tests over a corpus").strict()
        });
        let meaning = "So many of the first inputs are tested; 0 is all of them";
        visit(whole("debate_inputs", "Inputs", meaning, &mut self.first, 0..=MOST_INPUTS).strict().settles());
        let meaning = "Column of the corpus with classes: histograms are told apart by them instead of by what the model says; of \
             probes, the labels";
        let value = FieldValue::Words(&mut self.label_column, "label");
        visit(OptionField::new("label_column", "Classes from", meaning, value).placeholder("NAME").strict());
        let meaning = "How much the probabilities may change under other weights";
        visit(real("debate_epsilon", "May change by", meaning, &mut self.epsilon, 0.0..=1.0).strict().settles());
        let meaning = "Random orders of the weights of each input";
        let n = &mut self.n_permutations;
        visit(whole("debate_permutations", "Shuffles", meaning, n, 1..=10_000).strict().settles());
        let [n_layers, n_heads] = scope.n_heads;
        let meaning = "Layer of the row of attention that the output reads";
        let words = ("debate_layer", "Layer of the row", meaning);
        one_or_none((scope.all, n_layers), words, ("last", "The last"), &mut self.layer, visit);
        let meaning = "One head of that layer; of all of them attention is the mean, and changes are of all";
        let words = ("debate_head", "Head of the row", meaning);
        one_or_none((scope.all, n_heads), words, ("all", "All"), &mut self.head, visit);
        let meaning = "Steps of the search for other weights; 0 is what suits the model: 500 where the output is an affine \
                       function of the weights, else 100";
        visit(whole("debate_steps", "Steps", meaning, &mut self.steps, 0..=10_000).strict().settles());
        let meaning = "The same seed gives the same numbers";
        let value = FieldValue::Seed(&mut self.seed);
        visit(OptionField::new("debate_seed", "Seed", meaning, value).strict());
    }
}

/// One of `n` by its number, or none by a name of its own, which stands for its title on screen; `all` on the command line,
/// which knows no model yet.
fn one_or_none(
    (all, n): (bool, usize),
    words: (&'static str, &'static str, &'static str),
    (none, title): (&'static str, &'static str),
    value: &mut Option<usize>,
    visit: &mut Visit<'_>,
) {
    let (name, label, meaning) = words;
    if all {
        let text = value.map_or_else(|| none.to_owned(), |number| number.to_string());
        let mut read = |given: &str| {
            let number = || given.parse().map_err(|_| format!("give a number, or {none}: {given} was given"));
            *value = if given == none { None } else { Some(number()?) };
            Ok(())
        };
        let field = OptionField::new(name, label, meaning, FieldValue::Text(&text, &mut read));
        visit(field.placeholder("N").strict());
        return;
    }
    let numbers: Vec<String> = (0..n).map(|number| number.to_string()).collect();
    let choices: Vec<(Option<usize>, &str, &str)> = std::iter::once((None, none, title))
        .chain(numbers.iter().enumerate().map(|(number, text)| (Some(number), text.as_str(), text.as_str())))
        .collect();
    #[expect(clippy::redundant_closure_for_method_calls, reason = "the method itself is of one lifetime")]
    choose_with(visit, words, value, &choices, |field| field.strict());
}
