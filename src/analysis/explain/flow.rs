//! Attention flow (Abnar and Zuidema 2020): how much can go from each input to an output through all layers.
//!
//! A network with a node for every token before and after each layer; what can go from `(l, i)` down to
//! `(l-1, j)` is at most `Â_l[i, j]`, fused and with the residual stream as in [`rollout`](super::rollout).
//! `f(q, k)` is the largest flow from `(L, q)` to `(0, k)`, each pair on its own; `F[q, k] = f / Σ_k f`.
//!
//! Maximum flow after Dinic (1970). Flows of one query to several keys are worked out side by side.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rayon::prelude::*;

use super::{
    ExplainError,
    dense::Dense,
    rollout::{RolloutOptions, augmented},
};
use crate::{
    capture::{Matrix, PerHead},
    projection::Progress,
};

/// What is left of an edge below this is rounding.
const NOTHING: f64 = 1e-13;
const UNREACHED: u32 = u32::MAX;

/// Flow from each input to some outputs.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// `f`, `[rows, n]`, in the order in which queries were asked for.
    pub raw: Matrix,
    /// `F`: rows of `f` divided by their sums.
    pub normalised: Matrix,
}

/// The flow of one pair of tokens.
#[derive(Clone, Debug, PartialEq)]
pub struct PairFlow {
    /// `f(q, k)`.
    pub value: f64,
    /// What goes over each edge, `[n, n]` for every layer, first layer first: rows are the layer's queries.
    pub layers: Vec<Matrix>,
}

/// The flow of every input to each of `queries`.
///
/// `patterns` are the layers of one stack whose queries and keys are the same tokens, `[heads, n, n]`.
/// `progress` hears of each pair of tokens. Time grows with `layers · n³` for each query.
pub fn flow(
    patterns: &[PerHead],
    queries: &[usize],
    options: RolloutOptions,
    progress: Progress<'_>,
) -> Result<Flow, ExplainError> {
    let layers = augmented(patterns, options)?;
    let n = size(&layers);
    check_token("the query", queries, n)?;
    let (stopped, done) = (AtomicBool::new(false), AtomicUsize::new(0));
    let pairs: Vec<(usize, usize)> = queries.iter().flat_map(|&query| (0..n).map(move |key| (query, key))).collect();
    let of_pair = |&(query, key): &(usize, usize)| {
        if stopped.load(Ordering::Relaxed) {
            return 0.0;
        }
        let value = Network::new(&layers, query, key).maximise();
        let n_done = done.fetch_add(1, Ordering::Relaxed) + 1;
        if !progress(n_done, pairs.len()) {
            stopped.store(true, Ordering::Relaxed);
        }
        value
    };
    let values: Vec<f64> = pairs.par_iter().map(of_pair).collect();
    if stopped.into_inner() && done.into_inner() < pairs.len() {
        return Err(ExplainError::Cancelled);
    }
    let raw = Dense::from_fn(queries.len(), n, |row, col| values[row * n + col]);
    Ok(Flow { raw: raw.to_matrix(), normalised: raw.with_normalised_rows().to_matrix() })
}

/// The flow from input `key` to output `query`, edge by edge.
pub fn pair_flow(
    patterns: &[PerHead],
    query: usize,
    key: usize,
    options: RolloutOptions,
) -> Result<PairFlow, ExplainError> {
    let layers = augmented(patterns, options)?;
    check_token("the query", &[query], size(&layers))?;
    check_token("the key", &[key], size(&layers))?;
    Ok(chain_flow(&layers, query, key))
}

/// The flow from token `key` below a chain of layers to token `query` above it; what each of them lets through is `[n, n]`,
/// the first one first.
pub fn chain_flow(layers: &[Dense], query: usize, key: usize) -> PairFlow {
    let mut network = Network::new(layers, query, key);
    let value = network.maximise();
    let used = layers.iter().zip(network.left.iter().rev()).map(|(layer, left)| {
        let of_edge = |row: usize, col: usize| (layer.at(row, col) - left.at(row, col)).max(0.0);
        Dense::from_fn(layer.n_rows(), layer.n_cols(), of_edge).to_matrix()
    });
    PairFlow { value, layers: used.collect() }
}

