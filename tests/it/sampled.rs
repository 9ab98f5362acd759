//! Texts that are sampled side by side: one seed after the other, where they part, and how the model goes on from one.

use std::{fs, io::Cursor, sync::Arc};

use attnscope::{
    analysis::written::{Origin, WrittenText},
    capture::{
        Capture,
        file::{self, Contents, Format},
    },
    cli::open::OpenOptions,
    figure::views::writing::SamplesLayout,
    ids::CaptureId,
    model::{Generation, Input, RunPlan, TokenChoice, uninterrupted},
    protocol::{EventKind, Request, RunAnswer},
    session::{Command, ViewKind},
};
use eframe::egui::{Key, Modifiers};
use egui_kittest::kittest::Queryable as _;
use serde_json::Value;

use crate::{
    parity::load,
    render::attnscope,
    support::{
        stacks,
        window::{Window, with_text},
    },
};

fn write(name: &str, generation: Generation) -> Capture {
    let model = load(name);
    let input = model.encode(&Input::Ids(vec![5, 9, 14, 3, 22, 31, 1])).unwrap();
    let plan = RunPlan { generate: Some(generation), ..RunPlan::default() };
    model.forward(&input, &plan, &uninterrupted).unwrap()
}

fn sampled(seed: u64, n_texts: usize, begun: &[u32]) -> Generation {
    let choice = TokenChoice::Sample { temperature: 1.5, top_p: 0.95, seed };
    Generation { max_new_tokens: 9, choice, begun: begun.into(), n_texts }
}

/// The ids behind the given tokens, with the one that ended the text.
fn chosen(capture: &Capture) -> Vec<u32> {
    let steps = WrittenText::of(capture).unwrap().steps;
    steps.iter().filter(|step| step.origin != Origin::Given).filter_map(|step| step.id).collect()
}

#[test]
fn each_text_is_the_one_that_its_seed_writes_alone() {
    for (name, begun) in [("families/t5", &[][..]), ("gpt2", &[40, 41]), ("families/llama", &[])] {
        let several = write(name, sampled(3, 4, begun));
        let generated = several.generated().unwrap();
        assert_eq!((generated.samples.len(), generated.n_given), (4, begun.len()), "{name}");
        let text = WrittenText::of(&several).unwrap();
        for (nth, sample) in generated.samples.iter().enumerate() {
            let alone = write(name, sampled(3 + nth as u64, 1, begun));
            let ids: Vec<u32> = sample.iter().map(|token| token.id).collect();
            assert_eq!(ids, chosen(&alone), "{name} {nth}");
            let alone = WrittenText::of(&alone).unwrap();
            let steps = &alone.steps[begun.len()..];
            for (token, step) in sample.iter().zip(steps) {
                assert_eq!(Some(token.value), step.probability, "{name} {nth}");
            }
            let product: f64 = steps.iter().map(|step| f64::from(step.probability.unwrap())).product();
            assert!((f64::from(text.log_probability(nth)) - product.ln()).abs() < 1e-4, "{name} {nth}");
        }
        assert_eq!(generated.samples[0].iter().map(|token| token.id).collect::<Vec<_>>(), chosen(&several), "{name}");
        assert!((1..4).any(|nth| text.parts_at(nth).is_some()), "{name}: chance writes more than one text");
    }
    let greedy = write("gpt2", Generation { choice: TokenChoice::Greedy, ..sampled(3, 4, &[]) });
    assert!(greedy.generated().unwrap().samples.is_empty(), "without chance all texts would be the same");
}

#[test]
fn a_text_leaves_the_first_at_the_first_other_token_and_can_be_taken_in_its_place() {
    let capture = write("families/t5", sampled(0, 6, &[]));
    let text = WrittenText::of(&capture).unwrap();
    for nth in 0..6 {
        let [first, other] = [0, nth].map(|nth| text.samples[nth].iter().map(|token| token.id).collect::<Vec<_>>());
        let expected = (0..other.len()).find(|at| first.get(*at) != other.get(*at));
        assert_eq!(text.parts_at(nth), expected, "{nth}");
        let ids = text.with_sample(nth, other.len() - 1).unwrap();
        assert_eq!(ids, other);
        let taken = write("families/t5", sampled(9, 2, &ids));
        let steps = WrittenText::of(&taken).unwrap().steps;
        assert_eq!(steps.iter().filter_map(|step| step.id).collect::<Vec<_>>(), ids, "{nth}");
        let short = text.with_sample(nth, 1).unwrap();
        let from_there = write("families/t5", sampled(9, 2, &short));
        let samples = &from_there.generated().unwrap().samples;
        assert_eq!((short.len(), samples.len()), (2, 2));
        assert!(samples.iter().all(|sample| sample.len() <= 7), "the limit is that of the whole text");
    }
    assert_eq!((text.with_sample(6, 0), text.with_sample(0, 99)), (None, None));
    let mut bytes = Vec::new();
    file::write(&[&capture], Contents::DEFAULT, &mut bytes).unwrap();
    let again = file::read(&mut Cursor::new(&bytes), Format::Safetensors, "", &mut || CaptureId(1)).unwrap().remove(0);
    assert_eq!(again.generated(), capture.generated());
}

