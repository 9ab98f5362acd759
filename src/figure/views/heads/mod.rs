//! Bipartite attention lines of one layer: queries at the left, keys at the right, one colour per head,
//! strength and width by weight.

use std::sync::Arc;

use emath::{Rect, Vec2, vec2};

use self::{
    layout::{HeadsLayout, HeadsLayoutInput, Placing, TEXT_PAD_PT, TokenColumn},
    look::{LineColor, LineWeight},
    marks::TokenLook,
};
use super::{Pinned, grouped, joined, labels, subject_text};
use crate::{
    analysis::{
        edges::{self, EdgeFilter, EdgeSet},
        reading::{Axis, ReadPattern},
    },
    figure::{
        legend::Legend,
        list::{Line, faded},
        measure::{
            GRID,
            text_size::{BODY, SMALL},
        },
        page::{Captions, Scene},
        palette::{Ink, Palette},
        pen::Pen,
        small::{ColsAt, Names, Scale, SmallMap},
    },
    text::{capitalised, share_text},
};

pub mod layout;
mod legend;
pub mod look;
pub mod marks;
mod options;
mod spec;

pub use options::HeadsOptions;
pub use spec::SPEC;

/// Most lines of one view; more would neither be told apart nor drawn in time.
pub const MAX_LINES: usize = 12_000;
/// Height of the column headings.
pub const HEADING_PT: f32 = 6.0 * GRID;
/// Between text and lines while nothing is held.
const EMPTY_STRIP_PT: f32 = 6.0;
/// Width that suits the lines of a figure.
const LINES_PT: f32 = 300.0;
/// Widths that suit two rows of tokens, and what is between them, the least first.
const ROWS_PT: (f32, f32) = (360.0, 960.0);
const BETWEEN_ROWS_PT: (f32, f32) = (80.0, 180.0);
/// So many rows make a small map as high as it is wide.
const USUAL_ROWS: f32 = 14.0;
/// Height that suits a row.
const ROW_PT: f32 = 20.0;

/// One head and the lines drawn of it.
#[derive(Clone, Debug)]
pub struct HeadLines {
    /// What colours it: its number within the layer.
    pub head: usize,
    /// What the legend calls it.
    pub name: String,
    /// Where its weights come from.
    pub read: Arc<ReadPattern>,
    /// The lines; of a difference by size, whatever its sign.
    pub set: EdgeSet,
}

impl HeadLines {
    /// Chooses the lines of a pattern.
    pub fn new(head: usize, name: String, read: Arc<ReadPattern>, filter: EdgeFilter) -> Self {
        let set = edges::select(&read.strengths(), filter);
        Self { head, name, read, set }
    }
}

/// The Heads view of some heads.
#[derive(Clone, Debug)]
pub struct HeadsScene {
    /// At least one; all with the same rows and columns.
    pub heads: Vec<HeadLines>,
    pub subject: String,
    pub options: HeadsOptions,
    /// The size of the strongest line of differences and explanations, where several figures share a scale.
    pub high: Option<f32>,
    pub pinned: Pinned,
    /// Whether the legend is drawn below it.
    pub has_legend: bool,
}

impl HeadsScene {
    fn read(&self) -> Option<&ReadPattern> {
        self.heads.first().map(|head| &*head.read)
    }

    /// The size of the strongest line.
    fn high(&self) -> f32 {
        self.high.unwrap_or_else(|| self.heads.iter().map(|head| head.read.high()).fold(0.0, f32::max))
    }

    fn signed(&self) -> bool {
        self.read().is_some_and(|read| read.signed)
    }

    fn text_widths(&self, pen: &mut Pen<'_>) -> [f32; 2] {
        let Some(read) = self.read() else { return [0.0; 2] };
        let [[queries, keys], ..] = self.headings();
        let mut widest = |axis: &Axis, heading: &str| {
            let texts = axis.texts();
            let heading = if self.is_of_rows() { 0.0 } else { pen.type_.width(heading, SMALL) };
            pen.widest(texts, BODY).max(heading)
        };
        [widest(&read.rows, &queries), widest(&read.cols, &keys)]
    }

    /// The names of both columns, longest first.
    fn headings(&self) -> [[String; 2]; 3] {
        self.read().map_or_else(Default::default, |read| {
            labels::axis_names([&read.rows, &read.cols], read.has_one_row(), read.has_two_sides)
        })
    }

