//! Inputs by how active a head is in them, in intervals with the same number of inputs.

/// The ranks of all inputs that have an activation.
#[derive(Clone, Debug, PartialEq)]
pub struct Intervals {
    /// From the most active to the least; of equal ones the earlier first.
    order: Vec<usize>,
    pub of: Vec<Interval>,
    /// Inputs that are as active as the most active one.
    pub n_tied: usize,
}

/// Inputs of neighbouring ranks.
#[derive(Clone, Debug, PartialEq)]
pub struct Interval {
    /// 1 is the weakest.
    pub number: usize,
    /// The least and the largest activation.
    pub range: [f32; 2],
    pub n_inputs: usize,
}

/// An input that is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// Its place in the list.
    pub input: usize,
    /// The number of its interval.
    pub interval: usize,
}

impl Intervals {
    /// At most `n` intervals, no more than there are inputs; NaN is no activation.
    pub fn of(activations: &[f32], n: usize) -> Self {
        let mut order: Vec<usize> = (0..activations.len()).filter(|input| !activations[*input].is_nan()).collect();
        order.sort_by(|a, b| activations[*b].total_cmp(&activations[*a]).then(a.cmp(b)));
        let n = n.min(order.len());
        let of = (1..=n).rev().map(|number| {
            let inputs = &order[places(number, n, order.len())];
            let at = |input: Option<&usize>| input.map_or(f32::NAN, |input| activations[*input]);
            Interval { number, range: [at(inputs.last()), at(inputs.first())], n_inputs: inputs.len() }
        });
        let of = of.collect();
        let top = order.first().map(|input| activations[*input]);
        let n_tied = order.iter().take_while(|input| Some(activations[**input]) == top).count();
        Self { order, of, n_tied }
    }

    /// Every input with an activation and the number of its interval, the most active first.
    pub fn ranked(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let n = self.of.len();
        let numbers = (1..=n).rev();
        numbers.flat_map(move |number| self.inputs(number).iter().map(move |input| (*input, number)))
    }

    /// The inputs of an interval, the most active first.
    pub fn inputs(&self, number: usize) -> &[usize] {
        let n = self.of.len();
        if (1..=n).contains(&number) { &self.order[places(number, n, self.order.len())] } else { &[] }
    }

    /// At most `n` inputs of each interval: of the strongest the most active, of the others at even steps of their ranks.
    pub fn chosen(&self, n: usize) -> Vec<Chosen> {
        let top = self.of.len();
        let numbers = (1..=top).rev();
        let of = |interval: usize| {
            let inputs = self.inputs(interval);
            let n = n.min(inputs.len());
            (0..n).map(move |nth| {
                let place = if interval == top { nth } else { nth * inputs.len() / n };
                Chosen { input: inputs[place], interval }
            })
        };
        numbers.flat_map(of).collect()
    }
}

/// The ranks of an interval: the strongest has the first ones.
const fn places(number: usize, n: usize, n_inputs: usize) -> std::ops::Range<usize> {
    (n - number) * n_inputs / n..(n - number + 1) * n_inputs / n
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_share_out_all_inputs_and_ties_go_by_order() {
        let activations = [0.5, f32::NAN, 0.9, 0.5, 0.9, 0.1, 0.2, 0.3];
        let intervals = Intervals::of(&activations, 3);
        let ranked: Vec<usize> = intervals.ranked().map(|(input, _)| input).collect();
        assert_eq!(ranked, [2, 4, 0, 3, 7, 6, 5]);
        assert_eq!(intervals.of.iter().map(|interval| interval.n_inputs).collect::<Vec<_>>(), [2, 2, 3]);
        assert_eq!((intervals.of[0].number, intervals.of[0].range, intervals.n_tied), (3, [0.9, 0.9], 2));
        assert_eq!(intervals.of[2].range, [0.1, 0.3]);
        let chosen: Vec<_> = intervals.chosen(2).iter().map(|chosen| (chosen.interval, chosen.input)).collect();
        assert_eq!(chosen, [(3, 2), (3, 4), (2, 0), (2, 3), (1, 7), (1, 6)]);
        assert_eq!(Intervals::of(&[0.4], 10).of.len(), 1, "no interval is empty");
        assert!(Intervals::of(&[f32::NAN], 10).chosen(5).is_empty());
    }
}
