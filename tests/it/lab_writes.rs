//! What one head writes by its weights, and what it does to an output: PyTorch, sums, and reasons where it is not defined.

use std::fs;

use attnscope::{
    analysis::explain::report::{ColumnValues, Value},
    capture::Ablation,
    ids::{HeadId, StackKind},
    lab::{DirectLogits, HeadEffect, HeadWrites, MethodCall, Target, WritesOptions, head_writes},
    model::{Model, Progress, uninterrupted},
};
use serde_json::Value as Json;

use crate::{
    lab::{ask, assert_near, column, demo, expected, fixture, number, of, refused},
    parity,
};

fn reference() -> Json {
    serde_json::from_str(&fs::read_to_string(parity::fixture("lab/writes.json")).unwrap()).unwrap()
}

fn whole(of: &Json) -> usize {
    of.as_u64().unwrap() as usize
}

fn written(model: &Model, head: HeadId, ids: &[u32]) -> HeadWrites {
    head_writes(model, head, ids, usize::MAX, &uninterrupted).unwrap()
}

#[test]
fn tables_of_weights_are_pytorchs_of_every_kind_of_block() {
    for case in reference()["static"].as_array().unwrap() {
        let name = case["model"].as_str().unwrap();
        let (model, _) = fixture(name);
        let stack = StackKind::from_name(case["stack"].as_str().unwrap()).unwrap();
        let head = HeadId { stack, layer: whole(&case["layer"]), head: whole(&case["head"]) };
        let ids: Vec<u32> = case["tokens"].as_array().unwrap().iter().map(|id| whole(id) as u32).collect();
        let found = written(&model, head, &ids);
        let copying = case["copying"].as_f64().unwrap();
        let score = found.copying.unwrap();
        assert!((score - copying).abs() < 1e-4, "{name} {head}: {score}, not {copying}");
        for (token, row) in found.tokens.unwrap().iter().zip(case["rows"].as_array().unwrap()) {
            let row = expected(row, &[]);
            assert_eq!(token.raised.len(), row.len());
            let mut logits = vec![0.0; row.len()];
            token.raised.iter().for_each(|(id, logit)| logits[*id as usize] = f64::from(*logit));
            assert_near(&logits, &row, name);
            // From above and from below it is the same table.
            assert!(token.raised.windows(2).all(|pair| pair[0].1 >= pair[1].1));
            let ends = [token.raised.last().unwrap().1, token.lowered[0].1];
            assert_eq!(ends[0], ends[1], "{name}");
            let own = logits[token.id as usize];
            assert_eq!(token.own_rank, Some(1 + logits.iter().filter(|logit| **logit > own).count()), "{name}");
        }
    }
}

#[test]
fn what_is_not_defined_is_said_with_its_reason() {
    for (name, stack, why) in [
        ("bert", StackKind::SelfAttention, "more than one linear map"),
        ("vit", StackKind::SelfAttention, "reads no tokens"),
        ("families/t5", StackKind::Encoder, "no logits are read from the stream of this stack"),
        ("families/gemma2", StackKind::SelfAttention, "normalised together before it is added"),
        ("families/llama-classifier", StackKind::SelfAttention, ""),
    ] {
        let (model, _) = fixture(name);
        let found = written(&model, HeadId { stack, layer: 0, head: 0 }, &[3]);
        assert!(found.copying_of_stream.as_ref().unwrap().abs() <= 1.0, "{name}");
        match &found.tokens {
            Err(reason) => assert!(!why.is_empty() && reason.contains(why), "{name}: {reason}"),
            // Classes are raised by tokens, but are none.
            Ok(tokens) => {
                assert!(why.is_empty() && tokens[0].own_rank.is_none() && tokens[0].raised.len() == found.n_outcomes);
                assert!(found.copying.unwrap_err().contains("classes"));
            }
        }
    }
    let (model, _) = demo("demo:bilstm", "a fine film");
    let found = written(&model, HeadId { stack: StackKind::Cross, layer: 0, head: 0 }, &[]);
    assert!(found.tokens.unwrap_err().contains("no blocks") && found.copying.is_err());
    // It can be stopped.
    let (model, _) = demo("demo:gpt", "Once");
    let stops = |progress: Progress| if progress.done == 0 { Ok(()) } else { Err(attnscope::model::Cancelled) };
    let never = |_: Progress| Err(attnscope::model::Cancelled);
    let head = HeadId::single(0, 0);
    assert!(head_writes(&model, head, &[1], 3, &never).unwrap_err().is_cancelled());
    assert!(head_writes(&model, head, &[1], 3, &stops).is_ok_and(|found| found.tokens.unwrap()[0].raised.len() == 3));
}

