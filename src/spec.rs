//! Plain facts about a model, in the field's words. No engine types, no behaviour beyond look-ups.

mod mask;

use std::{collections::BTreeMap, ops::Range, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::{
    ids::{HeadId, Side, StackKind},
    text::{counted, grouped},
};

pub use mask::{Mask, Visibility};

/// What a model is: the facts every view, analysis and file needs.
#[derive(Clone, Debug, PartialEq)]
pub struct ModelSpec {
    /// What the user calls it: the folder's name or a bundled name such as `demo:gpt`.
    pub name: String,
    /// Architecture family, lower case as in `model_type`: `bert`, `gpt2`, `vit`.
    pub family: String,
    pub modality: Modality,
    /// Attention stacks, in forward order; never empty.
    pub stacks: Vec<StackSpec>,
    /// Width of the residual stream.
    pub d_model: usize,
    /// Number of parameters read from the checkpoint.
    pub n_params: u64,
    /// What the model's head predicts, if it has one.
    pub head: Option<HeadKind>,
    /// Which files it was read from; `None` where nobody said, as in captures of other programs.
    pub checkpoint: Option<CheckpointId>,
}

/// Which files a model was read from, so that whoever has a figure of it can find them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointId {
    /// Commit of its repository on the hub; `None` for files that are not in the hub's cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// SHA-256 of a line `DIGEST  NAME` for each file in the order of names, as `sha256sum` writes them.
    pub checksum: String,
    /// SHA-256 of each file that was read, in hexadecimal digits, by its name.
    pub files: BTreeMap<String, String>,
}

/// A checkpoint as sessions and addresses name it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CheckpointMark {
    /// Commit of its repository on the hub.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// The checksum of [`CheckpointId`], or its first digits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checksum: Option<String>,
}

impl CheckpointId {
    /// As sessions name it.
    pub fn mark(&self) -> CheckpointMark {
        CheckpointMark { revision: self.revision.clone(), checksum: Some(self.checksum.clone()) }
    }
}

impl CheckpointMark {
    /// Whether nothing is said.
    pub const fn is_empty(&self) -> bool {
        self.revision.is_none() && self.checksum.is_none()
    }

    /// Whether a checkpoint can be the one that is meant: equal files are, of whatever commit.
    pub fn fits(&self, id: &CheckpointId) -> bool {
        match (&self.checksum, &self.revision, &id.revision) {
            (Some(checksum), ..) => id.checksum.starts_with(checksum.as_str()),
            (None, Some(then), Some(now)) => then == now,
            _ => true,
        }
    }
}

impl ModelSpec {
    /// The family of a model that a capture of another program does not name.
    pub const UNKNOWN_FAMILY: &str = "unknown";

    /// The stack of this kind.
    pub fn stack(&self, kind: StackKind) -> Option<&StackSpec> {
        self.stacks.iter().find(|stack| stack.kind == kind)
    }

    /// The attention of a head's layer.
    pub fn layer_of(&self, head: HeadId) -> Option<&LayerSpec> {
        self.stack(head.stack)?.layers.get(head.layer)
    }

    /// What the pattern of a head is.
    pub fn pattern_of(&self, head: HeadId) -> Option<PatternKind> {
        self.layer_of(head).map(|layer| layer.mixer.pattern())
    }

    /// Whether a head has an effective pattern, signed and no distribution.
    pub fn is_effective(&self, head: HeadId) -> bool {
        self.pattern_of(head) == Some(PatternKind::Effective)
    }

    /// Whether a text is read by queries that are none of its words.
    pub fn reads_by_queries(&self) -> bool {
        let by_other = |stack: &StackSpec| stack.kind.is_between() && stack.kind != StackKind::Chosen;
        matches!(self.modality, Modality::Text(_)) && self.stacks.iter().all(by_other)
    }

    /// Whether a stack's queries are a decoder's and its keys an encoder's. The one query that reads a text by
    /// itself is neither's.
    pub fn has_two_sides(&self, stack: StackKind) -> bool {
        stack == StackKind::Cross && !self.reads_by_queries()
    }

    /// The stack in which the stream of a sequence ends: behind its tower, where text and picture attend to each other.
    pub fn last_stack(&self, side: Side) -> StackKind {
        let is_last = |kind: &StackKind| kind.is_cross_modal() && !kind.is_cross() && kind.query_side() == side;
        self.stacks.iter().map(|stack| stack.kind).find(is_last).unwrap_or_else(|| side.stack())
    }

    /// Whether text and picture attend to each other in layers that take in the streams of their towers one by one.
    pub fn has_two_streams(&self) -> bool {
        self.stacks.iter().any(|stack| stack.kind.is_cross_modal())
    }

