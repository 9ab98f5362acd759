//! Sampled attraction along edges and repulsion from random points, sixteen points at a time.

#![expect(clippy::needless_range_loop, reason = "several arrays are walked together")]
#![expect(clippy::inline_always, reason = "compiled for an instruction set only where it is inlined")]

use pulp::{Simd, WithSimd};

use super::{Curve, UmapOptions};
use crate::{
    projection::{Affinities, ProjectionError, dispatch::dispatch, lanes, spread},
    random::SplitMix,
};

/// Points that move in step.
const WIDE: usize = 16;

/// Groups of [`WIDE`] points that are worked on together.
const GROUPS: usize = 4;

/// No coordinate changes by more in one sample, as in umap-learn.
const LARGEST: f32 = 4.0;

/// Points on their way, in `D` dimensions.
#[derive(Clone, Debug)]
pub(super) struct UmapRun<const D: usize> {
    points: Vec<[f32; D]>,
    parts: Vec<EdgeSamples<D>>,
    settings: SampleSettings,
}

/// What all samples go by.
#[derive(Clone, Copy, Debug)]
struct SampleSettings {
    n: u32,
    a: f32,
    b: f32,
    negative_rate: usize,
    learning_rate: f32,
}

/// Some points with their edges.
#[derive(Clone, Debug, Default)]
struct EdgeSamples<const D: usize> {
    /// The points, by falling number of samples, so that those that move in step have about as many.
    heads: Vec<u32>,
    /// State of each point's random numbers.
    random: Vec<u32>,
    /// For each point where its edges end.
    ends: Vec<usize>,
    tails: Vec<u32>,
    /// Samples of each edge per epoch, in units of 2⁻³².
    rates: Vec<u32>,
    /// How much of the next sample of each edge is due; it is taken when this overflows.
    due: Vec<u32>,
    /// Where the points go.
    moved: Vec<[f32; D]>,
}

impl<const D: usize> UmapRun<D> {
    pub fn new(
        graph: &Affinities,
        start: &[[f32; D]],
        epochs: usize,
        options: &UmapOptions,
    ) -> Result<Self, ProjectionError> {
        let n = start.len();
        let curve = Curve::fit(f64::from(options.min_dist), f64::from(options.spread))?;
        let strongest = graph.weights.iter().copied().fold(0.0f32, f32::max);
        // Edges too weak to be sampled once are left out.
        let weakest = strongest / epochs.max(1) as f32;
        let kept = |weight: f32| weight > 0.0 && weight >= weakest;
        let samples = |i: usize| graph.row(i).1.iter().filter(|weight| kept(**weight)).sum::<f32>();
        let mut order: Vec<(f32, u32)> = (0..n).map(|i| (samples(i), i as u32)).collect();
        order.sort_by(|x, y| y.0.total_cmp(&x.0));
        let parts = order.chunks(WIDE * GROUPS).map(|heads| {
            let mut part = EdgeSamples { moved: vec![[0.0; D]; heads.len()], ..EdgeSamples::default() };
            for &(_, i) in heads {
                let (tails, weights) = graph.row(i as usize);
                // Whoever draws last within an epoch draws hardest: the order must not depend on the weight.
                let shuffled = |tail: u32| SplitMix::new(options.seed ^ u64::from(i) << 32 ^ u64::from(tail)).next();
                let edges = tails.iter().zip(weights).filter(|edge| kept(*edge.1));
                let mut edges: Vec<(u64, u32, f32)> = edges.map(|(&tail, &w)| (shuffled(tail), tail, w)).collect();
                edges.sort_unstable_by_key(|edge| (edge.0, edge.1));
                for (_, tail, weight) in edges {
                    part.tails.push(tail);
                    part.rates.push((f64::from(weight) / f64::from(strongest) * f64::from(u32::MAX)) as u32);
                    // A sample of full strength is due from the second epoch on, as in umap-learn.
                    part.due.push(0);
                }
                part.heads.push(i);
                part.ends.push(part.tails.len());
                // 0 is the one state from which these random numbers do not get away.
                part.random.push((SplitMix::new(options.seed ^ u64::from(i) << 32).next() >> 32) as u32 | 1);
            }
            part
        });
        let settings = SampleSettings {
            n: n as u32,
            a: curve.a as f32,
            b: curve.b as f32,
            negative_rate: options.negative_rate,
            learning_rate: options.learning_rate,
        };
        Ok(Self { points: start.to_vec(), parts: parts.collect(), settings })
    }

    pub fn layout(&self) -> &[[f32; D]] {
        &self.points
    }

