//! Values as pixels over a picture, by patch or by region, and the outlines and names of regions.
//! The window and figures agree.

use emath::{Rect, pos2, vec2};

use super::{MAX_SMOOTH_PX, SMOOTH_PX_PER_PATCH, layout::ImageLayout};
use crate::{
    capture::{ImageInfo, RgbaBuffer},
    figure::{
        font::Align,
        list::faded,
        measure::{GRID, text_size::SMALL},
        pen::Pen,
    },
    raster::{ColorRange, Colors, overlay},
};

/// Pixels along the longer side of what regions are painted on.
const REGIONS_PX: f32 = 1024.0;
/// The same of small pictures.
const SMALL_PX: f32 = 32.0;
/// Opacity of the ground of a name.
const NAME_OPACITY: f32 = 0.85;

/// Width and height in pixels of an overlay that suits a picture, and whether its patches are interpolated: regions have
/// edges of their own.
pub fn size_px(image: &ImageInfo, smooth: bool) -> ((usize, usize), bool) {
    if image.regions.is_some() {
        let size = vec2(image.crop.width, image.crop.height);
        let side = |length: f32| ((REGIONS_PX * length / size.max_elem()).round() as usize).max(1);
        return ((side(size.x), side(size.y)), false);
    }
    let side = |n: usize| if smooth { (n * SMOOTH_PX_PER_PATCH).min(MAX_SMOOTH_PX) } else { n }.max(1);
    ((side(image.grid.1), side(image.grid.0)), smooth)
}

/// The colours of one value for each patch or region. Where regions overlap, the largest value is seen.
pub fn overlay(
    patches: &[f32],
    image: &ImageInfo,
    (size_px, smooth): ((usize, usize), bool),
    (colors, range): (Colors, ColorRange),
    opacity: f32,
) -> RgbaBuffer {
    let Some(boxes) = parts(image) else {
        return overlay::overlay(patches, image.grid, size_px, colors, range, smooth, opacity);
    };
    overlay::boxes(&boxes, &overlay::tints(patches, colors, range, opacity), &by_size(patches), size_px)
}

/// One colour for each patch or region. Where regions overlap, the smallest is seen.
pub fn painted(colors: &[[u8; 4]], image: &ImageInfo) -> RgbaBuffer {
    let Some(boxes) = parts(image) else {
        return RgbaBuffer { width: image.grid.1, height: image.grid.0, pixels: colors.concat() };
    };
    let area = |[left, top, right, bottom]: &[f32; 4]| -(right - left) * (bottom - top);
    let largest_first = in_order(&boxes.iter().map(area).collect::<Vec<_>>());
    overlay::boxes(&boxes, colors, &largest_first, size_px(image, false).0)
}

/// The values of patches, or of regions as what is seen of them on a small picture, with rows and columns.
pub fn small(patches: Vec<f32>, image: &ImageInfo) -> (Vec<f32>, [usize; 2]) {
    let Some(boxes) = parts(image) else { return (patches, [image.grid.0, image.grid.1]) };
    let size = vec2(image.crop.width, image.crop.height);
    let [cols, rows] = [size.x, size.y].map(|side| ((SMALL_PX * side / size.max_elem()).round() as usize).max(1));
    let order = by_size(&patches);
    let at = |cell: usize| {
        let (x, y) = (((cell % cols) as f32 + 0.5) / cols as f32, ((cell / cols) as f32 + 0.5) / rows as f32);
        let covers = |nth: &&usize| {
            let [left, top, right, bottom] = boxes[**nth];
            (left..right).contains(&x) && (top..bottom).contains(&y)
        };
        order.iter().rev().find(covers).map_or(0.0, |nth| patches[*nth])
    };
    ((0..rows * cols).map(at).collect(), [rows, cols])
}

