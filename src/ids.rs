//! Names of things: which stack, which head, which job. Plain `Copy` values, no behaviour.

use std::{
    fmt,
    sync::atomic::{AtomicU64, Ordering},
};

use serde::{Deserialize, Serialize};

/// One of the attention stacks a model can have.
///
/// A single-stack model (BERT, GPT-2, ViT) has only [`StackKind::SelfAttention`]; encoder–decoder
/// models and two-tower models name theirs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum StackKind {
    /// The only stack of an encoder-only, decoder-only or vision model. Written `self`.
    #[default]
    #[serde(rename = "self")]
    SelfAttention,
    /// Encoder self-attention of an encoder–decoder.
    #[serde(rename = "encoder")]
    Encoder,
    /// Decoder self-attention of an encoder–decoder.
    #[serde(rename = "decoder")]
    Decoder,
    /// Decoder queries attending to encoder keys.
    #[serde(rename = "cross")]
    Cross,
    /// Image tower of a two-tower model.
    #[serde(rename = "vision")]
    Vision,
    /// Text tower of a two-tower model.
    #[serde(rename = "text")]
    Text,
    /// The text of a two-stream model attending to itself, in the layers in which it also attends to the picture.
    #[serde(rename = "cross_modal_text")]
    CrossModalText,
    /// Words of a two-stream model attending to patches.
    #[serde(rename = "text_to_vision")]
    TextToVision,
    /// The picture of a two-stream model attending to itself, in the layers in which it also attends to the text.
    #[serde(rename = "cross_modal_vision")]
    CrossModalVision,
    /// Patches of a two-stream model attending to words.
    #[serde(rename = "vision_to_text")]
    VisionToText,
    /// Each sentence attending to its words.
    #[serde(rename = "words")]
    Words,
    /// One query attending to sentences.
    #[serde(rename = "sentences")]
    Sentences,
    /// Some tokens of the only stack, whose rows alone were kept, attending to all.
    #[serde(rename = "chosen")]
    Chosen,
    /// What stands beside the attention of the only stack: reads what it reads, and adds to the same stream.
    #[serde(rename = "beside")]
    Beside,
}

vocabulary! {
    StackKind: name;
    SelfAttention("self"),
    Encoder("encoder"),
    Decoder("decoder"),
    Cross("cross"),
    Vision("vision"),
    Text("text"),
    CrossModalText("cross_modal_text"),
    TextToVision("text_to_vision"),
    CrossModalVision("cross_modal_vision"),
    VisionToText("vision_to_text"),
    Words("words"),
    Sentences("sentences"),
    Chosen("chosen"),
    Beside("beside"),
}

impl StackKind {
    /// Whose tokens are the queries of this stack.
    pub const fn query_side(self) -> Side {
        match self {
            Self::SelfAttention | Self::Beside => Side::Only,
            Self::Encoder => Side::Encoder,
            Self::Decoder | Self::Cross | Self::Sentences => Side::Decoder,
            Self::Vision | Self::CrossModalVision | Self::VisionToText => Side::Vision,
            Self::Text | Self::CrossModalText | Self::TextToVision => Side::Text,
            Self::Words => Side::Sentences,
            Self::Chosen => Side::Chosen,
        }
    }

    /// Whose tokens are the keys of this stack.
    pub const fn key_side(self) -> Side {
        match self {
            Self::Cross | Self::Words => Side::Encoder,
            Self::Sentences => Side::Sentences,
            Self::Chosen => Side::Only,
            Self::TextToVision => Side::Vision,
            Self::VisionToText => Side::Text,
            Self::SelfAttention
            | Self::Beside
            | Self::Encoder
            | Self::Decoder
            | Self::Vision
            | Self::Text
            | Self::CrossModalText
            | Self::CrossModalVision => self.query_side(),
        }
    }

    /// The attention to another sequence in the layers of this stack, if such layers can have some.
    pub const fn cross(self) -> Option<Self> {
        match self {
            Self::Decoder => Some(Self::Cross),
            Self::CrossModalText => Some(Self::TextToVision),
            Self::CrossModalVision => Some(Self::VisionToText),
            Self::SelfAttention
            | Self::Beside
            | Self::Encoder
            | Self::Cross
            | Self::Vision
            | Self::Text
            | Self::TextToVision
            | Self::VisionToText
            | Self::Words
            | Self::Sentences
            | Self::Chosen => None,
        }
    }

    /// What stands beside the attention of this stack, if its layers can have something.
    pub const fn beside(self) -> Option<Self> {
        match self {
            Self::SelfAttention => Some(Self::Beside),
            _ => None,
        }
    }

