//! A hub, its storage and a cache, and what must be in the cache afterwards.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use attnscope::hub::{self, Cache, Environment, HubError, Monitor, Plan, RepoId, RetryPolicy, Token, Transfer};

use super::hub_server::{COMMIT, Repo, Request, Server, weights};

/// What every test asks for.
pub const ID: &str = "owner/tiny";
/// Its large file, which lies on the storage.
pub const WEIGHTS: &str = "model.safetensors";

/// A hub, its storage on another port, and an empty cache.
pub struct Bench {
    /// What the hub has.
    pub repo: Repo,
    /// The hub.
    pub hub: Server,
    /// Where the hub sends whoever wants weights.
    pub storage: Server,
    /// The cache.
    pub folder: tempfile::TempDir,
    /// What points at all of it, with a token and few retries.
    pub environment: Environment,
}

impl Bench {
    /// A model with a configuration, a vocabulary, `n_bytes` of weights, and files that nobody needs.
    pub fn new(n_bytes: usize) -> Self {
        Self::with(Repo::new(
            ID,
            &[
                (".gitattributes", b"* text"),
                ("README.md", b"# Tiny"),
                ("config.json", br#"{"model_type": "gpt2"}"#),
                (WEIGHTS, &weights(n_bytes)),
                ("onnx/model.safetensors", b"not this one"),
                ("pytorch_model.bin", b"nor this one"),
                ("tokenizer.json", b"{}"),
            ],
        ))
    }

    /// With another model.
    pub fn with(repo: Repo) -> Self {
        let for_storage = repo.clone();
        let storage = Server::start(Arc::new(move |request| for_storage.answer_storage(request)));
        let (for_hub, address) = (repo.clone(), storage.url());
        let hub = Server::start(Arc::new(move |request| for_hub.answer(request, &address)));
        let folder = tempfile::tempdir().unwrap();
        let environment = Environment {
            endpoint: hub.url(),
            cache: Cache::at(folder.path()),
            token: Token::parse("hf_secret"),
            offline: false,
            retries: RetryPolicy {
                connect: Duration::from_secs(2),
                silence: Duration::from_millis(600),
                n_retries: 3,
                first_pause: Duration::from_millis(2),
                longest_pause: Duration::from_millis(100),
            },
        };
        Self { repo, hub, storage, folder, environment }
    }

    /// What a download would consist of.
    pub fn plan(&self, id: &str) -> Result<Plan, HubError> {
        hub::plan(&self.environment, &RepoId::parse(id).unwrap(), &Watch::default())
    }

    /// Fetches what is missing.
    pub fn download(&self, plan: &Plan) -> Result<PathBuf, HubError> {
        hub::download(&self.environment, plan, &Watch::default())
    }

    /// Both, as the command does.
    pub fn pull(&self, id: &str) -> Result<PathBuf, HubError> {
        self.download(&self.plan(id)?)
    }

    /// The model's part of the cache.
    pub fn model_folder(&self) -> PathBuf {
        self.folder.path().join("models--owner--tiny")
    }

    /// Where a file's content goes.
    pub fn blob(&self, name: &str) -> PathBuf {
        self.model_folder().join("blobs").join(Repo::etag(name, &self.repo.files[name]))
    }

    /// Where it is while it arrives.
    pub fn incomplete(&self, name: &str) -> PathBuf {
        let mut path = self.blob(name).into_os_string();
        path.push(".incomplete");
        path.into()
    }

    /// Leaves `bytes` as an earlier run would have.
    pub fn leave_incomplete(&self, name: &str, bytes: &[u8]) {
        fs::create_dir_all(self.model_folder().join("blobs")).unwrap();
        fs::write(self.incomplete(name), bytes).unwrap();
    }

    /// Names of everything in the blobs folder.
    pub fn blobs(&self) -> BTreeSet<String> {
        let entries = fs::read_dir(self.model_folder().join("blobs")).into_iter().flatten();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
    }

    /// The wanted files and no others are in the cache, with the right bytes.
    pub fn check_whole(&self, folder: &Path) {
        let expected = ["config.json", WEIGHTS, "tokenizer.json"];
        assert_eq!(folder, self.model_folder().join("snapshots").join(COMMIT));
        let names: BTreeSet<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, expected.iter().map(Into::into).collect());
        for name in expected {
            assert!(fs::read(folder.join(name)).unwrap() == self.repo.files[name], "{name}");
        }
        assert_eq!(self.blobs(), expected.iter().map(|name| Repo::etag(name, &self.repo.files[*name])).collect());
        assert_eq!(fs::read_to_string(self.model_folder().join("refs").join("main")).unwrap(), COMMIT);
    }

    /// No content has its name, and the model is not listed.
    pub fn check_nothing_wrong_was_kept(&self, what: &str) {
        assert!(!self.blob(WEIGHTS).exists(), "{what}: the wrong content has its name in the cache");
        assert_eq!(self.environment.cache.models(), [], "{what}: the model is listed");
        if let Ok(bytes) = fs::read(self.incomplete(WEIGHTS)) {
            assert!(self.repo.files[WEIGHTS].starts_with(&bytes), "{what}: wrong bytes stay for the next attempt");
        }
    }

    /// First bytes that the storage was asked for.
    pub fn storage_ranges(&self) -> Vec<Option<usize>> {
        self.storage.log().iter().map(Request::from).collect()
    }
}

/// Listens, and stops the download when it is told to.
#[derive(Default)]
pub struct Watch {
    /// Whether to stop.
    pub stop: AtomicBool,
    /// Everything that was reported.
    pub said: Mutex<Vec<Transfer>>,
}

impl Monitor for Watch {
    fn is_cancelled(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn report(&self, transfer: &Transfer) {
        self.said.lock().unwrap().push(transfer.clone());
    }
}

/// Waits for somebody else; at most some seconds.
pub fn until(what: &str, mut done: impl FnMut() -> bool) {
    let started = Instant::now();
    while !done() {
        assert!(started.elapsed() < Duration::from_secs(10), "waiting for {what}");
        thread::sleep(Duration::from_millis(2));
    }
}
