//! Recurrent cells, and reading a sequence with them in both directions.

use std::collections::BTreeMap;

use candle_core::{Result, Tensor};

use crate::{
    capture::Way,
    ids::Side,
    model::{
        ModelError,
        kernels::Linear,
        run::{At, Run, Site, SiteRow},
    },
};

/// What is carried from one position to the next.
pub(crate) trait Cell {
    /// What is carried, of one position.
    type State: Clone;

    /// What it makes of its input alone, of all positions at once.
    fn input(&self) -> &Linear;
    /// What is carried into the first position, for inputs like `x`.
    fn start(&self, x: &Tensor) -> Result<Self::State>;
    /// The gates after their functions, side by side, given what [`Self::input`] made of one position.
    ///
    /// # Shapes
    /// - `input`, result: `[1, n_gates · d_state]`
    fn gates(&self, input: &Tensor, state: &Self::State) -> Result<Tensor>;
    /// What is carried on, by gates.
    fn carried(gates: &Tensor, state: &Self::State) -> Result<Self::State>;
    /// What others see of it, `[1, d_state]`.
    fn shown(state: &Self::State) -> &Tensor;
    /// The same with another part that is seen.
    fn with_shown(state: Self::State, shown: Tensor) -> Self::State;
    /// What is remembered beside it, `[1, d_state]`.
    fn remembered(state: &Self::State) -> Option<&Tensor>;
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

    fn gates(&self, input: &Tensor, state: &Tensor) -> Result<Tensor> {
        let d = state.dim(1)?;
        let (x, h) = (input, self.state.forward(state)?);
        let gate = |idx: usize| sigmoid(&(x.narrow(1, idx * d, d)? + h.narrow(1, idx * d, d)?)?);
        let (reset, update) = (gate(0)?, gate(1)?);
        let new = (x.narrow(1, 2 * d, d)? + (&reset * h.narrow(1, 2 * d, d)?)?)?.tanh()?;
        Tensor::cat(&[reset, update, new], 1)
    }

    fn carried(gates: &Tensor, state: &Tensor) -> Result<Tensor> {
        let d = state.dim(1)?;
        let (update, new) = (gates.narrow(1, d, d)?, gates.narrow(1, 2 * d, d)?);
        &new + (update * (state - &new)?)?
    }

    fn shown(state: &Tensor) -> &Tensor {
        state
    }

    fn with_shown(_: Tensor, shown: Tensor) -> Tensor {
        shown
    }

    fn remembered(_: &Tensor) -> Option<&Tensor> {
        None
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

    fn gates(&self, input: &Tensor, Remembered { state, .. }: &Remembered) -> Result<Tensor> {
        let d = state.dim(1)?;
        let gates = (input + self.state.forward(state)?)?;
        let part = |idx: usize| gates.narrow(1, idx * d, d);
        Tensor::cat(&[sigmoid(&part(0)?)?, sigmoid(&part(1)?)?, part(2)?.tanh()?, sigmoid(&part(3)?)?], 1)
    }

    fn carried(gates: &Tensor, Remembered { cell, .. }: &Remembered) -> Result<Remembered> {
        let d = cell.dim(1)?;
        let part = |idx: usize| gates.narrow(1, idx * d, d);
        let entered = (part(0)? * part(2)?)?;
        let cell = ((part(1)? * cell)? + entered)?;
        Ok(Remembered { state: (part(3)? * cell.tanh()?)?, cell })
    }

    fn shown(state: &Remembered) -> &Tensor {
        &state.state
    }

    fn with_shown(Remembered { cell, .. }: Remembered, state: Tensor) -> Remembered {
        Remembered { state, cell }
    }

    fn remembered(state: &Remembered) -> Option<&Tensor> {
        Some(&state.cell)
    }
}

/// The logistic function, made of what has a gradient.
fn sigmoid(x: &Tensor) -> Result<Tensor> {
    ((x * 0.5)?.tanh()? * 0.5)? + 0.5
}

/// The steps of what reads or writes one sequence, as the run sees and records them.
pub(crate) struct Steps {
    /// Where it is; `None` where the run is not to see it.
    at: Option<At>,
    /// How many tokens the sequence has.
    n: usize,
    /// Rows that are to be recorded, each with its position.
    rows: BTreeMap<Site, BTreeMap<usize, Tensor>>,
}

impl Steps {
    /// Those of the `n` tokens of a side; none is done.
    pub const fn of(side: Side, n: usize) -> Self {
        Self { at: Some(At::entry(side.stack())), n, rows: BTreeMap::new() }
    }

    /// Steps that the run does not see.
    pub const fn unseen() -> Self {
        Self { at: None, n: 0, rows: BTreeMap::new() }
    }

    /// What is carried on from a position, given what the cell made of its input.
    pub fn step<C: Cell>(
        &mut self,
        (cell, way): (&C, Way),
        (idx, input): (usize, &Tensor),
        state: &C::State,
        run: &mut Run<'_>,
    ) -> std::result::Result<C::State, ModelError> {
        let gates = cell.gates(input, state)?;
        let carried = C::carried(&gates, state)?;
        let Some(at) = self.at else { return Ok(carried) };
        let shown = run.row(way.state(), at, SiteRow { idx, of: self.n }, C::shown(&carried).clone())?;
        let made = [(way.gates(), Some(&gates)), (way.cell(), C::remembered(&carried)), (way.state(), Some(&shown))];
        for (site, row) in made {
            if let Some(row) = row.filter(|_| run.records(site, at)) {
                self.rows.entry(site).or_default().insert(idx, row.clone());
            }
        }
        Ok(C::with_shown(carried, shown))
    }

