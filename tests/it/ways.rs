//! Every operation in every way that this processor can compute it, forward and backward, against the same
//! formula in double precision.

use attnscope::{
    ids::{HeadId, StackKind},
    model::kernels::{self, Activation, KernelPath, Linear, Norm, NormKind, Turns, with_path},
    spec::Mask,
};
use candle_core::{D, DType, Device, Tensor, Var};

/// Values in `-2..2` that no test shares by accident.
fn sample(shape: &[usize], seed: u64) -> Tensor {
    let mut random = crate::support::synthetic::Random(seed);
    let values: Vec<f32> = (0..shape.iter().product()).map(|_| 2.0 * random.symmetric()).collect();
    Tensor::from_vec(values, shape, &Device::Cpu).unwrap()
}

/// The result and the gradients of a weighted sum of it, in double precision.
fn run(inputs: &[Tensor], f: &dyn Fn(&[Tensor]) -> Tensor) -> Vec<Tensor> {
    let vars: Vec<Var> = inputs.iter().map(|t| Var::from_tensor(t).unwrap()).collect();
    let tensors: Vec<Tensor> = vars.iter().map(|v| v.as_tensor().clone()).collect();
    let out = f(&tensors).contiguous().unwrap();
    let weights = sample(out.dims(), 99).to_dtype(out.dtype()).unwrap();
    let grads = (&out * weights).unwrap().sum_all().unwrap().backward().unwrap();
    let grads = vars.iter().map(|v| grads.get(v).unwrap().clone());
    std::iter::once(out.clone()).chain(grads).map(|t| t.to_dtype(DType::F64).unwrap()).collect()
}

fn max_abs_diff(a: &Tensor, b: &Tensor) -> f64 {
    assert_eq!(a.dims(), b.dims());
    (a - b).unwrap().abs().unwrap().flatten_all().unwrap().max(0).unwrap().to_scalar().unwrap()
}

fn check(name: &str, inputs: &[Tensor], ours: impl Fn(&[Tensor]) -> Tensor, exact: impl Fn(&[Tensor]) -> Tensor) {
    let wide: Vec<Tensor> = inputs.iter().map(|t| t.to_dtype(DType::F64).unwrap()).collect();
    let expected = run(&wide, &exact);
    for way in KernelPath::supported() {
        let found = with_path(way, || run(inputs, &ours));
        for (idx, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let diff = max_abs_diff(found, expected);
            let limit = if idx == 0 { 1e-5 } else { 5e-5 };
            assert!(diff <= limit, "{name}, {way:?}, result and gradients #{idx}: {diff:e}");
        }
    }
}

fn sigmoid(x: &Tensor) -> Tensor {
    (x.neg().unwrap().exp().unwrap() + 1.0).unwrap().recip().unwrap()
}

fn exact_activation(x: &Tensor, f: Activation) -> Tensor {
    match f {
        Activation::Gelu => x.gelu_erf(),
        Activation::GeluTanh => x.gelu(),
        Activation::Relu => x.relu(),
        Activation::Silu => x * sigmoid(x),
        Activation::QuickGelu => x * sigmoid(&(x * 1.702).unwrap()),
        Activation::Tanh => x.tanh(),
    }
    .unwrap()
}

fn exact_softmax(x: &Tensor) -> Tensor {
    let exp = x.broadcast_sub(&x.max_keepdim(D::Minus1).unwrap().detach()).unwrap().exp().unwrap();
    exp.broadcast_div(&exp.sum_keepdim(D::Minus1).unwrap()).unwrap()
}

fn additive(mask: Mask, (n_query, n_key): (usize, usize)) -> Tensor {
    let mut values = vec![f64::NEG_INFINITY; n_query * n_key];
    for (query, row) in values.chunks_exact_mut(n_key).enumerate() {
        row[mask.visible(query, n_query, n_key)].fill(0.0);
    }
    Tensor::from_vec(values, (n_query, n_key), &Device::Cpu).unwrap()
}

