//! Gradients of every site of every stack of every family, against finite differences of the same run.

use std::ops::Range;

use attnscope::{
    capture::{
        Capture, LayerCapture, Matrix, Normalize, Normalizer, Patch, Scope, SigmoidBias, StackCapture, changes::TopK,
    },
    ids::{HeadId, Side, StackKind},
    model::{
        ComputeDevice, Edit, Encoded, Gradients, Logits, Model, Objective, RunPlan, Site, Sites, Taps, uninterrupted,
    },
};

use crate::{
    families::{families, open, open_on},
    parity::load,
};

/// Largest relative difference between a directional derivative and its finite difference.
const RELATIVE: f64 = 1e-3;
/// Steps, relative to the values, at which differences are taken: too large bends, too small drowns in rounding.
const STEPS: [f64; 6] = [3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4];
/// A gradient is too faint to be told from rounding when that is more than this part of it at every step.
const FAINT: f64 = 0.05;
/// Rounding of an objective in single precision, relative to its terms.
const ROUNDING: f64 = 4e-7;

/// One place whose values are moved.
struct Place<'a> {
    site: Site,
    head: HeadId,
    value: &'a [f32],
    gradient: &'a [f32],
    width: usize,
    /// Rows that are moved.
    rows: Range<usize>,
}

impl Place<'_> {
    fn of_rows<'a>(&self, values: &'a [f32]) -> &'a [f32] {
        &values[self.rows.start * self.width..self.rows.end * self.width]
    }
}

fn objective(capture: &Capture) -> Objective {
    match capture.logits() {
        Some(logits) if logits.n_cols() > 1 => {
            let row = logits.n_rows() - 1;
            let last = logits.row(row).unwrap();
            // A pointer cannot say what is nowhere in its input.
            let against = (0..last.len()).find(|id| *id != 1 && last[*id] > last[1] - 20.0).unwrap();
            Objective::LogitDifference { row, id: 1, against: against as u32 }
        }
        Some(logits) => Objective::Logit { row: logits.n_rows() - 1, id: 0 },
        None => Objective::SquaredNorm { position: 1 },
    }
}

/// Every site with a value and a gradient: of each layer the head that matters most.
fn places<'a>(capture: &'a Capture, gradients: &'a Gradients) -> Vec<Place<'a>> {
    let norm = |values: &[f32]| values.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>();
    let mut places = Vec::new();
    for (values, grads) in capture.stacks().iter().zip(&gradients.stacks) {
        let stack = values.kind;
        let of_layer = |layer: usize, value: &'a LayerCapture, grad: &'a LayerCapture, places: &mut Vec<Place<'a>>| {
            for site in Site::ALL {
                let at = |head| HeadId { stack, layer, head };
                if let (Some(value), Some(grad)) = (value.rows(site), grad.rows(site)) {
                    let (value, gradient) = (value.as_slice(), grad.as_slice());
                    places.push(Place {
                        site,
                        head: at(0),
                        value,
                        gradient,
                        width: grad.n_cols(),
                        rows: 0..grad.n_rows(),
                    });
                }
                if let (Some(value), Some(grad)) = (value.per_head(site), grad.per_head(site)) {
                    assert_eq!(value.shape(), grad.shape());
                    let [n_heads, n, width] = value.shape();
                    let of = |head: usize| &grad.as_slice()[head * n * width..(head + 1) * n * width];
                    let head = (0..n_heads).max_by(|a, b| norm(of(*a)).total_cmp(&norm(of(*b)))).unwrap();
                    let value = &value.as_slice()[head * n * width..(head + 1) * n * width];
                    places.push(Place { site, head: at(head), value, gradient: of(head), width, rows: 0..n });
                }
            }
        };
        for (layer, (value, grad)) in values.layers.iter().zip(&grads.layers).enumerate() {
            of_layer(layer, value, grad, &mut places);
        }
        if let (Some(value), Some(grad)) = (values.resid_final(), grads.resid_final()) {
            let head = HeadId { stack, layer: values.layers.len(), head: 0 };
            let (value, gradient) = (value.as_slice(), grad.as_slice());
            places.push(Place {
                site: Site::ResidFinal,
                head,
                value,
                gradient,
                width: grad.n_cols(),
                rows: 0..grad.n_rows(),
            });
        }
    }
    for side in Side::ALL {
        let Some(grads) = gradients.sequences.get(&side) else { continue };
        for site in Site::ALL {
            let (Some(value), Some(grad)) = (capture.of_sequence(side, site), grads.rows(site)) else { continue };
            let head = HeadId { stack: side.stack(), layer: 0, head: 0 };
            let n = grad.n_rows();
            // A state follows from those before, which an edit would hold where they were.
            let rows = match site {
                Site::State => n - 1..n,
                Site::StateBack => 0..1,
                _ => 0..n,
            };
            let (value, gradient) = (value.as_slice(), grad.as_slice());
            places.push(Place { site, head, value, gradient, width: grad.n_cols(), rows });
        }
    }
    places
}

