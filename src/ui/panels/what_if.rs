//! Changes of the run.

use eframe::egui::{Button, Checkbox, ComboBox, RichText, Role, Ui, WidgetInfo};

use super::direction;
use crate::{
    analysis::{attention, reading::align::align},
    capture::{
        Capture, Edit, MeanOf, SetPattern, Site,
        changes::{EditAim, EditOffer},
        words::token_text,
    },
    ids::{HeadId, Side},
    lab::{FieldValues, Method as _, MethodPreset, PatchingOptions},
    protocol::{Between, EditRequest, PatchSource, PatchedRows},
    session::{Change, ChangeCommand, Command, Document, HeadRef, SelectionCommand},
    text::{capitalised, sentence},
    ui::{
        PanelCtx,
        theme::GRID,
        views::{change_text, changes_menu_ui, drag, narrow_field_ui},
        widgets::{scrolled_menu_ui, section_ui},
    },
};

/// Draws the list of changes, or how to make one.
pub fn what_if_ui(ui: &mut Ui, cx: &PanelCtx<'_>) {
    let document = cx.session.changing();
    if document.unchangeable().is_some() {
        return;
    }
    // What was replaced is named as it was; a run that was refused from the start has only the one beside it.
    let beside = document.plain.and_then(|plain| cx.session.find_document(plain)?.latest_capture());
    let Some(capture) = cx.session.unchanged(document).or(document.latest_capture()).or(beside) else { return };
    section_ui(ui, cx.theme, "Changes");
    let changes = &document.experiment.changes;
    for (idx, change) in changes.iter().enumerate() {
        change_ui(ui, cx, capture, (idx, change));
    }
    ui.horizontal_wrapped(|ui| {
        let focus = cx.pane.selection.pinned;
        ui.menu_button("Change ⏷", |ui| {
            scrolled_menu_ui(ui, |ui| changes_menu_ui(ui, cx, focus, (cx.pane.selection.head, None)));
        })
        .response
        .on_hover_text("Change the selected head, the pinned tokens or all attention, and run again");
        adapter_ui(ui, cx);
        taken_over_ui(ui, cx);
        donors_ui(ui, cx);
        direction::menu_ui(ui, cx);
        patching_ui(ui, cx, capture);
        if !changes.is_empty() && ui.add(Button::new("Clear")).on_hover_text("Remove all changes").clicked() {
            cx.send(Command::Change(ChangeCommand::Clear));
        }
        difference_ui(ui, cx);
    });
    if changes.is_empty() {
        let how = "Double-click a token to hide it; right-click a token, a head, a cell or a line for more";
        ui.label(RichText::new(how).small().color(cx.theme.text_weak));
    }
}

/// One change: whether it is made, what it is, and the way to take it away.
fn change_ui(ui: &mut Ui, cx: &PanelCtx<'_>, capture: &Capture, (idx, change): (usize, &Change)) {
    let words = change_text(&change.edit, capture);
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = GRID;
        let remove = ui.add(Button::new("✖").small().frame_when_inactive(false));
        remove.widget_info(|| WidgetInfo::labeled(Role::Button, true, format!("Remove: {words}")));
        if remove.on_hover_text("Remove this change").clicked() {
            cx.send(Command::Change(ChangeCommand::Remove(vec![idx])));
        }
        let mut on = change.on;
        let text = if on { RichText::new(&words) } else { RichText::new(&words).color(cx.theme.text_weak) };
        ui.style_mut().wrap_mode = Some(eframe::egui::TextWrapMode::Wrap);
        if ui.add(Checkbox::new(&mut on, text)).clicked() {
            cx.send(Command::Change(ChangeCommand::Switch(idx, on)));
        }
    });
    options_ui(ui, cx, (idx, change));
    if let EditRequest::Between(between) = &change.edit {
        direction::layer_ui(ui, cx, capture, (idx, between));
        mean_ui(ui, cx, idx, between);
    }
}

/// The options of a change.
fn options_ui(ui: &mut Ui, cx: &PanelCtx<'_>, (idx, change): (usize, &Change)) {
    let (drag, mut edit) = (drag(ui), change.edit.clone());
    ui.push_id(idx, |ui| edit.options(&mut |field| narrow_field_ui(ui, field)));
    if edit != change.edit {
        cx.send(Command::Change(ChangeCommand::Replace(idx, edit, drag)));
    }
}

