//! Every recorded site against `PyTorch` (`tests/fixtures`), and the laws that tie the sites together.

use std::{collections::HashMap, fs, path::PathBuf, sync::Arc};

use attnscope::{
    capture::{Capture, Edit, LayerCapture, Matrix, PerHead, SeeAll},
    ids::{HeadId, StackKind},
    model::{Engine, Input, Logits, Model, ModelFiles, RunPlan, Sites, uninterrupted},
};
use safetensors::{Dtype, SafeTensors};

/// Largest difference from `PyTorch` at any site. The fixtures are sharpened, so that single-precision
/// rounding is amplified as in a trained model.
const TOLERANCE: f32 = 1e-5;

pub fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

pub fn load(name: &str) -> Model {
    let files = ModelFiles::open(&fixture(name)).unwrap();
    Model::load(&files, name, &Engine::cpu(Some(2)).unwrap(), &uninterrupted).unwrap()
}

/// Numbers of a reference file by name, with their shapes.
pub struct Reference(HashMap<String, (Vec<usize>, Vec<f32>)>);

impl Reference {
    pub fn open(folder: &str, file: &str) -> Self {
        let bytes = fs::read(fixture(folder).join(file)).unwrap();
        let tensors = SafeTensors::deserialize(&bytes).unwrap();
        let tensors = tensors.iter().map(|(name, view)| {
            let values = match view.dtype() {
                Dtype::F32 => view.data().chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect(),
                Dtype::I64 => {
                    view.data().chunks_exact(8).map(|b| i64::from_le_bytes(b.try_into().unwrap()) as f32).collect()
                }
                other => panic!("{name} is {other:?}"),
            };
            (name.to_owned(), (view.shape().to_vec(), values))
        });
        Self(tensors.collect())
    }

    /// What the reference was computed from.
    pub fn input(&self) -> Input {
        let ids = |name: &str| Some(Input::Ids(self.0.get(name)?.1.iter().map(|id| *id as u32).collect()));
        let pixels = self
            .0
            .get("pixel_values")
            .map(|(shape, pixels)| Input::Pixels { data: pixels.clone().into(), size_px: (shape[1], shape[2]) });
        match (pixels, ids("input_ids"), ids("decoder_input_ids")) {
            (Some(source), Some(target), _)
            | (Some(source), None, Some(target))
            | (None, Some(source), Some(target)) => source.with_target(target),
            (Some(source), None, None) | (None, Some(source), None) => source,
            (None, None, _) => panic!("the reference has no input"),
        }
    }

    /// What the reference was told besides its input, as changes of the run: which tokens see all.
    pub fn edits(&self) -> Vec<Edit> {
        let Some((_, mask)) = self.0.get("global_attention_mask") else { return Vec::new() };
        vec![Edit::SeeAll(SeeAll { positions: (0..mask.len()).filter(|position| mask[*position] != 0.0).collect() })]
    }

    /// Whether a tensor is what the reference was computed from, or text it wrote.
    pub fn is_input(name: &str) -> bool {
        name.ends_with("_ids") || name.ends_with("_mask") || name == "pixel_values"
    }

    /// All tensors: name, shape, values.
    pub fn tensors(&self) -> impl Iterator<Item = (&str, &[usize], &[f32])> {
        self.0.iter().map(|(name, (shape, values))| (name.as_str(), shape.as_slice(), values.as_slice()))
    }

    /// What the model writes greedily, if it does.
    pub fn generated(&self) -> Option<Vec<u32>> {
        Some(self.0.get("generated_ids")?.1.iter().map(|id| *id as u32).collect())
    }

    fn check(&self, name: &str, shape: &[usize], values: &[f32], tolerance: f32) {
        let (expected_shape, expected) = &self.0[name];
        let expected_shape: Vec<_> = expected_shape.iter().rev().copied().chain([1]).take(shape.len()).collect();
        let expected_shape: Vec<_> = expected_shape.into_iter().rev().collect();
        assert_eq!(shape, expected_shape, "{name}");
        let mut worst = 0.0f32;
        for (value, expected) in values.iter().zip(expected) {
            // Masked scores are equal infinities, whose difference is no number.
            if value != expected {
                worst = worst.max((value - expected).abs() / expected.abs().max(1.0));
            }
        }
        assert!(worst <= tolerance, "{name} differs by {worst:e}");
    }
}

fn everything() -> RunPlan {
    RunPlan { sites: Sites::all(), logits: Logits::Keep, ..RunPlan::default() }
}

fn run(model: &Model, input: &Input, plan: &RunPlan) -> Capture {
    model.forward(&model.encode(input).unwrap(), plan, &uninterrupted).unwrap()
}

fn layers(capture: &Capture) -> &[LayerCapture] {
    &capture.stack(StackKind::SelfAttention).unwrap().layers
}