    pub fn step(&mut self, epoch: usize, epochs: usize) {
        let rate = self.settings.learning_rate * (1.0 - epoch as f32 / epochs as f32);
        let (points, settings) = (&self.points[..], self.settings);
        spread(&mut self.parts, points.len(), |_, part| {
            dispatch(Epoch { part, points, settings, rate });
        });
        for part in &self.parts {
            for (&i, moved) in part.heads.iter().zip(&part.moved) {
                self.points[i as usize] = *moved;
            }
        }
    }
}

/// One epoch of some points.
struct Epoch<'a, const D: usize> {
    part: &'a mut EdgeSamples<D>,
    points: &'a [[f32; D]],
    settings: SampleSettings,
    rate: f32,
}

impl<const D: usize> WithSimd for Epoch<'_, D> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match S::F32_LANES {
            16.. => self.with_vectors::<S, 1>(simd),
            8 => self.with_vectors::<S, 2>(simd),
            4 => self.with_vectors::<S, 4>(simd),
            _ => self.with_vectors::<S, WIDE>(simd),
        }
    }
}

impl<const D: usize> Epoch<'_, D> {
    /// With sixteen points in `V` vectors.
    #[inline(always)]
    fn with_vectors<S: Simd, const V: usize>(self, simd: S) {
        let Self { part, points, settings, rate } = self;
        let mut samples: Vec<[u32; WIDE]> = Vec::new();
        let n_heads = part.heads.len();
        let mut edge = 0;
        for first in (0..n_heads).step_by(WIDE) {
            let wide = (n_heads - first).min(WIDE);
            let mut heads = [part.heads[first]; WIDE];
            heads[..wide].copy_from_slice(&part.heads[first..first + wide]);
            // Which edges are sampled now, in columns.
            let most = (first..first + wide)
                .map(|at| part.ends[at] - if at > 0 { part.ends[at - 1] } else { 0 })
                .fold(0, usize::max);
            samples.clear();
            samples.resize(most + 1, heads);
            let mut counts = [0u32; WIDE];
            let mut longest = 0;
            for lane in 0..wide {
                let edges = edge..part.ends[first + lane];
                edge = edges.end;
                let (due, rates) = (&mut part.due[edges.clone()], &part.rates[edges.clone()]);
                let mut count = 0;
                for ((due, &rate), &tail) in due.iter_mut().zip(rates).zip(&part.tails[edges]) {
                    *due = due.wrapping_add(rate);
                    samples[count][lane] = tail;
                    count += usize::from(*due < rate);
                }
                counts[lane] = count as u32;
                longest = longest.max(count);
            }
            let mut random = [1u32; WIDE];
            random[..wide].copy_from_slice(&part.random[first..first + wide]);
            let group = PointGroup { heads: &heads, counts: &counts, samples: &samples[..longest] };
            let moved = group.samples::<S, D, V>(simd, points, settings, rate, &mut random);
            part.random[first..first + wide].copy_from_slice(&random[..wide]);
            for lane in 0..wide {
                for axis in 0..D {
                    part.moved[first + lane][axis] = moved[axis][lane];
                }
            }
        }
    }
}

/// Sixteen points and the edges that are sampled.
struct PointGroup<'a> {
    heads: &'a [u32; WIDE],
    counts: &'a [u32; WIDE],
    samples: &'a [[u32; WIDE]],
}

