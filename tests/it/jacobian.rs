//! Jacobian lenses against PyTorch's autograd (`tests/fixtures/generate_lab_jacobian.py`): the fit, its files, and what is
//! read through them.

use std::{fs, path::Path, process::Command};

use attnscope::{
    analysis::explain::{
        jacobian::{HeadJacobians, JacobianSums},
        report::{ColumnValues, Report, Value},
    },
    lab::{LensOptions, MethodCall, Target},
    model::{Input, Model, is_lens, open_lens, uninterrupted, write_lens},
};
use safetensors::SafeTensors;
use serde_json::json;

use crate::{
    lab::{NO_EDITS, ask, assert_near_of, column, of, refused, try_ask},
    parity,
};

const SKIP: usize = 2;

/// What PyTorch computed, by name.
struct Reference(Vec<u8>);

impl Reference {
    fn open() -> Self {
        Self(fs::read(parity::fixture("lab/jacobian.safetensors")).unwrap())
    }

    fn numbers(&self, name: &str) -> Vec<f64> {
        let tensors = SafeTensors::deserialize(&self.0).unwrap();
        let bytes = tensors.tensor(name).unwrap().data().to_vec();
        bytes.chunks_exact(4).map(|four| f64::from(f32::from_le_bytes(four.try_into().unwrap()))).collect()
    }

    fn texts(&self) -> Vec<String> {
        let (_, header) = SafeTensors::read_metadata(&self.0).unwrap();
        serde_json::from_str(&header.metadata().as_ref().unwrap()["texts"]).unwrap()
    }
}

/// The sums of both texts.
fn fitted(model: &Model, texts: &[String]) -> JacobianSums {
    let mut sums = JacobianSums::new(model.spec().d_model, model.n_stream_layers().unwrap());
    for text in texts {
        let input = model.encode(&Input::text(text)).unwrap();
        let n = input.tokens.values().map(Vec::len).max().unwrap();
        let found = model.mean_jacobians(&input, SKIP..n - 1, &uninterrupted).unwrap();
        sums.add(&found.streams, &found.attention);
    }
    sums
}

/// The lens of a file, as an option of the method.
fn through(path: &Path) -> MethodCall {
    MethodCall::Lens(LensOptions { n_top: 5, jacobian_lens: Some(path.to_str().unwrap().to_owned()) })
}

fn written(folder: &Path, sums: &JacobianSums) -> std::path::PathBuf {
    let path = folder.join("lens.safetensors");
    let mut bytes = Vec::new();
    write_lens(sums, &[("skip_first", SKIP.to_string())], &mut bytes).unwrap();
    fs::write(&path, bytes).unwrap();
    path
}

fn numbers(report: &Report, name: &str) -> Vec<f64> {
    match column(report.value("jacobian_heads").unwrap(), name) {
        ColumnValues::Number(numbers) => numbers.clone(),
        other => panic!("{other:?}"),
    }
}

