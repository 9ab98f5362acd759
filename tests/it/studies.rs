//! What is learnt over the corpus that is open: probes and lenses in the window, and their figures.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use attnscope::{
    analysis::{
        bootstrap::Estimate,
        explain::jacobian::LensFit,
        probe::{CorpusProbe, Labelling, LayerSpan, ProbeSummary, ProbeVectors, SiteProbe},
        sae::CorpusFeatures,
    },
    cli::open::OpenOptions,
    corpus::list::ListOptions,
    figure::views::{Study, dictionary::FeatureChoices, probe::ProbeChoices},
    model::{ComputeDevice, Progress, Stage, is_lens},
    protocol::{BegunStudy, CorpusSource, EventKind, Failure, Lane, Request, StudyAnswer, StudyOrder},
    session::{Command, CorpusCommand, PaneCommand, SelectionCommand, ViewKind, saved::Saved},
    ui::commands::UiCommand,
    worker::{ModelEngine, Worker, disk_cache::DiskCache},
};
use eframe::egui::accesskit::Role;
use egui_kittest::kittest::Queryable as _;
use serde_json::Value;

use crate::{
    render::attnscope,
    support::{
        play::{Play, bundled, state},
        window::Window,
    },
};

/// A table of texts, each with a label and with a tag for each word.
fn table(folder: &tempfile::TempDir, n: usize) -> PathBuf {
    let mut rows = "text,label,tags\n".to_owned();
    for nth in 0..n {
        let animal = ["cat", "dog", "horse"][nth % 3];
        let label = if animal == "cat" { "cat" } else { "other" };
        writeln!(rows, "The {animal} {} here,{label},D N V A", ["ran", "slept"][nth / 3 % 2]).unwrap();
    }
    let path = folder.path().join("animals.csv");
    fs::write(&path, rows).unwrap();
    path
}

/// A probe as an order asks for it, with made-up accuracies.
fn probed(order: &StudyOrder) -> Arc<CorpusProbe> {
    let BegunStudy::Probe(question, _) = &order.begun else { panic!("{:?}", order.begun) };
    let of = |value: f64| Estimate { value, low: value - 0.1, high: value + 0.1 };
    let site = |layer: Option<usize>| SiteProbe {
        name: layer.map_or_else(|| "embeddings".to_owned(), |layer| format!("layer {layer}")),
        layer,
        accuracy: of(0.8),
        control: of(0.5),
        selectivity: of(0.3),
        learnt: 1.0,
        is_converged: true,
    };
    let sites = [None, Some(0), Some(1), Some(2)].into_iter();
    let sites = sites.filter(|layer| layer.map_or_else(|| question.has_embeddings(), |layer| question.has(layer)));
    Arc::new(CorpusProbe {
        model: "demo:gpt".to_owned(),
        corpus: order.corpus.clone(),
        question: question.clone(),
        inputs: order.inputs.clone(),
        left_out: vec![(3, "it has no label".to_owned())],
        summary: ProbeSummary {
            n_texts: order.inputs.len(),
            n_items: [9, 3],
            classes: vec!["cat".to_owned(), "other".to_owned()],
            majority: of(0.6),
            by_word: None,
            control_ceiling: 1.0,
            sites: sites.map(site).collect(),
        },
    })
}

/// The newest study that was asked for.
fn asked(window: &Window) -> Option<StudyOrder> {
    let script = window.jobs.0.borrow();
    script.submitted.iter().rev().find_map(|(_, request)| match request {
        Request::Study(order) => Some(StudyOrder::clone(order)),
        _ => None,
    })
}

