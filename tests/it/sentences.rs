//! Rows and columns by sentence and by paragraph, and heads that look at few sentences.

use std::{fs, ops::Range};

use attnscope::{
    analysis::{
        detect::{Detector, Probe, Undefined},
        reading::{Captures, Reading, read},
    },
    capture::{Capture, Matrix, Merging, Unit},
    ids::{HeadId, StackKind},
    model::{Engine, Input, Model, RunPlan, locate, uninterrupted},
};

use crate::render::attnscope;

const TEXT: &str = "Once upon a time there was a dog. He was big! Did he run?\nHe ran to Mia. She said hello. They sat down. \
    It was warm. They slept.";

fn run(text: &str) -> Capture {
    let (files, name) = locate::model("demo:gpt").unwrap();
    let model = Model::load(&files, &name, &Engine::cpu(Some(2)).unwrap(), &uninterrupted).unwrap();
    let encoded = model.encode(&Input::text(text)).unwrap();
    model.forward(&encoded, &RunPlan::default(), &uninterrupted).unwrap()
}

fn merged(capture: &Capture, head: HeadId, merging: Merging) -> (Vec<Range<usize>>, Vec<String>, Matrix) {
    let read = read(Captures::one(capture), &Reading { merging, ..Reading::of(head) }).unwrap();
    let groups = read.rows.groups.iter().map(|group| group.positions.clone()).collect();
    (groups, read.cols.texts().map(str::to_owned).collect(), read.matrix)
}

#[test]
fn a_sentence_sums_its_keys_and_averages_its_queries() {
    let (capture, head) = (run(TEXT), HeadId::single(2, 1));
    let tokens = capture.stored_pattern(head).unwrap();
    let of = |unit| merged(&capture, head, Merging { unit, unfolded: None });
    let (groups, texts, matrix) = of(Unit::Sentence);
    assert_eq!(texts.len(), 8, "{texts:?}");
    assert_eq!(texts[..3], ["Once upon a time there was a dog.", "He was big!", "Did he run?"]);
    for (row, queries) in groups.iter().enumerate() {
        for (col, keys) in groups.iter().enumerate() {
            let sum = |query| keys.clone().map(|key| f64::from(tokens.get(query, key).unwrap())).sum::<f64>();
            let mean = queries.clone().map(sum).sum::<f64>() / queries.len() as f64;
            assert!((f64::from(matrix.get(row, col).unwrap()) - mean).abs() < 1e-6, "{row} {col}");
        }
    }
    assert_eq!(of(Unit::Paragraph).1.len(), 2);
    // The words of one sentence among the others.
    let (unfolded, texts, _) = merged(&capture, head, Merging { unit: Unit::Sentence, unfolded: Some(1) });
    assert_eq!(texts[..6], ["Once upon a time there was a dog.", "He", "was", "big", "!", "Did he run?"]);
    assert_eq!((unfolded.len(), &unfolded[0]), (groups.len() + 3, &groups[0]));
}

#[test]
fn receiver_heads_need_eight_sentences() {
    let score = |text: &str| {
        let capture = run(text);
        Probe::new(&capture, StackKind::SelfAttention).score(Detector::Receiver, 1, 0)
    };
    assert!(score(TEXT).is_ok_and(f32::is_finite), "{:?}", score(TEXT));
    assert_eq!(score("One. Two. Three."), Err(Undefined::FewSentences));
}

#[test]
fn figures_and_tables_have_sentences() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data.json");
    let [data_path, text] = [data.to_str().unwrap(), TEXT];
    let given =
        ["render", "heatmap", "--model", "demo:gpt", "--text", text, "--merge", "sentences", "--data", data_path];
    let output = attnscope(&given);
    assert!(output.status.success(), "{output:?}");
    assert!(fs::read_to_string(&data).unwrap().contains("Did he run?"));
    let refused =
        attnscope(&["render", "heatmap", "--model", "demo:gpt", "--text", text, "--unfold", "1", "--data", data_path]);
    assert!(!refused.status.success(), "there is nothing to unfold");
    let scores = folder.path().join("heads.json");
    let output =
        attnscope(&["analyze", "heads", "--model", "demo:gpt", "--text", text, "--out", scores.to_str().unwrap()]);
    assert!(output.status.success(), "{output:?}");
    assert!(fs::read_to_string(&scores).unwrap().contains("\"receiver\""));
}
