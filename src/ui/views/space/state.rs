//! Progress of the shown layout, and sentences where there is none.

use eframe::egui::{ProgressBar, Ui};

use crate::{
    analysis::{Space, projection::Projection},
    session::{Command, CorpusCommand, Loadable},
    text::capitalised,
    ui::{ViewCtx, theme::GRID, views::empty},
};

/// Opacity of a projection whose successor is on its way.
pub const STALE_OPACITY: f32 = 0.45;

pub use crate::ui::memo::Same;

/// How far the projection on its way is.
pub fn progress_ui(ui: &mut Ui, cx: &ViewCtx<'_>) {
    let fraction =
        cx.pane.projection.progress().map_or(0.0, |progress| progress.done as f32 / progress.total.max(1) as f32);
    ui.add(ProgressBar::new(fraction).desired_height(GRID).fill(cx.theme.accent))
        .accessible_name("Progress of the projection");
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
        go_on_ui(ui, cx, "The layout was stopped before its end");
    }
}

fn go_on_ui(ui: &mut Ui, cx: &ViewCtx<'_>, what: &str) {
    ui.horizontal(|ui| {
        ui.label(what);
        if ui.small_button("Resume").clicked() {
            cx.send(Command::Project);
        }
    });
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
        Loadable::Failed { failure, .. } => failure.summary.clone(),
        Loadable::Pending { .. } => {
            progress_ui(ui, cx);
            format!("Projecting {}{}", what[..1].to_lowercase(), &what[1..])
        }
        Loadable::Empty | Loadable::Ready(_) if cx.pane.is_projection_stopped() => {
            go_on_ui(ui, cx, "The projection was stopped");
            return;
        }
        Loadable::Empty | Loadable::Ready(_) => format!("{what} will be projected here"),
    };
    empty::sentence_ui(ui, cx.theme, &sentence);
}

/// Why there is nothing, and what to do about it.
fn lacking_ui(ui: &mut Ui, cx: &ViewCtx<'_>, reason: &str) {
    if let Some(kept) = cx.pane.to_be_kept(cx.document) {
        ui.horizontal(|ui| {
            let what = if kept.values { "its values" } else { "its residual stream" };
            if ui.button("Run it again").on_hover_text(format!("Run the corpus again and keep {what}")).clicked() {
                cx.send(Command::Corpus(CorpusCommand::KeepMore(kept)));
            }
            ui.label(format!("This corpus was run without keeping {what}"));
        });
    }
    empty::sentence_ui(ui, cx.theme, reason);
}
