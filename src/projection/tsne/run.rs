//! The moving points: gradient, gains, momentum (Jacobs, 1988, as in van der Maaten's code).

use super::{
    TsneOptions,
    pull::{self, Pull},
    push::{self, LeafForces, Push},
    tree::{LEAF, Tree},
};
use crate::projection::{Affinities, dispatch::dispatch_narrow, spread};

/// After so many iterations points are grouped anew, and it is decided anew which groups act as one: little changes
/// in between.
const RECHOOSE: usize = 5;

/// In so many first iterations the points change places so fast that it is done each time.
const EAGER: usize = 20;

/// No point goes further in one step, as in openTSNE.
const LONGEST_STEP: f32 = 5.0;

/// Points of a part in which positions are summed.
const BLOCK: usize = 4096;

/// Points on their way, in `D` dimensions.
#[derive(Clone, Debug)]
pub(super) struct TsneRun<const D: usize> {
    affinities: Affinities,
    points: Vec<[f32; D]>,
    /// The last step of each point.
    steps: Vec<[f32; D]>,
    gains: Vec<[f32; D]>,
    attraction: Vec<[f32; D]>,
    repulsion: Vec<[f32; D]>,
    parts: Vec<LeafForces>,
    tree: Tree<D>,
    rate: f32,
}

impl<const D: usize> TsneRun<D> {
    pub fn new(affinities: Affinities, start: &[[f32; D]], rate: f32) -> Self {
        let n = start.len();
        let tree = Tree::new(n);
        Self {
            affinities,
            points: start.to_vec(),
            steps: vec![[0.0; D]; n],
            gains: vec![[1.0; D]; n],
            attraction: vec![[0.0; D]; n],
            repulsion: vec![[0.0; D]; n],
            parts: LeafForces::all(tree.n_leaves()),
            tree,
            rate,
        }
    }

    pub const fn affinities(&self) -> &Affinities {
        &self.affinities
    }

    pub fn layout(&self) -> &[[f32; D]] {
        &self.points
    }

    pub fn step(&mut self, iteration: usize, options: &TsneOptions) {
        let rechoose = iteration < EAGER || iteration.is_multiple_of(RECHOOSE);
        if rechoose {
            center(&mut self.points);
            self.tree.sort(&self.points);
        }
        self.tree.refit(&self.points);
        let (tree, points, n) = (&self.tree, &self.points[..], self.points.len());
        spread(&mut self.parts, n, |at, part| {
            if rechoose {
                part.choose(at, tree, options.theta);
            }
            dispatch_narrow(Push { part, at, n, tree });
        });
        let affinities = &self.affinities;
        let mut rows: Vec<_> = self.attraction.chunks_mut(pull::ROWS).collect();
        spread(&mut rows, n, |at, forces| {
            dispatch_narrow(Pull { affinities, points, first: at * pull::ROWS, forces });
        });
        for (part, slots) in self.parts.iter().zip(self.tree.order().chunks(push::LEAVES * LEAF)) {
            for (leaf, slots) in slots.chunks(LEAF).enumerate() {
                let forces = &part.forces[leaf * D * LEAF..(leaf + 1) * D * LEAF];
                for (slot, &i) in slots.iter().enumerate() {
                    self.repulsion[i as usize] = std::array::from_fn(|axis| forces[axis * LEAF + slot]);
                }
            }
        }
        let total: f64 = self.parts.iter().map(|part| part.sum).sum();
        let exaggerated = iteration < options.exaggerated_iterations;
        let settings = StepSettings {
            exaggeration: if exaggerated { options.exaggeration } else { 1.0 },
            momentum: options.momentum[usize::from(!exaggerated)],
            rate: self.rate,
            // A single point pushes nobody.
            share: if total > 0.0 { (1.0 / total) as f32 } else { 0.0 },
        };
        self.advance(settings);
    }

    fn advance(&mut self, settings: StepSettings) {
        let states = self.points.chunks_mut(BLOCK).zip(self.steps.chunks_mut(BLOCK)).zip(self.gains.chunks_mut(BLOCK));
        let forces = self.attraction.chunks(BLOCK).zip(self.repulsion.chunks(BLOCK));
        for (((points, steps), gains), (attraction, repulsion)) in states.zip(forces) {
            dispatch_narrow(|| {
                let states = steps.as_flattened_mut().iter_mut().zip(gains.as_flattened_mut());
                let forces = attraction.as_flattened().iter().zip(repulsion.as_flattened());
                for ((step, gain), (pull, push)) in states.zip(forces) {
                    let gradient = settings.exaggeration * pull - settings.share * push;
                    let turned = (gradient > 0.0) != (*step > 0.0);
                    *gain = if turned { *gain + 0.2 } else { (*gain * 0.8).max(0.01) };
                    *step = settings.momentum * *step - settings.rate * *gain * gradient;
                }
                for (point, step) in points.iter_mut().zip(steps) {
                    let square: f32 = step.iter().map(|x| x * x).sum();
                    if square > LONGEST_STEP * LONGEST_STEP {
                        let scale = LONGEST_STEP / square.sqrt();
                        for x in step.iter_mut() {
                            *x *= scale;
                        }
                    }
                    for axis in 0..D {
                        point[axis] += step[axis];
                    }
                }
            });
        }
    }
}

/// What one step goes by.
#[derive(Clone, Copy)]
struct StepSettings {
    exaggeration: f32,
    momentum: f32,
    rate: f32,
    share: f32,
}

/// Moves the points' mean to the origin.
fn center<const D: usize>(points: &mut [[f32; D]]) {
    let mut mean = [0.0f64; D];
    for point in &*points {
        for axis in 0..D {
            mean[axis] += f64::from(point[axis]);
        }
    }
    let mean = mean.map(|sum| (sum / points.len() as f64) as f32);
    for point in points {
        for axis in 0..D {
            point[axis] -= mean[axis];
        }
    }
}
