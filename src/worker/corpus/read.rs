//! Lists of inputs from files, folders of pictures, and what the program brings along.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use crate::{
    corpus::list::{Content, InputList, Item, ListError, ListKind, ListOptions, MAX_INPUTS},
    model::bundled,
    text::{PICTURE_FILES, PICTURE_KINDS, bytes_text, counted, unreadable},
};

/// Larger files are refused before they are read.
const MAX_FILE_BYTES: u64 = 1 << 30;
/// Endings of captures, which have their inputs already.
const CAPTURES: [&str; 3] = ["safetensors", "npy", "npz"];
/// Folders within folders that are looked into.
const MAX_DEPTH: usize = 8;
/// Names that a note lists; more are counted.
const LISTED: usize = 3;
/// What marks a corpus inside the program.
const BUNDLED: &str = "demo:";

/// Why a corpus could not be read. Displays as one sentence.
#[derive(Debug, thiserror::Error)]
pub enum CorpusFileError {
    /// The system does not let us read it.
    #[error("the corpus cannot be read: {}: {}", unreadable(reason), path.display())]
    Io {
        reason: io::Error,
        /// Which file or folder.
        path: PathBuf,
    },
    /// Its contents are not a list of inputs.
    #[error("the corpus cannot be read: {reason}: {}", path.display())]
    List {
        reason: ListError,
        /// Which file or folder.
        path: PathBuf,
    },
    /// It is too large.
    #[error(
        "the corpus has {}, but at most {} are read: split it: {}",
        bytes_text(*n_bytes), bytes_text(MAX_FILE_BYTES), path.display()
    )]
    TooLarge { n_bytes: u64, path: PathBuf },
    /// It is a capture.
    #[error("this is a capture file, which has been run already: give it as --capture instead: {}", path.display())]
    Capture { path: PathBuf },
    /// It is one picture.
    #[error("a corpus of pictures is a folder; this is one picture: {}", path.display())]
    Picture { path: PathBuf },
    /// A folder without pictures.
    #[error("there are no pictures in this folder ({PICTURE_KINDS} are read): {}", path.display())]
    NoPictures { path: PathBuf },
    /// No bundled corpus of this name.
    #[error("there is no bundled corpus “{name}”; there are {}", names())]
    NoSuchBundled {
        /// The name that was asked for.
        name: String,
    },
}

fn names() -> String {
    bundled::corpora().collect::<Vec<_>>().join(", ")
}

/// Reads a text, table or JSON file, the pictures of a folder, or a corpus inside the program
/// (`demo:sentences`).
///
/// The pictures of a folder are not opened yet: one that turns out to be damaged is left out when it is run.
///
/// # Errors
/// See [`CorpusFileError`].
pub fn read(path: &Path, options: &ListOptions) -> Result<InputList, CorpusFileError> {
    let list_error = |reason| CorpusFileError::List { reason, path: path.to_owned() };
    if let Some(name) = path.to_str().filter(|name| name.starts_with(BUNDLED)) {
        return match bundled::corpus(name) {
            Some(bundled::BundledCorpus::Table(bytes)) => {
                InputList::parse(bytes, ListKind::Table, options).map_err(list_error)
            }
            Some(bundled::BundledCorpus::Pictures(pictures)) => Ok(drawn(&pictures)),
            None => Err(CorpusFileError::NoSuchBundled { name: name.to_owned() }),
        };
    }
    let io_error = |reason| CorpusFileError::Io { reason, path: path.to_owned() };
    let metadata = fs::metadata(path).map_err(io_error)?;
    if metadata.is_dir() {
        return pictures(path);
    }
    if CAPTURES.contains(&ending_of(path).as_str()) {
        return Err(CorpusFileError::Capture { path: path.to_owned() });
    }
    if is_picture(path) {
        return Err(CorpusFileError::Picture { path: path.to_owned() });
    }
    if metadata.len() > MAX_FILE_BYTES {
        return Err(CorpusFileError::TooLarge { n_bytes: metadata.len(), path: path.to_owned() });
    }
    let bytes = fs::read(path).map_err(io_error)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    InputList::parse(&bytes, ListKind::of_name(&name), options).map_err(list_error)
}

fn ending_of(path: &Path) -> String {
    path.extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_ascii_lowercase()
}

/// Whether a file is a picture that a corpus can have, by its name.
pub fn is_picture(path: &Path) -> bool {
    PICTURE_FILES.contains(&ending_of(path).as_str())
}

/// Pictures inside the program, with what each shows.
fn drawn(pictures: &[(&str, &str)]) -> InputList {
    let item = |(label, name): &(&str, &str)| Item {
        content: Content::BundledPicture((*name).to_owned()),
        name: Some((*name).to_owned()),
        values: vec![Some((*label).to_owned())],
    };
    InputList { items: pictures.iter().map(item).collect(), columns: vec!["label".to_owned()], ..InputList::default() }
}

/// The pictures of a folder and of the folders in it, whose names are their labels.
fn pictures(root: &Path) -> Result<InputList, CorpusFileError> {
    let mut list = InputList::default();
    let mut others = Vec::new();
    let mut folders = vec![(root.to_owned(), 0)];
    let mut found: Vec<PathBuf> = Vec::new();
    while let Some((folder, depth)) = folders.pop() {
        let failed = |reason| CorpusFileError::Io { reason, path: folder.clone() };
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if name.starts_with('.') {
                continue;
            }
            if path.is_dir() {
                if depth < MAX_DEPTH {
                    folders.push((path, depth + 1));
                }
            } else if is_picture(&path) {
                found.push(path);
            } else {
                others.push(name);
            }
        }
        if found.len() > MAX_INPUTS {
            return Err(CorpusFileError::List { reason: ListError::TooMany, path: root.to_owned() });
        }
    }
    if found.is_empty() {
        return Err(CorpusFileError::NoPictures { path: root.to_owned() });
    }
    // Whatever order the system lists them in.
    found.sort();
    let label = |path: &Path| {
        let parts = path.parent()?.strip_prefix(root).ok()?.components();
        let parts: Vec<_> = parts.map(|part| part.as_os_str().to_string_lossy()).collect();
        (!parts.is_empty()).then(|| parts.join("/"))
    };
    if found.iter().any(|path| label(path).is_some()) {
        list.columns.push("label".to_owned());
    }
    list.items = found
        .into_iter()
        .map(|path| Item {
            values: list.columns.iter().map(|_| label(&path)).collect(),
            name: path.file_name().map(|name| name.to_string_lossy().into_owned()),
            content: Content::Picture(path),
        })
        .collect();
    if !others.is_empty() {
        others.sort();
        let n_more = others.len().saturating_sub(LISTED);
        let more = if n_more > 0 { format!(" and {n_more} more") } else { String::new() };
        let (files, names) = (counted(others.len(), "file"), others[..others.len().min(LISTED)].join(", "));
        list.notes.push(format!("{files} of other kinds left out: {names}{more}"));
    }
    Ok(list)
}
