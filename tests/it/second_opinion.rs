//! Checkpoints held against an independent implementation: every fixture, what is damaged, on the command line and in
//! the window.

use std::{collections::HashMap, fs, path::Path, sync::Arc};

use attnscope::{
    ids::{ModelId, StackKind},
    model::{
        Compared, Comparison, Engine, Input, LIBRARY, Model, ModelError, ModelFiles, Verdict, audit::Audit, locate,
        uninterrupted,
    },
    protocol::{EventKind, LoadAnswer, LoadedModel, Request},
    session::Command,
};
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use safetensors::{Dtype, SafeTensors, tensor::TensorView};

use crate::{
    families,
    lab::fixture,
    parity,
    render::attnscope,
    support::{
        play::{Play, bundled},
        window::{Window, with_text},
    },
};

/// Fixtures of architectures that the library has, and what the comparison says.
const COMPARED: [(&str, Verdict); 33] = [
    ("bert", Verdict::Agree),
    ("bert-bare", Verdict::Agree),
    ("bert-classifier", Verdict::Agree),
    ("bert-old", Verdict::Agree),
    ("bert-sharded", Verdict::Agree),
    ("vit", Verdict::Agree),
    ("vit-f16", Verdict::Agree),
    ("families/bert", Verdict::Agree),
    ("families/bert-next-sentence", Verdict::Agree),
    ("families/bert-score", Verdict::Agree),
    ("families/bert-tokens", Verdict::Agree),
    ("families/clip", Verdict::AgreeOtherwise),
    ("families/clip-highest-id", Verdict::Agree),
    ("families/distilbert", Verdict::AgreeOtherwise),
    ("families/distilbert-classifier", Verdict::Agree),
    ("families/distilbert-regression", Verdict::AgreeOtherwise),
    ("families/gemma", Verdict::Agree),
    ("families/gemma2", Verdict::AgreeOtherwise),
    ("families/gemma3", Verdict::AgreeOtherwise),
    ("families/marian", Verdict::AgreeOtherwise),
    ("families/mistral", Verdict::Agree),
    ("families/mt5", Verdict::Agree),
    ("families/phi3", Verdict::AgreeOtherwise),
    ("families/qwen2", Verdict::Agree),
    ("families/qwen3", Verdict::Agree),
    ("families/qwen3-window", Verdict::Agree),
    ("families/sentence-transformer", Verdict::Agree),
    ("families/siglip", Verdict::Agree),
    ("families/siglip-vision", Verdict::Agree),
    ("families/t5", Verdict::Agree),
    ("families/t5-encoder", Verdict::Agree),
    ("families/t5-gated", Verdict::Agree),
    ("families/vit-interpolated", Verdict::Agree),
];

fn files(name: &str) -> ModelFiles {
    ModelFiles::open(&parity::fixture(name)).unwrap()
}

fn compared(name: &str) -> Result<Comparison, ModelError> {
    let (model, input) = fixture(name);
    model.against_library(&files(name), &input, &uninterrupted)
}

