//! Every kind of change, in every kind of network, against hooks in `PyTorch` (`tests/fixtures/generate_edits.py`).

use std::{collections::BTreeSet, fs};

use attnscope::{
    capture::{
        Ablate, Ablation, Along, Capture, Cut, Direction, Knockout, Normalize, Normalizer, Patch, Restrict, Sharpen,
        Sparsity, changes,
    },
    ids::HeadId,
    model::{
        Edit, Encoded, Logits, Model, ModelError, RunPlan, Site, Sites,
        kernels::{KernelPath, with_path},
        uninterrupted,
    },
};
use safetensors::SafeTensors;
use serde_json::Value as Json;

use crate::{lab::fixture, parity};

/// Largest difference, relative to the largest number that is compared where that is above 1.
const TOLERANCE: f32 = 1e-5;
/// The least that a change does to some logit, in PyTorch.
const LEAST: f32 = 1e-3;
const FAMILIES: [&str; 10] = [
    "bert",
    "gpt2",
    "llama",
    "t5",
    "marian",
    "vit",
    "clip",
    "rnnsearch-additive",
    "rnnsearch-dot",
    "rnnsearch-bilinear",
];

/// Kinds that are of other families, of the order of tokens, or computed again from patterns: see `tests/it/adapters.rs`,
/// `tests/it/experts.rs`,
/// `tests/it/global.rs`, `tests/it/order.rs` and `tests/it/edits.rs`.
const ELSEWHERE: [&str; 7] = ["adapter", "expert", "global", "local", "no_positions", "permute", "span"];

/// What a change is called there. A kind that is new has to be named here, and then to be there.
fn kind(edit: &Edit) -> String {
    let name = match edit {
        Edit::Ablate(Ablate { with: Ablation::Zero, .. }) => "ablate zero",
        Edit::Ablate(Ablate { with: Ablation::Mean, .. }) => "ablate mean",
        Edit::Ablate(Ablate { with: Ablation::Uniform, .. }) => "ablate uniform",
        Edit::Ablate(Ablate { with: Ablation::Shuffle { .. }, .. }) => "ablate shuffle",
        Edit::SetPattern(_) => "pattern",
        Edit::Sharpen(_) => "sharpen",
        Edit::HideToken(_) => "hide",
        Edit::SeeAll(_) => "global",
        Edit::ReplaceToken(_) => "replace",
        Edit::MaskToken(_) => "mask",
        Edit::Local(_) => "local",
        Edit::AdaptiveSpan(_) => "span",
        Edit::NoPositions(_) => "no positions",
        Edit::Permute(_) => "permute",
        Edit::Knockout(Knockout { cut: Cut::Scores, .. }) => "knockout",
        Edit::Knockout(Knockout { cut: Cut::Pattern, .. }) => "knockout after",
        Edit::Restrict(Restrict { to: Sparsity::Window { .. }, .. }) => "sparse window",
        Edit::Restrict(Restrict { to: Sparsity::Segments { .. }, .. }) => "sparse segments",
        Edit::Restrict(Restrict { to: Sparsity::Blocks { .. }, .. }) => "sparse blocks",
        Edit::Normalize(Normalize { with: Normalizer::Sparsemax, .. }) => "normalizer sparsemax",
        Edit::Normalize(Normalize { with: Normalizer::Entmax(_), .. }) => "normalizer entmax",
        Edit::Normalize(Normalize { with: Normalizer::Fusedmax(_), .. }) => "normalizer fusedmax",
        Edit::Normalize(Normalize { with: Normalizer::ChainSimplex(_), .. }) => "normalizer chain-simplex",
        Edit::Normalize(Normalize { with: Normalizer::Chain(_), .. }) => "normalizer chain",
        Edit::Normalize(Normalize { with: Normalizer::SparsemapChain(_), .. }) => "normalizer sparsemap-chain",
        Edit::Normalize(Normalize { with: Normalizer::Sigmoid(_), .. }) => "normalizer sigmoid",
        Edit::Normalize(Normalize { with: Normalizer::Argmax, .. }) => "normalizer argmax",
        Edit::Normalize(Normalize { with: Normalizer::Sample { .. }, .. }) => "normalizer sample",
        Edit::Normalize(Normalize { with: Normalizer::Softmax, .. }) => "normalizer softmax",
        Edit::TopK(_) => "top k",
        Edit::AblateExpert(_) => "expert",
        Edit::LeaveOutAdapter(_) => "adapter",
        Edit::RankOne(_) => "rank one",
        Edit::Direction(Direction { along: Along::Add(_), .. }) => "direction added",
        Edit::Direction(Direction { along: Along::Remove, .. }) => "direction removed",
        Edit::Patch(Patch { site, .. }) => return format!("patch {}", site.name()),
    };
    name.to_owned()
}

