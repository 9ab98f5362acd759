//! What captures say about how they were made, and what recomputing makes of it: in memory and in files.

use std::{fs, io::Cursor, path::Path};

use attnscope::{
    analysis::{attention, laws, stats},
    capture::{
        Ablate, Ablation, AppliedEdit, Capture, Cut, Edit, HideToken, Knockout, Matrix, Normalize, Normalizer, Patch,
        ReplaceToken, Restrict, RowMass, Scope, SetPattern, Sharpen, SigmoidBias, Site, Sparsity,
        file::{self, Contents, Format},
    },
    digest::sha256,
    ids::{CaptureId, HeadId, Side, StackKind},
    model::{
        Encoded, Engine, ImageSource, Input, Logits, Model, ModelError, ModelFiles, RunPlan, Sites, TextInput,
        uninterrupted,
    },
    spec::CheckpointId,
};

use crate::parity::{Reference, fixture, load};

const SELF: StackKind = StackKind::SelfAttention;

fn setup(folder: &str) -> (Model, Encoded) {
    let model = load(folder);
    let encoded = model.encode(&Reference::open(folder, "reference.safetensors").input()).unwrap();
    (model, encoded)
}

fn plan(edits: Vec<Edit>) -> RunPlan {
    RunPlan { sites: Sites::all(), logits: Logits::Keep, edits, ..RunPlan::default() }
}

fn run(model: &Model, encoded: &Encoded, edits: Vec<Edit>) -> Capture {
    model.forward(encoded, &plan(edits), &uninterrupted).unwrap()
}

/// Written with these sites and read again.
fn saved(capture: &Capture, contents: Contents) -> Capture {
    let mut bytes = Vec::new();
    file::write(&[capture], contents, &mut bytes).unwrap();
    file::read(&mut Cursor::new(bytes), Format::Safetensors, "file", &mut || CaptureId(99)).unwrap().remove(0)
}

fn heads(capture: &Capture) -> Vec<HeadId> {
    let stacks = capture.model().stacks.iter();
    let heads = stacks.flat_map(|stack| {
        let layers = stack.layers.iter().enumerate();
        layers
            .flat_map(move |(layer, spec)| (0..spec.n_heads).map(move |head| HeadId { stack: stack.kind, layer, head }))
    });
    heads.collect()
}

fn difference(a: &Matrix, b: &Matrix) -> f32 {
    assert_eq!(a.shape(), b.shape());
    a.as_slice().iter().zip(b.as_slice()).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
}

/// Families whose scores are more than products of queries and keys.
#[test]
fn patterns_are_recomputed_from_a_file_that_has_none() {
    for folder in [
        "t5",
        "bloom",
        "beit",
        "deberta-v2",
        "deberta-v3",
        "mpnet",
        "gemma2",
        "modernbert",
        "llama",
        "bart",
        "led",
        "longformer",
        "longformer-questions",
    ] {
        let (model, encoded) = setup(&format!("families/{folder}"));
        let capture = run(&model, &encoded, vec![]);
        let lean = saved(&capture, Contents::of(&[Site::Q, Site::K]));
        for head in heads(&capture) {
            assert!(lean.stored_pattern(head).is_none(), "{folder}");
            let recomputed = attention::pattern(&lean, head);
            let recomputed = recomputed.unwrap_or_else(|| panic!("{folder} {head} cannot be recomputed"));
            let worst = difference(&recomputed, &capture.stored_pattern(head).unwrap());
            assert!(worst < 1e-5, "{folder} {} {head} differs by {worst:e}", head.stack);
        }
        assert_eq!(lean.prediction(), capture.prediction(), "{folder}");
    }
}

#[test]
fn layers_that_share_a_bias_share_it_after_reading_and_it_counts_once() {
    let (model, encoded) = setup("families/mpnet");
    let capture = run(&model, &encoded, vec![]);
    let again = saved(&capture, Contents::ALL);
    assert_eq!(again.size_bytes(), capture.size_bytes());
    let bias = |layer: usize| again.stack(SELF).unwrap().layers[layer].bias.clone().unwrap();
    assert_eq!(bias(0).as_slice().as_ptr(), bias(1).as_slice().as_ptr());
    let without: u64 = {
        let lean = saved(&capture, Contents::of(&[Site::Pattern]));
        lean.size_bytes()
    };
    assert!(capture.size_bytes() > without + bias(0).size_bytes());
}

