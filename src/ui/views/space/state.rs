//! Progress of the shown layout, and sentences where there is none.

use eframe::egui::Ui;

use crate::{
    analysis::{Space, projection::Projection},
    session::{Command, CorpusCommand, Loadable},
    text::capitalised,
    ui::{ViewCtx, views::states},
};

/// Opacity of a projection whose successor is on its way.
pub const STALE_OPACITY: f32 = 0.45;

pub use crate::ui::memo::Same;

/// How far the projection on its way is.
fn progress_ui(ui: &mut Ui, cx: &ViewCtx<'_>) {
    states::progress_ui(ui, cx.theme, cx.pane.projection.progress(), "Progress of the projection");
}

/// Above the points: how far they are, and whether they are still those of other options.
pub fn state_ui(ui: &mut Ui, cx: &ViewCtx<'_>, shown: &Projection) {
    let wanted = cx.pane.projection_options();
    if cx.pane.projection.is_pending() {
        progress_ui(ui, cx);
        if shown.options != wanted {
            ui.multiply_opacity(STALE_OPACITY);
        }
    } else if !shown.is_complete() {
        ui.horizontal(|ui| {
            ui.label("The layout was stopped before its end");
            if ui.small_button("Resume").clicked() {
                cx.send(Command::Project);
            }
        });
    }
}

/// What stands in place of a projection that does not exist yet.
pub fn placeholder_ui(ui: &mut Ui, cx: &ViewCtx<'_>) {
    let space = cx.pane.space();
    if let Some(reason) = cx.pane.lacks(cx.document) {
        lacking_ui(ui, cx, &capitalised(&reason));
        return;
    }
    let what = match space {
        Space::QueriesKeys => "The queries and keys of every head",
        Space::Values => "The values of every head",
        Space::Residual => "The residual stream of every layer",
        Space::Positions => "The position embeddings",
    };
    let sentence = match &cx.pane.projection {
        Loadable::Failed { failure, .. } => {
            if states::error_card_ui(ui, cx.theme, failure, ("Try again", "Project again")) {
                cx.send(Command::Project);
            }
            return;
        }
        Loadable::Pending { .. } => {
            progress_ui(ui, cx);
            format!("Projecting {}{}", what[..1].to_lowercase(), &what[1..])
        }
        Loadable::Empty | Loadable::Ready(_) if cx.pane.is_projection_stopped() => {
            if states::offer_ui(ui, cx.theme, "The projection was stopped", ("Resume", "Go on projecting")) {
                cx.send(Command::Project);
            }
            return;
        }
        Loadable::Empty | Loadable::Ready(_) => format!("{what} will be projected here"),
    };
    states::sentence_ui(ui, cx.theme, &sentence);
}

/// Why there is nothing, and what to do about it.
fn lacking_ui(ui: &mut Ui, cx: &ViewCtx<'_>, reason: &str) {
    let Some(kept) = cx.pane.to_be_kept(cx.document) else { return states::sentence_ui(ui, cx.theme, reason) };
    let what = if kept.values { "its values" } else { "its residual stream" };
    let meaning = format!("Run the corpus again and keep {what}");
    let sentence = format!("This corpus was run without keeping {what}");
    if states::offer_ui(ui, cx.theme, &sentence, ("Run it again", &meaning)) {
        cx.send(Command::Corpus(CorpusCommand::KeepMore(kept)));
    }
}