fn check_against(folder: &str, file: &str) {
    let reference = Reference::open(folder, file);
    let capture = run(&load(folder), &reference.input(), &everything());
    for (layer, sites) in layers(&capture).iter().enumerate() {
        let per_head = [
            ("q", sites.q()),
            ("k", sites.k()),
            ("v", sites.v()),
            ("scores", sites.scores()),
            ("pattern", sites.pattern()),
            ("z", sites.z()),
        ];
        for (site, data) in per_head {
            let data: &PerHead = data.unwrap();
            reference.check(&format!("self.{layer}.{site}"), &data.shape(), data.as_slice(), TOLERANCE);
        }
        let resid: &Matrix = sites.resid_pre().unwrap();
        reference.check(&format!("self.{layer}.resid_pre"), &resid.shape(), resid.as_slice(), TOLERANCE);
    }
    let last = capture.stacks()[0].resid_final().unwrap();
    reference.check("self.resid_final", &last.shape(), last.as_slice(), TOLERANCE);
    match capture.logits() {
        Some(logits) => reference.check("logits", &logits.shape(), logits.as_slice(), TOLERANCE),
        None => assert!(!reference.0.contains_key("logits"), "{folder} has a head"),
    }
}

#[test]
fn bert_matches_pytorch_at_every_site() {
    check_against("bert", "reference.safetensors");
}

#[test]
fn bert_without_prefix_or_head_matches_pytorch() {
    check_against("bert-bare", "reference.safetensors");
}

#[test]
fn bert_with_old_names_matches_pytorch_and_says_what_it_renamed() {
    check_against("bert-old", "reference.safetensors");
    let audit = load("bert-old").audit().clone();
    assert!(audit.renamed.iter().any(|(_, found)| found.ends_with("LayerNorm.gamma")), "{:?}", audit.renamed);
    assert!(audit.unexpected.iter().any(|name| name == "cls.seq_relationship.weight"), "{:?}", audit.unexpected);
}

#[test]
fn sharded_bert_matches_pytorch() {
    check_against("bert-sharded", "reference.safetensors");
}

#[test]
fn bert_classifier_matches_pytorch_and_names_its_classes() {
    check_against("bert-classifier", "reference.safetensors");
    let reference = Reference::open("bert-classifier", "reference.safetensors");
    let capture = run(&load("bert-classifier"), &reference.input(), &RunPlan::default());
    let rows = &capture.prediction().unwrap().rows;
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].position, None);
    let mut labels: Vec<_> = rows[0].top.iter().map(|item| item.label.as_str()).collect();
    labels.sort_unstable();
    assert_eq!(labels, ["negative", "neutral", "positive"]);
}

#[test]
fn gpt2_matches_pytorch_at_every_site() {
    check_against("gpt2", "reference.safetensors");
}

#[test]
fn gpt2_without_prefix_matches_pytorch() {
    check_against("gpt2-bare", "reference.safetensors");
}

#[test]
fn gpt2_in_bf16_matches_pytorch() {
    check_against("gpt2-bf16", "reference.safetensors");
    assert!(load("gpt2-bf16").audit().dtypes.iter().all(|(name, _)| name == "BF16"));
}

#[test]
fn vit_matches_pytorch_at_every_site() {
    check_against("vit", "reference.safetensors");
}

#[test]
fn vit_in_f16_matches_pytorch() {
    check_against("vit-f16", "reference.safetensors");
}

#[test]
fn vit_interpolates_positions_like_pytorch() {
    check_against("vit", "reference_interpolated.safetensors");
}

#[test]
fn recording_never_changes_the_logits() {
    for folder in ["bert", "gpt2", "vit"] {
        let input = Reference::open(folder, "reference.safetensors").input();
        let model = load(folder);
        let silent = RunPlan { sites: Sites::NONE, ..everything() };
        let (with, without) = (run(&model, &input, &everything()), run(&model, &input, &silent));
        assert_eq!(with.logits().unwrap().as_slice(), without.logits().unwrap().as_slice(), "{folder}");
        assert!(layers(&without).iter().all(|layer| layer.q().is_none() && layer.pattern().is_none()));
    }
}

#[test]
fn sites_obey_the_laws_of_attention() {
    for folder in ["bert", "gpt2", "vit"] {
        let model = load(folder);
        let capture = run(&model, &Reference::open(folder, "reference.safetensors").input(), &everything());
        let stack = &model.spec().stacks[0];
        for (layer, spec) in stack.layers.iter().enumerate() {
            for head in 0..spec.n_heads {
                check_laws(&capture, HeadId::single(layer, head), spec.scale, stack.causal);
            }
        }
    }
}