    /// Between text and lines: room for the bars of what is held.
    fn strip(&self) -> f32 {
        if self.pinned.is_empty() { EMPTY_STRIP_PT } else { layout::STRIP_PT }
    }

    fn n_rows(&self) -> usize {
        self.read().map_or(1, |read| read.rows.len().max(read.cols.len())).max(1)
    }

    fn layout(&self, size: Vec2, pen: &mut Pen<'_>) -> HeadsLayout {
        let text_widths = self.text_widths(pen);
        let (n_query, n_key) = self.read().map_or((0, 0), |read| (read.rows.len(), read.cols.len()));
        let height = size.y - HEADING_PT - self.legend_height(size.x, pen);
        HeadsLayout::compute(HeadsLayoutInput {
            width: size.x,
            height,
            n_query,
            n_key,
            text_widths,
            strip: self.strip(),
            placing: self.options.placing,
            from_right: self.read().is_some_and(|read| layout::reads_from_right(read.cols.texts())),
        })
        .with_course(self.options.look.course)
    }

    fn is_of_rows(&self) -> bool {
        self.options.placing == Placing::Rows
    }

    /// The height of two rows at a width, with so much between them.
    fn height_of_rows(&self, width: f32, lines: f32, pen: &mut Pen<'_>) -> f32 {
        let layout = self.layout(vec2(width, f32::MAX.sqrt()), pen);
        HEADING_PT + layout.size().y - layout.lines.span() + lines + self.legend_height(width, pen)
    }

    /// The colour of a line; a difference has one colour for more and one for less.
    fn ink(&self, head: usize, weight: f32) -> Ink {
        match (self.signed(), weight < 0.0) {
            (true, false) => Ink::More,
            (true, true) => Ink::Less,
            (false, _) if self.is_explained() && self.heads.len() == 1 => Ink::Explained,
            (false, _) => Ink::Head(head),
        }
    }

    fn is_explained(&self) -> bool {
        self.read().is_some_and(|read| read.explained().is_some())
    }

