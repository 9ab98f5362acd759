//! Layout of tokens and lines of the Heads view. Pure geometry in points, without an egui
//! context; x grows from the left of the area, y from the top of the first row. Two rows in place of columns are the same
//! geometry with both directions exchanged.

use std::ops::Range;

use emath::{Pos2, Rangef, Rect, Vec2, lerp, pos2, vec2};
use serde::{Deserialize, Serialize};

use super::look::LineCourse;
use crate::{analysis::edges::EdgeSet, figure::views::regions::Pointed};

/// Smallest row that keeps text legible.
pub const MIN_ROW_PT: f32 = 18.0;
/// Rows of short inputs are no taller than this.
const MAX_ROW_PT: f32 = 28.0;
/// Between text and lines, where the bars of the focused token stand.
pub const STRIP_PT: f32 = 32.0;
/// Around the text of a token.
pub const TEXT_PAD_PT: f32 = 6.0;
/// A token column never takes more than this part of the area.
const MAX_COLUMN: f32 = 0.28;
/// Lines become hard to follow when they are longer: between columns, and between rows, which are wider.
const MAX_LINES_PT: [f32; 2] = [720.0, 360.0];
/// Names that stand upright are cut here, and those that lie are as high as this.
const TURNED_PT: f32 = 100.0;
const LEVEL_PT: f32 = 24.0;
/// Tokens of short inputs are no further apart in a row.
const MAX_PITCH_PT: f32 = 80.0;
/// Lines need at least this to be told apart.
const MIN_LINES_PT: f32 = 120.0;
/// A line of less weight is hardly seen.
const VISIBLE_WEIGHT: f32 = 0.1;
/// Rows beyond the visible ones that the line mesh already holds, so that scrolling by a few rows
/// needs no new mesh.
const ROW_BLOCK: usize = 8;

/// What the geometry depends on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeadsLayoutInput {
    pub width: f32,
    /// Height of the area without headings.
    pub height: f32,
    pub n_query: usize,
    pub n_key: usize,
    /// Widest query text and widest key text.
    pub text_widths: [f32; 2],
    /// Between text and lines: [`STRIP_PT`] where bars may stand there.
    pub strip: f32,
    pub placing: Placing,
    /// Whether texts are read from the right: see [`reads_from_right`].
    pub from_right: bool,
}

/// Where queries and keys stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Placing {
    /// Queries at the left, keys at the right.
    #[default]
    Columns,
    /// Queries above, keys below.
    Rows,
}

vocabulary! {
    Placing: name, title;
    Columns("columns", "Two columns"),
    Rows("rows", "Two rows"),
}

/// The way in which tokens follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Along {
    #[default]
    Down,
    Right,
    /// From right to left, over this length.
    Left(f32),
}

/// How the text of a token lies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lie {
    /// Beside the lines.
    #[default]
    Beside,
    /// Above or below them, level.
    Level,
    /// Above or below them, turned upright.
    Turned,
}

/// Whether most letters of some texts belong to scripts that are written from right to left.
pub fn reads_from_right<'a>(texts: impl IntoIterator<Item = &'a str>) -> bool {
    let letters = texts.into_iter().flat_map(str::chars).filter(|c| c.is_alphabetic());
    let is_from_right =
        |c: char| matches!(c, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{feff}');
    let (from_right, n) = letters.fold((0, 0), |(right, n), c| (right + usize::from(is_from_right(c)), n + 1));
    2 * from_right > n
}

/// One of the two token columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenColumn {
    Query,
    Key,
}

/// Columns, rows and the space for lines.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeadsLayout {
    /// Query texts, aligned to its right end.
    pub queries: Rangef,
    /// Bars beside the query texts.
    pub query_strip: Rangef,
    pub lines: Rangef,
    /// Bars beside the key texts.
    pub key_strip: Rangef,
    /// Key texts, aligned to its left end.
    pub keys: Rangef,
    pub row_height: f32,
    pub n_query: usize,
    pub n_key: usize,
    /// How far each column is moved down, queries then keys: see [`Self::scrolled`].
    pub shift: [f32; 2],
    /// Where lines end at the latest: of a long text a line leaves towards a token that is far away, instead of going
    /// there.
    pub reach: Option<Rangef>,
    pub course: LineCourse,
    along: Along,
    pub lie: Lie,
}

