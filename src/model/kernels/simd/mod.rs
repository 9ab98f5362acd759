//! Row kernels: plain loops over slices that the compiler vectorises, compiled once per instruction
//! set and chosen at run time.
//!
//! Accuracy against the C library, checked at every level in `tests/it/ways.rs`: `exp` 2e-7 relative, `erf` and
//! `tanh` 5e-7 absolute.

#![expect(clippy::inline_always, reason = "a body is compiled for an instruction set only where it is inlined")]

mod softmax;

use std::sync::LazyLock;

use self::softmax::{cap_and_bias_body, cap_slope_body, exp_sum_body, softmax_backward_body, softmax_body};
use super::{
    Activation, KernelPath, NormKind,
    blocks::{self, BlockType},
    code_rows::{self, CodeWidth},
    packed::PANEL,
};

/// The score of a sink that takes nothing.
pub(super) const NO_SINK: f32 = f32::NEG_INFINITY;

/// An instruction set that this processor has.
#[derive(Clone, Copy)]
pub(super) struct Level(Set);

/// Instruction sets that a kernel is compiled for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Set {
    Portable,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

static BEST: LazyLock<Level> = LazyLock::new(|| Level::of(KernelPath::supported().pop()));

impl Level {
    /// The best one, or what is forced on this thread; asked before work is given to other threads.
    pub fn current() -> Self {
        match KernelPath::forced() {
            // A way that the processor cannot go is not gone.
            Some(way) if KernelPath::supported().contains(&way) => Self::of(Some(way)),
            _ => *BEST,
        }
    }

    /// Of a way that the processor can go.
    const fn of(way: Option<KernelPath>) -> Self {
        Self(match way {
            #[cfg(target_arch = "x86_64")]
            Some(KernelPath::Avx512) => Set::Avx512,
            #[cfg(target_arch = "x86_64")]
            Some(KernelPath::Avx2) => Set::Avx2,
            _ => Set::Portable,
        })
    }
}

