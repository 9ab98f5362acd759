//! Text to ids and back, by one vocabulary. Nearly always a model has one, but Marian writes its
//! target in pieces of their own.

use serde_json::Value;
use tokenizers::{
    Encoding, PostProcessor as _, PostProcessorWrapper, PreTokenizerWrapper, Tokenizer,
    decoders::DecoderWrapper,
    models::ModelWrapper,
    normalizers::NormalizerWrapper,
    utils::truncation::{TruncationDirection, TruncationParams, truncate_encodings},
};

use super::{InputError, encoded::EncodedText, guard::guarded, pieces::PieceCutter};
use crate::{
    capture::{
        Excerpt, Keep, TextPart, Token, TokenCount,
        spelling::{self, PieceStyle},
    },
    spec::TextLimits,
};

pub(super) struct Codec {
    tokenizer: Tokenizer,
    /// Cuts text in place of the tokenizer, which then only knows names, ids and special tokens.
    cutter: Option<PieceCutter>,
    /// Taken out of `tokenizer`, because truncation comes between tokenising and adding special tokens.
    post_processor: Option<PostProcessorWrapper>,
    style: PieceStyle,
}

/// One or two texts, and how much of them is read.
pub(super) struct Texts<'a> {
    pub first: &'a str,
    pub second: Option<&'a str>,
    pub no_special: bool,
    pub limits: TextLimits,
    pub excerpt: Option<Excerpt>,
}

/// Up to this length a text is tokenised whole, so that its number of tokens is exact; of a longer
/// one only what the model can read.
const WHOLE_BYTES: usize = 1 << 18;
/// Generous for one token of any language.
const BYTES_PER_TOKEN: usize = 32;

impl Codec {
    /// # Errors
    /// Only when the library fails.
    pub fn new(mut tokenizer: Tokenizer, cutter: Option<PieceCutter>) -> Result<Self, InputError> {
        let post_processor = tokenizer.get_post_processor().cloned();
        tokenizer.with_post_processor(None::<PostProcessorWrapper>).with_padding(None);
        tokenizer.with_truncation(None).map_err(failed)?;
        if let ModelWrapper::BPE(model) = tokenizer.get_model() {
            // Each thread would keep the words of every tokenizer that it ever used.
            let mut model = model.clone();
            model.resize_cache(0);
            tokenizer.with_model(model);
        }
        let style = if cutter.is_some() { PieceStyle::Metaspace } else { piece_style(&tokenizer) };
        Ok(Self { tokenizer, cutter, post_processor, style })
    }

    pub fn n_vocab(&self) -> usize {
        self.tokenizer.get_vocab_size(true)
    }

    pub fn id(&self, token: &str) -> Option<u32> {
        self.tokenizer.token_to_id(token)
    }

    /// Tokens of the form `>>deu<<`, by which a translator is told the language to write.
    pub fn language_tags(&self) -> Vec<String> {
        let is_tag = |token: &String| token.len() > 4 && token.starts_with(">>") && token.ends_with("<<");
        let mut tags: Vec<String> = self.tokenizer.get_vocab(true).into_keys().filter(is_tag).collect();
        tags.sort_unstable();
        tags
    }

    /// Whether pieces are made by merging others.
    pub fn has_merges(&self) -> bool {
        matches!(self.tokenizer.get_model(), ModelWrapper::BPE(_))
    }

    /// The id of what the model does not know; `named` is the one that the checkpoint names for it.
    pub fn unknown(&self, named: Option<u32>) -> Option<u32> {
        match (&self.cutter, self.tokenizer.get_model()) {
            (Some(cutter), _) => cutter.unknown(),
            (None, ModelWrapper::WordPiece(model)) => self.id(&model.unk_token),
            (None, ModelWrapper::WordLevel(model)) => self.id(&model.unk_token),
            (None, ModelWrapper::BPE(model)) => self.id(model.unk_token.as_ref()?).filter(|_| !model.byte_fallback),
            // The library does not tell.
            (None, ModelWrapper::Unigram(_)) => named,
        }
    }

