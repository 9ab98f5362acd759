//! Attention of other programs in containers that are not ours: what JSON and NumPy files have in common.
//!
//! Both hold stacks of layers under the names that Hugging Face and BertViz give them, and maybe tokens.

use std::io;

use super::{
    FileError,
    assemble::{Described, InputTensors},
    entry::{CheckedTensor, Stored},
    metadata::{ModelEntry, TokenEntry, TokenStyles, TokensEntry, rows_are_partial},
    place::{TensorSlot, What},
};
use crate::{
    capture::{Capture, Computation, Site},
    ids::{CaptureId, Side, StackKind},
};

/// More tokens than any pattern that fits in memory has; bounds what a list of short strings can cost.
pub(super) const MAX_TOKENS: usize = 1 << 16;

/// What was found in such a file so far.
#[derive(Default)]
pub(super) struct Found {
    input: InputTensors,
    tokens: TokensEntry,
    partial_rows: bool,
    token_style: Option<String>,
    second: Option<usize>,
    notes: Vec<String>,
}

/// What says how tokens are spelled.
pub(super) const TOKEN_STYLE: &str = "token_style";

/// What says whether rows are incomplete: `partial` or `full`.
pub(super) const ROWS: &str = "rows";

/// The stack that an array of this name is the attention of.
pub(super) fn attention_stack(name: &str) -> Option<StackKind> {
    Some(match name {
        "attentions" | "attention" => StackKind::SelfAttention,
        "encoder_attentions" | "encoder_attention" => StackKind::Encoder,
        "decoder_attentions" | "decoder_attention" => StackKind::Decoder,
        "cross_attentions" | "cross_attention" => StackKind::Cross,
        _ => return None,
    })
}

/// The side that a list of this name has the tokens of.
pub(super) fn token_side(name: &str) -> Option<Side> {
    Some(match name {
        "tokens" => Side::Only,
        "encoder_tokens" => Side::Encoder,
        "decoder_tokens" => Side::Decoder,
        _ => return None,
    })
}

/// The shape of one layer, `[heads, queries, keys]`, after a batch of one was taken off.
pub(super) fn layer_shape(name: &str, shape: &[usize]) -> Result<[usize; 3], FileError> {
    match *shape {
        [_, _, _] | [_, _, _, _] if shape.contains(&0) => Err(FileError::tensor(name, "is empty")),
        [heads, queries, keys] | [1, heads, queries, keys] => Ok([heads, queries, keys]),
        [batch, _, _, _] => {
            Err(FileError::tensor(name, format!("is a batch of {batch} inputs; save the attention of one")))
        }
        _ => {
            let problem = format!("has the shape {:?} where heads, queries and keys belong", first_axes(shape));
            Err(FileError::tensor(name, problem))
        }
    }
}

/// Enough of a shape to show.
pub(super) fn first_axes(shape: &[usize]) -> &[usize] {
    &shape[..shape.len().min(8)]
}

impl Found {
    /// Adds the patterns of one layer; `shape` may have a batch of one in front.
    pub(super) fn add_layer(
        &mut self,
        stack: StackKind,
        layer: usize,
        name: String,
        shape: &[usize],
        values: Vec<f32>,
    ) -> Result<(), FileError> {
        let shape = layer_shape(&name, shape)?;
        self.add(TensorSlot::Layer { stack, layer, what: What::Site(Site::Pattern) }, name, shape.to_vec(), values)
    }

    /// Adds a tensor whose name says where it belongs.
    pub(super) fn add(
        &mut self,
        place: TensorSlot,
        name: String,
        shape: Vec<usize>,
        values: Vec<f32>,
    ) -> Result<(), FileError> {
        let entry = CheckedTensor { name, shape, n_values: values.len(), values: Stored::Memory(values.into()) };
        self.input.add(place, entry)
    }

    /// Sets the tokens of one side.
    pub(super) fn set_tokens(&mut self, side: Side, texts: Vec<String>) -> Result<(), FileError> {
        check_n_tokens(texts.len())?;
        let tokens = texts.into_iter().map(TokenEntry::from).collect();
        match self.tokens.insert(side.name().to_owned(), tokens) {
            Some(_) => Err(tokens_problem("are in the file twice")),
            None => Ok(()),
        }
    }

    /// Takes note of what a file says about its rows.
    pub(super) fn set_rows(&mut self, rows: &str) -> Result<(), FileError> {
        self.partial_rows = rows_are_partial(rows)?;
        Ok(())
    }

    /// Takes note of what a file says about the spelling of its tokens.
    pub(super) fn set_token_style(&mut self, style: String) {
        self.token_style = Some(style);
    }

    /// Takes note of where the second sentence begins.
    pub(super) const fn set_second_sentence(&mut self, start: usize) {
        self.second = Some(start);
    }

    /// Adds a sentence that the user must see.
    pub(super) fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// Counts things whose names mean nothing to us.
    pub(super) const fn ignore(&mut self, n: usize) {
        self.input.n_ignored += n;
    }

    /// The capture that was found, checked as every other.
    pub(super) fn capture(mut self, fallback_name: &str, id: CaptureId) -> Result<Vec<Capture>, FileError> {
        if !self.input.has_attention() {
            return Err(FileError::NoAttention);
        }
        TokenStyles::parse(self.token_style.as_deref())?.apply(&mut self.tokens);
        if let (Some(start), Some(tokens)) = (self.second, self.tokens.get_mut(Side::Only.name())) {
            if start == 0 || start >= tokens.len() {
                let n = tokens.len();
                return Err(tokens_problem(&format!(
                    "are {n}, among which the second sentence cannot begin at {start}"
                )));
            }
            tokens[start..].iter_mut().for_each(TokenEntry::put_into_second);
        }
        let computation = Computation { partial_rows: self.partial_rows, ..Computation::default() };
        let (tokens, notes) = (Some(self.tokens), self.notes);
        let described = Described { tokens, computation, notes, ..Described::default() };
        let capture = self.input.capture(&mut io::empty(), &ModelEntry::default(), described, fallback_name, id)?;
        Ok(vec![capture])
    }
}

/// Refuses a number of tokens that no pattern can have.
pub(super) fn check_n_tokens(n: usize) -> Result<(), FileError> {
    if n > MAX_TOKENS { Err(tokens_problem("are more than any pattern has")) } else { Ok(()) }
}

fn tokens_problem(problem: &str) -> FileError {
    FileError::Metadata { entry: "tokens", problem: format!("they {problem}") }
}
