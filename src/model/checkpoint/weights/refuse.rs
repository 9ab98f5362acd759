//! Weights that are whole and well-formed, but not what a model can run on: quantised ones, and
//! adapters that are not merged.

use std::collections::BTreeMap;

use super::entry::Entry;
use crate::model::{LoadError, checkpoint::ModelFiles};

/// Parameters that only quantised layers have, and what wrote them.
const QUANTISED_NAMES: [(&str, &str); 4] = [
    (".qweight", "GPTQ or AWQ"),
    (".weight_packed", "compressed-tensors"),
    (".absmax", "bitsandbytes, 4 bits"),
    (".SCB", "bitsandbytes, 8 bits"),
];
/// Types in which weights, as opposed to masks and counters, are stored only when quantised.
const QUANTISED_TYPES: [(&str, &str); 6] = [
    ("F8_", "8-bit floating point"),
    ("float8_", "8-bit floating point"),
    ("F4", "4-bit floating point"),
    ("I8", "8-bit integers"),
    ("U8", "packed integers"),
    ("qtensor", "PyTorch integers"),
];

/// Judges by names and types alone; a `quantization_config` is noticed before.
pub(super) fn check(files: &ModelFiles, entries: &BTreeMap<String, (usize, Entry)>) -> Result<(), LoadError> {
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
    if entries.keys().any(|name| name.contains(".lora_A.") || name.contains(".lora_B.")) {
        let base = files.adapter_base().unwrap_or_else(|| "its model".to_owned());
        return Err(LoadError::Adapter { base, path: files.location() });
    }
    Ok(())
}
