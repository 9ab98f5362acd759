//! What the Scatter and Matrix views share: which projection is shown and what to say without one.

use eframe::egui::{ProgressBar, Ui};

pub use crate::figure::views::scatter::bounds;

use super::empty;
use crate::{
    analysis::projection::{HeadProjection, Projection, ProjectionOptions},
    ids::{CaptureId, HeadId, StackKind},
    session::Loadable,
    ui::{ViewCtx, theme::GRID},
};

/// Opacity of a projection whose successor is on its way.
pub const STALE_OPACITY: f32 = 0.45;

/// What tells one projection from another: the same key gives the same points.
pub type PlanesKey = (CaptureId, StackKind, ProjectionOptions);

/// The key of a projection.
pub fn key(projection: &Projection) -> PlanesKey {
    (projection.capture, projection.stack, projection.options)
}

/// One head of a projection.
pub fn head(projection: &Projection, head: HeadId) -> Option<&HeadProjection> {
    projection.heads.iter().find(|plane| plane.head == head)
}

/// How far the projection on its way is.
pub fn progress_ui(ui: &mut Ui, cx: &ViewCtx<'_>) {
    let fraction =
        cx.pane.projection.progress().map_or(0.0, |progress| progress.done as f32 / progress.total.max(1) as f32);
    ui.add(ProgressBar::new(fraction).desired_height(GRID).fill(cx.theme.accent))
        .accessible_name("Progress of the projection");
}

/// What stands in place of a projection that does not exist yet.
pub fn placeholder_ui(ui: &mut Ui, cx: &ViewCtx<'_>) {
    let sentence = match &cx.pane.projection {
        Loadable::Failed { failure, .. } => failure.summary.clone(),
        Loadable::Pending { .. } => {
            progress_ui(ui, cx);
            "Projecting the queries and keys of every head".to_owned()
        }
        _ => "The queries and keys of every head will be projected here".to_owned(),
    };
    empty::sentence_ui(ui, cx.theme, &sentence);
}
