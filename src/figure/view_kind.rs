//! The views, and which of them can show what.

use serde::{Deserialize, Serialize};

use crate::{capture::Capture, ids::StackKind};

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
    /// How well distance there stands for the dot product.
    Distance,
    /// Mean attention over many inputs.
    Average,
    /// What explains a prediction.
    Lab,
}

impl ViewKind {
    /// Every view, in tab order.
    pub const ALL: [Self; 8] = [
        Self::Heads,
        Self::Heatmap,
        Self::Image,
        Self::Scatter,
        Self::Matrix,
        Self::Distance,
        Self::Average,
        Self::Lab,
    ];

    /// Tab label.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Heads => "Lines",
            Self::Heatmap => "Heatmap",
            Self::Image => "Picture",
            Self::Scatter => "Q–K map",
            Self::Matrix => "All Q–K maps",
            Self::Distance => "q·k vs distance",
            Self::Average => "Average",
            Self::Lab => "Explain",
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
            Self::Distance => "distance",
            Self::Average => "average",
            Self::Lab => "lab",
        }
    }

    /// The view with this [`name`](Self::name).
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|view| view.name() == name)
    }

    /// Whether the view shows projected queries and keys.
    pub const fn is_projected(self) -> bool {
        matches!(self, Self::Scatter | Self::Matrix)
    }

    /// Whether the view is about all inputs of a corpus, not about one pattern.
    pub const fn shows_space(self) -> bool {
        matches!(self, Self::Scatter | Self::Matrix | Self::Distance | Self::Average)
    }

    /// Why the view cannot show `stack` of `capture`, in words; `None` when it can.
    pub fn unavailable(self, capture: &Capture, stack: StackKind) -> Option<&'static str> {
        let recorded = capture.stack(stack)?;
        match self {
            Self::Heads | Self::Heatmap | Self::Average | Self::Lab => None,
            Self::Image => image_unavailable(capture, stack),
            Self::Scatter | Self::Matrix | Self::Distance => recorded
                .layers
                .iter()
                .all(|layer| layer.q.is_none() || layer.k.is_none())
                .then_some("This capture has no queries and keys"),
        }
    }
}

/// Why the attention of `stack` cannot be laid on the picture.
fn image_unavailable(capture: &Capture, stack: StackKind) -> Option<&'static str> {
    if capture.image().is_none() {
        return Some("This input has no picture: drop one on a vision model");
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
