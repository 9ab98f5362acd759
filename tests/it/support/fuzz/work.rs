//! One process: reads input after input and tells what went wrong.

use std::{
    cell::RefCell,
    fs,
    io::{self, Seek as _, Write as _},
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind, set_hook},
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::{
    MAX_BYTES, bytes, containers,
    corpus::{Seed, Shape},
    json as json_damage, memory,
    rng::Rng,
    targets::{ROOM, TARGETS, Target},
};

/// The environment variable with what a process shall do.
pub const ORDER: &str = "ATTNSCOPE_FUZZ";
/// What stands before what a process tells, among whatever else it prints.
pub const MARK: &str = "fuzz: ";
/// The file with the seed that is being tried.
pub const PLACE: &str = "seed";
/// Exit code of a process that was stuck.
pub const HUNG: i32 = 86;
/// Nothing takes so long, however slow the machine.
const STUCK: Duration = Duration::from_mins(1);
/// A sentence is no longer than this.
const MAX_SENTENCE: usize = 1200;

/// What is asked of every input besides not to panic.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The longest that an input may take, in milliseconds; 0 where time is not looked at.
    pub ms: u64,
}

thread_local! {
    /// Where this thread panicked last, and what it said.
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Inputs that were tried.
static TRIED: AtomicU64 = AtomicU64::new(0);

/// What [`work`] reads from [`ORDER`].
pub fn order(target: &Target, seeds: &Range<u64>, limits: Limits, folder: &Path) -> String {
    json!({ "target": target.name, "start": seeds.start, "end": seeds.end, "ms": limits.ms, "folder": folder })
        .to_string()
}

/// Does what the environment orders; `false` when it orders nothing.
pub fn work(tell: &mut dyn FnMut(&str)) -> bool {
    let order: Value =
        std::env::var(ORDER).ok().and_then(|order| serde_json::from_str(&order).ok()).unwrap_or_default();
    let Some(target) = TARGETS.iter().find(|target| order["target"] == target.name) else { return false };
    let number = |key: &str| order[key].as_u64().unwrap_or_default();
    remember_panics();
    let folder = PathBuf::from(order["folder"].as_str().unwrap_or_default());
    let place = fs::File::create(folder.join(PLACE)).ok();
    let bench = Bench { target, seeds: (target.seeds)(), folder, place, limits: Limits { ms: number("ms") } };
    watch(&bench);
    let (mut n, mut accepted, mut slowest, mut largest) = (0u64, 0u64, (0f64, 0), (0usize, 0));
    for seed in number("start")..number("end") {
        let tried = bench.try_one(seed);
        TRIED.fetch_add(1, Relaxed);
        n += 1;
        accepted += u64::from(tried.accepted);
        if tried.ms > slowest.0 {
            slowest = (tried.ms, seed);
        }
        largest = largest.max((tried.bytes, seed));
        for defect in tried.defects {
            tell(&told(&json!({ "defect": defect, "seed": seed })));
        }
    }
    tell(&told(&json!({ "n": n, "accepted": accepted, "slowest": slowest, "largest": largest })));
    true
}

fn told(what: &Value) -> String {
    format!("{MARK}{what}")
}

/// Panics are noted instead of printed: those that a reader catches itself are none of ours.
fn remember_panics() {
    set_hook(Box::new(|info| {
        let place = info.location().map(|at| format!("{}:{}", tail(at.file()), at.line())).unwrap_or_default();
        let said = info.payload().downcast_ref::<&str>().map(|text| (*text).to_owned());
        let said = said.or_else(|| info.payload().downcast_ref::<String>().cloned()).unwrap_or_default();
        PANIC.set(format!("{place}: {}", without_numbers(&said)));
    }));
}

/// The last parts of a path, without where this machine keeps its sources.
fn tail(path: &str) -> &str {
    path.rmatch_indices('/').nth(2).map_or(path, |(at, _)| &path[at + 1..])
}

/// The beginning of a message, so that the same defect has the same name with other numbers.
fn without_numbers(text: &str) -> String {
    const SHOWN: usize = 90;
    let mut short = String::new();
    for c in text.chars().take(SHOWN) {
        match c {
            '0'..='9' if short.ends_with('#') => {}
            '0'..='9' => short.push('#'),
            c if c.is_control() => short.push(' '),
            c => short.push(c),
        }
    }
    short
}

/// Ends a process that is stuck, and says at which input.
fn watch(bench: &Bench) {
    let place = bench.folder.join(PLACE);
    let watch = move || {
        let mut last = (TRIED.load(Relaxed), Instant::now());
        loop {
            thread::sleep(Duration::from_millis(500));
            let now = TRIED.load(Relaxed);
            if now != last.0 {
                last = (now, Instant::now());
            } else if last.1.elapsed() > STUCK {
                let seed = fs::read_to_string(&place).ok().and_then(|seed| seed.parse::<u64>().ok());
                let stuck = json!({ "defect": format!("no end within {} s", STUCK.as_secs()), "seed": seed });
                // Whatever the process prints is read by the one that started it.
                let _ = std::io::stdout().write_all(format!("\n{}\n", told(&stuck)).as_bytes());
                process::exit(HUNG);
            }
        }
    };
    // Without it a process that is stuck stays so, and somebody notices.
    let _ = thread::Builder::new().name("watch".to_owned()).spawn(watch);
}

/// How long the threads of this process ran, in milliseconds; endless where the system does not tell (anything but
/// Linux), so that the clock decides.
fn ran_ms() -> f64 {
    let of_thread = |thread: fs::DirEntry| {
        let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<f64>().ok()
    };
    let threads: Vec<f64> =
        fs::read_dir("/proc/self/task").into_iter().flatten().flatten().filter_map(of_thread).collect();
    if threads.is_empty() { f64::INFINITY } else { threads.iter().sum::<f64>() / 1e6 }
}

/// What one input came to.
struct Tried {
    accepted: bool,
    ms: f64,
    bytes: usize,
    defects: Vec<String>,
}

struct Bench {
    target: &'static Target,
    seeds: Vec<Seed>,
    folder: PathBuf,
    /// The file with the seed that is being tried. It stays open: opening it for every input would take longer than
    /// many an input.
    place: Option<fs::File>,
    limits: Limits,
}

impl Bench {
    /// Writes down which input is tried now, for whoever finds the process dead.
    fn note(&self, seed: u64) {
        if let Some(mut place) = self.place.as_ref() {
            // As many digits every time, so that nothing of the number before is left.
            let _ = place.rewind().and_then(|()| write!(place, "{seed:020}"));
        }
    }

    fn try_one(&self, seed: u64) -> Tried {
        self.note(seed);
        let (of, broken) = input(self.target, &self.seeds, seed);
        let path = match self.place(of, &broken) {
            Ok(path) => path,
            Err(error) => {
                let defects = vec![format!("the input cannot be written: {error}")];
                return Tried { accepted: false, ms: 0.0, bytes: 0, defects };
            }
        };
        let mut tried = self.read(&path, broken.len());
        if self.limits.ms > 0 && tried.ms > self.limits.ms as f64 {
            // Another program may have had the processor.
            let before = ran_ms();
            let again = self.read(&path, broken.len());
            let ran = ran_ms() - before;
            tried.ms = tried.ms.min(again.ms).min(if ran.is_nan() { f64::INFINITY } else { ran });
            if tried.ms > self.limits.ms as f64 {
                tried.defects.push(format!("takes more than {} ms", self.limits.ms));
            }
        }
        tried
    }

    /// A folder with the files that belong to a seed, and the broken one in its place.
    fn place(&self, of: usize, broken: &[u8]) -> io::Result<PathBuf> {
        let (seed, folder) = (&self.seeds[of], self.folder.join(of.to_string()));
        if !folder.exists() {
            fs::create_dir(&folder)?;
            for entry in fs::read_dir(&seed.folder).into_iter().flatten().flatten() {
                let name = entry.file_name().to_string_lossy().into_owned();
                let is_answer = ["reference", "tokenization", "targets"].iter().any(|answer| name.starts_with(answer));
                // A checkpoint in one form is read from that one.
                let other_form = seed.shape == Shape::Torch && name.contains(".safetensors");
                if entry.path().is_file() && !is_answer && !other_form {
                    fs::copy(entry.path(), folder.join(name))?;
                }
            }
        }
        let path = folder.join(&seed.name);
        fs::write(&path, broken)?;
        Ok(path)
    }

    fn read(&self, path: &Path, n_bytes: usize) -> Tried {
        let mut defects = Vec::new();
        PANIC.take();
        memory::start();
        let started = Instant::now();
        let result = catch_unwind(AssertUnwindSafe(|| (self.target.read)(path)));
        let ms = started.elapsed().as_secs_f64() * 1e3;
        let bytes = memory::stop();
        let accepted = matches!(result, Ok(Ok(())));
        match result {
            Err(_) => defects.push(format!("panic at {}", PANIC.take())),
            Ok(Err(sentence)) => {
                let lines = sentence.contains(|c: char| c.is_control());
                if sentence.trim().is_empty() || lines || sentence.len() > MAX_SENTENCE {
                    defects.push(format!("no sentence: {}", without_numbers(&sentence)));
                }
            }
            Ok(Ok(())) => {}
        }
        let allowed = n_bytes.saturating_mul(self.target.multiple).saturating_add(ROOM).min(MAX_BYTES);
        if bytes > allowed {
            defects.push(format!("takes more than {} times its size", self.target.multiple));
        }
        Tried { accepted, ms, bytes, defects }
    }
}

/// The input of a seed: which file it was made of, and what it is now.
pub fn input(target: &Target, seeds: &[Seed], seed: u64) -> (usize, Vec<u8>) {
    let mut rng = Rng::new(target.name, seed);
    let of = rng.below(seeds.len());
    let (right, other) = (&seeds[of], &seeds[rng.below(seeds.len())]);
    let rng = &mut rng;
    let inside = !rng.one_in(5);
    let broken = match right.shape {
        Shape::Json if inside => json_damage::damaged(&right.bytes, &other.bytes, rng),
        Shape::Safetensors if inside => containers::safetensors(&right.bytes, &other.bytes, rng),
        Shape::Npy if inside => containers::npy(&right.bytes, &other.bytes, rng),
        Shape::Npz if inside => {
            containers::zip(&right.bytes, rng, |_, content, other, rng| containers::npy(content, other, rng))
        }
        Shape::Torch if inside => containers::zip(&right.bytes, rng, |name, content, other, rng| {
            if containers::is_pickle(name) {
                return containers::pickle(content, other, rng);
            }
            let mut content = content.to_vec();
            bytes::damage(&mut content, other, rng);
            content
        }),
        Shape::Protobuf if inside => containers::protobuf(&right.bytes, &other.bytes, rng),
        Shape::Picture if inside => containers::picture(&right.bytes, &other.bytes, rng),
        Shape::Gzip if inside => containers::gzip(&right.bytes, &other.bytes, rng),
        _ => {
            let mut broken = right.bytes.clone();
            bytes::damage(&mut broken, &other.bytes, rng);
            broken
        }
    };
    (of, broken)
}
