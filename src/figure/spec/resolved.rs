//! A figure's choices, checked against the captures and read as the options say.

use std::sync::Arc;

use super::{FigureError, FigureInput, FigureSpec, Measurements, Subtrahend};
use crate::{
    analysis::{
        PointCloud, Space, attention,
        head_folder::HeadFolder,
        reading::{
            self, Aggregate, Aggregation, Captures, Heads, Minus, ReadPattern, Reading, RowLabels, SentenceFilter,
            Which, Whose,
        },
    },
    capture::{Capture, Token, words},
    figure::{
        About, Captions, FigureExtent, ViewKind,
        views::{
            Pinned, Topic, heads_text, joined,
            lab::{self, Answered},
        },
    },
    ids::{HeadId, StackKind},
    spec::ModelSpec,
    text::counted,
};

/// Characters of the input that a caption quotes.
const MAX_QUOTED: usize = 240;

/// A pattern, and the head it is of where that is one.
pub type OnePattern = (Arc<ReadPattern>, Option<HeadId>);

/// What was chosen, checked against what there is.
pub struct ResolvedSpec<'a> {
    pub spec: &'a FigureSpec,
    pub capture: &'a Capture,
    /// What joint spaces are made of.
    pub cloud: &'a PointCloud,
    /// What the laboratory answered.
    pub answers: &'a [Answered],
    pub measured: &'a Measurements,
    /// What may be subtracted.
    pub other: Option<&'a Capture>,
    pub stack: StackKind,
    /// Which layers; at least one.
    pub layers: Vec<usize>,
    /// `None`: every head of each layer.
    pub heads: Option<Vec<usize>>,
}

impl<'a> ResolvedSpec<'a> {
    /// Checks layers, heads and tokens.
    pub fn new(spec: &'a FigureSpec, subject: FigureInput<'a>) -> Result<Self, FigureError> {
        let FigureInput { captures: Captures { this: capture, other }, cloud, answers, measured } = subject;
        if capture.model().family == HeadFolder::FAMILY {
            let message = "figures are drawn of runs and capture files, and a folder of heads is neither: a picture of the \
                window shows it";
            return Err(FigureError::Failed(message.to_owned()));
        }
        let stack = stack(spec, capture)?;
        if spec.reading.sentences != SentenceFilter::All && !reading::is_pair(capture, stack) {
            let message = "--sentences chooses between two texts: give the second one with --text-b";
            return Err(FigureError::Usage(message.to_owned()));
        }
        let mut layers = spec.layers.clone();
        // A sheet of words has the one head that is asked about.
        let of_heads = spec.sheet.is_some() && !spec.each.query;
        let many = of_heads || spec.each.layer;
        let n_layers = capture.model().stack(stack).map_or(0, |stack| stack.layers.len());
        let recorded = |layer: &usize| attention::has_pattern(capture, HeadId { stack, layer: *layer, head: 0 });
        let space = spec.space();
        let extent = spec.view.spec().extent;
        let of_vectors = spec.view.facts().lays_out_points && !space.is_joint();
        if layers.is_empty() {
            let all = (0..n_layers).filter(|layer| of_vectors || recorded(layer));
            layers = if many || extent == FigureExtent::Stack { all.collect() } else { all.take(1).collect() };
        }
        if layers.is_empty() {
            return Err(FigureError::Failed(format!("no attention of the {stack} stack was recorded")));
        }
        let chosen = spec.heads.clone();
        let all_heads = extent != FigureExtent::Head || of_heads || spec.together.is_some() || spec.each.head;
        let heads = match chosen.is_empty() {
            true if all_heads => None,
            true => Some(vec![0]),
            false => Some(chosen),
        };
        let resolved = Self { spec, capture, cloud, answers, measured, other, stack, layers, heads };
        resolved.check()?;
        Ok(resolved)
    }

