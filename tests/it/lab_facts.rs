//! Where a fact is: tracing, knockout and memories are single runs with those edits.

use std::fs;

use attnscope::{
    analysis::explain::{
        report::{ColumnValues, Report, Value},
        trace::noise,
    },
    capture::{Cut, Knockout, Matrix, Patch, Scope},
    ids::{HeadId, Side, StackKind},
    lab::{
        Effective, KnockoutOptions, LabError, LabRun, MemoryOptions, MethodCall, Restore, SubjectSpan, Target,
        TimeLimit, TraceOptions, answer,
    },
    model::{Edit, Logits, RunPlan, Site, Sites, uninterrupted},
};

use safetensors::SafeTensors;

use crate::{
    lab::{NO_EDITS, ask, column, demo, fixture, number, of, refused, try_ask},
    parity,
};

fn trace_of(subject: SubjectSpan, restore: Restore, noise: f64) -> MethodCall {
    MethodCall::Trace(TraceOptions { subject, noise, n_samples: 3, restore, window: 1, seed: 7, every: 1 })
}

#[test]
fn what_is_restored_where_the_answer_is_read_brings_it_back() {
    for name in ["bert", "gpt2", "families/llama", "vit", "families/bart", "families/t5"] {
        let (model, input) = fixture(name);
        let asked = trace_of(SubjectSpan::Positions(1..3), Restore::Stream, 3.0);
        let found = try_ask(&model, &input, NO_EDITS, &asked, Target::default()).unwrap();
        let (clean, corrupted) = (number(&found.report, "clean"), number(&found.report, "corrupted"));
        let p = f64::from(found.capture.prediction().unwrap().rows.last().unwrap().top[0].value);
        let is_last = found.capture.prediction().unwrap().kind != attnscope::spec::HeadKind::MaskedLm;
        assert!(!is_last || (clean - p).abs() < 1e-5, "{name}: {clean} is not {p}");
        assert!((clean - corrupted).abs() > 1e-6, "{name}: noise did nothing");
        let effects = of(&found.report, "effect");
        let encoder = found.capture.tokens(Side::Encoder).len();
        let n = if encoder > 0 { encoder } else { found.capture.tokens(Side::Only).len() };
        let n_layers = effects.len() / n;
        let last: Vec<f64> = effects.chunks(n_layers).map(|row| row[n_layers - 1]).collect();
        if encoder == 0 {
            // Behind the last layer only the position that is read counts, and is all that counts.
            let read = last.iter().filter(|effect| effect.abs() > 1e-6).count();
            let back = last.iter().any(|effect| (effect - (clean - corrupted)).abs() < 1e-5);
            assert!(read <= 1 && back, "{name}: {last:?}");
        } else {
            assert!(last.iter().all(|effect| effect.is_finite()), "{name}");
        }
        // Without noise nothing is lost, whatever is restored.
        for restore in Restore::ALL {
            let nothing = ask(&model, &input, &trace_of(SubjectSpan::Positions(1..3), restore, 0.0), Target::default());
            let effects = if restore == Restore::All { &PANELS[..] } else { &["effect"] };
            for effect in effects {
                assert!(of(&nothing, effect).iter().all(|effect| effect.abs() < 1e-6), "{name}, {restore:?}");
            }
        }
    }
}

/// The values of the three panels.
const PANELS: [&str; 3] = ["effect_resid", "effect_mlp", "effect_attention"];

#[test]
fn three_panels_are_what_each_of_them_is_alone() {
    let (model, input) = fixture("gpt2");
    let traced =
        |restore| ask(&model, &input, &trace_of(SubjectSpan::Positions(1..3), restore, 3.0), Target::default());
    let together = traced(Restore::All);
    for (panel, restore) in PANELS.into_iter().zip([Restore::Stream, Restore::Mlp, Restore::Attention]) {
        assert_eq!(of(&together, panel), of(&traced(restore), "effect"), "{panel}");
    }
    assert!(together.value("effect").is_none());
}

