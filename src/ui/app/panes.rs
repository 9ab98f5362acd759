//! The centre of the window: one to four panes, each with its view.

use std::collections::HashMap;

use eframe::egui::{
    self, Align, Align2, ComboBox, FontId, Frame, Layout, Margin, Rect, RichText, Role, Sense, Ui, UiBuilder, Vec2,
    WidgetInfo, pos2,
    text::{LayoutJob, TextWrapping},
    vec2,
};

use crate::{
    analysis::PointCloud,
    capture::{Capture, Edit},
    ids::PaneId,
    model::Progress,
    session::{Command, Document, Pane, PaneCommand, Panes, SelectionCommand},
    text::from_difference,
    ui::{
        PanelCtx, ViewCtx,
        commands::UiCommand,
        held_against, other_document,
        panels::{effect_text, failure_ui, start_ui, too_long_ui},
        stale::{Veil, veil, veiled_ui},
        theme::{GRID, Theme, opaque, radius, text_size},
        views::{
            SCALE_PT, Views, change_text, error_card_ui, is_drawn_on, is_first_picture, pane_menu_ui, question,
            scrolled_ui, shared_high, short_change_text, stack_name,
        },
    },
};

/// Panes that would be smaller beside and below each other are shown one at a time.
pub(super) const LEAST_PANE: Vec2 = vec2(85.0 * GRID, 65.0 * GRID);
/// Height of the names of panes that are shown one at a time.
const TABS_PT: f32 = 6.5 * GRID;
/// Between two panes.
const GAP_PT: f32 = 1.0;
/// The most that the name of a run takes of what is left for it and the question, and that in a narrow pane.
const RUN_PART: f32 = 0.35;
const NARROW_RUN_PART: f32 = 0.22;
/// About the width of a letter of a name.
const CHAR_PT: f32 = 1.5 * GRID;
/// From this width on a header says what is linked.
const WIDE_HEADER_PT: f32 = 150.0 * GRID;
/// Up to this width it says so by a mark alone.
const NARROW_HEADER_PT: f32 = 110.0 * GRID;
/// Height of the choosers above a canvas.
const CHOOSERS_PT: f32 = 8.0 * GRID;
/// Left and right of what stands above a pane.
const SIDE_PT: f32 = 3.0 * GRID;
/// Height of the question above a pane.
const HEADER_PT: f32 = 7.0 * GRID;
/// Height of the line over the active pane, and of the stripe below it over a changed run.
const ACTIVE_PT: f32 = 2.0;
const CHANGED_PT: f32 = 3.0;

