//! Tokens that are looked for, and the heads in whose joint space they lie together.

use std::collections::HashMap;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{Cloud, joint::Joint, projection::ProjectionOptions};
use crate::{
    capture::{Token, words},
    ids::{HeadId, Side, StackKind},
    projection::{
        Points,
        clustering::{Clustering, Marked},
        correlation::Segment,
        to_the_end,
    },
};

/// Neighbours of each hit that are looked at.
pub const NEIGHBORS: usize = 10;

/// How a search is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SearchKind {
    /// Tokens that have the text in them.
    #[default]
    Text,
    /// Words that are the text, or one of several; all pieces of a word are hits.
    Word,
    /// Words in which a regular expression is found; all pieces of a word are hits.
    Regex,
    /// Tokens with one of these numbers in the vocabulary.
    Id,
}

impl SearchKind {
    /// Every kind, with its name on the command line, its name on screen, and what it looks for.
    pub const ALL: [(Self, &str, &str, &str); 4] = [
        (Self::Text, "text", "Part of a token", "Tokens that have this text in them"),
        (Self::Word, "word", "Whole word", "This word, or several with commas between them; all their pieces"),
        (Self::Regex, "regex", "Regular expression", "Words in which the expression is found; all their pieces"),
        (Self::Id, "id", "Token id", "Numbers in the model's vocabulary, with commas between them"),
    ];

    /// The kind of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(_, known, ..)| *known == name).map(|(kind, ..)| kind)
    }
}

/// What is looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Search {
    /// What was typed.
    pub text: String,
    /// How it is meant.
    pub kind: SearchKind,
    /// Whether upper and lower case differ.
    pub case: bool,
}

/// Why nothing can be looked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    /// Nothing was typed.
    #[error("there is nothing to look for: type a text")]
    Empty,
    /// A regular expression that is none.
    #[error("this is no regular expression: {0}")]
    Regex(String),
    /// A token id that is no number.
    #[error("“{0}” is no token id: give whole numbers with commas between them")]
    Id(String),
}

/// Points of a cloud that were found, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hits {
    /// Queries.
    pub queries: Vec<u32>,
    /// Keys: the same tokens, unless keys are of another sequence.
    pub keys: Vec<u32>,
    /// Inputs that have one.
    pub n_inputs: usize,
}

impl Hits {
    /// These points of a stack.
    pub fn of(cloud: &Cloud, stack: StackKind, queries: Vec<u32>, keys: Vec<u32>) -> Self {
        let inputs = |side: Side, points: &[u32]| -> Vec<usize> {
            points.iter().filter_map(|point| cloud.token(side, *point as usize)).map(|token| token.input).collect()
        };
        let mut inputs = [inputs(stack.query_side(), &queries), inputs(stack.key_side(), &keys)].concat();
        inputs.sort_unstable();
        inputs.dedup();
        Self { queries, keys, n_inputs: inputs.len() }
    }

    /// Whether nothing was found.
    pub const fn is_empty(&self) -> bool {
        self.queries.is_empty() && self.keys.is_empty()
    }

    /// Points that are both or one of both: tokens where queries and keys are of one sequence.
    pub fn n_tokens(&self) -> usize {
        if self.queries == self.keys { self.queries.len() } else { self.queries.len() + self.keys.len() }
    }
}

/// A head, and how much hits are together in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankedHead {
    /// The head.
    pub head: HeadId,
    /// Its clustering of the hits, among the [`NEIGHBORS`] nearest of each.
    pub found: Clustering,
}

/// A search that is ready to look at tokens.
enum Matcher {
    Text(String, bool),
    Words(Vec<String>, bool),
    Regex(Box<regex::Regex>),
    Ids(Vec<u32>),
}

impl Search {
    fn matcher(&self) -> Result<Matcher, SearchError> {
        let text = if self.kind == SearchKind::Regex { &self.text } else { self.text.trim() };
        if text.is_empty() {
            return Err(SearchError::Empty);
        }
        let parts = || text.split([',', ' ']).map(str::trim).filter(|part| !part.is_empty());
        match self.kind {
            SearchKind::Text => Ok(Matcher::Text(folded(text, self.case), self.case)),
            SearchKind::Word if parts().next().is_none() => Ok(Matcher::Words(vec![text.to_owned()], self.case)),
            SearchKind::Word => Ok(Matcher::Words(parts().map(|word| folded(word, self.case)).collect(), self.case)),
            SearchKind::Regex => regex::RegexBuilder::new(text)
                .case_insensitive(!self.case)
                .build()
                .map(|regex| Matcher::Regex(Box::new(regex)))
                .map_err(|error| SearchError::Regex(reason(&error))),
            SearchKind::Id => {
                let ids = parts().map(|id| id.parse().map_err(|_| SearchError::Id(id.to_owned())));
                Ok(Matcher::Ids(ids.collect::<Result<_, _>>()?))
            }
        }
    }

    /// The points of a stack's queries and keys that are meant.
    ///
    /// # Errors
    /// When there is nothing to look for, or it is not of its kind.
    pub fn find(&self, cloud: &Cloud, stack: StackKind) -> Result<Hits, SearchError> {
        let matcher = self.matcher()?;
        let queries = matcher.points(cloud, stack.query_side());
        let keys = match stack.key_side() {
            side if side == stack.query_side() => queries.clone(),
            side => matcher.points(cloud, side),
        };
        Ok(Hits::of(cloud, stack, queries, keys))
    }
}

