//! Clustering of marked points, such as the hits of a search, among all others: exact neighbours of some of
//! them, against chance.

#![expect(clippy::inline_always, reason = "compiled for an instruction set only where it is inlined")]

use pulp::{Simd, WithSimd};

use super::{
    Metric, Points, Progress, ProjectionError,
    dispatch::dispatch,
    neighbors::nearest::{Nearest, SHOWN},
    points::Prepared,
    products::{Pack, Panels, ROWS, VECTORS, interleave, products},
    quality::Gathering,
};

/// Marked points whose neighbours are looked for, evenly spaced where there are more.
pub const MOST_LOOKED: usize = 256;
/// Points among which they are looked for; where there are more, marked and unmarked ones are thinned out evenly,
/// the marked ones to no less than half of it.
pub const MOST_AMONG: usize = 1 << 15;

/// Points of which some are marked.
#[derive(Clone, Copy, Debug)]
pub struct Marked<'a> {
    /// All points.
    pub points: Points<'a>,
    /// Whose point each is: those of one owner, as query and key of a token, are no neighbours of each other.
    pub owners: &'a [u32],
    /// What each is: the number of its text.
    pub kinds: &'a [u32],
    pub marked: &'a [bool],
}

/// Points that each have a label, such as their position.
#[derive(Clone, Copy, Debug)]
pub struct Labelled<'a> {
    /// All points.
    pub points: Points<'a>,
    /// As of [`Marked`].
    pub owners: &'a [u32],
    /// Labels; points without one are left out.
    pub labels: &'a [Option<u32>],
    /// Labels that differ by no more than this count as the same.
    pub within: u32,
}

/// How much the marked points are together.
///
/// Of each marked point that is looked at, the nearest `k` points that are not its owner's are found; the hit is the
/// fraction of them that are marked, the chance the fraction among all that could have been found. `k` is at most the
/// number of marked ones that could have been found, so that 1 can always be reached. Both are means over the points
/// looked at. (The neighbourhood hit of Paulovich et al., 2008, in the space itself instead of a layout.)
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Clustering {
    /// Among all points; `None` when nothing is marked but one owner's points.
    pub any: Option<Gathering>,
    /// Among points of another kind than the one that is looked at: whether different words are together, and not
    /// only the copies of one. `None` when the marked points are all of one kind.
    pub across: Option<Gathering>,
    /// Marked points whose neighbours were looked for.
    pub n_looked: usize,
    /// Points among which they were looked for.
    pub n_among: usize,
}

impl Clustering {
    /// What heads are ranked by: the score across kinds where there are several, else among all points.
    pub fn score(&self) -> Option<f64> {
        self.across.or(self.any).map(Gathering::score)
    }

    /// Looks for the `k` nearest neighbours of marked points; `progress` is asked after every few of them.
    ///
    /// # Errors
    /// When owners, kinds or marks are not as many as points, when `k` is 0, or [`ProjectionError::Stopped`].
    pub fn of(cloud: Marked<'_>, k: usize, progress: Progress<'_>) -> Result<Self, ProjectionError> {
        let n = cloud.points.n();
        check(n, &[cloud.owners.len(), cloud.kinds.len(), cloud.marked.len()], k)?;
        let of = |marked: bool| (0..n).filter(|&i| cloud.marked[i] == marked).collect::<Vec<usize>>();
        let (marked, others) = (of(true), of(false));
        let fewest = MOST_AMONG / 2;
        let among = if n > MOST_AMONG {
            let mut among = evenly(&marked, fewest.max(MOST_AMONG.saturating_sub(others.len())));
            let others = evenly(&others, MOST_AMONG - among.len());
            among.extend(others);
            among
        } else {
            [marked, others].concat()
        };
        let n_marked = among.iter().filter(|&&i| cloud.marked[i]).count();
        let kinds = picked(&among, cloud.kinds);
        let several_kinds = kinds[..n_marked].iter().any(|kind| *kind != kinds[0]);
        let same = Same::Marked { n: n_marked, kinds, several_kinds };
        let looked = evenly(&(0..n_marked).collect::<Vec<_>>(), MOST_LOOKED);
        Self::among(cloud.points, &among, &looked, picked(&among, cloud.owners), same, k, progress)
    }

