//! What a model can be run on, before it is tokenised or cut into patches.

use std::{path::PathBuf, sync::Arc};

use crate::capture::Excerpt;

/// What to run a model on.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    Text(TextInput),
    /// Raw token ids; skips the tokenizer.
    Ids(Vec<u32>),
    /// A picture for the image processor.
    Image(ImageSource),
    /// Preprocessed pixels `[3, height, width]`; skips the image processor.
    Pixels {
        data: Arc<[f32]>,
        size_px: (usize, usize),
    },
    /// Two inputs: what an encoder reads and what its decoder is made to write, or a picture and the
    /// text it is compared with.
    Pair {
        /// For the encoder or the vision tower.
        source: Box<Self>,
        /// For the decoder or the text tower.
        target: Box<Self>,
    },
}

impl Input {
    /// A single text, special tokens added.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(TextInput { text: text.into(), ..TextInput::default() })
    }

    /// This input for the encoder or the vision tower, `target` for the decoder or the text tower.
    #[must_use]
    pub fn with_target(self, target: Self) -> Self {
        Self::Pair { source: Box::new(self), target: Box::new(target) }
    }
}

/// Text and how to tokenise it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextInput {
    /// First or only segment.
    pub text: String,
    /// Second segment of a pair.
    pub text_b: Option<String>,
    /// Leave out the special tokens the tokenizer would add.
    pub no_special: bool,
    /// Prepare the texts as sentence-transformers does, where the checkpoint says how.
    pub sentence_transformers: bool,
    /// What to read when there are more tokens than the model takes; nothing is read then where nobody chose.
    pub excerpt: Option<Excerpt>,
}

/// Where a picture comes from.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum ImageSource {
    Path(PathBuf),
    /// What a file would hold, of a picture that is in none, such as one from the clipboard, with a name to show. It
    /// has no place to be found at again, so it is not serialised as one.
    #[serde(skip)]
    Embedded {
        name: String,
        /// PNG, or another kind of picture file.
        bytes: Arc<[u8]>,
    },
    /// A sample picture inside the program, by name.
    Bundled(String),
}
