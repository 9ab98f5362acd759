//! SVG: outlines that look alike in every program, under the same text for selecting and searching.

use std::{
    collections::BTreeMap,
    fmt::{self, Write as _},
    sync::Arc,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::{
    glyphs::{self, Ink},
    pixels,
};
use crate::{
    capture::RgbaBuffer,
    figure::{
        font::Face,
        list::{Cells, Figure, Item, Line, Rgba, Sampling, Text},
        path::{Path, PathStep},
    },
};

/// Crisp pictures are enlarged by at most this factor, because librsvg smooths small ones whatever the file
/// says, and to at most this many pixels a side.
const ENLARGED: (u32, u32) = (8, 4096);

/// How text is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum SvgText {
    /// Outlines, and over them the text itself, transparent: it can be selected, searched and read aloud.
    #[default]
    Overlay,
    Paths,
}

/// The figure as an SVG file. The same figure gives the same bytes.
pub fn svg(figure: &Figure, text: SvgText) -> String {
    let mut writer = Writer { figure, text, ..Writer::new(figure) };
    writer.items(&figure.items);
    let Writer { body, defs, .. } = writer;
    let [width, height] = [figure.size.x, figure.size.y].map(Num);
    let mut out = String::with_capacity(body.len() + defs.len() + 1024);
    put(
        &mut out,
        format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\" width=\"{width}pt\" \
             height=\"{height}pt\" viewBox=\"0 0 {width} {height}\" role=\"img\">\n<title>{}</title>\n<metadata>{}</metadata>\n",
            Escaped(&figure.title),
            Escaped(&figure.provenance),
        ),
    );
    if !defs.is_empty() {
        put(&mut out, format_args!("<defs>\n{defs}</defs>\n"));
    }
    out.push_str(&body);
    out.push_str("</svg>\n");
    out
}

struct Writer<'a> {
    figure: &'a Figure,
    text: SvgText,
    body: String,
    defs: String,
    n_clips: usize,
    glyphs: BTreeMap<(usize, u32), GlyphForm>,
    /// Pictures by where their pixels are, so that one that is drawn twice is stored once.
    pictures: Vec<Arc<[u8]>>,
}

/// How a glyph in `<defs>` is drawn.
#[derive(Clone, Copy, PartialEq)]
enum GlyphForm {
    Nothing,
    Outline,
    /// A picture whose sides are [`glyphs::COLOR_EM`] em.
    Picture,
}

impl<'a> Writer<'a> {
    fn new(figure: &'a Figure) -> Self {
        Self {
            figure,
            text: SvgText::Overlay,
            body: String::new(),
            defs: String::new(),
            n_clips: 0,
            glyphs: BTreeMap::new(),
            pictures: Vec::new(),
        }
    }

    fn items(&mut self, items: &[Item]) {
        for item in items {
            match item {
                Item::Fill(path, color) => {
                    put(&mut self.body, format_args!("<path d=\"{}\"{}/>\n", Data(path), Paint("fill", *color)));
                }
                Item::Lines(lines) => self.lines(lines),
                Item::Clip(rect, inner) => {
                    self.n_clips += 1;
                    let id = self.n_clips;
                    let clip = Path::rect(*rect);
                    put(
                        &mut self.defs,
                        format_args!("<clipPath id=\"c{id}\"><path d=\"{}\"/></clipPath>\n", Data(&clip)),
                    );
                    put(&mut self.body, format_args!("<g clip-path=\"url(#c{id})\">\n"));
                    self.items(inner);
                    self.body.push_str("</g>\n");
                }
                Item::Cells(cells) => self.cells(cells),
                Item::Text(text) => self.text(text),
            }
        }
    }

    fn lines(&mut self, lines: &[Line]) {
        self.body.push_str("<g fill=\"none\">\n");
        for line in lines {
            let Line { from, to, width, color } = *line;
            let [x0, y0, x1, y1] = [from.x, from.y, to.x, to.y].map(Num);
            let width = Fine(width);
            put(
                &mut self.body,
                format_args!("<path d=\"M{x0} {y0}L{x1} {y1}\" stroke-width=\"{width}\"{}/>\n", Paint("stroke", color)),
            );
        }
        self.body.push_str("</g>\n");
    }

