//! What of all heads is shown in a frame, and where the parts of a cell are. Nothing is drawn here.

use eframe::egui::{Pos2, Rect, Vec2, pos2, vec2};

use crate::{
    analysis::{
        detect::HeadKinds,
        reading::{ReadPattern, store::CapturePair},
    },
    capture::{Capture, ImageInfo},
    figure::views::{
        grid::{CellsAs, Places, layout::HEADING_PT},
        image::{
            layout::{ImageLayout, proportions},
            weights::{OverlayToken, PatchRole, Picks},
        },
        matrix::layout::{COL_LABEL_PT, ROW_LABEL_PT},
    },
    session::Focus,
    ui::{ViewCtx, theme::text_size, views::overview::Look},
};

/// Free border of a cell, as a part of its smaller side.
const PAD: f32 = 0.04;
/// Height of a pinned query's row below the map, as a part of the map's, and free space between them.
const ROW: f32 = 0.18;
const ROW_GAP_PT: f32 = 2.0;
/// Height of a title.
pub const TITLE_PT: f32 = text_size::SMALL + 2.0;
/// Cells from this width have room for a title.
const TITLE_FROM_PT: f32 = 44.0;

/// The input and the way it is shown.
pub struct Shown<'a> {
    pub subject: &'a CapturePair,
    /// Rows and columns of the patterns, without a row.
    pub whole: &'a ReadPattern,
    pub places: &'a Places,
    pub kinds: Option<&'a HeadKinds>,
    pub look: Look,
    /// The value of the last colour, where all heads share it.
    pub high: Option<f32>,
    pub cells: ShownAs<'a>,
    /// Whether a head can be opened from here.
    pub opens: bool,
}

/// What the cells show.
#[derive(Clone, Copy)]
pub enum ShownAs<'a> {
    Heatmap,
    Lines,
    /// The picture, and what is picked on it.
    Overlay(&'a ImageInfo, (OverlayToken, PatchRole)),
}

impl<'a> ShownAs<'a> {
    /// What is wanted, or heatmaps with the reason why there is nothing else.
    pub fn wanted(cx: &ViewCtx<'_>, capture: &'a Capture, is_long: bool) -> (Self, Option<&'static str>) {
        let stack = cx.pane.selection.stack();
        match cx.pane.options.grid.cells {
            CellsAs::Heatmap => (Self::Heatmap, None),
            CellsAs::Lines if is_long => (Self::Heatmap, Some("the text is too long for lines")),
            CellsAs::Lines => (Self::Lines, None),
            CellsAs::Overlay => {
                let picture = capture.image().zip(capture.picture_side()).filter(|_| !is_long);
                let Some((image, picks)) = picture.and_then(|(image, side)| Some((image, Picks::of(stack, side)?)))
                else {
                    return (Self::Heatmap, Some("the keys are no patches of a picture"));
                };
                let Focus { query, key } = cx.pane.selection.pinned;
                (Self::Overlay(image, OverlayToken::held((query, key), picks, image.n_prefix)), None)
            }
        }
    }

    /// Which of the options they are.
    pub const fn kind(&self) -> CellsAs {
        match self {
            Self::Heatmap => CellsAs::Heatmap,
            Self::Lines => CellsAs::Lines,
            Self::Overlay(..) => CellsAs::Overlay,
        }
    }
}

/// The parts of a cell.
pub struct Parts {
    pub map: Rect,
    /// The row of the query that is pinned.
    pub row: Option<Rect>,
    pub title: Option<Pos2>,
}

