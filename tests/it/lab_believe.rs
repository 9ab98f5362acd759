//! Whether attention can be believed, other normalisers, and alignment: laws, and single runs with those edits.

use attnscope::{
    analysis::explain::{
        alignment::Setting,
        divergence::{kl, tvd},
        normalizers::softmax,
        report::{ColumnValues, Report, Value},
    },
    capture::{Capture, Matrix, Normalize, Normalizer, Scope, SetPattern},
    ids::{HeadId, StackKind},
    lab::{AlignmentOptions, FaithfulnessOptions, Method as _, MethodCall, NormalizerOptions, Target},
    model::{Edit, Encoded, Logits, Model, RunPlan, Site, Sites, uninterrupted},
};

use crate::lab::{NO_EDITS, ask, column, demo, fixture, number, of, refused, try_ask};

const OPTIONS: FaithfulnessOptions =
    FaithfulnessOptions { stack: None, layer: None, head: None, n_permutations: 20, n_steps: 0, seed: 3 };

fn run(model: &Model, input: &Encoded, edits: Vec<Edit>) -> Capture {
    let sites = Sites::of(&[Site::Pattern, Site::Scores]);
    let plan = RunPlan { sites, logits: Logits::Keep, edits, ..RunPlan::default() };
    model.forward(input, &plan, &uninterrupted).unwrap()
}

fn p(capture: &Capture, row: usize) -> Vec<f64> {
    softmax(&capture.logits().unwrap().row(row).unwrap().iter().map(|x| f64::from(*x)).collect::<Vec<f64>>())
}

fn group<'a>(report: &'a Report, name: &str, inner: &str) -> &'a Value {
    let Some(Value::Group(values)) = report.value(name) else { panic!("{name}: {:?}", report.value(name)) };
    &values.iter().find(|(known, _)| known == inner).unwrap().1
}

#[test]
fn attention_is_put_to_the_test_by_single_runs() {
    let (model, input) = fixture("gpt2");
    let head = HeadId::single(0, 2);
    let options = FaithfulnessOptions { layer: Some(0), head: Some(2), ..OPTIONS };
    let found = try_ask(&model, &input, NO_EDITS, &MethodCall::Faithfulness(options), Target::default()).unwrap();
    let (capture, found) = (found.capture, found.report);
    let pattern = capture.stored_pattern(head).unwrap();
    let row = pattern.n_rows() - 1;
    let with = |weights: Vec<f32>| {
        let mut values = pattern.as_slice().to_vec();
        let n = pattern.n_cols();
        values[row * n..(row + 1) * n].copy_from_slice(&weights);
        let pattern = Matrix::new(values, pattern.shape()).unwrap();
        p(&run(&model, &input, vec![Edit::SetPattern(SetPattern { head, pattern })]), row)
    };
    let plain = p(&run(&model, &input, Vec::new()), row);
    let even = with(vec![1.0 / pattern.n_cols() as f32; pattern.n_cols()]);
    assert!((number(&found, "uniform") - tvd(&plain, &even)).abs() < 1e-5);
    let changes = of(&found, "permutation");
    assert!(changes.len() == 20 && changes.iter().all(|change| (0.0..=1.0).contains(change)));
    assert!(changes.iter().any(|change| *change > 1e-6));
    // Erasing in the order of attention, one run after the other.
    let mut order: Vec<usize> = (0..pattern.n_cols()).collect();
    let weights = pattern.row(row).unwrap();
    order.sort_by(|a, b| weights[*b].total_cmp(&weights[*a]));
    let best = |p: &[f64]| p.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).unwrap().0;
    let flip = (1..=order.len()).find(|n| {
        let mut left = weights.to_vec();
        order[..*n].iter().for_each(|key| left[*key] = 0.0);
        let sum: f32 = left.iter().sum();
        let scale = if sum > 1e-12 { sum } else { 1.0 };
        let left = left.into_iter().map(|weight| weight / scale).collect();
        best(&with(left)) != best(&plain)
    });
    match (flip, group(&found, "erasure", "attention")) {
        (Some(n), Value::Number(share)) => assert!((share - n as f64 / order.len() as f64).abs() < 1e-9),
        (None, Value::Missing(_)) => {}
        (flip, told) => panic!("{flip:?} is not {told:?}"),
    }
    assert!(matches!(found.value("adversarial"), Some(Value::Missing(_))), "320 outcomes, and no steps");
    for name in ["kendall_gradient", "kendall_loo"] {
        assert!((-1.0..=1.0).contains(&number(&found, name)), "{name}");
    }
    // Equal seeds, equal reports.
    assert_eq!(found, ask(&model, &input, &MethodCall::Faithfulness(options), Target::default()));
}

