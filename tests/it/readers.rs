//! Recurrent classifiers: one query over the states of a bidirectional LSTM, sparsemax, word gates.

use std::fs;

use attnscope::{
    analysis::attention,
    capture::{
        Ablate, Ablation, Capture, Edit, HideToken, Matrix, Normalize, Normalizer, Patch, ReplaceToken, Scope,
        SetPattern, Site,
    },
    ids::{HeadId, Side, StackKind},
    model::{
        Encoded, Engine, Input, Logits, Model, ModelError, ModelFiles, Objective, RunPlan, Sites, Taps, uninterrupted,
    },
    spec::HeadKind,
};

use crate::parity::{Reference, fixture, load};

const HEAD: HeadId = HeadId { stack: StackKind::Cross, layer: 0, head: 0 };
const NAMES: [&str; 3] = ["families/bilstm", "families/bilstm-sparsemax", "families/bilstm-rationale"];

fn setup(name: &str) -> (Model, Encoded) {
    let model = load(name);
    let encoded = model.encode(&Reference::open(name, "reference.safetensors").input()).unwrap();
    (model, encoded)
}

fn run(model: &Model, encoded: &Encoded, edits: Vec<Edit>) -> Capture {
    let plan = RunPlan { sites: Sites::all(), logits: Logits::Keep, edits, ..RunPlan::default() };
    model.forward(encoded, &plan, &uninterrupted).unwrap()
}

fn logits(capture: &Capture) -> Vec<f32> {
    capture.logits().unwrap().as_slice().to_vec()
}