impl Shown<'_> {
    /// Width of a map where its height is 1; very long ones are shown less long.
    fn aspect(&self) -> f32 {
        match self.cells {
            ShownAs::Heatmap => self.whole.cols.len().max(1) as f32 / self.whole.rows.len().max(1) as f32,
            ShownAs::Lines => 1.0,
            ShownAs::Overlay(image, _) => {
                let size = proportions(image);
                size.x / size.y
            }
        }
        .clamp(0.4, 2.5)
    }

    /// Whether patches of the picture ask.
    pub fn is_of_patches(&self, cx: &ViewCtx<'_>) -> bool {
        self.subject.this.picture_side() == Some(cx.pane.selection.stack().query_side())
    }

    /// The row of the query that is pinned, where cells have it below their map.
    pub fn pinned_row(&self, cx: &ViewCtx<'_>) -> Option<usize> {
        let query = cx.pane.selection.pinned.query.filter(|_| matches!(self.cells, ShownAs::Heatmap))?;
        self.whole.rows.group_of(query)
    }

    /// The room of all cells in `area` below and beside their labels, and what a row of them takes beside its maps.
    fn free(&self, area: Rect) -> (Rect, f32) {
        let by_layer = self.places.by_layer;
        let labels = if by_layer { vec2(ROW_LABEL_PT, COL_LABEL_PT) } else { Vec2::ZERO };
        (Rect::from_min_max(area.min + labels, area.max), if by_layer { 0.0 } else { TITLE_PT })
    }

    /// Width of the cells of so many rows and columns, and by what the height of a map is its width.
    fn width(&self, (n_rows, n_cols): (usize, usize), area: Rect, has_row: bool) -> (f32, f32) {
        let (free, title) = self.free(area);
        let headings = HEADING_PT * self.places.groups.len() as f32;
        let high = (1.0 + if has_row { ROW } else { 0.0 }) / self.aspect();
        let wide = free.width() / n_cols.max(1) as f32;
        (wide.min(((free.height() - headings) / n_rows.max(1) as f32 - title) / high).max(1.0), high)
    }

    /// How many heads stand in a row so that cells are as large as they can be.
    pub fn n_cols(&self, area: Rect, has_row: bool) -> usize {
        let width = |n_cols: usize| self.width((self.places.n_rows_of(n_cols), n_cols), area, has_row).0;
        let most = self.places.heads().count().max(1);
        // Of equal ones the one with the fewest columns.
        (1..=most).rev().max_by(|a, b| width(*a).total_cmp(&width(*b))).unwrap_or(1)
    }

    /// The area of all cells: they fit into `area` below and beside their labels, each as high as its map and row take. The
    /// second is the height of a heading, as a part of a row's.
    pub fn viewport(&self, area: Rect, has_row: bool) -> (Rect, f32) {
        let (free, title) = self.free(area);
        let (n_rows, n_cols) = self.places.grid();
        let n = vec2(n_cols.max(1) as f32, n_rows.max(1) as f32);
        let headings = HEADING_PT * self.places.groups.len() as f32;
        // The height of a cell is its width by this, and its title.
        let (width, high) = self.width((n_rows, n_cols), area, has_row);
        let size = vec2(width, width * high + title) * n + vec2(0.0, headings);
        let heading = HEADING_PT / (width * high + title);
        (Rect::from_min_size(free.min, size.min(free.size().max(Vec2::splat(1.0)))), heading)
    }

    /// The map with its own proportions, a row below it, and a title above it where heads do not stand by layer.
    pub fn parts(&self, cell: Rect, has_row: bool, pixels_per_point: f32) -> Parts {
        let mut free = cell.shrink(PAD * cell.width().min(cell.height()) + 1.0);
        let has_title = !self.places.by_layer && free.width() >= TITLE_FROM_PT;
        let title = has_title.then_some(free.min);
        if has_title {
            free.min.y += TITLE_PT;
        }
        let row_height = if has_row { (free.height() * ROW / (1.0 + ROW) - ROW_GAP_PT).max(2.0) } else { 0.0 };
        let below = if has_row { row_height + ROW_GAP_PT } else { 0.0 };
        let room = Rect::from_min_max(free.min, free.max - vec2(0.0, below));
        let aspect = self.aspect();
        let width = room.width().min(room.height() * aspect);
        // On whole pixels, so that a picture of this size is shown as it is.
        let whole = |length: f32| (length * pixels_per_point).floor().max(1.0) / pixels_per_point;
        let place = |at: f32| (at * pixels_per_point).round() / pixels_per_point;
        let size: Vec2 = vec2(whole(width), whole(width / aspect));
        let map = Rect::from_min_size(pos2(place(room.center().x - size.x / 2.0), place(room.top())), size);
        let row = has_row
            .then(|| Rect::from_min_size(map.left_bottom() + vec2(0.0, ROW_GAP_PT), vec2(map.width(), row_height)));
        Parts { map, row, title }
    }
}

/// The picture in a map.
pub fn on_picture(map: Rect, image: &ImageInfo) -> ImageLayout {
    ImageLayout::bare(map, image)
}
