//! Single-precision functions on whole vectors, on whatever instruction set `pulp` found.
//!
//! Polynomials are least-maximum fits over the reduced range; the errors are checked in the tests below.

#![expect(clippy::inline_always, reason = "compiled for an instruction set only where it is inlined")]

use pulp::Simd;

/// Adding this to a float rounds it to an integer, which then lies in the low bits (|x| < 2²²).
const ROUND: f32 = 12_582_912.0;

/// `2^x` for −126 ≤ x ≤ 126; smaller and larger x are taken to the ends. Relative error 2e-7.
#[inline(always)]
pub(super) fn exp2<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    let x = simd.max_f32s(simd.min_f32s(x, simd.splat_f32s(126.0)), simd.splat_f32s(-126.0));
    let shifted = simd.add_f32s(x, simd.splat_f32s(ROUND));
    let whole = simd.sub_f32s(shifted, simd.splat_f32s(ROUND));
    let rest = simd.sub_f32s(x, whole);
    // 2^rest on [−½, ½].
    let mut sum = simd.splat_f32s(EXP2[0]);
    for &factor in &EXP2[1..] {
        sum = simd.mul_add_e_f32s(sum, rest, simd.splat_f32s(factor));
    }
    let power = simd.wrapping_dyn_shl_u32s(simd.transmute_u32s_f32s(shifted), simd.splat_u32s(23));
    simd.transmute_f32s_u32s(simd.add_u32s(simd.transmute_u32s_f32s(sum), power))
}

/// `e^x`, as exact as [`exp2`].
#[inline(always)]
pub(super) fn exp<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    exp2(simd, simd.mul_f32s(x, simd.splat_f32s(std::f32::consts::LOG2_E)))
}

/// `log₂ x` for normal x > 0. Absolute error 2e-6 or a rounding.
#[inline(always)]
pub(super) fn log2<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    let bits = simd.transmute_u32s_f32s(x);
    let exponent = simd.wrapping_dyn_shr_u32s(bits, simd.splat_u32s(23));
    // An integer below 2²³ in the low bits of 2²³ is that float.
    let exponent = simd.transmute_f32s_u32s(simd.or_u32s(exponent, simd.splat_u32s(0x4B00_0000)));
    let exponent = simd.sub_f32s(exponent, simd.splat_f32s(8_388_608.0 + 127.0));
    let mantissa = simd.or_u32s(simd.and_u32s(bits, simd.splat_u32s(0x007F_FFFF)), simd.splat_u32s(0x3F80_0000));
    let t = simd.sub_f32s(simd.transmute_f32s_u32s(mantissa), simd.splat_f32s(1.0));
    let mut sum = simd.splat_f32s(LOG2[0]);
    for &factor in &LOG2[1..] {
        sum = simd.mul_add_e_f32s(sum, t, simd.splat_f32s(factor));
    }
    simd.mul_add_e_f32s(sum, t, exponent)
}

/// `2^t` on [−½, ½], highest power first.
const EXP2: [f32; 6] =
    [0.001_340_043_3, 0.009_676_037, 0.055_503_27, 0.240_221_07, std::f32::consts::LN_2, 1.000_000_1];

/// `log₂(1 + t) / t` on [0, 1], highest power first.
const LOG2: [f32; 7] =
    [0.020_490_346, -0.096_066_25, 0.215_588_54, -0.339_247_76, 0.477_705_93, -0.721_162_74, 1.442_693_2];

/// `‖x − y‖²` from differences.
#[inline(always)]
pub(super) fn square_distance<S: Simd>(simd: S, x: &[f32], y: &[f32]) -> f32 {
    let ((x, x_rest), (y, y_rest)) = (S::as_simd_f32s(x), S::as_simd_f32s(y));
    let mut sum = simd.splat_f32s(0.0);
    for (&a, &b) in x.iter().zip(y) {
        let difference = simd.sub_f32s(a, b);
        sum = simd.mul_add_e_f32s(difference, difference, sum);
    }
    if !x_rest.is_empty() {
        let difference = simd.sub_f32s(simd.partial_load_f32s(x_rest), simd.partial_load_f32s(y_rest));
        sum = simd.mul_add_e_f32s(difference, difference, sum);
    }
    simd.reduce_sum_f32s(sum)
}

#[cfg(test)]
mod tests {
    use pulp::{Simd, WithSimd};

    use crate::projection::dispatch::dispatch;

    struct All<'a>(&'a [f32], fn(f64) -> f64, bool);

    impl WithSimd for All<'_> {
        type Output = f64;

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> f64 {
            let Self(inputs, truth, is_exp) = self;
            let mut worst = 0.0f64;
            for &x in inputs {
                let v = simd.splat_f32s(x);
                let y = simd.reduce_max_f32s(if is_exp { super::exp(simd, v) } else { super::log2(simd, v) });
                let y_true = truth(f64::from(x));
                worst = worst.max((f64::from(y) - y_true).abs() / if is_exp { y_true } else { 1.0 });
            }
            worst
        }
    }

    #[test]
    fn vector_functions_are_exact_to_single_precision() {
        let exponents: Vec<f32> = (-8_000..8_000).map(|i| i as f32 * 0.01).collect();
        let positive: Vec<f32> = exponents.iter().map(|x| x.exp()).filter(|x| x.is_normal()).collect();
        // The argument itself is rounded once on the way to the power of two: |x| · 6e-8.
        assert!(dispatch(All(&exponents, f64::exp, true)) < 1e-5);
        assert!(dispatch(All(&exponents[7_900..8_100], f64::exp, true)) < 5e-7);
        assert!(dispatch(All(&positive, f64::log2, false)) < 1e-5);
    }
}
