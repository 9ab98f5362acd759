//! Small multiples: many maps of one kind on a sheet. Scale, names of tokens and legend stand once, at the edge of the
//! sheet; what is left is the maps'.

use std::f32::consts::FRAC_PI_2;

use emath::{Pos2, Rect, Vec2, pos2, vec2};

use super::{
    font::Align,
    legend::Legend,
    list::{Rgba, Sampling},
    measure::{
        GRID,
        text_size::{BODY, SMALL},
    },
    page::{Captions, Scene},
    pen::Pen,
};
use crate::capture::RgbaBuffer;

/// Smallest text: four points on paper.
const LEAST_PT: f32 = 5.5;
/// Names of tokens along a side take no more than this, and no more than this part of the sheet.
const MAX_NAMES_PT: f32 = 120.0;
const MAX_NAMES: f32 = 0.14;
/// Free space between maps: a part of their width, within these.
const GAP: f32 = 0.05;
const GAP_PT: (f32, f32) = (1.0, 10.0);
/// The bar of the scale.
const BAR_PT: Vec2 = vec2(120.0, 7.0);
/// Height of a line of text with its free space.
const LINE_PT: f32 = 16.0;
/// Widths that suit a map and a sheet.
const MAP_PT: f32 = 150.0;
const SHEET_PT: (f32, f32) = (320.0, 1040.0);
/// Least width of a map, and least height: a texture.
const LEAST_MAP_PT: f32 = 6.0;

/// A map that can stand among others of its kind.
pub trait SmallMap {
    /// Its height where its width is 1.
    fn proportion(&self) -> f32;
    /// What stands along its sides.
    fn names(&self) -> Names;
    /// Draws it alone, without names, scale and legend.
    fn draw_alone(&self, rect: Rect, pen: &mut Pen<'_>);
    /// What its colours mean.
    fn scale(&self) -> Option<Scale>;
    /// What its sides are, in a few words.
    fn note(&self) -> &'static str;
    /// Height of a legend below all maps, beside that of [`Scene::legend`].
    fn foot_height(&self) -> f32 {
        0.0
    }
    /// Draws that legend for all maps.
    fn draw_foot(&self, _area: Rect, _pen: &mut Pen<'_>) {}
}

/// Names along the sides of a map.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Names {
    /// At the left, from the top.
    pub rows: Vec<String>,
    pub cols: Vec<String>,
    pub cols_at: ColsAt,
}

/// Where the second names stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColsAt {
    /// Below the map, turned.
    #[default]
    Below,
    /// At its right, from the top.
    Right,
}

/// A scale of colours.
#[derive(Clone, Debug, PartialEq)]
pub struct Scale {
    /// From the first to the last, equally far apart.
    pub colors: Vec<Rgba>,
    /// Numbers at its ends.
    pub ends: [String; 2],
    /// What they count.
    pub name: &'static str,
}

/// A map with its title, and its layer and head where it is of one.
pub struct Titled {
    pub title: String,
    pub place: Option<(usize, usize)>,
    pub scene: Box<dyn Scene>,
}

/// The sheet.
pub struct SmallSheet {
    maps: Vec<Titled>,
    n_cols: usize,
    names: Names,
    scale: Option<Scale>,
    legend: Option<Legend>,
    captions: Captions,
    /// Whether every row is a layer and every column a head, so that the edges name them.
    is_grid: bool,
}

/// How the names along a side are written.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Labels {
    None,
    /// Every name, this large.
    Names(f32),
    /// Numbers, one in so many.
    Numbers(usize),
}

/// Where everything stands, from the left top corner.
struct Layout {
    map: Vec2,
    gap: f32,
    /// Left top corner of the first map.
    origin: Vec2,
    /// Height of the title above each map.
    title: f32,
    rows: Labels,
    cols: Labels,
    /// Room of the names at the left and of those at the right or below.
    room: [f32; 2],
    /// Height of everything.
    height: f32,
}

