//! Learned sinks: attention with one against a dense computation in double precision, and patterns told from q and k.

use std::{collections::BTreeMap, sync::Arc};

use attnscope::{
    analysis::attention,
    capture::{
        Capture, CaptureParts, Computation, InputInfo, LayerCapture, Matrix, PerHead, Site, StackCapture,
        file::{self, Format},
    },
    ids::{CaptureId, HeadId, Side, StackKind},
    model::kernels::{self, Bias, KernelPath, with_path},
    spec::{AttentionParams, LayerSpec, Mask, Modality, ModelSpec, StackSpec, TextSpec},
};
use candle_core::{Device, Tensor, Var};

use crate::{
    foreign::read,
    support::synthetic::{Random, token},
};

const N_HEADS: usize = 4;
const N_KV: usize = 2;
const D: usize = 8;

/// Sinks that take most, some, next to nothing and nothing of a row.
const SINKS: [f32; N_HEADS] = [4.0, 0.3, -6.0, f32::NEG_INFINITY];

/// Queries, keys, values `[heads, n, d]` and the weights of their result, whose weighted sum is differentiated.
struct Case {
    n_query: usize,
    n_key: usize,
    inputs: [Vec<f64>; 3],
    by: Vec<f64>,
    bias: Option<Vec<f64>>,
    params: AttentionParams,
}

impl Case {
    fn new((n_query, n_key): (usize, usize), mask: Mask, softcap: Option<f32>, biased: bool) -> Self {
        let mut random = Random(7);
        // Values that single precision holds.
        let mut values = |n: usize| (0..n).map(|_| f64::from(random.symmetric())).collect::<Vec<_>>();
        Self {
            n_query,
            n_key,
            inputs: [N_HEADS * n_query, N_KV * n_key, N_KV * n_key].map(|rows| values(rows * D)),
            by: values(n_query * N_HEADS * D),
            bias: biased.then(|| values(N_HEADS * n_query * n_key)),
            params: AttentionParams { softcap, sink: Some(SINKS.into()), ..AttentionParams::new(0.7, mask) },
        }
    }

    /// Patterns `[heads, n_query, n_key]` and results `[n_query, heads · d]`, loop by loop.
    fn dense(&self, [q, k, v]: [&[f64]; 3]) -> (Vec<f64>, Vec<f64>) {
        let (mut patterns, mut z) = (Vec::new(), vec![0.0; self.n_query * N_HEADS * D]);
        for head in 0..N_HEADS {
            let kv = head * N_KV / N_HEADS;
            for query in 0..self.n_query {
                let q = &q[(head * self.n_query + query) * D..][..D];
                let at = |x: &[f64], key: usize, dim: usize| x[(kv * self.n_key + key) * D + dim];
                let mut row: Vec<f64> = (0..self.n_key)
                    .map(|key| {
                        let mut score = (0..D).map(|dim| q[dim] * at(k, key, dim)).sum::<f64>();
                        score *= f64::from(self.params.scale);
                        if let Some(cap) = self.params.softcap.map(f64::from) {
                            score = cap * (score / cap).tanh();
                        }
                        let row = (head * self.n_query + query) * self.n_key;
                        score += self.bias.as_ref().map_or(0.0, |bias| bias[row + key]);
                        let visible = self.params.mask.visible(query, self.n_query, self.n_key);
                        if visible.contains(&key) { score.exp() } else { 0.0 }
                    })
                    .collect();
                let sum = row.iter().sum::<f64>() + f64::from(SINKS[head]).exp();
                for (key, weight) in row.iter_mut().enumerate() {
                    *weight /= sum;
                    for dim in 0..D {
                        z[(query * N_HEADS + head) * D + dim] += *weight * at(v, key, dim);
                    }
                }
                patterns.extend(row);
            }
        }
        (patterns, z)
    }

    fn weighted(&self, inputs: [&[f64]; 3]) -> f64 {
        self.dense(inputs).1.iter().zip(&self.by).map(|(z, by)| z * by).sum()
    }

    fn tensors(&self) -> [Tensor; 3] {
        let shapes = [(N_HEADS, self.n_query), (N_KV, self.n_key), (N_KV, self.n_key)];
        std::array::from_fn(|nth| tensor(&self.inputs[nth], &[shapes[nth].0, shapes[nth].1, D]))
    }

    fn bias(&self) -> Option<Bias> {
        self.bias.as_ref().map(|bias| Bias(tensor(bias, &[N_HEADS, self.n_query, self.n_key])))
    }
}

