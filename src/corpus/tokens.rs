//! The table of tokens of one side, and the strings that it refers to.

use std::{collections::HashMap, ops::Range, sync::Arc};

use crate::capture::{Token, words};

/// Stands for "none" among numbers of strings and ids.
pub(super) const NONE: u32 = u32::MAX;

/// Each string once.
#[derive(Clone, Debug, Default)]
pub(super) struct Texts {
    strings: Vec<Arc<str>>,
    numbers: HashMap<Arc<str>, u32>,
    n_bytes: usize,
}

impl Texts {
    /// The number of a string, new or not.
    pub fn number(&mut self, text: &str) -> u32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let (number, text) = (self.strings.len() as u32, Arc::<str>::from(text));
        self.n_bytes += text.len();
        self.strings.push(Arc::clone(&text));
        self.numbers.insert(text, number);
        number
    }

    /// The string with a number.
    pub fn get(&self, number: u32) -> Option<&str> {
        self.strings.get(number as usize).map(|text| &**text)
    }

    pub const fn len(&self) -> usize {
        self.strings.len()
    }

    pub const fn size_bytes(&self) -> u64 {
        // A string has its counts beside it, and stands in a list and in a table that is at most half empty.
        let entry = 2 * size_of::<usize>() + size_of::<Arc<str>>() + 2 * (size_of::<(Arc<str>, u32)>() + 1);
        (self.n_bytes + self.strings.len() * entry) as u64
    }
}

/// One token of a corpus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenRow<'a> {
    pub input: usize,
    pub position: usize,
    /// Vocabulary id, if it has one.
    pub id: Option<u32>,
    pub text: &'a str,
    /// Tokens with the same text have the same number.
    pub text_number: u32,
    /// Added by the tokenizer or the model.
    pub special: bool,
    /// Goes on with the word of the token before it.
    pub continues: bool,
}

/// The tokens of one side of all inputs, one row each.
#[derive(Clone, Debug, Default)]
pub(super) struct TokenTable {
    inputs: Vec<u32>,
    positions: Vec<u32>,
    ids: Vec<u32>,
    texts: Vec<u32>,
    special: Vec<bool>,
    continues: Vec<bool>,
}

impl TokenTable {
    /// Bytes of one row.
    pub const ROW_BYTES: u64 = (4 * size_of::<u32>() + 2 * size_of::<bool>()) as u64;

    pub const fn len(&self) -> usize {
        self.inputs.len()
    }

    pub fn reserve(&mut self, n: usize) {
        self.inputs.reserve_exact(n);
        self.positions.reserve_exact(n);
        self.ids.reserve_exact(n);
        self.texts.reserve_exact(n);
        self.special.reserve_exact(n);
        self.continues.reserve_exact(n);
    }

    /// Adds an input's tokens; their rows.
    pub fn extend(&mut self, input: usize, tokens: &[Token], texts: &mut Texts) -> Range<usize> {
        let start = self.len();
        for (position, token) in tokens.iter().enumerate() {
            self.inputs.push(input as u32);
            self.positions.push(position as u32);
            self.ids.push(token.id.unwrap_or(NONE));
            self.texts.push(texts.number(&token.text));
            self.special.push(token.special);
        }
        let pieces = words::words(tokens).into_iter().flat_map(|word| word.clone().map(move |at| at > word.start));
        self.continues.extend(pieces);
        start..self.len()
    }

    pub fn row<'a>(&self, row: usize, texts: &'a Texts) -> Option<TokenRow<'a>> {
        let text_number = *self.texts.get(row)?;
        Some(TokenRow {
            input: self.inputs[row] as usize,
            position: self.positions[row] as usize,
            id: Some(self.ids[row]).filter(|id| *id != NONE),
            text: texts.get(text_number).unwrap_or_default(),
            text_number,
            special: self.special[row],
            continues: self.continues[row],
        })
    }

    /// How often each string stands in the table, by its number.
    pub fn frequencies(&self, n_texts: usize) -> Vec<u32> {
        let mut counts = vec![0; n_texts];
        for text in &self.texts {
            if let Some(count) = counts.get_mut(*text as usize) {
                *count += 1;
            }
        }
        counts
    }

    /// Keeps the rows of these ranges, in this order: those of the first are input 0 from now on, and so on.
    pub fn arrange(&mut self, rows: &[Range<usize>]) {
        fn of<T: Copy>(old: &[T], rows: &[Range<usize>]) -> Vec<T> {
            rows.iter().flat_map(|rows| old[rows.clone()].iter().copied()).collect()
        }
        let inputs = rows.iter().enumerate().flat_map(|(input, rows)| rows.clone().map(move |_| input as u32));
        let arranged = Self {
            inputs: inputs.collect(),
            positions: of(&self.positions, rows),
            ids: of(&self.ids, rows),
            texts: of(&self.texts, rows),
            special: of(&self.special, rows),
            continues: of(&self.continues, rows),
        };
        *self = arranged;
    }

    pub const fn size_bytes(&self) -> u64 {
        let numbers = self.inputs.capacity() + self.positions.capacity() + self.ids.capacity() + self.texts.capacity();
        let flags = self.special.capacity() + self.continues.capacity();
        (numbers * size_of::<u32>() + flags * size_of::<bool>()) as u64
    }
}
