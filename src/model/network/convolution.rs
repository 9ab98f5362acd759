//! A convolution over neighbouring tokens beside the first layer (DeBERTa-v2's xlarge and xxlarge).

use candle_core::{Result, Tensor};

use super::pass::PackedInput;
use crate::model::kernels::{self, Activation, Linear, Norm};

/// What neighbouring embeddings add to the first layer's output.
#[derive(Debug)]
pub(crate) struct Convolution {
    /// `[width · d_model, d_model]`: the vectors of neighbours side by side, first to last.
    pub map: Linear,
    /// Neighbours that are looked at, the token itself in the middle: an odd number.
    pub width: usize,
    pub activation: Activation,
    pub norm: Norm,
}

impl Convolution {
    /// The map of a convolution's weights `[d_model, d_model / n_groups, width]`: outputs of a group read the
    /// inputs of that group alone.
    pub fn map_of(kernel: &Tensor, bias: Tensor) -> Result<Linear> {
        let (d_out, d_group, width) = kernel.dims3()?;
        let n_groups = d_out / d_group.max(1);
        // `[width, d_group, d_out]`, one column per output.
        let columns = kernel.permute((2, 1, 0))?.contiguous()?;
        let rows = (0..n_groups).map(|group| {
            let n = d_out / n_groups;
            let own = columns.narrow(2, group * n, n)?;
            own.pad_with_zeros(2, group * n, d_out - (group + 1) * n)
        });
        let map = Tensor::cat(&rows.collect::<Result<Vec<_>>>()?, 1)?.reshape((width * d_out, d_out))?;
        Linear::new(map, Some(bias))
    }

    /// [`Self::join`] of each packed input; of the whole where nothing is packed.
    pub fn join_parts(&self, embedded: &Tensor, stream: &Tensor, parts: &[PackedInput]) -> Result<Tensor> {
        if parts.is_empty() {
            return self.join(embedded, stream);
        }
        let joined = parts.iter().map(|PackedInput { rows, .. }| {
            self.join(&embedded.narrow(0, rows.start, rows.len())?, &stream.narrow(0, rows.start, rows.len())?)
        });
        Tensor::cat(&joined.collect::<Result<Vec<_>>>()?, 0)
    }

    /// The first layer's output `stream` with what it adds, normed; tokens beyond the ends count as zero.
    ///
    /// # Shapes
    /// - `embedded`, `stream`, result: `[n, d_model]`
    pub fn join(&self, embedded: &Tensor, stream: &Tensor) -> Result<Tensor> {
        let (n, reach) = (embedded.dim(0)?, self.width / 2);
        let padded = embedded.pad_with_zeros(0, reach, reach)?;
        let neighbours = (0..self.width).map(|offset| padded.narrow(0, offset, n)).collect::<Result<Vec<_>>>()?;
        let added = self.map.forward(&Tensor::cat(&neighbours, 1)?)?;
        self.norm.forward(&(stream + kernels::activation(&added, self.activation)?)?)
    }
}
