//! Spaces other than that of queries with keys: values, the residual stream, position embeddings.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::Arc,
};

use attnscope::{
    analysis::{
        PointCloud, Space,
        point_set::Spot,
        projection::{ColorBy, LayoutMethod, LayoutOptions, PointValues, ProjectionOptions, project, tints, values},
        search::{SearchKind, SearchQuery},
    },
    capture::{Capture, Matrix},
    corpus::{Corpus, CorpusView, Kept, list::ListOptions},
    ids::{HeadId, JobId, PaneId, Side, StackKind},
    model::{Engine, Input, Model, ModelFiles, RunPlan, Sites, locate, uninterrupted},
    projection::{Pca, Points},
    protocol::{CorpusOptions, Event, EventKind, ProjectionAnswer, Request},
    session::{self, HeadStep, ViewKind},
    worker::{
        ProjectionEngine, Worker,
        corpus::{capture, read},
    },
};
use eframe::egui::vec2;
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use safetensors::SafeTensors;
use serde_json::Value;

use crate::{parity::Reference, views::Stage};

const SELF: StackKind = StackKind::SelfAttention;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn load(name: &str) -> Model {
    let files = ModelFiles::open(&fixture(name)).unwrap();
    Model::load(&files, name, &Engine::cpu(Some(2)).unwrap(), &uninterrupted).unwrap()
}

fn demo(name: &str) -> Model {
    let (files, name) = locate::model(name).unwrap();
    Model::load(&files, &name, &Engine::cpu(Some(2)).unwrap(), &uninterrupted).unwrap()
}

fn run(model: &Model, input: &Input) -> Capture {
    let plan = RunPlan { sites: Sites::all(), ..RunPlan::default() };
    model.forward(&model.encode(input).unwrap(), &plan, &uninterrupted).unwrap()
}

fn near(actual: &[f32], expected: &[f32], what: &str) {
    assert_eq!(actual.len(), expected.len(), "{what}");
    let worst = actual.iter().zip(expected).map(|(a, b)| (a - b).abs() / b.abs().max(1.0)).fold(0.0, f32::max);
    assert!(worst <= 1e-5, "{what} differs by {worst:e}");
}

/// The points of a cell, of which there is one kind.
fn only(cloud: &PointCloud, space: Space, cell: HeadId) -> Matrix {
    let [queries, keys] = cloud.points_of(space, cell);
    assert_eq!(queries.is_some(), space.sides(cell.stack)[0].is_some());
    assert!(queries.is_some() != keys.is_some(), "one kind of points");
    queries.or(keys).unwrap()
}

/// The points are `PyTorch`'s numbers, in every layer and at the end.
#[test]
fn values_and_the_residual_stream_are_those_of_pytorch() {
    for name in ["gpt2", "bert", "families/mistral"] {
        let model = load(name);
        let reference = Reference::open(name, "reference.safetensors");
        let cloud = PointCloud::Input(Arc::new(run(&model, &reference.input())));
        let of = |name: String| reference.tensors().find(|(known, ..)| *known == name).unwrap();
        let spec = &model.spec().stack(SELF).unwrap().layers;
        let values = cloud.cells(SELF, Space::Values);
        assert_eq!(
            values.len(),
            spec.iter().map(|layer| layer.n_kv_heads).sum::<usize>(),
            "one cell for shared values"
        );
        for cell in values {
            let (_, shape, expected) = of(format!("self.{}.v", cell.layer));
            let rows = shape[shape.len() - 2] * shape[shape.len() - 1];
            let nth = spec[cell.layer].kv_head(cell.head);
            let points = only(&cloud, Space::Values, cell);
            near(points.as_slice(), &expected[nth * rows..][..rows], &format!("{name}: values of {cell}"));
        }
        let stream = cloud.cells(SELF, Space::Residual);
        assert_eq!(stream.len(), spec.len() + 1, "before each layer, and behind the last one");
        for cell in stream {
            let site = format!("self.{}.resid_pre", cell.layer);
            let site = if cell.layer == spec.len() { "self.resid_final".to_owned() } else { site };
            let points = only(&cloud, Space::Residual, cell);
            near(points.as_slice(), of(site).2, &format!("{name}: {}", Space::Residual.cell_name(cell, model.spec())));
        }
    }
}

