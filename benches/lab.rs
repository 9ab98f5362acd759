//! How long explanations take on full-size checkpoints: the half that `benches/lab.py` puts beside PyTorch.
//!
//!     cargo bench --bench lab -- FOLDER
//!
//! `FOLDER` holds `bert-base` and `gpt2` as `benches/checkpoints.py` builds them. Prints one JSON object a line: the
//! time, and what the processors spent on it, which other programs disturb less.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark")]

use std::{
    path::PathBuf,
    sync::OnceLock,
    time::{Duration, Instant},
};

use attnscope::{
    analysis::explain::rollout::RolloutOptions,
    lab::{
        FlowOptions, LabRun, LeaveOneOutOptions, LeaveOut, MethodCall, SubjectSpan, Target, TimeLimit, TraceOptions,
        answer,
    },
    model::{Encoded, Engine, Input, Model, ModelFiles, Objective, RunPlan, Site, Taps, uninterrupted},
};

const THREADS: usize = 2;
const ROUNDS: usize = 5;

fn main() {
    let Some(folder) = std::env::args().skip(1).find(|argument| !argument.starts_with("--")) else {
        println!("name the folder with the checkpoints");
        return;
    };
    let open = |name: &str| {
        let files = ModelFiles::open(&PathBuf::from(&folder).join(name)).unwrap();
        Model::load(&files, name, &Engine::cpu(Some(THREADS)).unwrap(), &uninterrupted).unwrap()
    };
    let bert = open("bert-base");
    let encoded = of_length(&bert, 128);
    report("gradients", ROUNDS, || {
        let objective = Objective::Logit { row: 5, id: 7 };
        let taps = Taps::of(&[Site::Pattern]);
        bert.gradients(&encoded, &RunPlan::silent(), objective, taps, &uninterrupted).unwrap();
    });
    let encoded = of_length(&bert, 64);
    let target = Target { position: Some(5), class: Some(7), against: None };
    report("leave-one-out", 3, || {
        explain(&bert, &encoded, &MethodCall::LeaveOneOut(LeaveOneOutOptions { by: LeaveOut::Hide }), target);
    });
    let flow = MethodCall::Flow(FlowOptions { query: Some(5), of_output: false, options: RolloutOptions::default() });
    report("flow of a row", 3, || explain(&bert, &encoded, &flow, target));
    let gpt2 = open("gpt2");
    let encoded = of_length(&gpt2, 20);
    let trace = MethodCall::Trace(TraceOptions::of(SubjectSpan::Positions(2..5)));
    let target = Target { class: Some(7), ..Target::default() };
    let first = OnceLock::new();
    report("causal tracing", 1, || {
        let started = Instant::now();
        let partial = |_: &_| {
            first.get_or_init(|| started.elapsed());
        };
        let bench = LabRun::new(&gpt2, &encoded, &[], &uninterrupted, &partial);
        answer(bench.with_time_limit(TimeLimit::Endless), &trace, target).unwrap();
    });
    let first: Duration = *first.get().unwrap();
    println!("{{\"what\": \"its first rows\", \"ms\": {:.1}}}", 1000.0 * first.as_secs_f64());
}

/// An input of so many tokens, none of them special.
fn of_length(model: &Model, n: u32) -> Encoded {
    model.encode(&Input::Ids((0..n).map(|idx| 1000 + 37 * idx % 5000).collect())).unwrap()
}

fn explain(model: &Model, encoded: &Encoded, ask: &MethodCall, target: Target) {
    let quiet = |_: &_| {};
    answer(LabRun::new(model, encoded, &[], &uninterrupted, &quiet), ask, target).unwrap();
}

/// Prints the median of some rounds after one that does not count.
fn report(what: &str, rounds: usize, mut work: impl FnMut()) {
    if rounds > 1 {
        work();
    }
    let mut times: Vec<[f64; 2]> = (0..rounds)
        .map(|_| {
            let (started, spent) = (Instant::now(), processor_ms());
            work();
            [1000.0 * started.elapsed().as_secs_f64(), processor_ms() - spent]
        })
        .collect();
    let mut median = |nth: usize| {
        times.sort_by(|a, b| a[nth].total_cmp(&b[nth]));
        times[times.len() / 2][nth]
    };
    println!("{{\"what\": \"{what}\", \"ms\": {:.1}, \"processor_ms\": {:.0}}}", median(0), median(1));
}

/// Milliseconds that processors have spent on this program; nothing where the system does not tell (anything but
/// Linux).
fn processor_ms() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    // In hundredths of a second, whatever the kernel counts in.
    fields.iter().skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() * 10.0
}
