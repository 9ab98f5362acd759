//! What the decoder writes: the text it is made to write, or how it writes itself; and for text models
//! the button that lets them write on.

use eframe::egui::{Button, ComboBox, DragValue, RichText, Ui};

use super::editor::{Editor, Look};
use crate::{
    session::{Command, WritingOptions, can_continue},
    spec::ModelSpec,
    ui::{ViewCtx, theme::GRID},
};

/// Beams that are offered first.
const DEFAULT_BEAMS: usize = 4;

/// The target text.
#[derive(Default)]
pub struct TargetPanel {
    target: Editor,
}

impl TargetPanel {
    /// Draws what `model` has of it.
    pub fn ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>, model: &ModelSpec) {
        if model.modality.target().is_some() {
            ui.label(RichText::new("Target").small().color(cx.theme.text_weak))
                .on_hover_text("The text that the decoder is forced to write, to see its attention to the input");
            let look = Look { name: "Target", hint: "Blank: the model writes it", n_rows: 2 };
            if let Some(target) = self.target.ui(ui, cx, &cx.document.experiment.target, &look) {
                cx.send(Command::SetTarget(target));
            }
            if cx.document.writes_target(model) {
                options_ui(ui, cx, |_| {});
            }
        } else if can_continue(model) {
            let running = cx.document.capture.is_pending();
            options_ui(ui, cx, |ui| {
                let button = ui.add_enabled(!running, Button::new("Continue"));
                if button.on_hover_text("Let the model continue the text").clicked() {
                    cx.send(Command::Continue);
                }
            });
        }
    }
}

/// How many tokens, and how each is chosen.
fn options_ui(ui: &mut Ui, cx: &ViewCtx<'_>, before: impl FnOnce(&mut Ui)) {
    let mut options = cx.document.experiment.writing;
    let weak = |text: &str| RichText::new(text).small().color(cx.theme.text_weak);
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = GRID;
        ui.spacing_mut().interact_size.x = 9.0 * GRID;
        before(ui);
        ui.label(weak("up to"));
        let range = 1..=WritingOptions::MAX_TOKENS;
        ui.add(DragValue::new(&mut options.max_tokens).range(range)).accessible_name("Most tokens to write");
        ui.label(weak("tokens"));
        choice_ui(ui, &mut options);
    });
    if !options.sampled && options.beams > 1 {
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().item_spacing.x = GRID;
            ui.spacing_mut().interact_size.x = 9.0 * GRID;
            ui.label(weak("Beams")).on_hover_text("How many texts are written at once; the best of them is taken");
            ui.add(DragValue::new(&mut options.beams).range(2..=WritingOptions::MAX_BEAMS)).accessible_name("Beams");
            ui.label(weak("Length penalty"))
                .on_hover_text("The score of a text is its log probability over its length to this power");
            let penalty = DragValue::new(&mut options.length_penalty).speed(0.01).fixed_decimals(2);
            ui.add(penalty.range(WritingOptions::LENGTH_PENALTY)).accessible_name("Length penalty");
        });
    }
    if options.sampled {
        ui.horizontal_wrapped(|ui| {
            ui.spacing_mut().item_spacing.x = GRID;
            ui.spacing_mut().interact_size.x = 9.0 * GRID;
            let fraction = |value| DragValue::new(value).speed(0.01).fixed_decimals(2);
            ui.label(weak("Temperature")).on_hover_text("Above 1: more random; below 1: less");
            ui.add(fraction(&mut options.temperature).range(0.05..=5.0)).accessible_name("Temperature");
            ui.label(weak("Top-p"))
                .on_hover_text("Sample only from the most probable tokens that together reach this probability");
            ui.add(fraction(&mut options.top_p).range(0.01..=1.0)).accessible_name("Top-p");
            ui.label(weak("Seed")).on_hover_text("The same seed gives the same text");
            ui.add(DragValue::new(&mut options.seed)).accessible_name("Seed");
            ui.label(weak("Texts"))
                .on_hover_text("How many texts are written, each with the next seed; Writing shows them side by side");
            ui.add(DragValue::new(&mut options.texts).range(1..=WritingOptions::MAX_TEXTS)).accessible_name("Texts");
        });
    }
    if options != cx.document.experiment.writing {
        cx.send(Command::SetWriting(options));
    }
}

fn choice_ui(ui: &mut Ui, options: &mut WritingOptions) {
    const WAYS: [(&str, &str); 3] = [
        ("greedy", "Always the most probable token"),
        ("sampled", "Sampled; the same seed gives the same text"),
        ("beams", "The best of several texts that are written at once"),
    ];
    let before = match (options.sampled, options.beams) {
        (true, _) => 1,
        (false, ..=1) => 0,
        (false, _) => 2,
    };
    let mut way = before;
    let combo = ComboBox::new("choice of tokens", "").selected_text(WAYS[way].0).width(18.0 * GRID);
    let combo = combo.show_ui(ui, |ui| {
        for (nth, (name, meaning)) in WAYS.into_iter().enumerate() {
            ui.selectable_value(&mut way, nth, name).on_hover_text(meaning);
        }
    });
    combo.response.accessible_name("How tokens are chosen");
    if way != before {
        (options.sampled, options.beams) = (way == 1, if way == 2 { DEFAULT_BEAMS } else { 1 });
    }
}