/// The rows that the forward pass reads, as the checkpoint has them; who has none says what it has instead.
#[test]
fn position_embeddings_are_those_of_the_checkpoint() {
    let table = |folder: &str, name: &str| -> Vec<f32> {
        let bytes = fs::read(fixture(folder).join("model.safetensors")).unwrap();
        let tensors = SafeTensors::deserialize(&bytes).unwrap();
        let data = tensors.tensor(name).unwrap().data().to_vec();
        data.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect()
    };
    for (folder, name, offset, side) in [
        ("gpt2", "transformer.wpe.weight", 0, Side::Only),
        ("bert", "bert.embeddings.position_embeddings.weight", 0, Side::Only),
        ("families/roberta", "roberta.embeddings.position_embeddings.weight", 2, Side::Only),
        ("families/bart", "model.decoder.embed_positions.weight", 2, Side::Decoder),
        ("vit", "vit.embeddings.position_embeddings", 0, Side::Only),
    ] {
        let tables = load(folder).position_embeddings().unwrap();
        let found = &tables.sides[&side];
        let expected = table(folder, name);
        assert_eq!(found.rows.as_slice(), &expected[offset * found.rows.n_cols()..], "{folder}");
        assert_eq!(found.tokens.len(), found.rows.n_rows());
    }
    let vit = load("vit").position_embeddings().unwrap();
    let cloud = PointCloud::Positions(vit);
    let text = |point| cloud.token(Side::Only, point).unwrap().text.to_owned();
    assert_eq!((text(0), text(1), text(4)), ("[CLS]".to_owned(), "r0 c0".to_owned(), "r1 c0".to_owned()));
    let PointValues::Numbers(rows) = values(&cloud, Space::Positions, HeadId::single(0, 0), ColorBy::Row) else {
        panic!("patches have rows, without a picture too")
    };
    assert_eq!((rows.of[0][4], rows.of[1].len()), (1.0, 0));
    for (folder, reason) in [
        ("families/llama", "rotary"),
        ("families/bloom", "ALiBi"),
        ("families/t5", "relative positions"),
        ("families/deberta-v3", "relative positions"),
        ("families/rnnsearch-dot", "one token after the other"),
    ] {
        let told = load(folder).position_embeddings().unwrap_err();
        assert!(told.contains(reason), "{folder}: {told}");
    }
}

/// The thread behind the window lays out every cell of every space, positions beside any input.
#[test]
fn the_thread_lays_out_every_cell_of_a_space() {
    let model = demo("demo:gpt");
    let input = PointCloud::Input(Arc::new(run(&model, &Input::text("Once upon a time there was a dog"))));
    let positions = PointCloud::Positions(model.position_embeddings().unwrap());
    let mut worker = Worker::spawn(ProjectionEngine::new(None).unwrap(), Arc::new(|| ())).unwrap();
    for (job, (space, cloud, n)) in
        [(Space::Values, &input, 48), (Space::Residual, &input, 7), (Space::Positions, &positions, 1)]
            .into_iter()
            .enumerate()
    {
        let layout = LayoutOptions { method: LayoutMethod::Umap, epochs: Some(20), ..LayoutOptions::default() };
        let options = ProjectionOptions { space, layout, ..ProjectionOptions::default() };
        let first = cloud.cells(SELF, space)[n - 1];
        let cloud = cloud.clone();
        let job = JobId(job as u64);
        worker.submit(job, Request::Project { pane: PaneId(1), cloud, stack: SELF, options, known: None, first });
        let done = loop {
            match worker.wait().unwrap() {
                event if event.job != job => {}
                Event { kind: EventKind::Project(ProjectionAnswer::Projected(planes)), .. } => break planes,
                Event { kind: EventKind::Failed(failure), .. } => panic!("{failure:?}"),
                _ => {}
            }
        };
        assert!(done.heads.len() == n && done.is_complete(), "{}", space.title());
    }
}

