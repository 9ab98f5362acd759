//! What a feature's direction is near to: numbers of its own basis, neurons, other features.

/// A number of a direction that is large beside the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BasisShare {
    pub index: usize,
    pub value: f64,
    /// Its size over the sum of all sizes.
    pub share: f64,
}

/// The numbers of a direction that are largest in size.
pub fn basis_shares(direction: &[f32], n: usize) -> Vec<BasisShare> {
    let total: f64 = direction.iter().map(|value| f64::from(value.abs())).sum();
    let of = |(index, value): (usize, &f32)| {
        let value = f64::from(*value);
        BasisShare { index, value, share: value.abs() / total.max(f64::MIN_POSITIVE) }
    };
    let mut all: Vec<BasisShare> = direction.iter().enumerate().map(of).collect();
    all.sort_by(|a, b| b.share.total_cmp(&a.share).then(a.index.cmp(&b.index)));
    all.truncate(n);
    all
}

/// Cosines of a direction with rows, the largest in size first; rows of zeros have none.
pub fn cosines<'a>(direction: &[f32], rows: impl Iterator<Item = &'a [f32]>, n: usize) -> Vec<(usize, f64)> {
    let product = |a: &[f32], b: &[f32]| -> f64 { a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum() };
    let own = product(direction, direction).sqrt();
    let of = |(index, row): (usize, &[f32])| {
        let lengths = own * product(row, row).sqrt();
        (lengths > 0.0).then(|| (index, product(direction, row) / lengths))
    };
    let mut all: Vec<(usize, f64)> = rows.enumerate().filter_map(of).collect();
    all.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
    all.truncate(n);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_in_size_come_first_with_their_signs() {
        let found = basis_shares(&[1.0, -3.0, 0.0, 4.0], 2);
        assert_eq!(
            found.iter().map(|of| (of.index, of.value, of.share)).collect::<Vec<_>>(),
            [(3, 4.0, 0.5), (1, -3.0, 0.375)]
        );
        let rows = [[1.0, 0.0], [-2.0, -2.0], [0.0, 0.0], [0.0, 3.0]];
        let found = cosines(&[2.0, 2.0], rows.iter().map(<[f32; 2]>::as_slice), 9);
        assert_eq!(found.iter().map(|of| of.0).collect::<Vec<_>>(), [1, 0, 3]);
        assert!((found[0].1 + 1.0).abs() < 1e-12 && (found[1].1 - 0.5f64.sqrt()).abs() < 1e-12);
        assert!(basis_shares(&[0.0; 2], 1)[0].share == 0.0);
    }
}
