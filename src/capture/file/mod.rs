//! Reading and writing capture files, from and to byte streams.
//!
//! Our own container is safetensors: one tensor per recorded site, all `f32`, named
//! `{stack}.{layer}.{site}`; facts that are no tensors are JSON in `__metadata__`. Nested lists in JSON and
//! NumPy arrays are read, too. Files of other programs are welcome as long as they have attention; what
//! they declare is believed only after it was checked, and nothing is allocated before that.
//!
//! - `header`, `read`: safetensors; `json` (with `lists`, `bertviz` and `gzip`), `npy`, `npz`, with what they share in
//!   `foreign`;
//! - `place`, `entry`, `metadata`, `content`: names, tensors and descriptions, whatever they came from;
//! - `assemble`, `record`, `values`: the checks, and the capture.

mod assemble;
mod bertviz;
mod entry;
mod foreign;
mod gzip;
mod header;
mod json;
mod lists;
mod metadata;
mod npy;
mod npz;
mod place;
mod read;
mod record;
mod values;
mod write;

use std::io::{self, BufRead, Seek};

use crate::{
    capture::{Capture, Site},
    ids::CaptureId,
    tensor_file,
    text::{told, unreadable},
};

pub use metadata::{edit_to_json, known_edit};
pub use write::write;

/// The containers that attention is read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Our own, which other programs write, too.
    Safetensors,
    /// Nested lists: layers, maybe a batch of one, heads, queries, keys.
    Json,
    /// The same, packed by gzip.
    JsonGz,
    /// One NumPy array with the same axes.
    Npy,
    /// Several NumPy arrays in one file.
    Npz,
}

impl Format {
    /// Judges by a file's name.
    pub fn of_name(name: &str) -> Option<Self> {
        let name = name.to_ascii_lowercase();
        if name.ends_with(".json.gz") {
            return Some(Self::JsonGz);
        }
        match name.rsplit_once('.')?.1 {
            "safetensors" => Some(Self::Safetensors),
            "json" => Some(Self::Json),
            "npy" => Some(Self::Npy),
            "npz" => Some(Self::Npz),
            _ => None,
        }
    }
}

/// Reads every capture of a file, one per input; never an empty list.
///
/// `fallback_name` names the model when the file does not; `new_id` gives each capture its identity.
/// A file without a description of its model gets one inferred from the shapes.
///
/// # Errors
/// See [`FileError`]; a tensor that cannot be used is named.
pub fn read(
    source: &mut (impl BufRead + Seek),
    format: Format,
    fallback_name: &str,
    new_id: &mut dyn FnMut() -> CaptureId,
) -> Result<Vec<Capture>, FileError> {
    match format {
        Format::Safetensors => read::read(source, fallback_name, new_id),
        Format::Json => json::read(source, fallback_name, new_id),
        Format::JsonGz => json::read(&mut gzip::unpacked(source)?, fallback_name, new_id),
        Format::Npy => npy::read(source, fallback_name, new_id),
        Format::Npz => npz::read(source, fallback_name, new_id),
    }
}

/// What a capture file can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FileSite {
    /// `{stack}.{layer}.q`: `[heads, n_query, d_head]`.
    Q,
    /// `{stack}.{layer}.k`: `[kv_heads, n_key, d_head]`.
    K,
    /// `{stack}.{layer}.v`: `[kv_heads, n_key, d_head]`.
    V,
    /// `{stack}.{layer}.scores`: `[heads, n_query, n_key]`.
    Scores,
    /// `{stack}.{layer}.pattern`: `[heads, n_query, n_key]`.
    Pattern,
    /// `{stack}.{layer}.z`: `[heads, n_query, d_head]`.
    Z,
    /// `{stack}.{layer}.resid_pre` and `{stack}.resid_final`: `[n, d_model]`.
    Resid,
    /// `{side}.embed`: `[n, d_embedding]`.
    Embed,
    /// `{stack}.{layer}.attn_out`: `[n, d_model]`.
    AttnOut,
    /// `{stack}.{layer}.resid_mid`: `[n, d_model]`.
    ResidMid,
    /// `{stack}.{layer}.mlp_hidden`: `[n, d_mlp]`.
    MlpHidden,
    /// `{stack}.{layer}.mlp_out`: `[n, d_model]`.
    MlpOut,
    /// `{stack}.{layer}.resid_post`: `[n, d_model]`.
    ResidPost,
    /// `logits`: `[n, vocab]` or `[classes]`.
    Logits,
}

impl FileSite {
    /// Every site, in the order they are written.
    pub const ALL: [Self; 14] = [
        Self::Q,
        Self::K,
        Self::V,
        Self::Scores,
        Self::Pattern,
        Self::Z,
        Self::Resid,
        Self::Embed,
        Self::AttnOut,
        Self::ResidMid,
        Self::MlpHidden,
        Self::MlpOut,
        Self::ResidPost,
        Self::Logits,
    ];

    /// What is written unless something else is asked for.
    pub const DEFAULT: [Self; 4] = [Self::Q, Self::K, Self::V, Self::Pattern];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Resid => "resid",
            Self::Logits => "logits",
            _ => self.sites().first().map_or("", |site| site.name()),
        }
    }

    /// The points of the forward pass that it stands for; the logits are none.
    pub const fn sites(self) -> &'static [Site] {
        match self {
            Self::Q => &[Site::Q],
            Self::K => &[Site::K],
            Self::V => &[Site::V],
            Self::Scores => &[Site::Scores],
            Self::Pattern => &[Site::Pattern],
            Self::Z => &[Site::Z],
            Self::Resid => &[Site::ResidPre, Site::ResidFinal],
            Self::Embed => &[Site::Embed],
            Self::AttnOut => &[Site::AttnOut],
            Self::ResidMid => &[Site::ResidMid],
            Self::MlpHidden => &[Site::MlpHidden],
            Self::MlpOut => &[Site::MlpOut],
            Self::ResidPost => &[Site::ResidPost],
            Self::Logits => &[],
        }
    }

    /// The site with this [`name`](Self::name).
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|site| site.name() == name)
    }
}

/// Why a capture file could not be read. Displays as one sentence for the user.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The bytes could not be read.
    #[error("The file could not be read: {}", unreadable(.0))]
    Io(#[from] io::Error),
    /// Not the container that was expected.
    #[error("This is not a capture file: {}", told(.0))]
    NotACapture(String),
    /// Written by a version that came later.
    #[error("This capture file has version {}, which only a newer AttnScope can open", told(.0))]
    Version(String),
    /// One tensor is not what it should be.
    #[error("The tensor {name} {}", told(problem))]
    Tensor {
        /// Its name, shortened when very long.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
    /// An entry of `__metadata__` is not what it should be.
    #[error("The file's description of the {entry} cannot be used: {}", told(problem))]
    Metadata {
        /// `model`, `tokens`, `input` or `image`.
        entry: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// Nothing in it is attention.
    #[error("There is no attention in this file: it needs tensors such as self.0.pattern, or attentions")]
    NoAttention,
}

impl FileError {
    fn tensor(name: &str, problem: impl Into<String>) -> Self {
        Self::Tensor { name: tensor_file::shown(name), problem: problem.into() }
    }
}
