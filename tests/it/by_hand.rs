//! Attention of numbers that were typed: known results, every scorer and normaliser, and numbers that do not fit.

use std::{fs, process::Command};

use attnscope::{
    analysis::{
        by_hand::{Numbers, Rows},
        chain::{Against, Chain, StepKind},
        laws,
    },
    capture::{Capture, Matrix},
    ids::{CaptureId, HeadId},
    protocol::{EventKind, LoadAnswer, ModelSource},
};
use serde_json::{Value, json};

use crate::{
    worker::load_from,
    worker_models::{Session, failure},
};

const HEAD: HeadId = HeadId::single(0, 0);

fn numbers(value: &Value) -> Numbers {
    Numbers::from_json(value.to_string().as_bytes()).unwrap()
}

fn capture(value: &Value) -> Capture {
    numbers(value).capture("by hand", CaptureId(1)).unwrap()
}

fn refusal(value: &Value) -> String {
    let read = Numbers::from_json(value.to_string().as_bytes());
    read.and_then(|numbers| numbers.capture("by hand", CaptureId(1))).unwrap_err().to_string()
}

/// The numbers of the example, with other entries in the place of some.
fn example(more: &Value) -> Value {
    let text = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/numbers/self-attention.json"));
    let mut value: Value = serde_json::from_str(&text.unwrap()).unwrap();
    value.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    value
}

fn near(found: &Matrix, expected: &[[f64; 3]]) {
    let expected = expected.iter().flatten();
    assert!(
        found.as_slice().iter().zip(expected).all(|(found, expected)| (f64::from(*found) - expected).abs() < 5e-4),
        "{found:?}"
    );
}

#[test]
fn self_attention_by_hand_gives_its_known_scores_weights_and_outputs() {
    let capture = capture(&example(&json!({})));
    let layer = capture.layer(HEAD).unwrap();
    near(&layer.scores().unwrap().head(0).unwrap(), &[[2.0, 4.0, 4.0], [4.0, 16.0, 12.0], [4.0, 12.0, 10.0]]);
    let weights = [[0.0634, 0.4683, 0.4683], [0.0, 0.9820, 0.0180], [0.0003, 0.8805, 0.1192]];
    near(&capture.stored_pattern(HEAD).unwrap(), &weights);
    near(
        &layer.z().unwrap().head(0).unwrap(),
        &[[1.9366, 6.6831, 1.5951], [2.0, 7.9640, 0.0540], [1.9997, 7.7599, 0.3584]],
    );
    assert!(laws::check(&capture).iter().all(|law| !law.is_broken()));
    let chain = Chain::of(&capture, HEAD, 1, 2, Against::Nothing).unwrap();
    assert!(chain.steps.iter().all(|step| step.deviation.is_none_or(|far| far < 1e-6)));
    let kinds: Vec<StepKind> = chain.steps.iter().map(|step| step.kind).collect();
    assert!(kinds.contains(&StepKind::Products) && kinds.contains(&StepKind::Mixed), "{kinds:?}");
}

/// The score of a query and a key.
type Formula<'a> = &'a dyn Fn(&[f64], &[f64]) -> f64;

