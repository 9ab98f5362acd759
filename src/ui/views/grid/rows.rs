//! The row of the pinned query below the map of each head.

use std::sync::Arc;

use eframe::egui::{Painter, Rect, TextureHandle, TextureId, TextureOptions, pos2};

use super::shown::Shown;
use crate::{
    analysis::reading::{ReadPattern, Reading},
    capture::{Matrix, RgbaBuffer},
    ids::{CaptureId, HeadId},
    raster::heatmap::{RowsSee, small_heatmap},
    ui::{
        ViewCtx,
        memo::Memo,
        views::{overview::Look, source, texture},
    },
};

/// Everything that the pixels of one row of each head of a layer depend on.
type RowKey = (CaptureId, Reading, usize, Look, Option<f32>);

/// The rows of all heads, a texture for each layer.
#[derive(Default)]
pub struct PinnedRows(Vec<Memo<RowKey, Option<TextureHandle>>>);

impl PinnedRows {
    /// The row of a head: a texture, and the part of it; none while it is read.
    pub fn picture(
        &mut self,
        painter: &Painter,
        cx: &ViewCtx<'_>,
        shown: &Shown<'_>,
        (head, row): (HeadId, usize),
    ) -> Option<(TextureId, Rect)> {
        let n_heads = source::n_heads(&shown.subject.this, head).max(1);
        let texture = self.of_layer(painter, cx, shown, (HeadId { head: 0, ..head }, row))?;
        let at = |head: usize| head as f32 / n_heads as f32;
        Some((texture.id(), Rect::from_min_max(pos2(0.0, at(head.head)), pos2(1.0, at(head.head + 1)))))
    }

    fn of_layer(
        &mut self,
        painter: &Painter,
        cx: &ViewCtx<'_>,
        shown: &Shown<'_>,
        (first, row): (HeadId, usize),
    ) -> Option<TextureHandle> {
        let capture = &*shown.subject.this;
        if self.0.len() <= first.layer {
            self.0.resize_with(first.layer + 1, Memo::default);
        }
        let reading = |head: usize| source::shown_of_head(cx, capture, HeadId { head, ..first });
        let key = (capture.id(), reading(0), row, shown.look, shown.high);
        let memo = &mut self.0[first.layer];
        if memo.knows(&key) {
            return memo.get_or_update(key, || None);
        }
        let ask = |head: usize| cx.patterns.part(shown.subject, &reading(head), row..row + 1);
        let answers: Vec<_> = (0..source::n_heads(capture, first)).map(ask).collect();
        let parts: Vec<_> = answers.into_iter().map(|answer| answer.map(Result::ok)).collect::<Option<_>>()?;
        let n_cols = shown.whole.cols.len();
        let empty = vec![0.0; n_cols];
        let values = |part: &Option<Arc<ReadPattern>>| {
            part.as_ref().and_then(|part| part.row(row).map(<[f32]>::to_vec)).unwrap_or_else(|| empty.clone())
        };
        let seen = shown.whole.visible.get(row).cloned().unwrap_or(0..n_cols);
        let sight = RowsSee {
            visible: vec![seen],
            everywhere: shown.whole.everywhere.clone(),
            causal: shown.whole.causal,
            n_rest: shown.whole.cols.rest().len(),
        };
        let colored = |part| {
            let values = Matrix::new(values(part), [1, n_cols]).ok()?;
            let range = shown.look.map.range(values.as_slice(), shown.high, shown.look.log);
            Some(small_heatmap(&values, shown.look.map, range, &sight).pixels)
        };
        let pixels: Vec<Vec<u8>> = parts.iter().map(colored).collect::<Option<_>>()?;
        let image = RgbaBuffer { width: n_cols, height: parts.len(), pixels: pixels.concat() };
        let texture = texture::load(painter.ctx(), "rows of heads", &image, TextureOptions::NEAREST);
        memo.get_or_update(key, || Some(texture))
    }
}
