//! The window's own symbols, so that they look the same on a machine without any font.
//!
//! The bundled fonts have neither `␣`, which byte-level tokens begin with, nor symbols for buttons;
//! both are drawn here, as strokes and areas, and take precedence over whatever the system has.

use eframe::egui::{
    self, Color32, ColorImage, FontDefinitions, FontFamily, Vec2,
    epaint::text::{FontPriority, GlyphBitmap, GlyphRasterizer, RasterizedGlyph},
    vec2,
};

/// Sample points per pixel and axis.
const SAMPLES: usize = 4;

/// A symbol in units of the font size: x to the right, y downwards, the baseline at 0.
struct Symbol {
    advance: f32,
    parts: &'static [Part],
}

/// What a symbol is made of.
enum Part {
    /// A polyline of this width.
    Line(f32, &'static [[f32; 2]]),
    /// A filled convex polygon.
    Area(&'static [[f32; 2]]),
    /// A filled disc: centre and radius.
    Disc([f32; 2], f32),
    /// A circle line of this width: centre and radius.
    Ring(f32, [f32; 2], f32),
    /// What is left of the first disc outside the second: centres and radii.
    Crescent([f32; 2], f32, [f32; 2], f32),
}

fn symbol(cluster: &str) -> Option<Symbol> {
    use Part::{Area, Crescent, Disc, Line, Ring};
    const THIN: f32 = 0.075;
    let (advance, parts): (f32, &'static [Part]) = match cluster {
        "␣" => (0.52, &[Line(0.07, &[[0.07, -0.06], [0.07, 0.1], [0.45, 0.1], [0.45, -0.06]])]),
        "⏎" => (
            0.8,
            &[
                Line(THIN, &[[0.68, -0.62], [0.68, -0.28], [0.16, -0.28]]),
                Line(THIN, &[[0.32, -0.44], [0.14, -0.28], [0.32, -0.12]]),
            ],
        ),
        "⏴" => (0.7, &[Area(&[[0.5, -0.62], [0.5, -0.1], [0.16, -0.36]])]),
        "⏵" => (0.7, &[Area(&[[0.2, -0.62], [0.54, -0.36], [0.2, -0.1]])]),
        "⏷" => (0.62, &[Area(&[[0.1, -0.46], [0.52, -0.46], [0.31, -0.2]])]),
        "←" => (
            0.9,
            &[Line(THIN, &[[0.8, -0.34], [0.12, -0.34]]), Line(THIN, &[[0.34, -0.56], [0.12, -0.34], [0.34, -0.12]])],
        ),
        "→" => (
            0.9,
            &[Line(THIN, &[[0.1, -0.34], [0.78, -0.34]]), Line(THIN, &[[0.56, -0.56], [0.78, -0.34], [0.56, -0.12]])],
        ),
        "✖" => (0.7, &[Line(0.09, &[[0.14, -0.6], [0.56, -0.14]]), Line(0.09, &[[0.56, -0.6], [0.14, -0.14]])]),
        "☀" => (
            1.0,
            &[
                Disc([0.5, -0.34], 0.17),
                Line(THIN, &[[0.5, -0.78], [0.5, -0.64]]),
                Line(THIN, &[[0.5, -0.04], [0.5, 0.1]]),
                Line(THIN, &[[0.06, -0.34], [0.2, -0.34]]),
                Line(THIN, &[[0.8, -0.34], [0.94, -0.34]]),
                Line(THIN, &[[0.19, -0.65], [0.29, -0.55]]),
                Line(THIN, &[[0.71, -0.13], [0.81, -0.03]]),
                Line(THIN, &[[0.81, -0.65], [0.71, -0.55]]),
                Line(THIN, &[[0.29, -0.13], [0.19, -0.03]]),
            ],
        ),
        "🌙" => (1.0, &[Crescent([0.5, -0.34], 0.38, [0.68, -0.46], 0.32)]),
        "📷" => (
            1.1,
            &[
                Line(
                    THIN,
                    &[
                        [0.1, -0.6],
                        [0.34, -0.6],
                        [0.42, -0.74],
                        [0.68, -0.74],
                        [0.76, -0.6],
                        [1.0, -0.6],
                        [1.0, 0.02],
                        [0.1, 0.02],
                        [0.1, -0.6],
                    ],
                ),
                Ring(THIN, [0.55, -0.3], 0.17),
            ],
        ),
        "📋" => (
            1.0,
            &[
                Line(THIN, &[[0.34, -0.54], [0.9, -0.54], [0.9, 0.06], [0.34, 0.06], [0.34, -0.54]]),
                Line(THIN, &[[0.2, -0.14], [0.12, -0.14], [0.12, -0.76], [0.7, -0.76], [0.7, -0.68]]),
            ],
        ),
        "⚠" => (
            1.0,
            &[
                Line(THIN, &[[0.5, -0.72], [0.92, 0.02], [0.08, 0.02], [0.5, -0.72]]),
                Line(0.09, &[[0.5, -0.46], [0.5, -0.24]]),
                Disc([0.5, -0.1], 0.055),
            ],
        ),
        _ => return None,
    };
    Some(Symbol { advance, parts })
}

/// Installs the symbols, and Hack as a second font for the arrows and letters that Ubuntu lacks.
pub fn install(ctx: &egui::Context) {
    let mut fonts = FontDefinitions::default();
    if let Some(family) = fonts.families.get_mut(&FontFamily::Proportional) {
        family.insert(1.min(family.len()), "Hack".to_owned());
    }
    ctx.set_fonts(fonts);
    let rasterizer = GlyphRasterizer::new("attnscope::symbols", |request| {
        // Every cluster of every text is asked for; most are turned away by their first byte.
        let first = request.cluster.as_bytes().first()?;
        if first.is_ascii() {
            return None;
        }
        symbol(request.cluster.trim_end_matches('\u{fe0f}')).map(|symbol| rasterize(&symbol, request.font_size_px))
    });
    ctx.add_glyph_rasterizer(rasterizer.with_priority(FontPriority::Highest));
}

fn rasterize(symbol: &Symbol, size_px: f32) -> RasterizedGlyph {
    // The box holds a full line: from one size above the baseline to a third below it.
    let (width, height) = ((symbol.advance * size_px).ceil().max(1.0), (1.34 * size_px).ceil().max(1.0));
    let top = -size_px.ceil();
    let coverage = |x: usize, y: usize| {
        let hits = (0..SAMPLES * SAMPLES).filter(|sample| {
            let offset = |n: usize| (n as f32 + 0.5) / SAMPLES as f32;
            let point = vec2(x as f32 + offset(sample % SAMPLES), y as f32 + top + offset(sample / SAMPLES)) / size_px;
            symbol.parts.iter().any(|part| part.covers(point))
        });
        (hits.count() * 255 / (SAMPLES * SAMPLES)) as u8
    };
    let size = [width as usize, height as usize];
    let pixels = (0..size[1]).flat_map(|y| (0..size[0]).map(move |x| (x, y)));
    let pixels = pixels.map(|(x, y)| Color32::from_white_alpha(coverage(x, y))).collect();
    RasterizedGlyph {
        bitmap: GlyphBitmap { image: ColorImage::new(size, pixels), offset_px: vec2(0.0, top), is_color: false },
        advance_px: symbol.advance * size_px,
    }
}

impl Part {
    fn covers(&self, point: Vec2) -> bool {
        let to = |at: [f32; 2]| vec2(at[0], at[1]);
        match *self {
            Self::Line(width, points) => {
                points.windows(2).any(|ends| distance(point, to(ends[0]), to(ends[1])) <= width / 2.0)
            }
            Self::Area(corners) => {
                let side = |i: usize| {
                    let (a, b) = (to(corners[i]), to(corners[(i + 1) % corners.len()]));
                    (b - a).x * (point - a).y - (b - a).y * (point - a).x
                };
                let sides: Vec<f32> = (0..corners.len()).map(side).collect();
                sides.iter().all(|side| *side >= 0.0) || sides.iter().all(|side| *side <= 0.0)
            }
            Self::Disc(center, radius) => (point - to(center)).length() <= radius,
            Self::Ring(width, center, radius) => ((point - to(center)).length() - radius).abs() <= width / 2.0,
            Self::Crescent(center, radius, bite, bite_radius) => {
                (point - to(center)).length() <= radius && (point - to(bite)).length() > bite_radius
            }
        }
    }
}

/// Distance of a point from a segment.
fn distance(point: Vec2, start: Vec2, end: Vec2) -> f32 {
    let along = end - start;
    let t = ((point - start).dot(along) / along.length_sq().max(f32::EPSILON)).clamp(0.0, 1.0);
    (point - start - along * t).length()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_symbol_leaves_ink_inside_its_advance() {
        for cluster in ["␣", "⏎", "⏴", "⏵", "⏷", "←", "→", "✖", "☀", "🌙", "📷", "📋", "⚠"] {
            let glyph = rasterize(&symbol(cluster).unwrap(), 26.0);
            let ink: u32 = glyph.bitmap.image.pixels.iter().map(|pixel| u32::from(pixel.a())).sum();
            assert!(ink > 255 * 8, "{cluster} has {ink}");
            assert!(glyph.bitmap.image.size[0] as f32 >= glyph.advance_px);
        }
        assert!(symbol("a").is_none());
    }
}
