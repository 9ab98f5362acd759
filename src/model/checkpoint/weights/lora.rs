//! An adapter of PEFT that is merged into its model as the model is read: low-rank maps (`LoRA`, Hu et al. 2021), also
//! rank-stabilised (Kalajdzievski 2023) or with their lengths apart (`DoRA`, Liu et al. 2024), and tensors that take the
//! place of the model's own.

use std::collections::{BTreeMap, BTreeSet};

use candle_core::{DType, Device, Tensor};
use regex::Regex;
use serde_json::{Map, Value};

use super::{entry::TensorEntry, read, shards};
use crate::{
    model::{
        LoadError,
        checkpoint::{ModelFiles, files::ADAPTER_FILES, formats::way_of_adapter},
    },
    text::counted,
};

const CONFIG: &str = ADAPTER_FILES[0];
const WEIGHTS: [&str; 2] = [ADAPTER_FILES[1], ADAPTER_FILES[2]];
/// What PEFT puts before the names of the model's modules.
const OUTER: &str = "base_model.model.";

/// Keys that change no number once the tensors are there.
const HARMLESS: [&str; 25] = [
    "alpha_pattern",
    "auto_mapping",
    "base_model_name_or_path",
    "bias",
    "ensure_weight_tying",
    "eva_config",
    "exclude_modules",
    "fan_in_fan_out",
    "inference_mode",
    "layers_pattern",
    "layers_to_transform",
    "lora_alpha",
    "lora_dropout",
    "megatron_core",
    "modules_to_save",
    "peft_type",
    "peft_version",
    "qalora_group_size",
    "r",
    "rank_pattern",
    "revision",
    "runtime_config",
    "target_modules",
    "task_type",
    "use_dora",
];

/// Outputs of a map whose products are there at once.
const OUTPUTS: usize = 64;

/// The maps of one module: `weight + scale · (b · a)`.
#[derive(Clone, Debug)]
struct LowRank {
    /// Name of the tensor `[rank, d_in]`.
    a: String,
    /// Name of the tensor `[d_out, rank]`.
    b: String,
    /// Name of the lengths `[d_out]` that rows of the sum are brought to (`DoRA`).
    magnitude: Option<String>,
    scale: f32,
    /// Whether the matrix of the model is `[d_in, d_out]`: GPT-2's, and tables of token embeddings.
    transposed: bool,
}

/// An adapter, read as far as its names and shapes.
pub(super) struct Lora<'a> {
    files: &'a ModelFiles,
    /// Name of its weights file.
    file: &'static str,
    entries: BTreeMap<String, TensorEntry>,
    /// By the name of the module in the model.
    maps: BTreeMap<String, LowRank>,
    /// Whole tensors, by their name in the model, with that in the file.
    whole: BTreeMap<String, String>,
    /// Modules and tensors that the model has.
    found: BTreeSet<String>,
}

impl<'a> Lora<'a> {
    /// Reads what an adapter's files declare, and refuses what is no low-rank map.
    ///
    /// `known` are the names of the model's own tensors.
    pub fn open(files: &'a ModelFiles, known: &BTreeMap<String, (usize, TensorEntry)>) -> Result<Self, LoadError> {
        let refused = |what: String| refused(files, &what);
        let bytes =
            files.read(CONFIG).and_then(Result::ok).ok_or_else(|| refused("has no adapter_config.json".into()))?;
        let config: Value = serde_json::from_slice(&bytes)
            .map_err(|error| refused(format!("has an {CONFIG} that is not JSON ({error})")))?;
        let config = config.as_object().ok_or_else(|| refused(format!("has an {CONFIG} that is no object")))?;
        check(config).map_err(refused)?;
        let file = WEIGHTS.into_iter().find(|name| files.contains(name));
        let file = file.ok_or_else(|| refused(format!("has no {}", WEIGHTS[0])))?;
        let entries: BTreeMap<String, TensorEntry> = shards::open(files, file)?.0.into_iter().collect();
        let mut lora =
            Self { files, file, entries, maps: BTreeMap::new(), whole: BTreeMap::new(), found: BTreeSet::new() };
        lora.sort(config, known).map_err(refused)?;
        Ok(lora)
    }

