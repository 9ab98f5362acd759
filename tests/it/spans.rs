//! How far back queries see: soft spans, segments with a memory, and an α for each head.

use attnscope::{
    analysis::{attention, laws, reach},
    capture::{
        AdaptiveSpan, Capture, Matrix, Normalize, Normalizer, Patch, Restrict, Scope, SetPattern, Sparsity,
        changes::EditAim,
    },
    figure::views::positions::{Part, PositionFacts, PositionsOptions},
    ids::{HeadId, StackKind},
    model::{Edit, Encoded, Input, Logits, Model, Objective, RunPlan, Site, Sites, uninterrupted},
};
use serde_json::json;

use crate::lab::fixture;

const SELF: StackKind = StackKind::SelfAttention;

fn run(model: &Model, encoded: &Encoded, edits: Vec<Edit>) -> Capture {
    let plan = RunPlan { sites: Sites::all(), logits: Logits::Keep, edits, ..RunPlan::default() };
    model.forward(encoded, &plan, &uninterrupted).unwrap()
}

fn span(span: f32, ramp: f32, scope: Scope) -> Edit {
    AdaptiveSpan { span, ramp, stack: SELF, scope }.into()
}

fn sparse(name: &str) -> Edit {
    Restrict { to: Sparsity::from_name(name).unwrap(), stack: SELF, scope: Scope::All }.into()
}

