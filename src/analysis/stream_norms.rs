//! Norms of the residual stream by layer, and of what is added to it.

use crate::{
    capture::{Capture, Matrix, Site},
    ids::StackKind,
};

/// Norms of all tokens at one place of the stream.
#[derive(Clone, Debug, PartialEq)]
pub struct NormsAt {
    pub site: Site,
    pub layer: usize,
    /// Layers that lie behind it: halves are between attention and MLP, and behind the final norm.
    pub depth: f64,
    /// By token.
    pub norms: Vec<f64>,
}

impl NormsAt {
    fn of(rows: &Matrix, site: Site, layer: usize, depth: f64) -> Self {
        let norm = |row: &[f32]| row.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
        Self { site, layer, depth, norms: rows.rows().map(norm).collect() }
    }

    pub fn mean(&self) -> f64 {
        self.norms.iter().sum::<f64>() / self.norms.len().max(1) as f64
    }

    pub fn least(&self) -> f64 {
        self.norms.iter().copied().fold(f64::INFINITY, f64::min)
    }

    pub fn most(&self) -> f64 {
        self.norms.iter().copied().fold(0.0, f64::max)
    }
}

/// Norms along one stack, as far as they were recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamNorms {
    /// The stream before each layer, between its parts, behind the last, and behind the final norm.
    pub stream: Vec<NormsAt>,
    /// What attention adds, and what MLPs add.
    pub added: [Vec<NormsAt>; 2],
}

impl StreamNorms {
    /// Of a stack with a stream of its own; `None` where it was not recorded.
    pub fn of(capture: &Capture, stack: StackKind) -> Option<Self> {
        let recorded = capture.stack(stack)?;
        let n_layers = recorded.layers.len();
        let (mut stream, mut attention, mut mlp) = (Vec::new(), Vec::new(), Vec::new());
        for (layer, sites) in recorded.layers.iter().enumerate() {
            let add = |to: &mut Vec<NormsAt>, site: Site, behind: f64| {
                to.extend(sites.rows(site).map(|rows| NormsAt::of(rows, site, layer, layer as f64 + behind)));
            };
            add(&mut stream, Site::ResidPre, 0.0);
            add(&mut stream, Site::ResidMid, 0.5);
            add(&mut attention, Site::AttnOut, 0.5);
            add(&mut mlp, Site::MlpOut, 1.0);
            // That of any other layer enters the next one.
            if layer + 1 == n_layers {
                add(&mut stream, Site::ResidPost, 1.0);
            }
        }
        let last = recorded.resid_final();
        stream.extend(last.map(|rows| NormsAt::of(rows, Site::ResidFinal, n_layers, n_layers as f64 + 0.5)));
        (!stream.is_empty()).then_some(Self { stream, added: [attention, mlp] })
    }

    /// All of them, the stream first.
    pub fn all(&self) -> impl Iterator<Item = &NormsAt> {
        self.stream.iter().chain(self.added.iter().flatten())
    }
}
