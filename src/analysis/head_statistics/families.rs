//! Families of heads: groups whose standardised numbers point the same way, each with the numbers on which it stands out.
//!
//! Groups are those of average linkage over the distance 1 − cosine (Sokal and Michener 1958), cut where there are as many
//! as are asked for; then heads that are nearer to another group than to their own go there, one at a time. Silhouettes
//! (Rousseeuw 1987) say how well that went.

use std::collections::BTreeMap;

use super::{
    Metric,
    similar::{Fingerprints, STANDS_OUT, cosine, reasons_text},
};
use crate::{
    ids::HeadId,
    text::{counted, decimal_text},
};

/// Numbers that are named as reasons.
const N_REASONS: usize = 3;
/// Numbers whose columns are more alike than this over all heads say the same.
const SAME: f64 = 0.9;
/// Distances that differ by less are equal.
const EQUAL: f64 = 1e-9;
/// Heads change their group at most so many times each.
const MOST_MOVES: usize = 4;

/// Groups of the heads of a stack.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Families {
    /// The largest first.
    families: Vec<Family>,
    /// Of each head its family, and its silhouette there.
    of: BTreeMap<HeadId, (usize, f64)>,
}

/// Heads that are alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Family {
    /// In order of layer and head.
    pub heads: Vec<HeadId>,
    /// Numbers on which its heads stand out on average, with whether they are high there; those that matter most first.
    pub reasons: Vec<(Metric, bool)>,
    /// The mean of the silhouettes of its heads, from −1 to 1.
    pub silhouette: f64,
}

impl Families {
    /// The families, the largest first.
    pub fn all(&self) -> &[Family] {
        &self.families
    }

    /// The family of a head, by its place.
    pub fn of(&self, head: HeadId) -> Option<usize> {
        self.of.get(&head).map(|(family, _)| *family)
    }

    /// How much nearer a head is to its family than to the next one, from −1 to 1; 0 of a head by itself.
    pub fn silhouette(&self, head: HeadId) -> Option<f64> {
        self.of.get(&head).map(|(_, silhouette)| *silhouette)
    }

    /// The mean of all silhouettes; none of no head.
    pub fn mean_silhouette(&self) -> Option<f64> {
        let n = self.of.len();
        (n > 0).then(|| self.of.values().map(|(_, silhouette)| silhouette).sum::<f64>() / n as f64)
    }

    /// Such as `2: previous token high; entropy low`.
    pub fn text(&self, nth: usize) -> String {
        self.families.get(nth).map(|family| format!("{}: {}", nth + 1, family.reason())).unwrap_or_default()
    }
}

impl Family {
    /// The numbers on which it stands out, in words.
    pub fn reason(&self) -> String {
        if self.reasons.is_empty() { "no number stands out".to_owned() } else { reasons_text(&self.reasons) }
    }

    /// How many heads, why, and how well they belong together.
    pub fn text(&self) -> String {
        let n = counted(self.heads.len(), "head");
        format!("{n}, silhouette {}: {}", decimal_text(self.silhouette), self.reason())
    }
}

impl Fingerprints {
    /// At most `n` families of the heads. The order of the heads does not matter.
    pub fn families(&self, n: usize) -> Families {
        let mut order: Vec<usize> = (0..self.heads.len()).collect();
        order.sort_by_key(|at| self.heads[*at]);
        let directions: Vec<Vec<f64>> = order.iter().map(|at| direction(&self.of[*at])).collect();
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let distances = Distances::of(order.len(), |a, b| 1.0 - dot(&directions[a], &directions[b]));
        let mut groups = linked(&distances, n.max(1));
        settle(&distances, &mut groups);
        groups.retain(|group| !group.is_empty());
        groups.sort_by_key(|group| (std::cmp::Reverse(group.len()), group[0]));
        let mut families = Families::default();
        for (nth, group) in groups.iter().enumerate() {
            let silhouettes: Vec<f64> = group.iter().map(|at| silhouette(&distances, &groups, nth, *at)).collect();
            for (at, silhouette) in group.iter().zip(&silhouettes) {
                families.of.insert(self.heads[order[*at]], (nth, *silhouette));
            }
            families.families.push(Family {
                heads: group.iter().map(|at| self.heads[order[*at]]).collect(),
                reasons: self.reasons_of(&group.iter().map(|at| order[*at]).collect::<Vec<_>>()),
                silhouette: silhouettes.iter().sum::<f64>() / group.len() as f64,
            });
        }
        families
    }

