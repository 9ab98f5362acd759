//! Experts of a layer: which of them each token goes to, how many tokens each gets, and the same of all layers.

use std::sync::Arc;

use emath::Rect;

use super::{joined, parts::OfParts};
use crate::{
    analysis::routing::{ExpertLoad, LayerRouting},
    capture::{Capture, Site, words},
    figure::{page::Captions, pen::Pen},
    ids::StackKind,
    raster::ColorMap,
    text::{counted, decimal_text, share_text},
};

mod draw;
mod options;
mod spec;

pub use draw::{cells, draw_loads};
pub use options::{ExpertsOptions, RouterValues};
pub use spec::SPEC;

/// A part of the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpertsPart {
    /// Expert × token of a layer.
    Tokens,
    /// Share of tokens of each expert of the layer.
    Load,
    /// Layer × expert: shares of tokens.
    Layers,
    /// Layer × expert: weights of the token that is held.
    Path,
}

/// Routers of one stack.
#[derive(Clone, Debug)]
pub struct ExpertsFacts {
    pub stack: StackKind,
    /// What the tokens are called.
    pub names: Vec<String>,
    /// Each layer that has experts.
    pub layers: Vec<LayerRouting>,
    pub loads: Vec<ExpertLoad>,
}

impl ExpertsFacts {
    /// What was recorded; `None` where no layer has experts.
    pub fn of(capture: &Capture, stack: StackKind) -> Option<Self> {
        let layers = LayerRouting::all(capture, stack);
        let tokens = capture.query_tokens(stack);
        let names = (0..tokens.len()).map(|at| words::bare(&words::token_text(tokens, at)).to_owned()).collect();
        let loads = layers.iter().map(LayerRouting::load).collect();
        (!layers.is_empty() && !tokens.is_empty()).then_some(Self { stack, names, layers, loads })
    }

    /// The place among [`Self::layers`] of a layer, or of the first one where it has no experts.
    pub fn place(&self, layer: usize) -> usize {
        self.layers.iter().position(|routing| routing.layer == layer).unwrap_or(0)
    }
}

/// Why the view has nothing to show; `None` where it has.
fn unavailable(capture: &Capture, stack: StackKind) -> Option<&'static str> {
    let spec = capture.model().stack(stack)?;
    let has_experts = spec.layers.iter().any(|layer| layer.mlp.is_some_and(|mlp| mlp.experts.is_some()));
    let layers = &capture.stack(stack)?.layers;
    let is_recorded = layers.iter().any(|layer| layer.rows(Site::Router).is_some());
    match (is_recorded, has_experts) {
        (true, _) => None,
        (false, true) => Some("The choices of the routers were not recorded"),
        (false, false) => Some("No layer here has experts among which a router chooses"),
    }
}

/// The view of one layer.
#[derive(Clone, Debug)]
pub struct ExpertsScene {
    pub facts: Arc<ExpertsFacts>,
    /// Place of the layer among those that have experts.
    pub place: usize,
    /// The layer that was chosen, where it has no experts.
    other: Option<usize>,
    /// The token that is held.
    pub held: Option<usize>,
    pub options: ExpertsOptions,
    pub color_map: ColorMap,
}

impl ExpertsScene {
    pub fn new(
        facts: Arc<ExpertsFacts>,
        layer: usize,
        held: Option<usize>,
        (options, color_map): (ExpertsOptions, ColorMap),
    ) -> Self {
        let place = facts.place(layer);
        let other = (facts.layers[place].layer != layer).then_some(layer);
        let held = held.filter(|at| *at < facts.names.len());
        // Scores may be missing.
        let values = if facts.layers[place].scores.is_some() { options.values } else { RouterValues::Weights };
        Self { facts, place, other, held, options: ExpertsOptions { values }, color_map }
    }

    /// What the router of the layer did.
    pub fn routing(&self) -> &LayerRouting {
        &self.facts.layers[self.place]
    }

    pub fn load(&self) -> &ExpertLoad {
        &self.facts.loads[self.place]
    }

    /// Rows and columns of a part whose cells can be pointed at: experts by tokens, layers by experts.
    pub fn grid(&self, part: ExpertsPart) -> (usize, usize) {
        let n_experts = self.routing().n_experts();
        match part {
            ExpertsPart::Tokens => (n_experts, self.facts.names.len()),
            ExpertsPart::Load => (1, n_experts),
            ExpertsPart::Layers | ExpertsPart::Path => (self.facts.layers.len(), n_experts),
        }
    }

    /// The layer in words, and how many experts a token goes to there.
    fn choice_text(&self) -> String {
        let (routing, load) = (self.routing(), self.load());
        let each = load.tokens.iter().sum::<usize>() as f64 / load.n_tokens.max(1) as f64;
        let each = if each.fract() == 0.0 { (each as usize).to_string() } else { decimal_text(each) };
        let text = format!("Layer {}: each token to {each} of {}", routing.layer, counted(load.tokens.len(), "expert"));
        match self.other {
            Some(other) => format!("{text} (layer {other} has a single MLP)"),
            None => text,
        }
    }

    /// How evenly tokens are spread.
    fn load_text(&self) -> String {
        let load = self.load();
        let Some((expert, share)) = load.largest() else { return String::new() };
        let most = format!("most to expert {expert}: {}; even would be {}", share_text(share), share_text(load.even()));
        match load.n_idle() {
            0 => most,
            n => format!("{most}; {} without a token", counted(n, "expert")),
        }
    }
}

impl OfParts for ExpertsScene {
    type Part = ExpertsPart;

    fn parts(&self) -> Vec<ExpertsPart> {
        let parts = [
            (ExpertsPart::Tokens, true),
            (ExpertsPart::Load, true),
            (ExpertsPart::Layers, self.facts.layers.len() > 1),
            (ExpertsPart::Path, self.held.is_some() && self.facts.layers.len() > 1),
        ];
        parts.into_iter().filter(|(_, is_there)| *is_there).map(|(part, _)| part).collect()
    }

    fn draw_part(&self, part: ExpertsPart, rect: Rect, pen: &mut Pen<'_>) {
        self.draw_one(part, rect, pen);
    }

    fn said(&self) -> Captions {
        let short = format!("{}; {}", self.choice_text(), self.load_text());
        let how = "Framed cells are the experts that a token goes to; a share counts all tokens of the input, special ones \
                   too";
        Captions { full: joined([short.as_str(), how]), short }
    }
}
