//! Measured times of a model by the length of its input: in the window, in sessions and on the command line. No test here
//! depends on how long anything takes.

use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use attnscope::{
    analysis::timing::{Measured, Timing, lengths},
    figure::views::{
        cost::{CostFacts, CostOptions, CostPart, CostScene},
        parts::OfParts as _,
    },
    ids::{HeadId, ModelId},
    model::{Cancelled, Input, ModelError, Progress, Stage, uninterrupted},
    protocol::{EventKind, Lane, MeasureAnswer, Request},
    raster::ColorMap,
    session::{Command, ViewKind, saved::Saved},
    worker::timing::measure,
};
use egui_kittest::kittest::Queryable as _;
use serde_json::{Value, json};

use crate::{
    lab::fixture,
    render::attnscope,
    support::{
        play::Play,
        window::{Window, with_text},
    },
};

/// What a model that takes `secs` for each of so many lengths would give.
fn timing(of: &Play, n_lengths: usize) -> Arc<Timing> {
    let model = &of.session.document().model.latest().unwrap().spec;
    made(&model.name, model.n_params, n_lengths)
}

fn made(model: &str, n_params: u64, n_lengths: usize) -> Arc<Timing> {
    let measured =
        [16, 32, 64, 128].into_iter().take(n_lengths).map(|n| Measured { n, secs: 1.5e-3 + 2.5e-5 * n as f64 });
    Arc::new(Timing { model: model.to_owned(), n_params, threads: 3, measured: measured.collect() })
}

#[test]
fn a_model_runs_on_inputs_of_every_length_and_says_how_far_it_is() {
    for (folder, expected) in [("gpt2", [4, 8, 12, 16]), ("families/t5", [2, 4, 6, 8]), ("bert", [4, 8, 12, 16])] {
        let (model, _) = fixture(folder);
        let (steps, mut told) = (AtomicUsize::new(0), 0);
        let report = |progress: Progress| {
            assert_eq!((progress.stage, progress.total), (Stage::Time, expected.len()));
            steps.fetch_max(progress.done, Ordering::Relaxed);
            Ok(())
        };
        let mut tell = |so_far: Timing| told = so_far.measured.len();
        let input = Input::Ids(vec![7, 8, 9]);
        let found = measure((&model, 2), Some(&input), &expected, &report, &mut tell).unwrap();
        assert_eq!(found.measured.iter().map(|it| it.n).collect::<Vec<_>>(), expected, "{folder}");
        assert!(found.measured.iter().all(|it| it.secs > 0.0) && found.fit().is_some(), "{folder}: {found:?}");
        assert_eq!((found.threads, steps.into_inner(), told), (2, 3, 4));
        assert!(found.is_of(model.spec()) && !Timing { n_params: 1, ..found }.is_of(model.spec()));
    }
    let (model, _) = fixture("gpt2");
    let stopped = measure((&model, 1), None, &[4, 8], &|_| Err(Cancelled), &mut |_| {});
    assert!(matches!(stopped, Err(ModelError::Cancelled(_))));
    let longest = *lengths(model.spec()).unwrap().last().unwrap();
    let found = measure((&model, 1), None, &lengths(model.spec()).unwrap(), &uninterrupted, &mut |_| {}).unwrap();
    assert!(found.measured.last().unwrap().n <= longest, "fixed tokens without a text");
    let (picture, _) = fixture("vit");
    assert!(lengths(picture.spec()).unwrap_err().contains("as many patches"));
}

#[test]
fn a_button_measures_and_what_was_measured_before_a_stop_stays() {
    let mut window = Window::open(with_text("one two three"));
    window.show(ViewKind::Cost);
    window.settle();
    window.click("Measure");
    window.settle();
    let asked = |window: &Window| {
        let script = window.jobs.0.borrow();
        let is_asked = |(_, request): &&(_, Request)| matches!(request, Request::Measure(_, _, Some(Input::Text(_))));
        script.submitted.iter().filter(is_asked).count()
    };
    assert_eq!(asked(&window), 1);
    assert!(window.app().session().document().timing.is_pending());
    let model = Arc::clone(&window.app().session().document().model.latest().unwrap().spec);
    let some = made(&model.name, model.n_params, 2);
    window.jobs.say(EventKind::Measure(MeasureAnswer::SoFar(Arc::clone(&some))));
    let is_shown = |window: &Window| window.app().session().document().shown_timing() == Some(&some);
    window.until("two lengths", |window| is_shown(window));
    assert!(window.shows("3 threads, f32"), "what computed is said");
    let lane = Lane::Measure(window.app().session().document().id);
    window.app().request(Command::Cancel(lane));
    window.settle();
    assert!(!window.app().session().document().timing.is_pending() && is_shown(&window));
    window.harness.get_by_label("Measure");
}

