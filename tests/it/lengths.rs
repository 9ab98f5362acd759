//! Quality by length on the command line: what is counted, the table, the figure, and what is refused.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use attnscope::{
    ids::Side,
    model::{Engine, Input, Logits, Model, RunPlan, Sites, bundled, locate, uninterrupted},
};
use serde_json::Value;

fn lengths(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_attnscope")).args(["analyze", "lengths"]).args(arguments).output().unwrap()
}

/// A corpus of every `step`-th bundled pair.
fn some_pairs(folder: &Path, step: usize) -> (String, Vec<(String, String)>) {
    let Some(bundled::BundledCorpus::Table(bytes)) = bundled::corpus("demo:pairs") else { panic!("no table") };
    let lines: Vec<&str> = std::str::from_utf8(bytes).unwrap().lines().collect();
    let chosen: Vec<&str> = lines[1..].iter().step_by(step).copied().collect();
    let path = folder.join("pairs.tsv");
    fs::write(&path, format!("{}\n{}\n", lines[0], chosen.join("\n"))).unwrap();
    let pair = |line: &&str| {
        let mut columns = line.split('\t').map(str::to_owned);
        (columns.next().unwrap(), columns.next().unwrap())
    };
    (path.to_str().unwrap().to_owned(), chosen.iter().map(pair).collect())
}

#[test]
fn right_tokens_are_the_largest_logits_and_are_counted_by_words() {
    let folder = tempfile::tempdir().unwrap();
    let (path, pairs) = some_pairs(folder.path(), 12);
    let models = ["demo:classic", "demo:classic-dot"];
    let output =
        lengths(&["--model", models[0], "--model", models[1], "--corpus", &path, "--edges", "11", "--out", "-"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["parameters"]["samples"], 1000, "defaults are written down");
    let bins = found["result"]["bins"].as_array().unwrap();
    assert_eq!(bins.len(), 2);
    for (nth, name) in models.iter().enumerate() {
        let (files, title) = locate::model(name).unwrap();
        let model = Model::load(&files, &title, &Engine::cpu(Some(1)).unwrap(), &uninterrupted).unwrap();
        let plan = RunPlan { sites: Sites::NONE, logits: Logits::Keep, ..RunPlan::default() };
        // Sentences, tokens and right ones of each bin.
        let mut counted = [[0usize; 3]; 2];
        for (text, target) in &pairs {
            let input = model.encode(&Input::text(text.as_str()).with_target(Input::text(target.as_str()))).unwrap();
            let capture = model.forward(&input, &plan, &uninterrupted).unwrap();
            let (tokens, logits) = (capture.tokens(Side::Decoder), capture.logits().unwrap());
            let is_right = |position: &usize| {
                let row = logits.row(*position).unwrap();
                let best = (0..row.len()).max_by(|&a, &b| row[a].total_cmp(&row[b])).unwrap();
                tokens[position + 1].id == Some(best as u32)
            };
            // The tag is no word.
            let bin = &mut counted[usize::from(text.split(' ').count() > 11)];
            let n = tokens.len() - 1;
            *bin = [bin[0] + 1, bin[1] + n, bin[2] + (0..n).filter(is_right).count()];
        }
        for (bin, [n_sentences, n_tokens, n_right]) in bins.iter().zip(counted) {
            assert_eq!(bin["sentences"], n_sentences);
            assert_eq!(bin["tokens"], n_tokens);
            let [value, low, high] = ["value", "low", "high"].map(|name| bin["quality"][nth][name].as_f64().unwrap());
            assert!((value - n_right as f64 / n_tokens as f64).abs() < 1e-12);
            assert!(low < value && value < high);
        }
    }
    let short = lengths(&["--model", models[0], "--corpus", &path, "--longest", "4", "--out", "-"]);
    let short: Value = serde_json::from_slice(&short.stdout).unwrap();
    let n_short = pairs.iter().filter(|(text, _)| text.split(' ').count() <= 5).count();
    assert_eq!(short["result"]["bins"][0]["sentences"], n_short);
    assert_eq!(short["result"]["bins"][0]["most"], 4);
    let gap = bins[0]["difference"]["value"].as_f64().unwrap();
    let [one, other] = [0, 1].map(|nth| bins[0]["quality"][nth]["value"].as_f64().unwrap());
    assert!((gap - (one - other)).abs() < 1e-12);
    assert!(found["result"]["slope"]["low"].as_f64() < found["result"]["slope"]["high"].as_f64());
}

#[test]
fn a_table_and_a_figure_say_how_many_sentences_each_bin_has() {
    let folder = tempfile::tempdir().unwrap();
    let (path, _) = some_pairs(folder.path(), 12);
    let arguments = ["--model", "demo:classic", "--model", "demo:classic-dot", "--corpus", &path, "--edges", "11"];
    let table = String::from_utf8(lengths(&arguments).stdout).unwrap();
    for words in [
        "2–10",
        "11–",
        "difference",
        "points for ten words more",
        "64 sentences",
        "teacher forcing",
        "Tokens that are right",
    ] {
        assert!(table.contains(words), "{words}: {table}");
    }
    let svg = folder.path().join("lengths.svg");
    let written = lengths(&[&arguments[..], &["--out", svg.to_str().unwrap()]].concat());
    assert!(written.status.success() && written.stdout.is_empty());
    let drawn = fs::read_to_string(svg).unwrap();
    for words in
        ["Does a longer sentence cost more?", "demo:classic less demo:classic-dot", "words of the source", "2–10"]
    {
        assert!(drawn.contains(words), "{words}");
    }
}

#[test]
fn bleu_is_of_what_a_model_writes_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("own.tsv");
    let row =
        ">>fra<< My father is a doctor and my mother is a teacher.\tMon père est médecin et ma mère est professeur.";
    fs::write(&path, format!("text\ttarget\n{row}\n")).unwrap();
    let output =
        lengths(&["--model", "demo:classic", "--corpus", path.to_str().unwrap(), "--measure", "bleu", "--out", "-"]);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let bin = &found["result"]["bins"][0];
    assert_eq!((&bin["sentences"], &bin["tokens"], &bin["least"]), (&1.into(), &10.into(), &11.into()));
    assert!((bin["quality"][0]["value"].as_f64().unwrap() - 1.0).abs() < 1e-12, "{bin}");
}

#[test]
fn what_has_no_lengths_is_refused() {
    let refused = |arguments: &[&str], words: &str| {
        let output = lengths(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(words), "{arguments:?}: {said}");
    };
    let pairs = ["--corpus", "demo:pairs"];
    refused(&[&["--model", "demo:gpt"], &pairs[..]].concat(), "no translator");
    refused(&["--model", "demo:classic", "--corpus", "demo:sentences"], "no column “target”");
    refused(&[&["--model", "demo:classic", "--edges", "9,5"], &pairs[..]].concat(), "have to rise");
    refused(&[&["--model", "a", "--model", "b", "--model", "c"], &pairs[..]].concat(), "at most two");
    refused(&pairs, "--model");
}
