//! Rank-one edits against changed checkpoints, smallest masks, and relevance by propagation against PyTorch
//! (`tests/fixtures/generate_lrp.py`).

use std::{fs, sync::Arc};

use attnscope::{
    analysis::explain::{
        normalizers::softmax,
        report::{ColumnValues, LabQuestion, Report, Value},
    },
    capture::{Matrix, Patch, RankOne},
    figure::{
        palette::Palette,
        views::lab::{Answered, compose},
    },
    ids::{HeadId, Side, StackKind},
    lab::{
        Baseline, Depth, GradientOptions, MaskingOptions, MethodCall, Of, RelevanceQuestion, RewriteOptions, Rule,
        SubjectSpan, Target, edit_of,
    },
    model::{Edit, Encoded, Input, Logits, Model, Objective, RunPlan, Site, Sites, Taps, Variant, uninterrupted},
};
use safetensors::{SafeTensors, tensor::TensorView};
use serde_json::Value as Json;

use crate::{
    lab::{NO_EDITS, ask, column, demo, fixture, number, of, refused},
    parity, weights,
};

const SELF: StackKind = StackKind::SelfAttention;

fn logits(model: &Model, input: &Encoded, edits: &[Edit]) -> Matrix {
    let plan = RunPlan { sites: Sites::NONE, logits: Logits::Keep, edits: edits.to_vec(), ..RunPlan::default() };
    model.forward(input, &plan, &uninterrupted).unwrap().logits().unwrap().clone()
}

fn farthest(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

/// The checkpoint of a fixture with `left · right^T` added to one weight, which is `[in, out]` or `[out, in]`.
fn changed(name: &str, weight: &str, left: &[f32], right: &[f32], transposed: bool) -> tempfile::TempDir {
    let bytes = fs::read(parity::fixture(name).join("model.safetensors")).unwrap();
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    let own = tensors.tensor(weight).unwrap();
    let values = own.data().chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap()));
    let added = values.enumerate().map(|(at, value)| {
        let (row, col) = (at / own.shape()[1], at % own.shape()[1]);
        let (out, inner) = if transposed { (row, col) } else { (col, row) };
        value + left[out] * right[inner]
    });
    let new: Vec<u8> = added.flat_map(f32::to_le_bytes).collect();
    let all = tensors.tensors().into_iter().map(|(known, view)| {
        let view =
            if known == weight { TensorView::new(view.dtype(), view.shape().to_vec(), &new).unwrap() } else { view };
        (known, view)
    });
    let written = safetensors::serialize(all.collect::<Vec<_>>(), None).unwrap();
    weights::model_with(name, &[("model.safetensors", written)])
}

