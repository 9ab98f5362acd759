//! Variants of LLaMA's architecture.

use super::{Activation, Config, ExpertPlan, LatentPlan, LinearPlan, LoadError, Rotary, RotaryDialect};

/// What sets one of these families apart. Keys that another of them reads have no meaning.
#[derive(Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(super) struct Variant {
    pub family: &'static str,
    pub names: DecoderNames,
    pub biases: Biases,
    /// Whether output and embedding are tied when the configuration does not say.
    pub tied: bool,
    pub two_way: TwoWay,
    pub norm: NormWeights,
    pub norms: fn(&Config) -> NormPlaces,
    pub qk_norm: QkNorms,
    pub fused: Fused,
    /// The key of what is added to the variance, and what it is when the configuration does not say.
    pub eps: (&'static str, f32),
    pub activation: fn(&Config) -> Result<Activation, LoadError>,
    /// Width of the MLP; `None` for four times that of the stream.
    pub d_mlp: fn(&Config) -> Result<Option<usize>, LoadError>,
    /// The rotary embeddings of heads of this width: one for all layers, or one for layers that see all and one for
    /// those with a window.
    pub rotary: fn(&Config, usize) -> Vec<Result<Rotary, LoadError>>,
    /// Which of as many layers rotate queries and keys.
    pub uses_rope: fn(&Config, usize) -> Result<Vec<bool>, LoadError>,
    pub multipliers: fn(&Config) -> Result<Multipliers, LoadError>,
    pub windows: Windows,
    /// Width of a head when the configuration does not say; `None` for what follows from the other sizes.
    pub d_head: Option<usize>,
    /// The same of the number of key/value heads.
    pub n_kv_heads: Option<usize>,
    /// Soft caps, where the family knows such a thing.
    pub caps: Option<Caps>,
    /// What some layers have in place of attention.
    pub linear: Option<LinearPlan>,
    /// What every layer has beside attention.
    pub beside: Option<LinearPlan>,
    /// Queries, keys and values through latents, and their sizes when the configuration does not say.
    pub latent: Option<LatentPlan>,
    /// Whether queries come with gates on what the heads read.
    pub has_gate: bool,
    /// Experts in place of MLPs.
    pub experts: Option<ExpertPlan>,
    /// Whether queries, keys and values may be clipped (`clip_qkv`).
    pub clips: bool,
    /// Whether every head has a learned sink (`self_attn.sinks`).
    pub sinks: bool,
}

/// Names of tensors, without what stands before them: of the model, or of a layer.
#[derive(Clone, Copy)]
pub(super) struct DecoderNames {
    pub final_norm: &'static str,
    /// The norms of what attention and the MLP read.
    pub before: &'static str,
    pub before_mlp: &'static str,
    /// The map from the heads to the stream, beside that of queries.
    pub out: &'static str,
    pub qk_norms: [&'static str; 2],
    /// What stands in place of attention, or beside it.
    pub linear: &'static str,
    /// The gate, the map up and the map down of the MLP.
    pub mlp: [&'static str; 3],
    /// The first two of them in one.
    pub fused_mlp: &'static str,
}

impl DecoderNames {
    pub const LLAMA: Self = Self {
        final_norm: "norm",
        before: "input_layernorm",
        before_mlp: "post_attention_layernorm",
        out: "o_proj",
        qk_norms: ["q_norm", "k_norm"],
        linear: "linear_attn",
        mlp: ["mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"],
        fused_mlp: "mlp.gate_up_proj",
    };
}

/// Soft caps of scores and of logits when the configuration does not say.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Caps {
    pub scores: Option<f64>,
    pub logits: Option<f64>,
}

/// What `use_bidirectional_attention` asks for.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum TwoWay {
    Nothing,
    /// What the reference does with some kinds of attention only.
    Refused,
    Supported,
}

/// Kind of norms, and how their weights are stored.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum NormWeights {
    Rms,
    /// RMS norms whose weights are stored less one.
    RmsLessOne,
    Layer,
    LayerWithoutBias,
}

/// Where the norms of attention and MLP stand.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum NormPlaces {
    Before,
    /// Before each, and of what it adds; the names of attention's two and of the MLP's.
    Around([&'static str; 4]),
    After,
    /// One before both.
    Shared,
}

/// Maps whose tensors are one.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Fused {
    Nothing,
    /// `gate_up_proj`.
    Mlp,
    /// `qkv_proj` and `gate_up_proj`.
    All,
}

/// Norms of queries and keys.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum QkNorms {
    None,
    EachHead,
    /// Of all heads' vectors side by side.
    Whole,
    /// Of each head with weights of its own, where `qk_layernorm` says so.
    OwnIfConfigured,
    /// The same in one table, where `use_qk_norm` says so.
    TableIfConfigured,
}

