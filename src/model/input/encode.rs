//! An input made ready for one model: what the network reads, and what the capture says about it.

use std::{
    collections::BTreeMap,
    ops::Range,
    sync::{Arc, Mutex, PoisonError},
    time::SystemTime,
};

use super::{
    EncodedImage, EncodedText, ImageProcessor, ImageSource, Input, InputError, Keys, Preparation, SentenceEnds,
    TextEncoder, TextInput, chat::Conversation, convention::TokenizerOf, picture::Undecoded, processor::ProcessorClass,
};
use crate::{
    capture::{ImageInfo, InputInfo, Token, groups},
    ids::Side,
    model::{LoadError, ModelError, checkpoint::ModelFiles},
    spec::{ImageSpec, Modality, TextSpec},
};

/// What one forward pass reads.
#[derive(Clone, Debug)]
pub struct Encoded {
    /// For the only tower, the encoder, or the vision tower.
    pub(crate) source: Payload,
    /// For the decoder or the text tower; `None` until the decoder has written it.
    pub(crate) target: Option<Payload>,
    pub tokens: BTreeMap<Side, Vec<Token>>,
    /// Where sentences end that are attended to.
    pub(crate) sentences: Option<SentenceEnds>,
    /// For captions and metadata.
    pub input: InputInfo,
    /// How patches lie on the picture.
    pub image: Option<ImageInfo>,
    /// What it was made of.
    pub given: Input,
    /// Sentences the user must see, such as truncation.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug)]
pub(crate) enum Payload {
    Text {
        ids: Vec<u32>,
        segments: Vec<u32>,
        /// The position of each token, where they are not in order.
        positions: Option<Arc<[usize]>>,
    },
    Image {
        pixels: Vec<f32>,
        size_px: (usize, usize),
    },
}

impl Payload {
    /// Tokens of a text; 0 for a picture.
    pub const fn len(&self) -> usize {
        match self {
            Self::Text { ids, .. } => ids.len(),
            Self::Image { .. } => 0,
        }
    }

    /// The position of each token, where they are not in order.
    pub const fn positions(&self) -> Option<&Arc<[usize]>> {
        match self {
            Self::Text { positions, .. } => positions.as_ref(),
            Self::Image { .. } => None,
        }
    }

    /// Ids of a text; none of a picture.
    pub fn words(&self) -> &[u32] {
        match self {
            Self::Text { ids, .. } => ids,
            Self::Image { .. } => &[],
        }
    }

    /// Token ids of a single segment.
    pub const fn ids(ids: Vec<u32>) -> Self {
        Self::Text { ids, segments: Vec::new(), positions: None }
    }
}

/// Said where texts are to be prepared as a library would that the model is not made for.
const NOT_OF_SENTENCES: &str =
    "There is no file of sentence-transformers among the model's, so the text is read as it is";
/// Said of a model that reads ids.
pub(crate) const NO_TOKENIZER: &str = "There is no tokenizer among the model's files, so it reads token ids only";

/// How a model's input is prepared.
#[derive(Debug)]
pub(crate) struct Reader {
    modality: Modality,
    /// Without a tokenizer only raw ids can be read.
    pub encoder: Option<Box<TextEncoder>>,
    processor: Option<ImageProcessor>,
    /// What a decoder's text starts with.
    pub start: Option<u32>,
    /// What to call the tokens before patches.
    pub prefix_labels: Vec<String>,
    /// What the one query is called of a model whose words do not attend to each other.
    pub query: Option<&'static str>,
    /// Where sentences end that it attends to.
    pub sentences: Option<SentenceEnds>,
    /// Fills a text up to the longest that the model reads (SigLIP's text tower).
    pub padding: Option<u32>,
    /// The picture that was made ready last: changed runs see the same one again and again.
    kept: Mutex<Option<(Undecoded, EncodedImage)>>,
}

impl Reader {
    /// Reads the tokenizer's and the image processor's files. A missing tokenizer is not an error
    /// here: raw ids can still be run. `own` is the image processor of the model's family.
    pub fn open(
        files: &ModelFiles,
        modality: &Modality,
        tokenizer_of: TokenizerOf,
        own: Option<&'static ProcessorClass>,
    ) -> Result<Self, LoadError> {
        let mut reader = Self {
            modality: *modality,
            encoder: None,
            processor: None,
            start: None,
            prefix_labels: Vec::new(),
            query: None,
            sentences: None,
            padding: None,
            kept: Mutex::default(),
        };
        if modality.text().or(modality.target()).is_some() {
            reader.encoder = match TextEncoder::from_files(files, tokenizer_of) {
                Ok(encoder) => Some(Box::new(encoder)),
                Err(InputError::MissingTokenizer) => None,
                Err(error) => return Err(error.into()),
            };
        }
        if let Some(image) = modality.image() {
            reader.processor = Some(ImageProcessor::from_files(files, own, image.size_px)?.for_patches(image)?);
        }
        Ok(reader)
    }

