//! HTTP: who gets the token, which redirects are followed, what a status means.

use std::{
    io::{self, ErrorKind},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use ureq::{
    Agent, Body, Proxy, Timeout,
    http::{HeaderMap, Response, StatusCode, Uri, header},
};

use super::{
    AccessProblem, Environment, HubError, Monitor, RepoId, RetryPolicy, Token,
    address::{is_loopback, redirected, same_origin},
    trouble::Trouble,
};

/// Redirects that are followed for one request; the hub needs two.
const MAX_REDIRECTS: usize = 8;
/// What the hub says about a file itself; a redirect may hide it from the last answer.
const FACTS: [&str; 3] = ["x-linked-etag", "x-linked-size", "x-error-code"];
/// How often a waiting thread looks whether it should stop.
pub const WATCH: Duration = Duration::from_millis(40);

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HubRequest {
    /// The content from this byte on, wherever it is.
    Content { from: u64 },
    /// What the hub knows about a file. A redirect to another server is an answer, too: it means that
    /// the content lies there.
    Facts,
}

/// What was answered, with [`FACTS`] from every server on the way.
#[derive(Debug)]
pub struct HubResponse {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Body,
}

/// A connection to the hub, on behalf of one model.
#[derive(Debug)]
pub struct Client {
    id: String,
    agent: Agent,
    endpoint: Uri,
    token: Option<Token>,
    retries: RetryPolicy,
    /// A server that was never reached is not asked again and again.
    reached: AtomicBool,
}

impl Client {
    /// Connects to nobody yet.
    pub fn new(environment: &Environment, id: &RepoId) -> Result<Self, HubError> {
        let Environment { endpoint, token, retries, .. } = environment;
        let address = endpoint.parse::<Uri>().ok().filter(|uri| uri.host().is_some());
        let config = Agent::config_builder()
            .user_agent(concat!("attnscope/", env!("CARGO_PKG_VERSION")))
            .http_status_as_error(false)
            // Redirects are followed here, because the token must not follow them.
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_resolve(Some(retries.connect))
            .timeout_connect(Some(retries.connect))
            .timeout_per_read(Some(retries.silence))
            .timeout_per_write(Some(retries.silence))
            .proxy(Proxy::try_from_env())
            .build();
        Ok(Self {
            agent: config.into(),
            id: id.to_string(),
            endpoint: address.ok_or_else(|| HubError::Endpoint(endpoint.clone()))?,
            token: token.clone(),
            retries: *retries,
            reached: AtomicBool::new(false),
        })
    }

    /// Whom we ask, for messages.
    pub fn host(&self) -> String {
        self.endpoint.host().unwrap_or_default().to_owned()
    }

    /// Whether the server ever answered.
    pub fn was_reached(&self) -> bool {
        self.reached.load(Ordering::Relaxed)
    }

    /// How long to wait, and how often to try again.
    pub const fn retries(&self) -> RetryPolicy {
        self.retries
    }

    /// Runs `work`, and breaks whatever it waits for once the monitor wants to stop.
    pub fn interruptible<T>(&self, monitor: &dyn Monitor, work: impl FnOnce() -> T) -> T {
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            let watcher = thread::Builder::new().name("hub-watcher".to_owned()).spawn_scoped(scope, || {
                while !done.load(Ordering::Relaxed) {
                    if monitor.is_cancelled() {
                        self.agent.clone().shutdown();
                        return;
                    }
                    thread::park_timeout(WATCH);
                }
            });
            // Also when `work` panics; the scope waits for the watcher.
            let _done = SetWhenDropped(&done);
            let result = work();
            done.store(true, Ordering::Relaxed);
            // Without a watcher a stop takes until the next byte or the next time limit.
            if let Ok(watcher) = watcher {
                watcher.thread().unpark();
            }
            result
        })
    }

    /// Asks for `path` below the endpoint, such as `/api/models/gpt2`.
    pub fn ask(&self, path: &str, ask: HubRequest) -> Result<HubResponse, Trouble> {
        let start = format!("{}{path}", self.endpoint.to_string().trim_end_matches('/'));
        let mut uri: Uri = start.parse().map_err(|_| Trouble::Final(HubError::Endpoint(start)))?;
        let mut facts = HeaderMap::new();
        for _ in 0..=MAX_REDIRECTS {
            let response = self.send(&uri, ask).map_err(|error| self.transport_trouble(&uri, error))?;
            self.reached.store(true, Ordering::Relaxed);
            for name in FACTS {
                if let (false, Some(value)) = (facts.contains_key(name), response.headers().get(name)) {
                    facts.insert(name, value.clone());
                }
            }
            let next = match response.headers().get(header::LOCATION) {
                Some(location) if response.status().is_redirection() => {
                    let next = location.to_str().ok().and_then(|location| redirected(&uri, location));
                    next.ok_or_else(|| self.lie("a redirect that leads nowhere or out of the encryption"))?
                }
                _ => return self.judge(&uri, response, facts),
            };
            if ask == HubRequest::Facts && !same_origin(&uri, &next) {
                return self.judge(&uri, response, facts);
            }
            uri = next;
        }
        Err(self.lie("redirects without an end").into())
    }

    /// As [`Self::ask`], for a file that the server has listed.
    pub fn ask_file(&self, path: &str, name: &str, ask: HubRequest) -> Result<HubResponse, Trouble> {
        self.ask(path, ask).map_err(|trouble| match trouble {
            Trouble::Final(HubError::NotFound { .. }) => self.lie(format!("{name} is listed, but not there")).into(),
            other => other,
        })
    }

    /// The server said one thing and did another.
    pub fn lie(&self, what: impl Into<String>) -> HubError {
        HubError::Lied { host: self.host(), what: what.into() }
    }

    /// The connection broke in the middle.
    pub fn broken(&self, reason: String, progressed: bool) -> Trouble {
        Trouble::Passing { error: HubError::Broken { host: self.host(), reason }, pause: None, progressed }
    }

    /// What an error while reading an answer means.
    pub fn reading_trouble(&self, error: &io::Error, progressed: bool) -> Trouble {
        let timed_out = matches!(inner(error), Some(ureq::Error::Timeout(_))) || error.kind() == ErrorKind::TimedOut;
        let reason = if timed_out { self.silence() } else { error.to_string() };
        self.broken(reason, progressed)
    }

    fn send(&self, uri: &Uri, ask: HubRequest) -> Result<Response<Body>, ureq::Error> {
        let request = match ask {
            HubRequest::Content { from } if from > 0 => {
                self.agent.get(uri.clone()).header("range", format!("bytes={from}-"))
            }
            HubRequest::Content { .. } => self.agent.get(uri.clone()),
            HubRequest::Facts => self.agent.head(uri.clone()),
        };
        // A compressed answer would have another length than the file.
        let mut request = request.header("accept-encoding", "identity");
        // Signed addresses elsewhere need no token, and whoever answers there must not learn it.
        if let (Some(token), true) = (&self.token, same_origin(uri, &self.endpoint)) {
            request = request.header("authorization", token.header());
        }
        if is_loopback(uri) {
            request = request.config().proxy(None).build();
        }
        request.call()
    }

    fn judge(&self, uri: &Uri, response: Response<Body>, facts: HeaderMap) -> Result<HubResponse, Trouble> {
        let (parts, body) = response.into_parts();
        let (status, mut headers) = (parts.status, parts.headers);
        headers.extend(facts.into_iter().filter_map(|(name, value)| Some((name?, value))));
        if status.is_success() || status.is_redirection() || status == StatusCode::RANGE_NOT_SATISFIABLE {
            return Ok(HubResponse { status, headers, body });
        }
        let host = self.host();
        if matches!(status.as_u16(), 401 | 403) && !same_origin(uri, &self.endpoint) {
            // A signature that ran out; the hub signs a new one.
            let host = uri.host().unwrap_or_default().to_owned();
            let error = HubError::Server { host, status: status.as_u16() };
            return Err(Trouble::Passing { error, pause: None, progressed: false });
        }
        let gated = headers.get("x-error-code").is_some_and(|code| code == "GatedRepo");
        let endpoint = self.endpoint.to_string().trim_end_matches('/').to_owned();
        let access = |problem| Trouble::Final(HubError::Access { id: self.id.clone(), endpoint, problem });
        Err(match (status.as_u16(), &self.token) {
            (401 | 403, _) if gated => access(AccessProblem::Gated),
            (401 | 403, None) => access(AccessProblem::NoToken),
            (401, Some(_)) => access(AccessProblem::BadToken),
            (403, Some(_)) => access(AccessProblem::Forbidden),
            (404, _) => Trouble::Final(HubError::NotFound { id: self.id.clone(), host }),
            (408 | 429 | 500.., _) => {
                let pause = number(&headers, "retry-after").map(Duration::from_secs);
                let error = match pause {
                    Some(pause) => HubError::Busy { host, secs: pause.as_secs_f64() },
                    None => HubError::Server { host, status: status.as_u16() },
                };
                Trouble::Passing { error, pause, progressed: false }
            }
            (status, _) => Trouble::Final(HubError::Server { host, status }),
        })
    }

    fn transport_trouble(&self, uri: &Uri, error: ureq::Error) -> Trouble {
        let host = uri.host().unwrap_or_default().to_owned();
        let unreachable = |reason: String| HubError::Unreachable { host: host.clone(), reason };
        let error = match error {
            ureq::Error::Timeout(Timeout::Resolve | Timeout::Connect) => {
                unreachable(format!("no answer within {} s", self.retries.connect.as_secs_f64()))
            }
            ureq::Error::Timeout(_) => HubError::Broken { host, reason: self.silence() },
            ureq::Error::HostNotFound => unreachable("there is no server of this name".to_owned()),
            ureq::Error::Io(error) if was_connected(&error) => HubError::Broken { host, reason: error.to_string() },
            ureq::Error::Io(error) => unreachable(error.to_string()),
            ureq::Error::Tls(_) | ureq::Error::Rustls(_) => return Trouble::Final(unreachable(error.to_string())),
            other => return self.lie(other.to_string()).into(),
        };
        Trouble::Passing { error, pause: None, progressed: false }
    }

    fn silence(&self) -> String {
        format!("nothing arrived for {} s", self.retries.silence.as_secs_f64())
    }
}

struct SetWhenDropped<'a>(&'a AtomicBool);

impl Drop for SetWhenDropped<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// A header that is a number.
pub fn number(headers: &HeaderMap, name: &str) -> Option<u64> {
    headers.get(name)?.to_str().ok()?.trim().parse().ok()
}

/// Whether the answer is a web page: nothing that is asked for here is one.
pub fn is_web_page(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| kind.trim_start().to_ascii_lowercase().starts_with("text/html"))
}

fn was_connected(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::BrokenPipe
            | ErrorKind::ConnectionAborted
            | ErrorKind::ConnectionReset
            | ErrorKind::TimedOut
            | ErrorKind::UnexpectedEof
    )
}

fn inner(error: &io::Error) -> Option<&ureq::Error> {
    error.get_ref()?.downcast_ref()
}
