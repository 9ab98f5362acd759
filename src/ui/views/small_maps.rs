//! Small pictures of all heads of a layer, each from strips of its pattern: head after head, so that however long the
//! text is no pattern is held whole.

use std::sync::Arc;

use eframe::egui::{TextureOptions, Ui};

use crate::{
    analysis::reading::{
        ReadPattern, Reading,
        long::{MAX_LEVEL, Strip, n_strips},
        store::CapturePair,
    },
    capture::{Capture, Matrix},
    ids::{CaptureId, HeadId},
    raster::heatmap::atlas,
    ui::{
        ViewCtx,
        views::{
            overview::{BATCH, Look, sight},
            source,
            texture::HeadThumbs,
        },
    },
};

/// Side of a picture in texture pixels.
pub const THUMB_PX: usize = 96;

/// The pictures, as far as they are there.
#[derive(Default)]
pub struct SmallMaps {
    of: Option<(CaptureId, Reading)>,
    level: u32,
    /// One per head: reduced, with the largest or the mean weights.
    heads: Vec<Small>,
    picture: Option<(HeadThumbs, Colors, usize)>,
}

/// How values become colours, and the value of the last colour where all heads share it.
type Colors = (Look, Option<f32>);

/// One head.
#[derive(Clone)]
enum Small {
    /// Strips of it, as far as they are there.
    Coming(Vec<Option<Arc<Strip>>>),
    Whole(Vec<Arc<Strip>>),
    Refused,
}

impl SmallMaps {
    /// Takes in what has come of the layer of a head, and asks for what is missing, of that head first. `whole` are the
    /// rows and columns of the patterns. Returns how many strips were asked for.
    pub fn update(
        &mut self,
        ui: &Ui,
        cx: &ViewCtx<'_>,
        (subject, selected): (&CapturePair, HeadId),
        whole: &ReadPattern,
        colors: Colors,
    ) -> usize {
        let capture = &*subject.this;
        let reading = |head: usize| source::shown_of_head(cx, capture, HeadId { head, ..selected });
        let of = (capture.id(), reading(0));
        if self.of.as_ref() != Some(&of) {
            let strips = n_strips(whole.rows.len());
            let level = level(whole);
            let heads = vec![Small::Coming(vec![None; strips]); source::n_heads(capture, selected)];
            *self = Self { of: Some(of), level, heads, picture: None };
        }
        let is_coming = |small: &Small| matches!(small, Small::Coming(_));
        let mut n_asked = 0;
        for head in [selected.head].into_iter().chain(0..self.heads.len()) {
            if n_asked < BATCH && self.heads.get(head).is_some_and(is_coming) {
                n_asked += self.ask(cx, (subject, &reading(head)), head);
            }
        }
        let n_there = self.heads.iter().filter(|small| !is_coming(small)).count();
        if n_there > 0 && self.picture.as_ref().is_none_or(|(_, of, n)| (*of, *n) != (colors, n_there)) {
            self.picture = Some((self.colored(ui, whole, colors), colors, n_there));
        }
        n_asked
    }

    /// What of it is there to be drawn of the layer of a head.
    pub fn shown(&self, cx: &ViewCtx<'_>, capture: &Capture, of: HeadId) -> Option<&HeadThumbs> {
        let first = HeadId { head: 0, ..of };
        let is_of = |(id, reading): &(CaptureId, Reading)| {
            *id == capture.id() && *reading == source::shown_of_head(cx, capture, first)
        };
        self.picture.as_ref().filter(|_| self.of.as_ref().is_some_and(is_of)).map(|(thumbs, ..)| thumbs)
    }

    /// Asks for what is missing of a head; how many strips.
    fn ask(&mut self, cx: &ViewCtx<'_>, (subject, reading): (&CapturePair, &Reading), head: usize) -> usize {
        let Small::Coming(strips) = &mut self.heads[head] else { return 0 };
        let mut n_asked = 0;
        for (at, place) in strips.iter_mut().enumerate().filter(|(_, place)| place.is_none()) {
            match cx.patterns.strip(subject, reading, (self.level, at)) {
                Some(Ok(strip)) => *place = Some(strip),
                Some(Err(_)) => {
                    self.heads[head] = Small::Refused;
                    return n_asked;
                }
                None => n_asked += 1,
            }
            if n_asked == BATCH {
                return n_asked;
            }
        }
        if let Some(whole) = strips.iter().cloned().collect::<Option<Vec<_>>>() {
            self.heads[head] = Small::Whole(whole);
        }
        n_asked
    }

    fn colored(&self, ui: &Ui, whole: &ReadPattern, (look, high): Colors) -> HeadThumbs {
        let matrices: Vec<Option<Matrix>> = self
            .heads
            .iter()
            .map(|small| match small {
                Small::Whole(strips) => joined(strips, look),
                Small::Coming(_) | Small::Refused => None,
            })
            .collect();
        let shape = matrices.iter().flatten().map(Matrix::shape).next().unwrap_or([1, 1]);
        let sight = sight(whole, self.level, 0, shape);
        let empty = || Matrix::new(vec![0.0], [1, 1]).ok();
        let tiles: Vec<Matrix> = matrices.iter().filter_map(|matrix| matrix.clone().or_else(empty)).collect();
        let columns = (tiles.len() as f32).sqrt().ceil() as usize;
        let atlas = atlas(&tiles, THUMB_PX, columns, (look.map, look.log, high), &sight);
        // Pictures of short inputs are enlarged and keep their edges; those of long ones are reduced on screen.
        let is_short = shape.iter().all(|n| *n <= THUMB_PX / 2);
        let options = if is_short { TextureOptions::NEAREST } else { TextureOptions::LINEAR };
        let mut thumbs = HeadThumbs::load(ui.ctx(), &atlas, options);
        for (head, _) in matrices.iter().enumerate().filter(|(_, matrix)| matrix.is_none()) {
            thumbs.leave_out(head);
        }
        thumbs
    }
}

/// Strips one below the other.
fn joined(strips: &[Arc<Strip>], look: Look) -> Option<Matrix> {
    let matrices = || strips.iter().map(|strip| strip.values(look.pool));
    let n_cols = matrices().next()?.n_cols();
    let values: Vec<f32> = matrices().flat_map(Matrix::as_slice).copied().collect();
    Matrix::new(values, [matrices().map(Matrix::n_rows).sum(), n_cols]).ok()
}

/// The finest level at which a pattern has no more cells than a small picture shows.
fn level(whole: &ReadPattern) -> u32 {
    let longest = whole.rows.len().max(whole.cols.len());
    longest.div_ceil(THUMB_PX).next_power_of_two().ilog2().min(MAX_LEVEL)
}
