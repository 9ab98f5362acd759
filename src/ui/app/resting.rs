//! When nobody does anything: what was painted of views that are not shown is let go of, and what the window's thread has
//! freed goes back to the system.

use eframe::egui::{self, FocusDirection, Id};

use super::{App, Sheet};
use crate::{
    ui::panels::Inspector,
    worker::{give_back, give_back_of_libraries},
};

/// From the last thing that happened to resting, in seconds.
const REST_AFTER_SECS: f64 = 2.0;

/// When the window rests next.
#[derive(Debug, Default)]
pub struct Rest {
    /// In egui's seconds; none while it rests.
    due_secs: Option<f64>,
    places: FocusSweep,
}

/// How far egui is with forgetting where widgets were that are gone.
///
/// It remembers the place of every widget that could ever be focused, and forgets those that are gone only when it looks
/// for the neighbour of a focused one (`find_widget_in_direction` in egui's memory). So once nothing has the focus, a
/// widget that does not exist is given it for one frame, and its neighbour is looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum FocusSweep {
    #[default]
    Kept,
    /// From the next frame on nobody has the focus.
    Asked,
    /// At the end of this frame they are gone through.
    Looking,
}

/// The widget that does not exist.
fn nobody() -> Id {
    Id::unique("nobody")
}

impl App {
    /// Has egui forget widgets that are gone, once that was asked for. Before the keys of a frame are looked at: in the
    /// one frame in which nobody has the focus there are none.
    pub(super) fn forget_places(&mut self, ctx: &egui::Context) {
        let acts = ctx.input(|input| !input.events.is_empty());
        self.rest.places = match self.rest.places {
            FocusSweep::Kept => return,
            FocusSweep::Asked if !acts => {
                ctx.memory_mut(|memory| memory.move_focus(FocusDirection::Up));
                ctx.request_repaint();
                FocusSweep::Looking
            }
            FocusSweep::Asked | FocusSweep::Looking => {
                ctx.memory_mut(|memory| memory.surrender_focus(nobody()));
                FocusSweep::Kept
            }
        };
    }

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
                self.drawer.rest();
                self.inspector = Inspector::default();
                if self.sheet != Some(Sheet::Bookmarks) {
                    self.bookmarks.rest();
                }
                // Of every button that there ever was, how it lit up.
                ctx.clear_animations();
                if ctx.memory(|memory| memory.focused().is_none()) {
                    ctx.memory_mut(|memory| memory.request_focus(nobody()));
                    ctx.request_repaint();
                    self.rest.places = FocusSweep::Asked;
                }
                give_back();
                give_back_of_libraries();
                // What their threads made and this one let go of, only they can give back.
                self.jobs.rest();
                self.analyst.rest();
            }
            Some(due_secs) => ctx.request_repaint_after_secs((due_secs - now_secs) as f32),
            None => {}
        }
    }
}