#[test]
fn the_picture_and_what_was_written_come_back() {
    let model = load("vit");
    let input = Input::Image(ImageSource::Bundled("chelsea.jpg".to_owned()));
    let capture = run(&model, &model.encode(&input).unwrap(), vec![]);
    let again = saved(&capture, Contents::DEFAULT);
    assert_eq!(again.image(), capture.image(), "with its pixels");
    assert!(again.image().unwrap().source.is_some());

    let model = load("families/t5");
    let encoded = model.encode(&Input::Ids(vec![5, 9, 11, 1])).unwrap();
    let capture = run(&model, &encoded, vec![]);
    assert!(capture.generated().is_some());
    let again = saved(&capture, Contents::DEFAULT);
    assert_eq!((again.generated(), again.prediction()), (capture.generated(), capture.prediction()));
}

/// Every kind of change: said in words, kept in the file, and followed by whoever recomputes.
#[test]
fn a_changed_run_says_so_and_is_recomputed_as_it_was() {
    for folder in ["bert", "gpt2", "families/bart"] {
        let (model, encoded) = setup(folder);
        let plain = run(&model, &encoded, vec![]);
        let stack = plain.model().stacks.last().unwrap().kind;
        let given = plain.stored_pattern(HeadId { stack, layer: 0, head: 1 }).unwrap();
        let [n_query, n_key] = given.shape();
        let uniform = Matrix::new(vec![1.0 / n_key as f32; n_query * n_key], [n_query, n_key]).unwrap();
        let row = Matrix::new((0..n_key).map(|key| key as f32 * 0.25 - 1.0).collect::<Vec<_>>(), [1, n_key]).unwrap();
        let patch = |site, head, layer, value: &Matrix| {
            Edit::Patch(Patch { site, stack, layer, head: Some(head), positions: vec![1], value: value.clone() })
        };
        let edits = vec![
            Edit::HideToken(HideToken { side: stack.key_side(), position: 2 }),
            Edit::SetPattern(SetPattern { head: HeadId { stack, layer: 0, head: 1 }, pattern: uniform }),
            patch(Site::Scores, 0, 1, &row),
            patch(Site::Pattern, 1, 1, &row),
            Edit::Ablate(Ablate { head: HeadId { stack, layer: 0, head: 0 }, with: Ablation::Zero }),
        ];
        let capture = run(&model, &encoded, edits.clone());
        let note = capture.notes()[0].clone();
        assert!(note.contains("was changed") && note.contains("token 2") && note.contains("and 1 more"), "{note}");
        let again = saved(&capture, Contents::ALL);
        assert_eq!(again.computation(), capture.computation(), "{folder}");
        assert_eq!(again.notes()[0], note, "{folder}");
        let known: Vec<_> = edits.into_iter().map(AppliedEdit::Known).collect();
        assert_eq!(again.computation().edits, known, "{folder}");
        let lean = saved(&capture, Contents::of(&[Site::Q, Site::K]));
        for head in heads(&capture) {
            let stored = again.stored_pattern(head).unwrap();
            let worst = difference(&attention::pattern(&lean, head).unwrap(), &stored);
            assert!(worst < 1e-5, "{folder} {} {head} differs by {worst:e}", head.stack);
        }
        for law in laws::check(&capture) {
            assert!(!law.is_broken(), "{folder}: {law:?}");
        }
        assert!(plain.notes().iter().all(|note| !note.contains("changed")), "{:?}", plain.notes());
    }
}

