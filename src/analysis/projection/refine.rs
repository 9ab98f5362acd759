//! Layouts that are better than principal components and take longer: t-SNE and UMAP, head by head, one
//! iteration at a time.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{HeadProjection, Projection, ProjectionOptions, ScaleChoice, paused_layouts::Left};
use crate::{
    analysis::joint::{Joint, Together},
    ids::HeadId,
    projection::{
        Metric, Points, Progress, ProjectionError,
        tsne::{Tsne, TsneOptions},
        umap::{Umap, UmapOptions},
    },
    text::whole_text,
};

/// How points of the joint space are laid out in the plane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum LayoutMethod {
    /// The two directions of largest variance; at once.
    #[default]
    Pca,
    Tsne,
    Umap,
}

/// How many dimensions a layout has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Dims {
    /// Two.
    #[default]
    Plane,
    Space,
}

impl Dims {
    /// Two or three.
    pub const fn n(self) -> usize {
        match self {
            Self::Plane => 2,
            Self::Space => 3,
        }
    }

    /// Rows of so many coordinates as points; in the plane the third one is 0.
    pub(super) fn points(self, layout: &[f32]) -> Vec<[f32; 3]> {
        match self {
            Self::Plane => layout.as_chunks().0.iter().map(|&[x, y]| [x, y, 0.0]).collect(),
            Self::Space => layout.as_chunks().0.to_vec(),
        }
    }
}

/// Everything about the layout that can be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LayoutOptions {
    pub method: LayoutMethod,
    /// In the plane, or in space.
    pub dims: Dims,
    /// How distances between points are measured; principal components know only the Euclidean one.
    pub metric: Metric,
    /// Of t-SNE: about how many neighbours each point keeps close.
    pub perplexity: f32,
    /// Of t-SNE: how many iterations.
    pub iterations: usize,
    /// Of UMAP: neighbours that a point is compared with.
    pub neighbors: usize,
    /// Of UMAP: how near to each other points may come.
    pub min_dist: f32,
    /// Of UMAP: how many epochs; by the number of points where none are given.
    pub epochs: Option<usize>,
    /// Equal seeds give equal layouts.
    pub seed: u64,
}

impl Default for LayoutOptions {
    fn default() -> Self {
        let (tsne, umap) = (TsneOptions::default(), UmapOptions::default());
        Self {
            method: LayoutMethod::default(),
            dims: Dims::default(),
            metric: Metric::default(),
            perplexity: tsne.perplexity,
            iterations: tsne.iterations,
            neighbors: umap.neighbors,
            min_dist: umap.min_dist,
            epochs: umap.epochs,
            seed: tsne.seed,
        }
    }
}

impl LayoutOptions {
    /// Whether principal components are only where it starts.
    pub const fn is_refined(&self) -> bool {
        !matches!(self.method, LayoutMethod::Pca)
    }
}

/// How far the layout of a head is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Refined {
    /// Iterations that were done.
    pub iteration: usize,
    /// Iterations in all.
    pub iterations: usize,
    /// The perplexity that t-SNE used: less than was asked for where there are few points.
    pub perplexity: Option<f32>,
}

impl Refined {
    /// Its name in short.
    pub const fn name(&self) -> &'static str {
        if self.perplexity.is_some() { "t-SNE" } else { "UMAP" }
    }

    /// The same with what it was made with.
    pub fn text(&self) -> String {
        let Self { iteration, iterations, .. } = self;
        match self.perplexity {
            Some(perplexity) => {
                format!("t-SNE of perplexity {} after {iteration} of {iterations} iterations", whole_text(perplexity))
            }
            None => format!("UMAP after {iteration} of {iterations} epochs"),
        }
    }
}

/// The layout of one head, on its way.
enum Layout {
    Tsne(Box<Tsne>),
    Umap(Box<Umap>),
}

impl Layout {
    fn prepare(points: Points<'_>, options: LayoutOptions, go_on: Progress<'_>) -> Result<Self, ProjectionError> {
        let LayoutOptions { method: _, dims, metric, perplexity, iterations, neighbors, min_dist, epochs, seed } =
            options;
        let dims = dims.n();
        if options.method == LayoutMethod::Umap {
            let options = UmapOptions { dims, metric, neighbors, min_dist, epochs, seed, ..UmapOptions::default() };
            return Ok(Self::Umap(Box::new(Umap::prepare(points, &options, go_on)?)));
        }
        let options = TsneOptions { dims, metric, perplexity, iterations, seed, ..TsneOptions::default() };
        Ok(Self::Tsne(Box::new(Tsne::prepare(points, options, go_on)?)))
    }

