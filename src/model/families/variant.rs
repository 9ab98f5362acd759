//! What sets LLaMA's relatives apart, as one table.

/// What sets one of these families apart. Keys that another family of this file reads have no meaning.
#[expect(clippy::struct_excessive_bools, reason = "each is one independent choice of a published family")]
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Variant {
    pub family: &'static str,
    pub biases: Biases,
    /// Whether output and embedding are tied when the configuration does not say.
    pub tied: bool,
    /// Added to the weights of norms; Gemma stores them less one, and scales its embeddings.
    pub gemma: bool,
    /// Norms of what attention and MLP add.
    pub branch_norms: bool,
    pub qk_norm: bool,
    /// Fused tensors `qkv_proj` and `gate_up_proj`.
    pub fused: bool,
    /// Ordinary layer norms instead of RMS norms, and the choices that come with them (`StableLM`).
    pub layer_norms: bool,
    pub eps: f32,
    /// Fraction of a head that is rotated when the configuration does not say; `None` for always all of it.
    pub rotated: Option<f64>,
    pub windows: Windows,
    /// Width of a head when the configuration does not say; `None` for what follows from the other sizes.
    pub d_head: Option<usize>,
    /// The same of the number of key/value heads.
    pub n_kv_heads: Option<usize>,
    /// Soft caps, where the family knows such a thing.
    pub caps: Option<Caps>,
}

/// Soft caps of scores and of logits when the configuration does not say.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Caps {
    pub scores: Option<f64>,
    pub logits: Option<f64>,
}

/// Which maps of attention have biases.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Biases {
    Never,
    /// Queries, keys and values.
    Always,
    /// The same, where `use_qkv_bias` says so.
    IfUsed,
    /// All four, where `attention_bias` says so.
    IfConfigured,
}

/// Which layers see a window only, when the configuration does not list them.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Windows {
    /// None, whatever the configuration lists.
    Never,
    /// All, where the configuration has a width, which is this by default; it lists no layers.
    All(Option<f64>),
    /// Those from `max_window_layers` on, if windows are used.
    FromLayer,
    /// All but every n-th.
    AllBut {
        every: usize,
        /// Whether the configuration may choose another n.
        chosen: bool,
    },
}

pub(super) const LLAMA: Variant = Variant {
    family: "llama",
    biases: Biases::IfConfigured,
    tied: false,
    gemma: false,
    branch_norms: false,
    qk_norm: false,
    fused: false,
    layer_norms: false,
    eps: 1e-6,
    rotated: None,
    windows: Windows::Never,
    d_head: None,
    n_kv_heads: None,
    caps: None,
};

/// The variant of a `model_type`.
pub(super) fn variant(model_type: &str) -> Option<Variant> {
    let gemma = Variant { family: "gemma", gemma: true, tied: true, d_head: Some(256), n_kv_heads: Some(16), ..LLAMA };
    let later = Variant { branch_norms: true, d_head: Some(256), n_kv_heads: Some(4), ..gemma };
    let qwen = Variant { windows: Windows::FromLayer, n_kv_heads: Some(32), ..LLAMA };
    Some(match model_type {
        "llama" => LLAMA,
        "mistral" => Variant {
            family: "mistral",
            biases: Biases::Never,
            windows: Windows::All(Some(4096.0)),
            n_kv_heads: Some(8),
            ..LLAMA
        },
        "qwen2" => Variant { family: "qwen2", biases: Biases::Always, ..qwen },
        "qwen3" => Variant { family: "qwen3", qk_norm: true, d_head: Some(128), n_kv_heads: Some(32), ..qwen },
        "gemma" => gemma,
        "gemma2" => Variant {
            family: "gemma2",
            windows: Windows::AllBut { every: 2, chosen: false },
            caps: Some(Caps { scores: Some(50.0), logits: Some(30.0) }),
            ..later
        },
        "gemma3_text" => Variant {
            family: "gemma3",
            qk_norm: true,
            windows: Windows::AllBut { every: 6, chosen: true },
            caps: Some(Caps { scores: None, logits: None }),
            ..later
        },
        "phi3" => Variant {
            family: "phi3",
            biases: Biases::Never,
            fused: true,
            eps: 1e-5,
            rotated: Some(1.0),
            windows: Windows::All(None),
            ..LLAMA
        },
        "stablelm" => Variant {
            family: "stablelm",
            biases: Biases::IfUsed,
            layer_norms: true,
            eps: 1e-5,
            rotated: Some(0.25),
            n_kv_heads: Some(32),
            ..LLAMA
        },
        _ => return None,
    })
}