/// Points of one kind are laid out as they are: no scale, no translation, no correlation.
#[test]
fn points_of_one_kind_are_laid_out_as_they_are() {
    let model = demo("demo:bert");
    let capture = Arc::new(run(&model, &Input::text("The king met the queen, and the king bowed.")));
    let n = capture.tokens(Side::Only).len();
    let cloud = PointCloud::Input(capture);
    for space in [Space::Values, Space::Residual] {
        let options = ProjectionOptions { space, ..ProjectionOptions::default() };
        let projection = project(&cloud, SELF, options, &mut |_, _| true).unwrap();
        for plane in &projection.heads {
            let points = only(&cloud, space, plane.head);
            let points = Points::new(points.as_slice(), points.n_rows(), points.n_cols()).unwrap();
            let expected = Pca::fit(points, 2).unwrap().layout(points);
            let drawn = plane.queries.iter().chain(&plane.keys);
            let drawn: Vec<f32> = drawn.flat_map(|[x, y, _]| [*x, *y]).collect();
            assert_eq!(drawn, expected);
            assert!(plane.c == 1.0 && plane.correlation_after.is_nan());
        }
        // What is told of points is told of those that there are.
        let told = tints(&cloud, space, projection.heads[0].head, ColorBy::Frequency);
        assert_eq!(told.queries.len() + told.keys.len(), n);
        // A token that is found is found in every space.
        let search = SearchQuery { text: "king".to_owned(), kind: SearchKind::Word, case: false };
        let hits = search.find(&cloud, SELF, space).unwrap();
        assert_eq!((hits.n_tokens(), hits.queries.len()), (2, 2));
        let ranked = attnscope::analysis::search::rank(&cloud, SELF, &hits, options, &mut |_, _| true).unwrap();
        assert_eq!(ranked.len(), projection.heads.len());
        assert!(ranked[0].found.score().is_some());
    }
}

/// A corpus keeps what it is told to, the same numbers as single runs; else it says that it has not.
#[test]
fn a_corpus_keeps_values_and_the_residual_stream_when_it_is_asked_to() {
    let model = demo("demo:bert");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lines.txt");
    fs::write(&path, "The king met the queen.\nA dog barks at night.\nThe boat sails.\n").unwrap();
    let list = read(&path, &ListOptions::default()).unwrap();
    let cloud = |kept: Kept| {
        let mut corpus = Corpus::new(u64::MAX);
        let options = CorpusOptions { kept, ..CorpusOptions::default() };
        capture(&model, &list, &mut corpus, &options, &uninterrupted, &mut |_| ()).unwrap();
        PointCloud::Inputs(Arc::new(CorpusView::all(Arc::new(corpus))))
    };
    let bare = cloud(Kept::default());
    assert!(bare.lacks(SELF, Space::QueriesKeys).is_none() && !bare.has_values(SELF));
    for space in [Space::Values, Space::Residual] {
        assert!(bare.lacks(SELF, space).unwrap().contains("this corpus"));
    }
    let all = Kept { values: true, residual: true };
    let whole = cloud(all);
    let texts = ["The king met the queen.", "A dog barks at night.", "The boat sails."];
    let single = texts.map(|text| PointCloud::Input(Arc::new(run(&model, &Input::text(text)))));
    for space in [Space::Values, Space::Residual] {
        for cell in whole.cells(SELF, space) {
            let expected: Vec<f32> = single.iter().flat_map(|one| only(one, space, cell).as_slice().to_vec()).collect();
            near(only(&whole, space, cell).as_slice(), &expected, &format!("{} of {cell}", space.title()));
        }
    }
    assert_eq!(whole.cells(SELF, Space::Residual).len(), model.spec().stacks[0].layers.len() + 1);
    // The estimate knows what is kept, and the parts on disk bring it back.
    let PointCloud::Inputs(view) = &whole else { panic!("a corpus") };
    let n = |side: Side| view.corpus().n_tokens(side);
    let estimate = |kept| Corpus::estimate_bytes(model.spec(), None, kept, n);
    let spec = &model.spec().stacks[0].layers;
    let values = 4 * spec.iter().map(|layer| layer.n_kv_heads * layer.d_head).sum::<usize>() * n(Side::Only);
    let stream = 4 * (spec.len() + 1) * model.spec().d_model * n(Side::Only);
    assert_eq!(estimate(all), estimate(Kept::default()) + (values + stream) as u64);
}

