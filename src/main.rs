//! The `attnscope` program.

fn main() {}
