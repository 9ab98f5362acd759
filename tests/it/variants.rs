//! Many changed runs at once give what each gives alone; a run that goes on from a layer ends where it would have.

use attnscope::{
    capture::{Ablate, Capture, Cut, HideToken, Knockout, Matrix, Normalize, Patch, Scope, Sharpen},
    ids::{HeadId, Side, StackKind},
    model::{Edit, Encoded, HeadReads, Logits, Model, RunPlan, Site, Sites, Start, Variant, uninterrupted},
};

use crate::families::open;

fn alone(model: &Model, encoded: &Encoded, edits: Vec<Edit>) -> Capture {
    let plan = RunPlan { sites: Sites::all(), logits: Logits::Keep, edits, ..RunPlan::default() };
    model.forward(encoded, &plan, &uninterrupted).unwrap()
}

fn all(model: &Model, variants: &[Variant<'_>]) -> Vec<Vec<f32>> {
    let mut logits = vec![Vec::new(); variants.len()];
    model.logits_of(variants, &uninterrupted, &mut |idx, row| logits[idx] = row.to_vec()).unwrap();
    logits
}

fn worst(a: &[f32], b: &[f32]) -> f32 {
    let largest = a.iter().fold(1.0f32, |most, x| most.max(x.abs()));
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max) / largest
}

#[test]
fn changed_runs_side_by_side_are_those_one_by_one() {
    for name in [
        "bert",
        "gpt2",
        "llama",
        "gemma2",
        "modernbert",
        "beit",
        "vit",
        "marian",
        "clip",
        "deberta-v3",
        "longformer-classifier",
        "rnnsearch-dot",
        "attentive_lm",
    ] {
        let (model, reference) = open(name);
        let encoded = model.encode(&reference.input()).unwrap();
        let plain = alone(&model, &encoded, vec![]);
        // A decoder that was given nothing has written something.
        let stack = plain.model().stacks.last().unwrap().kind;
        let Some(logits) = plain.logits() else { continue };
        if name == "marian" && plain.generated().is_some() {
            continue;
        }
        let row = logits.n_rows() - 1;
        let head = HeadId { stack, layer: 0, head: 0 };
        let mut changes: Vec<Vec<Edit>> = (0..plain.tokens(stack.key_side()).len().min(6))
            .map(|position| vec![Edit::HideToken(HideToken { side: stack.key_side(), position })])
            .collect();
        changes.push(vec![]);
        changes.push(vec![Edit::Knockout(Knockout {
            stack,
            scope: Scope::All,
            edges: vec![[row.min(2), 1]],
            cut: Cut::Scores,
        })]);
        changes.push(vec![
            Edit::Ablate(Ablate { head, with: attnscope::capture::Ablation::Zero }),
            Edit::Sharpen(Sharpen { head, by: 2.0 }),
        ]);
        let normal = attnscope::capture::Normalizer::Sparsemax;
        changes.push(vec![Edit::Normalize(Normalize { scope: Scope::Heads(vec![head]), with: normal })]);
        if let Some(out) = plain.stack(stack).and_then(|stack| stack.rows(Site::MlpOut, 0)) {
            let value = Matrix::new(vec![0.5; out.n_cols()], [1, out.n_cols()]).unwrap();
            changes.push(vec![Edit::Patch(Patch {
                site: Site::MlpOut,
                stack,
                layer: 0,
                head: None,
                positions: vec![1],
                value,
            })]);
        }
        let variants: Vec<_> = changes.iter().map(|edits| Variant::of(&encoded, edits, row)).collect();
        for (found, edits) in all(&model, &variants).iter().zip(&changes) {
            let single = alone(&model, &encoded, edits.clone());
            let off = worst(single.logits().unwrap().row(row).unwrap(), found);
            assert!(off < 1e-5, "{name}, {edits:?}: off by {off:e}");
        }
    }
}

