//! What timm's functions of vision transformers (`timm.models.vision_transformer`, `deit`, `beit` of version 1.0.31) say
//! and the weights do not: heads, activation, the smallest variance of norms, what is read of a picture, and whether tokens
//! before the patches have positions. Only those of the plain block are here.

use super::Activation;

/// What a classifier reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pooling {
    /// CLS.
    Token,
    /// The mean of the patches.
    Mean,
    /// What a learned query finds in them.
    Attention,
}

/// What the name of an architecture stands for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Traits {
    pub n_heads: usize,
    pub activation: Activation,
    pub eps: f32,
    pub pooling: Pooling,
    /// Whether the tokens before the patches have positions, too.
    pub all_positions: bool,
}

/// Facts, and whose they are.
type Entry = (Traits, &'static [&'static str]);

/// What an architecture stands for; `None` of another.
pub(super) fn facts(architecture: &str) -> Option<Traits> {
    ARCHITECTURES.iter().find(|(_, names)| names.contains(&architecture)).map(|(facts, _)| *facts)
}

const fn of(n_heads: usize, activation: Activation, eps: f32, pooling: Pooling, all_positions: bool) -> Traits {
    Traits { n_heads, activation, eps, pooling, all_positions }
}

#[rustfmt::skip]
const ARCHITECTURES: &[Entry] = &[
    (of(3, Activation::Gelu, 1e-6, Pooling::Token, true), &[
        "deit_tiny_patch16_224", "vit_tiny_patch16_224", "vit_tiny_patch16_384",
    ]),
    (of(4, Activation::Gelu, 1e-6, Pooling::Mean, false), &[
        "vit_wee_patch16_reg1_gap_256",
    ]),
    (of(4, Activation::Gelu, 1e-5, Pooling::Token, true), &[
        "vit_xsmall_patch16_clip_224",
    ]),
    (of(5, Activation::Gelu, 1e-6, Pooling::Mean, false), &[
        "vit_little_patch16_reg1_gap_256", "vit_little_patch16_reg4_gap_256",
    ]),
    (of(6, Activation::Gelu, 1e-6, Pooling::Token, true), &[
        "deit_small_patch16_224", "vit_small_patch8_224", "vit_small_patch14_dinov2", "vit_small_patch16_36x1_224",
        "vit_small_patch16_224", "vit_small_patch16_384", "vit_small_patch32_224", "vit_small_patch32_384",
    ]),
    (of(6, Activation::Gelu, 1e-6, Pooling::Token, false), &[
        "deit3_small_patch16_224", "deit3_small_patch16_384", "flexivit_small", "vit_small_patch14_reg4_dinov2",
    ]),
    (of(8, Activation::Gelu, 1e-6, Pooling::Mean, true), &[
        "vit_medium_patch16_gap_240", "vit_medium_patch16_gap_256", "vit_medium_patch16_gap_384",
    ]),
    (of(8, Activation::Gelu, 1e-6, Pooling::Mean, false), &[
        "vit_medium_patch16_reg1_gap_256", "vit_medium_patch16_reg4_gap_256", "vit_mediumd_patch16_reg4_gap_256",
        "vit_mediumd_patch16_reg4_gap_384",
    ]),
    (of(8, Activation::Gelu, 1e-6, Pooling::Token, false), &[
        "deit3_medium_patch16_224",
    ]),
    (of(8, Activation::Gelu, 1e-5, Pooling::Token, true), &[
        "vit_medium_patch16_clip_224", "vit_medium_patch32_clip_224",
    ]),
    (of(10, Activation::Gelu, 1e-6, Pooling::Mean, true), &[
        "vit_betwixt_patch16_gap_256",
    ]),
    (of(10, Activation::Gelu, 1e-6, Pooling::Mean, false), &[
        "vit_betwixt_patch16_reg1_gap_256", "vit_betwixt_patch16_reg4_gap_256", "vit_betwixt_patch16_reg4_gap_384",
    ]),
    (of(10, Activation::Gelu, 1e-5, Pooling::Token, true), &[
        "vit_betwixt_patch32_clip_224",
    ]),
    (of(12, Activation::Gelu, 1e-6, Pooling::Mean, true), &[
        "vit_base_patch16_siglip_gap_224", "vit_base_patch16_siglip_gap_256", "vit_base_patch16_siglip_gap_384",
        "vit_base_patch16_siglip_gap_512",
    ]),
    (of(12, Activation::Gelu, 1e-6, Pooling::Mean, false), &[
        "vit_base_patch16_reg4_gap_256",
    ]),
    (of(12, Activation::Gelu, 1e-6, Pooling::Attention, true), &[
        "vit_base_patch16_siglip_224", "vit_base_patch16_siglip_256", "vit_base_patch16_siglip_384",
        "vit_base_patch16_siglip_512",
    ]),
    (of(12, Activation::Gelu, 1e-6, Pooling::Token, true), &[
        "deit_base_patch16_224", "deit_base_patch16_384", "vit_base_patch8_224", "vit_base_patch14_dinov2",
        "vit_base_patch16_224", "vit_base_patch16_224_miil", "vit_base_patch16_384", "vit_base_patch32_224",
        "vit_base_patch32_384",
    ]),
    (of(12, Activation::Gelu, 1e-6, Pooling::Token, false), &[
        "deit3_base_patch16_224", "deit3_base_patch16_384", "flexivit_base", "vit_base_patch14_reg1_tipsv2",
        "vit_base_patch14_reg4_dinov2", 
    ]),
    (of(12, Activation::Gelu, 1e-5, Pooling::Token, true), &[
        "vit_base_patch16_clip_224", "vit_base_patch16_clip_384", "vit_base_patch32_clip_224",
        "vit_base_patch32_clip_256", "vit_base_patch32_clip_384", "vit_base_patch32_clip_448",
    ]),
    (of(12, Activation::GeluTanh, 1e-6, Pooling::Mean, true), &[
        "vit_base_patch32_siglip_gap_256",
    ]),
    (of(12, Activation::GeluTanh, 1e-6, Pooling::Attention, true), &[
        "vit_base_patch32_siglip_256",
    ]),
    (of(12, Activation::QuickGelu, 1e-5, Pooling::Token, true), &[
        "vit_base_patch16_clip_quickgelu_224", "vit_base_patch32_clip_quickgelu_224",
    ]),
    (of(13, Activation::Gelu, 1e-6, Pooling::Mean, true), &[
        "vit_so150m2_patch16_reg1_gap_256", "vit_so150m2_patch16_reg1_gap_384", "vit_so150m2_patch16_reg1_gap_448",
    ]),
    (of(14, Activation::Gelu, 1e-6, Pooling::Mean, true), &[
        "vit_so150m_patch16_reg4_gap_256", "vit_so150m_patch16_reg4_gap_384",
    ]),
    (of(14, Activation::Gelu, 1e-6, Pooling::Attention, true), &[
        "vit_so150m_patch16_reg4_map_256",
    ]),
    (of(14, Activation::Gelu, 1e-6, Pooling::Token, true), &[
        "vit_base_patch16_plus_240", "vit_base_patch32_plus_256",
    ]),
    (of(14, Activation::Gelu, 1e-5, Pooling::Token, true), &[
        "vit_base_patch16_plus_clip_240",
    ]),
    (of(16, Activation::Gelu, 1e-6, Pooling::Mean, true), &[
        "eva_large_patch14_196", "eva_large_patch14_336", "vit_base_patch16_gap_224", "vit_giant_patch16_gap_224",
        "vit_huge_patch14_gap_224", "vit_huge_patch16_gap_448", "vit_large_patch16_siglip_gap_256",
        "vit_large_patch16_siglip_gap_384", "vit_so400m_patch14_siglip_gap_224", "vit_so400m_patch14_siglip_gap_378",
        "vit_so400m_patch14_siglip_gap_384", "vit_so400m_patch14_siglip_gap_448",
        "vit_so400m_patch14_siglip_gap_896",
    ]),
    (of(16, Activation::Gelu, 1e-6, Pooling::Attention, true), &[
        "vit_large_patch16_siglip_256", "vit_large_patch16_siglip_384", "vit_so400m_patch14_siglip_224",
        "vit_so400m_patch14_siglip_378", "vit_so400m_patch14_siglip_384",
    ]),
    (of(16, Activation::Gelu, 1e-6, Pooling::Token, true), &[
        "vit_giant_patch14_224", "vit_gigantic_patch14_224", "vit_huge_patch14_224", "vit_intern300m_patch14_448",
        "vit_large_patch14_224", "vit_large_patch14_dinov2", "vit_large_patch16_224", "vit_large_patch16_384",
        "vit_large_patch32_224", "vit_large_patch32_384",
    ]),
    (of(16, Activation::Gelu, 1e-6, Pooling::Token, false), &[
        "deit3_huge_patch14_224", "deit3_large_patch16_224", "deit3_large_patch16_384", "flexivit_large",
        "vit_large_patch14_reg1_tipsv2",
        "vit_large_patch14_reg4_dinov2", "vit_so400m_patch14_reg1_tipsv2",
    ]),
    (of(16, Activation::Gelu, 1e-5, Pooling::Token, true), &[
        "vit_giant_patch14_clip_224", "vit_gigantic_patch14_clip_224", "vit_gigantic_patch14_clip_378",
        "vit_huge_patch14_clip_224", "vit_huge_patch14_clip_336", "vit_huge_patch14_clip_378",
        "vit_large_patch14_clip_224", "vit_large_patch14_clip_336",
    ]),
    (of(16, Activation::GeluTanh, 1e-6, Pooling::Mean, true), &[
        "vit_giantopt_patch16_siglip_gap_256", "vit_giantopt_patch16_siglip_gap_384",
        "vit_large_patch16_siglip_gap_512", "vit_so400m_patch16_siglip_gap_256", "vit_so400m_patch16_siglip_gap_384",
        "vit_so400m_patch16_siglip_gap_512",
    ]),
    (of(16, Activation::GeluTanh, 1e-6, Pooling::Attention, true), &[
        "vit_giantopt_patch16_siglip_256", "vit_giantopt_patch16_siglip_384", "vit_large_patch16_siglip_512",
        "vit_so400m_patch16_siglip_256", "vit_so400m_patch16_siglip_384", "vit_so400m_patch16_siglip_512",
    ]),
    (of(16, Activation::QuickGelu, 1e-5, Pooling::Token, true), &[
        "vit_gigantic_patch14_clip_quickgelu_224", "vit_huge_patch14_clip_quickgelu_224",
        "vit_huge_patch14_clip_quickgelu_378", "vit_large_patch14_clip_quickgelu_224",
        "vit_large_patch14_clip_quickgelu_336",
    ]),
    (of(24, Activation::Silu, 1e-6, Pooling::Token, true), &[
        "vit_giant_patch14_dinov2",
    ]),
    (of(24, Activation::Silu, 1e-6, Pooling::Token, false), &[
        "vit_giant_patch14_reg1_tipsv2", "vit_giant_patch14_reg4_dinov2",
    ]),
];
