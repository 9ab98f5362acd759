//! Words as runs of tokens.
//!
//! Vocabularies mark words in different ways, and a capture keeps only what a person reads and where it
//! stood, so the rule works on those. A token **continues** the word before it when one of these says so,
//! the first that applies:
//!
//! 0. Tokens that a person grouped do within their group; where one begins or ends, so does a word.
//! 1. Special tokens, tokens of another sentence, and patches never do.
//! 2. Parts of one character do: their spans overlap, or their labels are `é¹` and `é²`.
//! 3. A label that starts with a space (`␣the`) or a line end does not, nor does a token that begins behind
//!    the end of the last one in the input: byte-level BPE and `SentencePiece` mark the former, `WordPiece`
//!    and CLIP leave the latter. Nor does one that begins before the last one, where their order was changed.
//!    A lone `␣` belongs to what follows.
//! 4. `##ing` does (`WordPiece`), where no label starts with a space.
//! 5. Where there are no spans (text that the model wrote, files of other programs), a label without a
//!    leading space does if other labels have one.
//! 6. What is left touches the last token in the input. It does if letters or digits meet; punctuation
//!    stands alone, as in BERT's and the Penn treebank's convention, but an apostrophe between letters is
//!    inside a word (`didn't`). Scripts that write no spaces (Chinese, Japanese, Thai, …) are not merged,
//!    because nothing in the tokens says where their words end.

use std::ops::Range;

use super::Token;

/// A leading space or line end, visible or not.
const SPACES: [char; 7] = ['␣', ' ', '⏎', '\n', '⇥', '\t', '\u{a0}'];
/// What is put behind a piece of a character that is split over several tokens.
const PARTS: [char; 4] = ['¹', '²', '³', '⁴'];
const CONTINUES: &str = "##";

/// Positions of each word, in order and without gaps.
pub fn words(tokens: &[Token]) -> Vec<Range<usize>> {
    let style = Style::of(tokens);
    let mut words: Vec<Range<usize>> = Vec::new();
    for position in 0..tokens.len() {
        match words.last_mut() {
            Some(word) if style.continues(tokens, word.clone()) => word.end = position + 1,
            _ => words.push(position..position + 1),
        }
    }
    words
}

/// What a person reads for a word: its pieces without the marks that join them.
pub fn word_text(tokens: &[Token], word: Range<usize>) -> String {
    let Some(pieces) = tokens.get(word.clone()) else { return String::new() };
    if let [only] = pieces
        && (only.special || bare(&only.text).is_empty())
    {
        return token_text(tokens, word.start);
    }
    let mut text = String::new();
    for (nth, token) in pieces.iter().enumerate() {
        if let Some(before) = nth.checked_sub(1).and_then(|before| pieces.get(before)) {
            text.push_str(gap(before, token));
        }
        let piece = bare(&token.text);
        match split_character(&text, piece) {
            // The character is written once, without the numbers of its parts.
            Some(c) => {
                if text.ends_with(PARTS) {
                    text.pop();
                }
                text.push_str(&piece[c.len_utf8() + PARTS[0].len_utf8()..]);
            }
            None => text.push_str(piece),
        }
    }
    if text.is_empty() { token_text(tokens, word.start) } else { text }
}

/// What stands between two tokens of a group: a space where the text has one.
fn gap(before: &Token, token: &Token) -> &'static str {
    let spans = !before.span.is_empty() && !token.span.is_empty();
    let parted = (token.text.starts_with(['␣', ' ']) && !is_lone_space(&before.text))
        || (spans && token.span.start > before.span.end);
    if token.group.is_some() && parted { " " } else { "" }
}

/// What a person reads for a token; its position where it has no text.
pub fn token_text(tokens: &[Token], position: usize) -> String {
    shown(tokens.get(position).map_or("", |token| &token.text), position)
}

/// A token's text, or its position where it has none.
pub fn shown(text: &str, position: usize) -> String {
    if text.is_empty() { format!("#{position}") } else { text.to_owned() }
}

/// The name of one of some tokens in a sentence: in quotation marks, with its position where another has the same text,
/// `“␣Ben” #3`.
pub fn named<S: AsRef<str>>(texts: &[S], nth: usize, position: usize) -> String {
    named_by(texts, nth, &format!("#{position}"))
}

/// The same with what tells it from others of the same text.
pub fn named_by<S: AsRef<str>>(texts: &[S], nth: usize, number: &str) -> String {
    let text = texts.get(nth).map_or("", AsRef::as_ref);
    let n_alike = texts.iter().filter(|other| other.as_ref() == text).count();
    if n_alike > 1 { format!("“{text}” {number}") } else { format!("“{text}”") }
}

