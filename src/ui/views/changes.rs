//! Menus of changes of the run: of tokens, a head, an edge, the normaliser.

use std::{borrow::Cow, ops::Range};

use eframe::egui::{
    Button, Id, Key, PopupCloseBehavior, RichText, TextEdit, Ui,
    containers::menu::{MenuConfig, SubMenuButton},
};

use super::{controls, source};
use crate::{
    analysis::{
        explain::report::LabQuestion,
        reading::{self, Axis},
    },
    capture::{
        Capture, Edit, HideToken, ReplaceToken, SetPattern,
        changes::{EditAim, EditOffer},
        words,
    },
    ids::{ExpertId, HeadId, Side},
    protocol::{EditRequest, MeanInputs},
    session::{Change, ChangeCommand, Command, Focus, Grouping, SelectionCommand, ViewKind},
    text::sentence,
    ui::{ViewCtx, theme::GRID},
};

/// Longer texts of tokens are cut in menus.
const MAX_CHARS: usize = 18;

/// A token, or several that are read as one word.
#[derive(Clone, Debug, PartialEq)]
struct Tokens {
    side: Side,
    positions: Range<usize>,
    text: String,
}

impl Tokens {
    fn of(axis: &Axis, side: Side, position: usize) -> Option<Self> {
        let group = axis.groups.get(axis.group_of(position)?)?;
        Some(Self { side, positions: group.positions.clone(), text: shortened(&group.text) })
    }
}

fn shortened(text: &str) -> String {
    let start: String = text.chars().take(MAX_CHARS).collect();
    if start.len() < text.len() { format!("{start}…") } else { start }
}

/// Menus for the tokens of `focus`, for `head`, for the edge between the tokens, for an expert, and for all attention.
pub fn changes_menu_ui(ui: &mut Ui, cx: &ViewCtx<'_>, focus: Focus, (head, expert): (HeadId, Option<ExpertId>)) {
    let Some(capture) = cx.document.latest_capture() else { return };
    if let Some(reason) = cx.document.unchangeable() {
        ui.label(RichText::new(reason).small().color(cx.theme.text_weak));
        return;
    }
    let [rows, cols] = reading::axes(capture, &source::of_head(cx, capture, head));
    let query = focus.query.and_then(|query| Tokens::of(&rows, head.stack.query_side(), query));
    let key = focus.key.filter(|key| *key < cols.n_tokens());
    let key = key.and_then(|key| Tokens::of(&cols, head.stack.key_side(), key));
    if let (Some(query), Some(key)) = (&query, &key)
        && query.side == key.side
        && query != key
    {
        let [first, last] = if query.positions.start < key.positions.start { [query, key] } else { [key, query] };
        let name = format!("Group “{}” to “{}”", first.text, last.text);
        group_button_ui(ui, cx, query.side, first.positions.start..last.positions.end, &name);
    }
    if let Some(query) = &query {
        submenu_ui(ui, format!("Token “{}”", query.text), |ui| tokens_ui(ui, cx, capture, query));
    }
    if let Some(key) = key.as_ref().filter(|key| Some(*key) != query.as_ref()) {
        submenu_ui(ui, format!("Token “{}”", key.text), |ui| tokens_ui(ui, cx, capture, key));
    }
    if let (Some(query), Some(key)) = (&query, &key) {
        submenu_ui(ui, format!("Edge “{}” › “{}”", query.text, key.text), |ui| {
            edge_ui(ui, cx, head, [query, key]);
        });
    }
    if let Some(expert) = expert {
        submenu_ui(ui, format!("Expert {expert}"), |ui| offers_ui(ui, cx, &EditAim::Expert(expert)));
    }
    submenu_ui(ui, format!("Head {head}"), |ui| head_ui(ui, cx, head));
    submenu_ui(ui, "All attention".to_owned(), |ui| {
        offers_ui(ui, cx, &EditAim::Stack(head.stack));
    });
}

