//! Numbers that are stored in blocks with a scale of their own, as llama.cpp quantises weights: what a block holds, and
//! its numbers in single precision.
//!
//! Products and sums are those of the reference, in `f32` and in its order, so that every number has the same bits.

#![expect(clippy::inline_always, reason = "a body is compiled for an instruction set only where it is inlined")]

use half::f16;

use super::simd::{self, Level};

/// How a block stores its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BlockType {
    Q40,
    Q41,
    Q50,
    Q51,
    Q80,
    Q2K,
    Q3K,
    Q4K,
    Q5K,
    Q6K,
    Iq4Nl,
    Iq4Xs,
    Mxfp4,
}

vocabulary! {
    BlockType: name;
    Q40("Q4_0"),
    Q41("Q4_1"),
    Q50("Q5_0"),
    Q51("Q5_1"),
    Q80("Q8_0"),
    Q2K("Q2_K"),
    Q3K("Q3_K"),
    Q4K("Q4_K"),
    Q5K("Q5_K"),
    Q6K("Q6_K"),
    Iq4Nl("IQ4_NL"),
    Iq4Xs("IQ4_XS"),
    Mxfp4("MXFP4"),
}

/// Numbers in a block of the larger kind.
const SUPER: usize = 256;
/// Numbers in a block of the smaller kind.
const SMALL: usize = 32;
/// Most numbers in a block of any kind.
pub const LONGEST: usize = SUPER;

/// The sixteen numbers among which four bits of the kinds that begin with `IQ4` choose.
const CURVE: [i8; 16] = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];
/// Twice the numbers of four bits with one of the mantissa (E2M1).
const E2M1: [i8; 16] = [0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12];

impl BlockType {
    /// Numbers in a block.
    pub const fn n_values(self) -> usize {
        match self {
            Self::Q40 | Self::Q41 | Self::Q50 | Self::Q51 | Self::Q80 | Self::Iq4Nl | Self::Mxfp4 => SMALL,
            Self::Q2K | Self::Q3K | Self::Q4K | Self::Q5K | Self::Q6K | Self::Iq4Xs => SUPER,
        }
    }

    /// Bytes of a block.
    pub const fn size_bytes(self) -> usize {
        match self {
            Self::Q40 | Self::Iq4Nl => 18,
            Self::Q41 => 20,
            Self::Q50 => 22,
            Self::Q51 => 24,
            Self::Q80 => 34,
            Self::Q2K => 84,
            Self::Q3K => 110,
            Self::Q4K => 144,
            Self::Q5K => 176,
            Self::Q6K => 210,
            Self::Iq4Xs => 136,
            Self::Mxfp4 => 17,
        }
    }

    /// Whether all numbers of whole blocks are finite: their scales are, and no product of a scale is too large.
    pub fn is_finite(self, bytes: &[u8]) -> bool {
        let scales: &[usize] = match self {
            Self::Q40 | Self::Q50 | Self::Q80 | Self::Iq4Nl | Self::Iq4Xs => &[0],
            Self::Q41 | Self::Q51 | Self::Q4K | Self::Q5K => &[0, 2],
            Self::Q2K => &[80, 82],
            Self::Q3K => &[108],
            Self::Q6K => &[208],
            // Twelve times the largest powers of two is too much.
            Self::Mxfp4 => return bytes.iter().step_by(self.size_bytes()).all(|exponent| *exponent <= 252),
        };
        let mut blocks = bytes.chunks_exact(self.size_bytes());
        blocks.all(|block| scales.iter().all(|at| half(block, *at).is_finite()))
    }

    /// Writes the numbers of whole blocks; bytes beyond the last whole block, and numbers without a block, stay as they
    /// are.
    pub fn widen(self, bytes: &[u8], out: &mut [f32]) {
        simd::widen_blocks(Level::current(), self, bytes, out);
    }
}

/// [`BlockType::widen`], for one instruction set.
#[inline(always)]
pub(super) fn widen(kind: BlockType, bytes: &[u8], out: &mut [f32]) {
    match kind {
        BlockType::Q40 => each(bytes, out, q4_0),
        BlockType::Q41 => each(bytes, out, q4_1),
        BlockType::Q50 => each(bytes, out, q5_0),
        BlockType::Q51 => each(bytes, out, q5_1),
        BlockType::Q80 => each(bytes, out, q8_0),
        BlockType::Q2K => each(bytes, out, q2_k),
        BlockType::Q3K => each(bytes, out, q3_k),
        BlockType::Q4K => each(bytes, out, q4_k),
        BlockType::Q5K => each(bytes, out, q5_k),
        BlockType::Q6K => each(bytes, out, q6_k),
        BlockType::Iq4Nl => each(bytes, out, iq4_nl),
        BlockType::Iq4Xs => each(bytes, out, iq4_xs),
        BlockType::Mxfp4 => each(bytes, out, mxfp4),
    }
}