    /// What a query of a head may see.
    pub fn mask_of(&self, head: HeadId) -> Option<Mask> {
        let stack = self.stack(head.stack)?;
        Some(stack.layers.get(head.layer)?.mask(stack.causal))
    }

    /// What makes a head's attention weights of its queries and keys, but for a sink.
    pub fn attention_params_of(&self, head: HeadId) -> Option<AttentionParams> {
        let stack = self.stack(head.stack)?;
        Some(stack.layers.get(head.layer)?.attention_params(stack.causal))
    }
}

/// What a model reads. Capture files say it in these words.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Modality {
    Text(TextSpec),
    /// Pixels.
    Image(ImageSpec),
    /// A text for the encoder; the decoder writes another one.
    TextToText {
        source: TextSpec,
        /// What the decoder reads and writes.
        target: TextSpec,
    },
    /// A picture for the encoder; the decoder describes it.
    ImageToText {
        source: ImageSpec,
        /// What the decoder reads and writes.
        target: TextSpec,
    },
    /// A picture and a text that are compared (two towers).
    ImageAndText {
        /// What the vision tower reads.
        image: ImageSpec,
        /// What the text tower reads.
        text: TextSpec,
    },
}

/// Token sequences a model can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TextSpec {
    /// Longest sequence that the model was made for, special tokens included.
    pub n_ctx: usize,
    /// Whether it reads longer ones.
    #[serde(default, skip_serializing_if = "is_usual")]
    pub longer: Longer,
    pub n_vocab: usize,
}

/// What becomes of a text that is longer than the model was made for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Longer {
    /// It cannot be read: positions are rows of a table, which ends.
    #[default]
    Refused,
    /// It is read: positions are computed (rotary, ALiBi, relative distances).
    Read,
}

/// What files leave out.
fn is_usual<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// How many tokens of a text are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextLimits {
    /// What the model was made for: so many where nobody chooses and not all are needed.
    pub usual: usize,
    /// More are refused.
    pub most: usize,
}

impl From<usize> for TextLimits {
    fn from(n_ctx: usize) -> Self {
        Self { usual: n_ctx, most: n_ctx }
    }
}

impl TextSpec {
    /// Above what memory has room for, so that it is memory that refuses.
    const UNENDING: usize = 1 << 20;

    /// Texts that end where the model's positions do.
    pub const fn new(n_ctx: usize, n_vocab: usize) -> Self {
        Self { n_ctx, longer: Longer::Refused, n_vocab }
    }

    /// How many tokens are read. Whatever bounds a text asks here.
    pub fn limits(&self) -> TextLimits {
        let most = match self.longer {
            Longer::Refused => self.n_ctx,
            Longer::Read => self.n_ctx.max(Self::UNENDING),
        };
        TextLimits { usual: self.n_ctx, most }
    }

    /// What is to be known about a sequence of `n` tokens that is longer than the model was made for.
    pub fn beyond(&self, n: usize) -> Option<String> {
        (self.longer == Longer::Read && n > self.n_ctx).then(|| {
            format!(
                "{} tokens are more than the {} that the model was made for; its positions are computed, so all are \
                 read, as in transformers",
                grouped(n),
                grouped(self.n_ctx)
            )
        })
    }

    /// The longest sequence, in words.
    pub fn length_text(&self) -> String {
        let tokens = counted(self.n_ctx, "token");
        match self.longer {
            Longer::Refused => tokens,
            Longer::Read => format!("{tokens}, reads more"),
        }
    }
}

/// Pictures a model can read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageSpec {
    /// Height and width the model was trained on, in pixels.
    pub size_px: (usize, usize),
    /// Height and width of a patch, in pixels.
    pub patch_px: (usize, usize),
    /// Tokens before the patches: CLS, distillation token, registers.
    pub n_prefix: usize,
}

impl Modality {
    /// The text that is the input: of an encoder–decoder the source, of two towers the text.
    pub const fn text(&self) -> Option<&TextSpec> {
        match self {
            Self::Text(text) | Self::TextToText { source: text, .. } | Self::ImageAndText { text, .. } => Some(text),
            Self::Image(_) | Self::ImageToText { .. } => None,
        }
    }

    /// The picture that is the input.
    pub const fn image(&self) -> Option<&ImageSpec> {
        match self {
            Self::Image(image) | Self::ImageToText { source: image, .. } | Self::ImageAndText { image, .. } => {
                Some(image)
            }
            Self::Text(_) | Self::TextToText { .. } => None,
        }
    }

