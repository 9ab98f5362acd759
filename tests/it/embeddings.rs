//! The embedding table asked by the laboratory, against numpy in double precision
//! (`tests/fixtures/generate_embeddings.py`).

use std::fs;

use attnscope::{
    analysis::explain::{
        embeddings::Nearness,
        report::{ColumnValues, LabQuestion, Report, Value},
    },
    figure::views::lab::{Answered, compose},
    ids::HeadId,
    lab::{EmbeddingOptions, Method as _, Target},
};
use safetensors::SafeTensors;
use serde_json::Value as Json;

use crate::{
    lab::{ask, column, demo, fixture, refused},
    parity,
    render::attnscope,
};

const TOLERANCE: f64 = 1e-5;

fn strings(json: &Json) -> Vec<String> {
    json.as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned()).collect()
}

fn numbers(json: &Json) -> Vec<f64> {
    json.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

fn all_near(found: &[f64], expected: &[f64], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let worst = found.iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(worst < TOLERANCE, "{what}: {found:?} and not {expected:?}");
}

fn reals<'a>(report: &'a Report, value: &str, name: &str) -> &'a [f64] {
    let ColumnValues::Number(cells) = column(report.value(value).unwrap(), name) else { panic!("{value}.{name}") };
    cells
}

fn words<'a>(report: &'a Report, value: &str, name: &str) -> &'a [String] {
    let ColumnValues::Text(cells) = column(report.value(value).unwrap(), name) else { panic!("{value}.{name}") };
    cells
}

/// Ids with their nearness, one list after the other.
fn same_tokens(report: &Report, value: &str, nearness: Nearness, expected: &[Json]) {
    let ColumnValues::Index(ids) = column(report.value(value).unwrap(), "id") else { panic!("{value}") };
    let known: Vec<usize> = expected.iter().map(|found| found[0].as_u64().unwrap() as usize).collect();
    assert_eq!(*ids, known, "{value} by {}", nearness.name());
    let near: Vec<f64> = expected.iter().map(|found| found[1].as_f64().unwrap()).collect();
    all_near(reals(report, value, nearness.name()), &near, value);
}

#[test]
fn neighbours_sums_planes_and_differences_are_those_of_numpy() {
    let cases = fs::read(parity::fixture("lab").join("embeddings.json")).unwrap();
    let cases: Json = serde_json::from_slice(&cases).unwrap();
    for case in cases.as_array().unwrap() {
        let (model, input) = demo(&format!("demo:{}", case["model"].as_str().unwrap()), "One day it rained.");
        let sign = |term: &Json| if term[0].as_i64() == Some(1) { "+" } else { "-" };
        let terms = case["sum"].as_array().unwrap().iter();
        let sum: Vec<String> = terms.map(|term| format!("{} {}", sign(term), term[1].as_str().unwrap())).collect();
        let pairs: Vec<Vec<String>> = case["pairs"].as_array().unwrap().iter().map(strings).collect();
        for nearness in Nearness::ALL {
            let question = EmbeddingOptions {
                words: strings(&case["words"]),
                arithmetic: Some(sum.join(" ")),
                nearness,
                n_top: 6,
                ..EmbeddingOptions::begin()
            };
            let report = ask(&model, &input, &question.into(), Target::default());
            same_tokens(&report, "answers", nearness, case["answers"][nearness.name()].as_array().unwrap());
            let lists = case[nearness.name()].as_array().unwrap();
            let lists: Vec<Json> = lists.iter().flat_map(|list| list.as_array().unwrap().clone()).collect();
            same_tokens(&report, "neighbours", nearness, &lists);
            let several = case["tokens"].as_array().unwrap().iter().any(|tokens| tokens.as_array().unwrap().len() > 1);
            assert_eq!(report.notes.iter().any(|note| note.contains("is the mean of")), several, "{:?}", report.notes);
        }
        let pairs = pairs.iter().map(|pair| pair.join(" ")).collect();
        let question = EmbeddingOptions { pairs, ..EmbeddingOptions::begin() };
        let report = ask(&model, &input, &question.into(), Target::default());
        all_near(reals(&report, "differences", "length"), &numbers(&case["lengths"]), "lengths");
        all_near(reals(&report, "differences", "cosine_with_others"), &numbers(&case["cosines"]), "cosines");
        assert_eq!(words(&report, "points", "word"), strings(&case["plane_words"]));
        let Some(Value::List(explained)) = report.value("explained") else { panic!("no variance") };
        all_near(explained, &numbers(&case["explained"]), "explained");
        for (axis, name) in ["x", "y"].into_iter().enumerate() {
            let known: Vec<f64> = case["plane"].as_array().unwrap().iter().map(|place| numbers(place)[axis]).collect();
            let found = reals(&report, "points", name);
            let along: f64 = found.iter().zip(&known).map(|(a, b)| a * b).sum();
            let known: Vec<f64> = known.iter().map(|value| value * along.signum()).collect();
            all_near(found, &known, name);
        }
    }
}