    /// Where the tokenizer and the image processor came from, and what the user must know about it.
    pub fn source(&self) -> (String, Vec<String>) {
        let mut sources = Vec::new();
        let mut warnings = Vec::new();
        if let Some(spec) = self.modality.text().or(self.modality.target()) {
            match &self.encoder {
                Some(encoder) => {
                    warnings.extend((encoder.n_vocab() > spec.n_vocab).then(|| {
                        format!("The tokenizer has {} ids, but the model only {}", encoder.n_vocab(), spec.n_vocab)
                    }));
                    warnings.extend(encoder.warnings().iter().cloned());
                    sources.push(encoder.source());
                }
                None => {
                    warnings.push(NO_TOKENIZER.to_owned());
                }
            }
        }
        sources.extend(self.processor.as_ref().map(ImageProcessor::source));
        (if sources.is_empty() { "none".to_owned() } else { sources.join(", ") }, warnings)
    }

    /// What became of the keys of the image processor's file, where the model reads pictures.
    pub fn processor_keys(&self) -> Option<&Keys> {
        self.processor.as_ref().map(ImageProcessor::keys)
    }

    /// What to show for an id that the model predicts.
    pub fn label(&self, id: u32) -> String {
        match &self.encoder {
            Some(encoder) if self.modality.target().is_some() => encoder.target_label(id),
            Some(encoder) => encoder.decode_label(id),
            None => format!("#{id}"),
        }
    }

    /// Tokens of ids that a decoder reads.
    pub fn decoder_tokens(&self, ids: &[u32]) -> Vec<Token> {
        let mut tokens = match &self.encoder {
            Some(encoder) => encoder.target_tokens(ids),
            None => ids.iter().map(|&id| Token { text: format!("#{id}"), id: Some(id), ..Token::default() }).collect(),
        };
        if self.modality.target().is_some()
            && let Some(first) = tokens.first_mut().filter(|token| token.id == self.start)
        {
            first.special = true;
        }
        tokens
    }