/// Only what is done closes it, so that something can be written in it.
fn submenu_ui(ui: &mut Ui, name: String, contents: impl FnOnce(&mut Ui)) {
    let config = MenuConfig::new().close_behavior(PopupCloseBehavior::CloseOnClickOutside);
    SubMenuButton::new(name).config(config).ui(ui, contents);
}

/// What can be changed where something is pointed at.
fn offers_ui(ui: &mut Ui, cx: &ViewCtx<'_>, aim: &EditAim<'_>) {
    for EditOffer { name, meaning, obstacle, edits, .. } in Edit::offers(aim) {
        let choice = ui.add_enabled(obstacle.is_none(), Button::new(name)).on_hover_text(meaning);
        if choice.on_disabled_hover_text(obstacle.unwrap_or_default()).clicked() {
            add(cx, edits.into_iter().map(EditRequest::Edit).collect());
            ui.close();
        }
    }
}

fn add(cx: &ViewCtx<'_>, edits: Vec<EditRequest>) {
    cx.send(Command::Change(ChangeCommand::Add(edits)));
}

fn tokens_ui(ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture, tokens: &Tokens) {
    let Tokens { side, positions, .. } = tokens.clone();
    let has_mask = cx.document.model.latest().is_some_and(|model| model.has_mask);
    offers_ui(ui, cx, &EditAim::Tokens { side, positions: positions.clone(), capture, has_mask });
    let reason = cx.document.undeletable(side, &positions);
    let delete = ui.add_enabled(reason.is_none(), Button::new("Delete"));
    let meaning = "Removes it from the text; later tokens move up";
    if delete.on_hover_text(meaning).on_disabled_hover_text(reason.unwrap_or_default()).clicked() {
        cx.send(Command::Change(ChangeCommand::Delete(side, positions.clone())));
        ui.close();
    }
    groups_ui(ui, cx, side, positions.clone(), &next_words(cx, capture, side, &positions));
    let has_id = |at: usize| capture.tokens(side).get(at).is_some_and(|token| token.id.is_some());
    if positions.len() == 1 && has_id(positions.start) {
        replace_ui(ui, cx, tokens);
    }
}

/// Tokens with the word, or the token where words are not merged, behind them.
fn next_words(cx: &ViewCtx<'_>, capture: &Capture, side: Side, positions: &Range<usize>) -> Range<usize> {
    let tokens = capture.tokens(side);
    let words = if cx.pane.options.reading.merging.is_merged() { words::words(tokens) } else { Vec::new() };
    let next = words.into_iter().find(|word| word.contains(&positions.end));
    positions.start..next.map_or(positions.end + 1, |word| word.end).min(tokens.len())
}

/// What can be done about groups of tokens in a menu: one of `wider`, and taking those of `positions` apart.
fn groups_ui(ui: &mut Ui, cx: &ViewCtx<'_>, side: Side, positions: Range<usize>, wider: &Range<usize>) {
    if wider.len() > positions.len() {
        group_button_ui(ui, cx, side, wider.clone(), "Group with the next");
    }
    ungroup_button_ui(ui, cx, side, positions);
}

fn group_button_ui(ui: &mut Ui, cx: &ViewCtx<'_>, side: Side, positions: Range<usize>, name: &str) {
    let reason = cx.document.ungroupable(side, &positions);
    let meaning = "One word of your own: weights are summed over its keys and averaged over its queries; brackets in the \
        text say so";
    let group = ui.add_enabled(reason.is_none(), Button::new(name)).on_hover_text(meaning);
    if group.on_disabled_hover_text(reason.unwrap_or_default()).clicked() {
        cx.send(Command::Change(ChangeCommand::Group(side, positions, Grouping::Together)));
        ui.close();
    }
}

