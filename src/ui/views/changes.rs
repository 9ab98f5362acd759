//! What can be changed of a run, as menus: tokens, a head, an edge, the normaliser.

use std::ops::Range;

use eframe::egui::{
    Button, Id, Key, PopupCloseBehavior, RichText, TextEdit, Ui,
    containers::menu::{MenuConfig, SubMenuButton},
};

use super::{controls, source};
use crate::{
    analysis::{
        explain::report::Question,
        reading::{self, Axis},
    },
    capture::{Ablation, Capture, Cut, Edit, Normalizer, Scope, Sparsity},
    ids::{HeadId, Side},
    protocol::{EditRequest, MeanInputs},
    session::{Change, ChangeCommand, Command, Focus, ViewKind},
    spec::StackSpec,
    text::{counted, sentence},
    ui::{ViewCtx, theme::GRID},
};

/// The seed of the first shuffle; the next one is another.
const FIRST_SEED: u64 = 1;
/// Between softmax and sparsemax.
const MIDDLE_ALPHA: f32 = 1.5;
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

    fn each(&self, edit: impl Fn(Side, usize) -> Edit) -> Vec<EditRequest> {
        self.positions.clone().map(|position| edit(self.side, position).into()).collect()
    }
}

fn shortened(text: &str) -> String {
    let start: String = text.chars().take(MAX_CHARS).collect();
    if start.len() < text.len() { format!("{start}…") } else { start }
}

/// Menus for the tokens of `focus`, for `head`, for the edge between the tokens, and for all attention.
pub fn changes_menu_ui(ui: &mut Ui, cx: &ViewCtx<'_>, focus: Focus, head: HeadId) {
    let Some(capture) = cx.document.latest_capture() else { return };
    if let Some(reason) = cx.document.unchangeable() {
        ui.label(RichText::new(reason).small().color(cx.theme.text_weak));
        return;
    }
    let [rows, cols] = reading::axes(capture, &source::of_head(cx, capture, head));
    let query = focus.query.and_then(|query| Tokens::of(&rows, head.stack.query_side(), query));
    let key = focus.key.filter(|key| *key < cols.n_tokens());
    let key = key.and_then(|key| Tokens::of(&cols, head.stack.key_side(), key));
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
    submenu_ui(ui, format!("Head {head}"), |ui| head_ui(ui, cx, head));
    submenu_ui(ui, "All attention".to_owned(), |ui| all_ui(ui, cx, head));
}

/// Only what is done closes it, so that something can be written in it.
fn submenu_ui(ui: &mut Ui, name: String, contents: impl FnOnce(&mut Ui)) {
    let config = MenuConfig::new().close_behavior(PopupCloseBehavior::CloseOnClickOutside);
    SubMenuButton::new(name).config(config).ui(ui, contents);
}

fn choice_ui(ui: &mut Ui, cx: &ViewCtx<'_>, name: &str, meaning: &str, edit: impl Into<EditRequest>) {
    if ui.button(name).on_hover_text(meaning).clicked() {
        add(cx, vec![edit.into()]);
        ui.close();
    }
}

fn add(cx: &ViewCtx<'_>, edits: Vec<EditRequest>) {
    cx.send(Command::Change(ChangeCommand::Add(edits)));
}

fn tokens_ui(ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture, tokens: &Tokens) {
    let hide = ui.add_enabled(can_hide(capture, tokens.side), Button::new("Hide"));
    let hide = hide.on_hover_text("No token can attend to it, in any layer (shortcut: double-click the token)");
    if hide.on_disabled_hover_text("No attention reads these tokens").clicked() {
        add(cx, tokens.each(|side, position| Edit::HideToken { side, position }));
        ui.close();
    }
    global_ui(ui, cx, capture, tokens);
    let has_mask = cx.document.model.latest().is_some_and(|model| model.has_mask);
    let has_ids =
        tokens.positions.clone().all(|at| capture.tokens(tokens.side).get(at).is_some_and(|it| it.id.is_some()));
    let mask = ui.add_enabled(has_mask && has_ids, Button::new("Mask"));
    let mask = mask.on_hover_text("Replaces it by the model’s mask token");
    if mask.on_disabled_hover_text("The model has no mask token").clicked() {
        add(cx, tokens.each(|side, position| Edit::MaskToken { side, position }));
        ui.close();
    }
    let reason = cx.document.undeletable(tokens.side, &tokens.positions);
    let delete = ui.add_enabled(reason.is_none(), Button::new("Delete"));
    let meaning = "Removes it from the text; later tokens move up";
    if delete.on_hover_text(meaning).on_disabled_hover_text(reason.unwrap_or_default()).clicked() {
        cx.send(Command::Change(ChangeCommand::Delete(tokens.side, tokens.positions.clone())));
        ui.close();
    }
    if has_ids && tokens.positions.len() == 1 {
        replace_ui(ui, cx, tokens);
    }
}

