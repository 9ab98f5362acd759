//! Weights in every container and under every prefix: the same numbers, or a sentence that says why
//! not. Nothing that a file claims is believed or executed.

use std::{fs, path::Path};

use attnscope::model::{
    Engine, Input, LoadError, Logits, Model, ModelFiles, RunPlan, Sites,
    audit::{Audit, Role},
    uninterrupted,
};
use tempfile::TempDir;

use crate::parity::{Reference, fixture};

pub const SINGLE: &str = "pytorch_model.bin";

/// What a checkpoint calls the tensors of another one.
type Rename = Box<dyn Fn(&str) -> String>;

/// A fixture without its weights, and with other ones under a name of the hub.
pub fn model_with(fixture_name: &str, weights: &[(&str, Vec<u8>)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(fixture(fixture_name)).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if !name.starts_with("model") && !name.starts_with("reference") {
            fs::copy(&path, folder.path().join(name)).unwrap();
        }
    }
    for (name, bytes) in weights {
        fs::write(folder.path().join(name), bytes).unwrap();
    }
    folder
}

pub fn bin(name: &str) -> Vec<u8> {
    fs::read(fixture("bin").join(name)).unwrap()
}

pub fn engine() -> Engine {
    Engine::cpu(Some(1)).unwrap()
}

pub fn open(path: &Path) -> Result<Model, LoadError> {
    Model::load(&ModelFiles::open(path)?, "weights", &engine(), &uninterrupted)
}

/// What a model computes, bit by bit.
pub fn bits(model: &Model, input: &Input) -> Vec<u32> {
    let plan = RunPlan { sites: Sites::all(), logits: Logits::Keep, ..RunPlan::default() };
    let capture = model.forward(&model.encode(input).unwrap(), &plan, &uninterrupted).unwrap();
    let stack = &capture.stacks()[0];
    let layers = stack.layers.iter().flat_map(|layer| {
        let by_head = [layer.q(), layer.k(), layer.v(), layer.scores(), layer.pattern(), layer.z()];
        by_head.into_iter().flat_map(|site| site.unwrap().as_slice())
    });
    let ends = [stack.resid_final().unwrap().as_slice(), capture.logits().unwrap().as_slice()];
    layers.chain(ends.into_iter().flatten()).map(|value| value.to_bits()).collect()
}

/// Checks that weights from another container or under other names give the very same numbers.
pub fn assert_same(name: &str, path: &Path) -> Audit {
    let model = open(path).unwrap_or_else(|error| panic!("{error}: {}", error.details()));
    let input = Reference::open(name, "reference.safetensors").input();
    assert_eq!(bits(&model, &input), bits(&open(&fixture(name)).unwrap(), &input), "{name}");
    model.audit().clone()
}

fn has_renamed(audit: &Audit, expected: &str, found: &str) -> bool {
    audit.renamed.contains(&(expected.to_owned(), found.to_owned()))
}

#[test]
fn pytorch_weights_give_the_same_bits_as_safetensors() {
    let audit = assert_same("bert", model_with("bert", &[(SINGLE, bin("bert-tied.bin"))]).path());
    assert_eq!(audit.dtypes, [("F32".to_owned(), 43), ("I64".to_owned(), 1)]);
    assert!(audit.unexpected.is_empty(), "{:?}", audit.unexpected);
    let buffer = audit.tensors.iter().find(|tensor| tensor.name == "bert.embeddings.position_ids");
    assert_eq!(buffer.map(|tensor| tensor.role), Some(Role::Skipped));
    assert!(audit.renamed.is_empty(), "{:?}", audit.renamed);
    let audit = assert_same("vit-f16", model_with("vit-f16", &[(SINGLE, bin("vit-f16.bin"))]).path());
    assert_eq!(audit.dtypes, [("F16".to_owned(), 40)]);
}

#[test]
fn views_of_storages_inside_wrappers_give_the_same_bits() {
    let audit = assert_same("bert", model_with("bert", &[(SINGLE, bin("bert-wrapped.bin"))]).path());
    assert!(audit.unexpected.is_empty(), "{:?}", audit.unexpected);
    assert!(has_renamed(&audit, "…", "model.state_dict[…]"), "{:?}", audit.renamed);
    assert!(has_renamed(&audit, "…", "_orig_mod.…"), "{:?}", audit.renamed);
    assert!(has_renamed(&audit, "bert.…", "module.model.bert.…"), "{:?}", audit.renamed);
}

#[test]
fn sharded_pytorch_weights_open_by_folder_by_index_and_by_shard() {
    let shards =
        ["pytorch_model-00001-of-00002.bin", "pytorch_model-00002-of-00002.bin", "pytorch_model.bin.index.json"];
    let weights = shards.map(|name| (name, bin(&format!("sharded/{name}"))));
    let folder = model_with("gpt2-bf16", &weights);
    let audit = assert_same("gpt2-bf16", folder.path());
    assert_eq!(audit.dtypes, [("BF16".to_owned(), 28)]);
    assert_eq!(audit.weights_source, "pytorch_model-00001-of-00002.bin and 1 more");
    assert_same("gpt2-bf16", &folder.path().join(shards[1]));
    fs::remove_file(folder.path().join(shards[0])).unwrap();
    assert_says(open(folder.path()), &["pytorch_model-00001-of-00002.bin cannot be read"]);
}

