//! Weights as they lie in the file: those of two bytes a number stay so, and change no bit of a result.

use std::{collections::BTreeMap, fs, path::Path};

use attnscope::{
    capture::{Capture, Site},
    model::{Edit, Encoded, Gradients, Logits, Model, ModelFiles, Objective, RunPlan, Sites, Taps, uninterrupted},
};
use half::{bf16, f16};
use safetensors::{Dtype, SafeTensors, tensor::TensorView};

use crate::{
    families::{families, folder},
    parity::Reference,
    weights::engine,
};

/// Type, shape and bytes of tensors by name.
type Tensors = BTreeMap<String, (Dtype, Vec<usize>, Vec<u8>)>;

/// The checkpoint of a family with its numbers rounded to two bytes, stored in two bytes and in four.
struct Both {
    folders: [tempfile::TempDir; 2],
}

impl Both {
    fn of(name: &str, dtype: Dtype) -> Option<Self> {
        let from = folder().join(name);
        let file =
            ["model.safetensors", "open_clip_model.safetensors"].into_iter().find(|file| from.join(file).is_file())?;
        let bytes = fs::read(from.join(file)).unwrap();
        let tensors = SafeTensors::deserialize(&bytes).unwrap();
        let mut stored = [Tensors::new(), Tensors::new()];
        for (tensor, view) in tensors.iter() {
            let shape = view.shape().to_vec();
            let values: Vec<f32> = match view.dtype() {
                Dtype::F32 => {
                    let values = view.data().chunks_exact(4);
                    values.map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect()
                }
                Dtype::F16 => {
                    let values = view.data().chunks_exact(2);
                    values.map(|bytes| f16::from_le_bytes(bytes.try_into().unwrap()).to_f32()).collect()
                }
                other => {
                    for stored in &mut stored {
                        stored.insert(tensor.to_owned(), (other, shape.clone(), view.data().to_vec()));
                    }
                    continue;
                }
            };
            let (mut two, mut four) = (Vec::new(), Vec::new());
            for value in values {
                let (bits, rounded) = match dtype {
                    Dtype::F16 => (f16::from_f32(value).to_bits(), f16::from_f32(value).to_f32()),
                    _ => (bf16::from_f32(value).to_bits(), bf16::from_f32(value).to_f32()),
                };
                two.extend(bits.to_le_bytes());
                four.extend(rounded.to_le_bytes());
            }
            stored[0].insert(tensor.to_owned(), (dtype, shape.clone(), two));
            stored[1].insert(tensor.to_owned(), (Dtype::F32, shape, four));
        }
        let folders = stored.map(|stored| {
            let folder = tempfile::tempdir().unwrap();
            copy(&from, folder.path());
            let views = stored
                .iter()
                .map(|(name, (dtype, shape, data))| (name, TensorView::new(*dtype, shape.clone(), data).unwrap()));
            let bytes = safetensors::serialize(views, None).unwrap();
            fs::write(folder.path().join(file), bytes).unwrap();
            folder
        });
        Some(Self { folders })
    }

    fn models(&self) -> [Model; 2] {
        self.folders.each_ref().map(|folder| {
            let files = ModelFiles::open(folder.path()).unwrap();
            Model::load(&files, "stored", &engine(), &uninterrupted).unwrap()
        })
    }
}

/// All that is in a folder but weights.
fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        if entry.path().extension().is_none_or(|kind| kind != "safetensors") && entry.path().is_file() {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

/// All recorded numbers, bit by bit.
fn bits(capture: &Capture) -> Vec<u32> {
    let mut bits = Vec::new();
    let mut add = |values: &[f32]| bits.extend(values.iter().map(|value| value.to_bits()));
    capture.logits().into_iter().for_each(|logits| add(logits.as_slice()));
    for layer in capture.stacks().iter().flat_map(|stack| &stack.layers) {
        for site in Site::ALL {
            layer.rows(site).into_iter().for_each(|rows| add(rows.as_slice()));
            layer.per_head(site).into_iter().for_each(|heads| add(heads.as_slice()));
        }
    }
    bits
}

fn bits_of_gradients(gradients: &Gradients) -> Vec<u32> {
    let mut bits = Vec::new();
    let mut add = |values: &[f32]| bits.extend(values.iter().map(|value| value.to_bits()));
    for layer in gradients.stacks.iter().flat_map(|stack| &stack.layers) {
        for site in Site::ALL {
            layer.rows(site).into_iter().for_each(|rows| add(rows.as_slice()));
            layer.per_head(site).into_iter().for_each(|heads| add(heads.as_slice()));
        }
    }
    bits
}

fn gradients(model: &Model, (encoded, edits): (&Encoded, &[Edit]), capture: &Capture) -> Vec<u32> {
    let objective = match capture.logits() {
        Some(logits) => Objective::Logit { row: logits.n_rows() - 1, id: 0 },
        None => Objective::SquaredNorm { position: 1 },
    };
    let taps = Taps { sites: Sites::all(), fixed_patterns: false };
    bits_of_gradients(
        &model
            .gradients(
                encoded,
                &RunPlan { edits: edits.to_vec(), sites: Sites::all(), ..RunPlan::silent() },
                objective,
                taps,
                &uninterrupted,
            )
            .unwrap()
            .1,
    )
}

#[test]
fn every_family_stored_in_two_bytes_gives_the_bits_of_four() {
    let mut n_tried = 0;
    // What is stored in fewer bits stays so.
    let is_whole = |name: &String| {
        let config = fs::read_to_string(folder().join(name).join("config.json"));
        !config.is_ok_and(|config| config.contains("\"quantization"))
    };
    for name in families().into_iter().filter(is_whole) {
        for dtype in [Dtype::BF16, Dtype::F16] {
            let Some(both) = Both::of(&name, dtype) else { continue };
            let [two, four] = both.models();
            let (of_two, of_four) = (two.audit().n_bytes, four.audit().n_bytes);
            assert!(of_two < of_four, "{name}: {of_two} and {of_four} bytes");
            assert_eq!(of_four, 4 * four.audit().n_params, "{name}");
            if ["gpt2", "llama", "qwen3", "bert"].contains(&name.as_str()) {
                // All but vectors and positions.
                assert!(of_two as f64 <= 0.58 * of_four as f64, "{name}: {of_two} of {of_four} bytes");
            }
            let reference = Reference::open(&format!("families/{name}"), "reference.safetensors");
            let encoded = [&two, &four].map(|model| model.encode(&reference.input()).unwrap());
            let plan =
                RunPlan { sites: Sites::all(), logits: Logits::Keep, edits: reference.edits(), ..RunPlan::default() };
            let captures = [(&two, &encoded[0]), (&four, &encoded[1])]
                .map(|(model, encoded)| model.forward(encoded, &plan, &uninterrupted).unwrap());
            assert!(bits(&captures[0]) == bits(&captures[1]), "{name} in {dtype:?}");
            if dtype == Dtype::BF16 {
                let of_two = gradients(&two, (&encoded[0], &plan.edits), &captures[0]);
                assert!(
                    !of_two.is_empty() && of_two == gradients(&four, (&encoded[1], &plan.edits), &captures[1]),
                    "{name}: gradients"
                );
            }
            n_tried += 1;
        }
    }
    assert!(n_tried > 80, "{n_tried} checkpoints");
}
