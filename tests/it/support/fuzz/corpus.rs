//! What inputs are made of: files of the fixtures and of the bundled models, each with the files beside it.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// How a file is put together, and so how it is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    Bytes,
    Json,
    Safetensors,
    Npy,
    /// A zip archive of NumPy arrays.
    Npz,
    /// A zip archive of a pickle and its values.
    Torch,
    Protobuf,
    Picture,
    Gzip,
}

/// One file that is right.
pub struct Seed {
    /// The folder that it lies in, with what it needs beside it.
    pub folder: PathBuf,
    /// Its name in there.
    pub name: String,
    pub bytes: Vec<u8>,
    pub shape: Shape,
}

/// Above this, breaking and reading take longer than they find.
const MAX_BYTES: u64 = 300_000;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The file `name` of every folder below `folder` that has one of a size that is quickly read, in order.
pub fn all(folder: &str, name: &str, shape: Shape) -> Vec<Seed> {
    matching(folder, &|file| file == name, shape)
}

/// Every file below `folder` whose name ends so.
pub fn ending(folder: &str, end: &str, shape: Shape) -> Vec<Seed> {
    matching(folder, &|file| file.ends_with(end), shape)
}

fn matching(folder: &str, wanted: &dyn Fn(&str) -> bool, shape: Shape) -> Vec<Seed> {
    let mut folders = vec![root().join(folder)];
    let mut paths = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            if path.is_dir() {
                folders.push(path);
            } else if wanted(&name) && fs::metadata(&path).is_ok_and(|file| file.len() <= MAX_BYTES) {
                paths.push(path);
            }
        }
    }
    // The system lists folders in any order.
    paths.sort();
    paths.iter().map(|path| seed(path, shape)).collect()
}

fn seed(path: &Path, shape: Shape) -> Seed {
    Seed {
        folder: path.parent().map(Path::to_owned).unwrap_or_default(),
        name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        bytes: fs::read(path).unwrap_or_default(),
        shape,
    }
}

/// A file that stands nowhere.
pub fn written(name: &str, bytes: impl Into<Vec<u8>>, shape: Shape) -> Seed {
    Seed { folder: PathBuf::new(), name: name.to_owned(), bytes: bytes.into(), shape }
}
