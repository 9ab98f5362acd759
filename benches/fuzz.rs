//! Gives every reader as many damaged files as one likes and tells what went wrong: a panic, a process that died, no
//! sentence, more memory than a gigabyte or than the reader's multiple of the file, more than two seconds.
//!
//! `cargo bench --bench fuzz -- --target tokenizer --inputs 200000 --seed 0 --threads 4`; without a target all of them.
//! Each input follows from its target and seed: `--seed 1234 --inputs 1` tries one again, `--out FILE` writes it down.

#![expect(clippy::print_stdout, reason = "this is what it is for")]

#[path = "../tests/it/support/fuzz/mod.rs"]
mod fuzz;

use std::{
    process::{Command, ExitCode},
    time::Instant,
};

use fuzz::{Limits, Outcome, TARGETS};

#[global_allocator]
static ALLOCATOR: fuzz::memory::Counting = fuzz::memory::Counting;

/// Longer than this nobody waits for a file to be refused.
const MOST_MS: u64 = 2000;

fn main() -> ExitCode {
    if fuzz::work(&mut |line| println!("{line}")) {
        return ExitCode::SUCCESS;
    }
    let arguments: Vec<String> = std::env::args().collect();
    let option = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1).cloned()
    };
    let number = |name: &str, usual: u64| option(name).and_then(|text| text.parse().ok()).unwrap_or(usual);
    let (first, n) = (number("--seed", 0), number("--inputs", 1000));
    let threads = number("--threads", std::thread::available_parallelism().map_or(1, |n| n.get() as u64));
    let wanted = option("--target").unwrap_or_else(|| "all".to_owned());
    // `cargo test --benches` only looks whether it starts.
    if !arguments.iter().any(|argument| argument == "--bench") && option("--inputs").is_none() {
        return ExitCode::SUCCESS;
    }
    let mut sound = true;
    for target in TARGETS.iter().filter(|target| wanted == "all" || wanted.split(',').any(|name| name == target.name)) {
        if let Some(path) = option("--out") {
            if let Err(error) = fuzz::write_input(target, first, path.as_ref()) {
                println!("{path}: {error}");
            }
            continue;
        }
        let started = Instant::now();
        let start = || Command::new(std::env::current_exe().unwrap_or_default());
        let limits = Limits { ms: MOST_MS };
        let Outcome { n_inputs, n_accepted, slowest, largest, defects } =
            fuzz::fuzz(target, first..first + n, threads, limits, &start);
        println!(
            "{}: {n_inputs} inputs from seed {first}, {n_accepted} read; slowest {:.0} ms (seed {}), \
             largest {:.1} MB (seed {}); {:.0} s, {:.0} inputs/s; {} defects",
            target.name,
            slowest.0,
            slowest.1,
            largest.0 as f64 / 1e6,
            largest.1,
            started.elapsed().as_secs_f64(),
            n_inputs as f64 / started.elapsed().as_secs_f64(),
            defects.len()
        );
        for (defect, (n, seed)) in &defects {
            println!("  seed {seed}: {defect} ({n} times)");
        }
        sound &= defects.is_empty() && n_inputs == n;
    }
    if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