    /// Keeps what is wanted of all steps; zeros where a token was not read.
    pub fn record(self, run: &mut Run<'_>) -> std::result::Result<(), ModelError> {
        let Some(at) = self.at else { return Ok(()) };
        for (site, rows) in self.rows {
            let Some(nothing) = rows.values().next().map(Tensor::zeros_like).transpose()? else { continue };
            let all: Vec<&Tensor> = (0..self.n).map(|idx| rows.get(&idx).unwrap_or(&nothing)).collect();
            run.record(site, at, &Tensor::cat(&all, 0)?)?;
        }
        Ok(())
    }
}

/// The states of two cells, one of which reads from the end: forward and backward side by side. Asks `run`
/// between positions whether to go on.
///
/// # Shapes
/// - `x`: `[positions.len(), d_in]`, at least one: what stands at these positions of the sequence of `steps`
/// - result: `[positions.len(), 2 · d_state]`
pub(crate) fn both_ways<C: Cell>(
    [forward, backward]: [&C; 2],
    x: &Tensor,
    positions: &[usize],
    (steps, run): (&mut Steps, &mut Run<'_>),
) -> std::result::Result<Tensor, ModelError> {
    let n = positions.len();
    let mut read = |(cell, way): (&C, Way), order: &mut dyn Iterator<Item = usize>| {
        let inputs = cell.input().forward(x)?;
        let mut state = cell.start(x)?;
        let mut states = Vec::with_capacity(n);
        for row in order {
            run.checkpoint()?;
            state = steps.step((cell, way), (positions[row], &inputs.narrow(0, row, 1)?), &state, run)?;
            states.push(C::shown(&state).clone());
        }
        Ok::<_, ModelError>(states)
    };
    let ahead = read((forward, Way::Forward), &mut (0..n))?;
    let mut back = read((backward, Way::Backward), &mut (0..n).rev())?;
    back.reverse();
    Ok(Tensor::cat(&[Tensor::cat(&ahead, 0)?, Tensor::cat(&back, 0)?], 1)?)
}

/// The states of two cells, one of which reads from the end, over all words of the source.
///
/// # Shapes
/// - `words`: `[n, d_in]`
/// - result: `[n, 2 · d_state]`
pub(crate) fn read_both_ways<C: Cell>(
    cells: [&C; 2],
    words: &Tensor,
    run: &mut Run<'_>,
) -> std::result::Result<Tensor, ModelError> {
    let positions: Vec<usize> = (0..words.dim(0)?).collect();
    let mut steps = Steps::of(Side::Encoder, positions.len());
    let states = both_ways(cells, words, &positions, (&mut steps, run))?;
    steps.record(run)?;
    Ok(states)
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

    /// The state of one unit after it has read each number, and the gates of the last.
    fn read<C: Cell>(cell: &C, numbers: &[f32]) -> (Vec<(C::State, f32)>, Vec<f32>) {
        let x = Tensor::from_slice(numbers, (numbers.len(), 1), &Device::Cpu).unwrap();
        let gates = cell.input().forward(&x).unwrap();
        let (mut state, mut last) = (cell.start(&x).unwrap(), Vec::new());
        let step = |position: usize| {
            let gates = cell.gates(&gates.narrow(0, position, 1).unwrap(), &state).unwrap();
            state = C::carried(&gates, &state).unwrap();
            last = gates.flatten_all().unwrap().to_vec1::<f32>().unwrap();
            (state.clone(), C::shown(&state).to_vec2::<f32>().unwrap()[0][0])
        };
        ((0..numbers.len()).map(step).collect(), last)
    }

    fn are_near(found: &[f32], expected: &[f32]) -> bool {
        found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-6)
    }

    // Numbers of `torch.nn.GRU` and `torch.nn.LSTM` with one unit, in double precision.

    #[test]
    fn a_gru_resets_the_product_of_the_state_as_pytorch_does() {
        let cell =
            Gru { input: map(&[0.5, -0.4, 0.8], &[0.1, 0.2, 0.0]), state: map(&[0.2, 0.6, -0.5], &[0.0, 0.0, 0.3]) };
        let (states, gates) = read(&cell, &[1.0, -1.0]);
        assert!(are_near(&gates, &[0.421_519, 0.700_645, -0.641_955]), "{gates:?}");
        assert!((states[0].1 - 0.417_287_87).abs() < 1e-6 && (states[1].1 - 0.100_198_63).abs() < 1e-6, "{states:?}");
    }

    #[test]
    fn an_lstm_remembers_in_its_cell_what_pytorch_does() {
        let cell = Lstm {
            input: map(&[0.5, -0.4, 0.8, 0.3], &[0.1, 0.5, 0.0, -0.2]),
            state: map(&[0.2, 0.6, -0.5, 0.1], &[0.0; 4]),
        };
        let (states, gates) = read(&cell, &[1.0, -1.0]);
        assert!(are_near(&gates, &[0.411_552, 0.736_400, -0.719_263, 0.382_541]), "{gates:?}");
        let cells = states.iter().map(|(state, _)| state.cell.to_vec2::<f32>().unwrap()[0][0]);
        let expected = [(0.428_739_53, 0.212_231_96), (0.019_709_69, 0.007_538_79)];
        for ((cell, (_, state)), expected) in cells.zip(&states).zip(expected) {
            assert!((cell - expected.0).abs() < 1e-6 && (state - expected.1).abs() < 1e-6, "{states:?}");
        }
    }
}
