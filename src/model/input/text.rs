//! Text to token ids, and ids back to something a person reads.

use std::{borrow::Cow, time::SystemTime};

use super::{
    InputError, SpecialIds, TextInput, accounted, charsmap,
    chat::{ChatTemplate, Conversation},
    codec::{Codec, Texts},
    convention::{Convention, TokenizerOf},
    encoded::EncodedText,
    file::TokenizerFile,
    guard::guarded,
    pieces::language_token,
    read,
    sentences::SentenceRules,
    settings::SmallFiles,
    vocabulary,
};
use crate::{
    capture::Token,
    model::checkpoint::{ModelFiles, audit::TokenizerKeys},
    spec::TextLimits,
};

/// A model's tokenizer.
pub struct TextEncoder {
    text: Codec,
    /// Where the target of an encoder–decoder model has a vocabulary or pieces of its own.
    target: Option<Codec>,
    special: SpecialIds,
    /// The language code that mBART-50, M2M-100 and NLLB write before a target.
    target_language: Option<u32>,
    tells_segments: bool,
    /// The id of what the vocabulary does not know.
    unknown: Option<u32>,
    /// The token that a text is filled up with, whatever the configuration says of it.
    padding: Option<u32>,
    /// Whether written text loses the spaces before punctuation.
    cleans: bool,
    /// Whether a text is filled up in front.
    pads_left: bool,
    source: &'static str,
    /// The class of transformers 5 that decides.
    class: &'static str,
    /// What became of the keys of `tokenizer_config.json`.
    keys: TokenizerKeys,
    /// How sentence-transformers would prepare a text, where the checkpoint says so.
    sentences: Option<SentenceRules>,
    /// What is written around the turns of a conversation.
    chat: Option<ChatTemplate>,
    /// What the user must know about how it was read.
    warnings: Vec<String>,
}

const TOKENIZER_JSON: &str = "tokenizer.json";
const CLEAN: &str = "clean_up_tokenization_spaces";
/// Asks for the same of a vocabulary of merges, whose spaces are those of the text.
const CLEAN_MERGES: &str = "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output";
/// Tells a vocabulary of bytes, as transformers looks for it.
const BYTE_LEVEL: &[u8] = b"\"ByteLevel\"";

impl TextEncoder {
    /// Reads `tokenizer.json`, else a `SentencePiece` model, else `vocab.txt`, else `vocab.json` with
    /// `merges.txt`.
    ///
    /// # Errors
    /// When there is none, or it cannot be used.
    pub(crate) fn from_files(files: &ModelFiles, tokenizer_of: TokenizerOf) -> Result<Self, InputError> {
        let is_byte_level = || {
            let bytes = read(files, TOKENIZER_JSON).ok().flatten().unwrap_or_default();
            bytes.windows(BYTE_LEVEL.len()).any(|part| part == BYTE_LEVEL)
        };
        let mut settings = SmallFiles::from_files(files, tokenizer_of, is_byte_level)?;
        let mut json = json_of(files, &settings)?;
        if settings.has_own_pieces(files)
            && let Some(bytes) = json.take()
        {
            let file: Result<TokenizerFile, _> = serde_json::from_slice(&bytes);
            let bad =
                |error: serde_json::Error| InputError::BadFile { file: TOKENIZER_JSON, reason: error.to_string() };
            settings.take_added_tokens(file.map_err(bad)?.added_tokens());
        }
        let (text, target, source) = if let Some(bytes) = json {
            let bad = |reason| InputError::BadFile { file: TOKENIZER_JSON, reason };
            charsmap::check(&bytes).map_err(bad)?;
            let build = || Codec::new(vocabulary::from_json(&bytes, &settings).map_err(bad)?, None);
            let broken = || Err(bad("it is damaged".to_owned()));
            (guarded(build).unwrap_or_else(broken)?, None, TOKENIZER_JSON)
        } else {
            settings.take_vocabulary();
            let broken = || Err(InputError::DamagedTokenizer);
            guarded(|| vocabulary::codecs(files, &settings)).unwrap_or_else(broken)?
        };
        let special = SpecialIds::new(&settings, |token| text.id(token));
        let target_language = target_language(&settings, &special, &text);
        let unknown = text.unknown(settings.token("unk_token").and_then(|token| text.id(&token.content)));
        let padding = settings.token("pad_token").and_then(|token| text.id(&token.content));
        let tells_segments = settings.tells_segments();
        let clean = |key: &str| settings.flag(key).unwrap_or(false);
        let (cleans, even_merges) = (clean(CLEAN), clean(CLEAN_MERGES));
        let cleans = cleans && (even_merges || !text.has_merges());
        let is_left = matches!(settings.convention, Convention::Gemma | Convention::Siglip2);
        let pads_left = settings.text("padding_side").map_or(is_left, |side| side == "left");
        let chat = ChatTemplate::from_files(files, &settings)?;
        let keys = accounted::account(&settings);
        let sentences = SentenceRules::from_files(files, &settings.tokenizer)?;
        let mut warnings = settings.warnings();
        warnings.extend(sentences.as_ref().and_then(SentenceRules::warning));
        if let Some(problem) = chat.as_ref().and_then(ChatTemplate::problem) {
            warnings.push(format!("The chat template cannot be used: {problem}"));
        }
        let class = settings.convention.class_name();
        Ok(Self {
            text,
            target,
            special,
            target_language,
            tells_segments,
            unknown,
            padding,
            cleans,
            pads_left,
            source,
            class,
            keys,
            sentences,
            chat,
            warnings,
        })
    }

