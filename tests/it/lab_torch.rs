//! Methods of the laboratory that change runs, against PyTorch, scipy and numpy in double precision
//! (`tests/fixtures/generate_lab_facts.py`, `tests/fixtures/generate_lab_believe.py`).

use std::fs;

use attnscope::{
    analysis::explain::{
        alignment::Setting,
        report::{ColumnValues, Report, Value},
    },
    capture::Cut,
    ids::StackKind,
    lab::{
        AlignmentOptions, Effective, FaithfulnessOptions, KnockoutOptions, MemoryOptions, Method as _, MethodCall,
        NormalizerOptions, Restore, SubjectSpan, Target, TraceOptions,
    },
    model::{Encoded, Engine, Input, Model, locate, uninterrupted},
};
use serde_json::Value as Json;

use crate::{
    lab::{ask, assert_near, assert_near_of, column, expected, fixture, number, of},
    parity,
};

fn reference(file: &str) -> Json {
    serde_json::from_slice(&fs::read(parity::fixture("lab").join(file)).unwrap()).unwrap()
}

fn list<'a>(json: &'a Json, name: &str) -> &'a [Json] {
    json[name].as_array().unwrap()
}

fn text<'a>(json: &'a Json, name: &str) -> &'a str {
    json[name].as_str().unwrap()
}

fn whole(json: &Json, name: &str) -> usize {
    json[name].as_u64().unwrap() as usize
}

fn real(json: &Json, name: &str) -> f64 {
    json[name].as_f64().unwrap()
}

fn all(json: &Json) -> Vec<f64> {
    expected(json, &[])
}

fn stack(json: &Json) -> StackKind {
    StackKind::from_name(text(json, "stack")).unwrap()
}

/// The model of a case, what it reads, and the row that is asked about.
fn opened(case: &Json) -> (Model, Encoded, Target) {
    let (model, input) = fixture(text(case, "model"));
    let position = case.get("row").and_then(Json::as_u64).map(|row| row as usize);
    (model, input, Target { position, ..Target::default() })
}

fn inner<'a>(report: &'a Report, name: &str, inner: &str) -> &'a Value {
    let Some(Value::Group(values)) = report.value(name) else { panic!("{name}: {:?}", report.value(name)) };
    &values.iter().find(|(known, _)| known == inner).unwrap_or_else(|| panic!("{name} has no {inner}")).1
}

/// The layers of one stack, whether it is the only one or not.
fn layers<'a>(report: &'a Report, name: &str, kind: &str) -> &'a [Value] {
    match report.value(name) {
        Some(Value::Layers(layers)) => layers,
        Some(Value::Group(_)) => match inner(report, name, kind) {
            Value::Layers(layers) => layers,
            other => panic!("{name} of {kind}: {other:?}"),
        },
        other => panic!("{name}: {other:?}"),
    }
}

#[test]
fn traces_are_pytorchs() {
    let cases = reference("facts.json");
    assert_eq!(list(&cases, "trace").len(), 18);
    for case in list(&cases, "trace") {
        let (model, input, target) = opened(case);
        let [from, to] = all(&case["subject"])[..] else { panic!() };
        let asked = MethodCall::Trace(TraceOptions {
            subject: SubjectSpan::Positions(from as usize..to as usize),
            noise: real(case, "noise"),
            n_samples: whole(case, "samples"),
            restore: Restore::from_name(text(case, "restore")).unwrap(),
            window: whole(case, "window"),
            seed: case["seed"].as_u64().unwrap(),
            every: 1,
        });
        let what = format!("{} of {}", text(case, "restore"), text(case, "model"));
        let found = ask(&model, &input, &asked, target);
        for name in ["clean", "corrupted", "sigma"] {
            assert_near(&of(&found, name), &[real(case, name)], &format!("{what}, {name}"));
        }
        // Effects are differences of probabilities of this size.
        let (effects, told) = (all(&case["effect"]), of(&found, "effect"));
        assert_near_of(real(case, "clean"), &told, &effects, &what);
        let size = real(case, "clean").max(effects.iter().fold(0.0, |most, x| most.max(x.abs())));
        assert!(effects.iter().any(|effect| effect.abs() > 2e-4 * size), "{what}: nothing comes back");
    }
}

#[test]
fn knockouts_are_pytorchs() {
    let cases = reference("facts.json");
    for case in list(&cases, "knockout") {
        let (model, input, target) = opened(case);
        let (kind, window) = (stack(case), whole(case, "window"));
        let cut = if case["after"].as_bool().unwrap() { Cut::Pattern } else { Cut::Scores };
        let asked = MethodCall::Knockout(KnockoutOptions { stack: Some(kind), window, cut, every: 1 });
        let found = ask(&model, &input, &asked, target);
        let what = format!("{asked:?} of {}", text(case, "model"));
        assert_near(&of(&found, "clean"), &[real(case, "clean")], &what);
        // Percents of what was there.
        assert_near_of(100.0, &of(&found, "effect"), &all(&case["effect"]), &what);
    }
}

