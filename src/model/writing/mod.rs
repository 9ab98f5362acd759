//! Generation: the next token again and again, under the rules of its checkpoint.

mod decoding;
mod generate;
mod sampling;
mod unheeded;

pub(crate) use decoding::Decoding;
pub(crate) use generate::complete;
