//! PDF: a page, or as many as the figure is cut into, vectors and text, fonts embedded as subsets.

use std::sync::Arc;

use emath::Rangef;
use krilla::{
    Document,
    color::rgb,
    geom as kg,
    image::{BitsPerComponent, CustomImage, Image, ImageColorspace},
    metadata::Metadata,
    num::NormalizedF32,
    page::PageSettings,
    paint::{Fill, FillRule, Stroke},
    surface::Surface,
    text::{Font, GlyphId, KrillaGlyph},
};

use super::WriteError;
use crate::figure::{
    list::{Cells, Figure, GlyphRun, Item, Line, Rgba, Sampling, Text},
    paper,
    path::{Path, PathStep},
};

/// The figure as a PDF file, cut into pages where it says so; one point is one of PDF's units. The same figure gives the same
/// bytes.
///
/// # Errors
/// No area, or a font that cannot be embedded.
pub fn pdf(figure: &Figure) -> Result<Vec<u8>, WriteError> {
    let (width, height) = (figure.size.x, figure.size.y);
    let fonts = figure.faces.iter().map(|face| Font::new(face.data().clone().into(), face.index()));
    let mut document = Document::new();
    let mut writer = Writer { figure, fonts: fonts.collect(), pictures: Vec::new(), seen: Rangef::EVERYTHING };
    let ends = figure.cuts.iter().copied().chain([height]);
    let mut top = 0.0;
    for bottom in ends {
        let page = PageSettings::from_wh(width, bottom - top).filter(|_| width.is_finite() && height.is_finite());
        let mut page = document.start_page_with(page.ok_or(WriteError::NoArea { width, height })?);
        let mut surface = page.surface();
        surface.push_transform(&kg::Transform::from_translate(0.0, -top));
        writer.seen = Rangef::new(top, bottom);
        let drawn = writer.items(&mut surface, &figure.items);
        surface.pop();
        surface.finish();
        page.finish();
        drawn?;
        top = bottom;
    }
    document.set_metadata(
        Metadata::new()
            .title(figure.title.clone())
            .description(figure.provenance.clone())
            .creator(concat!("AttnScope ", env!("CARGO_PKG_VERSION")).to_owned()),
    );
    document.finish().map_err(|error| WriteError::Pdf(format!("{error:?}")))
}

struct Writer<'a> {
    figure: &'a Figure,
    /// One per face; `None` for those that cannot be embedded, which matters only when one is used.
    fonts: Vec<Option<Font>>,
    /// Pictures that are drawn more than once are stored once.
    pictures: Vec<(*const u8, Image)>,
    /// What of the figure is on the page.
    seen: Rangef,
}

impl Writer<'_> {
    fn items(&mut self, surface: &mut Surface<'_>, items: &[Item]) -> Result<(), WriteError> {
        let seen = self.seen;
        let is_here = |item: &&Item| paper::span(item).is_none_or(|span| span.intersects(seen));
        for item in items.iter().filter(is_here) {
            match item {
                Item::Fill(path, color) => fill(surface, path, *color),
                Item::Lines(lines) => {
                    surface.set_fill(None);
                    for line in lines.iter() {
                        stroke(surface, line);
                    }
                    surface.set_stroke(None);
                }
                Item::Clip(rect, inner) => {
                    let Some(clip) = pdf_path(&Path::rect(*rect)) else { continue };
                    surface.push_clip_path(&clip, &FillRule::NonZero);
                    let drawn = self.items(surface, inner);
                    surface.pop();
                    drawn?;
                }
                Item::Cells(cells) => self.cells(surface, cells),
                Item::Text(text) => self.text(surface, text)?,
            }
        }
        Ok(())
    }

    fn cells(&mut self, surface: &mut Surface<'_>, cells: &Cells) {
        let Some(size) = kg::Size::from_wh(cells.rect.width(), cells.rect.height()) else { return };
        let key = cells.rgba.as_ptr();
        let known = self.pictures.iter().find(|(known, _)| *known == key).map(|(_, image)| image.clone());
        let image = known.unwrap_or_else(|| {
            let image = match cells.sampling {
                Sampling::Crisp => Image::from_rgba8(cells.rgba.to_vec(), cells.size[0], cells.size[1]),
                Sampling::Smooth => Smooth::image(cells),
            };
            self.pictures.push((key, image.clone()));
            image
        });
        surface.push_transform(&kg::Transform::from_translate(cells.rect.left(), cells.rect.top()));
        surface.draw_image(image, size);
        surface.pop();
    }

    fn text(&self, surface: &mut Surface<'_>, text: &Text) -> Result<(), WriteError> {
        let (sin, cos) = text.angle.sin_cos();
        surface.push_transform(&kg::Transform::from_row(cos, sin, -sin, cos, text.at.x, text.at.y));
        // Neither fill nor stroke would mean black.
        surface.set_fill(Some(paint(text.color)));
        let mut pen = 0.0;
        for run in &text.runs {
            let Some(Some(font)) = self.fonts.get(run.face).cloned() else {
                surface.pop();
                let name = self.figure.faces.get(run.face).map_or("?", |face| face.name());
                return Err(WriteError::Font(name.to_owned()));
            };
            let start = pen;
            let glyphs = embedded(run, text.size, &mut pen);
            surface.draw_glyphs(kg::Point::from_xy(start, 0.0), &glyphs, font, &text.text, text.size, false);
        }
        surface.pop();
        Ok(())
    }
}