/// Every kind of change that bears on attention, one at a time.
#[test]
fn every_kind_of_change_is_kept_and_followed() {
    for folder in ["bert", "gpt2", "families/llama", "families/t5", "families/rnnsearch-dot"] {
        let (model, encoded) = setup(folder);
        let plain = run(&model, &encoded, vec![]);
        let stack = plain.model().stacks.last().unwrap().kind;
        let head = |layer, head| HeadId { stack, layer, head };
        let last = head(plain.model().stack(stack).unwrap().layers.len() - 1, 0);
        let rowwise = folder.contains("rnnsearch");
        let mut edits = vec![
            Edit::Ablate(Ablate { head: head(0, 0), with: Ablation::Uniform }),
            Edit::Ablate(Ablate { head: last, with: Ablation::Shuffle { seed: 7 } }),
            Edit::Sharpen(Sharpen { head: last, by: 3.0 }),
            Edit::Knockout(Knockout { stack, scope: Scope::All, edges: vec![[3, 1], [2, 0]], cut: Cut::Scores }),
            Edit::Knockout(Knockout { stack, scope: Scope::Heads(vec![last]), edges: vec![[3, 1]], cut: Cut::Pattern }),
            Edit::Restrict(Restrict {
                stack,
                scope: Scope::Layers(vec![0]),
                to: Sparsity::Window { reach: 1, dilation: 2, n_global: 1 },
            }),
            Edit::Restrict(Restrict { stack, scope: Scope::All, to: Sparsity::Blocks { size: 3 } }),
            Edit::Normalize(Normalize { scope: Scope::All, with: Normalizer::Entmax(1.5) }),
            Edit::Normalize(Normalize { scope: Scope::Heads(vec![last]), with: Normalizer::Sparsemax }),
            Edit::Normalize(Normalize { scope: Scope::Heads(vec![last]), with: Normalizer::Fusedmax(0.2) }),
            Edit::Normalize(Normalize { scope: Scope::Heads(vec![last]), with: Normalizer::ChainSimplex(0.5) }),
            Edit::Normalize(Normalize { scope: Scope::Heads(vec![last]), with: Normalizer::Chain(0.5) }),
            Edit::Normalize(Normalize { scope: Scope::All, with: Normalizer::SparsemapChain(-0.5) }),
            Edit::Normalize(Normalize { scope: Scope::All, with: Normalizer::Sigmoid(SigmoidBias::MinusLogKeys) }),
            Edit::Normalize(Normalize { scope: Scope::Heads(vec![last]), with: Normalizer::Argmax }),
            Edit::Normalize(Normalize { scope: Scope::All, with: Normalizer::Sample { seed: 7, draw: 2 } }),
            Edit::Normalize(Normalize { scope: Scope::All, with: Normalizer::Entmax(1.3) }),
            Edit::ReplaceToken(ReplaceToken { side: stack.key_side(), position: 1, id: 7 }),
        ];
        if !rowwise {
            edits.push(Edit::Ablate(Ablate { head: head(0, 0), with: Ablation::Mean }));
        }
        for edit in edits {
            let capture = run(&model, &encoded, vec![edit.clone()]);
            let again = saved(&capture, Contents::ALL);
            assert_eq!(again.computation().edits, [AppliedEdit::Known(edit.clone())], "{folder}");
            let lean = saved(&capture, Contents::of(&[Site::Q, Site::K]));
            let mut changed = capture.tokens(stack.key_side()) != plain.tokens(stack.key_side());
            for head in heads(&capture).into_iter().filter(|head| lean.q(*head).is_some()) {
                let stored = capture.stored_pattern(head).unwrap();
                let worst = difference(&attention::pattern(&lean, head).unwrap(), &stored);
                assert!(worst < 1e-5, "{folder}, {edit}: {} {head} differs by {worst:e}", head.stack);
                changed |= difference(&plain.stored_pattern(head).unwrap(), &stored) > 1e-4;
            }
            assert!(changed || matches!(edit, Edit::Ablate(Ablate { with: Ablation::Mean, .. })), "{folder}: {edit}");
            let broken: Vec<_> =
                laws::check(&capture).into_iter().filter(attnscope::analysis::laws::Law::is_broken).collect();
            assert!(broken.is_empty(), "{folder}, {edit}: {broken:?}");
            let moved = plain.logits().unwrap().as_slice().iter().zip(capture.logits().unwrap().as_slice());
            assert!(moved.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max) > 1e-5, "{folder}: {edit} moves no logit");
        }
    }
}

