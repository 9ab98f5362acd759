//! Heads of scores and of labels that do not exclude each other, against `PyTorch` in double precision
//! (`tests/fixtures/generate_lab_heads.py`), and the names of classes.

use std::{collections::BTreeSet, fs, io::Cursor, path::Path};

use attnscope::{
    analysis::effect::{Effect, Outcome},
    capture::{
        Ablate, Ablation, Capture, Site,
        file::{self, Contents, Format},
    },
    corpus::{
        Corpus, SortBy,
        list::{InputList, Item},
    },
    ids::{CaptureId, HeadId, Side, StackKind},
    lab::{
        GradientOptions, LabFocus, LeaveOneOutOptions, LeaveOut, MethodCall, MethodPreset, Of, RelevanceQuestion, Rule,
        Target, outcome_id,
    },
    model::{Edit, Encoded, Engine, Input, LoadError, Logits, Model, ModelFiles, RunPlan, Sites, uninterrupted},
    outputs::OutputKind,
    protocol::CorpusOptions,
    worker::corpus,
};
use serde_json::{Value as Json, json};
use tempfile::TempDir;

use crate::{
    lab::{NO_EDITS, ask, assert_near, assert_near_of, expected, fixture, of, try_ask},
    parity,
};

const NAMES: [&str; 4] = ["bert-score", "llama-score", "distilbert-regression", "roberta-labels"];

/// A copy of a classifier of texts whose configuration says something else.
fn changed(change: &Json) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(parity::fixture("bert-classifier")).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
    }
    let path = folder.path().join("config.json");
    let mut config: Json = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    for (name, value) in change.as_object().unwrap() {
        config[name] = value.clone();
    }
    fs::write(path, config.to_string()).unwrap();
    folder
}

fn opened(folder: &Path) -> Result<Model, LoadError> {
    Model::load(&ModelFiles::open(folder)?, "changed", &Engine::cpu(Some(2)).unwrap(), &uninterrupted)
}

fn run(model: &Model, input: &Encoded, edits: &[Edit]) -> Capture {
    let plan = RunPlan { logits: Logits::Keep, edits: edits.to_vec(), ..RunPlan::default() };
    model.forward(input, &plan, &uninterrupted).unwrap()
}

