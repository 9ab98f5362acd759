//! Groups of tokens that a person makes: words of one's own, merged as words are.
//!
//! They are written into a text as brackets (`[New York] is big`), or given by positions of tokens. Tokens carry the
//! number of their group ([`Token::group`]), so that whatever merges words merges groups.

use std::{collections::BTreeMap, fmt, ops::Range};

use serde::{Deserialize, Serialize};

use super::Token;
use crate::{ids::Side, text::told};

/// Begins a group in a text.
const OPEN: char = '[';
/// Ends it.
const CLOSE: char = ']';
/// Before one of these three it stands for the character itself.
const ESCAPE: char = '\\';

/// A text without the brackets of its groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupedText {
    pub text: String,
    /// Bytes of the text, in order; no two have a byte in common.
    pub groups: Vec<Range<usize>>,
}

/// Why groups cannot be. Displays as one sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GroupError {
    #[error("the bracket before “{}” is never closed", told(.0))]
    Open(String),
    #[error("the bracket after “{}” closes no group", told(.0))]
    Close(String),
    #[error("there is a bracket inside the brackets of “{}”", told(.0))]
    Nested(String),
    #[error("there is nothing between two brackets after “{}”", told(.0))]
    Empty(String),
    #[error("the group “{}” ends inside the token “{}”", told(group), told(token))]
    InsideToken { group: String, token: String },
    #[error("no token stands for the group “{}”", told(.0))]
    NoToken(String),
    #[error("there is no token {position}: the last one is {}", n.saturating_sub(1))]
    NoPosition { position: usize, n: usize },
    #[error("token {0} is in two groups")]
    Twice(usize),
    #[error("the group with token {0} has a gap: its positions have to follow each other")]
    Gap(usize),
    #[error("a group has no positions")]
    NoPositions,
    #[error("the input has no {} tokens; it has {}", told(side), there.join(" and "))]
    NoSide { side: String, there: Vec<&'static str> },
    #[error("the groups do not say whose tokens they are: write them as an object with {}", .0.join(" and "))]
    WhoseTokens(Vec<&'static str>),
    #[error("the words do not make up the text: “{}” is not what comes next in “{}”", told(word), told(rest))]
    OtherText { word: String, rest: String },
    #[error("the words leave out “{}” of the text", told(.0))]
    LeftOut(String),
}

impl GroupError {
    /// What to do about it.
    pub const fn details(&self) -> &'static str {
        match self {
            Self::Open(_) | Self::Close(_) | Self::Nested(_) | Self::Empty(_) => {
                "Brackets group what stands between them, as in [New York] is big; a bracket that is meant itself is \
                 written \\[ or \\]"
            }
            Self::InsideToken { .. } => "Put the bracket at the end of a token, or take the whole token into the group",
            Self::NoToken(_) => "Put at least one token between the brackets",
            Self::NoPosition { .. } | Self::Twice(_) | Self::Gap(_) | Self::NoPositions => {
                "Groups are lists of positions of tokens, from 0, such as [[3, 4], [7, 8, 9]]"
            }
            Self::NoSide { .. } | Self::WhoseTokens(_) => {
                "Groups are lists of positions of tokens, or an object with such lists by the names of sides"
            }
            Self::OtherText { .. } | Self::LeftOut(_) => {
                "The column has the text itself with spaces or | between its words; other letters, or words left out, \
                 do not fit"
            }
        }
    }
}

