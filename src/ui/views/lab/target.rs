//! The output that is explained: one choice for all methods.

use eframe::egui::{RichText, Ui};

use super::{OutcomeChoice, outcome_label};
use crate::{
    analysis::explain::report::LabQuestion,
    capture::{Capture, PredictionRow, words},
    lab::Target,
    outputs::OutputKind,
    session::ViewKind,
    ui::{ViewCtx, views::controls},
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

/// Whether a question is about one output: what heads move and which words they link is the same whatever the model says
/// in the end.
pub const fn is_about_output(question: LabQuestion) -> bool {
    !matches!(question, LabQuestion::Moves | LabQuestion::Aligns | LabQuestion::Words)
}

/// The output that a pane explains, `“mat” and not “rug” at position 5`; `None` where it explains none.
pub fn explained_output(cx: &ViewCtx<'_>) -> Option<String> {
    let lab = &cx.pane.options.lab;
    let target = match &cx.pane.overlay {
        Some(overlay) => overlay.explained()?.outcome().map(|_| overlay.value.target)?,
        None => {
            Some(cx.pane.options.target).filter(|_| cx.pane.view == ViewKind::Lab && is_about_output(lab.question))?
        }
    };
    let row = row_of(cx.document.latest_capture()?, target)?;
    let name = |id: u32| format!("“{}”", outcome_label(cx, row, id));
    let class = name(target.class.or_else(|| row.top.first().map(|item| item.id))?);
    let against = target.against.map_or_else(String::new, |id| format!(" and not {}", name(id)));
    let at = row.position.map_or_else(String::new, |position| format!(" at position {position}"));
    Some(format!("{class}{against}{at}"))
}

/// Draws the choice.
pub fn target_ui(ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture, target: Target) {
    let Some(row) = row_of(capture, target) else {
        controls::caption_ui(ui, cx.theme, "The model has no head here, so there is no prediction to explain");
        return;
    };
    let best = row.top.first().map_or(0, |item| item.id);
    let outputs = capture.prediction().map_or(OutputKind::Tokens, |prediction| prediction.outputs);
    // A head of one score leaves nothing to choose.
    let only = row.top.first().filter(|_| !outputs.has_probabilities() && row.top.len() == 1);
    ui.horizontal_wrapped(|ui| {
        ui.label(RichText::new("Why").color(cx.theme.text_weak));
        let chosen = target.class.unwrap_or(best);
        if let Some(item) = only {
            ui.label(format!("{} {}", item.label, outputs.text(item.value)));
        } else {
            outcomes_ui(ui, cx, (capture, outputs, row), (chosen, best), target);
        }
        position_ui(ui, cx, capture, row, target);
    });
}

/// The outcome, and what it is told apart from.
fn outcomes_ui(
    ui: &mut Ui,
    cx: &ViewCtx<'_>,
    (capture, outputs, row): (&Capture, OutputKind, &PredictionRow),
    (chosen, best): (u32, u32),
    target: Target,
) {
    let choose = |target: Target| controls::edit_options(cx, |options| options.target = target);
    let why = OutcomeChoice {
        name: "Explained outcome",
        meaning: if outputs.has_probabilities() {
            "The output whose logit is explained"
        } else {
            "The score that is explained"
        },
        outputs,
        capture,
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
        meaning: "Explain the difference of two: what raises one over the other",
        outputs,
        capture,
        row,
        chosen: target.against,
        nothing: Some("anything else"),
        except: Some(chosen),
    };
    if let Some(against) = against.ui(ui, cx) {
        choose(Target { against, ..target });
    }
}

/// Where it is said, and the way to another position.
fn position_ui(ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture, row: &PredictionRow, target: Target) {
    let choose = |target: Target| controls::edit_options(cx, |options| options.target = target);
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
}
