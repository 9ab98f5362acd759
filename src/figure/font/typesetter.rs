//! One line of text: bidirectional order, a face for every cluster, shaping, widths.

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashMap},
    ops::Range,
};

use emath::{Pos2, Vec2};
use harfrust::{Direction, ShapeOptions, ShaperData, UnicodeBuffer};
use unicode_bidi::BidiInfo;
use unicode_segmentation::UnicodeSegmentation as _;

use super::{
    face::Face,
    fallback::{FaceChoice, Fallback, FontSource},
};
use crate::figure::list::{Glyph, GlyphRun, Rgba, Text};

/// What stands for the rest of a text that was cut.
const ELLIPSIS: char = '…';
/// Widths are forgotten beyond so many texts: more than any input has tokens.
const MAX_WIDTHS: usize = 100_000;

/// Which point of a text stands at a given place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    Left,
    Center,
    Right,
}

/// The width of a text in em, as a painter has it that lays texts out itself.
type Measure = Box<dyn Fn(&str) -> f32 + Send + Sync>;

/// Lays out single lines of text. Remembers fonts and widths, so one is kept for all figures of a run.
pub struct Typesetter {
    fallback: Fallback,
    shapers: Vec<ShaperData>,
    /// In em; every size is a multiple, because nothing is hinted.
    widths: HashMap<String, f32>,
    measure: Option<Measure>,
    missing: BTreeSet<String>,
}

impl Typesetter {
    /// With the bundled fonts, and the system's where `source` says so.
    pub fn new(source: FontSource) -> Self {
        Self {
            fallback: Fallback::new(source),
            shapers: Vec::new(),
            widths: HashMap::new(),
            measure: None,
            missing: BTreeSet::new(),
        }
    }

    /// With the widths in em of a painter that lays texts out itself: it gets no glyphs.
    pub fn measured_by(measure: impl Fn(&str) -> f32 + Send + Sync + 'static) -> Self {
        Self { measure: Some(Box::new(measure)), ..Self::new(FontSource::Bundled) }
    }

    /// Every face that was needed so far; [`GlyphRun::face`] counts them.
    pub fn faces(&self) -> &[Face] {
        self.fallback.faces()
    }

    /// Clusters that no face has; boxes stand for them.
    pub fn missing(&self) -> impl Iterator<Item = &str> {
        self.missing.iter().map(String::as_str)
    }

    /// Width of `text` at `size`.
    pub fn width(&mut self, text: &str, size: f32) -> f32 {
        if let Some(em) = self.widths.get(text) {
            return em * size;
        }
        let em = match &self.measure {
            Some(measure) => measure(&printable(text)),
            None => self.line(text, 1.0, [0; 4]).width,
        };
        if self.widths.len() >= MAX_WIDTHS {
            self.widths.clear();
        }
        self.widths.insert(text.to_owned(), em);
        em * size
    }

