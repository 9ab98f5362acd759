//! The text itself, each token on the colour of its weight: a token under the pointer is a query or a key, a click holds
//! it, and a sentence of the outline is scrolled to.

use std::sync::Arc;

use eframe::egui::{Align, Rect, Role, ScrollArea, Sense, Ui, WidgetInfo, vec2};

use super::{
    Canvas, controls,
    display_list::PiecePainter,
    hover,
    scale::{Footer, ScaleBar},
    selectors, source, states, text_width, tooltip,
};
use crate::{
    analysis::reading::{Axis, ReadPattern},
    capture::joined_text,
    figure::views::{
        Pinned,
        text::{
            Direction, Passages, TextOptions, TextScene, TextUnit, Tint,
            layout::{Place, TEXT_PT, TextLayout},
            sentence_weights,
        },
    },
    ids::{CaptureId, StackKind},
    raster::ColorMap,
    session::{Command, Focus, SelectionCommand},
    text::weight_text,
    ui::{
        ViewCtx,
        memo::{Memo, Same},
        widgets::{Along, Roving},
    },
};

/// Everything that the drawing depends on, apart from where it is.
type SceneKey = (Same<ReadPattern>, Same<TextLayout>, TextOptions, ColorMap, Focus, Option<u32>);

/// Everything that the texts depend on.
type PassagesKey = (CaptureId, StackKind, [Same<Axis>; 2]);

/// The view with what it remembers between frames.
#[derive(Default)]
pub struct TextView {
    passages: Memo<PassagesKey, Arc<Passages>>,
    tint: Memo<(Same<ReadPattern>, Focus, bool), Arc<Tint>>,
    layout: Memo<(Same<Passages>, TextUnit, [u32; 2]), Arc<TextLayout>>,
    painter: PiecePainter<SceneKey>,
    /// What is shown while the next one is read.
    last: Option<Arc<ReadPattern>>,
    /// What was held in the frame before.
    held: Focus,
}

impl Canvas for TextView {
    fn rest(&mut self) {
        *self = Self { held: self.held, ..Self::default() };
    }

    fn choosers_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) {
        let mut own = |ui: &mut Ui| {
            controls::edit_options(cx, |options| direction_ui(ui, &mut options.text.direction));
        };
        selectors::choosers_ui(ui, cx, selectors::HeadsIn::Row, Some(&mut own));
    }

    fn ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) -> Option<Footer> {
        let capture = cx.document.latest_capture()?;
        let stack = cx.pane.selection.stack();
        if let Some(nothing) = source::nothing_left(cx, capture, stack) {
            nothing.ui(ui, cx);
            return None;
        }
        let read = match source::shown_pattern(cx) {
            Some(Ok(read)) => {
                self.last = Some(Arc::clone(&read));
                read
            }
            Some(Err(refusal)) => {
                states::sentence_ui(ui, cx.theme, &refusal.to_string());
                return None;
            }
            None => self.last.clone().filter(|last| last.stack == stack)?,
        };
        // Parts of a long text share their axes.
        let axes = [&read.rows, &read.cols].map(|axis| Same(Arc::clone(axis)));
        let of_axes = || Arc::new(Passages::of(capture, stack, [&read.rows, &read.cols]));
        let passages = self.passages.get_or_update((capture.id(), stack, axes), of_axes);
        let focus = cx.pane.selection.focus();
        let pinned = Pinned { query: focus.query, key: focus.key };
        let is_mass = cx.pane.options.text.unit == TextUnit::Mass;
        let of_focus = || {
            let masses = is_mass.then(|| sentence_weights(capture, &read)).flatten();
            Arc::new(Tint::of(&read, pinned.in_pattern(&read), masses.as_deref()))
        };
        let tint = self.tint.get_or_update((Same(Arc::clone(&read)), focus, is_mass), of_focus);
        let scene = TextScene {
            tint,
            subject: source::what(cx, &read),
            passages: Arc::clone(&passages),
            options: cx.pane.options.text,
            color_map: cx.pane.options.color_map(),
            pinned,
            high: cx.shared_high.filter(|_| !is_mass),
            read,
        };
        ScrollArea::vertical().auto_shrink(false).id_salt(("text", capture.id().0, stack)).show(ui, |ui| {
            let width = ui.available_width();
            let screen = [width, ui.pixels_per_point()].map(f32::to_bits);
            let key = (Same(Arc::clone(&passages)), scene.options.unit, screen);
            let layout = self.layout.get_or_update(key, || {
                Arc::new(scene.layout(width, &mut |text| text_width::width(ui.painter(), text, TEXT_PT)))
            });
            self.text_ui(ui, cx, &scene, &layout);
        });
        let words = scene.captions().short;
        let colors = crate::figure::views::color_map(&scene.read, scene.color_map).on(cx.theme.palette.ground);
        Some(Footer { words, scales: vec![ScaleBar::of_range(colors, scene.range())] })
    }
}

