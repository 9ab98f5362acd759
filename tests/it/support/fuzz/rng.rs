//! Numbers that look random and are the same for the same seed, on every machine.

/// `SplitMix64`: small, and good enough to choose what to break.
pub struct Rng(u64);

impl Rng {
    /// The numbers of one input of a target.
    pub fn new(target: &str, seed: u64) -> Self {
        // FNV-1a, so that targets do not break the same places.
        let name = target
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        let mut rng = Self(name ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        rng.next();
        rng
    }

    /// The next number.
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `n`; 0 where there is none.
    pub const fn below(&mut self, n: usize) -> usize {
        if n == 0 { 0 } else { (self.next() % n as u64) as usize }
    }

    /// Whether one of `of` cases is meant.
    pub const fn one_in(&mut self, of: usize) -> bool {
        self.below(of) == 0
    }

    /// One of several.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// One of several texts.
    pub fn text<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }

    /// A length that is small most of the time.
    pub fn len(&mut self, max: usize) -> usize {
        let reach = 1 << self.below(usize::BITS as usize - max.max(1).leading_zeros() as usize + 1);
        self.below(reach.min(max) + 1)
    }
}
