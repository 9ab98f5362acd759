//! Networks that attend to sentences: hierarchical attention, and memories.

use attnscope::{
    capture::{Capture, Edit, ReplaceToken},
    ids::{HeadId, Side, StackKind},
    model::{Encoded, Engine, Input, Logits, Model, RunPlan, Sites, locate, uninterrupted},
};

use crate::parity::{Reference, load};

const WORDS: HeadId = HeadId { stack: StackKind::Words, layer: 0, head: 0 };

fn setup(name: &str) -> (Model, Encoded) {
    let model = load(name);
    let encoded = model.encode(&Reference::open(name, "reference.safetensors").input()).unwrap();
    (model, encoded)
}

fn run(model: &Model, encoded: &Encoded, edits: Vec<Edit>) -> Capture {
    let plan = RunPlan { sites: Sites::all(), logits: Logits::Keep, edits, ..RunPlan::default() };
    model.forward(encoded, &plan, &uninterrupted).unwrap()
}

/// Where the sentences of the fixtures begin and end.
const SENTENCES: [std::ops::Range<usize>; 5] = [0..4, 4..7, 7..9, 9..15, 15..17];

#[test]
fn each_sentence_attends_to_its_words_alone() {
    let (model, encoded) = setup("families/han");
    let capture = run(&model, &encoded, vec![]);
    let pattern = capture.stored_pattern(WORDS).unwrap();
    assert_eq!(pattern.shape(), [5, 17]);
    for (row, own) in pattern.rows().zip(SENTENCES) {
        let inside: f32 = row[own.clone()].iter().sum();
        assert!((inside - 1.0).abs() < 1e-5 && row[own.clone()].iter().all(|weight| *weight > 0.0), "{row:?}");
        assert!(row.iter().enumerate().all(|(key, weight)| own.contains(&key) || *weight == 0.0), "{row:?}");
    }
    let texts: Vec<_> = capture.query_tokens(StackKind::Words).iter().map(|token| token.text.as_str()).collect();
    assert_eq!(texts[..3], ["#5 #17 #8 #2", "#33 #3 #3", "#21 #2"]);
    assert_eq!(capture.key_tokens(StackKind::Sentences), capture.query_tokens(StackKind::Words));
    let [query] = capture.query_tokens(StackKind::Sentences) else { panic!("one query reads the document") };
    assert_eq!(query.text, "[document]");
}

/// What is read decides where sentences end, whatever it was before.
#[test]
fn sentences_follow_what_is_read() {
    let (model, encoded) = setup("families/han");
    let replaced = |position, id| vec![Edit::ReplaceToken(ReplaceToken { side: Side::Encoder, position, id })];
    let n_sentences = |capture: &Capture| capture.tokens(Side::Sentences).len();
    assert_eq!(n_sentences(&run(&model, &encoded, replaced(3, 9))), 4, "the first end is gone");
    assert_eq!(n_sentences(&run(&model, &encoded, replaced(1, 3))), 6, "there is another one");
    let shorter = encoded.without(Side::Encoder, 8).unwrap();
    assert_eq!(n_sentences(&run(&model, &shorter, vec![])), 4);
    assert!(encoded.without(Side::Sentences, 0).is_none(), "a sentence is no token that is read");
}

#[test]
fn the_last_sentence_asks_the_others() {
    let (model, encoded) = setup("families/memn2n");
    let capture = run(&model, &encoded, vec![]);
    let stack = capture.stack(StackKind::Sentences).unwrap();
    assert_eq!(stack.layers.len(), 3, "a layer for each hop");
    assert_eq!(capture.key_tokens(StackKind::Sentences).len(), 4, "the question is no memory");
    assert_eq!(capture.query_tokens(StackKind::Sentences)[0].text, "[question]");
    let label = &capture.prediction().unwrap().rows[0].top[0].label;
    assert!(["kitchen", "garden", "office", "hallway", "bedroom", "bathroom"].contains(&label.as_str()));
    let refused = |ids: Vec<u32>| {
        let encoded = model.encode(&Input::Ids(ids)).unwrap();
        model.forward(&encoded, &RunPlan::default(), &uninterrupted).unwrap_err().to_string()
    };
    assert!(refused(vec![5, 17, 8, 2]).contains("there is no story"));
    assert!(refused([5, 2].repeat(10)).contains("9 sentences, but the model reads at most 8"));
}

/// A sentence is called what it says in the text, and after a change of what is read what that says.
#[test]
fn sentences_are_called_what_they_say() {
    let (files, name) = locate::model("demo:memory").unwrap();
    let model = Model::load(&files, &name, &Engine::cpu(Some(1)).unwrap(), &uninterrupted).unwrap();
    let encoded = model.encode(&Input::text("Mary  took the milk. John left. Where is the milk?")).unwrap();
    let said = |capture: &Capture| -> Vec<String> {
        capture.tokens(Side::Sentences).iter().map(|token| token.text.clone()).collect()
    };
    let plain = run(&model, &encoded, vec![]);
    assert_eq!(said(&plain), ["Mary took the milk.", "John left."]);
    let john = plain.tokens(Side::Encoder)[5].id.unwrap();
    let edit = Edit::ReplaceToken(ReplaceToken { side: Side::Encoder, position: 0, id: john });
    assert_eq!(said(&run(&model, &encoded, vec![edit])), ["john took the milk .", "john left ."]);
}
