//! Plain text: one input a line, or one a sentence.

use unicode_segmentation::UnicodeSegmentation as _;

use super::{Content, InputList, Item, ListError, MAX_INPUTS, Split};

pub(super) fn parse(text: &str, split: Split) -> Result<InputList, ListError> {
    match split {
        Split::Lines => lines(text),
        Split::Sentences => sentences(text),
    }
}

fn lines(text: &str) -> Result<InputList, ListError> {
    let filled = text.lines().filter(|line| !line.trim().is_empty());
    let items: Vec<Item> = filled.take(MAX_INPUTS + 1).map(Item::text).collect();
    if items.len() > MAX_INPUTS { Err(ListError::TooMany) } else { Ok(InputList { items, ..InputList::default() }) }
}

/// Every sentence with the number of its paragraph.
fn sentences(text: &str) -> Result<InputList, ListError> {
    let mut items = Vec::new();
    let mut paragraph = Vec::new();
    let mut number = 0;
    // One more empty line ends the last paragraph.
    for line in text.lines().chain([""]) {
        if !line.trim().is_empty() {
            paragraph.push(line.trim());
            continue;
        }
        if paragraph.is_empty() {
            continue;
        }
        number += 1;
        let joined = paragraph.join(" ");
        paragraph.clear();
        for sentence in joined.unicode_sentences() {
            let values = vec![Some(number.to_string())];
            items.push(Item { values, ..Item::text(sentence.trim()) });
        }
        if items.len() > MAX_INPUTS {
            return Err(ListError::TooMany);
        }
    }
    Ok(InputList { items, columns: vec!["paragraph".to_owned()], ..InputList::default() })
}

/// Texts sentence by sentence, each with what is known about its text; pictures as they are.
pub(super) fn split(items: Vec<Item>) -> Result<Vec<Item>, ListError> {
    let mut sentences: Vec<Item> = Vec::new();
    for item in items {
        let Content::Text(text) = &item.content else {
            sentences.push(item);
            continue;
        };
        let filled = text.unicode_sentences().map(str::trim).filter(|sentence| !sentence.is_empty());
        sentences.extend(filled.map(|sentence| Item { content: Content::Text(sentence.to_owned()), ..item.clone() }));
        if sentences.len() > MAX_INPUTS {
            return Err(ListError::TooMany);
        }
    }
    Ok(sentences)
}
