//! A list of inputs on its way through a model, pass by pass.

use std::collections::{BTreeMap, VecDeque};

use super::{
    CorpusRun, input_of, packs,
    pass_cache::{Failed, Pass, PassCache},
    run_pack,
};
use crate::{
    analysis::Space,
    capture::Capture,
    corpus::{
        Corpus, CorpusError, Kept, Label, SortBy,
        list::{InputList, Item},
    },
    ids::Side,
    model::{Cancelled, Control, Encoded, Model, ModelError, Preparation, Progress, RunPlan, Sites, Stage},
    protocol::{CorpusOptions, LeftOut},
};

/// Texts that are made ready at once: enough to fill passes with inputs of about the same length, few enough for
/// the first results to come after the first inputs of a long list.
const CHUNK_TEXTS: usize = 512;
/// Pictures that are made ready at once: each takes hundreds of kilobytes until it is run.
const CHUNK_PICTURES: usize = 32;
/// Characters that stand for the tokens which a tokenizer adds to every text.
const EXTRA_CHARS: u64 = 8;

/// Inputs of one kind that are made ready at once.
pub const fn chunk_size(are_pictures: bool) -> usize {
    if are_pictures { CHUNK_PICTURES } else { CHUNK_TEXTS }
}

/// What is run, and how.
#[derive(Clone, Copy)]
pub struct Order<'a> {
    pub model: &'a Model,
    /// All inputs.
    pub list: &'a InputList,
    pub options: &'a CorpusOptions,
}

/// A list on its way through a model. Chunks of the list are made ready one after the other, and each chunk is
/// run in passes of inputs of about the same length; which inputs share a pass depends on the list alone, so
/// that a run that was stopped gives the numbers of one that was not.
#[derive(Clone, Debug)]
pub struct Passes {
    corpus: Corpus,
    run: CorpusRun,
    /// Per input of the list: in the corpus, or left out.
    settled: Vec<bool>,
    n_settled: usize,
    /// Weight of the inputs that were not looked at and are not settled.
    unseen: u64,
    /// The first input that was not looked at yet.
    next: usize,
    waiting: VecDeque<Vec<Ready>>,
    seen: Seen,
    /// What could not be made ready since the last pass.
    unready: Vec<Failed>,
}

/// An input made ready.
#[derive(Clone, Debug)]
struct Ready {
    source: usize,
    encoded: Encoded,
}

/// How long the inputs were that were made ready.
#[derive(Clone, Debug, Default)]
struct Seen {
    weight: u64,
    tokens: BTreeMap<Side, usize>,
}

impl Ready {
    fn n_on(&self, side: Side) -> usize {
        self.encoded.tokens.get(&side).map_or(0, Vec::len)
    }

    fn n_tokens(&self) -> usize {
        self.encoded.tokens.values().map(Vec::len).sum()
    }
}

impl Passes {
    /// Of the inputs of `list` that are neither in `corpus` nor left out before.
    pub fn new(list: &InputList, corpus: Corpus, left_out: Vec<LeftOut>) -> Self {
        let mut settled = vec![false; list.items.len()];
        let there = corpus.inputs().iter().map(|input| input.source);
        for source in there.chain(left_out.iter().map(|left_out| left_out.source)) {
            if let Some(settled) = settled.get_mut(source) {
                *settled = true;
            }
        }
        let n_settled = settled.iter().filter(|settled| **settled).count();
        let mut passes = Self {
            corpus,
            run: CorpusRun { left_out, ..CorpusRun::default() },
            settled,
            n_settled,
            unseen: 0,
            next: 0,
            waiting: VecDeque::new(),
            seen: Seen::default(),
            unready: Vec::new(),
        };
        passes.weigh(list);
        passes
    }

    /// What the corpus may take from now on; gives back what it was.
    pub fn set_budget(&mut self, bytes: u64) -> u64 {
        let before = self.corpus.budget_bytes();
        self.corpus.set_budget(bytes);
        before
    }

    /// What is there so far, in the order in which it was run.
    pub const fn corpus(&self) -> &Corpus {
        &self.corpus
    }

    /// What was left out so far, and why not everything is in it.
    pub const fn run(&self) -> &CorpusRun {
        &self.run
    }

    /// Inputs that need not be run any more.
    pub const fn n_settled(&self) -> usize {
        self.n_settled
    }

    fn weigh(&mut self, list: &InputList) {
        let unseen = list.items.iter().zip(&self.settled).skip(self.next).filter(|(_, settled)| !**settled);
        self.unseen = unseen.map(|(item, _)| weight(item)).sum();
    }