fn furthest(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

fn logits(capture: &Capture) -> &[f32] {
    capture.logits().unwrap().as_slice()
}

#[test]
fn weights_fade_out_with_their_distance_and_share_the_row_anew() {
    for folder in ["bert", "gpt2"] {
        let (model, encoded) = fixture(folder);
        let plain = run(&model, &encoded, vec![]);
        let (head, other) = (HeadId::single(0, 1), HeadId::single(0, 0));
        let edit = span(1.0, 2.5, Scope::Heads(vec![head]));
        let changed = run(&model, &encoded, vec![edit.clone()]);
        let rows = changed.stored_pattern(head).unwrap();
        for (query, (row, found)) in plain.stored_pattern(head).unwrap().rows().zip(rows.rows()).enumerate() {
            let masked = row.iter().enumerate().map(|(key, weight)| {
                let factor = ((2.5 + 1.0 - query.abs_diff(key) as f64) / 2.5).clamp(0.0, 1.0);
                factor * f64::from(*weight)
            });
            let masked: Vec<f64> = masked.collect();
            let sum: f64 = masked.iter().sum();
            let expected: Vec<f32> = masked.iter().map(|weight| (weight / sum) as f32).collect();
            assert!(furthest(&expected, found) < 1e-6, "{folder}, query {query}: {found:?}");
        }
        assert_eq!(changed.stored_pattern(other), plain.stored_pattern(other), "{folder}");
        assert!(furthest(logits(&changed), logits(&plain)) > 1e-4, "{folder}");
        assert!(laws::check(&changed).iter().all(|law| !law.is_broken()), "{folder}");
        // What is computed again from queries and keys is the same.
        let sites = Sites::of(&[Site::Q, Site::K]);
        let plan = RunPlan { sites, edits: vec![edit], ..RunPlan::default() };
        let again = model.forward(&encoded, &plan, &uninterrupted).unwrap();
        assert!(furthest(attention::pattern(&again, head).unwrap().as_slice(), rows.as_slice()) < 1e-6, "{folder}");
    }
}

#[test]
fn a_long_span_changes_nothing_and_none_leaves_the_query_alone() {
    for folder in ["bert", "gpt2", "families/llama", "families/bloom"] {
        let (model, encoded) = fixture(folder);
        let plain = run(&model, &encoded, vec![]);
        let long = run(&model, &encoded, vec![span(1000.0, 3.0, Scope::All)]);
        assert_eq!(logits(&long), logits(&plain), "{folder}");
        let alone = run(&model, &encoded, vec![span(0.0, 0.01, Scope::All)]);
        let window = run(&model, &encoded, vec![sparse("window:0")]);
        assert!(furthest(logits(&alone), logits(&window)) < 1e-6, "{folder}");
        let rows = alone.stored_pattern(HeadId::single(0, 0)).unwrap();
        assert!(rows.rows().enumerate().all(|(query, row)| row[query] == 1.0), "{folder}");
    }
}

#[test]
fn a_gradient_runs_through_faded_scores() {
    const STEP: f32 = 1e-2;
    let (model, encoded) = fixture("gpt2");
    let edits = vec![span(1.0, 4.0, Scope::All)];
    let row = encoded.tokens.values().next().unwrap().len() - 1;
    let objective = Objective::LogitDifference { row, id: 1, against: 2 };
    let gradients = model.pattern_gradients(&encoded, objective, &edits, &uninterrupted).unwrap();
    let plain = run(&model, &encoded, edits.clone());
    let mut largest = 0.0f32;
    for head in 0..model.spec().stacks[0].layers[0].n_heads {
        let id = HeadId::single(0, head);
        let pattern = plain.stored_pattern(id).unwrap();
        let (query, key) = (row - 1, row - 2);
        let nudged = |step: f32| {
            let mut values = pattern.as_slice().to_vec();
            values[query * pattern.n_cols() + key] += step;
            let pattern = Matrix::new(values, pattern.shape()).unwrap();
            let given = SetPattern { head: id, pattern }.into();
            let changed = run(&model, &encoded, edits.iter().cloned().chain([given]).collect());
            let logits = changed.logits().unwrap().row(row).unwrap().to_vec();
            logits[1] - logits[2]
        };
        let slope = (nudged(STEP) - nudged(-STEP)) / (2.0 * STEP);
        let gradient = gradients.layer(id).unwrap().pattern().unwrap().head(head).unwrap().get(query, key).unwrap();
        assert!((slope - gradient).abs() <= 0.02 * gradient.abs() + 2e-3, "{id}: slope {slope}, gradient {gradient}");
        largest = largest.max(gradient.abs());
    }
    // This weight reaches the last row through the faded scores and values of later layers alone.
    assert!(largest > 1e-3, "{largest}");
}

#[test]
fn a_span_is_offered_dragged_written_and_refused_where_there_is_no_distance() {
    let written = json!({ "span": 3.0, "ramp": 1.5, "heads": ["L0H1"] });
    let edit = Edit::from_json(&written).unwrap();
    assert_eq!(edit.to_string(), "attention has a span of 3 positions and a ramp of 1.5 in head L0H1");
    assert_eq!(serde_json::to_value(&edit).unwrap(), written);
    let named = |aim: &EditAim<'_>| Edit::offers(aim).into_iter().find(|offer| offer.name == "Span…");
    let head = HeadId::single(0, 1);
    for aim in [EditAim::Stack(SELF), EditAim::Head { head, made: &[] }] {
        let mut offered = named(&aim).unwrap().edits.remove(0);
        let mut labels = Vec::new();
        offered.kind_mut().options(&mut |field| labels.push(field.label));
        assert_eq!(labels, ["Span", "Ramp"]);
    }
    assert!(named(&EditAim::Stack(StackKind::Cross)).is_none());
    let (model, encoded) = fixture("families/t5");
    for (json, why) in [
        (json!({ "span": 1.0, "ramp": 2.0, "stack": "cross" }), "of two sequences"),
        (json!({ "span": -1.0, "ramp": 2.0, "stack": "encoder" }), "0 positions or more"),
        (json!({ "span": 1.0, "ramp": 0.0, "stack": "encoder" }), "more than 0 positions"),
        (json!({ "sparse": "segments:2", "stack": "encoder" }), "not causal"),
        (json!({ "sparse": "segments:0", "stack": "decoder" }), "at least one position"),
    ] {
        let plan = RunPlan { edits: vec![Edit::from_json(&json).unwrap()], ..RunPlan::default() };
        let refused = model.forward(&encoded, &plan, &uninterrupted).unwrap_err().to_string();
        assert!(refused.contains(why), "{json}: {refused}");
    }
}

#[test]
fn each_head_has_an_alpha_of_its_own() {
    let (model, encoded) = fixture("gpt2");
    let entmax = |head: usize, alpha: f32| -> Edit {
        Normalize { scope: Scope::Heads(vec![HeadId::single(0, head)]), with: Normalizer::Entmax(alpha) }.into()
    };
    let of_head = |edits: Vec<Edit>, head: usize| {
        run(&model, &encoded, edits).stored_pattern(HeadId::single(0, head)).unwrap().as_slice().to_vec()
    };
    let both = [entmax(0, 1.25), entmax(1, 2.0)];
    for (head, alone) in both.iter().cloned().enumerate() {
        assert_eq!(of_head(both.to_vec(), head), of_head(vec![alone], head), "head {head}");
    }
    assert_ne!(of_head(both.to_vec(), 0), of_head(vec![entmax(0, 2.0)], 0), "each has its own");
    assert!(!both[0].contradicts(&both[1]));
}

/// The third segment read behind the second alone, with the keys and values that the second had behind the first.
#[test]
fn a_segment_sees_the_keys_and_values_that_the_one_before_left() {
    const SIZE: usize = 4;
    // Its scores depend on distances alone, so that a text may begin anywhere.
    let (model, _) = fixture("families/bloom");
    let ids: Vec<u32> = (0..3 * SIZE as u32).map(|nth| 5 + 7 * nth % 90).collect();
    let whole = model.encode(&Input::Ids(ids.clone())).unwrap();
    let segments = run(&model, &whole, vec![sparse(&format!("segments:{SIZE}"))]);
    let memory: Vec<usize> = (0..SIZE).collect();
    let mut cached: Vec<Edit> = Vec::new();
    for (layer, spec) in model.spec().stacks[0].layers.iter().enumerate() {
        for head in 0..spec.n_heads {
            let id = HeadId::single(layer, head);
            for (site, of) in [(Site::K, segments.k(id).unwrap()), (Site::V, segments.v(id).unwrap())] {
                let rows: Vec<f32> = (SIZE..2 * SIZE).flat_map(|row| of.row(row).unwrap().to_vec()).collect();
                let value = Matrix::new(rows, [SIZE, of.n_cols()]).unwrap();
                let patch = Patch { site, stack: SELF, layer, head: Some(head), positions: memory.clone(), value };
                cached.push(patch.into());
            }
        }
    }
    let last_two = model.encode(&Input::Ids(ids[SIZE..].to_vec())).unwrap();
    let last = |capture: &Capture, rows: std::ops::Range<usize>| -> Vec<f32> {
        rows.flat_map(|row| capture.logits().unwrap().row(row).unwrap().to_vec()).collect()
    };
    let with_memory = last(&run(&model, &last_two, cached), SIZE..2 * SIZE);
    let found = last(&segments, 2 * SIZE..3 * SIZE);
    assert!(furthest(&found, &with_memory) < 1e-6, "{}", furthest(&found, &with_memory));
    let without = last(&run(&model, &last_two, vec![]), SIZE..2 * SIZE);
    assert!(furthest(&found, &without) > 1e-5, "the memory has what the first segment left in it");
    let plain = last(&run(&model, &whole, vec![]), 2 * SIZE..3 * SIZE);
    assert!(furthest(&found, &plain) > 1e-5, "the first segment is not seen directly");
    let two = model.encode(&Input::Ids(ids[..2 * SIZE].to_vec())).unwrap();
    let edits = vec![sparse(&format!("segments:{SIZE}"))];
    assert_eq!(logits(&run(&model, &two, edits)), logits(&run(&model, &two, vec![])), "two segments see all");
}

#[test]
fn each_layer_reaches_one_segment_further_back() {
    const SIZE: usize = 3;
    let (model, _) = fixture("families/bloom");
    let encoded = model.encode(&Input::Ids((5..5 + 4 * SIZE as u32).collect())).unwrap();
    let reach = |edits| reach::of_last(&run(&model, &encoded, edits), SELF).unwrap();
    assert_eq!(reach(vec![sparse(&format!("segments:{SIZE}"))]), [2 * SIZE, 3 * SIZE]);
    assert_eq!(reach(vec![sparse(&format!("blocks:{SIZE}"))]), [SIZE; 2]);
    assert_eq!(reach(vec![sparse("window:2")]), [3, 5]);
    assert_eq!(reach(vec![]), [4 * SIZE; 2]);
    let of = |edits| {
        let facts =
            PositionFacts::of(&run(&model, &encoded, edits), None, HeadId::single(0, 0), PositionsOptions::default());
        facts.parts().contains(&Part::Reach)
    };
    assert!(of(vec![sparse("segments:3")]) && !of(vec![]), "it is shown where one layer does not reach all");
}
