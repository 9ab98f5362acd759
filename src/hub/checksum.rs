//! Checksums that the hub announces: the `ETag` of a large file is its SHA-256, that of a small one its
//! git blob id.

use ring::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY, SHA256};

/// A checksum to compare with, in lower-case hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Checksum {
    /// SHA-256 of the content.
    Sha256(String),
    /// SHA-1 of `blob LENGTH\0` and the content, as git computes it.
    GitBlob(String),
}

impl Checksum {
    /// What an `ETag` without its quotes says about the content; `None` when it is no checksum.
    pub fn from_etag(etag: &str) -> Option<Self> {
        let etag = etag.to_ascii_lowercase();
        match etag.len() {
            _ if !etag.bytes().all(|byte| byte.is_ascii_hexdigit()) => None,
            64 => Some(Self::Sha256(etag)),
            40 => Some(Self::GitBlob(etag)),
            _ => None,
        }
    }

    /// A running computation for a file of `len` bytes.
    pub fn start(&self, len: u64) -> Hasher {
        match self {
            Self::Sha256(_) => Hasher(Context::new(&SHA256)),
            Self::GitBlob(_) => {
                let mut context = Context::new(&SHA1_FOR_LEGACY_USE_ONLY);
                context.update(format!("blob {len}\0").as_bytes());
                Hasher(context)
            }
        }
    }

    /// Whether the content that went through `hasher` is the announced one.
    pub fn matches(&self, hasher: Hasher) -> bool {
        let (Self::Sha256(expected) | Self::GitBlob(expected)) = self;
        let digit = |value: u8| char::from_digit(value.into(), 16);
        let found = hasher.0.finish();
        found.as_ref().iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).eq(expected.chars().map(Some))
    }
}

/// Takes in a file's bytes in order.
#[derive(Clone)]
pub struct Hasher(Context);

impl Hasher {
    /// Takes in the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_contents_have_their_known_checksums() {
        for etag in [
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
            // `printf abc | git hash-object --stdin`
            "f2ba8f84ab5c1bce84a7b441cb1959cfc7093b7f",
        ] {
            let checksum = Checksum::from_etag(etag).unwrap();
            let mut hasher = checksum.start(3);
            hasher.update(b"a");
            hasher.update(b"bc");
            assert!(checksum.matches(hasher), "{etag}");
            assert!(!checksum.matches(checksum.start(0)), "{etag}");
        }
    }

    #[test]
    fn other_etags_are_no_checksums() {
        for etag in ["", "abc", "not-a-checksum", &"z".repeat(64), &"a".repeat(32)] {
            assert_eq!(Checksum::from_etag(etag), None, "{etag}");
        }
    }
}
