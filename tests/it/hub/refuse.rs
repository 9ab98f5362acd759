//! Servers that lie, refuse or are not there.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use attnscope::hub::{AccessProblem, HubError, Token};

use crate::support::{
    hub_bench::{Bench, ID, WEIGHTS},
    hub_server::{COMMIT, Reply, Repo, Request},
};

/// A storage that answers this for the weights, and the words that the refusal must hold.
fn check_refused_content(
    what: &str,
    words: &[&str],
    answer: impl Fn(&Request, &[u8]) -> Reply + Send + Sync + 'static,
) {
    let bench = Bench::new(50_000);
    let content = bench.repo.files[WEIGHTS].clone();
    bench.storage.behave(move |request| Some(answer(request, &content)));
    let error = bench.pull(ID).unwrap_err();
    assert!(matches!(error, HubError::Lied { .. }), "{what}: {error:?}");
    for word in words {
        assert!(error.to_string().contains(word), "{what} does not say `{word}`: {error}");
    }
    assert!(error.details().contains("Nothing wrong was kept"));
    bench.check_nothing_wrong_was_kept(what);
    // Only redirects are followed more than once, and not for ever.
    assert!(bench.storage.log().len() <= 8, "{what}: asked {} times", bench.storage.log().len());
}

#[test]
fn lying_contents_are_refused_and_leave_nothing_wrong_behind() {
    check_refused_content("other bytes", &["checksum", WEIGHTS], |_, content| {
        let mut content = content.to_vec();
        content[40_000] ^= 1;
        Reply::content(&content, None)
    });
    check_refused_content("too short, and honest about it", &["40000 bytes instead of 50000"], |_, content| {
        Reply::content(&content[..40_000], None)
    });
    check_refused_content("too long, and honest about it", &["50001 bytes instead of 50000"], |_, content| {
        Reply::content(&[content, b"!"].concat(), None)
    });
    check_refused_content("too long without saying so", &["goes on after its 50000 bytes"], |_, content| Reply {
        length: None,
        ..Reply::content(&[content, b"!"].concat(), None)
    });
    check_refused_content("a login page", &["web page instead of model.safetensors"], |_, _| {
        Reply::new(200, "<html>Log in</html>").with("content-type", "text/html; charset=utf-8")
    });
    check_refused_content("a part that nobody asked for", &["another part"], |_, content| {
        Reply::content(content, Some(100))
    });
    check_refused_content("a range beyond the end of nothing", &["ends before byte 0"], |_, _| Reply::new(416, ""));
    check_refused_content("redirects in a circle", &["redirects without an end"], |request, _| {
        Reply::new(302, "").with("location", request.path.clone())
    });
    check_refused_content("a redirect to nowhere", &["leads nowhere"], |_, _| {
        Reply::new(302, "").with("location", "file:///etc/passwd")
    });
    check_refused_content("an empty success", &["status 204"], |_, _| Reply::new(204, ""));
    check_refused_content("listed but gone", &["listed, but not there"], |_, _| Reply::new(404, ""));
}

/// A hub that answers `answer` to every HEAD or list, and the words that the refusal must hold.
fn check_refused_plan(
    what: &str,
    words: &[&str],
    answer: impl Fn(&Request, &Repo) -> Option<Reply> + Send + Sync + 'static,
) {
    let bench = Bench::new(1_000);
    let repo = bench.repo.clone();
    bench.hub.behave(move |request| answer(request, &repo));
    let error = bench.pull(ID).unwrap_err();
    let text = format!("{error}. {}", error.details());
    for word in words {
        assert!(text.contains(word), "{what} does not say `{word}`: {text}");
    }
    bench.check_nothing_wrong_was_kept(what);
    assert!(!bench.folder.path().join("evil").exists() && !bench.folder.path().join("models--evil").exists());
    assert_eq!(bench.storage.log().len(), 0, "{what}: content was fetched");
}