    /// The cells of a space that were chosen.
    pub fn cells(&self) -> Result<Vec<HeadId>, FigureError> {
        let space = self.space();
        if space.is_joint() {
            return self.ids();
        }
        let (stack, model) = (self.stack, self.capture.model());
        let there = self.cloud.cells(stack, space);
        if let Some(reason) = self.cloud.lacks(stack, space) {
            return Err(FigureError::Failed(reason));
        }
        let mut cells: Vec<HeadId> = match space {
            Space::Positions => there.clone(),
            Space::Residual => self.layers.iter().map(|&layer| HeadId { stack, layer, head: 0 }).collect(),
            _ => self.ids()?.into_iter().map(|head| space.cell_of(head, model)).collect(),
        };
        cells.dedup();
        match cells.iter().find(|cell| !there.contains(cell)) {
            None => Ok(cells),
            Some(missing) => {
                let last = there.last().map_or(0, |cell| cell.layer);
                Err(FigureError::Failed(format!(
                    "the {} of layer {} was not recorded: layers are counted from 0 to {last}",
                    space.title().to_lowercase(),
                    missing.layer
                )))
            }
        }
    }

    fn check(&self) -> Result<(), FigureError> {
        let is_projected = self.spec.view.facts().lays_out_points;
        if is_projected && !self.space().is_joint() {
            self.cells()?;
            return self.check_tokens();
        }
        for id in self.ids()? {
            // The reader's own words where there is no such head.
            let layer = self.capture.model().layer_of(id);
            if layer.is_none_or(|layer| id.head >= layer.n_heads) {
                reading::read(Captures::one(self.capture), &Reading::of(id)).map_err(refused)?;
            }
        }
        self.check_tokens()
    }

    fn check_tokens(&self) -> Result<(), FigureError> {
        // Of many inputs a token is held by its point.
        let [queries, keys] = [self.stack.query_side(), self.stack.key_side()].map(|side| self.cloud.n(side));
        for (name, chosen, n) in [("query", self.spec.query, queries), ("key", self.spec.key, keys)] {
            if let Some(chosen) = chosen.filter(|chosen| *chosen >= n) {
                let there = if n == 1 { "there is 1".to_owned() } else { format!("there are {n}") };
                return Err(FigureError::Failed(format!("there is no {name} {chosen}: {there}, counted from 0")));
            }
        }
        Ok(())
    }

    /// The heads of a layer that were chosen.
    pub fn head_numbers(&self, layer: usize) -> Vec<usize> {
        let n = self.capture.model().stack(self.stack).map_or(0, |stack| stack.n_heads(layer));
        self.heads.clone().unwrap_or_else(|| (0..n).collect())
    }

    /// Every head that was chosen.
    pub fn ids(&self) -> Result<Vec<HeadId>, FigureError> {
        let n_layers = self.capture.model().stack(self.stack).map_or(0, |spec| spec.layers.len());
        if let Some(layer) = self.layers.iter().find(|layer| **layer >= n_layers) {
            let n = n_layers;
            return Err(FigureError::Failed(format!(
                "there is no layer {layer}: the {} stack has {n}, counted from 0",
                self.stack
            )));
        }
        let stack = self.stack;
        let of_layer =
            |&layer: &usize| self.head_numbers(layer).into_iter().map(move |head| HeadId { stack, layer, head });
        Ok(self.layers.iter().flat_map(of_layer).collect())
    }

    fn reading(&self, heads: Heads) -> Reading {
        let minus = self.spec.minus.map(|Subtrahend { stack, layer, head, of }| Minus {
            heads: Heads::One(HeadId { stack: stack.unwrap_or(self.stack), layer, head }),
            of,
        });
        Reading { heads, minus, ..self.spec.reading.clone() }
    }

    /// The pattern of some heads as the options say.
    pub fn read(&self, heads: Heads) -> Result<Arc<ReadPattern>, FigureError> {
        let read =
            reading::read(Captures { this: self.capture, other: self.other }, &self.reading(heads)).map_err(refused)?;
        if read.cols.groups.iter().all(|group| group.left_out.is_some()) {
            return Err(FigureError::Failed("every key is left out: choose less with --hide".to_owned()));
        }
        Ok(Arc::new(read))
    }

    /// All chosen heads taken together.
    pub fn together(&self) -> Option<Heads> {
        let how = self.spec.together?;
        let layers = Which::These(self.layers.iter().copied().collect());
        let heads = self.heads.as_ref().map_or(Which::All, |heads| Which::These(heads.iter().copied().collect()));
        Some(Heads::Many(Aggregation { stack: self.stack, layers, heads, how }))
    }

