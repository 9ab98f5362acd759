//! Choosers above a view: stack, layer, head, part of a pair.

use eframe::egui::{
    Button, ComboBox, Label, Response, RichText, Role, ScrollArea, Sense, StrokeKind, Ui, Vec2, WidgetInfo,
    containers::menu::MenuButton, vec2,
};

use crate::{
    analysis::{
        Space,
        reading::{Extent, SentenceFilter, is_pair},
    },
    capture::Capture,
    figure::FigureExtent,
    ids::{HeadId, StackKind},
    session::{Command, SelectionCommand, ViewGroup, ViewKind},
    spec::LayerSpec,
    ui::{
        ViewCtx,
        commands::UiCommand,
        theme::{GRID, text_size},
        views::{
            controls::{self, grouped},
            display_menu,
            groups::{GROUP_GAP_PT, HeadGroups},
            heads::swatches,
            source,
        },
    },
};

/// Width of a head's cell.
const CELL_PT: f32 = 6.0 * GRID;
/// Side of a cell of the map of heads.
const MAP_CELL_PT: f32 = 4.0 * GRID;
/// The most that the map takes; a larger one scrolls.
const MAP_PT: Vec2 = vec2(120.0 * GRID, 90.0 * GRID);

/// All views by groups, the one that is shown marked, others grey with the reason why they cannot be shown; the one that was
/// clicked.
pub fn view_choices_ui(ui: &mut Ui, cx: &ViewCtx<'_>) -> Option<ViewKind> {
    let mut clicked = None;
    for group in ViewGroup::ALL {
        ui.label(RichText::new(group.label()).size(text_size::SMALL).color(cx.theme.text_weak));
        for view in group.views() {
            let reason = cx.view_unavailable(view);
            let choice = ui.add_enabled(reason.is_none(), Button::selectable(view == cx.pane.view, view.label()));
            if choice.on_disabled_hover_text(reason.unwrap_or_default()).clicked() {
                clicked = Some(view);
            }
        }
    }
    clicked
}

/// Stack, layer, head, and how weights are shown: the same row in every view. What does not apply stays, grey.
pub fn choosers_ui(ui: &mut Ui, cx: &ViewCtx<'_>) {
    let Some(capture) = cx.document.latest_capture() else { return };
    let (facts, space, extent) = (cx.pane.view.facts(), cx.pane.space(), cx.pane.explained_extent());
    let of_heads = !facts.shows_answers || cx.pane.options.question().is_about_heads();
    // What is of all layers together has none to choose.
    let has_layer = of_heads && extent.is_none_or(Extent::is_of_layers) && space != Space::Positions;
    let has_head = of_heads && extent.is_none_or(|it| it == Extent::PairsOfHeads) && space.is_per_head();
    let weighs = facts.draws_weights || facts.lays_out_points;
    let together = |ui: &mut Ui, name, applies: bool, add: &mut dyn FnMut(&mut Ui)| {
        controls::together_ui(ui, name, |ui| {
            if !applies {
                ui.disable();
            }
            add(ui);
        });
    };
    stack_ui(ui, cx);
    together(ui, "layer", has_layer, &mut |ui| layer_ui(ui, cx));
    together(ui, "heads", has_head, &mut |ui| heads_ui(ui, cx, capture));
    if facts.draws_weights {
        sentences_ui(ui, cx);
    }
    together(ui, "weights", weighs, &mut |ui| display_menu::menu_ui(ui, cx));
}

/// Stack of the selection, when there are several.
fn stack_ui(ui: &mut Ui, cx: &ViewCtx<'_>) {
    let Some(capture) = cx.document.latest_capture() else { return };
    let chosen = cx.pane.selection.stack();
    let stacks = &capture.model().stacks;
    if stacks.len() < 2 {
        return;
    }
    controls::together_ui(ui, "stack", |ui| {
        ui.spacing_mut().item_spacing.x = GRID / 2.0;
        ui.label(RichText::new("Stack").color(cx.theme.text_weak));
        for stack in stacks {
            let response = segment_ui(ui, stack.kind == chosen, stack_name(stack.kind), "Stack");
            // The picture gives way to the Heads view where a stack does not look at it.
            let leaves = cx.pane.view.facts().lies_on_picture
                && cx.document.view_unavailable(cx.pane.view, stack.kind).is_some();
            let note = if leaves { "\nIt does not attend to the picture, so it opens in Lines" } else { "" };
            let response = response.on_hover_text(format!("{}{note}", stack_meaning(capture, stack.kind, ui)));
            if response.clicked() {
                cx.send(Command::Select(SelectionCommand::Stack(stack.kind)));
            }
        }
    });
    ui.add_space(GRID);
}

