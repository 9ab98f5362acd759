//! The colours of points and what they mean, for one plane and for many.

use emath::{Pos2, Rect, pos2};

use crate::{
    analysis::projection::{Meaning, Tint},
    figure::{
        font::Align,
        list::Rgba,
        measure::{GRID, text_size::SMALL},
        palette::Palette,
        path::Path,
        pen::Pen,
        views::points::MarkSize,
    },
};

/// Radius of a mark in the legend.
const MARK_PT: f32 = 3.0;
/// Letters of the longest name of a group.
const LONGEST_NAME: usize = 20;
/// Width of a scale of colours.
const SCALE_PT: f32 = 80.0;

/// The colour of the point at `idx`; `own` is that of queries, or that of keys.
pub fn ink(tints: &[Tint], idx: usize, own: Rgba, palette: &Palette) -> Rgba {
    palette.tint(tints.get(idx).copied().unwrap_or(Tint::Type), own)
}

/// Draws the mark of a query, or that of a key.
pub fn mark(is_query: bool, at: Pos2, radius: f32, color: Rgba, pen: &mut Pen<'_>) {
    let path = if is_query { Path::circle(at, radius) } else { Path::diamond(at, MarkSize::DIAMOND * radius) };
    pen.fill(path, color);
}

/// Draws the marks of the kinds of points at the left of a line, what colours mean at its right.
pub fn legend(kinds: [Option<&str>; 2], meaning: &Meaning, at: Pos2, right: f32, pen: &mut Pen<'_>) {
    let weak = pen.palette.text_weak;
    let [query, key] = match meaning {
        Meaning::Type | Meaning::Missing(_) => [pen.palette.query, pen.palette.key],
        Meaning::Scale(_) | Meaning::Hues | Meaning::Groups(_) => [weak; 2],
    };
    let mut x = at.x + MARK_PT;
    if let Some(name) = kinds[0] {
        mark(true, pos2(x, at.y), MARK_PT, query, pen);
        x += 2.0 * GRID + pen.text(name, SMALL, weak, pos2(x + 2.0 * GRID, at.y), Align::Left) + 4.0 * GRID;
    }
    if let Some(name) = kinds[1] {
        mark(false, pos2(x, at.y), MARK_PT, key, pen);
        pen.text(name, SMALL, weak, pos2(x + 2.0 * GRID, at.y), Align::Left);
    }
    match meaning {
        Meaning::Type => {}
        Meaning::Missing(reason) => {
            pen.text(reason, SMALL, weak, pos2(right, at.y), Align::Right);
        }
        Meaning::Scale([low, high]) => scale([low, high], Palette::position, at.y, right, pen),
        Meaning::Hues => scale(["red", "red"], Palette::hue, at.y, right, pen),
        Meaning::Groups(groups) => {
            let mut x = right;
            for (group, name) in groups.iter().rev() {
                x -= pen.text(&short(name), SMALL, weak, pos2(x, at.y), Align::Right) + 2.0 * GRID;
                mark(true, pos2(x, at.y), MARK_PT, pen.palette.tint(*group, weak), pen);
                x -= 3.0 * GRID;
            }
        }
    }
}

/// Draws a bar of colours with its ends in words.
fn scale([low, high]: [&str; 2], color: fn(&Palette, f32) -> Rgba, y: f32, right: f32, pen: &mut Pen<'_>) {
    let weak = pen.palette.text_weak;
    let width = pen.text(high, SMALL, weak, pos2(right, y), Align::Right);
    let middle = pos2(right - width - GRID - SCALE_PT / 2.0, y);
    let bar = Rect::from_center_size(middle, [SCALE_PT, 8.0].into());
    let colors: Vec<Rgba> = (0..64).map(|step| color(&pen.palette, step as f32 / 63.0)).collect();
    pen.colors(bar, &colors);
    pen.text(low, SMALL, weak, pos2(bar.left() - GRID, y), Align::Right);
}

/// Room that the legend needs in a line that begins at `left`, in points.
pub fn width(kinds: [Option<&str>; 2], meaning: &Meaning, left: f32, pen: &mut Pen<'_>) -> f32 {
    let mut text = |text: &str| pen.widest([text], SMALL);
    let sides = MARK_PT + 14.0 * GRID + kinds.into_iter().flatten().map(&mut text).sum::<f32>();
    let (least, told) = match meaning {
        Meaning::Type => (240.0, 0.0),
        Meaning::Scale([low, high]) => (330.0, text(low) + text(high) + SCALE_PT + 2.0 * GRID),
        Meaning::Hues => (330.0, 2.0 * text("red") + SCALE_PT + 2.0 * GRID),
        Meaning::Missing(reason) => (460.0, text(reason)),
        Meaning::Groups(groups) => (460.0, groups.iter().map(|(_, name)| text(&short(name)) + 5.0 * GRID).sum::<f32>()),
    };
    (left + sides + told).max(least)
}

/// A name that leaves room for others.
fn short(name: &str) -> String {
    if name.chars().count() <= LONGEST_NAME {
        return name.to_owned();
    }
    format!("{}…", name.chars().take(LONGEST_NAME - 1).collect::<String>().trim_end())
}
