//! Pen of the views: items are appended, text is measured and cut.

use std::sync::Arc;

use emath::{Pos2, Rect, vec2};

use super::{
    font::{Align, Typesetter},
    list::{Cells, Item, Line, Rgba, Sampling},
    measure::{BAR_PT, GRID, text_size::SMALL},
    palette::Palette,
    path::Path,
};
use crate::{capture::RgbaBuffer, raster::ColorRange, text::tick_text};

/// What a scene is drawn for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium {
    /// A file.
    Paper,
    /// The window, where points are larger.
    Screen,
}

/// Collects items, in points of the window.
pub struct Pen<'a> {
    /// Measures and shapes text.
    pub type_: &'a mut Typesetter,
    pub palette: Palette,
    pub medium: Medium,
    /// What was drawn so far, from back to front.
    pub items: Vec<Item>,
    /// The part of it that anybody will see; long pieces leave out what lies beyond.
    pub seen: Rect,
}

impl<'a> Pen<'a> {
    /// Nothing drawn yet.
    pub const fn new(type_: &'a mut Typesetter, palette: Palette) -> Self {
        Self { type_, palette, medium: Medium::Paper, items: Vec::new(), seen: Rect::EVERYTHING }
    }

    /// Width of thin lines.
    pub const fn hairline(&self) -> f32 {
        match self.medium {
            Medium::Paper => 0.75,
            Medium::Screen => 1.0,
        }
    }

    /// Whether anybody sees what is in a rectangle.
    pub fn sees(&self, rect: Rect) -> bool {
        self.seen.intersects(rect)
    }

    /// Fills an outline.
    pub fn fill(&mut self, path: Path, color: Rgba) {
        self.items.push(Item::Fill(path, color));
    }

    /// Fills a rectangle.
    pub fn rect(&mut self, rect: Rect, color: Rgba) {
        self.fill(Path::rect(rect), color);
    }

    /// Draws the edge of a rectangle, outside it.
    pub fn frame(&mut self, rect: Rect, width: f32, color: Rgba) {
        self.fill(Path::frame(rect.expand(width), width), color);
    }

    /// Draws lines.
    pub fn lines(&mut self, lines: Vec<Line>) {
        if !lines.is_empty() {
            self.items.push(Item::Lines(lines.into()));
        }
    }

    /// Draws one line.
    pub fn line(&mut self, from: Pos2, to: Pos2, width: f32, color: Rgba) {
        self.lines(vec![Line { from, to, width, color }]);
    }

    /// One line of text whose aligned end and vertical middle are at `at`; returns its width.
    pub fn text(&mut self, text: &str, size: f32, color: Rgba, at: Pos2, align: Align) -> f32 {
        let text = self.type_.text(text, size, color, at, align);
        let width = text.width;
        self.items.push(Item::Text(text));
        width
    }

    /// The same, turned by `angle` about `at`.
    pub fn turned(&mut self, text: &str, size: f32, color: Rgba, at: Pos2, align: Align, angle: f32) {
        let text = self.type_.turned(text, size, color, at, align, angle);
        self.items.push(Item::Text(text));
    }

    /// A picture over `rect`.
    pub fn picture(&mut self, rect: Rect, picture: &RgbaBuffer, sampling: Sampling) {
        let size = [picture.width as u32, picture.height as u32];
        if size.contains(&0) {
            return;
        }
        let rgba: Arc<[u8]> = picture.pixels.as_slice().into();
        self.items.push(Item::Cells(Cells { rect, size, rgba, sampling }));
    }

    /// What `draw` draws, as far as it lies in `rect`.
    pub fn clip(&mut self, rect: Rect, draw: impl FnOnce(&mut Self)) {
        let outside = std::mem::take(&mut self.items);
        draw(self);
        let inside = std::mem::replace(&mut self.items, outside);
        self.items.push(Item::Clip(rect, inside));
    }

    /// The width of the widest text.
    pub fn widest<'t>(&mut self, texts: impl IntoIterator<Item = &'t str>, size: f32) -> f32 {
        texts.into_iter().map(|text| self.type_.width(text, size)).fold(0.0, f32::max)
    }

    /// A bar of colours, the first at the left.
    pub fn colors(&mut self, bar: Rect, colors: &[Rgba]) {
        let pixels = colors.iter().flatten().copied().collect();
        self.picture(bar, &RgbaBuffer { width: colors.len(), height: 1, pixels }, Sampling::Crisp);
    }

    /// A vertical colour bar at the left of `rect`, low at the bottom, with three numbers.
    pub fn color_bar(&mut self, rect: Rect, color: impl Fn(f32) -> Rgba, tick: impl Fn(f32) -> String) {
        let bar = Rect::from_min_size(rect.min, vec2(BAR_PT, rect.height()));
        let pixels = (0..256).rev().flat_map(|step| color(step as f32 / 255.0)).collect();
        self.picture(bar, &RgbaBuffer { width: 1, height: 256, pixels }, Sampling::Crisp);
        self.frame(bar, self.hairline(), self.palette.rule);
        let half = self.type_.height(SMALL) / 2.0;
        // The outer numbers stay beside the bar.
        for (fraction, nudge) in [(0.0, -half + 1.0), (0.5, 0.0), (1.0, half - 1.0)] {
            let at = Pos2::new(bar.right() + 1.5 * GRID, bar.bottom() - fraction * bar.height() + nudge);
            self.text(&tick(fraction), SMALL, self.palette.text_weak, at, Align::Left);
        }
    }

    /// Text over several lines from `at` (left, top), broken at spaces; returns the height.
    pub fn paragraph(&mut self, text: &str, size: f32, color: Rgba, at: Pos2, width: f32) -> f32 {
        let height = self.type_.height(size) * 1.15;
        let lines = self.broken(text, size, width);
        for (row, line) in lines.iter().enumerate() {
            let middle = Pos2::new(at.x, at.y + (row as f32 + 0.5) * height);
            self.text(line, size, color, middle, Align::Left);
        }
        lines.len() as f32 * height
    }

    /// Height of [`Self::paragraph`].
    pub fn paragraph_height(&mut self, text: &str, size: f32, width: f32) -> f32 {
        self.broken(text, size, width).len() as f32 * self.type_.height(size) * 1.15
    }

    /// A text broken at spaces into lines that are no wider than `width`; longer words are cut.
    pub fn broken(&mut self, text: &str, size: f32, width: f32) -> Vec<String> {
        let mut lines: Vec<String> = Vec::new();
        for word in text.split_whitespace() {
            let longer = lines.last().map(|line| format!("{line} {word}"));
            match longer.filter(|longer| self.type_.width(longer, size) <= width) {
                Some(longer) => {
                    lines.pop();
                    lines.push(longer);
                }
                None => lines.push(self.type_.fit(word, size, width).into_owned()),
            }
        }
        lines
    }
}

/// The numbers of a range.
pub fn range_tick(range: ColorRange) -> impl Fn(f32) -> String {
    move |fraction| tick_text(range.value(fraction))
}
