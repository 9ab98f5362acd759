//! The menu of one method: what can be turned about it, and what its numbers are worth.

use eframe::egui::{Button, Label, Popup, PopupCloseBehavior, Response, RichText, Ui};

use super::{
    asked::{self, AskedColumn},
    show,
};
use crate::{
    capture::Capture,
    figure::views::Study,
    lab::Scope,
    options::{Made, OptionField},
    protocol::Lane,
    session::{Command, PaneCommand},
    ui::{
        ViewCtx,
        theme::GRID,
        views::{
            controls,
            fields::{front_field_ui, menu_field_ui},
            states::progress_ui,
        },
        widgets::{menu_width, scrolled_menu_ui},
    },
};

/// Width of the menu.
const MENU_PT: f32 = 84.0 * GRID;

/// Opens the menu of a column at a button that was clicked.
pub fn menu_ui(button: &Response, cx: &ViewCtx<'_>, capture: &Capture, column: &AskedColumn) {
    let popup = Popup::menu(button).close_behavior(PopupCloseBehavior::CloseOnClickOutside);
    popup.accessible_name(format!("Options of {}", column.column.title)).show(|ui| {
        ui.set_width(menu_width(ui, MENU_PT));
        scrolled_menu_ui(ui, |ui| contents_ui(ui, cx, capture, column));
    });
}

fn contents_ui(ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture, column: &AskedColumn) {
    let method = column.ask.spec();
    let small = |text: &str| Label::new(RichText::new(text).small().color(cx.theme.text_weak)).wrap();
    ui.strong(method.title);
    ui.add(small(method.caveat));
    ui.add_space(GRID);
    let scope = Scope::from(&cx.pane.lab_focus(capture));
    let name = column.column.name;
    fields_ui(ui, cx, (&scope, column), &mut |ui, field| {
        let made = field.made;
        menu_field_ui(ui, cx, field);
        match made {
            Made::Elsewhere => {}
            Made::OverCorpus => fit_ui(ui, cx),
        }
    });
    ui.add_space(GRID);
    if let Some(report) = &column.answer.report {
        show::menu_ui(ui, cx, capture, (column, report));
    }
    ui.horizontal(|ui| {
        let is_turned = cx.pane.options.lab.turned.get(name).is_some_and(|turned| !turned.is_empty());
        let reset = ui.add_enabled(is_turned, Button::new("Reset"));
        if reset.on_hover_text("Reset the options to their defaults").clicked() {
            controls::edit_options(cx, |options| drop(options.lab.turned.remove(name)));
        }
        if ui.button("Hide").on_hover_text("Hide this method; “Methods” shows it again").clicked() {
            asked::show(cx, column.column, false);
            ui.close();
        }
    });
    ui.add(small(&format!("On the command line: attnscope analyze {}", method.name)));
}

/// The button that fits a lens over the corpus that is open, with the lens that was fitted last or what went wrong.
fn fit_ui(ui: &mut Ui, cx: &ViewCtx<'_>) {
    let studies = cx.document.studies();
    let running = studies.filter(|studies| studies.is_pending(Study::Lens));
    ui.horizontal(|ui| {
        let obstacle = cx.document.study_obstacle().or(running.map(|_| "A lens is being fitted"));
        let button = ui.add_enabled(obstacle.is_none(), Button::new("Fit over the corpus…"));
        let meaning = "Fit a Jacobian lens of this model over the open corpus, write it to a file and read through it; it \
                       takes a run back for each number of the stream’s width and text";
        if button.on_hover_text(meaning).on_disabled_hover_text(obstacle.unwrap_or_default()).clicked() {
            cx.send(Command::InPane(PaneCommand::FitLens));
            ui.close();
        }
        if running.is_some() && ui.button("Cancel").on_hover_text("Stop fitting the lens").clicked() {
            cx.send(Command::Cancel(Lane::Study(cx.document.id, Study::Lens)));
        }
    });
    if let Some(studies) = running {
        progress_ui(ui, cx.theme, studies.progress(Study::Lens), Study::Lens.doing());
    }
    let said = studies.and_then(|studies| {
        let failed = studies.lens.failure().map(|failure| failure.summary.clone());
        failed.or_else(|| studies.lens.latest().map(|(path, said)| format!("{}: {said}", path.display())))
    });
    if let Some(said) = said {
        ui.add(Label::new(RichText::new(said).small().color(cx.theme.text_weak)).wrap());
    }
}

/// Draws the options without which a method says nothing; whether there are some.
pub fn required_ui(ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture, column: &AskedColumn) -> bool {
    let scope = Scope::from(&cx.pane.lab_focus(capture));
    let mut are_some = false;
    fields_ui(ui, cx, (&scope, column), &mut |ui, field| {
        if field.required {
            are_some = true;
            menu_field_ui(ui, cx, field);
        }
    });
    are_some
}

/// Draws the options that stand above the answer.
pub fn front_ui(ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture, column: &AskedColumn) {
    let scope = Scope::from(&cx.pane.lab_focus(capture));
    ui.horizontal_wrapped(|ui| {
        fields_ui(ui, cx, (&scope, column), &mut |ui, field| {
            if field.in_front {
                front_field_ui(ui, cx, field);
            }
        });
    });
}

/// Shows the options of a column to `draw`, and remembers those that it changed.
fn fields_ui(
    ui: &mut Ui,
    cx: &ViewCtx<'_>,
    (scope, column): (&Scope<'_>, &AskedColumn),
    draw: &mut dyn FnMut(&mut Ui, OptionField<'_>),
) {
    let before = column.ask.values(scope);
    let mut ask = column.ask.clone();
    ask.options(scope, &mut |field| draw(ui, field));
    let changed: Vec<_> =
        ask.values(scope).into_iter().filter(|(name, value)| before.get(name) != Some(value)).collect();
    if !changed.is_empty() {
        controls::edit_options(cx, |options| {
            options.lab.turned.entry(column.column.name.to_owned()).or_default().extend(changed);
        });
    }
}
