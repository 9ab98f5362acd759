//! EVA and the vision transformers that share its block in timm (`timm.models.eva` of version 1.0.31): EVA-02, those with
//! rotary places, Perception Encoders and DINOv3 under timm's names. What the weights do not say is in the table below.

use candle_core::Tensor;

use super::{
    Activation, Block, Config, Dense, Layers, Linear, LinearPart, LoadError, Mlp, MultiHead, NormedDense, Norms,
    PatchAxis, PatchPlaces, Rotary, RotaryPatches, Stored, Weights, layer_norm, map, n_classes, qkv,
    timm_architectures::{Pooling, Traits},
    vision::Branch,
};

/// What an architecture stands for beside what every vision transformer has.
#[derive(Clone, Copy, Debug)]
pub(super) struct EvaTraits {
    pub rope: Option<Rope>,
    pub norms: NormPlace,
}

/// Where a layer norms a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NormPlace {
    /// What it reads.
    Before,
    /// What it adds.
    Behind,
}

/// How queries and keys of patches are turned.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rope {
    places: PatchPlaces,
    first: PatchAxis,
    theta: f64,
    turned: TurnedPairs,
}

/// Which dimensions turn together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TurnedPairs {
    Neighbours,
    Halves,
}

/// Arguments that are read, or that the weights tell, beside those of every vision transformer.
pub(super) const ARGUMENTS: [&str; 22] = [
    "attn_type",
    "dynamic_img_pad",
    "head_init_scale",
    "num_reg_tokens",
    "qkv_fused",
    "ref_feat_shape",
    "rope_grid_indexing",
    "rope_grid_offset",
    "rope_jitter_coords",
    "rope_rescale_coords",
    "rope_rotate_half",
    "rope_shift_coords",
    "rope_temperature",
    "rope_type",
    "scale_attn_inner",
    "scale_mlp",
    "swiglu_align_to",
    "swiglu_mlp",
    "use_abs_pos_emb",
    "use_fc_norm",
    "use_post_transformer_norm",
    "use_pre_transformer_norm",
];
/// Those of them that change what is computed, and are in no weights.
const CHOICES: [&str; 2] = ["use_post_norm", "use_rot_pos_emb"];

/// Whether an argument of the function is known.
pub(super) fn knows(argument: &str) -> bool {
    ARGUMENTS.contains(&argument) || CHOICES.contains(&argument)
}

impl EvaTraits {
    /// With what the arguments of the function say otherwise.
    pub fn said(mut self, arguments: &Config) -> Result<Self, LoadError> {
        if arguments.flag("dynamic_img_pad", false) {
            return Err(arguments.unsupported("its model_args say dynamic_img_pad, which is not supported"));
        }
        if arguments.flag("use_post_norm", self.norms == NormPlace::Behind) {
            self.norms = NormPlace::Behind;
        } else {
            self.norms = NormPlace::Before;
        }
        if !arguments.flag("use_rot_pos_emb", self.rope.is_some()) {
            self.rope = None;
            return Ok(self);
        }
        self.rope = Some(self.rope.unwrap_or(Rope::CAT).said(arguments)?);
        Ok(self)
    }

    /// The rotary embedding of heads of this width, behind so many other tokens.
    pub fn rotary(&self, config: &Config, d_head: usize, n_prefix: usize) -> Result<Vec<Rotary>, LoadError> {
        let Some(Rope { places, first, theta, turned }) = self.rope else { return Ok(Vec::new()) };
        if !d_head.is_multiple_of(4) {
            return Err(
                config.unsupported(format!("its heads are {d_head} wide, which two axes of pairs do not divide"))
            );
        }
        if theta <= 0.0 {
            return Err(config.error(format!("its rope_temperature is {theta}")));
        }
        let rotary = Rotary::of_patches(theta, d_head, RotaryPatches { n_prefix, places, first });
        Ok(vec![Rotary { neighbours: turned == TurnedPairs::Neighbours, ..rotary }])
    }

