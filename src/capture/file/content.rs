//! The JSON entries of `__metadata__` that describe what was fed in and came out: tokens, input, image and
//! what was generated.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::FileError;
use crate::{
    capture::{CropRect, Generated, ImageInfo, InputInfo, Token},
    ids::Side,
};

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
