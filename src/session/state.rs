//! [`Session`]: everything the window shows, in one value.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Loadable, Selection, Settings};
use crate::{
    analysis::projection::{Projection, ProjectionOptions},
    capture::Capture,
    ids::{CaptureId, JobId, StackKind},
    worker::{CaptureFile, Failure, ImageSource, LoadedModel},
};

/// Everything the window shows.
#[derive(Debug, Default)]
pub struct Session {
    /// The model the worker holds.
    pub model: Loadable<Arc<LoadedModel>>,
    /// The last forward pass.
    pub capture: Loadable<Arc<Capture>>,
    /// The capture file that is shown, until a model runs again.
    pub opened: Option<CaptureFile>,
    /// The joint query–key planes of the selected stack.
    pub projection: Loadable<Arc<Projection>>,
    /// The download of a model.
    pub download: super::Download,
    /// Files being written.
    pub exports_pending: Vec<JobId>,
    /// Text input.
    pub text: String,
    /// Second sentence, if the input is a pair.
    pub text_b: Option<String>,
    /// What the decoder of an encoder–decoder is made to write; the model writes itself when it is blank.
    pub target: String,
    /// Picture input.
    pub image: Option<ImageSource>,
    /// The example that is shown, by its index, until the input or the model changes.
    pub example: Option<usize>,
    /// What is looked at.
    pub selection: Selection,
    /// Which view is shown.
    pub view: ViewKind,
    /// What is remembered between runs.
    pub settings: Settings,
    /// Messages, oldest first.
    pub notices: Vec<Notice>,
    pub(super) history: super::history::History,
    /// A run was asked for while a model was on its way.
    pub(super) run_owed: bool,
    /// What the last projection job was asked for, so that a failure is not asked for again.
    pub(super) projecting: Option<(CaptureId, StackKind, ProjectionOptions)>,
    pub(super) next_job: u64,
    pub(super) next_notice: u64,
    /// What to select once the capture of an example or an `open` request has arrived.
    pub(super) pending_selection: Option<super::apply::PendingSelection>,
}

/// A message to the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Identity, for dismissing.
    pub id: u64,
    /// How serious it is.
    pub kind: NoticeKind,
    /// What it says.
    pub text: Failure,
}

/// How serious a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeKind {
    /// Good to know: a truncation, a saved file.
    Info,
    /// Something did not work.
    Error,
}

/// The views.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ViewKind {
    /// Bipartite attention lines.
    #[default]
    Heads,
    /// One head as a matrix of colours.
    Heatmap,
    /// Attention on a picture.
    Image,
    /// One head's joint query–key plane.
    Scatter,
    /// Every head's joint query–key plane.
    Matrix,
}

impl ViewKind {
    /// Every view, in tab order.
    pub const ALL: [Self; 5] = [Self::Heads, Self::Heatmap, Self::Image, Self::Scatter, Self::Matrix];

    /// Tab label.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Heads => "Heads",
            Self::Heatmap => "Heatmap",
            Self::Image => "Image",
            Self::Scatter => "Scatter",
            Self::Matrix => "Matrix",
        }
    }

    /// Name on the command line and in file names.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Heads => "heads",
            Self::Heatmap => "heatmap",
            Self::Image => "image",
            Self::Scatter => "scatter",
            Self::Matrix => "matrix",
        }
    }

    /// The view with this [`name`](Self::name).
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|view| view.name() == name)
    }
}

impl Session {
    /// The newest capture, even while another is on its way.
    pub fn latest_capture(&self) -> Option<&Arc<Capture>> {
        self.capture.latest()
    }

    /// Why `view` cannot show the current capture, in words; `None` when it can.
    pub fn view_unavailable(&self, view: ViewKind) -> Option<&'static str> {
        self.view_unavailable_in(view, self.selection.stack())
    }

    /// Why `view` cannot show `stack` of the current capture, in words; `None` when it can.
    pub fn view_unavailable_in(&self, view: ViewKind, stack: StackKind) -> Option<&'static str> {
        let capture = self.latest_capture()?;
        let recorded = capture.stack(stack)?;
        match view {
            ViewKind::Heads | ViewKind::Heatmap => None,
            ViewKind::Image => image_unavailable(capture, stack),
            ViewKind::Scatter | ViewKind::Matrix => recorded
                .layers
                .iter()
                .all(|layer| layer.q.is_none() || layer.k.is_none())
                .then_some("This capture holds no queries and keys"),
        }
    }

    /// Whether the worker is busy with anything the user waits for.
    pub fn is_busy(&self) -> bool {
        self.model.is_pending()
            || self.capture.is_pending()
            || self.projection.is_pending()
            || !self.exports_pending.is_empty()
    }
}

/// Why the attention of `stack` cannot be laid on the picture.
fn image_unavailable(capture: &Capture, stack: StackKind) -> Option<&'static str> {
    if capture.image().is_none() {
        return Some("This input has no picture; drop one on a vision model");
    }
    let on_picture = capture.picture_side() == Some(stack.key_side());
    (!on_picture).then_some(match stack {
        StackKind::Decoder => {
            "The decoder attends to its own text here; choose the cross stack to see it on the picture"
        }
        StackKind::Text => "This stack attends to text; choose the vision stack to see the picture",
        _ => "The keys of this stack are not the patches of the picture",
    })
}
