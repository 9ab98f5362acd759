//! How a text was written: what is recorded of its steps, the view of them, and texts that go on from another token.

use std::{fs, io::Cursor};

use attnscope::{
    analysis::written::{Origin, WrittenText},
    capture::{
        Capture,
        file::{self, Contents, Format},
    },
    cli::open::OpenOptions,
    ids::{CaptureId, Side, StackKind},
    model::{Generation, Input, Logits, Model, RunPlan, TokenChoice, uninterrupted},
    protocol::Request,
    session::ViewKind,
};
use eframe::egui::{Key, Modifiers};
use egui_kittest::kittest::Queryable as _;
use serde_json::Value;

use crate::{
    lab::fixture,
    parity::load,
    render::attnscope,
    support::{
        stacks,
        window::{Window, with_text},
    },
};

fn source(model: &Model) -> attnscope::model::Encoded {
    model.encode(&Input::Ids(vec![5, 9, 14, 3, 22, 31, 1])).unwrap()
}

fn write(model: &Model, generation: Generation) -> Capture {
    let plan = RunPlan { generate: Some(generation), logits: Logits::Keep, ..RunPlan::default() };
    model.forward(&source(model), &plan, &uninterrupted).unwrap()
}

fn at_most(max_new_tokens: usize) -> Generation {
    Generation { max_new_tokens, ..Generation::default() }
}

fn ids(capture: &Capture) -> Vec<u32> {
    let generated = capture.generated().unwrap();
    capture.tokens(generated.side)[generated.first..].iter().filter_map(|token| token.id).collect()
}

#[test]
fn of_each_step_the_most_probable_tokens_are_recorded_as_the_whole_pass_has_them() {
    for family in ["llama", "gpt_neox"] {
        let model = load(&format!("families/{family}"));
        let capture = write(&model, at_most(7));
        let generated = capture.generated().unwrap();
        let n = generated.probabilities.len();
        assert_eq!(generated.candidates.len(), n + usize::from(generated.end.is_some()), "{family}");
        for (nth, candidates) in generated.candidates[..n].iter().enumerate() {
            assert!(candidates.len() == 8 && candidates.is_sorted_by(|a, b| a.value >= b.value), "{family}");
            assert_eq!(candidates[0].value, generated.probabilities[nth], "the greedy choice comes first");
            let row = capture.logits().unwrap().row(generated.first + nth - 1).unwrap();
            let sum: f64 = row.iter().map(|logit| f64::from(*logit).exp()).sum();
            for item in candidates {
                let expected = f64::from(row[item.id as usize]).exp() / sum;
                assert!((f64::from(item.value) - expected).abs() < 1e-5, "{family} {item:?} {expected}");
            }
        }
    }
}

#[test]
fn a_text_goes_on_from_the_tokens_that_are_given() {
    for family in ["t5", "gpt_neox"] {
        let model = load(&format!("families/{family}"));
        let free = write(&model, at_most(6));
        let own = WrittenText::of(&free).unwrap();
        assert!(own.n_given() == 0 && !own.is_branch() && own.steps[0].origin == Origin::Chosen);
        let again = write(&model, Generation { begun: ids(&free)[..3].into(), ..at_most(6) });
        assert_eq!(ids(&again), ids(&free), "{family}: its own beginning changes nothing");
        assert_eq!(again.generated().unwrap().candidates, free.generated().unwrap().candidates);
        assert_eq!(again.generated().unwrap().n_given, 3);
        let rival = own.steps[2].rivals[0].clone();
        let begun = own.with_rival(2, rival.id).unwrap();
        assert_eq!(begun, [ids(&free)[0], ids(&free)[1], rival.id]);
        let other = write(&model, Generation { begun: begun.clone().into(), ..at_most(6) });
        assert_eq!(ids(&other)[..3], begun, "{family}");
        let text = WrittenText::of(&other).unwrap();
        assert_eq!(text.steps[2].probability, Some(rival.value), "the probability that it had as a rival");
        assert!(text.is_branch() && text.n_given() == 3 && text.steps[3].origin == Origin::Chosen);
        let refused =
            RunPlan { generate: Some(Generation { begun: [9_999_999].into(), ..at_most(2) }), ..RunPlan::default() };
        let error = model.forward(&source(&model), &refused, &uninterrupted).unwrap_err();
        assert!(error.to_string().contains("9999999"), "{error}");
    }
}