#[test]
fn a_change_of_rank_one_is_the_same_as_that_of_the_checkpoints_weight() {
    for (name, stack, weight, transposed) in [
        ("gpt2", SELF, "transformer.h.0.mlp.c_proj.weight", false),
        ("bert", SELF, "bert.encoder.layer.0.output.dense.weight", true),
        ("families/llama", SELF, "model.layers.0.mlp.down_proj.weight", true),
        ("families/gemma2", SELF, "model.layers.0.mlp.down_proj.weight", true),
        ("families/gpt_neox", SELF, "gpt_neox.layers.0.mlp.dense_4h_to_h.weight", true),
        ("families/bart", StackKind::Encoder, "model.encoder.layers.0.fc2.weight", true),
        ("families/bart", StackKind::Decoder, "model.decoder.layers.0.fc2.weight", true),
    ] {
        let (model, input) = fixture(name);
        let map = model.mlp_output(stack, 0).unwrap().unwrap();
        let [d_mlp, d_model] = map.weight.shape();
        let wave = |n: usize, pace: f32| (0..n).map(|at| 0.3 * (pace * at as f32).sin()).collect::<Vec<f32>>();
        let (left, right) = (wave(d_model, 0.7), wave(d_mlp, 1.3));
        let folder = changed(name, weight, &left, &right, transposed);
        let edit = Edit::RankOne(RankOne { stack, layer: 0, left, right });
        let expected = logits(&weights::open(folder.path()).unwrap(), &input, NO_EDITS);
        let actual = logits(&model, &input, std::slice::from_ref(&edit));
        let size = expected.as_slice().iter().fold(1.0f32, |most, x| most.max(x.abs()));
        let worst = farthest(expected.as_slice(), actual.as_slice());
        assert!(worst < 1e-5 * size, "{name}, {stack}: {worst:e} of {size}");
        let plain = logits(&model, &input, NO_EDITS);
        assert!(farthest(plain.as_slice(), actual.as_slice()) > 1e-4 * size, "{name}: it changes nothing");

        // Beside an unchanged run in one pass, each keeps its own.
        let row = plain.n_rows() - 1;
        let own = [edit.clone()];
        let variants = [Variant::of(&input, NO_EDITS, row), Variant::of(&input, &own, row)];
        let mut found = Vec::new();
        model.logits_of(&variants, &uninterrupted, &mut |_, logits| found.push(logits.to_vec())).unwrap();
        for (found, expected) in found.iter().zip([&plain, &actual]) {
            assert!(farthest(found, expected.row(row).unwrap()) < 1e-5 * size, "{name}, packed");
        }
        // Files keep it bit by bit.
        let written = serde_json::to_string(&edit).unwrap();
        assert_eq!(serde_json::from_str::<Edit>(&written).unwrap(), edit);
    }
    let (model, input) = fixture("gpt2");
    let wrong = Edit::RankOne(RankOne { stack: SELF, layer: 0, left: vec![1.0], right: vec![1.0] });
    let plan = RunPlan { edits: vec![wrong], ..RunPlan::default() };
    let said = model.forward(&input, &plan, &uninterrupted).unwrap_err().to_string();
    assert!(said.contains("1 and 1 numbers") && said.contains("inside"), "{said}");
}

