//! Weights that become arrows on the picture: from the patch that asks to what it attends to. The window and
//! figures agree.

use serde::{Deserialize, Serialize};

use super::weights::PatchRole;
use crate::{analysis::reading::ReadPattern, capture::ImageInfo, text::grouped};

/// Most arrows that are drawn; beyond, the strongest are kept.
pub const MAX_ARROWS: usize = 1_000;

/// Which weights become arrows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FlowKind {
    /// The strongest weight of each patch.
    Strongest,
    All,
}

vocabulary! {
    FlowKind: name;
    Strongest("strongest"),
    All("all"),
}

impl FlowKind {
    /// From which weight on arrows are drawn when nothing else is said: those of AttentionViz (Yeh et al.
    /// 2023).
    pub const fn usual_least(self) -> f32 {
        match self {
            Self::Strongest => 0.05,
            Self::All => 0.1,
        }
    }
}

/// Which weights become arrows, and from which size on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowFilter {
    pub kind: FlowKind,
    /// Smaller weights get no arrow; of a difference its size counts.
    pub least: f32,
}

impl FlowFilter {
    /// With the threshold of its kind.
    pub const fn usual(kind: FlowKind) -> Self {
        Self { kind, least: kind.usual_least() }
    }
}

/// What an arrow leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    Patch,
    Itself,
    /// A token before the patches, such as CLS.
    Prefix,
}

/// One weight that is drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flow {
    /// Position of the patch that asks.
    pub query: usize,
    /// Position of what it attends to.
    pub key: usize,
    /// The weight, or the difference.
    pub weight: f32,
    pub target: Target,
}

/// The arrows of one pattern.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Flows {
    /// Those that are drawn, the strongest last, ties by query, then key.
    pub drawn: Vec<Flow>,
    /// How many weights are large enough: more than are drawn where those are too many.
    pub n_found: usize,
    /// How many could have been: patches that ask, or of [`FlowKind::All`] their weights that are shown.
    pub n_candidates: usize,
}

impl Flows {
    /// The arrows that leave the patches of `image` in a pattern whose queries and keys are its tokens.
    ///
    /// What is left out or ruled out by a mask is no candidate, and a weight of 0 never gets an arrow. Of equal
    /// weights of one patch the first key counts as the strongest.
    pub fn of(read: &ReadPattern, image: &ImageInfo, filter: FlowFilter) -> Self {
        let first = image.n_prefix;
        let patches = first..first + image.grid.0 * image.grid.1;
        let is_found = |weight: f32| weight != 0.0 && weight.abs() >= filter.least;
        let mut flows = Self::default();
        for query in patches {
            let Some(row) = read.rows.group_of(query) else { continue };
            let shown = read.matrix.row(row).unwrap_or_default().iter().copied().enumerate();
            let shown = shown.take(read.cols.n_of_tokens());
            let shown = shown.filter(|&(col, weight)| !weight.is_nan() && read.blank(row, col).is_none());
            let flow = |(col, weight): (usize, f32)| {
                let key = read.cols.position(col)?;
                let target = if key == query {
                    Target::Itself
                } else if key < first {
                    Target::Prefix
                } else {
                    Target::Patch
                };
                Some(Flow { query, key, weight, target })
            };
            match filter.kind {
                FlowKind::Strongest => {
                    // `max_by` would take the last of equals.
                    let strongest = shown.reduce(|best, next| if next.1.abs() > best.1.abs() { next } else { best });
                    flows.n_candidates += usize::from(strongest.is_some());
                    flows.drawn.extend(strongest.filter(|it| is_found(it.1)).and_then(flow));
                }
                FlowKind::All => {
                    for cell in shown {
                        flows.n_candidates += 1;
                        if is_found(cell.1) {
                            flows.drawn.extend(flow(cell));
                        }
                    }
                }
            }
        }
        flows.n_found = flows.drawn.len();
        let size = |flow: &Flow| flow.weight.abs();
        flows.drawn.sort_by(|a, b| size(a).total_cmp(&size(b)).then((b.query, b.key).cmp(&(a.query, a.key))));
        flows.drawn.drain(..flows.n_found.saturating_sub(MAX_ARROWS));
        flows
    }

    /// Whether an arrow belongs to a token that is held: those that leave it, or those that end at it. A token
    /// before the patches has none that leave it.
    pub fn is_of(flow: &Flow, held: (usize, PatchRole)) -> bool {
        match held {
            (position, PatchRole::Query) if flow.target == Target::Prefix => [flow.query, flow.key].contains(&position),
            (position, PatchRole::Query) => flow.query == position,
            (position, PatchRole::Key) => flow.key == position,
        }
    }

    /// What is drawn and what is left out, to go on after a colon. `prefix` are the names of the tokens before
    /// the patches.
    pub fn in_words(&self, read: &ReadPattern, filter: FlowFilter, prefix: &[String]) -> String {
        let any = |target| self.drawn.iter().any(|flow| flow.target == target);
        let ring = any(Target::Itself).then(|| "ring: itself".to_owned());
        let square = any(Target::Prefix).then(|| format!("square: {}", prefix.join(", ")));
        let marks = [ring, square].into_iter().flatten().collect::<Vec<_>>().join(", ");
        let marks = if marks.is_empty() { marks } else { format!(" ({marks})") };
        let (what, least) = (if read.signed { "difference" } else { "weight" }, filter.least);
        let n_left = self.n_candidates - self.n_found;
        let n_drawn = if self.drawn.len() < self.n_found {
            format!("the {} strongest of {} arrows", grouped(self.drawn.len()), grouped(self.n_found))
        } else {
            many(self.n_found, "arrow", "arrows")
        };
        let (left, which) = match filter.kind {
            FlowKind::Strongest => {
                let most = if read.signed { "where its attention differs most" } else { "what it attends to most" };
                (many(n_left, "patch", "patches"), most)
            }
            FlowKind::All => {
                let left = many(n_left, &format!("smaller {what}"), &format!("smaller {what}s"));
                (left, if read.signed { "where its attention differs" } else { "what it attends to" })
            }
        };
        let left = match n_left {
            0 if self.drawn.len() < self.n_found => String::new(),
            0 => ", none left out".to_owned(),
            _ => format!(", {left} left out (below {least})"),
        };
        format!("{n_drawn}{left}; each leads from a patch to {which}{marks}")
    }
}

fn many(n: usize, one: &str, more: &str) -> String {
    format!("{} {}", grouped(n), if n == 1 { one } else { more })
}
