//! `model`: everything of a [`ModelSpec`], of which a foreign file may leave out anything.

use serde::{Deserialize, Serialize};

use super::FileError;
use crate::{
    ids::StackKind,
    spec::{CheckpointId, HeadKind, LatentSpec, LayerSpec, MixerKind, MlpSpec, Modality, ModelSpec, StackSpec},
};

/// More layers or heads than any model has; bounds what a lying file can make us allocate.
pub(in crate::capture::file) const MAX_LAYERS: usize = 1024;
pub(in crate::capture::file) const MAX_HEADS: usize = 4096;

/// `model`: everything of [`ModelSpec`]; a foreign file may leave out anything.
#[derive(Serialize, Deserialize, Default)]
#[serde(default)]
pub(in crate::capture::file) struct ModelEntry {
    pub(in crate::capture::file) name: Option<String>,
    pub(in crate::capture::file) family: Option<String>,
    pub(in crate::capture::file) stacks: Vec<StackEntry>,
    pub(in crate::capture::file) d_model: Option<usize>,
    pub(in crate::capture::file) n_params: Option<u64>,
    pub(in crate::capture::file) head: Option<HeadKind>,
    pub(in crate::capture::file) modality: Option<Modality>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::capture::file) checkpoint: Option<CheckpointId>,
}

/// One stack. The numbers hold for every layer, or are lists with one number per layer.
#[derive(Serialize, Deserialize)]
pub(in crate::capture::file) struct StackEntry {
    name: StackKind,
    layers: usize,
    heads: PerLayer<usize>,
    #[serde(default)]
    kv_heads: Option<PerLayer<usize>>,
    #[serde(default)]
    d_head: Option<PerLayer<usize>>,
    /// Absent where values are as wide as keys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    d_value: Option<PerLayer<usize>>,
    #[serde(default)]
    scale: Option<PerLayer<f32>>,
    #[serde(default)]
    causal: bool,
    /// Zero means no sliding window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    window: Option<PerLayer<usize>>,
    /// Zero means no cap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    softcap: Option<PerLayer<f32>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    biased: Option<PerLayer<bool>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    global: Option<PerLayer<bool>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sink: Option<PerLayer<bool>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fixed: Option<PerLayer<bool>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gated: Option<PerLayer<bool>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mixer: Option<PerLayer<MixerKind>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    latent: Option<PerLayer<Option<LatentSpec>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mlp: Option<PerLayer<Option<MlpSpec>>>,
}

/// One value for all layers, or one per layer.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum PerLayer<T> {
    All(T),
    Each(Vec<T>),
}

impl<T: Copy + PartialEq> PerLayer<T> {
    fn of(values: impl Iterator<Item = T>) -> Self {
        let values: Vec<T> = values.collect();
        match values.first() {
            Some(&first) if values.iter().all(|value| *value == first) => Self::All(first),
            _ => Self::Each(values),
        }
    }

    /// `None` when every layer has the usual value.
    fn unless_all(values: impl Iterator<Item = T> + Clone, usual: T) -> Option<Self> {
        let unusual = values.clone().any(|value| value != usual);
        unusual.then(|| Self::of(values))
    }

    fn at(&self, layer: usize) -> Option<T> {
        match self {
            Self::All(value) => Some(*value),
            Self::Each(values) => values.get(layer).copied(),
        }
    }
}

impl From<&ModelSpec> for ModelEntry {
    fn from(spec: &ModelSpec) -> Self {
        Self {
            name: Some(spec.name.clone()),
            family: Some(spec.family.clone()),
            stacks: spec.stacks.iter().map(StackEntry::from).collect(),
            d_model: Some(spec.d_model),
            n_params: Some(spec.n_params),
            head: spec.head,
            modality: Some(spec.modality),
            checkpoint: spec.checkpoint.clone(),
        }
    }
}

