//! What is kept of windows on disk: by two of them at once, in folders that cannot be written, after kills.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use attnscope::{
    ids::JobId,
    protocol::{EventKind, Failure, LeftBehind, Request, SessionAnswer, SessionRequest},
    worker::{SessionEngine, Worker},
};
use serde_json::{Value, json};

/// A window as the files know it. Dropping it is what a kill is: nobody says goodbye.
struct Window(Worker);

impl Window {
    fn at(folder: &Path) -> Self {
        Self(Worker::spawn(SessionEngine::new(Some(folder.to_owned())), Arc::new(|| ())).unwrap())
    }

    fn asks(&mut self, request: SessionRequest) -> Result<SessionAnswer, Failure> {
        self.0.submit(JobId(1), Request::Session(request));
        match self.0.wait().unwrap().kind {
            EventKind::Session(answer) => Ok(*answer),
            EventKind::Failed(failure) => Err(failure),
            other => panic!("{other:?}"),
        }
    }

    fn begins(&mut self) -> (Vec<LeftBehind>, Option<PathBuf>) {
        match self.asks(SessionRequest::Begin) {
            Ok(SessionAnswer::Begun(left, last)) => (left, last),
            other => panic!("{other:?}"),
        }
    }

    /// The same, once that many are there: a process that another test starts holds every lock for a moment, until it
    /// has become another program.
    fn begins_with(&mut self, n_left: usize) -> (Vec<LeftBehind>, Option<PathBuf>) {
        for _ in 0..100 {
            let (left, last) = self.begins();
            if left.len() == n_left {
                return (left, last);
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        self.begins()
    }

    fn keeps(&mut self, text: &str, instead_of: Option<u64>) {
        let kept = self.asks(SessionRequest::Keep(shown(text), instead_of));
        assert!(matches!(kept, Ok(SessionAnswer::Done)), "{kept:?}");
    }

    fn writes(&mut self, path: &Path, text: &str, replaces: Option<String>) -> Result<SessionAnswer, Failure> {
        self.asks(SessionRequest::Write { path: path.to_owned(), json: shown(text), replaces })
    }
}

fn shown(text: &str) -> Arc<Value> {
    Arc::new(json!({ "format": "attnscope-session", "version": 1, "documents": [{ "text": text }] }))
}

fn texts(left: &[LeftBehind]) -> Vec<&str> {
    left.iter().filter_map(|left| left.json["documents"][0]["text"].as_str()).collect()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_window_that_was_killed_leaves_its_work_and_one_that_was_closed_does_not() {
    let folder = tempfile::tempdir().unwrap();
    let folder = &folder.path().join("made").join("anew");
    let mut first = Window::at(folder);
    assert_eq!(first.begins(), (vec![], None));
    first.keeps("of the first", None);
    let mut second = Window::at(folder);
    assert_eq!(second.begins(), (vec![], None), "a window that lives has left nothing behind");
    second.keeps("of the second", None);
    first.keeps("of the first, later", None);
    assert_eq!(
        names(folder).iter().filter(|name| name.ends_with("attnscope")).count(),
        2,
        "each has a file of its own"
    );
    drop((first, second));

    let mut third = Window::at(folder);
    let (left, last) = third.begins_with(2);
    assert_eq!((texts(&left).len(), last), (2, None));
    // While one window has what was left behind, another is not offered the same.
    let mut fourth = Window::at(folder);
    assert_eq!(fourth.begins().0, []);
    // What is taken up stays until it is kept elsewhere; what is thrown away does not.
    let taken = left.iter().find(|left| texts(&[(*left).clone()]) == ["of the second"]).unwrap();
    third.keeps("of the second, taken up", Some(taken.number));
    drop((third, fourth));
    let mut fifth = Window::at(folder);
    let (left, _) = fifth.begins();
    let mut there = texts(&left);
    there.sort_unstable();
    assert_eq!(there, ["of the first, later", "of the second, taken up"]);
    for left in &left {
        fifth.asks(SessionRequest::Discard(left.number)).unwrap();
    }
    fifth.keeps("of the fifth", None);
    fifth.asks(SessionRequest::SetAside { json: Some(shown("of the fifth, at its end")), is_end: true }).unwrap();
    drop(fifth);

    let mut sixth = Window::at(folder);
    let (left, last) = sixth.begins();
    assert_eq!(left, [], "a window that was closed left nothing to recover");
    let SessionAnswer::Read { json, is_kept: true, .. } = sixth.asks(SessionRequest::Read(last.unwrap())).unwrap()
    else {
        panic!("it is one of those that are kept");
    };
    assert_eq!(json["documents"][0]["text"], "of the fifth, at its end", "and can be had again all the same");
}

#[test]
fn damaged_work_is_no_reason_not_to_start() {
    let folder = tempfile::tempdir().unwrap();
    for (number, bytes) in [&b"{\"format\":"[..], b"", b"\0\0\0", &[b'['; 5000]].into_iter().enumerate() {
        fs::write(folder.path().join(format!("window-{number}.attnscope")), bytes).unwrap();
    }
    fs::write(folder.path().join("window-7.lock"), b"").unwrap();
    fs::create_dir(folder.path().join("window-9.attnscope")).unwrap();
    let mut window = Window::at(folder.path());
    assert_eq!(window.begins().0, []);
    window.keeps("works", None);
    drop(window);
    assert_eq!(texts(&Window::at(folder.path()).begins().0), ["works"]);
}

#[test]
fn two_windows_on_one_file_do_not_write_over_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let (kept, file) = (folder.path().join("kept"), folder.path().join("a.attnscope"));
    let [mut first, mut second] = [Window::at(&kept), Window::at(&kept)];
    let SessionAnswer::Written { checksum, .. } = first.writes(&file, "one", None).unwrap() else { panic!() };
    let SessionAnswer::Read { checksum: read, is_kept: false, .. } =
        second.asks(SessionRequest::Read(file.clone())).unwrap()
    else {
        panic!()
    };
    assert_eq!(read, checksum);
    let SessionAnswer::Written { .. } = first.writes(&file, "two", Some(checksum)).unwrap() else { panic!() };
    let answer = second.writes(&file, "three", Some(read.clone())).unwrap();
    assert!(matches!(answer, SessionAnswer::ChangedElsewhere(_)), "{answer:?}");
    assert!(fs::read_to_string(&file).unwrap().contains("two"));
    // Under a name that was chosen it is written whatever is there, and a file that is gone is written again.
    second.writes(&file, "three", None).unwrap();
    fs::remove_file(&file).unwrap();
    let answer = first.writes(&file, "four", Some(read)).unwrap();
    assert!(matches!(answer, SessionAnswer::Written { .. }), "{answer:?}");
}

#[test]
fn what_cannot_be_read_or_written_is_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("file"), b"").unwrap();
    fs::write(at("large"), vec![b' '; (8 << 20) + 1]).unwrap();
    fs::write(at("cut"), br#"{"format":"attnscope-session","vers"#).unwrap();
    let mut window = Window::at(&at("file"));
    let says = |failure: Failure| format!("{} {}", failure.summary, failure.details);
    // The folder is a file: nothing can be kept there, and files elsewhere are written as ever.
    assert!(window.asks(SessionRequest::Begin).is_err());
    assert!(window.asks(SessionRequest::Keep(shown("a"), None)).is_err());
    assert!(window.writes(&at("a.attnscope"), "a", None).is_ok());
    for (request, why) in [
        (SessionRequest::Read(at("missing")), "no such file"),
        (SessionRequest::Read(folder.path().to_owned()), "a folder or a device"),
        (SessionRequest::Read(at("large")), "larger than 8 MB"),
        (SessionRequest::Read(at("cut")), "ends in the middle"),
        (SessionRequest::Write { path: at("no/folder"), json: shown("a"), replaces: None }, "folder does not exist"),
        (
            SessionRequest::Write { path: at("b"), json: shown(&"a".repeat(9 << 20)), replaces: None },
            "larger than 8 MB",
        ),
    ] {
        let failure = says(window.asks(request).unwrap_err());
        assert!(failure.contains(why), "{why}: {failure}");
    }
    #[cfg(target_os = "linux")]
    for (request, why) in [
        (SessionRequest::Read("/dev/zero".into()), "a device"),
        (SessionRequest::Write { path: "/dev/null".into(), json: shown("a"), replaces: None }, "a device"),
    ] {
        assert!(says(window.asks(request).unwrap_err()).contains(why));
    }
    assert!(!at("b").exists() && names(folder.path()).iter().all(|name| !name.contains(".part")));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_loses_nothing_that_was_kept_or_saved() {
    use crate::support::small_disk::{SmallDisk, parts};

    let disk = match SmallDisk::mount() {
        Ok(disk) => disk,
        Err(why) => return println!("{why}"),
    };
    let (kept, file) = (disk.at("kept"), disk.at("work.attnscope"));
    let mut window = Window::at(&kept);
    window.begins();
    window.keeps("before", None);
    window.writes(&file, "before", None).unwrap();
    window.asks(SessionRequest::SetAside { json: Some(shown("last")), is_end: false }).unwrap();
    disk.fill(2);
    let long = "a word ".repeat(10_000);
    for request in [
        SessionRequest::Keep(shown(&long), None),
        SessionRequest::Write { path: file.clone(), json: shown(&long), replaces: None },
        SessionRequest::SetAside { json: Some(shown(&long)), is_end: false },
    ] {
        let failure = window.asks(request).unwrap_err();
        assert!(failure.summary.starts_with("The disk is full; free some space"), "{failure:?}");
        assert_eq!(parts(&disk.at("")), [] as [PathBuf; 0]);
    }
    // Another window finds what was kept last, whole.
    drop(window);
    let mut next = Window::at(&kept);
    let (left, last) = next.begins_with(1);
    assert_eq!((texts(&left), last), (vec!["before"], Some(kept.join("last.attnscope"))));
    for (path, text) in [(&file, "before"), (&kept.join("last.attnscope"), "last")] {
        assert!(fs::read_to_string(path).unwrap().contains(text), "{}", path.display());
    }
    disk.empty();
    next.keeps(&long, Some(left[0].number));
    next.writes(&file, &long, None).unwrap();
    assert!(fs::read_to_string(&file).unwrap().contains(&long));
}
