//! A day of work in twenty minutes: what the window holds after eight hours of use, against what it held after the first
//! minute (budget: 1.1 times as much).
//!
//! A person who does something every ten seconds does 2,880 things in eight hours; here it is 144 a minute, drawn by a
//! seed from `support/acts.rs`, on the bundled models, in the real window with its real threads, its cache and its
//! autosave. After the first minute, then every five and at the end, the window is at rest: the example that the program
//! starts with, in one pane, one document, no corpus, nothing running, and for five seconds nobody touches anything, nor
//! moves the pointer. That state is the same each time but for what there was before it, which is what is asked about:
//! the first document and the first pane are those of the morning, with all that they remember. No run and no corpus
//! that was looked at before may still be held by anybody.
//!
//! `cargo bench --bench week -- --minutes 20 --seed 1`. Linux only, where the system says what a process holds.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot set itself up should stop")]
#![expect(clippy::print_stdout, reason = "this is what it is for")]

#[path = "support/acts.rs"]
mod acts;
#[path = "../src/allocator.rs"]
mod allocator;
#[path = "support/heap.rs"]
mod heap;
#[path = "../tests/it/support/fuzz/rng.rs"]
#[expect(dead_code, reason = "the fuzzer draws other things, too")]
mod rng;
#[path = "support/window.rs"]
mod window;

use std::{
    collections::BTreeMap,
    fs::{self, File},
    path::PathBuf,
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use acts::ACTS;
use attnscope::{
    capture::{
        Capture,
        file::{self, Contents},
    },
    cli::open::OpenOptions,
    corpus::Corpus,
    ids::CaptureId,
    session::{ChangeCommand, Command, CorpusCommand, DownloadCommand, NoticeKind, PaneCommand, SessionCommand},
    worker::give_back_by,
};
use eframe::egui::{Key, Modifiers};
use rng::Rng;
use window::Window;

#[global_allocator]
static ALLOCATOR: heap::Counted = heap::Counted;

/// Things that are done in a minute: one every ten seconds, twenty-four times as fast.
const PER_MINUTE: usize = 144;
/// Minutes from one rest to the next.
const REST_EVERY: usize = 5;
/// Frames in which nobody touches anything, until all have rested.
const REST_FRAMES: usize = 300;
/// Longer than this nothing takes that is waited for.
const MOST: Duration = Duration::from_mins(2);
/// How much more may be held in the end.
const MOST_GROWTH: f64 = 1.1;

/// The window with what is done in it.
pub struct Day {
    window: Window,
    random: Rng,
    folder: PathBuf,
    /// Runs that somebody holds, of all that were seen.
    seen: BTreeMap<CaptureId, Weak<Capture>>,
    n_seen: usize,
    corpora: Vec<Weak<Corpus>>,
    errors: BTreeMap<String, usize>,
    told: u64,
}

/// What the process holds, in megabytes.
#[derive(Clone, Copy)]
struct Held {
    /// Its own memory that is resident. Pages of the program's file are not among it: they come with the bundled models
    /// that are opened, and the system drops them when it likes.
    resident: f64,
    /// Of that, what the program asked for and has not given back.
    asked: f64,
    /// Resident pages of files.
    files: f64,
}

impl Held {
    fn now() -> Self {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let of = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim_start_matches(':').trim_end_matches("kB").trim().parse::<f64>().unwrap() * 1024.0 / 1e6
        };
        Self { resident: of("RssAnon"), asked: heap::held() as f64 / 1e6, files: of("RssFile") }
    }
}

impl Day {
    fn frames(&mut self, n: usize) {
        for _ in 0..n {
            self.window.paced_frame();
        }
    }

    fn press(&mut self, key: Key, modifiers: Modifiers) {
        self.window.harness.key_press_modifiers(modifiers, key);
        self.frames(1);
    }

    /// One of these.
    fn any(&mut self, of: impl Into<Vec<Command>>) {
        let command = self.random.pick(&of.into()).clone();
        self.window.ask(command);
    }