/// A label without the marks of its vocabulary: `the` of `␣the`, `ing` of `##ing`.
pub fn bare(text: &str) -> &str {
    let text = if marked_piece(text) { &text[CONTINUES.len()..] } else { text };
    text.trim_start_matches(['␣', ' '])
}

/// Whether a token consists of punctuation alone, by the rule of BERT's tokenizer: what ASCII prints that
/// is neither letter nor digit nor space, and what Unicode calls punctuation.
pub fn is_punctuation(token: &Token) -> bool {
    !token.special && punctuation_alone(bare(&token.text))
}

/// Whether a token stands where a model is to fill something in, by the names that vocabularies have for it.
pub fn is_mask(token: &Token) -> bool {
    matches!(token.text.as_str(), "[MASK]" | "<mask>" | "<special1>")
}

/// The same of a text without marks.
pub fn punctuation_alone(text: &str) -> bool {
    !text.is_empty() && text.chars().all(punctuates)
}

fn punctuates(c: char) -> bool {
    c.is_ascii_punctuation()
        || matches!(c,
            '¡' | '§' | '«' | '¶' | '·' | '»' | '¿'
            | '\u{37E}' | '\u{387}' | '\u{55A}'..='\u{55F}' | '\u{589}' | '\u{58A}' | '\u{5BE}' | '\u{5C0}'
            | '\u{5C3}' | '\u{5F3}' | '\u{5F4}' | '\u{60C}' | '\u{60D}' | '\u{61B}'..='\u{61F}'
            | '\u{66A}'..='\u{66D}' | '\u{6D4}' | '\u{964}' | '\u{965}' | '\u{E4F}' | '\u{E5A}' | '\u{E5B}'
            | '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205E}' | '\u{2E00}'..='\u{2E5D}'
            | '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{3011}' | '\u{3014}'..='\u{301F}' | '\u{30FB}'
            | '\u{FE10}'..='\u{FE19}' | '\u{FE30}'..='\u{FE52}' | '\u{FE54}'..='\u{FE63}'
            | '\u{FF01}'..='\u{FF0F}' | '\u{FF1A}'..='\u{FF20}' | '\u{FF3B}'..='\u{FF3D}' | '\u{FF3F}'
            | '\u{FF5B}' | '\u{FF5D}' | '\u{FF5F}'..='\u{FF65}')
}

/// Scripts that do not separate words by spaces.
pub fn unspaced(c: char) -> bool {
    matches!(c,
        '\u{0E00}'..='\u{0EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}' | '\u{2E80}'..='\u{2FDF}'
        | '\u{3040}'..='\u{312F}' | '\u{31A0}'..='\u{31FF}' | '\u{3400}'..='\u{4DBF}' | '\u{4E00}'..='\u{9FFF}'
        | '\u{AA60}'..='\u{AA7F}' | '\u{F900}'..='\u{FAFF}' | '\u{FF66}'..='\u{FF9F}' | '\u{20000}'..='\u{3FFFF}')
}

/// Joiners, variation selectors and skin tones hang on to the character before them.
fn combines(c: char) -> bool {
    matches!(c,
        '\u{300}'..='\u{36F}' | '\u{200C}' | '\u{200D}' | '\u{20D0}'..='\u{20FF}' | '\u{FE00}'..='\u{FE0F}'
        | '\u{1F3FB}'..='\u{1F3FF}')
}

const fn apostrophe(c: char) -> bool {
    matches!(c, '\'' | '’')
}

/// The character that `before` ends with a part of and `after` goes on with: of `x¹` and `x²y` it is `x`.
fn split_character(before: &str, after: &str) -> Option<char> {
    let mut next = after.chars();
    let (c, part) = (next.next()?, next.next()?);
    let nth = PARTS.iter().position(|&known| known == part).filter(|&nth| nth > 0)?;
    let before = before.strip_suffix(PARTS[nth - 1]).unwrap_or(before);
    before.ends_with(c).then_some(c)
}

/// How the tokens of a sequence mark words.
struct Style {
    /// Some label starts with a space.
    leading_space: bool,
}

impl Style {
    fn of(tokens: &[Token]) -> Self {
        let mut content = tokens.iter().filter(|token| !token.special);
        Self { leading_space: content.any(|token| token.text.starts_with(SPACES)) }
    }

