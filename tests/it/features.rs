//! Features of a dictionary over a corpus: numbers against numpy, the lab's page of one feature, the view in the window and
//! its figure.

use std::{fs, path::Path, sync::Arc};

use attnscope::{
    analysis::{
        explain::report::{ColumnValues, Value},
        sae::{CorpusFeatures, FeatureCount, FeatureOrder, Sae},
    },
    cli::open::OpenOptions,
    corpus::list::ListOptions,
    figure::views::{Study, dictionary::FeatureChoices},
    ids::{DocumentId, JobId, ModelId, StackKind},
    lab::{FeatureOptions, LabRun, MethodCall, Target, feature_sources},
    model::{ComputeDevice, Input, RunPlan, Site, Sites, open_sae, uninterrupted},
    protocol::{BegunStudy, CorpusSource, EventKind, LoadAnswer, ModelSource, Request, StudyAnswer, StudyOrder},
    session::{Command, CorpusCommand, PaneCommand, SelectionCommand, ViewKind},
    worker::{ModelEngine, Worker},
};
use eframe::egui::accesskit::Role;
use egui_kittest::kittest::Queryable as _;
use safetensors::SafeTensors;

use crate::{
    lab::{ask, column, number, of, refused},
    parity,
    render::attnscope,
    support::window::Window,
};

/// A tensor `[rows, width]` of what numpy computed, row by row.
fn expected(name: &str) -> Vec<Vec<f32>> {
    let bytes = fs::read(parity::fixture("lab/sae/expected.safetensors")).unwrap();
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    let tensor = tensors.tensor(name).unwrap();
    let four = |four: &[u8]| f32::from_le_bytes(four.try_into().unwrap());
    let values: Vec<f32> = tensor.data().chunks_exact(4).map(four).collect();
    values.chunks_exact(tensor.shape()[1]).map(<[f32]>::to_vec).collect()
}

fn text() -> String {
    let bytes = fs::read(parity::fixture("lab/sae/expected.safetensors")).unwrap();
    let (_, header) = SafeTensors::read_metadata(&bytes).unwrap();
    header.metadata().as_ref().unwrap()["text"].clone()
}

pub fn folder(kind: &str) -> String {
    parity::fixture(&format!("lab/sae/{kind}")).to_str().unwrap().to_owned()
}

/// The features of the rows that numpy had, as a corpus of one text.
fn counted(kind: &str) -> CorpusFeatures {
    let sae = open_sae(Path::new(&folder(kind))).unwrap();
    let mut found = CorpusFeatures::new(&sae, ("gpt2", "one text", &folder(kind)), vec![0], 5);
    let features: Vec<_> = expected("x").iter().enumerate().map(|(at, row)| (at, sae.features(row))).collect();
    let tokens = vec![attnscope::capture::Token { text: "a".to_owned(), ..Default::default() }; features.len()];
    found.add(0, &tokens, &features);
    found
}

#[test]
fn features_that_fire_together_are_correlated_as_numpy_says() {
    for kind in ["standard", "topk", "jumprelu", "gated"] {
        let (found, pearson, f) = (counted(kind), expected(&format!("{kind}.pearson")), expected(kind));
        let varies = |feature: usize| f.iter().any(|row| (row[feature] - f[0][feature]).abs() > 0.0);
        for feature in (0..found.d_sae).filter(|feature| varies(*feature)) {
            let all = found.activations.correlated(feature, found.d_sae);
            assert_eq!(all.len(), (0..found.d_sae).filter(|other| varies(*other)).count() - 1, "{kind} {feature}");
            assert!(all.windows(2).all(|two| two[0].1 >= two[1].1), "the largest first");
            for (other, r) in all {
                let numpy = f64::from(pearson[feature][other]);
                assert!((r - numpy).abs() < 1e-5, "{kind} {feature} {other}: {r} {numpy}");
            }
        }
        // What never fires is correlated with nothing.
        let silent = (0..found.d_sae).find(|feature| f.iter().all(|row| row[*feature] == 0.0));
        assert!(silent.is_none_or(|silent| found.activations.correlated(silent, found.d_sae).is_empty()));
        for (at, row) in f.iter().enumerate() {
            for (feature, value) in row.iter().enumerate() {
                let found = found.activations.in_text(0, feature)[at];
                assert!(found.0 == at && (found.1 - value).abs() < 1e-5, "{kind}");
            }
        }
    }
}