    pub fn encode(&self, input: &Input) -> Result<Encoded, ModelError> {
        match (&self.modality, input) {
            (Modality::Text(spec), Input::Text(_) | Input::Ids(_)) => match self.query {
                None => self.text(input, spec, Side::Only),
                Some(query) => {
                    let mut encoded = self.text(input, spec, Side::Encoder)?;
                    let query = Token { text: query.to_owned(), special: true, ..Token::default() };
                    encoded.tokens.insert(Side::Decoder, vec![query]);
                    encoded.sentences.clone_from(&self.sentences);
                    let text = encoded.input.text.clone();
                    Ok(encoded.with_sentences(text.as_deref()))
                }
            },
            (Modality::Image(spec), Input::Image(_) | Input::Pixels { .. }) => self.image(input, spec, Side::Only),
            (Modality::TextToText { source, target }, Input::Pair { source: text, target: forced }) => {
                let encoded = self.text(text, source, Side::Encoder)?;
                self.with_forced(encoded, forced, target)
            }
            (Modality::TextToText { source, .. }, Input::Text(_) | Input::Ids(_)) => {
                self.text(input, source, Side::Encoder)
            }
            (Modality::ImageToText { source, target }, Input::Pair { source: picture, target: forced }) => {
                let encoded = self.image(picture, source, Side::Encoder)?;
                self.with_forced(encoded, forced, target)
            }
            (Modality::ImageToText { source, .. }, Input::Image(_) | Input::Pixels { .. }) => {
                self.image(input, source, Side::Encoder)
            }
            (Modality::ImageAndText { image, text }, Input::Pair { source: picture, target: words }) => {
                let words = self.padded(self.text(words, text, Side::Text)?, words, text.n_ctx);
                let mut encoded = self.image(picture, image, Side::Vision)?;
                encoded.target = Some(words.source);
                encoded.tokens.extend(words.tokens);
                (encoded.input.text, encoded.input.part) = (words.input.text, words.input.part);
                encoded.notes.extend(words.notes);
                encoded.given = input.clone();
                Ok(encoded)
            }
            (Modality::ImageAndText { .. }, _) => {
                Err(refuse("this model compares a picture with a text", "Give both a picture and a text"))
            }
            (_, Input::Pair { .. }) => {
                Err(refuse("this model has no decoder, so it takes no target text", "Leave the target out"))
            }
            (Modality::Text(_) | Modality::TextToText { .. }, Input::Image(_) | Input::Pixels { .. }) => {
                Err(refuse("this model reads text, not pictures", "Open a vision model for this picture"))
            }
            (Modality::Image(_) | Modality::ImageToText { .. }, Input::Text(_) | Input::Ids(_)) => {
                Err(refuse("this model reads pictures, not text", "Open a text model for this text"))
            }
        }
    }

    fn text(&self, input: &Input, spec: &TextSpec, side: Side) -> Result<Encoded, ModelError> {
        let limits = spec.limits();
        let (mut how, mut notes) = (None, Vec::new());
        let (encoded, info) = match (input, &self.encoder) {
            (Input::Text(text), Some(encoder)) => {
                let (plain, groups) = text.ungrouped()?;
                let said = encoder.conversation(&plain, SystemTime::now())?;
                let (text, content) = in_template(plain, said, &mut notes);
                let prepared = encoder.prepared(&text, limits);
                how = match &prepared {
                    Some((_, note)) => Some(note.clone()),
                    None => text.how.sentence_transformers.then(|| NOT_OF_SENTENCES.to_owned()),
                };
                let text = prepared.map_or(text, |(text, _)| text);
                let mut encoded = encoder.encode(&text, limits)?;
                super::check_ids(&encoded.ids, spec)?;
                let is_cut = encoded.part.is_some();
                for (segment, grouped) in (0..).zip(groups.iter().flatten()) {
                    groups::mark(&mut encoded.tokens, segment, grouped, is_cut).map_err(InputError::from)?;
                }
                let part = encoded.part;
                let info =
                    InputInfo { text: Some(text.text), text_b: text.text_b, content, part, ..InputInfo::default() };
                (encoded, info)
            }
            (Input::Text(_), None) => return Err(InputError::MissingTokenizer.into()),
            (Input::Ids(ids), encoder) => (EncodedText::from_ids(ids, encoder.as_deref(), spec)?, InputInfo::default()),
            _ => return Err(refuse("a text is needed here, not a picture", "")),
        };
        let EncodedText { ids, type_ids, tokens, part } = encoded;
        notes.extend(how.into_iter().chain(part.iter().map(ToString::to_string)));
        if let (Input::Text(_), Some(encoder)) = (input, &self.encoder) {
            notes.extend(unknown_text(&tokens, encoder));
        }
        Ok(Encoded {
            source: Payload::Text { ids, segments: type_ids, positions: None },
            target: None,
            tokens: BTreeMap::from([(side, tokens)]),
            sentences: None,
            input: info,
            image: None,
            given: input.clone(),
            notes,
        })
    }