/// The outline of the patches or regions that hold a share of the mass, in units of the grid.
pub fn contour(patches: &[f32], image: &ImageInfo, share: f32) -> Vec<overlay::Segment> {
    let Some(boxes) = parts(image) else { return overlay::mass_contour(patches, image.grid, share) };
    let held = overlay::mass_mask(patches, share);
    let (rows, cols) = (image.grid.0 as f32, image.grid.1 as f32);
    let sides = |&[left, top, right, bottom]: &[f32; 4]| {
        let [a, b, c, d] =
            [[left, top], [right, top], [right, bottom], [left, bottom]].map(|[x, y]| [x * cols, y * rows]);
        [(a, b), (b, c), (c, d), (d, a)].map(|(from, to)| overlay::Segment { from, to })
    };
    boxes.iter().zip(held).filter(|(_, held)| *held).flat_map(|(of, _)| sides(of)).collect()
}

/// Positions of the regions with their names and numbers, those of the largest numbers first; none of patches.
pub fn named(
    image: &ImageInfo,
    patches: &[f32],
    name: impl Fn(usize) -> String,
    number: impl Fn(&f32) -> String,
) -> Vec<(usize, String)> {
    let Some(regions) = &image.regions else { return Vec::new() };
    let text = |nth: usize| match patches.get(nth) {
        Some(value) => format!("{} {}", name(image.n_prefix + nth), number(value)),
        None => name(image.n_prefix + nth),
    };
    let order = if patches.is_empty() { (0..regions.len()).collect() } else { by_size(patches) };
    order.into_iter().rev().map(|nth| (image.n_prefix + nth, text(nth))).collect()
}

/// Draws the outlines of regions, and their names where those do not lie on each other: the first ones first.
pub fn draw(layout: &ImageLayout, named: &[(usize, String)], pen: &mut Pen<'_>) {
    for (position, _) in named.iter().rev() {
        let rect = layout.token_rect(*position);
        pen.frame(rect, 3.0, faded(pen.palette.canvas, 0.6));
        pen.frame(rect, 1.0, pen.palette.text);
    }
    let height = pen.type_.height(SMALL) + 2.0;
    let mut placed: Vec<Rect> = Vec::new();
    for (position, text) in named {
        let rect = layout.token_rect(*position);
        let text = pen.type_.fit(text, SMALL, layout.crop.width() - GRID).into_owned();
        let size = vec2(pen.type_.width(&text, SMALL) + GRID, height);
        let left = rect.left().min(layout.crop.right() - size.x).max(layout.crop.left());
        // Inside of the region at its top or its bottom, or above it.
        let tops = [rect.top(), rect.bottom() - height, rect.top() - height];
        let free = |top: &f32| {
            let label = Rect::from_min_size(pos2(left, *top), size);
            let is_inside = label.top() >= layout.crop.top() - 0.5 && label.bottom() <= layout.crop.bottom() + 0.5;
            (is_inside && placed.iter().all(|other| !other.intersects(label))).then_some(label)
        };
        let Some(label) = tops.iter().find_map(free) else { continue };
        pen.rect(label, faded(pen.palette.canvas, NAME_OPACITY));
        pen.text(&text, SMALL, pen.palette.text, label.left_center() + vec2(GRID / 2.0, 0.0), Align::Left);
        placed.push(label);
    }
}

/// The regions as parts of the picture.
fn parts(image: &ImageInfo) -> Option<Vec<[f32; 4]>> {
    let of = image.crop;
    let part = |&[left, top, right, bottom]: &[f32; 4]| {
        let (x, y) = (|x: f32| (x - of.x) / of.width, |y: f32| (y - of.y) / of.height);
        [x(left), y(top), x(right), y(bottom)]
    };
    image.regions.as_ref().map(|regions| regions.iter().map(part).collect())
}

/// Which values come in which order, the smallest in size first, of equals the last.
fn by_size(values: &[f32]) -> Vec<usize> {
    in_order(&values.iter().map(|value| value.abs()).collect::<Vec<_>>())
}

fn in_order(values: &[f32]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).rev().collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    order
}
