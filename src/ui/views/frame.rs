//! The frame of a view: its question above it, and below it the row with its scale, how much of what there is it shows,
//! and what that is worth.

use eframe::egui::{
    Align, Button, Label, Layout, Popup, Rect, RichText, ScrollArea, Ui, UiBuilder, Vec2,
    containers::scroll_area::ScrollSource, vec2,
};

use super::{lab::explained_output, scale::Footer, source, text_width};
use crate::{
    analysis::reading::RowLabels,
    figure::{
        FigureExtent,
        views::{Pinned, Topic},
    },
    text::grouped,
    ui::{
        ViewCtx,
        theme::{GRID, text_size},
    },
};

/// Height of the row below a view.
pub const SCALE_PT: f32 = 7.0 * GRID;
/// A view needs this; in a smaller pane it scrolls.
const LEAST_VIEW: Vec2 = vec2(72.0 * GRID, 63.0 * GRID);
/// A caveat is cut to no less than this, and then to its mark.
const LEAST_CAVEAT_PT: f32 = 36.0 * GRID;
const MARK_PT: f32 = 6.0 * GRID;

/// The question of what a pane shows; `None` before there is anything.
pub fn question(cx: &ViewCtx<'_>) -> Option<String> {
    if let Some(folder) = cx.document.folder() {
        let (name, head) = (folder.name(), cx.pane.selection.head);
        return Some(match cx.pane.view.spec().extent {
            FigureExtent::Stack => format!("Which numbers does the folder {name} have of each head?"),
            FigureExtent::Head | FigureExtent::Layer => format!("Where is {head} active, by the folder {name}?"),
        });
    }
    topic(cx).map(|topic| (cx.pane.view.spec().question)(&topic))
}

/// What a pane shows. What is under the pointer has no part in it.
fn topic<'a>(cx: &ViewCtx<'a>) -> Option<Topic<'a>> {
    let capture = cx.document.latest_capture()?;
    let (pane, selection) = (cx.pane, &cx.pane.selection);
    let facts = pane.view.facts();
    let heads = match pane.view.spec().extent {
        FigureExtent::Stack => Vec::new(),
        FigureExtent::Head | FigureExtent::Layer if facts.draws_weights => source::drawn_heads(cx),
        FigureExtent::Head | FigureExtent::Layer => vec![pane.cell(cx.document)],
    };
    let minus = pane.minus.filter(|_| facts.draws_weights).map(|minus| match cx.other {
        Some(other) if minus.document != cx.document.id => format!("{} of {}", minus.head, other.title()),
        _ => minus.head.to_string(),
    });
    Some(Topic {
        capture,
        stack: selection.stack(),
        heads,
        together: pane.options.reading.together.filter(|_| facts.draws_weights).map(|together| together.how.name()),
        minus,
        against: cx.against.filter(|_| facts.contrasts).map(|other| cx.document.told_from(other)),
        pinned: Pinned { query: selection.pinned.query, key: selection.pinned.key },
        merging: pane.options.reading.merging,
        writes: pane.options.reading.row_labels(capture, selection.stack()) == RowLabels::Written,
        explained: pane.explained(),
        output: explained_output(cx),
        n_inputs: pane.cloud(cx.document).map_or(1, |cloud| cloud.n_inputs()),
        options: &pane.options,
    })
}

/// How many inputs of a corpus that is still run are shown.
fn part_text(cx: &ViewCtx<'_>) -> Option<String> {
    let corpus = cx.document.corpus.as_ref().filter(|corpus| corpus.data.is_pending())?;
    let cloud = cx.pane.cloud(cx.document).filter(|_| cx.pane.view.facts().reads_corpus)?;
    Some(format!("{} of {} inputs", grouped(cloud.n_inputs()), grouped(corpus.progress?.n_inputs)))
}

/// Draws the row below a view: the scales of its colours, how much of what there is it shows, and a caveat, which is
/// whole under the pointer and on click.
pub fn scale_ui(ui: &mut Ui, cx: &ViewCtx<'_>, rect: Rect, shown: Option<&Footer>) {
    let Some(topic) = topic(cx) else { return };
    ui.painter().rect_filled(rect.with_max_y(rect.top() + 1.0), 0, cx.theme.rule);
    let caveat = format!("{}.", (cx.pane.view.spec().caveat)(&topic));
    let inner = rect.shrink2(vec2(3.0 * GRID, 0.0));
    let layout = Layout::left_to_right(Align::Center);
    ui.scope_builder(UiBuilder::new().id_salt("scale").max_rect(inner).layout(layout), |ui| {
        ui.spacing_mut().item_spacing.x = 4.0 * GRID;
        for scale in shown.iter().flat_map(|shown| &shown.scales) {
            scale.ui(ui, cx.theme);
        }
        let small = |text: &str| RichText::new(text).size(text_size::SMALL).color(cx.theme.text_weak);
        let part = part_text(cx).map_or_else(String::new, |part| format!("{part} · "));
        let words = shown.map(|shown| format!("{part}{}", shown.words));
        let whole = format!("⚠ {}", caveat.trim_end_matches('.'));
        // Where both do not fit, what is shown comes first, and of the caveat its mark is left.
        let width = |text: &str| text_width::width(ui.painter(), text, text_size::SMALL);
        let left =
            ui.available_width() - words.as_ref().map_or(0.0, |words| width(words) + ui.spacing().item_spacing.x);
        let text = if left >= width(&whole).min(LEAST_CAVEAT_PT) { &whole } else { "⚠" };
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            let button = ui.scope(|ui| {
                ui.set_max_width(left.max(MARK_PT));
                ui.add(Button::new(small(text)).truncate().frame(false))
            });
            let button = button.inner.accessible_name(&whole).on_hover_text(&caveat);
            Popup::menu(&button).accessible_name("Caveat").show(|ui| ui.label(&caveat));
            if let Some(words) = words {
                let label = ui.with_layout(layout, |ui| ui.add(Label::new(small(&words)).truncate()));
                label.inner.on_hover_text(&words);
            }
        });
    });
}

/// Draws what stands in a pane; where the pane is too small for it, it scrolls.
pub fn scrolled_ui<R>(ui: &mut Ui, contents: impl FnOnce(&mut Ui) -> R) -> R {
    at_least_ui(ui, LEAST_VIEW, contents)
}

/// Draws what needs a size; where there is less room, it scrolls by its bars: the wheel zooms.
pub fn at_least_ui<R>(ui: &mut Ui, least: Vec2, contents: impl FnOnce(&mut Ui) -> R) -> R {
    let room = ui.available_size();
    if room.x >= least.x && room.y >= least.y {
        return contents(ui);
    }
    let bars = ScrollSource { mouse_wheel: false, ..ScrollSource::default() };
    let scroll = ScrollArea::both().id_salt("small pane").scroll_source(bars).auto_shrink(false);
    let shown = scroll.show(ui, |ui| {
        let rect = Rect::from_min_size(ui.min_rect().min, ui.available_size().max(least));
        ui.scope_builder(UiBuilder::new().max_rect(rect), contents).inner
    });
    shown.inner
}
