//! The line below the question of an example: what that shows while it stands as it opened, and later the way back.

use eframe::egui::{Button, FontId, Rect, RichText, Ui, UiBuilder};

use crate::{
    analysis::reading,
    ids::{CaptureId, DocumentId, HeadId, ModelId},
    session::{
        Command,
        gallery::{EXAMPLES, Example, Told},
    },
    ui::{
        ViewCtx,
        memo::Memo,
        theme::{GRID, text_size},
    },
};

/// Height of a row of it.
const ROW_PT: f32 = 5.0 * GRID;

/// The line of a pane. It keeps its place while the model of the example is there, so that choosing and typing move
/// nothing.
#[derive(Default)]
pub struct ToldLine {
    measured: Memo<(CaptureId, HeadId, Option<usize>), Option<String>>,
    kept: Option<Kept>,
}

struct Kept {
    example: usize,
    of: (DocumentId, Option<ModelId>),
    height: f32,
    /// What is said, while the example stands as it opened.
    said: Option<String>,
}

/// Whether a pane shows the first picture as it opened.
pub fn is_first_picture(cx: &ViewCtx<'_>) -> bool {
    let standing = cx.pane.standing_example(cx.document).and_then(|idx| EXAMPLES.get(idx));
    standing.is_some_and(|example| example.told == Told::Measured)
}

impl ToldLine {
    /// Takes note of what the pane shows; how high the line is in this width.
    pub fn update(&mut self, ui: &Ui, cx: &ViewCtx<'_>, width: f32) -> f32 {
        let of = (cx.document.id, cx.document.model.latest().map(|model| model.id));
        self.kept.take_if(|kept| kept.of != of || cx.document.opened.is_some());
        if let Some(kept) = &mut self.kept {
            kept.said = None;
        }
        if let Some(idx) = cx.pane.standing_example(cx.document)
            && let Some(said) = EXAMPLES.get(idx).and_then(|example| self.text(cx, example))
        {
            let font = FontId::proportional(text_size::BODY);
            let n_rows = ui.painter().layout(said.clone(), font, cx.theme.text_weak, width).rows.len();
            self.kept = Some(Kept { example: idx, of, height: n_rows as f32 * ROW_PT, said: Some(said) });
        }
        self.kept.as_ref().map_or(0.0, |kept| kept.height)
    }

    /// What an example says of itself.
    fn text(&mut self, cx: &ViewCtx<'_>, example: &Example) -> Option<String> {
        match example.told {
            Told::Hint => Some(example.hint.to_owned()),
            Told::Measured => {
                let (capture, selection) = (cx.document.latest_capture()?, &cx.pane.selection);
                let key = (capture.id(), selection.head, selection.pinned.query);
                self.measured
                    .get_or_update(key, || reading::strongest(capture, selection.head, selection.pinned.query?))
            }
        }
    }

    /// Draws it.
    pub fn ui(&self, ui: &mut Ui, cx: &ViewCtx<'_>, rect: Rect) {
        let Some(kept) = &self.kept else { return };
        // Its place is taken already, in panes without it too.
        let ui = &mut ui.new_child(UiBuilder::new().id_salt("told").max_rect(rect));
        match &kept.said {
            Some(said) => drop(ui.label(RichText::new(said).color(cx.theme.text_weak))),
            // What was asked for is on its way.
            None if cx.document.is_busy() => {}
            None => {
                let title = EXAMPLES.get(kept.example).map_or("", |example| example.title);
                ui.spacing_mut().button_padding.x = 0.0;
                let text = RichText::new(format!("Back to “{title}”")).color(cx.theme.text_weak);
                let button = ui.add(Button::new(text).small().frame_when_inactive(false));
                if button.on_hover_text("Open the example again, as it was").clicked() {
                    cx.send(Command::OpenExample(kept.example));
                }
            }
        }
    }
}
