//! Identity of the files of a checkpoint: SHA-256 of each, and the commit of its repository on the hub.

use std::{
    collections::BTreeMap,
    io::{self, Read},
    sync::{
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use super::{ModelFiles, files::ADAPTER_FILES, weight_files};
use crate::{
    digest::{Sha256, sha256},
    model::{
        LoadError,
        run::{Control, Progress, Stage},
    },
    spec::CheckpointId,
};

/// Bytes that are taken in at once.
const CHUNK: usize = 1 << 20;
/// How often somebody who waits for a digest is asked whether to go on.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// Loads a checkpoint, and digests its weights on a thread beside: both read the same pages. `None` for the identity
/// where a file can no longer be read.
///
/// # Errors
/// Those of `load`, and when `control` says stop.
pub(crate) fn beside<T>(
    files: &ModelFiles,
    control: &Control<'_>,
    load: impl FnOnce() -> Result<T, LoadError>,
) -> Result<(T, Option<CheckpointId>), LoadError> {
    // Why there are none is for `load` to say.
    let weights = weight_files(files).unwrap_or_default();
    let (stop, done) = (AtomicBool::new(false), AtomicU64::new(0));
    let total = weights.iter().filter_map(|name| Some(files.reader_of_file(name)?.ok()?.1)).sum::<u64>();
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        let (weights, stop, done) = (&weights, &stop, &done);
        scope.spawn(move || {
            let digests = weights.iter().map(|name| Ok((name.clone(), digest(files, name, stop, done)?)));
            // Nobody waits when loading failed.
            sender.send(digests.collect::<io::Result<BTreeMap<_, _>>>()).ok();
        });
        let wait = || loop {
            match receiver.recv_timeout(ASK_EVERY) {
                Ok(digests) => return Ok::<_, LoadError>(digests.ok()),
                Err(RecvTimeoutError::Disconnected) => return Ok(None),
                Err(RecvTimeoutError::Timeout) => {
                    let mib = |bytes: u64| (bytes >> 20) as usize;
                    let done = mib(done.load(Ordering::Relaxed));
                    control(Progress { stage: Stage::Digest, done, total: mib(total) })?;
                }
            }
        };
        let result = load().and_then(|loaded| Ok((loaded, wait()?)));
        stop.store(true, Ordering::Relaxed);
        let (loaded, digests) = result?;
        Ok((loaded, digests.and_then(|digests| identity(files, digests).ok())))
    })
}

/// The identity of a checkpoint whose other files were read by now.
fn identity(files: &ModelFiles, mut digests: BTreeMap<String, String>) -> io::Result<CheckpointId> {
    for name in files.names_read() {
        if let (false, Some(bytes)) = (digests.contains_key(&name), files.read(&name)) {
            digests.insert(name, sha256(&bytes?));
        }
    }
    if let Some(adapter) = files.merged() {
        for name in ADAPTER_FILES {
            if adapter.contains(name) {
                let digest = digest(adapter, name, &AtomicBool::new(false), &AtomicU64::new(0))?;
                digests.insert(format!("adapter/{name}"), digest);
            }
        }
    }
    let mut all = Sha256::default();
    for (name, digest) in &digests {
        all.update(format!("{digest}  {name}\n").as_bytes());
    }
    Ok(CheckpointId { revision: files.commit(), checksum: all.text(), files: digests })
}

/// SHA-256 of one file: that by which the hub's cache names it, or of its bytes.
fn digest(files: &ModelFiles, name: &str, stop: &AtomicBool, done: &AtomicU64) -> io::Result<String> {
    if let Some(known) = files.blob_digest(name) {
        return Ok(known);
    }
    let (mut reader, _) = files.reader_of_file(name).ok_or(io::ErrorKind::NotFound)??;
    let (mut digest, mut chunk) = (Sha256::default(), vec![0; CHUNK]);
    loop {
        if stop.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        match reader.read(&mut chunk)? {
            0 => return Ok(digest.text()),
            n => {
                digest.update(&chunk[..n]);
                done.fetch_add(n as u64, Ordering::Relaxed);
            }
        }
    }
}