impl SmallSheet {
    /// A sheet of maps that agree in names and scale.
    ///
    /// # Errors
    /// The maps, where they do not agree, or where one is no such map.
    pub fn new(maps: Vec<Titled>, n_cols: usize, captions: Captions) -> Result<Self, Vec<Titled>> {
        let Some(first) = maps.first().and_then(|map| map.scene.small()).filter(|_| maps.len() > 1) else {
            return Err(maps);
        };
        let (names, scale) = (first.names(), first.scale());
        let agrees =
            |map: &Titled| map.scene.small().is_some_and(|small| small.names() == names && small.scale() == scale);
        if !maps.iter().all(agrees) {
            return Err(maps);
        }
        let mut legends = maps.iter().map(|map| map.scene.legend());
        let joined = legends.next().flatten().and_then(|first| legends.try_fold(first, |all, next| all.joined(next?)));
        // Titles name the heads, where each map is of one.
        let is_titled =
            maps.iter().all(|map| map.place.is_some() && map.scene.legend().is_none_or(|it| it.marks.len() < 2));
        let legend = joined.map(|legend| if is_titled { legend.without_marks() } else { legend });
        let n_cols = n_cols.clamp(1, maps.len());
        let place = |row: usize, col: usize| maps.get(row * n_cols + col).map(|map| map.place);
        let is_grid = (0..maps.len()).all(|nth| {
            let (row, col) = (nth / n_cols, nth % n_cols);
            let (own, of_row, of_col) = (maps[nth].place, place(row, 0).flatten(), place(0, col).flatten());
            own.is_some_and(|own| of_row.map(|it| it.0) == Some(own.0) && of_col.map(|it| it.1) == Some(own.1))
        });
        Ok(Self { maps, n_cols, names, scale, legend, captions, is_grid })
    }

    fn small(&self) -> Option<&dyn SmallMap> {
        self.maps.first().and_then(|map| map.scene.small())
    }

    fn n_rows(&self) -> usize {
        self.maps.len().div_ceil(self.n_cols)
    }

    /// Height of note and scale above the maps: beside each other where both fit.
    fn band(&self, width: f32, pen: &mut Pen<'_>) -> f32 {
        let note = self.small().map_or(0.0, |small| pen.type_.width(small.note(), SMALL));
        let scale = self.scale.as_ref().map_or(0.0, |scale| scale.width(pen));
        match (note > 0.0, scale > 0.0) {
            (false, false) => 0.0,
            (true, true) if note + scale + 4.0 * GRID > width => 2.0 * LINE_PT,
            _ => LINE_PT,
        }
    }

    /// Lays everything out in a width; a height that is given is not exceeded.
    fn layout(&self, width: f32, height: Option<f32>, pen: &mut Pen<'_>) -> Layout {
        let (n_cols, n_rows) = (self.n_cols as f32, self.n_rows() as f32);
        let proportion = self.small().map_or(1.0, SmallMap::proportion).max(0.01);
        let row_title = if self.is_grid { self.widest_layer(pen).min(0.05 * width) + GRID } else { 0.0 };
        let foot = self.small().map_or(0.0, SmallMap::foot_height);
        let legend = self.legend.as_ref().map_or(0.0, |legend| legend.height(width, pen)) + foot;
        let top = self.band(width, pen) + if self.is_grid { LINE_PT } else { 0.0 };
        let most = (MAX_NAMES * width).min(MAX_NAMES_PT);
        let (mut rows, mut cols, mut room) = (Labels::None, Labels::None, [0.0; 2]);
        let (mut map, mut gap, mut title) = (Vec2::splat(1.0), GAP_PT.0, 0.0);
        // Names depend on the size of the maps, and that on the room of the names: a few rounds settle it.
        for _ in 0..4 {
            let right = if self.names.cols_at == ColsAt::Right { room[1] } else { 0.0 };
            let below = if self.names.cols_at == ColsAt::Below { room[1] } else { 0.0 };
            let free = width - row_title - room[0] - right;
            gap = (GAP * free / n_cols).clamp(GAP_PT.0, GAP_PT.1);
            let wide = ((free - gap * (n_cols - 1.0)) / n_cols).max(1.0);
            title = if self.is_grid { 0.0 } else { title_size(wide) + 2.0 };
            map = vec2(wide, wide * proportion);
            if let Some(height) = height {
                let high = (height - top - below - legend - gap * (n_rows - 1.0)) / n_rows - title;
                if high < map.y {
                    map = vec2(high.max(1.0) / proportion, high.max(1.0));
                }
            }
            rows = labels(self.names.rows.len(), map.y);
            let along = if self.names.cols_at == ColsAt::Right { map.y } else { map.x };
            cols = labels(self.names.cols.len(), along);
            room = [Self::room(rows, &self.names.rows, most, pen), Self::room(cols, &self.names.cols, most, pen)];
        }
        let right = if self.names.cols_at == ColsAt::Right { room[1] } else { 0.0 };
        let below = room[1] - right;
        let used = row_title + room[0] + n_cols * map.x + (n_cols - 1.0) * gap + right;
        let origin = vec2((width - used).max(0.0) / 2.0 + row_title + room[0], top);
        let height = top + n_rows * (title + map.y) + (n_rows - 1.0) * gap + below + legend;
        Layout { map, gap, origin, title, rows, cols, room, height }
    }