fn max_diff(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

fn row(capture: &Capture) -> Vec<f32> {
    capture.stored_pattern(HEAD).unwrap().as_slice().to_vec()
}

fn set(weights: Vec<f32>) -> Edit {
    let n = weights.len();
    let pattern = Matrix::new(weights, [1, n]).unwrap();
    Edit::SetPattern(SetPattern { head: HEAD, pattern })
}

fn nothing_of(position: usize, width: usize) -> Edit {
    Edit::Patch(Patch {
        site: Site::V,
        stack: StackKind::Cross,
        layer: 0,
        head: Some(0),
        positions: vec![position],
        value: Matrix::new(vec![0.0; width], [1, width]).unwrap(),
    })
}

#[test]
fn one_query_reads_all_words_and_names_a_class() {
    for name in NAMES {
        let (model, encoded) = setup(name);
        assert_eq!(model.spec().head, Some(HeadKind::TextClass), "{name}");
        let capture = run(&model, &encoded, vec![]);
        assert_eq!(capture.query_tokens(StackKind::Cross).len(), 1, "{name}");
        assert_eq!(capture.key_tokens(StackKind::Cross).len(), 11, "{name}");
        let top = &capture.prediction().unwrap().rows[0].top;
        let mut labels: Vec<_> = top.iter().map(|item| item.label.as_str()).collect();
        labels.sort_unstable();
        assert_eq!(labels, ["negative", "positive"], "{name}");
        // A sentence for whoever gives it a second text, or asks it to write.
        let pair = Input::Ids([3, 4].into()).with_target(Input::Ids([5].into()));
        assert!(model.encode(&pair).unwrap_err().to_string().contains("no decoder"), "{name}");
    }
}

/// Every edit there is reaches the one row, and what follows from it.
#[test]
fn edits_reach_the_one_row() {
    for name in NAMES {
        let (model, encoded) = setup(name);
        let plain = run(&model, &encoded, vec![]);
        let weights = row(&plain);
        let largest = (0..weights.len()).max_by(|a, b| weights[*a].total_cmp(&weights[*b])).unwrap();
        assert!(max_diff(&logits(&plain), &logits(&run(&model, &encoded, vec![set(weights.clone())]))) < 1e-6);
        // All weight on one word: the mean is that word's state, zeros where the word was not read.
        let one = |at: usize| (0..weights.len()).map(|key| f32::from(key == at)).collect();
        let single = run(&model, &encoded, vec![set(one(largest))]);
        let layer = single.layer(HEAD).unwrap();
        let value = layer.v().unwrap().head(0).unwrap().row(largest).unwrap().to_vec();
        assert_eq!(layer.z().unwrap().as_slice(), value, "{name}");
        assert_eq!(single.stack(StackKind::Cross).unwrap().resid_final().unwrap().as_slice(), value, "{name}");
        // Hidden from the query, a word has no weight, and the others share it.
        let hidden = run(&model, &encoded, vec![Edit::HideToken(HideToken { side: Side::Encoder, position: largest })]);
        let left = row(&hidden);
        assert_eq!(left[largest], 0.0, "{name}");
        assert!((left.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{name}: {left:?}");
        // Without its value a word gives nothing, and without the head the output's bias is left.
        let width = value.len();
        let emptied = run(&model, &encoded, vec![nothing_of(largest, width)]);
        assert_eq!(row(&emptied), weights, "{name}");
        assert!(max_diff(&logits(&emptied), &logits(&plain)) > 1e-3, "{name}");
        let ablated = run(&model, &encoded, vec![Edit::Ablate(Ablate { head: HEAD, with: Ablation::Zero })]);
        let all: Vec<_> = (0..weights.len()).map(|position| nothing_of(position, width)).collect();
        assert_eq!(logits(&ablated), logits(&run(&model, &encoded, all)), "{name}");
        let short = RunPlan { edits: vec![set(vec![1.0])], ..RunPlan::default() };
        assert!(matches!(model.forward(&encoded, &short, &uninterrupted), Err(ModelError::Edit(_))), "{name}");
    }
}

/// The gradient of the difference of the classes against central differences of each weight.
#[test]
fn gradients_of_the_one_row_match_finite_differences() {
    const STEP: f32 = 1e-2;
    for name in NAMES {
        let (model, encoded) = setup(name);
        let objective = Objective::LogitDifference { row: 0, id: 1, against: 0 };
        let gradients = model.pattern_gradients(&encoded, objective, &[], &uninterrupted).unwrap();
        let found = gradients.layer(HEAD).unwrap().pattern().unwrap().head(0).unwrap();
        let weights = row(&run(&model, &encoded, vec![]));
        for key in 0..weights.len() {
            let nudged = |step: f32| {
                let mut weights = weights.clone();
                weights[key] += step;
                let logits = logits(&run(&model, &encoded, vec![set(weights)]));
                logits[1] - logits[0]
            };
            let slope = (nudged(STEP) - nudged(-STEP)) / (2.0 * STEP);
            let gradient = found.get(0, key).unwrap();
            assert!((slope - gradient).abs() < 1e-3, "{name}, word {key}: slope {slope}, gradient {gradient}");
        }
    }
}

/// The gradient by each word's embedding against central differences along the gradient; a word that the gate
/// drops has none at all.
#[test]
fn gradients_of_the_words_match_finite_differences() {
    const STEP: f32 = 1e-2;
    for name in NAMES {
        let (model, encoded) = setup(name);
        let objective = Objective::LogitDifference { row: 0, id: 1, against: 0 };
        let taps = Taps::of(&[Site::Embed]);
        let plan = RunPlan { sites: Sites::all(), ..RunPlan::default() };
        let (capture, gradients) = model.gradients(&encoded, &plan, objective, taps, &uninterrupted).unwrap();
        let (words, found) = (capture.embed(Side::Encoder).unwrap(), gradients.embed(Side::Encoder).unwrap());
        for (position, weight) in row(&capture).into_iter().enumerate() {
            let (word, gradient) = (words.row(position).unwrap(), found.row(position).unwrap());
            let length = gradient.iter().map(|value| value * value).sum::<f32>().sqrt();
            if name.ends_with("rationale") && weight == 0.0 {
                assert_eq!(length, 0.0, "{name}, word {position} is not read");
                continue;
            }
            let nudged = |step: f32| {
                let moved = word.iter().zip(gradient).map(|(x, g)| x + step * g / length).collect::<Vec<_>>();
                let value = Matrix::new(moved, [1, word.len()]).unwrap();
                let stack = StackKind::Encoder;
                let positions = vec![position];
                let patch = Edit::Patch(Patch { site: Site::Embed, stack, layer: 0, head: None, positions, value });
                let logits = logits(&run(&model, &encoded, vec![patch]));
                logits[1] - logits[0]
            };
            let slope = (nudged(STEP) - nudged(-STEP)) / (2.0 * STEP);
            assert!((slope - length).abs() < 2e-3 + 0.01 * length, "{name}, word {position}: {slope}, not {length}");
        }
    }
}

/// Sparsemax is the model's own: the capture says so, and nobody takes its scores for a softmax's.
#[test]
fn a_sparse_model_says_what_its_weights_are() {
    let (model, encoded) = setup("families/bilstm-sparsemax");
    let capture = run(&model, &encoded, vec![]);
    assert_eq!(capture.computation().normalizer, Normalizer::Sparsemax);
    let weights = row(&capture);
    assert!(weights.contains(&0.0) && weights.iter().filter(|weight| **weight > 0.0).count() > 1, "{weights:?}");
    let note = &capture.notes()[0];
    assert!(note.contains("sparsemax") && !note.contains("changed"), "{note}");
    let scores = attention::scores(&capture, HEAD).unwrap();
    let softmax = attention::softmax(&scores).unwrap();
    assert!(max_diff(softmax.as_slice(), &weights) > 0.05);
    assert_eq!(run(&load("families/bilstm"), &encoded, vec![]).computation().normalizer, Normalizer::Softmax);
    // Swapped for softmax it has a softmax's weights, and the other way round.
    let swap = |with| vec![Edit::Normalize(Normalize { scope: Scope::All, with })];
    let soft = run(&model, &encoded, swap(Normalizer::Softmax));
    assert!(max_diff(&row(&soft), softmax.as_slice()) < 1e-6);
    assert!(soft.notes()[0].contains("changed"), "{:?}", soft.notes());
    assert!(max_diff(&logits(&soft), &logits(&capture)) > 1e-3);
    let (other, encoded) = setup("families/bilstm");
    let sparse = run(&other, &encoded, swap(Normalizer::Sparsemax));
    assert!(row(&sparse).contains(&0.0) && !row(&run(&other, &encoded, vec![])).contains(&0.0));
    assert_eq!(row(&run(&other, &encoded, swap(Normalizer::Softmax))), row(&run(&other, &encoded, vec![])));
}

/// Other words, and other ways to put the one head out of action.
#[test]
fn words_are_replaced_and_the_head_is_evened_out() {
    for name in NAMES {
        let (model, encoded) = setup(name);
        let plain = run(&model, &encoded, vec![]);
        let ids: Vec<u32> = plain.key_tokens(StackKind::Cross).iter().filter_map(|token| token.id).collect();
        let with = |position: usize, id: u32| {
            let mut ids = ids.clone();
            ids[position] = id;
            logits(&run(&model, &model.encode(&Input::Ids(ids)).unwrap(), vec![]))
        };
        let replaced = Edit::ReplaceToken(ReplaceToken { side: Side::Encoder, position: 3, id: 12 });
        assert_eq!(logits(&run(&model, &encoded, vec![replaced])), with(3, 12), "{name}");
        let even = run(&model, &encoded, vec![Edit::Ablate(Ablate { head: HEAD, with: Ablation::Uniform })]);
        let seen = row(&even).iter().filter(|weight| **weight > 0.0).count();
        assert!(row(&even).iter().all(|weight| *weight == 0.0 || (weight - 1.0 / seen as f32).abs() < 1e-6), "{name}");
        // The query is no token that could be another one.
        let query = Edit::ReplaceToken(ReplaceToken { side: Side::Decoder, position: 0, id: 12 });
        let plan = RunPlan { edits: vec![query], ..RunPlan::default() };
        assert!(matches!(model.forward(&encoded, &plan, &uninterrupted), Err(ModelError::Edit(_))), "{name}");
    }
}

/// What the gate drops does not reach the classifier: it says the same of the kept words alone.
#[test]
fn a_rationale_is_all_that_the_classifier_reads() {
    let (model, encoded) = setup("families/bilstm-rationale");
    let capture = run(&model, &encoded, vec![]);
    let scores = attention::scores(&capture, HEAD).unwrap();
    let kept: Vec<usize> = (0..11).filter(|key| scores.get(0, *key).unwrap().is_finite()).collect();
    assert!(kept.len() > 1 && kept.len() < 11, "{kept:?}");
    let note = format!("lets {} of 11 tokens through", kept.len());
    assert!(capture.notes().iter().any(|sentence| sentence.contains(&note)), "{:?}", capture.notes());
    for (key, weight) in row(&capture).iter().enumerate() {
        assert_eq!(*weight > 0.0, kept.contains(&key), "{key}");
    }
    // The same classifier without its gate.
    let folder = tempfile::tempdir().unwrap();
    for file in ["config.json", "model.safetensors"] {
        fs::copy(fixture("families/bilstm-rationale").join(file), folder.path().join(file)).unwrap();
    }
    let config = fs::read_to_string(folder.path().join("config.json")).unwrap();
    let config = config.replace("\"word_gates\": \"hardkuma\",", "");
    fs::write(folder.path().join("config.json"), config).unwrap();
    let files = ModelFiles::open(folder.path()).unwrap();
    let open = Model::load(&files, "open", &Engine::cpu(Some(1)).unwrap(), &uninterrupted).unwrap();
    let ids: Vec<u32> = capture.key_tokens(StackKind::Cross).iter().filter_map(|token| token.id).collect();
    let alone: Vec<u32> = kept.iter().map(|key| ids[*key]).collect();
    let same = run(&open, &open.encode(&Input::Ids(alone)).unwrap(), vec![]);
    assert!(max_diff(&logits(&same), &logits(&capture)) < 1e-6);
    let whole = run(&open, &open.encode(&Input::Ids(ids)).unwrap(), vec![]);
    assert!(max_diff(&logits(&whole), &logits(&capture)) > 1e-3, "the gate makes a difference");
    // No weight brings back what was not read.
    let dropped = (0..11).find(|key| !kept.contains(key)).unwrap();
    let forced = run(&model, &encoded, vec![set((0..11).map(|key| f32::from(key == dropped)).collect())]);
    assert!(forced.layer(HEAD).unwrap().z().unwrap().as_slice().iter().all(|value| *value == 0.0));
}
