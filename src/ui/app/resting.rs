//! When nobody does anything: what was painted of views that are not shown is let go of, and what the window's thread has
//! freed goes back to the system.

use eframe::egui;

use super::{App, Sheet};
use crate::worker::give_back;

/// From the last thing that happened to resting, in seconds.
const REST_AFTER_SECS: f64 = 2.0;

/// When the window rests next.
#[derive(Debug, Default)]
pub struct Rest {
    /// In egui's seconds; none while it rests.
    due_secs: Option<f64>,
}

impl App {
    /// Rests when it is time to.
    pub(super) fn rest(&mut self, ctx: &egui::Context) {
        let (now_secs, acts) = ctx.input(|input| (input.time, !input.events.is_empty()));
        if acts || self.session.is_busy() {
            self.rest.due_secs = Some(now_secs + REST_AFTER_SECS);
        }
        match self.rest.due_secs {
            Some(due_secs) if now_secs >= due_secs => {
                self.rest.due_secs = None;
                for pane in self.session.panes.iter() {
                    if let Some(views) = self.views.get_mut(&pane.id) {
                        views.rest(pane.view);
                    }
                }
                self.left.rest();
                if self.sheet != Some(Sheet::Bookmarks) {
                    self.bookmarks.rest();
                }
                // Of every button that there ever was, how it lit up.
                ctx.clear_animations();
                give_back();
                // What their threads made and this one let go of, only they can give back.
                self.jobs.rest();
                self.analyst.rest();
            }
            Some(due_secs) => ctx.request_repaint_after_secs((due_secs - now_secs) as f32),
            None => {}
        }
    }
}