#[test]
fn the_token_that_ends_a_text_is_a_step_of_its_own() {
    let model = load("families/t5");
    let sampled =
        |seed| Generation { choice: TokenChoice::Sample { temperature: 3.0, top_p: 1.0, seed }, ..at_most(60) };
    let capture = (0..50).map(|seed| write(&model, sampled(seed))).find(|it| it.generated().unwrap().end.is_some());
    let capture = capture.expect("some text ends");
    let text = WrittenText::of(&capture).unwrap();
    let last = text.steps.last().unwrap();
    assert_eq!((text.steps.len(), last.origin, text.is_cut), (ids(&capture).len() + 1, Origin::End, false));
    assert_eq!(last.query + 1, capture.tokens(Side::Decoder).len(), "the last token of the text wrote it");
    assert!(last.rivals.iter().all(|rival| Some(rival.id) != last.id));
}

fn through_a_file(capture: &Capture) -> Capture {
    let mut bytes = Vec::new();
    file::write(&[capture], Contents::DEFAULT, &mut bytes).unwrap();
    file::read(&mut Cursor::new(&bytes), Format::Safetensors, "", &mut || CaptureId(1)).unwrap().remove(0)
}

#[test]
fn steps_survive_a_file_and_files_without_them_open() {
    let model = load("families/t5");
    let begun = ids(&write(&model, at_most(2)));
    let capture = write(&model, Generation { begun: begun.into(), ..at_most(5) });
    let again = through_a_file(&capture);
    assert_eq!(again.generated(), capture.generated());
    assert_eq!(WrittenText::of(&again), WrittenText::of(&capture));
    let old = through_a_file(&stacks::caption_capture((3, 3)));
    assert!(old.generated().unwrap().candidates.is_empty());
    let text = WrittenText::of(&old).unwrap();
    assert!(text.steps.len() == 6 && text.steps.iter().all(|step| step.rivals.is_empty()));
}

#[test]
fn a_target_has_what_the_model_would_have_written_in_place_of_each_token() {
    let (model, encoded) = fixture("families/t5");
    let plan = RunPlan { logits: Logits::KeepFew, ..RunPlan::default() };
    let capture = model.forward(&encoded, &plan, &uninterrupted).unwrap();
    let text = WrittenText::of(&capture).unwrap();
    assert_eq!(text.steps.len() + 1, capture.tokens(Side::Decoder).len());
    for (nth, step) in text.steps.iter().enumerate() {
        assert_eq!((step.origin, step.query), (Origin::Given, nth));
        let top = &capture.prediction().unwrap().rows[nth].top;
        assert!(top.iter().all(|item| Some(item.id) == step.id || step.rivals.contains(item)));
        let row = capture.logits().unwrap().row(nth).unwrap();
        let sum: f64 = row.iter().map(|logit| f64::from(*logit).exp()).sum();
        let expected = f64::from(row[step.id.unwrap() as usize]).exp() / sum;
        assert!((f64::from(step.probability.unwrap()) - expected).abs() < 1e-5);
    }
    let (model, encoded) = fixture("gpt2");
    let plain = model.forward(&encoded, &plan, &uninterrupted).unwrap();
    assert_eq!(WrittenText::of(&plain), None, "a text that was read was not written");
    assert_eq!(ViewKind::Writing.unavailable(&plain, StackKind::SelfAttention), None, "it can be continued");
    let (model, encoded) = fixture("bert");
    let read = model.forward(&encoded, &plan, &uninterrupted).unwrap();
    assert!(ViewKind::Writing.unavailable(&read, StackKind::SelfAttention).is_some());
}

fn window() -> Window {
    let options = OpenOptions { model: Some("demo:t5".to_owned()), ..with_text("one two three") };
    let mut window = Window::open(options);
    window.show(ViewKind::Writing);
    window
}

fn pinned(window: &Window) -> Option<usize> {
    window.app().session().pane().selection.pinned.query
}