    /// The class of transformers 5 whose rules it follows.
    pub const fn class(&self) -> &'static str {
        self.class
    }

    /// What became of the keys of `tokenizer_config.json`.
    pub const fn keys(&self) -> &TokenizerKeys {
        &self.keys
    }

    /// What the user must know about how the tokenizer was read.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// A text as sentence-transformers would give it to a model, and a sentence about it;
    /// `None` where nobody asked for it or the checkpoint does not say how.
    pub fn prepared(&self, input: &TextInput, limits: TextLimits) -> Option<(TextInput, String)> {
        let rules = self.sentences.as_ref().filter(|_| input.how.sentence_transformers)?;
        Some((rules.prepared(input, limits), rules.note()))
    }

    /// Whether there is a chat template, and whether it asks if the model is to think first.
    pub fn chat(&self) -> Option<bool> {
        self.chat.as_ref().map(ChatTemplate::reads_thinking)
    }

    /// A text with the chat template around it on a day, or the clause that says why it cannot be used; `None` where
    /// nobody asked for it.
    ///
    /// # Errors
    /// When there is no template, or there are two texts.
    pub fn conversation(
        &self,
        input: &TextInput,
        now: SystemTime,
    ) -> Result<Option<Result<Conversation, String>>, InputError> {
        let Some(chat) = input.how.chat else { return Ok(None) };
        if input.text_b.as_deref().is_some_and(|text| !text.trim().is_empty()) {
            return Err(InputError::ChatOfPair);
        }
        if input.text.trim().is_empty() {
            return Err(InputError::EmptyText);
        }
        let template = self.chat.as_ref().ok_or(InputError::NoChatTemplate)?;
        Ok(Some(template.around(&input.text, input.system.as_deref(), chat, now)))
    }

    /// Whether a text is filled up in front of it.
    pub const fn pads_left(&self) -> bool {
        self.pads_left
    }

    /// The token that a text is filled up with.
    pub const fn padding(&self) -> Option<u32> {
        self.padding
    }

    /// The id of what the vocabulary does not know; `None` where it knows everything.
    pub const fn unknown_id(&self) -> Option<u32> {
        self.unknown
    }

    /// The file or files it was read from.
    pub const fn source(&self) -> &'static str {
        self.source
    }

    /// The id of one piece of the vocabulary.
    pub fn id_of(&self, piece: &str) -> Option<u32> {
        self.text.id(piece)
    }

    /// Number of ids, added tokens included.
    pub fn n_vocab(&self) -> usize {
        self.text.n_vocab()
    }

    /// Tokens of the form `>>deu<<`, by which a translator is told the language to write.
    pub fn language_tags(&self) -> Vec<String> {
        self.text.language_tags()
    }

    /// The ids that generation asks for.
    pub const fn special_ids(&self) -> &SpecialIds {
        &self.special
    }

    /// Tokenises `input` for a model that reads so many tokens.
    ///
    /// Of a longer text the part is read that `input` names; special tokens stay. Of a pair the longer
    /// segment is cut first.
    ///
    /// # Errors
    /// When there is no token besides the special ones, or more than can be read and nobody chose what to read.
    pub fn encode(&self, input: &TextInput, limits: impl Into<TextLimits>) -> Result<EncodedText, InputError> {
        let mut encoded = self.text.encode(&Texts {
            first: &input.text,
            second: input.text_b.as_deref().filter(|text| !text.trim().is_empty()),
            no_special: input.how.no_special,
            limits: limits.into(),
            excerpt: input.how.excerpt,
        })?;
        if !self.tells_segments {
            encoded.type_ids.fill(0);
        }
        Ok(encoded)
    }

    /// What the decoder of an encoder–decoder model reads when it is made to write `text`: its start
    /// token, what the tokenizer puts before a target, and the text, without an end token.
    ///
    /// # Errors
    /// When there is no token besides the special ones, or more than the decoder reads.
    pub fn encode_target(&self, text: &str, limits: impl Into<TextLimits>) -> Result<EncodedText, InputError> {
        let codec = self.target_codec();
        let start = self.special.decoder_start;
        let limit = limits.into().most.saturating_sub(usize::from(start.is_some()));
        let texts = Texts { first: text, second: None, no_special: false, limits: limit.into(), excerpt: None };
        let mut encoded = codec.encode(&texts).map_err(|error| match error {
            InputError::TooLong { n, limit, .. } => InputError::LongTarget { n, limit },
            error => error,
        })?;
        let content = |token: &Token| !token.special;
        let end = encoded.tokens.iter().rposition(content).map_or(0, |last| last + 1);
        let begin = encoded.tokens.iter().position(content).unwrap_or(0);
        encoded.ids.truncate(end);
        encoded.tokens.truncate(end);
        let mut front: Vec<u32> = start.into_iter().chain(encoded.ids[..begin].iter().copied()).collect();
        if let (Some(last), Some(language)) = (front.last_mut(), self.target_language) {
            *last = language;
        }
        encoded.tokens.splice(..begin, codec.tokens_of_ids(&front, |_| true));
        encoded.ids.splice(..begin, front);
        encoded.type_ids = vec![0; encoded.ids.len()];
        Ok(encoded)
    }

    /// The text that generated `ids` stand for, without special tokens.
    ///
    /// # Errors
    /// When the tokenizer is damaged.
    pub fn decode(&self, ids: &[u32]) -> Result<String, InputError> {
        let text = self.target_codec().decode(ids)?;
        Ok(if self.cleans { cleaned(text) } else { text })
    }

    /// Tokens for generated ids; special ones are marked.
    pub fn target_tokens(&self, ids: &[u32]) -> Vec<Token> {
        let codec = self.target_codec();
        codec.tokens_of_ids(ids, |id| codec.is_special(id))
    }

    /// What to show for an id that the decoder may write; `#id` for an unknown one.
    pub fn target_label(&self, id: u32) -> String {
        self.target_codec().label(id)
    }

    /// What to show for a vocabulary id, in predictions; `#id` for one that the tokenizer does not know.
    pub fn decode_label(&self, id: u32) -> String {
        self.text.label(id)
    }

    /// Tokens for ids that were given as such. Nothing is special: all of it is the input.
    pub fn tokens_of_ids(&self, ids: &[u32]) -> Vec<Token> {
        self.text.tokens_of_ids(ids, |_| false)
    }

    fn target_codec(&self) -> &Codec {
        self.target.as_ref().unwrap_or(&self.text)
    }
}

