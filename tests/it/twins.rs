//! Twins of a classifier that are trained here: batches beside the model, the same bytes from the same seed and on any
//! number of threads, a run that goes on, the command with its files, and refusals.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    process::{Command, Output},
};

use attnscope::{
    corpus::list::{Content, ListOptions},
    model::{Cancelled, Encoded, Engine, Guide, Input, Model, Schedule, TwinOutput, TwinPlan, locate, uninterrupted},
};
use serde_json::Value;

fn analyze(method: &str, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_attnscope")).args(["analyze", method]).args(arguments).output().unwrap()
}

fn run(arguments: &[&str]) -> Output {
    analyze("trained-adversary", arguments)
}

fn said(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn model(name: &str, threads: usize) -> Model {
    let (files, title) = locate::model(name).unwrap();
    Model::load(&files, &title, &Engine::cpu(Some(threads)).unwrap(), &uninterrupted).unwrap()
}

fn reviews(model: &Model, n: usize) -> (Vec<Encoded>, Vec<Option<usize>>) {
    let list = attnscope::worker::corpus::read(Path::new("demo:reviews"), &ListOptions::default()).unwrap();
    let of = |item: &attnscope::corpus::list::Item| {
        let Content::Text(text) = &item.content else { panic!("no text") };
        let class = usize::from(item.values[0].as_deref() == Some("positive"));
        (model.encode(&Input::text(text.as_str())).unwrap(), Some(class))
    };
    list.items.iter().take(n).map(of).unzip()
}

const SCHEDULE: Schedule = Schedule { n_epochs: 6, batch: 16, learning_rate: 3e-3, cooling: 0.25, seed: 5 };

fn trained(threads: usize, lambda: f64) -> (Vec<TwinOutput>, Vec<TwinOutput>) {
    let model = model("demo:bilstm", threads);
    let twins = model.twins(&reviews(&model, 40).0).unwrap();
    let plan = TwinPlan { is_uniform: false, lambda, conicity: 0.0, schedule: SCHEDULE };
    let all: Vec<usize> = (0..40).collect();
    let found = twins.trained(&all, plan, &uninterrupted).unwrap();
    assert!(found.losses.len() == 6 && found.losses[5] < found.losses[0], "{:?}", found.losses);
    (twins.base().to_vec(), found.outputs)
}

fn distances(base: &[TwinOutput], twin: &[TwinOutput]) -> [f64; 2] {
    let mean = |of: &dyn Fn(&TwinOutput, &TwinOutput) -> f64| {
        base.iter().zip(twin).map(|(a, b)| of(a, b)).sum::<f64>() / base.len() as f64
    };
    let kl = |a: &TwinOutput, b: &TwinOutput| {
        b.attention.iter().zip(&a.attention).map(|(own, base)| f64::from(*own) * f64::from(own / base).ln()).sum()
    };
    [mean(&|a, b| f64::from((a.p[0] - b.p[0]).abs())), mean(&kl)]
}

#[test]
fn texts_that_are_read_together_are_read_as_by_the_model() {
    let model = model("demo:bilstm", 1);
    let (texts, _) = reviews(&model, 12);
    let twins = model.twins(&texts).unwrap();
    let plan = attnscope::model::RunPlan::default();
    for (text, twin) in texts.iter().zip(twins.base()) {
        let capture = model.forward(text, &plan, &uninterrupted).unwrap();
        let row = &capture.prediction().unwrap().rows[0];
        for item in &row.top {
            assert!((item.value - twin.p[item.id as usize]).abs() < 1e-5, "{item:?} against {twin:?}");
        }
        let stack = &capture.stacks()[0];
        let pattern = stack.layers[0].pattern().unwrap().head(0).unwrap();
        let pattern = pattern.row(0).unwrap();
        assert_eq!(pattern.len(), twin.attention.len());
        assert!(pattern.iter().zip(&twin.attention).all(|(a, b)| (a - b).abs() < 1e-5));
    }
}

#[test]
fn an_adversary_comes_from_its_seed_on_any_number_of_threads_and_goes_where_the_loss_sends_it() {
    let (base, far) = trained(1, 0.5);
    assert_eq!(far, trained(2, 0.5).1, "threads");
    let (_, near) = trained(1, 0.0);
    let [far, near] = [&far, &near].map(|twin| distances(&base, twin));
    assert!(far[1] > near[1] + 0.3, "KL: {far:?} against {near:?}");
    assert!(near[0] < 0.15, "a twin without λ says nearly the same: {near:?}");
}

#[test]
fn a_guide_that_points_at_the_class_is_learnt_and_training_stops_when_asked() {
    let model = model("demo:bilstm", 1);
    let (texts, classes) = reviews(&model, 60);
    let twins = model.twins(&texts).unwrap();
    let (test, train): (Vec<usize>, Vec<usize>) = (0..60).partition(|text| text % 4 == 0);
    let weights: Vec<Vec<f32>> = twins.base().iter().map(|of| of.attention.clone()).collect();
    let guided = |guide| twins.guided(guide, &classes, (&train, &test), SCHEDULE, &uninterrupted).unwrap();
    let found = guided(Guide::Given(&weights));
    assert_eq!(found, guided(Guide::Given(&weights)), "the same seed");
    let hits =
        |found: &[usize]| found.iter().zip(&test).filter(|(found, text)| classes[**text] == Some(**found)).count();
    assert!(hits(&found) > 8, "better than chance: {} of 15", hits(&found));
    assert_eq!(guided(Guide::Own).len(), 15);
    let stopped = twins.guided(Guide::Own, &classes, (&train, &test), SCHEDULE, &|_| Err(Cancelled));
    assert!(stopped.unwrap_err().to_string().contains(&Cancelled.to_string()));
}

const FEW: [&str; 14] = [
    "--model",
    "demo:bilstm",
    "--corpus",
    "demo:reviews",
    "--limit",
    "40",
    "--epochs",
    "2",
    "--seeds",
    "1",
    "--lambda",
    "0.1,1",
    "--threads",
    "1",
];

#[test]
fn a_run_that_goes_on_comes_to_the_same_and_files_say_the_result() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let [state, whole, resumed, rows, svg] = ["state.json", "a.json", "b.json", "rows.csv", "twins.svg"].map(path);
    let common = [&FEW[..], &["--against", "demo:bilstm-deceiving"]].concat();
    let table = said(&run(&[&common[..], &["--resume", &state]].concat()));
    for words in [
        "32 texts to train on, 8",
        "adversary, λ 0.1",
        "demo:bilstm-deceiving",
        "macro F1",
        "other seed (0)",
        "of 4 twins still fell",
    ] {
        assert!(table.contains(words), "{words}: {table}");
    }
    // As if it had been ended before the last twin and the last guides.
    let mut begun: Value = serde_json::from_slice(&fs::read(&state).unwrap()).unwrap();
    begun["state"]["twins"].as_array_mut().unwrap().pop();
    begun["state"]["guided"].as_array_mut().unwrap().truncate(2);
    fs::write(&state, begun.to_string()).unwrap();
    said(&run(&[&common[..], &["--resume", &state, "--out", &resumed]].concat()));
    said(&run(&[&common[..], &["--out", &whole, "--out", &rows, "--out", &svg]].concat()));
    assert!(fs::read(&whole).unwrap() == fs::read(&resumed).unwrap(), "the same bytes");
    let whole: Value = serde_json::from_slice(&fs::read(whole).unwrap()).unwrap();
    let twins = whole["result"]["twins"].as_array().unwrap();
    let kinds: Vec<&str> = twins.iter().map(|twin| twin["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["even_in_place", "random", "checkpoint", "uniform", "seed", "adversary", "adversary"]);
    assert!(twins[2]["losses"].as_array().unwrap().is_empty() && twins[2]["settled"].is_null());
    assert!(twins[5]["losses"].as_array().unwrap().len() == 2 && twins[5]["settled"] == false, "two epochs are few");
    assert!(twins[2]["jsd"]["value"].as_f64().unwrap() > 0.1, "the deceiver attends elsewhere");
    assert_eq!(whole["result"]["guides"].as_array().unwrap().len(), 6);
    assert_eq!(fs::read_to_string(rows).unwrap().lines().count(), 1 + 8 * 7);
    let drawn = fs::read_to_string(svg).unwrap();
    for words in ["Is attention not not explanation?", "λ 0.1", "JSD", "guided by", "Wiegreffe and Pinter"] {
        assert!(drawn.contains(words), "{words}");
    }
    let refused = run(&[&common[..], &["--resume", &state, "--seed", "3"]].concat());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("begun with other options"));
}

/// A number by input of the rows of a file in which `name` is `value`; all rows where there is no name.
fn numbers(file: &Path, column: &str, only: Option<(&str, &str)>) -> Vec<(usize, f64)> {
    let text = fs::read_to_string(file).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<&str>>());
    let names = lines.next().unwrap();
    let at = |name: &str| names.iter().position(|other| *other == name).unwrap();
    let is_asked = |row: &Vec<&str>| only.is_none_or(|(name, value)| row[at(name)] == value);
    let number = |row: Vec<&str>| (row[at("input")].parse().unwrap(), row[at(column)].parse().unwrap());
    lines.filter(is_asked).map(number).collect()
}

