//! Where arrows, rings and squares stand on the picture, how strong they look, and how figures paint them.
//! Geometry in points; the window paints the same shapes.

use emath::{Pos2, Rect, Vec2, pos2, vec2};

use super::{
    flows::{Flow, FlowFilter, Flows, Target},
    layout::ImageLayout,
    weights::PatchRole,
};
use crate::{
    analysis::reading::ReadPattern,
    capture::ImageInfo,
    figure::{
        font::Align,
        legend,
        list::{Rgba, Sampling, faded},
        measure::{BAR_PT, GRID, text_size::SMALL},
        palette::Palette,
        path::Path,
        pen::Pen,
    },
    text::tick_text,
};

/// Width of an arrow of weight 0, and what the largest is wider by.
const WIDTH_PT: (f32, f32) = (0.75, 3.25);
/// Opacity of an arrow of weight 0, and what the largest has more.
const OPACITY: (f32, f32) = (0.3, 0.7);
/// Opacity of the ground over the picture, so that arrows stand out.
pub const VEIL_OPACITY: f32 = 0.4;
/// Ground around an arrow, so that it shows on any picture and before others.
pub const CASING_PT: f32 = 1.0;
/// What is left of an arrow while those of another patch stand out.
const FAINT: f32 = 0.22;
/// Straight pieces of a bent line.
const N_PIECES: usize = 10;
/// Slices of the wedge that explains widths.
const N_SLICES: usize = 48;
/// Its length below a sheet.
const ROW_PT: f32 = 96.0;

/// One arrow, ring or square.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    pub flow: Flow,
    pub shape: Shape,
    pub width: f32,
    /// `0..=1`.
    pub opacity: f32,
    /// Whether others stand out instead.
    pub is_faint: bool,
}

/// Outlines, in points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// A bent line up to where its head begins, and the head's tip and half its breadth there.
    Arrow {
        from: Pos2,
        /// What bends it (a quadratic curve).
        control: Pos2,
        /// End of the line, and the base of the head.
        neck: Pos2,
        /// Where it points.
        tip: Pos2,
        /// Half the breadth of the head.
        half: f32,
    },
    /// A patch that attends to itself.
    Ring {
        center: Pos2,
        /// To the middle of the line.
        radius: f32,
    },
    /// A patch that attends to a token before the patches.
    Square(Rect),
}

/// How strong a weight looks, `0..=1`: the square root, so that small weights differ, of its part of `high`.
fn strength(weight: f32, high: f32) -> f32 {
    (weight.abs() / high.max(f32::MIN_POSITIVE)).clamp(0.0, 1.0).sqrt()
}

/// The weight of the strongest look: 1, so that all heads are drawn alike, or more where sums of heads are.
pub fn high(read: &ReadPattern) -> f32 {
    read.high().max(1.0)
}

fn opacity(strength: f32) -> f32 {
    OPACITY.1.mul_add(strength, OPACITY.0)
}

/// The marks of all arrows, from back to front; those of a token that is `held` come last and are opaque.
pub fn marks(
    flows: &Flows,
    layout: &ImageLayout,
    image: &ImageInfo,
    high: f32,
    held: Option<(usize, PatchRole)>,
) -> Vec<Mark> {
    let mut marks: Vec<Mark> = flows.drawn.iter().map(|flow| mark(flow, layout, image, high)).collect();
    if let Some(held) = held {
        for mark in &mut marks {
            mark.is_faint = !Flows::is_of(&mark.flow, held);
            mark.opacity = if mark.is_faint { FAINT * mark.opacity } else { 1.0 };
        }
        marks.sort_by_key(|mark| !mark.is_faint);
    }
    marks
}

fn mark(flow: &Flow, layout: &ImageLayout, image: &ImageInfo, high: f32) -> Mark {
    let [cell, target] = [flow.query, flow.key].map(|position| layout.token_rect(position));
    let unit = cell.width().min(cell.height());
    let strength = strength(flow.weight, high);
    let width = WIDTH_PT.1.mul_add(strength, WIDTH_PT.0).min(0.16 * unit).max(0.4);
    let shape = match flow.target {
        Target::Itself => Shape::Ring { center: cell.center(), radius: 0.27 * unit },
        Target::Prefix => Shape::Square(square(cell, flow.key, image.n_prefix, strength)),
        Target::Patch => arrow(cell.center(), target.center(), unit, width),
    };
    Mark { flow: *flow, shape, width, opacity: opacity(strength), is_faint: false }
}