impl HeadsLayout {
    /// Centres a block of sensible width; rows fill the height between a smallest and a largest height.
    pub fn compute(input: HeadsLayoutInput) -> Self {
        let n_rows = input.n_query.max(input.n_key).max(1);
        let texts = input.text_widths.map(|text| text + 2.0 * TEXT_PAD_PT);
        let widest = texts[0].max(texts[1]);
        let (lie, room, pitch) = match input.placing {
            Placing::Columns => (Lie::Beside, input.width, input.height / n_rows as f32),
            Placing::Rows if widest * n_rows as f32 <= input.width => {
                (Lie::Level, input.height, (input.width / n_rows as f32).min(MAX_PITCH_PT.max(widest)))
            }
            Placing::Rows => (Lie::Turned, input.height, input.width / n_rows as f32),
        };
        let row_height = if lie == Lie::Level { pitch } else { pitch.clamp(MIN_ROW_PT, MAX_ROW_PT) }.floor();
        let column = |text: f32| match lie {
            Lie::Beside => text.min(room * MAX_COLUMN).ceil(),
            Lie::Level => LEVEL_PT,
            Lie::Turned => text.min(TURNED_PT).ceil(),
        };
        let [query_width, key_width] = texts.map(column);
        let free = room - query_width - key_width - 2.0 * input.strip;
        let lines_width = free.clamp(MIN_LINES_PT, MAX_LINES_PT[input.placing as usize]).min(free.max(1.0));
        let block = query_width + key_width + 2.0 * input.strip + lines_width;
        // Rows begin at the top.
        let left = if lie == Lie::Beside { ((room - block) / 2.0).max(0.0).round() } else { 0.0 };
        let along = match (input.placing, input.from_right) {
            (Placing::Columns, _) => Along::Down,
            (Placing::Rows, false) => Along::Right,
            (Placing::Rows, true) => Along::Left((n_rows as f32 * row_height).max(input.width)),
        };
        let mut x = left;
        let mut take = |width: f32| {
            let range = Rangef::new(x, x + width);
            x += width;
            range
        };
        Self {
            queries: take(query_width),
            query_strip: take(input.strip),
            lines: take(lines_width),
            key_strip: take(input.strip),
            keys: take(key_width),
            row_height,
            n_query: input.n_query,
            n_key: input.n_key,
            shift: [0.0; 2],
            reach: None,
            course: LineCourse::Straight,
            along,
            lie,
        }
    }

    /// The same with lines of another course.
    #[must_use]
    pub const fn with_course(self, course: LineCourse) -> Self {
        Self { course, ..self }
    }

    /// Lines over all of a rectangle, whose height the longer column fills, without texts.
    pub fn bare(size: Vec2, n_query: usize, n_key: usize) -> Self {
        let (left, right) = (Rangef::new(0.0, 0.0), Rangef::new(size.x, size.x));
        let row_height = size.y / n_query.max(n_key).max(1) as f32;
        Self {
            queries: left,
            query_strip: left,
            lines: Rangef::new(0.0, size.x),
            key_strip: right,
            keys: right,
            row_height,
            n_query,
            n_key,
            shift: [0.0; 2],
            reach: None,
            course: LineCourse::Straight,
            along: Along::Down,
            lie: Lie::Beside,
        }
    }

    /// A place of the columns, where it is drawn.
    fn placed(&self, at: Pos2) -> Pos2 {
        match self.along {
            Along::Down => at,
            Along::Right => pos2(at.y, at.x),
            Along::Left(length) => pos2(length - at.y, at.x),
        }
    }

    /// What is drawn at a place, as a place of the columns.
    fn in_columns(&self, at: Pos2) -> Pos2 {
        match self.along {
            Along::Down => at,
            Along::Right => pos2(at.y, at.x),
            Along::Left(length) => pos2(at.y, length - at.x),
        }
    }