    /// Takes note of what there is to see.
    fn look(&mut self) {
        let session = self.window.harness.state().session();
        let captures = session.documents.iter().filter_map(|it| it.latest_capture());
        let captures: Vec<_> = captures.map(|capture| (capture.id(), Arc::downgrade(capture))).collect();
        self.n_seen += captures.iter().filter(|(id, _)| !self.seen.contains_key(id)).count();
        self.seen.extend(captures);
        // A weak one, too, holds the place of what it names.
        self.seen.retain(|_, run| run.strong_count() > 0);
        let corpora = session.documents.iter().filter_map(|it| it.corpus.as_ref()?.corpus());
        self.corpora.extend(corpora.map(Arc::downgrade));
        self.corpora.retain(|corpus| corpus.strong_count() > 0);
        for notice in session.notices.iter().filter(|notice| notice.id > self.told && notice.kind == NoticeKind::Error)
        {
            *self.errors.entry(notice.text.summary.clone()).or_default() += 1;
        }
        self.told = session.notices.last().map_or(self.told, |notice| notice.id);
    }

    /// What runs.
    fn busy(&self) -> String {
        let session = self.window.harness.state().session();
        let documents = session.documents.iter().map(|document| {
            let corpus = document.corpus.as_ref().is_some_and(|corpus| corpus.data.is_pending());
            format!("model {}, run {}, corpus {corpus}", document.model.is_pending(), document.capture.is_pending())
        });
        let panes = session.panes.iter().map(|pane| {
            let asked = pane.explanations.running().map(|(column, _)| column);
            let (planes, surveys) = (pane.projection.is_pending(), pane.surveys.is_pending());
            format!("{:?}: planes {planes}, surveys {surveys}, lab {asked:?}", pane.view)
        });
        let files = format!("{} files, session {}", session.exports_pending.len(), session.keeping.is_busy());
        documents.chain(panes).chain([files]).collect::<Vec<_>>().join("; ")
    }

    /// Waits until nothing runs.
    fn settle(&mut self) {
        let started = Instant::now();
        while self.window.harness.state().session().is_busy() {
            assert!(started.elapsed() < MOST, "something never ends: {}", self.busy());
            self.frames(1);
        }
    }

    /// Puts everything away and looks at what the program starts with; what is held then.
    fn rest(&mut self) -> Held {
        self.press(Key::Escape, Modifiers::NONE);
        for command in [
            Command::Download(DownloadCommand::Close),
            Command::Corpus(CorpusCommand::CloseSheet),
            Command::Corpus(CorpusCommand::Ask(None)),
        ] {
            self.window.ask(command);
        }
        self.frames(1);
        let session = || self.window.harness.state().session();
        let first = session().documents.iter().map(|document| document.id).min().unwrap();
        let others: Vec<_> =
            session().documents.iter().map(|document| document.id).filter(|document| *document != first).collect();
        while self.window.harness.state().session().panes.len() > 1 {
            let panes = &self.window.harness.state().session().panes;
            let oldest = panes.iter().map(|pane| pane.id).min();
            if Some(panes.active_id()) == oldest {
                self.window.ask(Command::NextPane);
                self.frames(1);
            }
            self.window.ask(Command::InPane(PaneCommand::Close));
            self.frames(1);
        }
        self.window.ask(Command::ShowDocument(first));
        for document in others {
            self.window.ask(Command::CloseDocument(document));
        }
        self.frames(1);
        for command in [
            Command::CancelAll,
            Command::Change(ChangeCommand::Clear),
            Command::Corpus(CorpusCommand::Close),
            Command::Overlay(None, None),
            Command::OpenExample(0),
            Command::Session(SessionCommand::SetNotes(String::new())),
        ] {
            self.window.ask(command);
            self.frames(1);
        }
        self.settle();
        self.window.leave_alone(REST_FRAMES);
        let session = self.window.harness.state().session();
        assert_eq!((session.panes.len(), session.documents.len(), session.document().example), (1, 1, Some(0)));
        let shown = session.document().latest_capture().map(|capture| capture.id());
        let is_held = |(id, run): &(&CaptureId, &Weak<Capture>)| Some(**id) != shown && run.strong_count() > 0;
        let runs: Vec<_> = self.seen.iter().filter(is_held).map(|(id, _)| id).collect();
        let n_corpora = self.corpora.iter().filter(|corpus| corpus.strong_count() > 0).count();
        assert!(runs.is_empty() && n_corpora == 0, "somebody holds {runs:?} and {n_corpora} corpora");
        Held::now()
    }
}