    /// What is drawn, in words.
    pub fn subject(&self, heads: &[HeadId]) -> String {
        if let Some(explained) = self.spec.reading.source.explained() {
            return explained.what_of(self.stack, heads);
        }
        let which = heads_text(heads);
        let which = match self.spec.together {
            Some(how) if heads.len() > 1 => format!("the {} of {which}", how.name()),
            _ => which,
        };
        match self.spec.minus {
            Some(Subtrahend { layer, head, of, .. }) => {
                format!("{which} minus L{layer}H{head}{}", whose_text(of))
            }
            None => which,
        }
    }

    /// The question that a picture of `heads` answers, its caveat and its source.
    pub fn about(&self, heads: Vec<HeadId>) -> About {
        let facts = self.spec.view.facts();
        let spec = self.spec.view.spec();
        let minus = self.spec.minus.filter(|_| facts.draws_weights).map(|minus| {
            let head = HeadId { stack: minus.stack.unwrap_or(self.stack), layer: minus.layer, head: minus.head };
            format!("{head}{}", whose_text(minus.of))
        });
        let tested = self.measured.debate.as_ref().filter(|_| facts.tests_inputs);
        let tested = tested.map(|debate| debate.instances.len());
        let tested = tested.or_else(|| self.measured.n_studied(facts.study?));
        let topic = Topic {
            capture: self.capture,
            stack: self.stack,
            heads,
            together: self.spec.together.filter(|_| facts.draws_weights).map(Aggregate::name),
            minus,
            against: self.measured.against.as_ref().filter(|_| facts.contrasts).map(|against| against.names.clone()),
            pinned: self.pinned(),
            merging: self.spec.reading.merging,
            writes: self.writes(),
            explained: self.spec.reading.source.explained(),
            output: self.answers.iter().find_map(|it| lab::target_text(self.capture, it.report.as_deref()?)),
            n_inputs: tested.unwrap_or_else(|| self.cloud.n_inputs()),
            options: &self.spec.options,
        };
        About {
            question: (spec.question)(&topic),
            caveat: (spec.caveat)(&topic),
            origin: origin(self.capture, self.cloud, tested),
        }
    }

    /// What is held.
    pub const fn pinned(&self) -> Pinned {
        Pinned { query: self.spec.query, key: self.spec.key }
    }

    /// Each query that a word stands for, with that word: the one that it writes, where rows are named so, else the one
    /// that it reads.
    pub fn words(&self) -> Vec<(usize, String)> {
        let (tokens, ahead) = (self.capture.query_tokens(self.stack), usize::from(self.writes()));
        let words = tokens.iter().enumerate().skip(ahead).filter(|(_, token)| !token.special);
        words.map(|(position, _)| (position - ahead, words::word_text(tokens, position..position + 1))).collect()
    }

    /// What of each word is drawn.
    pub(super) fn words_text(&self) -> &'static str {
        if self.writes() { "when each word is written" } else { "of each word" }
    }

    /// Whether rows are named by what they write.
    pub fn writes(&self) -> bool {
        self.spec.reading.rows == RowLabels::Written && reading::writes(self.capture, self.stack)
    }

    /// One pattern per figure: of each head, or of all together.
    pub fn patterns(&self) -> Result<Vec<OnePattern>, FigureError> {
        if let Some(together) = self.together() {
            return Ok(vec![(self.read(together)?, None)]);
        }
        self.ids()?.into_iter().map(|id| Ok((self.read(Heads::One(id))?, Some(id)))).collect()
    }

    /// The value of the last colour, where all figures share a scale, as small multiples do.
    pub fn shared_high(&self, patterns: &[OnePattern]) -> Option<f32> {
        let is_shared = self.spec.options.shared_scale || self.spec.sheet.is_some();
        is_shared.then(|| patterns.iter().map(|(read, _)| read.high()).fold(0.0, f32::max))
    }

    /// What a sheet of patterns shows: attention, or that it is none.
    pub fn pattern_text(&self, of_attention: &'static str) -> &'static str {
        match self.spec.reading.source.explained() {
            Some(_) => "Result of a method, not attention",
            None => of_attention,
        }
    }
}

