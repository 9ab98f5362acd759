//! The text itself: its numbers are those of the pattern, its words those of the input, and the pointer asks both ways.

use attnscope::{
    analysis::attention,
    capture::file::{self, Format},
    figure::views::text::TextUnit,
    ids::{CaptureId, HeadId, StackKind},
    session::{Command, ViewKind},
};
use egui_kittest::kittest::Queryable as _;
use serde_json::Value;

use crate::{
    render::{attnscope, sample},
    support::window::{Window, with_text},
};

const TEXT: &str = "The cat sat on the mat. It was tired, so it slept.";

fn table(arguments: &[&str]) -> Vec<(String, u64, String, String, f64)> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("numbers.json").display().to_string();
    let output = attnscope(&[&["render"], arguments, &["--data", &path]].concat());
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    let value: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let text = |row: &Value, name: &str| row[name].as_str().unwrap().to_owned();
    let row = |row: &Value| {
        let position = row["position"].as_u64().unwrap();
        (text(row, "side"), position, text(row, "token"), text(row, "sentence"), row["weight"].as_f64().unwrap())
    };
    value["rows"].as_array().unwrap().iter().map(row).collect()
}

#[test]
fn numbers_are_what_a_query_gives_a_key_receives_or_all_give_on_average() {
    let model = ["text", "--model", "demo:bert", "--text", TEXT, "--layer", "1", "--head", "2"];
    let of = |more: &[&str]| table(&[&model, more].concat());
    let n = of(&[]).len();
    let given: Vec<_> = (0..n).map(|query| of(&["--query", &query.to_string()])).collect();
    for (query, rows) in given.iter().enumerate() {
        assert!(rows.iter().all(|row| row.0 == "key"), "{query}");
        let sum: f64 = rows.iter().map(|row| row.4).sum();
        assert!((sum - 1.0).abs() < 1e-5, "{query}: {sum}");
    }
    let received = of(&["--key", "3"]);
    let mean = of(&[]);
    for (at, row) in received.iter().enumerate() {
        assert_eq!((row.0.as_str(), row.4), ("query", given[at][3].4), "one weight, asked both ways");
    }
    for (key, row) in mean.iter().enumerate() {
        let expected = given.iter().map(|rows| rows[key].4).sum::<f64>() / n as f64;
        assert!((row.4 - expected).abs() < 1e-6, "{key}");
    }
    // Special tokens are in no sentence; the second begins behind the first full stop.
    let stop = mean.iter().position(|row| row.2 == ".").unwrap();
    assert_eq!([&mean[0].3, &mean[n - 1].3], ["", ""]);
    assert!(mean[1..=stop].iter().all(|row| row.3 == "0") && mean[stop + 1..n - 1].iter().all(|row| row.3 == "1"));
}

#[test]
fn both_sides_of_a_translator_are_texts_and_patches_are_none() {
    let translate = ["text", "--model", "demo:translate", "--text", "Good morning", "--target", "Guten Morgen"];
    let rows = table(&[&translate[..], &["--query", "1"]].concat());
    assert!(rows.iter().all(|row| row.0 == "key") && rows.iter().any(|row| row.2.contains("morning")));
    let picture = sample("coffee.jpg");
    let output = attnscope(&["render", "text", "--model", "demo:vit", "--image", &picture, "--out", "never.svg"]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && stderr.contains("Picture shows them"), "{stderr}");
}

#[test]
fn the_text_is_the_one_that_was_typed_in_every_kind_of_vocabulary() {
    let text = "Nobody's  asleep: «naïve» cats, 日本 &\tdogs.";
    for model in ["demo:gpt", "demo:bert", "demo:sentiment"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page.html");
        let out = path.to_str().unwrap();
        let output = attnscope(&["render", "text", "--model", model, "--text", text, "--out", out]);
        assert!(output.status.success(), "{model}: {}", String::from_utf8_lossy(&output.stderr));
        let html = std::fs::read_to_string(&path).unwrap();
        let json = html.split_once("id=\"data\">").unwrap().1.split_once("</script>").unwrap().0;
        let data: Value = serde_json::from_str(json).unwrap();
        let axis = &data["axes"][0];
        let special: Vec<u64> = axis["special"].as_array().unwrap().iter().map(|at| at.as_u64().unwrap()).collect();
        let texts = axis["texts"].as_array().unwrap().iter().enumerate();
        let joined: String =
            texts.filter(|(at, _)| !special.contains(&(*at as u64))).map(|(_, text)| text.as_str().unwrap()).collect();
        assert_eq!(joined, text, "{model}");
    }
}

#[test]
fn a_token_is_asked_both_ways_and_held_by_a_click() {
    let mut window = Window::with_size(with_text("one two three four. Five six"), [1600.0, 900.0]);
    window.show(ViewKind::Text);
    window.click("Query 2 three");
    let pinned = |window: &Window| window.app().session().pane().selection.pinned;
    assert_eq!((pinned(&window).query, pinned(&window).key), (Some(2), None));
    window.click("Received");
    window.click("Key 1 two");
    assert_eq!((pinned(&window).query, pinned(&window).key), (None, Some(1)));
    window.click("Key 1 two");
    assert!(pinned(&window).is_empty(), "a second click lets go");
    for sentence in ["Sentence: one two three four.", "Sentence: Five six"] {
        window.harness.get_by_label(sentence);
    }
}