pub fn numbers(report: &Report, table: &str, name: &str) -> Vec<f64> {
    match column(report.value(table).unwrap(), name) {
        ColumnValues::Number(values) => values.clone(),
        ColumnValues::Index(values) => values.iter().map(|value| *value as f64).collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_association_is_written_over_and_other_prompts_are_checked() {
    for (name, text, neighbour, object) in [
        ("demo:gpt", "The little dog ran to the", "The old king lived in a", "house"),
        ("demo:sentiment", "a fine film with a great heart", "a dull and lifeless film", "negative"),
    ] {
        let (model, input) = demo(name, text);
        let options = RewriteOptions {
            layer: Some(1),
            neighbours: vec![neighbour.to_owned()],
            ..RewriteOptions::of(SubjectSpan::Positions(1..3), Some(object.to_owned()))
        };
        // The sentences of the program once, and a few others.
        let corpus: Vec<String> =
            ["a dull film", "one fine scene", "the old king went to the sea and sang"].map(str::to_owned).into();
        let options = if name == "demo:gpt" { options } else { RewriteOptions { corpus, ..options } };
        let asked = MethodCall::RankOne(options.clone());
        let found = ask(&model, &input, &asked, Target::default());
        let (before, after) = (numbers(&found, "prompts", "new_before"), numbers(&found, "prompts", "new_after"));
        assert!(after[0] > 0.5 && after[0] > before[0] + 0.3, "{name}: {before:?} became {after:?}");
        let old = numbers(&found, "prompts", "old_after");
        assert!(old[0] < after[0], "{name}: {old:?}");
        // What is told is what a run with the change says.
        let edit = edit_of(&found).unwrap();
        let changed = logits(&model, &input, &[edit]);
        let row: Vec<f64> = changed.row(changed.n_rows() - 1).unwrap().iter().map(|x| f64::from(*x)).collect();
        let id = found.parameters.iter().find(|(name, _)| name == "new").unwrap().1["id"].as_u64().unwrap() as usize;
        assert!((softmax(&row)[id] - after[0]).abs() < 1e-4, "{name}");
        // The neighbour says nearly what it said: the change is made for one key.
        assert!((after[1] - before[1]).abs() < 0.5 * (after[0] - before[0]), "{name}: {before:?} became {after:?}");
        assert!(found.value("n_keys") != Some(&Value::Count(0)) && number(&found, "moved") <= 4.0 + 1e-6);
        let nothing = RewriteOptions { object: None, ..options };
        let said = refused(&model, &input, &MethodCall::RankOne(nothing), Target::default());
        assert!(said.contains("the new object"), "{said}");
    }
    let (model, input) = demo("demo:bilstm", "a fine film");
    let asked = MethodCall::RankOne(RewriteOptions::of(SubjectSpan::Positions(0..1), Some("negative".to_owned())));
    assert!(refused(&model, &input, &asked, Target::default()).contains("feed-forward"));
}

/// The gradient of the divergence by what enters a layer, against finite differences.
#[test]
fn a_divergence_has_the_right_slope() {
    for name in ["gpt2", "bert-classifier"] {
        let (model, input) = fixture(name);
        let plain = logits(&model, &input, NO_EDITS);
        let row = plain.n_rows() - 1;
        let wide: Vec<f64> = plain.row(row).unwrap().iter().map(|x| f64::from(*x)).collect();
        // Nearly all of it where the model is not.
        let least = (0..wide.len()).min_by(|a, b| wide[*a].total_cmp(&wide[*b])).unwrap();
        let rest = 0.1 / wide.len() as f32;
        let from: Arc<[f32]> = (0..wide.len()).map(|id| if id == least { 0.9 + rest } else { rest }).collect();
        let plan = RunPlan { sites: Sites::of(&[Site::ResidPre]), ..RunPlan::default() };
        let stream = model.forward(&input, &plan, &uninterrupted).unwrap();
        let stream = stream.stack(SELF).unwrap().layers[1].resid_pre().cloned().unwrap();
        let at = |values: Matrix| {
            let positions = (0..values.n_rows()).collect();
            let patch = Edit::Patch(Patch {
                site: Site::ResidPre,
                stack: SELF,
                layer: 1,
                head: None,
                positions,
                value: values,
            });
            let plan = RunPlan { edits: vec![patch], layers: Some(vec![1]), ..RunPlan::silent() };
            let objective = Objective::Divergence { row, id: 0, from: Arc::clone(&from) };
            let taps = Taps::of(&[Site::ResidPre]);
            model.gradients(&input, &plan, objective, taps, &uninterrupted).unwrap().1
        };
        let found = at(stream.clone());
        let p = softmax(&wide);
        let expected: f64 = from.iter().zip(&p).map(|(a, b)| f64::from(*a) * (f64::from(*a) / b).ln()).sum();
        assert!((f64::from(found.value) - expected).abs() < 1e-5, "{name}: {} is not {expected}", found.value);
        let gradient = found.layer(HeadId::single(1, 0)).unwrap().resid_pre().cloned().unwrap();
        let direction: Vec<f32> = (0..stream.as_slice().len()).map(|at| (1.7 * at as f32).sin()).collect();
        let slope: f64 = gradient.as_slice().iter().zip(&direction).map(|(g, d)| f64::from(*g) * f64::from(*d)).sum();
        let moved = |by: f32| {
            let values: Vec<f32> = stream.as_slice().iter().zip(&direction).map(|(x, d)| x + by * d).collect();
            f64::from(at(Matrix::new(values, stream.shape()).unwrap()).value)
        };
        let step = 1e-2;
        let numeric = (moved(step) - moved(-step)) / f64::from(2.0 * step);
        assert!(
            (slope - numeric).abs() < 1e-2 * slope.abs() + 1e-4 && slope.abs() > 1e-3,
            "{name}: {slope} against {numeric}"
        );
    }
}

/// An object of several tokens: each is asked for behind those before it, and what is told is all of them together.
#[test]
fn an_object_of_several_tokens_is_written_whole() {
    let (model, input) = demo("demo:gpt", "The little dog ran to the");
    let corpus = vec!["The old king went to the sea and sang a song about the dog".to_owned()];
    let options = RewriteOptions { layer: Some(1), corpus, ..RewriteOptions::of(SubjectSpan::Positions(1..3), None) };
    let asked = MethodCall::RankOne(RewriteOptions { object: Some("big red house".to_owned()), ..options.clone() });
    let found = ask(&model, &input, &asked, Target::default());
    let new = &found.parameters.iter().find(|(name, _)| name == "new").unwrap().1;
    let ids: Vec<u32> = new["ids"].as_array().unwrap().iter().map(|id| id.as_u64().unwrap() as u32).collect();
    assert!(ids.len() >= 3 && new["id"] == ids[0], "{new}");
    let (before, after) = (numbers(&found, "prompts", "new_before"), numbers(&found, "prompts", "new_after"));
    assert!(after[0] > 100.0 * before[0] && after[0] > 0.02, "{before:?} became {after:?}");
    // One run reads all of it, with the change and without.
    let longer = model.encode(&Input::text("The little dog ran to the big red house")).unwrap();
    let first = input.tokens[&Side::Only].len();
    let read: Vec<u32> = longer.tokens[&Side::Only][first..].iter().filter_map(|token| token.id).collect();
    assert_eq!(read, ids);
    for (edits, told) in [(vec![], before[0]), (vec![edit_of(&found).unwrap()], after[0])] {
        let said = logits(&model, &longer, &edits);
        let p = |nth: usize| {
            let row: Vec<f64> = said.row(first - 1 + nth).unwrap().iter().map(|x| f64::from(*x)).collect();
            softmax(&row)[ids[nth] as usize]
        };
        let together: f64 = (0..ids.len()).map(p).product();
        assert!((together - told).abs() < 1e-4 * told.max(1e-3), "{together} is not {told}");
    }
    // A masked model writes one token at its mask.
    let (model, input) = demo("demo:bert", "the cat sat on the [MASK] .");
    let corpus = vec!["the dog ran home".to_owned()];
    let options = RewriteOptions { n_steps: 1, corpus, ..RewriteOptions::of(SubjectSpan::Positions(1..3), None) };
    let asked = MethodCall::RankOne(RewriteOptions { object: Some("old station wagon".to_owned()), ..options });
    let found = ask(&model, &input, &asked, Target::default());
    assert!(found.notes.iter().any(|note| note.contains("only the first")), "{:?}", found.notes);
}

#[test]
fn the_smallest_mask_keeps_the_output_and_hides_what_it_does_not_need() {
    let (model, input) = demo("demo:sentiment", "a dull and lifeless film with one fine scene");
    let options = MaskingOptions::new(Depth::Embeddings);
    let found = ask(&model, &input, &MethodCall::Masks(options), Target::default());
    let gates = of(&found, "scores");
    let n = gates.len();
    let (kept, divergence) = (numbers(&found, "masks", "kept"), numbers(&found, "masks", "divergence"));
    assert!(kept[0] >= 1.0 && (kept[0] as usize) < n / 2, "{gates:?}");
    assert!(gates.iter().all(|gate| (0.0..=1.0).contains(gate)));
    assert!(divergence[0] <= options.margin && found.notes.is_empty(), "{divergence:?}, {:?}", found.notes);
    // Every layer has a search of its own, and the same seed finds the same.
    let few = MaskingOptions { n_steps: 4, depth: Depth::Layers, baseline: Baseline::Zero, ..options };
    let [once, again] = [0, 1].map(|_| ask(&model, &input, &MethodCall::Masks(few), Target::default()));
    assert_eq!(once, again);
    assert_eq!(of(&once, "gates").len(), n * (model.spec().stacks[0].layers.len() + 1));
    // How it was found stands below the bars: the search, the gates, what was kept.
    let capture = model.forward(&input, &RunPlan::default(), &uninterrupted).unwrap();
    let answer = |report: &Report| Answered { column: "masks", title: "Mask", report: Some(Arc::new(report.clone())) };
    let titles = |report: &Report| -> Vec<String> {
        let sections = compose(&capture, LabQuestion::Depends, &[answer(report)], (HeadId::default(), false));
        let parts = sections.iter().filter(|section| section.column.is_some()).flat_map(|section| &section.parts);
        parts.map(|part| format!("{}: {}", part.title, part.piece.spoken().join(", "))).collect()
    };
    let (few, one) = (titles(&once), titles(&found));
    // The window plots the search: a line for each layer and the end, as many steps as were made.
    let sections = compose(&capture, LabQuestion::Depends, &[answer(&once)], (HeadId::default(), false));
    let parts = sections.iter().filter(|section| section.column.is_some()).flat_map(|section| &section.parts);
    let charts: Vec<_> = parts.filter_map(|part| Some((part, part.piece.chart(&Palette::LIGHT)?))).collect();
    let [(search, distance), (_, open)] = &charts[..] else { panic!("{} charts", charts.len()) };
    assert_eq!(distance.series.len(), model.spec().stacks[0].layers.len() + 1);
    assert!(distance.series.iter().all(|series| series.points().count() == 4));
    assert!(distance.marks.len() == 1 && open.marks.is_empty(), "the margin is of the distance alone");
    let last = distance.series[0].points().last().unwrap();
    assert!(search.piece.readout(0, last).starts_with("L0, step 3\ndistance: "));
    assert!(few[0].contains("distance L0: ") && few[0].contains("distance end: "), "{few:?}");
    assert!(few.len() == 4 && few[2].starts_with("Gates by token and layer: gate: most at"), "{few:?}");
    assert_eq!(one.len(), 2, "the embeddings alone have no grid: {one:?}");
    // What is told is what a run with that mask says.
    let plan = RunPlan { sites: Sites::of(&[Site::ResidPre]), ..RunPlan::default() };
    let entering = model.forward(&input, &plan, &uninterrupted).unwrap();
    let entering = entering.stack(SELF).unwrap().layers[0].resid_pre().cloned().unwrap();
    let mean: Vec<f32> = (0..entering.n_cols())
        .map(|col| entering.rows().map(|row| row[col]).sum::<f32>() / entering.n_rows() as f32)
        .collect();
    let rows =
        entering.rows().zip(&gates).flat_map(|(row, gate)| if *gate >= 0.5 { row.to_vec() } else { mean.clone() });
    let value = Matrix::new(rows.collect::<Vec<f32>>(), entering.shape()).unwrap();
    let positions = (0..n).collect();
    let patch = Edit::Patch(Patch { site: Site::ResidPre, stack: SELF, layer: 0, head: None, positions, value });
    let p = |edits: &[Edit]| {
        softmax(&logits(&model, &input, edits).row(0).unwrap().iter().map(|x| f64::from(*x)).collect::<Vec<f64>>())
    };
    let kl: f64 = p(&[]).iter().zip(p(&[patch])).map(|(a, b)| a * (a / b).ln()).sum();
    assert!((kl - divergence[0]).abs() < 1e-4, "{kl} is not {}", divergence[0]);

    // Recurrent networks and decoders have embeddings at least.
    for (name, text) in
        [("demo:bilstm", "a fine film"), ("demo:gpt", "Once upon a time"), ("demo:translate", "the cat")]
    {
        let (model, input) = demo(name, text);
        let few = MaskingOptions { n_steps: 20, ..MaskingOptions::new(Depth::Embeddings) };
        let found = ask(&model, &input, &MethodCall::Masks(few), Target::default());
        assert!(of(&found, "scores").iter().all(|gate| (0.0..=1.0).contains(gate)), "{name}");
    }
}

#[test]
fn relevance_by_propagation_is_pytorchs_and_refused_where_there_are_no_rules() {
    let text = fs::read_to_string(parity::fixture("lab/propagation.json")).unwrap();
    let reference: Json = serde_json::from_str(&text).unwrap();
    for name in ["bert", "bert-classifier", "vit", "gpt2"] {
        let (model, input) = fixture(name);
        let expected = &reference[name];
        let row = expected["row"].as_u64().unwrap() as usize;
        let whole = matches!(name, "bert-classifier" | "vit");
        let target = Target { position: (!whole).then_some(row), ..Target::default() };
        let asked = MethodCall::Relevance(RelevanceQuestion { rule: Rule::Lrp, start_layer: 0 });
        let found = ask(&model, &input, &asked, target);
        let expected: Vec<f64> = expected["self"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|row| row.as_array().unwrap().iter().map(|value| value.as_f64().unwrap()))
            .collect();
        let actual = of(&found, "self");
        let n = expected.len().isqrt();
        let beyond = |values: &[f64], at: usize| values[at] - f64::from(u8::from(at.is_multiple_of(n + 1)));
        let most = (0..n * n).map(|at| beyond(&expected, at).abs()).fold(0.0, f64::max);
        assert!(most > 0.0, "{name}: nothing has relevance");
        for at in 0..n * n {
            let (actual, expected) = (beyond(&actual, at), beyond(&expected, at));
            // One on the diagonal, in single precision, leaves so much of what is beyond it.
            let rounding = if at.is_multiple_of(n + 1) { f64::from(f32::EPSILON) } else { 0.0 };
            let far = (actual - expected).abs();
            assert!(far < 1e-5 * most + rounding, "{name} [{at}]: {actual}, not {expected}, of {most}");
        }
        let plain = ask(
            &model,
            &input,
            &MethodCall::Relevance(RelevanceQuestion { rule: Rule::Gradient, start_layer: 0 }),
            target,
        );
        assert_ne!(of(&plain, "self"), of(&found, "self"), "{name}: the rule plays no part");
    }
    for name in ["families/llama", "families/bart", "families/t5", "families/beit", "families/gemma2"] {
        let (model, input) = fixture(name);
        let asked = MethodCall::Relevance(RelevanceQuestion { rule: Rule::Lrp, start_layer: 0 });
        let said = refused(&model, &input, &asked, Target::default());
        assert!(said.contains("use the rule “gradient”"), "{name}: {said}");
    }
}

/// The one row of a recurrent classifier, and every row of a recurrent writer.
#[test]
fn relevance_of_attention_across_alone_is_its_weighted_rows() {
    for name in ["families/bilstm", "families/rnnsearch-additive", "families/rnnsearch-dot"] {
        let (model, input) = fixture(name);
        let found = ask(
            &model,
            &input,
            &MethodCall::Relevance(RelevanceQuestion { rule: Rule::Gradient, start_layer: 0 }),
            Target::default(),
        );
        let products = MethodCall::Gradients(GradientOptions { of: Of::Pattern, times_input: true, steps: None });
        let products = of(&ask(&model, &input, &products, Target::default()), "pattern");
        let (scores, map) = (of(&found, "scores"), of(&found, "cross"));
        assert_eq!(products.len(), map.len());
        for (own, product) in map.iter().zip(&products) {
            assert!((own - product.max(0.0)).abs() < 1e-7, "{name}");
        }
        for (key, score) in scores.iter().enumerate() {
            let sum: f64 = map.iter().skip(key).step_by(scores.len()).sum();
            assert!((score - sum).abs() < 1e-6 * sum.max(1.0), "{name}");
        }
        assert!(scores.iter().any(|score| *score > 0.0), "{name}");
        let late = MethodCall::Relevance(RelevanceQuestion { rule: Rule::Gradient, start_layer: 1 });
        assert!(refused(&model, &input, &late, Target::default()).contains("cannot be multiplied"), "{name}");
    }
}
