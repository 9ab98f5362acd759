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
    sync::Arc,
};

use super::{
    Captures, Heads, ReadPattern, Reading, Refusal, aggregate,
    pairs::{self, Links},
    read,
};
use crate::{
    analysis::edges::{self, EdgeFilter, EdgeSet},
    capture::Capture,
    ids::{CaptureId, HeadId, StackKind},
};

/// Pattern entries that are read in one frame at once: about a millisecond on one core.
pub const AT_ONCE: usize = 1 << 16;

/// What a question is about: one capture, and the one that may be subtracted from it.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The one that is read.
    pub this: Arc<Capture>,
    /// The one that may be subtracted.
    pub other: Option<Arc<Capture>>,
}

impl Subject {
    /// One capture alone.
    pub const fn one(this: Arc<Capture>) -> Self {
        Self { this, other: None }
    }

    fn captures(&self) -> Captures<'_> {
        Captures { this: &self.this, other: self.other.as_deref() }
    }
}

/// Everything that an answer depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// The capture that is read.
    pub this: CaptureId,
    /// The one that is subtracted; `None` where the question subtracts none.
    pub other: Option<CaptureId>,
    /// What is asked about them.
    pub question: Question,
}

/// What can be asked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Question {
    /// A pattern as it is shown.
    Pattern(Reading),
    /// The lines that are drawn of it.
    Lines(Reading, LineFilter),
    /// Which heads link a query and a key position.
    Links {
        /// Which stack's heads.
        stack: StackKind,
        /// How they are read.
        reading: Reading,
        /// Positions of the query and the key.
        pair: (usize, usize),
    },
}

/// An [`EdgeFilter`] that can be a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LineFilter {
    /// [`EdgeFilter::TopP`], by its bits.
    TopP(u32),
    /// [`EdgeFilter::TopK`].
    TopK(usize),
    /// [`EdgeFilter::Threshold`], by its bits.
    Threshold(u32),
}

impl From<EdgeFilter> for LineFilter {
    fn from(filter: EdgeFilter) -> Self {
        match filter {
            EdgeFilter::TopP(p) => Self::TopP(p.to_bits()),
            EdgeFilter::TopK(k) => Self::TopK(k),
            EdgeFilter::Threshold(least) => Self::Threshold(least.to_bits()),
        }
    }
}

impl From<LineFilter> for EdgeFilter {
    fn from(filter: LineFilter) -> Self {
        match filter {
            LineFilter::TopP(p) => Self::TopP(f32::from_bits(p)),
            LineFilter::TopK(k) => Self::TopK(k),
            LineFilter::Threshold(least) => Self::Threshold(f32::from_bits(least)),
        }
    }
}

/// A pattern and the lines that are drawn of it.
#[derive(Debug)]
pub struct Lines {
    /// The pattern.
    pub pattern: Arc<ReadPattern>,
    /// Rows and columns of it; of a difference those whose values are furthest from 0, with their size for
    /// a weight.
    pub set: EdgeSet,
}

/// An answer.
#[derive(Clone, Debug)]
pub enum Finding {
    /// To [`Question::Pattern`].
    Pattern(Arc<ReadPattern>),
    /// To [`Question::Lines`].
    Lines(Arc<Lines>),
    /// To [`Question::Links`].
    Links(Arc<Links>),
}

impl Finding {
    fn size_bytes(&self) -> usize {
        match self {
            Self::Pattern(pattern) => pattern.own_bytes(),
            // The pattern is its own entry as a rule; where it is not, it goes with its lines.
            Self::Lines(lines) => size_of_val(&*lines.set.edges) + lines.pattern.own_bytes(),
            Self::Links(links) => size_of_val(&*links.heads),
        }
    }
}

/// A question that waits for its answer, with what it takes to find it.
#[derive(Clone, Debug)]
pub struct Want {
    /// What is asked.
    pub key: Key,
    /// About what.
    pub subject: Subject,
    /// The pattern that lines are drawn of, where it is known already.
    pub pattern: Option<Arc<ReadPattern>>,
}

/// One answer to one question.
pub type Answer = Result<Finding, Refusal>;

