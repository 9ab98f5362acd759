//! A corpus of a document: what is there of it, and which of its inputs are listed, selected and taken out.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::{Map, Value};

use super::{ListCommand, ListOrder, Loadable, Only, Question, Studies};
use crate::{
    analysis::{accuracy::Judgements, debate::CorpusDebate},
    corpus::{Corpus, CorpusView, Filter, Selection, SortBy},
    figure::views::Study,
    protocol::{CorpusOptions, CorpusPlan, CorpusProgress, CorpusSoFar, CorpusSource, Failure},
};

/// Inputs that were taken out together.
#[derive(Clone, Debug)]
struct Removal {
    /// Their places in the list.
    sources: Vec<usize>,
    /// Experiments that lay behind the document then.
    depth: usize,
}

/// A corpus of a document. Inputs go by their place in the list, which stays when others are removed.
#[derive(Clone, Debug)]
pub struct OpenCorpus {
    /// Where its inputs come from.
    pub source: CorpusSource,
    pub options: CorpusOptions,
    /// What it will take, as soon as that is known.
    pub plan: Option<Arc<CorpusPlan>>,
    pub progress: Option<CorpusProgress>,
    pub data: Loadable<Arc<CorpusSoFar>>,
    /// Tests of attention as an explanation of its inputs.
    pub debate: Loadable<Arc<CorpusDebate>>,
    /// Whether it was looked whether an earlier run of the program has kept tests of it.
    pub(super) is_recalled: bool,
    /// What was learnt or counted over its inputs.
    pub studies: Studies,
    /// What the list is narrowed to: a part of a text, or `annotation=value`.
    pub filter: String,
    /// What the list is sorted by, and whether from the largest.
    pub sort: (ListOrder, bool),
    /// What the model says of its inputs.
    pub said: Loadable<Arc<Judgements>>,
    /// What it was asked: nothing, or about the classes of a column where one was chosen.
    pub question: Question,
    /// Which inputs are listed by what the model says.
    pub only: Only,
    /// Inputs that something is done with next.
    pub selected: BTreeSet<usize>,
    /// Inputs that were taken out.
    removed: BTreeSet<usize>,
    /// What was taken out, step by step.
    removals: Vec<Removal>,
    /// What of that was put back last, to be taken out again.
    undone: Vec<Removal>,
    /// It is run as soon as there is a model.
    pub(super) is_owed: bool,
    /// What a later version wrote beside it into a session file.
    pub(super) unknown: Map<String, Value>,
    /// Those that were not taken out, as joint spaces show them.
    view: Option<Arc<CorpusView>>,
    /// Those of them that the list shows, by their number in the corpus.
    rows: Arc<[usize]>,
}

impl OpenCorpus {
    pub(super) fn new(source: CorpusSource, options: CorpusOptions) -> Self {
        Self {
            source,
            options,
            plan: None,
            progress: None,
            data: Loadable::Empty,
            debate: Loadable::Empty,
            is_recalled: false,
            studies: Studies::default(),
            filter: String::new(),
            sort: (ListOrder::By(SortBy::Source), false),
            said: Loadable::Empty,
            question: Question::default(),
            only: Only::All,
            selected: BTreeSet::new(),
            removed: BTreeSet::new(),
            removals: Vec::new(),
            undone: Vec::new(),
            is_owed: false,
            unknown: Map::new(),
            view: None,
            rows: Arc::default(),
        }
    }

    /// Inputs that were taken out, by their places in the list.
    pub(super) fn removed(&self) -> impl Iterator<Item = usize> {
        self.removed.iter().copied()
    }

    /// Inputs of its list that were not taken out, by their places there.
    pub(super) fn inputs_there(&self) -> impl Iterator<Item = usize> {
        let n = self.data.latest().map_or(0, |so_far| so_far.list.items.len());
        (0..n).filter(|input| !self.removed.contains(input))
    }

    /// Takes inputs out as one step, before there are any.
    pub(super) fn take_out_again(&mut self, sources: impl Iterator<Item = usize>) {
        let sources: Vec<usize> = sources.collect();
        if !sources.is_empty() {
            self.remove(Removal { sources, depth: 0 });
        }
    }

    /// The same for another document, without what is on its way.
    pub(super) fn copy(&self) -> Self {
        let data = self.data.latest().cloned().map_or(Loadable::Empty, Loadable::Ready);
        let debate = self.debate.latest().cloned().map_or(Loadable::Empty, Loadable::Ready);
        let said = self.said.latest().cloned().map_or(Loadable::Empty, Loadable::Ready);
        let studies = self.studies.settled();
        Self { data, debate, studies, said, progress: None, is_owed: false, ..self.clone() }
    }

    /// What went wrong with it, or with what was made of it.
    pub fn failure(&self) -> Option<&Failure> {
        let studies = || Study::ALL.into_iter().find_map(|study| self.studies.failure(study));
        self.data.failure().or_else(|| self.debate.failure()).or_else(studies)
    }

    /// What was run so far.
    pub fn corpus(&self) -> Option<&Arc<Corpus>> {
        self.data.latest().map(|so_far| &so_far.corpus)
    }

    /// Inputs that were not taken out, as joint spaces show them.
    pub const fn view(&self) -> Option<&Arc<CorpusView>> {
        self.view.as_ref()
    }

    /// Inputs that the list shows, in its order, by their number in the corpus.
    pub const fn rows(&self) -> &Arc<[usize]> {
        &self.rows
    }

    /// How many inputs were taken out, and in how many steps.
    pub fn n_removed(&self) -> (usize, usize) {
        (self.removed.len(), self.removals.len())
    }

    /// Whether there is more to run that nothing is running.
    pub fn can_go_on(&self) -> bool {
        !self.data.is_pending() && self.data.latest().is_none_or(|so_far| !so_far.is_whole)
    }

