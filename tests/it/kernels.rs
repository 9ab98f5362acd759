//! Every fused operation, forward and backward, against candle's own differentiable operations.

use std::ops::Range;

use attnscope::{
    model::kernels::{self, Activation, Bias, KeptCopies, KernelPath, Linear, Norm, NormKind, Windows, with_path},
    spec::{AttentionParams, Mask},
};
use candle_core::{D, DType, Device, Tensor, Var};

/// Values in `-2..2` that no test shares by accident.
fn sample(shape: &[usize], seed: u64) -> Tensor {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let values: Vec<f32> = (0..shape.iter().product())
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 40) as f32 / (1u64 << 22) as f32 - 2.0
        })
        .collect();
    Tensor::from_vec(values, shape, &Device::Cpu).unwrap()
}

fn max_abs_diff(a: &Tensor, b: &Tensor) -> f32 {
    assert_eq!(a.dims(), b.dims());
    let diff = (a.contiguous().unwrap() - b.contiguous().unwrap()).unwrap();
    diff.abs().unwrap().flatten_all().unwrap().max(0).unwrap().to_scalar().unwrap()
}

/// Runs both functions on the same inputs; results and gradients of every input must agree.
fn check(name: &str, inputs: &[Tensor], ours: impl Fn(&[Tensor]) -> Tensor, theirs: impl Fn(&[Tensor]) -> Tensor) {
    let run = |f: &dyn Fn(&[Tensor]) -> Tensor| {
        let vars: Vec<Var> = inputs.iter().map(|t| Var::from_tensor(t).unwrap()).collect();
        let tensors: Vec<Tensor> = vars.iter().map(|v| v.as_tensor().clone()).collect();
        let out = f(&tensors);
        // A weighted sum, so that no symmetry hides an error.
        let weights = sample(out.dims(), 99);
        let grads = (&out.contiguous().unwrap() * weights).unwrap().sum_all().unwrap().backward().unwrap();
        let grads: Vec<Tensor> = vars.iter().map(|v| grads.get(v).unwrap().clone()).collect();
        (out, grads)
    };
    let (out, grads) = run(&ours);
    let (expected, expected_grads) = run(&theirs);
    let diff = max_abs_diff(&out, &expected);
    assert!(diff <= 2e-5, "{name}: results differ by {diff}");
    for (i, (grad, expected)) in grads.iter().zip(&expected_grads).enumerate() {
        let diff = max_abs_diff(grad, expected);
        assert!(diff <= 1e-4, "{name}: gradients of input {i} differ by {diff}");
    }
}

#[test]
fn activations_match_candle() {
    let sigmoid = |x: &Tensor| (x.neg().unwrap().exp().unwrap() + 1.0).unwrap().recip().unwrap();
    let x = (sample(&[37, 129], 1) * 3.0).unwrap();
    let check = |f, theirs: &dyn Fn(&Tensor) -> Tensor| {
        let ours = |x: &[Tensor]| kernels::activation(&x[0], f).unwrap();
        check(&format!("{f:?}"), std::slice::from_ref(&x), ours, |x| theirs(&x[0]));
    };
    check(Activation::Gelu, &|x| x.gelu_erf().unwrap());
    check(Activation::GeluTanh, &|x| x.gelu().unwrap());
    check(Activation::Relu, &|x| x.relu().unwrap());
    check(Activation::Silu, &|x| x.silu().unwrap());
    check(Activation::QuickGelu, &|x| (x * sigmoid(&(x * 1.702).unwrap())).unwrap());
    check(Activation::Tanh, &|x| x.tanh().unwrap());
}

