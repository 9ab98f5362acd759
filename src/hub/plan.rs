//! Before anything is fetched: which files, how large, and how much of them is here already.

use std::{collections::BTreeSet, io::Read as _};

use serde::Deserialize;
use ureq::http::{HeaderMap, StatusCode};

use super::{
    Environment, HubError, Monitor, RepoId, Transfer,
    address::encoded,
    attempts::Attempts,
    checksum::Checksum,
    client::{Client, HubRequest, HubResponse, is_web_page, number},
    id::is_plain,
    needed::{is_hostile, needed},
    trouble::Trouble,
};

/// Longest list of files that is read, in bytes; the hub's largest models stay far below.
const MAX_LISTING_BYTES: u64 = 16 << 20;
/// Longest `ETag` that is taken for a file's name.
const MAX_ETAG: usize = 128;
/// File names that an error lists.
const MAX_NAMES: usize = 5;

/// What a download consists of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub id: RepoId,
    /// What its revision means at present.
    pub commit: String,
    /// `model_type` of its configuration, if the server tells.
    pub model_type: Option<String>,
    /// What is fetched, in this order.
    pub files: Vec<PlannedFile>,
}

/// One file of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedFile {
    /// Its name; no path.
    pub name: String,
    pub size_bytes: u64,
    /// Bytes of it that were here when the plan was made.
    pub have_bytes: u64,
    /// Its name among the blobs.
    pub(super) etag: String,
    pub(super) checksum: Option<Checksum>,
}

impl Plan {
    /// Bytes of all files.
    pub fn total_bytes(&self) -> u64 {
        self.files.iter().fold(0, |sum, file| sum.saturating_add(file.size_bytes))
    }

    /// Bytes that were not here when the plan was made.
    pub fn missing_bytes(&self) -> u64 {
        self.files.iter().fold(0, |sum, file| sum.saturating_add(file.size_bytes - file.have_bytes))
    }
}

#[derive(Debug, Deserialize)]
struct Listing {
    sha: String,
    #[serde(default)]
    siblings: Vec<Sibling>,
    #[serde(default)]
    config: Option<ConfigFacts>,
}

#[derive(Debug, Deserialize)]
struct ConfigFacts {
    model_type: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Sibling {
    rfilename: String,
    size: Option<u64>,
    lfs: Option<LargeFile>,
}

#[derive(Debug, Deserialize)]
struct LargeFile {
    sha256: Option<String>,
    size: Option<u64>,
}

/// Asks the server what a download of `id` would consist of. Fetches no file.
///
/// # Errors
/// When the network is forbidden or fails, the model does not exist or is not for us, or the server's
/// answers cannot be trusted.
pub fn plan(environment: &Environment, id: &RepoId, monitor: &dyn Monitor) -> Result<Plan, HubError> {
    if environment.offline {
        let cached = environment.cache.snapshot(id).is_some();
        return Err(HubError::Offline { id: id.to_string(), cached });
    }
    let client = Client::new(environment, id)?;
    let planner = Planner { client: &client, id, monitor };
    let mut plan = client.interruptible(monitor, || planner.plan())?;
    let repo = environment.cache.repo(id);
    for file in &mut plan.files {
        file.have_bytes = repo.have_bytes(&file.etag, file.size_bytes);
    }
    Ok(plan)
}

struct Planner<'a> {
    client: &'a Client,
    id: &'a RepoId,
    monitor: &'a dyn Monitor,
}