#[test]
fn one_feature_has_the_neurons_and_sources_of_numpy_and_its_parts_add_up() {
    let model = parity::load("gpt2");
    let input = model.encode(&Input::text(text())).unwrap();
    let (sources, neurons, f) = (expected("standard.sources"), expected("standard.neurons"), expected("standard"));
    let last = f.len() - 1;
    for feature in 0..sources.len() {
        let call =
            MethodCall::Feature(FeatureOptions { n_top: 1000, ..FeatureOptions::of(folder("standard"), feature) });
        let target = Target { position: Some(last), ..Target::default() };
        let report = ask(&model, &input, &call, target);
        let by_token = of(&report, "sources");
        for (found, numpy) in by_token.iter().zip(&sources[feature]) {
            assert!((found - f64::from(*numpy)).abs() < 1e-5, "{feature}: {by_token:?} {:?}", sources[feature]);
        }
        let before = number(&report, "before");
        let whole = by_token.iter().sum::<f64>() + number(&report, "rest");
        assert!((whole - before).abs() < 1e-5, "the parts add up: {whole} {before}");
        assert!((before.max(0.0) - f64::from(f[last][feature])).abs() < 1e-5, "and what is positive fires");
        let table = report.value("neurons").unwrap();
        let (ColumnValues::Index(ids), ColumnValues::Number(cosines)) =
            (column(table, "neuron"), column(table, "cosine"))
        else {
            panic!("no neurons")
        };
        assert_eq!(ids.len(), neurons[feature].len());
        for (id, cosine) in ids.iter().zip(cosines) {
            assert!((cosine - f64::from(neurons[feature][*id])).abs() < 1e-5, "{feature} {id}");
        }
        let ColumnValues::Number(shares) = column(report.value("basis").unwrap(), "share") else { panic!("no basis") };
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-6);
        let activation = of(&report, "activation");
        for (found, row) in activation.iter().zip(&f) {
            assert!((found - f64::from(row[feature])).abs() < 1e-5);
        }
    }
    let call = MethodCall::Feature(FeatureOptions::of(folder("standard"), 24));
    let said = refused(&model, &input, &call, Target::default());
    assert!(said.contains("no feature 24 among 24"), "{said}");
}

#[test]
fn parts_by_token_add_up_at_every_place_that_attention_writes_to_and_are_refused_elsewhere() {
    let model = parity::load("gpt2");
    let input = model.encode(&Input::text(text())).unwrap();
    let stack = StackKind::default();
    for site in [Site::ResidPre, Site::ResidMid, Site::ResidPost, Site::AttnOut, Site::Z, Site::MlpOut] {
        for kind in ["standard", "gated", "topk"] {
            let sae = open_sae(Path::new(&folder(kind))).unwrap();
            let sae = Sae { site, layer: 1, ..sae };
            let plan = RunPlan { sites: Sites::of(&[site]), ..RunPlan::default() };
            let capture = model.forward(&input, &plan, &uninterrupted).unwrap();
            let rows = attnscope::lab::rows_of(&sae, &capture.stack(stack).unwrap().layers).unwrap();
            let lab = LabRun::new(&model, &input, &[], &uninterrupted, &|_| {});
            let at = rows.len() - 2;
            for (feature, value) in sae.features(&rows[at]) {
                let found = feature_sources(&lab, (&sae, stack), (feature, at), &rows[at]);
                if site == Site::MlpOut {
                    assert!(found.unwrap_err().to_string().contains("not linear"));
                    continue;
                }
                let found = found.unwrap();
                let whole = found.by_token.iter().sum::<f64>() + found.rest;
                assert!((whole - f64::from(value)).abs() < 1e-4, "{site:?} {kind} {feature}: {whole} {value}");
                assert!(found.by_token[at + 1..].iter().all(|later| *later == 0.0), "nothing comes from later tokens");
            }
        }
    }
    let bert = parity::load("bert");
    let input = bert.encode(&Input::text("The cat sleeps.")).unwrap();
    let call = MethodCall::Feature(FeatureOptions::of(folder("standard"), 0));
    let report = ask(&bert, &input, &call, Target::default());
    assert!(matches!(report.value("sources"), Some(Value::Missing(why)) if why.contains("norm the stream")));
}

#[test]
fn lists_are_sorted_and_found_by_number_and_token() {
    type Key = fn(&FeatureCount) -> f64;
    let found = counted("standard");
    let of = |feature: usize| &found.counts.features[feature];
    let keys: [(FeatureOrder, Key); 4] = [
        (FeatureOrder::Sum, |of| of.sum),
        (FeatureOrder::Density, |of| of.n as f64),
        (FeatureOrder::Mean, FeatureCount::mean),
        (FeatureOrder::Largest, |of| f64::from(of.texts[0].value)),
    ];
    for (order, key) in keys {
        let all = found.listed(order, "");
        assert_eq!(all.len(), found.n_alive());
        assert!(all.windows(2).all(|two| key(of(two[0])) >= key(of(two[1]))), "{order:?}");
    }
    let first = found.listed(FeatureOrder::Number, "")[0];
    assert_eq!(found.listed(FeatureOrder::Number, &format!(" {first} ")), [first]);
    assert_eq!(found.listed(FeatureOrder::Number, "A").len(), found.n_alive(), "every token is an a");
    assert!(found.listed(FeatureOrder::Number, "zebra").is_empty());
}

