//! The window: the only module that names egui, eframe, `egui_plot` and rfd.
//!
//! - [`theme`]: every colour, stroke and size.
//! - [`commands`]: every text, tooltip and shortcut of what a button or key does.
//! - [`glyphs`]: symbols that the bundled fonts lack.
//! - [`memo`]: values recomputed when their key changes.
//! - [`widgets`]: small pieces that several panels share.
//! - [`views`]: what stands in the centre; they read a [`ViewCtx`] and push [`Command`]s.
//! - [`panels`]: what stands around it.
//! - [`shell`]: file dialogs, text files, screenshots.
//! - [`app`]: the frame loop, the worker and the session.

use std::cell::RefCell;

use crate::session::{Command, Session};

pub mod app;
pub mod commands;
pub mod glyphs;
pub mod memo;
pub mod panels;
pub mod shell;
pub mod theme;
pub mod views;
pub mod widgets;

pub use app::{App, OpenError, open_window};

/// Everything a view or panel may look at, and the only thing it may write to.
pub struct ViewCtx<'a> {
    /// What is shown.
    pub session: &'a Session,
    /// Colours and sizes.
    pub theme: &'a theme::Theme,
    /// What the user asked for in this frame.
    pub commands: &'a CommandQueue,
}

impl ViewCtx<'_> {
    /// Asks for something.
    pub fn send(&self, command: Command) {
        self.commands.push(command);
    }
}

/// Commands collected while a frame is drawn, applied after it.
#[derive(Default)]
pub struct CommandQueue(RefCell<Vec<Command>>);

impl CommandQueue {
    /// Adds a command.
    pub fn push(&self, command: Command) {
        self.0.borrow_mut().push(command);
    }

    /// Takes everything that was asked for.
    pub fn take(&self) -> Vec<Command> {
        self.0.take()
    }
}
