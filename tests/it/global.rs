//! Windows, and tokens that see all: which pairs exist, whose values count, what is kept, what is refused.

use std::{fs, io::Cursor, process::Command};

use attnscope::{
    analysis::{
        attention,
        reading::{Blank, Captures, ReadPattern, Reading, Source, read},
    },
    capture::{
        Capture, Edit, SeeAll, Site,
        file::{self, Contents, Format},
    },
    ids::{CaptureId, HeadId, Side},
    model::{Engine, Input, Model, ModelFiles, RunPlan, Sites, uninterrupted},
    raster::{
        ColorMap, ColorRange,
        heatmap::{MaskedCells as _, RowsSee, heatmap},
    },
    style::Ground,
};
use serde_json::{Value, json};

use crate::families::{folder, open};

fn capture_of(name: &str) -> Capture {
    let (model, reference) = open(name);
    let plan = RunPlan { sites: Sites::all(), ..RunPlan::default() };
    model.forward(&model.encode(&reference.input()).unwrap(), &plan, &uninterrupted).unwrap()
}

fn shown(capture: &Capture, reading: &Reading) -> ReadPattern {
    read(Captures::one(capture), reading).unwrap()
}

/// The class decides who sees all: the first token, a question, a choice, or nobody.
#[test]
fn views_say_which_pairs_exist() {
    for (name, global, windows) in [
        ("longformer", vec![], vec![4, 8, 6]),
        ("longformer-classifier", vec![0], vec![6, 6]),
        ("longformer-questions", (0..5).collect(), vec![4, 8, 6]),
        ("longformer-choices", (14..20).collect(), vec![4, 10]),
    ] {
        let capture = capture_of(name);
        let n = capture.tokens(Side::Only).len();
        for (layer, window) in windows.into_iter().enumerate() {
            let head = HeadId::single(layer, 1);
            assert_eq!(capture.global_tokens(head), global, "{name}");
            let pattern = shown(&capture, &Reading::of(head));
            let picture = heatmap(
                &pattern.matrix,
                ColorMap::Viridis.on(Ground::Light),
                ColorRange::linear(0.0, 1.0),
                &RowsSee {
                    visible: pattern.visible.clone(),
                    everywhere: pattern.everywhere.clone(),
                    ..RowsSee::default()
                },
            );
            for (query, key) in (0..n).flat_map(|query| (0..n).map(move |key| (query, key))) {
                let exists = query.abs_diff(key) <= window / 2 || global.contains(&query) || global.contains(&key);
                let at = format!("{name}, L{layer}: {query} → {key}");
                assert_eq!(pattern.sees(query, key), exists, "{at}");
                assert_eq!(pattern.blank(query, key), (!exists).then_some(Blank::OutOfWindow), "{at}");
                assert_eq!(pattern.value(query, key).unwrap() > 0.0, exists, "{at}");
                let pixel = &picture.pixels[4 * (query * n + key)..][..4];
                assert_eq!(pixel == [0; 4], !exists, "{at}");
            }
        }
        let note = capture.notes().iter().any(|note| note.contains("all others"));
        assert_eq!(note, !global.is_empty(), "{name}: {:?}", capture.notes());
    }
}

/// A picture with fewer pixels than tokens keeps the columns that all see.
#[test]
fn a_reduced_picture_keeps_what_all_see() {
    let visible = (0..100usize).map(|row| row.saturating_sub(2)..(row + 3).min(100)).collect();
    let sight = RowsSee { visible, everywhere: vec![0, 1, 60], ..RowsSee::default() }.reduced([100, 100], [10, 10]);
    assert_eq!(sight.everywhere, [0, 6]);
}

#[test]
fn weights_by_value_are_by_the_values_that_a_query_moves() {
    let capture = capture_of("longformer-questions");
    let head = HeadId::single(1, 0);
    let weights = shown(&capture, &Reading::of(head));
    let weighed = shown(&capture, &Reading { source: Source::ByValueNorm, ..Reading::of(head) });
    let layer = capture.layer(head).unwrap();
    for (query, values) in [(2, layer.v_global.as_ref()), (9, layer.v())] {
        let values = values.unwrap().head(head.head).unwrap();
        let length = |key: usize| values.row(key).unwrap().iter().map(|x| x * x).sum::<f32>().sqrt();
        let products: Vec<f32> =
            (0..weights.cols.len()).map(|key| weights.value(query, key).unwrap() * length(key)).collect();
        let sum: f32 = products.iter().sum();
        for (key, product) in products.iter().enumerate() {
            let found = weighed.value(query, key).unwrap();
            assert!((found - product / sum).abs() < 1e-5, "{query} → {key}: {found}, not {}", product / sum);
        }
    }
}

