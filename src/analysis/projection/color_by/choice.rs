//! Choice of the value that colours points.

use serde::{Deserialize, Serialize};

use crate::{
    analysis::{PointCloud, Space, aggregate},
    ids::{HeadId, Side, StackKind},
};

/// What the colour of a point means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ColorBy {
    /// Query or key; nothing where points are of one kind.
    #[default]
    Type,
    /// Position in the sequence, from first to last.
    Position,
    /// Position, counted from the first token: the same in every input.
    PositionCounted,
    /// Position modulo five: neighbours differ, rhythms show.
    PositionModulo,
    /// What kind of token it is.
    Kind,
    Length,
    /// How often the token occurs in the input.
    Frequency,
    /// Length of the query or key vector in this head.
    Norm,
    /// Length of the value vector in this head.
    ValueNorm,
    /// What a key receives from all queries of this head.
    Received,
    InputLength,
    /// Which input it belongs to.
    Input,
    Row,
    Column,
    /// How far the patch is from the centre of the picture.
    Radius,
    Hue,
    Saturation,
    Brightness,
    /// What is known about the input.
    Annotation(AnnotationKey),
}

/// Stands for the name of an annotation: the same name gives the same key everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AnnotationKey(u64);

impl AnnotationKey {
    /// The key of a name (FNV-1a).
    pub const fn of(name: &str) -> Self {
        let (bytes, mut hash, mut at) = (name.as_bytes(), 0xCBF2_9CE4_8422_2325u64, 0);
        while at < bytes.len() {
            hash = (hash ^ bytes[at] as u64).wrapping_mul(0x0000_0100_0000_01B3);
            at += 1;
        }
        Self(hash)
    }

    /// The annotation of this name that the inputs of a cloud have.
    pub fn name(self, cloud: &PointCloud) -> Option<&str> {
        cloud.annotations().iter().map(String::as_str).find(|name| Self::of(name) == self)
    }
}

/// Why lengths of values are unknown of a corpus.
pub(super) const NO_VALUES_OF_MANY: &str = "values are not kept for a corpus: open one input";
/// Why an annotation cannot be told.
pub(super) const NO_ANNOTATION: &str = "the inputs have no such annotation";

/// What comes before the name of an annotation on the command line.
const ANNOTATION: &str = "annotation:";

impl ColorBy {
    /// Every choice but annotations, with its name on the command line, its name on screen, and what it tells.
    pub const ALL: [(Self, &str, &str, &str); 18] = [
        (Self::Type, "type", "Query or key", "Queries green, keys pink"),
        (Self::Position, "position", "Position", "From the first token to the last"),
        (
            Self::PositionCounted,
            "absolute",
            "Position (absolute)",
            "The same position has the same colour in every input",
        ),
        (Self::PositionModulo, "modulo", "Position modulo 5", "Shows rhythms: neighbours get different colours"),
        (Self::Kind, "kind", "Kind of token", "Special, punctuation, number, capitalised, word, part of a word, patch"),
        (Self::Length, "length", "Length of token", "In characters"),
        (Self::Frequency, "frequency", "Frequency", "Number of times the token occurs in all inputs"),
        (Self::Norm, "norm", "Norm", "Norm of the query or key vector in this head"),
        (Self::ValueNorm, "value-norm", "Norm of the value", "Norm of the value vector of a key in this head"),
        (
            Self::Received,
            "received",
            "Attention received",
            "Sum of the attention a key gets from all queries of its input",
        ),
        (Self::InputLength, "input-length", "Length of input", "In tokens"),
        (Self::Input, "input", "Input", "The input it belongs to"),
        (Self::Row, "row", "Row of the patch", "From the top"),
        (Self::Column, "column", "Column of the patch", "From the left"),
        (Self::Radius, "radius", "Distance from the centre", "Of the patch, in patches"),
        (Self::Hue, "hue", "Hue of the patch", "Its mean colour; grey where there is none"),
        (Self::Saturation, "saturation", "Saturation of the patch", "From grey to full colour"),
        (Self::Brightness, "brightness", "Brightness of the patch", "From black to the brightest"),
    ];

