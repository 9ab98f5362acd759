//! The debate over a data set: the numbers of one input beside PyTorch and scipy, the command with its files, a state that
//! is gone on from, and refusals.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use attnscope::{
    analysis::debate::{DebateOptions, DebateTest, Instance, RankAgreement},
    lab::{LabRun, debate},
    model::{Engine, Input, Model, bundled, locate, uninterrupted},
};
use serde_json::Value;

fn run(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_attnscope")).args(["analyze", "debate"]).args(arguments).output().unwrap()
}

fn said(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn reviews(n: usize) -> Vec<String> {
    use attnscope::corpus::list::{Content, ListOptions};
    let list = attnscope::worker::corpus::read(Path::new("demo:reviews"), &ListOptions::default()).unwrap();
    assert_eq!((list.items.len(), &list.columns[..]), (500, &["label".to_owned()][..]));
    let text = |content| if let Content::Text(text) = content { text } else { panic!("no text") };
    list.items.into_iter().take(n).map(|item| text(item.content)).collect()
}

fn measured(name: &str, texts: &[String], tests: &[DebateTest]) -> Vec<Instance> {
    let (files, title) = locate::model(name).unwrap();
    let model = Model::load(&files, &title, &Engine::cpu(Some(1)).unwrap(), &uninterrupted).unwrap();
    let options = DebateOptions { tests: tests.to_vec(), n_steps: Some(60), ..DebateOptions::default() };
    let of_text = |(nth, text): (usize, &String)| {
        let input = model.encode(&Input::text(text.as_str())).unwrap();
        debate(&LabRun::new(&model, &input, &[], &uninterrupted, &|_| {}), nth, &options).unwrap()
    };
    texts.iter().enumerate().map(of_text).collect()
}

#[test]
fn reviews_are_measured_as_by_pytorch_and_scipy() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/lab/debate.json");
    let expected: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    for (name, expected) in expected.as_object().unwrap() {
        let expected = expected.as_array().unwrap();
        let texts = reviews(expected.len());
        let found = measured(name, &texts, &[DebateTest::Correlation, DebateTest::Erasure]);
        for (found, expected) in found.iter().zip(expected) {
            let what = format!("{name}, input {}", found.input);
            let near = |found: f32, expected: &Value| {
                let expected = expected.as_f64().unwrap();
                assert!((f64::from(found) - expected).abs() < 2e-5, "{what}: {found} against {expected}");
            };
            near(found.probability, &expected["probability"]);
            near(found.largest, &expected["largest"]);
            let all = found.correlation.unwrap();
            for (nth, of) in [all.gradient, all.leave_one_out, all.both].into_iter().enumerate() {
                let RankAgreement { tau, p } = of.unwrap();
                near(tau, &expected["tau"][nth]);
                near(p, &expected["p"][nth]);
            }
            let erased = found.erasure.as_ref().unwrap();
            for (nth, share) in [erased.attention, erased.gradient, erased.product].into_iter().enumerate() {
                match (share, &expected["erased"][nth]) {
                    (None, Value::Null) => {}
                    (Some(share), expected) => near(share, expected),
                    (None, expected) => panic!("{what}: the decision never flips, against {expected}"),
                }
            }
            assert_eq!(erased.random.len(), 5);
        }
    }
}

#[test]
fn a_transformer_is_measured_by_its_last_layer_and_attention_matters_more_there() {
    let texts = reviews(4);
    let found = measured("demo:sentiment", &texts, &[DebateTest::Correlation, DebateTest::Permutation]);
    let recurrent = measured("demo:bilstm", &texts, &[DebateTest::Permutation]);
    let mean = |all: &[Instance]| all.iter().map(|of| of.permutation.unwrap()).sum::<f32>();
    assert!(mean(&found) > mean(&recurrent), "{found:?}");
    assert!(found.iter().all(|of| of.correlation.unwrap().gradient.is_some_and(|it| it.tau.abs() <= 1.0)));
}

#[test]
fn a_run_that_was_ended_goes_on_and_comes_to_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (state, whole, resumed) = (path("state.json"), path("whole.json"), path("resumed.json"));
    let common = ["--model", "demo:bilstm", "--corpus", "demo:reviews", "--steps", "20", "--threads", "1"];
    said(&run(&[&common[..], &["--limit", "7", "--out", &whole]].concat()));
    said(&run(&[&common[..], &["--limit", "3", "--resume", &state]].concat()));
    let begun: Value = serde_json::from_slice(&fs::read(&state).unwrap()).unwrap();
    assert_eq!((&begun["n_done"], begun["instances"].as_array().unwrap().len()), (&3.into(), 3));
    said(&run(&[&common[..], &["--limit", "7", "--resume", &state, "--out", &resumed]].concat()));
    assert!(fs::read(&whole).unwrap() == fs::read(&resumed).unwrap(), "the same bytes");
    let refused = |arguments: &[&str], words: &str| {
        let output = run(&[&common[..], &["--resume", &state], arguments].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(words), "{arguments:?}: {said}");
    };
    refused(&["--seed", "1", "--limit", "7"], "begun with other options");
    fs::write(&state, "{}").unwrap();
    refused(&["--limit", "7"], "no state of this command");
}

/// A bundled classifier as a folder; its twins have the words of the first.
fn written(name: &str, folder: &Path) {
    fs::create_dir_all(folder).unwrap();
    let assets = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/models");
    for from in ["bilstm", name] {
        for file in fs::read_dir(assets.join(from)).unwrap() {
            let file = file.unwrap();
            fs::copy(file.path(), folder.join(file.file_name())).unwrap();
        }
    }
}