impl std::fmt::Debug for TextEncoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TextEncoder({})", self.source)
    }
}

/// The id of the language that a target begins with: what generation is forced to begin with, else what the tokenizer
/// says of itself.
fn target_language(settings: &SmallFiles, special: &SpecialIds, codec: &Codec) -> Option<u32> {
    let named = |token: fn(&str) -> String| codec.id(&token(settings.text("tgt_lang")?));
    match settings.convention {
        Convention::MBart50 | Convention::Nllb => special.forced_bos.or_else(|| named(str::to_owned)),
        Convention::M2m100 => special.forced_bos.or_else(|| named(language_token)),
        _ => None,
    }
}

/// A text without the spaces before punctuation and English endings. After `clean_up_tokenization`.
fn cleaned(text: String) -> String {
    const SPACES: [(&str, &str); 10] = [
        (" .", "."),
        (" ?", "?"),
        (" !", "!"),
        (" ,", ","),
        (" ' ", "'"),
        (" n't", "n't"),
        (" 'm", "'m"),
        (" 's", "'s"),
        (" 've", "'ve"),
        (" 're", "'re"),
    ];
    SPACES.iter().fold(text, |text, (old, new)| text.replace(old, new))
}

/// The `tokenizer.json` that counts.
fn json_of(files: &ModelFiles, settings: &SmallFiles) -> Result<Option<Cow<'static, [u8]>>, InputError> {
    let bad = |error: std::io::Error| InputError::BadFile { file: TOKENIZER_JSON, reason: error.to_string() };
    files.read(&settings.json_file()).transpose().map_err(bad)
}
