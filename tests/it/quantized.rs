//! Weights of few bits: what scales them is held against what they are, and the model says how it was read.

use std::fs;

use safetensors::{Dtype, SafeTensors, tensor::TensorView};

use crate::{
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
    ] {
        let audit = open(&fixture(name)).unwrap().audit().clone();
        assert!(audit.warnings.iter().any(|warning| warning.contains(says)), "{name}: {:?}", audit.warnings);
        assert!(audit.dtypes.iter().any(|(found, _)| found == dtype), "{name}: {:?}", audit.dtypes);
        assert_eq!(audit.unexpected, Vec::<String>::new(), "{name}");
    }
    // Numbers of four bits times a power of two are of the two bytes that they are kept in.
    let audit = open(&fixture(MXFP4)).unwrap().audit().clone();
    assert!(audit.n_bytes < 4 * audit.n_params, "{} bytes of {} numbers", audit.n_bytes, audit.n_params);
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