    /// Refuses layers of other kinds.
    pub fn check(config: &Config, weights: &Weights<'_>) -> Result<(), LoadError> {
        let has = |name: &str| weights.has(&format!("blocks.0.{name}"));
        let others = [
            (has("attn.q_norm.weight"), "norms of queries and keys"),
            (has("attn.gate.weight"), "a gate on attention"),
            (has("gamma_1") && !has("gamma_2"), "a scale of attention alone"),
            (weights.has("rope.freqs"), "rotary frequencies that are learned, layer by layer"),
            (weights.has("blocks.0.attn.rel_pos.relative_position_bias_table"), "relative positions"),
        ];
        match others.iter().find(|(there, _)| *there) {
            Some((_, what)) => Err(config.unsupported(format!("its layers have {what}, which is not supported"))),
            None => Ok(()),
        }
    }

    pub fn block(&self, weights: &mut Weights<'_>, layers: &Layers<'_>, layer: usize) -> Result<Block, LoadError> {
        let name = |part: &str| layers.name(layer, part);
        let Layers { d_model, spec, eps, .. } = *layers;
        let mut attention = MultiHead::plain(
            projection(weights, layers, layer)?,
            layers.scaled(weights, layer, Branch::MultiHead, &name("attn.proj"), (d_model, layers.out_bias))?,
            spec,
            false,
        );
        attention.rotary = self.rope.map(|_| 0);
        if spec.gated {
            attention.norm = Some(layer_norm(weights, &name("attn.norm"), d_model, eps)?);
        }
        let mlp = mlp(weights, layers, layer)?;
        let [first, second] = ["norm1", "norm2"].map(|part| layer_norm(weights, &name(part), d_model, eps));
        let norms = |norm| match self.norms {
            NormPlace::Before => Norms::pre(norm),
            NormPlace::Behind => Norms { branch: Some(norm), ..Norms::default() },
        };
        Ok(Block::new(attention, norms(first?), mlp, norms(second?)))
    }
}

/// Queries, keys and values: of one tensor or of three, and keys often without a bias.
fn projection(weights: &mut Weights<'_>, layers: &Layers<'_>, layer: usize) -> Result<Linear, LoadError> {
    let name = |part: &str| layers.name(layer, part);
    let d_model = layers.d_model;
    if weights.has(&name("attn.q_proj.weight")) {
        let parts = ["attn.q_proj", "attn.k_proj", "attn.v_proj"].map(name);
        let bias = parts.each_ref().map(|part| weights.has(&format!("{part}.bias")));
        return qkv(weights, parts.each_ref().map(String::as_str), d_model, layers.spec, bias);
    }
    let whole = name("attn.qkv");
    let has_bias = weights.has(&format!("{whole}.bias"));
    let joint = weights.linear(&[&whole], (d_model, 3 * d_model), Stored::OutIn, has_bias)?;
    if !weights.has(&name("attn.q_bias")) {
        return Ok(joint);
    }
    let [q, v] = ["attn.q_bias", "attn.v_bias"].map(|part| weights.tensor(&name(part), &[d_model]));
    let (q, v) = (q?, v?);
    let bias = Tensor::cat(&[&q, &q.zeros_like()?, &v], 0)?;
    Ok(Linear { bias: Some(bias), ..joint })
}

