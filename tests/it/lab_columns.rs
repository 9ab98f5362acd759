//! What stands side by side in the laboratory: attention itself, heads that are switched off, options by name, and
//! the figure of it all.

use std::fs;

use attnscope::{
    analysis::explain::{
        compare,
        report::{LabQuestion, Report, Value},
    },
    capture::{Ablate, Ablation},
    ids::{HeadId, Side, StackKind},
    lab::{AttentionOptions, FieldValues, LabFocus, MethodCall, MethodPreset, Scope, Target},
    model::{Edit, Encoded, Engine, ImageSource, Input, Logits, Model, RunPlan, Variant, locate, uninterrupted},
};

use crate::{
    lab::{ask, demo, fixture, try_ask},
    parity,
    render::attnscope,
};

const ATTENTION: MethodCall = MethodCall::Attention(AttentionOptions { layer: None, head: None });

fn sum(report: &Report, side: Side) -> f32 {
    compare::scores(report, side).unwrap().iter().sum()
}

#[test]
fn attention_of_a_decoder_is_told_of_what_it_wrote_and_of_the_source() {
    let (model, input) = demo("demo:translate", "the cat sleeps");
    let report = ask(&model, &input, &ATTENTION, Target::default());
    // Rows of attention are distributions, of each stack its own.
    for side in [Side::Encoder, Side::Decoder] {
        assert!((sum(&report, side) - 1.0).abs() < 1e-4, "{side:?}: {}", sum(&report, side));
    }
    // A recurrent classifier and a recurrent decoder have one row over what they read.
    for name in ["families/rnnsearch-additive", "families/bilstm"] {
        let (model, input) = fixture(name);
        let report = ask(&model, &input, &ATTENTION, Target::default());
        assert!((sum(&report, Side::Encoder) - 1.0).abs() < 1e-4, "{name}");
    }
}

#[test]
fn a_switched_off_head_changes_what_the_edit_changes() {
    let (model, input) = demo("demo:sentiment", "a dull film with a fine end");
    let logits = |edits: Vec<Edit>| {
        let mut found = Vec::new();
        let variant = Variant::of(&input, &edits, 0);
        model.logits_of(&[variant], &uninterrupted, &mut |_, logits| found = logits.to_vec()).unwrap();
        found
    };
    let target = Target { class: Some(1), against: Some(0), ..Target::default() };
    let head = HeadId { stack: StackKind::SelfAttention, layer: 2, head: 3 };
    for with in [Ablation::Zero, Ablation::Mean, Ablation::Uniform] {
        let report = ask(&model, &input, &MethodCall::Ablation(with), target);
        let Some(Value::Layers(layers)) = report.value("logit") else { panic!("no logits") };
        let Value::List(heads) = &layers[head.layer] else { panic!("no heads") };
        let (before, after) = (logits(Vec::new()), logits(vec![Edit::Ablate(Ablate { head, with })]));
        let lost = f64::from((before[1] - before[0]) - (after[1] - after[0]));
        assert!((heads[head.head] - lost).abs() < 1e-4, "{with:?}: {} instead of {lost}", heads[head.head]);
    }
}

#[test]
fn every_option_is_found_by_its_name_and_refuses_what_is_out_of_its_range() {
    let (model, input) = demo("demo:gpt", "Once upon a time");
    let plan = RunPlan { logits: Logits::Predict, ..RunPlan::default() };
    let capture = model.forward(&input, &plan, &uninterrupted).unwrap();
    let focus = LabFocus { capture: &capture, head: HeadId::default(), query: Some(1), key: None, reverse: None };
    let scope = Scope::from(&focus);
    let mut n_options = 0;
    for column in MethodPreset::all() {
        assert_eq!(MethodPreset::from_name(column.name), Some(column));
        let Ok(begins) = column.ask(&focus, &FieldValues::new()) else { continue };
        assert_eq!(begins.spec(), column.method, "{}", column.name);
        // Remembered and set again it is the same question.
        let known = begins.values(&scope);
        assert_eq!(column.ask(&focus, &known).unwrap().values(&scope), known, "{}", column.name);
        for name in known.keys() {
            n_options += 1;
            let set = |value: serde_json::Value| column.ask(&focus, &FieldValues::from([(name.clone(), value)]));
            if known[name].is_number() && name != "seed" {
                // What belongs to the model stops at its end, as another model may have had more layers.
                match set(serde_json::json!(1_000_000_000_000_u64)) {
                    Ok(call) => assert!(call.values(&scope)[name].as_f64().unwrap() <= 8.0, "{}.{name}", column.name),
                    Err(why) => assert!(why.why.contains(" goes from ") && why.why == why.on_command_line, "{why:?}"),
                }
            }
            let why = set(serde_json::json!({"no": "value"})).unwrap_err().why;
            assert!(why.contains(" is ") && why.ends_with("was given"), "{}.{name}: {why}", column.name);
        }
    }
    assert!(n_options > 20, "{n_options}");
    let none = MethodPreset::from_name("alignment").unwrap().ask(&focus, &FieldValues::new());
    assert!(none.unwrap_err().why.contains("from one text to another"));
}

