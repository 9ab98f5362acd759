//! What is kept of a corpus on disk: a killed job goes on, damage is computed again, and a key of everything.

use std::{
    env, fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
};

use attnscope::{
    corpus::{Corpus, list::ListOptions},
    ids::{DocumentId, JobId, ModelId},
    model,
    protocol::{CorpusAnswer, CorpusOptions, CorpusOrder, CorpusSource, EventKind, LoadAnswer, ModelSource, Request},
    worker::{ModelEngine, Worker, disk_cache::DiskCache},
};

use crate::worker::load_from;

/// Where the child keeps what it has done.
const FOLDER: &str = "ATTNSCOPE_TEST_FOLDER";

fn worker(folder: &Path, model: &str) -> Worker {
    let scratch = DiskCache::at(folder.to_owned(), 1 << 30);
    let engine = ModelEngine::with_engine(model::Engine::cpu(Some(2)).unwrap()).with_scratch(Some(scratch));
    let mut worker = Worker::spawn(engine, Arc::new(|| ())).unwrap();
    worker.submit(JobId(1), load_from(ModelSource::Bundled(model.to_owned())));
    while !matches!(worker.wait().unwrap().kind, EventKind::Load(LoadAnswer::Loaded(_))) {}
    worker
}

fn order(path: impl Into<PathBuf>) -> CorpusOrder {
    let options = CorpusOptions { pack_tokens: 300, ..CorpusOptions::default() };
    let source = CorpusSource::Path { path: path.into(), list: ListOptions::default() };
    CorpusOrder::new(DocumentId(1), ModelId(1), source, options)
}

/// The whole corpus, and how many of its inputs were there before; `told` hears of every pass.
fn run(worker: &mut Worker, order: CorpusOrder, mut told: impl FnMut()) -> (Arc<Corpus>, usize) {
    worker.submit(JobId(2), Request::Corpus(Box::new(order)));
    let mut n_recalled = 0;
    loop {
        match worker.wait().unwrap().kind {
            EventKind::Corpus(CorpusAnswer::Progress(progress)) => {
                n_recalled = progress.n_recalled;
                told();
            }
            EventKind::Corpus(CorpusAnswer::SoFar(so_far)) if so_far.is_whole => return (so_far.corpus, n_recalled),
            EventKind::Failed(failure) => panic!("{failure:?}"),
            _ => {}
        }
    }
}

fn assert_same_bytes(a: &Corpus, b: &Corpus) {
    assert_eq!(a.inputs().len(), b.inputs().len());
    for (a, b) in a.inputs().iter().zip(b.inputs()) {
        assert_eq!((a.source, &a.name, &a.info, &a.image, &a.notes), (b.source, &b.name, &b.info, &b.image, &b.notes));
    }
    for side in attnscope::ids::Side::ALL {
        for row in 0..a.n_tokens(side) {
            let token = |corpus: &Corpus| {
                let token = corpus.token(side, row).unwrap();
                (token.input, token.position, token.id, token.text.to_owned(), token.special, token.continues)
            };
            assert_eq!(token(a), token(b));
        }
    }
    for head in a.heads() {
        let [a, b] = [a, b].map(|corpus| corpus.space(head, &corpus.all()).unwrap());
        let bits =
            |matrix: &attnscope::capture::Matrix| matrix.as_slice().iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert!(bits(&a.queries) == bits(&b.queries) && bits(&a.keys) == bits(&b.keys), "{head}");
    }
}

/// Files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    let mut found: Vec<PathBuf> =
        entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect();
    found.sort();
    found
}

/// Not a test of its own: the process that the next one kills.
#[test]
fn a_process_that_is_killed() {
    if let Some(folder) = env::var_os(FOLDER) {
        let mut worker = worker(Path::new(&folder), "demo:bert");
        run(&mut worker, order("demo:sentences"), || println!("\none more pass"));
    }
}

#[test]
fn a_job_that_was_killed_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "corpus_disk::a_process_that_is_killed", "--nocapture"])
        .env(FOLDER, folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!(lines.filter(|line| line == "one more pass").take(3).count(), 3);
    child.kill().unwrap();
    child.wait().unwrap();

    let mut worker = worker(folder.path(), "demo:bert");
    let (resumed, n_recalled) = run(&mut worker, order("demo:sentences"), || ());
    assert!((10..200).contains(&n_recalled), "{n_recalled}");
    let elsewhere = tempfile::tempdir().unwrap();
    let mut other = self::worker(elsewhere.path(), "demo:bert");
    let (at_once, none) = run(&mut other, order("demo:sentences"), || ());
    assert_eq!(none, 0);
    assert_same_bytes(&resumed, &at_once);
    // The next time all of it is there.
    assert_eq!(run(&mut worker, order("demo:sentences"), || ()).1, 200);
}