fn ungroup_button_ui(ui: &mut Ui, cx: &ViewCtx<'_>, side: Side, positions: Range<usize>) {
    if cx.document.has_groups(side, &positions) && ui.button("Ungroup").clicked() {
        cx.send(Command::Change(ChangeCommand::Group(side, positions, Grouping::Apart)));
        ui.close();
    }
}

/// The menu behind a drag over tokens.
pub fn dragged_tokens_ui(ui: &mut Ui, cx: &ViewCtx<'_>, side: Side, positions: Range<usize>) {
    group_button_ui(ui, cx, side, positions.clone(), "Group these tokens");
    ungroup_button_ui(ui, cx, side, positions);
}

/// A field for another token.
fn replace_ui(ui: &mut Ui, cx: &ViewCtx<'_>, tokens: &Tokens) {
    let (side, position) = (tokens.side, tokens.positions.start);
    let id = Id::unique(("replacement", cx.pane.id.0, side.name(), position));
    let mut text: String = ui.data(|data| data.get_temp(id)).unwrap_or_default();
    ui.horizontal(|ui| {
        let field = TextEdit::singleline(&mut text).hint_text("Replace by a token, or #id").desired_width(42.0 * GRID);
        let field = ui.add(field).on_hover_text("The text of one token, or # and a token id");
        let field = field.accessible_name("Replace by");
        let entered = field.lost_focus() && ui.input(|input| input.key_pressed(Key::Enter));
        let wanted = replacement(side, position, &text);
        let clicked = ui.add_enabled(wanted.is_some(), Button::new("Replace")).clicked();
        if let Some(wanted) = wanted.filter(|_| clicked || entered) {
            add(cx, vec![wanted]);
            text.clear();
            ui.close();
        }
    });
    ui.data_mut(|data| data.insert_temp(id, text));
}

/// What was written into the field, as a change; `None` for nothing, or for no number.
fn replacement(side: Side, position: usize, text: &str) -> Option<EditRequest> {
    let text = text.trim();
    match text.strip_prefix('#').filter(|number| !number.is_empty()) {
        _ if text.is_empty() => None,
        Some(number) => {
            Some(Edit::ReplaceToken(ReplaceToken { side, position, id: number.trim().parse().ok()? }).into())
        }
        None => Some(EditRequest::Word { side, position, text: text.to_owned() }),
    }
}

fn head_ui(ui: &mut Ui, cx: &ViewCtx<'_>, head: HeadId) {
    let meaning = "Opens Explain › This head: what is lost without it, and whether its weights explain it";
    if ui.button("Does this head matter?").on_hover_text(meaning).clicked() {
        cx.send(Command::Select(SelectionCommand::ShowHead(head)));
        controls::edit_options(cx, |options| *options.question_mut() = LabQuestion::Believe);
        cx.send(Command::Select(SelectionCommand::ShowView(ViewKind::OF_ANSWERS)));
        ui.close();
    }
    ui.separator();
    for HeadChange { name, meaning, edits, .. } in head_changes(cx, head) {
        if ui.button(name).on_hover_text(meaning).clicked() {
            add(cx, edits);
            ui.close();
        }
    }
}

/// Something that can be changed of a head.
pub struct HeadChange {
    pub name: Cow<'static, str>,
    pub meaning: &'static str,
    /// What people also call it.
    pub synonyms: &'static [&'static str],
    pub edits: Vec<EditRequest>,
}

/// What can be changed of a head, in the order of its menu.
pub fn head_changes(cx: &ViewCtx<'_>, head: HeadId) -> Vec<HeadChange> {
    let made: Vec<&Edit> = cx.document.experiment.changes.iter().filter_map(|change| change.edit.edit()).collect();
    let offered = Edit::offers(&EditAim::Head { head, made: &made }).into_iter();
    let offered = offered.map(|EditOffer { name, meaning, synonyms, edits, .. }| {
        let edits = edits.into_iter().map(EditRequest::Edit).collect();
        HeadChange { name, meaning, synonyms, edits }
    });
    let sees = cx.document.model.latest().is_some_and(|model| model.spec.modality.image().is_some());
    let bundled = MeanInputs::Bundled(if sees { "demo:pictures" } else { "demo:sentences" });
    let means = cx.document.meant_inputs().into_iter().chain([bundled]).map(|over| HeadChange {
        name: format!("Ablate: mean over {}", over.name()).into(),
        meaning: "Its output is set to its mean over all tokens of these inputs: the common part stays, the part \
            specific to this text goes",
        synonyms: &["mean ablation"],
        edits: vec![EditRequest::MeanOver { head, over }],
    });
    offered.chain(means).collect()
}