/// The objective when the values of a place are moved along its gradient by `step` times their own length.
fn moved(
    model: &Model,
    encoded: &Encoded,
    changes: &[Edit],
    objective: Objective,
    place: &Place<'_>,
    step: f64,
) -> f64 {
    let value: Vec<f32> = place
        .of_rows(place.value)
        .iter()
        .zip(place.of_rows(place.gradient))
        .map(|(x, g)| (f64::from(*x) + step * f64::from(*g)) as f32)
        .collect();
    let edit = Edit::Patch(Patch {
        site: place.site,
        stack: place.head.stack,
        layer: place.head.layer,
        head: place.site.is_per_head().then_some(place.head.head),
        positions: place.rows.clone().collect(),
        value: Matrix::new(value, [place.rows.len(), place.width]).unwrap(),
    });
    let plan = RunPlan { edits: [changes, &[edit]].concat(), ..RunPlan::silent() };
    f64::from(model.gradients(encoded, &plan, objective, Taps::NONE, &uninterrupted).unwrap().1.value)
}

/// What a comparison with differences says.
enum Finding {
    Agrees,
    Faint,
    Differs(String),
}

/// What is wrong with the gradient of one place: the best of several steps, each extrapolated to none
/// (Richardson), must agree.
///
/// `magnitude` is that of the terms of the objective, whose rounding limits what can be seen.
fn difference(
    model: &Model,
    encoded: &Encoded,
    changes: &[Edit],
    objective: &Objective,
    magnitude: f64,
    place: &Place<'_>,
) -> Finding {
    let length =
        |values: &[f32]| values.iter().filter(|x| x.is_finite()).map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt();
    let (of_value, of_gradient) = (length(place.of_rows(place.value)), length(place.of_rows(place.gradient)));
    // The derivative along the gradient is its squared length.
    let expected = of_gradient * of_gradient;
    let at = |step: f64| moved(model, encoded, changes, objective.clone(), place, step);
    let central = |step: f64| (at(step) - at(-step)) / (2.0 * step);
    let mut tried = Vec::new();
    for step in STEPS {
        let step = step * of_value.max(1e-3) / of_gradient;
        let rounding = ROUNDING * magnitude / step;
        if of_gradient == 0.0 || rounding > FAINT * expected {
            continue;
        }
        let off = ((4.0 * central(step / 2.0) - central(step)) / 3.0 - expected).abs();
        if off <= RELATIVE * expected + rounding {
            return Finding::Agrees;
        }
        tried.push(off / expected);
    }
    if tried.is_empty() {
        return Finding::Faint;
    }
    let (site, head) = (place.site.name(), place.head);
    Finding::Differs(format!("{site} of {}.{head}: off by {tried:?} of |∇|² = {expected:e}", head.stack))
}