    /// Tells maps from whole tensors.
    fn sort(
        &mut self,
        config: &Map<String, Value>,
        known: &BTreeMap<String, (usize, TensorEntry)>,
    ) -> Result<(), String> {
        for name in self.entries.keys() {
            let inner =
                name.strip_prefix(OUTER).unwrap_or(name).replace("modules_to_save.", "").replace(".default.", ".");
            let Some((module, part)) = inner.split_once(".lora_") else {
                let is_other = inner.split('.').any(|part| part.contains("lora_") || part.contains("trainable_tokens"));
                if is_other {
                    return Err(format!("has {name}, which is no part of a low-rank map"));
                }
                self.whole.insert(placed(&inner.replace(".base_layer.", "."), known), name.clone());
                continue;
            };
            match part {
                "A.weight" | "embedding_A" => {
                    let is_table = part == "embedding_A";
                    let b = name.replace(".lora_A.", ".lora_B.").replace(".lora_embedding_A", ".lora_embedding_B");
                    let magnitude = [".lora_magnitude_vector.weight", ".lora_magnitude_vector"]
                        .into_iter()
                        .filter_map(|end| name.split_once(".lora_").map(|(start, _)| format!("{start}{end}")))
                        .find(|name| self.entries.contains_key(name));
                    if !self.entries.contains_key(&b) {
                        return Err(format!("has {name} without {b}"));
                    }
                    if is_table && flag(config, "use_dora") {
                        return Err(format!("has DoRA of token embeddings ({name}), which is not read"));
                    }
                    if is_table && flag(config, "ensure_weight_tying") {
                        return Err(format!(
                            "says ensure_weight_tying with maps of token embeddings ({name}), which is not read"
                        ));
                    }
                    let transposed = is_table || flag(config, "fan_in_fan_out");
                    let rank = self.entries[name].shape.first().copied().unwrap_or(0);
                    let scale = scale(config, module, rank)?;
                    self.maps.insert(module.to_owned(), LowRank { a: name.clone(), b, magnitude, scale, transposed });
                }
                "B.weight" if self.entries.contains_key(&name.replace(".lora_B.", ".lora_A.")) => {}
                "magnitude_vector" | "magnitude_vector.weight" => {}
                "embedding_B" if self.entries.contains_key(&name.replace("embedding_B", "embedding_A")) => {}
                _ => return Err(format!("has {name}, which is not read")),
            }
        }
        let with_lengths = self.maps.values().filter(|map| map.magnitude.is_some()).count();
        let is_dora = flag(config, "use_dora");
        if is_dora && with_lengths < self.maps.len() {
            return Err("says use_dora, and has maps without their lengths".to_owned());
        }
        if !is_dora && with_lengths > 0 {
            return Err("has lengths of maps (lora_magnitude_vector) without use_dora".to_owned());
        }
        if self.maps.is_empty() && self.whole.is_empty() {
            return Err("has no tensors".to_owned());
        }
        Ok(())
    }

    /// Whole tensors under the names that the model gives them, with what is declared of each.
    pub fn whole(&self) -> impl Iterator<Item = (&str, &TensorEntry)> {
        self.whole.iter().map(|(name, file)| (name.as_str(), &self.entries[file]))
    }

    /// Refuses to take the place of a table of token embeddings.
    pub fn check_table(&self, name: &str) -> Result<(), LoadError> {
        match self.whole.get(name) {
            Some(own) => Err(refused(self.files, &format!("changes token embeddings ({own}), which is not read"))),
            None => Ok(()),
        }
    }

    /// Whether it changes a tensor of the model's file, or takes its place.
    pub fn changes(&self, name: &str) -> bool {
        self.whole.contains_key(name) || self.module(name).is_some()
    }

    /// Reads a whole tensor.
    pub fn fill(&self, name: &str, values: &mut [f32]) -> Result<(), LoadError> {
        let name = self.whole.get(name).map_or(name, String::as_str);
        read::fill(self.files, self.file, name, &self.entries[name], values)
    }

