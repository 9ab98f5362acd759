//! Choice of the document whose corpus, or model, all heads are held against.

use eframe::egui::{ComboBox, Label, RichText, Ui};

use crate::{
    session::{Command, Document, SelectionCommand},
    ui::{PanelCtx, theme::GRID, widgets::section_ui},
};

/// Draws the choice, where the view can hold heads against others.
pub fn against_ui(ui: &mut Ui, cx: &PanelCtx<'_>) {
    // Numbers of a folder have no inputs that they are means of.
    let has_inputs = cx.document.latest_capture().is_some() && cx.document.folder().is_none();
    if !cx.pane.view.facts().contrasts || !has_inputs {
        return;
    }
    section_ui(ui, cx.theme, "Two corpora or models");
    let others: Vec<&Document> = cx.session.documents.iter().filter(|document| document.id != cx.document.id).collect();
    if others.is_empty() {
        let text = "Nothing else is open: “Split with another input or model” opens a pane beside, for a second corpus, or \
                    for the same one in another model of the same layout";
        ui.add(Label::new(RichText::new(text).small().color(cx.theme.text_weak)).wrap());
        return;
    }
    let name = |other: &Document| cx.document.told_from(other)[1].clone();
    let shown = cx.against.map_or_else(|| "Hold against: none".to_owned(), |it| format!("Hold against: {}", name(it)));
    let combo = ComboBox::from_id_salt("against").selected_text(shown).width(ui.available_width()).truncate();
    let combo = combo.show_ui(ui, |ui| {
        let send = |other| cx.send(Command::Select(SelectionCommand::HoldAgainst(other)));
        if ui.selectable_label(cx.against.is_none(), "Hold against: none").clicked() {
            send(None);
        }
        for other in others {
            let is_chosen = cx.pane.against == Some(other.id);
            if ui.selectable_label(is_chosen, name(other)).clicked() {
                send(Some(other.id));
            }
        }
    });
    let meaning = "Each head over this corpus, or in this model, and over the other one: how far its numbers move, and \
                   whether that is more than chance";
    combo.response.accessible_name("Hold against").on_hover_text(meaning);
    ui.add_space(GRID);
}
