//! Kill −9 in the middle of work: nothing that was on disk is lost, at most five seconds of work are, and every start
//! afterwards comes up.
//!
//! A process of its own works in a real window without a screen, on the real model: it types, splits, changes runs,
//! exports and saves its session, and says what it does before it does it; beside all that it downloads a model from a
//! slow server. It is killed at a random moment; the next one looks at what is there, takes it up and goes on.
//! `ATTNSCOPE_TEST_KILLS=100` makes it that many.

use std::{
    env, fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command as Process, Stdio},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use attnscope::{
    capture::{Ablate, Ablation, Edit},
    cli::open::OpenOptions,
    export::ExportRequest,
    ids::HeadId,
    model,
    session::{
        ChangeCommand, Command, DownloadCommand, DownloadStep, HeadStep, Left, PaneCommand, SelectionCommand,
        SessionCommand, Split, ViewKind, saved::Saved,
    },
    ui::{App, app::Startup},
    worker::{ModelEngine, SessionEngine, Workers},
};
use egui_kittest::Harness;

use crate::support::{
    desktop::ScriptedDesktop,
    hub_bench::{Bench, ID, WEIGHTS},
    hub_server::{Manner, Reply},
};

/// Where the process works.
const FOLDER: &str = "ATTNSCOPE_TEST_WORK";
/// What its choices depend on.
const SEED: &str = "ATTNSCOPE_TEST_SEED";
/// How often it is killed.
const KILLS: &str = "ATTNSCOPE_TEST_KILLS";
/// Kills in the suite.
const FEW: u64 = 2;
/// What may be lost.
const MOST_LOST: Duration = Duration::from_secs(5);
/// Bytes of the model that is downloaded: more than a process lives to see, at the speed of the server.
const MODEL_BYTES: usize = 6_000_000;
/// How it is sent: so many bytes at a time, and so many milliseconds in between.
const SLOWLY: Manner = Manner::Slowly(16_000, 40);
/// A frame of the window that is driven, in seconds.
const FRAME: f32 = 0.02;