#[test]
fn a_chosen_file_comes_before_the_ones_with_the_usual_names() {
    let good = bin("bert-tied.bin");
    let safetensors = fs::read(fixture("bert").join("model.safetensors")).unwrap();
    let folder = model_with("bert", &[(SINGLE, vec![0; 16]), ("mine.PT", good.clone()), ("epoch-3.bin", good)]);
    for chosen in ["mine.PT", "epoch-3.bin"] {
        assert_eq!(assert_same("bert", &folder.path().join(chosen)).weights_source, chosen);
    }
    assert_says(open(folder.path()), &["pytorch_model.bin is not a PyTorch checkpoint"]);
    // Safetensors, where there are any, need no pickle.
    fs::write(folder.path().join("model.safetensors"), safetensors).unwrap();
    assert_eq!(assert_same("bert", folder.path()).weights_source, "model.safetensors");
    assert!(open(&folder.path().join(SINGLE)).is_err());
}

/// A safetensors file with the tensors of a fixture under other names.
pub fn renamed(name: &str, rename: impl Fn(&str) -> String) -> Vec<u8> {
    let bytes = fs::read(fixture(name).join("model.safetensors")).unwrap();
    let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let tensors = tensors.iter().map(|(name, view)| (rename(name), view));
    safetensors::serialize(tensors, None).unwrap()
}

#[test]
fn wrappers_around_names_are_repaired_and_reported() {
    let bare = |name: &str| name.trim_start_matches("bert.").to_owned();
    let body_in = |wrapper: &'static str| {
        move |name: &str| name.strip_prefix("bert.").map_or_else(|| name.to_owned(), |rest| format!("{wrapper}{rest}"))
    };
    let all_in = |wrapper: &'static str| move |name: &str| format!("{wrapper}{name}");
    let cases: [(&str, Rename); 9] = [
        ("module.bert.…", Box::new(all_in("module."))),
        ("model.bert.…", Box::new(all_in("model."))),
        ("backbone.bert.…", Box::new(all_in("backbone."))),
        ("base_model.model.bert.…", Box::new(all_in("base_model.model."))),
        ("module.base_model.model.bert.…", Box::new(all_in("module.base_model.model."))),
        ("…", Box::new(bare)),
        ("backbone.…", Box::new(body_in("backbone."))),
        ("module.bert.…", Box::new(body_in("module.bert."))),
        ("base_model.model.…", Box::new(body_in("base_model.model."))),
    ];
    for (found, rename) in cases {
        let folder = model_with("bert", &[("model.safetensors", renamed("bert", rename))]);
        let audit = assert_same("bert", folder.path());
        assert_eq!(audit.renamed, [("bert.…".to_owned(), found.to_owned())]);
        assert!(audit.absent.is_empty() && audit.unexpected.is_empty(), "{audit:?}");
    }
    // Compilers and sharded training also wrap single layers.
    let inside = |name: &str| name.replace("layer.1.", "layer.1._orig_mod._fsdp_wrapped_module.");
    let folder = model_with("bert", &[("model.safetensors", renamed("bert", inside))]);
    let audit = assert_same("bert", folder.path());
    assert!(has_renamed(&audit, "…", "_orig_mod.…") && has_renamed(&audit, "…", "_fsdp_wrapped_module.…"));
}

#[test]
fn a_body_called_model_is_told_from_a_wrapper_called_model() {
    let body = |name: &str| name.trim_start_matches("model.").to_owned();
    let within = |wrapper: &'static str| move |name: &str| format!("{wrapper}{name}");
    let cases: [(&str, Rename); 5] = [
        ("…", Box::new(body)),
        ("module.…", Box::new(move |name| format!("module.{}", body(name)))),
        ("module.model.…", Box::new(within("module."))),
        ("model.model.…", Box::new(within("model."))),
        ("base_model.model.model.…", Box::new(within("base_model.model."))),
    ];
    for (found, rename) in cases {
        let folder = model_with("families/llama", &[("model.safetensors", renamed("families/llama", rename))]);
        let audit = assert_same("families/llama", folder.path());
        assert_eq!(audit.renamed, [("model.…".to_owned(), found.to_owned())]);
        // The head is found as well: it is not tied to the embedding.
        assert!(audit.absent.is_empty() && audit.unexpected.is_empty(), "{audit:?}");
    }
}

/// Checks that loading failed, and that both sentences are fit for a person.
pub fn assert_says(result: Result<Model, LoadError>, parts: &[&str]) {
    let error = result.err().unwrap_or_else(|| panic!("accepted instead of: {parts:?}"));
    let text = format!("{error}\n{}", error.details());
    assert_eq!(text.lines().count(), 2, "{text}");
    assert!(text.len() < 600, "{text}");
    for part in parts {
        assert!(text.contains(part), "“{text}” does not say “{part}”");
    }
}

/// Tensors of a map in use that no family knows may be of a method that nobody here has heard of.
#[test]
fn unknown_tensors_of_maps_in_use_are_told() {
    let warnings = |more: &'static str| {
        let bytes = fs::read(fixture("bert").join("model.safetensors")).unwrap();
        let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
        let zeros = [0; 16];
        let more =
            (more.to_owned(), safetensors::tensor::TensorView::new(safetensors::Dtype::F32, vec![4], &zeros).unwrap());
        let all = tensors.iter().map(|(name, view)| (name.to_owned(), view)).chain([more]);
        let folder = model_with("bert", &[("model.safetensors", safetensors::serialize(all, None).unwrap())]);
        assert_same("bert", folder.path()).warnings
    };
    for name in ["query.steering", "query.newmethod_U.default.weight"] {
        let name: &'static str = format!("bert.encoder.layer.0.attention.self.{name}").leak();
        let told = warnings(name).concat();
        assert!(told.contains("1 tensor, such as") && told.contains(name), "{told}");
    }
    assert!(warnings("somewhere.else.weight").is_empty());
}