/// Draws every pane and gives the place of the active one. `cx` speaks of the active pane.
pub(super) fn panes_ui(ui: &mut Ui, cx: &PanelCtx<'_>, views: &mut HashMap<PaneId, Views>) -> Rect {
    let panes = &cx.session.panes;
    views.retain(|id, _| panes.get(*id).is_some());
    let whole = ui.available_rect_before_wrap();
    // Shines through the gaps.
    ui.painter().rect_filled(whole, 0, cx.theme.rule);
    let places = places(panes, whole);
    let one_at_a_time = places.iter().any(|(_, rect)| panes.len() > 1 && too_small(rect.size()));
    let view_of = |pane| {
        let document = cx.session.document_of(pane);
        let (other, unchanged) = (other_document(cx.session, pane), cx.session.unchanged(document));
        let against = held_against(cx.session, pane);
        ViewCtx { pane, document, other, against, unchanged, ..cx.view }
    };
    let shared_high = shared_high(panes.iter().map(view_of));
    // Of panes side by side, whether weights are drawn in one of them.
    let with_brush: Vec<PaneId> = panes
        .rows()
        .filter(|row| row.iter().any(|pane| is_drawn_on(&view_of(pane))))
        .flatten()
        .map(|pane| pane.id)
        .collect();
    // Of all panes alike, so that pictures stand side by side.
    let width = |rect: Rect| if one_at_a_time { whole.width() } else { rect.width() };
    // The lecture says it above all panes.
    let told_in_panes = cx.session.keeping.lecture.place().is_none();
    let told_height = places.iter().filter(|_| told_in_panes).fold(0.0, |height: f32, (pane, rect)| {
        let told = &mut views.entry(pane.id).or_default().told;
        height.max(told.update(ui, &view_of(pane), width(*rect) - 2.0 * SIDE_PT))
    });
    let mut area = whole;
    if one_at_a_time {
        tabs_ui(ui, cx, panes.iter().map(view_of).collect());
        *area.top_mut() += TABS_PT + GAP_PT;
    }
    let mut active = area;
    for (pane, rect) in places {
        if one_at_a_time && pane.id != cx.pane.id {
            continue;
        }
        let rect = if one_at_a_time { area } else { rect };
        let shared_high = shared_high.filter(|_| pane.options.shared_scale && pane.overlay.is_none());
        let leaves_brush_row = !one_at_a_time && with_brush.contains(&pane.id);
        let view = ViewCtx { shared_high, leaves_brush_row, ..view_of(pane) };
        let views = views.entry(pane.id).or_default();
        let builder = UiBuilder::new().id_salt(("pane", pane.id.0)).max_rect(rect);
        ui.scope_builder(builder, |ui| {
            ui.shrink_clip_rect(rect);
            ui.painter().rect_filled(rect, 0, cx.theme.canvas);
            header_ui(ui, cx, &view);
            if told_height > 0.0 {
                let (line, _) = ui.allocate_exact_size(vec2(ui.available_width(), told_height), Sense::hover());
                views.told.ui(ui, &view, line.shrink2(vec2(SIDE_PT, 0.0)));
            }
            pane_ui(ui, cx, &view, views);
            pane_menu_ui(ui, &view, rect);
        });
        if pane.id == cx.pane.id {
            active = rect;
        } else if pressed_in(ui, rect) {
            view.send(Command::Activate);
        }
    }
    if panes.len() > 1 {
        ui.painter().hline(active.x_range(), active.top() + ACTIVE_PT / 2.0, (ACTIVE_PT, cx.theme.accent));
    }
    ui.advance_cursor_after_rect(whole);
    active
}

/// Where each pane stands when all are shown.
fn places(panes: &Panes, area: Rect) -> Vec<(&Pane, Rect)> {
    let n_rows = panes.rows().count();
    let of_row = |(row, columns): (usize, &'_ [Pane])| -> Vec<Rect> {
        let y = part(area.y_range(), row, n_rows);
        let n_columns = columns.len();
        (0..n_columns).map(|column| Rect::from_x_y_ranges(part(area.x_range(), column, n_columns), y)).collect()
    };
    panes.iter().zip(panes.rows().enumerate().flat_map(of_row)).collect()
}

/// Whether a pane of this size is of no use.
fn too_small(size: Vec2) -> bool {
    size.x < LEAST_PANE.x || size.y < LEAST_PANE.y
}

/// The names of all panes beside each other, for those that are shown one at a time.
fn tabs_ui(ui: &mut Ui, cx: &PanelCtx<'_>, views: Vec<ViewCtx<'_>>) {
    let whole = ui.available_rect_before_wrap().with_max_y(ui.available_rect_before_wrap().top() + TABS_PT);
    let n_panes = views.len();
    for (nth, view) in views.into_iter().enumerate() {
        let rect = Rect::from_x_y_ranges(part(whole.x_range(), nth, n_panes), whole.y_range());
        let shown = view.pane.id == cx.pane.id;
        let name = format!("{} {}: {}", nth + 1, view.pane.view.label(), head_text(&view));
        let response = ui.interact(rect, ui.scope_id().with(("pane tab", view.pane.id.0)), Sense::click());
        response.widget_info(|| WidgetInfo::selected(Role::Tab, true, shown, &name));
        let (ground, ink) = if shown { (cx.theme.canvas, cx.theme.text) } else { (cx.theme.panel, cx.theme.text_weak) };
        ui.painter().rect_filled(rect, 0, if response.hovered() { cx.theme.hover } else { ground });
        let mut job = LayoutJob::simple_singleline(name, FontId::proportional(text_size::SMALL), ink);
        job.wrap = TextWrapping::truncate_at_width(rect.width() - 2.0 * GRID);
        let galley = ui.painter().layout_job(job);
        let at = Align2::CENTER_CENTER.align_size_within_rect(galley.size(), rect).min;
        ui.painter().galley(at, galley, ink);
        if response.on_hover_text(title(&view)).clicked() {
            view.send(Command::Activate);
        }
    }
}

