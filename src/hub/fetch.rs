//! Fetching what a plan lists, and putting it where Python would look for it.

use std::{
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use ureq::http::{HeaderMap, StatusCode, header};

use super::{
    Environment, HubError, Monitor, Plan, PlannedFile, Transfer,
    attempts::Attempts,
    cache::RepoFolder,
    client::{Client, HubRequest, HubResponse, is_web_page, number},
    pace::Pace,
    partial::Partial,
    plan::file_path,
    trouble::Trouble,
};

const CHUNK_BYTES: usize = 256 << 10;
/// When this much arrived, a broken connection was worth having.
const PROGRESS_BYTES: u64 = 1 << 20;
const REPORT_EVERY: Duration = Duration::from_millis(100);

/// Fetches what is missing of a plan and returns the folder with the model's files.
///
/// Whatever arrived before an error stays for the next attempt, unless it is wrong.
///
/// # Errors
/// When the network or the disk fails, the server's answers are wrong, or the monitor wants to stop.
pub fn download(environment: &Environment, plan: &Plan, monitor: &dyn Monitor) -> Result<PathBuf, HubError> {
    let client = Client::new(environment, &plan.id)?;
    let mut fetch = Fetch {
        client: &client,
        repo: environment.cache.repo(&plan.id),
        plan,
        monitor,
        finished_bytes: 0,
        transfer: Transfer { total_bytes: plan.total_bytes(), ..Transfer::default() },
        pace: Pace::default(),
        reported: None,
    };
    client.interruptible(monitor, || fetch.all())?;
    let found = environment.cache.snapshot(&plan.id);
    found.ok_or_else(|| fetch.disk_error(io::ErrorKind::NotFound.into(), fetch.repo.folder().to_owned()))
}

struct Fetch<'a> {
    client: &'a Client,
    repo: RepoFolder,
    plan: &'a Plan,
    monitor: &'a dyn Monitor,
    /// Bytes of the files before the current one.
    finished_bytes: u64,
    transfer: Transfer,
    pace: Pace,
    reported: Option<Instant>,
}