#[test]
fn a_probe_is_chosen_fitted_and_read_in_the_window() {
    let folder = tempfile::tempdir().unwrap();
    let options = OpenOptions { model: Some("demo:gpt".to_owned()), ..OpenOptions::default() };
    let mut window = Window::with_size(options, [1280.0, 900.0]);
    window.show(ViewKind::Probe);
    assert!(window.shows("open a corpus, such as demo:reviews"), "an empty view says what is missing");
    window.app().request(Command::Corpus(CorpusCommand::Open(CorpusSource::path(table(&folder, 12)))));
    window.settle();
    assert_eq!(window.app().session().pane().view, ViewKind::Probe, "it stays where the corpus is needed");
    // The likely column is taken; another one is chosen by its name.
    window.harness.get_by_role_and_label(Role::ComboBox, "Labels").click();
    window.settle();
    window.harness.get_by_role_and_label(Role::Button, "tags").click();
    window.settle();
    window.harness.get_by_role_and_label(Role::ComboBox, "Labels of").click();
    window.settle();
    window.harness.get_by_role_and_label(Role::Button, "Words").click();
    window.settle();
    window.click("Fit the probes");
    let order = asked(&window).unwrap();
    let BegunStudy::Probe(question, _) = &order.begun else { panic!("{order:?}") };
    assert_eq!((question.column.as_str(), question.labelling), ("tags", Labelling::Words));
    assert_eq!(order.inputs, (0..12).collect::<Vec<_>>());
    window.jobs.say(EventKind::Progress(Progress { stage: Stage::Inputs, done: 5, total: 12 }));
    window.settle();
    assert!(window.shows("5 of 12"), "the status bar says how far it is");
    let lane = Lane::Study(window.app().session().document().id, Study::Probe);
    window.app().request(Command::Cancel(lane));
    window.settle();
    assert_eq!(window.jobs.0.borrow().cancelled.last(), Some(&lane));
    window.jobs.say(EventKind::Cancelled);
    window.settle();
    // There is nothing to run anew yet.
    window.click("Fit the probes");
    let order = asked(&window).unwrap();
    window.jobs.say(EventKind::Study(StudyAnswer::Probe(probed(&order))));
    window.settle();
    assert!(window.shows("1 input left out"), "{:?}", window.harness);
    let chart = window.harness.get_by_role_and_label(Role::Image, "Linear probes of tags, 12 texts").rect();
    window.harness.hover_at(chart.center());
    window.settle();
    assert!(window.shows("labels 80") && window.shows("random labels 50"), "numbers of the layer under the pointer");
    // Another site makes what is shown that of other options.
    let mut options = window.app().session().pane().options.clone();
    options.probe.site = attnscope::capture::Site::AttnOut;
    window.app().request(Command::SetViewOptions(options));
    window.settle();
    assert!(window.shows("These results are of resid_post for tags"));
}

