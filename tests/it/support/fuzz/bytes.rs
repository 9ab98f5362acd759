//! Damage that knows nothing of what it damages: flips, truncations, splices, and numbers at their ends.

use super::rng::Rng;

/// Numbers that lengths, offsets and counts are broken with.
const EXTREMES: [u64; 18] = [
    0,
    1,
    2,
    7,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0xffff,
    0x10_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    1 << 32,
    1_000_000_000_000,
    1 << 62,
    u64::MAX >> 1,
    u64::MAX,
];

/// Breaks `bytes` in one to several places, with parts of `other` spliced in.
pub fn damage(bytes: &mut Vec<u8>, other: &[u8], rng: &mut Rng) {
    for _ in 0..=rng.below(4) {
        once(bytes, other, rng);
    }
}

fn once(bytes: &mut Vec<u8>, other: &[u8], rng: &mut Rng) {
    if bytes.is_empty() {
        bytes.extend(&other[..rng.below(other.len() + 1).min(64)]);
        return;
    }
    // Headers decide more than what follows them.
    let reach = if rng.one_in(2) { bytes.len().min(128) } else { bytes.len() };
    let at = rng.below(reach);
    let len = 1 + rng.len(bytes.len() - at).min(bytes.len() - at - 1);
    match rng.below(10) {
        0 | 1 => bytes[at] ^= 1 << rng.below(8),
        2 => bytes[at] = rng.next() as u8,
        3 | 4 => number(bytes, at, rng),
        5 => bytes.truncate(at),
        6 => {
            bytes.drain(at..at + len);
        }
        7 => {
            let again = bytes[at..at + len].to_vec();
            bytes.splice(at..at, again);
        }
        8 => {
            let from = rng.below(other.len());
            let part = other[from..(from + len).min(other.len())].to_vec();
            let until = if rng.one_in(2) { at } else { (at + part.len()).min(bytes.len()) };
            bytes.splice(at..until, part);
        }
        _ => bytes[at..at + len].fill(if rng.one_in(2) { 0 } else { 0xff }),
    }
}

/// Writes a number of one to eight bytes over what is there.
fn number(bytes: &mut [u8], at: usize, rng: &mut Rng) {
    let value = *rng.pick(&EXTREMES);
    let width = (1usize << rng.below(4)).min(bytes.len() - at);
    let little = value.to_le_bytes();
    let place = &mut bytes[at..at + width];
    place.copy_from_slice(&little[..width]);
    if rng.one_in(2) {
        place.reverse();
    }
}

/// A number at one of its ends.
pub fn extreme(rng: &mut Rng) -> u64 {
    *rng.pick(&EXTREMES)
}