/// From one middle towards another, bent to its left as it goes: so both directions are seen, and those of one row of
/// patches do not lie on each other. It ends outside the ring that the other may have.
fn arrow(from: Pos2, to: Pos2, unit: f32, width: f32) -> Shape {
    let way = to - from;
    // y grows downwards.
    let aside = vec2(way.y, -way.x).normalized() * (0.17 * way.length()).max(0.2 * unit);
    let control = from + way * 0.5 + aside;
    let (leaves, arrives) = ((control - from).normalized(), (to - control).normalized());
    let (from, tip) = (from + leaves * (0.1 * unit), to - arrives * (0.36 * unit));
    let head = (3.0 + 2.0 * width).min(0.35 * unit);
    Shape::Arrow { from, control, neck: tip - arrives * head, tip, half: 0.5 * head }
}

/// The line of an arrow as straight pieces.
pub fn way(from: Pos2, control: Pos2, neck: Pos2) -> [Pos2; N_PIECES + 1] {
    std::array::from_fn(|step| {
        let t = step as f32 / N_PIECES as f32;
        from.lerp(control, t).lerp(control.lerp(neck, t), t)
    })
}

/// The corners of a head, grown by `by` on every side: left, tip, right.
pub fn head(neck: Pos2, tip: Pos2, half: f32, by: f32) -> [Pos2; 3] {
    let along = (tip - neck).normalized();
    let across = vec2(-along.y, along.x) * 1.7f32.mul_add(by, half);
    let base = neck - along * by;
    [base - across, tip + along * (1.7 * by), base + across]
}

/// The square in `cell` that stands for one of `n_prefix` tokens before the patches: side by side in their order.
pub fn square(cell: Rect, prefix: usize, n_prefix: usize, strength: f32) -> Rect {
    let unit = cell.width().min(cell.height());
    let step = (0.4 * unit).min(0.9 * unit / n_prefix.max(1) as f32);
    let aside = (prefix as f32 - (n_prefix.max(1) - 1) as f32 / 2.0) * step;
    let side = (0.14f32.mul_add(strength, 0.18) * unit).min(0.8 * step);
    Rect::from_center_size(cell.center() + vec2(aside, 0.0), Vec2::splat(side))
}

/// Width of an arrow, as a part of the widest one's.
fn part_of_widest(strength: f32) -> f32 {
    WIDTH_PT.1.mul_add(strength, WIDTH_PT.0) / (WIDTH_PT.0 + WIDTH_PT.1)
}

/// How an arrow of a weight looks: its width, as a part of the widest one's, and its colour.
pub fn look(weight: f32, high: f32, ink: Rgba) -> (f32, Rgba) {
    let strength = strength(weight, high);
    (part_of_widest(strength), faded(ink, opacity(strength)))
}

/// The wedge that explains widths, from the smallest weight that is drawn at the bottom up to the largest: slices
/// with their opacity.
fn wedge(bar: Rect, least: f32, high: f32) -> Vec<(Rect, f32)> {
    let height = bar.height() / N_SLICES as f32;
    let slice = |idx: usize| {
        let weight = (high - least).mul_add((idx as f32 + 0.5) / N_SLICES as f32, least);
        let strength = strength(weight, high);
        let width = BAR_PT * part_of_widest(strength);
        let center = pos2(bar.left() + BAR_PT / 2.0, bar.bottom() - (idx as f32 + 0.5) * height);
        (Rect::from_center_size(center, vec2(width, height)), opacity(strength))
    };
    (0..N_SLICES).map(slice).collect()
}

/// The numbers beside the wedge and where they stand; `half` is half the height of a line of text.
fn ticks(bar: Rect, least: f32, high: f32, half: f32) -> [(Pos2, String); 3] {
    [(0.0, -half + 1.0), (0.5, 0.0), (1.0, half - 1.0)].map(|(fraction, nudge)| {
        let at = pos2(bar.left() + BAR_PT + 1.5 * GRID, bar.bottom() - fraction * bar.height() + nudge);
        (at, tick_text((high - least).mul_add(fraction, least)))
    })
}

