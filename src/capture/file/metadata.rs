//! The JSON entries of `__metadata__`: model, tokens, input, image and what was generated.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::FileError;
use crate::{
    capture::{CropRect, Generated, ImageInfo, InputInfo, Token},
    ids::{Side, StackKind},
    spec::{HeadKind, ImageSpec, LayerSpec, Modality, ModelSpec, StackSpec, TextSpec},
};

/// Written as `format`.
pub(super) const FORMAT: &str = "attnscope-capture";
/// Written as `version`.
pub(super) const VERSION: &str = "1";

/// More layers or heads than any model has; bounds what a lying file can make us allocate.
pub(super) const MAX_LAYERS: usize = 1024;
pub(super) const MAX_HEADS: usize = 4096;

/// Parses one entry.
pub(super) fn parse<T: for<'de> Deserialize<'de>>(entry: &'static str, text: &str) -> Result<T, FileError> {
    serde_json::from_str(text).map_err(|error| FileError::Metadata { entry, problem: error.to_string() })
}

/// `model`: everything of [`ModelSpec`]; a foreign file may leave out anything.
#[derive(Serialize, Deserialize, Default)]
#[serde(default)]
pub(super) struct ModelEntry {
    pub(super) name: Option<String>,
    pub(super) family: Option<String>,
    pub(super) stacks: Vec<StackEntry>,
    pub(super) d_model: Option<usize>,
    pub(super) n_params: Option<u64>,
    pub(super) head: Option<HeadEntry>,
    pub(super) modality: Option<ModalityEntry>,
}

/// One stack. The numbers hold for every layer, or are lists with one number per layer.
#[derive(Serialize, Deserialize)]
pub(super) struct StackEntry {
    name: StackKind,
    layers: usize,
    heads: PerLayer<usize>,
    #[serde(default)]
    kv_heads: Option<PerLayer<usize>>,
    #[serde(default)]
    d_head: Option<PerLayer<usize>>,
    #[serde(default)]
    scale: Option<PerLayer<f32>>,
    #[serde(default)]
    causal: bool,
    /// Zero means no sliding window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    window: Option<PerLayer<usize>>,
    /// Zero means no cap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    softcap: Option<PerLayer<f32>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    biased: Option<PerLayer<bool>>,
}

/// One value for all layers, or one per layer.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum PerLayer<T> {
    All(T),
    Each(Vec<T>),
}

impl<T: Copy + PartialEq> PerLayer<T> {
    fn of(values: impl Iterator<Item = T>) -> Self {
        let values: Vec<T> = values.collect();
        match values.first() {
            Some(&first) if values.iter().all(|value| *value == first) => Self::All(first),
            _ => Self::Each(values),
        }
    }

    /// `None` when every layer has the usual value.
    fn unless_all(values: impl Iterator<Item = T> + Clone, usual: T) -> Option<Self> {
        let unusual = values.clone().any(|value| value != usual);
        unusual.then(|| Self::of(values))
    }

    fn at(&self, layer: usize) -> Option<T> {
        match self {
            Self::All(value) => Some(*value),
            Self::Each(values) => values.get(layer).copied(),
        }
    }
}

/// What the model's head predicts.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum HeadEntry {
    MaskedLm,
    NextToken,
    TextClass,
    ImageClass,
    TokenClass,
    Similarity,
}

