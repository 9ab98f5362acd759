//! [`PatternStore`]: everything that was read, shared by all who show it, under a byte budget.
//!
//! A view asks in every frame for what it shows; it gets what is known, and what is not is wanted. After
//! the frame [`PatternStore::ask`] hands the wants to whoever computes them, and the answers come back
//! through [`PatternStore::insert`]. An answer is keyed by everything that it depends on, so it is right for
//! ever and nobody has to throw it away but to save memory.
//!
//! Reading a short text takes less than drawing it. Up to [`AT_ONCE`] entries a frame are read while the
//! caller waits, so that nothing flickers; everything larger is left to the other thread.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    ops::Range,
    sync::Arc,
};

mod question;

pub use question::{
    Answer, CapturePair, LineFilter, Lines, PathQuery, PatternKey, PatternQuery, PatternReader, PatternResult,
    PatternRows, Want, answer, stack_cost,
};

use super::{Axes, Heads, ReadPattern, Reading, Refusal, long::Strip, pairs::Links};
use crate::{
    analysis::{
        detect::HeadKinds,
        edges::EdgeFilter,
        head_statistics::{HeadOrder, Metric},
        patch_stream::PatchComponents,
        paths::{LayerGraph, PathHeads, PathNumbers},
        stats::HeadStats,
    },
    ids::{CaptureId, HeadId, StackKind},
};

/// Pattern entries that are read in one frame at once: about a millisecond on one core.
pub const AT_ONCE: usize = 1 << 16;

/// Answers that are known, and questions that are not answered yet. For one thread: the one that shows them.
#[derive(Debug)]
pub struct PatternStore {
    budget_bytes: usize,
    known: RefCell<HashMap<PatternKey, Known>>,
    wanted: RefCell<Vec<Want>>,
    asked: RefCell<Vec<PatternKey>>,
    now: Cell<u64>,
    read_at_once: Cell<usize>,
}

#[derive(Debug)]
struct Known {
    answer: Answer,
    n_bytes: usize,
    last_used: Cell<u64>,
}

impl Default for PatternStore {
    fn default() -> Self {
        Self::new(Self::BUDGET_BYTES)
    }
}

impl PatternStore {
    /// Room for the patterns of twelve heads of 2,048 tokens.
    pub const BUDGET_BYTES: usize = 256 << 20;

    /// An empty store that holds about this much. What was looked at in the last frame stays, even where
    /// that is more: throwing it away would only have it computed again.
    pub fn new(budget_bytes: usize) -> Self {
        Self {
            budget_bytes,
            known: RefCell::default(),
            wanted: RefCell::default(),
            asked: RefCell::default(),
            now: Cell::new(1),
            read_at_once: Cell::new(0),
        }
    }

    /// A pattern as it is shown; `None` while it is being computed.
    pub fn pattern(&self, subject: &CapturePair, reading: &Reading) -> Option<Result<Arc<ReadPattern>, Refusal>> {
        match self.get_or_want(subject, PatternQuery::Pattern(reading.clone()))? {
            Ok(PatternResult::Pattern(pattern)) => Some(Ok(pattern)),
            Ok(_) => None,
            Err(refusal) => Some(Err(refusal)),
        }
    }

    /// A pattern and the lines that are drawn of it; `None` while they are being computed.
    pub fn lines(
        &self,
        subject: &CapturePair,
        reading: &Reading,
        filter: EdgeFilter,
    ) -> Option<Result<Arc<Lines>, Refusal>> {
        match self.get_or_want(subject, PatternQuery::Lines(reading.clone(), filter.into()))? {
            Ok(PatternResult::Lines(lines)) => Some(Ok(lines)),
            Ok(_) => None,
            Err(refusal) => Some(Err(refusal)),
        }
    }

    /// What the rows and the columns of a reading are; `None` while they are being found.
    pub fn axes(&self, subject: &CapturePair, reading: &Reading) -> Option<Axes> {
        match self.get_or_want(subject, PatternQuery::Axes(any_head(reading)))? {
            Ok(PatternResult::Axes(axes)) => Some(axes),
            _ => None,
        }
    }

    /// Some rows of a pattern that is too long to be held whole; `None` while they are being computed.
    pub fn part(
        &self,
        subject: &CapturePair,
        reading: &Reading,
        rows: Range<usize>,
    ) -> Option<Result<Arc<ReadPattern>, Refusal>> {
        match self.get_or_want(subject, PatternQuery::Part(PatternRows { reading: reading.clone(), rows }))? {
            Ok(PatternResult::Pattern(pattern)) => Some(Ok(pattern)),
            Ok(_) => None,
            Err(refusal) => Some(Err(refusal)),
        }
    }