    /// What the lines of `which` look like, weakest first.
    fn lines(
        &self,
        layout: &HeadsLayout,
        origin: Vec2,
        (most, pen): (usize, &Pen<'_>),
        which: impl Fn(usize, usize) -> bool,
    ) -> Vec<Line> {
        let rows = [0..layout.n_query, 0..layout.n_key];
        let sets = self.heads.iter().enumerate().map(|(idx, head)| (idx, &head.set));
        let (drawn, _) = layout::visible_lines(sets, &rows, most);
        let high = self.high().max(f32::MIN_POSITIVE);
        let part = |head: &HeadLines, weight: f32| match (head.read.has_own_scale(), self.signed()) {
            // What a method answered, or an effective pattern, is relative to the largest of its head from the start.
            (true, _) => weight.abs() * head.read.high() / high,
            // Differences are drawn by their size against the largest one.
            (false, true) => weight.abs() / high,
            (false, false) => weight,
        };
        let meant = drawn.iter().filter(|line| which(line.query as usize, line.key as usize));
        let line = |line: &layout::Line| {
            let head = self.heads.get(line.head as usize)?;
            let value = head.read.value(line.query as usize, line.key as usize)?;
            let weight = part(head, line.weight);
            let ends = [line.query as usize, line.key as usize];
            Some(self.pieces(layout, origin, ends, self.ink(head.head, value), [weight; 2], pen))
        };
        meant.filter_map(line).flatten().collect()
    }

    /// The lines, of what is held above the others; of each head at most so many, the strongest.
    fn draw_lines(&self, layout: &HeadsLayout, origin: Vec2, most: usize, pen: &mut Pen<'_>) {
        let all = self.lines(layout, origin, (most, pen), |_, _| true);
        pen.lines(all);
        if let Some(read) = self.read().filter(|_| !self.pinned.is_empty()) {
            let (row, col) = self.pinned.in_pattern(read);
            let lines = layout.lines_rect().translate(origin);
            pen.rect(lines.expand2(vec2(1.0, 0.0)), faded(pen.palette.canvas, Palette::VEIL));
            let meant = |query, key| row.is_none_or(|row| row == query) && col.is_none_or(|col| col == key);
            let meant = match row.zip(col) {
                Some(pair) => self.pair(layout, origin, pen, pair),
                None => self.lines(layout, origin, (MAX_LINES, pen), meant),
            };
            pen.lines(meant);
        }
        if let Some(read) = self.read() {
            pen.lines(marks::cuts(layout, origin, read.marks.cut.iter(), &pen.palette));
        }
    }

    /// The lines of one pair, of each head: in full colour, however small their weights are.
    fn pair(&self, layout: &HeadsLayout, origin: Vec2, pen: &Pen<'_>, (row, col): (usize, usize)) -> Vec<Line> {
        let mut values: Vec<(f32, Ink)> = self
            .heads
            .iter()
            .filter_map(|head| {
                let value = head.read.value(row, col)?;
                Some((head.read.strength(value), self.ink(head.head, value)))
            })
            .collect();
        values.sort_by(|a, b| a.0.total_cmp(&b.0));
        let line = |(strength, ink): (f32, Ink)| self.pieces(layout, origin, [row, col], ink, [strength, 1.0], pen);
        values.into_iter().flat_map(line).collect()
    }

    /// The pieces of one line.
    fn pieces(
        &self,
        layout: &HeadsLayout,
        origin: Vec2,
        ends: [usize; 2],
        ink: Ink,
        strength: [f32; 2],
        pen: &Pen<'_>,
    ) -> Vec<Line> {
        let pieces = self.options.look.pieces((layout, ends), ink, strength, &pen.palette);
        let width = |line: &Line| look::fitting(line.width, layout.row_height);
        let placed = |line: Line| Line { from: line.from + origin, to: line.to + origin, width: width(&line), ..line };
        pieces.into_iter().map(placed).collect()
    }

    /// The weight of the pair that is held, at the middle of its line.
    fn pair_label(&self, layout: &HeadsLayout, origin: Vec2, pen: &mut Pen<'_>) {
        let Some((row, col)) = self.read().map(|read| self.pinned.in_pattern(read)).and_then(|(row, col)| row.zip(col))
        else {
            return;
        };
        let patterns = self.heads.iter().map(|head| (head.head, &*head.read));
        let Some(text) = pair_text(patterns, (row, col)) else { return };
        marks::pair_label(&text, layout.line(row, col).map(|end| end + origin), pen);
    }

    fn column(&self, layout: &HeadsLayout, origin: Vec2, column: TokenColumn, pen: &mut Pen<'_>) {
        let Some(read) = self.read() else { return };
        let (row, col) = self.pinned.in_pattern(read);
        let (axis, held, hidden) = match column {
            TokenColumn::Query => (&read.rows, row, &read.marks.hidden_rows),
            TokenColumn::Key => (&read.cols, col, &read.marks.hidden_cols),
        };
        for (idx, group) in axis.groups.iter().enumerate() {
            let look = TokenLook {
                pinned: held == Some(idx),
                left_out: group.left_out.is_some(),
                rest: axis.rest_at(idx).is_some(),
                hidden: hidden.contains(&idx),
                ..TokenLook::default()
            };
            let cell = layout.token_rect(column, idx).translate(origin);
            marks::token(cell, (column, layout.lie), &group.text, look, pen);
        }
    }

    /// How much each head attends between what is held and the tokens of the other column.
    fn bars(&self, layout: &HeadsLayout, origin: Vec2, pen: &mut Pen<'_>) {
        let Some(read) = self.read() else { return };
        let weights = |row, col| {
            let weight = |head: &HeadLines| {
                let weight = head.read.value(row, col)?;
                Some((self.ink(head.head, weight), head.read.strength(weight)))
            };
            self.heads.iter().filter_map(weight).collect()
        };
        let (seen, held) = ([0..layout.n_query, 0..layout.n_key], self.pinned.in_pattern(read));
        for (bar, color) in marks::bars(layout, origin, &seen, held, weights, &pen.palette) {
            pen.rect(bar, color);
        }
    }
}

impl Scene for HeadsScene {
    fn width(&self, pen: &mut Pen<'_>) -> f32 {
        if self.is_of_rows() {
            let [queries, keys] = self.text_widths(pen);
            let pitch = queries.max(keys) + 2.0 * TEXT_PAD_PT;
            return (self.n_rows() as f32 * pitch).clamp(ROWS_PT.0, ROWS_PT.1).max(self.least_width(pen));
        }
        let columns: f32 = self.text_widths(pen).into_iter().map(|width| width + 2.0 * TEXT_PAD_PT).sum();
        let strips = 2.0 * self.strip();
        // A column of long texts is cut rather than making the figure wide.
        (columns.min(320.0) + strips + LINES_PT).ceil()
    }

