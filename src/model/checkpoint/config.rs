//! Reads `config.json` leniently: every name an architecture ever used, `null` taken as absent, and
//! no number believed that no model has.
//!
//! The only place that knows the names of the Hugging Face libraries for sizes.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use serde_json::{Map, Value};

use super::{
    ModelFiles, config_log::ConfigLog, files::CONFIG as FILE, formats::lone_weights, recognise, weights::tensor_names,
};
use crate::{
    json_file,
    model::{LoadError, kernels::Activation},
};

/// The largest value of each kind of size; far above every real model, far below an overflow.
const MAX_WIDTH: usize = 1 << 20;
/// What configurations call the number of heads.
const N_HEADS: [&str; 4] = ["num_attention_heads", "n_head", "n_heads", "num_heads"];
/// Sections that describe a stack.
const STACKS: [&str; 4] = ["text_config", "vision_config", "encoder", "decoder"];
pub(crate) const MAX_LAYERS: usize = 4096;
pub(super) const MAX_ROWS: usize = 1 << 24;
const MAX_PIXELS: usize = 1 << 15;

/// A parsed `config.json`, a section of it, or a file like it.
#[derive(Clone)]
pub(crate) struct Config {
    pub(super) values: Map<String, Value>,
    pub(super) file: &'static str,
    pub(super) path: String,
    /// What was looked up and what was found, for the audit; sections share it.
    pub(super) asked: Arc<Mutex<ConfigLog>>,
    /// What the audit puts before names of a section.
    pub(super) scope: String,
    /// Names that the file leaves to the family.
    pub(super) defaulted: BTreeSet<String>,
    type_of_class: TypeOfClass,
    /// The GGUF file that stands for it.
    gguf: Option<Arc<GgufSources>>,
}

/// Where the values of a configuration are from that a GGUF file stands for.
#[derive(Debug)]
struct GgufSources {
    file: String,
    /// Key of the metadata, or tensor, by the name of the value.
    sources: BTreeMap<String, String>,
}

/// The `model_type` that the name of a class implies.
type TypeOfClass = fn(&str) -> Option<&'static str>;

impl Config {
    pub fn read(files: &ModelFiles, type_of_class: TypeOfClass) -> Result<Self, LoadError> {
        let config = Self::optional(files, FILE)?.map(|config| {
            let sources = files.gguf_sources().zip(files.chosen_weights());
            let gguf = sources
                .map(|(sources, file)| Arc::new(GgufSources { file: file.to_owned(), sources: sources.clone() }));
            Self { type_of_class, gguf, file: files.own_name(FILE), ..config }
        });
        config.ok_or_else(|| {
            let path = files.location();
            let error = match (files.adapter(), files.chosen_weights()) {
                (Some(adapter), _) => recognise::adapter(&adapter, path),
                (None, Some(file)) => LoadError::LoneWeights { file: file.to_owned(), path },
                (None, None) => recognise::folder(files),
            };
            match error {
                LoadError::LoneWeights { file, path } => {
                    let tensors = tensor_names(files, &file);
                    lone_weights(file, &tensors, path)
                }
                other => other,
            }
        })
    }

    /// A file like `config.json`, if there is one.
    pub fn optional(files: &ModelFiles, file: &'static str) -> Result<Option<Self>, LoadError> {
        let path = files.location_of(file);
        let Some(bytes) = files.read(file) else { return Ok(None) };
        let bytes = bytes.map_err(|source| LoadError::Io { file: file.to_owned(), path: path.clone(), source })?;
        match json_file::of_python(&bytes) {
            Ok(Value::Object(values)) => Ok(Some(Self {
                values,
                file,
                path,
                asked: Arc::default(),
                scope: String::new(),
                defaulted: BTreeSet::new(),
                type_of_class: |_| None,
                gguf: None,
            })),
            Ok(_) => Err(LoadError::Config { file: file.to_owned(), path, reason: "it is not an object".to_owned() }),
            Err(error) => Err(LoadError::Config { file: file.to_owned(), path, reason: error.to_string() }),
        }
    }