#[test]
fn every_processor_has_at_least_two_ways() {
    let ways = KernelPath::supported();
    assert_eq!(ways[..2], [KernelPath::Operations, KernelPath::Portable]);
    // What is forced ends with the work, also after a panic in it.
    let panicked = std::panic::catch_unwind(|| with_path(KernelPath::Operations, || panic!("on purpose")));
    assert!(panicked.is_err());
}

#[test]
fn activations_and_gates() {
    use Activation::{Gelu, GeluTanh, QuickGelu, Relu, Silu, Tanh};
    let x = (sample(&[19, 70], 1) * 2.0).unwrap();
    for f in [Gelu, GeluTanh, Relu, Silu, QuickGelu, Tanh] {
        let ours = |x: &[Tensor]| kernels::activation(&x[0], f).unwrap();
        check(&format!("{f:?}"), std::slice::from_ref(&x), ours, |x| exact_activation(&x[0], f));
        let ours = |x: &[Tensor]| kernels::gated(&x[0], f).unwrap();
        check(&format!("gate of {f:?}"), std::slice::from_ref(&x), ours, |x| {
            let gate = x[0].narrow(1, 0, 35).unwrap();
            (exact_activation(&gate, f) * x[0].narrow(1, 35, 35).unwrap()).unwrap()
        });
    }
}

#[test]
fn norms() {
    let x = (sample(&[23, 48], 2) + 3.0).unwrap();
    let (weight, bias) = (sample(&[48], 3), sample(&[48], 4));
    for (kind, bias) in [(NormKind::Layer, Some(&bias)), (NormKind::Rms, None), (NormKind::Rms, Some(&bias))] {
        let norm = Norm { kind, weight: weight.clone(), bias: bias.cloned(), eps: 1e-5 };
        check(
            &format!("{kind:?}"),
            std::slice::from_ref(&x),
            |x| norm.forward(&x[0]).unwrap(),
            |x| {
                let wide = |t: &Tensor| t.to_dtype(DType::F64).unwrap();
                let x = match kind {
                    NormKind::Layer => x[0].broadcast_sub(&x[0].mean_keepdim(D::Minus1).unwrap()).unwrap(),
                    NormKind::Rms => x[0].clone(),
                };
                let variance = (x.sqr().unwrap().mean_keepdim(D::Minus1).unwrap() + 1e-5).unwrap();
                let scaled = x.broadcast_div(&variance.sqrt().unwrap()).unwrap().broadcast_mul(&wide(&weight)).unwrap();
                bias.map_or(scaled.clone(), |bias| scaled.broadcast_add(&wide(bias)).unwrap())
            },
        );
    }
}

#[test]
fn masks_and_caps_before_softmax() {
    let x = (sample(&[2, 33, 33], 5) * 3.0).unwrap();
    for mask in [
        Mask { causal: true, window: None },
        Mask { causal: true, window: Some(5) },
        Mask { causal: false, window: Some(4) },
        Mask::NONE,
    ] {
        let ours = |x: &[Tensor]| {
            let capped = kernels::softcap(&x[0], 4.0).unwrap();
            kernels::softmax(&kernels::mask(&capped, mask).unwrap(), mask).unwrap()
        };
        check(&format!("{mask:?}"), std::slice::from_ref(&x), ours, |x| {
            let capped = ((&x[0] / 4.0).unwrap().tanh().unwrap() * 4.0).unwrap();
            exact_softmax(&capped.broadcast_add(&additive(mask, (33, 33))).unwrap())
        });
    }
}

#[test]
fn rotations() {
    let (n, n_heads, d) = (9, 3, 16);
    let x = sample(&[n, n_heads, d], 6);
    for n_rotated in [16, 6] {
        let frequencies: Vec<f32> = (0..n_rotated / 2).map(|i| 0.7f32.powi(i)).collect();
        let half = frequencies.len();
        let turns = Turns::new(&frequencies, 4..4 + n, 1.25);
        let ours = |x: &[Tensor]| kernels::rotate(&x[0], &turns).unwrap();
        check(&format!("{n_rotated} of {d}"), std::slice::from_ref(&x), ours, |x| {
            let angles = (4..4 + n).flat_map(|p| frequencies.iter().map(move |f| f64::from(f * p as f32)));
            let angles: Vec<f64> = angles.collect();
            let angles = Tensor::from_vec(angles, (n, 1, half), &Device::Cpu).unwrap();
            let (cos, sin) = ((angles.cos().unwrap() * 1.25).unwrap(), (angles.sin().unwrap() * 1.25).unwrap());
            let (a, b) = (x[0].narrow(2, 0, half).unwrap(), x[0].narrow(2, half, half).unwrap());
            let times = |x: &Tensor, y: &Tensor| x.broadcast_mul(y).unwrap();
            let first = (times(&a, &cos) - times(&b, &sin)).unwrap();
            let second = (times(&b, &cos) + times(&a, &sin)).unwrap();
            let mut parts = vec![first, second];
            if d > 2 * half {
                parts.push(x[0].narrow(2, 2 * half, d - 2 * half).unwrap());
            }
            Tensor::cat(&parts, 2).unwrap()
        });
    }
}