/// The list with one more file, or with another commit.
fn list_with(name: Option<&str>, commit: &str) -> impl Fn(&Request, &Repo) -> Option<Reply> + Send + Sync + 'static {
    let (name, commit) = (name.map(str::to_owned), commit.to_owned());
    move |request, repo| {
        let mut repo = repo.clone();
        repo.files.extend(name.clone().map(|name| (name, b"evil".to_vec())));
        request.path.starts_with("/api/models").then(|| Reply::new(200, repo.listing(&commit).to_string()))
    }
}

/// HEADs of the weights answered with these headers.
fn facts_with(headers: &[(&str, &str)]) -> impl Fn(&Request, &Repo) -> Option<Reply> + Send + Sync + 'static {
    let reply = headers.iter().fold(Reply::new(302, ""), |reply, (name, value)| reply.with(name, *value));
    let reply = reply.with("location", "http://127.0.0.2:9/x");
    move |request, _| (request.method == "HEAD" && request.path.ends_with(WEIGHTS)).then(|| reply.clone())
}

#[test]
fn names_that_lead_out_of_the_cache_are_refused() {
    for name in ["../../evil", "/tmp/evil", "..\\evil.json", "C:evil", "a/../../evil", "config.json/.."] {
        check_refused_plan(
            name,
            &["name that could lead elsewhere", "Nothing was downloaded"],
            list_with(Some(name), COMMIT),
        );
    }
    for commit in ["../../evil", "", "a/b", ".."] {
        check_refused_plan(commit, &["as the name of a commit"], list_with(None, commit));
    }
    for etag in ["\"../../evil\"", "\"\"", "\"a/b\"", "W/\"..\""] {
        let facts = facts_with(&[("x-linked-etag", etag), ("x-linked-size", "1000")]);
        check_refused_plan(etag, &["model.safetensors has no ETag"], facts);
    }
}

#[test]
fn lists_and_facts_that_make_no_sense_are_refused() {
    check_refused_plan("a login page", &["web page instead of the list", "login page or a proxy"], |_, _| {
        Some(Reply::new(200, "<html>").with("content-type", "text/html"))
    });
    check_refused_plan("garbage", &["list of files that cannot be read"], |_, _| Some(Reply::new(200, "[1, 2")));
    check_refused_plan("no ETag", &["model.safetensors has no ETag"], facts_with(&[("x-linked-size", "1000")]));
    check_refused_plan("no weights", &["no file of weights", "tf_model.h5"], |request, repo| {
        let mut repo = repo.clone();
        repo.files =
            [("config.json", "{}"), ("tf_model.h5", "x")].map(|(name, text)| (name.into(), text.into())).into();
        request.path.starts_with("/api/models").then(|| Reply::new(200, repo.listing(COMMIT).to_string()))
    });
    check_refused_plan("no configuration", &["no config.json"], |request, repo| {
        let mut repo = repo.clone();
        repo.files.remove("config.json");
        request.path.starts_with("/api/models").then(|| Reply::new(200, repo.listing(COMMIT).to_string()))
    });
    check_refused_plan("a circle", &["redirects without an end"], |request, _| {
        Some(Reply::new(307, "").with("location", request.path.clone()))
    });
}

#[test]
fn a_wrong_checksum_in_the_facts_is_found_out() {
    let bench = Bench::new(1_000);
    let (storage, wrong) = (bench.storage.url(), "0".repeat(64));
    let content = bench.repo.files[WEIGHTS].clone();
    let etag = format!("\"{wrong}\"");
    bench.hub.behave(move |request| {
        let reply = Reply::new(302, "").with("x-linked-etag", etag.clone()).with("x-linked-size", "1000");
        request.path.ends_with(WEIGHTS).then(|| reply.with("location", format!("{storage}/blobs/any")))
    });
    bench.storage.behave(move |request| Some(Reply::content(&content, request.from())));
    let error = bench.pull(ID).unwrap_err();
    assert!(error.to_string().contains("checksum"), "{error}");
    assert!(!bench.blobs().iter().any(|name| name.starts_with(&wrong)), "{:?}", bench.blobs());
}

