//! Menu of how patterns are shown: tokens left out, merged and taken together. One above every view, so that it is
//! always known what is on.

use eframe::egui::{
    Button, PopupCloseBehavior, RichText, Ui,
    containers::menu::{MenuButton, MenuConfig},
};

use super::{controls, selectors::Fit, source};
use crate::{
    analysis::reading::{Aggregate, LeaveOut, Over, Policy, ReadingOptions, RowLabels, Together, writes},
    capture::{Capture, Merging, Unit, part_at},
    session::ColorScale,
    text::counted,
    ui::{
        ViewCtx,
        widgets::{menu_width, scrolled_menu_ui},
    },
};

/// Width of the menu, in points.
const MENU_PT: f32 = 360.0;

/// Draws the menu's button, which says what is on.
pub fn menu_ui(ui: &mut Ui, cx: &ViewCtx<'_>, fit: Fit) {
    let summary = summary(&cx.pane.options.reading);
    let text = match (fit, summary.is_empty()) {
        (Fit::Whole, true) => "Show weights as ⏷".to_owned(),
        (Fit::Whole, false) => format!("Show weights as: {summary} ⏷"),
        (_, _) => "Weights ⏷".to_owned(),
    };
    let button = Button::new(text).selected(!summary.is_empty());
    // Several things may be changed before it is closed.
    let config = MenuConfig::new().close_behavior(PopupCloseBehavior::CloseOnClickOutside);
    let (response, _) = MenuButton::from_button(button).config(config).ui(ui, |ui| {
        ui.set_width(menu_width(ui, MENU_PT));
        scrolled_menu_ui(ui, |ui| menu_contents_ui(ui, cx));
    });
    let what = "Raw or × norm, keys left out, words merged, heads combined: the same in every view";
    let on = if summary.is_empty() { String::new() } else { format!("Show weights as: {summary}\n") };
    response.accessible_name(format!("Show weights as: {summary}").trim_end_matches(": ")).on_hover_text(on + what);
}

/// What is on, in a few words.
pub fn summary(reading: &ReadingOptions) -> String {
    let LeaveOut { special, first, punctuation, positions, policy } = &reading.leave_out;
    let mut out: Vec<String> = [(special, "special"), (first, "first"), (punctuation, "punctuation")]
        .into_iter()
        .filter(|(on, _)| **on)
        .map(|(_, name)| name.to_owned())
        .collect();
    if !positions.is_empty() {
        out.push(counted(positions.len(), "key"));
    }
    let mut parts = Vec::new();
    if reading.by_value_norm {
        parts.push("× ‖v‖".to_owned());
    }
    if !out.is_empty() && *policy != Policy::Keep {
        parts.push(format!("without {}", out.join(", ")));
    }
    if reading.merging.is_merged() {
        parts.push(reading.merging.unit.name().to_owned());
    }
    if let Some(together) = reading.together {
        let over = if together.over == Over::Stack { " of all layers" } else { "" };
        parts.push(format!("{}{over}", together.how.name()));
    }
    parts.join(" · ")
}

fn menu_contents_ui(ui: &mut Ui, cx: &ViewCtx<'_>) {
    let Some(capture) = cx.document.latest_capture() else { return };
    let stack = cx.pane.selection.stack();
    controls::edit_options(cx, |options| {
        let reading = &mut options.reading;
        by_value_norm_ui(ui, cx, capture, &mut reading.by_value_norm);
        leave_out_ui(ui, cx, &mut reading.leave_out);
        if cx.pane.view.facts().has_log_colors {
            controls::heading_ui(ui, cx.theme, "Colours");
            ui.horizontal(|ui| {
                let scale = options.color_scale_mut();
                ui.radio_value(scale, ColorScale::Linear, "Linear");
                let log = ui.radio_value(scale, ColorScale::Log, "Logarithmic");
                log.on_hover_text("Also shows small weights beside a sink");
            });
        }
        let reading = &mut options.reading;
        let sides = [stack.query_side(), stack.key_side()];
        if sides.iter().any(|&side| capture.picture_side() != Some(side)) {
            merging_ui(ui, cx, capture, &mut reading.merging);
        }
        if writes(capture, stack) {
            controls::heading_ui(ui, cx.theme, "Label rows with");
            let mut labels = reading.row_labels(capture, stack);
            let before = labels;
            ui.horizontal(|ui| {
                ui.radio_value(&mut labels, RowLabels::Read, "Input token");
                ui.radio_value(&mut labels, RowLabels::Written, "Next token");
            });
            if labels != before {
                reading.rows = Some(labels);
            }
        }
        together_ui(ui, cx, &mut reading.together);
    });
    let hidden = source::shown_pattern(cx).and_then(Result::ok).and_then(|pattern| pattern.hidden_text());
    if let Some(hidden) = hidden {
        ui.separator();
        ui.label(RichText::new(hidden).small().color(cx.theme.text_weak));
    }
}