    /// Room that names along a side take.
    fn room(labels: Labels, names: &[String], most: f32, pen: &mut Pen<'_>) -> f32 {
        match labels {
            Labels::None => 0.0,
            Labels::Names(size) => pen.widest(names.iter().map(String::as_str), size).min(most) + GRID,
            Labels::Numbers(_) => pen.type_.width(&names.len().to_string(), LEAST_PT) + GRID,
        }
    }

    fn widest_layer(&self, pen: &mut Pen<'_>) -> f32 {
        let layers: Vec<String> = self.maps.iter().filter_map(|map| Some(format!("L{}", map.place?.0))).collect();
        pen.widest(layers.iter().map(String::as_str), SMALL)
    }

    /// Where each map stands.
    fn rects(&self, layout: &Layout, corner: Pos2) -> Vec<Rect> {
        let step = layout.map + vec2(layout.gap, layout.gap + layout.title);
        let first = corner + layout.origin + vec2(0.0, layout.title);
        let place = |nth: usize| vec2((nth % self.n_cols) as f32, (nth / self.n_cols) as f32);
        (0..self.maps.len()).map(|nth| Rect::from_min_size(first + place(nth) * step, layout.map)).collect()
    }

    fn draw_band(&self, area: Rect, pen: &mut Pen<'_>) {
        let weak = pen.palette.text_weak;
        let y = area.top() + SMALL / 2.0 + 1.0;
        if let Some(small) = self.small() {
            let note = pen.type_.fit(small.note(), SMALL, area.width()).into_owned();
            pen.text(&note, SMALL, weak, pos2(area.left(), y), Align::Left);
        }
        if let Some(scale) = &self.scale {
            let y = if self.band(area.width(), pen) > LINE_PT { y + LINE_PT } else { y };
            scale.draw(pos2(area.right(), y), area.width(), pen);
        }
    }

    /// Layers at the left and heads above, where rows and columns are theirs; else a title above each map.
    fn draw_titles(&self, layout: &Layout, rects: &[Rect], pen: &mut Pen<'_>) {
        let color = pen.palette.text;
        if !self.is_grid {
            let size = title_size(layout.map.x);
            for (map, rect) in self.maps.iter().zip(rects) {
                let title = pen.type_.fit(&map.title, size, layout.map.x).into_owned();
                pen.text(&title, size, color, rect.left_top() - vec2(0.0, layout.title / 2.0), Align::Left);
            }
            return;
        }
        let place = |nth: usize| self.maps.get(nth).and_then(|map| map.place);
        let size = (0.9 * layout.map.y).clamp(LEAST_PT, SMALL);
        for (nth, rect) in rects.iter().enumerate().step_by(self.n_cols) {
            let Some((layer, _)) = place(nth) else { continue };
            let at = pos2(rect.left() - layout.room[0] - GRID / 2.0, rect.center().y);
            pen.text(&format!("L{layer}"), size, color, at, Align::Right);
        }
        let heads: Vec<String> = (0..self.n_cols).filter_map(|nth| Some(place(nth)?.1.to_string())).collect();
        let wide = pen.widest(heads.iter().map(String::as_str), 1.0);
        let has_letter = pen.type_.width("H", SMALL) + wide * SMALL <= layout.map.x;
        let size = (0.95 * layout.map.x / wide.max(0.1)).clamp(LEAST_PT, SMALL);
        let every = ((wide * size + 2.0) / (layout.map.x + layout.gap)).ceil().max(1.0) as usize;
        for (nth, head) in heads.iter().enumerate().step_by(every) {
            let text = if has_letter { format!("H{head}") } else { head.clone() };
            let Some(rect) = rects.get(nth) else { continue };
            pen.text(&text, size, color, pos2(rect.center().x, rect.top() - LINE_PT / 2.0), Align::Center);
        }
    }

