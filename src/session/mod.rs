//! Application state.
