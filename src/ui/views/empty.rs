//! Sentence in the middle of a view that has nothing to show.

use eframe::egui::{Align2, FontId, Role, Sense, Ui, WidgetInfo};

use crate::{
    session::{Document, Loadable, ViewKind},
    ui::{
        ViewCtx,
        theme::{Theme, text_size},
    },
};

/// Why `kind` shows nothing at all; `None` when it has something to show.
pub fn reason(cx: &ViewCtx<'_>, kind: ViewKind) -> Option<String> {
    let Some(capture) = cx.document.latest_capture() else {
        return Some(without_capture(cx.document));
    };
    if let Some(reason) = cx.view_unavailable(kind) {
        return Some(reason.to_owned());
    }
    let stack = cx.pane.selection.stack();
    let (n_query, n_key) = (capture.query_tokens(stack).len(), capture.key_tokens(stack).len());
    (n_query == 0 || n_key == 0).then(|| "The input has no tokens; type some text".to_owned())
}

fn without_capture(document: &Document) -> String {
    let sentence = match (&document.model, &document.capture) {
        (Loadable::Pending { .. }, _) => "Opening the model",
        (Loadable::Failed { .. }, _) => "No model is open; choose an example or open a model folder",
        (_, Loadable::Pending { .. }) => "Running the model on the input",
        (_, Loadable::Failed { .. }) => "The last run failed; change the input to try again",
        (Loadable::Empty | Loadable::Ready(_), Loadable::Empty | Loadable::Ready(_)) => {
            "Choose an example or open a model to see its attention"
        }
    };
    sentence.to_owned()
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
