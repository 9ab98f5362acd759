//! What stands in the centre.

use eframe::egui;

use super::ViewCtx;
use crate::session::ViewKind;

/// Every view with its own memory.
#[derive(Default)]
pub struct Views {}

impl Views {
    /// Draws a view.
    pub fn ui(&mut self, kind: ViewKind, ui: &mut egui::Ui, cx: &ViewCtx<'_>) {
        let _ = (kind, ui, cx);
    }

    /// Draws a view's options.
    pub fn options_ui(&mut self, kind: ViewKind, ui: &mut egui::Ui, cx: &ViewCtx<'_>) {
        let _ = (kind, ui, cx);
    }
}