    fn cells(&mut self, cells: &Cells) {
        let known = self.pictures.iter().position(|known| Arc::ptr_eq(known, &cells.rgba));
        let id = known.unwrap_or(self.pictures.len());
        if known.is_none() {
            self.pictures.push(Arc::clone(&cells.rgba));
            let picture = match cells.sampling {
                Sampling::Crisp => enlarged(cells),
                Sampling::Smooth => RgbaBuffer {
                    width: cells.size[0] as usize,
                    height: cells.size[1] as usize,
                    pixels: cells.rgba.to_vec(),
                },
            };
            let rendering = match cells.sampling {
                Sampling::Crisp => " image-rendering=\"optimizeSpeed\" style=\"image-rendering:pixelated\"",
                Sampling::Smooth => "",
            };
            let (width, height) = (picture.width, picture.height);
            put(
                &mut self.defs,
                format_args!(
                    "<image id=\"p{id}\" width=\"{width}\" height=\"{height}\" preserveAspectRatio=\"none\"{rendering} \
                     xlink:href=\"{}\"/>\n",
                    png_url(&picture)
                ),
            );
        }
        // The stored picture has one unit per pixel.
        let factor = if cells.sampling == Sampling::Crisp { factor(cells.size) } else { 1 };
        let scale = |side: f32, n: u32| Precise(f64::from(side) / f64::from((n * factor).max(1)));
        let (x, y) = (scale(cells.rect.width(), cells.size[0]), scale(cells.rect.height(), cells.size[1]));
        let [left, top] = [cells.rect.left(), cells.rect.top()].map(Num);
        put(
            &mut self.body,
            format_args!("<use xlink:href=\"#p{id}\" transform=\"translate({left} {top}) scale({x} {y})\"/>\n"),
        );
    }

    fn text(&mut self, text: &Text) {
        let (sin, cos) = f64::from(text.angle).sin_cos();
        let [x, y] = [text.at.x, text.at.y].map(Num);
        let place = if text.angle == 0.0 {
            format!("translate({x} {y})")
        } else {
            format!("matrix({} {} {} {} {x} {y})", Precise(cos), Precise(sin), Precise(-sin), Precise(cos))
        };
        put(&mut self.body, format_args!("<g transform=\"{place}\"{}>\n", Paint("fill", text.color)));
        for run in &text.runs {
            let Some(face) = self.figure.faces.get(run.face) else { continue };
            for glyph in &run.glyphs {
                let units = match self.define(run.face, face, glyph.id) {
                    GlyphForm::Nothing => continue,
                    GlyphForm::Outline => face.units_per_em(),
                    GlyphForm::Picture => glyphs::COLOR_PX,
                };
                let scale = Precise(f64::from(text.size) / f64::from(units));
                let [x, y] = [glyph.x, glyph.y].map(Num);
                put(
                    &mut self.body,
                    format_args!(
                        "<use xlink:href=\"#g{}-{}\" transform=\"translate({x} {y}) scale({scale})\"/>\n",
                        run.face, glyph.id
                    ),
                );
            }
        }
        if self.text == SvgText::Overlay && !text.text.is_empty() {
            self.overlay(text);
        }
        self.body.push_str("</g>\n");
    }

    /// The text itself, as wide as its outlines. Not `fill="none"`, which cannot be selected.
    fn overlay(&mut self, text: &Text) {
        // Text that begins from right to left starts at its right end.
        let direction =
            if text.right_to_left { format!(" direction=\"rtl\" x=\"{}\"", Num(text.width)) } else { String::new() };
        put(
            &mut self.body,
            format_args!(
                "<text xml:space=\"preserve\" font-family=\"sans-serif\" font-size=\"{}\" fill-opacity=\"0\" \
                 textLength=\"{}\" lengthAdjust=\"spacingAndGlyphs\"{direction}>{}</text>\n",
                Num(text.size),
                Num(text.width),
                Escaped(&text.text)
            ),
        );
    }

