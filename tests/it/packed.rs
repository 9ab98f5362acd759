//! Several inputs in one pass: the numbers of single runs, at every site, for every family.

use std::sync::atomic::{AtomicUsize, Ordering};

use attnscope::{
    capture::{Capture, LayerCapture, Matrix, PerHead},
    model::{
        Cancelled, Encoded, Engine, Input, Logits, Model, ModelError, ModelFiles, RunPlan, Site, Sites, Stage, locate,
        uninterrupted,
    },
};

use crate::{
    families::{families, folder, is_sequential},
    parity::Reference,
};

/// Largest difference, relative to the largest value of the tensor and to 1.
const TOLERANCE: f32 = 1e-5;

/// An input, its end, and all of it in another order with the same end: three lengths and contents.
fn variants(input: &Input) -> Vec<Input> {
    match input {
        Input::Ids(ids) => {
            let end = &ids[ids.len() / 2..];
            let (last, rest) = ids.split_last().unwrap();
            let mut turned: Vec<u32> = rest.iter().rev().copied().collect();
            turned.truncate(rest.len() - 1);
            turned.push(*last);
            vec![Input::Ids(ids.clone()), Input::Ids(end.to_vec()), Input::Ids(turned)]
        }
        Input::Pixels { data, size_px } => {
            let turned = data.iter().rev().copied().collect();
            let again = Input::Pixels { data: data.clone(), size_px: *size_px };
            vec![again.clone(), Input::Pixels { data: turned, size_px: *size_px }, again]
        }
        Input::Pair { source, target } => {
            let targets = variants(target);
            variants(source).into_iter().zip(targets).map(|(source, target)| source.with_target(target)).collect()
        }
        other => vec![other.clone(), other.clone()],
    }
}

fn sites(layer: &LayerCapture) -> Vec<(&'static str, Option<&[f32]>)> {
    let of_site = |site: Site| {
        let heads = layer.per_head(site).map(PerHead::as_slice);
        (site.name(), heads.or_else(|| layer.rows(site).map(Matrix::as_slice)))
    };
    let bias = ("bias", layer.bias.as_ref().map(PerHead::as_slice));
    Site::ALL.into_iter().map(of_site).chain([bias]).collect()
}

fn check(what: &str, packed: Option<&[f32]>, single: Option<&[f32]>, wrong: &mut Vec<String>) {
    let (Some(packed), Some(single)) = (packed, single) else {
        if packed.is_some() || single.is_some() {
            wrong.push(format!("{what} is recorded in one of both only"));
        }
        return;
    };
    let largest = single.iter().filter(|x| x.is_finite()).fold(1.0f32, |largest, x| largest.max(x.abs()));
    let far = |(a, b): (&f32, &f32)| a != b && ((a - b).abs() > TOLERANCE * largest || (a - b).is_nan());
    if packed.len() != single.len() || packed.iter().zip(single).any(far) {
        wrong.push(format!("{what} differs"));
    }
}

fn compare(name: &str, packed: &Capture, single: &Capture, wrong: &mut Vec<String>) {
    for (a, b) in packed.stacks().iter().zip(single.stacks()) {
        for (idx, (a, b)) in a.layers.iter().zip(&b.layers).enumerate() {
            for ((site, packed), (_, single)) in sites(a).into_iter().zip(sites(b)) {
                check(&format!("{name}: {site} of layer {idx}"), packed, single, wrong);
            }
        }
        let ends = [a, b].map(|stack| stack.resid_final().map(Matrix::as_slice));
        check(&format!("{name}: resid_final"), ends[0], ends[1], wrong);
    }
    check(
        &format!("{name}: logits"),
        packed.logits().map(Matrix::as_slice),
        single.logits().map(Matrix::as_slice),
        wrong,
    );
    let outcomes = [packed, single].map(|capture| {
        let rows = capture.prediction().map_or(&[][..], |prediction| &prediction.rows);
        rows.iter().map(|row| (row.position, row.top.first().map(|top| top.id))).collect::<Vec<_>>()
    });
    if outcomes[0] != outcomes[1] || packed.notes() != single.notes() || packed.input() != single.input() {
        wrong.push(format!("{name}: prediction, notes or input differ"));
    }
}

fn is_pair(name: &str) -> bool {
    matches!(Reference::open(&format!("families/{name}"), "reference.safetensors").input(), Input::Pair { .. })
}

fn open(name: &str) -> (Model, Vec<Encoded>) {
    let files = ModelFiles::open(&folder().join(name)).unwrap();
    let model = Model::load(&files, name, &Engine::cpu(Some(2)).unwrap(), &uninterrupted).unwrap();
    let input = Reference::open(&format!("families/{name}"), "reference.safetensors").input();
    // A part of a question with its text lacks the separators that tell them apart.
    let is_of_two = name.ends_with("questions") || name.ends_with("choices");
    let inputs = if is_of_two { vec![input.clone(), input] } else { variants(&input) };
    let encoded = inputs.iter().map(|input| model.encode(input).unwrap()).collect();
    (model, encoded)
}

