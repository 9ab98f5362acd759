//! Relations of a treebank that heads attend along: the command against attention by hand.

use std::{collections::BTreeMap, fs};

use attnscope::{
    analysis::attention,
    ids::{HeadId, Side, StackKind},
    model::{RunPlan, uninterrupted},
};
use serde_json::Value;

use crate::{lab::demo, render::attnscope};

/// A sentence: words with classes, heads from 1, relations.
type Sentence = &'static [(&'static str, &'static str, usize, &'static str)];

const TREES: [Sentence; 3] = [
    &[("The", "DET", 2, "det"), ("dog", "NOUN", 3, "nsubj"), ("runs", "VERB", 0, "root"), (".", "PUNCT", 3, "punct")],
    &[
        ("The", "DET", 2, "det"),
        ("man", "NOUN", 4, "nsubj"),
        ("slowly", "ADV", 4, "advmod"),
        ("walks", "VERB", 0, "root"),
    ],
    &[("She", "PRON", 2, "nsubj"), ("saw", "VERB", 0, "root"), ("the", "DET", 4, "det"), ("house", "NOUN", 2, "obj")],
];

fn treebank() -> String {
    let line = |(nth, (form, class, head, relation)): (usize, &(&str, &str, usize, &str))| {
        format!("{}\t{form}\t_\t{class}\t_\t_\t{head}\t{relation}\t_\t_\n", nth + 1)
    };
    TREES.iter().map(|words| words.iter().enumerate().map(line).collect::<String>() + "\n").collect()
}

/// Of each head the words whose largest weight, themselves left out, goes to their syntactic head.
fn by_hand() -> BTreeMap<HeadId, usize> {
    let mut hits = BTreeMap::new();
    for words in TREES {
        let text = words.iter().map(|(form, ..)| *form).collect::<Vec<_>>().join(" ");
        let (model, input) = demo("demo:bert", &text);
        let capture = model.forward(&input, &RunPlan::default(), &uninterrupted).unwrap();
        let tokens = capture.tokens(Side::Only);
        let real: Vec<usize> = (0..tokens.len()).filter(|at| !tokens[*at].special).collect();
        assert_eq!(real.len(), words.len(), "a token a word, so that weights are those of tokens: {text}");
        let stack = &capture.model().stacks[0];
        for (layer, spec) in stack.layers.iter().enumerate() {
            for head in 0..spec.n_heads {
                let id = HeadId { stack: StackKind::Encoder, layer, head };
                let id = HeadId { stack: stack.kind, ..id };
                let pattern = attention::pattern(&capture, id).unwrap();
                let strongest = |word: usize| {
                    let weight = |other: usize| pattern.row(real[word]).unwrap()[real[other]];
                    let others = (0..words.len()).filter(|other| *other != word);
                    others.fold(None, |best: Option<usize>, other| match best {
                        Some(known) if weight(known) >= weight(other) => best,
                        _ => Some(other),
                    })
                };
                let found =
                    (0..words.len()).filter(|word| words[*word].2 > 0 && strongest(*word) == Some(words[*word].2 - 1));
                *hits.entry(id).or_insert(0) += found.count();
            }
        }
    }
    hits
}

#[test]
fn relations_that_heads_find_are_those_of_attention_by_hand() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    fs::write(path("trees.conllu"), treebank()).unwrap();
    let (corpus, json, csv, svg) = (path("trees.conllu"), path("out.json"), path("out.csv"), path("out.svg"));
    let of = ["analyze", "syntax", "--model", "demo:bert", "--corpus", &corpus, "--least", "1"];
    let output = attnscope(&[&of[..], &["--out", &json, "--out", &csv, "--out", &svg]].concat());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !said.contains("left out"), "{said}");

    let hits = by_hand();
    let table = fs::read_to_string(csv).unwrap();
    let rows: Vec<Vec<&str>> = table.lines().skip(1).map(|line| line.split(',').collect()).collect();
    let all: Vec<&Vec<&str>> = rows.iter().filter(|row| row[..2] == ["all", "to-head"]).collect();
    assert_eq!(all.len(), hits.len());
    for (row, (head, hits)) in all.iter().zip(&hits) {
        let expected = [head.layer, head.head, 9, *hits].map(|number| number.to_string());
        assert_eq!(row[2..], expected.iter().map(String::as_str).collect::<Vec<_>>(), "{head}");
    }
    let document: Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    let relations = document["result"]["relations"].as_array().unwrap();
    // Two of three sentences are chosen on, and one tells how well.
    let det = relations.iter().find(|row| row["relation"] == "det" && row["way"] == "to-head").unwrap();
    assert_eq!((&document["result"]["n"], &det["n_chosen_on"], &det["n"]), (&3.into(), &2.into(), &1.into()));
    assert_eq!((&det["offset"], &det["found_by_offset"]), (&1.into(), &1.0.into()));
    assert!(document["result"]["classes"].as_array().unwrap().iter().any(|row| row["query"] == "DET"));
    assert!(fs::read_to_string(svg).unwrap().contains("det, dependent → head"));

    let refused = attnscope(&["analyze", "syntax", "--model", "demo:bert", "--corpus", "demo:sentences"]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("no column heads") && said.contains(".conllu"), "{said}");
}
