//! What somebody typed or pasted to open something: paths as shells, file managers and browsers write them, a bundled
//! name, or the id of a model on the hub. Reading it is pure; what is there only the disk knows.

use std::path::{MAIN_SEPARATOR, Path, PathBuf};

use super::PathKind;
use crate::hub::RepoId;

/// Bytes of the longest path that systems take.
const MAX_PATH_BYTES: usize = 4096;
/// What begins the name of something inside the program.
const BUNDLED: &str = "demo:";
/// What begins an address of a file.
const FILE: &str = "file:";
/// Endings that a word has only as the name of a file, besides those of pictures, texts, corpora and sessions.
const FILES: [&str; 8] = ["safetensors", "bin", "pt", "pth", "npz", "npy", "json", "gguf"];

/// Something to open, as far as its name tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Typed {
    /// One path, or several of several lines.
    Paths(Vec<PathBuf>),
    /// A name inside the program.
    Bundled(String),
    /// A model on the hub, by the address of its page.
    Hub(RepoId),
    /// A path relative to the working folder, or else a model on the hub.
    Either(PathBuf, RepoId),
}

impl Typed {
    /// Reads what was typed, with `~` for `home`; `None` for words that name nothing to open.
    ///
    /// # Errors
    /// One sentence, for what is a path and cannot be one.
    pub fn parse(text: &str, home: Option<&Path>) -> Option<Result<Self, String>> {
        let text = text.trim();
        let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        match lines.as_slice() {
            [] => None,
            [line] => Self::of_line(line, home),
            [first, ..] => {
                let paths = lines.iter().map(|line| {
                    let Some(Ok(Self::Paths(paths))) = Self::of_line(line, home) else { return None };
                    Some(paths)
                });
                match paths.collect::<Option<Vec<_>>>() {
                    Some(paths) => Some(Ok(Self::Paths(paths.concat()))),
                    None if is_plainly_a_path(first) => {
                        Some(Err(format!("A path is one line, and these are {}", lines.len())))
                    }
                    None => None,
                }
            }
        }
    }

    fn of_line(text: &str, home: Option<&Path>) -> Option<Result<Self, String>> {
        let quoted = ['"', '\''].into_iter().find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote));
        let name = quoted.unwrap_or(text);
        if name.starts_with(BUNDLED) {
            return Some(Ok(Self::Bundled(name.to_owned())));
        }
        let id = RepoId::parse(name);
        if let Some(id) = id.clone().filter(|_| name.starts_with("https://")) {
            return Some(Ok(Self::Hub(id)));
        }
        let id = id.filter(|_| quoted.is_none() && name.contains('/'));
        let is_named = quoted.is_some() && name.contains('/');
        if !(is_plainly_a_path(name) || id.is_some() || is_named || is_file_name(name)) {
            return None;
        }
        let path = if name.starts_with(FILE) {
            of_address(name)
        } else if let Some(rest) =
            name.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with(is_separator))
        {
            let Some(home) = home else { return Some(Err("The system does not say where ~ is".to_owned())) };
            home.join(rest.trim_start_matches(is_separator))
        } else if quoted.is_none() && MAIN_SEPARATOR == '/' {
            // As a terminal shows it.
            PathBuf::from(name.replace("\\ ", " "))
        } else {
            PathBuf::from(name)
        };
        let n_bytes = path.as_os_str().len();
        if n_bytes > MAX_PATH_BYTES {
            return Some(Err(format!("This path has {n_bytes} letters, and systems take at most {MAX_PATH_BYTES}")));
        }
        if path.as_os_str().as_encoded_bytes().contains(&0) {
            return Some(Err("A path has no letter 0 in it".to_owned()));
        }
        Some(Ok(match id.filter(|_| !is_plainly_a_path(name)) {
            Some(id) => Self::Either(path, id),
            None => Self::Paths(vec![path]),
        }))
    }
}

fn is_separator(letter: char) -> bool {
    letter == '/' || letter == MAIN_SEPARATOR
}

/// Whether it can be nothing but a path, by how it begins.
fn is_plainly_a_path(name: &str) -> bool {
    let rest = name.trim_start_matches(['.', '~']);
    let begins = rest.starts_with(is_separator) && name.len() - rest.len() <= 2;
    let drive = || {
        let mut letters = name.chars();
        let is_drive = letters.next().is_some_and(|it| it.is_ascii_alphabetic()) && letters.next() == Some(':');
        is_drive && letters.next().is_some_and(|it| it == '/' || it == '\\')
    };
    begins
        || matches!(name, "~" | "." | "..")
        || name.starts_with(FILE)
        || (name.matches('/').count() > 1 && !name.contains(char::is_whitespace) && !name.contains("://"))
        || (cfg!(windows) && (name.starts_with("\\\\") || drive()))
}

