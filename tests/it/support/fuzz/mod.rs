//! Fuzzing inside the process: every reader is given files that are right but for some damage. Each input follows
//! from its target and its seed alone. A panic, a sentence that is none, too much memory and too long a time are
//! found, and so is the end of the process: targets run in processes of their own.

#![allow(dead_code, reason = "the benchmark and the test use a part each")]

mod beside;
mod bytes;
mod containers;
mod corpus;
mod heads;
mod json;
pub mod memory;
mod rng;
mod sessions;
mod targets;
mod work;

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead as _, BufReader},
    ops::Range,
    path::Path,
    process::{Command, Stdio},
    thread,
};

use serde_json::Value;

pub use targets::{TARGETS, Target};
pub use work::{Limits, work};

/// The most that any reader may take for any file.
pub const MAX_BYTES: usize = 1 << 30;

/// What came of many inputs of a target.
#[derive(Debug, Default)]
pub struct Outcome {
    pub n_inputs: u64,
    /// Read without complaint, in spite of the damage.
    pub n_accepted: u64,
    /// The longest that one took, in milliseconds, and its seed.
    pub slowest: (f64, u64),
    /// The most memory that one took, in bytes, and its seed.
    pub largest: (u64, u64),
    /// What went wrong, with how often, and the seed that showed it first.
    pub defects: BTreeMap<String, (u64, u64)>,
}

impl Outcome {
    fn take(&mut self, line: &Value) {
        if let Some(defect) = line["defect"].as_str() {
            let seed = line["seed"].as_u64().unwrap_or_default();
            let entry = self.defects.entry(defect.to_owned()).or_insert((0, seed));
            entry.0 += 1;
            entry.1 = entry.1.min(seed);
        } else {
            self.n_inputs += line["n"].as_u64().unwrap_or_default();
            self.n_accepted += line["accepted"].as_u64().unwrap_or_default();
            let slowest =
                (line["slowest"][0].as_f64().unwrap_or_default(), line["slowest"][1].as_u64().unwrap_or_default());
            if slowest.0 > self.slowest.0 {
                self.slowest = slowest;
            }
            let [bytes, seed] = [0, 1].map(|at| line["largest"][at].as_u64().unwrap_or_default());
            self.largest = self.largest.max((bytes, seed));
        }
    }
}

/// Gives a target the inputs of `seeds`, in `n` processes that `start` makes of this program; the arguments of
/// [`work`] are in the environment variable [`work::ORDER`].
pub fn fuzz(
    target: &Target,
    seeds: Range<u64>,
    n: u64,
    limits: Limits,
    start: &(dyn Fn() -> Command + Sync),
) -> Outcome {
    let mut outcome = Outcome::default();
    let share = (seeds.end - seeds.start).div_ceil(n.max(1)).max(1);
    let parts: Vec<Range<u64>> =
        (0..n).map(|part| seeds.start + part * share..(seeds.start + (part + 1) * share).min(seeds.end)).collect();
    thread::scope(|scope| {
        let workers: Vec<_> =
            parts.into_iter().map(|part| scope.spawn(move || supervise(target, part, limits, start))).collect();
        for worker in workers {
            for line in worker.join().unwrap_or_default() {
                outcome.take(&line);
            }
        }
    });
    outcome
}

/// Runs processes until all of `seeds` were tried: one that dies is followed by one that goes on behind the input
/// that killed it.
fn supervise(target: &Target, mut seeds: Range<u64>, limits: Limits, start: &dyn Fn() -> Command) -> Vec<Value> {
    let Ok(folder) = folder() else { return Vec::new() };
    let mut lines = Vec::new();
    while !seeds.is_empty() {
        let order = work::order(target, &seeds, limits, folder.path());
        let mut command = start();
        // What an error needs to name its place in the program is not what a reader needs.
        command.env(work::ORDER, order).env("RUST_BACKTRACE", "0");
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let Ok(mut child) = child else { return lines };
        let said = child.stdout.take().map(BufReader::new).into_iter().flat_map(BufReader::lines);
        lines.extend(
            said.map_while(Result::ok).filter_map(|line| serde_json::from_str(line.strip_prefix(work::MARK)?).ok()),
        );
        let status = child.wait();
        if status.as_ref().is_ok_and(std::process::ExitStatus::success) {
            break;
        }
        let last = at(folder.path()).unwrap_or(seeds.start);
        // What hung was told by the process itself.
        if status.as_ref().ok().and_then(std::process::ExitStatus::code) != Some(work::HUNG) {
            let how = status.map_or_else(|error| error.to_string(), |status| status.to_string());
            lines.push(serde_json::json!({ "defect": format!("the process ended: {how}"), "seed": last }));
        }
        lines.push(serde_json::json!({ "n": last + 1 - seeds.start }));
        seeds.start = last + 1;
    }
    lines
}

/// A folder for the files of one process: in memory where the system has such a place and nobody named another one.
/// A disk that is busy takes milliseconds for each of the small files, which is longer than most are read in.
fn folder() -> std::io::Result<tempfile::TempDir> {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() && std::env::var_os("TMPDIR").is_none() {
        return tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir());
    }
    tempfile::tempdir()
}

/// The input that a process was at.
fn at(folder: &Path) -> Option<u64> {
    fs::read_to_string(folder.join(work::PLACE)).ok()?.trim().parse().ok()
}

/// Writes the input of a seed to a file, to be looked at.
///
/// # Errors
/// What the system says.
pub fn write_input(target: &Target, seed: u64, path: &Path) -> std::io::Result<()> {
    fs::write(path, work::input(target, &(target.seeds)(), seed).1)
}
