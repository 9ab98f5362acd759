//! Attention of one token on the picture the model saw.

use std::sync::Arc;

use emath::{Pos2, Rect, pos2, vec2};

use self::{
    flows::{FlowFilter, Flows},
    layout::ImageLayout,
    stream::StreamColors,
    weights::{OverlayToken, PatchRole, Picks, of_patches},
};
use super::{joined, subject_text};
use crate::{
    analysis::reading::ReadPattern,
    capture::{ImageInfo, RgbaBuffer},
    figure::{
        font::Align,
        list::{Line, Rgba, Sampling, faded},
        measure::{BAR_AND_TICKS_PT, GRID, text_size::SMALL},
        page::{Captions, Scene},
        palette::Palette,
        pen::{Pen, range_tick},
        small::{Names, Scale, SmallMap},
    },
    raster::{ColorMap, ColorRange, Colors, overlay, reduce},
    text::{capitalised, norm_text, share_text, tick_text},
};

pub mod arrows;
pub mod boxes;
pub mod flows;
pub mod layout;
mod options;
mod spec;
pub mod stream;
pub mod weights;

pub use options::{ImageOptions, PatchColors, Smoothing, USUAL_OPACITY};
pub use spec::{SPEC, of_heads};

/// Opacity of the ground over the part of the picture that the model does not see.
const UNSEEN_OPACITY: f32 = 0.6;
/// Width of the frame of the picked patch.
pub const PICKED_PT: f32 = 2.0;
/// Pixels of a smooth overlay per patch.
pub const SMOOTH_PX_PER_PATCH: usize = 8;
/// Largest side of a smooth overlay.
pub const MAX_SMOOTH_PX: usize = 512;
/// From the middle of the cell of a token before the patches to that of its name, and of its number.
const NUMBER_APART_PT: f32 = 1.5 * GRID;
/// Largest side of the picture in a figure: 300 dots per inch over four and a half inches.
const MAX_PICTURE_PX: usize = 1400;
/// Larger side that suits a picture.
const PICTURE_PT: f32 = 360.0;

/// How weights become colours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OverlayLook {
    /// Colours of weights; differences have their own.
    pub map: ColorMap,
    /// What stands between the middles of two patches.
    pub sampling: Sampling,
    /// Of the largest value, `0..=1`; smaller ones have less.
    pub opacity: f32,
    /// Part of the mass whose patches are outlined.
    pub contour: Option<f32>,
}

impl Default for OverlayLook {
    fn default() -> Self {
        Self { map: ColorMap::default(), sampling: Sampling::Crisp, opacity: USUAL_OPACITY, contour: None }
    }
}

/// The Image view of one pattern.
#[derive(Clone, Debug)]
pub struct ImageScene {
    /// Where the weights come from.
    pub read: Arc<ReadPattern>,
    /// The value of the last colour, where several figures share a scale.
    pub high: Option<f32>,
    /// Whether the last colour of each of several figures is its own largest value, which its title says.
    pub is_relative: bool,
    /// The picture and its patches.
    pub image: ImageInfo,
    /// Names of the tokens of the picture, in order.
    pub names: Vec<String>,
    /// Whose token is picked.
    pub picks: Picks,
    /// Whether rows are named by what they write.
    pub writes: bool,
    /// What the overlay is about, and in which role.
    pub picked: (OverlayToken, PatchRole),
    /// The other end of a pair that is held: a token of the picture.
    pub partner: Option<usize>,
    /// How weights become colours.
    pub look: OverlayLook,
    /// Colours of the residual stream in place of weights.
    pub stream: Option<Arc<StreamColors>>,
    /// Arrows instead of the overlay, and the token whose arrows stand out.
    pub flows: Option<(FlowFilter, Option<(usize, PatchRole)>)>,
    pub subject: String,
}

impl ImageScene {
    /// One weight per token of the picture, or what stands in its place.
    pub fn weights(&self) -> Vec<f32> {
        if let Some(stream) = &self.stream {
            return stream.numbers();
        }
        let (subject, role) = self.picked;
        subject.weights(&self.read, role)
    }

    /// The values of the first and the last colour.
    fn range(&self, weights: &[f32]) -> ColorRange {
        let largest = || of_patches(weights, &self.image).iter().map(|weight| weight.abs()).fold(0.0, f32::max);
        ColorRange::up_to(self.high.unwrap_or_else(largest), self.is_signed(), false)
    }

    /// Whether the values of its colours may be below 0.
    fn is_signed(&self) -> bool {
        self.stream.is_none() && self.picked.0.is_signed(&self.read)
    }

