//! The heads of the selected layer beside a view of one of them, where that leaves room.

use eframe::egui::{Rect, Ui, UiBuilder, vec2};

use super::{
    GridView,
    shown::{Shown, ShownAs, TITLE_PT},
};
use crate::{
    capture::Capture,
    figure::views::{
        color_map,
        grid::{Places, high, recorded},
        matrix::layout::{COL_LABEL_PT, ROW_LABEL_PT},
    },
    ui::{
        ViewCtx,
        theme::GRID,
        views::{overview::Look, source},
    },
};

/// From this width on free room has them.
const LEAST_PT: f32 = 60.0 * GRID;
/// Between them and the view.
const GAP_PT: f32 = 6.0 * GRID;
/// The most that a map takes.
const MAX_MAP_PT: f32 = 40.0 * GRID;

/// What a view that takes `used` points of an area leaves for the heads of its layer; `None` where that is too little.
pub fn room(area: Rect, used: f32) -> Option<Rect> {
    let free = area.with_min_x(area.left() + used + GAP_PT);
    (free.width() >= LEAST_PT).then_some(free)
}

impl GridView {
    /// Draws the maps of all heads of the selected layer into `area`; a click selects one.
    pub fn beside_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture, area: Rect) {
        let selected = cx.pane.selection.head;
        let layers = recorded(capture, selected.stack);
        let Some(subject) = source::subject(cx) else { return };
        let Some(heads) = layers.iter().find(|heads| heads.first().is_some_and(|it| it.layer == selected.layer)) else {
            return;
        };
        let reading = source::shown_of_head(cx, capture, heads[0]);
        let Some(Ok(whole)) = cx.patterns.part(&subject, &reading, 0..0) else { return };
        let options = &cx.pane.options;
        let look = Look {
            map: color_map(&whole, options.color_map()).on(cx.theme.palette.ground),
            log: options.is_log(),
            pool: options.pool(),
        };
        let n_cols = columns(heads.len(), area);
        let numbered: Vec<_> = heads.iter().map(|head| (*head, None)).collect();
        let places = Places::in_columns(&numbered, n_cols);
        let most = vec2(
            n_cols as f32 * MAX_MAP_PT + ROW_LABEL_PT,
            places.grid().0 as f32 * (MAX_MAP_PT + TITLE_PT) + COL_LABEL_PT,
        );
        let area = Rect::from_min_size(area.min, area.size().min(most));
        let high = high(options.grid, &reading.source);
        let shown = Shown {
            subject: &subject,
            whole: &whole,
            places: &places,
            kinds: None,
            look,
            high,
            cells: ShownAs::Heatmap,
            opens: false,
        };
        ui.scope_builder(UiBuilder::new().id_salt("heads beside").max_rect(area), |ui| {
            self.canvas_ui(ui, cx, capture, &shown);
        });
    }
}

/// How many maps stand beside each other in an area, so that they are as large as they can be, and the rows few.
fn columns(n: usize, area: Rect) -> usize {
    let side = |n_cols: usize| {
        let n_rows = n.div_ceil(n_cols);
        (area.width() / n_cols as f32).min(area.height() / n_rows as f32 - TITLE_PT).min(MAX_MAP_PT)
    };
    (1..=n.max(1)).max_by(|a, b| side(*a).total_cmp(&side(*b))).unwrap_or(1)
}