    /// `text`, or as many whole clusters of its beginning as fit into `room` with an ellipsis.
    pub fn fit<'a>(&mut self, text: &'a str, size: f32, room: f32) -> Cow<'a, str> {
        if self.width(text, size) <= room {
            return Cow::Borrowed(text);
        }
        let cut = |end: usize| format!("{}{ELLIPSIS}", text[..end].trim_end());
        let ends: Vec<usize> = text.grapheme_indices(true).map(|(start, _)| start).collect();
        // Longer beginnings are wider, all but exactly: the first that is too wide is looked for by halving.
        let first_too_wide = ends.partition_point(|&end| self.width(&cut(end), size) <= room);
        let end = ends.get(first_too_wide.saturating_sub(1)).copied().unwrap_or(0);
        Cow::Owned(cut(end))
    }

    /// From the middle of a line down to its baseline: text placed with it stands as in the window.
    pub fn drop(&self, size: f32) -> f32 {
        let [ascent, descent, gap] = self.faces().first().map_or([0.8, -0.2, 0.0], Face::metrics);
        // The line's box starts at the ascent and ends a gap below the descent.
        (ascent + descent - gap) / 2.0 * size
    }

    /// Height of a line of `size`.
    pub fn height(&self, size: f32) -> f32 {
        let [ascent, descent, gap] = self.faces().first().map_or([0.8, -0.2, 0.0], Face::metrics);
        (ascent - descent + gap) * size
    }

    /// One line whose `align`ed point and vertical middle are at `at`.
    pub fn text(&mut self, text: &str, size: f32, color: Rgba, at: Pos2, align: Align) -> Text {
        self.turned(text, size, color, at, align, 0.0)
    }

    /// The same with a baseline of `angle` radians, clockwise; it turns about `at`.
    pub fn turned(&mut self, text: &str, size: f32, color: Rgba, at: Pos2, align: Align, angle: f32) -> Text {
        let mut line = match self.measure {
            Some(_) => Text {
                text: printable(text).into_owned(),
                size,
                width: self.width(text, size),
                color,
                ..Text::default()
            },
            None => self.line(text, size, color),
        };
        let along = match align {
            Align::Left => 0.0,
            Align::Center => -line.width / 2.0,
            Align::Right => -line.width,
        };
        let (x, y) = (Vec2::angled(angle), Vec2::angled(angle).rot90());
        // `rot90` turns clockwise where y grows downwards only once negated.
        line.at = at + x * along - y * self.drop(size);
        line.angle = angle;
        line
    }

    /// Shapes one line; its baseline starts at the origin.
    pub fn line(&mut self, text: &str, size: f32, color: Rgba) -> Text {
        let text = printable(text).into_owned();
        let bidi = BidiInfo::new(&text, None);
        let mut runs = Vec::new();
        let mut pen = 0.0;
        for paragraph in &bidi.paragraphs {
            let (levels, visual) = bidi.visual_runs(paragraph, paragraph.range.clone());
            for range in visual {
                let right_to_left = levels[range.start].is_rtl();
                let mut parts = self.parts(&text, range);
                if right_to_left {
                    parts.reverse();
                }
                for (face, part) in parts {
                    runs.extend(self.run(&text, part, face, right_to_left, size, &mut pen));
                }
            }
        }
        let right_to_left = bidi.paragraphs.first().is_some_and(|paragraph| paragraph.level.is_rtl());
        Text { text, size, width: pen, right_to_left, color, runs, ..Text::default() }
    }

    /// Divides a run of one direction into parts of one face each.
    fn parts(&mut self, text: &str, range: Range<usize>) -> Vec<(usize, Range<usize>)> {
        let mut parts: Vec<(usize, Range<usize>)> = Vec::new();
        for (offset, cluster) in text[range.clone()].grapheme_indices(true) {
            let start = range.start + offset;
            let end = start + cluster.len();
            let FaceChoice { face, complete } = self.fallback.choose(cluster);
            if !complete {
                self.missing.insert(cluster.to_owned());
            }
            match parts.last_mut() {
                Some((last, part)) if *last == face => part.end = end,
                _ => parts.push((face, start..end)),
            }
        }
        parts
    }

    fn run(
        &mut self,
        text: &str,
        part: Range<usize>,
        face: usize,
        right_to_left: bool,
        size: f32,
        pen: &mut f32,
    ) -> Option<GlyphRun> {
        while self.shapers.len() <= face {
            let font = self.fallback.faces().get(self.shapers.len())?.font()?;
            self.shapers.push(ShaperData::new(&font));
        }
        let known = self.fallback.faces().get(face)?;
        let font = known.font()?;
        let mut buffer = UnicodeBuffer::new();
        buffer.set_pre_context(&text[..part.start]);
        buffer.push_str(&text[part.clone()]);
        buffer.set_post_context(&text[part.end..]);
        buffer.set_direction(if right_to_left { Direction::RightToLeft } else { Direction::LeftToRight });
        // With the direction set, this guesses the script only.
        buffer.guess_segment_properties();
        let shaped = self.shapers.get(face)?.shaper(&font).build().shape(buffer, ShapeOptions::default());
        let mut starts: Vec<usize> = shaped.glyph_infos().iter().map(|info| info.cluster as usize).collect();
        starts.push(part.len());
        starts.sort_unstable();
        starts.dedup();
        let scale = size / known.units_per_em();
        let glyphs = shaped.glyph_infos().iter().zip(shaped.glyph_positions()).map(|(info, position)| {
            let start = info.cluster as usize;
            let end = starts[starts.partition_point(|&known| known <= start).min(starts.len() - 1)];
            let glyph = Glyph {
                id: info.glyph_id,
                x: *pen + position.x_offset as f32 * scale,
                y: -(position.y_offset as f32) * scale,
                advance: position.x_advance as f32 * scale,
                text: part.start + start..part.start + end,
            };
            *pen += glyph.advance;
            glyph
        });
        Some(GlyphRun { face, glyphs: glyphs.collect() })
    }
}

/// Characters that have no place on a line, or in an XML file, become the replacement character.
fn printable(text: &str) -> Cow<'_, str> {
    let unprintable = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{fffe}' | '\u{ffff}');
    if text.contains(unprintable) { Cow::Owned(text.replace(unprintable, "\u{fffd}")) } else { Cow::Borrowed(text) }
}
