//! SHA-256 as text: what names the content of files.

use ring::digest::{Context, SHA256};

/// SHA-256 of bytes that come one part after the other.
#[derive(Clone)]
pub struct Sha256(Context);

impl Default for Sha256 {
    fn default() -> Self {
        Self(Context::new(&SHA256))
    }
}

impl Sha256 {
    /// Takes in the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest in hexadecimal digits.
    #[must_use]
    pub fn text(self) -> String {
        hexadecimal(self.0.finish().as_ref())
    }
}

/// SHA-256 of some bytes, in hexadecimal digits.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    let mut digest = Sha256::default();
    digest.update(bytes);
    digest.text()
}

/// Bytes in hexadecimal digits, lower case.
#[must_use]
pub fn hexadecimal(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(value.into(), 16).unwrap_or_default();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_fips_180() {
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(b"abc"), abc);
        let mut parts = Sha256::default();
        parts.update(b"a");
        parts.update(b"bc");
        assert_eq!(parts.text(), abc);
    }
}