impl TextView {
    fn text_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>, scene: &TextScene, layout: &Arc<TextLayout>) {
        let size = vec2(ui.available_width(), layout.size.y.max(ui.available_height()));
        let (area, response) = ui.allocate_exact_size(size, Sense::click());
        if response.clicked() {
            cx.send(Command::Select(SelectionCommand::Release));
        }
        response.widget_info(|| WidgetInfo::labeled(Role::Image, true, "Text"));
        let seen = ui.clip_rect();
        let key = (
            Same(Arc::clone(&scene.read)),
            Same(Arc::clone(layout)),
            scene.options,
            scene.color_map,
            cx.pane.selection.focus(),
            scene.high.map(f32::to_bits),
        );
        self.painter.paint(0, (ui.painter(), cx.theme), key, (area, seen), &|pen| {
            scene.draw_text(layout, area.min, pen);
        });
        self.reveal_held(ui, cx, scene, (layout, area));
        outline_ui(ui, scene, layout, area);
        tokens_ui(ui, cx, scene, (layout, area, seen));
    }

    /// Scrolls to a token that has just been pinned somewhere else.
    fn reveal_held(&mut self, ui: &Ui, cx: &ViewCtx<'_>, scene: &TextScene, (layout, area): (&TextLayout, Rect)) {
        let held = cx.pane.selection.pinned;
        if std::mem::replace(&mut self.held, held) == held {
            return;
        }
        let axes = [&*scene.read.rows, &*scene.read.cols];
        let [row, col] = hover::in_pattern(held, axes);
        let is_key_apart = !scene.passages.is_one();
        let of_query = row.and_then(|row| layout.place(false, row));
        let place = of_query.or_else(|| col.and_then(|col| layout.place(is_key_apart, col)));
        if let Some(place) = place.map(|place| place.translate(area.min.to_vec2()))
            && !ui.clip_rect().contains_rect(place)
        {
            ui.scroll_to_rect(place, Some(Align::Center));
        }
    }
}