    fn step(&mut self) {
        match self {
            Self::Tsne(tsne) => tsne.step(),
            Self::Umap(umap) => umap.step(),
        }
    }

    fn refined(&self) -> Refined {
        match self {
            Self::Tsne(tsne) => Refined {
                iteration: tsne.iteration(),
                iterations: tsne.options().iterations,
                perplexity: Some(tsne.perplexity()),
            },
            Self::Umap(umap) => {
                Refined { iteration: umap.iteration(), iterations: umap.iterations(), perplexity: None }
            }
        }
    }

    fn is_finished(&self) -> bool {
        let Refined { iteration, iterations, .. } = self.refined();
        iteration >= iterations
    }

    /// Where the points are now: queries, then keys.
    fn points(&self) -> &[f32] {
        match self {
            Self::Tsne(tsne) => tsne.layout(),
            Self::Umap(umap) => umap.layout(),
        }
    }
}

/// A head with its points where a layout has them: queries, then keys.
fn laid_out(head: &HeadProjection, dims: Dims, layout: &[f32], refined: Refined) -> HeadProjection {
    let points = dims.points(layout);
    let (queries, keys) = points.split_at(head.queries.len());
    HeadProjection { queries: queries.to_vec(), keys: keys.to_vec(), refined: Some(refined), ..head.clone() }
}

/// Where finished layouts are kept for the next time, by everything that they depend on: points and options.
pub trait LayoutCache {
    /// The layout of these points `[n, width]`, `[n, dims]`, with how it was made.
    fn find(&self, points: Points<'_>, options: &LayoutOptions) -> Option<(Vec<f32>, Refined)>;
    /// Keeps it.
    fn keep(&self, points: Points<'_>, options: &LayoutOptions, layout: &[f32], refined: Refined);
}

/// Keeps nothing.
#[derive(Clone, Copy, Debug)]
pub struct NoShelf;

impl LayoutCache for NoShelf {
    fn find(&self, _: Points<'_>, _: &LayoutOptions) -> Option<(Vec<f32>, Refined)> {
        None
    }

    fn keep(&self, _: Points<'_>, _: &LayoutOptions, _: &[f32], _: Refined) {}
}

/// One head on its way.
struct Current {
    /// Which, in the list of planes.
    idx: usize,
    layout: Layout,
    /// Its points in the joint space, and their width.
    joint: (Vec<f32>, usize, usize),
}

/// Heads that were left in the middle of their layout because another one is looked at: the last few.
#[derive(Default)]
pub struct Aside(Left<Current>);

impl std::fmt::Debug for Aside {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Aside").finish_non_exhaustive()
    }
}

/// Refines the planes of a projection, one head after the other.
pub struct Refiner<'a> {
    shelf: &'a dyn LayoutCache,
    planes: Projection,
    /// Heads that are still to be refined, the last one first.
    waiting: Vec<usize>,
    current: Option<Current>,
    first: HeadId,
    aside: Option<&'a Aside>,
}

impl Drop for Refiner<'_> {
    fn drop(&mut self) {
        if let (Some(aside), Some(current)) = (self.aside, self.current.take())
            && let Some(plane) = self.planes.heads.get(current.idx)
        {
            aside.0.put(&self.planes, plane.head, current);
        }
    }
}

impl<'a> Refiner<'a> {
    /// Goes on where `planes` are: what is finished stays. `first` comes first, then its layer, then all others.
    pub fn new(planes: Projection, first: HeadId, shelf: &'a dyn LayoutCache) -> Self {
        let mut refiner = Self { shelf, planes, waiting: Vec::new(), current: None, first, aside: None };
        refiner.line_up();
        refiner
    }

    /// A head that is not finished when this is dropped is put aside there; one that lies there goes on where it was.
    #[must_use]
    pub const fn with_aside(mut self, aside: &'a Aside) -> Self {
        self.aside = Some(aside);
        self
    }

