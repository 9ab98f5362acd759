//! Errors of checkpoints and runs, in words for the person who chose them.
//!
//! `Display` is one sentence without a final period; `details` says what to do about it, with the
//! path last.

use crate::text::{capitalised, told};

/// The caller asked the work to stop; not an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cancelled")]
pub struct Cancelled;

/// What can be done about any model that runs in Python.
const CAPTURE_IN_PYTHON: &str = "record its attention in Python and open the recording, as docs/captures.md shows";

/// Why a checkpoint could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// Nothing at that path.
    #[error("there is nothing at this path")]
    NotFound { path: String },
    /// Neither at that path nor in the local cache.
    #[error("there is nothing at this path, and no model of this name in the local cache")]
    NotCached {
        /// What may be a path or a name on the hub.
        name: String,
    },
    /// A file that is not a weights file.
    #[error("this file is not a model")]
    NotAModel { path: String },
    /// A folder without `config.json`.
    #[error("this folder has no config.json, so it is not a model folder")]
    NoConfig { path: String },
    /// A weights file alone.
    #[error("{} is a weights file, but no config.json beside it says what model it belongs to", told(file))]
    LoneWeights { file: String, path: String },
    /// No weights, and nothing that tells where they are.
    #[error("this model folder has no weights, neither model.safetensors nor pytorch_model.bin")]
    NoWeights { path: String },
    /// A folder or a file that is something else, and is known for it.
    #[error("{}", told(what))]
    OtherKind {
        /// A sentence that says what it is.
        what: String,
        advice: String,
        path: String,
    },
    /// A file that cannot be read from disk.
    #[error("{} cannot be read: {source}", told(file))]
    Io { file: String, path: String, source: std::io::Error },
    /// `config.json` is not JSON, or says something impossible.
    #[error("{} is not valid: {}", told(file), told(reason))]
    Config { file: String, path: String, reason: String },
    /// A configuration that is in order, of something that is not computed here.
    #[error("this model cannot be opened: {}", told(reason))]
    Unsupported { file: String, path: String, reason: String },
    /// An architecture that has no family file.
    #[error("this model is of the type “{}”, which is not supported", told(model_type))]
    UnknownFamily {
        model_type: String,
        /// How many types are, and which of them are called like this one.
        supported: String,
        path: String,
    },
    /// An architecture whose attention cannot be shown.
    #[error("this model is of the type “{}”, which is not supported because {reason}", told(model_type))]
    Refused {
        model_type: String,
        /// What is different about it.
        reason: &'static str,
        path: String,
    },
    /// The weights file breaks its own format.
    #[error("{} is damaged: {}", told(file), told(reason))]
    Damaged { file: String, path: String, reason: String },
    /// A weights file that is whole, but of a kind that is not read.
    #[error("{} {}", told(file), told(what))]
    Foreign {
        file: String,
        path: String,
        /// What it is; follows the file's name.
        what: String,
        advice: &'static str,
    },
    /// Weights of fewer than 16 bits.
    #[error("the weights are quantised ({}), but attention is computed from 16- or 32-bit ones", told(how))]
    Quantised {
        /// The method or the number type.
        how: String,
        path: String,
    },
    /// More memory than there is; nothing was read yet.
    #[error("the model needs {} of memory, but only {} are free", size(*needed), size(*available))]
    TooLarge {
        /// Bytes of all weights in single precision, and of the largest tensor again.
        needed: u64,
        /// Bytes that are free, or that the engine may use.
        available: u64,
        path: String,
    },
    /// The index names a file outside the model's folder.
    #[error("{file} points to “{}”, which is outside the model's folder", told(shard))]
    ShardOutside { file: String, shard: String, path: String },
    /// A tensor the architecture cannot do without.
    #[error("the weights lack the tensor {}", told(name))]
    MissingTensor {
        /// The family's own name for it.
        name: String,
        path: String,
    },
    /// A tensor whose shape contradicts the configuration.
    #[error("the tensor {} has the shape {found:?}, but config.json implies {expected:?}", told(name))]
    WrongShape {
        name: String,
        /// The file's shape.
        found: Vec<usize>,
        /// The configuration's shape.
        expected: Vec<usize>,
        path: String,
    },
    /// A tensor of a number type that has no meaning here.
    #[error(
        "the tensor {} has the number type {}, which is not supported; supported are F32, F16, BF16 and F64",
        told(name),
        told(dtype)
    )]
    Dtype {
        name: String,
        /// The type the file declares.
        dtype: String,
        path: String,
    },
    /// NaN or infinity among the weights.
    #[error("the tensor {} contains numbers that are not finite", told(name))]
    NotFinite { name: String, path: String },
    /// The tokenizer or the image processor could not be set up.
    #[error("{}", told(summary))]
    Input {
        summary: String,
        /// What to do, and the path.
        details: String,
    },
    /// The engine refused; a bug rather than a bad file.
    #[error("the model could not be set up: {0}")]
    Engine(#[from] candle_core::Error),
    /// The caller asked to stop.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl LoadError {
    /// What to do about it, and the path last; may be empty.
    pub fn details(&self) -> String {
        match self {
            Self::NotFound { path } => {
                format!(
                    "No such folder or file exists; check the spelling, or drop the model's folder on the window: {}",
                    told(path)
                )
            }
            Self::NotCached { name } => {
                format!("Check the spelling, drop the model's folder on the window, or download {}", told(name))
            }
            Self::NotAModel { path } => {
                format!("Choose a model folder, or its .safetensors, .bin or .gguf file: {path}")
            }
            Self::NoConfig { path } => {
                format!("Choose the folder that holds config.json and the weights: {path}")
            }
            Self::LoneWeights { path, .. } => {
                format!("Put the model's config.json into the same folder: {path}")
            }
            Self::NoWeights { path } => format!("The download may be incomplete: {path}"),
            Self::OtherKind { advice, path, .. } => format!("{advice}: {}", told(path)),
            Self::Io { path, .. } => format!("Check that the file exists and that you may read it: {path}"),
            Self::Config { path, .. } => format!("Compare it with the original from where the model came: {path}"),
            Self::Unsupported { file, path, .. } => {
                format!("{file} is in order, but AttnScope would compute something else; {CAPTURE_IN_PYTHON}: {path}")
            }
            Self::Refused { path, .. } => {
                format!("Open a ViT, DeiT, BEiT or DINOv2 instead, or {CAPTURE_IN_PYTHON}: {path}")
            }
            Self::UnknownFamily { supported, path, .. } => {
                format!("{}. {supported}. Read from {path}", capitalised(CAPTURE_IN_PYTHON))
            }
            Self::Damaged { path, .. } => format!("The download may be incomplete; fetch the file again: {path}"),
            Self::Foreign { path, advice, .. } => format!("{advice}: {path}"),
            Self::Quantised { path, .. } => {
                format!("Open the model it was made from, or save `model.dequantize()` from Python: {path}")
            }
            Self::TooLarge { path, .. } => format!("Close other programs, or open a smaller model: {path}"),
            Self::ShardOutside { path, .. } => {
                format!("Do not use this model unless you trust where it came from: {path}")
            }
            Self::MissingTensor { path, .. } => {
                format!("The weights belong to another architecture or the file is incomplete: {path}")
            }
            Self::WrongShape { path, .. } => format!("config.json and the weights belong to different models: {path}"),
            Self::Dtype { path, .. } => {
                format!("Save the model again in Python, `model.float().save_pretrained(FOLDER)`: {path}")
            }
            Self::NotFinite { path, .. } => format!("The training diverged or the file is damaged: {path}"),
            Self::Input { details, .. } => details.clone(),
            Self::Engine(_) => "Please report this with the model's name".to_owned(),
            Self::Cancelled(_) => String::new(),
        }
    }
}