impl Planner<'_> {
    fn plan(&self) -> Result<Plan, HubError> {
        let Listing { sha: commit, siblings, config } = self.listing()?;
        let hostile = siblings.iter().find(|file| is_hostile(&file.rfilename));
        if let Some(Sibling { rfilename, .. }) = hostile {
            return Err(HubError::HostileName { id: self.id.to_string(), name: rfilename.clone() });
        }
        let names: BTreeSet<&str> = siblings.iter().map(|file| file.rfilename.as_str()).collect();
        let names: Vec<&str> = names.into_iter().collect();
        let lacks = |missing| {
            let rest = names.len().saturating_sub(MAX_NAMES);
            let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
            let listed = if names.is_empty() { "nothing".to_owned() } else { names[..names.len() - rest].join(", ") };
            HubError::NotAModel { id: self.id.to_string(), missing, found: format!("{listed}{more}") }
        };
        let needed = needed(&names).ok_or_else(|| lacks("file of weights"))?;
        if !needed.contains(&"config.json") {
            return Err(lacks("config.json"));
        }
        let files = needed.into_iter().filter_map(|name| siblings.iter().find(|file| file.rfilename == name));
        let files = files.map(|file| self.facts(&commit, file)).collect::<Result<_, _>>()?;
        Ok(Plan { id: self.id.clone(), commit, model_type: config.and_then(|config| config.model_type), files })
    }

    fn listing(&self) -> Result<Listing, HubError> {
        let path = format!("/api/models/{}/revision/{}?blobs=true", self.id.name(), encoded(self.id.revision()));
        self.persistently(|| {
            let HubResponse { headers, body, .. } = self.client.ask(&path, HubRequest::Content { from: 0 })?;
            if is_web_page(&headers) {
                return Err(self.client.lie("a web page instead of the list of files").into());
            }
            let mut text = Vec::new();
            let read = body.into_reader().take(MAX_LISTING_BYTES + 1).read_to_end(&mut text);
            read.map_err(|error| self.client.reading_trouble(&error, false))?;
            if text.len() as u64 > MAX_LISTING_BYTES {
                return Err(self.client.lie("a list of files longer than any model has").into());
            }
            let listing: Listing = serde_json::from_slice(&text)
                .map_err(|error| self.client.lie(format!("a list of files that cannot be read ({error})")))?;
            if !is_plain(&listing.sha) {
                return Err(self.client.lie(format!("{:?} as the name of a commit", listing.sha)).into());
            }
            Ok(listing)
        })
    }

    /// What the server says about one file: its size and its content's name.
    fn facts(&self, commit: &str, file: &Sibling) -> Result<PlannedFile, HubError> {
        let Sibling { rfilename: name, size, lfs } = file;
        let path = file_path(self.id, commit, name);
        let answer = self.persistently(|| self.client.ask_file(&path, name, HubRequest::Facts))?;
        let HubResponse { status, headers, .. } = answer;
        let Some(etag) = etag(&headers) else {
            return Err(self.client.lie(format!("{name} has no ETag that could name its content")));
        };
        // A redirect has a length of its own.
        let own_length = if status == StatusCode::OK { number(&headers, "content-length") } else { None };
        let listed = lfs.as_ref().and_then(|lfs| lfs.size).or(*size);
        let Some(size_bytes) = number(&headers, "x-linked-size").or(listed).or(own_length) else {
            return Err(self.client.lie(format!("{name} has no size")));
        };
        let from_listing = || Checksum::from_etag(lfs.as_ref()?.sha256.as_deref()?);
        let checksum = Checksum::from_etag(&etag).or_else(from_listing);
        Ok(PlannedFile { name: name.clone(), size_bytes, have_bytes: 0, etag, checksum })
    }

    fn persistently<T>(&self, attempt: impl Fn() -> Result<T, Trouble>) -> Result<T, HubError> {
        let mut attempts = Attempts::default();
        loop {
            match attempt() {
                Ok(value) => return Ok(value),
                Err(trouble) => attempts.wait(trouble, self.client, self.monitor, &mut Transfer::default())?,
            }
        }
    }
}

/// Where a file's content is asked for.
pub fn file_path(id: &RepoId, commit: &str, name: &str) -> String {
    format!("/{}/resolve/{}/{}", id.name(), encoded(commit), encoded(name))
}

/// The name of a content, without the marks around it; `None` when it could not be a file's name.
fn etag(headers: &HeaderMap) -> Option<String> {
    let header = headers.get("x-linked-etag").or_else(|| headers.get("etag"))?.to_str().ok()?;
    let etag = header.strip_prefix("W/").unwrap_or(header).trim_matches('"');
    (is_plain(etag) && etag.len() <= MAX_ETAG).then(|| etag.to_owned())
}