/// Whether one word is the name of a file, by how it ends.
fn is_file_name(name: &str) -> bool {
    let path = Path::new(name);
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_ascii_lowercase();
    let is_known = PathKind::of(path) != PathKind::Model || FILES.contains(&ending.as_str());
    is_known && !name.contains(char::is_whitespace) && !name.contains("://")
}

/// The path of `file:///a%20b`, of `file://localhost/a` and of `file:/a`.
fn of_address(address: &str) -> PathBuf {
    let rest = &address[FILE.len()..];
    let path = match rest.strip_prefix("//") {
        Some(rest) => rest.find('/').map_or(rest, |at| &rest[at..]),
        None => rest,
    };
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let [first, others @ ..] = rest {
        let code = others.get(..2).and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok());
        if let Some(byte) = code.filter(|_| *first == b'%') {
            bytes.push(byte);
            rest = &others[2..];
        } else {
            bytes.push(*first);
            rest = others;
        }
    }
    let path = from_bytes(bytes);
    // `file:///C:/a` has a separator before its drive.
    match path.to_str().and_then(|path| path.strip_prefix('/')).filter(|path| cfg!(windows) && path.contains(':')) {
        Some(drive) => PathBuf::from(drive),
        None => path,
    }
}

#[cfg(unix)]
fn from_bytes(bytes: Vec<u8>) -> PathBuf {
    use std::{ffi::OsString, os::unix::ffi::OsStringExt as _};
    OsString::from_vec(bytes).into()
}

#[cfg(not(unix))]
fn from_bytes(bytes: Vec<u8>) -> PathBuf {
    String::from_utf8_lossy(&bytes).into_owned().into()
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Option<Result<Typed, String>> {
        Typed::parse(text, Some(Path::new("/home/ann")))
    }

    #[test]
    fn paths_are_read_as_shells_file_managers_and_browsers_write_them() {
        for (text, path) in [
            ("/models/bert", "/models/bert"),
            ("  /models/my bert/ \n", "/models/my bert/"),
            ("/models/my\\ bert", "/models/my bert"),
            ("'/models/my bert'", "/models/my bert"),
            ("\"~/a\"", "/home/ann/a"),
            ("~", "/home/ann/"),
            ("~/a b", "/home/ann/a b"),
            ("./a", "./a"),
            ("..", ".."),
            ("a/b/c", "a/b/c"),
            ("cat.PNG", "cat.PNG"),
            ("model.safetensors", "model.safetensors"),
            ("file:///tmp/my%20bert/%C3%A4", "/tmp/my bert/ä"),
            ("file://localhost/tmp/a", "/tmp/a"),
            ("file:/tmp/100%", "/tmp/100%"),
        ] {
            assert_eq!(parsed(text), Some(Ok(Typed::Paths(vec![PathBuf::from(path)]))), "{text:?}");
        }
        let both = Typed::Paths(vec!["/a".into(), "/b c".into()]);
        assert_eq!(parsed("file:///a\r\nfile:///b%20c\r\n"), Some(Ok(both)));
    }

    #[test]
    fn names_that_are_no_paths_are_told_from_words() {
        let id = |id: &str| RepoId::parse(id).unwrap();
        assert_eq!(parsed("demo:gpt"), Some(Ok(Typed::Bundled("demo:gpt".to_owned()))));
        assert_eq!(parsed("https://huggingface.co/a/b"), Some(Ok(Typed::Hub(id("a/b")))));
        assert_eq!(parsed("a/b@v1"), Some(Ok(Typed::Either("a/b@v1".into(), id("a/b@v1")))));
        for words in ["", " \n", "heatmap", "L3H5", "and/or the", "one\ntwo", "He said: “no”.", "attnscope://open?a=/b"]
        {
            assert_eq!(parsed(words), None, "{words:?}");
        }
    }

    #[test]
    fn what_cannot_be_a_path_gets_one_sentence() {
        let error = |text: &str| parsed(text).unwrap().unwrap_err();
        assert_eq!(
            error(&format!("/{}", "a".repeat(4999))),
            "This path has 5000 letters, and systems take at most 4096"
        );
        assert_eq!(error("/a\nand some text"), "A path is one line, and these are 2");
        assert_eq!(error("/a\0b"), "A path has no letter 0 in it");
        assert!(Typed::parse("~/a", None).unwrap().is_err());
    }
}
