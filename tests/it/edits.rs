//! Changes of the forward pass, and gradients with respect to the patterns.

use attnscope::{
    analysis::{attention, laws},
    capture::{
        Ablate, Ablation, Capture, HideToken, Matrix, Patch, Scope, SetPattern,
        changes::{EditAim, TopK},
    },
    ids::{HeadId, Side, StackKind},
    model::{
        Edit, Encoded, Engine, Input, Logits, Model, ModelError, ModelFiles, Objective, RunPlan, Site, Sites,
        uninterrupted,
    },
};

use serde_json::json;

use crate::parity::{Reference, fixture, load};

const SELF: StackKind = StackKind::SelfAttention;

fn plan(edits: Vec<Edit>) -> RunPlan {
    RunPlan { sites: Sites::all(), logits: Logits::Keep, edits, ..RunPlan::default() }
}

fn setup(folder: &str) -> (Model, Encoded) {
    let model = load(folder);
    let encoded = model.encode(&Reference::open(folder, "reference.safetensors").input()).unwrap();
    (model, encoded)
}

fn run(model: &Model, encoded: &Encoded, edits: Vec<Edit>) -> Capture {
    model.forward(encoded, &plan(edits), &uninterrupted).unwrap()
}

fn logits(capture: &Capture) -> &[f32] {
    capture.logits().unwrap().as_slice()
}

fn max_diff(a: &[f32], b: &[f32]) -> f32 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

#[test]
fn a_hidden_token_is_attended_to_by_nobody() {
    for folder in ["bert", "gpt2"] {
        let (model, encoded) = setup(folder);
        let capture = run(&model, &encoded, vec![Edit::HideToken(HideToken { side: Side::Only, position: 3 })]);
        for (layer, spec) in model.spec().stacks[0].layers.iter().enumerate() {
            for head in 0..spec.n_heads {
                let pattern = capture.stored_pattern(HeadId::single(layer, head)).unwrap();
                for row in pattern.rows() {
                    assert_eq!(row[3], 0.0);
                    assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{folder} {layer}.{head}");
                }
            }
        }
        let plain = run(&model, &encoded, vec![]);
        assert!(max_diff(logits(&capture), logits(&plain)) > 1e-3, "hiding a token of {folder} changes nothing");
    }
}