    /// Makes inputs ready unless some are; whether there is anything to run.
    ///
    /// # Errors
    /// When `control` says stop.
    pub fn prepare(&mut self, order: Order<'_>, control: &Control<'_>) -> Result<bool, Cancelled> {
        while self.waiting.is_empty() && self.next < order.list.items.len() && self.run.full.is_none() {
            let size = chunk_size(order.list.items[self.next].content.text().is_none());
            let end = (self.next + size).min(order.list.items.len());
            let chunk = self.next..end;
            if !self.settled[chunk.clone()].iter().all(|settled| *settled) {
                self.encode(order, chunk, control)?;
            }
            self.next = end;
            self.weigh(order.list);
        }
        Ok(!self.waiting.is_empty())
    }

    /// Adds what came of a pass of an earlier run.
    pub fn recall(&mut self, list: &InputList, pass: Pass) {
        self.take_in(list, pass);
        self.weigh(list);
        let Self { waiting, settled, .. } = self;
        waiting.retain(|pack| !pack.iter().all(|ready| settled[ready.source]));
    }

    /// Makes a chunk ready as far as there can be room for it. Inputs that are there already are made ready as
    /// well: they decide which inputs share a pass.
    fn encode(
        &mut self,
        order: Order<'_>,
        chunk: std::ops::Range<usize>,
        control: &Control<'_>,
    ) -> Result<(), Cancelled> {
        let Order { model, list, options } = order;
        let mut ready: Vec<Ready> = Vec::new();
        let mut seen = self.seen.clone();
        let mut n_tokens: BTreeMap<Side, usize> = Side::ALL.map(|side| (side, self.corpus.n_tokens(side))).into();
        let (mut left_out, mut full) = (Vec::new(), None);
        for source in chunk {
            control(Progress { stage: Stage::Encode, done: source, total: list.items.len() })?;
            match model.encode(&input_of(&list.items[source].content, Preparation::default())) {
                Ok(encoded) => {
                    let input = Ready { source, encoded };
                    seen.add(&list.items[source], &input);
                    if !self.settled[source] {
                        for (side, n) in &mut n_tokens {
                            *n += input.n_on(*side);
                        }
                        let layers = options.layers.as_deref();
                        let needed = Corpus::estimate_bytes(model.spec(), layers, options.kept, |side| n_tokens[&side]);
                        if needed > self.corpus.budget_bytes() {
                            let n_there = self.corpus.inputs().len();
                            let n_inputs = n_there + ready.iter().filter(|ready| !self.settled[ready.source]).count();
                            full = Some(CorpusError::Full { needed, budget: self.corpus.budget_bytes(), n_inputs });
                            break;
                        }
                    }
                    ready.push(input);
                }
                Err(_) if self.settled[source] => {}
                Err(error) => left_out.push((source, sentence(&error))),
            }
        }
        // Only now, so that a chunk that was stopped is made ready again as a whole.
        self.seen = seen;
        self.run.full = full;
        for (source, reason) in left_out {
            self.unready.push(Failed { source, reason: String::clone(&reason), was_run: false });
            self.leave_out(LeftOut::of(list, source, reason));
        }
        let lengths: Vec<usize> = ready.iter().map(Ready::n_tokens).collect();
        let mut ready: Vec<Option<Ready>> = ready.into_iter().map(Some).collect();
        for pack in packs(&lengths, options.pack_tokens) {
            let pack: Vec<Ready> = pack.into_iter().filter_map(|at| ready[at].take()).collect();
            if !pack.iter().all(|ready| self.settled[ready.source]) {
                self.waiting.push_back(pack);
            }
        }
        Ok(())
    }

    /// Runs the inputs of the next pass, unless an earlier run kept it in `parts`, and adds them.
    ///
    /// # Errors
    /// When `control` says stop; the next call runs them again.
    pub fn run_next(
        &mut self,
        order: Order<'_>,
        parts: Option<&mut PassCache>,
        control: &Control<'_>,
    ) -> Result<(), Cancelled> {
        let Some(pack) = self.waiting.pop_front() else { return Ok(()) };
        let Order { model, list, options } = order;
        let (sources, encoded): (Vec<usize>, Vec<Encoded>) =
            pack.into_iter().map(|ready| (ready.source, ready.encoded)).unzip();
        // What is cut off where the room ends is another pass when there is more room.
        let mut parts = parts.filter(|_| self.run.full.is_none());
        let pass = if let Some(pass) = parts.as_deref_mut().and_then(|parts| parts.recall_of(&sources, model)) {
            pass
        } else {
            let sites = sites_of(options.kept);
            let (layers, logits) = (options.layers.clone(), model.answers_of_inputs());
            let plan = RunPlan { sites, layers, logits, ..RunPlan::default() };
            let captures = match run_pack(model, &encoded, &plan, control) {
                Ok(captures) => captures,
                Err(stop) => {
                    let pack = sources.into_iter().zip(encoded);
                    self.waiting.push_front(pack.map(|(source, encoded)| Ready { source, encoded }).collect());
                    return Err(stop);
                }
            };
            let mut pass = Pass { left_out: std::mem::take(&mut self.unready), ..Pass::default() };
            for (source, capture) in sources.into_iter().zip(captures) {
                match capture {
                    Ok(capture) => pass.inputs.push((source, capture)),
                    Err(error) => pass.left_out.push(Failed { source, reason: sentence(&error), was_run: true }),
                }
            }
            if let Some(parts) = parts {
                parts.keep(&pass);
            }
            pass
        };
        self.take_in(list, pass);
        Ok(())
    }