/// In the window: chosen by name, walked through by arrows, picked tokens stay picked from one space to another.
#[test]
fn the_window_lays_the_residual_stream_out_layer_by_layer() {
    let capture = run(&demo("demo:gpt"), &Input::text("Once upon a time there was a small dog"));
    let (n, n_layers) = (capture.tokens(Side::Only).len(), capture.model().stacks[0].layers.len());
    let mut stage = Stage::new(capture, ViewKind::Matrix);
    stage.session.panes.active_mut().options.scatter.choose_space(Space::Residual);
    assert_eq!(stage.session.pane().options.scatter.color, ColorBy::Position, "queries and keys are no colour here");
    let mut stage = stage.projected().show(vec2(900.0, 600.0));
    stage.run();
    let canvas = stage.get_by_label("Residual stream: all maps").rect();
    assert!(stage.query_by_label_contains(&format!("at {} places, {n} tokens each", n_layers + 1)).is_some());
    let has_heads = stage.query_all_by_label_contains("Head 0").any(|head| !head.accesskit_node().is_disabled());
    assert!(!has_heads, "the stream has no heads");
    // Seven places in rows of four: the last one is the final stream.
    stage.hover_at(canvas.min + canvas.size() * vec2(2.5 / 4.0, 0.75));
    stage.run();
    assert!(stage.query_by_label("Final").is_some(), "the place under the pointer is named");
    let apply = |stage: &mut egui_kittest::Harness<'static, Stage>, command| {
        let _ = stage.state_mut().session.apply(command);
        stage.run();
    };
    apply(&mut stage, session::Command::Select(session::SelectionCommand::ShowView(ViewKind::Scatter)));
    assert!(stage.query_by_label("Residual stream: Before layer 0").is_some());
    for _ in 0..n_layers {
        apply(&mut stage, session::Command::Select(session::SelectionCommand::Step(HeadStep::NextLayer)));
    }
    assert!(stage.query_by_label("Residual stream: Final").is_some());
    assert!(stage.query_by_label_contains("Final: the axes explain").is_some(), "without a scale or a correlation");
    apply(&mut stage, session::Command::Select(session::SelectionCommand::Step(HeadStep::NextLayer)));
    assert!(stage.query_by_label("Residual stream: Before layer 0").is_some(), "and around again");
    // What is picked here is a token: in the space of queries and keys both of its points.
    let points = [Spot::Query(3)].into_iter().collect();
    apply(
        &mut stage,
        session::Command::Select(session::SelectionCommand::PickPoints(points, session::PickChange::Replace)),
    );
    assert!(stage.query_by_label_contains("1 picked").is_some());
    let session = &stage.state().session;
    let picked = session.pane().picked(session.document()).unwrap();
    assert!(picked.len() == 2 && picked.contains(Spot::Key(3)));
}

#[test]
fn the_window_says_what_is_missing() {
    let mut stage = Stage::new(crate::views::sentence(), ViewKind::Matrix);
    stage.session.panes.active_mut().options.scatter.choose_space(Space::Residual);
    let mut stage = stage.show(vec2(700.0, 500.0));
    stage.run();
    assert!(stage.query_by_label_contains("The residual stream of this input was not recorded").is_some());
    let mut options = stage.state().session.pane().options.clone();
    options.scatter.choose_space(Space::Positions);
    let _ = stage.state_mut().session.apply(session::Command::SetViewOptions(options));
    stage.run();
    assert!(stage.query_by_label_contains("Position embeddings are part of the model").is_some());
}

fn attnscope(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_attnscope")).args(arguments).output().unwrap()
}

/// One line of what went wrong.
fn refused(arguments: &[&str]) -> String {
    let output = attnscope(arguments);
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stderr).trim().to_owned()
}

