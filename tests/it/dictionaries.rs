//! Linear probes against scikit-learn, and sparse autoencoders against numpy (`tests/fixtures/generate_lab_directions.py`).

use std::{fmt::Write as _, fs, path::Path, process::Command};

use attnscope::{
    analysis::{
        explain::report::{ColumnValues, Value},
        probe::{Labelled, Logistic},
    },
    ids::StackKind,
    lab::{MethodCall, SaeOptions, Target},
    model::{Input, RunPlan, Site, Sites, is_sae, open_sae, uninterrupted},
};
use safetensors::SafeTensors;
use serde_json::{Value as Json, json};

use crate::{
    lab::{ask, column, number, of, refused},
    parity,
};

fn numbers(json: &Json) -> Vec<f64> {
    match json {
        Json::Array(values) => values.iter().flat_map(numbers).collect(),
        value => vec![value.as_f64().unwrap()],
    }
}

/// A tensor `[rows, width]` of what numpy computed, row by row.
fn expected(bytes: &[u8], name: &str) -> Vec<Vec<f32>> {
    let tensors = SafeTensors::deserialize(bytes).unwrap();
    let tensor = tensors.tensor(name).unwrap();
    let values: Vec<f32> =
        tensor.data().chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect();
    values.chunks_exact(tensor.shape()[1]).map(<[f32]>::to_vec).collect()
}

fn program(arguments: &[&str]) -> (bool, String, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_attnscope")).args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.success(), text(output.stdout), text(output.stderr))
}

#[test]
fn regressions_are_scikit_learns() {
    let cases: Json = serde_json::from_slice(&fs::read(parity::fixture("lab/probes.json")).unwrap()).unwrap();
    for case in cases.as_array().unwrap() {
        let rows: Vec<f32> = numbers(&case["rows"]).into_iter().map(|value| value as f32).collect();
        let classes: Vec<usize> = numbers(&case["classes"]).into_iter().map(|class| class as usize).collect();
        let n_classes = case["n_classes"].as_u64().unwrap() as usize;
        let items = Labelled { rows: &rows, width: 6, classes: &classes, n_classes };
        let found = Logistic::fit(items, case["c"].as_f64().unwrap());
        assert!(found.is_converged);
        let expected = [numbers(&case["weights"]), numbers(&case["bias"])].concat();
        for (found, expected) in found.weights.iter().chain(&found.bias).zip(&expected) {
            assert!((found - expected).abs() < 1e-4, "{n_classes} classes: {found} {expected}");
        }
    }
}

#[test]
fn features_of_every_kind_of_dictionary_are_numpys() {
    let bytes = fs::read(parity::fixture("lab/sae/expected.safetensors")).unwrap();
    let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
    let text = header.metadata().as_ref().unwrap()["text"].clone();
    let model = parity::load("gpt2");
    let input = model.encode(&Input::text(&text)).unwrap();
    for kind in ["standard", "topk", "jumprelu", "gated"] {
        let folder = parity::fixture(&format!("lab/sae/{kind}"));
        assert!(is_sae(&folder));
        let sae = open_sae(&folder).unwrap();
        let (x, f, rebuilt) =
            (expected(&bytes, "x"), expected(&bytes, kind), expected(&bytes, &format!("{kind}.rebuilt")));
        for ((x, f), rebuilt) in x.iter().zip(&f).zip(&rebuilt) {
            let found = sae.features(x);
            let mut all = vec![0.0f32; f.len()];
            for (at, value) in &found {
                all[*at] = *value;
            }
            let close = |a: &[f32], b: &[f32]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-5);
            assert!(close(&all, f), "{kind}: {all:?} {f:?}");
            assert!(close(&sae.reconstruction(x, &found), rebuilt), "{kind}");
        }
        // The same of the model's own run, with words and what it misses.
        let call = MethodCall::Sae(SaeOptions { sae: Some(folder.to_str().unwrap().to_owned()), n_top: 24 });
        let report = ask(&model, &input, &call, Target::default());
        let last = f.last().unwrap();
        let table = report.value("features").unwrap();
        let (ColumnValues::Index(ids), ColumnValues::Number(values)) =
            (column(table, "feature"), column(table, "activation"))
        else {
            panic!("no features")
        };
        assert_eq!(ids.len(), last.iter().filter(|value| **value > 0.0).count(), "{kind}");
        for (id, value) in ids.iter().zip(values) {
            assert!((value - f64::from(last[*id])).abs() < 1e-4, "{kind} {id}");
        }
        let strongest = of(&report, "strongest");
        for (found, f) in strongest.iter().zip(&f) {
            assert!((found - f64::from(f[ids[0]])).abs() < 1e-4, "{kind}");
        }
        assert!(number(&report, "spliced").is_finite() && number(&report, "unexplained") > 0.0);
        let ColumnValues::Texts(promoted) = column(table, "promoted") else { panic!("no words") };
        let ColumnValues::Texts(suppressed) = column(table, "suppressed") else { panic!("no words") };
        assert!(promoted.iter().all(|words| words.len() == 5) && promoted[0] != suppressed[0]);
        let says_beginning = report.notes.iter().any(|note| note.contains("token for the beginning"));
        assert_eq!(says_beginning, kind != "standard", "{:?}", report.notes);
        assert!(matches!(report.value("strongest"), Some(Value::Tokens { .. })));
    }
}