#[test]
fn an_adversary_keeps_the_output_with_other_attention() {
    let (model, input) = demo("demo:bilstm", "a fine and clever film with a weak ending");
    let options = FaithfulnessOptions { n_steps: 60, ..OPTIONS };
    let found = ask(&model, &input, &MethodCall::Faithfulness(options), Target::default());
    let (Value::Number(jsd), Value::Number(change)) =
        (group(&found, "adversarial", "jsd"), group(&found, "adversarial", "tvd"))
    else {
        panic!("{:?}", found.value("adversarial"))
    };
    assert!((0.0..=std::f64::consts::LN_2).contains(jsd) && *change <= 0.05 + 1e-9, "{jsd}, {change}");
    let Value::Tokens { values, .. } = group(&found, "adversarial", "pattern") else { panic!() };
    assert!((values.iter().sum::<f32>() - 1.0).abs() < 1e-4);
    let Value::List(random) = group(&found, "erasure", "random") else { panic!() };
    assert!(random.len() == 5 && random.iter().all(|share| share.is_nan() || (0.0..=1.0).contains(share)));
    // Sentences, not panics.
    let (model, input) = fixture("gpt2");
    let said =
        refused(&model, &input, &MethodCall::Faithfulness(OPTIONS), Target { position: Some(0), ..Target::default() });
    assert!(said.contains("sees a single token"), "{said}");
    for (options, why) in [
        (FaithfulnessOptions { layer: Some(9), ..OPTIONS }, "no layer 9"),
        (FaithfulnessOptions { layer: Some(0), head: Some(9), ..OPTIONS }, "no head 9"),
        (FaithfulnessOptions { stack: Some(StackKind::Vision), ..OPTIONS }, "no such stack"),
    ] {
        let said = refused(&model, &input, &MethodCall::Faithfulness(options), Target::default());
        assert!(said.contains(why), "{said}");
    }
}

#[test]
fn another_normaliser_is_a_run_with_it() {
    for (name, kind) in [("bert", StackKind::SelfAttention), ("families/t5", StackKind::Decoder)] {
        let (model, input) = fixture(name);
        let plain = run(&model, &input, Vec::new());
        let row = if name == "bert" { 0 } else { plain.logits().unwrap().n_rows() - 1 };
        let families = Normalizer::families().into_iter().skip(1);
        let others = families.map(|(family, ..)| NormalizerOptions { family, ..NormalizerOptions::begin() });
        let of_alpha = |alpha| NormalizerOptions { alpha, ..NormalizerOptions::begin() };
        for options in [1.0, 1.5, 2.0].map(of_alpha).into_iter().chain(others) {
            let (alpha, with) = (options.alpha, options.normalizer());
            let target = Target { position: Some(row), ..Target::default() };
            let found = ask(&model, &input, &MethodCall::Normalizers(options), target);
            let head = HeadId { stack: kind, layer: 0, head: 1 };
            let stack = plain.model().stacks.iter().position(|stack| stack.kind == kind).unwrap();
            let before: usize =
                plain.model().stacks[..stack].iter().flat_map(|stack| &stack.layers).map(|l| l.n_heads).sum();
            let changed =
                run(&model, &input, vec![Edit::Normalize(Normalize { scope: Scope::Heads(vec![head]), with })]);
            let drift = kl(&p(&plain, row), &p(&changed, row));
            let told = of(&found, "drift")[before + 1];
            assert!((told - drift).abs() < 1e-5 * drift.abs().max(1.0), "{name}, {with}: {told} is not {drift}");
            let value = match found.value("pattern").unwrap() {
                Value::Group(stacks) => &stacks[stack].1,
                layers => layers,
            };
            let Value::Layers(layers) = value else { panic!() };
            let Value::Heads { values, .. } = &layers[0] else { panic!() };
            let (own, theirs) = (values.head(1).unwrap(), changed.stored_pattern(head).unwrap());
            for (own, theirs) in own.as_slice().iter().zip(theirs.as_slice()) {
                assert!((own - theirs).abs() < 1e-5, "{name}, {with}");
            }
            if alpha == 1.0 {
                assert!(of(&found, "drift").iter().all(|drift| drift.abs() < 1e-6), "softmax is what it was");
            }
        }
        let said = refused(&model, &input, &MethodCall::Normalizers(of_alpha(0.5)), Target::default());
        assert!(said.contains("1 (softmax)"), "{said}");
    }
}

