//! Files of a model that are fetched: those that the loader reads, and nothing else.

/// Configuration and vocabulary by full name.
const NAMES: [&str; 7] = [
    "added_tokens.json",
    "config.json",
    "generation_config.json",
    "merges.txt",
    "preprocessor_config.json",
    "processor_config.json",
    "special_tokens_map.json",
];
/// Weights in one file or in parts, the better kind first: one that holds nothing but numbers.
const WEIGHTS: [(&str, &str); 2] = [("model", "safetensors"), ("pytorch_model", "bin")];

/// The names to fetch among `names`, small files first; `None` when there are no weights.
pub fn needed<'a>(names: &[&'a str]) -> Option<Vec<&'a str>> {
    let weights = WEIGHTS.iter().map(|(stem, ext)| weights_named(names, stem, ext)).find(|found| !found.is_empty())?;
    Some(names.iter().copied().filter(|name| is_small(name)).chain(weights).collect())
}

/// Whether a name from the server could lead out of the folder it belongs in, on any system.
pub fn is_hostile(name: &str) -> bool {
    let odd = |c: char| c.is_control() || "\\:".contains(c);
    name.contains(odd) || name.split('/').any(|part| part.is_empty() || part == "." || part == "..")
}

fn is_small(name: &str) -> bool {
    let vocabulary = name.starts_with("tokenizer") || name.starts_with("vocab");
    let pieces = name.rsplit_once('.').is_some_and(|(_, ext)| ext == "model" || ext == "spm");
    !name.contains('/') && (NAMES.contains(&name) || vocabulary || pieces)
}

/// `STEM.EXT`, or else the index and every `STEM-00001-of-00002.EXT`.
fn weights_named<'a>(names: &[&'a str], stem: &str, ext: &str) -> Vec<&'a str> {
    let whole = format!("{stem}.{ext}");
    if let Some(name) = names.iter().find(|name| **name == whole) {
        return vec![name];
    }
    let index = format!("{whole}.index.json");
    let is_shard = |name: &str| {
        let numbers = name.strip_prefix(stem).and_then(|rest| rest.strip_prefix('-')?.strip_suffix(&format!(".{ext}")));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        numbers.and_then(|numbers| numbers.split_once("-of-")).is_some_and(|(n, of)| digits(n) && digits(of))
    };
    let of_shards = names.iter().copied().filter(|name| *name == index || is_shard(name));
    if names.contains(&index.as_str()) { of_shards.collect() } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_loader_reads_is_fetched() {
        let names = [
            ".gitattributes",
            "README.md",
            "config.json",
            "flax_model.msgpack",
            "merges.txt",
            "model.safetensors",
            "onnx/model.safetensors",
            "pytorch_model.bin",
            "source.spm",
            "tf_model.h5",
            "tokenizer.json",
            "tokenizer_config.json",
            "vocab.json",
        ];
        let expected =
            ["config.json", "merges.txt", "source.spm", "tokenizer.json", "tokenizer_config.json", "vocab.json"];
        assert_eq!(needed(&names).unwrap(), [&expected[..], &["model.safetensors"]].concat());
    }

    #[test]
    fn weights_are_one_file_or_an_index_with_all_parts() {
        let parts = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"];
        let index = "model.safetensors.index.json";
        for (names, expected) in [
            (vec!["pytorch_model.bin"], vec!["pytorch_model.bin"]),
            (vec![parts[0], parts[1], index], vec![parts[0], parts[1], index]),
            (vec![parts[0], parts[1], index, "model.safetensors"], vec!["model.safetensors"]),
            (vec![parts[0], index, "model-x-of-y.safetensors"], vec![parts[0], index]),
        ] {
            assert_eq!(needed(&names).unwrap(), expected, "{names:?}");
        }
        for names in [vec![], vec!["tf_model.h5"], parts.to_vec(), vec!["model.fp16.safetensors"]] {
            assert_eq!(needed(&names), None, "{names:?}");
        }
    }

    #[test]
    fn names_that_lead_elsewhere_are_hostile() {
        for name in ["../x", "/etc/passwd", "a/../b", "a\\b", "C:x", "", "a//b", "a/", ".", "a\0b", "a\nb"] {
            assert!(is_hostile(name), "{name:?}");
        }
        for name in ["config.json", "onnx/model.onnx", ".gitattributes", "a..b", "ünïcode file.txt"] {
            assert!(!is_hostile(name), "{name:?}");
        }
    }
}
