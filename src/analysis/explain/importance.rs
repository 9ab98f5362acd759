//! Importance of heads, by the gradient of a gate on each (Michel et al. 2019).

/// Importances brought to one scale: each layer divided by its length, then all between 0 and 1.
///
/// `layers` hold `mean over inputs of |∂L/∂ξ_h|` with `ξ_h = 1` on the head's output. The size is taken for
/// every input before the mean: a published script adds up gradients and takes their size then. The least
/// important head is exactly 0, which does not mean that it does nothing. Layers may differ in heads.
pub fn normalised(layers: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let scaled: Vec<Vec<f64>> = layers
        .iter()
        .map(|heads| {
            let length = heads.iter().map(|head| head * head).sum::<f64>().sqrt() + 1e-20;
            heads.iter().map(|head| head / length).collect()
        })
        .collect();
    let all = || scaled.iter().flatten().copied();
    let (low, high) = (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max));
    let width = if high > low { high - low } else { 1.0 };
    scaled.iter().map(|heads| heads.iter().map(|head| (head - low) / width).collect()).collect()
}

/// Heads, by layer and head, from the least important on: the order in which they are cut off. Equal ones in
/// their order.
pub fn pruning_order(layers: &[Vec<f64>]) -> Vec<(usize, usize)> {
    let mut heads: Vec<(usize, usize, f64)> = layers
        .iter()
        .enumerate()
        .flat_map(|(layer, heads)| heads.iter().enumerate().map(move |(head, value)| (layer, head, *value)))
        .collect();
    heads.sort_by(|a, b| a.2.total_cmp(&b.2));
    heads.into_iter().map(|(layer, head, _)| (layer, head)).collect()
}

#[cfg(test)]
mod tests {
    use super::{super::toy, *};

    #[test]
    fn the_worked_example() {
        let found = normalised(&[vec![0.2, 0.1], vec![0.05, 0.3]]);
        toy::assert_near(&found.concat(), &[0.888_118, 0.344_059, 0.0, 1.0]);
        assert_eq!(pruning_order(&found), [(1, 0), (0, 1), (0, 0), (1, 1)]);
        assert_eq!(normalised(&[vec![0.0, 0.0]]), [[0.0, 0.0]]);
    }
}