#[test]
fn every_token_has_a_place_of_its_own_in_the_column_of_its_text() {
    let text = WrittenText::of(&write("families/t5", sampled(0, 5, &[]))).unwrap();
    for width in [150.0, 420.0, 640.0, 2000.0] {
        let layout = SamplesLayout::compute(&text, width, &mut |text| 9.0 * text.chars().count() as f32);
        let tokens: usize = text.samples.iter().map(Vec::len).sum();
        assert_eq!(layout.places.len(), tokens + 5);
        for (nth, place) in layout.places.iter().enumerate() {
            assert!(
                place.rect.bottom() <= layout.size.y && place.rect.right() <= layout.size.x + 0.1,
                "{width} {place:?}"
            );
            for other in &layout.places[..nth] {
                let common = place.rect.intersect(other.rect);
                let apart = common.width() <= 0.01 || common.height() <= 0.01;
                assert!(apart, "{width} {place:?} {other:?}");
            }
        }
    }
}

#[test]
fn the_command_line_draws_sampled_texts_side_by_side_with_their_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let [figure, data] = ["figure.svg", "data.json"].map(at);
    let text = ["render", "writing", "--model", "demo:gpt", "--text", "Once upon a time", "--generate", "6"];
    let run = |more: &[&str]| attnscope(&[&text[..], more, &["--out", &figure, "--data", &data]].concat());
    let output = run(&["--samples", "3", "--temperature", "0.9", "--seed", "4"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let figure = fs::read_to_string(&figure).unwrap();
    for said in ["the first of 3 texts that were sampled", "Text 3", "log p"] {
        assert!(figure.contains(said), "{said}");
    }
    let data: Value = serde_json::from_str(&fs::read_to_string(&data).unwrap()).unwrap();
    let rows = data["rows"].as_array().unwrap();
    let of = |came: &str| {
        rows.iter().filter(|row| row["came"] == came).map(|row| row["position"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(of("text 2"), of("chosen"), "the second text stands at the positions of the first");
    assert!(of("text 4").is_empty());
    for wrong in [&["--samples", "9"][..], &["--samples", "2", "--beams", "2"], &["--seed", "4"]] {
        assert!(!run(wrong).status.success(), "{wrong:?}");
    }
}

fn last_run(window: &Window) -> Generation {
    let script = window.jobs.0.borrow();
    let runs = script.submitted.iter().rev().find_map(|(_, request)| match request {
        Request::Run { generation, .. } => generation.clone(),
        _ => None,
    });
    runs.unwrap()
}

#[test]
fn the_window_samples_several_texts_and_goes_on_from_one() {
    let options = OpenOptions { model: Some("demo:t5".to_owned()), ..with_text("one two three") };
    let mut window = Window::open(options);
    window.show(ViewKind::Writing);
    window.harness.get_by_label("How tokens are chosen").click();
    window.settle();
    window.click("sampled");
    let mut writing = window.app().session().document().experiment.writing;
    assert!(window.shows("Texts"));
    writing.texts = 3;
    window.jobs.answer(false);
    window.app().request(Command::SetWriting(writing));
    window.app().request(Command::Run);
    window.settle();
    assert_eq!(last_run(&window).n_texts, 3);
    window.jobs.say(EventKind::Run(RunAnswer::Captured(Arc::new(stacks::sampled_capture()))));
    window.jobs.answer(true);
    window.settle();
    window.click("Text 1 die, probability 91 %");
    assert_eq!(
        window.app().session().pane().selection.pinned.query,
        Some(0),
        "a token of the text that is read is a step"
    );
    window.click("Text 2 Hund, probability 1.0 %");
    let run = last_run(&window);
    assert_eq!((run.begun.to_vec(), run.n_texts), (vec![1, 2, 92], 3));
}

#[test]
fn the_text_before_opens_beside_the_one_that_went_on_from_another_token() {
    let options = OpenOptions { model: Some("demo:t5".to_owned()), ..with_text("one two three") };
    let mut window = Window::open(options);
    window.show(ViewKind::Writing);
    assert!(window.harness.query_by_label("Compare with before").is_none());
    window.jobs.answer(false);
    window.click("Instead of step 3 Hund, probability 1.0 %");
    assert_eq!(last_run(&window).begun.to_vec(), [1, 2, 92]);
    window.jobs.say(EventKind::Run(RunAnswer::Captured(Arc::new(stacks::branched_capture()))));
    window.jobs.answer(true);
    window.settle();
    window.click("Compare with before");
    let session = window.app().session();
    assert_eq!(session.panes.len(), 2);
    let mut begun: Vec<Vec<u32>> =
        session.panes.iter().map(|pane| session.documents.of(pane).experiment.begun.clone()).collect();
    begun.sort();
    assert_eq!(begun, [vec![], vec![1, 2, 92]]);
    assert!(last_run(&window).begun.is_empty(), "the pane beside is run as before");
    window.press(Modifiers::COMMAND, Key::Z);
    assert_eq!(window.app().session().panes.len(), 1, "one step of undo closes it");
}