fn names(report: &Report) -> Vec<String> {
    match column(report.value("jacobian_heads").unwrap(), "part") {
        ColumnValues::Text(names) => names.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_fitted_lens_is_the_mean_jacobian_of_autograd() {
    let reference = Reference::open();
    for name in ["gpt2", "bert"] {
        let model = parity::load(name);
        let sums = fitted(&model, &reference.texts());
        let check = |group: &str, all: &[Vec<f64>]| {
            for (layer, of) in all.iter().enumerate() {
                let expected = reference.numbers(&format!("{name}.{group}.{layer}"));
                let found: Vec<f64> = sums.mean(of).collect();
                assert_eq!(found.len(), expected.len());
                for (found, expected) in found.iter().zip(&expected) {
                    assert!((found - expected).abs() < 1e-4, "{name} {group} {layer}: {found} {expected}");
                }
            }
        };
        check("J", &sums.streams);
        check("J_attn", &sums.attention);
    }
}

#[test]
fn layers_and_heads_are_read_through_a_lens_as_pytorch_reads_them() {
    let (reference, folder) = (Reference::open(), tempfile::tempdir().unwrap());
    for name in ["gpt2", "bert"] {
        let model = parity::load(name);
        let path = written(folder.path(), &fitted(&model, &reference.texts()));
        let input = model.encode(&Input::text(&reference.texts()[0])).unwrap();
        let last = input.tokens.values().map(Vec::len).max().unwrap() - 1;
        let at = Target { position: Some(last), ..Target::default() };
        let report = ask(&model, &input, &through(&path), at);
        // The prediction of layer 0, by the logits of PyTorch.
        let logits = reference.numbers(&format!("{name}.logits"));
        let most = logits.iter().copied().fold(f64::MIN, f64::max);
        let sum: f64 = logits.iter().map(|logit| (logit - most).exp()).sum();
        let best = (0..logits.len()).max_by(|a, b| logits[*a].total_cmp(&logits[*b])).unwrap();
        let Some(Value::Layers(layers)) = report.value("jacobian_layers") else { panic!("no layers") };
        let (ColumnValues::Texts(tokens), ColumnValues::Numbers(p)) =
            (column(&layers[0], "tokens"), column(&layers[0], "probabilities"))
        else {
            panic!("no tokens")
        };
        assert_eq!(tokens[0][0], model.outcome_label(best as u32), "{name}");
        assert!((p[0][0] - 1.0 / sum).abs() < 1e-5, "{name}: {} {}", p[0][0], 1.0 / sum);
        // The last layer is what the model says.
        let probability = of(&report, "jacobian_probability");
        assert!((probability[1] - of(&report, "probability")[1]).abs() < 1e-6);
        // Lengths of what heads write, and the parts of a layer add up to its attention.
        let expected = reference.numbers(&format!("{name}.heads"));
        let (names, lengths) = (names(&report), numbers(&report, "length"));
        for (nth, vector) in expected.chunks_exact(32).enumerate() {
            let length = vector.iter().map(|value| value * value).sum::<f64>().sqrt();
            let part = names.iter().position(|name| *name == format!("L{}H{}", nth / 4, nth % 4)).unwrap();
            assert!((lengths[part] - length).abs() < 1e-4 * length.max(1.0), "{name} {}", names[part]);
        }
        if name == "gpt2" {
            let contributions = numbers(&report, "contribution");
            for layer in 0..2 {
                let whole = names.iter().position(|name| *name == format!("L{layer} attention")).unwrap();
                let parts = names.iter().zip(&contributions).filter(|(name, _)| name.starts_with(&format!("L{layer}")));
                let sum = parts.map(|(_, value)| value).sum::<f64>() - contributions[whole];
                assert_near_of(contributions[whole].abs().max(1.0), &[sum], &[contributions[whole]], "sum of a layer");
            }
        }
        assert!(report.notes.iter().any(|note| note.contains("first 2 positions")), "{:?}", report.notes);
    }
}

#[test]
fn a_lens_in_the_published_layout_opens_and_others_are_refused_by_name() {
    let (reference, folder) = (Reference::open(), tempfile::tempdir().unwrap());
    let expected = reference.numbers("gpt2.J.0");
    for (file, tolerance) in [("lab/lens_published.pt", 2e-3), ("lab/lens_sums.pt", 1e-6)] {
        let path = parity::fixture(file);
        assert!(is_lens(&path));
        let lens = open_lens(&path).unwrap();
        assert_eq!((lens.n_prompts, lens.d_model, lens.skip_first), (2, 32, Some(SKIP)));
        for (found, expected) in lens.stream(0).unwrap().as_slice().iter().zip(&expected) {
            assert!((f64::from(*found) - expected).abs() < tolerance * expected.abs().max(1.0));
        }
        assert!(matches!(lens.heads(), HeadJacobians::None));
    }
    let model = parity::load("gpt2");
    let input = model.encode(&Input::text("The cat did not cross the street.")).unwrap();
    let report =
        try_ask(&model, &input, NO_EDITS, &through(&parity::fixture("lab/lens_published.pt")), Target::default());
    assert!(report.unwrap().report.notes.iter().any(|note| note.contains("feed-forward network")));
    // One of another width, of more layers, with a number that is none, of another estimator, and files of another kind.
    let lens = |name: &str, width: usize, layers: &[usize], value: f32, about: serde_json::Value| {
        let path = folder.path().join(name);
        let bytes: Vec<u8> = std::iter::repeat_n(value, width * width).flat_map(f32::to_le_bytes).collect();
        let view =
            |_| safetensors::tensor::TensorView::new(safetensors::Dtype::F32, vec![width, width], &bytes).unwrap();
        let tensors: Vec<_> = layers.iter().map(|layer| (format!("J.{layer}"), view(layer))).collect();
        let about = about.as_object().unwrap().iter();
        let about = about.map(|(name, value)| (name.clone(), value.as_str().unwrap().to_owned())).collect();
        fs::write(&path, safetensors::serialize(tensors, Some(about)).unwrap()).unwrap();
        path
    };
    let d = json!({ "d_model": "32" });
    let cases = [
        (lens("wide.safetensors", 16, &[0], 1.0, json!({ "d_model": "16" })), "width 16"),
        (lens("deep.safetensors", 32, &[0, 7], 1.0, d.clone()), "layer 7"),
        (lens("nan.safetensors", 32, &[0], f32::NAN, d), "not finite"),
        (lens("silent.safetensors", 32, &[0], 1.0, json!({})), "d_model"),
        (lens("other.safetensors", 32, &[0], 1.0, json!({ "d_model": "32", "estimator": "magic" })), "magic"),
        (lens("target.safetensors", 32, &[0], 1.0, json!({ "d_model": "32", "target_layer": "-2" })), "layer -2"),
        (lens("shape.safetensors", 16, &[0], 1.0, json!({ "d_model": "32" })), "[16, 16]"),
        (parity::fixture("gpt2/model.safetensors"), "no matrices under the key J"),
        (parity::fixture("gpt2/config.json"), "not"),
        (folder.path().join("nothing.pt"), "nothing at this path"),
    ];
    for (path, words) in cases {
        let said = refused(&model, &input, &through(&path), Target::default());
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(!is_lens(&parity::fixture("gpt2/model.safetensors")));
    let vision = parity::load("vit");
    assert!(vision.n_stream_layers().unwrap_err().to_string().contains("reads text"));
}

#[test]
fn a_fit_goes_on_from_its_state_and_gives_the_same_bytes_on_any_number_of_threads() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let texts = Reference::open().texts();
    fs::write(path("texts.txt"), format!("{}\ntoo short\n{}\n", texts[0], texts[1])).unwrap();
    let model = parity::fixture("gpt2").to_str().unwrap().to_owned();
    let fit = |more: &[&str]| {
        let text = path("texts.txt");
        let all = ["analyze", "jacobian-lens", "--model", &model, "--corpus", &text, "--skip-first", "6"];
        Command::new(env!("CARGO_BIN_EXE_attnscope")).args(all).args(more).output().unwrap()
    };
    let out = |name: &str| path(&format!("{name}.safetensors"));
    let done = |more: &[&str]| {
        let output = fit(more);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let said = done(&["--out", &out("one"), "--threads", "1"]);
    assert!(said.contains("of 2 texts") && said.contains("layer 0: size"), "{said}");
    done(&["--out", &out("two"), "--threads", "2"]);
    let state = out("state");
    done(&["--out", &out("begun"), "--threads", "2", "--resume", &state, "--limit", "1"]);
    done(&["--out", &out("gone-on"), "--threads", "1", "--resume", &state]);
    let bytes = |name: &str| fs::read(out(name)).unwrap();
    assert_eq!(bytes("one"), bytes("two"));
    assert_eq!(bytes("one"), bytes("gone-on"));
    assert_ne!(bytes("one"), bytes("begun"));
    // With other options the state is of something else; what is no state is said to be none.
    let refused = |more: &[&str], words: &str| {
        let output = fit(more);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(words), "{words}: {said}");
    };
    refused(&["--out", &out("x"), "--resume", &state, "--no-special"], "another model, other texts or other options");
    refused(&["--out", &out("x"), "--resume", &out("one")], "no state of this command");
    refused(&["--out", &path("lens.pt")], ".safetensors");
    refused(&["--out", &out("x"), "--max-tokens", "5"], "8 tokens");
    let report = path("report.json");
    let ask = |model: &str, text: &str| {
        let lens = ["analyze", "lens", "--jacobian-lens", &out("one"), "--out", &report];
        let of = ["--model", model, "--text", text];
        Command::new(env!("CARGO_BIN_EXE_attnscope")).args(lens).args(of).output().unwrap()
    };
    assert!(ask(&model, &texts[0]).status.success());
    let report: serde_json::Value = serde_json::from_slice(&fs::read(&report).unwrap()).unwrap();
    assert!(
        !report["result"]["jacobian_heads"].is_null() && !report["result"]["jacobian_layers"].is_null(),
        "{report}"
    );
    assert!(String::from_utf8_lossy(&ask("demo:gpt", "Once upon a time").stderr).contains("width 32"));
}
