//! Choosers above a view: stack, layer, head, part of a pair.

use std::num::NonZeroUsize;

use eframe::egui::{
    Align, Button, ComboBox, Label, Layout, PopupCloseBehavior, Response, RichText, Role, ScrollArea, Sense,
    StrokeKind, Ui, UiBuilder, Vec2, WidgetInfo,
    containers::menu::{MenuButton, MenuConfig},
    epaint::util,
    vec2,
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

/// Between two parts of the row.
const PART_GAP_PT: f32 = 2.0 * GRID;
/// From this height on a pane has room for small pictures of the heads.
const PICTURES_FROM_PT: f32 = 105.0 * GRID;
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

/// How much the row of choosers writes out: everything where there is room for it, else less and less in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    Whole,
    /// One word for how weights are shown.
    ShortWeights,
    /// What the view has of its own is in a menu.
    OwnInMenu,
    /// Layers have no steps.
    LayerMenu,
    /// One head between two steps, the others behind it.
    OneHead,
    /// Stacks and sentences are menus.
    Menus,
    /// Nor has the head, and rows wrap.
    Least,
}

impl Fit {
    const ALL: [Self; 7] =
        [Self::Whole, Self::ShortWeights, Self::OwnInMenu, Self::LayerMenu, Self::OneHead, Self::Menus, Self::Least];
}

/// Passes of a frame within which a row of choosers finds its fit.
pub const LAYOUT_PASSES: NonZeroUsize = NonZeroUsize::MIN.saturating_add(Fit::ALL.len());

/// Where the heads of the layer are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum HeadsIn {
    #[default]
    Row,
    /// As small pictures below it.
    Pictures,
}

impl HeadsIn {
    /// As pictures where heads have numbers of their own and the pane is high enough for them.
    pub fn of(ui: &Ui, cx: &ViewCtx<'_>) -> Self {
        if source::has_heads(cx) && ui.available_height() >= PICTURES_FROM_PT { Self::Pictures } else { Self::Row }
    }
}

/// What a view adds to the row.
pub type Own<'a> = &'a mut dyn FnMut(&mut Ui);

/// Stack, layer, head, how weights are shown, and what the view has of its own: the same row in every view. What does
/// not apply stays, grey.
pub fn choosers_ui(ui: &mut Ui, cx: &ViewCtx<'_>, heads: HeadsIn, mut own: Option<Own<'_>>) {
    let Some(capture) = cx.document.latest_capture() else { return };
    let (facts, space, extent) = (cx.pane.view.facts(), cx.pane.space(), cx.pane.explained_extent());
    let of_heads = !facts.shows_answers || cx.pane.options.question().is_about_heads();
    // What is of all layers together has none to choose.
    let has_layer = of_heads && extent.is_none_or(Extent::is_of_layers) && space != Space::Positions;
    let has_head =
        of_heads && !facts.shows_experts && extent.is_none_or(|it| it == Extent::PairsOfHeads) && space.is_per_head();
    let weighs = facts.draws_weights || facts.lays_out_points;
    let head = cx.pane.selection.head;
    let key = util::hash((
        (capture.id(), cx.pane.view, head.stack, source::n_heads(capture, head), heads, own.is_some()),
        display_menu::summary(&cx.pane.options.reading),
    ));
    fitted_ui(ui, key, |ui, fit| {
        stack_ui(ui, cx, capture, fit);
        part_ui(ui, has_layer, |ui| layer_ui(ui, cx, capture, fit));
        part_ui(ui, has_head, |ui| heads_ui(ui, cx, capture, (heads, fit)));
        if facts.draws_weights {
            sentences_ui(ui, cx, capture, fit);
        }
        part_ui(ui, weighs, |ui| display_menu::menu_ui(ui, cx, fit));
        let Some(own) = &mut own else { return };
        ui.add_space(PART_GAP_PT);
        if fit < Fit::OwnInMenu {
            own(ui);
        } else {
            let config = MenuConfig::new().close_behavior(PopupCloseBehavior::CloseOnClickOutside);
            let (more, _) = MenuButton::from_button(Button::new("⋯")).config(config).ui(ui, |ui| own(ui));
            more.accessible_name("Tools of the view");
        }
    });
}

