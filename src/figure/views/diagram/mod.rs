//! A model as boxes along its residual streams, from what it reads to what it says: all layers, the selected one open, with
//! the shapes of this input.

use std::sync::Arc;

use emath::{Pos2, Rect};

use super::joined;
use crate::{
    capture::{Architecture, Capture, TowerFacts},
    figure::{
        page::{Captions, Scene},
        pen::Pen,
    },
    ids::{HeadId, Side, StackKind},
    spec::{HeadKind, LayerSpec},
    text::counted,
};

mod draw;
pub mod layout;
mod spec;

pub use spec::SPEC;

use layout::{DiagramBox, Layout, Target};

/// The diagram of a model with one layer open.
#[derive(Clone, Debug)]
pub struct DiagramScene {
    pub architecture: Arc<Architecture>,
    pub head: HeadId,
    pub model: String,
    /// The layers of each stack.
    pub layers: Vec<(StackKind, Vec<LayerSpec>)>,
    /// How many tokens each sequence has.
    pub lengths: Vec<(Side, usize)>,
    /// What the model says in the end, in words.
    pub output: Option<String>,
}

impl DiagramScene {
    /// The diagram of the model of a capture; `None` where it is no transformer, or its blocks are not known.
    pub fn new(capture: &Capture, head: HeadId) -> Option<Self> {
        let architecture = capture.architecture().filter(|architecture| !architecture.towers.is_empty())?;
        let model = capture.model();
        Some(Self {
            architecture: Arc::clone(architecture),
            head,
            model: model.name.clone(),
            layers: model.stacks.iter().map(|stack| (stack.kind, stack.layers.clone())).collect(),
            lengths: Side::ALL.into_iter().map(|side| (side, capture.tokens(side).len())).collect(),
            output: model.head.as_ref().map(|head| said(*head).to_owned()),
        })
    }

    /// How many tokens a sequence has.
    pub fn n(&self, side: Side) -> usize {
        self.lengths.iter().find(|(other, _)| *other == side).map_or(0, |(_, n)| *n)
    }

    /// A layer of a stack.
    pub fn layer(&self, stack: StackKind, layer: usize) -> Option<&LayerSpec> {
        self.layers.iter().find(|(kind, _)| *kind == stack)?.1.get(layer)
    }

    /// Width of the residual stream of a tower.
    pub fn d_model(&self, tower: &TowerFacts) -> usize {
        self.layer(tower.stack, 0).and_then(|layer| layer.mlp).map_or(0, |mlp| mlp.d_model)
    }

    /// The layer of a tower that is open.
    pub fn open_layer(&self, tower: &TowerFacts) -> usize {
        let is_own = self.head.stack == tower.stack
            || self.head.stack == StackKind::Cross && tower.blocks.iter().any(|block| block.cross.is_some());
        if is_own { self.head.layer.min(tower.blocks.len().saturating_sub(1)) } else { 0 }
    }

    /// What lies at a place.
    pub fn target(&self, area: Rect, at: Pos2) -> Option<Target> {
        Layout::of(self, area).boxes.into_iter().filter(|it| it.rect.contains(at)).find_map(|it| it.target)
    }

    /// All boxes.
    pub fn boxes(&self, area: Rect) -> Vec<DiagramBox> {
        Layout::of(self, area).boxes
    }
}

/// What a head says, in words.
const fn said(head: HeadKind) -> &'static str {
    match head {
        HeadKind::MaskedLm => "Which token stands at each place",
        HeadKind::NextToken => "Which token comes next",
        HeadKind::TextClass => "Class of the text",
        HeadKind::ImageClass => "Class of the picture",
        HeadKind::TokenClass => "Class of each token",
        HeadKind::Similarity => "How well picture and text fit",
    }
}

impl Scene for DiagramScene {
    fn width(&self, _: &mut Pen<'_>) -> f32 {
        layout::width(self.architecture.towers.len())
    }

    fn least_width(&self, pen: &mut Pen<'_>) -> f32 {
        self.width(pen)
    }

    fn height(&self, _: f32, _: &mut Pen<'_>) -> f32 {
        layout::height(self)
    }

    fn least_height(&self, width: f32, pen: &mut Pen<'_>) -> f32 {
        self.height(width, pen)
    }

    fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
        self.draw_boxes(area, pen);
    }

    fn captions(&self) -> Captions {
        let layers: Vec<String> =
            self.architecture.towers.iter().map(|tower| counted(tower.blocks.len(), "layer")).collect();
        let what = format!("{}: {}, layer {} open", self.model, layers.join(" and "), self.head.layer);
        let how = "Shapes are those of this input; n is its number of tokens";
        Captions { short: what.clone(), full: joined([what.as_str(), how]) }
    }
}