impl GroupedText {
    /// Takes the brackets out of a text.
    ///
    /// # Errors
    /// Brackets that do not pair, stand inside each other, or have nothing but spaces between them.
    pub fn parse(written: &str) -> Result<Self, GroupError> {
        let mut text = String::with_capacity(written.len());
        let mut groups: Vec<Range<usize>> = Vec::new();
        let mut open = None;
        let mut letters = written.chars().peekable();
        while let Some(letter) = letters.next() {
            match (letter, open) {
                (ESCAPE, _) => {
                    let meant = letters.next_if(|next| [OPEN, CLOSE, ESCAPE].contains(next));
                    text.push(meant.unwrap_or(ESCAPE));
                }
                (OPEN, None) => open = Some(text.len()),
                (OPEN, Some(start)) => return Err(GroupError::Nested(text[start..].to_owned())),
                (CLOSE, None) => return Err(GroupError::Close(end_of(&text))),
                (CLOSE, Some(start)) => {
                    let group = trimmed(&text, start..text.len());
                    if group.is_empty() {
                        return Err(GroupError::Empty(end_of(text[..start].trim_end())));
                    }
                    groups.push(group);
                    open = None;
                }
                (letter, _) => text.push(letter),
            }
        }
        match open {
            Some(start) => Err(GroupError::Open(text[start..].chars().take(SHOWN).collect())),
            None => Ok(Self { text, groups }),
        }
    }

    /// A text with the words that another column or program made of it, separated by `|` where there is one, else by
    /// spaces. Spaces within the text do not count.
    ///
    /// # Errors
    /// When the words do not follow each other in the text, or leave something of it out.
    pub fn segmented(text: &str, words: &str) -> Result<Self, GroupError> {
        let by_bars = words.contains('|');
        let separated = words.split(|c: char| if by_bars { c == '|' } else { c.is_whitespace() });
        let mut groups = Vec::new();
        let mut at = 0;
        for word in separated.map(str::trim).filter(|word| !word.is_empty()) {
            at += text[at..].len() - text[at..].trim_start().len();
            let start = at;
            for letter in word.chars().filter(|letter| !letter.is_whitespace()) {
                let rest = text[at..].trim_start();
                if !rest.starts_with(letter) {
                    let rest = text[start..].chars().take(SHOWN).collect();
                    return Err(GroupError::OtherText { word: word.to_owned(), rest });
                }
                at = text.len() - rest.len() + letter.len_utf8();
            }
            groups.push(start..at);
        }
        let rest = text[at..].trim();
        if !rest.is_empty() {
            return Err(GroupError::LeftOut(rest.chars().take(SHOWN).collect()));
        }
        Ok(Self { text: text.to_owned(), groups })
    }

    /// Makes one group of these bytes of the text, with what of other groups lies among them; a group that lies there in part
    /// ends or begins there.
    pub fn group(&mut self, bytes: Range<usize>) {
        let bytes = trimmed(&self.text, bytes);
        let mut groups = self.without(&bytes);
        groups.push(bytes);
        groups.sort_by_key(|group| group.start);
        self.groups = groups;
    }

    /// Takes apart every group that has some of these bytes; whether there was one.
    pub fn ungroup(&mut self, bytes: &Range<usize>) -> bool {
        let n = self.groups.len();
        self.groups.retain(|group| group.end <= bytes.start || bytes.end <= group.start);
        self.groups.len() < n
    }

    /// The text without these bytes, and what is left of its groups.
    pub fn remove(&mut self, bytes: &Range<usize>) {
        let moved = |at: usize| if at <= bytes.start { at } else { at.max(bytes.end) - bytes.len() };
        self.text.replace_range(bytes.clone(), "");
        let moved = self.groups.iter().map(|group| trimmed(&self.text, moved(group.start)..moved(group.end)));
        self.groups = moved.filter(|group| !group.is_empty()).collect();
    }

    /// What of the groups lies outside of some bytes.
    fn without(&self, bytes: &Range<usize>) -> Vec<Range<usize>> {
        let parts = self
            .groups
            .iter()
            .flat_map(|group| [group.start..group.end.min(bytes.start), group.start.max(bytes.end)..group.end]);
        let parts = parts.filter(|part| part.start < part.end).map(|part| trimmed(&self.text, part));
        parts.filter(|part| !part.is_empty()).collect()
    }
}

impl fmt::Display for GroupedText {
    /// With brackets, as [`GroupedText::parse`] reads it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write as _;
        let mut at = 0;
        for group in &self.groups {
            write_plain(f, &self.text[at..group.start])?;
            f.write_char(OPEN)?;
            write_plain(f, &self.text[group.clone()])?;
            f.write_char(CLOSE)?;
            at = group.end;
        }
        write_plain(f, &self.text[at..])
    }
}

