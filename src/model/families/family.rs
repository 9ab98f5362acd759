//! Declaration of a family: one constant for each `model_type`, in the file that builds it.

use super::{
    ClassIds, Config, FirstRead, HeadClass, Limit, LoadError, Network, OpinionPlan, Plain, ProcessorClass,
    TokenizerClass, Variant, Weights, config_keys,
};

/// Builds the network that a configuration describes of a checkpoint's tensors.
pub(super) type OwnBuild = fn(&Config, &mut Weights<'_>) -> Result<Network, LoadError>;

/// How the network is built.
#[derive(Clone, Copy)]
pub(super) enum Build {
    Own(OwnBuild),
    /// As a relative of LLaMA.
    Gated(&'static Variant),
    /// As an older decoder.
    Plain(&'static Plain),
}

/// Whether layers may have configurations of their own (`per_layer_config`).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LayerKeys {
    Alike,
    Apart,
}

/// A `model_type` of `config.json`, or of a section of it.
#[derive(Clone, Copy)]
pub(super) struct Family {
    pub model_type: &'static str,
    /// What names of its classes begin with, where a file without a `model_type` is told by them.
    pub classes: &'static [&'static str],
    /// Where it is listed; `None` for what is only ever a section of another configuration.
    pub group: Option<FamilyGroup>,
    /// `None` for a section that is built by the family around it.
    pub build: Option<Build>,
    /// Keys that change no number of a forward pass, beside those of all families.
    pub harmless: &'static [&'static [&'static str]],
    /// Keys that change nothing with some values only, and are refused with others.
    pub limits: &'static [&'static [Limit]],
    pub layers: LayerKeys,
    /// Other names that the class takes for its keys.
    pub aliases: &'static [(&'static str, &'static str)],
    /// Token ids that the class has when the file does not name them.
    pub ids: ClassIds,
    /// First token of a classifier's decoder.
    pub first_read: FirstRead,
    /// Head of the class for pretraining.
    pub pretraining: HeadClass,
    /// Number of classes when the file does not say it.
    pub n_classes: usize,
    /// Which class reads the texts.
    pub tokenizer: TokenizerClass,
    /// Which class reads the pictures when no file names one.
    pub image_processor: Option<&'static ProcessorClass>,
    /// The implementation to compare with.
    pub opinion: Option<OpinionPlan>,
}

impl Family {
    /// What families say when they say nothing.
    pub const BASE: Self = Self {
        model_type: "",
        classes: &[],
        group: None,
        build: None,
        harmless: &[],
        limits: &[],
        layers: LayerKeys::Alike,
        aliases: &[],
        ids: &[],
        first_read: FirstRead::Start,
        pretraining: HeadClass::Words,
        n_classes: 2,
        tokenizer: TokenizerClass::NONE,
        image_processor: None,
        opinion: None,
    };

    pub const fn new(model_type: &'static str, group: FamilyGroup, build: OwnBuild) -> Self {
        Self { model_type, group: Some(group), build: Some(Build::Own(build)), ..Self::BASE }
    }

    pub const fn encoder(model_type: &'static str, build: OwnBuild) -> Self {
        let harmless = &[config_keys::CAUSALITY, config_keys::TABLES];
        Self { harmless, ..Self::new(model_type, FamilyGroup::Encoder, build) }
    }

    pub const fn vision(model_type: &'static str, processor: &'static ProcessorClass, build: OwnBuild) -> Self {
        let harmless = &[config_keys::CAUSALITY, config_keys::BACKBONE];
        Self { harmless, image_processor: Some(processor), ..Self::new(model_type, FamilyGroup::Vision, build) }
    }

    pub const fn decoder(model_type: &'static str, build: OwnBuild) -> Self {
        Self { limits: &[config_keys::CAUSAL], ..Self::new(model_type, FamilyGroup::Decoder, build) }
    }

    pub const fn encoder_decoder(model_type: &'static str, build: OwnBuild) -> Self {
        Self { group: Some(FamilyGroup::EncoderDecoder), ..Self::decoder(model_type, build) }
    }

    pub const fn gated(variant: &'static Variant) -> Self {
        let (group, build) = (Some(FamilyGroup::Decoder), Some(Build::Gated(variant)));
        let (harmless, limits): (&[&[_]], &[&[_]]) = (&[config_keys::BESIDE_ROTARY], &[config_keys::CAUSAL]);
        Self { model_type: variant.family, group, build, harmless, limits, ..Self::BASE }
    }

    pub const fn plain(plain: &'static Plain) -> Self {
        let (group, build) = (Some(FamilyGroup::Decoder), Some(Build::Plain(plain)));
        Self { model_type: plain.family, group, build, limits: &[config_keys::CAUSAL], ..Self::BASE }
    }
}

/// What families are, by what they read and write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FamilyGroup {
    Encoder,
    Decoder,
    EncoderDecoder,
    Recurrent,
    Vision,
    Captions,
    TwoTowers,
}

vocabulary! {
    FamilyGroup:
    /// As it is listed.
    title;
    Encoder("encoders"),
    Decoder("decoders"),
    EncoderDecoder("encoder–decoders"),
    Recurrent("recurrent networks"),
    Vision("vision transformers"),
    Captions("pictures to text"),
    TwoTowers("pictures with texts"),
}
