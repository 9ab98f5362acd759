//! How far a token reaches back through layers, along weights above 0 and the residual stream.

use crate::{
    analysis::attention,
    capture::Capture,
    ids::{HeadId, StackKind},
    spec::LayerSpec,
};

/// Longer texts are not looked at.
const MOST: usize = 512;

/// How many tokens the last one has in reach, itself with them, through the last layer, the last two, and so on; `None`
/// where a stack attends to another one, a pattern is not there, or the text is long.
pub fn of_last(capture: &Capture, stack: StackKind) -> Option<Vec<usize>> {
    let n = capture.query_tokens(stack).len();
    if stack.is_between() || n == 0 || n > MOST {
        return None;
    }
    let mut is_reached = vec![false; n];
    is_reached[n - 1] = true;
    let layers = &capture.model().stack(stack)?.layers;
    let through = |(layer, spec): (usize, &LayerSpec)| {
        let before = is_reached.clone();
        for head in 0..spec.n_heads {
            let pattern = attention::pattern(capture, HeadId { stack, layer, head })?;
            for (row, _) in pattern.rows().zip(&before).filter(|(_, is_reached)| **is_reached) {
                is_reached.iter_mut().zip(row).for_each(|(is_reached, weight)| *is_reached |= *weight != 0.0);
            }
        }
        Some(is_reached.iter().filter(|is_reached| **is_reached).count())
    };
    layers.iter().enumerate().rev().map(through).collect()
}