#[test]
fn dictionaries_of_other_kinds_and_models_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let model = parity::load("gpt2");
    let input = model.encode(&Input::text("The cat did not cross the street.")).unwrap();
    let weights = parity::fixture("lab/sae/topk/sae_weights.safetensors");
    let config: Json = serde_json::from_slice(&fs::read(parity::fixture("lab/sae/topk/cfg.json")).unwrap()).unwrap();
    let changed = |name: &str, changes: Json| {
        let path = folder.path().join(name);
        fs::create_dir(&path).unwrap();
        fs::copy(&weights, path.join("sae_weights.safetensors")).unwrap();
        let mut config = config.clone();
        for (name, value) in changes.as_object().unwrap() {
            config[name] = value.clone();
        }
        fs::write(path.join("cfg.json"), config.to_string()).unwrap();
        path
    };
    let at = |hook: &str| json!({ "metadata": { "hook_name": hook } });
    let cases = [
        (changed("kind", json!({ "architecture": "temporal" })), "kind temporal"),
        (changed("hook", at("blocks.0.attn.hook_pattern")), "blocks.0.attn.hook_pattern"),
        (changed("nowhere", at("ln_final")), "ln_final"),
        (changed("layer", at("blocks.7.hook_resid_post")), "layer 7"),
        (changed("width", at("blocks.0.mlp.hook_post")), "mlp.hook_post"),
        (changed("many", json!({ "d_sae": 25 })), "implies [32, 25]"),
        (changed("norm", json!({ "normalize_activations": "covariance_whitening" })), "covariance_whitening"),
        (changed("k", json!({ "k": null })), "(k)"),
        (changed("gates", json!({ "architecture": "gated" })), "b_gate"),
        (parity::fixture("gpt2"), "no dictionary"),
    ];
    for (path, words) in cases {
        let call = MethodCall::Sae(SaeOptions { sae: Some(path.to_str().unwrap().to_owned()), n_top: 5 });
        let said = refused(&model, &input, &call, Target::default());
        assert!(said.contains(words), "{words}: {said}");
    }
    assert!(!is_sae(&parity::fixture("gpt2")) && !is_sae(Path::new("nothing")));
}

#[test]
fn features_over_texts_are_told_with_the_texts_in_which_they_fire() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let texts = ["The cat did not cross the street.", "A dog ran to the old red barn and slept.", "It was too tired."];
    fs::write(path("texts.txt"), texts.join("\n")).unwrap();
    let [model, sae] = ["gpt2", "lab/sae/topk"].map(|name| parity::fixture(name).to_str().unwrap().to_owned());
    let of = ["analyze", "features", "--model", &model, "--sae", &sae, "--corpus", &path("texts.txt")];
    let (ok, table, said) = program(&of);
    assert!(ok && table.contains("of 24 features") && table.contains("fires at"), "{table}{said}");
    let (ok, _, said) = program(&[&of[..], &["--texts", "2", "--out", &path("f.json")]].concat());
    assert!(ok, "{said}");
    let found: Json = serde_json::from_slice(&fs::read(path("f.json")).unwrap()).unwrap();
    // Of every token three features fire at most, and each feature's first text is the one with the largest value.
    let dictionary = open_sae(Path::new(&sae)).unwrap();
    let loaded = parity::load("gpt2");
    let features = found["result"]["features"].as_array().unwrap();
    assert!(!features.is_empty());
    for feature in features {
        let id = feature["feature"].as_u64().unwrap() as usize;
        let mut best = (0, 0.0f32);
        for (nth, text) in texts.iter().enumerate() {
            let input = loaded.encode(&Input::text(*text)).unwrap();
            let plan = RunPlan { sites: Sites::of(&[Site::ResidPost]), ..RunPlan::default() };
            let capture = loaded.forward(&input, &plan, &uninterrupted).unwrap();
            let rows = capture.stack(StackKind::default()).unwrap().rows(Site::ResidPost, 0).unwrap();
            for row in rows.rows() {
                let value = dictionary.features(row).into_iter().find(|(at, _)| *at == id).map_or(0.0, |it| it.1);
                if value > best.1 {
                    best = (nth, value);
                }
            }
        }
        let first = &feature["texts"][0];
        assert_eq!(first["text"].as_u64().unwrap() as usize, best.0, "feature {id}");
        assert!((first["activation"].as_f64().unwrap() as f32 - best.1).abs() < 1e-4);
        assert!(first["around"].as_str().unwrap().contains('['));
    }
    let (ok, _, said) = program(&[&of[..], &["--feature", "24"]].concat());
    assert!(!ok && said.contains("no feature 24 among 24"), "{said}");
}

