//! The program without a window: names and shapes in its files, exit codes, and one clear line when
//! something is wrong.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use safetensors::SafeTensors;

fn attnscope(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_attnscope"))
        .args(arguments)
        // An empty cache, so that the machine's own models change nothing.
        .env("HF_HUB_CACHE", fixture("no-cache"))
        .output()
        .unwrap()
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join("fixtures").join(name)
}

/// Runs `capture` and returns the shapes of what it wrote and the metadata.
fn capture(arguments: &[&str]) -> (BTreeMap<String, Vec<usize>>, BTreeMap<String, String>) {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("capture.safetensors");
    let output = attnscope(&[&["capture"], arguments, &["--out", out.to_str().unwrap()]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stdout.is_empty(), "nothing but results goes to stdout");
    let bytes = std::fs::read(&out).unwrap();
    let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    let shapes = tensors.iter().map(|(name, view)| (name.to_owned(), view.shape().to_vec())).collect();
    let metadata = header.metadata().clone().unwrap().into_iter().collect();
    let left_over = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left_over, 1, "the temporary file was renamed");
    (shapes, metadata)
}

/// Runs a request that must fail with `code` and one line that contains every one of `words`.
fn check_refused(arguments: &[&str], code: i32, words: &[&str]) {
    let output = attnscope(arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {stderr}");
    for word in words {
        assert!(stderr.contains(word), "{arguments:?} does not say `{word}`: {stderr}");
    }
    if code == 1 {
        assert_eq!(stderr.trim().lines().count(), 1, "{arguments:?}: {stderr}");
    }
    assert!(output.stdout.is_empty());
}

#[test]
fn a_capture_has_the_contract_s_names_and_shapes() {
    let (shapes, metadata) = capture(&["--model", "demo:gpt", "--text", "Once upon a time", "--sites", SITES]);
    let model: serde_json::Value = serde_json::from_str(&metadata["model"]).unwrap();
    assert_eq!(metadata["format"], "attnscope-capture");
    assert_eq!(metadata["version"], "1");
    assert_eq!(model["name"], "demo:gpt");
    assert_eq!(model["family"], "gpt2");
    let tokens: serde_json::Value = serde_json::from_str(&metadata["tokens"]).unwrap();
    let n = tokens["self"].as_array().unwrap().len();
    let first = &tokens["self"][0];
    assert_eq!((first["start"].as_u64(), first["end"].as_u64()), (Some(0), Some(4)), "{first}");

    let &[heads, rows, d_head] = &shapes["self.0.q"][..] else { panic!("q has three dimensions") };
    assert_eq!(rows, n);
    for name in ["self.0.k", "self.0.v", "self.0.z"] {
        assert_eq!(shapes[name], [heads, n, d_head], "{name}");
    }
    for name in ["self.0.scores", "self.0.pattern"] {
        assert_eq!(shapes[name], [heads, n, n], "{name}");
    }
    assert_eq!(shapes["self.0.resid_pre"][0], n);
    assert_eq!(shapes["self.resid_final"][0], n);
    assert_eq!(shapes["logits"][0], n);
}

const SITES: &str = "q,k,v,scores,pattern,z,resid,logits";

#[test]
fn a_picture_and_a_text_are_captured_together() {
    let clip = fixture("families/clip");
    let pixels = fixture("families/clip/reference.safetensors");
    let pixels = pixels.to_str().unwrap();
    let arguments = ["--model", clip.to_str().unwrap(), "--pixels", pixels, "--ids", "1,17,50", "--sites", SITES];
    let (shapes, metadata) = capture(&arguments);
    assert_eq!(shapes["vision.0.pattern"], [2, 16, 16]);
    assert_eq!(shapes["text.1.pattern"], [3, 3, 3]);
    assert_eq!(shapes["logits"], [1]);
    let tokens: serde_json::Value = serde_json::from_str(&metadata["tokens"]).unwrap();
    assert_eq!((tokens["vision"].as_array().unwrap().len(), tokens["text"].as_array().unwrap().len()), (16, 3));
    check_refused(&["capture", "--model", clip.to_str().unwrap(), "--ids", "1,2", "--out", "x"], 1, &["picture"]);
}

#[test]
fn layers_sites_and_several_inputs_are_what_was_asked_for() {
    let (shapes, _) = capture(&[
        "--model",
        "demo:gpt",
        "--text",
        "one",
        "--text",
        "two words",
        "--sites",
        "pattern",
        "--layers",
        "1-2",
    ]);
    let names: Vec<&str> = shapes.keys().map(String::as_str).collect();
    let expected = ["input0/self.1.pattern", "input0/self.2.pattern", "input1/self.1.pattern", "input1/self.2.pattern"];
    assert_eq!(names, expected);
}

#[test]
fn a_capture_of_a_changed_run_says_so_and_misfits_are_refused() {
    let text = ["--model", "demo:gpt", "--text", "Once upon a time"];
    let edits = ["--edit", r#"{"ablate":"L0H1","with":"mean"}"#, "--edit", r#"{"hide":1}"#];
    let (_, metadata) = capture(&[&text[..], &edits].concat());
    let model: serde_json::Value = serde_json::from_str(&metadata["model"]).unwrap();
    let checksum = model["checkpoint"]["checksum"].as_str().unwrap();
    let kept: serde_json::Value = serde_json::from_str(&metadata["edits"]).unwrap();
    assert_eq!(kept, serde_json::json!([{ "ablate": "L0H1", "with": "mean" }, { "hide": 1 }]));
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.svg");
    let drawn =
        [&["render", "heatmap", "--out", out.to_str().unwrap(), "--caption", "full"], &text[..], &edits].concat();
    assert!(attnscope(&drawn).status.success());
    let svg = std::fs::read_to_string(&out).unwrap();
    assert!(svg.contains("This run was changed: head L0H1: output set to its mean; token 1 is hidden"));
    assert!(svg.contains(checksum), "a figure names the files of its model");
    let report = attnscope(&["check", "demo:gpt", "--brief"]);
    let report = String::from_utf8(report.stdout).unwrap();
    assert!(report.contains(checksum) && report.contains("  model.safetensors\n"), "{report}");
    let beyond = [&drawn[..], &["--edit", r#"{"hide":99}"#]].concat();
    check_refused(&beyond, 1, &["there is no token 99 among 4"]);
}

#[test]
fn raw_ids_and_pixels_skip_the_input_stage() {
    let bert = fixture("bert");
    let (shapes, _) = capture(&["--model", bert.to_str().unwrap(), "--ids", "2,7,9,3"]);
    assert_eq!(shapes["self.0.pattern"][1..], [4, 4]);

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pixels.safetensors");
    let values: Vec<u8> = (0..3 * 32 * 32).flat_map(|i| (i as f32 / 3072.0).to_le_bytes()).collect();
    let view = safetensors::tensor::TensorView::new(safetensors::Dtype::F32, vec![3, 32, 32], &values).unwrap();
    safetensors::serialize_to_file([("pixel_values", view)], None, &path).unwrap();
    let (shapes, metadata) = capture(&["--model", "demo:vit", "--pixels", path.to_str().unwrap()]);
    assert_eq!(shapes["self.0.pattern"][1..], [65, 65]);
    let image: serde_json::Value = serde_json::from_str(&metadata["image"]).unwrap();
    assert!(image.to_string().contains('8'), "an 8 × 8 grid: {image}");
}

#[test]
fn timings_tell_every_round() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("timings.json");
    let output = attnscope(&[
        "capture",
        "--model",
        "demo:gpt",
        "--text",
        "hello",
        "--repeat",
        "3",
        "--threads",
        "1",
        "--timings",
        path.to_str().unwrap(),
    ]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let timings: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(timings["forward_ms"].as_array().unwrap().len(), 3);
    assert_eq!(timings["threads"], 1);
    assert_eq!(timings["device"], "cpu");
    for key in ["load_ms", "encode_ms", "write_ms"] {
        assert!(timings[key].as_f64().is_some_and(|ms| ms >= 0.0), "{key}: {timings}");
    }
}

#[test]
fn what_cannot_be_done_is_said_in_one_line() {
    let out = tempfile::tempdir().unwrap();
    let out = out.path().join("x.safetensors");
    let out = out.to_str().unwrap();
    let bert = fixture("bert");
    let bert = bert.to_str().unwrap();
    let run = |rest: &[&str], code, words: &[&str]| {
        check_refused(&[&["capture", "--out", out], rest].concat(), code, words);
        assert!(!Path::new(out).exists(), "{rest:?} left a file behind");
    };
    run(&["--model", "no/such-model", "--text", "x"], 1, &["no/such-model"]);
    run(&["--model", "demo:gpt", "--text", ""], 1, &["empty"]);
    run(&["--model", "demo:gpt", "--ids", "1,99999999"], 1, &["99999999"]);
    run(&["--model", "demo:gpt", "--image", "/no/such.png"], 1, &["text"]);
    run(&["--model", "demo:vit", "--image", "/no/such.png"], 1, &["/no/such.png"]);
    run(&["--model", bert, "--text", "x", "--layers", "7"], 2, &["7"]);
    run(&["--model", bert], 2, &["--text"]);
    run(&["--model", bert, "--text", "x", "--ids", "1"], 2, &["one kind"]);
    run(&["--model", bert, "--text", "x", "--sites", "attention"], 2, &["pattern"]);
    check_refused(&["capture", "--model", bert, "--text", "x", "--out", "-"], 2, &["--out"]);
    check_refused(&["capture", "--model", bert, "--text", "x", "--out", "/no/such/folder/f"], 1, &["/no/such/folder"]);
    check_refused(&["transmogrify"], 2, &["transmogrify"]);
}

#[test]
fn models_lists_what_is_bundled() {
    let output = attnscope(&["models"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    let line = |name: &str| text.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned();
    assert!(line("demo:gpt").contains("gpt2") && line("demo:gpt").contains("opens"), "{text}");
    assert!(line("demo:vit").contains("vit"), "{text}");
}

#[test]
fn a_hub_id_opens_from_the_local_cache() {
    let cache = tempfile::tempdir().unwrap();
    let model = cache.path().join("models--tiny--bert");
    let snapshot = model.join("snapshots").join("abc123");
    std::fs::create_dir_all(&snapshot).unwrap();
    std::fs::create_dir_all(model.join("refs")).unwrap();
    std::fs::write(model.join("refs").join("main"), "abc123\n").unwrap();
    for entry in std::fs::read_dir(fixture("bert")).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, snapshot.join(path.file_name().unwrap())).unwrap();
    }
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_attnscope"));
        command.args(arguments).env("HF_HUB_CACHE", cache.path()).output().unwrap()
    };
    let listed = String::from_utf8(run(&["models"]).stdout).unwrap();
    assert!(listed.contains("tiny/bert"), "{listed}");
    let out = cache.path().join("out.safetensors");
    let output = run(&["capture", "--model", "tiny/bert", "--ids", "1,2,3", "--out", out.to_str().unwrap()]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // A path-like id never leaves the cache.
    let output = run(&["capture", "--model", "../tiny/bert", "--ids", "1", "--out", out.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn check_shows_what_was_understood_and_tests_the_laws() {
    for (model, words) in [
        ("demo:gpt", ["n_embd = 224", "perplexity", "Tensors:"]),
        ("demo:vit", ["patch_size", "probability", "Tensors:"]),
    ] {
        let output = attnscope(&["check", model, "--details"]);
        let report = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{report}");
        // The verdict comes first; bidirectional attention has no mask to test.
        let hold = if model == "demo:gpt" { "5 laws hold, on" } else { "4 laws hold, 1 law not tested, on" };
        assert!(report.lines().next().unwrap().starts_with(&format!("{model}: {hold} a probe input")), "{report}");
        assert_eq!(report.contains("not tested     keys behind a causal mask"), model == "demo:vit", "{report}");
        for word in words.iter().chain(&["every row of attention sums to 1", "holds"]) {
            assert!(report.contains(word), "{model} does not say `{word}`: {report}");
        }
        assert!(!report.contains("does not hold"), "{report}");
        let [brief, asked_brief] =
            [&["check", model][..], &["check", model, "--brief"]].map(|args| attnscope(args).stdout);
        assert!(!brief.is_empty() && brief.len() < output.stdout.len() && brief == asked_brief);
    }
    let bert = fixture("bert");
    let output = attnscope(&["check", bert.to_str().unwrap()]);
    let report = String::from_utf8_lossy(&output.stdout);
    assert!(report.contains("hidden tokens filled in"), "{report}");
    check_refused(&["check", "no/such/model"], 1, &["no/such/model"]);
}

#[test]
fn an_encoder_decoder_writes_or_is_made_to() {
    let marian = fixture("families").join("marian");
    let model = ["--model", marian.to_str().unwrap(), "--ids", "5,9,14,3,0"];
    let (shapes, metadata) = capture(&[&model[..], &["--generate", "6"]].concat());
    assert!(metadata["generated"].contains("\"side\":\"decoder\",\"first\":1"), "{}", metadata["generated"]);
    let [n_heads, n_query, n_key] = shapes["cross.1.pattern"][..] else { panic!("{shapes:?}") };
    assert_eq!((n_heads, n_key), (2, 5));
    assert!((2..=7).contains(&n_query), "{n_query}");
    assert_eq!(shapes["decoder.1.pattern"], [2, n_query, n_query]);
    assert_eq!(shapes["encoder.0.pattern"], [4, 5, 5]);

    let (shapes, metadata) = capture(&[&model[..], &["--target-ids", "59,7,8"]].concat());
    assert_eq!(shapes["cross.0.pattern"], [2, 3, 5]);
    assert!(!metadata.contains_key("generated"));

    let (shapes, _) = capture(&["--model", "demo:gpt", "--text", "Once upon", "--generate", "5", "--temperature", "0"]);
    let (short, _) = capture(&["--model", "demo:gpt", "--text", "Once upon"]);
    assert!(shapes["self.0.pattern"][1] > short["self.0.pattern"][1]);

    check_refused(
        &["capture", "--model", "demo:gpt", "--text", "a", "--target", "b", "--out", "x.safetensors"],
        1,
        &["no decoder"],
    );
    for wrong in [["--temperature", "101"], ["--top-p", "0"], ["--generate", "0"], ["--target-ids", "x"]] {
        check_refused(&[&["capture", "--model", "demo:gpt", "--text", "a"][..], &wrong].concat(), 2, &[wrong[0]]);
    }
}

/// Runs `analyze heads` and returns what it wrote.
fn heads(arguments: &[&str]) -> serde_json::Value {
    let output = attnscope(&[&["analyze", "heads", "--out", "-"], arguments].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn heads_are_scored_on_random_tokens_that_repeat() {
    let document = heads(&["--model", "demo:gpt", "--samples", "2"]);
    assert_eq!(document["method"], "heads");
    assert_eq!(document["model"]["name"], "demo:gpt");
    assert_eq!(document["parameters"]["period"], 25, "defaults are written down");
    assert_eq!(document["tokens"].as_array().unwrap().len(), 2);
    assert_eq!(document["tokens"][0]["self"].as_array().unwrap().len(), 100);
    for (detector, least) in [("previous", 0.5), ("induction", 0.5)] {
        let found = &document["result"]["self"][detector];
        let best = found["best"]["score"].as_f64().unwrap();
        assert!(best >= least, "{detector}: {best}");
        let scores = found["scores"].as_array().unwrap().iter().flat_map(|layer| layer.as_array().unwrap());
        assert!(scores.map(|score| score.as_f64().unwrap()).all(|score| (0.0..=best).contains(&score)));
    }
    assert_eq!(document, heads(&["--model", "demo:gpt", "--samples", "2"]), "the same seed, the same numbers");
    assert_ne!(document["result"], heads(&["--model", "demo:gpt", "--samples", "2", "--seed", "1"])["result"]);
}

#[test]
fn a_capture_s_heads_score_as_the_model_s() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("story.safetensors");
    let file = file.to_str().unwrap();
    let input = ["--model", "demo:gpt", "--text", "The cat sat. The cat ran."];
    assert!(attnscope(&[&["capture", "--out", file], &input[..]].concat()).status.success());
    assert_eq!(heads(&["--capture", file])["result"], heads(&input)["result"]);
    let vision = heads(&["--model", "demo:vit"]);
    assert_eq!(vision["tokens"].as_array().unwrap().len(), 6, "the bundled pictures");
    assert!(vision["result"]["self"]["distance"]["best"]["score"].as_f64().unwrap() > 4.0);
    assert!(vision["result"]["self"]["previous"].is_null(), "patches have no order");
}

#[test]
fn heads_of_nothing_are_refused() {
    check_refused(&["analyze", "heads"], 2, &["--model"]);
    check_refused(&["analyze", "heads", "--model", "demo:gpt", "--period", "1000"], 2, &["4000", "256"]);
    check_refused(&["analyze", "heads", "--model", "demo:translate"], 2, &["--text"]);
    check_refused(&["analyze", "heads", "--capture", "no-such.npy", "--text", "cat"], 2, &["--text"]);
    check_refused(&["analyze", "heads", "--capture", "no-such.npy"], 1, &["no-such.npy"]);
}

#[test]
fn questions_of_the_laboratory_answer_by_the_contract_s_names() {
    let text = ["--model", "demo:gpt", "--text", "Tom and Anna went"];
    let trace = ["trace", "--subject", "Anna", "--samples", "2", "--restore", "mlp"];
    let folder = tempfile::tempdir().unwrap();
    let keys = folder.path().join("keys.txt");
    std::fs::write(&keys, "Anna saw a cat.\nThe dog ran to the park.\n").unwrap();
    let written = folder.path().join("edit.json");
    let (keys, written) = (keys.to_str().unwrap(), written.to_str().unwrap());
    let rank_one =
        ["rank-one", "--subject", "Anna", "--object", "cat", "--keys", keys, "--steps", "2", "--edit-out", written];
    let faithfulness = ["faithfulness", "--head", "L5H0", "--permutations", "3"];
    for (asked, values) in [
        (&["lens", "--top", "2"][..], &["layers", "probability"][..]),
        (&["dla", "--against", "7"], &["components", "sum", "logit"]),
        (&["norms"], &["attention_norm", "mixing_ratio"]),
        (&["masks", "--steps", "3"], &["scores", "masks", "search"]),
        (
            &["edges", "--layer", "1", "--head", "0", "--query", "3", "--key", "1"],
            &["score", "sum", "by_query", "pairs"],
        ),
        (&rank_one, &["prompts", "probability", "left", "right"]),
        (&["effective"], &["effective", "identifiable"]),
        (&["ff", "--layer", "2", "--top", "3"], &["memories"]),
        (&trace, &["effect", "clean", "corrupted"]),
        (&["knockout", "--window", "2", "--cut", "pattern"], &["effect"]),
        (&faithfulness, &["kendall_gradient", "kendall_loo", "permutation", "uniform", "erasure", "adversarial"]),
        (&["normalizers", "--alpha", "2"], &["pattern", "support", "drift"]),
    ] {
        let output = attnscope(&[&["analyze"], asked, &text[..]].concat());
        assert!(output.status.success(), "{asked:?}: {}", String::from_utf8_lossy(&output.stderr));
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(document["method"], asked[0]);
        for value in values {
            assert!(document["result"].get(*value).is_some(), "{asked:?} does not tell {value}");
        }
    }
    let edited = attnscope(&[&["analyze", "lens", "--edit", &format!("@{written}")], &text[..]].concat());
    assert!(edited.status.success(), "{}", String::from_utf8_lossy(&edited.stderr));
    check_refused(&[&["analyze", "lens", "--edit", "@no-such"], &text[..]].concat(), 2, &["no-such cannot be read"]);
    check_refused(&[&["analyze", "trace", "--subject", "Bob"], &text[..]].concat(), 1, &["“Bob” is not in the text"]);
    check_refused(&[&["analyze", "alignment", "--gold", "no-such"], &text[..]].concat(), 1, &["no-such"]);
    check_refused(&[&["analyze", "faithfulness", "--head", "5.0"], &text[..]].concat(), 2, &["L3H5"]);
}