/// A head that attends evenly has all the entropy that it could have, among the keys that windows, masks and changes
/// leave.
#[test]
fn even_attention_has_all_the_entropy_that_is_possible() {
    for folder in ["bert", "gpt2", "gemma2", "modernbert", "longformer-questions", "bart"] {
        let place = if matches!(folder, "bert" | "gpt2") { folder.to_owned() } else { format!("families/{folder}") };
        let (model, encoded) = setup(&place);
        let plain = run(&model, &encoded, vec![]);
        for head in heads(&plain).into_iter().filter(|head| head.head == 1) {
            let stack = head.stack;
            let changes = [
                None,
                Some(Edit::HideToken(HideToken { side: stack.key_side(), position: 1 })),
                Some(Edit::Knockout(Knockout {
                    stack,
                    scope: Scope::All,
                    edges: vec![[3, 1], [3, 2]],
                    cut: Cut::Scores,
                })),
                Some(Edit::Restrict(Restrict { stack, scope: Scope::All, to: Sparsity::Blocks { size: 3 } })),
            ];
            for change in changes {
                let even = Edit::Ablate(Ablate { head, with: Ablation::Uniform });
                let capture = run(&model, &encoded, change.clone().into_iter().chain([even]).collect());
                let own = stats::stack_stats(&capture, stack)[head.layer][head.head].unwrap();
                let fraction = own.entropy_fraction;
                assert!((fraction - 1.0).abs() < 1e-4, "{folder} {} {head}, {change:?}: {fraction}", head.stack);
            }
        }
    }
}

/// A score that an edit writes beyond the diagonal is no longer masked.
#[test]
fn an_edit_of_scores_can_open_a_future_key() {
    let (model, encoded) = setup("gpt2");
    let scores = run(&model, &encoded, vec![]).layer(HeadId::single(0, 0)).unwrap().scores().cloned().unwrap();
    let mut row = scores.head(2).unwrap().row(1).unwrap().to_vec();
    assert_eq!(row[3], f32::NEG_INFINITY);
    row[3] = 2.0;
    let n = row.len();
    let value = Matrix::new(row, [1, n]).unwrap();
    let edit =
        Edit::Patch(Patch { site: Site::Scores, stack: SELF, layer: 0, head: Some(2), positions: vec![1], value });
    let capture = run(&model, &encoded, vec![edit]);
    let pattern = capture.stored_pattern(HeadId::single(0, 2)).unwrap();
    let row = pattern.row(1).unwrap();
    assert!(row[3] > 0.05, "{row:?}");
    assert!((row.iter().sum::<f32>() - 1.0).abs() < 1e-5);
    // What the head adds follows, and other rows and heads stay masked.
    let layer = capture.layer(HeadId::single(0, 2)).unwrap();
    let (z, v) = (layer.z().unwrap().head(2).unwrap(), capture.v(HeadId::single(0, 2)).unwrap());
    let expected: f32 = row.iter().enumerate().map(|(key, weight)| weight * v.get(key, 0).unwrap()).sum();
    assert!((z.get(1, 0).unwrap() - expected).abs() < 1e-5);
    assert_eq!(pattern.get(0, 1), Some(0.0));
    assert_eq!(capture.stored_pattern(HeadId::single(0, 1)).unwrap().get(1, 3), Some(0.0));
}

