//! Choices before a corpus from a file is run, with its estimated cost.

use eframe::egui::{self, Checkbox, ComboBox, DragValue, Label, RichText, Ui};

use crate::{
    corpus::list::{ListOptions, Split},
    protocol::CorpusLook,
    session::{Command, CorpusCommand, CorpusSheet},
    text::{grouped, wait_text},
    ui::{
        PanelCtx,
        theme::GRID,
        views::controls,
        widgets::{Dialog, bytes_text, main_button_ui},
    },
};

const WIDTH: f32 = 112.0 * GRID;

/// Draws it over everything, as soon as there is something to choose.
pub fn sheet_ui(ctx: &egui::Context, cx: &PanelCtx<'_>, sheet: &CorpusSheet, just_opened: bool) {
    let Some(look) = sheet.shown() else { return };
    let modal = Dialog::new("corpus sheet", WIDTH).show(ctx, |ui| {
        let name = sheet.path.file_name().unwrap_or(sheet.path.as_os_str()).to_string_lossy();
        ui.heading(format!("Open {name}"));
        ui.add_space(GRID);
        choices_ui(ui, cx, sheet, look);
        ui.add_space(2.0 * GRID);
        for sample in &look.samples {
            let line = RichText::new(sample.replace(['\n', '\r'], " ")).color(cx.theme.text_weak);
            ui.add(Label::new(line).truncate());
        }
        ui.add_space(2.0 * GRID);
        costs_ui(ui, cx, sheet, look);
        super::unchanged_ui(ui, cx);
        ui.add_space(2.0 * GRID);
        let n_fit = look.plan.as_ref().and_then(|plan| plan.n_fit).filter(|_| !sheet.look.is_pending());
        ui.horizontal(|ui| {
            let text = n_fit.map_or_else(|| "Run".to_owned(), |n| format!("Run the first {}", grouped(n)));
            let can = n_fit != Some(0) && sheet.look.failure().is_none();
            let (run, entered) = main_button_ui(ui, &text, can, just_opened);
            if run.clicked() || entered {
                if let Some(first) = n_fit {
                    let options = crate::protocol::CorpusOptions { first: Some(first), ..sheet.options.clone() };
                    send(cx, CorpusCommand::SetSheet(sheet.list.clone(), options));
                }
                send(cx, CorpusCommand::RunSheet);
            }
            if ui.button("Cancel").clicked() {
                send(cx, CorpusCommand::CloseSheet);
            }
        });
    });
    if modal.should_close() {
        send(cx, CorpusCommand::CloseSheet);
    }
}

fn send(cx: &PanelCtx<'_>, command: CorpusCommand) {
    cx.send(Command::Corpus(command));
}

/// Which column has the words of each text.
fn groups_column_ui(ui: &mut Ui, cx: &PanelCtx<'_>, list: &mut ListOptions, look: &CorpusLook) {
    const NONE: &str = "none";
    let mut names = look.columns.clone();
    names.sort();
    let meaning =
        "A column with the text in words, separated by | or spaces: they become groups of tokens, merged as words";
    controls::row_about_ui(ui, cx.theme, "Words from column", meaning, |ui| {
        let chosen = list.groups_column.clone();
        let combo = ComboBox::new("column with words", "").selected_text(chosen.as_deref().unwrap_or(NONE));
        let combo = combo.show_ui(ui, |ui| {
            let choices = std::iter::once(None).chain(names.into_iter().map(Some));
            for name in choices {
                if ui.selectable_label(name == chosen, name.as_deref().unwrap_or(NONE)).clicked() {
                    list.groups_column = name;
                }
            }
        });
        combo.response.accessible_name("Column with words");
    });
    if list.groups_column.is_some() {
        list.split = Split::Lines;
    }
}

