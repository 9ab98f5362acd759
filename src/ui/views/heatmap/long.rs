//! The Heatmap of a text whose pattern is too long to be held whole.

use eframe::egui::Ui;

use super::{Cells, HeatmapView, readout};
use crate::{
    analysis::reading::{long::Pool, store::CapturePair},
    capture::Capture,
    session::ColorScale,
    text::share_text,
    ui::{
        ViewCtx,
        views::{
            controls,
            groups::HeadGroups,
            overview::Look,
            scale::Footer,
            selectors::{self, HeadsIn},
            source, states,
            texture::HeadThumbs,
        },
    },
};

impl HeatmapView {
    /// Draws the view of a long text, and gives what stands below it: its cells come as they are read, the sharper the nearer one looks.
    pub(super) fn long_ui(
        &mut self,
        ui: &mut Ui,
        cx: &ViewCtx<'_>,
        capture: &Capture,
        subject: &CapturePair,
    ) -> Option<Footer> {
        let options = cx.pane.options.heatmap;
        let reading = source::shown(cx, capture);
        let look = Look {
            map: options.color_map.on(cx.theme.palette.ground),
            log: options.scale == ColorScale::Log,
            pool: options.pool,
        };
        if let Some(nothing) = source::nothing_left(cx, capture, cx.pane.selection.head.stack) {
            nothing.ui(ui, cx);
            return None;
        }
        // What rows and columns are, without a row.
        let whole = cx.patterns.part(subject, &reading, 0..0);
        let refusal = whole.as_ref().and_then(|whole| whole.as_ref().err()).or(self.long.refusal());
        if let Some(refusal) = refusal {
            states::sentence_ui(ui, cx.theme, &refusal.to_string());
            return None;
        }
        let whole = whole?.ok()?;
        let top = ui.cursor().top();
        if self.heads_in == HeadsIn::Pictures {
            let head = cx.pane.selection.head;
            // The large picture comes first.
            if self.long.progress() >= 1.0 {
                self.long_thumbs.update(ui, cx, (subject, head), &whole, (look, None));
            }
            let (n_heads, groups) = (source::n_heads(capture, head), HeadGroups::of(capture, head));
            HeadThumbs::row_ui(self.long_thumbs.shown(cx, capture, head), n_heads, groups, ui, cx);
        }
        let mut cells = std::mem::take(&mut self.long);
        cells.update(ui, cx, (subject, &reading), &whole, look);
        let caption = readout::caption(cx, capture, &whole, cells.mass());
        let caption = format!("{caption}; {}", detail_text(&cells, look.pool));
        let shown = Cells::Long { subject, look, cells: &mut cells };
        let footer = self.plot_ui(ui, cx, capture, (&whole, caption), (&reading, shown), top);
        self.long = cells;
        Some(footer)
    }
}

/// Draws the choosers, with the scale on which something is seen.
pub(super) fn choosers_ui(ui: &mut Ui, cx: &ViewCtx<'_>, heads: HeadsIn) {
    let mut own = |ui: &mut Ui| controls::edit_options(cx, |it| small_weights_ui(ui, &mut it.heatmap.scale));
    let is_log = cx.pane.options.heatmap.scale == ColorScale::Log;
    selectors::choosers_ui(ui, cx, heads, if is_log { None } else { Some(&mut own) });
}

/// What a pixel stands for, and what is still to come.
fn detail_text(cells: &super::LongCells, pool: Pool) -> String {
    let (side, is_sharp) = cells.detail();
    let what = match side {
        1 => "every weight".to_owned(),
        _ => format!("each pixel shows the {} of {side} × {side} weights", pool.name()),
    };
    match (cells.progress(), is_sharp) {
        (progress, _) if progress < 1.0 => format!("{what}; {} read", share_text(progress)),
        (_, false) => format!("{what}, loading"),
        (_, true) => what,
    }
}

/// Proposes the scale on which a pattern of thousands of keys is more than a dark square.
fn small_weights_ui(ui: &mut Ui, scale: &mut ColorScale) {
    let meaning = "Colours on a logarithmic scale: among this many tokens most weights are too small to see on a \
        linear one. The options have both";
    if ui.button("Show small weights").on_hover_text(meaning).clicked() {
        *scale = ColorScale::Log;
    }
}