/// Whatever a method answers has a title and a form: nothing is drawn under the name that files have for it.
#[test]
fn every_value_of_every_method_is_described_by_it() {
    let quick = [("steps", 2), ("permutations", 2), ("samples", 1), ("every", 4)];
    let quick: FieldValues = quick.map(|(name, value)| (name.to_owned(), serde_json::json!(value))).into();
    let mut known = std::collections::BTreeSet::new();
    for (name, text) in [
        ("demo:gpt", "Once upon a time"),
        ("demo:sentiment", "a fine film"),
        ("demo:translate", "the cat sleeps"),
        ("demo:bilstm", "a dull film"),
    ] {
        let (model, input) = demo(name, text);
        let capture = model.forward(&input, &RunPlan::default(), &uninterrupted).unwrap();
        let stack = capture.model().stacks[0].kind;
        let head = HeadId { stack, layer: 0, head: 0 };
        let focus = LabFocus { capture: &capture, head, query: Some(1), key: Some(0), reverse: None };
        for column in MethodPreset::all() {
            let Ok(mut call) = column.ask(&focus, &quick) else { continue };
            let said = [("object", "the"), ("other", text)].map(|(name, said)| (name.to_owned(), said.into()));
            call.change(&said.into(), &Scope::from(&focus)).unwrap();
            // Some say nothing about some models.
            let Ok(answer) = try_ask(&model, &input, &[], &call, Target::default()) else { continue };
            let report = answer.report;
            assert_eq!(report.method, column.method, "{}", column.name);
            for leaf in report.leaves() {
                let about = report.method.value(&leaf.name);
                let about = about.unwrap_or_else(|| panic!("{} does not describe {}", column.name, leaf.name));
                assert!(!about.drawn || !about.title.is_empty(), "{}.{} has no title", column.name, leaf.name);
                known.insert((report.method.name, about.name));
            }
        }
    }
    assert!(known.len() > 60, "{}", known.len());
}

#[test]
fn methods_say_everything_about_themselves_and_are_found_by_name() {
    for method in attnscope::lab::ALL {
        let spec = method.spec;
        assert_eq!(attnscope::lab::named(spec.name).unwrap().spec, spec);
        assert_eq!((method.begin)().spec(), spec);
        assert!(method.columns.iter().all(|column| column.method == spec) && !method.columns.is_empty());
        let caveat = spec.caveat;
        assert!(caveat.ends_with('.') && !caveat.contains(". "), "{spec:?}: not one sentence: {caveat}");
        assert!(!spec.formula.is_empty() && spec.source.contains("20") && !spec.about.is_empty(), "{spec:?}");
        let once = |name: &str| spec.values.iter().filter(|value| value.name == name).count() == 1;
        assert!(spec.values.iter().all(|value| once(value.name)), "{spec:?}");
    }
}