/// Two maps, or a gated pair in one tensor or in two, and perhaps a norm before the last.
fn mlp(weights: &mut Weights<'_>, layers: &Layers<'_>, layer: usize) -> Result<Box<dyn Mlp>, LoadError> {
    let [up, gate, scaled, down] =
        ["mlp.fc1", "mlp.fc1_g", "mlp.fc1_x", "mlp.fc2"].map(|part| layers.name(layer, part));
    let d_model = layers.d_model;
    let d_mlp = weights.shape(&format!("{down}.weight")).and_then(|shape| shape.get(1)).copied().unwrap_or(0);
    let n_up = n_classes(weights, &format!("{up}.weight"));
    let is_apart = weights.has(&format!("{gate}.weight"));
    let gated = is_apart || n_up == 2 * d_mlp;
    let up = if is_apart {
        let part = |name| LinearPart { name, d_out: d_mlp, bias: true };
        weights.linear_of(&[part(&gate), part(&scaled)], d_model, Stored::OutIn, None)?
    } else {
        map(weights, &up, (d_model, n_up), true)?
    };
    let down = layers.scaled(weights, layer, Branch::Mlp, &down, (d_mlp, true))?;
    let activation = if gated { Activation::Silu } else { Activation::Gelu };
    let dense = Dense { up, activation, gated, down };
    let norm = layers.name(layer, "mlp.norm");
    Ok(if weights.has(&format!("{norm}.weight")) {
        NormedDense { dense, norm: layer_norm(weights, &norm, d_mlp, layers.eps)? }.into()
    } else {
        dense.into()
    })
}

impl Rope {
    /// What the class has by itself.
    const CAT: Self = Self::cat(PatchAxis::Row, 10_000.0, 0.0, None);
    /// Of EVA-02 and of timm's own.
    const EVA: Self = Self::cat(PatchAxis::Row, 10_000.0, 0.0, Some((16, 16)));
    /// RoPE-ViT (Heo et al. 2024).
    const AXIAL: Self = Self::cat(PatchAxis::Column, 100.0, 0.0, None);
    const DINOV3: Self = Self { places: PatchPlaces::Middles, theta: 100.0, turned: TurnedPairs::Halves, ..Self::CAT };

    const fn cat(first: PatchAxis, theta: f64, from: f32, trained: Option<(usize, usize)>) -> Self {
        Self { places: PatchPlaces::Numbers { from, trained }, first, theta, turned: TurnedPairs::Neighbours }
    }

    /// Of Perception Encoders that were trained on so many rows and columns.
    const fn pe(from: f32, n: usize) -> Self {
        Self::cat(PatchAxis::Column, 10_000.0, from, Some((n, n)))
    }

    /// With what the arguments say otherwise.
    fn said(mut self, arguments: &Config) -> Result<Self, LoadError> {
        let own = match self.places {
            PatchPlaces::Middles => "dinov3",
            PatchPlaces::Numbers { .. } => "cat",
        };
        let (mut from, mut trained) = match self.places {
            PatchPlaces::Middles => (0.0, None),
            PatchPlaces::Numbers { from, trained } => (from, trained),
        };
        if let Some(offset) = arguments.number(&["rope_grid_offset"])? {
            from = offset as f32;
        }
        if arguments.value("ref_feat_shape").is_some() {
            trained = Some(arguments.pixels("ref_feat_shape", None)?);
        }
        self.places = match arguments.text(&["rope_type"]).unwrap_or(own) {
            "cat" => PatchPlaces::Numbers { from, trained },
            "dinov3" if from == 0.0 => PatchPlaces::Middles,
            "dinov3" => return Err(arguments.unsupported(format!("its rope_grid_offset is {from}"))),
            other => {
                return Err(arguments.unsupported(format!("its rope_type is “{other}”; cat and dinov3 are supported")));
            }
        };
        self.first = match arguments.text(&["rope_grid_indexing"]) {
            None => self.first,
            Some("ij") => PatchAxis::Row,
            Some("xy") => PatchAxis::Column,
            Some(other) => return Err(arguments.unsupported(format!("its rope_grid_indexing is “{other}”"))),
        };
        self.theta = arguments.number(&["rope_temperature"])?.unwrap_or(self.theta);
        self.turned = if arguments.flag("rope_rotate_half", self.turned == TurnedPairs::Halves) {
            TurnedPairs::Halves
        } else {
            TurnedPairs::Neighbours
        };
        Ok(self)
    }
}

