//! The tokenised input as chips in a row: hover previews, click pins.
//!
//! The positions of all chips are computed once; only the visible ones are drawn and take part in interaction, so that
//! 512 tokens cost no more than the forty on screen.

use std::{ops::Range, sync::Arc};

use eframe::egui::{
    self, Align, Align2, Color32, FontId, Layout, Popup, PopupAnchor, PopupKind, Pos2, Rect, Role, Sense,
    SetOpenCommand, Stroke, Ui, WidgetInfo, containers::menu::menu_style, scroll_area::ScrollBarVisibility, vec2,
};

use super::roving::{Along, Roving};
use crate::{
    analysis::routing::LayerRouting,
    capture::Token,
    ids::{CaptureId, Side},
    session::{Command, Focus, PaneCommand, SelectionCommand},
    text::norm_text,
    ui::{
        ViewCtx,
        memo::Memo,
        theme::{FOCUS_PT, GRID, Theme, opaque, radius, text_size},
        views::{dragged_tokens_ui, hidden_by, toggle_hidden},
    },
};

const CHIP_HEIGHT: f32 = 5.0 * GRID;
const GAP: f32 = GRID / 2.0;

/// The chips of one token sequence.
#[derive(Debug, Default)]
pub struct TokenChips {
    layout: Memo<ChipKey, Arc<ChipLayout>>,
    dragged: Option<Dragged>,
}

/// Tokens that were dragged over, to be grouped.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Dragged {
    capture: CaptureId,
    /// Where the drag began, and where it is.
    ends: [usize; 2],
}

impl Dragged {
    fn positions(self) -> Range<usize> {
        let [from, to] = self.ends;
        from.min(to)..from.max(to) + 1
    }
}

/// Everything the positions depend on.
#[derive(Clone, Copy, Debug, PartialEq)]
struct ChipKey {
    capture: CaptureId,
    side: Side,
    pixels_per_point: f32,
    /// The layer whose experts are numbered beside the tokens.
    experts_of: Option<usize>,
}

#[derive(Debug)]
struct ChipLayout {
    /// Relative to the left end, in reading order.
    rects: Vec<Rect>,
    width: f32,
}

/// How chips are coloured.
#[derive(Clone, Copy, Debug)]
pub enum ChipTint<'a> {
    Numbers(NumberTint<'a>),
    /// By the expert with the largest weight, whose number stands beside the token.
    Experts(&'a LayerRouting),
}

/// How strongly each chip is coloured, by position.
#[derive(Clone, Copy, Debug)]
pub struct NumberTint<'a> {
    pub weights: &'a [f32],
    /// The number that has the full colour.
    pub full: f32,
    /// The full colour, and that of numbers below 0.
    pub colors: [Color32; 2],
    pub name: &'a str,
}

/// What the tint says of one chip.
struct ChipMark {
    color: Color32,
    /// From 0 to 1.
    strength: f32,
    said: String,
}

impl ChipTint<'_> {
    fn of(&self, position: usize, theme: &Theme) -> Option<ChipMark> {
        match self {
            Self::Numbers(NumberTint { weights, full, colors, name }) => {
                let weight = *weights.get(position)?;
                let strength = (weight.abs() / full.max(f32::MIN_POSITIVE)).min(1.0);
                let color = colors[usize::from(weight < 0.0)];
                Some(ChipMark { color, strength, said: format!("{name} {}", norm_text(weight)) })
            }
            Self::Experts(routing) => {
                let chosen = routing.chosen(position);
                let (first, weight) = *chosen.first()?;
                let sum: f32 = chosen.iter().map(|(_, weight)| weight).sum();
                let each = chosen.iter().map(|(expert, weight)| format!("{expert} ({})", norm_text(*weight)));
                let said = format!("experts of layer {}: {}", routing.layer, each.collect::<Vec<_>>().join(", "));
                Some(ChipMark { color: opaque(theme.palette.head(first)), strength: weight / sum, said })
            }
        }
    }

    /// The layer whose experts are numbered.
    const fn experts_of(&self) -> Option<&LayerRouting> {
        match self {
            Self::Numbers(_) => None,
            Self::Experts(routing) => Some(*routing),
        }
    }
}

/// What a click on a chip of this sequence stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChipRole {
    /// Its tokens are queries (and, in self-attention, keys with Shift).
    Query,
    /// Its tokens are keys only.
    Key,
}

