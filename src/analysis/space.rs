//! Spaces: the vectors that are laid out as points.

use serde::{Deserialize, Serialize};

use crate::{
    capture::Site,
    ids::{HeadId, Side, StackKind},
    spec::ModelSpec,
};

/// Which vectors of a model are points. Each space has cells that are laid out one by one: heads, layers, or one
/// for the whole model. A cell goes by a [`HeadId`] whatever it is; see [`Self::cell_of`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Space {
    /// Queries together with keys, of each head.
    #[default]
    QueriesKeys,
    /// Values, of each key/value head.
    Values,
    /// The residual stream: tokens in their context, before each layer and after the last one.
    Residual,
    /// The position embeddings, which know no input.
    Positions,
}

vocabulary! {
    Space: name,
    /// On screen.
    title,
    /// In one sentence without its full stop.
    meaning;
    QueriesKeys("qk", "Queries and keys", "What each head compares: near means a high score"),
    Values("values", "Values", "What each head moves from a token it attends to"),
    Residual("residual", "Residual stream", "Tokens in their context, before each layer and at the end"),
    Positions("positions", "Position embeddings", "What the model adds to a token to encode its position"),
}

impl Space {
    /// What has to be recorded of an input to lay it out.
    pub const fn sites(self) -> &'static [Site] {
        match self {
            Self::QueriesKeys => &[Site::Q, Site::K],
            Self::Values => &[Site::Q, Site::K, Site::V],
            Self::Residual => &[Site::Q, Site::K, Site::ResidPre, Site::ResidFinal],
            Self::Positions => &[],
        }
    }

    /// Whether points of two kinds share the space, so that they are scaled and moved against each other.
    pub const fn is_joint(self) -> bool {
        matches!(self, Self::QueriesKeys)
    }

    /// Whether its cells are heads.
    pub const fn is_per_head(self) -> bool {
        matches!(self, Self::QueriesKeys | Self::Values)
    }

    /// Whose tokens its points are, in the order of queries and keys. Points that are neither, such as those of the
    /// residual stream, stand where queries do: both are of the sequence that a layer changes.
    pub const fn sides(self, stack: StackKind) -> [Option<Side>; 2] {
        match self {
            Self::QueriesKeys => [Some(stack.query_side()), Some(stack.key_side())],
            Self::Values => [None, Some(stack.key_side())],
            Self::Residual | Self::Positions => [Some(stack.query_side()), None],
        }
    }

    /// What its points are called, in the order of queries and keys; `None` for a kind that is not there.
    pub const fn kinds(self, stack: StackKind) -> [Option<&'static str>; 2] {
        match (self, stack) {
            (Self::QueriesKeys, StackKind::Cross) => [Some("Queries of the decoder"), Some("Keys of the encoder")],
            (Self::QueriesKeys, StackKind::TextToVision) => [Some("Queries of the text"), Some("Keys of the picture")],
            (Self::QueriesKeys, StackKind::VisionToText) => [Some("Queries of the picture"), Some("Keys of the text")],
            (Self::QueriesKeys, _) => [Some("Queries"), Some("Keys")],
            (Self::Values, StackKind::Cross) => [None, Some("Values of the encoder")],
            (Self::Values, StackKind::TextToVision) => [None, Some("Values of the picture")],
            (Self::Values, StackKind::VisionToText) => [None, Some("Values of the text")],
            (Self::Values, _) => [None, Some("Values")],
            (Self::Residual, _) => [Some("Tokens"), None],
            (Self::Positions, _) => [Some("Positions"), None],
        }
    }

    /// What one point is called, by whether it stands where keys do.
    pub const fn kind_of(self, is_key: bool) -> &'static str {
        match self {
            Self::QueriesKeys if is_key => "Key",
            Self::QueriesKeys => "Query",
            Self::Values => "Value",
            Self::Residual => "Token",
            Self::Positions => "Position",
        }
    }

    /// The cell that shows a head: heads that share their values share a cell, and so do those of a layer where it is
    /// the residual stream. The layer after the last one is the final stream.
    pub fn cell_of(self, head: HeadId, model: &ModelSpec) -> HeadId {
        match self {
            Self::QueriesKeys => head,
            Self::Values => {
                let sharing = model.layer_of(head).and_then(|layer| layer.sharing(head.head));
                HeadId { head: sharing.map_or(head.head, |heads| heads.start), ..head }
            }
            Self::Residual => HeadId { head: 0, ..head },
            Self::Positions => HeadId { layer: 0, head: 0, ..head },
        }
    }

    /// What a cell is called.
    pub fn cell_name(self, cell: HeadId, model: &ModelSpec) -> String {
        match self {
            Self::QueriesKeys => cell.to_string(),
            Self::Values => match model.layer_of(cell).and_then(|layer| layer.sharing(cell.head)) {
                Some(heads) if heads.len() > 1 => format!("L{}H{}–{}", cell.layer, heads.start, heads.end - 1),
                _ => cell.to_string(),
            },
            Self::Residual if model.stack(cell.stack).is_some_and(|stack| cell.layer >= stack.layers.len()) => {
                "Final".to_owned()
            }
            Self::Residual => format!("Before layer {}", cell.layer),
            Self::Positions => "Positions".to_owned(),
        }
    }

    /// A cell in the middle of a sentence.
    pub fn cell_text(self, cell: HeadId, model: &ModelSpec) -> String {
        let name = self.cell_name(cell, model);
        match self {
            Self::QueriesKeys => name,
            Self::Values => format!("values of {name}"),
            Self::Residual => format!("residual stream, {}", name.to_lowercase()),
            Self::Positions => "position embeddings".to_owned(),
        }
    }
}