    /// The same, with the lines that are drawn of them.
    pub fn lines_of_part(
        &self,
        subject: &CapturePair,
        part: PatternRows,
        filter: EdgeFilter,
    ) -> Option<Result<Arc<Lines>, Refusal>> {
        match self.get_or_want(subject, PatternQuery::LinesOfPart(part, filter.into()))? {
            Ok(PatternResult::Lines(lines)) => Some(Ok(lines)),
            Ok(_) => None,
            Err(refusal) => Some(Err(refusal)),
        }
    }

    /// A strip of rows at a level of detail above 0 ([`super::long`]); `None` while it is being computed.
    pub fn strip(
        &self,
        subject: &CapturePair,
        reading: &Reading,
        (level, strip): (u32, usize),
    ) -> Option<Result<Arc<Strip>, Refusal>> {
        match self.get_or_want(subject, PatternQuery::Strip(reading.clone(), level, strip))? {
            Ok(PatternResult::Strip(strip)) => Some(Ok(strip)),
            Ok(_) => None,
            Err(refusal) => Some(Err(refusal)),
        }
    }

    /// A whole pattern at a level of detail ([`super::long`]), of a text that is not long; `None` while it is being
    /// computed.
    pub fn reduced(&self, subject: &CapturePair, reading: &Reading, level: u32) -> Option<Result<Arc<Strip>, Refusal>> {
        match self.get_or_want(subject, PatternQuery::Reduced(reading.clone(), level))? {
            Ok(PatternResult::Strip(whole)) => Some(Ok(whole)),
            Ok(_) => None,
            Err(refusal) => Some(Err(refusal)),
        }
    }

    /// One head in numbers, as the model computed it, nothing left out; `None` while they are being computed.
    pub fn stats(&self, subject: &CapturePair, head: HeadId) -> Option<Result<HeadStats, Refusal>> {
        match self.get_or_want(subject, PatternQuery::Stats(head))? {
            Ok(PatternResult::Stats(stats)) => Some(Ok(stats)),
            Ok(_) => None,
            Err(refusal) => Some(Err(refusal)),
        }
    }

    /// The heads of a stack in numbers, as the model computed them, without those that were not recorded; `None` while
    /// they are being computed.
    pub fn stack_stats(&self, subject: &CapturePair, stack: StackKind) -> Option<Arc<[HeadStats]>> {
        match self.get_or_want(subject, PatternQuery::StackStats(stack))? {
            Ok(PatternResult::StackStats(stats)) => Some(stats),
            _ => None,
        }
    }

    /// Which heads of a stack link a query and a key position; `None` while they are being ranked.
    pub fn links(
        &self,
        subject: &CapturePair,
        stack: StackKind,
        reading: &Reading,
        pair: (usize, usize),
    ) -> Option<Result<Arc<Links>, Refusal>> {
        // Neither of these changes the answer.
        let reading = Reading { heads: Heads::default(), minus: None, ..reading.clone() };
        match self.get_or_want(subject, PatternQuery::Links { stack, reading, pair })? {
            Ok(PatternResult::Links(links)) => Some(Ok(links)),
            Ok(_) => None,
            Err(refusal) => Some(Err(refusal)),
        }
    }

    /// The heads of a stack by kind, as the model computed them, nothing left out; `None` while they are being ranked.
    pub fn kinds(&self, subject: &CapturePair, stack: StackKind) -> Option<Result<Arc<HeadKinds>, Refusal>> {
        match self.get_or_want(subject, PatternQuery::Kinds(stack))? {
            Ok(PatternResult::Kinds(kinds)) => Some(Ok(kinds)),
            Ok(_) => None,
            Err(refusal) => Some(Err(refusal)),
        }
    }

    /// Principal components of the patches in the stream that a layer reads; `None` while they are being computed, and
    /// none inside where there are none.
    pub fn components(
        &self,
        subject: &CapturePair,
        (stack, layer): (StackKind, usize),
    ) -> Option<Option<Arc<PatchComponents>>> {
        match self.get_or_want(subject, PatternQuery::Components(stack, layer))? {
            Ok(PatternResult::Components(found)) => Some(found),
            Ok(_) => None,
            Err(_) => Some(None),
        }
    }

