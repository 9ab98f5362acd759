//! Rankings of words: special tokens are left out in window, figures and files alike; outcomes are named by their text;
//! what a change does to an outcome.

use std::{path::Path, process::Command, sync::Arc};

use attnscope::{
    analysis::{
        detect::{Detector, Undefined, kinds},
        effect::{Effect, NoEffect, Outcome},
        explain::report::{Document, LabQuestion, Report},
    },
    capture::{Ablate, Ablation, Capture},
    figure::views::lab::{Answered, compose},
    ids::{HeadId, Side, StackKind},
    lab::{LeaveOneOutOptions, LeaveOut, MethodCall, Target, outcome_id},
    model::{Edit, Encoded, Engine, ImageSource, Input, Logits, Model, RunPlan, locate, uninterrupted},
};
use eframe::egui::{Rect, pos2, vec2};
use serde_json::Value;

use crate::lab::{ask, demo};

fn run(model: &Model, input: &Encoded, edits: &[Edit], logits: Logits) -> Capture {
    let plan = RunPlan { logits, edits: edits.to_vec(), ..RunPlan::default() };
    model.forward(input, &plan, &uninterrupted).unwrap()
}

#[test]
fn special_tokens_are_left_out_of_the_bars_and_of_the_ranking_and_their_share_is_said() {
    let (model, input) = demo("demo:sentiment", "a fine film, but the end is dull");
    let report =
        ask(&model, &input, &MethodCall::LeaveOneOut(LeaveOneOutOptions { by: LeaveOut::Hide }), Target::default());
    let capture = run(&model, &input, &[], Logits::Predict);
    let n = capture.tokens(Side::Only).len();
    let answer =
        |report: &Report| Answered { column: "hidden", title: "If hidden", report: Some(Arc::new(report.clone())) };
    let drawn = |special: bool| {
        let sections = compose(&capture, LabQuestion::Depends, &[answer(&report)], (HeadId::default(), special));
        let area = Rect::from_min_size(pos2(0.0, 0.0), vec2(600.0, 600.0));
        let rows = sections[0].parts[0].piece.rows_of(area, (Side::Only, 0));
        (sections[0].notes.clone(), !rows.is_empty())
    };
    let (notes, has_bar) = drawn(false);
    let said = notes.iter().find(|note| note.contains("left out")).unwrap();
    assert!(said.starts_with("[CLS], [SEP] left out: ") && said.ends_with(" %"), "{said}");
    assert!(!has_bar && notes.iter().any(|note| note.starts_with("Most on “")));
    let (notes, has_bar) = drawn(true);
    assert!(has_bar && notes.iter().all(|note| !note.contains("left out")));

    let document = |with_special| {
        let captures = [capture.clone()];
        serde_json::to_value(Document { report: &report, captures: &captures, with_special }).unwrap()
    };
    let ranking = &document(false)["ranking"]["self"];
    let left_out: Vec<u64> =
        ranking["left_out"]["positions"].as_array().unwrap().iter().filter_map(Value::as_u64).collect();
    assert_eq!(left_out, [0, n as u64 - 1]);
    let percent = 100.0 * ranking["left_out"]["share"].as_f64().unwrap();
    assert!(said.ends_with(&format!(": {percent:.0} %")) || percent < 9.95, "{said}, {percent}");
    assert_eq!(ranking["positions"].as_array().unwrap().len(), n - 2);
    assert_eq!(document(true)["ranking"]["self"]["positions"].as_array().unwrap().len(), n);
    // A model without special tokens leaves nothing out.
    let (model, input) = demo("demo:gpt", "Once upon a time");
    let report =
        ask(&model, &input, &MethodCall::LeaveOneOut(LeaveOneOutOptions { by: LeaveOut::Hide }), Target::default());
    let capture = run(&model, &input, &[], Logits::Predict);
    let sections = compose(&capture, LabQuestion::Depends, &[answer(&report)], (HeadId::default(), false));
    assert!(sections[0].notes.iter().all(|note| !note.contains("left out")));
}

#[test]
fn outcomes_are_named_by_text_name_and_id() {
    let (gpt, _) = demo("demo:gpt", "Once");
    let lily = outcome_id(&gpt, "Lily").unwrap();
    assert!(gpt.outcome_label(lily).ends_with("Lily"));
    assert_eq!((outcome_id(&gpt, "#17").unwrap(), outcome_id(&gpt, "17").unwrap()), (17, 17));
    assert_eq!(outcome_id(&gpt, &gpt.outcome_label(lily)).unwrap(), lily);
    let several = outcome_id(&gpt, "incomprehensible").unwrap_err().to_string();
    assert!(several.contains("tokens of this model, “") && several.ends_with("name one of them"), "{several}");
    let (classifier, _) = demo("demo:sentiment", "fine");
    let positive = outcome_id(&classifier, "Positive").unwrap();
    assert_eq!(classifier.outcome_label(positive), "positive");
    assert!(outcome_id(&classifier, "neutral").unwrap_err().to_string().contains("there is no class “neutral”"));

    let of = |class: &str| {
        let arguments = ["analyze", "dla", "--model", "demo:gpt", "--text", "Once upon a", "--class", class];
        let program = Command::new(env!("CARGO_BIN_EXE_attnscope"));
        let output = { program }.args(arguments).env("HF_HUB_CACHE", Path::new("no-cache")).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, out, _) = of("Lily");
    let document: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, document["parameters"]["class"]["id"].as_u64()), (Some(0), Some(u64::from(lily))));
    let (code, _, error) = of("incomprehensible");
    assert!(code != Some(0) && error.contains("name one of them"), "{error}");
}

