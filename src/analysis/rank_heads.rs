//! Heads ranked by what lies together in their joint space: the hits of a search, or points that share something.

use std::collections::HashMap;

use rayon::prelude::*;

use super::{
    PointCloud, Space,
    joint::Joint,
    projection::{ColorBy, PointValues, ProjectionOptions, values},
    search::Hits,
};
use crate::{
    capture::words,
    ids::{HeadId, StackKind},
    projection::{
        clustering::{Clustering, Labelled, Marked},
        correlation::InputSegment,
        to_the_end,
    },
};

/// Neighbours of each point that are looked at.
pub const NEIGHBORS: usize = 10;
/// Parts into which numbers are cut before neighbours are asked whether they share them.
const PARTS: usize = 8;

/// A head, and how much points are together in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankedHead {
    pub head: HeadId,
    /// Its clustering, among the [`NEIGHBORS`] nearest of each point.
    pub found: Clustering,
}

/// What neighbours may share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Shared {
    /// The text of the token, upper and lower case alike: semantic heads.
    Text,
    /// The position, up to one: positional heads.
    Position,
    /// Something that colours tell: the group, or the same eighth of all numbers.
    Told(ColorBy),
}

impl Shared {
    /// `text`, `position`, or what colours are called on the command line.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "text" => Some(Self::Text),
            "position" => Some(Self::Position),
            "type" => None,
            name => ColorBy::from_name(name).map(Self::Told),
        }
    }
}

/// How much the hits are together in every head of a stack, most first; heads that say nothing come last.
///
/// Neighbours are looked for in the joint space itself, scaled and translated as `options` say, so no layout is
/// needed: see [`Clustering`] for what is measured and for its chance level. `progress(done, total)` is called
/// between groups of heads and answers whether to go on; `None` when it said no.
pub fn rank(
    cloud: &PointCloud,
    stack: StackKind,
    hits: &Hits,
    options: ProjectionOptions,
    progress: &mut dyn FnMut(usize, usize) -> bool,
) -> Option<Vec<RankedHead>> {
    let points = Labels::of(cloud, (stack, options.space), hits);
    ranked(cloud, (stack, options.space), &|head, segments| points.clustering(cloud, head, segments, options), progress)
}

/// How much points share something with their neighbours in every head of a stack, most first.
///
/// `progress` as of [`rank`].
///
/// # Errors
/// A sentence when there is nothing to share.
pub fn rank_shared(
    cloud: &PointCloud,
    stack: StackKind,
    shared: Shared,
    options: ProjectionOptions,
    progress: &mut dyn FnMut(usize, usize) -> bool,
) -> Option<Result<Vec<RankedHead>, String>> {
    let points = Labels::of(cloud, (stack, options.space), &Hits::default());
    let labels = match shared {
        Shared::Told(by) if by.depends_on_head() => None,
        _ => match points.shared(cloud, HeadId { stack, ..HeadId::default() }, shared) {
            Ok(labels) => Some(labels),
            Err(reason) => return Some(Err(reason)),
        },
    };
    let within = u32::from(shared == Shared::Position);
    let of = |head: HeadId, segments: &[InputSegment]| {
        let of_head;
        let labels = if let Some(labels) = &labels {
            labels
        } else {
            of_head = points.shared(cloud, head, shared).ok()?;
            &of_head
        };
        points.labelled(cloud, head, segments, options, (labels, within))
    };
    ranked(cloud, (stack, options.space), &of, progress).map(Ok)
}

/// Every head with what `of` says of it, the highest score first.
fn ranked(
    cloud: &PointCloud,
    (stack, space): (StackKind, Space),
    of: &(dyn Fn(HeadId, &[InputSegment]) -> Option<Clustering> + Sync),
    progress: &mut dyn FnMut(usize, usize) -> bool,
) -> Option<Vec<RankedHead>> {
    let (heads, segments) = (cloud.cells(stack, space), cloud.segments(stack));
    let mut ranked: Vec<RankedHead> = Vec::with_capacity(heads.len());
    for group in heads.chunks(2 * rayon::current_num_threads().max(1)) {
        if !progress(ranked.len(), heads.len()) {
            return None;
        }
        let of = |head: &HeadId| of(*head, &segments).map(|found| RankedHead { head: *head, found });
        ranked.extend(group.par_iter().filter_map(of).collect::<Vec<_>>());
    }
    let score = |head: &RankedHead| head.found.score().unwrap_or(f64::NEG_INFINITY);
    ranked.sort_by(|a, b| score(b).total_cmp(&score(a)).then(a.head.cmp(&b.head)));
    progress(heads.len(), heads.len()).then_some(ranked)
}