/// Applies `widen` to each block of `BYTES` bytes and its `LEN` numbers.
#[inline(always)]
fn each<const BYTES: usize, const LEN: usize>(
    bytes: &[u8],
    out: &mut [f32],
    widen: impl Fn(&[u8; BYTES], &mut [f32; LEN]),
) {
    let ((blocks, _), (out, _)) = (bytes.as_chunks(), out.as_chunks_mut());
    for (block, out) in blocks.iter().zip(out) {
        widen(block, out);
    }
}

/// The number of two bytes from `at` on.
#[inline(always)]
fn half(block: &[u8], at: usize) -> f32 {
    f16::from_le_bytes([block[at], block[at + 1]]).to_f32()
}

/// The four bits that a byte has for the first and for the second half of some numbers.
#[inline(always)]
const fn low(byte: u8) -> u8 {
    byte & 0xf
}

#[inline(always)]
const fn high(byte: u8) -> u8 {
    byte >> 4
}

/// Writes a block of four bits each: the low ones of all bytes, then the high ones.
#[inline(always)]
fn nibbles(bytes: &[u8], out: &mut [f32; SMALL], value: impl Fn(u8) -> f32) {
    let (first, second) = out.split_at_mut(SMALL / 2);
    for ((byte, first), second) in bytes.iter().zip(first).zip(second) {
        *first = value(low(*byte));
        *second = value(high(*byte));
    }
}

#[inline(always)]
fn q4_0(block: &[u8; 18], out: &mut [f32; SMALL]) {
    let d = half(block, 0);
    nibbles(&block[2..], out, |q| d * (f32::from(q) - 8.0));
}

#[inline(always)]
fn q4_1(block: &[u8; 20], out: &mut [f32; SMALL]) {
    let (d, m) = (half(block, 0), half(block, 2));
    nibbles(&block[4..], out, |q| d * f32::from(q) + m);
}

/// Writes a block of five bits each, the fifth of number `i` being bit `i` of `fifth`.
#[inline(always)]
fn five_bits(fifth: [u8; 4], bytes: &[u8], out: &mut [f32; SMALL], value: impl Fn(u8) -> f32) {
    let fifth = u32::from_le_bytes(fifth);
    let bit = |idx: usize| ((fifth >> idx & 1) << 4) as u8;
    for (idx, byte) in bytes.iter().enumerate() {
        out[idx] = value(low(*byte) | bit(idx));
        out[idx + SMALL / 2] = value(high(*byte) | bit(idx + SMALL / 2));
    }
}

#[inline(always)]
fn q5_0(block: &[u8; 22], out: &mut [f32; SMALL]) {
    let d = half(block, 0);
    five_bits([block[2], block[3], block[4], block[5]], &block[6..], out, |q| d * (f32::from(q) - 16.0));
}

#[inline(always)]
fn q5_1(block: &[u8; 24], out: &mut [f32; SMALL]) {
    let (d, m) = (half(block, 0), half(block, 2));
    five_bits([block[4], block[5], block[6], block[7]], &block[8..], out, |q| d * f32::from(q) + m);
}

#[inline(always)]
fn q8_0(block: &[u8; 34], out: &mut [f32; SMALL]) {
    let d = half(block, 0);
    for (out, q) in out.iter_mut().zip(&block[2..]) {
        *out = f32::from(q.cast_signed()) * d;
    }
}

/// Sixteen scales and minima of four bits, then two bits each: 32 bytes hold the numbers `i`, `i + 32`, `i + 64` and
/// `i + 96` of 128.
#[inline(always)]
fn q2_k(block: &[u8; 84], out: &mut [f32; SUPER]) {
    let (scales, q, d, min) = (&block[..16], &block[16..80], half(block, 80), half(block, 82));
    for (group, (out, scale)) in out.chunks_exact_mut(16).zip(scales).enumerate() {
        let (dl, ml) = (d * f32::from(low(*scale)), min * f32::from(high(*scale)));
        let (first, shift) = (group / 8 * 32 + group % 2 * 16, group % 8 / 2 * 2);
        for (out, q) in out.iter_mut().zip(&q[first..]) {
            *out = dl * f32::from(q >> shift & 3) - ml;
        }
    }
}

/// The third bit of each number, two bits each as in [`q2_k`], and sixteen scales of six bits.
#[inline(always)]
fn q3_k(block: &[u8; 110], out: &mut [f32; SUPER]) {
    let (third, q, scales, d) = (&block[..32], &block[32..96], &block[96..108], half(block, 108));
    for (group, out) in out.chunks_exact_mut(16).enumerate() {
        let four = scales[group % 8] >> (group / 8 * 4) & 0xf;
        let two = scales[8 + group % 4] >> (group / 4 * 2) & 3;
        let dl = d * (f32::from(four | two << 4) - 32.0);
        let (half, first, shift) = (group % 2 * 16, group / 8 * 32 + group % 2 * 16, group % 8 / 2 * 2);
        let bit = group / 2;
        for ((out, q), third) in out.iter_mut().zip(&q[first..]).zip(&third[half..]) {
            // The number is four less where its third bit is not set.
            let less = if third >> bit & 1 == 0 { 4.0 } else { 0.0 };
            *out = dl * (f32::from(q >> shift & 3) - less);
        }
    }
}

