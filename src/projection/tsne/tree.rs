//! Points in groups of sixteen along a space-filling curve, and groups of four groups above them.
//!
//! The curve is drawn anew from time to time; in between, the same groups only get new centres and extents, which
//! is always right and only slowly becomes less tight.

#![expect(clippy::needless_range_loop, reason = "several arrays are walked together")]

use crate::projection::sorting;

/// Points of a leaf: what one wide vector or two narrower ones hold.
pub(super) const LEAF: usize = 16;

/// Nodes below a node.
const FAN: usize = 4;

/// Where slots without a point are: so far that they exert no force, and near enough that squares are finite.
const NOWHERE: f32 = 1e18;

/// Centre and mass of what a group holds: three coordinates (the last is 0 in the plane) and the count.
pub(super) type Node = [f32; 4];

/// The groups, level by level from the leaves up.
#[derive(Clone, Debug)]
pub(super) struct Tree<const D: usize> {
    n: usize,
    /// Which point is in which slot.
    order: Vec<u32>,
    /// Coordinates by slot, filled up to whole leaves.
    slots: [Vec<f32>; D],
    nodes: Vec<Node>,
    /// Square of the longest side of each group's box.
    extents: Vec<f32>,
    /// Lowest and highest corner of each group's box.
    boxes: Vec<[[f32; D]; 2]>,
    /// Where each level starts among the nodes, and where the last one ends.
    levels: Vec<usize>,
}

impl<const D: usize> Tree<D> {
    /// Groups for so many points; [`Self::sort`] and [`Self::refit`] before use.
    pub fn new(n: usize) -> Self {
        let n_leaves = n.div_ceil(LEAF);
        let mut levels = vec![0, n_leaves];
        let mut width = n_leaves;
        while width > 1 {
            width = width.div_ceil(FAN);
            levels.push(levels[levels.len() - 1] + width);
        }
        let n_nodes = levels[levels.len() - 1];
        Self {
            n,
            order: (0..n as u32).collect(),
            slots: std::array::from_fn(|_| vec![NOWHERE; n_leaves * LEAF]),
            nodes: vec![[0.0; 4]; n_nodes],
            extents: vec![0.0; n_nodes],
            boxes: vec![[[0.0; D]; 2]; n_nodes],
            levels,
        }
    }

    /// Which point is in which slot.
    pub fn order(&self) -> &[u32] {
        &self.order
    }

    /// Coordinates by slot, one slice per axis.
    pub fn slots(&self) -> [&[f32]; D] {
        std::array::from_fn(|axis| &self.slots[axis][..])
    }

