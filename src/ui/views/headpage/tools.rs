//! What stands above the page of a head: a text to try, a note about the head, and ways to other views.

use eframe::egui::{Button, Id, Key, TextEdit, Ui, vec2};

use super::{focus_of, open};
use crate::{
    analysis::{
        cloud_query::{CloudQuery, CloudResult},
        head_page::StrongPair,
    },
    session::{Command, HeadNote, Loadable, MAX_HEAD_NOTE, SelectionCommand, SessionCommand, ViewKind, note_of},
    ui::{ViewCtx, theme::GRID, views::pending},
};

/// A narrower field says nothing.
const LEAST_FIELD_PT: f32 = 36.0 * GRID;
/// Bytes of a text that is typed here.
const MAX_TEXT: usize = 4096;

/// Draws them in a row, or in several where they do not fit.
pub fn ui(ui: &mut Ui, cx: &ViewCtx<'_>) {
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing = vec2(GRID, GRID);
        why_ui(ui, cx);
        points_ui(ui, cx);
        let link =
            ui.button("Copy link").on_hover_text("A link to this head with the open input and the pair that is held");
        if link.clicked() {
            cx.send(Command::Session(SessionCommand::CopyAddress));
        }
        let width = (ui.available_width() / 2.0 - GRID).max(LEAST_FIELD_PT);
        try_ui(ui, cx, width);
        note_ui(ui, cx, width);
    });
    ui.add_space(GRID);
}

/// Leads to the steps of the strongest pair.
fn why_ui(ui: &mut Ui, cx: &ViewCtx<'_>) {
    let found = pending::ask(cx, CloudQuery::Page(cx.pane.selection.head)).and_then(Loadable::latest);
    let pair: Option<&StrongPair> =
        found.and_then(|found| if let CloudResult::Page(page) = &**found { page.pairs.first() } else { None });
    let steps = ViewKind::OF_STEPS;
    let obstacle = match pair {
        None => Some("The head has no pair that counts"),
        Some(_) => cx.view_unavailable(steps),
    };
    let why = ui.add_enabled(obstacle.is_none(), Button::new("Why its strongest pair"));
    let why = why.on_hover_text("Opens the input of the strongest pair, and shows how its weight comes about");
    let clicked = why.on_disabled_hover_text(obstacle.unwrap_or_default()).clicked();
    if let Some(pair) = pair.filter(|_| clicked) {
        open(cx, (pair.input, focus_of(pair)), Some(steps));
    }
}

/// Leads to the queries and keys of the head as points.
fn points_ui(ui: &mut Ui, cx: &ViewCtx<'_>) {
    let points = ViewKind::OF_CORPUS;
    let obstacle = cx.view_unavailable(points);
    let map = ui.add_enabled(obstacle.is_none(), Button::new(points.label())).on_hover_text(points.spec().help);
    if map.on_disabled_hover_text(obstacle.unwrap_or_default()).clicked() {
        cx.send(Command::Select(SelectionCommand::ShowView(points)));
    }
}

/// A text of the user's own, which becomes the open input; the page tells where it stands among the others.
fn try_ui(ui: &mut Ui, cx: &ViewCtx<'_>, width: f32) {
    let reads_text = cx.document.latest_capture().is_some_and(|capture| capture.image().is_none());
    let can_run = cx.document.model.latest().is_some() && reads_text;
    if !can_run {
        return;
    }
    // What is typed is the field's own until it is run.
    let id = Id::unique(("a text to try", cx.pane.id.0));
    let mut text: String = ui.data(|data| data.get_temp(id)).unwrap_or_default();
    let edit = TextEdit::singleline(&mut text).hint_text("Try a text: Enter").char_limit(MAX_TEXT).desired_width(width);
    let response = ui.add(edit).on_hover_text("How active the head is in it, among the inputs of the page");
    let entered = response.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
    if response.changed() || entered {
        ui.data_mut(|data| data.insert_temp(id, text.clone()));
    }
    if entered && !text.trim().is_empty() {
        cx.send(Command::SetText(text));
        cx.send(Command::Run);
    }
}

/// What the user notes about the head.
fn note_ui(ui: &mut Ui, cx: &ViewCtx<'_>, width: f32) {
    let Some(capture) = cx.document.latest_capture() else { return };
    let (model, head) = (&capture.model().name, cx.pane.selection.head);
    let mut text = note_of(cx.notes, model, head).to_owned();
    let hint = format!("Note about {head}");
    let edit = TextEdit::singleline(&mut text).hint_text(&hint).char_limit(MAX_HEAD_NOTE / 4).desired_width(width);
    let edit = edit.id(Id::unique(("note", cx.pane.id.0, head)));
    let response = ui.add(edit).on_hover_text("Kept with the session; the Atlas shows it with the head");
    if response.changed() {
        cx.send(Command::Session(SessionCommand::NoteHead(HeadNote::new(model, head, text))));
    }
}
