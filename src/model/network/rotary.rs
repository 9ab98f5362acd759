//! Rotary position embeddings as configured: base, width and the ways to stretch them to long texts.

use std::{borrow::Cow, f64::consts::TAU, ops::Range, sync::Arc};

use crate::model::{LoadError, checkpoint::Config, kernels::Turns};

/// Base when a configuration names none.
const THETA: f64 = 10_000.0;
/// Kinds that the reference computes from the rotated share, whichever family asks.
const SCALED: [&str; 5] = ["linear", "dynamic", "yarn", "longrope", "llama3"];

/// One rotary embedding: how fast each pair of dimensions turns.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rotary {
    /// Radians per position, half as many as dimensions that are rotated.
    pub frequencies: Vec<f32>,
    /// Factor on cosine and sine (YaRN, LongRoPE); 1 otherwise.
    pub scale: f32,
    /// Other frequencies in longer texts.
    pub beyond: Option<Beyond>,
    /// Whether a dimension turns together with its neighbour (GPT-J) instead of one half of them away.
    pub neighbours: bool,
    /// Of a picture, whose patches have two places.
    pub patches: Option<RotaryPatches>,
    /// How queries grow along the text.
    pub query_growth: Option<QueryGrowth>,
}

/// How the patches of a picture are turned: by one of their places with every frequency, then by the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RotaryPatches {
    /// So many tokens that are not turned stand before them.
    pub n_prefix: usize,
    pub places: PatchPlaces,
    pub first: PatchAxis,
}

/// What counts as the place of a patch along an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum PatchPlaces {
    /// Whole turns from −1 to 1 at its middle (`DINOv3`).
    Middles,
    /// Its number, counted from here; with so many rows and columns in training, as if there were as many (EVA-02).
    Numbers { from: f32, trained: Option<(usize, usize)> },
}

/// An axis of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PatchAxis {
    Row,
    Column,
}

impl PatchPlaces {
    /// Of `n` patches of an axis; rounded where the references round.
    fn of(self, n: usize, n_trained: impl FnOnce((usize, usize)) -> usize) -> Vec<f32> {
        match self {
            Self::Middles => (0..n).map(|i| TAU as f32 * (2.0 * ((i as f32 + 0.5) / n as f32) - 1.0)).collect(),
            Self::Numbers { from, trained } => {
                let n_trained = trained.map(n_trained);
                let scaled = |place: f32| n_trained.map_or(place, |trained| place / n as f32 * trained as f32);
                (0..n).map(|i| scaled(i as f32 + from)).collect()
            }
        }
    }
}

/// Queries of position `p` are multiplied by `1 + beta · ln(1 + ⌊p / n_trained⌋)`, so that patterns of long texts stay
/// sharp (Llama 4).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct QueryGrowth {
    pub beta: f32,
    pub n_trained: f32,
}

impl QueryGrowth {
    /// The factors of positions; `None` where all of them are 1.
    fn factors(self, positions: Range<usize>) -> Option<Arc<[f32]>> {
        let Self { beta, n_trained } = self;
        let factor = |position: usize| 1.0 + beta * (1.0 + (position as f32 / n_trained).floor()).ln();
        (positions.end as f32 > n_trained).then(|| positions.map(factor).collect())
    }
}

/// Frequencies of texts with more tokens than `n_trained`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Beyond {
    pub n_trained: usize,
    pub frequencies: BeyondFrequencies,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum BeyondFrequencies {
    /// Their own (LongRoPE).
    Fixed {
        frequencies: Vec<f32>,
        /// Whether a text that grows beyond is turned anew while it is written, as Phi-3 does.
        anew: bool,
    },
    /// Of a base that grows with the text (NTK, “dynamic”).
    Growing { factor: f64, theta: f64, n_rotated: usize },
}

/// What a family calls things, and what it means by them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RotaryDialect {
    /// The base, beside the section.
    pub theta: &'static str,
    /// The rotated fraction of a head, beside the section.
    pub fraction: &'static str,
    /// Whether all kinds but the original form are LongRoPE, also under the name of YaRN (Phi-3).
    pub long: bool,
    /// Whether an odd number of rotated dimensions takes one more; otherwise the reference fails.
    pub odd: bool,
}

