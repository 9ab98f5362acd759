//! From what the user gives to what a model reads: text to token ids, pictures to pixels.
//!
//! Nothing here names the engine; a model gets ids or pixels and hands the tokens on to the capture.

mod accounted;
mod canonical;
mod charsmap;
mod chat;
mod classes;
mod codec;
mod convention;
mod disagreement;
mod encode;
mod encoded;
mod file;
mod guard;
mod image;
mod languages;
mod mistral;
mod of_pieces;
mod parts;
mod picture;
mod pieces;
mod processor;
mod replaced;
mod resample;
mod sentence_ends;
mod sentencepiece;
mod sentences;
mod settings;
mod size;
mod source;
mod special;
mod template;
mod text;
mod tokens;
mod vocabulary;

use std::{borrow::Cow, path::PathBuf};

pub use self::{
    chat::{Chat, Conversation},
    encode::Encoded,
    encoded::{EncodedText, check_ids},
    image::{EncodedImage, ImageProcessor},
    picture::{Picture, open_picture},
    processor::Keys,
    source::{ImageSource, Input, Preparation, TextInput},
    special::SpecialIds,
    text::TextEncoder,
};
pub(crate) use self::{
    convention::{Convention, TokenizerClass},
    encode::{NO_TOKENIZER, Payload, Reader},
    processor::ProcessorClass,
    replaced::replaced,
    sentence_ends::SentenceEnds,
};
use crate::{
    capture::{TokenCount, groups::GroupError},
    model::{
        LoadError, ModelError,
        checkpoint::{ModelFiles, bundled},
    },
    text::{PICTURE_KINDS, grouped, told, unreadable},
};

/// A file of the checkpoint; `None` when there is no such file.
fn read(files: &ModelFiles, file: &'static str) -> Result<Option<Cow<'static, [u8]>>, InputError> {
    files.read(file).transpose().map_err(|error| InputError::BadFile { file, reason: error.to_string() })
}

/// Why an input, or the description of how to read it, cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// The checkpoint has no vocabulary.
    #[error("this model has no tokenizer, so it cannot read text")]
    MissingTokenizer,
    /// Its rules are not known, and reading its vocabulary by other rules would give wrong ids.
    #[error("this model needs a {}, which is read from a tokenizer.json only, and it has none", told(class))]
    UnknownTokenizer {
        /// The class that the checkpoint names.
        class: String,
    },
    /// A tokenizer or processor file is damaged.
    #[error("{file} cannot be used: {}", told(reason))]
    BadFile {
        /// Name inside the model folder.
        file: &'static str,
        reason: String,
    },
    /// Nothing to look at.
    #[error("the text is empty")]
    EmptyText,
    /// Brackets in the text, or tokens that do not end where they do.
    #[error("{0}")]
    Groups(#[from] GroupError),
    /// What is prepared by rules of a library has other letters than what was grouped.
    #[error("brackets group tokens of a text that is read as it is, not as sentence-transformers prepares it")]
    GroupsOfSentences,
    /// A template writes more than the text, so no bracket stands where it did.
    #[error("brackets group tokens of a text that is read as it is, not of one in a chat template")]
    GroupsOfChat,
    /// No template that could be written around a text.
    #[error("this model has no chat template")]
    NoChatTemplate,
    /// A turn is one text.
    #[error("a chat template is written around one text, not around a pair")]
    ChatOfPair,
    /// More tokens than the model reads, and nobody chose which of them.
    #[error("the {} {n} tokens, but the model reads at most {}", if *is_pair { "two texts have" } else { "text has" }, grouped(*limit))]
    TooLong {
        /// Tokens of the text or of both.
        n: TokenCount,
        limit: usize,
        is_pair: bool,
    },
    /// The same of what a decoder is made to write.
    #[error("the target has {n} tokens, but the decoder reads at most {}", grouped(*limit))]
    LongTarget { n: TokenCount, limit: usize },
    /// The special tokens alone fill the limit.
    #[error("a limit of {limit} tokens leaves no room for the text")]
    NoRoom { limit: usize, n_special: usize },
    /// The tokenizer gave up.
    #[error("the text cannot be tokenised: {}", told(.0))]
    Tokenize(String),
    /// The tokenizer's files promise something that they do not hold; the library broke off.
    #[error("the tokenizer of this model is damaged: it cannot be used on this text")]
    DamagedTokenizer,
    /// No ids at all.
    #[error("there are no token ids")]
    NoIds,
    /// A text where ids take the place of a text.
    #[error("the input is token ids, and “{0}” is no list of ids")]
    NoIdsToo(String),
    /// Another text for an input that has none.
    #[error("this input has no text, so no other text can stand in its place")]
    NoText,
    /// More ids than positions.
    #[error("there are {n} token ids, and the model reads at most {n_ctx}")]
    TooManyIds { n: usize, n_ctx: usize },
    /// An id outside the vocabulary.
    #[error("the token id {id} at position {position} is outside the vocabulary, which ends at {last}")]
    IdOutOfRange { id: u32, position: usize, last: usize },
    /// The picture file cannot be read.
    #[error("the picture cannot be read: {}", unreadable(.reason))]
    UnreadablePicture { reason: std::io::Error, path: PathBuf },
    /// Not a picture of a known format.
    #[error("this is not a picture that can be opened")]
    NotAPicture {
        /// Name or path.
        name: String,
    },
    /// A TIFF of a kind that is not read.
    #[error("this TIFF {}", told(what))]
    OtherTiff {
        what: String,
        /// Name or path.
        name: String,
    },
    /// Damaged or cut short.
    #[error("the picture is damaged or cut short: {}", told(reason))]
    DamagedPicture {
        reason: String,
        /// Name or path.
        name: String,
    },
    /// Larger than what is decoded.
    #[error("the picture has {width} × {height} pixels, more than the {limit} megapixels that can be opened")]
    HugePicture {
        width: u32,
        height: u32,
        limit: u64,
        /// Name or path.
        name: String,
    },
    /// Too long for its width.
    #[error("the picture is too thin to be scaled to the model's size")]
    ThinPicture { name: String },
    /// Larger than the size that pictures are filled up to.
    #[error(
        "the picture has {} × {} pixels when it is scaled, more than the {} × {} that pad_size of the image processor has",
        size_px.1, size_px.0, padded_px.1, padded_px.0
    )]
    BeyondPadding {
        /// Height and width of the scaled picture.
        size_px: (usize, usize),
        /// The same of what it is filled up to.
        padded_px: (usize, usize),
    },
    /// No sample of this name.
    #[error("there is no sample picture called “{0}”")]
    UnknownSample(String),
}

