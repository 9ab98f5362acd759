//! Sorting by short keys, in time that grows with the number alone.

/// Sorts by the first value; equal ones keep their order.
pub(super) fn by_key(pairs: &mut Vec<(u32, u32)>) {
    const BITS: u32 = 11;
    const BUCKETS: usize = 1 << BITS;
    let bucket = |key: u32, digit: usize| (key >> (digit as u32 * BITS)) as usize & (BUCKETS - 1);
    let mut counts = vec![[0u32; BUCKETS]; 3];
    for &(key, _) in pairs.iter() {
        for (digit, counts) in counts.iter_mut().enumerate() {
            counts[bucket(key, digit)] += 1;
        }
    }
    let mut other = vec![(0, 0); pairs.len()];
    for (digit, counts) in counts.iter_mut().enumerate() {
        // A digit that all keys share sorts nothing.
        if counts.iter().any(|count| *count as usize == pairs.len()) {
            continue;
        }
        let mut start = 0;
        for count in counts.iter_mut() {
            start += std::mem::replace(count, start);
        }
        for &pair in pairs.iter() {
            let place = &mut counts[bucket(pair.0, digit)];
            other[*place as usize] = pair;
            *place += 1;
        }
        std::mem::swap(pairs, &mut other);
    }
}
