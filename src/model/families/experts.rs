//! Experts in place of the MLPs of LLaMA's relatives.

use super::{Activation, Config, Dense, LinearPart, LoadError, Mixture, Stored, Weights, map};

/// More experts than any model has in a layer.
const MOST: usize = 1 << 12;

/// How a family stores its experts, and what its class does when the configuration does not say.
#[derive(Clone, Copy)]
pub(super) struct ExpertPlan {
    /// Names of the key of their number, and that without it.
    pub n: (&'static [&'static str], usize),
    /// Experts that a token goes to.
    pub n_chosen: usize,
    /// Key of an expert's width, and that without it.
    pub width: (&'static str, usize),
    /// Whether their weights are brought back to a sum of 1.
    pub sum: WeightSum,
    /// Whether some layers may have one MLP (`decoder_sparse_step`, `mlp_only_layers`).
    pub is_mixed: bool,
    /// Width of an expert of all tokens, where there is one.
    pub shared: Option<usize>,
    /// Name of the part of a layer, and those of the gate, the map up and the map down of an expert.
    pub names: (&'static str, [&'static str; 3]),
}

/// Sums of the chosen experts' weights.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WeightSum {
    One,
    /// One, where `norm_topk_prob` says so.
    Configured,
}

/// Keys that training alone reads.
pub(super) const TRAINING: &[&str] = &["router_aux_loss_coef", "router_jitter_noise"];

/// As Qwen's are stored.
pub(super) const QWEN_NAMES: (&str, [&str; 3]) = ("mlp", ["gate_proj", "up_proj", "down_proj"]);

/// Experts that a configuration describes.
#[derive(Clone, Debug)]
pub(super) struct ExpertShape {
    n: usize,
    n_chosen: usize,
    width: usize,
    normalised: bool,
    shared: Option<usize>,
    names: (&'static str, [&'static str; 3]),
    /// Of each layer, whether it has experts.
    layers: Vec<bool>,
}

impl ExpertPlan {
    pub fn shape(&self, config: &Config, n_layers: usize) -> Result<ExpertShape, LoadError> {
        let n = config.optional_size(self.n.0, MOST)?.unwrap_or(self.n.1);
        let n_chosen = config.optional_size(&["num_experts_per_tok"], MOST)?.unwrap_or(self.n_chosen);
        if n_chosen > n {
            return Err(
                config.error(format!("each token goes to {n_chosen} experts (num_experts_per_tok), but there are {n}"))
            );
        }
        let width = config.optional_size(&[self.width.0], 1 << 24)?.unwrap_or(self.width.1);
        let normalised = match self.sum {
            WeightSum::One => true,
            WeightSum::Configured => config.flag("norm_topk_prob", false),
        };
        let shared = match self.shared {
            Some(width) => Some(config.optional_size(&["shared_expert_intermediate_size"], 1 << 24)?.unwrap_or(width)),
            None => None,
        };
        let layers = if self.is_mixed {
            let step = config.optional_size(&["decoder_sparse_step"], MOST)?.unwrap_or(1);
            let plain = config.numbers("mlp_only_layers").unwrap_or_default();
            (0..n_layers).map(|layer| !plain.contains(&(layer as f32)) && (layer + 1).is_multiple_of(step)).collect()
        } else {
            vec![true; n_layers]
        };
        Ok(ExpertShape { n, n_chosen, width, normalised, shared, names: self.names, layers })
    }
}

impl ExpertShape {
    /// Whether a layer has experts.
    pub fn is_of(&self, layer: usize) -> bool {
        self.layers.get(layer).copied().unwrap_or(false)
    }

    /// The experts of the layer whose tensors begin with `prefix`.
    pub fn read(
        &self,
        weights: &mut Weights<'_>,
        prefix: &str,
        d_model: usize,
        activation: Activation,
    ) -> Result<Mixture, LoadError> {
        let (part, names) = self.names;
        let block = format!("{prefix}.{part}");
        let router = map(weights, &format!("{block}.gate"), (d_model, self.n), false)?;
        let experts = (0..self.n).map(|expert| {
            let of = names.map(|name| format!("{block}.experts.{expert}.{name}"));
            gated(weights, &of, (d_model, self.width), activation)
        });
        let experts = experts.collect::<Result<Vec<_>, _>>()?;
        let shared = match self.shared {
            Some(width) => {
                let of = names.map(|name| format!("{block}.shared_expert.{name}"));
                let gate = map(weights, &format!("{block}.shared_expert_gate"), (d_model, 1), false)?;
                Some((gated(weights, &of, (d_model, width), activation)?, gate))
            }
            None => None,
        };
        Ok(Mixture { router, n_chosen: self.n_chosen, normalised: self.normalised, experts, shared })
    }
}

/// A gated MLP without biases.
fn gated(
    weights: &mut Weights<'_>,
    [gate, up, down]: &[String; 3],
    (d_model, width): (usize, usize),
    activation: Activation,
) -> Result<Dense, LoadError> {
    let part = |name| LinearPart { name, d_out: width, bias: false };
    let up = weights.linear_of(&[part(gate), part(up)], d_model, Stored::OutIn, None)?;
    Ok(Dense { up, activation, gated: true, down: map(weights, down, (width, d_model), false)? })
}