const TEXTS: [&str; 3] =
    ["The cat did not cross the street.", "A dog ran to the old red barn and slept.", "It was too tired."];

fn corpus(folder: &tempfile::TempDir) -> std::path::PathBuf {
    let path = folder.path().join("texts.txt");
    fs::write(&path, TEXTS.join("\n")).unwrap();
    path
}

/// What the worker counts of an order.
fn counted_by_worker(corpus: &Path, kind: &str) -> Arc<CorpusFeatures> {
    let mut worker = Worker::spawn(ModelEngine::new(ComputeDevice::Cpu).unwrap(), Arc::new(|| {})).unwrap();
    let (document, model) = (DocumentId(1), ModelId(1));
    let source = ModelSource::Path(parity::fixture("gpt2"));
    worker.submit(JobId(1), Request::Load { id: model, document, source, replaces: None, sees: None });
    let list = Arc::new(attnscope::worker::corpus::read(corpus, &ListOptions::default()).unwrap());
    let choices = FeatureChoices { sae: Some(folder(kind)), ..FeatureChoices::default() };
    let (inputs, corpus) = ((0..3).collect(), "texts.txt".to_owned());
    let begun = BegunStudy::Features(choices.question().unwrap(), CorpusFeatures::default());
    let order = StudyOrder { document, model, list, corpus, inputs, begun, recalls: false };
    worker.submit(JobId(2), Request::Study(Box::new(order)));
    loop {
        match worker.wait().unwrap().kind {
            EventKind::Study(StudyAnswer::Features(found)) => return found,
            EventKind::Failed(failure) => panic!("{failure:?}"),
            _ => {}
        }
    }
}

#[test]
fn the_list_and_the_page_of_a_feature_are_in_the_window() {
    let temporary = tempfile::tempdir().unwrap();
    let path = corpus(&temporary);
    let found = counted_by_worker(&path, "standard");
    assert_eq!((found.n_done, found.texts.len(), found.d_sae), (3, 3, 24));
    let options = OpenOptions { model: Some("demo:gpt".to_owned()), ..OpenOptions::default() };
    let mut window = Window::with_size(options, [1400.0, 1000.0]);
    window.show(ViewKind::Dictionary);
    assert!(window.shows("open the folder that SAELens saved"), "an empty view says what is missing");
    window.app().request(Command::Corpus(CorpusCommand::Open(CorpusSource::path(&path))));
    window.settle();
    let mut options = window.app().session().pane().options.clone();
    options.dictionary.sae = Some(folder("standard"));
    window.app().request(Command::SetViewOptions(options));
    window.settle();
    window.click("Count the features");
    let asked = window.jobs.0.borrow().submitted.iter().any(|(_, request)| {
        matches!(request, Request::Study(order) if order.begun.study() == Study::Features && order.inputs == [0, 1, 2])
    });
    assert!(asked);
    window.jobs.say(EventKind::Study(StudyAnswer::Features(Arc::clone(&found))));
    window.settle();
    assert!(window.shows(&format!("{} of 24 features fire", found.n_alive())));
    let first = found.listed(FeatureOrder::Sum, "")[0];
    let page = format!("Feature {first} of 24 fires at");
    assert!(window.shows(&page), "the first of the list is shown");
    let ask = window.jobs.0.borrow().submitted.iter().rev().find_map(|(_, request)| match request {
        Request::Explain(wanted) => Some(wanted.ask.clone()),
        _ => None,
    });
    assert_eq!(ask, Some(MethodCall::Feature(FeatureOptions::of(folder("standard"), first))), "the lab is asked");
    // Another feature by its row, and one that fires together with it by its line.
    let other = found.listed(FeatureOrder::Sum, "")[1];
    let row = format!("Feature {other}: fires at");
    window.harness.get_by_label_contains(&row).click();
    window.settle();
    assert_eq!(window.app().session().pane().options.dictionary.feature, Some(other));
    let (with, _) = found.activations.correlated(other, 24)[0];
    window.harness.get_by_role_and_label(Role::Button, &format!("Show feature {with}")).click();
    window.settle();
    assert_eq!(window.app().session().pane().options.dictionary.feature, Some(with));
    // A text opens as an input beside it.
    let text = found.counts.features[with].texts[0].text;
    window.harness.get_by_role_and_label(Role::Button, &format!("Open input {}", text + 1)).click();
    window.settle();
    assert_eq!(window.app().session().document().experiment.text, TEXTS[text]);
    let views: Vec<ViewKind> = window.app().session().panes.iter().map(|pane| pane.view).collect();
    assert_eq!(views[0], ViewKind::Dictionary);
}

