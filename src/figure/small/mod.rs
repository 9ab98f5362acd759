//! Small multiples: many maps of one kind on a sheet. Scale, names of tokens and legend stand once, at the edge of the
//! sheet; what is left is the maps'.

use emath::Rect;

use super::{
    legend::Legend,
    page::{Captions, Scene},
    pen::Pen,
};
use crate::raster::ColorMap;

mod draw;
mod layout;

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
    pub map: ColorMap,
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
    /// What sides are.
    note: String,
    scale: Option<Scale>,
    legend: Option<Legend>,
    captions: Captions,
    /// Whether every row is a layer and every column a head, so that the edges name them.
    is_grid: bool,
    /// Row and column of each map.
    places: Vec<[usize; 2]>,
    /// Rows with a heading above them, in order.
    headings: Vec<(usize, String)>,
}

impl SmallSheet {
    /// A sheet of maps that agree in their scale.
    ///
    /// # Errors
    /// The maps, where they do not agree, or where one is no such map.
    pub fn new(maps: Vec<Titled>, n_cols: usize, captions: Captions) -> Result<Self, Vec<Titled>> {
        let Some(first) = maps.first().and_then(|map| map.scene.small()).filter(|_| maps.len() > 1) else {
            return Err(maps);
        };
        let (mut names, scale) = (first.names(), first.scale());
        let mut differ = false;
        for map in &maps {
            let Some(small) = map.scene.small().filter(|small| small.scale() == scale) else { return Err(maps) };
            let own = small.names();
            // What is not the same in all maps, such as a column for what went to no key, is named at no edge.
            for (all, own) in [(&mut names.rows, own.rows), (&mut names.cols, own.cols)] {
                if *all != own {
                    differ = true;
                    all.clear();
                }
            }
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
        let note = maps.first().and_then(|map| map.scene.small()).map_or("", SmallMap::note);
        let note = if differ { format!("{note}, not the same in all maps") } else { note.to_owned() };
        let places = (0..maps.len()).map(|nth| [nth / n_cols, nth % n_cols]).collect();
        Ok(Self { maps, n_cols, names, note, scale, legend, captions, is_grid, places, headings: Vec::new() })
    }

    /// The same with so many maps below each heading, from the first on; each begins a row.
    #[must_use]
    pub fn grouped(mut self, groups: Vec<(String, usize)>) -> Self {
        if groups.is_empty() {
            return self;
        }
        self.is_grid = false;
        self.places.clear();
        let mut first_row = 0;
        for (heading, n) in groups {
            self.places.extend((0..n).map(|nth| [first_row + nth / self.n_cols, nth % self.n_cols]));
            self.headings.push((first_row, heading));
            first_row += n.div_ceil(self.n_cols);
        }
        self
    }

    fn small(&self) -> Option<&dyn SmallMap> {
        self.maps.first().and_then(|map| map.scene.small())
    }

    fn n_rows(&self) -> usize {
        self.places.last().map_or(0, |[row, _]| row + 1)
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
        self.draw_headings(&layout, &rects, pen);
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
#[cfg(test)]
mod tests {
    use emath::Pos2;

    use super::*;
    use crate::capture::RgbaBuffer;
    use crate::figure::{
        About, FontSource, Item, Typesetter,
        list::Sampling,
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
            Some(Scale { map: ColorMap::Greys, ends, name: "weight" })
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
                    about: About::default(),
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
            about: About::default(),
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
    fn groups_begin_a_row_below_their_heading() {
        let page = Page {
            palette: Palette::LIGHT,
            width: Some(482.0),
            height: None,
            caption: CaptionKind::None,
            about: About::default(),
            title: String::new(),
            provenance: String::new(),
        };
        let groups = [("first token · 5 heads", 5), ("no kind · 3 heads", 3)].map(|(text, n)| (text.to_owned(), n));
        let sheet = sheet([4, 2], 14).grouped(groups.to_vec());
        assert_eq!(sheet.places[4..6], [[1, 0], [2, 0]]);
        let drawn = figure(&page, &sheet, &mut Typesetter::new(FontSource::Bundled));
        let of = |wanted: &str| {
            let at = drawn.items.iter().find_map(|item| match item {
                Item::Text(text) if text.text == wanted => Some(text.at.y),
                _ => None,
            });
            at.unwrap_or_else(|| panic!("{wanted} is not there"))
        };
        let maps: Vec<Rect> = drawn
            .items
            .iter()
            .filter_map(|item| if let Item::Cells(cells) = item { Some(cells.rect) } else { None })
            .filter(|rect| (rect.width() / rect.height() - 1.0).abs() < 0.01)
            .collect();
        assert_eq!(maps.len(), 8);
        assert!(of("first token · 5 heads") < maps[0].top(), "above its first map");
        let second = of("no kind · 3 heads");
        assert!(maps[4].bottom() < second && second < maps[5].top(), "between the groups");
        assert!((maps[5].left() - maps[0].left()).abs() < 1e-3, "it begins at the left");
        assert!(maps[7].bottom() <= drawn.size.y);
    }

    #[test]
    fn names_that_are_not_the_same_in_all_maps_stand_at_no_edge() {
        let map = |n| Titled { title: String::new(), place: None, scene: Box::new(Map(n)) };
        let sheet = SmallSheet::new(vec![map(3), map(4), map(3)], 2, Captions::default()).ok().unwrap();
        assert_eq!((sheet.names, sheet.note.ends_with("not the same in all maps")), (Names::default(), true));
        assert!(SmallSheet::new(vec![map(3)], 1, Captions::default()).is_err(), "one map is no sheet");
    }
}