/// Draws a row at the first fit that the pane has room for. `key` is all that its widths depend on.
fn fitted_ui(ui: &mut Ui, key: u64, mut row: impl FnMut(&mut Ui, Fit)) {
    let id = ui.scope_id().with("choosers");
    let (of, mut widths): (u64, Vec<f32>) = ui.data(|data| data.get_temp(id)).unwrap_or_default();
    if of != key {
        widths.clear();
    }
    let room = ui.available_width();
    let nth = widths.iter().position(|width| *width <= room).unwrap_or(widths.len().min(Fit::ALL.len() - 1));
    let fit = Fit::ALL[nth];
    let gap = GRID / 2.0;
    if fit == Fit::Least {
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().item_spacing.x = gap;
            row(ui, fit);
        });
        return;
    }
    // What is too wide in a pass that nobody sees must not make the pane wider.
    let place = ui.available_rect_before_wrap();
    let place = place.with_max_y(place.top() + ui.spacing().interact_size.y);
    let layout = Layout::left_to_right(Align::Center);
    let mut inside = ui.new_child(UiBuilder::new().id_salt("row").max_rect(place).layout(layout));
    inside.spacing_mut().item_spacing.x = gap;
    row(&mut inside, fit);
    let width = inside.min_rect().width();
    ui.advance_cursor_after_rect(place);
    widths.truncate(nth);
    widths.push(width);
    ui.data_mut(|data| data.insert_temp(id, (key, widths)));
    if width > room {
        ui.request_discard("a row of choosers that does not fit");
    }
}

/// A part of the row, apart from the one before it; grey where it does not apply.
fn part_ui(ui: &mut Ui, applies: bool, add: impl FnOnce(&mut Ui)) {
    if ui.cursor().left() > ui.max_rect().left() {
        ui.add_space(PART_GAP_PT);
    }
    ui.add_enabled_ui(applies, |ui| ui.horizontal(add));
}

/// A few words of which one is chosen: beside each other behind their name, or as a menu.
fn few_ui(ui: &mut Ui, (name, chosen): (&str, &str), fit: Fit, choices: impl FnOnce(&mut Ui)) {
    part_ui(ui, true, |ui| {
        if fit < Fit::Menus {
            ui.label(RichText::new(name).color(ui.visuals().weak_text_color()));
            choices(ui);
        } else {
            let combo = ComboBox::new(name, "").selected_text(chosen).width(0.0).show_ui(ui, choices);
            combo.response.accessible_name(name);
        }
    });
}