#[test]
fn the_strongest_keys_of_each_row_are_kept_before_values_are_summed() {
    for folder in ["bert", "gpt2"] {
        let (model, encoded) = setup(folder);
        let plain = run(&model, &encoded, vec![]);
        let (head, other) = (HeadId::single(0, 1), HeadId::single(0, 0));
        let own = plain.stored_pattern(head).unwrap();
        for (k, renormalize) in [(1, true), (2, true), (2, false), (1000, false)] {
            let edit = TopK { k, renormalize, stack: SELF, scope: Scope::Heads(vec![head]) };
            let capture = run(&model, &encoded, vec![edit.clone().into()]);
            let changed = capture.stored_pattern(head).unwrap();
            let (v, z) = (capture.v(head).unwrap(), capture.layer(head).unwrap().z().unwrap().head(head.head).unwrap());
            for (query, (row, found)) in own.rows().zip(changed.rows()).enumerate() {
                // By hand: a key is kept when fewer than k others go before it.
                let goes_before = |a: usize, b: usize| row[a] > row[b] || row[a] == row[b] && a < b;
                let is_kept = |key: usize| (0..row.len()).filter(|other| goes_before(*other, key)).count() < k;
                let mut expected: Vec<f64> =
                    (0..row.len()).map(|key| if is_kept(key) { f64::from(row[key]) } else { 0.0 }).collect();
                let sum: f64 = expected.iter().sum();
                if renormalize {
                    for weight in &mut expected {
                        *weight /= sum;
                    }
                }
                let narrow: Vec<f32> = expected.iter().map(|weight| *weight as f32).collect();
                assert!(max_diff(found, &narrow) < 1e-6, "{folder} {k} {renormalize}: {found:?}");
                for col in 0..v.n_cols() {
                    let mixed: f64 = expected.iter().zip(v.rows()).map(|(weight, v)| weight * f64::from(v[col])).sum();
                    assert!((mixed as f32 - z.row(query).unwrap()[col]).abs() < 1e-5, "{folder}");
                }
            }
            assert_eq!(capture.stored_pattern(other), plain.stored_pattern(other), "{folder}");
            let difference = max_diff(logits(&capture), logits(&plain));
            assert!(if k == 1000 { difference == 0.0 } else { difference > 1e-4 }, "{folder} {k}");
            assert!(laws::check(&capture).iter().all(|law| !law.is_broken()), "{folder} {k} {renormalize}");
            // What is computed again from queries and keys is the same.
            let sites = Sites::of(&[Site::Q, Site::K]);
            let plan = RunPlan { sites, edits: vec![edit.into()], ..RunPlan::default() };
            let again = model.forward(&encoded, &plan, &uninterrupted).unwrap();
            let again = attention::pattern(&again, head).unwrap();
            assert!(max_diff(again.as_slice(), changed.as_slice()) < 1e-6, "{folder} {k}");
        }
        let everywhere = Edit::from_json(&json!({ "top_k": 2 })).unwrap();
        assert_eq!(everywhere.to_string(), "each query keeps its 2 strongest keys everywhere");
        let capture = run(&model, &encoded, vec![everywhere]);
        let rows = capture.stored_pattern(HeadId::single(1, 0)).unwrap();
        assert!(rows.rows().all(|row| row.iter().filter(|weight| **weight > 0.0).count() <= 2));
    }
    let json = json!({ "top_k": 3, "renormalize": false, "heads": ["L0H1"] });
    let edit = Edit::from_json(&json).unwrap();
    assert_eq!(
        edit.to_string(),
        "each query keeps its 3 strongest keys in head L0H1, and the rest of its weight is lost"
    );
    assert_eq!(serde_json::to_value(&edit).unwrap(), json);
    let (model, encoded) = setup("bert");
    let none = plan(vec![TopK { k: 0, renormalize: true, stack: SELF, scope: Scope::All }.into()]);
    let refusal = model.forward(&encoded, &none, &uninterrupted).unwrap_err();
    assert!(refusal.to_string().contains("at least one key"), "{refusal}");
    let offers = Edit::offers(&EditAim::Stack(SELF));
    let offer = offers.into_iter().find(|offer| offer.name == "Top-k").unwrap();
    let mut numbers = Vec::new();
    offer.edits[0].clone().kind_mut().options(&mut |field| numbers.push((field.label, field.value.value())));
    assert_eq!(numbers, [("Strongest keys", json!(3)), ("Renormalised", json!(true))]);
}

/// The first token of a causal model sees only itself: hidden, it sees nothing, which must not be NaN.
#[test]
fn a_query_without_any_key_attends_to_nothing() {
    let (model, encoded) = setup("gpt2");
    let capture = run(&model, &encoded, vec![Edit::HideToken(HideToken { side: Side::Only, position: 0 })]);
    let pattern = capture.stored_pattern(HeadId::single(0, 0)).unwrap();
    assert!(pattern.row(0).unwrap().iter().all(|weight| *weight == 0.0));
    assert!(logits(&capture).iter().all(|logit| logit.is_finite()));
}

#[test]
fn an_ablated_head_adds_nothing() {
    let (model, encoded) = setup("bert");
    let ablated = run(
        &model,
        &encoded,
        vec![Edit::Ablate(Ablate { head: HeadId { stack: SELF, layer: 1, head: 2 }, with: Ablation::Zero })],
    );
    let z = ablated.layer(HeadId::single(1, 0)).unwrap().z().cloned().unwrap();
    assert!(z.head(2).unwrap().as_slice().iter().all(|value| *value == 0.0));
    assert!(z.head(1).unwrap().as_slice().iter().any(|value| *value != 0.0));
    // Attending to nothing is the same as adding nothing.
    let n = z.shape()[1];
    let nothing = Matrix::new(vec![0.0; n * n], [n, n]).unwrap();
    let blind = run(
        &model,
        &encoded,
        vec![Edit::SetPattern(SetPattern { head: HeadId { stack: SELF, layer: 1, head: 2 }, pattern: nothing })],
    );
    assert!(max_diff(logits(&ablated), logits(&blind)) < 1e-5);
}