/// Factors on what others take as it is.
#[derive(Clone, Copy)]
pub(super) struct Multipliers {
    pub embedding: f32,
    /// On products of queries and keys; `None` for what follows from the heads' width.
    pub scores: Option<f32>,
    /// On what attention reads.
    pub read: f32,
    pub keys: f32,
    /// On what attention adds, or what stands in its place.
    pub attention: f32,
    /// On gates of MLPs before their activation.
    pub gates: f32,
    /// On what MLPs add.
    pub mlp: f32,
    pub logits: f32,
}

impl Multipliers {
    pub const NONE: Self =
        Self { embedding: 1.0, scores: None, read: 1.0, keys: 1.0, attention: 1.0, gates: 1.0, mlp: 1.0, logits: 1.0 };
}

/// Which maps have biases.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Biases {
    Never,
    /// Queries, keys and values.
    Always,
    /// The same, where this key says so, and whether they do without it.
    Key(&'static str, bool),
    /// All four of attention, where `attention_bias` says so.
    IfConfigured,
    /// The same, unless `attention_bias` says no.
    UnlessConfigured,
    /// The same, and those of the MLP where `mlp_bias` says so.
    IfConfiguredOrMlp,
}

/// The maps that have biases.
#[derive(Clone, Copy, Default)]
pub(super) struct Biased {
    pub qkv: bool,
    pub out: bool,
    pub mlp: bool,
}

impl Biases {
    pub fn of(self, config: &Config) -> Biased {
        let attention = || config.flag("attention_bias", false);
        match self {
            Self::Never => Biased::default(),
            Self::Always => Biased { qkv: true, ..Biased::default() },
            Self::Key(key, default) => Biased { qkv: config.flag(key, default), ..Biased::default() },
            Self::IfConfigured => Biased { qkv: attention(), out: attention(), mlp: false },
            Self::UnlessConfigured => {
                let has = config.flag("attention_bias", true);
                Biased { qkv: has, out: has, mlp: false }
            }
            Self::IfConfiguredOrMlp => {
                Biased { qkv: attention(), out: attention(), mlp: config.flag("mlp_bias", false) }
            }
        }
    }
}

/// Which layers see a window only, when the configuration does not list them.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Windows {
    /// None, whatever the configuration lists.
    Never,
    /// All, where the configuration has a width, which is this by default; it lists no layers.
    All(Option<f64>),
    /// All, if windows are used; it lists no layers.
    AllIfUsed,
    /// Every other one, from the first, before `max_window_layers`, if windows are used.
    EveryOtherBefore,
    /// Those that do not rotate queries and keys (`NoPE`), if windows are used.
    NoRopeLayers,
    /// Those from `max_window_layers` on, if windows are used.
    FromLayer,
    /// All but every n-th.
    AllBut {
        every: usize,
        /// Whether the configuration may choose another n.
        chosen: bool,
        /// Of a window, when the configuration does not say.
        width: f64,
    },
}

impl Variant {
    /// As most of them are.
    pub const BASE: Self = Self {
        family: "",
        names: DecoderNames::LLAMA,
        biases: Biases::Never,
        tied: false,
        two_way: TwoWay::Nothing,
        norm: NormWeights::Rms,
        norms: |_| NormPlaces::Before,
        qk_norm: QkNorms::None,
        fused: Fused::Nothing,
        eps: ("rms_norm_eps", 1e-6),
        activation: |config| config.activation("hidden_act", Activation::Silu),
        d_mlp: Config::d_mlp,
        rotary: |config, d_head| one_rotary(config, d_head, None),
        uses_rope: |_, n_layers| Ok(vec![true; n_layers]),
        multipliers: |_| Ok(Multipliers::NONE),
        windows: Windows::Never,
        d_head: None,
        n_kv_heads: None,
        caps: None,
        linear: None,
        beside: None,
        latent: None,
        has_gate: false,
        experts: None,
        clips: false,
        sinks: false,
    };
}

/// One rotary embedding for all layers, of this fraction of a head when the configuration does not say; `None` for
/// always all of it.
pub(super) fn one_rotary(config: &Config, d_head: usize, rotated: Option<f64>) -> Vec<Result<Rotary, LoadError>> {
    vec![Rotary::from_config(config, d_head, rotated, RotaryDialect::COMMON)]
}

/// The same, of neighbouring dimensions of a head.
pub(super) fn of_neighbours(rotary: Vec<Result<Rotary, LoadError>>) -> Vec<Result<Rotary, LoadError>> {
    rotary.into_iter().map(|kind| Ok(Rotary { neighbours: true, ..kind? })).collect()
}
