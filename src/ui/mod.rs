//! The window: the only module that names egui, eframe and rfd.
//!
//! - [`theme`]: every colour, stroke and size.
//! - [`commands`]: every text, tooltip and shortcut of what a button or key does.
//! - [`keys`]: which key does which of them.
//! - [`look`]: where a path that is being typed leads.
//! - [`glyphs`]: symbols that the bundled fonts lack.
//! - [`memo`]: values recomputed when their key changes.
//! - [`painting`]: whether a graphics card paints, and what is still being drawn.
//! - [`widgets`]: small pieces that several panels share.
//! - [`zoom`]: how large everything is.
//! - [`views`]: what stands in the centre; they read a [`ViewCtx`] and push [`Command`]s.
//! - [`panels`]: what stands around it.
//! - [`hovering`]: what is under the pointer.
//! - [`stale`]: the veil over what is not of what is asked for any more.
//! - [`shell`]: file dialogs, text files, screenshots.
//! - [`app`]: the frame loop, the worker and the session.

use std::{cell::RefCell, ops::Deref, sync::Arc};

use crate::{
    analysis::reading::store::PatternStore,
    capture::Capture,
    ids::PaneId,
    session::{Command, Document, HeadNote, Pane, Session, ViewKind},
};

pub mod app;
pub mod commands;
pub mod glyphs;
pub mod hovering;
pub mod keys;
pub mod look;
pub mod memo;
mod other_window;
pub mod painting;
pub mod panels;
pub mod shell;
pub mod stale;
pub mod theme;
pub mod views;
pub mod widgets;
pub mod zoom;

pub use app::{App, OpenError, open_window};

/// Everything a view may look at, and the only thing it may write to.
#[derive(Clone, Copy)]
pub struct ViewCtx<'a> {
    pub pane: &'a Pane,
    pub document: &'a Document,
    /// What is subtracted from it may belong to another one.
    pub other: Option<&'a Document>,
    /// What all heads are held against.
    pub against: Option<&'a Document>,
    /// The same run unchanged, where it was changed.
    pub unchanged: Option<&'a Arc<Capture>>,
    /// Every pattern that was read; a view asks for what it shows and draws what is there.
    pub patterns: &'a PatternStore,
    /// The weight of the last colour, where this pane shares its scale with others.
    pub shared_high: Option<f32>,
    /// Whether a pane beside this one has a row of controls for drawing weights, which this one leaves free.
    pub leaves_brush_row: bool,
    /// What the user noted about heads.
    pub notes: &'a [HeadNote],
    /// Whether a run of any document is on its way.
    pub is_running: bool,
    pub theme: &'a theme::Theme,
    /// What the user asked for in this frame.
    pub commands: &'a CommandQueue,
}

impl ViewCtx<'_> {
    /// Asks for something in this pane.
    pub fn send(&self, command: Command) {
        self.commands.push(QueuedCommand { pane: Some(self.pane.id), command });
    }

    /// Why `view` cannot be shown in this pane, in words; `None` when it can.
    pub fn view_unavailable(&self, view: ViewKind) -> Option<&'static str> {
        self.pane.view_unavailable(self.document, view)
    }
}

/// What a panel may look at: the active pane as a view sees it, and everything else.
#[derive(Clone, Copy)]
pub struct PanelCtx<'a> {
    pub session: &'a Session,
    pub view: ViewCtx<'a>,
}

impl<'a> PanelCtx<'a> {
    /// Of the active pane.
    pub fn new(
        session: &'a Session,
        theme: &'a theme::Theme,
        commands: &'a CommandQueue,
        patterns: &'a PatternStore,
    ) -> Self {
        let (pane, document) = (session.pane(), session.document());
        let other = other_document(session, pane);
        let is_running = session.documents.iter().any(|document| document.capture.is_pending());
        Self {
            session,
            view: ViewCtx {
                pane,
                document,
                other,
                against: held_against(session, pane),
                unchanged: session.unchanged(document),
                patterns,
                shared_high: None,
                leaves_brush_row: false,
                notes: &session.keeping.head_notes,
                is_running,
                theme,
                commands,
            },
        }
    }
}

/// The document that a pane subtracts something of.
pub fn other_document<'a>(session: &'a Session, pane: &Pane) -> Option<&'a Document> {
    session.find_document(pane.minus?.document)
}

/// The document that the heads of a pane are held against.
pub fn held_against<'a>(session: &'a Session, pane: &Pane) -> Option<&'a Document> {
    session.find_document(pane.against?)
}

impl<'a> Deref for PanelCtx<'a> {
    type Target = ViewCtx<'a>;

    fn deref(&self) -> &ViewCtx<'a> {
        &self.view
    }
}

/// A command, and the pane it is meant for; without one the active pane.
#[derive(Clone, Debug)]
pub struct QueuedCommand {
    pub pane: Option<PaneId>,
    pub command: Command,
}

impl From<Command> for QueuedCommand {
    fn from(command: Command) -> Self {
        Self { pane: None, command }
    }
}

/// Commands collected while a frame is drawn, applied after it.
#[derive(Default)]
pub struct CommandQueue(RefCell<Vec<QueuedCommand>>);

impl CommandQueue {
    /// Adds a command.
    pub fn push(&self, asked: impl Into<QueuedCommand>) {
        self.0.borrow_mut().push(asked.into());
    }

    /// Takes everything that was asked for.
    pub fn take(&self) -> Vec<QueuedCommand> {
        self.0.take()
    }
}