    /// Puts a glyph into `<defs>`, once.
    fn define(&mut self, face_idx: usize, face: &Face, id: u32) -> GlyphForm {
        if let Some(known) = self.glyphs.get(&(face_idx, id)) {
            return *known;
        }
        let drawn = match glyphs::ink(face, id) {
            Ink::None => GlyphForm::Nothing,
            Ink::Outline(outline) => {
                put(&mut self.defs, format_args!("<path id=\"g{face_idx}-{id}\" d=\"{}\"/>\n", outline.to_svg()));
                GlyphForm::Outline
            }
            Ink::Color => {
                let (side, pixels) = glyphs::color_pixels(face, id);
                let [x, y] = [1.0, 2.0].map(|em| -em * glyphs::COLOR_PX);
                let url = png_url(&RgbaBuffer { width: side as usize, height: side as usize, pixels });
                put(
                    &mut self.defs,
                    format_args!(
                        "<image id=\"g{face_idx}-{id}\" x=\"{x}\" y=\"{y}\" width=\"{side}\" height=\"{side}\" \
                         xlink:href=\"{url}\"/>\n"
                    ),
                );
                GlyphForm::Picture
            }
        };
        self.glyphs.insert((face_idx, id), drawn);
        drawn
    }
}

/// How many pixels a side of a crisp cell gets.
fn factor([width, height]: [u32; 2]) -> u32 {
    (ENLARGED.1 / width.max(height).max(1)).clamp(1, ENLARGED.0)
}

fn enlarged(cells: &Cells) -> RgbaBuffer {
    let [width, height] = cells.size.map(|side| side as usize);
    let k = factor(cells.size) as usize;
    let mut pixels = Vec::with_capacity(4 * width * height * k * k);
    for row in cells.rgba.chunks_exact((4 * width).max(1)) {
        let line: Vec<u8> = row.chunks_exact(4).flat_map(|pixel| pixel.repeat(k)).collect();
        pixels.extend(line.repeat(k));
    }
    RgbaBuffer { width: width * k, height: height * k, pixels }
}

fn png_url(picture: &RgbaBuffer) -> String {
    // Pixels that do not fill their size give an empty picture.
    let bytes = pixels::encode(picture, None, &[]).unwrap_or_default();
    format!("data:image/png;base64,{}", STANDARD.encode(bytes))
}

fn put(out: &mut String, arguments: fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    out.write_fmt(arguments).ok();
}

/// Hundredths of a point.
struct Num(f32);

impl fmt::Display for Num {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        short(f, &format!("{:.2}", self.0))
    }
}

/// Thousandths, for widths of thin lines and opacities.
struct Fine(f32);

impl fmt::Display for Fine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        short(f, &format!("{:.3}", self.0))
    }
}

/// Factors that are multiplied by large numbers.
struct Precise(f64);

impl fmt::Display for Precise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        short(f, &format!("{:.7}", self.0))
    }
}

/// Without the zeros that say nothing.
fn short(f: &mut fmt::Formatter<'_>, number: &str) -> fmt::Result {
    let number = number.trim_end_matches('0').trim_end_matches('.');
    match number {
        "-0" | "" => f.write_str("0"),
        _ => match number.strip_prefix("0.") {
            Some(rest) => write!(f, ".{rest}"),
            None => match number.strip_prefix("-0.") {
                Some(rest) => write!(f, "-.{rest}"),
                None => f.write_str(number),
            },
        },
    }
}

/// A colour as the attributes `fill` or `stroke`.
struct Paint(&'static str, Rgba);

impl fmt::Display for Paint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(name, [red, green, blue, alpha]) = *self;
        write!(f, " {name}=\"#{red:02x}{green:02x}{blue:02x}\"")?;
        if alpha == 255 { Ok(()) } else { write!(f, " {name}-opacity=\"{}\"", Fine(f32::from(alpha) / 255.0)) }
    }
}

/// An outline as the attribute `d`.
struct Data<'a>(&'a Path);

impl fmt::Display for Data<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let xy = |at: emath::Pos2| (Num(at.x), Num(at.y));
        for segment in self.0.segments() {
            match *segment {
                PathStep::Move(to) => write!(f, "M{} {}", xy(to).0, xy(to).1)?,
                PathStep::Line(to) => write!(f, "L{} {}", xy(to).0, xy(to).1)?,
                PathStep::Cubic(a, b, to) => {
                    let [(ax, ay), (bx, by), (x, y)] = [a, b, to].map(xy);
                    write!(f, "C{ax} {ay} {bx} {by} {x} {y}")?;
                }
                PathStep::Close => f.write_str("Z")?,
            }
        }
        Ok(())
    }
}

/// Text inside an element. Characters that XML does not allow are left out.
struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '\n' | '\t' => f.write_char(c)?,
                '\u{fffe}' | '\u{ffff}' => {}
                c if c.is_control() => {}
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}