#[test]
fn every_fixture_is_compared_or_says_why_it_cannot_be() {
    let beside = COMPARED.iter().map(|(name, _)| (*name).to_owned()).filter(|name| !name.contains('/'));
    let all = families::families().into_iter().map(|name| format!("families/{name}")).chain(beside);
    let mut wrong = Vec::new();
    for name in all {
        let expected = COMPARED.iter().find(|(known, _)| *known == name).map(|(_, verdict)| *verdict);
        match (compared(&name), expected) {
            (Ok(comparison), Some(expected)) => {
                let lines = comparison.lines().join("; ");
                println!("{name}: {lines}");
                if comparison.verdict() != expected {
                    wrong.push(format!("{name}: {:?} instead of {expected:?}: {lines}", comparison.verdict()));
                }
                let named = comparison.verdict() != Verdict::AgreeOtherwise || !comparison.deviations.is_empty();
                assert!(named && comparison.sentence().contains(LIBRARY), "{name}: {}", comparison.sentence());
            }
            (Ok(comparison), None) => wrong.push(format!("{name} was compared: {}", comparison.lines().join("; "))),
            (Err(ModelError::Opinion(why)), None) => println!("{name} is not compared: {why}"),
            (Err(error), _) => wrong.push(format!("{name}: {error}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn bundled_models_are_compared_where_the_library_has_their_architecture() {
    for (name, text, compares) in [
        ("demo:bert", "the cat [MASK]", true),
        ("demo:sentiment", "a fine film", true),
        ("demo:translate", "the cat sleeps", true),
        ("demo:gpt", "Once upon a time", false),
        ("demo:classic", "the cat sleeps", false),
    ] {
        let (files, name) = locate::model(name).unwrap();
        let model = Model::load(&files, &name, &Engine::cpu(Some(2)).unwrap(), &uninterrupted).unwrap();
        let input = model.encode(&Input::text(text)).unwrap();
        match model.against_library(&files, &input, &uninterrupted) {
            Ok(comparison) => {
                println!("{name}: {}", comparison.lines().join("; "));
                assert!(compares && comparison.verdict() != Verdict::Differ, "{name}: {}", comparison.sentence());
            }
            Err(error) => assert!(!compares && model.audit().second_opinion.is_some(), "{name}: {error}"),
        }
    }
}

/// Heads of Llama that share the width, with each rotary embedding that the library knows.
#[test]
fn llama_is_compared_with_the_rotary_embeddings_that_the_library_knows() {
    let stretched = serde_json::json!({
        "rope_type": "llama3", "rope_theta": 1000.0, "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
        "original_max_position_embeddings": 24,
    });
    for rope in [serde_json::json!({ "rope_type": "default", "rope_theta": 1000.0 }), stretched] {
        let folder = copied("families/llama-yarn");
        let path = folder.path().join("config.json");
        let mut config: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        config["rope_parameters"] = rope;
        fs::write(&path, config.to_string()).unwrap();
        let files = ModelFiles::open(folder.path()).unwrap();
        let model = Model::load(&files, "llama", &Engine::cpu(Some(2)).unwrap(), &uninterrupted).unwrap();
        let input = model.encode(&Input::Ids((3..40).collect())).unwrap();
        let comparison = model.against_library(&files, &input, &uninterrupted).unwrap();
        println!("llama: {}", comparison.lines().join("; "));
        assert_eq!(comparison.verdict(), Verdict::Agree, "{}", comparison.sentence());
    }
}

/// PyTorch's own files; the library looks under one key alone.
#[test]
fn files_of_pytorch_are_read_by_the_library_too() {
    for (weights, of, refusal) in [
        ("vit-f16.bin", "vit-f16", None),
        ("bert-tied.bin", "bert", None),
        ("bert-wrapped.bin", "bert", Some("model.state_dict")),
    ] {
        let folder = copied(of);
        let to = folder.path().join("pytorch_model.bin");
        fs::remove_file(folder.path().join("model.safetensors")).unwrap();
        fs::copy(parity::fixture("bin").join(weights), to).unwrap();
        let files = ModelFiles::open(folder.path()).unwrap();
        let model = Model::load(&files, of, &Engine::cpu(Some(2)).unwrap(), &uninterrupted);
        let model = model.unwrap_or_else(|error| panic!("{weights}: {error}"));
        let input = model.encode(&parity::Reference::open(of, "reference.safetensors").input()).unwrap();
        match (model.against_library(&files, &input, &uninterrupted), refusal) {
            (Ok(comparison), None) => {
                assert_eq!(comparison.verdict(), Verdict::Agree, "{weights}: {}", comparison.sentence());
            }
            (Err(error), Some(words)) => assert!(error.to_string().contains(words), "{weights}: {error}"),
            (found, _) => panic!("{weights}: {found:?}"),
        }
    }
}

/// A copy of a fixture.
fn copied(name: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(parity::fixture(name)).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
    }
    folder
}

/// The same with one tensor multiplied.
fn damaged(name: &str, tensor: &str, factor: f32) -> tempfile::TempDir {
    let folder = copied(name);
    let path = folder.path().join("model.safetensors");
    let bytes = fs::read(&path).unwrap();
    let (n_header, _) = SafeTensors::read_metadata(&bytes).unwrap();
    let start = {
        let tensors = SafeTensors::deserialize(&bytes).unwrap();
        let data = tensors.tensor(tensor).unwrap().data();
        data.as_ptr() as usize - bytes.as_ptr() as usize..data.as_ptr() as usize - bytes.as_ptr() as usize + data.len()
    };
    assert!(start.start >= n_header);
    let mut changed = bytes.clone();
    for value in changed[start].chunks_exact_mut(4) {
        let number = f32::from_le_bytes(<[u8; 4]>::try_from(&*value).unwrap()) * factor;
        value.copy_from_slice(&number.to_le_bytes());
    }
    fs::write(&path, changed).unwrap();
    folder
}

/// Both read the same file, so what only one of them reads otherwise is what a comparison can find.
#[test]
fn a_tensor_that_only_the_library_reads_otherwise_is_found() {
    for (name, tensors) in [
        (
            "families/qwen3",
            &[
                "model.layers.1.self_attn.v_proj.weight",
                "model.layers.0.mlp.down_proj.weight",
                "model.layers.1.input_layernorm.weight",
                "model.norm.weight",
            ][..],
        ),
        (
            "families/bert",
            &["bert.encoder.layer.1.attention.self.value.weight", "bert.encoder.layer.0.output.dense.bias"],
        ),
        ("families/t5", &["decoder.block.1.layer.1.EncDecAttention.v.weight"]),
        ("families/siglip", &["vision_model.encoder.layers.1.mlp.fc1.weight"]),
    ] {
        let (model, input) = fixture(name);
        for tensor in tensors {
            let folder = damaged(name, tensor, 1.2);
            let files = ModelFiles::open(folder.path()).unwrap();
            let comparison = model.against_library(&files, &input, &uninterrupted).unwrap();
            assert_eq!(comparison.verdict(), Verdict::Differ, "{name} {tensor}: {}", comparison.sentence());
            assert!(comparison.sentence().contains("no reason is known"), "{}", comparison.sentence());
        }
    }
}

/// What is damaged in the file is the same for both: seen is what is unlike the rest of the file.
#[test]
fn a_damaged_tensor_of_a_file_is_named_by_check() {
    for (tensor, factor) in [
        ("bert.encoder.layer.1.attention.self.query.weight", 100.0),
        ("bert.encoder.layer.1.attention.output.LayerNorm.weight", 1e3),
        ("bert.encoder.layer.0.output.dense.bias", 1e3),
        ("bert.encoder.layer.0.output.LayerNorm.bias", 1e-3),
    ] {
        let folder = damaged("families/bert", tensor, factor);
        let folder = folder.path().to_str().unwrap();
        let output = attnscope(&["check", folder, "--brief", "--ids", "1,2,3,4,5", "--against", "candle"]);
        let told = String::from_utf8_lossy(&output.stdout);
        let unlike = told.lines().find(|line| line.starts_with("Unlike other layers: ")).unwrap_or_default();
        assert!(unlike.contains(tensor), "{tensor}: {told}");
        assert!(told.contains("computes the same"), "{told}");
    }
    let whole = parity::fixture("families/bert");
    let output = attnscope(&["check", whole.to_str().unwrap(), "--brief", "--ids", "1,2,3,4,5"]);
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && !told.contains("Unlike") && !told.contains("Against"), "{told}");
}

#[test]
fn check_says_how_far_both_agree_and_fails_where_nobody_can_be_asked() {
    let text = ["--brief", "--against", "candle", "--text", "the cat sat"];
    let output = attnscope(&[&["check", "demo:bert"][..], &text].concat());
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for words in ["Against candle-transformers (bert)", "stored as", "largest difference", "relative", "at position"] {
        assert!(told.contains(words), "{words}: {told}");
    }
    assert!(told.contains("self 5 × 5"), "the text that was given is read: {told}");
    let output = attnscope(&[&["check", "demo:gpt"][..], &text].concat());
    let (told, error) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.code() == Some(1) && error.contains("“gpt2”") && told.contains("Laws"), "{error}");
    assert_eq!(attnscope(&["check", "demo:gpt", "--against", "torch"]).status.code(), Some(2));
}

/// The library's DINOv2 has one size of picture, so this one is made here: random, narrow and shallow.
#[test]
fn dinov2_is_compared_at_the_size_that_the_library_is_made_for() {
    const WIDTH: usize = 8;
    let folder = tempfile::tempdir().unwrap();
    let mut random = noise(7);
    let mut tensors: HashMap<String, (Vec<usize>, Vec<u8>)> = HashMap::new();
    let mut add = |name: String, shape: &[usize], around: f64| {
        let n: usize = shape.iter().product();
        let values = (0..n).flat_map(|_| ((around + 0.3 * random()) as f32).to_le_bytes());
        tensors.insert(format!("dinov2.{name}"), (shape.to_vec(), values.collect()));
    };
    add("embeddings.cls_token".into(), &[1, 1, WIDTH], 0.0);
    add("embeddings.mask_token".into(), &[1, WIDTH], 0.0);
    add("embeddings.position_embeddings".into(), &[1, 37 * 37 + 1, WIDTH], 0.0);
    add("embeddings.patch_embeddings.projection.weight".into(), &[WIDTH, 3, 14, 14], 0.0);
    add("embeddings.patch_embeddings.projection.bias".into(), &[WIDTH], 0.0);
    for norm in ["weight", "bias"] {
        add(format!("layernorm.{norm}"), &[WIDTH], 1.0);
    }
    for layer in 0..2 {
        let name = |part: &str| format!("encoder.layer.{layer}.{part}");
        for (part, d_in, d_out) in [
            ("attention.attention.query", WIDTH, WIDTH),
            ("attention.attention.key", WIDTH, WIDTH),
            ("attention.attention.value", WIDTH, WIDTH),
            ("attention.output.dense", WIDTH, WIDTH),
            ("mlp.fc1", WIDTH, 4 * WIDTH),
            ("mlp.fc2", 4 * WIDTH, WIDTH),
        ] {
            add(name(&format!("{part}.weight")), &[d_out, d_in], 0.0);
            add(name(&format!("{part}.bias")), &[d_out], 0.0);
        }
        for part in ["norm1.weight", "norm1.bias", "norm2.weight", "norm2.bias"] {
            add(name(part), &[WIDTH], 1.0);
        }
        add(name("layer_scale1.lambda1"), &[WIDTH], 1.0);
        add(name("layer_scale2.lambda1"), &[WIDTH], 1.0);
    }
    let views: HashMap<&str, TensorView<'_>> = tensors
        .iter()
        .map(|(name, (shape, bytes))| (name.as_str(), TensorView::new(Dtype::F32, shape.clone(), bytes).unwrap()))
        .collect();
    fs::write(folder.path().join("model.safetensors"), safetensors::serialize(views, None).unwrap()).unwrap();
    let config = serde_json::json!({
        "model_type": "dinov2", "architectures": ["Dinov2Model"], "hidden_size": WIDTH, "num_hidden_layers": 2,
        "num_attention_heads": 2, "mlp_ratio": 4, "image_size": 518, "patch_size": 14, "hidden_act": "gelu",
        "layer_norm_eps": 1e-6, "qkv_bias": true,
    });
    fs::write(folder.path().join("config.json"), config.to_string()).unwrap();
    let comparison = compare_picture(folder.path(), 28);
    println!("dinov2: {}", comparison.lines().join("; "));
    assert_eq!(comparison.verdict(), Verdict::AgreeOtherwise, "{}", comparison.sentence());
    assert!(comparison.sentence().contains("tanh formula"), "{}", comparison.sentence());
    assert_eq!(comparison.agreements[0].of, Compared::Final(StackKind::SelfAttention));
    assert_eq!(comparison.agreements[0].shape, [37 * 37, WIDTH]);
}

/// Numbers from −1 to 1, always the same ones (Knuth's linear congruence).
fn noise(mut state: u64) -> impl FnMut() -> f64 {
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

fn compare_picture(folder: &Path, side: usize) -> Comparison {
    let files = ModelFiles::open(folder).unwrap();
    let model = Model::load(&files, "made", &Engine::cpu(Some(2)).unwrap(), &uninterrupted).unwrap();
    let mut random = noise(3);
    let data: Vec<f32> = (0..3 * side * side).map(|_| random() as f32).collect();
    let input = model.encode(&Input::Pixels { data: data.into(), size_px: (side, side) }).unwrap();
    model.against_library(&files, &input, &uninterrupted).unwrap()
}

#[test]
fn the_window_asks_on_a_click_and_says_what_came_of_it() {
    const BUTTON: &str = "Compare with candle's implementation";
    let mut window = Window::open(with_text("one two three"));
    window.harness.get_by_label_contains("Details: ").click();
    window.settle();
    window.settle();
    window.click(BUTTON);
    window.settle();
    let asked = |window: &Window| {
        let script = window.jobs.0.borrow();
        script.submitted.iter().filter(|(_, request)| matches!(request, Request::SecondOpinion(..))).count()
    };
    assert_eq!(asked(&window), 1);
    assert!(window.app().session().document().second_opinion.is_pending());
    let found = compared("families/distilbert").unwrap();
    window.jobs.say(EventKind::SecondOpinion(Arc::new(found.clone())));
    window.until("the answer", |window| window.shows(&found.sentence()));
    assert!(window.shows("On “one two three”: "), "it is said of which input");
    // What was found on one text is no verdict on another.
    window.app().request(Command::OpenText("four five".to_owned()));
    window.settle();
    assert!(!window.shows("On “one two three”: ") && !window.shows("On “four five”: "));
    assert!(window.shows("On “one two three”, which is not read now: "));
}

/// Where nothing can be asked the button is grey, and the reason stands below it.
#[test]
fn what_cannot_be_compared_says_why() {
    let mut window = Window::open(with_text("one two three"));
    let model = LoadedModel::clone(window.app().session().document().model.latest().unwrap());
    window.jobs.answer(false);
    window.app().request(Command::OpenModel(bundled("demo:other")));
    window.settle();
    let audit = Audit { second_opinion: Some("it has no such family".to_owned()), ..model.audit.clone() };
    let other = LoadedModel { id: ModelId(9), source: bundled("demo:other"), audit, ..model };
    window.jobs.say(EventKind::Load(LoadAnswer::Loaded(Arc::new(other))));
    window.settle();
    window.harness.get_by_label_contains("Details: ").click();
    window.settle();
    window.settle();
    let button = window.harness.get_by_label("Compare with candle's implementation");
    assert!(button.accesskit_node().is_disabled());
    assert!(window.shows("candle-transformers cannot be asked about this checkpoint: it has no such family"));
}

#[test]
fn another_model_is_another_question() {
    let mut play = Play::showing("one two three");
    play.does(Command::AskSecondOpinion);
    assert_eq!(play.asked_names(), ["second opinion"]);
    let found = Arc::new(compared("families/bert").unwrap());
    play.hears(play.last_job(), EventKind::SecondOpinion(Arc::clone(&found)));
    assert!(play.session.document().second_opinion.latest().is_some());
    play.asked.clear();
    play.does(Command::AskSecondOpinion);
    let job = play.last_job();
    play.asked.clear();
    play.does(Command::OpenModel(bundled("demo:bert")));
    play.answers();
    assert!(play.session.document().second_opinion.latest().is_none());
    play.hears(job, EventKind::SecondOpinion(found));
    assert!(play.session.document().second_opinion.latest().is_none(), "an answer about the model before");
}