    /// Notes that the model has this tensor.
    ///
    /// # Errors
    /// When its shape is not that of the map that changes it.
    pub fn meets(&mut self, name: &str, shape: &[usize]) -> Result<(), LoadError> {
        if self.whole.contains_key(name) {
            self.found.insert(name.to_owned());
        }
        let Some(module) = self.module(name).map(str::to_owned) else { return Ok(()) };
        let map = &self.maps[&module];
        let (a, b) = (&self.entries[&map.a].shape, &self.entries[&map.b].shape);
        let fits = match (a.as_slice(), b.as_slice(), shape) {
            ([rank, d_in], [d_out, same_rank], [rows, columns]) => {
                let dims = if map.transposed { (columns, rows) } else { (rows, columns) };
                rank == same_rank && dims == (d_out, d_in)
            }
            _ => false,
        };
        if !fits {
            let (a, b) = (map.a.clone(), map.b.clone());
            let what = format!(
                "has {a} {:?} and {b} {:?} for {name} {shape:?}: it belongs to another model",
                self.entries[&a].shape, self.entries[&b].shape
            );
            return Err(refused(self.files, &what));
        }
        self.found.insert(module);
        Ok(())
    }

    /// Adds a map to a tensor of the model, if one belongs to it.
    pub fn add(&self, name: &str, values: &mut [f32]) -> Result<(), LoadError> {
        let Some(map) = self.module(name).map(|module| &self.maps[module]) else { return Ok(()) };
        let (a, b) = (self.tensor(&map.a)?, self.tensor(&map.b)?);
        let (d_in, d_out) = (a.dim(1)?, b.dim(0)?);
        // In double precision: a sum is then rounded once.
        let (a, b) = (a.to_dtype(DType::F64)?, b.to_dtype(DType::F64)?);
        let at =
            |output: usize, input: usize| if map.transposed { input * d_out + output } else { output * d_in + input };
        let lengths = map.magnitude.as_ref().map(|name| self.numbers(name)).transpose()?;
        for first in (0..d_out).step_by(OUTPUTS) {
            let delta = b.narrow(0, first, OUTPUTS.min(d_out - first))?.matmul(&a)?;
            let delta: Vec<f64> = delta.flatten_all()?.to_vec1()?;
            for (nth, delta) in delta.chunks_exact(d_in.max(1)).enumerate() {
                let output = first + nth;
                let sum = |input: usize, values: &[f32]| {
                    f64::from(values[at(output, input)]) + f64::from(map.scale) * delta[input]
                };
                let factor = match &lengths {
                    None => 1.0,
                    Some(lengths) => {
                        let length = (0..d_in).map(|input| sum(input, values).powi(2)).sum::<f64>().sqrt();
                        lengths.get(output).map_or(1.0, |wanted| f64::from(*wanted) / length)
                    }
                };
                for input in 0..d_in {
                    values[at(output, input)] = (factor * sum(input, values)) as f32;
                }
            }
        }
        Ok(())
    }

    /// Refuses an adapter of which the model has a part alone.
    pub fn check_found(&self) -> Result<(), LoadError> {
        let missing: Vec<&String> =
            self.maps.keys().chain(self.whole.keys()).filter(|name| !self.found.contains(*name)).collect();
        let Some(first) = missing.first() else { return Ok(()) };
        let n = counted(missing.len(), "part");
        Err(refused(self.files, &format!("changes {n} that this model does not have or does not use, such as {first}")))
    }

    /// A sentence about it.
    pub fn told(&self) -> String {
        let whole = match self.whole.len() {
            0 => String::new(),
            n => format!(", {} of its own", counted(n, "tensor")),
        };
        format!(
            "The adapter in {} is merged: {}{whole}",
            self.files.location(),
            counted(self.maps.len(), "low-rank map")
        )
    }

    /// The module whose weight has this name in the model's file: what wraps either may be left out in the other.
    fn module(&self, name: &str) -> Option<&str> {
        let stem = name.strip_suffix(".weight")?;
        self.maps.keys().filter(|module| is_same(stem, module)).max_by_key(|module| module.len()).map(String::as_str)
    }

    fn numbers(&self, name: &str) -> Result<Vec<f32>, LoadError> {
        let entry = &self.entries[name];
        let mut values = vec![0.0; entry.shape.iter().product()];
        read::fill(self.files, self.file, name, entry, &mut values)?;
        Ok(values)
    }

