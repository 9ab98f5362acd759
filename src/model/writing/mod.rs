//! Generation: the next token again and again, under the rules of its checkpoint.

mod beams;
mod decoding;
mod generate;
mod probabilities;
mod sampling;
mod unheeded;

pub(crate) use decoding::Decoding;
pub(crate) use generate::complete;
