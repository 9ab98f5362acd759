//! Heads that read the same keys and values (grouped-query attention), kept together wherever heads
//! are listed.

use eframe::egui::{Painter, Pos2, Rangef, Stroke, pos2};

use crate::{capture::Capture, ids::HeadId, spec::LayerSpec, ui::theme::Theme};

/// Free space between two groups of heads, in points.
pub const GROUP_GAP_PT: f32 = 6.0;
/// Ends of the bracket that holds a group together.
const TICK_PT: f32 = 3.0;

/// How the heads of one layer share their keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeadGroups(Option<LayerSpec>);

impl HeadGroups {
    /// Of the layer of `head`.
    pub fn of(capture: &Capture, head: HeadId) -> Self {
        let layer = capture.model().layer_of(head);
        Self(layer.copied().filter(|layer| layer.n_kv_heads != layer.n_heads))
    }

    /// Whether a group starts at `head` and another ended before it.
    pub fn gap_before(&self, head: usize) -> bool {
        head > 0 && self.0.is_some_and(|layer| layer.kv_head(head) != layer.kv_head(head - 1))
    }

    /// Width that the gaps between `n_heads` heads take, in points.
    pub fn gaps_width(&self, n_heads: usize) -> f32 {
        (0..n_heads).filter(|&head| self.gap_before(head)).count() as f32 * GROUP_GAP_PT
    }

    /// Which heads share their keys with `head`, in words; `None` where every head has its own.
    pub fn note(&self, head: usize) -> Option<String> {
        sharing_text(&self.0?, head)
    }

    /// The part of a group's bracket under one head; `x` is the head's width, `gap` the space to the next.
    pub fn bracket(&self, painter: &Painter, head: usize, x: Rangef, y: f32, gap: f32, theme: &Theme) {
        let Some(group) = self.0.and_then(|layer| layer.sharing(head)) else { return };
        let stroke = Stroke::new(1.0, theme.text_weak.gamma_multiply(0.7));
        let last = head + 1 == group.end;
        let end = if last { x.max - 1.0 } else { x.max + gap };
        let start = if head == group.start { x.min + 1.0 } else { x.min };
        painter.hline(start..=end, y, stroke);
        let tick = |at: Pos2| painter.vline(at.x, at.y - TICK_PT..=at.y, stroke);
        if head == group.start {
            tick(pos2(start, y));
        }
        if last {
            tick(pos2(end, y));
        }
    }
}

/// Which heads of `layer` share their keys and values with `head`, in words.
pub fn sharing_text(layer: &LayerSpec, head: usize) -> Option<String> {
    let group = layer.sharing(head)?;
    let kv = layer.kv_head(head);
    Some(match group.len() {
        n if n == layer.n_heads => "All heads share one set of keys and values".to_owned(),
        1 => format!("Head {head} reads keys and values {kv}"),
        _ => format!("Heads {}–{} share keys and values {kv}", group.start, group.end - 1),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_heads_on_two_key_heads_are_two_groups() {
        let layer = LayerSpec { n_kv_heads: 2, ..LayerSpec::new(8, 16) };
        let groups = HeadGroups(Some(layer));
        assert_eq!((0..8).filter(|&head| groups.gap_before(head)).collect::<Vec<_>>(), [4]);
        assert_eq!(groups.note(5).as_deref(), Some("Heads 4–7 share keys and values 1"));
        assert_eq!(groups.gaps_width(8), GROUP_GAP_PT);
        let one = LayerSpec { n_kv_heads: 1, ..layer };
        assert_eq!(sharing_text(&one, 3).as_deref(), Some("All heads share one set of keys and values"));
        assert_eq!(sharing_text(&LayerSpec::new(8, 16), 3), None);
    }
}