#[test]
fn edits_of_what_is_not_there_are_refused_by_name() {
    let (model, encoded) = setup("bert");
    let matrix = || Matrix::new(vec![0.0; 32], [1, 32]).unwrap();
    let patch = |site, stack, layer, positions: Vec<usize>| {
        Edit::Patch(Patch {
            site,
            stack,
            layer,
            head: None,
            value: Matrix::new(vec![0.0; 32 * positions.len()], [positions.len(), 32]).unwrap(),
            positions,
        })
    };
    let cases = [
        (Edit::Ablate(Ablate { head: HeadId { stack: SELF, layer: 7, head: 0 }, with: Ablation::Zero }), "L7"),
        (Edit::Ablate(Ablate { head: HeadId { stack: SELF, layer: 0, head: 9 }, with: Ablation::Zero }), "L0H9"),
        (
            Edit::Ablate(Ablate { head: HeadId { stack: StackKind::Cross, layer: 0, head: 0 }, with: Ablation::Zero }),
            "no stack cross",
        ),
        (Edit::SetPattern(SetPattern { head: HeadId { stack: SELF, layer: 2, head: 0 }, pattern: matrix() }), "L2"),
        (Edit::HideToken(HideToken { side: Side::Encoder, position: 0 }), "the side encoder"),
        (Edit::HideToken(HideToken { side: Side::Only, position: 500 }), "no token 500"),
        (patch(Site::ResidPre, SELF, 12, vec![0]), "L12"),
        (patch(Site::ResidPre, SELF, 0, vec![]), "0 rows of resid_pre.L0"),
        (patch(Site::ResidFinal, StackKind::Decoder, 0, vec![0]), "no stack decoder"),
    ];
    for (edit, words) in cases {
        let text = match model.forward(&encoded, &plan(vec![edit.clone()]), &uninterrupted) {
            Err(ModelError::Edit(text)) => text,
            other => panic!("{edit:?}: {:?}", other.map(drop)),
        };
        assert!(text.contains(words), "{edit:?} does not say {words:?}: {text}");
    }
    // A recurrent model has no residual stream, so nothing there can be replaced.
    let (model, encoded) = setup("families/rnnsearch-dot");
    let edit = patch(Site::ResidPre, StackKind::Cross, 0, vec![0]);
    let refused = model.forward(&encoded, &plan(vec![edit]), &uninterrupted).err().unwrap().to_string();
    assert!(refused.contains("touches nothing") && refused.contains("cross.resid_pre.L0"), "{refused}");
}

/// What only another version knows is kept, shown, and stops what would be wrong.
#[test]
fn unknown_changes_forbid_recomputing_and_known_normalisers_are_followed() {
    let model = load("gpt2");
    let text = Input::Text(TextInput { text: "The cat".to_owned(), ..TextInput::default() });
    let capture = run(&model, &model.encode(&text).unwrap(), vec![]);
    let mut bytes = Vec::new();
    file::write(&[&capture], Contents::of(&[Site::Q, Site::K]), &mut bytes).unwrap();
    let with = |from: &str, to: &str| {
        // The same number of bytes, so that everything stays where it is.
        let at = bytes.windows(from.len()).position(|window| window == from.as_bytes()).unwrap();
        let mut changed = bytes.clone();
        changed.splice(at..at + from.len(), to.bytes());
        let n = u64::from_le_bytes(bytes[..8].try_into().unwrap()) + to.len() as u64 - from.len() as u64;
        changed[..8].copy_from_slice(&n.to_le_bytes());
        file::read(&mut Cursor::new(changed), Format::Safetensors, "file", &mut || CaptureId(9))
    };
    let head = HeadId::single(0, 0);
    let entmax = with("\"normalizer\":\"softmax\"", "\"normalizer\":\"entmax:1.5\"").unwrap().remove(0);
    assert_eq!(entmax.computation().normalizer, Normalizer::Entmax(1.5));
    assert!(entmax.notes()[0].contains("1.5-entmax"), "{:?}", entmax.notes());
    assert!(attention::scores(&entmax, head).is_some());
    let row = attention::pattern(&entmax, head).unwrap();
    let worst = row.rows().map(|row| (row.iter().sum::<f32>() - 1.0).abs()).fold(0.0, f32::max);
    assert!(worst < 1e-6 && row != attention::pattern(&capture, head).unwrap(), "it is normalised as the file says");
    let edits = "\"edits\":\"[{\\\"reshape\\\":\\\"L0H0\\\",\\\"by\\\":2}]\",\"normalizer\":\"softmax\"";
    let reshaped = with("\"normalizer\":\"softmax\"", edits).unwrap().remove(0);
    assert!(matches!(&reshaped.computation().edits[..], [AppliedEdit::Foreign(json)] if json.contains("reshape")));
    assert!(reshaped.notes()[0].contains("reshape"), "{:?}", reshaped.notes());
    assert!(attention::pattern(&reshaped, head).is_none() && !attention::has_pattern(&reshaped, head));
    let wrong = with("\"normalizer\":\"softmax\"", "\"normalizer\":\"hardmax\"").unwrap_err().to_string();
    assert!(wrong.contains("normalizer") && wrong.contains("hardmax"), "{wrong}");
    assert_eq!(capture.row_mass(HeadId::single(0, 0)), RowMass::Full);
}

