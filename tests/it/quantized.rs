//! Weights of few bits: what scales them is held against what they are, and the model says how it was read.

use std::fs;

use attnscope::model::{Input, Logits, RunPlan, locate, uninterrupted};
use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use serde_json::json;

use crate::{
    families,
    parity::fixture,
    weights::{assert_says, model_with, open},
};

/// The tensors of a checkpoint, of which a test changes some.
struct Tensors(Vec<(String, Dtype, Vec<usize>, Vec<u8>)>);

impl Tensors {
    fn of(name: &str) -> Self {
        let bytes = fs::read(fixture(name).join("model.safetensors")).unwrap();
        let file = SafeTensors::deserialize(&bytes).unwrap();
        let tensors = file.tensors().into_iter();
        Self(tensors.map(|(name, view)| (name, view.dtype(), view.shape().to_vec(), view.data().to_vec())).collect())
    }

    fn at(&mut self, end: &str) -> &mut (String, Dtype, Vec<usize>, Vec<u8>) {
        self.0.iter_mut().find(|(name, ..)| name.ends_with(end)).unwrap_or_else(|| panic!("no tensor {end}"))
    }

    fn bytes(&self) -> Vec<u8> {
        let views = self
            .0
            .iter()
            .map(|(name, dtype, shape, data)| (name.clone(), TensorView::new(*dtype, shape.clone(), data).unwrap()));
        safetensors::serialize(views, None).unwrap()
    }
}

/// What is said of a checkpoint after a change of its tensors.
fn assert_refused(name: &str, change: impl FnOnce(&mut Tensors), parts: &[&str]) {
    let mut tensors = Tensors::of(name);
    change(&mut tensors);
    let folder = model_with(name, &[("model.safetensors", tensors.bytes())]);
    assert_says(open(folder.path()), parts);
}

const FP8: &str = "families/llama-fp8";
const MXFP4: &str = "families/gpt_oss-mxfp4";
const BY_ROW: &str = "families/qwen3-float-quantized";

#[test]
fn the_audit_says_how_weights_were_read() {
    for (name, dtype, says) in [
        (FP8, "F8_E4M3", "8-bit floating point"),
        (BY_ROW, "F8_E4M3", "Activations are not quantised"),
        (MXFP4, "MXFP4", "Mxfp4Config(dequantize=True)"),
        ("families/llama-gptq", "GPTQ, 4 bits", "integers (GPTQ, 4 bits)"),
        ("families/llama-gptq-v2", "GPTQ, 8 bits", "integers (GPTQ, 8 bits)"),
        ("families/llama-awq", "AWQ, 4 bits", "integers (AWQ, 4 bits)"),
        ("families/qwen3-mlx", "MLX, 4 bits", "integers (MLX, 4 bits)"),
        ("families/llama-nf4", "NF4", "dequantize_4bit"),
        ("families/llama-fp4", "FP4", "dequantize_4bit"),
        ("families/llama-int8", "INT8", "int8_vectorwise_dequant"),
        ("families/llama-pack-quantized", "INT4", "integers (compressed-tensors)"),
    ] {
        let audit = open(&fixture(name)).unwrap().audit().clone();
        assert!(audit.warnings.iter().any(|warning| warning.contains(says)), "{name}: {:?}", audit.warnings);
        assert!(audit.dtypes.iter().any(|(found, _)| found == dtype), "{name}: {:?}", audit.dtypes);
        assert_eq!(audit.unexpected, Vec::<String>::new(), "{name}");
    }
}

