//! The menu of the right button: the numbers of what was under the pointer, and the figure of the pane.

use std::sync::Arc;

use eframe::egui::{
    Align, Button, Id, Layout, Popup, PopupAnchor, PopupKind, Rect, Response, Sense, SetOpenCommand, Ui,
    containers::menu::menu_style,
};

use super::{changes_menu_ui, heads::lines, source, why_button_ui};
use crate::{
    analysis::reading::ReadPattern,
    capture::Capture,
    figure::{
        FigureExtent,
        data::{self, Table, tab_separated},
    },
    ids::{ExpertId, HeadId},
    session::{Command, FigureCommand, Focus, SelectionCommand, ViewKind},
    ui::{ViewCtx, widgets::scrolled_menu_ui},
};

/// Draws the menu of a pane that lies in `rect`, when the right button was clicked there.
///
/// Views have widgets of their own under the pointer, which take the click; so it is looked for here.
pub fn pane_menu_ui(ui: &Ui, cx: &ViewCtx<'_>, rect: Rect) {
    let id = Id::unique(("pane menu", cx.pane.id.0));
    let clicked = ui.rect_contains_pointer(rect) && ui.input(|input| input.pointer.secondary_clicked());
    if clicked {
        // What is under the pointer moves on with it, into the menu; so what the menu is of is held, as by a click.
        let selection = &cx.pane.selection;
        let head = ui.data_mut(|data| data.remove_temp(pointed_head(cx))).unwrap_or(selection.head);
        let expert: Option<ExpertId> = ui.data_mut(|data| data.remove_temp(pointed_expert(cx)));
        ui.data_mut(|data| data.insert_temp(id, (selection.focus(), head, expert)));
        hold(cx, selection.hover);
        if head != selection.head {
            cx.send(Command::Select(SelectionCommand::Head(head)));
        }
    }
    let command = clicked.then_some(SetOpenCommand::Bool(true));
    Popup::new(id, ui.ctx().clone(), PopupAnchor::PointerFixed, ui.layer_id())
        .kind(PopupKind::Menu)
        .layout(Layout::top_down_justified(Align::Min))
        .style(menu_style)
        .open_memory(command)
        .accessible_name("Menu of the pane")
        .show(|ui| {
            let (focus, head, expert) =
                ui.data(|data| data.get_temp(id)).unwrap_or((Focus::NONE, cx.pane.selection.head, None));
            scrolled_menu_ui(ui, |ui| contents_ui(ui, cx, focus, (head, expert)));
        });
}

/// Holds what a menu is opened for; what is held already stays so, which a click would let go.
pub fn hold(cx: &ViewCtx<'_>, focus: Focus) {
    if !focus.is_empty() && focus != cx.pane.selection.pinned {
        cx.send(Command::Select(SelectionCommand::Pin(focus)));
    }
}

/// Says which head was under the pointer when the right button was clicked, where that is not the selected one.
pub fn point_at_head(response: &Response, cx: &ViewCtx<'_>, head: HeadId) {
    if response.secondary_clicked() {
        response.ctx.data_mut(|data| data.insert_temp(pointed_head(cx), head));
    }
}

/// Says which expert was under the pointer when the right button was clicked.
pub fn point_at_expert(ui: &Ui, cx: &ViewCtx<'_>, expert: ExpertId) {
    if ui.input(|input| input.pointer.secondary_clicked()) {
        ui.data_mut(|data| data.insert_temp(pointed_expert(cx), expert));
    }
}

fn pointed_expert(cx: &ViewCtx<'_>) -> Id {
    Id::unique(("expert of the menu", cx.pane.id.0))
}

fn pointed_head(cx: &ViewCtx<'_>) -> Id {
    Id::unique(("head of the menu", cx.pane.id.0))
}

fn contents_ui(ui: &mut Ui, cx: &ViewCtx<'_>, focus: Focus, (head, expert): (HeadId, Option<ExpertId>)) {
    let Some(capture) = cx.document.latest_capture() else {
        ui.label("Nothing to copy yet");
        return;
    };
    changes_menu_ui(ui, cx, focus, (head, expert));
    ui.separator();
    if !cx.pane.view.facts().reads_corpus {
        why_button_ui(ui, cx, focus);
    }
    head_page_button_ui(ui, cx, &format!("{} of {head}", ViewKind::OF_ONE_HEAD.label()));
    if !cx.pane.view.facts().reads_corpus {
        let patterns = patterns(cx, capture, focus);
        for (part, what) in PatternSlice::of_focus(&patterns, focus) {
            if ui.button(format!("Copy {what}")).clicked() {
                cx.send(Command::Copy { what, text: tab_separated(&part.table(&patterns, capture)) });
            }
        }
    }
    for (name, command) in [
        ("Copy all numbers of this view", FigureCommand::CopyNumbers),
        ("Copy as picture", FigureCommand::CopyPng),
        ("Copy as SVG", FigureCommand::CopySvg),
    ] {
        if ui.button(name).clicked() {
            cx.send(Command::Figure(command));
        }
    }
    ui.separator();
    for (name, command) in [("Save figure…", FigureCommand::Save), ("Export…", FigureCommand::Open)] {
        if ui.button(name).clicked() {
            cx.send(Command::Figure(command));
        }
    }
}