    fn placed_rect(&self, rect: Rect) -> Rect {
        Rect::from_two_pos(self.placed(rect.min), self.placed(rect.max))
    }

    /// Whether tokens stand in rows.
    pub fn is_of_rows(&self) -> bool {
        self.along != Along::Down
    }

    /// The size of all that is drawn.
    pub fn size(&self) -> Vec2 {
        match self.along {
            Along::Down => vec2(self.keys.max, self.height()),
            Along::Right => vec2(self.height(), self.keys.max),
            Along::Left(length) => vec2(length, self.keys.max),
        }
    }

    /// What of a viewport lies along the tokens.
    pub fn seen(&self, viewport: Rect) -> Rangef {
        let [a, b] = [viewport.min, viewport.max].map(|corner| self.in_columns(corner).y);
        Rangef::new(a.min(b), a.max(b))
    }

    /// The space of all lines.
    pub fn lines_rect(&self) -> Rect {
        self.placed_rect(Rect::from_x_y_ranges(self.lines, 0.0..=self.height()))
    }

    /// Moves the shorter column along while the longer one scrolls, so that both reach their end together
    /// and a column that fits is always in sight.
    #[must_use]
    pub fn scrolled(mut self, viewport: Rangef) -> Self {
        let slack = self.height() - viewport.span();
        let progress = if slack > 0.0 { (viewport.min / slack).clamp(0.0, 1.0) } else { 0.0 };
        let free = |n: usize| self.height() - n as f32 * self.row_height;
        // Whole points, so that text stays sharp and the lines are rebuilt less often.
        self.shift = [self.n_query, self.n_key].map(|n| (progress * free(n)).round());
        self
    }

    /// Tokens in a column.
    pub const fn n_tokens(&self, column: TokenColumn) -> usize {
        match column {
            TokenColumn::Query => self.n_query,
            TokenColumn::Key => self.n_key,
        }
    }

    /// Height of all rows.
    pub fn height(&self) -> f32 {
        self.n_query.max(self.n_key) as f32 * self.row_height
    }

    /// What a token of a column is pointed at as.
    pub const fn pointed(column: TokenColumn, position: usize) -> Pointed {
        match column {
            TokenColumn::Query => Pointed::Query(position),
            TokenColumn::Key => Pointed::Key(position),
        }
    }

    /// The cell of a token.
    pub fn token_rect(&self, column: TokenColumn, position: usize) -> Rect {
        let x = match column {
            TokenColumn::Query => self.queries,
            TokenColumn::Key => self.keys,
        };
        self.placed_rect(Rect::from_x_y_ranges(x, self.row(column, position)))
    }

    /// The space for bars beside a token.
    pub fn strip_rect(&self, column: TokenColumn, position: usize) -> Rect {
        let x = match column {
            TokenColumn::Query => self.query_strip,
            TokenColumn::Key => self.key_strip,
        };
        self.placed_rect(Rect::from_x_y_ranges(x.shrink(TEXT_PAD_PT), self.row(column, position).shrink(3.0)))
    }

    /// Both ends of the line from `query` to `key`.
    pub fn line(&self, query: usize, key: usize) -> [Pos2; 2] {
        self.ends(query, key).map(|end| self.placed(end))
    }

    /// The same in columns.
    fn ends(&self, query: usize, key: usize) -> [Pos2; 2] {
        let y = |column, position| {
            let y = self.row(column, position).center();
            self.reach.map_or(y, |reach| y.clamp(reach.min, reach.max))
        };
        [pos2(self.lines.min, y(TokenColumn::Query, query)), pos2(self.lines.max, y(TokenColumn::Key, key))]
    }

    /// A place on the line from `query` to `key`, `0..=1` of the way.
    pub fn along_line(&self, query: usize, key: usize, part: f32) -> Pos2 {
        let [from, to] = self.ends(query, key);
        self.placed(pos2(lerp(from.x..=to.x, part), lerp(from.y..=to.y, self.eased(part))))
    }