fn main() {
    // `cargo test --benches` only looks whether it starts.
    if !std::env::args().any(|arg| arg == "--bench") {
        return;
    }
    let arguments: Vec<String> = std::env::args().collect();
    let option = |name: &str, usual: usize| {
        let at = arguments.iter().position(|argument| argument == name);
        at.map_or(usual, |at| arguments[at + 1].parse().unwrap())
    };
    let (n_minutes, seed) = (option("--minutes", 20), option("--seed", 1));
    allocator::set_up();
    give_back_by(allocator::GIVE_BACK);
    let folder = tempfile::tempdir().unwrap();
    let window = Window::that_keeps(OpenOptions::default(), folder.path().to_owned());
    let mut day = Day {
        window,
        random: Rng::new("week", seed as u64),
        folder: folder.path().to_owned(),
        seen: BTreeMap::new(),
        n_seen: 0,
        corpora: Vec::new(),
        errors: BTreeMap::new(),
        told: 0,
    };
    day.window.wait(|app| app.session().document().latest_capture().is_some());
    let first = day.window.harness.state().session().document().latest_capture().unwrap().clone();
    let mut out = File::create(folder.path().join("capture.safetensors")).unwrap();
    file::write(&[&first], Contents::ALL, &mut out).unwrap();
    drop((first, out));
    day.frames(60);

    println!("{n_minutes} minutes of {PER_MINUTE} things each, seed {seed}");
    println!("minute   at work: resident, asked for [MB]   at rest: resident, asked for, of files [MB]");
    let begun = Held::now();
    let tell = |held: Held| format!("{:>17.0} {:>10.0} {:>9.0}", held.resident, held.asked, held.files);
    println!("{:>6}   {:>17} {:>15}   {}", 0, "", "", tell(begun));
    let mut done: BTreeMap<&str, usize> = BTreeMap::new();
    let bag: Vec<usize> = (0..ACTS.len()).flat_map(|idx| vec![idx; ACTS[idx].1]).collect();
    let every = Duration::from_mins(1) / PER_MINUTE as u32;
    let (started, mut rests) = (Instant::now(), Vec::new());
    for minute in 1..=n_minutes {
        let mut most = Held { resident: 0.0, asked: 0.0, files: 0.0 };
        for _ in 0..PER_MINUTE {
            let began = Instant::now();
            let (name, _, act) = ACTS[*day.random.pick(&bag)];
            act(&mut day);
            day.frames(2);
            while began.elapsed() < every {
                day.frames(1);
            }
            day.look();
            *done.entry(name).or_default() += 1;
            let held = Held::now();
            most = Held { resident: most.resident.max(held.resident), asked: most.asked.max(held.asked), ..held };
        }
        print!("{minute:>6}   {:>17.0} {:>15.0}", most.resident, most.asked);
        if minute == 1 || minute % REST_EVERY == 0 || minute == n_minutes {
            let held = day.rest();
            print!("   {}", tell(held));
            rests.push(held);
        }
        println!();
    }
    let (after_first, in_the_end) = (rests[0], rests[rests.len() - 1]);
    println!("{} things in {:.1} minutes:", n_minutes * PER_MINUTE, started.elapsed().as_secs_f64() / 60.0);
    for (name, n) in done {
        println!("  {n:>4} × {name}");
    }
    println!("{} runs were seen; told as errors:", day.n_seen);
    for (text, n) in &day.errors {
        println!("  {n:>4} × {text}");
    }
    let growth = in_the_end.resident / after_first.resident;
    println!(
        "at rest after the first minute {:.0} MB, in the end {:.0} MB: {growth:.2} times (at most {MOST_GROWTH}); \
         asked for {:.2} times",
        after_first.resident,
        in_the_end.resident,
        in_the_end.asked / after_first.asked
    );
    assert!(growth <= MOST_GROWTH, "the window grows");
}
