//! Beam search: texts and scores of transformers (`tests/fixtures/generate_beams.py`), and the tree of what was kept.

use std::{fs, io::Cursor, path::Path};

use attnscope::{
    analysis::written::WrittenText,
    capture::{
        Beams, Capture, PredictionItem,
        file::{self, Contents, Format},
    },
    figure::views::writing::{BeamTree, Fate},
    ids::CaptureId,
    model::{Generation, Input, RunPlan, TokenChoice, uninterrupted},
    protocol::Request,
};
use egui_kittest::kittest::Queryable as _;
use serde_json::Value;

use crate::{
    parity::load,
    render::attnscope,
    support::window::{Window, with_text},
};

fn write(name: &str, ids: &[u32], generation: Generation) -> Capture {
    let model = load(name);
    let input = model.encode(&Input::Ids(ids.to_vec())).unwrap();
    let plan = RunPlan { generate: Some(generation), ..RunPlan::default() };
    model.forward(&input, &plan, &uninterrupted).unwrap()
}

fn beams(width: usize, length_penalty: f64, max_new_tokens: usize) -> Generation {
    let choice = TokenChoice::Beams { width, length_penalty };
    Generation { max_new_tokens, choice, ..Generation::default() }
}

/// The ids of a text up to a token.
fn path(beams: &Beams, last: usize) -> Vec<u32> {
    beams.path(last).into_iter().map(|token| token.id).collect()
}

#[test]
fn texts_and_scores_are_those_of_transformers() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/beams/reference.json");
    let reference: Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    let ids = |json: &Value| -> Vec<u32> { serde_json::from_value(json.clone()).unwrap() };
    let source = ids(&reference["source"]);
    for search in reference["searches"].as_array().unwrap() {
        let name = search["model"].as_str().unwrap();
        let (width, penalty) = (search["beams"].as_u64().unwrap() as usize, search["length_penalty"].as_f64().unwrap());
        let capture = write(name, &source, beams(width, penalty, 12));
        let generated = capture.generated().unwrap();
        let found = generated.beams.as_ref().unwrap();
        assert_eq!(found.hypotheses.len(), width, "{name}");
        let texts = search["texts"].as_array().unwrap().iter().zip(search["scores"].as_array().unwrap());
        for ((last, score), (text, expected)) in found.hypotheses.iter().zip(texts) {
            let (ours, theirs) = (path(found, *last), ids(text));
            // Shorter texts are filled up with one token.
            let (text, padding) = theirs.split_at(ours.len());
            assert_eq!(ours, text, "{name} {width} {penalty}");
            assert!(padding.iter().all(|id| *id == padding[0]), "{name} {padding:?}");
            let expected = expected.as_f64().unwrap();
            let difference = (f64::from(*score) - expected).abs() / expected.abs().max(1.0);
            assert!(difference < 1e-4, "{name} {width} {penalty}: {score} {expected}");
        }
        let first = path(found, found.hypotheses[0].0);
        let tokens = &capture.tokens(generated.side)[generated.first..];
        let written: Vec<u32> =
            tokens.iter().filter_map(|token| token.id).chain(generated.end.iter().map(|end| end.id)).collect();
        assert_eq!(written, first, "{name}: the best one is the text that was written");
        assert_eq!(generated.candidates.len(), first.len(), "{name}");
    }
}

#[test]
fn one_beam_is_the_most_probable_token_each_time_and_given_tokens_come_first() {
    let source = [5, 9, 14, 3, 22, 31, 1];
    let greedy = write("gpt2", &source, Generation { max_new_tokens: 6, ..Generation::default() });
    let one = write("gpt2", &source, beams(1, 1.0, 6));
    assert_eq!(one.tokens(greedy.generated().unwrap().side), greedy.tokens(greedy.generated().unwrap().side));
    let begun = write("gpt2", &source, Generation { begun: [40, 41].into(), ..beams(3, 1.0, 6) });
    let generated = begun.generated().unwrap();
    let tokens = &begun.tokens(generated.side)[generated.first..];
    assert_eq!([tokens[0].id, tokens[1].id], [Some(40), Some(41)]);
    let found = generated.beams.as_ref().unwrap();
    assert_eq!((generated.n_given, path(found, found.hypotheses[0].0).len()), (2, 4));
    let second = found.hypotheses[1].0;
    let ids = WrittenText::of(&begun).unwrap().with_kept(second).unwrap();
    assert_eq!(ids, [&[40, 41][..], &path(found, second)].concat());
    let taken = write("gpt2", &source, Generation { begun: ids.clone().into(), ..beams(3, 1.0, 6) });
    let tokens = &taken.tokens(generated.side)[generated.first..];
    assert_eq!(tokens.iter().filter_map(|token| token.id).collect::<Vec<_>>(), ids, "another text of the tree");
    let mut bytes = Vec::new();
    file::write(&[&begun], Contents::DEFAULT, &mut bytes).unwrap();
    let again = file::read(&mut Cursor::new(&bytes), Format::Safetensors, "", &mut || CaptureId(1)).unwrap().remove(0);
    assert_eq!(again.generated(), begun.generated());
}

#[test]
fn the_text_that_was_taken_stands_along_the_top_of_the_tree() {
    let token = |label: &str| PredictionItem { id: 0, label: label.to_owned(), value: 0.5 };
    let nodes = [(None, "a"), (None, "b"), (Some(0), "c"), (Some(1), "d"), (Some(1), "e"), (Some(3), "f")];
    let beams = Beams {
        nodes: nodes.into_iter().map(|(parent, label)| (parent, token(label))).collect(),
        hypotheses: vec![(5, -0.5), (2, -0.7)],
    };
    let tree = BeamTree::new(beams);
    assert_eq!(tree.places, [[0, 2], [0, 0], [1, 2], [1, 0], [1, 1], [2, 0]]);
    let (taken, ended, dropped) = (Fate::Taken, Fate::Ended, Fate::Dropped);
    assert_eq!(tree.fates, [ended, taken, ended, taken, dropped, taken]);
}

#[test]
fn the_command_line_searches_and_draws_the_tree() {
    let folder = tempfile::tempdir().unwrap();
    let figure = folder.path().join("figure.svg").to_str().unwrap().to_owned();
    let text = ["render", "writing", "--model", "demo:translate", "--text", ">>deu<< I saw a friend in the park."];
    let run = |more: &[&str]| attnscope(&[&text[..], more, &["--out", &figure]].concat());
    let output = run(&["--generate", "12", "--beams", "3", "--length-penalty", "0.8"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let figure = fs::read_to_string(&figure).unwrap();
    for said in ["the best of 3 texts by a score of", "1st:", "3rd:"] {
        assert!(figure.contains(said), "{said}");
    }
    for wrong in [&["--beams", "9"][..], &["--length-penalty", "1"], &["--beams", "2", "--length-penalty", "x"]] {
        assert!(!run(wrong).status.success(), "{wrong:?}");
    }
}

#[test]
fn the_window_offers_beams_where_it_is_chosen_how_a_model_writes() {
    let mut window = Window::open(with_text("one two three"));
    window.harness.get_by_label("How tokens are chosen").click();
    window.settle();
    window.click("beams");
    assert!(window.shows("Length penalty"));
    window.click("Continue");
    let script = window.jobs.0.borrow();
    let Some((_, Request::Run { generation: Some(generation), .. })) = script.submitted.last() else {
        panic!("no run")
    };
    assert_eq!(generation.choice, TokenChoice::Beams { width: 4, length_penalty: 1.0 });
}