impl RotaryDialect {
    /// Of nearly all families.
    pub const COMMON: Self = Self { theta: "rope_theta", fraction: "partial_rotary_factor", long: false, odd: false };
}

/// The rotary embedding of one kind of layer, where a model has several.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LayerKind<'a> {
    /// What the kind is called in the section of rotary embeddings.
    pub name: &'a str,
    /// The base where the section says none.
    pub theta: f64,
    /// Whether what an older file says in `rope_scaling` is about these layers.
    pub scaled: bool,
}

/// What stands beside the sections of rotary embeddings.
#[derive(Clone, Copy)]
struct Beside {
    theta: f64,
    n_trained: Option<f64>,
    dialect: RotaryDialect,
    /// Whether YaRN's ramp begins and ends at whole dimensions.
    whole: bool,
    /// Whether the kind may stand under its older name, `type`.
    older_names: bool,
}

/// How YaRN stretches frequencies.
#[derive(Clone, Copy)]
struct Yarn {
    factor: f64,
    /// Turns in the length of training from which dimensions stay as they are.
    fast: f64,
    /// Turns up to which dimensions are stretched by the whole factor.
    slow: f64,
    theta: f64,
    n_rotated: usize,
    n_trained: f64,
    /// Whether the ramp begins and ends at whole dimensions.
    whole: bool,
}

/// `theta^(2i/n_rotated)`, rounded where the reference rounds, as all that is made of them: angles are many times as
/// large.
fn powers(theta: f64, n_rotated: usize) -> impl Iterator<Item = f32> {
    (0..n_rotated.div_ceil(2)).map(move |i| (theta as f32).powf((2 * i) as f32 / n_rotated as f32))
}

impl Rotary {
    /// The original form: `theta^(−2i/n_rotated)`. An odd number of dimensions is rotated as one more.
    pub fn new(theta: f64, n_rotated: usize) -> Self {
        let frequencies = powers(theta, n_rotated).map(f32::recip).collect();
        Self { frequencies, scale: 1.0, beyond: None, neighbours: false, query_growth: None, patches: None }
    }

    /// Of patches, for heads whose width four divides: `theta^(−4i/d_head)`.
    pub fn of_patches(theta: f64, d_head: usize, patches: RotaryPatches) -> Self {
        let step = 4.0 / d_head as f64;
        let frequency = |i: usize| (theta as f32).powf((i as f64 * step) as f32).recip();
        let frequencies = (0..d_head / 4).map(frequency).collect();
        let (beyond, query_growth) = (None, None);
        Self { frequencies, scale: 1.0, beyond, neighbours: false, query_growth, patches: Some(patches) }
    }

    /// What a configuration describes for heads of width `d_head`: `rope_scaling` or `rope_theta` as older
    /// files write them, or `rope_parameters`.
    ///
    /// `partial` is the rotated fraction of a head when the file does not say it; `None` for a family that
    /// rotates all of it whatever the file says.
    pub fn from_config(
        config: &Config,
        d_head: usize,
        partial: Option<f64>,
        dialect: RotaryDialect,
    ) -> Result<Self, LoadError> {
        let section = |name| config.section(name).filter(|section| !section.is_empty());
        let sections: Vec<_> = ["rope_scaling", "rope_parameters"].into_iter().find_map(section).into_iter().collect();
        let theta = config.number(&[dialect.theta])?.unwrap_or(THETA);
        // The length of training stands beside the section in some files, and goes first there.
        let n_trained = config.number(&["original_max_position_embeddings"])?;
        let whole = sections.first().is_none_or(|section| section.flag("truncate", true));
        Self::read(config, &sections, Beside { theta, n_trained, dialect, whole, older_names: true }, d_head, partial)
    }