fn size(layers: &[Dense]) -> usize {
    layers.first().map_or(0, Dense::n_rows)
}

fn check_token(what: &'static str, tokens: &[usize], n: usize) -> Result<(), ExplainError> {
    match tokens.iter().find(|&&token| token >= n) {
        Some(token) => Err(ExplainError::option(what, token, "the position of a token")),
        None => Ok(()),
    }
}

/// The network between one output and one input. Depth 0 is above the last layer, depth `L` below the first;
/// node `depth · n + token`.
struct Network<'a> {
    /// `Â` by depth: what leads from depth `d` to `d + 1`.
    capacities: Vec<&'a Dense>,
    left: Vec<Dense>,
    n: usize,
    source: usize,
    sink: usize,
    /// Steps to the sink over edges that something is left of.
    distance: Vec<u32>,
    /// The edge of each node that is tried next: down to token `0..n`, then up to token `0..n`.
    next: Vec<u32>,
}

impl<'a> Network<'a> {
    fn new(layers: &'a [Dense], query: usize, key: usize) -> Self {
        let n = size(layers);
        let n_nodes = n * (layers.len() + 1);
        Self {
            capacities: layers.iter().rev().collect(),
            left: layers.iter().rev().cloned().collect(),
            n,
            source: query,
            sink: layers.len() * n + key,
            distance: vec![UNREACHED; n_nodes],
            next: vec![0; n_nodes],
        }
    }

    fn maximise(&mut self) -> f64 {
        let mut flow = 0.0;
        // More than this can never arrive, so that the last search need not be made.
        let (depth, key) = (self.capacities.len() - 1, self.sink % self.n);
        let into_sink: f64 = self.capacities[depth].rows().map(|row| row[key]).sum();
        while flow < into_sink - NOTHING && self.measure() {
            self.next.fill(0);
            let before = flow;
            while let Some(more) = self.augment() {
                flow += more;
            }
            // Rounding must not keep the search going.
            if flow <= before {
                break;
            }
        }
        flow
    }

    /// Distances to the sink, from the sink backwards; whether the source is reached.
    fn measure(&mut self) -> bool {
        let n = self.n;
        self.distance.fill(UNREACHED);
        self.distance[self.sink] = 0;
        let mut queue = Vec::with_capacity(self.distance.len());
        queue.push(self.sink);
        let mut at = 0;
        while let Some(&node) = queue.get(at) {
            at += 1;
            let (depth, token) = (node / n, node % n);
            let steps = self.distance[node] + 1;
            let mut reach = |from: usize, queue: &mut Vec<usize>| {
                if self.distance[from] == UNREACHED {
                    self.distance[from] = steps;
                    queue.push(from);
                }
            };
            if depth > 0 {
                let column = self.left[depth - 1].as_slice()[token..].iter().step_by(n);
                for (above, _) in column.enumerate().filter(|(_, left)| **left > NOTHING) {
                    reach((depth - 1) * n + above, &mut queue);
                }
            }
            if let (Some(capacity), Some(left)) = (self.capacities.get(depth), self.left.get(depth)) {
                let used = capacity.row(token).iter().zip(left.row(token));
                for (below, _) in used.enumerate().filter(|(_, (capacity, left))| *capacity - *left > NOTHING) {
                    reach((depth + 1) * n + below, &mut queue);
                }
            }
            if self.distance[self.source] != UNREACHED {
                return true;
            }
        }
        false
    }

