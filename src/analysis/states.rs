//! What a recurrence carries from step to step: sizes of its states, how alike neighbours are, what its gates let
//! through, and how many steps lie between two tokens.

use crate::{
    capture::{Capture, Matrix, Way},
    ids::Side,
};

/// How near to its ends a gate counts as shut or open.
const NEAR: f32 = 0.1;
const GRU: [&str; 3] = ["reset r", "update z", "new n"];
const LSTM: [&str; 4] = ["input i", "forget f", "new g", "output o"];

/// The steps of a recurrence in one direction, by token.
#[derive(Clone, Debug)]
pub struct Steps {
    pub way: Way,
    /// `[token, unit]`.
    pub states: Matrix,
    /// Lengths of the states.
    pub norms: Vec<f64>,
    /// Cosine with the state of the step before; `None` for the first, and where a state is 0.
    pub likeness: Vec<Option<f64>>,
    /// None where they are not recorded.
    pub gates: Vec<GateSteps>,
    /// Lengths of the gradients of what the run predicts by the states; empty where they are not known.
    pub gradients: Vec<f64>,
}

/// One gate over all units, by token.
#[derive(Clone, Debug)]
pub struct GateSteps {
    pub name: &'static str,
    pub means: Vec<f64>,
    /// Parts of the units that are shut (near 0, or of a new value near −1), and open (near 1).
    pub ends: [Vec<f64>; 2],
}

impl Steps {
    /// Those that were recorded.
    pub fn of(capture: &Capture, side: Side, way: Way) -> Option<Self> {
        let states = capture.of_sequence(side, way.state())?.clone();
        let gates = capture.of_sequence(side, way.gates()).map_or_else(Vec::new, |gates| split(gates, states.n_cols()));
        let gradients = capture.state_gradients().and_then(|found| found.norms.get(&(side, way))).cloned();
        Some(Self {
            way,
            norms: states.rows().map(length).collect(),
            likeness: likeness(&states, way),
            gates,
            gradients: gradients.unwrap_or_default(),
            states,
        })
    }

    /// Positions in the order in which they are read.
    pub fn order(&self) -> Vec<usize> {
        order(self.states.n_rows(), self.way)
    }

    /// What is left of the gradient of the last step at each, by token; `None` without one.
    pub fn left(&self) -> Option<Vec<f64>> {
        let last = *self.gradients.get(*self.order().last()?)?;
        (last > 0.0).then(|| self.gradients.iter().map(|norm| norm / last).collect())
    }

    /// What this recurrence is.
    pub fn kind(&self) -> Option<&'static str> {
        match self.gates.len() {
            3 => Some("GRU"),
            4 => Some("LSTM"),
            _ => None,
        }
    }
}

fn order(n: usize, way: Way) -> Vec<usize> {
    match way {
        Way::Forward => (0..n).collect(),
        Way::Backward => (0..n).rev().collect(),
    }
}

/// The length of a vector.
pub fn length(row: &[f32]) -> f64 {
    row.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt()
}

/// Cosines of states with that of the step before.
pub fn likeness(states: &Matrix, way: Way) -> Vec<Option<f64>> {
    let order = order(states.n_rows(), way);
    let mut found = vec![None; order.len()];
    for pair in order.windows(2) {
        let (Some(before), Some(after)) = (states.row(pair[0]), states.row(pair[1])) else { continue };
        let product: f64 = before.iter().zip(after).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum();
        let lengths = length(before) * length(after);
        found[pair[1]] = (lengths > 0.0).then(|| product / lengths);
    }
    found
}