/// What is the same in all runs is computed once, and of the last layer only what is read: wherever the runs begin to
/// differ, and whatever is changed behind the last attention.
#[test]
fn runs_that_share_their_beginning_are_those_one_by_one() {
    for name in ["bert", "gpt2", "llama", "beit", "vit", "phi", "t5-encoder", "modernbert", "bart", "deberta-v3"] {
        let (model, reference) = open(name);
        let encoded = model.encode(&reference.input()).unwrap();
        let plain = alone(&model, &encoded, vec![]);
        let Some(logits) = plain.logits() else { continue };
        let stack = plain.model().stacks.iter().find(|stack| stack.kind != StackKind::Cross).unwrap().kind;
        let (row, side) = (logits.n_rows() / 2, stack.query_side());
        let own = plain.stack(stack).unwrap();
        let last = own.layers.len() - 1;
        let patch = |site: Site, layer: usize, position: usize| {
            let width = own.rows(Site::ResidPre, 0).unwrap().n_cols();
            let value = Matrix::new(vec![0.5; width], [1, width]).unwrap();
            Edit::Patch(Patch { site, stack, layer, head: None, positions: vec![position], value })
        };
        let hidden = Edit::HideToken(HideToken { side: stack.key_side(), position: 1 });
        // Together only some are alike, or none is read in part.
        let packs: [Vec<Vec<Edit>>; 4] = [
            vec![vec![], vec![hidden.clone()]],
            vec![vec![hidden.clone()], vec![patch(Site::Embed, 0, 0)]],
            vec![vec![hidden.clone()], vec![patch(Site::MlpOut, last, 0)], vec![patch(Site::AttnOut, last, row)]],
            vec![vec![patch(Site::ResidPre, last, 1)], vec![patch(Site::ResidMid, 0, 1)]],
        ];
        for changes in packs {
            let variants: Vec<_> = changes.iter().map(|edits| Variant::of(&encoded, edits, row)).collect();
            for (found, edits) in all(&model, &variants).iter().zip(&changes) {
                let single = alone(&model, &encoded, edits.clone());
                let off = worst(single.logits().unwrap().row(row).unwrap(), found);
                assert!(off < 1e-5, "{name}, {edits:?}: off by {off:e}");
            }
        }
        if !model.goes_on() {
            continue;
        }
        // The same stream enters the last layer, and what is hidden there differs.
        let stream = own.rows(Site::ResidPre, last).unwrap();
        let cut = |key: usize| {
            let edges = (0..plain.tokens(side).len()).map(|query| [query, key]).collect();
            vec![Edit::Knockout(Knockout { stack, scope: Scope::Layers(vec![last]), edges, cut: Cut::Pattern })]
        };
        let changes = [vec![], cut(0), cut(2)];
        let start = || Some(Start { layer: last, stream: stream.clone() });
        let variants: Vec<_> =
            changes.iter().map(|edits| Variant { start: start(), ..Variant::of(&encoded, edits, row) }).collect();
        for (found, edits) in all(&model, &variants).iter().zip(&changes) {
            let single = alone(&model, &encoded, edits.clone());
            let off = worst(single.logits().unwrap().row(row).unwrap(), found);
            assert!(off < 1e-5, "{name} from layer {last}, {edits:?}: off by {off:e}");
        }
    }
}

#[test]
fn a_run_goes_on_from_a_layer_with_another_stream() {
    for name in ["bert", "gpt2", "llama", "beit", "t5-encoder", "modernbert"] {
        let (model, reference) = open(name);
        let encoded = model.encode(&reference.input()).unwrap();
        let plain = alone(&model, &encoded, vec![]);
        let Some(logits) = plain.logits() else { continue };
        let (stack, row) = (StackKind::SelfAttention, logits.n_rows() - 1);
        let stream = plain.stack(stack).unwrap().rows(Site::ResidPre, 1).unwrap().clone();
        let mut moved = stream.as_slice().to_vec();
        moved[..stream.n_cols()].fill(0.25);
        let moved = Matrix::new(moved, stream.shape()).unwrap();
        let value = Matrix::new(vec![0.25; stream.n_cols()], [1, stream.n_cols()]).unwrap();
        let patch = Edit::Patch(Patch { site: Site::ResidPre, stack, layer: 1, head: None, positions: vec![0], value });
        let start = |stream: &Matrix| Variant {
            start: Some(Start { layer: 1, stream: stream.clone() }),
            ..Variant::of(&encoded, &[], row)
        };
        let found = all(&model, &[start(&stream), start(&moved)]);
        assert!(worst(logits.row(row).unwrap(), &found[0]) < 1e-5, "{name}");
        let patched = alone(&model, &encoded, vec![patch]);
        assert!(worst(patched.logits().unwrap().row(row).unwrap(), &found[1]) < 1e-5, "{name}");
    }
}

