//! An input made ready for one model: what the network reads, and what the capture says about it.

use std::collections::BTreeMap;

use super::{
    ImageSource, Input, LoadError, ModelError, ModelFiles,
    input::{EncodedImage, EncodedText, ImageProcessor, InputError, TextEncoder, open_picture},
};
use crate::{
    capture::{ImageInfo, InputInfo, Token},
    ids::Side,
    spec::Modality,
};

/// What one forward pass reads.
#[derive(Clone, Debug)]
pub struct Encoded {
    pub(crate) payload: Payload,
    /// Token sequences by side.
    pub tokens: BTreeMap<Side, Vec<Token>>,
    /// For captions and metadata.
    pub input: InputInfo,
    /// How patches lie on the picture.
    pub image: Option<ImageInfo>,
    /// Sentences the user must see, such as truncation.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug)]
pub(crate) enum Payload {
    Text { ids: Vec<u32>, segments: Vec<u32> },
    Image { pixels: Vec<f32>, size_px: (usize, usize) },
}

/// How a model's input is prepared.
#[derive(Debug)]
pub(crate) enum Reader {
    /// Without a tokenizer only raw ids can be read.
    Text {
        encoder: Option<Box<TextEncoder>>,
        n_ctx: usize,
        n_vocab: usize,
    },
    Image {
        processor: ImageProcessor,
        patch_px: (usize, usize),
        n_prefix: usize,
    },
}

impl Reader {
    /// Reads the tokenizer's or the image processor's files. A missing tokenizer is not an error
    /// here: raw ids can still be run.
    pub fn open(files: &ModelFiles, modality: &Modality) -> Result<Self, LoadError> {
        match *modality {
            Modality::Text { n_ctx, n_vocab } => {
                let encoder = match TextEncoder::from_files(files) {
                    Ok(encoder) => Some(Box::new(encoder)),
                    Err(InputError::MissingTokenizer) => None,
                    Err(error) => return Err(error.into()),
                };
                Ok(Self::Text { encoder, n_ctx, n_vocab })
            }
            Modality::Image { size_px, patch_px, n_prefix } => {
                Ok(Self::Image { processor: ImageProcessor::from_files(files, size_px)?, patch_px, n_prefix })
            }
        }
    }

    /// Where the tokenizer or the image processor came from, and what the user must know about it.
    pub fn source(&self) -> (String, Option<String>) {
        match self {
            Self::Text { encoder: Some(encoder), n_vocab, .. } => {
                let warning = (encoder.n_vocab() > *n_vocab)
                    .then(|| format!("The tokenizer has {} ids, but the model only {n_vocab}", encoder.n_vocab()));
                (encoder.source().to_owned(), warning)
            }
            Self::Text { encoder: None, .. } => {
                let warning = "There is no tokenizer among the model's files, so it reads token ids only";
                ("none".to_owned(), Some(warning.to_owned()))
            }
            Self::Image { processor, .. } => (processor.source().to_owned(), None),
        }
    }

    /// What to show for a vocabulary id.
    pub fn label(&self, id: u32) -> String {
        match self {
            Self::Text { encoder: Some(encoder), .. } => encoder.decode_label(id),
            _ => format!("#{id}"),
        }
    }

    pub fn encode(&self, input: &Input) -> Result<Encoded, ModelError> {
        match (self, input) {
            (Self::Text { encoder: Some(encoder), n_ctx, n_vocab }, Input::Text(text)) => {
                let encoded = encoder.encode(text, *n_ctx)?;
                super::input::check_ids(&encoded.ids, *n_vocab, *n_ctx)?;
                let info = InputInfo { text: Some(text.text.clone()), text_b: text.text_b.clone(), image: None };
                Ok(Encoded::from_text(encoded, info))
            }
            (Self::Text { encoder: None, .. }, Input::Text(_)) => Err(InputError::MissingTokenizer.into()),
            (Self::Text { encoder, n_ctx, n_vocab }, Input::Ids(ids)) => {
                let encoded = EncodedText::from_ids(ids, encoder.as_deref(), *n_vocab, *n_ctx)?;
                Ok(Encoded::from_text(encoded, InputInfo::default()))
            }
            (Self::Image { processor, patch_px, n_prefix }, Input::Image(source)) => {
                let encoded = processor.encode(&open_picture(source)?, *patch_px, *n_prefix)?;
                Ok(Encoded::from_image(encoded, InputInfo { image: Some(name_of(source)), ..InputInfo::default() }))
            }
            (Self::Image { patch_px, n_prefix, .. }, Input::Pixels { data, size_px }) => {
                // Checked here already: a size that lies would make as many tokens.
                let expected = size_px.0.checked_mul(size_px.1).and_then(|n| n.checked_mul(3));
                if expected != Some(data.len()) {
                    return Err(ModelError::Input {
                        summary: format!("{} pixel values are not 3 × {} × {}", data.len(), size_px.0, size_px.1),
                        details: "Give the values of three channels, one after the other".to_owned(),
                    });
                }
                let encoded = EncodedImage::from_pixels(data.to_vec(), *size_px, *patch_px, *n_prefix);
                Ok(Encoded::from_image(encoded, InputInfo::default()))
            }
            (Self::Text { .. }, Input::Image(_) | Input::Pixels { .. }) => Err(ModelError::Input {
                summary: "this model reads text, not pictures".to_owned(),
                details: "Open a vision model for this picture".to_owned(),
            }),
            (Self::Image { .. }, Input::Text(_) | Input::Ids(_)) => Err(ModelError::Input {
                summary: "this model reads pictures, not text".to_owned(),
                details: "Open a text model for this text".to_owned(),
            }),
        }
    }
}

impl Encoded {
    fn from_text(encoded: EncodedText, input: InputInfo) -> Self {
        let EncodedText { ids, type_ids, tokens, notes } = encoded;
        Self {
            payload: Payload::Text { ids, segments: type_ids },
            tokens: BTreeMap::from([(Side::Only, tokens)]),
            input,
            image: None,
            notes,
        }
    }

    fn from_image(encoded: EncodedImage, input: InputInfo) -> Self {
        let EncodedImage { pixels, size_px, info, tokens, notes } = encoded;
        Self {
            payload: Payload::Image { pixels, size_px },
            tokens: BTreeMap::from([(Side::Only, tokens)]),
            input,
            image: Some(info),
            notes,
        }
    }
}

fn name_of(source: &ImageSource) -> String {
    match source {
        ImageSource::Path(path) => {
            path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
        }
        ImageSource::Memory { name, .. } | ImageSource::Bundled(name) => name.clone(),
    }
}
