//! Labels of tokens of which nothing but a spelling is known.
//!
//! Characters alone do not tell: `Ġ` is a letter in Maltese, `##` begins a heading. So a list is judged as a whole,
//! without its special tokens, by the first of these that applies:
//!
//! 1. **Word end** (CLIP, GPT): a quarter of the words ends in `</w>`.
//! 2. **Byte-level** (GPT-2, RoBERTa, Llama 3): every token consists of the characters that stand for bytes, these
//!    make valid UTF-8 without control characters, and some make a character outside ASCII, or several spaces or line
//!    ends are a token, or a quarter of the words begins with the mark of a space or is a line end.
//! 3. **`SentencePiece`** (T5, Llama 2, Gemma): some token begins with `▁` and a letter, or bytes such as `<0xE2>` make
//!    a character; and no other block element occurs, of which `▁` is one.
//! 4. Otherwise tokens are text, of which spaces and line ends are made visible where nothing else shows them;
//!    `##` of `WordPiece` stays.

use super::{PieceStyle, WORD_END, labels, visible};
use crate::capture::words::unspaced;

/// How a list of tokens is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::capture) enum TokenStyle {
    /// The texts are labels already.
    AsIs,
    /// They are entries of a vocabulary.
    Pieces(PieceStyle),
}

impl TokenStyle {
    /// Every style with its name in a file.
    const ALL: [(Self, &'static str); 5] = [
        (Self::AsIs, "as is"),
        (Self::Pieces(PieceStyle::Plain), "wordpiece"),
        (Self::Pieces(PieceStyle::ByteLevel), "byte-level"),
        (Self::Pieces(PieceStyle::WordEnd), "word end"),
        (Self::Pieces(PieceStyle::Metaspace), "sentencepiece"),
    ];

    /// The style of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(_, known)| *known == name).map(|(style, _)| style)
    }

    /// All names, for a message.
    pub fn names() -> String {
        Self::ALL.map(|(_, name)| name).join(", ")
    }
}

/// One label per token, given as text and whether it is special; without a `style` the list tells.
pub(in crate::capture) fn labels_of_list(tokens: &[(&str, bool)], style: Option<TokenStyle>) -> Vec<String> {
    let style = style.unwrap_or_else(|| recognised(tokens));
    let TokenStyle::Pieces(style) = style else { return tokens.iter().map(|(text, _)| (*text).to_owned()).collect() };
    let bytes: Vec<Option<Vec<u8>>> = match style {
        PieceStyle::WordEnd => without_word_ends(tokens),
        PieceStyle::ByteLevel => of_content(tokens, byte_level),
        _ => of_content(tokens, |text| style.bytes(text)),
    };
    labels(&bytes, |position| visible(tokens[position].0))
}

/// What `bytes` gives for each token that is not special.
fn of_content(tokens: &[(&str, bool)], bytes: impl Fn(&str) -> Option<Vec<u8>>) -> Vec<Option<Vec<u8>>> {
    tokens.iter().map(|&(text, special)| if special { None } else { bytes(text) }).collect()
}

/// The bytes of a piece, in which a space may have been written as one: BertViz does, and some vocabularies have runs
/// of them.
fn byte_level(text: &str) -> Option<Vec<u8>> {
    PieceStyle::ByteLevel.bytes(&text.replace(' ', "Ġ"))
}

/// Bytes of pieces whose last one in a word ends in `</w>`; the space is then put before the next word, because these
/// tokens stand nowhere in a text that would show it.
fn without_word_ends(tokens: &[(&str, bool)]) -> Vec<Option<Vec<u8>>> {
    let stems: Vec<(&str, bool)> =
        tokens.iter().map(|&(text, special)| (text.strip_suffix(WORD_END).unwrap_or(text), special)).collect();
    let are_bytes = bytes_of_all(&stems).is_some_and(|runs| runs.iter().all(|run| text_of(run).is_some()));
    let bytes = |(at, &(stem, special)): (usize, &(&str, bool))| {
        if special {
            return None;
        }
        let ended = at.checked_sub(1).is_some_and(|last| !tokens[last].1 && tokens[last].0.ends_with(WORD_END));
        let own = if are_bytes { byte_level(stem) } else { None };
        let own = own.unwrap_or_else(|| stem.as_bytes().to_vec());
        Some(if ended { [b" ", &own[..]].concat() } else { own })
    };
    stems.iter().enumerate().map(bytes).collect()
}