fn check_laws(capture: &Capture, head: HeadId, scale: f32, causal: bool) {
    let (q, k) = (capture.q(head).unwrap(), capture.k(head).unwrap());
    let scores = capture.layer(head).unwrap().scores().unwrap().head(head.head).unwrap();
    let pattern = capture.stored_pattern(head).unwrap();
    for query in 0..q.n_rows() {
        let row = scores.row(query).unwrap();
        let max = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum: f64 = row.iter().map(|score| f64::from(score - max).exp()).sum();
        for (key, &score) in row.iter().enumerate() {
            let weight = pattern.get(query, key).unwrap();
            if causal && key > query {
                assert_eq!((score, weight), (f32::NEG_INFINITY, 0.0), "{head} attends ahead");
                continue;
            }
            let dot: f32 = q.row(query).unwrap().iter().zip(k.row(key).unwrap()).map(|(q, k)| q * k).sum();
            assert!((dot * scale - score).abs() < 1e-4, "{head}: q·k is {} and the score {score}", dot * scale);
            let softmax = f64::from(score - max).exp() / sum;
            assert!(
                (f64::from(weight) - softmax).abs() < 1e-6,
                "{head}: softmax is {softmax} and the pattern {weight}"
            );
        }
        let total: f32 = pattern.row(query).unwrap().iter().sum();
        assert!((total - 1.0).abs() < 1e-5, "{head}: row {query} sums to {total}");
    }
}

#[test]
fn patterns_over_the_budget_are_left_out_but_queries_are_kept() {
    let model = load("bert");
    let input = Reference::open("bert", "reference.safetensors").input();
    let one_layer = 4 * 4 * 15 * 15;
    let capture = run(&model, &input, &RunPlan { pattern_budget_bytes: one_layer, ..RunPlan::default() });
    let stored: Vec<_> = layers(&capture).iter().map(|layer| layer.pattern().is_some()).collect();
    assert_eq!(stored, [true, false]);
    assert!(layers(&capture).iter().all(|layer| layer.q().is_some() && layer.k().is_some() && layer.v().is_some()));
    assert!(capture.notes().iter().any(|note| note.contains("not stored")), "{:?}", capture.notes());
}

#[test]
fn sharp_attention_is_not_called_uniform() {
    let input: Vec<u32> = (5..17).collect();
    let sharp = run(&load("gpt2"), &Input::Ids(input), &RunPlan::default());
    assert!(sharp.notes().iter().all(|note| !note.contains("uniform")), "{:?}", sharp.notes());
}

#[test]
fn a_run_can_be_cancelled_between_any_two_steps() {
    use attnscope::model::{Cancelled, ModelError, Progress};
    use std::sync::atomic::{AtomicUsize, Ordering};
    let model = load("gpt2");
    let encoded = model.encode(&Input::Ids(vec![1, 2, 3])).unwrap();
    let steps = AtomicUsize::new(0);
    let count = |_: Progress| {
        steps.fetch_add(1, Ordering::Relaxed);
        Ok(())
    };
    model.forward(&encoded, &RunPlan::default(), &count).unwrap();
    let n_steps = steps.load(Ordering::Relaxed);
    assert!(n_steps >= 2 * model.spec().stacks[0].layers.len(), "only {n_steps} places to stop");
    for stop_at in 0..n_steps {
        let left = Arc::new(AtomicUsize::new(stop_at));
        let stop = move |_: Progress| {
            left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| n.checked_sub(1))
                .map(drop)
                .map_err(|_| Cancelled)
        };
        let result = model.forward(&encoded, &RunPlan::default(), &stop);
        assert!(matches!(result, Err(ModelError::Cancelled(_))), "not stopped at step {stop_at}");
    }
}

/// Queries of zero make every score the same, as in a checkpoint that was never trained.
#[test]
fn attention_without_queries_is_called_uniform() {
    let folder = tempfile::tempdir().unwrap();
    for file in ["config.json", "tokenizer.json"] {
        fs::copy(fixture("bert").join(file), folder.path().join(file)).unwrap();
    }
    let bytes = fs::read(fixture("bert").join("model.safetensors")).unwrap();
    let tensors = SafeTensors::deserialize(&bytes).unwrap();
    let zeroed: Vec<(String, Vec<usize>, Vec<u8>)> = tensors
        .iter()
        .map(|(name, view)| {
            let mut data = view.data().to_vec();
            if name.contains("attention.self.query") {
                data.fill(0);
            }
            (name.to_owned(), view.shape().to_vec(), data)
        })
        .collect();
    let views = zeroed.iter().map(|(name, shape, data)| {
        (name.as_str(), safetensors::tensor::TensorView::new(Dtype::F32, shape.clone(), data).unwrap())
    });
    safetensors::serialize_to_file(views, None, &folder.path().join("model.safetensors")).unwrap();
    let files = ModelFiles::open(folder.path()).unwrap();
    let model = Model::load(&files, "untrained", &Engine::cpu(Some(1)).unwrap(), &uninterrupted).unwrap();
    let reference = Reference::open("bert", "reference.safetensors");
    let capture = run(&model, &reference.input(), &RunPlan::default());
    assert!(capture.notes().iter().any(|note| note.contains("nearly uniform")), "{:?}", capture.notes());
}