/// Whoever answers: a thread, or a test.
pub trait Ask {
    /// Asks all of these, the most urgent first, in place of everything that was asked before and is not
    /// answered yet.
    fn ask(&mut self, wants: Vec<Want>);
}

/// Finds an answer. `go_on` is asked now and then whether it is still wanted; `None` when it is not.
pub fn answer(want: &Want, go_on: &mut dyn FnMut() -> bool) -> Option<Answer> {
    let pattern = |reading: &Reading| match &want.pattern {
        Some(pattern) => Ok(Arc::clone(pattern)),
        None => read(want.subject.captures(), reading).map(Arc::new),
    };
    Some(match &want.key.question {
        Question::Pattern(reading) => pattern(reading).map(Finding::Pattern),
        Question::Lines(reading, filter) => pattern(reading).map(|pattern| {
            let set = edges::select(&pattern.strengths(), (*filter).into());
            Finding::Lines(Arc::new(Lines { pattern, set }))
        }),
        Question::Links { stack, reading, pair } => {
            match pairs::links(&want.subject.this, *stack, reading, *pair, &mut |_, _| go_on()) {
                Ok(links) => Ok(Finding::Links(Arc::new(links?))),
                Err(refusal) => Err(refusal),
            }
        }
    })
}

/// Answers that are known, and questions that are not answered yet. For one thread: the one that shows them.
#[derive(Debug)]
pub struct PatternStore {
    budget_bytes: usize,
    known: RefCell<HashMap<Key, Known>>,
    wanted: RefCell<Vec<Want>>,
    asked: RefCell<Vec<Key>>,
    /// Counts the frames.
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
    pub fn pattern(&self, subject: &Subject, reading: &Reading) -> Option<Result<Arc<ReadPattern>, Refusal>> {
        match self.get_or_want(subject, Question::Pattern(reading.clone()))? {
            Ok(Finding::Pattern(pattern)) => Some(Ok(pattern)),
            Ok(_) => None,
            Err(refusal) => Some(Err(refusal)),
        }
    }

    /// A pattern and the lines that are drawn of it; `None` while they are being computed.
    pub fn lines(
        &self,
        subject: &Subject,
        reading: &Reading,
        filter: EdgeFilter,
    ) -> Option<Result<Arc<Lines>, Refusal>> {
        match self.get_or_want(subject, Question::Lines(reading.clone(), filter.into()))? {
            Ok(Finding::Lines(lines)) => Some(Ok(lines)),
            Ok(_) => None,
            Err(refusal) => Some(Err(refusal)),
        }
    }

    /// Which heads of a stack link a query and a key position; `None` while they are being ranked.
    pub fn links(
        &self,
        subject: &Subject,
        stack: StackKind,
        reading: &Reading,
        pair: (usize, usize),
    ) -> Option<Result<Arc<Links>, Refusal>> {
        // Neither of these changes the answer.
        let reading = Reading { heads: Heads::default(), minus: None, ..reading.clone() };
        match self.get_or_want(subject, Question::Links { stack, reading, pair })? {
            Ok(Finding::Links(links)) => Some(Ok(links)),
            Ok(_) => None,
            Err(refusal) => Some(Err(refusal)),
        }
    }

    /// What is known about a question.
    pub fn get(&self, key: &Key) -> Option<Answer> {
        let known = self.known.borrow();
        let found = known.get(key)?;
        found.last_used.set(self.now.get());
        Some(found.answer.clone())
    }

    /// Asks for something in this frame. Wants that are not repeated in the next frame are forgotten.
    pub fn want(&self, key: Key, subject: Subject) {
        let mut wanted = self.wanted.borrow_mut();
        if wanted.iter().any(|want| want.key == key) {
            return;
        }
        let pattern = match &key.question {
            Question::Lines(reading, _) => {
                let of_pattern = Key { question: Question::Pattern(reading.clone()), ..key.clone() };
                match self.known.borrow().get(&of_pattern) {
                    Some(Known { answer: Ok(Finding::Pattern(pattern)), .. }) => Some(Arc::clone(pattern)),
                    _ => None,
                }
            }
            Question::Pattern(_) | Question::Links { .. } => None,
        };
        wanted.push(Want { key, subject, pattern });
    }

