//! Fetching, resuming, stopping, and where everything goes.

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use attnscope::hub::{self, Cache, HubError};

use crate::support::{
    hub_bench::{Bench, ID, WEIGHTS, Watch, until},
    hub_server::{COMMIT, Manner, Reply, Repo},
};

#[test]
fn a_pull_fetches_what_is_needed_into_pythons_layout() {
    let bench = Bench::new(300_000);
    let plan = bench.plan(ID).unwrap();
    let sizes: Vec<_> = plan.files.iter().map(|file| (file.name.as_str(), file.size_bytes)).collect();
    assert_eq!(sizes, [("config.json", 22), ("tokenizer.json", 2), (WEIGHTS, 300_000)]);
    assert_eq!((plan.total_bytes(), plan.missing_bytes()), (300_024, 300_024));
    assert_eq!((plan.commit.as_str(), plan.model_type.as_deref()), (COMMIT, Some("gpt2")));
    assert_eq!(bench.storage.log().len(), 0, "a plan fetches no content");
    assert_eq!(fs::read_dir(bench.folder.path()).unwrap().count(), 0, "a plan leaves nothing behind");

    let watch = Watch::default();
    let folder = hub::download(&bench.environment, &plan, &watch).unwrap();
    bench.check_whole(&folder);
    let said = watch.said.lock().unwrap();
    assert!(said.windows(2).all(|pair| pair[0].done_bytes <= pair[1].done_bytes));
    assert_eq!(said.last().map(|last| (last.done_bytes, last.total_bytes)), Some((300_024, 300_024)));
    let asked: BTreeSet<_> = bench.hub.take_log().into_iter().collect();
    for unneeded in ["README", "gitattributes", "onnx", "pytorch"] {
        assert!(!asked.iter().any(|line| line.contains(unneeded)), "{unneeded}: {asked:?}");
    }
    assert_eq!(bench.environment.cache.models(), [(ID.to_owned(), folder)]);
}

#[cfg(unix)]
#[test]
fn snapshots_are_relative_links_as_pythons_are() {
    let bench = Bench::new(10);
    let folder = bench.pull(ID).unwrap();
    let etag = Repo::etag(WEIGHTS, &bench.repo.files[WEIGHTS]);
    assert_eq!(fs::read_link(folder.join(WEIGHTS)).unwrap(), Path::new("../../blobs").join(etag));
}

#[test]
fn the_token_goes_to_the_hub_and_nowhere_else() {
    let bench = Bench::new(10);
    bench.pull(ID).unwrap();
    let of_hub = bench.hub.log();
    assert!(of_hub.len() >= 5);
    assert!(of_hub.iter().all(|request| request.header("authorization") == Some("Bearer hf_secret")));
    let of_storage = bench.storage.log();
    assert_eq!(of_storage.len(), 1);
    assert_eq!(of_storage[0].header("authorization"), None, "the storage is another server");
    assert!(of_storage[0].path.ends_with("signature=secret"), "the signed address is used as it is");
}

#[test]
fn what_is_complete_is_not_fetched_again() {
    let bench = Bench::new(1_000);
    let first = bench.pull(ID).unwrap();
    bench.hub.take_log();
    bench.storage.take_log();
    let plan = bench.plan(ID).unwrap();
    assert_eq!((plan.total_bytes(), plan.missing_bytes()), (1_024, 0));
    assert_eq!(bench.download(&plan).unwrap(), first);
    let asked = bench.hub.take_log();
    let listings = asked.iter().filter(|line| line.starts_with("GET")).count();
    assert_eq!((listings, asked.len()), (1, 1 + 3 + 2), "one list, and HEADs only: {asked:?}");
    assert_eq!(bench.storage.take_log(), [""; 0]);
}

#[test]
fn revisions_live_side_by_side() {
    let mut repo = Bench::new(100).repo;
    let other = "ffffffffffffffffffffffffffffffffffffffff";
    repo.refs.insert("v1.0".to_owned(), other.to_owned());
    let bench = Bench::with(repo);
    let main = bench.pull(ID).unwrap();
    let tagged = bench.pull("owner/tiny@v1.0").unwrap();
    assert!(tagged.ends_with(Path::new("snapshots").join(other)));
    assert_eq!(bench.storage.log().len(), 1, "the same content is fetched once");
    let models = bench.environment.cache.models();
    assert_eq!(models, [(ID.to_owned(), main.clone()), ("owner/tiny@v1.0".to_owned(), tagged)]);
    let by_commit = bench.pull(&format!("{ID}@{COMMIT}")).unwrap();
    assert_eq!(by_commit, main);
    assert_eq!(fs::read_dir(bench.model_folder().join("refs")).unwrap().count(), 2, "a commit needs no ref");
}