#[test]
fn words_are_linked_and_held_against_gold() {
    let (model, input) = demo("demo:translate", "the cat sees the dog");
    let plain = MethodCall::Alignment(AlignmentOptions { setting: Setting::Output, gold: None, reverse: None });
    let found = ask(&model, &input, &plain, Target::default());
    let ColumnValues::Texts(links) = column(found.value("alignments").unwrap(), "links") else { panic!() };
    assert!(links.iter().any(|links| !links.is_empty()));
    // They are counted on both sides; a target word has one link at most here, so that no group has several sources.
    let counts = |side: &str| match column(found.value("fertility").unwrap(), side) {
        ColumnValues::Numbers(counts) => counts.clone(),
        other => panic!("{other:?}"),
    };
    let groups = |kind: &str| match column(found.value("kinds").unwrap(), kind) {
        ColumnValues::Index(groups) => groups.clone(),
        other => panic!("{other:?}"),
    };
    let (sources, targets, lonely) = (counts("source"), counts("target"), groups("unaligned_target"));
    for (row, links) in links.iter().enumerate() {
        for of_side in [&sources[row], &targets[row]] {
            assert_eq!(of_side.iter().sum::<f64>(), links.len() as f64, "line {row}");
        }
        assert_eq!(lonely[row], targets[row].iter().filter(|n| **n == 0.0).count(), "line {row}");
        assert_eq!([groups("many_to_one")[row], groups("many_to_many")[row]], [0, 0], "line {row}");
        let pairs = groups("one_to_one")[row] + groups("one_to_many")[row] + groups("unaligned_source")[row];
        assert_eq!(pairs, sources[row].len(), "line {row}");
    }
    // Held against what one line itself says, that line is perfect.
    let best = links.iter().position(|links| !links.is_empty()).unwrap();
    let gold = Some(links[best].join(" "));
    let against = ask(
        &model,
        &input,
        &MethodCall::Alignment(AlignmentOptions { setting: Setting::Output, gold, reverse: None }),
        Target::default(),
    );
    let table = against.value("alignments").unwrap();
    for (name, perfect) in [("aer", 0.0), ("precision", 1.0), ("recall", 1.0)] {
        let ColumnValues::Number(values) = column(table, name) else { panic!() };
        assert_eq!(values[best], perfect, "{name}");
    }
    let wrong = MethodCall::Alignment(AlignmentOptions {
        setting: Setting::Input,
        gold: Some("0~0".to_owned()),
        reverse: None,
    });
    assert!(refused(&model, &input, &wrong, Target::default()).contains("0~0 is not a link"));
    let wrong = MethodCall::Alignment(AlignmentOptions {
        setting: Setting::Input,
        gold: Some("0-0\n1-1\n".to_owned()),
        reverse: None,
    });
    assert!(refused(&model, &input, &wrong, Target::default()).contains("2 lines"));
    let (model, input) = fixture("bert");
    assert!(refused(&model, &input, &plain, Target::default()).contains("from one text to another"));
    let (model, input) = demo("demo:bilstm", "a fine film");
    assert!(refused(&model, &input, &plain, Target::default()).len() > 20);
}