#[test]
fn a_text_is_folded_into_paragraphs_and_into_one_document_that_have_the_sums_of_their_tokens() {
    let folder = tempfile::tempdir().unwrap();
    let text = "The cat sat down. It was tired.\n\nThe dog ran. It was happy.\nThe end.";
    let model = ["text", "--model", "demo:gpt", "--text", text, "--layer", "1", "--head", "2"];
    let figure = |unit: &str| {
        let path = folder.path().join(format!("{unit}.svg")).display().to_string();
        let output = attnscope(&[&["render"], &model[..], &["--tint", unit, "--out", &path]].concat());
        assert!(output.status.success(), "{unit}: {}", String::from_utf8_lossy(&output.stderr));
        std::fs::read_to_string(path).unwrap()
    };
    let rows = table(&model);
    let total: f64 = rows.iter().map(|row| row.4).sum();
    assert!((total - 1.0).abs() < 1e-5, "no token of this text is special: {total}");
    assert!(figure("document").contains("largest on a document 1.000"));
    let json = folder.path().join("numbers.json").display().to_string();
    assert!(attnscope(&[&["render"], &model[..], &["--data", &json]].concat()).status.success());
    let value: Value = serde_json::from_slice(&std::fs::read(&json).unwrap()).unwrap();
    let mut sums = std::collections::BTreeMap::<String, f64>::new();
    for row in value["rows"].as_array().unwrap() {
        *sums.entry(row["paragraph"].as_str().unwrap().to_owned()).or_default() += row["weight"].as_f64().unwrap();
    }
    assert_eq!(sums.keys().collect::<Vec<_>>(), ["0", "1", "2"]);
    let largest = sums.values().copied().fold(0.0, f64::max);
    assert!(figure("paragraph").contains(&format!("largest on a paragraph {largest:.3}")), "{sums:?}");
}

#[test]
fn the_outline_is_of_the_parts_that_have_the_colours() {
    let text = "one two. Three four\n five six";
    let mut window = Window::with_size(with_text(text), [1600.0, 900.0]);
    window.show(ViewKind::Text);
    let shows = |window: &Window, label: &str| window.harness.query_by_label(label).is_some();
    assert!(shows(&window, "Sentence: one two.") && !shows(&window, "Paragraph: five six"));
    let mut options = window.app().session().pane().options.clone();
    options.text.unit = TextUnit::Paragraph;
    window.app().request(Command::SetViewOptions(options));
    window.settle();
    assert!(shows(&window, "Paragraph: five six") && !shows(&window, "Sentence: one two."));
}

/// Of a model that attends to sentences a word has its weight in its sentence times that of the sentence: all of them
/// are one document.
#[test]
fn words_times_sentences_are_one_over_the_document() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let text = "terrible value. ordered pasta entree. good taste but size was an appetizer size. no salad.";
    let (capture, data) = (path("review.safetensors"), path("review.json"));
    let run = |arguments: &[&str]| attnscope(arguments);
    let written = run(&["capture", "--model", "demo:documents", "--text", text, "--out", &capture]);
    assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
    let drawn = ["render", "text", "--capture", &capture, "--tint", "mass", "--data", &data];
    let output = run(&[&drawn[..], &["--stack", "words"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut bytes = std::io::Cursor::new(std::fs::read(&capture).unwrap());
    let read = file::read(&mut bytes, Format::Safetensors, "review", &mut || CaptureId(1)).unwrap().remove(0);
    let [words, sentences] = [StackKind::Words, StackKind::Sentences]
        .map(|stack| attention::pattern(&read, HeadId { stack, layer: 0, head: 0 }).unwrap());
    let n_words = words.shape()[1];
    let mut expected = vec![0.0f64; n_words];
    for sentence in 0..words.shape()[0] {
        let of_sentence = f64::from(sentences.row(0).unwrap()[sentence]);
        for (sum, weight) in expected.iter_mut().zip(words.row(sentence).unwrap()) {
            *sum += of_sentence * f64::from(*weight);
        }
    }
    let table: Value = serde_json::from_slice(&std::fs::read(&data).unwrap()).unwrap();
    let masses: Vec<f64> = table["rows"].as_array().unwrap().iter().map(|row| row["mass"].as_f64().unwrap()).collect();
    assert_eq!(masses.len(), n_words);
    assert!((masses.iter().sum::<f64>() - 1.0).abs() < 1e-5, "{masses:?}");
    for (mass, expected) in masses.iter().zip(expected) {
        assert!((mass - expected).abs() < 1e-6, "{mass} {expected}");
    }
    let refused =
        run(&["render", "text", "--model", "demo:bert", "--text", text, "--tint", "mass", "--out", &path("no.svg")]);
    assert!(!refused.status.success());
    let message = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(message.contains("--stack words"), "{message}");
}
