//! Small patterns of every head of a stack: options, places of the heads, and figures.

use crate::{
    analysis::{attention, reading::Source},
    capture::Capture,
    ids::{HeadId, StackKind},
    text::decimal_text,
};

pub mod layout;
pub mod lines;
mod options;
pub mod places;
mod spec;

pub use options::{CellsAs, GridOptions, GroupBy};
pub use places::{KnownHeads, Places};
pub use spec::{SPEC, places_of};

/// The heads of a stack whose patterns were recorded, by layer.
pub fn recorded(capture: &Capture, stack: StackKind) -> Vec<Vec<HeadId>> {
    let layers = capture.model().stack(stack).map_or(&[][..], |spec| &spec.layers).iter().enumerate();
    let heads = |(layer, shape): (usize, &crate::spec::LayerSpec)| {
        let heads = (0..shape.n_heads).map(|head| HeadId { stack, layer, head });
        heads.filter(|head| attention::has_pattern(capture, *head)).collect()
    };
    layers.map(heads).filter(|heads: &Vec<_>| !heads.is_empty()).collect()
}

/// The value of the last colour: 1 for weights, so that a colour means the same in every head; none where each head has
/// a scale of its own.
pub fn high(options: GridOptions, source: &Source) -> Option<f32> {
    (matches!(source, Source::Weights) && !options.own_scale).then_some(1.0)
}

/// The title of a head that stands by its number.
pub fn title(head: HeadId, score: Option<f32>) -> String {
    score.map_or_else(|| head.to_string(), |score| format!("{head} {}", decimal_text(score)))
}
