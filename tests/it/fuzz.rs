//! Every reader survives thousands of damaged files; `benches/fuzz.rs` tries as many as one likes.

use std::process::Command;

use crate::support::fuzz::{self, Limits, Outcome, TARGETS};

/// Inputs of each target. Time is no matter here: other tests run beside this one.
const N_INPUTS: u64 = 250;

/// The part that a process of its own does: the test below starts this very program again.
#[test]
fn reads_what_it_is_ordered_to() {
    // The name of the test stands on the first line.
    fuzz::work(&mut |line| println!("\n{line}"));
}

#[test]
fn every_reader_answers_damaged_files_with_a_sentence() {
    let start = || {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["fuzz::reads_what_it_is_ordered_to", "--exact", "--nocapture", "--test-threads", "1"]);
        command
    };
    let mut found = Vec::new();
    for target in TARGETS {
        let outcome = fuzz::fuzz(target, 0..N_INPUTS, 2, Limits { ms: 0 }, &start);
        let Outcome { n_inputs, n_accepted, defects, .. } = outcome;
        assert_eq!(n_inputs, N_INPUTS, "{}", target.name);
        // Damage that nobody notices is no damage, and files that nobody reads are no test.
        assert!(0 < n_accepted && n_accepted < N_INPUTS, "{}: {n_accepted} of {N_INPUTS} were read", target.name);
        found.extend(defects.iter().map(|(defect, (n, seed))| format!("{} {seed}: {defect} ({n} times)", target.name)));
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}