#[test]
fn scores_and_labels_and_what_they_depend_on_are_pytorchs() {
    let reference: Json = serde_json::from_slice(&fs::read(parity::fixture("lab/heads.json")).unwrap()).unwrap();
    for name in NAMES {
        let (model, input) = fixture(&format!("families/{name}"));
        let json = &reference[name];
        let outputs: OutputKind = serde_json::from_value(json["outputs"].clone()).unwrap();
        assert_eq!(model.outputs(), Some(outputs), "{name}");
        let capture = run(&model, &input, &[]);
        let logits: Vec<f64> = capture.logits().unwrap().as_slice().iter().map(|x| f64::from(*x)).collect();
        assert_near(&logits, &expected(&json["logits"], &[]), name);
        let row = &capture.prediction().unwrap().rows[0];
        let values = expected(&json["values"], &[]);
        for item in &row.top {
            assert_near(&[f64::from(item.value)], &[values[item.id as usize]], name);
        }
        assert_eq!(row.top.len(), values.len(), "{name}: all are told");
        if outputs == OutputKind::Scores {
            assert!(row.top.iter().map(|item| item.id).eq(0..values.len() as u32), "{name}: in their order");
        }
        let names: Vec<&str> = json["names"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
        let label = |id: u32| model.outcome_label(id);
        let known: Vec<String> = (0..names.len() as u32).map(label).collect();
        // The library calls the only score of a head that nobody named LABEL_0.
        if names == ["LABEL_0"] {
            assert_eq!(known, ["score"]);
        } else {
            assert_eq!(known, names);
        }
        let class = json["class"].as_u64().unwrap() as u32;
        assert_eq!(row.top[0].id, class, "{name}: what is explained when nobody says what");
        let target = Target::default();
        let gradients = |of, times_input| MethodCall::Gradients(GradientOptions { of, times_input, steps: None });
        let found = ask(&model, &input, &gradients(Of::Input, true), target);
        assert_near(&of(&found, "scores"), &expected(&json["gradient_times_input"], &[]), name);
        let found = ask(&model, &input, &gradients(Of::Pattern, false), target);
        assert_near(&of(&found, "pattern"), &expected(&json["pattern_gradients"], &[]), name);
        let relevance = MethodCall::Relevance(RelevanceQuestion { rule: Rule::Gradient, start_layer: 0 });
        assert_near(&of(&ask(&model, &input, &relevance, target), "self"), &expected(&json["relevance"], &[]), name);
        let loo = MethodCall::LeaveOneOut(LeaveOneOutOptions { by: LeaveOut::Hide });
        let found = ask(&model, &input, &loo, target);
        let size = logits[class as usize].abs();
        assert_near_of(size, &of(&found, "logit"), &expected(&json["loo"]["logit"], &[]), name);
        match outputs {
            OutputKind::Labels => {
                assert_near_of(1.0, &of(&found, "effect"), &expected(&json["loo"]["effect"], &[]), name);
            }
            _ => assert!(found.value("effect").is_none(), "{name}: a score has no probability"),
        }
    }
}

/// Scores are explained by everything that needs no probabilities, labels by everything.
#[test]
fn every_method_answers_for_scores_and_labels_or_says_why_not() {
    for name in NAMES {
        let (model, input) = fixture(&format!("families/{name}"));
        let capture = run(&model, &input, &[]);
        let focus =
            LabFocus { capture: &capture, head: HeadId::single(1, 0), query: Some(1), key: Some(0), reverse: None };
        let quick = [("steps", 2), ("permutations", 3), ("samples", 1), ("every", 4)];
        let quick = quick.map(|(name, value)| (name.to_owned(), json!(value))).into();
        let mut refused = BTreeSet::new();
        for column in MethodPreset::all() {
            let Ok(mut call) = column.ask(&focus, &quick) else { continue };
            let said = [("object", "obscene"), ("other", "a")].map(|(name, said)| (name.to_owned(), json!(said)));
            call.change(&said.into(), &attnscope::lab::Scope::from(&focus)).unwrap();
            match try_ask(&model, &input, NO_EDITS, &call, Target::default()) {
                Ok(answer) => {
                    let of_scores = model.outputs() == Some(OutputKind::Scores);
                    for leaf in answer.report.leaves() {
                        let about = answer.report.method.value(&leaf.name);
                        let about = about.unwrap_or_else(|| panic!("{} has no words for {}", column.name, leaf.name));
                        let is_of_probabilities = ["robabilit", "Change of the output", "nats", "the outcome flips"];
                        let is_of_them = |words: &&str| about.title.contains(*words);
                        assert!(
                            !of_scores || !is_of_probabilities.iter().any(is_of_them),
                            "{name}: {}.{}",
                            column.name,
                            leaf.name
                        );
                    }
                }
                Err(error) => {
                    let error = error.to_string();
                    assert!(!error.contains("class"), "{name}, {}: {error}", column.name);
                    if error.contains("which have no probabilities") {
                        refused.insert(column.name);
                    }
                }
            }
        }
        let expected: &[&str] = if name == "roberta-labels" { &[] } else { &["masks", "rank-one"] };
        assert_eq!(refused.into_iter().collect::<Vec<_>>(), expected, "{name}");
    }
}

#[test]
fn a_score_is_kept_in_files_and_compared_before_and_after_a_change() {
    let (model, input) = fixture("families/bert-score");
    let before = run(&model, &input, &[]);
    let mut bytes = Vec::new();
    file::write(&[&before], Contents::of(&[Site::Q, Site::K]), &mut bytes).unwrap();
    let again = file::read(&mut Cursor::new(bytes), Format::Safetensors, "file", &mut || CaptureId(9)).unwrap();
    assert_eq!(again[0].prediction(), before.prediction());
    let edit = Edit::Ablate(Ablate { head: HeadId::single(1, 0), with: Ablation::Zero });
    let after = run(&model, &input, &[edit]);
    let effect = Effect::of(&before, &after, Outcome::default()).unwrap();
    let score = |capture: &Capture| f64::from(capture.logits().unwrap().as_slice()[0]);
    assert_eq!((effect.before.value, effect.after.value), (score(&before), score(&after)));
    let text = effect.text(|id| model.outcome_label(id));
    assert!(text.starts_with("score: −0.11 → ") && !text.contains('%'), "{text}");
}

#[test]
fn a_corpus_is_sorted_by_what_the_model_says_of_each_input() {
    let texts = ["the cat sat", "a fine film", "a dull film of the cat", "the dog"];
    let items = texts.map(Item::text).to_vec();
    let list = InputList { items, ..InputList::default() };
    for (change, column) in [
        (json!({ "problem_type": "regression" }), "predicted neutral"),
        (json!({ "problem_type": "multi_label_classification" }), "predicted neutral"),
        (json!({}), "predicted probability"),
    ] {
        let folder = changed(&change);
        let model = opened(folder.path()).unwrap();
        let mut corpus = Corpus::new(1 << 30);
        corpus::capture(&model, &list, &mut corpus, &CorpusOptions::default(), &uninterrupted, &mut |_| {}).unwrap();
        let said: Vec<f64> = texts
            .iter()
            .map(|text| {
                let capture = run(&model, &model.encode(&Input::text(*text)).unwrap(), &[]);
                let row = &capture.prediction().unwrap().rows[0];
                let item = row.top.iter().find(|item| column.ends_with(&item.label)).unwrap_or(&row.top[0]);
                f64::from(item.value)
            })
            .collect();
        let mut order: Vec<usize> = (0..texts.len()).collect();
        order.sort_by(|a, b| said[*b].total_cmp(&said[*a]));
        let sorted = corpus.sorted(&corpus.all(), &SortBy::Annotation(column.to_owned()), true);
        assert_eq!(sorted.inputs(), order, "{change}: {:?}", corpus.annotations());
        // In the order of the head's rows, whatever is most probable in the first input.
        let names: &[&str] = match change.get("problem_type") {
            Some(_) => &["predicted negative", "predicted neutral", "predicted positive"],
            None => &["predicted class", "predicted probability"],
        };
        assert_eq!(corpus.annotations(), names);
        for (input, said) in said.iter().enumerate() {
            assert!((corpus.number(input, column).unwrap() - said).abs() < 1e-5, "{change}");
        }
    }
}

/// As transformers 5.24 has them, or refuses them.
#[test]
fn classes_have_the_names_of_their_ids() {
    let names = |change: Json| {
        let folder = changed(&change);
        let model = opened(folder.path()).map_err(|error| format!("{error} {}", error.details()))?;
        let names: Vec<String> = (0..model.n_outcomes() as u32).map(|id| model.outcome_label(id)).collect();
        Ok::<_, String>((names, model.audit().warnings.join("; ")))
    };
    let named = |labels: Json| names(json!({ "id2label": labels }));
    let same = |found: &Result<(Vec<String>, String), String>, right: [&str; 3]| {
        assert_eq!(found.as_ref().unwrap().0, right);
    };
    same(&named(json!({ "2": "c", "0": "a", "1": "b" })), ["a", "b", "c"]);
    same(&named(json!({ " 0": "a", "+2": "c", "01": "b" })), ["a", "b", "c"]);
    let gaps = named(json!({ "0": "a", "2": "b", "7": "c" }));
    same(&gaps, ["a", "class 1", "b"]);
    assert!(gaps.unwrap().1.contains("id2label has no name for 1"));
    let from_one = named(json!({ "1": "one star", "2": "two stars", "3": "three stars" }));
    same(&from_one, ["class 0", "one star", "two stars"]);
    assert!(from_one.unwrap().1.contains("names 3, which the head does not have"));
    same(&names(json!({ "num_labels": 3, "id2label": { "0": "a", "1": "b" } })), ["LABEL_0", "LABEL_1", "LABEL_2"]);
    same(&names(json!({ "num_labels": 3, "id2label": null })), ["LABEL_0", "LABEL_1", "LABEL_2"]);
    let refused = |change: Json, words: &[&str]| {
        let error = names(change.clone()).unwrap_err();
        assert!(words.iter().all(|word| error.contains(word)), "{change}: {error}");
    };
    let rows = "classifier.weight has 3 rows";
    refused(json!({ "id2label": { "0": "a", "1": "b" } }), &[rows, "2 classes"]);
    refused(json!({ "id2label": { "0": "a", "1": "b", "2": "c", "3": "d" } }), &[rows, "4 classes"]);
    refused(json!({ "id2label": null }), &[rows, "2 classes"]);
    refused(json!({ "num_labels": 5 }), &[rows, "5 classes"]);
    refused(json!({ "id2label": { "a": "0", "b": "1", "c": "2" } }), &["the key “a”"]);
    refused(json!({ "id2label": { "0.0": "a", "1": "b", "2": "c" } }), &["the key “0.0”"]);
    refused(json!({ "id2label": ["a", "b", "c"] }), &["id2label is not an object"]);
}

#[test]
fn a_number_is_a_name_before_it_is_an_id() {
    let folder = changed(&json!({ "id2label": { "0": "17", "1": "b", "2": "0" } }));
    let model = opened(folder.path()).unwrap();
    let id = |text: &str| outcome_id(&model, text).map_err(|error| error.to_string());
    assert_eq!([id("17"), id("0"), id("1"), id("#0"), id("#1")], [Ok(0), Ok(2), Ok(1), Ok(0), Ok(1)]);
    let folder = changed(&json!({ "problem_type": "multi_label_classification" }));
    let model = opened(folder.path()).unwrap();
    assert!(outcome_id(&model, "dull").unwrap_err().to_string().contains("there is no label “dull” among 3"));
}

#[test]
fn a_single_class_is_a_score_and_a_contradiction_is_refused() {
    let (model, input) = fixture("families/bert-score");
    let plan = RunPlan { sites: Sites::of(&[Site::Pattern]), ..RunPlan::default() };
    let capture = model.forward(&input, &plan, &uninterrupted).unwrap();
    assert_eq!(capture.prediction().unwrap().outputs, OutputKind::Scores);
    let about_the_head = |warning: &&String| warning.contains("head") || warning.contains("number");
    assert_eq!(model.audit().warnings.iter().find(about_the_head), None);
    assert_eq!(capture.tokens(Side::Only).len(), 10);
    assert!(capture.stack(StackKind::SelfAttention).is_some());
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(parity::fixture("families/bert-score")).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
    }
    let path = folder.path().join("config.json");
    let mut config: Json = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    config["problem_type"] = json!("single_label_classification");
    fs::write(&path, config.to_string()).unwrap();
    let error = opened(folder.path()).unwrap_err().to_string();
    assert!(error.contains("single_label_classification, but there is one class"), "{error}");
}