#[test]
fn a_report_lists_words_or_what_the_head_attends_to_in_the_input() {
    let (model, input) = demo("demo:gpt", "Once upon a time there was a cat. The cat");
    let head = HeadId::single(1, 0);
    let report = ask(&model, &input, &WritesOptions::of(head, Vec::new()).into(), Target::default());
    let ColumnValues::Text(attended) = column(report.value("written").unwrap(), "token") else { panic!() };
    assert!((2..=8).contains(&attended.len()), "{attended:?}");
    let words = WritesOptions { words: vec!["cat".to_owned()], n_top: 2, ..WritesOptions::of(head, Vec::new()) };
    let report = ask(&model, &input, &words.into(), Target::default());
    let table = report.value("written").unwrap();
    let ColumnValues::Text(tokens) = column(table, "token") else { panic!() };
    assert_eq!(tokens.iter().map(|token| token.trim_start_matches('␣')).collect::<Vec<_>>(), ["cat"]);
    let (ColumnValues::Texts(raised), ColumnValues::Numbers(by)) =
        (column(table, "raised"), column(table, "raised_by"))
    else {
        panic!()
    };
    assert!(raised[0].len() == 2 && by[0][0] >= by[0][1]);
}

#[test]
fn parts_by_source_are_pytorchs() {
    let (model, input) = fixture("gpt2");
    for case in reference()["sources"].as_array().unwrap() {
        let head = HeadId::single(whole(&case["layer"]), whole(&case["head"]));
        let parts = expected(&case["parts"], &[]);
        let target = Target {
            position: Some(parts.len() - 1),
            class: Some(whole(&case["answer"]) as u32),
            against: Some(whole(&case["foil"]) as u32),
        };
        let report = ask(&model, &input, &HeadEffect { head }.into(), target);
        assert_near(&of(&report, "sources"), &parts, "sources");
        assert_near(&[number(&report, "direct")], &[parts.iter().sum()], "direct");
    }
}

#[test]
fn parts_by_source_sum_to_the_bar_of_the_head_and_the_loss_is_that_of_ablation() {
    for (name, stack) in [
        ("gpt2", StackKind::SelfAttention),
        ("families/llama", StackKind::SelfAttention),
        ("families/gpt_neox", StackKind::SelfAttention),
        ("families/t5", StackKind::Decoder),
        ("families/t5", StackKind::Cross),
        ("vit", StackKind::SelfAttention),
    ] {
        let (model, input) = fixture(name);
        let layer = model.spec().stack(stack).unwrap().layers.len() - 1;
        let of_stack = |report: &attnscope::analysis::explain::report::Report, value: &str, head: HeadId| {
            let layers = match report.value(value).unwrap() {
                Value::Group(stacks) => &stacks.iter().find(|(name, _)| name == stack.name()).unwrap().1,
                one => one,
            };
            let Value::Layers(layers) = layers else { panic!("{layers:?}") };
            let Value::List(heads) = &layers[head.layer] else { panic!() };
            heads[head.head]
        };
        let direct = ask(&model, &input, &MethodCall::DirectLogits(DirectLogits), Target::default());
        let off = ask(&model, &input, &MethodCall::Ablation(Ablation::Zero), Target::default());
        for head in [HeadId { stack, layer: 0, head: 1 }, HeadId { stack, layer, head: 0 }] {
            let report = ask(&model, &input, &HeadEffect { head }.into(), Target::default());
            let bar = of_stack(&direct, "heads", head);
            assert!((number(&report, "direct") - bar).abs() < 1e-6, "{name} {head}");
            let sum: f64 = of(&report, "sources").iter().sum();
            assert!((sum - bar).abs() < 1e-5 * bar.abs().max(1.0), "{name} {head}: {sum}, not {bar}");
            assert!((number(&report, "lost") - of_stack(&off, "logit", head)).abs() < 1e-5, "{name} {head}");
        }
    }
}

#[test]
fn the_effect_of_a_head_is_told_without_its_direct_part_where_there_is_none() {
    let (model, input) = fixture("bert");
    let report = ask(&model, &input, &HeadEffect { head: HeadId::single(0, 1) }.into(), Target::default());
    assert!(matches!(report.value("direct"), Some(Value::Missing(why)) if why.contains("not a sum of parts")));
    assert!(report.value("sources").is_none() && number(&report, "lost").is_finite());
    let none = HeadEffect { head: HeadId::single(9, 0) }.into();
    assert!(refused(&model, &input, &none, Target::default()).contains("there is no head"));
}