/// The `idx`th of `n` equal parts of a range, with gaps between them.
fn part(range: egui::Rangef, idx: usize, n: usize) -> egui::Rangef {
    let size = (range.span() - GAP_PT * (n - 1) as f32) / n as f32;
    let start = range.min + idx as f32 * (size + GAP_PT);
    egui::Rangef::new(start.round(), (start + size).round())
}

/// Whether a button of the mouse went down in `rect`, with nothing above it.
fn pressed_in(ui: &Ui, rect: Rect) -> bool {
    ui.rect_contains_pointer(rect) && ui.input(|input| input.pointer.any_pressed())
}

/// The question that a pane answers, with what it is of and how it is tied to the others.
fn header_ui(ui: &mut Ui, cx: &PanelCtx<'_>, view: &ViewCtx<'_>) {
    let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), HEADER_PT), Sense::hover());
    if is_changed(view) || is_begun(view) {
        let stripe = rect.with_max_y(rect.top() + CHANGED_PT).translate(vec2(0.0, ACTIVE_PT));
        ui.painter().rect_filled(stripe, 0, opaque(cx.theme.palette.changed));
    }
    let inner = rect.shrink2(vec2(SIDE_PT, 0.0));
    ui.scope_builder(
        UiBuilder::new().id_salt("header").max_rect(inner).layout(Layout::right_to_left(Align::Center)),
        |ui| {
            ui.spacing_mut().item_spacing.x = GRID;
            ui.style_mut().override_text_style = Some(egui::TextStyle::Small);
            let several = cx.session.panes.len() > 1;
            if several {
                beside_ui(ui, cx, view);
            }
            if several || cx.session.documents.len() > 1 || is_changed(view) {
                document_ui(ui, cx, view);
            }
            let Some(question) = question(view) else { return };
            if !view.pane.selection.pinned.is_empty() {
                pin_ui(ui, view);
            }
            // Smaller before it is cut.
            let font = |size: &f32| FontId::proportional(*size);
            let fits = |size: &f32| {
                let width = ui.painter().layout_no_wrap(question.clone(), font(size), view.theme.text).size().x;
                width <= ui.available_width()
            };
            let largest = usize::from(!is_first_picture(view));
            let sizes = &[text_size::DISPLAY, text_size::LARGE, text_size::BODY][largest..];
            let size = sizes.iter().find(|size| fits(size)).unwrap_or(&text_size::BODY);
            let mut text = RichText::new(&question).font(font(size)).color(view.theme.text);
            if *size == text_size::DISPLAY {
                text = text.line_height(Some(HEADER_PT));
            }
            ui.with_layout(Layout::left_to_right(Align::Center), |ui| {
                let heading = ui.add(egui::Label::new(text).truncate());
                heading.widget_info(|| WidgetInfo::labeled(Role::Heading, true, &question));
            });
        },
    );
}

/// Whether a pane shows a run with changes.
fn is_changed(view: &ViewCtx<'_>) -> bool {
    view.document.latest_capture().is_some_and(|capture| !capture.computation().edits.is_empty())
}

/// Whether a pane shows a text that the model did not begin itself.
fn is_begun(view: &ViewCtx<'_>) -> bool {
    let generated = view.document.latest_capture().and_then(|capture| capture.generated());
    generated.is_some_and(|generated| generated.n_given > 0)
}

