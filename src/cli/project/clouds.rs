//! Queries and keys of each head over all inputs, and the tokens that they belong to.

use super::options::Heads;
use crate::{
    capture::{Capture, Matrix, Token},
    cli::CliError,
    ids::{HeadId, StackKind},
    projection::correlation::Segment,
};

/// Several inputs of one model.
pub struct Clouds<'a> {
    captures: &'a [Capture],
    stack: StackKind,
    heads: Vec<HeadId>,
    segments: Vec<Segment>,
}

/// One row of the token table.
pub struct Row<'a> {
    /// Which input.
    pub input: usize,
    /// Position within it.
    pub position: usize,
    /// `None` where a capture names no tokens.
    pub token: Option<&'a Token>,
}

/// Queries and keys of one head, one input after the other.
pub struct HeadCloud {
    pub queries: Vec<f32>,
    pub keys: Vec<f32>,
    pub n_queries: usize,
    pub n_keys: usize,
    pub width: usize,
}

impl<'a> Clouds<'a> {
    /// Finds the heads that all inputs have queries and keys of.
    pub fn new(captures: &'a [Capture], stack: Option<StackKind>, heads: &Heads) -> Result<Self, CliError> {
        let Some(first) = captures.first() else {
            return Err(CliError::Failed("there is nothing to project: no input was given".to_owned()));
        };
        let kinds: Vec<StackKind> = first.model().stacks.iter().map(|stack| stack.kind).collect();
        let stack = match stack {
            Some(stack) if kinds.contains(&stack) => stack,
            Some(stack) => {
                let names: Vec<&str> = kinds.iter().map(|kind| kind.name()).collect();
                let message = format!("there is no stack {}: choose --stack {}", stack.name(), names.join(" or "));
                return Err(CliError::Usage(message));
            }
            None => *kinds.first().ok_or_else(|| CliError::Failed("the model has no attention stack".to_owned()))?,
        };
        let has = |head: HeadId| captures.iter().all(|capture| capture.q(head).is_some() && capture.k(head).is_some());
        let layers = first.stack(stack).map_or(&[][..], |stack| &stack.layers);
        let all = layers.iter().enumerate().flat_map(|(layer, data)| {
            let n_heads = data.q.as_ref().map_or(0, |q| q.shape()[0]);
            (0..n_heads).map(move |head| HeadId { stack, layer, head })
        });
        let all: Vec<HeadId> = all.filter(|head| has(*head)).collect();
        if all.is_empty() {
            let message = "there are no queries and keys to project: capture them with --sites q,k";
            return Err(CliError::Failed(message.to_owned()));
        }
        let heads = match heads {
            Heads::All => all,
            Heads::These(heads) => {
                let asked = heads.iter().map(|&(layer, head)| HeadId { stack, layer, head });
                let asked: Vec<HeadId> = asked.collect();
                if let Some(missing) = asked.iter().find(|head| !all.contains(head)) {
                    let (first, last) = (all[0], all[all.len() - 1]);
                    let message = format!("there are no queries and keys of {missing}: heads are {first} to {last}");
                    return Err(CliError::Usage(message));
                }
                asked
            }
        };
        let mut clouds = Self { captures, stack, heads, segments: Vec::new() };
        let (mut queries, mut keys) = (0, 0);
        for capture in captures {
            let rows = |matrix: Option<Matrix>| matrix.map_or(0, |matrix| matrix.n_rows());
            let (n_queries, n_keys) = (rows(capture.q(clouds.heads[0])), rows(capture.k(clouds.heads[0])));
            clouds.segments.push(Segment { queries: queries..queries + n_queries, keys: keys..keys + n_keys });
            (queries, keys) = (queries + n_queries, keys + n_keys);
        }
        Ok(clouds)
    }

    /// The heads to project.
    pub fn heads(&self) -> &[HeadId] {
        &self.heads
    }

    /// Which queries meet which keys.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// The capture of the first input: all are of the same model.
    pub const fn first(&self) -> &Capture {
        &self.captures[0]
    }

    /// Queries and keys of one head.
    pub fn cloud(&self, head: HeadId) -> Option<HeadCloud> {
        let mut cloud = HeadCloud { queries: Vec::new(), keys: Vec::new(), n_queries: 0, n_keys: 0, width: 0 };
        for capture in self.captures {
            let (q, k) = (capture.q(head)?, capture.k(head)?);
            cloud.width = q.n_cols();
            cloud.n_queries += q.n_rows();
            cloud.n_keys += k.n_rows();
            cloud.queries.extend_from_slice(q.as_slice());
            cloud.keys.extend_from_slice(k.as_slice());
        }
        Some(cloud)
    }

    /// The tokens of all queries, in the order of the points.
    pub fn query_rows(&self) -> Vec<Row<'a>> {
        let sizes = self.segments.iter().map(|segment| segment.queries.len());
        self.captures
            .iter()
            .zip(sizes)
            .enumerate()
            .flat_map(|(i, (c, n))| rows(i, c.query_tokens(self.stack), n))
            .collect()
    }

    /// The tokens of all keys.
    pub fn key_rows(&self) -> Vec<Row<'a>> {
        let sizes = self.segments.iter().map(|segment| segment.keys.len());
        self.captures
            .iter()
            .zip(sizes)
            .enumerate()
            .flat_map(|(i, (c, n))| rows(i, c.key_tokens(self.stack), n))
            .collect()
    }

    /// Whether queries and keys are of two sequences.
    pub fn two_sides(&self) -> bool {
        let capture = self.first();
        self.segments.iter().any(|segment| segment.queries != segment.keys)
            || capture.query_tokens(self.stack) != capture.key_tokens(self.stack)
    }

    /// Whether scores of these heads have a part that q and k do not show.
    pub fn has_bias(&self) -> bool {
        self.heads.iter().any(|head| self.first().layer(*head).is_some_and(|layer| layer.bias.is_some()))
    }
}

fn rows(input: usize, tokens: &[Token], n: usize) -> impl Iterator<Item = Row<'_>> {
    (0..n).map(move |position| Row { input, position, token: tokens.get(position) })
}
