//! Queries about captures, their cost, and their results.

use std::{ops::Range, sync::Arc};

use crate::{
    analysis::{
        detect::{self, Detector, HeadKinds},
        edges::{self, Edge, EdgeFilter, EdgeSet},
        head_statistics::{self, HeadOrder, Metric},
        patch_stream::{self, PatchComponents},
        paths::{LayerGraph, Node, PathHeads, PathMeasure, PathNumbers},
        reading::{
            Axes, Captures, Heads, ReadPattern, Reading, Refusal, aggregate, axes,
            long::{self, Strip, read_part, reduce, strip_rows},
            pairs::{self, Links},
            read,
        },
        stats::{Choices, HeadStats, StatSums, head_stats},
    },
    capture::Capture,
    ids::{CaptureId, HeadId, StackKind},
};

/// What a question is about: one capture, and the one that may be subtracted from it.
#[derive(Clone, Debug)]
pub struct CapturePair {
    pub this: Arc<Capture>,
    /// The one that may be subtracted.
    pub other: Option<Arc<Capture>>,
}

impl CapturePair {
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
pub struct PatternKey {
    /// The capture that is read.
    pub this: CaptureId,
    /// The one that is subtracted; `None` where the question subtracts none.
    pub other: Option<CaptureId>,
    /// What is asked about them.
    pub question: PatternQuery,
}

/// What can be asked.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PatternQuery {
    /// A pattern as it is shown.
    Pattern(Reading),
    /// The lines that are drawn of it.
    Lines(Reading, LineFilter),
    /// What rows and columns are, whichever head is read.
    Axes(Reading),
    /// Some rows of a pattern that is too long to be held whole.
    Part(PatternRows),
    /// The lines that are drawn of them.
    LinesOfPart(PatternRows, LineFilter),
    /// A strip of rows of a pattern, at a level of detail above 0 (see [`long`]).
    Strip(Reading, u32, usize),
    /// A whole pattern at a level of detail, of a text that is not too long for that.
    Reduced(Reading, u32),
    /// One head in numbers, as the model computed it.
    Stats(HeadId),
    /// The heads of a stack in numbers, as the model computed them.
    StackStats(StackKind),
    /// Which heads link a query and a key position.
    Links {
        stack: StackKind,
        reading: Reading,
        /// Positions of the query and the key.
        pair: (usize, usize),
    },
    /// The heads of a stack by kind, as the model computed them.
    Kinds(StackKind),
    /// Principal components of the patches in the residual stream that a layer of a stack reads.
    Components(StackKind, usize),
    /// The heads of a stack by a number, as the model computed them.
    Order(StackKind, Metric),
    /// All layers as a graph, and how the heads of a layer become one.
    Layers(HeadId, PathHeads),
    /// Numbers of that graph.
    Paths(PathQuery),
}

/// What the numbers of a graph of layers depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PathQuery {
    pub head: HeadId,
    pub heads: PathHeads,
    pub measure: PathMeasure,
    /// The share of the residual stream, by its bits.
    pub residual: u32,
    /// How many edges are kept.
    pub n_edges: usize,
    /// The query and the key that the numbers are about.
    pub ends: [Option<Node>; 2],
}

impl PathQuery {
    fn of(self, graph: &LayerGraph) -> Answer {
        let residual = f32::from_bits(self.residual).into();
        let numbers = graph.measured(self.measure, residual, self.n_edges, self.ends).map_err(Refusal::NoPaths)?;
        Ok(PatternResult::Paths(Arc::new(numbers)))
    }
}

/// Some rows of a pattern.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PatternRows {
    pub reading: Reading,
    pub rows: Range<usize>,
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
    pub pattern: Arc<ReadPattern>,
    /// The lines of values above 0, between its rows and columns.
    pub set: EdgeSet,
    /// Of a difference the lines of values below 0, by their size; both sets are chosen together.
    pub below: EdgeSet,
}

impl Lines {
    fn of(pattern: Arc<ReadPattern>, filter: EdgeFilter) -> Self {
        let mut set = edges::select(&pattern.strengths(), filter);
        // A part counts its rows as the whole does.
        let first = pattern.here.start as u32;
        set.edges.iter_mut().for_each(|edge| edge.query += first);
        let mut below = EdgeSet::default();
        if pattern.signed {
            let is_below =
                |edge: &Edge| pattern.value(edge.query as usize, edge.key as usize).is_some_and(|it| it < 0.0);
            below.edges = set.edges.extract_if(.., |edge| is_below(edge)).collect();
        }
        Self { pattern, set, below }
    }
}