#[test]
fn linear_matches_candle_in_both_layouts() {
    let x = sample(&[70, 48], 2);
    let bias = sample(&[100], 3);
    for weight in [sample(&[48, 100], 4), sample(&[100, 48], 5).t().unwrap()] {
        let theirs = |x: &[Tensor]| x[0].matmul(&weight.contiguous().unwrap()).unwrap().broadcast_add(&bias).unwrap();
        let table = kernels::RowTable::Numbers(weight.t().unwrap().force_contiguous().unwrap());
        let maps = [
            Linear::shared(weight.clone(), Some(bias.clone())),
            Linear::new(weight.clone(), Some(bias.clone())).unwrap(),
            // The table behind it is of no use afterwards.
            Linear::owning(&table, Some(bias.clone())).unwrap(),
        ];
        for linear in maps {
            check("linear", std::slice::from_ref(&x), |x| linear.forward(&x[0]).unwrap(), theirs);
            let residual = sample(&[70, 100], 6);
            let ours = |x: &[Tensor]| linear.forward_add(&x[0], &x[1]).unwrap();
            check("linear with residual", &[x.clone(), residual], ours, |x| (theirs(&x[..1]) + &x[1]).unwrap());
        }
    }
}

#[test]
fn norms_match_candle() {
    let x = (sample(&[33, 64], 6) + 5.0).unwrap();
    let (weight, bias) = (sample(&[64], 7), sample(&[64], 8));
    for kind in [NormKind::Layer, NormKind::Rms] {
        let norm = Norm { kind, weight: weight.clone(), bias: Some(bias.clone()), eps: 1e-5 };
        let theirs = |x: &[Tensor]| {
            let x = match kind {
                NormKind::Layer => x[0].broadcast_sub(&x[0].mean_keepdim(D::Minus1).unwrap()).unwrap(),
                NormKind::Rms => x[0].clone(),
            };
            let variance = x.sqr().unwrap().mean_keepdim(D::Minus1).unwrap();
            let scaled = x.broadcast_div(&(variance + 1e-5).unwrap().sqrt().unwrap()).unwrap();
            scaled.broadcast_mul(&weight).unwrap().broadcast_add(&bias).unwrap()
        };
        check(&format!("{kind:?} norm"), std::slice::from_ref(&x), |x| norm.forward(&x[0]).unwrap(), theirs);
    }
}

/// The whole attention, from q, k and v as strided views of `[n, heads · d_head]`, with grouped keys.
#[test]
fn attention_matches_candle() {
    let (n, n_heads, d) = (150, 4, 24);
    for (n_kv, causal) in [(4, false), (4, true), (2, true), (1, false)] {
        let inputs = [sample(&[n, n_heads * d], 10), sample(&[n, n_kv * d], 11), sample(&[n, n_kv * d], 12)];
        let heads = |x: &Tensor, h: usize| x.reshape((n, h, d)).unwrap().transpose(0, 1).unwrap();
        let mask = Mask { causal, window: None };
        let ours = |x: &[Tensor]| {
            let scores = kernels::scores(&heads(&x[0], n_heads), &heads(&x[1], n_kv), 0.3, mask).unwrap();
            let pattern = kernels::softmax(&scores, mask).unwrap();
            kernels::attend(&pattern, &heads(&x[2], n_kv), mask).unwrap()
        };
        let mask: Vec<f32> =
            (0..n * n).map(|i| if causal && i % n > i / n { f32::NEG_INFINITY } else { 0.0 }).collect();
        let mask = Tensor::from_vec(mask, (n, n), &Device::Cpu).unwrap();
        let theirs = |x: &[Tensor]| {
            let repeat = |x: &Tensor| {
                let x = heads(x, n_kv).unsqueeze(1).unwrap().expand((n_kv, n_heads / n_kv, n, d)).unwrap();
                x.contiguous().unwrap().reshape((n_heads, n, d)).unwrap()
            };
            let q = heads(&x[0], n_heads).contiguous().unwrap();
            let scores = (q.matmul(&repeat(&x[1]).t().unwrap().contiguous().unwrap()).unwrap() * 0.3).unwrap();
            let scores = scores.broadcast_add(&mask).unwrap();
            let exp = scores.broadcast_sub(&scores.max_keepdim(D::Minus1).unwrap().detach()).unwrap().exp().unwrap();
            let pattern = exp.broadcast_div(&exp.sum_keepdim(D::Minus1).unwrap()).unwrap();
            let z = pattern.matmul(&repeat(&x[2])).unwrap();
            z.transpose(0, 1).unwrap().contiguous().unwrap().reshape((n, n_heads * d)).unwrap()
        };
        check(&format!("attention with {n_kv} key heads, causal: {causal}"), &inputs, ours, theirs);
    }
}