/// Faults of the gradients of a run with some changes.
fn check(name: &str, model: &Model, encoded: &Encoded, changes: &[Edit]) -> Vec<String> {
    let edits = changes.to_vec();
    let plan = RunPlan { sites: Sites::all(), logits: Logits::Keep, edits, ..RunPlan::default() };
    let plain = model.forward(encoded, &plan, &uninterrupted).unwrap();
    let objective = objective(&plain);
    let taps = Taps { sites: Sites::all(), fixed_patterns: false };
    let (capture, gradients) = model.gradients(encoded, &plan, objective.clone(), taps, &uninterrupted).unwrap();
    let mut wrong = Vec::new();
    let mut add = |problem: String| wrong.push(format!("{name}: {problem}"));
    for stack in plain.stacks() {
        let twin = capture.stack(stack.kind).unwrap();
        for (layer, site, off) in apart(stack, twin) {
            add(format!(
                "a tapped pass of {} has other values: {} of layer {layer} by {off:e}",
                stack.kind,
                site.name()
            ));
        }
    }
    let mut places = places(&capture, &gradients);
    let logits = plain.logits().map_or(&[][..], Matrix::as_slice);
    let magnitude = logits.iter().fold(f64::from(gradients.value.abs()), |most, x| most.max(f64::from(x.abs())));
    for place in &mut places {
        // Rows that come one after the other follow from those before, which an edit would hold where they were.
        if (name.starts_with("rnnsearch") || name == "pointer") && place.site.is_per_head() && !place.site.is_of_keys()
        {
            place.rows.start = place.rows.end - 1;
        }
    }
    let mut n_faint = 0;
    for place in &places {
        match difference(model, encoded, changes, &objective, magnitude, place) {
            Finding::Agrees => {}
            Finding::Faint => n_faint += 1,
            Finding::Differs(problem) => add(problem),
        }
    }
    if 2 * n_faint > places.len() {
        add(format!("{n_faint} of {} gradients are too faint to be checked", places.len()));
    }
    // The operations of other devices have backward passes of their own.
    let (twin, _) = open_on(ComputeDevice::Operations, name);
    let other = twin.gradients(encoded, &plan, objective.clone(), taps, &uninterrupted).unwrap();
    for (a, b) in places.iter().zip(self::places(&other.0, &other.1)) {
        let largest = a.gradient.iter().fold(0.0f32, |most, x| most.max(x.abs()));
        let worst = a.gradient.iter().zip(b.gradient).map(|(a, b)| (a - b).abs()).fold(0.0f32, f32::max);
        if a.head == b.head && worst > 1e-3 * largest + 1e-6 {
            add(format!(
                "{} of {}: the gradient of other devices differs by {worst:e} of {largest:e}",
                a.site.name(),
                a.head
            ));
        }
    }
    wrong
}

/// Layers and sites whose values differ by more than 1e-5, of 1 or of the largest if that is larger, and how far.
///
/// A tapped pass takes activations apart from linear maps, which rounds otherwise: patterns differ by up to 4e-6, and `z`
/// by that times the lengths of the values.
fn apart(a: &StackCapture, b: &StackCapture) -> Vec<(usize, Site, f32)> {
    let worst = |a: &[f32], b: &[f32]| {
        let largest = a.iter().filter(|x| x.is_finite()).fold(1.0f32, |most, x| most.max(x.abs()));
        a.iter().zip(b).map(|(a, b)| if a == b { 0.0 } else { (a - b).abs() / largest }).fold(0.0, f32::max)
    };
    let layers = a.layers.iter().zip(&b.layers).enumerate();
    let of = |(layer, (a, b)): (usize, (&LayerCapture, &LayerCapture))| {
        let of_site = |site: Site| {
            let heads = a.per_head(site).zip(b.per_head(site)).map(|(a, b)| worst(a.as_slice(), b.as_slice()));
            let rows = a.rows(site).zip(b.rows(site)).map(|(a, b)| worst(a.as_slice(), b.as_slice()));
            (layer, site, heads.into_iter().chain(rows).fold(0.0, f32::max))
        };
        Site::ALL.map(of_site)
    };
    layers.flat_map(of).filter(|(.., off)| *off > 1e-5 || off.is_nan()).collect()
}