#[test]
fn files_of_every_space_say_which_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let text = ["--text", "Once upon a time there was a dog"];
    let written = |space: &str, name: &str, more: &[&str]| {
        let out = file(name);
        let input = if space == "positions" { &[][..] } else { &text[..] };
        let fixed = ["project", "--model", "demo:gpt", "--space", space, "--out", &out];
        let output = attnscope(&[&fixed[..], input, more].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        out
    };
    let json = |path: String| -> Value { serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap() };
    for (space, cells, n) in [("values", "heads", 48), ("residual", "layers", 7), ("positions", "tables", 1)] {
        let document = json(written(space, "space.json", &[]));
        assert_eq!(document["parameters"]["space"], space);
        assert!(document["parameters"].get("scale").is_none() && document.get("key_tokens").is_none());
        let cells = document[cells].as_array().unwrap();
        assert_eq!(cells.len(), n);
        let n_points = cells[0]["points"].as_array().unwrap().len();
        assert_eq!(n_points, document["tokens"].as_array().unwrap().len());
        assert!(cells[0].get("correlation").is_none() && cells[0]["norm"].as_f64().unwrap() > 0.0);
    }
    assert_eq!(json(written("qk", "space.json", &["--heads", "L0H0"]))["parameters"]["space"], "qk");
    let header = |path: String| fs::read_to_string(path).unwrap().lines().next().unwrap().to_owned();
    let residual = written("residual", "space.csv", &["--layers", "1,6", "--method", "umap"]);
    let lines = fs::read_to_string(&residual).unwrap().lines().count();
    assert_eq!((header(residual), lines % 2), ("layer,input,position,id,text,special,x,y".to_owned(), 1));
    assert_eq!(header(written("positions", "space.csv", &[])), "input,position,id,text,special,x,y");
    let npz = fs::File::open(written("residual", "space.npz", &["--layers", "5-6"])).unwrap();
    let npz = zip::ZipArchive::new(npz).unwrap();
    let names: Vec<String> = npz.file_names().map(|name| name.unwrap().into_owned()).collect();
    assert_eq!(names[..2], ["L5.tokens.npy", "final.tokens.npy"]);

    // Figures, and the numbers behind them.
    for (space, view, shown) in [
        ("residual", "matrix", "Before layer 5"),
        ("values", "scatter", "Values"),
        ("positions", "scatter", "Positions"),
    ] {
        let (svg, csv) = (file("figure.svg"), file("figure.csv"));
        let input = if space == "positions" { &[][..] } else { &text[..] };
        let fixed = [
            "render",
            view,
            "--model",
            "demo:gpt",
            "--space",
            space,
            "--caption",
            "full",
            "--out",
            &svg,
            "--data",
            &csv,
        ];
        let output = attnscope(&[&fixed[..], input].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let svg = fs::read_to_string(&svg).unwrap();
        assert!(svg.contains(shown), "{space}");
        assert!(svg.contains(&format!("\"space\":\"{space}\"")), "it says so itself");
        assert!(!svg.contains("correlate"), "nothing about queries and keys");
        let csv = fs::read_to_string(&csv).unwrap();
        let columns = csv.lines().next().unwrap();
        assert_eq!((columns.contains("head"), columns.contains("layer")), (space == "values", space != "positions"));
    }

    // What means nothing is refused in a sentence.
    let out = file("none.json");
    let with = |more: &[&str]| refused(&[&["project", "--out", &out][..], more].concat());
    assert!(
        with(&["--model", "demo:gpt", "--space", "values", "--text", "a", "--scale", "2"])
            .contains("--scale means nothing")
    );
    let beyond = ["--model", "demo:gpt", "--space", "residual", "--text", "a", "--layers", "9"];
    assert!(with(&beyond).contains("nothing of layer 9: the last one is 6"));
    assert!(with(&["--model", "demo:gpt", "--space", "positions", "--text", "a"]).contains("know no input"));
    assert!(
        with(&["--model", "demo:gpt", "--space", "keys", "--text", "a"]).contains("qk, values, residual, positions")
    );
    assert!(with(&["--model", "demo:classic", "--space", "positions"]).contains("one token after the other"));
    let svg = file("none.svg");
    let heads = ["render", "heads", "--model", "demo:gpt", "--text", "a", "--space", "values", "--out", &svg];
    assert!(refused(&heads).contains("leave out --space"));
}
