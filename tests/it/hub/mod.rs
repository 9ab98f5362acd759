//! Downloads from a server on this machine: what is fetched, resumed, refused, and what is left behind.

/// Fetching, resuming, stopping, and where everything goes.
mod fetch;
/// The program itself: killed and started again, its messages; and the window's thread.
mod program;
/// Servers that lie, refuse or are not there.
mod refuse;