#[test]
fn a_download_goes_on_where_an_earlier_one_stopped() {
    let bench = Bench::new(100_000);
    bench.leave_incomplete(WEIGHTS, &bench.repo.files[WEIGHTS][..60_000]);
    let plan = bench.plan(ID).unwrap();
    assert_eq!(plan.missing_bytes(), 40_024);
    bench.check_whole(&bench.download(&plan).unwrap());
    assert_eq!(bench.storage_ranges(), [Some(60_000)]);
}

#[test]
fn what_arrived_completely_but_has_no_name_yet_is_not_fetched_again() {
    let bench = Bench::new(100_000);
    bench.leave_incomplete(WEIGHTS, &bench.repo.files[WEIGHTS]);
    bench.check_whole(&bench.pull(ID).unwrap());
    assert_eq!(bench.storage_ranges(), []);
}

#[test]
fn wrong_bytes_of_an_earlier_run_are_thrown_away() {
    for (left, ranges) in
        [(vec![7; 60_000], vec![Some(60_000), None]), (vec![7; 100_000], vec![None]), (vec![7; 200_000], vec![None])]
    {
        let bench = Bench::new(100_000);
        bench.leave_incomplete(WEIGHTS, &left);
        bench.check_whole(&bench.pull(ID).unwrap());
        assert_eq!(bench.storage_ranges(), ranges, "{} bytes were left", left.len());
    }
}

#[test]
fn a_broken_connection_is_taken_up_again() {
    let bench = Bench::new(100_000);
    let content = bench.repo.files[WEIGHTS].clone();
    let n = AtomicUsize::new(0);
    bench.storage.behave(move |request| {
        let manner = match n.fetch_add(1, Ordering::Relaxed) {
            0 => Manner::BreakAfter(30_000),
            1 => Manner::StallAfter(30_000),
            _ => Manner::Whole,
        };
        Some(Reply { manner, ..Reply::content(&content, request.from()) })
    });
    let watch = Watch::default();
    let plan = bench.plan(ID).unwrap();
    bench.check_whole(&hub::download(&bench.environment, &plan, &watch).unwrap());
    assert_eq!(bench.storage_ranges(), [None, Some(30_000), Some(60_000)]);
    let said = watch.said.lock().unwrap();
    let retries: Vec<_> = said.iter().filter_map(|transfer| transfer.retry.clone()).map(|retry| retry.why).collect();
    assert_eq!(retries.len(), 2);
    assert!(retries[0].contains("connection to 127.0.0.1 broke"), "{retries:?}");
    assert!(retries[1].contains("nothing arrived for 0.6 s"), "{retries:?}");
}

#[test]
fn a_slow_server_is_no_stalled_one() {
    let bench = Bench::new(100_000);
    let content = bench.repo.files[WEIGHTS].clone();
    bench.storage.behave(move |request| {
        Some(Reply { manner: Manner::Slowly(10_000, 80), ..Reply::content(&content, request.from()) })
    });
    bench.check_whole(&bench.pull(ID).unwrap());
    assert_eq!(bench.storage_ranges(), [None], "800 ms in all, but never 600 ms of silence");
}

#[test]
fn a_server_that_always_breaks_is_given_up_and_what_arrived_is_kept() {
    let bench = Bench::new(100_000);
    let content = bench.repo.files[WEIGHTS].clone();
    bench.storage.behave(move |request| {
        Some(Reply { manner: Manner::BreakAfter(1_000), ..Reply::content(&content, request.from()) })
    });
    let error = bench.pull(ID).unwrap_err();
    assert!(matches!(error, HubError::Broken { .. }), "{error:?}");
    assert!(error.details().contains("What has arrived is kept"));
    assert_eq!(bench.storage_ranges(), [None, Some(1_000), Some(2_000), Some(3_000)]);
    assert_eq!(fs::read(bench.incomplete(WEIGHTS)).unwrap(), bench.repo.files[WEIGHTS][..4_000]);
    bench.check_nothing_wrong_was_kept("broken");
}

#[test]
fn a_server_without_ranges_sends_everything_again() {
    let bench = Bench::new(100_000);
    bench.leave_incomplete(WEIGHTS, &bench.repo.files[WEIGHTS][..60_000]);
    let content = bench.repo.files[WEIGHTS].clone();
    bench.storage.behave(move |_| Some(Reply::content(&content, None)));
    bench.check_whole(&bench.pull(ID).unwrap());
    assert_eq!(bench.storage_ranges(), [Some(60_000)]);
}

#[test]
fn a_server_that_refuses_the_range_is_asked_for_everything() {
    let bench = Bench::new(100_000);
    bench.leave_incomplete(WEIGHTS, &bench.repo.files[WEIGHTS][..60_000]);
    bench.storage.behave(|request| request.from().map(|_| Reply::new(416, "")));
    bench.check_whole(&bench.pull(ID).unwrap());
    assert_eq!(bench.storage_ranges(), [Some(60_000), None]);
}

