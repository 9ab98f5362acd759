//! Repulsive forces between all points: `Σ q² (x − y)` and `Σ q` with `q = 1 / (1 + ‖x − y‖²)`.

#![expect(clippy::needless_range_loop, reason = "several arrays are walked together")]
#![expect(clippy::inline_always, reason = "compiled for an instruction set only where it is inlined")]

use pulp::{Simd, WithSimd};

use super::tree::{LEAF, Node, Tree};

/// Leaves that are worked on together.
pub(super) const LEAVES: usize = 8;

/// Some leaves, what acts on them, and with what force.
#[derive(Clone, Debug, Default)]
pub(super) struct LeafForces {
    far: Vec<u32>,
    near: Vec<u32>,
    /// For each leaf where its lists end.
    ends: Vec<(usize, usize)>,
    /// `[leaf, axis, point]`.
    pub forces: Vec<f32>,
    /// `Σ q` over the part's points and all others.
    pub sum: f64,
}

impl LeafForces {
    /// Parts for so many leaves.
    pub fn all(n_leaves: usize) -> Vec<Self> {
        vec![Self::default(); n_leaves.div_ceil(LEAVES)]
    }

    /// Decides anew what acts on the leaves of the part with the number `at`.
    pub fn choose<const D: usize>(&mut self, at: usize, tree: &Tree<D>, theta: f32) {
        self.far.clear();
        self.near.clear();
        self.ends.clear();
        for leaf in at * LEAVES..(at * LEAVES + LEAVES).min(tree.n_leaves()) {
            tree.interactions(leaf, theta, &mut self.far, &mut self.near);
            self.ends.push((self.far.len(), self.near.len()));
        }
        self.forces.resize(self.ends.len() * D * LEAF, 0.0);
    }
}

/// Computes the forces of the part with the number `at`.
pub(super) struct Push<'a, const D: usize> {
    pub part: &'a mut LeafForces,
    pub at: usize,
    pub n: usize,
    pub tree: &'a Tree<D>,
}

impl<const D: usize> WithSimd for Push<'_, D> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match S::F32_LANES {
            8 => self.with_vectors::<S, 2>(simd),
            4 => self.with_vectors::<S, 4>(simd),
            // One vector holds all, or vectors are of one value.
            _ => self.with_vectors::<S, 1>(simd),
        }
    }
}

impl<const D: usize> Push<'_, D> {
    /// With `V` vectors at a time.
    #[inline(always)]
    fn with_vectors<S: Simd, const V: usize>(self, simd: S) {
        let Self { part, at, n, tree } = self;
        let (slots, nodes) = (tree.slots(), tree.nodes());
        let (mut far_start, mut near_start) = (0, 0);
        part.sum = 0.0;
        for (leaf, &(far_end, near_end)) in part.ends.iter().enumerate() {
            let far = &part.far[far_start..far_end];
            let near = &part.near[near_start..near_end];
            (far_start, near_start) = (far_end, near_end);
            let first = (at * LEAVES + leaf) * LEAF;
            let forces = &mut part.forces[leaf * D * LEAF..(leaf + 1) * D * LEAF];
            let mut sums = [0.0f32; LEAF];
            for step in (0..LEAF).step_by(V * S::F32_LANES) {
                let here: [[S::f32s; V]; D] = std::array::from_fn(|axis| {
                    let slots = S::as_simd_f32s(&slots[axis][first + step..]).0;
                    std::array::from_fn(|v| slots[v])
                });
                let (force, sum) = act(simd, here, far, near, nodes, slots);
                let lanes = step..step + V * S::F32_LANES;
                for axis in 0..D {
                    let to = &mut forces[axis * LEAF..(axis + 1) * LEAF][lanes.clone()];
                    to.copy_from_slice(bytemuck::cast_slice(&force[axis]));
                }
                sums[lanes].copy_from_slice(bytemuck::cast_slice(&sum));
            }
            // Every point met itself, with q = 1.
            part.sum += sums.iter().take(n - first).map(|&sum| f64::from(sum) - 1.0).sum::<f64>();
        }
    }
}

/// Forces on points, and their sum of q.
#[inline(always)]
fn act<S: Simd, const D: usize, const V: usize>(
    simd: S,
    here: [[S::f32s; V]; D],
    far: &[u32],
    near: &[u32],
    nodes: &[Node],
    slots: [&[f32]; D],
) -> ([[S::f32s; V]; D], [S::f32s; V]) {
    let (zero, one) = (simd.splat_f32s(0.0), simd.splat_f32s(1.0));
    let (mut force, mut sum) = ([[zero; V]; D], [zero; V]);
    for &at in far {
        let node = nodes[at as usize];
        let mass = simd.splat_f32s(node[3]);
        for v in 0..V {
            let mut gaps = [zero; D];
            let mut square = one;
            for axis in 0..D {
                gaps[axis] = simd.sub_f32s(here[axis][v], simd.splat_f32s(node[axis]));
                square = simd.mul_add_e_f32s(gaps[axis], gaps[axis], square);
            }
            let q = simd.div_f32s(one, square);
            let weighted = simd.mul_f32s(mass, q);
            sum[v] = simd.add_f32s(sum[v], weighted);
            let factor = simd.mul_f32s(weighted, q);
            for axis in 0..D {
                force[axis][v] = simd.mul_add_e_f32s(factor, gaps[axis], force[axis][v]);
            }
        }
    }
    for &leaf in near {
        let start = leaf as usize * LEAF;
        let others: [&[f32]; D] = std::array::from_fn(|axis| &slots[axis][start..start + LEAF]);
        for other in 0..LEAF {
            for v in 0..V {
                let mut gaps = [zero; D];
                let mut square = one;
                for axis in 0..D {
                    gaps[axis] = simd.sub_f32s(here[axis][v], simd.splat_f32s(others[axis][other]));
                    square = simd.mul_add_e_f32s(gaps[axis], gaps[axis], square);
                }
                let q = simd.div_f32s(one, square);
                sum[v] = simd.add_f32s(sum[v], q);
                let factor = simd.mul_f32s(q, q);
                for axis in 0..D {
                    force[axis][v] = simd.mul_add_e_f32s(factor, gaps[axis], force[axis][v]);
                }
            }
        }
    }
    (force, sum)
}
