//! What attention costs by length, as formulas of the sizes of a model, and how far approximations of one head's
//! pattern are from it.

use std::{ops::RangeInclusive, sync::Arc};

use emath::Rect;

use super::{joined, parts::OfParts};
use crate::{
    analysis::{
        approximations::{Approximation, Directions, Errors, ExactPattern, MOST, N_DRAWS},
        cost::{self, Pairs},
        explain::dense::Dense,
        timing::Timing,
    },
    capture::{Capture, Matrix},
    figure::{page::Captions, pen::Pen},
    ids::{HeadId, StackKind},
    raster::ColorMap,
    spec::ModelSpec,
    text::{counted, grouped},
};

mod draw;
mod options;
mod spec;

pub use draw::maps;
pub use options::CostOptions;
pub use spec::SPEC;

/// Lengths that formulas are drawn over are powers of two up to this one.
const LONGEST_POWER: usize = 16;
const SHORTEST_POWER: usize = 2;
/// Rounds of hashing that are compared; the last is drawn.
const ROUNDS: [usize; 2] = [1, 4];
/// Buckets and features that are compared, as powers of two.
const BUCKET_POWERS: RangeInclusive<usize> = 1..=7;
const FEATURE_POWERS: RangeInclusive<usize> = 3..=8;

/// A part of the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CostPart {
    /// Measured seconds by length.
    Time,
    /// Operations by length.
    Work,
    /// Bytes by length.
    Memory,
    /// The pattern beside its approximation.
    Patterns,
    /// Errors by rank.
    Ranks,
    /// Recalled mass by buckets.
    Hashing,
    /// Errors by random features.
    Features,
}

/// A line of a chart: its name, and values by what is on the level axis.
pub type Curve = (String, Vec<(usize, f64)>);

/// The approximations of one head's pattern.
#[derive(Clone, Debug)]
pub struct HeadCost {
    pub exact: ExactPattern,
    /// Errors by rank.
    pub ranks: Vec<(usize, Errors)>,
    /// By rounds, recalled mass by buckets; empty without queries and keys.
    pub hashing: Vec<Curve>,
    /// By directions, relative error by features; or why there are none.
    pub features: Result<Vec<Curve>, &'static str>,
}

impl HeadCost {
    fn of(capture: &Capture, head: HeadId) -> Option<Self> {
        let exact = ExactPattern::of(capture, head)?;
        let recalled = |rounds: usize| {
            let at = |power: usize| Some((1 << power, exact.mean_hashed(1 << power, rounds)?.0));
            Some((counted(rounds, "round"), BUCKET_POWERS.map(at).collect::<Option<_>>()?))
        };
        let error = |directions: Directions| {
            let at = |power: usize| -> Result<(usize, f64), &'static str> {
                Ok((1 << power, exact.mean_features(1 << power, directions)?.frobenius))
            };
            Ok((directions.name().to_owned(), FEATURE_POWERS.map(at).collect::<Result<_, _>>()?))
        };
        Some(Self {
            ranks: exact.by_rank(),
            hashing: ROUNDS.into_iter().filter_map(recalled).collect(),
            features: Directions::ALL.into_iter().map(error).collect(),
            exact,
        })
    }

    /// An approximation of the pattern; or why there is none, as a clause.
    fn approximation(&self, options: CostOptions) -> Result<Dense, &'static str> {
        match options.drawn {
            Approximation::Rank => self.exact.of_ranks(&[options.rank]).pop().ok_or("the pattern has no rank"),
            Approximation::Hashing => {
                let hashed = self.exact.hashed(options.buckets, ROUNDS[1], 0);
                hashed.map(|hashed| hashed.weights).ok_or("queries and keys are not recorded")
            }
            Approximation::Features => self.exact.of_features(options.features, Directions::Orthogonal, 0),
        }
    }

    /// What is left out of a long text, as a clause.
    pub fn part(&self) -> Option<String> {
        let ([rows, cols], [n_query, n_key]) = (self.exact.shape(), self.exact.n);
        let is_part = rows < n_query || cols < n_key;
        is_part.then(|| format!("the first {MOST} of {} queries and keys", grouped(n_query.max(n_key))))
    }
}

/// What is drawn of a model and of one head, whatever the options are.
#[derive(Clone, Debug)]
pub struct CostFacts {
    pub head: HeadId,
    pub model: Arc<ModelSpec>,
    /// Queries of the input.
    pub n: usize,
    /// `None` without a pattern.
    pub of_head: Option<HeadCost>,
}

impl CostFacts {
    /// Works out the approximations of a head.
    pub fn of(capture: &Capture, head: HeadId) -> Self {
        let n = capture.query_tokens(head.stack).len();
        Self { head, model: Arc::clone(capture.model()), n, of_head: HeadCost::of(capture, head) }
    }

    /// The parts that there are.
    pub fn parts(&self) -> Vec<CostPart> {
        let of_head = [CostPart::Patterns, CostPart::Ranks, CostPart::Hashing, CostPart::Features];
        let of_head = of_head.into_iter().filter(|_| self.of_head.is_some());
        [CostPart::Work, CostPart::Memory].into_iter().chain(of_head).collect()
    }

