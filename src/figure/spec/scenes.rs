//! The scenes of a view, with what they are called and their numbers.

use super::{FigureError, FigureSpec, ResolvedSpec};
use crate::{
    figure::{Scene, data::Table},
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
    /// Model and input, in words.
    pub origin: String,
}

/// Every figure that was asked for.
pub fn all(spec: &FigureSpec, subject: super::FigureInput<'_>) -> Result<Vec<NamedScene>, FigureError> {
    (spec.view.spec().figures)(&ResolvedSpec::new(spec, subject)?)
}

impl ResolvedSpec<'_> {
    /// A scene with what it is called.
    pub fn named(
        &self,
        scene: Box<dyn Scene>,
        table: Box<dyn Fn() -> Table>,
        label: String,
        id: Option<HeadId>,
    ) -> NamedScene {
        let view_text = (self.spec.view.spec().sheet_text)(self);
        let origin = self.origin.clone();
        NamedScene { scene, table, layer: id.map(|id| id.layer), head: id.map(|id| id.head), label, view_text, origin }
    }
}
