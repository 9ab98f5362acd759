//! PNG: the figure in pixels, at any scale.

use std::{
    io::{self, Write as _},
    ops::Range,
    sync::Arc,
};

use vello_cpu::{
    Glyph, Image, ImageSource, Pixmap, RasterizerSettings, RenderContext, RenderMode, Resources,
    color::{AlphaColor, PremulRgba8, Rgba8, Srgb},
    kurbo::{Affine, Shape as _},
    peniko::{Extend, ImageQuality, ImageSampler},
};

use super::{WriteError, glyphs};
use crate::{
    capture::RgbaBuffer,
    figure::list::{Cells, Figure, Item, Rgba, Sampling, Text},
};

/// Longest side in pixels: the painter counts them in 16 bits, rounded up to whole tiles.
pub const MAX_SIDE: u32 = 65_000;
/// Most pixels: a quarter of a gigabyte while they are drawn.
pub const MAX_PIXELS: u64 = 64_000_000;
/// Rows that are painted at a time. What the painter keeps of a million lines is many times the picture itself.
const BAND: u16 = 1024;
/// Inches of a point and metres of an inch.
const POINTS_PER_METRE: f64 = 72.0 / 0.0254;

/// How a figure becomes pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PixelOptions {
    /// Pixels per point.
    pub scale: f32,
    /// Whether level text is fitted to the pixel grid, as on screen. From two pixels to the point it only moves text.
    pub hinted: bool,
}

impl Default for PixelOptions {
    fn default() -> Self {
        Self::at(2.0)
    }
}

impl PixelOptions {
    /// At `scale` pixels per point, hinted where pixels are large.
    pub fn at(scale: f32) -> Self {
        Self { scale, hinted: scale < 1.5 }
    }
}

/// The figure as a PNG file, with its size in print and where it came from.
///
/// # Errors
/// No area, or more than [`MAX_SIDE`] or [`MAX_PIXELS`].
pub fn png(figure: &Figure, options: PixelOptions) -> Result<Vec<u8>, WriteError> {
    let picture = pixels(figure, options)?;
    let dots = (f64::from(options.scale) * POINTS_PER_METRE).round() as u32;
    let dimensions = png::PixelDimensions { xppu: dots, yppu: dots, unit: png::Unit::Meter };
    let mut texts = vec![("Software", concat!("AttnScope ", env!("CARGO_PKG_VERSION")))];
    texts.push(("Title", &figure.title));
    texts.push(("Description", &figure.provenance));
    let bytes = encode(&picture, Some(dimensions), &texts);
    // Writing to memory fails only when the texts or the size are invalid, which both were checked.
    bytes.map_err(|_| WriteError::NoArea { width: figure.size.x, height: figure.size.y })
}

/// The figure in pixels, straight RGBA.
///
/// # Errors
/// No area, or more than [`MAX_SIDE`] or [`MAX_PIXELS`].
pub fn pixels(figure: &Figure, options: PixelOptions) -> Result<RgbaBuffer, WriteError> {
    let scale = f64::from(options.scale);
    let [width, height] = [figure.size.x, figure.size.y].map(|side| (f64::from(side) * scale).round());
    if !(width >= 1.0 && height >= 1.0) {
        return Err(WriteError::NoArea { width: figure.size.x, height: figure.size.y });
    }
    if width.max(height) > f64::from(MAX_SIDE) || width * height > MAX_PIXELS as f64 {
        return Err(WriteError::TooManyPixels { width, height });
    }
    let (w, h) = (width as u16, height as u16);
    let mut resources = Resources::new();
    let mut pixels = Vec::with_capacity(4 * usize::from(w) * usize::from(h));
    for top in (0..h).step_by(usize::from(BAND)) {
        let band = band(figure, options, top, (w, BAND.min(h - top)), &mut resources);
        pixels.extend(band.iter().flat_map(|p| [p.r, p.g, p.b, p.a]));
    }
    Ok(RgbaBuffer { width: usize::from(w), height: usize::from(h), pixels })
}

/// `w × h` pixels of the figure from row `top` on.
fn band(figure: &Figure, options: PixelOptions, top: u16, (w, h): (u16, u16), resources: &mut Resources) -> Vec<Rgba8> {
    let scale = f64::from(options.scale);
    let rows = f64::from(top) / scale..f64::from(top + h) / scale;
    let context = RenderContext::new(w, h);
    let mut painter = Painter { context, resources, figure, hinted: options.hinted, rows };
    painter.items(&figure.items, Affine::translate((0.0, -f64::from(top))) * Affine::scale(scale));
    painter.context.flush();
    let mut target = Pixmap::new(w, h);
    // Thousands of faint lines on top of each other would add up the rounding errors of whole bytes.
    let settings = RasterizerSettings { render_mode: RenderMode::OptimizeQuality, ..RasterizerSettings::default() };
    painter.context.render_with(&mut target, painter.resources, settings);
    target.take_unpremultiplied()
}