    /// What the masks of the model do to pairs, in a word; `None` where every query sees every key.
    fn mask(&self) -> Option<&'static str> {
        let has_window = self.model.stacks.iter().flat_map(|stack| &stack.layers).any(|layer| layer.window.is_some());
        let is_causal = self.model.stacks.iter().any(|stack| stack.causal);
        match (has_window, is_causal) {
            (true, _) => Some("masked"),
            (false, true) => Some("causal"),
            (false, false) => None,
        }
    }

    /// Operations by length: maps, MLPs, and pairs in several ways.
    pub fn work(&self, options: CostOptions) -> Vec<Curve> {
        let model = self.model.as_ref();
        let pairs = |name: String, pairs: Pairs| over_lengths(name, |n| Some(cost::pairs(model, pairs, n)));
        let side = if self.model.stacks.iter().all(|stack| stack.causal) { "" } else { "±" };
        let all = [
            over_lengths("maps".to_owned(), |n| Some(cost::maps(model, n))),
            over_lengths("MLP".to_owned(), |n| cost::mlps(model, n)),
            pairs("pairs, all".to_owned(), Pairs::All),
            self.mask().and_then(|mask| pairs(format!("pairs, {mask}"), Pairs::Masked)),
            pairs(format!("pairs, window {side}{}", options.window), Pairs::Window(options.window)),
            pairs(format!("pairs, rank {}", options.rank), Pairs::Rank(options.rank)),
        ];
        all.into_iter().flatten().collect()
    }

    /// Bytes by length.
    pub fn memory(&self) -> Vec<Curve> {
        let model = self.model.as_ref();
        let weights = cost::weight_bytes(model);
        let all = [
            over_lengths("weights".to_owned(), |_| (weights > 0.0).then_some(weights)),
            over_lengths("keys and values".to_owned(), |n| Some(cost::key_value_bytes(model, n))),
            over_lengths("patterns".to_owned(), |n| Some(cost::pattern_bytes(model, n))),
        ];
        all.into_iter().flatten().collect()
    }

    /// The least length at which pairs cost as much as the rest, in words.
    fn even_text(&self) -> String {
        let pairs = self.mask().unwrap_or("all");
        let rest = if cost::mlps(&self.model, 1).is_some() { "the rest" } else { "maps (MLP not known)" };
        match cost::even(&self.model, Pairs::Masked) {
            Some(n) => format!("{pairs} pairs reach {rest} at {} tokens", grouped(n)),
            None => format!("{pairs} pairs never reach {rest}"),
        }
    }
}

/// Values of every length; `None` where one is not known.
fn over_lengths(name: String, value: impl Fn(usize) -> Option<f64>) -> Option<Curve> {
    let values = (SHORTEST_POWER..=LONGEST_POWER).map(|power| Some((1 << power, value(1 << power)?)));
    Some((name, values.collect::<Option<_>>()?))
}

/// Why the view has nothing to show of a stack; `None` where it has.
fn unavailable(capture: &Capture, stack: StackKind) -> Option<&'static str> {
    let layers = &capture.model().stack(stack)?.layers;
    if layers.iter().any(|layer| !layer.mixer.is_attention()) {
        return Some(
            "Some layers have something else in place of attention, whose work and memory follow other formulas",
        );
    }
    layers
        .iter()
        .all(|layer| layer.fixed)
        .then_some("No query is compared with a key here: positions alone give the weights")
}

/// The view of one head.
#[derive(Clone, Debug)]
pub struct CostScene {
    pub facts: Arc<CostFacts>,
    /// Times that were measured of the model.
    pub timing: Option<Arc<Timing>>,
    pub options: CostOptions,
    /// The pattern and its approximation, with its errors; or why there is none, as a clause.
    pub patterns: Result<([Matrix; 2], Errors), &'static str>,
    color_map: ColorMap,
}

impl CostScene {
    /// With the approximation that the options name.
    pub fn new(facts: Arc<CostFacts>, timing: Option<Arc<Timing>>, options: CostOptions, color_map: ColorMap) -> Self {
        let of_head = facts.of_head.as_ref().ok_or("no pattern is recorded");
        let patterns = of_head.and_then(|of_head| {
            let found = of_head.approximation(options)?;
            let errors = of_head.exact.errors(&found);
            Ok(([of_head.exact.weights.to_matrix(), found.to_matrix()], errors))
        });
        Self { facts, timing, options, patterns, color_map }
    }

    /// The approximation that is drawn, in words.
    fn drawn_text(&self) -> String {
        let options = self.options;
        match options.drawn {
            Approximation::Rank => format!("rank {}", options.rank),
            Approximation::Hashing => format!("{} buckets, {}", options.buckets, counted(ROUNDS[1], "round")),
            Approximation::Features => counted(options.features, "orthogonal feature"),
        }
    }
}

impl OfParts for CostScene {
    type Part = CostPart;

    fn parts(&self) -> Vec<CostPart> {
        let time = self.timing.iter().map(|_| CostPart::Time);
        time.chain(self.facts.parts()).collect()
    }

    fn draw_part(&self, part: CostPart, rect: Rect, pen: &mut Pen<'_>) {
        self.draw_one(part, rect, pen);
    }

    fn said(&self) -> Captions {
        let facts = &self.facts;
        let formulas = format!("Formulas for the sizes of the model: {}", facts.even_text());
        let times = self.timing.as_ref().map_or_else(String::new, |timing| {
            format!("Times were measured with {}, nothing recorded and no logits", timing.machine_text())
        });
        let short = joined([formulas.as_str(), times.as_str()]);
        let of_head = facts.of_head.as_ref().map_or_else(String::new, |of_head| {
            let part = of_head.part().map_or_else(String::new, |part| format!(", {part}"));
            format!(
                "Approximations are of the pattern of {}{part}; hashing and features draw {N_DRAWS} times",
                facts.head
            )
        });
        let counts = "A product with its addition counts as two operations, weights as four bytes each";
        Captions { full: joined([short.as_str(), counts, of_head.as_str()]), short }
    }
}