    /// How much points are near those of the same label: of each point that is looked at, the neighbours that share
    /// its label are the hits; chance is the fraction that shares it among all. There is nothing across kinds.
    ///
    /// # Errors
    /// As [`Self::of`].
    pub fn of_labels(cloud: Labelled<'_>, k: usize, progress: Progress<'_>) -> Result<Self, ProjectionError> {
        let n = cloud.points.n();
        check(n, &[cloud.owners.len(), cloud.labels.len()], k)?;
        let with_label: Vec<usize> = (0..n).filter(|&i| cloud.labels[i].is_some()).collect();
        let among = evenly(&with_label, MOST_AMONG);
        if among.is_empty() {
            return Ok(Self { any: None, across: None, n_looked: 0, n_among: 0 });
        }
        let labels = among.iter().filter_map(|&i| cloud.labels[i]).collect();
        let looked = evenly(&(0..among.len()).collect::<Vec<_>>(), MOST_LOOKED);
        let same = Same::Labels { labels, within: cloud.within };
        Self::among(cloud.points, &among, &looked, picked(&among, cloud.owners), same, k, progress)
    }

    /// `looked` are places in `among`, as are the owners.
    fn among(
        points: Points<'_>,
        among: &[usize],
        looked: &[usize],
        owners: Vec<u32>,
        same: Same,
        k: usize,
        progress: Progress<'_>,
    ) -> Result<Self, ProjectionError> {
        let values: Vec<f32> = among.iter().flat_map(|&i| points.row(i)).copied().collect();
        let points = Points::new(&values, among.len(), points.width())?;
        let search = ClusterSearch::new(Prepared::new(points, Metric::Euclidean), owners, same, k);
        let mut sums = [Sum::default(); 2];
        for (at, rows) in looked.chunks(ROWS).enumerate() {
            dispatch(RowGroup { search: &search, rows, sums: &mut sums });
            if !progress(at * ROWS + rows.len(), looked.len()) {
                return Err(ProjectionError::Stopped);
            }
        }
        let [any, across] = sums.map(Sum::mean);
        Ok(Self { any, across, n_looked: looked.len(), n_among: among.len() })
    }
}

fn check(n: usize, lengths: &[usize], k: usize) -> Result<(), ProjectionError> {
    if let Some(other) = lengths.iter().find(|len| **len != n) {
        return Err(ProjectionError::option("owners, kinds, marks or labels", other, "as many as there are points"));
    }
    if k == 0 { Err(ProjectionError::option("neighbours", k, "at least 1")) } else { Ok(()) }
}

fn picked(among: &[usize], of: &[u32]) -> Vec<u32> {
    among.iter().map(|&i| of[i]).collect()
}

/// At most `most` of a list, evenly spaced.
fn evenly(all: &[usize], most: usize) -> Vec<usize> {
    let n = all.len().min(most);
    (0..n).map(|at| all[at * all.len() / n]).collect()
}

/// Hits and chances of several points.
#[derive(Clone, Copy, Default)]
struct Sum {
    hit: f64,
    chance: f64,
    n: usize,
}

impl Sum {
    fn mean(self) -> Option<Gathering> {
        let n = self.n as f64;
        (self.n > 0).then(|| Gathering { hit: self.hit / n, chance: self.chance / n })
    }
}

/// Which neighbours are hits.
enum Same {
    /// The first `n` points, for each other; across kinds only those of another kind count.
    Marked { n: usize, kinds: Vec<u32>, several_kinds: bool },
    /// Those of the same label, up to a difference.
    Labels { labels: Vec<u32>, within: u32 },
}

struct ClusterSearch {
    panels: Panels,
    /// `‖x‖²`, infinite where there is no point.
    squares: Vec<f32>,
    owners: Vec<u32>,
    same: Same,
    k: usize,
    points: Prepared,
}