#[test]
fn effective_attention_is_numpys() {
    let cases = reference("facts.json");
    let mut n_unidentified = 0;
    for case in list(&cases, "effective") {
        let (model, input, _) = opened(case);
        let found = ask(&model, &input, &MethodCall::Effective(Effective), Target::default());
        for (kind, of_layers) in case["stacks"].as_object().unwrap() {
            for (layer, json) in of_layers.as_array().unwrap().iter().enumerate() {
                let what = format!("{} of {}, layer {layer}", kind, text(case, "model"));
                let Value::Heads { values, .. } = &layers(&found, "effective", kind)[layer] else { panic!("{what}") };
                let values: Vec<f64> = values.as_slice().iter().map(|x| f64::from(*x)).collect();
                assert_near(&values, &all(&json["effective"]), &what);
                let Value::List(shares) = &layers(&found, "identifiable", kind)[layer] else { panic!("{what}") };
                assert_near(shares, &all(&json["identifiable"]), &what);
                n_unidentified += usize::from(shares.iter().any(|share| *share < 1.0));
            }
        }
    }
    assert!(n_unidentified > 5, "where all weights can be told, nothing was projected");
}

#[test]
fn memories_are_pytorchs() {
    let cases = reference("facts.json");
    let mut n_with_tokens = 0;
    for case in list(&cases, "memories") {
        let (model, input, target) = opened(case);
        let (layer, n_top) = (whole(case, "layer"), whole(case, "top"));
        let found = ask(&model, &input, &MethodCall::Memories(MemoryOptions { layer: Some(layer), n_top }), target);
        let what = format!("memories of {}, layer {layer}", text(case, "model"));
        let table = found.value("memories").unwrap();
        let ColumnValues::Index(indices) = column(table, "index") else { panic!("{what}") };
        assert_eq!(indices.iter().map(|idx| *idx as f64).collect::<Vec<_>>(), all(&case["index"]), "{what}");
        for name in ["coefficient", "contribution"] {
            let ColumnValues::Number(values) = column(table, name) else { panic!("{what}") };
            assert_near(values, &all(&case[name]), &format!("{what}, {name}"));
        }
        for name in ["n_active", "n_memories"] {
            assert_eq!(number(&found, name), real(case, name), "{what}, {name}");
        }
        let Some(ids) = case.get("ids") else {
            assert!(found.notes.iter().any(|note| note.contains("more than one linear map")), "{what}");
            continue;
        };
        n_with_tokens += 1;
        let ColumnValues::Texts(tokens) = column(table, "tokens") else { panic!("{what}") };
        let labels: Vec<String> = all(ids).iter().map(|id| model.outcome_label(*id as u32)).collect();
        assert_eq!(tokens.concat(), labels, "{what}");
        let ColumnValues::Numbers(p) = column(table, "probabilities") else { panic!("{what}") };
        assert_near(&p.concat(), &all(&case["probabilities"]), &what);
    }
    assert!(n_with_tokens >= 6);
}

/// A number, or why there is none.
fn same_or_missing(found: &Value, json: &Json, what: &str) {
    match (found, json.as_f64()) {
        (Value::Number(found), Some(share)) => assert!((found - share).abs() < 1e-8, "{what}: {found}, not {share}"),
        (Value::Missing(_), None) => {}
        other => panic!("{what}: {other:?}"),
    }
}