/// Makes tokens see all, in models that know such tokens, or takes that from them.
fn global_ui(ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture, tokens: &Tokens) {
    let has_maps =
        |stack: &&StackSpec| stack.kind.key_side() == tokens.side && stack.layers.iter().any(|layer| layer.global);
    let Some(stack) = capture.model().stacks.iter().find(has_maps) else { return };
    let now = capture.global_tokens(HeadId { stack: stack.kind, ..HeadId::default() });
    let is_global = tokens.positions.clone().all(|position| now.contains(&position));
    let (name, meaning) = if is_global {
        ("Not global", "It sees only its window, and only its window sees it")
    } else {
        ("Make global", "It sees all tokens and all see it, with separate query, key and value maps")
    };
    if !ui.button(name).on_hover_text(meaning).clicked() {
        return;
    }
    let others = now.iter().copied().filter(|position| !tokens.positions.contains(position));
    let mut positions: Vec<usize> = others.chain(tokens.positions.clone().filter(|_| !is_global)).collect();
    positions.sort_unstable();
    add(cx, vec![Edit::SeeAll { positions }.into()]);
    ui.close();
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
        Some(number) => Some(Edit::ReplaceToken { side, position, id: number.trim().parse().ok()? }.into()),
        None => Some(EditRequest::Word { side, position, text: text.to_owned() }),
    }
}

fn head_ui(ui: &mut Ui, cx: &ViewCtx<'_>, head: HeadId) {
    let meaning = "Opens Explain › This head: what is lost without it, and whether its weights explain it";
    if ui.button("Does this head matter?").on_hover_text(meaning).clicked() {
        cx.send(Command::ShowHead(head));
        controls::edit_options(cx, |options| options.lab.question = Question::Believe);
        cx.send(Command::ShowView(ViewKind::Lab));
        ui.close();
    }
    ui.separator();
    for HeadChange { name, meaning, edit, .. } in head_changes(cx, head) {
        choice_ui(ui, cx, &name, meaning, edit);
    }
}

/// Something that can be changed of a head.
pub struct HeadChange {
    pub name: String,
    pub meaning: &'static str,
    /// What people also call it.
    pub synonyms: &'static [&'static str],
    pub edit: EditRequest,
}

/// What can be changed of a head, in the order of its menu.
pub fn head_changes(cx: &ViewCtx<'_>, head: HeadId) -> Vec<HeadChange> {
    let change = |name: &str, meaning, synonyms, edit: EditRequest| HeadChange {
        name: name.to_owned(),
        meaning,
        synonyms,
        edit,
    };
    let ablate = |with| EditRequest::from(Edit::Ablate { head, with });
    let sharpen = |by| EditRequest::from(Edit::Sharpen { head, by });
    let sees = cx.document.model.latest().is_some_and(|model| model.spec.modality.image().is_some());
    let bundled = MeanInputs::Bundled(if sees { "demo:pictures" } else { "demo:sentences" });
    let means = cx.document.meant_inputs().into_iter().chain([bundled]).map(|over| {
        let meaning = "Its output is set to its mean over all tokens of these inputs: the common part stays, the \
            part specific to this text goes";
        let name = format!("Ablate: mean over {}", over.name());
        change(&name, meaning, &["mean ablation"], EditRequest::MeanOver { head, over })
    });
    let zero = change(
        "Ablate: zero",
        "Its output is set to 0",
        &["knock out", "knockout", "zero ablation", "remove head", "prune head", "disable head", "switch off head"],
        ablate(Ablation::Zero),
    );
    let meaning = "Its output is set to its mean over the positions of this input";
    let mean = change("Ablate: mean", meaning, &["mean ablation"], ablate(Ablation::Mean));
    let meaning = "The same weight for every key it can see";
    let uniform = change("Uniform weights", meaning, &["uniform attention"], ablate(Ablation::Uniform));
    let shuffle = Ablation::Shuffle { seed: next_seed(&cx.document.experiment.changes, head) };
    let meaning = "Each row keeps its weights, in another order";
    let shuffle = change("Shuffle weights", meaning, &["permute attention", "random attention"], ablate(shuffle));
    let meaning = "Doubles its scores: the largest weights grow";
    let sharper = change("Softmax temperature ½", meaning, &["sharpen attention"], sharpen(2.0));
    let meaning = "Halves its scores: the weights become more even";
    let flatter = change("Softmax temperature 2", meaning, &["flatten attention"], sharpen(0.5));
    let entmax = Edit::Normalize { scope: Scope::Heads(vec![head]), with: Normalizer::Entmax(MIDDLE_ALPHA) };
    let meaning = "α-entmax in place of softmax; drag its α under What if";
    let entmax = change("Other softmax…", meaning, &["sparsemax", "entmax", "sparse attention"], entmax.into());
    [zero, mean].into_iter().chain(means).chain([uniform, shuffle, sharper, flatter, entmax]).collect()
}

