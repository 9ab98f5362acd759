//! State of the export dialog while it is open.

use std::sync::Arc;

use super::Loadable;
use crate::{
    export::Preview,
    figure::spec::FigureSpec,
    ids::{CaptureId, JobId},
    protocol::DrawFor,
};

/// What the export dialog shows.
#[derive(Debug, Default)]
pub struct FigureDialog {
    pub is_open: bool,
    /// The figure, small, or the first of its numbers.
    pub preview: Loadable<Arc<Preview>>,
    /// What the last preview was asked for.
    pub(super) asked: Option<(CaptureId, Arc<FigureSpec>, Vec<usize>, DrawFor)>,
    /// Figures on their way to the clipboard.
    pub(super) copying: Option<JobId>,
}

impl FigureDialog {
    /// Lets go of the preview: the next one will be of something else.
    pub(super) fn close(&mut self) {
        *self = Self { copying: self.copying, ..Self::default() };
    }
}
