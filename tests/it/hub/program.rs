//! The program itself: killed and started again, its messages; and the window's thread.

use std::{
    fs,
    path::Path,
    process::{Command, Output, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use attnscope::{
    hub::RepoId,
    ids::JobId,
    protocol::{DownloadAnswer, EventKind, Request as Work},
    worker::{HubEngine, Worker},
};

use crate::support::{
    hub_bench::{Bench, ID, WEIGHTS, until},
    hub_server::{COMMIT, Manner, Reply, Repo},
};

/// The program itself, with the bench's server and cache.
fn attnscope(bench: &Bench, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_attnscope"));
    command
        .args(arguments)
        .env("HF_ENDPOINT", bench.hub.url())
        .env("HF_HUB_CACHE", bench.folder.path())
        .env("HF_TOKEN", "hf_secret")
        // Loopback needs no proxy, whatever the machine has.
        .env("HTTP_PROXY", "http://127.0.0.1:9")
        .env_remove("HF_HUB_OFFLINE")
        .env_remove("TRANSFORMERS_OFFLINE");
    command
}

fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

#[test]
fn a_killed_pull_goes_on_and_ends_byte_identical() {
    let bench = Bench::new(3_000_000);
    let content = bench.repo.files[WEIGHTS].clone();
    bench.storage.behave(move |request| {
        Some(Reply { manner: Manner::StallAfter(2_000_000), ..Reply::content(&content, request.from()) })
    });
    let mut killed = attnscope(&bench, &["pull", ID]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let arrived = || fs::metadata(bench.incomplete(WEIGHTS)).map_or(0, |file| file.len());
    until("two thirds of the weights", || arrived() == 2_000_000);
    // On Unix this is SIGKILL: the program learns nothing of it.
    killed.kill().unwrap();
    killed.wait().unwrap();
    bench.check_nothing_wrong_was_kept("killed");

    bench.storage.behave(|_| None);
    let output = attnscope(&bench, &["pull", ID]).output().unwrap();
    let (stdout, stderr) = texts(&output);
    assert!(output.status.success(), "{stderr}");
    assert_eq!(bench.storage_ranges(), [None, Some(2_000_000)]);
    bench.check_whole(Path::new(stdout.trim()));
    assert!(stderr.starts_with("owner/tiny: 3 files, 3.0 MB, of which 2.0 MB are here"), "{stderr}");
}

#[test]
fn the_program_pulls_lists_and_opens_a_model() {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join("fixtures").join("gpt2-bare");
    let names = ["config.json", WEIGHTS, "vocab.json", "merges.txt"];
    let files = names.map(|name| (name, fs::read(fixture.join(name)).unwrap()));
    let bench = Bench::with(Repo::new(ID, &files.each_ref().map(|(name, bytes)| (*name, bytes.as_slice()))));
    let run = |arguments: &[&str]| {
        let output = attnscope(&bench, arguments).output().unwrap();
        let (stdout, stderr) = texts(&output);
        assert!(output.status.success(), "{arguments:?}: {stderr}");
        (stdout, stderr)
    };
    let (stdout, stderr) = run(&["pull", ID]);
    assert_eq!(stdout.lines().count(), 1, "the folder and nothing else: {stdout}");
    assert_eq!(stderr.lines().count(), 1, "the sizes and, without a terminal, no bar: {stderr}");
    let (_, stderr) = run(&["pull", ID]);
    assert!(stderr.ends_with("all in the cache\n"), "{stderr}");
    let (stdout, _) = run(&["models"]);
    let line = stdout.lines().find(|line| line.starts_with(ID)).unwrap();
    assert!(line.contains("gpt2") && line.ends_with("opens"), "{line}");
    let out = bench.folder.path().join("capture.safetensors");
    for name in [ID.to_owned(), format!("{ID}@{COMMIT}")] {
        run(&["capture", "--model", &name, "--ids", "1,2,3", "--out", out.to_str().unwrap()]);
        fs::remove_file(&out).unwrap();
    }
    let output = attnscope(&bench, &["pull", ID]).env("HF_HUB_OFFLINE", "1").output().unwrap();
    let (stdout, stderr) = texts(&output);
    assert!(output.status.success() && stdout.contains(COMMIT) && stderr.contains("HF_HUB_OFFLINE"), "{stderr}");
}

#[test]
fn the_program_fails_with_one_line() {
    let bench = Bench::new(10);
    for (id, code, words) in [
        ("owner/other", 1, &["127.0.0.1 has no model owner/other", "Check the spelling"][..]),
        ("owner/tiny@no", 1, &["has no model owner/tiny@no"]),
        ("../etc", 2, &["is not the id of a model"]),
    ] {
        let output = attnscope(&bench, &["pull", id]).output().unwrap();
        let (stdout, stderr) = texts(&output);
        assert_eq!((output.status.code(), stdout.as_str(), stderr.lines().count()), (Some(code), "", 1), "{stderr}");
        for word in words {
            assert!(stderr.contains(word), "{id} does not say `{word}`: {stderr}");
        }
        assert!(!stderr.contains("hf_secret"));
    }
}

#[test]
fn the_thread_plans_downloads_and_stops_when_the_window_closes() {
    let mut bench = Bench::new(100_000);
    bench.environment.retries.silence = Duration::from_mins(1);
    let id = RepoId::parse(ID).unwrap();
    let spawn = || Worker::spawn(HubEngine::with(bench.environment.clone()), Arc::new(|| {})).unwrap();
    let mut worker = spawn();
    worker.submit(JobId(1), Work::PlanDownload(id.clone()));
    let Some(EventKind::Download(DownloadAnswer::Planned { plan, problem: None })) =
        worker.wait().map(|event| event.kind)
    else {
        panic!("no plan")
    };
    assert_eq!(plan.total_bytes(), 100_024);
    worker.submit(JobId(2), Work::Download(Arc::clone(&plan)));
    let last = std::iter::from_fn(|| worker.wait())
        .find(|event| !matches!(event.kind, EventKind::Download(DownloadAnswer::Transfer(_))))
        .unwrap();
    assert!(matches!(last.kind, EventKind::Download(DownloadAnswer::Downloaded(_))), "{last:?}");

    bench.hub.behave(|_| Some(Reply { manner: Manner::StallAfter(0), ..Reply::new(200, "{}") }));
    worker.submit(JobId(3), Work::PlanDownload(id));
    until("the question", || bench.hub.log().last().is_some_and(|request| request.is_for("blobs=true")));
    let started = Instant::now();
    drop(worker);
    assert!(started.elapsed() < Duration::from_millis(900), "{:?}", started.elapsed());
}
