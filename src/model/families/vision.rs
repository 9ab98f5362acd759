//! Parts of vision families: pictures as configured, patch embeddings, layers named in transformers'
//! older and newer way.

use candle_core::Tensor;

use super::{
    Activation, Block, Config, Dense, ImageSpec, Interpolation, LayerSpec, Linear, LoadError, MultiHead, Norms,
    Weights, layer_norm, linear, map, qkv,
};
pub(super) use crate::model::network::patches::PatchEmbedding;

/// Sizes of pictures and patches, height before width.
#[derive(Clone, Copy)]
pub(super) struct Pictures {
    size_px: (usize, usize),
    patch_px: (usize, usize),
    /// Rows and columns of patches.
    pub grid: (usize, usize),
}

impl Pictures {
    pub fn of(config: &Config) -> Result<Self, LoadError> {
        let size_px = config.pixels("image_size", Some(224))?;
        let patch_px = config.pixels("patch_size", Some(16))?;
        let n_channels = config.optional_size(&["num_channels"], 64)?.unwrap_or(3);
        if n_channels != 3 {
            return Err(config.unsupported(format!(
                "it reads pictures of {n_channels} channels; only colour pictures are supported"
            )));
        }
        let grid = (size_px.0 / patch_px.0, size_px.1 / patch_px.1);
        if grid.0 == 0 || grid.1 == 0 {
            return Err(config.error("its patches are larger than its pictures"));
        }
        Ok(Self { size_px, patch_px, grid })
    }

    pub const fn spec(&self, n_prefix: usize) -> ImageSpec {
        ImageSpec { size_px: self.size_px, patch_px: self.patch_px, n_prefix }
    }

    pub const fn n_patches(&self) -> usize {
        self.grid.0 * self.grid.1
    }

    /// Patches mapped by the convolution `name`, whose stride is its size; nothing before them, no
    /// positions.
    pub fn embedding(
        &self,
        weights: &mut Weights<'_>,
        name: &str,
        d_model: usize,
        bias: bool,
    ) -> Result<PatchEmbedding, LoadError> {
        let (height, width) = self.patch_px;
        let kernel = weights.tensor(&format!("{name}.weight"), &[d_model, 3, height, width])?;
        let kernel = kernel.reshape((d_model, 3 * height * width))?.t()?;
        let bias = if bias { Some(weights.tensor(&format!("{name}.bias"), &[d_model])?) } else { None };
        Ok(self.embedding_of(Linear::new(kernel, bias)?))
    }

    /// Patches mapped by `projection`, `[3 · patch height · patch width, d_model]`; nothing before them, no positions.
    pub const fn embedding_of(&self, projection: Linear) -> PatchEmbedding {
        PatchEmbedding {
            projection,
            prefix: None,
            position: None,
            registers: None,
            n_class_tokens: usize::MAX,
            norm: None,
            grid: self.grid,
            patch_px: self.patch_px,
            filter: Interpolation::Bicubic,
        }
    }
}

/// One vector per token, stored with a batch dimension: `[n, d_model]`.
pub(super) fn tokens(weights: &mut Weights<'_>, name: &str, n: usize, d_model: usize) -> Result<Tensor, LoadError> {
    Ok(weights.tensor(name, &[1, n, d_model])?.reshape((n, d_model))?)
}

