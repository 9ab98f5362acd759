//! Estimated cost of a method: one that takes minutes begins only when told to.

use std::fmt;

use super::{LabError, LabRun};
use crate::{
    model::Variant,
    text::{counted, wait_text},
};

/// How long a question may take without anybody being asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TimeLimit {
    /// So many seconds.
    Secs(f64),
    /// As long as it takes: somebody was asked.
    Endless,
}

impl TimeLimit {
    /// What nobody has to be asked about.
    pub const DEFAULT: Self = Self::Secs(120.0);
}

/// What a question would take that has not begun.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// How often the model would be run, or something else done.
    pub runs: usize,
    /// What is done, as a singular.
    pub what: &'static str,
    /// How many tokens it reads each time.
    pub n_tokens: usize,
    /// How long all of it would take, from runs that were measured.
    pub secs: f64,
    /// Every how manieth position could be taken without asking; `None` where even one would take too long.
    pub every: Option<usize>,
}

impl Estimate {
    /// How somebody has less of it sooner.
    pub fn advice(&self) -> String {
        match self.every {
            Some(every) => format!("Set “Positions apart” to {every} in its options"),
            None => "Use a shorter text".to_owned(),
        }
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (runs, tokens) = (counted(self.runs, self.what), counted(self.n_tokens, "token"));
        write!(f, "this needs {runs} of {tokens}, about {}", wait_text(self.secs))
    }
}

/// What a question takes: so many runs for each of some positions.
pub(super) struct Work {
    pub n_positions: usize,
    pub runs_each: usize,
    /// The part of the layers that a run goes through, on average.
    pub share: f64,
    /// How many tokens a run reads.
    pub n_tokens: usize,
    /// Positions that nobody would leave out.
    pub n_always: usize,
}

impl LabRun<'_> {
    /// Does something of `n_tokens` once, and stops with an estimate where doing it `n` times would take longer than
    /// somebody waits.
    pub(super) fn ask_first_of(
        &self,
        (n, what): (usize, &'static str),
        n_tokens: usize,
        once: impl FnOnce() -> Result<(), LabError>,
    ) -> Result<(), LabError> {
        let TimeLimit::Secs(most) = self.time_limit else { return Ok(()) };
        let secs = self.model.secs_of_work(once)? * n as f64;
        if secs <= most {
            return Ok(());
        }
        Err(LabError::TakesLong(Estimate { runs: n, what, n_tokens, secs, every: None }))
    }

    /// Measures some runs, and stops with an estimate where all of them would take longer than somebody waits.
    pub(super) fn ask_first(&self, row: usize, work: &Work) -> Result<(), LabError> {
        let TimeLimit::Secs(most) = self.time_limit else { return Ok(()) };
        let &Work { n_positions, n_tokens, .. } = work;
        let run_secs = self.model.secs_of(&Variant::of(self.input, self.edits, row), self.control)?;
        let position_secs = run_secs * work.runs_each as f64 * work.share;
        let secs = position_secs * n_positions as f64;
        if secs <= most {
            return Ok(());
        }
        let n_others = ((most / position_secs) as usize).saturating_sub(work.n_always);
        let every = (n_others > 0).then(|| n_tokens.div_ceil(n_others));
        Err(LabError::TakesLong(Estimate { runs: n_positions * work.runs_each, what: "run", n_tokens, secs, every }))
    }
}
