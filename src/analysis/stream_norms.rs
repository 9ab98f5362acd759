//! Norms of the residual stream by layer, and of what is added to it.

use crate::{
    capture::{Capture, Matrix, Site},
    ids::StackKind,
};

/// Norms of all tokens at one place of the stream.
#[derive(Clone, Debug, PartialEq)]
pub struct NormsAt {
    pub stack: StackKind,
    pub site: Site,
    pub layer: usize,
    /// Layers that lie behind it: halves are between attention and MLP, and behind the final norm.
    pub depth: f64,
    /// By token.
    pub norms: Vec<f64>,
}

impl NormsAt {
    fn of(rows: &Matrix, (stack, site): (StackKind, Site), layer: usize, depth: f64) -> Self {
        let norm = |row: &[f32]| row.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
        Self { stack, site, layer, depth, norms: rows.rows().map(norm).collect() }
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
    /// What attention adds, what attention to another sequence adds, and what MLPs add.
    pub added: [Vec<NormsAt>; 3],
}

impl StreamNorms {
    /// Of a stack with a stream of its own; `None` where it was not recorded.
    pub fn of(capture: &Capture, stack: StackKind) -> Option<Self> {
        let recorded = capture.stack(stack)?;
        let n_layers = recorded.layers.len();
        let cross = stack.cross().and_then(|kind| capture.stack(kind));
        let (mut stream, mut added) = (Vec::new(), [const { Vec::new() }; 3]);
        for (layer, sites) in recorded.layers.iter().enumerate() {
            let at = |site: Site, behind: f64| {
                let rows = sites.rows(site)?;
                Some(NormsAt::of(rows, (stack, site), layer, layer as f64 + behind))
            };
            stream.extend(at(Site::ResidPre, 0.0));
            stream.extend(at(Site::ResidMid, 0.5));
            // That of any other layer enters the next one.
            stream.extend(at(Site::ResidPost, 1.0).filter(|_| layer + 1 == n_layers));
            let [attention, between, mlp] = &mut added;
            attention.extend(at(Site::AttnOut, if cross.is_some() { 0.25 } else { 0.5 }));
            between.extend(cross.and_then(|cross| {
                let rows = cross.layers.get(layer)?.rows(Site::AttnOut)?;
                Some(NormsAt::of(rows, (cross.kind, Site::AttnOut), layer, layer as f64 + 0.5))
            }));
            mlp.extend(at(Site::MlpOut, 1.0));
        }
        let towers = capture.architecture().map_or(&[][..], |architecture| &architecture.towers);
        let has_norm = towers.iter().find(|tower| tower.stack == stack).is_none_or(|tower| tower.has_final_norm);
        // Without a final norm it is the stream behind the last layer.
        let depth = n_layers as f64 + if has_norm { 0.5 } else { 0.0 };
        let last = recorded.resid_final().filter(|_| stream.last().is_none_or(|at| at.depth < depth));
        stream.extend(last.map(|rows| NormsAt::of(rows, (stack, Site::ResidFinal), n_layers, depth)));
        (!stream.is_empty()).then_some(Self { stream, added })
    }

    /// Whether it ends behind a final norm.
    pub fn ends_normed(&self) -> bool {
        self.stream.last().is_some_and(|at| at.depth.fract() != 0.0 && at.site == Site::ResidFinal)
    }

    /// All of them, the stream first.
    pub fn all(&self) -> impl Iterator<Item = &NormsAt> {
        self.stream.iter().chain(self.added.iter().flatten())
    }
}