#[test]
fn times_are_kept_with_the_session_and_are_of_one_model() {
    let mut play = Play::showing("one two three");
    play.does(Command::MeasureTimes);
    assert_eq!(play.asked_names(), ["measure"]);
    assert_eq!(play.session.pane().view, ViewKind::Cost, "it is shown where times are");
    let found = timing(&play, 4);
    play.hears(play.last_job(), EventKind::Measure(MeasureAnswer::Measured(Arc::clone(&found))));
    assert_eq!(play.session.document().shown_timing(), Some(&found));
    assert_eq!(play.session.figure().unwrap().measured.timing, Some(Arc::clone(&found)), "figures have it");
    let saved = play.session.saved();
    let mut again = Play::new();
    let effects = again.session.reopen(saved);
    again.sort(effects);
    again.answers();
    assert_eq!(again.session.document().shown_timing(), Some(&found));
    // Numbers that are no times are left out.
    let mut json = play.session.saved().to_json();
    json["documents"][0]["timing"]["measured"][1]["secs"] = json!(-1.0);
    let mut broken = Play::new();
    let effects = broken.session.reopen(Saved::from_json(json, Path::new("/")).unwrap());
    broken.sort(effects);
    broken.answers();
    assert_eq!(broken.session.document().shown_timing(), None);
    // A time of another model is kept, and not shown.
    play.asked.clear();
    play.does(Command::MeasureTimes);
    let other = made("another", 12, 4);
    play.hears(play.last_job(), EventKind::Measure(MeasureAnswer::Measured(other)));
    assert_eq!(play.session.document().shown_timing(), None);
    play.does(Command::MeasureTimes);
    let lane = Lane::Measure(play.session.document().id);
    assert_eq!(Request::Measure(play.session.document().id, ModelId(0), None).lane(), lane);
    assert!(play.session.document().timing_obstacle().is_some(), "it is on its way");
}

#[test]
fn a_figure_has_measured_points_the_curve_and_what_computed() {
    let (model, _) = fixture("gpt2");
    let facts = CostFacts { head: HeadId::default(), model: Arc::clone(model.spec()), n: 20, of_head: None };
    let scene = |n_lengths| {
        let timing = made(&model.spec().name, model.spec().n_params, n_lengths);
        CostScene::new(Arc::new(facts.clone()), Some(timing), CostOptions::default(), ColorMap::default())
    };
    assert_eq!(scene(4).parts(), [CostPart::Time, CostPart::Work, CostPart::Memory]);
    assert!(scene(4).said().short.contains("3 threads, f32"), "{}", scene(4).said().short);
    let fit = scene(4).timing.unwrap().fit().unwrap();
    assert_eq!(fit.text(), "1.50 ms + 25.0 µs n");
    assert!(scene(3).timing.unwrap().fit().is_none(), "three points have no curve");
}

#[test]
fn the_command_line_measures_the_lengths_that_it_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let [json, figure] = ["cost.json", "cost.svg"].map(at);
    let asked = ["analyze", "cost", "--model", "demo:gpt", "--lengths", "32,8,16,24", "--threads", "1"];
    let outs = ["--out", &json, "--out", &figure];
    let output = attnscope(&[&asked[..], &outs].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_str(&fs::read_to_string(&json).unwrap()).unwrap();
    let result = &document["result"];
    let measured = result["measured"].as_array().unwrap();
    let lengths: Vec<u64> = measured.iter().map(|at| at["tokens"].as_u64().unwrap()).collect();
    assert_eq!((lengths, &result["threads"]), (vec![8, 16, 24, 32], &Value::from(1)));
    assert!(measured.iter().all(|at| at["seconds"].as_f64().unwrap() > 0.0));
    assert!(result["fit"]["coefficients"].as_array().unwrap().iter().all(|it| it.as_f64().unwrap() >= 0.0));
    let figure = fs::read_to_string(&figure).unwrap();
    for said in ["Time by length", "measured", "1 thread, f32", "Memory by length", "beyond the measured lengths"] {
        assert!(figure.contains(said), "{said}");
    }
    let table = attnscope(&[&asked[..], &["--text", "Once upon a time"]].concat());
    let table = String::from_utf8_lossy(&table.stdout).into_owned();
    assert!(table.contains("32 tokens") && table.contains("fitted") && table.contains("keys and values"), "{table}");
    for (arguments, why) in [
        (["--model", "demo:gpt", "--lengths", "8,16,24"], "4 lengths or more"),
        (["--model", "demo:gpt", "--lengths", "8,16,24,100000"], "at most"),
        (["--model", "demo:gpt", "--lengths", "0,16,24,32"], "at least one token"),
        (["--model", "demo:vit", "--lengths", "8,16,24,32"], "as many patches"),
    ] {
        let output = attnscope(&[&["analyze", "cost"][..], &arguments].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(why), "{said}");
    }
}
