//! Text to token ids, and ids back to something a person reads.

use serde_json::Value;
use tokenizers::{
    Encoding, PostProcessor as _, PostProcessorWrapper, PreTokenizerWrapper, Tokenizer,
    decoders::DecoderWrapper,
    normalizers::NormalizerWrapper,
    utils::truncation::{TruncationParams, truncate_encodings},
};

use super::{
    InputError,
    display::{self, PieceStyle},
    read, vocabulary,
};
use crate::{
    capture::Token,
    model::{ModelFiles, TextInput},
};

/// A model's tokenizer.
pub struct TextEncoder {
    tokenizer: Tokenizer,
    /// Taken out of `tokenizer`, because truncation comes between tokenising and adding special tokens.
    post_processor: Option<PostProcessorWrapper>,
    style: PieceStyle,
    source: &'static str,
}

/// What a text model reads.
#[derive(Clone, Debug, Default)]
pub struct EncodedText {
    /// Vocabulary ids, special tokens included.
    pub ids: Vec<u32>,
    /// 0 for the first segment and 1 for the second, with the special tokens that belong to each.
    pub type_ids: Vec<u32>,
    /// One per id.
    pub tokens: Vec<Token>,
    /// Sentences the user must see: truncation.
    pub notes: Vec<String>,
}

const TOKENIZER_JSON: &str = "tokenizer.json";

/// Up to this length a text is tokenised whole, so that its number of tokens is exact; of a longer
/// one only what the model can read.
const WHOLE_BYTES: usize = 1 << 18;
/// Generous for one token of any language.
const BYTES_PER_TOKEN: usize = 32;

impl TextEncoder {
    /// Reads `tokenizer.json`, else `vocab.txt`, else `vocab.json` with `merges.txt`.
    ///
    /// # Errors
    /// When there is none, or it cannot be used.
    pub fn from_files(files: &ModelFiles) -> Result<Self, InputError> {
        let (mut tokenizer, source) = match read(files, TOKENIZER_JSON)? {
            Some(bytes) => {
                let tokenizer = Tokenizer::from_bytes(bytes)
                    .map_err(|error| InputError::BadFile { file: TOKENIZER_JSON, reason: error.to_string() })?;
                (tokenizer, TOKENIZER_JSON)
            }
            None => vocabulary::tokenizer(files)?,
        };
        let post_processor = tokenizer.get_post_processor().cloned();
        tokenizer.with_post_processor(None::<PostProcessorWrapper>).with_padding(None);
        tokenizer
            .with_truncation(None)
            .map_err(|error| InputError::BadFile { file: TOKENIZER_JSON, reason: error.to_string() })?;
        let style = piece_style(&tokenizer);
        Ok(Self { tokenizer, post_processor, style, source })
    }