    /// See `TextEncoder::encode`.
    pub fn encode(&self, texts: &Texts<'_>) -> Result<EncodedText, InputError> {
        guarded(|| self.encode_unguarded(texts)).unwrap_or(Err(InputError::DamagedTokenizer))
    }

    fn encode_unguarded(&self, texts: &Texts<'_>) -> Result<EncodedText, InputError> {
        let chosen = texts.excerpt.and_then(|excerpt| excerpt.n_tokens);
        let TextLimits { usual, most } = texts.limits;
        let limit = match texts.excerpt {
            None => most,
            Some(excerpt) => excerpt.n_tokens.unwrap_or(usual).min(most),
        };
        let keep = texts.excerpt.unwrap_or_default().keep;
        let n_special = match &self.post_processor {
            Some(processor) if !texts.no_special => processor.added_tokens(texts.second.is_some()),
            _ => 0,
        };
        let room = limit.saturating_sub(n_special);
        if room == 0 {
            return Err(InputError::NoRoom { limit, n_special });
        }
        let first = self.segment(texts.first, room, keep)?;
        let second = texts.second.map(|text| self.segment(text, room, keep)).transpose()?;
        let n_content = first.encoding.len() + second.as_ref().map_or(0, |segment| segment.encoding.len());
        if n_content == 0 {
            return Err(InputError::EmptyText);
        }
        let is_pair = second.is_some();
        let part = (n_content > room).then(|| {
            let n = n_special + first.n_tokens + second.as_ref().map_or(0, |segment| segment.n_tokens);
            let is_exact = first.whole && second.as_ref().is_none_or(|segment| segment.whole);
            TextPart { keep, n_read: limit, of: TokenCount { n, is_exact }, is_pair }
        });
        if let Some(TextPart { of: n, .. }) = part
            && (texts.excerpt.is_none() || chosen.is_some_and(|chosen| chosen > most))
        {
            return Err(InputError::TooLong { n, limit: most, is_pair });
        }
        let starts = [first.start, second.as_ref().map_or(0, |segment| segment.start)];
        let direction = match keep {
            Keep::First => TruncationDirection::Right,
            Keep::Last => TruncationDirection::Left,
        };
        let params = TruncationParams { max_length: room, direction, ..TruncationParams::default() };
        let (mut first, mut second) =
            truncate_encodings(first.encoding, second.map(|segment| segment.encoding), &params).map_err(failed)?;
        // What was cut off comes along in pieces, and of a pair each piece would be put together with each of the other.
        for segment in std::iter::once(&mut first).chain(&mut second) {
            segment.take_overflowing();
        }
        let bytes: Vec<Vec<Option<Vec<u8>>>> =
            std::iter::once(&first).chain(&second).map(|segment| self.segment_bytes(segment)).collect();
        let encoding = match &self.post_processor {
            Some(processor) => processor.process(first, second, !texts.no_special).map_err(failed)?,
            None => self.tokenizer.post_process(first, second, false).map_err(failed)?,
        };
        Ok(EncodedText {
            ids: encoding.get_ids().to_vec(),
            type_ids: encoding.get_type_ids().to_vec(),
            tokens: self.tokens(texts, starts, &encoding, &bytes.concat()),
            part,
        })
    }

    /// The text that `ids` stand for, without special tokens.
    ///
    /// # Errors
    /// When the tokenizer is damaged.
    pub fn decode(&self, ids: &[u32]) -> Result<String, InputError> {
        let text = guarded(|| self.tokenizer.decode(ids, true).map_err(failed));
        let text = text.unwrap_or(Err(InputError::DamagedTokenizer))?;
        // As `CLIPTokenizer` does: the suffix of a word is where the next one begins.
        let is_word_end = self.style == PieceStyle::WordEnd;
        Ok(if is_word_end { text.replace(spelling::WORD_END, " ").trim().to_owned() } else { text })
    }