/// Forms of attention: mask, cap, and shape of the bias.
fn forms(n_heads: usize, n_query: usize, n_key: usize) -> Vec<(AttentionParams, Option<Bias>)> {
    let causal = Mask { causal: true, window: None };
    let (window, near) = (Mask { causal: true, window: Some(70) }, Mask { causal: false, window: Some(9) });
    let form = |mask, softcap| AttentionParams { softcap, ..AttentionParams::new(0.3, mask) };
    let bias = |shape: [usize; 3], seed| Some(Bias(sample(&shape, seed)));
    vec![
        (form(Mask::NONE, None), None),
        (form(causal, None), None),
        (form(window, None), None),
        (form(near, None), None),
        (form(causal, Some(2.0)), None),
        (form(Mask::NONE, None), bias([n_heads, n_query, n_key], 20)),
        (form(causal, None), bias([n_heads, 1, n_key], 21)),
        (form(window, Some(1.5)), bias([1, n_query, n_key], 22)),
        (form(causal, None), bias([n_heads, 1, n_query + n_key - 1], 23)),
        (form(near, Some(1.5)), bias([n_heads, 1, n_query + n_key - 1], 24)),
    ]
}

#[test]
fn a_bias_by_distance_is_the_same_in_full() {
    let (n_query, n_key) = (3, 5);
    let by_distance = Bias(sample(&[2, 1, n_query + n_key - 1], 25));
    let full = by_distance.spread(n_query, n_key).unwrap();
    assert_eq!(full.dims(), [2, n_query, n_key]);
    for head in 0..2 {
        for (query, key) in (0..n_query).flat_map(|query| (0..n_key).map(move |key| (query, key))) {
            let at = |x: &Tensor, row: usize, col: usize| {
                x.get(head).unwrap().get(row).unwrap().get(col).unwrap().to_scalar::<f32>().unwrap()
            };
            assert_eq!(at(&full, query, key), at(&by_distance.0, 0, key + n_query - 1 - query));
        }
    }
    let [q, k, v] = [n_query, n_key, n_key].map(|n| sample(&[n, 2, 4], 26).transpose(0, 1).unwrap());
    for (params, _) in forms(2, n_query, n_key) {
        let of = |bias: &Bias| kernels::attention(&q, &k, &v, Some(bias), &params).unwrap();
        assert_eq!(max_abs_diff(&of(&by_distance), &of(&Bias(full.clone()))), 0.0, "{params:?}");
    }
}

/// Nothing may depend on how much of what lies between is kept.
#[test]
fn attention_in_one_step_has_the_bits_of_its_parts() {
    for (n_query, n_key) in [(300, 300), (130, 300), (1, 40), (1100, 1100)] {
        let (n_heads, n_kv, d) = (4, 2, 16);
        let [q, k, v] = [(n_query, n_heads, 1), (n_key, n_kv, 2), (n_key, n_kv, 3)]
            .map(|(n, heads, seed)| sample(&[n, heads, d], seed).transpose(0, 1).unwrap());
        for (params, bias) in forms(n_heads, n_query, n_key) {
            let pattern =
                kernels::softmax(&kernels::attention_scores(&q, &k, bias.as_ref(), &params).unwrap(), params.mask)
                    .unwrap();
            let z = kernels::attend(&pattern, &v, params.mask).unwrap();
            let alone = kernels::attention(&q, &k, &v, bias.as_ref(), &params).unwrap();
            let (with, kept) = kernels::attention_with_pattern(&q, &k, &v, bias.as_ref(), &params).unwrap();
            let kept = Tensor::from_slice(&kept, (n_heads, n_query, n_key), &Device::Cpu).unwrap();
            for (name, ours, parts) in
                [("z", &alone, &z), ("z beside a pattern", &with, &z), ("pattern", &kept, &pattern)]
            {
                assert_eq!(max_abs_diff(ours, parts), 0.0, "{name} of {params:?}, {n_query} queries and {n_key} keys");
            }
        }
    }
}

