//! Models in GGUF files, the format of llama.cpp: one file with metadata, a tokenizer and tensors, seen as a checkpoint in
//! Hugging Face's layout.

mod architectures;
mod config;
mod container;
mod facts;
mod meta;
mod names;
mod split;
mod tables;
mod tokenizer;
mod types;

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{self, Read, Seek, SeekFrom},
};

use serde_json::Value;

use crate::{model::kernels::BlockType, tensor_file::shown};

pub use self::tokenizer::gguf_tokenizer;
pub(crate) use self::{container::MAGIC, names::MappedTensor};
use self::{
    container::{Container, StoredTensor},
    facts::Facts,
    meta::{MetaTexts, MetaValue},
    names::HeadCounts,
};

/// Small tensors that belong to the configuration.
const FACTORS: [&str; 3] = ["rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight"];
/// More numbers than any of them has.
const MAX_FACTORS: usize = 1 << 16;

/// A model, as what a checkpoint in Hugging Face's layout would have.
#[derive(Clone, Debug)]
pub(crate) struct GgufModel {
    /// `config.json` and what else its metadata stand for, by name.
    pub files: BTreeMap<String, Vec<u8>>,
    pub tensors: Vec<MappedTensor>,
    /// The key of the metadata, or the tensor, that each value of `config.json` is from.
    pub sources: BTreeMap<String, String>,
}

/// A file of which all but the numbers of tensors was read.
pub(crate) struct GgufFile<R> {
    name: String,
    file: R,
    container: Container,
}

impl<R: Read + Seek> GgufFile<R> {
    /// Reads what stands before the tensors of a file of `file_len` bytes.
    pub fn read(name: String, mut file: R, file_len: u64) -> Result<Self, GgufError> {
        let container = Container::read(&mut file, file_len).map_err(GgufError::Damaged)?;
        Ok(Self { name, file, container })
    }

    /// The names of all files of its model, in order.
    pub fn names_of_parts(&self) -> Result<Vec<String>, GgufError> {
        split::names(&self.name, &self.container)
    }
}

/// Why a file does not open.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GgufError {
    /// A clause that says what is wrong with the file.
    #[error("{0}")]
    Damaged(String),
    /// A clause that says what of a file in good order is not read.
    #[error("{0}")]
    Unsupported(String),
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl GgufModel {
    /// The model of one file, or of all its parts in order.
    pub fn of<R: Read + Seek>(mut parts: Vec<GgufFile<R>>) -> Result<Self, GgufError> {
        if parts.len() > 1 {
            let all: Vec<_> = parts.iter().map(|part| (part.name.as_str(), &part.container)).collect();
            split::check(&all)?;
        }
        let mut tensors = Vec::new();
        let mut factors = BTreeMap::new();
        for (idx, GgufFile { file, container, .. }) in parts.iter_mut().enumerate() {
            for tensor in &mut container.tensors {
                tensor.part = idx;
            }
            factors.extend(self::factors(file, &container.tensors)?);
            tensors.append(&mut container.tensors);
        }
        let mut names = BTreeSet::new();
        if let Some(twice) = tensors.iter().find(|tensor| !names.insert(&tensor.name)) {
            return Err(GgufError::Damaged(format!("its tensor {} is given in two parts", twice.name)));
        }
        let metadata = parts.into_iter().next().map(|part| part.container.metadata).unwrap_or_default();
        Self::from_parts(&metadata, &tensors, factors)
    }

    /// Of metadata, tensors, and the numbers of those that belong to the metadata.
    fn from_parts(
        metadata: &BTreeMap<String, MetaValue>,
        tensors: &[StoredTensor],
        factors: BTreeMap<String, Vec<f32>>,
    ) -> Result<Self, GgufError> {
        let general = |key: &str| metadata.get(&format!("general.{key}")).and_then(MetaValue::as_str);
        let architecture =
            general("architecture").ok_or_else(|| GgufError::Damaged("it has no general.architecture".to_owned()))?;
        let is_model = general("type").is_none_or(|kind| kind == "model");
        let known = architectures::of_name(architecture).filter(|_| is_model).ok_or_else(|| {
            let architecture = shown(architecture);
            GgufError::Unsupported(match general("type").filter(|_| !is_model) {
                Some(kind) => {
                    format!("it holds no model, but what its general.type calls “{}”", shown(kind))
                }
                None => format!(
                    "llama.cpp’s architecture “{architecture}” is not supported in this format, only {}",
                    architectures::known()
                ),
            })
        })?;
        let is_read =
            |name: &str| ["F64", "F32", "F16", "BF16"].contains(&name) || BlockType::from_name(name).is_some();
        if let Some(StoredTensor { name, kind, .. }) = tensors.iter().find(|tensor| !is_read(tensor.kind.name)) {
            return Err(GgufError::Unsupported(format!(
                "its tensor {name} is stored as {}, which is not read",
                kind.name
            )));
        }
        let facts = Facts::new(metadata, architecture, tensors, factors);
        let config = (known.config)(&facts).map_err(GgufError::Unsupported)?;
        let heads = HeadCounts::of(&facts).map_err(GgufError::Unsupported)?;
        // What old converters noted of where the weights came from.
        facts.leave(&["tensor_data_layout"]);
        facts.check_all_asked().map_err(GgufError::Unsupported)?;
        let tables = (known.tables)(&facts);
        let mut mapped = Vec::with_capacity(tensors.len());
        for tensor in tensors {
            mapped.extend(names::mapped(tensor, &tables, heads).map_err(GgufError::Unsupported)?);
        }
        let sources = config.sources;
        let config = serde_json::to_vec_pretty(&Value::Object(config.values)).map_err(io::Error::other)?;
        let mut files = BTreeMap::from([("config.json".to_owned(), config)]);
        files.extend(tokenizer::files(metadata).map_err(GgufError::Unsupported)?);
        Ok(Self { files, tensors: mapped, sources })
    }
}

/// The numbers of the tensors in [`FACTORS`] that a file has.
fn factors<R: Read + Seek>(file: &mut R, tensors: &[StoredTensor]) -> Result<BTreeMap<String, Vec<f32>>, GgufError> {
    let mut factors = BTreeMap::new();
    for tensor in tensors.iter().filter(|tensor| FACTORS.contains(&tensor.name.as_str())) {
        let StoredTensor { name, shape, kind, start, n_bytes, .. } = tensor;
        let n: usize = shape.iter().product();
        if kind.name != "F32" || n > MAX_FACTORS {
            return Err(GgufError::Damaged(format!("its tensor {name} has {n} numbers of the type {}", kind.name)));
        }
        let mut bytes = vec![0; *n_bytes as usize];
        file.seek(SeekFrom::Start(*start))?;
        file.read_exact(&mut bytes)?;
        let (numbers, _) = bytes.as_chunks();
        let numbers: Vec<f32> = numbers.iter().map(|number| f32::from_le_bytes(*number)).collect();
        if !numbers.iter().all(|number| number.is_finite()) {
            return Err(GgufError::Damaged(format!("its tensor {name} has numbers that are not finite")));
        }
        factors.insert(name.clone(), numbers);
    }
    Ok(factors)
}