#[test]
fn damaged_parts_are_computed_again_and_other_questions_have_other_parts() {
    let folder = tempfile::tempdir().unwrap();
    let list = folder.path().join("list.txt");
    let lines: Vec<String> = (0..60).map(|n| format!("The {n} cats sat on the mat and looked at the rain.")).collect();
    fs::write(&list, lines.join("\n")).unwrap();
    let kept = folder.path().join("kept");
    let mut worker = worker(&kept, "demo:gpt");
    let (whole, _) = run(&mut worker, order(&list), || ());
    let parts = files(&kept);
    assert!(parts.len() >= 3, "{parts:?}");
    // One byte of one part, half of another, and one that is no part at all.
    let mut bytes = fs::read(&parts[1]).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&parts[1], &bytes).unwrap();
    fs::write(&parts[2], &bytes[..middle]).unwrap();
    let (mended, n_recalled) = run(&mut worker, order(&list), || ());
    assert!(n_recalled > 0 && n_recalled < 60, "{n_recalled}");
    assert_same_bytes(&whole, &mended);
    assert_eq!((run(&mut worker, order(&list), || ()).1, files(&kept).len()), (60, parts.len()), "mended for good");

    // Other layers, other texts, another model.
    let mut fewer = order(&list);
    fewer.options.layers = Some(vec![0]);
    assert_eq!(run(&mut worker, fewer, || ()).1, 0);
    fs::write(&list, lines[1..].join("\n")).unwrap();
    assert_eq!(run(&mut worker, order(&list), || ()).1, 0);
    fs::write(&list, lines.join("\n")).unwrap();
    let mut other = self::worker(&kept, "demo:bert");
    assert_eq!(run(&mut other, order(&list), || ()).1, 0);
    assert_eq!(run(&mut worker, order(&list), || ()).1, 60);
}

#[test]
fn a_folder_that_cannot_be_written_stops_nothing_and_pictures_come_back_without_their_pixels() {
    let folder = tempfile::tempdir().unwrap();
    let blocked = folder.path().join("blocked");
    fs::write(&blocked, b"").unwrap();
    let (first, _) = run(&mut worker(&blocked, "demo:vit"), order("demo:pictures"), || ());
    let kept = folder.path().join("kept");
    run(&mut worker(&kept, "demo:vit"), order("demo:pictures"), || ());
    let (again, n_recalled) = run(&mut worker(&kept, "demo:vit"), order("demo:pictures"), || ());
    assert_eq!(n_recalled, 32);
    assert_same_bytes(&first, &again);
    let size: u64 = files(&kept).iter().map(|path| fs::metadata(path).unwrap().len()).sum();
    assert!(size < 2 * again.size_bytes(), "{size} of {}", again.size_bytes());
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told_and_stops_nothing() {
    use crate::support::small_disk::{SmallDisk, parts};

    let disk = match SmallDisk::mount() {
        Ok(disk) => disk,
        Err(why) => return println!("{why}"),
    };
    let list = disk.at("list.txt");
    let lines: Vec<String> = (0..60).map(|n| format!("The {n} cats sat on the mat and looked at the rain.")).collect();
    fs::write(&list, lines.join("\n")).unwrap();
    disk.fill(4);
    let kept = disk.at("kept");
    let mut worker = worker(&kept, "demo:gpt");
    worker.submit(JobId(2), Request::Corpus(Box::new(order(&list))));
    let mut told = Vec::new();
    let whole = loop {
        match worker.wait().unwrap().kind {
            EventKind::NotKept(why) => told.push(why),
            EventKind::Corpus(CorpusAnswer::SoFar(so_far)) if so_far.is_whole => break so_far.corpus,
            EventKind::Failed(failure) => panic!("{failure:?}"),
            _ => {}
        }
    };
    assert_eq!(told.len(), 1, "once: {told:?}");
    assert!(told[0].contains("No space left") && told[0].ends_with(kept.to_str().unwrap()), "{told:?}");
    assert_eq!(parts(&kept), [] as [PathBuf; 0]);
    let elsewhere = tempfile::tempdir().unwrap();
    let (at_once, _) = run(&mut self::worker(elsewhere.path(), "demo:gpt"), order(&list), || ());
    assert_same_bytes(&whole, &at_once);
    // What fitted is right, too.
    disk.empty();
    let (again, n_recalled) = run(&mut worker, order(&list), || ());
    assert!(n_recalled < 60, "{n_recalled}");
    assert_same_bytes(&whole, &again);
}