/// What both means of a direction are over.
fn mean_ui(ui: &mut Ui, cx: &PanelCtx<'_>, idx: usize, between: &Between) {
    let mut mean = between.mean;
    let drag = drag(ui);
    let label = |mean: MeanOf| capitalised(mean.words());
    let meaning = "What both means are over. Over all tokens a long text weighs more; over the mean of each text every \
        text weighs the same";
    ui.label(RichText::new("Mean over").small().color(cx.theme.text_weak));
    let combo = ComboBox::new(("mean of a direction", idx), "").selected_text(label(mean)).show_ui(ui, |ui| {
        for choice in MeanOf::ALL {
            ui.selectable_value(&mut mean, choice, label(choice));
        }
    });
    combo.response.accessible_name("Mean over").on_hover_text(meaning);
    if mean != between.mean {
        let edit = EditRequest::Between(Box::new(Between { mean, ..between.clone() }));
        cx.send(Command::Change(ChangeCommand::Replace(idx, edit, drag)));
    }
}

/// The way to the method that estimates every activation patch at once.
fn patching_ui(ui: &mut Ui, cx: &PanelCtx<'_>, capture: &Capture) {
    let Some(column) = MethodPreset::from_name(PatchingOptions::SPEC.name) else { return };
    let reason = column.ask(&cx.pane.lab_focus(capture), &FieldValues::new()).err();
    let button = ui.add_enabled(reason.is_none(), Button::new(format!("{}…", column.title)));
    let button = button.on_disabled_hover_text(reason.map_or_else(String::new, |unasked| sentence(&unasked.why)));
    let meaning =
        "What every head at every position does for the answer between this text and another one: opens Explain";
    if button.on_hover_text(meaning).clicked() {
        cx.send(Command::ShowMethod(column.name));
    }
}

/// The way to run the model without its adapter, where it has one.
fn adapter_ui(ui: &mut Ui, cx: &PanelCtx<'_>) {
    let document = cx.session.changing();
    let Some(adapter) = document.model.latest().and_then(|model| model.audit.adapter.as_deref()) else { return };
    for EditOffer { name, meaning, edits, .. } in Edit::offers(&EditAim::Adapter(adapter)) {
        let is_made = document.experiment.changes.iter().any(|change| change.edit.edit() == edits.first());
        if !is_made && ui.button(name).on_hover_text(meaning).clicked() {
            let edits = edits.into_iter().map(EditRequest::Edit).collect();
            cx.send(Command::Change(ChangeCommand::Add(edits)));
        }
    }
}

/// The pattern that the selected head has in another document.
fn taken_over_ui(ui: &mut Ui, cx: &PanelCtx<'_>) {
    let (here, head) = (cx.session.changing(), cx.pane.selection.head);
    let others: Vec<_> = cx.session.documents.iter().filter(|other| other.id != here.id).collect();
    let Some(capture) = here.latest_capture().filter(|_| !others.is_empty()) else { return };
    let shape = [head.stack.query_side(), head.stack.key_side()].map(|side| capture.tokens(side).len());
    let menu = ui.menu_button("Pattern of… ⏷", |ui| {
        for other in others {
            let pattern = other.latest_capture().and_then(|capture| attention::pattern(capture, head));
            let fits = pattern.as_ref().is_some_and(|pattern| pattern.shape() == shape);
            let choice = ui.add_enabled(fits, Button::new(other.title()));
            let reason = "It has no such head, or another number of tokens";
            if choice.on_disabled_hover_text(reason).clicked()
                && let Some(pattern) = pattern
            {
                let edit = Edit::SetPattern(SetPattern { head, pattern });
                cx.send(Command::Change(ChangeCommand::Add(vec![edit.into()])));
                ui.close();
            }
        }
    });
    menu.response.on_hover_text(format!("Give head {head} the weights that it has in another run"));
}