    fn map(&self) -> ColorMap {
        match self.stream {
            Some(_) => ColorMap::Explained,
            None => self.picked.0.color_map(&self.read, self.look.map),
        }
    }

    /// Whether colours have a scale of numbers.
    fn has_scale(&self) -> bool {
        self.flows.is_none() && self.stream.as_ref().is_none_or(|stream| stream.has_scale())
    }

    fn colors(&self, palette: &Palette) -> Colors {
        self.map().on(palette.ground)
    }

    fn overlay(&self, weights: &[f32], (colors, range): (Colors, ColorRange)) -> RgbaBuffer {
        if let Some(pixels) = self.stream.as_ref().and_then(|stream| stream.pixels(&self.image, self.look.opacity)) {
            return pixels;
        }
        let size = boxes::size_px(&self.image, self.look.sampling == Sampling::Smooth);
        boxes::overlay(&of_patches(weights, &self.image), &self.image, size, (colors, range), self.look.opacity)
    }

    /// What stands beside the picture.
    fn sides(&self) -> f32 {
        let prefix = if self.image.n_prefix > 0 { layout::PREFIX_PT.x + layout::GAP_PT } else { 0.0 };
        prefix + layout::GAP_PT + BAR_AND_TICKS_PT
    }

    fn flow_captions(&self, filter: FlowFilter, held: Option<(usize, PatchRole)>) -> Captions {
        let names = &self.names[..self.image.n_prefix.min(self.names.len())];
        let flows = Flows::of(&self.read, &self.image, filter).in_words(&self.read, filter, names);
        let held = held.map_or_else(String::new, |(position, role)| {
            let name = self.names.get(position).map_or("", String::as_str);
            let leave = role == PatchRole::Query && position >= self.image.n_prefix;
            let of = if leave { "leave" } else { "end at" };
            format!("Arrows that {of} “{name}” are highlighted")
        });
        let hidden = capitalised(&self.read.hidden_text().unwrap_or_default());
        let short = joined([format!("{}: {flows}", capitalised(&self.subject)).as_str(), &held, &hidden]);
        let look = if self.read.signed {
            "Width and opacity grow with the size of the difference, colour shows its sign"
        } else {
            "Width and opacity grow with the weight"
        };
        let subject = format!("{}: {flows}", subject_text(&self.read, &self.subject));
        Captions { short, full: joined([subject.as_str(), look, &held, &hidden]) }
    }

    /// The picture, of at most so many pixels along a side, with the overlay.
    fn draw_picture(
        &self,
        layout: &ImageLayout,
        (weights, range): (&[f32], ColorRange),
        most: usize,
        pen: &mut Pen<'_>,
    ) {
        match &self.image.source {
            Some(source) => pen.picture(layout.picture, &reduce::at_most(source, most), Sampling::Smooth),
            None => pen.rect(layout.picture, pen.palette.raised),
        }
        if self.flows.is_none() {
            pen.picture(layout.crop, &self.overlay(weights, (self.colors(&pen.palette), range)), self.look.sampling);
        }
        draw_crop(layout, pen);
        if self.flows.is_none() {
            let part = self.look.contour.filter(|_| !self.is_signed() && self.stream.is_none());
            let outline = |part| boxes::contour(&of_patches(weights, &self.image), &self.image, part);
            draw_contour(layout.crop, self.image.grid, &part.map_or_else(Vec::new, outline), pen);
            stream::draw_rings(layout, self.stream.as_ref().map_or(&[], |stream| stream.ringed()), pen);
        }
    }

    /// Positions of regions, their names and numbers, the largest first.
    fn regions(&self, weights: &[f32]) -> Vec<(usize, String)> {
        let name = |position: usize| self.names.get(position).cloned().unwrap_or_default();
        let number = |value: &f32| if self.stream.is_some() { norm_text(*value) } else { self.read.value_text(*value) };
        let patches = if self.flows.is_some() { Vec::new() } else { of_patches(weights, &self.image) };
        boxes::named(&self.image, &patches, name, number)
    }

    /// What the overlay shows, in words.
    pub fn picked_text(&self) -> String {
        let (subject, role) = self.picked;
        subject.in_words(&self.read, role, self.writes)
    }
}

/// Veils what the model does not see of a picture, and frames the rest.
pub fn draw_crop(layout: &ImageLayout, pen: &mut Pen<'_>) {
    for part in layout.unseen() {
        pen.rect(part, faded(pen.palette.canvas, UNSEEN_OPACITY));
    }
    pen.frame(layout.crop, pen.hairline(), pen.palette.text_weak);
}