    /// Something that the file asks for in good order, and that is not computed here. To follow “cannot be
    /// opened: ”.
    pub fn unsupported(&self, reason: impl Into<String>) -> LoadError {
        let (file, reason) = self.as_stored(reason.into());
        LoadError::Unsupported { file, path: self.path.clone(), reason }
    }

    /// An error about this file.
    pub fn error(&self, reason: impl Into<String>) -> LoadError {
        let (file, reason) = self.as_stored(reason.into());
        LoadError::Config { file, path: self.path.clone(), reason }
    }

    /// The file that says this, and `reason` with its own names of values.
    fn as_stored(&self, reason: String) -> (String, String) {
        let Some(gguf) = &self.gguf else { return (self.file.to_owned(), reason) };
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let mut told = String::with_capacity(reason.len());
        let mut rest = reason.as_str();
        while let Some(start) = rest.find(is_of_name) {
            let end = rest[start..].find(|c| !is_of_name(c)).map_or(rest.len(), |len| start + len);
            let name = &rest[start..end];
            told.push_str(&rest[..start]);
            told.push_str(gguf.sources.get(name).map_or(name, String::as_str));
            rest = &rest[end..];
        }
        (gguf.file.clone(), told + rest)
    }

    /// Where the model is, for messages.
    pub fn location(&self) -> String {
        self.path.strip_suffix(self.file).unwrap_or(&self.path).trim_end_matches(['/', '\\']).to_owned()
    }

    /// `model_type`, or what the class name in `architectures` implies, in lower case.
    pub fn model_type(&self) -> Result<String, LoadError> {
        if let Some(name) = self.text(&["model_type"]) {
            return Ok(name.to_lowercase());
        }
        // Files of timm name a function of it, in one word.
        match self.architecture().or_else(|| self.text(&["architecture"])) {
            Some(class) => Ok((self.type_of_class)(class).unwrap_or(class).to_owned()),
            None => Err(self.unnamed()),
        }
    }

    /// The class that wrote the checkpoint, such as `BertForMaskedLM`.
    pub fn architecture(&self) -> Option<&str> {
        self.note("architectures", self.values.get("architectures"));
        self.values.get("architectures")?.as_array()?.first()?.as_str()
    }

    /// Width of the residual stream.
    pub fn d_model(&self) -> Result<usize, LoadError> {
        self.size(&["hidden_size", "n_embd", "n_embed", "d_model", "dim"], MAX_WIDTH)
    }

    /// Width of the embeddings, where it may differ from `d_model`.
    pub fn d_embedding(&self) -> Result<Option<usize>, LoadError> {
        self.optional_size(&["embedding_size"], MAX_WIDTH)
    }

    /// Width between the two linear maps of an MLP; `None` when the file leaves it to the family.
    pub fn d_mlp(&self) -> Result<Option<usize>, LoadError> {
        self.optional_size(&["intermediate_size", "n_inner", "ffn_dim", "d_ff", "hidden_dim"], MAX_WIDTH)
    }

    pub fn n_layers(&self) -> Result<usize, LoadError> {
        self.size(&["num_hidden_layers", "n_layer", "n_layers", "num_layers"], MAX_LAYERS)
    }

    /// Heads, and the width of each: `head_dim` where the file has it, else they share `d_model`.
    pub fn heads(&self, d_model: usize) -> Result<(usize, usize), LoadError> {
        if let Some(d_head) = self.optional_size(&["head_dim"], MAX_WIDTH)? {
            return Ok((self.size(&N_HEADS, MAX_WIDTH)?, d_head));
        }
        let n_heads = self.n_heads(d_model)?;
        Ok((n_heads, d_model / n_heads))
    }