    /// The heads of a stack by a number, as the model computed them, nothing left out; `None` while they are being
    /// ordered.
    pub fn order(
        &self,
        subject: &CapturePair,
        stack: StackKind,
        score: Metric,
    ) -> Option<Result<Arc<HeadOrder>, Refusal>> {
        match self.get_or_want(subject, PatternQuery::Order(stack, score))? {
            Ok(PatternResult::Order(order)) => Some(Ok(order)),
            Ok(_) => None,
            Err(refusal) => Some(Err(refusal)),
        }
    }

    /// All layers as a graph, how the heads of a layer become one, and whose stack it begins from; `None` while it is being
    /// computed.
    pub fn layers(
        &self,
        subject: &CapturePair,
        head: HeadId,
        heads: PathHeads,
    ) -> Option<Result<Arc<LayerGraph>, Refusal>> {
        match self.get_or_want(subject, PatternQuery::Layers(head, heads))? {
            Ok(PatternResult::Layers(graph)) => Some(Ok(graph)),
            Ok(_) => None,
            Err(refusal) => Some(Err(refusal)),
        }
    }

    /// Numbers of that graph; `None` while they are being computed.
    pub fn paths(&self, subject: &CapturePair, query: PathQuery) -> Option<Result<Arc<PathNumbers>, Refusal>> {
        match self.get_or_want(subject, PatternQuery::Paths(query))? {
            Ok(PatternResult::Paths(numbers)) => Some(Ok(numbers)),
            Ok(_) => None,
            Err(refusal) => Some(Err(refusal)),
        }
    }

    /// What is known about a question.
    pub fn get(&self, key: &PatternKey) -> Option<Answer> {
        let known = self.known.borrow();
        let found = known.get(key)?;
        found.last_used.set(self.now.get());
        Some(found.answer.clone())
    }

    /// Asks for something in this frame. Wants that are not repeated in the next frame are forgotten.
    pub fn want(&self, key: PatternKey, subject: CapturePair) {
        let mut wanted = self.wanted.borrow_mut();
        if wanted.iter().any(|want| want.key == key) {
            return;
        }
        let pattern = match &key.question {
            PatternQuery::Lines(reading, _) => {
                let of_pattern = PatternKey { question: PatternQuery::Pattern(reading.clone()), ..key.clone() };
                match self.known.borrow().get(&of_pattern) {
                    Some(Known { answer: Ok(PatternResult::Pattern(pattern)), .. }) => Some(Arc::clone(pattern)),
                    _ => None,
                }
            }
            _ => None,
        };
        let axes = match &key.question {
            PatternQuery::Part(PatternRows { reading, .. })
            | PatternQuery::LinesOfPart(PatternRows { reading, .. }, _)
            | PatternQuery::Strip(reading, ..) => {
                let of_axes = PatternKey { question: PatternQuery::Axes(any_head(reading)), ..key.clone() };
                match self.known.borrow().get(&of_axes) {
                    Some(Known { answer: Ok(PatternResult::Axes(axes)), .. }) => Some(axes.clone()),
                    _ => None,
                }
            }
            _ => None,
        };
        let graph = self.graph_of(&key);
        wanted.push(Want { key, subject, pattern, axes, graph });
    }

    /// The graph that a question is about, where it is known.
    fn graph_of(&self, key: &PatternKey) -> Option<Arc<LayerGraph>> {
        let PatternQuery::Paths(query) = &key.question else { return None };
        let of_graph = PatternKey { question: PatternQuery::Layers(query.head, query.heads), ..key.clone() };
        match &self.known.borrow().get(&of_graph)?.answer {
            Ok(PatternResult::Layers(graph)) => Some(Arc::clone(graph)),
            _ => None,
        }
    }

    /// Ends a frame: asks for what was wanted and is not known, unless all of it was asked for before.
    pub fn ask(&self, whom: &mut dyn PatternReader) {
        self.now.set(self.now.get() + 1);
        self.read_at_once.set(0);
        let mut wants = self.wanted.take();
        // What costs least is a row under the pointer, what costs most a head in numbers.
        wants.sort_by_cached_key(|want| question::cost(&want.subject, &want.key.question));
        let mut asked = self.asked.borrow_mut();
        if wants.iter().all(|want| asked.contains(&want.key)) {
            return;
        }
        *asked = wants.iter().map(|want| want.key.clone()).collect();
        whom.ask(wants);
    }

