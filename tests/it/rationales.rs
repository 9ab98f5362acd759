//! Agreement of methods with marked words: one text by hand, all of them by the command line.

use std::fs;

use serde_json::Value;

use crate::render::attnscope;

const TEXT: &str = "simplistic , silly and tedious .";

fn analyze(words: &[&str]) -> Value {
    let output = attnscope(&[&["analyze"], words].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Values of a method by token.
fn numbers(document: &Value, name: &str) -> Vec<f64> {
    let values = document["result"][name].as_array().unwrap_or_else(|| panic!("no {name}: {document}"));
    values.iter().map(|value| value.as_f64().unwrap_or(f64::NAN)).collect()
}

#[test]
fn marked_words_are_compared_with_each_method_as_by_hand() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let rows = format!("text,why\n\"{TEXT}\",silly and tedious\na fine film,\n\"dull , dull film\",long\n");
    fs::write(path("texts.csv"), rows).unwrap();
    let (corpus, json, csv, svg) = (path("texts.csv"), path("out.json"), path("out.csv"), path("out.svg"));
    let words = ["--model", "demo:sentiment", "--corpus", &corpus, "--reasons-column", "why", "--methods", "deleted"];
    let output =
        attnscope(&[&["analyze", "rationales"], &words[..], &["--out", &json, "--out", &csv, "--out", &svg]].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("does not have the words long"), "{said}");

    // By hand: the sizes of leave-one-out of the tokens of this text, and which of them belong to the marked words;
    // the first and the last are special.
    let lone = analyze(&["loo", "--model", "demo:sentiment", "--text", TEXT, "--by", "delete"]);
    let named = analyze(&["named", "--model", "demo:sentiment", "--text", TEXT, "--word", "silly and tedious"]);
    let (sizes, is_named) = (numbers(&lone, "logit"), numbers(&named, "scores"));
    assert_eq!(sizes.len(), is_named.len());
    let mut order: Vec<usize> = (1..sizes.len() - 1).collect();
    order.sort_by(|a, b| sizes[*b].abs().total_cmp(&sizes[*a].abs()));
    let order: Vec<bool> = order.into_iter().map(|at| is_named[at] == 1.0).collect();
    let n_named = order.iter().filter(|named| **named).count();
    let ranks = order.iter().enumerate().filter(|(_, named)| **named).map(|(place, _)| place + 1);
    let expected =
        ranks.enumerate().map(|(hits, place)| (hits + 1) as f64 / place as f64).sum::<f64>() / n_named as f64;

    let document: Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    let method = &document["result"]["methods"][0];
    assert_eq!((&document["result"]["n"], &method["method"]), (&1.into(), &"deleted".into()));
    let found = method["average_precision"]["value"].as_f64().unwrap();
    assert!((found - expected).abs() < 1e-9 && n_named >= 3, "{found} {expected}");
    assert!(
        fs::read_to_string(csv).unwrap().lines().count() == 2
            && fs::read_to_string(svg).unwrap().contains("If deleted")
    );

    let refused = attnscope(&["analyze", "rationales", "--model", "demo:sentiment", "--corpus", &corpus]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("no column “reasons” with marked words"), "{said}");
}

#[test]
fn methods_agree_with_the_marks_of_the_bundled_reviews_better_than_chance() {
    let found = analyze(&[
        "rationales",
        "--model",
        "demo:sentiment",
        "--corpus",
        "demo:rationales",
        "--limit",
        "20",
        "--out",
        "-",
        "--methods",
        "attention,rollout",
    ]);
    let result = &found["result"];
    assert_eq!(result["n"], 20, "{result}");
    let chance = result["chance"].as_f64().unwrap();
    let of = |name: &str| {
        let rows = result["methods"].as_array().unwrap();
        rows.iter().find(|row| row["method"] == name).unwrap()["average_precision"]["low"].as_f64().unwrap()
    };
    assert!(of("rollout") > chance, "{result}");
}
