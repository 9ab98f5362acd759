//! Numbers of a graph of layers: rollout and flow edge by edge, and the strongest path.

use super::{ChainLayer, LayerGraph, LayerWeights, Node, PathEdge, PathMeasure, PathNumbers, StrongestPath};
use crate::analysis::explain::{dense::Dense, flow::chain_flow};

/// The most tokens of flow, whose time grows faster than that of the others.
const MOST_OF_FLOW: usize = 96;

/// What passes through a layer, of each query: attention part by part, and the residual stream.
struct Shares {
    parts: Vec<Dense>,
    residual: Vec<f64>,
}

impl LayerGraph {
    /// What passes through each layer, where `residual` is the share that attention does not change.
    fn shares(&self, residual: f64) -> Vec<Shares> {
        let of_layer = |layer: &ChainLayer| {
            let mut parts: Vec<Dense> = layer.parts.iter().map(|part| part.weights.clone()).collect();
            let mut left = vec![1.0; self.streams[layer.stream].n];
            for (row, left) in left.iter_mut().enumerate() {
                for part in 0..parts.len() {
                    let sum = residual + (1.0 - residual) * parts[part].row(row).iter().sum::<f64>();
                    let [kept, given] = [residual, 1.0 - residual].map(|of| if sum > 0.0 { of / sum } else { 0.0 });
                    // What attention before this one gave stays in the stream as far as the rest of it does.
                    parts[..part].iter_mut().for_each(|before| scale(before.row_mut(row), kept));
                    scale(parts[part].row_mut(row), given);
                    *left *= kept;
                }
            }
            Shares { parts, residual: left }
        };
        self.layers.iter().map(of_layer).collect()
    }

    /// What can be multiplied along the chain: weights as they are, or with the residual stream.
    fn factors(&self, measure: PathMeasure, residual: f64) -> Vec<Shares> {
        if measure != PathMeasure::Raw {
            return self.shares(residual);
        }
        let raw = |layer: &ChainLayer| Shares {
            parts: layer.parts.iter().map(|part| part.weights.clone()).collect(),
            residual: vec![0.0; self.streams[layer.stream].n],
        };
        self.layers.iter().map(raw).collect()
    }

    /// Calls `step` with the query, the key, both counted over all sequences, and the factor of every edge of a layer, part
    /// by part; the residual stream is a part behind the others.
    fn each_factor(&self, at: usize, shares: &Shares, mut step: impl FnMut(usize, usize, usize, f64)) {
        let layer = &self.layers[at];
        let first = self.streams[layer.stream].first;
        for (part, (of, factors)) in layer.parts.iter().zip(&shares.parts).enumerate() {
            for (row, factors) in factors.rows().enumerate() {
                for (col, factor) in factors.iter().enumerate().filter(|(_, factor)| **factor > 0.0) {
                    step(part, first + row, of.first_key + col, *factor);
                }
            }
        }
        for (row, factor) in shares.residual.iter().enumerate().filter(|(_, factor)| **factor > 0.0) {
            step(layer.parts.len(), first + row, first + row, *factor);
        }
    }