    /// Ends a frame: asks for what was wanted and is not known, unless all of it was asked for before.
    pub fn ask(&self, whom: &mut dyn Ask) {
        self.now.set(self.now.get() + 1);
        self.read_at_once.set(0);
        let wants = self.wanted.take();
        let mut asked = self.asked.borrow_mut();
        if wants.iter().all(|want| asked.contains(&want.key)) {
            return;
        }
        *asked = wants.iter().map(|want| want.key.clone()).collect();
        whom.ask(wants);
    }

    /// Takes an answer in.
    pub fn insert(&self, key: Key, answer: Answer) {
        self.asked.borrow_mut().retain(|asked| *asked != key);
        let of_pattern = match (&key.question, &answer) {
            (Question::Lines(reading, _), Ok(Finding::Lines(lines))) => {
                let key = Key { question: Question::Pattern(reading.clone()), ..key.clone() };
                Some((key, Finding::Pattern(Arc::clone(&lines.pattern))))
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

    fn get_or_want(&self, subject: &Subject, question: Question) -> Option<Answer> {
        let subtracts = match &question {
            Question::Pattern(reading) | Question::Lines(reading, _) => reading.minus.is_some(),
            Question::Links { .. } => false,
        };
        let other = subject.other.as_ref().filter(|_| subtracts);
        let key = Key { this: subject.this.id(), other: other.map(|other| other.id()), question };
        if let Some(answer) = self.get(&key) {
            return Some(answer);
        }
        let cost = cost(subject, &key.question);
        let spent = self.read_at_once.get();
        let subject = Subject { this: Arc::clone(&subject.this), other: other.cloned() };
        if cost > AT_ONCE - spent.min(AT_ONCE) {
            self.want(key, subject);
            return None;
        }
        self.read_at_once.set(spent + cost);
        let found = answer(&Want { key: key.clone(), subject, pattern: None }, &mut || true)?;
        self.insert(key, found.clone());
        Some(found)
    }

    fn put(&self, key: Key, answer: Answer) {
        let n_bytes = answer.as_ref().map_or(0, Finding::size_bytes) + size_of::<Key>();
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
        let mut old: Vec<(u64, Key)> = known
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

/// About how many entries have to be looked at or computed.
fn cost(subject: &Subject, question: &Question) -> usize {
    let of_heads = |capture: &Capture, heads: &Heads| {
        let ids = match heads {
            Heads::One(head) => vec![*head],
            Heads::Many(many) => aggregate::members(capture, many).unwrap_or_default(),
        };
        ids.iter().map(|&head| of_head(capture, head)).sum::<usize>()
    };
    let of_reading = |reading: &Reading| {
        let minus = reading.minus.as_ref().map_or(0, |minus| {
            let capture = subject.other.as_ref().unwrap_or(&subject.this);
            of_heads(capture, &minus.heads)
        });
        of_heads(&subject.this, &reading.heads) + minus
    };
    match question {
        Question::Pattern(reading) => of_reading(reading),
        Question::Lines(reading, _) => 2 * of_reading(reading),
        Question::Links { stack, .. } => {
            let layers = subject.this.model().stack(*stack).map_or(&[][..], |stack| &stack.layers);
            let ids = layers
                .iter()
                .enumerate()
                .flat_map(|(layer, shape)| (0..shape.n_heads).map(move |head| HeadId { stack: *stack, layer, head }));
            ids.map(|head| of_head(&subject.this, head)).sum()
        }
    }
}

fn of_head(capture: &Capture, head: HeadId) -> usize {
    let (n_query, n_key) = (capture.query_tokens(head.stack).len(), capture.key_tokens(head.stack).len());
    let layer = capture.model().stack(head.stack).and_then(|stack| stack.layers.get(head.layer));
    // A stored entry is looked at; another is a product of two vectors.
    let each = match capture.layer(head) {
        Some(recorded) if recorded.pattern.is_some() => 1,
        _ => 1 + layer.map_or(0, |layer| layer.d_head / 4),
    };
    n_query * n_key * each
}