fn write_plain(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    use fmt::Write as _;
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let escapes = letter == ESCAPE && letters.peek().is_none_or(|next| [OPEN, CLOSE, ESCAPE].contains(next));
        if escapes || letter == OPEN || letter == CLOSE {
            f.write_char(ESCAPE)?;
        }
        f.write_char(letter)?;
    }
    Ok(())
}

/// Letters of a text that a sentence shows.
const SHOWN: usize = 20;

fn end_of(text: &str) -> String {
    let skipped = text.chars().count().saturating_sub(SHOWN);
    text.chars().skip(skipped).collect()
}

/// Bytes of a text without the spaces at both ends.
fn trimmed(text: &str, bytes: Range<usize>) -> Range<usize> {
    let part = &text[bytes.clone()];
    let start = bytes.start + (part.len() - part.trim_start().len());
    start..start + part.trim().len()
}

/// Marks the tokens that stand for groups of a text, of the tokens of that text (`segment`, 0 or 1). Groups of what was
/// not read (`is_cut`) are passed over.
///
/// # Errors
/// When a group ends inside a token, or has none.
pub fn mark(tokens: &mut [Token], segment: u8, grouped: &GroupedText, is_cut: bool) -> Result<(), GroupError> {
    let GroupedText { text, groups } = grouped;
    let first = tokens.iter().filter_map(|token| token.group).max().map_or(0, |last| last + 1);
    let own = |token: &Token| !token.special && token.segment == segment && !token.span.is_empty();
    for (number, group) in (first..).zip(groups) {
        let mut found: Option<Range<usize>> = None;
        for (position, token) in tokens.iter().enumerate().filter(|(_, token)| own(token)) {
            let Some(_) = text.get(token.span.clone()) else { continue };
            let letters = trimmed(text, token.span.clone());
            // A token of spaces alone belongs to what stands on both sides.
            let letters = if letters.is_empty() { token.span.clone() } else { letters };
            if letters.end <= group.start || group.end <= letters.start {
                continue;
            }
            if letters.start < group.start || group.end < letters.end {
                return Err(GroupError::InsideToken {
                    group: text[group.clone()].to_owned(),
                    token: token.text.clone(),
                });
            }
            found = Some(found.map_or(position, |found| found.start)..position + 1);
        }
        let Some(mut found) = found else {
            if is_cut {
                continue;
            }
            return Err(GroupError::NoToken(text[group.clone()].to_owned()));
        };
        // The mark of a space that stands alone belongs to what follows.
        let before = found.start.checked_sub(1).and_then(|before| tokens.get(before));
        if before.is_some_and(|token| token.group.is_none() && !token.special && matches!(&*token.text, "␣" | " ")) {
            found.start -= 1;
        }
        for token in &mut tokens[found] {
            token.group = Some(number);
        }
    }
    Ok(())
}