#[test]
fn setting_what_is_already_there_changes_nothing() {
    for folder in ["bert", "gpt2", "vit"] {
        let (model, encoded) = setup(folder);
        let plain = run(&model, &encoded, vec![]);
        let pattern = plain.stored_pattern(HeadId::single(1, 1)).unwrap();
        let same = run(
            &model,
            &encoded,
            vec![Edit::SetPattern(SetPattern { head: HeadId { stack: SELF, layer: 1, head: 1 }, pattern })],
        );
        assert!(max_diff(logits(&plain), logits(&same)) < 1e-5, "{folder}");
        let stream = plain.layer(HeadId::single(1, 0)).unwrap().resid_pre().cloned().unwrap();
        let positions = (0..stream.n_rows()).collect();
        let patch =
            Edit::Patch(Patch { site: Site::ResidPre, stack: SELF, layer: 1, head: None, positions, value: stream });
        assert_eq!(logits(&plain), logits(&run(&model, &encoded, vec![patch])), "{folder}");
    }
}

/// A recurrent writer computes its rows one after the other, each from what the row before attended to.
#[test]
fn edits_reach_the_rows_of_a_recurrent_writer() {
    let stack = StackKind::Cross;
    let (model, encoded) = setup("families/rnnsearch-dot");
    let plain = run(&model, &encoded, vec![]);
    let pattern = plain.stored_pattern(HeadId { stack, layer: 0, head: 0 }).unwrap();
    let set = |pattern: Matrix| {
        run(&model, &encoded, vec![Edit::SetPattern(SetPattern { head: HeadId { stack, layer: 0, head: 0 }, pattern })])
    };
    assert!(max_diff(logits(&plain), logits(&set(pattern.clone()))) < 1e-6);
    let [n_query, n_key] = pattern.shape();
    let mut values = pattern.as_slice().to_vec();
    values[2 * n_key..3 * n_key].reverse();
    let changed = set(Matrix::new(values, [n_query, n_key]).unwrap());
    let row = |capture: &Capture, idx: usize| capture.logits().unwrap().row(idx).unwrap().to_vec();
    assert_eq!(row(&plain, 1), row(&changed, 1), "rows before the change stay");
    assert!(max_diff(&row(&plain, 3), &row(&changed, 3)) > 1e-3, "rows after it follow");
    let hidden = run(&model, &encoded, vec![Edit::HideToken(HideToken { side: Side::Encoder, position: 4 })]);
    let pattern = hidden.stored_pattern(HeadId { stack, layer: 0, head: 0 }).unwrap();
    assert!(pattern.rows().all(|row| row[4] == 0.0 && (row.iter().sum::<f32>() - 1.0).abs() < 1e-5));
    let short = Matrix::new(vec![0.0; n_key], [1, n_key]).unwrap();
    let short = Edit::SetPattern(SetPattern { head: HeadId { stack, layer: 0, head: 0 }, pattern: short });
    let refused = model.forward(&encoded, &plan(vec![short]), &uninterrupted);
    assert!(matches!(refused, Err(ModelError::Edit(_))), "a pattern of one row is for another text");
}