/// An answer.
#[derive(Clone, Debug)]
pub enum PatternResult {
    /// To [`PatternQuery::Pattern`] and [`PatternQuery::Part`].
    Pattern(Arc<ReadPattern>),
    /// To [`PatternQuery::Lines`] and [`PatternQuery::LinesOfPart`].
    Lines(Arc<Lines>),
    /// To [`PatternQuery::Axes`].
    Axes(Axes),
    /// To [`PatternQuery::Strip`] and [`PatternQuery::Reduced`].
    Strip(Arc<Strip>),
    /// To [`PatternQuery::Stats`].
    Stats(HeadStats),
    /// To [`PatternQuery::StackStats`]: of heads that were recorded.
    StackStats(Arc<[HeadStats]>),
    /// To [`PatternQuery::Links`].
    Links(Arc<Links>),
    /// To [`PatternQuery::Kinds`].
    Kinds(Arc<HeadKinds>),
    /// To [`PatternQuery::Components`]; `None` where there are none.
    Components(Option<Arc<PatchComponents>>),
    /// To [`PatternQuery::Order`].
    Order(Arc<HeadOrder>),
    /// To [`PatternQuery::Layers`].
    Layers(Arc<LayerGraph>),
    /// To [`PatternQuery::Paths`].
    Paths(Arc<PathNumbers>),
}

impl PatternResult {
    pub(super) fn size_bytes(&self) -> usize {
        match self {
            Self::Pattern(pattern) => pattern.own_bytes(),
            // The pattern is its own entry as a rule; where it is not, it goes with its lines.
            Self::Lines(lines) => size_of_val(&*lines.set.edges) + lines.pattern.own_bytes(),
            Self::Axes(axes) => axes.iter().map(|axis| axis.size_bytes()).sum(),
            Self::Strip(strip) => strip.size_bytes(),
            Self::Stats(_) => 0,
            Self::StackStats(stats) => size_of_val(&**stats),
            Self::Links(links) => size_of_val(&*links.heads),
            Self::Components(found) => found.as_ref().map_or(0, |found| size_of_val(&*found.places)),
            Self::Kinds(kinds) => kinds.kinds.iter().map(|kind| size_of_val(kind.ranked())).sum(),
            Self::Order(order) => size_of_val(order.ranked()),
            Self::Layers(graph) => graph.size_bytes(),
            Self::Paths(numbers) => size_of_val(&*numbers.edges),
        }
    }
}

/// A question that waits for its answer, with what it takes to find it.
#[derive(Clone, Debug)]
pub struct Want {
    pub key: PatternKey,
    pub subject: CapturePair,
    /// The pattern that lines are drawn of, where it is known already.
    pub pattern: Option<Arc<ReadPattern>>,
    /// What rows and columns are, where that is known already.
    pub axes: Option<Axes>,
    /// The graph that numbers are of, where it is known already.
    pub graph: Option<Arc<LayerGraph>>,
}

/// One answer to one question.
pub type Answer = Result<PatternResult, Refusal>;

