//! Reads checkpoint weights: finds each tensor under its name, an older one, or inside a wrapper,
//! checks its shape, and reads it straight into `f32`. Matrices and tables of two bytes a number are kept so.
//!
//! Both formats, safetensors and PyTorch's own, come down to a table of tensors and where their
//! values lie. Nothing is mapped and no file is read whole, so memory peaks at the size of what the model
//! uses plus one tensor in `f32`. Nothing in a file is executed. No architecture is known here.

mod arrays;
mod blocks;
mod entry;
mod header;
mod joined;
mod linear;
mod lora;
mod memory;
mod names;
mod pickle;
mod quantized;
mod read;
mod refuse;
mod shards;
mod shelf;
mod tied;

use std::collections::{BTreeMap, BTreeSet};

use candle_core::{DType, Device, Tensor};

pub use self::memory::MemoryNeed;
pub(crate) use self::{
    arrays::ArrayFile,
    linear::{Factors, LinearPart, Stored},
    shards::{names as weight_files, tensor_names, wrapper as weights_wrapper},
    shelf::{Share, Shelf},
};
use self::{
    entry::{Dtype, TensorEntry},
    lora::Lora,
    names::{OLD_NAMES, Placement},
    quantized::Quantized,
};
use super::{
    ModelFiles,
    audit::{Audit, Role, TensorFact},
    formats::whose,
    quantization::Quantization,
};
use crate::{
    model::{
        LoadError,
        engine::Engine,
        kernels::{self, Half, RowTable, StoredMatrix},
        run::{Control, Progress, Stage},
    },
    text::counted,
};

/// Values of a table that are in single precision at once.
const TABLE_PIECE: usize = 1 << 22;

/// The tensors of one checkpoint, read on request.
pub(crate) struct Weights<'a> {
    files: &'a ModelFiles,
    control: &'a Control<'a>,
    device: Device,
    /// Names of the weight files.
    shards: Vec<String>,
    /// Tensor name to shard and place; the shard after the last one is the adapter's file.
    entries: BTreeMap<String, (usize, TensorEntry)>,
    /// Those that the files hold in few bits.
    quantized: BTreeMap<String, Quantized>,
    /// The adapter that is merged into what is read, or left out.
    adapter: Option<Lora<'a>>,
    /// Where weights are kept that the model has with its adapter and without it.
    share: Option<Share<'a>>,
    /// Tables that the adapter changes, with their names in the file.
    changed_tables: Vec<(RowTable, String)>,
    /// What all names begin with: that of a part whose family does not know that it is one.
    scope: &'static str,
    /// Where the file has what the family knows under its own prefix.
    placement: Option<Placement>,
    used: BTreeSet<String>,
    skipped: BTreeSet<String>,
    /// Where matrices are read before they are reordered.
    scratch: Vec<f32>,
    audit: Audit,
    /// Whether tensors are looked for and measured, and not read.
    rehearsing: bool,
}