/// Facts, and whose they are.
type Entry = (Traits, EvaTraits, &'static [&'static str]);

/// What an architecture stands for; `None` of another.
pub(super) fn facts(architecture: &str) -> Option<(Traits, EvaTraits)> {
    let of = ARCHITECTURES.iter().find(|(_, _, names)| names.contains(&architecture))?;
    Some((of.0, of.1))
}

const fn plain(n_heads: usize, eps: f32, pooling: Pooling) -> Traits {
    Traits { n_heads, activation: Activation::Gelu, eps, pooling, all_positions: true }
}

const fn pre(rope: Rope) -> EvaTraits {
    EvaTraits { rope: Some(rope), norms: NormPlace::Before }
}

const UNTURNED: EvaTraits = EvaTraits { rope: None, norms: NormPlace::Before };
const BEHIND: EvaTraits = EvaTraits { rope: None, norms: NormPlace::Behind };

#[rustfmt::skip]
const ARCHITECTURES: &[Entry] = &[
    (plain(3, 1e-6, Pooling::Mean), pre(Rope::EVA), &[
        "eva02_tiny_patch14_224", "eva02_tiny_patch14_336",
    ]),
    (plain(3, 1e-5, Pooling::Attention), pre(Rope::pe(1.0, 24)), &[
        "vit_pe_core_tiny_patch16_384",
    ]),
    (plain(3, 1e-5, Pooling::Mean), pre(Rope::pe(1.0, 32)), &[
        "vit_pe_spatial_tiny_patch16_512",
    ]),
    (plain(3, 1e-5, Pooling::Mean), pre(Rope::DINOV3), &[
        "vit_tiny_patch16_dinov3_qkvb",
    ]),
    (plain(6, 1e-6, Pooling::Mean), pre(Rope::EVA), &[
        "eva02_small_patch14_224", "eva02_small_patch14_336",
    ]),
    (plain(6, 1e-5, Pooling::Attention), pre(Rope::pe(1.0, 24)), &[
        "vit_pe_core_small_patch16_384",
    ]),
    (plain(6, 1e-5, Pooling::Mean), pre(Rope::pe(1.0, 32)), &[
        "vit_pe_spatial_small_patch16_512",
    ]),
    (plain(6, 1e-5, Pooling::Mean), pre(Rope::DINOV3), &[
        "vit_small_patch16_dinov3", "vit_small_patch16_dinov3_qkvb", "vit_small_plus_patch16_dinov3",
        "vit_small_plus_patch16_dinov3_qkvb",
    ]),
    (plain(6, 1e-5, Pooling::Token), pre(Rope::DINOV3), &[
        "vit_small_patch16_lingbot",
    ]),
    (plain(6, 1e-6, Pooling::Token), pre(Rope::AXIAL), &[
        "vit_small_patch16_rope_224",
    ]),
    (Traits { all_positions: false, ..plain(6, 1e-6, Pooling::Token) }, pre(Rope::AXIAL), &[
        "vit_small_patch16_rope_ape_224",
    ]),
    (plain(8, 1e-6, Pooling::Mean), pre(Rope::EVA), &[
        "vit_medium_patch16_rope_reg1_gap_256", "vit_mediumd_patch16_rope_reg1_gap_256",
    ]),
    (plain(10, 1e-6, Pooling::Mean), pre(Rope::EVA), &[
        "vit_betwixt_patch16_rope_reg4_gap_256",
    ]),
    (plain(12, 1e-6, Pooling::Mean), pre(Rope::EVA), &[
        "eva02_base_patch14_224", "eva02_base_patch14_448", "vit_base_patch16_rope_reg1_gap_256",
    ]),
    (plain(12, 1e-6, Pooling::Token), pre(Rope::EVA), &[
        "eva02_base_patch16_clip_224",
    ]),
    (plain(12, 1e-5, Pooling::Mean), pre(Rope::DINOV3), &[
        "vit_base_patch16_dinov3", "vit_base_patch16_dinov3_qkvb",
    ]),
    (plain(12, 1e-5, Pooling::Token), pre(Rope::DINOV3), &[
        "vit_base_patch16_lingbot",
    ]),
    (plain(12, 1e-6, Pooling::Token), pre(Rope::AXIAL), &[
        "vit_base_patch16_rope_224",
    ]),
    (Traits { all_positions: false, ..plain(12, 1e-6, Pooling::Token) }, pre(Rope::AXIAL), &[
        "vit_base_patch16_rope_ape_224",
    ]),
    (plain(12, 1e-5, Pooling::Attention), pre(Rope::pe(1.0, 14)), &[
        "vit_pe_core_base_patch16_224",
    ]),
    (plain(12, 1e-5, Pooling::Mean), pre(Rope::pe(1.0, 32)), &[
        "vit_pe_spatial_base_patch16_512",
    ]),
    (plain(16, 1e-6, Pooling::Token), BEHIND, &[
        "eva02_enormous_patch14_clip_224",
    ]),
    (plain(16, 1e-6, Pooling::Mean), pre(Rope::EVA), &[
        "eva02_large_patch14_224", "eva02_large_patch14_448",
    ]),
    (plain(16, 1e-6, Pooling::Token), pre(Rope::EVA), &[
        "eva02_large_patch14_clip_224", "eva02_large_patch14_clip_336",
    ]),
    (plain(16, 1e-6, Pooling::Mean), UNTURNED, &[
        "eva_giant_patch14_224", "eva_giant_patch14_336", "eva_giant_patch14_560",
    ]),
    (plain(16, 1e-6, Pooling::Token), UNTURNED, &[
        "eva_giant_patch14_clip_224",
    ]),
    (plain(16, 1e-5, Pooling::Mean), pre(Rope::DINOV3), &[
        "vit_large_patch16_dinov3", "vit_large_patch16_dinov3_qkvb",
    ]),
    (plain(16, 1e-5, Pooling::Token), pre(Rope::DINOV3), &[
        "vit_large_patch16_lingbot",
    ]),
    (plain(16, 1e-6, Pooling::Token), pre(Rope::AXIAL), &[
        "vit_large_patch16_rope_224",
    ]),
    (Traits { all_positions: false, ..plain(16, 1e-6, Pooling::Token) }, pre(Rope::AXIAL), &[
        "vit_large_patch16_rope_ape_224",
    ]),
    (plain(16, 1e-5, Pooling::Attention), pre(Rope::pe(0.0, 32)), &[
        "vit_pe_core_gigantic_patch14_448",
    ]),
    (plain(16, 1e-5, Pooling::Attention), pre(Rope::pe(1.0, 24)), &[
        "vit_pe_core_large_patch14_336",
    ]),
    (plain(16, 1e-5, Pooling::Mean), pre(Rope::pe(0.0, 32)), &[
        "vit_pe_lang_gigantic_patch14_448", "vit_pe_spatial_gigantic_patch14_448",
    ]),
    (plain(16, 1e-5, Pooling::Mean), pre(Rope::pe(1.0, 32)), &[
        "vit_pe_lang_large_patch14_448", "vit_pe_spatial_large_patch14_448",
    ]),
    (plain(20, 1e-5, Pooling::Mean), pre(Rope::DINOV3), &[
        "vit_huge_plus_patch16_dinov3", "vit_huge_plus_patch16_dinov3_qkvb",
    ]),
    (plain(24, 1e-5, Pooling::Token), pre(Rope::DINOV3), &[
        "vit_giant_patch16_lingbot",
    ]),
    (plain(32, 1e-5, Pooling::Mean), pre(Rope::DINOV3), &[
        "vit_7b_patch16_dinov3",
    ]),
];