#[test]
fn offline_asks_nobody() {
    let mut bench = Bench::new(10);
    bench.environment.offline = true;
    let error = bench.pull(ID).unwrap_err();
    assert!(matches!(error, HubError::Offline { cached: false, .. }), "{error:?}");
    bench.environment.offline = false;
    bench.pull(ID).unwrap();
    bench.environment.offline = true;
    bench.hub.take_log();
    assert!(matches!(bench.pull(ID).unwrap_err(), HubError::Offline { cached: true, .. }));
    assert_eq!(bench.hub.take_log(), [""; 0]);
}

#[test]
fn a_stop_is_quick_even_while_nothing_arrives_and_keeps_what_did() {
    let mut bench = Bench::new(100_000);
    bench.environment.retries.silence = Duration::from_mins(1);
    let content = bench.repo.files[WEIGHTS].clone();
    bench.storage.behave(move |request| {
        Some(Reply { manner: Manner::StallAfter(70_000), ..Reply::content(&content, request.from()) })
    });
    let plan = bench.plan(ID).unwrap();
    let watch = Watch::default();
    let stopped_in = thread::scope(|scope| {
        let download = scope.spawn(|| hub::download(&bench.environment, &plan, &watch));
        let arrived = || fs::metadata(bench.incomplete(WEIGHTS)).map_or(0, |file| file.len());
        until("70,000 bytes", || arrived() == 70_000);
        watch.stop.store(true, Ordering::Relaxed);
        let started = Instant::now();
        assert!(matches!(download.join().unwrap(), Err(HubError::Cancelled)));
        started.elapsed()
    });
    assert!(stopped_in < Duration::from_secs(1), "{stopped_in:?}");
    bench.check_nothing_wrong_was_kept("stopped");
    bench.storage.behave(|_| None);
    bench.check_whole(&bench.pull(ID).unwrap());
    assert_eq!(bench.storage_ranges(), [None, Some(70_000)]);
}

#[test]
fn two_programs_do_not_write_the_same_file() {
    let bench = Bench::new(10);
    let etag = Repo::etag("config.json", &bench.repo.files["config.json"]);
    let locks = bench.folder.path().join(".locks").join("models--owner--tiny");
    fs::create_dir_all(&locks).unwrap();
    let lock = fs::File::create(locks.join(format!("{etag}.lock"))).unwrap();
    lock.lock().unwrap();
    let error = bench.pull(ID).unwrap_err();
    assert_eq!(error.to_string(), "another program is downloading config.json at the moment");
    drop(lock);
    bench.check_whole(&bench.pull(ID).unwrap());
}

#[test]
fn a_cache_that_cannot_be_written_is_named() {
    let mut bench = Bench::new(10);
    let file = bench.folder.path().join("a-file");
    fs::write(&file, "").unwrap();
    bench.environment.cache = Cache::at(file.join("hub"));
    let error = bench.pull(ID).unwrap_err();
    assert!(error.to_string().starts_with("the cache for models cannot be used"), "{error}");
    assert!(error.details().contains("HF_HOME") && error.details().contains("a-file"), "{}", error.details());
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_says_how_much_is_missing() {
    let bench = Bench::new(2_000_000);
    fs::create_dir_all(bench.model_folder().join("blobs")).unwrap();
    std::os::unix::fs::symlink("/dev/full", bench.incomplete(WEIGHTS)).unwrap();
    let error = bench.pull(ID).unwrap_err();
    assert_eq!(error.to_string(), "the disk is full: 2.0 MB are still to come");
    assert!(error.details().contains("Make room"), "{}", error.details());
    assert!(!bench.blob(WEIGHTS).exists());
}

#[cfg(target_os = "linux")]
#[test]
fn what_fitted_on_a_full_disk_is_not_fetched_again() {
    use crate::support::small_disk::SmallDisk;

    let disk = match SmallDisk::mount() {
        Ok(disk) => disk,
        Err(why) => return println!("{why}"),
    };
    let mut bench = Bench::new(600_000);
    bench.environment.cache = Cache::at(disk.at("hub"));
    disk.fill(80);
    let error = bench.pull(ID).unwrap_err();
    assert!(error.to_string().starts_with("the disk is full: "), "{error}");
    assert_eq!(bench.environment.cache.models(), [], "the model is not listed");
    disk.empty();
    let folder = bench.pull(ID).unwrap();
    assert!(fs::read(folder.join(WEIGHTS)).unwrap() == bench.repo.files[WEIGHTS]);
    let from = bench.storage_ranges().last().copied().flatten();
    assert!(from.is_some_and(|from| from > 200_000), "{from:?}");
}
