//! The reading aids: what is left out, merged and taken together, in every view alike.

use eframe::egui::{RichText, Ui};

use super::{controls, source};
use crate::{
    analysis::reading::{Aggregate, LeaveOut, Over, Policy, RowLabels, Together, writes},
    session::ViewOptions,
    text::counted,
    ui::{ViewCtx, theme::GRID},
};

/// Draws the aids as options, with what they hide.
pub fn options_ui(ui: &mut Ui, cx: &ViewCtx<'_>, options: &mut ViewOptions) {
    let Some(capture) = cx.document.latest_capture() else { return };
    let stack = cx.pane.selection.stack();
    let reading = &mut options.reading;
    controls::heading_ui(ui, cx.theme, "Reading");
    leave_out_ui(ui, cx, &mut reading.leave_out);
    let texts = [stack.query_side(), stack.key_side()];
    if texts.iter().any(|&side| capture.picture_side() != Some(side)) {
        let meaning = "Weights of a word’s keys are added up, those of its queries averaged";
        ui.checkbox(&mut reading.words, "Merge pieces into words").on_hover_text(meaning);
    }
    if writes(capture, stack) {
        controls::row_ui(ui, cx.theme, "Rows are", |ui| {
            let mut labels = reading.row_labels(capture, stack);
            let choices = [(RowLabels::Read, "Tokens read"), (RowLabels::Written, "Tokens written")];
            if controls::choice_ui(ui, "Rows are", &mut labels, &choices) {
                reading.rows = Some(labels);
            }
        });
    }
    together_ui(ui, cx, &mut reading.together);
    if let Some(hidden) = source::shown_pattern(cx).and_then(Result::ok).and_then(|pattern| pattern.hidden_text()) {
        ui.label(RichText::new(hidden).small().color(cx.theme.text_weak));
    }
}

fn leave_out_ui(ui: &mut Ui, cx: &ViewCtx<'_>, leave_out: &mut LeaveOut) {
    ui.label(RichText::new("Leave out keys").color(cx.theme.text_weak));
    ui.horizontal_wrapped(|ui| {
        ui.checkbox(&mut leave_out.special, "Special tokens").on_hover_text("CLS, SEP, BOS and the like");
        ui.checkbox(&mut leave_out.first, "First token").on_hover_text("Where causal models park attention");
        ui.checkbox(&mut leave_out.punctuation, "Punctuation");
    });
    let capture = cx.document.latest_capture();
    let tokens = capture.map_or(&[][..], |capture| capture.key_tokens(cx.pane.selection.stack()));
    let pinned = cx.pane.selection.pinned.key.filter(|key| !leave_out.positions.contains(key));
    ui.horizontal_wrapped(|ui| {
        if let Some(key) = pinned {
            let text = format!("Leave out {}", source::token_text(tokens, key));
            if ui.small_button(text).on_hover_text("The pinned key").clicked() {
                leave_out.positions.insert(key);
            }
        }
        if !leave_out.positions.is_empty() {
            let names: Vec<_> = leave_out.positions.iter().map(|&key| source::token_text(tokens, key)).collect();
            let text = format!("Bring back {}", counted(names.len(), "chosen key"));
            if ui.small_button(text).on_hover_text(names.join("  ")).clicked() {
                leave_out.positions.clear();
            }
        }
    });
    if leave_out.special || leave_out.first || leave_out.punctuation || !leave_out.positions.is_empty() {
        controls::row_ui(ui, cx.theme, "Their share", |ui| {
            let choices = [
                (Policy::Renormalize, "Spread over the rest"),
                (Policy::Hide, "Hidden"),
                (Policy::Keep, "Shown after all"),
            ];
            controls::choice_ui(ui, "What becomes of their share", &mut leave_out.policy, &choices);
        });
    }
    ui.add_space(GRID / 2.0);
}

fn together_ui(ui: &mut Ui, cx: &ViewCtx<'_>, together: &mut Option<Together>) {
    controls::row_ui(ui, cx.theme, "Heads", |ui| {
        let mut how = together.map(|together| together.how);
        let choices = [
            (None, "One by one"),
            (Some(Aggregate::Mean), "Mean"),
            (Some(Aggregate::Max), "Largest weight"),
            (Some(Aggregate::Min), "Smallest weight"),
            (Some(Aggregate::Sum), "Sum"),
        ];
        if controls::choice_ui(ui, "Heads together", &mut how, &choices) {
            let over = together.map_or(Over::default(), |together| together.over);
            *together = how.map(|how| Together { over, how });
        }
    });
    if let Some(together) = together {
        controls::row_ui(ui, cx.theme, "of", |ui| {
            let choices = [(Over::Layer, "Heads of this layer that are on"), (Over::Stack, "All heads of all layers")];
            controls::choice_ui(ui, "Which heads together", &mut together.over, &choices);
        });
    }
}