impl<'a> Weights<'a> {
    /// Reads what all weight files declare, and refuses what cannot be loaded. `share` is that of a model with an adapter.
    pub fn open(
        files: &'a ModelFiles,
        (how, share): (Option<Quantization>, Option<Share<'a>>),
        engine: &Engine,
        control: &'a Control<'a>,
    ) -> Result<Self, LoadError> {
        let shards = shards::names(files)?;
        let mut entries = BTreeMap::new();
        let weights_source = match shards.as_slice() {
            [first, _, ..] => format!("{first} and {} more", shards.len() - 1),
            [single] => single.clone(),
            [] => String::new(),
        };
        let mut audit = Audit { weights_source, ..Audit::default() };
        for (idx, shard) in shards.iter().enumerate() {
            let (found, wrapper) = shards::open(files, shard)?;
            if !wrapper.is_empty() {
                audit.note_renamed("…", &format!("{wrapper}[…]"));
            }
            for (name, entry) in found {
                for wrapper in names::WRAPPERS.iter().filter(|wrapper| name.contains(**wrapper)) {
                    audit.note_renamed("…", &format!("{wrapper}…"));
                }
                entries.insert(names::without_wrappers(name), (idx, entry));
            }
        }
        let quantized = how.as_ref().map(|how| quantized::take(&mut entries, how, (files, &shards))).transpose();
        let quantized = quantized.map_err(|reason| refuse::quantized(files, reason))?.unwrap_or_default();
        if let Some(how) = how {
            refuse::unquantized(files, &how, &quantized)?;
            audit.warnings.extend((!quantized.is_empty()).then(|| how.told()));
        }
        let adapter = files.merged().map(|adapter| Lora::open(adapter, &entries)).transpose()?;
        let leaves_out = share.is_some_and(|share| share.leaves_out);
        for (name, entry) in adapter.iter().filter(|_| !leaves_out).flat_map(Lora::whole) {
            entries.insert(name.to_owned(), (shards.len(), entry.clone()));
        }
        audit.warnings.extend(adapter.as_ref().map(Lora::told));
        audit.adapter = files.merged().map(ModelFiles::default_name);
        let mut weights = Self {
            files,
            quantized,
            adapter,
            share,
            control,
            device: engine.device().clone(),
            shards,
            entries,
            changed_tables: Vec::new(),
            scope: "",
            placement: None,
            used: BTreeSet::new(),
            skipped: BTreeSet::new(),
            scratch: Vec::new(),
            audit,
            rehearsing: false,
        };
        refuse::check(files, &weights.entries, &weights.quantized)?;
        weights.check_memory(engine, leaves_out)?;
        weights.audit.dtypes = weights.dtypes();
        Ok(weights)
    }

    /// Lets `build` go through all it does without reading a number: each tensor is looked for, its shape is
    /// checked, and it is all zeros. What a configuration or a file is refused for is found so before
    /// gigabytes are read. Nothing of it stays.
    pub fn rehearse<R>(&mut self, build: impl FnOnce(&mut Self) -> R) -> R {
        let audit = self.audit.clone();
        self.rehearsing = true;
        let result = build(self);
        self.rehearsing = false;
        (self.audit, self.placement) = (audit, None);
        self.used.clear();
        self.skipped.clear();
        result
    }

    /// After a rehearsal: refuses an adapter of which the model has a part alone.
    pub fn check_adapter(&self) -> Result<(), LoadError> {
        self.merged().map_or(Ok(()), Lora::check_found)
    }

    /// Whether all numbers are zeros for now, so that nothing needs to be computed from them.
    pub const fn is_rehearsing(&self) -> bool {
        self.rehearsing
    }

    /// Lets `read` see only the tensors that begin with `scope`, without it: a model inside another.
    pub fn within<R>(&mut self, scope: &'static str, read: impl FnOnce(&mut Self) -> R) -> R {
        let outer = (std::mem::replace(&mut self.scope, scope), self.placement.take());
        let result = read(self);
        (self.scope, self.placement) = outer;
        result
    }

    /// Finds out what stands before the names of the body: `own` (such as `bert.`), nothing, or
    /// what wrappers added. `anchors` are body tensors, without prefix, of which every such checkpoint has one.
    /// Heads, whose names do not begin with `own`, are then looked for inside the wrappers and outside.
    pub fn set_prefix(&mut self, own: &'static str, anchors: &[&str]) {
        let names = self.entries.keys().map(String::as_str).filter(|name| name.starts_with(self.scope));
        self.placement = anchors.iter().find_map(|anchor| Placement::find(own, anchor, names.clone()));
        // A part always stands in another place than the same model alone.
        let renamed = self.placement.as_ref().filter(|_| self.scope.is_empty()).and_then(Placement::renamed);
        if let Some((expected, found)) = renamed {
            self.audit.note_renamed(&expected, &found);
        }
    }

    /// Why this is not what a configuration says, where the weights lack `missing`: whose they are, as far as their names
    /// tell.
    pub fn not_of(&self, described: &str, missing: &str) -> LoadError {
        let names: Vec<_> = self.entries.keys().map(String::as_str).collect();
        let (whose, advice) = if let Some((what, advice)) = whose(&names) {
            (format!("its weights are those of {what}"), advice)
        } else {
            let (first, count) = (names.first().unwrap_or(&"nothing"), counted(names.len(), "tensor"));
            let whose = format!("its weights have other names, the first of {count} is {first}");
            (whose, "Put the configuration of these weights beside them, or the weights of that model")
        };
        LoadError::OtherKind {
            what: format!("config.json describes {described}, but {whose}: {missing} is missing"),
            advice: advice.to_owned(),
            path: self.files.location(),
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
        if self.rehearsing {
            return self.zeros(shape);
        }
        Ok(Tensor::from_vec(values, shape, &self.device)?)
    }

    /// A table of embeddings `[rows, d_embedding]`, in the blocks or the two bytes of the file where that changes no
    /// number.
    ///
    /// # Errors
    /// As [`Self::tensor`], and when an adapter has a table of its own in its place.
    pub fn table(&mut self, name: &str, shape: &[usize]) -> Result<RowTable, LoadError> {
        let found = self.find(name);
        if let (Some(adapter), Some(found)) = (&self.adapter, &found) {
            adapter.check_table(found)?;
        }
        let is_changed = self.merged().is_some() && found.as_ref().is_some_and(|found| self.is_changed(found));
        if let Some(found) = found.clone().filter(|_| is_changed && !self.rehearsing) {
            let table = RowTable::Numbers(self.tensor(name, shape)?);
            self.changed_tables.push((table.clone(), found));
            return Ok(table);
        }
        let shared = self.shelf().zip(found.filter(|found| !self.is_changed(found)));
        if let Some((shelf, found)) = &shared
            && let Some(table) = shelf.table(found)
        {
            self.checked(name, shape)?;
            self.note_used(found.clone());
            return Ok(table);
        }
        let table = self.stored_table(name, shape)?;
        if let Some((shelf, found)) = shared {
            shelf.keep_table(&found, &table);
        }
        Ok(table)
    }

    fn stored_table(&mut self, name: &str, shape: &[usize]) -> Result<RowTable, LoadError> {
        let width = shape.last().copied().unwrap_or(0);
        if let Some(rows) = self.block_rows(&[(name.to_owned(), shape.to_vec())], width, Stored::OutIn, None)? {
            return Ok(RowTable::Blocks(rows));
        }
        self.narrow_table(name, shape).map(RowTable::Numbers)
    }

    fn narrow_table(&mut self, name: &str, shape: &[usize]) -> Result<Tensor, LoadError> {
        let half = self.find(name).and_then(|found| {
            let entry = &self.entries[&found].1;
            entry.dtype.and_then(Dtype::half).filter(|_| entry.order.is_none())
        });
        let is_changed = self.find(name).is_some_and(|found| self.is_changed(&found));
        match half.filter(|_| kernels::has_kernels(&self.device) && !is_changed && !self.rehearsing) {
            Some(half) => self.read_narrow(name, shape, half),
            None => self.tensor(name, shape),
        }
    }

    /// Reads a table in pieces, so that it never lies in memory in single precision.
    fn read_narrow(&mut self, name: &str, shape: &[usize], half: Half) -> Result<Tensor, LoadError> {
        let found = self.checked(name, shape)?;
        let n = self.entries[&found].1.n_values();
        let mut table = kernels::NarrowTable::new(half, shape);
        let mut piece = vec![0.0; n.min(TABLE_PIECE)];
        for first in (0..n).step_by(TABLE_PIECE) {
            (self.control)(Progress { stage: Stage::Load, done: self.used.len(), total: self.entries.len() })?;
            piece.truncate(n - first);
            self.fill_from(&found, first, &mut piece)?;
            // Widening and narrowing a number of the file gives it back.
            if !table.push(&piece) {
                return self.tensor(name, shape);
            }
        }
        self.audit.n_params += n as u64;
        self.audit.n_bytes += kernels::bytes_of(n as u64);
        self.note_half(n);
        self.note_used(found);
        Ok(table.finish(shape)?)
    }

    /// Notes that so many numbers that were read are kept in two bytes each.
    fn note_half(&mut self, n_values: usize) {
        let n_values = n_values as u64;
        self.audit.n_bytes -= kernels::bytes_of(n_values) - StoredMatrix::bytes_of(n_values, Some(Half::Bf16));
    }

    /// A single zero that looks like a tensor of this shape, so that a rehearsal takes no memory.
    fn zeros(&self, shape: &[usize]) -> Result<Tensor, LoadError> {
        Ok(Tensor::zeros((), DType::F32, &self.device)?.broadcast_as(shape)?)
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

    /// Notes that tensors whose names begin so are not needed.
    pub fn skip_all(&mut self, beginning: &str) {
        self.skipped.extend(self.entries.keys().filter(|name| name.starts_with(beginning)).cloned());
    }

    /// Notes that the checkpoint lacks something optional.
    pub fn note_absent(&mut self, name: &str) {
        self.audit.absent.push(name.to_owned());
    }

    /// The tensor that was last noted as absent.
    pub fn last_absent(&self) -> Option<&str> {
        self.audit.absent.last().map(String::as_str)
    }

    /// Leaves a sentence for the user.
    pub fn warn(&mut self, sentence: &str) {
        self.audit.warnings.push(sentence.to_owned());
    }

    /// What was read and what was left over.
    pub fn finish(mut self) -> Audit {
        self.audit.n_loaded = self.used.len();
        let role = |name: &String| match (self.used.contains(name), self.skipped.contains(name)) {
            (true, _) => Role::Used,
            (false, true) => Role::Skipped,
            (false, false) => Role::Unexpected,
        };
        let fact = |(name, (_, entry)): (&String, &(usize, TensorEntry))| TensorFact {
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
        self.warn_of_companions();
        self.audit
    }

    /// Tells of tensors that belong to maps and norms in use and that the model does not know: scales, biases, or the
    /// weights of a method whose names nobody here has heard of.
    fn warn_of_companions(&mut self) {
        let used: BTreeSet<&str> = self.used.iter().filter_map(|name| name.strip_suffix(".weight")).collect();
        let belongs = |name: &&String| name.match_indices('.').any(|(at, _)| used.contains(&name[..at]));
        let companions: Vec<_> = self.audit.unexpected.iter().filter(belongs).collect();
        let Some(first) = companions.first() else { return };
        let sentence = format!(
            "Beside weights in use lie {}, such as {first}, that the model does not know: as in transformers, they change \
             nothing",
            counted(companions.len(), "tensor")
        );
        self.audit.warnings.push(sentence);
    }

    /// Reads tensors one after the other; in a rehearsal only their names and shapes are checked. The result is the format
    /// of two bytes in which the file has all of them, if there is one.
    fn read_into(&mut self, values: &mut Vec<f32>, parts: &[(String, Vec<usize>)]) -> Result<Option<Half>, LoadError> {
        // All shapes are checked before anything of that size is allocated; a checked shape is
        // backed by as many bytes in the file.
        let mut found = Vec::with_capacity(parts.len());
        for (name, shape) in parts {
            let found_as = self.checked(name, shape)?;
            self.meets(&found_as, shape)?;
            found.push((found_as, shape.iter().product::<usize>()));
        }
        let n: usize = found.iter().map(|(_, n)| n).sum();
        if self.rehearsing {
            return Ok(None);
        }
        let formats: BTreeSet<_> = found.iter().map(|(name, _)| self.entries[name].1.dtype).collect();
        let half = formats.first().copied().flatten().and_then(Dtype::half).filter(|_| formats.len() == 1);
        if values.is_empty() {
            // Zeroed memory from the system costs nothing until it is read into. A table has room for a
            // last whole panel, should it become one with an output map.
            let room = match parts {
                [(_, shape)] if shape.len() == 2 => StoredMatrix::room_of(shape[0], shape[1]),
                _ => n,
            };
            *values = vec![0.0; room];
            values.truncate(n);
        } else {
            values.resize(n, 0.0);
        }
        let mut rest = values.as_mut_slice();
        for (name, n) in found {
            let (part, after) = rest.split_at_mut(n);
            rest = after;
            (self.control)(Progress { stage: Stage::Load, done: self.used.len(), total: self.entries.len() })?;
            let (shard, entry) = &self.entries[&name];
            match (self.merged(), self.shards.get(*shard)) {
                (Some(adapter), None) => adapter.fill(&name, part)?,
                (adapter, _) => {
                    self.fill_from(&name, 0, part)?;
                    adapter.map_or(Ok(()), |adapter| adapter.add(&name, part))?;
                }
            }
            self.audit.n_params += entry.n_values() as u64;
            self.audit.n_bytes += kernels::bytes_of(entry.n_values() as u64);
            self.note_used(name);
        }
        Ok(half)
    }

    /// Fills `out` with the numbers of a tensor from `first` on, of all that are in order or few bits; else with all.
    fn fill_from(&self, name: &str, first: usize, out: &mut [f32]) -> Result<(), LoadError> {
        if let Some(quantized) = self.quantized.get(name) {
            return quantized.fill((self.files, &self.shards), name, first, out);
        }
        let (shard, entry) = &self.entries[name];
        let shard = self.shards.get(*shard).map_or("", String::as_str);
        match entry.dtype.filter(|_| entry.is_plain()) {
            Some(dtype) => read::fill_from(self.files, shard, (name, dtype, entry.start), first, out),
            None => read::fill(self.files, shard, name, entry, out),
        }
    }

    /// Notes that a tensor was read, and what scales it with it.
    fn note_used(&mut self, name: String) {
        let companions = self.quantized.get(&name).map(|quantized| quantized.companions.clone());
        self.used.extend(companions.into_iter().flatten());
        self.used.insert(name);
    }

    /// The name in the file, when the tensor is there with a usable type and the expected shape.
    fn checked(&mut self, name: &str, shape: &[usize]) -> Result<String, LoadError> {
        let path = || self.files.location();
        let Some(found) = self.find(name) else {
            return Err(LoadError::MissingTensor { name: name.to_owned(), path: path() });
        };
        let entry = &self.entries[&found].1;
        if entry.dtype.is_none() {
            return Err(LoadError::Dtype { name: found, dtype: entry.dtype_name.clone(), path: path() });
        }
        if entry.shape != shape {
            let (found_shape, expected) = (entry.shape.clone(), shape.to_vec());
            return Err(LoadError::WrongShape { name: found, found: found_shape, expected, path: path() });
        }
        for (new, old) in OLD_NAMES {
            if name.ends_with(new) && found.ends_with(old) {
                self.audit.note_renamed(&format!("….{new}"), &format!("….{old}"));
            }
        }
        Ok(found)
    }

    /// The name under which the file has a tensor that the family calls `name`.
    fn find(&self, name: &str) -> Option<String> {
        let placed = match &self.placement {
            None => vec![format!("{}{name}", self.scope)],
            Some(placement) => placement.candidates(name),
        };
        let old = placed.iter().flat_map(|placed| {
            OLD_NAMES.iter().filter_map(|(new, old)| Some(format!("{}{old}", placed.strip_suffix(new)?)))
        });
        placed.iter().cloned().chain(old).find(|name| self.entries.contains_key(name))
    }

    /// Refuses a model that does not fit, before anything is allocated for it.
    fn check_memory(&self, engine: &Engine, leaves_out: bool) -> Result<(), LoadError> {
        // Without the adapter, most of what it does not change is there already.
        let shelf = self.share.filter(|_| leaves_out).map(|share| share.shelf);
        let is_there = |name: &str| !self.is_changed(name) && shelf.is_some_and(|shelf| shelf.holds(name));
        let bytes = memory::needed(&self.entries, &self.quantized, self.merged(), is_there);
        MemoryNeed { bytes, free_bytes: engine.available_memory() }.check(self.files)
    }

    fn dtypes(&self) -> Vec<(String, usize)> {
        let mut counts = BTreeMap::<&str, usize>::new();
        for (_, entry) in self.entries.values() {
            *counts.entry(&entry.dtype_name).or_default() += 1;
        }
        counts.into_iter().map(|(name, n)| (name.to_owned(), n)).collect()
    }
}
