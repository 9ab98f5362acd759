//! Experts in place of the MLPs of LLaMA's relatives.

use super::{Activation, Config, Dense, GateClamp, LinearPart, LoadError, Mixture, Stored, Weights, map};
use crate::model::network::routing::{Groups, Routing, Shares};

/// More experts than any model has in a layer.
const MOST: usize = 1 << 12;

/// How a family stores its experts, and what its class does when the configuration does not say.
#[derive(Clone, Copy)]
pub(super) struct ExpertPlan {
    /// Names of the key of their number, and that without it.
    pub n: (&'static [&'static str], usize),
    /// Experts that a token goes to when the configuration does not say; `None` where it has to.
    pub n_chosen: Option<usize>,
    pub router: RouterPlan,
    /// Key of an expert's width, and that without it.
    pub width: (&'static str, usize),
    /// Whether their weights are brought back to a sum of 1.
    pub sum: WeightSum,
    pub layers: ExpertLayers,
    pub shared: SharedExpert,
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
    /// Those of all experts in one tensor, the gate before the map up, without biases (Granite).
    Stacked,
}

/// Which layers have experts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ExpertLayers {
    All,
    /// All, unless there are none.
    AllIfAny,
    /// All but some (`decoder_sparse_step`, `mlp_only_layers`).
    Mixed,
    /// All but so many first ones (`first_k_dense_replace`), and how many without it.
    AfterFirst(usize),
    /// Those that `mlp_layer_types` calls sparse; without it all but the first.
    Listed,
}

/// An expert of all tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SharedExpert {
    None,
    /// With a gate of its own, and its width (`shared_expert_intermediate_size`) without that key.
    Gated(usize),
    /// So many times as wide as others (`n_shared_experts`), and how many without that key.
    Times(usize),
    /// The MLP that layers without experts have, and its width (`shared_intermediate_size`) without that key.
    Beside(usize),
}

/// How experts are chosen.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum RouterPlan {
    /// Those of the largest softmax.
    Plain,
    /// The same, limited to groups where `topk_method` says so, and the factor on their weights
    /// (`routed_scaling_factor`) without that key (DeepSeek-V2).
    ByMethod(f64),
    /// By corrected sigmoids, limited to groups (DeepSeek-V3).
    Corrected {
        factor: f64,
        /// `n_group` and `topk_group`.
        groups: [usize; 2],
    },
}

/// Sums of the chosen experts' weights.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WeightSum {
    /// Whatever it is.
    Any,
    One,
    /// One, where `norm_topk_prob` says so, and whether it is without it.
    Configured(bool),
}

/// Keys that training alone reads.
pub(super) const TRAINING: &[&str] = &["router_aux_loss_coef", "router_jitter_noise"];

/// Keys of groups, which one method of choice alone reads.
pub(super) const GROUPS: &[&str] = &["n_group", "topk_group"];

/// As Qwen's are stored.
pub(super) const QWEN_TENSORS: ExpertTensors = ExpertTensors::Apart(["gate_proj", "up_proj", "down_proj"]);

/// Experts that a configuration describes.
#[derive(Clone, Debug)]
pub(super) struct ExpertShape {
    n: usize,
    width: usize,
    routing: Routing,
    /// Whether the choice is corrected by a tensor of the file.
    is_corrected: bool,
    /// An expert of all tokens, with its width.
    shared: SharedExpert,
    part: &'static str,
    tensors: ExpertTensors,
    clamp: Option<GateClamp>,
    /// Of each layer, whether it has experts.
    layers: Vec<bool>,
}

impl ExpertPlan {
    /// Whether there are experts; a number of 0 says that there are none in families where layers may have one MLP.
    pub fn has_some(&self, config: &Config) -> Result<bool, LoadError> {
        let may_be_none = matches!(self.layers, ExpertLayers::Mixed | ExpertLayers::AllIfAny);
        Ok(!may_be_none || config.number(self.n.0)? != Some(0.0))
    }