/// The scale and the minimum of 32 numbers, of six bits each in twelve bytes.
#[inline(always)]
const fn scale_and_min(packed: &[u8; 12], group: usize) -> (u8, u8) {
    if group < 4 {
        return (packed[group] & 0x3f, packed[group + 4] & 0x3f);
    }
    let both = packed[group + 4];
    (low(both) | packed[group - 4] >> 2 & 0x30, high(both) | packed[group] >> 2 & 0x30)
}

/// Scale and minimum of each 32 numbers of a block that begins with both of the whole and twelve bytes of them.
#[inline(always)]
fn scales_and_minima(block: &[u8]) -> [(f32, f32); 8] {
    let (d, min) = (half(block, 0), half(block, 2));
    let mut packed = [0; 12];
    packed.copy_from_slice(&block[4..16]);
    std::array::from_fn(|group| {
        let (scale, m) = scale_and_min(&packed, group);
        (d * f32::from(scale), min * f32::from(m))
    })
}

#[inline(always)]
fn q4_k(block: &[u8; 144], out: &mut [f32; SUPER]) {
    let scales = scales_and_minima(block);
    for (pair, (out, q)) in out.chunks_exact_mut(64).zip(block[16..].chunks_exact(32)).enumerate() {
        let (first, second) = out.split_at_mut(32);
        let ((d, m), (d2, m2)) = (scales[2 * pair], scales[2 * pair + 1]);
        for ((first, second), q) in first.iter_mut().zip(second).zip(q) {
            *first = d * f32::from(low(*q)) - m;
            *second = d2 * f32::from(high(*q)) - m2;
        }
    }
}

/// As [`q4_k`], with the fifth bit of number `32 c + i` in bit `c` of byte `i`.
#[inline(always)]
fn q5_k(block: &[u8; 176], out: &mut [f32; SUPER]) {
    let scales = scales_and_minima(block);
    let fifth = &block[16..48];
    for (pair, (out, q)) in out.chunks_exact_mut(64).zip(block[48..].chunks_exact(32)).enumerate() {
        let (first, second) = out.split_at_mut(32);
        let ((d, m), (d2, m2)) = (scales[2 * pair], scales[2 * pair + 1]);
        for (((first, second), q), fifth) in first.iter_mut().zip(second).zip(q).zip(fifth) {
            let bits = fifth >> (2 * pair);
            *first = d * f32::from(low(*q) | (bits & 1) << 4) - m;
            *second = d2 * f32::from(high(*q) | (bits & 2) << 3) - m2;
        }
    }
}

/// Of each 128 numbers four bits in 64 bytes, low ones first, and two more in 32 bytes as in [`q2_k`]; a scale of eight
/// bits for each sixteen.
#[inline(always)]
fn q6_k(block: &[u8; 210], out: &mut [f32; SUPER]) {
    let (ql, qh, scales, d) = (&block[..128], &block[128..192], &block[192..208], half(block, 208));
    for (group, out) in out.chunks_exact_mut(16).enumerate() {
        let dl = d * f32::from(scales[group].cast_signed());
        let (half, part) = (group / 8, group % 8);
        let (nibble, four) = (part / 4 * 4, &ql[half * 64 + part % 4 * 16..]);
        let (shift, two) = (part / 2 * 2, &qh[half * 32 + part % 2 * 16..]);
        for ((out, four), two) in out.iter_mut().zip(four).zip(two) {
            let q = four >> nibble & 0xf | (two >> shift & 3) << 4;
            *out = dl * (f32::from(q) - 32.0);
        }
    }
}

#[inline(always)]
fn iq4_nl(block: &[u8; 18], out: &mut [f32; SMALL]) {
    let d = half(block, 0);
    nibbles(&block[2..], out, |q| d * f32::from(CURVE[usize::from(q)]));
}

/// Eight scales of six bits, the upper two of all in one number, then blocks as in [`iq4_nl`].
#[inline(always)]
fn iq4_xs(block: &[u8; 136], out: &mut [f32; SUPER]) {
    let (d, upper, lower) = (half(block, 0), u16::from_le_bytes([block[2], block[3]]), &block[4..8]);
    let (out, _) = out.as_chunks_mut::<SMALL>();
    for (group, (out, q)) in out.iter_mut().zip(block[8..].chunks_exact(SMALL / 2)).enumerate() {
        let scale = lower[group / 2] >> (group % 2 * 4) & 0xf | ((upper >> (2 * group) & 3) << 4) as u8;
        let dl = d * (f32::from(scale) - 32.0);
        nibbles(q, out, |q| dl * f32::from(CURVE[usize::from(q)]));
    }
}

/// A power of two, then numbers of [`E2M1`], halved by it.
#[inline(always)]
fn mxfp4(block: &[u8; 17], out: &mut [f32; SMALL]) {
    let exponent = u32::from(block[0]);
    let d = f32::from_bits(if exponent < 2 { 0x0020_0000 << exponent } else { (exponent - 1) << 23 });
    nibbles(&block[1..], out, |q| d * f32::from(E2M1[usize::from(q)]));
}
