//! Choice of the head that is subtracted from the selected one: of the same or of another document.

use eframe::egui::{ComboBox, Label, RichText, Ui};

use crate::{
    ids::HeadId,
    session::{Command, HeadRef, SelectionCommand},
    ui::{
        PanelCtx,
        theme::GRID,
        widgets::{section_ui, stepper_ui},
    },
};

/// Draws the choice, where the view shows patterns.
pub fn subtract_ui(ui: &mut Ui, cx: &PanelCtx<'_>) {
    if !cx.pane.view.facts().draws_weights || cx.document.latest_capture().is_none() {
        return;
    }
    if let Some(overlay) = &cx.pane.overlay {
        section_ui(ui, cx.theme, "Difference");
        let text = format!("Nothing is subtracted from {}", overlay.value.title);
        ui.add(Label::new(RichText::new(text).small().color(cx.theme.text_weak)).wrap());
        return;
    }
    section_ui(ui, cx.theme, "Difference");
    let minus = cx.pane.minus;
    let shown = minus.map_or_else(|| "Subtract: none".to_owned(), |minus| format!("Subtract: {}", name(cx, minus)));
    let combo = ComboBox::from_id_salt("minus").selected_text(shown).width(ui.available_width()).truncate();
    let combo = combo.show_ui(ui, |ui| {
        let choose = |ui: &mut Ui, choice: Option<HeadRef>, text: String| {
            if ui.selectable_label(minus == choice, text).clicked() {
                cx.send(Command::Select(SelectionCommand::Subtract(choice)));
            }
        };
        choose(ui, None, "Subtract: none".to_owned());
        for pane in cx.session.panes.iter().filter(|pane| pane.id != cx.pane.id) {
            let beside = HeadRef { document: pane.document, head: pane.selection.head };
            choose(ui, Some(beside), format!("{}, as in the other pane", name(cx, beside)));
        }
        let here = cx.pane.selection.head;
        for head in (0..cx.pane.n_heads(cx.document)).filter(|head| *head != here.head) {
            let other = HeadRef { document: cx.document.id, head: HeadId { head, ..here } };
            choose(ui, Some(other), name(cx, other));
        }
    });
    combo.response.accessible_name("Subtract").on_hover_text(
        "Shows the difference: one colour where this head gives more attention, another where it gives less",
    );
    let Some(minus) = minus else { return };
    let capture = cx.session.find_document(minus.document).and_then(|document| document.latest_capture());
    let Some(stack) = capture.and_then(|capture| capture.model().stack(minus.head.stack)) else { return };
    let n_heads = stack.n_heads(minus.head.layer);
    let send = |head: HeadId| cx.send(Command::Select(SelectionCommand::Subtract(Some(HeadRef { head, ..minus }))));
    if let Some(layer) = stepper_ui(ui, cx.theme, "Layer to subtract", minus.head.layer, stack.layers.len()) {
        send(HeadId { layer, head: minus.head.head.min(stack.n_heads(layer).saturating_sub(1)), ..minus.head });
    }
    if let Some(head) = stepper_ui(ui, cx.theme, "Head to subtract", minus.head.head, n_heads) {
        send(HeadId { head, ..minus.head });
    }
    if minus.document != cx.document.id {
        let text = "Tokens of the two inputs are matched by their text, patches by their place";
        ui.add(Label::new(RichText::new(text).small().color(cx.theme.text_weak)).wrap());
    }
    ui.add_space(GRID);
}

/// `L1H2`, with its document where that is another one.
fn name(cx: &PanelCtx<'_>, of: HeadRef) -> String {
    match cx.session.find_document(of.document).filter(|document| document.id != cx.document.id) {
        Some(document) => format!("{} of {}", of.head, document.title()),
        None => of.head.to_string(),
    }
}
