//! How far the layout is that is shown, and what to say without one.

use eframe::egui::{ProgressBar, Ui};

use crate::{
    analysis::projection::Projection,
    session::{Command, Loadable},
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
    let wanted = cx.pane.options.scatter.projection;
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
        if ui.small_button("Go on").clicked() {
            cx.send(Command::Project);
        }
    });
}

/// What stands in place of a projection that does not exist yet.
pub fn placeholder_ui(ui: &mut Ui, cx: &ViewCtx<'_>) {
    let sentence = match &cx.pane.projection {
        Loadable::Failed { failure, .. } => failure.summary.clone(),
        Loadable::Pending { .. } => {
            progress_ui(ui, cx);
            "Projecting the queries and keys of every head".to_owned()
        }
        _ if cx.pane.is_projection_stopped() => {
            go_on_ui(ui, cx, "The projection was stopped");
            return;
        }
        _ => "The queries and keys of every head will be projected here".to_owned(),
    };
    empty::sentence_ui(ui, cx.theme, &sentence);
}