#[test]
fn states_that_are_kept_apart_are_less_alike_and_the_model_is_measured_as_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let [json, again, rows, svg, tests] = ["a.json", "b.json", "rows.csv", "diverse.svg", "tests.csv"].map(path);
    let texts = ["--model", "demo:bilstm", "--corpus", "demo:reviews", "--limit", "40"];
    let training = ["--epochs", "6", "--seeds", "1", "--lambda", "0.1,1"];
    let of = |threads, file| [&texts[..], &training, &["--threads", threads, "--out", file]].concat();
    said(&analyze("diverse-states", &[&of("1", json.as_str())[..], &["--out", &rows, "--out", &svg]].concat()));
    said(&analyze("diverse-states", &of("2", again.as_str())));
    assert!(fs::read(&json).unwrap() == fs::read(&again).unwrap(), "the same bytes from the same seed");
    let found: Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    let twins = found["result"]["twins"].as_array().unwrap();
    let titles: Vec<&str> = twins.iter().map(|twin| twin["title"].as_str().unwrap()).collect();
    let wanted = ["the model itself", "other seed (0)", "states kept apart, λ 0.1", "states kept apart, λ 1"];
    assert_eq!(titles, wanted);
    let conicity: Vec<f64> = twins.iter().map(|twin| twin["conicity"]["value"].as_f64().unwrap()).collect();
    assert!(conicity[3] < conicity[2] && conicity[2] < conicity[1] && conicity[3] > -1.0, "{conicity:?}");
    let drawn = fs::read_to_string(svg).unwrap();
    for words in ["Does attention explain where states are told apart?", "Conicity of the states", "Mohankumar"] {
        assert!(drawn.contains(words), "{words}");
    }
    // The same correlation as the tests over a data set have, which run one text at a time through all of the model.
    said(&analyze("debate", &[&texts[..], &["--test", "correlation", "--out", &tests]].concat()));
    let all: BTreeMap<usize, f64> = numbers(Path::new(&tests), "tau_gradient", None).into_iter().collect();
    let own = numbers(Path::new(&rows), "tau_gradient", Some(("twin", "the model itself")));
    assert_eq!(own.len(), 8);
    for (input, tau) in own {
        assert!((tau - all[&input]).abs() < 1e-6, "{input}: {tau} against {}", all[&input]);
    }
}

#[test]
fn what_cannot_be_trained_or_compared_is_refused() {
    let refused = |arguments: &[&str], words: &str| {
        let output = run(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(words), "{arguments:?}: {said}");
    };
    let of = |model: &'static str| ["--model", model, "--corpus", "demo:reviews", "--limit", "25"];
    refused(&of("demo:sentiment"), "such as demo:bilstm; this model is none");
    refused(&of("demo:bilstm-sparsemax"), "one softmax attention");
    refused(&[&of("demo:bilstm")[..], &["--lambda", "0"]].concat(), "--lambda is above 0");
    refused(&[&of("demo:bilstm")[..], &["--against", "demo:sentiment"]].concat(), "same tokenizer");
    refused(&[&of("demo:bilstm")[..], &["--label-column", "text"]].concat(), "no column text");
    refused(&["--model", "demo:bilstm", "--corpus", "demo:reviews", "--limit", "5"], "20 are needed");
}
