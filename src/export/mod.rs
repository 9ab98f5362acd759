//! Files out: pictures with provenance, written beside the target and renamed.

use std::{path::PathBuf, sync::Arc};

use crate::capture::RgbaBuffer;

/// A file to write on the worker.
#[derive(Clone, Debug)]
pub enum ExportRequest {
    /// Pixels as PNG with text chunks.
    Png {
        /// What to write.
        pixels: Arc<RgbaBuffer>,
        /// `(keyword, text)` chunks: model, input, selection, version.
        metadata: Vec<(String, String)>,
        /// Where to.
        path: PathBuf,
    },
}