    /// How many of the first inputs there is room for, where there is none for all of them.
    pub fn first_that_fit(&self) -> Option<usize> {
        self.plan.as_ref()?.n_fit.filter(|n_fit| *n_fit > 0)
    }

    /// Whether it waits for a model.
    pub const fn is_waiting(&self) -> bool {
        self.is_owed
    }

    pub(super) fn select_rows(&mut self) {
        let Some(corpus) = self.corpus().cloned() else {
            self.rows = Arc::default();
            return;
        };
        let there = self.there(&corpus);
        let filtered = match self.filter.trim() {
            "" => there,
            text => corpus.filtered(&there, &filter_of(&corpus, text)),
        };
        let (by, descending) = &self.sort;
        self.rows = match (by, self.said.latest()) {
            (ListOrder::By(by), said) => {
                self.only.of(&corpus, said, corpus.sorted(&filtered, by, *descending).inputs())
            }
            (ListOrder::Said(_), None) => filtered.inputs().to_vec(),
            (ListOrder::Said(by), Some(said)) => {
                let rows = self.only.of(&corpus, Some(said), filtered.inputs());
                by.sorted(&corpus, said, rows, *descending)
            }
        }
        .into();
    }

    fn there(&self, corpus: &Corpus) -> Selection {
        let inputs = corpus.inputs().iter().enumerate();
        Selection::of(inputs.filter(|(_, row)| !self.removed.contains(&row.source)).map(|(input, _)| input))
    }

    /// After what there is has changed.
    pub(super) fn update(&mut self) {
        // All of them can only be out by a file that says so.
        let is_empty = self.corpus().is_some_and(|corpus| {
            !corpus.inputs().is_empty() && corpus.inputs().iter().all(|row| self.removed.contains(&row.source))
        });
        if is_empty {
            self.removed.clear();
            self.removals.clear();
        }
        self.view = self.corpus().cloned().map(|corpus| {
            let there = self.there(&corpus);
            Arc::new(CorpusView::new(corpus, there))
        });
        self.select_rows();
    }

    /// Sources of the rows of the list.
    fn listed(&self) -> Vec<usize> {
        let Some(corpus) = self.corpus() else { return Vec::new() };
        self.rows.iter().filter_map(|input| corpus.inputs().get(*input)).map(|row| row.source).collect()
    }

    /// Takes those out, or all but those, that are selected, or else listed.
    fn take_out(&mut self, others: bool, depth: usize) {
        let Some(corpus) = self.corpus().cloned() else { return };
        let meant: BTreeSet<usize> =
            if self.selected.is_empty() { self.listed().into_iter().collect() } else { self.selected.clone() };
        let sources = corpus.inputs().iter().map(|row| row.source);
        let taken: Vec<usize> =
            sources.filter(|source| meant.contains(source) != others && !self.removed.contains(source)).collect();
        if taken.is_empty() || taken.len() + self.removed.len() >= corpus.inputs().len() {
            return;
        }
        self.undone.clear();
        self.remove(Removal { sources: taken, depth });
    }

    fn remove(&mut self, removal: Removal) {
        self.removed.extend(&removal.sources);
        self.removals.push(removal);
        self.selected.clear();
        self.update();
    }

    fn put_back(&mut self) {
        let Some(removal) = self.removals.pop() else { return };
        for source in &removal.sources {
            self.removed.remove(source);
        }
        self.undone.push(removal);
        self.update();
    }

    /// Whether inputs were taken out since the experiment that `depth` others lie behind.
    pub(super) fn can_undo(&self, depth: usize) -> bool {
        self.removals.last().is_some_and(|removal| removal.depth >= depth)
    }

    /// Whether inputs were put back that can be taken out again then.
    pub(super) fn can_redo(&self, depth: usize) -> bool {
        self.undone.last().is_some_and(|removal| removal.depth == depth)
    }

    /// Puts back what was taken out last, or takes it out again, if that is the next step; whether it was.
    pub(super) fn undo(&mut self, backwards: bool, depth: usize) -> bool {
        if backwards && self.can_undo(depth) {
            self.put_back();
        } else if !backwards && self.can_redo(depth) {
            self.undone.pop().into_iter().for_each(|removal| self.remove(removal));
        } else {
            return false;
        }
        true
    }
}

impl OpenCorpus {
    /// Does what concerns the list alone.
    pub(super) fn change(&mut self, command: ListCommand, depth: usize) {
        match command {
            ListCommand::Filter(filter) => {
                self.filter = filter;
                self.select_rows();
            }
            ListCommand::Sort(by, descending) => {
                self.sort = (ListOrder::By(by), descending);
                self.select_rows();
            }
            ListCommand::SortSaid(by, descending) => {
                self.sort = (ListOrder::Said(by), descending);
                self.select_rows();
            }
            ListCommand::Only(only) => {
                self.only = only;
                self.select_rows();
            }
            ListCommand::Select(selected) => self.selected = selected,
            ListCommand::Remove => self.take_out(false, depth),
            ListCommand::Keep => self.take_out(true, depth),
            ListCommand::Restore => self.put_back(),
            ListCommand::RestoreAll => {
                self.removed.clear();
                self.removals.clear();
                self.undone.clear();
                self.update();
            }
        }
    }
}

/// `annotation=value` where there is such an annotation, else a part of the text.
fn filter_of(corpus: &Corpus, text: &str) -> Filter {
    let equal = text.split_once('=').and_then(|(name, value)| {
        let known = corpus.annotations().iter().find(|known| known.eq_ignore_ascii_case(name.trim()))?;
        Some(Filter::Equal { annotation: known.clone(), value: value.trim().to_owned() })
    });
    equal.unwrap_or_else(|| Filter::Text(text.to_owned()))
}