    /// More heads, to be refined after what is being refined.
    pub fn add(&mut self, heads: impl IntoIterator<Item = Arc<HeadProjection>>) {
        let current = self.current.as_ref().map(|current| self.planes.heads[current.idx].head);
        self.planes.heads.extend(heads);
        self.planes.heads.sort_by_key(|plane| plane.head);
        let place = |head| self.planes.heads.iter().position(|plane| Some(plane.head) == head);
        if let (Some(idx), Some(current)) = (place(current), &mut self.current) {
            current.idx = idx;
        }
        self.line_up();
    }

    fn line_up(&mut self) {
        let (planes, first) = (&self.planes, self.first);
        let current = self.current.as_ref().map(|current| current.idx);
        let is_left = |idx: &usize| Some(*idx) != current && !planes.is_finished(planes.heads[*idx].head);
        let mut waiting: Vec<usize> = (0..planes.heads.len()).filter(is_left).collect();
        waiting.sort_by_key(|&idx| {
            let head = planes.heads[idx].head;
            (head != first, head.layer != first.layer, idx)
        });
        waiting.reverse();
        self.waiting = waiting;
    }

    /// One iteration of one head; false when there is nothing left to do. `go_on` is asked while neighbours are
    /// looked for.
    ///
    /// # Errors
    /// Options outside their range, points that are not finite, or that `go_on` said no.
    pub fn step(&mut self, go_on: Progress<'_>) -> Result<bool, ProjectionError> {
        let options = self.planes.options.layout;
        if let Some(Current { idx, layout, joint: (values, n, width) }) = &mut self.current {
            layout.step();
            if layout.is_finished() {
                let (points, refined) = (layout.points(), layout.refined());
                self.shelf.keep(Points::new(values, *n, *width)?, &options, points, refined);
                let plane = laid_out(&self.planes.heads[*idx], options.dims, points, refined);
                self.planes.heads[*idx] = Arc::new(plane);
                self.current = None;
            }
            return Ok(true);
        }
        let Some(idx) = self.waiting.pop() else { return Ok(false) };
        let head = self.planes.heads[idx].head;
        if let Some(current) = self.aside.and_then(|aside| aside.0.take(&self.planes, head)) {
            self.current = Some(Current { idx, ..current });
            return Ok(true);
        }
        let joint = self.joint(&self.planes.heads[idx])?;
        let points = Points::new(&joint.0, joint.1, joint.2)?;
        let kept = self.shelf.find(points, &options).filter(|(layout, _)| layout.len() == joint.1 * options.dims.n());
        if let Some((layout, refined)) = kept {
            let plane = laid_out(&self.planes.heads[idx], options.dims, &layout, refined);
            self.planes.heads[idx] = Arc::new(plane);
        } else {
            let layout = Layout::prepare(points, options, go_on)?;
            self.current = Some(Current { idx, layout, joint });
        }
        Ok(true)
    }

    /// All that is left, at once.
    ///
    /// # Errors
    /// As [`Self::step`].
    pub fn finish(mut self, go_on: Progress<'_>) -> Result<Projection, ProjectionError> {
        while self.step(go_on)? {}
        Ok(self.planes.clone())
    }

    /// The planes as they are now.
    pub fn planes(&self) -> Projection {
        let mut planes = self.planes.clone();
        if let Some(Current { idx, layout, .. }) = &self.current {
            let dims = planes.options.layout.dims;
            planes.heads[*idx] = Arc::new(laid_out(&planes.heads[*idx], dims, layout.points(), layout.refined()));
        }
        planes
    }

    /// How many heads of how many are done.
    pub fn progress(&self) -> (usize, usize) {
        let total = self.planes.heads.len();
        (total - self.waiting.len() - usize::from(self.current.is_some()), total)
    }

    /// The points of a cell in their space, queries before keys: values, points, width.
    fn joint(&self, plane: &HeadProjection) -> Result<(Vec<f32>, usize, usize), ProjectionError> {
        let scale = ScaleChoice::Fixed(plane.c);
        let options = ProjectionOptions { scale, ..self.planes.options };
        let joint = Joint::of(&self.planes.cloud, plane.head, &[], options).ok_or(ProjectionError::NoPoints)?;
        let Together { values, n, width, .. } = joint.together()?;
        Ok((values.into_owned(), n, width))
    }
}