#[test]
fn a_lens_is_fitted_over_the_corpus_and_read_through() {
    let folder = tempfile::tempdir().unwrap();
    let mut play = Play::new();
    play.does(Command::SetText("Once upon a time".to_owned()));
    play.does(Command::OpenModel(bundled("demo:gpt")));
    play.answers();
    assert!(play.session.document().study_obstacle().is_some_and(|why| why.contains("Open a corpus")));
    play.does(Command::Corpus(CorpusCommand::Open(CorpusSource::path(table(&folder, 6)))));
    let (job, order) = play.last_corpus();
    let model = play.session.document().model.latest().unwrap().clone();
    play.hears(job, crate::support::corpora::answer(&order, &model));
    assert_eq!(UiCommand::FitLens.command(), Some(Command::InPane(PaneCommand::FitLens)));
    let effects = play.does(Command::InPane(PaneCommand::FitLens));
    assert_eq!(effects, [r#"SaveLens { name: "demo-gpt-animals-lens.safetensors" }"#]);
    play.asked.clear();
    let path = folder.path().join("lens.safetensors");
    play.does(Command::FitLens(path.clone()));
    assert_eq!(play.asked_names(), ["study"]);
    let Some((job, Request::Study(order))) = play.asked.pop() else { panic!("no fit") };
    assert!(matches!(&order.begun, BegunStudy::Lens(file, fit) if file.path == path && fit.n_done == 0));
    play.hears(job, EventKind::Progress(Progress { stage: Stage::Inputs, done: 1, total: 6 }));
    let studies = |play: &Play| play.session.document().studies().unwrap().clone();
    assert_eq!(studies(&play).progress(Study::Lens).map(|progress| progress.done), Some(1));
    let why = Failure { summary: "The disk is full".to_owned(), details: String::new() };
    play.hears(job, EventKind::Failed(why));
    assert_eq!((state(&studies(&play).lens), play.last_notice()), ("failed", "The disk is full"));
    play.does(Command::FitLens(path.clone()));
    let Some((job, Request::Study(_))) = play.asked.pop() else { panic!("no fit") };
    play.hears(job, EventKind::Study(StudyAnswer::Lens(path.clone(), "Fitted over 6 texts.".to_owned())));
    let options = &play.session.pane().options;
    assert_eq!(options.lab.turned["lens"]["jacobian_lens"], Value::from(path.display().to_string()));
    assert_eq!(play.session.pane().view, ViewKind::Lab, "its rows are in the lens");
    // Another model forgets what was learnt of the one before.
    play.does(Command::OpenModel(bundled("demo:vit")));
    play.answers();
    assert_eq!(state(&studies(&play).lens), "empty");
}

#[test]
fn the_worker_fits_a_lens_and_probes_as_the_command_line_does() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = table(&folder, 24);
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let mut worker = Worker::spawn(ModelEngine::new(ComputeDevice::Cpu).unwrap(), Arc::new(|| {})).unwrap();
    let (document, model) = (attnscope::ids::DocumentId(1), attnscope::ids::ModelId(1));
    let source = attnscope::protocol::ModelSource::Path(crate::parity::fixture("gpt2"));
    let load = Request::Load { id: model, document, source, replaces: None, sees: None };
    worker.submit(attnscope::ids::JobId(1), load);
    let list = Arc::new(attnscope::worker::corpus::read(&corpus, &ListOptions::default()).unwrap());
    let question = ProbeChoices { layers: Some(LayerSpan { first: 1, last: 1 }), ..ProbeChoices::default() };
    let lens = attnscope::protocol::LensFile { path: path("lens.safetensors").into(), skip_first: 1 };
    let studies = [
        BegunStudy::Probe(question.question("label"), ProbeVectors::default()),
        BegunStudy::Lens(lens, LensFit::default()),
    ];
    for (nth, begun) in studies.into_iter().enumerate() {
        let (inputs, corpus) = ((0..24).collect(), "animals.csv".to_owned());
        let order = StudyOrder { document, model, list: Arc::clone(&list), corpus, inputs, begun, recalls: false };
        worker.submit(attnscope::ids::JobId(2 + nth as u64), Request::Study(Box::new(order)));
    }
    let mut answers = Vec::new();
    while answers.len() < 2 {
        match worker.wait().unwrap().kind {
            EventKind::Study(answer) => answers.push(answer),
            EventKind::Failed(failure) => panic!("{failure:?}"),
            _ => {}
        }
    }
    let [StudyAnswer::Probe(probe), StudyAnswer::Lens(written, said)] = &answers[..] else { panic!("{answers:?}") };
    assert!(is_lens(written) && said.contains("24 texts"), "{said}");
    let gpt = crate::parity::fixture("gpt2").to_str().unwrap().to_owned();
    let corpus = corpus.to_str().unwrap().to_owned();
    let of = ["--model", &gpt, "--corpus", &corpus];
    let (other, json) = (path("other.safetensors"), path("probe.json"));
    let run = |more: &[&str]| {
        let output = attnscope(&[&["analyze"], more, &of].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    run(&["jacobian-lens", "--skip-first", "1", "--out", &other]);
    let tensors = |path: &Path| {
        let bytes = fs::read(path).unwrap();
        let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
        tensors.tensor("J.0").unwrap().data().to_vec()
    };
    assert_eq!(tensors(written), tensors(Path::new(&other)), "the same lens");
    run(&["probe", "--label-column", "label", "--layers", "1", "--out", &json]);
    let found: Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    let sites = found["result"]["sites"].as_array().unwrap();
    assert_eq!((sites.len(), probe.summary.sites.len()), (1, 1));
    assert_eq!(sites[0]["accuracy"]["value"].as_f64().unwrap(), probe.summary.sites[0].accuracy.value);
    assert_eq!(sites[0]["control"]["value"].as_f64().unwrap(), probe.summary.sites[0].control.value);
}

#[test]
fn a_probe_is_drawn_without_a_window_and_its_choices_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let corpus = table(&folder, 60).to_str().unwrap().to_owned();
    let model = crate::parity::fixture("bert").to_str().unwrap().to_owned();
    let of = ["render", "probe", "--model", &model, "--corpus", &corpus, "--probe-layers", "0"];
    let [svg, csv] = ["probe.svg", "probe.csv"].map(path);
    let output = attnscope(&[&of[..], &["--out", &svg, "--data", &csv]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let drawn = fs::read_to_string(svg).unwrap();
    assert!(drawn.contains("random labels") && drawn.contains("Held-out items told right"), "{drawn}");
    assert_eq!(fs::read_to_string(csv).unwrap().lines().count(), 1 + 2, "embeddings and one layer");
    for (more, words) in [
        (&["--label-column", "kind"][..], "no column kind"),
        (&["--probe-layers", "9"], "no layer 9"),
        (&["--probe-layers", "5-2"], "3 or 2-5"),
    ] {
        let of = ["render", "probe", "--model", &model, "--corpus", &corpus, "--out", &path("no.svg")];
        let output = attnscope(&[&of[..], more].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(words), "{words}: {said}");
    }
    let mut play = Play::new();
    play.does(Command::SetText("a film".to_owned()));
    play.does(Command::OpenModel(bundled("demo:gpt")));
    play.answers();
    play.does(Command::Select(SelectionCommand::ShowView(ViewKind::Probe)));
    let mut options = play.session.pane().options.clone();
    options.probe = ProbeChoices { layers: Some(LayerSpan { first: 1, last: 2 }), seed: 7, ..ProbeChoices::default() };
    play.does(Command::SetViewOptions(options.clone()));
    let json = play.session.saved().to_json();
    let mut again = Play::new();
    let effects = again.session.reopen(Saved::from_json(json, Path::new("/")).unwrap());
    again.sort(effects);
    assert_eq!(again.session.pane().options.probe, options.probe);
}

#[test]
fn studies_are_kept_on_disk_and_the_next_program_runs_nothing_for_them() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = table(&folder, 24);
    let list = Arc::new(attnscope::worker::corpus::read(&corpus, &ListOptions::default()).unwrap());
    let (document, model) = (attnscope::ids::DocumentId(1), attnscope::ids::ModelId(1));
    // A program of its own each time: what it answers, and how many inputs it has run for that.
    let run = |begun: BegunStudy, inputs: std::ops::Range<usize>, recalls: bool| {
        let cache = DiskCache::at(folder.path().join("cache"), u64::MAX);
        let engine = ModelEngine::new(ComputeDevice::Cpu).unwrap().with_scratch(Some(cache));
        let mut worker = Worker::spawn(engine, Arc::new(|| {})).unwrap();
        let source = attnscope::protocol::ModelSource::Path(crate::parity::fixture("gpt2"));
        let load = Request::Load { id: model, document, source, replaces: None, sees: None };
        worker.submit(attnscope::ids::JobId(1), load);
        let (inputs, corpus) = (inputs.collect(), "animals.csv".to_owned());
        let order = StudyOrder { document, model, list: Arc::clone(&list), corpus, inputs, begun, recalls };
        worker.submit(attnscope::ids::JobId(2), Request::Study(Box::new(order)));
        let mut n_run = 0;
        loop {
            let event = worker.wait().unwrap();
            match event.kind {
                EventKind::Study(answer) => return (Some(answer), n_run),
                EventKind::Cancelled => return (None, n_run),
                EventKind::Failed(failure) => panic!("{failure:?}"),
                EventKind::Progress(Progress { stage: Stage::Inputs, done, total }) if done < total => n_run += 1,
                _ => {}
            }
        }
    };
    let probe = |seed: u64| {
        let choices = ProbeChoices { layers: Some(LayerSpan { first: 1, last: 1 }), seed, ..ProbeChoices::default() };
        BegunStudy::Probe(choices.question("label"), ProbeVectors::default())
    };
    let told = |answer: Option<StudyAnswer>| {
        let Some(StudyAnswer::Probe(found)) = answer else { panic!("no probe: {answer:?}") };
        found
    };
    assert!(run(probe(0), 0..24, true).0.is_none(), "nothing is kept yet");
    let (first, n_run) = run(probe(0), 0..24, false);
    assert!(n_run > 0);
    let first = told(first);
    for recalls in [true, false] {
        let (again, n_run) = run(probe(0), 0..24, recalls);
        assert_eq!((&*told(again), n_run), (&*first, 0), "bit by bit");
    }
    assert!(run(probe(1), 0..24, true).0.is_none(), "other choices");
    assert!(run(probe(0), 0..23, true).0.is_none(), "other inputs");

    let sae = || crate::features::folder("standard");
    let choices = FeatureChoices { sae: Some(sae()), ..FeatureChoices::default() };
    let features = || BegunStudy::Features(choices.question().unwrap(), CorpusFeatures::default());
    assert!(run(features(), 0..24, true).0.is_none());
    let (Some(StudyAnswer::Features(first)), 1..) = run(features(), 0..24, false) else { panic!("not counted") };
    let (Some(StudyAnswer::Features(again)), 0) = run(features(), 0..24, true) else { panic!("not kept") };
    assert_eq!(again, first);

    let lens = |name: &str| {
        let path = folder.path().join(name);
        BegunStudy::Lens(attnscope::protocol::LensFile { path, skip_first: 1 }, LensFit::default())
    };
    assert!(matches!(run(lens("a.safetensors"), 0..24, false), (Some(StudyAnswer::Lens(..)), 1..)));
    assert!(matches!(run(lens("b.safetensors"), 0..24, false), (Some(StudyAnswer::Lens(..)), 0)));
    let [a, b] = ["a.safetensors", "b.safetensors"].map(|name| fs::read(folder.path().join(name)).unwrap());
    assert_eq!(a, b);
}