impl From<&StackSpec> for StackEntry {
    fn from(stack: &StackSpec) -> Self {
        let layers = || stack.layers.iter();
        Self {
            name: stack.kind,
            layers: stack.layers.len(),
            heads: PerLayer::of(layers().map(|layer| layer.n_heads)),
            kv_heads: Some(PerLayer::of(layers().map(|layer| layer.n_kv_heads))),
            d_head: Some(PerLayer::of(layers().map(|layer| layer.d_head))),
            d_value: layers()
                .any(|layer| layer.d_value != layer.d_head)
                .then(|| PerLayer::of(layers().map(|layer| layer.d_value))),
            scale: Some(PerLayer::of(layers().map(|layer| layer.scale))),
            causal: stack.causal,
            window: PerLayer::unless_all(layers().map(|layer| layer.window.unwrap_or(0)), 0),
            softcap: PerLayer::unless_all(layers().map(|layer| layer.softcap.unwrap_or(0.0)), 0.0),
            biased: PerLayer::unless_all(layers().map(|layer| layer.biased), false),
            global: PerLayer::unless_all(layers().map(|layer| layer.global), false),
            sink: PerLayer::unless_all(layers().map(|layer| layer.sink), false),
            fixed: PerLayer::unless_all(layers().map(|layer| layer.fixed), false),
            gated: PerLayer::unless_all(layers().map(|layer| layer.gated), false),
            mixer: PerLayer::unless_all(layers().map(|layer| layer.mixer), MixerKind::Attention),
            latent: PerLayer::unless_all(layers().map(|layer| layer.latent), None),
            mlp: PerLayer::unless_all(layers().map(|layer| layer.mlp), None),
        }
    }
}

impl StackEntry {
    /// Which stack it describes.
    pub(in crate::capture::file) const fn kind(&self) -> StackKind {
        self.name
    }

    /// The stack as described; what is left out follows from the rest.
    pub(in crate::capture::file) fn spec(&self) -> Result<StackSpec, FileError> {
        let problem = |problem: &str| FileError::Metadata {
            entry: "model",
            problem: format!("the stack {} {problem}", self.name),
        };
        if self.layers > MAX_LAYERS {
            return Err(problem(&format!("has {} layers", self.layers)));
        }
        let layer = |idx: usize| -> Result<LayerSpec, FileError> {
            let n_heads = self.heads.at(idx).ok_or_else(|| problem("has fewer head counts than layers"))?;
            let n_kv_heads = self.kv_heads.as_ref().and_then(|n| n.at(idx)).unwrap_or(n_heads);
            let d_head = self.d_head.as_ref().and_then(|n| n.at(idx)).unwrap_or(0);
            let d_value = self.d_value.as_ref().and_then(|n| n.at(idx)).unwrap_or(d_head);
            let scale = self.scale.as_ref().and_then(|n| n.at(idx)).unwrap_or_else(|| default_scale(d_head));
            if n_heads > MAX_HEADS || n_kv_heads == 0 && n_heads > 0 || !scale.is_finite() {
                return Err(problem(&format!("has {n_heads} heads, {n_kv_heads} key heads and the scale {scale}")));
            }
            let window = self.window.as_ref().and_then(|n| n.at(idx)).filter(|&reach| reach > 0);
            let softcap = self.softcap.as_ref().and_then(|cap| cap.at(idx)).filter(|&cap| cap > 0.0);
            let biased = self.biased.as_ref().and_then(|flag| flag.at(idx)).unwrap_or(false);
            let global = self.global.as_ref().and_then(|flag| flag.at(idx)).unwrap_or(false);
            let sink = self.sink.as_ref().and_then(|flag| flag.at(idx)).unwrap_or(false);
            let fixed = self.fixed.as_ref().and_then(|flag| flag.at(idx)).unwrap_or(false);
            let gated = self.gated.as_ref().and_then(|flag| flag.at(idx)).unwrap_or(false);
            let mixer = self.mixer.as_ref().and_then(|mixer| mixer.at(idx)).unwrap_or_default();
            let latent = self.latent.as_ref().and_then(|latent| latent.at(idx)).flatten();
            let mlp = self.mlp.as_ref().and_then(|mlp| mlp.at(idx)).flatten();
            Ok(LayerSpec {
                mixer,
                n_heads,
                n_kv_heads,
                d_head,
                d_value,
                scale,
                window,
                softcap,
                biased,
                global,
                sink,
                fixed,
                gated,
                latent,
                mlp,
            })
        };
        let layers = (0..self.layers).map(layer).collect::<Result<_, _>>()?;
        Ok(StackSpec { kind: self.name, layers, causal: self.causal })
    }
}

/// The usual `1/√d_head`; 1 when the width is unknown.
pub(in crate::capture::file) fn default_scale(d_head: usize) -> f32 {
    if d_head == 0 { 1.0 } else { 1.0 / (d_head as f32).sqrt() }
}
