//! The branch of a block that treats every position for itself.
//!
//! Blocks, estimates and explanations ask [`Mlp`] and know no field of any: [`Dense`], and a choice among experts
//! ([`super::experts`]).

use std::fmt::Debug;

use candle_core::Tensor;

use super::branch::Added;
use crate::model::{
    ModelError,
    kernels::{self, Activation, Linear, Norm},
    run::{At, Run, Site},
};
use crate::spec::MlpSpec;

/// A map of each row of the stream by itself.
pub(crate) trait Mlp: Debug + Send + Sync {
    /// What it adds to the stream, where the run sees what is inside and may change it.
    ///
    /// # Shapes
    /// - `x`: `[n, d_model]`
    fn forward(&self, at: At, x: &Tensor, run: &mut Run<'_>) -> Result<Added<'_>, ModelError>;

    /// Its linear maps; `None` where they are not the same for all rows, or not all there is.
    fn maps(&self) -> Option<Maps<'_>>;

    /// Its sizes.
    fn spec(&self) -> MlpSpec;

    /// Width of the stream.
    fn d_model(&self) -> u64;

    /// Values that a site of its own has for each row; `None` for a site of something else.
    fn width_of(&self, site: Site) -> Option<u64>;

    /// Values inside it that exist at once for each row.
    fn values_at_once(&self) -> u64;

    /// Values inside it that a run keeps for each row until it is differentiated.
    fn values_for_gradient(&self) -> u64;

    /// Whether many rows may go through it in pieces with the bits of all at once.
    fn by_pieces(&self) -> bool {
        true
    }
}

/// The linear maps of an MLP, and what is between them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Maps<'a> {
    /// `[d_model, d_mlp]`, or `[d_model, 2 · d_mlp]` with the gate first.
    pub up: &'a Linear,
    pub activation: Activation,
    /// Whether one half of the hidden layer, activated, scales the other.
    pub gated: bool,
    /// `[d_mlp, d_model]`.
    pub down: &'a Linear,
}

/// The same with a norm of what the second map takes (EVA-02).
#[derive(Debug)]
pub(crate) struct NormedDense {
    pub dense: Dense,
    pub norm: Norm,
}

/// Two linear maps around a non-linearity; fields as in [`Maps`].
#[derive(Debug)]
pub(crate) struct Dense {
    pub up: Linear,
    pub activation: Activation,
    pub gated: bool,
    pub down: Linear,
}

impl Dense {
    pub const fn plain(up: Linear, activation: Activation, down: Linear) -> Self {
        Self { up, activation, gated: false, down }
    }

    /// Width of what `down` takes.
    fn d_hidden(&self) -> u64 {
        self.down.dims().map_or(0, |(d_in, _)| d_in as u64)
    }

    /// What `down` takes, `[n, d_mlp]`, of rows `[n, d_model]`.
    pub fn hidden(&self, x: &Tensor, run: &Run<'_>) -> Result<Tensor, ModelError> {
        Ok(if self.gated {
            kernels::gated(&self.up.forward(x)?, self.activation)?
        } else if run.is_differentiated() {
            kernels::activation(&self.up.forward(x)?, self.activation)?
        } else {
            self.up.forward_through(x, self.activation)?
        })
    }

    /// What the activation leaves, `[n, d_mlp]`, where the run sees a gate.
    fn activated(&self, at: At, x: &Tensor, run: &mut Run<'_>) -> Result<Tensor, ModelError> {
        if !(self.gated && run.needs(Site::MlpGate, at)) {
            return self.hidden(x, run);
        }
        let (up, d) = (self.up.forward(x)?, self.d_hidden() as usize);
        let gate = kernels::activation(&up.narrow(1, 0, d)?.contiguous()?, self.activation)?;
        Ok((run.at(Site::MlpGate, at, gate)? * up.narrow(1, d, d)?)?)
    }

    /// What `down` makes of its input, which the run sees.
    fn mapped_down(&self, at: At, hidden: Tensor, run: &mut Run<'_>) -> Result<Added<'_>, ModelError> {
        let hidden = run.at(Site::MlpHidden, at, hidden)?;
        let more = run.added_to_mlp(at, &hidden, self.down.dims()?.1)?;
        Ok(Added::of(&self.down, hidden).with(more))
    }

    /// Width of what `up` gives: both halves of a gated one.
    fn d_up(&self) -> u64 {
        self.up.dims().map_or(0, |(_, d_out)| d_out as u64)
    }
}

impl From<Dense> for Box<dyn Mlp> {
    fn from(dense: Dense) -> Self {
        Box::new(dense)
    }
}

impl Mlp for Dense {
    fn forward(&self, at: At, x: &Tensor, run: &mut Run<'_>) -> Result<Added<'_>, ModelError> {
        let hidden = self.activated(at, x, run)?;
        self.mapped_down(at, hidden, run)
    }

    fn maps(&self) -> Option<Maps<'_>> {
        let Self { up, activation, gated, down } = self;
        Some(Maps { up, activation: *activation, gated: *gated, down })
    }

    fn spec(&self) -> MlpSpec {
        let n_maps = if self.gated { 3 } else { 2 };
        let [d_model, d_hidden] = [self.d_model(), self.d_hidden()].map(|width| width as usize);
        MlpSpec { d_model, d_hidden, n_maps, experts: None }
    }

    fn d_model(&self) -> u64 {
        self.up.dims().map_or(0, |(d_in, _)| d_in as u64)
    }

    fn width_of(&self, site: Site) -> Option<u64> {
        match site {
            Site::MlpGate => Some(if self.gated { self.d_hidden() } else { 0 }),
            Site::MlpHidden => Some(self.d_hidden()),
            Site::RouterLogits | Site::Router => Some(0),
            Site::MlpOut => Some(self.d_model()),
            _ => None,
        }
    }

    fn values_at_once(&self) -> u64 {
        // The halves of a gated one, and their product.
        if self.gated { self.d_up() + self.d_up() / 2 } else { self.d_up() }
    }

    fn values_for_gradient(&self) -> u64 {
        // Before the activation and after it.
        2 * self.d_up()
    }
}

impl From<NormedDense> for Box<dyn Mlp> {
    fn from(normed: NormedDense) -> Self {
        Box::new(normed)
    }
}

impl Mlp for NormedDense {
    fn forward(&self, at: At, x: &Tensor, run: &mut Run<'_>) -> Result<Added<'_>, ModelError> {
        let hidden = self.norm.forward(&self.dense.activated(at, x, run)?)?;
        self.dense.mapped_down(at, hidden, run)
    }

    /// None: what the second map takes is not what the activation leaves.
    fn maps(&self) -> Option<Maps<'_>> {
        None
    }

    fn spec(&self) -> MlpSpec {
        self.dense.spec()
    }

    fn d_model(&self) -> u64 {
        self.dense.d_model()
    }

    fn width_of(&self, site: Site) -> Option<u64> {
        self.dense.width_of(site)
    }

    fn values_at_once(&self) -> u64 {
        self.dense.values_at_once() + self.dense.d_hidden()
    }

    fn values_for_gradient(&self) -> u64 {
        // Before the norm, too.
        self.dense.values_for_gradient() + self.dense.d_hidden()
    }
}