/// Without attention a pattern is fixed, and still a pattern: what is drawn in its place is what the writer gets.
#[test]
fn a_fixed_pattern_is_changed_like_any_other() {
    let (model, encoded) = setup("families/rnnsearch-none");
    let (stack, layer) = (StackKind::Cross, 0);
    let heads = [0, 1].map(|head| HeadId { stack, layer, head });
    let plain = run(&model, &encoded, vec![]);
    assert!(plain.notes()[0].starts_with("No attention"), "{:?}", plain.notes());
    let pattern = |capture: &Capture, nth: usize| capture.stored_pattern(heads[nth]).unwrap();
    let last = pattern(&plain, 0).n_cols() - 1;
    for (nth, key) in [(0, last), (1, 0)] {
        assert!(pattern(&plain, nth).rows().all(|row| row[key] == 1.0 && row.iter().sum::<f32>() == 1.0));
    }
    let [n_query, n_key] = pattern(&plain, 0).shape();
    let values = (0..n_query * n_key).map(|idx| if idx % n_key == 2 { 1.0 } else { 0.0 }).collect::<Vec<_>>();
    let drawn = SetPattern { head: heads[0], pattern: Matrix::new(values, [n_query, n_key]).unwrap() };
    let changed = run(&model, &encoded, vec![Edit::SetPattern(drawn)]);
    let of = |capture: &Capture, site: Site, nth: usize| {
        capture.layer(heads[nth]).unwrap().per_head(site).unwrap().head(nth).unwrap()
    };
    let (z, v) = (of(&changed, Site::Z, 0), of(&changed, Site::V, 0));
    assert!(z.rows().all(|row| max_diff(row, v.row(2).unwrap()) < 1e-6));
    assert!(max_diff(of(&changed, Site::Z, 1).as_slice(), of(&plain, Site::Z, 1).as_slice()) < 1e-6);
    assert!(max_diff(logits(&plain), logits(&changed)) > 1e-3);
    // Nothing competes with the one key, and without it nothing is left.
    let flat = run(&model, &encoded, vec![Edit::Ablate(Ablate { head: heads[0], with: Ablation::Uniform })]);
    assert_eq!(logits(&plain), logits(&flat));
    let hidden = run(&model, &encoded, vec![Edit::HideToken(HideToken { side: Side::Encoder, position: last })]);
    assert!(pattern(&hidden, 0).as_slice().iter().all(|weight| *weight == 0.0));
    assert!(pattern(&hidden, 1).rows().all(|row| row[0] == 1.0));
}

#[test]
fn a_patched_stream_carries_one_run_into_another() {
    let (model, encoded) = setup("gpt2");
    let other = model.encode(&Input::Ids((20..32).collect())).unwrap();
    let source = run(&model, &other, vec![]);
    let stream = source.layer(HeadId::single(1, 0)).unwrap().resid_pre().cloned().unwrap();
    let positions: Vec<_> = (0..stream.n_rows()).collect();
    let patch =
        Edit::Patch(Patch { site: Site::ResidPre, stack: SELF, layer: 1, head: None, positions, value: stream });
    assert_eq!(logits(&run(&model, &encoded, vec![patch])), logits(&source));
}

#[test]
fn edits_that_do_not_fit_are_refused() {
    let (model, encoded) = setup("bert");
    let value = || Matrix::new(vec![0.0; 32], [1, 32]).unwrap();
    let patch = |site, head, position| {
        Edit::Patch(Patch { site, stack: SELF, layer: 0, head, positions: vec![position], value: value() })
    };
    let edits = [
        Edit::HideToken(HideToken { side: Side::Only, position: 15 }),
        Edit::Ablate(Ablate { head: HeadId { stack: SELF, layer: 0, head: 4 }, with: Ablation::Zero }),
        Edit::SetPattern(SetPattern { head: HeadId { stack: SELF, layer: 0, head: 0 }, pattern: value() }),
        patch(Site::ResidPre, None, 15),
        patch(Site::ResidPre, Some(0), 0),
        patch(Site::Q, None, 0),
        patch(Site::Q, Some(0), 0),
    ];
    for edit in edits {
        let result = model.forward(&encoded, &plan(vec![edit.clone()]), &uninterrupted);
        assert!(matches!(result, Err(ModelError::Edit(_))), "{edit:?} was accepted");
    }
}