/// The tokens in sight, each a button: the pointer asks, a click holds.
fn tokens_ui(ui: &Ui, cx: &ViewCtx<'_>, scene: &TextScene, (layout, area, seen): (&TextLayout, Rect, Rect)) {
    let by = area.min.to_vec2();
    let visible = layout.visible([seen.top() - by.y, seen.bottom() - by.y]);
    let roving = Roving::new(ui, ui.scope_id().with("tokens"), &visible);
    if let Some(place) = roving.moved_to().and_then(|nth| layout.places.get(nth)) {
        ui.scroll_to_rect(place.rect.translate(by), None);
    }
    let pinned = cx.pane.selection.pinned;
    let axes = [&*scene.read.rows, &*scene.read.cols];
    for nth in visible {
        let place = layout.places[nth];
        let rect = place.rect.translate(by);
        let is_key = asks_as_key(cx, scene, place);
        let cell = if is_key { [None, Some(place.piece)] } else { [Some(place.piece), None] };
        let here = hover::tokens(cell, axes, scene.read.has_one_row());
        let is_pinned = !here.is_empty()
            && (here.query, here.key) == if is_key { (None, pinned.key) } else { (pinned.query, None) };
        let response = ui.interact(rect, ui.scope_id().with(("token", nth)), roving.sense(nth));
        roving.keys(ui, &response, nth, layout.places.len(), Along::Line);
        response.widget_info(|| {
            let (side, axis) = if is_key { ("Key", axes[1]) } else { ("Query", axes[0]) };
            let name = format!("{side} {} {}", axis.position(place.piece).unwrap_or_default(), axis.text(place.piece));
            WidgetInfo::selected(Role::Button, true, is_pinned, name)
        });
        if response.clicked() && !here.is_empty() {
            // One question at a time: a query and a key at once would have one number.
            let now = if is_pinned { Focus::NONE } else { here };
            cx.send(Command::Select(SelectionCommand::Pin(now)));
        }
        if (response.hovered() || response.has_focus()) && !here.is_empty() {
            hover::report(cx, here);
            tooltip_ui(ui, scene, place);
        }
    }
}

/// Whether a token is asked what looks at it.
fn asks_as_key(cx: &ViewCtx<'_>, scene: &TextScene, place: Place) -> bool {
    if scene.passages.is_one() {
        cx.pane.options.text.direction == Direction::Received || scene.read.has_one_row()
    } else {
        place.is_key
    }
}

/// The number of the token under the pointer, where it has one.
fn tooltip_ui(ui: &Ui, scene: &TextScene, place: Place) {
    let tint = &scene.tint;
    let has_number = scene.passages.is_one() || place.is_key == tint.on_keys;
    let Some(value) = tint.values.get(place.piece).filter(|_| has_number) else { return };
    let axis = if tint.on_keys { &scene.read.cols } else { &scene.read.rows };
    tooltip::at_pointer(ui, |ui| {
        ui.strong(axis.numbered(place.piece));
        let label = if tint.is_mass { "Word × sentence" } else { scene.read.value_label() };
        ui.label(format!("{label} {}", weight_text(*value)));
    });
}

/// Sentences, or other parts, that a click scrolls to.
fn outline_ui(ui: &Ui, scene: &TextScene, layout: &TextLayout, area: Rect) {
    let by = area.min.to_vec2();
    for row in &layout.outline {
        let rect = row.rect.translate(by);
        if !ui.clip_rect().intersects(rect) {
            continue;
        }
        let passage = scene.passages.side(row.is_key);
        let unit = scene.options.unit;
        let Some(range) = passage.parts(unit).ranges.get(row.part).cloned() else { continue };
        let text = || joined_text(&passage.pieces[range.clone()]);
        let response = ui.interact(rect, ui.scope_id().with(("part", row.is_key, row.part)), Sense::click());
        response
            .widget_info(|| WidgetInfo::labeled(Role::Button, true, format!("{}: {}", outlined(unit), text().trim())));
        let place = layout.place(row.is_key, range.start);
        if let (true, Some(place)) = (response.clicked(), place) {
            ui.scroll_to_rect(place.translate(by), Some(Align::Min));
        }
        response.on_hover_ui(|ui| drop(ui.label(text().trim())));
    }
}

/// What a row of the outline stands for.
const fn outlined(unit: TextUnit) -> &'static str {
    match unit {
        TextUnit::Token | TextUnit::Sentence | TextUnit::Mass => "Sentence",
        TextUnit::Paragraph => "Paragraph",
        TextUnit::Document => "Document",
    }
}

fn direction_ui(ui: &mut Ui, direction: &mut Direction) {
    for (value, name, meaning) in [
        (Direction::Given, "Given", "What the token under the pointer looks at"),
        (Direction::Received, "Received", "What looks at the token under the pointer"),
    ] {
        ui.selectable_value(direction, value, name).on_hover_text(meaning);
    }
}