/// What the points of a cell are, queries before keys.
struct Labels {
    space: Space,
    owners: Vec<u32>,
    kinds: Vec<u32>,
    marked: Vec<bool>,
}

impl Labels {
    fn of(cloud: &PointCloud, (stack, space): (StackKind, Space), hits: &Hits) -> Self {
        let sides = space.sides(stack);
        let n = sides.map(|side| side.map_or(0, |side| cloud.n(side)));
        let first_key = if sides[0] == sides[1] { 0 } else { n[0] };
        let mut numbers: HashMap<String, u32> = HashMap::new();
        let mut kinds = Vec::with_capacity(n[0] + n[1]);
        for token in sides.into_iter().flatten().flat_map(|side| cloud.tokens(side)) {
            // Copies of a word at the start and in the middle of a text are the same word.
            let next = numbers.len() as u32;
            kinds.push(*numbers.entry(words::bare(token.text).to_lowercase()).or_insert(next));
        }
        let mut marked = vec![false; n[0] + n[1]];
        let queries = hits.queries.iter().copied().filter(|_| sides[0].is_some());
        let keys = hits.keys.iter().filter(|_| sides[1].is_some()).map(|key| key + n[0] as u32);
        for point in queries.chain(keys) {
            if let Some(marked) = marked.get_mut(point as usize) {
                *marked = true;
            }
        }
        let owners = (0..n[0]).chain(first_key..first_key + n[1]).map(|owner| owner as u32).collect();
        Self { space, owners, kinds, marked }
    }

    fn clustering(
        &self,
        cloud: &PointCloud,
        head: HeadId,
        segments: &[InputSegment],
        options: ProjectionOptions,
    ) -> Option<Clustering> {
        let joint = Joint::of(cloud, head, segments, options)?;
        let together = joint.together().ok()?;
        let points = together.points().ok()?;
        let Self { owners, kinds, marked, .. } = self;
        Clustering::of(Marked { points, owners, kinds, marked }, NEIGHBORS, &to_the_end).ok()
    }

    fn labelled(
        &self,
        cloud: &PointCloud,
        head: HeadId,
        segments: &[InputSegment],
        options: ProjectionOptions,
        (labels, within): (&[Option<u32>], u32),
    ) -> Option<Clustering> {
        let joint = Joint::of(cloud, head, segments, options)?;
        let together = joint.together().ok()?;
        let points = together.points().ok()?;
        Clustering::of_labels(Labelled { points, owners: &self.owners, labels, within }, NEIGHBORS, &to_the_end).ok()
    }

    /// What every point has of what may be shared, as a number.
    fn shared(&self, cloud: &PointCloud, head: HeadId, shared: Shared) -> Result<Vec<Option<u32>>, String> {
        let by = match shared {
            Shared::Text => return Ok(self.kinds.iter().copied().map(Some).collect()),
            Shared::Position => {
                let sides = self.space.sides(head.stack).into_iter().flatten();
                let positions = sides.flat_map(|side| cloud.tokens(side)).map(|token| Some(token.position as u32));
                return Ok(positions.collect());
            }
            Shared::Told(by) => by,
        };
        match values(cloud, self.space, head, by) {
            PointValues::Type => Err("query or key is not a property of a token".to_owned()),
            PointValues::Missing(reason) => Err(reason),
            PointValues::Groups(groups) => Ok(groups.of.concat()),
            PointValues::Numbers(numbers) if numbers.cyclic => {
                let part = |x: f32| x.is_finite().then_some((x * PARTS as f32) as u32 % PARTS as u32);
                Ok(numbers.of.concat().into_iter().map(part).collect())
            }
            PointValues::Numbers(numbers) => Ok(parts(&numbers.of.concat())),
        }
    }
}

/// Which of [`PARTS`] parts of equal size a number belongs to; equal ones to the same.
fn parts(numbers: &[f32]) -> Vec<Option<u32>> {
    let mut sorted: Vec<f32> = numbers.iter().copied().filter(|x| x.is_finite()).collect();
    sorted.sort_unstable_by(f32::total_cmp);
    let part = |x: &f32| {
        let below = sorted.partition_point(|other| other < x);
        x.is_finite().then(|| (below * PARTS / sorted.len().max(1)) as u32)
    };
    numbers.iter().map(part).collect()
}