#[test]
fn a_file_keeps_who_sees_all_and_what_they_see() {
    let capture = capture_of("longformer-questions");
    let mut bytes = Vec::new();
    file::write(&[&capture, &capture], Contents::of(&[Site::Q, Site::K]), &mut bytes).unwrap();
    let saved = |bytes: Vec<u8>| {
        file::read(&mut Cursor::new(bytes), Format::Safetensors, "file", &mut || CaptureId(7)).unwrap().pop().unwrap()
    };
    let head = HeadId::single(2, 1);
    let lean = saved(bytes.clone());
    assert_eq!(lean.global_tokens(head), [0, 1, 2, 3, 4]);
    assert!(lean.k_global(head).is_some() && lean.v_global(head).is_none());
    assert_eq!(lean.k_global(head), capture.k_global(head));
    assert!(attention::pattern(&lean, head).is_some());
    // Without their keys nobody knows what the question sees.
    for at in 0..bytes.len() - 8 {
        if &bytes[at..at + 8] == b"k_global" {
            bytes[at..at + 8].copy_from_slice(b"k_others");
        }
    }
    let without = saved(bytes);
    assert!(!attention::has_pattern(&without, head) && attention::pattern(&without, head).is_none());
}

/// A checkpoint whose configuration says something else.
fn changed(name: &str, key: &str, value: Value) -> Result<Model, String> {
    let copy = tempfile::tempdir().unwrap();
    fs::copy(folder().join(name).join("model.safetensors"), copy.path().join("model.safetensors")).unwrap();
    let config = fs::read_to_string(folder().join(name).join("config.json")).unwrap();
    let mut config: Value = serde_json::from_str(&config).unwrap();
    config[key] = value;
    fs::write(copy.path().join("config.json"), config.to_string()).unwrap();
    let files = ModelFiles::open(copy.path()).unwrap();
    Model::load(&files, name, &Engine::cpu(Some(1)).unwrap(), &uninterrupted).map_err(|error| error.to_string())
}

#[test]
fn what_has_no_meaning_is_refused_by_name() {
    for (name, key, value) in [
        ("longformer", "attention_window", json!([4, 7, 6])),
        ("longformer", "attention_window", json!([4, 8])),
        ("longformer", "attention_window", json!(0)),
        ("led", "attention_window", json!("wide")),
        ("longformer", "attention_dilation", json!([1, 2, 1])),
        ("longformer", "autoregressive", json!(true)),
        ("led", "max_encoder_position_embeddings", json!(41)),
    ] {
        let error = changed(name, key, value.clone()).err().unwrap_or_else(|| panic!("{key}: {value} was accepted"));
        let said = if key.starts_with("max") { "embed_positions" } else { key };
        assert!(error.contains(said), "{name} {key}: {error}");
    }
    assert!(changed("longformer", "attention_dilation", json!([1, 1, 1])).is_ok());
    // A class that lets nobody see all says so, whatever its maps are.
    for name in ["longformer", "led"] {
        let (model, _) = open(name);
        assert!(model.audit().warnings.iter().any(|warning| warning.contains("beyond its window")), "{name}");
    }
}

#[test]
fn a_question_without_its_text_is_refused() {
    for name in ["longformer-questions", "longformer-choices"] {
        let (model, _) = open(name);
        let encoded = model.encode(&Input::Ids(vec![0, 7, 9, 2])).unwrap();
        let error = model.forward(&encoded, &RunPlan::default(), &uninterrupted).unwrap_err();
        assert!(error.to_string().contains("1 separator where"), "{error}");
        assert!(error.details().contains("two texts"), "{}", error.details());
        // What looks a model over gives it what it wants.
        let program = Command::new(env!("CARGO_BIN_EXE_attnscope")).arg("check").arg(folder().join(name)).output();
        let report = String::from_utf8(program.unwrap().stdout).unwrap();
        assert!(report.contains("holds") && !report.contains("does not hold"), "{name}: {report}");
    }
}

fn with_edits(model: &Model, ids: &[u32], edits: Vec<Edit>) -> Result<Capture, String> {
    let plan = RunPlan { sites: Sites::all(), edits, ..RunPlan::default() };
    model.forward(&model.encode(&Input::Ids(ids.into())).unwrap(), &plan, &uninterrupted).map_err(|e| e.to_string())
}

fn see_all(positions: &[usize]) -> Vec<Edit> {
    vec![Edit::SeeAll(SeeAll { positions: positions.to_vec() })]
}

