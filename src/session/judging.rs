//! What the model says of the inputs of a corpus: asked, listed, sorted and narrowed.

use std::{cmp::Ordering, sync::Arc};

use super::{Cause, Document, Effect, Notices, OpenCorpus};
use crate::{
    analysis::accuracy::{Judgements, Said, Speech, Verdict},
    corpus::{Corpus, SortBy},
    ids::JobId,
    protocol::{JudgeAnswer, JudgeRequest, Lane, Request, Update},
};

/// Columns that are taken for labels where none is chosen.
const LABELS: [&str; 3] = ["label", "labels", "class"];

/// What is asked of the model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Question {
    #[default]
    Nothing,
    /// What it says of each input, held against this column of labels.
    Asked(Option<String>),
}

/// What the list of a corpus is sorted by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListOrder {
    By(SortBy),
    /// By what the model says.
    Said(SaidOrder),
}

/// What is said of an input, to sort by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SaidOrder {
    Class,
    Probability,
    Loss,
    Right,
}

vocabulary! {
    SaidOrder: name, title;
    Class("class", "by class"),
    Probability("probability", "by probability"),
    Loss("loss", "by loss"),
    Right("right", "wrong, then right"),
}

/// Which inputs are listed by what the model says of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Only {
    #[default]
    All,
    /// Those whose class is not the one that their label names.
    Wrong,
    /// A cell of the table of labels and classes.
    Of { label: usize, class: usize },
}

impl Only {
    fn lists(self, said: Option<&Said>) -> bool {
        let verdict = said.and_then(Said::verdict);
        match self {
            Self::All => true,
            Self::Wrong => verdict.is_some_and(|verdict| verdict.is_right() == Some(false)),
            Self::Of { label, class } => {
                verdict.is_some_and(|verdict| (verdict.label, verdict.class) == (Some(label), class))
            }
        }
    }

    /// Those of some inputs that are listed; before anything is said all of them.
    pub(super) fn of(self, corpus: &Corpus, said: Option<&Arc<Judgements>>, inputs: &[usize]) -> Vec<usize> {
        let Some(said) = said else { return inputs.to_vec() };
        inputs.iter().copied().filter(|input| self.lists(said.of(corpus.inputs()[*input].source))).collect()
    }
}

impl SaidOrder {
    /// Whether a model says that.
    pub const fn is_of(self, speech: Speech) -> bool {
        matches!(speech, Speech::Classes) || matches!(self, Self::Loss)
    }

    /// Inputs in this order, those of which it is not said at the end.
    pub(super) fn sorted(
        self,
        corpus: &Corpus,
        judgements: &Judgements,
        inputs: Vec<usize>,
        descending: bool,
    ) -> Vec<usize> {
        let said = |input: &usize| judgements.of(corpus.inputs()[*input].source);
        let number = |input: &usize| {
            let said = said(input)?;
            match self {
                Self::Class => said.verdict().map(|verdict| verdict.class as f64),
                Self::Probability => said.verdict().map(|verdict| verdict.probability),
                Self::Loss => said.loss(),
                Self::Right => said.verdict().and_then(Verdict::is_right).map(|is_right| f64::from(u8::from(is_right))),
            }
        };
        let (mut sorted, without): (Vec<usize>, Vec<usize>) =
            inputs.into_iter().partition(|input| number(input).is_some());
        let compare = |a: &usize, b: &usize| match (number(a), number(b)) {
            (Some(a), Some(b)) => a.total_cmp(&b),
            _ => Ordering::Equal,
        };
        sorted.sort_by(|a, b| if descending { compare(b, a) } else { compare(a, b) });
        sorted.extend(without);
        sorted
    }
}

impl OpenCorpus {
    /// The column that the model's classes are held against, unless another one is chosen.
    pub fn likely_labels(&self) -> Option<&str> {
        let columns = &self.data.latest()?.list.columns;
        let known = columns.iter().find(|column| LABELS.iter().any(|label| column.eq_ignore_ascii_case(label)));
        known.map(String::as_str)
    }

    /// The column that was chosen.
    pub fn label_column(&self) -> Option<&str> {
        match &self.question {
            Question::Asked(column) => column.as_deref(),
            Question::Nothing => None,
        }
    }
}

impl Document {
    /// What its model says of the inputs of a corpus; none where it says nothing of the kind, or nobody can be asked.
    pub fn speech(&self) -> Option<Speech> {
        let model = self.model.latest().filter(|_| self.opened.is_none())?;
        Speech::of(&model.spec)
    }

    /// Whether what was asked is to be asked again: of a session that was opened, or after another model came.
    pub fn owes_question(&self) -> bool {
        let Some(corpus) = self.corpus.as_deref() else { return false };
        let is_whole = corpus.data.latest().is_some_and(|so_far| so_far.is_whole) && !corpus.data.is_pending();
        let is_open = matches!(corpus.said, super::Loadable::Empty) && corpus.question != Question::Nothing;
        is_open && is_whole && self.speech().is_some()
    }

    /// Asks its model about the inputs of its corpus.
    pub(super) fn judge(&mut self, label_column: Option<String>, job: JobId) -> Vec<Effect> {
        let (speech, model) = (self.speech(), self.model.latest().map(|model| model.id));
        let (Some(_), Some(model), Some(corpus)) = (speech, model, self.corpus.as_deref_mut()) else {
            return Vec::new();
        };
        let Some(so_far) = corpus.data.latest() else { return Vec::new() };
        let list = Arc::clone(&so_far.list);
        let question = Question::Asked(label_column.clone());
        // What was said goes on where it was stopped; about other labels it begins anew.
        let known = corpus.said.latest().filter(|_| corpus.question == question).cloned().unwrap_or_default();
        if corpus.question != question {
            corpus.said = super::Loadable::Empty;
        }
        corpus.question = question;
        corpus.said.start(job);
        corpus.select_rows();
        let request = JudgeRequest { document: self.id, model, list, label_column, known };
        vec![Effect::Submit(job, Request::Judge(Box::new(request)))]
    }

    /// Asks no longer; what was said stays.
    pub(super) fn stop_judging(&mut self) {
        let Some(corpus) = self.corpus.as_deref_mut().filter(|corpus| corpus.said.is_pending()) else { return };
        corpus.said.cancel();
        if corpus.said.latest().is_none() {
            corpus.question = Question::Nothing;
        }
        corpus.select_rows();
    }

    pub(super) fn on_judgements(&mut self, job: JobId, update: Update<JudgeAnswer>, notices: &mut Notices) {
        let Some(corpus) = self.corpus.as_deref_mut().filter(|corpus| corpus.said.job() == Some(job)) else { return };
        match update {
            Update::Answer(JudgeAnswer::SoFar(said)) => corpus.said.improve(said),
            Update::Answer(JudgeAnswer::Judged(said)) => corpus.said.hear(job, Update::Answer(said)),
            Update::Progress(progress) => return corpus.said.report(progress),
            Update::Cancelled => return self.stop_judging(),
            Update::Failed(failure) => {
                corpus.said.cancel();
                corpus.question = Question::Nothing;
                notices.fail(Cause::corpus(self), failure);
                return;
            }
        }
        corpus.select_rows();
    }

    /// The lane in which its model is asked.
    pub const fn judge_lane(&self) -> Lane {
        Lane::Judge(self.id)
    }
}
