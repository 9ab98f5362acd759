//! Atlas of heads: numbers of a corpus as those of its runs, points, cells and table with one head, and its figure.

use std::sync::Arc;

use attnscope::{
    analysis::{
        PointCloud,
        cloud_query::{CloudQuery, CloudResult, Survey},
        detect::TokenCounts,
        head_statistics::{HeadStatistics, Metric, table_of_cloud},
        projection::ProjectionOptions,
    },
    capture::{Capture, Site},
    corpus::{Corpus, CorpusView, Kept},
    figure::{
        pen::Medium,
        views::atlas::{AtlasOptions, PointColors, layout::AtlasLayout},
    },
    ids::{HeadId, StackKind},
    model::{self, Input, Logits, Model, RunPlan, Sites, locate, uninterrupted},
    session::ViewKind,
};
use eframe::egui::vec2;
use egui_kittest::kittest::Queryable as _;

use crate::{
    render::attnscope,
    views::{Stage, sentence},
};

type Window<'a> = egui_kittest::Harness<'a, Stage>;

const TEXTS: [&str; 4] = [
    "The cat sat on the mat, and the dog sat.",
    "Tom had a dog. Tom was happy.",
    "She ran, and ran.",
    "The sun is up.",
];

#[test]
fn numbers_of_a_corpus_are_those_of_the_patterns_of_its_runs() {
    for name in ["demo:gpt", "demo:bert"] {
        let (files, name) = locate::model(name).unwrap();
        let model = Model::load(&files, &name, &model::Engine::cpu(Some(2)).unwrap(), &uninterrupted).unwrap();
        let sites = Sites::of(&[Site::Pattern, Site::Q, Site::K]);
        let plan = RunPlan { sites, logits: Logits::Skip, ..RunPlan::default() };
        let run =
            |text: &str| model.forward(&model.encode(&Input::text(text)).unwrap(), &plan, &uninterrupted).unwrap();
        let captures: Vec<Arc<Capture>> = TEXTS.iter().map(|text| Arc::new(run(text))).collect();
        let mut statistics = HeadStatistics::new(model.spec());
        let counts = TokenCounts::of_captures(captures.iter().map(Arc::as_ref));
        let all = captures.iter().enumerate();
        all.for_each(|(source, capture)| statistics.add(source, capture, Some(&counts)));
        let expected = statistics.tables().remove(0);
        let stack = expected.stack;
        let corpus = Corpus::from_captures(&captures, Kept::default(), u64::MAX).unwrap();
        let cloud = PointCloud::Inputs(Arc::new(CorpusView::all(Arc::new(corpus))));
        let found = table_of_cloud(&cloud, stack, &mut |_, _| true).unwrap().unwrap();
        assert_eq!((found.n_inputs, found.n_queries), (4, expected.n_queries));
        assert_eq!(found.undefined, expected.undefined, "{name}");
        for column in &expected.columns {
            let also = found.column(column.metric).unwrap();
            assert_eq!(also.left_out, column.left_out, "{name} {:?}", column.metric);
            for ((head, a), b) in found.heads.iter().zip(&also.cells).zip(&column.cells) {
                let (a, b) = (a.unwrap().statistic, b.unwrap().statistic);
                let near = (a.value - b.value).abs() <= 1e-4 * b.value.abs().max(1.0);
                assert!(near && a.n_rows == b.n_rows, "{name} {head} {:?}: {a:?} {b:?}", column.metric);
            }
        }
        // Of one run the stored pattern is the same, to the last bit.
        let mut one = HeadStatistics::new(model.spec());
        one.add(0, &captures[0], Some(&TokenCounts::of_captures([&*captures[0]])));
        let alone = PointCloud::Input(Arc::clone(&captures[0]));
        assert_eq!(table_of_cloud(&alone, stack, &mut |_, _| true).unwrap().unwrap(), one.tables()[0]);
        assert!(table_of_cloud(&cloud, stack, &mut |done, _| done == 0).is_none(), "it can be stopped");
    }
}

