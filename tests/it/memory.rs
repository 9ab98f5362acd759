//! Memory of a run: the estimate against what a process really takes, and what is refused.

use std::{fs, path::Path, process::Command};

use attnscope::model::{
    Engine, Generation, Input, Instead, Logits, Model, ModelError, ModelFiles, Objective, RunPlan, Site, Sites, Taps,
    uninterrupted,
};
use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use tempfile::TempDir;

use crate::parity::fixture;

/// A fixture that may read long texts; its positions are turned, so no weights say how many there are.
fn long(name: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in ["config.json", "model.safetensors"] {
        fs::copy(fixture(&format!("families/{name}")).join(file), folder.path().join(file)).unwrap();
    }
    let path = folder.path().join("config.json");
    let mut config: serde_json::Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    config["max_position_embeddings"] = 100_000.into();
    fs::write(path, config.to_string()).unwrap();
    folder
}

/// The same of a Longformer, whose table of positions is made as long.
fn long_in_windows() -> TempDir {
    const TABLE: &str = "longformer.embeddings.position_embeddings.weight";
    let folder = long("longformer-classifier");
    let path = folder.path().join("model.safetensors");
    let bytes = fs::read(&path).unwrap();
    let weights = SafeTensors::deserialize(&bytes).unwrap();
    let width = weights.tensor(TABLE).unwrap().shape()[1];
    let zeros = vec![0u8; 4 * 100_000 * width];
    let table = TensorView::new(Dtype::F32, vec![100_000, width], &zeros).unwrap();
    let others = weights.iter().filter(|(name, _)| *name != TABLE).map(|(name, view)| (name.to_owned(), view));
    let all: Vec<(String, TensorView<'_>)> = others.chain([(TABLE.to_owned(), table)]).collect();
    let bytes = safetensors::serialize(all, None).unwrap();
    fs::write(path, bytes).unwrap();
    folder
}

fn open(folder: &Path, engine: &Engine) -> Model {
    Model::load(&ModelFiles::open(folder).unwrap(), "long", engine, &uninterrupted).unwrap()
}

fn ids(n: usize) -> Input {
    Input::Ids((0..n).map(|at| (at % 40) as u32).collect())
}

/// The most that a process of its own holds while it captures `n` tokens, in bytes.
fn measured(folder: &Path, n: usize, sites: &str) -> f64 {
    let timings = folder.join("timings.json");
    let ids: Vec<String> = (0..n).map(|at| (at % 40).to_string()).collect();
    let output = Command::new(env!("CARGO_BIN_EXE_attnscope"))
        .args(["capture", "--model", folder.to_str().unwrap(), "--ids", &ids.join(","), "--sites", sites])
        .args(["--threads", "2", "--timings", timings.to_str().unwrap()])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let timings: serde_json::Value = serde_json::from_str(&fs::read_to_string(timings).unwrap()).unwrap();
    timings["peak_rss_mb"].as_f64().unwrap() * f64::from(1 << 20)
}

/// Patterns are the larger part from a thousand tokens on; below, the program itself is.
#[test]
#[cfg(target_os = "linux")]
fn the_estimate_is_what_a_process_takes() {
    // Windows and caps leave no copies behind.
    for name in ["llama", "gemma2"] {
        let (taken, estimated) = taken_and_estimated(&long(name), "q,k,v,pattern", Sites::standard());
        let ratio = taken / estimated;
        assert!((0.4..=1.2).contains(&ratio), "{name}: {taken:.3e} of {estimated:.3e}");
    }
}

/// Threads, stacks and buffers of products, which the first long run brings with it.
const OWN: f64 = 40e6;

#[test]
#[cfg(target_os = "linux")]
fn without_patterns_nothing_grows_with_the_square_of_the_length() {
    let of = [("llama", 8.0, long("llama")), ("gemma2", 4.0, long("gemma2")), ("longformer", 3.0, long_in_windows())];
    for (name, n_heads, folder) in of {
        let one_layer = n_heads * 4.0 * f64::from(LONG as u32).powi(2);
        let (taken, estimated) = taken_and_estimated(&folder, "q,k,v", Sites::of(&[Site::Q, Site::K, Site::V]));
        assert!(taken <= estimated + OWN && taken < one_layer / 2.0, "{name}: {taken:.3e} of {estimated:.3e}");
        assert!(estimated < one_layer / 2.0, "{name}: {estimated:.3e}");
    }
}

const LONG: usize = 2500;

/// Bytes that a capture of [`LONG`] tokens takes, and what was said before.
fn taken_and_estimated(folder: &TempDir, sites: &str, recorded: Sites) -> (f64, f64) {
    let model = open(folder.path(), &Engine::cpu(Some(1)).unwrap());
    let plan = RunPlan { sites: recorded, logits: Logits::Skip, pattern_budget_bytes: u64::MAX, ..RunPlan::default() };
    let taken = measured(folder.path(), LONG, sites) - measured(folder.path(), 16, sites);
    (taken, model.peak_bytes(&model.encode(&ids(LONG)).unwrap(), &plan) as f64)
}

/// Beyond some thousand tokens a hidden layer exists in pieces, where nobody wants it whole.
#[test]
fn what_is_recorded_changes_no_bit_of_a_long_input() {
    let folder = long_in_windows();
    let model = open(folder.path(), &Engine::cpu(Some(2)).unwrap());
    let encoded = model.encode(&ids(5000)).unwrap();
    let end = |sites: &[Site]| {
        let sites = Sites::of(sites).with(Site::ResidFinal);
        let plan = RunPlan { sites, logits: Logits::Skip, ..RunPlan::default() };
        let capture = model.forward(&encoded, &plan, &uninterrupted).unwrap();
        capture.stacks()[0].resid_final().cloned().unwrap()
    };
    let alone = end(&[]);
    assert_eq!(alone.n_rows(), 5000);
    assert!(alone == end(&[Site::MlpHidden, Site::MlpOut]));
}

/// What a refusal says, and what it says might be left out.
fn refusal(result: Result<impl Sized, ModelError>) -> (u64, u64, usize, usize, Instead) {
    let error = result.err().unwrap();
    let (text, advice) = (error.to_string(), error.details());
    let ModelError::TooLarge { needed, available, n, fitting, instead } = error else { panic!("{error:?}") };
    assert!(text.contains("of memory besides the model, but only") && text.contains("are free"), "{text}");
    assert!(advice.contains(&format!("first {fitting} of the {n} tokens")), "{advice}");
    (needed, available, n, fitting, instead)
}

#[test]
fn a_text_for_which_there_is_no_room_is_refused_and_told_what_fits() {
    let folder = long("llama");
    let limit = 40_000_000;
    let model = open(folder.path(), &Engine::cpu(Some(1)).unwrap().with_run_memory(limit));
    // With a smaller budget so long a pattern is not even computed.
    let plan = RunPlan { pattern_budget_bytes: u64::MAX, ..RunPlan::default() };
    let run = |n: usize, plan: &RunPlan| model.forward(&model.encode(&ids(n)).unwrap(), plan, &uninterrupted);
    let (needed, available, n, fitting, _) = refusal(run(16_384, &plan));
    assert_eq!((available, n), (limit, 16_384));
    // Without patterns longer ones fit, which is said, and so.
    let (.., instead) = refusal(run(4096, &plan));
    assert_eq!(instead, Instead::NoPatterns);
    run(4096, &RunPlan { sites: Sites::of(&[Site::Q, Site::K, Site::V]), ..plan.clone() }).unwrap();
    // Two layers of eight heads, one of them at work and what the budget keeps.
    assert!(needed > 8 * 4 * 16_384 * 16_384, "{needed}");
    assert!((100..4000).contains(&fitting), "{fitting}");
    run(fitting, &plan).unwrap();
    refusal(run(fitting + fitting / 4, &plan));
    // A prompt counts before its text is written, and gradients keep every layer.
    refusal(run(16_384, &RunPlan { generate: Some(Generation::default()), ..plan.clone() }));
    let encoded = model.encode(&ids(fitting)).unwrap();
    let objective = Objective::SquaredNorm { position: 0 };
    let (.., instead) = refusal(model.pattern_gradients(&encoded, objective.clone(), &[], &uninterrupted));
    assert_eq!(instead, Instead::FewerSites);
    // Beside those of the input the gradients of patterns are what is too much.
    let taps = Taps { sites: Sites::of(&[Site::Embed, Site::Pattern]), fixed_patterns: false };
    let gradients = |taps| model.gradients(&encoded, &RunPlan::silent(), objective.clone(), taps, &uninterrupted);
    let (.., instead) = refusal(gradients(taps));
    assert_eq!(instead, Instead::NoPatterns);
    gradients(Taps::of(&[Site::Embed])).unwrap();
    // Nothing is left of a run that was refused.
    run(16, &plan).unwrap();
}
