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