/// Kinds that are not of a site; softmax is what there is without a change.
const KINDS: [&str; 27] = [
    "ablate zero",
    "ablate mean",
    "ablate uniform",
    "ablate shuffle",
    "direction added",
    "direction removed",
    "pattern",
    "sharpen",
    "hide",
    "replace",
    "mask",
    "knockout",
    "knockout after",
    "sparse window",
    "sparse blocks",
    "normalizer sparsemax",
    "normalizer entmax",
    "normalizer fusedmax",
    "normalizer chain-simplex",
    "normalizer chain",
    "normalizer sparsemap-chain",
    "normalizer sigmoid",
    "normalizer argmax",
    "normalizer sample",
    "top k",
    "rank one",
    "several",
];

fn run(model: &Model, encoded: &Encoded, edits: Vec<Edit>) -> Result<Capture, ModelError> {
    let plan = RunPlan { sites: Sites::of(&[Site::Pattern]), logits: Logits::Keep, edits, ..RunPlan::default() };
    model.forward(encoded, &plan, &uninterrupted)
}

/// Every `step`-th outcome of some rows.
fn outcomes(capture: &Capture, rows: &[usize], step: usize) -> Vec<f32> {
    let logits = capture.logits().unwrap();
    rows.iter().flat_map(|row| logits.row(*row).unwrap().iter().step_by(step).copied()).collect()
}

fn furthest(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    let apart = |(a, b): (&f32, &f32)| if (a - b).is_nan() { f32::INFINITY } else { (a - b).abs() };
    a.iter().zip(b).map(apart).fold(0.0, f32::max)
}

/// How far numbers are from those expected, in tolerances.
fn off(found: &[f32], expected: &[f32]) -> f32 {
    let largest = expected.iter().fold(1.0f32, |most, x| most.max(x.abs()));
    furthest(found, expected) / (TOLERANCE * largest)
}

fn of_name(text: &str) -> HeadId {
    let Ok(Edit::Sharpen(Sharpen { head, .. })) = Edit::from_json(&serde_json::json!({ "sharpen": text, "by": 1.0 }))
    else {
        panic!("{text} is no head")
    };
    head
}