impl ClusterSearch {
    fn new(points: Prepared, owners: Vec<u32>, same: Same, k: usize) -> Self {
        let Prepared { values, n, width, .. } = &points;
        let panels = dispatch(Pack { values, n: *n, width: *width });
        let mut squares = vec![f32::INFINITY; panels.n_panels() * panels.wide()];
        for (i, square) in squares.iter_mut().enumerate().take(*n) {
            *square = values[i * width..(i + 1) * width].iter().map(|x| x * x).sum();
        }
        Self { panels, squares, owners, same, k, points }
    }

    /// Marks what is a hit for `row` and, by 1, what is no neighbour of it, `across` kinds or not.
    fn judge(&self, row: usize, across: bool, hits: &mut [u8], out: &mut [u8]) {
        for (out, owner) in out.iter_mut().zip(&self.owners) {
            *out = u8::from(*owner == self.owners[row]);
        }
        match &self.same {
            Same::Marked { n, kinds, .. } => {
                hits.fill(0);
                hits[..*n].fill(1);
                if across {
                    for (out, kind) in out.iter_mut().zip(kinds) {
                        *out |= u8::from(*kind == kinds[row]);
                    }
                }
            }
            Same::Labels { labels, within } => {
                for (hit, label) in hits.iter_mut().zip(labels) {
                    *hit = u8::from(label.abs_diff(labels[row]) <= *within);
                }
            }
        }
    }
}

/// Neighbours of up to [`ROWS`] points.
struct RowGroup<'a> {
    search: &'a ClusterSearch,
    rows: &'a [usize],
    sums: &'a mut [Sum; 2],
}

impl WithSimd for RowGroup<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { search, rows, sums } = self;
        let ClusterSearch { points, panels, squares, k, same, .. } = search;
        let (width, wide, n) = (points.width, panels.wide(), points.n);
        let mut gathered = Vec::with_capacity(ROWS * width);
        for &row in rows {
            gathered.extend_from_slice(&points.values[row * width..(row + 1) * width]);
        }
        let mut six = Vec::new();
        interleave(&gathered, rows.len(), width, &mut six);
        // What orders like the distance from each row: ‖y‖² − 2 x·y.
        let mut distances = vec![vec![0.0f32; squares.len()]; rows.len()];
        for panel in 0..panels.n_panels() {
            let dots = products(simd, &six[..width], panels.panel(panel));
            let of_panel = S::as_simd_f32s(&squares[panel * wide..(panel + 1) * wide]).0;
            for (r, distances) in distances.iter_mut().enumerate() {
                let out = S::as_mut_simd_f32s(&mut distances[panel * wide..(panel + 1) * wide]).0;
                for v in 0..VECTORS {
                    out[v] = simd.mul_add_e_f32s(dots[r][v], simd.splat_f32s(-2.0), of_panel[v]);
                }
            }
        }
        let mut nearest = Nearest::default();
        let (mut hits, mut out) = (vec![0u8; n], vec![0u8; n]);
        let ways = 1 + usize::from(matches!(same, Same::Marked { several_kinds: true, .. }));
        for (&row, distances) in rows.iter().zip(&mut distances) {
            for (across, sum) in sums.iter_mut().enumerate().take(ways) {
                search.judge(row, across == 1, &mut hits, &mut out);
                let (mut n_could, mut hits_could) = (0usize, 0usize);
                for j in 0..n {
                    distances[j] = if out[j] == 1 { f32::INFINITY } else { distances[j] };
                    n_could += usize::from(1 - out[j]);
                    hits_could += usize::from((1 - out[j]) & hits[j]);
                }
                let k = (*k).min(hits_could);
                if k == 0 {
                    continue;
                }
                nearest.restart(k);
                for (at, some) in distances.chunks(SHOWN).enumerate() {
                    nearest.show(some, at * SHOWN);
                }
                let mut n_hits = 0;
                for &kept in nearest.finish() {
                    n_hits += usize::from(hits[kept as u32 as usize]);
                }
                sum.hit += n_hits as f64 / k as f64;
                sum.chance += hits_could as f64 / n_could as f64;
                sum.n += 1;
            }
        }
    }
}