    /// What the decoder of an encoder–decoder writes.
    pub const fn target(&self) -> Option<&TextSpec> {
        match self {
            Self::TextToText { target, .. } | Self::ImageToText { target, .. } => Some(target),
            Self::Text(_) | Self::Image(_) | Self::ImageAndText { .. } => None,
        }
    }
}

/// The one outcome of a model that compares a picture with a text.
pub const SIMILARITY: &str = "similarity of picture and text";

/// What a prediction head says. Capture files say it in these words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeadKind {
    /// Which token stands at each position (BERT-style).
    MaskedLm,
    /// Which token follows each position (GPT-style).
    NextToken,
    /// Which class the text belongs to.
    TextClass,
    /// Which class the image belongs to.
    ImageClass,
    /// Which class each token belongs to (names, parts of speech, replaced or not).
    TokenClass,
    /// How well the picture and the text fit (two towers).
    Similarity,
    /// Whether the picture and the text belong together, or how well, read from streams that have seen both.
    PairClass,
}

/// One attention stack of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct StackSpec {
    pub kind: StackKind,
    /// Shape of each layer's attention; layers may differ (pruned heads).
    pub layers: Vec<LayerSpec>,
    /// Whether a query may attend only to itself and earlier keys.
    pub causal: bool,
}

impl StackSpec {
    /// How many heads a layer has; none where there is no such layer.
    pub fn n_heads(&self, layer: usize) -> usize {
        self.layers.get(layer).map_or(0, |layer| layer.n_heads)
    }

    /// A layer that stands for all: the first with attention, else the first.
    pub fn typical(&self) -> Option<&LayerSpec> {
        self.layers.iter().find(|layer| layer.mixer.is_attention()).or(self.layers.first())
    }

    /// The largest head count of any layer: the width of a layers × heads grid.
    pub fn max_heads(&self) -> usize {
        self.layers.iter().map(|layer| layer.n_heads).max().unwrap_or(0)
    }
}

/// How a layer moves values between tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MixerKind {
    /// Softmax, or another normaliser, of products of queries and keys.
    #[default]
    Attention,
    /// The gated delta rule (Yang et al. 2025): a state per head that decays, forgets what a key has written before,
    /// and is read by queries.
    GatedDelta,
    /// A state space (Mamba-2, Dao and Gu 2024): a state per head that decays, is added to under a key, and is read by
    /// queries.
    Mamba2,
    /// A convolution of each channel over a token and the few before it, between two gates (LFM2).
    ShortConvolution,
}

vocabulary! {
    MixerKind:
    /// In a sentence.
    title;
    Attention("attention"),
    GatedDelta("gated delta rule"),
    Mamba2("Mamba-2"),
    ShortConvolution("short convolution"),
}

/// What the pattern of a layer's heads is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternKind {
    /// Each row says how a query's attention is shared among keys.
    Distribution,
    /// Signed factors by which values add up to the output, with everything that depends on the input at its value.
    /// Rows need not sum to 1.
    Effective,
    /// There is none: each channel has factors of its own.
    None,
}

impl MixerKind {
    /// What the pattern of its heads is.
    pub const fn pattern(self) -> PatternKind {
        match self {
            Self::Attention => PatternKind::Distribution,
            Self::GatedDelta | Self::Mamba2 => PatternKind::Effective,
            Self::ShortConvolution => PatternKind::None,
        }
    }

    /// Whether queries are compared with keys.
    pub const fn is_attention(self) -> bool {
        matches!(self, Self::Attention)
    }
}

/// Shape of one layer's attention, or of what it has in place of attention.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct LayerSpec {
    /// How values move between tokens.
    pub mixer: MixerKind,
    /// Query heads; attention patterns exist per query head.
    pub n_heads: usize,
    /// Key/value heads; equal to `n_heads` without grouped-query attention.
    pub n_kv_heads: usize,
    /// Width of one head's q and k.
    pub d_head: usize,
    /// Width of one head's v and z; usually `d_head`.
    pub d_value: usize,
    /// Factor on `q·kᵀ` before bias and mask; usually `1/√d_head`, 1 for T5.
    pub scale: f32,
    /// A query sees only keys less than this many positions away; `None` without a sliding window.
    pub window: Option<usize>,
    /// Scaled scores `s` become `cap · tanh(s / cap)` before the mask (Gemma 2).
    pub softcap: Option<f32>,
    /// Whether a bias that depends on the positions (T5, ALiBi, BEiT) is added to the scores. Those
    /// cannot be recomputed from q and k alone.
    pub biased: bool,
    /// Whether tokens of an input, which it names, can see all others and be seen by all of them (Longformer).
    /// Their queries meet keys and values that nobody else sees, so that q and k alone do not give their scores.
    pub global: bool,
    /// Whether every head has a learned sink (gpt-oss): a score that takes part in the softmax of each row without
    /// a key, so that scores alone do not give the pattern.
    pub sink: bool,
    /// Whether positions alone give the pattern: no query is compared with a key, so there is no attention.
    pub fixed: bool,
    /// Whether `z` is scaled by a gate, or normed, before it is mapped back to the stream, so that what a head adds is
    /// not the map of its `z`.
    pub gated: bool,
    /// The ranks through which queries, keys and values go, where they do.
    pub latent: Option<LatentSpec>,
    /// The MLP beside it; `None` in cross-attention, whose block has it already, and where it is not known.
    pub mlp: Option<MlpSpec>,
}