#[test]
fn packed_inputs_have_the_numbers_of_single_runs() {
    let plan = RunPlan { sites: Sites::all(), logits: Logits::Keep, ..RunPlan::default() };
    let mut wrong = Vec::new();
    let names = families();
    for name in &names {
        let (model, inputs) = open(name);
        // A decoder that is given no text makes one of its own.
        let is_recurrent = is_sequential(name);
        // Classes that choose by the input which tokens see all.
        let chooses = |class: &&str| name.starts_with(&format!("longformer-{class}"));
        let has_global = ["classifier", "questions", "choices"].iter().any(chooses);
        // Each stream of a text and a picture attends to the other one's.
        let has_streams = name.starts_with("bridgetower");
        let alone =
            is_recurrent || has_global || has_streams || (model.spec().modality.target().is_some() && !is_pair(name));
        assert_eq!(model.runs_alone(&inputs, &plan).is_some(), alone, "{name}");
        let packed =
            model.forward_packed(&inputs, &plan, &uninterrupted).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(packed.len(), inputs.len());
        for (packed, input) in packed.iter().zip(&inputs) {
            compare(name, packed, &model.forward(input, &plan, &uninterrupted).unwrap(), &mut wrong);
        }
    }
    assert!(names.len() > 70, "{names:?}");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// A run that wants nothing but queries and keys of some layers ends with them, and gives the same ones.
#[test]
fn queries_and_keys_alone_are_those_of_a_whole_run() {
    let mut wrong = Vec::new();
    for name in families() {
        let (model, inputs) = open(&name);
        let n_layers = model.spec().stacks.iter().map(|stack| stack.layers.len()).max().unwrap();
        for layers in [None, Some(vec![n_layers.saturating_sub(2)])] {
            let whole = Sites::of(&[Site::Q, Site::K, Site::ResidFinal]);
            let plan = RunPlan { sites: whole, layers, logits: Logits::Skip, ..RunPlan::default() };
            let part = RunPlan { sites: Sites::of(&[Site::Q, Site::K]), ..plan.clone() };
            let packed = model.forward_packed(&inputs, &part, &uninterrupted).unwrap();
            for (input, packed) in inputs.iter().zip(&packed) {
                let whole = model.forward(input, &plan, &uninterrupted).unwrap();
                let single = model.forward(input, &part, &uninterrupted).unwrap();
                for (other, tolerant) in [(&single, false), (packed, true)] {
                    let stacks = whole.stacks().iter().zip(other.stacks());
                    for (a, b) in stacks.flat_map(|(a, b)| a.layers.iter().zip(&b.layers)) {
                        for (a, b) in sites(a).into_iter().zip(sites(b)) {
                            if tolerant {
                                check(&format!("{name}: {}", a.0), b.1, a.1, &mut wrong);
                            } else if a != b {
                                wrong.push(format!("{name}: {} of a single run", a.0));
                            }
                        }
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_pack_stops_between_two_layers() {
    let (files, name) = locate::model("demo:gpt").unwrap();
    let model = Model::load(&files, &name, &Engine::cpu(Some(1)).unwrap(), &uninterrupted).unwrap();
    let inputs = ["One", "Two and three"].map(|text| model.encode(&Input::text(text)).unwrap());
    let n_asked = AtomicUsize::new(0);
    let stopped = model.forward_packed(&inputs, &RunPlan::default(), &|progress| {
        assert_eq!((progress.stage, progress.total), (Stage::Forward, 6));
        n_asked.fetch_add(1, Ordering::Relaxed);
        if progress.done >= 2 { Err(Cancelled) } else { Ok(()) }
    });
    assert!(matches!(stopped, Err(ModelError::Cancelled(_))));
    assert!(n_asked.load(Ordering::Relaxed) < 10);
}

/// An input that does not fit the model fails the pack, as it would fail alone.
#[test]
fn a_pack_with_a_bad_input_says_what_is_wrong() {
    let (model, mut inputs) = open("gpt2");
    let long = vec![1; 4 * model.spec().modality.text().unwrap().n_ctx];
    assert!(model.encode(&Input::Ids(long)).is_err());
    // The same input made for a model with another vocabulary.
    let (other, _) = open("opt");
    let foreign =
        other.encode(&Input::Ids(vec![1, 2, (other.spec().modality.text().unwrap().n_vocab - 1) as u32])).unwrap();
    inputs.push(foreign);
    let single =
        model.forward(&inputs[3], &RunPlan::default(), &uninterrupted).map(|_| ()).map_err(|error| error.to_string());
    let packed = model
        .forward_packed(&inputs, &RunPlan::default(), &uninterrupted)
        .map(|_| ())
        .map_err(|error| error.to_string());
    assert_eq!(packed, single);
}
