//! Rows of scores and patterns.

#![expect(clippy::inline_always, reason = "a body is compiled for an instruction set only where it is inlined")]

use super::{exp, lane_sum, tanh};

/// Entries that are treated in step.
const LANES: usize = 16;

#[inline(always)]
pub(super) fn exp_sum_body<const FMA: bool>(x: &[f32], max: f32, sum: &mut [f32; 1]) {
    sum[0] = lane_sum(x.len(), |i| exp::<FMA>(x[i] - max));
}

#[inline(always)]
pub(super) fn cap_and_bias_body<const FMA: bool>(x: &mut [f32], cap: Option<f32>, bias: &[f32]) {
    if let Some(cap) = cap {
        let inverse = (1.0 / f64::from(cap)) as f32;
        for x in x.iter_mut() {
            *x = tanh::<FMA>(*x * inverse) * cap;
        }
    }
    for (x, bias) in x.iter_mut().zip(bias) {
        *x += bias;
    }
}

#[inline(always)]
pub(super) fn cap_slope_body<const FMA: bool>(x: &[f32], cap: f32, out: &mut [f32]) {
    let inverse = (1.0 / f64::from(cap)) as f32;
    for (x, out) in x.iter().zip(out) {
        let t = tanh::<FMA>(*x * inverse);
        *out = 1.0 - t * t;
    }
}

#[inline(always)]
pub(super) fn softmax_body<const FMA: bool>(x: &mut [f32], sink: f32) {
    let mut lanes = [f32::NEG_INFINITY; LANES];
    let (chunks, rest) = x.as_chunks::<LANES>();
    for chunk in chunks {
        for (max, x) in lanes.iter_mut().zip(chunk) {
            *max = if *x > *max { *x } else { *max };
        }
    }
    let max = lanes.iter().chain(rest).fold(sink, |max, x| if *x > max { *x } else { max });
    if max == f32::NEG_INFINITY {
        // Every key is masked. (A row of NaN also ends here; the run reports it from the output.)
        let fill = if x.iter().any(|x| x.is_nan()) { f32::NAN } else { 0.0 };
        x.fill(fill);
        return;
    }
    let mut sums = [0.0; LANES];
    let (chunks, rest) = x.as_chunks_mut::<LANES>();
    for chunk in chunks {
        for (x, sum) in chunk.iter_mut().zip(&mut sums) {
            *x = exp::<FMA>(*x - max);
            *sum += *x;
        }
    }
    let mut total: f32 = sums.iter().sum();
    for x in rest {
        *x = exp::<FMA>(*x - max);
        total += *x;
    }
    // Without a sink this adds exactly zero.
    let scale = 1.0 / (total + exp::<FMA>(sink - max));
    for x in x {
        *x *= scale;
    }
}

#[inline(always)]
pub(super) fn softmax_backward_body<const FMA: bool>(p: &[f32], grad: &[f32], out: &mut [f32]) {
    let (grad, out) = (&grad[..p.len()], &mut out[..p.len()]);
    let dot = lane_sum(p.len(), |i| p[i] * grad[i]);
    for ((p, grad), out) in p.iter().zip(grad).zip(out) {
        *out = p * (grad - dot);
    }
}