    /// Numbers on which a group stands out on average; of those that say the same the first.
    fn reasons_of(&self, group: &[usize]) -> Vec<(Metric, bool)> {
        let mean = |nth: usize| group.iter().map(|at| self.of[*at][nth]).sum::<f64>() / group.len() as f64;
        let mut means: Vec<(usize, f64)> = (0..self.metrics.len()).map(|nth| (nth, mean(nth))).collect();
        means.retain(|(_, mean)| mean.abs() >= STANDS_OUT);
        means.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
        let column = |nth: usize| self.of.iter().map(|head| head[nth]).collect::<Vec<f64>>();
        let mut chosen: Vec<(usize, bool)> = Vec::new();
        for (nth, mean) in means {
            let own = column(nth);
            let says_new = |known: &(usize, bool)| cosine(&own, &column(known.0)).is_none_or(|it| it.abs() < SAME);
            if chosen.len() < N_REASONS && chosen.iter().all(says_new) {
                chosen.push((nth, mean > 0.0));
            }
        }
        chosen.into_iter().map(|(nth, high)| (self.metrics[nth], high)).collect()
    }
}

/// A row of length 1; that of a head in the middle of all, which has no direction, is 0.
fn direction(row: &[f64]) -> Vec<f64> {
    let length = row.iter().map(|x| x * x).sum::<f64>().sqrt();
    if length > 0.0 { row.iter().map(|x| x / length).collect() } else { row.to_vec() }
}

/// Distances of all pairs.
struct Distances {
    n: usize,
    of: Vec<f64>,
}

impl Distances {
    fn of(n: usize, distance: impl Fn(usize, usize) -> f64) -> Self {
        let mut of = vec![0.0; n * n];
        for a in 0..n {
            for b in 0..a {
                let between = distance(b, a);
                of[a * n + b] = between;
                of[b * n + a] = between;
            }
        }
        Self { n, of }
    }

    fn between(&self, a: usize, b: usize) -> f64 {
        self.of[a * self.n + b]
    }

    /// The mean distance to a group, the point itself left out; none where nobody else is in it.
    fn to_group(&self, at: usize, group: &[usize]) -> Option<f64> {
        let n = group.iter().filter(|other| **other != at).count();
        (n > 0).then(|| group.iter().map(|other| self.between(at, *other)).sum::<f64>() / n as f64)
    }
}

/// Groups of average linkage, when `n` of them are left, each in ascending order. Of equally near groups those with the
/// first members are joined first.
fn linked(distances: &Distances, n: usize) -> Vec<Vec<usize>> {
    let all = distances.n;
    let mut groups: Vec<Vec<usize>> = (0..all).map(|at| vec![at]).collect();
    let mut between = distances.of.clone();
    let mut live: Vec<usize> = (0..all).collect();
    let nearest_of = |at: usize, live: &[usize], between: &[f64]| {
        let others = live.iter().copied().filter(|other| *other > at).map(|other| (between[at * all + other], other));
        others.min_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)))
    };
    let mut nearest: Vec<Option<(f64, usize)>> = (0..all).map(|at| nearest_of(at, &live, &between)).collect();
    while live.len() > n {
        let pairs = live.iter().filter_map(|at| Some((nearest[*at]?, *at)));
        let Some(((_, second), first)) = pairs.min_by(|a, b| a.0.0.total_cmp(&b.0.0).then(a.1.cmp(&b.1))) else {
            break;
        };
        let weights = [groups[first].len() as f64, groups[second].len() as f64];
        live.retain(|at| *at != second);
        for &other in live.iter().filter(|other| **other != first) {
            let joined = (weights[0] * between[first * all + other] + weights[1] * between[second * all + other])
                / (weights[0] + weights[1]);
            between[first * all + other] = joined;
            between[other * all + first] = joined;
        }
        let moved = std::mem::take(&mut groups[second]);
        groups[first].extend(moved);
        groups[first].sort_unstable();
        for &at in &live {
            let known = nearest[at].map(|(_, other)| other);
            let is_stale = at == first || known.is_some_and(|other| other == first || other == second);
            // The joined group may have come nearer than what was nearest.
            let is_nearer = at < first && nearest[at].is_some_and(|(known, _)| between[at * all + first] < known);
            if is_stale || is_nearer {
                nearest[at] = nearest_of(at, &live, &between);
            }
        }
    }
    groups.retain(|group| !group.is_empty());
    groups
}