    fn take_in(&mut self, list: &InputList, pass: Pass) {
        let is_first = self.corpus.inputs().is_empty();
        let n = list.items.len();
        for Failed { source, reason, .. } in pass.left_out.into_iter().filter(|failed| failed.source < n) {
            if !self.settled[source] {
                self.leave_out(LeftOut::of(list, source, reason));
            }
        }
        for (source, capture) in pass.inputs.into_iter().filter(|(source, _)| *source < n) {
            if !self.settled[source] && !self.add(list, source, &capture) {
                self.waiting.clear();
                break;
            }
        }
        if is_first {
            let there: BTreeMap<Side, usize> = Side::ALL.map(|side| (side, self.corpus.n_tokens(side))).into();
            let expected: BTreeMap<Side, usize> = Side::ALL.map(|side| (side, self.n_expected(side))).into();
            self.corpus.reserve(|side| expected[&side].saturating_sub(there[&side]));
        }
    }

    /// Adds what came of an input; whether there was room.
    fn add(&mut self, list: &InputList, source: usize, capture: &Capture) -> bool {
        let item = &list.items[source];
        let label = Label { source, name: item.name.clone(), annotations: list.annotations(item) };
        match self.corpus.append(capture, &label) {
            Ok(_) => {
                self.run.n_added += 1;
                self.settle(source);
            }
            Err(full @ CorpusError::Full { .. }) => {
                self.run.full = Some(full);
                return false;
            }
            Err(error) => self.leave_out(LeftOut::of(list, source, error.to_string())),
        }
        true
    }

    fn leave_out(&mut self, left_out: LeftOut) {
        self.settle(left_out.source);
        self.run.left_out.push(left_out);
    }

    fn settle(&mut self, source: usize) {
        self.settled[source] = true;
        self.n_settled += 1;
    }

    /// Tokens of one side that the corpus will have in the end, judged by those inputs that were made ready.
    pub fn n_expected(&self, side: Side) -> usize {
        let waiting = self.waiting.iter().flatten().filter(|ready| !self.settled[ready.source]);
        let known = self.corpus.n_tokens(side) + waiting.map(|ready| ready.n_on(side)).sum::<usize>();
        let per_weight = self.seen.tokens.get(&side).copied().unwrap_or(0) as f64 / self.seen.weight.max(1) as f64;
        known + (self.unseen as f64 * per_weight).ceil() as usize
    }

    /// A copy of the corpus in the order of the list, and what became of the run so far.
    pub fn copy(&self) -> (Corpus, CorpusRun) {
        in_order(self.corpus.clone(), self.run.clone())
    }

    /// The corpus in the order of the list, and what became of the run.
    pub fn finish(self) -> (Corpus, CorpusRun) {
        in_order(self.corpus, self.run)
    }
}

/// What has to be recorded for a corpus.
pub fn sites_of(kept: Kept) -> Sites {
    let more = [(kept.values, Space::Values), (kept.residual, Space::Residual)];
    let more = more.into_iter().filter(|(kept, _)| *kept).flat_map(|(_, space)| space.sites());
    more.fold(Sites::of(Space::QueriesKeys.sites()), |sites, site| sites.with(*site))
}

fn in_order(mut corpus: Corpus, mut run: CorpusRun) -> (Corpus, CorpusRun) {
    let sorted = corpus.sorted(&corpus.all(), &SortBy::Source, false);
    if sorted != corpus.all() {
        corpus.keep(&sorted);
    }
    run.left_out.sort_by_key(|left_out| left_out.source);
    (corpus, run)
}

impl Seen {
    fn add(&mut self, item: &Item, input: &Ready) {
        self.weight += weight(item);
        for side in Side::ALL {
            *self.tokens.entry(side).or_default() += input.n_on(side);
        }
    }
}

/// What the number of tokens of an input is about proportional to.
fn weight(item: &Item) -> u64 {
    item.content.text().map_or(1, |text| text.len() as u64 + EXTRA_CHARS)
}

/// An error as one text.
pub fn sentence(error: &ModelError) -> String {
    let details = error.details();
    if details.is_empty() { error.to_string() } else { format!("{error}. {details}") }
}
