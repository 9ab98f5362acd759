//! Load of experts over many inputs as a figure.

use emath::Rect;

use super::{
    page::Captions,
    pen::Pen,
    views::{experts::draw_loads, joined, parts::OfParts},
};
use crate::{analysis::routing::ExpertLoad, raster::ColorMap, text::counted};

/// One model over many inputs.
#[derive(Clone, Debug)]
pub struct ExpertLoadScene {
    /// What the model and its inputs are called.
    pub model: String,
    pub corpus: String,
    pub n_inputs: usize,
    /// Each layer that has experts.
    pub layers: Vec<usize>,
    pub loads: Vec<ExpertLoad>,
}

impl OfParts for ExpertLoadScene {
    type Part = ();

    fn parts(&self) -> Vec<()> {
        vec![()]
    }

    fn draw_part(&self, (): (), rect: Rect, pen: &mut Pen<'_>) {
        draw_loads((&self.layers, &self.loads), ColorMap::default(), rect, pen);
    }

    fn said(&self) -> Captions {
        let short = format!("{}, {} of {}", self.model, counted(self.n_inputs, "input"), self.corpus);
        let how = "The share of all tokens, special ones too, that each expert gets; shares of a layer sum to the experts \
                   that a token goes to";
        Captions { full: joined([&*short, how]), short }
    }
}