#[test]
fn a_step_is_held_by_a_click_and_walked_by_the_arrows() {
    let mut window = window();
    assert!(window.questions().contains(&"How was the text written?".to_owned()), "{:?}", window.questions());
    window.click("Step 3 Katze, probability 88 %");
    assert_eq!(pinned(&window), Some(2), "the row that writes the third token");
    assert_eq!(window.questions(), ["What could have been written in place of “Katze”?"]);
    window.press(Modifiers::NONE, Key::ArrowRight);
    assert_eq!(pinned(&window), Some(3));
    window.press(Modifiers::NONE, Key::ArrowLeft);
    window.click("Previous step");
    assert_eq!(pinned(&window), Some(1));
    assert!(window.shows("Step 2 of 6"));
    window.click("Step 2 kleine, probability 34 %");
    assert_eq!(pinned(&window), None, "a second click lets it go");
}

#[test]
fn steps_are_played_until_the_last() {
    let mut window = window();
    window.click("Step 1 die, probability 91 %");
    window.press(Modifiers::NONE, Key::Space);
    let first = pinned(&window).unwrap();
    assert!(first > 0, "a step is held for six tenths of a second");
    window.settle();
    let second = pinned(&window).unwrap();
    assert!(second > first);
    window.press(Modifiers::NONE, Key::Escape);
    let stopped = pinned(&window);
    window.settle();
    assert_eq!(pinned(&window), stopped, "Esc stops it and lets nothing go");
    window.click("Play");
    for _ in 0..8 {
        window.settle();
    }
    assert_eq!(pinned(&window), Some(5));
    assert!(window.harness.query_by_label("Play").is_some(), "it ends with the text");
}

#[test]
fn a_rival_is_where_another_text_begins_and_undo_leads_back() {
    let mut window = window();
    let begun = |window: &Window| {
        let script = window.jobs.0.borrow();
        let run = script.submitted.iter().rev().find_map(|(_, request)| match request {
            Request::Run { generation, .. } => generation.clone(),
            _ => None,
        });
        run.unwrap().begun.to_vec()
    };
    assert!(begun(&window).is_empty());
    window.click("Instead of step 3 Hund, probability 1.0 %");
    assert_eq!(begun(&window), [1, 2, 92], "the two tokens before it, and the rival");
    // A step that was clicked has the focus, and no text of its own to undo.
    window.click("Step 2 kleine, probability 34 %");
    window.press(Modifiers::COMMAND, Key::Z);
    assert!(begun(&window).is_empty());
    window.press(Modifiers::COMMAND | Modifiers::SHIFT, Key::Z);
    assert_eq!(begun(&window), [1, 2, 92]);
    window.press(Modifiers::COMMAND, Key::Enter);
    assert!(begun(&window).is_empty(), "a run writes anew");
}

#[test]
fn without_a_text_the_model_is_let_to_write_one() {
    let mut window = Window::open(with_text("one two three"));
    window.show(ViewKind::Writing);
    assert!(window.shows("The model has written nothing yet"));
    let buttons = window.harness.get_all_by_label("Continue").count();
    assert_eq!(buttons, 2, "in the panel and in the view");
    window.harness.get_all_by_label("Continue").last().unwrap().click();
    window.settle();
    assert!(window.app().session().document().experiment.continued);
}

#[test]
fn a_figure_has_a_column_per_step_and_its_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let [figure, data] = ["figure.svg", "data.json"].map(at);
    let text = ["render", "writing", "--model", "demo:gpt", "--text", "Once upon a time"];
    let output =
        attnscope(&[&text[..], &["--generate", "5", "--rivals", "2", "--out", &figure, "--data", &data]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let figure = fs::read_to_string(&figure).unwrap();
    assert!(figure.contains("5 steps, stopped at the limit"));
    let data: Value = serde_json::from_str(&fs::read_to_string(&data).unwrap()).unwrap();
    let rows = data["rows"].as_array().unwrap();
    let chosen: Vec<_> = rows.iter().filter(|row| row["came"] == "chosen").collect();
    assert_eq!((chosen.len(), rows.len()), (5, 5 * 8));
    for (nth, row) in chosen.iter().enumerate() {
        let of_step = rows.iter().filter(|row| row["step"] == nth);
        let sum: f64 = of_step.map(|row| row["probability"].as_f64().unwrap()).sum();
        assert!(sum <= 1.0 + 1e-6 && row["probability"].as_f64().unwrap() <= sum);
    }
    let output = attnscope(&[&text[..], &["--out", &at("none.svg")]].concat());
    assert!(String::from_utf8_lossy(&output.stderr).contains("--generate lets the model write"));
}
