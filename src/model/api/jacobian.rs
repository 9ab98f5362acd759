//! Jacobians of the last stream by what enters it earlier, averaged over positions of one input.

use std::ops::Range;

use candle_core::Tensor;
use rayon::prelude::*;

use super::Model;
use crate::{
    model::{
        ModelError,
        input::Encoded,
        network::Body,
        run::{At, Control, Progress, Run, RunPlan, Site, Stage, Tapped, Taps},
    },
    spec::Modality,
};

/// Rows between two looks at whether to go on.
const ROWS_AT_ONCE: usize = 16;

/// Means over positions `t` of `Σ_t′ ∂h[t′]/∂x[t]`, where `h` is the stream behind the last layer, before the final norm,
/// and `t′` runs over the same positions. Each is `[d_model, d_model]`, row by row; rows are outputs.
#[derive(Clone, Debug, PartialEq)]
pub struct MeanJacobians {
    /// By the stream behind each layer but the last.
    pub streams: Vec<Vec<f64>>,
    /// By what the attention of each layer adds to the stream.
    pub attention: Vec<Vec<f64>>,
}

impl Model {
    /// Number of layers between which the stream has Jacobians.
    ///
    /// # Errors
    /// When the model is no single stack that reads text.
    pub fn n_stream_layers(&self) -> Result<usize, ModelError> {
        let refuse = |details: &str| {
            let summary = "a Jacobian lens needs a model of one stack of layers that reads text".to_owned();
            Err(ModelError::Input { summary, details: details.to_owned() })
        };
        match &self.network.body {
            Body::Single(tower) if tower.stack.blocks.len() < 2 => refuse("This one has a single layer"),
            Body::Single(_) if !matches!(self.spec.modality, Modality::Text(_)) => refuse("This one sees pictures"),
            Body::Single(tower) => Ok(tower.stack.blocks.len()),
            Body::EncoderDecoder { .. } | Body::TwoTowers { .. } => {
                refuse("This one has two stacks: its stream is not carried from the input to the output")
            }
            Body::TwoStreams(_) => {
                refuse("This one has two streams, which take in those of their towers layer by layer")
            }
            Body::Recurrent(_) | Body::Attentive(_) | Body::Reader(_) => refuse("This one has no residual stream"),
        }
    }

    /// The mean Jacobians of an input over these positions, by one backward pass for each number of the stream's width.
    ///
    /// # Errors
    /// When the model has no such stream or the input no such positions, or `control` says stop.
    pub fn mean_jacobians(
        &self,
        input: &Encoded,
        positions: Range<usize>,
        control: &Control<'_>,
    ) -> Result<MeanJacobians, ModelError> {
        let n_layers = self.n_stream_layers()?;
        let (plan, taps) = (RunPlan::silent(), Taps::of(&[Site::AttnOut, Site::ResidPost]));
        self.check_memory(input, &plan, taps)?;
        let width = self.spec.d_model;
        self.engine.install(|| {
            let mut run = Run::new(&plan, &self.spec.stacks, taps, control);
            self.network.forward(input, &mut run)?;
            let tapped = run.finish()?.tapped;
            let of = |site: Site, layer: usize| {
                // What stands beside attention adds to the stream as well, and is not asked for.
                let is_own = |at: At| at.layer == layer && !at.stack.is_guest();
                let found = tapped.iter().find(|tapped| tapped.site == site && is_own(tapped.at));
                found.ok_or_else(|| ModelError::internal("a layer has no stream"))
            };
            let last = of(Site::ResidPost, n_layers - 1)?.value.as_ref();
            let last = last.ok_or_else(|| ModelError::internal("a stream came row by row"))?;
            if positions.is_empty() || positions.end > last.dim(0)? {
                return Err(ModelError::Edit(format!("there are no positions {positions:?}")));
            }
            let read = last.narrow(0, positions.start, positions.len())?;
            let streams = (0..n_layers - 1).map(|layer| of(Site::ResidPost, layer));
            let attention = (0..n_layers).map(|layer| of(Site::AttnOut, layer));
            let sources: Vec<&Tapped> = streams.chain(attention).collect::<Result<_, _>>()?;
            let mut found = vec![Vec::with_capacity(width * width); sources.len()];
            let rows: Vec<usize> = (0..width).collect();
            for rows in rows.chunks(ROWS_AT_ONCE) {
                control(Progress { stage: Stage::Differentiate, done: rows[0], total: width })?;
                let each = rows.par_iter().map(|row| row_of(&read, *row, &sources, &positions));
                for row in each.collect::<Result<Vec<_>, ModelError>>()? {
                    found.iter_mut().zip(row).for_each(|(found, row)| found.extend(row));
                }
            }
            let attention = found.split_off(n_layers - 1);
            Ok(MeanJacobians { streams: found, attention })
        })
    }
}

/// The mean gradient by each source of the sum over positions of one number of the stream `[positions, d_model]`.
fn row_of(
    read: &Tensor,
    row: usize,
    sources: &[&Tapped],
    positions: &Range<usize>,
) -> Result<Vec<Vec<f64>>, ModelError> {
    let grads = read.narrow(1, row, 1)?.sum_all()?.backward()?;
    let mean = |source: &&Tapped| -> Result<Vec<f64>, ModelError> {
        let width = source.zeros.dim(1)?;
        let mut sums = vec![0.0; width];
        if let Some(grad) = grads.get(&source.zeros) {
            let grad =
                grad.narrow(0, positions.start, positions.len())?.contiguous()?.flatten_all()?.to_vec1::<f32>()?;
            for values in grad.chunks_exact(width.max(1)) {
                sums.iter_mut().zip(values).for_each(|(sum, value)| *sum += f64::from(*value));
            }
        }
        let n = positions.len() as f64;
        for sum in &mut sums {
            *sum /= n;
        }
        Ok(sums)
    };
    sources.iter().map(mean).collect()
}