impl Fetch<'_> {
    fn all(&mut self) -> Result<(), HubError> {
        let Plan { id, commit, files, .. } = self.plan;
        for file in files {
            self.transfer.file.clone_from(&file.name);
            let blob = self.repo.blob(&file.etag);
            if !is_whole(&blob, file.size_bytes) {
                self.file(file, &blob)?;
            }
            self.finished_bytes += file.size_bytes;
            self.transfer.done_bytes = self.finished_bytes;
        }
        // Only now, so that whoever looks sees the whole model or none of it.
        for file in files {
            let linked = self.repo.link(commit, &file.name, &file.etag);
            linked.map_err(|source| self.disk_error(source, self.repo.blob(&file.etag)))?;
        }
        let noted = self.repo.set_ref(id.revision(), commit);
        noted.map_err(|source| self.disk_error(source, self.repo.folder().to_owned()))?;
        self.monitor.report(&self.transfer);
        Ok(())
    }

    fn file(&mut self, file: &PlannedFile, blob: &Path) -> Result<(), HubError> {
        let path = self.repo.incomplete(&file.etag);
        let disk = |source| self.disk_error(source, path.clone());
        path.parent().map_or(Ok(()), fs::create_dir_all).map_err(disk)?;
        let _lock =
            self.repo.lock(&file.etag).map_err(disk)?.ok_or_else(|| HubError::Locked { file: file.name.clone() })?;
        if is_whole(blob, file.size_bytes) {
            // Another program has just finished it.
            return Ok(());
        }
        let go_on = || !self.monitor.is_cancelled();
        let partial = Partial::open(path.clone(), file.size_bytes, file.checksum.as_ref(), &go_on).map_err(disk)?;
        let mut partial = partial.ok_or(HubError::Cancelled)?;
        let mut attempts = Attempts::default();
        while let Err(trouble) = self.attempt(file, &mut partial) {
            let waited = attempts.wait(trouble, self.client, self.monitor, &mut self.transfer);
            self.pace.restart();
            if waited.is_err() && partial.len() == 0 {
                // An empty file would help nobody; the first error is the one to report.
                partial.discard().ok();
                return waited;
            }
            waited?;
        }
        partial.publish(blob).map_err(|source| self.disk_error(source, path))
    }

    /// One request, from the first missing byte on.
    fn attempt(&mut self, file: &PlannedFile, partial: &mut Partial) -> Result<(), Trouble> {
        self.transfer.done_bytes = self.finished_bytes + partial.len();
        if partial.len() < file.size_bytes {
            let path = file_path(&self.plan.id, &self.plan.commit, &file.name);
            let answer = self.client.ask_file(&path, &file.name, HubRequest::Content { from: partial.len() })?;
            self.check(file, partial, &answer)?;
            self.take_in(file, partial, answer)?;
        }
        if partial.is_right() {
            return Ok(());
        }
        let wrong = format!("the checksum of {} does not match its bytes", file.name);
        if partial.is_resumed() {
            return self.start_anew(partial, wrong);
        }
        partial.restart().map_err(|source| self.disk_trouble(source, file))?;
        Err(self.client.lie(wrong).into())
    }

    /// Whether the answer continues what is here; a server that ignores the range sends all of it again.
    fn check(&self, file: &PlannedFile, partial: &mut Partial, answer: &HubResponse) -> Result<(), Trouble> {
        let PlannedFile { name, size_bytes, .. } = file;
        let HubResponse { status, headers, .. } = answer;
        if is_web_page(headers) {
            return Err(self.client.lie(format!("a web page instead of {name}")).into());
        }
        match *status {
            StatusCode::OK => {
                let length = number(headers, "content-length");
                if length.is_some_and(|length| length != *size_bytes) {
                    let length = length.unwrap_or_default();
                    return Err(self.client.lie(format!("{name} has {length} bytes instead of {size_bytes}")).into());
                }
                if partial.len() > 0 {
                    partial.restart().map_err(|source| self.disk_trouble(source, file))
                } else {
                    Ok(())
                }
            }
            StatusCode::PARTIAL_CONTENT if content_range(headers) == Some((partial.len(), *size_bytes)) => Ok(()),
            StatusCode::PARTIAL_CONTENT => {
                self.start_anew(partial, format!("another part of {name} than was asked for"))
            }
            StatusCode::RANGE_NOT_SATISFIABLE => {
                let have = partial.len();
                self.start_anew(partial, format!("{name} ends before byte {have}, though it has {size_bytes} bytes"))
            }
            other => Err(self.client.lie(format!("status {other} instead of {name}")).into()),
        }
    }

    fn take_in(&mut self, file: &PlannedFile, partial: &mut Partial, answer: HubResponse) -> Result<(), Trouble> {
        let PlannedFile { name, size_bytes, .. } = file;
        let start = partial.len();
        let mut reader = answer.body.into_reader();
        let mut buffer = vec![0; CHUNK_BYTES];
        self.arrived(partial, 0);
        loop {
            if self.monitor.is_cancelled() {
                return Err(Trouble::Final(HubError::Cancelled));
            }
            let progressed = partial.len() - start >= PROGRESS_BYTES;
            let n = reader.read(&mut buffer).map_err(|error| self.client.reading_trouble(&error, progressed))?;
            if n == 0 && partial.len() < *size_bytes {
                let reason = format!("{name} ended after {} of {size_bytes} bytes", partial.len());
                return Err(self.client.broken(reason, progressed));
            }
            if n == 0 {
                return Ok(());
            }
            if partial.len() + n as u64 > *size_bytes {
                partial.restart().map_err(|source| self.disk_trouble(source, file))?;
                return Err(self.client.lie(format!("{name} goes on after its {size_bytes} bytes")).into());
            }
            let bytes = buffer.get(..n).unwrap_or_default();
            partial.append(bytes).map_err(|source| self.disk_trouble(source, file))?;
            self.arrived(partial, n as u64);
        }
    }

    /// What is here does not fit what the server says. Bytes from an earlier run may be to blame, so
    /// those are thrown away and fetched again; bytes of this run are not.
    fn start_anew(&self, partial: &mut Partial, what: String) -> Result<(), Trouble> {
        if !partial.is_resumed() {
            return Err(self.client.lie(what).into());
        }
        partial.restart().map_err(|source| self.disk_error(source, self.repo.folder().to_owned()))?;
        Err(self.client.broken(what, false))
    }

    fn arrived(&mut self, partial: &Partial, bytes: u64) {
        let now = Instant::now();
        self.pace.add(now, bytes);
        self.transfer.done_bytes = self.finished_bytes + partial.len();
        self.transfer.bytes_per_sec = self.pace.bytes_per_sec();
        if self.reported.is_none_or(|last| now.duration_since(last) >= REPORT_EVERY) {
            self.reported = Some(now);
            self.monitor.report(&self.transfer);
        }
    }

    fn disk_trouble(&self, source: io::Error, file: &PlannedFile) -> Trouble {
        Trouble::Final(self.disk_error(source, self.repo.incomplete(&file.etag)))
    }

    fn disk_error(&self, source: io::Error, path: PathBuf) -> HubError {
        let missing_bytes = self.transfer.total_bytes.saturating_sub(self.transfer.done_bytes);
        HubError::Cache { source, path, missing_bytes }
    }
}

fn is_whole(blob: &Path, size_bytes: u64) -> bool {
    fs::metadata(blob).is_ok_and(|metadata| metadata.is_file() && metadata.len() == size_bytes)
}

/// First byte and full size of `bytes FIRST-LAST/SIZE`.
fn content_range(headers: &HeaderMap) -> Option<(u64, u64)> {
    let range = headers.get(header::CONTENT_RANGE)?.to_str().ok()?.strip_prefix("bytes ")?;
    let (bytes, size) = range.split_once('/')?;
    Some((bytes.split_once('-')?.0.trim().parse().ok()?, size.trim().parse().ok()?))
}
