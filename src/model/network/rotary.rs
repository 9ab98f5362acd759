//! Rotary position embeddings as configured: base, width and the ways to stretch them to long texts.

use std::{f64::consts::TAU, ops::Range};

use crate::model::{LoadError, checkpoint::Config, kernels::Turns};

/// Base when a configuration names none.
const THETA: f64 = 10_000.0;

/// One rotary embedding: how fast each pair of dimensions turns.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rotary {
    /// Radians per position, `[n_rotated / 2]`.
    pub frequencies: Vec<f32>,
    /// Factor on cosine and sine (YaRN, LongRoPE); 1 otherwise.
    pub scale: f32,
    /// Other frequencies for texts longer than this (LongRoPE).
    pub beyond: Option<(usize, Vec<f32>)>,
}

impl Rotary {
    /// The original form: `theta^(−2i/n_rotated)`.
    pub fn new(theta: f64, n_rotated: usize) -> Self {
        let frequency = |i: usize| {
            // Rounded where the reference rounds: it raises to the power in single precision.
            let exponent = (2 * i) as f32 / n_rotated as f32;
            1.0 / (theta as f32).powf(exponent)
        };
        Self { frequencies: (0..n_rotated / 2).map(frequency).collect(), scale: 1.0, beyond: None }
    }

    /// What a configuration describes for heads of width `d_head`: `rope_parameters`, or
    /// `rope_theta` and `rope_scaling` as older files write them.
    ///
    /// `partial` is the rotated fraction of a head when the file does not say it.
    pub fn from_config(config: &Config, d_head: usize, partial: f64) -> Result<Self, LoadError> {
        let parameters = config.section("rope_parameters").or_else(|| config.section("rope_scaling"));
        Self::from_parameters(config, parameters.as_ref(), d_head, partial)
    }

    /// As [`from_config`](Self::from_config), from the section that describes one kind of layer.
    pub fn from_parameters(
        config: &Config,
        parameters: Option<&Config>,
        d_head: usize,
        partial: f64,
    ) -> Result<Self, LoadError> {
        let number = |aliases: &[&'static str]| -> Result<Option<f64>, LoadError> {
            let own = parameters.map(|section| section.number(aliases)).transpose()?.flatten();
            if own.is_some() { Ok(own) } else { config.number(aliases) }
        };
        let theta = number(&["rope_theta", "rotary_emb_base"])?.unwrap_or(THETA);
        let partial = number(&["partial_rotary_factor", "rotary_pct"])?.unwrap_or(partial);
        let n_rotated = (d_head as f64 * partial) as usize;
        if !(theta > 0.0 && n_rotated <= d_head && n_rotated.is_multiple_of(2)) {
            return Err(config.error(format!("{n_rotated} of {d_head} dimensions cannot be rotated")));
        }
        let plain = Self::new(theta, n_rotated);
        let kind = parameters.and_then(|section| section.text(&["rope_type", "type"])).unwrap_or("default");
        let factor = || -> Result<f64, LoadError> {
            match number(&["factor"])? {
                Some(factor) if factor > 0.0 => Ok(factor),
                _ => Err(config.error("its rotary embedding has no factor")),
            }
        };
        let n_trained = || -> Result<f64, LoadError> {
            let aliases = ["original_max_position_embeddings", "max_position_embeddings"];
            Ok(number(&aliases)?.filter(|n| *n >= 1.0).unwrap_or(4096.0))
        };
        match kind {
            // Stretching depends on the length only beyond what the model reads.
            "default" | "dynamic" => Ok(plain),
            "linear" => {
                let factor = factor()? as f32;
                Ok(plain.map(|frequency| frequency / factor))
            }
            "llama3" => {
                let low = number(&["low_freq_factor"])?.unwrap_or(1.0);
                let high = number(&["high_freq_factor"])?.unwrap_or(4.0);
                Ok(plain.llama3(factor()?, (low, high), n_trained()?))
            }
            "yarn" => {
                let factor = factor()?;
                let turns = (number(&["beta_fast"])?.unwrap_or(32.0), number(&["beta_slow"])?.unwrap_or(1.0));
                let mut stretched = plain.yarn(factor, turns, theta, n_trained()?);
                let default = if factor <= 1.0 { 1.0 } else { 0.1 * factor.ln() + 1.0 };
                stretched.scale = number(&["attention_factor"])?.unwrap_or(default) as f32;
                Ok(stretched)
            }
            "longrope" | "su" => {
                let section = parameters.unwrap_or(config);
                let (Some(short), Some(long)) = (section.numbers("short_factor"), section.numbers("long_factor"))
                else {
                    return Err(config.error("its rotary embedding has no short_factor and long_factor"));
                };
                if short.len() != n_rotated / 2 || long.len() != n_rotated / 2 {
                    return Err(config.error(format!("its rotary embedding has {} factors", short.len())));
                }
                let n_trained = n_trained()?;
                let n_ctx = config.number(&["max_position_embeddings"])?.unwrap_or(n_trained);
                let factor = number(&["factor"])?.unwrap_or(n_ctx / n_trained);
                let default = if factor <= 1.0 { 1.0 } else { (1.0 + factor.ln() / n_trained.ln()).sqrt() };
                let divided = |by: &[f32]| plain.frequencies.iter().zip(by).map(|(f, by)| f / by).collect();
                Ok(Self {
                    frequencies: divided(&short),
                    scale: number(&["attention_factor"])?.unwrap_or(default) as f32,
                    beyond: Some((n_trained as usize, divided(&long))),
                })
            }
            other => {
                Err(config.error(format!("its rotary embedding is of the kind “{other}”, which is not supported")))
            }
        }
    }