#[test]
fn a_question_becomes_a_figure_with_its_methods_target_and_caveats() {
    let folder = tempfile::tempdir().unwrap();
    let (svg, csv) = (folder.path().join("lab.svg"), folder.path().join("lab.csv"));
    let run = |more: &[&str]| {
        let fixed = ["render", "lab", "--model", "demo:sentiment", "--text", "a dull film", "--fonts", "bundled"];
        attnscope(&[&fixed[..], more].concat())
    };
    let methods = ["--methods", "attention,rollout,hidden", "--set", "rollout.residual=0", "--caption", "full"];
    let files = ["--out", svg.to_str().unwrap(), "--data", csv.to_str().unwrap()];
    let output = run(&[&methods[..], &files].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let drawn = fs::read_to_string(&svg).unwrap();
    for text in ["dull", "Rollout", "Do the methods agree?", "Explained:", "residual"] {
        assert!(drawn.contains(text), "{text} is not in the figure");
    }
    let table = fs::read_to_string(&csv).unwrap();
    assert!(table.contains("residual=0.0") && table.lines().any(|line| line.starts_with("loo,")), "{table}");
    for (more, told) in [
        (&["--methods", "rollout", "--set", "rollout.alpha=2"][..], "rollout has no option alpha"),
        (&["--methods", "sorcery"], "sorcery is not a method of this question: choose from attention, rollout"),
        (&["--methods", "attention", "--set", "flow.start=1"], "not among the methods that are drawn"),
    ] {
        let output = run(&[more, &files[..2]].concat());
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && stderr.contains(told), "{stderr}");
    }
    let lens = folder.path().join("lens.pdf");
    let gpt = ["render", "lab", "--model", "demo:gpt", "--text", "Once upon a", "--question", "fact", "--query", "1"];
    let output = attnscope(&[&gpt[..], &["--methods", "lens,trace", "--out", lens.to_str().unwrap()]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(fs::read(&lens).unwrap().starts_with(b"%PDF"));
    assert_eq!(LabQuestion::from_name("fact"), Some(LabQuestion::Fact));
}

/// What a column of the window asks about a run.
fn begins(name: &str, model: &Model, input: &Encoded) -> Report {
    let capture = model.forward(input, &RunPlan::default(), &uninterrupted).unwrap();
    let head = HeadId { stack: capture.model().stacks[0].kind, ..HeadId::default() };
    let focus = LabFocus { capture: &capture, head, query: None, key: None, reverse: None };
    let question = MethodPreset::from_name(name).unwrap().ask(&focus, &FieldValues::new()).unwrap();
    ask(model, input, &question, Target::default())
}

#[test]
fn flow_gives_the_tokens_what_flows_to_the_output_that_is_explained() {
    let (model, input) = demo("demo:sentiment", "a dull film");
    let report = begins("flow", &model, &input);
    let Some(Value::Matrix { values, .. }) = report.value("matrix") else { panic!("no map") };
    assert_eq!(compare::scores(&report, Side::Only).unwrap(), values.row(0).unwrap(), "the first token is read");
    assert_eq!(values.n_rows(), 1, "no other row is worked out");
    let folder = tempfile::tempdir().unwrap();
    let svg = folder.path().join("flow.svg");
    let draw = |model: &str, method: &str, input: [&str; 2]| {
        let fixed = ["render", "lab", "--model", model, "--methods", method, "--out", svg.to_str().unwrap()];
        attnscope(&[&fixed[..], &input, &["--fonts", "bundled"]].concat())
    };
    assert!(draw("demo:sentiment", "flow", ["--text", "a dull film"]).status.success());
    assert!(fs::read_to_string(&svg).unwrap().contains("Flow"));
    // Without a head nothing is explained: an empty figure is none.
    fs::remove_file(&svg).unwrap();
    let headless = parity::fixture("bert-bare");
    for method in ["flow", "rollout"] {
        let refused = draw(headless.to_str().unwrap(), method, ["--ids", "5,6,7,8"]);
        let told = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(refused.status.code() == Some(1) && told.contains("nothing to draw"), "{method}: {told}");
        assert!(!svg.exists());
    }
}

#[test]
fn stacks_of_different_depths_each_show_their_own_last_layer() {
    let (files, name) = locate::model("demo:captions").unwrap();
    let model = Model::load(&files, &name, &Engine::cpu(Some(2)).unwrap(), &uninterrupted).unwrap();
    let input = model.encode(&Input::Image(ImageSource::Bundled("chelsea".to_owned()))).unwrap();
    let input = model.completed(&input, &RunPlan::silent(), &uninterrupted).unwrap();
    let depths: Vec<usize> = model.spec().stacks.iter().map(|stack| stack.layers.len()).collect();
    assert!(depths.iter().any(|depth| *depth != depths[0]), "{depths:?}");
    let report = begins("attention", &model, &input);
    for side in [Side::Encoder, Side::Decoder] {
        assert!((sum(&report, side) - 1.0).abs() < 1e-4, "{side:?}");
    }
    let named = report.parameters.iter().find(|(name, _)| name == "layer").unwrap();
    assert_eq!(named.1, depths[1] - 1, "of the stacks that are read");
}

#[test]
fn what_a_picture_and_a_text_are_compared_by_is_no_token() {
    let (model, input) = fixture("families/clip");
    let report = begins("relevance", &model, &input);
    let class = report.parameters.iter().find(|(name, _)| name == "class").unwrap();
    assert_eq!(class.1["label"], "similarity of picture and text");
}

#[test]
fn what_a_click_says_in_the_window_an_option_says_on_the_command_line() {
    for (question, method) in [("fact", "trace"), ("fact", "rank-one"), ("moves", "edges")] {
        let fixed = ["render", "lab", "--model", "demo:gpt", "--text", "Once upon a", "--out", "never.svg"];
        let output = attnscope(&[&fixed[..], &["--question", question, "--methods", method]].concat());
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(told.contains("--query") && !told.to_lowercase().contains("click"), "{told}");
    }
}
