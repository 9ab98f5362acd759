//! Options of methods: the same names and defaults in the window, in figures and in `attnscope analyze`.

use attnscope::{
    ids::{HeadId, StackKind},
    lab::{FieldValues, LabFocus, MethodPreset, Scope},
    model::{RunPlan, uninterrupted},
};
use serde_json::Value;

use crate::{lab::demo, render::attnscope};

const MODEL: [&str; 4] = ["--model", "demo:translate", "--text", "the cat sleeps"];

/// Options that have another form where they are typed: a choice of the window that names heads, and lists.
const OTHERWISE: [(&str, &str); 8] = [
    ("attention", "heads"),
    ("integrated", "steps"),
    ("rank-one", "paraphrases"),
    ("rank-one", "neighbours"),
    ("embeddings", "words"),
    ("embeddings", "pairs"),
    ("writes", "words"),
    ("named", "words"),
];

/// What [`words`] say otherwise: it has to be said, or takes long.
const SAID: [(&str, &str); 2] = [("masks", "steps"), ("rank-one", "object")];

/// What has to be said of a method, its name first.
fn words(column: &str) -> Vec<String> {
    let words: &[&str] = match column {
        "integrated" => &["gradients", "--integrated", "20"],
        "hidden" => &["loo"],
        "masked" => &["loo", "--by", "mask"],
        "deleted" => &["loo", "--by", "delete"],
        "edges" => &["edges", "--stack", "encoder", "--layer", "0", "--head", "0", "--query", "1", "--key", "0"],
        "writes" => &["writes", "--stack", "encoder", "--layer", "0", "--head", "0"],
        "head-effect" => &["head-effect", "--stack", "encoder", "--layer", "0", "--head", "0"],
        "embeddings" => &["embeddings", "--token", "1"],
        "masks" => &["masks", "--steps", "2"],
        "trace" => &["trace", "--subject", "1..2"],
        "rank-one" => &["rank-one", "--subject", "1..2", "--object", "the"],
        name => &[name],
    };
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn analyze(words: &[&str]) -> (String, String) {
    let output = attnscope(&[&["analyze"], words].concat());
    (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn options_are_called_alike_and_begin_alike_in_the_window_and_on_the_command_line() {
    let (model, input) = demo("demo:translate", "the cat sleeps");
    let capture = model.forward(&input, &RunPlan::default(), &uninterrupted).unwrap();
    let head = HeadId { stack: StackKind::Encoder, layer: 0, head: 0 };
    let focus = LabFocus { capture: &capture, head, query: Some(1), key: Some(0), reverse: None };
    let mut n_answers = 0;
    for column in MethodPreset::all() {
        let words = words(column.name);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let shown = column.ask(&focus, &FieldValues::new()).unwrap();
        let (help, _) = analyze(&[words[0], "--help"]);
        // Lines are broken where the terminal ends.
        let said: Vec<&str> = help.split_whitespace().collect();
        let said = said.join(" ");
        assert!(said.starts_with(column.method.about) && said.contains(column.method.example), "{help}");
        for option in shown.values(&Scope::from(&focus)).keys() {
            let there = help.contains(&format!("--{} ", option.replace('_', "-")));
            let otherwise = OTHERWISE.contains(&(column.name, option.as_str()));
            assert!(there != otherwise, "analyze {} --{option}: {help}", words[0]);
        }
        for many in ["--corpus", "--texts-file", "several times for several inputs"] {
            assert!(!help.contains(many), "analyze {} explains one input, and offers {many}", words[0]);
        }
        let (told, refused) = analyze(&[&words[..], &MODEL].concat());
        // What a model cannot be asked has no options that could differ.
        let Ok(document) = serde_json::from_str::<Value>(&told) else {
            assert!(!refused.is_empty(), "{}", column.name);
            continue;
        };
        n_answers += 1;
        for (name, value) in shown.parameters() {
            let is_said = SAID.contains(&(column.name, name));
            let is_alike = if is_said {
                help.contains(&format!("[default: {value}]"))
            } else {
                document["parameters"][name] == value
            };
            assert!(is_alike || (is_said && value.is_null()), "{} {name}: {value}, {told}", column.name);
        }
    }
    assert!(n_answers > 15, "{n_answers}");
}