#[test]
fn probes_find_what_is_in_the_words_beside_random_labels() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let animals = ["cat", "dog", "horse"];
    let mut rows = "text,label,tags\n".to_owned();
    for nth in 0..60 {
        let animal = animals[nth % 3];
        let verb = ["ran", "slept"][nth / 3 % 2];
        let label = if animal == "cat" { "cat" } else { "other" };
        writeln!(rows, "The {animal} {verb} here,{label},D N V A").unwrap();
    }
    rows += "The cat,cat,D\n,cat,D\nThe dog,,D N\n";
    fs::write(path("texts.csv"), rows).unwrap();
    let model = parity::fixture("bert").to_str().unwrap().to_owned();
    let corpus = path("texts.csv");
    let of = ["analyze", "probe", "--model", &model, "--corpus", &corpus, "--samples", "200"];
    let run = |more: &[&str]| program(&[&of[..], more].concat());
    let (ok, table, said) = run(&["--label-column", "label"]);
    assert!(ok && table.contains("embeddings: labels 100 %") && table.contains("commonest class"), "{table}{said}");
    let [json, csv, svg] = ["p.json", "p.csv", "p.svg"].map(path);
    let (ok, _, said) = run(&["--tag-column", "tags", "--out", &json, "--out", &csv, "--out", &svg]);
    assert!(ok && said.contains("left out"), "{said}");
    let found: Json = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    let result = &found["result"];
    assert_eq!(result["classes"].as_array().unwrap().len(), 4);
    assert_eq!(result["sites"].as_array().unwrap().len(), 3, "embeddings and two layers");
    assert!(result["left_out"].as_array().unwrap().iter().any(|of| of["why"] == "it has 2 words and 1 label"));
    let value = |of: &Json| of["value"].as_f64().unwrap();
    let first = &result["sites"][0];
    assert!(value(&first["accuracy"]) > 0.95 && value(&result["majority_of_word"]) > 0.95, "{first}");
    assert!(value(&result["majority"]) < 0.35);
    assert_eq!(fs::read_to_string(&csv).unwrap().lines().count(), 1 + 3);
    assert!(fs::read_to_string(&svg).unwrap().contains("random labels"));
    // The same numbers on one thread and on two.
    let again = path("again.json");
    for threads in ["1", "2"] {
        let (ok, _, said) = run(&["--site", "z", "--head", "1", "--threads", threads, "--out", &again]);
        assert!(ok, "{said}");
        fs::rename(&again, path(&format!("{threads}.json"))).unwrap();
    }
    assert_eq!(fs::read(path("1.json")).unwrap(), fs::read(path("2.json")).unwrap());
    for (more, words) in [
        (&["--label-column", "kind"][..], "no column kind: it has label, tags"),
        (&["--head", "1"], "--site z"),
        (&["--limit", "5"], "fewer than ten"),
        (&["--held-out", "1.5"], "0.05 to 0.9"),
        (&["--site", "q"], "resid_post"),
    ] {
        let (ok, _, said) = run(more);
        assert!(!ok && said.contains(words), "{words}: {said}");
    }
}

#[test]
fn states_are_told_by_layer_from_their_embeddings_and_from_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("texts.txt"), "The cat did not cross the street.\nA dog ran to the old red barn.\n").unwrap();
    let model = parity::fixture("bert").to_str().unwrap().to_owned();
    let of = ["analyze", "likeness", "--model", &model, "--corpus", &path("texts.txt")];
    let (ok, table, said) = program(&of);
    assert!(ok && table.contains("embeddings: own token 100 %") && table.contains("layer 1:"), "{table}{said}");
    let [json, csv, svg] = ["l.json", "l.csv", "l.svg"].map(path);
    let (ok, _, said) = program(&[&of[..], &["--out", &json, "--out", &csv, "--out", &svg]].concat());
    assert!(ok, "{said}");
    let found: Json = serde_json::from_slice(&fs::read(&json).unwrap()).unwrap();
    let layers = found["result"]["layers"].as_array().unwrap();
    let value = |of: &Json| of["value"].as_f64().unwrap();
    assert_eq!(layers.len(), 3);
    assert!(
        layers
            .iter()
            .all(|of| (0.0..=1.0).contains(&value(&of["own"])) && value(&of["cosine"]) <= value(&of["conicity"]))
    );
    assert_eq!(fs::read_to_string(csv).unwrap().lines().count(), 1 + 3);
    assert!(fs::read_to_string(svg).unwrap().contains("States that are still their token"));
}