#[test]
fn the_effect_of_a_change_is_what_both_runs_say() {
    let text = "Lily and Ben went to the park. Ben gave a ball to";
    let (model, input) = demo("demo:gpt", text);
    let edits = [Edit::Ablate(Ablate { head: HeadId::single(3, 2), with: Ablation::Zero })];
    let [before, after] = [&[][..], &edits[..]].map(|edits| run(&model, &input, edits, Logits::KeepFew));
    let [whole, changed] = [&[][..], &edits[..]].map(|edits| run(&model, &input, edits, Logits::Keep));
    assert_eq!(before.logits(), whole.logits(), "of a short text all are kept");
    let lily = outcome_id(&model, "Lily").unwrap();
    let ben = outcome_id(&model, "Ben").unwrap();
    let found =
        Effect::of(&before, &after, Outcome { id: Some(lily), against: Some(ben), ..Outcome::default() }).unwrap();
    let last = before.tokens(Side::Only).len() - 1;
    let said = |capture: &Capture| {
        let row = capture.logits().unwrap().row(last).unwrap();
        let sum: f64 = row.iter().map(|logit| f64::from(*logit).exp()).sum();
        let logit = f64::from(row[lily as usize]) - f64::from(row[ben as usize]);
        (logit, f64::from(row[lily as usize]).exp() / sum)
    };
    for (found, (logit, probability)) in [(found.before, said(&whole)), (found.after, said(&changed))] {
        assert!((found.logit - logit).abs() < 1e-5 && (found.value - probability).abs() < 1e-5, "{found:?}");
    }
    assert_eq!(found.position, Some(last));
    // Without a choice, what the unchanged run says.
    let own = Effect::of(&before, &after, Outcome::default()).unwrap();
    let best = &before.prediction().unwrap().rows[last].top[0];
    assert_eq!(own.id, best.id);
    assert!((own.before.value - f64::from(best.value)).abs() < 1e-5);
    assert!(own.text(|_| best.label.clone()).starts_with(&format!("{}: logit ", best.label)));
    let far = Outcome { position: Some(999), ..Outcome::default() };
    assert_eq!(Effect::of(&before, &after, far), Err(NoEffect::NotThere(999)));
    assert_eq!(
        Effect::of(&before, &run(&model, &input, &[], Logits::Predict), Outcome::default()),
        Err(NoEffect::NotKept)
    );
}

/// The bundled model's induction head on a text that repeats, and nothing where nothing does.
#[test]
fn heads_are_ranked_by_kind_on_the_text_that_is_shown() {
    let of = |name: &str, text: &str| {
        let (model, input) = demo(name, text);
        run(&model, &input, &[], Logits::Skip)
    };
    let capture = of("demo:gpt", "tree blue door fish happy moon cake dog tree blue door fish happy moon cake dog");
    let found = kinds(&capture, StackKind::SelfAttention, &mut || true).unwrap();
    let induction = found.of(Detector::Induction).unwrap();
    let (best, score) = induction.ranked()[0];
    assert_eq!(best.layer, 1, "{:?}", &induction.ranked()[..4]);
    assert!(score > 0.4 && induction.n_of_kind() >= 1 && induction.ranked().len() == 48);
    assert!(found.of_head(best).iter().any(|(detector, _)| *detector == Detector::Induction));
    let (previous, score) = found.of(Detector::Previous).unwrap().ranked()[0];
    assert!(previous.layer == 0 && score > 0.8, "{previous} {score}");
    assert!(found.of(Detector::Positional).unwrap().score(previous).unwrap() > 0.8);
    assert_eq!(found.of(Detector::Next).unwrap().heads, Err(Undefined::Causal));
    assert_eq!(kinds(&capture, StackKind::SelfAttention, &mut || false), None);

    let capture = of("demo:gpt", "The little dog ran to a big tree");
    let found = kinds(&capture, StackKind::SelfAttention, &mut || true).unwrap();
    let why = |detector| found.of(detector).unwrap().heads.clone().unwrap_err();
    assert_eq!(why(Detector::Induction), Undefined::NoRepetition);
    assert_eq!((why(Detector::Punctuation), why(Detector::Special)), (Undefined::NoPunctuation, Undefined::NoSpecial));
    let capture = of("demo:translate", "the cat sleeps");
    let found = kinds(&capture, StackKind::Cross, &mut || true).unwrap();
    assert_eq!(found.of(Detector::Previous).unwrap().heads, Err(Undefined::OtherSequence));
    assert!(found.of(Detector::First).unwrap().heads.is_ok());
    let (files, name) = locate::model("demo:vit").unwrap();
    let model = Model::load(&files, &name, &Engine::cpu(Some(2)).unwrap(), &uninterrupted).unwrap();
    let picture = model.encode(&Input::Image(ImageSource::Bundled("chelsea".to_owned()))).unwrap();
    let found = kinds(&run(&model, &picture, &[], Logits::Skip), StackKind::SelfAttention, &mut || true).unwrap();
    assert_eq!(found.of(Detector::Induction).unwrap().heads, Err(Undefined::NoOrder));
}
