//! Random numbers that are the same on every machine.

/// `SplitMix64` (Steele, Lea and Flood, 2014).
#[derive(Clone, Debug)]
pub(super) struct SplitMix(u64);

impl SplitMix {
    /// Equal seeds give equal numbers.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform in −1 ≤ x < 1.
    pub const fn symmetric(&mut self) -> f32 {
        // 24 bits are what a float holds.
        (self.next() >> 40) as f32 * (2.0 / 16_777_216.0) - 1.0
    }
}