#[test]
fn a_dictionary_that_is_opened_is_the_one_of_the_view_and_of_both_methods() {
    let mut play = crate::support::play::Play::new();
    play.does(Command::SetText("Once upon a time".to_owned()));
    play.does(Command::OpenModel(crate::support::play::bundled("demo:gpt")));
    play.answers();
    play.does(Command::OpenModel(ModelSource::Path(folder("topk").into())));
    let job = play.session.document().model.job().unwrap();
    play.hears(job, EventKind::Load(LoadAnswer::IsSae(folder("topk").into())));
    let options = &play.session.pane().options;
    assert_eq!(options.dictionary.sae.as_deref(), Some(&*folder("topk")));
    assert!(["sae", "feature"].iter().all(|column| options.lab.turned[*column]["sae"] == folder("topk").as_str()));
    assert_eq!(play.session.pane().view, ViewKind::OF_ANSWERS, "its method is shown");
    play.does(Command::Select(SelectionCommand::ShowView(ViewKind::Dictionary)));
    play.does(Command::OpenModel(ModelSource::Path(folder("standard").into())));
    play.answers();
    assert_eq!(play.session.pane().view, ViewKind::Dictionary, "features wait for it");
    assert_eq!(play.session.pane().options.dictionary.sae.as_deref(), Some(&*folder("standard")));
    play.asked.clear();
    play.does(Command::InPane(PaneCommand::Study));
    assert!(play.asked_names().is_empty(), "without a corpus there is nothing to count");
}

#[test]
fn what_is_opened_beside_a_model_on_its_way_waits_for_it() {
    let mut play = crate::support::play::Play::new();
    play.does(Command::SetText("Once upon a time".to_owned()));
    play.does(Command::OpenModel(crate::support::play::bundled("demo:gpt")));
    let model = play.last_job();
    play.does(Command::OpenBeside(vec![folder("topk").into()]));
    assert_eq!(play.last_job(), model, "the model is read first");
    play.answers();
    assert_eq!(play.session.pane().options.dictionary.sae.as_deref(), Some(&*folder("topk")));
    assert_eq!(play.session.document().experiment.model, Some(crate::support::play::bundled("demo:gpt")));

    // Another model in between is of somebody who wants that one alone.
    play.does(Command::OpenModel(crate::support::play::bundled("demo:bert")));
    play.does(Command::OpenBeside(vec![folder("standard").into()]));
    play.does(Command::OpenModel(crate::support::play::bundled("demo:gpt")));
    play.answers();
    assert_eq!(play.session.pane().options.dictionary.sae.as_deref(), Some(&*folder("topk")));
}

#[test]
fn a_feature_is_drawn_without_a_window_with_its_numbers() {
    let temporary = tempfile::tempdir().unwrap();
    let path = |name: &str| temporary.path().join(name).to_str().unwrap().to_owned();
    let texts = corpus(&temporary).to_str().unwrap().to_owned();
    let model = parity::fixture("gpt2").to_str().unwrap().to_owned();
    let sae = folder("standard");
    let of = ["render", "features", "--model", &model, "--corpus", &texts, "--sae", &sae];
    let [svg, csv, json] = ["feature.svg", "feature.csv", "features.json"].map(path);
    let output = attnscope(&[&of[..], &["--out", &svg, "--data", &csv]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let drawn = fs::read_to_string(svg).unwrap();
    for words in ["of 24 fires at", "raises", "Fires with", "Writes like neuron", "Tokens that it comes from"] {
        assert!(drawn.contains(words), "{words}");
    }
    let table = fs::read_to_string(csv).unwrap();
    for part in ["feature,density", "text,", "correlated,Pearson", "neurons,cosine", "basis,share", "sources,"] {
        assert!(table.lines().any(|line| line.starts_with(part)), "{part}: {table}");
    }
    // The same on the command line as JSON.
    let of = ["analyze", "features", "--model", &model, "--corpus", &texts, "--sae", &sae];
    let output = attnscope(&[&of[..], &["--out", &json]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let told: serde_json::Value = serde_json::from_str(&fs::read_to_string(json).unwrap()).unwrap();
    let feature = &told["result"]["features"][0];
    assert!(feature["correlated"].as_array().is_some_and(|all| !all.is_empty()), "{feature}");
    assert!(feature["neurons"].as_array().is_some_and(|all| !all.is_empty()), "{feature}");
    for (more, words) in [(&["--feature", "24"][..], "no feature 24"), (&["--feature", "x"], "whole number")] {
        let of = ["render", "features", "--model", &model, "--corpus", &texts, "--sae", &sae, "--out", &path("no.svg")];
        let output = attnscope(&[&of[..], more].concat());
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(words), "{words}: {said}");
    }
}