    /// Ends a frame and waits for what was wanted: for whoever has no other thread. Whether anything was.
    pub fn read_now(&self) -> bool {
        self.now.set(self.now.get() + 1);
        self.read_at_once.set(0);
        let wants = self.wanted.take();
        let any = !wants.is_empty();
        for want in wants {
            if let Some(found) = answer(&want, &mut || true) {
                self.insert(want.key, found);
            }
        }
        any
    }

    /// Takes an answer in.
    pub fn insert(&self, key: PatternKey, answer: Answer) {
        self.asked.borrow_mut().retain(|asked| *asked != key);
        let of_pattern = match (&key.question, &answer) {
            (PatternQuery::Lines(reading, _), Ok(PatternResult::Lines(lines))) => {
                let key = PatternKey { question: PatternQuery::Pattern(reading.clone()), ..key.clone() };
                Some((key, PatternResult::Pattern(Arc::clone(&lines.pattern))))
            }
            _ => None,
        };
        // Who asks for the lines' pattern gets the same one.
        if let Some((key, pattern)) = of_pattern
            && !self.known.borrow().contains_key(&key)
        {
            self.put(key, Ok(pattern));
        }
        self.put(key, answer);
        self.make_room();
    }

    /// The first question that is not answered yet never will be; the others may be asked again.
    pub fn give_up(&self, refusal: &Refusal) {
        let asked = self.asked.take();
        if let Some(key) = asked.into_iter().next() {
            self.put(key, Err(refusal.clone()));
        }
    }

    /// Forgets everything about captures that `keep` does not name.
    pub fn retain(&self, keep: impl Fn(CaptureId) -> bool) {
        self.known.borrow_mut().retain(|key, _| keep(key.this) && key.other.is_none_or(&keep));
    }

    /// Whether something is being computed.
    pub fn is_busy(&self) -> bool {
        !self.asked.borrow().is_empty()
    }

    /// Bytes that are held beyond what the captures hold.
    pub fn size_bytes(&self) -> usize {
        self.known.borrow().values().map(|known| known.n_bytes).sum()
    }

    fn get_or_want(&self, subject: &CapturePair, question: PatternQuery) -> Option<Answer> {
        let subtracts = match &question {
            PatternQuery::Pattern(reading) | PatternQuery::Lines(reading, _) => reading.minus.is_some(),
            _ => false,
        };
        let other = subject.other.as_ref().filter(|_| subtracts);
        let key = PatternKey { this: subject.this.id(), other: other.map(|other| other.id()), question };
        if let Some(answer) = self.get(&key) {
            return Some(answer);
        }
        let cost = question::cost(subject, &key.question);
        let spent = self.read_at_once.get();
        let subject = CapturePair { this: Arc::clone(&subject.this), other: other.cloned() };
        if cost > AT_ONCE - spent.min(AT_ONCE) {
            self.want(key, subject);
            return None;
        }
        self.read_at_once.set(spent + cost);
        let graph = self.graph_of(&key);
        let found = answer(&Want { key: key.clone(), subject, pattern: None, axes: None, graph }, &mut || true)?;
        self.insert(key, found.clone());
        Some(found)
    }

    fn put(&self, key: PatternKey, answer: Answer) {
        let n_bytes = answer.as_ref().map_or(0, PatternResult::size_bytes) + size_of::<PatternKey>();
        let last_used = Cell::new(self.now.get());
        self.known.borrow_mut().insert(key, Known { answer, n_bytes, last_used });
    }

    /// Throws away what was not looked at for longest.
    fn make_room(&self) {
        let mut held = self.size_bytes();
        if held <= self.budget_bytes {
            return;
        }
        let mut known = self.known.borrow_mut();
        let mut old: Vec<(u64, PatternKey)> = known
            .iter()
            .map(|(key, known)| (known.last_used.get(), key.clone()))
            .filter(|(last_used, _)| last_used + 1 < self.now.get())
            .collect();
        old.sort_unstable_by_key(|(last_used, _)| *last_used);
        for (_, key) in old {
            if held <= self.budget_bytes {
                break;
            }
            held -= known.remove(&key).map_or(0, |known| known.n_bytes);
        }
    }
}

/// The reading as far as rows and columns depend on it.
fn any_head(reading: &Reading) -> Reading {
    let head = HeadId { stack: reading.heads.stack(), ..HeadId::default() };
    Reading { heads: Heads::One(head), minus: None, ..reading.clone() }
}
