//! The scenes of a view, with what they are called and their numbers.

use super::{FigureError, FigureSpec, ResolvedSpec};
use crate::{
    figure::{FigureExtent, Scene, ViewKind, data::Table},
    ids::HeadId,
};

/// One figure to draw.
pub struct NamedScene {
    pub scene: Box<dyn Scene>,
    pub table: Box<dyn Fn() -> Table>,
    /// Which layer, where it is one.
    pub layer: Option<usize>,
    /// Which head, where it is one.
    pub head: Option<usize>,
    /// Title on a sheet, and name in the metadata.
    pub label: String,
    /// What a sheet of such figures shows.
    pub view_text: &'static str,
}

/// Every figure that was asked for.
pub fn all(spec: &FigureSpec, subject: super::FigureInput<'_>) -> Result<Vec<NamedScene>, FigureError> {
    if spec.each.query && !spec.view.facts().has_frames {
        let of = ViewKind::names(|view| view.facts().has_frames);
        let message = format!("{} is one figure of all words: a figure for each is drawn of {of}", spec.view.name());
        return Err(FigureError::Usage(message));
    }
    (spec.view.spec().figures)(&ResolvedSpec::new(spec, subject)?)
}

impl ResolvedSpec<'_> {
    /// The heads that a figure is of: where it is of no single layer, all that were chosen; of a view of one head whose
    /// figure is one all the same, the first.
    pub fn heads_of(&self, drawn: &NamedScene) -> Vec<HeadId> {
        let stack = self.stack;
        let of_layer =
            |layer: usize| self.head_numbers(layer).into_iter().map(move |head| HeadId { stack, layer, head });
        match (drawn.layer, drawn.head, self.spec.view.spec().extent) {
            (Some(layer), Some(head), _) => vec![HeadId { stack, layer, head }],
            (Some(layer), None, _) => of_layer(layer).collect(),
            (None, _, FigureExtent::Head) if self.spec.together.is_none() => {
                self.ids().unwrap_or_default().into_iter().take(1).collect()
            }
            (None, ..) => self.layers.iter().flat_map(|&layer| of_layer(layer)).collect(),
        }
    }

    /// A scene with what it is called.
    pub fn named(
        &self,
        scene: Box<dyn Scene>,
        table: Box<dyn Fn() -> Table>,
        label: String,
        id: Option<HeadId>,
    ) -> NamedScene {
        let view_text = (self.spec.view.spec().sheet_text)(self);
        NamedScene { scene, table, layer: id.map(|id| id.layer), head: id.map(|id| id.head), label, view_text }
    }
}