    pub fn shape(&self, config: &Config, n_layers: usize) -> Result<ExpertShape, LoadError> {
        let n = config.optional_size(self.n.0, MOST)?.unwrap_or(self.n.1);
        let n_chosen = config.optional_size(&["num_experts_per_tok"], MOST)?.or(self.n_chosen);
        let n_chosen = n_chosen
            .ok_or_else(|| config.error("it does not say how many experts a token goes to (num_experts_per_tok)"))?;
        if n_chosen > n {
            return Err(
                config.error(format!("each token goes to {n_chosen} experts (num_experts_per_tok), but there are {n}"))
            );
        }
        let width = config.optional_size(&[self.width.0], 1 << 24)?.unwrap_or(self.width.1);
        let normalised = match self.sum {
            WeightSum::Any => false,
            WeightSum::One => true,
            WeightSum::Configured(usual) => config.flag("norm_topk_prob", usual),
        };
        let shared = match self.shared {
            SharedExpert::None => SharedExpert::None,
            SharedExpert::Gated(usual) => {
                let width = config.optional_size(&["shared_expert_intermediate_size"], 1 << 24)?;
                SharedExpert::Gated(width.unwrap_or(usual))
            }
            SharedExpert::Times(usual) => {
                SharedExpert::Times(width * config.optional_size(&["n_shared_experts"], MOST)?.unwrap_or(usual))
            }
            SharedExpert::Beside(usual) => {
                let width = config.optional_size(&["shared_intermediate_size"], 1 << 24)?;
                SharedExpert::Beside(width.unwrap_or(usual))
            }
        };
        let layers = self.layers.of(config, n_layers)?;
        let routing = self.router.routing(config, n, Routing::of_softmax(n_chosen, normalised))?;
        let is_corrected = matches!(self.router, RouterPlan::Corrected { .. });
        let clamp = match self.tensors {
            ExpertTensors::Joined => Some(GateClamp {
                limit: config.number(&["swiglu_limit"])?.unwrap_or(7.0),
                slope: config.number(&["swiglu_alpha"])?.unwrap_or(1.702),
            }),
            ExpertTensors::Apart(_) | ExpertTensors::Stacked => None,
        };
        let Self { part, tensors, .. } = *self;
        Ok(ExpertShape { n, width, routing, is_corrected, shared, part, tensors, clamp, layers })
    }
}

impl ExpertLayers {
    /// Of each layer, whether it has experts.
    fn of(self, config: &Config, n_layers: usize) -> Result<Vec<bool>, LoadError> {
        Ok(match self {
            Self::All | Self::AllIfAny => vec![true; n_layers],
            Self::Mixed => {
                let step = config.optional_size(&["decoder_sparse_step"], MOST)?.unwrap_or(1);
                let plain = config.numbers("mlp_only_layers").unwrap_or_default();
                let has_some = |layer: usize| !plain.contains(&(layer as f32)) && (layer + 1).is_multiple_of(step);
                (0..n_layers).map(has_some).collect()
            }
            Self::AfterFirst(usual) => {
                let first = config.number(&["first_k_dense_replace"])?.unwrap_or(usual as f64);
                (0..n_layers).map(|layer| layer as f64 >= first).collect()
            }
            Self::Listed => {
                let Some(kinds) = config.names("mlp_layer_types") else {
                    return Ok((0..n_layers).map(|layer| layer > 0).collect());
                };
                if kinds.len() != n_layers {
                    return Err(config.error(format!("mlp_layer_types lists {} of {n_layers} layers", kinds.len())));
                }
                let is_sparse = |kind: &String| match kind.as_str() {
                    "sparse" => Ok(true),
                    "dense" => Ok(false),
                    _ => Err(config.unsupported(format!("mlp_layer_types names “{kind}”, which is not supported"))),
                };
                kinds.iter().map(is_sparse).collect::<Result<_, _>>()?
            }
        })
    }
}

impl RouterPlan {
    /// How `n` experts are chosen from, where `plain` is the choice without groups and factors.
    fn routing(self, config: &Config, n: usize, plain: Routing) -> Result<Routing, LoadError> {
        let factor = |usual: f64| Ok::<_, LoadError>(config.number(&["routed_scaling_factor"])?.unwrap_or(usual));
        match self {
            Self::Plain => Ok(plain),
            Self::ByMethod(usual) => {
                let groups = match config.text(&["topk_method"]) {
                    None | Some("greedy") => None,
                    Some("group_limited_greedy") => Some(groups(config, n, [None; 2], 1)?),
                    Some(method) => {
                        return Err(config.unsupported(format!("topk_method “{method}” is not supported")));
                    }
                };
                Ok(Routing { groups, factor: factor(usual)?, ..plain })
            }
            Self::Corrected { factor: usual, groups: of_class } => {
                let found = groups(config, n, of_class.map(Some), 2)?;
                let n_open = found.n_kept * (n / found.n);
                if plain.n_chosen > n_open {
                    return Err(config.unsupported(format!(
                        "{} experts for each token (num_experts_per_tok) are not supported where {n_open} stand in the \
                         groups that are kept (topk_group)",
                        plain.n_chosen
                    )));
                }
                Ok(Routing { shares: Shares::Sigmoid, groups: Some(found), factor: factor(usual)?, ..plain })
            }
        }
    }
}

/// Groups of `n` experts, each judged by the sum of its `n_judged` largest.
fn groups(config: &Config, n: usize, usual: [Option<usize>; 2], n_judged: usize) -> Result<Groups, LoadError> {
    let size = |name: &'static str, usual: Option<usize>| {
        let found = config.optional_size(&[name], MOST)?.or(usual.filter(|_| !config.entries().contains_key(name)));
        found.ok_or_else(|| config.error(format!("it does not say {name}, by which experts are chosen")))
    };
    let groups = Groups { n: size("n_group", usual[0])?, n_kept: size("topk_group", usual[1])?, n_judged };
    if !n.is_multiple_of(groups.n) || n / groups.n < n_judged || groups.n_kept > groups.n {
        return Err(config.error(format!(
            "{n} experts in {} groups (n_group), of which {} are kept (topk_group), do not fit",
            groups.n, groups.n_kept
        )));
    }
    Ok(groups)
}