#[test]
fn gradients_of_every_site_of_every_family_are_the_slopes_of_the_run() {
    let check = |name: &String| {
        let (model, reference) = open(name);
        check(name, &model, &model.encode(&reference.input()).unwrap(), &[])
    };
    let wrong: Vec<String> = families().iter().flat_map(check).collect();
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn gradients_of_a_run_whose_queries_keep_their_strongest_keys_are_the_slopes_of_that_run() {
    // Where one key takes the place of another the run jumps: with these numbers none does within a step.
    for (name, k, renormalize) in [("bert", 4, true), ("bert", 4, false), ("gpt2", 3, false)] {
        let (model, reference) = open(name);
        let change = TopK { k, renormalize, stack: StackKind::SelfAttention, scope: Scope::All };
        let wrong = check(name, &model, &model.encode(&reference.input()).unwrap(), &[change.into()]);
        assert!(wrong.is_empty(), "{name} {k} {renormalize}:\n{}", wrong.join("\n"));
    }
}

#[test]
fn gradients_of_a_run_with_another_normaliser_are_the_slopes_of_that_run() {
    for (name, with) in [
        ("bert", Normalizer::ChainSimplex(0.7)),
        ("gpt2", Normalizer::ChainSimplex(-0.5)),
        ("bert", Normalizer::Chain(-0.5)),
        ("gpt2", Normalizer::Sigmoid(SigmoidBias::MinusLogKeys)),
    ] {
        let (model, reference) = open(name);
        let change = Normalize { with, scope: Scope::All };
        let wrong = check(name, &model, &model.encode(&reference.input()).unwrap(), &[change.into()]);
        assert!(wrong.is_empty(), "{name} {with}:\n{}", wrong.join("\n"));
    }
}

#[test]
fn no_gradient_runs_through_a_choice_of_one_key() {
    let model = load("bert");
    let encoded = model.encode(&crate::parity::Reference::open("bert", "reference.safetensors").input()).unwrap();
    let objective = Objective::LogitDifference { row: 4, id: 1, against: 2 };
    for with in [Normalizer::Argmax, Normalizer::Sample { seed: 7, draw: 0 }] {
        let edits = vec![Edit::Normalize(Normalize { with, scope: Scope::Heads(vec![HeadId::single(0, 1)]) })];
        let plan = RunPlan { edits, ..RunPlan::silent() };
        let of = |fixed_patterns| {
            let taps = Taps { sites: Sites::of(&[Site::Q, Site::V]), fixed_patterns };
            model.gradients(&encoded, &plan, objective.clone(), taps, &uninterrupted)
        };
        let refused = of(false).unwrap_err().to_string();
        assert!(refused.contains("no gradient runs through it") && refused.contains("in head L0H1"), "{refused}");
        let given = of(true).unwrap().1;
        let values = given.layer(HeadId::single(0, 1)).unwrap().per_head(Site::V).unwrap().as_slice();
        assert!(values.iter().any(|slope| *slope != 0.0), "values have one where patterns count as given");
    }
}

#[test]
fn a_pattern_that_counts_as_given_lets_nothing_through_to_queries_and_keys() {
    let model = load("bert");
    let encoded = model.encode(&crate::parity::Reference::open("bert", "reference.safetensors").input()).unwrap();
    let objective = Objective::LogitDifference { row: 4, id: 1, against: 2 };
    let of = |fixed_patterns| {
        let taps = Taps { sites: Sites::of(&[Site::Q, Site::V, Site::Pattern, Site::Embed]), fixed_patterns };
        model.gradients(&encoded, &RunPlan::silent(), objective.clone(), taps, &uninterrupted).unwrap().1
    };
    let (free, fixed) = (of(false), of(true));
    let some = |values: &[f32]| values.iter().any(|x| *x != 0.0);
    let first = |gradients: &Gradients, site| {
        gradients.layer(HeadId::single(0, 0)).unwrap().per_head(site).unwrap().as_slice().to_vec()
    };
    assert!(some(&first(&free, Site::Q)) && !some(&first(&fixed, Site::Q)));
    assert!(some(&first(&fixed, Site::V)) && some(&first(&fixed, Site::Pattern)));
    assert_ne!(free.embed(Side::Only).unwrap().as_slice(), fixed.embed(Side::Only).unwrap().as_slice());
}