/// The stack that was asked for, or the one that the view is most about.
fn stack(spec: &FigureSpec, capture: &Capture) -> Result<StackKind, FigureError> {
    let model = capture.model();
    if let Some(stack) = spec.stack {
        if model.stack(stack).is_none() {
            let there: Vec<&str> = model.stacks.iter().map(|stack| stack.kind.name()).collect();
            return Err(FigureError::Failed(format!(
                "{} has no {stack} stack: it has {}",
                model.name,
                there.join(", ")
            )));
        }
        return Ok(stack);
    }
    if spec.view.facts().lies_on_picture {
        let side = capture.picture_side().ok_or_else(|| no_picture(capture))?;
        let attends = [
            StackKind::Cross,
            StackKind::TextToVision,
            StackKind::SelfAttention,
            StackKind::Vision,
            StackKind::Encoder,
        ];
        let found = attends.into_iter().find(|stack| model.stack(*stack).is_some() && stack.key_side() == side);
        return found.ok_or_else(|| no_picture(capture));
    }
    // What a writer attends to is what an encoder–decoder is looked at for.
    let cross = model.stacks.iter().map(|stack| stack.kind).find(|kind| kind.is_cross());
    cross
        .or_else(|| model.stacks.first().map(|stack| stack.kind))
        .ok_or_else(|| FigureError::Failed("there is nothing to draw: the capture has no attention".to_owned()))
}

/// Why there is no Image view.
pub fn no_picture(capture: &Capture) -> FigureError {
    let name = &capture.model().name;
    let others = ViewKind::names(|view| !view.facts().lies_on_picture);
    FigureError::Failed(format!("this input of {name} has no picture: choose one of {others}"))
}

#[expect(clippy::needless_pass_by_value, reason = "what `map_err` gives")]
fn refused(refusal: reading::Refusal) -> FigureError {
    FigureError::Failed(refusal.to_string())
}

/// What a person reads for each token; its position where it has no text.
pub fn names_of(tokens: &[Token]) -> Vec<String> {
    let name = |(at, token): (usize, &Token)| if token.text.is_empty() { format!("#{at}") } else { token.text.clone() };
    tokens.iter().enumerate().map(name).collect()
}

/// Of which input a head is, where it is not of the one that is drawn.
pub(super) const fn whose_text(of: Whose) -> &'static str {
    match of {
        Whose::This => "",
        Whose::Other => " of the other input",
    }
}

/// Digits of a commit in a caption: as many as the hub's pages have.
const COMMIT_DIGITS: usize = 7;

/// A model by its name, with the commit of its files where they have one.
fn model_text(model: &ModelSpec) -> String {
    let revision = model.checkpoint.as_ref().and_then(|id| id.revision.as_deref());
    let commit = revision.and_then(|revision| revision.get(..COMMIT_DIGITS));
    commit.map_or_else(|| model.name.clone(), |commit| format!("{} ({commit})", model.name))
}

/// The model, and the input where there is more room, in words. What was changed is always said.
fn origin(capture: &Capture, cloud: &PointCloud, tested: Option<usize>) -> Captions {
    let model = format!("Model: {}", model_text(capture.model()));
    if let PointCloud::Positions(_) = cloud {
        return Captions::both(model);
    }
    if let Some(n) = tested {
        return Captions::both(format!("{model}; {}", counted(n, "input")));
    }
    if let PointCloud::Inputs(_) = cloud {
        return Captions::both(format!("{model}; {}", counted(cloud.n_inputs(), "input")));
    }
    let input = capture.input();
    let quoted = |text: &String| {
        let short: String = text.chars().take(MAX_QUOTED).collect();
        let rest = if short.len() < text.len() { "…" } else { "" };
        format!("“{short}{rest}”")
    };
    let texts = [&input.text, &input.text_b].into_iter().flatten().map(quoted);
    let image = input.image.iter().map(|name| format!("picture {name}"));
    let target = input.target.iter().map(|text| format!("target {}", quoted(text)));
    let quoted: Vec<String> = texts.chain(image).chain(target).collect();
    let full = if quoted.is_empty() { model.clone() } else { format!("{model}; input: {}", quoted.join(", ")) };
    let part = input.part.map_or_else(String::new, |part| part.to_string());
    let changed = capture.computation().note().unwrap_or_default();
    Captions { short: joined([model.as_str(), &changed]), full: joined([full.as_str(), &part, &changed]) }
}