fn recognised(tokens: &[(&str, bool)]) -> TokenStyle {
    let content = || tokens.iter().filter(|(_, special)| !special).map(|(text, _)| *text);
    let n_words = content().filter(|text| text.chars().any(char::is_alphanumeric)).count();
    let n_ended = content().filter(|text| text.len() > WORD_END.len() && text.ends_with(WORD_END)).count();
    if n_ended > 0 && 4 * n_ended >= n_words {
        return TokenStyle::Pieces(PieceStyle::WordEnd);
    }
    if bytes_of_all(tokens).is_some_and(|runs| are_byte_level(&runs, content())) {
        return TokenStyle::Pieces(PieceStyle::ByteLevel);
    }
    let is_block = |c: char| matches!(c, '▀' | '▂'..='▟');
    if is_metaspace(tokens) && !content().any(|text| text.contains(is_block)) {
        return TokenStyle::Pieces(PieceStyle::Metaspace);
    }
    // A space inside is one that a person wrote.
    if content().any(|text| text.trim().contains(' ')) {
        return TokenStyle::AsIs;
    }
    TokenStyle::Pieces(PieceStyle::Plain)
}

/// The bytes of each run between special tokens; `None` unless every token has some.
fn bytes_of_all(tokens: &[(&str, bool)]) -> Option<Vec<Vec<u8>>> {
    let runs = tokens.split(|(_, special)| *special);
    runs.map(|run| run.iter().map(|(text, _)| byte_level(text)).collect::<Option<Vec<_>>>().map(|run| run.concat()))
        .collect()
}

/// The text that bytes are, without characters cut at its ends; `None` if they are none, or hold control characters
/// other than those that break lines.
fn text_of(run: &[u8]) -> Option<&str> {
    let n_cut = run.iter().take_while(|&&byte| byte & 0xC0 == 0x80).count().min(3);
    let run = run.get(n_cut..)?;
    let text = match str::from_utf8(run) {
        Ok(text) => text,
        // Not wrong, but cut off.
        Err(error) if error.error_len().is_none() => str::from_utf8(run.get(..error.valid_up_to())?).ok()?,
        Err(_) => return None,
    };
    let odd = |c: char| c.is_control() && !matches!(c, '\n' | '\r' | '\t');
    (!text.contains(odd)).then_some(text)
}

fn are_byte_level<'a>(runs: &[Vec<u8>], content: impl Iterator<Item = &'a str>) -> bool {
    let Some(texts) = runs.iter().map(|run| text_of(run)).collect::<Option<Vec<_>>>() else { return false };
    if texts.iter().any(|text| !text.is_ascii()) {
        return true;
    }
    let (mut n_marked, mut n_unmarked) = (0, 0);
    // Nothing stands before the first word, so it needs no mark.
    let mut after_space = true;
    for text in content {
        // Nobody writes a letter like this.
        if text.len() > 'Ġ'.len_utf8() && text.trim_start_matches(['Ġ', 'Ċ']).is_empty() {
            return true;
        }
        let decoded = byte_level(text).unwrap_or_default();
        let word = decoded.trim_ascii_start();
        let marked = word.len() < decoded.len();
        if word.first().is_some_and(u8::is_ascii_alphanumeric) {
            n_marked += usize::from(marked);
            n_unmarked += usize::from(!marked && !after_space);
        } else if decoded == b"\n" {
            n_marked += 1;
        }
        after_space = decoded.last().is_some_and(u8::is_ascii_whitespace);
    }
    n_marked > 0 && 3 * n_marked >= n_unmarked
}