#[test]
fn a_restored_state_is_a_run_with_that_patch() {
    let (model, input) = fixture("gpt2");
    let plain = |site: Site, edits: Vec<Edit>| {
        let plan =
            RunPlan { sites: Sites::of(&[site, Site::Embed]), logits: Logits::Keep, edits, ..RunPlan::default() };
        model.forward(&input, &plan, &uninterrupted).unwrap()
    };
    for (restore, site) in
        [(Restore::Stream, Site::ResidPost), (Restore::Mlp, Site::MlpOut), (Restore::Attention, Site::AttnOut)]
    {
        let asked = MethodCall::Trace(TraceOptions {
            subject: SubjectSpan::Positions(0..2),
            noise: 2.0,
            n_samples: 1,
            restore,
            window: 2,
            seed: 5,
            every: 1,
        });
        let found = try_ask(&model, &input, NO_EDITS, &asked, Target::default()).unwrap();
        let id = found.capture.prediction().unwrap().rows.last().unwrap().top[0].id as usize;
        let clean = plain(site, Vec::new());
        let embeds = clean.embed(Side::Only).unwrap().window(0..2).unwrap();
        let scale = 2.0 * number(&found.report, "sigma");
        let noises = noise(embeds.as_slice().len(), 5);
        let noisy: Vec<f32> =
            embeds.as_slice().iter().zip(noises).map(|(x, noise)| (f64::from(*x) + scale * noise) as f32).collect();
        let patch = |site, layer, positions, value| {
            Edit::Patch(Patch { site, stack: StackKind::SelfAttention, layer, head: None, positions, value })
        };
        let with_noise = patch(Site::Embed, 0, vec![0, 1], Matrix::new(noisy, embeds.shape()).unwrap());
        let p = |edits: Vec<Edit>| {
            let logits = plain(Site::Embed, edits).logits().unwrap().clone();
            let row: Vec<f64> = logits.row(logits.n_rows() - 1).unwrap().iter().map(|x| f64::from(*x).exp()).collect();
            row[id] / row.iter().sum::<f64>()
        };
        let corrupted = p(vec![with_noise.clone()]);
        assert!((number(&found.report, "corrupted") - corrupted).abs() < 1e-5);
        let effects = of(&found.report, "effect");
        for position in [0, 1, 4] {
            for layer in 0..2usize {
                // A window of two layers begins one before.
                let first = if restore == Restore::Stream { layer } else { layer.saturating_sub(1) };
                let restored = (first..=layer).map(|layer| {
                    let row = clean.stack(StackKind::SelfAttention).unwrap().rows(site, layer).unwrap();
                    patch(site, layer, vec![position], row.window(position..position + 1).unwrap())
                });
                let expected = p([with_noise.clone()].into_iter().chain(restored).collect()) - corrupted;
                let effect = effects[position * 2 + layer];
                assert!((effect - expected).abs() < 1e-5, "{restore:?}, {position}, {layer}: {effect}, not {expected}");
            }
        }
    }
}

#[test]
fn a_cut_edge_is_a_run_with_that_edit_and_subjects_have_to_be_there() {
    for (name, stack) in [("gpt2", StackKind::SelfAttention), ("families/t5", StackKind::Cross)] {
        let (model, input) = fixture(name);
        for cut in [Cut::Scores, Cut::Pattern] {
            let asked = MethodCall::Knockout(KnockoutOptions { stack: Some(stack), window: 1, cut, every: 1 });
            let found = try_ask(&model, &input, NO_EDITS, &asked, Target::default()).unwrap();
            let row = found.capture.query_tokens(stack).len() - 1;
            let id = found.capture.prediction().unwrap().rows.last().unwrap().top[0].id as usize;
            let p = |edits: Vec<Edit>| {
                let plan = RunPlan { sites: Sites::NONE, logits: Logits::Keep, edits, ..RunPlan::default() };
                let run = model.forward(&input, &plan, &uninterrupted).unwrap();
                let row: Vec<f64> =
                    run.logits().unwrap().row(row).unwrap().iter().map(|x| f64::from(*x).exp()).collect();
                row[id] / row.iter().sum::<f64>()
            };
            let before = p(Vec::new());
            let effects = of(&found.report, "effect");
            let n_layers = effects.len() / found.capture.key_tokens(stack).len();
            for (key, layer) in [(0, 0), (2, n_layers - 1)] {
                let scope = Scope::Layers(vec![layer]);
                let after = p(vec![Edit::Knockout(Knockout { stack, scope, edges: vec![[row, key]], cut })]);
                let expected = 100.0 * (after - before) / before;
                let effect = effects[key * n_layers + layer];
                assert!((effect - expected).abs() < 1e-2, "{name}, {cut:?}: {effect} is not {expected}");
            }
        }
    }
    for (subject, why) in
        [(SubjectSpan::parse("9000..9001"), "no token among"), (SubjectSpan::parse("elephant"), "not in the text")]
    {
        let (model, input) = demo("demo:gpt", "the cat sat on the mat");
        let said = refused(&model, &input, &trace_of(subject, Restore::Stream, 3.0), Target::default());
        assert!(said.contains(why), "{said}");
    }
    assert_eq!(SubjectSpan::parse("2..5"), SubjectSpan::Positions(2..5));
}

