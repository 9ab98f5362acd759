//! Experts in place of an MLP (mixture of experts): a router gives each row of the stream to a few of many MLPs, and
//! what they add is summed by its weights.

use candle_core::{Result as CandleResult, Tensor};

use super::{
    branch::Added,
    mlp::{Dense, Maps, Mlp},
    routing::Routing,
};
use crate::{
    model::{
        ModelError,
        kernels::{self, Linear, to_host},
        run::{At, Run, Site},
    },
    spec::{Experts, MlpSpec},
};

/// A router and its experts.
#[derive(Debug)]
pub(crate) struct Mixture {
    /// `[d_model, n_experts]`.
    pub router: Linear,
    pub routing: Routing,
    pub experts: Vec<Dense>,
    /// An expert that every row goes to, and the map to its gate, `[d_model, 1]`, where it has one.
    pub shared: Option<(Dense, Option<Linear>)>,
    /// How hidden layers of experts are made of gate and map up where those are clamped (gpt-oss).
    pub clamp: Option<GateClamp>,
    /// Factor on what all of them add.
    pub added: f32,
}

/// `(min(max(up, −limit), limit) + 1) · g · σ(slope · g)` with `g = min(gate, limit)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct GateClamp {
    pub limit: f64,
    pub slope: f64,
}

impl GateClamp {
    /// # Shapes
    /// - `x`: `[n, 2 · d]`, gate first
    /// - result: `[n, d]`
    fn apply(self, x: &Tensor) -> CandleResult<Tensor> {
        let d = x.dim(1)? / 2;
        let gate = x.narrow(1, 0, d)?.minimum(self.limit)?;
        let up = x.narrow(1, d, d)?.minimum(self.limit)?.maximum(-self.limit)?;
        let sigmoid = ((gate.affine(-self.slope, 0.0)?.exp()? + 1.0)?).recip()?;
        (up + 1.0)? * (gate * sigmoid)?
    }
}

impl Mixture {
    /// What the experts add to the rows `x`, `[n, d_model]`, by the weights `[n, n_experts]`.
    fn sum(&self, x: &Tensor, weights: &Tensor, run: &Run<'_>) -> Result<Tensor, ModelError> {
        let (n, n_experts) = weights.dims2()?;
        let values = to_host(&weights.contiguous()?)?;
        let by_expert = weights.t()?.contiguous()?;
        let mut sum = x.zeros_like()?;
        for (idx, expert) in self.experts.iter().enumerate() {
            let rows: Vec<u32> =
                (0..n).filter(|row| values[row * n_experts + idx] != 0.0).map(|row| row as u32).collect();
            if rows.is_empty() {
                continue;
            }
            run.checkpoint()?;
            let rows = Tensor::new(rows.as_slice(), x.device())?;
            let entering = x.index_select(&rows, 0)?;
            let hidden = match self.clamp {
                Some(clamp) => clamp.apply(&expert.up.forward(&entering)?)?,
                None => expert.hidden(&entering, run)?,
            };
            let own = by_expert.get(idx)?.index_select(&rows, 0)?.unsqueeze(1)?;
            let added = expert.down.forward(&hidden)?.broadcast_mul(&own)?;
            sum = sum.index_add(&rows, &added, 0)?;
        }
        Ok(sum)
    }
}

impl Mlp for Mixture {
    fn forward(&self, at: At, x: &Tensor, run: &mut Run<'_>) -> Result<Added<'_>, ModelError> {
        let logits = run.at(Site::RouterLogits, at, self.router.forward(x)?)?;
        let weights = run.at(Site::Router, at, self.routing.weights(&logits)?)?;
        let mut sum = self.sum(x, &weights, run)?;
        if let Some((shared, gate)) = &self.shared {
            let mut added = shared.down.forward(&shared.hidden(x, run)?)?;
            if let Some(gate) = gate {
                added = added.broadcast_mul(&kernels::sigmoid(&gate.forward(x)?)?)?;
            }
            sum = (sum + added)?;
        }
        Ok(Added::sum(if self.added == 1.0 { sum } else { (sum * f64::from(self.added))? }))
    }

    fn maps(&self) -> Option<Maps<'_>> {
        None
    }

    fn spec(&self) -> MlpSpec {
        let width = |expert: &Dense| expert.spec().d_hidden;
        let each = self.experts.first().map_or(0, width);
        MlpSpec {
            d_model: self.d_model() as usize,
            d_hidden: self.routing.n_chosen * each + self.shared.as_ref().map_or(0, |(shared, _)| width(shared)),
            n_maps: 3,
            experts: Some(Experts {
                n: self.experts.len(),
                n_chosen: self.routing.n_chosen,
                is_shared: self.shared.is_some(),
            }),
        }
    }

    fn d_model(&self) -> u64 {
        self.router.dims().map_or(0, |(d_in, _)| d_in as u64)
    }

    fn width_of(&self, site: Site) -> Option<u64> {
        match site {
            Site::RouterLogits | Site::Router => Some(self.experts.len() as u64),
            // Each expert has its own, for its rows alone.
            Site::MlpGate | Site::MlpHidden => Some(0),
            Site::MlpOut => Some(self.d_model()),
            _ => None,
        }
    }

    fn values_at_once(&self) -> u64 {
        // All rows may go to one expert: its hidden layer, its rows of the stream and the sums.
        let widest = self.experts.first().map_or(0, Mlp::values_at_once);
        let shared = self.shared.as_ref().map_or(0, |(shared, _)| shared.values_at_once());
        widest.max(shared) + 4 * self.d_model() + 4 * self.experts.len() as u64
    }

    fn values_for_gradient(&self) -> u64 {
        let each = self.experts.first().map_or(0, Mlp::values_for_gradient) + 2 * self.d_model();
        let shared = self.shared.as_ref().map_or(0, |(shared, _)| shared.values_for_gradient() + self.d_model());
        // Every sum on the way is a value of its own.
        let sums = self.experts.len() as u64 * self.d_model();
        self.routing.n_chosen as u64 * each + shared + sums + 4 * self.experts.len() as u64
    }

    fn by_pieces(&self) -> bool {
        false
    }
}
