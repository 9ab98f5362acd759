//! The views as figures: plain data in, a [`Scene`](super::Scene) out.
//!
//! The layouts in here are the window's too.

pub mod atlas;
pub mod average;
pub mod axes;
pub mod cells;
pub mod cost;
pub mod debate;
pub mod diagram;
pub mod dictionary;
pub mod distance;
pub mod experts;
pub mod grid;
pub mod headpage;
pub mod heads;
pub mod heatmap;
pub mod image;
pub mod lab;
pub mod labels;
pub mod matrix;
pub mod parts;
pub mod paths;
pub mod points;
pub mod positions;
pub mod probe;
pub mod regions;
pub mod scatter;
pub mod seen;
pub mod simplex;
mod spec;
pub mod states;
pub mod text;
mod topic;
pub mod why;
pub mod writing;

pub use spec::{DetailsPart, Facts, FigureExtent, Pages, Study, ViewGroup, ViewScope, ViewSpec};
pub use topic::Topic;

use crate::{
    analysis::reading::ReadPattern,
    ids::{HeadId, StackKind},
    raster::ColorMap,
    text::capitalised,
};

/// The token that is held, as positions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pinned {
    pub query: Option<usize>,
    pub key: Option<usize>,
}

impl Pinned {
    /// The row and the column of a pattern that are meant.
    pub fn in_pattern(self, read: &ReadPattern) -> (Option<usize>, Option<usize>) {
        let row = self.query.and_then(|query| read.rows.group_of(query));
        (row, self.key.and_then(|key| read.cols.group_of(key)))
    }

    /// Whether nothing is held.
    pub const fn is_empty(self) -> bool {
        self.query.is_none() && self.key.is_none()
    }
}

/// The colours of a pattern: those that were chosen for attention, those of differences and of what has a sign, or
/// those of an explanation, which is not to be taken for attention.
pub const fn color_map(read: &ReadPattern, chosen: ColorMap) -> ColorMap {
    match (read.signed, read.explained()) {
        (true, _) => ColorMap::Signed,
        (false, Some(_)) => ColorMap::Explained,
        (false, None) => chosen,
    }
}

/// What a caption begins with: whose attention it is, or that it is none.
pub(super) fn subject_text(read: &ReadPattern, subject: &str) -> String {
    match read.explained() {
        Some(_) => capitalised(subject),
        None if read.effective => format!("Effective pattern of {subject}"),
        None => format!("Attention of {subject}"),
    }
}

/// Heads as a person writes them: `L3H5`, `layer 3, heads 0–3`, with the stack where there are several kinds.
pub fn heads_text(heads: &[HeadId]) -> String {
    let [first, .., last] = heads else {
        return heads
            .first()
            .map_or_else(|| "no head".to_owned(), |head| format!("{}{head}", stack_prefix(head.stack)));
    };
    let prefix = stack_prefix(first.stack);
    let one_layer = heads.iter().all(|head| head.layer == first.layer);
    let in_a_row = one_layer && heads.windows(2).all(|pair| pair[1].head == pair[0].head + 1);
    if in_a_row {
        format!("{prefix}layer {}, heads {}–{}", first.layer, first.head, last.head)
    } else if one_layer {
        let numbers: Vec<String> = heads.iter().map(|head| head.head.to_string()).collect();
        format!("{prefix}layer {}, heads {}", first.layer, numbers.join(", "))
    } else if heads.len() <= 8 {
        prefix.to_owned() + &heads.iter().map(HeadId::to_string).collect::<Vec<_>>().join(", ")
    } else {
        format!("{prefix}{} heads of layers {}–{}", heads.len(), first.layer, last.layer)
    }
}

/// Which stack, where a model has several.
const fn stack_prefix(stack: StackKind) -> &'static str {
    match stack {
        StackKind::SelfAttention => "",
        StackKind::Beside => "beside attention, ",
        StackKind::Encoder => "encoder, ",
        StackKind::Decoder => "decoder, ",
        StackKind::Cross => "cross-attention, ",
        StackKind::Vision => "vision tower, ",
        StackKind::Text => "text tower, ",
        StackKind::CrossModalText => "cross-modal text, ",
        StackKind::TextToVision => "text to vision, ",
        StackKind::CrossModalVision => "cross-modal vision, ",
        StackKind::VisionToText => "vision to text, ",
        StackKind::Words => "words of sentences, ",
        StackKind::Sentences => "sentences, ",
        StackKind::Chosen => "some queries, ",
    }
}

pub(super) use crate::text::grouped;

/// Sentences with a full stop between them; empty ones are left out.
pub(super) fn joined<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    let mut out = String::new();
    for part in parts.into_iter().map(str::trim).filter(|part| !part.is_empty()) {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(part);
        if !part.ends_with(['.', '!', '?', '…']) {
            out.push('.');
        }
    }
    out
}