    /// What to show for a vocabulary id; `#id` for one that the tokenizer does not know.
    pub fn label(&self, id: u32) -> String {
        match self.tokenizer.id_to_token(id) {
            Some(piece) if self.is_added(id) => spelling::visible(&piece),
            Some(piece) => self.style.label(&piece),
            None => format!("#{id}"),
        }
    }

    /// Tokens for ids that come from no text. Those that `special` names are marked.
    pub fn tokens_of_ids(&self, ids: &[u32], special: impl Fn(u32) -> bool) -> Vec<Token> {
        let pieces: Vec<_> = ids.iter().map(|&id| self.piece_bytes(id)).collect();
        let labels = self.labels(ids, &pieces);
        let token = |(text, &id)| Token { text, id: Some(id), special: special(id), ..Token::default() };
        labels.into_iter().zip(ids).map(token).collect()
    }

    /// Whether `id` is skipped when ids are decoded.
    pub fn is_special(&self, id: u32) -> bool {
        self.tokenizer.get_added_vocabulary().get_added_tokens_decoder().get(&id).is_some_and(|token| token.special)
    }

    /// One segment without special tokens, whole unless it is far longer than `room` tokens: then more of the end
    /// that is kept than is needed.
    fn segment(&self, text: &str, room: usize, keep: Keep) -> Result<EncodedPart, InputError> {
        let mut n_bytes = WHOLE_BYTES.max(room.saturating_mul(BYTES_PER_TOKEN));
        loop {
            let (start, part) = match keep {
                Keep::First => (0, prefix(text, n_bytes)),
                Keep::Last => suffix(text, n_bytes),
            };
            let encoding = match &self.cutter {
                Some(cutter) => cutter.encode(&self.tokenizer, part),
                None => self.tokenizer.encode(part, false),
            };
            let encoding = encoding.map_err(failed)?;
            let whole = part.len() == text.len();
            // Text that gives few tokens per byte (blank lines, say) may need a longer part.
            if whole || encoding.len() > room {
                let n_tokens = (encoding.len() as f64 * text.len() as f64 / part.len().max(1) as f64) as usize;
                return Ok(EncodedPart { encoding, start, n_tokens, whole });
            }
            n_bytes = n_bytes.saturating_mul(4);
        }
    }

    fn is_added(&self, id: u32) -> bool {
        self.tokenizer.get_added_vocabulary().get_added_tokens_decoder().contains_key(&id)
    }

    /// The bytes that a piece stands for; `None` where it is shown as it is.
    fn piece_bytes(&self, id: u32) -> Option<Vec<u8>> {
        if self.is_added(id) { None } else { self.style.bytes(&self.tokenizer.id_to_token(id)?) }
    }

    fn segment_bytes(&self, segment: &Encoding) -> Vec<Option<Vec<u8>>> {
        segment.get_ids().iter().map(|&id| self.piece_bytes(id)).collect()
    }

    /// `content` has the bytes of the tokens that are not special, in order; `starts` is where in each text the part
    /// began that was tokenised.
    fn tokens(
        &self,
        texts: &Texts<'_>,
        starts: [usize; 2],
        encoding: &Encoding,
        content: &[Option<Vec<u8>>],
    ) -> Vec<Token> {
        let mut content = content.iter();
        let special: Vec<bool> = encoding.get_special_tokens_mask().iter().map(|&flag| flag != 0).collect();
        let pieces: Vec<_> =
            special.iter().map(|&special| if special { None } else { content.next().cloned().flatten() }).collect();
        let labels = self.labels(encoding.get_ids(), &pieces);
        // Type ids do not tell the segments apart: RoBERTa has none for the second one.
        let segments = encoding.get_sequence_ids().into_iter().map(|id| id.unwrap_or(0));
        let facts = encoding.get_ids().iter().zip(encoding.get_offsets()).zip(special).zip(segments);
        let token = |(text, (((&id, &(start, end)), special), segment))| {
            let (source, first) =
                if segment == 1 { (texts.second.unwrap_or_default(), starts[1]) } else { (texts.first, starts[0]) };
            // Special tokens stand nowhere.
            let first = if special { 0 } else { first };
            // The library trims spaces as if each had one byte, which may end inside a character.
            let span = source.floor_char_boundary(first + start)..source.floor_char_boundary(first + end);
            Token { text, id: Some(id), special, span, segment: segment as u8, group: None, position: None }
        };
        labels.into_iter().zip(facts).map(token).collect()
    }