/// Bytes of a PNG file.
pub(super) fn encode(
    picture: &RgbaBuffer,
    dimensions: Option<png::PixelDimensions>,
    texts: &[(&str, &str)],
) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut encoder = png::Encoder::new(&mut out, picture.width as u32, picture.height as u32);
    let opaque = picture.pixels.chunks_exact(4).all(|pixel| pixel[3] == 255);
    encoder.set_color(if opaque { png::ColorType::Rgb } else { png::ColorType::Rgba });
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Fast);
    encoder.set_pixel_dims(dimensions);
    for (keyword, text) in texts {
        encoder.add_itxt_chunk((*keyword).to_owned(), text.replace('\0', ""))?;
    }
    let mut writer = encoder.write_header()?;
    let mut stream = writer.stream_writer_with_size(1 << 16)?;
    for row in picture.pixels.chunks_exact(4 * picture.width) {
        if opaque {
            let rgb: Vec<u8> = row.chunks_exact(4).flat_map(|p| [p[0], p[1], p[2]]).collect();
            stream.write_all(&rgb)?;
        } else {
            stream.write_all(row)?;
        }
    }
    stream.finish()?;
    writer.finish()?;
    Ok(out)
}

struct Painter<'a> {
    context: RenderContext,
    resources: &'a mut Resources,
    figure: &'a Figure,
    hinted: bool,
    /// What is seen of the figure from its top, in points.
    rows: Range<f64>,
}

impl Painter<'_> {
    /// Whether anything between two heights, or as far beyond, is on the rows that are painted.
    fn sees(&self, [from, to]: [f32; 2], beyond: f32) -> bool {
        let (top, bottom) = (f64::from(from.min(to) - beyond), f64::from(from.max(to) + beyond));
        bottom >= self.rows.start && top <= self.rows.end
    }

    fn items(&mut self, items: &[Item], base: Affine) {
        for item in items {
            self.context.set_transform(base);
            match item {
                Item::Fill(path, fill) if path.rows().is_some_and(|rows| self.sees(rows, 0.0)) => {
                    self.context.set_paint(color(*fill));
                    self.context.fill_path(&glyphs::bez_path(path));
                }
                Item::Lines(lines) => {
                    for line in lines.iter() {
                        if self.sees([line.from.y, line.to.y], line.width) {
                            self.context.set_paint(color(line.color));
                            self.context.fill_path(&glyphs::bez_path(&line.outline()));
                        }
                    }
                }
                Item::Clip(rect, inner) if self.sees([rect.top(), rect.bottom()], 0.0) => {
                    self.context.push_clip_path(&glyphs::kurbo_rect(*rect).to_path(0.1));
                    self.items(inner, base);
                    self.context.set_transform(base);
                    self.context.pop_clip_path();
                }
                Item::Cells(cells) if self.sees([cells.rect.top(), cells.rect.bottom()], 0.0) => self.cells(cells),
                Item::Text(text) => {
                    let end = text.at.y + text.width * text.angle.sin();
                    // Glyphs may be higher than their font says, those of symbols above all, and marks may be stacked.
                    let glyphs = text.runs.iter().flat_map(|run| &run.glyphs);
                    let stacked = glyphs.map(|glyph| glyph.y.abs()).fold(0.0, f32::max);
                    if self.sees([text.at.y, end], 3.0 * text.size + stacked) {
                        self.text(text, base);
                    }
                }
                Item::Fill(..) | Item::Clip(..) | Item::Cells(_) => {}
            }
        }
    }

    fn cells(&mut self, cells: &Cells) {
        let [width, height] = cells.size;
        let (Ok(w), Ok(h)) = (u16::try_from(width), u16::try_from(height)) else { return };
        let rect = glyphs::kurbo_rect(cells.rect);
        let premultiplied = cells.rgba.chunks_exact(4).map(|p| {
            let by_alpha = |v: u8| ((u32::from(v) * u32::from(p[3]) + 127) / 255) as u8;
            PremulRgba8 { r: by_alpha(p[0]), g: by_alpha(p[1]), b: by_alpha(p[2]), a: p[3] }
        });
        let pixmap = Pixmap::from_parts(premultiplied.collect(), w, h);
        let quality = match cells.sampling {
            Sampling::Crisp => ImageQuality::Low,
            Sampling::Smooth => ImageQuality::Medium,
        };
        let sampler = ImageSampler { quality, x_extend: Extend::Pad, y_extend: Extend::Pad, ..ImageSampler::default() };
        self.context.set_paint(Image { image: ImageSource::Pixmap(Arc::new(pixmap)), sampler });
        let stretch = Affine::scale_non_uniform(rect.width() / f64::from(width), rect.height() / f64::from(height));
        self.context.set_paint_transform(Affine::translate(rect.origin().to_vec2()) * stretch);
        self.context.fill_rect(&rect);
        self.context.reset_paint_transform();
    }

    fn text(&mut self, text: &Text, base: Affine) {
        for run in &text.runs {
            let Some(face) = self.figure.faces.get(run.face) else { continue };
            let font = glyphs::font_data(face);
            self.context.set_transform(base * glyphs::placement(text));
            self.context.set_paint(color(text.color));
            let glyphs = run.glyphs.iter().map(|glyph| Glyph { id: glyph.id, x: glyph.x, y: glyph.y });
            // One call draws outlines and colour glyphs; hinting drops out by itself where text is turned.
            self.context.glyph_run(self.resources, &font).font_size(text.size).hint(self.hinted).fill_glyphs(glyphs);
        }
    }
}

fn color([red, green, blue, alpha]: Rgba) -> AlphaColor<Srgb> {
    AlphaColor::from_rgba8(red, green, blue, alpha)
}