    /// All groups, leaves first.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    pub fn n_leaves(&self) -> usize {
        self.levels[1]
    }

    /// Orders the points along the curve.
    pub fn sort(&mut self, points: &[[f32; D]]) {
        let mut low = [f32::INFINITY; D];
        let mut high = [f32::NEG_INFINITY; D];
        for point in points {
            for axis in 0..D {
                low[axis] = low[axis].min(point[axis]);
                high[axis] = high[axis].max(point[axis]);
            }
        }
        let bits = 32 / D as u32;
        let extent = (0..D).map(|axis| high[axis] - low[axis]).fold(1e-30f32, f32::max);
        let scale = ((1u32 << bits.min(16)) - 1) as f32 / extent;
        let mut keys: Vec<(u32, u32)> = self
            .order
            .iter()
            .map(|&i| {
                let point = &points[i as usize];
                let mut key = 0;
                for axis in 0..D {
                    key |= spread::<D>(((point[axis] - low[axis]) * scale) as u32) << axis;
                }
                (key, i)
            })
            .collect();
        sorting::by_key(&mut keys);
        self.order.iter_mut().zip(&keys).for_each(|(slot, key)| *slot = key.1);
    }

    /// Takes the points' places, and from them centres and boxes of all groups.
    pub fn refit(&mut self, points: &[[f32; D]]) {
        for (slot, &i) in self.order.iter().enumerate() {
            let point = &points[i as usize];
            for axis in 0..D {
                self.slots[axis][slot] = point[axis];
            }
        }
        for leaf in 0..self.n_leaves() {
            let slots = leaf * LEAF..(leaf * LEAF + LEAF).min(self.n);
            let mass = slots.len() as f32;
            let mut node = [0.0; 4];
            let mut corners = [[0.0; D]; 2];
            for axis in 0..D {
                let values = &self.slots[axis][slots.clone()];
                let (low, high, sum) = values.as_array::<LEAF>().map_or_else(|| summary(values), summary16);
                corners[0][axis] = low;
                corners[1][axis] = high;
                node[axis] = sum / mass;
            }
            node[3] = mass;
            self.put(leaf, node, corners);
        }
        for level in 1..self.levels.len() - 1 {
            let (below, here, end) = (self.levels[level - 1], self.levels[level], self.levels[level + 1]);
            for at in here..end {
                let first = below + (at - here) * FAN;
                let mut node = [0.0f32; 4];
                let mut corners = [[f32::INFINITY; D], [f32::NEG_INFINITY; D]];
                for child in first..(first + FAN).min(here) {
                    let mass = self.nodes[child][3];
                    for axis in 0..D {
                        node[axis] += self.nodes[child][axis] * mass;
                        corners[0][axis] = corners[0][axis].min(self.boxes[child][0][axis]);
                        corners[1][axis] = corners[1][axis].max(self.boxes[child][1][axis]);
                    }
                    node[3] += mass;
                }
                for axis in 0..D {
                    node[axis] /= node[3];
                }
                self.put(at, node, corners);
            }
        }
    }

    fn put(&mut self, at: usize, node: Node, corners: [[f32; D]; 2]) {
        let extent = (0..D).map(|axis| corners[1][axis] - corners[0][axis]).fold(0.0f32, f32::max);
        self.nodes[at] = node;
        self.extents[at] = extent * extent;
        self.boxes[at] = corners;
    }

    /// What acts on the points of one leaf: groups that act as one (`far`), and leaves whose points act one by one
    /// (`near`), the leaf itself among them.
    pub fn interactions(&self, leaf: usize, theta: f32, far: &mut Vec<u32>, near: &mut Vec<u32>) {
        let theta = theta * theta;
        let [low, high] = self.boxes[leaf];
        let top = self.levels.len() - 2;
        // Depth-first: at most three siblings wait on each level.
        let mut waiting = [(0usize, 0usize); 64];
        waiting[0] = (top, self.levels[top]);
        let mut n_waiting = 1;
        while n_waiting > 0 {
            n_waiting -= 1;
            let (level, at) = waiting[n_waiting];
            let node = &self.nodes[at];
            let mut square = 0.0;
            for axis in 0..D {
                // From the nearest edge of the leaf's box.
                let gap = (low[axis] - node[axis]).max(node[axis] - high[axis]).max(0.0);
                square += gap * gap;
            }
            if self.extents[at] < theta * square {
                far.push(at as u32);
            } else if level == 0 {
                near.push(at as u32);
            } else {
                let first = self.levels[level - 1] + (at - self.levels[level]) * FAN;
                let end = (first + FAN).min(self.levels[level]);
                for child in first..end {
                    waiting[n_waiting] = (level - 1, child);
                    n_waiting += 1;
                }
            }
        }
    }
}

/// Lowest, highest, sum.
fn summary(values: &[f32]) -> (f32, f32, f32) {
    values
        .iter()
        .fold((f32::INFINITY, f32::NEG_INFINITY, 0.0), |(low, high, sum), &x| (low.min(x), high.max(x), sum + x))
}

/// The same of a whole leaf, halving it so that the compiler can use vectors.
fn summary16(values: &[f32; LEAF]) -> (f32, f32, f32) {
    let (mut low, mut high, mut sum) = (*values, *values, *values);
    let mut width = LEAF / 2;
    while width > 0 {
        for i in 0..width {
            low[i] = if low[i] < low[i + width] { low[i] } else { low[i + width] };
            high[i] = if high[i] > high[i + width] { high[i] } else { high[i + width] };
            sum[i] += sum[i + width];
        }
        width /= 2;
    }
    (low[0], high[0], sum[0])
}

/// Puts `D − 1` zeros behind each bit.
const fn spread<const D: usize>(x: u32) -> u32 {
    let mut x = x;
    if D == 2 {
        x &= 0xFFFF;
        x = (x | x << 8) & 0x00FF_00FF;
        x = (x | x << 4) & 0x0F0F_0F0F;
        x = (x | x << 2) & 0x3333_3333;
        (x | x << 1) & 0x5555_5555
    } else {
        x &= 0x3FF;
        x = (x | x << 16) & 0x0300_00FF;
        x = (x | x << 8) & 0x0300_F00F;
        x = (x | x << 4) & 0x030C_30C3;
        (x | x << 2) & 0x0924_9249
    }
}