/// Moves the worst placed point to the group that it is nearest to, until none is nearer to another group than to its own.
fn settle(distances: &Distances, groups: &mut [Vec<usize>]) {
    let (n, k) = (distances.n, groups.len());
    let mut own = vec![0; n];
    let mut sums = vec![0.0; n * k];
    for (nth, group) in groups.iter().enumerate() {
        for &member in group {
            own[member] = nth;
            (0..n).for_each(|at| sums[at * k + nth] += distances.between(at, member));
        }
    }
    for _ in 0..MOST_MOVES * n {
        let sizes: Vec<f64> = groups.iter().map(|group| group.len() as f64).collect();
        let mut worst: Option<(f64, usize, usize)> = None;
        for at in (0..n).filter(|at| sizes[own[*at]] > 1.0) {
            let here = sums[at * k + own[at]] / (sizes[own[at]] - 1.0);
            let others = (0..k).filter(|nth| *nth != own[at]).map(|nth| (sums[at * k + nth] / sizes[nth], nth));
            let Some((there, to)) = others.min_by(|a, b| a.0.total_cmp(&b.0)) else { return };
            // Equal ones stay where they are.
            if here - there > EQUAL && worst.is_none_or(|(known, ..)| here - there > known) {
                worst = Some((here - there, at, to));
            }
        }
        let Some((_, at, to)) = worst else { return };
        let from = std::mem::replace(&mut own[at], to);
        groups[from].retain(|member| *member != at);
        groups[to].push(at);
        groups[to].sort_unstable();
        for other in 0..n {
            sums[other * k + from] -= distances.between(other, at);
            sums[other * k + to] += distances.between(other, at);
        }
    }
}

/// The nearest group besides the own one, and how far it is on average.
fn next_group(distances: &Distances, groups: &[Vec<usize>], own: usize, at: usize) -> Option<(f64, usize)> {
    let others = groups.iter().enumerate().filter(|(nth, _)| *nth != own);
    let found = others.filter_map(|(nth, group)| Some((distances.to_group(at, group)?, nth)));
    found.min_by(|a, b| a.0.total_cmp(&b.0).then(groups[a.1].first().cmp(&groups[b.1].first())))
}

