//! Reads checkpoint weights: finds each tensor under its name or an older one, checks its shape, and
//! reads it straight into `f32`.
//!
//! Nothing is mapped and no file is read whole, so memory peaks at the `f32` size of what the model
//! uses. No architecture is known here.

mod header;
mod linear;
mod read;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Component, Path},
};

use candle_core::{Device, Tensor};

use self::header::Entry;
pub(crate) use self::linear::Part;
use super::{
    Control, LoadError, ModelFiles, Progress, Stage,
    audit::{Audit, Role, TensorFact},
};

const SINGLE: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";
/// Weights in formats that are not read, to say so.
const OTHER_FORMATS: [&str; 5] =
    ["pytorch_model.bin", "pytorch_model.bin.index.json", "tf_model.h5", "flax_model.msgpack", "model.onnx"];

/// The tensors of one checkpoint, read on request.
pub(crate) struct Weights<'a> {
    files: &'a ModelFiles,
    control: &'a Control<'a>,
    device: Device,
    /// Names of the weight files.
    shards: Vec<String>,
    /// Tensor name to shard and place.
    entries: BTreeMap<String, (usize, Entry)>,
    /// The family's own prefix, such as `bert.`, and what the file has in its place.
    prefix: Option<(&'static str, String)>,
    used: BTreeSet<String>,
    skipped: BTreeSet<String>,
    /// Where matrices are read before they are reordered.
    scratch: Vec<f32>,
    audit: Audit,
}

impl<'a> Weights<'a> {
    /// Reads the headers of all weight files.
    pub fn open(files: &'a ModelFiles, device: Device, control: &'a Control<'a>) -> Result<Self, LoadError> {
        let shards = shard_names(files)?;
        let mut entries = BTreeMap::new();
        for (idx, shard) in shards.iter().enumerate() {
            let (mut reader, len) = files.reader(shard).map_err(|source| LoadError::Io {
                file: shard.clone(),
                path: files.location_of(shard),
                source,
            })?;
            let found = header::read(&mut *reader, len).map_err(|reason| LoadError::Damaged {
                file: shard.clone(),
                path: files.location_of(shard),
                reason,
            })?;
            entries.extend(found.into_iter().map(|(name, entry)| (name, (idx, entry))));
        }
        let mut weights = Self {
            files,
            control,
            device,
            shards,
            entries,
            prefix: None,
            used: BTreeSet::new(),
            skipped: BTreeSet::new(),
            scratch: Vec::new(),
            audit: Audit::default(),
        };
        weights.audit.dtypes = weights.dtypes();
        Ok(weights)
    }

    /// Finds out what stands before the names of the body: `own` (such as `bert.`), nothing, or
    /// what a wrapper added. `anchor` is a body tensor that every such checkpoint has, without prefix.
    pub fn set_prefix(&mut self, own: &'static str, anchor: &str) {
        let found = self.entries.keys().find_map(|name| name.strip_suffix(anchor)).map(str::to_owned);
        if let Some(found) = found {
            if found != own {
                self.audit.renamed.push((format!("{own}…"), format!("{found}…")));
            }
            self.prefix = Some((own, found));
        }
    }

    /// Whether the checkpoint has this tensor under any of its names.
    pub fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// The shape the file declares for a tensor.
    pub fn shape(&self, name: &str) -> Option<&[usize]> {
        self.find(name).map(|found| self.entries[&found].1.shape.as_slice())
    }

    /// A tensor the model cannot do without.
    pub fn tensor(&mut self, name: &str, shape: &[usize]) -> Result<Tensor, LoadError> {
        let mut values = Vec::new();
        self.read_into(&mut values, &[(name.to_owned(), shape.to_vec())])?;
        Ok(Tensor::from_vec(values, shape, &self.device)?)
    }

    /// A tensor the model can do without; noted as absent when it is.
    pub fn optional(&mut self, name: &str, shape: &[usize]) -> Result<Option<Tensor>, LoadError> {
        if self.has(name) {
            return self.tensor(name, shape).map(Some);
        }
        self.audit.absent.push(name.to_owned());
        Ok(None)
    }

    /// Notes that a tensor is a copy of another one and is not needed.
    pub fn skip(&mut self, name: &str) {
        self.skipped.extend(self.find(name));
    }

    /// Notes that the checkpoint lacks something optional.
    pub fn note_absent(&mut self, name: &str) {
        self.audit.absent.push(name.to_owned());
    }

    /// What was read and what was left over.
    pub fn finish(mut self) -> Audit {
        self.audit.n_loaded = self.used.len();
        let role = |name: &String| match (self.used.contains(name), self.skipped.contains(name)) {
            (true, _) => Role::Used,
            (false, true) => Role::Skipped,
            (false, false) => Role::Unexpected,
        };
        let fact = |(name, (_, entry)): (&String, &(usize, Entry))| TensorFact {
            name: name.clone(),
            dtype: entry.dtype_name.clone(),
            shape: entry.shape.clone(),
            role: role(name),
        };
        self.audit.tensors = self.entries.iter().map(fact).collect();
        self.audit.unexpected = self
            .entries
            .keys()
            .filter(|name| !self.used.contains(*name) && !self.skipped.contains(*name))
            .cloned()
            .collect();
        self.audit
    }