/// Numbers that only the seed decides about.
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// The window on real workers, with its clock on time.
struct Window(Harness<'static, App>);

impl Window {
    fn open(folder: &Path) -> Self {
        let sessions = folder.join("kept");
        let harness = Harness::builder().with_size([900.0, 600.0]).with_step_dt(FRAME).build_eframe(move |cc| {
            let jobs = |wake| {
                let engine = ModelEngine::with_engine(model::Engine::cpu(Some(1)).unwrap());
                Workers::spawn(engine, None, SessionEngine::new(Some(sessions)), wake)
            };
            let options = OpenOptions { model: Some("demo:gpt".to_owned()), ..OpenOptions::default() };
            let startup = Startup::new(jobs, Box::new(ScriptedDesktop::default()), options, Instant::now()).unwrap();
            startup.attach(cc).unwrap()
        });
        Self(harness)
    }

    fn frame(&mut self) {
        let started = Instant::now();
        self.0.step();
        thread::sleep(Duration::from_secs_f32(FRAME).saturating_sub(started.elapsed()));
    }

    fn until(&mut self, what: &str, mut done: impl FnMut(&App) -> bool) {
        let started = Instant::now();
        while !done(self.0.state()) {
            assert!(started.elapsed() < Duration::from_mins(2), "waiting for {what}");
            self.frame();
        }
    }

    fn asks(&mut self, command: Command) {
        self.0.state().request(command);
        self.frame();
    }
}

/// Not a test of its own: the process that the next one kills.
#[test]
fn a_window_that_is_killed() {
    let (Some(folder), Some(seed)) = (env::var_os(FOLDER).map(PathBuf::from), env::var(SEED).ok()) else { return };
    let seed: u64 = seed.parse().unwrap();
    let mut chance = Chance(seed);
    let mut window = Window::open(&folder);
    window.until("the first run", |app| app.session().document().latest_capture().is_some());
    // What the one before left behind is offered within moments, and taken up.
    for _ in 0..100 {
        window.frame();
    }
    let left: Vec<String> = window.0.state().session().keeping.left.iter().map(Left::title).collect();
    println!("\nleft {}", left.len());
    if !left.is_empty() {
        window.asks(Command::Session(SessionCommand::Recover(0)));
        window.until("what was left", |app| !app.session().is_busy());
        println!("\nrecovered {}", window.0.state().session().keeping.notes);
    }
    // One that was killed while it took something up has left two; the newest has it all.
    while !window.0.state().session().keeping.left.is_empty() {
        window.asks(Command::Session(SessionCommand::Discard(0)));
    }
    download(&mut window);
    // Every step has a larger number than all before, those of earlier processes too.
    for step in seed * 1_000_000.. {
        // The process that kills this one listens.
        work(&mut window, &mut chance, &folder, step, |what, step| println!("\n{what} {step}"));
    }
}

/// Begins to fetch a model, or goes on where another window was killed.
fn download(window: &mut Window) {
    for command in [DownloadCommand::SetName(ID.to_owned()), DownloadCommand::LookUp] {
        window.asks(Command::Download(command));
    }
    window.until("what the model consists of", |app| match &app.session().download.step {
        DownloadStep::Failed { failure, .. } => panic!("{failure:?}"),
        step => !matches!(step, DownloadStep::Asking { .. }),
    });
    window.asks(Command::Download(DownloadCommand::Start));
}

/// Does one thing. Everything that is written down says by its number when it was done.
fn work(window: &mut Window, chance: &mut Chance, folder: &Path, step: u64, say: fn(&str, u64)) {
    let note = format!("step {step}");
    window.asks(Command::Session(SessionCommand::SetNotes(note)));
    say("done", step);
    match chance.below(8) {
        0 => {
            for length in 1..8 {
                window.asks(Command::SetText("Once upon a time there was a dog"[..4 * length].to_owned()));
            }
        }
        1 => window.asks(Command::SplitPane(if chance.below(2) == 0 { Split::Right } else { Split::Below })),
        2 => window.asks(Command::InPane(PaneCommand::Close)),
        3 => {
            let head = HeadId::single(chance.below(3) as usize, chance.below(4) as usize);
            let edit = Edit::Ablate(Ablate { head, with: Ablation::Zero });
            window.asks(Command::Change(ChangeCommand::Add(vec![edit.into()])));
        }
        4 => window.asks(Command::Change(ChangeCommand::Clear)),
        5 => {
            window.asks(Command::Session(SessionCommand::SaveTo(folder.join("work.attnscope"))));
            window.until("the file", |app| !app.session().keeping.is_busy());
            say("saved", step);
        }
        6 => {
            if let Some(figure) = window.0.state().session().figure() {
                let request = ExportRequest::Figures { figure, path: folder.join("figure.svg") };
                // As the thread of files does.
                let write = move || attnscope::export::write(&request).map(drop).unwrap_or_default();
                drop(thread::Builder::new().spawn(write).unwrap());
            }
        }
        _ => {
            window.asks(Command::Select(SelectionCommand::Step(HeadStep::NextHead)));
            window.asks(Command::Select(SelectionCommand::ShowView(if chance.below(2) == 0 {
                ViewKind::Heads
            } else {
                ViewKind::Heatmap
            })));
        }
    }
    for _ in 0..chance.below(12) {
        window.frame();
    }
}

/// What the process has said so far, with when.
#[derive(Default)]
struct Said {
    done: Vec<(u64, Instant)>,
    saved: Option<u64>,
    left: Option<usize>,
    recovered: Option<u64>,
}

fn start(folder: &Path, hub: &Bench, seed: u64) -> (Child, Arc<Mutex<Said>>) {
    let mut child = Process::new(env::current_exe().unwrap())
        .args(["--exact", "session_killed::a_window_that_is_killed", "--nocapture"])
        .envs([(FOLDER, folder.as_os_str().to_owned()), (SEED, seed.to_string().into())])
        .envs([("HF_ENDPOINT", hub.hub.url().into()), ("HF_HUB_CACHE", hub.folder.path().as_os_str().to_owned())])
        // Loopback needs no proxy, whatever the machine has.
        .env("HTTP_PROXY", "http://127.0.0.1:9")
        .env_remove("HF_HUB_OFFLINE")
        .env_remove("TRANSFORMERS_OFFLINE")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let said: Arc<Mutex<Said>> = Arc::default();
    let (lines, for_thread) = (BufReader::new(child.stdout.take().unwrap()).lines(), Arc::clone(&said));
    let listen = move || {
        for line in lines.map_while(Result::ok) {
            let mut words = line.split_whitespace();
            let (what, number) = (words.next(), words.last().and_then(|number| number.parse::<u64>().ok()));
            let mut said = for_thread.lock().unwrap_or_else(PoisonError::into_inner);
            match (what, number) {
                (Some("done"), Some(step)) => said.done.push((step, Instant::now())),
                (Some("saved"), step) => said.saved = step.or(said.saved),
                (Some("left"), Some(n)) => said.left = Some(n as usize),
                (Some("recovered"), step) => said.recovered = step,
                _ => {}
            }
        }
    };
    drop(thread::Builder::new().spawn(listen).unwrap());
    (child, said)
}

/// A hub whose large files come slowly.
fn slow_hub() -> Bench {
    let hub = Bench::new(MODEL_BYTES);
    let content = hub.repo.files[WEIGHTS].clone();
    hub.storage.behave(move |request| Some(Reply { manner: SLOWLY, ..Reply::content(&content, request.from()) }));
    hub
}

/// What was fetched is right as far as it goes, and what has the name of the whole is whole.
fn check_download(hub: &Bench, what: &str) {
    match fs::read(hub.blob(WEIGHTS)) {
        Ok(bytes) => {
            assert!(bytes == hub.repo.files[WEIGHTS], "{what}: another content has the name of the weights");
            // Once more, for whoever is killed next.
            fs::remove_dir_all(hub.model_folder()).unwrap();
        }
        Err(_) => hub.check_nothing_wrong_was_kept(what),
    }
}

/// The number in the notes of a file.
fn step_of(path: &Path) -> Option<u64> {
    let saved = Saved::from_bytes(&fs::read(path).ok()?, path.parent()?).unwrap_or_else(|error| panic!("{error}"));
    assert!(!saved.panes.is_empty());
    saved.notes.rsplit(' ').next()?.parse().ok()
}

#[test]
fn a_window_that_is_killed_loses_seconds_at_most() {
    let n_kills = env::var(KILLS).ok().and_then(|n| n.parse().ok()).unwrap_or(FEW);
    let (folder, hub) = (tempfile::tempdir().unwrap(), slow_hub());
    let mut chance = Chance(2);
    let mut expected: Option<u64> = None;
    let mut worst = Duration::ZERO;
    let mut n_recovered = 0;
    for nth in 0..n_kills {
        let (mut child, said) = start(folder.path(), &hub, nth + 1);
        let lock = || said.lock().unwrap_or_else(PoisonError::into_inner);
        let started = Instant::now();
        // It comes up, and finds what was left.
        let arrived = || fs::metadata(hub.incomplete(WEIGHTS)).is_ok_and(|file| file.len() > 0);
        while lock().done.is_empty() || !arrived() && !hub.blob(WEIGHTS).exists() {
            assert!(started.elapsed() < Duration::from_mins(2), "start {nth} does not come up");
            assert!(child.try_wait().unwrap().is_none(), "start {nth} ends by itself");
            thread::sleep(Duration::from_millis(10));
        }
        if let Some(step) = expected {
            let said = lock();
            assert_eq!((said.left, said.recovered), (Some(1), Some(step)), "start {nth}");
            n_recovered += 1;
        }
        thread::sleep(Duration::from_millis(chance.below(9_000)));
        let killed_at = Instant::now();
        child.kill().unwrap();
        child.wait().unwrap();
        thread::sleep(Duration::from_millis(50));

        let said = lock();
        let kept = fs::read_dir(folder.path().join("kept")).unwrap().map(|entry| entry.unwrap().path());
        let kept: Vec<PathBuf> = kept.filter(|path| path.extension().is_some_and(|it| it == "attnscope")).collect();
        let kept: Vec<u64> =
            kept.iter().filter(|path| !path.ends_with("last.attnscope")).filter_map(|path| step_of(path)).collect();
        // What was done more than five seconds ago is there.
        let old =
            said.done.iter().filter(|(_, at)| killed_at.duration_since(*at) > MOST_LOST).map(|(step, _)| *step).max();
        let newest = kept.iter().copied().max();
        assert!(old.is_none() || newest >= old, "kill {nth}: kept {kept:?}, done long ago {old:?}");
        if let Some(first_lost) = said.done.iter().find(|(step, _)| newest.is_none_or(|newest| *step > newest)) {
            worst = worst.max(killed_at.duration_since(first_lost.1));
        }
        // What was saved is whole, and what it said it had saved or something newer.
        let file = folder.path().join("work.attnscope");
        if said.saved.is_some() {
            assert!(step_of(&file) >= said.saved, "kill {nth}");
        }
        let figure = folder.path().join("figure.svg");
        if figure.exists() {
            assert!(fs::read_to_string(&figure).unwrap().trim_end().ends_with("</svg>"), "kill {nth}");
        }
        check_download(&hub, &format!("kill {nth}"));
        // One file is left behind: what was taken up is where it is kept now, or still where it was.
        assert!(kept.len() <= 2, "kill {nth}: {kept:?}");
        expected = if kept.len() == 1 { newest } else { None };
        if (nth + 1) % 10 == 0 {
            println!("{} kills, at most {:.1} s of work lost", nth + 1, worst.as_secs_f64());
        }
    }
    assert!(n_recovered > 0, "no start had anything to recover");
    assert!(hub.storage_ranges().iter().any(Option::is_some), "no download went on where it was");
    hub.storage.behave(|_| None);
    hub.check_whole(&hub.pull(ID).unwrap());
    println!("{n_kills} kills, {n_recovered} recoveries, at most {:.1} s of work lost", worst.as_secs_f64());
}