fn merging_ui(ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture, merging: &mut Merging) {
    controls::heading_ui(ui, cx.theme, "Rows and columns");
    ui.horizontal_wrapped(|ui| {
        for unit in Unit::ALL {
            let (name, meaning) = match unit {
                Unit::Token => ("Tokens", "Each token has a row and a column"),
                Unit::Word => ("Words", "Groups of your own ([New York] with brackets that group) are words as well"),
                Unit::Sentence => ("Sentences", "They end by the rules of Unicode, and where a line ends"),
                Unit::Paragraph => ("Paragraphs", "They are what stands between line ends"),
            };
            let how = "Weights are summed over the keys of each and averaged over its queries. ";
            let meaning = if unit == Unit::Token { meaning.to_owned() } else { format!("{how}{meaning}") };
            ui.radio_value(&mut merging.unit, unit, name).on_hover_text(meaning);
        }
    });
    if !merging.unit.is_of_words() {
        merging.unfolded = None;
        return;
    }
    let (stack, pinned) = (cx.pane.selection.stack(), cx.pane.selection.pinned);
    let of_query = pinned.query.map(|position| (stack.query_side(), position));
    let held = of_query.or_else(|| pinned.key.map(|position| (stack.key_side(), position)));
    let part = held.and_then(|(side, position)| part_at(capture, side, merging.unit, position));
    let noun = merging.unit.noun();
    ui.horizontal_wrapped(|ui| match (merging.unfolded, part) {
        (Some(unfolded), _) => {
            if ui.button(format!("Fold {noun} {unfolded}")).clicked() {
                merging.unfolded = None;
            }
        }
        (None, Some(part)) => {
            let meaning =
                format!("Its words have rows and columns of their own among the other {}", merging.unit.name());
            if ui.button(format!("Unfold {noun} {part}")).on_hover_text(meaning).clicked() {
                merging.unfolded = Some(part);
            }
        }
        (None, None) => {
            let hint = format!("To unfold a {noun} into its words, click it first");
            drop(ui.label(RichText::new(hint).color(cx.theme.text_weak)));
        }
    });
}

fn by_value_norm_ui(ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture, by_value_norm: &mut bool) {
    controls::heading_ui(ui, cx.theme, "Weight");
    let head = cx.pane.selection.head;
    // What was chosen for another input can be taken back, whatever this one has.
    let known = *by_value_norm || capture.v(head).is_some();
    ui.horizontal_wrapped(|ui| {
        ui.radio_value(by_value_norm, false, "Raw");
        ui.add_enabled_ui(known, |ui| {
            ui.radio_value(by_value_norm, true, "× norm of the value")
                .on_hover_text(
                    "Each weight times the norm of the value vector that it moves, a·‖v‖; then each row is scaled \
                    back to its sum. A key with a short value hardly changes the output, whatever its weight",
                )
                .on_disabled_hover_text("The value vectors were not recorded");
        });
    });
}