    /// Reads tensors one after the other.
    fn read_into(&mut self, values: &mut Vec<f32>, parts: &[(String, Vec<usize>)]) -> Result<(), LoadError> {
        // All shapes are checked before anything of that size is allocated; a checked shape is
        // backed by as many bytes in the file.
        let mut found = Vec::with_capacity(parts.len());
        for (name, shape) in parts {
            found.push((self.checked(name, shape)?, shape.iter().product::<usize>()));
        }
        let n: usize = found.iter().map(|(_, n)| n).sum();
        if values.is_empty() {
            // Zeroed memory from the system costs nothing until it is read into.
            *values = vec![0.0; n];
        } else {
            values.resize(n, 0.0);
        }
        let mut rest = values.as_mut_slice();
        for (name, n) in found {
            let (part, after) = rest.split_at_mut(n);
            rest = after;
            (self.control)(Progress { stage: Stage::Load, done: self.used.len(), total: self.entries.len() })?;
            let (shard, entry) = &self.entries[&name];
            read::fill(self.files, &self.shards[*shard], &name, entry, part)?;
            self.audit.n_params += entry.n_values() as u64;
            self.used.insert(name);
        }
        Ok(())
    }

    /// The name in the file, when the tensor is there with the expected shape.
    fn checked(&mut self, name: &str, shape: &[usize]) -> Result<String, LoadError> {
        let path = || self.files.location();
        let Some(found) = self.find(name) else {
            return Err(LoadError::MissingTensor { name: name.to_owned(), path: path() });
        };
        let entry = &self.entries[&found].1;
        if entry.shape != shape {
            let (found_shape, expected) = (entry.shape.clone(), shape.to_vec());
            return Err(LoadError::WrongShape { name: found, found: found_shape, expected, path: path() });
        }
        if entry.dtype.is_none() {
            return Err(LoadError::Dtype { name: found, dtype: entry.dtype_name.clone(), path: path() });
        }
        for (new, old) in OLD_NAMES {
            let renamed = (format!("….{new}"), format!("….{old}"));
            if name.ends_with(new) && found.ends_with(old) && !self.audit.renamed.contains(&renamed) {
                self.audit.renamed.push(renamed);
            }
        }
        Ok(found)
    }

    /// The name under which the file has a tensor that the family calls `name`.
    fn find(&self, name: &str) -> Option<String> {
        let placed = match &self.prefix {
            None => name.to_owned(),
            Some((own, found)) => match name.strip_prefix(own) {
                Some(rest) => format!("{found}{rest}"),
                // A head: what a wrapper put before the body stands before the head too.
                None => format!("{}{name}", found.strip_suffix(own).unwrap_or_default()),
            },
        };
        if self.entries.contains_key(&placed) {
            return Some(placed);
        }
        OLD_NAMES
            .iter()
            .filter_map(|(new, old)| placed.strip_suffix(new).map(|stem| format!("{stem}{old}")))
            .find(|name| self.entries.contains_key(name))
    }

    fn dtypes(&self) -> Vec<(String, usize)> {
        let mut counts = BTreeMap::<&str, usize>::new();
        for (_, entry) in self.entries.values() {
            *counts.entry(&entry.dtype_name).or_default() += 1;
        }
        counts.into_iter().map(|(name, n)| (name.to_owned(), n)).collect()
    }
}

/// How old TensorFlow conversions call the parameters of a norm.
const OLD_NAMES: [(&str, &str); 2] = [("LayerNorm.weight", "LayerNorm.gamma"), ("LayerNorm.bias", "LayerNorm.beta")];

/// The weight files of a checkpoint: the one the user chose, `model.safetensors`, or what an index lists.
fn shard_names(files: &ModelFiles) -> Result<Vec<String>, LoadError> {
    let part_of_index = |name: &str| name.contains("-of-") && files.contains(INDEX);
    match files.chosen_weights() {
        Some(chosen) if !part_of_index(chosen) => return Ok(vec![chosen.to_owned()]),
        _ if files.contains(SINGLE) => return Ok(vec![SINGLE.to_owned()]),
        _ => {}
    }
    let Some(bytes) = files.read(INDEX) else {
        let other = OTHER_FORMATS.into_iter().find(|name| files.contains(name)).map(str::to_owned);
        return Err(LoadError::NoWeights { path: files.location(), other });
    };
    let (file, path) = (INDEX.to_owned(), files.location_of(INDEX));
    let bytes = bytes.map_err(|source| LoadError::Io { file: file.clone(), path: path.clone(), source })?;
    let damaged = |reason: String| LoadError::Damaged { file: file.clone(), path: path.clone(), reason };
    let index: serde_json::Value =
        serde_json::from_slice(&bytes).map_err(|error| damaged(format!("it is not JSON ({error})")))?;
    let map = index["weight_map"].as_object().ok_or_else(|| damaged("it has no weight_map".to_owned()))?;
    let mut shards = BTreeSet::new();
    for shard in map.values() {
        let shard = shard.as_str().ok_or_else(|| damaged("a file name is not text".to_owned()))?;
        if !stays_inside(shard) {
            return Err(LoadError::ShardOutside { file, shard: shard.to_owned(), path });
        }
        shards.insert(shard.to_owned());
    }
    Ok(shards.into_iter().collect())
}

/// Whether a relative name cannot leave the folder it is relative to, on any platform.
fn stays_inside(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    !name.is_empty() && !name.contains(['\\', ':']) && parts.all(|part| matches!(part, Component::Normal(_)))
}
