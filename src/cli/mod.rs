//! The command line.

pub mod open;