/// Bytes in words.
fn size(bytes: u64) -> String {
    match bytes as f64 {
        bytes if bytes >= 1e9 => format!("{:.1} GB", bytes / 1e9),
        bytes => format!("{:.1} MB", bytes / 1e6),
    }
}

/// What of a run that is too large could be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Instead {
    /// Without patterns and scores there is room.
    NoPatterns,
    /// Every site whose gradient is asked for takes its part.
    FewerSites,
    /// Nothing that is known to be enough.
    Nothing,
}

/// Why a run failed.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The input does not suit the model.
    #[error("{}", told(summary))]
    Input { summary: String, details: String },
    /// The text has more tokens than the model reads, and nobody chose which of them to read.
    #[error("{}", told(summary))]
    TooLong { summary: String, details: String, limit: usize },
    /// More memory than there is; nothing was computed yet.
    #[error("this run needs about {} of memory besides the model, but only {} are free", size(*needed), size(*available))]
    TooLarge {
        /// Bytes that the run takes at its peak, about.
        needed: u64,
        /// Bytes that are free, or that the engine may use.
        available: u64,
        /// Positions of the longest sequence.
        n: usize,
        /// Positions for which there would be room.
        fitting: usize,
        /// What would fit if less were asked for.
        instead: Instead,
    },
    /// An edit that does not fit the model or the input.
    #[error("this change cannot be made: {}", told(.0))]
    Edit(String),
    /// The model computed something that is not a number.
    #[error("the model's {what} contains numbers that are not finite")]
    NotFinite { what: String },
    /// The library has no second opinion about this checkpoint; why not.
    #[error("candle-transformers cannot be asked about this checkpoint: {}", told(.0))]
    Opinion(String),
    /// The engine refused; a bug rather than bad input.
    #[error("the forward pass failed: {0}")]
    Engine(#[from] candle_core::Error),
    /// What was recorded does not fit together; a bug.
    #[error("the recording is inconsistent: {0}")]
    Shape(#[from] crate::capture::ShapeError),
    /// The caller asked to stop.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl ModelError {
    /// A state that the code around it rules out.
    pub(crate) fn internal(what: &str) -> Self {
        Self::Engine(candle_core::Error::Msg(what.to_owned()))
    }

    /// How many tokens of a text that is too long could be read instead.
    pub const fn fitting(&self) -> Option<usize> {
        match *self {
            Self::TooLong { limit: fitting, .. } | Self::TooLarge { fitting, .. } if fitting > 0 => Some(fitting),
            _ => None,
        }
    }

    /// What to do about it; may be empty.
    pub fn details(&self) -> String {
        match self {
            Self::Input { details, .. } | Self::TooLong { details, .. } => details.clone(),
            Self::TooLarge { n, fitting: 0, .. } => {
                format!("Close other programs, or use a smaller model for an input of {n} tokens")
            }
            Self::TooLarge { n, fitting, instead, .. } => {
                let less = match instead {
                    Instead::NoPatterns => "leave out patterns and scores, without which all of it fits",
                    Instead::FewerSites => "ask for the gradients of fewer sites",
                    Instead::Nothing => "record less of it",
                };
                format!(
                    "Take the first {fitting} of the {n} tokens (--max-tokens {fitting} on the command line), {less}, \
                     or close other programs"
                )
            }
            Self::NotFinite { .. } => "The weights may be damaged, or too large for 32-bit numbers".to_owned(),
            Self::Engine(_) | Self::Shape(_) => "Please report this with the model's name and the input".to_owned(),
            Self::Edit(_) | Self::Opinion(_) | Self::Cancelled(_) => String::new(),
        }
    }
}
