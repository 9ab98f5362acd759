//! Recurrent cells, and reading a sequence with them in both directions.

use candle_core::{Result, Tensor};

use crate::model::{ModelError, kernels::Linear, run::Run};

/// What is carried from one position to the next.
pub(crate) trait Cell {
    /// What is carried, of one position.
    type State: Clone;

    /// What it makes of its input alone, of all positions at once.
    fn input(&self) -> &Linear;
    /// What is carried into the first position, for inputs like `x`.
    fn start(&self, x: &Tensor) -> Result<Self::State>;
    /// What is carried on, given what [`Self::input`] made of one position, `[1, gates]`.
    fn step(&self, input: &Tensor, state: &Self::State) -> Result<Self::State>;
    /// What others see of it, `[1, d_state]`.
    fn shown(state: &Self::State) -> &Tensor;
}

/// A gated recurrent unit (Cho et al. 2014), with the reset gate on the state's product as in cuDNN and
/// PyTorch.
#[derive(Debug)]
pub(crate) struct Gru {
    /// Of the input, `[d_in, 3 · d_state]`: reset, update, new.
    pub input: Linear,
    /// Of the state, `[d_state, 3 · d_state]`.
    pub state: Linear,
}

impl Cell for Gru {
    type State = Tensor;

    fn input(&self) -> &Linear {
        &self.input
    }

    fn start(&self, x: &Tensor) -> Result<Tensor> {
        Tensor::zeros((1, self.state.dims()?.0), x.dtype(), x.device())
    }

    fn step(&self, input: &Tensor, state: &Tensor) -> Result<Tensor> {
        let d = state.dim(1)?;
        let (x, h) = (input, self.state.forward(state)?);
        let gate = |idx: usize| sigmoid(&(x.narrow(1, idx * d, d)? + h.narrow(1, idx * d, d)?)?);
        let (reset, update) = (gate(0)?, gate(1)?);
        let new = (x.narrow(1, 2 * d, d)? + (reset * h.narrow(1, 2 * d, d)?)?)?.tanh()?;
        &new + (update * (state - &new)?)?
    }

    fn shown(state: &Tensor) -> &Tensor {
        state
    }
}

/// Long short-term memory (Hochreiter and Schmidhuber 1997; forget gates: Gers et al. 2000).
#[derive(Debug)]
pub(crate) struct Lstm {
    /// Of the input, `[d_in, 4 · d_state]`: input, forget, new, output.
    pub input: Linear,
    /// Of the state, `[d_state, 4 · d_state]`.
    pub state: Linear,
}

/// State and cell of an [`Lstm`], `[1, d_state]` each.
#[derive(Clone, Debug)]
pub(crate) struct Remembered {
    state: Tensor,
    cell: Tensor,
}

impl Cell for Lstm {
    type State = Remembered;

    fn input(&self) -> &Linear {
        &self.input
    }

    fn start(&self, x: &Tensor) -> Result<Remembered> {
        let zeros = Tensor::zeros((1, self.state.dims()?.0), x.dtype(), x.device())?;
        Ok(Remembered { state: zeros.clone(), cell: zeros })
    }

    fn step(&self, input: &Tensor, Remembered { state, cell }: &Remembered) -> Result<Remembered> {
        let d = state.dim(1)?;
        let gates = (input + self.state.forward(state)?)?;
        let part = |idx: usize| gates.narrow(1, idx * d, d);
        let entered = (sigmoid(&part(0)?)? * part(2)?.tanh()?)?;
        let cell = ((sigmoid(&part(1)?)? * cell)? + entered)?;
        Ok(Remembered { state: (sigmoid(&part(3)?)? * cell.tanh()?)?, cell })
    }

    fn shown(state: &Remembered) -> &Tensor {
        &state.state
    }
}

/// The logistic function, made of what has a gradient.
fn sigmoid(x: &Tensor) -> Result<Tensor> {
    ((x * 0.5)?.tanh()? * 0.5)? + 0.5
}