/// What the model reads.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ModalityEntry {
    Text(TextEntry),
    Image(PictureEntry),
    TextToText { source: TextEntry, target: TextEntry },
    ImageToText { source: PictureEntry, target: TextEntry },
    ImageAndText { image: PictureEntry, text: TextEntry },
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(remote = "TextSpec")]
struct TextSpecEntry {
    n_ctx: usize,
    n_vocab: usize,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct TextEntry(#[serde(with = "TextSpecEntry")] TextSpec);

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(remote = "ImageSpec")]
struct ImageSpecEntry {
    size_px: (usize, usize),
    patch_px: (usize, usize),
    n_prefix: usize,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
pub(super) struct PictureEntry(#[serde(with = "ImageSpecEntry")] ImageSpec);

impl From<&ModelSpec> for ModelEntry {
    fn from(spec: &ModelSpec) -> Self {
        Self {
            name: Some(spec.name.clone()),
            family: Some(spec.family.clone()),
            stacks: spec.stacks.iter().map(StackEntry::from).collect(),
            d_model: Some(spec.d_model),
            n_params: Some(spec.n_params),
            head: spec.head.map(HeadEntry::from),
            modality: Some(spec.modality.into()),
        }
    }
}

impl From<&StackSpec> for StackEntry {
    fn from(stack: &StackSpec) -> Self {
        let layers = || stack.layers.iter();
        Self {
            name: stack.kind,
            layers: stack.layers.len(),
            heads: PerLayer::of(layers().map(|layer| layer.n_heads)),
            kv_heads: Some(PerLayer::of(layers().map(|layer| layer.n_kv_heads))),
            d_head: Some(PerLayer::of(layers().map(|layer| layer.d_head))),
            scale: Some(PerLayer::of(layers().map(|layer| layer.scale))),
            causal: stack.causal,
            window: PerLayer::unless_all(layers().map(|layer| layer.window.unwrap_or(0)), 0),
            softcap: PerLayer::unless_all(layers().map(|layer| layer.softcap.unwrap_or(0.0)), 0.0),
            biased: PerLayer::unless_all(layers().map(|layer| layer.biased), false),
        }
    }
}

impl StackEntry {
    /// Which stack it describes.
    pub(super) const fn kind(&self) -> StackKind {
        self.name
    }

    /// The stack as described; what is left out follows from the rest.
    pub(super) fn spec(&self) -> Result<StackSpec, FileError> {
        let problem = |problem: &str| FileError::Metadata {
            entry: "model",
            problem: format!("the stack {} {problem}", self.name),
        };
        if self.layers > MAX_LAYERS {
            return Err(problem(&format!("has {} layers", self.layers)));
        }
        let layer = |idx: usize| -> Result<LayerSpec, FileError> {
            let n_heads = self.heads.at(idx).ok_or_else(|| problem("has fewer head counts than layers"))?;
            let n_kv_heads = self.kv_heads.as_ref().and_then(|n| n.at(idx)).unwrap_or(n_heads);
            let d_head = self.d_head.as_ref().and_then(|n| n.at(idx)).unwrap_or(0);
            let scale = self.scale.as_ref().and_then(|n| n.at(idx)).unwrap_or_else(|| default_scale(d_head));
            if n_heads > MAX_HEADS || n_kv_heads == 0 && n_heads > 0 || !scale.is_finite() {
                return Err(problem(&format!("has {n_heads} heads, {n_kv_heads} key heads and the scale {scale}")));
            }
            let window = self.window.as_ref().and_then(|n| n.at(idx)).filter(|&reach| reach > 0);
            let softcap = self.softcap.as_ref().and_then(|cap| cap.at(idx)).filter(|&cap| cap > 0.0);
            let biased = self.biased.as_ref().and_then(|flag| flag.at(idx)).unwrap_or(false);
            Ok(LayerSpec { n_heads, n_kv_heads, d_head, scale, window, softcap, biased })
        };
        let layers = (0..self.layers).map(layer).collect::<Result<_, _>>()?;
        Ok(StackSpec { kind: self.name, layers, causal: self.causal })
    }
}

/// The usual `1/√d_head`; 1 when the width is unknown.
pub(super) fn default_scale(d_head: usize) -> f32 {
    if d_head == 0 { 1.0 } else { 1.0 / (d_head as f32).sqrt() }
}

impl From<HeadKind> for HeadEntry {
    fn from(head: HeadKind) -> Self {
        match head {
            HeadKind::MaskedLm => Self::MaskedLm,
            HeadKind::NextToken => Self::NextToken,
            HeadKind::TextClass => Self::TextClass,
            HeadKind::ImageClass => Self::ImageClass,
            HeadKind::TokenClass => Self::TokenClass,
            HeadKind::Similarity => Self::Similarity,
        }
    }
}

impl From<HeadEntry> for HeadKind {
    fn from(head: HeadEntry) -> Self {
        match head {
            HeadEntry::MaskedLm => Self::MaskedLm,
            HeadEntry::NextToken => Self::NextToken,
            HeadEntry::TextClass => Self::TextClass,
            HeadEntry::ImageClass => Self::ImageClass,
            HeadEntry::TokenClass => Self::TokenClass,
            HeadEntry::Similarity => Self::Similarity,
        }
    }
}

impl From<Modality> for ModalityEntry {
    fn from(modality: Modality) -> Self {
        let (text, image) = (TextEntry, PictureEntry);
        match modality {
            Modality::Text(spec) => Self::Text(text(spec)),
            Modality::Image(spec) => Self::Image(image(spec)),
            Modality::TextToText { source, target } => Self::TextToText { source: text(source), target: text(target) },
            Modality::ImageToText { source, target } => {
                Self::ImageToText { source: image(source), target: text(target) }
            }
            Modality::ImageAndText { image: picture, text: words } => {
                Self::ImageAndText { image: image(picture), text: text(words) }
            }
        }
    }
}

impl From<ModalityEntry> for Modality {
    fn from(modality: ModalityEntry) -> Self {
        match modality {
            ModalityEntry::Text(text) => Self::Text(text.0),
            ModalityEntry::Image(image) => Self::Image(image.0),
            ModalityEntry::TextToText { source, target } => Self::TextToText { source: source.0, target: target.0 },
            ModalityEntry::ImageToText { source, target } => Self::ImageToText { source: source.0, target: target.0 },
            ModalityEntry::ImageAndText { image, text } => Self::ImageAndText { image: image.0, text: text.0 },
        }
    }
}

/// What tokenizers call the tokens they add.
const SPECIAL_TOKENS: [&str; 14] = [
    "[CLS]",
    "[SEP]",
    "[PAD]",
    "[BOS]",
    "[EOS]",
    "<s>",
    "</s>",
    "<pad>",
    "<bos>",
    "<eos>",
    "<|begin_of_text|>",
    "<|end_of_text|>",
    "<|endoftext|>",
    "<|im_end|>",
];

/// `tokens`: side → tokens.
pub(super) type TokensEntry = BTreeMap<String, Vec<TokenEntry>>;

/// One token; `start` and `end` are bytes of the input text. A file may also give the bare text.
#[derive(Serialize, Deserialize)]
#[serde(from = "TokenForm")]
pub(super) struct TokenEntry {
    text: String,
    id: Option<u32>,
    special: bool,
    start: usize,
    end: usize,
    #[serde(skip_serializing_if = "is_first")]
    segment: u8,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde wants")]
const fn is_first(segment: &u8) -> bool {
    *segment == 0
}

/// The ways to write a token.
#[derive(Deserialize)]
#[serde(untagged)]
enum TokenForm {
    Text(String),
    Full {
        text: String,
        #[serde(default)]
        id: Option<u32>,
        #[serde(default)]
        special: bool,
        #[serde(default)]
        start: usize,
        #[serde(default)]
        end: usize,
        #[serde(default)]
        segment: u8,
    },
}

impl From<TokenForm> for TokenEntry {
    fn from(form: TokenForm) -> Self {
        match form {
            TokenForm::Text(text) => text.into(),
            TokenForm::Full { text, id, special, start, end, segment } => {
                Self { text, id, special, start, end, segment }
            }
        }
    }
}

impl From<String> for TokenEntry {
    /// A token of which only the text is known; the usual names of special tokens tell those.
    fn from(text: String) -> Self {
        let special = SPECIAL_TOKENS.contains(&text.as_str());
        Self { text, id: None, special, start: 0, end: 0, segment: 0 }
    }
}

impl From<&Token> for TokenEntry {
    fn from(token: &Token) -> Self {
        let Token { text, id, special, span, segment } = token;
        Self { text: text.clone(), id: *id, special: *special, start: span.start, end: span.end, segment: *segment }
    }
}

impl TokenEntry {
    /// The token; a span that does not lie in the input is dropped, because others slice with it.
    pub(super) fn token(self, input: &InputInfo) -> Token {
        let Self { text, id, special, start, end, segment } = self;
        let fits = |text: &Option<String>| text.as_ref().is_some_and(|text| text.get(start..end).is_some());
        let span = if fits(&input.text) || fits(&input.text_b) || fits(&input.target) { start..end } else { 0..0 };
        Token { text, id, special, span, segment }
    }
}

/// `input`: what was fed in.
#[derive(Serialize, Deserialize, Default)]
#[serde(default)]
pub(super) struct InputEntry {
    text: Option<String>,
    text_b: Option<String>,
    image: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
}

impl From<&InputInfo> for InputEntry {
    fn from(input: &InputInfo) -> Self {
        let InputInfo { text, text_b, image, target } = input.clone();
        Self { text, text_b, image, target }
    }
}

impl From<InputEntry> for InputInfo {
    fn from(InputEntry { text, text_b, image, target }: InputEntry) -> Self {
        Self { text, text_b, image, target }
    }
}

/// `generated`: the tokens from `first` on that the model wrote itself, with their probabilities.
#[derive(Serialize, Deserialize)]
pub(super) struct GeneratedEntry {
    side: String,
    first: usize,
    probabilities: Vec<f32>,
}

impl From<&Generated> for GeneratedEntry {
    fn from(Generated { side, first, probabilities }: &Generated) -> Self {
        Self { side: side.name().to_owned(), first: *first, probabilities: probabilities.clone() }
    }
}

impl GeneratedEntry {
    /// The text, when its tokens are the last of those of its side.
    pub(super) fn generated(self, tokens: &BTreeMap<Side, Vec<Token>>) -> Result<Generated, FileError> {
        let Self { side: name, first, probabilities } = self;
        let problem = |problem: String| FileError::Metadata { entry: "generated", problem };
        let side = Side::ALL.into_iter().find(|side| side.name() == name);
        let Some((side, known)) = side.and_then(|side| Some((side, tokens.get(&side)?))) else {
            return Err(problem("there are no tokens of its side".to_owned()));
        };
        if first.checked_add(probabilities.len()) != Some(known.len()) {
            let n = probabilities.len();
            return Err(problem(format!("{n} tokens from {first} on do not end where the {} tokens do", known.len())));
        }
        if !probabilities.iter().all(|probability| (0.0..=1.0).contains(probability)) {
            return Err(problem("a probability is not between 0 and 1".to_owned()));
        }
        Ok(Generated { side, first, probabilities })
    }
}

/// `image`: how patches lie on the picture. The picture itself is not in the file.
#[derive(Serialize, Deserialize)]
pub(super) struct ImageEntry {
    grid_height: usize,
    grid_width: usize,
    n_prefix: usize,
    patch_height: usize,
    patch_width: usize,
    #[serde(default)]
    crop: Option<CropEntry>,
}

/// In pixels of the source picture.
#[derive(Serialize, Deserialize)]
struct CropEntry {
    x: f32,
    y: f32,
    width: f32,
    height: f32,
}

impl From<&ImageInfo> for ImageEntry {
    fn from(image: &ImageInfo) -> Self {
        let CropRect { x, y, width, height } = image.crop;
        Self {
            grid_height: image.grid.0,
            grid_width: image.grid.1,
            n_prefix: image.n_prefix,
            patch_height: image.patch_px.0,
            patch_width: image.patch_px.1,
            crop: Some(CropEntry { x, y, width, height }),
        }
    }
}

impl ImageEntry {
    /// The placement, when it accounts for `n_tokens` tokens.
    pub(super) fn info(self, n_tokens: usize) -> Result<ImageInfo, FileError> {
        let Self { grid_height, grid_width, n_prefix, patch_height, patch_width, crop } = self;
        let n_patches = grid_height.checked_mul(grid_width).and_then(|n| n.checked_add(n_prefix));
        if n_patches != Some(n_tokens) || patch_height == 0 || patch_width == 0 {
            return Err(FileError::Metadata {
                entry: "image",
                problem: format!(
                    "{grid_height} × {grid_width} patches and {n_prefix} prefix tokens are not {n_tokens} tokens"
                ),
            });
        }
        let whole = CropEntry {
            x: 0.0,
            y: 0.0,
            width: grid_width as f32 * patch_width as f32,
            height: grid_height as f32 * patch_height as f32,
        };
        let CropEntry { x, y, width, height } = crop.unwrap_or(whole);
        if ![x, y, width, height].iter().all(|value| value.is_finite()) || width <= 0.0 || height <= 0.0 {
            return Err(FileError::Metadata { entry: "image", problem: "the crop has no area".to_owned() });
        }
        Ok(ImageInfo {
            grid: (grid_height, grid_width),
            n_prefix,
            patch_px: (patch_height, patch_width),
            crop: CropRect { x, y, width, height },
            source: None,
        })
    }
}
