//! Rows and columns of a pattern, and the tokens that they stand for.

use std::{ops::Range, sync::Arc};

use crate::capture::{Token, words};

/// What the rows and what the columns of a pattern are; shared, because a long text has many of both.
pub type Axes = [Arc<Axis>; 2];

/// What the rows or the columns of a [`ReadPattern`](super::ReadPattern) stand for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// One per row or column.
    pub groups: Vec<AxisGroup>,
    /// By position: its row or column.
    pub(super) group_of: Vec<u32>,
    /// What the last columns are, which are no keys.
    rest: Vec<Rest>,
    /// Whether they are named by the token that is written next, which is not the one at their position.
    writes: bool,
    /// By position: the token's place in its sequence, of which the axis has some alone; empty where it has all.
    places: Vec<usize>,
}

/// What of a row went to no key: a column of its own, behind the last key, at a position of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// It went to a learned sink, which takes part in the softmax and has no value.
    Sink,
    /// It is not in the file, whose rows are incomplete.
    Missing,
}

impl Rest {
    /// What its column is called. The brackets tell it from a token.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Sink => "(sink)",
            Self::Missing => "(missing)",
        }
    }

    /// How the part of all attention goes on that it has.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::Sink => "went to the learned sink",
            Self::Missing => "is not in the file",
        }
    }
}

impl Axis {
    pub(super) fn new(groups: Vec<AxisGroup>) -> Self {
        let by_position = groups.iter().zip(0u32..).flat_map(|(group, idx)| group.positions.clone().map(move |_| idx));
        Self { group_of: by_position.collect(), groups, rest: Vec::new(), writes: false, places: Vec::new() }
    }

    /// The same rows, named by the token that is written next.
    pub(super) const fn written(mut self) -> Self {
        self.writes = true;
        self
    }

    /// The same rows, known by the places of their tokens.
    pub(super) fn placed(mut self, tokens: &[Token]) -> Self {
        let places: Option<Vec<usize>> = tokens.iter().map(|token| token.position).collect();
        self.places = places.unwrap_or_default();
        self
    }

    /// The place in its sequence of what stands at a position of the axis.
    pub fn place(&self, position: usize) -> usize {
        self.places.get(position).copied().unwrap_or(position)
    }

    /// The name of an axis of queries.
    pub const fn query_name(&self) -> &'static str {
        if self.writes { "Next token" } else { "Query" }
    }

    /// The number that a row or column is known by: `#3`, or `after #3` where its name is that of the next token.
    pub fn number(&self, position: usize) -> String {
        let after = if self.writes { "after " } else { "" };
        format!("{after}#{}", self.place(position))
    }

    /// The same keys with columns for what went to none of them.
    pub(super) fn with_rest(mut self, rest: Vec<Rest>) -> Self {
        for column in &rest {
            let position = self.group_of.len();
            self.group_of.push(self.groups.len() as u32);
            let text = column.text().to_owned();
            self.groups.push(AxisGroup { positions: position..position + 1, text, left_out: None });
        }
        self.rest = rest;
        self
    }

    /// What a row or column is called with its number, which only tokens have.
    pub fn numbered(&self, idx: usize) -> String {
        match (self.rest_at(idx), self.position(idx)) {
            (None, Some(position)) => format!("{}  {}", self.text(idx), self.number(position)),
            _ => self.text(idx).to_owned(),
        }
    }

    /// The same of a token position.
    pub fn numbered_at(&self, position: usize) -> String {
        self.group_of(position).map_or_else(String::new, |idx| self.numbered(idx))
    }

    /// Columns that are no keys, in their order.
    pub fn rest(&self) -> &[Rest] {
        &self.rest
    }

    /// What a column is that is no key; `None` for a key.
    pub fn rest_at(&self, idx: usize) -> Option<Rest> {
        self.rest.get(idx.checked_sub(self.n_of_tokens())?).copied()
    }

    /// Rows or columns that stand for tokens.
    pub const fn n_of_tokens(&self) -> usize {
        self.groups.len() - self.rest.len()
    }

    /// Tokens that they stand for.
    pub const fn n_tokens(&self) -> usize {
        self.group_of.len() - self.rest.len()
    }

    /// Number of rows or columns.
    pub const fn len(&self) -> usize {
        self.groups.len()
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// The row or column that a token position belongs to.
    pub fn group_of(&self, position: usize) -> Option<usize> {
        self.group_of.get(position).map(|&idx| idx as usize)
    }

    /// What a person reads for every row or column.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.groups.iter().map(|group| group.text.as_str())
    }

    /// What a row or column is called.
    pub fn text(&self, idx: usize) -> &str {
        self.groups.get(idx).map_or("", |group| &group.text)
    }

    /// What the row or column of a token position is called.
    pub fn text_at(&self, position: usize) -> &str {
        self.group_of(position).map_or("", |idx| self.text(idx))
    }

    /// The same as a name in a sentence: `“␣Ben”`, or `“␣Ben” #3` where several have this text.
    pub fn named(&self, idx: usize) -> String {
        let texts: Vec<&str> = self.groups.iter().map(|group| group.text.as_str()).collect();
        words::named_by(&texts, idx, &self.number(self.position(idx).unwrap_or(idx)))
    }

    /// The same of a token position.
    pub fn named_at(&self, position: usize) -> String {
        self.group_of(position).map_or_else(String::new, |idx| self.named(idx))
    }

    /// The first position of a row or column.
    pub fn position(&self, idx: usize) -> Option<usize> {
        self.groups.get(idx).map(|group| group.positions.start)
    }

    /// Bytes that it holds.
    pub fn size_bytes(&self) -> usize {
        let texts: usize = self.groups.iter().map(|group| group.text.len() + size_of::<AxisGroup>()).sum();
        texts + size_of_val(&*self.group_of) + size_of_val(&*self.places)
    }

    /// Whether every position stands for itself.
    pub fn is_by_position(&self) -> bool {
        self.groups.len() == self.group_of.len()
    }
}

/// One row or column.
#[derive(Clone, Debug, PartialEq)]
pub struct AxisGroup {
    /// Token positions that it stands for; never empty.
    pub positions: Range<usize>,
    pub text: String,
    /// Why it shows nothing, if so.
    pub left_out: Option<LeftOut>,
}

/// Why a row or column shows nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftOut {
    /// It is among the keys that are left out.
    Chosen,
    /// It belongs to the sentence that is not looked at.
    Sentence,
    /// The other side of a difference has nothing that it could be compared with.
    Unmatched,
    /// The method that is shown says nothing about it.
    Unanswered,
}
