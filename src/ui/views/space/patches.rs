//! Patches of pictures as marks: what a point stands for is what one sees.

use eframe::egui::{
    Color32, ColorImage, Context, Painter, Rect, Stroke, StrokeKind, TextureHandle, TextureOptions, Vec2, pos2, vec2,
};

use super::marks::CellMarks;
use crate::{
    analysis::{PointCloud, point_set::Spot},
    capture::{ImageInfo, RgbaBuffer},
    figure::views::points::{DIMMED, nearness},
    ids::StackKind,
    ui::{theme::Theme, views::texture},
};

/// Patches are drawn from this size on, and not larger than that.
const PATCH_PT: (f32, f32) = (6.0, 40.0);
/// A picture that is alone is thinned out to this size.
const MAX_PICTURE_PX: usize = 1024;
/// The part of a cell that patches may take.
const PATCH_PART: f32 = 0.22;

/// Side of the patches that stand for `n` points in a cell, where there is room for them.
pub fn side(n: usize, cell: Vec2) -> Option<f32> {
    let side = (PATCH_PART * cell.x * cell.y / n.max(1) as f32).sqrt().min(PATCH_PT.1);
    (side >= PATCH_PT.0).then_some(side)
}

/// Draws the patches at their points, framed in the colour of queries or keys. Points without a patch are discs.
pub fn draw(
    painter: &Painter,
    cell: &CellMarks<'_>,
    (cloud, stack): (&PointCloud, StackKind),
    pictures: &PatchPictures,
    side: f32,
    theme: &Theme,
) {
    let seen = painter.clip_rect().expand(side);
    for (at, depth, spot) in cell.placed().into_iter().filter(|(at, ..)| seen.contains(*at)) {
        let (of, point) = match spot {
            Spot::Query(point) => (stack.query_side(), point),
            Spot::Key(point) => (stack.key_side(), point),
        };
        let patch = cloud.place(of, point).zip(cloud.token(of, point));
        let uv = patch.and_then(|((image, place), token)| pictures.uv(token.input, place, image.grid));
        let Some(uv) = uv else {
            let color = cell.color(spot, theme);
            painter.circle(at, side * 0.3, color, Stroke::new(1.0, theme.canvas));
            continue;
        };
        let larger = cell.larger(spot) * if cell.seen.is_space() { nearness(depth).0 } else { 1.0 };
        let rect = Rect::from_center_size(at, Vec2::splat(side * larger));
        let faded = if cell.is_lit(spot) { 1.0 } else { DIMMED };
        painter.image(pictures.texture.id(), rect, uv, Color32::WHITE.gamma_multiply(faded));
        let stroke = Stroke::new((side / 12.0).clamp(1.0, 2.0), cell.color(spot, theme).gamma_multiply(faded));
        painter.rect_stroke(rect, 0, stroke, StrokeKind::Outside);
    }
}

/// The pictures that patches are cut out of, in one texture.
#[derive(Clone)]
pub struct PatchPictures {
    texture: TextureHandle,
    /// The part of it that each input's grid of patches covers.
    crops: Vec<Option<Rect>>,
}

impl PatchPictures {
    /// Of a cloud; `None` where nobody has the pictures, or where there are too many for one texture.
    pub fn load(ctx: &Context, cloud: &PointCloud) -> Option<Self> {
        let images: Vec<Option<&ImageInfo>> = match cloud {
            PointCloud::Input(capture) => vec![capture.image()],
            PointCloud::Positions(_) => return None,
            PointCloud::Inputs(view) => {
                (0..cloud.n_inputs()).map(|nth| view.input(nth).and_then(|input| input.image.as_ref())).collect()
            }
        };
        let sources: Vec<Option<(&ImageInfo, &RgbaBuffer)>> =
            images.iter().map(|image| image.and_then(|image| Some((image, image.source.as_deref()?)))).collect();
        let tile = |of: fn(&RgbaBuffer) -> usize| sources.iter().flatten().map(|(_, source)| of(source)).max();
        let (widest, highest) = (tile(|source| source.width)?, tile(|source| source.height)?);
        let max_side = texture::max_side(ctx);
        // Marks are small: a large picture is thinned out.
        let step = widest.max(highest).div_ceil(MAX_PICTURE_PX.min(max_side)).max(1);
        let (width, height) = (widest.div_ceil(step), highest.div_ceil(step));
        let n_cols = (sources.len() as f32).sqrt().ceil() as usize;
        let n_rows = sources.len().div_ceil(n_cols.max(1));
        let size = [n_cols * width, n_rows * height];
        if size.contains(&0) || size.iter().any(|side| *side > max_side) {
            return None;
        }
        let mut pixels = vec![Color32::TRANSPARENT; size[0] * size[1]];
        let mut crops = Vec::with_capacity(sources.len());
        for (nth, source) in sources.into_iter().enumerate() {
            let (left, top) = (nth % n_cols * width, nth / n_cols * height);
            let Some((image, source)) = source else {
                crops.push(None);
                continue;
            };
            for (row, y) in (0..source.height).step_by(step).enumerate() {
                for (col, x) in (0..source.width).step_by(step).enumerate() {
                    let at = 4 * (y * source.width + x);
                    if let Some(&[red, green, blue, alpha]) = source.pixels.get(at..).and_then(|p| p.first_chunk()) {
                        let pixel = Color32::from_rgba_unmultiplied(red, green, blue, alpha);
                        pixels[(top + row) * size[0] + left + col] = pixel;
                    }
                }
            }
            let place = |x: f32, y: f32| {
                let at = vec2(left as f32, top as f32) + vec2(x, y) / step as f32;
                pos2(at.x / size[0] as f32, at.y / size[1] as f32)
            };
            let crop = &image.crop;
            crops.push(Some(Rect::from_min_max(
                place(crop.x, crop.y),
                place(crop.x + crop.width, crop.y + crop.height),
            )));
        }
        let texture = ctx.load_texture("patches", ColorImage::new(size, pixels), TextureOptions::LINEAR);
        Some(Self { texture, crops })
    }

    /// Where a patch of an input is in the texture.
    fn uv(&self, input: usize, (row, column): (usize, usize), (rows, columns): (usize, usize)) -> Option<Rect> {
        let crop = (*self.crops.get(input)?)?;
        let size = crop.size() / vec2(columns as f32, rows as f32);
        Some(Rect::from_min_size(crop.min + size * vec2(column as f32, row as f32), size))
    }
}