fn edge_ui(ui: &mut Ui, cx: &ViewCtx<'_>, head: HeadId, [query, key]: [&Tokens; 2]) {
    let edges: Vec<[usize; 2]> =
        query.positions.clone().flat_map(|query| key.positions.clone().map(move |key| [query, key])).collect();
    offers_ui(ui, cx, &EditAim::Edges { head, edges });
}

/// Whether some attention has keys of a side.
fn can_hide(capture: &Capture, side: Side) -> bool {
    capture.model().stacks.iter().any(|stack| stack.kind.key_side() == side)
}

/// The place of the change that hides a token of what is shown; `None` when none does.
pub fn hidden_by(cx: &ViewCtx<'_>, side: Side, position: usize) -> Option<usize> {
    let hidden = Edit::HideToken(HideToken { position, side });
    let hides = |change: &Change| change.on && matches!(&change.edit, EditRequest::Edit(edit) if *edit == hidden);
    cx.document.experiment.changes.iter().position(hides)
}

/// Hides tokens, or shows them again when they are hidden: what a double click does.
pub fn toggle_hidden(cx: &ViewCtx<'_>, side: Side, positions: Range<usize>) {
    let Some(capture) = cx.document.latest_capture().filter(|capture| can_hide(capture, side)) else { return };
    let hidden: Option<Vec<usize>> = positions.clone().map(|position| hidden_by(cx, side, position)).collect();
    let command = hidden.map_or_else(
        || {
            let positions = positions.filter(|position| *position < capture.tokens(side).len());
            ChangeCommand::Add(positions.map(|position| Edit::HideToken(HideToken { position, side }).into()).collect())
        },
        ChangeCommand::Remove,
    );
    // What the first click held.
    cx.send(Command::Select(SelectionCommand::Pin(Focus::NONE)));
    cx.send(Command::Change(command));
}

/// A change in a few words, with the texts of tokens: `L5H5 off`, `“animal” hidden`.
pub fn short_change_text(edit: &Edit, capture: &Capture) -> String {
    edit.kind().mentions().into_iter().fold(edit.kind().short(), |short, (what, side, position)| {
        let text = format!("“{}”", shortened(&source::token_text(capture.tokens(side), position)));
        short.replacen(&format!("{what} {position}"), &text, 1)
    })
}

/// What a change is, with the tokens that it names, `Token 2 “animal” is hidden`, or that it changes nothing yet.
pub fn change_text(edit: &EditRequest, capture: &Capture) -> String {
    let named = |what: &str, side: Side, position: usize, sentence: &str| {
        let number = format!("{what} {position}");
        let text = source::token_text(capture.tokens(side), position);
        sentence.replacen(&number, &format!("{number} “{}”", shortened(&text)), 1)
    };
    // Where nothing was drawn yet, the weights are those of the run without it.
    if let EditRequest::Edit(Edit::SetPattern(SetPattern { head, pattern })) = edit
        && capture.computation().edits.is_empty()
        && capture.stored_pattern(*head).is_some_and(|own| own == *pattern)
    {
        return sentence(&edit.to_string().replace("weights set", "no weight edited yet"));
    }
    let mentions = edit.mentions().into_iter();
    sentence(&mentions.fold(edit.to_string(), |clause, (what, side, position)| named(what, side, position, &clause)))
}