/// The colour of an arrow: of differences by their sign.
pub fn color(flow: &Flow, read: &ReadPattern, palette: &Palette) -> Rgba {
    if read.signed { palette.signed(flow.weight.signum()) } else { palette.text }
}

/// Paints arrows over the picture, and their legend in place of the overlay's.
pub(super) fn draw(
    read: &ReadPattern,
    (image, layout): (&ImageInfo, &ImageLayout),
    (filter, held): (FlowFilter, Option<(usize, PatchRole)>),
    pen: &mut Pen<'_>,
) {
    draw_alone(read, (image, layout), (filter, held), pen);
    if let Some(bar) = layout.bar {
        draw_wedge(bar, filter.least, high(read), pen);
    }
}

/// Draws what widths mean beside the picture: from the smallest weight that is drawn at the bottom up to the largest.
fn draw_wedge(bar: Rect, least: f32, high: f32, pen: &mut Pen<'_>) {
    let least = least.min(high);
    for (slice, opacity) in wedge(bar, least, high) {
        pen.rect(slice, faded(pen.palette.text, opacity));
    }
    let half = pen.type_.height(SMALL) / 2.0;
    for (at, text) in ticks(bar, least, high, half) {
        pen.text(&text, SMALL, pen.palette.text_weak, at, Align::Left);
    }
}

/// Draws what widths mean in a row: from the smallest weight that is drawn up to the largest.
pub(super) fn draw_row(read: &ReadPattern, filter: FlowFilter, area: Rect, pen: &mut Pen<'_>) {
    let high = high(read);
    let least = filter.least.min(high);
    let (y, weak) = (area.center().y, pen.palette.text_weak);
    let name = format!("{} {}", read.value_label().to_lowercase(), tick_text(least));
    let right = area.right() - pen.text(&tick_text(high), SMALL, weak, pos2(area.right(), y), Align::Right) - GRID;
    let ink = pen.palette.text;
    let look = |share: f32| look((high - least).mul_add(share, least), high, ink);
    let bar = Rect::from_center_size(pos2(right - ROW_PT / 2.0, y), vec2(ROW_PT, BAR_PT));
    pen.picture(bar, &legend::tapered(look), Sampling::Smooth);
    pen.text(&name, SMALL, weak, pos2(right - ROW_PT - GRID, y), Align::Right);
}

/// Paints arrows over the picture.
pub(super) fn draw_alone(
    read: &ReadPattern,
    (image, layout): (&ImageInfo, &ImageLayout),
    (filter, held): (FlowFilter, Option<(usize, PatchRole)>),
    pen: &mut Pen<'_>,
) {
    let (flows, high) = (Flows::of(read, image, filter), high(read));
    pen.rect(layout.crop, faded(pen.palette.canvas, VEIL_OPACITY));
    // What bends beyond the edge patches stays within the picture.
    pen.clip(layout.crop, |pen| {
        for mark in marks(&flows, layout, image, high, held) {
            let full = color(&mark.flow, read, &pen.palette);
            let color = faded(full, mark.opacity);
            let casing = (!mark.is_faint).then(|| faded(pen.palette.canvas, 0.8 * mark.opacity));
            for (by, color) in [(CASING_PT, casing), (0.0, Some(color))] {
                if let Some(color) = color {
                    pen.fill(outline(&mark, by), color);
                }
            }
        }
    });
}

/// A mark as one outline, grown by `by`.
fn outline(mark: &Mark, by: f32) -> Path {
    match mark.shape {
        Shape::Arrow { from, control, neck, tip, half } => {
            let way = way(from, control, neck);
            let side = mark.width / 2.0 + by;
            let across = |at: usize| {
                let along = (way[(at + 1).min(N_PIECES)] - way[at.saturating_sub(1)]).normalized();
                vec2(-along.y, along.x) * side
            };
            let right = (0..=N_PIECES).map(|at| way[at] + across(at));
            let left = (0..=N_PIECES).rev().map(|at| way[at] - across(at));
            let [head_left, tip, head_right] = head(neck, tip, half, by);
            Path::polygon(right.chain([head_right, tip, head_left]).chain(left))
        }
        Shape::Ring { center, radius } => {
            let width = 2.0f32.mul_add(by, mark.width);
            Path::ring(center, radius + width / 2.0, width)
        }
        Shape::Square(rect) => Path::rect(rect.expand(by)),
    }
}