#[test]
fn a_stream_is_read_by_the_head_as_at_the_end() {
    // Classifiers read their first token, their last one, two of them or the mean.
    for name in [
        "bert",
        "gpt2",
        "llama",
        "vit",
        "bart",
        "gemma2",
        "t5",
        "llama-classifier",
        "distilbert-classifier",
        "beit",
        "deit-distilled",
    ] {
        let (model, reference) = open(name);
        let encoded = model.encode(&reference.input()).unwrap();
        let capture = alone(&model, &encoded, vec![]);
        let Some(logits) = capture.logits() else { continue };
        let place = match model.head_reads(&encoded, 0) {
            HeadReads::At(place) => place,
            HeadReads::MeanFrom(_) => 0,
        };
        assert_eq!(place > 0, name == "llama-classifier", "{name} reads {place}");
        let side = [Side::Decoder, Side::Only].into_iter().find(|side| !capture.tokens(*side).is_empty()).unwrap();
        let stack = capture.stack(side.stack()).unwrap();
        let last = stack.layers.len() - 1;
        for (stream, normed) in [(stack.rows(Site::ResidPost, last), false), (stack.resid_final(), true)] {
            let read = model.unembed(side.stack(), stream.unwrap(), normed, place).unwrap();
            assert!(worst(logits.as_slice(), read.as_slice()) < 1e-5, "{name}, normed: {normed}");
            let top = model.lens(side.stack(), stream.unwrap(), normed, place).unwrap();
            let predicted = &capture.prediction().unwrap().rows;
            assert_eq!(top.last().unwrap().top[0].id, predicted.last().unwrap().top[0].id, "{name}");
        }
        // A logit is the product of the normed stream with its column, where nothing stands between.
        if let Ok((column, bias)) = model.unembedding(3) {
            let stream = stack.resid_final().unwrap();
            let row = if model.reads_whole() { place } else { stream.n_rows() - 1 };
            let product: f32 = stream.row(row).unwrap().iter().zip(&column).map(|(a, b)| a * b).sum();
            let expected = logits.row(logits.n_rows() - 1).unwrap()[3];
            assert!((product + bias - expected).abs() < 1e-4, "{name}: {} is not {expected}", product + bias);
        }
        // What all heads of a layer add is z times its output map.
        let layer = &stack.layers[0];
        let output = model.attention_output(side.stack(), 0).unwrap().unwrap();
        let z = layer.z().unwrap();
        let [n_heads, n, d] = z.shape();
        let width = output.weight.n_cols();
        let mut added = vec![0.0f32; n * width];
        for (query, added) in added.chunks_exact_mut(width).enumerate() {
            added.copy_from_slice(output.bias.as_deref().unwrap_or(&vec![0.0; width]));
            for (row, z) in (0..n_heads)
                .flat_map(|head| (0..d).map(move |dim| (head, dim)))
                .map(|(head, dim)| (head * d + dim, z.as_slice()[(head * n + query) * d + dim]))
            {
                added.iter_mut().zip(output.weight.row(row).unwrap()).for_each(|(sum, w)| *sum += z * w);
            }
        }
        if name != "gemma2" {
            assert!(worst(layer.rows(Site::AttnOut).unwrap().as_slice(), &added) < 1e-5, "{name}");
        }
    }
}