/// Where the parts of a layer are.
pub(super) struct Names {
    /// Before the layer's number.
    pub layers: &'static str,
    pub qkv: [&'static str; 3],
    pub out: &'static str,
    pub mlp: [&'static str; 2],
    pub norms: [&'static str; 2],
}

impl Names {
    const OLD_QKV: [&'static str; 3] =
        ["attention.attention.query", "attention.attention.key", "attention.attention.value"];
    const NEW_QKV: [&'static str; 3] = ["attention.q_proj", "attention.k_proj", "attention.v_proj"];

    /// Of ViT, DeiT and BEiT behind `body`.
    pub fn vit(weights: &Weights<'_>, body: &str) -> Self {
        let norms = ["layernorm_before", "layernorm_after"];
        if weights.has(&format!("{body}layers.0.attention.q_proj.weight")) {
            return Self {
                layers: "layers",
                qkv: Self::NEW_QKV,
                out: "attention.o_proj",
                mlp: ["mlp.fc1", "mlp.fc2"],
                norms,
            };
        }
        Self {
            layers: "encoder.layer",
            qkv: Self::OLD_QKV,
            out: "attention.output.dense",
            mlp: ["intermediate.dense", "output.dense"],
            norms,
        }
    }

    /// Of DINOv2 behind `body`, whose MLP may also be a gated one of other names.
    pub fn dino(weights: &Weights<'_>, body: &str) -> Self {
        let new = weights.has(&format!("{body}encoder.layer.0.attention.q_proj.weight"));
        Self {
            layers: "encoder.layer",
            qkv: if new { Self::NEW_QKV } else { Self::OLD_QKV },
            out: if new { "attention.o_proj" } else { "attention.output.dense" },
            mlp: ["mlp.fc1", "mlp.fc2"],
            norms: ["norm1", "norm2"],
        }
    }

    /// Of CLIP and SigLIP.
    pub const fn clip() -> Self {
        Self {
            layers: "encoder.layers",
            qkv: ["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"],
            out: "self_attn.out_proj",
            mlp: ["mlp.fc1", "mlp.fc2"],
            norms: ["layer_norm1", "layer_norm2"],
        }
    }
}

/// What adds to the stream of a layer.
#[derive(Clone, Copy)]
pub(super) enum Branch {
    MultiHead,
    Mlp,
}

/// The pre-norm layers of every vision transformer.
pub(super) struct Layers<'a> {
    pub names: Names,
    /// What stands before all names, such as `vit.`.
    pub body: &'a str,
    pub d_model: usize,
    pub spec: LayerSpec,
    pub causal: bool,
    /// Whether queries, keys and values have biases.
    pub bias: [bool; 3],
    /// Whether the map of attention back to the stream has one.
    pub out_bias: bool,
    /// Which of the stack's rotary embeddings turns queries and keys.
    pub rotary: Option<usize>,
    pub activation: Activation,
    pub eps: f32,
    /// What multiplies the outputs of attention and MLP.
    pub scales: Option<[&'static str; 2]>,
}

impl<'a> Layers<'a> {
    /// As configured, without layer scale.
    pub fn of(config: &Config, names: Names, body: &'a str, d_model: usize) -> Result<Self, LoadError> {
        let (n_heads, d_head) = config.heads(d_model)?;
        Ok(Self {
            names,
            body,
            d_model,
            spec: LayerSpec::new(n_heads, d_head),
            causal: false,
            bias: [config.flag("qkv_bias", true); 3],
            out_bias: true,
            rotary: None,
            activation: config.activation("hidden_act", Activation::Gelu)?,
            eps: config.norm_eps("layer_norm_eps", 1e-12)?,
            scales: None,
        })
    }

    /// The name of a part of a layer.
    pub fn name(&self, layer: usize, part: &str) -> String {
        format!("{}{}.{layer}.{part}", self.body, self.names.layers)
    }

    pub fn block(&self, weights: &mut Weights<'_>, layer: usize, d_mlp: usize) -> Result<Block, LoadError> {
        let [up, down] = self.names.mlp.map(|part| self.name(layer, part));
        let up = linear(weights, &up, self.d_model, d_mlp)?;
        let down = self.scaled(weights, layer, Branch::Mlp, &down, (d_mlp, true))?;
        self.block_of(weights, layer, Dense::plain(up, self.activation, down))
    }

    /// A layer around this MLP.
    pub fn block_of(&self, weights: &mut Weights<'_>, layer: usize, mlp: Dense) -> Result<Block, LoadError> {
        let [q, k, v] = self.names.qkv.map(|part| self.name(layer, part));
        let qkv = qkv(weights, [&q, &k, &v], self.d_model, self.spec, self.bias)?;
        let wide = self.spec.n_heads * self.spec.d_head;
        let out = self.name(layer, self.names.out);
        let out = self.scaled(weights, layer, Branch::MultiHead, &out, (wide, self.out_bias))?;
        let [before, after] = self.names.norms.map(|part| self.name(layer, part));
        Ok(Block::new(
            MultiHead { rotary: self.rotary, ..MultiHead::plain(qkv, out, self.spec, self.causal) },
            Norms::pre(layer_norm(weights, &before, self.d_model, self.eps)?),
            mlp,
            Norms::pre(layer_norm(weights, &after, self.d_model, self.eps)?),
        ))
    }

    /// The map `name` of this width back to the stream, with or without a bias, with the layer's scale of the branch
    /// folded in.
    pub fn scaled(
        &self,
        weights: &mut Weights<'_>,
        layer: usize,
        branch: Branch,
        name: &str,
        (d_in, bias): (usize, bool),
    ) -> Result<Linear, LoadError> {
        match self.scales {
            None => map(weights, name, (d_in, self.d_model), bias),
            Some(scales) => {
                let scale = self.name(layer, scales[branch as usize]);
                weights.linear_scaled(name, &scale, (d_in, self.d_model), bias)
            }
        }
    }
}