fn is_metaspace(tokens: &[(&str, bool)]) -> bool {
    let marked = |text: &str| text.strip_prefix('▁').is_some_and(|rest| rest.starts_with(char::is_alphanumeric));
    let content = || tokens.iter().filter(|(_, special)| !special).map(|(text, _)| *text);
    // In front of scripts without spaces the mark stands alone.
    let mut lone = content().zip(content().skip(1));
    let lone = lone.next().is_some_and(|(first, next)| first == "▁" && next.starts_with(unspaced));
    let fallback = || {
        let bytes = |text: &str| PieceStyle::Metaspace.bytes(text).filter(|_| text.starts_with("<0x"));
        let run: Vec<u8> = content().filter_map(bytes).filter(|bytes| bytes.len() == 1).flatten().collect();
        run.len() > 1 && str::from_utf8(&run).is_ok_and(|text| !text.is_ascii())
    };
    content().any(marked) || lone || fallback()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::spelling::is_special;

    fn read(texts: &[&str]) -> Vec<String> {
        let tokens: Vec<_> = texts.iter().map(|text| (*text, is_special(text))).collect();
        labels_of_list(&tokens, None)
    }

    #[test]
    fn byte_level_lists_are_read_as_text() {
        assert_eq!(read(&["<s>", "The", "Ġcat", "Ċ", "</s>"]), ["<s>", "The", "␣cat", "⏎", "</s>"]);
        let split = ["a", "Ġca", "f", "Ã©", ",", "Ġä»", "Ĭ", "å¤", "©"];
        assert_eq!(read(&split), ["a", "␣ca", "f", "é", ",", "␣今¹", "今²", "天¹", "天²"]);
        assert_eq!(read(&split[5..8]), ["␣今¹", "今²", "⟨E5⟩⟨A4⟩"], "cut off inside a character");
        assert_eq!(read(&["d", "e", "f", "ĠĠ", "x"]), ["d", "e", "f", "␣␣", "x"], "no letter is written twice");
        let code = ["def", "Ġf", "():", "Ċ", "ĠĠĠ", "Ġreturn", "    ", "x"];
        assert_eq!(read(&code), ["def", "␣f", "():", "⏎", "␣␣␣", "␣return", "␣␣␣␣", "x"]);
        assert_eq!(read(&[" ca", "f", "Ã©"]), ["␣ca", "f", "é"], "as BertViz' pages have them");
    }

    #[test]
    fn other_spellings_are_read_as_text() {
        assert_eq!(read(&["▁The", "▁cat", "s", "</s>"]), ["␣The", "␣cat", "s", "</s>"]);
        assert_eq!(read(&["▁", "今日", "は"]), ["␣", "今日", "は"]);
        assert_eq!(read(&["<0xE4>", "<0xBB>", "<0x8A>", "▁a"]), ["今¹", "今²", "今³", "␣a"]);
        assert_eq!(read(&["a</w>", "photo", "graph</w>", "cafÃ©</w>"]), ["a", "␣photo", "graph", "␣café"]);
        assert_eq!(read(&["un", "café</w>", "ż</w>"]), ["un", "café", "␣ż"], "text, and no bytes");
        assert_eq!(read(&["[CLS]", "un", "##able", "[SEP]"]), ["[CLS]", "un", "##able", "[SEP]"]);
        assert_eq!(read(&["The", " cat", "\n"]), ["The", "␣cat", "⏎"], "decoded one by one");
    }

    /// Letters and signs of real text stay what they are.
    #[test]
    fn real_text_is_not_taken_for_a_vocabulary() {
        let lists: [&[&str]; 9] = [
            &["Ġorġ", "jgħix", "Malta"],
            &["Ġ", "is", "a", "letter", "of", "Maltese"],
            &["the", "letter", "Ġ"],
            &["člověk", "je", "Čech"],
            &["São", "Paulo", "é", "NÃO", "naïve"],
            &["▁▂▃", "▇", "is", "a", "sparkline"],
            &["##", "Heading", "###"],
            &["region 1", "region 2", "Ġ"],
            &["</w>", "ends", "a", "word"],
        ];
        for list in lists {
            assert_eq!(read(list), list);
        }
    }

    #[test]
    fn what_a_file_says_goes_first() {
        let style = |name: &str, text: &str| labels_of_list(&[(text, false)], TokenStyle::from_name(name)).pop();
        assert_eq!(style("byte-level", "Ġorg").as_deref(), Some("␣org"));
        assert_eq!(style("sentencepiece", "a▁b").as_deref(), Some("a␣b"));
        assert_eq!(style("as is", " Ġa\u{200B}").as_deref(), Some(" Ġa\u{200B}"));
        assert_eq!(style("wordpiece", " Ġa").as_deref(), Some("␣Ġa"));
        assert_eq!(style("word end", "graph</w>").as_deref(), Some("graph"));
        assert_eq!(TokenStyle::from_name("bytes"), None);
    }
}