/// Bytes that the weights of a checkpoint take in memory, by the audit after opening it and by the estimate before, which
/// has the largest tensor in single precision once more.
#[test]
fn weights_of_few_bits_take_the_memory_that_they_take_in_the_file() {
    let names = [
        (FP8, 1.4),
        (MXFP4, 1.05),
        ("families/llama-gptq", 1.3),
        ("families/llama-awq", 1.2),
        ("families/qwen3-mlx", 1.3),
        ("families/llama-nf4", 1.1),
        ("families/llama-int8", 1.05),
    ];
    for (name, most) in names {
        let folder = fixture(name);
        let stored: usize = Tensors::of(name).0.iter().map(|(.., data)| data.len()).sum();
        let audit = open(&folder).unwrap().audit().clone();
        assert!(audit.n_bytes < 4 * audit.n_params, "{name}: {} bytes of {} numbers", audit.n_bytes, audit.n_params);
        assert!((audit.n_bytes as f64) < most * stored as f64, "{name}: {} bytes for {stored}", audit.n_bytes);
        let needs = locate::known_at(&folder).needs.unwrap().bytes;
        let largest =
            4 * audit.tensors.iter().map(|tensor| tensor.shape.iter().product::<usize>() as u64).max().unwrap();
        assert!((audit.n_bytes..=audit.n_bytes + largest).contains(&needs), "{name}: {needs} for {}", audit.n_bytes);
    }
}

/// A checkpoint whose embeddings, and the output that is tied to them, are what its first layer has as a map of few bits.
fn with_a_map_as_embeddings(name: &str) -> tempfile::TempDir {
    const MAP: &str = "model.layers.0.mlp.gate_proj.";
    let mut tensors = Tensors::of(name);
    tensors.0.retain(|(name, ..)| !name.starts_with("model.embed_tokens") && !name.starts_with("lm_head"));
    let parts: Vec<_> = tensors.0.iter().filter(|(name, ..)| name.starts_with(MAP)).cloned().collect();
    tensors.0.extend(
        parts
            .into_iter()
            .map(|(name, dtype, shape, data)| (name.replace(MAP, "model.embed_tokens."), dtype, shape, data)),
    );
    let config = fs::read_to_string(fixture(name).join("config.json")).unwrap();
    let mut config: serde_json::Value = serde_json::from_str(&config).unwrap();
    config["vocab_size"] = 96.into();
    config["tie_word_embeddings"] = true.into();
    if let Some(settings) = config.get_mut("quantization") {
        settings["model.embed_tokens"] = false.into();
    }
    model_with(name, &[("model.safetensors", tensors.bytes()), ("config.json", config.to_string().into_bytes())])
}

#[test]
fn numbers_of_few_bits_are_those_of_the_library_bit_by_bit() {
    let mut n_forms = 0;
    for name in families::families() {
        let name = format!("families/{name}");
        let Ok(expected) = fs::read(fixture(&name).join("numbers.safetensors")) else { continue };
        n_forms += 1;
        let expected = SafeTensors::deserialize(&expected).unwrap();
        let expected = expected.tensor("gate_proj").unwrap();
        let folder = with_a_map_as_embeddings(&name);
        let model = open(folder.path()).unwrap_or_else(|error| panic!("{name}: {error}; {}", error.details()));
        assert_eq!(model.n_embeddings().unwrap(), 96, "{name}");
        let ids: Vec<u32> = (0..expected.shape()[0] as u32).collect();
        let rows = model.token_embeddings(&ids).unwrap();
        let bytes: Vec<u8> = rows.as_slice().iter().flat_map(|value| value.to_le_bytes()).collect();
        assert!(bytes == expected.data(), "{name}: other numbers");
        // The tied output multiplies with the same rows.
        let input = model.encode(&Input::Ids(vec![1, 7, 95])).unwrap();
        let plan = RunPlan { logits: Logits::Keep, ..RunPlan::default() };
        let logits = model.forward(&input, &plan, &uninterrupted).unwrap().logits().unwrap().as_slice().to_vec();
        assert!(logits.len() == 3 * 96 && logits.iter().all(|logit| logit.is_finite()), "{name}");
    }
    assert_eq!(n_forms, 8);
}

