//! Effect of the changes of a run on one outcome, in a line that stays.

use eframe::egui::{Label, RichText, Ui};

use super::prediction::{arrow_text, at_most};
use crate::{
    analysis::effect::{Effect, NoEffect, Outcome, predicted_side, telling_row},
    capture::{Capture, PredictionItem, PredictionRow},
    ids::CaptureId,
    lab::Target,
    outputs::OutputKind,
    spec::HeadKind,
    ui::{
        PanelCtx,
        memo::Memo,
        views::{OutcomeChoice, controls, copy_menu_ui, outcome_label},
        widgets::section_ui,
    },
};

/// What two runs were found to say: all logits of a position are added up for it.
#[derive(Default)]
pub struct EffectPanel {
    found: Memo<(CaptureId, CaptureId, Outcome), Result<Effect, NoEffect>>,
}

impl EffectPanel {
    /// Draws the line and the choice of its outcome, which is the target of the Lab, too; nothing where no changed run
    /// stands beside an unchanged one.
    pub fn ui(&mut self, ui: &mut Ui, cx: &PanelCtx<'_>) {
        let document = cx.session.changing();
        let (Some(before), Some(after)) = (cx.session.unchanged(document), document.latest_capture()) else { return };
        // A picture and a text have one number, which is no probability.
        let is_of_outcomes = before.prediction().is_some_and(|it| it.kind != HeadKind::Similarity);
        if after.computation().edits.is_empty() || !is_of_outcomes {
            return;
        }
        let target = cx.pane.options.target;
        let outcome = Outcome { position: target.position, id: target.class, against: target.against };
        let key = (before.id(), after.id(), outcome);
        let found = self.found.get_or_update(key, || Effect::of(before, after, outcome));
        let at = found.as_ref().map_or(target.position, |effect| effect.position);
        section_ui(ui, cx.theme, &title(before, at));
        let Some(row) = row_at(before, at) else { return };
        let outputs = before.prediction().map_or(OutputKind::Tokens, |prediction| prediction.outputs);
        choice_ui(ui, cx, (before, outputs, row), target);
        position_ui(ui, cx, before, (at, target));
        match found {
            Ok(effect) => {
                let line = effect.text(|id| outcome_label(cx, row, id));
                // Until the changed run is there, it is about the one before.
                let is_old = document.stale().is_some();
                let color = if is_old { cx.theme.text_weak } else { cx.theme.text };
                let told = outputs
                    .function()
                    .map_or_else(|| "the score".to_owned(), |function| format!("logit, and {function} probability"));
                let meaning = format!("Of the unchanged run and of the run with the changes: {told}");
                let response = ui.add(Label::new(RichText::new(&line).color(color)).wrap()).on_hover_text(meaning);
                copy_menu_ui(&response, cx, "this effect", || format!("{line}\n"));
            }
            Err(why) => drop(ui.label(RichText::new(why.to_string()).small().color(cx.theme.text_weak))),
        }
    }
}

fn title(capture: &Capture, at: Option<usize>) -> String {
    let Some(position) = at else { return "Effect of the changes".to_owned() };
    let name = crate::capture::words::token_text(capture.tokens(predicted_side(capture)), position);
    format!("Effect of the changes, at position {position} “{name}”")
}

/// The probability of one outcome before and after, in few words: `her 85 → 11 %`.
pub fn effect_text(before: &Capture, after: &Capture, target: Target) -> Option<String> {
    let outputs = before.prediction()?.outputs;
    let row = row_at(before, target.position)?;
    let now = row_at(after, row.position)?;
    let named = |item: &&PredictionItem| Some(item.id) == target.class;
    let item = row.top.iter().find(named).or(row.top.first())?;
    let is = now.top.iter().find(|it| it.id == item.id);
    let is = is.map_or_else(|| at_most(now), |item| outputs.text(item.value));
    Some(format!("{} {}", item.label.trim_start_matches('␣'), arrow_text(&outputs.text(item.value), &is)))
}

fn row_at(capture: &Capture, at: Option<usize>) -> Option<&PredictionRow> {
    let prediction = capture.prediction()?;
    let own = prediction.rows.iter().find(|row| row.position == at);
    own.or_else(|| telling_row(prediction, capture.tokens(predicted_side(capture))))
}

/// The outcome, and what its logit is held against.
fn choice_ui(
    ui: &mut Ui,
    cx: &PanelCtx<'_>,
    (capture, outputs, row): (&Capture, OutputKind, &PredictionRow),
    target: Target,
) {
    if !outputs.has_probabilities() && row.top.len() < 2 {
        return;
    }
    let choose = |target: Target| controls::edit_options(cx, |options| options.target = target);
    let best = row.top.first().map(|item| item.id);
    let chosen = target.class.or(best);
    let weak = |text: &str| RichText::new(text).color(cx.theme.text_weak);
    ui.horizontal_wrapped(|ui| {
        ui.label(weak("On"));
        let outcome = OutcomeChoice {
            name: "Outcome",
            meaning: if outputs.has_probabilities() {
                "The outcome whose logit and probability are compared; Explain uses the same one"
            } else {
                "The score that is compared; Explain uses the same one"
            },
            outputs,
            capture,
            row,
            chosen,
            nothing: None,
            except: target.against,
        };
        if let Some(Some(id)) = outcome.ui(ui, cx) {
            choose(Target { class: (Some(id) != best).then_some(id), ..target });
        }
        ui.label(weak("and not on"));
        let against = OutcomeChoice {
            name: "Contrast of the effect",
            meaning: "Compare the difference of two: what raises one over the other",
            outputs,
            capture,
            row,
            chosen: target.against,
            nothing: Some("anything else"),
            except: chosen,
        };
        if let Some(against) = against.ui(ui, cx) {
            choose(Target { against, ..target });
        }
    });
}

/// Another position: the pinned one, or again the one that says most.
fn position_ui(ui: &mut Ui, cx: &PanelCtx<'_>, capture: &Capture, (at, target): (Option<usize>, Target)) {
    let choose = |target: Target| controls::edit_options(cx, |options| options.target = target);
    let stack = cx.pane.selection.stack();
    let pinned = cx.pane.selection.pinned.query.filter(|_| stack.query_side() == predicted_side(capture));
    if let Some(position) = pinned.filter(|position| at.is_some() && at != Some(*position))
        && ui.small_button(format!("At position {position} instead")).clicked()
    {
        choose(Target { position: Some(position), class: None, against: None });
    }
    if target.position.is_some() && ui.small_button("At the default position").clicked() {
        choose(Target::default());
    }
}