impl Matcher {
    fn points(&self, cloud: &Cloud, side: Side) -> Vec<u32> {
        match self {
            Self::Ids(ids) => {
                let tokens = cloud.tokens(side).enumerate();
                let found = tokens.filter(|(_, token)| token.id.is_some_and(|id| ids.contains(&id)));
                found.map(|(point, _)| point as u32).collect()
            }
            Self::Text(part, case) => {
                let mut known: HashMap<&str, bool> = HashMap::new();
                let mut has = |text| {
                    *known.entry(text).or_insert_with(|| folded(words::bare(text), *case).contains(part.as_str()))
                };
                cloud
                    .tokens(side)
                    .enumerate()
                    .filter(|(_, token)| has(token.text))
                    .map(|(point, _)| point as u32)
                    .collect()
            }
            Self::Words(wanted, case) => {
                let meant = |word: &str| wanted.contains(&folded(word, *case));
                points_of_words(cloud, side, &meant)
            }
            Self::Regex(regex) => points_of_words(cloud, side, &|word| regex.is_match(word)),
        }
    }
}

/// All pieces of the words that are meant.
fn points_of_words(cloud: &Cloud, side: Side, meant: &dyn Fn(&str) -> bool) -> Vec<u32> {
    let mut known: HashMap<String, bool> = HashMap::new();
    let mut points = Vec::new();
    for word in cloud.words(side) {
        let pieces = word.clone().filter_map(|point| cloud.token(side, point));
        let pieces: Vec<Token> = pieces
            .map(|token| Token { text: token.text.to_owned(), special: token.special, ..Token::default() })
            .collect();
        let text = match pieces.as_slice() {
            [only] if !words::bare(&only.text).is_empty() => words::bare(&only.text).to_owned(),
            _ => words::word_text(&pieces, 0..pieces.len()),
        };
        if *known.entry(text).or_insert_with_key(|text| meant(text)) {
            points.extend(word.map(|point| point as u32));
        }
    }
    points
}

fn folded(text: &str, case: bool) -> String {
    if case { text.to_owned() } else { text.to_lowercase() }
}

/// What is wrong with an expression, in one line; where is seen in the expression itself.
fn reason(error: &regex::Error) -> String {
    let text = error.to_string();
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

/// How much the hits are together in every head of a stack, most first; heads that say nothing come last.
///
/// Neighbours are looked for in the joint space itself, scaled and translated as `options` say, so no layout is
/// needed: see [`Clustering`] for what is measured and for its chance level. `progress(done, total)` is called
/// between groups of heads and answers whether to go on; `None` when it said no.
pub fn rank(
    cloud: &Cloud,
    stack: StackKind,
    hits: &Hits,
    options: ProjectionOptions,
    progress: &mut dyn FnMut(usize, usize) -> bool,
) -> Option<Vec<RankedHead>> {
    let (heads, segments) = (cloud.heads(stack), cloud.segments(stack));
    let points = Labels::of(cloud, stack, hits);
    let mut ranked: Vec<RankedHead> = Vec::with_capacity(heads.len());
    for group in heads.chunks(2 * rayon::current_num_threads().max(1)) {
        if !progress(ranked.len(), heads.len()) {
            return None;
        }
        let of = |head: &HeadId| {
            let found = points.clustering(cloud, *head, &segments, options)?;
            Some(RankedHead { head: *head, found })
        };
        ranked.extend(group.par_iter().filter_map(of).collect::<Vec<_>>());
    }
    let score = |head: &RankedHead| head.found.score().unwrap_or(f64::NEG_INFINITY);
    ranked.sort_by(|a, b| score(b).total_cmp(&score(a)).then(a.head.cmp(&b.head)));
    progress(heads.len(), heads.len()).then_some(ranked)
}

/// What the points of a joint space are, queries before keys.
struct Labels {
    owners: Vec<u32>,
    kinds: Vec<u32>,
    marked: Vec<bool>,
}

impl Labels {
    fn of(cloud: &Cloud, stack: StackKind, hits: &Hits) -> Self {
        let sides = [stack.query_side(), stack.key_side()];
        let n = sides.map(|side| cloud.n(side));
        let first_key = if sides[0] == sides[1] { 0 } else { n[0] };
        let mut numbers: HashMap<String, u32> = HashMap::new();
        let mut kinds = Vec::with_capacity(n[0] + n[1]);
        for token in sides.into_iter().flat_map(|side| cloud.tokens(side)) {
            // Copies of a word at the start and in the middle of a text are the same word.
            let next = numbers.len() as u32;
            kinds.push(*numbers.entry(words::bare(token.text).to_lowercase()).or_insert(next));
        }
        let mut marked = vec![false; n[0] + n[1]];
        for point in hits.queries.iter().copied().chain(hits.keys.iter().map(|key| key + n[0] as u32)) {
            if let Some(marked) = marked.get_mut(point as usize) {
                *marked = true;
            }
        }
        Self { owners: (0..n[0]).chain(first_key..first_key + n[1]).map(|owner| owner as u32).collect(), kinds, marked }
    }

    fn clustering(
        &self,
        cloud: &Cloud,
        head: HeadId,
        segments: &[Segment],
        options: ProjectionOptions,
    ) -> Option<Clustering> {
        let joint = Joint::of(cloud, head, segments, options)?;
        let (queries, keys) = (joint.queries().ok()?, joint.keys().ok()?);
        let values = joint.transform.apply(queries, keys).ok()?;
        let points = Points::new(&values, queries.n() + keys.n(), queries.width()).ok()?;
        let Self { owners, kinds, marked } = self;
        Clustering::of(Marked { points, owners, kinds, marked }, NEIGHBORS, &to_the_end).ok()
    }
}