impl TokenChips {
    /// Draws the tokens of `side` over the width that is left; they scroll sideways, to `reveal` where that is one.
    pub fn ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>, side: Side, tint: Option<ChipTint<'_>>, reveal: Option<usize>) {
        let Some(capture) = cx.document.latest_capture() else { return };
        let tokens = capture.tokens(side);
        let role = if side == cx.pane.selection.stack().query_side() { ChipRole::Query } else { ChipRole::Key };
        // The wheel goes along the row.
        ui.style_mut().always_scroll_the_only_direction = true;
        let scroll = egui::ScrollArea::horizontal().id_salt(("token chips", side.name()));
        scroll.scroll_bar_visibility(ScrollBarVisibility::AlwaysHidden).auto_shrink(false).show(ui, |ui| {
            let experts = tint.as_ref().and_then(ChipTint::experts_of);
            let experts_of = experts.map(|routing| routing.layer);
            let pixels_per_point = ui.ctx().pixels_per_point();
            let key = ChipKey { capture: capture.id(), side, pixels_per_point, experts_of };
            let layout = self.layout.get_or_update(key, || Arc::new(ChipLayout::compute(ui, tokens, experts)));
            let (area, _) = ui.allocate_exact_size(vec2(layout.width, CHIP_HEIGHT), Sense::hover());
            let visible = layout.visible(area.left(), ui.clip_rect());
            let roving = Roving::new(ui, ui.scope_id().with(("chips", side.name())), &visible);
            if let Some(rect) = reveal.or(roving.moved_to()).and_then(|position| layout.rects.get(position)) {
                ui.scroll_to_rect(rect.translate(area.min.to_vec2()), None);
            }
            self.dragged.take_if(|dragged| dragged.capture != capture.id());
            let menu = ui.scope_id().with(("dragged tokens", side.name()));
            let mut command = None;
            let marked = self.dragged.map_or(0..0, Dragged::positions);
            for position in visible {
                let (Some(token), Some(rect)) = (tokens.get(position), layout.rects.get(position)) else { continue };
                let rect = rect.translate(area.min.to_vec2());
                let is_marked = marked.len() > 1 && marked.contains(&position);
                let chip = Chip { side, position, token, role, tint, is_marked };
                let response = chip_ui(ui, cx, rect, chip, roving);
                roving.keys(ui, &response, position, tokens.len(), Along::Line);
                if response.drag_started() {
                    self.dragged = Some(Dragged { capture: capture.id(), ends: [position; 2] });
                }
                let Some(dragged) = self.dragged.as_mut().filter(|_| response.dragged() || response.drag_stopped())
                else {
                    continue;
                };
                if let Some(pointer) = response.interact_pointer_pos() {
                    dragged.ends[1] = layout.at(pointer.x - area.left());
                }
                if response.drag_stopped() && dragged.positions().len() > 1 {
                    command = Some(SetOpenCommand::Bool(true));
                }
            }
            let popup = Popup::new(menu, ui.ctx().clone(), PopupAnchor::PointerFixed, ui.layer_id());
            let shown = popup
                .kind(PopupKind::Menu)
                .style(menu_style)
                .layout(Layout::top_down_justified(Align::Min))
                .open_memory(command)
                .accessible_name("Menu of the tokens")
                .show(|ui| {
                    dragged_tokens_ui(ui, cx, side, marked);
                });
            let is_held = ui.input(|input| input.pointer.any_down());
            if shown.is_none() && command.is_none() && !is_held {
                self.dragged = None;
            }
        });
    }
}

impl ChipLayout {
    fn compute(ui: &Ui, tokens: &[Token], experts: Option<&LayerRouting>) -> Self {
        let width = |text: String, size: f32| {
            ui.painter().layout_no_wrap(text, FontId::proportional(size), Color32::WHITE).size().x
        };
        let mut x = 0.0;
        let rect = |(position, token): (usize, &Token)| {
            let expert = experts.and_then(|routing| number(routing, position));
            let beside = expert.map_or(0.0, |number| GRID + width(number, text_size::SMALL));
            let text = width(shown(token).into_owned(), text_size::BODY) + beside;
            let size = vec2((text + 2.0 * GRID).max(4.0 * GRID), CHIP_HEIGHT);
            let rect = Rect::from_min_size(Pos2::new(x, 0.0), size);
            x += size.x + GAP;
            rect
        };
        let rects = tokens.iter().enumerate().map(rect).collect();
        Self { rects, width: x }
    }

    /// The token at, or nearest to, so many points from the left end.
    fn at(&self, x: f32) -> usize {
        self.rects.partition_point(|rect| rect.right() + GAP / 2.0 < x).min(self.rects.len().saturating_sub(1))
    }

    fn visible(&self, origin: f32, clip: Rect) -> std::ops::Range<usize> {
        let (left, right) = (clip.left() - origin, clip.right() - origin);
        let start = self.rects.partition_point(|rect| rect.right() < left);
        let end = self.rects.partition_point(|rect| rect.left() <= right);
        start..end.max(start)
    }
}

/// One token to draw.
#[derive(Clone, Copy)]
struct Chip<'a> {
    side: Side,
    position: usize,
    token: &'a Token,
    role: ChipRole,
    tint: Option<ChipTint<'a>>,
    /// It is among those that are dragged over.
    is_marked: bool,
}

