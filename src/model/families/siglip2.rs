//! SigLIP 2 that reads pictures in their own shape (`NaFlex`): patches are mapped as they are cut, and places are resampled
//! from a square table to the rows and columns of the picture. The rest is SigLIP. One picture by itself is never filled
//! up, so there is no padding to hide. Checkpoints of one size say that they are SigLIP.

use serde_json::{Value, json};

use super::{
    BOS, Config, Convention, EOS, Family, FamilyGroup, Interpolation, Linear, LoadError, PAD, Pictures, ProcessorClass,
    TokenizerClass, Weights, config_keys,
    siglip::{POSITIONS, Pictured, build, build_vision},
    vision::PatchEmbedding,
};

pub(super) const FAMILIES: &[Family] = &[
    Family {
        harmless: &[config_keys::CAUSALITY, config_keys::TWO_TOWERS],
        tokenizer: TokenizerClass::always(Convention::Siglip2),
        image_processor: Some(&ProcessorClass::SIGLIP2),
        ..Family::new("siglip2", FamilyGroup::TwoTowers, |config, weights| build(config, weights, &FLEXIBLE))
    },
    Family {
        harmless: &[config_keys::CAUSALITY, config_keys::TWO_TOWERS],
        image_processor: Some(&ProcessorClass::SIGLIP2),
        ..Family::new("siglip2_vision_model", FamilyGroup::TwoTowers, |config, weights| {
            build_vision(config, weights, &FLEXIBLE)
        })
    },
    Family {
        model_type: "siglip2_text_model",
        harmless: &[config_keys::CAUSALITY, config_keys::TWO_TOWERS],
        ids: &[(BOS, 49_406), (EOS, 49_407), (PAD, 1)],
        ..Family::BASE
    },
];

const FLEXIBLE: Pictured =
    Pictured { family: "siglip2", vision_family: "siglip2_vision_model", defaults, embedding: flexible_embedding };

fn defaults() -> Value {
    json!({
        "hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12, "num_attention_heads": 12,
        "num_patches": 256, "patch_size": 16, "hidden_act": "gelu_pytorch_tanh", "layer_norm_eps": 1e-6,
    })
}

/// A map of patches whose colours lie side by side, and places of as many of them as the table has.
fn flexible_embedding(config: &Config, weights: &mut Weights<'_>) -> Result<(Pictures, PatchEmbedding), LoadError> {
    let d_model = config.d_model()?;
    let n = config.size(&["num_patches"], 1 << 20)?;
    let (patch, width) = config.pixels("patch_size", Some(16))?;
    let side = n.isqrt();
    if side * side != n || patch != width {
        return Err(config.unsupported(format!(
            "its table has places of {n} patches of {patch} × {width} pixels, which are no square of squares"
        )));
    }
    let pictures = Pictures::of(&config.clone().with_changes(&json!({ "image_size": side * patch })))?;
    let name = "vision_model.embeddings.patch_embedding";
    let weight = weights.tensor(&format!("{name}.weight"), &[d_model, 3 * patch * patch])?;
    // The file has colours innermost, pictures have them outermost.
    let weight = weight.reshape((d_model, patch, patch, 3))?.permute((0, 3, 1, 2))?.contiguous()?;
    let weight = weight.reshape((d_model, 3 * patch * patch))?.t()?;
    let bias = weights.tensor(&format!("{name}.bias"), &[d_model])?;
    let mut embedding = pictures.embedding_of(Linear::new(weight, Some(bias))?);
    embedding.filter = Interpolation::BilinearAntialiased;
    embedding.position = Some(weights.tensor(POSITIONS, &[n, d_model])?);
    Ok((pictures, embedding))
}