    /// The stack in whose layers it stands and whose stream it adds to: itself, but for attention to another sequence
    /// and for what stands beside attention.
    #[must_use]
    pub const fn host(self) -> Self {
        match self {
            Self::Beside => Self::SelfAttention,
            Self::Cross => Self::Decoder,
            Self::TextToVision => Self::CrossModalText,
            Self::VisionToText => Self::CrossModalVision,
            Self::SelfAttention
            | Self::Encoder
            | Self::Decoder
            | Self::Vision
            | Self::Text
            | Self::CrossModalText
            | Self::CrossModalVision
            | Self::Words
            | Self::Sentences
            | Self::Chosen => self,
        }
    }

    /// Whether it has no stream of its own, as it stands in the layers of another stack.
    pub fn is_guest(self) -> bool {
        self.host() != self
    }

    /// Whether it is attention to another sequence in the layers of another stack.
    pub fn is_cross(self) -> bool {
        self.is_guest() && self.is_between()
    }

    /// Whether it is of the layers in which text and picture attend to each other.
    pub const fn is_cross_modal(self) -> bool {
        matches!(self, Self::CrossModalText | Self::TextToVision | Self::CrossModalVision | Self::VisionToText)
    }

    /// The sequence that enters it, whose [`stack`](Side::stack) it is; `None` where it stands between two others, or
    /// behind the stack that the sequence enters.
    pub fn sequence(self) -> Option<Side> {
        Side::ALL.into_iter().find(|side| side.stack() == self)
    }

    /// Whether its queries are other things than its keys.
    pub fn is_between(self) -> bool {
        self.query_side() != self.key_side()
    }
}

impl fmt::Display for StackKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A token sequence that attention stacks refer to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The one sequence of a single-stack model. Written `self`.
    #[default]
    Only,
    /// Source sequence of an encoder–decoder.
    Encoder,
    /// Target sequence of an encoder–decoder.
    Decoder,
    /// Patches of a two-tower model.
    Vision,
    /// Text of a two-tower model.
    Text,
    /// Sentences of the text of the encoder.
    Sentences,
    /// Tokens of the only sequence whose rows alone were kept.
    Chosen,
}

vocabulary! {
    Side: name;
    Only("self"),
    Encoder("encoder"),
    Decoder("decoder"),
    Vision("vision"),
    Text("text"),
    Sentences("sentences"),
    Chosen("chosen"),
}

impl Side {
    /// The stack in which tokens of it that were written ask: the input, where there is one to ask.
    pub const fn writing_stack(self) -> StackKind {
        match self {
            Self::Decoder => StackKind::Cross,
            Self::Only | Self::Encoder | Self::Vision | Self::Text | Self::Sentences | Self::Chosen => {
                StackKind::SelfAttention
            }
        }
    }

    /// The stack whose stream is made of these tokens.
    pub const fn stack(self) -> StackKind {
        match self {
            Self::Only => StackKind::SelfAttention,
            Self::Encoder => StackKind::Encoder,
            Self::Decoder => StackKind::Decoder,
            Self::Vision => StackKind::Vision,
            Self::Text => StackKind::Text,
            Self::Sentences => StackKind::Sentences,
            Self::Chosen => StackKind::Chosen,
        }
    }
}

/// One attention head of a model. Prints as `L5H3`, zero-based, without the stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct HeadId {
    /// The stack the layer belongs to.
    pub stack: StackKind,
    /// Layer within the stack, from 0.
    pub layer: usize,
    /// Query head within the layer, from 0.
    pub head: usize,
}

impl HeadId {
    /// Head `head` of layer `layer` in the single stack of an encoder-only or decoder-only model.
    pub const fn single(layer: usize, head: usize) -> Self {
        Self { stack: StackKind::SelfAttention, layer, head }
    }
}

impl fmt::Display for HeadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "L{}H{}", self.layer, self.head)
    }
}

/// One expert of a layer, numbered from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExpertId {
    pub stack: StackKind,
    pub layer: usize,
    pub expert: usize,
}

impl fmt::Display for ExpertId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "L{}E{}", self.layer, self.expert)
    }
}

/// Changes whenever a new capture exists; the first field of every cache key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CaptureId(pub u64);

impl CaptureId {
    /// One that no capture has yet.
    pub fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// What a joint space is made of: changes whenever its points do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CloudId {
    Input(CaptureId),
    /// Inputs of a corpus, by a number of their own.
    Inputs(u64),
    /// The positions that a model knows.
    Positions(CaptureId),
}

/// Tells the answer to one request from the answer to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub u64);

/// One document of a session: an experiment with its results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct DocumentId(pub u64);

/// One pane of the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PaneId(pub u64);

/// One model in memory. Reading the same files again gives another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModelId(pub u64);