impl PointGroup<'_> {
    #[inline(always)]
    fn samples<S: Simd, const D: usize, const V: usize>(
        &self,
        simd: S,
        points: &[[f32; D]],
        settings: SampleSettings,
        rate: f32,
        random: &mut [u32; WIDE],
    ) -> [[f32; WIDE]; D] {
        let SampleSettings { n, a, b, negative_rate, .. } = settings;
        let zero = simd.splat_f32s(0.0);
        let mut here = gather(points, self.heads);
        let head = S::as_simd_u32s(self.heads).0;
        for (t, tails) in self.samples.iter().enumerate() {
            // What a point that has had all its samples would do is multiplied by 0.
            let mut steps = [0.0f32; WIDE];
            for lane in 0..WIDE {
                steps[lane] = if (t as u32) < self.counts[lane] { rate } else { 0.0 };
            }
            let others = gather(points, tails);
            for v in 0..V {
                let step = S::as_simd_f32s(&steps).0[v];
                let (gaps, square) = apart::<S, D>(simd, &here, &others, v);
                let square = simd.max_f32s(square, simd.splat_f32s(1e-20));
                let power = pow(simd, square, b);
                let below = simd.mul_f32s(square, simd.mul_add_e_f32s(power, simd.splat_f32s(a), simd.splat_f32s(1.0)));
                let factor = simd.div_f32s(simd.mul_f32s(power, simd.splat_f32s(-2.0 * a * b)), below);
                // From both ends.
                let step = simd.add_f32s(step, step);
                for axis in 0..D {
                    let force = clamp(simd, simd.mul_f32s(factor, gaps[axis]));
                    let to = &mut S::as_mut_simd_f32s(&mut here[axis]).0[v];
                    *to = simd.mul_add_e_f32s(force, step, *to);
                }
            }
            let mut pushes = [[0.0f32; WIDE]; D];
            for _ in 0..negative_rate {
                let mut chosen = [0u32; WIDE];
                for v in 0..V {
                    let state = &mut S::as_mut_simd_u32s(random).0[v];
                    *state = xorshift(simd, *state);
                    // The high half of the product is uniform below n.
                    S::as_mut_simd_u32s(&mut chosen).0[v] = simd.widening_mul_u32s(*state, simd.splat_u32s(n)).1;
                }
                let others = gather(points, &chosen);
                for v in 0..V {
                    let (gaps, square) = apart::<S, D>(simd, &here, &others, v);
                    let power = pow(simd, square, b);
                    let near = simd.add_f32s(square, simd.splat_f32s(0.001));
                    let below =
                        simd.mul_f32s(near, simd.mul_add_e_f32s(power, simd.splat_f32s(a), simd.splat_f32s(1.0)));
                    let factor = simd.div_f32s(simd.splat_f32s(2.0 * b), below);
                    let itself = simd.equal_u32s(S::as_simd_u32s(&chosen).0[v], head[v]);
                    let factor = simd.select_f32s(itself, zero, factor);
                    for axis in 0..D {
                        let force = clamp(simd, simd.mul_f32s(factor, gaps[axis]));
                        let to = &mut S::as_mut_simd_f32s(&mut pushes[axis]).0[v];
                        *to = simd.add_f32s(*to, force);
                    }
                }
            }
            for v in 0..V {
                let step = S::as_simd_f32s(&steps).0[v];
                for axis in 0..D {
                    let push = S::as_simd_f32s(&pushes[axis]).0[v];
                    let to = &mut S::as_mut_simd_f32s(&mut here[axis]).0[v];
                    *to = simd.mul_add_e_f32s(push, step, *to);
                }
            }
        }
        here
    }
}

/// Coordinates of sixteen points, by axis.
#[inline(always)]
fn gather<const D: usize>(points: &[[f32; D]], indices: &[u32; WIDE]) -> [[f32; WIDE]; D] {
    let mut values = [[0.0f32; WIDE]; D];
    for lane in 0..WIDE {
        let point = points[indices[lane] as usize];
        for axis in 0..D {
            values[axis][lane] = point[axis];
        }
    }
    values
}

/// Differences and the squared distance.
#[inline(always)]
fn apart<S: Simd, const D: usize>(
    simd: S,
    here: &[[f32; WIDE]; D],
    there: &[[f32; WIDE]; D],
    v: usize,
) -> ([S::f32s; D], S::f32s) {
    let mut gaps = [simd.splat_f32s(0.0); D];
    let mut square = simd.splat_f32s(0.0);
    for axis in 0..D {
        let gap = simd.sub_f32s(S::as_simd_f32s(&here[axis]).0[v], S::as_simd_f32s(&there[axis]).0[v]);
        gaps[axis] = gap;
        square = simd.mul_add_e_f32s(gap, gap, square);
    }
    (gaps, square)
}

/// `x^b`; for x = 0 something very small.
#[inline(always)]
fn pow<S: Simd>(simd: S, x: S::f32s, b: f32) -> S::f32s {
    lanes::exp2(simd, simd.mul_f32s(lanes::log2(simd, x), simd.splat_f32s(b)))
}

#[inline(always)]
fn clamp<S: Simd>(simd: S, x: S::f32s) -> S::f32s {
    simd.max_f32s(simd.min_f32s(x, simd.splat_f32s(LARGEST)), simd.splat_f32s(-LARGEST))
}

/// Marsaglia's xorshift (2003) on 32 bits.
#[inline(always)]
fn xorshift<S: Simd>(simd: S, x: S::u32s) -> S::u32s {
    let x = simd.xor_u32s(x, simd.wrapping_dyn_shl_u32s(x, simd.splat_u32s(13)));
    let x = simd.xor_u32s(x, simd.wrapping_dyn_shr_u32s(x, simd.splat_u32s(17)));
    simd.xor_u32s(x, simd.wrapping_dyn_shl_u32s(x, simd.splat_u32s(5)))
}