/// Defines a kernel that runs `$body::<FMA>` compiled for the instruction set of a level.
macro_rules! kernel {
    ($(#[$doc:meta])* $name:ident = $body:ident ( $($arg:ident : $ty:ty),* )) => {
        $(#[$doc])*
        pub(super) fn $name(level: Level, $($arg: $ty),*) {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx2,fma")]
            fn avx512($($arg: $ty),*) { $body::<true>($($arg),*) }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn avx2($($arg: $ty),*) { $body::<true>($($arg),*) }

            match level.0 {
                // SAFETY: levels are made only of what the processor reported.
                #[cfg(target_arch = "x86_64")]
                #[expect(unsafe_code, reason = "calls code for the detected instruction set")]
                Set::Avx512 => unsafe { avx512($($arg),*) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                #[expect(unsafe_code, reason = "calls code for the detected instruction set")]
                Set::Avx2 => unsafe { avx2($($arg),*) },
                Set::Portable => $body::<false>($($arg),*),
            }
        }
    };
}

kernel! {
    /// `x[i] = f(x[i])`.
    activate = activate_body(f: Activation, x: &mut [f32])
}
kernel! {
    /// `out[i] = grad[i] · f'(x[i])`.
    activate_backward = activate_backward_body(f: Activation, x: &[f32], grad: &[f32], out: &mut [f32])
}
kernel! {
    /// `sum[0] = Σ exp(x[i] − max)`; lanes of `f32`, so that long rows stay accurate.
    exp_sum = exp_sum_body(x: &[f32], max: f32, sum: &mut [f32; 1])
}
kernel! {
    /// `x = softmax(x ∪ sink)` without the sink's own weight; an entry of `-inf` gives exactly zero, a row of them
    /// all zeros.
    softmax = softmax_body(x: &mut [f32], sink: f32)
}
kernel! {
    /// `x = cap · tanh(x / cap) + bias`; without a cap `x + bias`, which may be empty.
    cap_and_bias = cap_and_bias_body(x: &mut [f32], cap: Option<f32>, bias: &[f32])
}
kernel! {
    /// `out = 1 − tanh(x / cap)²`, the derivative of a capped score.
    cap_slope = cap_slope_body(x: &[f32], cap: f32, out: &mut [f32])
}
kernel! {
    /// `out = p ⊙ (grad − Σ p·grad)`, the gradient of a softmax whose result was `p`: also of one that a sink took part
    /// in, whose weight nothing depends on.
    softmax_backward = softmax_backward_body(p: &[f32], grad: &[f32], out: &mut [f32])
}
kernel! {
    /// One row of layer or RMS norm; `bias` may be empty.
    norm = norm_body(kind: NormKind, x: &[f32], weight: &[f32], bias: &[f32], eps: f32, out: &mut [f32])
}
kernel! {
    /// Gradient of one row of [`norm`] with respect to `x`.
    norm_backward = norm_backward_body(kind: NormKind, x: &[f32], weight: &[f32], eps: f32, grad: &[f32], out: &mut [f32])
}

kernel! {
    /// `out[i] = x[i]` in single precision.
    widen = widen_body(x: &[half::bf16], out: &mut [f32])
}

kernel! {
    /// The numbers of blocks in single precision.
    widen_blocks = widen_blocks_body(kind: BlockType, bytes: &[u8], out: &mut [f32])
}

kernel! {
    /// The number that each code of some bytes stands for; beside the bytes are the numbers of all codes.
    look_up = look_up_body(width: CodeWidth, codes: (&[u8], &[f32]), out: &mut [f32])
}

kernel! {
    /// `sums[c] = Σ x[i] · panel[i, c]`, each sum in the order of `i`.
    row_product = row_product_body(x: &[f32], panel: &[f32], sums: &mut [f32; PANEL])
}
kernel! {
    /// [`row_product`] of numbers of two bytes, with the same bits.
    row_product_bf16 = row_product_bf16_body(x: &[f32], panel: &[half::bf16], sums: &mut [f32; PANEL])
}
kernel! {
    /// [`row_product`] of numbers of two bytes, with the same bits.
    row_product_f16 = row_product_f16_body(x: &[f32], panel: &[half::f16], sums: &mut [f32; PANEL])
}

#[inline(always)]
fn row_product_body<const FMA: bool>(x: &[f32], panel: &[f32], sums: &mut [f32; PANEL]) {
    for (x, row) in x.iter().zip(panel.as_chunks::<PANEL>().0) {
        for (sum, weight) in sums.iter_mut().zip(row) {
            *sum = fma::<FMA>(*x, *weight, *sum);
        }
    }
}

#[inline(always)]
fn row_product_bf16_body<const FMA: bool>(x: &[f32], panel: &[half::bf16], sums: &mut [f32; PANEL]) {
    for (x, row) in x.iter().zip(panel.as_chunks::<PANEL>().0) {
        for (sum, weight) in sums.iter_mut().zip(row) {
            *sum = fma::<FMA>(*x, f32::from_bits(u32::from(weight.to_bits()) << 16), *sum);
        }
    }
}

#[inline(always)]
fn row_product_f16_body<const FMA: bool>(x: &[f32], panel: &[half::f16], sums: &mut [f32; PANEL]) {
    use half::slice::HalfFloatSliceExt as _;
    let mut wide = [0.0; PANEL];
    for (x, row) in x.iter().zip(panel.as_chunks::<PANEL>().0) {
        row.convert_to_f32_slice(&mut wide);
        for (sum, weight) in sums.iter_mut().zip(&wide) {
            *sum = fma::<FMA>(*x, *weight, *sum);
        }
    }
}

#[inline(always)]
fn widen_body<const FMA: bool>(x: &[half::bf16], out: &mut [f32]) {
    for (out, x) in out.iter_mut().zip(x) {
        *out = f32::from_bits(u32::from(x.to_bits()) << 16);
    }
}

#[inline(always)]
fn widen_blocks_body<const FMA: bool>(kind: BlockType, bytes: &[u8], out: &mut [f32]) {
    // Products and sums are never fused: every number has the same bits on every processor.
    blocks::widen(kind, bytes, out);
}

#[inline(always)]
fn look_up_body<const FMA: bool>(width: CodeWidth, codes: (&[u8], &[f32]), out: &mut [f32]) {
    code_rows::look_up(width, codes, out);
}

/// `a · b + c`, fused where the instruction set has it.
#[inline(always)]
fn fma<const FMA: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FMA { a.mul_add(b, c) } else { a * b + c }
}

/// Evaluates a polynomial, highest coefficient first.
#[inline(always)]
fn horner<const FMA: bool, const N: usize>(x: f32, coefficients: [f32; N]) -> f32 {
    let mut sum = coefficients[0];
    let mut i = 1;
    while i < N {
        sum = fma::<FMA>(sum, x, coefficients[i]);
        i += 1;
    }
    sum
}

/// `eˣ` by splitting off the power of two (Cephes `expf` polynomial); zero below −87.3.
#[inline(always)]
fn exp<const FMA: bool>(x: f32) -> f32 {
    /// Adding and subtracting 1.5·2²³ rounds to an integer, which then sits in the low bits.
    const ROUND: f32 = 12_582_912.0;
    const LN2_HIGH: f32 = 0.693_359_4;
    const LN2_LOW: f32 = -2.121_944_4e-4;
    let clamped = if x > 88.0 { 88.0 } else { x };
    let clamped = if clamped < -87.3 { -87.3 } else { clamped };
    let rounded = fma::<FMA>(clamped, std::f32::consts::LOG2_E, ROUND);
    let n = rounded - ROUND;
    let r = fma::<FMA>(n, -LN2_HIGH, clamped);
    let r = fma::<FMA>(n, -LN2_LOW, r);
    let p = horner::<FMA, 6>(r, [1.987_569_1e-4, 1.398_199_9e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 0.5]);
    let p = fma::<FMA>(p * r, r, r + 1.0);
    let exponent = rounded.to_bits().wrapping_sub(ROUND.to_bits()).wrapping_add(127);
    let value = p * f32::from_bits(exponent << 23);
    if x < -87.3 { 0.0 } else { value }
}

/// `tanh` through `exp` for large arguments and a polynomial near zero (Cephes `tanhf`).
#[inline(always)]
fn tanh<const FMA: bool>(x: f32) -> f32 {
    let a = x.abs();
    let e = exp::<FMA>(-2.0 * a);
    let large = (1.0 - e) / (1.0 + e);
    let s = x * x;
    let p = horner::<FMA, 5>(s, [-5.704_988_7e-3, 2.063_909e-2, -5.373_971_6e-2, 1.333_144_2e-1, -3.333_328e-1]);
    let small = fma::<FMA>(p * s, a, a);
    let value = if a < 0.625 { small } else { large };
    value.copysign(x)
}

/// `erf` as a rational function of `x²` on ±3.83, where it reaches ±1 in `f32` (the approximation
/// used by Eigen and XLA).
#[inline(always)]
fn erf<const FMA: bool>(x: f32) -> f32 {
    const LIMIT: f32 = 3.832_507;
    let x = if x > LIMIT { LIMIT } else { x };
    let x = if x < -LIMIT { -LIMIT } else { x };
    let s = x * x;
    let p = horner::<FMA, 7>(
        s,
        [
            -2.726_142_4e-10,
            2.770_681_4e-8,
            -2.101_024e-6,
            -5.692_506_4e-5,
            -7.349_906_3e-4,
            -2.954_6e-3,
            -1.609_603_3e-2,
        ],
    );
    let q = horner::<FMA, 5>(s, [-1.456_607_2e-5, -2.133_740_6e-4, -1.682_827e-3, -7.373_329e-3, -1.426_473_9e-2]);
    x * p / q
}

/// √(2/π) and the cubic coefficient of the tanh form of GELU.
const GELU_TANH: (f32, f32) = (0.797_884_6, 0.044_715);

#[inline(always)]
fn activation<const FMA: bool>(f: Activation, x: f32) -> f32 {
    match f {
        Activation::Gelu => 0.5 * x * (1.0 + erf::<FMA>(x * std::f32::consts::FRAC_1_SQRT_2)),
        Activation::GeluTanh => 0.5 * x * (1.0 + tanh::<FMA>(GELU_TANH.0 * (x + GELU_TANH.1 * x * x * x))),
        Activation::Relu => {
            if x > 0.0 {
                x
            } else {
                0.0
            }
        }
        Activation::Silu => x / (1.0 + exp::<FMA>(-x)),
        Activation::QuickGelu => x / (1.0 + exp::<FMA>(-1.702 * x)),
        Activation::Tanh => tanh::<FMA>(x),
    }
}

#[inline(always)]
fn derivative<const FMA: bool>(f: Activation, x: f32) -> f32 {
    /// 1/√(2π).
    const GAUSS: f32 = 0.398_942_3;
    let gated = |slope: f32| {
        let s = 1.0 / (1.0 + exp::<FMA>(-slope * x));
        s * (1.0 + slope * x * (1.0 - s))
    };
    match f {
        Activation::Gelu => {
            let cdf = 0.5 * (1.0 + erf::<FMA>(x * std::f32::consts::FRAC_1_SQRT_2));
            fma::<FMA>(x * GAUSS, exp::<FMA>(-0.5 * x * x), cdf)
        }
        Activation::GeluTanh => {
            let t = tanh::<FMA>(GELU_TANH.0 * (x + GELU_TANH.1 * x * x * x));
            let inner = GELU_TANH.0 * (1.0 + 3.0 * GELU_TANH.1 * x * x);
            0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * inner
        }
        Activation::Relu => {
            if x > 0.0 {
                1.0
            } else {
                0.0
            }
        }
        Activation::Silu => gated(1.0),
        Activation::QuickGelu => gated(1.702),
        Activation::Tanh => {
            let t = tanh::<FMA>(x);
            1.0 - t * t
        }
    }
}

/// Runs a loop once per activation, so that the choice is made outside it and the loop vectorises.
macro_rules! per_activation {
    ($f:expr, $name:ident => $loop:expr) => {
        match $f {
            Activation::Gelu => {
                const $name: Activation = Activation::Gelu;
                $loop
            }
            Activation::GeluTanh => {
                const $name: Activation = Activation::GeluTanh;
                $loop
            }
            Activation::Relu => {
                const $name: Activation = Activation::Relu;
                $loop
            }
            Activation::Silu => {
                const $name: Activation = Activation::Silu;
                $loop
            }
            Activation::QuickGelu => {
                const $name: Activation = Activation::QuickGelu;
                $loop
            }
            Activation::Tanh => {
                const $name: Activation = Activation::Tanh;
                $loop
            }
        }
    };
}

#[inline(always)]
fn activate_body<const FMA: bool>(f: Activation, x: &mut [f32]) {
    per_activation!(f, F => for x in x {
        *x = activation::<FMA>(F, *x);
    });
}

#[inline(always)]
fn activate_backward_body<const FMA: bool>(f: Activation, x: &[f32], grad: &[f32], out: &mut [f32]) {
    per_activation!(f, F => for ((x, grad), out) in x.iter().zip(grad).zip(out) {
        *out = grad * derivative::<FMA>(F, *x);
    });
}

/// Sums `f(i)` for `i < n` in sixteen lanes, which both vectorises and keeps rounding errors small.
#[inline(always)]
fn lane_sum(n: usize, f: impl Fn(usize) -> f32) -> f32 {
    let mut lanes = [0.0f32; 16];
    let whole = n / 16 * 16;
    let mut i = 0;
    while i < whole {
        for (lane, sum) in lanes.iter_mut().enumerate() {
            *sum += f(i + lane);
        }
        i += 16;
    }
    let mut total: f32 = lanes.iter().sum();
    while i < n {
        total += f(i);
        i += 1;
    }
    total
}

/// Mean and reciprocal standard deviation, in two passes: the one-pass formula cancels for large means.
#[inline(always)]
fn moments(kind: NormKind, x: &[f32], eps: f32) -> (f32, f32) {
    let n = x.len() as f32;
    let mean = match kind {
        NormKind::Layer => lane_sum(x.len(), |i| x[i]) / n,
        NormKind::Rms => 0.0,
    };
    let variance = lane_sum(x.len(), |i| (x[i] - mean) * (x[i] - mean)) / n;
    (mean, 1.0 / (variance + eps).sqrt())
}

#[inline(always)]
fn norm_body<const FMA: bool>(kind: NormKind, x: &[f32], weight: &[f32], bias: &[f32], eps: f32, out: &mut [f32]) {
    let n = x.len();
    let (weight, out) = (&weight[..n], &mut out[..n]);
    let (mean, rstd) = moments(kind, x, eps);
    if bias.len() == n {
        for i in 0..n {
            out[i] = fma::<FMA>((x[i] - mean) * rstd, weight[i], bias[i]);
        }
    } else {
        for i in 0..n {
            out[i] = (x[i] - mean) * rstd * weight[i];
        }
    }
}

#[inline(always)]
fn norm_backward_body<const FMA: bool>(
    kind: NormKind,
    x: &[f32],
    weight: &[f32],
    eps: f32,
    grad: &[f32],
    out: &mut [f32],
) {
    let n = x.len();
    let (weight, grad, out) = (&weight[..n], &grad[..n], &mut out[..n]);
    let (mean, rstd) = moments(kind, x, eps);
    let mean_grad = match kind {
        NormKind::Layer => lane_sum(n, |i| grad[i] * weight[i]) / n as f32,
        NormKind::Rms => 0.0,
    };
    let projection = lane_sum(n, |i| grad[i] * weight[i] * (x[i] - mean)) * rstd / n as f32;
    for i in 0..n {
        out[i] = rstd * (fma::<FMA>(grad[i], weight[i], -mean_grad) - (x[i] - mean) * rstd * projection);
    }
}