fn stack_meaning(capture: &Capture, kind: StackKind, ui: &Ui) -> String {
    let (n_query, n_key) = (capture.query_tokens(kind).len(), capture.key_tokens(kind).len());
    let what = match kind {
        StackKind::SelfAttention | StackKind::Encoder => "The input attends to itself",
        StackKind::Decoder => "The written text attends to itself",
        StackKind::Cross => "The written text attends to the input",
        StackKind::Vision => "The patches of the picture attend to each other",
        StackKind::Text => "The text attends to itself",
    };
    format!("{what}: {n_query} queries × {n_key} keys\n{}", UiCommand::NextStack.tooltip_with_key(ui.ctx()))
}

/// A stack's name as it stands on screen.
pub const fn stack_name(kind: StackKind) -> &'static str {
    match kind {
        StackKind::SelfAttention => "Self",
        StackKind::Encoder => "Encoder",
        StackKind::Decoder => "Decoder",
        StackKind::Cross => "Cross",
        StackKind::Vision => "Vision",
        StackKind::Text => "Text",
    }
}

/// One of a few words of which one is chosen.
fn segment_ui(ui: &mut Ui, chosen: bool, text: &str, group: &str) -> Response {
    let response = ui.add(Button::selectable(chosen, text));
    let is_enabled = ui.is_enabled();
    response.widget_info(|| WidgetInfo::selected(Role::RadioButton, is_enabled, chosen, format!("{group} {text}")));
    response
}

fn layer_ui(ui: &mut Ui, cx: &ViewCtx<'_>) {
    let Some(capture) = cx.document.latest_capture() else { return };
    let head = cx.pane.selection.head;
    let layers = capture.model().stack(head.stack).map_or(&[][..], |stack| stack.layers.as_slice());
    // Where all layers see the same, there is nothing to tell them apart by.
    let windows_differ = layers.windows(2).any(|pair| pair[0].window != pair[1].window);
    let name = |layer: usize| match layers.get(layer).filter(|_| windows_differ) {
        Some(LayerSpec { window: Some(reach), .. }) => format!("{layer} · window {}", grouped(*reach)),
        Some(_) => format!("{layer} · sees all"),
        None => layer.to_string(),
    };
    ui.label(RichText::new("Layer").color(cx.theme.text_weak));
    ui.spacing_mut().item_spacing.x = GRID / 2.0;
    if step_button(ui, "‹", "Previous layer", head.layer > 0).clicked() {
        cx.send(Command::Select(SelectionCommand::Layer(head.layer - 1)));
    }
    let width = if windows_differ { 32.0 } else { 12.0 } * GRID;
    let combo = ComboBox::new("layer", "").selected_text(name(head.layer)).width(width);
    let combo = combo.show_ui(ui, |ui| {
        for layer in 0..layers.len() {
            if ui.selectable_label(layer == head.layer, name(layer)).clicked() {
                cx.send(Command::Select(SelectionCommand::Layer(layer)));
            }
        }
    });
    combo.response.accessible_name("Layer");
    if step_button(ui, "›", "Next layer", head.layer + 1 < layers.len()).clicked() {
        cx.send(Command::Select(SelectionCommand::Layer(head.layer + 1)));
    }
}

fn step_button(ui: &mut Ui, text: &str, name: &str, enabled: bool) -> Response {
    let response = ui.add_enabled(enabled, Button::new(text).min_size([5.0 * GRID, 0.0].into()));
    response.accessible_name(name).on_hover_text(name)
}

/// Which part of a pair of sentences is shown; nothing where the input is no pair.
fn sentences_ui(ui: &mut Ui, cx: &ViewCtx<'_>) {
    let Some(capture) = cx.document.latest_capture() else { return };
    if !is_pair(capture, cx.pane.selection.stack()) {
        return;
    }
    let looks_back = capture.model().stack(cx.pane.selection.stack()).is_some_and(|spec| spec.causal);
    ui.add_space(GRID);
    controls::together_ui(ui, "sentences", |ui| {
        ui.spacing_mut().item_spacing.x = GRID / 2.0;
        ui.label(RichText::new("Sentences").color(cx.theme.text_weak));
        controls::edit_options(cx, |options| {
            for filter in SentenceFilter::ALL {
                let is_chosen = options.reading.sentences == filter;
                let is_empty = looks_back && filter == SentenceFilter::AToB;
                let segment = |ui: &mut Ui| segment_ui(ui, is_chosen, filter.label(), "Sentences");
                let response = ui.add_enabled_ui(is_chosen || !is_empty, segment).inner;
                let response = response.on_disabled_hover_text("A causal model cannot look ahead: this is empty");
                if response.on_hover_text(filter_meaning(filter)).clicked() {
                    options.reading.sentences = filter;
                }
            }
        });
    });
}

