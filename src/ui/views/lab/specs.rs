//! What the methods that are shown compute, as they say themselves: meaning, formula and source.

use eframe::egui::{CollapsingHeader, Label, RichText, Ui};

use crate::{
    analysis::explain::report::MethodSpec,
    lab::MethodPreset,
    text::sentence,
    ui::{ViewCtx, theme::GRID, widgets::section_ui},
};

/// Draws them, the first one unfolded.
pub fn method_specs_ui(ui: &mut Ui, cx: &ViewCtx<'_>) {
    let lab = &cx.pane.options.lab;
    let mut methods: Vec<&MethodSpec> = Vec::new();
    for column in MethodPreset::under(lab.question).filter(|column| lab.shows(column)) {
        // Several columns can be of one method.
        if !methods.contains(&column.method) {
            methods.push(column.method);
        }
    }
    if methods.is_empty() {
        return;
    }
    section_ui(ui, cx.theme, "Method");
    for (nth, method) in methods.into_iter().enumerate() {
        let header = CollapsingHeader::new(method.title).id_salt((lab.question.name(), method.name));
        header.default_open(nth == 0).show_unindented(ui, |ui| method_ui(ui, cx, method));
    }
}

fn method_ui(ui: &mut Ui, cx: &ViewCtx<'_>, method: &MethodSpec) {
    ui.add(Label::new(sentence(method.about)).wrap());
    ui.add_space(GRID);
    ui.add(Label::new(RichText::new(method.formula).monospace().small()).wrap());
    ui.add_space(GRID);
    ui.add(Label::new(RichText::new(method.source).small().color(cx.theme.text_weak)).wrap());
}