/// Whoever answers: a thread, or a test.
pub trait PatternReader {
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
    let part = |reading: &Reading, rows: Range<usize>| {
        let axes = want.axes.clone().unwrap_or_else(|| axes(&want.subject.this, reading));
        read_part(want.subject.captures(), reading, &axes, rows).map(Arc::new)
    };
    let graph = |head: HeadId, heads: PathHeads| {
        LayerGraph::of(&want.subject.this, head, heads).map(Arc::new).map_err(Refusal::NoPaths)
    };
    Some(match &want.key.question {
        PatternQuery::Pattern(reading) => pattern(reading).map(PatternResult::Pattern),
        PatternQuery::Lines(reading, filter) => {
            pattern(reading).map(|pattern| PatternResult::Lines(Arc::new(Lines::of(pattern, (*filter).into()))))
        }
        PatternQuery::Axes(reading) => Ok(PatternResult::Axes(axes(&want.subject.this, reading))),
        PatternQuery::Part(PatternRows { reading, rows }) => part(reading, rows.clone()).map(PatternResult::Pattern),
        PatternQuery::LinesOfPart(PatternRows { reading, rows }, filter) => part(reading, rows.clone())
            .map(|pattern| PatternResult::Lines(Arc::new(Lines::of(pattern, (*filter).into())))),
        PatternQuery::Strip(reading, level, strip) => {
            let n_rows =
                want.axes.as_ref().map_or_else(|| axes(&want.subject.this, reading)[0].len(), |it| it[0].len());
            let rows = strip_rows(*strip, n_rows);
            let reduced = |part: Arc<ReadPattern>| PatternResult::Strip(Arc::new(reduce(&part, rows.clone(), *level)));
            part(reading, rows.clone()).map(reduced)
        }
        PatternQuery::Reduced(reading, level) => {
            pattern(reading).map(|whole| PatternResult::Strip(Arc::new(reduce(&whole, 0..whole.rows.len(), *level))))
        }
        PatternQuery::Stats(head) => one_stats(&want.subject, *head, go_on)?.map(PatternResult::Stats),
        PatternQuery::StackStats(stack) => {
            let mut stats = Vec::new();
            for head in heads_of(&want.subject.this, *stack) {
                if !go_on() {
                    return None;
                }
                stats.extend(one_stats(&want.subject, head, go_on)?.ok());
            }
            Ok(PatternResult::StackStats(stats.into()))
        }
        PatternQuery::Links { stack, reading, pair } => {
            match pairs::links(&want.subject.this, *stack, reading, *pair, &mut |_, _| go_on()) {
                Ok(links) => Ok(PatternResult::Links(Arc::new(links?))),
                Err(refusal) => Err(refusal),
            }
        }
        PatternQuery::Components(stack, layer) => {
            let found = PatchComponents::of_layer(&want.subject.this, *stack, *layer);
            Ok(PatternResult::Components(found.map(Arc::new)))
        }
        PatternQuery::Kinds(stack) | PatternQuery::Order(stack, _)
            if long::is_long(&want.subject.this, &any_head(*stack)) =>
        {
            Err(Refusal::KindsOfLong(want.subject.this.query_tokens(*stack).len()))
        }
        PatternQuery::Kinds(stack) => {
            Ok(PatternResult::Kinds(Arc::new(detect::kinds(&want.subject.this, *stack, go_on)?)))
        }
        PatternQuery::Order(stack, score) => {
            Ok(PatternResult::Order(Arc::new(head_statistics::order(&want.subject.this, *stack, *score, go_on)?)))
        }
        PatternQuery::Layers(head, heads) => graph(*head, *heads).map(PatternResult::Layers),
        PatternQuery::Paths(query) => match &want.graph {
            Some(graph) => query.of(graph),
            None => graph(query.head, query.heads).and_then(|graph| query.of(&graph)),
        },
    })
}

fn any_head(stack: StackKind) -> Reading {
    Reading::of(HeadId { stack, ..HeadId::default() })
}

/// One head in numbers, of a long text part by part. `None` when that is not wanted any more.
fn one_stats(
    subject: &CapturePair,
    head: HeadId,
    go_on: &mut dyn FnMut() -> bool,
) -> Option<Result<HeadStats, Refusal>> {
    let (capture, reading) = (&*subject.this, Reading::of(head));
    if capture.model().is_effective(head) {
        return Some(Err(Refusal::NoDistribution(head)));
    }
    if !long::is_long(capture, &reading) {
        return Some(read(subject.captures(), &reading).map(|pattern| stats_of(capture, head, &pattern)));
    }
    let axes = axes(capture, &reading);
    let special: Vec<bool> = capture.key_tokens(head.stack).iter().map(|token| token.special).collect();
    let mut sums = StatSums::new(capture.sink(head), &special, Choices::of(capture, head));
    for strip in 0..long::n_strips(axes[0].len()) {
        if !go_on() {
            return None;
        }
        match read_part(Captures::one(capture), &reading, &axes, strip_rows(strip, axes[0].len())) {
            Ok(part) => sums.add(part.here.start, &part.of_keys()),
            Err(refusal) => return Some(Err(refusal)),
        }
    }
    let rows = capture.row_mass(head);
    let square = head.stack.query_side() == head.stack.key_side();
    // How far apart two patches stand in the row of tokens says nothing.
    let square = square && capture.picture_side() != Some(head.stack.query_side());
    Some(Ok(HeadStats { rows, ..sums.stats(square) }))
}

fn stats_of(capture: &Capture, head: HeadId, pattern: &ReadPattern) -> HeadStats {
    let stack = pattern.stack;
    let special: Vec<bool> = capture.key_tokens(stack).iter().map(|token| token.special).collect();
    let rows = capture.row_mass(head);
    let square = stack.query_side() == stack.key_side();
    let keys = pattern.of_keys();
    let choices = Choices::of(capture, head);
    let mut stats = HeadStats { rows, ..head_stats(&keys, capture.sink(head), &special, choices, square) };
    if square && capture.picture_side() == Some(stack.query_side()) {
        // How far apart two patches stand in the row of tokens says nothing.
        (stats.distance, stats.on_previous) = (None, None);
        stats.patch_distance = detect::patch_distance(capture, stack, &keys);
    }
    stats
}

