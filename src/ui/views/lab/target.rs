//! Which output is explained: one choice for all methods.

use eframe::egui::{RichText, Ui};

use super::OutcomeChoice;
use crate::{
    capture::{Capture, PredictionRow, words},
    ui::{ViewCtx, views::controls},
    worker::Target,
};

/// The row of the prediction that is meant.
fn row_of(capture: &Capture, target: Target) -> Option<&PredictionRow> {
    let rows = &capture.prediction()?.rows;
    let at = |position: Option<usize>| rows.iter().find(|row| position.is_some() && row.position == position);
    if target.position.is_some() {
        return at(target.position);
    }
    at(capture.prediction()?.default_position(capture.tokens(side_of(capture)), words::is_mask)).or_else(|| rows.last())
}

fn side_of(capture: &Capture) -> crate::ids::Side {
    use crate::ids::Side::{Decoder, Only, Text};
    [Decoder, Text, Only].into_iter().find(|side| !capture.tokens(*side).is_empty()).unwrap_or(Only)
}

/// Draws the choice.
pub fn target_ui(ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture, target: Target) {
    let Some(row) = row_of(capture, target) else {
        controls::caption_ui(ui, cx.theme, "The model has no head here, so there is no prediction to explain");
        return;
    };
    let choose = |target: Target| controls::edit_options(cx, |options| options.lab.target = target);
    let best = row.top.first().map_or(0, |item| item.id);
    ui.horizontal_wrapped(|ui| {
        ui.label(RichText::new("Why").color(cx.theme.text_weak));
        let chosen = target.class.unwrap_or(best);
        let why = OutcomeChoice {
            name: "Explained outcome",
            meaning: "The output whose logit is explained",
            row,
            chosen: Some(chosen),
            nothing: None,
            except: target.against,
        };
        if let Some(Some(id)) = why.ui(ui, cx) {
            choose(Target { class: (id != best).then_some(id), ..target });
        }
        ui.label(RichText::new("and not").color(cx.theme.text_weak));
        let against = OutcomeChoice {
            name: "Contrast outcome",
            meaning: "Explain the difference of two logits: what raises one over the other",
            row,
            chosen: target.against,
            nothing: Some("anything else"),
            except: Some(chosen),
        };
        if let Some(against) = against.ui(ui, cx) {
            choose(Target { against, ..target });
        }
        if let Some(position) = row.position {
            let tokens = capture.tokens(side_of(capture));
            let here = tokens.get(position).map_or("", |token| token.text.as_str());
            ui.label(RichText::new(format!("at “{here}” #{position}")).color(cx.theme.text_weak));
            let wanted = cx.pane.selection.pinned.query.filter(|query| *query != position);
            if let Some(query) = wanted
                && ui.small_button(format!("Explain position {query} instead")).clicked()
            {
                choose(Target { position: Some(query), class: None, against: None });
            }
            if target.position.is_some() && ui.small_button("Back to the default position").clicked() {
                choose(Target::default());
            }
        }
    });
}
