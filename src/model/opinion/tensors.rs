//! A checkpoint's tensors as the library itself reads its files.

use std::{
    collections::{BTreeMap, HashMap},
    io::Read as _,
};

use candle_core::{DType, Device, Tensor, pickle, safetensors};
use candle_nn::VarBuilder;

use crate::model::{
    LoadError, ModelError,
    checkpoint::{ModelFiles, weight_files, weights_wrapper},
    run::{Control, Progress, Stage},
};

/// As many matrices of one kind as it takes to call one of them unlike the others.
const MIN_ALIKE: usize = 2;
/// By what factor the root mean square of such a matrix differs. Those of trained models stay within three.
const UNLIKE: f32 = 10.0;
/// The same of weights and biases of norms and of biases of maps, which trained models spread more widely.
const UNLIKE_VECTOR: f32 = 100.0;

/// Tensors by name, widened to 32 bits.
#[derive(Clone)]
pub(crate) struct Tensors(HashMap<String, Tensor>);

impl Tensors {
    /// Bytes of so many values.
    pub const fn bytes_of(n_values: u64) -> u64 {
        n_values.saturating_mul(size_of::<f32>() as u64)
    }

    /// Reads all weight files. They were opened before by our own reader, which refuses what is damaged.
    pub fn read(files: &ModelFiles, device: &Device, control: &Control<'_>) -> Result<Self, ModelError> {
        let failed = |error: LoadError| ModelError::Opinion(error.to_string());
        let names = weight_files(files).map_err(failed)?;
        let mut tensors = HashMap::new();
        for (done, name) in names.iter().enumerate() {
            control(Progress { stage: Stage::Load, done, total: names.len() })?;
            for (name, tensor) in shard(files, name, device)? {
                if tensor.dtype().is_float() {
                    tensors.insert(name, tensor.to_dtype(DType::F32)?);
                }
            }
        }
        Ok(Self(tensors))
    }

    /// Takes away what stands before the tensor `anchor` and others beside it, such as `bert.`.
    pub fn rooted(mut self, anchor: &str) -> Self {
        let before = self.0.keys().filter_map(|name| name.strip_suffix(anchor)).min_by_key(|before| before.len());
        if let Some(before) = before.filter(|before| before.is_empty() || before.ends_with('.')).map(str::to_owned) {
            let names = self.0.into_iter();
            self.0 = names.map(|(name, it)| (name.strip_prefix(&before).unwrap_or(&name).to_owned(), it)).collect();
        }
        self
    }

    /// Replaces parts of all names, one rule after the other.
    pub fn renamed(mut self, rules: &[(&str, &str)]) -> Self {
        let rename = |name: String| rules.iter().fold(name, |name, (from, to)| name.replace(from, to));
        self.0 = self.0.into_iter().map(|(name, tensor)| (rename(name), tensor)).collect();
        self
    }

    /// Gives a tensor a second name, unless that is taken.
    pub fn tied(mut self, name: &str, to: &str) -> Self {
        if let Some(tensor) = self.0.get(to).filter(|_| !self.has(name)).cloned() {
            self.0.insert(name.to_owned(), tensor);
        }
        self
    }

    /// Tensors whose root mean square is far from that of the same tensor in other layers, each in a clause.
    pub fn unlike(&self) -> Result<Vec<String>, ModelError> {
        let mut layers: BTreeMap<(String, bool), Vec<(&str, f32)>> = BTreeMap::new();
        for (name, tensor) in self.0.iter().filter(|(_, tensor)| tensor.rank() > 0) {
            let size = tensor.sqr()?.mean_all()?.sqrt()?.to_scalar::<f32>()?;
            let parts = name.split('.').map(|part| if part.parse::<usize>().is_ok() { "*" } else { part });
            let kind = (parts.collect::<Vec<_>>().join("."), tensor.rank() == 1);
            layers.entry(kind).or_default().push((name, size));
        }
        let mut found = Vec::new();
        for ((_, is_vector), mut same) in layers.into_iter().filter(|(_, same)| same.len() >= MIN_ALIKE) {
            let unlike = if is_vector { UNLIKE_VECTOR } else { UNLIKE };
            same.sort_by(|a, b| a.1.total_cmp(&b.1));
            if let [(small, least), (large, most)] = same.as_slice() {
                // Nobody knows which of two is the odd one.
                if *most > least * unlike {
                    found.push(format!("{large} has a root mean square of {most:.2e}, and {small} one of {least:.2e}"));
                }
                continue;
            }
            let median = same[same.len() / 2].1;
            let is_like = |size: f32| size <= median * unlike && size * unlike >= median;
            found.extend(same.iter().filter(|(_, size)| !is_like(*size)).map(|(name, size)| {
                format!("{name} has a root mean square of {size:.2e}, where other layers have {median:.2e}")
            }));
        }
        found.sort();
        Ok(found)
    }

    pub fn put(&mut self, name: impl Into<String>, tensor: Tensor) {
        self.0.insert(name.into(), tensor);
    }

    pub fn get(&self, name: &str) -> candle_core::Result<&Tensor> {
        self.0.get(name).ok_or_else(|| candle_core::Error::CannotFindTensor { path: name.to_owned() }.bt())
    }

    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// What implementations take their tensors from; it checks names and shapes. The values are shared.
    pub fn builder(&self) -> VarBuilder<'static> {
        VarBuilder::from_tensors(self.0.clone(), DType::F32, &Device::Cpu)
    }
}

/// One weight file, read whole.
fn shard(files: &ModelFiles, name: &str, device: &Device) -> Result<Vec<(String, Tensor)>, ModelError> {
    if files.is_gguf() {
        return Err(ModelError::Opinion(format!(
            "{name} has its weights in llama.cpp’s layout, which it does not know"
        )));
    }
    if !name.to_ascii_lowercase().ends_with(".safetensors") {
        let wrapper = weights_wrapper(files, name).map_err(|error| ModelError::Opinion(error.to_string()))?;
        if wrapper.contains('.') {
            let why = format!("it looks for tensors under one key of a file, and {name} has them under {wrapper}");
            return Err(ModelError::Opinion(why));
        }
        let key = Some(wrapper.as_str()).filter(|key| !key.is_empty());
        let read = pickle::read_all_with_key(files.location_of(name), key);
        return read.map_err(|error| ModelError::Opinion(format!("it cannot read {name} ({error})")));
    }
    let unreadable = |error: std::io::Error| ModelError::Opinion(format!("{name} cannot be read: {error}"));
    let (mut file, len) = files.reader(name).map_err(unreadable)?;
    let mut bytes = Vec::with_capacity(len as usize);
    file.read_to_end(&mut bytes).map_err(unreadable)?;
    Ok(safetensors::load_buffer(&bytes, device)?.into_iter().collect())
}