/// How a model without a tokenizer is still run.
const GIVE_IDS: &str = "record token ids, `attnscope capture --model FOLDER --ids 1,2,3 --out FILE.safetensors`, and open \
                        the recording";

impl InputError {
    /// What to do about it, and the path last; may be empty.
    pub fn details(&self) -> String {
        match self {
            Self::MissingTokenizer => {
                format!(
                    "Looked for tokenizer.json, a SentencePiece model (spiece.model, tokenizer.model, \
                     sentencepiece.bpe.model, spm.model, or source.spm with vocab.json), vocab.txt, and vocab.json with \
                     merges.txt; add one of them to the model's folder, or {GIVE_IDS}"
                )
            }
            Self::UnknownTokenizer { .. } => format!(
                "Save it once with the transformers library: AutoTokenizer.from_pretrained(…).save_pretrained(…) writes \
                 the file; or {GIVE_IDS}"
            ),
            Self::BadFile { file, .. } if file.contains("processor") => {
                "Compare it with the file of the original model, or record the attention in Python and open the \
                 recording, as docs/captures.md shows"
                    .to_owned()
            }
            Self::BadFile { .. } | Self::DamagedTokenizer => {
                "Fetch the file again from where the model came".to_owned()
            }
            Self::Groups(error) => error.details().to_owned(),
            Self::GroupsOfSentences => "Leave out --sentence-transformers or --brackets".to_owned(),
            Self::GroupsOfChat => "Leave out --chat or --brackets".to_owned(),
            Self::NoChatTemplate => "Leave out --chat: the text is read as it is then".to_owned(),
            Self::ChatOfPair => "Leave out --chat or --text-b".to_owned(),
            Self::EmptyText => "Type at least one word".to_owned(),
            Self::TooLong { limit, .. } => format!(
                "Choose what is read: the first {limit} tokens (--max-tokens {limit} on the command line) or the last \
                 (--max-tokens {limit} --keep last)"
            ),
            Self::LongTarget { .. } => "Shorten what the decoder is made to write".to_owned(),
            Self::NoRoom { n_special, .. } => format!("The tokenizer adds {n_special} special tokens; allow more"),
            Self::NoIds => "Give at least one id".to_owned(),
            Self::NoIdsToo(_) => "Give the ids, separated by commas".to_owned(),
            Self::TooManyIds { .. } => "Leave some out".to_owned(),
            Self::IdOutOfRange { .. } => "The ids may belong to another model's tokenizer".to_owned(),
            Self::UnreadablePicture { path, .. } => path.display().to_string(),
            Self::NotAPicture { name } => format!("{PICTURE_KINDS} are read: {name}"),
            Self::OtherTiff { name, .. } => format!("Save it as PNG: {name}"),
            Self::DamagedPicture { name, .. } => format!("The download may be incomplete: {name}"),
            Self::HugePicture { name, .. } => format!("Scale it down first: {name}"),
            Self::BeyondPadding { .. } => {
                "Choose a picture of another shape, or mend preprocessor_config.json".to_owned()
            }
            Self::ThinPicture { name } => format!("Cut out a squarer part first: {name}"),
            Self::UnknownSample(_) => format!("There are {}", bundled::samples().collect::<Vec<_>>().join(", ")),
            Self::Tokenize(_) | Self::NoText => String::new(),
        }
    }
}

impl From<InputError> for ModelError {
    fn from(error: InputError) -> Self {
        let (summary, details) = (error.to_string(), error.details());
        match error {
            InputError::TooLong { limit, .. } => Self::TooLong { summary, details, limit },
            _ => Self::Input { summary, details },
        }
    }
}

impl From<InputError> for LoadError {
    fn from(error: InputError) -> Self {
        Self::Input { summary: error.to_string(), details: error.details() }
    }
}