#[test]
fn a_cell_and_a_row_of_the_table_name_and_select_their_head() {
    let mut stage = Stage::new(sentence(), ViewKind::Atlas).show(vec2(900.0, 600.0));
    stage.run();
    let canvas = stage.get_by_label("Numbers of all heads").rect();
    let layout = AtlasLayout::of_scene(canvas, (3, 4), Medium::Screen);
    stage.hover_at(layout.heads().cell(2, 3).center());
    stage.run();
    assert!(
        stage.query_by_label_contains("L2H3: ").is_some() && stage.query_all_by_label_contains("of 12; ").count() == 3
    );
    stage.drag_at(layout.heads().cell(2, 3).center());
    stage.drop_at(layout.heads().cell(2, 3).center());
    stage.run();
    assert_eq!(stage.state().session.pane().selection.head, HeadId::single(2, 3));
    stage.hover_at(layout.row(1).center());
    stage.run();
    assert!(stage.query_all_by_label_contains("1st of 12; ").next().is_some(), "the first row is the highest number");
    let options = &mut stage.state_mut().session.panes.active_mut().options;
    options.atlas = AtlasOptions { color: Metric::from_name("entropy").unwrap(), ..options.atlas };
    stage.run();
    assert!(stage.query_all_by_label_contains("Entropy").next().is_some());
}

#[test]
fn a_click_on_a_heading_orders_the_rows_and_a_second_one_turns_them_round() {
    let mut stage = Stage::new(sentence(), ViewKind::Atlas).show(vec2(900.0, 600.0));
    stage.run();
    let canvas = stage.get_by_label("Numbers of all heads").rect();
    let layout = AtlasLayout::of_scene(canvas, (3, 4), Medium::Screen);
    // The last column is the number up the points.
    let heading = layout.row(0).right_center() - vec2(30.0, 0.0);
    let first_is = |stage: &mut Window<'_>, rank: &str| {
        stage.hover_at(layout.row(1).center());
        stage.run();
        let mut shown = stage.query_all_by_label_contains("Activation: ");
        shown.any(|node| node.value().is_some_and(|text| text.contains(rank)))
    };
    let click = |stage: &mut Window<'_>| {
        stage.hover_at(heading);
        stage.run();
        stage.drag_at(heading);
        stage.drop_at(heading);
        stage.run();
    };
    click(&mut stage);
    assert!(first_is(&mut stage, "1st of 12"), "highest first");
    // The readout has the numbers that are not in the table, too.
    assert!(stage.query_by_label("Entropy").is_some() && stage.query_by_label("Entropy, of the most").is_none());
    click(&mut stage);
    assert!(first_is(&mut stage, "12th of 12"), "lowest first");
}

#[test]
fn the_first_inputs_of_a_long_corpus_give_a_first_table() {
    let (files, name) = locate::model("demo:gpt").unwrap();
    let model = Model::load(&files, &name, &model::Engine::cpu(Some(2)).unwrap(), &uninterrupted).unwrap();
    let plan = RunPlan { sites: Sites::of(&[Site::Q, Site::K]), logits: Logits::Skip, ..RunPlan::default() };
    let run = |nth: usize| {
        let text = format!("{} And {nth}.", TEXTS[nth % TEXTS.len()]);
        Arc::new(model.forward(&model.encode(&Input::text(&*text)).unwrap(), &plan, &uninterrupted).unwrap())
    };
    let captures: Vec<Arc<Capture>> = (0..44).map(run).collect();
    let survey = |n: usize| {
        let corpus = Corpus::from_captures(&captures[..n], Kept::default(), u64::MAX).unwrap();
        let cloud = PointCloud::Inputs(Arc::new(CorpusView::all(Arc::new(corpus))));
        let stack = StackKind::SelfAttention;
        Survey { cloud, stack, options: ProjectionOptions::default(), question: CloudQuery::Statistics }
    };
    let table = |survey: &Survey| match survey.answer(&mut |_, _| true).unwrap().unwrap() {
        CloudResult::Statistics(table) => *table,
        other => panic!("{other:?}"),
    };
    assert!(survey(39).first().is_none(), "few inputs take no time");
    let first = table(&survey(44).first().unwrap());
    assert_eq!(first, table(&survey(20)));
    assert_eq!((first.n_inputs, table(&survey(44)).n_inputs), (20, 44));
}