/// Outlines patches of a grid over `crop`: light on dark, so that it shows on any picture.
pub fn draw_contour(crop: Rect, (rows, cols): (usize, usize), segments: &[overlay::Segment], pen: &mut Pen<'_>) {
    let place =
        |[x, y]: [f32; 2]| -> Pos2 { crop.min + vec2(x / cols.max(1) as f32, y / rows.max(1) as f32) * crop.size() };
    for (width, color) in [(4.0, pen.palette.canvas), (1.75, pen.palette.text)] {
        let line = |segment: &overlay::Segment| {
            let (from, to) = (place(segment.from), place(segment.to));
            // Half a width beyond both ends, so that corners are closed.
            let beyond = (to - from).normalized() * (width / 2.0);
            Line { from: from - beyond, to: to + beyond, width, color }
        };
        pen.lines(segments.iter().map(line).collect());
    }
}

/// The square beside the name of a token before the patches.
pub fn swatch(layout: &ImageLayout, position: usize) -> Rect {
    let cell = layout.token_rect(position).shrink2(vec2(0.0, GRID / 2.0));
    Rect::from_min_max(cell.right_top() - vec2(cell.height(), 0.0), cell.right_bottom())
}

/// Names of the tokens before the patches with their numbers, where they have some, and the colour of each; without, the
/// squares that stand for them on patches.
pub fn draw_prefix(
    layout: &ImageLayout,
    (names, numbers): (&[String], &[String]),
    colors: Option<&[Rgba]>,
    pen: &mut Pen<'_>,
) {
    for (position, name) in names.iter().enumerate() {
        let swatch = swatch(layout, position);
        match colors {
            Some(colors) => pen.rect(swatch, colors.get(position).copied().unwrap_or(pen.palette.canvas)),
            None => pen.rect(arrows::square(swatch, position, names.len(), 1.0), pen.palette.text),
        }
        pen.frame(swatch, pen.hairline(), pen.palette.rule);
        let right = swatch.left() - GRID;
        let name = pen.type_.fit(name, SMALL, right - layout.token_rect(position).left()).into_owned();
        let middle = swatch.center().y;
        let number = numbers.get(position);
        let apart = if number.is_some() { NUMBER_APART_PT } else { 0.0 };
        pen.text(&name, SMALL, pen.palette.text, pos2(right, middle - apart), Align::Right);
        if let Some(number) = number {
            pen.text(number, SMALL, pen.palette.text_weak, pos2(right, middle + apart), Align::Right);
        }
    }
}

impl Scene for ImageScene {
    fn width(&self, _: &mut Pen<'_>) -> f32 {
        let size = layout::proportions(&self.image);
        (PICTURE_PT * size.x / size.max_elem() + self.sides()).ceil()
    }

    fn least_width(&self, _: &mut Pen<'_>) -> f32 {
        self.sides() + 100.0
    }

    fn height(&self, width: f32, _: &mut Pen<'_>) -> f32 {
        let size = layout::proportions(&self.image);
        let prefix = layout::PREFIX_PT.y * self.image.n_prefix as f32;
        ((width - self.sides()).max(1.0) * size.y / size.x).max(prefix).max(80.0)
    }

    fn least_height(&self, _: f32, _: &mut Pen<'_>) -> f32 {
        (layout::PREFIX_PT.y * self.image.n_prefix as f32).max(80.0)
    }

    fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
        let layout = ImageLayout::compute(area, &self.image, pen.medium);
        let weights = self.weights();
        let range = self.range(&weights);
        self.draw_picture(&layout, (&weights, range), MAX_PICTURE_PX, pen);
        boxes::draw(&layout, &self.regions(&weights), pen);
        let n_prefix = self.image.n_prefix.min(self.names.len());
        let map = self.colors(&pen.palette);
        let colors: Vec<Rgba> =
            weights.iter().take(n_prefix).map(|weight| map.color(range.fraction(*weight))).collect();
        let number = |value: &f32| if self.stream.is_some() { norm_text(*value) } else { self.read.value_text(*value) };
        let n_numbers = if self.flows.is_none() { n_prefix } else { 0 };
        let numbers: Vec<String> = weights.iter().take(n_numbers).map(number).collect();
        let names = (&self.names[..n_prefix], numbers.as_slice());
        draw_prefix(&layout, names, self.flows.is_none().then_some(&colors), pen);
        if let Some(partner) = self.partner {
            pen.frame(layout.token_rect(partner), 1.5, pen.palette.text);
        }
        let picked = match (self.flows, self.picked) {
            (Some((_, held)), _) => held,
            (None, (token, role)) => token
                .position()
                .filter(|_| self.picks == Picks::Patches && self.stream.is_none())
                .map(|picked| (picked, role)),
        };
        if let Some((picked, role)) = picked {
            let tint = if role == PatchRole::Query { pen.palette.query } else { pen.palette.key };
            let cell = layout.token_rect(picked);
            pen.frame(cell.shrink(PICKED_PT / 2.0), PICKED_PT + 2.0, pen.palette.canvas);
            pen.frame(cell.shrink(PICKED_PT / 2.0 - 1.0), PICKED_PT, tint);
        }
        if let Some(flows) = self.flows {
            arrows::draw(&self.read, (&self.image, &layout), flows, pen);
        } else if let Some(bar) = layout.bar.filter(|_| self.has_scale()) {
            pen.color_bar(bar, |fraction| map.color(fraction), range_tick(range));
        }
    }

    fn small(&self) -> Option<&dyn SmallMap> {
        Some(self)
    }

    fn captions(&self) -> Captions {
        if let Some((filter, held)) = self.flows {
            return self.flow_captions(filter, held);
        }
        if let Some(stream) = &self.stream {
            let words = stream.in_words(&self.image, &self.read, &self.subject);
            return Captions { short: words.clone(), full: words };
        }
        let weights = self.weights();
        let (on_prefix, total) = (weights.iter().take(self.image.n_prefix).sum::<f32>(), weights.iter().sum::<f32>());
        let shares = !self.is_signed() && self.read.explained().is_none();
        let prefix = if self.image.n_prefix > 0 && total > 0.0 && shares {
            let part = share_text(on_prefix / total);
            format!("{part} lies on {}", self.names[..self.image.n_prefix.min(self.names.len())].join(", "))
        } else {
            String::new()
        };
        let hidden = capitalised(&self.read.hidden_text().unwrap_or_default());
        let picked = self.picked_text();
        let distance = weights::distance(&self.read, &self.image).filter(|_| !self.is_signed());
        let distance = capitalised(&distance.map_or_else(String::new, weights::distance_text));
        let short = joined([format!("{}: {picked}", capitalised(&self.subject)).as_str(), &prefix, &distance, &hidden]);
        let outline = match self.look.contour.filter(|_| !self.is_signed()) {
            Some(part) => {
                format!("The outline holds {} of the attention on {}", share_text(part), self.image.parts_name())
            }
            None => String::new(),
        };
        let subject = format!("{}: {picked}", subject_text(&self.read, &self.subject));
        Captions { short, full: joined([subject.as_str(), &prefix, &distance, &outline, &hidden]) }
    }
}

impl SmallMap for ImageScene {
    fn proportion(&self) -> f32 {
        let size = layout::proportions(&self.image);
        size.y / size.x
    }

    fn names(&self) -> Names {
        Names::default()
    }

    fn draw_alone(&self, rect: Rect, pen: &mut Pen<'_>) {
        let layout = ImageLayout::bare(rect, &self.image);
        let weights = self.weights();
        // 288 pixels to the inch on paper.
        let most = ((4.0 * 0.75 * rect.size().max_elem()).ceil() as usize).clamp(16, MAX_PICTURE_PX);
        self.draw_picture(&layout, (&weights, self.range(&weights)), most, pen);
        if let Some(flows) = self.flows {
            arrows::draw_alone(&self.read, (&self.image, &layout), flows, pen);
        }
    }

    fn foot_height(&self) -> f32 {
        if self.flows.is_some() { 6.0 * GRID } else { 0.0 }
    }

    fn draw_foot(&self, area: Rect, pen: &mut Pen<'_>) {
        if let Some((filter, _)) = self.flows {
            arrows::draw_row(&self.read, filter, area, pen);
        }
    }

    fn scale(&self) -> Option<Scale> {
        if !self.has_scale() {
            return None;
        }
        let range = self.range(&self.weights());
        let name = match (&self.stream, self.is_signed()) {
            (Some(_), _) => "norm",
            (None, true) => "difference",
            (None, false) => "weight",
        };
        Some(Scale {
            map: self.map(),
            ends: [
                tick_text(range.low()),
                if self.is_relative { "largest of each".to_owned() } else { tick_text(range.high()) },
            ],
            name,
        })
    }

    fn note(&self) -> &'static str {
        if self.flows.is_some() { "Width and opacity grow with the weight" } else { "" }
    }
}