#[test]
fn linear_maps_and_attention() {
    let (weight, bias) = (sample(&[24, 70], 7), sample(&[70], 8));
    let linear = Linear::new(weight.clone(), Some(bias.clone())).unwrap();
    let inputs = [sample(&[11, 24], 9), sample(&[11, 70], 10)];
    check(
        "linear",
        &inputs,
        |x| linear.forward_add(&x[0], &x[1]).unwrap(),
        |x| {
            let wide = |t: &Tensor| t.to_dtype(DType::F64).unwrap();
            (x[0].matmul(&wide(&weight)).unwrap().broadcast_add(&wide(&bias)).unwrap() + &x[1]).unwrap()
        },
    );
    let (n, n_heads, n_kv, d) = (37, 4, 2, 8);
    let inputs = [sample(&[n_heads, n, d], 11), sample(&[n_kv, n, d], 12), sample(&[n_kv, n, d], 13)];
    for causal in [false, true] {
        let mask = Mask { causal, window: None };
        let ours = |x: &[Tensor]| {
            let scores = kernels::scores(&x[0], &x[1], 0.4, mask).unwrap();
            kernels::attend(&kernels::softmax(&scores, mask).unwrap(), &x[2], mask).unwrap()
        };
        check(&format!("attention, causal: {causal}"), &inputs, ours, |x| {
            let repeat = |x: &Tensor| {
                let x = x.unsqueeze(1).unwrap().expand((n_kv, n_heads / n_kv, n, d)).unwrap();
                x.contiguous().unwrap().reshape((n_heads, n, d)).unwrap()
            };
            let keys = repeat(&x[1]).transpose(1, 2).unwrap().contiguous().unwrap();
            let scores = (x[0].matmul(&keys).unwrap() * 0.4).unwrap();
            let scores = scores.broadcast_add(&additive(Mask { causal, window: None }, (n, n))).unwrap();
            let z = exact_softmax(&scores).matmul(&repeat(&x[2])).unwrap();
            z.transpose(0, 1).unwrap().contiguous().unwrap().reshape((n, n_heads * d)).unwrap()
        });
    }
}

/// What `simd` promises of its functions, at every level.
#[test]
fn exponential_and_sigmoids_are_as_accurate_as_promised() {
    for way in KernelPath::supported() {
        with_path(way, || {
            for at in -8700..=8700 {
                let x = at as f32 * 0.01;
                let (ours, exact) = (f64::from(kernels::exp_sum(&[x], 0.0)), f64::from(x).exp());
                assert!((ours - exact).abs() <= 2e-7 * exact, "{way:?}: exp({x}) = {ours:e}, not {exact:e}");
            }
            let xs: Vec<f32> = (-6000..=6000).map(|at| at as f32 * 1e-3).filter(|x| x.abs() > 0.05).collect();
            let x = Tensor::new(xs.as_slice(), &Device::Cpu).unwrap();
            let tanh = kernels::activation(&x, Activation::Tanh).unwrap().to_vec1::<f32>().unwrap();
            let gelu = kernels::activation(&x, Activation::Gelu).unwrap().to_vec1::<f32>().unwrap();
            let exact = x.to_dtype(DType::F64).unwrap().gelu_erf().unwrap().to_vec1::<f64>().unwrap();
            for (((x, tanh), gelu), exact) in xs.iter().zip(tanh).zip(gelu).zip(exact) {
                let wide = f64::from(*x);
                assert!((f64::from(tanh) - wide.tanh()).abs() <= 5e-7, "{way:?}: tanh({x}) = {tanh}");
                // gelu(x) = x/2 · (1 + erf(x/√2))
                let erf = 2.0 * (f64::from(gelu) - exact) / wide;
                assert!(erf.abs() <= 5e-7, "{way:?}: erf for {x} is off by {erf:e}");
            }
        });
    }
}

