//! A server on this machine that answers as the hub and its storage do, or as a test wants it to.

use std::{
    collections::BTreeMap,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, SHA256, digest};
use serde_json::json;

/// What was asked.
#[derive(Clone, Debug)]
pub struct Request {
    /// `GET` or `HEAD`.
    pub method: String,
    /// Path and query.
    pub path: String,
    headers: BTreeMap<String, String>,
}

impl Request {
    /// A header, by its lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }

    /// First byte of the range that was asked for.
    pub fn from(&self) -> Option<usize> {
        self.header("range")?.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok()
    }

    /// Whether a file's content is asked for.
    pub fn is_for(&self, name: &str) -> bool {
        self.method == "GET" && self.path.ends_with(name)
    }
}

/// How the body is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// At once.
    Whole,
    /// The connection breaks after this many bytes.
    BreakAfter(usize),
    /// Nothing comes after this many bytes, and the connection stays.
    StallAfter(usize),
    /// Pieces of this many bytes with a pause of this many milliseconds between them.
    Slowly(usize, u64),
}

/// What is answered.
#[derive(Clone, Debug)]
pub struct Reply {
    /// HTTP status.
    pub status: u16,
    /// Headers but for the length.
    pub headers: Vec<(String, String)>,
    /// The length that is announced; `None` for none at all.
    pub length: Option<usize>,
    /// What is sent.
    pub body: Vec<u8>,
    /// How it is sent.
    pub manner: Manner,
}

impl Reply {
    /// A body that is what it says.
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        Self { status, headers: Vec::new(), length: Some(body.len()), body, manner: Manner::Whole }
    }

    /// With one more header.
    pub fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// `content` from `from` on, as a server that knows ranges sends it.
    pub fn content(content: &[u8], from: Option<usize>) -> Self {
        match from {
            None => Self::new(200, content),
            Some(from) if from < content.len() => {
                let range = format!("bytes {from}-{}/{}", content.len() - 1, content.len());
                Self::new(206, &content[from..]).with("content-range", range)
            }
            Some(_) => Self::new(416, ""),
        }
    }
}

/// Answers requests; `None` leaves it to whoever comes next.
pub type Handler = Arc<dyn Fn(&Request) -> Option<Reply> + Send + Sync>;

/// A server on a free port; it ends when dropped.
pub struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    log: Mutex<Vec<Request>>,
    first: Mutex<Option<Handler>>,
    then: Handler,
    closed: AtomicBool,
}

impl Server {
    /// Answers with `handler`, and 404 where it does not.
    pub fn start(handler: Handler) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            log: Mutex::default(),
            first: Mutex::default(),
            then: handler,
            closed: AtomicBool::new(false),
        });
        let for_thread = Arc::clone(&shared);
        thread::Builder::new()
            .name("test-server".to_owned())
            .spawn(move || {
                for stream in listener.incoming() {
                    if for_thread.closed.load(Ordering::Relaxed) {
                        return;
                    }
                    let shared = Arc::clone(&for_thread);
                    let serve = move || serve(stream.unwrap(), &shared);
                    thread::Builder::new().name("test-connection".to_owned()).spawn(serve).unwrap();
                }
            })
            .unwrap();
        Self { address, shared }
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Asks `handler` first from now on.
    pub fn behave(&self, handler: impl Fn(&Request) -> Option<Reply> + Send + Sync + 'static) {
        *self.shared.first.lock().unwrap() = Some(Arc::new(handler));
    }

    /// Everything that was asked so far.
    pub fn log(&self) -> Vec<Request> {
        self.shared.log.lock().unwrap().clone()
    }

    /// `METHOD path` of everything that was asked since the last call.
    pub fn take_log(&self) -> Vec<String> {
        let log = std::mem::take(&mut *self.shared.log.lock().unwrap());
        log.into_iter().map(|request| format!("{} {}", request.method, request.path)).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.closed.store(true, Ordering::Relaxed);
        // Wakes the thread that waits for a connection.
        TcpStream::connect(self.address).ok();
    }
}

fn serve(stream: TcpStream, shared: &Shared) {
    let Some(request) = read(&stream) else { return };
    shared.log.lock().unwrap().push(request.clone());
    let first = shared.first.lock().unwrap().clone();
    let reply = first.and_then(|first| first(&request)).or_else(|| (shared.then)(&request));
    // The client may have gone.
    write(stream, &request, &reply.unwrap_or_else(|| Reply::new(404, "not found")), &shared.closed).ok();
}

fn read(stream: &TcpStream) -> Option<Request> {
    let mut lines = BufReader::new(stream.take(1 << 16)).lines().map_while(Result::ok);
    let first = lines.next()?;
    let mut words = first.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let headers = lines.take_while(|line| !line.is_empty()).filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        Some((name.to_ascii_lowercase(), value.trim().to_owned()))
    });
    Some(Request { method, path, headers: headers.collect() })
}

