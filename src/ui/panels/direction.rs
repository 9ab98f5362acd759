//! The difference of two sets of inputs as a direction of the residual stream: which sets there are, and after which
//! layer it is added.

use eframe::egui::{Button, Id, Ui};

use crate::{
    capture::{Along, Capture, MeanOf, Site},
    ids::{HeadId, StackKind},
    protocol::{Between, EditRequest, MeanInputs, PatchedRows},
    session::{ChangeCommand, Command, Document},
    ui::{PanelCtx, views::drag, widgets::stepper_ui},
};

/// What to do where there is only one set.
const ONE_SET: &str = "Open a corpus first: a direction leads from the mean of one set of inputs to that of another, and \
    one set is bundled";
/// What people also call it.
pub const SYNONYMS: &[&str] = &["steering", "steering vector", "activation addition", "concept vector"];

/// The sets of inputs that a direction can lead between; one is bundled, so that one corpus is enough.
///
/// # Errors
/// Says what is missing.
pub fn sets(cx: &PanelCtx<'_>) -> Result<Vec<MeanInputs>, &'static str> {
    let here = cx.session.changing();
    if let Some(reason) = here.unchangeable() {
        return Err(reason);
    }
    let opened: Vec<MeanInputs> = cx.session.documents.iter().filter_map(Document::meant_inputs).collect();
    if opened.is_empty() {
        let is_open = cx.session.documents.iter().any(|document| document.corpus.is_some());
        return Err(if is_open { "The corpus has no inputs yet" } else { ONE_SET });
    }
    let sees = here.model.latest().is_some_and(|model| model.spec.modality.image().is_some());
    let bundled = MeanInputs::Bundled(if sees { "demo:pictures" } else { "demo:sentences" });
    Ok(opened.into_iter().chain([bundled]).collect())
}

/// The change: a direction added, or what lies along it taken away, in the stream after a layer of the selected stack.
pub fn edit(cx: &PanelCtx<'_>, layer: usize, [plus, minus]: [&MeanInputs; 2], along: Along) -> EditRequest {
    let rows = PatchedRows { site: Site::ResidPost, stack: stack(cx), layer, head: None, positions: Vec::new() };
    let (plus, minus) = (plus.clone(), minus.clone());
    EditRequest::Between(Box::new(Between { rows, plus, minus, mean: MeanOf::Words, along }))
}

/// The stack whose stream is changed.
fn stack(cx: &PanelCtx<'_>) -> StackKind {
    let HeadId { stack, .. } = cx.pane.selection.head;
    if stack.is_between() && !stack.is_cross() { StackKind::Decoder } else { stack.host() }
}

fn n_layers(cx: &PanelCtx<'_>, stack: StackKind) -> usize {
    let model = cx.session.changing().model.latest();
    model.and_then(|model| model.spec.stack(stack)).map_or(0, |stack| stack.layers.len())
}

/// The menu under Changes.
pub fn menu_ui(ui: &mut Ui, cx: &PanelCtx<'_>) {
    let meaning = "Steering: move the residual stream after a layer along the difference of the means of two sets of \
        inputs, or take away what lies along it";
    let sets = match sets(cx) {
        Ok(sets) => sets,
        Err(reason) => {
            ui.add_enabled(false, Button::new("Direction… ⏷")).on_disabled_hover_text(reason);
            return;
        }
    };
    let menu = ui.menu_button("Direction… ⏷", |ui| {
        let id = Id::unique("layer of a direction");
        let n_layers = n_layers(cx, stack(cx));
        let chosen = ui.data(|data| data.get_temp(id)).unwrap_or(cx.pane.selection.head.layer);
        let layer = chosen.min(n_layers.saturating_sub(1));
        if let Some(layer) = stepper_ui(ui, cx.theme, "After layer", layer, n_layers) {
            ui.data_mut(|data| data.insert_temp(id, layer));
        }
        ui.separator();
        for plus in &sets {
            ui.menu_button(format!("Towards {}", plus.name()), |ui| {
                for minus in sets.iter().filter(|minus| *minus != plus) {
                    for (along, words) in [(Along::Add(1.0), "added"), (Along::Remove, "projected out")] {
                        let text = format!("away from {}, {words} after layer {layer}", minus.name());
                        if ui.button(text).clicked() {
                            let edit = edit(cx, layer, [plus, minus], along);
                            cx.send(Command::Change(ChangeCommand::Add(vec![edit])));
                            ui.close();
                        }
                    }
                }
            });
        }
    });
    menu.response.on_hover_text(meaning);
}

/// After which layer a direction is added that is there.
pub fn layer_ui(ui: &mut Ui, cx: &PanelCtx<'_>, capture: &Capture, (idx, between): (usize, &Between)) {
    let rows = &between.rows;
    let n_layers = capture.model().stack(rows.stack).map_or(0, |stack| stack.layers.len());
    if let Some(layer) = stepper_ui(ui, cx.theme, "After layer", rows.layer, n_layers) {
        let rows = PatchedRows { layer, ..rows.clone() };
        let edit = EditRequest::Between(Box::new(Between { rows, ..between.clone() }));
        cx.send(Command::Change(ChangeCommand::Replace(idx, edit, drag(ui))));
    }
}