/// A pin, which lets go of what is held.
fn pin_ui(ui: &mut Ui, view: &ViewCtx<'_>) {
    let (rect, response) = ui.allocate_exact_size(Vec2::splat(6.0 * GRID), Sense::click());
    response.widget_info(|| WidgetInfo::labeled(Role::Button, true, "Let go of what is pinned"));
    let ink = if response.hovered() || response.has_focus() { view.theme.text } else { view.theme.text_weak };
    let head = rect.center() - vec2(0.0, 3.0);
    ui.painter().circle_stroke(head, 3.5, (1.5, ink));
    ui.painter().vline(head.x, head.y + 3.5..=head.y + 10.0, (1.5, ink));
    if response.on_hover_text("Pinned; click to let go (Esc)").clicked() {
        view.send(Command::Select(SelectionCommand::Release));
    }
}

/// What there is of a pane beside others: its end, and what it shares with them.
fn beside_ui(ui: &mut Ui, cx: &PanelCtx<'_>, view: &ViewCtx<'_>) {
    let close = ui.add(egui::Button::new("✖").small().frame_when_inactive(false));
    close.widget_info(|| WidgetInfo::labeled(Role::Button, true, "Close pane"));
    if close.on_hover_text("Close this pane").clicked() {
        view.send(Command::InPane(PaneCommand::Close));
    }
    let shared = cx.session.panes.shared(view.pane, &cx.session.documents);
    let short = shared.split(':').next().unwrap_or(shared);
    let link = match ui.available_width() {
        width if width > WIDE_HEADER_PT => ui.add(egui::Button::selectable(view.pane.linked, shared).small()),
        width if width > NARROW_HEADER_PT => ui.add(egui::Button::selectable(view.pane.linked, short).small()),
        _ => link_ui(ui, view),
    };
    link.widget_info(|| WidgetInfo::selected(Role::Button, true, view.pane.linked, shared));
    let meaning = "Linked panes share the hovered and the pinned tokens and step through heads together, each from its \
        own head; a run and the same with changes share the head too";
    if link.on_hover_text(meaning).clicked() {
        view.send(Command::ToggleLink);
    }
}

/// Two links of a chain in place of the word, which leaves a narrow pane more of its question.
fn link_ui(ui: &mut Ui, view: &ViewCtx<'_>) -> egui::Response {
    let (rect, response) = ui.allocate_exact_size(Vec2::splat(6.0 * GRID), Sense::click());
    let linked = view.pane.linked;
    if linked {
        ui.painter().rect_filled(rect.shrink(2.0), radius::CONTROL, view.theme.accent_ground);
    }
    let is_meant = linked || response.hovered() || response.has_focus();
    let ink = if is_meant { view.theme.text } else { view.theme.text_weak };
    for side in [-1.0, 1.0] {
        ui.painter().circle_stroke(rect.center() + vec2(3.0 * side, 0.0), 4.5, (1.5, ink));
    }
    response
}

/// The selected head, with its stack where there are several.
fn head_text(view: &ViewCtx<'_>) -> String {
    let head = view.pane.selection.head;
    let several = view.document.latest_capture().is_some_and(|capture| capture.model().stacks.len() > 1);
    if several { format!("{} {head}", stack_name(head.stack)) } else { head.to_string() }
}

/// The run of a pane, and the others that it could show.
fn document_ui(ui: &mut Ui, cx: &PanelCtx<'_>, view: &ViewCtx<'_>) {
    let part = if ui.available_width() > NARROW_HEADER_PT { RUN_PART } else { NARROW_RUN_PART };
    let width = (ui.available_width() * part).clamp(16.0 * GRID, 60.0 * GRID);
    let shown = changed_run(cx, view).unwrap_or_else(|| title_beside(cx, view, width));
    let combo = ComboBox::from_id_salt("document").selected_text(shown).width(width).truncate();
    let shown = ui.scope(|ui| {
        ui.set_max_width(width);
        combo.show_ui(ui, |ui| runs_ui(ui, cx, view)).response
    });
    shown.inner.accessible_name("Run shown in the pane").on_hover_ui(|ui| {
        if let Some(capture) = view.document.latest_capture().filter(|_| is_changed(view)) {
            ui.label(applied_text(capture, |edit, capture| change_text(&edit.clone().into(), capture)));
        }
        ui.label(view.document.whole_title());
    });
}

