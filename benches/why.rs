//! Speed of what explains one weight: its steps, its score taken apart, and numbers that are typed.
//!
//! Sizes are those of gpt2: 12 heads × 64, 768 wide. Steps of a row of 128 keys belong below 0.5 s, a score taken apart
//! below 20 ms, what typing a number computes below 16 ms.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot set itself up should stop")]

use std::{collections::BTreeMap, sync::Arc};

use attnscope::{
    analysis::{
        by_hand::{FORMAT, Numbers, Rows, ScorerKind},
        chain::{Against, Chain},
        explain::{
            dense::Dense,
            directions::Factor,
            edges::{Edge, VectorParts},
        },
    },
    capture::{
        Capture, CaptureParts, Computation, InputInfo, LayerCapture, Matrix, PerHead, Site, SiteValues, StackCapture,
        Token,
    },
    ids::{CaptureId, HeadId, Side, StackKind},
    spec::{LayerSpec, Modality, ModelSpec, StackSpec, TextSpec},
};
use divan::Bencher;

const N: usize = 128;
const N_HEADS: usize = 12;
const D_HEAD: usize = 64;
const D_MODEL: usize = N_HEADS * D_HEAD;
/// Parts of a stream before the last layer: two embeddings, heads, biases and MLPs of eleven layers, a norm's bias.
const N_PARTS: usize = 2 + 11 * (N_HEADS + 2) + 1;

fn main() {
    divan::main();
}

/// Made-up numbers from -1 to 1.
fn numbers(n: usize, seed: u64) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1_u64 << 23) as f32 - 1.0
    };
    (0..n).map(|_| next()).collect()
}

/// One layer without scores and patterns, which are computed.
fn capture() -> Capture {
    let mut sites = SiteValues::default();
    for (seed, site) in (1..).zip([Site::Q, Site::K, Site::V, Site::Z]) {
        sites.set(site, PerHead::new(numbers(N_HEADS * N * D_HEAD, seed), [N_HEADS, N, D_HEAD]).unwrap());
    }
    for (seed, site) in (9..).zip([Site::ResidPre, Site::AttnOut, Site::ResidMid]) {
        sites.set(site, Matrix::new(numbers(N * D_MODEL, seed), [N, D_MODEL]).unwrap());
    }
    let kind = StackKind::SelfAttention;
    let model = ModelSpec {
        name: "made up".to_owned(),
        family: ModelSpec::UNKNOWN_FAMILY.to_owned(),
        modality: Modality::Text(TextSpec::new(N, 1)),
        stacks: vec![StackSpec { kind, layers: vec![LayerSpec::new(N_HEADS, D_HEAD)], causal: true }],
        d_model: D_MODEL,
        n_params: 0,
        head: None,
        checkpoint: None,
    };
    let tokens = (0..N).map(|at| Token { text: at.to_string(), ..Token::default() }).collect();
    Capture::new(CaptureParts {
        id: CaptureId(1),
        model: Arc::new(model),
        input: InputInfo::default(),
        tokens: BTreeMap::from([(Side::Only, tokens)]),
        stacks: vec![StackCapture { kind, layers: vec![LayerCapture::of(sites)], ..StackCapture::default() }],
        sequences: BTreeMap::new(),
        image: None,
        logits: None,
        prediction: None,
        generated: None,
        computation: Computation::default(),
        notes: Vec::new(),
    })
    .unwrap()
}

/// The steps of every key of a row, one after the other.
#[divan::bench]
fn steps_of_a_row_of_128_keys(bencher: Bencher<'_, '_>) {
    let (capture, head) = (capture(), HeadId::single(0, 5));
    bencher
        .bench(|| (0..N).map(|key| Chain::of(&capture, head, N - 1, key, Against::Mean).unwrap()).collect::<Vec<_>>());
}

fn dense(n_rows: usize, n_cols: usize, seed: u64) -> Dense {
    Dense::from(&Matrix::new(numbers(n_rows * n_cols, seed), [n_rows, n_cols]).unwrap())
}

/// The parts of a stream at one position.
fn stream(seed: u64) -> VectorParts {
    let mut parts = VectorParts::default();
    for (nth, row) in dense(N_PARTS, D_MODEL, seed).rows().enumerate() {
        parts.add(nth.to_string(), row.to_vec());
    }
    parts
}

/// From the parts of two streams to what each pair of them says.
#[divan::bench]
fn one_score_by_source(bencher: Bencher<'_, '_>) {
    let ([query, key], [w_q, w_k]) = ([stream(1), stream(2)], [dense(D_MODEL, D_HEAD, 3), dense(D_MODEL, D_HEAD, 4)]);
    bencher.bench(|| {
        let query = query.mapped(&w_q, None, "").unwrap().joined();
        let edge = Edge::of(query, key.mapped(&w_k, None, "").unwrap().joined(), 0.125).unwrap();
        (edge.pairs(), edge.by_query(), edge.by_key())
    });
}

/// From the maps of a head to its singular directions.
#[divan::bench]
fn one_score_by_direction(bencher: Bencher<'_, '_>) {
    let [w_q, w_k] = [dense(D_MODEL, D_HEAD, 3), dense(D_MODEL, D_HEAD, 4)];
    let vector = |w: &Dense, seed| stream(seed).mapped(w, None, "").unwrap();
    let edge = Edge::of(vector(&w_q, 1), vector(&w_k, 2), 0.125).unwrap();
    bencher.bench(|| edge.directions(&Factor::of(&w_q).unwrap(), &Factor::of(&w_k).unwrap()).unwrap());
}

/// What typing one number computes: 16 tokens, of the width of a head and of the widest that is read.
#[divan::bench(args = [64, 128])]
fn sixteen_typed_tokens(bencher: Bencher<'_, '_>, width: usize) {
    let rows = |n: usize, seed: u64| -> Option<Rows> {
        let values = numbers(n * width, seed);
        Some(values.chunks(width).map(|row| row.iter().map(|value| f64::from(*value)).collect()).collect())
    };
    let typed = Numbers {
        format: FORMAT.to_owned(),
        tokens: Vec::new(),
        x: rows(16, 1),
        wq: rows(width, 2),
        wk: rows(width, 3),
        wv: rows(width, 4),
        q: None,
        k: None,
        v: None,
        scorer: ScorerKind::Additive.scorer(width),
        scale: None,
        causal: true,
        window: None,
        normalizer: "softmax".to_owned(),
    };
    bencher.bench(|| typed.capture("typed", CaptureId(1)).unwrap());
}