/// The tokens that are chosen take the place of those of the class, and a capture keeps that they were chosen.
#[test]
fn the_tokens_that_see_all_are_chosen() {
    let ids: Vec<u32> = (5..24).collect();
    let (classifier, _) = open("longformer-classifier");
    let head = HeadId::single(1, 2);
    let by_class = with_edits(&classifier, &ids, Vec::new()).unwrap();
    let chosen = with_edits(&classifier, &ids, see_all(&[0])).unwrap();
    assert_eq!(by_class.stored_pattern(head), chosen.stored_pattern(head), "the same tokens, the same bits");
    let others = with_edits(&classifier, &ids, see_all(&[7, 3, 7])).unwrap();
    assert_eq!(others.global_tokens(head), [3, 7]);
    assert!(
        others.visibility_of(head).unwrap().sees(7, 18, 19, 19)
            && !others.visibility_of(head).unwrap().sees(0, 18, 19, 19)
    );
    let nobody = with_edits(&classifier, &ids, see_all(&[])).unwrap();
    assert!(nobody.global_tokens(head).is_empty() && nobody.k_global(head).is_none());

    let mut bytes = Vec::new();
    file::write(&[&others], Contents::of(&[Site::Q, Site::K]), &mut bytes).unwrap();
    let saved = file::read(&mut Cursor::new(bytes), Format::Safetensors, "file", &mut || CaptureId(7)).unwrap();
    assert_eq!(saved[0].computation(), others.computation());
    let near = |a: f32, b: f32| (a - b).abs() < 1e-5;
    let (again, plain) = (attention::pattern(&saved[0], head).unwrap(), others.stored_pattern(head).unwrap());
    assert!(again.as_slice().iter().zip(plain.as_slice()).all(|(a, b)| near(*a, *b)), "it is recomputed as it was run");

    let error = with_edits(&classifier, &ids, see_all(&[19])).unwrap_err();
    assert!(error.contains("there is no token 19 among 19"), "{error}");
    let error = with_edits(&classifier, &ids, [see_all(&[1]), see_all(&[2])].concat()).unwrap_err();
    assert!(error.contains("contradict each other"), "{error}");
    let (bert, _) = open("bert");
    let error = with_edits(&bert, &ids, see_all(&[1])).unwrap_err();
    assert!(error.contains("needs a model that has tokens that see all"), "{error}");
}

/// A part of a pattern is computed from the keys of its windows and of the tokens that see all alone.
#[test]
fn parts_of_a_pattern_have_the_bits_of_the_whole() {
    for (name, edits) in [("longformer-questions", vec![]), ("longformer-chosen", see_all(&[0, 7, 8, 20]))] {
        let (model, reference) = open(name);
        let plan = RunPlan { sites: Sites::of(&[Site::Q, Site::K]), edits, ..RunPlan::default() };
        let capture = model.forward(&model.encode(&reference.input()).unwrap(), &plan, &uninterrupted).unwrap();
        for (layer, head) in (0..3).flat_map(|layer| (0..3).map(move |head| (layer, head))) {
            let head = HeadId::single(layer, head);
            let whole = attention::pattern(&capture, head).unwrap();
            for start in 0..whole.n_rows() {
                let rows = start..(start + 5).min(whole.n_rows());
                let part = attention::pattern_rows(&capture, head, rows.clone()).unwrap();
                assert_eq!(Some(part), whole.window(rows), "{name} {head} from {start}");
            }
        }
    }
}

#[test]
fn the_command_line_chooses_who_sees_all() {
    let out = tempfile::tempdir().unwrap();
    let file = |name: &str| out.path().join(name).display().to_string();
    let capture = |more: &[&str], name: &str| {
        let model = folder().join("longformer-tokens").display().to_string();
        let ids = "5,6,7,8,9,10,11";
        let fixed = ["capture", "--model", &model, "--ids", ids, "--out", &file(name)].map(str::to_owned);
        let mut program = Command::new(env!("CARGO_BIN_EXE_attnscope"));
        program.args(fixed).args(more).output().unwrap()
    };
    for (more, name) in [(["--global", "1, 6"], "a.safetensors"), (["--edit", r#"{"global":[1,6]}"#], "b.safetensors")]
    {
        let output = capture(&more, name);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains("2 tokens see all others"), "{said}");
    }
    assert_eq!(fs::read(file("a.safetensors")).unwrap(), fs::read(file("b.safetensors")).unwrap());
    let wrong = capture(&["--global", "one"], "c.safetensors");
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("`one` is not a position"));
}