/// A button that opens the page of the selected head; nothing in that view, grey where there is no page.
pub fn head_page_button_ui(ui: &mut Ui, cx: &ViewCtx<'_>, text: &str) {
    let page = ViewKind::OF_ONE_HEAD;
    if cx.pane.view == page {
        return;
    }
    let obstacle = cx.view_unavailable(page);
    let button = ui.add_enabled(obstacle.is_none(), Button::new(text));
    let button = button.on_hover_text(page.spec().help).on_disabled_hover_text(obstacle.unwrap_or_default());
    if button.clicked() {
        cx.send(Command::Select(SelectionCommand::ShowView(page)));
        ui.close();
    }
}

/// Every pattern that the pane draws and that is read; of a long text the row of `focus` alone.
fn patterns(cx: &ViewCtx<'_>, capture: &Capture, focus: Focus) -> Vec<Arc<ReadPattern>> {
    if source::is_long(cx, capture) {
        return source::row(cx, focus).and_then(Result::ok).into_iter().collect();
    }
    if cx.pane.view.spec().extent == FigureExtent::Layer {
        let known = lines::known(cx, capture, &(0..0));
        let above = known.iter().flat_map(|known| &known.heads).filter(|head| !head.below);
        return above.map(|head| Arc::clone(&head.lines.pattern)).collect();
    }
    source::shown_pattern(cx).and_then(Result::ok).into_iter().collect()
}

/// What can be copied of what was under the pointer: rows and columns of the patterns.
#[derive(Clone, Copy)]
enum PatternSlice {
    Pair(usize, usize),
    Query(usize),
    Key(usize),
}

impl PatternSlice {
    /// Those that some pattern shows a weight of, with what the menu calls them.
    fn of_focus(patterns: &[Arc<ReadPattern>], focus: Focus) -> Vec<(Self, String)> {
        let Some(first) = patterns.first() else { return Vec::new() };
        let row = focus.query.and_then(|query| first.rows.group_of(query));
        let col = focus.key.and_then(|key| first.cols.group_of(key));
        // A part does not know what of a column is elsewhere.
        let row = row.filter(|row| first.row(*row).is_some());
        let col = col.filter(|_| row.is_some() || !first.is_part());
        let shown = |(row, col): &(usize, usize)| patterns.iter().any(|pattern| pattern.blank(*row, *col).is_none());
        let pair = row
            .zip(col)
            .filter(shown)
            .map(|(row, col)| (Self::Pair(row, col), format!("{} › {}", first.rows.text(row), first.cols.text(col))));
        let query = row.map(|row| (Self::Query(row), format!("what {} attends to", first.rows.text(row))));
        let key = col
            .filter(|_| !first.is_part())
            .map(|col| (Self::Key(col), format!("what attends to {}", first.cols.text(col))));
        [pair, query, key].into_iter().flatten().collect()
    }

    /// Its numbers, of every pattern.
    fn table(self, patterns: &[Arc<ReadPattern>], capture: &Capture) -> Table {
        let mut all = Table::default();
        for pattern in patterns {
            all.append(match self {
                Self::Pair(row, col) => data::pair(pattern, capture, (row, col)),
                Self::Query(row) => data::of_query(pattern, row),
                Self::Key(col) => data::of_key(pattern, col),
            });
        }
        all
    }
}

/// Gives a row of numbers the right button: one click more puts `text` on the clipboard.
pub fn copy_menu_ui(response: &Response, cx: &ViewCtx<'_>, what: &str, text: impl FnOnce() -> String) {
    // Not a stop of the Tab key.
    let response = response.interact(Sense::CLICK);
    Popup::context_menu(&response).accessible_name("Menu").show(|ui| {
        if ui.button(format!("Copy {what}")).clicked() {
            cx.send(Command::Copy { what: what.to_owned(), text: text() });
        }
    });
}