    /// The embedding of one kind of layer, in the section of `rope_parameters` that has the kind's name; what
    /// an older file says about `scaled` layers in `rope_scaling` goes first. `theta` is the base where the
    /// section names none.
    pub fn of_kind(config: &Config, d_head: usize, kind: LayerKind<'_>) -> Result<Self, LoadError> {
        let older = if kind.scaled { config.section("rope_scaling") } else { None };
        let newer = config.section("rope_parameters").and_then(|section| section.section(kind.name));
        // An older section alone is put into a newer one, which has the kind already: the original form.
        let older_names = newer.is_some();
        let sections: Vec<_> = older.into_iter().chain(newer).collect();
        // The reference looks for it beside the kinds alone.
        let whole = config.section("rope_parameters").is_none_or(|section| section.flag("truncate", true));
        let beside = Beside { theta: kind.theta, n_trained: None, dialect: RotaryDialect::COMMON, whole, older_names };
        Self::read(config, &sections, beside, d_head, None)
    }

    /// As the first of the sections that has a key says.
    fn read(
        config: &Config,
        sections: &[Config],
        beside: Beside,
        d_head: usize,
        partial: Option<f64>,
    ) -> Result<Self, LoadError> {
        let Beside { theta, n_trained, dialect, whole, older_names } = beside;
        let number = |name: &'static str| -> Result<Option<f64>, LoadError> {
            let found = sections.iter().map(|section| section.number(&[name])).find(|x| !matches!(x, Ok(None)));
            found.unwrap_or(Ok(None))
        };
        let text = |name: &'static str| sections.iter().find_map(|section| section.text(&[name]));
        let kind = text("rope_type").or_else(|| text("type").filter(|_| older_names)).unwrap_or("default");
        let kind = if dialect.long && kind == "yarn" { "longrope" } else { kind };
        if dialect.long && !["default", "longrope", "su"].contains(&kind) {
            return Err(config.unsupported(format!("this family knows no rotary embedding of the kind “{kind}”")));
        }
        let theta = number("rope_theta")?.unwrap_or(theta);
        let fraction = || -> Result<Option<f64>, LoadError> {
            let own = number("partial_rotary_factor")?;
            if own.is_some() { Ok(own) } else { config.number(&[dialect.fraction]) }
        };
        let n_rotated = match partial {
            Some(partial) => (d_head as f64 * fraction()?.unwrap_or(partial)) as usize,
            None => d_head,
        };
        if !(theta > 0.0 && n_rotated.next_multiple_of(2) <= d_head) {
            return Err(config.error(format!("{n_rotated} of {d_head} dimensions cannot be rotated")));
        }
        // Phi-3 and GPT-NeoX turn one more, but not where a ramp has half as many numbers.
        if !n_rotated.is_multiple_of(2) && (!dialect.odd || kind == "yarn") {
            return Err(odd_share(config, n_rotated, d_head));
        }
        if partial.is_none() && SCALED.contains(&kind) && fraction()?.is_some_and(|fraction| fraction < 1.0) {
            return Err(config.unsupported(format!(
                "a rotated share of a head (partial_rotary_factor) with a rotary embedding of the kind “{kind}” is not \
                 supported for this architecture"
            )));
        }
        let plain = Self::new(theta, n_rotated);
        let n_ctx = || config.number(&["max_position_embeddings"]);
        let n_trained = || -> Result<f64, LoadError> {
            let n = n_trained.map_or_else(|| number("original_max_position_embeddings"), |n| Ok(Some(n)))?;
            let n = if n.is_some() { n } else { n_ctx()? };
            Ok(n.filter(|n| *n >= 1.0).unwrap_or(4096.0))
        };
        let factor = || -> Result<f64, LoadError> {
            match number("factor")? {
                Some(factor) if factor > 0.0 => Ok(factor),
                _ => Err(config.error("its rotary embedding has no factor")),
            }
        };
        match kind {
            "default" => Ok(plain),
            "dynamic" => {
                if n_rotated == 2 {
                    return Err(config.unsupported("a rotary embedding of the kind “dynamic” of 2 dimensions"));
                }
                let Some(n_trained) = n_ctx()?.filter(|n| *n >= 1.0) else { return Ok(plain) };
                let frequencies = BeyondFrequencies::Growing { factor: factor()?, theta, n_rotated };
                Ok(Self { beyond: Some(Beyond { n_trained: n_trained as usize, frequencies }), ..plain })
            }
            "linear" => factor().map(|factor| plain.map(|frequency| frequency / factor as f32)),
            "llama3" => {
                let low = number("low_freq_factor")?.unwrap_or(1.0);
                let high = number("high_freq_factor")?.unwrap_or(4.0);
                Ok(plain.llama3(factor()?, low, high, n_trained()?))
            }
            "yarn" => {
                let n_trained = n_trained()?;
                let factor = number("factor")?.or(n_ctx()?.map(|n| n / n_trained)).filter(|factor| *factor > 0.0);
                let factor = factor.ok_or_else(|| config.error("its rotary embedding has no factor"))?;
                let given = |name| -> Result<Option<f64>, LoadError> { Ok(number(name)?.filter(|x| *x != 0.0)) };
                let mut stretched = plain.yarn(Yarn {
                    factor,
                    fast: given("beta_fast")?.unwrap_or(32.0),
                    slow: given("beta_slow")?.unwrap_or(1.0),
                    theta,
                    n_rotated,
                    n_trained,
                    whole,
                });
                let growth = |by: f64| if factor <= 1.0 { 1.0 } else { 0.1 * by * factor.ln() + 1.0 };
                // Both, or neither counts.
                let default = match (given("mscale")?, given("mscale_all_dim")?) {
                    (Some(mscale), Some(all)) => growth(mscale) / growth(all),
                    _ => growth(1.0),
                };
                stretched.scale = number("attention_factor")?.unwrap_or(default) as f32;
                Ok(stretched)
            }
            // Dimensions that are not rotated stand still, and all count as rotated.
            "proportional" => {
                let n_turning = (fraction()?.unwrap_or(1.0) * d_head as f64 / 2.0) as usize;
                let factor = number("factor")?.unwrap_or(1.0) as f32;
                let turning = plain.frequencies.iter().enumerate();
                let frequencies = turning.map(|(i, f)| if i < n_turning { f / factor } else { 0.0 }).collect();
                Ok(Self { frequencies, ..plain })
            }
            "longrope" | "su" => {
                let list = |name| sections.iter().find_map(|section| section.numbers(name));
                let (Some(short), Some(long)) = (list("short_factor"), list("long_factor")) else {
                    return Err(config.error("its rotary embedding has no short_factor and long_factor"));
                };
                if short.len() != plain.frequencies.len() || long.len() != plain.frequencies.len() {
                    return Err(config.error(format!("its rotary embedding has {} factors", short.len())));
                }
                let n_trained = n_trained()?;
                let factor = number("factor")?.unwrap_or(n_ctx()?.unwrap_or(n_trained) / n_trained);
                let default = if factor <= 1.0 { 1.0 } else { (1.0 + factor.ln() / n_trained.ln()).sqrt() };
                let divided =
                    |by: &[f32]| powers(theta, n_rotated).zip(by).map(|(power, by)| 1.0 / (by * power)).collect();
                Ok(Self {
                    frequencies: divided(&short),
                    scale: number("attention_factor")?.unwrap_or(default) as f32,
                    beyond: Some(Beyond {
                        n_trained: n_trained as usize,
                        frequencies: BeyondFrequencies::Fixed { frequencies: divided(&long), anew: dialect.long },
                    }),
                    ..plain
                })
            }
            other => {
                Err(config
                    .unsupported(format!("its rotary embedding is of the kind “{other}”, which is not supported")))
            }
        }
    }

    fn map(self, f: impl Fn(f32) -> f32) -> Self {
        Self { frequencies: self.frequencies.into_iter().map(f).collect(), ..self }
    }

    /// Slow dimensions divided by `factor`, fast ones kept, those between blended (Llama 3.1).
    fn llama3(self, factor: f64, low: f64, high: f64, n_trained: f64) -> Self {
        // PyTorch divides a number by a tensor as the number times the reciprocal, which rounds otherwise.
        let divided = |number: f64, by: f32| by.recip() * number as f32;
        self.map(|frequency| {
            let wavelength = divided(TAU, frequency);
            if wavelength < (n_trained / high) as f32 {
                return frequency;
            }
            if wavelength > (n_trained / low) as f32 {
                return frequency / factor as f32;
            }
            let blend = (divided(n_trained, wavelength) - low as f32) / (high - low) as f32;
            (1.0 - blend) * frequency / factor as f32 + blend * frequency
        })
    }

    /// The same idea with a ramp over dimensions (YaRN, Peng et al. 2023).
    fn yarn(self, yarn: Yarn) -> Self {
        let Yarn { factor, fast, slow, theta, n_rotated, n_trained, whole } = yarn;
        let dimension = |turns: f64| n_rotated as f64 * (n_trained / (turns * TAU)).ln() / (2.0 * theta.ln());
        let (low, high) = (dimension(fast), dimension(slow));
        let (low, high) = if whole { (low.floor(), high.ceil()) } else { (low, high) };
        let (low, high) = (low.max(0.0), high.min(n_rotated as f64 - 1.0));
        let width = if low == high { 0.001 } else { high - low } as f32;
        let kept = |i: usize| 1.0 - ((i as f32 - low as f32) / width).clamp(0.0, 1.0);
        let blended = powers(theta, n_rotated).enumerate().map(|(i, power)| {
            let stretched = 1.0 / (factor as f32 * power);
            stretched * (1.0 - kept(i)) + power.recip() * kept(i)
        });
        Self { frequencies: blended.collect(), ..self }
    }

    /// Cosines and sines of patches in so many rows and columns, and of what stands before them.
    pub fn turns_on(&self, patches: RotaryPatches, (n_rows, n_columns): (usize, usize)) -> Turns {
        let RotaryPatches { n_prefix, places, first } = patches;
        let rows = places.of(n_rows, |(rows, _)| rows);
        let columns = places.of(n_columns, |(_, columns)| columns);
        let angles = |place: f32| self.frequencies.iter().map(move |frequency| place * frequency);
        let half = 2 * self.frequencies.len();
        let mut all = vec![0.0; n_prefix * half];
        for &row in &rows {
            for &column in &columns {
                let (one, other) = if first == PatchAxis::Row { (row, column) } else { (column, row) };
                all.extend(angles(one).chain(angles(other)));
            }
        }
        Turns::of_angles(&all, half).of_neighbours(self.neighbours)
    }

    /// Cosines and sines at some positions.
    pub fn turns(&self, positions: Range<usize>) -> Turns {
        let n = positions.end;
        let frequencies: Cow<'_, [f32]> = match self.beyond.as_ref().filter(|beyond| n > beyond.n_trained) {
            None => Cow::Borrowed(&self.frequencies),
            Some(Beyond { frequencies: BeyondFrequencies::Fixed { frequencies, .. }, .. }) => {
                Cow::Borrowed(frequencies)
            }
            Some(Beyond { frequencies: BeyondFrequencies::Growing { factor, theta, n_rotated }, n_trained }) => {
                // In single precision from the length on, as the reference has it.
                let stretch = (*factor as f32 * n as f32) / *n_trained as f32 - (factor - 1.0) as f32;
                let exponent = (*n_rotated as f64 / (*n_rotated as f64 - 2.0)) as f32;
                let theta = *theta as f32 * stretch.powf(exponent);
                Cow::Owned(Self::new(f64::from(theta), *n_rotated).frequencies)
            }
        };
        let factors = self.query_growth.and_then(|growth| growth.factors(positions.clone()));
        Turns::new(&frequencies, positions, self.scale).of_neighbours(self.neighbours).with_query_factors(factors)
    }

    /// The same for tokens that all stand at one place: nothing is turned.
    pub fn standing(&self) -> Self {
        let frequencies = vec![0.0; self.frequencies.len()];
        Self { frequencies, beyond: None, query_growth: None, ..self.clone() }
    }

    /// Length from which all of a text is turned by other angles than before, also what was written already.
    pub const fn turns_anew_at(&self) -> Option<usize> {
        match &self.beyond {
            Some(Beyond { n_trained, frequencies: BeyondFrequencies::Fixed { anew: true, .. } }) => {
                Some(*n_trained + 1)
            }
            _ => None,
        }
    }
}

fn odd_share(config: &Config, n_rotated: usize, d_head: usize) -> LoadError {
    config.unsupported(format!(
        "an odd number of rotated dimensions is not supported: its rotary share gives {n_rotated} of {d_head}"
    ))
}