/// One change; what is wrong with it.
fn check(model: &Model, encoded: &Encoded, case: &Json, step: usize, expected: &[f32]) -> Result<(), String> {
    let edits = case["edits"].as_array().unwrap().iter().map(Edit::from_json);
    let edits: Vec<Edit> = edits.collect::<Result<_, _>>()?;
    let told = case["kind"].as_str().unwrap();
    if told != "several" && kind(&edits[0]) != told {
        return Err(format!("it is {}", kind(&edits[0])));
    }
    let found = run(model, encoded, edits);
    if let Some(why) = case.get("refused").and_then(Json::as_str) {
        return match found {
            Err(ModelError::Edit(said)) if said.contains(why) => Ok(()),
            Err(error) => Err(format!("it is refused with another sentence: {error}")),
            Ok(_) => Err("it is not refused".to_owned()),
        };
    }
    let found = found.map_err(|error| format!("it is refused: {error}"))?;
    let rows: Vec<usize> = case["rows"].as_array().unwrap().iter().map(|row| row.as_u64().unwrap() as usize).collect();
    let pattern = found.stored_pattern(of_name(case["head"].as_str().unwrap())).unwrap();
    let logits = outcomes(&found, &rows, step);
    let (plain, expected) = expected[case["from"].as_u64().unwrap() as usize..].split_at(logits.len());
    let (changed, expected) = expected.split_at(logits.len());
    let own = outcomes(&run(model, encoded, Vec::new()).unwrap(), &rows, step);
    if off(&own, plain) > 1.0 {
        return Err(format!("the plain run is {} tolerances off", off(&own, plain)));
    }
    if furthest(plain, changed) <= LEAST {
        return Err("it changes nothing in PyTorch".to_owned());
    }
    let worst = off(&logits, changed).max(off(pattern.as_slice(), &expected[..pattern.as_slice().len()]));
    if worst <= 1.0 { Ok(()) } else { Err(format!("it is {worst} tolerances off")) }
}

#[test]
fn every_change_is_what_hooks_do_in_pytorch() {
    let folder = parity::fixture("edits");
    let families: Json = serde_json::from_slice(&fs::read(folder.join("cases.json")).unwrap()).unwrap();
    let bytes = fs::read(folder.join("expected.safetensors")).unwrap();
    let expected = SafeTensors::deserialize(&bytes).unwrap();
    let families = families.as_object().unwrap();
    assert!(families.keys().eq(FAMILIES.iter()), "{:?}", families.keys().collect::<Vec<_>>());
    // No transformer has a recurrence, and none of these has experts or layers without a softmax.
    let of_others = [Site::RouterLogits, Site::Router, Site::Effective];
    let sites = Site::ALL.into_iter().filter(|site| !site.is_of_recurrence() && !of_others.contains(site));
    let kinds: BTreeSet<String> =
        KINDS.map(str::to_owned).into_iter().chain(sites.map(|site| format!("patch {}", site.name()))).collect();
    let cases = families.values().flat_map(|family| family["cases"].as_array().unwrap());
    let edits = cases.flat_map(|case| case["edits"].as_array().unwrap());
    let fields: BTreeSet<&str> = edits.flat_map(|edit| edit.as_object().unwrap().keys()).map(String::as_str).collect();
    let known = changes::KINDS.iter().map(|kind| (kind.spec)().name());
    let without: Vec<_> = known.filter(|name| !ELSEWHERE.contains(name) && !fields.contains(name)).collect();
    assert!(without.is_empty(), "tests/fixtures/generate_edits.py makes no change {without:?}");
    let ways = [KernelPath::Operations, KernelPath::supported().pop().unwrap()];
    let mut wrong = Vec::new();
    for (name, family) in families {
        let (model, encoded) = fixture(family["model"].as_str().unwrap());
        let numbers = expected.tensor(name).unwrap();
        let numbers: Vec<f32> =
            numbers.data().chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect();
        let step = family["step"].as_u64().unwrap() as usize;
        let cases = family["cases"].as_array().unwrap();
        for stack in &model.spec().stacks {
            let of_stack = cases.iter().filter(|case| case["stack"] == stack.kind.name());
            let there: BTreeSet<String> = of_stack.map(|case| case["kind"].as_str().unwrap().to_owned()).collect();
            let missing: Vec<_> = kinds.symmetric_difference(&there).collect();
            assert!(missing.is_empty(), "{name}, {}: {missing:?}", stack.kind);
        }
        for (way, case) in ways.iter().flat_map(|way| cases.iter().map(move |case| (way, case))) {
            let checked = || with_path(*way, || check(&model, &encoded, case, step, &numbers));
            if let Err(why) = model.engine().install(checked) {
                wrong.push(format!("{name}, {way:?}, {}, {}: {why}", case["stack"], case["edits"]));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
}