/// Activations of the held token, as they are in another document.
fn donors_ui(ui: &mut Ui, cx: &PanelCtx<'_>) {
    let here = cx.session.changing();
    let others: Vec<_> = cx.session.documents.iter().filter(|other| other.id != here.id).collect();
    if others.is_empty() {
        return;
    }
    let HeadId { stack, layer, head } = cx.pane.selection.head;
    let focus = cx.pane.selection.pinned;
    let n = here.latest_capture().map_or(0, |capture| capture.query_tokens(stack).len());
    let key = focus.key.filter(|key| stack.query_side() == stack.key_side() && *key < n);
    let held = focus.query.or(key);
    let menu = ui.menu_button("Patch from… ⏷", |ui| {
        let Some(position) = held else {
            ui.label(RichText::new("First click the token whose activations to replace").color(cx.theme.text_weak));
            return;
        };
        for other in others {
            let donor = other.donor(here).and_then(|donor| {
                let there = counterpart(cx, (here, other), stack.query_side(), position)?;
                Ok(PatchSource { positions: Some(vec![there]), ..donor })
            });
            let reason = donor.as_ref().err().cloned().unwrap_or_default();
            ui.add_enabled_ui(donor.is_ok(), |ui| {
                let submenu = ui.menu_button(other.title(), |ui| {
                    let Ok(donor) = donor else { return };
                    ui.label(RichText::new(from_text(other, stack.query_side(), &donor)).color(cx.theme.text_weak));
                    let offered = |of_heads: bool| {
                        let sites = Site::ALL.into_iter().filter(|site| site.spec().is_patched);
                        sites.filter(move |site| site.is_per_head() == of_heads)
                    };
                    for site in offered(false).chain(offered(true)) {
                        let head = site.is_per_head().then_some(head);
                        let rows = PatchedRows { site, stack, layer, head, positions: vec![position] };
                        if ui.button(capitalised(&rows.what())).clicked() {
                            let taken = EditRequest::Taken { rows, from: Box::new(donor.clone()) };
                            cx.send(Command::Change(ChangeCommand::Add(vec![taken])));
                            ui.close();
                        }
                    }
                });
                submenu.response.on_disabled_hover_text(reason);
            });
        }
    });
    let meaning = "Activation patching: replace the activations of the pinned token at the selected layer by those \
        of a token of another run (the pinned one there, else the same word, else the same position)";
    menu.response.on_hover_text(meaning);
}

/// The token of another document that stands for one of this: the one that is held there, the one that both texts have
/// in common, or the one at the same position of a text of the same length.
///
/// # Errors
/// When there is none, in words.
fn counterpart(
    cx: &PanelCtx<'_>,
    (here, other): (&Document, &Document),
    side: Side,
    position: usize,
) -> Result<usize, String> {
    let not_run = || "It has not been run yet".to_owned();
    let this = here.latest_capture().ok_or_else(not_run)?;
    let that = other.latest_capture().ok_or_else(not_run)?;
    let held = cx.session.panes.iter().filter(|pane| pane.document == other.id && pane.document != cx.document.id);
    let mut held = held.filter_map(|pane| {
        let (focus, stack) = (pane.selection.pinned, pane.selection.stack());
        let query = focus.query.filter(|_| stack.query_side() == side);
        query.or_else(|| focus.key.filter(|_| stack.key_side() == side))
    });
    let (n, m) = (this.tokens(side).len(), that.tokens(side).len());
    let common = || align((this, side), (that, side))?.to_other(position);
    let found = held.next().or_else(common).or_else(|| Some(position).filter(|_| n == m));
    found.filter(|there| *there < m).ok_or_else(|| {
        let text = token_text(this.tokens(side), position);
        format!("No “{text}” there, and {m} tokens instead of {n}: unlink its pane and pin the token to take from")
    })
}

/// Which token is taken from, as a line above the choices.
fn from_text(other: &Document, side: Side, donor: &PatchSource) -> String {
    let position = donor.positions.as_ref().and_then(|there| there.first()).copied().unwrap_or_default();
    let text = other.latest_capture().map_or_else(String::new, |capture| token_text(capture.tokens(side), position));
    format!("From its token {position}, “{text}”:")
}

/// Whether the pane of the changed run draws its difference from the unchanged one.
fn difference_ui(ui: &mut Ui, cx: &PanelCtx<'_>) {
    let shows_patterns = !cx.pane.view.facts().reads_corpus;
    let plain = cx.document.plain.filter(|plain| shows_patterns && cx.session.find_document(*plain).is_some());
    let Some(plain) = plain else { return };
    let mut on = cx.pane.minus.is_some_and(|minus| minus.document == plain);
    let meaning = "Show by how much each weight of the selected head differs from the unchanged run";
    if ui.checkbox(&mut on, "Difference").on_hover_text(meaning).clicked() {
        let minus = HeadRef { document: plain, head: cx.pane.selection.head };
        cx.send(Command::Select(SelectionCommand::Subtract(on.then_some(minus))));
    }
}