    fn least_width(&self, pen: &mut Pen<'_>) -> f32 {
        if self.is_of_rows() {
            return self.n_rows() as f32 * layout::MIN_ROW_PT;
        }
        let columns: f32 = self.text_widths(pen).into_iter().map(|width| (width + 2.0 * TEXT_PAD_PT).min(90.0)).sum();
        columns + 2.0 * self.strip() + 80.0
    }

    fn height(&self, width: f32, pen: &mut Pen<'_>) -> f32 {
        if self.is_of_rows() {
            return self.height_of_rows(width, BETWEEN_ROWS_PT.1, pen);
        }
        HEADING_PT + self.n_rows() as f32 * ROW_PT + self.legend_height(width, pen)
    }

    fn least_height(&self, width: f32, pen: &mut Pen<'_>) -> f32 {
        if self.is_of_rows() {
            return self.height_of_rows(width, BETWEEN_ROWS_PT.0, pen);
        }
        HEADING_PT + self.n_rows() as f32 * layout::MIN_ROW_PT + self.legend_height(width, pen)
    }

    fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
        let layout = self.layout(area.size(), pen);
        let origin = area.min.to_vec2() + vec2(0.0, HEADING_PT);
        let band = Rect::from_min_size(area.min, vec2(area.width(), HEADING_PT));
        marks::headings(band, &layout, &self.headings(), pen);

        self.draw_lines(&layout, origin, MAX_LINES, pen);
        self.pair_label(&layout, origin, pen);
        if !self.pinned.is_empty() {
            self.bars(&layout, origin, pen);
        }
        self.column(&layout, origin, TokenColumn::Query, pen);
        self.column(&layout, origin, TokenColumn::Key, pen);
        if self.has_legend {
            let height = self.legend_height(area.width(), pen);
            let top = (origin.y + layout.size().y).min(area.bottom() - height).max(area.top());
            self.all_marks().draw(Rect::from_x_y_ranges(area.x_range(), top..=area.bottom()), pen);
        }
    }

    fn legend(&self) -> Option<Legend> {
        Some(self.all_marks())
    }

    fn leave_out_legend(&mut self) {
        self.has_legend = false;
    }

    fn small(&self) -> Option<&dyn SmallMap> {
        Some(self)
    }

    fn captions(&self) -> Captions {
        let n_lines: usize = self.heads.iter().map(|head| head.set.edges.len()).sum();
        let n_total: usize = self.heads.iter().map(|head| head.set.n_total).sum();
        let mass: f64 = self.heads.iter().map(|head| head.set.mass_shown).sum();
        let total: f64 = self.heads.iter().map(|head| head.set.mass_total).sum();
        let part = share_text(mass / total.max(f64::MIN_POSITIVE));
        let has_own_scale = self.read().is_some_and(ReadPattern::has_own_scale);
        let what = match (has_own_scale, self.signed()) {
            (true, _) => "of the sum of all absolute values",
            (false, true) => "of all differences",
            (false, false) => "of the attention",
        };
        let drawn = n_lines.min(MAX_LINES);
        let strongest = if n_lines > MAX_LINES { "the strongest " } else { "" };
        let lines = if total == 0.0 && self.read().is_some_and(ReadPattern::is_difference) {
            "no difference".to_owned()
        } else {
            format!("{strongest}{} of {} lines, {part} {what}", grouped(drawn), grouped(n_total))
        };
        let hidden = capitalised(&self.read().and_then(ReadPattern::hidden_text).unwrap_or_default());
        let short = joined([format!("{}: {lines}", capitalised(&self.subject)).as_str(), &hidden]);
        let which = which_lines(self.options.filter);
        let size = match self.options.look.weight {
            LineWeight::Both => "opacity and width show the size",
            LineWeight::Width => "width shows the size",
            LineWeight::Opacity => "opacity shows the size",
        };
        let look = match (self.signed(), self.options.look.color) {
            (true, _) => format!("Colour shows the sign, {size}"),
            (false, _) if self.is_explained() && self.heads.len() == 1 => capitalised(size),
            (false, LineColor::Gradient) => format!("Colour runs from query to key, {size}"),
            (false, LineColor::Head) => format!("Colour shows the head, {size}"),
        };
        let ends = match (self.read().is_some_and(ReadPattern::has_one_row), self.options.placing) {
            (true, Placing::Columns) => "Lines join the explained output (left) to each token (right)",
            (true, Placing::Rows) => "Lines join the explained output (above) to each token (below)",
            (false, Placing::Columns) => "Lines join each query (left) to its keys (right)",
            (false, Placing::Rows) => "Lines join each query (above) to its keys (below)",
        };
        let how = format!("{ends}; drawn are {which}");
        let held = self.pinned_text().unwrap_or_default();
        let lines =
            self.read().map_or_else(String::new, |read| format!("{}: {lines}", subject_text(read, &self.subject)));
        Captions { short, full: joined([lines.as_str(), &hidden, &how, &look, &held]) }
    }
}