fn chip_ui(ui: &Ui, cx: &ViewCtx<'_>, rect: Rect, chip: Chip<'_>, roving: Roving) -> egui::Response {
    let Chip { side, position, token, role, tint, is_marked } = chip;
    let Theme { canvas, text, text_weak, query, key, accent, edge, .. } = *cx.theme;
    let selection = &cx.pane.selection;
    let mine = |focus: Focus| if role == ChipRole::Query { focus.query } else { focus.key };
    let pinned = mine(selection.pinned) == Some(position);
    let focused = mine(selection.focus()) == Some(position);

    // Cross-attention shows queries and keys one below the other.
    let id = ui.scope_id().with(("chip", role as u8, position));
    let response = ui.interact(rect, id, roving.sense(position) | Sense::DRAG);
    response.widget_info(|| {
        WidgetInfo::selected(
            Role::Button,
            true,
            pinned,
            format!("Token {} {}", token.position.unwrap_or(position), token.text),
        )
    });
    let shift = ui.input(|input| input.modifiers.shift);
    let meant = match role {
        ChipRole::Query if shift => Focus { key: Some(position), query: selection.pinned.query },
        ChipRole::Query => Focus::query(position),
        ChipRole::Key => Focus { key: Some(position), query: selection.pinned.query },
    };
    if response.hovered() {
        cx.send(Command::InPane(PaneCommand::Hover(meant)));
    }
    if response.double_clicked() {
        toggle_hidden(cx, side, position..position + 1);
    } else if response.clicked() {
        cx.send(Command::Select(SelectionCommand::Pin(meant)));
    }

    let mark = tint.and_then(|tint| tint.of(position, cx.theme));
    let ground = mark
        .as_ref()
        .map_or(canvas, |ChipMark { color, strength, .. }| canvas.lerp_to_gamma(*color, strength.sqrt() * 0.75));
    let stroke = if is_marked {
        Stroke::new(2.0, accent)
    } else if pinned {
        Stroke::new(2.0, text)
    } else if focused {
        Stroke::new(1.5, if role == ChipRole::Query { query } else { key })
    } else if response.has_focus() {
        Stroke::new(FOCUS_PT, accent)
    } else {
        Stroke::new(1.0, edge)
    };
    let painter = ui.painter().with_clip_rect(rect.expand(1.0).intersect(ui.clip_rect()));
    painter.rect(rect, radius::CONTROL, ground, stroke, egui::StrokeKind::Inside);
    let font = FontId::proportional(text_size::BODY);
    let is_hidden = hidden_by(cx, side, position).is_some();
    let is_of_template = cx.document.latest_capture().is_some_and(|capture| capture.input().is_of_template(token));
    let ink = if token.special || is_hidden || is_of_template { text_weak } else { text };
    let ink = opaque(cx.theme.palette.legible(ink.to_array(), ground.to_array()));
    painter.text(rect.left_center() + vec2(GRID, 0.0), Align2::LEFT_CENTER, shown(token), font, ink);
    let expert = tint.as_ref().and_then(ChipTint::experts_of).and_then(|routing| number(routing, position));
    if let Some(number) = expert {
        let (at, font) = (rect.right_center() - vec2(GRID, 0.0), FontId::proportional(text_size::SMALL));
        painter.text(at, Align2::RIGHT_CENTER, number, font, ink);
    }
    if is_hidden {
        painter.hline(rect.shrink(GRID).x_range(), rect.center().y, Stroke::new(1.0, text));
    }

    response.on_hover_ui(|ui| tooltip_ui(ui, position, token, mark.as_ref().map(|mark| &*mark.said), role))
}

fn tooltip_ui(ui: &mut Ui, position: usize, token: &Token, said: Option<&str>, role: ChipRole) {
    ui.label(format!("{}  #{}", token.text, token.position.unwrap_or(position)));
    if let Some(id) = token.id {
        ui.weak(format!("id {id}"));
    }
    if !token.span.is_empty() {
        ui.weak(format!("bytes {}–{}", token.span.start, token.span.end));
    }
    if token.special {
        ui.weak("special token");
    }
    if let Some(said) = said {
        ui.weak(said);
    }
    ui.weak(match role {
        ChipRole::Query => "Click: pin as query. Shift+click: pin as key. Double-click: hide. Drag over several: group",
        ChipRole::Key => "Click: pin as key. Double-click: hide. Drag over several: group",
    });
}

/// The number beside a token: of the expert with the largest weight.
fn number(routing: &LayerRouting, position: usize) -> Option<String> {
    routing.chosen(position).first().map(|(expert, _)| expert.to_string())
}

/// The text of a chip; an empty token still needs something to point at.
fn shown(token: &Token) -> std::borrow::Cow<'_, str> {
    if token.text.trim().is_empty() { "·".into() } else { token.text.replace('\n', "⏎").into() }
}