#[test]
fn packed_inputs_attend_each_for_itself() {
    let (n, n_heads, n_kv, d) = (300, 4, 2, 16);
    let [q, k, v] =
        [(n_heads, 1), (n_kv, 2), (n_kv, 3)].map(|(heads, seed)| sample(&[n, heads, d], seed).transpose(0, 1).unwrap());
    // Inputs of their own, one that reads another's keys, and two with the same queries.
    let parts = [(0..5, 0..5), (5..205, 5..205), (205..206, 0..40), (206..300, 40..300), (206..300, 206..300)];
    for way in KernelPath::supported() {
        for (params, _) in forms(n_heads, n, n).into_iter().filter(|(_, bias)| bias.is_none()) {
            let apart = |(rows, keys): &(Range<usize>, Range<usize>)| {
                let of = |x: &Tensor, rows: &Range<usize>| x.narrow(1, rows.start, rows.len()).unwrap();
                kernels::attention(&of(&q, rows), &of(&k, keys), &of(&v, keys), None, &params).unwrap()
            };
            let (together, apart) = with_path(way, || {
                let together = kernels::attention_by_parts([&q, &k, &v], &parts, &params).unwrap();
                (together, Tensor::cat(&parts.each_ref().map(apart), 0).unwrap())
            });
            assert_eq!(max_abs_diff(&together, &apart), 0.0, "{params:?}, {way:?}");
        }
    }
}

#[test]
fn an_activation_on_the_way_has_the_bits_of_one_afterwards() {
    // More inputs than a piece of the depth, and outputs that fill no panel.
    let (d_in, d_out) = (1000, 150);
    let (weight, bias) = (sample(&[d_in, d_out], 50), sample(&[d_out], 51));
    for map in [Linear::new(weight.clone(), Some(bias)).unwrap(), Linear::shared(weight, None)] {
        for (n, way) in
            [1, 7, 60, 500].into_iter().flat_map(|n| KernelPath::supported().into_iter().map(move |way| (n, way)))
        {
            let x = sample(&[n, d_in], 52);
            let (through, after) = with_path(way, || {
                let after = kernels::activation(&map.forward(&x).unwrap(), Activation::Gelu).unwrap();
                (map.forward_through(&x, Activation::Gelu).unwrap(), after)
            });
            assert_eq!(max_abs_diff(&through, &after), 0.0, "{n} rows, {way:?}");
        }
    }
}

#[test]
fn attention_in_one_step_has_the_gradients_of_its_parts() {
    let (n, n_heads, n_kv, d) = (200, 4, 2, 16);
    let inputs = [sample(&[n_heads, n, d], 30), sample(&[n_kv, n, d], 31), sample(&[n_kv, n, d], 32)];
    for (params, bias) in forms(n_heads, n, n) {
        let ours = |x: &[Tensor]| kernels::attention(&x[0], &x[1], &x[2], bias.as_ref(), &params).unwrap();
        let theirs = |x: &[Tensor]| {
            let scores = kernels::attention_scores(&x[0], &x[1], bias.as_ref(), &params).unwrap();
            kernels::attend(&kernels::softmax(&scores, params.mask).unwrap(), &x[2], params.mask).unwrap()
        };
        check(&format!("{params:?}"), &inputs, ours, theirs);
    }
}

