//! Patterns that are still needed of those that were read.

use super::App;
use crate::ids::CaptureId;

impl App {
    /// Throws away the patterns of captures that no document shows any more.
    pub(super) fn forget_patterns(&self) {
        let documents = || self.session.documents.iter();
        let open = |id: CaptureId| {
            let shown = documents().filter_map(|document| document.latest_capture());
            let in_files = documents().filter_map(|document| document.opened.as_ref()).flat_map(|file| &file.captures);
            shown.chain(in_files).any(|capture| capture.id() == id)
        };
        self.patterns.retain(open);
    }
}