#[test]
fn forms_that_are_not_read_are_told_with_method_and_bits() {
    let with = |name: &str, settings: serde_json::Value| {
        let config = fs::read_to_string(fixture(name).join("config.json")).unwrap();
        let mut config: serde_json::Value = serde_json::from_str(&config).unwrap();
        config["quantization_config"] = settings;
        let weights = Tensors::of(name).bytes();
        let folder =
            model_with(name, &[("config.json", config.to_string().into_bytes()), ("model.safetensors", weights)]);
        open(folder.path()).unwrap_err().to_string()
    };
    for (name, settings, told) in [
        ("families/llama-gptq", json!({"quant_method": "gptq", "bits": 3, "group_size": 16}), "gptq, 3 bits"),
        (
            "families/llama-awq",
            json!({"quant_method": "awq", "bits": 4, "version": "gemv"}),
            "awq, 4 bits, in the version gemv",
        ),
        ("families/llama-nf4", json!({"quant_method": "hqq", "bits": 2}), "hqq, 2 bits"),
    ] {
        let said = with(name, settings);
        assert!(said.contains(told), "{said}");
    }
    // A configuration that says other bits than a layer has is told with the layer.
    let said = with("families/llama-gptq", json!({"quant_method": "gptq", "bits": 8, "group_size": 16}));
    assert!(said.contains("model.layers.0.mlp.down_proj") && said.contains("8 bits"), "{said}");
}

#[test]
fn codes_that_do_not_fit_their_scales_are_refused() {
    let gptq = "families/llama-gptq";
    assert_refused(gptq, |tensors| tensors.at("q_proj.g_idx").3[0] = 9, &["q_proj.g_idx names the group 9 of 4"]);
    assert_refused(gptq, |tensors| tensors.at("q_proj.scales").3[1] = 0x7e, &["q_proj.scales", "not finite"]);
    assert_refused(gptq, |tensors| tensors.at("q_proj.qzeros").0 = "other".to_owned(), &["no ", "q_proj.qzeros"]);
    assert_refused(gptq, |tensors| tensors.at("q_proj.scales").1 = Dtype::I16, &["q_proj.scales", "I16"]);
    let nf4 = "families/llama-nf4";
    let state = "q_proj.weight.quant_state.bitsandbytes__nf4";
    assert_refused(nf4, |tensors| tensors.at(state).3[0] = b'[', &[state, "does not say how it is stored"]);
    assert_refused(
        nf4,
        |tensors| tensors.at("q_proj.weight.nested_absmax").3[2..4].copy_from_slice(&[0xff, 0x7f]),
        &["q_proj.weight", "not finite"],
    );
    let mlx = "families/qwen3-mlx";
    assert_refused(mlx, |tensors| tensors.at("q_proj.biases").0 = "other".to_owned(), &["no ", "q_proj.biases"]);
    let scb = |tensors: &mut Tensors| {
        let (_, _, shape, data) = tensors.at("q_proj.SCB");
        *shape = vec![63];
        data.truncate(4 * 63);
    };
    assert_refused("families/llama-int8", scb, &["q_proj.SCB", "64 rows"]);
}

#[test]
fn scales_that_do_not_fit_are_refused() {
    let nan = f32::NAN.to_le_bytes();
    let scale = "k_proj.weight_scale_inv";
    assert_refused(FP8, |tensors| tensors.at(scale).3[4..8].copy_from_slice(&nan), &[scale, "not finite"]);
    assert_refused(FP8, |tensors| tensors.at("k_proj.weight").3[5] = 0x7f, &["k_proj.weight", "not finite"]);
    assert_refused(FP8, |tensors| tensors.at(scale).0 = "other".to_owned(), &["k_proj.weight", "no ", scale]);
    assert_refused(
        FP8,
        |tensors| {
            let (_, _, shape, data) = tensors.at(scale);
            *shape = vec![5, 4];
            data.resize(80, 0);
        },
        &["no whole number of blocks", scale],
    );
    assert_refused(FP8, |tensors| tensors.at(scale).1 = Dtype::I32, &[scale, "I32"]);
    assert_refused(BY_ROW, |tensors| tensors.at("v_proj.weight_scale").3[..4].copy_from_slice(&nan), &["not finite"]);
    assert_refused(MXFP4, |tensors| tensors.at("down_proj_scales").3[0] = 255, &["down_proj_blocks", "not finite"]);
    assert_refused(
        MXFP4,
        |tensors| tensors.at("down_proj_scales").0 = "other".to_owned(),
        &["no ", "down_proj_scales"],
    );
}