    /// Whether the token behind `word` belongs to it. The numbers are those of the module's rule.
    fn continues(&self, tokens: &[Token], word: Range<usize>) -> bool {
        let (Some(last), Some(token)) = (tokens.get(word.end.wrapping_sub(1)), tokens.get(word.end)) else {
            return false;
        };
        // Words of some tokens end where others stand between.
        if let (Some(before), Some(here)) = (last.position, token.position)
            && here != before + 1
        {
            return false;
        }
        // 0
        if last.group.is_some() || token.group.is_some() {
            return last.group == token.group;
        }
        // 1
        if last.special || token.special || last.segment != token.segment || is_patch(token) {
            return false;
        }
        let spans = !last.span.is_empty() && !token.span.is_empty();
        // 2
        if (spans && token.span.start < last.span.end && last.span.start <= token.span.start)
            || split_character(&last.text, &token.text).is_some()
        {
            return true;
        }
        // 3
        if token.text.starts_with(SPACES) || last.text.ends_with(['⏎', '\n']) {
            return false;
        }
        if is_lone_space(&last.text) {
            return true;
        }
        // In another order than that of the text neighbours are no neighbours.
        if spans && (token.span.start > last.span.end || token.span.start < last.span.start) {
            return false;
        }
        // 4
        if !self.leading_space && marked_piece(&token.text) {
            return true;
        }
        // 5 and 6
        (spans || self.leading_space) && meet(tokens, word)
    }
}

/// Whether what stands on both sides of the border behind `word` belongs together.
fn meet(tokens: &[Token], word: Range<usize>) -> bool {
    let text = |position: usize| tokens.get(position).map_or("", |token| bare(&token.text));
    let before = text(word.end - 1);
    let after = text(word.end);
    // The character that a part is of tells, not the number of the part.
    let last = |text: &str| text.trim_end_matches(PARTS).chars().next_back().or_else(|| text.chars().next_back());
    let (Some(left), Some(right)) = (last(before), after.chars().next()) else { return false };
    if combines(right) || left == '\u{200D}' {
        return true;
    }
    let inside = |c: char| (c.is_alphanumeric() || combines(c)) && !unspaced(c);
    if inside(left) && inside(right) {
        return true;
    }
    if apostrophe(right) && inside(left) {
        let rest = after.chars().nth(1);
        // The letter may be in the next token, if that touches this one.
        let next = || {
            let token = tokens.get(word.end + 1).filter(|token| !token.special)?;
            let here = &tokens[word.end];
            let gap = !here.span.is_empty() && !token.span.is_empty() && token.span.start > here.span.end;
            let parted = gap || token.text.starts_with(SPACES);
            (!parted).then(|| text(word.end + 1).chars().next()).flatten()
        };
        return rest.or_else(next).is_some_and(char::is_alphabetic);
    }
    let in_word = match before.chars().rev().nth(1) {
        Some(c) => c.is_alphabetic(),
        // A token of its own that was taken into the word because a letter follows it.
        None => word.len() > 1,
    };
    apostrophe(left) && right.is_alphabetic() && in_word
}

/// Patches have neither an id nor a place in a text, and a row and a column for a name.
fn is_patch(token: &Token) -> bool {
    let place = |text: &str, mark| text.strip_prefix(mark).is_some_and(|n: &str| n.parse::<usize>().is_ok());
    let named = |(row, col): (&str, &str)| place(row, 'r') && place(col, 'c');
    token.id.is_none() && token.span.is_empty() && token.text.split_once(' ').is_some_and(named)
}

/// A piece that continues a word, and no heading: `##ing`, but neither `##` nor `###`.
fn marked_piece(text: &str) -> bool {
    text.strip_prefix(CONTINUES).is_some_and(|rest| !rest.is_empty() && !rest.starts_with('#'))
}