/// Products that take as long as looking at an entry.
const PRODUCTS_PER_ENTRY: usize = 16;

/// About how many entries have to be looked at or computed.
pub(super) fn cost(subject: &CapturePair, question: &PatternQuery) -> usize {
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
    let tokens = |reading: &Reading| {
        let stack = reading.heads.stack();
        (subject.this.query_tokens(stack).len(), subject.this.key_tokens(stack).len())
    };
    let of_rows = |reading: &Reading, n_rows: usize| {
        let (n_query, n_key) = tokens(reading);
        of_reading(reading) / n_query.max(1) * n_rows + n_query + n_key
    };
    match question {
        PatternQuery::Pattern(reading) | PatternQuery::Reduced(reading, _) => of_reading(reading),
        PatternQuery::Lines(reading, _) => 2 * of_reading(reading),
        PatternQuery::Axes(reading) => {
            let (n_query, n_key) = tokens(reading);
            n_query + n_key
        }
        PatternQuery::Part(part) => of_rows(&part.reading, part.rows.len()),
        PatternQuery::LinesOfPart(part, _) => 2 * of_rows(&part.reading, part.rows.len()),
        PatternQuery::Strip(reading, ..) => of_rows(reading, long::STRIP_ROWS),
        PatternQuery::Stats(head) => 4 * of_head(&subject.this, *head),
        PatternQuery::Links { stack, .. } => {
            // Of a long text one row of each head is read.
            let is_long = long::is_long(&subject.this, &any_head(*stack));
            let n_rows = if is_long { subject.this.query_tokens(*stack).len().max(1) } else { 1 };
            stack_cost(&subject.this, *stack) / n_rows
        }
        PatternQuery::Components(stack, layer) => {
            // The products of the covariance, and those of its directions.
            let shape =
                patch_stream::rows(&subject.this, *stack, *layer).map(|(rows, _)| (rows.n_rows(), rows.n_cols()));
            shape.map_or(0, |(n, width)| (n + 4 * width) * width * width / PRODUCTS_PER_ENTRY)
        }
        PatternQuery::Kinds(stack) | PatternQuery::Order(stack, _)
            if long::is_long(&subject.this, &any_head(*stack)) =>
        {
            1
        }
        PatternQuery::StackStats(stack) | PatternQuery::Order(stack, _) => 4 * stack_cost(&subject.this, *stack),
        PatternQuery::Kinds(stack) => Detector::orders().count() * stack_cost(&subject.this, *stack),
        PatternQuery::Layers(..) => of_all_stacks(&subject.this),
        // Flow searches for one way after the other, each over the whole graph.
        PatternQuery::Paths(query) => match query.measure {
            PathMeasure::Raw | PathMeasure::Rollout => of_all_stacks(&subject.this),
            PathMeasure::Flow => of_all_stacks(&subject.this).saturating_mul(64),
        },
    }
}

/// About how many entries of all patterns of a stack have to be looked at or computed.
pub fn stack_cost(capture: &Capture, stack: StackKind) -> usize {
    heads_of(capture, stack).map(|head| of_head(capture, head)).sum()
}

fn of_all_stacks(capture: &Capture) -> usize {
    capture.model().stacks.iter().map(|stack| stack_cost(capture, stack.kind)).sum()
}

fn heads_of(capture: &Capture, stack: StackKind) -> impl Iterator<Item = HeadId> {
    let layers = capture.model().stack(stack).map_or(&[][..], |stack| &stack.layers).iter().enumerate();
    layers.flat_map(move |(layer, shape)| (0..shape.n_heads).map(move |head| HeadId { stack, layer, head }))
}

fn of_head(capture: &Capture, head: HeadId) -> usize {
    let (n_query, n_key) = (capture.query_tokens(head.stack).len(), capture.key_tokens(head.stack).len());
    let layer = capture.model().layer_of(head);
    // A stored entry is looked at; another is a product of two vectors.
    let each = match capture.layer(head) {
        Some(recorded) if recorded.pattern().is_some() => 1,
        _ => 1 + layer.map_or(0, |layer| layer.d_head / 4),
    };
    n_query * n_key * each
}