/// The fixture `gpt2` in a folder of its own.
fn copied(folder: &Path) {
    for name in ["config.json", "model.safetensors", "tokenizer.json"] {
        fs::copy(fixture("gpt2").join(name), folder.join(name)).unwrap();
    }
}

fn checkpoint(folder: &Path) -> CheckpointId {
    let model =
        Model::load(&ModelFiles::folder(folder), "copy", &Engine::cpu(Some(1)).unwrap(), &uninterrupted).unwrap();
    model.spec().checkpoint.clone().unwrap()
}

#[test]
fn a_model_is_known_by_the_files_that_it_was_read_from() {
    let folder = tempfile::tempdir().unwrap();
    copied(folder.path());
    let id = checkpoint(folder.path());
    assert_eq!(id.revision, None, "this is no snapshot of the hub");
    let names: Vec<&String> = id.files.keys().collect();
    assert_eq!(names, ["config.json", "model.safetensors", "tokenizer.json"]);
    let lines = id.files.iter().map(|(name, digest)| format!("{digest}  {name}\n"));
    assert_eq!(id.checksum, sha256(lines.collect::<String>().as_bytes()), "as sha256sum has it");
    for (name, digest) in &id.files {
        assert_eq!(*digest, sha256(&fs::read(folder.path().join(name)).unwrap()), "{name}");
    }
    fs::write(folder.path().join("README.md"), "not a part of the model").unwrap();
    assert_eq!(checkpoint(folder.path()), id);
    let mut weights = fs::read(folder.path().join("model.safetensors")).unwrap();
    *weights.last_mut().unwrap() ^= 1;
    fs::write(folder.path().join("model.safetensors"), weights).unwrap();
    let other = checkpoint(folder.path());
    assert_ne!(other.checksum, id.checksum, "one bit of one weight is another");
    assert_eq!(other.files["config.json"], id.files["config.json"]);
}

#[cfg(unix)]
#[test]
fn a_snapshot_of_the_hub_has_its_commit_and_the_names_of_its_blobs() {
    let cache = tempfile::tempdir().unwrap();
    let (commit, blob) = ("0123456789abcdef0123456789abcdef01234567", "ab".repeat(32));
    let (blobs, snapshot) = (cache.path().join("blobs"), cache.path().join("snapshots").join(commit));
    fs::create_dir_all(&blobs).unwrap();
    fs::create_dir_all(&snapshot).unwrap();
    copied(&snapshot);
    fs::rename(snapshot.join("model.safetensors"), blobs.join(&blob)).unwrap();
    std::os::unix::fs::symlink(Path::new("../../blobs").join(&blob), snapshot.join("model.safetensors")).unwrap();
    let id = checkpoint(&snapshot);
    assert_eq!(id.revision.as_deref(), Some(commit));
    assert_eq!(id.files["model.safetensors"], blob, "the cache names large contents by their digest");
    assert_eq!(id.files["config.json"], sha256(&fs::read(snapshot.join("config.json")).unwrap()));
}

#[test]
fn a_capture_file_names_the_files_of_its_model() {
    let (model, encoded) = setup("gpt2");
    let capture = run(&model, &encoded, Vec::new());
    assert!(capture.model().checkpoint.as_ref().is_some_and(|id| id.files.contains_key("model.safetensors")));
    assert_eq!(saved(&capture, Contents::DEFAULT).model().checkpoint, capture.model().checkpoint);
}