    /// Names of tokens: at the left of each row of maps, and below the last map of each column or right of each row.
    fn draw_names(&self, layout: &Layout, rects: &[Rect], pen: &mut Pen<'_>) {
        let last = |nth: usize| match self.names.cols_at {
            ColsAt::Below => nth + self.n_cols >= rects.len(),
            ColsAt::Right => (nth + 1).is_multiple_of(self.n_cols) || nth + 1 == rects.len(),
        };
        for (nth, rect) in rects.iter().enumerate() {
            if nth.is_multiple_of(self.n_cols) {
                let side = |part: f32| pos2(rect.left() - GRID / 2.0, rect.top() + part * rect.height());
                Self::draw_side(layout.rows, &self.names.rows, (layout.room[0], Align::Right, 0.0), side, pen);
            }
            if !last(nth) {
                continue;
            }
            match self.names.cols_at {
                ColsAt::Below => {
                    let side = |part: f32| pos2(rect.left() + part * rect.width(), rect.bottom() + GRID / 2.0);
                    let how = (layout.room[1], Align::Right, -FRAC_PI_2);
                    Self::draw_side(layout.cols, &self.names.cols, how, side, pen);
                }
                ColsAt::Right => {
                    let side = |part: f32| pos2(rect.right() + GRID / 2.0, rect.top() + part * rect.height());
                    Self::draw_side(layout.cols, &self.names.cols, (layout.room[1], Align::Left, 0.0), side, pen);
                }
            }
        }
    }

    fn draw_side(
        labels: Labels,
        names: &[String],
        (room, align, angle): (f32, Align, f32),
        at: impl Fn(f32) -> Pos2,
        pen: &mut Pen<'_>,
    ) {
        let (size, stride) = match labels {
            Labels::None => return,
            Labels::Names(size) => (size, 1),
            Labels::Numbers(stride) => (LEAST_PT, stride),
        };
        let weak = pen.palette.text_weak;
        for (nth, name) in names.iter().enumerate().step_by(stride) {
            let number = nth.to_string();
            let text = if let Labels::Names(_) = labels { name } else { &number };
            let text = pen.type_.fit(text, size, room - GRID / 2.0).into_owned();
            let at = at((nth as f32 + 0.5) / names.len().max(1) as f32);
            pen.turned(&text, size, weak, at, align, angle);
        }
    }
}

impl Scale {
    fn parts(&self) -> [String; 2] {
        let [low, high] = &self.ends;
        [format!("{} {low}", self.name), high.clone()]
    }

    fn width(&self, pen: &mut Pen<'_>) -> f32 {
        self.parts().iter().map(|text| pen.type_.width(text, SMALL)).sum::<f32>() + BAR_PT.x + 2.0 * GRID
    }

    /// Draws it so that it ends at a point; in a narrow sheet the bar is shorter.
    fn draw(&self, end: Pos2, room: f32, pen: &mut Pen<'_>) {
        let lost = (self.width(pen) - room).max(0.0);
        let weak = pen.palette.text_weak;
        let [low, high] = self.parts();
        let right = end.x - pen.text(&high, SMALL, weak, end, Align::Right) - GRID;
        let size = vec2((BAR_PT.x - lost).max(4.0 * GRID), BAR_PT.y);
        let bar = Rect::from_min_size(pos2(right - size.x, end.y - size.y / 2.0), size);
        let pixels = self.colors.iter().flatten().copied().collect();
        pen.picture(bar, &RgbaBuffer { width: self.colors.len(), height: 1, pixels }, Sampling::Crisp);
        pen.frame(bar, 0.75, pen.palette.rule);
        pen.text(&low, SMALL, weak, pos2(bar.left() - GRID, end.y), Align::Right);
    }
}