const fn filter_meaning(filter: SentenceFilter) -> &'static str {
    match filter {
        SentenceFilter::All => "Both sentences, all attention",
        SentenceFilter::AToA => "What the first sentence attends to in itself\nThe rest is left out, not renormalised",
        SentenceFilter::AToB => {
            "What the first sentence attends to in the second\nThe rest is left out, not renormalised"
        }
        SentenceFilter::BToA => {
            "What the second sentence attends to in the first\nThe rest is left out, not renormalised"
        }
        SentenceFilter::BToB => "What the second sentence attends to in itself\nThe rest is left out, not renormalised",
    }
}

/// The heads of the layer: swatches where lines tell them apart, else a number each where these fit and no thumbnails
/// stand below, else the selected one between two steps. A map of all layers and heads opens from their name.
fn heads_ui(ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture) {
    let head = cx.pane.selection.head;
    let (n_heads, groups) = (source::n_heads(capture, head), HeadGroups::of(capture, head));
    let go = |to: HeadId| cx.send(Command::Select(SelectionCommand::Head(to)));
    let name = MenuButton::from_button(Button::new(RichText::new("Head ⏷").color(cx.theme.text_weak)).frame(false));
    let (name, _) = name.ui(ui, |ui| map_ui(ui, cx, capture));
    name.accessible_name("Heads of all layers").on_hover_text("All heads by layer; click one to select it");
    if cx.pane.view.spec().extent == FigureExtent::Layer {
        return swatches::swatches_ui(ui, cx, n_heads, groups);
    }
    ui.spacing_mut().item_spacing.x = GRID / 2.0;
    let width = n_heads as f32 * (CELL_PT + GRID / 2.0) + groups.gaps_width(n_heads);
    if cx.pane.view.facts().has_color_scale || width > ui.available_width() {
        let last = n_heads.saturating_sub(1);
        if step_button(ui, "‹", "Previous head", head.head > 0).clicked() {
            go(HeadId { head: head.head - 1, ..head });
        }
        ui.add_sized([CELL_PT, CELL_PT], Label::new(head.head.to_string()));
        if step_button(ui, "›", "Next head", head.head < last).clicked() {
            go(HeadId { head: head.head + 1, ..head });
        }
        return;
    }
    for idx in 0..n_heads {
        let button = Button::selectable(idx == head.head, idx.to_string()).min_size(vec2(CELL_PT, 0.0));
        if groups.gap_before(idx) {
            ui.add_space(GROUP_GAP_PT);
        }
        let response = ui.add(button).accessible_name(format!("Head {idx}"));
        groups.bracket(ui.painter(), idx, response.rect.x_range(), response.rect.bottom() + 2.0, 2.0, cx.theme);
        if response.clicked() {
            go(HeadId { head: idx, ..head });
        }
        if let Some(note) = groups.note(idx) {
            response.on_hover_text(note);
        }
    }
}

/// All heads of the stack, a row of cells for each layer.
fn map_ui(ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture) {
    let selected = cx.pane.selection.head;
    let layers = capture.model().stack(selected.stack).map_or(&[][..], |stack| stack.layers.as_slice());
    let small = |text: String| RichText::new(text).size(text_size::SMALL).color(cx.theme.text_weak);
    ui.label(small("Layers down, heads across".to_owned()));
    ScrollArea::both().max_height(MAP_PT.y).max_width(MAP_PT.x).show(ui, |ui| {
        ui.spacing_mut().item_spacing = vec2(2.0, 2.0);
        for (layer, spec) in layers.iter().enumerate() {
            ui.horizontal(|ui| {
                ui.add_sized([MAP_CELL_PT + GRID, MAP_CELL_PT], Label::new(small(layer.to_string())));
                for head in (0..spec.n_heads).map(|head| HeadId { layer, head, ..selected }) {
                    let (rect, response) = ui.allocate_exact_size(Vec2::splat(MAP_CELL_PT), Sense::click());
                    let is_selected = head == selected;
                    let label = head.to_string();
                    response.widget_info(|| WidgetInfo::selected(Role::Button, true, is_selected, &label));
                    let is_meant = response.hovered() || response.has_focus();
                    let fill = if is_selected { cx.theme.accent } else { cx.theme.raised };
                    ui.painter().rect_filled(rect, 0, fill);
                    if is_meant {
                        ui.painter().rect_stroke(rect, 0, (1.0, cx.theme.text), StrokeKind::Inside);
                    }
                    if response.on_hover_text(&label).clicked() {
                        cx.send(Command::Select(SelectionCommand::Head(head)));
                        ui.close();
                    }
                }
            });
        }
    });
}