    fn image(&self, input: &Input, spec: &ImageSpec, side: Side) -> Result<Encoded, ModelError> {
        let ImageSpec { patch_px, n_prefix, .. } = *spec;
        let (encoded, name) = match (input, &self.processor) {
            (Input::Image(source), Some(processor)) => (self.picture(source, processor, spec)?, Some(name_of(source))),
            (Input::Pixels { data, size_px }, _) => {
                // Checked here already: a size that lies would make as many tokens.
                let expected = size_px.0.checked_mul(size_px.1).and_then(|n| n.checked_mul(3));
                if expected != Some(data.len()) {
                    return Err(refuse(
                        &format!("{} pixel values are not 3 × {} × {}", data.len(), size_px.0, size_px.1),
                        "Give the values of three channels, one after the other",
                    ));
                }
                (EncodedImage::from_pixels(data.to_vec(), *size_px, patch_px, n_prefix), None)
            }
            _ => return Err(refuse("a picture is needed here, not a text", "")),
        };
        let EncodedImage { pixels, size_px, info, mut tokens, mut notes } = encoded;
        if size_px != spec.size_px {
            notes.push(format!(
                "The model was made for pictures of {} × {} pixels and sees {} × {}: positions are interpolated, as in \
                 transformers with interpolate_pos_encoding=True (DINOv2 does so always)",
                spec.size_px.1, spec.size_px.0, size_px.1, size_px.0
            ));
        }
        for (token, label) in tokens.iter_mut().zip(&self.prefix_labels) {
            token.text.clone_from(label);
        }
        Ok(Encoded {
            source: Payload::Image { pixels, size_px },
            target: None,
            tokens: BTreeMap::from([(side, tokens)]),
            sentences: None,
            input: InputInfo { image: name, ..InputInfo::default() },
            image: Some(info),
            given: input.clone(),
            notes,
        })
    }

    /// A picture as the model sees it, made ready unless it is the same as the last one.
    fn picture(
        &self,
        source: &ImageSource,
        processor: &ImageProcessor,
        spec: &ImageSpec,
    ) -> Result<EncodedImage, InputError> {
        let undecoded = Undecoded::read(source)?;
        let kept = || self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, encoded)) = kept().as_ref().filter(|(of, _)| *of == undecoded) {
            return Ok(encoded.clone());
        }
        let encoded = processor.encode(&undecoded.open()?, spec.patch_px, spec.n_prefix)?;
        *kept() = undecoded.is_small().then(|| (undecoded, encoded.clone()));
        Ok(encoded)
    }

    /// A text as long as the model was trained to read; raw ids are read as they are.
    fn padded(&self, mut encoded: Encoded, input: &Input, n_ctx: usize) -> Encoded {
        if let (Some(id), Input::Text(_), Payload::Text { ids, .. }) = (self.padding, input, &mut encoded.source) {
            let id = self.encoder.as_ref().and_then(|encoder| encoder.padding()).unwrap_or(id);
            let token = Token { text: self.label(id), id: Some(id), special: true, ..Token::default() };
            let n_more = n_ctx.saturating_sub(ids.len());
            let pads_left = self.encoder.as_ref().is_some_and(|encoder| encoder.pads_left());
            let at = |n: usize| if pads_left { 0 } else { n };
            let end = at(ids.len());
            ids.splice(end..end, vec![id; n_more]);
            for tokens in encoded.tokens.values_mut() {
                let end = at(tokens.len());
                tokens.splice(end..end, vec![token.clone(); n_more]);
            }
        }
        encoded
    }

    /// An input with a text that the decoder is made to write. Raw ids are read as they are; a text is
    /// read after the start token and without its end.
    fn with_forced(&self, mut encoded: Encoded, forced: &Input, spec: &TextSpec) -> Result<Encoded, ModelError> {
        let EncodedText { ids, tokens, .. } = match (forced, &self.encoder) {
            (Input::Text(text), Some(encoder)) => {
                let (plain, groups) = text.ungrouped()?;
                let mut read = encoder.encode_target(&plain.text, spec.limits())?;
                for grouped in groups.iter().flatten().take(1) {
                    groups::mark(&mut read.tokens, 0, grouped, false).map_err(InputError::from)?;
                }
                encoded.input.target = Some(plain.text);
                read
            }
            (Input::Text(_), None) => return Err(InputError::MissingTokenizer.into()),
            (Input::Ids(ids), _) => {
                EncodedText { ids: ids.clone(), tokens: self.decoder_tokens(ids), ..EncodedText::default() }
            }
            _ => return Err(refuse("the decoder needs a text, not a picture", "")),
        };
        super::check_ids(&ids, spec)?;
        encoded.tokens.insert(Side::Decoder, tokens);
        encoded.target = Some(Payload::ids(ids));
        encoded.given = encoded.given.with_target(forced.clone());
        Ok(encoded)
    }
}