fn is_lone_space(text: &str) -> bool {
    matches!(text, "␣" | " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tokens of a text that stand where they are found in it, one after the other; `[…]` and `<…>` are
    /// special and stand nowhere.
    fn placed(input: &str, labels: &[&str]) -> Vec<Token> {
        let mut at = 0;
        let token = |label: &&str| {
            if is_special(label) {
                return Token { text: (*label).to_owned(), special: true, ..Token::default() };
            }
            let piece = bare(label);
            let found = input[at..].find(piece).map(|found| at + found).unwrap();
            at = found + piece.len();
            Token { text: (*label).to_owned(), id: Some(7), span: found..at, ..Token::default() }
        };
        labels.iter().map(token).collect()
    }

    /// The same without places, as a model writes them.
    fn written(labels: &[&str]) -> Vec<Token> {
        let token = |label: &&str| Token { text: (*label).to_owned(), special: is_special(label), ..Token::default() };
        labels.iter().map(token).collect()
    }

    fn is_special(label: &str) -> bool {
        label.starts_with('[') || (label.starts_with('<') && label.len() > 1)
    }

    fn merged(tokens: &[Token]) -> Vec<String> {
        words(tokens).into_iter().map(|word| word_text(tokens, word)).collect()
    }

    #[test]
    fn word_pieces_merge_by_their_marks_and_places() {
        let labels = ["[CLS]", "the", "un", "##believ", "##able", "cat", "didn", "'", "t", "purr", ".", "[SEP]"];
        let tokens = placed("the unbelievable cat didn't purr.", &labels);
        assert_eq!(merged(&tokens), ["[CLS]", "the", "unbelievable", "cat", "didn't", "purr", ".", "[SEP]"]);
        let generated = written(&["[CLS]", "un", "##believ", "##able", "cat"]);
        assert_eq!(merged(&generated), ["[CLS]", "unbelievable", "cat"]);
    }

    #[test]
    fn byte_level_pieces_merge_by_their_leading_space() {
        let labels = ["The", "␣anim", "al", "␣didn", "'t", ",", "␣ran", "⏎", "20", "24", "!"];
        let expected = ["The", "animal", "didn't", ",", "ran", "⏎", "2024", "!"];
        assert_eq!(merged(&placed("The animal didn't, ran\n2024!".replace('\n', "⏎").as_str(), &labels)), expected);
        assert_eq!(merged(&written(&labels)), expected, "what the model wrote has no places");
        let heading = ["␣a", "##", "b", "###", "␣c"];
        assert_eq!(merged(&written(&heading)), ["a", "##", "b", "###", "c"], "no pieces of WordPiece");
        assert_eq!(merged(&written(&["Ġorġ", "raĠel"])), ["Ġorġ", "raĠel"], "letters of Maltese");
    }

    #[test]
    fn parts_of_one_character_belong_together() {
        let mut tokens = placed("a🙂b", &["a", "b"]);
        for (part, label) in ["🙂¹", "🙂²", "🙂³"].into_iter().enumerate() {
            let token = Token { text: label.to_owned(), id: Some(9), span: 1..5, ..Token::default() };
            tokens.insert(1 + part, token);
        }
        assert_eq!(merged(&tokens), ["a", "🙂", "b"]);
        assert_eq!(merged(&written(&["␣é¹", "é²t"])), ["ét"]);
        assert_eq!(merged(&written(&["␣m", "²"])), ["m²"], "a superscript of the text is no part");
    }

    #[test]
    fn sentence_pieces_and_clip_words_merge() {
        let labels = ["␣", "Schmetter", "ling", "␣im", "␣Gar", "ten", ".", "</s>"];
        assert_eq!(
            merged(&placed("Schmetterling im Garten.", &labels[1..])),
            ["Schmetterling", "im", "Garten", ".", "</s>"]
        );
        assert_eq!(merged(&written(&labels)), ["Schmetterling", "im", "Garten", ".", "</s>"], "a lone space joins");
        let clip = placed("a photograph, of", &["<s>", "a", "photo", "graph", ",", "of", "</s>"]);
        assert_eq!(merged(&clip), ["<s>", "a", "photograph", ",", "of", "</s>"]);
    }

    #[test]
    fn what_cannot_be_known_is_not_merged() {
        assert_eq!(merged(&placed("你好吗", &["你", "好吗"])), ["你", "好吗"], "no spaces, no words");
        assert_eq!(merged(&written(&["the", "cat"])), ["the", "cat"], "whole words without marks");
        assert_eq!(merged(&written(&["r0 c0", "r0 c1"])), ["r0 c0", "r0 c1"], "patches");
        assert_eq!(merged(&placed("'hello' x", &["'", "hello", "'", "x"])), ["'", "hello", "'", "x"], "quotes");
        let mut pair = placed("ab", &["a", "b"]);
        pair[1].segment = 1;
        assert_eq!(merged(&pair), ["a", "b"], "two sentences");
        assert_eq!(merged(&[]), [""; 0]);
    }

    #[test]
    fn punctuation_is_what_bert_splits_off() {
        let is = |text: &str| is_punctuation(&Token { text: text.to_owned(), ..Token::default() });
        assert!([".", "␣,", "...", "##!", "“", "。", "¿", "␣-"].into_iter().all(is));
        assert!(!["a.", "␣", "", "⏎", "é", "7", "中"].into_iter().any(is));
        assert!(!is_punctuation(&Token { text: "-".to_owned(), special: true, ..Token::default() }));
    }
}