fn tensor(values: &[f64], shape: &[usize]) -> Tensor {
    let values: Vec<f32> = values.iter().map(|value| *value as f32).collect();
    Tensor::from_vec(values, shape, &Device::Cpu).unwrap()
}

fn cases(lengths: (usize, usize)) -> Vec<Case> {
    let mask = |causal, window| Mask { causal, window };
    vec![
        Case::new(lengths, Mask::NONE, None, false),
        Case::new(lengths, mask(true, None), None, false),
        Case::new(lengths, mask(true, Some(5)), None, true),
        Case::new(lengths, mask(false, Some(3)), Some(1.5), true),
    ]
}

fn largest<'a>(ours: impl IntoIterator<Item = &'a f32>, exact: &[f64]) -> f64 {
    ours.into_iter().zip(exact).map(|(ours, exact)| (f64::from(*ours) - exact).abs()).fold(0.0, f64::max)
}

fn flat(x: &Tensor) -> Vec<f32> {
    x.flatten_all().unwrap().to_vec1().unwrap()
}

#[test]
fn every_way_has_the_weights_and_results_of_a_dense_computation() {
    for way in KernelPath::supported() {
        for case in cases((150, 150)).into_iter().chain(cases((3, 40))) {
            let ([q, k, v], bias, params) = (case.tensors(), case.bias(), &case.params);
            let (patterns, z) = case.dense(case.inputs.each_ref().map(Vec::as_slice));
            let sums = patterns.chunks(case.n_key).map(|row| 1.0 - row.iter().sum::<f64>());
            let shares: Vec<f64> = sums.collect();
            let name = format!("{params:?} of {} queries, {way:?}", case.n_query);
            let near = |what: &str, ours: &[f32], exact: &[f64]| {
                assert_eq!(ours.len(), exact.len(), "{what} of {name}");
                let off = largest(ours, exact);
                assert!(off <= 1e-6, "{what} of {name}: {off}");
            };
            with_path(way, || {
                let alone = kernels::attention(&q, &k, &v, bias.as_ref(), params).unwrap();
                near("z", &flat(&alone), &z);
                let (beside, pattern) = kernels::attention_with_pattern(&q, &k, &v, bias.as_ref(), params).unwrap();
                near("pattern", &pattern, &patterns);
                near("shares of a pattern", &kernels::sink_shares(&pattern, case.n_key), &shares);
                let (with, kept) = kernels::attention_with_sink(&q, &k, &v, bias.as_ref(), params).unwrap();
                near("shares", &kept, &shares);
                let scores = kernels::attention_scores(&q, &k, bias.as_ref(), params).unwrap();
                let softmax = kernels::softmax_with_sink(&scores, params.mask, params.sink.as_ref()).unwrap();
                let parts = kernels::attend(&softmax, &v, params.mask).unwrap();
                for (what, other) in [("a pattern", beside), ("shares", with), ("all parts", parts)] {
                    assert_eq!(flat(&other), flat(&alone), "z beside {what} of {name}");
                }
                let in_place = kernels::softmax_in_place(scores, params.mask, params.sink.as_ref()).unwrap();
                assert_eq!(flat(&in_place), pattern.to_vec(), "softmax in place, {name}");
            });
        }
    }
}

#[test]
fn gradients_are_those_of_finite_differences() {
    const STEP: f64 = 1e-5;
    for case in cases((6, 9)) {
        let vars = case.tensors().map(|tensor| Var::from_tensor(&tensor).unwrap());
        let [q, k, v] = vars.each_ref().map(Var::as_tensor);
        let by = tensor(&case.by, &[case.n_query, N_HEADS * D]);
        for way in KernelPath::supported() {
            let grads = with_path(way, || {
                let z = kernels::attention(q, k, v, case.bias().as_ref(), &case.params).unwrap();
                (z * &by).unwrap().sum_all().unwrap().backward().unwrap()
            });
            for (nth, var) in vars.iter().enumerate() {
                let slope = |at: usize| {
                    let moved = |by: f64| {
                        let mut inputs = case.inputs.clone();
                        inputs[nth][at] += by;
                        case.weighted(inputs.each_ref().map(Vec::as_slice))
                    };
                    (moved(STEP) - moved(-STEP)) / (2.0 * STEP)
                };
                let exact: Vec<f64> = (0..case.inputs[nth].len()).map(slope).collect();
                let ours = flat(&grads.get(var).unwrap().contiguous().unwrap());
                let off = largest(&ours, &exact);
                assert!(off <= 1e-5, "input {nth}, {:?}, {way:?}: {off}", case.params);
            }
        }
    }
}