fn write(mut stream: TcpStream, request: &Request, reply: &Reply, closed: &AtomicBool) -> std::io::Result<()> {
    let mut head = format!("HTTP/1.1 {} Status\r\nconnection: close\r\n", reply.status);
    let length = reply.length.map(|length| ("content-length".to_owned(), length.to_string()));
    for (name, value) in reply.headers.iter().chain(&length) {
        head.extend([name, ": ", value, "\r\n"]);
    }
    stream.write_all((head + "\r\n").as_bytes())?;
    if request.method == "HEAD" {
        return Ok(());
    }
    match reply.manner {
        Manner::Whole => stream.write_all(&reply.body),
        Manner::BreakAfter(n) => stream.write_all(&reply.body[..n.min(reply.body.len())]),
        Manner::StallAfter(n) => {
            stream.write_all(&reply.body[..n.min(reply.body.len())])?;
            while !closed.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(5));
            }
            Ok(())
        }
        Manner::Slowly(piece, millis) => {
            for part in reply.body.chunks(piece) {
                if closed.load(Ordering::Relaxed) {
                    break;
                }
                stream.write_all(part)?;
                thread::sleep(Duration::from_millis(millis));
            }
            Ok(())
        }
    }
}

/// A model on the hub.
#[derive(Clone, Debug, Default)]
pub struct Repo {
    /// `owner/name`.
    pub id: String,
    /// Branches and tags with their commits.
    pub refs: BTreeMap<String, String>,
    /// Contents by name; those of [`Self::is_large`] lie on another server.
    pub files: BTreeMap<String, Vec<u8>>,
}

/// The commit of `main`.
pub const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

impl Repo {
    /// A model with these files on `main`.
    pub fn new(id: &str, files: &[(&str, &[u8])]) -> Self {
        Self {
            id: id.to_owned(),
            refs: BTreeMap::from([("main".to_owned(), COMMIT.to_owned())]),
            files: files.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.to_vec())).collect(),
        }
    }

    /// Whether a file lies on the other server, as the hub does it with weights.
    pub fn is_large(name: &str) -> bool {
        name.rsplit_once('.').is_some_and(|(_, ext)| ext == "safetensors" || ext == "bin")
    }

    /// The `ETag` without quotes: SHA-256 of a large file, git's blob id of a small one.
    pub fn etag(name: &str, bytes: &[u8]) -> String {
        if Self::is_large(name) { sha256(bytes) } else { git_blob(bytes) }
    }

    /// What `/api/models/ID/revision/REV` says.
    pub fn listing(&self, commit: &str) -> serde_json::Value {
        let siblings = self.files.iter().map(|(name, bytes)| {
            let mut entry = json!({ "rfilename": name, "size": bytes.len(), "blobId": git_blob(bytes) });
            if Self::is_large(name) {
                entry["lfs"] = json!({ "sha256": sha256(bytes), "size": bytes.len(), "pointerSize": 134 });
            }
            entry
        });
        let siblings: Vec<_> = siblings.collect();
        json!({ "id": self.id, "sha": commit, "siblings": siblings, "config": { "model_type": "gpt2" } })
    }

    /// The hub's answer; large files are at `storage`, small ones one redirect away.
    pub fn answer(&self, request: &Request, storage: &str) -> Option<Reply> {
        let path = request.path.split('?').next()?;
        if let Some(revision) = path.strip_prefix(&format!("/api/models/{}/revision/", self.id)) {
            let commit = self.refs.get(&revision.replace("%2F", "/")).map(String::as_str);
            let commit = commit.or_else(|| self.refs.values().any(|known| known == revision).then_some(revision))?;
            let listing = self.listing(commit).to_string();
            return Some(Reply::new(200, listing).with("content-type", "application/json"));
        }
        if let Some(file) = path.strip_prefix(&format!("/{}/resolve/", self.id)) {
            let (commit, name) = file.split_once('/')?;
            let bytes = self.files.get(name)?;
            let etag = Self::etag(name, bytes);
            let reply = Reply::new(if Self::is_large(name) { 302 } else { 307 }, "moved").with("x-repo-commit", commit);
            return Some(if Self::is_large(name) {
                reply
                    .with("x-linked-etag", format!("\"{etag}\""))
                    .with("x-linked-size", bytes.len().to_string())
                    .with("location", format!("{storage}/blobs/{etag}?signature=secret"))
            } else {
                reply.with("location", format!("/api/resolve-cache/{name}"))
            });
        }
        let name = path.strip_prefix("/api/resolve-cache/")?;
        let bytes = self.files.get(name)?;
        let etag = format!("\"{}\"", Self::etag(name, bytes));
        Some(Reply::content(bytes, request.from()).with("etag", etag).with("content-type", "text/plain"))
    }

    /// The storage's answer.
    pub fn answer_storage(&self, request: &Request) -> Option<Reply> {
        let etag = request.path.strip_prefix("/blobs/")?.split('?').next()?;
        let bytes = self.files.values().find(|bytes| sha256(bytes) == etag)?;
        Some(Reply::content(bytes, request.from()).with("etag", "\"not-a-checksum\""))
    }
}

fn sha256(bytes: &[u8]) -> String {
    hex(digest(&SHA256, bytes).as_ref())
}

fn git_blob(bytes: &[u8]) -> String {
    let blob = [format!("blob {}\0", bytes.len()).as_bytes(), bytes].concat();
    hex(digest(&SHA1_FOR_LEGACY_USE_ONLY, &blob).as_ref())
}

fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(value.into(), 16).unwrap();
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

/// Bytes that look like weights: no two places are alike.
pub fn weights(len: usize) -> Vec<u8> {
    let mut seed = 0x9e37_79b9_7f4a_7c15_u64;
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        bytes.extend_from_slice(&seed.to_le_bytes());
    }
    bytes.truncate(len);
    bytes
}