/// Windows beside keys that all see: some within the first window, some far from any.
fn windows(n: usize) -> Vec<Windows> {
    let near = |reach| Mask { causal: false, window: Some(reach) };
    let global: [&[usize]; 3] = [&[0], &[1, 2, 90, n - 1], &[]];
    let of = |(reach, global): (usize, &[usize])| Windows { scale: 0.3, mask: near(reach), global: global.into() };
    [(9, global[0]), (40, global[1]), (3, global[2]), (n, global[1])].into_iter().map(of).collect()
}

#[test]
fn windows_have_the_scores_patterns_and_gradients_of_all_pairs() {
    let (n, n_heads, d) = (300, 3, 16);
    let inputs = [40, 41, 42].map(|seed| sample(&[n, n_heads, d], seed).transpose(0, 1).unwrap());
    for windows in windows(n) {
        let of_pairs = |x: &[Tensor]| {
            let scores = windows.scores(&x[0], &x[1]).unwrap();
            let pattern = kernels::softmax(&scores, Mask::NONE).unwrap();
            (kernels::attend(&pattern, &x[2], Mask::NONE).unwrap(), scores, pattern)
        };
        let alone = |x: &[Tensor]| windows.attend(&x[0], &x[1], &x[2], KeptCopies::default()).unwrap();
        check(&format!("{windows:?}"), &inputs, |x| alone(x).z, |x| of_pairs(x).0);
        let [q, k, v] = &inputs;
        let all = windows.attend(q, k, v, KeptCopies { scores: true, pattern: true }).unwrap();
        assert_eq!(max_abs_diff(&all.z, &alone(&inputs).z), 0.0, "copies change z of {windows:?}");
        let (_, scores, pattern) = of_pairs(&inputs);
        assert!(max_abs_diff(&all.pattern.unwrap(), &pattern) <= 1e-6, "{windows:?}");
        // What nobody sees is the same infinity; a difference of those is no number.
        let finite = |x: &Tensor| x.maximum(-1e9f64).unwrap();
        let hidden = |x: &Tensor| x.le(-1e9f64).unwrap().to_dtype(DType::F32).unwrap();
        let ours = all.scores.unwrap();
        assert_eq!(max_abs_diff(&hidden(&ours), &hidden(&scores)), 0.0, "{windows:?}");
        assert!(max_abs_diff(&finite(&ours), &finite(&scores)) <= 1e-5, "{windows:?}");
    }
}

#[test]
fn a_fully_masked_row_gives_zeros_and_masked_keys_exactly_zero() {
    let inf = f32::NEG_INFINITY;
    let scores = Tensor::new(&[[[inf, inf, inf], [0.0, inf, 0.0]]], &Device::Cpu).unwrap();
    let pattern = kernels::softmax(&scores, Mask::NONE).unwrap();
    assert_eq!(pattern.to_vec3::<f32>().unwrap(), [[[0.0, 0.0, 0.0], [0.5, 0.0, 0.5]]]);
}

/// Against `f64`, so that the error is the kernel's own: two units in the last place of `max(|x|, 1)`.
#[test]
fn gelu_is_accurate() {
    let xs: Vec<f32> = (-80_000..80_000).map(|i| i as f32 * 1e-4).collect();
    let x = Tensor::from_vec(xs, 160_000, &Device::Cpu).unwrap();
    let exact = x.to_dtype(DType::F64).unwrap().gelu_erf().unwrap().to_dtype(DType::F32).unwrap();
    let ours = kernels::activation(&x, Activation::Gelu).unwrap();
    let unit = x.abs().unwrap().maximum(1.0f64).unwrap();
    let diff = max_abs_diff(&(&ours / &unit).unwrap(), &(&exact / &unit).unwrap());
    assert!(diff <= 2.0 * f32::EPSILON, "gelu is off by {diff}");
}