/// The states of two cells, one of which reads from the end: forward and backward side by side. Asks `run`
/// between positions whether to go on.
///
/// # Shapes
/// - `x`: `[n, d_in]`, `n` at least 1
/// - result: `[n, 2 · d_state]`
pub(crate) fn both_ways<C: Cell>(
    forward: &C,
    backward: &C,
    x: &Tensor,
    run: &Run<'_>,
) -> std::result::Result<Tensor, ModelError> {
    let n = x.dim(0)?;
    let read = |cell: &C, order: &mut dyn Iterator<Item = usize>| -> std::result::Result<Vec<Tensor>, ModelError> {
        let gates = cell.input().forward(x)?;
        let mut state = cell.start(x)?;
        let mut states = Vec::with_capacity(n);
        for position in order {
            run.checkpoint()?;
            state = cell.step(&gates.narrow(0, position, 1)?, &state)?;
            states.push(C::shown(&state).clone());
        }
        Ok(states)
    };
    let ahead = read(forward, &mut (0..n))?;
    let mut back = read(backward, &mut (0..n).rev())?;
    back.reverse();
    Ok(Tensor::cat(&[Tensor::cat(&ahead, 0)?, Tensor::cat(&back, 0)?], 1)?)
}

#[cfg(test)]
mod tests {
    use candle_core::Device;

    use super::*;

    fn map(weights: &[f32], bias: &[f32]) -> Linear {
        let device = &Device::Cpu;
        let weight = Tensor::from_slice(weights, (1, weights.len()), device).unwrap();
        Linear::new(weight, Some(Tensor::from_slice(bias, bias.len(), device).unwrap())).unwrap()
    }

    /// The state of one unit after it has read each number.
    fn read<C: Cell>(cell: &C, numbers: &[f32]) -> Vec<(C::State, f32)> {
        let x = Tensor::from_slice(numbers, (numbers.len(), 1), &Device::Cpu).unwrap();
        let gates = cell.input().forward(&x).unwrap();
        let mut state = cell.start(&x).unwrap();
        let step = |position: usize| {
            state = cell.step(&gates.narrow(0, position, 1).unwrap(), &state).unwrap();
            (state.clone(), C::shown(&state).to_vec2::<f32>().unwrap()[0][0])
        };
        (0..numbers.len()).map(step).collect()
    }

    // Numbers of `torch.nn.GRU` and `torch.nn.LSTM` with one unit, in double precision.

    #[test]
    fn a_gru_resets_the_product_of_the_state_as_pytorch_does() {
        let cell =
            Gru { input: map(&[0.5, -0.4, 0.8], &[0.1, 0.2, 0.0]), state: map(&[0.2, 0.6, -0.5], &[0.0, 0.0, 0.3]) };
        let states = read(&cell, &[1.0, -1.0]);
        assert!((states[0].1 - 0.417_287_87).abs() < 1e-6 && (states[1].1 - 0.100_198_63).abs() < 1e-6, "{states:?}");
    }

    #[test]
    fn an_lstm_remembers_in_its_cell_what_pytorch_does() {
        let cell = Lstm {
            input: map(&[0.5, -0.4, 0.8, 0.3], &[0.1, 0.5, 0.0, -0.2]),
            state: map(&[0.2, 0.6, -0.5, 0.1], &[0.0; 4]),
        };
        let states = read(&cell, &[1.0, -1.0]);
        let cells = states.iter().map(|(state, _)| state.cell.to_vec2::<f32>().unwrap()[0][0]);
        let expected = [(0.428_739_53, 0.212_231_96), (0.019_709_69, 0.007_538_79)];
        for ((cell, (_, state)), expected) in cells.zip(&states).zip(expected) {
            assert!((cell - expected.0).abs() < 1e-6 && (state - expected.1).abs() < 1e-6, "{states:?}");
        }
    }
}