    /// Sends as much as one shortest path takes; none when there is no such path any more.
    fn augment(&mut self) -> Option<f64> {
        let mut path = vec![self.source];
        while let Some(&node) = path.last() {
            if node == self.sink {
                return Some(self.send(&path));
            }
            if let Some(to) = self.step(node) {
                path.push(to);
                continue;
            }
            path.pop();
            // The edge that led here leads nowhere.
            if let Some(&before) = path.last() {
                self.next[before] += 1;
            }
        }
        None
    }

    /// The next node on a shortest path from `node`.
    fn step(&mut self, node: usize) -> Option<usize> {
        let n = self.n;
        let (depth, token) = (node / n, node % n);
        let wanted = self.distance[node].checked_sub(1)?;
        let mut edge = self.next[node] as usize;
        if depth >= self.capacities.len() {
            edge = edge.max(n);
        }
        while edge < 2 * n {
            let to = if edge < n {
                let below = (depth + 1) * n + edge;
                (self.distance[below] == wanted && self.left[depth].at(token, edge) > NOTHING).then_some(below)
            } else if depth > 0 {
                let above = (depth - 1) * n + edge - n;
                let used = || self.capacities[depth - 1].at(edge - n, token) - self.left[depth - 1].at(edge - n, token);
                (self.distance[above] == wanted && used() > NOTHING).then_some(above)
            } else {
                break;
            };
            if to.is_some() {
                self.next[node] = edge as u32;
                return to;
            }
            edge += 1;
        }
        self.next[node] = 2 * n as u32;
        None
    }

    fn send(&mut self, path: &[usize]) -> f64 {
        let n = self.n;
        let steps = || path.iter().zip(path.iter().skip(1)).map(|(&from, &to)| (from, to));
        let mut most = f64::INFINITY;
        for (from, to) in steps() {
            most = most.min(if to > from && to / n > from / n {
                self.left[from / n].at(from % n, to % n)
            } else {
                self.capacities[to / n].at(to % n, from % n) - self.left[to / n].at(to % n, from % n)
            });
        }
        for (from, to) in steps() {
            if to / n > from / n {
                self.left[from / n].row_mut(from % n)[to % n] -= most;
            } else {
                self.left[to / n].row_mut(to % n)[from % n] += most;
            }
        }
        most
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{rollout::rollout, toy},
        *,
    };
    use crate::projection::to_the_end;

    const ALL: [usize; 3] = [0, 1, 2];

    fn of(patterns: &[PerHead], queries: &[usize]) -> Flow {
        flow(patterns, queries, RolloutOptions::default(), &to_the_end).unwrap()
    }

    #[test]
    fn the_worked_example() {
        let flow = of(&toy::patterns(), &ALL);
        toy::assert_near(flow.raw.as_slice(), &[0.85, 0.55, 0.45, 0.35, 0.85, 0.4, 0.3875, 0.3875, 0.925]);
        let expected = [0.459_459, 0.297_297, 0.243_243, 0.218_75, 0.531_25, 0.25, 0.227_941, 0.227_941, 0.544_118];
        toy::assert_near(flow.normalised.as_slice(), &expected);
        let causal = of(&toy::causal(), &[2]);
        toy::assert_near(causal.normalised.as_slice(), &[0.295_238, 0.161_905, 0.542_857]);
    }

    #[test]
    fn one_layer_flows_as_it_is_rolled_out_and_two_in_closed_form() {
        let one = toy::random(6, 1, 2, 3);
        let flow = of(&one, &[0, 3]);
        let rolled = rollout(&one, RolloutOptions::default()).unwrap().pop().unwrap();
        toy::assert_near(flow.normalised.row(1).unwrap(), &super::super::dense::wide(rolled.row(3).unwrap()));
        let two = toy::random(9, 2, 3, 4);
        let layers = augmented(&two, RolloutOptions::default()).unwrap();
        let flow = of(&two, &[5]);
        for (key, value) in flow.raw.row(0).unwrap().iter().enumerate() {
            let closed: f64 = (0..9).map(|via| layers[1].at(5, via).min(layers[0].at(via, key))).sum();
            assert!((f64::from(*value) - closed).abs() < 1e-6);
        }
    }