impl Encoded {
    /// The ids of its only text that come behind those of `given`.
    pub(crate) fn written_behind(&self, given: &Self) -> Option<&[u32]> {
        let (Payload::Text { ids, .. }, true) = (&self.source, self.tokens.contains_key(&Side::Only)) else {
            return None;
        };
        ids.get(given.source.len()..).filter(|written| !written.is_empty())
    }

    /// What the decoder or the text tower reads.
    pub(crate) fn target(&self) -> Result<&Payload, ModelError> {
        self.target.as_ref().ok_or_else(|| ModelError::internal("the decoder has nothing to read"))
    }
}

/// A text in its chat template, and where what was said stands in it; where there is none, or it cannot be used, the text
/// as it is.
fn in_template(
    plain: TextInput,
    said: Option<Result<Conversation, String>>,
    notes: &mut Vec<String>,
) -> (TextInput, Option<Vec<Range<usize>>>) {
    match said {
        None => (plain, None),
        Some(Ok(Conversation { text, content, notes: more })) => {
            notes.extend(more);
            // The template writes what begins a text, and sentence-transformers knows no turns.
            let how = Preparation { no_special: true, sentence_transformers: false, ..plain.how };
            (TextInput { text, text_b: None, system: None, how }, Some(content))
        }
        Some(Err(problem)) => {
            notes.push(format!("The chat template cannot be used, so the text is read as it is: {problem}"));
            (plain, None)
        }
    }
}

/// A sentence when most of a text is unknown to the tokenizer.
fn unknown_text(tokens: &[Token], encoder: &TextEncoder) -> Option<String> {
    let unknown = encoder.unknown_id()?;
    let content: Vec<_> = tokens.iter().filter(|token| !token.special).collect();
    let n_unknown = content.iter().filter(|token| token.id == Some(unknown)).count();
    let n = content.len();
    let label = encoder.decode_label(unknown);
    match n_unknown {
        1 if n == 1 => Some(format!(
            "The only token of the text is unknown to this tokenizer ({label}): the model reads nothing of it"
        )),
        n_unknown if n_unknown == n => {
            Some(format!("All {n} tokens are unknown to this tokenizer ({label}): the model reads nothing of the text"))
        }
        n_unknown if 2 * n_unknown > n => Some(format!(
            "{n_unknown} of {n} tokens are unknown to this tokenizer ({label}): the model reads little of the text"
        )),
        _ => None,
    }
}

fn refuse(summary: &str, details: &str) -> ModelError {
    ModelError::Input { summary: summary.to_owned(), details: details.to_owned() }
}

fn name_of(source: &ImageSource) -> String {
    match source {
        ImageSource::Path(path) => {
            path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
        }
        ImageSource::Embedded { name, .. } | ImageSource::Bundled(name) => name.clone(),
    }
}
