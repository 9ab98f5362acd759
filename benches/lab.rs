//! How long explanations take on full-size checkpoints: the half that `benches/lab.py` puts beside PyTorch.
//!
//!     cargo bench --bench lab -- FOLDER
//!
//! `FOLDER` holds `bert-base` and `gpt2` as `benches/checkpoints.py` builds them. Prints one JSON object a line.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark")]

use std::{path::PathBuf, time::Instant};

use attnscope::{
    analysis::explain::rollout::RolloutOptions,
    lab::{Ask, Bench, LeaveOut, Subject, Target, TraceOptions, answer},
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
    report("leave-one-out", 3, || explain(&bert, &encoded, &Ask::LeaveOneOut { by: LeaveOut::Hide }, target));
    let flow = Ask::Flow { query: Some(5), options: RolloutOptions::default() };
    report("flow of a row", 3, || explain(&bert, &encoded, &flow, target));
    let gpt2 = open("gpt2");
    let encoded = of_length(&gpt2, 20);
    let trace = Ask::Trace(TraceOptions::of(Subject::Positions(2..5)));
    let target = Target { class: Some(7), ..Target::default() };
    report("causal tracing", 1, || explain(&gpt2, &encoded, &trace, target));
}

/// An input of so many tokens, none of them special.
fn of_length(model: &Model, n: u32) -> Encoded {
    model.encode(&Input::Ids((0..n).map(|idx| 1000 + 37 * idx % 5000).collect())).unwrap()
}

fn explain(model: &Model, encoded: &Encoded, ask: &Ask, target: Target) {
    let quiet = |_: &_| {};
    answer(Bench::new(model, encoded, &[], &uninterrupted, &quiet), ask, target).unwrap();
}

/// Prints the median of some rounds after one that does not count.
fn report(what: &str, rounds: usize, mut work: impl FnMut()) {
    if rounds > 1 {
        work();
    }
    let mut times: Vec<f64> = (0..rounds)
        .map(|_| {
            let started = Instant::now();
            work();
            1000.0 * started.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    println!("{{\"what\": \"{what}\", \"ms\": {:.1}}}", times[times.len() / 2]);
}
