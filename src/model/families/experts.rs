//! Experts in place of the MLPs of LLaMA's relatives.

use super::{Activation, Config, Dense, GateClamp, LinearPart, LoadError, Mixture, Stored, Weights, map};

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
    /// Name of the part of a layer.
    pub part: &'static str,
    pub tensors: ExpertTensors,
}

/// How the maps of a layer's experts are stored.
#[derive(Clone, Copy, Debug)]
pub(super) enum ExpertTensors {
    /// Each for itself, by the names of the gate, the map up and the map down of an expert.
    Apart([&'static str; 3]),
    /// Those of all experts in one tensor, outputs of the gate and of the map up in turn, with biases; the gate is
    /// clamped (gpt-oss).
    Joined,
}

/// Sums of the chosen experts' weights.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WeightSum {
    One,
    /// One, where `norm_topk_prob` says so, and whether it is without it.
    Configured(bool),
}

/// Keys that training alone reads.
pub(super) const TRAINING: &[&str] = &["router_aux_loss_coef", "router_jitter_noise"];

/// As Qwen's are stored.
pub(super) const QWEN_TENSORS: ExpertTensors = ExpertTensors::Apart(["gate_proj", "up_proj", "down_proj"]);

/// Experts that a configuration describes.
#[derive(Clone, Debug)]
pub(super) struct ExpertShape {
    n: usize,
    n_chosen: usize,
    width: usize,
    normalised: bool,
    shared: Option<usize>,
    part: &'static str,
    tensors: ExpertTensors,
    clamp: Option<GateClamp>,
    /// Of each layer, whether it has experts.
    layers: Vec<bool>,
}

impl ExpertPlan {
    /// Whether there are experts; a number of 0 says that there are none in families where layers may have one MLP.
    pub fn has_some(&self, config: &Config) -> Result<bool, LoadError> {
        Ok(!self.is_mixed || config.number(self.n.0)? != Some(0.0))
    }

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
            WeightSum::Configured(usual) => config.flag("norm_topk_prob", usual),
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
        let clamp = match self.tensors {
            ExpertTensors::Joined => Some(GateClamp {
                limit: config.number(&["swiglu_limit"])?.unwrap_or(7.0),
                slope: config.number(&["swiglu_alpha"])?.unwrap_or(1.702),
            }),
            ExpertTensors::Apart(_) => None,
        };
        let Self { part, tensors, .. } = *self;
        Ok(ExpertShape { n, n_chosen, width, normalised, shared, part, tensors, clamp, layers })
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
        let block = format!("{prefix}.{}", self.part);
        let names = match self.tensors {
            ExpertTensors::Apart(names) => names,
            ExpertTensors::Joined => return self.read_joined(weights, &block, d_model),
        };
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
        Ok(Mixture { router, n_chosen: self.n_chosen, normalised: self.normalised, experts, shared, clamp: None })
    }

    /// Experts whose maps lie in tensors of all.
    fn read_joined(&self, weights: &mut Weights<'_>, block: &str, d_model: usize) -> Result<Mixture, LoadError> {
        let Self { n, n_chosen, width, normalised, clamp, .. } = *self;
        let router = map(weights, &format!("{block}.router"), (d_model, n), true)?;
        let [up, down] = ["gate_up_proj", "down_proj"].map(|name| format!("{block}.experts.{name}"));
        let gate_first: Vec<usize> = (0..width).map(|idx| 2 * idx).chain((0..width).map(|idx| 2 * idx + 1)).collect();
        // GGUF files have them apart.
        let apart = |expert: usize, name: &str| format!("{block}.experts.{expert}.{name}");
        let are_apart = weights.has(&format!("{}.weight", apart(0, "down_proj")));
        let experts = (0..n).map(|expert| {
            if are_apart {
                let [gate, up, down] = ["gate_proj", "up_proj", "down_proj"].map(|name| apart(expert, name));
                return Ok(Dense {
                    up: weights.linear(&[&gate, &up], (d_model, width), Stored::OutIn, true)?,
                    activation: Activation::Silu,
                    gated: true,
                    down: map(weights, &down, (width, d_model), true)?,
                });
            }
            Ok(Dense {
                up: weights.linear_of_joined(&up, (expert, n), (d_model, 2 * width), Some(&gate_first))?,
                activation: Activation::Silu,
                gated: true,
                down: weights.linear_of_joined(&down, (expert, n), (width, d_model), None)?,
            })
        });
        let experts = experts.collect::<Result<Vec<_>, LoadError>>()?;
        Ok(Mixture { router, n_chosen, normalised, experts, shared: None, clamp })
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
