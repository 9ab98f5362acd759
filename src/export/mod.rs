//! Files out: pictures with provenance, written beside the target and renamed.
//!
//! Called on the worker or from the command line, never while a frame is drawn.

mod atomic;
mod figures;
mod file_name;
mod png_file;
pub mod thumbnail;

use std::{io, path::PathBuf, sync::Arc};

pub use atomic::{atomic_write, remove_abandoned};
pub use figures::{FigurePreview, FigureRequest, NumbersPreview, Preview};
pub use file_name::default_file_name;
pub use png_file::png_bytes;

use crate::{capture::RgbaBuffer, figure::spec::FigureError};

/// A file to write on the worker.
#[derive(Clone, Debug)]
pub enum ExportRequest {
    /// Pixels as PNG with text chunks.
    Png {
        pixels: Arc<RgbaBuffer>,
        /// `(keyword, text)` chunks: model, input, selection, version.
        metadata: Vec<(String, String)>,
        path: PathBuf,
    },
    /// Figures, or the numbers behind them.
    Figures {
        figure: FigureRequest,
        /// Where to; its ending says what kind of file.
        path: PathBuf,
    },
}

/// Why a file could not be written. Displays as one sentence for the user, path last.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The target's folder is missing.
    #[error("The folder does not exist; create it or choose another: {}", .0.display())]
    NoFolder(PathBuf),
    /// The target is a folder, or has no file name.
    #[error("This is a folder; add a file name: {}", .0.display())]
    IsFolder(PathBuf),
    /// The target is there and no file.
    #[error("This is a device or a pipe, which a file would replace; choose another name: {}", .0.display())]
    NoFile(PathBuf),
    /// The user may not write there, or the place is read-only.
    #[error("Writing is not allowed here; choose another folder: {}", .0.display())]
    NotAllowed(PathBuf),
    /// No space left.
    #[error("The disk is full; free some space or choose another place: {}", .0.display())]
    DiskFull(PathBuf),
    /// Pixels that do not fill the size they claim.
    #[error("There is no picture to save: {width} × {height} pixels from {n_bytes} bytes")]
    NoPicture {
        /// Claimed width in pixels.
        width: usize,
        /// Claimed height in pixels.
        height: usize,
        /// Bytes of pixel data.
        n_bytes: usize,
    },
    /// Nothing can be drawn.
    #[error(transparent)]
    Figure(#[from] FigureError),
    /// A file name whose ending is no kind of figure or table.
    #[error("The name has to end in .svg, .pdf, .png, .html, .csv, .json, .npz or .safetensors: {}", .0.display())]
    UnknownKind(PathBuf),
    /// Anything else the system reports.
    #[error("The file could not be written ({source}): {}", path.display())]
    Io { source: io::Error, path: PathBuf },
}

/// Writes the file and returns its path.
///
/// # Errors
/// See [`ExportError`]; the old file, if there was one, stays whole.
pub fn write(request: &ExportRequest) -> Result<PathBuf, ExportError> {
    match request {
        ExportRequest::Png { pixels, metadata, path } => {
            png_file::check(pixels)?;
            atomic_write(path, |out| png_file::encode(pixels, metadata, out))?;
            Ok(path.clone())
        }
        ExportRequest::Figures { figure, path } => figure.write(path),
    }
}