/// The gradient against central differences of the same pattern entry, everything downstream recomputed.
#[test]
fn pattern_gradients_match_finite_differences() {
    const STEP: f32 = 1e-2;
    let folders = [
        ("bert", 4),
        ("gpt2", 11),
        ("vit", 0),
        ("families/deberta-v3", 4),
        ("families/modernbert", 5),
        ("families/rnnsearch-additive", 3),
        ("families/rnnsearch-mlp", 3),
        ("families/attentive_lm", 6),
        ("families/rnnsearch-bilinear", 5),
        ("families/rnnsearch-none", 4),
    ];
    for (folder, row) in folders {
        let (model, encoded) = setup(folder);
        let objective = Objective::LogitDifference { row, id: 1, against: 2 };
        let gradients = model.pattern_gradients(&encoded, objective, &[], &uninterrupted).unwrap();
        let plain = run(&model, &encoded, vec![]);
        let difference = |capture: &Capture| {
            let row = capture.logits().unwrap().row(row).unwrap().to_vec();
            row[1] - row[2]
        };
        assert!((difference(&plain) - gradients.value).abs() < 1e-4, "{folder}");
        let mut largest = 0.0f32;
        let stack = model.spec().stacks[0].kind;
        for (layer, spec) in model.spec().stacks[0].layers.iter().enumerate() {
            for head in 0..spec.n_heads {
                let pattern = plain.stored_pattern(HeadId { stack, layer, head }).unwrap();
                let (query, key) = (row.min(pattern.n_rows() - 1), (3 * head + layer) % pattern.n_cols());
                let nudged = |step: f32| {
                    let mut values = pattern.as_slice().to_vec();
                    values[query * pattern.n_cols() + key] += step;
                    let pattern = Matrix::new(values, pattern.shape()).unwrap();
                    difference(&run(
                        &model,
                        &encoded,
                        vec![Edit::SetPattern(SetPattern { head: HeadId { stack, layer, head }, pattern })],
                    ))
                };
                let slope = (nudged(STEP) - nudged(-STEP)) / (2.0 * STEP);
                let gradient = gradients
                    .layer(HeadId { stack, layer, head })
                    .unwrap()
                    .pattern()
                    .unwrap()
                    .head(head)
                    .unwrap()
                    .get(query, key)
                    .unwrap();
                assert!(
                    (slope - gradient).abs() <= 0.02 * gradient.abs() + 2e-3,
                    "{folder} layer {layer} head {head}: slope {slope}, gradient {gradient}"
                );
                largest = largest.max(gradient.abs());
            }
        }
        assert!(largest > 0.01, "{folder}: all gradients vanish");
    }
}

#[test]
fn gradients_of_a_model_without_a_head_need_another_objective() {
    let (model, encoded) = setup("bert-bare");
    let logit = model.pattern_gradients(&encoded, Objective::Logit { row: 0, id: 0 }, &[], &uninterrupted);
    assert!(matches!(logit, Err(ModelError::Edit(_))));
    let norm = model.pattern_gradients(&encoded, Objective::SquaredNorm { position: 0 }, &[], &uninterrupted).unwrap();
    assert!(norm.stacks[0].layers.iter().all(|layer| layer.pattern().unwrap().as_slice().iter().any(|x| *x != 0.0)));
}

#[test]
fn a_checkpoint_inside_the_program_opens_like_a_folder() {
    static FILES: [(&str, &[u8]); 2] = [
        ("config.json", include_bytes!("../fixtures/gpt2/config.json")),
        ("model.safetensors", include_bytes!("../fixtures/gpt2/model.safetensors")),
    ];
    let engine = Engine::cpu(Some(1)).unwrap();
    let embedded = Model::load(&ModelFiles::embedded("demo", &FILES), "demo", &engine, &uninterrupted).unwrap();
    let (folder, encoded) = setup("gpt2");
    assert_eq!(logits(&run(&embedded, &encoded, vec![])), logits(&run(&folder, &encoded, vec![])));
    let file = ModelFiles::open(&fixture("gpt2").join("model.safetensors")).unwrap();
    let by_file = Model::load(&file, "gpt2", &engine, &uninterrupted).unwrap();
    assert_eq!(by_file.spec().n_params, folder.spec().n_params);
}