/// Stack of the selection, when there are several.
fn stack_ui(ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture, fit: Fit) {
    let chosen = cx.pane.selection.stack();
    let stacks = &capture.model().stacks;
    if stacks.len() < 2 {
        return;
    }
    few_ui(ui, ("Stack", stack_name(chosen)), fit, |ui| {
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
}

fn stack_meaning(capture: &Capture, kind: StackKind, ui: &Ui) -> String {
    let (n_query, n_key) = (capture.query_tokens(kind).len(), capture.key_tokens(kind).len());
    let what = match kind {
        StackKind::SelfAttention | StackKind::Encoder => "The input attends to itself",
        StackKind::Beside => "What stands beside attention in each layer moves values of the input",
        StackKind::Decoder => "The written text attends to itself",
        StackKind::Cross => "The written text attends to the input",
        StackKind::Vision => "The patches of the picture attend to each other",
        StackKind::Text => "The text attends to itself",
        StackKind::CrossModalText => "The text attends to itself, between looks at the picture",
        StackKind::TextToVision => "The words of the text attend to the patches of the picture",
        StackKind::CrossModalVision => "The patches of the picture attend to each other, between looks at the text",
        StackKind::VisionToText => "The patches of the picture attend to the words of the text",
        StackKind::Words => "Each sentence attends to its words",
        StackKind::Sentences => "One query attends to the sentences",
        StackKind::Chosen => "Some tokens attend to all; the rows of the others were not kept",
    };
    format!("{what}: {n_query} queries × {n_key} keys\n{}", UiCommand::NextStack.tooltip_with_key(ui.ctx()))
}

/// A stack's name as it stands on screen.
pub const fn stack_name(kind: StackKind) -> &'static str {
    match kind {
        StackKind::SelfAttention => "Self",
        StackKind::Beside => "Beside",
        StackKind::Encoder => "Encoder",
        StackKind::Decoder => "Decoder",
        StackKind::Cross => "Cross",
        StackKind::Vision => "Vision",
        StackKind::Text => "Text",
        StackKind::CrossModalText => "Cross-modal text",
        StackKind::TextToVision => "Text → vision",
        StackKind::CrossModalVision => "Cross-modal vision",
        StackKind::VisionToText => "Vision → text",
        StackKind::Words => "Words",
        StackKind::Sentences => "Sentences",
        StackKind::Chosen => "Some queries",
    }
}

/// One of a few words of which one is chosen.
fn segment_ui(ui: &mut Ui, chosen: bool, text: &str, group: &str) -> Response {
    let response = ui.add(Button::selectable(chosen, text));
    let is_enabled = ui.is_enabled();
    response.widget_info(|| WidgetInfo::selected(Role::RadioButton, is_enabled, chosen, format!("{group} {text}")));
    response
}

fn layer_ui(ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture, fit: Fit) {
    let head = cx.pane.selection.head;
    let layers = capture.model().stack(head.stack).map_or(&[][..], |stack| stack.layers.as_slice());
    // Where all layers see the same, there is nothing to tell them apart by.
    let windows_differ = layers.windows(2).any(|pair| pair[0].window != pair[1].window);
    let name = |layer: usize| match layers.get(layer).filter(|_| windows_differ) {
        Some(LayerSpec { window: Some(reach), .. }) => format!("{layer} · window {}", grouped(*reach)),
        Some(_) => format!("{layer} · sees all"),
        None => layer.to_string(),
    };
    let steps = fit < Fit::LayerMenu;
    let go = |layer: usize| cx.send(Command::Select(SelectionCommand::Layer(layer)));
    if steps {
        ui.label(RichText::new("Layer").color(cx.theme.text_weak));
        if step_button(ui, "‹", "Previous layer", head.layer > 0).clicked() {
            go(head.layer - 1);
        }
    }
    let shown = if steps { name(head.layer) } else { format!("Layer {}", head.layer) };
    let width = if windows_differ && steps { 32.0 * GRID } else { 12.0 * GRID };
    let combo = ComboBox::new("layer", "").selected_text(shown).width(width).show_ui(ui, |ui| {
        for layer in 0..layers.len() {
            if ui.selectable_label(layer == head.layer, name(layer)).clicked() {
                go(layer);
            }
        }
    });
    combo.response.accessible_name("Layer");
    if steps && step_button(ui, "›", "Next layer", head.layer + 1 < layers.len()).clicked() {
        go(head.layer + 1);
    }
}

/// One step back or forward in a row of choosers.
pub fn step_button(ui: &mut Ui, text: &str, name: &str, enabled: bool) -> Response {
    let response = ui.add_enabled(enabled, Button::new(text).min_size([5.0 * GRID, 0.0].into()));
    response.accessible_name(name).on_hover_text(name)
}

/// Which part of a pair of sentences is shown; nothing where the input is no pair.
fn sentences_ui(ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture, fit: Fit) {
    if !is_pair(capture, cx.pane.selection.stack()) {
        return;
    }
    let looks_back = capture.model().stack(cx.pane.selection.stack()).is_some_and(|spec| spec.causal);
    let chosen = cx.pane.options.reading.sentences;
    few_ui(ui, ("Sentences", chosen.label()), fit, |ui| {
        controls::edit_options(cx, |options| {
            for filter in SentenceFilter::ALL {
                let is_empty = looks_back && filter == SentenceFilter::AToB;
                let segment = |ui: &mut Ui| segment_ui(ui, chosen == filter, filter.label(), "Sentences");
                let response = ui.add_enabled_ui(chosen == filter || !is_empty, segment).inner;
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

/// The heads of the layer: swatches where lines tell them apart, else a number each. Where these do not fit, the selected
/// one between two steps has them behind it, with a map of all layers and heads.
fn heads_ui(ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture, (shown, fit): (HeadsIn, Fit)) {
    let head = cx.pane.selection.head;
    let (n_heads, groups) = (source::n_heads(capture, head), HeadGroups::of(capture, head));
    let go = |to: usize| cx.send(Command::Select(SelectionCommand::Head(HeadId { head: to, ..head })));
    let tells_heads = cx.pane.view.spec().extent == FigureExtent::Layer;
    let config = MenuConfig::new().close_behavior(PopupCloseBehavior::CloseOnClickOutside);
    let menu = |ui: &mut Ui, button: Button<'_>, with_swatches: bool| {
        let (opens, _) = MenuButton::from_button(button).config(config.clone()).ui(ui, |ui| {
            map_ui(ui, cx, capture);
            if with_swatches {
                ui.horizontal_wrapped(|ui| swatches::swatches_ui(ui, cx, n_heads, groups));
            }
        });
        opens.accessible_name("Heads of all layers").on_hover_text("All heads by layer; click one to select it");
    };
    let weak = |text: &str| RichText::new(text).color(cx.theme.text_weak);
    if shown == HeadsIn::Pictures {
        menu(ui, Button::new(weak("Head ⏷")).frame(false), false);
    } else if fit == Fit::Least {
        menu(ui, Button::new(format!("Head {} ⏷", head.head)), tells_heads);
    } else if fit >= Fit::OneHead {
        if fit < Fit::LayerMenu {
            ui.label(weak("Head"));
        }
        if step_button(ui, "‹", "Previous head", head.head > 0).clicked() {
            go(head.head - 1);
        }
        let number = if fit < Fit::LayerMenu { head.head.to_string() } else { format!("Head {}", head.head) };
        menu(ui, Button::new(number).min_size(vec2(CELL_PT, 0.0)), tells_heads);
        if step_button(ui, "›", "Next head", head.head + 1 < n_heads).clicked() {
            go(head.head + 1);
        }
    } else if tells_heads {
        menu(ui, Button::new(weak("Head ⏷")).frame(false), false);
        swatches::swatches_ui(ui, cx, n_heads, groups);
    } else {
        menu(ui, Button::new(weak("Head ⏷")).frame(false), false);
        for idx in 0..n_heads {
            let button = Button::selectable(idx == head.head, idx.to_string()).min_size(vec2(CELL_PT, 0.0));
            if groups.gap_before(idx) {
                ui.add_space(GROUP_GAP_PT);
            }
            let response = ui.add(button).accessible_name(format!("Head {idx}"));
            groups.bracket(ui.painter(), idx, response.rect.x_range(), response.rect.bottom() + 2.0, 2.0, cx.theme);
            if response.clicked() {
                go(idx);
            }
            if let Some(note) = groups.note(idx) {
                response.on_hover_text(note);
            }
        }
    }
}

/// All heads of the stack, a row of cells for each layer.
fn map_ui(ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture) {
    let selected = cx.pane.selection.head;
    let layers = capture.model().stack(selected.stack).map_or(&[][..], |stack| stack.layers.as_slice());
    let small = |text: String| RichText::new(text).size(text_size::SMALL).color(cx.theme.text_weak);
    ui.label(small("Layers down, heads across".to_owned()));
    ScrollArea::both().min_scrolled_height(MAP_PT.y).max_height(MAP_PT.y).max_width(MAP_PT.x).show(ui, |ui| {
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
                        // As by its name: alone where lines of several heads are drawn.
                        cx.send(Command::Select(SelectionCommand::ShowHead(head)));
                        ui.close();
                    }
                }
            });
        }
    });
}
