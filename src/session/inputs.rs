//! Capture files and the inputs in them: which one is shown, and how to get to the others.

use std::collections::BTreeSet;

use super::{Effect, NoticeKind, Session};
use crate::worker::{CaptureFile, Failure, Lane};

impl Session {
    /// The position of the shown input in the opened capture file; `None` when no file is shown.
    pub fn shown_input(&self) -> Option<usize> {
        let (file, shown) = (self.opened.as_ref()?, self.latest_capture()?);
        file.captures.iter().position(|capture| capture.id() == shown.id())
    }

    /// Shows the first input of a file. The model stays for the next run.
    pub(super) fn open_file(&mut self, file: CaptureFile) -> Vec<Effect> {
        let Some(first) = file.captures.first().cloned() else { return Vec::new() };
        let stop = self.stop_run();
        // Inputs of one file have much the same to say about themselves.
        let notes: BTreeSet<_> = file.captures.iter().flat_map(|capture| capture.notes()).collect();
        for note in notes {
            self.notify(NoticeKind::Info, Failure { summary: note.clone(), details: String::new() });
        }
        self.opened = Some(file);
        self.show(first);
        stop
    }

    /// Shows another input of the opened file.
    pub(super) fn select_input(&mut self, idx: usize) -> Vec<Effect> {
        let Some(capture) = self.opened.as_ref().and_then(|file| file.captures.get(idx)).cloned() else {
            return Vec::new();
        };
        let stop = self.stop_run();
        self.show(capture);
        stop
    }

    /// Shows the next input of the opened file or the one before; after the last comes the first.
    pub(super) fn step_input(&mut self, backwards: bool) -> Vec<Effect> {
        let Some((idx, n)) = self.shown_input().zip(self.opened.as_ref().map(|file| file.captures.len())) else {
            return Vec::new();
        };
        self.select_input(if backwards { (idx + n - 1) % n } else { (idx + 1) % n })
    }

    /// A run on its way would replace what was chosen just now.
    fn stop_run(&self) -> Vec<Effect> {
        if self.capture.is_pending() { vec![Effect::Cancel(Lane::Run)] } else { Vec::new() }
    }
}
