//! What a family says of itself: one constant for each `model_type`, in the file that builds it.

use crate::model::{
    LoadError,
    checkpoint::{Config, Weights, ids::ClassIds, key_audit::Limit},
    input::TokenizerClass,
    network::Network,
};

/// Builds the network that a configuration describes of a checkpoint's tensors.
pub(super) type Build = fn(&Config, &mut Weights<'_>) -> Result<Network, LoadError>;

/// A `model_type` of `config.json`, or of a section of it.
pub(super) struct Family {
    pub model_type: &'static str,
    /// Where it is listed; `None` for what is only ever a section of another configuration.
    pub group: Option<Group>,
    /// `None` for a section that is built by the family around it.
    pub build: Option<Build>,
    /// Keys that change no number of a forward pass, beside those of all families.
    pub harmless: &'static [&'static [&'static str]],
    /// Keys that change nothing with some values only, and are refused with others.
    pub limits: &'static [&'static [Limit]],
    /// Other names that the class takes for its keys.
    pub aliases: &'static [(&'static str, &'static str)],
    /// Token ids that the class has when the file does not name them.
    pub ids: ClassIds,
    /// Which class reads the texts.
    pub tokenizer: TokenizerClass,
}

impl Family {
    /// What families say when they say nothing.
    pub const BASE: Self = Self {
        model_type: "",
        group: None,
        build: None,
        harmless: &[],
        limits: &[],
        aliases: &[],
        ids: &[],
        tokenizer: TokenizerClass::NONE,
    };
}

/// What families are, by what they read and write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    Encoder,
    Decoder,
    EncoderDecoder,
    Recurrent,
    Vision,
    Captions,
    TwoTowers,
}

impl Group {
    pub const ALL: [Self; 7] = [
        Self::Encoder,
        Self::Decoder,
        Self::EncoderDecoder,
        Self::Recurrent,
        Self::Vision,
        Self::Captions,
        Self::TwoTowers,
    ];

    /// As it is listed.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Encoder => "encoders",
            Self::Decoder => "decoders",
            Self::EncoderDecoder => "encoder–decoders",
            Self::Recurrent => "recurrent classifiers",
            Self::Vision => "vision transformers",
            Self::Captions => "pictures to text",
            Self::TwoTowers => "pictures with texts",
        }
    }
}