#[test]
fn a_model_that_was_trained_anew_does_not_go_on_with_what_was_measured_before() {
    let folder = tempfile::tempdir().unwrap();
    let [model, state] = ["model", "state.json"].map(|name| folder.path().join(name));
    written("bilstm", &model);
    let [model_name, state] = [&model, &state].map(|path| path.to_str().unwrap());
    let again = ["--model", model_name, "--corpus", "demo:reviews", "--test", "permutation", "--limit", "2"];
    let again = [&again[..], &["--resume", state]].concat();
    said(&run(&again));
    // Its twin has the same words, family and number of parameters.
    written("bilstm-deceiving", &model);
    let refused = run(&again);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && said.contains("begun with other weights"), "{said}");
    assert!(!said.contains("options"), "nothing else differs: {said}");
}

#[test]
fn table_rows_and_figure_say_the_result_with_its_number_of_inputs() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let common = ["--model", "demo:bilstm", "--corpus", "demo:reviews", "--limit", "6", "--steps", "20"];
    let table = said(&run(&common));
    for words in
        ["6 inputs", "leave-one-out", "shuffled weights", "JSD", "never flips", "at most", "not which of them is right"]
    {
        assert!(table.contains(words), "{words}: {table}");
    }
    let [json, rows, svg] = ["debate.json", "debate.csv", "debate.svg"].map(path);
    assert_eq!(said(&run(&[&common[..], &["--out", &json, "--out", &rows, "--out", &svg]].concat())), "");
    let json: Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    assert_eq!((&json["parameters"]["permutations"], &json["result"]["n"]), (&100.into(), &6.into()));
    let shares = json["result"]["correlation"]["gradient"]["histograms"][0]["shares"].as_array().unwrap();
    assert!(shares.len() == 30 && (shares.iter().filter_map(Value::as_f64).sum::<f64>() - 1.0).abs() < 1e-9);
    let rows = fs::read_to_string(rows).unwrap();
    let lines: Vec<&str> = rows.lines().collect();
    assert!(lines.len() == 7 && lines[0].starts_with("input,class,probability,tokens,largest_weight,tau_gradient"));
    assert_eq!(lines[1].split(',').count(), lines[0].split(',').count());
    let drawn = fs::read_to_string(svg).unwrap();
    for words in [
        "Is attention explanation?",
        "Other weights, same output",
        "Jain and Wallace",
        "order of erasing",
        "demo:bilstm",
    ] {
        assert!(drawn.contains(words), "{words}");
    }
    let one = said(&run(&[&common[..], &["--test", "erasure"]].concat()));
    assert!(one.contains("never flips") && !one.contains("shuffled"), "{one}");
}

#[test]
fn what_is_no_classifier_or_has_no_words_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let short = folder.path().join("short.txt");
    fs::write(&short, "dull\nfine\n").unwrap();
    let refused = |arguments: &[&str], words: &str| {
        let output = run(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(words), "{arguments:?}: {said}");
    };
    refused(&["--model", "demo:gpt", "--corpus", "demo:reviews"], "is no classifier");
    refused(&["--model", "demo:bilstm", "--corpus", short.to_str().unwrap()], "none of the inputs can be measured");
    refused(&["--model", "demo:bilstm", "--corpus", "demo:reviews", "--test", "faith"], "correlation, permutation");
    refused(&["--model", "demo:bilstm", "--corpus", "demo:reviews", "--epsilon", "2"], "--epsilon is a share");
    refused(&["--model", "demo:bilstm", "--corpus", "demo:reviews", "--layer", "4"], "there is no layer 4");
    assert!(bundled::corpora().any(|name| name == "demo:reviews"));
}

#[test]
fn identifiability_is_told_by_length_and_layer_as_the_methods_of_one_input_say() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let run = |arguments: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_attnscope"))
            .args(["analyze", "identifiability", "--limit", "8"])
            .args(arguments)
            .output()
            .unwrap()
    };
    let [state, json, rows, svg] = ["state.json", "a.json", "rows.csv", "a.svg"].map(path);
    let of = ["--model", "demo:sentiment", "--corpus", "demo:reviews", "--resume", &state];
    let table = said(&run(&of));
    for words in ["8 inputs", "random rows", "layer 5: effective", "Brunner et al."] {
        assert!(table.contains(words), "{words}: {table}");
    }
    said(&run(&[&of[..], &["--out", &json, "--out", &rows, "--out", &svg]].concat()));
    let found: Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    let layers = found["result"]["layers"].as_array().unwrap();
    let value = |of: &Value| of["value"].as_f64().unwrap();
    let width = found["result"]["width"].as_f64().unwrap();
    assert!(layers.len() == 6 && layers.iter().all(|of| value(&of["rank"]) <= width));
    assert!(layers.iter().all(|of| (0.0..=1.0 + 1e-6).contains(&value(&of["effective"]))));
    assert!(layers.iter().all(|of| value(&of["mixing"]) < value(&of["mixing_attention"])), "the stream keeps tokens");
    assert_eq!(fs::read_to_string(rows).unwrap().lines().count(), 1 + 8 * 6);
    assert!(fs::read_to_string(svg).unwrap().contains("Share of attention that is effective"));
    // One query and wide values: every weight follows from the output, and words do not mix.
    let table = said(&run(&["--model", "demo:bilstm", "--corpus", "demo:reviews"]));
    assert!(table.contains("layer 0: effective 1.00 (1.00 to 1.00), mixing not defined"), "{table}");
}
