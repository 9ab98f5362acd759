//! An encoder of one family and a decoder of another, joined by attention (captions, OCR).

use super::{
    Body, Config, Family, FamilyGroup, LoadError, Modality, Network, StackKind, TokenizerClass, Tower, Weights,
    config_keys, linear, lookup, parts::encoder_decoder,
};

pub(super) const FAMILIES: &[Family] = &[
    Family {
        harmless: &[config_keys::CAUSALITY],
        tokenizer: TokenizerClass::OF_ENCODER,
        ..Family::new("encoder-decoder", FamilyGroup::EncoderDecoder, build)
    },
    Family {
        harmless: &[config_keys::CAUSALITY],
        ..Family::new("vision-encoder-decoder", FamilyGroup::Captions, build)
    },
];

pub(super) fn build(config: &Config, weights: &mut Weights<'_>) -> Result<Network, LoadError> {
    let encoder = part(config, weights, "encoder", "encoder.")?;
    weights.within("encoder.", |weights| {
        // What a classifier would read.
        weights.skip("pooler.dense.weight");
        weights.skip("pooler.dense.bias");
    });
    let decoder = part(config, weights, "decoder", "decoder.")?;
    let modality = match (encoder.modality, decoder.modality) {
        (Modality::Image(source), Modality::Text(target)) => Modality::ImageToText { source, target },
        (Modality::Text(source), Modality::Text(target)) => Modality::TextToText { source, target },
        _ => return Err(config.error("its decoder does not write text")),
    };
    let bridge = "enc_to_dec_proj";
    let bridge = weights
        .has(&format!("{bridge}.weight"))
        .then(|| linear(weights, bridge, encoder.d_model, decoder.d_model))
        .transpose()?;
    let width = if bridge.is_some() { decoder.d_model } else { encoder.d_model };
    let (source, target) = (tower(encoder.body, StackKind::Encoder), tower(decoder.body, StackKind::Decoder));
    let (Some(mut source), Some(target)) = (source, target) else {
        return Err(config.error("its encoder or its decoder consists of two parts itself"));
    };
    // Both made of one configuration: nothing is there for the encoder to attend to.
    if source.stack.detach() {
        weights.warn(
            "Its encoder, too, is configured with attention to an encoder (add_cross_attention), which is left out as in \
             transformers",
        );
    }
    if target.stack.blocks.iter().any(|block| block.cross.as_ref().is_none_or(|(cross, _)| !cross.reads(width))) {
        let message = format!("its {} decoder does not attend to its {} encoder", decoder.family, encoder.family);
        return Err(config.error(message));
    }
    let family = if source_is_picture(&modality) { "vision-encoder-decoder" } else { "encoder-decoder" };
    Ok(encoder_decoder(family, modality, decoder.d_model, source, bridge, target, decoder.head))
}

const fn source_is_picture(modality: &Modality) -> bool {
    modality.image().is_some()
}

/// The model that a section describes, whose tensors begin with `prefix`.
fn part(config: &Config, weights: &mut Weights<'_>, name: &str, prefix: &'static str) -> Result<Network, LoadError> {
    let section = config.section(name).ok_or_else(|| config.error(format!("it does not describe its {name}")))?;
    weights.within(prefix, |weights| lookup::network(&section, weights))
}

fn tower(body: Body, kind: StackKind) -> Option<Tower> {
    let Body::Single(mut tower) = body else { return None };
    tower.stack.kind = kind;
    Some(tower)
}
