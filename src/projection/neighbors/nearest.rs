//! The smallest of many values that pass by.

/// Values that are shown together.
pub(in crate::projection) const SHOWN: usize = 16;

/// Keeps the `k` smallest values that it is shown, with their indices.
///
/// Candidates are gathered in a buffer that is cut down to the `k` smallest whenever it is full: cheaper than a
/// heap, because few values pass the threshold.
#[derive(Clone, Debug, Default)]
pub(in crate::projection) struct Nearest {
    /// [Keys](key) of candidates, and room for more.
    kept: Vec<u64>,
    n_kept: usize,
    k: usize,
    threshold: f32,
}

impl Nearest {
    /// Starts anew, to keep `k`; 0 keeps nothing.
    pub fn restart(&mut self, k: usize) {
        self.kept.resize(2 * k + 64 + SHOWN, 0);
        self.n_kept = 0;
        self.k = k;
        self.threshold = if k > 0 { f32::INFINITY } else { f32::NEG_INFINITY };
    }

    /// A value must be below this to matter.
    pub const fn threshold(&self) -> f32 {
        self.threshold
    }

    /// Takes those of the values that are below the threshold; the first has the index `first`.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "compiled for an instruction set only where it is inlined")]
    pub fn show(&mut self, values: &[f32], first: usize) {
        let (threshold, n_kept) = (self.threshold, self.n_kept);
        // All are written, those that do not matter over each other: which do cannot be predicted.
        let room = &mut self.kept[n_kept..n_kept + SHOWN];
        let mut n = 0;
        for (lane, &value) in values.iter().take(SHOWN).enumerate() {
            room[n % SHOWN] = key(value, (first + lane) as u32);
            n += usize::from(value < threshold);
        }
        self.n_kept += n;
        if self.n_kept + SHOWN > self.kept.len() {
            self.cut();
        }
    }

    /// The [keys](key) of the `k` smallest, in no particular order; equal values by index.
    pub fn finish(&mut self) -> &[u64] {
        if self.n_kept > self.k {
            self.cut();
        }
        &self.kept[..self.n_kept]
    }

    #[cold]
    #[inline(never)]
    fn cut(&mut self) {
        let (_, last, _) = self.kept[..self.n_kept].select_nth_unstable(self.k - 1);
        self.threshold = value(*last);
        self.n_kept = self.k;
    }
}

/// Orders like (value, index).
#[inline(always)]
#[expect(clippy::inline_always, reason = "called for every candidate")]
pub(super) const fn key(value: f32, index: u32) -> u64 {
    let bits = value.to_bits();
    // Negative floats order backwards, and before the others.
    let ordered = bits ^ (((bits as i32) >> 31) as u32 | 0x8000_0000);
    (ordered as u64) << 32 | index as u64
}

/// The value of a [`key`].
pub(super) const fn value(key: u64) -> f32 {
    let ordered = (key >> 32) as u32;
    f32::from_bits(if ordered >> 31 == 1 { ordered & 0x7FFF_FFFF } else { !ordered })
}