/// The gates that stand side by side.
fn split(gates: &Matrix, d_state: usize) -> Vec<GateSteps> {
    let names: &[&str] = match gates.n_cols() / d_state.max(1) {
        3 => &GRU,
        4 => &LSTM,
        _ => &[],
    };
    let of_gate = |(nth, name): (usize, &&'static str)| {
        let rows = || gates.rows().map(move |row| &row[nth * d_state..(nth + 1) * d_state]);
        let share = |is: &dyn Fn(f32) -> bool| -> Vec<f64> {
            rows().map(|row| row.iter().filter(|value| is(**value)).count() as f64 / d_state as f64).collect()
        };
        let low = if name.starts_with("new") { -1.0 } else { 0.0 };
        GateSteps {
            name,
            means: rows().map(|row| row.iter().copied().map(f64::from).sum::<f64>() / d_state as f64).collect(),
            ends: [share(&|value| value <= low + NEAR), share(&|value| value >= 1.0 - NEAR)],
        }
    };
    names.iter().enumerate().map(of_gate).collect()
}

/// How one token reaches another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// From step to step.
    Recurrence,
    Attention,
    /// Layers of attention that sees so many places to each side.
    Windows(usize),
    /// Layers of convolution over so many places.
    Convolutions(usize),
}

impl Route {
    /// Steps or layers between two tokens so far apart.
    pub fn length(self, distance: usize) -> usize {
        match self {
            Self::Recurrence => distance,
            Self::Attention => distance.min(1),
            Self::Windows(width) => distance.div_ceil(width.max(1)),
            Self::Convolutions(width) => distance.div_ceil(width.saturating_sub(1).max(1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// States of `h′ = tanh(W h + U x + b)` with two units, in double precision by another program.
    const STATES: [f32; 8] =
        [0.537_049_6, -0.664_036_8, 0.335_452_3, 0.459_193_75, 0.436_767_72, 0.022_067_73, 0.902_263_8, -0.896_387_16];

    #[test]
    fn sizes_and_likeness_are_those_of_another_program() {
        let states = Matrix::new(STATES.to_vec(), [4, 2]).unwrap();
        let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        let norms = states.rows().map(length).zip([0.854_030, 0.568_671, 0.437_325, 1.271_845]);
        norms.for_each(|(found, expected)| near(found, expected));
        let expected = [-0.256_901, 0.629_883, 0.672_945];
        let forward = likeness(&states, Way::Forward);
        assert_eq!(forward[0], None);
        forward[1..].iter().zip(expected).for_each(|(found, expected)| near(found.unwrap(), expected));
        // Backward a step comes after the token on its right.
        let backward = likeness(&states, Way::Backward);
        assert_eq!(backward[3], None);
        backward[..3].iter().zip(expected).for_each(|(found, expected)| near(found.unwrap(), expected));
    }

    #[test]
    fn gates_stand_side_by_side() {
        // Two tokens, one unit: i f g o of an LSTM.
        let gates =
            Matrix::new(vec![0.411_552, 0.736_4, -0.719_263, 0.382_541, 0.95, 0.02, -0.97, 0.5], [2, 4]).unwrap();
        let split = split(&gates, 1);
        assert_eq!(split.iter().map(|gate| gate.name).collect::<Vec<_>>(), LSTM);
        assert!((split[1].means[0] - 0.7364).abs() < 1e-6);
        let ends = |nth: usize| [split[nth].ends[0][1], split[nth].ends[1][1]];
        assert_eq!([0, 1, 2, 3].map(ends), [[0.0, 1.0], [1.0, 0.0], [1.0, 0.0], [0.0, 0.0]]);
    }

    #[test]
    fn a_path_is_as_long_as_the_network_makes_it() {
        assert_eq!([0, 1, 7].map(|distance| Route::Recurrence.length(distance)), [0, 1, 7]);
        assert_eq!([0, 1, 7].map(|distance| Route::Attention.length(distance)), [0, 1, 1]);
        assert_eq!([1, 4, 5, 9].map(|distance| Route::Windows(4).length(distance)), [1, 1, 2, 3]);
        assert_eq!([1, 2, 3, 7].map(|distance| Route::Convolutions(3).length(distance)), [1, 1, 2, 4]);
    }
}
