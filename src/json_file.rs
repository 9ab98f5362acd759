//! JSON that nobody vouches for: read only as far as its size, its depth and the number of its parts are bounded.

use serde_json::{Value, error::Category};

use crate::text::told;

/// Bytes of a file that is read, where nothing else is said.
pub const MAX_BYTES: usize = 8 << 20;
/// Lists and objects within each other.
const MAX_DEPTH: usize = 48;
/// Lists, objects and values of lists in all. Each takes up to about a hundred bytes in memory, so that what is read
/// takes no more than 128 MB beside the file itself.
const MAX_PARTS: usize = 1 << 20;

/// How much of a file is read.
#[derive(Clone, Copy, Debug)]
pub struct JsonLimits {
    pub bytes: usize,
    /// Lists, objects and values of lists in all.
    pub parts: usize,
}

impl Default for JsonLimits {
    fn default() -> Self {
        Self { bytes: MAX_BYTES, parts: MAX_PARTS }
    }
}

/// Why a text is not read. Displays as a clause.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// More bytes than are read.
    #[error("it is larger than {} MB", .0 >> 20)]
    TooLarge(usize),
    /// Too deep.
    #[error("its lists and objects lie more than {MAX_DEPTH} deep within each other")]
    TooDeep,
    /// Too many parts.
    #[error("it has more than {0} parts")]
    TooMany(usize),
    /// It ends early.
    #[error("it ends in the middle, so a part of it is missing")]
    Truncated,
    /// No JSON.
    #[error("it is no JSON ({0})")]
    NoJson(String),
}

/// The value that these bytes are.
///
/// # Errors
/// When they are no JSON, or more of it than anybody needs.
pub fn read(bytes: &[u8]) -> Result<Value, JsonError> {
    weigh(bytes, JsonLimits::default())?;
    serde_json::from_slice(bytes).map_err(|error| explained(&error))
}

/// A file that Python wrote, whose numbers need not be JSON's, as far as it stays within limits.
///
/// # Errors
/// As [`read`].
pub fn of_python_within(bytes: &[u8], limits: JsonLimits) -> Result<Value, JsonError> {
    weigh(bytes, limits)?;
    of_python(bytes).map_err(|error| explained(&error))
}

fn explained(error: &serde_json::Error) -> JsonError {
    match error.classify() {
        Category::Eof => JsonError::Truncated,
        _ => JsonError::NoJson(told(&error.to_string()).into_owned()),
    }
}

/// A file that Python wrote, whose numbers need not be JSON's.
///
/// # Errors
/// When it is no JSON apart from that.
pub fn of_python(bytes: &[u8]) -> serde_json::Result<Value> {
    serde_json::from_slice(bytes).or_else(|error| serde_json::from_slice(&quoted(bytes)).map_err(|_| error))
}

/// The same text with quotation marks around the numbers that Python writes and JSON does not have: `NaN`, `Infinity`
/// and `-Infinity`. Whoever asks for one as a number is told so.
fn quoted(bytes: &[u8]) -> Vec<u8> {
    const NUMBERS: [&[u8]; 3] = [b"NaN", b"-Infinity", b"Infinity"];
    let mut out = Vec::with_capacity(bytes.len() + 2);
    let (mut at, mut in_text) = (0, false);
    while let Some(byte) = bytes.get(at) {
        let number = NUMBERS.iter().find(|number| !in_text && bytes[at..].starts_with(number));
        let n = match number {
            Some(number) => {
                out.push(b'"');
                out.extend_from_slice(number);
                out.push(b'"');
                number.len()
            }
            None if in_text && *byte == b'\\' => {
                out.extend(bytes[at..].iter().take(2));
                2
            }
            None => {
                in_text ^= *byte == b'"';
                out.push(*byte);
                1
            }
        };
        at += n;
    }
    out
}

/// Refuses what would take too much room, before anything is allocated for it.
fn weigh(bytes: &[u8], limits: JsonLimits) -> Result<(), JsonError> {
    if bytes.len() > limits.bytes {
        return Err(JsonError::TooLarge(limits.bytes));
    }
    let (mut depth, mut n_parts) = (0_usize, 0_usize);
    let (mut in_text, mut escaped) = (false, false);
    for byte in bytes {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b'[' | b'{' => {
                depth += 1;
                n_parts += 1;
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b',' => n_parts += 1,
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Err(JsonError::TooDeep);
        }
        if n_parts > limits.parts {
            return Err(JsonError::TooMany(limits.parts));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_much_is_refused_before_it_is_read() {
        let nested = |n: usize| [vec![b'['; n], vec![b']'; n]].concat();
        assert!(read(&nested(MAX_DEPTH)).is_ok());
        assert_eq!(read(&nested(MAX_DEPTH + 1)), Err(JsonError::TooDeep));
        let list = |n: usize| format!("[{}0]", "0,".repeat(n));
        assert!(read(list(1000).as_bytes()).is_ok());
        assert_eq!(read(list(MAX_PARTS).as_bytes()), Err(JsonError::TooMany(MAX_PARTS)));
        assert_eq!(read(&vec![b' '; MAX_BYTES + 1]), Err(JsonError::TooLarge(MAX_BYTES)));
        // Brackets and quotation marks of a text are no parts.
        assert!(read(format!(r#"["{}\"{}"]"#, "[{,".repeat(MAX_PARTS / 2), "]").as_bytes()).is_ok());
    }

    #[test]
    fn numbers_of_python_become_texts() {
        let read = |text: &str| serde_json::from_slice::<Value>(&quoted(text.as_bytes())).unwrap();
        let value = read(r#"{"a": NaN, "NaN": [-Infinity, Infinity, 1], "b": "\"NaN\\", "c": NaN}"#);
        assert_eq!(
            value,
            serde_json::json!({"a": "NaN", "NaN": ["-Infinity", "Infinity", 1], "b": "\"NaN\\", "c": "NaN"})
        );
        assert_eq!(quoted(br#"{"a\"#), br#"{"a\"#);
    }

    #[test]
    fn a_file_that_was_cut_short_says_so() {
        let whole = r#"{"a":[1,"two",{"b":null}]}"#;
        for end in 1..whole.len() {
            assert_eq!(read(&whole.as_bytes()[..end]), Err(JsonError::Truncated), "{}", &whole[..end]);
        }
        assert!(matches!(read(b"{]"), Err(JsonError::NoJson(_))));
        assert!(matches!(read(b"\xff\xfe"), Err(JsonError::NoJson(_))));
    }
}