    /// No cut may be smaller than the flow, and one is as small: tried are all subsets of each depth's nodes.
    #[test]
    fn the_flow_is_as_large_as_the_smallest_cut() {
        let patterns = toy::random(4, 3, 2, 8);
        let layers = augmented(&patterns, RolloutOptions::default()).unwrap();
        let flow = of(&patterns, &[1]);
        for (key, value) in flow.raw.row(0).unwrap().iter().enumerate() {
            // Tokens above the cut after the last layer but one, and after the one before.
            let cuts = (0u32..16).flat_map(|upper| (0u32..16).map(move |lower| (upper, lower)));
            let cost = |(upper, lower): (u32, u32)| {
                let above = |set: u32, token: usize| set & (1 << token) != 0;
                let mut cost = 0.0;
                for a in 0..4 {
                    cost += if above(upper, a) { 0.0 } else { layers[2].at(1, a) };
                    cost += if above(lower, a) { layers[0].at(a, key) } else { 0.0 };
                    for b in 0..4 {
                        cost += if above(upper, a) && !above(lower, b) { layers[1].at(a, b) } else { 0.0 };
                    }
                }
                cost
            };
            let smallest = cuts.map(cost).fold(f64::INFINITY, f64::min);
            assert!((f64::from(*value) - smallest).abs() < 1e-6, "{value} against {smallest}");
        }
    }

    #[test]
    fn edges_carry_no_more_than_they_can_and_nothing_is_lost_on_the_way() {
        let patterns = toy::random(8, 4, 2, 5);
        let layers = augmented(&patterns, RolloutOptions::default()).unwrap();
        let pair = pair_flow(&patterns, 2, 6, RolloutOptions::default()).unwrap();
        let sum = |values: &mut dyn Iterator<Item = f32>| values.map(f64::from).sum::<f64>();
        for (used, capacity) in pair.layers.iter().zip(&layers) {
            let fits = |(used, capacity): (&f32, &f64)| f64::from(*used) <= capacity + 1e-7;
            assert!(used.as_slice().iter().zip(capacity.as_slice()).all(fits));
            assert!((sum(&mut used.as_slice().iter().copied()) - pair.value).abs() < 1e-5);
        }
        for (upper, lower) in pair.layers.iter().skip(1).zip(&pair.layers) {
            for token in 0..8 {
                let into = sum(&mut upper.rows().map(|row| row[token]));
                assert!((into - sum(&mut lower.row(token).unwrap().iter().copied())).abs() < 1e-6);
            }
        }
        let row = of(&patterns, &[2]);
        assert!((f64::from(row.raw.get(0, 6).unwrap()) - pair.value).abs() < 1e-6);
    }

    #[test]
    fn it_can_be_stopped_and_refuses_tokens_that_are_not_there() {
        let patterns = toy::random(20, 3, 1, 1);
        let stop = |done: usize, _: usize| done < 3;
        let stopped = flow(&patterns, &[0], RolloutOptions::default(), &stop);
        assert_eq!(stopped, Err(ExplainError::Cancelled));
        let outside = flow(&patterns, &[20], RolloutOptions::default(), &to_the_end).unwrap_err();
        assert_eq!(outside.to_string(), "the query is 20, but must be the position of a token");
    }

    #[test]
    fn sixty_four_tokens_through_six_layers_take_no_time_worth_waiting_for() {
        let patterns = toy::random(64, 6, 12, 2);
        let start = std::time::Instant::now();
        let flow = of(&patterns, &[63]);
        let secs = start.elapsed().as_secs_f64();
        assert!(flow.raw.as_slice().iter().all(|value| (0.0..=1.000_001).contains(value)));
        println!("one row of flow: {:.0} ms", secs * 1e3);
        assert!(secs < 5.0, "{secs:.2} s");
    }
}