    /// How far a line has come across where it has come a part of the way along.
    fn eased(&self, part: f32) -> f32 {
        match self.course {
            LineCourse::Straight => part,
            LineCourse::Curved => part * part * (3.0 - 2.0 * part),
        }
    }

    /// The same where lines leave towards tokens beyond `rows` (queries, keys).
    #[must_use]
    pub fn leaving(mut self, rows: &[Range<usize>; 2]) -> Self {
        self.reach = Some(self.beside(rows));
        self
    }

    /// A cross in the middle of the line from `query` to `key`: two strokes.
    pub fn cross(&self, query: usize, key: usize) -> [[Pos2; 2]; 2] {
        const REACH_PT: f32 = 4.0;
        let [from, to] = self.line(query, key);
        let middle = from.lerp(to, 0.5);
        [1.0, -1.0].map(|turn| {
            let arm = vec2(REACH_PT, turn * REACH_PT);
            [middle - arm, middle + arm]
        })
    }

    /// Queries and keys that touch `y`.
    pub fn rows_in(&self, y: Rangef) -> [Range<usize>; 2] {
        [TokenColumn::Query, TokenColumn::Key].map(|column| {
            let row = |y: f32| (y - self.shift[column as usize]) / self.row_height;
            let n = self.n_tokens(column);
            let first = row(y.min).floor().max(0.0) as usize;
            let last = row(y.max).ceil().max(0.0) as usize;
            first.min(n)..last.min(n)
        })
    }

    /// Queries and keys that the line mesh covers: the visible ones and some around, in steps.
    pub fn mesh_rows(&self, visible: &[Range<usize>; 2]) -> [Range<usize>; 2] {
        [TokenColumn::Query, TokenColumn::Key].map(|column| {
            let visible = &visible[column as usize];
            let first = visible.start / ROW_BLOCK * ROW_BLOCK;
            let last = visible.end.div_ceil(ROW_BLOCK) * ROW_BLOCK;
            first..last.min(self.n_tokens(column))
        })
    }

    /// The space for lines beside `rows` (queries, keys).
    pub fn lines_extent(&self, rows: &[Range<usize>; 2]) -> Rect {
        self.placed_rect(Rect::from_x_y_ranges(self.lines, self.beside(rows)))
    }

    /// What `rows` take along the columns.
    fn beside(&self, rows: &[Range<usize>; 2]) -> Rangef {
        let sides = [TokenColumn::Query, TokenColumn::Key].map(|column| {
            let rows = &rows[column as usize];
            Rangef::new(self.row(column, rows.start).min, self.row(column, rows.end).min)
        });
        Rangef::new(sides[0].min.min(sides[1].min), sides[0].max.max(sides[1].max))
    }

    /// The line nearest to `at`, at most `reach` away, and less for one that is hardly seen. Of lines that are equally near
    /// to a pixel, the strongest.
    pub fn line_at(&self, at: Pos2, lines: &[Line], reach: f32) -> Option<Pointed> {
        let at = self.in_columns(at);
        if !self.lines.contains(at.x) {
            return None;
        }
        let t = (at.x - self.lines.min) / self.lines.span().max(1.0);
        let distance = |line: &Line| {
            let [a, b] = self.ends(line.query as usize, line.key as usize);
            let across = (b.y - a.y).mul_add(self.eased(t), a.y) - at.y;
            // Vertical distance to distance from the line.
            across.abs() * self.lines.span() / self.lines.span().hypot(b.y - a.y)
        };
        // What is hardly seen is not meant from afar.
        let reach_of = |line: &Line| reach * (line.weight / VISIBLE_WEIGHT).min(1.0);
        let near = lines.iter().map(|line| (distance(line), line)).filter(|(far, line)| *far <= reach_of(line));
        let best =
            near.max_by(|(da, a), (db, b)| db.round().total_cmp(&da.round()).then(a.weight.total_cmp(&b.weight)));
        best.map(|(_, line)| Pointed::Pair(line.query as usize, line.key as usize))
    }

    fn row(&self, column: TokenColumn, position: usize) -> Rangef {
        let top = self.shift[column as usize] + position as f32 * self.row_height;
        Rangef::new(top, top + self.row_height)
    }
}