    /// The choice of this name: one of [`Self::ALL`], or `annotation:NAME`.
    pub fn from_name(name: &str) -> Option<Self> {
        if let Some(annotation) = name.strip_prefix(ANNOTATION).filter(|name| !name.is_empty()) {
            return Some(Self::Annotation(AnnotationKey::of(annotation)));
        }
        Self::ALL.into_iter().find(|(_, known, ..)| *known == name).map(|(by, ..)| by)
    }

    /// What can tell points of a space apart, with names for the screen; annotations come last.
    pub fn choices(cloud: &PointCloud, space: Space, stack: StackKind) -> Vec<(Self, String)> {
        let head = cloud.cells(stack, space).first().copied().unwrap_or(HeadId { stack, ..HeadId::default() });
        let of_all = Self::ALL.into_iter().filter(|(by, ..)| by.missing(cloud, space, head).is_none());
        let annotations = cloud.annotations().iter();
        of_all
            .map(|(by, _, text, _)| match by {
                Self::Type if !space.is_joint() => (by, "Nothing".to_owned()),
                _ => (by, text.to_owned()),
            })
            .chain(annotations.map(|name| (Self::Annotation(AnnotationKey::of(name)), name.clone())))
            .collect()
    }

    /// What it tells, on screen; of an annotation that it is one.
    pub fn text(self) -> &'static str {
        Self::ALL.into_iter().find(|(by, ..)| *by == self).map_or("Annotation", |(_, _, text, _)| text)
    }

    /// Why there is nothing to tell about the points of a cell of a space, in words; `None` when there can be something. It is
    /// known without computing anything.
    pub fn missing(self, cloud: &PointCloud, space: Space, head: HeadId) -> Option<String> {
        let sides: Vec<Side> = space.sides(head.stack).into_iter().flatten().collect();
        let patches: Vec<bool> = sides.iter().map(|side| cloud.has_patches(*side)).collect();
        let unless = |tells: bool, reason: &str| (!tells).then(|| reason.to_owned());
        match self {
            // A number that stands for a position is no word.
            Self::Length | Self::Frequency | Self::Kind if space == Space::Positions => {
                Some("positions are not words".to_owned())
            }
            // The norm of a value is that of the point, or of one head among many.
            Self::ValueNorm if !space.is_joint() => Some("values are shown under “Points are”".to_owned()),
            Self::Received if !space.is_per_head() => Some("attention is received per head".to_owned()),
            Self::Length => unless(patches.contains(&false), "patches have no letters"),
            Self::Frequency => unless(patches.contains(&false), "patches have no words"),
            Self::ValueNorm => {
                let reason = match cloud {
                    PointCloud::Inputs(_) => NO_VALUES_OF_MANY,
                    PointCloud::Input(_) | PointCloud::Positions(_) => "the value vectors were not recorded",
                };
                unless(cloud.has_values(head.stack), reason)
            }
            Self::Received => aggregate::refusal(cloud, head).map(|reason| reason.to_string()),
            Self::InputLength | Self::Input => unless(cloud.n_inputs() > 1, "there is one input"),
            Self::Row | Self::Column | Self::Radius => unless(patches.contains(&true), "there is no picture"),
            Self::Hue | Self::Saturation | Self::Brightness => {
                let has_pixels = sides.into_iter().filter(|side| cloud.has_patches(*side)).any(|side| {
                    let first = (0..cloud.n(side)).find_map(|point| cloud.place(side, point));
                    first.is_some_and(|(image, _)| image.source.is_some())
                });
                unless(has_pixels, "there is no picture")
            }
            Self::Annotation(key) => unless(key.name(cloud).is_some(), NO_ANNOTATION),
            Self::Type | Self::Position | Self::PositionCounted | Self::PositionModulo | Self::Kind | Self::Norm => {
                None
            }
        }
    }

    /// Whether the same token has other colours in other heads.
    pub const fn depends_on_head(self) -> bool {
        matches!(self, Self::Norm | Self::ValueNorm | Self::Received)
    }
}