impl Scene for SmallSheet {
    fn width(&self, _: &mut Pen<'_>) -> f32 {
        (self.n_cols as f32 * MAP_PT).clamp(SHEET_PT.0, SHEET_PT.1)
    }

    fn least_width(&self, _: &mut Pen<'_>) -> f32 {
        self.n_cols as f32 * LEAST_MAP_PT + 60.0
    }

    fn height(&self, width: f32, pen: &mut Pen<'_>) -> f32 {
        self.layout(width, None, pen).height.ceil()
    }

    fn least_height(&self, width: f32, pen: &mut Pen<'_>) -> f32 {
        let least = self.layout(width, Some(0.0), pen);
        least.height + self.n_rows() as f32 * LEAST_MAP_PT
    }

    fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
        let layout = self.layout(area.width(), Some(area.height() + 0.5), pen);
        let rects = self.rects(&layout, area.min);
        self.draw_band(area, pen);
        for (map, rect) in self.maps.iter().zip(&rects) {
            if let Some(small) = map.scene.small() {
                small.draw_alone(*rect, pen);
            }
        }
        self.draw_titles(&layout, &rects, pen);
        self.draw_names(&layout, &rects, pen);
        let below = if self.names.cols_at == ColsAt::Below { layout.room[1] } else { 0.0 };
        let top = rects.last().map_or(area.top(), |rect| rect.bottom() + below);
        let area = Rect::from_x_y_ranges(area.x_range(), top..=area.bottom().max(top));
        if let Some(legend) = &self.legend {
            legend.draw(area, pen);
        }
        if let Some(small) = self.small().filter(|small| small.foot_height() > 0.0) {
            small.draw_foot(area.with_max_y(top + small.foot_height()), pen);
        }
    }

    fn captions(&self) -> Captions {
        self.captions.clone()
    }
}

/// Every name where it fits, else numbers, else nothing.
fn labels(n: usize, length: f32) -> Labels {
    let pitch = length / n.max(1) as f32;
    let size = (0.95 * pitch).min(SMALL);
    if n == 0 {
        return Labels::None;
    }
    if size >= LEAST_PT {
        return Labels::Names(size);
    }
    // Steps that people count in.
    let least = (1.4 * LEAST_PT / pitch).ceil() as usize;
    let stride = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].into_iter().find(|&step| step >= least);
    stride.filter(|stride| *stride < n).map_or(Labels::None, Labels::Numbers)
}