/// Sizes of latent attention (DeepSeek-V2, 2024): queries, keys and values are read from vectors of a lower rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatentSpec {
    /// Width of what queries are read from; `None` where that is the stream itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queries: Option<usize>,
    /// Width of what keys and values are read from.
    pub keys: usize,
    /// Width of the part of the keys that all heads share, and that is turned.
    pub turned: usize,
}

/// Sizes of an MLP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MlpSpec {
    /// Width of the stream that it reads.
    pub d_model: usize,
    /// Width of its hidden layer; with experts, of those together that one token goes through.
    pub d_hidden: usize,
    /// Linear maps between both: 2, or 3 where a gate scales the hidden layer.
    pub n_maps: usize,
    /// The experts that it is a choice among.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experts: Option<Experts>,
}

/// Experts among which a router chooses for each token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Experts {
    pub n: usize,
    /// So many are chosen.
    pub n_chosen: usize,
    /// Whether one more takes every token.
    pub is_shared: bool,
}

/// What makes attention weights of the products of a layer's queries and keys.
#[derive(Clone, Debug, PartialEq)]
pub struct AttentionParams {
    /// Factor on `q·kᵀ`.
    pub scale: f32,
    /// Scaled scores `s` become `cap · tanh(s / cap)`, before bias and mask.
    pub softcap: Option<f32>,
    pub mask: Mask,
    /// `[heads]`: one more score in each row's softmax, whose weight goes to no value. Neither scaled, capped nor
    /// biased.
    pub sink: Option<Arc<[f32]>>,
}

impl AttentionParams {
    /// Scaled products of which a mask hides some.
    pub const fn new(scale: f32, mask: Mask) -> Self {
        Self { scale, softcap: None, mask, sink: None }
    }

    /// The sink's score in the rows of a head; minus infinity, which takes nothing, where there is no sink.
    pub fn sink_of(&self, head: usize) -> f32 {
        self.sink.as_ref().and_then(|sink| sink.get(head).copied()).unwrap_or(f32::NEG_INFINITY)
    }
}

impl LayerSpec {
    /// Ordinary multi-head attention: values are as wide as keys, and scores are divided by `√d_head`.
    pub fn new(n_heads: usize, d_head: usize) -> Self {
        let scale = 1.0 / (d_head as f32).sqrt();
        Self {
            mixer: MixerKind::Attention,
            n_heads,
            n_kv_heads: n_heads,
            d_head,
            d_value: d_head,
            scale,
            window: None,
            softcap: None,
            biased: false,
            global: false,
            sink: false,
            fixed: false,
            gated: false,
            latent: None,
            mlp: None,
        }
    }

    /// What a query of this layer may see, in a stack that is causal or not.
    pub const fn mask(&self, causal: bool) -> Mask {
        Mask { causal, window: self.window }
    }

    /// What makes its attention weights but for the sinks, which are weights of the model.
    pub const fn attention_params(&self, causal: bool) -> AttentionParams {
        AttentionParams { scale: self.scale, softcap: self.softcap, mask: self.mask(causal), sink: None }
    }

    /// The query heads that read the same keys and values as `head`; `None` where every head has its own.
    pub fn sharing(&self, head: usize) -> Option<Range<usize>> {
        if self.n_kv_heads == self.n_heads {
            return None;
        }
        let kv = self.kv_head(head);
        let of_kv = |other: &usize| self.kv_head(*other) == kv;
        let first = (0..self.n_heads).find(of_kv)?;
        Some(first..first + (first..self.n_heads).take_while(of_kv).count())
    }

    /// The key/value head that query head `head` reads.
    pub fn kv_head(&self, head: usize) -> usize {
        head * self.n_kv_heads / self.n_heads.max(1)
    }
}