/// Glyphs in em, offsets relative to the pen. Each has its cluster's bytes, from which text is extracted.
fn embedded(run: &GlyphRun, size: f32, pen: &mut f32) -> Vec<KrillaGlyph> {
    let glyph = |glyph: &crate::figure::list::Glyph| {
        let offset = glyph.x - *pen;
        *pen += glyph.advance;
        let id = GlyphId::new(glyph.id);
        KrillaGlyph::new(id, glyph.advance / size, offset / size, -glyph.y / size, 0.0, glyph.text.clone(), None)
    };
    run.glyphs.iter().map(glyph).collect()
}

fn fill(surface: &mut Surface<'_>, path: &Path, color: Rgba) {
    if let Some(path) = pdf_path(path) {
        surface.set_fill(Some(paint(color)));
        surface.draw_path(&path);
    }
}

/// A picture between whose pixels viewers interpolate.
#[derive(Clone, Hash)]
struct Smooth {
    size: (u32, u32),
    rgb: Arc<Vec<u8>>,
    /// `None` when every pixel is opaque.
    alpha: Option<Arc<Vec<u8>>>,
}

impl Smooth {
    fn image(cells: &Cells) -> Image {
        let pixels = || cells.rgba.chunks_exact(4);
        let alpha = pixels().any(|p| p[3] < 255).then(|| Arc::new(pixels().map(|p| p[3]).collect()));
        let rgb = Arc::new(pixels().flat_map(|p| [p[0], p[1], p[2]]).collect());
        let smooth = Self { size: (cells.size[0], cells.size[1]), rgb, alpha };
        // Only formats that this one is not can be refused.
        Image::from_custom(smooth, true)
            .unwrap_or_else(|_| Image::from_rgba8(cells.rgba.to_vec(), cells.size[0], cells.size[1]))
    }
}

impl CustomImage for Smooth {
    fn color_channel(&self) -> &[u8] {
        &self.rgb
    }

    fn alpha_channel(&self) -> Option<&[u8]> {
        self.alpha.as_ref().map(|alpha| alpha.as_slice())
    }

    fn bits_per_component(&self) -> BitsPerComponent {
        BitsPerComponent::Eight
    }

    fn size(&self) -> (u32, u32) {
        self.size
    }

    fn icc_profile(&self) -> Option<&[u8]> {
        None
    }

    fn color_space(&self) -> ImageColorspace {
        ImageColorspace::Rgb
    }
}

/// A line stays a line, so that other programs can still change its width.
fn stroke(surface: &mut Surface<'_>, line: &Line) {
    let mut builder = kg::PathBuilder::new();
    builder.move_to(line.from.x, line.from.y);
    builder.line_to(line.to.x, line.to.y);
    if let Some(path) = builder.finish() {
        let Fill { paint, opacity, .. } = paint(line.color);
        surface.set_stroke(Some(Stroke { paint, opacity, width: line.width, ..Stroke::default() }));
        surface.draw_path(&path);
    }
}

fn paint([red, green, blue, alpha]: Rgba) -> Fill {
    let opacity = NormalizedF32::new(f32::from(alpha) / 255.0).unwrap_or(NormalizedF32::ONE);
    Fill { paint: rgb::Color::new(red, green, blue).into(), opacity, rule: FillRule::NonZero }
}

/// `None` for a path without an area.
fn pdf_path(path: &Path) -> Option<kg::Path> {
    let mut builder = kg::PathBuilder::new();
    for segment in path.segments() {
        match *segment {
            PathStep::Move(to) => builder.move_to(to.x, to.y),
            PathStep::Line(to) => builder.line_to(to.x, to.y),
            PathStep::Cubic(a, b, to) => builder.cubic_to(a.x, a.y, b.x, b.y, to.x, to.y),
            PathStep::Close => builder.close(),
        }
    }
    builder.finish()
}