/// Positions of the tokens of each group, in order.
pub fn positions(tokens: &[Token]) -> Vec<Range<usize>> {
    let mut groups: Vec<(u32, Range<usize>)> = Vec::new();
    for (position, token) in tokens.iter().enumerate() {
        let Some(number) = token.group else { continue };
        match groups.last_mut() {
            Some((last, group)) if *last == number && group.end == position => group.end = position + 1,
            _ => groups.push((number, position..position + 1)),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// Groups by positions of tokens, as files give them: lists for the only side, or lists by the names of sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Groups {
    Only(Vec<Vec<usize>>),
    BySide(BTreeMap<String, Vec<Vec<usize>>>),
}

impl Groups {
    /// Marks the tokens of an input in place of the groups that it has.
    ///
    /// # Errors
    /// When there is no such side or position, a token is in two groups, or a group has a gap.
    pub fn mark(&self, tokens: &mut BTreeMap<Side, Vec<Token>>) -> Result<(), GroupError> {
        let there: Vec<&'static str> = tokens.keys().map(|side| side.name()).collect();
        let by_side: Vec<(&str, &Vec<Vec<usize>>)> = match (self, there.as_slice()) {
            (Self::Only(groups), [only]) => vec![(only, groups)],
            (Self::Only(_), _) => return Err(GroupError::WhoseTokens(there)),
            (Self::BySide(by_side), _) => by_side.iter().map(|(side, groups)| (side.as_str(), groups)).collect(),
        };
        for (side, groups) in by_side {
            let tokens = Side::from_name(side).and_then(|side| tokens.get_mut(&side));
            let missing = || GroupError::NoSide { side: side.to_owned(), there: there.clone() };
            let tokens = tokens.ok_or_else(missing)?;
            let n = tokens.len();
            for token in tokens.iter_mut() {
                token.group = None;
            }
            for (number, group) in (0..).zip(groups) {
                let first = *group.first().ok_or(GroupError::NoPositions)?;
                for (expected, &position) in (first..).zip(group) {
                    if position != expected {
                        return Err(GroupError::Gap(first));
                    }
                    let token = tokens.get_mut(position).ok_or(GroupError::NoPosition { position, n })?;
                    if token.group.replace(number).is_some() {
                        return Err(GroupError::Twice(position));
                    }
                }
            }
            if let Some((token, group)) = split_character(tokens) {
                return Err(GroupError::InsideToken { group, token });
            }
        }
        Ok(())
    }
}

/// Two pieces of one character of which one alone is in a group, or each in another.
fn split_character(tokens: &[Token]) -> Option<(String, String)> {
    let halves = tokens.windows(2).find(|pair| {
        let [left, right] = pair else { return false };
        let same = left.segment == right.segment && !left.span.is_empty() && left.span == right.span;
        same && left.group != right.group
    })?;
    let grouped = halves.iter().find(|half| half.group.is_some())?;
    let other = halves.iter().find(|half| half.group != grouped.group)?;
    Some((other.text.clone(), grouped.text.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::words::{word_text, words};

    fn parsed(written: &str) -> (String, Vec<String>) {
        let GroupedText { text, groups } = GroupedText::parse(written).unwrap();
        let groups = groups.iter().map(|group| text[group.clone()].to_owned()).collect();
        (text, groups)
    }

    fn strings<const N: usize>(texts: [&str; N]) -> Vec<String> {
        texts.map(str::to_owned).to_vec()
    }

    #[test]
    fn brackets_group_and_a_stroke_before_them_lets_them_be() {
        assert_eq!(parsed("[New York] is big"), ("New York is big".to_owned(), strings(["New York"])));
        assert_eq!(parsed(r"a \[1\] [b\\c ] \n \\"), (r"a [1] b\c  \n \".to_owned(), strings([r"b\c"])));
        assert_eq!(parsed("[我们][喜欢]猫"), ("我们喜欢猫".to_owned(), strings(["我们", "喜欢"])));
        let said = |written: &str| GroupedText::parse(written).unwrap_err().to_string();
        assert_eq!(said("a [b"), "the bracket before “b” is never closed");
        assert_eq!(said("a b] c"), "the bracket after “a b” closes no group");
        assert_eq!(said("[a [b] c]"), "there is a bracket inside the brackets of “a ”");
        assert_eq!(said("a [ ]"), "there is nothing between two brackets after “a”");
    }

    #[test]
    fn what_is_written_is_read_again() {
        for written in ["[New York] is big", r"\[x\] [y\]z] \\", r"a\b [c\\]", "[一][二]", r"\\[a]"] {
            let grouped = GroupedText::parse(written).unwrap();
            assert_eq!(GroupedText::parse(&grouped.to_string()), Ok(grouped), "{written}");
        }
    }

    #[test]
    fn words_of_another_column_are_found_in_the_text() {
        let groups = |text: &str, words: &str| {
            let grouped = GroupedText::segmented(text, words).unwrap();
            grouped.groups.iter().map(|group| text[group.clone()].to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(groups("我们喜欢猫。", "我们 喜欢 猫 。"), strings(["我们", "喜欢", "猫", "。"]));
        assert_eq!(groups("New York is  big", "New York|is|big"), strings(["New York", "is", "big"]));
        assert_eq!(groups(" ACGTAC", "ACG TAC"), strings(["ACG", "TAC"]));
        let said = |text, words| GroupedText::segmented(text, words).unwrap_err().to_string();
        assert_eq!(said("ab", "a c"), "the words do not make up the text: “c” is not what comes next in “b”");
        assert_eq!(said("ab c", "ab"), "the words leave out “c” of the text");
    }

    #[test]
    fn groups_are_made_taken_apart_and_cut_with_the_text() {
        let mut grouped = GroupedText::parse("[New York] is big").unwrap();
        grouped.group(4..11);
        assert_eq!(grouped.to_string(), "[New] [York is] big");
        grouped.group(0..8);
        assert_eq!(grouped.to_string(), "[New York] [is] big");
        assert!(grouped.ungroup(&(9..11)) && !grouped.ungroup(&(9..11)));
        grouped.remove(&(0..4));
        assert_eq!(grouped.to_string(), "[York] is big");
        grouped.remove(&(0..5));
        assert_eq!(grouped.to_string(), "is big");
    }

    fn tokens(text: &str, labels: &[&str]) -> Vec<Token> {
        let mut at = 0;
        let token = |label: &&str| {
            let bare = label.trim_start_matches('␣');
            let found = text[at..].find(bare).map(|found| at + found).unwrap();
            at = found + bare.len();
            let start = found - usize::from(label.starts_with('␣') && found > 0);
            Token { text: (*label).to_owned(), span: start..at, ..Token::default() }
        };
        labels.iter().map(token).collect()
    }

    #[test]
    fn tokens_of_a_group_are_one_word_and_its_ends_are_ends_of_words() {
        let marked = |written: &str, labels: &[&str]| {
            let grouped = GroupedText::parse(written).unwrap();
            let mut tokens = tokens(&grouped.text, labels);
            mark(&mut tokens, 0, &grouped, false)?;
            Ok::<_, GroupError>(words(&tokens).into_iter().map(|word| word_text(&tokens, word)).collect::<Vec<_>>())
        };
        let byte_level = ["New", "␣York", "er", "␣is"];
        assert_eq!(marked("[New York]er is", &byte_level), Ok(strings(["New York", "er", "is"])));
        assert_eq!(marked("New [Yorker is]", &byte_level), Ok(strings(["New", "Yorker is"])));
        assert_eq!(marked("[new york] is", &["new", "york", "is"]), Ok(strings(["new york", "is"])));
        assert_eq!(marked("[我们][喜]欢", &["我", "们", "喜", "欢"]), Ok(strings(["我们", "喜", "欢"])));
        let said = marked("[New Yo]rker is", &byte_level).unwrap_err().to_string();
        assert_eq!(said, "the group “New Yo” ends inside the token “␣York”");
    }

    #[test]
    fn positions_are_checked_before_anything_is_grouped() {
        let tokens = || BTreeMap::from([(Side::Only, tokens("a b c d", &["a", "␣b", "␣c", "␣d"]))]);
        let mark = |groups: &str| {
            let mut tokens = tokens();
            let groups: Groups = serde_json::from_str(groups).unwrap();
            groups.mark(&mut tokens).map(|()| positions(&tokens[&Side::Only])).map_err(|error| error.to_string())
        };
        assert_eq!(mark("[[1, 2], [3]]"), Ok(vec![1..3, 3..4]));
        assert_eq!(mark(r#"{"self": [[0, 1], [2]]}"#), Ok(vec![0..2, 2..3]));
        assert_eq!(
            mark("[[1, 3]]"),
            Err("the group with token 1 has a gap: its positions have to follow each other".into())
        );
        assert_eq!(mark("[[1, 2], [2, 3]]"), Err("token 2 is in two groups".into()));
        assert_eq!(mark("[[3, 4]]"), Err("there is no token 4: the last one is 3".into()));
        assert_eq!(mark("[[]]"), Err("a group has no positions".into()));
        assert_eq!(mark(r#"{"decoder": [[0]]}"#), Err("the input has no decoder tokens; it has self".into()));
    }
}
