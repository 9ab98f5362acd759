//! Weights that are whole and well-formed, but not what a model can run on: quantised ones, and
//! adapters that are not merged.

use std::collections::{BTreeMap, BTreeSet};

use super::{entry::TensorEntry, quantized::Quantized};
use crate::model::{
    LoadError,
    checkpoint::{ModelFiles, formats::way_of_adapter, quantization::Quantization},
};

/// Parameters that only quantised layers have, and what wrote them.
const QUANTISED_NAMES: [(&str, &str); 8] = [
    (".qweight", "GPTQ or AWQ"),
    (".weight_packed", "compressed-tensors"),
    (".absmax", "bitsandbytes, 4 bits"),
    (".SCB", "bitsandbytes, 8 bits"),
    (".W_q", "HQQ"),
    (".codebooks", "AQLM"),
    ("._data", "Quanto or torchao"),
    (".scales", "MLX"),
];
/// Types in which weights, as opposed to masks and counters, are stored only when quantised.
const QUANTISED_TYPES: [(&str, &str); 7] = [
    ("F8_", "8-bit floating point"),
    ("float8_", "8-bit floating point"),
    ("F4", "4-bit floating point"),
    ("I8", "8-bit integers"),
    ("U8", "packed integers"),
    ("U32", "packed integers"),
    ("qtensor", "PyTorch integers"),
];

/// How parts of names begin that only adapters have, and what they are of: PEFT's methods, their twins in MLX and
/// `AdapterHub`, and the names that PEFT gives to what it wraps.
const ADAPTERS: [(&str, &str); 26] = [
    ("lora_", "LoRA"),
    ("loras", "LoRA"),
    ("ia3_", "IA³"),
    ("hada_", "LoHa"),
    ("lokr_", "LoKr"),
    ("oft_", "OFT"),
    ("boft_", "BOFT"),
    ("vera_", "VeRA"),
    ("vblora_", "VB-LoRA"),
    ("randlora_", "RandLoRA"),
    ("fourierft_", "FourierFT"),
    ("waveft_", "WaveFT"),
    ("hra_", "HRA"),
    ("bone_", "Bone"),
    ("miss_", "MiSS"),
    ("shira_", "SHiRA"),
    ("c3a_", "C3A"),
    ("road_", "RoAd"),
    ("delora_", "DeLoRA"),
    ("trainable_tokens_", "new tokens"),
    ("adaption_", "LLaMA-Adapter"),
    ("adapter", "bottleneck layers"),
    ("prompt_e", "soft prompt"),
    ("prefix_", "prefix"),
    ("modules_to_save", "PEFT"),
    ("base_layer", "PEFT"),
];

/// The method whose adapter a tensor is a part of, by its name.
fn adapter(name: &str) -> Option<&'static str> {
    let of = |part: &str| ADAPTERS.iter().find(|(start, _)| part.starts_with(start)).map(|(_, kind)| *kind);
    name.split('.').find_map(of)
}

/// Weights of few bits that are not as their configuration says.
pub(super) fn quantized(files: &ModelFiles, reason: String) -> LoadError {
    LoadError::Damaged { file: "the weights".to_owned(), path: files.location(), reason }
}

/// Refuses weights none of which is stored as the configuration says: whoever reads them so has other weights in mind.
pub(super) fn unquantized(
    files: &ModelFiles,
    how: &Quantization,
    quantized: &BTreeMap<String, Quantized>,
) -> Result<(), LoadError> {
    match how.named() {
        Some(named) if quantized.is_empty() => {
            let how = format!("{named} by its configuration, while no tensor is stored so");
            Err(LoadError::Quantised { how, path: files.location() })
        }
        _ => Ok(()),
    }
}

/// Judges by names and types alone, of all but those of `quantized`; a `quantization_config` is noticed before.
pub(super) fn check(
    files: &ModelFiles,
    entries: &BTreeMap<String, (usize, TensorEntry)>,
    quantized: &BTreeMap<String, Quantized>,
) -> Result<(), LoadError> {
    let read: BTreeSet<&String> =
        quantized.iter().flat_map(|(name, tensor)| tensor.companions.iter().chain([name])).collect();
    let entries: BTreeMap<_, _> = entries.iter().filter(|(name, _)| !read.contains(name)).collect();
    let by_name = entries.keys().find_map(|name| QUANTISED_NAMES.iter().find(|(suffix, _)| name.ends_with(suffix)));
    let by_type = || {
        let weights = entries.iter().filter(|(name, _)| name.ends_with("weight"));
        weights
            .map(|(_, (_, entry))| &entry.dtype_name)
            .find_map(|dtype| QUANTISED_TYPES.iter().find(|(kind, _)| dtype.starts_with(kind)))
    };
    if let Some((_, how)) = by_name.or_else(by_type) {
        return Err(LoadError::Quantised { how: (*how).to_owned(), path: files.location() });
    }
    let Some((name, kind)) = entries.keys().find_map(|name| Some((name, adapter(name)?))) else { return Ok(()) };
    let base = files.adapter().map_or_else(|| "its model".to_owned(), |adapter| adapter.base);
    Err(LoadError::OtherKind {
        what: format!("the weights hold an adapter ({kind}) for {base} that is not merged into it, such as {name}"),
        advice: way_of_adapter(kind),
        path: files.location(),
    })
}