/// What is changed in a run, and what that does to the answer: `Δ L5H5 off · her 85 → 11 %`.
fn changed_run(cx: &PanelCtx<'_>, view: &ViewCtx<'_>) -> Option<String> {
    let capture = view.document.latest_capture().filter(|_| is_changed(view))?;
    let changes = applied_text(capture, short_change_text);
    let before = cx.session.unchanged(view.document);
    let effect = before.and_then(|before| effect_text(before, capture, view.pane.options.target));
    Some(effect.map_or_else(|| format!("Δ {changes}"), |effect| format!("Δ {changes} · {effect}")))
}

/// The changes of a run, one after the other.
fn applied_text(capture: &Capture, text: fn(&Edit, &Capture) -> String) -> String {
    let edits = capture.computation().edits.iter();
    let texts = edits.map(|edit| edit.known().map_or_else(|| edit.to_string(), |known| text(known, capture)));
    texts.collect::<Vec<_>>().join(", ")
}

/// The runs that a pane could show.
fn runs_ui(ui: &mut Ui, cx: &PanelCtx<'_>, view: &ViewCtx<'_>) {
    for document in &cx.session.documents {
        ui.horizontal(|ui| {
            if ui.selectable_label(document.id == view.document.id, document.title()).clicked() {
                view.send(Command::ShowDocument(document.id));
            }
            if cx.session.documents.len() > 1 {
                let close = ui.add(egui::Button::new("✖").small().frame_when_inactive(false));
                close.widget_info(|| WidgetInfo::labeled(Role::Button, true, format!("Close {}", document.title())));
                if close.on_hover_text("Close this run: its input, changes and results").clicked() {
                    view.send(Command::CloseDocument(document.id));
                }
            }
        });
    }
    ui.separator();
    let button = ui.button(UiCommand::Detach.text());
    if button.on_hover_text(UiCommand::Detach.tooltip()).clicked() {
        view.send(Command::Detach);
    }
}

/// The same beside other panes: where another one's begins alike, from the word on in which they differ.
fn title_beside(cx: &PanelCtx<'_>, view: &ViewCtx<'_>, width: f32) -> String {
    let panes = cx.session.panes.iter().map(|pane| ViewCtx { pane, document: cx.session.document_of(pane), ..*view });
    let whole = |view: &ViewCtx<'_>| corpus_title(view).unwrap_or_else(|| view.document.whole_title());
    let others: Vec<String> = panes.map(|view| whole(&view)).collect();
    let fit = (width / CHAR_PT) as usize;
    from_difference(&whole(view), fit, others.iter().map(String::as_str)).unwrap_or_else(|| title(view))
}

/// What the pane shows of its document.
fn title(view: &ViewCtx<'_>) -> String {
    corpus_title(view).unwrap_or_else(|| view.document.title())
}

/// The same where that is all inputs of its corpus.
fn corpus_title(view: &ViewCtx<'_>) -> Option<String> {
    let cloud = view.pane.cloud(view.document).filter(|_| view.pane.view.facts().lays_out_points)?;
    let (corpus, model) = (view.document.corpus.as_ref()?, cloud.model()?);
    matches!(cloud, PointCloud::Inputs(_)).then(|| format!("{} · {}", model.name, corpus.source.name()))
}

/// Draws a view, with a sentence over its lower edge where that is not of what is asked for.
fn pane_ui(ui: &mut Ui, panel: &PanelCtx<'_>, cx: &ViewCtx<'_>, views: &mut Views) {
    let rect = ui.available_rect_before_wrap();
    if cx.document.latest_capture().is_some() {
        veiled_ui(ui, cx, |ui| views.ui(cx.pane.view, ui, cx));
        if let Some(veil) = veil(ui, cx) {
            stale_ui(ui, cx, &veil, rect.with_max_y(rect.bottom() - SCALE_PT));
        }
        failed_ui(ui, cx, rect.with_min_y(rect.top() + CHOOSERS_PT));
    } else {
        scrolled_ui(ui, |ui| empty_ui(ui, panel, cx));
    }
    progress_line(ui, cx, rect);
}

