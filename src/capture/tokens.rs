//! The things attention runs between: text tokens and image patches.

use std::{ops::Range, sync::Arc};

/// One position of a sequence: a text token, a prefix token or an image patch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Token {
    /// What a person reads: `␣the` for a byte-level piece, `##ing`, `[CLS]`, `r3 c5` for a patch.
    pub text: String,
    /// Vocabulary id; `None` for patches and for captures of other programs.
    pub id: Option<u32>,
    /// Added by the tokenizer or the model rather than by the input: CLS, SEP, BOS, registers.
    pub special: bool,
    /// Byte range in the input text; empty where there is none.
    pub span: Range<usize>,
    /// Which sentence of a pair it belongs to: 0 for the first, 1 for the second.
    pub segment: u8,
    /// The group that a person made it part of: neighbours of one number are one word, see [`groups`](super::groups).
    pub group: Option<u32>,
    /// Its place in the sequence, where a list has some of the tokens alone.
    pub position: Option<usize>,
}

/// The picture a vision model saw and how patches, or regions, lie on it.
#[derive(Clone, Debug, PartialEq)]
pub struct ImageInfo {
    /// Rows and columns of patches; of regions one row, in their order.
    pub grid: (usize, usize),
    /// Where regions lie that stand in place of patches: left, top, right and bottom in pixels of the picture. They may
    /// overlap and leave parts of the picture out.
    pub regions: Option<Arc<[[f32; 4]]>>,
    /// Tokens before the first patch.
    pub n_prefix: usize,
    /// Height and width of a patch in model pixels.
    pub patch_px: (usize, usize),
    /// The part of `source` that the grid covers, in source pixels; of regions the whole picture.
    pub crop: CropRect,
    /// The picture at its own resolution; `None` when only pixels were given.
    pub source: Option<Arc<RgbaBuffer>>,
}

/// A rectangle in pixels of a source picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CropRect {
    pub x: f32,
    pub y: f32,
    pub width: f32,
    pub height: f32,
}

/// Eight-bit RGBA pixels, not premultiplied, row by row from the top.
#[derive(Clone, PartialEq, Eq)]
pub struct RgbaBuffer {
    /// Width in pixels.
    pub width: usize,
    /// Height in pixels.
    pub height: usize,
    /// `4 · width · height` bytes.
    pub pixels: Vec<u8>,
}

impl std::fmt::Debug for RgbaBuffer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RgbaBuffer({}×{})", self.width, self.height)
    }
}