#[test]
fn moved_thresholds_name_other_heads_in_the_window_and_in_figures() {
    let folder = tempfile::tempdir().unwrap();
    let kinds = |more: &[&str]| {
        let [figure, data] = ["atlas.svg", "atlas.csv"].map(|name| folder.path().join(name).display().to_string());
        let asked = ["render", "atlas", "--model", "demo:gpt", "--text", TEXTS[1], "--out", &figure, "--data", &data];
        let output = attnscope(&[&asked[..], more].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let table = std::fs::read_to_string(data).unwrap();
        let n = table.lines().filter(|line| line.contains("previous") && !line.contains("previous_rank")).count();
        (n, std::fs::read_to_string(figure).unwrap())
    };
    let (usual, _) = kinds(&[]);
    let (all, svg) = kinds(&["--kind-threshold", "previous=0", "--point-color", "entropy", "--point-size", "first"]);
    assert!(all == 48 && usual < all, "{usual} {all}");
    assert!(svg.contains("colour: Entropy from 0"), "the channels are named");
    let wrong =
        attnscope(&["render", "atlas", "--model", "demo:gpt", "--text", "a", "--kind-threshold", "content=0.5"]);
    assert!(!wrong.status.success() && String::from_utf8_lossy(&wrong.stderr).contains("previous"));
}

#[test]
fn a_figure_has_its_numbers_and_its_options_on_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let (figure, data) = (folder.path().join("atlas.svg"), folder.path().join("atlas.csv"));
    let [figure, data] = [&figure, &data].map(|path| path.to_str().unwrap());
    let asked = ["render", "atlas", "--model", "demo:gpt", "--text", TEXTS[0], "--out", figure, "--data", data];
    let output = attnscope(&[&asked[..], &["--across", "first", "--up", "previous"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let svg = std::fs::read_to_string(figure).unwrap();
    assert!(svg.contains("Previous token") && svg.contains("Confidence"));
    let table = std::fs::read_to_string(data).unwrap();
    assert!(table.contains("induction_rank") && table.contains("kinds"), "{table:.300}");
    let wrong = attnscope(&[&asked[..], &["--across", "nothing"]].concat());
    assert!(!wrong.status.success() && String::from_utf8_lossy(&wrong.stderr).contains("induction-gain"));
}

#[test]
fn families_are_told_alike_by_the_command_the_figure_and_the_window() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (texts, out, data, figure) = (path("texts.txt"), path("heads.json"), path("atlas.csv"), path("atlas.svg"));
    std::fs::write(&texts, TEXTS.join("\n")).unwrap();
    let asked = ["--model", "demo:gpt", "--corpus", &texts, "--families", "4"];
    for command in [
        &["analyze", "heads", "--out", &out][..],
        &["render", "atlas", "--point-color", "family", "--caption", "full", "--data", &data, "--out", &figure],
    ] {
        let output = attnscope(&[command, &asked].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let told: serde_json::Value = serde_json::from_slice(&std::fs::read(&out).unwrap()).unwrap();
    let families = told["result"]["self"]["families"]["of"].as_array().unwrap();
    assert_eq!(families.len(), 4);
    // A head is nearer to its family than to the next one, on the whole.
    assert!(told["result"]["self"]["families"]["silhouette"].as_f64().unwrap() > 0.1, "{families:?}");
    let reasons = families.iter().filter(|family| !family["reasons"].as_array().unwrap().is_empty());
    assert!(reasons.count() >= 2, "{families:?}");
    let of = |head: &str| families.iter().find(|family| family["heads"].as_array().unwrap().contains(&head.into()));
    let table = std::fs::read_to_string(&data).unwrap();
    let names: Vec<&str> = table.lines().next().unwrap().split(',').collect();
    let at = |name: &str| names.iter().position(|known| *known == name).unwrap();
    assert_eq!(table.lines().count(), 49);
    for line in table.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let head = format!("L{}H{}", cells[at("layer")], cells[at("head")]);
        assert_eq!(of(&head).unwrap()["family"].to_string(), cells[at("family")], "{head}");
    }
    assert!(std::fs::read_to_string(&figure).unwrap().contains("silhouette"));

    let mut stage = Stage::new(sentence(), ViewKind::Atlas).show(vec2(900.0, 600.0));
    let options = &mut stage.state_mut().session.panes.active_mut().options;
    options.atlas = AtlasOptions { point_color: PointColors::Family, families: 3, ..options.atlas };
    stage.run();
    let canvas = stage.get_by_label("Numbers of all heads").rect();
    let layout = AtlasLayout::of_scene(canvas, (3, 4), Medium::Screen);
    stage.hover_at(layout.heads().cell(1, 1).center());
    stage.run();
    let said = stage.query_all_by_label_contains("silhouette of this head").next();
    assert!(said.is_some_and(|node| node.value().is_some_and(|text| text.starts_with("Family "))));
}