#[test]
fn an_etag_that_is_no_checksum_is_taken_with_the_listed_one() {
    for (flip, succeeds) in [(0, true), (1, false)] {
        let bench = Bench::new(1_000);
        let storage = bench.storage.url();
        bench.hub.behave(move |request| {
            let reply = Reply::new(302, "").with("x-linked-etag", "\"v7\"").with("x-linked-size", "1000");
            request.path.ends_with(WEIGHTS).then(|| reply.with("location", format!("{storage}/blobs/any")))
        });
        let mut content = bench.repo.files[WEIGHTS].clone();
        content[500] ^= flip;
        bench.storage.behave(move |request| Some(Reply::content(&content, request.from())));
        assert_eq!(bench.pull(ID).is_ok(), succeeds);
        assert_eq!(bench.blobs().contains("v7"), succeeds);
    }
}

/// A hub that answers `reply` to everything: what comes out, and how often it was asked.
fn refusal(token: Option<&str>, reply: Reply) -> (HubError, usize) {
    let mut bench = Bench::new(10);
    bench.environment.token = token.and_then(Token::parse);
    bench.hub.behave(move |_| Some(reply.clone()));
    (bench.pull(ID).unwrap_err(), bench.hub.log().len())
}

#[test]
fn every_refusal_has_its_own_sentence() {
    let gated = |status| Reply::new(status, "").with("x-error-code", "GatedRepo");
    for (token, reply, expected, words) in [
        (None, Reply::new(401, ""), Some(AccessProblem::NoToken), "HF_TOKEN"),
        (Some("hf_old"), Reply::new(401, ""), Some(AccessProblem::BadToken), "Make a new one"),
        (Some("hf_x"), Reply::new(403, ""), Some(AccessProblem::Forbidden), "Give it the right"),
        (None, gated(401), Some(AccessProblem::Gated), "Accept them at"),
        (Some("hf_x"), gated(403), Some(AccessProblem::Gated), "Accept them at"),
        (None, Reply::new(404, ""), None, "Check the spelling"),
    ] {
        let (error, n_asked) = refusal(token, reply);
        match (&error, expected) {
            (HubError::Access { problem, .. }, Some(expected)) => assert_eq!(*problem, expected),
            (HubError::NotFound { id, .. }, None) => assert_eq!(id, ID),
            _ => panic!("{error:?} instead of {expected:?}"),
        }
        assert!(error.details().contains(words), "{}", error.details());
        assert!(!format!("{error} {} {error:?}", error.details()).contains("hf_x"), "the token is shown");
        assert_eq!(n_asked, 1, "{error}: asking again would not help");
    }
}

#[test]
fn busy_servers_are_asked_again_but_not_for_ever() {
    let (error, n_asked) = refusal(None, Reply::new(503, ""));
    assert!(matches!(error, HubError::Server { status: 503, .. }), "{error:?}");
    assert_eq!(n_asked, 4, "once, and three times again");

    let (error, n_asked) = refusal(None, Reply::new(429, "").with("retry-after", "3600"));
    assert_eq!((error.to_string().as_str(), n_asked), ("127.0.0.1 asks to come back in 60 min", 1));

    let bench = Bench::new(1_000);
    let n = AtomicUsize::new(0);
    bench.hub.behave(move |_| match n.fetch_add(1, Ordering::Relaxed) {
        0 => Some(Reply::new(429, "").with("retry-after", "0")),
        1 => Some(Reply::new(500, "")),
        _ => None,
    });
    bench.check_whole(&bench.pull(ID).unwrap());
}

#[test]
fn a_server_that_is_not_there_is_reported_at_once() {
    let mut bench = Bench::new(10);
    // A port that was free a moment ago.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    bench.environment.endpoint = format!("http://127.0.0.1:{port}");
    bench.environment.retries.first_pause = Duration::from_mins(1);
    let started = Instant::now();
    let error = bench.pull(ID).unwrap_err();
    assert!(matches!(error, HubError::Unreachable { .. }), "{error:?}");
    assert!(error.details().contains("in the cache already open without it"));
    assert!(started.elapsed() < Duration::from_secs(5), "it does not try again for minutes");
}
