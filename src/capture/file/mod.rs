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

use std::{
    collections::BTreeSet,
    io::{self, BufRead, Seek},
};

use crate::{
    capture::{Capture, Site, Sites},
    ids::CaptureId,
    tensor_file,
    text::{told, unreadable},
};

pub use gzip::unpacked;
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

/// What is written of a capture, where it was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contents {
    /// `{stack}.{layer}.{site}`, `{stack}.{site}` of what a stack has once, and `{side}.embed`.
    pub sites: Sites,
    /// `logits`: `[n, vocab]` or `[classes]`.
    pub logits: bool,
}

impl Contents {
    /// Everything.
    pub const ALL: Self = Self { sites: Sites::all(), logits: true };

    /// What is written unless something else is asked for.
    pub const DEFAULT: Self = Self { sites: Sites::standard(), logits: false };

    const LOGITS: &str = "logits";

    /// These sites alone.
    pub const fn of(sites: &[Site]) -> Self {
        Self { sites: Sites::of(sites), logits: false }
    }

    /// The names that can be chosen.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let mut names: Vec<_> = Site::ALL.into_iter().map(|site| (!site.is_per_head(), site.spec().choice)).collect();
        // Those of heads first; one name may stand for several sites.
        names.sort_by_key(|(last, _)| *last);
        let mut seen = BTreeSet::new();
        names.retain(|(_, name)| seen.insert(*name));
        names.into_iter().map(|(_, name)| name).chain([Self::LOGITS])
    }

    /// What one of [`Self::names`] stands for.
    pub fn named(name: &str) -> Option<Self> {
        let chosen = Site::ALL.into_iter().filter(|site| site.spec().choice == name);
        let sites = chosen.fold(Sites::NONE, Sites::with);
        let logits = name == Self::LOGITS;
        (logits || !sites.is_empty()).then_some(Self { sites, logits })
    }

    /// What is in one of both.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self { sites: self.sites.union(other.sites), logits: self.logits || other.logits }
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
        problem: String,
    },
    /// An entry of `__metadata__` is not what it should be.
    #[error("The file's description of the {entry} cannot be used: {}", told(problem))]
    Metadata {
        /// `model`, `tokens`, `input` or `image`.
        entry: &'static str,
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
