//! Name of a model on the hub as a user types it: `ID`, `ID@REVISION`, or its address in a browser.

use std::fmt;

/// The revision that is meant when none is given.
pub const DEFAULT_REVISION: &str = "main";
/// The hub's own limit for one part of an id.
const MAX_PART: usize = 96;

/// A model on the hub, at one revision.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RepoId {
    name: String,
    revision: String,
}

impl RepoId {
    /// Reads `name`, `owner/name`, either with `@revision`, or the address of a model's page.
    ///
    /// `None` for anything that the hub would not accept, and so for everything that could mean a path
    /// outside the cache.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().trim_end_matches('/');
        let page = text.strip_prefix("https://huggingface.co/");
        let of_page = page.and_then(|page| page.split_once("/tree/"));
        let text = page.unwrap_or(text);
        let (name, revision) = of_page.or_else(|| text.split_once('@')).unwrap_or((text, DEFAULT_REVISION));
        let parts = name.split('/').count();
        let sound = parts <= 2 && name.split('/').all(is_name) && is_revision(revision);
        sound.then(|| Self { name: name.to_owned(), revision: revision.to_owned() })
    }

    /// `owner/name`, or `name` alone.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A branch, a tag or a commit.
    pub fn revision(&self) -> &str {
        &self.revision
    }
}

impl fmt::Display for RepoId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if self.revision == DEFAULT_REVISION { Ok(()) } else { write!(f, "@{}", self.revision) }
    }
}

/// Whether `text` may be one component of a path: letters, digits, `-`, `_` and `.`, and no leading dot.
pub(super) fn is_plain(text: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    (1..=255).contains(&text.len()) && !text.starts_with('.') && text.chars().all(allowed)
}

fn is_name(part: &str) -> bool {
    is_plain(part) && part.len() <= MAX_PART && !part.starts_with('-') && !part.contains("--") && !part.contains("..")
}

fn is_revision(revision: &str) -> bool {
    revision.len() <= 255 && !revision.contains("..") && revision.split('/').all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_as_people_write_them() {
        for (text, name, revision) in [
            ("gpt2", "gpt2", "main"),
            (" openai-community/gpt2 ", "openai-community/gpt2", "main"),
            ("a/b.c_d@v1.0", "a/b.c_d", "v1.0"),
            ("a/b@refs/pr/3", "a/b", "refs/pr/3"),
            ("https://huggingface.co/a/b", "a/b", "main"),
            ("https://huggingface.co/a/b/tree/dev/", "a/b", "dev"),
        ] {
            let id = RepoId::parse(text).unwrap();
            assert_eq!((id.name(), id.revision()), (name, revision), "{text}");
        }
        assert_eq!(RepoId::parse("gpt2@main").unwrap().to_string(), "gpt2");
        assert_eq!(RepoId::parse("a/b@v1").unwrap().to_string(), "a/b@v1");
    }

    #[test]
    fn what_could_leave_the_cache_is_no_id() {
        for text in [
            "",
            "a b",
            "a/b/c",
            "../a",
            "a/..",
            "/a",
            "a\\b",
            "C:a",
            ".hidden",
            "a--b",
            "a@",
            "a@../x",
            "a@/x",
            "a@x//y",
            "a@x y",
            "a@.x",
            "-a",
            "http://host/a",
            "a?b",
        ] {
            assert_eq!(RepoId::parse(text), None, "{text}");
        }
    }
}