    fn map(self, f: impl Fn(f32) -> f32) -> Self {
        Self { frequencies: self.frequencies.into_iter().map(f).collect(), ..self }
    }

    /// Slow dimensions divided by `factor`, fast ones kept, those between blended (Llama 3.1).
    fn llama3(self, factor: f64, (low, high): (f64, f64), n_trained: f64) -> Self {
        self.map(|frequency| {
            let wavelength = TAU / f64::from(frequency);
            if wavelength < n_trained / high {
                return frequency;
            }
            if wavelength > n_trained / low {
                return frequency / factor as f32;
            }
            let blend = ((n_trained / wavelength - low) / (high - low)) as f32;
            (1.0 - blend) * frequency / factor as f32 + blend * frequency
        })
    }

    /// The same idea with a ramp over dimensions (YaRN, Peng et al. 2023).
    fn yarn(self, factor: f64, (fast, slow): (f64, f64), theta: f64, n_trained: f64) -> Self {
        let n_rotated = 2 * self.frequencies.len();
        let dimension = |turns: f64| n_rotated as f64 * (n_trained / (turns * TAU)).ln() / (2.0 * theta.ln());
        let low = dimension(fast).floor().max(0.0) as f32;
        let high = dimension(slow).ceil().min(n_rotated as f64 - 1.0) as f32;
        let high = if low == high { high + 0.001 } else { high };
        let ramp = |i: usize| ((i as f32 - low) / (high - low)).clamp(0.0, 1.0);
        let blended = self.frequencies.iter().enumerate().map(|(i, frequency)| {
            let stretched = frequency / factor as f32;
            stretched * ramp(i) + frequency * (1.0 - ramp(i))
        });
        Self { frequencies: blended.collect(), ..self }
    }

    /// Cosines and sines at some positions.
    pub fn turns(&self, positions: Range<usize>) -> Turns {
        let frequencies = match &self.beyond {
            Some((n_trained, long)) if positions.end > *n_trained => long,
            _ => &self.frequencies,
        };
        Turns::new(frequencies, positions, self.scale)
    }
}