/// Size of a title above a map of this width.
fn title_size(width: f32) -> f32 {
    (width / 6.0).clamp(LEAST_PT, BODY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{
        FontSource, Item, Typesetter,
        page::{CaptionKind, Page, figure},
        palette::Palette,
    };

    /// A map of as many rows as columns.
    struct Map(usize);

    impl SmallMap for Map {
        fn proportion(&self) -> f32 {
            1.0
        }

        fn names(&self) -> Names {
            let names: Vec<String> = (0..self.0).map(|nth| format!("token{nth}")).collect();
            Names { rows: names.clone(), cols: names, cols_at: ColsAt::Below }
        }

        fn draw_alone(&self, rect: Rect, pen: &mut Pen<'_>) {
            pen.picture(rect, &RgbaBuffer { width: 1, height: 1, pixels: vec![9; 4] }, Sampling::Crisp);
        }

        fn scale(&self) -> Option<Scale> {
            let ends = ["0", "1"].map(str::to_owned);
            Some(Scale { colors: vec![[0; 4], [255; 4]], ends, name: "weight" })
        }

        fn note(&self) -> &'static str {
            "Rows: queries · columns: keys"
        }
    }

    impl Scene for Map {
        fn width(&self, _: &mut Pen<'_>) -> f32 {
            300.0
        }

        fn least_width(&self, _: &mut Pen<'_>) -> f32 {
            200.0
        }

        fn height(&self, width: f32, _: &mut Pen<'_>) -> f32 {
            width
        }

        fn least_height(&self, _: f32, _: &mut Pen<'_>) -> f32 {
            200.0
        }

        fn draw(&self, _: Rect, _: &mut Pen<'_>) {}

        fn captions(&self) -> Captions {
            Captions::default()
        }

        fn small(&self) -> Option<&dyn SmallMap> {
            Some(self)
        }
    }

    fn sheet(grid: [usize; 2], n_tokens: usize) -> SmallSheet {
        let [n_cols, n_rows] = grid;
        let map = |nth: usize| Titled {
            title: format!("L{}H{}", nth / n_cols, nth % n_cols),
            place: Some((nth / n_cols, nth % n_cols)),
            scene: Box::new(Map(n_tokens)),
        };
        let maps = (0..n_cols * n_rows).map(map).collect();
        SmallSheet::new(maps, n_cols, Captions::default()).ok().unwrap()
    }

    #[test]
    fn maps_have_most_of_the_paper_at_any_number_of_heads_and_any_width() {
        for grid in [[4, 2], [8, 6], [12, 12], [32, 32]] {
            for (width, n_tokens) in [(241.0, 14), (482.0, 14), (1701.0, 14), (241.0, 200), (482.0, 200)] {
                let page = Page {
                    palette: Palette::LIGHT,
                    width: Some(width),
                    height: None,
                    caption: CaptionKind::None,
                    title: String::new(),
                    provenance: String::new(),
                };
                let drawn = figure(&page, &sheet(grid, n_tokens), &mut Typesetter::new(FontSource::Bundled));
                let maps: Vec<Rect> = drawn
                    .items
                    .iter()
                    .filter_map(|item| if let Item::Cells(cells) = item { Some(cells) } else { None })
                    .filter(|cells| cells.size == [1, 1])
                    .map(|cells| cells.rect)
                    .collect();
                assert_eq!(maps.len(), grid[0] * grid[1]);
                let share = maps.iter().take(grid[0]).map(Rect::width).sum::<f32>() / width;
                assert!(share >= 0.7, "{grid:?} at {width} points: {share}");
                let paper = Rect::from_min_size(Pos2::ZERO, drawn.size).expand(0.5);
                assert!(maps.iter().all(|map| paper.contains_rect(*map)), "{grid:?} at {width} points");
                let apart =
                    maps.windows(2).all(|pair| pair[0].right() <= pair[1].left() || pair[0].bottom() <= pair[1].top());
                assert!(apart, "{grid:?} at {width} points");
            }
        }
    }

    #[test]
    fn scale_and_names_stand_once() {
        let page = Page {
            palette: Palette::LIGHT,
            width: Some(1701.0),
            height: None,
            caption: CaptionKind::None,
            title: String::new(),
            provenance: String::new(),
        };
        let drawn = figure(&page, &sheet([8, 6], 14), &mut Typesetter::new(FontSource::Bundled));
        let n = |wanted: &str| {
            drawn.items.iter().filter(|item| matches!(item, Item::Text(text) if text.text == wanted)).count()
        };
        assert_eq!((n("weight 0"), n("L5"), n("H7")), (1, 1, 1));
        assert_eq!(n("token13"), 8 + 6, "left of each row and below each column");
    }

    #[test]
    fn names_give_way_to_numbers_and_those_to_nothing() {
        assert_eq!(labels(14, 140.0), Labels::Names(9.5));
        assert_eq!(labels(14, 40.0), Labels::Numbers(5));
        assert_eq!(labels(14, 6.0), Labels::None);
        assert_eq!(labels(0, 100.0), Labels::None);
    }

    #[test]
    fn maps_that_do_not_agree_are_no_small_multiples() {
        let map = |n| Titled { title: String::new(), place: None, scene: Box::new(Map(n)) };
        assert!(SmallSheet::new(vec![map(3), map(4)], 2, Captions::default()).is_err());
        assert!(SmallSheet::new(vec![map(3)], 1, Captions::default()).is_err(), "one map is no sheet");
    }
}