fn leave_out_ui(ui: &mut Ui, cx: &ViewCtx<'_>, leave_out: &mut LeaveOut) {
    controls::heading_ui(ui, cx.theme, "Leave out keys");
    ui.horizontal_wrapped(|ui| {
        ui.checkbox(&mut leave_out.special, "Special tokens").on_hover_text("CLS, SEP, BOS and the like");
        ui.checkbox(&mut leave_out.first, "First token")
            .on_hover_text("Causal models often use it as an attention sink");
        ui.checkbox(&mut leave_out.punctuation, "Punctuation");
    });
    let capture = cx.document.latest_capture();
    let tokens = capture.map_or(&[][..], |capture| capture.key_tokens(cx.pane.selection.stack()));
    let pinned = cx.pane.selection.pinned.key.filter(|key| *key < tokens.len() && !leave_out.positions.contains(key));
    ui.horizontal_wrapped(|ui| {
        match pinned {
            Some(key) => {
                let text = format!("Leave out {}", source::token_text(tokens, key));
                if ui.button(text).on_hover_text("Pinned key").clicked() {
                    leave_out.positions.insert(key);
                }
            }
            None => drop(ui.label(RichText::new("To leave out one key, click it first").color(cx.theme.text_weak))),
        }
        if !leave_out.positions.is_empty() {
            let names: Vec<_> = leave_out.positions.iter().map(|&key| source::token_text(tokens, key)).collect();
            let text = format!("Put back {}", counted(names.len(), "key"));
            if ui.button(text).on_hover_text(names.join("  ")).clicked() {
                leave_out.positions.clear();
            }
        }
    });
    controls::heading_ui(ui, cx.theme, "Their share");
    let any = leave_out.special || leave_out.first || leave_out.punctuation || !leave_out.positions.is_empty();
    ui.add_enabled_ui(any, |ui| {
        ui.horizontal_wrapped(|ui| {
            let policies = [
                (Policy::Renormalize, "Redistributed", "The rest of each row is scaled up to the row’s sum"),
                (Policy::Hide, "Dropped", "The other weights stay as computed; rows sum to less than 1"),
                (Policy::Keep, "Kept", "The keys are shown after all, with their weights"),
            ];
            for (policy, text, meaning) in policies {
                ui.radio_value(&mut leave_out.policy, policy, text)
                    .on_hover_text(meaning)
                    .on_disabled_hover_text("Leave out a key first");
            }
        });
    });
}

fn together_ui(ui: &mut Ui, cx: &ViewCtx<'_>, together: &mut Option<Together>) {
    controls::heading_ui(ui, cx.theme, "Combine heads");
    let over = together.map_or(Over::default(), |together| together.over);
    ui.horizontal_wrapped(|ui| {
        ui.radio_value(together, None, "None");
        for how in Aggregate::ALL {
            let (name, meaning) = match how {
                Aggregate::Mean => ("Mean", "The mean of their weights"),
                Aggregate::Max => ("Max", "The largest of their weights"),
                Aggregate::Min => ("Min", "The smallest of their weights"),
                Aggregate::Sum => ("Sum", "The sum of their weights"),
            };
            ui.radio_value(together, Some(Together { over, how }), name).on_hover_text(meaning);
        }
    });
    if let Some(together) = together {
        ui.horizontal_wrapped(|ui| {
            ui.radio_value(&mut together.over, Over::Layer, "Of this layer");
            ui.radio_value(&mut together.over, Over::Stack, "Of all layers");
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_button_says_what_is_on() {
        assert_eq!(summary(&ReadingOptions::default()), "");
        let leave_out = LeaveOut { special: true, positions: [3, 5].into(), ..LeaveOut::default() };
        let together = Some(Together { over: Over::Stack, how: Aggregate::Max });
        let reading = ReadingOptions {
            leave_out: leave_out.clone(),
            merging: Merging::WORDS,
            together,
            ..ReadingOptions::default()
        };
        assert_eq!(summary(&reading), "without special, 2 keys · words · max of all layers");
        let kept = LeaveOut { policy: Policy::Keep, ..leave_out };
        assert_eq!(summary(&ReadingOptions { leave_out: kept, ..ReadingOptions::default() }), "");
        let weighed = ReadingOptions { by_value_norm: true, merging: Merging::WORDS, ..ReadingOptions::default() };
        assert_eq!(summary(&weighed), "× ‖v‖ · words");
    }
}
