//! Branch that adds to the residual stream.

use candle_core::{Result, Tensor};

use crate::model::kernels::Linear;

/// `map(x)`, and what changes of the run make of the map.
pub(crate) struct Added<'a> {
    map: &'a Linear,
    /// `[n, d_in]`.
    x: Tensor,
    /// `[n, d_model]`.
    more: Option<Tensor>,
}

impl<'a> Added<'a> {
    pub const fn of(map: &'a Linear, x: Tensor) -> Self {
        Self { map, x, more: None }
    }

    pub fn with(self, more: Option<Tensor>) -> Self {
        Self { more, ..self }
    }

    /// Whether the stream takes it up in one pass.
    pub const fn is_one_map(&self) -> bool {
        self.more.is_none()
    }

    /// By itself, `[n, d_model]`.
    pub fn alone(&self) -> Result<Tensor> {
        let added = self.map.forward(&self.x)?;
        match &self.more {
            Some(more) => added + more,
            None => Ok(added),
        }
    }

    /// The stream `[n, d_model]` with it.
    pub fn onto(&self, resid: &Tensor) -> Result<Tensor> {
        if self.is_one_map() { self.map.forward_add(&self.x, resid) } else { self.alone()? + resid }
    }
}