#[test]
fn faithfulness_is_pytorchs_and_scipys() {
    let cases = reference("believe.json");
    let mut n_adversaries = 0;
    for case in list(&cases, "faithfulness") {
        let (model, input, target) = opened(case);
        let options = FaithfulnessOptions {
            stack: Some(stack(case)),
            layer: Some(whole(case, "layer")),
            head: case["head"].as_u64().map(|head| head as usize),
            n_permutations: whole(case, "permutations"),
            n_steps: whole(case, "steps"),
            seed: case["seed"].as_u64().unwrap(),
        };
        let found = ask(&model, &input, &MethodCall::Faithfulness(options), target);
        let what = format!("{}, layer {:?}, head {:?}", text(case, "model"), options.layer, options.head);
        let case = &case["found"];
        assert_near(&of(&found, "attention"), &all(&case["attention"]), &what);
        // Orders are equal, so these are exactly.
        for name in ["kendall_gradient", "p_gradient", "kendall_loo", "p_loo"] {
            let (own, scipys) = (number(&found, name), real(case, name));
            assert!((own - scipys).abs() < 1e-8, "{what}: {name} is {own}, not {scipys}");
        }
        // Distances of probabilities, which lie between 0 and 1 together.
        for name in ["permutation", "permutation_median", "uniform"] {
            assert_near(&of(&found, name), &all(&case[name]), &format!("{what}, {name}"));
        }
        for order in ["attention", "gradient", "attention_gradient", "ascending"] {
            same_or_missing(inner(&found, "erasure", order), &case["erasure"][order], &format!("{what}, {order}"));
        }
        let Value::List(random) = inner(&found, "erasure", "random") else { panic!("{what}") };
        for (nth, (share, json)) in random.iter().zip(list(&case["erasure"], "random")).enumerate() {
            let is_same = json.as_f64().map_or(share.is_nan(), |json| (share - json).abs() < 1e-8);
            assert!(is_same, "{what}, random order {nth}: {share}, not {json}");
        }
        let Some(adversary) = case.get("adversarial") else {
            assert!(matches!(found.value("adversarial"), Some(Value::Missing(_))), "{what}");
            continue;
        };
        n_adversaries += 1;
        for name in ["jsd", "tvd"] {
            let Value::Number(value) = inner(&found, "adversarial", name) else { panic!("{what}") };
            assert_near(&[*value], &[real(adversary, name)], &format!("{what}, {name}"));
        }
        let Value::Tokens { values, .. } = inner(&found, "adversarial", "pattern") else { panic!("{what}") };
        let values: Vec<f64> = values.iter().map(|weight| f64::from(*weight)).collect();
        assert_near(&values, &all(&adversary["pattern"]), &format!("{what}, adversary"));
    }
    assert_eq!(n_adversaries, 3);
}

#[test]
fn other_normalisers_are_scipys() {
    let cases = reference("believe.json");
    for case in list(&cases, "normalizers") {
        let (model, input, target) = opened(case);
        let alpha = real(case, "alpha");
        let found = ask(
            &model,
            &input,
            &MethodCall::Normalizers(NormalizerOptions { alpha, ..NormalizerOptions::begin() }),
            target,
        );
        let what = format!("α = {alpha} of {}", text(case, "model"));
        let drift_all = real(case, "drift_all");
        assert_near_of(drift_all.max(1e-2), &of(&found, "drift_all"), &[drift_all], &what);
        for (kind, of_layers) in case["stacks"].as_object().unwrap() {
            for (layer, json) in of_layers.as_array().unwrap().iter().enumerate() {
                let Value::List(drifts) = &layers(&found, "drift", kind)[layer] else { panic!("{what}") };
                assert_near_of(drift_all.max(1e-2), drifts, &all(&json["drift"]), &format!("{what}, {kind} {layer}"));
                let Value::List(sizes) = &layers(&found, "support", kind)[layer] else { panic!("{what}") };
                assert_near(sizes, &all(&json["support"]), &format!("{what}, {kind} {layer}"));
            }
        }
    }
}

#[test]
fn alignments_are_numpys() {
    let (files, name) = locate::model("demo:translate").unwrap();
    let model = Model::load(&files, &name, &Engine::cpu(Some(2)).unwrap(), &uninterrupted).unwrap();
    let cases = reference("believe.json");
    for case in list(&cases, "alignment") {
        let input = Input::text(text(case, "text")).with_target(Input::text(text(case, "target")));
        let input = model.encode(&input).unwrap();
        for setting in Setting::ALL {
            let asked = MethodCall::Alignment(AlignmentOptions {
                setting,
                gold: Some(text(case, "gold").to_owned()),
                reverse: None,
            });
            let found = ask(&model, &input, &asked, Target::default());
            for side in ["source", "target"] {
                let words = found.parameters.iter().find(|(known, _)| known == side).map(|(_, words)| words);
                assert_eq!(words, Some(&case[format!("{side}_words")]));
            }
            let table = found.value("alignments").unwrap();
            let ColumnValues::Text(heads) = column(table, "head") else { panic!() };
            let ColumnValues::Texts(links) = column(table, "links") else { panic!() };
            let lines = list(case, "lines");
            assert_eq!(heads.len(), lines.len());
            for (nth, line) in lines.iter().enumerate() {
                let (head, line) = (text(line, "head"), &line[setting.name()]);
                assert_eq!(heads[nth], head);
                let expected: Vec<&str> = list(line, "links").iter().map(|link| link.as_str().unwrap()).collect();
                assert_eq!(links[nth], expected, "{head}, {}", setting.name());
                for name in ["aer", "precision", "recall"] {
                    let ColumnValues::Number(values) = column(table, name) else { panic!() };
                    let is_same = line[name].as_f64().map_or(values[nth].is_nan(), |x| (values[nth] - x).abs() < 1e-8);
                    assert!(is_same, "{head}, {name}: {}, not {}", values[nth], line[name]);
                }
            }
            let sums: Vec<f64> = of(&found, "coverage");
            assert_near(&sums, &all(&case["coverage"]), "coverage");
        }
    }
}
