//! States of a view, the same in all: nothing to show, something on its way, an error.

use eframe::egui::{
    Align, Align2, FontId, Frame, Label, Layout, Margin, ProgressBar, Rect, RichText, Role, Sense, Ui, UiBuilder,
    WidgetInfo, vec2,
};

use crate::{
    model::Progress,
    protocol::Failure,
    session::{Command, Document, Loadable, SelectionCommand, ViewKind, ViewOptions},
    ui::{
        ViewCtx,
        commands::UiCommand,
        theme::{GRID, Theme, radius, text_size},
    },
};

/// Height of a sentence with its button.
const OFFER_PT: f32 = 16.0 * GRID;

/// Why a view shows nothing, as a sentence, and a way out of it where there is one.
pub struct Nothing {
    sentence: String,
    way_out: Option<WayOut>,
}

/// One button.
struct WayOut {
    name: String,
    meaning: String,
    command: Command,
}

impl Nothing {
    /// With a button.
    pub fn with(self, name: impl Into<String>, meaning: impl Into<String>, command: Command) -> Self {
        Self { way_out: Some(WayOut { name: name.into(), meaning: meaning.into(), command }), ..self }
    }

    /// With the button of a command.
    pub fn by(self, command: UiCommand) -> Self {
        match command.command() {
            Some(does) => self.with(command.text(), command.tooltip(), does),
            None => self,
        }
    }

    /// With a button that sets options of the view.
    pub fn by_options(self, cx: &ViewCtx<'_>, (name, meaning): (&str, &str), edit: fn(&mut ViewOptions)) -> Self {
        let mut options = cx.pane.options.clone();
        edit(&mut options);
        self.with(name, meaning, Command::SetViewOptions(options))
    }

    /// Shows it in the middle of what is left of `ui`.
    pub fn ui(&self, ui: &mut Ui, cx: &ViewCtx<'_>) {
        match &self.way_out {
            None => sentence_ui(ui, cx.theme, &self.sentence),
            Some(WayOut { name, meaning, command }) => {
                if offer_ui(ui, cx.theme, &self.sentence, (name, meaning)) {
                    cx.send(command.clone());
                }
            }
        }
    }
}

impl<S: Into<String>> From<S> for Nothing {
    fn from(sentence: S) -> Self {
        Self { sentence: sentence.into(), way_out: None }
    }
}

/// Why `kind` shows nothing at all; `None` when it has something to show.
pub fn reason(cx: &ViewCtx<'_>, kind: ViewKind) -> Option<Nothing> {
    let Some(capture) = cx.document.latest_capture() else {
        return Some(without_capture(cx.document));
    };
    if let Some(reason) = cx.view_unavailable(kind) {
        let mut others = ViewKind::ALL.into_iter().filter(|other| cx.view_unavailable(*other).is_none());
        let nothing = Nothing::from(reason);
        return Some(match others.next() {
            Some(other) => {
                let show = Command::Select(SelectionCommand::ShowView(other));
                nothing.with(format!("Show {}", other.label()), other.spec().help, show)
            }
            None => nothing,
        });
    }
    let stack = cx.pane.selection.stack();
    let (n_query, n_key) = (capture.query_tokens(stack).len(), capture.key_tokens(stack).len());
    (n_query == 0 || n_key == 0).then(|| Nothing::from("The input has no tokens; type some text"))
}

fn without_capture(document: &Document) -> Nothing {
    match (&document.model, &document.capture) {
        (Loadable::Pending { .. }, _) => "Opening the model".into(),
        (Loadable::Failed { .. }, _) => Nothing::from("No model is open").by(UiCommand::Open),
        (_, Loadable::Pending { .. }) => "Running the model on the input".into(),
        (_, Loadable::Failed { .. }) => {
            Nothing::from("The last run failed; change the input, or try again").by(UiCommand::Run)
        }
        (Loadable::Empty | Loadable::Ready(_), Loadable::Empty | Loadable::Ready(_)) => {
            Nothing::from("Open a model or an example to see its attention").by(UiCommand::Open)
        }
    }
}

/// Shows one sentence in the middle of what is left of `ui`.
pub fn sentence_ui(ui: &mut Ui, theme: &Theme, sentence: &str) {
    let rect = ui.available_rect_before_wrap();
    let galley = ui.painter().layout(
        sentence.to_owned(),
        FontId::proportional(text_size::BODY),
        theme.text_weak,
        (rect.width() * 0.8).min(480.0),
    );
    let at = Align2::CENTER_CENTER.align_size_within_rect(galley.size(), rect);
    let response = ui.allocate_rect(rect, Sense::hover());
    response.widget_info(|| WidgetInfo::labeled(Role::Label, true, sentence));
    ui.painter().galley(at.min, galley, theme.text_weak);
}

/// Shows one sentence with one button in the middle of what is left of `ui`; whether it was clicked.
pub fn offer_ui(ui: &mut Ui, theme: &Theme, sentence: &str, (button, meaning): (&str, &str)) -> bool {
    let rect = ui.available_rect_before_wrap();
    let middle = Rect::from_center_size(rect.center(), vec2(rect.width(), OFFER_PT));
    let layout = Layout::top_down(Align::Center);
    let clicked = ui.scope_builder(UiBuilder::new().id_salt("offer").max_rect(middle).layout(layout), |ui| {
        ui.add(Label::new(RichText::new(sentence).color(theme.text_weak)).wrap());
        ui.add_space(GRID);
        ui.button(button).on_hover_text(meaning).clicked()
    });
    ui.allocate_rect(rect, Sense::hover());
    clicked.inner
}

/// Says what went wrong and what to do about it, with one button; whether it was clicked.
pub fn error_card_ui(ui: &mut Ui, theme: &Theme, failure: &Failure, (button, meaning): (&str, &str)) -> bool {
    let margin = Margin::symmetric(2 * GRID as i8, GRID as i8);
    let frame = Frame::new().fill(theme.panel).stroke((1.0, theme.error)).corner_radius(radius::CONTROL);
    let shown = frame.inner_margin(margin).show(ui, |ui| {
        let row = ui.horizontal_wrapped(|ui| {
            ui.label(RichText::new(format!("⚠ {}", failure.summary)).color(theme.error));
            ui.button(button).on_hover_text(meaning).clicked()
        });
        if !failure.details.is_empty() {
            ui.label(RichText::new(&failure.details).small().color(theme.text_weak));
        }
        row.inner
    });
    shown.inner
}

/// A thin bar that says how far something is which is on its way.
pub fn progress_ui(ui: &mut Ui, theme: &Theme, progress: Option<Progress>, name: &str) {
    let fraction = progress.map_or(0.0, |it| it.done as f32 / it.total.max(1) as f32);
    ui.add(ProgressBar::new(fraction).desired_height(GRID).fill(theme.accent)).accessible_name(name);
}