#[test]
fn a_sink_takes_all_of_a_row_that_sees_no_key_and_each_head_needs_one() {
    let scores = Tensor::full(f32::NEG_INFINITY, (1, 1, 3), &Device::Cpu).unwrap();
    for way in KernelPath::supported() {
        with_path(way, || {
            let pattern = kernels::softmax_with_sink(&scores, Mask::NONE, Some(&Arc::from([0.5]))).unwrap();
            assert_eq!(flat(&pattern), [0.0; 3], "{way:?}");
            assert_eq!(kernels::sink_shares(&flat(&pattern), 3).to_vec(), [1.0]);
            let error = kernels::softmax_with_sink(&scores, Mask::NONE, Some(&Arc::from([0.5, 0.5]))).unwrap_err();
            assert!(error.to_string().contains("2 sinks"), "{error}");
        });
    }
}

/// A capture of queries and keys of one layer with sinks, whose shares are those of `case` or missing.
fn capture(case: &Case, with_shares: bool) -> Capture {
    let [q, k, v] = case.tensors().map(|x| PerHead::new(flat(&x), x.dims3().unwrap().into()).unwrap());
    let (patterns, _) = case.dense(case.inputs.each_ref().map(Vec::as_slice));
    let shares = patterns.chunks(case.n_key).map(|row| (1.0 - row.iter().sum::<f64>()) as f32).collect::<Vec<_>>();
    let layer = LayerSpec { n_kv_heads: N_KV, scale: case.params.scale, sink: true, ..LayerSpec::new(N_HEADS, D) };
    let mut recorded = LayerCapture::of([(Site::Q, q), (Site::K, k), (Site::V, v)]);
    recorded.sink = with_shares.then(|| Matrix::new(shares, [N_HEADS, case.n_query]).unwrap());
    let tokens = (0..case.n_query).map(|at| token("a", Some(at as u32), false, at)).collect();
    let kind = StackKind::SelfAttention;
    let model = ModelSpec {
        name: "sinks".to_owned(),
        family: "gpt_oss".to_owned(),
        modality: Modality::Text(TextSpec::new(case.n_query, 100)),
        stacks: vec![StackSpec { kind, layers: vec![layer], causal: case.params.mask.causal }],
        d_model: N_HEADS * D,
        n_params: 1,
        checkpoint: None,
        head: None,
    };
    Capture::new(CaptureParts {
        id: CaptureId(1),
        model: Arc::new(model),
        input: InputInfo::default(),
        tokens: BTreeMap::from([(Side::Only, tokens)]),
        stacks: vec![StackCapture { kind, layers: vec![recorded], ..StackCapture::default() }],
        image: None,
        logits: None,
        prediction: None,
        generated: None,
        sequences: BTreeMap::new(),
        computation: Computation::default(),
        notes: Vec::new(),
    })
    .unwrap()
}

#[test]
fn patterns_are_told_from_queries_keys_and_shares_and_not_without_them() {
    let case = Case::new((12, 12), Mask { causal: true, window: None }, None, false);
    let (patterns, _) = case.dense(case.inputs.each_ref().map(Vec::as_slice));
    let mut bytes = Vec::new();
    file::write(&[&capture(&case, true)], file::Contents::DEFAULT, &mut bytes).unwrap();
    let again = read(&bytes, Format::Safetensors).unwrap();
    for capture in [capture(&case, true), again] {
        assert!(capture.model().stacks[0].layers[0].sink);
        for (head, exact) in patterns.chunks(144).enumerate() {
            let head = HeadId::single(0, head);
            assert!(attention::has_pattern(&capture, head));
            let off = largest(attention::pattern(&capture, head).unwrap().as_slice(), exact);
            assert!(off <= 1e-6, "{head:?}: {off}");
            let rows = attention::pattern_rows(&capture, head, 3..5).unwrap();
            assert!(largest(rows.as_slice(), &exact[36..60]) <= 1e-6, "{head:?}");
        }
    }
    let without = capture(&case, false);
    let head = HeadId::single(0, 1);
    assert!(attention::scores(&without, head).is_some(), "scores have no part in a sink");
    assert!(!attention::has_pattern(&without, head));
    assert_eq!(attention::pattern(&without, head), None);
}