    /// Layers and heads of each, of the first stack that has both here; `None` where the family knows them.
    pub fn shape(&self) -> Option<(usize, usize)> {
        let n_layers = self.n_layers().or_else(|_| self.size(&["encoder_layers"], MAX_LAYERS));
        let n_heads = self.size(&N_HEADS, MAX_WIDTH).or_else(|_| self.size(&["encoder_attention_heads"], MAX_WIDTH));
        let own = n_layers.ok().zip(n_heads.ok());
        own.or_else(|| STACKS.iter().find_map(|name| self.section(name)?.shape()))
    }

    /// Heads, which must divide `d_model`.
    pub fn n_heads(&self, d_model: usize) -> Result<usize, LoadError> {
        let n_heads = self.size(&N_HEADS, MAX_WIDTH)?;
        if !d_model.is_multiple_of(n_heads) {
            let name = self.get(&N_HEADS).map_or(N_HEADS[0], |(name, _)| name);
            return Err(self.error(format!("{n_heads} heads do not divide a width of {d_model} ({name})")));
        }
        Ok(n_heads)
    }

    /// Key/value heads, which must divide the query heads; as many as those when the file is silent.
    pub fn n_kv_heads(&self, n_heads: usize) -> Result<usize, LoadError> {
        let n = self.optional_size(&["num_key_value_heads", "num_kv_heads"], MAX_WIDTH)?.unwrap_or(n_heads);
        if !n_heads.is_multiple_of(n) {
            return Err(self.error(format!("{n} key/value heads do not divide {n_heads} heads (num_key_value_heads)")));
        }
        Ok(n)
    }

    pub fn n_vocab(&self) -> Result<usize, LoadError> {
        self.size(&["vocab_size"], MAX_ROWS)
    }

    /// Rows of the position table.
    pub fn n_ctx(&self) -> Result<usize, LoadError> {
        self.size(&["max_position_embeddings", "n_positions", "n_ctx"], MAX_ROWS)
    }

    /// The activation, under this name alone.
    pub fn activation(&self, name: &'static str, default: Activation) -> Result<Activation, LoadError> {
        let Some(name) = self.text(&[name]) else { return Ok(default) };
        Activation::from_name(name).ok_or_else(|| self.unsupported(format!("its activation “{name}” is not supported")))
    }

    pub fn flag(&self, name: &str, default: bool) -> bool {
        let value = self.values.get(name).filter(|value| !value.is_null());
        self.note(name, value);
        match value {
            None => default,
            Some(Value::Bool(flag)) => *flag,
            // Python takes numbers for flags.
            Some(Value::Number(number)) => number.as_f64() != Some(0.0),
            Some(other) => {
                self.complain(name, other, "true or false");
                default
            }
        }
    }

