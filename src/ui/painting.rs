//! State of painting: the renderer, for views that can draw cheaper, and pictures still being drawn.

use eframe::egui::{Context, Id};

/// Who turns triangles into pixels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Painting {
    /// A graphics card: many triangles are cheap.
    #[default]
    Hardware,
    /// The processor: every pixel of every triangle costs time in every frame.
    Software,
}

impl Painting {
    /// Tells every view of this window.
    pub fn install(self, ctx: &Context) {
        ctx.data_mut(|data| data.insert_temp(Id::unique("painting"), self));
    }

    /// How this window is painted; by a card unless it was said otherwise.
    pub fn of(ctx: &Context) -> Self {
        ctx.data(|data| data.get_temp(Id::unique("painting"))).unwrap_or_default()
    }
}

/// Says that in this frame something stands in for a picture that is still being drawn.
pub fn wait_for_picture(ctx: &Context) {
    let frame = ctx.cumulative_frame_nr();
    ctx.data_mut(|data| data.insert_temp(Id::unique("picture awaited in frame"), frame));
}

/// Whether the last frame that was drawn showed everything as it will stay.
pub fn is_settled(ctx: &Context) -> bool {
    let awaited: Option<u64> = ctx.data(|data| data.get_temp(Id::unique("picture awaited in frame")));
    awaited.is_none_or(|frame| frame + 1 < ctx.cumulative_frame_nr())
}
