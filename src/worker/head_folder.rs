//! Folders with one file for each head: what stands beside the heads is read at once, and the file of a head when that
//! is looked at.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, BufReader, Read, Seek as _, SeekFrom},
    path::Path,
    sync::Arc,
};

use crate::{
    analysis::head_folder::{
        AttributedPlace, Attribution, FolderIndex, HeadCloud, HeadFile, HeadFolder, attributed, features_from_json,
        name,
    },
    capture::file::unpacked,
    ids::HeadId,
    model,
    protocol::{CaptureFile, Failure},
    text::{told, unreadable},
};

/// Bytes that are read of a file, unpacked; usual ones have a quarter.
const MOST_BYTES: u64 = 64 << 20;
/// Entries of the folder of heads that are looked at.
const MOST_ENTRIES: usize = 200_000;
/// How a packed file begins.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// Whether a path is such a folder, whole or not: a model folder has a `config.json` as well, but no numbers of heads.
pub fn is_head_folder(path: &Path) -> bool {
    path.is_dir() && (path.join(name::SCATTER).is_file() || path.join(name::UNFINISHED).is_file())
}

/// Opens a folder.
///
/// # Errors
/// One sentence: why it cannot be shown.
pub fn open(path: &Path) -> Result<HeadFolder, String> {
    let failed = |reason: String| format!("This folder of heads cannot be shown: {reason}");
    if path.join(name::UNFINISHED).is_file() {
        return Err(failed("it is not whole, as whatever wrote it was stopped; write it again".to_owned()));
    }
    let read = |file: &str| read(path, &path.join(file)).map_err(|reason| failed(format!("{file}: {reason}")));
    let index = FolderIndex::from_json(&read(name::CONFIG)?, &read(name::SCATTER)?);
    let index = index.map_err(|error| failed(error.to_string()))?;
    let entries = fs::read_dir(path.join(name::HEADS)).into_iter().flatten().take(MOST_ENTRIES).flatten();
    let there: BTreeSet<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let absent = index.heads.iter().copied().filter(|head| !there.contains(&index.file_name(*head))).collect();
    Ok(HeadFolder { path: path.to_owned(), index, absent })
}

/// Opens a folder to be shown in place of a capture file.
///
/// # Errors
/// When it cannot be shown, with its path.
pub fn opened(path: &Path) -> Result<CaptureFile, Failure> {
    let failed = |summary: String| Failure { summary, details: path.display().to_string() };
    let folder = open(path).map_err(failed)?;
    let capture = folder.capture(model::next_capture_id()).map_err(|error| failed(error.to_string()))?;
    Ok(CaptureFile {
        path: path.to_owned(),
        captures: vec![Arc::new(capture)],
        numbers: None,
        folder: Some(Arc::new(folder)),
    })
}

/// Reads the file of a head.
///
/// # Errors
/// One sentence: why it cannot be shown.
pub fn read_head(folder: &HeadFolder, head: HeadId) -> Result<HeadFile, String> {
    if let Some(reason) = folder.lacks(head) {
        return Err(reason);
    }
    let file = folder.index.file_name(head);
    let failed = |reason: String| format!("{}/{file} cannot be shown: {reason}", name::HEADS);
    let bytes = read(&folder.path, &folder.path.join(name::HEADS).join(&file)).map_err(failed)?;
    let mut found = HeadFile::from_json_with(&bytes, folder.index.causal, &folder.index.own).map_err(failed)?;
    found.cloud = read_cloud(folder, head);
    read_attributions(folder, head, &mut found);
    Ok(found)
}

/// The cloud of a head, where there is a file of it.
fn read_cloud(folder: &HeadFolder, head: HeadId) -> Option<Result<HeadCloud, String>> {
    let file = folder.index.file_name(head);
    let path = folder.path.join(name::CLOUDS).join(&file);
    let failed = |reason: String| format!("{}/{file}: {reason}", name::CLOUDS);
    // A link that leads nowhere is there, too.
    path.symlink_metadata().ok()?;
    let mut cloud = match read(&folder.path, &path).and_then(|bytes| HeadCloud::from_json(&bytes)) {
        Ok(cloud) => cloud,
        Err(reason) => return Some(Err(failed(reason))),
    };
    if let Ok(texts) = read(&folder.path, &folder.path.join(name::CLOUDS).join(name::CLOUD_SEQUENCES)) {
        cloud.read_texts(&texts);
    }
    Some(Ok(cloud))
}

/// The pairs of a head that the folder attributes to features, each with its file.
fn read_attributions(folder: &HeadFolder, head: HeadId, found: &mut HeadFile) {
    let below = folder.path.join(name::ATTRIBUTIONS);
    let manifest = below.join(name::MANIFEST);
    if manifest.symlink_metadata().is_err() {
        return;
    }
    let named = format!("{}/{}", name::ATTRIBUTIONS, name::MANIFEST);
    let places = match read(&folder.path, &manifest).and_then(|bytes| attributed(&bytes, head)) {
        Ok((places, notes)) => {
            found.notes.extend(notes.into_iter().map(|note| format!("{named}: {note}")));
            places
        }
        Err(reason) => return found.notes.push(format!("{named} cannot be shown: {reason}")),
    };
    let attribution = |place: AttributedPlace| {
        let path = below.join(place.circuit.name()).join(place.file_name(head));
        let features = read(&folder.path, &path).and_then(|bytes| features_from_json(&bytes));
        Attribution { place, features }
    };
    found.attributions = places.into_iter().map(attribution).collect();
}

/// The text of a file below a folder, unpacked where it is packed by gzip.
///
/// # Errors
/// A clause.
pub fn read(folder: &Path, path: &Path) -> Result<Vec<u8>, String> {
    let said = |error: io::Error| told(&unreadable(&error)).into_owned();
    let [inside, outside] = [folder, path].map(fs::canonicalize);
    if !outside.map_err(said)?.starts_with(inside.map_err(said)?) {
        return Err("it is a link that leads out of the folder".to_owned());
    }
    // A pipe would never end.
    let metadata = fs::metadata(path).map_err(said)?;
    if !metadata.is_file() {
        return Err("it is no file".to_owned());
    }
    let too_large = || format!("it is larger than {} MB", MOST_BYTES >> 20);
    if metadata.len() > MOST_BYTES {
        return Err(too_large());
    }
    let mut file = BufReader::new(File::open(path).map_err(said)?);
    let (mut start, mut bytes) = ([0; 2], Vec::new());
    let is_packed = file.read_exact(&mut start).is_ok() && start == GZIP;
    file.seek(SeekFrom::Start(0)).map_err(said)?;
    if is_packed {
        unpacked(&mut file).map_err(said)?.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(said)?;
    } else {
        file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(said)?;
    }
    if bytes.len() as u64 > MOST_BYTES { Err(too_large()) } else { Ok(bytes) }
}