    /// Numbers by a measure about a query and a key, with the `n` strongest edges.
    ///
    /// # Errors
    /// Says why the layers cannot be multiplied.
    pub fn measured(
        &self,
        measure: PathMeasure,
        residual: f64,
        n: usize,
        ends: [Option<Node>; 2],
    ) -> Result<PathNumbers, &'static str> {
        let factors = self.factors(measure, residual);
        let (values, nodes, ends) = match measure {
            PathMeasure::Raw => (self.raw_values(), self.received(), ends),
            PathMeasure::Rollout | PathMeasure::Flow if self.no_product.is_some() => {
                return Err(self.no_product.unwrap_or_default());
            }
            PathMeasure::Rollout => {
                let (values, nodes) = self.rolled_out(&factors, ends);
                (values, nodes, ends)
            }
            PathMeasure::Flow => {
                if self.n_tokens() > MOST_OF_FLOW {
                    return Err("Flow is worked out for up to 96 tokens: choose a shorter input, or rollout");
                }
                let ends = self.flow_ends(&factors, ends).ok_or("The input has no tokens")?;
                let (values, nodes) = self.flowing(&factors, ends);
                (values, nodes, ends.map(Some))
            }
        };
        let all = || values.iter().flatten().flat_map(Dense::as_slice).copied().filter(|value| *value > 0.0);
        let mut strongest: Vec<f64> = all().collect();
        let n_edges = strongest.len();
        let least = match n.min(n_edges) {
            0 => f64::INFINITY,
            n => *strongest.select_nth_unstable_by(n - 1, |a, b| b.total_cmp(a)).1,
        };
        let mut edges = Vec::new();
        for (at, (layer, factors)) in self.layers.iter().zip(&factors).enumerate() {
            let first = self.streams[layer.stream].first;
            for (part, of) in layer.parts.iter().enumerate() {
                for (row, values) in values[at][part].rows().enumerate() {
                    let drawn = values.iter().enumerate().filter(|(_, value)| **value >= least && **value > 0.0);
                    edges.extend(drawn.map(|(col, value)| PathEdge {
                        stack: of.stack,
                        layer: layer.layer,
                        from: Node { level: at + 1, token: first + row },
                        to: Node { level: of.key_level, token: of.first_key + col },
                        weight: of.weights.at(row, col) as f32,
                        factor: factors.parts[part].at(row, col),
                        value: *value as f32,
                    }));
                }
            }
        }
        edges.sort_by(|a, b| b.value.total_cmp(&a.value).then(a.from.cmp(&b.from)).then(a.to.cmp(&b.to)));
        edges.truncate(n);
        let shown: f64 = edges.iter().map(|edge| f64::from(edge.value)).sum();
        let residual = factors.into_iter().map(|shares| shares.residual).collect();
        Ok(PathNumbers {
            edges,
            n_edges,
            part: shown / all().sum::<f64>().max(f64::MIN_POSITIVE),
            nodes,
            ends,
            residual,
        })
    }

    fn raw_values(&self) -> Vec<Vec<Dense>> {
        self.layers.iter().map(|layer| layer.parts.iter().map(|part| part.weights.clone()).collect()).collect()
    }

    /// What each node gets of a query on average, over the layers that look at it.
    fn received(&self) -> Vec<Vec<f64>> {
        let mut nodes = vec![vec![0.0; self.n_tokens()]; self.n_layers() + 1];
        let parts = || self.layers.iter().flat_map(|layer| &layer.parts);
        for part in parts() {
            let alike = parts().filter(|other| (other.stack, other.key_level) == (part.stack, part.key_level)).count();
            let each = 1.0 / (part.weights.n_rows() * alike).max(1) as f64;
            for row in part.weights.rows() {
                for (node, weight) in nodes[part.key_level][part.first_key..].iter_mut().zip(row) {
                    *node += each * weight;
                }
            }
        }
        nodes
    }

    /// Rollout edge by edge: what of the outputs, or of one, reaches a query, times the factor, times what of the key reaches
    /// the inputs, or one.
    fn rolled_out(&self, factors: &[Shares], [query, key]: [Option<Node>; 2]) -> (Vec<Vec<Dense>>, Vec<Vec<f64>>) {
        let (n, n_layers) = (self.n_tokens(), self.n_layers());
        let top = self.streams.last();
        let begin = |token: usize| match (query, top) {
            (Some(query), _) => f64::from(u8::from(query.token == token)),
            (None, Some(top)) if top.has(token) => 1.0 / top.n as f64,
            (None, _) => 0.0,
        };
        let mut down = vec![vec![0.0; n]; n_layers + 1];
        down[n_layers] = (0..n).map(begin).collect();
        for at in (0..n_layers).rev() {
            let (below, above) = down.split_at_mut(at + 1);
            self.pass(at, &above[0], &mut below[at]);
            self.each_factor(at, &factors[at], |_, query, key, factor| below[at][key] += above[0][query] * factor);
        }
        let mut up = vec![vec![0.0; n]; n_layers + 1];
        up[0] = (0..n).map(|token| f64::from(u8::from(key.is_none_or(|key| key.token == token)))).collect();
        for at in 0..n_layers {
            let (below, above) = up.split_at_mut(at + 1);
            self.pass(at, &below[at], &mut above[0]);
            self.each_factor(at, &factors[at], |_, query, key, factor| above[0][query] += below[at][key] * factor);
        }
        let mut values = self.empty();
        for (at, factors) in factors.iter().enumerate() {
            let n_parts = self.layers[at].parts.len();
            self.each_factor(at, factors, |part, query, key, factor| {
                if part < n_parts {
                    self.put(&mut values, at, part, (query, key), down[at + 1][query] * factor * up[at][key]);
                }
            });
        }
        let nodes = down.iter().zip(&up).map(|(down, up)| down.iter().zip(up).map(|(down, up)| down * up).collect());
        (values, nodes.collect())
    }

    /// Tokens that a layer does not change pass through it.
    fn pass(&self, at: usize, from: &[f64], to: &mut [f64]) {
        let own = &self.streams[self.layers[at].stream];
        for token in (0..to.len()).filter(|token| !own.has(*token)) {
            to[token] = from[token];
        }
    }

    fn empty(&self) -> Vec<Vec<Dense>> {
        let zeros = |part: &LayerWeights| Dense::zeros(part.weights.n_rows(), part.weights.n_cols());
        self.layers.iter().map(|layer| layer.parts.iter().map(zeros).collect()).collect()
    }

    fn put(&self, values: &mut [Vec<Dense>], at: usize, part: usize, (query, key): (usize, usize), value: f64) {
        let layer = &self.layers[at];
        let row = query - self.streams[layer.stream].first;
        values[at][part].row_mut(row)[key - layer.parts[part].first_key] = value;
    }

    /// The pair that flow is worked out for: what is held, else the last output and the input that most of it comes from.
    fn flow_ends(&self, factors: &[Shares], [query, key]: [Option<Node>; 2]) -> Option<[Node; 2]> {
        let top = self.streams.last()?;
        let query = query.or_else(|| self.node(top.side, 1, top.n.checked_sub(1)?))?;
        let found = || {
            let inputs = self.rolled_out(factors, [Some(query), None]).1.into_iter().next()?;
            let best = inputs.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1))?.0;
            Some(Node { level: self.stream_of(best)?.1.ends[0], token: best })
        };
        Some([query, key.or_else(found)?])
    }

    /// The maximum flow of a pair, edge by edge.
    fn flowing(&self, factors: &[Shares], [query, key]: [Node; 2]) -> (Vec<Vec<Dense>>, Vec<Vec<f64>>) {
        let n = self.n_tokens();
        let joint = |at: usize| {
            let own = &self.streams[self.layers[at].stream];
            let mut joint = Dense::from_fn(n, n, |row, col| f64::from(u8::from(row == col && !own.has(row))));
            self.each_factor(at, &factors[at], |_, query, key, factor| joint.row_mut(query)[key] += factor);
            joint
        };
        let layers: Vec<Dense> = (0..self.n_layers()).map(joint).collect();
        let used = chain_flow(&layers, query.token, key.token).layers;
        let mut values = self.empty();
        let mut nodes = vec![vec![0.0; n]; self.n_layers() + 1];
        nodes[0][key.token] = used.first().map_or(0.0, |first| first.as_slice().iter().copied().map(f64::from).sum());
        for (at, used) in used.iter().enumerate() {
            for (row, node) in used.rows().zip(&mut nodes[at + 1]) {
                *node = row.iter().copied().map(f64::from).sum();
            }
            let n_parts = self.layers[at].parts.len();
            self.each_factor(at, &factors[at], |part, query, key, factor| {
                if part < n_parts {
                    // A token's attention to itself and its residual stream are one way.
                    let flow = f64::from(used.get(query, key).unwrap_or(0.0));
                    self.put(&mut values, at, part, (query, key), flow * factor / layers[at].at(query, key));
                }
            });
        }
        (values, nodes)
    }

    /// The path with the largest product from an output to an input, over all edges.
    pub fn strongest(&self, measure: PathMeasure, residual: f64, [query, key]: [Node; 2]) -> Option<StrongestPath> {
        let (n, n_layers) = (self.n_tokens(), self.n_layers());
        let mut best = vec![0.0; n];
        best[query.token] = 1.0;
        let mut via = vec![vec![0; n]; n_layers];
        for (at, factors) in self.factors(measure, residual).iter().enumerate().rev() {
            let mut below = vec![0.0; n];
            self.pass(at, &best, &mut below);
            let via = &mut via[at];
            via.iter_mut().enumerate().for_each(|(token, via)| *via = token);
            self.each_factor(at, factors, |part, query, key, factor| {
                let own = if query == key && part == 0 { factors.residual_of(self, at, query) } else { 0.0 };
                let product = best[query] * (factor + own);
                if product > below[key] {
                    (below[key], via[key]) = (product, query);
                }
            });
            best = below;
        }
        let mut nodes = vec![Node { level: 0, token: key.token }];
        for (at, via) in via.iter().enumerate() {
            let token = via[nodes[at].token];
            nodes.push(Node { level: at + 1, token });
        }
        nodes.reverse();
        nodes.retain(|node| self.has(*node));
        Some(StrongestPath { nodes, product: best[key.token] }).filter(|path| path.product > 0.0)
    }
}

impl Shares {
    /// What of a query stays in its stream.
    fn residual_of(&self, graph: &LayerGraph, at: usize, query: usize) -> f64 {
        let first = graph.streams[graph.layers[at].stream].first;
        query.checked_sub(first).and_then(|row| self.residual.get(row)).copied().unwrap_or(0.0)
    }
}

fn scale(values: &mut [f64], by: f64) {
    for value in values {
        *value *= by;
    }
}