#[test]
fn what_takes_long_is_told_first_and_begins_when_that_is_wanted() {
    let (model, input) = demo("demo:gpt", "the cat sat on the mat and looked");
    let quiet = |_: &Report| {};
    let with = |asked: &MethodCall, time_limit: TimeLimit| {
        let lab = LabRun::new(&model, &input, NO_EDITS, &uninterrupted, &quiet).with_time_limit(time_limit);
        answer(lab, asked, Target::default())
    };
    let trace = |n_samples: usize, every: usize| {
        let options = TraceOptions::of(SubjectSpan::Positions(1..2));
        MethodCall::Trace(TraceOptions { n_samples, every, ..options })
    };
    let knockout =
        |every: usize| MethodCall::Knockout(KnockoutOptions { stack: None, window: 1, cut: Cut::Pattern, every });
    // Nobody waits this long.
    let LabError::TakesLong(long) = with(&trace(1_000_000, 1), TimeLimit::DEFAULT).unwrap_err() else { panic!() };
    let n_layers = model.spec().stacks[0].layers.len();
    let n = input.tokens[&Side::Only].len();
    assert_eq!((long.runs, long.n_tokens, long.every), (n * n_layers * 1_000_000, n, None));
    assert!(long.secs > 120.0 && long.to_string().contains(",000,000 runs of"), "{long}");
    let LabError::TakesLong(long) = with(&knockout(1), TimeLimit::Secs(0.0)).unwrap_err() else { panic!() };
    assert_eq!((long.runs, long.every), (n * n_layers, None));
    // Coarser: some positions alone, with the same numbers; the subject's and the last one are never left out.
    let effects = |asked: &MethodCall| of(&with(asked, TimeLimit::Endless).unwrap().report, "effect");
    for (some, all, always) in [(trace(2, 3), trace(2, 1), [1, n - 1]), (knockout(3), knockout(1), [0, 3])] {
        let (some, all) = (effects(&some), effects(&all));
        for (at, (some, all)) in some.chunks(n_layers).zip(all.chunks(n_layers)).enumerate() {
            let is_there = at % 3 == 0 || always.contains(&at);
            let near = some.iter().zip(all).all(|(some, all)| (some - all).abs() < 1e-4);
            assert!(if is_there { near } else { some.iter().all(|effect| effect.is_nan()) }, "{at}: {some:?}, {all:?}");
        }
    }
}

#[test]
fn effective_attention_moves_what_attention_moves() {
    for (name, stack, bias) in [
        ("bert", StackKind::SelfAttention, "bert.encoder.layer.1.attention.self.value.bias"),
        ("gpt2", StackKind::SelfAttention, "transformer.h.1.attn.c_attn.bias"),
        ("families/bart", StackKind::Cross, "model.decoder.layers.1.encoder_attn.v_proj.bias"),
    ] {
        let (model, input) = fixture(name);
        let bytes = fs::read(parity::fixture(name).join("model.safetensors")).unwrap();
        let tensors = SafeTensors::deserialize(&bytes).unwrap();
        let values =
            tensors.tensor(bias).unwrap().data().chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap()));
        let values: Vec<f32> = values.collect();
        let told = model.value_bias(stack, 1).unwrap().unwrap();
        assert_eq!(told, values[values.len() - told.len()..], "{name}");
        let found = try_ask(&model, &input, NO_EDITS, &MethodCall::Effective(Effective), Target::default()).unwrap();
        let value = match found.report.value("effective").unwrap() {
            Value::Group(stacks) => &stacks.iter().find(|(known, _)| known == stack.name()).unwrap().1,
            layers => layers,
        };
        let Value::Layers(layers) = value else { panic!("{name}") };
        let Value::Heads { values: effective, .. } = &layers[1] else { panic!("{name}") };
        for head in 0..effective.shape()[0] {
            let at = HeadId { stack, layer: 1, head };
            let (pattern, values) = (found.capture.stored_pattern(at).unwrap(), found.capture.v(at).unwrap());
            let [_, d] = values.shape();
            let bias = &told[head * d..][..d];
            let moved = |weights: &[f32], col: usize| -> f64 {
                let bare = values.rows().map(|row| f64::from(row[col] - bias[col]));
                weights.iter().zip(bare).map(|(weight, value)| f64::from(*weight) * value).sum()
            };
            for (own, plain) in effective.head(head).unwrap().rows().zip(pattern.rows()) {
                for col in 0..d {
                    let (own, plain) = (moved(own, col), moved(plain, col));
                    assert!((own - plain).abs() < 1e-4 * plain.abs().max(1.0), "{name}, {head}: {own}, not {plain}");
                }
            }
        }
    }
}

#[test]
fn memories_that_fire_are_told_with_what_they_promote() {
    let (model, input) = demo("demo:gpt", "Once upon a time there was a little");
    let found =
        ask(&model, &input, &MethodCall::Memories(MemoryOptions { layer: Some(1), n_top: 4 }), Target::default());
    let memories = found.value("memories").unwrap();
    let ColumnValues::Number(sizes) = column(memories, "contribution") else { panic!() };
    assert!(sizes.len() == 4 && sizes.is_sorted_by(|a, b| a >= b), "{sizes:?}");
    let ColumnValues::Numbers(p) = column(memories, "probabilities") else { panic!() };
    assert!(p.iter().all(|p| p.len() == 4 && p.is_sorted_by(|a, b| a >= b) && p.iter().sum::<f64>() <= 1.0));
    let said =
        refused(&model, &input, &MethodCall::Memories(MemoryOptions { layer: Some(99), n_top: 4 }), Target::default());
    assert!(said.contains("no layer 99"), "{said}");
}