#[test]
fn every_scorer_scores_as_its_formula_says() {
    let (q, k): (Rows, Rows) = (vec![vec![1.0, -2.0], vec![0.5, 1.0]], vec![vec![0.3, 0.4], vec![-1.0, 2.0]]);
    let v = [[1.0, 0.0], [0.0, 1.0]];
    let (w, energy) = ([[0.2, 1.0], [-0.7, 0.4]], [1.5, -0.5]);
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let by = |row: &[f64]| [0, 1].map(|col| row[0] * w[0][col] + row[1] * w[1][col]);
    let pair_map = [[0.2, 1.0], [-0.7, 0.4], [0.5, 0.1], [0.3, -0.6]];
    let length = |a: &[f64]| dot(a, a).sqrt();
    let all: [(Value, Formula<'_>); 6] = [
        (json!("dot"), &dot),
        (json!("scaled_dot"), &|q, k| dot(q, k) / 2f64.sqrt()),
        (json!("cosine"), &|q, k| dot(q, k) / (length(q) * length(k))),
        (json!({ "bilinear": { "w": w } }), &|q, k| dot(&by(q), k)),
        (json!({ "additive": { "wq": w, "wk": w, "energy": energy } }), &|q, k| {
            let hidden = [0, 1].map(|col| (by(q)[col] + by(k)[col]).tanh());
            dot(&hidden, &energy)
        }),
        (json!({ "mlp": { "w": pair_map, "b": [0.1, -0.2], "energy": energy } }), &|q, k| {
            let pair = [q, k].concat();
            let hidden = [0, 1].map(|col| {
                let sum: f64 = pair.iter().zip(&pair_map).map(|(x, row)| x * row[col]).sum();
                (sum + [0.1, -0.2][col]).max(0.0)
            });
            dot(&hidden, &energy)
        }),
    ];
    for (scorer, formula) in all {
        let value = json!({ "format": "attnscope-numbers", "q": q, "k": k, "v": v, "scorer": scorer });
        let capture = capture(&value);
        let scores = capture.layer(HEAD).unwrap().scores().unwrap().head(0).unwrap();
        for (i, query) in q.iter().enumerate() {
            for (j, key) in k.iter().enumerate() {
                let (found, expected) = (f64::from(scores.get(i, j).unwrap()), formula(query, key));
                assert!((found - expected).abs() < 1e-6, "{scorer}: {found}, not {expected}");
            }
        }
        assert!(laws::check(&capture).iter().all(|law| !law.is_broken()), "{scorer}");
    }
}

#[test]
fn masks_scales_and_normalisers_are_those_that_were_typed() {
    let plain = capture(&example(&json!({ "causal": true, "normalizer": "sparsemax", "scale": 0.5 })));
    let pattern = plain.stored_pattern(HEAD).unwrap();
    near(&pattern, &[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0]]);
    let layer = plain.layer(HEAD).unwrap();
    assert_eq!(layer.scores().unwrap().head(0).unwrap().row(0), Some(&[1.0, f32::NEG_INFINITY, f32::NEG_INFINITY][..]));
    assert!(plain.notes().iter().any(|note| note.contains("sparsemax")), "{:?}", plain.notes());
    let near_ones = capture(&example(&json!({ "causal": true, "window": 1 })));
    near(&near_ones.stored_pattern(HEAD).unwrap(), &[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]);
}

#[test]
fn numbers_that_do_not_fit_are_refused_by_name() {
    let wide: Rows = vec![vec![0.0; 129]; 3];
    for (more, words) in [
        (json!({ "x": [[1, 0, 1, 0], [0, 2]] }), "Row 2 of x has 2 numbers and the first has 4"),
        (json!({ "wq": [[1, 2]] }), "wq has 1 rows and x is 4 wide"),
        (json!({ "wk": null }), "Give k, or x and wk"),
        (json!({ "q": [[1, 2, 3]] }), "Give q or wq, not both"),
        (json!({ "x": [] }), "x is empty"),
        (json!({ "x": wide }), "rows of at most 128 numbers"),
        (json!({ "tokens": ["one"] }), "There are 1 tokens and 3 rows"),
        (json!({ "normalizer": "softermax" }), "There is no normaliser “softermax”"),
        (json!({ "wv": [[1], [2], [3], [4]] }), "Queries are 3 wide and values 1"),
        (json!({ "scorer": "loud" }), "unknown variant"),
        (json!({ "temperature": 2 }), "unknown field"),
        (json!({ "x": [[1e39, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]] }), "x has a number that is too large"),
        (json!({ "scale": 1e39 }), "scores has a number that is too large"),
        (json!({ "format": "other" }), "The format is “other”"),
        (json!({ "scorer": { "bilinear": { "w": [[1, 2]] } } }), "w has 1 rows and q is 3 wide"),
    ] {
        let found = refusal(&example(&more));
        assert!(found.contains(words), "{more}: {found}");
    }
}

#[test]
fn a_file_of_numbers_opens_in_the_window_and_on_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("slide.json"), example(&json!({})).to_string()).unwrap();
    fs::write(at("broken.json"), example(&json!({ "wq": [[1]] })).to_string()).unwrap();
    let mut session = Session::new();
    let opened = session.ask(load_from(ModelSource::Path(at("slide.json")))).0;
    let EventKind::Load(LoadAnswer::Opened(file)) = opened else { panic!("{opened:?}") };
    assert_eq!(file.captures[0].key_tokens(HEAD.stack)[2].text, "x3");
    let refused = failure(session.ask(load_from(ModelSource::Path(at("broken.json")))).0);
    assert!(refused.summary.contains("wq has 1 rows"), "{refused:?}");
    let figure = at("why.svg");
    let arguments =
        ["render", "why", "--capture", at("slide.json").to_str().unwrap(), "--out", figure.to_str().unwrap()]
            .map(str::to_owned);
    let output = Command::new(env!("CARGO_BIN_EXE_attnscope")).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(fs::read_to_string(&figure).unwrap().contains("Values mixed"));
}