fn choices_ui(ui: &mut Ui, cx: &PanelCtx<'_>, sheet: &CorpusSheet, look: &CorpusLook) {
    let (mut list, mut options) = (sheet.list.clone(), sheet.options.clone());
    if let Some(first) = look.text_columns.first() {
        let chosen = list.text_column.clone().unwrap_or_else(|| first.clone());
        // In one order, whichever is chosen.
        let mut names = look.text_columns.clone();
        names.sort();
        controls::row_ui(ui, cx.theme, "Column with the text", |ui| {
            let combo = ComboBox::new("column with the text", "").selected_text(&chosen).show_ui(ui, |ui| {
                for name in &names {
                    if ui.selectable_label(*name == chosen, name).clicked() {
                        list.text_column = Some(name.clone());
                    }
                }
            });
            combo.response.accessible_name("Column");
        });
    }
    if !look.text_columns.is_empty() {
        groups_column_ui(ui, cx, &mut list, look);
    }
    let mut sentences = list.split == Split::Sentences;
    let meaning = "Splits each row or line into sentences; each sentence keeps the annotations of its row";
    let sentences_of =
        ui.add_enabled(list.groups_column.is_none(), Checkbox::new(&mut sentences, "Each sentence is one input"));
    let reason = "Words of a column are those of whole rows";
    if sentences_of.on_hover_text(meaning).on_disabled_hover_text(reason).changed() {
        list.split = if sentences { Split::Sentences } else { Split::Lines };
    }
    let spec = cx.document.model.latest().map(|model| &model.spec);
    let n_layers = spec.and_then(|spec| spec.stacks.iter().map(|stack| stack.layers.len()).max()).unwrap_or(0);
    if n_layers > 1 {
        let meaning = "Layers whose queries and keys are kept; fewer take less memory";
        controls::row_about_ui(ui, cx.theme, "Layers", meaning, |ui| {
            let kept = options.layers.as_deref().unwrap_or_default();
            let [from, to] = [kept.first().copied().unwrap_or(0), kept.last().copied().unwrap_or(n_layers - 1)];
            let [mut first, mut last] = [from, to];
            // From right to left.
            let drag = |value, range| DragValue::new(value).range(range).update_while_editing(false);
            ui.add(drag(&mut last, from..=n_layers - 1)).accessible_name("Last layer");
            ui.label("to");
            ui.add(drag(&mut first, 0..=to)).accessible_name("First layer");
            if [first, last] != [from, to] {
                options.layers = ([first, last] != [0, n_layers - 1]).then(|| (first..=last).collect());
            }
        });
    }
    let meaning = "Kept in addition to queries and keys, so that the query–key map can show them as points";
    controls::row_about_ui(ui, cx.theme, "Also kept", meaning, |ui| {
        // From right to left.
        ui.checkbox(&mut options.kept.residual, "Residual stream");
        ui.checkbox(&mut options.kept.values, "Values");
    });
    if (&list, &options) != (&sheet.list, &sheet.options) {
        send(cx, CorpusCommand::SetSheet(list, options));
    }
}

/// What it will take, as far as that is known.
fn costs_ui(ui: &mut Ui, cx: &PanelCtx<'_>, sheet: &CorpusSheet, look: &CorpusLook) {
    if let Some(failure) = sheet.look.failure() {
        ui.label(RichText::new(&failure.summary).color(cx.theme.error));
        if !failure.details.is_empty() {
            ui.label(RichText::new(&failure.details).color(cx.theme.text_weak));
        }
        return;
    }
    let Some(plan) = &look.plan else {
        ui.label(RichText::new("Memory and time are estimated once a model is open").color(cx.theme.text_weak));
        return;
    };
    let (inputs, tokens) = (grouped(plan.n_inputs), grouped(plan.n_tokens));
    ui.label(format!("{inputs} inputs, about {tokens} tokens, {} of memory", bytes_text(plan.n_bytes)));
    // After another choice it is measured anew.
    let time = match (look.secs.filter(|_| !sheet.look.is_pending()), plan.n_fit) {
        (_, Some(_)) => "There is not enough memory for all inputs".to_owned(),
        (Some(secs), _) => format!("About {}, estimated from the first inputs", wait_text(secs)),
        (None, _) => "Measuring the time on the first inputs …".to_owned(),
    };
    ui.label(RichText::new(time).color(cx.theme.text_weak));
}