/// Says over the top of a canvas why there is no newer run. What is offered where a text is too long stands beside the
/// text.
fn failed_ui(ui: &mut Ui, cx: &ViewCtx<'_>, canvas: Rect) {
    let Some(failure) = cx.document.capture.failure().filter(|_| cx.document.too_long.is_none()) else { return };
    let place = canvas.shrink2(vec2(3.0 * GRID, 0.0));
    ui.scope_builder(UiBuilder::new().id_salt("failed").max_rect(place), |ui| {
        if error_card_ui(ui, cx.theme, failure, ("Run again", "Run the model again")) {
            cx.send(Command::Run);
        }
    });
}

/// Says over the lower edge of a pane that what it shows is not of what is asked for.
fn stale_ui(ui: &mut Ui, cx: &ViewCtx<'_>, veil: &Veil, rect: Rect) {
    let place = rect.shrink(2.0 * GRID);
    let builder = UiBuilder::new().id_salt("stale").max_rect(place).layout(Layout::bottom_up(Align::Center));
    ui.scope_builder(builder, |ui| {
        let margin = Margin::symmetric(2 * GRID as i8, GRID as i8);
        let stroke = (1.0, cx.theme.rule);
        let frame =
            Frame::new().fill(cx.theme.panel).stroke(stroke).corner_radius(radius::CONTROL).inner_margin(margin);
        frame.show(ui, |ui| {
            ui.set_max_width(place.width() - 4.0 * GRID);
            ui.label(RichText::new(&veil.said).color(cx.theme.text));
        });
    });
}

/// A thin line along the top of a pane: how far the job is that it waits for.
fn progress_line(ui: &Ui, cx: &ViewCtx<'_>, view: Rect) {
    let (Document { model, capture, .. }, Pane { projection, .. }) = (cx.document, cx.pane);
    let progress = if model.is_pending() {
        model.progress()
    } else if capture.is_pending() {
        capture.progress()
    } else if projection.is_pending() {
        projection.progress()
    } else {
        return;
    };
    // A sliver shows that something runs before the first step is done.
    let fraction = progress.map_or(0.0, |Progress { done, total, .. }| done as f32 / total.max(1) as f32).max(0.02);
    let line = Rect::from_min_size(view.min, vec2(view.width() * fraction, GRID / 2.0));
    ui.painter().rect_filled(line, 0, cx.theme.accent);
}

/// What stands in a pane before there is anything to see.
fn empty_ui(ui: &mut Ui, panel: &PanelCtx<'_>, cx: &ViewCtx<'_>) {
    let Document { model, capture, too_long, .. } = cx.document;
    let failures = [model.failure(), capture.failure().filter(|_| too_long.is_none())];
    if too_long.is_some() || failures.iter().any(Option::is_some) {
        ui.vertical_centered(|ui| {
            ui.add_space(ui.available_height() * 0.35);
            failures.into_iter().flatten().for_each(|failure| failure_ui(ui, cx, failure));
            too_long_ui(ui, cx);
            if too_long.is_none() {
                ui.add_space(2.0 * GRID);
                ui.label(RichText::new("Open an example, or drop a model folder here").color(cx.theme.text_weak));
            }
        });
        return;
    }
    let text = if model.is_pending() {
        "Reading the model"
    } else if capture.is_pending() {
        "Running the model"
    } else {
        return start_ui(ui, panel, cx);
    };
    let Theme { text_weak, .. } = cx.theme;
    let rect = ui.available_rect_before_wrap();
    let at = pos2(rect.center().x, rect.center().y);
    ui.painter().text(at, Align2::CENTER_CENTER, text, FontId::proportional(text_size::LARGE), *text_weak);
}