    pub fn text(&self, aliases: &[&'static str]) -> Option<&str> {
        let (name, value) = self.get(aliases)?;
        if !value.is_string() {
            self.complain(name, value, "a name");
        }
        value.as_str()
    }

    /// A value of any kind.
    pub fn value(&self, name: &str) -> Option<&Value> {
        let value = self.values.get(name).filter(|value| !value.is_null())?;
        self.note(name, Some(value));
        Some(value)
    }

    /// A finite number under any of these names.
    pub fn number(&self, aliases: &[&'static str]) -> Result<Option<f64>, LoadError> {
        let Some((name, value)) = self.get(aliases) else { return Ok(None) };
        match value.as_f64() {
            Some(number) if number.is_finite() && number.abs() < 1e12 => Ok(Some(number)),
            _ => Err(self.error(format!("{name} is {value}"))),
        }
    }

    /// A list of finite numbers, at most as many as a head is wide.
    pub fn numbers(&self, name: &'static str) -> Option<Vec<f32>> {
        let (_, value) = self.get(&[name])?;
        let numbers = value.as_array().filter(|list| list.len() <= MAX_WIDTH).and_then(|list| {
            list.iter().map(|value| value.as_f64().map(|x| x as f32).filter(|x| x.is_finite())).collect()
        });
        if numbers.is_none() {
            self.complain(name, value, "a list of numbers");
        }
        numbers
    }

    /// One name per layer, such as `layer_types`.
    pub fn names(&self, name: &'static str) -> Option<Vec<String>> {
        let (_, value) = self.get(&[name])?;
        let names = value
            .as_array()
            .filter(|list| list.len() <= MAX_LAYERS)
            .and_then(|list| list.iter().map(|value| value.as_str().map(str::to_owned)).collect());
        if names.is_none() {
            self.complain(name, value, "a list of names");
        }
        names
    }

    /// One name per layer from `[[[names], times], …]`, as GPT-Neo lists its layers.
    pub fn repeated(&self, name: &str) -> Option<Vec<String>> {
        let mut names = Vec::new();
        self.note(name, self.values.get(name));
        for entry in self.values.get(name)?.as_array()? {
            let [kinds, times] = entry.as_array()?.as_slice() else { return None };
            let times = times.as_u64().filter(|&n| n <= MAX_LAYERS as u64)?;
            for _ in 0..times {
                for kind in kinds.as_array()? {
                    names.push(kind.as_str()?.to_owned());
                }
                if names.len() > MAX_LAYERS {
                    return None;
                }
            }
        }
        Some(names)
    }

    /// The same, with values for what the file leaves out.
    pub fn with_defaults(mut self, defaults: &Value) -> Self {
        for (name, value) in defaults.as_object().into_iter().flatten() {
            if self.values.get(name).is_none_or(Value::is_null) {
                self.values.insert(name.clone(), value.clone());
                self.defaulted.insert(name.clone());
            }
        }
        self
    }

    /// The same, with `changes` laid over it, section by section.
    pub fn with_changes(mut self, changes: &Value) -> Self {
        for (name, change) in changes.as_object().into_iter().flatten() {
            lay_over(self.values.entry(name.clone()).or_insert(Value::Null), change);
        }
        self
    }

    /// One of a model's two configurations, such as `text_config`: files leave out what their class has
    /// by default, even all of it. What the older name, such as `text_config_dict`, says goes first.
    pub fn tower(&self, name: &str, defaults: &Value) -> Self {
        let mut values = Map::new();
        for section in [name.to_owned(), format!("{name}_dict")] {
            self.note(&section, self.values.get(&section));
            let section = self.values.get(&section).and_then(Value::as_object);
            values.extend(section.into_iter().flatten().map(|(name, value)| (name.clone(), value.clone())));
        }
        self.inner(name, values).with_defaults(defaults)
    }

    /// A configuration inside this one, such as `text_config`.
    pub fn section(&self, name: &str) -> Option<Self> {
        let values = self.values.get(name)?.as_object()?.clone();
        self.note(name, self.values.get(name));
        let mut inner = self.inner(name, values);
        if self.defaulted.contains(name) {
            inner.defaulted = inner.values.keys().cloned().collect();
        }
        Some(inner)
    }

    /// A section in which some keys say what they say in the whole.
    pub fn section_of(&self, name: &str, of_whole: &[&str]) -> Option<Self> {
        let mut section = self.section(name)?;
        for key in of_whole {
            section.values.remove(*key);
            section.values.extend(self.values.get(*key).map(|value| ((*key).to_owned(), value.clone())));
        }
        Some(section)
    }

    fn inner(&self, name: &str, values: Map<String, Value>) -> Self {
        let scope = format!("{}{name}.", self.scope);
        let (file, path) = (self.file, self.path.clone());
        let (asked, type_of_class, gguf) = (Arc::clone(&self.asked), self.type_of_class, self.gguf.clone());
        Self { values, file, path, asked, scope, defaulted: BTreeSet::new(), type_of_class, gguf }
    }

    /// A number of pixels, or `[height, width]`.
    pub fn pixels(&self, name: &str, default: Option<usize>) -> Result<(usize, usize), LoadError> {
        let size = |value: &Value| match value.as_u64() {
            Some(n) if (1..=MAX_PIXELS as u64).contains(&n) => Ok(n as usize),
            _ => Err(self.error(format!("{name} is {value}"))),
        };
        self.note(name, self.values.get(name));
        match self.values.get(name) {
            None | Some(Value::Null) => {
                default.map(|n| (n, n)).ok_or_else(|| self.error(format!("it does not say {name}")))
            }
            Some(Value::Array(sides)) => match sides.as_slice() {
                [height, width] => Ok((size(height)?, size(width)?)),
                _ => Err(self.error(format!("{name} has {} numbers instead of two", sides.len()))),
            },
            Some(value) => size(value).map(|n| (n, n)),
        }
    }

    /// A size that must be there.
    pub fn size(&self, aliases: &[&'static str], max: usize) -> Result<usize, LoadError> {
        self.optional_size(aliases, max)?.ok_or_else(|| self.error(format!("it does not say {}", aliases[0])))
    }

    /// A size of at least one and at most `max`.
    pub fn optional_size(&self, aliases: &[&'static str], max: usize) -> Result<Option<usize>, LoadError> {
        let Some((name, value)) = self.get(aliases) else { return Ok(None) };
        match value.as_u64() {
            Some(n) if (1..=max as u64).contains(&n) => Ok(Some(n as usize)),
            _ => Err(self.error(format!("{name} is {value}, which no model has"))),
        }
    }

    /// A size of each of `n` layers, from a list or one for all.
    pub fn size_of_layers(&self, name: &'static str, n: usize, default: usize) -> Result<Vec<usize>, LoadError> {
        let Some((_, value)) = self.get(&[name]) else { return Ok(vec![default; n]) };
        let size = |value: &Value| value.as_u64().filter(|n| (1..=MAX_ROWS as u64).contains(n)).map(|n| n as usize);
        let sizes: Option<Vec<usize>> = match value {
            Value::Array(list) => list.iter().map(size).collect(),
            one => size(one).map(|one| vec![one; n]),
        };
        let wrong = || self.error(format!("{name} is {value}, which is not one size for each of {n} layers"));
        sizes.filter(|sizes| sizes.len() == n).ok_or_else(wrong)
    }

    fn get(&self, aliases: &[&'static str]) -> Option<(&'static str, &Value)> {
        let present = |name: &&'static str| Some((*name, self.values.get(*name).filter(|value| !value.is_null())?));
        let found = aliases.iter().find_map(present);
        self.note(found.map_or(aliases[0], |(name, _)| name), found.map(|(_, value)| value));
        found
    }

    /// Remembers a look-up for the audit.
    pub(super) fn note(&self, name: &str, value: Option<&Value>) {
        let value = value.filter(|_| !self.defaulted.contains(name));
        self.asked().note(format!("{}{name}", self.scope), value);
    }

    fn complain(&self, name: &str, value: &Value, expected: &str) {
        self.asked().complain(&format!("{}{name}", self.scope), value, expected);
    }

    /// What was asked so far.
    pub fn asked(&self) -> MutexGuard<'_, ConfigLog> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An error when a value was not of the kind that its name stands for.
    pub fn check_kinds(&self) -> Result<(), LoadError> {
        let wrong = self.asked().wrong();
        wrong.map_or(Ok(()), |wrong| Err(self.error(wrong)))
    }

    /// All that the file says, in its order.
    pub const fn entries(&self) -> &Map<String, Value> {
        &self.values
    }
}

/// Lays one value over another, section by section.
pub(crate) fn lay_over(under: &mut Value, over: &Value) {
    match (&mut *under, over) {
        (Value::Object(under), Value::Object(over)) => {
            for (key, value) in over {
                lay_over(under.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        _ => under.clone_from(over),
    }
}