/// Shuffling once more is another order.
fn next_seed(changes: &[Change], of: HeadId) -> u64 {
    let seed = |change: &Change| match change.edit {
        EditRequest::Edit(Edit::Ablate { head, with: Ablation::Shuffle { seed } }) if head == of => Some(seed + 1),
        _ => None,
    };
    changes.iter().filter_map(seed).max().unwrap_or(FIRST_SEED)
}

fn edge_ui(ui: &mut Ui, cx: &ViewCtx<'_>, head: HeadId, [query, key]: [&Tokens; 2]) {
    let edges: Vec<[usize; 2]> =
        query.positions.clone().flat_map(|query| key.positions.clone().map(move |key| [query, key])).collect();
    for (name, scope) in [
        (format!("Cut in head {head}"), Scope::Heads(vec![head])),
        (format!("Cut in layer {}", head.layer), Scope::Layers(vec![head.layer])),
        ("Cut in all layers".to_owned(), Scope::All),
    ] {
        let meaning = "The query cannot attend to the key; the rest of its row is scaled up";
        let edit = Edit::Knockout { stack: head.stack, scope, edges: edges.clone(), cut: Cut::Scores };
        choice_ui(ui, cx, &name, meaning, edit);
    }
}

fn all_ui(ui: &mut Ui, cx: &ViewCtx<'_>, head: HeadId) {
    /// How far a query sees, and how large a block is, in tokens.
    const REACH: usize = 4;
    let normalize = |with| Edit::Normalize { scope: Scope::All, with };
    let meaning = "Between softmax and sparsemax: small weights become zero; α can be dragged";
    choice_ui(ui, cx, "α-entmax", meaning, normalize(Normalizer::Entmax(MIDDLE_ALPHA)));
    choice_ui(ui, cx, "Sparsemax", "Many weights become zero", normalize(Normalizer::Sparsemax));
    let restrict = |to| Edit::Restrict { stack: head.stack, scope: Scope::All, to };
    let window = Sparsity::Window { reach: REACH, dilation: 1, n_global: 0 };
    let near = format!("Only {REACH} tokens each way");
    choice_ui(ui, cx, &near, "A query sees only its neighbours", restrict(window));
    let blocks = format!("Only within blocks of {}", counted(REACH, "token"));
    choice_ui(ui, cx, &blocks, "A query sees only its own block", restrict(Sparsity::Blocks { size: REACH }));
}

/// Whether some attention has keys of a side.
fn can_hide(capture: &Capture, side: Side) -> bool {
    capture.model().stacks.iter().any(|stack| stack.kind.key_side() == side)
}

/// The place of the change that hides a token of what is shown; `None` when none does.
pub fn hidden_by(cx: &ViewCtx<'_>, side: Side, position: usize) -> Option<usize> {
    let hidden = Edit::HideToken { side, position };
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
            ChangeCommand::Add(positions.map(|position| Edit::HideToken { side, position }.into()).collect())
        },
        ChangeCommand::Remove,
    );
    // What the first click held.
    cx.send(Command::Pin(Focus::NONE));
    cx.send(Command::Change(command));
}

/// What a change is, with the tokens that it names, `Token 2 “animal” is hidden`, or that it changes nothing yet.
pub fn change_text(edit: &EditRequest, capture: &Capture) -> String {
    let named = |what: &str, side: Side, position: usize, sentence: &str| {
        let number = format!("{what} {position}");
        let text = source::token_text(capture.tokens(side), position);
        sentence.replacen(&number, &format!("{number} “{}”", shortened(&text)), 1)
    };
    let clause = edit.to_string();
    sentence(&match edit {
        EditRequest::Word { side, position, .. }
        | EditRequest::Edit(
            Edit::HideToken { side, position }
            | Edit::MaskToken { side, position }
            | Edit::ReplaceToken { side, position, .. },
        ) => named("token", *side, *position, &clause),
        EditRequest::Edit(Edit::Knockout { stack, edges, .. }) => match edges[..] {
            [[query, key]] => {
                let clause = named("query", stack.query_side(), query, &clause);
                named("key", stack.key_side(), key, &clause)
            }
            _ => clause,
        },
        // Where nothing was drawn yet, the weights are those of the run without it.
        EditRequest::Edit(Edit::SetPattern { head, pattern })
            if capture.computation().edits.is_empty()
                && capture.stored_pattern(*head).is_some_and(|own| own == *pattern) =>
        {
            clause.replace("weights set", "no weight edited yet")
        }
        EditRequest::Taken { rows, .. } => match rows.positions[..] {
            [position] => named("token", rows.stack.query_side(), position, &clause),
            _ => clause,
        },
        EditRequest::Edit(_) | EditRequest::MeanOver { .. } | EditRequest::Between(_) => clause,
    })
}
