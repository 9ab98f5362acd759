//! A model as boxes along its residual streams, from what it reads to what it says: all layers, the selected one open, with
//! the shapes of this input.

use std::sync::Arc;

use emath::{Pos2, Rect};

use super::{joined, parts};
use crate::{
    analysis::stream_norms::StreamNorms,
    capture::{Architecture, Capture, TowerFacts, words},
    figure::{
        measure::GRID,
        page::{Captions, Scene},
        pen::Pen,
    },
    ids::{HeadId, Side, StackKind},
    spec::{HeadKind, LayerSpec},
    text::counted,
};

mod draw;
pub mod layout;
mod norms;
mod spec;

pub use spec::SPEC;

use layout::{DiagramBox, Layout, Target};

/// Between the towers and the norms.
const GAP_PT: f32 = 8.0 * GRID;

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
    /// Norms along the stream of the selected stack, where they were recorded.
    pub norms: Option<Arc<StreamNorms>>,
    /// The token whose norms are drawn by themselves, and its text.
    pub token: Option<(usize, String)>,
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
            norms: StreamNorms::of(capture, head.stack.host()).map(Arc::new),
            token: None,
        })
    }

    /// The same with a token whose norms are drawn by themselves.
    #[must_use]
    pub fn with_token(self, capture: &Capture, token: Option<usize>) -> Self {
        let tokens = capture.tokens(self.head.stack.host().query_side());
        let token = token.filter(|token| *token < tokens.len());
        Self { token: token.map(|token| (token, words::token_text(tokens, token))), ..self }
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
            || Some(self.head.stack) == tower.stack.beside()
            || Some(self.head.stack) == tower.stack.cross() && tower.blocks.iter().any(|block| block.cross.is_some());
        if is_own { self.head.layer.min(tower.blocks.len().saturating_sub(1)) } else { 0 }
    }

    /// The least width.
    pub fn narrowest(&self) -> f32 {
        let towers = layout::width(self.architecture.towers.len());
        self.norms.as_ref().map_or(towers, |_| towers.max(parts::width(1)))
    }

    /// The least height in a width.
    pub fn least_height_in(&self, width: f32) -> f32 {
        let towers = layout::height(self);
        match &self.norms {
            None => towers,
            Some(_) if self.is_beside(width) => towers.max(parts::least_height(parts::width(1), 1)),
            Some(_) => towers + GAP_PT + parts::least_height(width, 1),
        }
    }

    /// Whether norms have room beside the towers.
    fn is_beside(&self, width: f32) -> bool {
        width >= layout::width(self.architecture.towers.len()) + GAP_PT + parts::width(1)
    }

    /// Where the towers are, and the norms: beside them where there is room, else below.
    fn places(&self, area: Rect) -> (Rect, Option<Rect>) {
        if self.norms.is_none() {
            return (area, None);
        }
        let least = layout::width(self.architecture.towers.len());
        let (towers, rest) = if self.is_beside(area.width()) {
            let width = ((area.width() - GAP_PT) / 2.0).clamp(least, layout::MOST_TIMES.x * least);
            let width = width.min(area.width() - GAP_PT - parts::width(1));
            (area.with_max_x(area.left() + width), area.with_min_x(area.left() + width + GAP_PT))
        } else {
            let height = parts::least_height(area.width(), 1);
            (area.with_max_y(area.bottom() - GAP_PT - height), area.with_min_y(area.bottom() - height))
        };
        (towers, parts::places(rest, 1).next())
    }

    /// What lies at a place.
    pub fn target(&self, area: Rect, at: Pos2) -> Option<Target> {
        self.boxes(area).into_iter().filter(|it| it.rect.contains(at)).find_map(|it| it.target)
    }

    /// All boxes.
    pub fn boxes(&self, area: Rect) -> Vec<DiagramBox> {
        Layout::of(self, self.places(area).0).boxes
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
        HeadKind::PairClass => "Class of picture and text",
        HeadKind::Similarity => "How well picture and text fit",
    }
}

impl Scene for DiagramScene {
    fn width(&self, _: &mut Pen<'_>) -> f32 {
        let towers = layout::width(self.architecture.towers.len());
        self.norms.as_ref().map_or(towers, |_| towers + GAP_PT + parts::width(1))
    }

    fn least_width(&self, _: &mut Pen<'_>) -> f32 {
        self.narrowest()
    }

    fn height(&self, width: f32, _: &mut Pen<'_>) -> f32 {
        self.least_height_in(width)
    }

    fn least_height(&self, width: f32, _: &mut Pen<'_>) -> f32 {
        self.least_height_in(width)
    }

    fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
        let (towers, norms) = self.places(area);
        self.draw_boxes(towers, pen);
        if let Some((rect, norms)) = norms.zip(self.norms.as_deref()) {
            parts::chart(&self.chart(norms, &pen.palette), rect, pen);
        }
    }

    fn captions(&self) -> Captions {
        let layers: Vec<String> =
            self.architecture.towers.iter().map(|tower| counted(tower.blocks.len(), "layer")).collect();
        let what = format!("{}: {}, layer {} open", self.model, layers.join(" and "), self.head.layer);
        let how = "Shapes are those of this input; n is its number of tokens";
        Captions { short: what.clone(), full: joined([what.as_str(), how]) }
    }
}