    fn tensor(&self, name: &str) -> Result<Tensor, LoadError> {
        Ok(Tensor::from_vec(self.numbers(name)?, self.entries[name].shape.as_slice(), &Device::Cpu)?)
    }
}

/// Whether two names are of one thing, one of them perhaps inside a wrapper.
fn is_same(a: &str, b: &str) -> bool {
    let ends =
        |long: &str, short: &str| long.strip_suffix(short).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    ends(a, b) || ends(b, a)
}

/// The name of the tensor of the model that a whole one takes the place of, or its own where the model has none.
fn placed(name: &str, known: &BTreeMap<String, (usize, TensorEntry)>) -> String {
    known.keys().find(|other| is_same(other, name)).map_or_else(|| name.to_owned(), String::clone)
}

fn refused(files: &ModelFiles, what: &str) -> LoadError {
    let advice = way_of_adapter(&files.adapter().map(|adapter| adapter.kind).unwrap_or_default());
    LoadError::OtherKind { what: format!("the adapter {what}"), advice, path: files.location() }
}

fn flag(config: &Map<String, Value>, name: &str) -> bool {
    config.get(name).and_then(Value::as_bool).unwrap_or(false)
}

/// Refuses a configuration that says more than low-rank maps.
fn check(config: &Map<String, Value>) -> Result<(), String> {
    match config.get("peft_type").and_then(Value::as_str) {
        Some("LORA") | None => {}
        Some(kind) => return Err(format!("is of the kind {kind}, of which only LoRA and DoRA are read")),
    }
    let starts = config.get("init_lora_weights").unwrap_or(&Value::Null);
    // Others take a part out of the model's own weights before they begin.
    let is_plain = match starts {
        Value::Null | Value::Bool(_) => true,
        Value::String(name) => ["gaussian", "orthogonal", "eva"].contains(&name.as_str()),
        _ => false,
    };
    if !is_plain {
        return Err(format!("was begun from the model's own weights (init_lora_weights {starts}), which it changes"));
    }
    let is_nothing = |value: &Value| match value {
        Value::Null | Value::Bool(false) => true,
        Value::Object(map) => map.is_empty(),
        Value::Array(list) => list.is_empty(),
        _ => false,
    };
    let known = |name: &str| HARMLESS.contains(&name) || ["init_lora_weights", "use_rslora"].contains(&name);
    match config.iter().find(|(name, value)| !known(name) && !is_nothing(value)) {
        Some((name, value)) => Err(format!("says {name} {value}, which is not read")),
        None => Ok(()),
    }
}

/// The factor of a module's map: `α / r`, rank-stabilised `α / √r`.
fn scale(config: &Map<String, Value>, module: &str, rank: usize) -> Result<f32, String> {
    let of_module = |patterns: &str| -> Result<Option<f64>, String> {
        let Some(patterns) = config.get(patterns).and_then(Value::as_object) else { return Ok(None) };
        for (pattern, value) in patterns {
            let whole = Regex::new(&format!(r"^(?:(?:.*\.)?(?:{pattern}))$"));
            let whole = whole.map_err(|_| format!("has a pattern of modules that cannot be read ({pattern})"))?;
            if whole.is_match(module) {
                return value.as_f64().map(Some).ok_or_else(|| format!("has {pattern} {value}, which is no number"));
            }
        }
        Ok(None)
    };
    let whole = |name: &str| config.get(name).and_then(Value::as_f64);
    let told = of_module("rank_pattern")?.or_else(|| whole("r"));
    if told.is_some_and(|told| told != rank as f64) {
        return Err(format!("has a map of {module} of rank {rank}, and says {}", told.unwrap_or_default()));
    }
    let alpha = of_module("alpha_pattern")?.or_else(|| whole("lora_alpha"));
    let alpha = alpha.filter(|alpha| alpha.is_finite() && rank > 0);
    let alpha = alpha.ok_or_else(|| format!("has no lora_alpha for {module}, or maps of no rank"))?;
    let rank = rank as f64;
    Ok((alpha / if flag(config, "use_rslora") { rank.sqrt() } else { rank }) as f32)
}