/// One line to draw.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    pub head: u32,
    pub query: u32,
    pub key: u32,
    pub weight: f32,
}

/// The lines that start or end in `rows` (queries, keys), weakest first so that strong ones end up on top; at most
/// `max`, the strongest. The second value says how many there were.
pub fn visible_lines<'a>(
    heads: impl IntoIterator<Item = (usize, &'a EdgeSet)>,
    rows: &[Range<usize>; 2],
    max: usize,
) -> (Vec<Line>, usize) {
    let mut lines = Vec::new();
    for (head, set) in heads {
        let in_sight = |query: u32, key: u32| rows[0].contains(&(query as usize)) || rows[1].contains(&(key as usize));
        let visible = set.edges.iter().filter(|edge| in_sight(edge.query, edge.key));
        lines.extend(visible.map(|edge| Line {
            head: head as u32,
            query: edge.query,
            key: edge.key,
            weight: edge.weight,
        }));
    }
    let n_all = lines.len();
    if n_all > max {
        lines.select_nth_unstable_by(max, |a, b| b.weight.total_cmp(&a.weight));
        lines.truncate(max);
    }
    lines.sort_unstable_by(|a, b| a.weight.total_cmp(&b.weight));
    (lines, n_all)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(width: f32, n: usize) -> HeadsLayout {
        HeadsLayout::compute(HeadsLayoutInput {
            width,
            height: 500.0,
            n_query: n,
            n_key: n,
            text_widths: [80.0, 60.0],
            strip: STRIP_PT,
            placing: Placing::Columns,
            from_right: false,
        })
    }

    #[test]
    fn short_inputs_stand_in_the_middle_with_rows_of_bounded_height() {
        let layout = layout(1600.0, 5);
        assert_eq!(layout.row_height, MAX_ROW_PT);
        assert!(layout.lines.span() <= MAX_LINES_PT[0]);
        let (left, right) = (layout.queries.min, 1600.0 - layout.keys.max);
        assert!((left - right).abs() <= 1.0, "{left} free at the left, {right} at the right");
    }

    #[test]
    fn long_inputs_scroll_instead_of_shrinking_their_text() {
        let layout = layout(800.0, 512);
        assert_eq!(layout.row_height, MIN_ROW_PT);
        assert_eq!(layout.height(), 512.0 * MIN_ROW_PT);
        assert_eq!(layout.rows_in(Rangef::new(180.0, 360.0)), [10..20, 10..20]);
        assert_eq!(layout.mesh_rows(&[10..20, 10..20]), [8..24, 8..24]);
    }

    #[test]
    fn the_shorter_column_keeps_in_sight_while_the_longer_one_scrolls() {
        let input = HeadsLayoutInput {
            width: 800.0,
            height: 500.0,
            n_query: 7,
            n_key: 200,
            text_widths: [80.0, 60.0],
            strip: STRIP_PT,
            placing: Placing::Columns,
            from_right: false,
        };
        let layout = HeadsLayout::compute(input);
        for top in [0.0, 1000.0, layout.height() - 500.0] {
            let viewport = Rangef::new(top, top + 500.0);
            let scrolled = layout.scrolled(viewport);
            assert_eq!(scrolled.rows_in(viewport)[0], 0..7, "all queries at {top}");
            assert!(scrolled.rows_in(viewport)[1].len() < 30);
        }
        let end = layout.scrolled(Rangef::new(layout.height() - 500.0, layout.height()));
        let bottom = |column, position| end.token_rect(column, position).bottom();
        assert!((bottom(TokenColumn::Query, 6) - bottom(TokenColumn::Key, 199)).abs() < 1.0, "both end together");
        assert_eq!(layout.scrolled(Rangef::new(0.0, 9000.0)), layout, "nothing moves where everything fits");
    }

    #[test]
    fn lines_to_tokens_that_are_far_away_leave_at_the_edge() {
        let whole = layout(800.0, 9_000);
        let layout = whole.leaving(&[400..440, 400..440]);
        let edges = [400.0, 440.0].map(|row: f32| row * layout.row_height);
        assert_eq!(layout.line(420, 3)[1].y, edges[0], "up");
        assert_eq!(layout.line(420, 8_000)[1].y, edges[1], "down");
        assert_eq!(layout.line(420, 430), whole.line(420, 430), "within the window nothing changes");
    }

    #[test]
    fn columns_follow_each_other_and_stay_inside_a_narrow_area() {
        let layout = layout(300.0, 10);
        assert_eq!(layout.queries.max, layout.query_strip.min);
        assert_eq!(layout.lines.max, layout.key_strip.min);
        assert!(layout.keys.max <= 300.5, "{layout:?}");
    }

    #[test]
    fn the_pointer_finds_the_line_it_is_on() {
        let layout = layout(800.0, 10);
        let line = |query, key, weight| Line { head: 0, query, key, weight };
        let lines = [line(0, 0, 0.5), line(2, 6, 0.1), line(6, 2, 0.9)];
        let [a, b] = layout.line(2, 6);
        let quarter = a.lerp(b, 0.25);
        assert_eq!(layout.line_at(quarter, &lines, 4.0), Some(Pointed::Pair(2, 6)));
        // Where both cross, the stronger one wins.
        assert_eq!(layout.line_at(a.lerp(b, 0.5), &lines, 4.0), Some(Pointed::Pair(6, 2)));
        assert_eq!(layout.line_at(pos2(quarter.x, 9.0 * layout.row_height), &lines, 4.0), None);
    }

    #[test]
    fn a_line_that_is_hardly_seen_is_found_from_nearby_alone() {
        let layout = layout(800.0, 10);
        let found = |weight: f32, far: f32| {
            let [a, b] = layout.line(4, 4);
            let lines = [Line { head: 0, query: 4, key: 4, weight }];
            layout.line_at(a.lerp(b, 0.5) + vec2(0.0, far), &lines, 4.0).is_some()
        };
        assert!(found(0.5, 3.0) && !found(0.02, 3.0), "from a little further off");
        assert!(found(0.5, 0.0) && found(0.02, 0.0), "on the line");
    }

    fn rows(width: f32, n: usize, from_right: bool) -> HeadsLayout {
        HeadsLayout::compute(HeadsLayoutInput {
            width,
            height: 500.0,
            n_query: n,
            n_key: n,
            text_widths: [50.0, 30.0],
            strip: STRIP_PT,
            placing: Placing::Rows,
            from_right,
        })
    }

    #[test]
    fn in_two_rows_queries_stand_above_their_keys_from_left_to_right_or_from_right_to_left() {
        for from_right in [false, true] {
            let layout = rows(900.0, 6, from_right);
            let cell = |column, position| layout.token_rect(column, position);
            assert!(cell(TokenColumn::Query, 2).bottom() < cell(TokenColumn::Key, 2).top());
            assert_eq!(cell(TokenColumn::Query, 1).left() > cell(TokenColumn::Query, 0).left(), !from_right);
            let [from, to] = layout.line(1, 4);
            assert!(cell(TokenColumn::Query, 1).x_range().contains(from.x));
            assert!(cell(TokenColumn::Key, 4).x_range().contains(to.x));
            let lines = [Line { head: 0, query: 1, key: 4, weight: 0.5 }];
            assert_eq!(layout.line_at(from.lerp(to, 0.3), &lines, 4.0), Some(Pointed::Pair(1, 4)));
            let seen = layout.seen(cell(TokenColumn::Query, 3).shrink(1.0));
            assert_eq!(layout.rows_in(seen)[0], 3..4);
        }
    }

    #[test]
    fn names_in_a_row_are_turned_where_they_have_no_room() {
        assert_eq!(rows(900.0, 6, false).lie, Lie::Level);
        let many = rows(900.0, 40, false);
        assert_eq!(many.lie, Lie::Turned);
        assert!(many.row_height >= MIN_ROW_PT);
        assert!(reads_from_right(["שלום", "a"]) && !reads_from_right(["word", "א"]) && !reads_from_right([]));
    }
}
