//! Branch that adds to the residual stream.

use candle_core::{Result, Tensor};

use crate::model::kernels::Linear;

/// `map(x)`, and what changes of the run make of the map; or what is summed already.
pub(crate) struct Added<'a> {
    /// `None` for a sum, which is `x`.
    map: Option<&'a Linear>,
    /// `[n, d_in]`.
    x: Tensor,
    /// `[n, d_model]`.
    more: Option<Tensor>,
}

impl<'a> Added<'a> {
    pub const fn of(map: &'a Linear, x: Tensor) -> Self {
        Self { map: Some(map), x, more: None }
    }

    /// What several maps add, `[n, d_model]`.
    pub const fn sum(x: Tensor) -> Self {
        Self { map: None, x, more: None }
    }

    pub fn with(self, more: Option<Tensor>) -> Self {
        Self { more, ..self }
    }

    /// Whether the stream takes it up in one pass.
    pub const fn is_one_map(&self) -> bool {
        self.map.is_some() && self.more.is_none()
    }

    /// By itself, `[n, d_model]`.
    pub fn alone(&self) -> Result<Tensor> {
        let added = self.map.map_or_else(|| Ok(self.x.clone()), |map| map.forward(&self.x))?;
        match &self.more {
            Some(more) => added + more,
            None => Ok(added),
        }
    }

    /// The stream `[n, d_model]` with it.
    pub fn onto(&self, resid: &Tensor) -> Result<Tensor> {
        match self.map {
            Some(map) if self.more.is_none() => map.forward_add(&self.x, resid),
            _ => self.alone()? + resid,
        }
    }
}
