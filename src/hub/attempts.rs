//! Retries: which failures, how often, and after which pause.

use std::{thread, time::Instant};

use super::{
    HubError, Monitor, Retry, RetryPolicy, Transfer,
    client::{Client, WATCH},
    trouble::Trouble,
};

/// Counts the attempts at one thing.
#[derive(Debug, Default)]
pub struct Attempts {
    failed_in_a_row: u32,
}

impl Attempts {
    /// Waits for as long as it takes before the next attempt, or gives up.
    pub fn wait(
        &mut self,
        trouble: Trouble,
        client: &Client,
        monitor: &dyn Monitor,
        transfer: &mut Transfer,
    ) -> Result<(), HubError> {
        if monitor.is_cancelled() {
            return Err(HubError::Cancelled);
        }
        let (error, pause, progressed) = match trouble {
            Trouble::Final(error) => return Err(error),
            Trouble::Passing { error: error @ HubError::Unreachable { .. }, .. } if !client.was_reached() => {
                return Err(error);
            }
            Trouble::Passing { error, pause, progressed } => (error, pause, progressed),
        };
        let RetryPolicy { n_retries, first_pause, longest_pause, .. } = client.retries();
        self.failed_in_a_row = if progressed { 1 } else { self.failed_in_a_row + 1 };
        let pause = pause.unwrap_or_else(|| first_pause * 2_u32.saturating_pow(self.failed_in_a_row - 1));
        if self.failed_in_a_row > n_retries || pause > longest_pause {
            return Err(error);
        }
        transfer.bytes_per_sec = None;
        transfer.retry = Some(Retry { why: error.to_string(), pause_secs: pause.as_secs_f64() });
        monitor.report(transfer);
        transfer.retry = None;
        let until = Instant::now() + pause;
        while let Some(left) = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()) {
            if monitor.is_cancelled() {
                return Err(HubError::Cancelled);
            }
            thread::sleep(left.min(WATCH));
        }
        Ok(())
    }
}