    /// One label per id.
    fn labels(&self, ids: &[u32], bytes: &[Option<Vec<u8>>]) -> Vec<String> {
        spelling::labels(bytes, |position| self.label(ids[position]))
    }
}

struct EncodedPart {
    encoding: Encoding,
    /// Where in the text the part begins that was tokenised, in bytes.
    start: usize,
    /// Estimated when only a part was tokenised.
    n_tokens: usize,
    whole: bool,
}

/// At most `n_bytes` of `text`, ended at a space where there is one nearby.
fn prefix(text: &str, n_bytes: usize) -> &str {
    if text.len() <= n_bytes {
        return text;
    }
    let end = text.floor_char_boundary(n_bytes);
    let tail_start = text.floor_char_boundary(end.saturating_sub(1024));
    let end = text[tail_start..end].rfind(char::is_whitespace).map_or(end, |at| tail_start + at);
    &text[..end]
}

/// At most `n_bytes` of the end of `text` with where they begin, after a space where there is one nearby.
fn suffix(text: &str, n_bytes: usize) -> (usize, &str) {
    if text.len() <= n_bytes {
        return (0, text);
    }
    let start = text.ceil_char_boundary(text.len() - n_bytes);
    let head_end = text.floor_char_boundary((start + 1024).min(text.len()));
    let start = text[start..head_end].find(char::is_whitespace).map_or(start, |at| start + at);
    (start, &text[start..])
}

/// How the tokenizer writes its pieces, from the parts it is made of.
fn piece_style(tokenizer: &Tokenizer) -> PieceStyle {
    let parts = [
        tokenizer.get_pre_tokenizer().map(serde_json::to_value::<&PreTokenizerWrapper>),
        tokenizer.get_decoder().map(serde_json::to_value::<&DecoderWrapper>),
        tokenizer.get_normalizer().map(serde_json::to_value::<&NormalizerWrapper>),
    ];
    let mut style = PieceStyle::Plain;
    for part in parts.into_iter().flatten().flatten() {
        match piece_style_of(&part) {
            PieceStyle::Plain => {}
            PieceStyle::ByteLevel => {
                let suffix = match tokenizer.get_model() {
                    ModelWrapper::BPE(model) => model.end_of_word_suffix.as_deref(),
                    _ => None,
                };
                return if suffix == Some(spelling::WORD_END) { PieceStyle::WordEnd } else { PieceStyle::ByteLevel };
            }
            other => style = other,
        }
    }
    style
}

/// Sequences nest, so the serialised form is searched for the component's name.
fn piece_style_of(part: &Value) -> PieceStyle {
    match part {
        Value::Object(fields) => match fields.get("type").and_then(Value::as_str) {
            Some("ByteLevel") => PieceStyle::ByteLevel,
            Some("Metaspace" | "ByteFallback") => PieceStyle::Metaspace,
            _ => fields.values().map(piece_style_of).find(|&s| s != PieceStyle::Plain).unwrap_or(PieceStyle::Plain),
        },
        Value::Array(parts) => {
            parts.iter().map(piece_style_of).find(|&s| s != PieceStyle::Plain).unwrap_or(PieceStyle::Plain)
        }
        _ => PieceStyle::Plain,
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the signature that map_err wants")]
fn failed(error: tokenizers::Error) -> InputError {
    InputError::Tokenize(error.to_string())
}