/// How much nearer a point is to its group than to the next one, in parts of the larger distance.
fn silhouette(distances: &Distances, groups: &[Vec<usize>], nth: usize, at: usize) -> f64 {
    let own = distances.to_group(at, &groups[nth]);
    let Some((own, (other, _))) = own.zip(next_group(distances, groups, nth, at)) else { return 0.0 };
    let most = own.max(other);
    if most > 0.0 { (other - own) / most } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix;

    /// Heads along some directions, with a little noise.
    fn fingerprints(n: usize, kinds: usize, noise: f64, seed: u64) -> Fingerprints {
        let mut random = SplitMix::new(seed);
        let mut number = || 2.0 * random.unit() - 1.0;
        let metrics: Vec<Metric> = Metric::ALL.into_iter().take(8).collect();
        let directions: Vec<Vec<f64>> = (0..kinds).map(|_| metrics.iter().map(|_| 3.0 * number()).collect()).collect();
        let of = (0..n).map(|at| directions[at % kinds].iter().map(|it| it + noise * number()).collect()).collect();
        Fingerprints { heads: (0..n).map(|at| HeadId::single(at / 4, at % 4)).collect(), metrics, of }
    }

    /// The same by looking at every pair of groups again in each step.
    fn by_brute_force(distances: &Distances, n: usize) -> Vec<Vec<usize>> {
        let mut groups: Vec<Vec<usize>> = (0..distances.n).map(|at| vec![at]).collect();
        while groups.len() > n {
            let mean = |a: usize, b: usize| {
                let pairs = groups[a].iter().flat_map(|x| groups[b].iter().map(move |y| (*x, *y)));
                let n = (groups[a].len() * groups[b].len()) as f64;
                pairs.map(|(x, y)| distances.between(x, y)).sum::<f64>() / n
            };
            let pairs = (0..groups.len()).flat_map(|a| (a + 1..groups.len()).map(move |b| (a, b)));
            let (a, b) = pairs.min_by(|x, y| mean(x.0, x.1).total_cmp(&mean(y.0, y.1))).unwrap();
            let joined = groups.remove(b);
            groups[a].extend(joined);
        }
        for group in &mut groups {
            group.sort_unstable();
        }
        groups.sort();
        groups
    }

    #[test]
    fn groups_are_those_of_average_linkage_by_its_definition() {
        let mut random = SplitMix::new(5);
        for n in [1, 2, 7, 30] {
            let numbers: Vec<f64> = (0..n * n).map(|_| random.unit()).collect();
            let distances = Distances::of(n, |a, b| numbers[a * n + b]);
            for k in [1, 3, 6] {
                let mut found = linked(&distances, k);
                found.sort();
                assert_eq!(found, by_brute_force(&distances, k), "{n} {k}");
            }
        }
    }

    #[test]
    fn every_head_is_nearer_to_its_family_and_the_order_of_heads_does_not_matter() {
        for (seed, noise) in [(1, 0.3), (2, 1.0), (3, 3.0), (4, 6.0)] {
            let all = fingerprints(48, 5, noise, seed);
            let families = all.families(5);
            let worst = families.of.values().map(|(_, silhouette)| *silhouette).fold(1.0, f64::min);
            assert!(worst > -1e-6, "{seed}: {worst}");
            assert_eq!(families.all().iter().map(|family| family.heads.len()).sum::<usize>(), 48);
            assert!(families.all().windows(2).all(|pair| pair[0].heads.len() >= pair[1].heads.len()));
            let mut order: Vec<usize> = (0..48).collect();
            SplitMix::new(9).shuffle(&mut order);
            let turned = Fingerprints {
                heads: order.iter().map(|at| all.heads[*at]).collect(),
                metrics: all.metrics.clone(),
                of: order.iter().map(|at| all.of[*at].clone()).collect(),
            };
            assert_eq!(turned.families(5), families);
        }
        // Clear directions are found again.
        let clear = fingerprints(40, 4, 0.3, 11).families(4);
        for family in clear.all() {
            let kinds: Vec<usize> = family.heads.iter().map(|head| (head.layer * 4 + head.head) % 4).collect();
            assert!(kinds.windows(2).all(|pair| pair[0] == pair[1]) && family.silhouette > 0.5, "{family:?}");
        }
    }

    #[test]
    fn reasons_are_numbers_on_which_a_family_stands_out_and_say_different_things() {
        let metrics: Vec<Metric> = Metric::ALL.into_iter().take(3).collect();
        // The second number is the first one again; the third is low where they are high.
        let row = |x: f64, y: f64| vec![x, x + 0.01, y];
        let of = vec![row(3.0, -1.5), row(3.5, -2.0), row(-2.0, 0.2), row(-2.5, 0.1)];
        let heads = (0..4).map(|head| HeadId::single(0, head)).collect();
        let families = Fingerprints { heads, metrics: metrics.clone(), of }.families(2);
        let first = &families.all()[families.of(HeadId::single(0, 0)).unwrap()];
        assert_eq!(first.heads, [HeadId::single(0, 0), HeadId::single(0, 1)]);
        assert_eq!(first.reasons, [(metrics[1], true), (metrics[2], false)]);
        assert!(first.silhouette > 0.9 && first.text().starts_with("2 heads, silhouette "), "{}", first.text());
        assert_eq!(Fingerprints { heads: Vec::new(), metrics, of: Vec::new() }.families(4), Families::default());
    }
}