/// Sparse normalisers, forward and backward: against the references, and against finite differences of them.
#[test]
fn normalisers_are_those_of_their_papers_forward_and_backward() {
    use attnscope::{
        analysis::explain::normalizers as exact,
        capture::{Normalizer, SigmoidBias},
    };
    let by_head = [
        Normalizer::Sparsemax,
        Normalizer::Entmax(1.5),
        Normalizer::Entmax(1.2),
        Normalizer::Fusedmax(0.3),
        Normalizer::ChainSimplex(0.7),
        Normalizer::Chain(-0.4),
        Normalizer::SparsemapChain(0.3),
        Normalizer::Sigmoid(SigmoidBias::Zero),
        Normalizer::Sigmoid(SigmoidBias::MinusLogKeys),
        Normalizer::Argmax,
        Normalizer::Sample { seed: 7, draw: 1 },
    ];
    let at = HeadId { stack: StackKind::Cross, layer: 2, head: 0 };
    let (n_head, n_query, n_key) = (by_head.len(), 6, 9);
    let mut scores = sample(&[n_head, n_query, n_key], 5).flatten_all().unwrap().to_vec1::<f32>().unwrap();
    for (idx, score) in scores.iter_mut().enumerate().filter(|(idx, _)| idx % 7 == 3) {
        *score = if idx % 2 == 0 { f32::NEG_INFINITY } else { *score };
    }
    scores[..n_key].fill(f32::NEG_INFINITY);
    let reference =
        |(head, query): (usize, usize), row: &[f64]| exact::weights(by_head[head], (HeadId { head, ..at }, query), row);
    let wide = |row: &[f32]| row.iter().map(|score| f64::from(*score)).collect::<Vec<f64>>();
    let shape = (n_head, n_query, n_key);
    let weights = sample(&[n_head, n_query, n_key], 11);
    for way in KernelPath::supported() {
        let (pattern, grad) = with_path(way, || {
            let var = Var::from_tensor(&Tensor::from_vec(scores.clone(), shape, &Device::Cpu).unwrap()).unwrap();
            let pattern = kernels::normalize(var.as_tensor(), &by_head, (at, 0)).unwrap();
            let grads = (&pattern * &weights).unwrap().sum_all().unwrap().backward().unwrap();
            let values = |tensor: &Tensor| tensor.flatten_all().unwrap().to_vec1::<f32>().unwrap();
            (values(&pattern), values(grads.get(&var).unwrap()))
        });
        let weights = weights.flatten_all().unwrap().to_vec1::<f32>().unwrap();
        for (idx, row) in scores.chunks_exact(n_key).enumerate() {
            let at = idx * n_key..(idx + 1) * n_key;
            let (place, row) = ((idx / n_query, idx % n_query), wide(row));
            let expected = reference(place, &row);
            for (found, expected) in pattern[at.clone()].iter().zip(&expected) {
                assert!((f64::from(*found) - expected).abs() < 1e-6, "{way:?} {place:?}: {found} is not {expected}");
            }
            let objective = |row: &[f64]| -> f64 {
                reference(place, row).iter().zip(&weights[at.clone()]).map(|(p, w)| p * f64::from(*w)).sum()
            };
            for key in (0..n_key).filter(|key| row[*key].is_finite()) {
                let moved = |step: f64| {
                    let mut row = row.clone();
                    row[key] += step;
                    objective(&row)
                };
                let slope = (moved(1e-6) - moved(-1e-6)) / 2e-6;
                let found = f64::from(grad[at.start + key]);
                assert!((slope - found).abs() < 1e-4, "{way:?} {place:?}: slope {slope}, gradient {found}");
            }
        }
    }
}
