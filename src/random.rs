//! Random numbers that are the same on every machine.

/// `SplitMix64` (Steele, Lea and Flood, 2014).
#[derive(Clone, Debug)]
pub struct SplitMix(u64);

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

    /// 64 bits that follow from words alone: the same in whatever order, and by whichever thread, rows are computed.
    pub fn of_words(words: impl IntoIterator<Item = u64>) -> u64 {
        words.into_iter().fold(0, |bits: u64, word| Self::new(bits.wrapping_add(word)).next())
    }

    /// Uniform in 0 ≤ x < 1.
    pub const fn unit(&mut self) -> f64 {
        // 53 bits are what a double holds.
        (self.next() >> 11) as f64 * (1.0 / 9_007_199_254_740_992.0)
    }

    /// Uniform in `0..n`; 0 where `n` is.
    pub const fn below(&mut self, n: usize) -> usize {
        // The high half of a product: no remainder, and of its bias nothing is seen below 2^32.
        ((self.next() as u128 * n as u128) >> 64) as usize
    }

    /// Standard normal (Box and Muller, 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// Brings values into a random order, each as probable as any other (Fisher and Yates, 1938).
    pub fn shuffle<T>(&mut self, values: &mut [T]) {
        for last in (1..values.len()).rev() {
            values.swap(last, self.below(last + 1));
        }
    }

    /// Uniform in −1 ≤ x < 1.
    pub const fn symmetric(&mut self) -> f32 {
        // 24 bits are what a float holds.
        (self.next() >> 40) as f32 * (2.0 / 16_777_216.0) - 1.0
    }
}