/// Which weights have lines, in words.
pub fn which_lines(filter: EdgeFilter) -> String {
    match filter {
        EdgeFilter::TopP(p) => format!("the strongest weights that cover {} of each row", share_text(p)),
        EdgeFilter::TopK(1) => "the strongest weight of each row".to_owned(),
        EdgeFilter::TopK(k) => format!("the {k} strongest weights of each row"),
        EdgeFilter::Threshold(least) => format!("weights from {least}"),
    }
}

/// What stands at the line of one pair: its weight, of several heads that of the strongest, which is named.
pub fn pair_text<'a>(
    heads: impl Iterator<Item = (usize, &'a ReadPattern)>,
    (row, col): (usize, usize),
) -> Option<String> {
    let known: Vec<(usize, f32, &ReadPattern)> =
        heads.filter_map(|(head, read)| Some((head, read.value(row, col)?, read))).collect();
    let (head, value, read) = known.iter().max_by(|a, b| a.2.strength(a.1).total_cmp(&b.2.strength(b.1)))?;
    let text = read.value_text(*value);
    Some(if known.len() > 1 { format!("H{head} {text}") } else { text })
}

impl SmallMap for HeadsScene {
    fn proportion(&self) -> f32 {
        (self.n_rows() as f32 / USUAL_ROWS).clamp(0.75, 3.0)
    }

    fn names(&self) -> Names {
        // Both columns have rows of one height.
        let texts = |axis: &Axis| {
            let mut texts: Vec<String> = axis.groups.iter().map(|group| group.text.clone()).collect();
            texts.resize(self.n_rows(), String::new());
            texts
        };
        let Some(read) = self.read() else { return Names::default() };
        Names { rows: texts(&read.rows), cols: texts(&read.cols), cols_at: ColsAt::Right }
    }

    fn draw_alone(&self, rect: Rect, pen: &mut Pen<'_>) {
        self.draw_strongest(rect, MAX_LINES, pen);
    }

    fn scale(&self) -> Option<Scale> {
        None
    }

    fn note(&self) -> &'static str {
        match self.read() {
            Some(read) if read.has_one_row() => "Left: the explained output · right: tokens",
            Some(read) if read.has_two_sides => "Left: queries (decoder) · right: keys (encoder)",
            _ => "Left: queries · right: keys",
        }
    }
}

impl HeadsScene {
    /// Draws the strongest so many of its lines alone, without names.
    pub fn draw_strongest(&self, rect: Rect, most: usize, pen: &mut Pen<'_>) {
        let (n_query, n_key) = self.read().map_or((0, 0), |read| (read.rows.len(), read.cols.len()));
        let layout = HeadsLayout::bare(rect.size(), n_query, n_key).with_course(self.options.look.course);
        pen.frame(rect, 0.5, pen.palette.rule);
        pen.clip(rect, |pen| self.draw_lines(&layout, rect.min.to_vec2(), most, pen));
    }

    fn pinned_text(&self) -> Option<String> {
        let read = self.read()?;
        match self.pinned.in_pattern(read) {
            (Some(row), Some(col)) => {
                Some(format!("Pinned: query {}, key {}", read.rows.named(row), read.cols.named(col)))
            }
            (Some(row), None) => Some(format!("Pinned: query {}", read.rows.named(row))),
            (None, Some(col)) => Some(format!("Pinned: key {}", read.cols.named(col))),
            (None, None) => None,
        }
    }
}