impl ExpertShape {
    /// Whether a layer has experts.
    pub fn is_of(&self, layer: usize) -> bool {
        self.layers.get(layer).copied().unwrap_or(false)
    }

    /// The experts of the layer whose tensors begin with `prefix`; `shared_bias`: whether the maps of an expert of all
    /// tokens have biases; `added`: factor on what they add.
    pub fn read(
        &self,
        weights: &mut Weights<'_>,
        prefix: &str,
        (d_model, shared_bias, added): (usize, bool, f32),
        activation: Activation,
    ) -> Result<Mixture, LoadError> {
        let block = format!("{prefix}.{}", self.part);
        let names = match self.tensors {
            ExpertTensors::Apart(names) => names,
            ExpertTensors::Joined => return self.read_joined(weights, &block, d_model),
            ExpertTensors::Stacked => return self.read_stacked(weights, prefix, (d_model, added), activation),
        };
        let router = map(weights, &format!("{block}.gate"), (d_model, self.n), false)?;
        let experts = (0..self.n).map(|expert| {
            let of = names.map(|name| format!("{block}.experts.{expert}.{name}"));
            gated(weights, &of, (d_model, self.width), activation, false)
        });
        let experts = experts.collect::<Result<Vec<_>, _>>()?;
        let shared = match self.shared {
            SharedExpert::Gated(width) => {
                let of = names.map(|name| format!("{block}.shared_expert.{name}"));
                let gate = map(weights, &format!("{block}.shared_expert_gate"), (d_model, 1), false)?;
                Some((gated(weights, &of, (d_model, width), activation, false)?, Some(gate)))
            }
            SharedExpert::Times(width) => {
                let of = names.map(|name| format!("{block}.shared_experts.{name}"));
                Some((gated(weights, &of, (d_model, width), activation, shared_bias)?, None))
            }
            SharedExpert::None | SharedExpert::Beside(_) => None,
        };
        let mut routing = self.routing.clone();
        if self.is_corrected {
            routing.correction =
                Some(weights.tensor(&format!("{block}.gate.e_score_correction_bias"), &[self.n])?.to_vec1()?);
        }
        Ok(Mixture { router, routing, experts, shared, clamp: None, added: 1.0 })
    }

    /// Experts whose maps lie in tensors of all.
    fn read_joined(&self, weights: &mut Weights<'_>, block: &str, d_model: usize) -> Result<Mixture, LoadError> {
        let Self { n, width, clamp, ref routing, .. } = *self;
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
        Ok(Mixture { router, routing: routing.clone(), experts, shared: None, clamp, added: 1.0 })
    }
}

impl ExpertShape {
    /// Experts in tensors of all, beside an MLP that every token goes through.
    fn read_stacked(
        &self,
        weights: &mut Weights<'_>,
        prefix: &str,
        (d_model, added): (usize, f32),
        activation: Activation,
    ) -> Result<Mixture, LoadError> {
        let Self { n, width, ref routing, .. } = *self;
        let of = |part: &str| format!("{prefix}.{}.{part}", self.part);
        let router = map(weights, &of("router.layer"), (d_model, n), false)?;
        let [up, down] = ["input_linear.weight", "output_linear.weight"].map(of);
        let experts = (0..n).map(|expert| {
            Ok(Dense {
                up: weights.linear_of_stacked(&up, (expert, n), (d_model, 2 * width))?,
                activation,
                gated: true,
                down: weights.linear_of_stacked(&down, (expert, n), (width, d_model))?,
            })
        });
        let experts = experts.collect::<Result<Vec<_>, LoadError>>()?;
        let shared = match self.shared {
            SharedExpert::Beside(width) => {
                let of = |part: &str| format!("{prefix}.shared_mlp.{part}");
                let up = map(weights, &of("input_linear"), (d_model, 2 * width), false)?;
                let down = map(weights, &of("output_linear"), (width, d_model), false)?;
                Some((Dense { up, activation, gated: true, down }, None))
            }
            SharedExpert::None | SharedExpert::Gated(_) | SharedExpert::Times(_) => None,
        };
        Ok(Mixture { router, routing: routing.clone(), experts, shared, clamp: None, added })
    }
}

/// A gated MLP.
fn gated(
    weights: &mut Weights<'_>,
    [gate, up, down]: &[String; 3],
    (d_model, width): (usize, usize),
    activation: Activation,
    bias: bool,
) -> Result<Dense, LoadError> {
    let part = |name| LinearPart { name, d_out: width, bias };
    let up = weights.linear_of(&[part(gate), part(up)], d_model, Stored::OutIn, None)?;
    Ok(Dense { up, activation, gated: true, down: map(weights, down, (width, d_model), bias)? })
}