#[test]
fn rows_are_those_of_the_checkpoint_with_tied_and_factorised_tables() {
    for (name, tensor) in [
        ("families/albert", "albert.embeddings.word_embeddings.weight"),
        ("families/bart", "model.shared.weight"),
        ("gpt2", "transformer.wte.weight"),
    ] {
        let (model, _) = fixture(name);
        let bytes = fs::read(parity::fixture(name).join("model.safetensors")).unwrap();
        let table = SafeTensors::deserialize(&bytes).unwrap();
        let table = table.tensor(tensor).unwrap();
        let [n, width] = [table.shape()[0], table.shape()[1]];
        assert_eq!(model.n_embeddings().unwrap(), n, "{name}");
        let rows = model.token_embeddings(&[0, n as u32 - 1]).unwrap();
        let value = |at: usize| f32::from_le_bytes(table.data()[4 * at..4 * at + 4].try_into().unwrap());
        let known: Vec<f32> = (0..width).chain((n - 1) * width..n * width).map(value).collect();
        assert_eq!(rows.as_slice(), known, "{name}");
        assert!(model.token_embeddings(&[n as u32]).is_err());
    }
}

#[test]
fn without_words_the_tokens_of_the_input_are_asked_about() {
    let (model, input) = demo("demo:gpt", "The cat saw the dog and the cat ran.");
    let report = ask(&model, &input, &EmbeddingOptions::begin().into(), Target::default());
    let asked = words(&report, "points", "word");
    assert_eq!(asked.iter().filter(|word| word.contains("cat")).count(), 1, "each token once: {asked:?}");
    let near = words(&report, "neighbours", "word");
    assert_eq!(near.len(), 10 * asked.len());
    let held = EmbeddingOptions { position: Some(1), ..EmbeddingOptions::begin() };
    let report = ask(&model, &input, &held.into(), Target::default());
    assert!(words(&report, "neighbours", "word").iter().all(|word| *word == asked[1]));
    assert_eq!(words(&report, "points", "word"), asked);
    let (model, input) = demo("demo:bert", "A dog barks.");
    let special = EmbeddingOptions { position: Some(0), ..EmbeddingOptions::begin() };
    assert!(refused(&model, &input, &special.into(), Target::default()).contains("name a word instead"));
}

#[test]
fn what_is_no_question_is_refused_with_what_to_do() {
    let (model, input) = demo("demo:gpt", "Once upon a time");
    let begin = EmbeddingOptions::begin;
    let pairs = |pair: &str| EmbeddingOptions { pairs: vec![pair.to_owned()], ..begin() };
    let sum = |text: &str| EmbeddingOptions { arithmetic: Some(text.to_owned()), ..begin() };
    let many = (0..70).map(|nth| format!("word{nth}")).collect();
    for (question, why) in [
        (pairs("man"), "“man” is no pair: give two words"),
        (pairs("a b c"), "is no pair"),
        (sum("king -"), "write it as king - man + woman"),
        (EmbeddingOptions { words: many, ..begin() }, "give at most 64"),
    ] {
        let said = refused(&model, &input, &question.into(), Target::default());
        assert!(said.contains(why), "{said}");
    }
    let (model, input) = demo("demo:bert", "A dog barks.");
    let unknown = EmbeddingOptions { words: vec!["☃".to_owned()], ..begin() };
    let said = refused(&model, &input, &unknown.into(), Target::default());
    assert!(said.contains("the vocabulary has no token for “☃”"), "{said}");
    let (model, input) = fixture("vit");
    let said = refused(&model, &input, &begin().into(), Target::default());
    assert!(said.contains("it reads no tokens"), "{said}");
}

#[test]
fn lists_and_the_plane_are_drawn_and_say_what_they_show() {
    let (model, input) = demo("demo:gpt", "Once upon a time");
    let question = EmbeddingOptions {
        arithmetic: Some("went - go + see".to_owned()),
        pairs: vec!["play played".to_owned()],
        ..EmbeddingOptions::begin()
    };
    let report = ask(&model, &input, &question.into(), Target::default());
    // As go is to went, so is see to the answer.
    let arrows = words(&report, "differences", "to");
    assert!(arrows.len() == 3 && arrows[1] == "went" && arrows[2].ends_with("saw"), "{arrows:?}");
    let answer = Answered { column: "embeddings", title: "Embedding table", report: Some(report.into()) };
    let capture =
        model.forward(&input, &attnscope::model::RunPlan::silent(), &attnscope::model::uninterrupted).unwrap();
    let sections = compose(&capture, LabQuestion::Words, &[answer], (HeadId::default(), false));
    let titles: Vec<&str> = sections[0].parts.iter().map(|part| part.title.as_str()).collect();
    assert!(titles[0].starts_with("Nearest tokens of went − go + see, by cosine"), "{titles:?}");
    assert!(titles.iter().any(|title| title.starts_with("Differences of 3 pairs in the plane")), "{titles:?}");
    let spoken: Vec<String> = sections[0].parts.iter().flat_map(|part| part.piece.spoken()).collect();
    assert!(spoken[0].contains("saw 0.41"), "{spoken:?}");
}

#[test]
fn the_command_line_takes_words_by_hand() {
    let output = attnscope(&[
        "analyze",
        "embeddings",
        "--model",
        "demo:gpt",
        "--word",
        "blue",
        "--word",
        "run",
        "--arithmetic",
        "played - play + go",
        "--pair",
        "he she",
        "--top",
        "3",
    ]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found: Json = serde_json::from_slice(&output.stdout).unwrap();
    let result = &found["result"];
    assert_eq!(result["answers"][0]["token"], "␣went");
    assert_eq!(result["neighbours"].as_array().unwrap().len(), 6);
    assert_eq!(result["differences"].as_array().unwrap().len(), 3);
}