    /// The file or files it was read from.
    pub const fn source(&self) -> &'static str {
        self.source
    }

    /// The id of one piece of the vocabulary.
    pub fn id_of(&self, piece: &str) -> Option<u32> {
        self.tokenizer.token_to_id(piece)
    }

    /// Number of ids, added tokens included.
    pub fn n_vocab(&self) -> usize {
        self.tokenizer.get_vocab_size(true)
    }

    /// Tokenises `input` for a model that reads at most `n_ctx` tokens.
    ///
    /// A longer text is cut at the end, and a note says so; special tokens stay. Of a pair the longer
    /// segment is cut first.
    ///
    /// # Errors
    /// When there is no token besides the special ones.
    pub fn encode(&self, input: &TextInput, n_ctx: usize) -> Result<EncodedText, InputError> {
        let limit = input.max_tokens.map_or(n_ctx, |max| max.min(n_ctx));
        let text_b = input.text_b.as_deref().filter(|text| !text.trim().is_empty());
        let n_special = match &self.post_processor {
            Some(processor) if !input.no_special => processor.added_tokens(text_b.is_some()),
            _ => 0,
        };
        let room = limit.saturating_sub(n_special);
        if room == 0 {
            return Err(InputError::NoRoom { limit, n_special });
        }
        let first = self.segment(&input.text, room)?;
        let second = text_b.map(|text| self.segment(text, room)).transpose()?;
        let n_content = first.encoding.len() + second.as_ref().map_or(0, |segment| segment.encoding.len());
        if n_content == 0 {
            return Err(InputError::EmptyText);
        }
        let mut notes = Vec::new();
        if n_content > room {
            let n_tokens = n_special + first.n_tokens + second.as_ref().map_or(0, |segment| segment.n_tokens);
            let about = if first.whole && second.as_ref().is_none_or(|segment| segment.whole) { "" } else { "about " };
            notes.push(truncation_note(about, n_tokens, limit, second.is_some()));
        }
        let params = TruncationParams { max_length: room, ..TruncationParams::default() };
        let (first, second) =
            truncate_encodings(first.encoding, second.map(|segment| segment.encoding), &params).map_err(failed)?;
        let bytes: Vec<Vec<Option<Vec<u8>>>> =
            std::iter::once(&first).chain(&second).map(|segment| self.segment_bytes(segment)).collect();
        let encoding = match &self.post_processor {
            Some(processor) => processor.process(first, second, !input.no_special).map_err(failed)?,
            None => self.tokenizer.post_process(first, second, false).map_err(failed)?,
        };
        Ok(EncodedText {
            ids: encoding.get_ids().to_vec(),
            type_ids: encoding.get_type_ids().to_vec(),
            tokens: self.tokens(&encoding, &bytes.concat()),
            notes,
        })
    }

    /// What to show for a vocabulary id, in predictions; `#id` for one that the tokenizer does not know.
    pub fn decode_label(&self, id: u32) -> String {
        match self.tokenizer.id_to_token(id) {
            Some(piece) if self.is_added(id) => display::visible(&piece),
            Some(piece) => self.style.label(&piece),
            None => format!("#{id}"),
        }
    }

    /// Tokens for ids that were given as such. Nothing is special: all of it is the input.
    pub fn tokens_of_ids(&self, ids: &[u32]) -> Vec<Token> {
        let pieces: Vec<_> = ids.iter().map(|&id| self.piece_bytes(id)).collect();
        let labels = self.labels(ids, &pieces);
        let token = |(text, &id)| Token { text, id: Some(id), ..Token::default() };
        labels.into_iter().zip(ids).map(token).collect()
    }

    /// One segment without special tokens, whole unless it is far longer than `room` tokens.
    fn segment(&self, text: &str, room: usize) -> Result<Segment, InputError> {
        let mut n_bytes = WHOLE_BYTES.max(room.saturating_mul(BYTES_PER_TOKEN));
        loop {
            let part = prefix(text, n_bytes);
            let encoding = self.tokenizer.encode(part, false).map_err(failed)?;
            let whole = part.len() == text.len();
            // Text that gives few tokens per byte (blank lines, say) may need a longer part.
            if whole || encoding.len() > room {
                let n_tokens = (encoding.len() as f64 * text.len() as f64 / part.len().max(1) as f64) as usize;
                return Ok(Segment { encoding, n_tokens, whole });
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

    /// `content` has the bytes of the tokens that are not special, in order.
    fn tokens(&self, encoding: &Encoding, content: &[Option<Vec<u8>>]) -> Vec<Token> {
        let mut content = content.iter();
        let special: Vec<bool> = encoding.get_special_tokens_mask().iter().map(|&flag| flag != 0).collect();
        let pieces: Vec<_> =
            special.iter().map(|&special| if special { None } else { content.next().cloned().flatten() }).collect();
        let labels = self.labels(encoding.get_ids(), &pieces);
        // Type ids are no help: RoBERTa has none for the second sentence.
        let segments = encoding.get_sequence_ids().into_iter().map(|id| id.unwrap_or(0) as u8);
        let facts = encoding.get_ids().iter().zip(encoding.get_offsets()).zip(special).zip(segments);
        labels
            .into_iter()
            .zip(facts)
            .map(|(text, (((&id, &(start, end)), special), segment))| Token {
                text,
                id: Some(id),
                special,
                span: start..end,
                segment,
            })
            .collect()
    }

    /// One label per id; consecutive pieces with bytes are read as one text.
    fn labels(&self, ids: &[u32], pieces: &[Option<Vec<u8>>]) -> Vec<String> {
        let mut labels = Vec::with_capacity(ids.len());
        for run in pieces.chunk_by(|a, b| a.is_some() && b.is_some()) {
            if run[0].is_some() {
                let bytes: Vec<Vec<u8>> = run.iter().flatten().cloned().collect();
                labels.extend(display::label_run(&bytes));
            } else {
                labels.push(self.decode_label(ids[labels.len()]));
            }
        }
        labels
    }
}

impl std::fmt::Debug for TextEncoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TextEncoder({})", self.source)
    }
}

impl EncodedText {
    /// Raw ids; `encoder` only names them.
    ///
    /// # Errors
    /// See [`check_ids`].
    pub fn from_ids(
        ids: &[u32],
        encoder: Option<&TextEncoder>,
        n_vocab: usize,
        n_ctx: usize,
    ) -> Result<Self, InputError> {
        check_ids(ids, n_vocab, n_ctx)?;
        let tokens = encoder.map_or_else(
            || {
                let token = |&id: &u32| Token { text: format!("#{id}"), id: Some(id), ..Token::default() };
                ids.iter().map(token).collect()
            },
            |encoder| encoder.tokens_of_ids(ids),
        );
        Ok(Self { ids: ids.to_vec(), type_ids: vec![0; ids.len()], tokens, notes: Vec::new() })
    }
}

/// Whether a model with `n_vocab` embeddings and `n_ctx` positions can read `ids`.
///
/// # Errors
/// When there are none or too many, or one is out of range.
pub fn check_ids(ids: &[u32], n_vocab: usize, n_ctx: usize) -> Result<(), InputError> {
    if ids.is_empty() {
        return Err(InputError::NoIds);
    }
    if ids.len() > n_ctx {
        return Err(InputError::TooManyIds { n: ids.len(), n_ctx });
    }
    match ids.iter().position(|&id| id as usize >= n_vocab) {
        None => Ok(()),
        Some(position) => {
            Err(InputError::IdOutOfRange { id: ids[position], position, last: n_vocab.saturating_sub(1) })
        }
    }
}

struct Segment {
    encoding: Encoding,
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

fn truncation_note(about: &str, n_tokens: usize, limit: usize, pair: bool) -> String {
    let (n_tokens, limit) = (with_separators(n_tokens), with_separators(limit));
    if pair {
        format!("The two texts have {about}{n_tokens} tokens; they were cut to {limit}")
    } else {
        format!("The text has {about}{n_tokens} tokens; the first {limit} were used")
    }
}

/// `104231` as `104,231`.
fn with_separators(n: usize) -> String {
    let digits = n.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|group| std::str::from_utf8(group).ok()).collect();
    groups.join(",")
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
            PieceStyle::ByteLevel => return PieceStyle::ByteLevel,
            PieceStyle::Metaspace => style = PieceStyle::Metaspace,
            PieceStyle::Plain => {}
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
